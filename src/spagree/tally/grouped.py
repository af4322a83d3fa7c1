"""Items by cluster and by group: what a tally also keeps if a cluster or group column was named."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from spagree.errors import UsageError

Pattern = tuple[tuple[str, int], ...]
"""The labels of an item and how often each was given, sorted by label."""
Votes = tuple[tuple[str, str, int], ...]
"""The same by group: (group, label, count), sorted."""
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

    def __add__(self, other: Grouped) -> Grouped:
        if (self.cluster, self.by) != (other.cluster, other.by):
            ways = f"{_named(self)} and {_named(other)}"
            raise UsageError(f"parts were counted by different columns ({ways}); count both the same way")
        items, people = Counter(self.items), None
        items.update(other.items)
        if self.annotators is not None and other.annotators is not None:
            people = {group: Counter(counts) for group, counts in self.annotators.items()}
            for group, counts in other.annotators.items():
                people.setdefault(group, Counter()).update(counts)
        return replace(self, items=dict(items), annotators=people and {group: dict(people[group]) for group in people})

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
        for (_, votes), items in self.items.items():
            whole[merged(votes)] += items
        return dict(whole)

    def by_cluster(self) -> dict[tuple[str, Pattern], int]:
        """Items by cluster and labels."""
        whole: Counter[tuple[str, Pattern]] = Counter()
        for (cluster, votes), items in self.items.items():
            whole[cluster, merged(votes)] += items
        return dict(whole)

    def only(self, group: str) -> Grouped:
        """The annotations of one group; items it has not seen are left out."""
        part: Counter[tuple[str, Votes]] = Counter()
        for (cluster, votes), items in self.items.items():
            group_votes = tuple(vote for vote in votes if vote[0] == group)
            if group_votes:
                part[cluster, group_votes] += items
        return replace(self, by=None, items=dict(part), annotators=None)


def merged(votes: Iterable[tuple[str, str, int]]) -> Pattern:
    """The labels of an item with their counts, over all groups.

    >>> merged((("crowd", "no", 2), ("crowd", "yes", 1), ("expert", "no", 1)))
    (('no', 3), ('yes', 1))
    """
    counts: Counter[str] = Counter()
    for _, label, count in votes:
        counts[label] += count
    return tuple(sorted(counts.items()))


def _named(grouped: Grouped) -> str:
    columns = {"--cluster": grouped.cluster, "--by": grouped.by}
    return " ".join(f"{option} {column}" for option, column in columns.items() if column is not None)
