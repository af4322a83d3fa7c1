"""Every error spagree raises on purpose, as one tree.

    SpagreeError                 catch this to catch them all
    ├── UsageError       exit 2  an option, a name or a value that spagree does not know
    │   ├── UnknownNameError     an argument or a key that does not exist
    │   └── MissingExtraError    a library of an extra is not installed
    ├── DataError        exit 3  the data was read, but cannot be used as it is
    │   ├── ColumnError          a column is missing, ambiguous or duplicated
    │   ├── DuplicateError       one annotator gave one item different labels
    │   └── SpansError           the data marks spans, not classes; the command line then measures spans
    └── FileError        exit 4  a file cannot be read or written

A message says where, what was found, and what to do; the command line reads ``--label`` where callers in Python read
``label=`` (messages.py). If many rows are wrong, the message shows the first three and counts the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, TypeVar

from spagree.messages import Marked, Message

SHOWN_PROBLEMS = 3
FEWEST_LETTERS = 3  # of a name that is suggested because it contains what was written

T = TypeVar("T")


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
