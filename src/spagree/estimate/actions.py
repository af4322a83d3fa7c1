"""What to do next, as values: findings, each with its share of all disagreement, the most telling first.

A step is a fact about these data that somebody can act on. Those that make every figure wrong come first (teams that
never met, labels that are a scale); the others are ranked by how far their share of all disagreement exceeds what their
share of the pairs of annotations, or the frequency of their classes, would explain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from spagree.codes import Codes, Floats, counted, sums
from spagree.estimate.annotators import LabelShares, PairableAnnotations, against_others, label_shares, rejected
from spagree.estimate.disagreement import Confusion, Disagreement
from spagree.estimate.findings import Findings
from spagree.estimate.jackknife import entry_of_each
from spagree.estimate.pairs import Overlap
from spagree.estimate.similarity import NOMINAL, is_number, with_points
from spagree.estimate.uncertainty import ANNOTATORS, ITEMS, Estimate, half_interval
from spagree.estimate.votes import LabelCounts, relative_weights
from spagree.estimate.weights import ByN

if TYPE_CHECKING:
    from spagree.estimate.comparison import Groups

SECOND_ANNOTATION, ITEM_COLUMN, SHARED_ITEMS = "second_annotation", "item_column", "shared_items"
SCALE, ONE_LABEL, COPIES, BY_NUMBER = "scale", "one_label", "copies", "by_number"
PEOPLE, CLASSES, GROUP, PERIOD, THESE_ITEMS = "annotators", "classes", "group", "period", "items"
PRECISION = MORE_PEOPLE, MORE_ITEMS = "more_annotators", "more_items"

PRECISE = 0.05  # half an interval that nobody would want narrower
NOTABLE = 0.02  # of all disagreement, beyond what would be expected
WORTH_AN_AFTERNOON = 0.1  # of all disagreement, by two classes
WORTH_READING = 0.05  # of all disagreement, by ten items
MATERIAL = 0.05  # of all disagreement by people with one label, or of the items by two who copy
LARGE = 0.25  # of all disagreement: worth a look even where it is no more than expected,
ABOVE_EQUAL = 1.5  # if it is so many times an equal part: of three pairs of classes, one always has a third
ALWAYS, ALIKE = 0.98, 0.98  # of a person's labels, and of the items two people share
FEWEST, FEWEST_SHARED = 5, 20  # items of somebody who gives one label, and items two people share
FEWEST_LABELS, FEWEST_CLASSES = 3, 3
MOST_PAIRS = 3_000_000  # pairs of annotations that are compared one by one
READ = 10  # items
MOST_CONFUSIONS = 5_000  # pairs of classes
PERIODS, FEWEST_IN_PERIODS = 8, 80
ABOUT, CLOSER = 0.9, 0.95  # of what chance would do: how often neighbours are confused, and how far apart labels are
CLEAR = 3.3  # one-sided 0.0005 of the normal distribution: eight periods are tested
TILTS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 40.0)


@dataclass(frozen=True, slots=True)
class Step:
    """Something to do, as a finding: whom or what it concerns, and the figures behind it.

    ``beyond`` is how far its share of all disagreement exceeds what would be expected; steps are ranked by it.
    """

    code: str
    names: tuple[str, ...] = ()
    figures: Mapping[str, float] = field(default_factory=dict)
    beyond: float = 0.0


@dataclass(frozen=True)
class Grounds:
    """What steps are found in; None for what is not known."""

    disagreement: Disagreement | None
    """All disagreement, which items and pairs of classes share."""
    weigh: Callable[[list[int]], ByN]
    """The weights for numbers of annotations."""
    codes: Codes | None = None
    of_items: LabelCounts | None = None
    """The votes of single items."""
    overlap: Overlap | None = None
    groups: Groups | None = None
    times: Floats | None = None
    """When each coded annotation was made."""
    has_items: bool = False
    """Whether single items can be listed."""

    def weights(self, n: Floats) -> Floats:
        """k(n) of each item, relative to the largest; 0 below two annotations."""
        sizes = counted(n.astype(np.int64))[0].tolist()
        return relative_weights(self.weigh([size for size in sizes if size > 1]), n)


def steps(findings: Findings, grounds: Grounds, target: float | None = None) -> tuple[Step, ...]:
    """Every step: what must be mended before anything counts, then by share of all disagreement, then precision."""
    first, data, overlap = list[Step](), findings.data, grounds.overlap
    if data.items and not data.pairable_items:
        figures = {"items": data.items, "annotations": data.annotations}
        codes = {warning.code for warning in findings.warnings}
        is_column = "all_items_once" in codes and "one_annotator" not in codes
        first.append(Step(ITEM_COLUMN if is_column else SECOND_ANNOTATION, (), figures))
    if overlap is not None and len(overlap.teams) > 1 and not overlap.unknown:
        figures = {"teams": len(overlap.teams), "annotators": overlap.annotators, "items": data.pairable_items}
        first.append(Step(SHARED_ITEMS, (), {**figures, "largest": len(overlap.teams[0].annotators)}))
    more = [*precision(findings.spa, data.annotators or 0, data.pairable_items, target)]
    if findings.spa.value is None or findings.spa.value == 1:
        return (*first, *more)
    confusions = [] if grounds.disagreement is None else grounds.disagreement.confusions(MOST_CONFUSIONS)
    of_people, found, theirs = _people(findings, grounds)
    first += [*_scale(findings, confusions), *of_people, *_by_number(findings)]
    found += [step for step in _classes(confusions) if not set(step.names) & theirs]
    found += [*_group(grounds.groups), *_period(grounds)]
    found.sort(key=lambda step: -step.beyond)
    clear = [step for step in found if step.beyond >= NOTABLE]
    if {step.code for step in (*first, *clear)} & {ONE_LABEL, COPIES, PEOPLE}:  # more people would be like these
        more = [step for step in more if step.code != MORE_PEOPLE]
    large = max(LARGE, ABOVE_EQUAL / max(1, len(confusions)))
    rest = [step for step in found if step.beyond < NOTABLE and step.code == CLASSES and step.figures["share"] >= large]
    told = (*first, *clear, *more, *rest)
    items = [each for each in _items(findings, grounds) if not told or each.beyond >= WORTH_READING]
    return (*told, *items)


# What must be mended before anything counts ---------------------------------------------------------


def _scale(findings: Findings, confusions: Sequence[Confusion]) -> Iterator[Step]:
    """Numbers compared as names, of which neighbours are confused more often than by chance."""
    if len(confusions) == MOST_CONFUSIONS:
        return  # a hundred points are measurements
    labels = sorted({label for each in confusions for label in (each.one, each.other)})
    numbers = with_points(labels)
    if findings.metric != NOMINAL or len(labels) < FEWEST_LABELS or not all(map(is_number, numbers)):
        return
    rank = {label: place for place, (_, label) in enumerate(sorted(zip(map(float, numbers), labels, strict=True)))}
    near = [each for each in confusions if abs(rank[each.one] - rank[each.other]) == 1]
    share, expected = sum(each.share for each in near), sum(each.expected for each in near)
    apart, by_chance = (
        sum(abs(rank[each.one] - rank[each.other]) * size for each, size in zip(confusions, sizes, strict=True))
        for sizes in ([each.share for each in confusions], [each.expected for each in confusions])
    )
    # Codes of names may have confusable neighbours, too, but not all of them are.
    often = sum(each.expected for each in near if each.share > ABOUT * each.expected)
    if expected and apart < CLOSER * by_chance and often > ABOUT * expected:
        ends = sorted(rank, key=lambda label: rank[label])
        yield Step(SCALE, (ends[0], ends[1], ends[-1]), {"share": share, "expected": expected}, share - expected)


def _by_number(findings: Findings) -> Iterator[Step]:
    """Agreement that depends on the number of annotations: from the fewest to the most."""
    rows = [row for row in findings.missingness.by_n if row.agreement.value is not None]
    if not findings.missingness.broken or len(rows) < 2:
        return
    so_far = np.cumsum([row.items for row in rows])
    middle = int(np.argmin(np.abs(so_far[:-1] - so_far[-1] / 2))) + 1  # the most even halves
    few, many = (
        sum(row.items * float(row.agreement) for row in side) / sum(row.items for row in side)
        for side in (rows[:middle], rows[middle:])
    )
    ends = {"fewest": rows[0].n, "until": rows[middle - 1].n, "from": rows[middle].n, "most": rows[-1].n}
    yield Step(BY_NUMBER, (), {**ends, "few": few, "many": many, "p": findings.missingness.p or 0.0})


# People -------------------------------------------------------------------------------------------------


def _people(findings: Findings, grounds: Grounds) -> tuple[list[Step], list[Step], set[str]]:
    """People with one label and two who copy, people who stand out, and what those with one label give.

    Nothing if their annotations are not at hand. Disagreement about what somebody gives to everything is their doing.
    """
    codes, votes = grounds.codes, grounds.of_items
    if codes is None or votes is None:
        return [], [], set()
    shares, compared = label_shares(codes), against_others(PairableAnnotations.of(codes, votes), findings.spa.level)
    blind = _one_label(codes, votes, shares)
    labels = zip(codes.annotators, shares.commonest.tolist(), strict=True)
    named = zip(codes.annotators, compared.stands_out, strict=True)
    apart = [name for name, stands_out in named if stands_out and name not in blind]
    copies = [copy for copy in _copies(codes, votes) if not set(copy.names) & set(blind)]
    first = [*_together(ONE_LABEL, blind, findings, grounds), *copies]
    theirs = {codes.labels[label] for name, label in labels if name in blind}
    return first, [*_together(PEOPLE, apart, findings, grounds)], theirs


def _one_label(codes: Codes, votes: LabelCounts, shares: LabelShares) -> list[str]:
    """Who gives (almost) one label to everything, more often than the votes of their items explain."""
    n = np.bincount(codes.item)
    used = (codes.annotator >= 0) & (n[codes.item] > 1)
    shared = np.bincount(codes.annotator[used], minlength=len(codes.annotators))
    people = np.flatnonzero((shares.share >= ALWAYS) & (shared >= FEWEST))
    others = int((shared >= FEWEST).sum()) - len(people)  # looked at as well, to see that they use several labels
    given = votes.count[entry_of_each(votes)]  # how many gave this label to this item
    p = []
    for person in people.tolist():
        mine = np.flatnonzero(used & (codes.annotator == person))
        same = codes.label[mine] == shares.commonest[person]
        item = counted(codes.item[mine])[0]
        place = np.searchsorted(item, codes.item[mine])
        likely = np.zeros(len(item))
        np.maximum.at(likely, place[same], (given[mine] / n[codes.item[mine]])[same])
        for row in np.flatnonzero(likely == 0).tolist():
            entries = (votes.group == item[row]) & (votes.label == shares.commonest[person])
            likely[row] = votes.count[entries].sum() / n[item[row]]
        p.append(min(1.0, len(codes.labels) * _as_many(likely, float(same.sum()))))
    return [codes.annotators[people[place]] for place in rejected(np.array([*p, *[1.0] * others]))]


def _as_many(likely: Floats, times: float) -> float:
    """An upper limit (Chernoff's) for how likely so many of these events are."""
    with np.errstate(divide="ignore", over="ignore"):
        exponents = [float(np.log1p(likely * np.expm1(tilt)).sum()) - tilt * times for tilt in TILTS]
    return float(np.exp(min(0.0, *exponents)))


def _copies(codes: Codes, votes: LabelCounts) -> list[Step]:
    """Two people who give the same labels far more often than the votes of the items they share explain."""
    sizes = np.bincount(codes.item[codes.annotator >= 0])
    if float((sizes * (sizes - 1.0)).sum()) / 2 > MOST_PAIRS:
        return []
    first, second, met, place = codes.meetings
    shared = np.bincount(place, minlength=len(met))
    same = sums(place, (codes.label[first] == codes.label[second]).astype(np.float64), len(met))
    agreement = replace(votes, similarity=None).agreement
    enough = max(FEWEST_SHARED, MATERIAL * len(sizes))
    chosen = np.flatnonzero((shared >= enough) & (same >= ALIKE * shared))
    p = [_as_many(agreement[codes.item[first[place == pair]]], float(same[pair])) for pair in chosen.tolist()]
    others = [1.0] * (int((shared >= enough).sum()) - len(p))
    found = []
    for pair in chosen[rejected(np.array([*p, *others]))].tolist():
        one, other = divmod(int(met[pair]), len(codes.annotators))
        around = float(agreement[codes.item[first[place == pair]]].mean())
        figures = {"items": float(shared[pair]), "agreement": float(same[pair] / shared[pair]), "around": around}
        found.append(Step(COPIES, (codes.annotators[one], codes.annotators[other]), figures, 1 - around))
    return sorted(found, key=lambda step: -step.beyond * step.figures["items"])[:1]


def _together(code: str, names: Sequence[str], findings: Findings, grounds: Grounds) -> Iterator[Step]:
    """These people's share of all disagreement and of all pairs, and SPA without any of them."""
    codes, votes, spa = grounds.codes, grounds.of_items, findings.spa.value
    if not names or codes is None or votes is None or spa is None:
        return
    chosen = np.array([name in names for name in (*codes.annotators, None)])[codes.annotator]
    rest = replace(votes, count=votes.count - np.bincount(entry_of_each(votes)[chosen], minlength=len(votes.count)))
    pairs, pairs_left = (each.n * np.maximum(each.n - 1, 0) for each in (votes, rest))
    apart, apart_left = pairs - votes.agreeing_pairs, np.maximum(pairs_left - rest.agreeing_pairs, 0.0)
    weight = grounds.weights(votes.n) / np.maximum(pairs, 1)
    share = 1 - float((weight * apart_left).sum() / (weight * apart).sum())
    of_pairs = 1 - float((weight * pairs_left).sum() / (weight * pairs).sum())
    left = grounds.weights(rest.n) if (rest.n > 1).any() else np.zeros(1)
    without = float((left * rest.agreement).sum() / left.sum()) if left.sum() else None
    made = np.bincount(codes.annotator[chosen], minlength=len(codes.annotators))
    busiest = sorted(names, key=lambda name: -made[codes.annotators.index(name)])
    figures = {"annotators": len(names), "share": share, "of_pairs": of_pairs, "spa": spa}
    figures |= {"made": float(chosen.mean())} | ({} if without is None else {"spa_without": without})
    if share >= MATERIAL and (code == ONE_LABEL or share - of_pairs >= NOTABLE):
        yield Step(code, tuple(busiest), figures, share - of_pairs)


# Classes, groups, periods, items ------------------------------------------------------------------------


def _classes(confusions: Sequence[Confusion]) -> Iterator[Step]:
    """The two classes with the largest share, if possible of those that exceed what their frequencies explain."""
    if len({label for each in confusions for label in (each.one, each.other)}) < FEWEST_CLASSES:
        return  # all disagreement is between the two classes there are
    clear = [each for each in confusions if each.more and each.share >= WORTH_AN_AFTERNOON]
    chosen = (clear or confusions)[0]
    figures = {"share": chosen.share, "expected": chosen.expected, "items": chosen.items}
    yield Step(CLASSES, (chosen.one, chosen.other), figures, chosen.share - chosen.expected if clear else 0.0)


def _group(groups: Groups | None) -> Iterator[Step]:
    """The group that agrees less than another, if one clearly does."""
    if groups is None or groups.of != "items":
        return
    known = {name: part for name, part in groups.findings.items() if part.spa.value is not None}
    items = {name: part.data.pairable_items for name, part in known.items()}
    lost = {name: items[name] * (1 - float(part.spa)) for name, part in known.items()}
    less = {pair.b.name if pair.verdict == "agrees_less" else pair.a.name for pair in groups.differences
            if pair.verdict in ("agrees_less", "agrees_more")}  # fmt: skip
    if not less or not sum(lost.values()):
        return
    name = max(less, key=lambda name: lost[name] / sum(lost.values()) - items[name] / sum(items.values()))
    share, of_items = lost[name] / sum(lost.values()), items[name] / sum(items.values())
    figures = {"share": share, "of_items": of_items, "spa": float(known[name].spa)}
    yield Step(GROUP, (name, groups.column), figures, share - of_items)


def _period(grounds: Grounds) -> Iterator[Step]:
    """Items finished in one part of the time, an eighth of them, that agree clearly less than all others."""
    votes, times, codes = grounds.of_items, grounds.times, grounds.codes
    if votes is None or times is None or codes is None:
        return
    last, timed = np.full(len(votes.n), -np.inf), np.isfinite(times)
    np.maximum.at(last, codes.item[timed], times[timed])
    chosen = np.flatnonzero((votes.n > 1) & np.isfinite(last))
    if len(chosen) < FEWEST_IN_PERIODS or len(set(last[chosen].tolist())) < PERIODS:
        return
    chosen = chosen[np.argsort(last[chosen], kind="stable")]
    weight = grounds.weights(votes.n)[chosen]
    lost = weight * (1 - votes.agreement[chosen])
    mean = lost.sum() / weight.sum()
    period = np.arange(len(chosen)) * PERIODS // len(chosen)
    beyond, spread = lost - mean * weight, np.bincount(period, weights=(lost - mean * weight) ** 2)
    score = np.bincount(period, weights=beyond) / np.sqrt(np.maximum(spread, 1e-12))
    worst = int(score.argmax())
    if score[worst] < CLEAR:
        return
    share, of_items = (float(each[period == worst].sum() / each.sum()) for each in (lost, weight))
    ends = last[chosen[period == worst]]
    figures = {"share": share, "of_items": of_items, "since": float(ends.min()), "until": float(ends.max())}
    yield Step(PERIOD, (), figures, share - of_items)


def _items(findings: Findings, grounds: Grounds) -> Iterator[Step]:
    """The items with the largest shares of all disagreement, which show what the guideline leaves open."""
    if grounds.disagreement is None or not grounds.has_items:
        return
    votes = grounds.disagreement.votes.pairable()
    lost = grounds.disagreement.contributions(votes)
    order = np.argsort(-lost, kind="stable")
    before = np.cumsum(votes.items[order]) - votes.items[order]
    taken = np.clip(READ - before, 0, votes.items[order]) * (lost[order] > 0)
    share = round(float((taken * lost[order]).sum() / grounds.disagreement.total), 12)
    figures = {"items": float(taken.sum()), "share": share, "of_items": taken.sum() / findings.data.pairable_items}
    yield Step(THESE_ITEMS, (), figures, share - figures["of_items"])


# Precision ------------------------------------------------------------------------------------------------


def annotators_decide(spa: Estimate) -> bool:
    """Whether most of what is unknown about other annotators is how annotators differ: more items would help little."""
    items, others = (half_interval(spa.intervals.get(name)) for name in (ITEMS, ANNOTATORS))
    return items is not None and others is not None and items**2 < others**2 / 2


def precision(spa: Estimate, people: int, size: int, target: float | None = None) -> Iterator[Step]:
    """More annotators where they differ more than items do, otherwise more items; only while precision is not fine."""
    half, items = half_interval(spa), half_interval(spa.intervals.get(ITEMS))
    undecided = target is not None and spa.low is not None and spa.high is not None and spa.low < target <= spa.high
    if half is None or items is None or (half <= PRECISE and not undecided):
        return
    if annotators_decide(spa):
        yield Step(MORE_PEOPLE, (), {"annotators": people, "half_width": half, "half_width_items": items})
    else:
        stderr = spa.intervals[ITEMS].stderr or 0.0
        yield Step(MORE_ITEMS, (), {"items": size, "half_width": half, "half_width_items": items, "stderr": stderr})
