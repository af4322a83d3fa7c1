"""More tables as people and programs write them, beside those of test_tables_in_the_wild.

Each is read right, refused with advice that leads to the number, or read with a warning. The expected number is counted
here from the annotations a file was made of: pairs that agree, each item weighted by its annotations less one.
"""

from __future__ import annotations

import json
import random
import re
import shlex
from collections.abc import Callable, Iterable, Sequence
from itertools import combinations
from pathlib import Path

import pytest

from command import Run

Triple = tuple[str, str, str]
Scored = Callable[..., tuple[int, dict[str, object], str]]
PEOPLE = ("anna", "ben", "carla", "dev")
CLASSES = ("pos", "neg", "neu")


def drawn(
    seed: int, people: Sequence[str] = PEOPLE, classes: Sequence[str] = CLASSES, kept: float = 0.8
) -> list[Triple]:
    """24 items that about four in five annotators labelled, mostly alike."""
    chance = random.Random(seed)
    found = []
    for item in range(1, 25):
        usual = chance.choice(classes)
        chosen = [who for who in people if chance.random() < kept]
        found += [(f"{item}", who, usual if chance.random() < 0.7 else chance.choice(classes)) for who in chosen]
    return found


def spa(rows: Iterable[tuple[str, str, object]], alike: Callable[[object, object], float] | None = None) -> float:
    labels: dict[str, list[object]] = {}
    for item, _, label in rows:
        labels.setdefault(item, []).append(label)
    total = weights = 0.0
    for given in labels.values():
        pairs = list(combinations(given, 2))
        if pairs:
            agreeing = sum(alike(a, b) if alike else a == b for a, b in pairs) / len(pairs)
            total, weights = total + (len(given) - 1) * agreeing, weights + len(given) - 1
    return total / weights


def table(header: str, rows: Iterable[Iterable[object]], separator: str = ",") -> str:
    quoted = (['"' + str(cell).replace('"', '""') + '"' for cell in row] for row in rows)
    return "\n".join([header, *(separator.join(row) for row in quoted)]) + "\n"


@pytest.fixture
def scored(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Scored:
    """Write a file, score it with options, and return the exit code, the JSON and what was written to stderr."""
    run = Run(capsys)

    def score(content: str, options: str = "", name: str = "table.csv") -> tuple[int, dict[str, object], str]:
        path = tmp_path / name
        path.write_text(content, encoding="utf-8", newline="")
        code, out, err = run("score", path, "--json", *shlex.split(options))
        return code, json.loads(out) if out.strip().startswith("{") else {}, err

    return score


def value(found: dict[str, object]) -> object:
    return found["spa"]["value"]  # type: ignore[index]


def codes(found: dict[str, object]) -> dict[str, str]:
    return {each["code"]: each["message"] for each in found["warnings"]}  # type: ignore[union-attr, attr-defined]


DATA = drawn(1)
LONG = table("item,annotator,label", DATA)


# Sets ----------------------------------------------------------------------------------------


def sets(seed: int = 5) -> list[tuple[str, str, tuple[str, ...]]]:
    """Sets of one to three options, in any order."""
    chance, options = random.Random(seed), ["anger", "fear", "joy", "sad"]
    found = []
    for item in range(20):
        usual = set(chance.sample(options, chance.choice([1, 2])))
        for who in PEOPLE:
            chosen = list(usual ^ {chance.choice(options)} if chance.random() < 0.5 else usual) or ["joy"]
            chance.shuffle(chosen)
            found.append((f"{item}", who, tuple(chosen)))
    return found


def jaccard(one: object, other: object) -> float:
    first, second = set(one), set(other)  # type: ignore[call-overload]
    return len(first & second) / len(first | second)


WRITTEN: dict[str, Callable[[Sequence[str]], str]] = {
    "a list of Python": lambda options: str(list(options)),
    "a set of Python": lambda options: "{" + ", ".join(map(repr, options)) + "}",
    "a tuple of Python": lambda options: str(tuple(options)),
    "an array of numpy": lambda options: "[" + " ".join(map(repr, options)) + "]",
    "an array of PostgreSQL": lambda options: "{" + ",".join(options) + "}",
    "a list without quotes": lambda options: "[" + ", ".join(options) + "]" if len(options) > 1 else options[0],
    "blanks": " ".join,
}


@pytest.mark.parametrize("written", WRITTEN)
def test_sets_as_programs_write_them(written: str, scored: Scored) -> None:
    rows = sets()
    content = table("item,annotator,labels", ((i, a, WRITTEN[written](s)) for i, a, s in rows))
    _, found, _ = scored(content, "--metric jaccard")
    assert value(found) == pytest.approx(spa(rows, jaccard))
    _, plain, _ = scored(content)
    remedy = re.search(r"to ignore their order: (--separator '.')", codes(plain)["label_sets"])
    assert remedy
    _, found, _ = scored(content, remedy[1])
    assert value(found) == pytest.approx(spa((i, a, frozenset(s)) for i, a, s in rows))


def test_a_separator_can_be_named_as_a_shell_passes_it(scored: Scored) -> None:
    rows = sets()
    _, found, _ = scored(
        table("item,annotator,labels", ((i, a, "\n".join(s)) for i, a, s in rows)), r"--separator '\n'"
    )
    assert value(found) == pytest.approx(spa((i, a, frozenset(s)) for i, a, s in rows))


def test_labels_of_two_words_are_no_sets(scored: Scored) -> None:
    names = {"pos": "very good", "neg": "not good", "neu": "good"}
    _, found, _ = scored(table("item,annotator,label", ((i, a, names[label]) for i, a, label in DATA)))
    assert "label_sets" not in codes(found) and value(found) == pytest.approx(spa(DATA))


# Wrappers, headers, counts ---------------------------------------------------------------------

ROWS = [{"item": item, "annotator": who, "label": label} for item, who, label in DATA]


@pytest.mark.parametrize(
    "document",
    [
        {"results": ROWS, "count": len(ROWS)},
        {"meta": {"version": 1}, "rows": ROWS},
        {"schema": {"fields": [{"name": "item"}]}, "data": ROWS},
    ],
    ids=["results", "meta", "table"],
)
def test_rows_inside_an_object(document: object, scored: Scored) -> None:
    _, found, _ = scored(json.dumps(document, indent=2), name="rows.json")
    assert value(found) == pytest.approx(spa(DATA)) and "json_rows" in codes(found)


def test_the_line_that_tells_excel_the_separator(scored: Scored) -> None:
    _, found, _ = scored("sep=;\n" + LONG.replace(",", ";"))
    assert value(found) == pytest.approx(spa(DATA))


def grouped() -> list[list[object]]:
    items: dict[str, list[str]] = {}
    for item, _, label in DATA:
        items.setdefault(item, []).append(label)
    return [[item, name, given.count(name)] for item, given in items.items() for name in CLASSES if name in given]


@pytest.mark.parametrize("name", ["count", "votes", "n"])
def test_a_column_that_counts_equal_annotations(name: str, scored: Scored) -> None:
    _, found, _ = scored(table(f"item,label,{name}", grouped()))
    assert value(found) == pytest.approx(spa(DATA))
    assert found["data"]["annotations"] == len(DATA)  # type: ignore[index]


def test_a_majority_and_its_size_show_no_agreement(scored: Scored) -> None:
    code, _, err = scored(table("item,label,n", ([i, "pos", 3] for i in range(30))))
    assert code == 3 and "no item has two annotations" in err


def test_labels_in_the_first_line_are_no_header(scored: Scored) -> None:
    rows = drawn(3, people=("1", "2", "3"), classes="12345", kept=1)
    lines = [",".join(label for i, _, label in rows if i == str(item)) for item in range(1, 25)]
    code, _, err = scored("\n".join(lines) + "\n", "--format wide")
    assert code == 3 and "looks like data and not like a header; use --no-header" in err
    _, found, _ = scored("\n".join(lines) + "\n", "--format wide --no-header")
    assert value(found) == pytest.approx(spa(rows)) and "looks_like_header" not in codes(found)


def test_a_header_that_is_read_as_data(scored: Scored) -> None:
    rows = drawn(3, kept=1)
    lines = [[i, *(label for item, _, label in rows if item == str(i))] for i in range(1, 25)]
    _, found, _ = scored(table("id," + ",".join(PEOPLE), lines), "--no-header --format wide --item 1")
    assert "if it is a header, leave out --no-header" in codes(found)["looks_like_header"]
    _, found, _ = scored(table("id," + ",".join(PEOPLE), lines), "--format wide")
    assert value(found) == pytest.approx(spa(rows))


def test_annotators_called_by_numbers_are_no_data(scored: Scored) -> None:
    rows = drawn(3, people=("1", "2", "3"), classes="123", kept=1)
    lines = [[label for item, _, label in rows if item == str(i)] for i in range(1, 25)]
    _, found, _ = scored(table("1,2,3", lines), "--format wide")
    assert value(found) == pytest.approx(spa(rows))


# Advice ----------------------------------------------------------------------------------------


def advised(err: str) -> str:
    """The options of the first advice."""
    found = re.search(r"((?:--(?:format|item|annotator|label) (?:'[^']*'|[\w-]+) ?)+)", err)
    assert found, err
    return found[1]


@pytest.mark.parametrize(
    "header", ["PMID,Person,Outcome", "trial,subject,response", "Slide,Doctor,Finding", "utt,annotator_id,DA"]
)
def test_a_list_under_unusual_names(header: str, scored: Scored) -> None:
    code, _, err = scored(table(header, DATA))
    assert code == 3
    _, found, _ = scored(table(header, DATA), advised(err))
    assert value(found) == pytest.approx(spa(DATA))


@pytest.mark.parametrize(
    "header", ["essay_id,grader,grade", "HIT,Turker,Answer", "Case,Reader,Diagnosis", "post_id,moderator,verdict"]
)
def test_names_of_other_trades(header: str, scored: Scored) -> None:
    _, found, _ = scored(table(header, DATA))
    assert value(found) == pytest.approx(spa(DATA)) and found["data"]["annotators"] in (4, None)  # type: ignore[index]


def test_the_text_of_an_item_is_not_advised_as_its_label(scored: Scored) -> None:
    content = table("Task ID,Text,Worker ID,Sentiment", ((i, f"text {i}", a, label) for i, a, label in DATA))
    code, _, err = scored(content)
    assert code == 3 and advised(err).strip() == "--label 'Sentiment'"


def test_questions_are_advised_before_what_is_beside_them(scored: Scored) -> None:
    rows = drawn(3, kept=1)
    given = {(i, a): label for i, a, label in rows}
    header = "id," + ",".join(f"{who}_{part}" for who in PEOPLE for part in ("conf", "label"))
    lines = [[i, *(x for a in PEOPLE for x in (i % 3, given[f"{i}", a]))] for i in range(1, 25)]
    code, _, err = scored(table(header, lines), "--format wide")
    assert code == 3
    _, found, _ = scored(table(header, lines), "--format wide " + advised(err))
    assert value(found) == pytest.approx(spa(rows))


def test_shares_are_no_counts(scored: Scored) -> None:
    rows = [[i, 0.5, 0.25, 0.25] if i % 2 else [i, 0.333, 0.667, 0] for i in range(1, 12)]
    code, _, err = scored(table("id,pos,neg,neu", rows))
    assert code == 3 and "every row adds up to 1, like shares" in err and "--format wide" not in err


def test_answers_inside_objects(scored: Scored) -> None:
    tasks = [{"id": i, "responses": [{"worker_id": a, "data": {"mood": "good"}} for a in PEOPLE]} for i in range(9)]
    code, _, err = scored(json.dumps(tasks), name="tasks.json")
    way = "--format lists --item 'id' --label 'responses.data.mood' --annotator 'responses.worker_id'"
    assert (
        code == 3 and f"if column 'responses' holds all labels of an item: {way}" in err and "--format wide" not in err
    )


def test_a_number_of_the_row_is_not_the_item(scored: Scored) -> None:
    content = table("id,text,annotator,label", ((n, f"text {i}", a, label) for n, (i, a, label) in enumerate(DATA)))
    code, found, _ = scored(content)
    assert code == 3 and "if column 'text' is the item, use --item 'text'" in codes(found)["item_unique"]
    _, found, _ = scored(content, "--item text")
    assert value(found) == pytest.approx(spa(DATA))


def test_one_task_for_all_is_not_the_item(scored: Scored) -> None:
    rows = (
        (n, i, a, "T0", *("1" if label == name else "" for name in CLASSES)) for n, (i, a, label) in enumerate(DATA)
    )
    content = table("id,subject_id,user_name,task,data.pos,data.neg,data.neu", rows)
    code, _, err = scored(content)
    assert code == 3 and "column 'task' has only 1 value," in err
    _, found, _ = scored(content, advised(err))
    assert value(found) == pytest.approx(spa(DATA))


@pytest.mark.parametrize("corners", ["x,y,w,h", "xmin,ymin,xmax,ymax", "left,top,width,height"])
def test_boxes_are_no_classes(corners: str, scored: Scored) -> None:
    rows = [[i, a, label, n, n, 3, 4] for n, (i, a, label) in enumerate([*DATA, *DATA])]
    code, _, err = scored(table(f"image_id,annotator,label,{corners}", rows))
    assert code == 3 and "mark boxes, not classes" in err


def test_classes_of_boxes_that_were_given_are_compared(scored: Scored) -> None:
    _, found, _ = scored(table("item,annotator,label,x,y,w,h", ([i, a, label, i, i, 3, 4] for i, a, label in DATA)))
    assert value(found) == pytest.approx(spa(DATA))


# Names -------------------------------------------------------------------------------------------


def test_labels_that_only_one_annotator_uses(scored: Scored) -> None:
    other = {"pos": "Positive", "neg": "Negative", "neu": "Neutral"}
    rows = [(i, a, other[label] if a == "ben" else label) for i, a, label in DATA]
    _, found, _ = scored(table("item,annotator,label", rows))
    assert "'ben' ('Negative', 'Neutral', 'Positive')" in codes(found)["own_labels"]
    assert "anna" not in codes(found)["own_labels"]
    _, found, _ = scored(LONG)
    assert "own_labels" not in codes(found)


def test_ids_spelled_in_two_ways_on_every_item(scored: Scored) -> None:
    rows = drawn(4, people=("anna", "ben"), kept=1)
    content = table("item,annotator,label", ((i if a == "anna" else i.zfill(3), a, label) for i, a, label in rows))
    code, found, _ = scored(content)
    assert code == 3 and "--normalize" in codes(found)["item_variants"]
    _, found, _ = scored(content, "--normalize")
    assert value(found) == pytest.approx(spa(rows))


def test_merged_cells_are_named(scored: Scored) -> None:
    seen: set[str] = set()
    rows = [("" if i in seen or seen.add(i) else i, a, label) for i, a, label in DATA]  # type: ignore[func-returns-value]
    code, found, _ = scored(table("item,annotator,label", rows))
    assert code == 3 and "fill them down" in codes(found)["many_left_out"]
