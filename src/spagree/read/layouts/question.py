"""Which columns of a table the user named, and what a layout reads from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from spagree.late import nw
from spagree.read.annotations import ANNOTATOR, CLUSTER, GROUP, ITEM, LABEL, TEXT, TIME, FewRows
from spagree.understood import Caution


@dataclass(frozen=True, slots=True)
class Question:
    """The columns and values that the user named.

    Several columns make one item, or one annotator; several ``label`` columns are the annotators of a wide
    table, the classes of a table of counts or of a one-hot table, or the items of a transposed one.
    """

    item: tuple[str, ...] = ()
    annotator: tuple[str, ...] = ()
    label: tuple[str, ...] = ()
    time: str | None = None
    missing: tuple[str, ...] = ()
    text: str | None = None
    question: str | None = None
    time_format: str | None = None
    cluster: str | None = None
    by: str | None = None

    def named(self) -> Mapping[str, str | None]:
        """The first column of each role that was named."""
        first = {ITEM: self.item, ANNOTATOR: self.annotator, LABEL: self.label}
        return {
            **{role: names[0] if names else None for role, names in first.items()},
            TIME: self.time,
            TEXT: self.text,
            CLUSTER: self.cluster,
            GROUP: self.by,
        }

    def further(self, role: str) -> tuple[str, ...]:
        """The columns of a role after its first."""
        return {ITEM: self.item, ANNOTATOR: self.annotator}.get(role, ())[1:]

    def also(self) -> tuple[str, ...]:
        """The roles that are never guessed, as far as they were named."""
        named = self.named()
        return tuple(role for role in (TEXT, CLUSTER, GROUP) if named[role] is not None)


@dataclass(frozen=True, slots=True)
class Layout:
    """Rows in the shape of Annotations, and what was understood on the way.

    ``shown``: the columns of each role, where rows of the table are annotations; the examples are taken from them.
    """

    rows: nw.LazyFrame[Any] | FewRows
    format: str
    columns: Mapping[str, str]
    guessed: frozenset[str]
    cautions: tuple[Caution, ...] = ()
    shown: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    apart: str = ""
