"""Events in any order, any number of times: one state. What counts is a function of that state."""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence

import numpy as np
from hypothesis import given as drawn
from hypothesis import strategies as st
from serving import given, labels

from examples import examples
from spagree.monitor.ledger import ANY_QUESTION, FINAL, Event, Ledger, Reported, Snapshot, gone, settled

VERSIONED = st.builds(
    lambda number, item, who, label, version, deleted: given(
        f"i{item}", f"a{who}", label, id=str(number), version=float(version), deleted=deleted
    ),
    st.integers(0, 4),
    st.integers(0, 2),
    st.integers(0, 2),
    st.sampled_from("xyz"),
    st.integers(0, 5),
    st.booleans(),
)


def ledger_of(*events: Event, start: Ledger | None = None) -> Ledger:
    ledger = start or Ledger()
    for number, event in enumerate(events):
        ledger.put(ledger.changes([event], float(number)).values())
    return ledger


def contents(ledger: Ledger) -> set[tuple[object, ...]]:
    """Every row but for when and in which order it came."""
    kept = rows_of(ledger)
    return {(*each[:4], each.version, each.deleted, *(() if each.deleted else each[4:7])) for each in kept}


def rows_of(ledger: Ledger) -> list[Reported]:
    """Every row, in the order of arrival."""
    found = [
        sheet.row((*question, source, id))
        for question, sheet in ledger.sheets.items()
        for source, ids in sheet.places.items()
        for id in ids
    ]
    return sorted([row for row in found if row is not None], key=lambda row: row.seq)


def test_the_same_again_is_no_change() -> None:
    ledger = ledger_of(given("1", "ann", "yes", version=1.0))
    assert ledger.changes([given("1", "ann", "yes", version=1.0)], 9.0) == {}
    assert len(ledger.changes([given("1", "ann", "no", version=2.0)] * 2, 9.0)) == 1


REPORTS = st.builds(
    lambda number, who, label, version, time, deleted: given(
        f"i{number // 2}", f"a{who}", label, id=str(number), version=version, time=time, deleted=deleted
    ),
    st.integers(0, 2),
    st.integers(0, 1),
    st.sampled_from("xy"),
    st.sampled_from([None, 1.0, 2.0]),
    st.sampled_from([None, 5.0, 6.0]),
    st.booleans(),
)
GONE = st.sampled_from([gone("p", "api", id="0"), gone("p", "api", item="i1")])


def expected(history: Sequence[Event]) -> dict[str, tuple[object, ...]]:
    """What counts in the end, by id: the rule of docs/monitor.md, written down a second time."""
    marks = [event for event in history if isinstance(event, Reported) and event.question == ANY_QUESTION]
    gone_ids = {mark.id for mark in marks if not mark.item}
    gone_items = {mark.item for mark in marks if mark.item}
    found: dict[str, Reported] = {}
    for event in history:
        if not isinstance(event, Reported) or event in marks:
            continue
        report = event._replace(deleted=event.deleted or event.item in gone_items)
        before = found.get(report.id)
        if before is None or (not is_ordered(report) and not is_ordered(before)):
            found[report.id] = report
        else:
            found[report.id] = max(before, report, key=rank)
    alive = {id: report for id, report in found.items() if id not in gone_ids and not report.deleted}
    return {
        id: (report.item, report.annotator, report.label, report.version, report.time) for id, report in alive.items()
    }


def is_ordered(event: Event) -> bool:
    return not isinstance(event, Reported) or event.version is not None or event.time is not None


def rank(report: Reported) -> tuple[object, ...]:
    content = ("", "", "") if report.deleted else (report.label, report.item, report.annotator)
    version, time = (float("-inf") if number is None else number for number in (report.version, report.time))
    first, second = (time, report.deleted) if report.version is None else (report.deleted, time)
    return (version, first, second, *content)


def alive(ledger: Ledger) -> dict[str, tuple[object, ...]]:
    return {each.id: each[4:9] for each in rows_of(ledger) if not each.deleted}


@drawn(st.lists(REPORTS | GONE, max_size=6))
@examples(60)
def test_every_order_of_arrival_leads_where_the_rule_leads(history: list[Event]) -> None:
    """Of reports without version and time the order is all that is known; all others may arrive in any order."""
    unknown = [event for event in history if not is_ordered(event)]
    right = expected(history)
    for order in itertools.permutations(history):
        if [event for event in order if not is_ordered(event)] == unknown:
            assert alive(ledger_of(*order)) == right == expected(order)


@drawn(st.lists(VERSIONED, max_size=10))
@examples(30)
def test_a_batch_leads_where_single_events_lead(events: list[Reported]) -> None:
    whole = Ledger()
    whole.put(whole.changes(events, 1.0).values())
    assert contents(whole) == contents(ledger_of(*events))
    assert len(contents(whole)) == len({each[:4] for each in events})


def test_each_of_many_deletions_takes_no_longer_than_a_few_do() -> None:
    """They once looked at all that came in the same batch: a minute for these."""
    ledger = ledger_of()
    events = [given(str(i), "ann", "yes", id=str(i), version=1.0) for i in range(15_000)]
    ledger.put(ledger.changes(events, 1.0).values())
    gone_again = [gone("p", "api", id=str(i)) for i in range(10_000)]
    deleted = [each._replace(version=2.0, deleted=True) for each in events[5_000:]]
    start = time.monotonic()
    ledger.put(ledger.changes([*gone_again, *deleted], 2.0).values())
    assert time.monotonic() - start < 10 and ledger.questions() == []


def test_many_deleted_items_take_one_pass_over_what_is_stored() -> None:
    ledger = Ledger()
    ledger.put(ledger.changes([given(f"i{i}", "ann", "yes") for i in range(15_000)], 1.0).values())
    gone_items = [gone("p", "api", item=f"i{i}") for i in range(10_000)]
    start = time.monotonic()
    ledger.put(ledger.changes(gone_items, 2.0).values())
    assert time.monotonic() - start < 10
    assert len(alive(ledger)) == 5_000


def test_an_item_is_gone_without_what_was_moved_from_it_in_the_same_batch() -> None:
    ledger = ledger_of(given("1", "ann", "yes", id="7", version=1.0))
    moved = given("2", "ann", "yes", id="7", version=2.0)
    ledger_of_both = ledger.changes([gone("p", "api", item="1")], 2.0, ledger.changes([moved], 2.0))
    ledger.put(ledger_of_both.values())
    assert [each[0] for each in alive(ledger).values()] == ["2"]


def test_what_is_gone_stays_gone_in_all_questions() -> None:
    two = [given("1", "ann", "yes", id="7", question=name, version=1.0) for name in ("q", "r")]
    ledger = ledger_of(*two, gone("p", "api", id="7"))
    assert ledger.questions() == []
    ledger_of(given("1", "ann", "no", id="7", version=99.0), start=ledger)
    assert ledger.questions() == []


def test_gone_before_it_came_and_within_one_batch_and_nowhere_else() -> None:
    early = ledger_of(gone("p", "api", id="1/ann"), given("1", "ann", "yes", version=5.0))
    assert labels(early) == {}
    batch = Ledger()
    events = [given("1", "ann", "yes"), gone("p", "api", item="1"), given("2", "b", "x")]
    batch.put(batch.changes(events, 0.0).values())
    assert labels(batch) == {("2", "b"): "x"}
    theirs = given("1", "bob", "no", source="file", project="other")
    assert ledger_of(given("1", "ann", "yes"), theirs, gone("p", "api", item="1")).questions() == [("other", "q")]


def test_somebody_who_annotates_an_item_again_counts_once_with_the_last() -> None:
    first, second = given("1", "ann", "yes", id="9", version=1.0), given("1", "ann", "no", id="10", version=2.0)
    for order in itertools.permutations([first, second, given("1", "bob", "yes")]):
        columns = ledger_of(*order).columns("p", "q")
        assert columns.superseded == 1
        assert sorted(columns.frame().select("annotator", "label").rows()) == [("ann", "no"), ("bob", "yes")]
    without = ledger_of(given("1", "ann", "ten", id="10"), given("1", "ann", "nine", id="9"))
    assert labels(without) == {("1", "ann"): "ten"}  # the greater number


def test_a_listing_puts_right_what_differed_when_it_was_made_and_nothing_else() -> None:
    ledger = ledger_of(*(given(item, "ann", "yes", source="tool", id=item) for item in "123"), given("9", "z", "x"))
    told = [given(item, "ann", label, source="tool", id=f"{item}*") for item, label in [("1", "yes"), ("2", "no")]]
    told.append(given("4", "ann", "yes", source="tool", id="4*"))
    changes = ledger.changes([Snapshot("p", "tool", told, as_of=100.0)], 200.0)
    ledger.put(changes.values())
    assert len(changes) == 3
    assert labels(ledger) == {("1", "ann"): "yes", ("2", "ann"): "no", ("4", "ann"): "yes", ("9", "z"): "x"}
    assert ledger.changes([Snapshot("p", "tool", told, as_of=300.0)], 300.0) == {}
    assert ledger.changes([Snapshot("p", "api", [], as_of=-1.0)], 400.0) == {}  # what came after it was made


def test_columns_are_copies_in_the_order_of_arrival_with_the_times_of_annotations() -> None:
    ledger = ledger_of(given("1", "a", "x", time=5.0), given("2", "a", "x"), given("1", "a", "y"))
    columns = ledger.columns("p", "q")
    assert columns.frame()["item"].to_list() == ["1", "2"]
    assert columns.time.tolist() == [5.0, 1.0]
    ledger_of(given("1", "a", "y", time=6.0), given("2", "b", "y"), start=ledger)
    assert columns.labels == ["x"] and columns.label.tolist() == [0, 0] and columns.item.dtype == np.int32


def test_a_part_has_the_items_of_somebody_with_everybodys_labels() -> None:
    ledger = ledger_of(given("1", "a", "x", time=1.0), given("1", "b", "y", time=2.0), given("2", "b", "y", time=3.0))
    columns = ledger.columns("p", "q")
    assert columns.part(annotator="a").frame().select("item", "annotator").rows() == [("1", "a"), ("1", "b")]
    assert columns.part(since=2.5).frame()["item"].to_list() == ["2"]
    assert len(columns.part(annotator="nobody").item) == 0


def test_final_is_above_every_version() -> None:
    row = settled(None, given("1", "a", "x", version=FINAL, deleted=True))
    assert row is not None and settled(row, given("1", "a", "x", version=1e15)) is None
    assert settled(row, given("1", "a", "x")) is None
