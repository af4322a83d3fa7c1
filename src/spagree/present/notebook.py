"""Findings → a small HTML table for notebooks; labels never reach it unescaped."""

from __future__ import annotations

from html import escape

from spagree.estimate import Findings
from spagree.present.sentence import in_words, interval_name
from spagree.present.wording import escape_controls, figure, interval


def to_html(findings: Findings) -> str:
    """The headline, all schemes and the warnings."""
    rows = "".join(
        f"<tr><th scope='row'>{_text(name)}</th><td>{figure(found.value)}</td><td>{interval(found)}</td></tr>"
        for name, found in {findings.spa.weights: findings.spa, **findings.schemes}.items()
    )
    warnings = "".join(f"<li>{_text(caution.message)}</li>" for caution in findings.warnings)
    return (
        f"<div><p><strong>SPA {figure(findings.spa.value)}</strong> "
        f"({interval_name(findings.spa)} {interval(findings.spa)})<br>{_text(in_words(findings))}</p>"
        f"<table><thead><tr><th>scheme</th><th>agreement</th><th>interval</th></tr></thead><tbody>{rows}</tbody></table>"
        + (f"<ul>{warnings}</ul>" if warnings else "")
        + "</div>"
    )


def _text(value: str) -> str:
    return escape(escape_controls(value))
