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

With spans an item is a text with one to four passages to mark, each with a class distribution as in 2. An annotator of
quality q sees a passage with probability q, labels it as in 3, and with probability q ends it where it ends, otherwise
at one of three places drawn at random. Two annotators make the same mark with the product of these probabilities.
"""

from __future__ import annotations

import operator
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from spagree.errors import UsageError
from spagree.write import save_frame

if TYPE_CHECKING:
    from numpy.typing import NDArray

FIRST_ASKED = 2  # annotators who label every item of an adaptive project before anyone looks at the labels
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
STEEPEST_SKEW = 10.0  # the first two classes are then 1024 : 1; anything steeper is effectively one class
NEARLY = 1e-9  # closer than this to 0 or 1, a heterogeneity counts as 0 or 1: Dirichlet draws overflow
BYTES_EACH = 100  # of memory for an annotation, an item or a name, a generous estimate
LARGEST = 1 << 42
MOST_PASSAGES = 4  # to mark in a text
PASSAGE, ENDS = 40, (8, 12, 16)  # characters that a passage has for itself, and how many of them a mark may cover
CELLS_AT_ONCE = 1 << 20  # items are drawn in blocks to limit memory; changing this changes the data


@dataclass(frozen=True, slots=True, eq=False)
class Simulation:
    """Simulated annotations and their true agreement.

    ``frame`` has the columns item, annotator, label (text) and time (whole seconds, increasing, in the order of
    annotation); for spans item, annotator, start, end and label, the last three empty for somebody who marked nothing
    in a text. ``truth`` is the probability that two different annotators give the same label to an item, both drawn
    uniformly; for spans that another annotator makes the same mark. It is an average over the simulated items and over
    all pairs of the simulated annotators (also pairs who never met on an item), given the class distribution of every
    item and the quality of every annotator: what SPA estimates, not the agreement of this particular draw of labels.
    ``quality`` says how careful each annotator is. ``parameters`` are the arguments:
    ``simulate(**simulation.parameters)`` reproduces the data.

    >>> simulation = simulate(items=2, annotators=2, per_item=2, quality=1.0, heterogeneity=1.0)
    >>> simulation.truth, simulation.frame.columns
    (1.0, ['item', 'annotator', 'label', 'time'])
    """

    frame: pl.DataFrame
    truth: float
    quality: Mapping[str, float]
    parameters: Mapping[str, Any]

    def save(self, path: str | os.PathLike[str], *, force: bool = False) -> Path:
        """Write the annotations as .csv, .csv.gz or .parquet; never leaves a partial file."""
        save_frame(self.frame, path, force=force)
        return Path(path)


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
    spans: bool = False,
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
    spans
        annotators mark passages of texts instead of labelling whole items.

    >>> simulation = simulate(items=100, per_item=(2, 5), quality=(0.6, 1.0), seed=7)
    >>> simulation.frame.height, round(simulation.truth, 4)
    (354, 0.5813)
    >>> full = simulate(items=4, annotators=3, per_item=3)
    >>> full.frame.height
    12
    """
    parameters: dict[str, Any] = {"items": items, "annotators": annotators, "classes": classes, "per_item": per_item}
    parameters |= {"skew": skew, "heterogeneity": heterogeneity, "quality": quality, "missing": missing}
    parameters |= {"adaptive": adaptive, "spans": spans, "seed": seed}
    items = _checked("items", items, 1)
    people, count = _checked("annotators", annotators, 2), _checked("classes", classes, 1)
    fewest, most = _low_and_high("per_item", per_item, 1)
    _refuse_impossible(parameters, items, people, count, fewest, most)
    worst, best = _low_and_high("quality", quality, 0.0, 1.0)
    if spans and best == 0:
        raise UsageError("quality: found 0 with spans; give more, or nobody marks anything")
    careful = np.linspace(worst, best, people)
    frequency = np.arange(1.0, count + 1.0) ** -_checked("skew", skew, 0.0, STEEPEST_SKEW)
    prior, between = frequency / frequency.sum(), _checked("heterogeneity", heterogeneity, 0.0, 1.0)
    lost = _checked("missing", missing, 0.0, 1.0)

    rng = np.random.default_rng(_checked("seed", seed, 0))
    concentration, drawn = 0.0, []  # Σ_i Σ_c p_ic²; per block how many annotations, by whom, and their labels
    at_once = max(1, CELLS_AT_ONCE // max(most, count))
    for start in range(0, items, at_once):
        size = min(at_once, items - start)
        p = _item_distributions(prior, between, size, rng)
        annotator = _draw_annotators(size, most, people, rng)
        label = _draw_labels(p, careful[annotator], rng)
        each = rng.integers(fewest, most, size=size, endpoint=True)
        if adaptive:
            each = np.where(label[:, 0] == label[:, 1], FIRST_ASKED, each)
        is_made = np.arange(most) < each[:, None]
        concentration += float(np.square(p).sum())
        drawn.append((each, annotator[is_made], label[is_made]))

    sizes, who, what = (np.concatenate(parts) for parts in zip(*drawn, strict=True))
    item = np.repeat(np.arange(items), sizes)
    stays = np.arange(item.size) >= round(lost * item.size)  # exactly this fraction goes, all subsets equally likely
    rng.shuffle(stays)
    kept = np.flatnonzero(stays)
    names = [f"a{number:0{max(2, len(str(people)))}}" for number in range(1, people + 1)]
    labels = list(LETTERS[:count])
    if count > len(LETTERS):  # pairs of letters would soon spell NA
        labels = [f"c{number:0{len(str(count))}}" for number in range(1, count + 1)]
    number = pl.int_range(1, items + 1, eager=True).cast(pl.String)
    columns = {
        "item": pl.select(pl.lit("item") + number.str.zfill(len(str(items)))).to_series().gather(item[kept]),
        "annotator": pl.Series(names).gather(who[kept]),
        "label": pl.Series(labels).gather(what[kept]),
        "time": kept + 1,
    }
    frame, quality_of = pl.DataFrame(columns), dict(zip(names, careful.tolist(), strict=True))
    if spans:
        frame, truth = _marked(frame, item[kept], who[kept], careful, prior, between, labels, rng)
        return Simulation(frame, truth, quality_of, parameters)
    # P(agree) = Q·S + (1 − Q)/C, with Q the mean of q_j·q_k over j ≠ k and S the mean of Σ_c p_ic²
    both_look = _of_two(careful)
    truth = both_look * (concentration / items) + (1.0 - both_look) / count
    return Simulation(frame, truth, quality_of, parameters)


def _refuse_impossible(given: Mapping[str, Any], items: int, people: int, count: int, fewest: int, most: int) -> None:
    """Refuse more annotators for an item than there are, and more than memory holds."""
    found = f"per_item: found {given['per_item']!r}"
    if most > people:
        raise UsageError(f"{found} with {people} annotators; give at most {people}, or raise annotators")
    if given["adaptive"] and (fewest < FIRST_ASKED or most == FIRST_ASKED):
        raise UsageError(
            f"{found} with adaptive overlap; give 3 or more (or a range from 2 up), "
            "so that there is someone to ask when the first two disagree"
        )
    if given["adaptive"] and given["spans"]:
        raise UsageError("adaptive overlap looks at labels of whole items; leave out adaptive, or spans")
    needed = BYTES_EACH * (items * (most + 1) + people + 3 * count)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else LARGEST
    if needed > min(memory, LARGEST):  # it would kill other programs before it fails
        raise UsageError(
            f"{items * most:,} annotations of {items:,} items by {people:,} annotators in {count:,} classes "
            f"need about {needed / 1e9:,.0f} GB of memory, and this machine has {memory / 1e9:,.0f} GB; "
            "simulate less, or in parts with different seeds"
        )


def _of_two(quality: NDArray[np.float64]) -> float:
    """The mean product of two of them."""
    return float(quality.sum() ** 2 - (quality**2).sum()) / (len(quality) * (len(quality) - 1))


def _marked(
    visits: pl.DataFrame,
    item: NDArray[np.int64],
    who: NDArray[np.int32],
    careful: NDArray[np.float64],
    prior: NDArray[np.float64],
    between: float,
    labels: list[str],
    rng: np.random.Generator,
) -> tuple[pl.DataFrame, float]:
    """What each visitor marks of the passages of a text, or a row without a mark; and how likely another does, too."""
    quality, items = careful[who], int(item.max(initial=0)) + 1
    passages = rng.integers(1, MOST_PASSAGES, size=items, endpoint=True)
    p = _item_distributions(prior, between, int(passages.sum()), rng)
    visit = np.repeat(np.arange(len(item)), passages[item])
    place = np.arange(len(visit)) - np.repeat(np.cumsum(passages[item]) - passages[item], passages[item])
    passage = (np.cumsum(passages) - passages)[item][visit] + place
    sees, knows_end = rng.random((2, len(visit))) < quality[visit]
    label = _draw_labels(p[passage], quality[visit, None], rng)[:, 0]
    start = PASSAGE * place
    end = start + np.where(knows_end, ENDS[1], rng.choice(ENDS, size=len(visit)))
    columns = {"visit": visit, "start": start, "end": end, "label": pl.Series(labels).gather(label)}
    marks = pl.DataFrame(columns).filter(pl.Series(sees))
    numbered = visits.select("item", "annotator").with_columns(visit=pl.int_range(len(item)).cast(pl.Int64))
    frame = numbered.join(marks, on="visit", how="left", maintain_order="left_right").drop("visit")
    # who sees a passage gives it the same label (a·x + 1/C) and the same end (b·x + 1/3), with x = q_j·q_k
    by_label = [float(np.square(p).sum(axis=1).mean()) - 1 / len(labels), 1 / len(labels)]
    same = np.polymul(by_label, [1 - 1 / len(ENDS), 1 / len(ENDS)])
    shared = float(np.dot(same, [_of_two(careful**power) for power in (3, 2, 1)]))
    return frame, shared / float(careful.mean())


def _low_and_high(name: str, value: Any, least: float, most: float | None = None) -> tuple[Any, Any]:
    ends = value if isinstance(value, tuple | list) else (value, value)
    match [_checked(name, end, least, most) for end in ends]:
        case [low, high] if low <= high:
            return low, high
    raise UsageError(f"{name}: found {value!r}; give one number, or two as (low, high)")


def _checked(name: str, value: Any, least: float, most: float | None = None) -> Any:
    """A whole number, ``least`` or more; with ``most`` any number between them."""
    try:
        number = operator.index(value) if most is None else float(value)
    except (TypeError, ValueError):
        number = float("nan")
    if not least <= number <= (float("inf") if most is None else most):
        wanted = f"a whole number, {least} or more" if most is None else f"a number from {least:g} to {most:g}"
        raise UsageError(f"{name}: found {value!r}; give {wanted}")
    return number


def _item_distributions(
    prior: NDArray[np.float64], h: float, items: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Dirichlet(α·prior) with α = (1 − h)/h, for which E[Σp²] = S + h·(1 − S), S = Σ prior²."""
    if h < NEARLY:
        return np.tile(prior, (items, 1))
    if h > 1.0 - NEARLY:
        return np.asarray(np.eye(len(prior))[rng.choice(len(prior), size=items, p=prior)])
    return rng.dirichlet(prior * (1.0 - h) / h, size=items)


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
