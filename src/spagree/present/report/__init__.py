"""One self-contained HTML page: everything a reader asks, in the order they ask it.

``parts`` holds what a page is made of: tables, figures, lists and cards, all plain values. ``top`` is the first
screen; ``trust``, ``disagreement_section``, ``cards``, ``group_section``, ``development_section`` and ``method`` make
the sections; ``questions`` puts several questions on one page. ``page`` turns them into HTML, one template each; the
page loads nothing and runs only its embedded scripts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from spagree.estimate.breakdown_values import Breakdowns
from spagree.present.report.cards import items
from spagree.present.report.development_section import development
from spagree.present.report.disagreement_section import where, who
from spagree.present.report.group_section import group_section
from spagree.present.report.method import method, next_steps, source_name
from spagree.present.report.page import Chapter, render
from spagree.present.report.parts import Figure, Section
from spagree.present.report.top import about, top
from spagree.present.report.trust import chance, trust
from spagree.present.verdicts import Verdict, verdicts
from spagree.understood import Understood
from spagree.write import write_atomically

__all__ = ["page", "sections", "write_report"]


def write_report(html: str, path: Path, *, force: bool = False) -> Path:
    """Write the page whole, or not at all."""
    write_atomically(path, lambda beside: beside.write_text(html, encoding="utf-8"), force=force)
    return path


def page(
    breakdowns: Breakdowns,
    understood: Understood | None,
    options: Mapping[str, Any],
    figures: Mapping[str, Any],
    *,
    target: float | None = None,
    since: str = "",
) -> str:
    """The page as text; the same agreement gives the same bytes."""
    body = chapter(breakdowns, understood, options, target=target, since=since)
    return render(
        title=source_name(understood),
        about=about(breakdowns, understood, options),
        links=body.links(),
        body=body.html(),
        specs=body.specs(),
        figures=figures,
    )


def chapter(
    breakdowns: Breakdowns,
    understood: Understood | None,
    options: Mapping[str, Any],
    *,
    target: float | None = None,
    since: str = "",
    prefix: str = "",
) -> Chapter:
    """One question: its first screen and its sections."""
    checked = verdicts(breakdowns)
    first = top(breakdowns, checked, target, since)
    return Chapter(first, sections(breakdowns, understood, options, checked), prefix)


def sections(
    breakdowns: Breakdowns,
    understood: Understood | None,
    options: Mapping[str, Any],
    checked: tuple[Verdict, ...] | None = None,
) -> list[Section]:
    """All sections, in the order a manager asks; without a number, only those that still say something."""
    numbered = [
        trust(breakdowns, verdicts(breakdowns) if checked is None else checked),
        chance(breakdowns),
        *group_section(breakdowns),
        where(breakdowns),
        items(breakdowns),
        who(breakdowns),
        development(breakdowns),
        next_steps(breakdowns),
        method(breakdowns, understood, options),
    ]
    if breakdowns.findings.spa.value is not None:
        return numbered
    # figures without a table are missing for the reason the page opens with
    shown = [[part for part in each.parts if not isinstance(part, Figure) or part.table] for each in numbered]
    return [replace(each, parts=parts) for each, parts in zip(numbered, shown, strict=True) if parts]
