"""Every reader on every other tool's file, and every engine on hostile frames."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from fuzz_cases import agreement, annotations, outcome
from test_tools_laws import PROJECT, WRITERS

import spagree
from examples import TIMES
from spagree.read.tools.registry import MODULES


@pytest.mark.parametrize("format", [*MODULES, "long", "wide", "counts"])
def test_every_reader_reads_or_refuses_the_files_of_every_other_tool(format: str, tmp_path: Path) -> None:
    """Its files by their names or, of every other tool, by their folder; with FUZZ both ways."""
    for number, (name, write) in enumerate(WRITERS.items(), len(format)):
        folder = tmp_path / name
        folder.mkdir()
        source = write(folder, PROJECT)
        for each in (source, folder) if TIMES > 1 else (folder,) if number % 2 else (source,):
            outcome(each, format=format)


NUMBERS = [0.0, -0.0, 1.0, 2.5, 1e300, 2.0**60, float("inf"), float("nan"), None]
WHOLE = [0, 1, -1, 2**53 - 1, -(2**53) + 1, None]  # pandas itself loses digits of larger ones beside a gap


def engines(columns: dict[str, list[Any]]) -> Iterator[Any]:
    table = pa.table(columns)
    yield from (table, pl.DataFrame(table), pl.LazyFrame(pl.DataFrame(table)), duckdb.from_arrow(table))
    yield from (table.to_pandas(), table.to_pandas(types_mapper=pd.ArrowDtype))


def counted(frame: Any) -> spagree.Tally | None:
    """The tally, or nothing where the engine's column is refused: pandas has none for truth values with gaps."""
    try:
        return spagree.tally(frame)
    except spagree.DataError as error:
        if "holds values of different types" not in str(error):
            raise
        return None


def test_every_engine_counts_hostile_frames_alike() -> None:
    for seed in range(15 * TIMES):
        chance = random.Random(seed)
        rows = annotations(chance)
        if not rows:
            continue
        columns: dict[str, list[Any]] = {
            name: list(values)
            for name, values in zip(("item", "annotator", "label"), zip(*rows, strict=True), strict=True)
        }
        odd = chance.choice(["item", "label", None])
        pool = chance.choice([NUMBERS, WHOLE, [True, False, None]])
        columns |= {odd: [chance.choice(pool) for _ in rows]} if odd else {}
        del columns["annotator"]
        tallies = [tally for frame in engines(columns) if (tally := counted(frame)) is not None]
        for tally in tallies[1:]:
            assert tally == tallies[0], seed
        if odd is None:
            wanted = agreement([(item, "", label) for item, _, label in rows])
            found = spagree.measure(tallies[0], weights="flat").spa.value
            assert found == (None if wanted is None else pytest.approx(float(wanted), abs=1e-12)), seed
