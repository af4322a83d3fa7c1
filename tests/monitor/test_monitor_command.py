"""`spagree monitor` as it is typed: what is refused before anything is started, with its exit code."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from importlib import resources
from pathlib import Path

import pytest

from spagree.monitor import hooks

BLOCKED = """
import sys
sys.modules["uvicorn"] = None
import spagree.cli
spagree.cli.main(["monitor"])
"""


def run(*words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "spagree", "monitor", *words]
    return subprocess.run(line, capture_output=True, text=True, cwd=folder, timeout=180, check=False)


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
        (("--port", "0", "--store", "labels.csv"), 4, "name another --store"),
        (("--port", "0", "--store", "nowhere/s.sqlite"), 4, "name another --store"),
    ],
)
def test_what_is_refused(tmp_path: Path, words: tuple[str, ...], code: int, said: str) -> None:
    (tmp_path / "short").write_text("abc")
    (tmp_path / "labels.csv").write_text("item,annotator,label\n" * 50)
    done = run(*words, folder=tmp_path)
    assert done.returncode == code and said in done.stderr and "Traceback" not in done.stderr


def test_a_port_that_is_taken(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = run("--port", str(taken.getsockname()[1]), folder=tmp_path)
    assert done.returncode == 2 and "choose another --port" in done.stderr


def test_the_extra_is_named_where_it_is_missing() -> None:
    done = subprocess.run([sys.executable, "-c", BLOCKED], capture_output=True, text=True, check=False, timeout=180)
    assert done.returncode == 2 and "pip install 'spagree[monitor]'" in done.stderr


def test_the_description_has_the_limits_that_are_enforced() -> None:
    text = resources.files("spagree.monitor.web").joinpath("openapi.json").read_text("utf-8")
    fields = json.loads(text)["components"]["schemas"]["Annotation"]["properties"]
    assert {name: fields[name]["maxLength"] for name in hooks.LONGEST} == hooks.LONGEST
    assert set(fields) == set(hooks.FIELDS)
