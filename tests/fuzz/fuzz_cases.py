"""Seeded cases for the fuzzers: some usually, thousands with FUZZ=50 (that many times as many)."""

from __future__ import annotations

import csv
import io
import random
from collections import Counter, defaultdict
from fractions import Fraction
from typing import Any

import spagree

Row = tuple[str, str, str]
ALPHABET = ["a", "b", "é", "中", "👩\u200d🔬", " ", "\t", '"', "'", ",", ";", "|", "\n", "\r\n", "#", "-", "0", "1", "NA",
            "null", "\u202e", "\x1b", "\\", "=", "\ufeff", "\u2028", "\x85", "1e5", "%", "{", "["]  # fmt: skip


def outcome(source: Any, **options: Any) -> spagree.Agreement | None:
    """What is measured, or nothing where it is refused in our own words; any other error fails the test."""
    try:
        return spagree.measure(source, **options)
    except spagree.SpagreeError as error:
        assert str(error).strip()  # noqa: PT017 - the refusal itself is looked at
        return None


def text(chance: random.Random, longest: int = 6) -> str:
    """A cell that is not empty."""
    return "".join(chance.choice(ALPHABET) for _ in range(chance.randint(1, longest)))


def annotations(chance: random.Random) -> list[Row]:
    """Rows of item, annotator, label; each annotator once per item."""
    labels = [text(chance) for _ in range(chance.randint(1, 4))]
    items = list({text(chance) for _ in range(chance.randint(1, 8))})
    people = list({text(chance) for _ in range(chance.randint(1, 5))})
    rows = [(item, who, chance.choice(labels)) for item in items for who in people if chance.random() < 0.7]
    return chance.sample(rows, len(rows))


def agreement(rows: list[Row]) -> Fraction | None:
    """Flat SPA in exact numbers: the mean over items of the share of pairs that agree."""
    votes: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for item, _, label in rows:
        votes[item][label] += 1
    shares = [
        Fraction(sum(c * (c - 1) for c in found.values()), found.total() * (found.total() - 1))
        for found in votes.values()
        if found.total() > 1
    ]
    return sum(shares, Fraction()) / len(shares) if shares else None


def delimited(chance: random.Random, rows: list[Row]) -> bytes:
    """The rows as some program would write them: any delimiter, line ending, quoting, encoding, comments on top."""
    stream = io.StringIO(newline="")
    quoting = chance.choice([csv.QUOTE_ALL, csv.QUOTE_MINIMAL])
    ending = chance.choice(["\n", "\r\n"])
    writer = csv.writer(stream, delimiter=chance.choice(",;\t|"), lineterminator=ending, quoting=quoting)
    stream.write(chance.choice(["", f"# made by{' ' * chance.choice([1, 70_000])}hand{ending}", ending]))
    writer.writerow(["item", "annotator", "label"])
    writer.writerows(rows)
    return stream.getvalue().encode(chance.choice(["utf-8", "utf-8-sig", "utf-16"]))


def damaged(chance: random.Random, content: bytes) -> bytes:
    """The bytes with some of them changed, cut, doubled or put in."""
    found = bytearray(content)
    for _ in range(chance.choice([1, 1, 2, 5])):
        place = chance.randrange(len(found) or 1)
        size = chance.choice([1, 4, 32])
        match chance.randrange(6):
            case 0:
                found[place : place + 1] = bytes([chance.randrange(256)])
            case 1:
                del found[place : place + size]
            case 2:
                found[place:place] = chance.randbytes(size)
            case 3:
                found[place:place] = found[place : place + size]
            case 4:
                found[place : place + size] = chance.choice([b"\0", b"\xff", b"9", b"[", b'"']) * size
            case _:
                del found[place:]
    return bytes(found)
