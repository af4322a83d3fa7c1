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
from typing import Any

from spagree.errors import MissingExtraError
from spagree.present.charts.spec import PAGE, theme
from spagree.present.report.parts import Figure, Section
from spagree.present.report.top import Top
from spagree.version import __version__

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
    figures = [part for section in sections for part in section.parts if isinstance(part, Figure)]
    return {each.id: each.spec for each in figures if each.spec is not None}


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
