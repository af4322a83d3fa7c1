"""Agreement on marks: somebody marked this; how likely is it that another annotator of the item marked it too?

For an item with n annotators who marked S in all, of which A was shared, summed over ordered pairs of annotators,

    θ = Σ k(n) A/(n(n − 1)) / Σ k(n) S/n.

Both sums are unbiased for any n ≥ 2, so θ stands under the same assumption as SPA (docs/mathematics.md §20). It is SPA
if everybody marks the whole item once, micro-F1 for two annotators, and Dice's coefficient for characters. Chance and
the five outcomes of a mark are the same ratio with another A.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, partial
from itertools import combinations
from math import erfc, sqrt
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import polars

from spagree.codes import MOST_SUMMED, Codes, Floats, Ints, numbered, pairs_within, ratio, sums
from spagree.counts.mark_tally import BY_CHANCE, CLASS, LEVELS, NOTHING, OTHER_LABEL, OUTCOMES, SAME, MarkTally, Row
from spagree.counts.marks import TOO_MANY, CodedMarks, Pieces, Shared
from spagree.counts.tally import Cell, People, Tally
from spagree.errors import DataError, UsageError, Warning, count, opt
from spagree.estimate import comparison, jackknife
from spagree.estimate.development import Step, Timed, in_steps, window
from spagree.estimate.findings import not_people
from spagree.estimate.missingness import Missingness
from spagree.estimate.models import MARGIN, ClassAgreement, ModelFindings, paired
from spagree.estimate.other_annotators import Kind, Made, Others, Without
from spagree.estimate.pairs import PairSums, is_cheap, overlap, overlap_warnings
from spagree.estimate.uncertainty import (
    ALL_ALIKE,
    ANNOTATORS,
    AUTO,
    FEW_ITEMS,
    ITEMS,
    Estimate,
    Interval,
    deviations,
    fisher_limits,
    leading,
    undefined,
    wilson,
    wilson_each,
)
from spagree.estimate.votes import Leaving, Sizes, relative_weights, total
from spagree.estimate.weights import CUSTOM, DEFAULT, REGISTRY, ByN, check_scheme, weigh_at
from spagree.options import CustomWeights

if TYPE_CHECKING:
    from numpy.typing import NDArray

NOT_SEEN_TWICE = "no item was seen by two annotators, so agreement cannot be measured"
NOTHING_MARKED = "nobody marked anything on an item that two annotators saw"
ONE_MARKED = "marks stand on one item only, too few to show how items differ"
TOO_FEW = f"fewer than {FEW_ITEMS} items with marks, too few for an interval beyond chance"
NOT_WHO = "a tally of marks does not say who marked what"
MANY_ROWS = "too many annotators met, or visits differ, for a tally to keep them: measure the marks themselves"
MANY_LABELS = "a tally of so many labels does not keep them apart; measure the marks themselves"
NO_LENGTHS = "the length of each text must be known: a column length in the table of who saw which item"
CERTAIN = "agreement by chance is certain: everybody marked everything"
NO_PLACES = "these marks are no places with characters"
OF_CLASSES = "its weights depend on how labels are shared, and marks may have none"
UNSEEN_UNKNOWN = (
    "it is not known who saw an item and marked nothing there, so agreement is overstated: give a table of who saw "
    f"which item ({opt.seen}), or rows with empty start and end"
)
NOT_RANDOM = (
    "agreement depends on how many people saw an item, which no weighting mends: was it decided by looking at the "
    "first marks?"
)
FIGURES_OF_MARKS = (*LEVELS,)


@dataclass(frozen=True, slots=True)
class MarkData:
    """The counts: ``annotations`` are visits, an annotator on an item, of which ``empty`` left no mark."""

    items: int
    annotations: int
    annotators: int
    marks: int
    empty: int
    pairable_items: int
    labels: Mapping[str, int]
    left_out: Mapping[str, int] = field(default_factory=dict)
    """Submissions of an export that do not count, by the reason."""


@dataclass(frozen=True, slots=True)
class MarkFindings:
    """Everything that is estimated from marks."""

    data: MarkData
    exact: Estimate
    characters: Estimate
    exact_any_label: Estimate
    characters_any_label: Estimate
    characters_beyond_chance: Estimate
    outcomes: Mapping[str, Estimate]
    """What a mark met at another annotator: the same, another label, other boundaries, both, or nothing."""
    missingness: Missingness
    seen: str
    """How it is known who saw what: given, rows, every_submission, or unknown."""
    warnings: tuple[Warning, ...] = ()


def find_marks(
    marks: CodedMarks | MarkTally,
    seen: str = "given",
    weights: str | CustomWeights = DEFAULT,
    level: float = 0.95,
    interval_for: str = AUTO,
) -> MarkFindings:
    """Estimate everything from marks, or from a tally of them; ``seen`` says how it is known who saw what.

    >>> from spagree.read.sources import read_marks
    >>> one = [("q", "ann", 0, 4, "P"), ("q", "ann", 10, 15, "L"), ("q", "ann", 20, 22, "P")]
    >>> two = [("q", "bob", 0, 4, "P"), ("q", "bob", 10, 14, "L")]
    >>> found = find_marks(CodedMarks.of(read_marks([*one, *two])))
    >>> found.exact.value == 2 / 5, found.characters.value == 16 / 19
    (True, True)
    """
    name = weights if isinstance(weights, str) else CUSTOM
    ratios = mark_ratios(marks, weights)
    chance, has_places = ratios.pop(BY_CHANCE, None), "characters" in ratios
    why_not = dict.fromkeys(OUTCOMES, TOO_MANY) | dict.fromkeys(LEVELS, NO_PLACES)
    if not has_places:
        why_not |= dict.fromkeys(("other_boundaries", "both"), NO_PLACES)
    figures = {each: undefined(why, level, name) for each, why in why_not.items()}
    figures |= {each: ratio.estimate(level, name, interval_for) for each, ratio in ratios.items()}
    figures[SAME] = figures["exact"]
    beyond = undefined(NO_PLACES, level, name)
    if has_places:
        beyond = ratios["characters"].beyond(chance, level, name, interval_for)
    test = ratios["exact"].trend()
    return MarkFindings(
        _data(marks),
        **{each: figures[each] for each in LEVELS},
        characters_beyond_chance=beyond,
        outcomes={each: figures[each] for each in OUTCOMES},
        missingness=test,
        seen=seen,
        warnings=tuple(_warnings(marks, seen, test)),
    )


def _data(marks: CodedMarks | MarkTally) -> MarkData:
    pairable = sum(items for n, items in marks.items_by_n.items() if n > 1)
    if isinstance(marks, MarkTally):
        counts = marks.items, marks.annotations, len(marks.annotators), marks.marks, marks.empty, pairable
        return MarkData(*counts, dict(marks.labels), dict(marks.left_out))
    sizes = len(marks.items), len(marks.item), len(marks.annotators), int(marks.made.sum())
    return MarkData(*sizes, int((marks.made == 0).sum()), pairable, marks.by_label)


def mark_ratios(marks: CodedMarks | MarkTally, weights: str | CustomWeights) -> dict[str, Ratio]:
    """Every level by name, and of marks what else than the same a mark met, unless too many people met, and chance."""
    by_n, people = mark_weights(marks, weights), mark_people(marks)
    if isinstance(marks, MarkTally):
        levels = {name: table for name, table in marks.tables.items() if name in LEVELS}
        return {
            each: Ratio.counted(marks, name, each, by_n, people) for name in levels for each in levels[name].figures
        }
    ratios = {}
    for name, pieces, shared in marks.levels():
        for figure, met in shared.items():
            ratios[figure] = Ratio.of(marks, met, by_n, people, pieces if figure == name else None)
    return ratios


def mark_weights(marks: CodedMarks | MarkTally, weights: str | CustomWeights) -> ByN:
    """k(n) for the numbers of annotators that occur, or would occur without one of them."""
    check_scheme(weights)
    sizes = sorted({m for n in marks.items_by_n for m in (n, n - 1) if m > 1})
    if not isinstance(weights, str):
        return weigh_at(sizes, weights, Tally()).by_n
    by_n = REGISTRY[weights].by_n
    if isinstance(by_n, str):
        *others, last = (name for name, scheme in REGISTRY.items() if not isinstance(scheme.by_n, str))
        raise UsageError(f"{opt.weights(weights)}: {OF_CLASSES}; use {', '.join(others)} or {last}")
    return {size: Fraction(by_n(size)) for size in sizes}


def mark_people(marks: CodedMarks | MarkTally) -> Others:
    """Who saw which item, and what that says about other annotators."""
    if isinstance(marks, MarkTally):
        cells = {Cell(n, 0, 0): items for n, items in marks.items_by_n.items()}
        people: People = {
            who: {(n, 0, 1, None, None): size for n, size in own.items()} for who, own in marks.saw.items()
        }
        met = None if marks.met is None else [(*pair, items, 0) for pair, items in marks.met.items()]
        return Others.of_tally(Tally(cells), people, None, met)
    nothing = np.zeros(len(marks.item), dtype=np.int32)
    item, annotator = marks.item.astype(np.int32), marks.annotator.astype(np.int32)
    return Others.of(Codes(item, annotator, nothing, tuple(marks.annotators), ("",)), None, None)


def _warnings(marks: CodedMarks | MarkTally, seen: str, test: Missingness) -> Iterator[Warning]:
    yield from not_people(marks.annotators)
    if isinstance(marks, CodedMarks):
        if empty := int((marks.start == marks.end).sum()):
            where = f"{count(empty, 'mark ends', 'marks end')} where it starts and holds no character"
            yield Warning("empty_marks", f"{where}: counted as a place between two characters")
        made = np.unique(marks.item[marks.visit]).tolist()
        if marks.texts and (lacking := sum(marks.texts[item] is None for item in made)):
            without = f"{count(lacking, 'item has', 'items have')} no text, of {len(made):,} with marks"
            yield Warning("no_text", f"{without}: agreement beyond chance takes all of them")
    if seen == "unknown":
        yield Warning("unseen_unknown", UNSEEN_UNKNOWN)
    if test.broken:
        yield Warning("not_random", f"{NOT_RANDOM} (p = {test.p:.2g})")
    if isinstance(marks, CodedMarks):
        codes = mark_people(marks).codes
        yield from overlap_warnings(overlap(codes, bridges=is_cheap(codes)))


Met = Callable[[], tuple[Floats, Floats]]


def _leaving(unit: Ints, n: Ints, columns: Sequence[Floats], times: Floats) -> Leaving:
    """What is left of S and A, given these, without what each row made and what A loses with it."""
    marked, agreeing, own, lost = columns
    ones = np.ones(len(unit))
    return Leaving(
        unit, unit, ones, n, n - 1, agreeing, agreeing - lost, times, marked=marked, marked_left=marked - own
    )


@dataclass(frozen=True)
class Ratio:
    """θ for one kind of A: of ``items`` alike ones in each row, seen by n, the marks S and the shared A of each."""

    n: Ints
    items: Floats
    marked: Floats
    agreeing: Floats
    by_n: ByN
    cluster: Ints | None = None
    people: Others | None = None
    """Who made them; None if only the interval for these annotators is wanted or known."""
    leaving: Mapping[Kind, Leaving] = field(default_factory=dict)
    """What leaves with an annotator, a single visit, or a team."""
    met: Met | None = None
    """What any two who met marked there, and shared; None if they are not looked at."""
    _without: dict[Kind, tuple[Floats, Floats]] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def of(
        cls, marks: CodedMarks, shared: Shared, by_n: ByN, people: Others | None, pieces: Pieces | None = None
    ) -> Ratio:
        """From what each visit marked and shared."""
        size = len(marks.items)
        marked, agreeing = (sums(marks.item, each, size) for each in (shared.own, shared.met))
        if people is None:
            return cls(marks.n, np.ones(size), marked, agreeing, by_n, marks.cluster)
        rows = np.flatnonzero(marks.n[marks.item] > 1)
        item, who = marks.item[rows], marks.annotator[rows]
        columns = marked[item], agreeing[item], shared.own[rows], (shared.met + shared.back)[rows]
        busy = (np.bincount(who, minlength=len(marks.annotators)) > 0).astype(np.float64)
        leaving: dict[Kind, Leaving] = {
            "people": _leaving(who, marks.n[item], columns, busy),
            "annotations": _leaving(np.arange(len(rows)), marks.n[item], columns, np.ones(len(rows))),
        }
        met: Met | None = None
        if pieces is not None and marks.meetings <= MOST_SUMMED:
            met = partial(marks.between, pieces, shared.own)
        return cls(marks.n, np.ones(size), marked, agreeing, by_n, marks.cluster, people, leaving, met)

    @classmethod
    def counted(cls, tally: MarkTally, name: str, figure: str, by_n: ByN, people: Others) -> Ratio:
        """A figure of one of the tables of a tally."""
        table = tally.tables[name]
        place, width = 1 + table.figures.index(figure), 1 + len(table.figures)

        def rows(counts: Mapping[Row, int], places: Sequence[int], *, of_items: bool) -> tuple[Ints, Floats, Any]:
            """By how many the items were seen, how many are alike, and amounts; with those on which nothing stands."""
            known: Counter[int] = Counter()
            for (n, *_), size in counts.items():
                known[int(n)] += size
            blank = {n: items * (1 if of_items else n) - known[n] for n, items in tally.items_by_n.items()}
            blank = {n: size for n, size in blank.items() if size}
            none = (0.0,) * (width if of_items else 2 * width)
            columns = np.array([*counts, *((n, *none) for n in blank)], dtype=np.float64).reshape(-1, 1 + len(none)).T
            times = np.array([*counts.values(), *blank.values()], dtype=np.float64)
            return columns[0].astype(np.int64), times, [columns[1 + at] for at in places]

        saw, items, (marked, agreeing) = rows(table.cells, [0, place], of_items=True)
        if table.visits is None or tally.met is None or table.pairs is None:
            return cls(saw, items, marked, agreeing, by_n)
        places = [0, place, width, width + place]
        n_of, times, columns = rows(table.visits, places, of_items=False)
        nothing = (0.0,) * (2 * width)
        made = [
            (number, n, visits, *table.people.get((annotator, n), nothing))
            for number, (annotator, sizes) in enumerate(tally.saw.items())
            for n, visits in sizes.items()
        ]
        table_of = np.array(made, dtype=np.float64).reshape(-1, 3 + 2 * width).T
        who, of = table_of[:2].astype(np.int64)
        visits, sums_of = table_of[2], [table_of[3 + at] for at in places]
        busy = (np.bincount(who, visits * (of > 1), len(tally.saw)) > 0).astype(np.float64)
        leaving: dict[Kind, Leaving] = {
            "people": _leaving(who, of, sums_of, busy),
            "annotations": _leaving(np.arange(len(n_of)), n_of, columns, times * (n_of > 1)),
        }
        if people.teams is not None:  # an item stands among the rows of each of the n who saw it
            whole = [sums_of[0] / of, sums_of[1] / of]
            team = people.teams[who]
            teams = (np.bincount(team, visits * (of > 1)) > 0).astype(np.float64)
            leaving["teams"] = replace(_leaving(team, of, [*whole, *whole], teams), n_left=np.zeros_like(of))
        shared = np.array([table.pairs.get(pair, (0.0, 0.0)) for pair in tally.met], dtype=np.float64).reshape(-1, 2)
        met: Met | None = (lambda: (shared[:, 0], shared[:, 1])) if figure == name else None
        return cls(saw, items, marked, agreeing, by_n, None, people, leaving, met)

    @cached_property
    def pairs(self) -> PairSums | None:
        """Sums over who met whom."""
        return None if self.met is None else PairSums.of(*self.met())

    @cached_property
    def sizes(self) -> Sizes:
        """A and S for each number of annotators."""
        pairable = self.n > 1
        sizes, items = np.unique(self.n[pairable]), self.items[pairable]
        place = np.searchsorted(sizes, self.n[pairable])
        marked, agreeing = (sums(place, items * each[pairable], len(sizes)) for each in (self.marked, self.agreeing))
        return Sizes(sizes, marked, agreeing, of_marks=True)

    @cached_property
    def value(self) -> float | None:
        """The ratio in exact rationals, rounded once; None if nothing is marked."""
        return self.sizes.value(self.by_n) if self.sizes.items.any() else None

    @cached_property
    def weight(self) -> Floats:
        """k(n) of each row, as a share of the largest; 0 where one person saw the item."""
        return relative_weights(self.by_n, self.n)

    def units(self, kind: Kind) -> Leaving:
        """What can be left out, and what the item then has."""
        if kind in self.leaving:
            return self.leaving[kind]
        unit = self.people.item_teams if kind == "teams" and self.people is not None else self.cluster
        rows = np.flatnonzero(self.n > 1)
        place, times = np.arange(len(rows)), self.items[rows]
        if unit is not None:
            place = _in_clusters(unit[rows])[1]
            times = np.ones(int(place.max(initial=-1)) + 1)
        marked, agreeing, none = self.marked[rows], self.agreeing[rows], np.zeros_like(rows)
        return replace(
            _leaving(place, self.n[rows], [marked, agreeing, marked, agreeing], times), group=rows, n_left=none
        )

    def without(self, kind: Kind) -> tuple[Floats, Floats]:
        """The ratio without each unit of a kind, and which of them count."""
        if kind not in self._without:
            units = self.units(kind)
            self._without[kind] = self.sizes.without(units, self.by_n), units.times
        return self._without[kind]

    @cached_property
    def equal_items(self) -> float:
        """How many items, or clusters, with equally many marks would be as informative: Kish's number."""
        units = self.units("items")
        weights = self.weight[units.group] * self.marked[units.group] / units.n
        each = sums(units.unit, weights, len(units.times))
        return total(units.times * each) ** 2 / total(units.times * each**2) if total(each) else 0.0

    def estimate(self, level: float, weights: str, interval_for: str) -> Estimate:
        """The ratio with both intervals, or why there is none."""
        if self.value is None:
            reason = NOTHING_MARKED if (self.n > 1).any() else NOT_SEEN_TWICE
            return undefined(reason, level, weights)
        value = self.value

        def made(variance: float, items: float, freedom: float) -> Interval:
            return Interval(sqrt(variance), *wilson(value, sqrt(variance), items, level, freedom))

        plain = Estimate(value, None, None, None, level, weights)
        return self.with_intervals(plain, self.without, made, interval_for)

    def with_intervals(
        self, plain: Estimate, without: Without, made: Made, interval_for: str, spread: float = 1.0
    ) -> Estimate:
        """A figure made of this ratio, for these annotators and, where they are known, for others.

        ``spread`` scales how much pairs of annotators differ.
        """
        over_items, equal = jackknife.variance(*without("items")), self.equal_items
        if over_items is None:
            return replace(plain, undefined=ONE_MARKED)
        if self.people is None:
            others = Interval(None, None, None, MANY_ROWS)
            intervals = {ITEMS: made(over_items, equal, equal - 1), ANNOTATORS: others}
        else:
            met = 0.0 if self.pairs is None else self.pairs.variance(self.value or 0.0) * spread
            intervals = self.people.intervals(without, over_items, equal, equal - 1, made, met)
        return leading(plain, intervals, interval_for)

    def beyond(self, chance: Ratio | None, level: float, weights: str, interval_for: str) -> Estimate:
        """(θ − e)/(1 − e), with e what would be shared if everybody placed their characters blindly."""
        if self.value is None:
            return self.estimate(level, weights, interval_for)
        if chance is None:
            return undefined(NO_LENGTHS, level, weights)
        expected = chance.value or 0.0
        if expected >= 1:
            return undefined(CERTAIN, level, weights)
        value = (self.value - expected) / (1 - expected)
        enough = total(self.items[(self.n > 1) & (self.marked > 0)]) >= FEW_ITEMS

        def without(kind: Kind) -> tuple[Floats, Floats]:
            observed, times = self.without(kind)
            left = chance.without(kind)[0]
            return (observed - left) / np.where(left < 1, 1 - left, np.nan), times

        def made(variance: float, _: float, freedom: float) -> Interval:
            if not enough:
                return Interval(sqrt(variance), None, None, TOO_FEW)
            point, stderr, free = (np.array([each]) for each in (value, sqrt(variance), freedom))
            low, high = (float(end[0]) for end in fisher_limits(point, stderr, free, level))
            ends = (None, None, ALL_ALIKE) if np.isnan(low) else (low, high)
            return Interval(sqrt(variance), *ends)

        plain = Estimate(value, None, None, None, level, weights)
        return self.with_intervals(plain, without, made, interval_for, (1 - expected) ** -2)

    def trend(self) -> Missingness:
        """Whether agreement depends on how many people saw an item: White's test, of the residuals P − θM."""
        n, pairable = self.n.astype(np.float64), self.n > 1
        if len(np.unique(n[pairable])) < 2 or not self.value:
            reason = "every item that two saw was seen by the same number of annotators"
            return Missingness(None, None, (), reason if self.value else NOTHING_MARKED)
        n, items, agreeing = n[pairable], self.items[pairable], self.agreeing[pairable]
        mass = self.marked[pairable] / n
        flat = self.sizes.value(dict.fromkeys(self.by_n, Fraction(1)))  # so that the residuals add up to 0
        moved = (n - total(items * n * mass) / total(items * mass)) * (agreeing / (n * (n - 1)) - flat * mass)
        units = self.units("items")
        moved = sums(units.unit, moved, len(units.times))  # of a cluster together
        squares = total(units.times * moved**2)
        if not squares:
            return Missingness(None, None, (), "agreement does not vary enough between items")
        z = total(units.times * moved) / sqrt(squares)
        return Missingness(z, erfc(abs(z) / sqrt(2)), ())


def _in_clusters(cluster: Ints) -> tuple[Ints, Ints]:
    """Items in one cluster share a number, those without one have their own: an item of each, and the numbers.

    >>> [each.tolist() for each in _in_clusters(np.array([1, -1, 1, -1]))]
    [[2, 1, 3], [0, 1, 0, 2]]
    """
    alone = int(cluster.max(initial=-1)) + 1 + np.arange(len(cluster))
    return numbered(np.where(cluster < 0, alone, cluster))


@dataclass(frozen=True)
class KnownMarks:
    """Items and annotators of marks that are compared, by numbers that mean the same on all sides, as the labels have.

    ``item``, ``person``, ``label``, ``cluster`` and ``key`` are the numbers of what the marks have, by their codes.
    """

    marks: CodedMarks
    weights: str | CustomWeights
    item: Ints
    person: Ints
    label: Ints
    cluster: Ints
    key: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    @cached_property
    def ratios(self) -> dict[str, Ratio]:
        """Every figure, to be measured without some."""
        return mark_ratios(self.marks, self.weights)

    @cached_property
    def units(self) -> Mapping[comparison.Moved, Ints]:
        """The numbers of what can be left out, each kind in the order of its jackknife."""
        marks, rows = self.marks, np.flatnonzero(self.marks.n > 1)
        items = self.item[rows]
        if marks.cluster is not None:
            own = marks.cluster[rows]
            first, _ = _in_clusters(own)
            items = np.where(own < 0, items, -1 - np.append(self.cluster, 0)[own])[first]
        visits = np.flatnonzero(marks.n[marks.item] > 1)
        item, who = self.item[marks.item[visits]], marks.annotator[visits]
        return {"items": items, "people": self.person[np.unique(who)], "annotations": item * 2**31 + self.person[who]}

    @property
    def pairable(self) -> tuple[Ints, Floats]:
        """The number of each item that two saw, one by one."""
        items = self.item[self.marks.n > 1]
        return items, np.ones(len(items))

    def moves(self, kind: comparison.Moved, figure: str) -> tuple[Ints, Floats]:
        """How far a figure moves without each item or cluster, annotator or visit: their numbers, and how far."""
        without, times = self.ratios[figure].without(kind)
        return self.units[kind], deviations(without[times > 0])[1]

    def content(self) -> Floats:
        """Who saw what, and every mark, in order."""
        marks, used = self.marks, self.marks.distinct
        start, end = marks.start[used], marks.end[used]
        if marks.keys:
            start = end = self.key[start.astype(np.int64)].astype(np.float64)
        places = np.stack([start, end, 1.0 + self.label[marks.label[used]]])
        visit = np.concatenate([np.arange(len(marks.item)), marks.visit[used]])
        places = np.concatenate([np.zeros((3, len(marks.item))), places], axis=1)
        rows = np.vstack([self.item[marks.item[visit]], self.person[marks.annotator[visit]], places])
        return np.asarray(rows[:, np.lexsort(rows)], dtype=np.float64)


def mark_development(marks: CodedMarks, steps: int, weights: str | CustomWeights, level: float) -> polars.DataFrame:
    """Agreement on whole spans at each moment, and on the items finished most recently, for these annotators."""
    none = np.zeros(len(marks.item), dtype=np.int32)
    codes = Codes(marks.item.astype(np.int32), none, none, ("",), ("",), time=marks.time)
    timed = Timed.of(codes, steps)
    finished = np.full(len(marks.items), -1)
    np.maximum.at(finished, marks.item[timed.place], timed.step)
    last, width = finished[marks.item[timed.place]], window(len(timed.ends))

    def step(chosen: NDArray[np.bool_]) -> Step:
        part = marks.only(timed.place[chosen])
        pieces, name = part.pieces(), weights if isinstance(weights, str) else CUSTOM
        try:
            ratio = Ratio.of(part, part.shared(pieces), mark_weights(part, weights), None, pieces)
            figure = ratio.estimate(level, name, ITEMS)
        except UsageError as error:  # own weights that do not cover all numbers of annotators, as may happen early on
            figure = undefined(error.message, level, name)
        return len(part.item), int((part.n > 1).sum()), figure

    ends = range(len(timed.ends))
    return in_steps(timed, ((step(timed.step <= end), step((last <= end) & (last > end - width))) for end in ends))


def mark_figures(findings: MarkFindings) -> dict[str, Estimate]:
    """What is compared between rounds and groups: whole spans first."""
    figures = {name: getattr(findings, name) for name in LEVELS}
    return figures | {name: shown for name, shown in findings.outcomes.items() if name != SAME}


def mark_groups(
    marks: CodedMarks, column: str, seen: str, weights: str | CustomWeights, level: float, interval_for: str
) -> comparison.Groups:
    """The groups of visits: of items, or of annotators if people of two groups saw one item."""
    names = marks.group_names()
    comparison.refuse_many(column, len(names))
    visits = {name: marks.of_group(name) for name in names}
    saw = {name: np.bincount(marks.item[own], minlength=len(marks.items)) for name, own in visits.items()}
    of_annotators = bool((np.count_nonzero([*saw.values()], axis=0) > 1).any())
    leads = ITEMS if interval_for == AUTO and not of_annotators else interval_for
    findings, sides = {}, []
    labels, clusters = (np.arange(len(each)) for each in (marks.labels, marks.clusters))
    for name, own in visits.items():
        part = marks.only(own)
        findings[name] = find_marks(part, seen, weights, level, leads)
        items, people = np.unique(marks.item[own]), np.unique(marks.annotator[own])
        known = KnownMarks(part, weights, items, people, labels, clusters)
        sides.append(comparison.Side(name, mark_figures(findings[name]), known=known))
    pairs = combinations(names, 2) if of_annotators else ()
    between = tuple(_between(marks, (a, b), (visits[a], visits[b]), level, leads) for a, b in pairs)
    whose: Literal["items", "annotators"] = "annotators" if of_annotators else "items"
    return comparison.Groups(column, whose, findings, comparison.compare_sides(sides, leads), between)


def _between(
    marks: CodedMarks, names: tuple[str, str], visits: tuple[Ints, Ints], level: float, interval_for: str
) -> comparison.Between:
    """θ of a person in one group and one in the other: Σ k·A/(n n′) over Σ k·(S/n + S′/n′)/2, k = 2 n n′/(n + n′)."""
    size, pieces = len(marks.items), marks.pieces()

    def of(own: Ints) -> list[Floats]:
        chosen = pieces.by(own)
        return [sums(marks.item[chosen.visit], each, size) for each in chosen.covered()]

    (mine, within), (theirs, among), (_, whole) = of(visits[0]), of(visits[1]), of(np.concatenate(visits))
    n, m = (np.bincount(marks.item[own], minlength=size).astype(np.float64) for own in visits)
    both = np.flatnonzero((n > 0) & (m > 0))
    n, m = n[both], m[both]
    weight = 2 * n * m / (n + m)
    shared = weight * (whole - within - among)[both] / 2 / (n * m)
    marked = weight * (mine[both] / n + theirs[both] / m) / 2
    if not len(both) or not total(marked):
        reason = NOTHING_MARKED if len(both) else comparison.NO_SHARED_ITEM
        return comparison.Between(*names, undefined(reason, level, comparison.PAIRS), len(both))
    value = total(shared) / total(marked)
    plain = Estimate(value, None, None, None, level, comparison.PAIRS)
    unit = np.arange(len(both)) if marks.cluster is None else _in_clusters(marks.cluster[both])[1]
    above, below = (sums(unit, each, int(unit.max()) + 1) for each in (shared, marked))
    over_items = jackknife.variance(ratio(total(above) - above, total(below) - below), np.ones(len(above)))
    if over_items is None:
        return comparison.Between(*names, replace(plain, undefined=comparison.ONE_SHARED), len(both))
    equal = total(below) ** 2 / total(below**2)
    alone = Interval(sqrt(over_items), *wilson(value, sqrt(over_items), equal, level, equal - 1))
    intervals = {ITEMS: alone, ANNOTATORS: Interval(None, None, None, comparison.THESE_ONLY)}
    return comparison.Between(*names, leading(plain, intervals, interval_for), len(both))


def model_among_marks(
    name: str,
    marks: CodedMarks,
    models: Collection[str],
    weights: str | CustomWeights,
    *,
    characters: bool,
    margin: float = MARGIN,
    level: float = 0.95,
    interval_for: str = AUTO,
) -> ModelFindings:
    """A model among people, on items that it and two people saw; all ``models`` are left out of the people.

    With n people, S of whose marks and m of whose own the model shares s, agreement with the model is Σ k s/n over
    Σ k (m + S/n)/2: the F1 with one of them. It is what people reach among themselves if the model is like them.
    """
    model = list(marks.annotators).index(name)
    machines = [place for place, who in enumerate(marks.annotators) if who in models]
    pieces = marks.pieces(characters=characters)
    own = sums(pieces.visit, pieces.size, len(marks.item))
    is_person, visit_of = ~np.isin(marks.annotator, machines), np.full(len(marks.items), -1)
    visit_of[marks.item[marks.annotator == model]] = np.flatnonzero(marks.annotator == model)
    people = np.bincount(marks.item[is_person], minlength=len(marks.items))
    kept = np.flatnonzero(is_person & ((visit_of >= 0) & (people > 1))[marks.item])
    whom = marks.only(kept)
    by_n, others = mark_weights(whom, weights), mark_people(whom)
    scheme = weights if isinstance(weights, str) else CUSTOM

    def compared(shown: str, one: Ints, other: Ints, shared: Floats) -> ClassAgreement:
        """The model with people, and people with each other, by what any two visits share."""
        with_model, among = np.zeros(len(marks.item)), np.zeros(len(marks.item))
        for visit, partner in ((one, other), (other, one)):
            both = is_person[visit] & is_person[partner]
            among += sums(visit[both], shared[both], len(among))
            met = is_person[visit] & (marks.annotator[partner] == model)
            with_model[visit[met]] = shared[met]
        with_model, among, n = with_model[kept], among[kept], whom.n[whom.item]
        together = sums(whom.item, with_model, len(whom.items))[whom.item]
        mass = (own[visit_of[marks.item[kept]]] + own[kept]) / 2
        mine = Ratio.of(whom, Shared(mass, with_model * (n - 1), together - with_model), by_n, others)
        humans = Ratio.of(whom, Shared(own[kept], among, among), by_n, others)
        figures = [each.estimate(level, scheme, interval_for) for each in (mine, humans)]
        gap = _gap(mine, humans, level, scheme, interval_for)
        return ClassAgreement(shown, figures[0], figures[1], gap)

    whole = compared(name, *marks.pairs(pieces))
    outcomes = () if characters else tuple(compared(each, *met) for each, met in _pairs_met(marks, own).items())
    left_out = {
        "no_model_label": (people > 0) & (visit_of < 0),
        "fewer_than_two_people": (people == 1) & (visit_of >= 0),
        "no_people": (people == 0) & (visit_of >= 0),
    }
    return ModelFindings(
        name,
        whole.with_humans,
        whole.humans,
        whole.difference,
        margin,
        items=len(whom.items),
        humans_count=len(whom.annotators),
        left_out={why: int(items.sum()) for why, items in left_out.items() if items.any()},
        runs=1,
        self_agreement=None,
        marks=outcomes,
    )


def _pairs_met(marks: CodedMarks, own: Floats) -> dict[str, tuple[Ints, Ints, Floats]]:
    """Any two visits of one item, and how many of their marks meet each outcome at the other: the mean of both ways."""
    one, other = pairs_within(np.bincount(marks.item))
    keys, visit = one * len(marks.item) + other, marks.visit[marks.distinct]
    met = np.zeros((len(OUTCOMES), len(keys)))
    for mark, closest, kind in marks.closest():
        low, high = np.sort(np.stack([visit[mark], visit[closest]]), axis=0)
        place = np.searchsorted(keys, low * len(marks.item) + high)
        met[:-1] += sums(kind * len(keys) + place, np.full(len(kind), 0.5), met[:-1].size).reshape(met[:-1].shape)
    met[-1] = (own[one] + own[other]) / 2 - met[:-1].sum(axis=0)
    known = (SAME, OTHER_LABEL, NOTHING) if marks.keys else OUTCOMES
    return {name: (one, other, met[place]) for place, name in enumerate(OUTCOMES) if name in known}


def _gap(mine: Ratio, theirs: Ratio, level: float, scheme: str, interval_for: str) -> Estimate:
    """One ratio minus another of the same items, with what makes an item hard for everybody cancelled."""
    if mine.value is None or theirs.value is None:
        return undefined(NOTHING_MARKED, level, scheme)
    value = mine.value - theirs.value

    def without(kind: Kind) -> tuple[Floats, Floats]:
        return mine.without(kind)[0] - theirs.without(kind)[0], mine.units(kind).times

    def made(variance: float, items: float, freedom: float) -> Interval:
        return paired(value, sqrt(variance), items, freedom, level)

    return theirs.with_intervals(Estimate(value, None, None, None, level, scheme), without, made, interval_for)


def mark_items(marks: CodedMarks, any_label: bool = False) -> polars.DataFrame:
    """One row per item that two saw: its annotators and marks, and how often a mark met the same at another."""
    shared = marks.shared(marks.pieces(any_label=any_label))
    n = marks.n.astype(np.float64)
    marked, met = (sums(marks.item, each, len(n)) for each in (shared.own, shared.met))
    columns: dict[str, Any] = {
        "item": polars.Series(marks.items, dtype=polars.String),
        "annotations": marks.n,
        "marks": marked.astype(np.int64),
        "agreement": ratio(met / np.maximum(n - 1, 1), marked),
    }
    if marks.texts:
        columns["text"] = polars.Series(marks.texts, dtype=polars.String)
    frame = polars.DataFrame(columns).filter(polars.col("annotations") > 1).fill_nan(None)
    missed = polars.col("marks") / polars.col("annotations") * (1 - polars.col("agreement"))
    return frame.sort(missed, "item", descending=[True, False], nulls_last=True)


@dataclass(frozen=True, slots=True)
class MarkedText:
    """An item with its text, if that is known, and who marked what there: start, end and label of each mark.

    Marks that are no places have ``keys``, and the number of theirs as start.
    """

    item: str
    agreement: float
    text: str | None
    marks: Mapping[str, Sequence[tuple[float, float, str]]]
    keys: Sequence[str] = ()


def disputed_texts(marks: CodedMarks, most: int) -> list[MarkedText]:
    """The items that lose most, first."""
    of_item = {name: place for place, name in enumerate(marks.items)}
    by_visit = np.argsort(marks.visit, kind="stable")
    bounds = np.searchsorted(marks.visit[by_visit], np.arange(len(marks.item) + 1))
    found = []
    disputed = mark_items(marks).filter(polars.col("agreement") < 1).head(most)
    for name, agreement in disputed.select("item", "agreement").rows():
        made: dict[str, list[tuple[float, float, str]]] = {}
        first, last = np.searchsorted(marks.item, [of_item[name], of_item[name] + 1])
        for visit in range(first, last):
            used = by_visit[bounds[visit] : bounds[visit + 1]]
            labels = [marks.labels[label] for label in marks.label[used].tolist()]
            places = zip(marks.start[used].tolist(), marks.end[used].tolist(), labels, strict=True)
            made[marks.annotators[marks.annotator[visit]]] = sorted({*places})
        text = marks.texts[of_item[name]] if marks.texts else None
        found.append(MarkedText(name, agreement, text, made, marks.keys))
    return found


def mark_classes(
    marks: CodedMarks | MarkTally, weights: str | CustomWeights, level: float, interval_for: str
) -> polars.DataFrame:
    """One row per label: how often another annotator makes the same mark, and what else such a mark meets."""
    by_n, people = mark_weights(marks, weights), mark_people(marks)
    if isinstance(marks, MarkTally) and not marks.has_classes:
        raise UsageError(MANY_LABELS)
    rows = []
    for place, label in enumerate(marks.labels):
        name = CLASS + label
        if isinstance(marks, MarkTally):
            ratio_of, made = Ratio.counted(marks, name, name, by_n, people), marks.labels[label]
        else:
            pieces = marks.pieces(label=place)
            ratio_of, made = Ratio.of(marks, marks.shared(pieces), by_n, people, pieces), len(pieces.visit)
        figure = ratio_of.estimate(level, "", interval_for)
        mass = total(ratio_of.weight / np.maximum(ratio_of.n, 1) * ratio_of.items * ratio_of.marked)
        rows.append((label, made, figure.value, figure.stderr, figure.low, figure.high, figure.undefined, mass))
    kinds = dict.fromkeys(("agreement", "stderr", "low", "high", "mass"), polars.Float64)
    names = ("class", "marks", "agreement", "stderr", "low", "high", "undefined", "mass")
    schema = {"class": polars.String, "marks": polars.Int64, "undefined": polars.String} | kinds
    frame = polars.DataFrame(rows, {name: schema[name] for name in names}, orient="row")
    met = _exchanged(marks, by_n)
    if met is not None:
        whole = frame["mass"].to_numpy()
        amounts = np.zeros((len(OUTCOMES) - 1, len(rows)))
        place_of = {label: place for place, label in enumerate(marks.labels)}
        for (kind, label, _), amount in met.items():
            amounts[kind, place_of[label]] += amount
        columns = {name: ratio(amounts[OUTCOMES.index(name)], whole) for name in OUTCOMES[1:-1]}
        columns["missed"] = ratio(whole - amounts.sum(axis=0), whole)
        frame = frame.with_columns(polars.Series(name, column) for name, column in columns.items()).fill_nan(None)
    return frame.drop("mass").sort("agreement", "class", nulls_last=True)


def mark_confusion(marks: CodedMarks | MarkTally, weights: str | CustomWeights) -> polars.DataFrame:
    """Two labels a row: their share of all exchanges of labels, in the same place or in overlapping ones."""
    met = _exchanged(marks, mark_weights(marks, weights))
    if met is None:
        raise DataError(f"{TOO_MANY}; choose fewer items, or fewer people")
    shares: defaultdict[tuple[str, str], float] = defaultdict(float)
    for (_, label, other), amount in met.items():
        if label != other:
            shares[min(label, other), max(label, other)] += amount
    whole = sum(shares.values())
    rows = [(share / whole, *pair) for pair, share in shares.items()]
    schema = {"share": polars.Float64, "class": polars.String, "other": polars.String}
    return polars.DataFrame(rows, schema, orient="row").sort("share", "class", "other", descending=[True, False, False])


def _exchanged(marks: CodedMarks | MarkTally, by_n: ByN) -> dict[tuple[int, str, str], float] | None:
    """How often marks met another mark, by kind of outcome and both labels, as items are weighted; None if unknown."""
    met = marks.closest if isinstance(marks, MarkTally) else marks.met_others()
    if met is None:
        return None
    sizes = np.array(sorted(by_n), dtype=np.int64)
    weight = dict(zip(sizes.tolist(), relative_weights(by_n, sizes).tolist(), strict=True))
    found: defaultdict[tuple[int, str, str], float] = defaultdict(float)
    for (n, kind, label, other), times in sorted(met.items()):  # rounded alike, however they were counted
        found[kind, label, other] += times * weight[n] / (n * (n - 1))
    return found


def mark_annotators(marks: CodedMarks, level: float) -> polars.DataFrame:
    """One row per annotator: how many of their marks another made too, how many of the others' marks they made."""
    shared, people = marks.shared(marks.pieces()), len(marks.annotators)
    rows = np.flatnonzero(marks.n[marks.item] > 1)
    who, item = marks.annotator[rows], marks.item[rows]
    others = marks.n[item] - 1.0
    whole = sums(marks.item, shared.own, len(marks.items))[item]
    columns: dict[str, Any] = {
        "annotator": polars.Series(marks.annotators, dtype=polars.String),
        "items": np.bincount(marks.annotator, minlength=people),
        "marks": sums(marks.annotator, shared.own, people).astype(np.int64),
        "shared": np.bincount(who, minlength=people),
    }
    met = np.asarray(shared.met[rows] / others, dtype=np.float64)
    for name, made in (("confirmed", shared.own[rows]), ("found", (whole - shared.own[rows]) / others)):
        value, _, low, high = _shares(who, met, np.asarray(made, dtype=np.float64), people, level)
        columns |= {name: value, f"{name}_low": low, f"{name}_high": high}
    return polars.DataFrame(columns).fill_nan(None).sort("confirmed", "annotator", nulls_last=True)


def mark_pairs(marks: CodedMarks, level: float) -> polars.DataFrame:
    """One row per pair of annotators who saw an item: the F1 of all their marks on the items both saw."""
    pieces, names = marks.pieces(), polars.Series(marks.annotators, dtype=polars.String)
    one, other, shared = marks.pairs(pieces)
    own = marks.shared(pieces).own
    who = np.sort(marks.annotator[np.stack([one, other])], axis=0)
    first, pair = numbered(who[0], who[1])
    made = own[one] + own[other]
    value, stderr, low, high = _shares(pair, 2 * shared, made, len(first), level)
    columns = {
        "annotator": names.gather(who[0][first]),
        "other": names.gather(who[1][first]),
        "shared": np.bincount(pair, minlength=len(first)),
        "marks": sums(pair, made, len(first)).astype(np.int64),
        "agreement": value,
        "stderr": stderr,
        "low": low,
        "high": high,
    }
    return polars.DataFrame(columns).fill_nan(None).sort("agreement", "annotator", "other", nulls_last=True)


def _shares(of: Ints, met: Floats, made: Floats, size: int, level: float) -> tuple[Floats, Floats, Floats, Floats]:
    """Σ met over Σ made for each, with standard error and limits over its items, by linearisation."""
    whole = sums(of, made, size)
    value = ratio(sums(of, met, size), whole)
    count = np.bincount(of, made > 0, size)
    squares = np.bincount(of, (met - np.nan_to_num(value)[of] * made) ** 2, size)
    with np.errstate(divide="ignore", invalid="ignore"):
        stderr = np.where(count > 1, np.sqrt(count / (count - 1) * squares) / whole, np.nan)
    low, high = wilson_each(value, stderr, ratio(whole**2, np.bincount(of, made**2, size)), level)
    return value, stderr, low, high
