"""A state that grows and shrinks always holds the tally and the breakdowns of what remains."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from math import nan
from random import Random
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

import spagree
from breakdown_oracle import Rows, rows_of
from examples import examples
from oracle import annotations, counted, exactly, no_zeros, over_items
from spagree.counts import count as counting
from spagree.counts import tally as tally_module
from spagree.counts.count import count
from spagree.counts.engines import rows, to_polars
from spagree.counts.live import LiveTally, counted_codes
from spagree.counts.policies import Policies
from spagree.counts.tally import Cell, Tally
from spagree.errors import DataError, DuplicateError

ITEMS = st.sampled_from(["q1", "q2", "q3", None])
ANNOTATORS = st.sampled_from(["ann", "bob", "cyd", None])
LABELS = st.sampled_from(["x", "y", "z", None])
TIMES = st.sampled_from([1.0, 2.0, 3.0])
MOST_KEYS = 8
KEYS = st.integers(0, MOST_KEYS - 1)
SCHEMA = {"item": pl.String, "annotator": pl.String, "label": pl.String, "time": pl.Float64}

Given = tuple[str | None, str | None, str | None, float]


def batch_tally(rows: Iterable[Given], duplicates: Any) -> Tally:
    frame = pl.DataFrame(list(rows), schema=SCHEMA, orient="row").with_row_index("row")
    return count(annotations(frame), Policies(duplicates)).tally


def recounted(rows: Iterable[Given], duplicates: str) -> Tally:
    """What :func:`batch_tally` gives, in plain Python: rows in the order of their arrival."""
    left_out: Counter[str] = Counter()
    chosen: dict[tuple[Any, Any], str] = {}
    ordered = sorted(enumerate(rows), key=lambda each: (each[1][3], each[0]), reverse=duplicates == "last")
    for place, (item, who, label, _) in ordered:
        if label is None or item is None:
            left_out["missing_label" if label is None else "missing_item"] += 1
        elif who is not None and (item, who) in chosen:
            left_out["repeated"] += 1
        else:
            chosen[item, who or place] = label
    items: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for (item, _), label in chosen.items():
        items[item][label] += 1
    made = Counter(who for _, who in chosen if isinstance(who, str))
    return replace(Tally.from_items(items.values()), annotators=made or ({} if not chosen else None), left_out=left_out)


def put(state: LiveTally, *annotation: Any, **about: Any) -> None:
    """Change an annotation that may not be there yet."""
    try:
        state.change(*annotation, **about)
    except DataError:
        state.add(*annotation, **about)


class Keyed(RuleBasedStateMachine):
    """Any sequence of changes by key, beside a plain dictionary of what remains; repeats are settled by time."""

    duplicates = "last"

    def __init__(self) -> None:
        super().__init__()
        self.state = LiveTally(duplicates=self.duplicates)
        self.remaining: dict[int, Given] = {}

    @rule(key=KEYS, item=ITEMS, annotator=ANNOTATORS, label=LABELS, time=TIMES)
    def add(self, key: int, item: Any, annotator: Any, label: Any, time: float) -> None:
        if key not in self.remaining:
            self.state.add(item, annotator, label, time=time, key=key)
            self.remaining[key] = (item, annotator, label, time)
        elif self.remaining[key][:3] == (item, annotator, label):
            self.state.add(item, annotator, label, time=time, key=key)
        else:
            with pytest.raises(DuplicateError):
                self.state.add(item, annotator, label, time=time, key=key)

    @rule(key=KEYS, item=ITEMS, annotator=ANNOTATORS, label=LABELS, time=st.none() | TIMES)
    def change(self, key: int, item: Any, annotator: Any, label: Any, time: float | None) -> None:
        if key in self.remaining:
            self.state.change(item, annotator, label, time=time, key=key)
            self.remaining[key] = (item, annotator, label, self.remaining[key][3] if time is None else time)
        else:
            with pytest.raises(
                DataError, match=exactly(f"there is no annotation with the key {key}; add the annotation first")
            ):
                self.state.change(item, annotator, label, time=time, key=key)

    @rule(key=KEYS, item=ITEMS, annotator=ANNOTATORS, label=LABELS, time=TIMES)
    def put(self, key: int, item: Any, annotator: Any, label: Any, time: float) -> None:
        for _ in range(2):
            put(self.state, item, annotator, label, time=time, key=key)
        self.remaining[key] = (item, annotator, label, time)

    @rule(key=KEYS)
    def remove(self, key: int) -> None:
        if self.remaining.pop(key, None):
            self.state.remove(key=key)
        with pytest.raises(
            DataError, match=exactly(f"there is no annotation with the key {key}; there is nothing to remove")
        ):
            self.state.remove(key=key)

    @rule()
    def restore(self) -> None:
        """A state from a table goes on like the one that was there."""
        table = pl.DataFrame(list(self.remaining.values()), schema=SCHEMA, orient="row")
        self.state = LiveTally.restore(table, keys=list(self.remaining), duplicates=self.duplicates)

    @invariant()
    def equals_counting_from_scratch(self) -> None:
        found = self.state.tally()
        assert found == recounted(self.remaining.values(), self.duplicates)
        assert len(self.state) == len(self.remaining) and no_zeros(found)
        assert len(self.state._keys) <= MOST_KEYS

    def teardown(self) -> None:
        assert recounted(self.remaining.values(), "last") == batch_tally(self.remaining.values(), "last")
        assert self.state.annotations().height == self.state.tally().annotations


class KeyedFirst(Keyed):
    duplicates = "first"


for machine in (Keyed, KeyedFirst):
    machine.TestCase.settings = examples(20, stateful_step_count=25)
TestLast, TestFirst = Keyed.TestCase, KeyedFirst.TestCase


class Unkeyed(RuleBasedStateMachine):
    """Any sequence of changes by item and annotator, under the default policy."""

    def __init__(self) -> None:
        super().__init__()
        self.state = LiveTally()
        self.remaining: dict[tuple[Hashable, str], Any] = {}

    @rule(
        step=st.sampled_from(["add", "change", "remove"]),
        item=ITEMS,
        annotator=ANNOTATORS.filter(bool),
        label=LABELS,
    )
    def take(self, step: str, item: Any, annotator: str, label: Any) -> None:
        key, given = (item, annotator), () if step == "remove" else (label,)
        is_allowed = self.remaining.get(key, label) == label if step == "add" else key in self.remaining
        if not is_allowed:
            with pytest.raises(DuplicateError if step == "add" else DataError):
                getattr(self.state, step)(item, annotator, *given)
            return
        getattr(self.state, step)(item, annotator, *given)
        self.remaining.pop(key, None)
        if given:
            self.remaining[key] = label

    @rule()
    def restore(self) -> None:
        rows = [(item, who, said) for (item, who), said in self.remaining.items()]
        self.state = LiveTally.restore(pl.DataFrame(rows, schema=list(SCHEMA.items())[:3], orient="row"))

    @invariant()
    def equals_counting_from_scratch(self) -> None:
        rows = [(item, who, said, 0.0) for (item, who), said in self.remaining.items()]
        assert self.state.tally() == recounted(rows, "first")
        assert sum(map(len, self.state._by_pair.values())) == len(self.remaining)


Unkeyed.TestCase.settings = examples(20, stateful_step_count=25)
TestUnkeyed = Unkeyed.TestCase


def test_a_new_state_is_empty() -> None:
    assert LiveTally().tally() == Tally()
    assert LiveTally().annotations().rows() == []
    assert LiveTally.restore(LiveTally().annotations()).tally() == Tally()


def test_triples_follow_every_step() -> None:
    state, cells = LiveTally(), []
    for annotator, label in enumerate("xxyxx"):
        state.add("q", annotator, label)
        cells += state.tally().cells
    assert cells == [Cell(1, 0, 0), Cell(2, 2, 0), Cell(3, 2, 0), Cell(4, 6, 6), Cell(5, 12, 24)]


def test_an_earlier_answer_is_not_touched_by_later_changes() -> None:
    state = LiveTally()
    state.add("q", "ann", "x")
    before, frame = state.tally(), state.annotations()
    agreement = spagree.measure(state)
    state.add("q", "bob", "x")
    assert before == Tally.from_patterns({(("x", 1),): 1}, {"ann": 1})
    assert state.tally() == Tally.from_patterns({(("x", 2),): 1}, {"ann": 1, "bob": 1})
    assert frame.height == agreement.data.annotations == agreement.items()["annotations"].sum() == 1


def test_everything_is_identified_by_its_text_as_in_a_batch() -> None:
    state = LiveTally()
    state.add(1, 7, 1)
    state.add("1", 8, "1")
    state.add(1, 9, True)
    state.add(True, 7, "1")
    tally = state.tally()
    assert dict(tally.labels) == {"1": 3, "true": 1} and tally.annotators == {"7": 2, "8": 1, "9": 1}
    assert tally.cells == {Cell(3, 2, 0): 1, Cell(1, 0, 0): 1}
    state.change("1", "8", True)
    assert dict(state.tally().labels) == {"1": 2, "true": 2}
    assert state.annotations()["item"].to_list() == ["1", "1", "1", "true"]


@pytest.mark.parametrize("nothing", [None, nan, np.float64("nan"), pd.NA, pd.NaT])
def test_missing_values_are_counted_by_the_rule_of_the_batch(nothing: Any) -> None:
    state = LiveTally()
    state.add("q1", "ann", nothing)
    state.add(nothing, "ann", "x")
    state.add(nothing, "bob", nothing)
    state.add("q1", nothing, "x")
    state.add("q1", nothing, "x")
    rows = [("q1", "ann", None), (None, "ann", "x"), (None, "bob", None), ("q1", None, "x"), ("q1", None, "x")]
    assert state.tally() == spagree.tally(rows)
    assert state.tally().left_out == {"missing_label": 2, "missing_item": 1} and state.tally().annotators is None
    state.change("q1", "ann", "x")
    state.remove(nothing, "ann")
    assert state.tally().left_out == {"missing_label": 1} and state.tally().cells == {Cell(3, 6, 6): 1}


def test_another_label_under_the_same_key_or_by_the_same_annotator_is_refused() -> None:
    state = LiveTally()
    state.add("q1", "ann", "yes")
    state.add("q1", "ann", "yes", key=5)
    assert state.tally().left_out == {"repeated": 1} and state.tally().annotations == 1
    before = state.tally()
    for refused in (
        lambda: state.add("q1", "ann", "no"),
        lambda: state.add("q1", "ann", "no", key=6),
        lambda: state.change("q1", "ann", "no"),
        lambda: state.change("q1", "ann", "no", key=5),
    ):
        with pytest.raises(DuplicateError) as caught:
            refused()
        assert str(caught.value) == (
            "annotator 'ann' has already labelled item 'q1' 'yes'; use change to change the label"
        )
        assert state.tally() == before and len(state) == 2
    state.remove("q1", "ann")
    state.change("q1", "ann", "no", key=5)
    assert state.tally() == Tally.from_patterns({(("no", 1),): 1}, {"ann": 1})


def test_an_annotation_without_a_time_comes_before_those_with_one() -> None:
    for policy, expected in (("first", "x"), ("last", "z")):
        state = LiveTally(duplicates=policy)
        state.add("q", "ann", "z", time=5, key=1)
        state.add("q", "ann", "x", key=2)
        state.add("q", "ann", "y", time=5, key=3)
        state.remove(key=3)
        assert dict(state.tally().labels) == {expected: 1} and state.tally().left_out == {"repeated": 1}


Change = Callable[[LiveTally], None]


@pytest.mark.parametrize(
    "change",
    [
        lambda state: state.add("q1", "bob", ["x"]),
        lambda state: state.add("q1", ["bob"], "x"),
        lambda state: state.add("q1", "bob", "x", time="yesterday"),
        lambda state: state.add("q1", "bob", "x", time=float("inf")),
        lambda state: state.change("q1", "ann", "x", time=object()),
        lambda state: state.change("q1", "bob", "x"),
        lambda state: state.remove("q1", "bob"),
        lambda state: state.remove(),
    ],
)
def test_a_change_that_fails_changes_nothing(change: Change) -> None:
    state = LiveTally()
    state.add("q1", "ann", "yes", time=3)
    state.add("q1", None, "no")
    before = state.tally(), state.annotations()
    with pytest.raises(DataError):
        change(state)
    assert state.tally() == before[0] and state.annotations().equals(before[1])
    state.add("q1", "bob", "yes")
    state.remove("q1", "bob")
    assert state.tally() == before[0]


def test_an_item_with_more_annotations_than_are_counted_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tally_module, "MOST_ANNOTATIONS_PER_ITEM", 2)
    state = LiveTally()
    state.add("q", "ann", "x")
    state.add("q", "bob", "x")
    state.change("q", "bob", "y")
    table = pl.DataFrame({"item": ["q"] * 3, "label": ["x"] * 3})
    why = "one item has 3 annotations, more than the 2 that are counted exactly; is the item column right?"
    for refused in (lambda: state.add("q", "cyd", "x"), lambda: LiveTally.restore(table)):
        with pytest.raises(DataError, match=exactly(why)):
            refused()


def test_too_many_combinations_are_not_stored_in_the_tally(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "MOST_PATTERNS", 1)
    state = LiveTally()
    state.add("q", "ann", "x")
    assert state.tally().patterns == {(("x", 1),): 1}
    state.add("r", "ann", "y")
    assert state.tally() == Tally({Cell(1, 0, 0): 2}, {"x": 1, "y": 1}, {}, {"ann": 2}, {}, None)


def test_times_of_any_type_become_seconds() -> None:
    noon = datetime(2026, 1, 1, 12, tzinfo=UTC)
    times = [noon.timestamp(), noon, noon.replace(tzinfo=None), "2026-01-01T12:00Z", "2026-01-01T13:00+01:00", None]
    state = LiveTally()
    for who, time in enumerate(times):
        state.add("q", who, "x", time=time, text="a question")
    frame = state.annotations()
    assert frame["time"].to_list() == [noon.timestamp()] * 5 + [None]
    assert frame["text"].to_list() == ["a question"] * 6
    rows = {"item": ["q"], "label": ["x"]}
    for column in ([noon], [noon.replace(tzinfo=None)], ["2026-01-01T12:00Z"], [int(noon.timestamp())]):
        assert LiveTally.restore(pl.DataFrame({**rows, "time": column})).annotations()["time"][0] == noon.timestamp()
    state.change("q", 0, "y")
    assert state.annotations()["time"][0] == noon.timestamp()


def test_tables_with_ambiguous_keys_are_refused() -> None:
    table = pl.DataFrame({"item": ["q", "q"], "annotator": ["ann", "ann"], "label": ["x", "x"]})
    with pytest.raises(DuplicateError, match=exactly("1 row repeats an item and annotator; give each row a key")):
        LiveTally.restore(table)
    for keys in ([1], [1, 1]):
        with pytest.raises(
            DataError, match=exactly(f"{len(keys)} keys for 2 annotations; each annotation needs its own key")
        ):
            LiveTally.restore(table, keys=keys)
    with pytest.raises(
        DuplicateError,
        match=exactly("annotator 'ann' has already labelled item 'q' 'x'; use change to change the label"),
    ):
        LiveTally.restore(table.with_columns(label=pl.Series(["x", "y"])), keys=[1, 2])


@given(rows_of())
@examples(8)
def test_a_state_has_the_breakdowns_of_its_annotations(rows: Rows) -> None:
    state = LiveTally()
    for row in reversed(rows):
        state.add(*row)
    frame = pl.DataFrame(rows, schema=["item", "annotator", "label"], orient="row")
    live, batch = spagree.measure(state), spagree.measure(frame)
    assert live.findings == batch.findings
    for name in ("items", "classes", "annotators", "pairs", "confusion", "distribution"):
        assert getattr(live, name)().equals(getattr(batch, name)()), name
    assert live.overlap() == batch.overlap()


def test_a_state_develops_and_lists_its_hardest_items_with_their_text() -> None:
    state = LiveTally()
    for place, (item, who, label) in enumerate([("q", "a", "x"), ("r", "a", "x"), ("q", "b", "y"), ("r", "b", "x")]):
        state.add(item, who, label, time=place, text=f"Is {item} so?")
    agreement = spagree.measure(state)
    assert agreement.development(steps=4)["spa"].to_list() == [None, None, 0.0, 0.5]
    assert agreement.hardest(1).select("item", "text").rows() == [("q", "Is q so?")]
    with pytest.raises(
        spagree.UsageError, match=exactly("first= has no effect on a tally; give it when counting the annotations")
    ):
        spagree.measure(state, first=2)


def test_several_threads_may_change_a_state() -> None:
    state = LiveTally()

    def work(who: int) -> None:
        for item in range(200):
            put(state, item % 40, who, item % 3)
            state.tally()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    rows = [(item % 40, who, item % 3) for who in range(4) for item in range(160, 200)]
    assert state.tally() == spagree.tally(rows)


def test_tallies_with_other_patterns_differ() -> None:
    one = Tally.from_items([{"a": 2}, {"b": 1, "c": 1}, {"a": 1, "b": 1}, {"c": 2}])
    two = Tally.from_items([{"c": 2}, {"b": 1, "a": 1}, {"a": 1, "c": 1}, {"b": 2}])
    assert one.cells == two.cells and one != two
    swapped = Tally.from_items([{"a": 2}, {"b": 2}, {"c": 1, "d": 1}]), Tally.from_items([{"c": 2}, {"d": 2}])
    assert swapped[0] != swapped[1]
    parts = Tally(one.cells, one.labels, one.pairable_labels, None, {}, None)
    assert parts != one and Tally() + one == one


def test_codes_kept_elsewhere_are_counted_as_a_batch() -> None:
    item, label = np.array([0, 2, 0, 2, 2, 0]), np.array([1, 0, 1, 0, 2, 0])
    frame = pl.DataFrame({"item": [f"q{code}" for code in item], "annotator": list("abbcad")}).with_columns(
        label=pl.Series(["x", "y", "Y"]).gather(label)
    )
    annotator = np.array([0, 1, 1, 2, 0, 3])
    found = counted_codes(item, annotator, label, ["a", "b", "c", "d", "nobody"], ["x", "y", "Y"], frame)
    wanted = counted(frame)
    assert found.tally == wanted.tally and found.tally.people == spagree.tally(frame).people
    assert [warning.code for warning in found.warnings] == [warning.code for warning in wanted.warnings] != []
    assert sorted(rows(found.held.counts.select("item", "label", "count"))) == sorted(
        rows(wanted.held.counts.select("item", "label", "count"))
    )
    assert found.held.annotations is not None and to_polars(found.held.annotations).equals(frame)


@pytest.mark.parametrize("seed", range(4))
def test_clusters_stay_while_annotations_come_change_and_go(seed: int) -> None:
    random, state = Random(seed), LiveTally()
    cluster: dict[str, str | None] = {f"q{i}": f"d{i // 3}" if i % 5 else None for i in range(12)}
    rows: dict[tuple[str, str], str] = {}
    for _ in range(200):
        item, who, label = f"q{random.randrange(12)}", random.choice("abc"), random.choice("xyz")
        if (item, who) in rows and random.random() < 0.4:
            state.remove(item, who)
            del rows[item, who]
        else:
            put(state, item, who, label, cluster=cluster[item])
            rows[item, who] = label
    table = [(item, who, label, cluster.get(item)) for (item, who), label in rows.items()]
    columns = dict.fromkeys(["item", "annotator", "label", "cluster"], pl.String)
    found, wanted = state.tally(), spagree.tally(pl.DataFrame(table, columns, orient="row"), cluster="cluster")
    assert found.grouped is not None and wanted.grouped is not None
    assert (found.grouped.cluster, found.grouped.items) == (wanted.grouped.cluster, wanted.grouped.items)
    assert over_items(spagree.measure(state).findings).spa == over_items(spagree.measure(wanted).findings).spa


@pytest.mark.parametrize("people", [("ann", "bob"), ("ann", None), (None, None)])
def test_kinds_of_annotations_are_those_of_a_batch_and_unknown_of_unknown_people(people: tuple[Any, Any]) -> None:
    rows = [("q1", people[0], "x"), ("q1", people[1], "y"), ("q2", people[0], "x")]
    state = LiveTally()
    for row in rows:
        state.add(*row)
    found, expected = (
        state.tally(),
        spagree.tally(
            pl.DataFrame(rows, schema=dict.fromkeys(("item", "annotator", "label"), pl.String), orient="row")
        ),
    )
    assert (found, found.people) == (expected, expected.people)
    assert (found.people is None) is (people == (None, None))


def test_a_cluster_need_only_be_named_once() -> None:
    state = LiveTally()
    state.add("q1", "ann", "yes")
    assert state.tally().grouped is None
    state.add("q1", "ann", "yes", cluster="d1")
    state.add("q1", "bob", "yes")
    state.add("q2", "bob", "no", cluster=7)
    assert state.tally().clusters == 2
    with pytest.raises(
        DataError, match=exactly("item 'q1' is in cluster 'd1', and an item belongs to one; correct it")
    ):
        state.add("q1", "cyd", "no", cluster="d2")
    assert state.tally().annotations == 3
    state.change("q2", "bob", "yes", cluster="7")
    assert state.tally().clusters == 2


def test_a_table_is_restored_with_its_clusters() -> None:
    table = pl.DataFrame(
        {"item": [1, 1, 2, None], "annotator": list("abab"), "label": list("xxyx"), "cluster": ["d", "d", None, "e"]}
    )
    found = LiveTally.restore(table).tally()
    assert found.grouped is not None
    assert {cluster: count for (cluster, _), count in found.grouped.items.items()} == {"d": 1, "": 1}
    with pytest.raises(DataError, match=exactly("item '1' is in cluster 'd', and an item belongs to one; correct it")):
        LiveTally.restore(table.with_columns(cluster=pl.Series(["d", "e", None, None])))
