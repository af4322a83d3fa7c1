"""Breakdowns are values: each there or absent with its reason, and each computed once."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from types import ModuleType
from typing import Any

import polars
import pytest

import spagree
from oracle import exactly
from spagree.estimate import annotators, breakdowns, classes, development, evidence, plan
from spagree.estimate.breakdown_values import BREAKDOWNS, NOT_COMPUTED, Absent, known
from spagree.messages import command_line

COMPUTED = {
    "classes": classes,
    "confusion": classes,
    "annotators": annotators,
    "pairs": breakdowns,
    "overlap": breakdowns,
    "development": development,
    "plan_for": plan,
    "coded": evidence,
    "coded_in_python": evidence,
}  # and the module where it is looked up


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each breakdown is computed."""
    counter: Counter[str] = Counter()

    def counted(module: ModuleType, name: str) -> Any:
        original = getattr(module, name)

        def call(*args: Any, **options: Any) -> Any:
            counter[name] += 1
            return original(*args, **options)

        return call

    for name, module in COMPUTED.items():
        monkeypatch.setattr(module, name, counted(module, name))
    return counter


def rows(people: int = 5) -> list[tuple[str, str, str, int]]:
    return [
        (f"q{i}", f"p{(i + j) % people}", "yes" if (i * j) % 3 else "no", 100 * i + j)
        for i in range(30)
        for j in range(3)
    ]


def test_nothing_is_computed_twice_for_a_page_all_tables_and_json(calls: Counter[str], tmp_path: Path) -> None:
    agreement = spagree.measure(rows())
    agreement.to_json()
    agreement.report(tmp_path / "page.html")
    agreement.charts.pairs()
    once = {**dict.fromkeys(COMPUTED, 1), "plan_for": 2}  # the plan itself, and what half the interval takes
    assert calls == once
    agreement.export(tmp_path / "tables")
    assert calls == {**once, "pairs": 2}  # a page shows those of the busiest, a table all


def test_much_is_coded_once_for_a_page_all_tables_and_json(calls: Counter[str], tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("spagree.estimate.overlap.CHEAP_ANNOTATIONS", 10)
        agreement = spagree.measure(rows())
        agreement.to_json()
        agreement.report(tmp_path / "page.html")
        agreement.export(tmp_path / "tables")
    assert calls["coded"] == 1 and calls["coded_in_python"] == 0


def test_much_without_annotators_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spagree.estimate.overlap.CHEAP_ANNOTATIONS", 10)
    frame = polars.DataFrame([(item, label) for item, _, label, _ in rows()], schema=["item", "label"], orient="row")
    found = spagree.measure(frame).breakdowns(["annotators", "disputed"])
    assert "the annotators are unknown" in str(found.lacks("annotators")) and found.lacks("disputed") is None


def test_a_chart_computes_only_what_it_draws(calls: Counter[str]) -> None:
    agreement = spagree.measure([row[:3] for row in rows(3)])
    calls.clear()  # the score itself looks at who labelled what
    agreement.charts.schemes()
    agreement.charts.chance()
    assert calls == {}
    agreement.charts.classes()
    assert calls == {"classes": 1}


def test_everything_is_there_or_absent_with_its_reason() -> None:
    everything = spagree.measure(rows()).breakdowns()
    absent = {name: everything.lacks(name) for name in BREAKDOWNS if everything.lacks(name)}
    assert set(absent) == {"options", "groups"} and absent["options"] == "the labels are not sets of options"
    of_a_tally = spagree.measure(spagree.tally(rows())).breakdowns()
    absent = {name: of_a_tally.lacks(name) for name in BREAKDOWNS if of_a_tally.lacks(name)}
    del absent["options"], absent["groups"]
    by_items, by_people = {"disputed", "answers"}, {"annotators", "pairs", "overlap"}
    assert set(absent) == by_items | by_people | {"development"}
    assert all("measure the annotations themselves" in str(reason) for reason in absent.values())
    with pytest.raises(
        spagree.UsageError, match=exactly("a tally does not say who annotated; measure the annotations themselves")
    ):
        known(of_a_tally.annotators)


def test_breakdowns_that_were_not_computed_say_so() -> None:
    found = spagree.measure(rows()).breakdowns(["classes"])
    assert found.lacks("classes") is None
    assert found.pairs is NOT_COMPUTED and found.lacks("pairs") == "this breakdown was not computed"


def test_an_empty_table_says_that_there_is_nothing_to_show() -> None:
    alone = spagree.measure([("q1", "ann", "yes"), ("q2", "bob", "no")])
    assert alone.breakdowns(["pairs"]).lacks("pairs") == "there is nothing to show"


def test_callers_may_change_the_tables_they_get() -> None:
    agreement = spagree.measure(rows())
    agreement.classes().drop_in_place("agreement")
    agreement.hardest(3).drop_in_place("item")
    assert "agreement" in agreement.classes().columns and "item" in agreement.hardest(3).columns


@pytest.mark.parametrize("source", ["example:sparse", "example:krippendorff2011", "example:fleiss1971"])
def test_breakdowns_of_much_data_in_two_threads_are_the_same(source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with command_line():  # a reason names options as they are typed, in either thread
        one_by_one = spagree.measure(source).breakdowns()
        agreement = spagree.measure(source)
        monkeypatch.setattr(breakdowns, "is_small", lambda _: False)
        both = agreement.breakdowns()
        some = agreement.breakdowns(["classes", "annotators", "actions"])
    for name in BREAKDOWNS:
        found, wanted = getattr(both, name), getattr(one_by_one, name)
        if isinstance(wanted, polars.DataFrame):
            assert found.equals(wanted)
        else:
            assert getattr(found, "reason", found) == getattr(wanted, "reason", wanted)
    assert some.actions == one_by_one.actions and isinstance(some.overlap, Absent)


def test_a_score_of_much_data_fetches_no_annotations(calls: Counter[str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MOST_FOR_BOTH", "MOST_ANNOTATIONS"):
        monkeypatch.setattr(breakdowns, name, 0)
    for module in (breakdowns, evidence):
        monkeypatch.setattr(module, "is_small", lambda _: False)
    agreement = spagree.measure("example:sparse")
    agreement.to_json()
    assert agreement.spa.interval_for == "items"
    assert calls["coded"] == calls["coded_in_python"] == 0
