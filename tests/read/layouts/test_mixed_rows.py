"""Rows of one item that should perhaps not be compared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random

import pytest

import spagree
from spagree.errors import ColumnError, DuplicateError

Write = Callable[[str, Sequence[Sequence[object]]], Path]


def votes(items: int = 12) -> list[tuple[str, str, str]]:
    random = Random(3)
    return [
        (f"i{n}", who, random.choice("xxy" if n % 2 else "yyx")) for n in range(items) for who in ("ann", "bob", "cy")
    ]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def written(header: str, rows: Sequence[Sequence[object]], name: str = "a.csv") -> Path:
        path = tmp_path / name
        path.write_text("".join(",".join(map(str, row)) + "\n" for row in [header.split(","), *rows]))
        return path

    return written


def told(path: Path | list[Path], code: str, **options: object) -> list[str]:
    return [each.message for each in spagree.measure(path, **options).warnings if each.code == code]


@pytest.mark.parametrize(("column", "value"), [("phase", "adjudication"), ("role", "Reviewer"), ("type", "gold")])
def test_decisions_are_named_and_can_be_left_out(column: str, value: str, write: Write) -> None:
    rows = votes()
    later = [(f"i{n}", "zoe", "x", value) for n in range(12)]
    path = write(f"item,annotator,label,{column}", [*((*row, "annotation") for row in rows), *later])
    (message,) = told(path, "decisions")
    assert f'where="{column}!={value}"' in message
    assert spagree.measure(path, where=f"{column}!={value}").spa.value == spagree.measure(rows).spa.value
    assert not told(path, "decisions", where=f"{column}!={value}")


def test_what_an_item_is_called_is_no_decision(write: Write) -> None:
    rows = [(*row, "reviewed" if row[0] < "i5" else "tweet") for row in votes()]
    assert not told(write("item,annotator,label,type", rows), "decisions")


def test_rounds_are_named_where_they_meet_on_an_item(write: Write) -> None:
    rows = votes()
    both = [(item, label, n) for n in (1, 2) for item, _, label in rows]
    path = write("item,label,round", both)
    (message,) = told(path, "mixed_rounds")
    assert 'where="round=1"' in message
    assert spagree.measure(path, where="round=1").spa.value == spagree.measure(rows).spa.value
    apart = [(item, label, int(item[1:]) // 6) for item, _, label in rows]
    assert not told(write("item,label,round", apart), "mixed_rounds")


@pytest.mark.parametrize("sides", ["model_a,model_b", "left,right"])
def test_swapped_sides_are_named(sides: str, write: Write) -> None:
    rows = [(item, who, *(("p", "q") if n % 2 else ("q", "p")), label) for n, (item, who, label) in enumerate(votes())]
    assert told(write(f"item,annotator,{sides},label", rows), "sides_swapped")
    same = [(item, who, "p", "q", label) for item, who, label in votes()]
    assert not told(write(f"item,annotator,{sides},label", same), "sides_swapped")
    chosen = [(*row[:4], "p" if row[4] == "x" else "q") for row in rows]
    assert not told(write(f"item,annotator,{sides},label", chosen), "sides_swapped")


def test_a_flag_of_swapped_sides_is_named(write: Write) -> None:
    rows = [(item, who, n % 2, label) for n, (item, who, label) in enumerate(votes())]
    assert told(write("item,annotator,swapped,label", rows), "sides_swapped")


@pytest.mark.parametrize("names", ["document,sentence", "sentence_id,document_name", "id,text"])
def test_parts_of_a_document_are_named_without_annotators(names: str, write: Write) -> None:
    rows = [(f"d{int(item[1:]) % 3}", f"s{int(item[1:]) // 3}", label) for item, _, label in votes()]
    path = write(f"{names},label", rows)
    (message,) = told(path, "item_parts")
    both = names.split(",")
    assert f'item=["{both[0]}", "{both[1]}"]' in message
    assert spagree.measure(path, item=both).spa.value == spagree.measure(votes()).spa.value


def test_ids_that_begin_anew_in_each_file_are_seen_by_the_text(write: Write) -> None:
    rows = votes()
    files = [
        write(
            "id,text,annotator,label",
            [(int(i[1:]) % 6, f"text {i}", f"{who}{part}", x) for i, who, x in half],
            f"{part}.csv",
        )
        for part, half in enumerate((rows[:18], rows[18:]))
    ]
    (message,) = told(files, "item_parts")
    assert 'item=["id", "text"]' in message
    assert spagree.measure(files, item=["id", "text"]).spa.value == spagree.measure(rows).spa.value


def test_ids_that_begin_anew_in_each_file_are_explained_where_annotators_meet(write: Write) -> None:
    rows = votes(40)
    files = [
        write("id,annotator,label", [(int(i[1:]) % 20, who, x) for i, who, x in half], f"{part}.csv")
        for part, half in enumerate((rows[:60], rows[60:]))
    ]
    with pytest.raises(
        (ColumnError, DuplicateError), match="numbered anew in each file, put the name of the file in front"
    ):
        spagree.measure(files)


@pytest.mark.parametrize("column", ["Anzahl", "weight"])
def test_equal_annotations_that_were_joined_are_named(column: str, write: Write) -> None:
    sizes = Counter((item, label) for item, _, label in votes())
    rows = [(item, label, size) for (item, label), size in sizes.items()]
    (message,) = told(write(f"item,label,{column}", rows), "looks_grouped")
    assert f"'{column}' says how many" in message or f'"{column}"' in message
    assert spagree.measure(write("item,label,count", rows)).spa.value == spagree.measure(votes()).spa.value
    assert not told(write("item,label", [(item, label) for item, _, label in votes()]), "looks_grouped")


def test_what_tells_repeats_apart_is_named(write: Write) -> None:
    rows = votes()
    teams = [(item, "crowd" if who != "cy" else "expert", who, label) for item, who, label in rows]
    path = write("item,annotator,worker_id,label", teams)
    with pytest.raises(DuplicateError, match='use annotator="worker_id"'):
        spagree.measure(path)
    assert spagree.measure(path, annotator="worker_id").spa.value == spagree.measure(rows).spa.value
    again = [(item, who, label, n) for n in (1, 2) for item, who, label in [*rows[n:], *rows[:n]]]
    turned = [(item, who, "xy"["yx".index(label)] if n == 2 else label, n) for item, who, label, n in again]
    with pytest.raises(DuplicateError, match='where="round=1" for one of its values'):
        spagree.measure(write("item,annotator,label,round", turned))


def test_several_columns_tell_the_rows_of_a_wide_table_apart(write: Write) -> None:
    labels = [label for _, _, label in votes()]
    rows = [(f"d{n % 3}", n // 3, *labels[3 * n : 3 * n + 3]) for n in range(12)]
    path = write("doc_id,line,annotator1,annotator2,annotator3", rows)
    with pytest.raises(DuplicateError, match=r'use item=\["doc_id", "line"\]'):
        spagree.measure(path)
    assert spagree.measure(path, item=["doc_id", "line"]).spa.value == spagree.measure(votes()).spa.value


def test_two_columns_that_could_be_the_item_may_both_be(write: Write) -> None:
    rows = [(f"d{int(item[1:]) % 3}", int(item[1:]) // 3, who, label) for item, who, label in votes()]
    path = write("doc_id,sent_id,annotator,label", rows)
    with pytest.raises(ColumnError, match=r'or both: item=\["doc_id", "sent_id"\]'):
        spagree.measure(path)
    assert spagree.measure(path, item=["doc_id", "sent_id"]).spa.value == spagree.measure(votes()).spa.value


def test_comparisons_of_models_are_read(write: Write) -> None:
    rows = [(item, "p", "q", label, who) for item, who, label in votes()]
    found = spagree.measure(write("question_id,model_a,model_b,winner,judge", rows))
    assert found.spa.value == spagree.measure(votes()).spa.value


@pytest.mark.parametrize("name", ["adjudicator", "Konsens", "gpt-4", "Claude 3", "LLM_label", "model"])
def test_decisions_and_models_among_annotators_are_named(name: str) -> None:
    rows = [*votes(), *((f"i{n}", name, "x") for n in range(12))]
    (message,) = [each.message for each in spagree.measure(rows).warnings if each.code == "not_a_person"]
    assert f'exclude_annotator="{name}"' in message
    assert spagree.measure(rows, exclude_annotator=name).spa.value == spagree.measure(votes()).spa.value


def test_names_of_people_are_those_of_models_beside_a_model() -> None:
    alone = [*votes(), *((f"i{n}", "Claude", "x") for n in range(12))]
    (message,) = [each.message for each in spagree.measure(alone).warnings if each.code == "not_a_person"]
    assert "'Claude': the name of a model, and of a few people, counted" in message
    unnamed = [(item, f"rater {'abc'.index(who[0]) + 1}" if who != "Gemma" else who, x) for item, who, x in
               [*votes(), *((f"i{n}", "Gemma", "x") for n in range(12))]]  # fmt: skip
    (message,) = [each.message for each in spagree.measure(unnamed).warnings if each.code == "not_a_person"]
    assert "'Gemma': by the name a model" in message
    beside = [*alone, *((f"i{n}", "gpt-4o", "x") for n in range(12))]
    (message,) = [each.message for each in spagree.measure(beside).warnings if each.code == "not_a_person"]
    assert "'Claude', 'gpt-4o': by the name a model" in message


@pytest.mark.parametrize(
    "header", ["item,category,annotator,toxic", "item,label,worker,response", "id,tag,rater,answer_given"]
)
def test_a_label_that_belongs_to_the_item_is_refused(header: str, write: Write) -> None:
    path = write(header, [(item, f"c{int(item[1:]) % 3}", who, label) for item, who, label in votes()])
    other = header.rsplit(",", maxsplit=1)[-1]
    with pytest.raises(ColumnError, match=f'looks like a reference .* use label="{other}"'):
        spagree.measure(path)
    assert spagree.measure(path, label=other).spa.value == spagree.measure(votes()).spa.value
    assert spagree.measure(path, label=header.split(",")[1]).spa.value == 1


def test_a_label_of_the_annotator_or_with_a_weak_name_is_named(write: Write) -> None:
    rows = votes()
    assert told(write("item,annotator,code,opinion", [(i, who, who[0], x) for i, who, x in rows]), "other_label")
    scores = [(i, who, x, n % 4) for n, (i, who, x) in enumerate(rows)]
    assert told(write("item,annotator,sentiment,score", scores), "other_label")


def test_what_is_beside_a_label_is_no_reason_to_doubt_it(write: Write) -> None:
    agreed = [
        (f"i{n}", who, "xy"[n % 2], (n + place) % 3)
        for n in range(12)
        for place, who in enumerate(["ann", "bob", "cy"])
    ]
    for name in ("confidence", "duration_seconds"):
        assert not told(write(f"item,annotator,label,{name}", agreed), "other_label")
    two = [(i, who, x, n % 3) for n, (i, who, x) in enumerate(votes())]
    assert not told(write("item,annotator,label,second", two), "other_label")


@pytest.mark.parametrize(
    ("ids", "is_named"), [("1.2{:04}E+17", True), ("1234567890123{:02}00", True), ("12345678901{:04}123", False)]
)
def test_ids_that_a_spreadsheet_rounded_are_named(ids: str, is_named: bool, write: Write) -> None:
    rows = [(ids.format(int(item[1:])), who, label) for item, who, label in votes()]
    assert bool(told(write("tweet_id,annotator,label", rows), "rounded_ids")) == is_named


@pytest.mark.parametrize("name", ["Claude-Marie", "Gemma", "gemma.w", "Roberta", "Reference checker", "Max"])
def test_people_with_names_like_models_are_people(name: str) -> None:
    rows = [(item, who, "yes" if item % 2 else "no") for item in range(12) for who in (name, "bob")]
    assert "not_a_person" not in {each.code for each in spagree.measure(rows).warnings}
