"""Tables in terminals of every width: nothing is cut, what is left out is named, and markup is text."""

from __future__ import annotations

import re

import pytest
from rich.cells import cell_len

import planted
import spagree
from spagree.present.tables import COLUMNS, columns
from spagree.present.terminal import Listed, rendered, summary
from spagree.present.verdicts import tell
from test_shared_data import FOLDER

REAL = {"mbic_label": {}, "rte": {}, "convabuse": {}, "popquorn_offensiveness": {}, "hitspam_mturk": {}}
REAL |= {"web": {"metric": "ordinal"}, "varierr_nli": {"duplicates": "first"}}
ROW = {"annotator": "ann", "shared": 12_345, "agreement": 0.5, "low": 0.25, "high": 0.75, "change": -0.125}
ROW |= {"spa_without": 0.625, "against_others": 0.0625, "stands_out": True, "commonest": "yes", "commonest_share": 0.5}
KEYS = ("agreement", "interval", "shared", "against_others", "stands_out", "spa_without", "change", "annotator")
KEYS += ("commonest", "commonest_share")
TITLES = ("agreement", "interval", "shared", "against others", "stands out", "SPA without", "change", "commonest label")


@pytest.mark.parametrize("width", range(36, 140, 7))
def test_every_column_is_whole_or_named_as_left_out(width: int) -> None:
    lines = rendered(Listed([ROW], [COLUMNS[key] for key in KEYS]), width).splitlines()
    assert all(cell_len(line) <= width for line in lines)
    cut = next((place for place, line in enumerate(lines) if line.startswith("Left out for lack of room")), len(lines))
    shown, named = " ".join(lines[:cut]), " ".join(lines[cut:])
    texts = ("0.500", "0.250 to 0.750", "12,345", "+0.062", "yes", "0.625", "−0.125", "yes")
    for title, text in zip(TITLES, texts, strict=True):
        assert (text in shown) or (title in named), title
    assert "ann" in shown and "…" not in shown


def test_the_least_important_column_goes_first_and_what_stands_out_stays() -> None:
    assert "its share" in rendered(Listed([ROW], [COLUMNS[key] for key in KEYS]), 95).splitlines()[-1]
    shown = rendered(Listed([ROW], [COLUMNS[key] for key in KEYS]), 60)
    assert "stands" in shown.splitlines()[0] and "change" in shown.split("Left out")[1]


def test_a_table_without_spare_columns_is_stacked() -> None:
    named = columns("name:name=; spa=SPA; ends:text=interval")
    shown = Listed([{"name": "a name", "spa": 0.5, "ends": "0.250 to 0.750"}], named)
    assert len(rendered(shown, 40).splitlines()) == 2
    narrow = rendered(shown, 24).splitlines()
    assert [line[10:] for line in narrow] == ["a name", "0.500", "0.250 to 0.750"]


def test_user_text_is_no_markup() -> None:
    assert "[bold]x[/bold]" in rendered(Listed([{"class": "[bold]x[/bold]"}], columns("class:name")))


def test_the_names_of_a_narrow_summary_are_whole() -> None:
    found = spagree.measure("example:sparse")
    shown = rendered(summary(tell(found.summed_up(), found.source, found.understood)), 40).split()
    assert {*found.schemes, *found.chance, "annotations", "agreement", "interval"} <= set(shown)


@pytest.mark.parametrize("name", [*planted.PLANTED, *REAL])
def test_a_summary_has_sixteen_lines_at_most_and_no_figure_twice(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if name in REAL and not FOLDER.exists():
        pytest.skip("the real data sets are not here")
    if name in REAL:
        monkeypatch.chdir(FOLDER)  # a long path takes lines
    source = f"{name}.csv.gz" if name in REAL else planted.PLANTED[name](1)
    found = spagree.measure(source, **REAL.get(name, {}))
    shown = rendered(summary(tell(found.summed_up(), found.source, found.understood), verbose=False), 80)
    assert len(shown.splitlines()) <= 16
    figures = re.findall(r"\d\.\d{3}|±[\d.]+\d|\d+ annotators\b|\d,\d{3}", shown)
    assert len(figures) == len(set(figures))
