"""Makes certified.json: small data sets with exact answers, by brute force over all pairs.

Run ``python tests/make_certified.py`` to write it again. Nothing of spagree's arithmetic is used.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from oracle import BARS, SIMPLE, parse, spa

PATH = Path(__file__).with_name("certified.json")

FLEISS = [
    [0, 0, 0, 0, 14], [0, 2, 6, 4, 2], [0, 0, 3, 5, 6], [0, 3, 9, 2, 0], [2, 2, 8, 1, 1], [7, 7, 0, 0, 0],
    [3, 2, 6, 3, 0], [2, 5, 3, 2, 2], [6, 5, 2, 1, 0], [0, 2, 2, 3, 7],
]  # fmt: skip
UNEQUAL_FLEISS = [row[: 1 + i % 5] for i, row in enumerate(FLEISS) if sum(row[: 1 + i % 5]) > 0]

# Strings hold one item per word and one letter per annotation (. is missing); tables hold
# one row per item and one column per class.
DATA: dict[str, str | list[list[int]]] = {
    "twelve items by four annotators": BARS,
    "the item of Figure 1 of the paper": "aaaaabbbccd",
    "Fleiss' table: 10 items by 14 annotators": FLEISS,
    "Fleiss' table with columns cut off: unequal n": UNEQUAL_FLEISS,
    "Krippendorff's data of 2011": "11.1 2232 3333 3333 2222 1234 4444 1121 2222 .555 ..11 .3..",
    "one class": "aa aaa aaaa aaaaa",
    "no two alike": "ab abc abcd abcde",
    "one pair, agreeing": "aa",
    "one pair, disagreeing": "ab",
    "one pairable item among single annotations": "a b c aab",
    "an item with one annotation changes nothing": "a aab bb",
    "n from 2 to 20": " ".join("a" * (n // 2) + "b" * (n // 3) + "c" * (n - n // 2 - n // 3) for n in range(2, 21)),
    "n from 2 to 20, one dissenter": " ".join("a" * (n - 1) + "b" for n in range(2, 21)),
    "one item dwarfs the others": [[700, 300, 200], [2, 0, 0], [1, 1, 0], [0, 0, 1]],
    "a hundred classes on one item": [[1] * 99 + [2], [2] + [0] * 99],
    "sevenths, elevenths and thirteenths": "aaaabbb aaaaaaaabbb aaaaaaabbbccc abb",
}


def labels_of(data: str | list[list[int]]) -> list[list[Any]]:
    if isinstance(data, str):
        return parse(data)
    return [[column for column, count in enumerate(row) for _ in range(count)] for row in data]


def answers(data: str | list[list[int]]) -> dict[str, str]:
    exact = {scheme: spa(labels_of(data), weight) for scheme, weight in SIMPLE.items()}
    exact["inv_var"] = exact["edge"]
    return {scheme: f"{value.numerator}/{value.denominator}" for scheme, value in exact.items()}


def document() -> str:
    sets = [{"name": name, "data": data, "spa": answers(data)} for name, data in DATA.items()]
    return json.dumps(sets, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    PATH.write_text(document(), "utf-8")
