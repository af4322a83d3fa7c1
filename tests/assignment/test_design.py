"""Laws of assignments: everybody gets their share, nobody an item twice, limits and skills hold or are refused."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import spagree
from examples import examples
from spagree.assignment import Assignment, Person, assign


def ids(number: int) -> list[str]:
    return [f"q{i}" for i in range(number)]


def people_of(design: Assignment) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for item, name in design.frame().iter_rows():
        found.setdefault(item, []).append(name)
    return found


def loads(design: Assignment) -> Counter[str]:
    return Counter({person.name: 0 for person in design.people}) + Counter(design.frame()["annotator"].to_list())


def shared(design: Assignment) -> list[int]:
    """Items that each two people share, counted pair by pair."""
    counts: Counter[tuple[str, ...]] = Counter()
    for names in people_of(design).values():
        counts.update(combinations(sorted(names), 2))
    return [counts[pair] for pair in combinations(sorted(person.name for person in design.people), 2)]


def groups(design: Assignment) -> int:
    """Connected groups by walking from person to person."""
    left, number = {person.name for person in design.people}, 0
    meets = [set(names) for names in people_of(design).values()]
    while left:
        number += 1
        reached, grown = set(), {left.pop()}
        while grown != reached:
            reached, grown = grown, grown.union(*(names for names in meets if names & grown))
        left -= reached
    return number


@given(st.integers(1, 60), st.integers(2, 14), st.integers(1, 5), st.integers(0, 5))
@examples(75)
def test_every_item_gets_k_people_and_everybody_their_share(items: int, people: int, k: int, seed: int) -> None:
    k = min(k, people)
    design = assign(ids(items), people, k, seed=seed)
    assert all(len(names) == len(set(names)) == k for names in people_of(design).values())
    assert len(people_of(design)) == items
    work = [loads(design)[person.name] for person in design.people]
    assert max(work) - min(work) <= 1
    even = design.balance
    assert (even.least_work, even.most_work, even.annotations) == (min(work), max(work), items * k)
    assert (even.fewest_shared, even.most_shared) == (min(shared(design)), max(shared(design)))
    assert even.groups == groups(design)
    if items * (k - 1) >= people - 1:
        assert even.groups == 1
    assert np.array_equal(design.rows, assign(ids(items), people, k, seed=seed).rows)


@pytest.mark.parametrize("size", [(300, 10, 2), (300, 10, 3), (500, 25, 4), (1000, 40, 5), (96, 8, 3)])
def test_every_two_people_share_about_as_many_items(size: tuple[int, int, int]) -> None:
    items, people, k = size
    for seed in range(5):
        counts = shared(assign(ids(items), people, k, seed=seed))
        assert max(counts) - min(counts) <= 2
        assert np.mean(counts) == pytest.approx(items * k * (k - 1) / people / (people - 1), abs=1e-9)


def test_who_annotates_an_item_is_random() -> None:
    """Over seeds every person is equally likely on every item: no item is tied to anybody by its place in the file."""
    met = np.zeros((6, 5))
    for seed in range(600):
        np.add.at(met, tuple(assign(ids(6), 5, 2, seed=seed).rows.T), 1)
    assert np.abs(met - 240).max() < 5 * np.sqrt(600 * 0.4 * 0.6)


@given(st.data())
@examples(75)
def test_limits_and_skills_hold_or_are_refused_rightly(data: st.DataObject) -> None:
    kinds = {f"q{i}": kind for i, kind in enumerate(data.draw(st.lists(st.sampled_from("xy"), min_size=1, max_size=7)))}
    skills = st.sampled_from([None, frozenset("x"), frozenset("y"), frozenset("xy")])
    person = st.tuples(st.one_of(st.none(), st.integers(0, 5)), skills)
    people = [Person(f"p{i}", *given) for i, given in enumerate(data.draw(st.lists(person, min_size=2, max_size=4)))]
    k = data.draw(st.integers(1, 2))
    existing = [(item, p.name) for item in kinds for p in people if data.draw(st.integers(0, 5)) == 0]
    fits = feasible(kinds, people, k, existing)
    try:
        design = assign(kinds, people, k, existing=existing)
    except spagree.DataError:
        assert not fits
        return
    assert fits
    before = Counter(name for _, name in existing)
    for person in people:
        own = design.frame().filter(annotator=person.name)["item"].to_list()
        assert len(own) == len(set(own)) and not {(item, person.name) for item in own} & set(existing)
        assert person.can is None or all(kinds[item] in person.can for item in own)
        assert person.limit is None or not own or before[person.name] + len(own) <= person.limit
    done = Counter(item for item, _ in existing)
    assert all(len(people_of(design).get(item, [])) == max(0, k - done[item]) for item in kinds)


def feasible(kinds: dict[str, str], people: list[Person], k: int, existing: list[tuple[str, str]]) -> bool:
    """Maximum flow: item → person it may go to → room left."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_flow

    done, before = Counter(item for item, _ in existing), Counter(name for _, name in existing)
    need = {item: max(0, k - done[item]) for item in kinds}
    size = len(kinds) + len(people) + 2
    capacity = np.zeros((size, size), dtype=np.int32)
    for i, item in enumerate(kinds):
        capacity[0, 1 + i] = need[item]
        for j, person in enumerate(people):
            able = person.can is None or kinds[item] in person.can
            capacity[1 + i, 1 + len(kinds) + j] = able and (item, person.name) not in existing
    for j, person in enumerate(people):
        room = len(kinds) if person.limit is None else max(0, person.limit - before[person.name])
        capacity[1 + len(kinds) + j, size - 1] = room
    return bool(maximum_flow(csr_array(capacity), 0, size - 1).flow_value == sum(need.values()))


def test_everybody_gets_the_calibration_set() -> None:
    design = assign(ids(30), 5, 2, everyone=4, seed=3)
    names = people_of(design)
    assert len(design.everyone) == 4 and all(len(names[item]) == 5 for item in design.everyone)
    assert Counter(map(len, names.values())) == {5: 4, 2: 26}
    assert assign(ids(30), 5, 2, everyone=4, seed=4).everyone != design.everyone


def test_the_calibration_set_is_what_everybody_can_do() -> None:
    people = [Person("ann"), Person("bob", can=frozenset({"de"}))]
    design = assign({"q1": "de", "q2": "en", "q3": "de"}, people, 1, everyone=2)
    assert set(design.everyone) == {"q1", "q3"}
    with pytest.raises(spagree.UsageError, match="all can do 2 items"):
        assign({"q1": "de", "q2": "en", "q3": "de"}, people, 1, everyone=3)
    with pytest.raises(spagree.UsageError, match="lowest limit is 1"):
        assign(ids(5), [Person("ann", limit=1), Person("bob")], 1, everyone=2)
    with pytest.raises(spagree.UsageError, match="everyone -1"):
        assign(ids(3), 3, 2, everyone=-1)


def test_topping_up_also_counts_the_work_of_people_who_left() -> None:
    done = [("q0", "ann"), ("q0", "zoe"), ("q1", "zoe"), ("elsewhere", "ann")]
    design = assign(ids(3), ["ann", "bob", "cyd"], 2, existing=done)
    names = people_of(design)
    assert "q0" not in names and len(names["q1"]) == 1 and len(names["q2"]) == 2


def test_people_who_stay_keep_their_open_work() -> None:
    design = assign(ids(3), ["ann", "bob", "cyd"], 2, existing=[("q0", "ann")], kept=[("q0", "bob"), ("q1", "ann")])
    names = people_of(design)
    assert names["q0"] == ["bob"] and "ann" in names["q1"] and len(names["q1"]) == len(names["q2"]) == 2


def test_many_people_and_few_items() -> None:
    people = 4_001
    design = assign(ids(3), people, 2)
    assert design.balance.most_work == 1 and design.balance.groups == people - 3


@pytest.mark.parametrize(
    ("items", "people", "k", "message"),
    [
        ([], 3, 2, "no items to assign"),
        (["a", "b", "a"], 3, 2, "item 'a' is listed twice"),
        (["a"], ["ann", "ann"], 2, "annotator 'ann' is listed twice"),
        (["a"], 3, 0, "per_item 0"),
        (["a"], 3, 4, "more than 3 annotators"),
        (["a", "b"], [Person("ann", 1), Person("bob", 1)], 2, "not enough room"),
        ({"a": "de"}, [Person("ann", can=frozenset({"en"})), Person("bob")], 2, "only 1 annotator can take them"),
    ],
)
def test_what_cannot_be_is_refused(items: object, people: object, k: int, message: str) -> None:
    with pytest.raises(spagree.SpagreeError, match=message):
        assign(items, people, k)  # type: ignore[arg-type]


def test_one_person_has_no_pairs() -> None:
    even = assign(ids(3), 1, 1).balance
    assert (even.fewest_shared, even.most_shared, even.groups) == (None, None, 1)
