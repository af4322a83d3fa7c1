"""The graph of annotators who share items, against a slow walk through it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import spagree
from breakdown_oracle import Rows, by_item, rows_of
from examples import examples
from oracle import exactly
from spagree.counts.tally import Tally
from spagree.estimate.pairs import Bridge, Overlap, Team, concentration
from spagree.present.verdicts import tell

Label = "x"


def team(name: str, members: int, items: int) -> Rows:
    """Everybody in the team annotates every item of the team."""
    return [(f"{name}{i}", f"{name}-{j}", Label) for i in range(items) for j in range(members)]


def walk(rows: Rows) -> list[set[str]]:
    """Connected annotators, by merging sets."""
    groups = [{who} for who in {who for _, who, _ in rows}]
    for said in by_item(rows).values():
        people = {who for who, _ in said}
        joined = [group for group in groups if group & people]
        groups = [group for group in groups if not group & people] + [set().union(*joined)]
    return groups


@given(rows_of(9, 8, "x"), st.integers(0, 3))
@examples(40)
def test_teams_are_the_connected_annotators(rows: Rows, thinning: int) -> None:
    sparse = [row for place, row in enumerate(rows) if place % (thinning + 2) == 0 or thinning == 3]
    found = spagree.measure(sparse).overlap()
    groups = walk(sparse)
    assert {frozenset(each.annotators) for each in found.teams} == {
        frozenset(group) for group in groups if len(group) > 1
    }
    assert set(found.alone) == {who for group in groups if len(group) == 1 for who in group}
    items = by_item(sparse)
    assert found.single_items == sum(len(said) == 1 for said in items.values())
    for each in found.teams:
        assert each.items == sum(any(who in each.annotators for who, _ in said) for said in items.values())
    assert found.annotators == len({who for _, who, _ in sparse})


def test_a_long_chain_is_one_team() -> None:
    rows = [(f"q{i:03}", f"a{(i * 37 + step) % 200:03}", Label) for i in range(199) for step in (0, 37)]
    found = spagree.measure(rows).overlap()
    assert len(found.teams) == 1 and len(found.teams[0].annotators) == 200


def test_two_teams_that_never_met_get_a_warning() -> None:
    rows = [*team("a", 3, 12), *team("b", 2, 12), ("z", "solo", Label)]
    measured = spagree.measure(rows)
    found = measured.overlap()
    assert found == Overlap(
        6,
        (Team(("a-0", "a-1", "a-2"), 12), Team(("b-0", "b-1"), 12)),
        (),
        ("solo",),
        1,
        alone_annotations=1,
    )
    warning = next(each for each in measured.warnings if each.code == "disconnected_teams")
    assert "2 teams (of 3, 2)" in warning.message and "across teams" in warning.message


@pytest.mark.parametrize(("bridge", "thin"), [(0, False), (1, True), (4, True), (5, False)])
def test_a_thin_bridge_gets_a_warning(bridge: int, thin: bool) -> None:
    rows = [*team("a", 3, 12), *team("b", 3, 12)]
    rows += [(f"bridge{i}", who, Label) for i in range(bridge) for who in ("a-0", "a-1", "b-0")]
    measured = spagree.measure(rows)
    found = measured.overlap()
    codes = [each.code for each in measured.warnings]
    assert ("thin_bridge" in codes) == thin == bool(found.thin_bridges)
    assert ("disconnected_teams" in codes) == (bridge == 0)
    if thin:
        assert found.thin_bridges[0] == Bridge(Team(("a-0", "a-1", "a-2"), 12 + bridge), bridge)
        assert [each.items for each in found.thin_bridges] == [bridge, bridge]
        said = next(each.message for each in measured.warnings if each.code == "thin_bridge")
        assert f"only {bridge} {'item' if bridge == 1 else 'items'} with" in said


def test_calibration_items_for_all_count_as_items_not_as_pairs() -> None:
    calibration = [(f"c{i}", f"{name}-{j}", Label) for i in range(3) for name in "ab" for j in range(3)]
    found = spagree.measure([*team("a", 3, 12), *team("b", 3, 12), *calibration]).overlap()
    assert [each.items for each in found.thin_bridges] == [3, 3]


def test_a_newcomer_is_no_thin_bridge() -> None:
    rows = [*team("a", 3, 12), ("a0", "new", Label), ("a1", "new", Label)]
    assert spagree.measure(rows).overlap().thin_bridges == ()


def test_random_sparse_designs_get_no_warning() -> None:
    frame = spagree.simulate(items=200, annotators=40, per_item=3, seed=1).frame
    measured = spagree.measure(frame.select("item", "annotator", "label"))
    assert {"disconnected_teams", "thin_bridge"} & {each.code for each in measured.warnings} == set()
    assert measured.overlap().thin_bridges == () and len(measured.overlap().teams) == 1


def test_unknown_annotators_prevent_claims_about_overlap() -> None:
    rows = [*team("a", 2, 12), *team("b", 2, 12), ("a0", None, Label)]
    measured = spagree.measure(rows)
    assert len(measured.overlap().teams) == 2 and measured.overlap().unknown == 1
    assert "disconnected_teams" not in [each.code for each in measured.warnings]


def test_large_data_is_looked_at_on_request_only(monkeypatch: pytest.MonkeyPatch) -> None:
    from spagree.estimate import pairs as module

    rows = [*team("a", 2, 12), *team("b", 2, 12)]
    with monkeypatch.context() as patch:
        patch.setattr("spagree.estimate.breakdowns.MOST_TO_FETCH", 47)
        measured = spagree.measure(rows)
        assert "disconnected_teams" not in [each.code for each in measured.warnings]
        assert len(measured.overlap().teams) == 2
    assert "disconnected_teams" in [each.code for each in spagree.measure(rows).warnings]
    bridged = [*rows, ("a0", "b-0", Label)]
    monkeypatch.setattr(module, "CHEAP_MEETINGS", 25)
    assert "thin_bridge" not in [each.code for each in spagree.measure(bridged).warnings]
    monkeypatch.setattr(module, "CHEAP_MEETINGS", 26)
    assert "thin_bridge" in [each.code for each in spagree.measure(bridged).warnings]


def test_without_annotators_there_is_no_graph_and_no_warning() -> None:

    measured = spagree.measure(np.array([[2, 0], [1, 1]]), format="counts")
    assert [each.code for each in measured.warnings] == ["few_items"]
    with pytest.raises(
        spagree.UsageError, match=exactly("the annotators are unknown; name their column with annotator=")
    ):
        measured.overlap()
    with pytest.raises(
        spagree.UsageError,
        match=exactly("a tally does not say who annotated which item; measure the annotations themselves"),
    ):
        spagree.measure(spagree.tally(team("a", 2, 2))).overlap()


def test_no_annotator_and_one_annotator() -> None:
    assert spagree.measure([(None, "ann", Label)]).overlap() == Overlap(0, (), (), (), 0)
    assert spagree.measure([("q", "ann", Label)]).overlap() == Overlap(1, (), (), ("ann",), 1, alone_annotations=1)


def test_renaming_people_and_items_changes_only_names() -> None:
    rows = [*team("a", 3, 6), *team("b", 2, 6), ("b0", "a-0", Label)]
    new = {who: f"p{place}" for place, who in enumerate(sorted({who for _, who, _ in rows}, reverse=True))}
    one, other = (spagree.measure(each).overlap() for each in (rows, [(i, new[w], s) for i, w, s in rows]))
    shape = [[(len(each.annotators), each.items) for each in found.teams] for found in (one, other)]
    assert shape[0] == shape[1]
    bridges = [sorted((len(each.team.annotators), each.items) for each in found.thin_bridges) for found in (one, other)]
    assert bridges[0] == bridges[1] == [(2, 1), (3, 1)]


@given(rows_of(12, 5))
@examples(10)
def test_teams_and_bridges_do_not_depend_on_the_blocks(rows: Rows) -> None:
    whole = spagree.measure(rows).overlap()
    for at_once in (1_000, 1):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("spagree.estimate.pairs.FEW_MEETINGS", 0)
            patch.setattr("spagree.estimate.pairs.MEETINGS_AT_ONCE", at_once)
            assert spagree.measure(rows).overlap() == whole


def test_the_smallest_team_behind_a_thin_bridge_is_the_one_named() -> None:
    rows = [*team("a", 5, 6), *team("b", 3, 6), *team("c", 2, 6)]
    measured = spagree.measure([*rows, ("b0", "a-0", Label), ("b1", "a-0", Label), ("c0", "b-0", Label)])
    found = measured.overlap().thin_bridges
    assert [(len(each.team.annotators), each.items) for each in found] == [(5, 2), (3, 3), (2, 1)]
    message = next(each.message for each in measured.warnings if each.code == "thin_bridge")
    assert message == (
        "a team of 2 annotators shares only 1 item with all the others, and nothing else can show whether they agree "
        "with each other. Have more items annotated across teams."
    )


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        ([1, 5, 3, 1], (4, "p1", 0.5, 1, 0.5)),
        ([4, 3, 2, 1], (4, "p0", 0.4, 2, 0.7)),
        ([1] * 7, (7, "p0", 1 / 7, 4, 4 / 7)),
        ([9], (1, "p0", 1.0, 1, 1.0)),
    ],
)
def test_the_busiest_and_the_fewest_who_made_half(
    made: list[int], expected: tuple[int, str, float, int, float]
) -> None:
    people = {f"p{number}": count for number, count in enumerate(made)}
    found = concentration(replace(Tally.from_items([{"x": 2}]), annotators=people))
    assert (found.annotators, found.busiest, found.share, found.half, found.share_of_half) == expected


def test_unknown_annotators_have_no_concentration() -> None:
    for people in (None, {}):
        with pytest.raises(spagree.UsageError, match="the annotators are unknown"):
            concentration(replace(Tally.from_items([{"x": 2}]), annotators=people))


@pytest.mark.parametrize(
    ("made", "says"),
    [
        ([20, 10, 10, 10], "2 of 4 people made 60% of the annotations."),  # less than twice an equal share
        ([20, 8, 7, 8, 7], "p0 made 40% of the annotations."),
        ([20, 15] + [8] * 7, "4 of 9 people made 57% of the annotations."),
        ([20, 20, 20], "It rests on 30 items."),
    ],
)
def test_who_made_much_is_said_beside_the_precision(made: list[int], says: str) -> None:
    people = [f"p{who}" for who, count in enumerate(made) for _ in range(count)]
    people += people[: len(people) % 2]
    half = len(people) // 2
    rows = [(f"q{i}", who, "xyx"[i % 3]) for i in range(half) for who in (people[i], people[half + i])]
    agreement = spagree.measure(rows, duplicates="first")
    found = tell(agreement.summed_up()).checked
    assert next(each for each in found if each.title == "Precision").words.endswith(says)
