"""Columns beside the annotators of a wide table, and columns beside counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random

import pytest

import spagree
from spagree.errors import ColumnError

PEOPLE = ["Maria", "Jo", "Lee"]


def votes(rows: int, classes: str = "xyz") -> list[list[str]]:
    random = Random(1)
    truth = [random.choice(classes) for _ in range(rows)]
    return [[label if random.random() < 0.7 else random.choice(classes) for _ in PEOPLE] for label in truth]


@pytest.fixture
def table(tmp_path: Path) -> Callable[[Sequence[str], Sequence[Sequence[object]]], Path]:
    def write(names: Sequence[str], rows: Sequence[Sequence[object]]) -> Path:
        path = tmp_path / "a.csv"
        lines = [["id", *names], *([n, *row] for n, row in enumerate(rows))]
        path.write_text("".join(",".join(map(str, line)) + "\n" for line in lines), encoding="utf-8")
        return path

    return write


def agreed(row: Sequence[str]) -> str:
    return Counter(row).most_common(1)[0][0]


def codes(found: spagree.Agreement) -> set[str]:
    return {warning.code for warning in found.warnings}


def true_value(rows: Sequence[Sequence[str]]) -> float | None:
    return spagree.measure([(n, who, x) for n, row in enumerate(rows) for who, x in enumerate(row)]).spa.value


@pytest.mark.parametrize("name", ["Goldstandard", "Mehrheit", "référence", "mayoría", "金标准", "true_label", "y_true"])
def test_a_consensus_is_known_by_its_name_in_other_languages(name: str, table: Callable[..., Path]) -> None:
    rows = votes(20)
    found = spagree.measure(table([*PEOPLE, name], [[*row, agreed(row)] for row in rows]), format="wide")
    assert found.spa.value == true_value(rows) and "columns_aside" in codes(found)


def test_a_question_is_not_taken_for_a_figure(table: Callable[..., Path]) -> None:
    names = ["Is the sky blue?", "Is it true?", "Is the final claim here a joke"]
    found = spagree.measure(table(names, votes(6, "xy")), format="transposed", annotator="id")
    assert found.data.items == 3


def test_a_copy_of_an_annotator_is_named(table: Callable[..., Path]) -> None:
    rows = votes(100)
    path = table([*PEOPLE, "Jo 2"], [[*row, row[1]] for row in rows])
    (told,) = [each.message for each in spagree.measure(path, format="wide").warnings if each.code == "looks_copied"]
    assert 'exclude_annotator="Jo 2"' in told
    assert spagree.measure(path, format="wide", exclude_annotator="Jo 2").spa.value == true_value(rows)
    same = [row[:1] * 4 for row in rows]
    assert "looks_copied" not in codes(spagree.measure(table([*PEOPLE, "Kim"], same), format="wide"))


def test_another_annotator_is_no_consensus(table: Callable[..., Path]) -> None:
    assert "looks_like_consensus" not in codes(spagree.measure(table(PEOPLE, votes(200)), format="wide"))


def test_a_column_beside_annotators_is_asked_for(table: Callable[..., Path]) -> None:
    people = [f"annotator {n}" for n in (1, 2, 3)]
    path = table([*people, "Klasse"], [[*row, agreed(row)] for row in votes(20)])
    with pytest.raises(ColumnError, match="beside 'Klasse', which may be their consensus") as error:
        spagree.measure(path)
    assert 'format="wide", item="id", label=["annotator 1", "annotator 2", "annotator 3"]' in str(error.value)
    assert spagree.measure(path, format="wide", item="id", label=people).spa.value == true_value(votes(20))


def test_columns_named_before_the_annotators_are_no_annotators(table: Callable[..., Path]) -> None:
    rows = votes(20, "123")
    names = [name for person in PEOPLE for name in (person, f"sure ({person})")]
    path = table(
        names,
        [[x for place, label in enumerate(row) for x in (label, 1 + (n + place) % 3)] for n, row in enumerate(rows)],
    )
    found = spagree.measure(path, format="wide")
    assert found.spa.value == true_value(rows) and "columns_aside" in codes(found)


def test_a_second_answer_of_each_annotator_is_asked_for(table: Callable[..., Path]) -> None:
    rows = votes(20, "123")
    names = ["Maria", "sure?", "Jo", "sure?.1", "Lee", "sure?.2"]
    path = table(
        names,
        [[x for place, label in enumerate(row) for x in (label, 1 + (n + place) % 3)] for n, row in enumerate(rows)],
    )
    with pytest.raises(ColumnError, match="two answers of each annotator") as error:
        spagree.measure(path, format="wide")
    assert 'label=["Maria", "Jo", "Lee"]' in str(error.value)
    experts = ["expert 1", "expert 2", "expert 3"]
    both = [[*row, *reversed(row)] for row in rows]
    assert spagree.measure(table([*experts, *PEOPLE], both), format="wide").data.annotators == 6


def test_a_value_that_every_row_holds_equally_often_may_stand_for_nothing(table: Callable[..., Path]) -> None:
    rows, random = votes(20, "123"), Random(2)
    padded = [random.sample([*row, "0", "0"], 5) for row in rows]
    path = table(list("ABCDE"), padded)
    assert "looks_unassigned" in codes(spagree.measure(path, format="wide"))
    assert spagree.measure(path, format="wide", missing="0").spa.value == true_value(rows)
    assert "looks_unassigned" not in codes(spagree.measure(table(list("ABC"), rows), format="wide"))


def test_a_second_header_of_names_is_named(table: Callable[..., Path]) -> None:
    people, rows = [f"annotator {n}" for n in (1, 2, 3)], votes(20)
    assert "header_again" in codes(spagree.measure(table(people, [PEOPLE, *rows])))
    assert "header_again" not in codes(spagree.measure(table(people, rows)))


def test_a_second_header_of_questions_is_named(tmp_path: Path) -> None:
    given = [f"R_{number},{','.join(labels)}" for number, labels in enumerate(zip(*votes(20), *votes(20), strict=True))]
    names, texts = (",".join(["ResponseId", *(each.format(n) for n in range(40))]) for each in ("Q{}", "Is {} rude?"))
    path, people = tmp_path / "survey.csv", [f"{row.replace('R_', start)}" for start in "RST" for row in given]
    found = {}
    for name, lines in {"twice": [names, texts, *people], "once": [names, *people]}.items():
        path.write_text("\n".join(lines) + "\n")
        found[name] = spagree.measure(path, format="transposed", annotator="ResponseId")
    assert "was counted as an annotator" in next(w.message for w in found["twice"].warnings if w.code == "header_again")
    assert "header_again" not in codes(found["once"])


@pytest.mark.parametrize("name", ["year", "n_words", "max"])
def test_a_number_beside_counts_is_no_class(name: str, table: Callable[..., Path]) -> None:
    rows = votes(20)
    counted = [[*(row.count(label) for label in "xyz"), 2000 + n * n] for n, row in enumerate(rows)]
    path = table([*"xyz", name], counted)
    for found in (spagree.measure(path), spagree.measure(path, format="counts")):
        assert found.spa.value == true_value(rows) and "columns_aside" in codes(found)


def test_an_annotator_or_an_item_with_one_label_throughout_is_kept(table: Callable[..., Path]) -> None:
    rows = [[*row, "1"] for row in votes(20, "123")]
    found = spagree.measure(table([*PEOPLE, "Kim"], rows), format="wide")
    assert found.data.annotators == 4 and found.spa.value == true_value(rows)
    answers = [["1", *row] for row in votes(20, "123")]
    assert (
        spagree.measure(table(["q1", "q2", "q3", "q4"], answers), format="transposed", annotator="id").data.items == 4
    )


def test_a_class_beside_the_number_of_all_is_refused(table: Callable[..., Path]) -> None:
    path = table(["yes", "total"], [[row.count("x"), 3] for row in votes(20)])
    with pytest.raises(ColumnError, match=r"'total' counts all annotations.*\(total minus yes\)"):
        spagree.measure(path, format="counts")


def test_a_column_for_each_annotator_and_class_is_refused(table: Callable[..., Path]) -> None:
    names = [f"{who}_{label}" for who in ("rater1", "rater2", "rater3") for label in "xyz"]
    path = table(names, [[int(each == label) for each in row[:3] for label in "xyz"] for row in votes(20)])
    with pytest.raises(ColumnError, match="'rater1', 'rater2', 'rater3' each have a 1 in one of 'x', 'y', 'z'"):
        spagree.measure(path)
