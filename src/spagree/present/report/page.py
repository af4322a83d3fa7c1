"""Sections → HTML. Labels are hostile until proven otherwise: everything is escaped, and the page's policy lets
nothing run but the scripts it brings, each known by its hash.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from spagree.errors import MissingExtraError
from spagree.estimate import Findings
from spagree.present.charts.theme import PAGE, theme
from spagree.present.report.parts import Figure, Section, Verdict
from spagree.present.sentence import by_chance, in_words, interval_name
from spagree.present.wording import escape_controls, figure, interval

FOLDER = "spagree.present.report"
DRAWING_LIBRARY = "window.vegaEmbed = vegaEmbed;"


@dataclass(frozen=True, slots=True)
class Headline:
    """The first thing seen: the number, its interval, what it means."""

    source: str
    value: str
    interval: str
    words: str
    chance: str
    checks: Verdict
    bar: tuple[float, float, float, float | None] | None
    """Lower end, value, upper end and agreement by chance, in percent of the scale."""


def headline(findings: Findings, source: str, checks: Verdict) -> Headline:
    """What stands on top of the page."""
    spa, kappa = findings.spa, findings.chance["spa_kappa"]
    if spa.value is None:
        return Headline(source, "no number", "", escape_controls(in_words(findings)), "", checks, None)
    by_luck, chance = kappa.expected, by_chance(findings)
    ends = (spa.value if spa.low is None else spa.low, spa.value if spa.high is None else spa.high)
    bar = (ends[0] * 100, spa.value * 100, ends[1] * 100, None if by_luck is None else by_luck * 100)
    limits = "" if spa.low is None else f"{interval_name(spa)}: {interval(spa)}"
    return Headline(source, figure(spa.value), limits, escape_controls(in_words(findings)), chance, checks, bar)


def section_html(section: Section) -> str:
    """One section by itself, for a page that changes while it is read."""
    html: str = _template("section.html.j2").module.show(section)
    return html


def specs(sections: Sequence[Section]) -> dict[str, Any]:
    """The charts of some sections as plain values, by their names."""
    figures = [part for section in sections for part in section.parts if isinstance(part, Figure)]
    return {each.id: each.spec for each in figures if each.spec is not None}


def render(top: Headline, sections: Sequence[Section], version: str) -> str:
    """The whole page; scripts and styles stand in it with their hashes in its policy."""
    style, script, library = own_file("style.css"), own_file("script.js"), drawing_library()
    html: str = _template("page.html.j2").render(
        top=top,
        sections=sections,
        version=version,
        policy=policy([library, script], style),
        style=style,
        script=script,
        library=library,
        licence=own_file("library-licence.txt"),
        specs=in_script(specs(sections)),
        theme=in_script(theme(PAGE)),
    )
    return html


def policy(scripts: Sequence[str], style: str) -> str:
    """Nothing is fetched, nothing is sent, and only what stands in the page runs.

    >>> policy(["alert(1)"], "a{}").split("; ")[0]
    "default-src 'none'"
    """
    run = " ".join(_hash(script) for script in scripts) or "'none'"
    return f"default-src 'none'; script-src {run}; style-src {_hash(style)}; base-uri 'none'; form-action 'none'"


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def in_script(values: Any) -> str:
    r"""JSON that can stand in a script element: no text in it can close the element or open another.

    >>> print(in_script({"label": "</script>"}))
    {"label": "\u003c/script>"}
    """
    text = json.dumps(values, ensure_ascii=False, allow_nan=False, sort_keys=True)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


@cache
def drawing_library() -> str:
    """Vega, Vega-Lite and vega-embed as one script: what draws the charts in the reader's browser."""
    import vl_convert

    return no_end_of_script(vl_convert.javascript_bundle(DRAWING_LIBRARY))


def no_end_of_script(code: str) -> str:
    r"""Code that can stand in a script element; in the texts of a program the sign means the same.

    >>> print(no_end_of_script('"</script></SCRIPT>"'))
    "<\/script><\/SCRIPT>"
    """
    return re.sub(r"</(?=script)", r"<\\/", code, flags=re.IGNORECASE)


def own_file(name: str) -> str:
    """A style, script or template of the page."""
    return resources.files(FOLDER).joinpath(name).read_text("utf-8")


def _template(name: str) -> Any:
    try:
        from jinja2 import Environment, FunctionLoader, StrictUndefined
    except ImportError:
        raise MissingExtraError("charts", "writing a report") from None
    environment = Environment(
        loader=FunctionLoader(own_file),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.tests["figure"] = lambda part: isinstance(part, Figure)
    environment.filters["kind"] = lambda part: type(part).__name__.lower()
    return environment.get_template(name)
