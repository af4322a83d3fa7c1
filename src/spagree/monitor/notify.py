"""Alerts sent to an address: signed as Standard Webhooks, retried if there is no answer."""

from __future__ import annotations

import json
import logging
import queue
import threading
import urllib.request
import uuid
from datetime import UTC, datetime
from urllib.parse import urlsplit

from standardwebhooks import Webhook

from spagree.errors import UsageError
from spagree.monitor.alerts import Alert

TRIES = 6
FIRST_PAUSE = 1.0  # seconds, doubled each time
TIMEOUT = 10.0
log = logging.getLogger("spagree.monitor")


class Notifier:
    """A thread that sends alerts that began or ended."""

    def __init__(self, address: str, secret: str | None = None) -> None:
        if urlsplit(address).scheme not in ("http", "https"):
            raise UsageError(f"--alert-url {address}: an address begins with http:// or https://")
        self._address = address
        self._webhook = Webhook(secret.encode()) if secret else None
        self._queue: queue.SimpleQueue[Alert | None] = queue.SimpleQueue()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="notifying", daemon=True)
        self._thread.start()

    def send(self, alert: Alert) -> None:
        """Queue it for sending."""
        self._queue.put(alert)

    def close(self) -> None:
        """Stop trying."""
        self._stop.set()
        self._queue.put(None)
        self._thread.join(TIMEOUT + 1)

    def _run(self) -> None:
        while (alert := self._queue.get()) is not None and not self._stop.is_set():
            id = f"msg_{uuid.uuid4().hex}"
            for attempt in range(TRIES):
                if self._post(alert, id) or self._stop.wait(FIRST_PAUSE * 2**attempt):
                    break
            else:
                log.error("alert not delivered", extra={"code": alert.code, "about": alert.title})

    def _post(self, alert: Alert, id: str) -> bool:
        now = datetime.now(UTC)
        body = json.dumps({"type": f"alert.{alert.state}", "timestamp": now.isoformat(), "data": alert.document()})
        headers = {"Content-Type": "application/json", "webhook-id": id}
        headers["webhook-timestamp"] = str(int(now.timestamp()))
        if self._webhook:
            headers["webhook-signature"] = self._webhook.sign(id, now, body)
        request = urllib.request.Request(self._address, body.encode(), headers, method="POST")  # noqa: S310 (checked)
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT):  # noqa: S310
                return True
        except OSError:
            return False
