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
from spagree import agreement as facade
from spagree.errors import Absent, known, there
from spagree.estimate import breakdowns, development, plan
from spagree.estimate.breakdowns import BREAKDOWNS, NOT_COMPUTED, Breakdowns

COMPUTED = {
    "classes": facade,
    "annotators": facade,
    "pairs": facade,
    "overlap": breakdowns,
    "development": development,
    "plan_for": plan,
    "coded": breakdowns,
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
    once = dict.fromkeys(set(COMPUTED) - {"plan_for"}, 1)
    assert calls == once
    agreement.export(tmp_path / "tables")
    assert calls == {**once, "pairs": 2, "plan_for": 1}  # a page shows pairs of the busiest and no plan, tables all


def test_much_is_coded_once_for_a_page_all_tables_and_json(calls: Counter[str], tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(breakdowns, "FEW", 10)
        agreement = spagree.measure(rows())
        agreement.to_json()
        agreement.report(tmp_path / "page.html")
        agreement.export(tmp_path / "tables")
    assert calls["coded"] == 1


def test_much_without_annotators_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(breakdowns, "FEW", 10)
    frame = polars.DataFrame([(item, label) for item, _, label, _ in rows()], schema=["item", "label"], orient="row")
    found = spagree.measure(frame).breakdowns(["annotators", "disputed"])
    assert isinstance(found.annotators, Absent) and "the annotators are unknown" in found.annotators.reason
    assert there(found.disputed) is not None


def test_a_chart_computes_only_what_it_draws(calls: Counter[str]) -> None:
    agreement = spagree.measure([row[:3] for row in rows(3)])
    calls.clear()  # the score itself looks at who labelled what
    agreement.charts.schemes()
    assert calls == {}
    agreement.charts.pairs()
    assert calls["pairs"] == 1 and not calls["classes"]


def reasons(found: Breakdowns) -> dict[str, str]:
    values = {name: getattr(found, name) for name in BREAKDOWNS}
    return {name: value.reason for name, value in values.items() if isinstance(value, Absent)}


def test_everything_is_there_or_absent_with_its_reason() -> None:
    everything = spagree.measure(rows()).breakdowns()
    absent = reasons(everything)
    assert set(absent) == {"options", "groups"} and absent["options"] == "the labels are not sets of options"
    of_a_tally = spagree.measure(spagree.tally(rows())).breakdowns()
    absent = reasons(of_a_tally)
    del absent["options"], absent["groups"]
    by_items, by_people = {"disputed", "answers"}, {"pairs", "overlap"}
    assert set(absent) == by_items | by_people | {"development"}
    assert all("measure the annotations themselves" in str(reason) for reason in absent.values())
    with pytest.raises(
        spagree.UsageError,
        match=exactly("a tally does not say who annotated which item; measure the annotations themselves"),
    ):
        known(of_a_tally.pairs)


def test_breakdowns_that_were_not_computed_say_so() -> None:
    found = spagree.measure(rows()).breakdowns(["classes"])
    assert there(found.classes) is not None
    assert found.pairs is NOT_COMPUTED and reasons(found)["pairs"] == "this breakdown was not computed"


def test_an_empty_table_is_not_there() -> None:
    alone = spagree.measure([("q1", "ann", "yes"), ("q2", "bob", "no")]).breakdowns(["pairs"])
    assert not isinstance(alone.pairs, Absent) and there(alone.pairs) is None


def test_callers_may_change_the_tables_they_get() -> None:
    agreement = spagree.measure(rows())
    agreement.classes().drop_in_place("agreement")
    agreement.hardest(3).drop_in_place("item")
    assert "agreement" in agreement.classes().columns and "item" in agreement.hardest(3).columns


def test_a_score_of_much_data_fetches_no_annotations(calls: Counter[str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MOST_TO_FETCH", "MOST_ANNOTATIONS"):
        monkeypatch.setattr(breakdowns, name, 0)
    monkeypatch.setattr("spagree.measuring.MOST_TO_FETCH", 0)
    agreement = spagree.measure("example:sparse")
    agreement.to_json()
    assert agreement.spa.interval_for == "annotators"
    assert calls["coded"] == 0
