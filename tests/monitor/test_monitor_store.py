"""What was acknowledged is there: after a restart, after kill −9, on SQLite and on PostgreSQL."""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import sys
import threading
import traceback
import tracemalloc
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from serving import given, labels, restored, wait_for

from postgres import Server
from spagree.errors import FileError, MissingExtraError, UsageError
from spagree.monitor import store as store_module
from spagree.monitor.hub import Hub
from spagree.monitor.ledger import Ledger, Reported
from spagree.monitor.store import BusyError, Store, StoreError, UnstorableError, Writer, alert_table


def held(store: Store, may_write: threading.Event) -> None:
    """The disk is slow: nothing is written until it may be."""
    write = store.write

    def slow(rows: Sequence[Reported]) -> None:
        may_write.wait(180)
        write(rows)

    store.write = slow  # type: ignore[method-assign]


Held = tuple[Store, Ledger, Writer]


@contextmanager
def writing(address: str) -> Iterator[Held]:
    store, ledger = Store(address), Ledger()
    writer = Writer(ledger, store, lambda changed: None)
    yield store, ledger, writer
    writer.close()
    store.close()


@pytest.fixture
def sqlite(tmp_path: Path) -> Iterator[Held]:
    with writing(str(tmp_path / "s.sqlite")) as found:
        yield found


def rows_of(store: Store) -> list[Reported]:
    return [Reported._make(row) for rows in store.tuples() for row in rows]


def row(number: int, **more: Any) -> Reported:
    whole = Reported("p", "q", "api", str(number), f"item {number}", "ann", "yes", 1.0, None, False, number, 5.0)
    return whole._replace(**more)


def test_many_rows_are_written_together_and_restored_as_they_were(address: str) -> None:
    """More than one statement takes, and some left over; texts, missing numbers and deletions as they are."""
    store, ledger = Store(address), Ledger()
    rows = [
        row(i, item=f"ï {i // 3}", version=None if i % 2 else 2.0, time=i / 2 if i % 3 else None, deleted=not i % 5)
        for i in range(1, 2 * store_module.TOGETHER + 8)
    ]
    store.write(rows)
    expected = [each._replace(label="no") for each in rows[:150]] + rows[150:]
    store.write(expected[:150])
    assert rows_of(store) == expected
    ledger.put(rows)
    ledger.put(expected)
    again = restored(store)
    for each in (ledger, again):
        assert [each.sheets["p", "q"].row(one[:4]) for one in expected] == expected
        assert each.seq == len(rows) and each.sheets["p", "q"].alive == sum(not one.deleted for one in rows)
    alike = [row(i, item="1", version=None, deleted=True) for i in range(1, store_module.TOGETHER + 1)]
    store.write(alike)
    assert rows_of(store) == alike + expected[len(alike) :]
    store.close()


def test_what_comes_while_the_writer_waits_shares_a_transaction(address: str) -> None:
    """Each request is answered with its own changes, also where they overlap."""
    events, may_write = [given(str(i), who, "x") for i in range(60) for who in "abc"], threading.Event()
    with writing(address) as (store, ledger, writer):
        held(store, may_write)
        first = writer.send(events[:60])
        wait_for(writer._queue.empty)
        later = [writer.send(each) for each in (events[50:120], [events[120]], events[100:180], [events[0]])]
        may_write.set()
        assert [first.result(180), *(each.result(180) for each in later)] == [60, 60, 1, 59, 0]
        assert writer.send(events).result() == 0
        assert [each[:10] for each in rows_of(store)] == [each[:10] for each in events]
        again = restored(store)
        assert again.columns("p", "q").frame().equals(ledger.columns("p", "q").frame())
        assert again.seq == ledger.seq == 180


def test_a_second_monitor_is_refused(address: str) -> None:
    store = Store(address)
    with pytest.raises(UsageError, match="another monitor uses this store"):
        Store(address)
    store.close()
    Store(address).close()


def test_a_lock_that_was_lost_with_its_connection_is_taken_again(postgres: Server) -> None:
    server = postgres.another("locks")
    store = Store(server.address)
    server.run("SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory'")

    def is_locked() -> bool:
        store.check()
        return bool(server.run("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'")[0][0])

    wait_for(is_locked)
    with pytest.raises(UsageError, match="another monitor uses this store"):
        Store(server.address)
    store.write([row(1)])
    store.close()
    Store(server.address).close()


def test_one_file_is_one_store_whatever_it_is_called(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    store = Store("labels.sqlite")
    Path("link.sqlite").symlink_to("labels.sqlite")
    Path("hard.sqlite").hardlink_to("labels.sqlite")
    names = ["./labels.sqlite", str(tmp_path / "labels.sqlite"), "link.sqlite"]
    for name in [*names, "hard.sqlite"] if sys.platform == "linux" else names:
        with pytest.raises(UsageError, match="another monitor uses this store"):
            Store(name)
    names = ["a b", "a%20b", "x", "x?y", "x#y", "sqlite:x", "~", "nö"]
    others = [Store(name) for name in names]
    for number, other in enumerate(others):
        other.write([row(number + 1)])
    for other in (store, *others):
        other.close()
    assert {path.name for path in tmp_path.iterdir()} >= {*names}
    assert sqlite3.connect("a%20b").execute("SELECT seq FROM spagree_annotations").fetchall() == [(2,)]


def test_elsewhere_than_on_linux_a_file_beside_the_store_is_locked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_module.sys, "platform", "darwin")
    (tmp_path / "link").symlink_to(tmp_path / "s.sqlite")
    store = Store(str(tmp_path / "s.sqlite"))
    with pytest.raises(UsageError, match="another monitor uses this store"):
        Store(str(tmp_path / "link"))
    store.close()
    assert (tmp_path / "s.sqlite.lock").exists()


@pytest.mark.parametrize(
    "address",
    ["", ":memory:", "file::memory:", "file:x?mode=memory", "sqlite://", "sqlite:///x.db", "mysql://h/d", "a\0b"],
)
def test_what_would_not_be_kept_is_refused(address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match="name a file"):
        Store(address)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("password", ["hush!hush", "p@hush", "h/hush", "a%40hush"])
@pytest.mark.parametrize(
    "address",
    [
        "postgresql://u:{}@h:x/d", "postgresql://u:{}@[h/d", "postgres://u@127.0.0.1:1/d?password={}",
        "postgresql://u:{}@127.0.0.1:1/d", "mysql://u:{}@h/d", "POSTGRESQL://u:{}@h/d", " postgresql://u:{}@h/d",
        "postgresql+psycopg://u:{}@h/d",
    ],
)  # fmt: skip
def test_no_password_of_an_address_is_shown(address: str, password: str) -> None:
    with pytest.raises((UsageError, FileError)) as refused:
        Store(address.format(password))
    assert "hush" not in str(refused.value)


def test_what_is_no_file_or_has_two_names_is_refused(tmp_path: Path) -> None:
    """A pipe would be waited for; under its other name, SQLite would not find what it had not yet moved into the file."""
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UsageError, match="a pipe or a device"):
        Store(str(tmp_path / "pipe"))
    Store(str(tmp_path / "s.sqlite")).close()
    (tmp_path / "t.sqlite").hardlink_to(tmp_path / "s.sqlite")
    for name in ("s.sqlite", "t.sqlite"):
        with pytest.raises(UsageError, match="hard link"):
            Store(str(tmp_path / name))


def test_nothing_is_acknowledged_while_the_file_is_not_there(sqlite: Held, tmp_path: Path) -> None:
    _, _, writer = sqlite
    file, away = tmp_path / "s.sqlite", tmp_path / "away"
    file.rename(away)
    events = [given(str(i), "ann", "x") for i in range(3)]
    for other in (False, True):
        if other:
            file.write_bytes(b"")
        with pytest.raises(StoreError, match="moved, removed or replaced"):
            writer.send(events).result()
    away.rename(file)
    assert writer.send(events).result() == 3


def test_what_was_kept_without_an_answer_is_not_there_twice(address: str) -> None:
    """The connection ends while it commits, and what is sent again comes in other company."""
    store = Store(address)
    hub, begin = Hub(store), store._writing

    @contextmanager
    def cut() -> Iterator[Any]:
        with begin() as connection:
            yield connection
        raise StoreError("the connection ended")

    hub.take_now([given("0", "ann", "x")])
    store._writing = cut  # type: ignore[method-assign]
    with pytest.raises(StoreError, match="the connection ended"):
        hub.take_now([given(str(i), "ann", "x") for i in range(1, 9)])
    store._writing = begin  # type: ignore[method-assign]
    assert hub.take_now([given("5", "ann", "x")]) == hub.take_now([given("5", "ann", "", deleted=True)]) == 1
    hub.close()
    again = Hub(Store(address))
    assert labels(again.ledger) == {("0", "ann"): "x"}
    again.close()


def test_a_database_that_does_not_wait_for_its_disk_is_told_to(postgres: Server) -> None:
    server = postgres.another("lazy")
    server.run("ALTER DATABASE lazy SET synchronous_commit = off", "ALTER DATABASE lazy SET client_encoding = latin1")
    store = Store(server.address)
    names = ("synchronous_commit", "client_encoding")
    with store.engine.connect() as connection:
        settings = [connection.execute(sa.text(f"SHOW {name}")).scalar() for name in names]
    store.write([row(1, label="\u2603")])
    assert "tester@127.0.0.1" in store.name and server.password not in store.name
    assert settings == ["on", "UTF8"] and rows_of(store) == [row(1, label="\u2603")]
    store.close()


def test_what_waits_is_counted_exactly_and_written_before_the_end(sqlite: Held) -> None:
    store, _, writer = sqlite
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)

    def send(name: str) -> None:
        for number in range(100):
            writer.send([given(str(number), name, "x")] * 7).result()

    threads = [threading.Thread(target=send, args=(name,)) for name in "abcdefgh"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    sys.setswitchinterval(interval)
    wait_for(lambda: writer._waiting == 0)
    done = [writer.send([given(str(i), "ann", "yes")]) for i in range(500)]
    writer.close()
    assert all(each.done() for each in done) and len(rows_of(store)) == 1300


def test_one_value_that_cannot_be_stored_is_refused_and_those_beside_it_are_not(postgres: Server) -> None:
    """Sent while the writer waits, so that they share a transaction."""
    may_write = threading.Event()
    with writing(postgres.another("unlike").address) as (store, _, writer):
        held(store, may_write)
        first = writer.send([given("0", "ann", "x")])
        wait_for(writer._queue.empty)
        sent = [writer.send([given(str(i), "ann", "x\0" if i == 50 else "x")]) for i in range(1, 100)]
        may_write.set()
        assert first.result(180) == 1
        refused = [number for number, each in enumerate(sent, 1) if each.exception(180)]
        assert refused == [50] and isinstance(sent[49].exception(), UnstorableError)
        assert writer.trouble is None and len(rows_of(store)) == 99


def test_failing_statements_are_told_without_their_values(address: str) -> None:
    store = Store(address)
    with store.engine.begin() as connection:
        connection.exec_driver_sql("DROP TABLE spagree_annotations")
    with pytest.raises(StoreError) as failed:
        store.write([row(1, label=chr(0x2603) * 3)])
    shown = "".join(traceback.format_exception(failed.value))
    assert chr(0x2603) not in shown and "spagree_annotations" in str(failed.value)
    store.close()


def test_another_schema_is_refused(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    Store(address).close()
    monkeypatch.setattr(store_module, "SCHEMA", 3)
    with pytest.raises(UsageError, match="another spagree"):
        Store(address)


def test_sqlite_waits_for_the_disk_and_can_be_copied_while_it_is_used(tmp_path: Path) -> None:
    store = Store(str(tmp_path / "s.sqlite"))
    with store.engine.connect() as connection:
        settings = [connection.execute(sa.text(f"PRAGMA {name}")).scalar() for name in ("journal_mode", "synchronous")]
    assert settings == ["wal", 2]
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


def test_without_its_driver_a_postgresql_store_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(MissingExtraError, match=r"spagree\[postgres\]"):
        Store("postgresql://127.0.0.1:1/labels")


def test_a_full_disk_keeps_nothing_of_the_batch_and_goes_on_once_there_is_room(sqlite: Held) -> None:
    """SQLite itself says that it is full, in the middle of a transaction."""
    store, ledger, writer = sqlite
    writer.send([given("1", "ann", "yes")]).result()
    many = [given(str(i), "bob", "no" * 100) for i in range(2000)]
    with store.engine.connect() as connection:
        pages = int(connection.exec_driver_sql("PRAGMA page_count").scalar())
        connection.exec_driver_sql(f"PRAGMA max_page_count={pages + 3}")
    with pytest.raises(StoreError) as failed:
        writer.send(many).result()
    assert "full" in str(failed.value) and "Traceback" not in str(failed.value)
    assert ledger.columns("p", "q").frame().height == len(rows_of(store)) == 1
    with store.engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA max_page_count=1000000")
    assert writer.send(many).result() == 2000
    assert ledger.columns("p", "q").frame().height == len(rows_of(store)) == 2001


def test_a_million_annotations_fit_on_a_small_machine(tmp_path: Path) -> None:
    """About 50 B on disk for each, as docs/monitor.md says, and 400 B in memory before anything is measured."""
    size, path = 20_000, tmp_path / "s.sqlite"
    store = Store(str(path))
    texts = [(str(i), f"item {i // 3}", f"a{i % 48}", "xyz"[i % 3]) for i in range(size)]
    store.write([Reported("p", "q", "api", *each, 1.0, 5.0, False, seq, 5.0) for seq, each in enumerate(texts, 1)])
    store.close()
    assert path.stat().st_size < 80 * size
    store, ledger = Store(str(path)), Ledger()
    tracemalloc.start()
    try:
        for rows in store.tuples():
            ledger.put(rows)
        del rows
        ours = tracemalloc.take_snapshot().filter_traces([tracemalloc.Filter(True, "*/spagree/*")])  # no other thread's
        assert 50 * size < sum(each.size for each in ours.traces) < 400 * size
    finally:
        tracemalloc.stop()
        store.close()


def test_whoever_hangs_up_neither_stops_the_writer_nor_loses_the_annotation(sqlite: Held) -> None:
    """One request is cancelled while the disk is slow, another one's event loop is closed by then."""
    store, _, writer = sqlite
    may_write = threading.Event()
    held(store, may_write)

    async def take(item: str) -> int:
        return await writer.take([given(item, "ann", "yes")])

    async def hang_up(item: str) -> None:
        task = asyncio.create_task(take(item))
        await asyncio.sleep(0)
        task.cancel()

    async def stay() -> int:
        await hang_up("1")
        task = asyncio.create_task(take("2"))
        await asyncio.sleep(0)
        may_write.set()
        return await task

    asyncio.run(hang_up("0"))
    assert asyncio.run(stay()) == 1
    writer.close()
    assert sorted(row.item for row in rows_of(store)) == ["0", "1", "2"]


def test_a_failure_is_told_and_too_much_waiting_is_refused(sqlite: Held, monkeypatch: pytest.MonkeyPatch) -> None:
    store, _, writer = sqlite
    store.write = lambda rows: 1 / 0  # type: ignore[assignment, method-assign, return-value]
    with pytest.raises(StoreError, match="ZeroDivisionError"):
        writer.send([given("1", "ann", "yes")]).result()
    monkeypatch.setattr(store_module, "WAITING", -1)
    with pytest.raises(BusyError):
        writer.send([given("1", "ann", "yes")])


def test_a_clock_set_back_does_not_turn_time_round(sqlite: Held, monkeypatch: pytest.MonkeyPatch) -> None:
    _, ledger, writer = sqlite
    clock = iter([1000.0, 10.0])
    monkeypatch.setattr(store_module.time, "time", lambda: next(clock))
    writer.send([given("1", "ann", "yes")]).result()
    writer.send([given("1", "bob", "yes")]).result()
    monkeypatch.undo()
    assert ledger.columns("p", "q").time.tolist() == [1000.0, pytest.approx(1000.0)]


def test_a_hub_comes_back_with_marks_alerts_and_figures(address: str) -> None:
    """Of an alert that has ended, the end; of marks their order in time."""
    hub = Hub(Store(address))
    hub.take_now([given(f"i{i}", "a", "x") for i in range(30)])
    wait_for(lambda: hub.store.rows(alert_table, "began"))
    hub.take_now([given(f"i{i}", "b", "x" if i % 3 else "y") for i in range(30)])
    wait_for(lambda: hub.store.rows(alert_table, "began")[0]["ended"])
    for at, text in ((2.0, "third edition"), (1.0, "second edition")):
        hub.mark("p", text, at)
    before = hub.live(("p", "q"), now=True)
    hub.close()
    again = Hub(Store(address))
    after = again.live(("p", "q"), now=True)
    assert before.agreement is not None and after.agreement is not None
    assert after.agreement.to_json() == before.agreement.to_json()
    assert (after.safe, after.trend, after.marks) == (before.safe, before.trend, before.marks)
    assert again.marks == hub.marks == {"p": [(1.0, "second edition"), (2.0, "third edition")]}
    assert again.register.past == hub.register.past and [each.code for each in again.register.past] == ["no_overlap"]
    assert json.dumps(again.overview())
    again.close()


def test_all_requests_of_a_transaction_wake_their_loop_once(sqlite: Held, monkeypatch: pytest.MonkeyPatch) -> None:
    store, _, writer = sqlite
    may_write = threading.Event()
    held(store, may_write)
    woken: list[Any] = []

    async def take() -> list[int]:
        loop = asyncio.get_running_loop()
        first = asyncio.create_task(writer.take([given("first", "ann", "yes")]))
        await asyncio.sleep(0.2)
        rest = [asyncio.create_task(writer.take([given(str(i), "ann", "yes")])) for i in range(50)]
        await asyncio.sleep(0)
        wake = loop.call_soon_threadsafe
        monkeypatch.setattr(loop, "call_soon_threadsafe", lambda *args: (woken.append(args), wake(*args))[1])
        may_write.set()
        return await asyncio.gather(first, *rest)

    assert asyncio.run(take()) == [1] * 51
    assert len(woken) == 2  # one for the first, one for all that waited meanwhile
