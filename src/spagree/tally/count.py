"""Annotations → Tally: one expression, run natively by whatever engine holds the data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import narwhals as nw

from spagree.errors import DataError
from spagree.read.annotations import ANNOTATOR, COUNT, ITEM, LABEL, Annotations, Caution
from spagree.tally.engines import rows
from spagree.tally.policies import Clean, Policies, apply_policies, caution_variants
from spagree.tally.tally import MOST_ANNOTATIONS_PER_ITEM, Cell, Tally, text

N, PAIRS, TRIPLES, SINGLE, ITEMS = "n", "pairs", "triples", "single", "items"


@dataclass(frozen=True, slots=True)
class Counted:
    """A tally, the lazy item × class counts behind it, and what to tell the user."""

    tally: Tally
    counts: nw.LazyFrame[Any]
    cautions: tuple[Caution, ...]


def count(annotations: Annotations, policies: Policies | None = None) -> Counted:
    """Count annotations where they live; only a few thousand integers come back.

    >>> from spagree.read import read
    >>> counted = count(read([("q1", "ann", "yes"), ("q1", "bob", "yes"), ("q2", "ann", "no")]))
    >>> counted.tally.cells
    {Cell(n=2, pairs=2, triples=0): 1, Cell(n=1, pairs=0, triples=0): 1}
    """
    seen = _label_counts(annotations.frame)
    labels = [label for label in seen if label is not None]
    clean = _drop_missing(annotations.frame, seen)
    clean = apply_policies(clean, annotations, labels, policies or Policies())
    counts = _item_counts(clean.frame)
    totals = _label_counts(clean.frame)
    tally = _tally(counts, totals, _annotator_counts(clean.frame), clean.left_out)
    cautions = annotations.cautions + caution_variants(totals) + clean.cautions
    return Counted(tally, counts, cautions)


def tally_counts(counts: nw.LazyFrame[Any], annotators: Mapping[str, int] | None, left_out: Mapping[str, int]) -> Tally:
    """The tally of ready (item, label, count) rows, one per item and label."""
    return _tally(counts, _label_counts(counts), annotators, left_out)


def _label_counts(frame: nw.LazyFrame[Any]) -> dict[Any, int]:
    """Annotations per label, in one cheap pass over one column."""
    return dict(sorted(_counted_by(frame, LABEL).items(), key=lambda pair: (-pair[1], text(pair[0]))))


def _counted_by(frame: nw.LazyFrame[Any], column: str) -> dict[Any, int]:
    found = rows(frame.group_by(column).agg(_size(frame)))
    return {value: int(size) for value, size in found if int(size) > 0}


def _size(frame: nw.LazyFrame[Any]) -> nw.Expr:
    return nw.col(COUNT).sum() if COUNT in _names(frame) else nw.len().alias(COUNT)


def _drop_missing(frame: nw.LazyFrame[Any], labels: Mapping[Any, int]) -> Clean:
    """Only rows with a label and an item can be counted; the others are reported."""
    labelled = frame.filter(~nw.col(LABEL).is_null())
    without_item = _counted_by(labelled.filter(nw.col(ITEM).is_null()), ITEM)
    found = {"missing_label": labels.get(None, 0), "missing_item": sum(without_item.values())}
    left_out = {reason: size for reason, size in found.items() if size}
    return Clean(labelled.filter(~nw.col(ITEM).is_null()), left_out)


def _item_counts(frame: nw.LazyFrame[Any]) -> nw.LazyFrame[Any]:
    """(item, label, count): how often each label was given to each item."""
    counts = frame.group_by(ITEM, LABEL).agg(_size(frame)).with_columns(nw.col(COUNT).cast(nw.Int64))
    return counts.filter(nw.col(COUNT) > 0) if COUNT in _names(frame) else counts


def item_sums(counts: nw.LazyFrame[Any]) -> nw.LazyFrame[Any]:
    """(item, n, pairs, triples, label): n, A and T of MATH §1, and one of the item's labels."""
    # Clipped so that no engine overflows before the item is refused for its n.
    c = nw.col(COUNT).clip(upper_bound=MOST_ANNOTATIONS_PER_ITEM)
    terms = counts.with_columns((c * (c - 1)).alias(PAIRS), (c * (c - 1) * (c - 2)).alias(TRIPLES))
    sums = (nw.col(COUNT).sum().alias(N), nw.col(PAIRS).sum(), nw.col(TRIPLES).sum(), nw.col(LABEL).min())
    return terms.group_by(ITEM).agg(*sums)


def item_agreement(counts: nw.LazyFrame[Any]) -> nw.LazyFrame[Any]:
    """(item, annotations, agreement), least agreement first; null where there is no pair."""
    n = nw.col(N).cast(nw.Float64)
    agreement = nw.when(nw.col(N) > 1).then(nw.col(PAIRS).cast(nw.Float64) / (n * (n - 1))).alias("agreement")
    found = item_sums(counts).with_columns(agreement).select(ITEM, nw.col(N).alias("annotations"), "agreement")
    return found.sort("agreement", ITEM, nulls_last=True)


def _tally(
    counts: nw.LazyFrame[Any],
    labels: Mapping[Any, int],
    annotators: Mapping[str, int] | None,
    left_out: Mapping[str, int],
) -> Tally:
    # The label of items annotated once rides along, so that labels of pairable items
    # follow by subtraction and the items are grouped only once.
    single = nw.when(nw.col(N) == 1).then(nw.col(LABEL)).alias(SINGLE)
    groups = item_sums(counts).with_columns(single).group_by(N, PAIRS, TRIPLES, SINGLE)
    found = sorted(rows(groups.agg(nw.len().alias(ITEMS))), key=lambda row: row[:3], reverse=True)
    _refuse_overflow(int(max((row[0] for row in found), default=0)))
    cells: dict[Cell, int] = {}
    pairable = {text(label): size for label, size in labels.items()}
    for n, pairs, triples, label, items in found:
        cell = Cell(int(n), int(pairs), int(triples))
        cells[cell] = cells.get(cell, 0) + int(items)
        if cell.n == 1:
            pairable[text(label)] -= int(items)
    kept = {label: size for label, size in pairable.items() if size}
    return Tally(cells, {text(k): v for k, v in labels.items()}, kept, annotators, dict(left_out))


def _annotator_counts(frame: nw.LazyFrame[Any]) -> dict[str, int] | None:
    """Annotations per annotator; None when the source does not say who annotated."""
    if ANNOTATOR not in _names(frame):
        return None
    found = _counted_by(frame, ANNOTATOR)
    return {text(annotator): size for annotator, size in found.items() if annotator is not None}


def _refuse_overflow(n: int) -> None:
    if n > MOST_ANNOTATIONS_PER_ITEM:
        raise DataError(
            f"one item has {n:,} annotations, more than the {MOST_ANNOTATIONS_PER_ITEM:,} that are "
            "counted exactly; is the item column right?"
        )


def _names(frame: nw.LazyFrame[Any]) -> list[str]:
    return frame.collect_schema().names()
