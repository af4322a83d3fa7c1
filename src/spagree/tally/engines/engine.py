"""What an engine may override. A new engine is one file with a subclass, NAME_engine.py, which is found by its name."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from spagree.errors import UsageError
from spagree.late import nw
from spagree.read.annotations import ROW, is_missing
from spagree.write import write_atomically

if TYPE_CHECKING:
    import polars

Frame: TypeAlias = "nw.LazyFrame[Any]"
MOST_CASES, CASES_AT_ONCE = 1_000, 20
MOST_REPEATS_APART = 10_000  # repeated keys: up to this many are looked up by their hashes
ROWS_LOOKED_AT = 300_000  # for spellings of items


class Engine:
    """The defaults go through narwhals: pandas, pyarrow, modin and cuDF need nothing else."""

    libraries: tuple[str, ...] = ("narwhals", "pyarrow")
    """Modules whose errors are engine failures: out of memory, a full disk, a lost worker, a damaged file."""

    def holds(self, frame: Frame) -> bool:  # noqa: ARG002 (others look)
        """Whether this engine holds the frame."""
        return True

    def rows(self, frame: Frame) -> list[tuple[Any, ...]]:
        """A few result rows as Python values."""
        return [tuple(map(python_value, row)) for row in frame.collect().rows()]

    def columns(self, frame: Frame) -> list[list[Any]]:
        """The columns of a result as Python values."""
        return [list(column) for column in zip(*self.rows(frame), strict=True)] or [[] for _ in frame.columns]

    def repeat_candidates(self, frame: Frame, keys: Sequence[str], rows: int) -> Frame | None:  # noqa: ARG002
        """The rows that may share their keys with others; None if 64-bit hashes prove there are none."""
        return frame

    def without_rows(self, frame: Frame, rows: Sequence[int]) -> Frame:
        """All rows except a few, given by number."""
        return frame.filter(~nw.col(ROW).is_in(rows))

    def replaced(self, frame: Frame, column: str, changes: Mapping[str, str]) -> Frame:
        """A column with some of its texts replaced, in steps: engines limit the depth of a chain of cases."""
        if len(changes) > MOST_CASES:
            engine = frame.implementation.value
            raise UsageError(f"{len(changes):,} texts would change, too many for {engine}; clean them first")
        changed = frame.with_columns(nw.col(column).alias("spelled"))
        pairs = list(changes.items())
        for start in range(0, len(pairs), CASES_AT_ONCE):
            expression = nw.col(column)
            for old, new in pairs[start : start + CASES_AT_ONCE]:
                expression = nw.when(nw.col("spelled") == nw.lit(old)).then(nw.lit(new)).otherwise(expression)
            changed = changed.with_columns(expression.alias(column))
        return changed.select(frame.collect_schema().names())

    def sampled_items(self, frame: Frame, every: int) -> list[Any]:  # noqa: ARG002
        """One item in ``every``, sampled so spellings of one item stay together; none if the engine cannot."""
        return []

    def gathered_labels(self, frame: Frame, keys: Sequence[str], first: Sequence[str], separator: str) -> Frame:  # noqa: ARG002
        """One row per key: its distinct labels joined in order, and the first value of the other columns."""
        raise UsageError(f"--duplicates set: {frame.implementation.value} cannot join labels; use polars or duckdb")

    def in_codes(self, frame: Frame, columns: Sequence[str]) -> tuple[Frame, dict[str, list[str]]]:  # noqa: ARG002
        """Columns of texts as indices into their sorted names, and these names; unchanged where that gains nothing."""
        return frame, {}

    def write_csv(self, frame: Frame, path: Path) -> None:
        """A long result as a CSV file."""
        self.to_polars(frame).write_csv(path)

    def to_polars(self, frame: Frame) -> polars.DataFrame:
        """A long result as a polars table."""
        return frame.collect().to_polars()

    def write_parquet(self, frame: Frame, path: str | os.PathLike[str], *, force: bool) -> None:
        """A long result as a Parquet file, or a folder where the engine writes one."""
        write_atomically(path, self._writer(frame), force=force)

    def _writer(self, frame: Frame) -> Callable[[Path], Any]:
        """The function that writes one file; pandas' index, the order before sorting, is left out."""
        if frame.implementation.is_pandas_like():
            return nw.maybe_reset_index(frame.collect()).write_parquet
        return frame.sink_parquet


def python_value(value: Any) -> Any:
    """Arrow, numpy and pandas scalars as plain Python; every spelling of "nothing" as None."""
    if hasattr(value, "as_py"):
        value = value.as_py()
    elif hasattr(value, "item"):
        value = value.item()
    return None if is_missing(value) else value
