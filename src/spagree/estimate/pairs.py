"""Who annotated how much, who met whom, and how those who met agree: teams, bridges, and every pair with its kappas.

Annotators are connected when they share an item. A single SPA for disconnected teams is an average over teams; nothing
in the data shows whether the teams agree with each other. Annotations are a sparse matrix with a column per item:
products of its rows, a block of annotators at a time, count the items that two share. The work is Σ n(n−1)/2 over the
items, whatever the number of annotators, and memory stays bounded.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from spagree.codes import MOST_SUMMED, Codes, Floats, Ints, connected, counted, numbered, run_of_each, run_starts, sums
from spagree.counts.fetch import NO_ANNOTATORS
from spagree.counts.tally import Tally
from spagree.errors import DataError, UsageError, Warning, count, opt
from spagree.estimate.uncertainty import (
    ALL_ALIKE,
    FEW_FOR_METRIC,
    FEW_ITEMS,
    LEAST_FREEDOM,
    below_chance,
    fisher_limits,
    kappa_limits,
    mean_error,
    raised,
    wilson_each,
)
from spagree.estimate.votes import LabelCounts

if TYPE_CHECKING:
    import polars
    from numpy.typing import NDArray

THIN = 5
CHEAP_MEETINGS = 300_000
SHOWN = 3


@dataclass(frozen=True, slots=True)
class Team:
    """Annotators connected by items they share, directly or through others."""

    annotators: tuple[str, ...]
    items: int
    """Items its members annotated."""


@dataclass(frozen=True, slots=True)
class Bridge:
    """A team within a team, connected to the rest by only a few items."""

    team: Team
    items: int
    """Items it shares with the rest: fewer than 5."""


@dataclass(frozen=True, slots=True)
class Overlap:
    """How annotators are connected; teams have two or more members, largest first."""

    annotators: int
    teams: tuple[Team, ...]
    thin_bridges: tuple[Bridge, ...]
    alone: tuple[str, ...]
    """Annotators who share no item with anyone."""
    single_items: int
    """Items annotated once."""
    unknown: int = 0
    """Annotations by unknown annotators, who may connect teams that look disconnected."""
    alone_annotations: int = 0
    """Annotations by those who share no item."""


def overlap(codes: Codes, *, bridges: bool = True) -> Overlap:
    """The graph of annotators who share items; finding thin bridges looks at every pair that met."""
    size = np.bincount(codes.item, minlength=codes.items)
    shared = (size[codes.item] > 1) & (codes.annotator >= 0)
    people = len(codes.annotators)
    annotations = np.bincount(codes.annotator[codes.annotator >= 0], minlength=people)
    met = np.bincount(codes.annotator[shared], minlength=people) > 0
    group = codes.connected
    teams = tuple(team for _, team, _ in _teams(codes, group))
    alone = tuple(codes.annotators[place] for place in np.flatnonzero(~met))
    thin = []
    if bridges:  # teams linked by pairs with at least five shared items, but linked to the other such teams by fewer
        linked = np.arange(people)
        for left, right, both, _ in pair_counts(codes):
            apart = (both >= THIN) & (linked[left] != linked[right])
            links = np.stack([linked[left[apart]], linked[right[apart]]], axis=1)
            linked = connected(np.repeat(np.arange(len(links)), 2), links.ravel(), people)[linked]
        inner = _teams(codes, linked)
        within = Counter(int(group[first]) for first, _, _ in inner)
        for first, team, between in inner:
            if within[int(group[first])] > 1 and between < THIN:
                thin.append(Bridge(team, between))
    return Overlap(
        people, teams, tuple(thin), alone, int((size == 1).sum()), codes.unknown, int(annotations[~met].sum())
    )


def is_cheap(codes: Codes) -> bool:
    """Whether all pairs that met can be examined by default."""
    size = np.bincount(codes.item, minlength=codes.items)
    return int((size * (size - 1)).sum()) <= 2 * CHEAP_MEETINGS


def _teams(codes: Codes, group: Ints) -> list[tuple[int, Team, int]]:
    """Groups of at least two, largest first: a member, the team, and the number of items it shares with others."""
    named = codes.annotator >= 0
    key = codes.item[named].astype(np.int64) * max(1, len(group)) + group[codes.annotator[named]]
    item, number = np.divmod(counted(key[run_starts(key)])[0], max(1, len(group)))
    shared = np.bincount(item, minlength=codes.items)[item] > 1
    items, between = (np.bincount(number[rows], minlength=len(group)) for rows in (slice(None), shared))
    order = np.argsort(group, kind="stable")
    starts = run_starts(group[order])
    sizes = np.diff(starts, append=len(order))
    teams = []
    for start, size in zip(starts[sizes > 1].tolist(), sizes[sizes > 1].tolist(), strict=True):
        members = order[start : start + size].tolist()
        first = members[0]
        team = Team(tuple(codes.annotators[place] for place in members), int(items[first]))
        teams.append((first, team, int(between[first])))
    return sorted(teams, key=lambda each: (-len(each[1].annotators), each[1].annotators))


def overlap_warnings(overlap: Overlap) -> Iterator[Warning]:
    """Only if all annotators are known: an unknown one may have met both sides."""
    if overlap.unknown:
        return
    if len(overlap.teams) > 1:
        sizes = ", ".join(f"{len(team.annotators):,}" for team in overlap.teams[:SHOWN])
        more = ", …" if len(overlap.teams) > SHOWN else ""
        yield Warning(
            "disconnected_teams",
            f"the annotators form {len(overlap.teams):,} teams (of {sizes}{more}) that never annotated an item "
            "together: SPA averages the agreement within teams, and nothing shows whether the teams agree with each "
            "other. Have some items annotated across teams, or measure each team separately.",
        )
    if overlap.thin_bridges:
        bridge = overlap.thin_bridges[-1]
        yield Warning(
            "thin_bridge",
            f"a team of {count(len(bridge.team.annotators), 'annotator')} shares only {count(bridge.items, 'item')} "
            "with all the others, and nothing else can show whether they agree with each other. Have more items "
            "annotated across teams.",
        )


MOST_MEETINGS = 1_000_000_000
MOST_COUNTED = 200  # annotators whose pairs an engine counts
MEETINGS_AT_ONCE = 2_000_000
FEW_MEETINGS = 3_000_000
CELLS_AT_ONCE = 4_000_000


@dataclass(frozen=True)
class Meetings:
    """Who met whom with which labels: ``count`` shared items on which a pair gave ``one`` and ``other``.

    ``left`` and ``right`` are the two annotators of each pair; the entries of a pair are in order of their labels.
    """

    left: Ints
    right: Ints
    pair: Ints
    one: Ints
    other: Ints
    count: Floats

    @cached_property
    def shared(self) -> Floats:
        """Shared items of each pair."""
        return sums(self.pair, self.count, len(self.left))

    def per_pair(self, values: Floats) -> Floats:
        """Sum over the shared items of each pair."""
        return sums(self.pair, values * self.count, len(self.left))

    def agree(self, similarity: Floats | None) -> Floats:
        """How much the two labels of each entry agree."""
        alike = self.one == self.other if similarity is None else similarity[self.one, self.other]
        return np.asarray(alike, dtype=np.float64)

    def of_pairs(self, kept: NDArray[np.bool_]) -> Meetings:
        """Only some of the pairs."""
        rows, number = kept[self.pair], np.cumsum(kept) - 1
        entries = (number[self.pair[rows]], self.one[rows], self.other[rows], self.count[rows])
        return Meetings(self.left[kept], self.right[kept], *entries)

    def blocks(self) -> Iterator[Meetings]:
        """Blocks of pairs small enough for a table of pairs × labels."""
        labels = len(counted(np.concatenate([self.one, self.other]))[0])
        step = max(1, CELLS_AT_ONCE // max(1, labels))
        if len(self.left) <= step:
            yield self
            return
        order = np.argsort(self.pair, kind="stable")
        starts = np.arange(0, len(self.left), step)
        ends = np.append(np.searchsorted(self.pair[order], starts[1:]), len(order))
        for start, rows in zip(starts, np.split(order, ends[:-1]), strict=True):
            pairs = slice(start, start + step)
            entries = (self.pair[rows] - start, self.one[rows], self.other[rows], self.count[rows])
            yield Meetings(self.left[pairs], self.right[pairs], *entries)


def meetings(codes: Codes, pairs: Ints | None = None) -> Iterator[Meetings]:
    """All meetings of two known annotators, a block of annotators at a time; at least one block, which may be empty.

    ``pairs`` limits them to some pairs: the lower code of the two, times the number of annotators, plus the other.
    """
    who, item, label = _by_named(codes)
    people = max(1, len(codes.annotators))
    first, row = numbered(who, label)
    who, label = who[first], label[first]
    lefts = None if pairs is None else pairs // people
    for one, other, times in _met(who, _matrix(row, item, np.ones(len(row), dtype=np.int64)), lefts):
        entry, pair = numbered(run_of_each(who[one]), who[other])
        left, right = who[one[entry]], who[other[entry]]
        block = Meetings(left, right, pair, label[one], label[other], times.astype(np.float64))
        yield block if pairs is None else block.of_pairs(np.isin(left * people + right, pairs))


def pair_counts(codes: Codes, similarity: Floats | None = None) -> Iterator[tuple[Ints, Ints, Floats, Floats]]:
    """Each pair that met, block by block: the two annotators, the items they share, and on how many of them they agree.

    Few meetings are compared one by one: that is quicker than the import of scipy and its products. For nominal labels
    both counts come from one product: columns of items with entries 1, and columns of items with a label whose entries
    are so large that their products exceed any number of shared items.
    """
    people = max(1, len(codes.annotators))
    if times_met(codes) <= FEW_MEETINGS:
        one, other, pair, place = codes.meetings
        left, right = codes.label[one], codes.label[other]
        alike = left == right if similarity is None else similarity[left, right]
        shared = np.bincount(place, minlength=len(pair)).astype(np.float64)
        yield *np.divmod(pair, people), shared, sums(place, alike.astype(np.float64), len(pair))
    elif similarity is None:
        who, item, label = _by_named(codes)
        first, row = numbered(who)
        large = 1 << (codes.items.bit_length() + 1) // 2
        columns = np.concatenate([item, codes.items + numbered(item, label)[1]])
        matrix = _matrix(np.tile(row, 2), columns, np.repeat(np.array([1, large]), len(row)))
        for one, other, both in _met(who[first], matrix):
            alike, shared = np.divmod(both, large * large)
            yield who[first[one]], who[first[other]], shared.astype(np.float64), alike.astype(np.float64)
    else:
        yield from _of_meetings(codes, similarity)


def _of_meetings(codes: Codes, similarity: Floats) -> Iterator[tuple[Ints, Ints, Floats, Floats]]:
    """The same from the meetings, to the last bit as a table of pairs has it."""
    for block in meetings(codes):
        yield block.left, block.right, block.shared, block.per_pair(block.agree(similarity))


class PairSums(NamedTuple):
    """Sums over the pairs of annotators who met: w shared items, on which they agree a times in all."""

    pairs: int
    shared: float
    shared_squares: float
    products: float
    agreeing_squares: float

    @classmethod
    def of(cls, shared: Floats, alike: Floats) -> Self:
        """Of pairs with these sums."""
        sums = shared.sum(), (shared**2).sum(), (shared * alike).sum(), (alike**2).sum()
        return cls(len(shared), *map(float, sums))

    def variance(self, value: float) -> float:
        """m/(m − 1)·Σw²(a/w − value)²/(Σw)²: how much agreement depends on who meets whom (docs/mathematics.md §9)."""
        spread = self.agreeing_squares - 2 * value * self.products + value * value * self.shared_squares
        return max(0.0, spread) * self.pairs / max(1, self.pairs - 1) / self.shared**2 if self.shared else 0.0


def pair_sums(codes: Codes, similarity: Floats | None) -> PairSums | None:
    """The sums over all pairs of annotators who met; None if there are too many meetings to look at each."""
    if times_met(codes) > MOST_SUMMED:
        return None
    parts = [PairSums.of(shared, alike) for _, _, shared, alike in pair_counts(codes, similarity)]
    return PairSums(*map(sum, zip(*parts, strict=True)))


def times_met(codes: Codes) -> int:
    """How often two known annotators met in an item; refused if that is too often."""
    size = np.bincount(codes.item[codes.annotator >= 0])
    met = int((size * (size - 1)).sum()) // 2
    if met > MOST_MEETINGS:
        raise DataError(
            f"annotators met {met:,} times: too many to compare in pairs (at most {MOST_MEETINGS:,}); take the first "
            f"annotations of each item ({opt.first})"
        )
    return met


def _by_named(codes: Codes) -> tuple[Ints, Ints, Ints]:
    """Annotators, items and labels of the annotations by known annotators; refused if they met too often."""
    times_met(codes)
    is_named = codes.annotator >= 0
    who, item, label = (column[is_named].astype(np.int64) for column in (codes.annotator, codes.item, codes.label))
    return who, item, label


def _matrix(rows: Ints, columns: Ints, entries: Ints) -> Any:
    from scipy.sparse import csr_array

    shape = tuple(int(codes.max(initial=-1)) + 1 for codes in (rows, columns))
    return csr_array((entries, (rows, columns)), shape=shape)


def _met(who: Ints, matrix: Any, lefts: Ints | None = None) -> Iterator[tuple[Ints, Ints, Ints]]:
    """Products of any two rows of different annotators that are not 0: the rows, the lower annotator first, in order.

    ``who`` is the annotator of each row, sorted. With ``lefts`` only these are the lower ones.
    """
    rows = np.arange(len(who)) if lefts is None else np.flatnonzero(np.isin(who, lefts))
    if not len(rows):
        yield rows, rows, rows
        return
    work = np.add.reduceat(np.bincount(matrix.indices)[matrix.indices], matrix.indptr[:-1])[rows]
    block_of = np.cumsum(work) // MEETINGS_AT_ONCE
    people = run_starts(who[rows])
    firsts = people[run_starts(block_of[people])]
    for block in np.split(rows, firsts[1:]):
        product = (matrix[block[0] :] @ matrix[block].T).tocsc()  # by column: rows in order
        one, other = np.repeat(block, np.diff(product.indptr)), product.indices.astype(np.int64) + block[0]
        after = who[other] > who[one]
        yield one[after], other[after], product.data[after]


@dataclass(frozen=True, slots=True)
class Concentration:
    """The busiest annotator, and the fewest who made at least half; shares are of all annotations by known people."""

    annotators: int
    busiest: str
    """The first by name, if several are."""
    share: float
    half: int
    share_of_half: float


def concentration(tally: Tally) -> Concentration:
    """Who made most of the annotations, and how few people made half."""
    made = sorted((tally.annotators or {}).items(), key=lambda each: (-each[1], each[0]))
    so_far = list(accumulate(count for _, count in made))
    if not so_far or not so_far[-1]:
        raise UsageError(NO_ANNOTATORS)
    (name, most), half = made[0], bisect_left(so_far, so_far[-1] / 2)
    return Concentration(len(made), name, most / so_far[-1], half + 1, so_far[half] / so_far[-1])


MOST_PAIRS = 20_000_000  # rows of a table: about 3 GB
CERTAIN = 1e-12
ONE_CLASS = "both gave one label to all they share, so agreement by chance is certain"
ONE_ITEM = "they share only one item, too few to show how items differ"


def pairs(
    codes: Codes, similar: LabelCounts | None, level: float, least: int = 1, worst: int | None = None
) -> polars.DataFrame:
    """One row per pair of annotators with ``least`` shared items, lowest agreement first, few shared items last.

    ``similar`` are the votes of all items under a metric with partial agreement. ``worst`` keeps only the first rows;
    coefficients and intervals are computed for these alone.
    """
    import polars

    for name, value in (("least", least), ("worst", worst)):
        if value is not None and (not isinstance(value, int) or value < 1):
            raise UsageError(f"{name} {value!r}: a whole number from 1 on")
    similarity = None if similar is None else similar.similarity
    chosen = None if worst is None else _worst(codes, similarity, least, worst)
    names = polars.Series(codes.annotators, dtype=polars.String)
    frames, size = [], 0
    for all_ in meetings(codes, chosen):
        for block in all_.of_pairs(all_.shared >= least).blocks():
            figures = {"shared": block.shared.astype(np.int64), **_figures(block, similar, level)}
            who = {"annotator": names.gather(block.left), "other": names.gather(block.right)}
            frames.append(polars.DataFrame({**who, **figures}))
            size += len(block.left)
        if size > MOST_PAIRS:
            raise DataError(
                f"more than {MOST_PAIRS:,} pairs of annotators share items: too many for one table; ask for the worst "
                "only (worst=20), for pairs who share more items (least=5) or for the busiest annotators (busiest=1000)"
            )
    shared, missing = polars.col("shared"), polars.col("cohen_kappa_low").is_null()
    reason = (
        polars.when(polars.col("cohen_kappa").is_null())
        .then(polars.lit(ONE_CLASS))
        .when(shared < 2)
        .then(polars.lit(ONE_ITEM))
        .when(missing & (shared < FEW_ITEMS))
        .then(polars.lit(FEW_FOR_METRIC))
        .when(missing)
        .then(polars.lit(ALL_ALIKE))
    )
    frame = polars.concat(frames).fill_nan(None)
    frame = frame.with_columns((shared < FEW_ITEMS).alias("few"), reason.alias("undefined"))
    return frame.sort("few", "agreement", "annotator", "other")


def _worst(codes: Codes, similarity: Floats | None, least: int, worst: int) -> Ints:
    """The first pairs of the table, as :func:`meetings` takes them: all are counted, and sorted by agreement."""
    import polars

    first = polars.DataFrame()
    for left, right, shared, alike in pair_counts(codes) if similarity is None else _of_meetings(codes, similarity):
        pair = left * len(codes.annotators) + right
        block = polars.DataFrame({"few": shared < FEW_ITEMS, "agreement": alike / shared, "pair": pair})
        both = polars.concat([first, block.filter(shared >= least)], how="diagonal")
        first = both.bottom_k(worst, by=["few", "agreement", "pair"])
    return first["pair"].sort().to_numpy()


def _figures(meetings: Meetings, similar: LabelCounts | None, level: float) -> dict[str, Floats]:
    """Agreement and both coefficients for a block of pairs, as columns."""
    similarity, size, pair = None if similar is None else similar.similarity, meetings.shared, meetings.pair
    agree = meetings.agree(similarity)
    observed = meetings.per_pair(agree) / size
    stderr = used = mean_error(size, meetings.per_pair((agree - observed[pair]) ** 2))
    if similar is not None:  # a few items may happen to agree alike: not below what all pairs of the file suggest
        spread = observed * (1 - observed)
        used = raised(stderr, similar.pair * spread / size, spread * size)
    low, high = wilson_each(observed, used, size, level)
    # How often each of the two gave each label, over the shared items: pairs × labels, of labels that occur here
    labels = np.unique(np.concatenate([meetings.one, meetings.other]))
    shape, given = (len(size), len(labels)), [np.searchsorted(labels, each) for each in (meetings.one, meetings.other)]
    first, second = (
        sums(pair * shape[1] + code, meetings.count, shape[0] * shape[1]).reshape(shape) / size[:, None]
        for code in given
    )
    # How likely a label agrees by chance: with the other's own shares for Cohen, with those of both for Scott
    near = None if similarity is None else similarity[np.ix_(labels, labels)]
    one, other, pooled = (each if near is None else each @ near for each in (first, second, (first + second) / 2))
    figures = {"agreement": observed, "stderr": stderr, "low": low, "high": high}
    for name, (left, right, itself) in {
        "cohen_kappa": (one, other, agree),
        "scott_pi": (pooled, pooled, (1 + agree) / 2),
    }.items():
        likely = right[pair, given[0]] + left[pair, given[1]]
        value, error, beyond, informative, freedom = _kappa(meetings, agree, observed, likely, itself)
        # The limits of a kappa on so many equally informative items (docs/mathematics.md §13)
        both = first + second
        commonest = both.max(axis=1, initial=0.0)
        most = np.minimum(1.0, 2 - commonest)  # two annotations of an item cannot differ more often
        low, high = kappa_limits(value, error, beyond, most, informative, level, freedom)
        if similarity is None:
            often = both.argmax(axis=1) if both.size else np.zeros(len(both), dtype=np.int64)
            never = meetings.per_pair(agree * (given[0] != often[pair])) == 0
            below = np.maximum(below_chance(size * (2 - commonest), 2 * size), 1 - 1 / beyond)
            low = np.where(never, np.minimum(low, below), low)
        else:
            enough, perfect = size >= FEW_ITEMS, value > 1 - CERTAIN
            fisher = zip((low, high), fisher_limits(value, error, informative - 1, level), strict=True)
            low, high = (np.where(enough, np.where(perfect, wide, end), np.nan) for wide, end in fisher)
        figures |= {name: value, f"{name}_stderr": error, f"{name}_low": low, f"{name}_high": high}
    return figures


def _kappa(
    meetings: Meetings, agree: Floats, observed: Floats, likely: Floats, itself: Floats
) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    """κ = (P_o − P_e)/(1 − P_e), its jackknife error over the shared items, 1 − P_e, how many inform it, and freedom.

    P_e is a mean over the shared items of how ``likely`` each one's two labels agree by chance. ``itself`` is how much
    of that comes from the item itself: leaving out one of I items, I²·P_e becomes I²·P_e − I·likely + itself.
    """
    size, pair = meetings.shared, meetings.pair
    expected = meetings.per_pair(likely / 2) / size
    beyond = np.where(1 - expected < CERTAIN, np.nan, 1 - expected)
    value, items = (observed - expected) / beyond, size[pair]
    with np.errstate(divide="ignore", invalid="ignore"):
        observed_left = ((items * observed[pair]) - agree) / (items - 1)
        expected_left = (items**2 * expected[pair] - items * likely + itself) / (items - 1) ** 2
        left = (observed_left - expected_left) / np.where(1 - expected_left < CERTAIN, np.nan, 1 - expected_left)
        moved = left - (meetings.per_pair(left) / size)[pair]
        jackknifed = np.sqrt((size - 1) / size * meetings.per_pair(moved**2))
        # Without one of the items there may be a single label: then the ratio is linearised
        influence = (agree - (1 - value)[pair] * likely) / beyond[pair]
        influence -= (meetings.per_pair(influence) / size)[pair]
        stderr = np.where(np.isnan(jackknifed), mean_error(size, meetings.per_pair(influence**2)), jackknifed)
        first, second, fourth = (meetings.per_pair((1 - likely / 2) ** power) for power in (1, 2, 4))
        freedom = np.maximum(first**2 / second - 1, np.minimum(LEAST_FREEDOM, size - 1))
        return value, stderr, beyond, second**2 / fourth, freedom
