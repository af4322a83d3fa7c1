"""From annotations to figures and alarms: a fall, somebody apart, missing overlap, adaptive overlap, a broken target."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from spagree.monitor.alerts import Alert, Register, alerts, notice
from spagree.monitor.feeds import CARELESS, DRIFT, HELP, MARK, replayed
from spagree.monitor.figures import Live, Settings, look
from spagree.monitor.ledger import Current, Ledger
from spagree.monitor.pages import facts, top, trend_spec, verdict


def columns(rows: list[tuple[int, int, int]], times: list[float] | None = None) -> Current:
    item, who, label = np.array(rows, np.int32).reshape(-1, 3).T
    names = [
        [f"{kind}{i}" for i in range(int(codes.max(initial=-1)) + 1)]
        for kind, codes in zip("ia", (item, who), strict=True)
    ]
    time = np.arange(len(item), dtype=float) if times is None else np.array(times)
    return Current(item, who, label, time, names[0], names[1], ["x", "y", "z"])


def project(
    items: int, agree: list[float], *, people: int = 6, per_item: int = 3, careless: int = -1, seed: int = 0
) -> Current:
    """Labels are x unless somebody errs; ``agree`` is how often they do not, over the life of the project."""
    chance = np.random.default_rng(seed)
    rows = []
    for item in range(items):
        right = agree[item * len(agree) // items]
        for who in chance.choice(people, per_item, replace=False):
            is_right = chance.random() < right and who != careless
            rows.append((item, int(who), 0 if is_right else int(chance.integers(0, 3))))
    return columns(rows)


def live_of(found: Current, **settings: object) -> Live:
    return look("p", "q", found, settings=Settings(**settings))  # type: ignore[arg-type]


def codes(live: Live) -> list[str]:
    return [alert.code for alert in alerts(live)]


def test_a_quiet_project_has_no_alert() -> None:
    live = live_of(project(300, [0.95]), target=0.6)
    assert codes(live) == []
    assert live.safe.low is not None and live.safe.low > 0.6
    assert verdict(live, [])[0] == "fine"


def test_agreement_below_the_target_is_told_only_when_certain() -> None:
    few, many = live_of(project(12, [0.5]), target=0.9), live_of(project(300, [0.5]), target=0.9)
    assert "below_target" not in codes(few) and verdict(few, [])[0] == "look"
    assert "below_target" in codes(many)
    alert = next(each for each in alerts(many) if each.code == "below_target")
    assert alert.figures["target"] == 0.9 and alert.figures["high"] < 0.9 and "0.900" in alert.words


def test_what_may_be_a_harder_batch_is_a_notice_and_no_alert() -> None:
    """Nobody can tell a change of the people from a batch of harder items."""
    live = live_of(project(540, [0.97] * 8 + [0.5]), target=0.5)
    words = notice(live)
    assert codes(live) == [] and "on the latest" in words and "harder items" in words
    assert verdict(live, []) == ("look", "No alert is open, but people agree less on the latest items.")
    told = Alert("p", "q", "annotator_apart", "ann answers differently", "", "")
    said = "One thing needs a look: ann answers differently. People also agree less on the latest items."
    assert verdict(live, [told])[1] == said
    assert "too" not in verdict(live_of(project(540, [0.97])), [told])[1]
    assert notice(live_of(project(540, [0.97]))) == "" == notice(live_of(columns([])))


def test_a_notice_says_where_agreement_fell_and_ends_once_it_recovers() -> None:
    generator = np.random.default_rng(1)
    agree = generator.random(3200) < np.repeat([0.9, 0.5, 0.95], [1200, 200, 1800])
    rows = [(item, who, 0 if who == 0 or same else 1) for item, same in enumerate(agree) for who in (0, 1)]
    told = {items: notice(live_of(columns(rows[: 2 * items]))) for items in (1200, 1400, 1450, 3200)}
    assert [items for items, words in told.items() if words] == [1400, 1450]
    assert told[1400].startswith("From 0.89 to 0.52 on the latest 197 items")


def test_a_mark_begins_anew() -> None:
    found = project(900, [0.97, 0.97, 0.5])
    live = look("p", "q", found, [(found.time[-1] * 2 / 3, "new")])
    assert notice(live) == ""
    assert 290 <= live.safe.items <= 310 and live.safe.high is not None and live.safe.high < 0.8
    assert look("p", "q", found, [(-5.0, "before everything")]).safe.items == 900


def test_the_chart_says_where_it_begins() -> None:
    found = project(60, [0.9])
    found = replace(found, time=found.time + 1.7e9)
    marked = look("p", "q", found, [(1.7e9, "old"), (1.7e9 + 30, "Guidelines <2>")])
    shown = top(Nothing(), marked)  # type: ignore[arg-type]
    assert (shown["since"], shown["began"]) == ("Guidelines <2>", 1.7e9 + 30)
    assert top(Nothing(), look("p", "q", found))["since"] == ""  # type: ignore[arg-type]


def test_what_changes_on_the_way_keeps_its_bounds() -> None:
    """They are about the items so far, so that a fall does not break them."""
    live = live_of(project(3000, [1.0, 0.1]))
    safe = live.safe
    assert safe.low is not None and safe.high is not None and safe.value is not None
    assert safe.low < safe.value < safe.high < safe.low + 0.08
    assert trend_spec(live) is not None


def test_somebody_apart_is_named_with_what_to_do() -> None:
    live = live_of(project(400, [0.9], careless=3))
    found = [each for each in alerts(live) if each.code == "annotator_apart"]
    assert [each.subject for each in found] == ["a3"]
    assert "Different is not wrong" in found[0].to_do and found[0].link == "#people"


def test_missing_overlap_is_told_and_two_annotations_per_item_name_nobody() -> None:
    assert codes(live_of(columns([(i, i % 3, 0) for i in range(25)]))) == ["no_overlap"]
    assert codes(live_of(columns([(i, i % 3, 0) for i in range(5)]))) == []
    teams = columns([(i, who + 2 * (i % 2), 0) for i in range(20) for who in (0, 1)])
    assert codes(live_of(teams)) == ["teams_apart"]
    assert "annotator_apart" not in codes(live_of(project(400, [0.9], per_item=2, careless=3)))


def test_adaptive_overlap_is_told_and_more_annotations_at_random_are_not() -> None:
    chance = np.random.default_rng(1)
    rows = []
    for item in range(400):
        labels = chance.choice(2, 2, p=[0.7, 0.3])
        rows += [(item, who, int(label)) for who, label in enumerate(labels)]
        if labels[0] != labels[1]:
            rows.append((item, 2, 0))
    live = live_of(columns(rows))
    assert "adaptive_overlap" in codes(live) and live.adaptive is not None and live.adaptive[0] == 1.0
    assert "--first 2" in next(each for each in alerts(live) if each.code == "adaptive_overlap").to_do
    rows = [(item, who, int(chance.integers(0, 2))) for item in range(400) for who in range(2 + item % 2)]
    assert live_of(columns(rows)).adaptive is None


def test_an_assumption_that_breaks_is_told() -> None:
    chance = np.random.default_rng(3)
    rows = [(item, who, 0) for item in range(500) for who in range(3)]
    rows += [(500 + item, who, int(chance.integers(0, 3))) for item in range(500) for who in range(6)]
    assert "assumption" in codes(live_of(columns(rows)))


def test_nothing_yet() -> None:
    live = live_of(columns([]))
    assert live.agreement is None and live.safe.undefined and live.coverage == (0, 0, 0) and codes(live) == []
    assert trend_spec(live) is None and verdict(live, [])[0] == "look"


def test_coverage_and_rate() -> None:
    rows = [(item, who, 0) for item in range(3) for who in range(item + 1)]
    live = live_of(columns(rows, [0, 60, 120, 180, 240, 300]))
    assert live.coverage == (1, 1, 1)
    assert live.per_hour == pytest.approx(6 * 3600 / 300)
    assert live_of(columns([(0, 0, 0)])).per_hour == 0.0
    assert live_of(columns([(0, 0, 0), (0, 1, 0)], [5.0, 5.0])).per_hour == 0.0
    long = columns([(i, 0, 0) for i in range(100)], [i * 600.0 for i in range(100)])
    assert live_of(long).per_hour == 6.0


def test_the_trend_is_thinned_and_ends_now_and_the_first_k_annotations_close_an_item() -> None:
    live, found = live_of(project(1000, [0.9])), project(100, [0.9], per_item=3)
    assert len(live.trend) == 200 and live.trend[-1].items == 1000 and live.trend[-1].value == live.safe.value
    assert all(step.low <= step.high and math.isfinite(step.recent) for step in live.trend)
    assert (live_of(found, first=3).safe.items, live_of(found, first=4).safe.items) == (100, 0)


def alert(code: str, **more: object) -> Alert:
    return replace(Alert("p", "q", code, "t", "w", "d"), **more)  # type: ignore[arg-type]


def test_alerts_keep_when_they_began_and_end_once() -> None:
    register = Register([])
    assert [each.began for each in register.update("p", "q", [alert("below_target")], 1.0)] == [1.0]
    assert register.update("p", "q", [alert("below_target", words="new figures")], 2.0) == []
    (current,) = register.of_question("p", "q")[0]
    assert (current.began, current.words) == (1.0, "new figures")
    assert register.update("p", "other", [], 3.0) == []
    ended = register.update("p", "q", [], 4.0)
    assert [(each.state, each.began, each.ended) for each in ended] == [("ended", 1.0, 4.0)]
    assert register.update("p", "q", [alert("below_target")], 5.0)[0].began == 5.0
    assert len(register.of_question("p", "q")[1]) == 1


def test_alerts_about_the_whole_project_come_first_and_come_back_from_the_store() -> None:
    register, kim = Register([]), alert("annotator_apart", subject="kim", figures={"before": 0.9})
    changed = register.update("p", "q", [kim], 1.0)
    changed += register.update("p", "q", [kim, alert("no_overlap"), alert("below_target")], 2.0)
    order = ["below_target", "annotator_apart", "no_overlap"]
    assert [each.code for each in register.of_question("p", "q")[0]] == order
    ended = register.update("p", "q", [alert("no_overlap"), alert("below_target")], 3.0)
    again = Register([each.row() for each in (*changed[1:], *ended)])
    assert again.open == register.open and again.past == register.past == ended


class Nothing:
    """A hub that has heard nothing but the figures."""

    def __init__(self, expected: int = 0) -> None:
        self.register, self.expected = Register([]), {"p": expected}
        self.last_event, self.reconciled, self.faults = None, {}, {}

    def trouble(self) -> str:
        return ""


def test_what_stands_on_top() -> None:
    live = live_of(project(50, [0.9]), target=0.5)
    shown = top(Nothing(60), live)  # type: ignore[arg-type]
    assert shown["target"] == "0.5" and shown["bar"] is not None and shown["value"].startswith("0.")
    assert "first 2 annotations of 50 items" in shown["words"]
    told = dict(facts(Nothing(60), live))  # type: ignore[arg-type]
    assert told["items"].endswith("10 with none") and told["annotations"] == "150"
    again = live_of(replace(project(50, [0.9]), superseded=3))
    assert "3 replaced" in dict(facts(Nothing(), again))["annotations"]  # type: ignore[arg-type]


def test_the_demo_has_a_drift_somebody_careless_and_guidelines_that_help() -> None:
    ledger = Ledger()
    ledger.put(ledger.changes([given for done, given in replayed() if done < HELP], 0.0).values())
    drifted = look("demo", "sentiment", ledger.columns("demo", "sentiment"), settings=Settings(0.7))
    found = {each.code: each for each in alerts(drifted)}
    assert found["annotator_apart"].subject == CARELESS and notice(drifted) != ""
    at = next(given.time for done, given in replayed() if done >= HELP)
    ledger.put(ledger.changes([given for done, given in replayed() if done >= HELP], 0.0).values())
    helped = look("demo", "sentiment", ledger.columns("demo", "sentiment"), [(at, MARK)], Settings(0.7))  # type: ignore[list-item]
    assert notice(helped) == "" and helped.safe.low is not None and helped.safe.low > 0.7
    assert DRIFT < HELP
