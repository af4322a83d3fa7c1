"""The packed single pass: the same counts as going through the items, on every engine, and safe overflow."""

from __future__ import annotations

from collections import Counter
from typing import Any

import duckdb
import narwhals as nw
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracle import exactly, parse, tally_of
from spagree.counts import count as counting
from spagree.counts.count import count, find_patterns
from spagree.counts.live import LiveTally, pattern
from spagree.counts.tally import Cell, Tally
from spagree.errors import FileError
from spagree.read.annotations import Annotations
from spagree.understood import Understood

Rows = list[tuple[str, str]]


def frame(rows: Rows) -> nw.LazyFrame[Any]:
    return nw.from_native(pl.DataFrame(rows, schema=["item", "label"], orient="row").lazy())


def expected(rows: Rows) -> dict[Any, int]:
    items: dict[str, Counter[str]] = {}
    for item, label in rows:
        items.setdefault(item, Counter())[label] += 1
    return dict(Counter(pattern(counts) for counts in items.values()))


def found(rows: Rows) -> dict[Any, int] | None:
    return find_patterns(frame(rows), Counter(label for _, label in rows))


@given(
    st.lists(st.tuples(st.sampled_from("pqrs"), st.sampled_from([f"l{n}" for n in range(23)])), min_size=1, max_size=60)
)
def test_patterns_equal_counting_by_hand(rows: Rows) -> None:
    assert found(rows) == expected(rows)


@pytest.mark.parametrize("classes", [1, 2, 3, 10, 11, 20, 21, 31, 40])
def test_any_number_of_classes_is_packed_without_coming_home(classes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "_counts_in_python", lambda *_: pytest.fail("not packed"))
    rows = [(f"i{n % 7}", f"c{n % classes:02}") for n in range(3 * classes + 7)]
    assert found(rows) == expected(rows)


@pytest.mark.parametrize("times", [63, 64, 65, 127, 128, 4_000])
def test_a_counter_that_overflows_its_bits_is_noticed(times: int) -> None:
    """Ten classes leave six bits each: 64 annotations of one class carry into the next."""
    rows = [("q", f"c{n}") for n in range(10)] + [("q", "c3")] * times + [("r", "c9")] * times
    assert found(rows) == expected(rows)


def test_more_than_forty_classes_are_counted_at_home() -> None:
    rows = [(f"i{n % 5}", f"c{n}") for n in range(41)]
    assert found(rows) == expected(rows)


def test_too_many_patterns_are_not_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [(f"i{n}", f"c{n % 3}") for n in range(9)]
    monkeypatch.setattr(counting, "MOST_PATTERNS", 2)
    assert found(rows) is None
    many = [(f"i{n % 5}", f"c{n}") for n in range(41)]
    assert found(many) is None
    monkeypatch.setattr(counting, "MOST_ROWS_FETCHED", 40)
    monkeypatch.setattr(counting, "MOST_PATTERNS", 1000)
    assert found(many) is None
    counts = frame(many).with_columns(nw.lit(2).alias("count"))
    assert find_patterns(counts, {f"c{n}": 2 for n in range(41)}) is None
    tally = count(Annotations(frame(many), Understood("test", "long"))).tally
    assert tally.patterns is None and tally.annotations == 41 and tally.cells == {Cell(9, 0, 0): 1, Cell(8, 0, 0): 4}


def test_count_tables_are_packed_where_they_fit_and_otherwise_counted_at_home() -> None:
    for size in (5, 2**31, 2**31 + 1):
        table = pl.DataFrame({"item": ["q", "q", "r"], "label": ["x", "y", "x"], "count": [size, 1, 0]})
        assert find_patterns(nw.from_native(table.lazy()), {"x": size, "y": 1}) == {(("x", size), ("y", 1)): 1}


def engines(rows: Rows) -> dict[str, Any]:
    table = pl.DataFrame(rows, schema=["item", "label"], orient="row")
    connection = duckdb.connect()
    connection.register("t", table.to_arrow())
    return {"pandas": table.to_pandas(), "pyarrow": table.to_arrow(), "duckdb": connection.table("t")}


def test_every_engine_packs_alike() -> None:
    rows = [(f"i{n % 11}", f"c{n * n % 13}") for n in range(200)]
    for name, native in engines(rows).items():
        wrapped = nw.from_native(native)
        lazy = wrapped if isinstance(wrapped, nw.LazyFrame) else wrapped.lazy()
        assert find_patterns(lazy, Counter(label for _, label in rows)) == expected(rows), name
    numbers = pd.DataFrame({"item": [1, 1, 2], "label": [3, 4, 3]})
    assert find_patterns(nw.from_native(numbers).lazy(), {3: 2, 4: 1}) == {(("3", 1), ("4", 1)): 1, (("3", 1),): 1}


def test_tallies_carry_their_patterns_through_merging_and_changes() -> None:
    one, two = tally_of(parse("ab aab a")), tally_of(parse("ab bb"))
    assert (one + two).patterns == tally_of(parse("ab aab a ab bb")).patterns
    assert (Tally() + one).patterns == one.patterns and (one + Tally({Cell(2, 2, 0): 1})).patterns is None
    assert Tally.from_patterns(one.patterns or {}) == one
    live = LiveTally()
    for n, label in enumerate("aab"):
        live.add("q", n, label)
    live.add("r", 0, "b")
    live.update("q", 0, "b")
    live.remove("r", 0)
    assert live.tally().patterns == {(("a", 1), ("b", 2)): 1}
    assert Tally.from_patterns(live.tally().patterns or {}).cells == live.tally().cells


@pytest.mark.parametrize(("cause", "is_repeated"), [("[ARITHMETIC_OVERFLOW] long overflow", True), ("no disk", False)])
def test_only_an_overflow_is_tried_again_with_more_room(
    cause: str, is_repeated: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As Spark does, which refuses sums beyond 64 bits."""
    rows = [("q", f"c{n}") for n in range(10)] * 2
    real, tried = counting.rows, []

    def narrow_fails(query: Any) -> Any:
        tried.append(query)
        if len(tried) == 1:
            raise FileError("could not finish counting") from RuntimeError(cause)
        return real(query)

    monkeypatch.setattr(counting, "rows", narrow_fails)
    if is_repeated:
        assert found(rows) == expected(rows) and len(tried) == 2
    else:
        with pytest.raises(FileError, match=exactly("could not finish counting")):
            found(rows)
