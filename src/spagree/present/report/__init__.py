"""One self-contained HTML page: everything a reader asks, in the order they ask it.

What a page is made of stands in ``parts``: tables, figures, verdicts. ``verdicts`` answers "can I trust it";
``trust``, ``disagreement``, ``course`` and ``method`` make the sections; ``page`` turns them into HTML that fetches
nothing and runs only what it brings.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from spagree.present.charts import load_altair
from spagree.present.evidence import Evidence
from spagree.present.presented import Shown
from spagree.present.report.development_section import course
from spagree.present.report.disagreement import where, who
from spagree.present.report.method import following, method, source_name
from spagree.present.report.page import Headline, headline, render
from spagree.present.report.parts import Figure, Section
from spagree.present.report.trust import chance, trust
from spagree.present.report.verdicts import in_short, verdicts
from spagree.write import refuse_existing, write_atomically

__all__ = ["Headline", "page", "sections", "write_report"]


def write_report(measured: Shown, path: Path, version: str, *, force: bool = False) -> Path:
    """Write the page whole, or not at all."""
    refuse_existing(path, force=force)
    html = page(measured, version)
    write_atomically(path, lambda beside: beside.write_text(html, encoding="utf-8"), force=force)
    return path


def page(measured: Shown, version: str) -> str:
    """The page as text; the same agreement gives the same bytes."""
    load_altair()
    evidence = Evidence(measured)
    top = headline(evidence.findings, source_name(measured.understood), in_short(verdicts(evidence)))
    return render(top, sections(evidence, measured, version), version)


def sections(evidence: Evidence, measured: Shown, version: str) -> list[Section]:
    """All sections, in the order a manager asks; where there is no number, those that still say something."""
    found = [
        trust(evidence),
        chance(evidence),
        where(evidence),
        who(evidence),
        course(evidence),
        following(evidence),
        method(evidence, measured.understood, measured.options, version),
    ]
    return found if evidence.findings.spa.value is not None else [each for each in map(_said, found) if each.parts]


def _said(section: Section) -> Section:
    """Without the figures that are missing for the one reason the page opens with."""
    return replace(section, parts=[part for part in section.parts if not isinstance(part, Figure) or part.table])
