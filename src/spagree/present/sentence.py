"""The sentence to paste into a paper, and the reference."""

from __future__ import annotations

from spagree.estimate import CUSTOM, Estimate, Findings
from spagree.present.wording import count, figure, interval, p_value, percent
from spagree.tally.policies import AFTER_FIRST

MOST_WEIGHTS = 8

REFERENCE = "Nørregaard, J. and Derczynski, L. (2022). Sparse Probability of Agreement. arXiv:2208.06161."


def in_words(findings: Findings) -> str:
    """What the number means, in one sentence a manager understands."""
    spa = findings.spa
    if spa.value is None:
        return f"Agreement is undefined: {spa.undefined}."
    meaning = f"Two random annotators agree on a random item {percent(spa.value)} of the time"
    if spa.low is None or spa.high is None:
        return f"{meaning}; no interval, because {spa.undefined}."
    return f"{meaning}; with more items like these, between {percent(spa.low)} and {percent(spa.high)}."


def interval_name(found: Estimate) -> str:
    """What kind of interval it is: Wilson's goes without saying, a bootstrap does not."""
    return f"{found.level:.0%} {'' if found.method == 'wilson' else 'bootstrap '}interval"


def for_paper(findings: Findings, version: str) -> str:
    """The sentence for a paper: figure, interval, method, data, software."""
    spa = findings.spa
    if spa.value is None:
        return ""
    limits = "" if spa.low is None else f", {interval_name(spa)} {interval(spa)}"
    return (
        f"Inter-annotator agreement was {figure(spa.value)} (Sparse Probability of Agreement{limits}, "
        f"{_weights(findings)}; {_basis(findings)}; spagree {version}).{_caveat(findings)}"
    )


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
