"""SQLite: columns without one type, files that others write to, and nothing is ever changed."""

from __future__ import annotations

import random
import sqlite3
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import spagree
from command import Run
from databases import in_sqlite
from memory import growth
from spagree.read import read
from spagree.read.databases import queries

ALL = "SELECT * FROM labels"
ROWS = [("q1", "ann", "yes"), ("q1", "bob", "yes"), ("q2", "ann", "no"), ("q2", "bob", "yes")]


@pytest.fixture
def source(tmp_path: Path) -> str:
    return in_sqlite(tmp_path)("item text, annotator text, label text", ROWS)


def column(tmp_path: Path, values: list[Any]) -> str:
    """A database whose label column has no type of its own."""
    return in_sqlite(tmp_path)("item, annotator, label", [(f"q{i}", "ann", value) for i, value in enumerate(values)])


def labels(source: str) -> list[Any]:
    found = read(source, query=ALL).frame.collect(backend="polars")
    return [
        label for _, label in sorted(zip(found["item"], found["label"], strict=True), key=lambda pair: int(pair[0][1:]))
    ]


class TestTypes:
    KEPT = (
        ([1, 2, None], [1, 2, None]),
        ([1, 2.5, None], [1.0, 2.5, None]),
        ([2.5, 1], [2.5, 1.0]),
        (["1", "01", None], ["1", "01", None]),
        ([None, None, None], [None, None, None]),
        ([2**63 - 1, -(2**63)], [2**63 - 1, -(2**63)]),
        (["a\0b", "a"], ["a\0b", "a"]),
    )

    @pytest.mark.parametrize(("values", "expected"), KEPT, ids=repr)
    @pytest.mark.parametrize("at_once", [1, 2, 20_000])
    def test_values_of_one_type_keep_it(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, values: list[Any], expected: list[Any], at_once: int
    ) -> None:
        """However the rows are cut into parts: a type may show late."""
        monkeypatch.setattr(queries, "ROWS_AT_ONCE", at_once)
        found = labels(column(tmp_path, values))
        assert found == expected and [type(value) for value in found] == [type(value) for value in expected]

    @pytest.mark.parametrize("values", [[1, "1"], ["1", 1], [1.5, "a"], [1, None, "yes"], ["x", 1, 1.5]])
    @pytest.mark.parametrize("at_once", [1, 20_000])
    def test_text_beside_numbers_is_refused(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, values: list[Any], at_once: int
    ) -> None:
        monkeypatch.setattr(queries, "ROWS_AT_ONCE", at_once)
        source = column(tmp_path, values)
        with pytest.raises(spagree.DataError, match=r"column 'label' holds text and numbers.*CAST\(… AS TEXT\)"):
            spagree.measure(source, query=ALL)
        cast = "SELECT item, annotator, CAST(label AS TEXT) AS label FROM labels"
        assert set(spagree.tally(source, query=cast).labels) == {str(value) for value in values if value is not None}

    @pytest.mark.parametrize("values", [[2**53 + 1, 0.5], [0.5, 2**53 + 1], [-(2**60), None, 0.5]])
    @pytest.mark.parametrize("at_once", [1, 20_000])
    def test_numbers_that_would_lose_digits_are_refused(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, values: list[Any], at_once: int
    ) -> None:
        monkeypatch.setattr(queries, "ROWS_AT_ONCE", at_once)
        with pytest.raises(spagree.DataError, match="would lose digits"):
            spagree.measure(column(tmp_path, values), query=ALL)

    def test_binary_values_are_refused_where_they_are_needed(self, tmp_path: Path) -> None:
        source = column(tmp_path, [b"\x00\x01", b"yes"])
        with pytest.raises(spagree.DataError, match=r"column 'label' holds binary values \(BLOB\)"):
            spagree.measure(source, query=ALL)
        assert spagree.tally(source, query="SELECT label AS picture, * FROM labels", label="annotator").labels == {
            "ann": 2
        }

    def test_text_that_is_not_utf8_is_refused(self, tmp_path: Path) -> None:
        source = column(tmp_path, ["a"])
        with pytest.raises(spagree.DataError, match="not UTF-8"):
            spagree.measure(source, query="SELECT item, annotator, CAST(x'ff' AS TEXT) AS label FROM labels")

    def test_times_are_texts_or_numbers(self, tmp_path: Path) -> None:
        late_first = [("q", "ann", "new", "2024-01-02 00:00:00"), ("q", "ann", "old", "2024-01-01T00:00:00Z")]
        keep = in_sqlite(tmp_path)
        for rows in (late_first, [(*row[:3], 2.5 - i) for i, row in enumerate(late_first)]):
            source = keep("item, annotator, label, created_at", rows)
            assert spagree.tally(source, query=ALL, duplicates="last").labels == {"new": 1}


class TestFiles:
    @pytest.mark.parametrize("write", [str, Path, lambda path: f"sqlite:///{path}", lambda path: [path]])
    def test_may_be_named_in_several_ways(self, source: str, write: Any) -> None:
        assert spagree.tally(write(source), query=ALL) == spagree.tally(ROWS)

    def test_may_be_relative(self, source: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(Path(source).parent)
        assert spagree.measure("sqlite:///labels.db", query=ALL).understood.source == "sqlite:///labels.db"
        with pytest.raises(spagree.FileError, match="four slashes"):
            spagree.measure("sqlite:///elsewhere/labels.db", query=ALL)

    def test_with_odd_names_are_found(self, source: str) -> None:
        odd = Path(source).with_name("a%20b ?mode=rwc#'x'.db")
        Path(source).rename(odd)
        assert spagree.tally(odd, query=ALL) == spagree.tally(ROWS)

    def test_that_are_damaged_cannot_be_read(self, source: str, run: Run) -> None:
        content = bytearray(Path(source).read_bytes())
        content[100:] = random.Random(1).randbytes(len(content) - 100)
        Path(source).write_bytes(content)
        for options in ([], ["--query", ALL]):
            code, _, err = run("score", source, *options)
            assert code == 4 and "the database cannot be read" in err

    def test_that_are_locked_cannot_be_read(self, source: str, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        writer = sqlite3.connect(source, isolation_level=None)
        monkeypatch.setattr(sqlite3, "connect", partial(sqlite3.connect, timeout=0.1))  # instead of five seconds
        writer.execute("BEGIN EXCLUSIVE")
        code, _, err = run("score", source, "--query", ALL)
        writer.close()
        assert code == 4 and "database is locked" in err and "whether another program uses it" in err

    def test_read_as_plain_tables_need_a_query(self, source: str) -> None:
        with pytest.raises(spagree.UsageError, match=": a database; say which rows to read: query="):
            spagree.measure(source, format="long")

    def test_another_table_of_a_tool_can_be_asked(self, tmp_path: Path) -> None:
        path = tmp_path / "label_studio.sqlite3"
        connection = sqlite3.connect(path)
        connection.executescript(
            "CREATE TABLE task_completion (item, annotator, label); CREATE TABLE htx_user (id);"
            "INSERT INTO task_completion VALUES (1, 1, 'a'), (1, 2, 'a');"
        )
        connection.close()
        assert spagree.measure(path, query="SELECT * FROM task_completion").spa.value == 1


CHANGES = [
    "DELETE FROM labels",
    "UPDATE labels SET label = 'x' RETURNING *",
    "INSERT INTO labels VALUES ('q9', 'ann', 'x') RETURNING *",
    "CREATE TABLE other (x)",
    "DROP TABLE labels",
    "ATTACH DATABASE 'other.db' AS other",
    "VACUUM INTO 'other.db'",
    "PRAGMA journal_mode = WAL",
    "SELECT 1); DELETE FROM labels; SELECT (1",
    "SELECT * FROM labels; DELETE FROM labels",
    "SELECT * FROM labels) LIMIT 0; DELETE FROM labels; --",
]


@pytest.mark.parametrize("query", CHANGES)
def test_nothing_is_changed(source: str, query: str, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = Path(source).parent
    monkeypatch.chdir(folder)
    before = Path(source).read_bytes()
    with pytest.raises(spagree.UsageError, match="the query was refused"):
        spagree.measure(source, query=query)
    assert Path(source).read_bytes() == before
    assert [path.name for path in folder.iterdir()] == ["labels.db"]


def test_reading_leaves_no_trace(source: str) -> None:
    before = Path(source).read_bytes()
    spagree.measure(source, query=ALL).items()
    assert Path(source).read_bytes() == before
    assert [path.name for path in Path(source).parent.iterdir()] == ["labels.db"]


WRITER = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("PRAGMA journal_mode = WAL")
for batch in range(10**6):
    with connection:
        connection.execute("BEGIN")
        connection.executemany("INSERT INTO labels VALUES (?, ?, 'x')", [(f"b{batch}", i) for i in range(100)])
    print(batch, flush=True)
    if sys.stdin.readline() != "more\\n":
        break
"""


def test_a_database_somebody_writes_to_is_read_as_of_one_moment(source: str) -> None:
    command = [sys.executable, "-c", WRITER, source]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdin and writer.stdout
        for batch in range(3):
            assert writer.stdout.readline() == f"{batch}\n"  # committed, and the writer still has it open
            writer.stdin.write("more\n" if batch < 2 else "stop\n")
            writer.stdin.flush()
            found = spagree.tally(source, query="SELECT * FROM labels WHERE label = 'x'").labels["x"]
            assert found % 100 == 0 and found >= 100 * (batch + 1)
    assert writer.returncode == 0


MANY = """WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < {rows})
SELECT 'a rather long item ' || (i / 5) AS item, 'annotator ' || (i % 5) AS annotator, 'label ' || (i % 3) AS label FROM n"""


@pytest.mark.slow
def test_rows_do_not_pile_up(source: str) -> None:
    """As Python objects 300,000 rows would take 78 MB more: three texts of 63 bytes, a tuple of 64, its pointer."""
    assert growth(source, MANY.format(rows=100_000), MANY.format(rows=400_000)) < 50


def test_more_rows_than_are_fetched_at_once(tmp_path: Path) -> None:
    rows = [(f"{i // 2:07}", f"a{i % 2}", f"{i % 99:07}" * (1 + i // queries.ROWS_AT_ONCE)) for i in range(70_000)]
    source = in_sqlite(tmp_path)("item, annotator, label", rows)
    found = read(source, query=ALL).frame.collect(backend="polars")
    assert sorted(found.select("item", "annotator", "label").rows()) == sorted(rows)
