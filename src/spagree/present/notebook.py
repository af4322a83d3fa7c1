"""Findings → a small card for notebooks, like the top of the page; labels are always escaped."""

from __future__ import annotations

from html import escape

from spagree.estimate import Findings
from spagree.estimate.breakdown_values import Breakdowns
from spagree.estimate.checks import checks
from spagree.present.sentence import both_intervals, headline, interval_name, on_the_scale
from spagree.present.wording import escape_controls, figure, interval

SIGNS = {"fine": "✓", "look": "!", "problem": "✕", "cannot_tell": "?"}
MEANS = {"fine": "fine", "look": "have a look", "problem": "a problem", "cannot_tell": "cannot tell"}
ACCENT, CHANCE = "#0072b2", "#7b8794"


def to_html(breakdowns: Breakdowns) -> str:
    """The headline, the bar, the checks, all schemes and the warnings."""
    findings = breakdowns.findings
    rows = "".join(
        f"<tr><th scope='row'>{_text(name)}</th><td>{figure(estimate.value)}</td><td>{interval(estimate)}</td></tr>"
        for name, estimate in {findings.spa.weights: findings.spa, **findings.schemes}.items()
    )
    warnings = "".join(f"<li>{_text(caution.message)}</li>" for caution in findings.warnings)
    words = " ".join(headline(findings))
    both = both_intervals(findings)
    limits = f" ({interval_name(findings.spa)} {both})" if both else ""
    heads = "<th>scheme</th><th>agreement</th><th>interval</th>"
    table = f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"
    return (
        f"<div><p><strong>SPA {figure(findings.spa.value)}</strong>{limits}<br>{_text(words)}</p>"
        f"{bar(findings)}<p>{check_line(breakdowns)}</p>"
        f"<details><summary>All weighting schemes</summary>{table}</details>"
        + (f"<ul>{warnings}</ul>" if warnings else "")
        + "</div>"
    )


def _text(value: str) -> str:
    return escape(escape_controls(value))


def bar(findings: Findings) -> str:
    """The number with its interval on a scale from 0 to 1, and chance agreement; empty without a number."""
    spa, chance = findings.spa, findings.chance["krippendorff_alpha"].expected
    if spa.value is None:
        return ""
    low, high = (spa.value if end is None else end for end in (spa.low, spa.high))
    drawn = [_rect(0, 1, "currentColor", 0.15), _rect(low, high - low, ACCENT, 0.55), _line(spa.value, ACCENT, 4)]
    drawn += [] if chance is None else [_line(chance, CHANCE, 2, ' stroke-dasharray="3 2"')]
    label = escape(on_the_scale(findings), quote=True)
    return f'<svg width="320" height="22" role="img" aria-label="{label}">{"".join(drawn)}</svg>'


def _rect(start: float, width: float, colour: str, opacity: float) -> str:
    wide = f'x="{100 * start:.2f}%" width="{100 * width:.2f}%"'
    return f'<rect {wide} y="8" height="6" fill="{colour}" opacity="{opacity}"/>'


def _line(place: float, colour: str, width: int, more: str = "") -> str:
    at = f"{100 * place:.2f}%"
    return f'<line x1="{at}" x2="{at}" y1="3" y2="19" stroke="{colour}" stroke-width="{width}"{more}/>'


def check_line(breakdowns: Breakdowns) -> str:
    """Every check with its sign and name; the sign is readable without colour.

    >>> from spagree.estimate import find
    >>> from spagree.counts.tally import Tally
    >>> findings = find(Tally.from_items([{"yes": 2}, {"yes": 1, "no": 1}, {"no": 3}]))
    >>> check_line(Breakdowns(findings)).split(" · ")[1]
    '<span title="fine">✓ coverage</span>'
    """
    return " · ".join(
        f'<span title="{MEANS[check.state]}">{SIGNS[check.state]} {check.code.replace("_", " ")}</span>'
        for check in checks(breakdowns)
    )
