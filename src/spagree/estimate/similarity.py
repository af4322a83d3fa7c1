"""Agreement beyond equality: how much two labels agree, between 0 and 1 (docs/mathematics.md §14).

A metric turns the labels of a data set into a symmetric matrix s with s(c, c) = 1. Distances δ from the literature
become 1 − δ²/max δ², which leaves every chance-corrected coefficient unchanged.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite

import numpy as np

from spagree import plugins
from spagree.codes import Floats, Ints, ratio
from spagree.errors import DataError, UsageError, opt, unknown_name
from spagree.options import Similarity

NOMINAL = "nominal"
CUSTOM_METRIC = "custom"
MOST_SIMILAR_CLASSES = 5_000
SEPARATOR = "|"


@dataclass(frozen=True, slots=True)
class Metric:
    """A named metric, or the user's own function; ``order`` lists labels from lowest to highest."""

    rule: str | Similarity = NOMINAL
    order: tuple[str, ...] = ()
    scale: tuple[tuple[str, float], ...] = ()
    """Labels with their annotations that set the scale: those of the whole, where parts of it are compared."""

    def __post_init__(self) -> None:
        if isinstance(self.rule, str) and self.rule not in METRICS:
            added = plugins.installed(plugins.METRICS)
            if self.rule not in added:
                raise unknown_name("metric", self.rule, (*METRICS, *added))
        if len(set(self.order)) != len(self.order):
            raise UsageError(f"order {', '.join(self.order)}: a label is listed twice; list each once")

    @property
    def name(self) -> str:
        """What to call it in results."""
        return self.rule if isinstance(self.rule, str) else CUSTOM_METRIC

    def matrix(self, labels: Sequence[str], totals: Floats) -> Floats | None:
        """How much each pair of labels agrees; None for nominal labels, where only equal ones agree."""
        if self.rule == NOMINAL:
            return None
        # The labels, then any others that set the scale of distances: of the whole, or of a declared order
        others = (label for label, _ in self.scale) if self.rule in RELATIVE else ()
        declared = self.order if self.rule in EVENLY_SPACED else ()
        every = list(dict.fromkeys((*labels, *others, *declared)))
        if len(every) > MOST_SIMILAR_CLASSES:
            raise DataError(
                f"{len(every):,} different labels are too many for the metric {self.name}; group them, or use nominal"
            )
        if isinstance(self.rule, str) and self.rule in METRICS:
            times = dict(self.scale or zip(labels, totals.tolist(), strict=True))
            whole = METRICS[self.rule](self, every, np.array([times.get(label, 0.0) for label in every]))
        else:
            similarity = plugins.load(plugins.METRICS, self.rule) if isinstance(self.rule, str) else self.rule
            whole = np.array([[float(similarity(one, other)) for other in every] for one in every])
            if not ((whole >= 0) & (whole <= 1)).all():
                raise UsageError("metric: your function returned a value outside 0 to 1; 1 is full agreement, 0 none")
            if not (whole.diagonal() == 1).all() or not np.allclose(whole, whole.T, rtol=0, atol=1e-12):
                raise UsageError("metric: your function must return 1 for equal labels, and be symmetric")
        place = {label: number for number, label in enumerate(every)}
        chosen = [place[label] for label in labels]
        return whole if len(every) == len(labels) else whole[np.ix_(chosen, chosen)]

    def ranks(self, labels: Sequence[str]) -> Ints | None:
        """The place of each label on a scale that is made from how often each was given; None if the scale is fixed."""
        if self.rule != "ordinal" or self.scale or not labels:
            return None
        return np.argsort(np.argsort(_places(self, labels)))

    def over(self, labels: Mapping[str, float]) -> Metric:
        """The same metric on the scale of all these labels: parts of the data are comparable only on one scale."""
        return self if self.rule == NOMINAL else replace(self, scale=tuple(sorted(labels.items())))


def _similar(distances: Floats) -> Floats:
    """1 − δ²/max δ²; identical labels agree fully. Computed in place: with 5,000 labels a matrix takes 200 MB."""
    largest = distances.max(initial=0.0)
    distances /= largest or 1.0
    return np.subtract(1, distances, out=distances)


def _differences(values: Floats) -> Floats:
    return np.subtract.outer(values, values)


def _ratio(metric: Metric, labels: Sequence[str], _: Floats) -> Floats:
    values = _numbers(metric, labels)
    if values.min() < 0:
        raise DataError(f"metric ratio: {values.min():g} is below 0; ratios need labels from 0 on")
    sums = np.add.outer(values, values)
    return _similar(ratio(_differences(values), sums, 0.0) ** 2)


def _circular(metric: Metric, labels: Sequence[str], _: Floats) -> Floats:
    """Positions on a circle of all labels, declared or seen."""
    places = _places(metric, labels, by_rank=True)
    circumference = max(len(metric.order), len(labels))
    return _similar(np.sin(np.pi * _differences(places) / circumference) ** 2)


def _ordinal(metric: Metric, labels: Sequence[str], totals: Floats) -> Floats:
    """Krippendorff's distance: how many annotations lie between two ranks, counting half of each end."""
    ranks = np.argsort(np.argsort(_places(metric, labels)))
    sorted_totals = np.empty_like(totals)
    sorted_totals[ranks] = totals
    middle = (np.cumsum(sorted_totals) - sorted_totals / 2)[ranks]
    return _similar(_differences(middle) ** 2)


def _numbers(metric: Metric, labels: Sequence[str]) -> Floats:
    """Labels as numbers; text is refused with a remedy."""
    try:
        values = np.array([float(label) for label in with_points(labels)])
    except ValueError:
        wrong = next(label for label in labels if not is_number(label))
        raise DataError(
            f"metric {metric.name}: the label {wrong!r} is not a number; use ordinal, linear or quadratic "
            f"with the order of the labels ({opt.order('low,middle,high')})"
        ) from None
    if not np.isfinite(values).all():
        raise DataError(f"metric {metric.name}: a label is not a finite number; name it with {opt.missing}")
    return values


def with_points(labels: Sequence[str]) -> Sequence[str]:
    """Numbers with decimal commas rewritten with points; anything else unchanged.

    >>> with_points(["1,5", "2"]), with_points(["1,5", "a"]), with_points(["1,5", "2.5"])
    (['1.5', '2'], ['1,5', 'a'], ['1,5', '2.5'])
    """
    changed = [label.replace(",", ".") for label in labels]
    is_mixed = any("." in label for label in labels)
    return changed if changed != list(labels) and not is_mixed and all(map(is_number, changed)) else labels


def is_number(label: str) -> bool:
    """Whether a label is a finite number."""
    try:
        return isfinite(float(label))
    except ValueError:
        return False


def _places(metric: Metric, labels: Sequence[str], *, by_rank: bool = False) -> Floats:
    """Positions of the labels: in the declared order, or by their numbers."""
    if metric.order:
        unknown = [label for label in labels if label not in metric.order]
        if unknown:
            raise DataError(
                f"order: the label {unknown[0]!r} occurs but is not in it; add it, or name it with {opt.missing}"
            )
        return np.array([metric.order.index(label) for label in labels], dtype=np.float64)
    if not all(map(is_number, with_points(labels))):
        wrong = next(label for label in labels if not is_number(label))
        raise DataError(
            f"metric {metric.name}: the order of the labels is not known ({wrong!r} is not a number); "
            f"give it from low to high with {opt.order('low,middle,high')}"
        )
    values = _numbers(metric, labels)
    return np.argsort(np.argsort(values)).astype(np.float64) if by_rank else values


def as_set(label: str) -> frozenset[str]:
    """A set-valued label: a JSON list, or options separated by |."""
    if label.startswith("["):
        try:
            return frozenset(map(str, json.loads(label)))
        except ValueError:
            pass
    return frozenset(part.strip() for part in label.split(SEPARATOR) if part.strip())


def _of_sets(metric: Metric, labels: Sequence[str], _: Floats) -> Floats:
    """Sets of options, each compared with each: counts of options as matrices.

    Refused if no label holds two options, because then nothing would be compared as a set.
    """
    sets = [as_set(label) for label in labels]
    if labels and all(len(options) < 2 for options in sets) and not any(label.startswith("[") for label in labels):
        raise DataError(
            f"metric {metric.name}: no label holds two options (such as {labels[0]!r}); name what separates them "
            f"with {opt.separator}, or use the metric nominal"
        )
    times = Counter(option for options in sets for option in options)
    place = {option: number for number, option in enumerate(option for option in times if times[option] > 1)}
    has = np.zeros((len(sets), len(place)))
    for row, options in zip(has, sets, strict=True):
        row[[place[option] for option in options if option in place]] = 1
    sizes, shared = np.array([len(options) for options in sets], dtype=np.float64), has @ has.T
    np.fill_diagonal(shared, sizes)
    either = np.add.outer(sizes, sizes) - shared
    if metric.rule == "options":  # the share of all options that both have or neither has
        return np.asarray(1 - (either - shared) / (len(times) or 1))
    jaccard = ratio(shared, either, 1.0)  # shared options over all options of both; two empty sets agree
    if metric.rule == "jaccard":
        return jaccard
    # MASI: Jaccard times 1 for equal sets, 2/3 if one contains the other, 1/3 if they overlap, 0 otherwise
    contained = shared == np.minimum.outer(sizes, sizes)
    return np.where(jaccard == 1, 1.0, np.where(contained, jaccard * 2 / 3, jaccard / 3))


Rule = Callable[[Metric, Sequence[str], Floats], Floats]
SCALES = frozenset(("ordinal", "interval", "ratio", "circular", "linear", "quadratic"))
EVENLY_SPACED = frozenset(("linear", "quadratic", "circular"))  # a declared order sets their scale, used or not
SET_METRICS = frozenset(("jaccard", "masi", "options"))
RELATIVE = SCALES | {"options"}  # how much two labels agree depends on which others there are
METRICS: Mapping[str, Rule] = {
    NOMINAL: lambda _, labels, __: np.eye(len(labels)),  # never called: equality needs no table
    "ordinal": _ordinal,
    "interval": lambda metric, labels, _: _similar(_differences(_numbers(metric, labels)) ** 2),
    "ratio": _ratio,
    "circular": _circular,
    "linear": lambda metric, labels, _: _similar(np.abs(_differences(_places(metric, labels)))),
    "quadratic": lambda metric, labels, _: _similar(_differences(_places(metric, labels)) ** 2),
    "jaccard": _of_sets,
    "masi": _of_sets,
    "options": _of_sets,
}
