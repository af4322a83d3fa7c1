"""Findings → a small card for notebooks, like the top of the page; labels are always escaped."""

from __future__ import annotations

from html import escape

from spagree.errors import there
from spagree.estimate.breakdowns import Breakdowns
from spagree.present.next_steps import Source, next_steps
from spagree.present.sentences import both_intervals, headline, interval_name
from spagree.present.verdicts import verdict
from spagree.present.words import escape_controls, figure, interval


def to_html(breakdowns: Breakdowns, source: Source) -> str:
    """The verdict, the number with both intervals, the steps and all schemes."""
    findings, said = breakdowns.findings, verdict(breakdowns)
    rows = "".join(
        f"<tr><th scope='row'>{_text(name)}</th><td>{figure(estimate.value)}</td><td>{interval(estimate)}</td></tr>"
        for name, estimate in {findings.spa.weights: findings.spa, **findings.schemes}.items()
    )
    both = both_intervals(findings)
    limits = f" ({interval_name(findings.spa)} {both})" if both else ""
    todo = next_steps(there(breakdowns.steps) or (), source)
    steps = "".join(
        f"<li><b>{_text(each.sentence)}</b> {_text(each.evidence)} <code>{_text(each.command)}</code></li>"
        for each in todo
    )
    heads = "<th>scheme</th><th>agreement</th><th>interval</th>"
    table = f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"
    return (
        f"<div><p>{said.icon} <strong>{_text(said.sentence)}</strong></p>"
        f"<p><strong>SPA {figure(findings.spa.value)}</strong>{limits}<br>{_text(' '.join(headline(findings)))}</p>"
        f"<ol>{steps}</ol><details><summary>All weighting schemes</summary>{table}</details></div>"
    )


def _text(value: str) -> str:
    return escape(escape_controls(value))
