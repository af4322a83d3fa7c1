"""What commands print: help, results, JSON and charts; a spinner on a terminal."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from io import StringIO
from pathlib import Path
from shutil import get_terminal_size
from textwrap import TextWrapper
from typing import Any, TextIO

import click

from spagree import __version__, progress
from spagree.errors import FileError, UsageError, Warning
from spagree.write import refuse_existing

REFRESHED = 8  # times a second
PLAIN = str.maketrans(
    {"│": "|", "─": "-", "━": "-", "═": "=", "█": "#", "●": "*", "▸": ">", "•": "*", "·": "-"}
    | {"×": "x", "±": "+/-", "…": "...", "–": "-", "—": "-", "−": "-", "→": "->", "’": "'"}
)


@contextmanager
def working(what: str) -> Iterator[None]:
    """The stage, its progress and the elapsed time on a terminal; nothing in a pipeline.

    Redrawn by a thread that ends with the work. Rich's own may outlive it, and if that holds the last
    reference to a duckdb connection while Python shuts down, releasing it aborts the process.
    """
    if sys.stderr is None or not sys.stderr.isatty():
        yield
        return
    from rich.console import Console
    from rich.live import Live

    done = threading.Event()

    def paint() -> None:
        with suppress(OSError):  # the terminal is gone
            while not done.wait(1 / REFRESHED):
                live.refresh()

    with (
        progress.watched() as stages,
        Live(_Display(stages, what), console=Console(stderr=True), transient=True, auto_refresh=False) as live,
    ):
        painter = threading.Thread(target=paint, daemon=True)
        painter.start()
        try:
            yield
        finally:
            done.set()
            painter.join()
            stages.engines.clear()


class _Display:
    """What rich redraws from a separate thread during the work."""

    def __init__(self, stages: progress.Progress, what: str) -> None:
        from rich.spinner import Spinner

        self.stages, self.what, self.start, self.spinner = stages, what, time.monotonic(), Spinner("dots")

    def __rich__(self) -> Any:
        from rich.progress_bar import ProgressBar
        from rich.table import Table

        share, seconds = self.stages.share(), int(time.monotonic() - self.start)
        line = Table.grid(padding=(0, 1))
        bar: list[Any] = [ProgressBar(1.0, share, width=30), f"{share:.0%}"] if share is not None else []
        line.add_row(self.spinner, self.stages.stage or self.what, *bar, f"{seconds // 60}:{seconds % 60:02}")
        return line


def say(text: str, *, newline: bool = True) -> None:
    """Print a result immediately; a closed pipe or a full disk is an error like any other."""
    try:
        click.echo(_encodable(text, sys.stdout), nl=newline)
        sys.stdout.flush()
    except OSError as error:
        _silence(sys.stdout)
        raise FileError(f"standard output cannot be written: {error.strerror}") from error


def note(text: str) -> None:
    """Print on standard error; do nothing if it is closed."""
    if sys.stderr is None:
        return
    if sys.stderr.isatty():  # lines end between words; indented ones, which hold options to copy, stay
        wrapped = TextWrapper(get_terminal_size().columns, break_on_hyphens=False, break_long_words=False)
        text = "\n".join(line if line.startswith(" ") else wrapped.fill(line) for line in text.split("\n"))
    try:
        click.echo(_encodable(text, sys.stderr), err=True)
        sys.stderr.flush()
    except OSError:
        _silence(sys.stderr)


def complain(text: str) -> None:
    """Print a message that may hold what users wrote on standard error, control characters escaped."""
    from spagree.present.words import escape_controls

    note(escape_controls(text))


def warn(noticed: Iterable[Warning]) -> None:
    """Print what was noticed while reading and counting, for commands whose results do not show it."""
    for warning in noticed:
        complain(f"warning: {warning.message.typed()}")


def _encodable(text: str, stream: TextIO) -> str:
    """The text in characters the console can show: similar ones for lines and signs, escapes for the rest."""
    encoding = stream.encoding or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return text.translate(PLAIN).encode(encoding, "backslashreplace").decode(encoding)
    return text


def draw(*parts: Any, least: int = 0) -> None:
    """Print rich renderables in the terminal's width and colours; in a pipe at least ``least`` wide."""
    from rich.console import Console

    terminal, page = Console(), StringIO()
    width = terminal.width if terminal.is_terminal else max(terminal.width, least)
    drawn = Console(file=page, width=width, force_terminal=terminal.is_terminal, highlight=False, emoji=False)
    drawn.print(*parts, sep="\n")
    text = page.getvalue()
    plain = "".join(f"{line.rstrip()}\n" for line in text.splitlines())
    say(text if terminal.is_terminal else plain, newline=False)


def tell(text: str) -> None:
    """Print sentences: between words a terminal's lines may end, in a pipe each stays on its line."""
    from rich.text import Text

    if sys.stdout.isatty():
        draw(Text(text))
    else:
        say(text)


def print_json(value: Any) -> None:
    """Print plain values as JSON, with escapes for characters the console cannot show."""
    from spagree.present.document import to_json

    is_unicode = (sys.stdout.encoding or "").lower().startswith("utf")
    say(to_json(value, ascii=not is_unicode))


def _silence(stream: TextIO) -> None:
    """The reader is gone: keep Python from complaining at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _show(context: click.Context, parameter: click.Parameter, is_asked: bool) -> None:
    if is_asked and not context.resilient_parsing:
        say(f"spagree, version {__version__}" if parameter.name == "version" else context.get_help())
        context.exit()


def shown(*names: str, help: str) -> click.Option:
    """An option that prints what it is called after, like any result: a closed pipe or a full disk is an error."""
    return click.Option(names, is_flag=True, is_eager=True, expose_value=False, callback=_show, help=help)


class PrintedHelp(click.Command):
    """A command whose help is printed like any result."""

    def __init__(self, name: str | None, **settings: Any) -> None:
        super().__init__(name, add_help_option=False, **settings)
        self.params.append(shown("-h", "--help", help="Show this message and exit."))


class Group(PrintedHelp, click.Group):
    """Commands under a common name."""


def refuse_picture(path: str | None, *, force: bool) -> None:
    """Refuse a bad name of a chart's file, a missing extra or an existing file, before counting."""
    if path is not None:
        from spagree.present.charts.save import FORMATS, check_extra

        check_extra()
        if Path(path).suffix.removeprefix(".") not in FORMATS:
            raise UsageError(f"--chart {path}: end the name with one of .{', .'.join(FORMATS)}")
        refuse_existing(path, force=force)


def write_picture(path: str | None, chart: Callable[[], Any]) -> None:
    """Draw a chart if a file was named."""
    if path is not None:
        from spagree.present.charts.save import save

        save(chart(), Path(path).with_suffix(""), [Path(path).suffix.removeprefix(".")])
        note(f"wrote {path}")
