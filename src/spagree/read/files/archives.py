"""Zip archives: what is in them, if they can be unpacked."""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path

from spagree.errors import FileError
from spagree.read.files.compressed import refuse_bomb

BROKEN_ZIP = (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError, ValueError, OSError)


def zip_members(path: Path, name: str) -> list[str]:
    """The names in an archive; refuses one that is damaged or would unpack to too much."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
    except BROKEN_ZIP as error:
        raise FileError(f"{name}: truncated or damaged ({error}); copy or download it again") from error
    refuse_bomb(name, path.stat().st_size, sum(member.file_size for member in members))
    return [member.filename for member in members]
