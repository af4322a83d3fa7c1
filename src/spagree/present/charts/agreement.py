"""Every chart of an agreement and of the monitor: breakdowns → plain rows → Vega-Lite as plain values.

A page draws these itself; :class:`Charts` makes them for notebooks and files. A chart that cannot be drawn raises
the reason: there is no number, or a breakdown is absent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, date, datetime
from math import isfinite
from typing import Any

from spagree.errors import DataError, count, known, there
from spagree.estimate.annotators import mean_agreement
from spagree.estimate.breakdowns import MOST_PEOPLE, Breakdowns
from spagree.estimate.missingness import in_ranges
from spagree.estimate.uncertainty import FEW_ITEMS
from spagree.present.charts.save import to_altair
from spagree.present.charts.spec import (
    APART,
    CHOSEN,
    FEW,
    KINDS,
    OTHER,
    ROW_HEIGHT,
    Rows,
    Spec,
    Tips,
    across,
    along,
    category,
    domain,
    layer,
    layered,
    quantity,
    tooltip,
)
from spagree.present.next_steps import people_named
from spagree.present.sentences import group_lines
from spagree.present.tables import figures, in_figures
from spagree.present.words import (
    chips,
    figure,
    moment,
    percent,
    printable,
    short_names,
    shortest_unique,
    without_midnight,
)
from spagree.read.timestamps import is_date, unix_seconds

CELL, LARGEST, SMALLEST = 44, 560, 200
MOST_WORDS = 12  # rows up to which numbers fit in the cells
SHORT = 4  # letters of a name that fits above its column
MANY, SMALL = 24, 8  # names from which letters are small
FAINTEST, STRONGEST = 0.06, 0.5  # opacities of a colour on which the page's text is still readable
MOST_CLASSES = 16  # rows of a table whose names are still readable
MOST_BARS = 8  # pairs of classes
MOST_BUSY, MOST_APART = 10, 12  # annotators
HALF_A_PERCENT = 0.005
WHOLE = 120  # characters of a name in a tooltip
NAME, AXIS = 28, 17  # characters of a name, and of those that an axis shows in full
FEWEST_LETTERS = 4  # of each option of a set
NO_OPTION = "none"
DAY = 86_400.0
LONG_SPAN, SHORT_SPAN = 150 * DAY, 3 * DAY  # spans labelled by months, and by hours
DEVELOPMENT = (
    ("so far", "spa", "low", "high", "items"),
    ("items finished last", "recent", "recent_low", "recent_high", "recent_items"),
)
AGREEMENT = {"shown": "agreement", "interval": "interval"}

Row = dict[str, Any]


# Names and keys -----------------------------------------------------------------------------------


def _class_names(classes: Iterable[str]) -> dict[str, str]:
    """Short names; an empty set of options is called as on the cards.

    >>> _class_names(["[]", "price"]), _class_names(["[]", "none"])
    ({'[]': 'none', 'price': 'price'}, {'[]': '[]', 'none': 'none'})
    """
    given = list(classes)
    names = short_names(given, NAME, {name: _short_class(name) for name in given})
    return {name: NO_OPTION if name == "[]" and NO_OPTION not in names else shown for name, shown in names.items()}


def _short_class(label: str) -> str:
    """A class on an axis; of a set, every option is shown, shortened if the axis has no room for all of it.

    >>> _short_class("location|price and value"), _short_class('["cleanliness of rooms", "location"]')
    ('location|price a…', 'cleanli…|location')
    """
    options = [] if label == "[]" else list(chips(label)) or label.split("|")
    if len(options) <= 1 or (len(label) <= AXIS and not chips(label)):
        return printable(label, NAME)
    room = max(FEWEST_LETTERS, (AXIS + 1) // len(options) - 1)
    return printable("|".join(printable(option, room) for option in options), NAME)


def class_keys(breakdowns: Breakdowns) -> dict[str, str]:
    """The key of each class on a page: its position among all, in order."""
    findings = breakdowns.findings
    return {label: str(place) for place, label in enumerate(in_order(findings.data.labels, findings.order))}


def annotator_keys(breakdowns: Breakdowns) -> dict[str, str]:
    """The key of each annotator on a page."""
    people = there(breakdowns.annotators)
    return {} if people is None else {name: f"a{place}" for place, name in enumerate(sorted(people["annotator"]))}


def _people_names(breakdowns: Breakdowns, chosen: Sequence[str]) -> dict[str, str]:
    """Short names of some annotators, by which they are told from all others."""
    return short_names(chosen, NAME, shortest_unique(annotator_keys(breakdowns)))


def in_order(labels: Iterable[str], order: Sequence[str] = ()) -> list[str]:
    """Classes in the given order, or as numbers from low to high, or as words.

    >>> in_order(("10", "9", "-1.5")), in_order(("high", "low"), ["low", "high"])
    (['-1.5', '9', '10'], ['low', 'high'])
    """
    classes = sorted(labels)
    if order and set(classes) <= set(order):
        return sorted(classes, key=order.index)
    try:
        values = {label: float(label) for label in classes}
    except ValueError:
        return classes
    return sorted(classes, key=lambda label: values[label]) if all(map(isfinite, values.values())) else classes


# Figures on one scale -----------------------------------------------------------------------------


def scheme_rows(breakdowns: Breakdowns) -> list[Row]:
    """Every scheme, the chosen one marked; custom weights come last."""
    spa, schemes = breakdowns.findings.spa, breakdowns.findings.schemes
    return [
        {"name": name, **in_figures(each), "kind": CHOSEN if name == spa.weights else OTHER}
        for name, each in {**schemes, spa.weights: spa}.items()
    ]


def schemes(breakdowns: Breakdowns) -> Spec:
    """SPA under every weighting scheme, with the chosen one marked."""
    tips = {"name": "scheme", **AGREEMENT}
    return across(scheme_rows(breakdowns), "agreement", tips, reference=breakdowns.findings.spa.value)


def by_n_rows(breakdowns: Breakdowns) -> list[Row]:
    """Agreement of the items with n annotations: for each n, or for ranges if there are many."""
    return [
        {"name": row.name, **in_figures(row.agreement), "items": f"{row.items:,}", "many": row.items}
        | {"kind": FEW if row.items < FEW_ITEMS else CHOSEN}
        for row in in_ranges(breakdowns.findings.missingness.by_n)
    ]


def by_n(breakdowns: Breakdowns) -> Spec:
    """Agreement of items by their number of annotations: flat if SPA's assumption holds."""
    by_n = breakdowns.findings.missingness.by_n
    if len(by_n) == 1:
        same = count(by_n[0].n, "annotation")
        raise DataError(f"every item that was used has {same}: there is nothing to compare")
    tips, title = {"name": "annotations", "items": "items", **AGREEMENT}, "annotations of the item"
    return along(by_n_rows(breakdowns), title, "agreement", tips, reference=breakdowns.findings.spa.value)


def groups(breakdowns: Breakdowns) -> Spec:
    """Agreement of each group, and between groups of annotators; hollow if it rests on few items."""
    lines = [line for line in group_lines(known(breakdowns.groups)) if line.spa.value is not None]
    names = short_names((line.name for line in lines), NAME)
    rows = [
        {"name": names[line.name], **in_figures(line.spa), "size": count(line.items, "item")}
        | {"kind": FEW if line.items < FEW_ITEMS else CHOSEN}
        for line in lines
    ]
    return across(rows, "agreement", {"name": "group", **AGREEMENT, "size": "rests on"})


def annotators(breakdowns: Breakdowns) -> Spec:
    """Who stands out, in colour, beside the busiest, by upper ends of intervals; dashed: the mean of all."""
    people = known(breakdowns.annotators)
    defined = [row for row in people.rows(named=True) if row["agreement"] is not None]
    named_by = people_named(there(breakdowns.steps) or ())
    apart = [row for row in defined if row["stands_out"] or row["annotator"] in named_by]
    apart_first = sorted(apart, key=lambda row: -row["annotations"])[:MOST_APART]
    busiest = sorted(defined, key=lambda row: (-row["annotations"], row["annotator"]))[:MOST_BUSY]
    drawn = {row["annotator"]: row for row in (*apart_first, *busiest)}
    chosen = sorted(drawn.values(), key=lambda row: (row["high"] is None, row["high"] or 0.0, row["annotator"]))
    names, keys = _people_names(breakdowns, [row["annotator"] for row in chosen]), annotator_keys(breakdowns)
    out = {row["annotator"] for row in apart}
    rows = [
        {"name": names[row["annotator"]], **figures(row["agreement"], row["low"], row["high"])}
        | {"kind": APART if row["annotator"] in out else FEW if row["few"] else OTHER}
        | {"size": count(row["shared"], "item"), "pick": keys.get(row["annotator"], "")}
        for row in chosen
    ]
    tips = {"name": "annotator", **AGREEMENT, "size": "rests on"}
    return across(rows, "agreement with the others", tips, reference=mean_agreement(people))


# Pairs of classes and of people -------------------------------------------------------------------


def confusion_rows(breakdowns: Breakdowns) -> list[Row]:
    """Pairs of classes with their share of all disagreement, the largest first, and that by chance."""
    pairs, keys = known(breakdowns.confusion).rows(named=True), class_keys(breakdowns)
    names = _class_names(dict.fromkeys(row[side] for row in pairs for side in ("class", "other")))
    rest = OTHER if any(row["more"] for row in pairs) else CHOSEN
    return [
        {"one": names[row["class"]], "two": names[row["other"]], "value": row["share"], "expected": row["expected"]}
        | {"first": printable(row["class"], WHOLE), "second": printable(row["other"], WHOLE)}
        | {"shown": percent(row["share"]), "chance": percent(row["expected"]), "size": count(row["items"], "item")}
        | {"pick": f"{keys[row['class']]} {keys[row['other']]}", "kind": APART if row["more"] else rest}
        for row in pairs
    ]


def confusion(breakdowns: Breakdowns) -> Spec:
    """Pairs of classes by their share of all disagreement; marks: the share by chance, in colour: clearly more."""
    rows = [{**row, "name": f"{row['one']} vs {row['two']}"} for row in confusion_rows(breakdowns)[:MOST_BARS]]
    if not rows:
        raise DataError("nobody disagrees")
    x = quantity("value", "share of all disagreements", {"zero": True, "nice": True}, format="%", grid=False)
    tips = {"first": "class", "second": "against", "shown": "of all disagreements", "chance": "by chance", "size": "on"}
    layers = [
        layer("bar", {"x": x, "y": category(), "color": KINDS, "tooltip": tooltip(tips)}, height={"band": 0.6}),
        layer("tick", {"x": {**x, "field": "expected"}, "y": category()}, thickness=2, style="reference"),
    ]
    return layered(rows, layers, height=ROW_HEIGHT * max(2, len(rows)))


def matrix(breakdowns: Breakdowns) -> Spec:
    """The same of the classes confused most, as a matrix: stronger colours for larger shares."""
    pairs = confusion_rows(breakdowns)
    chosen = list(dict.fromkeys(row[side] for row in pairs for side in ("one", "two")))[:MOST_CLASSES]
    if len(chosen) < 3:  # noqa: PLR2004 (two classes form one pair)
        raise DataError("two classes form one pair")
    names = _class_names(in_order(breakdowns.findings.data.labels, breakdowns.findings.order))
    shown = [name for name in names.values() if name in chosen]
    place = {name: rank for rank, name in enumerate(shown)}
    rows: list[Row] = []
    for row in pairs:
        if row["one"] in place and row["two"] in place:
            low, high = sorted((row["one"], row["two"]), key=lambda name: place[name])
            words = row["shown"] if row["value"] >= HALF_A_PERCENT else "<1%"
            rows.append({**row, "down": high, "across": low, "words": words})
    strength = {"domain": [0, max(row["value"] for row in rows)], "range": [0.0, STRONGEST]}
    tips = {"first": "class", "second": "against", "shown": "of all disagreements", "size": "on"}
    return _triangle(rows, shown, ("class", "against"), strength, None, tips, "confused")


def pairs(breakdowns: Breakdowns) -> Spec:
    """Agreement of the busiest annotators who share enough items, each pair once, more in stronger colours."""
    everybody, met = known(breakdowns.annotators), known(breakdowns.pairs)  # least agreement first
    by_pair = {frozenset((row["annotator"], row["other"])): row for row in met.rows(named=True) if not row["few"]}
    anybody = {*met["annotator"], *met["other"]}
    busiest = everybody.sort("annotations", "annotator", descending=[True, False])["annotator"]
    drawn = set([name for name in busiest if name in anybody][:MOST_PEOPLE])
    drawn &= {name for pair in by_pair for name in pair}
    chosen = [name for name in everybody["annotator"] if name in drawn]
    names = _people_names(breakdowns, chosen)
    rows: list[Row] = []
    for place, one in enumerate(chosen):
        for other in chosen[:place]:
            row = by_pair.get(frozenset((one, other)))
            if row is not None:
                where = {"down": names[one], "across": names[other], "words": figure(row["agreement"], 2)}
                shown = figures(row["agreement"], row["low"], row["high"])
                rows.append({**where, **shown, "size": count(row["shared"], "item")})
    if not rows:
        raise DataError(f"no two annotators share {FEW_ITEMS} items or more, so pairs are not shown")
    ordered = list(dict.fromkeys(row[side] for side in ("across", "down") for row in rows))
    strength = {"domain": domain(row["value"] for row in rows), "range": [FAINTEST, STRONGEST]}
    legend = {"orient": "bottom", "tickCount": 3, "title": "agreement", "symbolType": "square"}
    tips = {"down": "annotator", "across": "other", **AGREEMENT, "size": "shared"}
    return _triangle(rows, ordered, ("annotator", "other"), strength, legend, tips, "met")


def _triangle(
    rows: Rows, names: list[str], titles: tuple[str, str], strength: Spec, legend: Spec | None, tips: Tips, style: str
) -> Spec:
    """A cell for each pair, as large as the names need, with numbers in the cells if they fit.

    The two axes have the same names in the same order, without the first and the last.
    """

    def named(shown: list[str], **channel: Any) -> Spec:
        return {"type": "nominal", "sort": shown, "scale": {"domain": shown}, **channel}

    small = {"labelFontSize": SMALL} if len(names) > MANY else {}
    is_short = max(map(len, names), default=0) <= SHORT
    top = {"labelAngle": 0 if is_short else -45, "labelLimit": 110, "orient": "top", **small}
    places = {
        "y": named(names[1:], field="down", title=titles[0], axis={"labelLimit": 120, **small}),
        "x": named(names[:-1], field="across", title=titles[1], axis=top),
    }
    scale = {**strength, "clamp": True, "zero": False, "nice": False}
    opacity = {"field": "value", "type": "quantitative", "scale": scale, "legend": legend}
    layers = [layer("rect", {**places, "fillOpacity": opacity, "tooltip": tooltip(tips)}, style=style)]
    if len(names) <= MOST_WORDS:
        words = {**places, "text": {"field": "words", "type": "nominal"}}
        layers.append(layer("text", words, where="datum.words != ''", fontSize=11, aria=False, style="name"))
    side = max(SMALLEST, min(LARGEST, CELL * (len(names) - 1)))
    return layered(rows, layers, width=side, height=side)


# Time ---------------------------------------------------------------------------------------------


def development_steps(breakdowns: Breakdowns) -> list[Row]:
    """Agreement over time with times as numbers and in words; milliseconds since 1970 become seconds."""
    rows = known(breakdowns.development).rows(named=True)
    times, since = ([seconds(row[name]) for row in rows] for name in ("time", "since"))
    scale = 1000 if times and all(is_date(time / 1000) for time in times) else 1
    words = without_midnight([moment(time / scale) for time in times])
    ends = zip(rows, times, since, words, strict=True)
    return [{**row, "time": time / scale, "since": start / scale, "when": when} for row, time, start, when in ends]


def seconds(time: Any) -> float:
    """A moment as a number: seconds since 1970, or the number in the data."""
    if isinstance(time, datetime):
        return unix_seconds(time)
    if isinstance(time, date):
        return datetime(time.year, time.month, time.day, tzinfo=UTC).timestamp()
    return float(time)


def development_rows(breakdowns: Breakdowns) -> list[Row]:
    """Agreement so far and on the items finished last."""
    steps = development_steps(breakdowns)
    scale = 1000 if all(is_date(row["time"]) for row in steps) else 1
    return [
        {"kind": kind, "time": row["time"] * scale, "when": row["when"], "size": count(row[size], "item")}
        | figures(row[name], row[low], row[high])
        for row in steps
        for kind, name, low, high, size in DEVELOPMENT
        if row[name] is not None
    ]


def development(breakdowns: Breakdowns) -> Spec:
    """Agreement over time, of all items so far and of those finished last, with intervals."""
    rows = development_rows(breakdowns)
    kinds, times = list(dict.fromkeys(row["kind"] for row in rows)), [row["time"] for row in rows]
    x = quantity("time", "time", {"zero": False, "nice": False})
    if are_dated(times):  # in UTC, every label with its year
        span = (max(times) - min(times)) / 1000
        format = "%b %Y" if span > LONG_SPAN else "%-d %b %Y" if span > SHORT_SPAN else "%-d %b %Y, %H:%M"
        axis = {"format": format, "tickCount": 4, "labelAngle": 0, "labelFlush": True, "labelOverlap": "greedy"}
        scale = {"type": "utc", "nice": False}
        x = {"field": "time", "type": "temporal", "title": None, "scale": scale, "axis": {**axis, "grid": False}}
    kind = {"field": "kind", "type": "nominal", "sort": kinds}
    colour = {**kind, "title": None, "scale": {"domain": kinds, "range": "category"}}
    ends = domain(row[end] for row in rows for end in ("value", "low", "high"))
    y = quantity("value", "agreement", {"domain": ends, "zero": False, "nice": False})
    line = {"x": x, "y": y, "color": colour}
    band = {**line, "y": {**y, "field": "low"}, "y2": {"field": "high"}}
    tips = tooltip({"when": "time", "kind": "what", **AGREEMENT, "size": "rests on"})
    layers = [
        layer("area", band, opacity=0.18),
        layer("line", {**line, "strokeDash": {**kind, "legend": None}}, strokeWidth=2),
        layer("point", {**line, "tooltip": tips}, filled=True, size=40, opacity=1),
    ]
    return layered(rows, layers)


def are_dated(milliseconds: Sequence[float]) -> bool:
    """Whether times can only be dates."""
    return all(is_date(time / 1000) for time in milliseconds)


TREND_HEIGHT = 200


def trend(rows: Rows, marks: Rows, target: float | None) -> Spec:
    """Rows have ``time`` (milliseconds), ``phase, value, low, high, recent``; marks ``time, text``."""
    axis = {"labelOverlap": True, "tickCount": 6, "labelFlush": True, "format": "%Y-%m-%d %H:%M"}
    x = {"field": "time", "type": "temporal", "title": None, "axis": axis}
    settled = rows[len(rows) // 4 :]  # the first items' bounds fill the whole height
    ends = [value for row in settled for value in (row["low"], row["high"], row["recent"])]
    ends += [] if target is None else [target]
    scale = {"domain": [max(0.0, min(ends) - 0.05), min(1.0, max(ends) + 0.05)], "nice": True}

    def y(field: str) -> Spec:
        return {"field": field, "type": "quantitative", "title": "agreement", "scale": scale}

    phase = {"x": x, "detail": {"field": "phase", "type": "nominal"}}  # a band and lines of its own for each
    moment = {"field": "time", "type": "temporal", "title": "time", "format": "%Y-%m-%d %H:%M"}
    tips = tooltip({"items": "items closed", "shown": "so far", "bounds": "safe bounds", "latest": "latest items"})
    layers = [
        layer("area", {**phase, "y": y("low"), "y2": {"field": "high"}}, opacity=0.25, clip=True),
        layer("line", {**phase, "y": y("recent")}, strokeWidth=1.5, strokeDash=[4, 3], clip=True),
        layer("line", {**phase, "y": y("value")}, strokeWidth=2.5, clip=True),
        layer("rule", {"x": x, "tooltip": [moment, *tips]}, opacity=0),
    ]
    if target is not None:
        goal, dots = [{"target": target}], [2, 2]
        layers.append(layer("rule", {"y": y("target")}, rows=goal, strokeDash=dots, strokeWidth=1.5, style="reference"))
    if marks:
        rule = {"x": x, "tooltip": tooltip({"text": "mark"})}
        words = {"x": x, "text": {"field": "text", "type": "nominal"}}
        layers.append(layer("rule", rule, rows=marks, strokeWidth=1.5, style="reference"))
        layers.append(layer("text", words, rows=marks, align="left", dx=4, dy=-92, limit=160, style="name"))
    return layered(rows, layers, height=TREND_HEIGHT)


# All charts ---------------------------------------------------------------------------------------


CHARTS: Mapping[str, Callable[[Breakdowns], Spec]] = {
    "schemes": schemes,
    "by-n": by_n,
    "groups": groups,
    "confusion": confusion,
    "matrix": matrix,
    "annotators": annotators,
    "pairs": pairs,
    "development": development,
}
"""Every chart by the id of its figure on a page."""


def draw(id: str, breakdowns: Breakdowns) -> Spec:
    """The chart of that figure; an error says why it cannot be drawn."""
    spa = breakdowns.findings.spa
    if spa.value is None:
        raise DataError(f"no chart: {spa.undefined}")
    return CHARTS[id](breakdowns)


def _method(id: str, *needs: str) -> Callable[[Charts], Any]:
    """A chart as a method, which computes only the breakdowns that the chart needs."""

    def drawn(self: Charts) -> Any:
        return to_altair(draw(id, self._compute(needs)))

    drawn.__doc__ = CHARTS[id].__doc__
    return drawn


class Charts:
    """Charts of one agreement; ``agreement.charts.schemes().save("schemes.svg")`` needs no browser and no network.

    >>> import spagree
    >>> spagree.measure("example:sparse").charts  # doctest: +ELLIPSIS
    <Charts: schemes(), by_n(), ... pairs(), development()>
    >>> chart = spagree.measure("example:sparse").charts.schemes()
    >>> chart.to_dict()["layer"][1]["mark"]["type"]
    'rule'
    """

    def __init__(self, compute: Callable[[Sequence[str]], Breakdowns]) -> None:
        self._compute = compute

    def __repr__(self) -> str:
        return f"<Charts: {', '.join(f'{draw.__name__}()' for draw in CHARTS.values())}>"

    schemes = _method("schemes")
    by_n = _method("by-n")
    groups = _method("groups", "groups")
    confusion = _method("confusion", "confusion")
    matrix = _method("matrix", "confusion")
    annotators = _method("annotators", "annotators")
    pairs = _method("pairs", "annotators", "pairs")
    development = _method("development", "development")
