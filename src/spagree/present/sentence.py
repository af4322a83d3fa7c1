"""The sentence to paste into a paper, and the reference."""

from __future__ import annotations

from spagree.estimate import Findings
from spagree.present.wording import count, figure, interval, percent

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


def for_paper(findings: Findings, version: str) -> str:
    """The sentence for a paper: figure, interval, method, data, software."""
    spa, data = findings.spa, findings.data
    if spa.value is None:
        return ""
    known = f" by {count(data.annotators, 'annotator')}" if data.annotators else ""
    broken = "; agreement depended on the number of annotations" if findings.missingness.broken else ""
    limits = "" if spa.low is None else f", {spa.level:.0%} interval {interval(spa)}"
    return (
        f"Inter-annotator agreement was {figure(spa.value)} (Sparse Probability of Agreement{limits}, "
        f"{spa.weights} weights; {count(data.pairable_items, 'item')} with two or more of "
        f"{count(data.annotations, 'annotation')}{known}{broken}; spagree {version})."
    )
