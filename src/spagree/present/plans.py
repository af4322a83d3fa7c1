"""Plans and agreement over time → rows for JSON, a table and a sentence for the terminal."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING, Any

from spagree.errors import DataError, count
from spagree.estimate.plan import FRESH, NEW_ITEMS, SAME_ITEMS, Pace
from spagree.estimate.uncertainty import ANNOTATORS, ITEMS, Estimate
from spagree.present.fitted import Fitted, Heading, bare
from spagree.present.wording import figure, interval, limits, moment, percent

if TYPE_CHECKING:
    import polars

ROUTES = {FRESH: "a fresh data set", NEW_ITEMS: "new items", SAME_ITEMS: "the same items"}
MOST_ROWS = 25
MOSTLY = 0.5  # the share of a variance that decides what narrows an interval
LITTLE_KNOWN = (
    "The pilot says little about that many annotations per item; typical values from real data sets fill the gap"
)
NOTHING_KNOWN = "Without a pilot, how much items differ is assumed from real data sets"
IN_TABLE = "The table has the fewest annotations for each half-width."
Rows = Sequence[Mapping[str, Any]]


def plan_rows(plan: polars.DataFrame, pace: Pace | None) -> list[dict[str, Any]]:
    """Plain rows; ``done`` is the day the plan would be finished at the present pace, if the pace is known."""
    rows = plan.rows(named=True)
    for row in rows:
        if pace is not None and row.get("more_annotations") and row.get("route") != FRESH:
            end = pace.done(row["more_annotations"])
            row["done"] = None if end is None else end.date().isoformat()
    return rows


def plan_lines(rows: Rows, pace: Pace | None) -> str:
    """The best plan in words, one line for each half-width, budget or requirement; none if the table has only those."""
    best = [row for row in rows if row.get("best")]
    is_in_table = _is_best_only(rows)
    in_words = [row for row in best if not (is_in_table and row["more_annotations"])]
    lines = [*dict.fromkeys(map(_sentence, in_words)), *([IN_TABLE] if is_in_table else [])]
    lines += _impossible(rows)
    if pace is not None:
        lines.append(f"Present pace: {count(round(pace.per_day), 'annotation')} a day.")
    if any(row.get("assumed") for row in best):
        has_pilot = any(row["route"] != FRESH for row in rows)
        lines.append(f"{LITTLE_KNOWN if has_pilot else NOTHING_KNOWN}, so the plan is rough.")
    return "\n".join(lines)


def people_line(spa: Estimate) -> str:
    """What narrows the interval for other annotators, which no plan is about; nothing where there is none."""
    items, others = spa.intervals.get(ITEMS), spa.intervals.get(ANNOTATORS)
    if items is None or others is None or others.low is None or not (items.stderr and others.stderr):
        return ""
    between = 1 - (items.stderr / others.stderr) ** 2  # the share of its variance that more items leave as it is
    how = "with more people, not with more items:" if between >= MOSTLY else "with more items as well: only"
    return (
        f"These widths are for these annotators. The interval for other annotators, {interval(others)}, narrows {how} "
        f"{percent(between)} of its variance is how people differ."
    )


def _impossible(rows: Rows) -> list[str]:
    """Each route that does not lead to the goal, with the reason and the half-widths that it concerns."""
    widths: dict[tuple[str, str], dict[str, None]] = {}
    for row in rows:
        if row.get("undefined") and row.get("route"):
            widths.setdefault((ROUTES[row["route"]], row["undefined"]), {})[_width(row)] = None
    named = {key: ", ".join(filter(None, concerned)) for key, concerned in widths.items()}
    return [f"{wide} with {key[0]}: {key[1]}." if wide else f"{key[0]}: {key[1]}." for key, wide in named.items()]


def _sentence(row: Mapping[str, Any]) -> str:
    route, more = ROUTES[row["route"]], count(row["more_annotations"], "annotation")
    done = f", done about {row['done']}" if row.get("done") else ""
    if not row["more_annotations"]:
        return _already(row)
    if "require" in row:
        side = "above" if row["will_pass"] else "below"
        return (
            f"{more} of {route} ({row['annotations_per_item']} per item) would show that agreement is {side} "
            f"{row['require']}, if it stays as it is{done}."
        )
    per_item = "" if row["annotations_per_item"] is None else f", {row['annotations_per_item']} per item"
    return f"{_wide(row)}: {more} of {route}, {count(row['items'], 'item')}{per_item}{done}."


def _already(row: Mapping[str, Any]) -> str:
    """Nothing has to be annotated."""
    if "require" not in row:
        return f"{_width(row)}: reached already."
    sides = {True: "that agreement reaches", False: "that agreement is below", None: "whether agreement reaches"}
    return f"The data already show {sides[row.get('will_pass')]} {row['require']}."


def _wide(row: Mapping[str, Any]) -> str:
    between = _between(row)
    return f"{_width(row)} ({between})" if between else _width(row)


def plan_table(rows: Rows) -> Fitted:
    """Every route and number of annotations per item, the best marked; only the best if there are many rows."""
    listed, only_best = _listed(rows), _is_best_only(rows)
    columns: dict[str, Callable[[Mapping[str, Any]], str]] = {
        "": lambda row: "▸" if row["best"] and not only_best else "",
        "route": lambda row: ROUTES[row["route"]],
        "per item": lambda row: _whole(row, "annotations_per_item"),
        "items": lambda row: _whole(row, "items"),
        "annotations to make": lambda row: _whole(row, "more_annotations"),
        "half-width": _width,
        "between": _between,
        "done": lambda row: row.get("done") or "",
    }
    filled = {title: [cell(row) for row in listed] for title, cell in columns.items()}
    kept = {title: cells for title, cells in filled.items() if any(cells)}
    several = len({_width(row) for row in listed}) > 1
    spare = ["between", *([] if several else ["half-width"]), "done"]
    shown = bare(*kept, names=["route"], spare=spare)
    for cells in zip(*kept.values(), strict=True):
        shown.add_row(*cells)
    return shown


def _listed(rows: Rows) -> Rows:
    planned = [row for row in rows if not row.get("undefined") and row["more_annotations"]]
    return planned if len(planned) <= MOST_ROWS else [row for row in planned if row["best"]]


def _is_best_only(rows: Rows) -> bool:
    """Whether the table lists nothing but the best plans, and several of them."""
    listed = _listed(rows)
    return len(listed) > 1 and all(row["best"] for row in listed)


def _whole(row: Mapping[str, Any], name: str) -> str:
    """A count, – if it is unknown, nothing if the plan does not have it."""
    value = row.get(name, "")
    return "–" if value is None else f"{value:,}" if value != "" else ""


def _between(row: Mapping[str, Any]) -> str:
    low, high = row.get("half_width_low"), row.get("half_width_high")
    return "" if low is None else limits(low, high)


def _width(row: Mapping[str, Any]) -> str:
    return f"± {figure(row['half_width'])}" if row.get("half_width") is not None else ""


def plan_chart(rows: Rows) -> Any:
    """The plan as a chart: annotations by half-width, or by annotations per item."""
    from spagree.present.charts.studies import planned

    defined = [{**row, "line": ROUTES[row["route"]]} for row in rows if not row.get("undefined")]
    if not defined:
        raise DataError(f"nothing to draw: {rows[0]['undefined']}")
    return planned(defined)


def development_rows(development: polars.DataFrame) -> list[dict[str, Any]]:
    """Plain rows: moments as text where they are dates."""
    return [
        {name: value.isoformat() if isinstance(value, date) else value for name, value in row.items()}
        for row in development.rows(named=True)
    ]


def development_table(rows: Rows) -> Fitted:
    """One row per step: agreement up to then, and agreement on the items finished most recently."""
    so_far = (Heading("SPA so far"), Heading("interval", is_right=False, spare=3))
    recent = (Heading("recent items"), Heading("interval", is_right=False, spare=2))
    sizes = (Heading("annotations", spare=1), Heading("items", spare=0))
    shown = Fitted(Heading("until", is_right=False), *sizes, *so_far, *recent)
    for row in rows:
        time = row["time"] if isinstance(row["time"], str) else moment(float(row["time"]))
        figures = [
            cell
            for value, low, high in (("spa", "low", "high"), ("recent", "recent_low", "recent_high"))
            for cell in (("–", "–") if row[value] is None else (figure(row[value]), limits(row[low], row[high])))
        ]
        shown.add_row(time, f"{row['annotations']:,}", f"{row['items']:,}", *figures)
    return shown
