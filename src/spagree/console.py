"""What commands print: results at once, JSON in one shape, a spinner on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO
from typing import Any

import click

from spagree.errors import FileError


@contextmanager
def working(what: str) -> Iterator[None]:
    """A spinner with the elapsed time on a terminal; silence in a pipeline."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        progress.add_task(what)
        yield


def say(text: str, *, newline: bool = True) -> None:
    """Print a result at once; a closed pipe or a full disk is an error like any other."""
    try:
        click.echo(text, nl=newline)
        sys.stdout.flush()
    except OSError as error:
        _close_stdout()
        raise FileError(f"standard output cannot be written: {error.strerror}") from error


def draw(*parts: Any, least: int = 0) -> None:
    """Print rich renderables, as wide and as coloured as the terminal is; in a pipe at least so wide."""
    from rich.console import Console

    terminal, page = Console(), StringIO()
    width = terminal.width if terminal.is_terminal else max(terminal.width, least)
    drawn = Console(file=page, width=width, force_terminal=terminal.is_terminal, highlight=False)
    drawn.print(*parts, sep="\n")
    say(page.getvalue(), newline=False)


def print_json(value: Any) -> None:
    """Print plain values as JSON."""
    import json

    say(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))


def _close_stdout() -> None:
    """Nobody reads any more: keep Python from complaining about it at exit."""
    import os

    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
