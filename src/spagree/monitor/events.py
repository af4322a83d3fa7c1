"""What sources say about annotations; the same said twice, or in another order, ends in the same state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

Key = tuple[str, str, str, str]  # project, question, source, id

FINAL = 1e300  # the version of what is gone for good: nothing said later or earlier brings it back
EVERY_QUESTION = ""  # rows of this question are marks that an annotation or an item is gone in all questions


@dataclass(frozen=True, slots=True)
class Given:
    """An annotation as a source says it is now; without a version, what arrives later holds."""

    project: str
    question: str
    source: str
    id: str
    item: str
    annotator: str
    label: str
    version: float | None = None
    time: float | None = None
    deleted: bool = False

    @property
    def key(self) -> Key:
        """What it replaces."""
        return self.project, self.question, self.source, self.id


@dataclass(frozen=True, slots=True)
class Gone:
    """An annotation with all its questions, or an item with all its annotations, was deleted for good."""

    project: str
    source: str
    id: str = ""
    item: str = ""


@dataclass(frozen=True, slots=True)
class Listing:
    """Everything a source holds for a project as of a moment; what it does not name is gone."""

    project: str
    source: str
    annotations: Sequence[Given]
    as_of: float


Event = Given | Gone | Listing


class Row(NamedTuple):
    """An annotation as it is kept; ``seq`` is the order in which annotations first arrived."""

    project: str
    question: str
    source: str
    id: str
    item: str
    annotator: str
    label: str
    version: float | None
    time: float | None
    deleted: bool
    seq: int
    arrived: float

    @property
    def key(self) -> Key:
        """What identifies it."""
        return self.project, self.question, self.source, self.id


def settled(before: Row | None, given: Given, seq: int, now: float) -> Row | None:
    """The row after an event, or None where the event changes nothing.

    Versions decide, then deletion, then the label: a total order, so the order of arrival does not matter. Where the
    event has no version, the order of arrival decides.

    >>> late = Given("p", "q", "api", "1", "i", "ann", "yes", version=1.0)
    >>> row = settled(None, Given("p", "q", "api", "1", "i", "ann", "no", version=2.0), 1, 0.0)
    >>> settled(row, late, 2, 0.0) is None, row.label
    (True, 'no')
    """
    version = given.version
    if before is not None:
        if before.version == FINAL:
            return None
        if version is None:
            version = before.version
        elif before.version is not None and _order(given) <= _order(before):
            return None
    row = Row(*given.key, given.item, given.annotator, given.label, version, given.time, given.deleted, seq, now)
    if before is None:
        return row
    row = row._replace(seq=before.seq, time=before.time if given.time is None else given.time)
    if given.deleted:
        row = row._replace(item=before.item, annotator=before.annotator, label=before.label)
    return None if row._replace(arrived=before.arrived) == before else row


def _order(said: Given | Row) -> tuple[float, bool, str, str, str]:
    about = ("", "", "") if said.deleted else (said.label, said.item, said.annotator)
    return -1.0 if said.version is None else said.version, said.deleted, *about
