"""What the page says in words: true for these data, whatever they are."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any

import polars
import pytest
from test_report_page import page_of, section, text_of

import spagree

Rows = list[tuple[Any, ...]]


def numbers(items: int = 60) -> Rows:
    return [
        (f"q{item}", f"p{(item + who) % 3}", str(item % 5 + (item + who) % 3 % 2))
        for item in range(items)
        for who in range(2)
    ]


def annotated(n: int, items: int = 40) -> Rows:
    return [(f"q{item}", f"p{who}", "xy"[(item * who) % 3 % 2]) for item in range(items) for who in range(n)]


def test_by_a_metric_nothing_is_called_a_probability() -> None:
    html = page_of(numbers(), metric="interval")
    said = text_of(html)
    assert "how likely is it" not in said and "How often somebody else" not in said
    assert "how much does a second one agree on average (1: the same label)?" in section(html, "where")
    assert "How much somebody else agrees on average on items they share" in section(html, "who")
    assert "mean agreement of a second annotator" in html and "probability that a second annotator" not in html


def test_rows_of_a_confusion_add_up_only_where_no_class_is_cut() -> None:
    few = [(f"q{item}", f"p{who}", f"c{(item + who * (item % 2)) % 16:03}") for item in range(90) for who in range(2)]
    many = [(f"q{item}", f"p{who}", f"c{(item + who * (item % 2)) % 17:03}") for item in range(93) for who in range(2)]
    assert "Each row adds up to 100%." in section(page_of(few), "where")
    assert "adds up" not in section(page_of(many), "where")


@pytest.mark.parametrize(
    ("n", "says"),
    [
        (2, "Two annotations agree or they do not, so only 0 and 1 can occur"),
        (3, "three: 0, 0.33 or 1"),
        (6, "A tall bar at 1 and a few bars on the left"),
    ],
)
def test_the_spread_of_items_is_read_for_the_annotations_they_have(n: int, says: str) -> None:
    said = section(page_of(annotated(n)), "where")
    assert says in said
    assert said.count("A tall bar") == (n == 6)


def test_by_a_metric_two_annotations_can_agree_in_part() -> None:
    assert "only 0 and 1 can occur" not in section(page_of(numbers(), metric="interval"), "where")


def test_annotators_are_compared_with_their_own_mean() -> None:
    html = page_of(annotated(3))
    assert "the dashed line is the mean of all annotations" in section(html, "who")


# Chance ----------------------------------------------------------------------------------------


def test_guessing_agrees_so_often_or_by_a_metric_so_much() -> None:
    """Labels that lie close agree in part, so their agreement is no share of the time."""
    close = [(f"q{item}", f"p{who}", str(10 + (item + who) % 2)) for item in range(60) for who in range(2)]
    far = [("z", "p0", "0"), ("z", "p1", "10")]
    nominal, metric = page_of([*close, *far]), page_of([*close, *far], metric="interval")
    expected = spagree.measure([*close, *far]).chance["spa_kappa"].expected
    assert f"Labels picked blindly would agree {expected:.0%} of the time." in text_of(nominal)
    assert re.search(r"Labels picked blindly would agree \d+% on average\.", text_of(metric))
    assert "would already agree" in section(metric, "chance")
    assert "of the time" not in section(metric, "chance") + section(metric, "trust")


# Time ------------------------------------------------------------------------------------------


def timed(times: list[Any], items: int = 24) -> polars.DataFrame:
    """Items with two annotations each; both come at the time of the item."""
    rows = [
        (f"q{item}", who, "xy"[item * place % 3 % 2], times[item % len(times)])
        for item in range(items)
        for place, who in enumerate("ab")
    ]
    return polars.DataFrame(rows, schema=["item", "annotator", "label", "time"], orient="row")


def test_days_are_shown_without_midnight_and_moments_with_their_time() -> None:
    days = [datetime(2024, 3, day) for day in (1, 2, 3)]  # noqa: DTZ001 (as a file has them)
    html = page_of(timed(days))
    assert "2024-03-01" in section(html, "course") and '"when": "2024-03-01"' in html
    assert "00:00" not in section(html, "course") and ' 00:00"' not in html
    assert "2024-03-02 00:00" in section(page_of(timed([*days, datetime(2024, 3, 1, 14, 5)])), "course")  # noqa: DTZ001


@pytest.mark.parametrize("scale", [1, 1000])
def test_seconds_and_milliseconds_since_1970_are_dates(scale: int) -> None:
    html = page_of(timed([(1_700_000_000 + 3600 * hour) * scale for hour in range(5)]))
    assert "2023-11-14 22:13" in section(html, "course") and "1,700,000" not in html
    assert '"time": 1700000000000.0' in html


def test_other_numbers_stay_numbers() -> None:
    assert "1,234" in section(page_of(timed([1234, 5678])), "course")


def test_finished_last_is_explained_in_steps() -> None:
    """Three dates are three steps: the latest is a third of the annotations, not an eighth."""
    assert "last annotation came in that step (1 of 3)," in section(page_of(timed([1, 2, 3])), "course")
    assert "last annotation came in that step or the 1 before (2 of 16)," in section(
        page_of(timed(list(range(16)), 48)), "course"
    )
