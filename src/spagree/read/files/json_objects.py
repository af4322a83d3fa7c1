"""The objects of a JSON file one by one, each with its place.

A fast parser reads them; what it refuses (NaN, lone surrogates, faults) the careful one reads or explains.
Only a few objects are in memory at once: a large array is cut, where an object ends, into smaller ones.
"""

from __future__ import annotations

import json
import re
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator
from itertools import chain, islice
from typing import Any

import msgspec

from spagree.errors import DataError
from spagree.read.files.json_text import DECODER, Written, as_text, document
from spagree.read.files.paths import File
from spagree.read.tables import shown

Entry = tuple[str, int, Any]  # place for messages, number, object
FAST = msgspec.json.Decoder(float_hook=Written)  # whole numbers of any length are exact anyway
SOME = msgspec.json.Decoder(list[Any], float_hook=Written)
TOGETHER = 100  # elements of an array that are decoded at once
BLOCK = 1 << 18  # bytes of an array that are read at once
MOST_CUTS = 3  # places where a block may be cut that are tried
BETWEEN = re.compile(rb"\}\s*,(?=\s*\{)")  # where one object ends and another follows
BLANKS = b" \t\r\n"
PARTS = msgspec.json.Decoder(list[msgspec.Raw])
REFUSED = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
DAMAGED = "the export seems to be truncated or damaged: export it again"


class Several(msgspec.Struct):
    """Objects of an array that are handled together."""

    objects: list[Any]


def objects(file: File, decode: Callable[[bytes], list[Any]] = SOME.decode) -> Iterator[Entry]:
    """The objects of an array, one per line, or the single object that is the whole file.

    ``decode`` reads some elements of an array, itself an array; from the first that it refuses, the careful parser
    goes on. It may return :class:`Several` at once, which come with the place of the first.
    """
    if file.kind == "json array":
        number = 1
        for value in _array(file, decode):
            place = f"{file.name}: object {number}"
            yield place, number, as_object(value, place)
            number += _size(value)
        return
    whole = _one_object(file)
    if whole is not None:
        yield file.name, 1, whole
        return
    with file.path.open("rb") as stream:
        for number, line in enumerate(stream, 1):
            text = line.removeprefix(BOM_UTF8).strip() if number == 1 else line.strip()
            if text:
                place = f"{file.name}:{number}"
                yield place, number, as_object(_line(place, text), place)


def _size(value: Any) -> int:
    return len(value.objects) if isinstance(value, Several) else 1


def _array(file: File, decode: Callable[[bytes], list[Any]]) -> Iterator[Any]:
    done = 0
    try:
        for value in _fast_values(file, decode):
            yield value
            done += _size(value)
    except REFUSED:
        yield from islice(document(file, DAMAGED), done, None)


def _fast_values(file: File, decode: Callable[[bytes], list[Any]]) -> Iterator[Any]:
    """The elements, decoded block by block."""
    with file.path.open("rb") as stream:
        rest, key = stream.read(BLOCK).removeprefix(BOM_UTF8).lstrip(BLANKS).removeprefix(b"["), b""
        while more := stream.read(max(BLOCK, len(rest))):  # twice as much if no cut was right
            rest += more
            key = key or _last_key(rest)
            values, end = _first_values(rest, key, decode)
            yield from values
            rest = rest[end:]
    parts = PARTS.decode(b"[" + rest)
    starts = range(0, len(parts), TOGETHER)
    blocks = (b"[" + b",".join(parts[start : start + TOGETHER]) + b"]" for start in starts)
    yield from chain.from_iterable(map(decode, blocks))


def _first_values(text: bytes, key: bytes, decode: Callable[[bytes], list[Any]]) -> tuple[list[Any], int]:
    """The elements before a cut, and where the next one begins; text cut in the wrong place cannot be decoded."""
    for end in islice(_ends(text, key), MOST_CUTS):
        try:
            return decode(b"".join((b"[", memoryview(text)[:end], b"]"))), end + 1
        except REFUSED:
            continue
    return [], 0


def _last_key(text: bytes) -> bytes:
    """The last key of the first object, as it is written; nothing if the text holds no whole object."""
    try:
        first, _ = DECODER.raw_decode(text.decode("utf-8", "replace").lstrip(" \t\r\n"))
    except json.JSONDecodeError:
        return b""
    return f'"{[*first][-1]}"'.encode() if isinstance(first, dict) and first else b""


def _ends(text: bytes, key: bytes) -> Iterator[int]:
    """Where an object may end, last first: after the last key of the first object, if a comma and an object follow."""
    place = len(text)
    while key and (place := text.rfind(key, 0, place)) >= 0:
        if gap := BETWEEN.search(text, place):
            yield gap.end() - 1


def _one_object(file: File) -> Any:
    """The single object of the file, if its first line is not an object by itself."""
    with file.path.open(encoding="utf-8-sig", newline="\n") as stream:
        first = next((line for line in stream if line.strip()), "")
    try:
        DECODER.decode(first.strip())
    except json.JSONDecodeError:
        if first.strip() not in ("{", "") and first.rstrip().endswith("}"):
            return None  # a damaged line, which is refused with its number
        return as_object(document(file, DAMAGED), file.name)
    return None


def _line(place: str, line: bytes) -> Any:
    try:
        return FAST.decode(line)
    except REFUSED:
        pass
    try:
        return DECODER.decode(line.decode("utf-8"))
    except json.JSONDecodeError as error:
        raise DataError(f"{place}: not JSON: {error.msg} at character {error.pos + 1}; {DAMAGED}") from None


def as_object(value: Any, place: str) -> Any:
    """The value, which must be an object."""
    if not isinstance(value, (dict, msgspec.Struct)):
        raise DataError(f"{place}: expected an object {{…}}, found {shown(as_text(value))}; export it again")
    return value
