"""Text files as UTF-8: how they are encoded, and where their bytes do not match."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from spagree.errors import SHOWN_PROBLEMS, DataError, UsageError, count
from spagree.read.files.paths import File, explained, head
from spagree.read.files.scratch import new_file

BLOCK = 1 << 18
UTF_8 = ("utf-8", "utf8", "utf_8", "utf-8-sig")
MARKS = ((codecs.BOM_UTF32_LE, "utf-32"), (codecs.BOM_UTF32_BE, "utf-32"),
         (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))  # fmt: skip


def as_utf8(file: File, encoding: str | None, scratch: Path) -> File:
    """The file itself if it is UTF-8, otherwise a UTF-8 copy."""
    start = head(file, 4)
    marked = next((name for mark, name in MARKS if start.startswith(mark)), None)
    wanted = marked or encoding
    if wanted is None or wanted.lower() in UTF_8:
        return file
    try:
        is_text = codecs.lookup(wanted)._is_text_encoding  # Python's hex and rot13 are not text encodings
    except (LookupError, ValueError):
        is_text = False
    if not is_text:
        raise UsageError(
            f"unknown encoding {wanted!r}; use a name Python knows, for instance latin-1, cp1252 or utf-16"
        )
    path = new_file(scratch)
    try:
        with (
            file.path.open(encoding=wanted, newline="") as source,
            path.open("w", encoding="utf-8", newline="") as target,
        ):
            while block := source.read(BLOCK):
                target.write(block)
    except UnicodeError as error:
        raise DataError(f"{file.name}: is not {wanted} ({error}); name the right one with --encoding") from error
    return replace(file, path=path, is_temporary=True)


def refuse_bad_bytes(file: File) -> None:
    """Raise an error with line, byte and remedy if a file is not UTF-8."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    line, done, kept = 1, 0, b""
    for block in _blocks(file):
        try:
            decoder.decode(block)
        except UnicodeDecodeError as error:
            position = done - len(kept) + error.start
            line += (kept + block)[: error.start].count(b"\n")
            raise _not_utf8(file, line, position, error.object[error.start]) from None
        kept = decoder.getstate()[0]
        line += block.count(b"\n")
        done += len(block)
    if kept:
        raise _not_utf8(file, line, done - len(kept), kept[0])


def _not_utf8(file: File, line: int, position: int, byte: int) -> DataError:
    return DataError(
        f"{file.name}:{line}: not UTF-8: byte 0x{byte:02x} at position {position + 1:,} of the file; "
        "name the encoding, for instance --encoding latin-1 (or cp1252)"
    )


def line_ending(file: File) -> str | None:
    """How all lines end, or None if endings are mixed; refuses NUL bytes along the way.

    One fast pass over the bytes finds both. duckdb would accept them silently: it keeps NUL
    in labels, and drops rows where CRLF changes to LF late in a file (seen with 2.0).
    """
    has_returns = False
    for block in _blocks(file):
        if b"\0" in block:
            raise _nul_bytes(file)
        has_returns = has_returns or b"\r" in block
    return _ending_with_returns(file) if has_returns else "\n"


def _ending_with_returns(file: File) -> str | None:
    """Whether the line breaks of a file with carriage returns are all CRLF, or all CR."""
    import numpy

    returns = feeds = both = 0
    last = b""
    for block in _blocks(file):
        codes = numpy.frombuffer(last + block, numpy.uint8)
        is_return, is_feed = codes == ord("\r"), codes == ord("\n")
        both += int(numpy.count_nonzero(is_return[:-1] & is_feed[1:]))
        returns += int(numpy.count_nonzero(is_return[len(last) :]))
        feeds += int(numpy.count_nonzero(is_feed[len(last) :]))
        last = block[-1:]
    if returns == feeds == both:
        return "\r\n"
    return "\r" if feeds == 0 else None


def _nul_bytes(file: File) -> DataError:
    """The error for NUL bytes, with their places; many of them suggest UTF-16 without a byte order mark."""
    problems: list[str] = []
    total, line = 0, 1
    for block in _blocks(file):
        for part in block.splitlines(keepends=True) if b"\0" in block else ():
            if b"\0" in part:
                total += 1
                problems += [f"{file.name}:{line}: NUL byte"] if len(problems) < SHOWN_PROBLEMS else []
            line += part.endswith((b"\n", b"\r"))
        line += block.count(b"\n") if b"\0" not in block else 0
    return DataError(
        f"{file.name}: NUL bytes in {count(total, 'line')}: not a text file, a damaged one, or UTF-16 "
        "(then: --encoding utf-16); export it again as UTF-8",
        problems,
        total,
    )


def _blocks(file: File) -> Iterator[bytes]:
    with explained(file), file.path.open("rb") as stream:
        while block := stream.read(BLOCK):
            yield block
