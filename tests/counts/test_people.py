"""Annotator cells: the same on every engine and in memory, and what they tell of other annotators."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from itertools import combinations
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_engines import ENGINES

import spagree
from examples import examples
from spagree.counts import people as cells
from spagree.counts.saved import tally_from_dict, tally_to_dict
from spagree.counts.tally import Kind, has_labels
from spagree.read import read

Row = tuple[str, str | None, str]


def by_hand(rows: Iterable[Row]) -> dict[str, dict[Kind, int]]:
    rows = list(rows)
    found: dict[str, Counter[Kind]] = {}
    for item, who, label in rows:
        counts = Counter(other for place, _, other in rows if place == item)
        n, pairs = counts.total(), sum(size * (size - 1) for size in counts.values())
        if who is not None:
            other = next(each for each in counts if each != label) if (n, counts[label]) == (2, 1) else ""
            found.setdefault(who, Counter())[n, pairs, counts[label], label, other] += 1
    return {who: dict(kinds) for who, kinds in found.items()}


def bare(people: dict[str, dict[Kind, int]]) -> dict[str, dict[Kind, int]]:
    found: dict[str, Counter[Kind]] = {who: Counter() for who in people}
    for who, kinds in people.items():
        for (n, pairs, own, *_), size in kinds.items():
            found[who][n, pairs, own, None, None] += size
    return {who: dict(kinds) for who, kinds in found.items()}


def frame_of(rows: Iterable[Row]) -> pl.DataFrame:
    return pl.DataFrame(list(rows), schema=dict.fromkeys(("item", "annotator", "label"), pl.String), orient="row")


@st.composite
def rows_of(draw: st.DrawFn) -> list[Row]:
    pairs = draw(st.sets(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=20))
    who = {place: f"w{place}" if place else None for place in range(5)}
    return [(f"q{item}", who[person], draw(st.sampled_from("abc"))) for item, person in sorted(pairs)]


@given(rows_of())
@examples(40)
def test_the_kinds_of_annotations_are_those_counted_by_hand(rows: list[Row]) -> None:
    expected = by_hand(rows)
    assert (spagree.tally(rows).people or {}) == expected
    assert (spagree.tally(frame_of(rows).lazy()).people or {}) == expected


LARGE = [(f"q{n % 31}", f"w{n // 31 % 9}" if n % 50 else None, "abcdefghij"[n * n // 31 % 10]) for n in range(31 * 9)]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning:modin")
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("packs", [True, False])
def test_every_engine_counts_the_same_kinds(engine: str, packs: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of all annotations, and of each group alone; without labels where these make too many."""
    monkeypatch.setattr(cells, "MOST_CLASSES", 40 if packs else 0)
    team = pl.when(pl.col("annotator") < "w3").then(pl.lit("old")).otherwise(pl.lit("new"))
    frame = ENGINES[engine](frame_of(LARGE).with_columns(team=team))
    tally = spagree.tally(frame, by="team")
    assert tally.people == by_hand(LARGE)
    met: dict[tuple[str, str], list[bool]] = {}
    for (item, one, label), (place, two, other) in combinations(sorted(row for row in LARGE if row[1]), 2):
        if item == place:
            met.setdefault((one, two), []).append(label == other)
    found = cells.count_meetings(read(ENGINES[engine](frame_of(LARGE))).frame)
    assert sorted(found) == [(*pair, len(same), sum(same)) for pair, same in sorted(met.items())]
    old = [row for row in LARGE if row[1] and row[1] < "w3"]
    assert tally.grouped is not None
    of_teams = {"new": by_hand([row for row in LARGE if row not in old]), "old": by_hand(old)}
    assert tally.grouped.people == of_teams
    bare_teams = {team: bare(people) for team, people in of_teams.items()}
    monkeypatch.setattr(cells, "MOST_KINDS", sum(len(kinds) for team in bare_teams.values() for kinds in team.values()))
    tally = spagree.tally(frame, by="team")
    assert tally.grouped is not None
    assert (tally.people, tally.grouped.people) == (bare(by_hand(LARGE)), bare_teams)


def test_pieces_of_an_arrow_table_may_come_back_in_any_order() -> None:
    rows: list[Row] = [(f"q{n // 3}", f"w{(n // 3 + n % 3) % 9}", "abc"[n * n // 7 % 3]) for n in range(60_000)]
    frame = frame_of(rows)
    table = frame.to_arrow()
    pieces = pa.concat_tables([table.slice(start, 1_000) for start in range(0, len(rows), 1_000)])
    assert spagree.tally(pieces).people == spagree.tally(frame).people


def test_kinds_merge_in_any_order_and_survive_a_file(tmp_path: Any) -> None:
    parts = [[row for row in LARGE if int(row[0][1:]) % 3 == part] for part in range(3)]
    one, two, three = map(spagree.tally, parts)
    whole = spagree.tally(LARGE)
    assert (one + two + three).people == (three + (one + two)).people == whole.people
    spagree.save(one + two + three, tmp_path / "all.json")
    assert spagree.load(tmp_path / "all.json").people == whole.people
    assert (one + spagree.Tally.from_items([{"a": 2}])).people is None


def test_a_live_tally_counts_the_kinds_of_what_is_there() -> None:
    live = spagree.LiveTally()
    for row in LARGE:
        live.add(*row)
    item, who, _ = next(row for row in LARGE if row[1])
    live.change(item, who, "f")
    live.remove(*LARGE[40][:2])
    left = [(item, who, "f") if row[:2] == (item, who) else row for row in LARGE if row != LARGE[40]]
    assert live.tally() == spagree.tally(left) and live.tally().people == by_hand(left)


def test_parts_with_and_without_labels_of_kinds_merge_without_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    parts = [[row for row in LARGE if int(row[0][1:]) % 3 == part] for part in range(3)]
    one = spagree.tally(parts[0])
    monkeypatch.setattr(cells, "MOST_KINDS", 60)
    two, three = map(spagree.tally, parts[1:])
    assert has_labels(one.people) and not has_labels(two.people)
    merged = one + two + three
    assert merged.people == (three + (two + one)).people == bare(by_hand(LARGE))
    spagree.save(merged, tmp_path / "all.json")
    assert spagree.load(tmp_path / "all.json").people == merged.people
    with pytest.raises(spagree.DataError, match="others have none"):
        tally_from_dict(tally_to_dict(replace(one, people={**one.people, "w1": bare(by_hand(parts[0]))["w1"]})))


def test_too_many_kinds_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cells, "MOST_KINDS", sum(map(len, bare(by_hand(LARGE)).values())) - 1)
    assert spagree.tally(LARGE).people is None and spagree.tally(frame_of(LARGE).lazy()).people is None
    found = spagree.measure(spagree.tally(LARGE)).spa
    assert found.interval_for == "items" and "does not say who annotated" in str(
        found.intervals["annotators"].undefined
    )


def test_no_pass_is_in_vain_where_the_patterns_tell_that_kinds_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """The estimate is that of annotators alike: near the number of kinds, and never asked of few annotations."""
    asked: list[bool] = []

    def kinds(*, labelled: bool) -> dict[str, dict[Kind, int]] | None:
        asked.append(labelled)
        return {}

    tally = spagree.tally(LARGE)
    number = sum(map(len, by_hand(LARGE).values()))
    for most, expected in ((len(LARGE), [True]), (2 * number, [True]), (number // 2, [False])):
        monkeypatch.setattr(cells, "MOST_KINDS", most)
        asked.clear()
        cells.as_many_kinds_as_fit(tally, kinds)
        assert asked == expected


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"w1": {}}, "other numbers of annotations"),
        ({"w1": {(2, 2, 2, "a", ""): 30}}, "more annotations of a kind"),
        ({"w1": {(2, 0, 2, "a", ""): 30}}, "no item can have"),
    ],
)
def test_a_file_with_kinds_that_cannot_be_is_refused(change: dict[str, Any], fault: str) -> None:
    rows = [(f"q{item}", who, "a") for item in range(30) for who in ("w1", "w2", "w3")]
    tally = spagree.tally(rows)
    wrong = replace(tally, people={**tally.people, **change})
    with pytest.raises(spagree.DataError, match=fault):
        tally_from_dict(tally_to_dict(wrong))


def test_hidden_names_stay_hidden(tmp_path: Any) -> None:
    tally = spagree.tally([("q1", "ann", "x"), ("q1", "bob", "x")], pseudonymise="our secret")
    spagree.save(tally, tmp_path / "part.json")
    assert len(tally.people) == 2 and not {"ann", "bob"} & set(tally.people)
    assert '"ann"' not in (tmp_path / "part.json").read_text()
