"""What sources report about annotations. Reports may repeat or arrive in any order: the result is the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

Key = tuple[str, str, str, str]  # project, question, source, id

FINAL = 1e300  # the version of a permanently deleted annotation: no other report restores it
PART = "\x1e"  # in an id, between an annotation and the place of one answer in its list
ANY_QUESTION = ""  # rows of this question record that an annotation or an item was deleted in all questions


class Annotation(NamedTuple):
    """An annotation as a source reports it; without a version, the latest report counts."""

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
        """What identifies the annotation."""
        return self[:4]


@dataclass(frozen=True, slots=True)
class Gone:
    """An annotation with all its questions, or an item with all its annotations, was permanently deleted."""

    project: str
    source: str
    id: str = ""
    item: str = ""


@dataclass(frozen=True, slots=True)
class Listing:
    """Everything a source holds for a project at a moment; what it omits was deleted.

    Its annotations are identified by their ids (``by_id``), or by item and annotator if the source gives no ids.
    """

    project: str
    source: str
    annotations: Sequence[Annotation]
    as_of: float
    by_id: bool = False


Event = Annotation | Gone | Listing


@dataclass(frozen=True, slots=True)
class Batch:
    """Many annotations of one question from one source, column by column; none of them is deleted.

    A batch of new annotations is stored as it is, without an object for each annotation.
    """

    project: str
    question: str
    source: str
    id: Sequence[str]
    item: Sequence[str]
    annotator: Sequence[str]
    label: Sequence[str]
    version: Sequence[float | None]
    time: Sequence[float | None]

    def __len__(self) -> int:
        return len(self.id)

    def __iter__(self) -> Iterator[Annotation]:
        """The annotations one by one."""
        columns = (self.id, self.item, self.annotator, self.label, self.version, self.time)
        for values in zip(*columns, strict=True):
            yield Annotation(self.project, self.question, self.source, *values)


Events = Sequence[Event] | Batch


class Row(NamedTuple):
    """An annotation as stored; ``seq`` numbers annotations in the order of their first report."""

    annotation: Annotation
    seq: int
    arrived: float


def settled(before: Row | None, annotation: Annotation, seq: int, now: float) -> Row | None:
    """The row after a report, or None if the report changes nothing.

    The higher version wins, then a deletion, then the greater label: a total order, so the order of arrival does not
    matter. A report without a version replaces whatever came before it.

    >>> late = Annotation("p", "q", "api", "1", "i", "ann", "yes", version=1.0)
    >>> row = settled(None, Annotation("p", "q", "api", "1", "i", "ann", "no", version=2.0), 1, 0.0)
    >>> settled(row, late, 2, 0.0) is None, row.annotation.label
    (True, 'no')
    """
    if before is None:
        return Row(annotation, seq, now)
    stored = before.annotation
    if stored.version == FINAL:
        return None
    if annotation.version is None:
        annotation = annotation._replace(version=stored.version)
    elif stored.version is not None and _order(annotation) <= _order(stored):
        return None
    if annotation.time is None:
        annotation = annotation._replace(time=stored.time)
    if annotation.deleted:
        annotation = annotation._replace(item=stored.item, annotator=stored.annotator, label=stored.label)
    return None if annotation == stored else Row(annotation, before.seq, now)


def _order(annotation: Annotation) -> tuple[float, bool, str, str, str]:
    about = ("", "", "") if annotation.deleted else (annotation.label, annotation.item, annotation.annotator)
    return -1.0 if annotation.version is None else annotation.version, annotation.deleted, *about
