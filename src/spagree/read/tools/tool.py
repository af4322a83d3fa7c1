"""What every reader of a tool declares, and what it yields: one response per person and item."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from spagree.read.columns import names_link
from spagree.read.tools.chosen import Chosen
from spagree.read.tools.fields import address_in
from spagree.read.tools.source import Source
from spagree.read.tools.timestamps import usual
from spagree.understood import Caution

Value = str | tuple[str, ...] | None
NO_FIELDS: Mapping[str, Any] = MappingProxyType({})
KEPT = ""  # the status of a response that always counts


class Response(NamedTuple):
    """What one annotator answered about one item, question by question.

    A value is a text, several options, or nothing (an empty answer). A question that is not in ``answers`` was not
    asked; with ``is_complete`` it was asked and left empty. ``status`` and ``time`` are as the tool writes them,
    ``row`` is the line of the file if there is one, ``text`` is the item's text, and ``fields`` is the source record,
    for any other field the user may name.
    """

    item: str | None
    annotator: str | None
    answers: Mapping[str, Value]
    time: str | None = None
    status: str = KEPT
    is_gold: bool = False
    row: int | None = None
    text: str | None = None
    is_complete: bool = False
    fields: Mapping[str, Any] = NO_FIELDS


class Responses(NamedTuple):
    """Many responses, column by column: what a reader yields for a large export, to save an object per response."""

    items: Sequence[str | None]
    annotators: Sequence[str | None]
    answers: Sequence[Mapping[str, Value]]
    times: Sequence[str | None]
    statuses: Sequence[str]
    golds: Sequence[bool]
    rows: Sequence[int | None]
    texts: Sequence[str | None]
    completes: Sequence[bool]
    fields: Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class ReaderOptions:
    """The user's options that a reader needs.

    The reader adds what the user should know to ``cautions``, and remarks on a single question to ``notes``.
    """

    scratch: Path
    encoding: str | None = None
    item: str | None = None
    annotator: str | None = None
    time: str | None = None
    question: str | None = None
    text: str | None = None
    config: Any = None
    where: Chosen | None = None
    cluster: str | None = None
    by: str | None = None
    cautions: list[Caution] = field(default_factory=list)
    notes: dict[str, str] = field(default_factory=dict)

    def needs(self, name: str) -> bool:
        """Whether the user named this field of a record, or it may hold the address of the task."""
        is_condition = self.where is not None and self.where.names(name)
        return is_condition or name in (self.cluster, self.by) or names_link(name)


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool whose exports can be read.

    ``fields``: where it keeps item, annotator, label and time, as shown in the summary. ``statuses``: the code under
    which responses of a status are left out; ``counted``: the statuses that count by default. ``renames``: the roles
    for which the user may name another field. ``shapes``: what it can read besides plain files, such as folders.
    ``is_numbered``: whether the row of a response is the annotation's number, which sets the order. ``link``: the
    address of a record's task.
    """

    name: str
    title: str
    fields: Mapping[str, str]
    recognise: Callable[[Source], bool]
    responses: Callable[[Source, ReaderOptions], Iterator[Response | Responses]]
    statuses: Mapping[str, str] = field(default_factory=dict)
    counted: tuple[str, ...] = ()
    renames: frozenset[str] = frozenset({"item"})
    shapes: frozenset[str] = frozenset()
    clock: Callable[[str], float | None] = usual
    is_numbered: bool = False
    link: Callable[[Mapping[str, Any]], str | None] = address_in
