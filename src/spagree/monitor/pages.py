"""Figures → the live page: on one screen what a manager needs; the report of the phase is another page."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from spagree import __version__
from spagree.errors import DataError, count
from spagree.monitor.alerts import Alert, notice
from spagree.monitor.figures import NO_BOUNDS, Live
from spagree.monitor.hub import Hub
from spagree.present.charts.agreement import trend
from spagree.present.charts.spec import PAGE, theme
from spagree.present.report import page as report_page
from spagree.present.report.page import drawing_library, in_script, no_end_of_script, own_file, policy, template
from spagree.present.spans import spans_sentences
from spagree.present.verdicts import tell
from spagree.present.words import figure, limits, moment, number, printable
from spagree.spans import SpanAgreement

SHOWN_PAST = 10
SHOWN_TITLES = 4
WEB, PLACE = "spagree.monitor.web", ("spagree.monitor", "web")  # where styles and scripts are, and templates
MINUTE, HOUR, DAY = 60, 3600, 86_400


def top(hub: Hub, live: Live) -> dict[str, Any]:
    """The first screen: the figures of a question, since its last mark, in words."""
    alerts, past = hub.register.of_question(live.project, live.question)
    safe, target = live.safe, live.settings.target
    words = f"{safe.undefined[:1].upper()}{safe.undefined[1:]}."
    if safe.low is not None:
        items, since = count(safe.items, "item"), " since the last mark" if live.marks else " so far"
        first = f"first {live.settings.first} annotations of {items}{since}"
        words = f"95% bounds that hold however often you look: {first}."
    value, low, high, ends = safe.value, safe.low, safe.high, "Safe bounds"
    spans = live.agreement if isinstance(live.agreement, SpanAgreement) else None
    if spans is not None:
        value, low, high, ends = spans.exact.value, spans.exact.low, spans.exact.high, "95% interval"
        words = f"{' '.join(spans_sentences(spans.findings))} The interval is for one look: {NO_BOUNDS}."
    places = {"value": value, "low": low, "high": high, "target": target}  # on the scale, in percent
    bar = {name: None if place is None else place * 100 for name, place in places.items()}
    return {
        "verdict": verdict(live, alerts),
        "notice": notice(live),
        "value": "–" if value is None else figure(value),
        "ends": ends,
        "bounds": "" if low is None else limits(low, high).replace(" to ", "–"),
        "words": words,
        "target": "" if target is None else f"{target:g}",
        "bar": None if value is None else bar,
        "since": printable(live.marks[-1][1], 60) if live.marks else "",
        "began": live.marks[-1][0] if live.marks else None,
        "facts": [*facts(hub, live), *_sources(hub)],
        "alerts": alerts,
        "past": past[:SHOWN_PAST],
        "report": f"/report?{urlencode({'project': live.project, 'question': live.question})}",
        "no_trend": "The chart needs two closed items." if spans is None else "There is no chart for marks.",
    }


def verdict(live: Live, alerts: Sequence[Alert]) -> tuple[str, str]:
    """Whether to intervene, as a state and in words: the open alerts, or whether the target is certainly reached."""
    target, low = live.settings.target, live.safe.low
    state, words = "look", "No alert is open; too few items yet to tell whether agreement reaches the target."
    if len(alerts) == 1:
        also = " People also agree less on the latest items." if notice(live) else ""
        state, words = "problem", f"One thing needs a look: {alerts[0].title}.{also}"
    elif alerts:
        titles = " · ".join(alert.title for alert in alerts[:SHOWN_TITLES])
        more = " · …" if len(alerts) > SHOWN_TITLES else ""
        state, words = "problem", f"{len(alerts)} things need a look: {titles}{more}"
    elif isinstance(live.agreement, SpanAgreement) and live.agreement.exact.value is not None:
        state, words = "fine", "No alert is open: of marks, overlap and the assumption are watched, and no target."
    elif live.safe.value is None:
        words = "Too early to tell: no item has two annotations yet."
    elif notice(live):
        words = "No alert is open, but people agree less on the latest items."
    elif target is None:
        state, words = "fine", "No alert is open. Set --target to be told when agreement falls below it."
    elif low is not None and low >= target:
        state, words = "fine", "Agreement is above the target; no alert is open."
    return state, words


def facts(hub: Hub, live: Live) -> list[tuple[str, str]]:
    """Counts, the most important first."""
    one, two, more = live.coverage
    none = hub.expected.get(live.project, 0) - one - two - more
    again = live.columns.superseded
    lines: list[tuple[str, str]] = []
    if isinstance(live.agreement, SpanAgreement):
        by_character = live.agreement.characters
        ends = "" if by_character.low is None else f", {limits(by_character.low, by_character.high)}"
        lines = [("marks", f"{live.agreement.data.marks:,}"), ("by character", figure(by_character.value) + ends)]
    replaced, untouched = f" ({again:,} replaced by a later one)", f"; {none:,} with none"
    return [
        *lines,
        ("annotations", f"{len(live.columns.item):,}" + (replaced if again else "")),
        ("per hour", number(round(live.per_hour))),
        ("items", f"{two + more:,} with two or more, {one:,} with one" + (untouched if none > 0 else "")),
        ("with three or more", f"{more:,}"),
        ("annotators", f"{len(set(live.columns.annotator.tolist())):,}"),
    ]


def _sources(hub: Hub) -> list[tuple[str, str]]:
    lines = [("last event", ago(hub.last_event))]
    for source, last in hub.reconciled.items():
        now = f"{count(last.drift, 'difference')} corrected" if last.drift else "no difference"
        all_along = "" if last.total == last.drift else f" ({last.total:,} corrected since the start)"
        lines.append((f"compared with {printable(source, 60)}", f"{ago(last.at)}, {now}{all_along}"))
    for source, fault in hub.faults.items():
        when = f"worked again; last fault {ago(fault.at)}" if fault.is_over else ago(fault.at)
        lines.append((printable(source, 60), f"{printable(fault.words, 200)} ({when})"))
    if trouble := hub.trouble():
        lines.append(("the store", printable(trouble, 200)))
    return lines


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
            **step._asdict(),
            "time": step.time * 1000,
            "low": min(step.low, step.high),
            "high": max(step.low, step.high),
            "shown": figure(step.value),
            "bounds": limits(step.low, step.high) if step.low <= step.high else "none fits",
            "latest": figure(step.recent),
        }
        for step in live.trend
    ]
    marks = [{"time": at * 1000, "text": printable(text, 40)} for at, text in live.marks]
    return {**trend(rows, marks, live.settings.target), "description": "Agreement of closed items over time"}


def changing(hub: Hub, live: Live) -> dict[str, Any]:
    """Everything that changes while the page is open: HTML by id, and the chart."""
    drawn = trend_spec(live)
    html = template("top.html.j2", *PLACE).render(top=top(hub, live), has_trend=drawn is not None, moment=moment)
    version = hub.versions[live.project, live.question]
    return {"version": version, "sections": {"live": html}, "specs": {"trend": drawn} if drawn is not None else {}}


def report(live: Live) -> tuple[str, str]:
    """The report of the phase and its policy; everything in it is counted from the last mark on."""
    agreement = live.agreement
    if agreement is None:
        raise DataError("no annotations of this project and question since the last mark")
    own_policy = _policy([drawing_library(), own_file("script.js")], own_file("style.css"), forms="none")
    if isinstance(agreement, SpanAgreement):
        return agreement.page(), own_policy
    source = agreement.source.without_folders()
    told = tell(agreement.breakdowns(), source, agreement.understood, live.settings.target)
    return report_page.page(told, agreement.to_dict()), own_policy


def render(hub: Hub, live: Live | None, query: Mapping[str, Any]) -> tuple[str, str]:
    """The whole page of a question and its policy, or the overview."""
    question = (live.project, live.question) if live else None
    content = changing(hub, live) if live else {"version": 0, "sections": {}, "specs": {}}
    style = own_file("style.css") + own_file("live.css", WEB)
    scripts = [drawing_library(), own_file("script.js"), no_end_of_script(own_file("live.js", WEB))]
    html: str = template("page.html.j2", *PLACE).render(
        title=" · ".join(question) if question else "All projects",
        question=question,
        questions=hub.questions(),
        overview=[] if live else hub.overview(),
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
    return html, f"{_policy(scripts, style)}; connect-src 'self'"


def login() -> tuple[str, str]:
    """The page that asks for the token."""
    style = own_file("style.css") + own_file("live.css", WEB)
    html: str = template("login.html.j2", *PLACE).render(style=style)
    return html, _policy([], style)


def _policy(scripts: Sequence[str], style: str, forms: str = "self") -> str:
    """The report's policy, but forms may be sent to this server."""
    own = policy(scripts, style).replace("form-action 'none'", f"form-action '{forms}'")
    return f"{own}; frame-ancestors 'none'"
