"""One self-contained HTML page: everything a reader asks, in the order they ask it.

What a page is made of stands in ``parts``: tables, figures, verdicts. ``verdicts`` answers "can I trust it";
``trust``, ``disagreement``, ``course`` and ``method`` make the sections; ``page`` turns them into HTML that fetches
nothing and runs only what it brings.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from spagree.estimate.breakdowns import Breakdowns
from spagree.present.report.development_section import course
from spagree.present.report.disagreement import where, who
from spagree.present.report.method import following, method, source_name
from spagree.present.report.page import Headline, headline, render
from spagree.present.report.parts import Figure, Section
from spagree.present.report.trust import chance, trust
from spagree.present.report.verdicts import in_short, verdicts
from spagree.understood import Understood
from spagree.write import write_atomically

__all__ = ["Headline", "page", "sections", "write_report"]


def write_report(html: str, path: Path, *, force: bool = False) -> Path:
    """Write the page whole, or not at all."""
    write_atomically(path, lambda beside: beside.write_text(html, encoding="utf-8"), force=force)
    return path


def page(breakdowns: Breakdowns, understood: Understood | None, options: Mapping[str, Any], version: str) -> str:
    """The page as text; the same agreement gives the same bytes."""
    top = headline(breakdowns.findings, source_name(understood), in_short(verdicts(breakdowns)))
    return render(top, sections(breakdowns, understood, options, version), version)


def sections(
    breakdowns: Breakdowns, understood: Understood | None, options: Mapping[str, Any], version: str
) -> list[Section]:
    """All sections, in the order a manager asks; where there is no number, those that still say something."""
    found = [
        trust(breakdowns),
        chance(breakdowns),
        where(breakdowns),
        who(breakdowns),
        course(breakdowns),
        following(breakdowns),
        method(breakdowns, understood, options, version),
    ]
    return found if breakdowns.findings.spa.value is not None else [each for each in map(_said, found) if each.parts]


def _said(section: Section) -> Section:
    """Without the figures that are missing for the one reason the page opens with."""
    return replace(section, parts=[part for part in section.parts if not isinstance(part, Figure) or part.table])
