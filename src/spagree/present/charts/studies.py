"""Charts of studies, plans and comparisons: rows in, Vega-Lite as plain values out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from spagree.errors import DataError
from spagree.estimate.weights import SCHEMES
from spagree.present.charts.save import to_altair
from spagree.present.charts.spec import CHOSEN, OTHER, Rows, Spec, across, theme, values
from spagree.present.sentences import ROUTES, pair_name
from spagree.present.tables import in_figures
from spagree.present.words import printable

if TYPE_CHECKING:
    from spagree.estimate.comparison import Compared
    from spagree.estimate.models import ModelFindings

# Okabe and Ito's colours, which colour-blind readers can tell apart.
COLOURS = ("#000000", "#E69F00", "#0072B2", "#009E73", "#F0E442", "#CC79A7", "#56B4E9", "#D55E00")
SCHEME_COLOURS = dict(zip(SCHEMES, COLOURS, strict=False))
WIDTH, HEIGHT, WIDER = 300, 190, 420
MOST_SPOKEN = 500


@dataclass(frozen=True, slots=True)
class Axis:
    """A column of the rows and its title; ``log`` for a logarithmic scale."""

    field: str
    title: str
    log: bool = False
    format: str = ""
    zero: bool = False


def lines(rows: Rows, x: Axis, y: Axis, colour: Axis, *, dash: Axis | None = None, detail: str | None = None) -> Spec:
    """Lines by colour; ``dash`` tells kinds of lines apart (the first is solid), ``detail`` those of one colour."""
    encoding = {"x": _figures(x), "y": _figures(y), "color": _colour(rows, colour)}
    if dash:
        encoding["strokeDash"] = _names(rows, dash)
        if dash.field == colour.field:  # the colours already show it
            encoding["strokeDash"]["legend"] = None
    if detail:
        encoding["detail"] = {"field": detail, "type": "nominal"}
    return _drawn(rows, {"type": "line", "strokeWidth": 1.4}, encoding)


def points(rows: Rows, x: Axis, y: Axis, colour: Axis, *, size: int = 30, labels: bool = False) -> Spec:
    """One point per row; with ``labels`` the vertical axis shows names, in row order."""
    spoken = len(rows) <= MOST_SPOKEN  # no screen reader can read out a cloud, which would be most of the file
    mark = {"type": "point", "filled": True, "size": size, "opacity": 0.75, "aria": spoken}
    encoding = {"x": _figures(x), "y": _figures(y), "color": _colour(rows, colour)}
    if not labels:
        return _drawn(rows, mark, encoding)
    encoding["y"] = {**_names(rows, y), "axis": {"labelLimit": 260}}
    return _drawn(rows, mark, encoding, width=WIDER)


def layered(*charts: Spec, own_colours: bool = False) -> Spec:
    """Charts drawn on the same axes."""
    together: Spec = {"layer": list(charts), "width": WIDTH, "height": HEIGHT}
    return {**together, "resolve": {"scale": {"color": "independent"}}} if own_colours else together


def side_by_side(charts: Mapping[str, Spec], *, columns: int = 2, own_colours: bool = False) -> Spec:
    """Charts in a grid, each with a title and separate axes."""
    titled = [{**chart, "title": title} for title, chart in charts.items()]
    scales = {"color": "independent" if own_colours else "shared"}
    return {"concat": titled, "columns": columns, "resolve": {"scale": scales}}


def captioned(chart: Spec, title: str, caption: Sequence[str]) -> Spec:
    """A title, with the caption in small letters below."""
    head = {"text": title, "subtitle": list(caption), "anchor": "start", "subtitleColor": "#555555"}
    return {**chart, "title": head}


def _drawn(rows: Rows, mark: Spec, encoding: Spec, **size: int) -> Spec:
    return {"data": values(rows), "mark": mark, "encoding": encoding, **(size or {"width": WIDTH, "height": HEIGHT})}


def _figures(axis: Axis) -> Spec:
    """Few ticks on a logarithmic axis, since a grid line for every digit would hide the curves."""
    scale: Spec = {"type": "log"} if axis.log else {"zero": axis.zero}
    ticks = {"tickCount": 4} if axis.log else {}
    shown = {"format": axis.format} if axis.format else {}
    channel = {"field": axis.field, "type": "quantitative", "title": axis.title}
    return {**channel, "scale": scale, "axis": {**shown, **ticks}}


def _names(rows: Rows, axis: Axis) -> Spec:
    """Names in the order of the rows."""
    names = list(dict.fromkeys(row[axis.field] for row in rows))
    return {"field": axis.field, "type": "nominal", "title": axis.title, "sort": names}


def _colour(rows: Rows, axis: Axis) -> Spec:
    """Fixed colours for weighting schemes, a ramp for numbers, the default colours for other names."""
    found = list(dict.fromkeys(row[axis.field] for row in rows))
    channel: Spec = {"field": axis.field, "type": "nominal", "title": axis.title}
    if set(found) <= set(SCHEME_COLOURS):
        shown = [name for name in SCHEME_COLOURS if name in found]
        channel["scale"] = {"domain": shown, "range": [SCHEME_COLOURS[name] for name in shown]}
    elif all(isinstance(value, float) for value in found):
        channel |= {"type": "quantitative", "scale": {"scheme": "viridis"}}
    elif all(isinstance(value, int) for value in found):
        channel |= {"type": "ordinal", "scale": {"scheme": "viridis"}}
    return channel


PER_ITEM = Axis("annotations_per_item", "annotations per item", format="~g")
MORE = Axis("more_annotations", "annotations to make", zero=True)
HALF_WIDTH = Axis("half_width", "± around the number", zero=True)
ROUTE = Axis("line", "")


def plan_chart(rows: Rows) -> Spec:
    """The plan as a chart: annotations by half-width, or by annotations per item.

    A route that brings every item to n has a point for that n.
    """
    defined = [{**row, "line": ROUTES[row["route"]]} for row in rows if not row.get("undefined")]
    if not defined:
        raise DataError(f"nothing to draw: {rows[0]['undefined']}")
    several = len({row["half_width"] for row in defined if "half_width" in row}) > 1
    shown = [row for row in defined if row["best"]] if several and "annotations" in defined[0] else defined
    x, y = (MORE, HALF_WIDTH) if several else (PER_ITEM, MORE)  # the axes depend on what the plan asks for
    if "annotations" not in defined[0]:  # not half-widths, but a budget or a requirement
        x, y = (PER_ITEM, MORE) if "require" in defined[0] else (PER_ITEM, HALF_WIDTH)
    return {**layered(lines(shown, x, y, ROUTE), points(shown, x, y, ROUTE, size=50)), "config": theme()}


def compared(sides: Rows, gaps: Rows, *, margin: float | None = None) -> Any:
    """Figures as rows, below them their differences; a margin is the line a model must stay above."""
    tips = {"name": "", "shown": "agreement", "interval": "interval"}
    above = across([{**row, "kind": CHOSEN} for row in sides], "agreement", tips)
    shown = [{**row, "kind": OTHER if row["low"] is None or row["low"] <= 0 <= row["high"] else CHOSEN} for row in gaps]
    reference, tips = 0.0 if margin is None else -margin, {**tips, "shown": "difference"}
    below = across(shown, "difference in agreement", tips, reference=reference, lowest=-1.0)
    own = {"scale": dict.fromkeys(("x", "y", "color"), "independent")}
    return to_altair({"vconcat": [above, below], "resolve": own})


def comparison_chart(comparison: Compared) -> Any:
    """Every data set with its interval; below, the differences with theirs."""
    sides = [{"name": printable(side.name), **in_figures(side.headline)} for side in comparison.sides]
    return compared(sides, [{"name": pair_name(pair), **in_figures(pair.difference)} for pair in comparison.pairs])


def models_chart(models: Mapping[str, ModelFindings]) -> Any:
    """People with each other and with each model; below, the differences with the margin."""
    findings = list(models.values())
    figures = []
    for model in findings:
        whose = f", items of {model.name}" if len(findings) > 1 else ""
        for name, one in ((f"two people{whose}", model.humans), (f"{model.name} and a person", model.with_humans)):
            figures.append({"name": printable(name, 30), **in_figures(one)})
    gaps = [{"name": printable(model.name, 30), **in_figures(model.difference)} for model in findings]
    return compared(figures, gaps, margin=findings[0].margin)
