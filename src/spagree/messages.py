"""Options in messages: marked where a message is written, spelled for its reader where it is shown.

    f"name the column with {opt.label}, or say {opt.format('wide')} {opt.item(names)}"

reads --label, --format wide and --item 'doc id' on the command line, and label=, format="wide" and item="doc id" in
Python. The marks are characters that no text holds, so what the user wrote is never taken for an option.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from itertools import groupby
from shlex import quote

BEGIN, BETWEEN, END = "\ufdd0", "\ufdd1", "\ufdd2"  # noncharacters: Unicode keeps them for use inside a program
TEXTS = ("item", "annotator", "label", "time", "time_format", "text", "cluster", "by", "question", "model", "where")
QUOTED = frozenset((*TEXTS, "exclude_annotator", "missing", "separator", "sheet", "query"))
"""Options with texts of the user: quotes show where they begin and end."""
ELSEWHERE = {"all_questions": "measure_all()", "force": "force=True"}  # what else options are in Python

_on_command_line: ContextVar[bool] = ContextVar("on_command_line", default=False)


class _Options:
    """``opt.label`` is an option; ``opt.label("a")`` gives it a value, and ``opt.label(["a", "b"])`` several.

    ``opt[role]`` is the option of that name.
    """

    def __getattr__(self, name: str) -> Marked:
        if name.startswith("__"):
            raise AttributeError(name)
        return self[name]

    def __getitem__(self, name: str) -> Marked:
        return Marked(f"{BEGIN}{name}{END}")


class Marked(str):
    """An option, which may be given values."""

    __slots__ = ()

    def __call__(self, values: object) -> str:
        """The option with a value, or once for each of a list; nothing for an empty list."""
        many = values if isinstance(values, list | tuple) else [values]
        return f"{self[:-1]}{BETWEEN}{BETWEEN.join(map(str, many))}{END}" if many else ""


opt = _Options()


@dataclass(frozen=True, slots=True)
class Option:
    """An option in a message, with the values that the message gives it."""

    name: str
    values: tuple[str, ...] = ()

    def typed(self) -> str:
        """As it is typed on the command line.

        >>> print(Option("item", ("doc", "it's")).typed(), Option("format", ("wide",)).typed())
        --item 'doc' --item 'it'"'"'s' --format wide
        """
        flag = f"--{self.name.replace('_', '-')}"
        return " ".join(f"{flag} {self._quoted(value)}" for value in self.values) if self.values else flag

    def _quoted(self, value: str) -> str:
        """For the shell; a text of the user also where that is not needed."""
        return f"'{value}'" if self.name in QUOTED and "'" not in value else quote(value)

    def in_python(self) -> str:
        """As a keyword argument, or as it is typed where Python has none.

        >>> Option("first", ("2",)).in_python(), Option("no_header").in_python(), Option("token_file").in_python()
        ('first=2', 'header=False', '--token-file')
        >>> Option("order", ("low,high",)).in_python(), Option("item", ("a", "b")).in_python()
        ('order=["low", "high"]', 'item=["a", "b"]')
        """
        from spagree.options import Estimating, Kind, Reading, declared

        name = self.name.removeprefix("no_")
        option = {**declared(Reading), **declared(Estimating)}.get(name)
        if option is None:
            return ELSEWHERE.get(self.name) or self.typed()
        if option.kind is Kind.FLAG:
            return f"{name}={not self.name.startswith('no_')}"
        numbers = option.kind in (Kind.WHOLE, Kind.REAL)
        many = self.values[0].split(",") if option.kind is Kind.LISTED and self.values else self.values
        written = [value if numbers else json.dumps(value, ensure_ascii=False) for value in many]
        is_list = len(written) > 1 or (option.kind is Kind.LISTED and bool(written))
        return f"{name}=[{', '.join(written)}]" if is_list else f"{name}={''.join(written)}"


def typed(message: str) -> str:
    """A message for the command line.

    >>> typed(f"name it with {opt.label}, or say {opt.format('wide')} {opt.item(['doc id', 'no'])}")
    "name it with --label, or say --format wide --item 'doc id' --item 'no'"
    """
    return "".join(part if isinstance(part, str) else part.typed() for part in parts(message))


def in_python(message: str) -> str:
    """A message for callers in Python; options with only a blank between them are arguments, with a comma.

    >>> in_python(f"name it with {opt.label}, or say {opt.format('wide')} {opt.item(['doc id', 'no'])}")
    'name it with label=, or say format="wide", item=["doc id", "no"]'
    """
    if BEGIN not in message:
        return message
    written, run = "", []
    for part in (*parts(message), ""):
        if isinstance(part, Option):
            run.append(part)
        elif part != " " or not run:
            written += ", ".join(option.in_python() for option in _together(run)) + part
            run = []
    return written


def _together(options: list[Option]) -> Iterator[Option]:
    """A repeated option is one argument with a list."""
    for name, same in groupby(options, key=lambda option: option.name):
        yield Option(name, tuple(value for option in same for value in option.values))


def parts(message: str) -> Iterator[str | Option]:
    """The text of a message and its options, in turn."""
    text, *marked = message.split(BEGIN)
    yield text
    for piece in marked:
        inside, end, text = piece.partition(END)
        name, *values = inside.split(BETWEEN)
        if end and name.isidentifier():
            yield Option(name, tuple(values))
            yield text
        else:  # not a mark of ours
            yield BEGIN + piece


@contextmanager
def command_line() -> Iterator[None]:
    """Inside this context, messages are for the command line."""
    token = _on_command_line.set(True)
    try:
        yield
    finally:
        _on_command_line.reset(token)


def spelled(message: str) -> str:
    """The message with options as its reader writes them: --label on the command line, label= in Python."""
    if BEGIN not in message:
        return message
    return typed(message) if _on_command_line.get() else in_python(message)
