"""A monitor of its own for a test: a real server on a free port, in a thread."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx

from spagree.monitor.feeds import following, keep_trying, name_of
from spagree.monitor.figures import Settings
from spagree.monitor.hub import Hub
from spagree.monitor.ledger import Ledger, Reported
from spagree.monitor.run import background, server_of
from spagree.monitor.security import Guard
from spagree.monitor.server import application
from spagree.monitor.store import Store


def given(item: str, annotator: str, label: str, **more: Any) -> Reported:
    usual = {"project": "p", "question": "q", "source": "api", "id": f"{item}/{annotator}"}
    return Reported(**usual | more, item=item, annotator=annotator, label=label)


def body(value: Any) -> bytes:
    return json.dumps(value).encode()


def completion(id: int, task: int, who: int, updated: int = 1, **answers: str | list[str]) -> dict[str, Any]:
    """An annotation as Label Studio 1.2x has it."""
    result = [
        {"from_name": name, "type": "choices", "value": {"choices": [chosen] if isinstance(chosen, str) else chosen}}
        for name, chosen in answers.items()
    ]
    about = {"id": id, "task": task, "completed_by": who, "updated_by": who, "was_cancelled": False}
    times = {"created_at": "2026-01-01T00:00:00Z", "updated_at": f"2026-01-01T00:00:{updated:02d}Z"}
    return {**about, "result": result, **times}


def wait_for(true: Callable[[], Any], seconds: float = 180) -> Any:
    end = time.monotonic() + seconds
    while not (found := true()):
        assert time.monotonic() < end, "it did not come true"
        time.sleep(0.02)
    return found


def restored(store: Store) -> Ledger:
    """What is stored, as a monitor that starts has it."""
    ledger = Ledger()
    for rows in store.tuples():
        ledger.put(rows)
    return ledger


def labels(ledger: Ledger, project: str = "p", question: str = "q") -> dict[tuple[str, str], str]:
    """What counts now, by item and annotator."""
    if (project, question) not in ledger.questions():
        return {}
    return {(item, who): label for item, who, label, _ in ledger.columns(project, question).frame().rows()}


def follow(hub: Hub, path: str) -> AbstractContextManager[Any]:
    """A file, folder or database is followed as `spagree monitor --follow` does it."""
    return background(partial(keep_trying, hub, f"file {name_of(path)}", partial(following, hub, path, None)))


class Asked(BaseHTTPRequestHandler):
    """A request to somebody else's server."""

    def text(self) -> str:
        return self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()

    def answer(self, status: int, value: Any = None, **headers: str) -> None:
        content = b"" if value is None else body(value)
        self.send_response(status)
        for name, text in {"Content-Length": str(len(content)), **headers}.items():
            self.send_header(name, text)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def elsewhere(respond: Callable[[Asked], None]) -> Iterator[str]:
    """The address of somebody else's server, which answers GET and POST in this way."""

    def do(asked: Asked) -> None:
        respond(asked)

    handler = type("Handler", (Asked,), {"do_GET": do, "do_POST": do})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()  # looks for its end
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def once(hub: Hub, name: str, steps: Iterable[str]) -> None:
    """A source does its work until it pauses, or something goes wrong."""
    stop = threading.Event()

    def work(_: threading.Event) -> Iterable[str]:
        stop.set()
        return steps

    keep_trying(hub, name, work, stop)


def answers(address: str) -> bool:
    with suppress(httpx.TransportError):
        return httpx.get(f"{address}healthz", timeout=60).status_code == 200
    return False


@contextmanager
def command(*options: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """`spagree monitor` in a process of its own, and its address."""
    line = [sys.executable, "-m", "spagree", "monitor", "--port", "0", *options]
    with subprocess.Popen(line, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            address = process.stderr.readline().split()[-1]
            wait_for(lambda: answers(address))
            yield process, address
        finally:
            process.kill()


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
    server = server_of(Guard(application(hub, potato), token, signed=potato is not None))
    server.config.timeout_graceful_shutdown = 1
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
