"""One thread writes: all waiting events go into one transaction and are acknowledged once on disk."""

from __future__ import annotations

import asyncio
import queue
import threading
import time
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass

from spagree.monitor.events import Batch, Events, Key, Row
from spagree.monitor.ledger import Ledger
from spagree.monitor.store import Store

MOST = 20_000  # events in a transaction
WAITING = 200_000  # events that may wait for the disk before new ones are refused


class StoreError(Exception):
    """The store failed; nothing was stored or counted."""


class BusyError(Exception):
    """Too many events are waiting for the disk; send them again later."""


Done = Future[int] | asyncio.Future[int]


@dataclass(frozen=True, slots=True)
class _Request:
    events: Events
    done: Done


class Writer:
    """Stores events; each request completes once durable, with the number of annotations it changed."""

    def __init__(self, ledger: Ledger, store: Store, changed: Callable[[set[tuple[str, str]]], None]) -> None:
        self._ledger, self._store, self._changed = ledger, store, changed
        self._queue: queue.SimpleQueue[_Request | None] = queue.SimpleQueue()
        self._waiting = 0
        self._latest = 0.0
        self._thread = threading.Thread(target=self._run, name="writer", daemon=True)
        self._thread.start()

    def send(self, events: Events) -> Future[int]:
        """Queue events for storing, from any thread."""
        done: Future[int] = Future()
        self._ask(events, done)
        return done

    async def take(self, events: Events) -> int:
        """Store events; returns once they are durable."""
        done: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._ask(events, done)
        return await done

    def _ask(self, events: Events, done: Done) -> None:
        if self._waiting > WAITING:
            raise BusyError
        self._waiting += len(events)
        self._queue.put(_Request(events, done))

    def close(self) -> None:
        """Write waiting events, then end."""
        self._queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        while (first := self._queue.get()) is not None:
            requests, is_last = self._gathered(first)
            self._write(requests)
            self._waiting -= sum(len(request.events) for request in requests)
            if is_last:
                return

    def _gathered(self, first: _Request) -> tuple[list[_Request], bool]:
        """The events waiting now, up to a limit."""
        requests, size = [first], len(first.events)
        while size < MOST:
            try:
                request = self._queue.get_nowait()
            except queue.Empty:
                break
            if request is None:
                return requests, True
            requests.append(request)
            size += len(request.events)
        return requests, False

    def _write(self, requests: Sequence[_Request]) -> None:
        try:
            questions, sizes = self._kept(requests)
        except Exception as error:  # whatever the error, nobody may believe the events were stored
            failed = StoreError(f"{type(error).__name__}")
            failed.__cause__ = error
            _answer([(request.done, failed) for request in requests])
            return
        _answer([(request.done, size) for request, size in zip(requests, sizes, strict=True)])
        if questions:
            self._changed(questions)

    def _kept(self, requests: Sequence[_Request]) -> tuple[set[tuple[str, str]], list[int]]:
        """The questions that changed, and how many annotations each request added or changed."""
        self._latest = max(self._latest, time.time())  # setting the clock back does not reverse the order
        batches = [request.events for request in requests if isinstance(request.events, Batch)]
        if len(batches) == len(requests) and self._ledger.are_new(batches):
            return self._kept_batches(batches)
        fresh: dict[Key, Row] = {}
        sizes = []
        for request in requests:
            before = len(fresh)
            self._ledger.changes(request.events, self._latest, fresh)
            sizes.append(len(fresh) - before)
        if fresh:
            self._store.write(list(fresh.values()))
            self._ledger.put(fresh.values())
        return {key[:2] for key in fresh}, sizes

    def _kept_batches(self, batches: Collection[Batch]) -> tuple[set[tuple[str, str]], list[int]]:
        """The same if there is nothing to compare: every annotation is new."""
        self._store.append(batches, self._ledger.seq + 1, self._latest)
        self._ledger.append(batches, self._latest)
        return {(each.project, each.question) for each in batches}, [len(each) for each in batches]


Answer = tuple[Done, int | StoreError]


def _answer(answers: Sequence[Answer]) -> None:
    """Answer every request; each event loop is woken once for all of its requests."""
    loops: dict[asyncio.AbstractEventLoop, list[Answer]] = {}
    for done, answer in answers:
        if isinstance(done, Future):
            _settle([(done, answer)])
        else:
            loops.setdefault(done.get_loop(), []).append((done, answer))
    for loop, futures in loops.items():
        with suppress(RuntimeError):  # the loop is closed: nobody is waiting
            loop.call_soon_threadsafe(_settle, futures)


def _settle(answers: Sequence[Answer]) -> None:
    for done, answer in answers:
        if done.done():  # the client has hung up
            continue
        if isinstance(answer, StoreError):
            done.set_exception(answer)
        else:
            done.set_result(answer)
