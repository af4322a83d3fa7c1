"""Counting marks by a sweep: against sets, in parts, with any offsets; and what is refused."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import polars
import pytest
from hypothesis import given
from hypothesis import strategies as st

import spagree
import spagree.counts.marks as counting
from spagree.counts.marks import CodedMarks, Pieces
from spagree.errors import ColumnError, DataError, UsageError
from spagree.read.sources import read_marks

pieces_of_visits = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 1), st.integers(0, 8), st.integers(1, 5)), max_size=12
)


def joined(rows: list[tuple[int, int, int, int]]) -> Pieces:
    visit, lane, start, size = (np.array([row[column] for row in rows], dtype=np.int64) for column in range(4))
    return Pieces.joined(visit, lane, start, start + size, np.arange(20.0))


def places(rows: list[tuple[int, int, int, int]], visit: int) -> set[tuple[int, int]]:
    return {(lane, place) for who, lane, start, size in rows if who == visit for place in range(start, start + size)}


@given(pieces_of_visits)
def test_a_sweep_finds_what_others_cover(rows: list[tuple[int, int, int, int]]) -> None:
    pieces = joined(rows)
    own, met = pieces.covered()
    for visit in range(4):
        mine = places(rows, visit)
        assert own[pieces.visit == visit].sum() == len(mine)
        assert met[pieces.visit == visit].sum() == sum(
            len(mine & places(rows, who)) for who in range(4) if who != visit
        )


@given(pieces_of_visits, st.integers(1, 4))
def test_all_overlaps_of_two_visits_are_found_once_in_blocks_of_any_size(
    rows: list[tuple[int, int, int, int]], at_once: int
) -> None:
    pieces = joined(rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counting, "PAIRS_AT_ONCE", at_once)
        found = [
            pair for block in pieces.overlapping() for pair in zip(*(each.tolist() for each in block), strict=True)
        ]
    shared = dict.fromkeys(permutations(range(4), 2), 0.0)
    for one, other in found:
        overlap = min(pieces.end[one], pieces.end[other]) - max(pieces.start[one], pieces.start[other])
        for pair in permutations((int(pieces.visit[one]), int(pieces.visit[other]))):
            shared[pair] += overlap
    assert len({frozenset(pair) for pair in found}) == len(found)
    assert shared == {(a, b): len(places(rows, a) & places(rows, b)) for a, b in shared}


def test_a_mark_made_twice_counts_once() -> None:
    marks = CodedMarks.of(read_marks([("q", "ann", 0, 4, "P"), ("q", "ann", 0, 4, "P"), ("q", "bob", 0, 4, "P")]))
    for characters, whole in ((False, 1), (True, 4)):
        shared = marks.shared(marks.pieces(characters=characters))
        assert shared.own.tolist() == shared.met.tolist() == [whole, whole]
    assert len(marks.distinct) == 2


def test_offsets_may_be_seconds() -> None:
    marks = CodedMarks.of(read_marks([("q", "ann", 0.25, 4.5, "P"), ("q", "bob", 1.5, 6.0, "P")]))
    assert marks.shared(marks.pieces(characters=True)).met.tolist() == [3.0, 3.0]


ROWS = "item,annotator,start,end,label\nq,ann,0,4,P\nq,bob,2,5,L\n"


@pytest.mark.parametrize(
    ("row", "what"),
    [
        ("q,bob,4,4,P", "row 4: column 'end': '4' is not beyond its start 4"),
        ("q,bob,4,3,P", "row 4: column 'end': '3' is before its start 4"),
        ("q,bob,-3,9,P", "row 4: column 'end': '9' belongs to a mark that starts at -3, before its text"),
        ("q,bob,x,9,P", "row 4: column 'start': 'x' is no offset"),
        ("q,bob,3,,P", "row 4: column 'end': an empty cell is no offset"),
        ("q,bob,3,inf,P", "row 4: column 'end': 'inf' is no offset"),
        (",bob,3,9,P", "row 4: column 'item': an empty cell"),
        ("q,bob,3,99,P", "row 4: column 'end': '99' is beyond the end of its text, 12"),
    ],
)
def test_marks_that_cannot_be_are_refused_with_their_row(tmp_path: Any, row: str, what: str) -> None:
    source, seen = tmp_path / "marks.csv", tmp_path / "seen.csv"
    source.write_text(ROWS + row + "\n")
    seen.write_text("item,annotator,length\nq,ann,12\nq,bob,12\n")
    with pytest.raises(DataError) as refused:
        CodedMarks.of(read_marks(source, seen))
    assert str(refused.value).startswith(f"{source}: {what}")


def test_one_mark_of_a_thousand_may_end_where_it_starts() -> None:
    rows = [(f"q{place}", person, 0, 4, "P") for place in range(600) for person in ("ann", "bob")]
    points = [("q0", "ann", 2, 2, "P"), ("q1", "ann", 2, 2, "P"), ("q1", "bob", 2, 2, "P")]
    alone = spagree.measure_spans([*rows, points[0]])
    assert alone.exact.value == 2 * 600 / 1201 and alone.characters.value == 1
    assert alone.outcomes["nothing"].value == 0 and "empty_marks" in [warning.code for warning in alone.warnings]
    with pytest.raises(DataError, match="is not beyond its start 2; if ends are inclusive, add 1"):
        spagree.measure_spans([*rows, *points])


def test_who_saw_what_is_known_from_a_table_from_empty_rows_or_not_at_all(tmp_path: Any) -> None:
    source = tmp_path / "marks.csv"
    source.write_text(ROWS)
    assert read_marks(source).how == "unknown"
    assert read_marks(source, [("q", "ann"), ("q", "bob"), ("q", "cyd")]).how == "given"
    source.write_text(ROWS + "q,cyd,,,\n")
    known = read_marks(source)
    assert known.how == "rows" and CodedMarks.of(known).n.tolist() == [3]


def test_columns_are_guessed_or_named(tmp_path: Any) -> None:
    source = tmp_path / "marks.csv"
    source.write_text("doc_id,coder,begin,end,code\nq,ann,0,4,P\nq,bob,0,4,P\n")
    assert CodedMarks.of(read_marks(source)).labels == ("P",)
    source.write_text("a,b,c,d\nq,ann,0,4\nq,bob,0,4\n")
    with pytest.raises(ColumnError, match="which column is the item"):
        read_marks(source)
    marks = CodedMarks.of(read_marks(source, item="a", annotator="b", start="c", end="d"))
    assert marks.labels == ("",) and marks.n.tolist() == [2]
    with pytest.raises(UsageError, match="each row is"):
        read_marks([("q", "ann", 0, 4, "P", "more")])


def test_texts_tell_their_length_and_must_be_one_for_each_item() -> None:
    def rows(*texts: str) -> list[dict[str, Any]]:
        people = zip(("ann", "bob"), texts, strict=True)
        return [
            {"item": "q", "annotator": who, "start": 0, "end": 2, "label": "P", "words": text} for who, text in people
        ]

    def marked(*texts: str) -> CodedMarks:
        return CodedMarks.of(read_marks(polars.DataFrame(rows(*texts)), text="words"))

    known = marked("👩‍🔬 🐕", "👩‍🔬 🐕")
    assert known.length is not None and known.length.tolist() == [5] and known.texts == ("👩‍🔬 🐕",)
    with pytest.raises(DataError, match=r"'end'.* is beyond the end of its text, 1"):
        marked("🐕", "🐕")
    with pytest.raises(DataError, match=r"item 'q' has several texts, .* 1 item is like this"):
        marked("one text", "another text")
