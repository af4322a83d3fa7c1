"""What a reader reports about a source: how it understood it, and warnings for the user."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from spagree.messages import spelled

LAYOUTS = ("long", "wide", "transposed", "counts", "one-hot")  # of plain tables; other formats are those of tools


@dataclass(frozen=True, slots=True)
class Caution:
    """Something the user should know; ``code`` is stable, ``message`` is for people."""

    code: str
    message: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "message", spelled(self.message))


@dataclass(frozen=True, slots=True)
class Understood:
    """How the reader understood the source; shown to the user so a wrong guess is obvious.

    ``rules`` say in words what counted as an annotation in a tool's export.
    """

    source: str
    format: str
    columns: Mapping[str, str] = field(default_factory=dict)
    guessed: frozenset[str] = frozenset()
    examples: tuple[tuple[str, ...], ...] = ()
    rules: tuple[str, ...] = ()
    apart: str = ""
    """What would distinguish annotations that look like one annotator's repeats on an item."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "rules", tuple(map(spelled, self.rules)))
        object.__setattr__(self, "apart", spelled(self.apart))

    @property
    def kind(self) -> str:
        """What the source was read as.

        >>> Understood("a.csv", "one-hot").kind, Understood("a.csv", "appen").kind, Understood("a.csv", "mturk").kind
        ('a one-hot table', 'an appen export', 'an mturk export')
        """
        article = "an" if self.format.startswith(("a", "e", "i", "u", "mturk")) else "a"
        return f"{article} {self.format} {'table' if self.format in LAYOUTS else 'export'}"
