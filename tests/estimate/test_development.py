"""Agreement in time: every step must be what measure() gives on the annotations made until then."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import spagree
from examples import TIMES, examples
from oracle import exactly
from spagree.comparing import rescaled
from spagree.errors import Message
from spagree.estimate import votes
from spagree.estimate.development import NO_TIMES
from spagree.estimate.uncertainty import NOT_PAIRABLE, ONE_ITEM
from spagree.estimate.votes import scale_of
from spagree.estimate.weights import SCHEMES

Rows = list[tuple[str, str, str, int]]
COLUMNS = [
    "time",
    "annotations",
    "items",
    "spa",
    "low",
    "high",
    "undefined",
    "recent_items",
    "recent",
    "recent_low",
    "recent_high",
    "recent_undefined",
    "without_time",
    "since",
]


def without_names(reason: str | None) -> str | None:
    """A step does not know who annotated: it cannot say that everything was annotated by one person."""
    return NOT_PAIRABLE if reason is not None and "only one annotator" in reason else reason


@st.composite
def timed_rows(draw: st.DrawFn, labels: str = "abc") -> Rows:
    """A few items, each with some annotators, in any order of time and with ties."""
    pairs = draw(st.lists(st.tuples(st.integers(1, 6), st.integers(1, 5)), min_size=1, max_size=24, unique=True))
    return [(f"q{item}", f"p{who}", draw(st.sampled_from(labels)), draw(st.integers(0, 12))) for item, who in pairs]


def until(rows: Rows, end: Any) -> Rows:
    return [row for row in rows if row[3] <= end]


def finished_in(rows: Rows, after: float, end: float) -> Rows:
    """All annotations of the items whose last one was made after ``after`` and not after ``end``."""
    last = {item: max(time for each, _, _, time in rows if each == item) for item, *_ in rows}
    return [row for row in rows if after < last[row[0]] <= end]


def check(rows: Rows, steps: int, **options: Any) -> None:
    whole = spagree.measure(rows, **options)
    found = whole.development(steps)

    def on_its_scale(part: Rows) -> Any:
        """Figures of a part are comparable with the others on the scale of the whole only."""
        return rescaled(
            spagree.measure(part, interval_for="items", **options),
            whole.evidence.metric.over(scale_of(whole.evidence.tally)),
        )

    ends = found["time"].to_list()
    width = max(1, len(ends) // 8)
    assert found.columns == COLUMNS and ends == sorted(set(ends)) and len(ends) <= steps
    assert ends[-1] == max(time for *_, time in rows)
    later = [[time for *_, time in rows if before < time <= end] for before, end in pairwise([-math.inf, *ends])]
    assert found["since"].to_list() == [min(times) for times in later]
    for place, row in enumerate(found.rows(named=True)):
        then = on_its_scale(until(rows, row["time"]))
        assert (row["annotations"], row["items"]) == (then.data.annotations, then.data.pairable_items)
        assert (row["spa"], row["low"], row["high"]) == (then.spa.value, then.spa.low, then.spa.high)
        assert row["undefined"] == without_names(then.spa.undefined)
        late = finished_in(rows, ends[place - width] if place >= width else -1, row["time"])
        if not late:
            assert (row["recent_items"], row["recent"], row["recent_undefined"]) == (0, None, NOT_PAIRABLE)
            continue
        recent = on_its_scale(late)
        assert row["recent_items"] == recent.data.pairable_items
        assert (row["recent"], row["recent_low"], row["recent_high"]) == (
            recent.spa.value,
            recent.spa.low,
            recent.spa.high,
        )
        assert row["recent_undefined"] == without_names(recent.spa.undefined)


@pytest.mark.parametrize("weights", [*SCHEMES, lambda n: 1 / n, {2: 1.0, 3: 1.7, 4: 2.2, 5: 2.5}])
@given(rows=timed_rows(), steps=st.integers(1, 12))
@examples(4)
def test_every_step_is_the_measure_of_its_annotations(weights: Any, rows: Rows, steps: int) -> None:
    check(rows, steps, weights=weights, level=0.9)


@pytest.mark.parametrize("seed", range(2 * TIMES))
@pytest.mark.parametrize(
    ("metric", "weights"), [("ordinal", "annotations_m1"), ("ratio", "inv_var_class"), ("interval", "edge")]
)
def test_every_step_is_the_measure_of_its_annotations_by_a_metric(
    metric: str, weights: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(votes, "CELLS_AT_ONCE", 4_000)  # tables for a million items take long, for nine items
    frame = spagree.simulate(items=9, per_item=(1, 5), annotators=6, classes=4, seed=seed).frame
    numbers = frame.with_columns(pl.col("label").replace_strict({"A": "0", "B": "1", "C": "3", "D": "4"}))
    check(numbers.with_columns(pl.col("time").shuffle(seed=1) // 2).rows(), 9, metric=metric, weights=weights)


def test_steps_hold_about_as_many_annotations_each() -> None:
    """A quiet night is no step: times are cut by their order, not by the clock."""
    times = [*range(100), *range(10**6, 10**6 + 100)]
    rows = [(f"q{place // 2}", f"p{place % 2}", "yes", time) for place, time in enumerate(times)]
    found = spagree.measure(rows).development(steps=8)
    assert found["annotations"].to_list() == [25, 50, 75, 100, 125, 150, 175, 200]
    assert found["time"].to_list()[:4] == [24, 49, 74, 99]
    assert spagree.measure(rows).development().height == 40


def test_annotations_of_one_moment_stay_together() -> None:
    rows = [(f"q{place // 2}", f"p{place % 2}", "yes", 7 if place < 90 else 8) for place in range(100)]
    found = spagree.measure(rows).development(steps=10)
    assert found.select("time", "annotations", "items").rows() == [(7, 90, 45), (8, 100, 50)]


def test_recent_shows_a_change_at_once_where_the_whole_is_slow() -> None:
    """Sixty items in full agreement, then twenty without any."""
    rows = [
        (f"q{item}", f"p{who}", "yes" if item < 60 or who else "no", 2 * item + who)
        for item in range(80)
        for who in range(2)
    ]
    found = spagree.measure(rows).development(steps=16)
    assert found["recent"].to_list()[:12] == [1.0] * 12 and found["recent"].to_list()[13:] == [0.0] * 3
    assert found["recent_items"].to_list() == [5] + [10] * 15  # two of sixteen steps, where there are two
    assert found["spa"][-1] == 0.75


def test_undefined_steps_have_a_reason() -> None:
    rows = [("q1", "a", "x", 1), ("q1", "b", "x", 2), ("q2", "a", "x", 3), ("q2", "b", "y", 4)]
    found = spagree.measure(rows).development(steps=4)
    assert found["undefined"].to_list() == [NOT_PAIRABLE, ONE_ITEM, ONE_ITEM, None]
    assert found["spa"].to_list() == [None, 1.0, 1.0, 0.5]
    assert found["low"].to_list()[:3] == [None] * 3 and found["low"][3] is not None
    assert found["recent"].to_list() == [None, 1.0, None, 0.0]
    assert found["recent_undefined"].to_list() == [NOT_PAIRABLE, ONE_ITEM, NOT_PAIRABLE, ONE_ITEM]


def test_own_weights_that_early_items_lack_leave_a_step_undefined() -> None:
    rows = [(f"q{item}", f"p{who}", "xy"[item * who % 2], 10 * who + item) for item in range(4) for who in range(3)]
    found = spagree.measure(rows, weights={3: 1.0}).development(steps=3)
    assert found["spa"].to_list()[:2] == [None, None] and found["spa"][2] is not None
    assert "none given for items with 2 annotations" in found["undefined"][1]


@pytest.mark.parametrize("missing", [None, float("nan"), float("inf")])
def test_annotations_without_a_time_are_counted(missing: float | None) -> None:
    frame = pl.DataFrame(
        {
            "item": ["q1", "q1", "q1", "q2", "q2"],
            "annotator": ["a", "b", "c", "a", "b"],
            "label": ["x", "x", "y", "x", "y"],
            "time": [1.0, 2.0, missing, 3.0, 4.0],
        }
    )
    found = spagree.measure(frame).development(steps=2)
    assert found["without_time"].to_list() == [1, 1]
    assert found.select("time", "annotations", "items", "spa").rows() == [(2.0, 2, 1, 1.0), (4.0, 4, 2, 0.5)]


def test_no_time_at_all_is_refused_with_the_remedy() -> None:
    rows = [("q1", "a", "x"), ("q1", "b", "x")]
    with pytest.raises(
        spagree.UsageError, match=exactly("the times of the annotations are unknown; name their column with time=")
    ):
        spagree.measure(rows).development()
    assert "time=" in Message(NO_TIMES)
    frame = pl.DataFrame(rows, schema=["item", "annotator", "label"], orient="row")
    empty = frame.with_columns(time=pl.lit(None, dtype=pl.Float64))
    with pytest.raises(
        spagree.DataError, match=exactly("none of the 2 annotations has a time; name another column with time=")
    ):
        spagree.measure(empty).development()


def test_a_tally_says_nothing_about_time() -> None:
    tally = spagree.tally([("q1", "a", "x", 1), ("q1", "b", "x", 2)])
    with pytest.raises(
        spagree.UsageError,
        match=exactly("a tally does not say when annotations were made; measure the annotations themselves"),
    ):
        spagree.measure(tally).development()


@pytest.mark.parametrize("steps", [0, -1, 1_001, 2.5, "40"])
def test_steps_are_checked(steps: Any) -> None:
    rows = [("q1", "a", "x", 1), ("q1", "b", "x", 2)]
    with pytest.raises(
        spagree.UsageError, match=exactly(f"steps {steps!r}: a whole number from 1 to 1,000, for example 40")
    ):
        spagree.measure(rows).development(steps)


MONDAY = datetime(2024, 4, 29, 8, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    "times",
    [
        [MONDAY + timedelta(hours=hour) for hour in range(4)],
        [MONDAY.replace(tzinfo=None) + timedelta(hours=hour) for hour in range(4)],
        [date(2024, 4, day) for day in range(1, 5)],
        [Decimal("0.1") * place for place in range(4)],
        [2**62 + place for place in range(4)],
    ],
)
def test_times_are_returned_unchanged(times: list[Any]) -> None:
    frame = pl.DataFrame({"item": [1, 1, 2, 2], "annotator": list("abab"), "label": list("xxxy"), "time": times})
    found = spagree.measure(frame).development(steps=2)
    assert found["time"].to_list() == [times[1], times[3]]
    assert found["spa"].to_list() == [1.0, 0.5]


def test_files_and_other_engines_tell_the_same(tmp_path: Path) -> None:
    frame = spagree.simulate(items=60, per_item=(1, 4), seed=2).frame
    path = tmp_path / "project.csv"
    frame.write_csv(path)
    expected = spagree.measure(frame).development(steps=9)
    sources: list[Any] = [path, frame.lazy(), frame.to_pandas(), frame.to_arrow()]
    for source in sources:
        found = spagree.measure(source).development(steps=9)
        assert found.drop("time").equals(expected.drop("time"))
        assert found["time"].to_list() == expected["time"].to_list()


def test_dates_of_pandas_with_gaps() -> None:
    times = pd.to_datetime(["2024-04-27T08:00Z", None, "2024-04-28T08:00Z", "2024-04-29T08:00Z"])
    frame = pd.DataFrame({"item": [1, 1, 2, 2], "annotator": list("abab"), "label": [1, 1, 1, 2], "time": times})
    found = spagree.measure(frame).development(steps=1)
    assert found.select("time", "annotations", "items", "without_time").rows() == [(MONDAY, 3, 1, 1)]


def test_policies_apply_before_the_steps() -> None:
    """What was settled before is not counted again: only the last answer of each annotator, the first two per item."""
    rows = [("q1", "a", "x", 1), ("q1", "a", "y", 5), ("q1", "b", "y", 2), ("q1", "c", "y", 6), ("q2", "a", "x", 3)]
    found = spagree.measure(rows, duplicates="last", first=2).development(steps=3)
    assert found.select("time", "annotations", "items", "spa").rows() == [
        (2, 1, 0, None),
        (3, 2, 0, None),
        (5, 3, 1, 1.0),
    ]


def test_an_item_with_very_many_annotations_stays_exact() -> None:
    """T of 20,000 annotations needs 43 bits, and more in the sums over several items."""
    size = 20_000
    frame = pl.DataFrame(
        {
            "item": np.repeat(["q1", "q2", "q3"], size),
            "label": np.where(np.arange(3 * size) % 7 == 0, "no", "yes"),
            "time": np.arange(3 * size),
        }
    )
    agreement = spagree.measure(frame, weights="inv_var_class")
    found = agreement.development(steps=3)
    assert found["spa"][-1] == agreement.spa.value and found["high"][-1] == agreement.spa.high
    assert found["items"].to_list() == [1, 2, 3]


def test_an_item_that_comes_back_moves_from_pattern_to_pattern() -> None:
    """Three steps touch one item, another gets the same labels in another order: what was is not counted beside."""
    rows = [("q1", "a", "0", 1), ("q1", "b", "2", 1), ("q2", "a", "1", 2), ("q1", "c", "2", 2), ("q2", "b", "0", 3)]
    rows += [("q1", "d", "2", 3), ("q3", "a", "1", 3), ("q4", "a", "2", 1), ("q4", "b", "0", 2)]
    check(rows, 3, metric="interval")
