"""Tally → Findings: every figure once, frozen, in full precision, and what a careful colleague would point out."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from statistics import median
from typing import Self

from spagree.counts.count import Counted
from spagree.counts.tally import Pattern, Tally, commonest_first
from spagree.errors import Warning, count, opt
from spagree.estimate.chance import UNKNOWN_PEOPLE, Corrected, chance
from spagree.estimate.jackknife import ordinal_variance
from spagree.estimate.missingness import Missingness, missingness
from spagree.estimate.other_annotators import Others, spa_estimate
from spagree.estimate.similarity import NOMINAL, SCALES, SET_METRICS, Metric, is_number, with_points
from spagree.estimate.uncertainty import (
    AUTO,
    FEW_ITEMS,
    ITEMS,
    NOT_PAIRABLE,
    ONE_ANNOTATOR,
    Bootstrap,
    Estimate,
    check_level,
    undefined,
)
from spagree.estimate.votes import LabelCounts, item_groups, votes
from spagree.estimate.weights import DEFAULT, REGISTRY, Weights, check_scheme, weigh
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

    def figure(weights: Weights) -> Estimate:
        if not groups.size:
            return undefined(ONE_ANNOTATOR if has_one_annotator(tally) else NOT_PAIRABLE, level, weights.scheme)
        found = spa_estimate(
            groups,
            weights.every,
            level=level,
            scheme=weights.scheme,
            others=told if isinstance(told, str) else weights.unknown or told,
            interval_for=interval_for,
            variance=None if ranks is None or counts is None else ordinal_variance(counts, ranks, weights.by_n),
        )
        return found if bootstrap is None else bootstrap.refine(found, groups, weights.by_n, interval_for)

    weighed = {scheme: weigh(scheme, tally, counts) for scheme in REGISTRY}
    chosen = weighed[weights] if isinstance(weights, str) else weigh(weights, tally)
    schemes = {scheme: figure(each) for scheme, each in weighed.items()}
    spa = schemes[weights] if isinstance(weights, str) else figure(chosen)
    test = missingness(groups, level)
    of_chosen = told if isinstance(told, str) else chosen.unknown or told
    corrected = chance(tally, counts, chosen, level, others, of_chosen, interval_for)
    warnings = (
        *_assumption(schemes, test),
        *_coverage(tally),
        *not_people(tally.annotators or ()),
        *_heavy(tally, chosen),
        *_clusters(tally),
        *_labels(tally, chosen, metric.name if metric else NOMINAL),
        *near_chance(tally, corrected["krippendorff_alpha"]),
    )  # most important first
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


# Warnings ------------------------------------------------------------------------------------------

FREE_TEXT, FEWEST_LABELS = 0.5, 10  # distinct labels per annotation, and distinct labels, that suggest free text
SCALE = 3  # distinct numbers that look like a scale
LOW_COVERAGE = 0.5
OUTWEIGHED = 4  # this many items are worth no more than one
LARGE_TALLY = 100_000  # combinations of cluster and labels
# fmt: off
DECISIONS = frozenset((
    "gold", "goldstandard", "goldlabel", "groundtruth", "truth", "consensus", "majority", "majorityvote", "adjudicated",
    "adjudicator", "adjudication", "reconciled", "resolved", "final", "reference", "konsens", "mehrheit",
    "adjudikation", "référence", "majorité", "consenso", "mayoría", "金标准",
))
# fmt: on
MODEL = re.compile(
    r"(^|[/:])((chat)?gpt|llama|mixtral|qwen|deepseek|grok|llms?(?![a-z])|gemini-(pro|flash)|distilbert|deberta|(bert|roberta)-"
    r"|command-r|(models?|classifier|pred|predictions?|predicted|perspective_?api|vader)$"
    r"|(claude|gemini|gemma|mistral|phi)\D*\d|o\d-(mini|pro|preview)(?![a-z]))"
)
# Names that a few people have, too; those of many need another model, or annotators without names, beside them.
MODELS = frozenset(("bert", "claude", "copilot", "gemini", "mistral"))
NAMED_LIKE_PEOPLE = MODELS | {"gemma", "roberta"}
MOST_NAMED = 20  # of more, somebody may be called so
NEAR_CHANCE = 0.1  # a kappa below this, with an interval down to 0

REMEDY = (
    "If the number of annotations was decided by looking at the labels, score only the first "
    f"annotations of each item in time order ({opt.first('2')}), which is unbiased under such designs; "
    "otherwise report agreement by number of annotations."
)


def near_chance(tally: Tally, kappa: Corrected) -> tuple[Warning, ...]:
    """Warn if blind guessing would agree as often, given enough items to tell."""
    if kappa.value is None or kappa.low is None or kappa.expected is None or kappa.observed is None:
        return ()
    if tally.pairable_items < FEW_ITEMS or kappa.low > 0 or kappa.value >= NEAR_CHANCE:
        return ()
    blindly = "labels picked blindly, each as often as it was used here, would reach"
    both = f"agreement is {kappa.observed:.3f}, and {blindly} {kappa.expected:.3f}"
    beyond = "people hardly agree beyond chance; report a coefficient alongside SPA"
    if kappa.high is not None and kappa.high < 0:
        beyond = "people agree less than that; check whether somebody swapped two labels or uses them differently"
    return (Warning("near_chance", f"{both}: {beyond}"),)


def _assumption(schemes: Mapping[str, Estimate], test: Missingness) -> Iterator[Warning]:
    if test.broken:
        direction = "less" if (test.z or 0) < 0 else "more"
        yield Warning(
            "missingness",
            f"annotators agree {direction} on items with more annotations, by more than chance explains: SPA's "
            f"assumption that the number of annotations is independent of agreement does not hold here. {REMEDY}",
        )
    ends = outermost(schemes)
    if ends is None:
        return
    (lowest, above), (highest, below) = ends
    if above < float(schemes[highest]) and below > float(schemes[lowest]):
        remedy = "It is a symptom of the same cause." if test.broken else REMEDY
        yield Warning(
            "schemes_diverge",
            f"the weighting schemes differ by more than their intervals allow ({lowest} lowest, {highest} highest), so "
            f"the figure depends on the choice of weights. {remedy}",
        )


def outermost(schemes: Mapping[str, Estimate]) -> tuple[tuple[str, float], tuple[str, float]] | None:
    """The lowest scheme with its upper limit and the highest with its lower one, None without intervals.

    The limits are those for these annotators: all schemes are about the same people.
    """
    limits = {name: estimate.intervals[ITEMS] for name, estimate in schemes.items() if ITEMS in estimate.intervals}
    known = [name for name, each in limits.items() if each.low is not None]
    if not known:
        return None
    lowest, highest = (end(known, key=lambda name: float(schemes[name])) for end in (min, max))
    return (lowest, limits[lowest].high or 0.0), (highest, limits[highest].low or 0.0)


def has_one_annotator(tally: Tally) -> bool:
    """Whether everything was annotated by the same person."""
    annotators = tally.annotators or {}
    return len(annotators) == 1 and sum(annotators.values()) == tally.annotations


def _coverage(tally: Tally) -> Iterator[Warning]:
    people = list(tally.annotators or ())
    lost = sum(tally.left_out.get(reason, 0) for reason in ("missing_label", "missing_item"))
    if lost and lost >= tally.annotations:
        yield Warning(
            "many_left_out",
            f"{count(lost, 'row lacks', 'rows lack')} a label or an item, and only {tally.annotations:,} have both: "
            "are the columns right? In merged spreadsheet cells only the first has a value: fill them down",
        )
    if has_one_annotator(tally):
        yield Warning("one_annotator", f"only one annotator ({people[0]!r}): nobody to agree with")
    if tally.items == 1:
        yield Warning("one_item", "all annotations belong to one item; is the item column right?")
    elif tally.items == tally.annotations and tally.items > 0:
        yield Warning("all_items_once", "every annotation has a different item; is the item column right?")
    elif 0 < tally.pairable_items < FEW_ITEMS:
        yield Warning(
            "few_items",
            f"only {count(tally.pairable_items, 'item has', 'items have')} two annotations, so the figure is rough",
        )
    if tally.items > 1 and 0 < tally.pairable_items < LOW_COVERAGE * tally.items:
        yield Warning(
            "low_coverage",
            "fewer than half of the items have two annotations; if they were chosen at random that is "
            "fine, otherwise the figure describes only those",
        )


def not_people(people: Collection[str]) -> Iterator[Warning]:
    """Annotators named like a decision or a model."""
    words = (name for name in people if not name[-1:].isdigit())  # of thousands, most end with a number
    decided = [name for name in words if "".join(filter(str.isalnum, name.casefold())) in DECISIONS]
    models = [*filter(is_named_like_a_model, people)]
    alike = [name for name in people if name.casefold() in NAMED_LIKE_PEOPLE]
    perhaps = [name for name in alike if name.casefold() in MODELS] if len(people) <= MOST_NAMED else []
    if models or len(perhaps) > 1 or all(name[-1:].isdigit() for name in people if name not in alike):
        models, perhaps = [name for name in people if name in models or name in alike], []
    rather = "rather than an annotator, but counted as one; to leave it out:"
    for names, told in (
        (decided, f"by the name a decision {rather}"),
        (models, f"by the name a model {rather}"),
        (perhaps, "the name of a model, and of a few people, counted as an annotator; if it is a model:"),
    ):
        if names and len(people) > len(names):
            yield Warning("not_a_person", f"{', '.join(map(repr, names))}: {told} {opt.exclude_annotator(names)}")


def is_named_like_a_model(name: str) -> bool:
    """Whether an annotator's name is that of a model, with its maker before it or not.

    >>> [*map(is_named_like_a_model, ("gpt-4o", "meta-llama/Llama-3", "o3-mini", "Claude", "claude-3", "Robert"))]
    [True, True, True, False, True, False]
    """
    return MODEL.search(name.casefold()) is not None


def _heavy(tally: Tally, weights: Weights) -> Iterator[Warning]:
    """A few items with so many annotations that they outweigh the rest."""
    sizes = sorted(((n, items) for n, items in tally.items_by_n.items() if n > 1), reverse=True)
    whole = sum(items * weights.by_n[n] for n, items in sizes)
    squares = sum(items * weights.by_n[n] ** 2 for n, items in sizes)
    if not sizes or whole**2 >= min(Fraction(FEW_ITEMS), Fraction(tally.pairable_items, OUTWEIGHED)) * squares:
        return
    heaviest = max(weights.by_n[n] for n, _ in sizes)
    most = [(n, items) for n, items in sizes if 2 * weights.by_n[n] > heaviest]
    size, share = sum(items for _, items in most), sum(items * weights.by_n[n] for n, items in most) / whole
    yield Warning(
        "few_items_decide",
        f"{size:,} of {tally.pairable_items:,} items, with {most[-1][0]:,} annotations or more, carry "
        f"{float(share):.0%} of the weight, so the interval is as wide as for {float(whole**2 / squares):.0f} equally "
        f"weighted items; weight all items equally ({opt.weights('flat')}), or annotate more items as often",
    )


def _clusters(tally: Tally) -> Iterator[Warning]:
    """Items without a cluster, and too few clusters to see how they differ."""
    if tally.clusters is None or tally.grouped is None:
        return
    column, without = tally.grouped.cluster, tally.grouped.without_cluster
    if without:
        yield Warning(
            "without_cluster",
            f"{without:,} of {tally.items:,} items have no value in {column!r}: each counts as its own cluster",
        )
    if tally.clusters < FEW_ITEMS:
        yield Warning(
            "few_clusters",
            f"only {count(tally.clusters, 'cluster')} in {column!r}: too few to show how clusters differ, so the "
            "interval is wide",
        )
    if len(tally.grouped.items) > LARGE_TALLY:
        yield Warning(
            "large_tally",
            f"the tally keeps {len(tally.grouped.items):,} sums for {tally.clusters:,} clusters, and grows with them",
        )


def _labels(tally: Tally, weights: Weights, metric: str) -> Iterator[Warning]:
    if weights.fallback:
        yield Warning("weights_fallback", f"{weights.scheme}: {weights.fallback}")
    if len(tally.pairable_labels) == 1:
        yield Warning(
            "one_class",
            "all items with two or more annotations carry the same label, so agreement can only be 1. If an empty cell "
            "means another label, such as no, write that label into it",
        )
    labels = list(tally.labels)
    if metric != NOMINAL:
        if metric in SCALES and with_points(labels) is not labels:
            yield Warning("decimal_commas", f"labels are read as numbers with decimal commas, such as {labels[0]!r}")
        return
    # Labels that carry more than a name but are compared as names
    numbers = all(map(is_number, with_points(labels)))
    if len(labels) >= FEWEST_LABELS and len(labels) > FREE_TEXT * tally.annotations:
        kind = f"measurements ({opt.metric('interval')})" if numbers else "free text, which has no classes to agree on"
        yield Warning(
            "many_classes",
            f"{len(labels):,} different labels in {tally.annotations:,} annotations: is the label column right, or are "
            f"these {kind}?",
        )
    elif numbers and len(labels) >= SCALE:
        yield Warning(
            "number_labels",
            "the labels are numbers, and are compared as names: 1 and 2 differ as much as 1 and 5. If they are points "
            f"on a scale, use {opt.metric('ordinal')} (or interval)",
        )


# Labels that look like empty cells -----------------------------------------------------------------

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
    cases = {(label.isupper(), label.islower()) for label in others if any(map(str.isalpha, label))}
    missing = [word for word in words if _plain(word) not in PERHAPS or (word.isupper(), word.islower()) not in cases]
    numbers = [label for label in others if is_number(label) and float(label).is_integer()]
    if all(map(is_number, others)):
        missing += _codes(numbers, is_most=labels.get("-1", 0) > MOST * sum(labels.values()))
    elif len(numbers) == 1 and int(float(numbers[0])) in CODES | {0}:  # among words
        missing += numbers
    rest = [label for label in labels if label not in missing]
    return missing if len(rest) >= LEAST_OTHERS else []


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
