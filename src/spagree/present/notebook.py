"""Findings → a small card for notebooks, like the top of the page; labels are always escaped."""

from __future__ import annotations

from html import escape

from spagree.present.sentences import both_intervals, headline, interval_name
from spagree.present.verdicts import Told
from spagree.present.words import escape_controls, figure, interval


def to_html(told: Told) -> str:
    """The verdict, the number with both intervals, the steps and all schemes."""

    def text(value: str) -> str:
        return escape(escape_controls(value))

    findings, said = told.breakdowns.findings, told.verdict
    rows = "".join(
        f"<tr><th scope='row'>{text(name)}</th><td>{figure(estimate.value)}</td><td>{interval(estimate)}</td></tr>"
        for name, estimate in {findings.spa.weights: findings.spa, **findings.schemes}.items()
    )
    both = both_intervals(findings.spa, findings.data.annotators)
    limits = f" ({interval_name(findings.spa)} {both})" if both else ""
    steps = "".join(
        f"<li><b>{text(each.sentence)}</b> {text(each.evidence)} <code>{text(each.command)}</code></li>"
        for each in told.steps
    )
    heads = "<th>scheme</th><th>agreement</th><th>interval</th>"
    table = f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"
    return (
        f"<div><p>{said.icon} <strong>{text(said.sentence)}</strong></p>"
        f"<p><strong>SPA {figure(findings.spa.value)}</strong>{limits}<br>{text(' '.join(headline(findings)))}</p>"
        f"<ol>{steps}</ol><details><summary>All weighting schemes</summary>{table}</details></div>"
    )
