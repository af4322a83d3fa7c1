"""`spagree monitor` as it is typed: what is refused before anything is started, with its exit code."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from importlib import resources
from pathlib import Path

import pytest

from command import Run
from spagree.monitor import hooks

BLOCKED = """
import sys
sys.modules["uvicorn"] = None
import spagree.cli
spagree.cli.main(["monitor"])
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the command runs, beside files that fit no option."""
    monkeypatch.chdir(tmp_path)
    Path("short").write_text("abc")
    Path("token").write_text("  a-token-that-is-long-enough\n")
    os.mkfifo("pipe")
    Path("labels.csv").write_text("item,annotator,label\n" * 50)


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("--host", "0.0.0.0"), 2, "--token-file FILE"),
        (("--host", "::"), 2, "--token-file FILE"),
        (("--target", "70"), 2, "between 0 and 1"),
        (("--first", "1"), 2, "--first"),
        (("--port", "x"), 2, "--port"),
        (("--token-file", "nowhere"), 4, "cannot be read"),
        (("--token-file", "short"), 2, "at least 16"),
        (("--host", "192.0.2.1", "--token-file", "token"), 2, "choose another --port"),
        (("--port", "0", "--alert-url", "ftp://x"), 2, "http://"),
        (("--port", "0", "--alert-url", "http://me:hush@x/"), 2, "cannot hold a password"),
        (("--port", "0", "--store", ":memory:"), 2, "name a file"),
        (("--port", "0", "--label-studio", "http://127.0.0.1:8080"), 2, "--label-studio-token-file FILE"),
        (("--port", "0", "--follow", "-"), 2, "read only once"),
        (("--port", "0", "--follow", "pipe"), 2, "read only once"),
        (("--port", "0", "--follow", "https://me:hush@x/y?token=hush"), 2, "not fetched"),
        (("--port", "0", "--follow", "labels.csv", "--follow", "../labels.csv"), 2, "two sources are called labels"),
        (("--port", "0", "--follow", "labels.csv", "--project", "x" * 201), 3, "project has 201 characters"),
        (("--port", "0", "--store", "labels.csv"), 4, "name another --store"),
        (("--port", "0", "--store", "nowhere/s.sqlite"), 4, "name another --store"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_what_is_refused(words: tuple[str, ...], code: int, said: str, run: Run) -> None:
    found, _, err = run("monitor", *words)
    assert found == code and said in err and "Traceback" not in err and "hush" not in err


def test_a_port_that_is_taken(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        line = [sys.executable, "-m", "spagree", "monitor", "--port", str(taken.getsockname()[1])]
        done = subprocess.run(line, capture_output=True, text=True, cwd=tmp_path, timeout=180, check=False)
    assert done.returncode == 2 and "choose another --port" in done.stderr


def test_the_extra_is_named_where_it_is_missing() -> None:
    done = subprocess.run([sys.executable, "-c", BLOCKED], capture_output=True, text=True, check=False, timeout=180)
    assert done.returncode == 2 and "pip install 'spagree[monitor]'" in done.stderr


def test_the_description_has_the_limits_that_are_enforced() -> None:
    text = resources.files("spagree.monitor.web").joinpath("openapi.json").read_text("utf-8")
    fields = json.loads(text)["components"]["schemas"]["Annotation"]["properties"]
    assert {name: fields[name]["maxLength"] for name in hooks.LONGEST} == hooks.LONGEST
    assert set(fields) == set(hooks.FIELDS)
