"""One page for all questions of a source."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from spagree.agreement import Agreement
from spagree.errors import SpagreeError
from spagree.estimate.since import check_target
from spagree.present.earlier import earlier_figures, what_changed
from spagree.present.report import chapter, write_report
from spagree.present.report.method import source_name
from spagree.present.report.questions import Question, questions_page
from spagree.present.report.top import about
from spagree.write import refuse_existing


def report_questions(
    outcomes: Mapping[str, Agreement | SpagreeError],
    path: str | os.PathLike[str],
    *,
    target: float | None = None,
    since: str | os.PathLike[str] | None = None,
    force: bool = False,
) -> Path:
    """Write one page for several questions; one without figures says why and does not stop the others."""
    refuse_existing(path, force=force)
    before = {} if since is None else earlier_figures(since).get("questions", {})
    questions, figures = [], {}
    for place, (name, outcome) in enumerate(outcomes.items()):
        if isinstance(outcome, SpagreeError):
            continue
        figures[name] = outcome.to_dict()
        changed = what_changed(before[name], figures[name]) if name in before else ""
        parts = (outcome.breakdowns(), outcome.understood, outcome.options)
        body = chapter(*parts, target=check_target(target), since=changed, prefix=f"q{place + 1}-")
        questions.append(Question(name, about(*parts), parts[0], body))
    failed = {name: str(outcome) for name, outcome in outcomes.items() if isinstance(outcome, SpagreeError)}
    first = next((outcome.understood for outcome in outcomes.values() if not isinstance(outcome, SpagreeError)), None)
    html = questions_page(source_name(first), questions, failed, {"questions": figures})
    return write_report(html, Path(path), force=force)
