"""Files appear whole or not at all."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast

from spagree.errors import FileError, UsageError

if TYPE_CHECKING:
    import polars


def write_atomically(path: str | os.PathLike[str], write: Callable[[Path], object], *, force: bool = False) -> None:
    """Let ``write`` fill a temporary file beside ``path``, then rename it into place.

    A full disk or an interrupt leaves no partial file, and an old file stays as it was. An existing file is
    refused unless ``force``, also one that appears meanwhile: of two writers one succeeds. What replaces a file
    has the permissions of the old one.

    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> target = Path(folder.name) / "note.txt"
    >>> write_atomically(target, lambda temporary: temporary.write_text("hello"))
    >>> target.read_text()
    'hello'
    >>> folder.cleanup()
    """
    from polars.exceptions import PolarsError  # what a full disk looks like to a table being written

    target = Path(path).absolute()  # libraries would take ~ for the home of the user
    refuse_existing(target, force=force)
    beside = target.with_name(f".{target.name}.{os.urandom(4).hex()}.part")
    try:
        write(beside)
        with beside.open("rb") as written:
            os.fsync(written.fileno())
        _put(beside, target, force=force)
    except FileExistsError:
        raise exists_already(path) from None
    except (OSError, PolarsError) as error:
        reason = getattr(error, "strerror", None) or error
        raise FileError(f"{path}: cannot be written ({reason}); choose another place") from error
    finally:
        with contextlib.suppress(OSError):  # already renamed, or never there
            beside.unlink()


def save_frame(frame: polars.DataFrame, path: str | os.PathLike[str], *, force: bool = False) -> None:
    """Write a table as its name says: .csv, .csv.gz or .parquet; the same table gives the same bytes."""
    writers: dict[str, Callable[[Path], object]] = {
        ".csv": frame.write_csv,
        ".csv.gz": partial(_write_gzip, frame),
        ".parquet": frame.write_parquet,
    }
    write = next((write for ending, write in writers.items() if Path(path).name.lower().endswith(ending)), None)
    if write is None:
        raise UsageError(f"{path}: found the ending {Path(path).suffix!r}; give one of {', '.join(writers)}")
    write_atomically(path, write, force=force)


def _write_gzip(frame: polars.DataFrame, path: Path) -> None:
    """Without name and time in the header, which would change the bytes."""
    import gzip

    with path.open("wb") as file, gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as packed:
        frame.write_csv(cast(IO[bytes], packed))


def refuse_existing(path: str | os.PathLike[str], *, force: bool) -> None:
    """Say no early, before any work is done whose result could not be kept; a device or a pipe is never replaced."""
    target = Path(path)
    try:
        exists = os.path.lexists(target)
        is_plain = target.is_file() or not target.exists()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise FileError(f"{path}: cannot be written ({reason}); choose another place") from error
    if exists and not is_plain:
        raise FileError(f"{path}: cannot be written (a folder, a device or a pipe is there); choose another place")
    if exists and not force:
        raise exists_already(path)


def exists_already(path: str | os.PathLike[str]) -> FileError:
    """What to say where a result would replace a file."""
    return FileError(f"{path}: exists already; use --force (force=True) to replace it")


def _put(beside: Path, target: Path, *, force: bool) -> None:
    """Give the finished file its name; without force in one step that fails where the name is taken."""
    if not force:
        try:
            target.hardlink_to(beside)
        except FileExistsError:
            raise
        except (OSError, NotImplementedError):
            refuse_existing(target, force=False)  # a disk without links: as close as it gets
        else:
            return
    elif target.is_file():
        beside.chmod(stat.S_IMODE(target.stat().st_mode))
    beside.replace(target)
