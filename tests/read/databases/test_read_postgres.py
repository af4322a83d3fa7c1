"""A real PostgreSQL: types, nothing is ever changed, and no word of the password anywhere."""

from __future__ import annotations

import datetime as dt
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import quote

import polars as pl
import pytest

import spagree
from command import Run
from memory import growth
from postgres import USER, Server
from spagree.read import read

ALL = "SELECT * FROM labels"
ROWS = [("q1", "ann", "yes"), ("q1", "bob", "yes"), ("q2", "ann", "no"), ("q2", "bob", "yes")]


@pytest.fixture
def source(postgres: Server) -> str:
    postgres.fill("labels", "item text, annotator text, label text", ROWS)
    return postgres.address


def values(source: str, *expressions: str) -> list[Any]:
    """How labels that the server computes arrive."""
    rows = ", ".join(f"('q', {i}, {each})" for i, each in enumerate(expressions))
    frame = read(source, query=f"SELECT * FROM (VALUES {rows}) AS v(item, annotator, label)").frame
    return frame.collect(backend="polars").sort("annotator")["label"].to_list()


class TestTypes:
    KEPT = (
        (["1::smallint", "2"], [1, 2]),
        (["9223372036854775807", "NULL"], [2**63 - 1, None]),
        (["true", "false", "NULL"], [True, False, None]),
        (["0.1::real", "'NaN'"], [0.1, None]),
        (["0.1::double precision + 0.2", "1e300", "'infinity'"], [0.1 + 0.2, 1e300, float("inf")]),
        (["1.50::numeric(5,2)", "2"], [Decimal("1.50"), Decimal("2.00")]),
        (["12345678901234567890123::numeric(30,0)"], [Decimal("12345678901234567890123")]),
        (["1.5::numeric", "3", "NULL"], [1.5, 3.0, None]),
        (["date '2024-02-29'", "NULL"], [dt.date(2024, 2, 29), None]),
        (["timestamp '2024-02-29 12:30:00.25'"], [dt.datetime(2024, 2, 29, 12, 30, 0, 250_000)]),  # noqa: DTZ001
        (["timestamptz '2024-02-29 12:30:00+02'"], [dt.datetime(2024, 2, 29, 10, 30)]),  # noqa: DTZ001
        (["'a'::char(3)"], ["a  "]),
        (["'0fe4a6a0-0000-4000-8000-000000000001'::uuid"], ["0fe4a6a0-0000-4000-8000-000000000001"]),
        (['\'{"b": 1, "a": [1, 2]}\'::jsonb'], ['{"a": [1, 2], "b": 1}']),
        (["ARRAY['x', 'y z']", "NULL"], ['{x,"y z"}', None]),
        (["interval '1 hour'"], ["PT1H"]),
        (["E'tab\\there\\nline \"quoted\" \\\\.'", "''", "NULL"], ['tab\there\nline "quoted" \\.', "", None]),
    )

    @pytest.mark.parametrize(("expressions", "expected"), KEPT, ids=lambda each: str(each[0]))
    def test_values_keep_their_type(self, source: str, expressions: list[str], expected: list[Any]) -> None:
        assert values(source, *expressions) == expected

    def test_names_of_an_enumeration_are_texts(self, source: str, postgres: Server) -> None:
        postgres.run("DROP TYPE IF EXISTS mood", "CREATE TYPE mood AS ENUM ('sad', 'happy')")
        assert values(source, "'happy'::mood", "'sad'") == ["happy", "sad"]

    def test_settings_of_the_server_do_not_show(self, source: str, postgres: Server) -> None:
        odd = {
            "TimeZone": "Asia/Tokyo",
            "DateStyle": "German",
            "extra_float_digits": "-5",
            "IntervalStyle": "sql_standard",
        }
        try:
            postgres.run(*(f"ALTER ROLE {USER} SET {name} = '{value}'" for name, value in odd.items()))
            assert values(source, "timestamptz '2024-02-29 12:00+00'") == [dt.datetime(2024, 2, 29, 12)]  # noqa: DTZ001
            assert values(source, "0.1::float8 + 0.2") == [0.1 + 0.2]
        finally:
            postgres.run(f"ALTER ROLE {USER} RESET ALL")

    def test_numbers_that_would_lose_digits_are_refused(self, source: str) -> None:
        with pytest.raises(spagree.DataError, match=r"column 'label' holds numbers from 9,007,199,254,740,992 on"):
            values(source, "9007199254740993::numeric")

    def test_binary_values_are_refused_where_they_are_needed(self, source: str) -> None:
        with pytest.raises(spagree.DataError, match=r"column 'label' holds binary values \(bytea\)"):
            values(source, "'\\x00ff'::bytea")
        assert spagree.tally(source, query="SELECT *, '\\x00'::bytea AS picture FROM labels") == spagree.tally(ROWS)

    def test_what_cannot_be_kept_is_a_data_error(self, source: str) -> None:
        with pytest.raises(spagree.DataError, match=r"a value cannot be used.*cast the column to text"):
            values(source, "'NaN'::numeric(5,2)")

    def test_very_long_texts_are_read(self, source: str) -> None:
        (found,) = values(source, "repeat('x', 3000000)")
        assert found == "x" * 3_000_000

    def test_fractions_are_no_counts(self, source: str) -> None:
        query = "SELECT 'q' AS item, 1.5::numeric(3,1) AS yes, 2::numeric(3,1) AS no"
        with pytest.raises(spagree.DataError, match=r"column 'yes': 1\.5"):
            spagree.measure(source, query=query, format="counts")


CHANGES = [
    "DELETE FROM labels",
    "DELETE FROM labels RETURNING *",
    "INSERT INTO labels VALUES ('q9', 'ann', 'x') RETURNING *",
    "CREATE TABLE other AS SELECT 1",
    "DROP TABLE labels",
    "WITH gone AS (DELETE FROM labels RETURNING *) SELECT * FROM gone",
    "SELECT item, annotator, wipe() AS label FROM labels",
    "SELECT item, set_config('transaction_read_only', 'off', false), wipe() AS label FROM labels",
    "SELECT nextval('counter') AS item, 1 AS label",
    "SELECT 1 AS item, 2 AS label INTO other",
    "SELECT 1) AS q; DELETE FROM labels; SELECT * FROM (SELECT 1",
    "SELECT 1 AS item, 2 AS label) AS q(c0, c1)) TO STDOUT; COMMIT; DELETE FROM labels; COPY (SELECT 1 FROM (SELECT 1",
    "SELECT * FROM labels; COMMIT; DELETE FROM labels",
    "COMMIT; DELETE FROM labels",
    "TRUNCATE labels",
    "COPY labels TO PROGRAM 'true'",
]


@pytest.mark.parametrize("query", CHANGES)
def test_nothing_is_changed(source: str, postgres: Server, query: str) -> None:
    postgres.run(
        "CREATE OR REPLACE FUNCTION wipe() RETURNS text LANGUAGE sql VOLATILE AS 'DELETE FROM labels; SELECT ''x'''",
        "CREATE SEQUENCE IF NOT EXISTS counter",
    )
    state = "SELECT (SELECT count(*) FROM labels), (SELECT count(*) FROM pg_class), (SELECT is_called FROM counter)"
    before = postgres.run(state)
    with pytest.raises(spagree.UsageError, match="the query was refused"):
        spagree.measure(source, query=query)
    assert postgres.run(state) == before


class TestThePassword:
    def test_is_nowhere_when_all_goes_well(
        self, source: str, postgres: Server, capfd: pytest.CaptureFixture[str]
    ) -> None:
        for address in (
            source,
            f"postgresql://127.0.0.1:{postgres.port}/postgres?user={USER}&password={quote(postgres.password)}",
        ):
            for options in ([], ["--json"]):
                code, out, err = Run(capfd)("score", address, "--query", ALL, *options)
                assert code == 0 and out
                assert_hidden(postgres, out + err)
        found = spagree.measure(source, query=ALL)
        assert found.understood and found.understood.source == postgres.name
        assert_hidden(postgres, "".join(map(repr, (found, found.understood, found.evidence))) + found.to_json())

    WRONG = (
        ("query", lambda s: s.address, "SELECT * FROM nowhere", 2),
        ("conflict", lambda s: s.address, "SELECT 'q' AS item, 'ann' AS annotator, label FROM labels", 3),
        ("database", lambda s: s.address.replace("/postgres", "/nowhere"), ALL, 4),
        ("user", lambda s: s.address.replace(USER, "nobody", 1), ALL, 4),
        ("port", lambda s: s.address.replace(str(s.port), "1"), ALL, 4),
        ("host", lambda s: s.address.replace("127.0.0.1", "%2Fnowhere"), ALL, 4),
        ("no query", lambda s: s.address, None, 2),
        ("spelling", lambda s: f"postgresql://{USER}:{s.password}@127.0.0.1:{s.port}/postgres", ALL, 2),
        ("parameter", lambda s: f"{s.address}?nothing={s.password}", ALL, 2),
        ("words", lambda s: f"host=127.0.0.1 port={s.port} user={USER} password={s.password}", ALL, 4),
        ("other kind", lambda s: s.address.replace("postgresql", "mysql"), ALL, 2),
    )

    @pytest.mark.parametrize("wrong", [each[1:] for each in WRONG], ids=[each[0] for each in WRONG])
    @pytest.mark.parametrize("debug", [[], ["--debug"]])
    @pytest.mark.usefixtures("source")
    def test_is_in_no_message(
        self, postgres: Server, wrong: tuple[Any, str | None, int], debug: list[str], capfd: pytest.CaptureFixture[str]
    ) -> None:
        write, query, code = wrong
        found, out, err = Run(capfd)(*debug, "score", write(postgres), *(["--query", query] if query else []))
        assert found == code, err
        assert bool(debug) == ("Traceback" in err)
        assert err.strip()
        assert_hidden(postgres, out + err)

    def test_is_not_repeated_when_it_is_wrong(self, source: str, postgres: Server, run: Run) -> None:
        wrong = Server(postgres.port, "wrong:p@ss/w%rd")
        code, out, err = run("score", wrong.address, "--query", ALL)
        assert code == 4 and "password authentication failed" in err and "PGPASSWORD or ~/.pgpass" in err
        assert_hidden(wrong, out + err)

    def test_may_come_from_the_environment(
        self, source: str, postgres: Server, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("PGPASSWORD", postgres.password)
        assert spagree.tally(postgres.name, query=ALL) == spagree.tally(ROWS)

    def test_may_come_from_the_password_file(
        self, source: str, postgres: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        escaped = postgres.password.replace("\\", "\\\\").replace(":", "\\:")
        (tmp_path / "pgpass").write_text(f"127.0.0.1:{postgres.port}:*:{USER}:{escaped}\n")
        (tmp_path / "pgpass").chmod(0o600)
        monkeypatch.setenv("PGPASSFILE", str(tmp_path / "pgpass"))
        assert spagree.tally(postgres.name, query=ALL) == spagree.tally(ROWS)

    def test_may_come_from_a_service(
        self, source: str, postgres: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        lines = [
            "[work]",
            "host=127.0.0.1",
            f"port={postgres.port}",
            f"user={USER}",
            f"password={postgres.password}",
            "dbname=postgres",
        ]
        (tmp_path / "services").write_text("\n".join(lines))
        monkeypatch.setenv("PGSERVICEFILE", str(tmp_path / "services"))
        found = spagree.measure("postgresql:///?service=work", query=ALL)
        assert found.understood and found.understood.source == "postgresql:///?service=work"


def assert_hidden(server: Server, text: str) -> None:
    for spelling in (server.password, quote(server.password, safe=""), quote(server.password), server.password[-8:]):
        assert spelling not in text


class TestTheServer:
    def test_that_goes_away_is_a_file_error(self, source: str, postgres: Server) -> None:
        slow = "SELECT i AS item, i AS annotator, pg_sleep(0.01)::text AS label FROM generate_series(1, 100000) AS i"
        killer = threading.Thread(target=terminate, args=(postgres,))
        killer.start()
        with pytest.raises(spagree.FileError, match="the database cannot be read") as caught:
            spagree.measure(source, query=slow)
        killer.join()
        assert "terminating connection" in str(caught.value) and caught.value.exit_code == 4

    def test_that_stops_the_query_is_a_file_error(self, source: str, postgres: Server) -> None:
        limited = f"{source}?options=-c%20statement_timeout%3D100"
        with pytest.raises(spagree.FileError, match="statement timeout"):
            spagree.measure(limited, query="SELECT 1 AS item, 2 AS label, pg_sleep(5)::text AS annotator")

    def test_that_does_not_answer_is_given_up(self, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        """A listener that never says a word; the limit is what the user says, here two seconds."""
        monkeypatch.setenv("PGCONNECT_TIMEOUT", "2")
        with socket.create_server(("127.0.0.1", 0)) as silent:
            began = time.monotonic()
            code, _, err = run("score", f"postgresql://me@127.0.0.1:{silent.getsockname()[1]}/x", "--query", ALL)
        assert code == 4 and "timeout" in err and time.monotonic() - began < 60

    @pytest.mark.parametrize(("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
    def test_is_told_when_the_user_stops(self, source: str, postgres: Server, sent: int, code: int) -> None:
        query = "SELECT 1 AS item, 2 AS annotator, pg_sleep(300)::text AS label"
        waiting = subprocess.Popen([sys.executable, "-m", "spagree", "score", source, "--query", query])
        copying = "SELECT 1 FROM pg_stat_activity WHERE query LIKE 'COPY %' AND state = 'active'"
        try:
            wait_until(lambda: bool(postgres.run(copying)))
            waiting.send_signal(sent)
            assert waiting.wait(120) == code
            wait_until(lambda: not postgres.run(copying))
        finally:
            waiting.kill()

    def test_an_error_late_in_the_rows_is_an_error(self, source: str) -> None:
        late = "SELECT i AS item, 1 AS annotator, 1 / (50000 - i) AS label FROM generate_series(1, 100000) AS i"
        with pytest.raises(spagree.UsageError, match="division by zero"):
            spagree.measure(source, query=late)

    def test_tables_of_other_schemas_are_listed_with_their_schema(self, postgres: Server) -> None:
        other = postgres.another("schemas")
        other.run("CREATE TABLE one (x int)", "CREATE SCHEMA more", "CREATE VIEW more.two AS SELECT 1")
        with pytest.raises(spagree.UsageError, match=r"'more\.two', 'one'"):
            spagree.measure(other.address)

    def test_no_connection_is_left_open(self, source: str, postgres: Server) -> None:
        for query in (ALL, "SELECT 1 AS x", "SELECT * FROM nowhere", "SELECT item, label FROM labels WHERE false"):
            with pytest.raises(spagree.SpagreeError) if query != ALL else pytest.MonkeyPatch.context():
                spagree.measure(source, query=query)
        others = "SELECT 1 FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
        wait_until(lambda: not postgres.run(others))

    def test_without_its_library_the_extra_is_named(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "psycopg", None)
        with pytest.raises(spagree.MissingExtraError, match=r"spagree\[postgres\]"):
            spagree.measure("postgresql://me@db/x", query=ALL)


def terminate(server: Server) -> None:
    """End the session that copies, once it has begun."""
    ending = (
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'COPY %' AND pid <> pg_backend_pid()"
    )
    wait_until(lambda: bool(server.run(ending)))


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


MANY = """SELECT 'a rather long item ' || (i / 5) AS item, 'annotator ' || (i % 5) AS annotator, 'label ' || (i % 3) AS label
FROM generate_series(0, {rows} - 1) AS i"""


@pytest.mark.slow
def test_rows_do_not_pile_up(source: str) -> None:
    """As Python objects 300,000 rows would take 78 MB more: three texts of 63 bytes, a tuple of 64, its pointer."""
    assert growth(source, MANY.format(rows=100_000), MANY.format(rows=400_000)) < 50


@pytest.mark.slow
def test_a_million_rows_give_the_number_of_the_same_frame(source: str) -> None:
    index = pl.int_range(1_000_000, eager=True)
    frame = pl.DataFrame({"item": index // 5, "annotator": index % 5, "label": index % 3})
    query = "SELECT i / 5 AS item, i % 5 AS annotator, i % 3 AS label FROM generate_series(0, 999999) AS i"
    assert spagree.tally(source, query=query) == spagree.tally(frame)
