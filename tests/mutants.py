"""Draw a sample of mutants of tally/ and estimate/, and score those that ran: `make mutation` does both.

python tests/mutants.py sample SEED COUNT   the names of COUNT mutants, every module by its size
python tests/mutants.py score               how many of those that ran were killed, and which survived
"""

import json
import random
import sys
from collections import Counter
from pathlib import Path

GENERATED = Path("mutants")
SURVIVED, NO_TESTS, OUT_OF_TIME = 0, (5, 33), (36, 24, -24, 152, 255)  # exit codes of mutmut


def outcomes_by_module() -> list[dict[str, int | None]]:
    """For every mutated module, what became of its mutants: an exit code, or None for those that have not run."""
    files = sorted(GENERATED.rglob("*.py.meta"))
    if not files:
        sys.exit("no mutants here: run `make mutation` in the project's root")
    return [json.loads(file.read_text())["exit_code_by_key"] for file in files]


def sample(seed: int, count: int) -> list[str]:
    """COUNT names, or a few more: at least one of every module that has any."""
    modules = [sorted(outcomes) for outcomes in outcomes_by_module() if outcomes]
    total = sum(map(len, modules))
    draw = random.Random(seed)
    return [name for names in modules for name in draw.sample(names, max(1, round(count * len(names) / total)))]


def score() -> str:
    """One line for the score, then one for each mutant that no test killed."""
    ran = {name: code for outcomes in outcomes_by_module() for name, code in outcomes.items() if code is not None}
    alive = sorted(name for name, code in ran.items() if code == SURVIVED or code in NO_TESTS)
    modules = Counter(name.rpartition(".")[0] for name in ran)
    share = f"{1 - len(alive) / len(ran):.1%}" if ran else "nothing ran"
    late = sum(code in OUT_OF_TIME for code in ran.values())  # many of them: the machine was too busy to tell
    killed = f"killed {len(ran) - len(alive)} of {len(ran)} in {len(modules)} modules, {late} by running out of time"
    return "\n".join([f"{killed}: {share}", *alive])


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["sample", seed, count]:
            sys.stdout.write("\n".join(sample(int(seed), int(count))) + "\n")
        case ["score"]:
            sys.stdout.write(score() + "\n")
        case _:
            sys.exit(__doc__)
