"""Laws of reading: whatever is written comes back; whatever is broken is refused, never half read."""

from __future__ import annotations

import csv
import gzip
import io
import json
import tempfile
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from examples import TIMES, examples
from spagree.errors import SpagreeError
from spagree.read import read
from spagree.read.files.delimited import DELIMITERS, fits, sniff

LAW = examples(30, suppress_health_check=list(HealthCheck))
TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)
AWKWARD = st.sampled_from(
    ["", " ", '"', '""', ",", ";", "\n", "\r\n", "\r", "\t", "NA", "#", "'", "\\", "é", "\ufeff", "=1"]
)
CELL = st.one_of(TEXT, AWKWARD, st.lists(AWKWARD, max_size=4).map("".join))
TABLE = st.lists(st.tuples(CELL, CELL, CELL), min_size=1, max_size=12)
HEADER = ("item", "annotator", "label")


def found(path: Path, **options: Any) -> list[tuple[Any, ...]]:
    frame = read(path, **options).frame.sort("row").select(list(HEADER)).collect(backend="polars")
    return [tuple(row) for row in frame.rows()]


def with_nulls(table: list[tuple[str, ...]]) -> list[tuple[str | None, ...]]:
    """An empty cell of a text file is missing."""
    return [tuple(cell or None for cell in row) for row in table]


def written(table: list[tuple[str, ...]], delimiter: str, newline: str, quoting: int) -> str:
    stream = io.StringIO()
    writer = csv.writer(stream, delimiter=delimiter, lineterminator=newline, quoting=quoting)  # type: ignore[arg-type]
    writer.writerow(HEADER)
    writer.writerows(table)
    return stream.getvalue()


@LAW
@given(TABLE, st.sampled_from(list(DELIMITERS)), st.sampled_from(["\n", "\r\n", "\r"]), st.booleans())
@example([("a", "b\rc", "d"), ("e", "f", "g")], ",", "\n", True)
@example([("", "", "")], ",", "\n", False)
def test_delimited_files_come_back(table: Any, delimiter: str, newline: str, quoted: bool) -> None:
    bare = any(c in cell for c in "\r\n" for row in table for cell in row)  # Python 3.11 may not quote them
    text = written(table, delimiter, newline, csv.QUOTE_ALL if quoted or bare else csv.QUOTE_MINIMAL)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.csv"
        path.write_text(text, encoding="utf-8", newline="")
        assert found(path) == with_nulls(table)


@LAW
@given(TABLE, st.sampled_from(["utf-8-sig", "utf-16", "utf-32"]), st.booleans())
def test_marked_encodings_come_back(table: Any, encoding: str, packed: bool) -> None:
    data = written(table, ",", "\n", csv.QUOTE_ALL).encode(encoding)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.csv"
        path.write_bytes(gzip.compress(data) if packed else data)
        assert found(path) == with_nulls(table)


@LAW
@given(TABLE, st.booleans(), st.booleans())
def test_json_comes_back(table: Any, as_array: bool, ascii_only: bool) -> None:
    objects = [dict(zip(HEADER, row, strict=True)) for row in table]
    texts = [json.dumps(o, ensure_ascii=ascii_only) for o in objects]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / ("a.json" if as_array else "a.jsonl")
        content = "[" + ",\n".join(texts) + "]" if as_array else "\n".join(texts)
        path.write_text(content, encoding="utf-8", newline="")
        assert found(path) == with_nulls(table)


@LAW
@given(TABLE, st.sampled_from(["parquet", "arrow"]))
def test_typed_files_come_back_with_their_empty_texts(table: Any, kind: str) -> None:
    frame = pl.DataFrame(table, schema=dict.fromkeys(HEADER, pl.String), orient="row")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"a.{kind}"
        frame.write_parquet(path) if kind == "parquet" else frame.write_ipc(path)
        assert found(path) == table


@LAW
@given(TABLE)
def test_triples_come_back(table: Any) -> None:
    frame = read(table).frame.select(list(HEADER)).collect(backend="polars")
    assert [tuple(row) for row in frame.rows()] == table


SCRAP = st.sampled_from(
    [b"a", b"1", b",", b",", b"\n", b"\n", b"\r\n", b"\r", b'"', b'""', b" ", b"\xe9", b"\0", b"#", b";"]
)


def careful(data: bytes) -> list[tuple[str | None, ...]] | None:
    """What Python's strict reader says: the rows, or None where the file must be refused."""
    try:
        stream = io.StringIO(data.decode(), newline="")
        records = [record for record in csv.reader(stream, strict=True) if record]
    except (UnicodeDecodeError, csv.Error):
        return None
    if b"\0" in data or not all(fits(record, 3) for record in records[1:]):
        return None
    return with_nulls([tuple(record[:3]) for record in records[1:]])


@settings(LAW, max_examples=75 * TIMES)
@given(st.lists(SCRAP, min_size=1, max_size=30).map(b"".join))
@example(b'1,2,"3\n')
@example(b"1,2\n")
@example(b"1,2,3\r\n4,5,6\n")
@example(b'1,2,3\n"4",5,"6')
@example(b"1,2,3,\n")
@example(b"\n\n\n")
def test_scraps_are_read_like_the_careful_reader_or_refused(scrap: bytes) -> None:
    """The fast reader must find the same rows, and refuse what the careful one refuses."""
    assume(b' "' not in scrap and b'" ' not in scrap)  # blanks around a quoted cell: see test_read_files
    data = b"item,annotator,label\n" + scrap
    expected = careful(data)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.csv"
        path.write_bytes(data)
        if not expected:
            with pytest.raises(SpagreeError):
                found(path)
        else:
            assert found(path) == expected


@LAW
@given(st.binary(min_size=1, max_size=200), st.sampled_from(["a.csv", "a.jsonl", "a.json", "a.parquet", "a.xlsx", "a"]))
@example(b"PAR1PAR1", "a")
@example(b"ARROW1\0\0", "a")
@example(b"PK\x03\x04", "a")
@example(b"\x1f\x8b\x08\x00", "a")
@example(b"\x28\xb5\x2f\xfd\x00", "a")
@example(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "a")
@example(b"\xff\xfe\x00", "a")
@example(b"[1", "a")
@example(b'{"a": ' * 50, "a")
def test_any_bytes_end_in_a_refusal_of_ours(data: bytes, name: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(data)
        with pytest.raises(SpagreeError) as caught:
            read(path)
        assert caught.value.exit_code in (2, 3, 4)
        assert len(str(caught.value)) > 20


@LAW
@given(st.integers(2, 6), st.integers(1, 30), st.sampled_from(list(DELIMITERS)), st.sampled_from([",", "\t"]))
def test_the_delimiter_of_an_even_table_is_found(width: int, height: int, delimiter: str, expected: str) -> None:
    text = "".join(delimiter.join(f"v{i}{j}" for j in range(width)) + "\n" for i in range(height))
    assert sniff(text, expected) == delimiter
