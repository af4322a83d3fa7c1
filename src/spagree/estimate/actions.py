"""What to do next, as values: each action with its expected gain, largest gain first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from spagree.estimate.breakdown_values import Action
from spagree.estimate.checks import LOW_KAPPA, ROUGH, annotators_decide
from spagree.estimate.findings import Findings
from spagree.estimate.overlap import Overlap
from spagree.estimate.uncertainty import POPULATIONS, half_interval

if TYPE_CHECKING:
    import polars

SECOND_ANNOTATION, EARLY_ANNOTATIONS, SHARED_ITEMS = "second_annotation", "early_annotations", "shared_items"
PRECISION, ANNOTATORS, ITEMS, CLASSES = "precision", "annotators", "items", "classes"
THIRD_ANNOTATION, GUIDELINE, MORE_PEOPLE = "third_annotation", "guideline", "more_people"
SHARP = 0.02  # half-width below which no decision needs a narrower interval
MUCH = 0.1  # of all disagreement: worth an afternoon
FEWEST_ITEMS, MOST_ITEMS = 3, 10
MOST_NAMED = 3
PAIR = 2


@dataclass(frozen=True, slots=True)
class Grounds:
    """The breakdowns that suggest actions; None for a breakdown that is absent."""

    annotators: polars.DataFrame | None = None
    items: polars.DataFrame | None = None
    """As :meth:`spagree.estimate.disagreement.Disagreement.items` returns them."""
    classes: polars.DataFrame | None = None
    overlap: Overlap | None = None
    half: Mapping[str, Any] | None = None
    """The cheapest way to halve the interval by annotating new items: a row of the plan."""


def actions(findings: Findings, grounds: Grounds) -> tuple[Action, ...]:
    """Everything worth doing: first whatever makes the number wrong, then by gain."""
    if not findings.data.pairable_items:
        return (Action(SECOND_ANNOTATION),)
    # First, problems that more annotation of the same kind would not fix
    first = [Action(EARLY_ANNOTATIONS)] if findings.missingness.broken else []
    if grounds.overlap is not None and len(grounds.overlap.teams) > 1:
        first.append(Action(SHARED_ITEMS, figures={"teams": len(grounds.overlap.teams)}))
    ranked = sorted(_gains(findings, grounds), key=lambda action: -action.gain)
    half = half_interval(findings.spa)
    is_rough = half is None or half > ROUGH
    highest = findings.chance["krippendorff_alpha"].high
    if not is_rough and highest is not None and highest < LOW_KAPPA:  # a more precise number would say the same
        return (*first, Action(GUIDELINE), *ranked, *_third(grounds.annotators))
    # With a broken assumption, more annotations would only make a wrong number more precise
    sharper = () if findings.missingness.broken else _precision(findings, grounds)
    more = [*sharper, *_third(grounds.annotators)]
    return tuple([*first, *more, *ranked] if is_rough else [*first, *ranked, *more])


def _gains(findings: Findings, grounds: Grounds) -> Iterator[Action]:
    spa = findings.spa.value
    if spa is None or spa == 1:
        return
    yield from _people(grounds.annotators, spa)
    yield from _items(grounds.items, spa, findings.data.pairable_items)
    yield from _classes(grounds.classes, spa)


def _people(annotators: polars.DataFrame | None, spa: float) -> Iterator[Action]:
    """Annotators who are outliers on their own items and without whom SPA would be higher."""
    if annotators is None:
        return
    apart = [row for row in annotators.rows(named=True) if row["stands_out"] and (row["change"] or 0) > 0]
    if not apart:
        return
    apart.sort(key=lambda row: -row["change"])
    names = tuple(row["annotator"] for row in apart[:MOST_NAMED])
    figures = {"annotators": len(apart), "spa": spa, "spa_without": apart[0]["spa_without"]}
    yield Action(ANNOTATORS, names, {**figures, "against_others": apart[0]["against_others"]}, apart[0]["change"])


def _items(items: polars.DataFrame | None, spa: float, pairable_items: int) -> Iterator[Action]:
    """The few items that account for a tenth of all disagreement, or the top ten."""
    if items is None or items.is_empty():
        return
    shares = items["share"].head(MOST_ITEMS).to_list()
    enough = next((size for size in range(1, len(shares)) if sum(shares[:size]) >= MUCH), len(shares))
    size = min(max(enough, FEWEST_ITEMS), len(shares))
    share = sum(shares[:size])
    names = tuple(str(item) for item in items["item"].head(MOST_NAMED).to_list())
    yield Action(ITEMS, names, {"items": size, "share": share, "of_all": size / pairable_items}, share * (1 - spa))


def _classes(confusions: polars.DataFrame | None, spa: float) -> Iterator[Action]:
    """The two classes with the largest share of all disagreement, if it exceeds what their sizes explain."""
    if confusions is None or confusions.height < PAIR:
        return
    row = next((row for row in confusions.rows(named=True) if row["more"]), None)
    if row is not None and row["share"] >= MUCH:
        merged = spa + row["share"] * (1 - spa)
        figures = {"share": row["share"], "spa": spa, "spa_merged": merged}
        yield Action(CLASSES, (row["class"], row["other"]), figures, merged - spa)


def _precision(findings: Findings, grounds: Grounds) -> Iterator[Action]:
    """More annotators where they differ more than items do; otherwise what it takes to halve the items' interval."""
    items, others = (half_interval(findings.spa.intervals.get(name)) for name in POPULATIONS)
    if items is None:
        return
    if others is not None and others > SHARP and annotators_decide(findings.spa):
        figures = {"annotators": findings.data.annotators or 0, "half_width": others, "half_width_items": items}
        yield Action(MORE_PEOPLE, figures=figures)
        return
    row = grounds.half
    if row is None or items <= SHARP:
        return
    yield Action(
        PRECISION,
        figures={
            "annotations": row["more_annotations"],
            "items": row["items"],
            "annotations_per_item": row["annotations_per_item"],
            "half_width": items,
            "half_width_then": row["half_width"],
        },
    )


def _third(annotators: polars.DataFrame | None) -> Iterator[Action]:
    """With two annotations per item, a hard item and a careless annotator look the same."""
    if annotators is not None and annotators.height > PAIR and annotators["against_others"].is_null().all():
        yield Action(THIRD_ANNOTATION)
