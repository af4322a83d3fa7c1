"""Sections → HTML. Labels may be hostile: everything is escaped, and only embedded scripts run, known by hash."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from types import MappingProxyType
from typing import Any

from spagree import __version__
from spagree.errors import MissingExtraError, count, there
from spagree.estimate.actions import CLASSES, PERIOD
from spagree.estimate.uncertainty import ANNOTATORS, POPULATIONS
from spagree.present.charts.agreement import annotator_keys, class_keys, development_steps
from spagree.present.charts.spec import PAGE, theme
from spagree.present.next_steps import NextStep
from spagree.present.report.sections import Section, sections, source_name, table
from spagree.present.sentences import whom
from spagree.present.tables import columns, in_figures
from spagree.present.verdicts import Checked, Said, Told, Verdict
from spagree.present.words import escape_controls, figure, interval, moment, percent, printable, quoted
from spagree.read.timestamps import is_date
from spagree.write import write_atomically

LEVELS = {"all": "all agree on", "most": "a majority on", "none": "no majority on"}
CHECKS = ("Precision", "Coverage", "Assumption", "Weights", "Beyond chance", "Overlap", "Annotators", "Left out")
FOLDER = "spagree.present.report"
LIBRARY = "library.js"
DATE = re.compile(r"\d{4}-\d\d-\d\d(?: \d\d:\d\d)?")


def write_report(html: str, path: Path, *, force: bool = False) -> Path:
    """Write the page whole, or not at all."""
    write_atomically(path, lambda beside: beside.write_text(html, encoding="utf-8"), force=force)
    return path


def page(told: Told, figures: Mapping[str, Any], since: str = "") -> str:
    """The page as text; the same agreement gives the same bytes."""
    return render(
        source_name(told.understood), about(told), figures, *chapter(first_screen(told, since), sections(told))
    )


@dataclass(frozen=True, slots=True)
class Top:
    """The contents of the first screen."""

    verdict: Verdict
    value: str
    words: str
    scale: Mapping[str, Any] | None = None
    """In percent: both intervals, the value, guessing and the target; and how all of it is spoken."""
    key: Sequence[tuple[str, str, str]] = ()
    """Kind of mark, whom it is for, and the figures."""
    levels: Sequence[tuple[str, str, float]] = ()
    """Kind of bar, in words, and its share of the items in percent."""
    steps: Sequence[tuple[NextStep, str]] = ()
    """Each step with the key by which its link filters the items."""
    checks: Sequence[Checked] = ()
    since: str = ""
    quote: str = ""
    measure: str = "agreement (SPA)"
    unit: str = " of items"

    @classmethod
    def of(
        cls,
        told: Said,
        whom: Mapping[str, str],
        *,
        marks: Mapping[str, float | None] = MappingProxyType({"guessing": None, "target": None}),
        spoken: str = "",
        **more: Any,
    ) -> Top:
        """A figure on its scale, with the intervals for ``whom`` and with other marks."""
        shown, words = told.shown, escape_controls(" ".join(told.words))
        if shown.value is None:
            return cls(told.verdict, "no number", words, **more)
        scale: dict[str, Any] = {"spoken": spoken, "value": 100 * shown.value, **dict.fromkeys(POPULATIONS)}
        key = []
        for name, who in whom.items():
            ends = shown.intervals[name]
            if ends.low is not None and ends.high is not None:
                scale[name] = (100 * ends.low, 100 * ends.high)
                key.append(("wide" if name == ANNOTATORS else "range", who, interval(ends).replace(" to ", "–")))
        for name, value in marks.items():
            scale[name] = None if value is None else 100 * value
            if value is not None:
                key.append((name, name, figure(value, 2) if name == "guessing" else f"{value:g}"))
        return cls(told.verdict, figure(shown.value), words, scale=scale, key=key, **more)


def first_screen(told: Told, since: str = "") -> Top:
    """Word the first screen."""
    findings, target = told.breakdowns.findings, told.target
    classes, people = class_keys(told.breakdowns), annotator_keys(told.breakdowns)
    steps = []
    for step in told.steps:
        keys = classes if step.code == CLASSES else people
        picks = [keys[name] for name in step.names if name in keys]
        if step.code == PERIOD and DATE.fullmatch(step.names[0]):
            picks = [f"d{day}" for day in step.names]
        steps.append((step, " ".join(picks) if len(picks) == len(step.names) else ""))
    if findings.spa.value is None:
        return Top.of(told, {}, steps=steps, since=since)
    levels: list[tuple[str, str, float]] = []
    found = there(told.breakdowns.levels)
    if found is not None:
        sizes = {"all": found.everybody, "most": found.majority, "none": found.nobody}
        levels = [(kind, LEVELS[kind], 100 * size / sum(sizes.values())) for kind, size in sizes.items()]
    guess = findings.chance["krippendorff_alpha"].expected
    by_chance = "" if guess is None else f", by chance {figure(guess)}"
    return Top.of(
        told,
        whom(findings.spa, findings.data.annotators),
        marks={"guessing": guess, "target": target},
        spoken=f"On a scale from 0 to 1: {figure(findings.spa.value)}, interval {interval(findings.spa)}{by_chance}",
        levels=levels,
        steps=steps,
        checks=[check for check in told.checked if check.state != "fine" or check.title in CHECKS],
        since=since,
        quote="" if told.verdict.state == "problem" else told.for_paper,
    )


def about(told: Told) -> str:
    """What was measured, in one line: annotations, items, people, classes, question, dates, tool."""
    data, understood = told.breakdowns.findings.data, told.understood
    size = f"{count(data.annotations, 'annotation')} of {count(data.items, 'item')}"
    size += "" if data.annotators is None else f" by {count(data.annotators, 'annotator')}"
    parts = [size]
    if data.labels:
        label, most = max(data.labels.items(), key=lambda each: (each[1], each[0]))
        share = percent(most / sum(data.labels.values()))
        parts.append(f"{count(data.classes, 'class', 'classes')}, {share} of labels are {quoted(label)}")
    question = told.source.options.get("question") if told.source else None
    if question:
        parts.append(f"question: {printable(str(question), 60)}")
    if there(told.breakdowns.development) is not None:
        steps = development_steps(told.breakdowns)
        ends = [each for each in (steps[0]["since"], steps[-1]["time"]) if is_date(each)]
        parts += [" to ".join(dict.fromkeys(moment(each)[:10] for each in ends))] if ends else []
    if understood is not None and understood.rules:
        parts.append(f"{understood.format} export")
    return " · ".join(parts)


def chapter(
    top: Top, sections: Sequence[Section], prefix: str = ""
) -> tuple[list[str], list[tuple[str, str]], dict[str, Any]]:
    """One question as HTML, the targets of its navigation, and its charts by name.

    ``prefix`` makes its ids unique on the page.
    """
    html = [template("top.html.j2").render(top=top, prefix=prefix), *(section_html(each, prefix) for each in sections)]
    links = [(f"{prefix}top", "Number"), *((f"{prefix}{each.id}", each.short) for each in sections)]
    return html, links, {f"{prefix}{name}": spec for name, spec in specs(sections).items()}


def section_html(section: Section, prefix: str = "") -> str:
    """One section alone."""
    html: str = template("section.html.j2").render(section=section, prefix=prefix)
    return html


def specs(sections: Sequence[Section]) -> dict[str, Any]:
    """The charts of some sections as plain values, by name, also those that a reader opens."""
    parts = [inside for section in sections for part in section.parts for inside in (part, *part.get("parts", ()))]
    return {part["id"]: part["spec"] for part in parts if part["kind"] == "figure"}


def render(
    title: str,
    about: str,
    figures: Mapping[str, Any],
    body: Sequence[str],
    links: Sequence[tuple[str, str]],
    specs: Mapping[str, Any],
) -> str:
    """The whole page, with embedded scripts and styles, whose hashes are in its policy.

    ``figures`` are those of the documented JSON, for programs and for later reports.
    """
    style, script = own_file("style.css"), own_file("script.js")
    html: str = template("page.html.j2").render(
        title=title,
        about=about,
        links=links,
        body=body,
        version=__version__,
        policy=policy([drawing_library(), script], style),
        style=style,
        script=script,
        library=packed_library(),
        licence=own_file("library-licence.txt"),
        figures=in_script(figures),
        specs=in_script(specs),
        theme=in_script(theme(PAGE)),
    )
    return html


# Several questions on one page --------------------------------------------------------------------


OVERVIEW = columns("question:name; value=SPA; interval; items:count=items used; found:words")


def questions_page(title: str, questions: Mapping[str, tuple[Told, str] | str], figures: Mapping[str, Any]) -> str:
    """One page for all questions: what is said about each and what changed, or why it has no figures."""
    rows: list[dict[str, Any]] = []
    body, links, specs = [""], [("questions", "Overview")], dict[str, Any]()
    for place, (name, each) in enumerate(questions.items()):
        if isinstance(each, str):
            continue
        told, since = each
        findings, prefix = told.breakdowns.findings, f"q{place + 1}-"
        said = {"items": findings.data.pairable_items, "found": f"{told.verdict.icon} {told.verdict.sentence}"}
        rows.append({"question": name, **in_figures(findings.spa), **said})
        html, within, drawn = chapter(first_screen(told, since), sections(told), prefix)
        shown = {"name": name, "about": about(told), "prefix": prefix, "body": html, "links": within[1:]}
        body.append(template("question.html.j2").render(shown))
        links.append((f"{prefix}question", printable(name, 30)))
        specs |= drawn
    failed = {name: why for name, why in questions.items() if isinstance(why, str)}
    nothing = dict.fromkeys(("value", "low", "high", "items"))
    rows += [{"question": name, **nothing, "found": f"✕ Not measured: {why}"} for name, why in failed.items()]
    overview = table("overview", "Agreement of each question", rows, OVERVIEW)
    body[0] = section_html(Section("questions", "Overview", "All questions", [overview]))
    return render(title, f"{count(len(rows), 'question')}, measured separately", figures, body, links, specs)


# What a page embeds --------------------------------------------------------------------------------


def policy(scripts: Sequence[str], style: str) -> str:
    """The policy: nothing is loaded or sent, and only embedded scripts run.

    >>> policy(["alert(1)"], "a{}").split("; ")[0]
    "default-src 'none'"
    """
    run = " ".join(_hash(script) for script in scripts) or "'none'"
    return f"default-src 'none'; script-src {run}; style-src {_hash(style)}; base-uri 'none'; form-action 'none'"


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def in_script(values: Any) -> str:
    r"""JSON that is safe inside a script element: no text in it can close the element or open another.

    >>> print(in_script({"label": "</script>"}))
    {"label": "\u003c/script>"}
    """
    text = json.dumps(values, ensure_ascii=False, allow_nan=False, sort_keys=True)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


@cache
def drawing_library() -> str:
    """Vega, Vega-Lite and vega-embed as one script, which draws the charts in the reader's browser."""
    return no_end_of_script(own_file(LIBRARY))


@cache
def packed_library() -> str:
    """The library in two fifths of the space: deflated and base64-encoded; the page's script unpacks it."""
    deflate = zlib.compressobj(level=9, wbits=-zlib.MAX_WBITS)
    return base64.b64encode(deflate.compress(drawing_library().encode()) + deflate.flush()).decode()


def no_end_of_script(code: str) -> str:
    r"""Code that is safe inside a script element; in its string literals the escape means the same.

    >>> print(no_end_of_script('"</script></SCRIPT>"'))
    "<\/script><\/SCRIPT>"
    """
    return re.sub(r"</(?=script)", r"<\\/", code, flags=re.IGNORECASE)


@cache
def own_file(name: str, package: str = FOLDER) -> str:
    """A style or script of a page."""
    return resources.files(package).joinpath(name).read_text("utf-8")


@cache
def _environment(package: str, folder: str) -> Any:
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
    except ImportError:
        raise MissingExtraError("report", "writing a report") from None
    loader = PackageLoader(package, folder)
    jinja = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    jinja.filters["dates"] = _whole_dates
    return jinja


def _whole_dates(text: str) -> str:
    """The text with dates that no line break splits.

    >>> print(_whole_dates("<b> 2024-03-01 14:05"))
    &lt;b&gt; <span class="date">2024-03-01 14:05</span>
    """
    from markupsafe import Markup, escape

    return Markup(DATE.sub(r'<span class="date">\g<0></span>', str(escape(text))))  # noqa: S704 (escaped)


def template(name: str, package: str = FOLDER, folder: str = "templates") -> Any:
    """One template, ready to render."""
    return _environment(package, folder).get_template(name)
