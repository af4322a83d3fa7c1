"""What tests of readers share: small files, the annotations in them, and one project with a known agreement."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable, Mapping
from itertools import combinations
from pathlib import Path
from typing import Any

from spagree.read import Annotations, read

Write = Callable[[str, Any], Path]

PEOPLE = ("ann", "bob", "cyd")
WORDS = "aab abb ccc aac b.b abc cca .bb aaa cb."
NAMED = {"a": "pos", "b": "neg", "c": "neu", ".": ""}
ITEMS = [[NAMED[letter] for letter in word] for word in WORDS.split()]
ROWS = [(f"i{n}", who, label) for n, row in enumerate(ITEMS) for who, label in zip(PEOPLE, row, strict=True) if label]


def _flat(items: list[list[str]]) -> float:
    pairs = [list(combinations([label for label in row if label], 2)) for row in items]
    means = [sum(a == b for a, b in found) / len(found) for found in pairs if found]
    return sum(means) / len(means)


SPA = _flat(ITEMS)  # with flat weights
LETTERS = {1: "aab", 2: "abb", 3: "bbb", 4: "aaa", 5: "bab", 6: "abc"}  # by item, one for each of three people
LETTER_ROWS = [(item, who, letter) for item, letters in LETTERS.items() for who, letter in enumerate(letters)]
LETTER_SPA = (1 / 3 + 1 / 3 + 1 + 1 + 1 / 3 + 0) / 6


def jsonl(*records: Any) -> str:
    return "\n".join(map(json.dumps, records)) + "\n"


def lines(path: Path, *records: Any) -> Path:
    """A file of JSON lines, of records or of one list of them."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(jsonl(*(records[0] if len(records) == 1 and isinstance(records[0], list) else records)))
    return path


def zipped(path: Path, members: Mapping[str, str]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def rows(annotations: Annotations) -> list[tuple[Any, ...]]:
    """Item, annotator and label, as far as they are known, in their order."""
    frame = annotations.frame.collect(backend="polars")
    names = [name for name in ("item", "annotator", "label") if name in frame.columns]
    return [tuple(row) for row in frame.select(names).rows()]


def triples(path: Any, **options: Any) -> list[tuple[Any, ...]]:
    return sorted(rows(read(path, **options)))


def in_order(path: Any, **options: Any) -> list[tuple[Any, ...]]:
    return rows(read(path, **options))


def codes(found: Any) -> dict[str, str]:
    """The warnings of annotations or of an agreement: code → message."""
    return {warning.code: warning.message for warning in found.warnings}
