"""Decompressed copies: recognised by their first bytes, never truncated in silence, never unreasonably large."""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

from spagree.errors import FileError, MissingExtraError, UsageError
from spagree.read.files.scratch import new_file

GZIP, ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
MOST_LAYERS = 8
BLOCK, ZSTD_BLOCK = 1 << 20, 1 << 12
# Tables compress to a tenth, one repeated row to a hundredth. A file that grows a hundredfold, beyond a gigabyte,
# was made to fill a disk.
USUAL_SIZE, USUAL_RATIO = 1 << 30, 100
LIMIT = "SPAGREE_MAX_UNPACKED"


def unpacked(path: Path, name: str, scratch: Path) -> Path:
    """A decompressed copy, judging by the first bytes; a plain file is used in place, even if it is called .gz."""
    packed = path.stat().st_size
    for _ in range(MOST_LAYERS):
        with path.open("rb") as stream:
            start = stream.read(len(ZSTD))
        blocks = _gzip_blocks if start.startswith(GZIP) else _zstd_blocks if start.startswith(ZSTD) else None
        if blocks is None:
            return path
        path = _decompressed(path, name, scratch, blocks, packed)
    raise FileError(f"{name}: compressed more than {MOST_LAYERS} times over; unpack it first")


def refuse_bomb(name: str, packed: int, unpacked: int) -> None:
    """Refuse a file that unpacks to more than any table would; SPAGREE_MAX_UNPACKED allows more.

    >>> refuse_bomb("labels.csv.gz", packed=1_000, unpacked=5 * 2**30)
    Traceback (most recent call last):
    spagree.errors.FileError: labels.csv.gz: unpacks to more than 1.1 GB, over 100 times its size, more than ...
    """
    allowed = os.environ.get(LIMIT) or "0"
    if not allowed.isascii() or not allowed.isdigit():
        raise UsageError(f"{LIMIT}={allowed!r} is not a number of bytes; write for example {LIMIT}=50000000000")
    limit = int(allowed) or max(USUAL_SIZE, USUAL_RATIO * packed)
    if unpacked > limit:
        raise FileError(
            f"{name}: unpacks to more than {limit / 1e9:,.1f} GB, over {USUAL_RATIO} times its size, more than "
            f"any table; if you trust it, allow more bytes with the environment variable, e.g. {LIMIT}=50000000000"
        )


def _gzip_blocks(stream: IO[bytes]) -> Iterator[bytes]:
    import gzip

    with gzip.GzipFile(fileobj=stream) as decoded:
        while block := decoded.read(BLOCK):
            yield block


def _zstd_blocks(stream: IO[bytes]) -> Iterator[bytes]:
    """Frame by frame, because the library's stream reader ends silently where a file was truncated.

    In small pieces, because a decompressed piece is in memory at once: up to 32,000 times its size.
    """
    try:
        import zstandard
    except ImportError:
        raise MissingExtraError("zstd", "reading zstd-compressed files") from None
    block = stream.read(ZSTD_BLOCK)
    while block:
        frame = zstandard.ZstdDecompressor().decompressobj()
        while block and not frame.eof:
            try:
                yield frame.decompress(block)
            except zstandard.ZstdError as error:
                raise zlib.error(str(error)) from error
            block = frame.unused_data or stream.read(ZSTD_BLOCK)
        if not frame.eof:
            raise EOFError("the last frame is not complete")


def _decompressed(
    path: Path, name: str, scratch: Path, blocks: Callable[[IO[bytes]], Iterator[bytes]], packed: int
) -> Path:
    """A decompressed copy; a damaged archive is an error, never a shorter file."""
    import gzip

    copy = new_file(scratch)
    written = 0
    try:
        with path.open("rb") as stream, copy.open("wb") as target:
            for block in blocks(stream):
                written += len(block)
                refuse_bomb(name, packed, written)
                target.write(block)
    except FileError:
        raise
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise FileError(
            f"{name}: the compressed data is truncated or damaged ({error}); copy or download it again"
        ) from error
    except OSError as error:
        raise FileError(f"{name}: cannot be decompressed ({error.strerror})") from error
    return copy
