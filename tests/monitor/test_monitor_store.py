"""What was acknowledged is there: after a restart, after kill −9, on SQLite and on PostgreSQL."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
import tracemalloc
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from serving import batch, given, wait_for

from postgres import Server
from spagree.errors import FileError, MissingExtraError, UsageError
from spagree.monitor import store as store_module
from spagree.monitor.hub import Hub, restored
from spagree.monitor.ledger import Annotation, Ledger, Row
from spagree.monitor.store import BusyError, Store, StoreError, Writer

KILLS = int(os.environ.get("SPAGREE_KILLS", "2"))
AT_ONCE = 40 if KILLS < 50 else 220  # a hundred kills are about 100,000 annotations
COUNTED = "SELECT count(*), count(DISTINCT id), count(DISTINCT seq), max(CAST(id AS INTEGER)) FROM spagree_annotations"
SENDERS = """
import os, sys
from spagree.monitor.ledger import Batch, Annotation
from spagree.monitor.ledger import Ledger
from spagree.monitor.store import Store
from spagree.monitor.store import Writer


def send(address, number, size):
    store, ledger = Store(address), Ledger()
    for rows in store.tuples():
        ledger.restore(rows)
    writer = Writer(ledger, store, lambda changed: None)
    while True:
        batch = [Annotation("p", "q", "api", str(i), f"item {i // 3}", f"a{i % 3}", "x", 1.0) for i in range(number, number + size)]
        parts = [[each] for each in batch]
        if number // size % 2:  # every other time as columns
            parts = [Batch("p", "q", "api", *zip(*(each[3:9] for each in half))) for half in (batch[::2], batch[1::2])]
        for each in [writer.send(part) for part in parts]:
            each.result()
        number += size
        os.write(1, f"{number}\\n".encode())


for line in sys.stdin:
    address, first, size = line.split()
    child = os.fork()
    if not child:
        os.write(1, f"{os.getpid()}\\n".encode())
        send(address, int(first), int(size))
    os.waitpid(child, 0)
    os.write(1, b"killed\\n")
"""


@pytest.fixture(params=["sqlite", "postgresql"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return str(tmp_path / "store.sqlite")
    name = f"monitor_{abs(hash(str(tmp_path))) % 10**9}"
    return str(request.getfixturevalue("postgres").another(name).address)


def rows_of(store: Store) -> list[Row]:
    found = itertools.chain.from_iterable(store.tuples())
    return [Row(Annotation._make((*row[:9], bool(row[9]))), row[10], row[11]) for row in found]


def row(number: int, **more: object) -> Row:
    whole = Annotation("p", "q", "api", str(number), f"item {number}", "ann", "yes", 1.0, None, False)
    return Row(whole._replace(**more), number, 5.0)


def test_rows_are_kept_replaced_and_come_back_in_order(address: str) -> None:
    store = Store(address)
    store.write([row(2), row(1), row(3)])
    store.write([row(2, label="nö \U0001f600", version=None, deleted=True)])
    store.write([])
    store.close()
    again = Store(address)
    assert rows_of(again) == [row(1), row(2, label="nö \U0001f600", version=None, deleted=True), row(3)]
    again.close()


def test_many_rows_are_written_together_and_restored_as_they_were(address: str) -> None:
    """More than one statement takes, and some left over; texts, missing numbers and deletions as they are."""
    store, ledger = Store(address), Ledger()
    rows = [
        row(i, item=f"ï {i // 3}", version=None if i % 2 else 2.0, time=i / 2 if i % 3 else None, deleted=not i % 5)
        for i in range(1, 2 * store_module.TOGETHER + 8)
    ]
    store.write(rows)
    store.write([each._replace(annotation=each.annotation._replace(label="no")) for each in rows[:150]])
    expected = [each._replace(annotation=each.annotation._replace(label="no")) for each in rows[:150]] + rows[150:]
    assert rows_of(store) == expected
    ledger.put(rows)
    ledger.put(expected)
    again = restored(store)
    for each in (ledger, again):
        assert [each.sheets["p", "q"].row(one.annotation.key) for one in expected] == expected
        assert each.seq == len(rows) and each.sheets["p", "q"].alive == sum(not one.annotation.deleted for one in rows)
    store.close()


UNLIKE: list[dict[str, list[object]]] = [
    {},
    {"version": [1.0, None]},
    {"time": [0.5, 7.0]},
    {"label": ["x", "nö \U0001f600"], "annotator": ["ann", "bob"]},
    {"item": ["one", "two"], "version": [None, 2.0], "time": [None, 1.0], "label": ["", "?1"]},
]


def test_batches_are_stored_as_their_rows_would_be(address: str) -> None:
    """Whichever columns have one value for all rows, and whatever is left after the last whole statement."""
    store, rows = Store(address), list[Row]()
    for size, unlike in itertools.product((1, store_module.TOGETHER, 2 * store_module.TOGETHER + 7), UNLIKE):
        first = len(rows) + 1
        new = [
            row(i, **{name: values[i % 2] for name, values in unlike.items()})._replace(arrived=9.0)
            for i in range(first, first + 2 * size)
        ]
        store.append([batch(*(each.annotation for each in part)) for part in (new[:size], new[size:])], first, 9.0)
        rows += new
    assert rows_of(store) == rows
    again = row(2, label="again")._replace(arrived=9.0)
    store.append([batch(again.annotation)], 2, 9.0)  # its first answer was lost: the number decides
    assert rows_of(store) == [rows[0], again, *rows[2:]]
    store.close()


def test_batches_and_single_annotations_share_a_transaction(address: str) -> None:
    """Sent while the writer waits: columns, repeated columns and single annotations, each answered with its changes."""
    store, ledger, may_write = Store(address), Ledger(), threading.Event()
    writer, append = Writer(ledger, store, lambda changed: None), store.append

    def slow(*given: Any) -> None:
        may_write.wait(180)
        append(*given)

    store.append = slow  # type: ignore[method-assign]
    events = [given(str(i), who, "x") for i in range(60) for who in "abc"]
    first = writer.send(batch(*events[:60]))
    wait_for(writer._queue.empty)
    later = [
        writer.send(each) for each in (batch(*events[50:120]), [events[120]], batch(*events[100:180]), [events[0]])
    ]
    may_write.set()
    assert [first.result(180), *(each.result(180) for each in later)] == [60, 60, 1, 59, 0]
    assert writer.send(batch(*events)).result() == 0
    assert writer.send(batch(given("60", "a", "x"), given("61", "a", "x"))).result() == 2
    writer.close()
    assert [each.annotation for each in rows_of(store)] == [*events, given("60", "a", "x"), given("61", "a", "x")]
    again = restored(store)
    assert again.columns("p", "q").frame().equals(ledger.columns("p", "q").frame()) and again.seq == ledger.seq == 182
    store.close()


def test_a_batch_that_the_store_refuses_is_not_counted(tmp_path: Path) -> None:
    """SQLite says that it is full in the middle of the batch; the same batch is taken once there is room."""
    store, ledger = Store(str(tmp_path / "s.sqlite")), Ledger()
    writer = Writer(ledger, store, lambda changed: None)
    many = batch(*(given(str(i), "bob", "no" * 100) for i in range(2000)))
    with store.engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA max_page_count=12")
    with pytest.raises(StoreError):
        writer.send(many).result()
    assert ledger.questions() == [] and rows_of(store) == []
    with store.engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA max_page_count=1000000")
    assert writer.send(many).result() == 2000 == len(rows_of(store)) == ledger.seq
    writer.close()
    store.close()


def test_marks_and_alerts_are_kept(address: str) -> None:
    store = Store(address)
    store.mark("p", 7.0, "new guidelines")
    store.mark("p", 5.0, "first")
    alert = {"project": "p", "question": "q", "code": "below_target", "subject": "", "began": 1.0, "ended": None}
    store.write_alerts([{**alert, "document": "{}"}])
    store.write_alerts([{**alert, "ended": 2.0, "document": "{}"}])
    assert store.marks() == {"p": [(5.0, "first"), (7.0, "new guidelines")]}
    assert store.alerts() == [{**alert, "ended": 2.0, "document": "{}"}]
    store.close()


def test_a_second_monitor_is_refused(address: str) -> None:
    store = Store(address)
    with pytest.raises(UsageError, match="another monitor uses this store"):
        Store(address)
    store.close()
    Store(address).close()


def test_a_newer_schema_is_refused_and_an_older_one_migrated(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    Store(address).close()
    monkeypatch.setattr(store_module, "SCHEMA", 2)
    monkeypatch.setattr(
        store_module, "MIGRATIONS", {1: ["CREATE TABLE added (x INTEGER)", "INSERT INTO added VALUES (7)"]}
    )
    store = Store(address)
    with store.engine.connect() as connection:
        assert connection.execute(sa.text("SELECT x FROM added")).scalar() == 7
    store.close()
    Store(address).close()  # migrated once, not twice
    monkeypatch.setattr(store_module, "SCHEMA", 1)
    with pytest.raises(UsageError, match="newer spagree"):
        Store(address)


def test_sqlite_waits_for_the_disk(tmp_path: Path) -> None:
    store = Store(str(tmp_path / "s.sqlite"))
    with store.engine.connect() as connection:
        assert connection.execute(sa.text("PRAGMA journal_mode")).scalar() == "wal"
        assert connection.execute(sa.text("PRAGMA synchronous")).scalar() == 2
    store.close()


def test_a_store_can_be_copied_while_it_is_used(tmp_path: Path) -> None:
    store = Store(str(tmp_path / "s.sqlite"))
    store.write([row(1)])
    with (
        closing(sqlite3.connect(tmp_path / "s.sqlite")) as one,
        closing(sqlite3.connect(tmp_path / "copy.sqlite")) as copy,
    ):
        one.backup(copy)  # as `sqlite3 s.sqlite ".backup copy.sqlite"` does
    store.write([row(2)])
    store.close()
    copied = Store(str(tmp_path / "copy.sqlite"))
    assert rows_of(copied) == [row(1)]
    copied.close()


def test_what_is_no_store_is_refused_in_words(tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    path.write_text("item,annotator,label\n" * 100)
    with pytest.raises(FileError, match="name another --store"):
        Store(str(path))


def test_without_its_driver_a_postgresql_store_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(MissingExtraError, match=r"spagree\[postgres\]"):
        Store("postgresql://127.0.0.1:1/labels")


def test_a_password_is_not_shown(postgres: Server) -> None:
    store = Store(postgres.another("shown").address)
    assert postgres.password not in store.name and "***" in store.name
    store.close()


def test_nobody_is_told_before_the_store_has_it_and_failures_leave_nothing(tmp_path: Path) -> None:
    store, ledger = Store(str(tmp_path / "s.sqlite")), Ledger()
    changed: list[set[tuple[str, str]]] = []
    writer = Writer(ledger, store, changed.append)
    write = store.write

    def full(rows: list[Row]) -> None:
        raise OSError(28, "No space left on device")

    store.write = full  # type: ignore[method-assign]
    with pytest.raises(StoreError):
        writer.send([given("1", "ann", "yes")]).result()
    assert ledger.questions() == [] and changed == []
    store.write = write  # type: ignore[method-assign]
    assert writer.send([given("1", "ann", "yes")]).result() == 1
    assert ledger.questions() == [("p", "q")] and wait_for(lambda: changed) == [{("p", "q")}]
    writer.close()
    store.close()


def test_a_full_disk_keeps_nothing_of_the_batch_and_goes_on_once_there_is_room(tmp_path: Path) -> None:
    """SQLite itself says that it is full, in the middle of a transaction."""
    store, ledger = Store(str(tmp_path / "s.sqlite")), Ledger()
    writer = Writer(ledger, store, lambda changed: None)
    writer.send([given("1", "ann", "yes")]).result()
    many = [given(str(i), "bob", "no" * 100) for i in range(2000)]
    with store.engine.connect() as connection:
        pages = int(connection.exec_driver_sql("PRAGMA page_count").scalar())
        connection.exec_driver_sql(f"PRAGMA max_page_count={pages + 3}")
    with pytest.raises(StoreError) as failed:
        writer.send(many).result()
    assert "full" in str(failed.value.__cause__)
    assert ledger.columns("p", "q").frame().height == len(rows_of(store)) == 1
    with store.engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA max_page_count=1000000")
    assert writer.send(many).result() == 2000
    assert ledger.columns("p", "q").frame().height == len(rows_of(store)) == 2001
    writer.close()
    store.close()


def test_a_million_annotations_fit_on_a_small_machine(tmp_path: Path) -> None:
    """About 50 B on disk for each, as docs/monitor.md says, and 400 B in memory before anything is measured."""
    size, path = 20_000, tmp_path / "s.sqlite"
    whole = [
        Annotation("p", "q", "api", str(i), f"item {i // 3}", f"a{i % 48}", "xyz"[i % 3], 1.0, 5.0) for i in range(size)
    ]
    store = Store(str(path))
    store.write([Row(each, seq, 5.0) for seq, each in enumerate(whole, 1)])
    store.close()
    del whole
    assert path.stat().st_size < 80 * size
    store, ledger = Store(str(path)), Ledger()
    tracemalloc.start()
    try:
        for rows in store.tuples():
            ledger.restore(rows)
        del rows
        ours = tracemalloc.take_snapshot().filter_traces([tracemalloc.Filter(True, "*/spagree/*")])  # no other thread's
        assert 50 * size < sum(each.size for each in ours.traces) < 400 * size
    finally:
        tracemalloc.stop()
        store.close()


def test_a_store_locked_by_somebody_else_is_waited_for(tmp_path: Path) -> None:
    store = Store(str(tmp_path / "s.sqlite"))
    writer = Writer(Ledger(), store, lambda changed: None)
    other = sa.create_engine(f"sqlite:///{tmp_path / 's.sqlite'}")
    with other.connect() as connection:
        connection.exec_driver_sql("BEGIN IMMEDIATE")
        done = writer.send([given("1", "ann", "yes")])
        time.sleep(0.1)
        assert not done.done()
        connection.rollback()
    assert done.result(180) == 1
    other.dispose()
    writer.close()
    store.close()


def test_whoever_hangs_up_neither_stops_the_writer_nor_loses_the_annotation(tmp_path: Path) -> None:
    """One request is cancelled while the disk is slow, another one's event loop is closed by then."""
    store, ledger = Store(str(tmp_path / "s.sqlite")), Ledger()
    writer, may_write, write = Writer(ledger, store, lambda changed: None), threading.Event(), store.write

    def slow(rows: list[Row]) -> None:
        may_write.wait(180)
        write(rows)

    store.write = slow  # type: ignore[method-assign]

    async def hang_up(item: str) -> None:
        task = asyncio.create_task(writer.take([given(item, "ann", "yes")]))
        await asyncio.sleep(0)
        task.cancel()

    async def stay() -> int:
        await hang_up("1")
        task = asyncio.create_task(writer.take([given("2", "ann", "yes")]))
        await asyncio.sleep(0)
        may_write.set()
        return await task

    asyncio.run(hang_up("0"))
    assert asyncio.run(stay()) == 1
    writer.close()
    assert sorted(row.annotation.item for row in rows_of(store)) == ["0", "1", "2"]
    store.close()


def test_a_request_that_waits_is_told_of_a_failure(tmp_path: Path) -> None:
    store = Store(str(tmp_path / "s.sqlite"))
    writer = Writer(Ledger(), store, lambda changed: None)
    store.write = lambda rows: 1 / 0  # type: ignore[assignment, method-assign, return-value]
    with pytest.raises(StoreError, match="ZeroDivisionError"):
        asyncio.run(writer.take([given("1", "ann", "yes")]))
    writer.close()
    store.close()


def test_too_much_waiting_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(str(tmp_path / "s.sqlite"))
    writer = Writer(Ledger(), store, lambda changed: None)
    monkeypatch.setattr(store_module, "WAITING", -1)
    with pytest.raises(BusyError):
        writer.send([given("1", "ann", "yes")])
    writer.close()
    store.close()


def test_a_clock_set_back_does_not_turn_time_round(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, ledger = Store(str(tmp_path / "s.sqlite")), Ledger()
    writer = Writer(ledger, store, lambda changed: None)
    clock = iter([1000.0, 10.0])
    monkeypatch.setattr(store_module.time, "time", lambda: next(clock))
    writer.send([given("1", "ann", "yes")]).result()
    writer.send([given("1", "bob", "yes")]).result()
    monkeypatch.undo()
    assert ledger.columns("p", "q").time.tolist() == [1000.0, 1000.0]
    writer.close()
    store.close()


def test_what_waits_is_written_before_the_end(tmp_path: Path) -> None:
    store, ledger = Store(str(tmp_path / "s.sqlite")), Ledger()
    writer = Writer(ledger, store, lambda changed: None)
    done = [writer.send([given(str(i), "ann", "yes")]) for i in range(500)]
    writer.close()
    assert all(each.done() for each in done) and len(rows_of(store)) == 500
    store.close()


def killed(senders: subprocess.Popen[str], address: str, first: int, lines: int) -> int:
    """Let a process send, kill it in the middle of its work, and say up to where it had acknowledged."""
    assert senders.stdin is not None and senders.stdout is not None
    senders.stdin.write(f"{address} {first} {AT_ONCE}\n")
    senders.stdin.flush()
    child = int(senders.stdout.readline())
    acknowledged = [first, *(int(senders.stdout.readline()) for _ in range(lines))]
    os.kill(child, signal.SIGKILL)
    while (line := senders.stdout.readline()) != "killed\n":
        acknowledged.append(int(line))
    return acknowledged[-1]


def test_kill_9_loses_nothing_that_was_acknowledged_and_doubles_nothing(address: str) -> None:
    acknowledged = 0
    command = [sys.executable, "-c", SENDERS]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as senders:
        for kill in range(KILLS):
            acknowledged = killed(senders, address, acknowledged, lines=3 + kill % 5)
            store = wait_for(lambda: _opened(address))
            with store.engine.connect() as connection:
                rows, ids, seqs, greatest = connection.exec_driver_sql(COUNTED).one()
            store.close()
            assert rows == ids == seqs == greatest + 1 >= acknowledged  # ids count from 0: none is missing
    assert acknowledged >= sum(3 + kill % 5 for kill in range(KILLS)) * AT_ONCE  # a hundred kills: 110,000


def _opened(address: str) -> Store | None:
    """PostgreSQL notices after a moment that the other side is gone."""
    try:
        return Store(address)
    except UsageError:
        return None


def test_a_hub_comes_back_with_marks_alerts_and_figures(address: str) -> None:
    hub = Hub(Store(address))
    events = [given(f"i{i}", who, "x" if i % 3 or who == "a" else "y") for i in range(30) for who in "ab"]
    hub.take_now(events)
    hub.mark("p", "second edition", 1.0)
    before = hub.fresh(("p", "q"))
    hub.close()
    again = Hub(Store(address))
    after = again.fresh(("p", "q"))
    assert before.agreement is not None and after.agreement is not None
    assert after.agreement.to_json() == before.agreement.to_json()
    assert (after.safe, after.trend, after.marks) == (before.safe, before.trend, before.marks)
    assert json.dumps(again.overview()) and again.marks == {"p": [(1.0, "second edition")]}
    again.close()
