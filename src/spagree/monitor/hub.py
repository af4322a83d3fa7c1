"""Events in, figures out: the server's state. Measuring runs in a separate thread and never delays an event."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from math import inf, nextafter
from typing import Any, NamedTuple

from spagree.errors import DataError, shown
from spagree.monitor.alerts import Alert, Register, alerts
from spagree.monitor.figures import USUAL, Live, Mark, Settings, look
from spagree.monitor.ledger import Event, Ledger, Snapshot
from spagree.monitor.store import Store, StoreError, TakenOverError, Writer, alert_table, mark_table
from spagree.read.databases.addresses import public

PAUSE = 0.2  # seconds between two measurements
CHECKED_EVERY = 10.0  # seconds; while the store fails, every second
SHARE = 3.0  # while annotations keep coming, three times as long as the last measurement took
Question = tuple[str, str]
log = logging.getLogger("spagree.monitor")


class Reconciled(NamedTuple):
    """When a source was last fully compared, how much differed then, and how much in all comparisons."""

    at: float
    drift: int
    total: int


class Fault(NamedTuple):
    """What last went wrong with a source, and when; ``is_over`` once it worked again."""

    words: str
    at: float
    is_over: bool = False


class Hub:
    """The ledger, the store, and the figures of every question; safe to use from any thread."""

    def __init__(self, store: Store, settings: Settings = USUAL, notify: Callable[[Alert], None] | None = None) -> None:
        self.store, self.settings, self.notify = store, settings, notify
        self.ledger = Ledger()
        self.questions = self.ledger.questions
        for rows in store.tuples():
            self.ledger.put(rows)
        self.marks: dict[str, list[Mark]] = {}
        for row in store.rows(mark_table, "time"):
            self.marks.setdefault(row["project"], []).append((row["time"], row["text"]))
        self.register = Register(store.rows(alert_table, "began"))
        self.reconciled: dict[str, Reconciled] = {}
        self.faults: dict[str, Fault] = {}
        self.expected: dict[str, int] = {}  # items of a project, where its tool says so
        self.last_event: float | None = None
        self.taken = 0
        self.versions: Counter[Question] = Counter()  # how often each was measured
        self.has_lost_store = threading.Event()  # another monitor has taken it over: this one has to end
        self._lives: dict[Question, Live] = {}
        self._dirty: set[Question] = set(self.ledger.questions())
        self._untold: list[Alert] = []
        self._origins: dict[Question, str] = {}
        self._listeners: dict[Callable[[Question], None], asyncio.AbstractEventLoop] = {}
        self._news, self._wake, self._stopping = threading.Event(), threading.Event(), threading.Event()
        self._measuring, self._marking = threading.Lock(), threading.Lock()
        self.writer = Writer(self.ledger, store, self._changed)
        runs = {"measuring": self._run, "keeping": self._keep}
        self._threads = [threading.Thread(target=run, name=name, daemon=True) for name, run in runs.items()]
        for thread in self._threads:
            thread.start()
        self._wake.set()

    async def take(self, events: Sequence[Event]) -> int:
        """Store events; returns once they are durable, with the number of annotations they changed."""
        return self._count(events, await self.writer.take(events))

    def take_now(self, events: Sequence[Event]) -> int:
        """The same, for a thread that can wait."""
        return self._count(events, self.writer.send(events).result())

    def _count(self, events: Sequence[Event], changed: int) -> int:
        self.taken += len(events)
        self.last_event = max(self.last_event or 0.0, time.time())
        return changed

    def reconcile(self, listing: Snapshot, origin: str = "") -> None:
        """Compare a source as a whole and correct differences; a project's first listing is not drift.

        Two origins under one name would take turns in deleting what the other one holds.
        """
        first = self._origins.setdefault((listing.project, listing.source), origin)
        if first != origin:
            raise DataError(
                f"left out as a whole: {public(first)} is already followed as {listing.source} of project "
                f"{shown(listing.project)}; rename the file, or follow it with another monitor"
            )
        is_known = any(project == listing.project for project, _ in self.questions())
        differences = self.writer.send([listing]).result()
        drift = differences if is_known else 0
        name = listing.project if listing.project.startswith(listing.source) else listing.source
        total = self.reconciled[name].total if name in self.reconciled else 0
        now = Reconciled(time.time(), drift, drift + total)
        self.reconciled = {**self.reconciled, name: now}  # a new one: somebody may be reading the old one
        if drift:
            log.warning("drift corrected", extra={"about": f"{name}: {drift}"})

    def fault(self, source: str, words: str = "") -> None:
        """Record what is wrong with a source, or without words that it works again."""
        before = self.faults.get(source)
        if words:
            if before is None or before.is_over or before.words != words:
                log.warning("source failed", extra={"about": f"{source}: {words}"})
            self.faults = {**self.faults, source: Fault(words, time.time())}
        elif before is not None:
            self.faults = {**self.faults, source: before._replace(is_over=True)}

    def trouble(self) -> str:
        """Why nothing can be stored now; empty if all is well."""
        return str(self.writer.trouble or "")

    def mark(self, project: str, text: str, at: float | None = None) -> None:
        """Mark a change of the guidelines: monitoring restarts there. Two changes may share a moment, but not a row."""
        with self._marking:
            now = max(time.time(), self.ledger.moment) if at is None else at
            marks = dict(self.marks.get(project, ()))
            while marks.get(now, text) != text:
                now = nextafter(now, inf)
            self.store.put(mark_table, [{"project": project, "time": now, "text": text}])
            self.marks = {**self.marks, project: sorted({**marks, now: text}.items())}
        self._changed({question for question in self.questions() if question[0] == project})

    def live(self, question: Question, *, now: bool = False) -> Live:
        """A question's latest figures, or those as of now; measured if they never were."""
        if now or question not in self._lives:
            with self._measuring:
                if question not in self._lives or question in self._dirty:
                    self._measure(question)
        return self._lives[question]

    def lives(self) -> dict[Question, Live]:
        """The figures of every question that could be measured; of the others the faults tell."""
        found = {}
        for question in self.questions():
            with suppress(Exception):
                found[question] = self.live(question)
        return found

    def part(self, question: Question, annotator: str, since: float) -> Live:
        """The figures of a part: one annotator's items, or the annotations since a moment."""
        return look(*question, self.ledger.columns(*question).part(annotator, since), (), self.settings)

    def overview(self) -> list[dict[str, Any]]:
        """Every question with its number and its alerts."""
        return [
            {
                "project": project,
                "question": question,
                "annotations": len(live.columns.item),
                **{name: getattr(live.headline, name, None) for name in ("value", "low", "high")},
                "alerts": len(self.register.of_question(project, question)[0]),
            }
            for (project, question), live in self.lives().items()
        ]

    def _changed(self, questions: set[Question]) -> None:
        self._dirty |= questions
        self._wake.set()

    def _run(self) -> None:
        """Measure what has changed, again and again."""
        while not self._stopping.is_set():
            self._wake.wait()
            self._wake.clear()
            start = time.monotonic()
            for question in sorted(self._dirty & set(self.questions())):
                with suppress(Exception):  # said already; the next change tries again
                    self.live(question, now=True)
            passed = time.monotonic() - start
            self._stopping.wait(max(PAUSE, SHARE * passed) if self._dirty else PAUSE)

    def _measure(self, question: Question) -> None:
        name = f"measuring {' · '.join(question)}"
        self._dirty.discard(question)
        try:
            live = look(*question, self.ledger.columns(*question), self.marks.get(question[0], ()), self.settings)
        except Exception as error:  # the annotations are stored anyway; whoever asks next tries again
            self._dirty.add(question)
            self.fault(name, f"the figures are not up to date ({error})")
            log.exception("measuring failed", extra={"project": question[0], "question": question[1]})
            raise
        self.fault(name)
        self._untold += self.register.update(*question, alerts(live), time.time())
        self._lives[question] = live
        self.versions[question] += 1
        self._news.set()
        for put, loop in list(self._listeners.items()):
            loop.call_soon_threadsafe(put, question)

    def _keep(self) -> None:
        """Look whether the store is still there and ours, also while nothing arrives.

        Alerts that began or ended are sent once they are stored; while the store fails they wait.
        """
        checked = time.monotonic()
        while not self.has_lost_store.is_set():
            is_last, told = self._stopping.is_set(), list(self._untold)
            try:
                if told or self.writer.trouble or time.monotonic() - checked > CHECKED_EVERY:
                    if told:
                        self.store.put(alert_table, [alert.row() for alert in told])
                    else:
                        self.store.check(by_writing=self.writer.trouble is not None)  # or only look
                    self.writer.trouble, checked = None, time.monotonic()
                    del self._untold[: len(told)]
                for alert in told:
                    log.warning("alert", extra={"code": alert.code, "state": alert.state, "about": alert.title})
                    if self.notify:
                        self.notify(alert)
            except StoreError as error:
                self.writer.trouble = error
            except Exception:  # whatever it was, the store is looked after further on
                log.exception("keeping failed")
            if isinstance(self.writer.trouble, TakenOverError):
                log.error("store lost", extra={"about": str(self.writer.trouble)})
                self.has_lost_store.set()
            if is_last:
                return
            self._news.wait(1.0)
            self._news.clear()

    @contextmanager
    def listening(self) -> Iterator[asyncio.Queue[Question]]:
        """A queue of the questions that change meanwhile."""
        queue = asyncio.Queue[Question](maxsize=100)

        def put(question: Question) -> None:
            if not queue.full():  # a sleeping page asks for everything when it wakes
                queue.put_nowait(question)

        self._listeners[put] = asyncio.get_running_loop()
        try:
            yield queue
        finally:
            del self._listeners[put]

    def close(self) -> None:
        """Write what is waiting, then close."""
        self.writer.close()
        for event in (self._stopping, self._wake, self._news):
            event.set()
        for thread in self._threads:
            thread.join()
        self.store.close()
