"""spagree plan and spagree development: sentences, tables and JSON of the same rows."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path

import polars
import pytest

import spagree
from command import Run, written
from spagree.estimate.uncertainty import Interval, leading
from spagree.present.charts.studies import plan_chart
from spagree.present.sentences import people_line


def test_a_half_width_a_budget_and_a_decision(run: Run) -> None:
    agreement = spagree.measure("example:sparse")
    found = run.json("plan", "example:sparse", "--half-width", 0.02)["rows"]
    assert found == agreement.plan(0.02).rows(named=True)
    code, out, _ = run("plan", "example:sparse", "--budget", 600, "--most", 4)
    rows = agreement.plan(budget=600, most=4).filter("best").rows(named=True)
    assert code == 0 and {row["route"] for row in rows} == {"fresh", "new_items", "same_items"}
    assert all(f"± {row['half_width']:.3f} (" in out for row in rows) and "between" in out
    code, out, _ = run("plan", "example:sparse", "--require", 0.55)
    assert code == 0 and "annotations of new items" in out and "above 0.55" in out


def test_expectations_without_data(run: Run) -> None:
    code, out, _ = run("plan", "--agreement", 0.7, "--classes", 4, "--half-width", 0.03)
    assert code == 0 and "of a fresh data set" in out and "so the plan is rough" in out
    rows = run.json("plan", "--agreement", 0.7, "--budget", 1000)["rows"]
    assert {row["route"] for row in rows} == {"fresh"}
    assert run("plan", "--agreement", 0.7, "--require", 0.6)[0] == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "plan needs either"),
        (["example:sparse", "--agreement", 0.7], "plan needs either"),
        (["example:sparse", "--budget", 10, "--require", 0.5], "one of them at a time"),
        (["--agreement", 0.7, "--budget", 10, "--require", 0.5], "one of them at a time"),
        (["--agreement", 0.2, "--classes", 3], "labels picked blindly would agree more often"),
        (["--agreement", 0.7, "--half-width", 3], "half the width of an interval"),
        (["--agreement", 70], "lies between 0 and 1"),
    ],
)
def test_what_cannot_be_planned_is_a_usage_error(arguments: list[object], message: str, run: Run) -> None:
    code, _, err = run("plan", *arguments)
    assert (code, message in err) == (2, True), err


def timed(path: Path, days: int) -> Path:
    frame = spagree.simulate(items=100, per_item=3, seed=4).frame
    start = 1_760_000_000
    rows = [(i, a, label, start + place * days * 86_400 / 300) for place, (i, a, label, _) in enumerate(frame.rows())]
    return written(path, *(",".join(map(str, row)) for row in rows), header="item,annotator,label,time")


def test_the_day_at_the_present_pace(run: Run, tmp_path: Path) -> None:
    code, out, _ = run("plan", timed(tmp_path / "a.csv", 30), "--half-width", 0.05)
    assert code == 0 and "Present pace: 10 annotations a day." in out and ", done about 202" in out
    rows = run.json("plan", tmp_path / "a.csv", "--half-width", 0.05)["rows"]
    assert {row["route"] for row in rows if row.get("done")} == {"new_items", "same_items"}


def test_no_plan_where_nothing_differs_or_a_budget_pays_for_nothing(run: Run, tmp_path: Path) -> None:
    code, out, err = run("plan", "example:sparse", "--budget", 1, "--most", 2)
    assert (code, out) == (3, "") and "no plan: the budget " in err
    path = written(tmp_path / "same.csv", *(f"{i},{a},x" for i in range(5) for a in "ab"))
    for option in ([], ["--budget", 50], ["--require", 0.5]):
        code, out, err = run("plan", path, *option)
        assert (code, out) == (3, "") and "no plan: all items agree equally" in err
        code, out, _ = run("plan", path, *option, "--json")
        assert code == 3 and "all items agree equally" in json.loads(out)["rows"][0]["undefined"]


def test_what_is_reached_already_takes_nothing(run: Run) -> None:
    code, out, _ = run("plan", "example:sparse", "--half-width", 0.2)
    assert code == 0 and "± 0.200: reached already.\n" in out and "0 annotations" not in out
    for require, said in ((0.5, "reaches 0.5"), (0.7, "is below 0.7")):
        code, out, _ = run("plan", "example:sparse", "--require", require)
        assert code == 0 and out.startswith(f"The data already show that agreement {said}.\n")


def test_development(run: Run, tmp_path: Path) -> None:
    path = timed(tmp_path / "a.csv", 30)
    code, out, _ = run("development", path, "--steps", 3)
    assert code == 0 and len(out.splitlines()) == 5 and out.startswith("Agreement was ") and "2025-" in out
    rows = run.json("development", path, "--steps", 3)["development"]
    assert [row["annotations"] for row in rows] == [100, 200, 300]
    assert rows[-1]["spa"] == spagree.measure(path).spa.value


def test_days_without_a_time_of_day(run: Run, tmp_path: Path) -> None:
    """A column of dates, as in Parquet files and databases; one annotation has none."""
    rows = [(place // 2, "ab"[place % 2], "xy"[place // 3 % 2], date(2026, 1, 1 + place // 4)) for place in range(40)]
    path = tmp_path / "days.parquet"
    table = polars.DataFrame(rows, schema=["item", "annotator", "label", "time"], orient="row")
    last = polars.int_range(polars.len()) == 39
    table.with_columns(time=polars.when(~last).then(polars.col("time"))).write_parquet(path)
    code, out, err = run("development", path, "--steps", 2)
    assert code == 0 and [line.split()[0] for line in out.splitlines()[1:]] == ["until", "2026-01-05", "2026-01-10"]
    assert err == "left out: 1 annotation without a time\n"
    found = run.json("development", path, "--steps", 2)["development"]
    assert [(row["time"], row["annotations"]) for row in found] == [("2026-01-05", 20), ("2026-01-10", 39)]
    assert "Present pace: 4 annotations a day." in run("plan", path, "--half-width", 0.03)[1]


def widths(items: float, others: float | None) -> spagree.Estimate:
    """Agreement of 0.7 with these standard errors."""
    known = Interval(items, 0.7 - 2 * items, 0.7 + 2 * items)
    unknown = Interval(None, None, None, "too few people")
    wider = unknown if others is None else Interval(others, 0.7 - 2 * others, 0.7 + 2 * others)
    plain = spagree.Estimate(0.7, None, None, None, 0.95, "annotations_m1")
    return leading(plain, {"items": known, "annotators": wider})


def test_what_narrows_the_interval_for_other_annotators() -> None:
    mostly_people, mostly_items = people_line(widths(0.01, 0.04)), people_line(widths(0.01, 0.011))
    assert "narrows with more people, not with more items" in mostly_people and "94% of its variance" in mostly_people
    assert "0.620 to 0.780" in mostly_people
    assert "also narrows with more items: differences between people are only 17% of its variance" in mostly_items
    assert "not with more items" not in mostly_items
    assert people_line(widths(0.01, None)) == ""


def test_a_plan_says_whom_it_is_for(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "pilot.csv"
    run("simulate", "-o", path, "--items", 400, "--annotators", 8, "--quality", "0.4:1", "--seed", 5)
    for wanted in (["--half-width", 0.03], ["--budget", 500], ["--require", 0.5], []):
        assert run("plan", path, *wanted)[1].endswith(people_line(spagree.measure(path).spa) + "\n")
    assert "narrows with more people, not with more items" in run("plan", path)[1]
    assert "other annotators" not in run("plan", "--agreement", 0.7)[1]


@pytest.mark.parametrize(
    ("wanted", "x", "y"),
    [
        ([], "more_annotations", "half_width"),
        (["--half-width", 0.03], "annotations_per_item", "more_annotations"),
        (["--budget", 900], "annotations_per_item", "half_width"),
        (["--require", 0.5], "annotations_per_item", "more_annotations"),
    ],
)
def test_the_chart_of_a_plan(wanted: list[object], x: str, y: str, run: Run, tmp_path: Path) -> None:
    code, out, err = run("plan", "example:sparse", *wanted, "--json", "--chart", tmp_path / "plan.svg")
    assert code == 0 and "wrote" in err and (tmp_path / "plan.svg").read_text().startswith("<svg")
    rows = json.loads(out)["rows"]
    drawn = plan_chart(rows)["layer"][0]["encoding"]
    assert (drawn["x"]["field"], drawn["y"]["field"]) == (x, y)
    assert run("plan", "example:sparse", *wanted, "--chart", tmp_path / "plan.svg")[0] == 4
    assert run("plan", "example:sparse", *wanted, "--chart", tmp_path / "plan.txt")[0] == 2
