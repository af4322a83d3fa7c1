"""agreement.charts: what each chart shows, that it can be saved anywhere, and what it refuses to draw."""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Any

import polars
import pytest

import planted
import spagree
from spagree.estimate.annotators import mean_agreement
from spagree.present.charts.agreement import Charts, are_dated, development_rows, in_order
from spagree.present.charts.spec import PAGE, PAPER, domain, theme
from spagree.present.words import change, escape_controls, limits, moment, short_names
from spagree.read.timestamps import is_date

NAMES = [name for name in vars(Charts) if not name.startswith("_")]


@pytest.fixture(scope="module")
def sparse() -> spagree.Agreement:
    return spagree.measure("example:sparse")


def in_batches() -> spagree.Agreement:
    """Three batches of items, the last of them a single item, and one without a pair."""
    table = spagree.simulate(items=41, annotators=5, per_item=3, seed=5).frame
    number = polars.col("item").str.slice(4).cast(polars.Int64)
    batch = polars.when(number == 41).then(polars.lit("last")).otherwise(polars.format("batch {}", number % 2))
    alone = polars.DataFrame({"item": ["x"], "annotator": ["a1"], "label": ["A"], "batch": ["none"]})
    table = table.with_columns(batch=batch).select("item", "annotator", "label", "batch")
    return spagree.measure(polars.concat([table, alone]), by="batch")


def test_groups_with_few_items_are_hollow_and_those_without_a_pair_left_out() -> None:
    found = in_batches()
    assert found.groups is not None
    rows = values(found.charts.groups(), 1)
    assert [(row["name"], row["kind"]) for row in rows] == [
        ("batch 0", "chosen"),
        ("batch 1", "chosen"),
        ("last", "few"),
    ]
    spa = {name: each.spa.value for name, each in found.groups.findings.items()}
    assert spa.pop("none") is None and {row["name"]: row["value"] for row in rows} == spa
    with pytest.raises(spagree.UsageError, match="no column of groups was named; name one with by="):
        spagree.measure("example:sparse").charts.groups()


def values(chart: Any, layer: int) -> list[dict[str, Any]]:
    """The rows behind a layer; Altair names rows that several layers share."""
    spec = chart.to_dict()
    data = spec["layer"][layer].get("data", spec.get("data")) if "layer" in spec else spec["data"]
    return list(data["values"] if "values" in data else spec["datasets"][data["name"]])


@pytest.mark.parametrize("name", NAMES)
def test_every_chart_is_drawn_without_a_browser(sparse: spagree.Agreement, name: str, tmp_path: Path) -> None:
    path = tmp_path / "chart.svg"
    found = in_batches() if name == "groups" else sparse
    getattr(found.charts, name)().save(str(path))
    drawn = path.read_text("utf-8")
    assert drawn.startswith("<svg") and drawn.count("<path") > 8
    assert "var(--" not in drawn  # colours of paper, not of a page


@pytest.mark.parametrize(("ending", "magic"), [("png", b"\x89PNG"), ("pdf", b"%PDF")])
def test_charts_are_saved_as_pictures_for_papers(
    sparse: spagree.Agreement, ending: str, magic: bytes, tmp_path: Path
) -> None:
    path = tmp_path / f"chart.{ending}"
    sparse.charts.schemes().save(str(path))
    assert path.read_bytes().startswith(magic)


def test_schemes_are_all_there_and_the_chosen_one_is_marked() -> None:
    found = spagree.measure("example:sparse", weights="edge")
    rows = values(found.charts.schemes(), 2)
    assert [row["name"] for row in rows] == list(spagree.SCHEMES)
    assert [row["name"] for row in rows if row["kind"] == "chosen"] == ["edge"]
    assert {row["name"]: row["value"] for row in rows} == {name: each.value for name, each in found.schemes.items()}


def test_custom_weights_get_their_own_line() -> None:
    found = spagree.measure("example:sparse", weights={2: 1, 3: 2, 4: 3, 5: 4})
    rows = values(found.charts.schemes(), 2)
    assert rows[-1]["name"] == "custom" and rows[-1]["kind"] == "chosen" and len(rows) == len(spagree.SCHEMES) + 1


@pytest.mark.parametrize("given", list(itertools.product([0.0, 0.001, 0.3, 0.95, 1.0], repeat=2)))
def test_a_scale_holds_its_values_and_stays_within_bounds(given: tuple[float, float]) -> None:
    low, high = domain(given)
    assert 0 <= low <= min(given) and max(given) <= high <= 1
    assert high - low >= 0.2 - 1e-9


def test_bars_of_pairs_of_classes_are_their_shares_of_all_disagreement(sparse: spagree.Agreement) -> None:
    drawn = sparse.charts.confusion()
    rows = values(drawn, 0)
    assert drawn.to_dict()["layer"][0]["encoding"]["x"]["scale"]["zero"] is True
    assert math.isclose(sum(row["value"] for row in rows), 1) and len(rows) == 6
    shares = {frozenset(row[:2]): row[2] for row in sparse.confusion().select("class", "other", "share").rows()}
    assert {frozenset((row["one"], row["two"])): row["value"] for row in rows} == shares
    cells = values(sparse.charts.matrix(), 0)
    assert {frozenset((row["down"], row["across"])): row["value"] for row in cells} == shares


def test_numeric_classes_are_sorted_as_numbers() -> None:
    labels = ("10", "9", "9", "-1", "-1", "-1")  # neither the commonest first nor as text
    rows = [(item, who, labels[(item + who * (item % 4)) % 6]) for item in range(60) for who in range(2)]
    axes = spagree.measure(rows).charts.matrix().to_dict()["layer"][0]["encoding"]
    assert [axes[axis]["scale"]["domain"] for axis in "xy"] == [["-1", "9"], ["9", "10"]]  # a triangle
    assert in_order(["nan", "1"]) == ["1", "nan"]
    assert in_order(["b", "1"]) == ["1", "b"]


def test_pairs_are_one_triangle_of_those_who_share_enough(sparse: spagree.Agreement) -> None:
    rows = values(sparse.charts.pairs(), 0)
    drawn = {frozenset((row["down"], row["across"])): row["value"] for row in rows}
    found = [row for row in sparse.pairs().rows(named=True) if not row["few"]]
    assert len(drawn) == len(rows) == len(found) < sparse.pairs().height
    assert drawn == {frozenset((row["annotator"], row["other"])): row["agreement"] for row in found}
    assert all(row["words"] == f"{row['value']:.2f}" for row in rows)
    strangers = [(item, who, "x") for item in range(5) for who in "ab"]
    with pytest.raises(spagree.DataError, match="no two annotators share 10 items or more"):
        spagree.measure(strangers).charts.pairs()


def test_many_numbers_of_annotations_are_drawn_as_ranges() -> None:
    rows = [(item, who, "xy"[item * who % 3 % 2]) for item in range(240) for who in range(2 + item % 12)]
    found = spagree.measure(rows)
    drawn = values(found.charts.by_n(), 1)
    assert [row["name"] for row in drawn] == ["2", "3", "4–7", "8–13"]
    assert sum(row["many"] for row in drawn) == found.data.pairable_items
    inside = [row for row in found.missingness.by_n if 4 <= row.n <= 7]
    mean = sum(row.items * row.agreement.value for row in inside) / sum(row.items for row in inside)
    assert drawn[2]["value"] == pytest.approx(mean) and drawn[2]["low"] < mean < drawn[2]["high"]


def test_numbers_of_annotations_of_few_items_are_hollow_and_do_not_stretch_the_axis() -> None:
    sound = [(item, who, "xy"[who % 2] if item % 4 == 0 else "x") for item in range(400) for who in range(2 + item % 2)]
    odd = [("odd", who, who) for who in range(6)]
    drawn = spagree.measure([*sound, *odd]).charts.by_n()
    rows = {row["name"]: row for row in values(drawn, 2)}
    assert {n: row["kind"] for n, row in rows.items()} == {"2": "chosen", "3": "chosen", "6": "few"}
    assert {n: row["items"] for n, row in rows.items()} == {"2": "200", "3": "200", "6": "1"}
    scale = drawn.to_dict()["layer"][2]["encoding"]["y"]["scale"]
    assert rows["6"]["value"] == 0 and scale["domain"][0] > 0.4 and scale["clamp"] is True
    lone = spagree.measure([*sound[:8], *odd]).charts.by_n().to_dict()["layer"][2]["encoding"]["y"]["scale"]
    assert lone["domain"][0] == 0  # nothing but few: all of it is shown


def test_of_the_annotators_those_who_stand_out_and_the_busiest_are_drawn_by_their_upper_ends() -> None:
    found = spagree.measure(planted.odd(3))
    rows = values(found.charts.annotators(), 2)
    assert [row["name"] for row in rows if row["kind"] == "apart"] == ["p3"] and len(rows) == planted.PEOPLE
    assert [row["high"] for row in rows] == sorted(row["high"] for row in rows)
    assert values(found.charts.annotators(), 0) == [{"value": mean_agreement(found.annotators())}]


# What cannot be drawn ------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(set(NAMES) - {"groups"}))
def test_nothing_pairable_is_nothing_to_draw(name: str) -> None:
    found = spagree.measure([("q1", "ann", "yes", 1), ("q2", "bob", "no", 2)])
    with pytest.raises(spagree.SpagreeError, match="no item has two annotations"):
        getattr(found.charts, name)()


@pytest.mark.parametrize("name", ["pairs", "development"])
def test_a_tally_has_no_pairs_and_no_times(name: str) -> None:
    found = spagree.measure(spagree.tally("example:sparse"))
    with pytest.raises(spagree.UsageError, match="a tally does not say"):
        getattr(found.charts, name)()


def test_one_number_of_annotations_leaves_nothing_to_compare() -> None:
    rows = [(item, who, "yes" if item % 3 else who) for item in range(9) for who in "ab"]
    with pytest.raises(spagree.DataError, match="has 2 annotations"):
        spagree.measure(rows).charts.by_n()


# Time ----------------------------------------------------------------------------------------


def test_development_knows_dates_from_numbers() -> None:
    frame = spagree.simulate(items=60, seed=2).frame
    rows = development_rows(spagree.measure(frame).breakdowns())
    assert not are_dated([rows[0]["time"]]) and rows[0]["when"].isdigit()
    days = frame.with_columns(polars.from_epoch(polars.col("time") * 3600 + 1_700_000_000).alias("time"))
    rows = development_rows(spagree.measure(days).breakdowns())
    assert are_dated([rows[0]["time"]]) and rows[0]["when"].startswith("2023-11-")
    numbers = frame.with_columns((polars.col("time") * 3600 + 1_700_000_000).alias("time"))
    same = development_rows(spagree.measure(numbers).breakdowns())
    assert [row["time"] for row in same] == [row["time"] for row in rows]
    assert {row["kind"] for row in rows} == {"so far", "items finished last"}


def test_a_column_of_days_is_a_time_too() -> None:
    frame = spagree.simulate(items=40, seed=2).frame
    days = frame.with_columns(
        polars.date(2024, 1, 1).dt.offset_by(polars.format("{}d", polars.col("time") % 90)).alias("time")
    )
    rows = development_rows(spagree.measure(days, time="time").breakdowns())
    assert are_dated([rows[0]["time"]]) and rows[0]["when"].startswith("2024-01-")


# Words and colours ---------------------------------------------------------------------------


def test_the_page_and_paper_differ_in_colours_only() -> None:
    page, paper = theme(PAGE), theme(PAPER)
    assert page.keys() == paper.keys()
    assert page["axis"]["labelColor"] == "var(--ink)" and paper["axis"]["labelColor"] == PAPER["ink"]
    assert page["background"] is None and paper["background"] == "#ffffff"


def test_every_colour_of_a_page_is_given_in_its_style_sheet() -> None:
    style = (Path(spagree.__file__).parent / "present" / "report" / "style.css").read_text("utf-8")
    for colour in PAGE:
        assert style.count(f"--{colour}: #") == 3  # light, dark, print


def test_short_names_stay_as_different_as_they_were() -> None:
    names = ["x" * 60 + ending for ending in ("a", "b", "c")] + ["", " ", "ok", "(2) ok"]
    short = short_names(names, 12)
    assert list(short) == names and len(set(short.values())) == len(names)
    assert all(len(name) <= 12 for name in short.values())


def test_joined_emoji_stay_joined_and_other_joiners_are_shown() -> None:
    together = "\U0001f469\u200d\U0001f52c \U0001f3f3\ufe0f\u200d\U0001f308 \U0001f44d\U0001f3fd\u200d\u2642\ufe0f"
    assert escape_controls(together) == together
    assert escape_controls("a\u200db\u200d\U0001f52c\u200d") == "a\\u200db\\u200d\U0001f52c\\u200d"


def test_differences_limits_and_moments_in_words() -> None:
    assert [change(value) for value in (0.0004, -0.25, 0.0, None)] == ["+0.000", "−0.250", "0", "–"]
    assert limits(0.5, 1.0) == "0.500 to 1" and limits(0.5, None) == "undefined"
    assert is_date(1e9) and not is_date(1e12) and not is_date(0)
    assert moment(0.5) == "0.5"


def test_no_pair_falls_off_the_axes_where_some_never_met() -> None:
    met = (("ann", "cyd"), ("bob", "cyd"), ("bob", "dan"), ("ann", "dan"))
    rows = [((pair, n), who, "xy"[n % 3 == place]) for pair in met for n in range(20) for place, who in enumerate(pair)]
    chart = spagree.measure([(f"{item}", *rest) for item, *rest in rows]).charts.pairs()
    axes, cells = chart.to_dict()["layer"][0]["encoding"], values(chart, 0)
    assert len(cells) == len(met)
    assert all(cell["across"] in axes["x"]["scale"]["domain"] for cell in cells)
    assert all(cell["down"] in axes["y"]["scale"]["domain"] for cell in cells)
