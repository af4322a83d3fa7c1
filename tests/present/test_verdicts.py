"""Can I quote it: every check in every state, from data that deserve it, and one verdict from all of them."""

from __future__ import annotations

from typing import Any

import polars
import pytest

import planted
import spagree
from spagree.present.sentences import headline
from spagree.present.verdicts import Checked, tell

Rows = list[tuple[Any, ...]]


def judged(source: Any, **options: Any) -> dict[str, Checked]:
    return {check.title: check for check in tell(spagree.measure(source, **options).breakdowns()).checked}


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
    titles = {"Precision", "Coverage", "Assumption", "Weights", "Beyond chance", "Overlap", "Left out"}
    assert set(found) == titles | {"Annotators", "Labels"}
    assert {(verdict.state, verdict.icon, verdict.word) for verdict in found.values()} == {("fine", "✓", "fine")}


def drawn(**options: Any) -> Any:
    return spagree.simulate(**options).frame


THREE, APART = pairs_of(30), [(f"t{item}", who, label) for item, who, label in pairs_of(40, people="uvw")]
ALONE = "{} shares no item with anybody ({} of the annotations); the others are connected."
UNKNOWN = polars.DataFrame([*THREE, (0, None, "x")], schema=["item", "annotator", "label"], orient="row")
FEW = [(0, "a", "x"), (0, "b", "x"), (1, "a", "x"), (1, "b", "y"), (1, "c", "y")]
FEW += [(2, who, "y") for who in "abc"] + [(3, who, "x") for who in "abcd"]
SINGLES = [(f"single{number}", "a", "x") for number in range(70)]
ALIKE = [(item, who, "x" if item % 2 else "y") for item in range(40) for who in range(2 + item % 3)]
SWAPPED = [(item, who, "xy"[who]) for item in range(40) for who in range(2)]
GUESSED = [(item, who, "xy"[item // (1 + who) % 2]) for item in range(200) for who in range(2)]
ALONE_ON_ITEMS = [[*THREE, *SINGLES[:1]], [*THREE, *SINGLES[:2]]]
ADAPTIVE = drawn(items=600, per_item=5, adaptive=True, seed=1)
FEW_SCHEMES = drawn(items=12, annotators=4, classes=3, per_item=(2, 3), seed=3)
LONE_ITEM = [("q1", "a", "x"), ("q1", "b", "x")]
ONLY_X = [(item, who, "x") for item in range(6) for who in range(2 + item % 2)]
BRIDGED = [*THREE, *APART, ("bridge", "a", "x"), ("bridge", "u", "x")]
HARDLY_ALONE = [*pairs_of(300), ("own", "hermit", "x"), ("too", "nun", "x")]
NAMELESS = [*THREE, *((None, "a", "x") for _ in range(30))]
TWO_ALONE = ALONE.format("2 of 5 annotators", "0.3%").replace("shares", "share")
FOUND: dict[str, tuple[str, Any, str, str]] = {
    "known well": ("Precision", pairs_of(2000), "fine", "about ±0.0"),
    "known roughly": (
        "Precision",
        pairs_of(100),
        "look",
        "That is rough: more items would help. It rests on 100 items",
    ),
    "hardly known": ("Precision", pairs_of(20), "problem", "That is rough"),
    "no interval": ("Precision", LONE_ITEM, "problem", "There is no interval: only one item"),
    "four items and weights": ("Weights", FEW, "look", "4 items cannot show whether the choice matters"),
    "four items and chance": (
        "Beyond chance",
        FEW,
        "look",
        "There is not enough data to tell whether people agree more",
    ),
    "all items": (
        "Coverage",
        THREE,
        "fine",
        "30 of 30 items (100%) have two or more annotations; annotations per item: 2.",
    ),
    "few items": ("Coverage", [*THREE, *SINGLES], "look", "30 of 100 items (30%)"),
    "few items stand for themselves": ("Coverage", [*THREE, *SINGLES], "look", "describes only these"),
    "no item": ("Coverage", SINGLES, "problem", "nothing can be compared"),
    "cannot fail": ("Assumption", THREE, "fine", "Every item used has 2 annotations, so it cannot fail."),
    "broken": ("Assumption", ADAPTIVE, "problem", "people agree less on items with more annotations (p < 0.001)"),
    "weights matter": ("Weights", ADAPTIVE, "problem", "depends on the choice"),
    "in doubt": ("Assumption", drawn(items=60, per_item=(2, 4), seed=17), "look", "Doubtful: people agree "),
    "no test": ("Assumption", ONLY_X, "look", "agreement does not vary enough"),
    "alike however often": ("Assumption", ALIKE, "fine", "however often"),
    "alike on few items": ("Assumption", ALIKE[:12], "look", "does not vary enough"),
    "guessed": ("Beyond chance", GUESSED, "problem", "do not clearly agree more often"),
    "swapped": ("Beyond chance", SWAPPED, "problem", "People agree less often than labels picked blindly"),
    "never met": (
        "Overlap",
        [*THREE, *APART],
        "problem",
        "6 annotators form 2 teams that never annotated the same item",
    ),
    "hardly met": ("Overlap", BRIDGED, "look", "A team of 3 shares only 1 item with everybody else"),
    "alone": ("Overlap", [*THREE, ("own", "hermit", "x")], "look", ALONE.format("1 of 4 annotators", "2%")),
    "alone with next to nothing": ("Overlap", HARDLY_ALONE, "fine", TWO_ALONE),
    "connected": ("Overlap", THREE, "fine", "All 3 annotators are connected by items they share."),
    "one person": ("Overlap", [(1, "ann", "x")], "look", "There is only one annotator."),
    "strangers": ("Overlap", [(1, "ann", "x"), (2, "bob", "x")], "look", "No two annotators share an item."),
    "two": ("Overlap", pairs_of(30, people="ab"), "fine", "The two annotators share items."),
    "unknown": ("Overlap", UNKNOWN, "look", "The annotator of 1 annotation is unknown"),
    "repeated": ("Left out", [*THREE, THREE[0]], "fine", "1 annotation (2%) was not used."),
    "many left out": ("Left out", NAMELESS, "look", "30 annotations (33%)"),
    "nothing left out": ("Left out", THREE, "fine", "No annotation was dropped as missing or repeated."),
    "one alone on its item": (
        "Left out",
        ALONE_ON_ITEMS[0],
        "fine",
        "; 1 annotation is alone on its item and says nothing",
    ),
    "two alone": ("Left out", ALONE_ON_ITEMS[1], "fine", "; 2 annotations are alone on their items and say nothing"),
    "schemes apart by chance": ("Weights", FEW_SCHEMES, "fine", "0.65 to 0.75. The differences could be chance."),
}


@pytest.mark.parametrize("name", FOUND)
def test_a_check_has_the_state_and_the_words_of_what_it_found(name: str) -> None:
    title, source, state, says = FOUND[name]
    found = judged(source)[title]
    assert found.state == state and says in found.words


def test_agreement_below_chance_asks_for_swapped_labels_once() -> None:
    found = spagree.measure(SWAPPED)
    assert "swapped two labels" in judged(SWAPPED)["Beyond chance"].words and "agree less than that" not in str(found)
    assert found.verdict.sentence.endswith("people agree less than blind guessing would.")


def test_by_a_metric_agreement_is_no_frequency() -> None:
    rows = [(item, who, str(item % 5 + (item + who) % 3 % 2)) for item in range(60) for who in range(2)]
    found = judged(rows, metric="interval")["Beyond chance"]
    assert "agree clearly more than labels picked blindly would" in found.words and "often" not in found.words


def test_weights_that_give_the_same_say_it_once() -> None:
    found = judged(THREE)["Weights"].words
    assert found.startswith("All weighting schemes give 0.") and " to 0" not in found


def test_other_warnings_are_passed_on_once() -> None:
    rows = [(item, who, "Yes" if who == "a" else "yes") for item in range(12) for who in "ab"]
    found = judged(rows)
    assert found["Label variants"].state == "look"
    assert found["Label variants"].words.startswith("Labels that differ only in spelling")
    assert "agreement can only be 1. " in judged([(i, who, "x") for i in range(12) for who in "ab"])["One class"].words
    few = judged(pairs_of(5))
    assert not [title for title in few if "Few" in title]


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
    said = {headline(found.findings)[0], " ".join(str(found).split()), found._repr_html_()}
    assert all(words in each for each in said)


def sentence(source: Any, **options: Any) -> str:
    return spagree.measure(source, **options).verdict.sentence


def test_the_verdict_names_its_reasons_and_the_worst_state_decides() -> None:
    teams = pairs_of(400, people="abc") + [(f"t{item}", who, label) for item, who, label in pairs_of(400, people="uvw")]
    assert sentence(teams) == "Do not quote yet: 2 teams share no items."
    assert spagree.measure("example:sparse").verdict.state == "fine"
    assert sentence([("q1", "a", "x")]).startswith("No number: ")
    people = spagree.measure(planted.odd(3)).verdict
    assert people.state == "look" and people.sentence.startswith("Usable, but annotator p3 stands out")


@pytest.mark.parametrize(
    ("target", "says"),
    [(0.5, "Agreement reaches the target of 0.5."), (0.57, "It may or may not reach 0.57."),
     (0.9, "Agreement is below the target of 0.9."), (0.2, "Blind guessing would reach the target of 0.2.")],
)  # fmt: skip
def test_a_target_is_answered_with_the_verdict(target: float, says: str) -> None:
    found = tell(spagree.measure("example:sparse").breakdowns(), target=target).verdict
    assert found.state == "fine" and found.sentence.endswith(says)


def test_the_same_verdict_stands_everywhere() -> None:
    agreement = spagree.measure(planted.one_label(3))
    said = agreement.verdict.sentence
    assert agreement.to_dict()["verdict"] == {"state": "look", "sentence": said}
    assert said in " ".join(str(agreement).split()) and said in agreement._repr_html_()


def test_what_should_not_be_quoted_says_so_in_its_sentence_for_the_paper() -> None:
    teams = pairs_of(400, people="abc") + [(f"t{item}", who, label) for item, who, label in pairs_of(400, people="uvw")]
    assert tell(spagree.measure(teams).breakdowns()).for_paper.endswith(" Do not quote yet: 2 teams share no items.")
    assert tell(spagree.measure("example:sparse").breakdowns()).for_paper.endswith("by 25 annotators).")
