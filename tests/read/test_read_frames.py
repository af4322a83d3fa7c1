"""Data frames and plain Python data: every engine narwhals knows stays the engine."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import narwhals as nw
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import spagree
from spagree.errors import ColumnError, DataError, UsageError
from spagree.read import Annotations, read

BIG = 2**53
DATA = {"item": [BIG, BIG + 1, BIG + 1], "worker": ["a", "a", "b"], "label": ["x", None, "NA"], "other": [1, 2, 3]}


def dask(data: Any) -> Any:
    import dask.dataframe

    return dask.dataframe.from_pandas(pd.DataFrame(data), npartitions=2)


def modin(data: Any) -> Any:
    os.environ["MODIN_ENGINE"] = "python"
    pandas = pytest.importorskip("modin.pandas")
    return pandas.DataFrame(data)


def relation(data: Any) -> Any:
    connection = duckdb.connect()
    connection.register("source", pa.table(data))
    connection.execute("CREATE TABLE copy AS SELECT * FROM source")
    return connection.table("copy")


ENGINES = {
    "polars": pl.DataFrame,
    "polars lazy": lambda data: pl.DataFrame(data).lazy(),
    "pandas": pd.DataFrame,
    "pyarrow": pa.table,
    "duckdb": relation,
    "dask": dask,
    "modin": modin,
    "narwhals": lambda data: nw.from_native(pl.DataFrame(data)),
}
ORDERED = {"polars", "polars lazy", "pandas", "pyarrow", "modin", "narwhals"}


def values(annotations: Annotations, column: str) -> list[Any]:
    """One column as Python values, null as None whatever the engine calls it."""
    found = annotations.frame.select(column).collect()
    return [None if missing else value for (value,), (missing,) in zip(
        found.rows(), found.select(nw.col(column).is_null()).rows(), strict=True)]  # fmt: skip


@pytest.mark.filterwarnings("ignore::UserWarning:modin")
@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_keeps_its_values_and_itself(engine: str) -> None:
    source = ENGINES[engine](DATA)
    annotations = read(source)
    assert values(annotations, "item") == [BIG, BIG + 1, BIG + 1]
    assert values(annotations, "annotator") == ["a", "a", "b"]
    assert values(annotations, "label") == ["x", None, "NA"]
    assert annotations.understood.columns == {"item": "item", "annotator": "worker", "label": "label"}
    expected = "polars" if engine == "narwhals" else engine.split(maxsplit=1)[0]
    assert annotations.frame.implementation.value == expected
    assert annotations.understood.source == f"{expected} frame"


@pytest.mark.filterwarnings("ignore::UserWarning:modin")
@pytest.mark.parametrize("engine", ENGINES)
def test_rows_are_numbered_only_where_there_is_an_order(engine: str) -> None:
    annotations = read(ENGINES[engine](DATA))
    if engine in ORDERED:
        assert values(annotations, "row") == [1, 2, 3]
        assert annotations.understood.examples[2] == (str(BIG + 1), "b", "NA")
    else:
        assert "row" not in annotations.frame.collect_schema().names()
        assert annotations.understood.examples == ()


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("engine", ENGINES)
def test_nan_is_missing_and_types_are_native(engine: str) -> None:
    data = {"item": [1.5, float("nan"), 2.5], "label": [1.0, 2.0, float("nan")]}
    annotations = read(ENGINES[engine](data))
    assert values(annotations, "item") == [1.5, None, 2.5]
    assert values(annotations, "label") == [1.0, 2.0, None]
    assert annotations.frame.collect_schema()["label"] == nw.Float64


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("engine", ENGINES)
def test_missing_texts_and_empty_texts_of_frames(engine: str) -> None:
    annotations = read(ENGINES[engine]({"item": [1, 2, 3], "label": ["", "skip", "x"]}), missing=["skip"])
    assert values(annotations, "label") == ["", None, "x"]


def test_missing_texts_apply_to_numbers_too() -> None:
    assert values(read(pl.DataFrame({"item": [1, 2], "label": [3, 99]}), missing=["99"]), "label") == [3, None]


def test_a_lazy_frame_is_never_collected_but_for_a_few_rows() -> None:
    from polars.io.plugins import register_io_source

    asked: list[int | None] = []

    def produce(columns: Any, predicate: Any, n_rows: int | None, batch_size: int | None) -> Iterator[pl.DataFrame]:
        asked.append(n_rows)
        yield pl.DataFrame({"item": range(n_rows or 0), "label": ["x"] * (n_rows or 0)}).select(columns or pl.all())

    read(register_io_source(produce, schema={"item": pl.Int64, "label": pl.String}))
    assert len(asked) == 1
    assert asked[0] is not None
    assert asked[0] <= 1_000


def test_dask_is_not_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    source = dask(DATA)

    def forbidden(*_: Any, **__: Any) -> Any:
        raise AssertionError("computed")

    monkeypatch.setattr(type(source), "compute", forbidden)
    frame = read(source).frame
    assert frame.collect_schema().names() == ["item", "annotator", "label"]
    with pytest.raises(AssertionError, match="computed"):
        frame.collect()


def test_an_unused_row_number_leaves_the_plan() -> None:
    frame = read(pl.DataFrame(DATA).lazy()).frame
    assert "ROW INDEX" not in frame.group_by("item").agg(nw.len()).to_native().explain().upper()


def test_unused_columns_of_parquet_are_not_read(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pl.DataFrame(DATA).write_parquet(path)
    plan = read(path).frame.group_by("item").agg(nw.len()).to_native().explain()
    assert "item" in plan
    assert "worker" not in plan
    assert "other" not in plan


def test_column_names_that_are_no_text() -> None:
    frame = pd.DataFrame({0: ["i", "j"], 1: ["x", "y"]})
    annotations = read(frame, item="0", label="1")
    assert values(annotations, "item") == ["i", "j"]
    assert list(frame.columns) == [0, 1]


def test_frames_that_cannot_be_used() -> None:
    doubled = pd.DataFrame([[1, 2, 3]], columns=["item", "label", "label"])
    with pytest.raises(DataError, match="its own name"):
        read(doubled)
    with pytest.raises(DataError, match="no rows"):
        read(pl.DataFrame({"item": [], "label": []}))
    with pytest.raises(ColumnError, match="no column looks like the item or the label; columns: 'a', 'b'"):
        read(pl.DataFrame({"a": [1], "b": [2]}))
    with pytest.raises(ColumnError, match="rows have no order here; name the item column"):
        read(relation({"ann": ["x"], "bob": ["y"]}), format="wide")


@pytest.mark.parametrize("source", [7, None, {"item": [1]}, 3.5])
def test_what_is_no_source(source: Any) -> None:
    with pytest.raises(UsageError, match="give a path, a data frame"):
        read(source)


# ── triples ──


def test_triples_and_quadruples() -> None:
    annotations = read([("i", "a", "x"), ("i", "b", None), (None, "b", "")])
    assert values(annotations, "label") == ["x", None, ""]
    assert values(annotations, "item") == ["i", "i", None]
    assert values(annotations, "row") == [1, 2, 3]
    timed = read([["i", "a", "x", 3], ["i", "a", "y", 4]])
    assert values(timed, "time") == [3, 4]
    assert timed.understood.columns["time"] == "time"
    assert timed.understood.guessed == frozenset()
    dated = read([("i", "a", "x", "2024-01-02T00:00:00"), ("i", "a", "y", None)])
    assert [value.isoformat() if value else None for value in values(dated, "time")] == ["2024-01-02T00:00:00", None]


def test_triples_from_a_generator() -> None:
    def made() -> Iterator[tuple[int, str, str]]:
        yield from ((i, "a", "x") for i in range(3))

    assert values(read(made()), "item") == [0, 1, 2]


def test_types_of_triples() -> None:
    big = [(2**70, "a", 1), (2**70 + 1, "a", 2)]
    assert values(read(big), "item") == [str(2**70), str(2**70 + 1)]
    assert values(read(big), "label") == [1, 2]
    assert values(read([(1, "a", float("nan")), (1, "b", 0.5)]), "label") == [None, "0.5"]
    assert read(big).warnings == ()


def test_mixed_types_stay_distinct_and_are_said() -> None:
    annotations = read([("i", "a", 1), ("i", "b", "1"), ("i", "c", True), ("i", "d", "True"), ("i", "e", 2)])
    assert values(annotations, "label") == ["1 (int)", "1", "True (bool)", "True", "2"]
    assert [warning.code for warning in annotations.warnings] == ["mixed_types"]
    assert "bool, int, str" in annotations.warnings[0].message


def test_marked_texts_that_collide_again_are_refused() -> None:
    with pytest.raises(DataError, match="convert them to strings"):
        read([("i", "a", 1), ("i", "b", "1"), ("i", "c", "1 (int)")])


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ([], "no annotations"),
        ([("a", "b")], "row 1"),
        ([("i", "a", "x"), ("i", "a")], "row 2"),
        ([("i", "a", "x"), ("i", "a", "x", 1)], "row 2"),
        ([("i", "a", "x"), 7], "row 2"),
        ([("i", "a", ["x"])], "cannot be compared"),
        ([("i", "a", "x", 1), ("i", "b", "x", "soon")], "times cannot be used"),
        ([("i", "a", "x", "soon")], "times cannot be used"),
    ],
)
def test_bad_triples(source: Any, words: str) -> None:
    with pytest.raises(DataError, match=words) as caught:
        read(source)
    assert caught.value.exit_code == 3


# ── weight ──


def test_importing_the_reader_loads_no_engine() -> None:
    code = "import sys, spagree.read; print(sorted({'duckdb','polars','pandas','numpy','pyarrow'} & set(sys.modules)))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_nothing_is_printed_when_the_process_ends(tmp_path: Path) -> None:
    """duckdb's binding reports leaks on stderr when Python objects are kept inside the database."""
    path = tmp_path / "a.csv"
    path.write_text("item,label\n1,x\n")
    code = f"from spagree.read import read; a = read({str(path)!r}); a.frame.collect(backend='polars')"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (found.stdout, found.stderr) == ("", "")


@pytest.mark.parametrize("column", ["item", "label"])
def test_a_pandas_column_of_mixed_types_is_refused_with_the_remedy(column: str) -> None:
    columns: dict[str, list[Any]] = {"item": ["1", "1"], "annotator": ["a", "b"], "label": ["x", "y"]}
    frame = pd.DataFrame({**columns, column: [1, "1"]})
    with pytest.raises(DataError, match=f"column '{column}' holds values of different types.*astype"):
        read(frame)
    assert read(frame.astype(str)).frame.collect().shape == (2, 4)


LONG = pd.DataFrame({"item": [1, 1, 2, 2], "annotator": list("abab"), "label": list("xyxx")})


def test_columns_of_several_levels_are_refused_with_names_that_work() -> None:
    frame = LONG.set_index(["item", "annotator"]).unstack()
    with pytest.raises(DataError, match="several levels, such as 'label, a'"):
        read(frame, format="wide")
    frame.columns = pd.Index(["_".join(map(str, name)) for name in frame.columns])  # as advised
    assert len(read(frame, format="wide").frame.collect()) == 4


def test_columns_in_the_index_are_looked_for_there() -> None:
    with pytest.raises(ColumnError, match=r"if the index holds them: frame.reset_index\(\)"):
        read(LONG.set_index(["item", "annotator"]))
    with pytest.raises(DataError, match=r"series.reset_index\(\)"):
        read(LONG.set_index(["item", "annotator"])["label"])


@pytest.mark.parametrize(
    ("source", "advice"),
    [
        (LONG.to_dict("list"), "pandas.DataFrame(it)"),
        (LONG.to_dict("records"), "pandas.DataFrame(rows)"),
        ([("x", "y"), ("x", "x")], 'numpy.array(rows), with format="wide"'),
    ],
)
def test_plain_data_in_other_shapes_is_refused_with_the_way(source: Any, advice: str) -> None:
    with pytest.raises((DataError, UsageError)) as refused:
        read(source)
    assert advice in str(refused.value)


def test_triples_that_begin_with_the_annotator_are_suspected() -> None:
    triples = [(item, annotator, "xy"[item % 2]) for item in range(12) for annotator in "abc"]
    turned = [(annotator, item, label) for item, annotator, label in triples]
    assert [each.code for each in read(turned).warnings] == ["annotator_first"]
    assert "put the item first" in read(turned).warnings[0].message
    assert not read(triples).warnings
    crowd = [(item, 3 * item + n, "x") for item in range(8) for n in range(3)]
    assert not read(crowd).warnings


def test_a_few_equal_names_are_triples() -> None:
    tally = spagree.tally([("a", "a", "a"), ("a", "a", "a"), ("b", "a", "a")])
    assert (tally.items, tally.annotations, dict(tally.left_out)) == (2, 2, {"repeated": 1})
