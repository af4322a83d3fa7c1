"""The sentence to paste into a paper, and the reference."""

from __future__ import annotations

from spagree.estimate import CUSTOM, NOMINAL, Estimate, Findings
from spagree.estimate.new_annotators import ANNOTATORS
from spagree.present.wording import count, figure, interval, p_value, percent, percent_range
from spagree.tally.policies import AFTER_FIRST

MOST_WEIGHTS = 8
WIDE_GAP = 0.25  # between agreement and kappa, from which on people ask why
SEEN = 0.005  # a difference that shows in a table

REFERENCE = "Nørregaard, J. and Derczynski, L. (2022). Sparse Probability of Agreement. arXiv:2208.06161."


def in_words(findings: Findings) -> str:
    """What the number means, in one sentence a manager understands."""
    spa = findings.spa
    if spa.value is None:
        return f"Agreement is undefined: {spa.undefined}."
    meaning = f"Two random annotators agree on a random item {percent(spa.value)} of the time"
    if findings.metric != NOMINAL:
        meaning = (
            f"On average two random annotators agree {percent(spa.value)} on a random item, 100% being full agreement"
        )
    if spa.low is None or spa.high is None:
        return f"{meaning}; no interval, because {spa.undefined}."
    new = "new annotators and more items" if spa.interval_for == ANNOTATORS else "more items"
    low, high = percent_range(spa.low, spa.high)
    return f"{meaning}; with {new} like these, between {low} and {high}."


def interval_name(found: Estimate) -> str:
    """What kind of interval it is: Wilson's goes without saying, a bootstrap does not."""
    kind = "" if found.method == "wilson" else "bootstrap "
    return f"{found.level:.0%} {kind}interval{' for ' + found.covers if found.interval_for == ANNOTATORS else ''}"


def by_chance(findings: Findings) -> str:
    """What blind guessing would reach; empty where that is not known."""
    expected = findings.chance["spa_kappa"].expected
    if expected is None:
        return ""
    return f"Labels picked blindly would {_agree(findings, expected)}."


def chance_gap(findings: Findings) -> str:
    """Why kappa is so much lower than the agreement; empty where it is not."""
    kappa, spa = findings.chance["spa_kappa"], findings.spa
    if kappa.value is None or kappa.expected is None or spa.value is None or spa.value - kappa.value <= WIDE_GAP:
        return ""
    blindly = "annotators who pick labels blindly, each as often as it was used here"
    return (
        f"Why kappa is lower: {blindly}, would already {_agree(findings, kappa.expected)}; "
        "kappa counts only what goes beyond."
    )


def _agree(findings: Findings, share: float) -> str:
    """Equal labels agree so often; by a metric labels agree so much."""
    return f"agree {percent(share)} of the time" if findings.metric == NOMINAL else f"agree {percent(share)} on average"


def kappa_bias(findings: Findings) -> str:
    """Why spa_kappa is not quite what its observed and expected agreement give; empty where nobody would notice."""
    kappa = findings.chance["spa_kappa"]
    if kappa.value is None or kappa.observed is None or kappa.expected is None:
        return ""
    plain = (kappa.observed - kappa.expected) / (1 - kappa.expected)
    if abs(plain - kappa.value) < SEEN:
        return ""
    return f"spa_kappa is corrected for the bias of small samples; without that it would be {figure(plain)}."


def for_paper(findings: Findings, version: str) -> str:
    """The sentence for a paper: figure, interval, method, data, software."""
    spa = findings.spa
    if spa.value is None:
        return ""
    limits = "" if spa.low is None else f", {interval_name(spa)} {interval(spa)}"
    return (
        f"Inter-annotator agreement was {figure(spa.value)} "
        f"(Sparse Probability of Agreement{_metric(findings)}{limits}, "
        f"{_weights(findings)}; {_basis(findings)}; spagree {version}).{_caveat(findings)}"
    )


def _metric(findings: Findings) -> str:
    return "" if findings.metric == NOMINAL else f" with the {findings.metric} metric"


def _weights(findings: Findings) -> str:
    scheme = findings.spa.weights
    if scheme != CUSTOM:
        return f"{scheme} weights"
    by_n = findings.weights[CUSTOM].by_n
    listed = ", ".join(f"{n}: {float(weight):g}" for n, weight in list(by_n.items())[:MOST_WEIGHTS])
    return f"own weights by number of annotations {listed}" + (", …" if len(by_n) > MOST_WEIGHTS else "")


def _basis(findings: Findings) -> str:
    data = findings.data
    known = f" by {count(data.annotators, 'annotator')}" if data.annotators else ""
    first = next((why.removeprefix(AFTER_FIRST) for why in data.left_out if why.startswith(AFTER_FIRST)), None)
    only = f", only the first {first} of each item" if first else ""
    items = f"{count(data.pairable_items, 'item')} with two or more of {count(data.annotations, 'annotation')}"
    return f"{items}{known}{only}"


def _caveat(findings: Findings) -> str:
    test = findings.missingness
    if not test.broken or test.p is None:
        return ""
    return f" Agreement depended on the number of annotations of an item ({p_value(test.p)}), so it is not one figure."
