"""duckdb: results are fetched without pyarrow, which is not a dependency."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from spagree.late import nw
from spagree.read.annotations import ITEM, LABEL, ROW
from spagree.read.files.hash_codes import CODED_KINDS, sampled_items
from spagree.read.tables import sql_literal
from spagree.tally.engines.engine import MOST_REPEATS_APART, ROWS_LOOKED_AT, Engine, Frame

if TYPE_CHECKING:
    import polars

_numbers = count()  # for the names of views
MOST_ENUMERATED = 10_000  # names in a query
MOST_HASHES_AT_HOME = 100_000_000  # 0.8 GB, and as much again while fetching


class DuckDB(Engine):
    """duckdb relations: files, databases and users' own."""

    libraries = ("duckdb",)

    def holds(self, frame: Frame) -> bool:
        """Whether it is a relation of duckdb."""
        return frame.implementation.is_duckdb()

    def rows(self, frame: Frame) -> list[tuple[Any, ...]]:
        """Fetched one by one."""
        return list(frame.to_native().fetchall())

    def columns(self, frame: Frame) -> list[list[Any]]:
        """Texts and integers are fetched as arrays, in half the time; of other types, arrays are not exact."""
        native: Any = frame.to_native()
        if not {str(kind) for kind in native.types} <= CODED_KINDS:
            return super().columns(frame)
        return [column.tolist() for column in native.fetchnumpy().values()]

    def repeat_candidates(self, frame: Frame, keys: Sequence[str], rows: int) -> Frame | None:
        """A moderate number of hashes is sorted in numpy: twice as fast as duckdb's hash table."""
        native: Any = frame.to_native()
        hash_ = f"hash({', '.join(keys)})"
        if rows > MOST_HASHES_AT_HOME:
            total, distinct = native.aggregate(f"count(*), count(DISTINCT {hash_})").fetchall()[0]
            return None if total == distinct else frame
        hashes = native.project(f"{hash_} AS hash").fetchnumpy()["hash"]
        hashes.sort()
        again = set(hashes[1:][hashes[1:] == hashes[:-1]].tolist())
        if not again:
            return None
        if len(again) > MOST_REPEATS_APART:
            return frame
        candidates = native.filter(f"{hash_} IN ({', '.join(map(str, sorted(again)))})")
        return cast("Frame", nw.from_native(candidates))

    def without_rows(self, frame: Frame, rows: Sequence[int]) -> Frame:
        """In SQL, where a list of constants becomes a hash table; in an expression each would be compared in turn."""
        native: Any = frame.to_native()
        return cast("Frame", nw.from_native(native.filter(f"{ROW} NOT IN ({', '.join(map(str, rows))})")))

    def replaced(self, frame: Frame, column: str, changes: Mapping[str, str]) -> Frame:
        """By a join: a chain of cases would be evaluated one by one for every row."""
        native: Any = frame.to_native()
        values = ", ".join(f"({sql_literal(old)}, {sql_literal(new)})" for old, new in changes.items())
        name = f"spelled_{next(_numbers)}"
        columns = [
            f"coalesce(changes.new, {name}.{each}) AS {each}" if each == column else each for each in native.columns
        ]
        joined = f"FROM {name} LEFT JOIN (VALUES {values}) AS changes(old, new) ON {name}.{column} = changes.old"
        return cast("Frame", nw.from_native(native.query(name, f"SELECT {', '.join(columns)} {joined}")))

    def sampled_items(self, frame: Frame, every: int) -> list[Any]:
        """By the hash of an item without surrounding blanks, case and leading zeros, in the first rows."""
        native: Any = frame.to_native()
        return sampled_items(native.limit(ROWS_LOOKED_AT).project(ITEM), every)

    def gathered_labels(self, frame: Frame, keys: Sequence[str], first: Sequence[str], separator: str) -> Frame:
        """The labels are joined by an aggregate of duckdb."""
        joined = f"string_agg(DISTINCT {LABEL}::VARCHAR, '{separator}' ORDER BY {LABEL}::VARCHAR) AS {LABEL}"
        others = [f"min({name}) AS {name}" for name in first]
        grouped = frame.to_native().aggregate(", ".join([*keys, joined, *others]), ", ".join(keys))
        return cast("Frame", nw.from_native(grouped))

    def in_codes(self, frame: Frame, columns: Sequence[str]) -> tuple[Frame, dict[str, list[str]]]:
        """As enumerations: numbers are fetched in a fraction of the time and memory that their texts take."""
        native: Any = frame.to_native()
        names_of = {
            column: sorted(name for (name,) in native.project(column).distinct().fetchall() if name is not None)
            for column in columns
        }
        # What fits in a query, which ends at a NUL
        known = {
            column: names
            for column, names in names_of.items()
            if 0 < len(names) <= MOST_ENUMERATED and not any("\0" in name for name in names)
        }
        kinds = {column: "ENUM (" + ", ".join(map(sql_literal, names)) + ")" for column, names in known.items()}
        codes = [f"enum_code({name}::{kinds[name]}) AS {name}" if name in kinds else name for name in native.columns]
        return cast("Frame", nw.from_native(native.project(", ".join(codes)))), known

    def write_csv(self, frame: Frame, path: Path) -> None:
        """Written by duckdb."""
        frame.to_native().write_csv(str(path), header=True)

    def to_polars(self, frame: Frame) -> polars.DataFrame:
        """As a stream of Arrow arrays; a relation can be streamed only once, so a new one is created."""
        import polars

        native: Any = frame.to_native()
        return polars.DataFrame(native.project("*"))
