"""Tally → Findings: every figure once, frozen, in full precision; also without labels that look like empty cells."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from statistics import median
from typing import Self

from spagree.counts.count import Counted
from spagree.counts.tally import Pattern, Tally, commonest_first
from spagree.estimate.chance import UNKNOWN_PEOPLE, Corrected, chance
from spagree.estimate.jackknife import ordinal_variance
from spagree.estimate.missingness import Missingness, missingness
from spagree.estimate.others import Others, spa_estimate
from spagree.estimate.similarity import NOMINAL, SET_METRICS, Metric, is_number
from spagree.estimate.uncertainty import (
    AUTO,
    NOT_PAIRABLE,
    ONE_ANNOTATOR,
    Bootstrap,
    Estimate,
    check_level,
    undefined,
)
from spagree.estimate.votes import LabelCounts, item_groups, votes
from spagree.estimate.warnings import find_warnings, has_one_annotator, near_chance
from spagree.estimate.weights import DEFAULT, REGISTRY, Weights, check_scheme, weigh
from spagree.messages import Warning, opt
from spagree.options import CustomWeights

RESAMPLED = "a bootstrap resamples items only"


@dataclass(frozen=True, slots=True)
class PerItem:
    """Annotations per item: minimum, median and maximum."""

    min: int
    median: float
    max: int


@dataclass(frozen=True, slots=True)
class Data:
    """The counts; ``annotators`` is None if the source does not name annotators."""

    items: int
    annotations: int
    annotators: int | None
    classes: int
    pairable_items: int
    unpairable_items: int
    pairable_annotations: int
    annotations_per_item: PerItem | None
    labels: Mapping[str, int]
    left_out: Mapping[str, int]
    clusters: int | None = None
    """Clusters of dependent items; None if no cluster column was named."""
    cluster: str | None = None
    """The column of the clusters."""

    @classmethod
    def of(cls, tally: Tally) -> Self:
        """The counts of a tally; the median without one number per item."""
        sizes = sorted(tally.items_by_n)
        per_item = None
        if sizes:
            ends = list(accumulate(tally.items_by_n[n] for n in sizes))
            last = ends[-1] - 1
            middle = [sizes[bisect_right(ends, place)] for place in (last // 2, last - last // 2)]
            per_item = PerItem(sizes[0], median(middle), sizes[-1])
        return cls(
            items=tally.items,
            annotations=tally.annotations,
            annotators=None if tally.annotators is None else len(tally.annotators),
            classes=len(tally.labels),
            pairable_items=tally.pairable_items,
            unpairable_items=tally.items - tally.pairable_items,
            pairable_annotations=tally.pairable_annotations,
            annotations_per_item=per_item,
            labels=commonest_first(tally.labels),
            left_out=tally.left_out,
            clusters=tally.clusters,
            cluster=tally.grouped.cluster if tally.grouped is not None else None,
        )


@dataclass(frozen=True, slots=True)
class Findings:
    """Everything that was estimated from one tally."""

    data: Data
    spa: Estimate
    schemes: Mapping[str, Estimate]
    weights: Mapping[str, Weights]
    missingness: Missingness
    chance: Mapping[str, Corrected]
    warnings: tuple[Warning, ...]
    metric: str = NOMINAL
    order: tuple[str, ...] = ()
    """The labels from low to high, if an order was given."""
    teams: int = 1
    """Teams of annotators who share no item; 1 if nearly all are connected, or it is not known who is."""


def find(
    tally: Tally,
    weights: str | CustomWeights = DEFAULT,
    level: float = 0.95,
    bootstrap: Bootstrap | None = None,
    metric: Metric | None = None,
    others: Others | str = UNKNOWN_PEOPLE,
    interval_for: str = AUTO,
    counts: LabelCounts | None = None,
) -> Findings:
    """Estimate everything from a tally; ``others`` says what its annotators tell about others, or why nothing.

    ``counts`` are its votes under the metric, if they are already laid out.

    >>> findings = find(Tally.from_items([{"yes": 2}, {"yes": 1, "no": 1}, {"no": 3}]))
    >>> findings.spa.value, findings.schemes["flat"].value == 2 / 3
    (0.75, True)
    """
    check_scheme(weights)
    check_level(level)
    if counts is None:
        counts = votes(tally, metric)
    groups = item_groups(tally, counts)
    ranks = None if metric is None or counts is None else metric.ranks(counts.labels)
    told = RESAMPLED if bootstrap else (others.why_not or others) if isinstance(others, Others) else others

    def others_under(weights: Weights) -> Others | str:
        return told if isinstance(told, str) else weights.unknown or told

    def figure(weights: Weights) -> Estimate:
        if not groups.size:
            return undefined(ONE_ANNOTATOR if has_one_annotator(tally) else NOT_PAIRABLE, level, weights.scheme)
        found = spa_estimate(
            groups,
            weights.every,
            level=level,
            scheme=weights.scheme,
            others=others_under(weights),
            interval_for=interval_for,
            variance=None if ranks is None or counts is None else ordinal_variance(counts, ranks, weights.by_n),
        )
        return found if bootstrap is None else bootstrap.refine(found, groups, weights.by_n, interval_for)

    weighed = {scheme: weigh(scheme, tally, counts) for scheme in REGISTRY}
    chosen = weighed[weights] if isinstance(weights, str) else weigh(weights, tally)
    schemes = {scheme: figure(each) for scheme, each in weighed.items()}
    spa = schemes[weights] if isinstance(weights, str) else figure(chosen)
    test = missingness(groups, level)
    corrected = chance(tally, counts, chosen, level, others, others_under(chosen), interval_for)
    warnings = (
        *find_warnings(tally, schemes, test, chosen, metric.name if metric else NOMINAL),
        *near_chance(tally, corrected["krippendorff_alpha"]),
    )
    return Findings(
        Data.of(tally),
        spa,
        schemes,
        {**weighed, chosen.scheme: chosen},
        test,
        corrected,
        warnings,
        metric.name if metric else NOMINAL,
        metric.order if metric else (),
        others.team_count if isinstance(others, Others) else 1,
    )


EMPTY_SETS = frozenset(("[]", "{}"))
# fmt: off
SURELY = frozenset((
    "n/a", "#n/a", "nan", "null", "-", "--", "—", "–", "?", "??", "???", ".", "..", "...", "skip", "skipped", "missing",
    "(blank)", "blank", "no answer", "not answered", "unanswered", "no response", "not applicable", "not available",
    "no data", "<na>", "nat", "nil", "undefined", "n.a.", "n. a.", "n.d.", "empty", "tbd", "todo", "refused",
    "prefer not to say", "prefer not to answer", "not annotated", "unannotated", "not labeled", "not labelled",
    "unlabeled", "unlabelled", "not rated", "unrated", "not coded", "not done", "not assigned", "unassigned",
    "don't know", "dont know", "do not know", "i don't know", "i do not know", "idk", "dk",
    "don’t know", "i don’t know", "#null!", "#ref!", "#value!", "#div/0!", "#name?", "#num!",
    "keine angabe", "k.a.", "k. a.", "weiß nicht", "weiss nicht", "entfällt", "fehlt", "übersprungen",
    "sans réponse", "ne sait pas", "non applicable", "sin respuesta", "no sabe", "no aplica", "ns/nc", "s/o",
    "nessuna risposta", "non so", "sem resposta", "não sei", "geen antwoord", "weet niet", "нет ответа",
    "无", "缺失", "未标注", "不适用", "不知道", "跳过", "未回答", "わからない", "無回答",
)) | EMPTY_SETS | frozenset(f".{letter}" for letter in "abcdefghijklmnopqrstuvwxyz")  # Stata's kinds of missing
# fmt: on
PERHAPS = frozenset(("na", "none", "unknown"))  # may be genuine labels: only if the others are written differently
CODES = frozenset((-1, -7, -8, -9, -77, -88, -97, -98, -99, -997, -998, -999, -9999, 9, 77, 88, 97, 98, 99,
                   777, 888, 997, 998, 999, 9999))  # fmt: skip
MOST = 0.5  # of the annotations: -1 beside 0 and 1 is a scale, unless most cells hold it
LEAST_OTHERS = 2


def _plain(label: str) -> str:
    """As names of columns of counts write it: n_skipped, no_answer."""
    text = label.strip().casefold()
    return text if text in SURELY else text.replace("_", " ").removeprefix("n ")


def looks_missing(labels: Mapping[str, int]) -> list[str]:
    """Labels that look like missing values while the others do not, however many: most of a sparse table is empty.

    >>> looks_missing({"yes": 5, "no": 4, "N/A": 1}), looks_missing({"US": 5, "DE": 4, "NA": 1})
    (['N/A'], [])
    >>> looks_missing({"1": 4, "2": 4, "5": 2, "99": 1}), looks_missing({str(n): 1 for n in range(100)})
    (['99'], [])
    >>> looks_missing({"-1": 2, "0": 4, "1": 4}), looks_missing({"-1": 20, "0": 4, "1": 4})
    ([], ['-1'])
    >>> looks_missing({"yes": 2, "no": 4, "0": 4}), looks_missing({str(n): 1 for n in range(-2, 3)})
    (['0'], [])
    >>> looks_missing({"cat": 5, "dog": 4, "n_skipped": 2}), looks_missing({"cat": 5, "dog": 4, "no_answer": 2})
    (['n_skipped'], ['no_answer'])
    """
    words = [label for label in labels if _plain(label) in SURELY | PERHAPS or not label.strip()]
    others = [label for label in labels if label not in words]
    cases = {_case(label) for label in others if any(character.isalpha() for character in label)}
    missing = [word for word in words if _plain(word) not in PERHAPS or _case(word) not in cases]
    numbers = [label for label in others if is_number(label) and float(label).is_integer()]
    if all(map(is_number, others)):
        missing += _codes(numbers, is_most=labels.get("-1", 0) > MOST * sum(labels.values()))
    elif len(numbers) == 1 and int(float(numbers[0])) in CODES | {0}:  # among words
        missing += numbers
    rest = [label for label in labels if label not in missing]
    return missing if len(rest) >= LEAST_OTHERS else []


def _case(label: str) -> str:
    return "upper" if label.isupper() else "lower" if label.islower() else "title"


def _codes(numbers: Sequence[str], *, is_most: bool) -> list[str]:
    """Numbers such as 99 or -1 that lie outside a short scale."""
    values = {int(float(number)): number for number in numbers}
    scale = sorted(set(values) - CODES)
    if len(scale) < LEAST_OTHERS:
        return []
    low, high = scale[0], scale[-1]
    above = high + max(2, (high - low + 1) // 2)
    codes = []
    for value, label in values.items():
        if value < 0:  # a scale that begins below 0 ends as far above it
            is_apart = low >= 0 and (low > 0 or high >= LEAST_OTHERS or value < -1 or is_most)
        else:
            is_apart = value > above
        if value in CODES and is_apart:
            codes.append(label)
    return codes


def _is_said_at_random(patterns: Mapping[Pattern, int], label: str) -> bool:
    """Whether annotators agree on one label as if they did not look, and on the others far more than by chance.

    >>> _is_said_at_random({(("0", 3),): 40, (("1", 3),): 40, (("-1", 1), ("0", 2)): 30}, "-1")
    True
    """
    sizes = Counter[str]()
    met = both = pairs = same = 0
    for pattern, items in patterns.items():
        counts = dict(pattern)
        sizes.update({name: items * n for name, n in pattern})
        own = counts.pop(label, 0)
        rest = sum(counts.values())
        met += items * own * (own + rest - 1)  # who is beside somebody who said it, and who said it, too
        both += items * own * (own - 1)
        pairs += items * rest * (rest - 1)
        same += items * sum(n * (n - 1) for n in counts.values())
    if min(met, pairs) < MIN_PAIRS:
        return False
    share = sizes[label] / sizes.total()
    del sizes[label]
    chance = sum((n / sizes.total()) ** 2 for n in sizes.values())
    is_blind = both / met < share + 2 * (2 * share * (1 - share) / met) ** 0.5
    return is_blind and same / pairs > chance + FAR * (1 - chance)


MIN_PAIRS, FAR = 60, 0.3  # of annotations; agreement beyond chance


def warn_missing(counted: Counted, weights: str | CustomWeights, metric: Metric) -> tuple[Warning, ...]:
    """Labels that look missing, the option that leaves them out, and the agreement it would give."""
    labels = counted.tally.labels
    are_sets = metric.rule in SET_METRICS  # an empty set is an answer: none of the options
    looks = [label for label in looks_missing(labels) if not (are_sets and label in EMPTY_SETS)]
    if not looks and labels.keys() == {"-1", "0", "1"} and _is_said_at_random(counted.tally.patterns or {}, "-1"):
        looks = ["-1"]
    if not looks:
        return ()
    value = find(counted.without(looks), weights, metric=metric).spa.value
    shown = ", ".join(f"{label!r} ×{labels[label]:,}" for label in looks)
    option = opt.missing(looks)
    then = "nothing that could be compared" if value is None else f"an agreement of {value:.4f}"
    message = f"these labels look like missing values but were counted: {shown}. If they are, {option} gives {then}"
    return (Warning("looks_missing", message),)
