"""Annotations of any number, written in chunks: memory stays flat, and the same arguments give the same file.

    python benchmarks/generate.py FILE.parquet [--annotations 1e6] [--ids string] [--order random]

Nothing is shuffled or remembered. Annotation p belongs to a block of items that share its annotations in a fixed
pattern (4 to 8 per item, 6 on average), its annotator and label come from hashes of the item and of p. Sorted
order writes p = 0, 1, 2, …; random order writes them as a bijection of the next power of two lists them, leaving
out what is too large.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

Words = NDArray[np.uint64]

CHUNK = 1 << 20
CLASSES = 10
FEWEST_ANNOTATORS, ANNOTATIONS_EACH = 2400, 2500  # 2,400 annotators up to 6·10⁶ annotations
VARIED, EQUAL = (4, 7, 5, 8, 6), (6,)  # annotations per item, over and over
DIGITS = 10


@dataclass(frozen=True)
class Design:
    """What to write. ``first_item`` sets parts apart: items of different parts are different items."""

    annotations: int
    ids: str = "string"
    order: str = "random"
    per_item: tuple[int, ...] = VARIED
    first_item: int = 0
    annotator: str = "annotator"
    people: int = 0
    """Annotators, if not as many as the annotations suggest."""

    @property
    def items(self) -> int:
        blocks, left = divmod(self.annotations, sum(self.per_item))
        return blocks * len(self.per_item) + int(np.searchsorted(np.cumsum(self.per_item), left)) + (left > 0)

    @property
    def annotators(self) -> int:
        return self.people or max(FEWEST_ANNOTATORS, self.annotations // ANNOTATIONS_EACH)


def write(design: Design, path: Path) -> Path:
    """The annotations as a Parquet file with the columns item, annotator, label; labels are text."""
    with pq.ParquetWriter(path, schema(design), compression="zstd", store_schema=False) as writer:
        for chunk in chunks(design):
            writer.write_table(table(design, chunk))
    return path


def schema(design: Design) -> pa.Schema:
    name = pa.dictionary(pa.int32(), pa.string())  # repeated text is written as codes, and read as plain text
    text = design.ids == "string"
    item, annotator = (pa.string(), name) if text else (pa.int64(), pa.int64())
    return pa.schema([("item", item), (design.annotator, annotator), ("label", name)])


def chunks(design: Design) -> Iterator[Words]:
    """The numbers below ``annotations`` in the order of the file, each once."""
    sorted_, bits = design.order == "sorted", max(design.annotations - 1, 1).bit_length()
    for start in range(0, design.annotations if sorted_ else 1 << bits, CHUNK):
        listed = np.arange(start, start + CHUNK, dtype=np.uint64)
        numbers = listed if sorted_ else scattered(listed[listed < 1 << bits], bits)
        numbers = numbers[numbers < design.annotations]
        if len(numbers):
            yield numbers


def scattered(numbers: Words, bits: int) -> Words:
    """A bijection of the numbers below 2 to the power ``bits`` that leaves no visible order."""
    mask, half = np.uint64((1 << bits) - 1), np.uint64(bits // 2 + 1)
    for odd in (0x9E3779B97F4A7C15, 0xD1B54A32D192ED03, 0x8CB92BA72F3D8DD7):
        numbers = (numbers * np.uint64(odd)) & mask
        numbers = numbers ^ (numbers >> half)
    return numbers


def hashed(numbers: Words, salt: int) -> Words:
    """64 random-looking bits for each number (the finaliser of splitmix64)."""
    words = numbers + np.uint64((salt * 0x9E3779B97F4A7C15) % 2**64)
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


def table(design: Design, numbers: Words) -> pa.Table:
    size = np.uint64(sum(design.per_item))
    block, place = numbers // size, (numbers % size).astype(np.intp)
    inside = np.repeat(np.arange(len(design.per_item), dtype=np.uint64), design.per_item)
    slots = np.concatenate([np.arange(n, dtype=np.uint64) for n in design.per_item])
    item = block * np.uint64(len(design.per_item)) + inside[place] + np.uint64(design.first_item)
    annotator = annotators(design, item, slots[place])
    columns = [items_column(design, item), annotators_column(design, annotator), labels(item, annotator)]
    return pa.Table.from_arrays(columns, schema=schema(design))


def annotators(design: Design, item: Words, slot: Words) -> Words:
    """Steps of an item's own length around the circle of annotators, never all round: nobody is drawn twice."""
    own = hashed(item, 1)
    longest = np.uint64((design.annotators - 1) // max(design.per_item))
    step = (own >> np.uint64(40)) % longest + np.uint64(1)
    return ((own & np.uint64(0xFFFFFFFF)) + slot * step) % np.uint64(design.annotators)


def labels(item: Words, annotator: Words) -> pa.DictionaryArray:
    """The item's own class, which is easy (95%) or hard (50%) to see; otherwise a class drawn by its frequency."""
    common = 1 / np.arange(1, CLASSES + 1)
    drawn = np.searchsorted(np.cumsum(common / common.sum()), (np.arange(1024) + 0.5) / 1024).astype(np.int32)
    own, look = hashed(item, 2), hashed(item ^ (annotator << np.uint64(40)), 3)
    easy = (own >> np.uint64(32)) % np.uint64(100) < 70
    seen = (look >> np.uint64(32)) % np.uint64(100) < np.where(easy, 95, 50).astype(np.uint64)
    low = np.uint64(1023)
    codes = np.where(seen, drawn[(own & low).astype(np.intp)], drawn[(look & low).astype(np.intp)])
    return pa.DictionaryArray.from_arrays(codes, pa.array([f"class-{number}" for number in range(CLASSES)]))


def items_column(design: Design, item: Words) -> pa.Array:
    return numbered("item-", item) if design.ids == "string" else pa.array(item.astype(np.int64))


def annotators_column(design: Design, annotator: Words) -> pa.Array:
    if design.ids != "string":
        return pa.array(annotator.astype(np.int64))
    names = pa.array([f"annotator-{number:06d}" for number in range(design.annotators)])
    return pa.DictionaryArray.from_arrays(annotator.astype(np.int32), names)


def numbered(prefix: str, numbers: Words) -> pa.Array:
    """Text like item-0001234567, made of bytes: ten times as fast as formatting numbers one by one."""
    width = len(prefix) + DIGITS
    text = np.empty((len(numbers), width), np.uint8)
    text[:, : len(prefix)] = np.frombuffer(prefix.encode(), np.uint8)
    left = numbers
    for place in range(width - 1, len(prefix) - 1, -1):
        left, digit = np.divmod(left, np.uint64(10))
        text[:, place] = digit + np.uint64(ord("0"))
    offsets = np.arange(len(numbers) + 1, dtype=np.int32) * width
    return pa.Array.from_buffers(pa.string(), len(numbers), [None, pa.py_buffer(offsets), pa.py_buffer(text)])


def number(text: str) -> int:
    """A whole number, also as 1e6."""
    return int(float(text))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--annotations", type=number, default=1_000_000)
    parser.add_argument("--ids", choices=("string", "integer"), default="string")
    parser.add_argument("--order", choices=("random", "sorted"), default="random")
    options = parser.parse_args()
    write(Design(options.annotations, options.ids, options.order), options.file)


if __name__ == "__main__":
    main()
