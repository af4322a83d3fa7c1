"""Charts: the same picture from the same rows, in every format, without a network, with hostile text as text."""

from __future__ import annotations

import re
import socket
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import spagree
from spagree.present.charts import studies as charts
from spagree.present.charts.save import save
from spagree.present.charts.studies import SCHEME_COLOURS, Axis

X, Y, KIND = Axis("x", "annotations"), Axis("y", "variance"), Axis("kind", "kind")
ROWS = [
    {"x": x, "y": (x + 1.0) ** 2 * scale, "kind": kind} for kind, scale in (("a", 1.0), ("b", 2.0)) for x in range(5)
]


def drawn(chart: Any, folder: Path) -> str:
    (path,) = save(chart, folder / "chart", ["svg"])
    return path.read_text("utf-8")


def texts(svg: str) -> list[str]:
    return [
        element.text or "" for element in ElementTree.fromstring(svg).iter() if element.tag.endswith(("text", "tspan"))
    ]


def test_lines_have_axes_a_legend_and_one_path_per_kind_and_the_same_bytes_for_the_same_rows(tmp_path: Path) -> None:
    svg, again = (drawn(charts.lines(ROWS, X, Y, KIND), tmp_path) for _ in range(2))
    assert {"annotations", "variance", "kind", "a", "b"} <= set(texts(svg))
    assert svg.count('aria-roledescription="line mark"') == 2 and svg == again


def test_no_network_is_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a chart asked for the network")

    monkeypatch.setattr(socket, "socket", refuse)
    svg = drawn(charts.lines(ROWS, X, Y, KIND), tmp_path)
    assert set(re.findall(r'https?://[^"\s]+', svg)) <= {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}


@pytest.mark.parametrize(
    "label",
    ["</script><script>alert(1)</script>", "<img src=x onerror=alert(1)>", "{{7*7}}", "a & b", "=cmd|' /C calc'!A0"],
)
def test_hostile_labels_are_text(label: str, tmp_path: Path) -> None:
    rows = [{**row, "kind": label} for row in ROWS]
    svg = drawn(charts.points(rows, X, Y, KIND), tmp_path)
    assert label in texts(svg)
    assert "<script" not in svg and "<img" not in svg


def test_names_on_the_vertical_axis_keep_the_order_of_the_rows(tmp_path: Path) -> None:
    names = ["zebra", "ant", "mole"]
    rows = [{"x": place + 0.5, "name": name, "kind": "k"} for place, name in enumerate(names)]
    shown = texts(drawn(charts.points(rows, X, Axis("name", ""), KIND, labels=True), tmp_path))
    assert [text for text in shown if text in names] == names


def test_a_logarithmic_axis(tmp_path: Path) -> None:
    rows = [{"x": x, "y": 10.0**-x, "kind": "a"} for x in range(1, 6)]
    encoded = charts.lines(rows, X, Axis("y", "variance", log=True, format=".0e"), KIND)["encoding"]["y"]
    assert encoded["scale"] == {"type": "log"} and encoded["axis"]["format"] == ".0e"


def test_colours_depend_on_the_kind_of_values_and_every_scheme_has_its_own() -> None:
    def colour(values: list[Any]) -> dict[str, Any]:
        rows = [{"x": 1, "y": 1.0, "kind": value} for value in values]
        return dict(charts.points(rows, X, Y, KIND)["encoding"]["color"])

    assert colour(["flat", "edge"])["scale"]["range"] == [SCHEME_COLOURS["flat"], SCHEME_COLOURS["edge"]]
    assert colour([0.1, 0.7])["type"] == "quantitative"
    assert colour([2, 3])["type"] == "ordinal"
    assert colour(["mine", "flat"])["type"] == "nominal" and "scale" not in colour(["mine", "flat"])
    assert tuple(SCHEME_COLOURS) == spagree.SCHEMES
    assert len(set(SCHEME_COLOURS.values())) == len(SCHEME_COLOURS)


def test_dashes_need_no_second_legend_where_colours_say_the_same() -> None:
    twice = charts.lines(ROWS, X, Y, KIND, dash=KIND)["encoding"]["strokeDash"]
    assert twice["legend"] is None
    other = [{**row, "how": how} for row in ROWS for how in ("solid", "dashed")]
    dashes = charts.lines(other, X, Y, KIND, dash=Axis("how", "how"))["encoding"]["strokeDash"]
    assert "legend" not in dashes and dashes["sort"] == ["solid", "dashed"]


def test_lines_of_one_colour_are_told_apart_by_detail(tmp_path: Path) -> None:
    rows = [{"x": x, "y": x * (1.0 + number), "kind": 0.5, "number": number} for number in range(4) for x in range(3)]
    svg = drawn(charts.lines(rows, X, Y, KIND, detail="number"), tmp_path)
    assert svg.count('aria-roledescription="line mark"') == 4


def test_a_grid_titles_and_a_caption(tmp_path: Path) -> None:
    one, two = charts.lines(ROWS, X, Y, KIND), charts.points(ROWS, X, Y, KIND)
    grid = charts.captioned(charts.side_by_side({"left": one, "right": two}), "Both", ["first line", "second line"])
    assert {"left", "right", "Both", "first line", "second line"} <= set(texts(drawn(grid, tmp_path)))


@pytest.mark.parametrize("axis", ["x", "y"])
def test_a_reference_level(axis: str, tmp_path: Path) -> None:
    svg = drawn(charts.layered(charts.points(ROWS, X, Y, KIND), charts.level(1, axis)), tmp_path)
    assert 'stroke-dasharray="3,3"' in svg


def test_a_cloud_of_points_is_not_read_out(tmp_path: Path) -> None:
    few = [{"x": x, "y": 1.0, "kind": "a"} for x in range(charts.MOST_SPOKEN)]
    many = [*few, {"x": 0, "y": 2.0, "kind": "a"}]
    spoken, silent = (drawn(charts.points(rows, X, Y, KIND), tmp_path) for rows in (few, many))
    assert len(silent) < len(spoken) / 1.5


def test_all_formats_by_default_and_nothing_else_and_only_in_a_folder_that_is_there(tmp_path: Path) -> None:
    save(charts.points(ROWS, X, Y, KIND), tmp_path / "v1.2")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["v1.2.pdf", "v1.2.png", "v1.2.svg"]
    with pytest.raises(spagree.FileError, match="cannot be written"):
        save(charts.points(ROWS, X, Y, KIND), tmp_path / "nowhere" / "chart", ["svg"])
