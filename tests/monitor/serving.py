"""A monitor of its own for a test: a real server on a free port, in a thread."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import uvicorn

from spagree.monitor.hub import Hub
from spagree.monitor.ledger import Annotation, Batch
from spagree.monitor.live import Settings
from spagree.monitor.server import application
from spagree.monitor.store import Store


def given(item: str, annotator: str, label: str, **more: Any) -> Annotation:
    values = {"project": "p", "question": "q", "source": "api", "id": f"{item}/{annotator}", **more}
    return Annotation(
        values["project"],
        values["question"],
        values["source"],
        values["id"],
        item,
        annotator,
        label,
        values.get("version"),
        values.get("time"),
        values.get("deleted", False),
    )


def batch(*events: Annotation) -> Batch:
    """The same annotations column by column; all of one question and source."""
    (about,) = {each[:3] for each in events}
    return Batch(*about, *(list(column) for column in zip(*(each[3:9] for each in events), strict=True)))


def wait_for(true: Callable[[], Any], seconds: float = 180) -> Any:
    end = time.monotonic() + seconds
    while not (found := true()):
        assert time.monotonic() < end, "it did not come true"
        time.sleep(0.02)
    return found


@dataclass
class Running:
    hub: Hub
    client: httpx.Client
    address: str

    def post(self, *annotations: dict[str, Any], **options: Any) -> httpx.Response:
        return self.client.post("/api/v1/annotations", json=list(annotations), **options)

    def agreement(self, **query: str) -> dict[str, Any]:
        answer = self.client.get("/api/v1/agreement", params=query)
        assert answer.status_code == 200, answer.text
        return dict(answer.json())


@contextmanager
def running(
    store: Path | str, *, token: str | None = None, potato: str | None = None, **settings: Any
) -> Iterator[Running]:
    hub = Hub(Store(str(store)), Settings(**settings))
    listening = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(
        application(hub, token, potato),
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=1,
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    address = f"http://127.0.0.1:{listening.getsockname()[1]}"
    try:
        wait_for(lambda: server.started)
        with httpx.Client(base_url=address, timeout=180) as client:
            yield Running(hub, client, address)
    finally:
        server.should_exit = True
        thread.join(30)
        listening.close()
