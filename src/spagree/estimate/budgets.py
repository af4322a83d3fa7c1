"""What a budget buys, what a decision takes, and when the work will be done: a plan's other questions.

They use the same variance as :mod:`spagree.estimate.planning` (docs/mathematics.md §10): I items with n
annotations each have the standard error √(Var(n)/I). crowds.py answers them for new annotators, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from datetime import time as clock
from math import inf, sqrt
from typing import TYPE_CHECKING, Any

from spagree.errors import UsageError
from spagree.estimate.crowds import Crowd
from spagree.estimate.label_counts import LabelCounts
from spagree.estimate.leave_one_out import TOO_FEW as TOO_FEW_PEOPLE
from spagree.estimate.leave_one_out import TwoWay
from spagree.estimate.planning import (
    FINEST,
    FRESH,
    NEW_ITEMS,
    NO_SPREAD,
    SAME_ITEMS,
    WIDEST,
    Project,
    Row,
    WeightSums,
    allowed_per_item,
    cheapest,
    round_targets,
    row_of,
    smallest,
    table_of,
)
from spagree.estimate.uncertainty import Estimate, half_interval
from spagree.moments import is_date, unix_seconds
from spagree.options import CustomWeights
from spagree.tally.tally import Tally

if TYPE_CHECKING:
    import polars

MOST_ITEMS = 10**9
SAME_AS_REQUIRED = "agreement is just what is required: no number of annotations can be counted on to decide it"
NOT_DECIDABLE = "more than a billion items; agreement is too close to what is required"
TOO_SMALL = "the budget does not pay for the annotations of one item"
DAY = 86_400


def check_share(name: str, value: float) -> None:
    """Refuse anything but a probability."""
    if not (isinstance(value, int | float) and 0 < value < 1):
        raise UsageError(f"{name} {value!r}: a probability of agreement lies between 0 and 1, for example 0.7")


def plan_for(
    tally: Tally,
    weights: str | CustomWeights,
    similar: Callable[[], LabelCounts | None],
    spa: Estimate,
    *,
    most: int | None = None,
    people: Callable[[], TwoWay | None] | None = None,
    **wanted: Any,
) -> polars.DataFrame:
    """A plan for one of ``half_width``, ``budget`` or ``require``; by default for the next round half-widths.

    ``similar`` gives the votes under a metric with partial credit; ``people`` says how much annotators differ, for
    intervals that also cover new annotators.
    """
    goal = _goal(wanted)
    allowed = allowed_per_item(tally, weights, most)
    reason = spa.undefined or (None if spa.stderr else NO_SPREAD)
    spread = None if people is None or reason else people()
    if people is not None and not reason and spread is None:
        reason = TOO_FEW_PEOPLE
    targets = [goal["half_width"]] if "half_width" in goal else round_targets(half_interval(spa) or WIDEST)
    if reason:
        rows = [{**goal, "undefined": reason}] if goal else [{"half_width": None, "undefined": reason}]
        is_for_width = people is None and goal.keys() <= {"half_width"}
        return table_of([row_of(target, undefined=reason) for target in targets] if is_for_width else rows)
    project = Project(tally, weights, spa, similar(), allowed)
    if spread is not None:
        crowd = Crowd(project, spread)
        goals = [goal] if goal else [{"half_width": target} for target in round_targets(crowd.reached)]
        return table_of([row for each_goal in goals for row in crowd.rows(each_goal)])
    return _answered(project, goal, targets)


def _goal(wanted: Mapping[str, Any]) -> dict[str, Any]:
    """The one goal of the plan; refuses an invalid half-width, budget or agreement."""
    goal = {name: value for name, value in wanted.items() if value is not None}
    if len(goal) > 1:
        raise UsageError(f"{' and '.join(goal)}: ask for one of them at a time")
    half_width = goal.get("half_width", FINEST)
    if not (isinstance(half_width, int | float) and FINEST <= half_width < WIDEST):
        raise UsageError(f"half_width {half_width!r}: half the width of an interval, below 0.5; for example 0.02")
    budget = goal.get("budget", 1)
    if not (isinstance(budget, int) and budget > 0):
        raise UsageError(f"budget {budget!r}: how many more annotations can be made, a whole number from 1 on")
    if "require" in goal:
        check_share("require", goal["require"])
    return goal


def _answered(project: Project, goal: Mapping[str, Any], targets: Sequence[float]) -> polars.DataFrame:
    if "budget" in goal:
        return table_of(spend(project, goal["budget"]))
    if "require" in goal:
        return table_of(decide(project, goal["require"]))
    return table_of([row for target in targets for row in project.rows(target)])


def plan_expected(
    agreement: float, classes: int | None = None, *, level: float = 0.95, most: int | None = None, **wanted: Any
) -> polars.DataFrame:
    """A plan for a project that has not started: ``half_width``, ``budget`` or ``require`` at an expected agreement.

    >>> rows = plan_expected(0.7, half_width=0.03).filter("best")
    >>> rows.select("route", "annotations_per_item", "items", "more_annotations").rows()
    [('fresh', 4, 375, 1500)]
    """
    check_share("agreement", agreement)
    if classes is not None and (classes < 2 or agreement < 1 / classes):
        raise UsageError(
            f"agreement {agreement} with {classes} classes: labels picked blindly would agree more often; expect more"
        )
    goal = _goal(wanted) or {"half_width": 0.05}
    project = assumed(agreement, level, allowed_per_item(Tally(), "annotations_m1", most))
    if "half_width" in goal:
        return table_of([row for row in project.rows(goal["half_width"]) if row["route"] == FRESH])
    return _answered(project, goal, ())


def assumed(agreement: float, level: float, allowed: Sequence[int]) -> Project:
    """A project that has not started, with an assumed agreement."""
    spread = sqrt(agreement * (1 - agreement))
    spa = Estimate(agreement, spread, None, None, level, "annotations_m1")
    return Project(Tally(), "annotations_m1", spa, None, allowed)


def spend(project: Project, budget: int) -> list[Row]:
    """The half-width that ``budget`` more annotations buy, for each route and number of annotations per item."""
    rows = []
    for n in project.allowed:
        items = budget // n
        starts = {FRESH: WeightSums()} | ({NEW_ITEMS: project.current} if project.tally.pairable_items else {})
        for route, start in starts.items():
            after = start.plus(items, project.k[n], project.variance(n))
            rows.append(_with_half_width(project, after, {"route": route, **_size(n, items, items * n)}))
    for after, size in _deepened(project, budget):
        rows.append(_with_half_width(project, after, {"route": SAME_ITEMS, **size}))
    affordable = {row["route"] for row in rows if row["undefined"] is None}
    return _narrowest([row for row in rows if row["undefined"] is None or row["route"] not in affordable])


def _size(n: int, items: int, annotations: int) -> Row:
    return {"annotations_per_item": n, "items": items, "more_annotations": annotations}


def _deepened(project: Project, budget: int) -> Iterator[tuple[WeightSums, Row]]:
    """All items brought to n annotations, for every affordable n."""
    for n in project.allowed:
        items, cost = project.lacking(n)
        if 0 < cost <= budget:
            yield project.after(n, project.scale), _size(n, items, cost)


def _with_half_width(project: Project, after: WeightSums, row: Row) -> Row:
    """A row with the expected half-width; none if the budget buys nothing."""
    row |= {"assumed": project.assumed(row["annotations_per_item"])}
    if not row["more_annotations"]:
        return row | dict.fromkeys(("half_width", "half_width_low", "half_width_high")) | {"undefined": TOO_SMALL}
    items = 0 if row["route"] == SAME_ITEMS else row["items"]
    start = project.current.noise if row["route"] == NEW_ITEMS else 0.0
    low, high = project.range(after, row["annotations_per_item"], items, 1 - start / after.noise)
    width = project.width(after)
    return row | {"half_width": width, "half_width_low": low, "half_width_high": high, "undefined": None}


def _narrowest(rows: list[Row]) -> list[Row]:
    """Mark the narrowest interval of each route."""
    best: dict[str, Row] = {}
    for row in rows:
        now = best.get(row["route"])
        if row["half_width"] is not None and (now is None or row["half_width"] < now["half_width"]):
            best[row["route"]] = row
    return [{**row, "best": row is best.get(row["route"])} for row in rows]


def decide(project: Project, require: float) -> list[Row]:
    """How many more annotations until the interval lies on one side of ``require``, if agreement stays the same."""
    return cheapest([_decided(project, require, n) for n in project.allowed])


def _decided(project: Project, require: float, n: int) -> Row:
    value, start = float(project.spa), project.current if project.tally.pairable_items else WeightSums()

    def is_decided(items: int) -> bool:
        after = start.plus(items, project.k[n], project.variance(n))
        low, high = after.interval(value, project.spa.level)
        return low >= require or high < require

    row: Row = {"require": require, "route": NEW_ITEMS if start.weight else FRESH, "annotations_per_item": n}
    row |= {"will_pass": value > require, "assumed": project.assumed(n), "best": False}
    now = start.weight > 0 and is_decided(0)
    if value == require or not (now or is_decided(MOST_ITEMS)):
        reason = SAME_AS_REQUIRED if value == require else NOT_DECIDABLE
        return row | {"items": None, "more_annotations": None, "undefined": reason}
    items = 0 if now else smallest(is_decided)
    return row | {"items": items, "more_annotations": items * n, "undefined": None}


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast annotations arrive, over the later half of the project."""

    per_day: float
    last: datetime

    def done(self, more: int) -> datetime | None:
        """When ``more`` further annotations will be in; None beyond the calendar.

        >>> Pace(100.0, datetime(2026, 1, 1, tzinfo=UTC)).done(250).isoformat()
        '2026-01-03T12:00:00+00:00'
        """
        end = self.last.timestamp() + more / self.per_day * DAY
        return datetime.fromtimestamp(end, UTC) if end < datetime.max.replace(tzinfo=UTC).timestamp() else None


def pace(rows: Sequence[Mapping[str, Any]]) -> Pace | None:
    """From a development's rows (``time``, ``annotations`` so far); None if times are not dates or are all equal."""
    moments = [(_seconds(row["time"]), row["annotations"]) for row in rows]
    dated = [(time, annotations) for time, annotations in moments if time is not None]
    if len(dated) < 2 or dated[-1][0] <= dated[0][0]:
        return None
    middle = dated[len(dated) // 2 - 1] if len(dated) > 3 else dated[0]
    seconds = dated[-1][0] - middle[0]
    rate = (dated[-1][1] - middle[1]) / seconds * DAY if seconds > 0 else inf
    return Pace(rate, datetime.fromtimestamp(dated[-1][0], UTC)) if 0 < rate < inf else None


def _seconds(time: Any) -> float | None:
    """Seconds since 1970, from a date or from a number of seconds or milliseconds that can only be a date."""
    if isinstance(time, date):
        return unix_seconds(time if isinstance(time, datetime) else datetime.combine(time, clock()))
    if isinstance(time, int | float) and not isinstance(time, bool):
        return next((seconds for seconds in (float(time), time / 1000) if is_date(seconds)), None)
    return None
