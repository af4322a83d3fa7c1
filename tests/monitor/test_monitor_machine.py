"""Whatever happens, in whatever order: the live figures are those of a recount of the store."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from serving import given, restored

import spagree
from examples import examples
from spagree.estimate.anytime import closed_items
from spagree.monitor.alerts import alerts
from spagree.monitor.figures import look
from spagree.monitor.hub import Hub
from spagree.monitor.ledger import Reported, gone
from spagree.monitor.store import Store

ITEMS, PEOPLE, LABELS = st.integers(0, 4).map(str), st.sampled_from(["ann", "bob", "cyd"]), st.sampled_from("xyz")
QUESTION = ("p", "q")


class Monitor(RuleBasedStateMachine):
    """A hub beside a plain dictionary that says what should count."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.hub = Hub(Store(str(self.folder / "s.sqlite")))
        self.version = 0.0
        self.expected: dict[tuple[str, str], str] = {}
        self.sent: list[Reported] = []
        self.gone: set[str] = set()

    def take(self, event: Reported) -> None:
        self.sent.append(event)
        self.hub.take_now([event])

    @rule(item=ITEMS, who=PEOPLE, label=LABELS)
    def add_or_change(self, item: str, who: str, label: str) -> None:
        self.version += 1
        self.take(given(item, who, label, version=self.version))
        if item not in self.gone:
            self.expected[item, who] = label

    @precondition(lambda self: self.expected)
    @rule(data=st.data())
    def delete(self, data: Any) -> None:
        item, who = data.draw(st.sampled_from(sorted(self.expected)))
        self.version += 1
        self.take(given(item, who, "", version=self.version, deleted=True))
        del self.expected[item, who]

    @precondition(lambda self: self.sent)
    @rule(data=st.data())
    def send_again(self, data: Any) -> None:
        self.hub.take_now([data.draw(st.sampled_from(self.sent))])

    @rule(item=ITEMS, who=PEOPLE, label=LABELS)
    def a_change_overtakes_what_it_changes(self, item: str, who: str, label: str) -> None:
        self.version += 2
        self.take(given(item, who, label, version=self.version))
        self.take(given(item, who, "late", version=self.version - 1))
        if item not in self.gone:
            self.expected[item, who] = label

    @rule(rows=st.lists(st.tuples(ITEMS, PEOPLE, LABELS), min_size=1, max_size=8))
    def add_many(self, rows: list[tuple[str, str, str]]) -> None:
        self.version += 1
        events = [given(*row, version=self.version + place / 100) for place, row in enumerate(rows)]
        self.sent += events
        self.hub.take_now(events)
        self.expected |= {(item, who): label for item, who, label in rows if item not in self.gone}

    @rule(item=ITEMS)
    def an_item_goes(self, item: str) -> None:
        self.hub.take_now([gone("p", "api", item=item)])
        self.gone.add(item)
        self.expected = {key: label for key, label in self.expected.items() if key[0] != item}

    @rule()
    def restart(self) -> None:
        self.hub.close()
        self.hub = Hub(Store(str(self.folder / "s.sqlite")))

    @invariant()
    def the_live_figures_are_those_of_a_recount(self) -> None:
        if not self.expected:
            assert self.hub.questions() == []
            return
        live = self.hub.live(QUESTION, now=True)
        frame = live.columns.frame()
        assert {(item, who): label for item, who, label, _ in frame.rows()} == self.expected
        recount = restored(self.hub.store)
        again = look(*QUESTION, recount.columns(*QUESTION))
        plain = spagree.measure([(item, who, label) for (item, who), label in self.expected.items()])
        assert live.agreement is not None and again.agreement is not None
        assert live.agreement.to_dict() == again.agreement.to_dict()
        for name, figure in plain.schemes.items():
            assert live.agreement.schemes[name] == figure
        assert (live.safe, live.coverage, live.trend) == (again.safe, again.coverage, again.trend)
        assert [each.document() for each in alerts(live)] == [each.document() for each in alerts(again)]
        assert live.safe.items == len(
            closed_items(live.columns.item, live.columns.annotator, live.columns.label, 2).item
        )

    def teardown(self) -> None:
        self.hub.close()
        shutil.rmtree(self.folder)


TestMonitor = Monitor.TestCase
TestMonitor.settings = examples(5, stateful_step_count=10)
