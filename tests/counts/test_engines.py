"""The same integers from every engine: polars, pandas, pyarrow, duckdb, dask, modin, Spark."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import spagree
from examples import combinations
from local_spark import local_spark
from oracle import BARS, annotations, counted, ends, exactly, long_frame, parse
from spagree.counts import engines
from spagree.counts.count import count, item_counts
from spagree.counts.engines import (
    Polars,
    python_value,
    repeat_candidates,
    rows,
    to_polars,
)
from spagree.counts.items import item_agreement
from spagree.counts.policies import Policies
from spagree.errors import DataError, DuplicateError, FileError, Message, UsageError
from spagree.estimate import find
from spagree.estimate.breakdowns import NOT_CHECKED

os.environ.setdefault("MODIN_ENGINE", "python")


def to_dask(frame: pl.DataFrame) -> Any:
    import dask.dataframe as dd

    return dd.from_pandas(frame.to_pandas(), npartitions=2)


def to_modin(frame: pl.DataFrame) -> Any:
    import modin.pandas as mpd

    return mpd.DataFrame(frame.to_pandas())


def to_duckdb(frame: pl.DataFrame) -> Any:
    return duckdb.from_arrow(frame.to_arrow())


def to_spark(frame: pl.DataFrame) -> Any:
    return local_spark().createDataFrame(frame.to_arrow())


ENGINES: dict[str, Callable[[pl.DataFrame], Any]] = {
    "polars lazy": pl.DataFrame.lazy,
    "pandas": pl.DataFrame.to_pandas,
    "pandas on arrow": lambda frame: frame.to_pandas(use_pyarrow_extension_array=True),
    "pyarrow": pl.DataFrame.to_arrow,
    "duckdb": to_duckdb,
    "dask": to_dask,
    "modin": to_modin,
    "spark": to_spark,
}

# Lazy, so that collecting the tests computes nothing: Polars would start threads, which do not survive a fork.
VOTES = pl.LazyFrame(
    {
        "item": ["q1", "q1", "q1", "q2", "q2", "q3", "q3", "q4", None, "q5", None],
        "annotator": ["a", "b", "c", "a", "b", "a", None, "a", "b", "c", None],
        "label": ["x", "x", "y", "x", "x", None, "y", "y", "x", "z", None],
        "row": range(1, 12),
        "time": [9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 0],
    }
)
REPEATS = pl.LazyFrame(
    {
        "item": ["q1"] * 5 + ["q2"] * 3 + ["q3"],
        "annotator": ["a", "a", "b", "b", "a", "a", "b", None, None],
        "label": ["x", "x", "y", "z", "y", "x", "x", "x", "x"],
        "row": range(1, 10),
        "time": [5, 4, 3, 2, 1, 6, 7, 8, 9],
    }
)
SAME = REPEATS.filter(pl.col("row").is_in([1, 2, 6, 7, 8, 9]))
NUMBERS = (
    long_frame(parse(BARS))
    .lazy()
    .select(
        pl.col("item").str.slice(1).cast(pl.Int64),
        pl.col("annotator").str.slice(1).cast(pl.Int64),
        pl.col("label").replace_strict({"a": 0, "b": 1, "c": 2}, return_dtype=pl.Int64),
    )
)
COUNTS = pl.LazyFrame(  # one item has 2,000,000 annotations, the most that are counted
    {
        "item": ["a", "a", "b", "b", "c", "c"],
        "label": ["x", "y", "x", "y", "x", "y"],
        "count": [3, 2, 0, 1, 1_999_999, 1],
    }
)
MIXED = pl.concat(
    [
        VOTES.with_columns(pl.col("label").replace({"y": " X ", "z": "NA"})),
        SAME.with_columns(("r" + pl.col("item")).alias("item"), pl.col("label").replace({"x": ""}), pl.col("row") + 11),
    ],
    how="vertical_relaxed",
)
CONFLICTS = pl.concat(
    [MIXED, REPEATS.with_columns(("s" + pl.col("item")).alias("item"), pl.col("row") + 30)], how="vertical_relaxed"
)
CASES: dict[str, tuple[pl.LazyFrame, Policies]] = {
    "text ids and nulls": (VOTES, Policies()),
    "whole numbers": (NUMBERS, Policies()),
    "truth values": (NUMBERS.with_columns(pl.col("label") > 0), Policies()),
    "no annotators": (VOTES.drop("annotator"), Policies()),
    "no rows": (VOTES.clear(), Policies()),
    "odd labels": (VOTES.with_columns(pl.col("label").replace({"x": "", "y": "NA", "z": "null"})), Policies()),
    "categories": (VOTES.with_columns(pl.col("item", "annotator", "label").cast(pl.Categorical)), Policies()),
    "counts": (COUNTS, Policies()),
    "repeats of the same label": (SAME, Policies()),
    "conflicts: first in time": (REPEATS, Policies("first")),
    "conflicts: last in time": (REPEATS, Policies("last")),
    "conflicts: first row": (REPEATS.drop("time"), Policies("first")),
    "conflicts: last row": (REPEATS.drop("time"), Policies("last")),
    "spelling": (VOTES.with_columns(pl.col("label").replace({"y": " X "})), Policies(normalize=True)),
    "mixed": (MIXED, Policies()),
    "mixed conflicts: first in time": (CONFLICTS, Policies("first", normalize=True)),
    "mixed conflicts: last row": (CONFLICTS.drop("time"), Policies("last")),
    "spelling kept": (VOTES.with_columns(pl.col("label").replace({"y": " X "})), Policies()),
}
FIRST_K = {
    "in time": VOTES,
    "tied, by row": VOTES.with_columns(time=pl.lit(1)),
    "tied, by annotator": VOTES.with_columns(time=pl.lit(1)).drop("row"),
    "dates": VOTES.with_columns(pl.col("time").cast(pl.Datetime)),
}


EVERY_CASE = "EVERY_CASE" in os.environ


def on(*engines: str, seldom: Collection[str] = ()) -> Any:
    """Run the test on each engine; on the seldom ones only with EVERY_CASE=1."""
    chosen = [engine for engine in engines if EVERY_CASE or engine not in seldom]
    return pytest.mark.parametrize("engine", chosen)


def on_each(
    name: str,
    cases: Iterable[Any],
    *engines: str,
    spark: Collection[Any],
    dask: Collection[Any],
    modin: Collection[Any],
) -> Any:
    """Run the test in each case on each engine.

    Spark, dask and modin take seconds: they run the richest cases, and all of them with EVERY_CASE=1.
    """
    richest = {} if EVERY_CASE else {"spark": spark, "dask": dask, "modin": modin}
    found = [
        pytest.param(case, engine, id=f"{case}-{engine}")
        for case in cases
        for engine in engines
        if case in richest.get(engine, (case,))
    ]
    return pytest.mark.parametrize((name, "engine"), found)


every_engine = on(*ENGINES)


# warnings that modin and dask give about themselves
pytestmark = [
    pytest.mark.filterwarnings("ignore::UserWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning:modin"),
]


def everything(frame: Any, policies: Policies) -> tuple[Any, ...]:
    found = count(annotations(frame), policies, people_above=0)
    table = item_counts(found)
    return (
        found.tally,
        found.tally.people,
        find(found.tally),
        found.warnings,
        rows(item_agreement(found.held.counts)),
        table.frame.rows(),
    )


@pytest.mark.slow
@on_each(
    "case",
    CASES,
    *ENGINES,
    spark=("mixed conflicts: first in time", "truth values", "no rows", "counts"),
    dask=("mixed conflicts: first in time", "no rows"),
    modin=(),
)
def test_every_engine_gives_what_polars_gives(case: str, engine: str) -> None:
    lazy, policies = CASES[case]
    frame = lazy.collect()
    wanted, found = everything(frame, policies), everything(ENGINES[engine](frame), policies)
    assert found == wanted
    assert list(found[0].cells) == list(wanted[0].cells)
    assert list(found[0].labels) == list(wanted[0].labels)


@pytest.mark.slow
@on("pandas on arrow", "pyarrow", "duckdb", "spark")
def test_whole_numbers_with_nulls(engine: str) -> None:
    frame = NUMBERS.collect().with_columns(
        pl.when(pl.col("item") != 3).then("item"), pl.when(pl.col("label") != 2).then("label")
    )
    assert everything(ENGINES[engine](frame), Policies()) == everything(frame, Policies())


@pytest.mark.slow
@on(*ENGINES, seldom=("modin", "dask"))
def test_every_engine_refuses_conflicts_in_the_same_words(engine: str) -> None:
    for frame in (REPEATS.collect(), REPEATS.drop("row", "time").collect()):
        with pytest.raises(DuplicateError) as wanted:
            counted(frame)
        with pytest.raises(DuplicateError) as found:
            counted(ENGINES[engine](frame))
        assert str(found.value) == str(wanted.value)
        assert len(found.value.problems) == 2


@pytest.mark.slow
@on(*ENGINES, seldom=("modin",))
def test_every_engine_needs_an_order_for_first_and_last(engine: str) -> None:
    with pytest.raises(UsageError, match="needs an order"):
        counted(ENGINES[engine](REPEATS.drop("row", "time").collect()), Policies("last"))


@pytest.mark.slow
@on_each(
    "case",
    FIRST_K,
    *(each for each in ENGINES if each not in ("pyarrow", "dask")),
    spark=("tied, by annotator",),
    dask=(),
    modin=(),
)
def test_the_first_k_are_the_same_on_every_engine_that_can(case: str, engine: str) -> None:
    frame, policies = FIRST_K[case].collect(), Policies(first=2)
    assert everything(ENGINES[engine](frame), policies) == everything(frame, policies)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["pyarrow", "dask"])
def test_engines_that_cannot_number_rows_say_so(engine: str) -> None:
    with pytest.raises(UsageError) as caught:
        counted(ENGINES[engine](VOTES.collect()), Policies(first=2))
    assert str(caught.value) == f"first=2: {engine} cannot number rows within an item; use polars or duckdb"


@pytest.mark.slow
@on_each("n", (1_000_001, 3_000_000, 10**12), *ENGINES, spark=(10**12,), dask=(10**12,), modin=())
def test_every_engine_refuses_an_item_that_is_too_large(n: int, engine: str) -> None:
    frame = pl.DataFrame({"item": ["q", "q", "r"], "label": ["x", "y", "x"], "count": [n, n, 2]})
    with pytest.raises(DataError, match=f"one item has {2 * n:,} annotations, more than the 2,000,000"):
        counted(ENGINES[engine](frame))


# What is fetched ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        ("x", "x"),
        (3, 3),
        (None, None),
        (float("nan"), None),
        (np.int64(4), 4),
        (np.float64("nan"), None),
        (np.bool_(True), True),
        (pa.scalar("y"), "y"),
        (pa.scalar(7), 7),
        (pa.scalar(None, pa.string()), None),
        (pd.NA, None),
    ],
    ids=str,
)
def test_scalars_of_all_engines_become_plain_python(value: object, wanted: object) -> None:
    assert python_value(value) == wanted
    assert type(python_value(value)) is type(wanted)


FAST = {name: ENGINES[name] for name in ("polars lazy", "duckdb")}


@pytest.mark.parametrize("engine", FAST)
def test_small_results_are_fetched_as_plain_rows(engine: str) -> None:
    frame = nw.from_native(FAST[engine](pl.DataFrame({"n": [1, None], "t": ["x", None]}))).lazy()
    assert rows(frame) == [(1, "x"), (None, None)]


@pytest.mark.parametrize("engine", [*FAST, "eager"])
def test_long_results_are_fetched_as_polars_tables(engine: str) -> None:
    frame = pl.DataFrame({"n": [1, 2], "t": ["x", None]})
    native = frame.to_arrow() if engine == "eager" else FAST[engine](frame)
    assert to_polars(nw.from_native(native).lazy()).equals(frame)


def test_eager_frames_stay_with_their_engine_until_the_counts_are_fetched() -> None:
    found = counted(VOTES.collect().to_arrow())
    assert found.held.counts.implementation is nw.Implementation.PYARROW
    assert item_counts(found) == item_counts(counted(VOTES.collect()))


# The worst items are found on the engine -----------------------------------------------------------------------


@cache
def many() -> pl.DataFrame:
    simulated = spagree.simulate(items=40, annotators=9, per_item=3, classes=3, seed=2)
    return simulated.frame.select("item", "annotator", "label")


@cache
def measured(engine: str) -> spagree.Agreement:
    """The agreement in many(), measured once on each engine."""
    return spagree.measure(ENGINES[engine](many()))


@cache
def every_item() -> list[tuple[Any, ...]]:
    """The items of many(), worst first."""
    return spagree.measure(many()).hardest(1_000).select("item", "annotations", "agreement").rows()


@pytest.mark.slow
@every_engine
def test_every_engine_finds_the_worst_items_itself(engine: str) -> None:
    assert len(every_item()) == 40
    hardest = measured(engine).hardest(7)
    assert hardest.select("item", "annotations", "agreement").rows() == every_item()[:7]
    assert hardest.rows() == spagree.measure(many()).hardest(7).rows()


@pytest.mark.slow
@on("polars lazy", "duckdb", "dask", "spark")
def test_lazy_frames_stay_lazy(engine: str) -> None:
    items = measured(engine).items()
    assert type(items) is type(ENGINES[engine](many()))
    fetched = to_polars(nw.from_native(items).lazy())
    assert fetched.select("item", "annotations", "agreement").rows() == every_item()


@pytest.mark.slow
def test_the_items_of_a_modin_frame_are_a_polars_frame() -> None:
    assert measured("modin").items().equals(spagree.measure(many()).items())


@pytest.mark.parametrize(
    ("ids", "engine"), combinations(["text", "category", "number"], ["pandas", "pandas on arrow", "pyarrow"])
)
def test_every_table_of_a_frame_in_memory_is_a_polars_frame(ids: str, engine: str) -> None:
    kind = {"text": pl.String, "category": pl.Categorical, "number": pl.Int64}[ids]
    frame = many().with_columns(pl.col("item").str.extract(r"(\d+)").cast(kind))
    agreement, same = spagree.measure(ENGINES[engine](frame)), spagree.measure(frame)
    assert agreement.items().select(pl.exclude("item")).equals(same.items().select(pl.exclude("item")))
    assert agreement.items()["item"].cast(pl.String).equals(same.items()["item"].cast(pl.String))
    for table in ("annotators", "classes", "confusion", "pairs", "hardest", "distribution", "consensus"):
        found = getattr(agreement, table)()
        assert isinstance(found, pl.DataFrame), table
        assert found.height == getattr(same, table)().height


@pytest.mark.slow
@on(*ENGINES, seldom=("modin",))
def test_every_engine_writes_its_items_itself(engine: str, tmp_path: Path) -> None:
    path = tmp_path / "items.parquet"
    agreement = measured(engine)
    agreement.write_items(path)
    written = pl.read_parquet(path / "*.parquet" if path.is_dir() else path)
    assert written.columns[:3] == ["item", "annotations", "agreement"]
    assert written.sort("item").rows() == sorted(every_item())
    with pytest.raises(FileError, match=r"exists already|a folder, a device or a pipe is there"):
        agreement.write_items(path)
    agreement.write_items(path, force=True)


def test_a_list_of_the_hardest_items_needs_a_length() -> None:
    with pytest.raises(UsageError, match=exactly("hardest(0): how many items to list, 1 or more")):
        spagree.measure(many()).hardest(0)


# Warnings --------------------------------------------------------------------------------------------------


@cache
def _two_teams() -> pl.DataFrame:
    """Two teams that never met; one member of the first answers blindly, and one of the second in words of their own."""
    random = np.random.default_rng(5)
    found = []
    for item in range(60):
        team = "ab"[item % 2]
        for who in random.choice(6, 3, replace=False).tolist():
            blind = (team, who) == ("a", 2)
            label = str(random.integers(3)) if blind else str(item % 3)
            found.append((f"q{item}", f"{team}{who}", f"class {label}" if (team, who) == ("b", 1) else label))
    return pl.DataFrame(found, ["item", "annotator", "label"], orient="row")


@pytest.mark.slow
@on(*ENGINES, seldom=("modin", "dask"))
def test_every_engine_gives_the_same_warnings(engine: str) -> None:
    wanted = spagree.measure(_two_teams().rows()).warnings
    assert {"disconnected_teams", "own_labels"} <= {each.code for each in wanted}
    assert spagree.measure(ENGINES[engine](_two_teams())).warnings == wanted


@on("polars lazy", "dask", seldom=("dask",))
def test_a_check_that_is_skipped_in_large_data_says_so(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spagree.estimate.breakdowns.MOST_TO_FETCH", 179)
    agreement = spagree.measure(ENGINES[engine](_two_teams()))
    assert "disconnected_teams" not in {each.code for each in agreement.warnings}
    told = next(check for check in agreement.to_dict()["checks"] if check["code"] == "overlap")
    assert told["state"] == "cannot_tell" and told["reason"] == Message(NOT_CHECKED)
    assert "above 5,000,000 annotations (100,000 with " in NOT_CHECKED
    words = " ".join(str(agreement).split())
    assert f"Overlap: Not known: {told['reason']}." in words
    assert len(agreement.overlap().teams) == 2  # the remedies work
    assert agreement.annotators().filter(pl.col("annotator") == "b1")["agreement"].to_list() == [0.0]


# Hashes prove that nobody annotated an item twice ------------------------------------------------------------------


def candidates(frame: Any, keys: tuple[str, ...], rows: int = 120) -> list[tuple[Any, ...]] | None:
    found = repeat_candidates(nw.from_native(frame).lazy(), keys, rows)
    return None if found is None else sorted(engines.rows(found.select("item", "annotator", "label")))


@pytest.mark.slow
@on("polars lazy", "duckdb", "spark")
def test_hashes_recognise_unique_keys(engine: str) -> None:
    frame = ENGINES[engine](many())
    assert candidates(frame, ("item", "annotator")) is None
    assert candidates(frame, ("item",)) == sorted(many().select("item", "annotator", "label").rows())
    swapped = pl.DataFrame({"item": ["a", "b"], "annotator": ["b", "a"], "label": ["x", "x"]})
    assert candidates(ENGINES[engine](swapped), ("item", "annotator")) is None


@on("polars lazy", "duckdb")
def test_only_the_rows_of_repeated_keys_are_examined_again(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    again = pl.concat([many(), many().head(2), many().head(1).with_columns(pl.lit("other").alias("label"))])
    wanted = sorted(
        again.select("item", "annotator", "label").filter(again.select("item", "annotator").is_duplicated()).rows()
    )
    frame = ENGINES[engine](again)
    assert candidates(frame, ("item", "annotator")) == wanted
    assert len(wanted) == 5
    monkeypatch.setattr(engines, "MOST_REPEATS_APART", 1)
    assert candidates(frame, ("item", "annotator")) == sorted(again.select("item", "annotator", "label").rows())


def test_very_many_hashes_stay_in_duckdb() -> None:
    frame = to_duckdb(many())
    assert candidates(frame, ("item", "annotator"), 10**9) is None
    assert candidates(frame, ("item",), 10**9) == sorted(many().select("item", "annotator", "label").rows())


def test_engines_without_hashes_decide_nothing() -> None:
    everything = sorted(many().select("item", "annotator", "label").rows())
    assert candidates(many().to_pandas(), ("item", "annotator")) == everything


def test_a_new_engine_is_one_class(monkeypatch: pytest.MonkeyPatch) -> None:
    class Abacus(engines.Engine):
        libraries = ("abacus",)

        def rows(self, frame: nw.LazyFrame[Any]) -> list[tuple[Any, ...]]:
            return [("counted on the abacus", *frame.collect().rows()[0])]

    monkeypatch.setitem(engines.ENGINES, "polars", Abacus())
    assert rows(nw.from_native(pl.LazyFrame({"bead": [3]}))) == [("counted on the abacus", 3)]
    assert rows(nw.from_native(to_duckdb(pl.DataFrame({"item": [3]}))).lazy()) == [(3,)]


def test_a_collision_of_hashes_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = counted(many()).tally
    monkeypatch.setattr(Polars, "repeat_candidates", lambda _, frame, *__: frame)
    assert counted(many()).tally == wanted


# Faults of an engine ---------------------------------------------------------------------------------------------


def test_a_fault_of_duckdb_is_explained() -> None:
    broken = duckdb.connect().sql(
        "SELECT range AS item, CASE WHEN range > 5 THEN error('no disk') END AS label FROM range(9)"
    )
    with pytest.raises(FileError, match=r"^duckdb could not finish counting \(.*no disk.*check the files"):
        spagree.measure(broken)


def test_a_fault_of_polars_is_explained() -> None:
    frame = many().lazy().with_columns(pl.col("label").str.to_integer())
    with pytest.raises(FileError, match=r"^polars could not finish counting"):
        rows(nw.from_native(frame))


@pytest.mark.slow
def test_a_fault_of_spark_is_explained() -> None:
    broken = to_spark(many()).selectExpr("item", "annotator", "raise_error('lost') AS label")
    with pytest.raises(FileError, match=r"^pyspark could not finish counting \(.*lost"):
        rows(nw.from_native(broken))


def test_other_errors_are_not_changed() -> None:
    with pytest.raises(ZeroDivisionError), engines.explained_faults(nw.from_native(many().lazy())):
        1 / 0  # noqa: B018


# One item with very many annotations ------------------------------------------------------------------------------


@pytest.mark.slow
@on_each("times", (63, 64, 511, 513, 70_000), *ENGINES, spark=(513,), dask=(), modin=())
def test_counters_that_overflow_are_counted_again_with_more_room(times: int, engine: str) -> None:
    """The last of ten classes has the highest bits of its word: 512 annotations of it leave 64 bits."""
    others = [(f"r{item}", place) for item in range(30) for place in range(10)]
    frame = pl.DataFrame([*others, *[("x", 9)] * times, ("x", 3)], schema=["item", "label"], orient="row")
    found = counted(ENGINES[engine](frame)).tally
    assert found.patterns is not None
    assert found == counted(frame).tally
    assert found.patterns[(("3", 1), ("9", times))] == 1


def test_an_interrupt_that_hides_behind_a_fault_is_an_interrupt() -> None:
    fault = pl.exceptions.ComputeError("tidying up failed")
    fault.__context__ = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt), engines.explained_faults(nw.from_native(many().lazy())):
        raise fault


# One spelling on every engine --------------------------------------------------------------------------------


def frames_of(columns: dict[str, list[Any]]) -> Iterator[Any]:
    """The same table on every engine, and in every type of pandas."""
    import dask.dataframe as dd

    table = pa.table(columns)
    frame = pd.DataFrame(columns)
    yield from (frame, frame.convert_dtypes(), frame.convert_dtypes(dtype_backend="pyarrow"))
    yield from (table, pl.DataFrame(columns), pl.LazyFrame(columns), duckdb.from_arrow(table))
    yield dd.from_pandas(frame, npartitions=2)


def test_numbers_are_spelled_the_same_on_every_engine() -> None:
    columns = {
        "item": [1.0, 1.0, 2.0, 2.0, 0.5],
        "annotator": [1.0, 2.0, 1.0, None, 2.0],
        "label": [0.0, -0.0, 1.0, 0.5, None],
    }
    for frame in frames_of(columns):
        tally = spagree.tally(frame)
        assert dict(tally.labels) == {"0": 2, "0.5": 1, "1": 1}, type(frame)
        assert tally.annotators == {"1": 2, "2": 1}, type(frame)
        assert tally.left_out == {"missing_label": 1}
        counts = spagree.count_items(frame).frame
        assert counts.rows() == [("1", "0", 2), ("2", "0.5", 1), ("2", "1", 1)], type(frame)
        assert spagree.tally(frame, missing=["0"]).labels == {"0.5": 1, "1": 1}, type(frame)


def test_integers_with_gaps_meet_integers_and_text_of_the_same_digits() -> None:
    with_gap = pd.DataFrame({"item": ["q", "q", "r"], "annotator": ["a", "b", "a"], "label": [1, 1, None]})
    whole = pd.DataFrame({"item": ["s", "s"], "annotator": ["a", "b"], "label": [1, 2]})
    texts = pd.DataFrame({"item": ["t", "t"], "annotator": ["a", "b"], "label": ["1", "2"]})
    total = spagree.tally(with_gap) + spagree.tally(whole) + spagree.tally(texts)
    assert dict(total.labels) == {"1": 4, "2": 2}
    wide = pd.DataFrame({"item": ["q", "r", "s"], "ann": [1, 2, None], "bob": ["1", "2", "x"]})
    assert spagree.measure(wide, format="wide").spa.value == 1


@pytest.mark.parametrize("column", ["item", "annotator", "label"])
def test_texts_that_differ_after_a_nul_are_kept_apart_or_refused(column: str) -> None:
    columns = {"item": ["q", "q"], "annotator": ["a", "b"], "label": ["x", "x"]}
    columns[column] = ["x\0a", "x\0b"]
    for frame in frames_of(columns):
        if nw.from_native(frame).implementation.is_pandas_like() or nw.from_native(frame).implementation.is_dask():
            with pytest.raises(DataError, match="holds NUL characters"):
                spagree.tally(frame)
            continue
        tally = spagree.tally(frame)
        found = {"item": tally.items, "annotator": len(tally.annotators or {}), "label": len(tally.labels)}
        assert found[column] == 2, type(frame)


@pytest.mark.parametrize("engine", FAST)
@pytest.mark.parametrize("kind", ["csv", "CSV", "parquet"])
def test_tables_are_written_in_the_format_of_their_suffix(engine: str, kind: str, tmp_path: Path) -> None:
    frame, path = nw.from_native(ENGINES[engine](many())).lazy(), tmp_path / f"items.{kind}"
    engines.write_table(frame, path)
    written = pl.read_parquet(path) if kind == "parquet" else pl.read_csv(path)
    assert sorted(written.rows()) == sorted(many().rows()) and written.columns == many().columns
    with pytest.raises(FileError, match=ends(f"/items.{kind}: exists already; use force=True to replace it")):
        engines.write_table(frame, path)
    engines.write_table(nw.from_native(ENGINES[engine](many().head(2))).lazy(), path, force=True)
    assert (pl.read_parquet(path) if kind == "parquet" else pl.read_csv(path)).height == 2
    other = "items.txt: name the file .csv or .parquet, so that its kind is known"
    with pytest.raises(UsageError, match=ends(f"/{other}")):
        engines.write_table(frame, tmp_path / "items.txt")


FRAME = pl.DataFrame(
    {
        "item": ["q1", "q1", "q2", "q2", "q3", "q3", "q4", "q4", "q4"],
        "annotator": ["a", "b", "a", "b", "a", "c", "a", "b", "c"],
        "label": ["x", "x", "x", "y", "x", "x", "x", "y", "x"],
        "doc": ["d1", "d1", "d1", "d1", "d2", "d2", None, None, None],
        "page": [1, 1, 1, 1, 2, 2, 3, 3, 3],
        "team": ["old", "new", "old", "new", "old", "new", "old", "new", "new"],
        "expert": [True, False, True, False, True, False, True, False, False],
    }
)

COLUMNS: dict[str, dict[str, str]] = {
    "doc": {"cluster": "doc"},
    "page": {"cluster": "page"},
    "team": {"by": "team"},
    "expert": {"by": "expert"},
    "doc+page": {"cluster": "doc", "by": "page"},
    "page+expert": {"cluster": "page", "by": "expert"},
}


def tally(frame: Any, **columns: str) -> spagree.Tally:
    return spagree.tally(frame, item="item", annotator="annotator", label="label", **columns)


@pytest.mark.slow
@on_each("named", COLUMNS, *ENGINES, spark=("doc+page",), dask=("doc+page",), modin=())
def test_every_engine_gives_the_same_clusters_and_groups(named: str, engine: str) -> None:
    columns = COLUMNS[named]
    found, wanted = tally(ENGINES[engine](FRAME), **columns), tally(FRAME, **columns)
    assert found == wanted
    assert found.groups() == wanted.groups()


@pytest.mark.slow
@on(*ENGINES, seldom=("modin", "dask"))
def test_every_engine_refuses_items_in_two_clusters_in_the_same_words(engine: str) -> None:
    with pytest.raises(DataError) as wanted:
        tally(FRAME, cluster="team")
    with pytest.raises(DataError) as found:
        tally(ENGINES[engine](FRAME), cluster="team")
    assert str(found.value) == str(wanted.value)
    assert "4 items are in several clusters (item 'q1' in 'new' and 'old'" in str(found.value)
