"""Breakdowns → plain rows for charts: figures as numbers, and as text for tooltips."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime
from math import fsum, isfinite
from typing import TYPE_CHECKING, Any

from spagree.errors import DataError, count
from spagree.estimate import Estimate
from spagree.estimate.breakdown_values import Breakdowns, known
from spagree.estimate.breakdowns import MOST_PEOPLE
from spagree.estimate.missingness import in_ranges
from spagree.estimate.overlap import THIN
from spagree.estimate.planning import NEW_ITEMS
from spagree.estimate.uncertainty import FEW_ITEMS, half_interval
from spagree.moments import is_date, unix_seconds
from spagree.present.charts.interval_lines import CHANCE_KINDS, CHOSEN, FEW, OTHER
from spagree.present.charts.timeline import DAY, Timeline
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

if TYPE_CHECKING:
    import polars

    from spagree.estimate.groups import Groups

MOST_CLASSES = 16  # rows of a table whose names are still readable
MOST_LINES = 40
SIZES = {"classes": "items", "annotators": "shared"}
BINS = 20
HALF_A_PERCENT = 0.005
WHOLE = 120  # characters of a name in a tooltip
STRONGEST = 4
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


def network_rows(breakdowns: Breakdowns) -> tuple[list[Row], list[Row]]:
    """Annotators as nodes, pairs who share items as edges."""
    chosen = people(breakdowns)
    names = short_names(chosen, NAME)
    sizes = dict(known(breakdowns.annotators).select("annotator", "annotations").rows())
    nodes = [{"name": names[each], "size": count(sizes[each], "annotation")} for each in chosen]
    edges = [
        {"one": names[row["annotator"]], "other": names[row["other"]], "shared": row["shared"]}
        | {"size": count(row["shared"], "item"), "thin": row["shared"] < THIN}
        for row in known(breakdowns.pairs).rows(named=True)
        if row["annotator"] in names and row["other"] in names
    ]
    return nodes, strongest(edges)


def development_rows(breakdowns: Breakdowns) -> tuple[list[Row], list[Row], Timeline]:
    """Agreement so far and on the items finished last, the pace of annotation, and their common axis."""
    steps = development_steps(breakdowns)
    along = Timeline([row["time"] for row in steps])
    times = without_midnight([moment(row["time"]) for row in steps])
    rows = []
    for row, when in zip(steps, times, strict=True):
        place = {"place": along.place(row["time"]), "part": along.part(row["time"]), "when": when}
        for kind, name, low, high, size in DEVELOPMENT:
            if row[name] is not None:
                figures = _figures(row[name], row[low], row[high])
                rows.append({"kind": kind, **place, **figures, "size": count(row[size], "item")})
    return rows, _volume(steps, along), along


def _volume(steps: Sequence[Row], along: Timeline) -> list[Row]:
    """Annotations per step and their pace; instantaneous steps, and steps across a break, have no pace."""
    if not along.is_dated:
        return []
    bars = []
    before = 0
    for row in steps:
        annotations, before = row["annotations"] - before, row["annotations"]
        length = row["time"] - row["since"]
        if length > 0 and along.part(row["since"]) == along.part(row["time"]) and along.moments[0] < row["time"]:
            period = " to ".join(without_midnight([moment(row["since"]), moment(row["time"])]))
            speed = f" ({number(round(annotations / length * DAY))} a day)"
            start = max(along.place(row["since"]), along.ends[0])
            ends = {"start": start, "end": along.place(row["time"]), "rate": annotations / length}
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


def strongest(edges: list[Row], each: int = STRONGEST) -> list[Row]:
    """The most informative links: the strongest of each annotator, and those that connect everybody.

    >>> links = [{"one": "a", "other": other, "shared": size} for other, size in (("b", 9), ("c", 1))]
    >>> len(strongest([*links, {"one": "b", "other": "c", "shared": 5}], each=1))
    2
    """
    group: dict[str, str] = {}
    drawn: Counter[str] = Counter()
    kept = []
    for edge in sorted(edges, key=lambda edge: (-edge["shared"], edge["one"], edge["other"])):
        ends = (edge["one"], edge["other"])
        roots = {_root(group, end) for end in ends}
        if len(roots) > 1 or min(drawn[end] for end in ends) < each:
            kept.append(edge)
            drawn.update(ends)
        group[min(roots)] = max(roots)
    return kept


def _root(group: Mapping[str, str], name: str) -> str:
    while group.get(name, name) != name:
        name = group[name]
    return name
