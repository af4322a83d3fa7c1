"""polars: everything in its streaming engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from spagree.late import nw
from spagree.read.annotations import ITEM, LABEL
from spagree.tally.engines.engine import MOST_REPEATS_APART, ROWS_LOOKED_AT, Engine, Frame

if TYPE_CHECKING:
    import polars


class Polars(Engine):
    """Lazy frames of polars."""

    libraries = ("polars", "pyo3_runtime")  # the latter for panics, which are not Exceptions

    def holds(self, frame: Frame) -> bool:
        """Whether it is a lazy frame of polars."""
        return frame.implementation.is_polars()

    def rows(self, frame: Frame) -> list[tuple[Any, ...]]:
        """Collected as a stream."""
        return list(self.to_polars(frame).rows())

    def repeat_candidates(self, frame: Frame, keys: Sequence[str], rows: int) -> Frame | None:  # noqa: ARG002
        """The hashes are grouped and counted."""
        import polars

        native, hash_ = frame.to_native(), polars.struct(*keys).hash()
        sizes = native.select(hash=hash_).group_by("hash").agg(rows=polars.len())
        again = sizes.filter(polars.col("rows") > 1).select("hash").collect(engine="streaming")["hash"]
        if again.is_empty():
            return None
        candidates: Any = native.filter(hash_.is_in(again.implode()))
        return frame if len(again) > MOST_REPEATS_APART else cast("Frame", nw.from_native(candidates))

    def replaced(self, frame: Frame, column: str, changes: Mapping[str, str]) -> Frame:
        """By polars' own replacement."""
        import polars

        native: Any = frame.to_native().with_columns(polars.col(column).replace(dict(changes)))
        return cast("Frame", nw.from_native(native))

    def sampled_items(self, frame: Frame, every: int) -> list[Any]:
        """By the hash of an item without surrounding blanks, case and leading zeros."""
        import polars

        item = polars.col(ITEM)
        spelled = item.str.strip_chars().str.to_lowercase().str.strip_chars_start("0")
        chosen = frame.to_native().select(item).head(ROWS_LOOKED_AT).filter(spelled.hash() % every == 0).unique()
        return list(chosen.collect(engine="streaming")[ITEM])

    def gathered_labels(self, frame: Frame, keys: Sequence[str], first: Sequence[str], separator: str) -> Frame:
        """The labels are joined within each group."""
        import polars

        label = polars.col(LABEL).cast(polars.String).unique().sort().str.join(separator)
        native: Any = frame.to_native().group_by(keys).agg(label, *(polars.col(name).min() for name in first))
        return cast("Frame", nw.from_native(native))

    def to_polars(self, frame: Frame) -> polars.DataFrame:
        """Collected as a stream."""
        table: polars.DataFrame = frame.to_native().collect(engine="streaming")
        return table
