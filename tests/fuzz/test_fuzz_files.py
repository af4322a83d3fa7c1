"""Files of every format: read exactly, or refused in our own words, whatever happens to their bytes."""

from __future__ import annotations

import gzip
import io
import json
import random
import sqlite3
import zipfile
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
import xlsxwriter
import zstandard
from fuzz_cases import Row, agreement, annotations, damaged, delimited, outcome

import spagree
from examples import TIMES

ROWS: list[Row] = [(f"q{i // 3}", f"a{i % 3}", ["yes", "no"][i % 7 % 2]) for i in range(60)]
TABLE = pl.DataFrame(ROWS, schema=["item", "annotator", "label"], orient="row")
CSV = b"item,annotator,label\n" + "".join(",".join(row) + "\n" for row in ROWS).encode()


def written(write: Callable[[io.BytesIO], object]) -> bytes:
    stream = io.BytesIO()
    write(stream)
    return stream.getvalue()


def excel(stream: io.BytesIO) -> None:
    with xlsxwriter.Workbook(stream) as book:
        sheet = book.add_worksheet()
        for number, row in enumerate([("item", "annotator", "label"), *ROWS]):
            sheet.write_row(number, 0, row)


def archive(stream: io.BytesIO) -> None:
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as target:
        for who in ("ann", "bob"):
            lines = (json.dumps({"id": i, "text": "t", "label": ["x"], "Comments": []}) for i in range(9))
            target.writestr(f"{who}.jsonl", "\n".join(lines))


def saved(ending: str, folder: Path) -> bytes:
    path = folder / f"saved{ending}"
    spagree.save(spagree.tally(TABLE) if ending == ".json" else spagree.count_items(TABLE), path, force=True)
    return path.read_bytes()


def database(folder: Path) -> bytes:
    path = folder / "labels.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE labels (item, annotator, label)")
        connection.executemany("INSERT INTO labels VALUES (?, ?, ?)", ROWS)
    connection.close()
    return path.read_bytes()


FORMATS: dict[str, Callable[[Path], bytes]] = {
    ".csv": lambda _: CSV,
    ".csv.gz": lambda _: gzip.compress(CSV),
    ".csv.zst": lambda _: zstandard.compress(CSV),
    ".jsonl": lambda _: written(TABLE.write_ndjson),
    ".json": lambda _: json.dumps(TABLE.to_dicts()).encode(),
    ".parquet": lambda _: written(TABLE.write_parquet),
    ".arrow": lambda _: written(TABLE.write_ipc),
    ".xlsx": lambda _: written(excel),
    ".zip": lambda _: written(archive),
    ".tally.json": lambda folder: saved(".json", folder),
    ".tally.parquet": lambda folder: saved(".parquet", folder),
    ".sqlite": database,
}


def test_delimited_files_agree_with_exact_arithmetic(tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    for seed in range(30 * TIMES):
        chance = random.Random(seed)
        rows = annotations(chance)
        if not rows:
            continue
        path.write_bytes(delimited(chance, rows))
        found = spagree.measure(path, weights="flat", item="item", annotator="annotator", label="label", format="long")
        wanted = agreement(rows)
        assert found.data.annotations == len(rows), seed
        assert found.data.labels == {label: sum(row[2] == label for row in rows) for _, _, label in rows}, seed
        assert found.spa.value == (None if wanted is None else pytest.approx(float(wanted), abs=1e-12)), seed


@pytest.mark.parametrize("ending", FORMATS)
def test_damaged_bytes_are_read_or_refused(ending: str, tmp_path: Path) -> None:
    whole = FORMATS[ending](tmp_path)
    path = tmp_path / f"labels{ending}"
    options = {"query": "SELECT * FROM labels"} if ending == ".sqlite" else {}
    path.write_bytes(whole)
    assert outcome(path, **options) is not None
    for seed in range(12 * TIMES):
        path.write_bytes(damaged(random.Random(seed), whole))
        outcome(path, **options)


@pytest.mark.parametrize(
    "line",
    [
        '{"item": "q\\ud800", "label": "x"}',
        '{"item": "q", "label": {"a": "\\uDfff"}}',
        '{"\\ud83d": 1, "item": "q", "label": "x"}',
        '{"item": "q\\u0000", "label": "x"}',
        '{"item\\u0000": "q", "item": "q", "label": "x"}',
        '{"item": "q", "label": ' + "[" * 400 + "]" * 400 + "}",
        '{"item": "q", "label": ' + "[" * 100_000 + "]" * 100_000 + "}",
        '{"item": "q", "label": ' + '{"a":' * 900 + "1" + "}" * 900 + "}",
        '{"item": "q", "label": ' + "9" * 10_000 + "}",
        '{"item": "q", "item": "r", "label": NaN}',
    ],
    ids=range(10),
)
@pytest.mark.parametrize("tool", ["auto", "long", "prodigy", "label-studio", "argilla", "ground-truth", "potato"])
def test_hostile_json_is_read_or_refused(line: str, tool: str, tmp_path: Path) -> None:
    for name, content in (("l.jsonl", line + "\n" + line), ("l.json", f"[{line},\n{line}]")):
        (tmp_path / name).write_text(content)
        outcome(tmp_path / name, format=tool)


def test_new_keys_in_every_line_end_early(tmp_path: Path) -> None:
    path = tmp_path / "l.jsonl"
    path.write_text("".join(json.dumps({"item": "q", "label": "x", f"key{i}": i}) + "\n" for i in range(50_000)))
    with pytest.raises(spagree.DataError, match="more than 4,096 different keys"):
        spagree.measure(path)


@pytest.mark.parametrize(
    "encoding", ["hex", "rot13", "base64", "zip", "undefined", "idna", "punycode", "utf\0", "", "é", "unicode_escape"]
)
def test_encodings_that_are_none(encoding: str, tmp_path: Path) -> None:
    (tmp_path / "l.csv").write_bytes(CSV)
    outcome(tmp_path / "l.csv", encoding=encoding)
