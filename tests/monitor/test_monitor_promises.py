"""Faults × promises: whatever happens to the store or the connection, what was acknowledged is there, and only once.

SPAGREE_FAULTS=12 runs every fault twelve times with a thousand acknowledgements around it: 200 faults and more than
200,000 acknowledgements, as docs/monitor.md says.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
import sqlalchemy as sa
from serving import Running, command, running, wait_for

from postgres import Server
from spagree.monitor import hub as hub_module
from spagree.monitor import security
from spagree.monitor import store as store_module
from spagree.monitor.store import Store, about
from spagree.read.databases.addresses import is_server

ROUNDS = int(os.environ.get("SPAGREE_FAULTS", "1"))
AROUND = 40 if ROUNDS == 1 else 500  # acknowledgements before and after a fault
SIZES = (1, 20)  # of what each sender posts at once

Monitor = Callable[[], Any]
Fault = Callable[[Running, str], Any]


class Senders:
    """Programs that post numbered annotations, and post again what was refused or not answered."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.acknowledged: list[str] = []
        self.refused: list[tuple[int, str]] = []
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._run, args=(size,)) for size in SIZES]
        for thread in self._threads:
            thread.start()

    def _run(self, size: int) -> None:
        number = 0
        with httpx.Client(timeout=60) as client:
            while not self._stop.is_set():
                items = [f"{size}:{n}" for n in range(number, number + size)]
                body = [
                    {"item": item, "annotator": "ann", "label": "x", "project": "p", "question": "q"} for item in items
                ]
                try:
                    answer = client.post(f"{self.address}/api/v1/annotations", json=body)
                except httpx.TransportError:
                    time.sleep(0.02)
                    continue
                if answer.status_code == 200:
                    self.acknowledged += items
                    number += size
                else:
                    self.refused.append((answer.status_code, answer.json()["error"]))
                    time.sleep(0.02)

    def more(self, count: int = AROUND) -> None:
        """Wait for so many acknowledgements from now on."""
        aim = len(self.acknowledged) + count
        wait_for(lambda: len(self.acknowledged) >= aim)

    def close(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(120)


def kept(address: str) -> Counter[str]:
    store = Store(address)
    found = Counter(row[4] for rows in store.tuples() for row in rows)
    store.close()
    return found


def check(senders: Senders, address: str) -> None:
    found = kept(address)
    lost = [item for item in senders.acknowledged if item not in found]
    assert lost == [] and max(found.values()) == 1
    assert all(status == 503 and len(words) > 20 for status, words in senders.refused), senders.refused


@contextmanager
def with_pragma(monitor: Running, _: str, *, on: str, off: str) -> Iterator[None]:
    """What SQLite itself says when nothing more fits, or when the file may only be read."""
    engine = monitor.hub.store.engine
    setting = [on]

    def set_it(connection: Any, *_: object) -> None:
        connection.execute(f"PRAGMA {setting[0]}").close()

    sa.event.listen(engine, "checkout", set_it)
    yield
    setting[0] = off


@contextmanager
def locked_by_another(monitor: Running, address: str) -> Iterator[None]:
    """The disk takes a second, or another program has the store."""
    is_postgres = monitor.hub.store.is_postgres
    engine = store_module._postgres(address) if is_postgres else store_module._sqlite(address)
    with engine.connect() as connection:
        connection.exec_driver_sql("LOCK spagree_annotations" if is_postgres else "BEGIN IMMEDIATE")
        time.sleep(1)
        connection.rollback()
    engine.dispose()
    yield


@contextmanager
def in_postgres(monitor: Running, address: str, *, on: str, off: str = "SELECT 1") -> Iterator[None]:
    engine = store_module._postgres(address).execution_options(isolation_level="AUTOCOMMIT")
    database = address.rpartition("/")[2]
    with engine.connect() as connection:
        for statement in on.format(database=database).split(";;"):
            connection.exec_driver_sql(statement)
        yield
        connection.exec_driver_sql("SET default_transaction_read_only = off")
        for statement in off.format(database=database).split(";;"):
            connection.exec_driver_sql(statement)
    engine.dispose()


OTHERS = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{database}' AND pid <> pg_backend_pid()"
)
LOCKS = "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND pid <> pg_backend_pid()"
FULL = (
    "CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS "
    "$$ BEGIN RAISE 'No space left on device' USING ERRCODE = '53100'; END $$;;"
    "CREATE TRIGGER full_disk BEFORE INSERT ON spagree_annotations EXECUTE FUNCTION full_disk()"
)
READ_ONLY = f"ALTER DATABASE {{database}} SET default_transaction_read_only = on;;{OTHERS}"
WRITABLE = f"ALTER DATABASE {{database}} RESET default_transaction_read_only;;{OTHERS}"


@contextmanager
def an_hour_back(monitor: Running, address: str) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store_module.time, "time", lambda: time.time_ns() / 1e9 - 3600)
        yield


def connected(monitor: Running) -> socket.socket:
    host, port = monitor.address.removeprefix("http://").split(":")
    return socket.create_connection((host, int(port)), timeout=60)


@contextmanager
def ten_megabytes_of_head(monitor: Running, _: str) -> Iterator[None]:
    with closing(connected(monitor)) as one, suppress(OSError):
        one.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ")
        for _megabyte in range(10):
            one.sendall(b"x" * 1_000_000)
    with closing(connected(monitor)) as one:
        one.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: " + b"x" * (security.LARGEST_HEAD + 1))
        assert one.recv(100).startswith(b"HTTP/1.1 431 ")
    yield


@contextmanager
def slow_heads(monitor: Running, _: str) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(security, "SLOWEST_HEAD", 0.5)
        slow = [connected(monitor) for _ in range(100)]
        for each in slow:
            each.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n")
        yield
        assert all(each.recv(100) == b"" for each in slow)  # hung up
        for each in slow:
            each.close()


FULL_PRAGMA = {"on": "max_page_count=1", "off": "max_page_count=1000000"}
SQLITE: dict[str, tuple[Fault, bool]] = {  # name → the fault, and whether nothing can be stored meanwhile
    "full disk": (partial(with_pragma, **FULL_PRAGMA), True),
    "read-only": (partial(with_pragma, on="query_only=ON", off="query_only=OFF"), True),
    "slow disk": (locked_by_another, False),
    "clock back": (an_hour_back, False),
    "10 MB of head": (ten_megabytes_of_head, False),
    "slow heads": (slow_heads, False),
}
POSTGRES: dict[str, tuple[Fault, bool]] = {
    "full disk": (partial(in_postgres, on=FULL, off="DROP FUNCTION full_disk CASCADE"), True),
    "read-only": (partial(in_postgres, on=READ_ONLY, off=WRITABLE), True),
    "slow disk": (locked_by_another, False),
    "connections lost": (partial(in_postgres, on=OTHERS), False),
    "lock lost": (partial(in_postgres, on=LOCKS), False),
    "clock back": (an_hour_back, False),
}


@pytest.mark.parametrize(
    ("address", "name"),
    [("sqlite", name) for name in SQLITE] + [("postgresql", name) for name in POSTGRES],
    indirect=["address"],
)
def test_nothing_acknowledged_is_lost(address: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """While a fault lasts whoever posts is told why, /healthz says so, and afterwards it goes on."""
    fault, is_refusing = (POSTGRES if is_server(address) else SQLITE)[name]
    monkeypatch.setattr(hub_module, "CHECKED_EVERY", 0.2)
    with running(address) as monitor, closing(Senders(monitor.address)) as senders:
        for _ in range(ROUNDS):
            senders.more()
            with fault(monitor, address):
                if is_refusing:
                    refused = len(senders.refused)
                    wait_for(lambda: len(senders.refused) > refused)  # noqa: B023
                    health = wait_for(lambda: _unhealthy(monitor))
                    assert health["status"] == "failing" and "stored" in health["error"]
                else:
                    senders.more()
            senders.more()
            wait_for(lambda: monitor.client.get("/healthz").status_code == 200)
    check(senders, address)


def _unhealthy(monitor: Running) -> dict[str, Any] | None:
    answer = monitor.client.get("/healthz")
    return dict(answer.json()) if answer.status_code == 503 else None


class Cable:
    """Between the monitor and PostgreSQL; it can be cut, and joined again."""

    def __init__(self, port: int) -> None:
        self._to, self._is_cut = port, False
        self._ends: list[socket.socket] = []
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                here, _ = self._listening.accept()
                if self._is_cut:
                    here.close()
                    continue
                there = socket.create_connection(("127.0.0.1", self._to))
                self._ends += [here, there]
                for one, other in ((here, there), (there, here)):
                    threading.Thread(target=self._pass_on, args=(one, other), daemon=True).start()

    @staticmethod
    def _pass_on(one: socket.socket, other: socket.socket) -> None:
        with suppress(OSError):
            while data := one.recv(65536):
                other.sendall(data)
        with suppress(OSError):
            other.shutdown(socket.SHUT_RDWR)

    def cut(self) -> None:
        self._is_cut = True
        for each in self._ends:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def join(self) -> None:
        self._is_cut = False

    def close(self) -> None:
        self.cut()
        self._listening.close()
        for each in self._ends:
            each.close()


def test_a_cut_network_is_told_and_outlived(postgres: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub_module, "CHECKED_EVERY", 0.2)
    server = postgres.another("cut")
    with closing(Cable(server.port)) as cable:
        address = server.address.replace(f":{server.port}/", f":{cable.port}/")
        with running(address) as monitor:
            with closing(Senders(monitor.address)) as senders:
                for _ in range(ROUNDS):
                    senders.more()
                    cable.cut()
                    wait_for(lambda: senders.refused and _unhealthy(monitor))
                    cable.join()
                    senders.more()
            assert server.password not in str(senders.refused)
    check(senders, server.address)


def test_whoever_was_taken_over_acknowledges_nothing_more(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The lock is gone with its connection, or never was: the second monitor numbers rows, the first one stops."""
    monkeypatch.setattr(hub_module, "CHECKED_EVERY", 0.2)
    monkeypatch.setattr(Store, "_hold", lambda self: None)
    with running(address) as first, closing(Senders(first.address)) as one:
        one.more()
        with running(address) as second:
            with closing(Senders(second.address)) as two:
                wait_for(lambda: one.refused and first.hub.has_lost_store.is_set())
                acknowledged = len(one.acknowledged)
                two.more()
            assert "another monitor has taken this store over" in str(one.refused[-1])
            assert "taken" in first.client.get("/healthz").json()["error"]
            assert len(one.acknowledged) == acknowledged
    check(one, address)
    check(two, address)


@pytest.mark.parametrize("way", ["kill", "terminate"])
def test_a_monitor_that_ends_in_the_middle_has_kept_what_it_acknowledged(address: str, way: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    line = [sys.executable, "-m", "spagree", "monitor", "--port", str(port), "--store", address]
    with closing(Senders(f"http://127.0.0.1:{port}")) as senders:
        for _ in range(ROUNDS):
            with subprocess.Popen(line, stderr=subprocess.DEVNULL) as process:
                senders.more()
                getattr(process, way)()
    check(senders, address)


def test_a_taken_monitor_ends_with_an_error(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    with command("--store", str(path)) as (process, address):
        engine = sa.create_engine(sa.URL.create("sqlite", database=str(path)))
        with engine.begin() as connection:
            connection.execute(about.update().values(epoch=about.c.epoch + 1))
        engine.dispose()
        body = {"item": "1", "annotator": "a", "label": "x"}
        answer = httpx.post(f"{address}api/v1/annotations", json=body, timeout=60)
        assert answer.status_code == 503 and "taken this store over" in answer.text
        _, err = process.communicate(timeout=180)
        assert process.returncode == 4 and "taken this store over" in err
