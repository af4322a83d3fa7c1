"""The durable store: SQLite for one machine, PostgreSQL for a team; one schema, one writer.

A row is acknowledged after its transaction is on disk (SQLite: WAL with synchronous=FULL; PostgreSQL: its
default). The ledger numbers rows and alone decides whether an annotation is new: the number is the only key,
so writing a row appends to a single tree. The schema has a number too; a store of another one is refused.

A lock keeps a second monitor out, but a lock can be lost with its connection. So whoever opens the store raises its
epoch, and every transaction ends by looking whether the epoch is still its own: what was taken over writes nothing.
"""

from __future__ import annotations

import asyncio
import os
import queue
import re
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from functools import cache, partial
from itertools import chain, count
from math import inf, nextafter
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from spagree.errors import DataError, FileError, MissingExtraError, UsageError, shown
from spagree.monitor.ledger import Event, Key, Ledger, Reported
from spagree.read.databases.addresses import is_server, not_understood, public, refuse_ambiguous, without_secrets

SCHEMA = 2
LOCK = 0x5BA61EE  # of PostgreSQL, held while a monitor writes
DURABLE = "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'"
CUT = {"connect_timeout": 10, "tcp_user_timeout": 30_000, "keepalives_idle": 30}  # when a network counts as cut
AT_ONCE = 50_000  # rows read in one go
TOGETHER = 100  # rows written by one statement
MOST = 20_000  # events in a transaction
WAITING = 200_000  # events that may wait for the disk before new ones are refused
NOT_STORED = "the store did not accept it ({}); nothing was stored: send it again later"

metadata = sa.MetaData()


def _key(name: str, kind: Any) -> sa.Column[Any]:
    return sa.Column(name, kind, primary_key=True, autoincrement=False)


def _filled(name: str, kind: Any) -> sa.Column[Any]:
    return sa.Column(name, kind, nullable=False)


about = sa.Table("spagree_store", metadata, _key("schema_version", sa.Integer), _filled("epoch", sa.Integer))
annotation_table = sa.Table(
    "spagree_annotations",
    metadata,
    *(_filled(name, sa.Text) for name in Reported._fields[:7]),
    sa.Column("version", sa.Double),
    sa.Column("time", sa.Double),
    _filled("deleted", sa.Boolean),
    _key("seq", sa.BigInteger().with_variant(sa.Integer, "sqlite")),
    _filled("arrived", sa.Double),
)
mark_table = sa.Table(
    "spagree_marks", metadata, _key("project", sa.Text), _key("time", sa.Double), _filled("text", sa.Text)
)
alert_table = sa.Table(
    "spagree_alerts",
    metadata,
    *(_key(name, sa.Text) for name in ("project", "question", "code", "subject")),
    _key("began", sa.Double),
    sa.Column("ended", sa.Double),
    _filled("document", sa.Text),
)


class StoreError(FileError):
    """The store failed; nothing was stored or counted."""


class TakenOverError(StoreError):
    """Another monitor has taken the store over."""


class UnstorableError(DataError):
    """A value that the store cannot hold."""


class BusyError(Exception):
    """Too many events are waiting."""


Done = Future[int] | asyncio.Future[int]
Request = tuple[Sequence[Event], Done]


class Store:
    """The open store; one process at a time."""

    def __init__(self, address: str) -> None:
        self.is_postgres = is_server(address)
        self.name = public(address)
        self._lock: Any = None
        self._path = Path(address).absolute()
        self._stored = 0  # the highest number that is certainly on disk
        self._is_certain = True
        self.engine = _postgres(address) if self.is_postgres else _sqlite(address)
        self._one, self._many = self._statement(1), cache(partial(self._statement, TOGETHER))
        try:
            self._hold()
            self.epoch = self._taken_over()
        except (sa.exc.SQLAlchemyError, OSError, ValueError) as error:
            self.close()
            if isinstance(error, UsageError):
                raise
            cause = without_secrets(_cause(error), address)
            raise FileError(f"{self.name}: cannot be used as a store ({cause}); name another --store") from None

    def _hold(self) -> None:
        """One monitor at a time: two would not see each other's annotations."""
        is_free = True
        if self.is_postgres:
            self._lock = self.engine.connect()
            is_free = self._has_lock()
        else:  # on Linux the file itself, whatever its name: elsewhere SQLite's own locks are of the same kind
            if self._path.exists() and not self._path.is_file() and not self._path.is_dir():
                raise UsageError(f"{self.name}: a pipe or a device keeps nothing; name a file, or postgresql://…")
            locked = self._path if sys.platform == "linux" else Path(f"{self._path.resolve()}.lock")
            self._lock = locked.open("ab")
            with suppress(ImportError):  # Windows has the epoch alone
                import fcntl

                try:
                    fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except OSError:
                    is_free = False
        if not is_free:
            raise UsageError(f"{self.name}: another monitor uses this store; stop it, or name another --store")
        if not self.is_postgres and os.fstat(self._lock.fileno()).st_nlink > 1:
            raise UsageError(
                f"{self.name}: has another name (a hard link), and what SQLite has not yet moved into the file lies "
                "beside one of them; remove the other name, or copy the store"
            )

    def _taken_over(self) -> int:
        """Create the tables if there are none; the epoch that begins now."""
        with self.engine.begin() as connection:
            metadata.create_all(connection)
            version = connection.execute(sa.select(about.c.schema_version)).scalar()
            if version is None:
                connection.execute(about.insert().values(schema_version=SCHEMA, epoch=0))
            elif version != SCHEMA:
                raise UsageError(
                    f"{self.name}: written by another spagree (schema {version}, not {SCHEMA}); use that one, or name "
                    "another --store"
                )
            connection.execute(about.update().values(epoch=about.c.epoch + 1))
            self._stored = connection.execute(sa.select(sa.func.max(annotation_table.c.seq))).scalar() or 0
            return int(connection.execute(sa.select(about.c.epoch)).scalar_one())

    @contextmanager
    def _writing(self) -> Iterator[sa.Connection]:
        """A transaction, which is kept only if nobody has taken over; a failure says why."""
        held = sa.select(about.c.epoch).with_for_update(read=True)  # who takes over waits for this
        try:
            with self.engine.begin() as connection:
                yield connection
                if connection.execute(held).scalar() != self.epoch:
                    raise TakenOverError(f"{self.name}: another monitor has taken this store over; this one stops")
                if not self.is_postgres and self._lock is not None:
                    there = self._path.stat()  # under the name under which it will be looked for
                    if sys.platform == "linux" and not os.path.samestat(there, os.fstat(self._lock.fileno())):
                        raise FileNotFoundError
        except FileNotFoundError:
            raise StoreError(NOT_STORED.format(f"{self.name} was moved, removed or replaced; put it back")) from None
        except (sa.exc.DataError, ValueError, OverflowError) as error:
            raise UnstorableError(f"a value cannot be stored ({_cause(error)}); remove it") from None
        except (sa.exc.SQLAlchemyError, OSError) as error:
            if isinstance(error, StoreError):
                raise
            raise StoreError(NOT_STORED.format(_cause(error))) from error

    def _has_lock(self) -> bool:
        """Whether PostgreSQL's lock is ours, or free and then taken; a connection that was lost is made again."""
        self._lock.rollback()
        is_ours = bool(self._lock.execute(sa.select(sa.func.pg_try_advisory_lock(LOCK))).scalar())
        self._lock.commit()
        return is_ours

    def check(self, *, by_writing: bool = True) -> None:
        """Raise if nothing could be stored now; take a lock again that was lost."""
        if self.is_postgres and self._lock is not None:
            with suppress(sa.exc.SQLAlchemyError):
                self._has_lock()
        with self._writing() as connection:
            if by_writing:
                connection.execute(about.update().values(epoch=about.c.epoch))

    def _statement(self, rows: int, shared: tuple[int, ...] = ()) -> str:
        """What writes some rows at once, sent to the driver as it is: SQLAlchemy's own costs more than the insert.

        Many rows in one statement take the interpreter's lock once, and leave it to the event loop in between. Passing
        values is most of the cost: those of the columns that all rows ``shared`` come first, and once.
        """
        free, columns = count(len(shared) + 1), range(len(Reported._fields))
        places = [[shared.index(n) + 1 if n in shared else next(free) for n in columns] for _ in range(rows)]
        numbered = [f"({', '.join(f'?{place}' for place in row)})" for row in places]
        one = str(self._insert(annotation_table).compile(self.engine, column_keys=list(annotation_table.c.keys())))
        return re.sub(
            r"VALUES (\([^)]*\))", lambda found: f"VALUES {', '.join(numbered if shared else [found[1]] * rows)}", one
        )

    def tuples(self) -> Iterator[Sequence[tuple[Any, ...]]]:
        """Every stored row in the order of arrival, tens of thousands at a time, straight from the driver."""
        with self.engine.connect() as connection:
            name = ("rows",) if self.is_postgres else ()  # a named cursor does not fetch everything at once
            cursor = connection.connection.cursor(*name)
            cursor.execute(str(sa.select(annotation_table).order_by(annotation_table.c.seq)))
            while rows := cursor.fetchmany(AT_ONCE):
                yield rows
            cursor.close()

    def write(self, rows: Sequence[Reported]) -> None:
        """Store rows, new or changed, in one transaction; returns once they are on disk. For one thread alone.

        A connection that ends while it commits leaves open whether that happened, and the numbers are given again. So
        the next transaction begins by removing the rows that nobody was told are stored.
        """
        was_certain, self._is_certain = self._is_certain, False
        whole = len(rows) // TOGETHER * TOGETHER
        with self._writing() as connection:
            if not was_certain:
                connection.execute(annotation_table.delete().where(annotation_table.c.seq > self._stored))
            for start in range(0, whole, TOGETHER):
                columns = list(zip(*rows[start : start + TOGETHER], strict=True))
                same = (n for n, column in enumerate(columns) if column.count(column[0]) == TOGETHER)
                shared = () if self.is_postgres else tuple(same)
                varying = zip(*(column for n, column in enumerate(columns) if n not in shared), strict=True)
                values = (*(columns[n][0] for n in shared), *chain.from_iterable(varying))
                connection.exec_driver_sql(self._many(shared), values)
            if whole < len(rows):
                connection.exec_driver_sql(self._one, [tuple(row) for row in rows[whole:]])
        self._stored, self._is_certain = max(self._stored, *(row.seq for row in rows)), True

    def put(self, table: sa.Table, rows: list[dict[str, Any]]) -> None:
        """Store rows of another table, new or changed."""
        with self._writing() as connection:
            connection.execute(self._insert(table), rows)

    def rows(self, table: sa.Table, order: str) -> list[dict[str, Any]]:
        """Every row of another table, ordered by a column."""
        with self.engine.connect() as connection:
            return [dict(row) for row in connection.execute(sa.select(table).order_by(table.c[order])).mappings()]

    def _insert(self, table: sa.Table) -> Any:
        insert: Callable[..., Any] = postgresql.insert if self.is_postgres else sqlite.insert
        statement = insert(table)
        rest = {column.name: statement.excluded[column.name] for column in table.c if not column.primary_key}
        return statement.on_conflict_do_update(index_elements=list(table.primary_key.columns), set_=rest)

    def close(self) -> None:
        """Close the connections and let another process in."""
        if self.is_postgres and self._lock is not None:
            with suppress(sa.exc.SQLAlchemyError):  # a server may notice a closed connection late
                self._lock.execute(sa.select(sa.func.pg_advisory_unlock_all()))
            self._lock.close()
        self.engine.dispose()
        if not self.is_postgres and self._lock is not None:  # at last: it would take SQLite's own locks along
            self._lock.close()


def _sqlite(address: str) -> sa.Engine:
    if not address or "\0" in address or address.startswith((":", "file:")) or "://" in address:
        what = "nothing that outlives the monitor" if address in ("", ":memory:") else "neither a file nor PostgreSQL"
        raise UsageError(f"--store {shown(public(address))}: {what}; name a file, or postgresql://…")
    url = sa.URL.create("sqlite", database=address)  # as it is: part of a text, ? and % would mean something
    engine = sa.create_engine(url, hide_parameters=True, connect_args={"timeout": 30, "check_same_thread": False})

    @sa.event.listens_for(engine, "connect")
    def _durable(connection: Any, _record: Any) -> None:
        for setting in ("journal_mode=WAL", "synchronous=FULL", "busy_timeout=30000"):
            connection.execute(f"PRAGMA {setting}").close()

    return engine


def _postgres(address: str) -> sa.Engine:
    try:
        import psycopg
    except ImportError:
        raise MissingExtraError("postgres", "a PostgreSQL store") from None
    refuse_ambiguous(address)
    try:
        parameters = psycopg.conninfo.conninfo_to_dict(address)
    except psycopg.Error:
        raise not_understood(address) from None
    given = {**CUT, **parameters, "client_encoding": "UTF8"}
    usual: dict[str, Any] = {"pool_pre_ping": True, "paramstyle": "format", "hide_parameters": True}
    engine = sa.create_engine("postgresql+psycopg://", connect_args=given, **usual)

    @sa.event.listens_for(engine, "connect")
    def _durable(connection: Any, _record: Any) -> None:
        connection.execute(DURABLE)
        connection.commit()

    return engine


def _cause(error: Exception) -> str:
    """The database's message, without the statement and its values."""
    origin = getattr(error, "orig", None) or error
    return str(origin).strip().splitlines()[0]


class Writer:
    """Stores events; each request completes once durable, with the number of annotations it changed."""

    def __init__(self, ledger: Ledger, store: Store, changed: Callable[[set[tuple[str, str]]], None]) -> None:
        self._ledger, self._store, self._changed = ledger, store, changed
        self._queue: queue.SimpleQueue[Request | None] = queue.SimpleQueue()
        self._waiting, self._counting = 0, threading.Lock()
        self.trouble: StoreError | None = None  # why nothing can be stored now
        self._thread = threading.Thread(target=self._run, name="writer", daemon=True)
        self._thread.start()

    def send(self, events: Sequence[Event]) -> Future[int]:
        """Queue events for storing, from any thread that can wait."""
        done = Future[int]()
        self._ask(events, done)
        return done

    async def take(self, events: Sequence[Event]) -> int:
        """Store events, even if whoever sent them hangs up; returns once they are durable."""
        done: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._ask(events, done)
        return await done

    def _ask(self, events: Sequence[Event], done: Done) -> None:
        if self._waiting > WAITING:
            raise BusyError("too many events are waiting for the disk; send it again in a few seconds")
        if isinstance(self.trouble, TakenOverError):
            raise self.trouble
        with self._counting:
            self._waiting += len(events)
        self._queue.put((events, done))

    def close(self) -> None:
        """Write waiting events, then end."""
        self._queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        is_open = True
        while is_open:
            requests, size = list[Request](), 0
            with suppress(queue.Empty):  # what is waiting now, up to a limit, shares a transaction
                while size < MOST and is_open:
                    request = self._queue.get(block=not requests)
                    if request is None:
                        is_open = False
                    else:
                        requests.append(request)
                        size += len(request[0])
            if requests:
                self._write(requests)
            with self._counting:
                self._waiting -= size

    def _write(self, requests: Sequence[Request]) -> None:
        answers: list[int | Exception] = []
        fresh: dict[Key, Reported] = {}
        try:
            now = self._ledger.moment = max(time.time(), nextafter(self._ledger.moment, inf))
            for events, _ in requests:
                before = len(fresh)
                self._ledger.changes(events, now, fresh)
                answers.append(len(fresh) - before)
            if fresh:
                self._store.write(list(fresh.values()))
                self._ledger.put(fresh.values())
            self.trouble = None
        except UnstorableError as error:
            fresh, answers = {}, [error]
            if len(requests) > 1:  # each is judged by itself: the others are stored
                for request in requests:
                    self._write([request])
                return
        except Exception as error:  # whatever the error, nobody may believe the events were stored
            failed = error if isinstance(error, StoreError) else StoreError(NOT_STORED.format(type(error).__name__))
            failed.__cause__ = None if failed is error else error
            self.trouble, fresh, answers = failed, {}, [failed] * len(requests)
        by_loop: defaultdict[asyncio.AbstractEventLoop | None, list[tuple[Done, int | Exception]]] = defaultdict(list)
        for (_, done), answer in zip(requests, answers, strict=True):
            by_loop[None if isinstance(done, Future) else done.get_loop()].append((done, answer))
        for loop, pairs in by_loop.items():  # each is woken once for all of its requests
            with suppress(RuntimeError):  # a loop that is closed: nobody is waiting
                _answer(pairs) if loop is None else loop.call_soon_threadsafe(_answer, pairs)
        if fresh:
            self._changed({key[:2] for key in fresh})


def _answer(pairs: Sequence[tuple[Done, int | Exception]]) -> None:
    for done, answer in pairs:
        if done.done():  # whoever sent it has hung up
            continue
        if isinstance(answer, Exception):
            done.set_exception(answer)
        else:
            done.set_result(answer)
