"""Can I trust it: every verdict in every state, from data that deserve it."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import polars
import pytest

import spagree
from spagree.estimate.breakdown_values import Action, known
from spagree.present.report.method import source_name
from spagree.present.report.parts import table
from spagree.present.report.steps import steps
from spagree.present.sentence import in_words
from spagree.present.tables import Cell, Column, cell
from spagree.present.verdicts import Verdict, in_short, verdicts
from spagree.understood import Understood

Rows = list[tuple[Any, ...]]


def judged(source: Any, **options: Any) -> dict[str, Verdict]:
    found = verdicts(spagree.measure(source, **options).breakdowns())
    return {verdict.title: verdict for verdict in found}


def pairs_of(items: int, agree: float = 0.8, people: str = "abc") -> Rows:
    """Items with two annotations each, in turn by the same people."""
    rows: Rows = []
    for item in range(items):
        one, other = people[item % len(people)], people[(item + 1) % len(people)]
        label = "xyz"[item % 3]
        rows += [(item, one, label), (item, other, label if (item * 7) % 10 < agree * 10 else "other")]
    return rows


def test_good_data_are_fine_throughout() -> None:
    found = judged("example:sparse")
    assert list(found) == ["Precision", "Coverage", "Assumption", "Weights", "Beyond chance", "Overlap", "Left out"]
    assert {verdict.state for verdict in found.values()} == {"ok"}
    assert {(verdict.icon, verdict.word) for verdict in found.values()} == {("✓", "fine")}


@pytest.mark.parametrize(
    ("items", "state", "says"),
    [(2000, "ok", "about ±0.0"), (100, "look", "That is rough"), (20, "problem", "That is rough")],
)
def test_precision(items: int, state: str, says: str) -> None:
    found = judged(pairs_of(items))["Precision"]
    assert found.state == state and says in found.words and f"{items:,} items" in found.words


def test_no_interval_is_a_problem() -> None:
    found = judged([("q1", "a", "x"), ("q1", "b", "x")])["Precision"]
    assert found.state == "problem" and "There is no interval: only one item" in found.words


def test_a_handful_of_items_cannot_tell() -> None:
    rows = [(0, "a", "x"), (0, "b", "x"), *((1, who, label) for who, label in zip("abc", "xyy", strict=True))]
    found = judged([*rows, *((2, who, "y") for who in "abc"), *((3, who, "x") for who in "abcd")])
    assert found["Weights"].state == found["Beyond chance"].state == "look"
    assert "4 items cannot show whether the choice matters" in found["Weights"].words
    assert "There is not enough data to tell whether people agree more often than" in found["Beyond chance"].words


def test_coverage() -> None:
    rows = pairs_of(30)
    singles = [(f"single{number}", "a", "x") for number in range(70)]
    fine, thin = judged(rows)["Coverage"], judged([*rows, *singles])["Coverage"]
    assert fine.state == "ok" and "30 of 30 items (100%)" in fine.words and fine.words.endswith("per item: 2.")
    assert thin.state == "look" and "30 of 100 items (30%)" in thin.words and "describes only these" in thin.words
    assert judged(singles)["Coverage"].state == "problem"


def test_an_assumption_that_cannot_be_broken() -> None:
    found = judged(pairs_of(30))["Assumption"]
    assert found.state == "ok" and found.words == "Every item used has 2 annotations, so it cannot fail."


def test_an_assumption_that_is_broken_and_weights_that_matter() -> None:
    drawn = spagree.simulate(items=600, per_item=5, adaptive=True, seed=1)
    found = judged(drawn.frame)
    assert found["Assumption"].state == "problem"
    assert "people agree less on items with more annotations (p < 0.001)" in found["Assumption"].words
    assert found["Weights"].state == "problem" and "depends on the choice" in found["Weights"].words


def test_an_assumption_in_doubt() -> None:
    drawn = spagree.simulate(items=60, per_item=(2, 4), seed=17)
    p = spagree.measure(drawn.frame).missingness.p
    assert p is not None and 0.01 < p < 0.05
    found = judged(drawn.frame)["Assumption"]
    assert found.state == "look" and found.words.startswith("Doubtful: people agree ")


def test_an_assumption_that_cannot_be_tested() -> None:
    rows = [(item, who, "x") for item in range(6) for who in range(2 + item % 2)]
    found = judged(rows)["Assumption"]
    assert found.state == "look" and "agreement does not vary enough" in found.words


def test_full_agreement_on_enough_items_does_not_depend_on_their_number_of_annotations() -> None:
    rows = [(item, who, "x" if item % 2 else "y") for item in range(40) for who in range(2 + item % 3)]
    assert judged(rows)["Assumption"].state == "ok" and "however often" in judged(rows)["Assumption"].words
    assert judged(rows[:12])["Assumption"].state == "look"


def test_no_better_than_chance() -> None:
    rows = [(item, who, "xy"[item // (1 + who) % 2]) for item in range(200) for who in range(2)]
    found = judged(rows)["Beyond chance"]
    assert found.state == "problem" and "do not clearly agree more often" in found.words


def test_agreement_below_chance_asks_for_swapped_labels() -> None:
    rows = [(item, who, "xy"[who]) for item in range(40) for who in range(2)]
    found = judged(rows)["Beyond chance"]
    assert found.state == "problem" and found.words.startswith("People agree less often than labels picked blindly")
    shown = " ".join(str(spagree.measure(rows)).split())
    assert "swapped two labels" in found.words and "agreement is below chance" in shown and "close to" not in shown


def test_hardly_better_than_chance_is_worth_a_look() -> None:
    rows = [(item, who, "no" if (item * 7 + who * item) % 20 < 2 else "yes") for item in range(900) for who in range(2)]
    alpha = spagree.measure(rows).chance["krippendorff_alpha"]
    assert alpha.low is not None and alpha.high is not None and 0 < alpha.low < 0.21 < alpha.high < 0.4
    found = judged(rows)["Beyond chance"]
    assert found.state == "look" and "That is only low agreement beyond chance." in found.words  # slight, or fair
    assert f"Krippendorff's alpha is {alpha.value:.2f} ({alpha.low:.2f} to {alpha.high:.2f})" in found.words


def test_by_a_metric_agreement_is_no_frequency() -> None:
    rows = [(item, who, str(item % 5 + (item + who) % 3 % 2)) for item in range(60) for who in range(2)]
    found = judged(rows, metric="interval")["Beyond chance"]
    assert "agree clearly more than labels picked blindly would" in found.words and "often" not in found.words


def test_teams_that_never_met() -> None:
    rows = pairs_of(40, people="abc") + [(f"t{item}", who, label) for item, who, label in pairs_of(40, people="uvw")]
    found = judged(rows)["Overlap"]
    assert found.state == "problem" and "6 annotators form 2 teams that never annotated the same item" in found.words


def test_teams_that_hang_on_a_few_items() -> None:
    rows = pairs_of(40, people="abc") + [(f"t{item}", who, label) for item, who, label in pairs_of(40, people="uvw")]
    found = judged([*rows, ("bridge", "a", "x"), ("bridge", "u", "x")])["Overlap"]
    assert found.state == "look" and "A team of 3 shares only 1 item with everybody else" in found.words


def test_somebody_alone() -> None:
    found = judged([*pairs_of(30), ("own", "hermit", "x")])["Overlap"]
    assert found.state == "look"
    assert (
        found.words
        == "1 of 4 annotators shares no item with anybody (2% of the annotations); the others are connected."
    )


def test_somebody_alone_who_did_next_to_nothing_is_a_note() -> None:
    found = judged([*pairs_of(300), ("own", "hermit", "x"), ("too", "nun", "x")])["Overlap"]
    assert found.state == "ok"
    assert (
        found.words
        == "2 of 5 annotators share no item with anybody (0.3% of the annotations); the others are connected."
    )


def test_two_are_both() -> None:
    assert judged(pairs_of(30, people="ab"))["Overlap"].words == "The two annotators share items."


def test_somebody_unknown() -> None:
    frame = polars.DataFrame([*pairs_of(30), (0, None, "x")], schema=["item", "annotator", "label"], orient="row")
    found = judged(frame)["Overlap"]
    assert found.state == "look" and "The annotator of 1 annotation is unknown" in found.words


def test_what_was_left_out() -> None:
    rows = pairs_of(30)
    repeated = judged([*rows, rows[0]])["Left out"]
    assert repeated.state == "ok" and repeated.words == "1 annotation (2%) was not used."
    many = judged([*rows, *((None, "a", "x") for _ in range(30))])["Left out"]
    assert many.state == "look" and "30 annotations (33%)" in many.words


def test_single_annotations_are_not_called_used() -> None:
    rows = pairs_of(30)
    assert judged(rows)["Left out"].words == "No annotation was dropped as missing or repeated."
    one, more = judged([*rows, ("s1", "a", "x")]), judged([*rows, ("s1", "a", "x"), ("s2", "a", "x")])
    assert one["Left out"].words.endswith("; 1 annotation is alone on its item and says nothing about agreement.")
    assert more["Left out"].words.endswith("; 2 annotations are alone on their items and say nothing about agreement.")


def test_weights_that_give_the_same_say_it_once() -> None:
    found = judged(pairs_of(30))["Weights"].words
    assert found.startswith("All weighting schemes give 0.") and " to 0" not in found


def test_other_warnings_are_passed_on_once() -> None:
    rows = [(item, who, "Yes" if who == "a" else "yes") for item in range(12) for who in "ab"]
    found = judged(rows)
    assert found["Label variants"].state == "look"
    assert found["Label variants"].words.startswith("Labels that differ only in spelling")
    assert "agreement can only be 1. " in judged([(i, who, "x") for i in range(12) for who in "ab"])["One class"].words
    few = judged(pairs_of(5))
    assert not [title for title in few if "Few" in title]


def test_in_short() -> None:
    ok, look, bad = (Verdict(state, state, "") for state in ("ok", "look", "problem"))
    assert in_short([ok, ok]).words == "All 2 checks are fine." and in_short([ok]).state == "ok"
    assert in_short([ok, look]).words == "1 of 2 checks shows something to look at: look."
    assert in_short([ok, look, bad, bad]).words == (
        "2 of 4 checks show a problem: problem, problem; 1 shows something to look at: look."
    )
    assert in_short([look, bad]).state == "problem"


# What to do next -----------------------------------------------------------------------------


def actions(source: Any) -> list[Action]:
    return list(known(spagree.measure(source).breakdowns(["actions"]).actions))


def kinds(source: Any) -> list[str]:
    return [action.kind for action in actions(source)]


def mixed_up(pairs: dict[str, int]) -> Rows:
    """Items of two annotations each, so many of each pair of labels."""
    labels = [pair for pair, items in pairs.items() for _ in range(items)]
    return [(item, "ab"[who], label) for item, pair in enumerate(labels) for who, label in enumerate(pair)]


def test_two_classes_are_named_where_they_meet_more_often_than_their_sizes_bring() -> None:
    rows = mixed_up({"xx": 200, "yy": 200, "pp": 20, "qq": 20, "xy": 50, "pq": 40, "xp": 5, "yq": 5})
    found = next(action for action in actions(rows) if action.kind == "classes")
    assert found.names == ("p", "q") and found.figures["share"] == pytest.approx(40 / 100)
    spa = spagree.measure(rows).spa.value
    merged = spagree.measure([(item, who, label.replace("q", "p")) for item, who, label in rows]).spa.value
    assert (found.figures["spa"], found.figures["spa_merged"]) == pytest.approx((spa, merged))
    assert found.gain == pytest.approx(merged - spa)
    large = {f"{one}{other}": 20 for one, other in combinations("wxyz", 2)}
    assert "classes" not in kinds(mixed_up(large | dict.fromkeys(("ww", "xx", "yy", "zz"), 20)))


def test_with_two_annotations_per_item_nobody_is_named_and_it_says_why() -> None:
    rows = [(item, (item + who) % 3, "xy"[(item + who) % 3 == 0]) for item in range(60) for who in range(2)]
    assert "third_annotation" in kinds(rows) and "annotators" not in kinds(rows)
    assert "nobody is named here" in " ".join(step.words for step in steps(actions(rows)))


def test_weak_agreement_asks_for_a_better_guideline_and_not_for_more_annotations() -> None:
    weak = mixed_up({"xx": 180, "yy": 180, "xy": 240})
    assert kinds(weak)[0] == "guideline" and "precision" not in kinds(weak)
    assert "they do not raise it" in steps(actions(weak))[0].gain
    few = mixed_up({"xx": 9, "yy": 9, "xy": 12})  # too few to know that it is weak
    assert "guideline" not in kinds(few) and kinds(few)[0] == "precision"
    assert "guideline" not in kinds(mixed_up({"xx": 270, "yy": 270, "xy": 60}))


def test_two_annotators_alone_are_not_asked_for_a_third_annotation() -> None:
    assert "third_annotation" not in kinds(mixed_up({"xx": 40, "yy": 40, "xy": 20}))


def test_only_what_settles_disagreement_has_a_gain() -> None:
    rows = [(item, (item + who) % 3, "xy"[(item + who) % 3 == 0]) for item in range(60) for who in range(2)]
    gains = {action.kind: action.gain for action in actions(rows)}
    assert gains["third_annotation"] == 0.0 and gains["items"] > 0


def test_who_to_talk_to_agrees_clearly_less() -> None:
    drawn = spagree.simulate(items=900, annotators=9, quality=(0.2, 1.0), per_item=4, seed=5)
    found = spagree.measure(drawn.frame)
    talk = next(action for action in actions(drawn.frame) if action.kind == "annotators")
    without = dict(found.annotators().select("annotator", "spa_without").rows())
    assert set(talk.names) <= {"a01", "a02", "a03"} and "a01" in talk.names
    first = talk.names[0]
    assert talk.figures["spa_without"] == without[first] > talk.figures["spa"] == found.spa.value
    alone = spagree.measure(drawn.frame, exclude_annotator=first).spa.value
    assert talk.figures["spa_without"] == pytest.approx(alone)
    words = steps([talk])[0]
    assert words.gain == f"Without the first {found.spa.value:.3f} → {alone:.3f}." and words.names == talk.names


def test_annotators_alike_are_left_in_peace() -> None:
    """One interval each would name somebody on every third page."""
    pages = [spagree.simulate(items=300, annotators=25, per_item=(2, 5), seed=seed).frame for seed in range(20)]
    assert sum("annotators" in kinds(page) for page in pages) <= 1


def test_a_broken_assumption_comes_first() -> None:
    drawn = spagree.simulate(items=600, per_item=5, adaptive=True, seed=1)
    first = actions(drawn.frame)[0]
    assert first.kind == "early_annotations" and "first=2" in steps([first])[0].words


def test_full_agreement_leaves_little_to_do() -> None:
    assert kinds([(item, who, "xy"[item % 2]) for item in range(20) for who in "ab"]) in ([], ["precision"])


def test_teams_and_single_annotations_come_before_everything() -> None:
    teams = pairs_of(40, people="abc") + [(f"t{item}", who, label) for item, who, label in pairs_of(40, people="uvw")]
    assert kinds(teams)[0] == "shared_items"
    assert kinds([("q1", "a", "x"), ("q2", "b", "y")]) == ["second_annotation"]
    assert [bool(step.gain and step.title) for step in steps(actions(teams))] == [True] * len(actions(teams))


def test_half_the_interval_takes_what_the_plan_says() -> None:
    found = spagree.measure("example:sparse")
    more = next(action for action in actions("example:sparse") if action.kind == "precision").figures
    spa = found.spa
    assert spa.low is not None and spa.high is not None
    assert more["half_width_then"] == pytest.approx((spa.high - spa.low) / 4, rel=0.25)
    best = found.plan().filter(
        "best", half_width=more["half_width_then"]
    )  # a round one, so the page's chart has it too
    row = next(row for row in best.rows(named=True) if row["route"] == "new_items")
    assert more["annotations"] == row["more_annotations"] and more["items"] == row["items"]


# Cells ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("column", "row", "shown", "value"),
    [
        (Column("x", "x"), {"x": 0.12345}, "0.123", 0.12345),
        (Column("x", "x"), {"x": None}, "–", None),
        (Column("agreement", "x"), {"agreement": 0.5, "few": True}, "0.500*", 0.5),
        (Column("x", "x"), {"x": 0.5, "few": True}, "0.500", 0.5),
        (Column("x", "x", "count"), {"x": 12345}, "12,345", 12345),
        (Column("x", "x", "percent"), {"x": 0.256}, "26%", 0.256),
        (Column("x", "x", "change"), {"x": -0.02}, "−0.020", -0.02),
        (Column("x", "x", "interval"), {"low": 0.1, "high": 0.2}, "0.100 to 0.200", 0.1),
        (Column("x", "x", "interval"), {"low": None, "high": None}, "–", None),
        (Column("x", "x", "name"), {"x": "a\u202eb"}, "a\\u202eb", "a\\u202eb"),
        (Column("x", "x", "name"), {"x": ""}, "''", ""),
        (Column("x", "x", "words"), {"x": "long" * 100}, "long" * 59 + "lon…", "long" * 59 + "lon…"),
    ],
)
def test_a_value_in_words(column: Column, row: dict[str, Any], shown: str, value: Any) -> None:
    assert cell(row, column) == Cell(shown, value, column.is_number, row.get("high"), column.kind == "name")


def test_a_star_is_explained_where_there_is_one() -> None:
    columns = [Column("agreement", "agreement")]
    assert table("t", "T", [{"agreement": 0.5, "few": True}], columns).note == "* rests on fewer than 10 items."
    assert table("t", "T", [{"agreement": 0.5, "few": False}], columns, note="Cut.").note == "Cut."


def test_a_source_is_called_by_its_last_name() -> None:
    assert (
        source_name(Understood("/data/a.csv and others, 3 files in all", "long")) == "a.csv and others, 3 files in all"
    )
    assert source_name(Understood("polars frame", "long")) == "annotations in a polars frame"
    assert source_name(None) == "a saved tally"


def test_schemes_apart_on_few_items_could_be_chance() -> None:
    found = judged(spagree.simulate(items=12, annotators=4, classes=3, per_item=(2, 3), seed=3).frame)["Weights"]
    assert found.state == "ok" and found.words.endswith("0.65 to 0.75. The differences could be chance.")


@pytest.mark.parametrize(
    ("labels", "metric", "words"),
    [
        ("123", "ordinal", "labels that are close count as partly agreeing (metric: ordinal)."),
        (("a|b", "b", "a|c"), "jaccard", "labels that share some options count as partly agreeing (metric: jaccard)."),
        ("xyz", lambda one, other: 1.0 if one == other else 0.5, "labels that differ may count as partly agreeing"),
        ("xyz", "nominal", "% of the time."),
    ],
)
def test_a_metric_says_that_labels_may_agree_in_part(labels: Any, metric: Any, words: str) -> None:
    rows = [(item, who, labels[(item + (who == item % 3)) % 3]) for item in range(30) for who in range(3)]
    found = spagree.measure(rows, metric=metric)
    said = {in_words(found.findings), " ".join(str(found).split()), found._repr_html_()}
    assert all(words in each for each in said)
