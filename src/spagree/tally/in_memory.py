"""Annotations in memory → Tally, for small files: the engine's answers without the time it takes to start one."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Any

from spagree.late import nw
from spagree.read.annotations import ANNOTATOR, ITEM, LABEL, FewRows
from spagree.tally.grouped import Pattern
from spagree.tally.patterns import pattern
from spagree.tally.spelling import MOST_COMPARED
from spagree.tally.tally import Tally, refuse_overflow

MOST_ITEMS = 2 * MOST_COMPARED  # of as many or more, the engine compares the names of a sample


def usable_rows(few: FewRows) -> tuple[FewRows, dict[str, int]]:
    """The rows with a label and an item, and how many lack either."""
    items, labels = few.cells[ITEM], few.cells[LABEL]
    kept = [place for place, label in enumerate(labels) if label is not None and items[place] is not None]
    missing = sum(label is None for label in labels)
    found = {"missing_label": missing, "missing_item": len(labels) - missing - len(kept)}
    cells = {role: [column[place] for place in kept] for role, column in few.cells.items()}
    return FewRows(cells, lambda: drop_missing(few.frame)), {reason: size for reason, size in found.items() if size}


def drop_missing(frame: nw.LazyFrame[Any]) -> nw.LazyFrame[Any]:
    """The rows with a label and an item."""
    return frame.filter(~nw.col(LABEL).is_null(), ~nw.col(ITEM).is_null())


def tally_rows(few: FewRows, left_out: Mapping[str, int]) -> Tally | None:
    """The tally of usable rows; None if there are none, too many items, or an annotator labelled an item twice."""
    items, labels, people = few.cells[ITEM], few.cells[LABEL], few.cells.get(ANNOTATOR)
    if not 0 < len(set(items)) < MOST_ITEMS or (people is not None and _has_repeats(items, people)):
        return None
    counts: defaultdict[str | None, Counter[str | None]] = defaultdict(Counter)
    for item, label in zip(items, labels, strict=True):
        counts[item][label] += 1
    patterns: Counter[Pattern] = Counter(map(pattern, counts.values()))
    made = None if people is None else Counter(name for name in people if name is not None)
    tally = Tally.from_patterns(dict(patterns), dict(made) if made else None, left_out)
    refuse_overflow(max(cell.n for cell in tally.cells))
    return tally


def _has_repeats(items: Any, people: Any) -> bool:
    pairs = [pair for pair in zip(items, people, strict=True) if pair[1] is not None]
    return len(set(pairs)) < len(pairs)
