"""Breakdowns → plain rows for charts: figures as numbers, and beside them as the words a tooltip shows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime
from math import fsum, isfinite
from typing import TYPE_CHECKING, Any

from spagree.errors import DataError
from spagree.estimate import Estimate
from spagree.estimate.breakdowns import MOST_PEOPLE, Breakdowns, known
from spagree.estimate.missingness import ENOUGH_ITEMS
from spagree.estimate.overlap import THIN
from spagree.estimate.planning import NEW_ITEMS
from spagree.present.charts.intervals import CHANCE_KINDS, CHOSEN, FEW, OTHER
from spagree.present.wording import count, figure, interval, is_date, limits, moment, percent, short_names

if TYPE_CHECKING:
    import polars

MOST_CLASSES = 30
MOST_LINES = 40
SIZES = {"classes": "items", "annotators": "shared"}
BINS = 20
STRONGEST = 4
DEVELOPMENT = (
    ("so far", "spa", "low", "high", "items"),
    ("items finished lately", "recent", "recent_low", "recent_high", "recent_items"),
)
NAME = 28

Row = dict[str, Any]


def _ends(found: Estimate) -> Row:
    return {"value": found.value, "low": found.low, "high": found.high}


def _said(found: Estimate) -> Row:
    return {"shown": figure(found.value), "interval": interval(found)}


def scheme_rows(breakdowns: Breakdowns) -> list[Row]:
    """Every scheme, the chosen one marked; own weights come last."""
    findings = breakdowns.findings
    chosen = findings.spa.weights
    found = {**findings.schemes, chosen: findings.spa}
    return [
        {"name": name, **_ends(each), **_said(each), "kind": CHOSEN if name == chosen else OTHER}
        for name, each in found.items()
    ]


def by_n_rows(breakdowns: Breakdowns) -> list[Row]:
    """Agreement of the items with n annotations, for each n."""
    return [
        {"name": row.n, **_ends(row.agreement), **_said(row.agreement), "items": f"{row.items:,}"}
        | {"kind": FEW if row.items < ENOUGH_ITEMS else CHOSEN}
        for row in breakdowns.findings.missingness.by_n
    ]


def chance_rows(breakdowns: Breakdowns) -> list[Row]:
    """Each coefficient, with the agreement it saw and the agreement it would expect by chance."""
    rows: list[Row] = []
    for name, found in breakdowns.findings.chance.items():
        if found.value is None:
            continue
        values = zip(CHANCE_KINDS, (found.value, found.observed, found.expected), strict=True)
        for place, (kind, value) in enumerate(values):
            limits_ = _ends(found) if place == 0 else {"low": None, "high": None}
            worded = interval(found) if place == 0 else "–"
            rows.append({"name": name, "kind": kind, **limits_, "value": value} | _plain(figure(value), worded))
    return rows


def _plain(shown: str, interval: str) -> Row:
    return {"shown": shown, "interval": interval}


def chosen_lines(found: Sequence[Mapping[str, Any]], size: str) -> tuple[list[Mapping[str, Any]], str]:
    """The rows to draw, and which they are: of many those that rest on much, since the lowest of all are luck."""
    defined = [row for row in found if row["agreement"] is not None]
    if len(defined) <= MOST_LINES:
        return defined, "with an agreement"
    sound = [row for row in defined if not row["few"]][:MOST_LINES]
    if sound:
        return sound, "lowest of those with 10 items or more"
    common = {id(row) for row in sorted(defined, key=lambda row: -row[size])[:MOST_LINES]}
    return [row for row in defined if id(row) in common], "with the most items"


def line_rows(found: Sequence[Mapping[str, Any]], column: str, size: str) -> list[Row]:
    """Rows of a breakdown by name: so many as can be read, with how much each rests on."""
    some, _ = chosen_lines(found, size)
    names = short_names((row[column] for row in some), NAME)
    return [
        {
            "name": names[row[column]],
            "value": row["agreement"],
            "low": row["low"],
            "high": row["high"],
            "kind": FEW if row["few"] else CHOSEN,
            "shown": figure(row["agreement"]),
            "interval": limits(row["low"], row["high"]),
            "size": count(row[size], "item"),
        }
        for row in some
    ]


def confusion_rows(breakdowns: Breakdowns) -> list[Row]:
    """Every two of the commonest classes: the probability of the one given the other; the same one on the diagonal."""
    some = known(breakdowns.classes).sort("annotations", "class", descending=[True, False]).head(MOST_CLASSES)
    classes = {row["class"]: row for row in in_order(some.rows(named=True))}
    names = short_names(classes, NAME)
    both = known(breakdowns.confusion).join(some.select("class"), on="class", maintain_order="left")
    mixed = {(one, other): value for one, other, value in both.select("class", "other", "probability").rows()}
    # Not the agreement of the class: under a metric it counts similar labels, too, and rows would exceed 100%.
    mixed |= {(given, given): rest for given, rest in _same(both, classes).items()}
    rows = []
    for given, row in classes.items():
        for other in classes:
            value = None if row["agreement"] is None else mixed.get((given, other), 0.0)
            rows.append({"down": names[given], "across": names[other], **_cell(value, few=row["few"])})
    return rows


def _same(both: polars.DataFrame, classes: Iterable[str]) -> dict[str, float]:
    """The probability of the same class once more: what others leave of 1, without the dust of adding up."""
    different: dict[str, list[float]] = {given: [] for given in classes}
    for given, value in both.select("class", "probability").rows():
        different[given].append(value)
    return {given: round(1 - fsum(values), 12) + 0.0 for given, values in different.items()}


def in_order(classes: list[Row]) -> list[Row]:
    """Classes that are all numbers from the lowest to the highest; others as they come.

    >>> [row["class"] for row in in_order([{"class": label} for label in ("10", "9", "-1.5")])]
    ['-1.5', '9', '10']
    """
    try:
        values = {row["class"]: float(row["class"]) for row in classes}
    except ValueError:
        return classes
    return sorted(classes, key=lambda row: values[row["class"]]) if all(map(isfinite, values.values())) else classes


def _cell(value: float | None, *, few: bool) -> Row:
    words = "" if not value else percent(value) if value >= 0.005 else "<1%"  # noqa: PLR2004 (half a percent)
    return {"value": value, "words": words, "few": few, "shown": figure(value) if value is not None else "–"}


def bin_rows(breakdowns: Breakdowns) -> list[Row]:
    """Items by agreement, in twenty steps; full agreement falls into the last."""
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
    some = set([name for name in busiest["annotator"] if name in met][:MOST_PEOPLE])
    return [name for name in known(breakdowns.annotators)["annotator"] if name in some]


def pair_rows(breakdowns: Breakdowns) -> list[Row]:
    """Every two annotators, both ways round; who never met has no value."""
    chosen = people(breakdowns)
    names = short_names(chosen, NAME)
    met: dict[tuple[str, str], Mapping[str, Any]] = {}
    for row in known(breakdowns.pairs).rows(named=True):
        met[row["annotator"], row["other"]] = met[row["other"], row["annotator"]] = row
    rows = []
    for one in chosen:
        for other in chosen:
            found = met.get((one, other))
            rows.append({"down": names[one], "across": names[other], **_meeting(found)})
    return rows


def _meeting(found: Mapping[str, Any] | None) -> Row:
    if found is None:
        return {"value": None, "words": "", "few": False, "shown": "–", "interval": "–", "size": "0"}
    return {
        "value": found["agreement"],
        "words": f"{found['shared']:,}" + ("*" if found["few"] else ""),
        "few": found["few"],
        "shown": figure(found["agreement"]),
        "interval": limits(found["low"], found["high"]),
        "size": count(found["shared"], "item"),
    }


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


def development_rows(breakdowns: Breakdowns) -> tuple[list[Row], bool]:
    """Agreement so far and on the items finished lately, and whether the times are dates."""
    found = development_steps(breakdowns)
    dated = all(is_date(row["time"]) for row in found)
    rows = []
    for row in found:
        for kind, name, low, high, size in DEVELOPMENT:
            if row[name] is not None:
                rows.append(
                    {
                        "kind": kind,
                        "time": row["time"] * 1000 if dated else row["time"],
                        "value": row[name],
                        "low": row[low],
                        "high": row[high],
                        "when": moment(row["time"]),
                        "shown": figure(row[name]),
                        "interval": limits(row[low], row[high]),
                        "size": count(row[size], "item"),
                    }
                )
    return rows, dated


def development_steps(breakdowns: Breakdowns) -> list[Row]:
    """Agreement over time with times as numbers: milliseconds since 1970 as seconds."""
    found = [{**row, "time": seconds(row["time"])} for row in known(breakdowns.development).rows(named=True)]
    scale = 1000 if found and all(is_date(row["time"] / 1000) for row in found) else 1
    return [{**row, "time": row["time"] / scale} for row in found]


def seconds(time: Any) -> float:
    """A moment as a number: seconds since 1970, or what the data have."""
    if isinstance(time, datetime):
        return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
    if isinstance(time, date):
        return datetime(time.year, time.month, time.day, tzinfo=UTC).timestamp()
    return float(time)


def plan_rows(breakdowns: Breakdowns) -> list[Row]:
    """Where things stand, and the cheapest way to each narrower interval by annotating new items."""
    spa, there = breakdowns.findings.spa, breakdowns.findings.data.annotations
    found = [row for row in known(breakdowns.plan).rows(named=True) if row["route"] == NEW_ITEMS and row["best"]]
    if spa.low is None or spa.high is None or not found:
        raise DataError(f"nothing to plan with: {known(breakdowns.plan)['undefined'][0]}")
    half = (spa.high - spa.low) / 2
    now = {"half_width": half, "annotations": there, "items": 0, "more_annotations": 0, "annotations_per_item": 0}
    return [{**_place(row), **_design(row)} for row in (now, *found)]


def _place(row: Mapping[str, Any]) -> Row:
    return {"annotations": row["annotations"], "half_width": row["half_width"]}


def _design(row: Mapping[str, Any]) -> Row:
    more, n = row["more_annotations"], row["annotations_per_item"]
    return {
        "precision": f"±{figure(row['half_width'], 2)}",
        "made": f"{row['annotations']:,}",
        "new": f"{row['items']:,} items, {n:,} annotations each" if more else "none",
        "words": f"{more:,} more" if more else "now",
    }


def strongest(edges: list[Row], each: int = STRONGEST) -> list[Row]:
    """The links that tell most: the strongest of each person, and those that hold everybody together.

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
