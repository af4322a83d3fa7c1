"""Figures → the live page: first what a manager needs, then the report's sections."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from spagree.errors import count
from spagree.monitor.alerts import Alert, notice
from spagree.monitor.hub import Hub, Question
from spagree.monitor.live import Live, Safe
from spagree.present.charts.agreement import trend
from spagree.present.charts.spec import PAGE, theme
from spagree.present.report import sections
from spagree.present.report.page import (
    drawing_library,
    in_script,
    no_end_of_script,
    own_file,
    policy,
    section_html,
    specs,
    template,
)
from spagree.present.report.parts import Section
from spagree.present.sentence import both_intervals
from spagree.present.wording import figure, limits, moment, number, printable
from spagree.version import __version__

LEAST_FOR_SECTIONS = 2  # annotations
SHOWN_PAST = 10
SHOWN_TITLES = 4
WIDTH = 400  # of the bar
WEB = "spagree.monitor.web"
MINUTE, HOUR, DAY = 60, 3600, 86_400
SECTIONS = ("trust", "chance", "where", "items", "who", "course", "next")  # the method is the report's


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether to intervene, in one line."""

    state: str
    icon: str
    words: str


@dataclass(frozen=True, slots=True)
class Top:
    """The first screen."""

    verdict: Verdict
    notice: str
    value: str
    interval: str
    safe: str
    safe_words: str
    target: str
    bar: Mapping[str, float | None] | None
    since: str
    facts: tuple[tuple[str, str], ...]
    alerts: Sequence[Alert]
    past: Sequence[Alert]
    sources: tuple[tuple[str, str], ...]


def top(hub: Hub, live: Live) -> Top:
    """Put the figures of a question into words."""
    alerts, past = hub.register.of_question(live.project, live.question)
    spa = live.agreement.spa if live.agreement else None
    both = both_intervals(live.agreement.findings) if live.agreement else ""
    return Top(
        verdict(live, alerts),
        notice(live),
        figure(spa.value) if spa and spa.value is not None else "–",
        f"95% interval {both}" if both else "no interval yet",
        "–" if live.safe.low is None else limits(live.safe.low, live.safe.high),
        _safe_words(live.safe, live.settings.first, bool(live.marks)),
        "" if live.settings.target is None else figure(live.settings.target),
        _bar(live),
        _since(live),
        facts(hub, live),
        alerts,
        past[:SHOWN_PAST],
        _sources(hub),
    )


def verdict(live: Live, alerts: Sequence[Alert]) -> Verdict:
    """Whether to intervene: the open alerts, or whether the target is certainly reached."""
    if len(alerts) == 1:
        also = " People also agree less on the latest items." if notice(live) else ""
        return Verdict("problem", "✕", f"One thing needs a look: {alerts[0].title}.{also}")
    if alerts:
        titles = " · ".join(alert.title for alert in alerts[:SHOWN_TITLES])
        more = " · …" if len(alerts) > SHOWN_TITLES else ""
        return Verdict("problem", "✕", f"{len(alerts)} things need a look: {titles}{more}")
    is_fine, words = _without_alert(live)
    return Verdict("ok", "✓", words) if is_fine else Verdict("look", "…", words)


def _without_alert(live: Live) -> tuple[bool, str]:
    """Whether all is well while no alert is open, and how things are."""
    target, low = live.settings.target, live.safe.low
    if live.safe.value is None:
        return False, "Too early to tell: no item has two annotations yet."
    if notice(live):
        return False, "No alert is open, but people agree less on the latest items."
    if target is None:
        return True, "No alert is open. Set --target to be told when agreement falls below it."
    if low is not None and low >= target:
        return True, "Agreement is above the target; no alert is open."
    return False, "No alert is open; too few items yet to tell whether agreement reaches the target."


def _safe_words(safe: Safe, first: int, is_marked: bool) -> str:
    if safe.low is None:
        return f"{safe.undefined[:1].upper()}{safe.undefined[1:]}."
    since = " since the last mark" if is_marked else " so far"
    return (
        f"95% bounds that hold however often you look: first {first} annotations of {count(safe.items, 'item')}{since} "
        f"(mean {figure(safe.value)})."
    )


def _since(live: Live) -> str:
    """The last mark, where the chart begins; nothing before it is drawn."""
    if not live.marks:
        return ""
    at, text = live.marks[-1]
    return f"“{printable(text, 60)}” ({moment(at)} UTC)"


def _bar(live: Live) -> Mapping[str, float | None] | None:
    spa = live.agreement.spa if live.agreement else None
    if spa is None or spa.value is None:
        return None
    places = {"value": spa.value, "low": live.safe.low, "high": live.safe.high, "target": live.settings.target}
    return {name: None if place is None else place * WIDTH for name, place in places.items()}


def facts(hub: Hub, live: Live) -> tuple[tuple[str, str], ...]:
    """Counts, the most important first."""
    one, two, more = live.coverage
    expected = hub.expected.get(live.project)
    untouched = f"; {expected - one - two - more:,} with none" if expected and expected > one + two + more else ""
    again = live.columns.superseded
    return (
        ("annotations", f"{len(live.columns.item):,}" + (f" ({again:,} replaced by a later one)" if again else "")),
        ("per hour", number(round(live.per_hour))),
        ("items", f"{two + more:,} with two or more, {one:,} with one{untouched}"),
        ("with three or more", f"{more:,}"),
        ("annotators", f"{len(set(live.columns.annotator.tolist())):,}"),
    )


def _sources(hub: Hub) -> tuple[tuple[str, str], ...]:
    lines = [("last event", ago(hub.last_event))]
    for source, last in hub.reconciled.items():
        now = f"{count(last.drift, 'difference')} corrected" if last.drift else "no difference"
        all_along = "" if last.total == last.drift else f" ({last.total:,} corrected since the start)"
        lines.append((f"compared with {printable(source, 60)}", f"{ago(last.at)}, {now}{all_along}"))
    return (*lines, *((printable(source, 60), fault) for source, fault in hub.faults.items()))


def ago(then: float | None, now: float | None = None) -> str:
    """How long ago, in words.

    >>> ago(100.0, 130.0), ago(100.0, 400.0), ago(None)
    ('just now', '5 minutes ago', 'none since the start')
    """
    if then is None:
        return "none since the start"
    passed = max(0.0, (time.time() if now is None else now) - then)
    if passed < MINUTE:
        return "just now"
    unit, name = (MINUTE, "minute") if passed < HOUR else (HOUR, "hour") if passed < DAY else (DAY, "day")
    return f"{count(int(passed // unit), name)} ago"


def trend_spec(live: Live) -> dict[str, Any] | None:
    """The trend chart, or nothing to draw."""
    if len(live.trend) < 2:  # noqa: PLR2004 (a line takes two points)
        return None
    rows = [
        {
            "time": step.time * 1000,
            "value": step.value,
            "low": min(step.low, step.high),
            "high": max(step.low, step.high),
            "recent": step.recent,
            "items": step.items,
            "when": moment(step.time),
            "shown": figure(step.value),
            "bounds": limits(step.low, step.high) if step.low <= step.high else "none fits",
            "latest": figure(step.recent),
        }
        for step in live.trend
    ]
    first = live.trend[0].time
    marks = [{"time": at * 1000, "text": printable(text, 40)} for at, text in live.marks if at >= first]
    chart = trend(rows, marks, live.settings.target)
    return {**chart, "description": "Agreement of closed items over time"}


def parts(live: Live) -> list[Section]:
    """The report's sections, if there is enough data for them."""
    if live.agreement is None or len(live.columns.item) < LEAST_FOR_SECTIONS:
        return []
    all_sections = sections(live.agreement.breakdowns(), live.agreement.understood, live.agreement.options)
    return [section for section in all_sections if section.id in SECTIONS]


@dataclass(frozen=True, slots=True)
class Body:
    """The report's sections as HTML by id, and their charts; ``version`` is that of the figures."""

    version: int
    sections: Mapping[str, str]
    specs: Mapping[str, Any]


def body(live: Live, version: int) -> Body:
    """Render the sections."""
    chosen = parts(live)
    return Body(version, {section.id: section_html(section) for section in chosen}, specs(chosen))


def changing(hub: Hub, live: Live, version: int, below: Body) -> dict[str, Any]:
    """Everything that changes while the page is open: HTML by id, and the charts.

    The top is always current; the sections may be a few seconds older, and the page then asks again.
    """
    drawn = trend_spec(live)
    html = _template("top.html.j2").render(top=top(hub, live), has_trend=drawn is not None, moment=moment)
    charts = {"trend": drawn} if drawn is not None else {}
    return {
        "version": version,
        "is_behind": below.version != version,
        "sections": {"live": html, **below.sections},
        "specs": {**charts, **below.specs},
    }


NOTHING: Mapping[str, Any] = {"version": 0, "sections": {}, "specs": {}}


def render(
    hub: Hub, question: Question | None, query: Mapping[str, Any], content: Mapping[str, Any]
) -> tuple[str, str]:
    """The whole page and its policy; without a question, the overview."""
    live = hub.live(question)[1] if question else None
    style = own_file("style.css") + own_file("live.css", WEB)
    scripts = [drawing_library(), own_file("script.js"), no_end_of_script(own_file("live.js", WEB))]
    html: str = _template("page.html.j2").render(
        title=" · ".join(question) if question else "All projects",
        question=question,
        questions=hub.questions(),
        overview=hub.overview() if question is None else [],
        content=content,
        query=query,
        annotators=sorted(live.columns.annotators) if live else [],
        style=style,
        scripts=scripts,
        specs=in_script(content["specs"]),
        theme=in_script(theme(PAGE)),
        version=__version__,
        figure=figure,
        limits=limits,
    )
    return html, f"{_policy(scripts, style)}; connect-src 'self'; frame-ancestors 'none'"


def login() -> tuple[str, str]:
    """The page that asks for the token."""
    style = own_file("style.css") + own_file("live.css", WEB)
    html: str = _template("login.html.j2").render(style=style)
    return html, f"{_policy([], style)}; frame-ancestors 'none'"


def _policy(scripts: Sequence[str], style: str) -> str:
    """The report's policy, but forms may be sent to this server."""
    return policy(scripts, style).replace("form-action 'none'", "form-action 'self'")


def _template(name: str) -> Any:
    return template(name, "spagree.monitor", "web")
