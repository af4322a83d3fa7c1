"""What the first rows show is checked on the whole table, and what is no annotator or no class is named."""

from __future__ import annotations

import csv
import zipfile
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any

import polars
import pytest

import spagree
from spagree.errors import ColumnError, DataError, DuplicateError, FileError, Message
from spagree.read.table import Table

LABELS = ("yes", "no", "maybe")
TRUTH = Random(0).choices(LABELS, k=3_000)


@pytest.fixture
def vote() -> Callable[[int], str]:
    random = Random(1)
    return lambda item: TRUTH[item] if random.random() < 0.8 else random.choice(LABELS)


def written(path: Path, header: Sequence[str], rows: Sequence[Sequence[Any]], encoding: str = "utf-8") -> Path:
    with path.open("w", encoding=encoding, newline="") as stream:
        csv.writer(stream).writerows([header, *rows])
    return path


def codes(agreement: spagree.Agreement) -> list[str]:
    return [warning.code for warning in agreement.warnings]


def of_wide(rows: Sequence[Sequence[Any]]) -> float | None:
    """The agreement of rows of an item and its labels."""
    return spagree.measure([(row[0], n, label) for row in rows for n, label in enumerate(row[1:]) if label]).spa.value


@pytest.mark.parametrize(
    ("header", "options"),
    [
        (["id", "anna", "ben", "cleo"], {"format": "wide", "item": "id"}),
        (["id", "annotator_1", "annotator_2", "annotator_3"], {}),
    ],
)
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_an_annotator_who_began_late_is_counted(
    header: list[str], options: dict[str, Any], kind: str, vote: Callable[[int], str], tmp_path: Path
) -> None:
    rows = [[f"i{i}", vote(i), vote(i), vote(i) if i >= 1_300 else ""] for i in range(1_500)]
    path = written(tmp_path / "votes.csv", header, rows)
    if kind == "parquet":
        polars.read_csv(path, infer_schema=False).write_parquet(path := tmp_path / "votes.parquet")
    found = spagree.measure(path, **options)
    assert found.data.annotators == 3 and found.spa.value == of_wide(rows)


def test_an_annotator_who_began_late_is_counted_on_an_engine_without_an_order(
    vote: Callable[[int], str], tmp_path: Path
) -> None:
    duckdb = pytest.importorskip("duckdb")
    rows = [[f"i{i}", vote(i), vote(i), vote(i) if i >= 1_300 else ""] for i in range(1_500)]
    path = written(tmp_path / "votes.csv", ["id", "anna", "ben", "cleo"], rows)
    relation = duckdb.read_csv(str(path), all_varchar=True)
    found = spagree.measure(relation, format="wide", item="id")
    assert found.data.annotators == 3 and found.spa.value == of_wide(rows)


@pytest.mark.parametrize("items", [60, 1_200])
def test_a_reference_is_no_label_even_where_the_table_is_sorted_by_annotator(
    items: int, vote: Callable[[int], str], tmp_path: Path
) -> None:
    rows = [[f"i{i}", who, TRUTH[i], vote(i)] for who in "ABC" for i in range(items)]
    path = written(tmp_path / "votes.csv", ["item", "annotator", "label", "given"], rows)
    with pytest.raises(ColumnError, match=r'looks like a reference .* use label="given", otherwise label="label"'):
        spagree.measure(path)
    assert (
        spagree.measure(path, label="given").spa.value == spagree.measure([(r[0], r[1], r[3]) for r in rows]).spa.value
    )


def test_known_answers_that_begin_late_are_named(vote: Callable[[int], str], tmp_path: Path) -> None:
    rows = [[f"i{i}", who, vote(i), TRUTH[i] if i > 1_100 else ""] for i in range(1_200) for who in "AB"]
    path = written(tmp_path / "votes.csv", ["item", "annotator", "label", "gold"], rows)
    assert "control_questions" in codes(spagree.measure(path))


def majority(labels: Sequence[str]) -> str:
    """The label of most; nothing if they tie."""
    (first, size), *others = Counter(filter(None, labels)).most_common() or [("", 0)]
    return "" if others and others[0][1] == size else first


@pytest.mark.parametrize("name", ["결론", "zoe"])
@pytest.mark.parametrize("seen", [1.0, 0.7])
def test_a_majority_is_seen_without_its_name_also_with_gaps(
    name: str, seen: float, vote: Callable[[int], str], tmp_path: Path
) -> None:
    random, rows = Random(2), []
    for i in range(400):
        labels = [vote(i) if random.random() < seen else "" for _ in range(4)]
        rows.append([f"i{i}", *labels, majority(labels) if random.random() < seen else ""])
    path = written(tmp_path / "votes.csv", ["id", "anna", "ben", "cleo", "dora", name], rows)
    found = spagree.measure(path, format="wide", item="id")
    (said,) = [warning.message for warning in found.warnings if warning.code == "looks_like_consensus"]
    assert f'exclude_annotator="{name}"' in said
    kept = spagree.measure(path, format="wide", item="id", exclude_annotator=name)
    assert kept.spa.value == of_wide([row[:-1] for row in rows])


def test_a_careful_annotator_is_no_majority(tmp_path: Path) -> None:
    random = Random(3)
    sure = [(0.7, "anna"), (0.7, "ben"), (0.7, "cleo"), (0.95, "dora")]
    rows = [
        [f"i{i}", *(TRUTH[i] if random.random() < p else random.choice(LABELS) for p, _ in sure)] for i in range(400)
    ]
    path = written(tmp_path / "votes.csv", ["id", *(name for _, name in sure)], rows)
    assert "looks_like_consensus" not in codes(spagree.measure(path, format="wide", item="id"))


def test_flags_beside_classes_are_no_classes(tmp_path: Path) -> None:
    random, rows, given = Random(4), [], []
    for i in range(100):
        for who in "AB":
            k = random.randrange(3)
            given.append((f"i{i}", who, f"category_{k}"))
            rows.append([f"i{i}", who, *(int(j == k) for j in range(3)), 1, int(random.random() < 0.9)])
    header = ["item", "annotator", *(f"category_{k}" for k in range(3)), "successful", "is_done"]
    path = written(tmp_path / "votes.csv", header, rows)
    for options in ({}, {"format": "one-hot"}):
        found = spagree.measure(path, **options)
        assert found.spa.value == spagree.measure(given).spa.value and "columns_aside" in codes(found)


def test_a_file_without_a_header_gets_a_command_that_counts_its_first_line(
    vote: Callable[[int], str], tmp_path: Path
) -> None:
    rows = [[f"s{i}", vote(i), vote(i), vote(i)] for i in range(60)]
    path = written(tmp_path / "votes.csv", rows[0], rows[1:])
    with pytest.raises(ColumnError) as refused:
        spagree.measure(path)
    assert 'format="wide", item="1", header=False' in str(refused.value) and 'item="s0"' not in str(refused.value)
    assert spagree.measure(path, format="wide", item="1", header=False).spa.value == of_wide(rows)


def test_a_first_line_like_those_below_is_named_whatever_the_user_calls_its_columns(tmp_path: Path) -> None:
    rows = [[f"s{i // 2}", "ab"[i % 2], "xy"[i % 3 % 2]] for i in range(40)]
    path = written(tmp_path / "votes.csv", rows[0], rows[1:])
    assert "header_is_data" in codes(spagree.measure(path, item="s0", annotator="a", label="x"))


def test_people_named_in_several_columns_are_not_suggested_as_one(vote: Callable[[int], str], tmp_path: Path) -> None:
    rows = [[f"sentence {i // 2}", f"w{i % 3}", f"w{(i + 1) % 3}", vote(i), vote(i)] for i in range(60)]
    path = written(tmp_path / "votes.csv", ["sentence", "r1 id", "r2 id", "r1", "r2"], rows)
    with pytest.raises(ColumnError) as refused:
        spagree.measure(path)
    assert "annotator=" not in str(refused.value) and 'item=":row"' in str(refused.value)


def test_a_file_per_annotator_is_refused_with_the_format(vote: Callable[[int], str], tmp_path: Path) -> None:
    for who in ("ann", "bob"):
        written(tmp_path / f"{who}.csv", ["item", "label"], [[f"i{i}", vote(i)] for i in range(40)])
    both = [tmp_path / "ann.csv", tmp_path / "bob.csv"]
    with pytest.raises(DataError, match=r'2 files label the same items, .* format="per-annotator"'):
        spagree.measure(both)
    assert spagree.measure(both, format="per-annotator").data.annotators == 2
    assert spagree.measure(both, format="long").data.annotators is None


def test_parts_of_one_table_are_read_together(vote: Callable[[int], str], tmp_path: Path) -> None:
    rows = [[f"i{i}", vote(i)] for i in range(40) for _ in "ab"]
    for part in (0, 1):
        written(tmp_path / f"{part}.csv", ["item", "label"], rows[40 * part :][:40])
    assert spagree.measure([tmp_path / "0.csv", tmp_path / "1.csv"]).data.items == 40


# Rows as items, patterns of columns, several variables -------------------------------------------


def test_every_row_can_be_an_item(vote: Callable[[int], str], tmp_path: Path) -> None:
    rows = [[f"text {i // 2}", vote(i), vote(i)] for i in range(60)]
    path = written(tmp_path / "votes.csv", ["text", "rater_a", "rater_b"], rows)
    assert spagree.measure(path, item=":row", format="wide", label="rater_*").spa.value == of_wide(
        [[i, *row[1:]] for i, row in enumerate(rows)]
    )
    assert spagree.measure(path, item=":row").data.items == 60
    with pytest.raises(spagree.UsageError, match="every row is an annotator here"):
        spagree.measure(path, item=":row", format="transposed")
    long = written(tmp_path / "long.csv", ["item", "label"], [[1, "a"], [1, "b"]])
    with pytest.raises(spagree.UsageError, match="a long table has a row for each annotation"):
        spagree.measure(long, item=":row")


def test_items_in_several_rows_are_refused_in_one_sentence(vote: Callable[[int], str], tmp_path: Path) -> None:
    text = "the same long text " * 20
    rows = [[text if i < 40 else f"{text}{i}", vote(i), vote(i)] for i in range(60)]
    path = written(tmp_path / "votes.csv", ["text", "rater_a", "rater_b"], rows)
    with pytest.raises(
        DuplicateError, match=r'1 item stands in several rows .* if every row is an item: item=":row"'
    ) as e:
        spagree.measure(path, format="wide", item="text")
    assert len(str(e.value)) < 400 and len(str(e.value).splitlines()) == 1
    assert spagree.measure(path, format="wide", item="text", duplicates="first").data.items == 21
    counts = written(
        tmp_path / "counts.csv", ["text", "yes", "no"], [["a", 2, 0], ["a", 1, 1], ["b", 2, 0], ["c", 0, 2]]
    )
    (said,) = [w.message for w in spagree.measure(counts, format="counts").warnings if w.code == "counts_added"]
    assert 'item=":row"' in said
    assert spagree.measure(counts, format="counts", item=":row").data.items == 4


def test_many_columns_are_named_by_what_their_names_share() -> None:
    names = ("id", *(f"rater_{n}" for n in range(9)), "note")
    table = Table("a.csv", names, lambda _: None)  # type: ignore[arg-type, return-value]
    assert Message(table.options("label", range(1, 10))) == 'label="rater_*"'
    assert Message(table.options("label", range(1, 6))).count("rater_") == 5
    assert Message(table.options("label", range(1, 9))).count("rater_") == 8  # the ninth fits the pattern, too


@pytest.mark.parametrize(("suffix", "what"), [(".omv", "a jamovi file"), (".jasp", "a JASP file")])
def test_files_of_statistics_programs_are_refused_by_name(suffix: str, what: str, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / f"votes{suffix}", "w") as archive:
        archive.writestr("META-INF/MANIFEST.MF", "")
    with pytest.raises(FileError, match=f"{what}, which spagree does not read; save the table as CSV"):
        spagree.measure(tmp_path / f"votes{suffix}")


def test_patterns_choose_columns_in_every_broad_layout(tmp_path: Path) -> None:
    wide = written(tmp_path / "w.csv", ["id", "r[1]", "r[2]", "note"], [[1, "a", "a", "b"], [2, "a", "b", "b"]])
    assert spagree.measure(wide, format="wide", label="r[*").data.annotators == 2
    counted = written(tmp_path / "c.csv", ["id", "n_a", "n_b", "m_c"], [[1, 2, 0, 5], [2, 1, 1, 5]])
    assert spagree.measure(counted, format="counts", label="n_*").data.classes == 2
    with pytest.raises(ColumnError, match="names the column 'n_a' twice"):
        spagree.measure(counted, format="counts", label=["n_*", "n_a"])
    with pytest.raises(ColumnError, match="there is no such column"):
        spagree.measure(counted, format="counts", label="x_*")


def test_each_of_several_label_columns_is_a_question(vote: Callable[[int], str], tmp_path: Path) -> None:
    rows = [[i, f"r{n}", "MF"[n % 2], "abc"[i % 3], vote(i), vote(i + 9)] for i in range(50) for n in range(3)]
    header = ["item_id", "rater_id", "rater_gender", "degree", "Q1_whole", "Q2_harm"]
    path = written(tmp_path / "dices.csv", header, rows)
    expected = {name: spagree.measure(path, label=name).spa.value for name in header[4:]}
    with pytest.raises(spagree.UsageError, match=r"names several columns .* measure_all\(\)"):
        spagree.measure(path, label="Q*")
    for label in (["Q1_whole", "Q2_harm"], "Q*", None):
        found = spagree.measure_all(path, label=label)
        assert {name: each.spa.value for name, each in found.items()} == expected


# Encodings ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("first", [0, 1_500])
@pytest.mark.parametrize("encoding", ["cp1252", "latin-1", "mac-roman"])
def test_a_file_that_can_be_read_in_one_encoding_only_is_read_in_it(encoding: str, first: int, tmp_path: Path) -> None:
    rows = [["café" if i >= first else "bar", who, "é" if i % 2 else "x"] for i in range(1_600) for who in "ab"]
    rows = [[f"{name} {n // 2}", who, label if n // 2 >= first else "x"] for n, (name, who, label) in enumerate(rows)]
    path = written(tmp_path / "votes.csv", ["item", "annotator", "label"], rows, encoding)
    found = spagree.measure(path)
    (said,) = [warning.message for warning in found.warnings if warning.code == "encoding"]
    assert "café" in said and found.data.labels.keys() <= {"é", "x"}
    assert found.spa.value == spagree.measure(path, encoding=encoding).spa.value


@pytest.mark.parametrize(("text", "encoding"), [("Привет", "cp1251"), ("日本語", "shift-jis"), ("zażółć", "cp1250")])
def test_any_other_encoding_is_refused_with_what_might_be_meant(text: str, encoding: str, tmp_path: Path) -> None:
    rows = [[f"{text} {i}", who, "x"] for i in range(5) for who in "ab"]
    path = written(tmp_path / "votes.csv", ["item", "annotator", "label"], rows, encoding)
    with pytest.raises(DataError, match=r"votes\.csv:2: not UTF-8: .* name the encoding"):
        spagree.measure(path)
    assert spagree.measure(path, encoding=encoding).data.items == 5


def test_times_with_a_zone_in_parquet_need_no_library_for_zones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys
    from datetime import UTC, datetime, timedelta

    start = datetime(2024, 1, 1, tzinfo=UTC)
    rows = [(i // 2, "ab"[i % 2], "xy"[i % 3 % 2], start + timedelta(minutes=i)) for i in range(40)]
    frame = polars.DataFrame(rows, schema=["item", "annotator", "label", "time"], orient="row")
    path = tmp_path / "votes.parquet"
    frame.with_columns(polars.col("time").dt.convert_time_zone("Europe/Berlin")).write_parquet(path)
    monkeypatch.setitem(sys.modules, "pytz", None)
    assert spagree.measure(path, time="time", first=2).data.items == 20


# Forms as programs write them ---------------------------------------------------------------------

ITEMS = [f"image_{n}" for n in range(1, 5)]


def answered(people: int) -> list[list[str]]:
    random = Random(5)
    return [[random.choice(["good", "bad"]) for _ in ITEMS] for _ in range(people)]


def of_people(answers: Sequence[Sequence[str]]) -> float | None:
    """The agreement of rows of answers, one of each person."""
    return spagree.measure([(n, who, x) for who, row in enumerate(answers) for n, x in enumerate(row)]).spa.value


def test_kobo_numbers_its_submissions(tmp_path: Path) -> None:
    answers = answered(6)
    header = ["start", "end", *ITEMS, "_id", "_uuid", "_submission_time", "_status", "_submitted_by", "_index"]
    rows = [
        ["2024-01-01T10:00:00", "2024-01-01T10:09:00", *row, 100 + n, f"uuid:{n}", "2024-01-01T10:10:00", "web", "", n]
        for n, row in enumerate(answers, 1)
    ]
    found = spagree.measure(written(tmp_path / "kobo.csv", header, rows))
    assert found.understood is not None and found.understood.format == "transposed"
    assert (found.data.annotators, found.spa.value) == (6, of_people(answers))


def test_redcap_s_records_may_be_people_and_what_is_complete_is_no_answer(tmp_path: Path) -> None:
    answers = answered(8)
    header = ["record_id", "redcap_event_name", *(f"q{n}_rating" for n in range(1, 5)), "survey_complete"]
    path = written(tmp_path / "redcap.csv", header, [[n, "arm_1", *row, 2] for n, row in enumerate(answers, 1)])
    with pytest.raises(ColumnError, match=r'(?s)columns: .*?format="transposed", annotator="record_id".*format="wide"'):
        spagree.measure(path)
    assert spagree.measure(path, format="transposed", annotator="record_id").spa.value == of_people(answers)
    assert "looks_transposed" in codes(spagree.measure(path, format="wide", item="record_id"))


def test_questions_of_three_hundred_characters_are_chosen_by_a_pattern(tmp_path: Path) -> None:
    asked = "Please read the post below and tell us how offensive a typical reader would find it, on our scale: "
    header = ["who", *(f"{asked * 3} post {n}?" for n in range(40)), "Any comments?"]
    random = Random(6)
    answers = [[random.choice(["not", "slightly", "very"]) for _ in range(40)] for _ in range(9)]
    path = written(tmp_path / "survey.csv", header, [[f"p{n}", *row, "thanks"] for n, row in enumerate(answers)])
    found = spagree.measure(path, format="transposed", annotator="who", label="Please*")
    assert found.spa.value == of_people(answers)


def test_goemotions_has_a_column_per_class_and_a_flag_of_another_kind(tmp_path: Path) -> None:
    random, rows, given = Random(7), [], []
    feelings = ["admiration", "anger", "joy", "neutral"]
    for n in range(60):
        for who in random.sample(range(9), 3):
            felt = random.choice(feelings)
            given.append((f"ed{n}", who, felt))
            row = [f"a text {n}", f"ed{n}", f"r/{n % 5}", who, str(random.random() < 0.1)]
            rows.append([*row, *(int(felt == each) for each in feelings)])
    header = ["text", "id", "subreddit", "rater_id", "example_very_unclear", *feelings]
    path = written(tmp_path / "goemotions.csv", header, rows)
    assert spagree.measure(path, format="one-hot").spa.value == spagree.measure(given).spa.value
