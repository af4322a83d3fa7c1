"""The tally: a tiny integer summary of any data set that merges by addition (docs/mathematics.md §3)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cache, cached_property
from typing import Any, NamedTuple, TypeVar

from spagree.errors import DataError, UsageError, count, opt
from spagree.read.annotations import is_missing

Pattern = tuple[tuple[str, int], ...]
"""The labels of an item and how often each was given, sorted by label."""
Votes = tuple[tuple[str, str, int], ...]
"""The same by group: (group, label, count), sorted."""
Kind = tuple[int, int, int, str | None, str | None]
"""A kind of annotation: annotations and agreeing ordered pairs of its item, annotations of its label there, this label,
and where two annotations differ the label of the other one; None for both where labels would make too many kinds."""
People = Mapping[str, Mapping[Kind, int]]
"""How many annotations of each kind each annotator made."""
K = TypeVar("K")
G = TypeVar("G")
NO_VALUE = ""  # the cluster or group of an item or annotator without one


@dataclass(frozen=True)
class Grouped:
    """How many items of each cluster have each combination of labels, and which group gave them.

    >>> one = Grouped("doc", None, {("d1", (("", "no", 2),)): 3, ("d2", (("", "no", 2),)): 1})
    >>> one.patterns()
    {(('no', 2),): 4}
    >>> (one + one).items["d2", (("", "no", 2),)]
    2
    """

    cluster: str | None
    """The cluster column; None if items are independent."""
    by: str | None
    """The group column."""
    items: Mapping[tuple[str, Votes], int] = field(default_factory=dict)
    """Items by cluster and by votes."""
    annotators: Mapping[str, Mapping[str, int]] | None = None
    """Annotations of each annotator, by group; None if annotators are unknown."""
    people: Mapping[str, People] | None = field(default=None, compare=False)
    """How many annotations of each kind each annotator of a group made, among those of the group; None if unknown."""

    def __add__(self, other: Grouped) -> Grouped:
        if (self.cluster, self.by) != (other.cluster, other.by):
            ways = []
            for part in (self, other):
                columns = {opt.cluster: part.cluster, opt.by: part.by}
                ways.append(" ".join(option(column) for option, column in columns.items() if column is not None))
            told = " and ".join(ways)
            raise UsageError(f"parts were counted by different columns ({told}); count both the same way")
        items = add_counts(self.items, other.items)
        return replace(
            self,
            items=items,
            annotators=by_group(sum_known, self.annotators, other.annotators),
            people=by_group(add_people, self.people, other.people),
        )

    @cached_property
    def of_annotators(self) -> bool:
        """Whether groups are groups of annotators: some item has annotations from two groups."""
        return any(len({group for group, *_ in votes}) > 1 for _, votes in self.items)

    @cached_property
    def groups(self) -> tuple[str, ...]:
        """The groups in order; the one without a value comes last."""
        names = {group for _, votes in self.items for group, *_ in votes}
        return tuple(sorted(names, key=lambda group: (group == NO_VALUE, group)))

    @cached_property
    def clusters(self) -> int:
        """Number of clusters; an item without one counts as its own cluster."""
        return self.without_cluster + len({cluster for cluster, _ in self.items} - {NO_VALUE})

    @cached_property
    def without_cluster(self) -> int:
        """Items without a cluster."""
        return sum(items for (cluster, _), items in self.items.items() if cluster == NO_VALUE)

    def patterns(self) -> dict[Pattern, int]:
        """Items by their labels, whatever their cluster and group."""
        whole: Counter[Pattern] = Counter()
        for (_, pattern), items in self.by_cluster().items():
            whole[pattern] += items
        return dict(whole)

    def by_cluster(self) -> dict[tuple[str, Pattern], int]:
        """Items by cluster and labels, whatever their group."""
        whole: Counter[tuple[str, Pattern]] = Counter()
        for (cluster, votes), items in self.items.items():
            counts: Counter[str] = Counter()
            for _, label, size in votes:
                counts[label] += size
            whole[cluster, tuple(sorted(counts.items()))] += items
        return dict(whole)

    def only(self, group: str) -> Grouped:
        """The annotations of one group; items it has not seen are left out."""
        part: Counter[tuple[str, Votes]] = Counter()
        for (cluster, votes), items in self.items.items():
            group_votes = tuple(vote for vote in votes if vote[0] == group)
            if group_votes:
                part[cluster, group_votes] += items
        return replace(self, by=None, items=dict(part), annotators=None, people=None)


def by_group(
    add: Callable[[G, G], G | None], left: Mapping[str, G] | None, right: Mapping[str, G] | None
) -> dict[str, G] | None:
    """What is known of each group in both parts, added; None if one part does not know it."""
    if left is None or right is None:
        return None
    both = {group: add(left[group], right[group]) for group in left if group in right}
    return {**left, **right, **{group: whole for group, whole in both.items() if whole is not None}}


# T = n(n−1)(n−2) must fit into 63 bits on every engine.
MOST_ANNOTATIONS_PER_ITEM = 2_000_000
EXACT = 2**53  # integers up to this are exact as floats


class Cell(NamedTuple):
    """Items with the same three integers are interchangeable for SPA, its interval and the assumption check.

    ``n`` annotations, ``pairs`` = Σ n_c(n_c−1) agreeing ordered pairs and
    ``triples`` = Σ n_c(n_c−1)(n_c−2) agreeing ordered triples: ``A`` and ``T`` of docs/mathematics.md §1.

    >>> Cell.of([5, 3, 2, 1])
    Cell(n=11, pairs=28, triples=66)
    """

    n: int
    pairs: int
    triples: int

    @classmethod
    def of(cls, class_counts: Iterable[int]) -> Cell:
        """The cell of an item from its number of annotations per class."""
        counts = list(class_counts)
        pairs = sum(c * (c - 1) for c in counts)
        return cls(sum(counts), pairs, sum(c * (c - 1) * (c - 2) for c in counts))


@dataclass(frozen=True, repr=False)
class Tally:
    """Everything the estimates need, in integers; tallies of disjoint items merge with ``+``.

    >>> one = Tally.from_items([{"yes": 2}, {"yes": 1, "no": 1}])
    >>> two = Tally.from_items([{"no": 3}, {"no": 1}])
    >>> one + two
    Tally(4 items, 8 annotations, 2 labels)
    >>> (one + two).pairable_items
    3
    >>> dict((one + two).labels), dict((one + two).pairable_labels)
    ({'yes': 3, 'no': 5}, {'yes': 3, 'no': 4})
    """

    cells: Mapping[Cell, int] = field(default_factory=dict)
    labels: Mapping[str, int] = field(default_factory=dict)
    pairable_labels: Mapping[str, int] = field(default_factory=dict)
    annotators: Mapping[str, int] | None = field(default_factory=dict)
    left_out: Mapping[str, int] = field(default_factory=dict)
    patterns: Mapping[Pattern, int] | None = None
    """Items per combination of label counts, from which all counts but those of annotators follow; None if there
    are too many combinations to store."""
    counted: Mapping[str, Any] | None = field(default=None, compare=False)
    """The options that decided which annotations count; None if unknown."""
    grouped: Grouped | None = None
    """The same items by cluster and group, if such columns were named."""
    people: People | None = field(default=None, compare=False)
    """How many annotations of each kind each annotator made, which tells of other annotators; None if not counted."""

    def __post_init__(self) -> None:
        """An empty tally has empty tables, not unknown ones."""
        if not self.cells:
            object.__setattr__(self, "patterns", self.patterns or {})
            object.__setattr__(self, "people", self.people or {})

    def __repr__(self) -> str:
        """What was counted, without the counts themselves: there may be thousands."""
        items, annotations = count(self.items, "item"), count(self.annotations, "annotation")
        return f"Tally({items}, {annotations}, {count(len(self.labels), 'label')})"

    @classmethod
    def from_patterns(
        cls,
        patterns: Mapping[Pattern, int],
        annotators: Mapping[str, int] | None = None,
        left_out: Mapping[str, int] | None = None,
    ) -> Tally:
        """The tally of items given as label counts → number of such items.

        >>> Tally.from_patterns({(("no", 1), ("yes", 2)): 5}).cells
        {Cell(n=3, pairs=2, triples=0): 5}
        """
        cells: Counter[Cell] = Counter()
        labels: Counter[str] = Counter()
        alone: Counter[str] = Counter()
        cell_of = cache(Cell.of)  # many combinations of labels, few of counts
        for counts, items in patterns.items():
            cell = cell_of(tuple([size for _, size in counts]))
            cells[cell] += items
            for label, size in counts:
                labels[label] += size * items
            if cell.n == 1:
                alone[counts[0][0]] += items
        in_order = dict(sorted(cells.items(), reverse=True))
        by_label = commonest_first(labels), commonest_first(labels - alone)
        return cls(in_order, *by_label, annotators, dict(left_out or {}), patterns)

    @classmethod
    def from_items(cls, items: Iterable[Mapping[Any, int]]) -> Tally:
        """Count items given as mappings of class → number of annotations; annotators unknown."""
        patterns: Counter[Pattern] = Counter()
        for counts in items:
            by_label: Counter[str] = Counter()
            for label, size in counts.items():
                by_label[text(label)] += size
            patterns[tuple(sorted((+by_label).items()))] += 1
        del patterns[()]
        return cls.from_patterns(dict(patterns))

    def __add__(self, other: Tally) -> Tally:
        if not isinstance(other, Tally):
            return NotImplemented
        how, grouped = same_counting(self.counted, other.counted), self.grouped or other.grouped
        if self.grouped is not None and other.grouped is not None:
            grouped = self.grouped + other.grouped
        elif grouped is not None and self.cells and other.cells:
            raise UsageError(
                f"some parts were counted with {opt.cluster} or {opt.by}, others without; count all the same way"
            )
        return Tally(
            add_counts(self.cells, other.cells),
            add_counts(self.labels, other.labels),
            add_counts(self.pairable_labels, other.pairable_labels),
            sum_known(self.annotators, other.annotators),
            add_counts(self.left_out, other.left_out),
            sum_known(self.patterns, other.patterns),
            how,
            grouped,
            add_people(self.people, other.people),
        )

    @cached_property
    def clusters(self) -> int | None:
        """Number of clusters of items; None if no cluster column was named."""
        return self.grouped.clusters if self.grouped is not None and self.grouped.cluster is not None else None

    def groups(self) -> dict[str, Tally]:
        """The tally of each group of items or annotators; empty if no group column was named."""
        if self.grouped is None or self.grouped.by is None:
            return {}
        tallies, counts, people = {}, self.grouped.annotators, self.grouped.people
        for group in self.grouped.groups:
            part = self.grouped.only(group)
            tally = Tally.from_patterns(part.patterns(), None if counts is None else dict(counts.get(group, {})))
            known = None if people is None else people.get(group, {})
            tallies[group] = replace(tally, grouped=None if part.cluster is None else part, people=known)
        return tallies

    def __radd__(self, other: object) -> Tally:
        """Let ``sum(tallies)`` start from 0."""
        return self if other == 0 else NotImplemented

    @cached_property
    def items(self) -> int:
        """Items with at least one annotation."""
        return sum(self.cells.values())

    @cached_property
    def pairable_items(self) -> int:
        """Items with at least two annotations: the only ones that can show agreement."""
        return sum(items for cell, items in self.cells.items() if cell.n > 1)

    @cached_property
    def annotations(self) -> int:
        """All annotations."""
        return sum(cell.n * items for cell, items in self.cells.items())

    @cached_property
    def pairable_annotations(self) -> int:
        """Annotations of pairable items."""
        return sum(self.pairable_labels.values())

    @cached_property
    def items_by_n(self) -> dict[int, int]:
        """Number of items for each number of annotations, smallest first."""
        counts: Counter[int] = Counter()
        for cell, items in self.cells.items():
            counts[cell.n] += items
        return dict(sorted(counts.items()))


def same_counting(left: Mapping[str, Any] | None, right: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """How both parts were counted; parts counted differently are refused.

    >>> same_counting({"first": 2}, {})
    Traceback (most recent call last):
    spagree.errors.UsageError: parts were counted in different ways ({'first': 2} and {}); count both the same way
    """
    if left is None or right is None:
        return None
    if left != right:
        ways = f"{dict(left)} and {dict(right)}"
        raise UsageError(f"parts were counted in different ways ({ways}); count both the same way")
    return left


def text(value: object) -> str:
    """A label or id as text, spelled the same whatever engine and type it comes from.

    Booleans are spelled as in JSON, whole numbers without decimals: pandas stores integers with gaps as floats.

    >>> text("01"), text(1), text(True), text(2.0), text(-0.0), text(0.5), text(Decimal("1.50"))
    ('01', '1', 'true', '2', '0', '0.5', '1.5')
    """
    if isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer() and abs(value) < EXACT:
        return str(int(value))
    if isinstance(value, Decimal) and value.is_finite():
        return f"{value.normalize():f}" if value else "0"
    return str(value).lower() if str(value) in ("True", "False") else str(value)


def group_name(value: Any) -> str:
    """The name of a cluster or a group; empty if it is missing."""
    return NO_VALUE if is_missing(value) else text(value)


def refuse_overflow(n: int) -> None:
    """Refuse an item with more annotations than can be counted exactly."""
    if n > MOST_ANNOTATIONS_PER_ITEM:
        raise DataError(
            f"one item has {n:,} annotations, more than the {MOST_ANNOTATIONS_PER_ITEM:,} that are "
            "counted exactly; is the item column right?"
        )


def add_counts(left: Mapping[K, int], right: Mapping[K, int]) -> dict[K, int]:
    """Merge counts by addition.

    >>> add_counts({"a": 1, "b": 2}, {"b": 3})
    {'a': 1, 'b': 5}
    """
    total = dict(left)
    for key, size in right.items():
        total[key] = total.get(key, 0) + size
    return total


def commonest_first(counts: Mapping[K, int]) -> dict[K, int]:
    """Labels by count, then by text, so equal tallies also look equal."""
    return dict(sorted(counts.items(), key=lambda pair: (-pair[1], text(pair[0]))))


def sum_known(left: Mapping[K, int] | None, right: Mapping[K, int] | None) -> dict[K, int] | None:
    """The same for counts that may be unknown: the total is known only if both parts are."""
    return None if left is None or right is None else add_counts(left, right)


def has_labels(people: People) -> bool:
    """Whether the kinds of annotations have their labels."""
    every = (kind for kinds in people.values() for kind in kinds)
    return next((label is not None for *_, label, _ in every), True)


def add_people(left: People | None, right: People | None) -> People | None:
    """The kinds of annotations of each annotator of both parts, without labels if one part has none.

    None if one part does not know them.

    >>> one, two = {"ann": {(2, 2, 2, "no", ""): 1, (2, 2, 2, "yes", ""): 4}}, {"ann": {(2, 2, 2, None, None): 3}}
    >>> add_people(one, two)
    {'ann': {(2, 2, 2, None, None): 8}}
    """
    if left is None or right is None:
        return None
    if has_labels(left) != has_labels(right):
        left, right = without_labels(left), without_labels(right)
    total: dict[str, Mapping[Kind, int]] = {who: dict(kinds) for who, kinds in left.items()}
    for who, kinds in right.items():
        total[who] = add_counts(total.get(who, {}), kinds)
    return total


def without_labels(people: People) -> People:
    """The kinds of annotations without their labels."""
    bare: dict[str, Counter[Kind]] = {who: Counter() for who in people}
    for who, kinds in people.items():
        for (n, pairs, own, *_), size in kinds.items():
            bare[who][n, pairs, own, None, None] += size
    return {who: dict(kinds) for who, kinds in bare.items()}
