"""Agreement beyond chance on incomplete data (MATH §8), each coefficient from the same votes.

All are κ = (P_o − P_e)/(1 − P_e). They differ in how items are weighted in the observed agreement P_o and in
what "by chance" means in the expected agreement P_e. Standard errors come from leaving out one item at a time,
exactly: what an item contributes is subtracted from a few sums, for all items at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import sqrt

import numpy as np

from spagree.estimate.item_groups import Floats, total
from spagree.estimate.label_counts import LabelCounts, votes
from spagree.estimate.uncertainty import NOT_PAIRABLE, ONE_ITEM, Estimate, effective_items, wilson
from spagree.estimate.weights import ByN
from spagree.tally.tally import Tally

NO_PATTERNS = "the tally does not keep which labels were given together: too many different combinations"
ONE_CLASS = "all annotations carry one label, so agreement by chance is certain"
CERTAIN = 1 - 1e-12  # expected agreement above this is 1 but for rounding
FRAGILE = "without one of the items all annotations carry one label"


@dataclass(frozen=True, slots=True)
class Corrected(Estimate):
    """A chance-corrected coefficient with the observed and expected agreement it is made of."""

    observed: float | None = None
    expected: float | None = None


@dataclass(frozen=True, slots=True)
class _Rule:
    """What makes a coefficient: its weights, its expected agreement, whether single annotations inform it."""

    weights: str
    expected: Callable[[LabelCounts], Floats]
    singles: bool = False
    debias: bool = False


def chance(
    tally: Tally, by_n: ByN, level: float, scheme: str, found: LabelCounts | None = None
) -> dict[str, Corrected]:
    """All chance-corrected coefficients; ``found`` where labels agree by a metric.

    >>> from fractions import Fraction
    >>> data = Tally.from_items([{"a": 2}, {"a": 1, "b": 1}, {"b": 2}, {"b": 2}])
    >>> found = chance(data, {2: Fraction(1)}, 0.95, "flat")
    >>> round(found["krippendorff_alpha"].value, 4), round(found["brennan_prediger"].value, 4)
    (0.5333, 0.5)
    """
    found = found or votes(tally)
    if found is None or not tally.pairable_items:
        reason = NO_PATTERNS if found is None else NOT_PAIRABLE
        return {name: _undefined(reason, level, scheme) for name in COEFFICIENTS}
    pairable = found.pairable()
    weights = {"flat": dict.fromkeys(by_n, 1.0), "annotations": {n: float(n) for n in by_n}}
    weights["scheme"] = {n: float(k / max(by_n.values())) for n, k in by_n.items()}
    return {
        name: _coefficient(rule, found if rule.singles else pairable, weights[rule.weights], level, scheme)
        for name, rule in COEFFICIENTS.items()
    }


def _undefined(reason: str, level: float, weights: str) -> Corrected:
    return Corrected(None, None, None, None, level, weights, undefined=reason)


def _coefficient(rule: _Rule, found: LabelCounts, by_n: Mapping[int, float], level: float, scheme: str) -> Corrected:
    name = scheme if rule.weights == "scheme" else rule.weights
    weights = np.array([by_n.get(int(n), 0.0) for n in found.n])
    with np.errstate(divide="ignore", invalid="ignore"):
        observed = _without_one(found, weights * found.agreement) / _without_one(found, weights)
        expected = rule.expected(found)
        room = np.where(expected > CERTAIN, 0.0, 1 - expected)
        values = (observed - expected) / room
    if not np.isfinite(values[0]):
        classes = len(np.unique(found.label[found.n[found.group] > 1]))
        return _undefined(ONE_CLASS if classes < 2 else ONE_ITEM, level, name)
    about = _About(level, name, float(observed[0]), float(expected[0]))
    trouble = _trouble(found, values)
    if trouble:
        return about.corrected(float(values[0]), undefined=trouble)
    value, stderr = _jackknife(found, values, debias=rule.debias)
    return about.corrected(value, stderr, _interval(about, value, stderr, effective_items(found, weights)))


@dataclass(frozen=True, slots=True)
class _About:
    """What a coefficient says of itself, whatever its value."""

    level: float
    weights: str
    observed: float
    expected: float

    def corrected(
        self,
        value: float,
        stderr: float | None = None,
        interval: tuple[float | None, float | None] = (None, None),
        undefined: str | None = None,
    ) -> Corrected:
        named = {"level": self.level, "weights": self.weights, "undefined": undefined}
        limits = {"value": value, "stderr": stderr, "low": interval[0], "high": interval[1]}
        return Corrected(**limits, **named, observed=self.observed, expected=self.expected)  # type: ignore[arg-type]


def _trouble(found: LabelCounts, values: Floats) -> str | None:
    """Why there is no standard error, if there is none."""
    if total(found.items[found.n > 1]) < 2:
        return ONE_ITEM
    return None if np.isfinite(values).all() else FRAGILE


def _jackknife(found: LabelCounts, values: Floats, *, debias: bool) -> tuple[float, float]:
    """The value, freed of its bias on request, and its standard error."""
    size, left_out = total(found.items), values[1:]
    mean = total(found.items * left_out) / size
    stderr = sqrt((size - 1) / size * total(found.items * (left_out - mean) ** 2))
    value = size * float(values[0]) - (size - 1) * mean if debias else float(values[0])
    return min(value, 1.0), stderr


def _interval(about: _About, value: float, stderr: float, effective: float) -> tuple[float, float]:
    """Wilson's interval on the scale of observed agreement: it has a width at perfect agreement, too."""
    scale = 1 - about.expected
    observed = min(max(value * scale + about.expected, 0.0), 1.0)
    low, high = wilson(observed, stderr * scale, effective, about.level)
    return (low - about.expected) / scale, (high - about.expected) / scale


def _without_one(found: LabelCounts, one: Floats) -> Floats:
    """A sum over all items, followed by the same sum without one item of each group."""
    return total(found.items * one) - np.concatenate([[0.0], one])


# Expected agreement --------------------------------------------------------------------------


def _between_items(found: LabelCounts) -> Floats:
    """Two annotations of different items: the only pairs that can agree by chance alone."""
    size, within = _without_one(found, found.n), _without_one(found, found.squares)
    return (_class_squares(found) - within) / (size**2 - _without_one(found, found.n**2))


def _without_replacement(found: LabelCounts) -> Floats:
    """Two of all annotations, drawn without replacement: Krippendorff's."""
    size = _without_one(found, found.n)
    return (_class_squares(found) - size) / (size * (size - 1))


def _class_squares(found: LabelCounts) -> Floats:
    """Σ_c N_c², which loses 2 Σ_c N_c n_c − Σ_c n_c² when an item goes."""
    return _label_squares(found, found.count)


def _class_shares(found: LabelCounts) -> Floats:
    """Σ_c π_c² with π_c the mean share of class c within an item, as Gwet generalises Fleiss."""
    return _label_squares(found, _shares(found)) / _all_items(found) ** 2


def _shares(found: LabelCounts) -> Floats:
    return found.count / found.n[found.group]


def _all_items(found: LabelCounts) -> Floats:
    return _without_one(found, np.ones(len(found.items)))


def _label_squares(found: LabelCounts, entries: Floats) -> Floats:
    """Σ_c Σ_k s(c, k) t_c t_k over all items, and without one item of each group."""
    totals = found.per_label(entries)
    around = found.across(totals)
    lost = found.per_group(2 * around[found.label] * entries) - found.within(entries)
    return total(totals * around) - np.concatenate([[0.0], lost])


def _gwet(found: LabelCounts) -> Floats:
    """Σ π(1 − π)/(C − 1): chance agreement on items that are hard to tell; AC2 where labels agree by a metric."""
    classes = np.float64(len(found.labels))
    spread = 1 - _label_squares(replace(found, similarity=None), _shares(found)) / _all_items(found) ** 2
    return spread * _mean_similarity(found) * classes / (classes - 1)


def _uniform(found: LabelCounts) -> Floats:
    """All classes equally likely."""
    return np.full(len(found.items) + 1, _mean_similarity(found))


def _mean_similarity(found: LabelCounts) -> float:
    """Agreement of two labels drawn blindly: 1/C for nominal labels."""
    return 1 / len(found.labels) if found.similarity is None else float(found.similarity.mean())


COEFFICIENTS: Mapping[str, _Rule] = {
    "spa_kappa": _Rule("scheme", _between_items, debias=True),
    "krippendorff_alpha": _Rule("annotations", _without_replacement),
    "fleiss_kappa": _Rule("flat", _class_shares, singles=True),
    "gwet_ac1": _Rule("flat", _gwet, singles=True),
    "brennan_prediger": _Rule("flat", _uniform),
}
