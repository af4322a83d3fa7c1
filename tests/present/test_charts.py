"""agreement.charts: what each chart shows, that it can be saved anywhere, and what it refuses to draw."""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Any

import polars
import pytest

import spagree
from spagree.estimate.annotators import mean_agreement
from spagree.present.charts.agreement import Charts, are_dated, development_rows, in_order
from spagree.present.charts.spec import PAGE, PAPER, domain, theme
from spagree.present.wording import change, escape_controls, limits, moment, short_names
from spagree.timestamps import is_date

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


def test_the_list_of_charts() -> None:
    expected = "schemes by_n chance classes confusion groups items annotators pairs development plan"
    assert sorted(NAMES) == sorted(expected.split())


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


def test_the_axis_reaches_over_every_interval_and_never_blows_up_small_differences(sparse: spagree.Agreement) -> None:
    scale = sparse.charts.schemes().to_dict()["layer"][2]["encoding"]["x"]["scale"]["domain"]
    low = min(found.low or 0 for found in sparse.schemes.values())
    high = max(found.high or 0 for found in sparse.schemes.values())
    assert scale[0] <= low and scale[1] >= high and scale[1] - scale[0] >= 0.2


@pytest.mark.parametrize("given", list(itertools.product([0.0, 0.001, 0.3, 0.95, 1.0], repeat=2)))
def test_a_scale_holds_its_values_and_stays_within_bounds(given: tuple[float, float]) -> None:
    low, high = domain(given)
    assert 0 <= low <= min(given) and max(given) <= high <= 1
    assert high - low >= 0.2 - 1e-9


def test_bars_start_at_zero_and_hold_every_item(sparse: spagree.Agreement) -> None:
    drawn = sparse.charts.items().to_dict()
    assert drawn["encoding"]["y"]["scale"]["zero"] is True
    rows = values(sparse.charts.items(), 0)
    assert sum(row["items"] for row in rows) == sparse.data.pairable_items
    full = [row for row in sparse.distribution().rows(named=True) if row["agreement"] == 1]
    assert rows[-1]["items"] == sum(row["items"] for row in full)


def test_rows_of_the_confusion_chart_are_distributions(sparse: spagree.Agreement) -> None:
    rows = values(sparse.charts.confusion(), 0)
    sums: dict[str, float] = {}
    for row in rows:
        sums[row["down"]] = sums.get(row["down"], 0) + row["value"]
    assert sorted(sums) == ["A", "B", "C", "D"]
    assert all(math.isclose(total, 1) for total in sums.values())


def test_rows_of_the_confusion_chart_are_distributions_under_a_metric_too() -> None:
    rows = [(item, who, (item * who) % 5) for item in range(60) for who in range(3)]
    nominal, interval = (spagree.measure(rows, metric=metric) for metric in ("nominal", "interval"))
    assert interval.classes()["agreement"].sum() > nominal.classes()["agreement"].sum()
    one, other = (values(found.charts.confusion(), 0) for found in (nominal, interval))
    assert [row["value"] for row in one] == [row["value"] for row in other]
    assert math.isclose(sum(row["value"] for row in one), 5)
    same = {row["down"]: row["value"] for row in one if row["down"] == row["across"]}
    expected = dict(nominal.classes().select("class", "agreement").rows())
    assert same == pytest.approx(expected, abs=1e-12)


def test_numeric_classes_are_sorted_as_numbers() -> None:
    labels = ("10", "9", "9", "-1", "-1", "-1")  # neither the commonest first nor as text
    rows = [(item, who, labels[(item + who * (item % 3)) % 6]) for item in range(60) for who in range(2)]
    names = list(dict.fromkeys(row["down"] for row in values(spagree.measure(rows).charts.confusion(), 0)))
    assert names == ["-1", "9", "10"]
    assert in_order([{"class": "nan"}, {"class": "1"}]) == [{"class": "nan"}, {"class": "1"}]
    assert in_order([{"class": "b"}, {"class": "1"}]) == [{"class": "b"}, {"class": "1"}]


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


def test_only_what_is_confused_more_often_than_chance_has_a_colour() -> None:
    pairs = {"xx": 100, "yy": 100, "zz": 100, "xy": 30, "xz": 1, "yz": 1}
    labels = [pair for pair, items in pairs.items() for _ in range(items)]
    rows = [(item, who, label) for item, pair in enumerate(labels) for who, label in enumerate(pair)]
    cells = {(row["down"], row["across"]): row for row in values(spagree.measure(rows).charts.confusion(), 0)}
    assert {key for key, row in cells.items() if row["excess"] > 1e-9} == {("x", "y"), ("y", "x")}
    assert {key for key, row in cells.items() if row["same"]} == {("x", "x"), ("y", "y"), ("z", "z")}
    others = spagree.measure(rows).classes()
    share = dict(others.select("class", "share").rows())
    given = cells["x", "y"]["value"] + cells["x", "z"]["value"]
    assert cells["x", "y"]["excess"] == pytest.approx(cells["x", "y"]["value"] - given * share["y"] / (1 - share["x"]))


def test_many_numbers_of_annotations_are_drawn_as_ranges() -> None:
    rows = [(item, who, "xy"[item * who % 3 % 2]) for item in range(240) for who in range(2 + item % 12)]
    found = spagree.measure(rows)
    drawn = values(found.charts.by_n(), 1)
    assert [row["name"] for row in drawn] == ["2", "3", "4–7", "8–13"]
    assert sum(row["many"] for row in drawn) == found.data.pairable_items
    inside = [row for row in found.missingness.by_n if 4 <= row.n <= 7]
    mean = sum(row.items * row.agreement.value for row in inside) / sum(row.items for row in inside)
    assert drawn[2]["value"] == pytest.approx(mean) and drawn[2]["low"] < mean < drawn[2]["high"]


def test_of_very_many_classes_the_lowest_with_enough_items_are_drawn() -> None:
    rare = [
        (f"r{item}", who, f"rare {item} {who}") for item in range(60) for who in range(2)
    ]  # 120 classes that never agree
    common = [(item, who, "xy"[item % 2] if item % 5 else "xy"[who]) for item in range(60) for who in range(2)]
    found = spagree.measure([*rare, *common])
    assert {row["name"] for row in values(found.charts.classes(), 1)} == {"x", "y"}
    drawn = values(spagree.measure([*rare, *common[:12]]).charts.classes(), 1)  # none has enough: the commonest
    assert len(drawn) == 40 and {"x", "y"} < {row["name"] for row in drawn}
    assert all(row["kind"] == "few" for row in drawn)


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


@pytest.mark.parametrize(("items", "ticks"), [(1, 1), (3, 3), (300, 6)])
def test_items_are_counted_in_whole_numbers(items: int, ticks: int) -> None:
    drawn = spagree.measure([(item, who, "x") for item in range(items) for who in "ab"]).charts.items().to_dict()
    axis = drawn["encoding"]["y"]["axis"]
    assert axis["tickCount"] == ticks and axis["format"] == ",d"


def test_annotators_are_sorted_by_agreement(sparse: spagree.Agreement) -> None:
    rows = values(sparse.charts.annotators(), 2)
    assert [row["name"] for row in rows] == sparse.annotators()["annotator"].to_list()
    reference = values(sparse.charts.annotators(), 0)
    assert reference == [{"value": mean_agreement(sparse.annotators())}]


def test_chance_shows_observed_and_expected_agreement(sparse: spagree.Agreement) -> None:
    rows = values(sparse.charts.chance(), 1)
    alpha = {row["kind"]: row["value"] for row in rows if row["name"] == "krippendorff_alpha"}
    found = sparse.chance["krippendorff_alpha"]
    assert alpha == {"corrected for chance": found.value, "observed": found.observed, "by chance": found.expected}


def test_a_negative_coefficient_is_on_the_scale() -> None:
    rows = [(item, who, "yes" if (item + who) % 2 else "no") for item in range(20) for who in range(2)]
    drawn = spagree.measure(rows).charts.chance()
    low = drawn.to_dict()["layer"][1]["encoding"]["x"]["scale"]["domain"][0]
    assert low <= min(row["value"] for row in values(drawn, 1)) < 0


# What cannot be drawn ------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(set(NAMES) - {"plan", "groups"}))
def test_nothing_pairable_is_nothing_to_draw(name: str) -> None:
    found = spagree.measure([("q1", "ann", "yes", 1), ("q2", "bob", "no", 2)])
    with pytest.raises(spagree.SpagreeError, match="no item has two annotations"):
        getattr(found.charts, name)()


@pytest.mark.parametrize("name", ["annotators", "pairs", "development"])
def test_a_tally_has_no_people_and_no_times(name: str) -> None:
    found = spagree.measure(spagree.tally("example:sparse"))
    with pytest.raises(spagree.UsageError, match="a tally does not say"):
        getattr(found.charts, name)()


def test_one_number_of_annotations_leaves_nothing_to_compare() -> None:
    rows = [(item, who, "yes" if item % 3 else who) for item in range(9) for who in "ab"]
    with pytest.raises(spagree.DataError, match="has 2 annotations"):
        spagree.measure(rows).charts.by_n()


# The graph -----------------------------------------------------------------------------------


# Time ----------------------------------------------------------------------------------------


def test_development_knows_dates_from_numbers() -> None:
    frame = spagree.simulate(items=60, seed=2).frame
    rows, volume = development_rows(spagree.measure(frame).breakdowns())
    assert not are_dated([rows[0]["time"]]) and rows[0]["when"].isdigit() and volume == []
    days = frame.with_columns(polars.from_epoch(polars.col("time") * 3600 + 1_700_000_000).alias("time"))
    rows, volume = development_rows(spagree.measure(days).breakdowns())
    assert are_dated([rows[0]["time"]]) and rows[0]["when"].startswith("2023-11-") and len(volume) > 10
    numbers = frame.with_columns((polars.col("time") * 3600 + 1_700_000_000).alias("time"))
    same, _ = development_rows(spagree.measure(numbers).breakdowns())
    assert [row["time"] for row in same] == [row["time"] for row in rows]
    assert {row["kind"] for row in rows} == {"so far", "items finished last"}


def test_a_column_of_days_is_a_time_too() -> None:
    frame = spagree.simulate(items=40, seed=2).frame
    days = frame.with_columns(
        polars.date(2024, 1, 1).dt.offset_by(polars.format("{}d", polars.col("time") % 90)).alias("time")
    )
    rows, _ = development_rows(spagree.measure(days, time="time").breakdowns())
    assert are_dated([rows[0]["time"]]) and rows[0]["when"].startswith("2024-01-")


def test_volume_is_what_came_in_and_how_fast() -> None:
    day = 86_400
    rows = [(item, who, "x", 1_700_000_000 + item * day // 10) for item in range(100) for who in range(2)]
    found = spagree.measure(rows)
    _, volume = development_rows(found.breakdowns())
    assert volume and all(bar["start"] < bar["end"] for bar in volume)
    assert all("a day" in bar["words"] for bar in volume)


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
