"""Atomic file writes: a file appears complete or not at all."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast

from spagree.errors import FileError, UsageError, opt

if TYPE_CHECKING:
    import polars


def write_atomically(path: str | os.PathLike[str], write: Callable[[Path], object], *, force: bool = False) -> None:
    """Let ``write`` fill a temporary file next to ``path``, then rename it into place.

    A full disk or an interrupt leaves no partial file, and an old file stays unchanged. An existing file is
    refused unless ``force``, even if it appears in the meantime: of two writers, one succeeds. A replacement
    keeps the permissions of the old file.
    """
    from polars.exceptions import PolarsError  # raised for a full disk while writing a table

    target = Path(path).absolute()  # libraries would expand ~ to the home folder
    refuse_existing(target, force=force)
    beside = target.with_name(f".{target.name}.{os.urandom(4).hex()}.part")
    try:
        write(beside)
        with beside.open("rb") as written:
            os.fsync(written.fileno())
        if force:
            if target.is_file():
                beside.chmod(stat.S_IMODE(target.stat().st_mode))
            beside.replace(target)
            return
        try:
            target.hardlink_to(beside)  # one step, which fails if the name is taken
        except FileExistsError:
            raise
        except (OSError, NotImplementedError):  # a file system without links: as close as possible
            refuse_existing(target, force=False)
            beside.replace(target)
    except FileExistsError:
        raise exists_already(path) from None
    except (OSError, PolarsError) as error:
        reason = getattr(error, "strerror", None) or error
        raise FileError(f"{path}: cannot be written ({reason}); choose another place") from error
    finally:
        with contextlib.suppress(OSError):  # already renamed, or never there
            beside.unlink()


def save_frame(frame: polars.DataFrame, path: str | os.PathLike[str], *, force: bool = False) -> None:
    """Write a table in the format of its suffix: .csv, .csv.gz or .parquet; the same table gives the same bytes."""

    def write_gzip(beside: Path) -> None:  # without name and time in the header, which would make the bytes vary
        import gzip

        with beside.open("wb") as file, gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as packed:
            frame.write_csv(cast(IO[bytes], packed))

    writers: dict[str, Callable[[Path], object]] = {
        ".csv": frame.write_csv,
        ".csv.gz": write_gzip,
        ".parquet": frame.write_parquet,
    }
    write = next((write for ending, write in writers.items() if Path(path).name.lower().endswith(ending)), None)
    if write is None:
        raise UsageError(f"{path}: found the ending {Path(path).suffix!r}; give one of {', '.join(writers)}")
    write_atomically(path, write, force=force)


def refuse_existing(path: str | os.PathLike[str], *, force: bool) -> None:
    """Refuse early, before doing work whose result could not be saved; a device or a pipe is never replaced."""
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
    """The error for a result that would replace a file."""
    return FileError(f"{path}: exists already; use {opt.force} to replace it")
