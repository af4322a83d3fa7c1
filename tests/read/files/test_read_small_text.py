"""Small plain files are read and counted in memory: the same documents as on duckdb, and everything else on duckdb."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import spagree
from both_ways import COMPARED, in_memory_rows, outcome
from examples import examples
from spagree.read import read
from spagree.read.files import delimited, paths

PLAIN = "item,annotator,label\nq1,ann,yes\nq1,bob,no\nq2,ann,yes\nq2,bob,yes\nq3,ann,no\nq3,cyd,no\n"
ROWS = PLAIN.partition("\n")[2]


def saved(folder: Path, content: str | bytes, name: str = "labels.csv") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def split_here(path: Path) -> bool:
    """Whether the rows are split in Python, and not by duckdb."""
    (file,) = paths.gather([path], path.parent)
    return bool(delimited.plain_rows(delimited.open_delimited(file, None, True, path.parent))[1])


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (PLAIN, "labels.csv"),
        (PLAIN.removesuffix("\n"), "labels.csv"),
        (PLAIN.replace(",", "\t"), "labels.tsv"),
        (PLAIN.replace(",", ";"), "labels.csv"),
        (PLAIN + "q4,,yes\nq4,ann,\n,ann,yes\n", "labels.csv"),
        (PLAIN.replace("yes", " été 中"), "labels.csv"),
        (PLAIN.replace("\n", "\r\n"), "labels.csv"),
        (PLAIN.replace("\n", "\r\n") + "q4,ann,yes", "labels.csv"),
        (PLAIN.replace("annotator", "x"), "labels.csv"),
        (gzip.compress(PLAIN.encode(), mtime=0), "labels.csv.gz"),
        (PLAIN.encode("utf-16"), "labels.csv"),
    ],
)
def test_plain_rows_stay_in_memory_and_count_the_same(content: str | bytes, name: str, tmp_path: Path) -> None:
    path = saved(tmp_path, content, name)
    assert in_memory_rows(path) and split_here(path)
    COMPARED.clear()
    assert outcome(path) == outcome(path, engine="duckdb")
    assert [str(path)] == COMPARED


@pytest.mark.parametrize(
    "content",
    [
        PLAIN.replace("yes", '"yes"'),
        PLAIN.replace("q1", 'q"1'),
        PLAIN.replace("\n", "\r"),
        PLAIN.replace("\n", "\r\n") + "q4,ann,yes\n",
        PLAIN.replace("\n", "\r\n") + "q4,ann,y\res",
        PLAIN + "q4,ann,y\res\n",
        "\ufeff" + PLAIN,
        "# made by hand\n" + PLAIN,
        "\n" + PLAIN,
        "sep=,\n" + PLAIN,
        PLAIN.replace("q2,ann,yes\n", "q2,ann,yes\n\n"),
        PLAIN + "\n",
        PLAIN.replace("q2,ann,yes\n", "q2,ann,yes,\n"),
        PLAIN.replace("q2,ann,yes\n", "q2,ann\n"),
        PLAIN.replace("q2,ann,yes\n", "q2,ann,yes,more\n"),
        PLAIN + "q4,ann,\0\n",
        "item,annotator,label\n",
        "item\nq1\nq1\n",
        PLAIN + "".join(f"item-{row},ann,yes\n" for row in range(1 << 15)),
    ],
    ids=lambda content: repr(content)[-40:],
)
def test_whatever_needs_interpretation_is_split_by_duckdb(content: str | bytes, tmp_path: Path) -> None:
    path = saved(tmp_path, content)
    assert outcome(path) == outcome(path, engine="duckdb")
    try:
        assert not split_here(path)
    except spagree.DataError:
        assert issubclass(outcome(path)[0], spagree.DataError)


@pytest.mark.parametrize(
    "options",
    [
        {"engine": "duckdb"},
        {"missing": ["no"]},
        {"where": "label=yes"},
        {"exclude_annotator": "cyd"},
        {"pseudonymise": "secret"},
        {"item": ["item", "part"]},
        {"cluster": "part"},
        {"by": "part"},
        {"text": "part"},
    ],
    ids=str,
)
def test_other_questions_are_left_to_duckdb(options: dict[str, Any], tmp_path: Path) -> None:
    parts = "item,annotator,label,part\n" + "".join(f"{row},p\n" for row in ROWS.splitlines())
    assert in_memory_rows(saved(tmp_path, parts))
    assert not in_memory_rows(saved(tmp_path, parts), **options)


def test_times_are_read_by_duckdb(tmp_path: Path) -> None:
    lines = [f"{line},2026-01-0{n % 9 + 1}" for n, line in enumerate(ROWS.splitlines())]
    path = saved(tmp_path, "item,annotator,label,timestamp\n" + "\n".join(lines))
    assert not in_memory_rows(path)
    with pytest.raises(spagree.UsageError, match="time_format="):
        read(saved(tmp_path, PLAIN), time_format="%Y")


@pytest.mark.parametrize("options", [{"normalize": True}, {"separator": ";"}, {"metric": "jaccard"}])
def test_policies_that_change_labels_are_applied_by_duckdb(options: dict[str, Any], tmp_path: Path) -> None:
    path = saved(tmp_path, PLAIN.replace("bob,no", "bob,Yes ").replace("yes", "a;b"))
    COMPARED.clear()
    assert outcome(path, **options) == outcome(path, engine="duckdb", **options)
    assert COMPARED == []


@pytest.mark.parametrize("policy", ["error", "first", "last", "set", "keep"])
@pytest.mark.parametrize("again", ["q1,ann,yes\n", "q1,ann,no\n"])
def test_repeats_are_settled_by_duckdb(policy: str, again: str, tmp_path: Path) -> None:
    path = saved(tmp_path, PLAIN + again)
    COMPARED.clear()
    assert outcome(path, duplicates=policy) == outcome(path, engine="duckdb", duplicates=policy)
    assert COMPARED == []


@pytest.mark.parametrize("policy", ["error", "first", "last", "set", "keep"])
def test_without_repeats_a_policy_changes_nothing(policy: str, tmp_path: Path) -> None:
    COMPARED.clear()
    assert outcome(saved(tmp_path, PLAIN), duplicates=policy) == outcome(saved(tmp_path, PLAIN))
    assert len(COMPARED) == 2


CELL = st.text(st.sampled_from(list("abAB01. é\u0301#-{[':;|=\\\t\u2028\ufeff")), max_size=3)


@examples(20)
@given(st.lists(st.tuples(CELL, CELL, CELL), min_size=1, max_size=30), st.sampled_from(["", "\n"]))
def test_any_cells_give_the_same_document(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str, str]], end: str
) -> None:
    path = tmp_path_factory.mktemp("cells") / "labels.csv"
    path.write_text("\n".join(map(",".join, [("item", "annotator", "label"), *rows])) + end, newline="")
    assert outcome(path) == outcome(path, engine="duckdb")


def test_breakdowns_load_the_same_rows_later_even_if_the_file_is_gone(tmp_path: Path) -> None:
    path = saved(tmp_path, PLAIN + "q4,,yes\nq4,ann,\n")
    whole = spagree.measure(path, engine="duckdb")
    found = spagree.measure(path)
    path.unlink()
    assert_frame_equal(found.items(), whole.items(), check_row_order=False)
    assert_frame_equal(found.annotators(), whole.annotators())
    assert_frame_equal(found.pairs(), whole.pairs())
    assert found.returned is not None
    assert read(saved(tmp_path, PLAIN)).frame.to_native().fetchall()[0] == ("q1", "ann", "yes", 2)


def test_many_items_are_counted_by_duckdb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = saved(tmp_path, PLAIN)
    monkeypatch.setattr(delimited, "MOST_COMPARED", 1)
    COMPARED.clear()
    assert in_memory_rows(path) and outcome(path)["spa"]["value"] == pytest.approx(2 / 3)
    assert COMPARED == []


def test_several_files_are_one_table(tmp_path: Path) -> None:
    first, second = saved(tmp_path, PLAIN), saved(tmp_path, PLAIN.replace("q", "p"), "more.csv")
    COMPARED.clear()
    assert outcome([first, second]) == outcome([first, second], engine="duckdb")
    assert len(COMPARED) == 1


def test_a_file_that_changes_after_its_header_was_read_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, content = saved(tmp_path, PLAIN), delimited.plain_rows

    def changed(file: Any) -> Any:
        path.write_text(PLAIN + "q9,ann,yes\n")
        return content(file)

    monkeypatch.setattr(delimited, "plain_rows", changed)
    with pytest.raises(spagree.FileError, match="changed while it was being read"):
        read(path)


def test_annotators_that_nobody_names_are_unknown(tmp_path: Path) -> None:
    path = saved(tmp_path, "item,annotator,label\nq1,,yes\nq1,,no\nq2,,yes\n")
    assert outcome(path) == outcome(path, engine="duckdb")
    without = saved(tmp_path, "item,label\nq1,yes\nq1,no\nq2,yes\nq2,yes\n", "pairs.csv")
    assert in_memory_rows(without) and outcome(without) == outcome(without, engine="duckdb")
    with pytest.raises(spagree.UsageError, match="the annotators are unknown"):
        spagree.measure(without).annotators()
