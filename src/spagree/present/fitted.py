"""Tables for a terminal of any width: no number is ever cut, and what is left out is named."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from textwrap import wrap

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType
from rich.table import Table
from rich.text import Text

GAP = 2
NAME, INTERVAL = 14, 14  # widths to which names and intervals are wrapped before spare columns go
TIGHTEST = 8  # and before rows are stacked


@dataclass(frozen=True, slots=True)
class Heading:
    """The title of a column; ``least`` is the width to which it may be wrapped, None if its cells stay on a line."""

    title: str
    is_right: bool = True
    least: int | None = None
    spare: int | None = None
    """In which order narrow terminals do without columns; None if they never do."""


ENDS = Heading("interval", is_right=False, least=INTERVAL)
CHART = Heading("", is_right=False, spare=0)


@dataclass(frozen=True, slots=True)
class _Fit:
    """A column with its cells and the width it gets."""

    heading: Heading
    cells: tuple[str, ...]
    width: int = 0

    @property
    def natural(self) -> int:
        return max(cell_len(self.heading.title), self.longest)

    @property
    def longest(self) -> int:
        return max((cell_len(cell) for cell in self.cells), default=0)

    def smallest(self, tightest: int | None = None) -> int:
        """With its title on several lines, and its cells too if they may be wrapped."""
        title = max((cell_len(word) for word in self.heading.title.split()), default=0)
        least = self.heading.least if tightest is None else tightest
        return max(title, self.longest if self.heading.least is None or least is None else min(self.longest, least))


class Fitted:
    """A table without lines.

    If it is too wide for the terminal, titles and names are wrapped; then spare columns go, one by one; then the cells
    of a row are put below each other.
    """

    def __init__(self, *headings: Heading) -> None:
        self.headings = headings
        self.rows: list[tuple[tuple[str, ...], str]] = []

    def add_row(self, *cells: str, style: str = "") -> None:
        """One text per column."""
        self.rows.append((cells, style))

    def __rich_console__(self, _console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        if not self.rows:
            return
        cells = list(zip(*(cells for cells, _ in self.rows), strict=True))
        columns = [_Fit(heading, tuple(texts)) for heading, texts in zip(self.headings, cells, strict=True)]
        kept = _without_spare(columns, options.max_width)
        tightest = TIGHTEST if _total([column.smallest() for column in kept]) > options.max_width else None
        if _total([column.smallest(tightest) for column in kept]) > options.max_width:
            yield self._stacked()
            return
        yield self._table(_spread(kept, options.max_width, tightest))
        hidden = dict.fromkeys(column.heading.title for column in columns if column not in kept)
        if any(hidden):
            yield Text(f"Left out for lack of room (--json has it): {', '.join(filter(None, hidden))}.", style="dim")

    def _table(self, columns: Sequence[_Fit]) -> Table:
        shown = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), header_style="dim")
        for column in columns:
            title = column.heading.title
            if cell_len(title) > column.width:
                title = "\n".join(wrap(title, column.width))
            shown.add_column(
                Text(title),
                justify="right" if column.heading.is_right else "left",
                width=column.width,
                no_wrap=column.heading.least is None,
                overflow="fold",
            )
        for (_, style), *cells in zip(self.rows, *(column.cells for column in columns), strict=True):
            shown.add_row(*map(Text, cells), style=style)
        return shown

    def _stacked(self) -> Table:
        """Each row as lines of title and cell."""
        shown = Table(box=None, show_header=False, pad_edge=False, padding=(0, GAP, 0, 0))
        shown.add_column(style="dim", overflow="fold")
        shown.add_column(overflow="fold")
        for place, (cells, style) in enumerate(self.rows):
            if place:
                shown.add_row()
            for heading, cell in zip(self.headings, cells, strict=True):
                if cell.strip() and (heading.title or heading.spare is None):
                    shown.add_row(Text(heading.title.strip()), Text(cell.strip()), style=style)
        return shown


def _without_spare(columns: Sequence[_Fit], room: int) -> list[_Fit]:
    """The columns that fit, and those that must stay; all of them if even those do not fit on a line."""
    kept = list(columns)
    while _total([column.smallest() for column in kept]) > room:
        spare = [(fit.heading.spare, -place) for place, fit in enumerate(kept) if fit.heading.spare is not None]
        if not spare:
            fits = _total([column.smallest(TIGHTEST) for column in kept]) <= room
            return kept if fits else list(columns)
        del kept[-min(spare)[1]]
    return kept


def _spread(columns: Sequence[_Fit], room: int, tightest: int | None) -> list[_Fit]:
    """Give every column its natural width if there is room; otherwise names and intervals take it before titles."""
    spare = room - _total([column.smallest(tightest) for column in columns])
    widths = {}
    for place, column in sorted(enumerate(columns), key=lambda pair: pair[1].heading.least is None):
        least = column.smallest(tightest)
        more = min(spare, column.natural - least)
        spare -= more
        widths[place] = least + more
    return [replace(column, width=widths[place]) for place, column in enumerate(columns)]


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + GAP * (len(widths) - 1)


def bare(*titles: str, left: Collection[str] = (), names: Collection[str] = (), spare: Sequence[str] = ()) -> Fitted:
    """A table with these titles: the first column and ``names`` are left-aligned and may be wrapped; so is ``left``, on
    one line. A narrow terminal does without the ``spare`` ones, in this order.
    """
    named = {*titles[:1], *names}
    return Fitted(
        *(
            Heading(
                title,
                is_right=title not in named and title not in left,
                least=NAME if title in named else None,
                spare=spare.index(title) if title in spare else None,
            )
            for title in titles
        )
    )
