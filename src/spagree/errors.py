r"""Every error spagree raises on purpose, as one tree, and the messages that say what happened.

    SpagreeError                 catch this to catch them all
    ├── UsageError       exit 2  an option, a name or a value that spagree does not know
    │   ├── UnknownNameError     an argument or a key that does not exist
    │   └── MissingExtraError    a library of an extra is not installed
    ├── DataError        exit 3  the data was read, but cannot be used as it is
    │   ├── ColumnError          a column is missing, ambiguous or duplicated
    │   ├── DuplicateError       one annotator gave one item different labels
    │   └── SpansError           the data marks spans, not classes; the command line then measures spans
    └── FileError        exit 4  a file cannot be read or written

A message says where, what was found, and what to do. If many rows are wrong, it shows the first three and counts the
rest.

Messages are data: options and texts of the user are marked where a message is written, spelled where it is shown.

    f"name the column with {opt.label}, or say {opt.format('wide')} {opt.item(names)}; found {shown(cell)}"

is a text with marks, of which a :class:`Message` is made. That reads as Python has it, label=, format="wide",
item="doc id"; its ``typed()`` as the command line has it, --label, --format wide --item 'doc id'; with names hidden
the cell is '…'. Every process draws its marks anew, so what the user wrote is never taken for one.

Errors, warnings and results hold messages; the command line asks for ``typed()``, or ``for_command_line(result)``.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from itertools import groupby
from shlex import quote
from typing import Any, NoReturn, TypeVar, cast

from spagree.options import IN_PYTHON, Kind

BEGIN, BETWEEN, END = (mark + os.urandom(6).hex() for mark in "\ufdd0\ufdd1\ufdd2")
TEXTS = ("item", "annotator", "label", "time", "time_format", "text", "cluster", "by", "question", "model", "where")
QUOTED = frozenset((*TEXTS, "exclude_annotator", "missing", "separator", "sheet", "query"))
"""Options with texts of the user: quotes show where they begin and end."""
ELSEWHERE = {"all_questions": "measure_all()", "force": "force=True"}  # what else options are in Python
RESULTS = (
    "spagree.estimate",
    "spagree.comparing",
    "spagree.errors",
    "spagree.read.annotations",
)  # where records with messages are made
PLAIN = (str, bytes, int, float, type(None))  # values with nothing inside

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class User:
    """A text of the user in a message, quoted and escaped."""

    quoted: str

    def __str__(self) -> str:
        return f"{BEGIN}{BETWEEN}{self.quoted}{END}"


@dataclass(frozen=True, slots=True)
class Option:
    """An option in a message, with the values that the message gives it."""

    name: str
    values: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{BEGIN}{BETWEEN.join((self.name, *self.values))}{END}"

    def typed(self) -> str:
        """As it is typed on the command line.

        >>> print(Option("item", ("doc", "it's")).typed(), Option("format", ("wide",)).typed())
        --item 'doc' --item 'it'"'"'s' --format wide
        """
        flag = f"--{self.name.replace('_', '-')}"
        return " ".join(f"{flag} {self._quoted(value)}" for value in self.values) if self.values else flag

    def _quoted(self, value: str) -> str:
        """For the shell; a text of the user also where that is not needed."""
        if not value.isprintable():
            escaped = value.replace("\\", "\\\\").replace("'", "\\'")
            return f"$'{_escaped(escaped)}'"
        return f"'{value}'" if self.name in QUOTED and "'" not in value else quote(value)

    def in_python(self) -> str:
        """As a keyword argument, or as it is typed where Python has none."""
        name = self.name.removeprefix("no_")
        option = IN_PYTHON.get(name)
        if option is None:
            return ELSEWHERE.get(self.name) or self.typed()
        if option.kind is Kind.FLAG:
            return f"{name}={not self.name.startswith('no_')}"
        numbers = option.kind in (Kind.WHOLE, Kind.REAL)
        many = self.values[0].split(",") if option.kind is Kind.LISTED and self.values else self.values
        written = [value if numbers else _escaped(json.dumps(value, ensure_ascii=False)) for value in many]
        is_list = len(written) > 1 or (option.kind is Kind.LISTED and bool(written))
        return f"{name}=[{', '.join(written)}]" if is_list else f"{name}={''.join(written)}"


def _escaped(text: str) -> str:
    """A text with escapes that Python and the shell know for what cannot be printed."""
    return "".join(letter if letter.isprintable() else _escape(ord(letter)) for letter in text)


def _escape(code: int) -> str:
    if code == ord("\n"):
        return "\\n"
    if code < 0x80:  # noqa: PLR2004 (the shell takes what is above for a byte)
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"  # noqa: PLR2004 (four digits)


# Writing a message --------------------------------------------------------------------------------


class Marked(str):
    """An option in a text, which may be given values."""

    __slots__ = ()

    def __call__(self, values: object) -> str:
        """The option with a value, or once for each of a list; nothing for an empty list."""
        many = values if isinstance(values, list | tuple) else [values]
        return f"{self.removesuffix(END)}{BETWEEN}{BETWEEN.join(map(str, many))}{END}" if many else ""


class _Options:
    """``opt.label`` or ``opt[role]`` is an option; ``opt.label("a")`` and ``opt.label(["a", "b"])`` give it values."""

    def __getattr__(self, name: str) -> Marked:
        if name.startswith("__"):
            raise AttributeError(name)
        return Marked(Option(name))

    __getitem__ = __getattr__


opt = _Options()


def shown(value: object, limit: int = 60) -> str:
    r"""A value of the user in a message: a text is quoted, control characters escaped, and shortened if it is long.

    >>> print(Message(f"found {shown('a' * 100, limit=5)} and {shown('é' + chr(27) + '[31m')} in row {shown(3)}"))
    found 'aaaaa…' and 'é\x1b[31m' in row 3
    """
    if not isinstance(value, str):
        return str(value)
    return str(User(repr(value if len(value) <= limit else value[:limit] + "…")))


def listed(names: Sequence[str], limit: int = 30) -> str:
    """Column names for a message, shortened if there are very many."""
    text = ", ".join(shown(name) for name in names[:limit])
    hidden = len(names) - limit
    return f"{text} and {hidden:,} more" if hidden > 0 else text


# Reading it ----------------------------------------------------------------------------------------


class Message(str):
    """A message as callers in Python read it, which keeps its parts for other readers.

    Options with only a blank between them are arguments in Python, with a comma.

    >>> told = Message(f"name it with {opt.label}, or say {opt.format('wide')} {opt.item(['doc id', 'no'])}")
    >>> print(told)
    name it with label=, or say format="wide", item=["doc id", "no"]
    >>> print(told.typed())
    name it with --label, or say --format wide --item 'doc id' --item 'no'
    """

    parts: tuple[str | Option | User, ...]

    def __new__(cls, text: str) -> Message:
        """A message of a text with marks, or of one that is a message already."""
        if isinstance(text, Message):
            return text
        parts = tuple(_parts(text))
        made = super().__new__(cls, _in_python(parts))
        made.parts = parts
        return made

    @property
    def marked(self) -> str:
        """The text with marks, to be part of another message."""
        return "".join(map(str, self.parts))

    def typed(self) -> str:
        """As the command line has it."""
        return "".join(part.typed() if isinstance(part, Option) else _plain(part) for part in self.parts)


def _parts(text: str) -> Iterator[str | Option | User]:
    text, *pieces = text.split(BEGIN)
    yield text
    for piece in pieces:
        inside, _, text = piece.partition(END)
        name, *values = inside.split(BETWEEN)
        yield Option(name, tuple(values)) if name else User(values[0])
        yield text


def _in_python(parts: Sequence[str | Option | User]) -> str:
    written = ""
    run: list[Option] = []
    for part in (*(part for part in parts if part), ""):
        if isinstance(part, Option):
            run.append(part)
        elif part != " " or not run:
            together = groupby(run, key=lambda option: option.name)  # a repeated option is one argument with a list
            named = [Option(name, tuple(value for each in same for value in each.values)) for name, same in together]
            written += ", ".join(option.in_python() for option in named) + _plain(part)
            run = []
    return written


def _plain(part: str | User) -> str:
    return part.quoted if isinstance(part, User) else part


def for_command_line(value: T) -> T:
    """A result or plain values with all their messages as they are typed; the same object if there are none."""
    if isinstance(value, Message):
        return cast(T, value.typed())
    inside: dict[Any, Any] = {}
    if isinstance(value, Mapping):
        inside = dict(value)
    elif isinstance(value, list | tuple):
        inside = dict(enumerate(value))
    elif is_dataclass(value) and type(value).__module__.startswith(RESULTS):
        inside = {each.name: getattr(value, each.name) for each in fields(value)}
    deeper = {name: each for name, each in inside.items() if type(each) not in PLAIN}
    after = {name: new for name, old in deeper.items() if (new := for_command_line(old)) is not old}
    told: Any = value
    if after and isinstance(value, list | tuple):
        told = [after.get(place, each) for place, each in inside.items()]
        told = told if isinstance(value, list) else tuple(told)
    elif after:
        told = inside | after if isinstance(value, Mapping) else replace(cast(Any, value), **after)
    return cast(T, told)


@dataclass(frozen=True, slots=True)
class Warning:
    """Something the user should know; ``code`` is stable, ``message`` is for people."""

    code: str
    message: Message

    def __init__(self, code: str, message: str) -> None:
        object.__setattr__(self, "code", code)
        object.__setattr__(self, "message", Message(message))


SHOWN_PROBLEMS = 3
FEWEST_LETTERS = 3  # of a name that is suggested because it contains what was written


class SpagreeError(Exception):
    """The root of all errors raised on purpose; ``exit_code`` is what the command returns.

    >>> issubclass(UsageError, SpagreeError), DataError.exit_code
    (True, 3)
    """

    exit_code = 3

    def __init__(self, message: str) -> None:
        super().__init__(Message(message))

    @property
    def message(self) -> Message:
        """What went wrong, for every reader; ``str(error)`` is as Python has it."""
        return Message(self.args[0])


class UsageError(SpagreeError, ValueError):
    """An option, a name or a value that spagree does not know.

    >>> import spagree
    >>> spagree.measure([("q1", "ann", "yes")], level=95)
    Traceback (most recent call last):
    spagree.errors.UsageError: level 95: a confidence level lies between 0 and 1, for example 0.95
    """

    exit_code = 2


class UnknownNameError(UsageError, TypeError, KeyError):
    """An argument or a key that does not exist, for which Python would raise a TypeError or a KeyError.

    >>> import spagree
    >>> spagree.measure("example:sparse", lable="verdict")
    Traceback (most recent call last):
    spagree.errors.UnknownNameError: unknown option of measure() 'lable'; did you mean 'label'? ...
    """

    __str__ = Exception.__str__  # KeyError would quote the message


class MissingExtraError(UsageError, ImportError):
    """A library of an extra is not installed.

    >>> print(MissingExtraError("excel", "reading .xlsx files"))
    reading .xlsx files needs the extra 'excel': pip install 'spagree[excel]'
    """

    def __init__(self, extra: str, purpose: str) -> None:
        super().__init__(f"{purpose} needs the extra {extra!r}: pip install 'spagree[{extra}]'")


class DataError(SpagreeError, ValueError):
    """The data was read, but cannot be used as it is.

    >>> print(DataError("2 rows are broken", problems=["a.csv:3: too few fields"], total=2))
    2 rows are broken
      a.csv:3: too few fields
      … and 1 more
    """

    exit_code = 3

    def __init__(self, message: str, problems: Sequence[str] = (), total: int | None = None) -> None:
        shown = list(problems[:SHOWN_PROBLEMS])
        hidden = (len(problems) if total is None else total) - len(shown)
        tail = [f"… and {hidden:,} more"] if shown and hidden > 0 else []
        super().__init__("\n  ".join(Message(each).marked for each in (message, *shown, *tail)))
        self.problems = tuple(map(Message, problems))
        self.total = len(problems) if total is None else total


class ColumnError(DataError):
    """A column is missing, ambiguous or duplicated.

    >>> import polars, spagree
    >>> spagree.measure(polars.DataFrame({"item": [1], "verdict2": ["yes"]}))
    Traceback (most recent call last):
    spagree.errors.ColumnError: polars frame: no column looks like the label; columns: 'item', 'verdict2'
      name the column of the label with label=
    """


class DuplicateError(DataError):
    """One annotator gave one item different labels.

    >>> import spagree
    >>> try:
    ...     spagree.measure([("q1", "ann", "yes"), ("q1", "ann", "no")])
    ... except spagree.DuplicateError as error:
    ...     print(error.problems[0])
    triples:2: annotator 'ann' labelled item 'q1' 'yes' (row 1) and 'no' (row 2)
    """


class SpansError(DataError):
    """The data marks spans of texts, not classes; the command line then measures agreement on spans.

    >>> import spagree
    >>> spagree.measure("example:spans")
    Traceback (most recent call last):
    spagree.errors.SpansError: example:spans: columns 'start', 'end' mark spans, not classes; measure ...
    """


class FileError(SpagreeError, OSError):
    """A file cannot be read or written.

    >>> import spagree
    >>> spagree.measure("nowhere.csv")
    Traceback (most recent call last):
    spagree.errors.FileError: nowhere.csv: no such file; check the path ...
    """

    exit_code = 4


def count(number: int, noun: str, plural: str | None = None) -> str:
    """A number with its noun, for messages and sentences; the plural may end with a verb.

    >>> count(1, "item"), count(12000, "item"), count(2, "class", "classes"), count(1, "row is", "rows are")
    ('1 item', '12,000 items', '2 classes', '1 row is')
    """
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


class Figures(dict[str, T]):
    """Figures by name; a name that does not exist is refused with the nearest one."""

    def __missing__(self, name: Any) -> NoReturn:
        """Suggest a name."""
        raise UnknownNameError(unknown_name("figure", str(name), self).message)


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that a misspelt one is most like."""
    import difflib

    folded = {each.casefold(): each for each in known}
    found = difflib.get_close_matches(name.casefold(), folded, n=1)
    return folded[found[0]] if found else None


def unknown_name(what: str, name: str, known: Iterable[str]) -> UsageError:
    """The error for a misspelt name, with the nearest known one.

    >>> print(unknown_name("weighting scheme", "egde", ["flat", "edge"]))
    unknown weighting scheme 'egde'; did you mean 'edge'? Known: flat, edge
    """
    names = [str(each) for each in known]
    near = nearest(name, names)
    if near is None and len(name) >= FEWEST_LETTERS:
        near = next((each for each in names if name.lower() in each), None)
    hint = f"did you mean {near!r}? Known" if near is not None else "known"
    written = f"value of {what(name)}" if isinstance(what, Marked) else f"{what} {name!r}"
    return UsageError(f"unknown {written}; {hint}: {', '.join(names)}")


# Values that may be absent --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Absent:
    """A breakdown that does not exist, and why."""

    error: SpagreeError
    reason: str = ""
    """Why, in words."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "reason", self.reason or self.error.message)


def outcome(make: Callable[[], T]) -> T | Absent:
    """What ``make`` returns, or why it cannot."""
    try:
        return make()
    except SpagreeError as error:
        return Absent(error)


def or_none(make: Callable[[], T]) -> T | None:
    """What ``make`` returns; None if it cannot."""
    try:
        return make()
    except SpagreeError:
        return None


def known(value: T | Absent) -> T:
    """The value; raises the reason if it is absent."""
    if isinstance(value, Absent):
        raise value.error
    return value


def there(value: T | Absent) -> T | None:
    """The value, if it is there and holds something."""
    if isinstance(value, Absent) or (hasattr(value, "is_empty") and value.is_empty()):
        return None
    return value
