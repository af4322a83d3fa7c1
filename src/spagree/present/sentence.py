"""The sentence to paste into a paper, and the reference."""

from __future__ import annotations

from spagree.counts.policies import AFTER_FIRST
from spagree.errors import count
from spagree.estimate import CUSTOM, NOMINAL, Corrected, Estimate, Findings
from spagree.estimate.breakdown_values import Absent, Breakdowns
from spagree.estimate.similarity import SCALES, SET_METRICS
from spagree.estimate.uncertainty import ANNOTATORS, ITEMS, POPULATIONS, WILSON
from spagree.present.wording import figure, interval, p_value, percent, printable, sentence
from spagree.version import __version__

MOST_WEIGHTS = 8
PAIR = 2
WIDE_GAP = 0.25  # gap between agreement and kappa from which readers ask why

LEVELS = ((0.0, "no"), (0.21, "slight"), (0.41, "fair"), (0.61, "moderate"), (0.81, "substantial"))
PARTLY = {
    **dict.fromkeys(SCALES, "labels that are close count as partly agreeing"),
    **dict.fromkeys(SET_METRICS, "labels that share some options count as partly agreeing"),
}
UNEQUAL = "labels that differ may count as partly agreeing"

REFERENCE = "Nørregaard, J. and Derczynski, L. (2022). Sparse Probability of Agreement. arXiv:2208.06161."


def in_words(findings: Findings) -> str:
    """The meaning of the number in one sentence for a manager."""
    spa = findings.spa
    if spa.value is None:
        return f"Agreement is undefined: {spa.undefined}."
    pair = findings.data.annotators == PAIR
    who = "these two annotators" if pair else "two random annotators"
    if findings.teams > 1:  # nobody knows how people of different teams agree
        who = "two random annotators of one team"
    if findings.metric == NOMINAL:
        meaning = f"{who.capitalize()} agree on a random item {percent(spa.value)} of the time"
    else:
        partly = f"{PARTLY.get(findings.metric, UNEQUAL)} (metric: {findings.metric})"
        meaning = f"On average {who} agree {percent(spa.value)} on a random item; {partly}"
    missing = f"; no interval, because {spa.undefined}" if spa.low is None else ""
    return f"{meaning}{missing}."


def whom(findings: Findings) -> dict[str, str]:
    """Whom the intervals are for, in words, the leading one first; only those that exist."""
    spa = findings.spa
    names = {ITEMS: "these two annotators" if findings.data.annotators == PAIR else "these annotators"}
    names[ANNOTATORS] = "other annotators"
    order = sorted(POPULATIONS, key=lambda name: name != spa.interval_for)
    return {name: names[name] for name in order if name in spa.intervals and spa.intervals[name].low is not None}


def both_intervals(findings: Findings) -> str:
    """Every interval with whom it is for, the leading one first; empty without any."""
    return ", ".join(f"{interval(findings.spa.intervals[name])} for {words}" for name, words in whom(findings).items())


def why_not_others(findings: Findings) -> str:
    """Why there is no interval for other annotators; empty if there is one, or none at all."""
    items, others = (findings.spa.intervals.get(name) for name in POPULATIONS)
    if items is None or items.low is None or others is None or others.undefined is None:
        return ""
    return f"Other annotators: not known, because {others.undefined}."


def headline(findings: Findings) -> list[str]:
    """The sentences below the number: its meaning, why it is not for other annotators, and chance if it matters."""
    chance = chance_words(findings)
    sentences = [in_words(findings), why_not_others(findings), sentence(chance) if chance else ""]
    return [words for words in sentences if words]


def chance_words(findings: Findings) -> str:
    """Chance agreement and kappa; empty if the metric is nominal and agreement is clearly above chance."""
    kappa = findings.chance["krippendorff_alpha"]
    if kappa.value is None or kappa.expected is None:
        return ""
    near = any(warning.code == "near_chance" for warning in findings.warnings)
    if findings.metric == NOMINAL and not near:
        return ""
    place = "below" if is_below_chance(kappa) else "close to"
    close = f": agreement is {place} chance" if near else ""
    return f"chance agreement {figure(kappa.expected)}, Krippendorff's alpha {figure(kappa.value)}{close}"


def is_below_chance(kappa: Corrected) -> bool:
    """Whether people agree less than blind guessing would, by more than the interval allows."""
    return kappa.high is not None and kappa.high < 0


def interval_name(estimate: Estimate) -> str:
    """The kind of interval; only a bootstrap is named, Wilson's is the default."""
    return f"{estimate.level:.0%} {'' if estimate.method == WILSON else 'bootstrap '}interval"


def on_the_scale(findings: Findings) -> str:
    """A description of the number on its scale, for screen readers."""
    chance = findings.chance["krippendorff_alpha"].expected
    blindly = "" if chance is None else f", by chance {figure(chance)}"
    return f"On a scale from 0 to 1: {figure(findings.spa.value)}, interval {interval(findings.spa)}{blindly}"


def by_chance(findings: Findings) -> str:
    """Agreement expected from blind guessing; empty if unknown."""
    expected = findings.chance["krippendorff_alpha"].expected
    if expected is None:
        return ""
    return f"Labels picked blindly would {_agree(findings, expected)}."


def beyond_chance(findings: Findings) -> str:
    """How good agreement is beyond chance, in Landis and Koch's words; empty if unknown."""
    kappa = findings.chance["krippendorff_alpha"]
    if kappa.value is None or kappa.expected is None or kappa.low is None or kappa.high is None:
        return ""
    way = f"{figure(kappa.value, 2)} of the way from chance ({figure(kappa.expected, 2)}) to full agreement"
    if kappa.value <= 0:
        return f"{'Worse' if is_below_chance(kappa) else 'No better'} than chance ({figure(kappa.expected, 2)})."
    if kappa.low <= 0:
        return f"Not clearly better than chance: {way}."
    name = band(kappa)
    return f"{name.capitalize()} agreement beyond chance: {way}." if name else f"Better than chance: {way}."


def band(kappa: Corrected) -> str:
    """The word for a coefficient whose whole interval lies in one band; empty if it spans several."""
    if kappa.low is None or kappa.high is None:
        return ""
    names = {level_name(kappa.low), level_name(kappa.high)}
    return names.pop() if len(names) == 1 else ""


def level_name(kappa: float) -> str:
    """Landis and Koch's word for a kappa: a convention, not a law.

    >>> level_name(0.1), level_name(0.41), level_name(0.95)
    ('slight', 'moderate', 'almost perfect')
    """
    return next((name for end, name in LEVELS if kappa < end), "almost perfect")


def chance_gap(findings: Findings) -> str:
    """Why kappa is so much lower than agreement; empty if it is not."""
    kappa, spa = findings.chance["krippendorff_alpha"], findings.spa
    if kappa.value is None or kappa.expected is None or spa.value is None or spa.value - kappa.value <= WIDE_GAP:
        return ""
    blindly = "annotators who pick labels blindly, each as often as it was used here"
    return (
        f"Why kappa is lower: {blindly}, would already {_agree(findings, kappa.expected)}; "
        "kappa counts only agreement beyond that."
    )


def _agree(findings: Findings, share: float) -> str:
    """Nominal labels agree that often; under other metrics, labels agree that much."""
    return f"agree {percent(share)} of the time" if findings.metric == NOMINAL else f"agree {percent(share)} on average"


def for_paper(breakdowns: Breakdowns) -> str:
    """The sentence for a paper: figure, intervals, method, data, software."""
    findings = breakdowns.findings
    spa = findings.spa
    if spa.value is None:
        return ""
    metric = "" if findings.metric == NOMINAL else f" with the {findings.metric} metric"
    both = both_intervals(findings)
    figures = [
        f"Sparse Probability of Agreement{metric}, {_weights(findings)}",
        f"{interval_name(spa)} {both}" if both else "",
        chance_words(findings),
        f"spagree {__version__}",
    ]
    return (
        f"Inter-annotator agreement was {figure(spa.value)} ({'; '.join(filter(None, figures))}), "
        f"{_basis(breakdowns)}.{_caveat(findings)}"
    )


def _weights(findings: Findings) -> str:
    scheme = findings.spa.weights
    if scheme != CUSTOM:
        return f"{scheme} weights"
    by_n = findings.weights[CUSTOM].by_n
    listed = ", ".join(f"{n}: {float(weight):g}" for n, weight in list(by_n.items())[:MOST_WEIGHTS])
    return f"own weights by number of annotations {listed}" + (", …" if len(by_n) > MOST_WEIGHTS else "")


def _basis(breakdowns: Breakdowns) -> str:
    """The items that count, and only their annotations."""
    data = breakdowns.findings.data
    people = _people(breakdowns)
    by_people = f" by {count(people, 'annotator')}" if people else ""
    first = next((why.removeprefix(AFTER_FIRST) for why in data.left_out if why.startswith(AFTER_FIRST)), None)
    only = f", only the first {first} of each item" if first else ""
    size = "only item" if data.pairable_items == 1 else f"{data.pairable_items:,} items"
    items = f"the {size} with at least two annotations"
    groups = ""
    if data.clusters is not None and data.cluster is not None:
        groups = f", standard error over {count(data.clusters, 'cluster')} ({printable(data.cluster)})"
    return f"computed on {items} ({count(data.pairable_annotations, 'annotation')}{by_people}{only}){groups}"


def _people(breakdowns: Breakdowns) -> int | None:
    """Annotators of items with two or more annotations; None if unknown."""
    data, overlap = breakdowns.findings.data, breakdowns.overlap
    if not isinstance(overlap, Absent):
        return overlap.annotators - len(overlap.alone)
    return data.annotators if data.pairable_annotations == data.annotations else None


def _caveat(findings: Findings) -> str:
    test = findings.missingness
    if not test.broken or test.p is None:
        return ""
    trend = f"Agreement depended on the number of annotations per item ({p_value(test.p)})"
    return f" {trend}: no single figure fits."
