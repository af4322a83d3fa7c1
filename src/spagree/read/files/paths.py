"""From what the user names (paths, globs, standard input) to plain files of a known kind."""

from __future__ import annotations

import glob
import io
import os
import re
import sys
import tempfile
import zlib
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from spagree.errors import DataError, FileError, MissingExtraError, SpagreeError, UsageError, shown
from spagree.read.annotations import Stamp
from spagree.read.databases import addresses

if TYPE_CHECKING:
    import zipfile

START, SMALL = 1 << 12, 1 << 19  # bytes that are read when a file is found, of several and of one
URL = re.compile(r"^[a-zA-Z][a-zA-Z0-9+.-]+://")
PARQUET, ARROW = b"PAR1", b"ARROW1"
ZIP, OLD_EXCEL = b"PK\x03\x04", b"\xd0\xcf\x11\xe0"
DUCKDB = b"DUCK"
NO_TABLES = {  # their first bytes, and their extensions
    "a Python pickle": ((b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05"), (".pkl", ".pickle", ".p")),
    "a numpy array": ((b"\x93NUMPY",), (".npy",)),
    "an HDF5 file": ((b"\x89HDF",), (".h5", ".hdf5")),
    "an SPSS file": ((b"$FL2",), (".sav",)),
    "a Stata file": ((b"<stata_dta>",), (".dta",)),
    "a SAS file": ((), (".sas7bdat", ".xpt")),
    "a file of R": ((b"RDX", b"RDA"), (".rds", ".rda", ".rdata")),
    "a web page": ((b"<!DOCTYPE html", b"<!doctype html", b"<html", b"<table"), (".html", ".htm")),
    "a DuckDB database": ((DUCKDB,), (".duckdb",)),
    "a YAML file": ((), (".yaml", ".yml")),
    "a PDF document": ((b"%PDF-",), (".pdf",)),
    "a Feather file of version 1": ((b"FEA1\x00",), ()),
}
STATISTICS = {".omv": "a jamovi file", ".jasp": "a JASP file"}  # zip archives
ARCHIVES = {  # what a zip archive is if the name of a member begins so
    "word/": "a Word document", "ppt/": "a presentation", "content.xml": "an OpenDocument file",
    "Index/Document.iwa": "a Numbers or Pages document",
}  # fmt: skip
ARROW_STREAM = b"\xff\xff\xff\xff"
SQLITE = b"SQLite format 3\x00"
BINARY_KINDS = {".parquet": "parquet", ".pq": "parquet", ".arrow": "arrow", ".feather": "arrow",
                ".ipc": "arrow", ".xlsx": "excel", ".xls": "excel", ".xlsm": "excel"}  # fmt: skip
JSON_KINDS = {".jsonl": "json lines", ".ndjson": "json lines"}


@dataclass(frozen=True, slots=True)
class File:
    """A file on disk; ``name`` is what messages call it (a temporary copy keeps its original's name).

    ``path`` is absolute: an engine would expand ``~`` to the user's home and read ``file:`` as an address. ``start``
    is what was read when the file was found: everything, if ``is_whole``.
    """

    path: Path
    name: str
    kind: str = ""
    is_temporary: bool = False
    start: bytes = field(default=b"", repr=False, compare=False)
    is_whole: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", self.path.absolute())

    def copied(self, path: Path) -> File:
        """A temporary copy, decompressed or in another form."""
        return File(path, self.name, self.kind, is_temporary=True)

    @property
    def extension(self) -> str:
        """The last extension that is not one of a compression: ``.csv`` of ``a.CSV.gz``."""
        suffixes = [s.lower() for s in Path(self.name).suffixes if s.lower() not in (".gz", ".zst", ".zstd")]
        return suffixes[-1] if suffixes else ""


def gather(sources: Sequence[Any], scratch: Path) -> list[File]:
    """Every file the sources name, decompressed where needed, with its kind.

    ``scratch`` is a folder the caller deletes; copies are put there.
    """
    return [with_kind(unpacked(file, scratch)) for file in found(sources, scratch)]


def found(sources: Sequence[Any], scratch: Path) -> list[File]:
    """Every file the sources name, as it is on disk; a single small one is read."""
    read = SMALL if len(sources) == 1 else START
    files = [file for source in sources for file in _expand(source, scratch, read)]
    refuse_equal(files)
    return files


def refuse_equal(files: Sequence[File]) -> None:
    """Refuse one file under two names (by links, or two patterns that match it): it would be counted twice."""
    seen: dict[tuple[int, int], str] = {}
    for file in files:
        if file.is_temporary:
            continue
        status = file.path.stat()
        key = status.st_dev, status.st_ino
        if key in seen:
            raise UsageError(f"{seen[key]} and {file.name} are the same file, which would count twice; name it once")
        seen[key] = file.name


def stamps(files: Sequence[File]) -> dict[Path, Stamp]:
    """The current state of the files; our own copies do not change."""
    return {file.path: _stamp(file.path) for file in files if not file.is_temporary}


def refuse_changed(before: Mapping[Path, Stamp]) -> None:
    """Refuse a file that was replaced or written to while it was counted: the count would mix two tables."""
    for path, stamp in before.items():
        if not path.exists() or _stamp(path) != stamp:
            raise FileError(f"{path}: changed while it was being read; wait until it is complete, then try again")


def _stamp(path: Path) -> Stamp:
    status = path.stat()
    return (status.st_ino, status.st_size, status.st_mtime_ns)


def _expand(source: Any, scratch: Path, read: int) -> list[File]:
    """The files behind one argument, and up to so many of their first bytes."""
    if hasattr(type(source), "read"):
        return [spool(source, getattr(source, "name", "<stream>"), scratch)]
    text = os.fsdecode(source)
    if text == "-":
        stream = sys.stdin
        if stream is None or stream.closed:
            raise FileError("-: standard input is closed; pipe a file into the command or name a file")
        if stream.isatty():
            raise UsageError("-: standard input is a terminal; pipe a file into the command or name a file")
        return [spool(stream, "<stdin>", scratch)]
    text = text.removeprefix(addresses.SQLITE)
    name = addresses.public(text)
    if URL.match(text):
        if addresses.is_server(text):
            raise addresses.needed(name, ())
        why = "spagree does not fetch URLs"
        why = why if text.startswith(("http://", "https://")) else f"{addresses.KNOWN}, and nothing else by its address"
        raise FileError(f"{name}: {why}; download it first and give the path of the file")
    if "\0" in text:
        raise FileError(f"{shown(text)}: not a path: it holds a NUL character; check the name")
    if not any(character in text for character in "*?[") or os.path.lexists(text):
        return [_readable(Path(text), name, scratch, read)]
    folder, file = os.path.split(text)
    if os.path.lexists(folder):  # brackets in the name of a folder are part of its name
        text = os.path.join(glob.escape(folder), file)  # noqa: PTH118
    matches = glob.glob(text, recursive=True)  # noqa: PTH207 - Path.glob refuses absolute patterns
    paths = sorted(path for path in matches if not Path(path).is_dir())  # not in the order of the file system
    if not paths:
        name = addresses.public(text)
        raise FileError(f"{name}: no file matches; check the pattern (quoted, so the shell does not expand it)")
    for path in paths:
        if Path(path).exists() and not Path(path).is_file():  # opening a pipe would wait until somebody writes to it
            raise FileError(f"{path}: is a pipe or a device, not a file; move it away, or name it alone")
    return [_readable(Path(path), path, scratch, START) for path in paths]


def _readable(path: Path, name: str, scratch: Path, read: int) -> File:
    """Check that the file can be read; a pipe can be read only once, so it is copied."""
    try:
        if path.is_dir():
            raise FileError(f"{name}: is a folder; name its files, for instance {path / '*.csv'}")
        with path.open("rb") as stream:
            if not path.is_file():
                return spool(stream, name, scratch)
            start = stream.read(read)
        str(path.absolute()).encode()
        return File(path, name, start=start, is_whole=len(start) < read)
    except UnicodeEncodeError:  # a name that no engine accepts: a link to it under another
        link = scratch / f"link-{os.urandom(8).hex()}"
        link.symlink_to(path.absolute())
        plain = os.fsencode(name).decode("utf-8", "backslashreplace")
        return File(link, plain, is_temporary=True, start=start, is_whole=len(start) < read)
    except FileError:
        raise
    except OSError as error:
        why = f"cannot be opened ({error.strerror}); check the path"
        if isinstance(error, FileNotFoundError):
            why = f"no such file; check the path (working directory: {Path.cwd()})"
        elif isinstance(error, PermissionError):
            why = "no permission to read it; change its permissions (chmod +r)"
        raise FileError(f"{name}: {why}") from None


def spool(stream: IO[Any], name: object, scratch: Path) -> File:
    """Copy a stream to disk: only its content reveals its format, and it can be read only once."""
    path = new_file(scratch)
    source = getattr(stream, "buffer", stream)
    try:
        with path.open("wb") as target:
            while block := source.read(1 << 20):
                target.write(block.encode() if isinstance(block, str) else block)
    except (OSError, ValueError) as error:
        raise FileError(f"{name}: cannot be read ({error}); pipe a file into it or name a file") from error
    if not path.stat().st_size:
        raise DataError(f"{name}: nothing was sent (0 bytes); pipe a file into it or name a file")
    return File(path, str(name), is_temporary=True)


def new_file(scratch: Path) -> Path:
    """An empty file in the scratch directory."""
    handle, path = tempfile.mkstemp(dir=scratch)
    os.close(handle)
    return Path(path)


def head(file: File, size: int) -> bytes:
    """The first bytes of a file."""
    if file.is_whole or len(file.start) >= size:
        return file.start[:size]
    with file.path.open("rb") as stream:
        return stream.read(size)


def with_kind(file: File) -> File:
    """The file with its kind: by its first bytes, then its extension, then its content."""
    start = head(file, START)
    if not start:
        raise DataError(f"{file.name}: the file is empty (0 bytes); check that the export finished")
    kinds = ((PARQUET, "parquet"), (ARROW, "arrow"), (ARROW_STREAM, "arrow"), (OLD_EXCEL, "excel"))
    kind = next((kind for magic, kind in kinds if start.startswith(magic)), "")
    kind = kind or ("orc" if file.extension == ".orc" else _kind_of_zip(file) if start.startswith(ZIP) else "")
    if kind:
        return replace(file, kind=kind)
    if start.startswith(SQLITE):
        raise addresses.needed(file.name, ())
    start = start[8:] if start[8:12] == DUCKDB else start  # behind a checksum
    for what, (starts, extensions) in NO_TABLES.items():
        if start.startswith(starts) or file.extension in extensions:
            raise no_table(file.name, what)
    if wanted := BINARY_KINDS.get(file.extension):
        raise FileError(
            f"{file.name}: named {file.extension}, but its content is not {wanted}: damaged or misnamed; "
            "copy it again, or give it the right extension"
        )
    text = start.replace(b"\0", b"")  # in UTF-16 and UTF-32, NUL bytes surround ASCII characters
    for mark in (BOM_UTF8, BOM_UTF16_LE, BOM_UTF16_BE):
        text = text.removeprefix(mark)
    text = text.lstrip()
    is_array = re.match(rb"\[\s*(\{|\]|$)", text) or (file.extension == ".json" and text.startswith(b"["))
    by_content = "json lines" if text.startswith(b"{") else "json array" if is_array else "delimited"
    return replace(file, kind=JSON_KINDS.get(file.extension, by_content))


def _kind_of_zip(file: File) -> str:
    """A workbook; refuses other archives by name."""
    if file.extension in STATISTICS:
        raise no_table(file.name, STATISTICS[file.extension])
    with opened_zip(file.path, file.name) as archive:
        members = archive.namelist()
    if any(name.startswith("xl/") for name in members):
        return "excel"
    for beginning, what in ARCHIVES.items():
        if any(name.startswith(beginning) for name in members):
            raise no_table(file.name, what)
    if members and all(name.endswith(".npy") for name in members):
        raise no_table(file.name, "arrays of numpy")
    raise FileError(f"{file.name}: a zip archive, not a table; unpack it and name the file inside")


def no_table(name: str, what: str) -> FileError:
    """The refusal of a kind of file that is not read."""
    return FileError(f"{name}: {what}, which spagree does not read; save the table as CSV or Parquet")


GZIP, ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
MOST_LAYERS = 8
BLOCK, ZSTD_BLOCK = 1 << 20, 1 << 12
# Tables compress to a tenth, one repeated row to a hundredth. A file that grows a hundredfold, beyond a gigabyte,
# was made to fill a disk.
USUAL_SIZE, USUAL_RATIO = 1 << 30, 100
LIMIT = "SPAGREE_MAX_UNPACKED"


def unpacked(file: File, scratch: Path) -> File:
    """A decompressed copy, judging by the first bytes; a plain file is used in place, even if it is called .gz.

    A damaged archive is an error, never a shorter file.
    """
    name, packed = file.name, file.path.stat().st_size
    for _ in range(MOST_LAYERS):
        start = head(file, len(ZSTD))
        blocks = _gzip_blocks if start.startswith(GZIP) else _zstd_blocks if start.startswith(ZSTD) else None
        if blocks is None:
            return file
        copy, written = new_file(scratch), 0
        try:
            with file.path.open("rb") as stream, copy.open("wb") as target:
                for block in blocks(stream):
                    written += len(block)
                    refuse_bomb(name, packed, written)
                    target.write(block)
        except FileError:
            raise
        except (EOFError, zlib.error, OSError) as error:
            if isinstance(error, OSError) and error.strerror:  # gzip's own errors have no number of the system's
                raise FileError(f"{name}: cannot be decompressed ({error.strerror})") from error
            raise FileError(
                f"{name}: the compressed data is truncated or damaged ({error}); copy or download it again"
            ) from error
        file = file.copied(copy)
    raise FileError(f"{name}: compressed more than {MOST_LAYERS} times over; unpack it first")


def refuse_bomb(name: str, packed: int, unpacked: int) -> None:
    """Refuse a file that unpacks to more than any table would; SPAGREE_MAX_UNPACKED allows more."""
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


@contextmanager
def opened_zip(file: Path | io.BytesIO, name: str) -> Iterator[zipfile.ZipFile]:
    """A zip archive; refuses one that is damaged or would unpack to too much."""
    import zipfile

    try:
        with zipfile.ZipFile(file) as archive:
            size = file.stat().st_size if isinstance(file, Path) else file.getbuffer().nbytes
            refuse_bomb(name, size, sum(member.file_size for member in archive.infolist()))
            yield archive
    except SpagreeError:
        raise
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError, ValueError, OSError) as error:
        raise FileError(f"{name}: truncated or damaged ({error}); copy or download it again") from error
