"""Tallies of marks: what θ, its intervals and its breakdown by label need, without who marked what and where.

Of what is compared in one way, such as whole spans, an item is a row (n, S, A, …): n people saw it and marked S, of
which A was shared. A visit is the same row with what it made and what the item loses without it; such rows are summed
for each annotator, because that is linear (docs/mathematics.md §20). Marks are counted some items at a time, so memory
is in proportion to the marks of these and not to all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

from spagree.counts.tally import add_counts, sum_known
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
BY_CHANCE = "by_chance"
CLASS = "class "  # and a label: the table of its marks
MOST_ROWS = 200_000  # of visits, or of pairs of annotators: with more, a tally does not tell of other annotators

K = TypeVar("K")
Row = tuple[float, ...]
Pair = tuple[str, str]


@dataclass(frozen=True)
class MarkTable:
    """Items on which something was marked, for figures with the same marks: how much, and how much of it was shared.

    ``cells``: items by n, S and the A of each figure. ``visits``: the same of each visit to them, then what it made and
    what each A loses without it. ``people``: these sums by annotator and n. ``pairs``: what two made where they met,
    and twice what they shared of it by the first figure.
    """

    figures: tuple[str, ...]
    cells: Mapping[Row, int] = field(default_factory=dict)
    visits: Mapping[Row, int] | None = field(default_factory=dict)
    people: Mapping[tuple[str, int], Row] = field(default_factory=dict, compare=False)
    pairs: Mapping[Pair, Row] | None = field(default_factory=dict, compare=False)

    def __add__(self, other: MarkTable) -> MarkTable:
        figures = tuple(name for name in self.figures if name in other.figures)
        one, two = self.only(figures), other.only(figures)
        visits = sum_known(one.visits, two.visits)
        return MarkTable(
            figures,
            add_counts(one.cells, two.cells),
            None if visits is not None and len(visits) > MOST_ROWS else visits,
            _added(one.people, two.people),
            None if one.pairs is None or two.pairs is None else _added(one.pairs, two.pairs),
        )

    def only(self, figures: Sequence[str]) -> MarkTable:
        """With some of the figures, in order, the first of which stays."""
        if figures == self.figures:
            return self
        width = 1 + len(self.figures)
        kept = [0, *(1 + self.figures.index(name) for name in figures)]
        both = kept + [width + place for place in kept]

        def counted(rows: Mapping[Row, int], places: Sequence[int]) -> dict[Row, int]:
            whole: Counter[Row] = Counter()
            for (n, *amounts), size in rows.items():
                whole[n, *(amounts[place] for place in places)] += size
            return dict(whole)

        return MarkTable(
            tuple(figures),
            counted(self.cells, kept),
            None if self.visits is None else counted(self.visits, both),
            {key: tuple(row[place] for place in both) for key, row in self.people.items()},
            self.pairs,
        )


def _added(one: Mapping[K, Row], two: Mapping[K, Row]) -> dict[K, Row]:
    """Rows of the same key added up."""
    both = {key: tuple(map(sum, zip(row, two[key], strict=True))) for key, row in one.items() if key in two}
    return {**one, **two, **both}


@dataclass(frozen=True, repr=False)
class MarkTally:
    """Everything that agreement on marks needs, without names of items; tallies of disjoint items merge with ``+``.

    >>> import spagree
    >>> parts = [spagree.tally_spans([(item, who, 0, 4, "P") for who in ("ann", "bob")]) for item in "xy"]
    >>> parts[0] + parts[1], spagree.measure_spans(sum(parts)).exact.value
    (MarkTally(2 items, 4 annotations, 4 marks), 1.0)
    """

    saw: Mapping[str, Mapping[int, int]] = field(default_factory=dict)
    """Of each annotator, how many items they saw with how many people, themselves included."""
    tables: Mapping[str, MarkTable] = field(default_factory=dict)
    """By level, and for each label unless there are too many."""
    labels: Mapping[str, int] = field(default_factory=dict)
    met: Mapping[Pair, int] | None = field(default_factory=dict)
    """How many items two annotators shared; None if too many met."""
    closest: Mapping[tuple[int, int, str, str], int] | None = field(default_factory=dict)
    """By n, kind of outcome, label and the label of the other: how often a mark met another mark; None likewise."""
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
        saw = {who: add_counts(self.saw.get(who, {}), other.saw.get(who, {})) for who in {**self.saw, **other.saw}}
        if self.items and other.items:
            tables = {name: self.tables[name] + other.tables[name] for name in self.tables if name in other.tables}
            if self.has_classes and other.has_classes:  # a label that one part does not know was marked nowhere in it
                alone = {**self.tables, **other.tables}
                tables |= {
                    name: table for name, table in alone.items() if name.startswith(CLASS) and name not in tables
                }
            else:
                tables = {name: table for name, table in tables.items() if not name.startswith(CLASS)}
        else:
            tables = dict((self if self.items else other).tables)
        met = sum_known(self.met, other.met)
        if met is None or len(met) > MOST_ROWS:  # without who met, the rest does not tell of others either
            met, tables = None, {name: replace(table, visits=None, pairs=None) for name, table in tables.items()}
        return MarkTally(
            dict(sorted(saw.items())),
            tables,
            add_counts(self.labels, other.labels),
            met,
            sum_known(self.closest, other.closest),
            self.empty + other.empty,
            "unknown" if "unknown" in ways else ways[0] if ways else None,
            add_counts(self.left_out, other.left_out),
        )

    def __radd__(self, other: object) -> MarkTally:
        """Let ``sum(tallies)`` start from 0."""
        return self if other == 0 else NotImplemented

    @property
    def has_classes(self) -> bool:
        """Whether marks were counted by label."""
        return all(CLASS + label in self.tables for label in self.labels)

    @cached_property
    def annotators(self) -> dict[str, int]:
        """How many items each annotator saw."""
        return {who: sum(sizes.values()) for who, sizes in self.saw.items()}

    @cached_property
    def visits_by_n(self) -> dict[int, int]:
        """Visits by how many people saw the item."""
        visits: Counter[int] = Counter()
        for sizes in self.saw.values():
            visits.update(sizes)
        return dict(sorted(visits.items()))

    @cached_property
    def items_by_n(self) -> dict[int, int]:
        """Items by how many people saw them."""
        return {n: size // n for n, size in self.visits_by_n.items()}

    @property
    def items(self) -> int:
        """Items that somebody saw."""
        return sum(self.items_by_n.values())

    @property
    def annotations(self) -> int:
        """Visits: an annotator on an item."""
        return sum(self.annotators.values())

    @property
    def marks(self) -> int:
        """Marks, those that somebody made twice counted once."""
        return sum(self.labels.values())
