"""Runs commands: in this process, or in another one on a terminal."""

from __future__ import annotations

import os
import pty
import subprocess

import pytest

from spagree.cli.app import main


class Run:
    """``run("score", path)`` → exit code, standard output, standard error."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self.capsys = capsys

    def __call__(self, *arguments: object) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as stopped:
            main([str(argument) for argument in arguments])
        printed = self.capsys.readouterr()
        return int(stopped.value.code or 0), printed.out, printed.err


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
