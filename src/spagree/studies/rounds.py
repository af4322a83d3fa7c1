"""Many rounds of adding annotations or samples at random: run once, summarised and cached."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile

import numpy as np

from spagree.codes import Floats, ratio
from spagree.errors import MissingExtraError
from spagree.estimate.weights import REGISTRY
from spagree.studies.datasets import LabelSet
from spagree.write import write_atomically

if TYPE_CHECKING:
    from numpy.typing import NDArray

FORMAT = 2  # raise it when the kernels or summaries change, to recompute cached results
CHECKPOINTS = 100
AT_ONCE = 60
LEAST_SHARE = 0.1  # a number of annotations per sample is tried if at least this share of items has that many

Tick = Callable[[int], object]


def _unseen(_about: str, _rounds: int) -> Tick:
    return lambda _done: None


@dataclass(frozen=True, slots=True)
class Plan:
    """How the experiments are run; results are cached by rounds, seed and data."""

    rounds: int = 3000
    seed: int = 0
    force: bool = False
    """Run again what was cached before."""
    folder: Path | None = None
    """Where results are cached; None disables caching."""
    bar: Callable[[str, int], Tick] = _unseen
    """Starts a progress bar of so many rounds; what it returns is told how many more are done."""
    made: set[Path] = field(default_factory=set)
    """The results of this run, which ``force`` does not make again."""


@dataclass(frozen=True, slots=True, eq=False)
class AnnotationCurves:
    """SPA while single annotations arrive in random order: over rounds, by checkpoint and scheme.

    Only checkpoints at which every round had a pair are kept.
    """

    annotations: NDArray[np.int64]
    paired: Floats
    mean: Floats
    variance: Floats


@dataclass(frozen=True, slots=True, eq=False)
class SampleCurves:
    """Mean agreement while samples with n annotations each arrive: one row per n and checkpoint."""

    n: NDArray[np.int64]
    samples: NDArray[np.int64]
    mean: Floats
    variance: Floats
    theory: Floats


def load_kernels() -> Any:
    """The compiled loops, or the extra to install."""
    try:
        from spagree.studies import kernels
    except ImportError:
        raise MissingExtraError("studies", "running the paper's experiments") from None
    return kernels


def checkpoints(total: int, wanted: int = CHECKPOINTS) -> NDArray[np.int64]:
    """Up to ``wanted`` evenly spaced numbers, ending at ``total``."""
    steps = np.round(np.linspace(0, total, min(wanted, total) + 1)[1:]).astype(np.int64)
    return np.unique(steps)


def round_seeds(rounds: int, *key: int) -> NDArray[np.uint64]:
    """One seed per round: a round is the same on any thread."""
    return np.asarray(np.random.SeedSequence(list(key)).generate_state(rounds, np.uint64), np.uint64)


def annotation_values(data: LabelSet, plan: Plan) -> tuple[Any, Any, Any]:
    """Checkpoints, values[round, checkpoint, scheme] and the pairable annotations[round, checkpoint]."""
    kernels, rounds = load_kernels(), plan.rounds
    tick = plan.bar(f"annotations: {data.title}", rounds)
    steps = checkpoints(data.annotations)
    values = np.full((rounds, len(steps), len(REGISTRY)), np.nan)
    paired = np.zeros((rounds, len(steps)), np.int64)
    seeds = round_seeds(rounds, plan.seed, 1)
    laid, schemes = laid_out(data), registered(int(data.per_item.max()))
    for start in range(0, rounds, AT_ONCE):
        part = slice(start, start + AT_ONCE)
        kernels.add_annotations(*laid, steps, schemes, seeds[part], values[part], paired[part])
        tick(len(seeds[part]))
    return steps, values, paired


def laid_out(data: LabelSet) -> tuple[Any, Any]:
    """Item, (item, label) pair and label of each annotation, and how many of each there are."""
    _, pair = np.unique(data.item * data.classes + data.label, return_inverse=True)
    rows = np.stack([data.item, pair, data.label], axis=1).astype(np.int32)
    return np.ascontiguousarray(rows), np.array([data.items, pair.max() + 1, data.classes, data.per_item.max()])


def registered(largest: int) -> tuple[Any, Any]:
    """Every scheme for the kernels: whether the classes decide its weights, and else its weights by n."""
    by_classes, weights = np.zeros(len(REGISTRY), np.bool_), np.zeros((len(REGISTRY), largest + 1))
    for row, scheme in enumerate(REGISTRY.values()):
        if callable(scheme.by_n):
            weights[row, 2:] = [float(scheme.by_n(n)) for n in range(2, largest + 1)]
        else:
            by_classes[row] = True
    return by_classes, weights


def annotation_curves(data: LabelSet, plan: Plan) -> AnnotationCurves:
    """Add single annotations in random order, ``plan.rounds`` times."""

    def run() -> dict[str, Any]:
        steps, values, paired = annotation_values(data, plan)
        kept = ~np.isnan(values).any(axis=(0, 2))
        values = values[:, kept]
        return {
            "annotations": steps[kept],
            "paired": paired[:, kept].mean(axis=0),
            "mean": values.mean(axis=0),
            "variance": variance(values),
        }

    return AnnotationCurves(**_cached("annotations", data, plan, run))


def variance(values: Floats) -> Floats:
    """Variance over rounds; exactly 0 if all rounds agree (the mean of equal floats may be another float)."""
    shifted = values - values[0]
    return np.asarray(shifted.var(axis=0, ddof=1))


def sample_curves(data: LabelSet, plan: Plan) -> SampleCurves:
    """Add whole samples in random order, with n annotations each, for every n that enough items have."""

    def run() -> dict[str, Any]:
        kernels, numbers = load_kernels(), constant_numbers(data)
        tick = plan.bar(f"samples: {data.title}", plan.rounds * len(numbers))
        per_item = data.per_item
        starts = np.concatenate([[0], np.cumsum(per_item)])
        label = data.label[np.argsort(data.item, kind="stable")]
        parts = []
        for n in numbers:
            chosen = np.flatnonzero(per_item >= n)
            steps = checkpoints(len(chosen))
            values = np.zeros((plan.rounds, len(steps)))
            seeds = round_seeds(plan.rounds, plan.seed, 2, n)
            for start in range(0, plan.rounds, AT_ONCE):
                part = slice(start, start + AT_ONCE)
                kernels.add_samples(label, starts, chosen, n, data.classes, steps, seeds[part], values[part])
                tick(len(seeds[part]))
            figures = (values.mean(axis=0), variance(values), constant_variance(data, n, steps))
            parts.append((np.full(len(steps), n), steps, *figures))
        names = ("n", "samples", "mean", "variance", "theory")
        return dict(zip(names, map(np.concatenate, zip(*parts, strict=True)), strict=True))

    return SampleCurves(**_cached("samples", data, plan, run))


def constant_numbers(data: LabelSet) -> list[int]:
    """The numbers of annotations per sample to try: always 2, and all that at least a tenth of the items have."""
    per_item = data.per_item
    largest = int(per_item.max())
    return [n for n in range(2, largest + 1) if n == 2 or (per_item >= n).mean() >= LEAST_SHARE]


def constant_variance(data: LabelSet, n: int, samples: NDArray[np.int64]) -> Floats:
    """The exact variance of the mean agreement of m of I items, with n annotations of each drawn at random.

    Var = W/m + (1 − m/I)·S²/m: W is the mean over items of the variance of P̂ when n of the item's
    annotations are drawn, [P + 2(n−2)·t3 + C(n−2,2)·m2]/C(n,2) − P² with the item's own P, t3 and m2
    (docs/mathematics.md §7), and S² the variance of P between the items.
    """
    counts = np.zeros((data.items, data.classes))
    np.add.at(counts, (data.item, data.label), 1)
    counts = counts[counts.sum(axis=1) >= n]
    size = counts.sum(axis=1)
    pairs = (counts * (counts - 1)).sum(axis=1)
    triples = (counts * (counts - 1) * (counts - 2)).sum(axis=1)
    p = pairs / (size * (size - 1))
    t3 = ratio(triples, size * (size - 1) * (size - 2), 0.0)
    m2 = ratio(pairs**2 - 2 * pairs - 4 * triples, size * (size - 1) * (size - 2) * (size - 3), 0.0)
    edges = n * (n - 1) / 2
    within = (p + 2 * (n - 2) * t3 + (n - 2) * (n - 3) / 2 * m2) / edges - p**2
    between = p.var(ddof=1) if len(p) > 1 else 0.0
    exact = within.mean() / samples + (1 - samples / len(p)) * between / samples
    return np.asarray(np.maximum(exact, 0.0))  # 0 at full annotation, which rounding may just miss


def result_path(kind: str, data: LabelSet, plan: Plan, folder: Path) -> Path:
    """Where a result is cached: a readable name and a fingerprint of everything it depends on."""
    run = [FORMAT, kind, data.digest, plan.rounds, plan.seed, CHECKPOINTS, list(REGISTRY)]
    about = json.dumps(run)
    return folder / f"{kind}-{data.name}-{hashlib.sha256(about.encode()).hexdigest()[:12]}.npz"


def _cached(kind: str, data: LabelSet, plan: Plan, run: Callable[[], dict[str, Any]]) -> Mapping[str, Any]:
    """The cached result, or a new one, which is then cached; never a partial result."""
    if plan.folder is None:
        return run()
    path = result_path(kind, data, plan, plan.folder)
    if path.exists() and (path in plan.made or not plan.force):
        # a damaged file is written again
        with suppress(OSError, EOFError, ValueError, BadZipFile), path.open("rb") as file, np.load(file) as arrays:
            return dict(arrays)
    result = run()

    def write(beside: Path) -> None:
        with beside.open("wb") as file:
            np.savez_compressed(file, allow_pickle=False, **result)

    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, write, force=True)
    plan.made.add(path)
    return result
