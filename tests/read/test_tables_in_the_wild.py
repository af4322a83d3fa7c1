"""Tables as people have them: each is read right, refused with advice that works, or read with a warning.

A case is a small file, the options, and what must come of it: the agreement (flat over all pairs, counted here by hand
from the annotations the file was made of), words of the refusal, or codes of warnings.
"""

from __future__ import annotations

import gzip
import json
import pickle
import re
import shlex
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest

import spagree
from command import Run

Triple = tuple[str, str, str]
ALIKE: Callable[[str, str], float] = lambda one, other: float(one == other)  # noqa: E731


def agreement_of(rows: Iterable[Triple], similar: Callable[[str, str], float] = ALIKE) -> float:
    """Flat SPA by hand: the mean over items of the mean over pairs of annotations."""
    items: dict[str, list[str]] = {}
    for item, _, label in rows:
        items.setdefault(item, []).append(label)
    means = [
        sum(similar(one, other) for one, other in pairs) / len(pairs)
        for labels in items.values()
        if (pairs := list(combinations(labels, 2)))
    ]
    return sum(means) / len(means)


def made(labels: str, annotators: Sequence[str], classes: Mapping[str, str] | None = None) -> list[Triple]:
    """Triples from words, one per item: "ab a" is item 1 with two labels and item 2 with one."""
    names = classes or {}
    return [
        (f"i{number}", annotators[place], names.get(letter, letter))
        for number, word in enumerate(labels.split(), 1)
        for place, letter in enumerate(word)
        if letter != "."
    ]


def csv(header: str, rows: Iterable[Iterable[object]], delimiter: str = ",") -> str:
    return "\n".join([header, *(delimiter.join(map(str, row)) for row in rows)]) + "\n"


PEOPLE = ("ann", "bob", "cyd")
DATA = made("aab abb ccc aac bbb abc cca bbb aaa cbb", PEOPLE, {"a": "cat", "b": "dog", "c": "owl"})
SPA = agreement_of(DATA)
SCALE = made("123 122 555 445 111 321 555 443 122 335", PEOPLE)


def by_item(rows: Sequence[Triple]) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for item, annotator, label in rows:
        found.setdefault(item, {})[annotator] = label
    return found


def wide(rows: Sequence[Triple], names: Sequence[str] = PEOPLE) -> list[list[str]]:
    return [[item, *(labels.get(person, "") for person in PEOPLE)] for item, labels in by_item(rows).items()]


def turned(rows: Sequence[Triple]) -> list[list[str]]:
    return [[person, *(labels.get(person, "") for labels in by_item(rows).values())] for person in PEOPLE]


@dataclass(frozen=True)
class Case:
    """A file, the options on the command line, and what must come of it."""

    name: str
    content: str | bytes
    options: str = ""
    value: float | None = None
    refused: str = ""
    codes: tuple[str, ...] = ()
    suffix: str = ".csv"


ITEMS = ",".join(f"Image {n}" for n in range(1, 11))
QUALTRICS = [
    "StartDate",
    "EndDate",
    "Status",
    "IPAddress",
    "Progress",
    "Duration (in seconds)",
    "Finished",
    "ResponseId",
]
QUALTRICS_ROWS = [
    ["Start Date", "End Date", "Response Type", "IP Address", "Progress", "Duration", "Finished", "Response ID"]
    + [f"How good is answer {n}?" for n in range(1, 11)],
    [f'"{{""ImportId"":""{name}""}}"' for name in [*QUALTRICS, *(f"QID{n}" for n in range(1, 11))]],
    *(
        [f"2024-01-0{n} 10:00:00", f"2024-01-0{n} 10:09:00", 0, f"10.0.0.{n}", 100, 500 + n, 1, f"R_{n}", *row[1:]]
        for n, row in enumerate(turned(SCALE), 1)
    ),
]
ONE_HOT = [[item, who, *(int(label == name) for name in ("cat", "dog", "owl"))] for item, who, label in DATA]
COUNTS = [
    [item, *(list(labels.values()).count(name) for name in ("cat", "dog", "owl"))]
    for item, labels in by_item(DATA).items()
]
TWO_PARTS = [[item[:-1] or "i", item, who, label] for item, who, label in DATA]
SENTENCES = [[f"doc{int(item[1:]) % 4}", int(item[1:]) // 4, who, label] for item, who, label in DATA]
QUESTIONS = [row for item, who, label in DATA for row in ([item, who, "animal", label], [item, who, "tone", "good"])]
SPANS = [[item, who, start, start + 4, label] for item, who, label in DATA for start in (0, 10)]

CASES = (
    Case(
        "document and sentence",
        csv("document,sentence,annotator,label", SENTENCES),
        "--item document --item sentence",
        SPA,
    ),
    Case(
        "a document is not the item",
        csv("document,sentence,annotator,label", SENTENCES),
        refused="--item 'document' --item 'sentence'",
    ),
    Case(
        "first and last name",
        csv("item,first,last,label", [[i, w[0], w[1:], x] for i, w, x in DATA]),
        "--annotator first --annotator last",
        SPA,
    ),
    Case("wide", csv("id,ann,bob,cyd", wide(DATA)), "--format wide", SPA),
    Case("wide by names nobody can know", csv("id,ann,bob,cyd", wide(DATA)), refused="--format wide --item 'id'"),
    Case(
        "wide with text, notes and a final label",
        csv(
            "id,text,rater 1,rater 2,rater 3,notes,final",
            [[row[0], f"A text {row[0]}", *row[1:], "check" if row[0] == "i3" else "", row[1]] for row in wide(DATA)],
        ),
        "--format wide",
        SPA,
        codes=("columns_aside",),
    ),
    Case(
        "wide with an index and dates",
        csv(
            "Unnamed: 0,id,ann,bob,cyd,annotated on",
            [[n, *row, f"2024-05-{n + 10}"] for n, row in enumerate(wide(DATA))],
        ),
        "--format wide",
        SPA,
        codes=("columns_aside",),
    ),
    Case(
        "wide with two questions on two scales",
        csv("id,ann_x,bob_x,ann_y,bob_y", [[row[0], *row[1:3], "hi", "lo"] for row in wide(DATA)]),
        "--format wide",
        refused="if 'ann', 'bob' are annotators, for 'x': --label 'ann_x' --label 'bob_x'",
    ),
    Case(
        "wide with confidences on another scale",
        csv("id,ann,bob,sure1,sure2", [[row[0], *row[1:3], "hi", "hi"] for row in wide(DATA)]),
        "--format wide",
        refused="these groups of columns share no value",
    ),
    Case(
        "annotators in rows",
        csv("annotator," + ITEMS, turned(SCALE)),
        "--format transposed",
        agreement_of(SCALE),
        codes=("number_labels",),
    ),
    Case(
        "people in rows who may be annotators or items",
        csv("participant,ann,bob,cyd", wide(DATA)),
        refused="--format wide --item 'participant'",
    ),
    Case(
        "annotators in rows read as wide",
        csv("person," + ITEMS, turned(DATA)),
        "--format wide --item person",
        codes=("looks_transposed",),
    ),
    Case(
        "Google Forms",
        csv(
            "Timestamp,Email Address," + ITEMS + ",How old are you?",
            [
                [f"2024/05/0{n} 10:02:11 AM GMT+2", f"{row[0]}@x.org", *row[1:], 30 + n]
                for n, row in enumerate(turned(DATA), 1)
            ],
        ),
        "--format transposed",
        SPA,
        codes=("columns_aside",),
    ),
    Case(
        "Qualtrics",
        csv(",".join([*QUALTRICS, *(f"Q{n}" for n in range(1, 11))]), QUALTRICS_ROWS),
        "--format transposed",
        agreement_of(SCALE),
        codes=("second_header", "columns_aside"),
    ),
    Case("one-hot", csv("id,rater_id,cat,dog,owl", ONE_HOT), "--format one-hot", SPA),
    Case(
        "one-hot with text, as true and false",
        csv(
            "id,rater_id,text,cat,dog,owl",
            [[*row[:2], f"text {row[0]}", *(str(bool(x)) for x in row[2:])] for row in ONE_HOT],
        ),
        "--format one-hot",
        SPA,
        codes=("columns_aside",),
    ),
    Case(
        "one-hot or several questions",
        csv("id,rater_id,cat,dog,owl", [*ONE_HOT, ["i1", "dan", 1, 1, 0]]),
        refused="choose one: --label 'cat'",
    ),
    Case(
        "one-hot with a 2",
        csv("id,rater_id,cat,dog,owl", [*ONE_HOT, ["i99", "ann", 2, 0, 0]]),
        "--format one-hot --label cat --label dog",
        refused="column 'cat': '2'",
    ),
    Case("counts", csv("id,cat,dog,owl", COUNTS), "--format counts", SPA),
    Case(
        "counts or ratings", csv("id,cat,dog,owl", [*COUNTS, ["i99", 2, 0, 0]]), refused="--format counts --item 'id'"
    ),
    Case("counts read as wide", csv("id,cat,dog,owl", COUNTS), "--format wide", codes=("looks_like_counts",)),
    Case("ratings read as counts", csv("id,ann,bob,cyd", wide(SCALE)), "--format counts", codes=("looks_like_labels",)),
    Case(
        "several questions",
        csv("item,annotator,question,label", QUESTIONS),
        refused="--question 'animal', or score each with --all-questions",
    ),
    Case("one question of several", csv("item,annotator,question,label", QUESTIONS), "--question animal", SPA),
    Case("one question by column", csv("item,annotator,aspect,label", QUESTIONS), "--question aspect=animal", SPA),
    Case(
        "a question that is not there",
        csv("item,annotator,question,label", QUESTIONS),
        "--question colour",
        refused="no such question",
    ),
    Case("a task of one name", csv("task,doc,coder,label", [["animals", *row] for row in DATA]), "--item doc", SPA),
    Case(
        "a task of one name as the item",
        csv("task,number,coder,label", [["animals", *row] for row in DATA]),
        refused="use --item 'number'",
    ),
    Case(
        "long tables of papers",
        csv(
            "!amt_annotation_ids,!amt_worker_ids,task,orig_id,response,gold",
            [[n, w, "rte", i, x, "cat"] for n, (i, w, x) in enumerate(DATA)],
        ),
        "",
        SPA,
    ),
    Case("rater name", csv("Subject_IDs,Rater Name,Labels", DATA), "", SPA),
    Case("spans", csv("doc,annotator,start,end,label", SPANS), "--format long", refused="mark spans"),
    Case(
        "starts and ends of given segments",
        csv("doc,annotator,start,end,label", [[i, w, 0, 5, x] for i, w, x in DATA]),
        "",
        SPA,
    ),
    Case(
        "half without label",
        csv("item,annotator,label", [*DATA, *([i, w + "2", ""] for i, w, _ in DATA)]),
        "",
        SPA,
        codes=("many_left_out",),
    ),
    Case(
        "one annotator",
        csv("item,annotator,label", [row for row in DATA if row[1] == "ann"]),
        refused="only one annotator",
    ),
    Case(
        "free text", csv("item,annotator,label", [[i, w, f"{x} {i} {w}"] for i, w, x in DATA]), codes=("many_classes",)
    ),
    Case(
        "measurements",
        csv("item,annotator,label", [[i, w, n / 7] for n, (i, w, _) in enumerate(DATA)]),
        codes=("many_classes",),
    ),
    Case("a scale", csv("item,annotator,label", SCALE), "", agreement_of(SCALE), codes=("number_labels",)),
    Case(
        "a scale measured as one",
        csv("item,annotator,label", SCALE),
        "--metric linear",
        agreement_of(SCALE, lambda a, b: 1 - abs(int(a) - int(b)) / 4),
    ),
    Case(
        "decimal commas",
        csv("item;annotator;label", [[i, w, f"{x},5"] for i, w, x in SCALE], ";"),
        "--metric linear",
        agreement_of(SCALE, lambda a, b: 1 - abs(int(a) - int(b)) / 4),
        codes=("decimal_commas",),
    ),
    Case(
        "spelling of annotators",
        csv("item,annotator,label", [[i, w.upper() if n % 7 == 0 else w, x] for n, (i, w, x) in enumerate(DATA)]),
        "",
        SPA,
        codes=("annotator_variants",),
    ),
    Case(
        "spelling of items",
        csv(
            "item,annotator,label",
            [["0" + i[1:] if w == "ann" else i[1:], w, x] for i, w, x in DATA if (i, w) != ("i1", "cyd")],
        ),
        codes=("item_variants",),
    ),
    Case(
        "spelling mended",
        csv(
            "item,annotator,label",
            [
                ["00" + i[1:] if w == "ann" else i[1:] + ".0", f" {w.title()}", x.upper() if w == "bob" else x]
                for i, w, x in DATA
            ],
        ),
        "--normalize",
        SPA,
    ),
    Case(
        "times with the day first",
        csv("item,annotator,label,date", [[*row, f"{n % 28 + 1}.03.2024 10:15"] for n, row in enumerate(DATA)]),
        "--first 3",
        SPA,
        codes=("time_format",),
    ),
    Case(
        "times that may be either",
        csv("item,annotator,label,date", [[*row, f"{n % 9 + 1}/3/2024"] for n, row in enumerate(DATA)]),
        "--first 2 --time date",
        refused="--time-format '%d/%m/%Y",
    ),
    Case(
        "times as said",
        csv("item,annotator,label,date", [[*row, f"{n % 9 + 1}/3/2024"] for n, row in enumerate(DATA)]),
        "--first 3 --time date --time-format %d/%m/%Y",
        SPA,
    ),
    Case(
        "times not as said",
        csv("item,annotator,label,date", [[*row, "2024-01-01"] for row in DATA]),
        "--time date --time-format %d/%m/%Y",
        refused="not in the format of --time-format",
    ),
    Case(
        "JSON over several lines",
        "\n".join(json.dumps(dict(zip(("item", "annotator", "label"), row, strict=True)), indent=2) for row in DATA),
        "",
        SPA,
        suffix=".json",
    ),
    Case(
        "JSON of columns",
        json.dumps(dict(zip(("item", "annotator", "label"), zip(*DATA, strict=True), strict=True))),
        "",
        SPA,
        suffix=".json",
    ),
    Case("a pickle", pickle.dumps([1, 2]), refused="a Python pickle", suffix=".pkl"),
    Case("Stata", b"<stata_dta><header>", refused="a Stata file", suffix=".dat"),
    Case("R", gzip.compress(b"RDX3\nX\n"), refused="a file of R", suffix=".rda"),
    Case("a web page called Excel", b"<html><table>", refused="a web page", suffix=".xls"),
    Case("XML", b"<rows><row><item>1</item></row></rows>", refused="an XML file", suffix=".xml"),
    Case("YAML", b"- item: 1\n  label: a\n", refused="a YAML file", suffix=".yaml"),
    Case("JSON of lists", json.dumps([list(row) for row in DATA]), refused="expected an object", suffix=".json"),
    Case("a pickle by any name", pickle.dumps({"a": 1}), refused="a Python pickle", suffix=".csv"),
)


def scored(path: Path, options: str, run: Run) -> tuple[int, dict[str, Any], str]:
    code, out, err = run("score", path, "--weights", "flat", "--json", *shlex.split(options))
    return code, json.loads(out) if out.startswith("{") else {}, err


def saved(case: Case, folder: Path) -> Path:
    path = folder / f"table{case.suffix}"
    if isinstance(case.content, bytes):
        path.write_bytes(case.content)
    else:
        path.write_text(case.content, encoding="utf-8")
    return path


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_right_or_refused_or_warned(case: Case, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, found, err = scored(saved(case, tmp_path), case.options, Run(capsys))
    if case.refused:
        assert code in (2, 3, 4) and case.refused in err, err
        return
    assert code == 0, err
    codes = {warning["code"] for warning in found["warnings"]}
    assert codes >= set(case.codes)
    if case.value is not None:
        assert found["spa"]["value"] == pytest.approx(case.value, abs=1e-12)
        if not case.codes:
            assert codes <= {"few_items", "delimiter", "time_ignored", "label_variants"}


ADVISED = [
    Case("items under any name", csv("patient,ann,bob,cyd", wide(DATA)), value=SPA),
    Case("numbers by names", csv("patient,ann,bob,cyd", wide(SCALE)), value=agreement_of(SCALE)),
    Case("raters under letters", csv("id,r1,r2,r3", wide(DATA)), value=SPA),
    Case("one-hot under any name", csv("thing,rater_id,cat,dog,owl", ONE_HOT), value=SPA),
    Case("counts that differ", csv("patient,cat,dog,owl", [*COUNTS, ["i99", 1, 0, 0]]), value=SPA),
    Case("sentences", csv("document,sentence,annotator,label", SENTENCES), value=SPA),
    Case("a task", csv("task,number,coder,label", [["animals", *row] for row in DATA]), value=SPA),
    Case("questions", csv("item,annotator,question,label", QUESTIONS), value=SPA),
    Case(
        "raters beside a consensus",
        csv("id,rater1,rater2,rater3,label", [[*row, row[1]] for row in wide(DATA)]),
        value=SPA,
    ),
]


@pytest.mark.parametrize("case", ADVISED, ids=lambda case: case.name)
def test_the_first_advice_of_a_refusal_leads_to_the_number(
    case: Case, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = saved(case, tmp_path)
    code, _, err = scored(path, "", Run(capsys))
    assert code == 3
    advice = re.search(r"--(?:format|item|question) .*?(?=,|$| \(columns)", err, re.MULTILINE)
    assert advice is not None, err
    code, found, err = scored(path, advice[0], Run(capsys))
    assert code == 0, err
    assert found["spa"]["value"] == pytest.approx(case.value, abs=1e-12)


# ── sets ──

SETS = made("aab abc bcc acb bba cca", PEOPLE, {"a": "red", "b": "blue;red", "c": "red;blue"})


def jaccard(one: str, other: str) -> float:
    first, second = ({part.strip() for part in re.split("[;,|]", label)} for label in (one, other))
    return len(first & second) / len(first | second)


@pytest.mark.parametrize("separator", [";", ", ", "|", "/"])
def test_sets_are_split_where_most_labels_do(separator: str) -> None:
    rows = [(item, who, label.replace(";", separator)) for item, who, label in SETS]
    found = spagree.measure(rows, metric="jaccard", weights="flat")
    assert found.spa.value == pytest.approx(agreement_of(SETS, jaccard))
    said = [warning.message for warning in found.warnings if warning.code == "separator"]
    assert bool(said) == (separator != "|")
    named = spagree.measure(rows, metric="jaccard", weights="flat", separator=separator.strip())
    assert named.spa.value == found.spa.value and "separator" not in {w.code for w in named.warnings}


def test_sets_in_another_order_are_the_same_set_once_the_separator_is_named() -> None:
    whole = spagree.measure(SETS, weights="flat")
    assert whole.spa.value == pytest.approx(agreement_of(SETS))
    (message,) = [w.message for w in whole.warnings if w.code == "label_sets"]
    assert 'metric="jaccard", separator=";"' in message and "1 of them" in message
    same = spagree.measure(SETS, weights="flat", separator=";")
    assert same.spa.value == pytest.approx(agreement_of(SETS, lambda a, b: float(jaccard(a, b) == 1)))
    assert set(same.data.labels) == {"red", "blue|red"}


@pytest.mark.parametrize("metric", ["jaccard", "masi", "options"])
def test_a_set_metric_without_any_set_is_refused(metric: str) -> None:
    with pytest.raises(spagree.DataError, match="no label holds two options"):
        spagree.measure(DATA, metric=metric)
    with pytest.raises(spagree.DataError, match="no label holds two options; leave it out"):
        spagree.measure(DATA, metric=metric, separator=";")
    with pytest.raises(spagree.UsageError, match="separator= is empty"):
        spagree.measure(SETS, metric=metric, separator="")


@pytest.mark.parametrize(
    "labels", [["yes, always", "no, never", "no"], ["1,5", "2,5", "3,5"], ["12/5", "13/5", "2/5"], ["a", "b"], ["a;b"]]
)
def test_what_is_no_set_is_not_split(labels: list[str]) -> None:
    rows = [(f"i{n}", who, labels[(n + len(who) * 3 + ord(who[0])) % len(labels)]) for n in range(8) for who in PEOPLE]
    codes = {warning.code for warning in spagree.measure(rows).warnings}
    assert "label_sets" not in codes


# ── cells that look missing ──


@pytest.mark.parametrize(
    ("labels", "missing"),
    [
        ("yes no N/A", ["N/A"]),
        ("yes no NaN", ["NaN"]),
        ("yes no null", ["null"]),
        ("yes no -", ["-"]),
        ("yes no skip", ["skip"]),
        ("yes no NA", ["NA"]),
        ("yes no None", ["None"]),
        ("1 2 3 99", ["99"]),
        ("1 2 3 4 5 -1", ["-1"]),
        ("1 2 3 4 5 NA", ["NA"]),
        ("DE FR NA", []),
        ("Joy Anger None", []),
        ("-1 0 1", []),
        ("97 98 99 100", []),
        ("1 2 3 4", []),
        ("yes N/A", []),
        ("0 1 2 -1", ["-1"]),
        ("-2 -1 0 1 2", []),
        ("yes no 0", ["0"]),
        ("1 2 3 998", ["998"]),
        ("1 2 3 .a", [".a"]),
        ("ja nein k.A.", ["k.A."]),
        ("pos neg unlabelled", ["unlabelled"]),
        ("pos neg #REF!", ["#REF!"]),
    ],
)
def test_labels_that_look_missing_are_named_with_the_number_without_them(labels: str, missing: list[str]) -> None:
    known = labels.split()
    rare = known[-1]
    rows = [
        (f"i{n}", who, rare if (n + place) % 6 == 0 else known[(n + place * n) % (len(known) - 1)])
        for n in range(12)
        for place, who in enumerate(PEOPLE)
    ]
    found = spagree.measure(rows)
    said = [warning.message for warning in found.warnings if warning.code == "looks_missing"]
    assert len(said) == bool(missing)
    for message in said:
        without = spagree.measure(rows, missing=missing).spa.value
        assert f'missing="{missing[0]}" gives an agreement of {without:.4f}' in message


@pytest.mark.parametrize("empty", ["NA", "nan", "None", "-", "-1"])
def test_most_cells_of_a_sparse_table_may_look_missing(empty: str, tmp_path: Path) -> None:
    people = [f"annotator {n}" for n in range(8)]
    rows = [
        [f"i{i}", *(str((i + a) % 3 // 2 + 1) if (i * 3 + a) % 4 == 0 else "" for a in range(8))] for i in range(30)
    ]
    path = tmp_path / "a.csv"
    path.write_text(csv(",".join(["id", *people]), rows))
    value = spagree.measure(path).spa.value
    path.write_text(csv(",".join(["id", *people]), [[cell or empty for cell in row] for row in rows]))
    (message,) = [each.message for each in spagree.measure(path).warnings if each.code == "looks_missing"]
    assert f'missing="{empty}" gives an agreement of {value:.4f}' in message


def test_a_file_and_a_frame_of_pandas_do_not_differ_in_silence(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    rows = [[i, w, "NA" if n % 5 == 0 else x] for n, (i, w, x) in enumerate(DATA)]
    path.write_text(csv("item,annotator,label", rows))
    file, frame = spagree.measure(path), spagree.measure(pd.read_csv(path))
    (message,) = [warning.message for warning in file.warnings if warning.code == "looks_missing"]
    assert f"{frame.spa.value:.4f}" in message
    assert frame.data.left_out == {"missing_label": 6}


def test_the_number_without_missing_labels_where_patterns_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [*DATA, ("i1", "dan", "N/A"), ("i2", "dan", "N/A")]
    monkeypatch.setattr(sys.modules["spagree.counts.count"], "find_patterns", lambda *_: (None, None))
    (message,) = [w.message for w in spagree.measure(rows).warnings if w.code == "looks_missing"]
    assert f"{spagree.measure(DATA).spa.value:.4f}" in message


# ── repeats, sheets, items ──

AGAIN = [
    ("i1", "ann", "x"),
    ("i1", "ann", "y"),
    ("i1", "bob", "x"),
    ("i2", "ann", "y"),
    ("i2", "bob", "y"),
    ("i2", "bob", "y"),
]


def file_of(rows: Sequence[Triple]) -> str:
    Path("a.csv").write_text(csv("item,annotator,label", rows))
    return "a.csv"


@pytest.mark.parametrize("make", [lambda rows: rows, file_of], ids=["polars", "duckdb"])
def test_labels_given_again_are_joined_or_kept(make: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    source = make(AGAIN)
    joined = spagree.measure(source, duplicates="set", weights="flat")
    assert joined.data.labels == {"y": 2, "x": 1, "x|y": 1} and joined.spa.value == 0.5
    assert spagree.measure(source, duplicates="set", metric="jaccard", weights="flat").spa.value == 0.75
    kept = spagree.measure(source, duplicates="keep", weights="flat")
    assert kept.data.annotations == 6 and kept.spa.value == pytest.approx((1 / 3 + 1) / 2)
    assert "each counts as a separate annotation" in next(w.message for w in kept.warnings if w.code == "repeats")
    assert kept.annotators()["annotations"].sum() == 4


def test_pandas_cannot_join_labels() -> None:
    frame = pd.DataFrame(AGAIN, columns=["item", "annotator", "label"])
    with pytest.raises(spagree.UsageError, match='duplicates="set": pandas cannot join labels'):
        spagree.measure(frame, duplicates="set")


def test_repeats_are_not_settled_where_a_column_tells_them_apart() -> None:
    rows = [(f"d{n}", s, who, "x" if (n + s) % 2 else "y") for n in range(30) for s in (1, 2) for who in ("ann", "bob")]
    frame = pl.DataFrame(rows, schema=["doc", "sentence_no", "annotator", "label"], orient="row")
    with pytest.raises(spagree.DuplicateError, match=r'use item=\["doc", "sentence_no"\]') as caught:
        spagree.measure(frame)
    assert "first" not in str(caught.value)
    assert spagree.measure(frame, item=["doc", "sentence_no"]).spa.value == 1


def test_sheets_are_named_and_chosen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    xlsxwriter = pytest.importorskip("xlsxwriter")
    path = tmp_path / "book.xlsx"
    with xlsxwriter.Workbook(str(path)) as book:
        about = book.add_worksheet("Read me")
        about.write_column(0, 0, ["Nothing", "here"])
        book.add_worksheet("Empty")
        sheet = book.add_worksheet("Ratings")
        for number, row in enumerate([("item", "annotator", "label"), *DATA]):
            sheet.write_row(number, 0, row)
    run = Run(capsys)
    code, _, err = scored(path, "", run)
    assert code == 3 and "sheet 'Read me' has a single column and is no table; use --sheet 'Ratings'" in err
    code, found, _ = scored(path, "--sheet Ratings", run)
    assert code == 0 and found["spa"]["value"] == pytest.approx(SPA)
    code, _, err = scored(path, "--sheet Data", run)
    assert code == 2 and "it has 'Read me', 'Empty', 'Ratings'" in err
    code, _, err = scored(path, "--sheet Empty", run)
    assert code == 3 and "has no rows; choose another with --sheet" in err


def test_items_are_written_as_the_name_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, run = tmp_path / "a.csv", Run(capsys)
    source.write_text(csv("item,annotator,label", DATA))
    for name, read in (("x.csv", pl.read_csv), ("x.parquet", pl.read_parquet)):
        assert run("items", source, "-o", tmp_path / name)[0] == 0
        found = read(tmp_path / name)
        assert found.columns == ["item", "annotations", "agreement"] and found["agreement"].mean() == pytest.approx(SPA)
    code, _, err = run("items", source, "-o", tmp_path / "x.txt")
    assert code == 2 and ".csv or .parquet" in err


def test_every_question_of_a_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "q.csv"
    path.write_text(csv("item,annotator,question,label", QUESTIONS))
    code, found, _ = scored(path, "--all-questions", Run(capsys))
    values = {name: document["spa"]["value"] for name, document in found["questions"].items()}
    assert code == 0 and values == pytest.approx({"animal": SPA, "tone": 1.0})


def test_several_columns_never_make_two_items_one() -> None:
    frame = pl.DataFrame({"a": ["x", "x | y"], "b": ["y | z", "z"], "annotator": ["p", "q"], "label": ["1", "1"]})
    assert spagree.measure(frame, item=["a", "b"]).data.items == 2
    gap = pl.DataFrame({"a": ["x", None], "b": ["y", "z"], "annotator": ["p", "q"], "label": ["1", "1"]})
    assert spagree.measure(gap, item=["a", "b"]).data.left_out == {"missing_item": 1}
