"""Rows of a query, from both kinds of database: the same numbers as from the same rows in Python."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

import spagree
from both_ways import document
from command import Run
from databases import Keep, in_postgres, in_sqlite
from examples import examples
from oracle import over_items
from postgres import Server
from spagree.read import read
from spagree.read.files import duckdb as store

LONG = "item text, annotator text, label text"
ALL = "SELECT * FROM labels"
TRIPLES = [
    ("q1", "ann", "yes"), ("q1", "bob", "yes"), ("q1", "eve", "no"),
    ("q2", "ann", "no"), ("q2", "bob", "no"),
    ("q3", "ann", "yes"), ("q3", "bob", "no"), ("q3", "eve", None),
    ("q4", "eve", ""), ("q4", "ann", ""), ("q4", None, "yes"), (None, "ann", "yes"),
]  # fmt: skip
NUMBERS = [(1, 10, 0), (1, 11, 0), (1, 2**40, 1), (2**62, 10, 1), (2**62, 11, None), (3, 10, -1), (3, 11, -1)]


@pytest.fixture(params=["sqlite", "postgres"])
def keep(request: pytest.FixtureRequest, tmp_path: Path) -> Keep:
    if request.param == "sqlite":
        return in_sqlite(tmp_path)
    return in_postgres(request.getfixturevalue("postgres"))


class TestTheSameNumbers:
    def test_of_text(self, keep: Keep) -> None:
        source = keep(LONG, TRIPLES)
        assert spagree.tally(source, query=ALL) == spagree.tally(TRIPLES)
        assert document(spagree.measure(source, query=ALL)) == document(spagree.measure(TRIPLES))

    def test_of_whole_numbers_which_stay_numbers(self, keep: Keep) -> None:
        source = keep("item bigint, annotator bigint, label bigint", NUMBERS)
        assert spagree.tally(source, query=ALL) == spagree.tally(NUMBERS)
        kinds = read(source, query=ALL).frame.collect_schema()
        assert {kinds[role] for role in ("item", "annotator", "label")} == {kinds["item"]} and kinds[
            "item"
        ].is_integer()

    def test_of_a_wide_table(self, keep: Keep) -> None:
        source = keep(
            "task text, ann text, bob text, eve text",
            [("q1", "a", "a", "b"), ("q2", None, "b", "b"), ("q3", "a", None, None)],
        )
        triples = [
            ("q1", "ann", "a"),
            ("q1", "bob", "a"),
            ("q1", "eve", "b"),
            ("q2", "bob", "b"),
            ("q2", "eve", "b"),
            ("q3", "ann", "a"),
        ]
        assert spagree.tally(source, query=ALL, format="wide") == spagree.tally(triples)
        some = spagree.tally(source, query=ALL, format="wide", label=["ann", "bob"])
        assert some == spagree.tally([row for row in triples if row[1] != "eve"])

    def test_of_a_count_table(self, keep: Keep) -> None:
        source = keep("item text, yes integer, no integer", [("q1", 2, 1), ("q2", 0, 4), ("q3", 1, 0)])
        triples = [("q1", None, "yes")] * 2 + [("q1", None, "no")] + [("q2", None, "no")] * 4 + [("q3", None, "yes")]
        found = spagree.measure(source, query=ALL, format="counts")
        named = spagree.measure([(row[0], f"a{i}", row[2]) for i, row in enumerate(triples)])
        assert over_items(found.findings).spa == over_items(named.findings).spa

    def test_of_counts_that_the_query_makes(self, keep: Keep) -> None:
        source = keep(LONG, [row for row in TRIPLES if None not in row])
        query = "SELECT item, sum(CASE label WHEN 'yes' THEN 1 ELSE 0 END) AS yes, sum(CASE label WHEN 'yes' THEN 0 ELSE 1 END) AS other FROM labels GROUP BY item"
        triples = [
            (item, annotator, "yes" if label == "yes" else "other")
            for item, annotator, label in TRIPLES
            if None not in (item, annotator, label)
        ]
        found, named = spagree.measure(source, query=query, format="counts"), spagree.measure(triples)
        assert over_items(found.findings).spa == over_items(named.findings).spa

    def test_of_items_annotators_and_pairs(self, keep: Keep) -> None:
        source = keep(LONG, TRIPLES)
        found, same = spagree.measure(source, query=ALL), spagree.measure(TRIPLES)
        assert found.items().equals(same.items())
        assert found.annotators().equals(same.annotators()) and found.pairs().equals(same.pairs())

    def test_with_missing_labels_and_pseudonyms(self, keep: Keep) -> None:
        source = keep(LONG, TRIPLES)
        assert spagree.tally(source, query=ALL, missing=["", "no"]) == spagree.tally(TRIPLES, missing=["", "no"])
        hidden = spagree.tally(source, query=ALL, pseudonymise="salt")
        assert hidden == spagree.tally(TRIPLES, pseudonymise="salt") and "ann" not in hidden.annotators


TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=5)
ODD = st.sampled_from(
    ['"', '""', "'", "\\.", "\\N", "\n", "\r\n", "\r", ",", ";", "NULL", "", " a ", "#", "%s", "{}", "\ufeff"]
)
CELL = st.none() | TEXT | ODD


@given(st.lists(st.tuples(CELL, CELL, CELL), min_size=1, max_size=20, unique_by=lambda row: row[:2]))
@examples(13)
def test_no_text_is_changed_on_its_way(postgres: Server, rows: list[tuple[Any, ...]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for keep in (in_sqlite(Path(folder)), in_postgres(postgres)):
            found = read(keep(LONG, rows), query=ALL).frame.collect(backend="polars")
            told = found.select("item", "annotator", "label").rows()
            assert sorted(told, key=repr) == sorted(rows, key=repr)


TIMES = ["2024-03-01 12:00:00", "2024-03-01 11:00:00", "2024-03-01 13:00:00", "2024-03-01 10:00:00"]
REPEATS = [("q1", "ann", "b"), ("q1", "ann", "a"), ("q1", "bob", "a"), ("q1", "eve", "b")]


class TestRepeats:
    @pytest.mark.parametrize("policy", ["first", "last"])
    def test_are_settled_by_time_only(self, keep: Keep, policy: Any) -> None:
        rows = [(*row, time) for row, time in zip(REPEATS, TIMES, strict=True)]
        source = keep(f"{LONG}, at timestamp", rows)
        found = spagree.tally(source, query=ALL, time="at", duplicates=policy)
        assert found == spagree.tally(rows, duplicates=policy)
        with pytest.raises(spagree.UsageError, match=r"needs an order.*time="):
            spagree.tally(source, query="SELECT item, annotator, label FROM labels", duplicates=policy)

    def test_are_an_error_otherwise(self, keep: Keep) -> None:
        with pytest.raises(spagree.DuplicateError, match="annotator 'ann' labelled item 'q1' 'a' and 'b'"):
            spagree.tally(keep(LONG, REPEATS), query=ALL)

    def test_with_the_same_label_are_counted_once(self, keep: Keep) -> None:
        rows = [*TRIPLES, ("q1", "ann", "yes")]
        assert spagree.tally(keep(LONG, rows), query=ALL) == spagree.tally(rows)

    @pytest.mark.parametrize("policy", ["first", "last"])
    def test_at_the_same_time_do_not_depend_on_the_order(self, keep: Keep, policy: Any) -> None:
        rows = [(*row, 7) for row in REPEATS]
        query = "SELECT * FROM labels ORDER BY label"
        one = spagree.tally(keep(f"{LONG}, time integer", rows), query=query, duplicates=policy)
        assert one == spagree.tally(keep(f"{LONG}, time integer", rows[::-1]), query=f"{query} DESC", duplicates=policy)
        assert one.labels == ({"a": 2, "b": 1} if policy == "first" else {"b": 2, "a": 1})

    def test_the_first_k_by_time(self, keep: Keep) -> None:
        rows = [("q1", f"a{i}", "yes" if i < 3 else "no", f"2024-01-0{i}") for i in range(1, 6)]
        source = keep(f"{LONG}, created_at timestamp", rows[::-1])
        assert spagree.measure(source, query=ALL, first=2).spa.value == 1
        assert spagree.measure(source, query=ALL).understood.columns["time"] == "created_at"


class TestQueries:
    @pytest.mark.parametrize(
        "query",
        [
            "SELECT * FROM labels;",
            "  select * from labels ; ;\n",
            "SELECT * FROM labels -- all of them",
            "SELECT * /* ; */ FROM labels WHERE label <> ';'",
            "WITH l AS (SELECT * FROM labels) SELECT * FROM l",
            "SELECT * FROM labels ORDER BY item LIMIT 100",
            "SELECT item, annotator, label FROM labels UNION ALL SELECT item, annotator, label FROM labels WHERE 1 = 0",
            'SELECT item AS "Item", annotator AS "who? %s", label AS "Label" FROM labels',
            "VALUES ('q1', 'ann', 'yes'), ('q1', 'bob', 'no')",
        ],
    )
    def test_that_are_one_statement_are_read(self, keep: Keep, query: str) -> None:
        rows = [row for row in TRIPLES if None not in row]
        names = {"annotator": "who? %s"} if "who?" in query else {}
        if "VALUES" in query:
            rows, names = (
                [("q1", "ann", "yes"), ("q1", "bob", "no")],
                dict(zip(("item", "annotator", "label"), ("column1", "column2", "column3"), strict=True)),
            )
        assert spagree.tally(keep(LONG, rows), query=query, **names) == spagree.tally(rows)

    def test_with_two_columns_of_one_name_are_read_where_it_is_clear(self, keep: Keep) -> None:
        rows = [row for row in TRIPLES if None not in row]
        source = keep(LONG, rows)
        found = spagree.tally(source, query="SELECT item, annotator, label, 1 AS note, 2 AS note FROM labels")
        assert found == spagree.tally(rows)

    def test_transfer_only_the_columns_that_are_needed(self, keep: Keep) -> None:
        """The fourth column fails when it is computed."""
        source = keep(LONG, TRIPLES)
        failing = "abs(-9223372036854775807 - 1)" if source.endswith(".db") else "1 / (length(label) - length(label))"
        query = f"SELECT item, annotator, label, {failing} AS note FROM labels"
        assert spagree.tally(source, query=query) == spagree.tally(TRIPLES)
        with pytest.raises(spagree.SpagreeError, match=r"overflow|division by zero"):
            spagree.tally(source, query=query, item="note")

    @pytest.mark.parametrize(
        ("query", "reason"),
        [
            ("SELECT * FROM nowhere", "nowhere"),
            ("SELECT nothing FROM labels", "nothing"),
            ("SELEC * FROM labels", "syntax error|SELEC"),
            ("", "syntax error"),
            ("DELETE FROM labels", "syntax error"),
            ("SELECT 1; SELECT 2", "multiple|one statement|syntax"),
        ],
    )
    def test_that_the_database_refuses_are_a_usage_error(self, keep: Keep, query: str, reason: str, run: Run) -> None:
        source = keep(LONG, TRIPLES)
        with pytest.raises(spagree.UsageError, match=rf"the query was refused \(.*({reason}).*one SELECT"):
            spagree.measure(source, query=query)
        code, out, err = run("score", source, "--query", query)
        assert (code, out) == (2, "") and err.startswith("spagree: ") and "Traceback" not in err

    def test_without_rows_are_a_data_error(self, keep: Keep, run: Run) -> None:
        code, _, err = run("score", keep(LONG, []), "--query", ALL)
        assert code == 3 and "the query returned no rows" in err

    def test_with_other_columns_list_them(self, keep: Keep) -> None:
        with pytest.raises(spagree.ColumnError, match="columns: 'a', 'b'"):
            spagree.measure(keep("a text, b text", [("x", "y")]), query=ALL)

    def test_a_wide_table_needs_the_item(self, keep: Keep) -> None:
        with pytest.raises(spagree.ColumnError, match="no order here; name the item column"):
            spagree.measure(keep("a text, b text", [("x", "y")]), query=ALL, format="wide")

    def test_a_count_that_is_none_is_refused(self, keep: Keep) -> None:
        with pytest.raises(spagree.DataError, match=r"column 'no': -3"):
            spagree.measure(keep("item text, yes integer, no integer", [("q", 1, -3)]), query=ALL, format="counts")

    def test_times_that_are_none_are_named(self, keep: Keep) -> None:
        source = keep(f"{LONG}, at text", [(*row, "soon") for row in TRIPLES])
        with pytest.raises(spagree.DataError, match=r"neither a number.*\n.*column 'at': 'soon'"):
            spagree.measure(source, query=ALL, time="at")
        guessed = keep(f"{LONG}, created_at text", [(*row, "soon") for row in TRIPLES])
        assert "time_ignored" in {warning.code for warning in spagree.measure(guessed, query=ALL).warnings}

    def test_that_answer_with_more_than_there_is_room_for_are_a_file_error(
        self, keep: Keep, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        small = {"memory_limit": "20MB", "temp_directory": "", "threads": "1"}
        monkeypatch.setattr(store, "connect", lambda: duckdb.connect(config=small))
        numbers = "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 60000)"
        many = f"{numbers} SELECT '{'x' * 500} ' || i AS item, i AS annotator, i AS label FROM n"
        with pytest.raises(spagree.FileError, match=r"there is no room for the rows.*free disk space or memory"):
            read(keep(LONG, TRIPLES), query=many)


class TestTheCommand:
    def test_shows_what_was_understood(self, keep: Keep, run: Run) -> None:
        source = keep(LONG, TRIPLES)
        code, out, _ = run("score", source, "--query", ALL)
        assert code == 0
        assert "as a long table: item, annotator, label (guessed)" in " ".join(out.split())

    @pytest.mark.parametrize("command", ["items", "classes", "annotators", "pairs"])
    def test_every_list_takes_a_query(self, keep: Keep, run: Run, command: str) -> None:
        code, out, _ = run(command, keep(LONG, TRIPLES), "--query", ALL, "--json")
        assert code == 0 and json.loads(out)

    def test_a_tally_takes_a_query(self, keep: Keep, run: Run, tmp_path: Path) -> None:
        saved = tmp_path / "saved.json"
        assert run("tally", keep(LONG, TRIPLES), "--query", ALL, "-o", saved)[0] == 0
        assert spagree.load(saved) == spagree.tally(TRIPLES)
        code, _, err = run("score", saved, "--query", ALL)
        assert code == 2 and "query" in err

    def test_without_a_query_the_tables_are_listed(self, keep: Keep, run: Run) -> None:
        code, _, err = run("score", keep(LONG, TRIPLES))
        assert code == 2 and "'labels'" in err and "--query 'SELECT item, annotator, label FROM …'" in err

    @pytest.mark.parametrize(
        "options", [["--encoding", "latin-1"], ["--no-header"], ["--format", "prodigy"], ["--question", "q"]]
    )
    def test_options_for_files_are_refused(self, keep: Keep, run: Run, options: list[str]) -> None:
        code, _, err = run("score", keep(LONG, TRIPLES), "--query", ALL, *options)
        assert code == 2 and options[0] in err


@pytest.mark.parametrize("source", [TRIPLES, ["a.db", "b.db"], "example:sparse"])
def test_a_query_needs_one_database(source: Any) -> None:
    with pytest.raises(spagree.SpagreeError, match="database"):
        spagree.measure(source, query=ALL)


def test_a_query_to_a_file_that_is_no_database_is_refused(tmp_path: Path, run: Run) -> None:
    path = tmp_path / "labels.csv"
    path.write_text("item,annotator,label\n1,a,x\n")
    code, _, err = run("score", path, "--query", ALL)
    assert code == 2 and "--query is for SQLite and PostgreSQL databases" in err
    code, _, err = run("score", tmp_path / "nowhere.db", "--query", ALL)
    assert code == 4 and "no such file" in err
