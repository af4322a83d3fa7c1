"""From options to a running server: one process, until it is stopped."""

from __future__ import annotations

import json
import logging
import queue
import socket
import threading
import time
import urllib.request
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import uvicorn
from standardwebhooks import Webhook

from spagree.errors import FileError, UsageError, count
from spagree.monitor import feeds
from spagree.monitor.alerts import Alert
from spagree.monitor.figures import Settings
from spagree.monitor.hooks import checked
from spagree.monitor.hub import Hub
from spagree.monitor.security import LOOPBACK, Guard, LimitedProtocol
from spagree.monitor.server import application
from spagree.monitor.store import Store, StoreError
from spagree.options import Watching

SHORTEST_TOKEN = 16
FEWEST, MOST = 2, 20  # annotations that close an item
LAST_WORDS = 5  # seconds that open connections and sources get when the server stops
TRIES, FIRST_PAUSE, ALERT_TIMEOUT = 6, 1.0, 10.0  # of an alert; seconds, the pause is doubled each time
SENDING = "sending alerts"
EXTRA = ("code", "state", "about", "project", "question", "path")
Work = Callable[[threading.Event], None]
log = logging.getLogger("spagree.monitor")


class JsonLines(logging.Formatter):
    """One JSON object per line; secrets are never logged."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as JSON."""
        extra = {name: getattr(record, name) for name in EXTRA if hasattr(record, name)}
        trouble = {"trouble": self.formatException(record.exc_info)} if record.exc_info else {}
        values = {"time": record.created, "level": record.levelname.lower(), "event": record.getMessage()}
        return json.dumps({**values, **extra, **trouble}, ensure_ascii=False)


def serve(options: Watching, say: Any) -> None:
    """Start everything, print the page's address, and stop everything in order."""
    token = secret(options.token_file, "--token-file")
    if options.host not in LOOPBACK and token is None:
        raise UsageError(
            f"--host {options.host} is reachable from other machines; give a file with a token: --token-file FILE "
            "(python -c 'import secrets; print(secrets.token_urlsafe())' makes one)"
        )
    if options.target is not None and not 0 < options.target < 1:
        raise UsageError(f"--target {options.target}: agreement lies between 0 and 1, for example 0.7")
    if not FEWEST <= options.first <= MOST:
        raise UsageError(f"--first {options.first}: an item is closed by {FEWEST} to {MOST} annotations")
    potato = secret(options.potato_secret_file, "--potato-secret-file", shortest=1)
    alert_secret = secret(options.alert_secret_file, "--alert-secret-file", shortest=1)
    alert_url = options.alert_url and feeds.web_address("--alert-url", options.alert_url)
    studio_token = secret(options.label_studio_token_file, "--label-studio-token-file", shortest=1)
    studios = [feeds.LabelStudio(address, studio_token or "") for address in options.label_studio]
    if studios and studio_token is None:
        raise UsageError(
            f"--label-studio {studios[0].address} needs the token of a user who may read the project: "
            "--label-studio-token-file FILE (Label Studio shows it under Account & Settings)"
        )
    feeds.refuse_unfollowable(*options.follow)
    project = options.project and checked(options.project, "project")
    with ExitStack() as stack:
        try:
            family = socket.AF_INET6 if ":" in options.host else socket.AF_INET
            listening = socket.create_server((options.host, options.port), family=family, backlog=2048)
        except OSError as error:
            raise UsageError(
                f"--host {options.host} --port {options.port}: {error.strerror or error}; choose another --port"
            ) from None
        stack.enter_context(listening)
        handler = logging.StreamHandler()
        handler.setFormatter(JsonLines())
        for name, level in (("spagree.monitor", logging.INFO), ("uvicorn.error", logging.ERROR)):
            logger = logging.getLogger(name)
            logger.handlers, logger.propagate = [handler], False
            logger.setLevel(level)
        hub = Hub(Store(options.store), Settings(options.target, options.first))
        steps = [(studio.name, partial(feeds.comparing, hub, studio)) for studio in studios]
        paths = [(f"file {feeds.name_of(path)}", path) for path in options.follow]
        steps += [(name, partial(feeds.following, hub, path, project)) for name, path in paths]
        sources: list[Work] = [partial(feeds.keep_trying, hub, name, step) for name, step in steps]
        if alert_url:
            waiting = queue.SimpleQueue[Alert]()
            hub.notify = waiting.put
            sources.append(partial(keep_sending, hub, alert_url, alert_secret, waiting))
        if options.demo:
            sources.append(partial(feeds.replay, hub))
        guard = Guard(application(hub, potato), token, signed=potato is not None, proxied=options.behind_proxy)
        server = server_of(guard)
        stack.enter_context(background(*sources, partial(_end_without_store, hub, server)))
        say(f"http://{options.host if ':' not in options.host else f'[{options.host}]'}:{listening.getsockname()[1]}/")
        server.run(sockets=[listening])
        if hub.has_lost_store.is_set():
            raise StoreError(hub.trouble())


def server_of(guard: Guard) -> uvicorn.Server:
    """The server as it always runs, with limits for what comes before the guard is asked."""
    quiet: dict[str, Any] = {"log_config": None, "access_log": False, "server_header": False, "date_header": False}
    limits: dict[str, Any] = {"http": LimitedProtocol, "ws": "none", "proxy_headers": False}
    return uvicorn.Server(uvicorn.Config(guard, timeout_graceful_shutdown=LAST_WORDS, **limits, **quiet))


def _end_without_store(hub: Hub, server: uvicorn.Server, stop: threading.Event) -> None:
    """Once another monitor has the store, say so for a while, then end."""
    while not stop.wait(0.5):
        if hub.has_lost_store.is_set():
            stop.wait(LAST_WORDS)
            server.should_exit = True
            return


@contextmanager
def background(*runs: Work) -> Iterator[list[threading.Thread]]:
    """Run sources beside the server, in threads that have to end soon after the event is set."""
    stop = threading.Event()
    threads = [threading.Thread(target=run, args=(stop,), name="background", daemon=True) for run in runs]
    for thread in threads:
        thread.start()
    try:
        yield threads
    finally:
        stop.set()
        end = time.monotonic() + LAST_WORDS
        for thread in threads:
            thread.join(max(0.0, end - time.monotonic()))


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


def keep_sending(
    hub: Hub, address: str, secret: str | None, waiting: queue.SimpleQueue[Alert], stop: threading.Event
) -> None:
    """Send alerts that began or ended, until told to stop; each is tried several times."""
    webhook = Webhook(secret.encode()) if secret else None
    while not stop.is_set():
        with suppress(queue.Empty):
            alert, fault = waiting.get(timeout=0.5), ""
            id = f"msg_{uuid.uuid4().hex}"
            for attempt in range(TRIES):
                try:
                    _send(address, webhook, alert, id)
                except Exception as error:  # whatever the other side answers, the next alert is sent too
                    fault = f"{type(error).__name__}{f' {error.code}' if isinstance(error, HTTPError) else ''}"
                    hub.fault(SENDING, f"not delivered ({fault}); trying again")
                    if stop.wait(FIRST_PAUSE * 2**attempt):
                        return
                else:
                    hub.fault(SENDING)
                    break
            else:
                hub.fault(SENDING, f"{alert.title}: not delivered ({fault}) after {TRIES} attempts")
                log.error("alert not delivered", extra={"code": alert.code, "about": alert.title})


def _send(address: str, webhook: Webhook | None, alert: Alert, id: str) -> None:
    now = datetime.now(UTC)
    body = json.dumps({"type": f"alert.{alert.state}", "timestamp": now.isoformat(), "data": alert.document()})
    headers = {"Content-Type": "application/json", "webhook-id": id, "webhook-timestamp": str(int(now.timestamp()))}
    if webhook:
        headers["webhook-signature"] = webhook.sign(id, now, body)
    request = urllib.request.Request(address, body.encode(), headers, method="POST")  # noqa: S310 (checked)
    with feeds.WEB.open(request, timeout=ALERT_TIMEOUT):
        pass
