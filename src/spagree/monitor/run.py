"""From options to a running server: one process, until it is stopped."""

from __future__ import annotations

import json
import logging
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import uvicorn

from spagree.errors import FileError, UsageError, count
from spagree.monitor.alerts import Notifier
from spagree.monitor.demo import replay
from spagree.monitor.hub import Hub
from spagree.monitor.live import Settings
from spagree.monitor.security import LOOPBACK
from spagree.monitor.server import application
from spagree.monitor.sources import LabelStudio, keep_comparing, keep_following
from spagree.monitor.store import Store

SHORTEST_TOKEN = 16
LAST_WORDS = 5  # seconds that open connections and sources get when the server stops
EXTRA = ("code", "state", "about", "project", "question", "path")


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """The options of the command `spagree monitor`."""

    host: str = "127.0.0.1"
    port: int = 8765
    store: str = "spagree-monitor.sqlite"
    token_file: str | None = None
    target: float | None = None
    first: int = 2
    follow: tuple[str, ...] = ()
    project: str | None = None
    label_studio: tuple[str, ...] = ()
    label_studio_token_file: str | None = None
    potato_secret_file: str | None = None
    alert_url: str | None = None
    alert_secret_file: str | None = None
    demo: bool = False


class JsonLines(logging.Formatter):
    """One JSON object per line; secrets are never logged."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as JSON."""
        extra = {name: getattr(record, name) for name in EXTRA if hasattr(record, name)}
        trouble = {"trouble": self.formatException(record.exc_info)} if record.exc_info else {}
        values = {"time": record.created, "level": record.levelname.lower(), "event": record.getMessage()}
        return json.dumps({**values, **extra, **trouble}, ensure_ascii=False)


def serve(options: ServeOptions, say: Any) -> None:
    """Start everything, print the page's address, and stop everything in order."""
    token = secret(options.token_file, "--token-file")
    if options.host not in LOOPBACK and token is None:
        raise UsageError(
            f"--host {options.host} is reachable from other machines; give a file with a token: --token-file FILE "
            "(python -c 'import secrets; print(secrets.token_urlsafe())' makes one)"
        )
    if options.target is not None and not 0 < options.target < 1:
        raise UsageError(f"--target {options.target}: agreement lies between 0 and 1, for example 0.7")
    potato = secret(options.potato_secret_file, "--potato-secret-file", shortest=1)
    studio_token = secret(options.label_studio_token_file, "--label-studio-token-file", shortest=1)
    if options.label_studio and studio_token is None:
        raise UsageError(
            f"--label-studio {options.label_studio[0]} needs the token of a user who may read the project: "
            "--label-studio-token-file FILE (Label Studio shows it under Account & Settings)"
        )
    studios = [LabelStudio(address, studio_token or "") for address in options.label_studio]
    with ExitStack() as stack:
        listening = stack.enter_context(_socket(options.host, options.port))
        notify = None
        if options.alert_url:
            notifier = Notifier(options.alert_url, secret(options.alert_secret_file, "--alert-secret-file", shortest=1))
            stack.callback(notifier.close)
            notify = notifier.send
        handler = logging.StreamHandler()
        handler.setFormatter(JsonLines())
        log = logging.getLogger("spagree.monitor")
        log.handlers, log.propagate = [handler], False
        log.setLevel(logging.INFO)
        hub = Hub(Store(options.store), Settings(options.target, options.first), notify)
        for studio in studios:
            stack.enter_context(background(partial(keep_comparing, hub, studio)))
        for path in options.follow:
            stack.enter_context(background(partial(keep_following, hub, path, options.project)))
        if options.demo:
            stack.enter_context(background(partial(replay, hub)))
        quiet: dict[str, Any] = {"log_config": None, "access_log": False, "server_header": False, "date_header": False}
        config = uvicorn.Config(application(hub, token, potato), timeout_graceful_shutdown=LAST_WORDS, **quiet)
        say(f"http://{options.host if ':' not in options.host else f'[{options.host}]'}:{listening.getsockname()[1]}/")
        uvicorn.Server(config).run(sockets=[listening])


@contextmanager
def background(run: Callable[[threading.Event], None]) -> Iterator[threading.Thread]:
    """Run a source beside the server, in a thread that has to end soon after the event is set."""
    stop = threading.Event()
    thread = threading.Thread(target=run, args=(stop,), name="background", daemon=True)
    thread.start()
    try:
        yield thread
    finally:
        stop.set()
        thread.join(LAST_WORDS)


def _socket(host: str, port: int) -> socket.socket:
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        raise UsageError(f"--host {host} --port {port}: {error.strerror or error}; choose another --port") from None


def secret(path: str | None, option: str, shortest: int = SHORTEST_TOKEN) -> str | None:
    """The secret in a file; never on the command line, where others could see it."""
    if path is None:
        return None
    try:
        text = Path(path).read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(f"{option} {path}: cannot be read ({error})") from None
    if len(text) < shortest:
        raise UsageError(f"{option} {path}: contains {count(len(text), 'character')}; at least {shortest} are needed")
    return text
