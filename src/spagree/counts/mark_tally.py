"""Tallies of marks: how many items were seen by n, with S marks of which A were shared (docs/mathematics.md §20).

That is all that θ, its interval for these annotators and the test of the assumption need. Marks are counted some items
at a time, so memory is in proportion to the marks of these and not to all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from spagree.codes import Floats, Ints
from spagree.counts.tally import add_counts
from spagree.errors import count

if TYPE_CHECKING:
    from spagree.read.annotations import Seen

SAME, OTHER_LABEL, OTHER_BOUNDARIES, BOTH, NOTHING = OUTCOMES = (
    "same",
    "other_label",
    "other_boundaries",
    "both",
    "nothing",
)
LEVELS = {
    "exact": (False, False),
    "characters": (True, False),
    "exact_any_label": (False, True),
    "characters_any_label": (True, True),
}
"""By name: whether characters are compared, not whole spans; whether labels are ignored."""
MarkCell = tuple[int, float, float]
"""How many saw an item, how much they marked, and how much of that was shared, summed over ordered pairs of them."""


@dataclass(frozen=True, repr=False)
class MarkTally:
    """Everything that agreement on marks needs, without names of items; tallies of disjoint items merge with ``+``.

    >>> import spagree
    >>> parts = [spagree.tally_spans([(item, who, 0, 4, "P") for who in ("ann", "bob")]) for item in "xy"]
    >>> parts[0] + parts[1], spagree.measure_spans(sum(parts)).exact.value
    (MarkTally(2 items, 4 annotations, 4 marks), 1.0)
    """

    cells: Mapping[str, Mapping[MarkCell, int]] = field(default_factory=lambda: {level: {} for level in LEVELS})
    """Items by cell, for each level and, unless too many people met, for what else than the same a mark met."""
    labels: Mapping[str, int] = field(default_factory=dict)
    annotators: Mapping[str, int] = field(default_factory=dict)
    empty: int = 0
    """Annotations without a mark."""
    seen: Seen | None = None
    """How it is known who saw what; None of nothing."""
    left_out: Mapping[str, int] = field(default_factory=dict)

    def __repr__(self) -> str:
        """What was counted, without the counts."""
        items, annotations = count(self.items, "item"), count(self.annotations, "annotation")
        return f"MarkTally({items}, {annotations}, {count(self.marks, 'mark')})"

    def __add__(self, other: MarkTally) -> MarkTally:
        if not isinstance(other, MarkTally):
            return NotImplemented
        ways: list[Seen] = sorted({way for way in (self.seen, other.seen) if way is not None})
        known = [part.cells for part in (self, other) if part.items]
        levels = [level for level in (known or [self.cells])[0] if all(level in cells for cells in known)]
        return MarkTally(
            {level: add_counts(self.cells.get(level, {}), other.cells.get(level, {})) for level in levels},
            add_counts(self.labels, other.labels),
            add_counts(self.annotators, other.annotators),
            self.empty + other.empty,
            "unknown" if "unknown" in ways else ways[0] if ways else None,
            add_counts(self.left_out, other.left_out),
        )

    def __radd__(self, other: object) -> MarkTally:
        """Let ``sum(tallies)`` start from 0."""
        return self if other == 0 else NotImplemented

    @property
    def items(self) -> int:
        """Items that somebody saw."""
        return sum(self.cells["exact"].values())

    @property
    def annotations(self) -> int:
        """Visits: an annotator on an item."""
        return sum(n * items for (n, _, _), items in self.cells["exact"].items())

    @property
    def marks(self) -> int:
        """Marks, those that somebody made twice counted once."""
        return int(sum(marked * items for (_, marked, _), items in self.cells["exact"].items()))

    def columns(self, level: str) -> tuple[Ints, Floats, Floats, Floats]:
        """The cells of a level as arrays: how many saw an item, how many such items, their marks, what was shared."""
        cells = self.cells[level]
        n, marked, agreeing = np.array([*cells], dtype=np.float64).reshape(-1, 3).T
        return n.astype(np.int64), np.array([*cells.values()], dtype=np.float64), marked, agreeing
