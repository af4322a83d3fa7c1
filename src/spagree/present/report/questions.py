"""Several questions on one page: an overview with one row each, then the sections of every question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from spagree.errors import count
from spagree.estimate.breakdown_values import Breakdowns, known
from spagree.present.report.page import Chapter, render, template
from spagree.present.verdicts import in_short, verdicts
from spagree.present.wording import escape_controls, figure, interval, printable

LONGEST = 60
MOST_POINTS, LINE = 40, 2  # points of a small line: at most, at least


@dataclass(frozen=True, slots=True)
class Row:
    """A question in the overview; ``reason`` says why it has no number."""

    id: str
    name: str
    value: str = ""
    interval: str = ""
    items: str = ""
    state: str = "problem"
    icon: str = "✕"
    checks: str = ""
    bar: tuple[float, float, float] | None = None
    line: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    """A measured question."""

    name: str
    about: str
    breakdowns: Breakdowns
    chapter: Chapter


def questions_page(
    title: str, questions: Sequence[Question], failed: Mapping[str, str], figures: Mapping[str, Any]
) -> str:
    """One page for all questions; ``failed`` maps those without figures to the reason."""
    rows = [_row(each) for each in questions]
    for name, why in failed.items():
        nothing = ("no number", "–", "–")
        rows.append(Row("", printable(name, LONGEST), *nothing, checks="not measured", reason=escape_controls(why)))
    body = [template("overview.html.j2").render(rows=rows, with_times=any(row.line for row in rows))]
    links: list[tuple[str, str]] = [("overview", "Overview")]
    specs: dict[str, Any] = {}
    for each in questions:
        shown = {"question": each, "body": each.chapter.html(), "links": each.chapter.links()[1:]}
        body.append(template("question.html.j2").render(shown))
        links.append((_id(each), printable(each.name, 30)))
        specs |= each.chapter.specs()
    about = f"{count(len(rows), 'question')}, measured separately"
    return render(title=title, about=about, links=links, body=body, specs=specs, figures=figures)


def _id(question: Question) -> str:
    return f"{question.chapter.prefix}question"


def _row(question: Question) -> Row:
    findings = question.breakdowns.findings
    spa, short = findings.spa, in_short(verdicts(question.breakdowns))
    value = spa.value
    bar = None if value is None else tuple(100 * (value if end is None else end) for end in (spa.low, value, spa.high))
    return Row(
        _id(question),
        printable(question.name, LONGEST),
        "no number" if value is None else figure(value),
        "–" if spa.low is None else interval(spa),
        f"{findings.data.pairable_items:,}",
        short.state,
        short.icon,
        short.words,
        bar,  # type: ignore[arg-type]  # three numbers
        _line(question.breakdowns),
        "" if value is not None else escape_controls(str(spa.undefined)),
    )


def _line(breakdowns: Breakdowns) -> str:
    """Agreement over time as the points of a small line; empty if times are unknown."""
    if breakdowns.lacks("development"):
        return ""
    values = [value for value in known(breakdowns.development)["spa"].to_list() if value is not None][-MOST_POINTS:]
    if len(values) < LINE:
        return ""
    return " ".join(
        f"{100 * place / (len(values) - 1):.1f},{22 - 20 * value:.1f}" for place, value in enumerate(values)
    )
