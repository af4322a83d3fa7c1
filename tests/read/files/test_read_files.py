"""Reading files: formats, compressions, encodings, several files, and every bad file of BARS.md."""

from __future__ import annotations

import gzip
import io
import json
import os
import random
import sys
import tempfile
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import zstandard

from spagree.errors import ColumnError, DataError, FileError, MissingExtraError, SpagreeError, UsageError
from spagree.read import Annotations, read

ROWS = [("i1", "ann", "cat"), ("i1", "bob", "dog"), ("i2", "ann", "cat")]
CSV = b"item,annotator,label\ni1,ann,cat\ni1,bob,dog\ni2,ann,cat\n"


def rows(annotations: Annotations, *columns: str) -> list[tuple[Any, ...]]:
    """The rows in source order, restricted to some columns."""
    wanted = list(columns or ("item", "annotator", "label"))
    frame = annotations.frame.sort("row").select(wanted)
    return [tuple(row) for row in frame.collect(backend="polars").rows()]


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    def write_bytes(name: str, content: bytes) -> Path:
        path = tmp_path / name
        path.write_bytes(content)
        return path

    return write_bytes


def refusal(error: type[SpagreeError], source: Any, **options: Any) -> str:
    with pytest.raises(error) as caught:
        read(source, **options)
    assert type(caught.value) is error
    return str(caught.value)


# ── kinds and compressions ──


def written(kind: str, rows: Any = ROWS) -> bytes:
    """The rows in a format that polars writes."""
    buffer, frame = io.BytesIO(), pl.DataFrame(rows, schema=["item", "annotator", "label"], orient="row")
    getattr(frame, f"write_{kind}")(buffer)
    return buffer.getvalue()


def objects() -> list[dict[str, str]]:
    return [dict(zip(("item", "annotator", "label"), row, strict=True)) for row in ROWS]


def json_lines() -> bytes:
    return "".join(json.dumps(o) + "\n" for o in objects()).encode()


KINDS: dict[str, Callable[[], bytes]] = {
    ".csv": lambda: CSV,
    ".tsv": lambda: CSV.replace(b",", b"\t"),
    ".txt": lambda: CSV.replace(b",", b"|"),
    ".jsonl": json_lines,
    ".ndjson": lambda: b"\xef\xbb\xbf" + json_lines(),
    ".json": lambda: json.dumps(objects(), indent=1).encode(),
    ".parquet": partial(written, "parquet"),
    ".feather": partial(written, "ipc"),
    ".xlsx": partial(written, "excel"),
}
COMPRESSIONS: dict[str, Callable[[bytes], bytes]] = {
    "": lambda data: data,
    ".gz": gzip.compress,
    ".zst": lambda data: zstandard.ZstdCompressor().compress(data),
}


@pytest.mark.parametrize("compression", COMPRESSIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_in_every_compression_gives_the_same_rows(kind: str, compression: str, write: Any) -> None:
    path = write("data" + kind + compression, COMPRESSIONS[compression](KINDS[kind]()))
    annotations = read(path)
    assert rows(annotations) == ROWS
    assert annotations.understood.examples == tuple(ROWS)
    assert annotations.understood.source == str(path)
    assert annotations.warnings == ()


@pytest.mark.parametrize("kind", [".csv", ".jsonl", ".parquet", ".feather", ".xlsx"])
def test_the_content_decides_not_the_name(kind: str, write: Any) -> None:
    assert rows(read(write("data.dat", KINDS[kind]()))) == ROWS
    assert rows(read(write("packed", gzip.compress(KINDS[kind]())))) == ROWS
    assert rows(read(write(f"plain{kind}.gz", KINDS[kind]()))) == ROWS


def test_gzip_of_several_members_and_zstd_of_several_frames(write: Any) -> None:
    head, tail = CSV[:30], CSV[30:]
    for suffix, pack in list(COMPRESSIONS.items())[1:]:
        assert rows(read(write("two.csv" + suffix, pack(head) + pack(tail)))) == ROWS


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
@pytest.mark.parametrize("cut", [5, 40, -1, -4])
def test_a_truncated_archive_is_refused_never_shortened(suffix: str, cut: int, write: Any) -> None:
    text = b"item,annotator,label\n" + b"".join(b"i%d,a%d,x\n" % (i, i * 7919 % 997) for i in range(2000))
    packed = COMPRESSIONS[suffix](text)
    message = refusal(FileError, write("data.csv" + suffix, packed[:cut]))
    assert "data.csv" + suffix in message
    assert "truncated" in message
    assert "again" in message


@pytest.mark.parametrize(("kind", "cut"), [(".parquet", 200), (".feather", 100), (".xlsx", 500)])
def test_a_truncated_table_is_a_file_error_with_remedy(kind: str, cut: int, write: Any) -> None:
    message = refusal(FileError, write("cut" + kind, KINDS[kind]()[:cut]))
    assert "cut" + kind in message
    assert "again" in message
    assert FileError.exit_code == 4


def test_a_zip_archive_that_is_no_workbook(tmp_path: Path) -> None:
    import zipfile

    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.csv", CSV)
    assert "unpack it" in refusal(FileError, path)


def test_a_missing_extra_is_named(write: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    packed, sheet = write("a.csv.zst", COMPRESSIONS[".zst"](CSV)), write("a.xlsx", written("excel"))
    monkeypatch.setitem(sys.modules, "zstandard", None)
    monkeypatch.setitem(sys.modules, "fastexcel", None)
    assert "spagree[zstd]" in refusal(MissingExtraError, packed)
    assert "spagree[excel]" in refusal(MissingExtraError, sheet)


# ── text is exactly what stands in the file ──


def test_labels_and_ids_stay_as_written(write: Any) -> None:
    labels = ["NA", "None", "null", "nan", "1", "1.0", "01", " 1", "1 ", "1e5", "TRUE", "\\N", "NULL", "'"]
    ids = ["00123", "123", "1e5", "100000", "9007199254740993", "9007199254740992", "18446744073709551617"]
    text = "item,annotator,label\n" + "".join(f"{i},a,{x}\n" for i in ids for x in labels)
    found = rows(read(write("a.csv", text.encode())), "item", "label")
    assert found == [(i, x) for i in ids for x in labels]


def test_only_an_empty_cell_is_missing_quoted_or_not(write: Any) -> None:
    text = b'item,annotator,label\ni1,a,\ni2,a,""\n,a,x\ni3,a," "\n'
    assert rows(read(write("a.csv", text)), "item", "label") == [
        ("i1", None), ("i2", None), (None, "x"), ("i3", " ")]  # fmt: skip


def test_missing_names_further_labels_but_no_ids(write: Any) -> None:
    path = write("a.csv", b"item,label\nNA,NA\nx,n/a\ny,ok\n")
    assert rows(read(path, missing=["NA", "n/a"]), "item", "label") == [("NA", None), ("x", None), ("y", "ok")]
    assert rows(read(path, missing="NA"), "item", "label") == [("NA", None), ("x", "n/a"), ("y", "ok")]


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"\xef\xbb\xbf" + CSV, id="BOM"),
        pytest.param(CSV.decode().encode("utf-16"), id="UTF-16 with mark"),
        pytest.param(b"\xfe\xff" + CSV.decode().encode("utf-16-be"), id="UTF-16 big endian"),
        pytest.param(CSV.decode().encode("utf-32"), id="UTF-32"),
        pytest.param(CSV.replace(b"\n", b"\r\n"), id="CRLF"),
        pytest.param(CSV.replace(b"\n", b"\r"), id="CR only"),
        pytest.param(CSV.replace(b"\n", b"\r\n", 2), id="CRLF then LF"),
        pytest.param(CSV.replace(b"t\n", b"t\r\n"), id="LF then CRLF"),
        pytest.param(CSV.rstrip(b"\n"), id="no final newline"),
        pytest.param(b"\n\n" + CSV.replace(b"\n", b"\n\n"), id="blank lines"),
        pytest.param(CSV.replace(b"\n", b",\n"), id="trailing delimiter everywhere"),
        pytest.param(CSV.replace(b"t\n", b"t,\n").replace(b"g\n", b"g,\n"), id="trailing delimiter in data"),
        pytest.param(b'"item","annotator","label"\n"i1","ann","cat"\ni1,bob,"dog"\ni2,ann,cat\n', id="quotes"),
    ],
)
def test_harmless_variants_of_one_file(data: bytes, write: Any) -> None:
    annotations = read(write("a.csv", data))
    assert rows(annotations) == ROWS
    assert annotations.warnings == ()


def test_line_endings_that_change_late_lose_no_row(write: Any) -> None:
    """duckdb 2.0 silently drops the rows after the change; ours must not."""
    count = 300_000
    lines = [b"i%06d,b,lab\r\n" % i for i in range(count)] + [b"i%06d,b,lab\n" % i for i in range(count, count + 3)]
    annotations = read(write("a.csv", b"item,annotator,label\r\n" + b"".join(lines)))
    assert annotations.frame.collect(backend="polars")["item"].n_unique() == count + 3


@pytest.mark.parametrize("newline", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize("quote", [b"", b'"'])
def test_large_files_of_every_line_ending_are_complete(newline: bytes, quote: bytes, write: Any) -> None:
    """Several buffers of the fast reader, so that it splits the file between its threads."""
    count = 400_000
    number = pl.int_range(count, eager=True)
    item, annotator = "i" + number.cast(pl.String).str.zfill(6), (number % 7).cast(pl.String)
    mark = quote.decode()
    line = pl.format(f"{mark}{{}}{mark},a{{}},{mark}label of some length{mark}", item, annotator)
    lines = pl.select(line.str.join(newline.decode())).item().encode()
    annotations = read(write("a.csv", b"item,annotator,label" + newline + lines + newline))
    frame = annotations.frame.select("item", "row").collect(backend="polars").to_native()
    assert frame["row"].to_list() == list(range(2, count + 2))
    assert frame["item"].equals(item.rename("item"))


def test_quoted_newlines_doubled_quotes_and_carriage_returns(write: Any) -> None:
    data = b'item,label\r\n1,"two\nlines"\r\n2,"say ""hi"", ok"\r\n3,"a\r\nb"\r\n'
    expected = [("1", "two\nlines"), ("2", 'say "hi", ok'), ("3", "a\r\nb")]
    assert rows(read(write("a.csv", data)), "item", "label") == expected
    assert rows(read(write("b.csv", data.replace(b"\r\n", b"\n"))), "item", "label")[:2] == expected[:2]


def test_blanks_are_kept_except_between_a_delimiter_and_a_quote(write: Any) -> None:
    data = b'item,label\n 1 ,\ta \n2, "b, c" \n3," d "\n'
    assert rows(read(write("a.csv", data)), "item", "label") == [(" 1 ", "\ta "), ("2", "b, c"), ("3", " d ")]


def test_fields_of_several_megabytes(write: Any) -> None:
    huge = "x, \n" * 1_500_000
    data = f'item,label,text\n1,a,"{huge}"\n2,b,y\n'.encode()
    assert rows(read(write("a.csv", data)), "item", "label") == [("1", "a"), ("2", "b")]
    assert rows(read(write("a.csv", data), label="text"), "label")[0] == (huge,)


def test_encoding_is_honoured_and_its_absence_explained(write: Any) -> None:
    path = write("russian.csv", "item,label\n1,a\n2,да\n".encode("cp1251"))
    message = refusal(DataError, path)
    assert "russian.csv:3:" in message
    assert "0xe4 at position 18 " in message
    assert "encoding=\"cp1252\" reads 'äà'" in message
    assert rows(read(path, encoding="cp1251"), "label") == [("a",), ("да",)]


def test_bad_bytes_late_in_a_file_have_the_right_line(write: Any) -> None:
    lines = [f"{i},é\n" for i in range(200_000)]
    path = write("a.csv", ("item,label\n" + "".join(lines)).encode() + b"x,\xff\n")
    assert "a.csv:200002: not UTF-8: byte 0xff" in refusal(DataError, path)
    cut = write("b.csv", b"item,label\n1,\xc3")
    assert "b.csv:2: not UTF-8: byte 0xc3" in refusal(DataError, cut)


def test_wrong_or_unknown_encoding(write: Any) -> None:
    path = write("a.csv", CSV + b"i,a,\xff\n")
    assert "is not ascii" in refusal(DataError, path, encoding="ascii")
    assert "unknown encoding 'latin-one'" in refusal(UsageError, path, encoding="latin-one")


@pytest.mark.parametrize(("name", "delimiter"), [("a.csv", b";"), ("a.csv", b"\t"), ("a.tsv", b","), ("a.csv", b"|")])
def test_a_delimiter_against_the_extension_works_and_is_said(name: str, delimiter: bytes, write: Any) -> None:
    annotations = read(write(name, CSV.replace(b",", delimiter)))
    assert rows(annotations) == ROWS
    assert [warning.code for warning in annotations.warnings] == ["delimiter"]


def test_commas_inside_semicolon_cells(write: Any) -> None:
    assert rows(read(write("a.csv", b"item;label\n1;1,5\n2;2,5\n")), "label") == [("1,5",), ("2,5",)]


def test_comment_lines_are_skipped_and_said(write: Any) -> None:
    annotations = read(write("a.csv", b"# made by x, y and z\n#\n" + CSV))
    assert rows(annotations) == ROWS
    assert [warning.code for warning in annotations.warnings] == ["comment_lines"]
    assert "2 comment lines" in annotations.warnings[0].message
    assert rows(annotations, "row") == [(4,), (5,), (6,)]


def test_comment_lines_above_mixed_line_endings_keep_the_numbers(write: Any) -> None:
    annotations = read(write("a.csv", b"# note\r\n" + CSV))
    assert rows(annotations) == ROWS
    assert rows(annotations, "row") == [(3,), (4,), (5,)]
    broken = write("b.csv", b"# note\r\nitem,label\n1,x\n2\n")
    assert "b.csv:4: column 'label': too few" in refusal(DataError, broken)


def test_a_hash_below_the_header_is_data(write: Any) -> None:
    assert rows(read(write("a.csv", b"item,label\n#1,x\n")), "item") == [("#1",)]


def test_no_header(write: Any) -> None:
    path = write("a.csv", CSV.split(b"\n", 1)[1])
    annotations = read(path, header=False, item="1", annotator="2", label="3")
    assert rows(annotations) == ROWS
    assert rows(annotations, "row") == [(1,), (2,), (3,)]
    assert "header=False" in refusal(ColumnError, path)


def test_row_numbers_begin_under_the_header(write: Any) -> None:
    assert rows(read(write("a.csv", CSV)), "row") == [(2,), (3,), (4,)]
    assert rows(read(write("a.xlsx", written("excel"))), "row") == [(2,), (3,), (4,)]
    for name, data in (("a.parquet", written("parquet")), ("a.jsonl", json_lines()), ("a.feather", written("ipc"))):
        assert rows(read(write(name, data)), "row") == [(1,), (2,), (3,)]


def test_many_equal_labels_through_the_reader(write: Any) -> None:
    generator = random.Random(1)
    expected = [(f"i{generator.randrange(300)}", f"w{generator.randrange(50)}", "same") for _ in range(100_000)]
    text = "item,annotator,label\n" + "".join(",".join(row) + "\n" for row in expected)
    annotations = read(write("a.csv", text.encode()))
    assert rows(annotations) == expected
    assert rows(annotations, "row") == [(i,) for i in range(2, 100_002)]


# ── bad files: the error, its exit code, and what the message names ──


def changed(content: bytes, place: int, by: bytes) -> bytes:
    return content[:place] + by + content[place + len(by) :]


BAD: dict[str, tuple[str, bytes, type[SpagreeError], list[str]]] = {
    "empty file": ("a.csv", b"", DataError, ["a.csv", "empty", "check"]),
    "blank lines only": ("a.csv", b"\n\n  \n", DataError, ["a.csv", "no rows", "check"]),
    "header only": ("a.csv", b"item,label\n", DataError, ["a.csv", "no data rows", "check"]),
    "header, no newline": ("a.csv", b"item,label", DataError, ["a.csv", "no data rows", "check"]),
    "too few": ("a.csv", b"item,label\n1,a\n2\n3,b\n", DataError, ["a.csv:3:", "'label'", "too few", "1 instead of 2"]),
    "too few, last line": (
        "a.csv",
        b"item,label,x\n1,a,b\n2,b\n",
        DataError,
        ["a.csv:3:", "'x'", "too few", "correct"],
    ),
    "too many": ("a.csv", b"item,label\n1,a,b\n", DataError, ["a.csv:2:", "too many", "'b'", "in quotes"]),
    "unclosed quote": ("a.csv", b'item,label\n1,"a\n2,b\n', DataError, ["a.csv:2:", "never closed", '""']),
    "unclosed quote at the end": ("a.csv", b'item,label\n1,b\n2,"a', DataError, ["a.csv:3:", "never closed"]),
    "text after quote": ("a.csv", b'item,label\n1,"a"b\n', DataError, ["a.csv:2:", "closing quote", '""']),
    "NUL byte": ("a.csv", b"item,label\n1,a\n2,b\0c\n", DataError, ["a.csv:3:", "NUL", "export"]),
    "doubled column": ("a.csv", b"item,label,label\n1,a,b\n", ColumnError, ["2 columns", "'label', 'label'", "rename"]),
    "ambiguous label": ("a.csv", b"id,class,answer\n1,a,b\n", ColumnError, ["'class', 'answer'", "label="]),
    "nothing guessable": ("a.csv", b"foo,bar\n1,a\n", ColumnError, ["'foo', 'bar'", "item=", "label="]),
    "a cut line": ("a.jsonl", b'{"item": 1, "label": 2}\n{"item": 1,\n', DataError, ["a.jsonl:2:", "not JSON"]),
    "a list among objects": (
        "a.jsonl",
        b'{"item": 1, "label": 2}\n\n[1]\n',
        DataError,
        ["a.jsonl:3:", "expected an object"],
    ),
    "NUL in a text": ("a.jsonl", b'{"item": 1, "label": "a\\u0000b"}\n', DataError, ["a.jsonl:1:", "NUL"]),
    "a cut array": ("a.json", b'[{"item": 1, "label": 2},\n {"item": 1', DataError, ["a.json:2:", "not JSON"]),
    "a cut object": ("a.json", b'{\n  "item": 1,\n  "label": \n', DataError, ["a.json:4: column 1", "not JSON"]),
    "a number in an array": (
        "a.json",
        b'[{"item": 1, "label": 2}, 7]',
        DataError,
        ["a.json: object 2", "expected an object"],
    ),
    "an empty array": ("a.json", b"[]", DataError, ["a.json", "no objects"]),
    "bad bytes in JSON": ("a.jsonl", b'{"item": "\xff"}\n', DataError, ["a.jsonl:1:", "0xff", "encoding="]),
    "NUL byte late": (
        "a.csv",
        b"item,label\n" + b"1,abcdefgh\n" * 100_000 + b"2,\0\n",
        DataError,
        ["a.csv:100002: NUL"],
    ),
    "control characters": ("a.csv", b"item,label\n1,a,\x1b[31mred\n", DataError, ["\\x1b[31mred"]),
    "corrupt gzip": ("a.gz", changed(gzip.compress(CSV * 50), 20, b"\xff"), FileError, ["damaged"]),
    "corrupt zstd": (
        "a.zst",
        changed(COMPRESSIONS[".zst"](CSV * 500), 9, b"\xff" * 11),
        FileError,
        ["truncated or damaged"],
    ),
    "text called .parquet": ("a.parquet", CSV, FileError, ["a.parquet", "misnamed"]),
    "text called .xlsx": ("a.xlsx", CSV, FileError, ["a.xlsx", "misnamed"]),
    "text called .feather": ("a.feather", CSV, FileError, ["a.feather", "misnamed"]),
    "Parquet without rows": ("a.parquet", written("parquet", ROWS[:0]), DataError, ["no data rows"]),
}


@pytest.mark.parametrize("which", BAD)
def test_bad_files(which: str, write: Any) -> None:
    name, content, error, parts = BAD[which]
    message = refusal(error, write(name, content))
    assert error.exit_code == (4 if error is FileError else 3)
    assert all(part in message for part in parts), message
    assert "\x1b" not in message


def test_three_ragged_rows_are_shown_and_the_others_counted(write: Any) -> None:
    path = write("a.csv", b"item,label\n" + b"1,a\n2\n" * 25)
    with pytest.raises(DataError) as caught:
        read(path)
    assert caught.value.total == 25
    assert len(caught.value.problems) == 3
    assert "… and 22 more" in str(caught.value)


def test_utf16_without_mark_is_recognised_as_such(write: Any) -> None:
    path = write("a.csv", CSV.decode().encode("utf-16-le"))
    assert 'encoding="utf-16"' in refusal(DataError, path)
    assert rows(read(path, encoding="utf-16-le")) == ROWS


# ── JSON ──


def test_json_numbers_stay_as_written_and_other_values_become_text(write: Any) -> None:
    lines = [
        '{"item": 9007199254740993, "label": 1.0}',
        '{"item": 1e5, "label": true}',
        '{"item": "x", "label": null}',
        '{"item": "x", "label": {"a": [1, 2.50]}}',
        '{"item": NaN, "label": ""}',
        '{"item": "only"}',
    ]
    assert rows(read(write("a.jsonl", "\n".join(lines).encode())), "item", "label") == [
        ("9007199254740993", "1.0"),
        ("1e5", "true"),
        ("x", None),
        ("x", '{"a":[1,2.50]}'),
        ("NaN", None),
        ("only", None),
    ]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
@pytest.mark.parametrize("name", ["a.json", "a.jsonl", "a"])
def test_json_in_any_unicode_encoding(encoding: str, name: str, write: Any) -> None:
    text = json_lines().decode() if name == "a.jsonl" else json.dumps(objects())
    assert rows(read(write(name, text.encode(encoding)))) == ROWS


def test_json_keys_that_come_late_and_texts_that_csv_would_have_to_quote(write: Any) -> None:
    data = [{"label": "a"}, {"label": 'say "x",\r\n', "item": "2"}, {"item": "3"}]
    found = rows(read(write("a.json", json.dumps(data).encode())), "item", "label")
    assert found == [(None, "a"), ("2", 'say "x",\r\n'), ("3", None)]


# ── several files ──


def test_globs_are_sorted_and_rows_run_on(write: Any, tmp_path: Path) -> None:
    write("b.csv", CSV.replace(b"i", b"j").replace(b"jtem", b"item"))
    write("a.csv", CSV)
    annotations = read(str(tmp_path / "*.csv"))
    assert rows(annotations, "item") == [("i1",), ("i1",), ("i2",), ("j1",), ("j1",), ("j2",)]
    assert rows(annotations, "row") == [(i,) for i in range(2, 8)]
    assert annotations.understood.source.endswith("a.csv and others, 2 files in all")


def test_files_of_other_dialects_and_column_orders_are_joined_by_name(write: Any) -> None:
    other = write("b.tsv", b"label\titem\tannotator\nowl\ti9\teve\n")
    more = write("c.jsonl", b'{"item": "i10", "annotator": "eve", "label": "owl"}\n')
    assert rows(read([write("a.csv", CSV), other, str(more)])) == [
        *ROWS, ("i9", "eve", "owl"), ("i10", "eve", "owl")]  # fmt: skip


def test_times_in_parquet_may_be_text(tmp_path: Path) -> None:
    rows = [
        ("q", "ann", "new", "2024-01-02T00:00:00Z"),
        ("q", "ann", "old", "2024-01-01 00:00:00"),
        ("q", "bob", "new", None),
    ]
    path = tmp_path / "a.parquet"
    pl.DataFrame(rows, schema=["item", "annotator", "label", "time"], orient="row").write_parquet(path)
    frame = read(path).frame.collect(backend="polars")
    assert dict(zip(frame["row"], frame["time"], strict=True)) == {1: 1704153600, 2: 1704067200, 3: None}


@pytest.mark.parametrize("kind", [".parquet", ".feather"])
@pytest.mark.parametrize("pack", ["", ".gz"])
def test_several_typed_files(kind: str, pack: str, write: Any) -> None:
    paths = [write(f"{n}{kind}{pack}", COMPRESSIONS[pack](KINDS[kind]())) for n in "ab"]
    annotations = read(paths)
    assert rows(annotations) == ROWS * 2
    assert rows(annotations, "row") == [(i,) for i in range(1, 7)]


def test_files_with_other_columns_are_named_with_the_difference(write: Any) -> None:
    message = refusal(DataError, [write("a.csv", CSV), write("b.csv", b"item,label,note\n1,a,x\n")])
    assert "b.csv" in message
    assert "lacks 'annotator'" in message
    assert "adds 'note'" in message


def test_typed_files_with_other_types_are_refused(tmp_path: Path) -> None:
    for name, value in (("a", "x"), ("b", 1)):
        pl.DataFrame({"item": [value], "label": ["x"]}).write_parquet(tmp_path / f"{name}.parquet")
        pl.DataFrame({"item": [value], "label": ["x"]}).write_ipc(tmp_path / f"{name}.arrow")
    assert "b.parquet" in refusal(DataError, str(tmp_path / "*.parquet"))
    assert "b.arrow" in refusal(DataError, str(tmp_path / "*.arrow"))
    assert "different kinds" in refusal(UsageError, [tmp_path / "a.arrow", tmp_path / "a.parquet"])


def test_parquet_keeps_types_nulls_and_empty_texts(tmp_path: Path) -> None:
    path = tmp_path / "a[1].parquet"
    pl.DataFrame({"item": [2**60 + 1, None], "label": ["", None]}).write_parquet(path)
    assert rows(read(path), "item", "label") == [(2**60 + 1, ""), (None, None)]


def test_excel_numbers_have_no_decimals_and_empty_sheets_are_refused(tmp_path: Path) -> None:
    frame = pl.DataFrame({"item": [1, 2, 3], "label": [1.0, None, 2.5]})
    frame.write_excel(tmp_path / "a.xlsx")
    assert rows(read(tmp_path / "a.xlsx"), "item", "label") == [("1", "1"), ("2", None), ("3", "2.5")]
    import xlsxwriter

    xlsxwriter.Workbook(tmp_path / "b.xlsx").close()
    assert "has no rows" in refusal(DataError, tmp_path / "b.xlsx")


# ── what cannot be opened ──


def test_missing_file_directory_glob_and_url(tmp_path: Path) -> None:
    assert "no such file" in refusal(FileError, tmp_path / "nothing.csv")
    assert "is a folder" in refusal(FileError, tmp_path)
    assert "no file matches" in refusal(FileError, str(tmp_path / "*.csv"))
    for url in ("https://example.org/a.csv", "s3://bucket/a.parquet"):
        assert "download it first" in refusal(FileError, url)
    assert "NUL" in refusal(FileError, "a\0b.csv")


def test_a_file_whose_name_looks_like_a_glob(write: Any) -> None:
    write("a1b.csv", b"item,annotator,label\nwrong,wrong,wrong\n")
    write("a1b.parquet", b"PAR1")
    assert rows(read(str(write("a[1]*.csv", CSV)))) == ROWS
    assert rows(read(str(write("a[1]*.parquet", written("parquet"))))) == ROWS


def test_a_pipe_is_read_once(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(CSV,))
    writer.start()
    assert rows(read(pipe)) == ROWS
    writer.join()


def test_no_permission(write: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write("secret.csv", CSV)
    original = Path.open

    def forbidden(self: Path, *args: Any, **kwargs: Any) -> Any:
        if self.name == "secret.csv":
            raise PermissionError(13, "Permission denied")
        return original(self, *args, **kwargs)

    monkeypatch.setattr(Path, "open", forbidden)
    message = refusal(FileError, path)
    assert "secret.csv: no permission" in message
    assert "chmod" in message


def test_a_full_disk_is_a_file_error(write: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any, **__: Any) -> Any:
        raise OSError(28, "No space left on device", "scratch")

    packed, text, mixed = (
        write("a.gz", gzip.compress(CSV)),
        write("a.jsonl", json_lines()),
        write("m.csv", CSV + b"\r\n"),
    )
    monkeypatch.setattr("spagree.read.files.delimited.new_file", full)
    assert "scratch: No space left on device; check the path, the disk" in refusal(FileError, text)
    assert "No space left" in refusal(FileError, mixed)
    monkeypatch.setattr("spagree.read.files.paths._gzip_blocks", full)
    assert "a.gz: cannot be decompressed (No space left on device)" in refusal(FileError, packed)


def test_a_stream_that_breaks_off_and_paths_as_bytes(write: Any) -> None:
    class Broken(io.RawIOBase):
        def read(self, size: int = -1) -> bytes:
            raise OSError(5, "Input/output error")

    assert "cannot be read" in refusal(FileError, Broken())
    assert rows(read(os.fsencode(write("a.csv", CSV)))) == ROWS


def test_a_path_the_system_refuses(tmp_path: Path) -> None:
    loop = tmp_path / "loop.csv"
    loop.symlink_to(loop)
    assert "loop.csv" in refusal(FileError, loop)
    assert "check the path" in refusal(FileError, str(tmp_path / ("x" * 300)))


def test_what_duckdb_cannot_read_for_reasons_of_its_own(write: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import duckdb

    def exhausted(*_: Any) -> None:
        raise duckdb.OutOfMemoryException("Out of Memory Error: failed to allocate")

    monkeypatch.setattr("spagree.read.files.duckdb._select", exhausted)
    message = refusal(FileError, write("a.csv", CSV), engine="duckdb")
    assert "a.csv: cannot be read (Out of Memory Error" in message
    assert "free disk space or memory" in message


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(gzip.compress(CSV))))
    annotations = read("-")
    assert rows(annotations) == ROWS
    assert annotations.understood.source == "<stdin>"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(written("parquet"))))
    assert rows(read("-")) == ROWS


def test_standard_input_that_brings_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    assert "0 bytes" in refusal(DataError, "-")
    monkeypatch.setattr(sys, "stdin", Terminal())
    assert "terminal" in refusal(UsageError, "-")
    closed = io.StringIO()
    closed.close()
    for stream in (None, closed):
        monkeypatch.setattr(sys, "stdin", stream)
        assert "closed" in refusal(FileError, "-")


def test_file_objects_binary_and_text(write: Any) -> None:
    assert rows(read(io.BytesIO(CSV))) == ROWS
    assert rows(read(io.StringIO(CSV.decode()))) == ROWS
    with write("a.csv", CSV).open() as stream:
        assert rows(read(stream)) == ROWS


def test_no_temporary_file_stays(write: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    frames = [
        read(write("a.csv.gz", gzip.compress(CSV.decode().encode("utf-16")))),
        read(write("a.parquet.gz", gzip.compress(written("parquet")))),
        read(write("a.jsonl", json_lines())),
    ]
    with pytest.raises(DataError):
        read(write("bad.csv.gz", gzip.compress(b"item,label\n1\n")))
    assert list(scratch.iterdir()) == []
    for kept in frames:
        assert rows(kept) == ROWS


def test_a_derived_frame_outlives_the_annotations(write: Any) -> None:
    frame = read(write("a.csv", CSV)).frame.select("label")
    assert frame.collect(backend="polars")["label"].to_list() == ["cat", "dog", "cat"]


def test_an_example_is_located_by_name_and_knows_its_layout() -> None:
    annotations = read("example:krippendorff2011")
    assert annotations.understood.format == "wide"
    assert ("12", "3") in rows(annotations, "item", "label")
    assert "unknown example" in refusal(UsageError, "example:nothing")


def test_objects_that_span_lines_are_read_in_one_pass(tmp_path: Path) -> None:
    """As jq writes them; searching the rest of the file after each object would take ten minutes here."""
    objects = [{"item": f"q{i // 2}", "annotator": "ab"[i % 2], "label": "x"} for i in range(20_000)]
    (tmp_path / "labels.json").write_text("\n".join(json.dumps(each, indent=2) for each in objects))
    assert rows(read(tmp_path / "labels.json"), "item")[-1] == ("q9999",)
