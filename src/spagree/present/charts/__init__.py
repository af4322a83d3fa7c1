"""Every chart, drawn once with Altair and saved as SVG, PDF or PNG without a browser or a network.

A chart takes plain rows (dictionaries), so any stage can use it. This module has what all charts need, and the
studies' lines and points; there is one module per kind of chart:

    theme           colours and fonts, for paper and for pages that are light or dark
    interval_lines  figures with their intervals: schemes, numbers of annotations, coefficients, classes, annotators
    heat            confused classes, pairs of annotators
    network         who annotated items together
    spread          distribution of item agreement, agreement over time, precision from more annotations
    board           agreement.charts: one function per chart
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Any

from spagree.errors import MissingExtraError
from spagree.write import write_atomically

FORMATS = ("svg", "pdf", "png")
Rows = Sequence[Mapping[str, Any]]

# Okabe and Ito's colours, which colour-blind readers can tell apart.
SCHEME_COLOURS = {
    "flat": "#000000",
    "annotations": "#E69F00",
    "annotations_m1": "#0072B2",
    "edge": "#009E73",
    "inv_var": "#F0E442",
    "inv_var_class": "#CC79A7",
    "adaptive": "#D55E00",
}
WIDTH, HEIGHT, PNG_SCALE = 300, 190, 2.0
MOST_SPOKEN = 500


@dataclass(frozen=True, slots=True)
class Axis:
    """A column of the rows and its title; ``log`` for a logarithmic scale."""

    field: str
    title: str
    log: bool = False
    format: str = ""
    zero: bool = False


def lines(rows: Rows, x: Axis, y: Axis, colour: Axis, *, dash: Axis | None = None, detail: str | None = None) -> Any:
    """Lines by colour; ``dash`` distinguishes kinds of lines (the first is solid), ``detail`` lines of one colour."""
    alt = load_altair()
    encoded = {"x": _channel("X", x), "y": _channel("Y", y), "color": _colour(rows, colour)}
    if dash:
        legend = {"legend": None} if dash.field == colour.field else {}  # the colours already show it
        names = list(dict.fromkeys(row[dash.field] for row in rows))
        encoded["strokeDash"] = alt.StrokeDash(dash.field, type="nominal", title=dash.title, sort=names, **legend)
    if detail:
        encoded["detail"] = alt.Detail(detail, type="nominal")
    return _sized(chart_of(rows).mark_line(strokeWidth=1.4).encode(**encoded))


def points(rows: Rows, x: Axis, y: Axis, colour: Axis, *, size: int = 30, labels: bool = False) -> Any:
    """One point per row; with ``labels`` the vertical axis shows names, in row order."""
    alt = load_altair()
    names = list(dict.fromkeys(row[y.field] for row in rows)) if labels else None
    vertical = alt.Y(y.field, type="nominal", title=y.title, sort=names) if labels else _channel("Y", y)
    if labels:
        vertical = vertical.axis(labelLimit=260)
    spoken = len(rows) <= MOST_SPOKEN  # a screen reader cannot read out a cloud, and its text would be most of the file
    mark = chart_of(rows).mark_point(filled=True, size=size, opacity=0.75, aria=spoken)
    drawn = mark.encode(x=_channel("X", x), y=vertical, color=_colour(rows, colour))
    return drawn.properties(width=420) if labels else _sized(drawn)


def level(value: float, axis: str = "y") -> Any:
    """A thin dashed rule, for a reference value."""
    alt = load_altair()
    rule = chart_of([{"value": value}]).mark_rule(strokeDash=[3, 3], color="#888888")
    return rule.encode(**{axis: (alt.Y if axis == "y" else alt.X)("value", type="quantitative")})


def layered(*charts: Any) -> Any:
    """Charts drawn on the same axes."""
    return load_altair().layer(*charts)


def side_by_side(charts: Mapping[str, Any], *, columns: int = 2, own_colours: bool = False) -> Any:
    """Charts in a grid, each with a title and separate axes."""
    alt = load_altair()
    titled = [chart.properties(title=title) for title, chart in charts.items()]
    grid = alt.concat(*titled, columns=columns)
    return grid.resolve_scale(color="independent" if own_colours else "shared")


def captioned(chart: Any, title: str, caption: Sequence[str]) -> Any:
    """A title, with the caption in small letters below."""
    alt = load_altair()
    head = alt.TitleParams(title, subtitle=list(caption), anchor="start", subtitleColor="#555555")
    return chart.properties(title=head)


def save(chart: Any, stem: Path, formats: Sequence[str] = FORMATS) -> list[Path]:
    """Write the chart as ``stem`` in each format, replacing older files."""
    paths = [stem.with_name(f"{stem.name}.{format}") for format in formats]
    drawn = StringIO()
    chart.save(drawn, format="svg")
    for path, format in zip(paths, formats, strict=True):
        write_atomically(path, partial(_write_as, format, drawn.getvalue()), force=True)
    return paths


def _write_as(format: str, svg: str, path: Path) -> None:
    """Convert the drawn chart, which is much faster than drawing it again."""
    import vl_convert

    if format == "png":
        path.write_bytes(vl_convert.svg_to_png(svg, scale=PNG_SCALE))
    elif format == "pdf":
        path.write_bytes(vl_convert.svg_to_pdf(svg))
    else:
        path.write_text(svg, "utf-8")


def load_altair() -> Any:
    """Altair with its converter, or the extra to install."""
    try:
        import altair
        import vl_convert  # noqa: F401 (altair calls it when it saves)
    except ImportError:
        raise MissingExtraError("charts", "drawing charts") from None
    return altair


def chart_of(rows: Rows) -> Any:
    """A chart that contains its rows."""
    alt = load_altair()
    return alt.Chart(alt.InlineData(values=[dict(row) for row in rows]))


def _sized(chart: Any) -> Any:
    return chart.properties(width=WIDTH, height=HEIGHT)


def _channel(name: str, axis: Axis) -> Any:
    """Few ticks on a logarithmic axis, since a grid line for every digit would hide the curves."""
    alt = load_altair()
    scale = alt.Scale(type="log") if axis.log else alt.Scale(zero=axis.zero)
    channel = getattr(alt, name)(axis.field, type="quantitative", title=axis.title, scale=scale)
    options = {"format": axis.format} if axis.format else {}
    return channel.axis(**options, **({"tickCount": 4} if axis.log else {}))


def _colour(rows: Rows, axis: Axis) -> Any:
    """Fixed colours for weighting schemes, a ramp for numbers, the default colours for other names."""
    alt = load_altair()
    values = list(dict.fromkeys(row[axis.field] for row in rows))
    if set(values) <= set(SCHEME_COLOURS):
        shown = [name for name in SCHEME_COLOURS if name in values]
        scale = alt.Scale(domain=shown, range=[SCHEME_COLOURS[name] for name in shown])
        return alt.Color(axis.field, type="nominal", title=axis.title, scale=scale)
    if all(isinstance(value, float) for value in values):
        return alt.Color(axis.field, type="quantitative", title=axis.title, scale=alt.Scale(scheme="viridis"))
    if all(isinstance(value, int) for value in values):
        return alt.Color(axis.field, type="ordinal", title=axis.title, scale=alt.Scale(scheme="viridis"))
    return alt.Color(axis.field, type="nominal", title=axis.title)
