"""What every reader returns: annotations in one shape, on whatever engine holds them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spagree.late import nw
from spagree.understood import Caution, Understood

if TYPE_CHECKING:
    from spagree.grouping import Codes


ITEM, ANNOTATOR, LABEL, TIME, ROW, COUNT = "item", "annotator", "label", "time", "row", "count"
TEXT, LINK, CLUSTER, GROUP = "text", "link", "cluster", "by"

Stamp = tuple[int, int, int]  # of a file: its inode, its size and the time of its last change
MOST_COMPARED = 5_000  # names of items or annotators that are compared by spelling, of more a sample


@dataclass(frozen=True, slots=True)
class CodedRows:
    """Annotations with an item and a label, as integers.

    ``codes`` holds a column for ``item``, ``label`` and, where known, ``annotator``: indices into sorted names, −1 if
    unknown. ``names`` are those of labels and annotators. ``item_names`` gives one name in so many, with all its
    spellings: only names that are texts. ``lacking`` counts the rows that lack a label or an item.
    """

    codes: Mapping[str, Codes]
    names: Mapping[str, Sequence[str]]
    item_names: Callable[[int], Collection[str]]
    lacking: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class FewRows:
    """The annotations of a file that is small enough to fetch: counting them here is faster than on an engine.

    ``size`` is how many rows there are at most and ``roles`` what their columns hold. ``fetch`` returns them as
    integers; None if that takes an engine. ``load`` puts the same rows on one, for whatever needs more than a score.
    """

    size: int
    roles: tuple[str, ...]
    fetch: Callable[[], CodedRows | None]
    load: Callable[[], nw.LazyFrame[Any]]

    @cached_property
    def frame(self) -> nw.LazyFrame[Any]:
        """The rows on an engine, loaded once."""
        return self.load()


@dataclass(frozen=True, slots=True)
class Annotations:
    """Annotations in rows, and how the source was understood.

    Columns of ``frame``: ``item`` and ``label`` always (null = missing, counted by the tally);
    ``annotator`` where known; ``time`` (a number or a datetime) where there is one; ``text`` of the
    item where its column was named; ``cluster`` of the item and ``by``, the group of the item or annotator, likewise;
    ``row``, the 1-based position in the source, if the engine keeps an order; ``count`` if one row represents
    several annotations (count tables), never together with ``annotator``. ``left_out`` counts what a
    reader's rules removed from an export: skips, drafts and the like. ``watched`` lists the files that are scanned in
    place and their state when they were opened.
    """

    rows: nw.LazyFrame[Any] | FewRows
    understood: Understood
    cautions: tuple[Caution, ...] = ()
    left_out: Mapping[str, int] = field(default_factory=dict)
    watched: Mapping[Path, Stamp] = field(default_factory=dict)

    @property
    def frame(self) -> nw.LazyFrame[Any]:
        """The rows on their engine."""
        return self.rows.frame if isinstance(self.rows, FewRows) else self.rows

    @property
    def has_annotators(self) -> bool:
        """Whether it is known who made each annotation."""
        names = self.rows.roles if isinstance(self.rows, FewRows) else self.rows.collect_schema().names()
        return ANNOTATOR in names


def is_missing(value: object) -> bool:
    """Whether a value is missing: None, NaN, NaT or NA.

    >>> [is_missing(value) for value in (None, float("nan"), "", 0, "None")]
    [True, True, False, False, False]
    """
    return value is None or type(value).__name__ == "NAType" or value != value  # noqa: PLR0124 (NaN)


def text_of(value: object) -> str:
    """A value as text; empty if it is missing.

    >>> text_of(1.5), text_of(None)
    ('1.5', '')
    """
    return "" if is_missing(value) else str(value)


def code_values(values: Sequence[Any], key: Callable[[Any], str] | None = None) -> tuple[Codes, list[Any]]:
    """Values as indices into the distinct ones, sorted by ``key``; −1 if missing.

    >>> codes, names = code_values(["b", None, "a", "b"])
    >>> codes.tolist(), names
    ([1, -1, 0, 1], ['a', 'b'])
    """
    import numpy as np

    names = sorted((value for value in set(values) if not is_missing(value)), key=key)
    places = dict(zip(names, range(len(names)), strict=True))
    return np.fromiter(map(places.get, values, repeat(-1)), np.int32, len(values)), names
