"""What every reader returns: annotations in one shape, on whatever engine holds them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from spagree.late import nw
from spagree.understood import Caution, Understood

ITEM, ANNOTATOR, LABEL, TIME, ROW, COUNT = "item", "annotator", "label", "time", "row", "count"
TEXT, LINK, CLUSTER, GROUP = "text", "link", "cluster", "by"


Stamp = tuple[int, int, int]  # of a file: its inode, its size and the time of its last change


@dataclass(frozen=True)
class FewRows:
    """The annotations of a small file, in memory as text: counting them takes less time than starting an engine.

    ``cells`` holds a column for ``item``, ``label`` and, where known, ``annotator``; an empty cell is None.
    ``load`` puts the same rows on an engine, for whoever asks more than a score.
    """

    cells: Mapping[str, Sequence[str | None]]
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
        names = self.rows.cells if isinstance(self.rows, FewRows) else self.rows.collect_schema().names()
        return ANNOTATOR in names


def is_missing(value: object) -> bool:
    """Whether a value is missing: None, NaN, NaT or NA.

    >>> [is_missing(each) for each in (None, float("nan"), "", 0, "None")]
    [True, True, False, False, False]
    """
    return value is None or type(value).__name__ == "NAType" or value != value  # noqa: PLR0124 (NaN)
