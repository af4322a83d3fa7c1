"""Options in messages: written as they are typed (--label), shown in Python as keyword arguments (label=)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import groupby
from typing import TYPE_CHECKING

from spagree.messages import BEGIN, in_python, typed

if TYPE_CHECKING:
    from spagree.options import Kind, Option

_on_command_line: ContextVar[bool] = ContextVar("on_command_line", default=False)


@contextmanager
def command_line() -> Iterator[None]:
    """Inside this context, messages name options as typed on the command line."""
    token = _on_command_line.set(True)
    try:
        yield
    finally:
        _on_command_line.reset(token)


_TYPED = re.compile(
    r"""(?<![\w-])--(?P<name>[a-z]+(?:-[a-z]+)*)
        (?:[ ](?P<value>'[^']*'|"[^"]*"|(?!--)[\w./:*\[\],=-]*[\w\]]))?
        (?P<both>[ ]\(\w+=[^)]*\))?""",
    re.VERBOSE,
)
_POLICIES = frozenset(["error", "first", "last", "set", "keep", "drop", "options"])
_NO_VALUES = frozenset(
    ("and", "asks", "does", "for", "has", "if", "is", "needs", "only", "or", "out", "reads", "resamples", "takes",
     "then", "to", "was", "with")
)  # fmt: skip
_OTHERS = {"all-questions": "measure_all()", "force": "force=True"}


def spelled(message: str) -> str:
    """The message with options as its reader writes them: --label on the command line, label= in Python.

    Messages quote a value that is not a plain word, such as a column's name.

    >>> spelled("name the column with --label, or say --format wide, --no-header or --order low,high")
    'name the column with label=, or say format="wide", header=False or order=["low", "high"]'
    >>> spelled("say --item 'doc' --item 'sentence_no' --annotator 'who'")
    'say item=["doc", "sentence_no"], annotator="who"'
    >>> with command_line():
    ...     spelled("say --item 'doc id' or --normalize (normalize=True)")
    "say --item 'doc id' or --normalize"
    """
    if BEGIN in message:
        message = typed(message) if _on_command_line.get() else in_python(message)
    if _on_command_line.get():
        return _TYPED.sub(lambda typed: typed.group().removesuffix(typed["both"] or ""), message)
    written, end = "", 0
    for run in _runs(message):
        written += message[end : run[0].start()] + ", ".join(_arguments(run))
        end = run[-1].end()
    return written + message[end:]


def _runs(message: str) -> Iterator[list[re.Match[str]]]:
    """The options in a message; options with only a blank between them form one run."""
    run: list[re.Match[str]] = []
    for match in _TYPED.finditer(message):
        if run and (message[run[-1].end() : match.start()] != " " or run[-1]["value"] in _NO_VALUES):
            yield run
            run = []
        run.append(match)
    if run:
        yield run


def _arguments(run: list[re.Match[str]]) -> Iterator[str]:
    """The options of a run as keyword arguments; a repeated option becomes a list."""
    for flag, repeated in groupby(run, key=lambda typed: typed["name"]):
        same = [_in_python(typed) for typed in repeated]
        name = flag.replace("-", "_") + "="
        yield same[0] if len(same) == 1 else f"{name}[{', '.join(one.removeprefix(name) for one in same)}]"


def _in_python(typed: re.Match[str]) -> str:
    from spagree.options import Estimating, Kind, Reading, declared

    options = {**declared(Reading), **declared(Estimating)}
    flag, value, both = typed["name"], typed["value"], typed["both"] or ""
    name = flag.removeprefix("no-").replace("-", "_")
    rest = f" {value}" if value else ""
    if flag in _OTHERS:
        return _OTHERS[flag] + rest
    if name not in options:
        return typed.group()
    if options[name].kind is Kind.FLAG:
        return f"{name}={not flag.startswith('no-')}{rest}"
    if value is None or not _is_value(value, options[name]):
        return f"{name}={rest}{both if rest else ''}"
    return f"{name}={_as_python(value, options[name].kind)}"


def _is_value(text: str, option: Option) -> bool:
    """Whether the word after an option is its value rather than the rest of the sentence."""
    from spagree.options import Kind

    if text[0] in "'\"":
        return True
    if option.kind in (Kind.WHOLE, Kind.REAL):
        return text[0].isdigit()
    if option.metavar == "POLICY":
        return text in _POLICIES
    if option.metavar in ("NAME", "TEXT", "SCHEME", "WHOM", "A,B,C"):
        return text not in _NO_VALUES
    return any(mark in text for mark in "/.:[")


def _as_python(text: str, kind: Kind) -> str:
    import json

    from spagree.options import Kind

    plain = text.strip("'\"")
    if kind in (Kind.WHOLE, Kind.REAL):
        return plain
    return json.dumps(plain.split(",") if kind is Kind.LISTED else plain, ensure_ascii=False)
