"""Layouts that are recognised without being told, and those that are not: what must be asked is asked."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest

import spagree
from spagree.errors import ColumnError

PEOPLE = ("Maria", "Jo", "Lee", "Kim")
CLASSES = ("pos", "neg", "neu")


def labels(items: int = 24, seed: int = 3, gaps: float = 0.2, classes: Sequence[str] = CLASSES) -> list[list[str]]:
    """Labels by item and person; an empty text where somebody did not label."""
    draw = random.Random(seed)
    truth = [draw.choice(classes) for _ in range(items)]
    return [
        ["" if draw.random() < gaps else t if draw.random() < 0.7 else draw.choice(classes) for _ in PEOPLE]
        for t in truth
    ]


def flat(rows: Sequence[Sequence[str]]) -> float:
    """Flat SPA by hand."""
    pairs = [list(combinations([label for label in row if label], 2)) for row in rows]
    means = [sum(a == b for a, b in found) / len(found) for found in pairs if found]
    return sum(means) / len(means)


SPARSE, FULL = labels(), labels(gaps=0)
ITEMS = [f"rev{n:02d}" for n in range(len(SPARSE))]
MAILS = [f"{name.lower()}@x.org" for name in PEOPLE]
MOMENTS = [f"2024/03/0{n} 10:0{n}:11 AM GMT+1" for n in range(1, 5)]


def turned(rows: Sequence[Sequence[str]]) -> list[list[str]]:
    return [list(column) for column in zip(*rows, strict=True)]


def frame(header: Sequence[str], rows: Sequence[Sequence[object]]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=list(header))


def wide(names: Sequence[str], key: str = "id", rows: Sequence[Sequence[str]] = SPARSE) -> pd.DataFrame:
    return frame([key, *names], [[item, *row] for item, row in zip(ITEMS, rows, strict=True)])


def form(*columns: tuple[str, Sequence[str]], names: Sequence[str] = ITEMS) -> pd.DataFrame:
    before = [list(cells) for cells in zip(*(values for _, values in columns), strict=True)]
    rows = [[*first, *answers] for first, answers in zip(before, turned(SPARSE), strict=True)]
    return frame([*(name for name, _ in columns), *names], rows)


def one_hot(rows: Sequence[Sequence[str]] = SPARSE) -> pd.DataFrame:
    cells = [
        [item, who, *(int(label == each) for each in CLASSES)]
        for item, row in zip(ITEMS, rows, strict=True)
        for who, label in zip(PEOPLE, row, strict=True)
        if label
    ]
    return frame(["comment_id", "rater_id", *CLASSES], cells)


def counts(rows: Sequence[Sequence[str]] = FULL) -> pd.DataFrame:
    cells = [[item, *(list(row).count(each) for each in CLASSES)] for item, row in zip(ITEMS, rows, strict=True)]
    return frame(["item", *CLASSES], cells)


def with_columns(table: pd.DataFrame, **columns: Any) -> pd.DataFrame:
    return table.assign(**columns)


RATERS = [f"Rater {n}" for n in range(1, 5)]
FORM = (("Timestamp", MOMENTS), ("Email Address", MAILS))
RECOGNISED: dict[str, tuple[pd.DataFrame, str, float]] = {
    "annotators by number": (wide(RATERS), "wide", flat(SPARSE)),
    "annotators by letter": (wide(["coder_a", "coder_b", "coder_c", "coder_d"], "subject"), "wide", flat(SPARSE)),
    "labels of annotators": (wide([f"annotator{n}_label" for n in range(4)], "tweet"), "wide", flat(SPARSE)),
    "without an item": (wide(RATERS).drop(columns="id"), "wide", flat(SPARSE)),
    "beside text and a majority": (
        with_columns(wide(RATERS), text=[f"text of {i}" for i in ITEMS], majority=[row[0] for row in FULL]),
        "wide",
        flat(SPARSE),
    ),
    "beside a category": (with_columns(wide(RATERS), category=["news", "blog", "blog"] * 8), "wide", flat(SPARSE)),
    "annotators in rows": (form(("annotator", PEOPLE)), "transposed", flat(SPARSE)),
    "names, and videos": (form(("name", PEOPLE), names=[f"video{n}" for n in range(24)]), "transposed", flat(SPARSE)),
    "a form": (form(*FORM), "transposed", flat(SPARSE)),
    "a form without names": (form(FORM[0], names=[f"Post [{i}]" for i in ITEMS]), "transposed", flat(SPARSE)),
    "a form that asks for consent": (
        form(*FORM, ("I consent", ["pos"] * 4), ("Age", ["18-25", "26-35"] * 2)),
        "transposed",
        flat(SPARSE),
    ),
    "one-hot": (one_hot(), "one-hot", flat(SPARSE)),
    "one-hot beside text": (with_columns(one_hot(), text="a text"), "one-hot", flat(SPARSE)),
    "counts": (counts(), "counts", flat(FULL)),
    "counts and their sum": (with_columns(counts(), total=4, note=[f"n{i}" for i in ITEMS]), "counts", flat(FULL)),
    "counts under another name": (counts().rename(columns={"item": "patient"}), "counts", flat(FULL)),
}


@pytest.mark.parametrize("name", RECOGNISED)
@pytest.mark.parametrize("kind", ["frame", "file"])
def test_a_layout_that_leaves_no_doubt_is_read(name: str, kind: str, tmp_path: Path) -> None:
    table, layout, expected = RECOGNISED[name]
    source: Any = table.replace("", None)
    if kind == "file":
        source = tmp_path / "table.csv"
        table.to_csv(source, index=False)
    found = spagree.measure(source, weights="flat")
    assert found.understood is not None and found.understood.format == layout
    assert found.spa.value == pytest.approx(expected, abs=1e-12)
    assert any(rule.startswith("recognised: one ") and "format=" in rule for rule in found.understood.rules)
    used = " ".join(found.understood.columns.values())
    left = [column for column in table.columns if column not in used and layout != "transposed"]
    told = " ".join(warning.message for warning in found.warnings if warning.code == "columns_aside")
    assert all(column in told for column in left if column not in (*RATERS, *PEOPLE))


DOUBTFUL: dict[str, tuple[pd.DataFrame, str]] = {
    "names that may be questions": (wide(["fluency", "adequacy", "style", "tone"]), 'format="wide", item="id"'),
    "letters": (wide(["a1", "a2", "a3", "a4"]), 'format="wide"'),
    "names and labels in pairs": (
        frame(
            ["id", "annotator_1", "label_1", "annotator_2", "label_2"],
            [[i, PEOPLE[n % 4], row[0], PEOPLE[(n + 1) % 4], row[1]] for n, (i, row) in enumerate(zip(ITEMS, FULL))],  # noqa: B905
        ),
        "no column looks like the label",
    ),
    "one more column that rates": (with_columns(wide(RATERS), expertise=[row[0] for row in FULL]), 'format="wide"'),
    "a consensus": (with_columns(wide(RATERS), label=[row[0] for row in FULL]), 'label=["Rater 1", "Rater 2"'),
    "people who may be items": (wide(PEOPLE, "participant"), 'format="wide", item="participant"'),
    "measures of people": (
        frame(
            ["annotator", "seconds", "items", "kappa"],
            [[name, 31 + n, 7 * n, n / 7] for n, name in enumerate("abcdef")],
        ),
        "no column looks like the item or the label",
    ),
    "classes that do not exclude each other": (with_columns(one_hot(), pos=1), 'format="one-hot"'),
    "counts that differ": (counts(SPARSE), 'format="counts", item="item"'),
    "ratings from 0": (wide(PEOPLE, rows=labels(gaps=0, classes="01234")), 'format="wide", item="id"'),
}


@pytest.mark.parametrize("name", DOUBTFUL)
def test_a_layout_that_leaves_doubt_is_asked_for(name: str) -> None:
    table, advice = DOUBTFUL[name]
    with pytest.raises(ColumnError) as caught:
        spagree.measure(table.replace("", None))
    assert advice in str(caught.value)


def test_a_column_that_lost_its_name_is_not_left_aside_in_silence(tmp_path: Path) -> None:
    path = tmp_path / "wide.csv"
    wide(["Rater 1", "", "Rater 3", "Rater 4"]).to_csv(path, index=False)
    with pytest.raises(ColumnError, match="format="):
        spagree.measure(path)
    found = spagree.measure(path, format="wide")
    assert "(column 3)" in next(w.message for w in found.warnings if w.code == "columns_aside")


def test_questions_that_are_called_the_same_are_items_of_their_own() -> None:
    names = ["Is this rude?"] * len(ITEMS)
    table = form(*FORM, names=names).replace("", None)
    with pytest.raises(spagree.DataError, match="each column its own name"):
        spagree.measure(table)


def test_questions_that_are_called_the_same_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "form.csv"
    form(*FORM, names=["Is this rude?"] * len(ITEMS)).to_csv(path, index=False)
    found = spagree.measure(path, weights="flat")
    assert found.spa.value == pytest.approx(flat(SPARSE))
    assert "columns_numbered" in {warning.code for warning in found.warnings}
    assert found.items()["item"].str.contains("column").all()


def test_a_column_that_is_part_of_the_item_is_not_the_label() -> None:
    rows = [
        ["1", "news", "ann", "yes"],
        ["1", "news", "bob", "yes"],
        ["1", "blog", "ann", "no"],
        ["1", "blog", "bob", "yes"],
    ]
    table = frame(["id", "category", "annotator", "answer"], rows)
    found = spagree.measure(table, item=["id", "category"], weights="flat")
    assert found.spa.value == 0.5 and found.data.items == 2


# ── surveys ──


def survey(path: Path, *, matrix: bool) -> Path:
    """What SurveyMonkey writes: a second header, which names the rows of a matrix."""
    header = ["Respondent ID", "Collector ID", "Date Created", "IP Address", "Email Address"]
    first = ["Rate each review", *[""] * (len(ITEMS) - 1)] if matrix else [f"How is {item}?" for item in ITEMS]
    second = ITEMS if matrix else ["Response"] * len(ITEMS)
    rows = [
        [f"1184{n}", "9", f"0{n + 1}/02/2024 10:00:00", "10.0.0.1", "", *row] for n, row in enumerate(turned(SPARSE))
    ]
    lines = [[*header, *first], [*[""] * len(header), *second], *rows]
    path.write_text("\n".join(",".join(line) for line in lines) + "\n")
    return path


@pytest.mark.parametrize("matrix", [True, False])
def test_the_second_header_of_surveymonkey(matrix: bool, tmp_path: Path) -> None:
    found = spagree.measure(survey(tmp_path / "s.csv", matrix=matrix), weights="flat")
    assert found.spa.value == pytest.approx(flat(SPARSE))
    assert (found.data.items, found.data.annotators) == (len(ITEMS), len(PEOPLE))
    assert "second_header" in {warning.code for warning in found.warnings}
    name = "Rate each review [rev00]" if matrix else "How is rev00?"
    assert name in set(found.items()["item"])


# ── grids ──

GRID = [row[:2] * 2 for row in FULL]


@pytest.mark.parametrize(
    ("names", "advice"),
    [
        (["ann1_tone", "ann1_topic", "ann2_tone", "ann2_topic"], ["ann1_tone", "ann2_tone"]),
        (["tone_ann1", "tone_ann2", "topic_ann1", "topic_ann2"], ["tone_ann1", "tone_ann2"]),
        (["tone1", "tone2", "topic1", "topic2"], ["tone1", "tone2"]),
        (["tone 1", "tone 2", "topic 1", "topic 2"], ["tone 1", "tone 2"]),
    ],
)
def test_the_columns_of_one_question_are_those_of_its_annotators(names: list[str], advice: list[str]) -> None:
    table = wide(names, rows=GRID)
    with pytest.raises(ColumnError) as caught:
        spagree.measure(table, format="wide")
    told = [line for line in str(caught.value).splitlines() if "are annotators" in line]
    assert len(told) == 2 and any(line.endswith(f'label=["{advice[0]}", "{advice[1]}"]') for line in told)
    found = spagree.measure(table, format="wide", label=advice, weights="flat")
    assert found.spa.value == pytest.approx(flat(table[advice].to_numpy().tolist()))


def test_a_grid_of_names_is_told_both_ways() -> None:
    with pytest.raises(ColumnError) as caught:
        spagree.measure(wide(["tone_eva", "tone_max", "topic_eva", "topic_max"], rows=GRID), format="wide")
    assert 'label=["tone_eva", "tone_max"]' in str(caught.value)
    assert 'label=["tone_eva", "topic_eva"]' in str(caught.value)


def test_annotators_of_several_kinds_are_no_grid() -> None:
    table = wide(["expert_1", "expert_2", "worker_1", "worker_2"], rows=FULL)
    assert spagree.measure(table, weights="flat").spa.value == pytest.approx(flat(FULL))


def test_counts_stored_as_floats_are_recognised_like_whole_numbers() -> None:
    """Pandas and Excel turn counts into floats where a column has gaps."""
    cells = {"cat": [2, 1, 0, 3, 1, 2], "dog": [1, 2, 3, 0, 2, 1]}
    whole = pl.DataFrame({"item": [f"i{n}" for n in range(6)], **cells})
    floats = whole.with_columns(pl.col(*cells).cast(pl.Float64))
    found = spagree.measure(floats)
    assert found.understood is not None and found.understood.format == "counts"
    assert found.spa == spagree.measure(whole).spa
    uneven = floats.with_columns(dog=pl.Series([1.0, 2, 3, 0, 2, 2])).rename({"item": "key"})
    with pytest.raises(ColumnError, match='the cells are counts: format="counts", item="key"'):
        spagree.measure(uneven)
