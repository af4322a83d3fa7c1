"""Every chart of an agreement, a comparison and the monitor: breakdowns → plain rows → Vega-Lite as plain values.

A page draws these itself; :class:`Charts` makes them for notebooks and files. A chart that cannot be drawn raises the
reason: there is no number, or a breakdown is absent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from math import fsum, isfinite
from typing import TYPE_CHECKING, Any

from spagree.errors import DataError, count
from spagree.estimate import NOMINAL, Estimate
from spagree.estimate.annotators import mean_agreement
from spagree.estimate.breakdown_values import Breakdowns, known
from spagree.estimate.breakdowns import MOST_PEOPLE
from spagree.estimate.missingness import in_ranges
from spagree.estimate.plan import NEW_ITEMS
from spagree.estimate.uncertainty import FEW_ITEMS, half_interval
from spagree.present.charts.save import to_altair
from spagree.present.charts.spec import (
    CHOSEN,
    FEW,
    HEIGHT,
    OTHER,
    WIDTH,
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
    values,
    whisker,
)
from spagree.present.group_words import group_lines
from spagree.present.tables import chips
from spagree.present.wording import (
    figure,
    limits,
    moment,
    number,
    percent,
    plus_minus,
    printable,
    short_names,
    telling_ends,
    without_midnight,
)
from spagree.timestamps import is_date, unix_seconds

if TYPE_CHECKING:
    import polars

    from spagree.estimate.groups import Groups


CHANCE_KINDS = ("corrected for chance", "observed", "by chance")
CHANCE_SHAPES = ("circle", "diamond", "triangle-up")
COEFFICIENT_HEIGHT = 34


def corrected(rows: Rows, tips: Tips) -> Spec:
    """Coefficients with observed and expected agreement: rows of ``name, kind, value, low, high``, three per name."""
    lowest = min([0.0, *(row[end] for row in rows for end in ("value", "low") if row[end] is not None)])
    x = quantity("value", "agreement", {"domain": [lowest, 1], "nice": lowest < 0})
    y = category()
    kind = {"field": "kind", "type": "nominal", "title": None, "sort": list(CHANCE_KINDS)}
    dots = {
        "x": x,
        "y": y,
        "shape": {**kind, "scale": {"domain": list(CHANCE_KINDS), "range": list(CHANCE_SHAPES)}},
        "color": {**kind, "scale": {"domain": list(CHANCE_KINDS), "range": "category"}},
        "tooltip": tooltip(tips),
    }
    layers = [whisker(x, y, "x"), layer("point", dots, filled=True, size=90, opacity=1)]
    names = len({row["name"] for row in rows})
    return layered(rows, layers, width=WIDTH, height=COEFFICIENT_HEIGHT * max(2, names))


CELL, LARGEST, SMALLEST = 44, 560, 200
MOST_WORDS = 12  # rows up to which numbers fit in the cells
SHORT = 4  # letters of a name that fits above its column
MANY, SMALL = 24, 8  # names from which letters are small
NOTABLE = 0.15  # share of a row: an excess that gets the full colour, unless others are larger
FAINTEST, STRONGEST = 0.06, 0.5  # opacities of a colour on which the page's text is still readable


def confusion_table(rows: Rows, tips: Tips) -> Spec:
    """A cell per row of ``down, across, value, words, excess``: grey on the diagonal, coloured where ``excess`` > 0.

    ``excess`` is how much more often two classes are confused than their shares alone would predict.
    """
    names = list(dict.fromkeys(row["down"] for row in rows))
    places = _places(names, ("first annotator says", "second annotator says"))
    most = max((NOTABLE, *(row["excess"] for row in rows)))
    strength = _strength("excess", [0, most], 0.0)
    same = layer("rect", {**places, "tooltip": tooltip(tips)}, where="datum.same && isValid(datum.value)", style="same")
    confused = layer(
        "rect",
        {**places, "fillOpacity": strength, "tooltip": tooltip(tips)},
        where="!datum.same && isValid(datum.value)",
        style="confused",
    )
    return _square(rows, names, [same, confused], places)


def triangle(rows: Rows, tips: Tips) -> Spec:
    """Each pair of annotators once: the stronger the colour, the more they agree; rows of ``down, across, value``."""
    names = list(dict.fromkeys(row["down"] for row in rows)), list(dict.fromkeys(row["across"] for row in rows))
    ordered = [*names[1], *(each for each in names[0] if each not in names[1])]
    places = _places(ordered, ("annotator", "other"))
    strength = _strength("value", domain(row["value"] for row in rows))
    strength["legend"] = {"orient": "bottom", "tickCount": 3, "title": "agreement", "symbolType": "square"}
    met = layer("rect", {**places, "fillOpacity": strength, "tooltip": tooltip(tips)}, style="met")
    return _square(rows, ordered, [met], places)


def _strength(field: str, ends: object, faintest: float = FAINTEST) -> Spec:
    scale = {"domain": ends, "range": [faintest, STRONGEST], "clamp": True, "zero": False, "nice": False}
    return {"field": field, "type": "quantitative", "scale": scale, "legend": None}


def _places(names: list[str], titles: tuple[str, str]) -> Spec:
    """The two axes: the same names in the same order."""
    small = {"labelFontSize": SMALL} if len(names) > MANY else {}
    both = {"type": "nominal", "sort": names, "scale": {"domain": names}}
    is_short = max(map(len, names), default=0) <= SHORT
    top = {"labelAngle": 0 if is_short else -45, "labelLimit": 110, "orient": "top", **small}
    return {
        "y": {**both, "field": "down", "title": titles[0], "axis": {"labelLimit": 120, **small}},
        "x": {**both, "field": "across", "title": titles[1], "axis": top},
    }


def _square(rows: Rows, names: list[str], layers: list[Spec], places: Spec) -> Spec:
    """As large as its names need, with numbers in the cells if they fit."""
    if len(names) <= MOST_WORDS:
        words = {**places, "text": {"field": "words", "type": "nominal"}}
        layers.append(layer("text", words, where="datum.words != ''", fontSize=11, aria=False, style="name"))
    side = max(SMALLEST, min(LARGEST, CELL * len(names)))
    return layered(rows, layers, width=side, height=side)


SHORTER = 220
DAY = 86_400.0
LONG_SPAN, SHORT_SPAN = 150 * DAY, 3 * DAY  # spans labelled by months, and by hours
VOLUME_SHARE = 5  # bars of volume fill a fifth of the height


def histogram(rows: Rows, tips: Tips) -> Spec:
    """Bars from ``start`` to ``end`` with the number of ``items``; the vertical axis starts at zero."""
    most = max((row["items"] for row in rows), default=1)
    whole = {"format": ",d", "tickMinStep": 1, "tickCount": max(1, min(most, 6))}
    x = {**quantity("start", "agreement of an item", {"domain": [0, 1]}), "bin": "binned"}
    encoding = {"x": x, "x2": {"field": "end"}, "y": quantity("items", "items", {"zero": True}, **whole)}
    bars = layer("bar", {**encoding, "tooltip": tooltip(tips)}, binSpacing=2)
    return {"data": values(rows), **bars, "width": WIDTH, "height": SHORTER}


def development_lines(rows: Rows, volume: Rows, tips: Tips) -> Spec:
    """Agreement so far with its band, and that of recent items: rows of ``time, kind, value, low, high``.

    ``time`` is in milliseconds if it is dated; ``volume`` then has bars from ``start`` to ``end`` as high as ``rate``.
    """
    kinds = list(dict.fromkeys(row["kind"] for row in rows))
    ends = [row[end] for row in rows for end in ("value", "low", "high")]
    x = _times([row["time"] for row in rows])
    kind = {"field": "kind", "type": "nominal", "sort": kinds}
    colour = {**kind, "title": None, "scale": {"domain": kinds, "range": "category"}}
    y = quantity("value", "agreement", {"domain": domain(ends), "zero": False, "nice": False})
    line = {"x": x, "y": y, "color": colour}
    band = {**line, "y": {**y, "field": "low"}, "y2": {"field": "high"}}
    lines = [
        layer("area", band, opacity=0.18),
        layer("line", {**line, "strokeDash": {**kind, "legend": None}}, strokeWidth=2),
        layer("point", {**line, "tooltip": tooltip(tips)}, filled=True, size=40, opacity=1),
    ]
    layers = [*([_pace(volume, x)] if volume else []), {"layer": lines}]
    return {**layered(rows, layers), "resolve": {"scale": {"y": "independent"}}}


def _times(times: Sequence[float]) -> Spec:
    """The axis of moments, in UTC, every label with its year; plain numbers get the usual labels."""
    if not are_dated(times):
        return quantity("time", "time", {"zero": False, "nice": False})
    span = (max(times) - min(times)) / 1000
    format = "%b %Y" if span > LONG_SPAN else "%-d %b %Y" if span > SHORT_SPAN else "%-d %b %Y, %H:%M"
    axis = {"format": format, "tickCount": 4, "labelAngle": 0, "labelFlush": True, "labelOverlap": "greedy"}
    scale = {"type": "utc", "nice": False}
    return {"field": "time", "type": "temporal", "title": None, "scale": scale, "axis": {**axis, "grid": False}}


def are_dated(milliseconds: Sequence[float]) -> bool:
    """Whether times can only be dates."""
    return all(is_date(time / 1000) for time in milliseconds)


def _pace(volume: Rows, x: Spec) -> Spec:
    """The pace of annotation, as faint bars along the bottom with a separate scale."""
    most = max((row["rate"] for row in volume), default=1.0) or 1.0
    scale = {"domain": [0, most * VOLUME_SHARE], "nice": False}
    along = {"x": {**x, "field": "start"}, "x2": {"field": "end"}}
    high = {"y": {"field": "rate", "type": "quantitative", "scale": scale, "axis": None}, "y2": {"datum": 0}}
    tips = tooltip({"period": "time", "words": "annotations"})
    return layer("rect", {**along, **high, "tooltip": tips}, rows=volume, opacity=0.35, style="volume")


def precision(rows: Rows, tips: Tips) -> Spec:
    """Precision from more annotations: rows of ``annotations, half_width, words``, the first being now."""
    ends = [row["annotations"] for row in rows]
    room = max(1.2, (max(ends) / min(ends)) ** 0.3)  # for what is written beside the last point
    scale = {"type": "log", "nice": False, "domain": [min(ends) * 0.9, max(ends) * room]}
    x = quantity("annotations", "annotations in all", scale, tickCount=4, format="~s", grid=False)
    place = {"x": x, "y": quantity("half_width", "± around the number", {"zero": True})}
    words = {**place, "text": {"field": "words", "type": "nominal"}}
    layers = [
        layer("line", place, strokeWidth=2),
        layer("point", {**place, "tooltip": tooltip(tips)}, filled=True, size=80, opacity=1),
        layer("text", words, align="left", dx=9, dy=-6, fontSize=12, style="name", aria=False),
    ]
    return layered(rows, layers, height=HEIGHT)


TREND_HEIGHT = 200
TREND_TIPS = {
    "when": "time",
    "items": "items closed",
    "shown": "so far",
    "bounds": "safe bounds",
    "latest": "latest items",
}


def trend(rows: Rows, marks: Rows, target: float | None) -> Spec:
    """Rows have ``time`` (milliseconds), ``value``, ``low``, ``high``, ``recent``; marks ``time`` and ``text``."""
    axis = {"labelOverlap": True, "tickCount": 6, "labelFlush": True}
    x = {"field": "time", "type": "temporal", "title": None, "axis": axis}
    settled = rows[len(rows) // 4 :]  # the first items' bounds fill the whole height
    ends = [value for row in settled for value in (row["low"], row["high"], row["recent"])]
    ends += [] if target is None else [target]
    scale = {"domain": [max(0.0, min(ends) - 0.05), min(1.0, max(ends) + 0.05)], "nice": True}

    def y(field: str) -> Spec:
        return {"field": field, "type": "quantitative", "title": "agreement", "scale": scale}

    layers = [
        layer("area", {"x": x, "y": y("low"), "y2": {"field": "high"}}, opacity=0.25, clip=True),
        layer("line", {"x": x, "y": y("recent")}, strokeWidth=1.5, strokeDash=[4, 3], clip=True),
        layer("line", {"x": x, "y": y("value")}, strokeWidth=2.5, clip=True),
        layer("rule", {"x": x, "tooltip": tooltip(TREND_TIPS)}, opacity=0),
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


MOST_CLASSES = 16  # rows of a table whose names are still readable
MOST_LINES = 40
SIZES = {"classes": "items", "annotators": "shared"}
BINS = 20
HALF_A_PERCENT = 0.005
WHOLE = 120  # characters of a name in a tooltip
DEVELOPMENT = (
    ("so far", "spa", "low", "high", "items"),
    ("items finished last", "recent", "recent_low", "recent_high", "recent_items"),
)
NAME, AXIS = 28, 17  # characters of a name, and of those that an axis shows in full
FEWEST_LETTERS = 4  # of each option of a set
NO_OPTION = "none"

Row = dict[str, Any]


def _figures(value: float | None, low: float | None, high: float | None) -> Row:
    """A figure with its interval, as numbers and in words."""
    return {"value": value, "low": low, "high": high, "shown": figure(value), "interval": limits(low, high)}


def _estimate(estimate: Estimate) -> Row:
    return _figures(estimate.value, estimate.low, estimate.high)


def scheme_rows(breakdowns: Breakdowns) -> list[Row]:
    """Every scheme, the chosen one marked; custom weights come last."""
    findings = breakdowns.findings
    chosen = findings.spa.weights
    schemes = {**findings.schemes, chosen: findings.spa}
    return [
        {"name": name, **_estimate(each), "kind": CHOSEN if name == chosen else OTHER} for name, each in schemes.items()
    ]


def by_n_rows(breakdowns: Breakdowns) -> list[Row]:
    """Agreement of the items with n annotations: for each n, or for ranges if there are many."""
    return [
        {"name": row.name, **_estimate(row.agreement), "items": f"{row.items:,}", "many": row.items}
        | {"kind": FEW if row.items < FEW_ITEMS else CHOSEN}
        for row in in_ranges(breakdowns.findings.missingness.by_n)
    ]


def chance_rows(breakdowns: Breakdowns) -> list[Row]:
    """Each coefficient, with its observed and expected agreement."""
    corrected, observed, by_chance = CHANCE_KINDS
    rows: list[Row] = []
    for name, coefficient in breakdowns.findings.chance.items():
        if coefficient.value is not None:
            rows.append({"name": name, "kind": corrected, **_estimate(coefficient)})
            for kind, value in ((observed, coefficient.observed), (by_chance, coefficient.expected)):
                rows.append({"name": name, "kind": kind, **_figures(value, None, None), "interval": "–"})
    return rows


def chosen_lines(rows: Sequence[Mapping[str, Any]], size: str) -> tuple[list[Mapping[str, Any]], str]:
    """The rows to draw, and how they were chosen: of many, those on enough items, as the lowest may be chance."""
    defined = [row for row in rows if row["agreement"] is not None]
    if len(defined) <= MOST_LINES:
        return defined, "with an agreement"
    sound = [row for row in defined if not row["few"]][:MOST_LINES]
    if sound:
        return sound, f"lowest of those with {FEW_ITEMS} items or more"
    common = {id(row) for row in sorted(defined, key=lambda row: -row[size])[:MOST_LINES]}
    return [row for row in defined if id(row) in common], "with the most items"


def line_rows(rows: Sequence[Mapping[str, Any]], column: str, size: str, keys: Mapping[str, str]) -> list[Row]:
    """Rows of a breakdown by name: as many as are readable, each with the number of items behind it.

    By ``keys`` a click filters the items of a page.
    """
    chosen, _ = chosen_lines(rows, size)
    full_names = [row[column] for row in chosen]
    names = _class_names(full_names) if column == "class" else short_names(full_names, NAME)
    return [
        {"name": names[row[column]], **_figures(row["agreement"], row["low"], row["high"])}
        | {"kind": FEW if row["few"] else CHOSEN, "size": count(row[size], "item")}
        | {"pick": keys.get(row[column], "")}
        for row in chosen
    ]


def group_rows(groups: Groups) -> list[Row]:
    """Each group's agreement; hollow if it rests on few items, left out if undefined."""
    lines = [line for line in group_lines(groups) if line.spa.value is not None]
    names = short_names((line.name for line in lines), NAME)
    return [
        {"name": names[line.name], **_estimate(line.spa)}
        | {"kind": FEW if line.items < FEW_ITEMS else CHOSEN, "size": count(line.items, "item")}
        for line in lines
    ]


def confusion_rows(breakdowns: Breakdowns) -> list[Row]:
    """Pairs of the most confused classes: the probability of one given the other; on the diagonal, of the same class.

    ``excess`` is how much more often the second class is given than its share of all other labels predicts.
    """
    everything = known(breakdowns.classes)
    chosen = everything.filter(everything["class"].is_in(most_confused(breakdowns)))
    chosen = chosen.sort("annotations", "class", descending=[True, False])
    classes = {row["class"]: row for row in in_order(chosen.rows(named=True), breakdowns.findings.order)}
    names, keys = _class_names(classes), class_keys(breakdowns)
    wholes = {name: shown if name == "[]" else printable(name, WHOLE) for name, shown in names.items()}
    are_cut = wholes != names
    both = known(breakdowns.confusion).join(chosen.select("class"), on="class", maintain_order="left")
    mixed = {(one, other): value for one, other, value in both.select("class", "other", "probability").rows()}
    # Not the agreement of the class: under a metric it also counts similar labels, and rows would exceed 100%.
    mixed |= {(label, label): rest for label, rest in _same(both, classes).items()}
    shares = dict(everything.select("class", "share").rows())
    rows = []
    for label, row in classes.items():
        for other in classes:
            value = None if row["agreement"] is None else mixed.get((label, other), 0.0)
            by_chance = (1 - mixed[label, label]) * shares[other] / max(1 - shares[label], 1e-12)
            excess = 0.0 if value is None or label == other or row["few"] else max(0.0, value - by_chance)
            place = {"down": names[label], "across": names[other], "same": label == other}
            words = "" if not value else percent(value) if value >= HALF_A_PERCENT else "<1%"
            shown = {"value": value, "words": words, "shown": "–" if value is None else percent(value)}
            whole = {"first": wholes[label], "second": wholes[other]} if are_cut else {}
            rows.append(place | shown | whole | {"excess": excess, "pick": f"{keys[label]} {keys[other]}"})
    return rows


def _class_names(classes: Iterable[str]) -> dict[str, str]:
    """Short names; an empty set of options is called as on the cards.

    >>> _class_names(["[]", "price"]), _class_names(["[]", "none"])
    ({'[]': 'none', 'price': 'price'}, {'[]': '[]', 'none': 'none'})
    """
    given = list(classes)
    ends = telling_ends(given, AXIS)
    names = short_names(given, NAME, lambda name, width: _short_class(ends.get(name, name), width))
    return {name: NO_OPTION if name == "[]" and NO_OPTION not in names else shown for name, shown in names.items()}


def _short_class(label: str, width: int) -> str:
    """A class on an axis; of a set, every option is shown, shortened if the axis has no room for all of it.

    >>> _short_class("location|price and value", 28), _short_class('["cleanliness of rooms", "location"]', 28)
    ('location|price a…', 'cleanli…|location')
    """
    options = [] if label == "[]" else list(chips(label)) or label.split("|")
    if len(options) <= 1 or (len(label) <= AXIS and not chips(label)):
        return printable(label, width)
    room = max(FEWEST_LETTERS, (AXIS + 1) // len(options) - 1)
    return printable("|".join(printable(option, room) for option in options), width)


def most_confused(breakdowns: Breakdowns) -> list[str]:
    """All classes; of many, those most often confused, then the commonest."""
    confusions = known(breakdowns.confusion).sort("pairs", "class", "other", descending=[True, False, False])
    commonest = known(breakdowns.classes).sort("annotations", "class", descending=[True, False])
    names = [name for pair in confusions.select("class", "other").rows() for name in pair]
    return list(dict.fromkeys([*names, *commonest["class"]]))[:MOST_CLASSES]


def class_keys(breakdowns: Breakdowns) -> dict[str, str]:
    """The key of each class on a page: its position among all, in order."""
    labels = [{"class": label} for label in sorted(breakdowns.findings.data.labels)]
    return {row["class"]: str(place) for place, row in enumerate(in_order(labels, breakdowns.findings.order))}


def annotator_keys(breakdowns: Breakdowns) -> dict[str, str]:
    """The key of each annotator on a page."""
    if breakdowns.lacks("annotators"):
        return {}
    return {name: f"a{place}" for place, name in enumerate(sorted(known(breakdowns.annotators)["annotator"]))}


def _same(both: polars.DataFrame, classes: Iterable[str]) -> dict[str, float]:
    """The probability of the same class again: 1 minus the others, without rounding error."""
    different: dict[str, list[float]] = {label: [] for label in classes}
    for label, value in both.select("class", "probability").rows():
        different[label].append(value)
    return {label: round(1 - fsum(values), 12) + 0.0 for label, values in different.items()}


def in_order(classes: list[Row], order: Sequence[str] = ()) -> list[Row]:
    """Classes in the given order, or as numbers from low to high; otherwise unchanged.

    >>> [row["class"] for row in in_order([{"class": label} for label in ("10", "9", "-1.5")])]
    ['-1.5', '9', '10']
    >>> [row["class"] for row in in_order([{"class": label} for label in ("high", "low")], ["low", "high"])]
    ['low', 'high']
    """
    if order and all(row["class"] in order for row in classes):
        return sorted(classes, key=lambda row: order.index(row["class"]))
    try:
        values = {row["class"]: float(row["class"]) for row in classes}
    except ValueError:
        return classes
    return sorted(classes, key=lambda row: values[row["class"]]) if all(map(isfinite, values.values())) else classes


def bin_rows(breakdowns: Breakdowns) -> list[Row]:
    """Items by agreement, in twenty bins; full agreement falls into the last."""
    items = [0] * BINS
    for value, size in known(breakdowns.distribution).select("agreement", "items").rows():
        items[min(int(value * BINS + 1e-9), BINS - 1)] += size
    total = sum(items)
    return [
        {"start": place / BINS, "end": (place + 1) / BINS, "items": size, "many": f"{size:,}"}
        | {"range": f"{place / BINS:.2f} to {(place + 1) / BINS:.2f}", "share": percent(size / total) if total else "–"}
        for place, size in enumerate(items)
    ]


def people(breakdowns: Breakdowns) -> list[str]:
    """The busiest annotators who share items, least agreement first."""
    met = {name for row in known(breakdowns.pairs).select("annotator", "other").rows() for name in row}
    busiest = known(breakdowns.annotators).sort("annotations", "annotator", descending=[True, False])
    chosen = set([name for name in busiest["annotator"] if name in met][:MOST_PEOPLE])
    return [name for name in known(breakdowns.annotators)["annotator"] if name in chosen]


def pair_rows(breakdowns: Breakdowns) -> list[Row]:
    """Each pair of annotators who share enough items, once."""
    sound_pairs = [row for row in known(breakdowns.pairs).rows(named=True) if not row["few"]]
    met = {frozenset((row["annotator"], row["other"])): row for row in sound_pairs}
    sound = frozenset(name for pair in met for name in pair)
    chosen = [name for name in people(breakdowns) if name in sound]
    names = short_names(chosen, NAME)
    return [
        {"down": names[one], "across": names[other], "value": row["agreement"], "words": figure(row["agreement"], 2)}
        | {"shown": figure(row["agreement"]), "interval": limits(row["low"], row["high"])}
        | {"size": count(row["shared"], "item")}
        for place, one in enumerate(chosen)
        for other in chosen[:place]
        if (row := met.get(frozenset((one, other)))) is not None
    ]


def development_rows(breakdowns: Breakdowns) -> tuple[list[Row], list[Row]]:
    """Agreement so far and on the items finished last, and the pace of annotation where times are dates."""
    steps = development_steps(breakdowns)
    times = without_midnight([moment(row["time"]) for row in steps])
    scale = 1000 if all(is_date(row["time"]) for row in steps) else 1
    rows = []
    for row, when in zip(steps, times, strict=True):
        for kind, name, low, high, size in DEVELOPMENT:
            if row[name] is not None:
                figures = _figures(row[name], row[low], row[high])
                place = {"kind": kind, "time": row["time"] * scale, "when": when}
                rows.append({**place, **figures, "size": count(row[size], "item")})
    return rows, _volume(steps) if scale > 1 else []


def _volume(steps: Sequence[Row]) -> list[Row]:
    """Annotations per step and their pace; instantaneous steps, and the first moment, have none."""
    bars = []
    before = 0
    for row in steps:
        annotations, before = row["annotations"] - before, row["annotations"]
        length = row["time"] - row["since"]
        if length > 0 and steps[0]["time"] < row["time"]:
            period = " to ".join(without_midnight([moment(row["since"]), moment(row["time"])]))
            speed = f" ({number(round(annotations / length * DAY))} a day)"
            start = max(row["since"], steps[0]["time"])
            ends = {"start": start * 1000, "end": row["time"] * 1000, "rate": annotations / length}
            bars.append({**ends, "period": period, "words": f"{annotations:,}{speed}"})
    return bars


def development_steps(breakdowns: Breakdowns) -> list[Row]:
    """Agreement over time with times as numbers; milliseconds since 1970 become seconds."""
    steps = [
        {**row, "time": seconds(row["time"]), "since": seconds(row["since"])}
        for row in known(breakdowns.development).rows(named=True)
    ]
    scale = 1000 if steps and all(is_date(row["time"] / 1000) for row in steps) else 1
    return [{**row, "time": row["time"] / scale, "since": row["since"] / scale} for row in steps]


def seconds(time: Any) -> float:
    """A moment as a number: seconds since 1970, or the number in the data."""
    if isinstance(time, datetime):
        return unix_seconds(time)
    if isinstance(time, date):
        return datetime(time.year, time.month, time.day, tzinfo=UTC).timestamp()
    return float(time)


def plan_rows(breakdowns: Breakdowns) -> list[Row]:
    """The interval now, and the cheapest way to each narrower one by annotating new items."""
    plans = [row for row in known(breakdowns.plan).rows(named=True) if row["route"] == NEW_ITEMS and row["best"]]
    half = half_interval(breakdowns.findings.spa)
    if half is None or not plans:
        raise DataError(f"nothing to plan with: {known(breakdowns.plan)['undefined'][0]}")
    nothing = {"items": 0, "more_annotations": 0, "annotations_per_item": 0}
    now: Row = {"half_width": half, "annotations": breakdowns.findings.data.annotations, **nothing}
    return [_design(**{name: row[name] for name in now}) for row in (now, *plans)]


def _design(half_width: float, annotations: int, items: int, more_annotations: int, annotations_per_item: int) -> Row:
    new = f"{count(items, 'item')}, {count(annotations_per_item, 'annotation')} each" if more_annotations else "none"
    words = f"{more_annotations:,} more" if more_annotations else "now"
    place = {"annotations": annotations, "half_width": half_width}
    return place | {"precision": plus_minus(half_width), "made": f"{annotations:,}", "new": new, "words": words}


AGREEMENT = {"shown": "agreement", "interval": "interval"}


def schemes(breakdowns: Breakdowns) -> Spec:
    """SPA under every weighting scheme, with the chosen one marked."""
    spa = _value(breakdowns)
    tips = {"name": "scheme", **AGREEMENT}
    return across(scheme_rows(breakdowns), "agreement", tips, reference=spa)


def by_n(breakdowns: Breakdowns) -> Spec:
    """Agreement of items by their number of annotations: flat if SPA's assumption holds."""
    spa = _value(breakdowns)
    by_n = breakdowns.findings.missingness.by_n
    if len(by_n) == 1:
        same = count(by_n[0].n, "annotation")
        raise DataError(f"every item that was used has {same}: there is nothing to compare")
    tips = {"name": "annotations", "items": "items", **AGREEMENT}
    title = "annotations of the item"
    return along(by_n_rows(breakdowns), title, "agreement", tips, reference=spa)


def chance(breakdowns: Breakdowns) -> Spec:
    """Chance-corrected coefficients with observed and expected agreement."""
    drawn = chance_rows(breakdowns)
    if not drawn:
        raise DataError(str(next(iter(breakdowns.findings.chance.values())).undefined))
    tips = {"name": "coefficient", "kind": "what", "shown": "value", "interval": "interval"}
    return corrected(drawn, tips)


def classes(breakdowns: Breakdowns) -> Spec:
    """Agreement of each class, least first."""
    nominal = breakdowns.findings.metric == NOMINAL
    title = "probability that a second annotator agrees" if nominal else "mean agreement of a second annotator"
    drawn = line_rows(known(breakdowns.classes).rows(named=True), "class", "items", class_keys(breakdowns))
    return _lines(breakdowns, drawn, "class", title)


def groups(breakdowns: Breakdowns) -> Spec:
    """Agreement of each group, and between groups of annotators."""
    return _lines(breakdowns, group_rows(known(breakdowns.groups)), "group", "agreement")


def confusion(breakdowns: Breakdowns) -> Spec:
    """Which classes are confused, as a heat map."""
    _value(breakdowns)
    drawn = confusion_rows(breakdowns)
    first, second = ("first", "second") if "first" in drawn[0] else ("down", "across")
    return confusion_table(drawn, {first: "first says", second: "second says", "shown": "probability"})


def items(breakdowns: Breakdowns) -> Spec:
    """How the agreement of items is distributed."""
    _value(breakdowns)
    tips = {"range": "agreement", "many": "items", "share": "share"}
    return histogram(bin_rows(breakdowns), tips)


def annotators(breakdowns: Breakdowns) -> Spec:
    """Agreement of each annotator with the others, least first, and the mean of all."""
    people = known(breakdowns.annotators)
    drawn = line_rows(people.rows(named=True), "annotator", "shared", annotator_keys(breakdowns))
    return _lines(breakdowns, drawn, "annotator", "agreement with the others", reference=mean_agreement(people))


def pairs(breakdowns: Breakdowns) -> Spec:
    """Agreement of pairs of annotators who share enough items, as a triangular table."""
    _value(breakdowns)
    drawn = pair_rows(breakdowns)
    if not drawn:
        raise DataError(f"no two annotators share {FEW_ITEMS} items or more, so pairs are not shown")
    return triangle(drawn, {"down": "annotator", "across": "other", **AGREEMENT, "size": "shared"})


def development(breakdowns: Breakdowns) -> Spec:
    """Agreement over time, of all items so far and of those finished last, with intervals and the pace."""
    _value(breakdowns)
    drawn, volume = development_rows(breakdowns)
    return development_lines(drawn, volume, {"when": "time", "kind": "what", **AGREEMENT, "size": "rests on"})


def plan(breakdowns: Breakdowns) -> Spec:
    """How precise the number becomes with more items, annotated as cheaply as possible."""
    _value(breakdowns)
    tips = {"precision": "precision", "new": "new items", "made": "annotations in all"}
    return precision(plan_rows(breakdowns), tips)


def _lines(breakdowns: Breakdowns, drawn: Rows, name: str, title: str, reference: float | None = None) -> Spec:
    _value(breakdowns)
    tips = {"name": name, **AGREEMENT, "size": "rests on"}
    return across(drawn, title, tips, reference=reference)


def _value(breakdowns: Breakdowns) -> float:
    """SPA, or an error if it is undefined."""
    spa = breakdowns.findings.spa
    if spa.value is None:
        raise DataError(f"no chart: {spa.undefined}")
    return spa.value


@dataclass(frozen=True, slots=True)
class _Method:
    """A chart as a method of :class:`Charts`, which computes only the breakdowns the chart needs."""

    draw: Callable[[Breakdowns], Spec]
    needs: Sequence[str] = ()

    def __get__(self, charts: Charts, owner: type[Charts]) -> Callable[[], Any]:
        def drawn() -> Any:
            return to_altair(self.draw(charts._compute(self.needs)))

        drawn.__doc__ = self.draw.__doc__
        return drawn


class Charts:
    """Charts of one agreement; ``agreement.charts.schemes().save("schemes.svg")`` needs no browser and no network.

    >>> import spagree
    >>> spagree.measure("example:sparse").charts  # doctest: +ELLIPSIS
    <Charts: schemes(), by_n(), ... development(), plan()>
    >>> chart = spagree.measure("example:sparse").charts.schemes()
    >>> chart.to_dict()["layer"][1]["mark"]["type"]
    'rule'
    """

    def __init__(self, compute: Callable[[Sequence[str]], Breakdowns]) -> None:
        self._compute = compute

    def __repr__(self) -> str:
        names = (name for name, found in vars(Charts).items() if isinstance(found, _Method))
        return f"<Charts: {', '.join(f'{name}()' for name in names)}>"

    schemes = _Method(schemes)
    by_n = _Method(by_n)
    chance = _Method(chance)
    classes = _Method(classes, ["classes"])
    groups = _Method(groups, ["groups"])
    confusion = _Method(confusion, ["classes", "confusion"])
    items = _Method(items, ["distribution"])
    annotators = _Method(annotators, ["annotators"])
    pairs = _Method(pairs, ["annotators", "pairs"])
    development = _Method(development, ["development"])
    plan = _Method(plan, ["plan"])
