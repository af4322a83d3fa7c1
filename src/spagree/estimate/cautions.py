"""What a careful colleague would point out about these figures, each with a remedy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from spagree.estimate.missingness import Missingness
from spagree.estimate.uncertainty import Estimate
from spagree.estimate.weights import Weights
from spagree.read.annotations import Caution
from spagree.tally.tally import Tally

FEW_ITEMS = 10
MANY_CLASSES = 1_000
LOW_COVERAGE = 0.5

REMEDY = (
    "If the number of annotations was decided by looking at the labels, score only the first "
    "annotations of each item in time order (--first 2), which is unbiased under such designs; "
    "otherwise report agreement by number of annotations."
)


def cautions(tally: Tally, schemes: Mapping[str, Estimate], test: Missingness, weights: Weights) -> tuple[Caution, ...]:
    """All warnings that apply, the weightiest first."""
    return (*_assumption(schemes, test), *_coverage(tally), *_labels(tally, weights))


def _assumption(schemes: Mapping[str, Estimate], test: Missingness) -> Iterator[Caution]:
    if test.broken:
        direction = "less" if (test.z or 0) < 0 else "more"
        yield Caution(
            "missingness",
            f"items with more annotations agree {direction}, beyond chance: SPA's assumption that the "
            f"number of annotations is independent of agreement does not hold here. {REMEDY}",
        )
    apart = _apart(schemes)
    if apart:
        remedy = "It is a symptom of the same cause." if test.broken else REMEDY
        yield Caution(
            "schemes_diverge",
            f"the weighting schemes differ by more than their intervals allow ({apart[0]} lowest, "
            f"{apart[1]} highest), so the figure depends on the choice of weights. {remedy}",
        )


def _apart(schemes: Mapping[str, Estimate]) -> tuple[str, str] | None:
    """The lowest and the highest scheme, when each lies outside the other's interval."""
    known = {name: found for name, found in schemes.items() if found.low is not None}
    if not known:
        return None
    lowest = min(known, key=lambda name: known[name].value or 0)
    highest = max(known, key=lambda name: known[name].value or 0)
    low, high = known[lowest], known[highest]
    outside = (low.high or 0) < float(high) and (high.low or 0) > float(low)
    return (lowest, highest) if outside else None


def _coverage(tally: Tally) -> Iterator[Caution]:
    if tally.items == 1:
        yield Caution("one_item", "all annotations belong to one item; is the item column right?")
    elif tally.items == tally.annotations and tally.items > 0:
        yield Caution("all_items_once", "every annotation has an item of its own; is the item column right?")
    elif 0 < tally.pairable_items < FEW_ITEMS:
        yield Caution("few_items", f"only {tally.pairable_items} items have two annotations: a rough figure")
    if tally.items > 1 and 0 < tally.pairable_items < LOW_COVERAGE * tally.items:
        yield Caution(
            "low_coverage",
            "fewer than half of the items have two annotations; if they were chosen at random that is "
            "fine, otherwise the figure speaks for them alone",
        )


def _labels(tally: Tally, weights: Weights) -> Iterator[Caution]:
    if weights.fallback:
        yield Caution("weights_fallback", f"{weights.scheme}: {weights.fallback}")
    if len(tally.pairable_labels) == 1:
        yield Caution(
            "one_class", "all annotations of pairable items carry the same label; agreement is 1 by necessity"
        )
    if len(tally.labels) > MANY_CLASSES:
        yield Caution(
            "many_classes", "more than 1,000 different labels; is the label column right, or is it free text?"
        )
