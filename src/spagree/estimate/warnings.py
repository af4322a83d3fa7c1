"""What a careful colleague would point out about these figures, with remedies."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from fractions import Fraction

from spagree.counts.tally import Tally
from spagree.errors import count
from spagree.estimate.chance import Corrected
from spagree.estimate.missingness import Missingness
from spagree.estimate.similarity import NOMINAL, SCALES, is_number, with_points
from spagree.estimate.uncertainty import FEW_ITEMS, ITEMS, Estimate
from spagree.estimate.weights import Weights
from spagree.messages import Warning, opt

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


def find_warnings(
    tally: Tally, schemes: Mapping[str, Estimate], test: Missingness, weights: Weights, metric: str = NOMINAL
) -> tuple[Warning, ...]:
    """All warnings that apply, most important first."""
    return (
        *_assumption(schemes, test),
        *_coverage(tally),
        *not_people(tally.annotators or ()),
        *_heavy(tally, weights),
        *_clusters(tally),
        *_labels(tally, weights, metric),
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
