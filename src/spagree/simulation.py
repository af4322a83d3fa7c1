"""Annotation data with known true agreement: for tests, documentation and planning a project.

The model:

1. ``skew`` sets how common the classes are: class c has probability proportional to c to the power −skew.
2. Each item has its own class distribution, drawn around these probabilities (a Dirichlet distribution).
   ``heterogeneity`` is the share of the variance that lies between items: 0 when all items are alike,
   1 when every item has exactly one right answer. Careful annotators then have, on average over items,
   a chance-corrected agreement (kappa) of exactly ``heterogeneity``.
3. An annotator of quality q answers from the item's distribution with probability q, and otherwise picks
   a class at random, all equally likely.
4. Who annotates which item is drawn at random, so every pair of annotators is equally likely.

From 2 and 3, annotators j and k agree on item i with probability q_j·q_k·Σ_c p_ic² + (1 − q_j·q_k)/C:
so the truth needs no simulation.
"""

from __future__ import annotations

import operator
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import polars as pl

from spagree.errors import UsageError
from spagree.write import save_frame

if TYPE_CHECKING:
    from numpy.typing import NDArray

Number = TypeVar("Number", int, float)

FIRST_ASKED = 2  # annotators who label every item of an adaptive project before anyone looks at the labels
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
STEEPEST_SKEW = 10.0  # the first two classes are then 1024 : 1; anything steeper is effectively one class
NEARLY = 1e-9  # closer than this to 0 or 1, a heterogeneity counts as 0 or 1: Dirichlet draws overflow
BYTES_EACH = 100  # of memory for an annotation, an item or a name, a generous estimate
LARGEST = 1 << 42
CELLS_AT_ONCE = 1 << 20  # items are drawn in blocks to limit memory; changing this changes the data


@dataclass(frozen=True, slots=True, eq=False)
class Simulation:
    """Simulated annotations and their true agreement.

    ``frame`` has the columns item, annotator, label (text) and time (whole seconds, increasing, in the order of
    annotation). ``truth`` is the probability that two different annotators give the same label to an item, both drawn
    uniformly: an average over the simulated items and over all pairs of the simulated annotators (also pairs who never
    met on an item), given the class distribution of every item and the quality of every annotator. It is what SPA
    estimates, not the agreement of this particular draw of labels. ``quality`` says how careful each annotator is.
    ``parameters`` are the arguments: ``simulate(**simulation.parameters)`` reproduces the data.

    >>> simulation = simulate(items=2, annotators=2, per_item=2, quality=1.0, heterogeneity=1.0)
    >>> simulation.truth, simulation.frame.columns
    (1.0, ['item', 'annotator', 'label', 'time'])
    """

    frame: pl.DataFrame
    truth: float
    quality: Mapping[str, float]
    parameters: Mapping[str, Any]

    def save(self, path: str | os.PathLike[str], *, force: bool = False) -> Path:
        """Write the annotations as .csv, .csv.gz or .parquet; never leaves a partial file.

        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     simulate(items=5).save(Path(folder) / "five.csv").read_text().splitlines()[0]
        'item,annotator,label,time'
        """
        save_frame(self.frame, path, force=force)
        return Path(path)


@dataclass(frozen=True, slots=True)
class _Design:
    """The arguments of :func:`simulate`, checked and converted for the arithmetic."""

    items: int
    annotators: int
    classes: int
    fewest: int
    most: int
    prior: NDArray[np.float64]
    heterogeneity: float
    quality: NDArray[np.float64]
    missing: float
    adaptive: bool


@dataclass(frozen=True, slots=True)
class _Block:
    """Annotations of some consecutive items, item by item, in the order of annotation."""

    per_item: NDArray[np.int64]
    annotator: NDArray[np.int32]
    label: NDArray[np.int32]
    concentration: float
    """Σ_i Σ_c p_ic² over the items of the block."""


def simulate(
    *,
    items: int = 1000,
    annotators: int = 20,
    classes: int = 3,
    per_item: int | tuple[int, int] = 3,
    skew: float = 0.0,
    heterogeneity: float = 0.6,
    quality: float | tuple[float, float] = 0.9,
    missing: float = 0.0,
    adaptive: bool = False,
    seed: int = 0,
) -> Simulation:
    """Draw annotations with known true agreement; the same seed gives the same data.

    items, annotators, classes
        how many there are.
    per_item
        annotators asked per item: a number, or a (low, high) range from which each item's number is drawn
        independently of the item. ``per_item=annotators`` gives full data.
    skew
        how unequal the classes are: 0 for equally common, 1 for word frequencies in a language (Zipf), at most 10.
    heterogeneity
        how different the items are, from 0 (all have the same class distribution) to 1 (each has one
        right answer).
    quality
        probability that an annotator looks at the item instead of answering at random; a (low, high)
        range spreads it evenly over the annotators, the first being the least careful.
    missing
        fraction of the annotations removed completely at random: SPA's assumption holds.
    adaptive
        two annotators label every item, and the rest of ``per_item`` are asked only if these two disagree: SPA's
        assumption fails, because the number of annotations depends on the labels. If nothing is ``missing``, the first
        two annotations of each item in time order still estimate the truth.

    >>> simulation = simulate(items=100, per_item=(2, 5), quality=(0.6, 1.0), seed=7)
    >>> simulation.frame.height, round(simulation.truth, 4)
    (354, 0.5813)
    >>> full = simulate(items=4, annotators=3, per_item=3)
    >>> full.frame.height
    12
    """
    parameters: dict[str, Any] = dict(locals())  # the arguments, before any other local exists
    design = _checked(parameters)
    rng = np.random.default_rng(_whole("seed", seed, 0))
    at_once = max(1, CELLS_AT_ONCE // max(design.most, design.classes))
    blocks = [_block(design, min(at_once, design.items - start), rng) for start in range(0, design.items, at_once)]
    frame = _frame(design, blocks, rng)
    truth = _truth(design, sum(block.concentration for block in blocks) / design.items)
    careful = dict(zip(_annotator_names(design.annotators), design.quality.tolist(), strict=True))
    return Simulation(frame, truth, careful, parameters)


def _checked(arguments: Mapping[str, Any]) -> _Design:
    annotators = _whole("annotators", arguments["annotators"], 2)
    classes = _whole("classes", arguments["classes"], 1)
    fewest, most = _per_item(arguments["per_item"], annotators, arguments["adaptive"])
    items = _whole("items", arguments["items"], 1)
    _refuse_too_large(items, annotators, classes, most)
    worst, best = _low_and_high("quality", arguments["quality"], lambda value: _number("quality", value, 0.0, 1.0))
    return _Design(
        items=items,
        annotators=annotators,
        classes=classes,
        fewest=fewest,
        most=most,
        prior=_class_frequencies(classes, _number("skew", arguments["skew"], 0.0, STEEPEST_SKEW)),
        heterogeneity=_number("heterogeneity", arguments["heterogeneity"], 0.0, 1.0),
        quality=np.linspace(worst, best, annotators),
        missing=_number("missing", arguments["missing"], 0.0, 1.0),
        adaptive=arguments["adaptive"],
    )


def _refuse_too_large(items: int, annotators: int, classes: int, most: int) -> None:
    """Refuse what does not fit in memory: it would kill other programs before it fails."""
    annotations = items * most
    needed = BYTES_EACH * (annotations + items + annotators + 3 * classes)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else LARGEST
    if needed > min(memory, LARGEST):
        raise UsageError(
            f"{annotations:,} annotations of {items:,} items by {annotators:,} annotators in {classes:,} classes "
            f"need about {needed / 1e9:,.0f} GB of memory, and this machine has {memory / 1e9:,.0f} GB; "
            "simulate less, or in parts with different seeds"
        )


def _per_item(per_item: Any, annotators: int, adaptive: bool) -> tuple[int, int]:
    fewest, most = _low_and_high("per_item", per_item, lambda value: _whole("per_item", value, 1))
    if most > annotators:
        raise UsageError(
            f"per_item: found {per_item!r} with {annotators} annotators; give at most {annotators}, or raise annotators"
        )
    if adaptive and (fewest < FIRST_ASKED or most == FIRST_ASKED):
        raise UsageError(
            f"per_item: found {per_item!r} with adaptive overlap; give 3 or more (or a range from 2 up), "
            "so that there is someone to ask when the first two disagree"
        )
    return fewest, most


def _low_and_high(name: str, value: Any, checked: Callable[[Any], Number]) -> tuple[Number, Number]:
    ends = value if isinstance(value, tuple | list) else (value, value)
    match [checked(end) for end in ends]:
        case [low, high] if low <= high:
            return low, high
    raise UsageError(f"{name}: found {value!r}; give one number, or two as (low, high)")


def _whole(name: str, value: Any, least: int) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        number = least - 1
    if number < least:
        raise UsageError(f"{name}: found {value!r}; give a whole number, {least} or more")
    return number


def _number(name: str, value: Any, low: float, high: float) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = float("nan")
    if not low <= number <= high:
        raise UsageError(f"{name}: found {value!r}; give a number from {low:g} to {high:g}")
    return number


def _class_frequencies(classes: int, skew: float) -> NDArray[np.float64]:
    weight = np.arange(1.0, classes + 1.0) ** -skew
    return np.asarray(weight / weight.sum())


def _truth(design: _Design, concentration: float) -> float:
    """P(agree) = Q·S + (1 − Q)/C, with Q the mean of q_j·q_k over j ≠ k and S the mean of Σ_c p_ic²."""
    q = design.quality
    pairs = len(q) * (len(q) - 1)
    both_look = float(q.sum() ** 2 - (q**2).sum()) / pairs
    return both_look * concentration + (1.0 - both_look) / design.classes


def _block(design: _Design, items: int, rng: np.random.Generator) -> _Block:
    p = _item_distributions(design, items, rng)
    annotator = _draw_annotators(items, design.most, design.annotators, rng)
    label = _draw_labels(p, design.quality[annotator], rng)
    per_item = rng.integers(design.fewest, design.most, size=items, endpoint=True)
    if design.adaptive:
        per_item = np.where(label[:, 0] == label[:, 1], FIRST_ASKED, per_item)
    is_made = np.arange(design.most) < per_item[:, None]
    return _Block(per_item, annotator[is_made], label[is_made], float(np.square(p).sum()))


def _item_distributions(design: _Design, items: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Dirichlet(α·prior) with α = (1 − h)/h, for which E[Σp²] = S + h·(1 − S), S = Σ prior²."""
    h = design.heterogeneity
    if h < NEARLY:
        return np.tile(design.prior, (items, 1))
    if h > 1.0 - NEARLY:
        return np.asarray(np.eye(design.classes)[rng.choice(design.classes, size=items, p=design.prior)])
    return rng.dirichlet(design.prior * (1.0 - h) / h, size=items)


def _draw_annotators(items: int, each: int, among: int, rng: np.random.Generator) -> NDArray[np.int32]:
    """``each`` distinct annotators for every item in random order, all orders equally likely.

    If most annotators are needed, they are shuffled; otherwise they are drawn one by one, redrawing repeats, so sparse
    data never builds an items × annotators table.
    """
    if among <= 4 * each:
        everyone = np.tile(np.arange(among, dtype=np.int32), (items, 1))
        return rng.permuted(everyone, axis=1, out=everyone)[:, :each]
    drawn = rng.integers(among, size=(items, each), dtype=np.int32)
    for column in range(1, each):
        again = np.arange(items)
        while again.size:
            again = again[(drawn[again, :column] == drawn[again, column, None]).any(axis=1)]
            drawn[again, column] = rng.integers(among, size=again.size, dtype=np.int32)
    return drawn


def _draw_labels(p: NDArray[np.float64], quality: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.int32]:
    classes = p.shape[1]
    label = np.zeros(quality.shape, dtype=np.int32)
    point = rng.random(quality.shape)
    for reached in p.cumsum(axis=1).T[:-1]:
        label += point >= reached[:, None]
    looks = rng.random(quality.shape) < quality
    return np.where(looks, label, rng.integers(classes, size=quality.shape, dtype=np.int32))


def _frame(design: _Design, blocks: list[_Block], rng: np.random.Generator) -> pl.DataFrame:
    item = np.repeat(np.arange(design.items), np.concatenate([block.per_item for block in blocks]))
    # Exactly the fraction ``missing`` is removed, all subsets equally likely.
    stays = np.arange(item.size) >= round(design.missing * item.size)
    rng.shuffle(stays)
    kept = np.flatnonzero(stays)
    number = pl.int_range(1, design.items + 1, eager=True).cast(pl.String)
    names = pl.select(pl.lit("item") + number.str.zfill(len(str(design.items)))).to_series()
    annotator = np.concatenate([block.annotator for block in blocks])[kept]
    label = np.concatenate([block.label for block in blocks])[kept]
    return pl.DataFrame(
        {
            "item": names.gather(item[kept]),
            "annotator": pl.Series(_annotator_names(design.annotators)).gather(annotator),
            "label": pl.Series(_class_names(design.classes)).gather(label),
            "time": kept + 1,
        }
    )


def _annotator_names(annotators: int) -> list[str]:
    width = max(2, len(str(annotators)))
    return [f"a{number:0{width}}" for number in range(1, annotators + 1)]


def _class_names(classes: int) -> list[str]:
    """Letters while they last, then numbers: pairs of letters would soon spell NA."""
    if classes <= len(LETTERS):
        return list(LETTERS[:classes])
    return [f"c{number:0{len(str(classes))}}" for number in range(1, classes + 1)]
