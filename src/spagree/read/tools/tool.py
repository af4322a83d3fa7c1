"""What every reader of a tool declares, and what it yields: one response per person and item."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from spagree.read.annotations import Caution
from spagree.read.tools.source import Source
from spagree.read.tools.timestamps import usual

Value = str | tuple[str, ...] | None
KEPT = ""  # the status of a response that always counts


@dataclass(frozen=True, slots=True)
class Response:
    """What one annotator said about one item: an answer to each question that was options.

    A value is a text, several options, or nothing (an empty answer); a question that is not in
    ``answers`` was not options. ``status`` is the tool's own word, ``time`` the tool's own text, ``row``
    a line of the file where there is one.
    """

    item: str | None
    annotator: str | None
    answers: Mapping[str, Value]
    time: str | None = None
    status: str = KEPT
    is_gold: bool = False
    row: int | None = None


@dataclass(frozen=True, slots=True)
class ReaderOptions:
    """What the user said that a reader needs; ``cautions`` is where it leaves what the user should know."""

    scratch: Path
    encoding: str | None = None
    item: str | None = None
    annotator: str | None = None
    time: str | None = None
    question: str | None = None
    config: Any = None
    cautions: list[Caution] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool whose exports can be read.

    ``fields``: where it keeps item, annotator, label and time, as the summary shows it. ``statuses``: the
    code under which responses of a status are left out; ``counted``: the statuses that count unless the
    user says otherwise. ``renames``: the roles for which the user may name another field. ``shapes``:
    what else than plain files it can read, such as folders.
    """

    name: str
    title: str
    fields: Mapping[str, str]
    recognise: Callable[[Source], bool]
    responses: Callable[[Source, ReaderOptions], Iterator[Response]]
    statuses: Mapping[str, str] = field(default_factory=dict)
    counted: tuple[str, ...] = ()
    renames: frozenset[str] = frozenset({"item"})
    shapes: frozenset[str] = frozenset()
    clock: Callable[[str], float | None] = usual
