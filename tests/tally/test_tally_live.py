"""A tally that grows and shrinks is always the tally of what remains."""

from __future__ import annotations

from collections import Counter, defaultdict

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule

from oracle import no_zeros, tally_of
from spagree.errors import DataError, DuplicateError
from spagree.tally.live import LiveTally
from spagree.tally.tally import Cell, Tally

ITEMS = st.sampled_from(["q1", "q2", "q3"])
ANNOTATORS = st.sampled_from(["ann", "bob", "cyd", "dan", "eve"])
LABELS = st.sampled_from(["x", "y", "z"])


class Session(RuleBasedStateMachine):
    """Any sequence of add, update and remove, beside a plain dictionary of what remains."""

    given = Bundle("given")

    def __init__(self) -> None:
        super().__init__()
        self.live = LiveTally()
        self.remaining: dict[tuple[str, str], str] = {}

    @rule(target=given, item=ITEMS, annotator=ANNOTATORS, label=LABELS)
    def add(self, item: str, annotator: str, label: str) -> tuple[str, str]:
        if (item, annotator) in self.remaining:
            with pytest.raises(DuplicateError):
                self.live.add(item, annotator, label)
        else:
            self.live.add(item, annotator, label)
            self.remaining[item, annotator] = label
        return item, annotator

    @rule(key=given, label=LABELS)
    def update(self, key: tuple[str, str], label: str) -> None:
        if key in self.remaining:
            self.live.update(*key, label)
            self.remaining[key] = label
        else:
            with pytest.raises(DataError):
                self.live.update(*key, label)

    @rule(key=consumes(given))
    def remove(self, key: tuple[str, str]) -> None:
        if key in self.remaining:
            self.live.remove(*key)
            del self.remaining[key]
        else:
            with pytest.raises(DataError):
                self.live.remove(*key)

    @invariant()
    def equals_counting_from_scratch(self) -> None:
        items: defaultdict[str, list[str]] = defaultdict(list)
        for (item, _), label in self.remaining.items():
            items[item].append(label)
        wanted = tally_of(items.values())
        found = self.live.tally()
        assert (found.cells, found.labels, found.pairable_labels) == (
            wanted.cells,
            wanted.labels,
            wanted.pairable_labels,
        )
        assert found.annotators == Counter(annotator for _, annotator in self.remaining)
        assert found.left_out == {}
        assert no_zeros(found)
        assert len(self.live._items) == len(items)


Session.TestCase.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
TestSession = Session.TestCase


def test_a_new_live_tally_is_empty() -> None:
    assert LiveTally().tally() == Tally()


def test_triples_follow_every_step() -> None:
    live, cells = LiveTally(), []
    for annotator, label in enumerate("xxyxx"):
        live.add("q", annotator, label)
        cells += live.tally().cells
    assert cells == [Cell(1, 0, 0), Cell(2, 2, 0), Cell(3, 2, 0), Cell(4, 6, 6), Cell(5, 12, 24)]


def test_add_then_remove_is_the_identity() -> None:
    live = LiveTally()
    for annotator, label in enumerate("xxyxx"):
        live.add("q", annotator, label)
    before = live.tally()
    live.add("q", "late", "y")
    live.remove("q", "late")
    assert live.tally() == before
    for annotator in range(5):
        live.remove("q", annotator)
    assert live.tally() == Tally()


def test_an_earlier_tally_is_not_touched_by_later_changes() -> None:
    live = LiveTally()
    live.add("q", "ann", "x")
    before = live.tally()
    live.add("q", "bob", "x")
    assert before == Tally({Cell(1, 0, 0): 1}, {"x": 1}, {}, {"ann": 1})
    assert live.tally() == Tally({Cell(2, 2, 0): 1}, {"x": 2}, {"x": 2}, {"ann": 1, "bob": 1})


def test_labels_and_annotators_are_counted_by_their_text() -> None:
    live = LiveTally()
    live.add(1, 7, 1)
    live.add(1, 8, "1")
    live.add(1, 9, True)
    assert live.tally() == Tally({Cell(3, 2, 0): 1}, {"1": 2, "true": 1}, {"1": 2, "true": 1}, {"7": 1, "8": 1, "9": 1})
    live.update(1, 8, True)
    assert live.tally().labels == {"1": 1, "true": 2}
    live.remove(1, 7)
    assert live.tally().annotators == {"8": 1, "9": 1}


def test_adding_twice_is_refused_with_the_label_there_is() -> None:
    live = LiveTally()
    live.add("q1", "ann", "yes")
    with pytest.raises(DuplicateError) as caught:
        live.add("q1", "ann", "no")
    assert str(caught.value) == ("annotator 'ann' has already labelled item 'q1' 'yes'; use update to change the label")
    assert live.tally() == Tally({Cell(1, 0, 0): 1}, {"yes": 1}, {}, {"ann": 1})


@pytest.mark.parametrize("change", [lambda live: live.remove("q1", "bob"), lambda live: live.update("q1", "bob", "x")])
def test_changing_what_is_not_there_is_refused(change) -> None:
    live = LiveTally()
    live.add("q1", "ann", "yes")
    with pytest.raises(DataError) as caught:
        change(live)
    assert str(caught.value) == "annotator 'bob' has not labelled item 'q1'; add the annotation first"
    assert live.tally() == Tally({Cell(1, 0, 0): 1}, {"yes": 1}, {}, {"ann": 1})
