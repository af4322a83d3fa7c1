"""A program that listens on loopback: started, waited for, spoken to, stopped."""

from __future__ import annotations

import http.cookiejar
import json
import os
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ANSWER_SECONDS = 60
STOP_SECONDS = 15


def free_port() -> int:
    """A port nobody listens on at the moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def sandbox(environment: Mapping[str, str], home: Path) -> dict[str, str]:
    """The environment of a program that must not see this project nor the user's own settings."""
    kept = {name: environment[name] for name in ("PATH", "LANG", "LC_ALL", "TZ") if name in environment}
    return {**kept, "HOME": str(home), "PYTHONUNBUFFERED": "1"}


class Service:
    """A running program with its own process group, so that its children end with it."""

    def __init__(self, command: Sequence[str], folder: Path, port: int, environment: Mapping[str, str]) -> None:
        self.address = f"http://127.0.0.1:{port}"
        self.folder = folder
        self._log = folder / "output.log"
        with self._log.open("wb") as output:
            self._process = subprocess.Popen(
                command, cwd=folder, env=dict(environment), stdin=subprocess.DEVNULL, stdout=output,
                stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip

    def wait(self, path: str, seconds: float) -> None:
        """Until it answers; an early end or too long a time is an error with the end of its output."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self._process.poll() is not None:
                raise RuntimeError(f"ended with code {self._process.returncode}:\n{self.output()}")
            try:
                Client(self.address).ask("GET", path, seconds=5)
            except OSError:
                time.sleep(0.3)
            else:
                return
        raise RuntimeError(f"no answer from {self.address}{path} within {seconds} s:\n{self.output()}")

    def output(self) -> str:
        """The end of what the program wrote."""
        return self._log.read_text("utf-8", "replace")[-3000:]

    def stop(self) -> None:
        """Ask it to end, then make it; the group was made for it, so nothing else is in there."""
        for how in (signal.SIGTERM, signal.SIGKILL):
            if self._process.poll() is not None:
                return
            os.killpg(self._process.pid, how)
            try:
                self._process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                continue


class Client:
    """Requests to one address, with cookies and fixed headers, and never through a proxy."""

    def __init__(self, address: str, **headers: str) -> None:
        self._address = address
        self._headers = headers
        self._open = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
        ).open

    def ask(
        self, method: str, path: str, body: Any = None, *, form: Any = None, seconds: float = ANSWER_SECONDS
    ) -> bytes:
        """The body of the answer; an answer other than 2xx is an error that shows its body."""
        data, kind = None, {}
        if body is not None:
            data, kind = json.dumps(body).encode(), {"Content-Type": "application/json"}
        elif form is not None:
            data = urllib.parse.urlencode(form).encode()
        request = urllib.request.Request(
            self._address + path, data=data, headers={**self._headers, **kind}, method=method
        )
        try:
            with self._open(request, timeout=seconds) as answer:
                return bytes(answer.read())
        except urllib.error.HTTPError as error:
            raise ConnectionError(f"{method} {path}: {error.code} {error.read()[:2000]!r}") from error

    def json(self, method: str, path: str, body: Any = None) -> Any:
        """The same, decoded."""
        return json.loads(self.ask(method, path, body) or b"null")
