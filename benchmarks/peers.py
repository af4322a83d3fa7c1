"""Other packages on the same files, each until it exceeds time or memory: `python -m benchmarks peers` writes docs/scale/peers.csv and draws it.

    python benchmarks/peers.py [--sizes 1e3,1e4,1e5,1e6,1e7,1e8] [--seconds 300] [--memory 20] [--rounds 3] [--quick]

Every job starts from a Parquet file with item, annotator and label (string ids, random order) and contains what a
user has to write to get from there to the coefficient, in the fastest reasonable way that we found. The packages
live in an environment of their own, .venv-peers, made when it is missing. Values are compared with spagree's of the same coefficient. The jobs
take turns, the best of a few rounds counts, and what would exceed the limits by far is not tried.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import scale_results as results
from fresh import Limits, Outcome, run
from generate import EQUAL, Design, number, write

HERE = Path(__file__).parent
PEERS_PYTHON = HERE.parent / ".venv-peers" / "bin" / "python"
PACKAGES = ("krippendorff", "irrCAC", "nltk", "simpledorff", "statsmodels", "crowd-kit", "numpy", "pandas", "pyarrow")
LONG = 10  # seconds
STEADY = 100_000  # annotations: with fewer, most of the time goes into starting
SURELY = 2  # times a limit, if time and memory grow with the number of annotations
ALPHA, FLEISS, AC1 = "krippendorff_alpha", "fleiss_kappa", "gwet_ac1"

# Codes for items and labels. Arrow's text is twice as fast to turn into codes as pandas' objects.
COUNTS = """import numpy as np, pandas as pd
frame = pd.read_parquet('{path}', columns=['item', 'label'], dtype_backend='pyarrow')
item, items = pd.factorize(frame['item'])
label, labels = pd.factorize(frame['label'])
counts = np.bincount(item * len(labels) + label, minlength=len(items) * len(labels)).reshape(len(items), len(labels))
"""
# A matrix filled by position: pandas' pivot needs several times as long and as much memory.
MATRIX = """import numpy as np, pandas as pd
frame = pd.read_parquet('{path}', dtype_backend='pyarrow')
item, items = pd.factorize(frame['item'])
annotator, annotators = pd.factorize(frame['annotator'])
label, labels = pd.factorize(frame['label'])
"""
IRRCAC = f"""{MATRIX}
matrix = np.full((len(items), len(annotators)), np.nan)
matrix[item, annotator] = label
from irrCAC.raw import CAC
found = CAC(pd.DataFrame(matrix)).{{method}}()['est']
low, high = map(float, found['confidence_interval'])
value = {{{{'value': float(found['coefficient_value']), 'low': low, 'high': high}}}}"""
SPAGREE = """
found = agreement.chance
value = {{name: found[name].value for name in found}} | {{'low': found['{coefficient}'].low, 'high': found['{coefficient}'].high}}"""


@dataclass(frozen=True)
class Peer:
    """``equal``: wants the same number of annotations for every item, and gets a file that has it."""

    job: str
    coefficient: str = ALPHA
    equal: bool = False


PEERS = {
    "krippendorff, matrix": Peer(f"""{MATRIX}
matrix = np.full((len(annotators), len(items)), np.nan, np.float32)
matrix[annotator, item] = label
import krippendorff
value = {{{{'value': float(krippendorff.alpha(reliability_data=matrix, level_of_measurement='nominal'))}}}}"""),
    "krippendorff, value counts": Peer(f"""{COUNTS}
import krippendorff
value = {{{{'value': float(krippendorff.alpha(value_counts=counts, level_of_measurement='nominal'))}}}}"""),
    "irrCAC, alpha": Peer(IRRCAC.replace("{method}", "krippendorff")),
    "irrCAC, AC1": Peer(IRRCAC.replace("{method}", "gwet"), AC1),
    "nltk": Peer("""import pandas as pd
frame = pd.read_parquet('{path}', columns=['annotator', 'item', 'label'])
from nltk.metrics.agreement import AnnotationTask
value = {{'value': AnnotationTask(frame.itertuples(index=False, name=None)).alpha()}}"""),
    "simpledorff": Peer("""import pandas as pd, simpledorff
frame = pd.read_parquet('{path}')
value = {{'value': float(simpledorff.calculate_krippendorffs_alpha_for_df(
    frame, experiment_col='item', annotator_col='annotator', class_col='label'))}}"""),
    "crowd-kit": Peer("""import pandas as pd
from crowdkit.metrics.data import alpha_krippendorff
frame = pd.read_parquet('{path}').rename(columns={{'item': 'task', 'annotator': 'worker'}})
value = {{'value': alpha_krippendorff(frame)}}"""),
    "statsmodels": Peer(
        f"""{COUNTS}
from statsmodels.stats.inter_rater import fleiss_kappa
value = {{{{'value': float(fleiss_kappa(counts))}}}}""",
        FLEISS,
    ),
}
PEERS[results.EQUAL_ONLY] = Peer(PEERS["statsmodels"].job, FLEISS, equal=True)
OWN = {
    "spagree": f"import spagree\nagreement = spagree.measure('{{path}}'){SPAGREE}",
    "spagree, without annotators": "import polars as pl, spagree\n"
    f"agreement = spagree.measure(pl.scan_parquet('{{path}}').select('item', 'label')){SPAGREE}",
}


@dataclass(frozen=True)
class Job:
    """What one tool runs on one file, and with which Python."""

    code: str
    python: Path

    def once(self, limits: Limits) -> Outcome:
        """A crash is tried once more: a package that ends by a signal at exit is not a package that cannot do it."""
        outcome = run(self.code, limits, str(self.python))
        return run(self.code, limits, str(self.python)) if outcome.failure and not exhausted(outcome) else outcome


def exhausted(outcome: Outcome) -> bool:
    """Whether a job took too long or too much memory, as it would again."""
    return outcome.failure.startswith(("out of memory", "not done after"))


def in_turns(jobs: Mapping[str, Job], limits: Limits, rounds: int) -> dict[str, Outcome]:
    """The best time and the highest memory of each job; they take turns, so that a disturbance meets all of them.

    Once is enough for what fails or takes long.
    """
    best: dict[str, Outcome] = {}
    for _ in range(rounds):
        for name, job in jobs.items():
            known = best.get(name)
            if known is None:
                best[name] = job.once(limits)
            elif not known.failure and known.seconds <= LONG:
                now = job.once(limits)
                both = Outcome(min(now.seconds, known.seconds), max(now.memory, known.memory), known.value)
                best[name] = known if now.failure else both
    return best


def hopeless(earlier: Sequence[results.Row], size: int, limits: Limits) -> str:
    """Why a job is not tried: a smaller one failed, or its time or memory would exceed the limits by far."""
    if not earlier:
        return ""
    last = earlier[-1]
    if last["failure"].startswith("not tried"):
        return last["failure"]
    if last["failure"]:
        return f"not tried: {last['failure']} with {int(last['annotations']):,} annotations"
    growth = size / int(last["annotations"])
    for figure, limit, unit in (("memory_gb", limits.memory, "GB"), ("seconds", limits.seconds, "s")):
        if int(last["annotations"]) >= STEADY and float(last[figure]) > SURELY * limit / growth:
            return f"not tried: {last[figure]} {unit} with {int(last['annotations']):,} annotations"
    return ""


def row_of(name: str, size: int, coefficient: str, outcome: Outcome, own: Mapping[str, Any]) -> results.Row:
    figures = outcome.value if not outcome.failure else {}
    value = figures.get("value", figures.get(coefficient, ""))
    return {
        "annotations": str(size),
        "peer": name,
        "seconds": f"{outcome.seconds:.3f}",
        "memory_gb": f"{outcome.memory:.3f}",
        "failure": outcome.failure,
        "coefficient": coefficient,
        "value": str(value),
        "spagree_value": str(own[coefficient]) if figures else "",
        "interval": f"{figures['low']:.5f} to {figures['high']:.5f}" if "low" in figures else "",
    }


def shown(row: results.Row) -> results.Row:
    done = (
        row["failure"]
        or f"{row['seconds']:>8} s {row['memory_gb']:>7} GB  {row['value']} (spagree {row['spagree_value']})"
    )
    print(f"  {row['peer']:42} {done}", flush=True)
    return row


def measure(
    size: int, earlier: Sequence[results.Row], limits: Limits, rounds: int, folder: Path
) -> Iterator[results.Row]:
    """Spagree, and all peers that may finish, on files of one size."""
    paths = {True: folder / "equal.parquet", False: folder / "varied.parquet"}
    write(Design(size), paths[False])
    write(Design(size - size % sum(EQUAL), per_item=EQUAL), paths[True])
    print(f"{size:,} annotations", flush=True)
    jobs = {
        name: Job(job.format(path=paths[False], coefficient=ALPHA), Path(sys.executable)) for name, job in OWN.items()
    }
    reasons = {name: hopeless([row for row in earlier if row["peer"] == name], size, limits) for name in PEERS}
    for name, peer in PEERS.items():
        if not reasons[name]:
            jobs[name] = Job(peer.job.format(path=paths[peer.equal]), PEERS_PYTHON)
    outcomes = in_turns(jobs, limits, rounds)
    equal = run(OWN["spagree"].format(path=paths[True], coefficient=FLEISS), limits)
    for path in paths.values():
        path.unlink()
    own = {False: outcomes["spagree"].value, True: equal.value}
    for name in (*OWN, *PEERS):
        outcome = outcomes.get(name) or Outcome(0, 0, failure=reasons[name])
        peer = PEERS.get(name, Peer(""))
        yield shown(row_of(name, size, peer.coefficient, outcome, own[peer.equal]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", help="default 1e3,1e4,1e5,1e6,1e7,1e8; 1e4,1e5 with --quick")
    parser.add_argument("--seconds", type=float, default=300, help="limit of each job")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--memory", type=float, default=20, help="limit of each job, in GB")
    parser.add_argument("--quick", action="store_true", help="one round, nothing written to docs")
    options = parser.parse_args()
    sizes = options.sizes or ("1e4,1e5" if options.quick else "1e3,1e4,1e5,1e6,1e7,1e8")
    if not PEERS_PYTHON.exists():
        venv.create(PEERS_PYTHON.parents[1], with_pip=True, upgrade_deps=True)
        subprocess.run(
            [PEERS_PYTHON, "-m", "pip", "install", "--quiet", "--group", "peers"], check=True, cwd=HERE.parent
        )
    rounds, limits = 1 if options.quick else options.rounds, Limits(options.seconds, options.memory)
    earlier: list[results.Row] = []
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) if options.quick else results.FOLDER
        for size in map(number, sizes.split(",")):
            rows = list(measure(size, earlier, limits, rounds, Path(folder)))
            results.keep(store / "peers.csv", rows, key=("annotations",))
            earlier += rows
        results.note_environment(store, "peers", ("spagree",), others=(PEERS_PYTHON, PACKAGES))
        print("\n".join(results.peers_section(store)))
    if not options.quick:
        results.report()


if __name__ == "__main__":
    main()
