"""Sources that are read as a whole and compared with what is stored: files that grow, and Label Studio's API; a demo.

Anything `spagree score` reads can be followed: a CSV or JSON lines file that grows, an export that is
replaced repeatedly, potato's folder, Label Studio's database. Comparing also corrects what a tool's webhooks
missed: Label Studio sends each once and waits a second, so what was lost while the monitor was down is
recovered here.
"""

from __future__ import annotations

import json
import random
import re
import threading
import time
import urllib.request
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from datetime import UTC, date, datetime
from decimal import Decimal
from math import inf, nan
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import polars

from spagree.counts.engines import to_polars
from spagree.counts.tally import text
from spagree.errors import DataError, SpagreeError, UsageError, count
from spagree.monitor import hooks
from spagree.monitor.hub import Hub
from spagree.monitor.ledger import APART, UNFIT, Place, Reported, Snapshot, as_label
from spagree.monitor.store import BusyError, StoreError
from spagree.present.words import escape_controls
from spagree.read import read_all
from spagree.read.annotations import ANNOTATOR, END, ITEM, LABEL, START, TIME, MarkRows
from spagree.read.databases.addresses import SERVERS, SQLITE, is_server, public
from spagree.read.files.json import as_text
from spagree.read.sources import read_all_marks
from spagree.read.timestamps import LAST, unix_seconds, usual

LOOKED_EVERY, ASKED_EVERY = 1.0, 10.0  # seconds: whether a file has changed, and what a database server holds
HOOKED = (hooks.LABEL_STUDIO, hooks.POTATO)  # their files correct what webhooks said: the source is the same
PAGE = 100
COMPARED_EVERY = 30.0  # seconds between two comparisons, or ten times as long as the last one took
SHARE = 10.0
TIMEOUT, SLOWEST_ANSWER, LARGEST_ANSWER = 60.0, 300.0, 1 << 28  # seconds without a byte and in all; bytes
SHORTEST_PAUSE, LONGEST_PAUSE = 1.0, 60.0  # after something went wrong
TRIES = 3  # attempts at a listing during which tasks were added or deleted
PERSONAL = 2  # dots in a JSON Web Token: a personal access token, which is exchanged for a short-lived one
ONE_PROJECT = re.compile(r"^(.*?)/projects/(\d+)(?:/.*)?$")


def name_of(path: str) -> str:
    """What a followed source is called wherever it is shown: without a folder, without a password."""
    return escape_controls(public(path) if "://" in path else Path(path).name)


def refuse_unfollowable(*paths: str) -> None:
    """Refuse what can be read only once, or not at all, before anybody waits for it, and two sources of one name."""
    for path in paths:
        is_address = "://" in path and not path.startswith((*SERVERS, SQLITE))
        there = Path(path)
        is_stream = there.exists() and not there.is_file() and not there.is_dir()
        if path in ("", "-") or is_address or is_stream:
            what = "an address that is not fetched" if is_address else "a stream, which can be read only once"
            raise UsageError(f"--follow {public(path)}: {what}; follow a file, a folder or a database")
    names = [name_of(path) for path in paths]
    if twice := next((name for name in names if names.count(name) > 1), ""):
        raise UsageError(f"--follow: two sources are called {twice}; rename one, or follow it with another monitor")


def listing(path: str, project: str | None = None, as_of: float = inf) -> tuple[Snapshot, str]:
    """Everything the source holds now, and what is wrong with some of its rows."""
    marked = read_all_marks(path)
    is_marked = bool(marked) and not any(one.has_classes for one in marked.values())
    by_question = {} if is_marked else read_all(path)
    formats = {table.understood.format for table in by_question.values()}
    formats |= {one.understood.format for one in marked.values() if one.understood is not None}
    tool = next((name for name in HOOKED if name in formats), None)
    source, belongs = tool or f"file {name_of(path)}", project or tool or Path(name_of(path)).stem
    reports: list[Reported] = []
    rows = 0
    frames = [(question, to_polars(table.frame), False) for question, table in by_question.items()]
    frames += [(question, _visits(one), True) for question, one in marked.items()]
    for question, frame, is_visits in frames:
        if ANNOTATOR not in frame.columns:
            raise SpagreeError("the annotators are unknown; a monitor needs the annotator of each annotation")
        answered = frame.drop_nulls(LABEL)
        rows += answered.height
        columns = [answered[name].to_list() for name in (ITEM, ANNOTATOR, LABEL)]
        columns.append(answered[TIME].to_list() if TIME in answered.columns else [None] * answered.height)
        for *given, at in zip(*columns, strict=True):
            item, who, label = ("" if each is None else text(each) for each in given)
            seconds = None if at is None else _seconds(at)
            is_fit = item and who and not UNFIT.search(item + who) and not UNFIT.search(label, is_visits)
            if is_fit and (seconds is None or 0 <= seconds <= LAST):
                about = (belongs, question or hooks.QUESTION, source, item + APART + who)
                reports.append(Reported(*about, item, who, label, None, seconds))
    reports.sort(key=lambda report: -inf if report.time is None else report.time)  # the latest counts
    without = count(rows - len(reports), "row")
    fault = f"left out: {without} without item or annotator, with NUL or U+001D–1F, or a time not in 1970 to 2100"
    return Snapshot(belongs, source, reports, as_of), fault if rows > len(reports) else ""


def _seconds(at: Any) -> float:
    """A time as files and databases hold it, in seconds since 1970; NaN if it is no time."""
    if isinstance(at, str):
        at = usual(at)
    elif isinstance(at, date):
        at = unix_seconds(at if isinstance(at, datetime) else datetime(at.year, at.month, at.day, tzinfo=UTC))
    return float(at) if isinstance(at, int | float | Decimal) else nan


def _visits(marked: MarkRows) -> polars.DataFrame:
    """Who saw which item, with all they marked there as the label."""
    made: defaultdict[tuple[str, str], list[Place]] = defaultdict(list)
    for item, who, start, end, label in to_polars(marked.rows).select(ITEM, ANNOTATOR, START, END, LABEL).rows():
        made[item, who].append((start, end, label))
    seen = to_polars(marked.rows if marked.seen is None else marked.seen)
    labels = [as_label(made[visit]) for visit in zip(seen[ITEM], seen[ANNOTATOR], strict=True)]
    return seen.with_columns(polars.Series(LABEL, labels, polars.String))


Steps = Iterable[str]  # what a source does until told to stop; after each success what was wrong, if anything


def keep_trying(hub: Hub, name: str, steps: Callable[[threading.Event], Steps], stop: threading.Event) -> None:
    """Do a source's work until told to stop; whatever goes wrong is shown, and tried again after growing pauses."""
    pause = SHORTEST_PAUSE
    while not stop.is_set():
        try:
            for fault in steps(stop):
                pause = SHORTEST_PAUSE
                hub.fault(name, fault)
        except Exception as error:  # whatever a source answers, the next attempt may work
            hub.fault(name, _cause(error))
        stop.wait(pause)
        pause = min(2 * pause, LONGEST_PAUSE)


def _cause(error: Exception) -> str:
    """What went wrong, in words and without the token."""
    if getattr(error, "code", None) in (401, 403):
        return "the token was refused; write a valid one to the file given with --label-studio-token-file"
    if isinstance(error, StoreError | BusyError):
        return "the store did not accept it; trying again"
    if isinstance(error, SpagreeError):
        return error.message.typed().splitlines()[0]
    if isinstance(error, OSError):
        return f"no answer ({getattr(error, 'reason', None) or type(error).__name__}); trying again"
    return f"what it holds was not understood ({type(error).__name__}); trying again"


def following(hub: Hub, path: str, project: str | None, stop: threading.Event) -> Steps:
    """Compare a file, folder or database whenever it changes."""
    seen = before = None
    while True:
        state = _state(path)
        is_changing, before = state != before, state
        if state is None or (state != seen and not (is_changing and _is_unfinished(path))):
            refuse_unfollowable(path)
            found, fault = listing(path, project, hub.ledger.moment)
            hub.reconcile(found, path)
            seen = state
            yield fault
        if stop.wait(ASKED_EVERY if is_server(path) else LOOKED_EVERY):
            return


def _state(path: str) -> object:
    """Which files there are and how far they reach, which shows a change; None if they cannot be read."""
    if is_server(path):
        return None
    here = Path(path)
    files = sorted(file for file in here.rglob("*") if file.is_file()) if here.is_dir() else [here]
    try:
        found = [(str(file), file.stat()) for file in files]
    except OSError:
        return None
    return [(name, at.st_ino, at.st_size, at.st_mtime_ns, at.st_ctime_ns) for name, at in found]


def _is_unfinished(path: str) -> bool:
    """Whether the last line has no end yet; once nothing changes any more it is read as it is."""
    here = Path(path)
    if not here.is_file() or here.suffix not in (".csv", ".tsv", ".jsonl"):
        return False
    with here.open("rb") as stream:
        stream.seek(max(0, here.stat().st_size - 1))
        return stream.read(1) not in (b"\n", b"")


class SameOrigin(urllib.request.HTTPRedirectHandler):
    """Follows a redirect of a GET to the same server: what is sent along is for nobody else, and a POST stays one."""

    def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Any:
        """The request to send next; None makes the redirect an error."""
        if req.get_method() != "GET" or urlsplit(newurl)[:2] != urlsplit(req.full_url)[:2]:
            return None
        return super().redirect_request(req, fp, code, msg, headers, newurl)


WEB = urllib.request.build_opener(SameOrigin)


def web_address(option: str, address: str) -> str:
    """An address to send to; without a password, which would be shown wherever the address is."""
    try:
        parts = urlsplit(address)
        is_usual = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        is_usual = False
    if not is_usual or not address.isprintable() or " " in address:
        raise UsageError(f"{option}: an address begins with http:// or https:// and names a host")
    if "@" in parts.netloc:
        raise UsageError(f"{option}: an address cannot hold a password, it would be shown; leave out what is before @")
    return address


class LabelStudio:
    """A server, or one of its projects, with the token of a user who may read it."""

    def __init__(self, address: str, token: str) -> None:
        address = web_address("--label-studio", address).partition("?")[0]
        match = ONE_PROJECT.match(address)
        self.address = (match[1] if match else address).rstrip("/")
        self._only = match[2] if match else None
        self.name = f"Label Studio at {self.address}" + (f", project {self._only}" if self._only else "")
        self._token = token

    def listings(self, moment: Callable[[], float]) -> Iterator[tuple[dict[str, Any], Snapshot, list[str]]]:
        """Each project with everything it holds now, and why some of it is left out; ``moment`` is the ledger's."""
        header = f"Token {self._token}"
        if self._token.count(".") == PERSONAL:
            header = f"Bearer {as_text(self._ask('/api/token/refresh', '', refresh=self._token)['access'])}"
        projects = [{"id": self._only}] if self._only else self._pages("/api/projects/", "results", "count", header)
        for summary in projects:
            project = self._ask(f"/api/projects/{as_text(summary['id'])}/", header)
            as_of = moment()
            tasks = self._pages("/api/tasks/", "tasks", "total", header, project=project["id"], fields="all")
            records = ({**record, "task": task["id"], "data": task.get("data")}
                       for task in tasks for record in task["annotations"])  # fmt: skip
            held, refused = list[Reported](), list[str]()
            for record in records:
                try:
                    found = list(hooks.completion(project, record))
                except DataError as error:
                    found = [error]
                held += [each for each in found if not isinstance(each, DataError) and not each.deleted]
                refused += [str(each) for each in found if isinstance(each, DataError)]
            name = hooks.label_studio_project(project)
            yield project, Snapshot(name, hooks.LABEL_STUDIO, held, as_of, by_id=True), refused

    def _pages(self, path: str, name: str, total: str, header: str, **query: Any) -> list[Any]:
        """Everything on all pages; restarted if something was added or deleted meanwhile."""
        for _ in range(TRIES):
            records: dict[str, Any] = {}
            totals: set[int] = set()
            page = 0
            while not totals or page * PAGE < max(totals):
                page += 1
                answer = self._ask(path, header, page=page, page_size=PAGE, **query)
                totals.add(int(as_text(answer[total])))
                known = len(records)
                records.update((as_text(record["id"]), record) for record in answer[name])
                if len(records) == known:  # whatever it says, there is no more
                    break
            if totals == {len(records)}:
                return list(records.values())
        raise DataError("tasks kept being added or deleted; the next comparison tries again")

    def _ask(self, path: str, header: str, **values: Any) -> dict[str, Any]:
        """The answer to a GET, or to a POST for signing in."""
        query = f"?{urlencode(values)}" if values and header else ""
        body = None if header else json.dumps(values).encode()
        headers = {"Authorization": header} if header else {"Content-Type": "application/json"}
        request = urllib.request.Request(f"{self.address}{path}{query}", body, headers)  # noqa: S310 (checked)
        with WEB.open(request, timeout=TIMEOUT) as answer:
            end, read = time.monotonic() + SLOWEST_ANSWER, bytearray()
            while part := answer.read1(1 << 20):
                read += part
                if len(read) > LARGEST_ANSWER or time.monotonic() > end:
                    raise DataError(f"{path} answered too much or too slowly; name one project, or look at the server")
            document = hooks.decoded(bytes(read))
        if not isinstance(document, dict):
            raise DataError(f"{path} did not answer like Label Studio; check the address")
        return document


def comparing(hub: Hub, studio: LabelStudio, stop: threading.Event) -> Steps:
    """Correct differences in every project, again and again."""
    pause = 0.0
    while not stop.wait(pause):
        start, refused = time.monotonic(), list[str]()
        for project, listing, wrong in studio.listings(lambda: hub.ledger.moment):
            refused += wrong
            hub.expected |= hooks.expected_items(project)
            hub.reconcile(listing, studio.address)
        yield f"left out: {count(len(refused), 'annotation')}; the first: {refused[0]}" if refused else ""
        pause = max(COMPARED_EVERY, SHARE * (time.monotonic() - start))


# The demo: agreement drifts in the middle, one annotator is careless, and a change of the guidelines helps ---

DEMO, SENTIMENT = "demo", "sentiment"
PEOPLE = ("ann", "bob", "cyd", "dan", "eva", "fay", "gus", "hal", "ida", "jon")
CARELESS = "kim"
LABELS = ("negative", "neutral", "positive")
ITEMS, PER_ITEM = 2100, 3
DRIFT, HELP = 0.4, 0.75  # shares of the project
APART_BY = 20.0  # between two annotations, in the project's time
A_SECOND = 120  # annotations replayed
MARK = "Guidelines 2: what counts as neutral"


def replayed(seed: int = 1) -> Iterator[tuple[float, Reported]]:
    """Every annotation in order, with the share of the project that is done; the last is about now."""
    chance = random.Random(seed)  # noqa: S311 (a simulation)
    start = time.time() - ITEMS * PER_ITEM * APART_BY
    number = 0
    for item in range(ITEMS):
        done = item / ITEMS
        truth = chance.choices(LABELS, (3, 3, 4))[0]
        for who in chance.sample((*PEOPLE, CARELESS), PER_ITEM):
            number += 1
            label = truth
            is_drifting = DRIFT <= done < HELP and truth != "negative"
            if who == CARELESS and chance.random() < 0.7:  # noqa: PLR2004
                label = chance.choice(LABELS)
            elif chance.random() < (0.45 if is_drifting else 0.04 if done >= HELP else 0.08):
                label = "neutral" if truth != "neutral" else "positive"
            fields = (DEMO, SENTIMENT, DEMO, str(number), f"text {item + 1}", who, label, 1.0)
            yield done, Reported(*fields, start + number * APART_BY)


def replay(hub: Hub, stop: threading.Event) -> None:
    """Send the project's annotations one by one, until told to stop."""
    is_marked = False
    for done, annotation in replayed():
        with suppress(BusyError, StoreError):
            if done >= HELP and not is_marked:
                hub.mark(DEMO, MARK, annotation.time)
                is_marked = True
            hub.take_now([annotation])
        if stop.wait(1 / A_SECOND):
            return
