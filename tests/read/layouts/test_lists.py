"""--format lists: all labels of an item in one cell, in the shapes in which data sets are published."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

import polars
import pytest

import spagree
from spagree.errors import DataError, UsageError

Votes = Mapping[str, Mapping[str, str]]
"""Item → annotator → label."""

LABELS = ("entailment", "neutral", "contradiction")


def voted(labels: Sequence[str] = LABELS, items: int = 40) -> dict[str, dict[str, str]]:
    """Labels of two to five of six people per item."""
    random = Random(1)
    people = [f"Ann{n}" for n in range(1, 7)]
    return {
        f"p{i}": {who: random.choice(labels) for who in random.sample(people, random.randint(2, 5))}
        for i in range(items)
    }


VOTES = voted()


def agreement_of(votes: Votes, *, named: bool = True) -> spagree.Agreement:
    rows = [(item, who, label) for item, given in votes.items() for who, label in given.items()]
    frame = polars.DataFrame(rows, schema=["item", "annotator", "label"], orient="row")
    return spagree.measure(frame if named else frame.drop("annotator"))


def figures(agreement: spagree.Agreement) -> tuple[object, ...]:
    return agreement.spa.value, agreement.data.items, agreement.data.annotations, agreement.data.annotators


def saved(path: Path, content: object) -> Path:
    if isinstance(content, list) and path.suffix == ".jsonl":
        content = "\n".join(json.dumps(row, ensure_ascii=False) for row in content)
    path.write_text(content if isinstance(content, str) else json.dumps(content, ensure_ascii=False), encoding="utf-8")
    return path


def test_the_counters_of_chaos_nli(tmp_path: Path) -> None:
    random = Random(2)
    rows: list[dict[str, Any]] = []
    for i in range(30):
        cut = sorted(random.sample(range(101), 2))
        sizes = zip("enc", (cut[0], cut[1] - cut[0], 100 - cut[1]), strict=True)
        rows.append({"uid": f"u{i}", "label_counter": {label: n for label, n in sizes if n}})
        rows[-1]["label_count"] = [rows[-1]["label_counter"].get(label, 0) for label in "enc"]
    path = saved(tmp_path / "chaosNLI.jsonl", rows)
    counts = polars.DataFrame([{"item": row["uid"], **dict.fromkeys("enc", 0), **row["label_counter"]} for row in rows])
    found = spagree.measure(path, format="lists", label="label_counter")
    assert figures(found) == figures(spagree.measure(counts, format="counts", item="item"))
    assert "counts_or_ratings" not in [warning.code for warning in found.warnings]
    with pytest.raises(DataError, match=r"look like counts of classes \(every row adds up to 100"):
        spagree.measure(path, format="lists", label="label_count")


def test_lists_of_objects_as_in_hatexplain(tmp_path: Path) -> None:
    entries = {
        item: {"post_id": item, "annotators": [{"label": label, "annotator_id": who} for who, label in given.items()]}
        for item, given in VOTES.items()
    }
    path = saved(tmp_path / "dataset.json", entries)
    with pytest.raises(DataError, match=r'label="annotators\.label", annotator="annotators\.annotator_id"'):
        spagree.measure(path)
    found = spagree.measure(path, format="lists", label="annotators.label", annotator="annotators.annotator_id")
    assert figures(found) == figures(agreement_of(VOTES))
    with pytest.raises(DataError, match="lists of objects with 'label', 'annotator_id'; say which"):
        spagree.measure(path, format="lists", label="annotators")


@pytest.mark.parametrize("write", [json.dumps, str, lambda given: " ".join(str(given).split(","))])
def test_lists_as_json_python_and_numpy_write_them(write: Callable[[list[str]], str], tmp_path: Path) -> None:
    frame = polars.DataFrame({"id": list(VOTES), "labels": [write(list(given.values())) for given in VOTES.values()]})
    frame.write_csv(tmp_path / "votes.csv")
    found = spagree.measure(tmp_path / "votes.csv", format="lists")
    assert figures(found) == figures(agreement_of(VOTES, named=False))


def test_sequences_in_parquet(tmp_path: Path) -> None:
    labels, people = [list(given.values()) for given in VOTES.values()], [list(given) for given in VOTES.values()]
    polars.DataFrame({"id": list(VOTES), "labels": labels, "people": people}).write_parquet(tmp_path / "hf.parquet")
    found = spagree.measure(tmp_path / "hf.parquet", format="lists", label="labels", annotator="people")
    assert figures(found) == figures(agreement_of(VOTES))
    with pytest.raises(DataError, match='format="lists", item="id", label="labels"'):
        spagree.measure(tmp_path / "hf.parquet", item="id", label="labels")


def test_arrays_in_a_pandas_frame_as_datasets_gives_them() -> None:
    pandas, numpy = pytest.importorskip("pandas"), pytest.importorskip("numpy")
    labels = [numpy.array(list(given.values())) for given in VOTES.values()]
    frame = pandas.DataFrame({"id": list(VOTES), "labels": labels})
    assert figures(spagree.measure(frame, format="lists")) == figures(agreement_of(VOTES, named=False))
    with pytest.raises(DataError, match='format="lists"'):
        spagree.measure(frame, label="labels")


@pytest.mark.parametrize("mark", [",", ", ", ";", "|", " "])
def test_values_without_brackets_are_separated_in_one_way(mark: str, tmp_path: Path) -> None:
    votes = voted(("0", "1"))
    rows = {"id": list(votes), "labels": [mark.join(given.values()) for given in votes.values()]}
    polars.DataFrame(rows).write_csv(tmp_path / "votes.csv")
    found = spagree.measure(tmp_path / "votes.csv", format="lists")
    assert figures(found) == figures(agreement_of(votes, named=False))


def test_the_item_may_be_a_path_too(tmp_path: Path) -> None:
    rows = [{"meta": {"the id": item}, "votes": {"by": given}} for item, given in VOTES.items()]
    found = spagree.measure(
        saved(tmp_path / "a.json", {"entries": rows}), format="lists", item="meta.the id", label="votes.by"
    )
    assert figures(found) == figures(agreement_of(VOTES)) and set(found.items()["item"]) == set(VOTES)


def test_objects_from_annotators_to_labels(tmp_path: Path) -> None:
    path = saved(
        tmp_path / "votes.jsonl", [{"id": item, "by": {**given, "Zoe": None}} for item, given in VOTES.items()]
    )
    assert figures(spagree.measure(path, format="lists", label="by"))[:3] == figures(agreement_of(VOTES))[:3]


def test_whole_numbers_by_names_may_be_ratings_or_counts(tmp_path: Path) -> None:
    rows = [{"id": i, "by": {"mia": i % 3 + 1, "ben": 2}} for i in range(9)]
    found = spagree.measure(saved(tmp_path / "a.jsonl", rows), format="lists", label="by")
    assert "counts_or_ratings" in [warning.code for warning in found.warnings] and found.data.annotators is None
    named = [{"id": i, "by": {"annotator_1": i % 3 + 1, "annotator_2": 2}} for i in range(9)]
    assert spagree.measure(saved(tmp_path / "b.jsonl", named), format="lists", label="by").data.annotators == 2


def test_the_order_of_a_list_names_annotators_only_if_asked_and_if_lengths_are_equal(tmp_path: Path) -> None:
    rows = [{"id": i, "labels": ["a", "b" if i % 2 else "a", None if i == 3 else "a"]} for i in range(8)]
    path = saved(tmp_path / "votes.jsonl", rows)
    unknown = spagree.measure(path, format="lists")
    known = spagree.measure(path, format="lists", same_annotators=True)
    assert (unknown.data.annotators, known.data.annotators) == (None, 3)
    assert unknown.spa.value == known.spa.value
    assert known.data.annotations == 23  # null is missing
    uneven = saved(tmp_path / "uneven.jsonl", [*rows, {"id": 8, "labels": ["a"]}])
    with pytest.raises(DataError, match=r"1 \(row 9\) and 3"):
        spagree.measure(uneven, format="lists", same_annotators=True)


def test_items_that_repeat_are_refused_in_one_sentence_and_rows_can_be_the_items(tmp_path: Path) -> None:
    rows = [{"text": "the same", "labels": ["a", "a", "b"]} for _ in range(5)]
    path = saved(tmp_path / "votes.jsonl", rows)
    with pytest.raises(DataError) as refused:
        spagree.measure(path, format="lists", item="text", label="labels")
    assert 'item=":row"' in str(refused.value) and len(str(refused.value).splitlines()) == 1
    assert spagree.measure(path, format="lists", item=":row", label="labels").data.items == 5


@pytest.mark.parametrize(
    ("cell", "says"), [("[1, 2", "1 cell is neither a list nor an object"), ('{"a": 1}', "lists and 1 objects")]
)
def test_cells_that_hold_something_else_are_refused(cell: str, says: str, tmp_path: Path) -> None:
    cells = ['["a", "b"]', '["b", "b"]', cell]
    polars.DataFrame({"id": [1, 2, 3], "labels": cells}).write_csv(tmp_path / "votes.csv")
    with pytest.raises(DataError, match=says):
        spagree.measure(tmp_path / "votes.csv", format="lists")


def test_more_annotators_than_labels_are_refused_with_the_row(tmp_path: Path) -> None:
    path = saved(tmp_path / "votes.jsonl", [{"id": 1, "labels": ["a", "b"], "who": ["x", "y", "z"]}])
    with pytest.raises(DataError, match="row 1: 2 labels and 3 annotators"):
        spagree.measure(path, format="lists", label="labels", annotator="who")


@pytest.mark.parametrize("more", [{"time": "when"}, {"question": "q"}, {"label": ["a", "b"]}])
def test_options_that_mean_nothing_here_are_refused(more: dict[str, Any], tmp_path: Path) -> None:
    path = saved(tmp_path / "votes.jsonl", [{"id": 1, "labels": ["a", "b"]}])
    with pytest.raises(UsageError):
        spagree.measure(path, format="lists", **more)


# Lists that are read as labels -------------------------------------------------------------------


def test_a_list_with_one_value_twice_is_no_set_even_where_people_are_known(tmp_path: Path) -> None:
    rows = [{"item": i // 2, "annotator": "ab"[i % 2], "label": '["x", "x"]' if i == 7 else '["x"]'} for i in range(20)]
    with pytest.raises(DataError, match="has one value twice and so is no set"):
        spagree.measure(polars.DataFrame(rows))


@pytest.mark.parametrize("mark", [",", "; "])
def test_values_with_a_separator_in_the_one_row_of_each_item_are_a_list(mark: str, tmp_path: Path) -> None:
    rows = {"id": range(40), "label": [mark.join("10"[(n + k) % 3 % 2] for k in range(3)) for n in range(40)]}
    polars.DataFrame(rows).write_csv(tmp_path / "votes.csv")
    with pytest.raises(DataError, match='format="lists", item="id", label="label"'):
        spagree.measure(tmp_path / "votes.csv")


def test_objects_that_are_read_as_labels_are_refused_with_the_way_to_read_them(tmp_path: Path) -> None:
    frame = polars.DataFrame({"id": list(VOTES), "labels": [str(given) for given in VOTES.values()]})
    frame.write_csv(tmp_path / "votes.csv")
    with pytest.raises(DataError, match='format="lists", item="id", label="labels"'):
        spagree.measure(tmp_path / "votes.csv")


def test_sets_of_options_are_still_labels() -> None:
    rows = [{"item": i // 2, "annotator": "ab"[i % 2], "label": '["x", "y"]' if i % 3 else "x"} for i in range(20)]
    assert spagree.measure(polars.DataFrame(rows)).data.items == 10


def test_a_label_alone_and_in_a_list_would_be_two_labels() -> None:
    rows = [{"item": i // 2, "annotator": "ab"[i % 2], "label": '["x"]' if i % 3 else "x"} for i in range(20)]
    with pytest.raises(DataError, match="which would be two labels"):
        spagree.measure(polars.DataFrame(rows))
