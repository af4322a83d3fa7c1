"""Agreement on marks, against sets of characters and of keys, counted one by one in exact rationals."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from itertools import combinations, permutations, product
from pathlib import Path
from typing import Any

import numpy as np
import polars
import pytest
from hypothesis import given
from hypothesis import strategies as st

import spagree
from spagree.counts.mark_tally import LEVELS, OUTCOMES
from spagree.counts.marks import CodedMarks
from spagree.errors import DataError, UsageError
from spagree.estimate.jackknife import variance
from spagree.estimate.marks import (
    ALL_ALIKE,
    NO_LENGTHS,
    NOT_SEEN_TWICE,
    NOTHING_MARKED,
    ONE_MARKED,
    TOO_MANY,
    MarkFindings,
    Ratio,
    find_marks,
    mark_annotators,
    mark_classes,
    mark_confusion,
    mark_items,
    mark_pairs,
    mark_people,
    model_among_marks,
)
from spagree.estimate.models import UNSEEN
from spagree.estimate.uncertainty import ANNOTATORS, ITEMS
from spagree.read.sources import read_marks

Span = tuple[int, int, str]
Texts = dict[str, dict[str, list[Span]]]
"""Item → annotator → marks; an empty list for somebody who marked nothing."""
K: dict[str, Callable[[int], int]] = {
    "flat": lambda _: 1,
    "annotations": lambda n: n,
    "annotations_m1": lambda n: n - 1,
    "edge": lambda n: n * (n - 1) // 2,
}
LENGTH = 30
EXAMPLE: dict[str, list[Span]] = {
    "ann": [(0, 4, "P"), (10, 15, "L"), (20, 22, "P")],
    "bob": [(0, 4, "P"), (10, 14, "L")],
}


def coded(texts: Texts) -> CodedMarks:
    rows = [(item, who, *mark) for item, people in texts.items() for who, marks in people.items() for mark in marks]
    seen = [(item, who, LENGTH) for item, people in texts.items() for who in people]
    return CodedMarks.of(read_marks(rows, seen))


def found_in(texts: Texts, **options: Any) -> MarkFindings:
    return find_marks(coded(texts), **options)


def keys(marks: Iterable[Span], level: str) -> set[Any]:
    """What one annotator marked, as a set: whole spans or their characters, with labels or without."""
    characters, any_label = LEVELS[level]
    pieces = [(place, label) for start, end, label in marks for place in range(start, end)] if characters else marks
    return {each[:-1] if any_label else tuple(each) for each in pieces}


def theta(texts: Texts, level: str, k: Callable[[int], Any]) -> Fraction | None:
    """Σ k P over Σ k M, with what any two annotators share."""
    above = below = Fraction()
    for people in texts.values():
        n = len(people)
        if n < 2:
            continue
        sets = [keys(marks, level) for marks in people.values()]
        above += k(n) * Fraction(sum(len(a & b) for a, b in permutations(sets, 2)), n * (n - 1))
        below += k(n) * Fraction(sum(map(len, sets)), n)
    return above / below if below else None


def outcome(mark: Span, theirs: list[Span]) -> str:
    start, end, label = mark
    if mark in theirs:
        return "same"
    overlapping = [each for each in theirs if each[0] < end and start < each[1]]
    if any(each[:2] == (start, end) for each in overlapping):
        return "other_label"
    if any(each[2] == label for each in overlapping):
        return "other_boundaries"
    return "both" if overlapping else "nothing"


spans = st.tuples(st.integers(0, 8), st.integers(1, 4), st.sampled_from("PL")).map(lambda s: (s[0], s[0] + s[1], s[2]))
texts_of_people: st.SearchStrategy[Texts] = st.dictionaries(
    st.sampled_from("qrstu"),
    st.dictionaries(st.sampled_from("abcde"), st.lists(spans, max_size=4, unique=True), min_size=1),
    min_size=1,
)


@pytest.mark.parametrize(
    ("more", "exact", "characters"),
    [
        ({}, Fraction(2, 5), Fraction(16, 19)),
        ({"r": {"ann": [], "bob": []}}, Fraction(2, 5), Fraction(16, 19)),
        ({"r": {"ann": [(3, 5, "P")], "bob": []}}, Fraction(1, 3), Fraction(16, 21)),
    ],
    ids=["two people", "a text that nobody marked", "a text that one of them marked"],
)
def test_the_worked_example_is_exact(more: Texts, exact: Fraction, characters: Fraction) -> None:
    found = found_in({"q": EXAMPLE, **more})
    assert (found.exact.value, found.characters.value) == (float(exact), float(characters))


@given(texts_of_people, st.sampled_from(sorted(K)))
def test_every_level_is_what_any_two_share_of_what_they_marked(texts: Texts, scheme: str) -> None:
    found = found_in(texts, weights=scheme)
    for level in LEVELS:
        expected = theta(texts, level, K[scheme])
        value = getattr(found, level).value
        assert value == (None if expected is None else float(expected))


@given(texts_of_people)
def test_every_mark_meets_one_of_five_things_at_each_of_the_others(texts: Texts) -> None:
    found = found_in(texts, weights="flat")
    below = sum((Fraction(sum(map(len, p.values())), len(p)) for p in texts.values() if len(p) > 1), Fraction())
    for name in OUTCOMES if below else ():
        above = sum(
            Fraction(sum(outcome(mark, p[b]) == name for mark in p[a]), len(p) * (len(p) - 1))
            for p in texts.values()
            for a, b in permutations(p, 2)
        )
        assert found.outcomes[name].value == float(above / below)
    if below:
        assert sum(float(each) for each in found.outcomes.values()) == pytest.approx(1)
        assert found.outcomes["same"].value == found.exact.value


@pytest.mark.parametrize("level", LEVELS)
def test_any_of_the_annotators_tell_on_average_what_all_of_them_do(level: str) -> None:
    """E num/E den over all ways to keep two or three of four annotators of each item; not the mean of the ratios."""
    random = np.random.default_rng(4)
    texts = {item: {who: list(some_marks(random)) for who in "abcd"} for item in "qr"}
    whole = theta(texts, level, lambda _: 1)
    for k in K.values():
        above = below = Fraction()
        for sizes in product((2, 3), repeat=2):
            for kept in product(*(combinations("abcd", size) for size in sizes)):
                for (_, people), some in zip(texts.items(), kept, strict=True):
                    sets = [keys(people[who], level) for who in some]
                    n, ways = len(sets), len(list(combinations("abcd", len(sets))))
                    above += Fraction(k(n) * sum(len(a & b) for a, b in permutations(sets, 2)), n * (n - 1) * ways)
                    below += Fraction(k(n) * sum(map(len, sets)), n * ways)
        assert above / below == pytest.approx(float(whole or 0), rel=0.35)  # weights mix the items differently
    for size in (2, 3):  # with equal n, exactly
        kept_sets = [list(combinations("abcd", size)) for _ in texts]
        above = below = Fraction()
        for people, ways in zip(texts.values(), kept_sets, strict=True):
            for some in ways:
                sets = [keys(people[who], level) for who in some]
                above += Fraction(sum(len(a & b) for a, b in permutations(sets, 2)), size * (size - 1) * len(ways))
                below += Fraction(sum(map(len, sets)), size * len(ways))
        assert above / below == whole


def some_marks(random: np.random.Generator, most: int = 4) -> Iterator[Span]:
    for _ in range(random.integers(0, most + 1)):
        start = int(random.integers(0, 12))
        yield start, start + int(random.integers(1, 5)), str(random.choice(["P", "L"]))


@pytest.mark.parametrize(
    ("scheme", "expected"), [("flat", (4, 9)), ("annotations", (3, 7)), ("annotations_m1", (5, 12)), ("edge", (2, 5))]
)
def test_marks_on_whole_items_are_labels(scheme: str, expected: tuple[int, int]) -> None:
    """The paper's four items aab-, aa, b-a and -b-, each annotation one mark from the start to the end."""
    labels = {"q1": "aab", "q2": "aa", "q3": "ba", "q4": "b"}
    texts: Texts = {
        item: {f"p{who}": [(0, LENGTH, label)] for who, label in enumerate(said)} for item, said in labels.items()
    }
    found = found_in(texts, weights=scheme)
    assert found.exact.value == found.characters.value == float(Fraction(*expected))


def project(seed: int, items: int = 12, people: int = 6) -> Texts:
    random = np.random.default_rng(seed)
    return {
        f"q{item:02}": {
            f"p{who}": list(some_marks(random))
            for who in random.choice(people, random.integers(2, 5), replace=False).tolist()
        }
        for item in range(items)
    }


@pytest.mark.parametrize("steep", [0, 20])
@pytest.mark.parametrize("level", ["exact", "characters"])
def test_the_variances_are_those_of_leaving_out_one_by_one(level: str, steep: int) -> None:
    """Also with weights of 10^(20n), where the whole minus what leaves would be rounding only."""
    texts = project(1)
    by_n = {n: Fraction(10) ** (steep * n) if steep else Fraction(n - 1) for n in range(2, 6)}
    marks = coded(texts)
    pieces = marks.pieces(characters=LEVELS[level][0])
    ratio = Ratio.of(marks, marks.shared(pieces), by_n, mark_people(marks))
    names = sorted({who for people in texts.values() for who in people})
    left: dict[Any, list[Texts]] = {
        "items": [{item: people for item, people in texts.items() if item != out} for out in texts],
        "people": [
            {item: {who: m for who, m in people.items() if who != out} for item, people in texts.items()}
            for out in names
        ],
        "annotations": [
            {item: {w: m for w, m in people.items() if (item, w) != (out, who)} for item, people in texts.items()}
            for out in sorted(texts)
            for who in sorted(texts[out])
        ],
    }
    for kind, ways in left.items():
        expected = [float(theta(each, level, by_n.__getitem__) or 0) for each in ways]
        without, times = ratio.without(kind)
        assert without == pytest.approx(expected, rel=1e-9, abs=1e-12)
        spread = np.array(expected)
        by_hand = (len(ways) - 1) / len(ways) * ((spread - spread.mean()) ** 2).sum()
        assert variance(without, times) == pytest.approx(by_hand, rel=1e-6)


def test_outcomes_are_left_out_in_both_directions() -> None:
    """Without somebody their marks are gone, and so is what the marks of others met there."""
    texts = project(3)
    marks, by_n = coded(texts), {n: Fraction(n - 1) for n in range(2, 6)}
    for name, shared in marks.outcomes().items():
        without, _ = Ratio.of(marks, shared, by_n, mark_people(marks)).without("people")
        names = sorted({who for people in texts.values() for who in people})
        for out, value in zip(names, without.tolist(), strict=True):
            rest = {item: {w: m for w, m in people.items() if w != out} for item, people in texts.items()}
            assert value == pytest.approx(found_in(rest).outcomes[name].value)


def test_clusters_widen_the_interval_where_their_items_are_alike() -> None:
    texts = {f"{copy}{item}": people for item, people in project(5).items() for copy in "abcd"}
    rows = [(item, who, *mark) for item, people in texts.items() for who, marks in people.items() for mark in marks]
    seen = [(item, who, LENGTH, item[1:]) for item, people in texts.items() for who in people]
    table = polars.DataFrame(seen, schema=["item", "annotator", "length", "document"], orient="row")
    with_clusters = find_marks(CodedMarks.of(read_marks(rows, table, cluster="document")))
    clustered = with_clusters.exact.intervals[ITEMS]
    plain = find_marks(CodedMarks.of(read_marks(rows, table))).exact.intervals[ITEMS]
    alone = found_in(project(5))
    assert clustered.stderr == pytest.approx(alone.exact.intervals[ITEMS].stderr)
    assert with_clusters.missingness.z == pytest.approx(alone.missingness.z)
    assert clustered.stderr is not None and plain.stderr is not None
    assert clustered.stderr > 1.9 * plain.stderr  # four copies tell no more than one


def test_the_interval_for_other_annotators_takes_four_of_them() -> None:
    three, six = (found_in(project(2, people=people, items=30)).exact.intervals[ANNOTATORS] for people in (4, 6))
    assert six.low is not None and three.low is not None
    two = found_in({"q": EXAMPLE, "r": EXAMPLE}).exact
    assert two.intervals[ANNOTATORS].undefined == "two annotators cannot show how annotators differ; that takes four"
    assert two.low == two.intervals[ITEMS].low is not None


@pytest.mark.parametrize(
    ("texts", "reason"),
    [
        ({"q": {"ann": [(0, 4, "P")]}, "r": {"bob": []}}, NOT_SEEN_TWICE),
        ({"q": {"ann": [], "bob": []}}, NOTHING_MARKED),
    ],
)
def test_without_pairs_or_marks_agreement_is_undefined(texts: Texts, reason: str) -> None:
    found = found_in(texts)
    every = [getattr(found, level) for level in (*LEVELS, "characters_beyond_chance")] + [*found.outcomes.values()]
    assert {each.undefined for each in every} == {reason} and all(each.value is None for each in every)


def test_marks_on_one_item_only_have_a_value_and_no_interval() -> None:
    found = found_in({"q": EXAMPLE, "r": {"ann": [], "bob": []}})
    assert found.exact.value == 0.4 and found.exact.low is None and found.exact.undefined == ONE_MARKED


def test_characters_beyond_chance_set_what_two_share_against_blind_marks() -> None:
    """One text of 30 characters: P 6 and 4, L 5 and 4; by chance 2(6·4 + 5·4)/30 of 19 are shared."""
    found = found_in({"q": EXAMPLE})
    expected = Fraction(2 * (6 * 4 + 5 * 4), 30) / 19
    assert found.characters_beyond_chance.value == pytest.approx(float((Fraction(16, 19) - expected) / (1 - expected)))
    unknown = find_marks(CodedMarks.of(read_marks([("q", who, *mark) for who in EXAMPLE for mark in EXAMPLE[who]])))
    assert unknown.characters_beyond_chance.undefined == NO_LENGTHS


def test_full_agreement_has_an_interval_and_beyond_chance_a_reason() -> None:
    found = found_in({f"q{item}": {who: [(0, 4, "P")] for who in "abcde"} for item in range(12)})
    assert found.exact.value == found.exact.high == 1 and found.exact.low is not None
    assert found.characters_beyond_chance.value == 1 and found.characters_beyond_chance.undefined == ALL_ALIKE


def test_people_who_mark_blindly_do_not_agree_beyond_chance() -> None:
    random = np.random.default_rng(7)
    texts: Texts = {
        f"q{item}": {who: [(s, s + 5, "P") for s in random.integers(0, LENGTH - 4, 1).tolist()] for who in "abcde"}
        for item in range(300)
    }
    beyond = found_in(texts).characters_beyond_chance
    assert beyond.low is not None and beyond.high is not None and beyond.low < 0.02 and beyond.high > -0.02


def test_a_design_that_asks_more_people_where_the_first_agree_is_told() -> None:
    random = np.random.default_rng(1)
    texts: Texts = {}
    for item in range(200):
        same = random.random() < 0.5
        own = [[(0, 4, "P")] if same else [(int(at), int(at) + 3, "P")] for at in random.integers(0, 20, 4)]
        texts[f"q{item}"] = {f"p{who}": own[who] for who in range(4 if same else 2)}
    found = found_in(texts)
    assert found.missingness.broken and [warning.code for warning in found.warnings] == ["not_random"]
    even = {item: dict([*people.items()][:2]) for item, people in texts.items()}
    assert found_in(even).missingness.p is None and not found_in(even).warnings


def test_too_many_meetings_leave_the_number_and_both_intervals(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = found_in(project(1))
    for room in ("counts", "estimate"):
        monkeypatch.setattr(f"spagree.{room}.marks.MOST_SUMMED", 3)
    found = found_in(project(1))
    assert found.exact.value == whole.exact.value and found.exact.intervals[ITEMS] == whole.exact.intervals[ITEMS]
    assert found.exact.intervals[ANNOTATORS].low is not None
    assert {each.undefined for name, each in found.outcomes.items() if name != "same"} == {TOO_MANY}
    with pytest.raises(DataError, match="too often"):
        mark_pairs(coded(project(1)), 0.95)


def test_weights_that_need_classes_are_refused() -> None:
    with pytest.raises(UsageError, match="its weights depend on how labels are shared"):
        found_in({"q": EXAMPLE}, weights="inv_var_class")
    own = found_in(project(1), weights={2: 1, 3: 5, 4: 2})
    assert own.exact.value == float(theta(project(1), "exact", {2: 1, 3: 5, 4: 2}.__getitem__) or 0)


def test_a_class_is_measured_on_its_own_marks() -> None:
    texts = project(8, items=30)
    marks = coded(texts)
    found = mark_classes(marks, "flat", 0.95, "auto")
    for label, value in found.select("class", "agreement").rows():
        own = {i: {w: [m for m in ms if m[2] == label] for w, ms in people.items()} for i, people in texts.items()}
        assert value == pytest.approx(float(theta(own, "exact", K["flat"]) or 0))
    assert dict(found.select("class", "marks").rows()) == {
        label: sum(len({m for m in ms if m[2] == label}) for p in texts.values() for ms in p.values()) for label in "PL"
    }


def test_a_class_says_what_else_its_marks_meet_and_which_labels_are_exchanged() -> None:
    """Of what marks with a label meet at each other annotator, weighted by n − 1, by hand."""
    texts = project(8, items=30)
    marks = coded(texts)
    found = mark_classes(marks, "annotations_m1", 0.95, "auto")
    met: dict[str, dict[str, Fraction]] = {label: dict.fromkeys(OUTCOMES, Fraction()) for label in "PL"}
    for people in texts.values():
        for one, other in permutations(people, 2):
            for mark in {*people[one]}:
                kinds = [
                    2 * (mark[:2] != each[:2]) + (mark[2] != each[2]) for each in people[other] if overlap(mark, each)
                ]
                met[mark[2]][OUTCOMES[min(kinds, default=4)]] += Fraction(1, len(people))
    for label, *shares in found.select("class", "agreement", *OUTCOMES[1:-1], "missed").rows():
        whole = sum(met[label].values())
        assert shares == pytest.approx([float(met[label][name] / whole) for name in OUTCOMES])
    three: Texts = {"q": {"ann": [(0, 4, "P")], "bob": [(0, 4, "L")], "cyd": [(0, 3, "T"), (9, 12, "T")]}, "r": {}}
    three["r"] = {"ann": [(0, 4, "P"), (1, 2, "T")], "bob": [(0, 5, "L")]}  # T is within L, and P is like L
    shares = mark_confusion(coded(three), "annotations_m1").select("class", "other", "share").rows()
    # in q each pair is 2 of 6 ordered ones at weight 1; in r 2 and 1 of 2 at a half
    expected = {("L", "P"): 10 / 21, ("L", "T"): 7 / 21, ("P", "T"): 4 / 21}
    assert {row[:2]: row[2] for row in shares} == pytest.approx(expected)


def overlap(one: Span, other: Span) -> bool:
    return min(one[1], other[1]) > max(one[0], other[0])


def test_an_annotator_is_confirmed_by_others_and_finds_their_marks() -> None:
    texts = {"q": EXAMPLE, "r": {"ann": [(1, 3, "P")], "bob": [(1, 3, "P"), (5, 6, "L")], "cyd": []}}
    rows = {row["annotator"]: row for row in mark_annotators(coded(texts), 0.95).rows(named=True)}
    assert rows["ann"]["confirmed"] == (1 + 1 / 2) / 4 and rows["ann"]["found"] == (1 + 1 / 2) / (2 + 2 / 2)
    assert rows["cyd"]["confirmed"] is None and rows["cyd"]["found"] == 0
    assert rows["ann"]["confirmed_low"] < rows["ann"]["confirmed"] < rows["ann"]["confirmed_high"]


def test_a_pair_has_the_f1_of_all_marks_on_the_items_both_saw() -> None:
    texts = project(4, items=20)
    for ann, bob, items, marks, value in (
        mark_pairs(coded(texts), 0.95).select("annotator", "other", "shared", "marks", "agreement").rows()
    ):
        both = [({*people[ann]}, {*people[bob]}) for people in texts.values() if {ann, bob} <= {*people}]
        made = sum(len(a) + len(b) for a, b in both)
        assert (items, marks) == (len(both), made)
        assert value == (pytest.approx(2 * sum(len(a & b) for a, b in both) / made) if made else None)


def test_items_stand_in_the_order_of_what_is_lost_on_them() -> None:
    texts = {"q": EXAMPLE, "r": {"ann": [(1, 3, "P")], "bob": [(1, 3, "P")]}, "s": {"ann": [], "bob": []}}
    assert mark_items(coded(texts)).rows() == [("q", 2, 5, 0.4), ("r", 2, 2, 1.0), ("s", 2, 0, None)]


@pytest.mark.parametrize("level", ["exact", "characters"])
def test_a_model_among_people_by_hand_and_without_each_of_them(level: str) -> None:
    """The F1 with one of the people less that among people, on items with the model and two people."""
    texts = project(6, items=14)
    for place, people in enumerate(texts.values()):
        if place % 7:
            people["bot"] = list(some_marks(np.random.default_rng(place)))

    def gap(texts: Texts) -> Fraction:
        above = below = Fraction()
        kept = {
            i: {who: m for who, m in people.items() if who != "bot"} for i, people in texts.items() if "bot" in people
        }
        for item, people in kept.items():
            if len(people) > 1:
                bot, sets = keys(texts[item]["bot"], level), [keys(marks, level) for marks in people.values()]
                k, n = len(people) - 1, len(people)
                above += Fraction(k * sum(len(bot & each) for each in sets), n)
                below += k * (len(bot) + Fraction(sum(map(len, sets)), n)) / 2
        return above / below - (theta(kept, level, K["annotations_m1"]) or 0)

    marks = coded(texts)
    found = model_among_marks("bot", marks, {"bot"}, "annotations_m1", characters=level == "characters")
    assert found.difference.value == pytest.approx(float(gap(texts)))
    used = [i for i, people in texts.items() if "bot" in people and len(people) > 2]
    assert found.items == len(used) and found.left_out == {"no_model_label": 2}
    without = np.array([float(gap({i: p for i, p in texts.items() if i != out})) for out in used])
    by_hand = (len(used) - 1) / len(used) * ((without - without.mean()) ** 2).sum()
    stderr = found.difference.intervals[ITEMS].stderr
    people = [[m for who, m in texts[i].items() if who != "bot"] for i in used]
    mass = np.array([sum(len(keys(m, level)) for m in marks) * (len(marks) - 1) / len(marks) for marks in people])
    unseen = UNSEEN * (mass**2).sum() ** 2 / mass.sum() ** 4  # over the square of as many items with equal marks
    assert stderr is not None and stderr**2 == pytest.approx(by_hand + unseen)


def whole_items(seed: int = 1) -> polars.DataFrame:
    """Labels as marks of whole items, with the language of the item, the team of the annotator and a time."""
    random = np.random.default_rng(seed)
    rows = [
        (f"q{item}", f"p{who}", "PL"[int(random.random() < 0.3 + 0.4 * (item % 2))], "a" if who < 3 else "b", item % 3)
        for item in range(40)
        for who in random.choice(6, random.integers(2, 5), replace=False).tolist()
    ]
    table = polars.DataFrame(rows, schema=["item", "annotator", "label", "team", "language"], orient="row")
    return table.with_columns(start=0, end=9, time=polars.int_range(polars.len()).shuffle(seed))


@pytest.mark.parametrize("by", ["team", "language"])
def test_groups_of_whole_items_are_those_of_labels(by: str) -> None:
    table = whole_items()
    labels = spagree.measure(table.drop("start", "end", "time"), by=by).groups
    marks = spagree.measure_spans(table.drop("time"), by=by).groups
    assert labels is not None and marks is not None and marks.of == labels.of
    for name, part in labels.findings.items():
        assert marks.findings[name].exact.value == part.spa.value
    for mine, theirs in zip(marks.differences, labels.differences, strict=True):
        assert mine.difference.value == pytest.approx(theirs.difference.value)
        assert (mine.shared_items, mine.difference.interval_for) == (
            theirs.shared_items,
            theirs.difference.interval_for,
        )
    for mine, theirs in zip(marks.between, labels.between, strict=True):
        assert (mine.agreement.value, mine.items) == (pytest.approx(theirs.agreement.value), theirs.items)
        assert mine.agreement.stderr == pytest.approx(theirs.agreement.stderr, rel=0.05)  # jackknife, linearised


def test_two_people_are_two_groups_between_which_f1_holds() -> None:
    texts = project(4, items=20)
    rows = [
        (item, who, *mark, who) for item, people in texts.items() for who, marks in people.items() for mark in marks
    ]
    table = polars.DataFrame(rows, schema=["item", "annotator", "start", "end", "label", "who"], orient="row")
    groups = spagree.measure_spans(table, by="who").groups
    assert groups is not None
    pairs = mark_pairs(CodedMarks.of(read_marks(table)), 0.95).select("annotator", "other", "agreement").rows()
    assert {(b.a, b.b): b.agreement.value for b in groups.between} == {
        (one, other): pytest.approx(value) for one, other, value in pairs
    }


def test_the_development_of_whole_items_is_that_of_labels() -> None:
    table = whole_items()
    labels = spagree.measure(table.drop("start", "end"), time="time").development(7)
    marks = spagree.measure_spans(table, time="time").development(7)
    for column in ("time", "since", "annotations", "items", "recent_items"):
        assert marks[column].to_list() == labels[column].to_list()
    for column in ("spa", "recent"):
        assert marks[column].to_list() == pytest.approx(labels[column].to_list())
    last, whole = marks.row(-1, named=True), spagree.measure_spans(table).exact
    ends = whole.intervals[ITEMS]
    assert (last["spa"], last["low"], last["high"]) == (whole.value, ends.low, ends.high)
    four = table.filter(polars.len().over("item") == 4)
    early = spagree.measure_spans(four, time="time", weights={4: 1, 3: 1}).development(7).row(1, named=True)
    assert early["spa"] is None and "with 2" in early["undefined"]


def test_teams_that_never_met_are_told() -> None:
    texts = {f"{team}{item}": {f"{team}{who}": [(0, 4, "P")] for who in "123"} for team in "ab" for item in range(9)}
    found = spagree.measure_spans([(i, w, *mark) for i, people in texts.items() for w in people for mark in people[w]])
    assert [len(team.annotators) for team in found.overlap().teams] == [3, 3]
    assert "disconnected_teams" in [warning.code for warning in found.warnings]


def test_two_annotators_agree_as_other_packages_say() -> None:
    """nervaluate's strict F1 over all texts, potato's of each; made by tests/references/make_span_references.py."""
    found = json.loads((Path(__file__).parents[1] / "references" / "span_references.json").read_text("utf-8"))
    texts = {f"q{place:02}": people for place, people in enumerate(found["texts"])}
    shown = mark_pairs(coded(texts), 0.95).select("annotator", "other", "agreement").rows()
    assert sorted(shown) == [(one, other, pytest.approx(f1)) for one, other, f1 in found["nervaluate_strict_f1"]]
    of_two = {item: {who: people[who] for who in ("ann", "bob")} for item, people in texts.items()}
    assert found_in(of_two).exact.value == pytest.approx(found["nervaluate_strict_f1"][0][2])
    each = dict(mark_items(coded(of_two)).select("item", "agreement").rows())
    for item, f1 in zip(texts, found["potato_f1_of_ann_and_bob"], strict=True):
        assert each[item] == (pytest.approx(f1) if any(of_two[item].values()) else None)


def test_what_marks_of_a_model_meet_is_counted_from_both_sides() -> None:
    texts = project(6, items=14)
    for place, people in enumerate(texts.values()):
        people["bot"] = list(some_marks(np.random.default_rng(place)))
    found = model_among_marks("bot", coded(texts), {"bot"}, "annotations_m1", characters=False)
    shares = {each.label: each for each in found.marks}
    assert shares["same"].difference == found.difference
    assert sum(each.with_humans.value or 0 for each in found.marks) == pytest.approx(1)
    kept = {i: {who: m for who, m in people.items() if who != "bot"} for i, people in texts.items()}
    among = found_in(kept).outcomes
    assert {name: each.humans.value for name, each in shares.items()} == pytest.approx(
        {name: each.value for name, each in among.items()}
    )
    alone = whole = Fraction()  # marks that overlap nothing on the other side, and all
    for people in (people for people in texts.values() if len(people) > 2):
        bot, n = {*people["bot"]}, len(people) - 1
        for who in (who for who in people if who != "bot"):
            for mine, theirs in ((bot, {*people[who]}), ({*people[who]}, bot)):
                k = Fraction(n - 1, n)
                alone += k * sum(not any(overlap(mark, each) for each in theirs) for mark in mine)
                whole += k * len(mine)
    assert shares["nothing"].with_humans.value == pytest.approx(float(alone / whole))


FOLDER = Path(__file__).parents[3] / "shared" / "data" / "spans"


@pytest.mark.skipif(not FOLDER.is_dir(), reason="real data is not beside this checkout")
@pytest.mark.parametrize(
    ("name", "people", "levels", "outcomes", "errors", "beyond"),
    [
        (
            "toxic", "", (0.2465, 0.1703, 0.3019, 0.2483), (0.247, 0.055, 0.106, 0.071, 0.521), (0.0026, 0.0056), 0.132
        ),
        (
            "mqm2023_ende", "", (0.2861, 0.2124, 0.3284, 0.3268), (0.286, 0.042, 0.069, 0.056, 0.546),
            (0.0076, 0.0936), 0.164,
        ),
        (
            "d2t_iaa", "person", (0.1047, 0.4449, 0.1307, 0.5896), (0.105, 0.026, 0.417, 0.145, 0.308),
            (0.0193, 0.0234), 0.290,
        ),
        ("d2t_test", "slot", (0.0633, 0.2238, 0.0907, 0.3734), (), (0.0076, None), 0.133),
    ],
)  # fmt: skip
def test_real_spans(
    name: str,
    people: str,
    levels: tuple[float, ...],
    outcomes: tuple[float, ...],
    errors: tuple[float | None, ...],
    beyond: float,
) -> None:
    """As computed from the definition by a separate program; without the item that 356 people saw."""
    marks, seen = (polars.read_csv(FOLDER / f"{name}_{of}.csv.gz", infer_schema_length=0) for of in ("spans", "seen"))
    crowded = seen.group_by("item").len().filter(polars.col("len") > 100)["item"].to_list()
    marks = marks.filter(polars.col("end").cast(polars.Int64) > polars.col("start").cast(polars.Int64))
    marks, seen = (
        each.filter(polars.col("annotator").str.starts_with(people), ~polars.col("item").is_in(crowded))
        for each in (marks, seen)
    )
    found = find_marks(CodedMarks.of(read_marks(marks, seen)))
    assert [getattr(found, level).value for level in LEVELS] == pytest.approx(levels, abs=5e-5)
    assert found.characters_beyond_chance.value == pytest.approx(beyond, abs=5e-4)
    if outcomes:
        assert [found.outcomes[each].value for each in OUTCOMES] == pytest.approx(outcomes, abs=1e-3)
    for population, error in zip((ITEMS, ANNOTATORS), errors, strict=True):
        assert found.exact.intervals[population].stderr == pytest.approx(error, abs=5e-5)
