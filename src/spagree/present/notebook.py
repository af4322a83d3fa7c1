"""Findings → a small card for notebooks, like the top of the page; labels never reach it unescaped."""

from __future__ import annotations

from html import escape

from spagree.estimate.breakdowns import Breakdowns
from spagree.present.card import bar, check_line
from spagree.present.sentence import headline, interval_name
from spagree.present.wording import escape_controls, figure, interval


def to_html(breakdowns: Breakdowns) -> str:
    """The headline, the bar, the checks, all schemes and the warnings."""
    findings = breakdowns.findings
    rows = "".join(
        f"<tr><th scope='row'>{_text(name)}</th><td>{figure(found.value)}</td><td>{interval(found)}</td></tr>"
        for name, found in {findings.spa.weights: findings.spa, **findings.schemes}.items()
    )
    warnings = "".join(f"<li>{_text(caution.message)}</li>" for caution in findings.warnings)
    heads = "<th>scheme</th><th>agreement</th><th>interval</th>"
    table = f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"
    return (
        f"<div><p><strong>SPA {figure(findings.spa.value)}</strong> "
        f"({interval_name(findings.spa)} {interval(findings.spa)})<br>{_text(' '.join(headline(breakdowns)))}</p>"
        f"{bar(findings)}<p>{check_line(breakdowns)}</p>"
        f"<details><summary>All weighting schemes</summary>{table}</details>"
        + (f"<ul>{warnings}</ul>" if warnings else "")
        + "</div>"
    )


def _text(value: str) -> str:
    return escape(escape_controls(value))
