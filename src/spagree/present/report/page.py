"""Sections → HTML. Labels may be hostile: everything is escaped, and the page's policy allows only its embedded
scripts, each identified by its hash.
"""

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
from typing import Any

from spagree import __version__
from spagree.errors import MissingExtraError, count, there
from spagree.estimate.actions import CLASSES, PERIOD
from spagree.estimate.breakdowns import Breakdowns
from spagree.estimate.uncertainty import ANNOTATORS, ITEMS, POPULATIONS, Interval
from spagree.present.charts.agreement import annotator_keys, class_keys, development_steps
from spagree.present.charts.spec import PAGE, theme
from spagree.present.next_steps import NextStep, Source, next_steps
from spagree.present.report.parts import Section, table
from spagree.present.report.sections import Told, sections, source_name
from spagree.present.sentences import headline, on_the_scale, whom
from spagree.present.tables import columns
from spagree.present.verdicts import Checked, Verdict, checked, paper_sentence, verdict
from spagree.present.words import escape_controls, figure, interval, moment, percent, printable, quoted
from spagree.read.annotations import Understood
from spagree.read.timestamps import is_date
from spagree.write import write_atomically

LEVELS = {"all": "all agree on", "most": "a majority on", "none": "no majority on"}
CHECKS = ("Precision", "Coverage", "Assumption", "Weights", "Beyond chance", "Overlap", "Annotators", "Left out")


def write_report(html: str, path: Path, *, force: bool = False) -> Path:
    """Write the page whole, or not at all."""
    write_atomically(path, lambda beside: beside.write_text(html, encoding="utf-8"), force=force)
    return path


def page(told: Told, figures: Mapping[str, Any], *, target: float | None = None, since: str = "") -> str:
    """The page as text; the same agreement gives the same bytes."""
    body = Chapter(first_screen(told, target, since), sections(told))
    return render(
        title=source_name(told.understood),
        about=about(told),
        links=body.links(),
        body=body.html(),
        specs=body.specs(),
        figures=figures,
    )


def tell(breakdowns: Breakdowns, understood: Understood | None, source: Source, target: float | None = None) -> Told:
    """Put the verdict, the checks and the steps into words, once for the whole page."""
    steps = next_steps(there(breakdowns.steps) or (), source.without_folders())
    found = checked(breakdowns)
    return Told(breakdowns, understood, source.options, verdict(breakdowns, target, found), found, steps)


@dataclass(frozen=True, slots=True)
class Scale:
    """The scale from 0 to 1 in percent: both intervals, the value, guessing and the target."""

    value: float
    these: tuple[float, float] | None
    others: tuple[float, float] | None
    guessing: float | None
    target: float | None
    spoken: str


@dataclass(frozen=True, slots=True)
class Do:
    """A next step on the page; ``pick`` is the key by which its link filters the items."""

    step: NextStep
    pick: str = ""


@dataclass(frozen=True, slots=True)
class Top:
    """The contents of the first screen."""

    verdict: Verdict
    value: str
    words: str
    scale: Scale | None
    key: tuple[tuple[str, str, str], ...]
    """Kind of mark, whom it is for, and the figures."""
    levels: tuple[tuple[str, str, float], ...]
    """Kind of bar, in words, and its share of the items in percent."""
    steps: tuple[Do, ...]
    checks: tuple[Checked, ...]
    since: str
    quote: str
    measure: str = "agreement (SPA)"
    of: str = " of items"


def first_screen(told: Told, target: float | None = None, since: str = "") -> Top:
    """Word the first screen."""
    findings = told.breakdowns.findings
    spa = findings.spa
    words = escape_controls(" ".join(headline(findings)))
    if spa.value is None:
        return Top(told.verdict, "no number", words, None, (), (), _to_do(told), (), since, "")
    ends = {name: ends_in_percent(spa.intervals.get(name)) for name in POPULATIONS}
    guess = findings.chance["krippendorff_alpha"].expected
    scale = Scale(
        100 * spa.value,
        ends[ITEMS],
        ends[ANNOTATORS],
        None if guess is None else 100 * guess,
        None if target is None else 100 * target,
        on_the_scale(findings),
    )
    key = [
        ("wide" if name == ANNOTATORS else "range", who, interval(spa.intervals[name]).replace(" to ", "–"))
        for name, who in whom(findings).items()
    ]
    key += [] if guess is None else [("guessing", "guessing", figure(guess, 2))]
    key += [] if target is None else [("target", "target", f"{target:g}")]
    quote = "" if told.verdict.state == "problem" else paper_sentence(told.breakdowns, told.verdict)
    checks = tuple(check for check in told.checked if check.state != "fine" or check.title in CHECKS)
    levels: list[tuple[str, str, float]] = []
    found = there(told.breakdowns.levels)
    if found is not None:
        sizes = {"all": found.everybody, "most": found.majority, "none": found.nobody}
        levels = [(kind, LEVELS[kind], 100 * size / sum(sizes.values())) for kind, size in sizes.items()]
    shown = figure(spa.value), words, scale, tuple(key), tuple(levels), _to_do(told)
    return Top(told.verdict, *shown, checks, since, quote)


def ends_in_percent(ends: Interval | None) -> tuple[float, float] | None:
    """Both limits on the scale, if there are any."""
    return None if ends is None or ends.low is None or ends.high is None else (100 * ends.low, 100 * ends.high)


def _to_do(told: Told) -> tuple[Do, ...]:
    classes, people = class_keys(told.breakdowns), annotator_keys(told.breakdowns)
    picked = []
    for step in told.steps:
        if step.code == PERIOD and DATE.fullmatch(step.names[0]):
            picked.append(Do(step, " ".join(f"d{day}" for day in step.names)))
            continue
        keys = classes if step.code == CLASSES else people
        known = [keys[name] for name in step.names if name in keys]
        picked.append(Do(step, " ".join(known) if len(known) == len(step.names) else ""))
    return tuple(picked)


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
    if told.options.get("question"):
        parts.append(f"question: {printable(str(told.options['question']), 60)}")
    if there(told.breakdowns.development) is not None:
        steps = development_steps(told.breakdowns)
        ends = [each for each in (steps[0]["since"], steps[-1]["time"]) if is_date(each)]
        parts += [" to ".join(dict.fromkeys(moment(each)[:10] for each in ends))] if ends else []
    if understood is not None and understood.rules:
        parts.append(f"{understood.format} export")
    return " · ".join(parts)


FOLDER = "spagree.present.report"
LIBRARY = "library.js"
DATE = re.compile(r"\d{4}-\d\d-\d\d(?: \d\d:\d\d)?")


@dataclass(frozen=True, slots=True)
class Chapter:
    """One question: its first screen and its sections; ``prefix`` makes its ids unique on the page."""

    top: Top
    sections: Sequence[Section]
    prefix: str = ""

    def html(self) -> list[str]:
        """The first screen and every section, as separate pieces."""
        top = template("top.html.j2").render(top=self.top, prefix=self.prefix)
        return [top, *(section_html(each, self.prefix) for each in self.sections)]

    def links(self) -> list[tuple[str, str]]:
        """The targets of the navigation."""
        return [(self.prefix + "top", "Number"), *((self.prefix + each.id, each.short) for each in self.sections)]

    def specs(self) -> dict[str, Any]:
        """The charts by name."""
        return {self.prefix + name: spec for name, spec in specs(self.sections).items()}


def section_html(section: Section, prefix: str = "") -> str:
    """One section alone, for a page that updates while it is open."""
    html: str = template("section.html.j2").render(section=section, prefix=prefix)
    return html


def specs(sections: Sequence[Section]) -> dict[str, Any]:
    """The charts of some sections as plain values, by name."""
    return {figure.id: figure.spec for section in sections for figure in section.figures}


def render(
    *,
    title: str,
    about: str,
    links: Sequence[tuple[str, str]],
    body: Sequence[str],
    specs: Mapping[str, Any],
    figures: Mapping[str, Any],
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


# Several questions on one page --------------------------------------------------------------------


OVERVIEW = columns("question:name spa interval items:count found:words", {"spa": "SPA", "items": "items used"})


@dataclass(frozen=True, slots=True)
class Question:
    """A measured question."""

    name: str
    told: Told
    chapter: Chapter

    @property
    def about(self) -> str:
        """What was measured."""
        return about(self.told)


def questions_page(
    title: str, questions: Sequence[Question], failed: Mapping[str, str], figures: Mapping[str, Any]
) -> str:
    """One page for all questions; ``failed`` maps those without figures to the reason."""
    rows: list[dict[str, Any]] = []
    for each in questions:
        findings, said = each.told.breakdowns.findings, each.told.verdict
        ends = {"spa": findings.spa.value, "low": findings.spa.low, "high": findings.spa.high}
        more = {"items": findings.data.pairable_items, "found": f"{said.icon} {said.sentence}"}
        rows.append({"question": each.name, **ends, **more})
    nothing = dict.fromkeys(("spa", "low", "high", "items"))
    rows += [{"question": name, **nothing, "found": f"✕ Not measured: {why}"} for name, why in failed.items()]
    overview = table("overview", "Agreement of each question", rows, OVERVIEW)
    body = [section_html(Section("questions", "Overview", "All questions", "", [overview]))]
    links: list[tuple[str, str]] = [("questions", "Overview")]
    specs: dict[str, Any] = {}
    for each in questions:
        shown = {"question": each, "body": each.chapter.html(), "links": each.chapter.links()[1:]}
        body.append(template("question.html.j2").render(shown))
        links.append((f"{each.chapter.prefix}question", printable(each.name, 30)))
        specs |= each.chapter.specs()
    about = f"{count(len(rows), 'question')}, measured separately"
    return render(title=title, about=about, links=links, body=body, specs=specs, figures=figures)
