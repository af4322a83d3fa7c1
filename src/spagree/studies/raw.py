"""The paper's four data sets in their published layouts, each read as a table (item, label).

MBIC     xlsx, sheet `annotations`: sentence_id, survey_record_id, label, factual
BSMTWE   CSV: tweet_id, annotator_id and four questions
DAR      JSON lines, one thread per line, with posts that hold annotations
FECG     CSV without a header: 3 × (url, box), the triplet type, then annotator, label, annotator, label, …
"""

from __future__ import annotations

import csv
import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spagree.errors import DataError, FileError, MissingExtraError

if TYPE_CHECKING:
    import polars as pl

MBIC_SHEET = "annotations"
FECG_ANNOTATIONS = 16  # fields before them: 3 × (url + four numbers of the box) and the triplet type


def mbic(paths: Sequence[Path], question: str) -> pl.DataFrame:
    """Sheet ``annotations``, one row per annotation; class names keep their typographic apostrophe."""
    frame = _sheet(paths[0])
    _require(paths[0], frame.columns, ("sentence_id", question))
    return _tidy(frame, "sentence_id", question)


def bsmtwe(paths: Sequence[Path], question: str) -> pl.DataFrame:
    """One row per annotation; 18-digit ids stay text."""
    import polars as pl

    frame = pl.read_csv(_existing(paths[0]), infer_schema=False)
    _require(paths[0], frame.columns, ("tweet_id", question))
    return _tidy(frame, "tweet_id", question)


def dar(paths: Sequence[Path], question: str, seed: int = 0) -> pl.DataFrame:
    """One label per annotator and post; if an annotator gave several, one is drawn at random, as in the paper."""
    import polars as pl

    draw = random.Random(seed)  # noqa: S311 (a reproducible choice, not a secret)
    rows = [(post, draw.choice(labels)) for path in paths for post, labels in _dar_answers(path, question) if labels]
    return pl.DataFrame(rows, schema={"item": pl.String, "label": pl.String}, orient="row")


def fecg(paths: Sequence[Path], _question: str = "label") -> pl.DataFrame:
    """The row is the item; annotators and labels alternate from the seventeenth field on."""
    import polars as pl

    rows = [
        (f"{path.name}:{number}", label)
        for path in paths
        for number, fields in enumerate(_fields(path), start=1)
        for label in fields[FECG_ANNOTATIONS + 1 :: 2]
    ]
    return pl.DataFrame(rows, schema={"item": pl.String, "label": pl.String}, orient="row")


def _tidy(frame: pl.DataFrame, item: str, label: str) -> pl.DataFrame:
    return frame.select(item=item, label=label).drop_nulls()


def _sheet(path: Path) -> pl.DataFrame:
    try:
        import fastexcel
    except ImportError:
        raise MissingExtraError("excel", "reading MBIC's workbook") from None
    import polars as pl

    try:
        return pl.read_excel(_existing(path), sheet_name=MBIC_SHEET, infer_schema_length=0)
    except (fastexcel.FastExcelError, pl.exceptions.PolarsError, ValueError) as error:
        raise DataError(f"{path}: no readable sheet {MBIC_SHEET!r} ({error}); is it MBIC's workbook?") from error


def _require(path: Path, columns: Sequence[str], wanted: Sequence[str]) -> None:
    missing = [name for name in wanted if name not in columns]
    if missing:
        raise DataError(f"{path}: no column {', '.join(missing)}; found {', '.join(columns)}")


def _dar_answers(path: Path, question: str) -> Iterator[tuple[str, list[str]]]:
    """For each post and annotator, the labels given, in file order."""
    for post in _posts(path):
        answers: dict[str, list[str]] = {}
        for annotation in post.get("annotations", []):
            answers.setdefault(str(annotation.get("annotator")), []).extend(
                [str(annotation[question])] if annotation.get(question) else []
            )
        for labels in answers.values():
            yield str(post["id"]), labels


def _posts(path: Path) -> Iterator[dict[str, Any]]:
    with _existing(path).open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                thread = json.loads(line)
                posts = thread["posts"]
            except (ValueError, KeyError, TypeError) as error:
                raise DataError(
                    f'{path}:{number}: not a thread ({{"posts": […]}}) in JSON; is it DAR\'s file?'
                ) from error
            yield from posts


def _fields(path: Path) -> Iterator[list[str]]:
    with _existing(path).open(encoding="utf-8", newline="") as lines:
        for number, row in enumerate(csv.reader(lines), start=1):
            fields = [field.strip() for field in row]
            while fields and not fields[-1]:
                fields.pop()
            if len(fields) < FECG_ANNOTATIONS or len(fields) % 2:
                raise DataError(
                    f"{path}:{number}: {len(fields)} fields; {FECG_ANNOTATIONS} and then pairs of annotator and "
                    "label are expected; is it FECG's file?"
                )
            yield fields


def _existing(path: Path) -> Path:
    if not path.is_file():
        raise FileError(f"{path}: no such file; docs/paper/data.md says what to put where")
    return path
