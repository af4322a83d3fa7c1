"""Sources that are read as a whole and compared with what is stored: files that grow, and Label Studio's API.

Anything `spagree score` reads can be followed: a CSV or JSON lines file that grows, an export that is replaced
repeatedly, potato's folder, Label Studio's database. Comparing also corrects what a tool's webhooks missed: Label
Studio sends each once and waits a second, so what was lost while the monitor was down is recovered here.
"""

from __future__ import annotations

import json
import re
import threading
import time
import urllib.request
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

from watchfiles import watch

from spagree.counts.engines import to_polars
from spagree.counts.tally import text
from spagree.errors import DataError, SpagreeError, UsageError
from spagree.monitor.hooks import (
    APART,
    LABEL_STUDIO,
    POTATO,
    completions,
    decoded,
    expected_items,
    label_studio_project,
)
from spagree.monitor.hub import Hub
from spagree.monitor.ledger import Annotation, Listing
from spagree.monitor.store import BusyError, StoreError
from spagree.read import read_all
from spagree.read.annotations import ANNOTATOR, ITEM, LABEL, TIME, Annotations
from spagree.read.databases.addresses import is_server, public
from spagree.read.files.json import as_text

LOOKED_EVERY = 10.0  # seconds, even if no change was noticed
SETTLED = 0.5  # seconds without a change, if a file does not end with a newline
HOOKED = (LABEL_STUDIO, POTATO)  # tools whose webhooks are corrected: their annotations have the same source
PAGE = 100
COMPARED_EVERY = 30.0  # seconds between two comparisons, or ten times as long as the last one took
SHARE = 10.0
TIMEOUT = 60.0
TRIES = 3  # attempts at a listing during which tasks were added or deleted
PERSONAL = 2  # dots in a JSON Web Token: a personal access token, which is exchanged for a short-lived one
ONE_PROJECT = re.compile(r"^(.*?)/projects/(\d+)(?:/.*)?$")


def listing(path: str, project: str | None = None) -> Listing:
    """Everything the source holds now."""
    as_of = time.time()
    by_question = read_all(path)
    formats = {table.understood.format for table in by_question.values()}
    tool = next((name for name in HOOKED if name in formats), None)
    name = public(path) if is_server(path) else Path(path).name
    source = tool or f"file {name}"
    belongs = project or tool or Path(name).stem
    tables = [_annotations(table, belongs, question, source) for question, table in by_question.items()]
    return Listing(belongs, source, [*chain.from_iterable(tables)], as_of)


def _annotations(annotations: Annotations, project: str, question: str, source: str) -> list[Annotation]:
    import polars

    frame = to_polars(annotations.frame)
    if ANNOTATOR not in frame.columns:
        raise SpagreeError("the annotators are unknown; a monitor needs the annotator of each annotation")
    kept = frame.drop_nulls([ITEM, ANNOTATOR, LABEL])
    seconds: list[float | None] = [None] * kept.height
    if TIME in kept.columns:  # an annotator's last label of an item counts: the latest, wherever it is written
        times = kept[TIME]
        if times.dtype in (polars.Date, polars.Datetime):
            times = times.dt.epoch("us") / 1_000_000
        # since 1970; unknown if they are neither numbers nor dates
        times = times.cast(polars.Float64, strict=False).fill_nan(None)
        kept = kept.with_columns(times).sort(TIME, nulls_last=False, maintain_order=True)
        seconds = kept[TIME].to_list()
    rows = zip(*(map(text, kept[name].to_list()) for name in (ITEM, ANNOTATOR, LABEL)), seconds, strict=True)
    return [
        Annotation(project, question, source, item + APART + who, item, who, label, None, at)
        for item, who, label, at in rows
    ]


def keep_following(hub: Hub, path: str, project: str | None, stop: threading.Event) -> None:
    """Compare a source whenever it changes, until told to stop."""
    seen, name = None, f"file {Path(path).name}"
    for _ in _looks(path, stop):
        state = _state(path)
        if state is not None and (state == seen or _is_unfinished(path)):
            continue
        try:
            hub.reconcile(listing(path, project))
        except (SpagreeError, OSError, StoreError, BusyError) as error:
            hub.failed(name, f"cannot be read: {str(error).splitlines()[0]}")
        else:
            hub.worked(name)
            seen = state


def _looks(path: str, stop: threading.Event) -> Iterator[object]:
    """When to look: at once, when a file changes, and every few seconds anyway."""
    yield None
    if is_server(path):
        while not stop.wait(LOOKED_EVERY):
            yield None
        return
    folder = Path(path) if Path(path).is_dir() else Path(path).absolute().parent
    yield from watch(folder, stop_event=stop, yield_on_timeout=True, rust_timeout=1000, watch_filter=None)


def _state(path: str) -> object:
    """Sizes and times of the files, which show a change; None if they cannot be read."""
    if is_server(path):
        return None
    here = Path(path)
    files = sorted(file for file in here.rglob("*") if file.is_file()) if here.is_dir() else [here]
    try:
        return tuple((str(file), file.stat().st_size, file.stat().st_mtime_ns) for file in files)
    except OSError:
        return None


def _is_unfinished(path: str) -> bool:
    """Whether a line is only partly written."""
    here = Path(path)
    if not here.is_file() or here.suffix not in (".csv", ".tsv", ".jsonl"):
        return False
    with here.open("rb") as stream:
        stream.seek(max(0, here.stat().st_size - 1))
        ends = stream.read(1) in (b"\n", b"")
    return not ends and time.time() - here.stat().st_mtime < SETTLED


class LabelStudio:
    """A server, or one of its projects, with the token of a user who may read it."""

    def __init__(self, address: str, token: str) -> None:
        if urlsplit(address).scheme not in ("http", "https"):
            raise UsageError(f"--label-studio {address}: an address begins with http:// or https://")
        match = ONE_PROJECT.match(address)
        self.address = (match[1] if match else address).rstrip("/")
        self._only = match[2] if match else None
        self._token = token

    def listings(self) -> Iterator[tuple[dict[str, Any], Listing]]:
        """Each project with everything it holds now."""
        header = f"Token {self._token}"
        if self._token.count(".") == PERSONAL:
            header = f"Bearer {as_text(self._ask('/api/token/refresh', '', refresh=self._token)['access'])}"
        projects = [{"id": self._only}] if self._only else self._pages("/api/projects/", "results", "count", header)
        for summary in projects:
            project = self._ask(f"/api/projects/{as_text(summary['id'])}/", header)
            as_of = time.time()
            tasks = self._pages("/api/tasks/", "tasks", "total", header, project=project["id"], fields="all")
            records = [{**record, "task": task["id"]} for task in tasks for record in task["annotations"]]
            held = [annotation for annotation in completions(project, records) if not annotation.deleted]
            yield project, Listing(label_studio_project(project), LABEL_STUDIO, held, as_of, by_id=True)

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
                records.update((as_text(record["id"]), record) for record in answer[name])
            if totals == {len(records)}:
                return list(records.values())
        raise DataError("tasks kept being added or deleted; the next comparison tries again")

    def _ask(self, path: str, header: str, **values: Any) -> dict[str, Any]:
        """The answer to a GET, or to a POST for signing in."""
        query = f"?{urlencode(values)}" if values and header else ""
        body = None if header else json.dumps(values).encode()
        headers = {"Authorization": header} if header else {"Content-Type": "application/json"}
        request = urllib.request.Request(f"{self.address}{path}{query}", body, headers)  # noqa: S310 (checked)
        with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:  # noqa: S310
            document = decoded(answer.read())
        if not isinstance(document, dict):
            raise DataError(f"{path} did not answer like Label Studio; check the address")
        return document


def keep_comparing(hub: Hub, studio: LabelStudio, stop: threading.Event) -> None:
    """Compare now, and again every half minute, until told to stop."""
    pause = 0.0
    while not stop.wait(pause):
        start = time.monotonic()
        compare(hub, studio)
        pause = max(COMPARED_EVERY, SHARE * (time.monotonic() - start))


def compare(hub: Hub, studio: LabelStudio) -> None:
    """Correct differences in every project."""
    name = f"Label Studio at {studio.address}"
    try:
        for project, listing in studio.listings():
            expected = expected_items(project)
            if expected:
                hub.expected[expected[0]] = expected[1]
            hub.reconcile(listing)
    except (SpagreeError, OSError, StoreError, BusyError, KeyError, TypeError, ValueError) as error:
        hub.failed(name, _cause(error))
    else:
        hub.worked(name)


def _cause(error: Exception) -> str:
    """What went wrong, in words and without the token."""
    status = getattr(error, "code", None)
    if status in (401, 403):
        return "the token was refused; write a valid one to the file given with --label-studio-token-file"
    if isinstance(error, SpagreeError):
        return str(error).splitlines()[0]
    if isinstance(error, StoreError | BusyError):
        return "the store did not accept it; trying again"
    if isinstance(error, OSError):
        return f"no answer ({getattr(error, 'reason', None) or type(error).__name__}); trying again"
    return "the answer was not understood; is it Label Studio?"
