"""What a budget buys, what a decision takes, and when the work will be done: a plan's other questions.

They use the same variance as :mod:`spagree.estimate.planning` (docs/mathematics.md §10): I items with n
annotations each have the standard error √(Var(n)/I).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from math import inf, sqrt
from typing import TYPE_CHECKING, Any

from spagree.errors import UsageError
from spagree.estimate.label_counts import similar_votes
from spagree.estimate.new_annotators import TOO_FEW as TOO_FEW_PEOPLE
from spagree.estimate.new_annotators import TwoWay
from spagree.estimate.planning import (
    FRESH,
    NEW_ITEMS,
    NO_SPREAD,
    SAME_ITEMS,
    WIDEST,
    Present,
    Row,
    Standing,
    allowed_per_item,
    check_half_width,
    round_targets,
    row_of,
    smallest,
    table_of,
)
from spagree.estimate.recruiting import Crowd
from spagree.estimate.similarity import Metric
from spagree.estimate.uncertainty import Estimate, half_interval, wilson
from spagree.options import CustomWeights
from spagree.tally.tally import Tally

if TYPE_CHECKING:
    import polars

MOST_ITEMS = 10**9
SAME_AS_REQUIRED = "agreement is just what is required: no number of annotations can be counted on to decide it"
NOT_DECIDABLE = "more than a billion items; agreement is too close to what is required"
TOO_SMALL = "the budget does not pay for two annotations of one item"
DAY = 86_400


def check_budget(budget: int) -> None:
    """Refuse anything but a positive whole number of annotations."""
    if not (isinstance(budget, int) and budget > 0):
        raise UsageError(f"budget {budget!r}: how many more annotations can be made, a whole number from 1 on")


def check_share(name: str, value: float) -> None:
    """Refuse anything but a probability."""
    if not (isinstance(value, int | float) and 0 < value < 1):
        raise UsageError(f"{name} {value!r}: a probability of agreement lies between 0 and 1, for example 0.7")


def plan_for(
    tally: Tally,
    weights: str | CustomWeights,
    metric: Metric,
    spa: Estimate,
    *,
    most: int | None = None,
    people: Callable[[], TwoWay | None] | None = None,
    **wanted: Any,
) -> polars.DataFrame:
    """A plan for one of ``half_width``, ``budget`` or ``require``; by default for the next round half-widths.

    ``people`` says how much annotators differ, for intervals that also cover new annotators.
    """
    asked = _asked(wanted)
    _check(asked)
    allowed = allowed_per_item(tally, weights, most)
    reason = spa.undefined or (None if spa.stderr else NO_SPREAD)
    spread = None if people is None or reason else people()
    if people is not None and not reason and spread is None:
        reason = TOO_FEW_PEOPLE
    targets = [asked["half_width"]] if "half_width" in asked else round_targets(half_interval(spa) or WIDEST)
    if reason:
        rows = [{**asked, "undefined": reason}] if asked else [{"half_width": None, "undefined": reason}]
        is_for_width = people is None and asked.keys() <= {"half_width"}
        return table_of([row_of(each, undefined=reason) for each in targets] if is_for_width else rows)
    present = Present(tally, weights, spa, similar_votes(tally, metric), allowed)
    if spread is not None:
        crowd = Crowd(present, spread)
        each = [asked] if asked else [{"half_width": target} for target in round_targets(crowd.reached)]
        return table_of([row for one in each for row in crowd.rows(one)])
    return _answered(present, asked, targets)


def _check(asked: Mapping[str, Any]) -> None:
    """Refuse an invalid half-width, budget or agreement."""
    check_half_width(asked.get("half_width"))
    if "budget" in asked:
        check_budget(asked["budget"])
    if "require" in asked:
        check_share("require", asked["require"])


def _asked(wanted: Mapping[str, Any]) -> dict[str, Any]:
    """The one question that was asked."""
    asked = {name: value for name, value in wanted.items() if value is not None}
    if len(asked) > 1:
        raise UsageError(f"{' and '.join(asked)}: ask for one of them at a time")
    return asked


def _answered(present: Present, asked: Mapping[str, Any], targets: Sequence[float]) -> polars.DataFrame:
    if "budget" in asked:
        return table_of(spend(present, asked["budget"]))
    if "require" in asked:
        return table_of(decide(present, asked["require"]))
    return table_of([row for target in targets for row in present.rows(target)])


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
    asked = _asked(wanted) or {"half_width": 0.05}
    present = assumed(agreement, level, allowed_per_item(Tally(), "annotations_m1", most))
    if "half_width" in asked:
        check_half_width(asked["half_width"])
        return table_of([row for row in present.rows(asked["half_width"]) if row["route"] == FRESH])
    return _answered(present, asked, ())


def assumed(agreement: float, level: float, allowed: Sequence[int]) -> Present:
    """A project that has not started, with an assumed agreement."""
    check_share("agreement", agreement)
    spread = sqrt(agreement * (1 - agreement))
    spa = Estimate(agreement, spread, None, None, level, "annotations_m1")
    return Present(Tally(), "annotations_m1", spa, None, allowed)


def spend(present: Present, budget: int) -> list[Row]:
    """The half-width that ``budget`` more annotations buy, for each route and number of annotations per item."""
    check_budget(budget)
    rows = []
    for n in present.allowed:
        items = budget // n
        starts = {FRESH: Standing()} | ({NEW_ITEMS: present.standing} if present.tally.pairable_items else {})
        for route, start in starts.items():
            after = start.plus(items, present.k[n], present.variance(n)) if items else start
            rows.append(_bought(present, after, {"route": route, **_size(n, items, items * n)}))
    for after, size in _deepened(present, budget):
        rows.append(_bought(present, after, {"route": SAME_ITEMS, **size}))
    return _narrowest(rows)


def _size(n: int, items: int, annotations: int) -> Row:
    return {"annotations_per_item": n, "items": items, "more_annotations": annotations}


def _deepened(present: Present, budget: int) -> Iterator[tuple[Standing, Row]]:
    """All items brought to n annotations, for every affordable n."""
    by_n = present.tally.items_by_n
    scale = present.standing.noise / present.after(0).noise if present.tally.pairable_items else 1.0
    for n in present.allowed:
        short = {now: items for now, items in by_n.items() if now < n}
        cost = sum(items * (n - now) for now, items in short.items())
        if 0 < cost <= budget:
            yield present.after(n, scale), _size(n, sum(short.values()), cost)


def _bought(present: Present, after: Standing, row: Row) -> Row:
    """A row with the expected half-width; none if the budget buys nothing."""
    row |= {"best": False, "assumed": present.assumed(row["annotations_per_item"])}
    if not after.weight:
        return row | dict.fromkeys(("half_width", "half_width_low", "half_width_high")) | {"undefined": TOO_SMALL}
    items = 0 if row["route"] == SAME_ITEMS else row["items"]
    start = present.standing.noise if row["route"] == NEW_ITEMS else 0.0
    low, high = present.range(after, row["annotations_per_item"], items, 1 - start / after.noise)
    width = present.width(after)
    return row | {"half_width": width, "half_width_low": low, "half_width_high": high, "undefined": None}


def _narrowest(rows: list[Row]) -> list[Row]:
    """Mark the narrowest interval of each route."""
    best: dict[str, Row] = {}
    for row in rows:
        now = best.get(row["route"])
        if row["half_width"] is not None and (now is None or row["half_width"] < now["half_width"]):
            best[row["route"]] = row
    return [{**row, "best": row is best.get(row["route"])} for row in rows]


def decide(present: Present, require: float) -> list[Row]:
    """How many more annotations until the interval lies on one side of ``require``, if agreement stays the same."""
    check_share("require", require)
    rows = [_decided(present, require, n) for n in present.allowed]
    known = [row for row in rows if row["undefined"] is None]
    best = min(known, key=lambda row: row["more_annotations"], default=None)
    return [{**row, "best": row is best} for row in rows]


def _decided(present: Present, require: float, n: int) -> Row:
    value, start = float(present.spa), present.standing if present.tally.pairable_items else Standing()

    def is_decided(items: int) -> bool:
        after = start.plus(items, present.k[n], present.variance(n))
        low, high = wilson(value, sqrt(after.noise) / after.weight, after.weight**2 / after.squares, present.spa.level)
        return low >= require or high < require

    row: Row = {"require": require, "route": NEW_ITEMS if start.weight else FRESH, "annotations_per_item": n}
    row |= {"will_pass": value > require, "assumed": present.assumed(n), "best": False}
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
    known = [(time, made) for time, made in moments if time is not None]
    if len(known) < 2 or known[-1][0] <= known[0][0]:
        return None
    middle = known[len(known) // 2 - 1] if len(known) > 3 else known[0]
    seconds = known[-1][0] - middle[0]
    rate = (known[-1][1] - middle[1]) / seconds * DAY if seconds > 0 else inf
    return Pace(rate, datetime.fromtimestamp(known[-1][0], UTC)) if 0 < rate < inf else None


def _seconds(time: Any) -> float | None:
    """Seconds since 1970, from a date or from a number that can only be a timestamp."""
    if isinstance(time, datetime):
        return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
    if isinstance(time, int | float) and not isinstance(time, bool):
        seconds = time / 1000 if time > 1e11 else float(time)
        return seconds if seconds > 3e8 else None
    return None
