"""Calls the command in this process and keeps what it printed."""

from __future__ import annotations

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
