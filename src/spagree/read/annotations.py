"""What every reader returns: annotations, or marks, in one shape, on whatever engine holds them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from spagree.errors import Message, Warning

if TYPE_CHECKING:
    import narwhals as nw

    from spagree.codes import Codes
else:

    class _Late:
        """narwhals is imported when it is first used: the score of a small file never does."""

        def __getattr__(self, name: str) -> Any:
            return getattr(import_module("narwhals"), name)

    nw = _Late()

__all__ = ["nw"]  # of what is imported here, this alone is for other modules


ITEM, ANNOTATOR, LABEL, TIME, ROW, COUNT = "item", "annotator", "label", "time", "row", "count"
TEXT, LINK, CLUSTER, GROUP = "text", "link", "cluster", "by"

START, END, LENGTH, KEY, QUOTE = "start", "end", "length", "mark", "quote"
LOOSE = "loose"  # edges, without blanks and punctuation
Seen = Literal["given", "rows", "every_submission", "unknown"]

# Of plain tables; other formats are those of tools.
LAYOUTS = ("long", "wide", "transposed", "counts", "one-hot", "lists")

Stamp = tuple[int, int, int]  # of a file: its inode, its size and the time of its last change
MOST_COMPARED = 5_000  # names of items or annotators that are compared by spelling, of more a sample


@dataclass(frozen=True)
class FewRows:
    """The annotations of a file that is small enough to fetch: counting them here is faster than on an engine.

    ``size`` is how many rows there are at most and ``roles`` what their columns hold. ``fetch`` returns those with an
    item and a label as integers, and how many lack which; None if that takes an engine. ``load`` puts the same rows on
    one, for whatever needs more than a score. ``sample`` gives the names of one item in so many, with all spellings of
    each; None where the codes know all names.
    """

    size: int
    roles: tuple[str, ...]
    fetch: Callable[[], tuple[Codes, Mapping[str, int]] | None]
    load: Callable[[], nw.LazyFrame[Any]]
    sample: Callable[[int], Collection[str]] | None = None

    @cached_property
    def frame(self) -> nw.LazyFrame[Any]:
        """The rows on an engine, loaded once."""
        return self.load()


@dataclass(frozen=True, slots=True)
class Understood:
    """How the reader understood the source; shown to the user so a wrong guess is obvious.

    ``rules`` say in words what counted as an annotation in a tool's export. ``places``: the columns of each role by
    position, where the rows of a table are annotations.
    """

    source: str
    format: str
    columns: Mapping[str, str] = field(default_factory=dict)
    guessed: frozenset[str] = frozenset()
    examples: tuple[tuple[str, ...], ...] = ()
    rules: tuple[str, ...] = ()
    apart: str = ""
    """What would distinguish annotations that look like one annotator's repeats on an item."""
    places: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "rules", tuple(map(Message, self.rules)))
        object.__setattr__(self, "apart", Message(self.apart))

    @property
    def kind(self) -> str:
        """What the source was read as.

        >>> Understood("a.csv", "one-hot").kind, Understood("a.csv", "appen").kind, Understood("a.csv", "mturk").kind
        ('a one-hot table', 'an appen export', 'an mturk export')
        """
        article = "an" if self.format.startswith(("a", "e", "i", "u", "mturk")) else "a"
        return f"{article} {self.format} {'table' if self.format in (*LAYOUTS, 'spans') else 'export'}"


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
    warnings: tuple[Warning, ...] = ()
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


@dataclass(frozen=True, slots=True)
class MarkRows:
    """Marks, on whatever engine holds them.

    Columns of ``rows``: ``item``, ``annotator``, ``start``, ``end`` and ``label``, one row for each mark; ``row``, its
    place in the source, if known. Offsets count code points, or are any numbers; start and end are both empty for
    somebody who marked nothing. Columns of ``seen``: ``item`` and ``annotator``, and where known the item's ``text`` or
    the ``length`` of it, its ``cluster``, the ``time`` of the visit and its group ``by``; None if visits are known from
    ``rows`` only. ``how`` says how it is known who saw what, ``left_out`` counts the submissions of an export that the
    rules left out, ``has_classes`` says whether it has answers that are no marks. Marks that are no places have a
    ``mark`` instead of start and end: the text of what they consist of. ``texts`` has the ``text`` of each ``item``
    where that is a table of its own; a column ``quote`` of the rows must then stand there, and of marks that are
    ``loose`` blanks and punctuation at both ends do not count.
    """

    rows: nw.LazyFrame[Any]
    seen: nw.LazyFrame[Any] | None
    how: Seen
    name: str
    warnings: tuple[Warning, ...] = ()
    understood: Understood | None = None
    left_out: Mapping[str, int] = field(default_factory=dict)
    has_classes: bool = False
    texts: nw.LazyFrame[Any] | None = None
    is_loose: bool = False


def is_missing(value: object) -> bool:
    """Whether a value is missing: None, NaN, NaT or NA."""
    return value is None or type(value).__name__ == "NAType" or value != value  # noqa: PLR0124 (NaN)


def text_of(value: object) -> str:
    """A value as text; empty if it is missing."""
    return "" if is_missing(value) else str(value)
