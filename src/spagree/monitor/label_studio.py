"""Label Studio's API, read page by page and compared with what its webhooks reported.

Label Studio sends each webhook once and waits a second: what was lost while the monitor was down is recovered here.
"""

from __future__ import annotations

import json
import logging
import re
import threading
import time
import urllib.request
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode, urlsplit

from spagree.errors import DataError, SpagreeError, UsageError
from spagree.monitor.events import Listing
from spagree.monitor.hooks import LABEL_STUDIO, completions, decoded, expected_items, label_studio_project
from spagree.monitor.hub import Hub
from spagree.monitor.writer import BusyError, StoreError
from spagree.read.files.json import as_text

PAGE = 100
EVERY = 30.0  # seconds between two comparisons, or ten times as long as the last one took
SHARE = 10.0
TIMEOUT = 60.0
TRIES = 3  # attempts at a listing during which tasks were added or deleted
PERSONAL = 2  # dots in a JSON Web Token: a personal access token, which is exchanged for a short-lived one
ONE_PROJECT = re.compile(r"^(.*?)/projects/(\d+)(?:/.*)?$")
log = logging.getLogger("spagree.monitor")


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
        header = self._signed_in()
        projects = [{"id": self._only}] if self._only else self._pages("/api/projects/", "results", "count", header)
        for summary in projects:
            project = self._ask(f"/api/projects/{as_text(summary['id'])}/", header)
            yield project, self._listing(project, header)

    def _listing(self, project: dict[str, Any], header: str) -> Listing:
        as_of = time.time()
        tasks = list(self._pages("/api/tasks/", "tasks", "total", header, project=project["id"], fields="all"))
        records = [{**record, "task": task["id"]} for task in tasks for record in task["annotations"]]
        annotations = [annotation for annotation in completions(project, records) if not annotation.deleted]
        return Listing(label_studio_project(project), LABEL_STUDIO, annotations, as_of, by_id=True)

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

    def _signed_in(self) -> str:
        """The value of the authorization header."""
        if self._token.count(".") != PERSONAL:
            return f"Token {self._token}"
        return f"Bearer {as_text(self._ask('/api/token/refresh', '', refresh=self._token)['access'])}"

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
        pause = max(EVERY, SHARE * (time.monotonic() - start))


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
