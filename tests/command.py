"""Runs commands: in this process, or in another one on a terminal."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from spagree.cli.app import main

SPAGREE = (sys.executable, "-m", "spagree")
HEADER = "item,annotator,label"


def written(path: Path, *rows: str, header: str = HEADER) -> Path:
    """The file, with a row in each line."""
    path.write_text("".join(f"{line}\n" for line in (header, *rows)), "utf-8")
    return path


class Terminal(StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


class Run:
    """``run("score", path)`` → exit code, standard output, standard error."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self.capsys = capsys

    def __call__(self, *arguments: object) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as stopped:
            main([str(argument) for argument in arguments])
        printed = self.capsys.readouterr()
        return int(stopped.value.code or 0), printed.out, printed.err

    def json(self, *arguments: object) -> Any:
        """What a command that succeeds prints as JSON."""
        code, out, err = self(*arguments, "--json")
        assert code == 0, err
        return json.loads(out)


def bash(arguments: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """``spagree`` with these arguments, redirections and pipes."""
    command = ["bash", "-c", f"{' '.join(SPAGREE)} {arguments}"]
    return subprocess.run(command, capture_output=True, check=False, env={**os.environ, **environment}, timeout=120)


def on_a_terminal(*command: object, typed: bytes = b"", stdout: int | None = None) -> tuple[int, str]:
    """The exit code on a pseudo-terminal, and what a person sees there; ``stdout`` may go elsewhere."""
    ours, theirs = pty.openpty()
    shown = theirs if stdout is None else stdout
    with subprocess.Popen(list(map(str, command)), stdin=theirs, stdout=shown, stderr=theirs) as job:
        os.close(theirs)
        os.write(ours, typed)
        seen = b""
        try:
            while block := os.read(ours, 4096):
                seen += block
        except OSError:  # what Linux says at the end of a terminal
            pass
        os.close(ours)
    return job.returncode, seen.decode()
