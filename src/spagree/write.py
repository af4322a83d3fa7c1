"""Files appear whole or not at all."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from pathlib import Path

from spagree.errors import FileError


def write_atomically(path: str | os.PathLike[str], write: Callable[[Path], object], *, force: bool = False) -> None:
    """Let ``write`` fill a temporary file beside ``path``, then rename it into place.

    A full disk or an interrupt leaves no partial file, and an old file stays as it was. An
    existing file is refused unless ``force``.

    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> target = Path(folder.name) / "note.txt"
    >>> write_atomically(target, lambda temporary: temporary.write_text("hello"))
    >>> target.read_text()
    'hello'
    >>> folder.cleanup()
    """
    from polars.exceptions import PolarsError  # what a full disk looks like to a table being written

    target = Path(path)
    refuse_existing(target, force=force)
    beside = target.with_name(f".{target.name}.{os.urandom(4).hex()}.part")
    try:
        write(beside)
        with beside.open("rb") as written:
            os.fsync(written.fileno())
        beside.replace(target)
    except (OSError, PolarsError) as error:
        reason = getattr(error, "strerror", None) or error
        raise FileError(f"{target}: cannot be written ({reason}); choose another place") from error
    finally:
        with contextlib.suppress(OSError):  # already renamed, or never there
            beside.unlink()


def refuse_existing(path: str | os.PathLike[str], *, force: bool) -> None:
    """Say no early, before any work is done whose result could not be kept."""
    try:
        exists = Path(path).exists()
    except OSError as error:
        raise FileError(f"{path}: cannot be written ({error.strerror}); choose another place") from error
    if exists and not force:
        raise FileError(f"{path}: exists already; use --force (force=True) to replace it")
