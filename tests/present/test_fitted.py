"""Tables in terminals of every width: nothing is cut, what is left out is named, and markup is text."""

from __future__ import annotations

import pytest
from rich.cells import cell_len

import spagree
from spagree.present.fitted import Fitted, Heading, bare
from spagree.present.tables import rendered, table
from spagree.present.terminal import summary

ROW = {"annotator": "ann", "shared": 12_345, "agreement": 0.5, "low": 0.25, "high": 0.75, "change": -0.125}
ROW |= {"spa_without": 0.625, "against_others": 0.0625, "stands_out": True, "commonest": "yes", "commonest_share": 0.5}
KEYS = ("agreement", "interval", "shared", "against_others", "stands_out", "spa_without", "change", "annotator")
KEYS += ("commonest", "commonest_share")
TITLES = ("agreement", "interval", "shared", "against others", "stands out", "SPA without", "change", "commonest label")


@pytest.mark.parametrize("width", range(36, 140, 7))
def test_every_column_is_whole_or_named_as_left_out(width: int) -> None:
    lines = rendered(table([ROW], KEYS), width).splitlines()
    assert all(cell_len(line) <= width for line in lines)
    cut = next((place for place, line in enumerate(lines) if line.startswith("Left out for lack of room")), len(lines))
    shown, named = " ".join(lines[:cut]), " ".join(lines[cut:])
    texts = ("0.500", "0.250 to 0.750", "12,345", "+0.062", "yes", "0.625", "−0.125", "yes")
    for title, text in zip(TITLES, texts, strict=True):
        assert (text in shown) or (title in named), title
    assert "ann" in shown and "…" not in shown


def test_the_least_important_column_goes_first_and_what_stands_out_stays() -> None:
    assert "its share" in rendered(table([ROW], KEYS), 95).splitlines()[-1]
    shown = rendered(table([ROW], KEYS), 60)
    assert "stands" in shown.splitlines()[0] and "change" in shown.split("Left out")[1]


def test_a_table_without_spare_columns_is_stacked() -> None:
    shown = bare("", "SPA", "interval")
    shown.add_row("a name", "0.500", "0.250 to 0.750")
    assert len(rendered(shown, 40).splitlines()) == 2
    narrow = rendered(shown, 24).splitlines()
    assert [line[10:] for line in narrow] == ["a name", "0.500", "0.250 to 0.750"]


def test_user_text_is_no_markup() -> None:
    shown = Fitted(Heading("class", is_right=False))
    shown.add_row("[bold]x[/bold]")
    assert "[bold]x[/bold]" in rendered(shown)


def test_the_names_of_a_narrow_summary_are_whole() -> None:
    found = spagree.measure("example:sparse")
    shown = rendered(summary(found.measurement.summary(found.findings), found.understood), 40).split()
    assert {*found.schemes, *found.chance, "annotations", "agreement", "interval"} <= set(shown)
