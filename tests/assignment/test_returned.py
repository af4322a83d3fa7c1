"""What came back of an assignment: counts, names, and whether what is missing looks random."""

from __future__ import annotations

import random

import numpy as np
import pytest
from scipy.stats import chi2_contingency

import spagree
from spagree.assignment import assign, check_returned
from spagree.assignment import returned as module
from spagree.present.document import returned_rows
from spagree.present.sentences import explain_returned

NAMES = ("ann", "bob", "cyd", "dan", "eve", "fay")
Pairs = list[tuple[str, str]]


def planned(items: int = 120, per_item: int = 3, seed: int = 0) -> Pairs:
    return list(assign([f"q{i}" for i in range(items)], NAMES, per_item, seed=seed).frame().iter_rows())


def test_everything_came_back() -> None:
    came = check_returned(planned(), planned())
    assert (came.assigned, came.done, came.missing, came.unplanned) == (360, 360, 0, 0)
    assert came.short_items == came.people == () and came.p_people is None and came.p_items is None
    assert explain_returned(came) == "Returned   360 of 360 assigned annotations (100%)"


def test_counts_by_item_and_person() -> None:
    pairs = planned()
    done = [pair for pair in pairs if pair[1] != "cyd"] + [("q0", "guest"), ("q0", "guest")]
    came = check_returned(pairs, done)
    assert (came.missing, came.unplanned, came.people) == (60, 1, (("cyd", 60, 0),))
    assert {item for item, _, _ in came.short_items} == {item for item, name in pairs if name == "cyd"}
    assert all((assigned, made) == (3, 2) for _, assigned, made in came.short_items)


def test_the_share_of_people_is_pearsons_chi_squared() -> None:
    pairs, draw = planned(), random.Random(3)
    done = [pair for pair in pairs if draw.random() < (0.6 if pair[1] == "ann" else 0.9)]
    by_person = [[sum(name == who for _, name in which) for who in NAMES] for which in (done, pairs)]
    table = [by_person[0], [whole - made for made, whole in zip(*by_person, strict=True)]]
    came = check_returned(pairs, done)
    assert came.p_people == pytest.approx(chi2_contingency(table, correction=False).pvalue) and came.p_people < 0.01
    assert came.people[0][0] == "ann" and "By people  uneven" in explain_returned(came)


def test_missing_work_at_random_has_a_uniform_p(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_items_at_random", lambda *_: None)  # its permutations would take all the time
    random = np.random.default_rng(5)
    rows = assign([f"q{i}" for i in range(200)], 10, per_item=3).frame().rows()
    found = [check_returned(rows, [row for row in rows if random.random() < 0.8]).p_people for _ in range(200)]
    below = np.mean([p is not None and p < 0.05 for p in found])
    assert below < 0.1


def test_items_skipped_at_random_are_not_accused() -> None:
    """At a level of 0.05 no more than 7 of 50 rounds may say otherwise (binomial, p < 0.004)."""
    pairs, found = planned(), []
    for seed in range(50):
        draw = random.Random(seed)
        care = {name: draw.uniform(0.5, 1.0) for name in NAMES}
        found.append(check_returned(pairs, [pair for pair in pairs if draw.random() < care[pair[1]]]).p_items)
    assert sum(p <= 0.05 for p in found) <= 7
    assert 0.35 < sum(found) / len(found) < 0.65


def test_items_that_everybody_skips_are_detected_beside_somebody_who_did_nothing() -> None:
    pairs, draw = planned(), random.Random(5)
    hard = {f"q{i}" for i in range(20)}
    done = [pair for pair in pairs if pair[1] != "eve" and draw.random() > (0.6 if pair[0] in hard else 0.1)]
    came = check_returned(pairs, done)
    assert came.p_items < 0.01 and {item for item, _, _ in came.short_items[:4]} <= hard
    assert "By items   uneven" in explain_returned(came) and "skipped the same items" in explain_returned(came, 400)
    assert check_returned(pairs, done) == came  # the draws are seeded


def test_who_missed_nothing_or_everything_has_no_choice_and_one_person_nobody_to_be_compared_with() -> None:
    pairs = planned()
    assert check_returned(pairs, [pair for pair in pairs if pair[1] not in ("ann", "bob")]).p_items is None
    alone = check_returned([("q1", "ann"), ("q2", "ann")], [("q1", "ann")])
    assert alone.p_people is None and alone.p_items is None


def test_very_many_are_not_drawn_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_DRAWN", 100)
    pairs = planned()
    came = check_returned(pairs, pairs[::2])
    assert came.p_items is None and came.p_people is not None and came.missing == 180


def test_few_items_are_named_and_the_rest_counted() -> None:
    pairs = planned()
    text = explain_returned(check_returned(pairs, pairs[:180]), 60)
    assert "and 50 more" in " ".join(text.split()) and max(map(len, text.splitlines())) <= 60


def test_nothing_assigned_and_nothing_made() -> None:
    assert check_returned([], []).assigned == 0 and "none assigned" in explain_returned(check_returned([], []))
    assert check_returned(planned(), []).missing == 360


@pytest.mark.parametrize(
    ("made", "message"),
    [
        ([("0", "ann")], r"item 'q0' in the assignment, '0' in the source.*item="),
        ([("q0", "p1")], r"annotator 'ann' in the assignment, 'p1' in the source.*annotator="),
        ([("0", "p1")], r"item= and annotator="),
    ],
)
def test_other_ids_are_refused_rather_than_counted_as_missing(made: Pairs, message: str) -> None:
    with pytest.raises(spagree.DataError, match=message):
        check_returned(planned(), made)
    with pytest.raises(spagree.DataError, match="by people the item was not assigned to"):
        check_returned([("q1", "ann"), ("q2", "bob")], [("q1", "bob")])


def test_from_an_agreement() -> None:
    design = assign([f"q{i}" for i in range(10)], ["ann", "bob", "cyd"], per_item=2)
    labels = [(item, name, "x") for item, name in design.frame().iter_rows()][:-3]
    came = spagree.measure(labels).returned(design)
    assert (came.assigned, came.done, returned_rows(came)["missing"]) == (20, 17, 3)
    rows = returned_rows(came)
    assert sum(row["assigned"] - row["done"] for row in rows["annotators"]) == 3
    assert sum(row["assigned"] - row["done"] for row in rows["short_items"]) == 3


def test_a_tally_or_counts_do_not_say_who() -> None:
    design = assign(["q1"], ["ann", "bob"], per_item=2)
    counts = spagree.measure(np.array([[2, 1], [0, 2]]), format="counts")
    tally = spagree.measure(spagree.tally([("q1", "ann", "x"), ("q1", "bob", "x")]))
    for found in (counts, tally):
        with pytest.raises(spagree.UsageError, match="the annotators are unknown"):
            found.returned(design)
