"""How many mutants of counts/ and estimate/ the tests kill, on a sample that is drawn from every module.

    python -m benchmarks mutation [--seed 1] [--mutants 150]

Less than an hour on two cores, in an environment of its own: mutmut 3.8 does not work with pytest 9.
"""

import argparse
import ast
import json
import random
import shutil
import subprocess
import venv
from collections import Counter
from pathlib import Path

ENVIRONMENT, GENERATED = Path(".venv-mutation"), Path("mutants")
SURVIVED, NO_TESTS, OUT_OF_TIME = 0, (5, 33), (36, 24, -24, 152)  # exit codes of mutmut
NOT_RUN = 255  # pytest could not start, for example because a test is called otherwise when it is collected again


def outcomes_by_module() -> dict[Path, dict[str, int | None]]:
    """For every mutated module, what became of its mutants: an exit code, or None for those that have not run."""
    files = sorted(GENERATED.rglob("*.py.meta"))
    return {file.with_suffix(""): json.loads(file.read_text())["exit_code_by_key"] for file in files}


class WithoutEffect(ast.NodeTransformer):
    """Leave out what does nothing when the program runs: the type of a cast, and ``strict`` of zip."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        name = node.func.id if isinstance(node.func, ast.Name) else None
        if name == "cast" and len(node.args) == 2:
            node.args = node.args[1:]
        if name == "zip":
            node.keywords = [each for each in node.keywords if each.arg != "strict"]
        return self.generic_visit(node)


def equivalent(module: Path) -> set[str]:
    """The functions of a mutated module, by their names, that do the same as the original."""
    text = module.read_text("utf-8")
    lines, found = text.splitlines(), {}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef) and "__mutmut_" in node.name:
            whole = "\n".join(lines[node.lineno - 1 : node.end_lineno])
            if "cast(" in whole or "zip(" in whole:
                base, _, number = node.name.rpartition("__mutmut_")
                found[base, number] = ast.dump(WithoutEffect().visit(ast.Module(node.body, []))), ast.dump(node.args)
    same = [key for key, code in found.items() if code == found.get((key[0], "orig"))]
    return {f"{base}__mutmut_{number}" for base, number in same if number != "orig"}


def sample(seed: int, count: int) -> list[str]:
    """COUNT names, or a few more: at least one of every module that has any; none that cannot differ."""
    modules = []
    for module, outcomes in outcomes_by_module().items():
        same = equivalent(module)
        modules.append(sorted(name for name in outcomes if name.rpartition(".")[2] not in same))
    modules = [names for names in modules if names]
    total = sum(map(len, modules))
    draw = random.Random(seed)
    return [name for names in modules for name in draw.sample(names, max(1, round(count * len(names) / total)))]


def score() -> str:
    """One line for the score, then one for each mutant that no test killed."""
    ran = {
        name: code for outcomes in outcomes_by_module().values() for name, code in outcomes.items() if code is not None
    }
    alive = sorted(name for name, code in ran.items() if code in (SURVIVED, NOT_RUN, *NO_TESTS))
    modules = Counter(name.rpartition(".")[0] for name in ran)
    share = f"{1 - len(alive) / len(ran):.1%}" if ran else "nothing ran"
    late = sum(code in OUT_OF_TIME for code in ran.values())  # many of them: the machine was too busy to tell
    killed = f"killed {len(ran) - len(alive)} of {len(ran)} in {len(modules)} modules, {late} by running out of time"
    return "\n".join([f"{killed}: {share}", *alive])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1, help="another seed draws other mutants")
    parser.add_argument("--mutants", type=int, default=150)
    options = parser.parse_args()
    venv.create(ENVIRONMENT, with_pip=True, upgrade_deps=True)
    install = [ENVIRONMENT / "bin" / "python", "-m", "pip", "install", "--quiet", "--editable", ".[all]"]
    subprocess.run([*install, "--group", "test", "mutmut>=3.8", "pytest<9"], check=True)
    shutil.rmtree(GENERATED, ignore_errors=True)
    mutmut = [ENVIRONMENT / "bin" / "mutmut", "run", "--max-children", "2"]
    # The first run only makes mutants and learns which tests reach them; it fails because no mutant has that name.
    first = subprocess.run([*mutmut, "none"], check=False, capture_output=True, text=True)
    if not (GENERATED / "mutmut-stats.json").exists():
        raise SystemExit((first.stdout + first.stderr)[-3000:])
    subprocess.run([*mutmut, *sample(options.seed, options.mutants)], check=False)
    print(score())


if __name__ == "__main__":
    main()
