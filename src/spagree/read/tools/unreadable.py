"""Files of tools that hold no classes by annotator: refused by name, so that nobody looks for the right options."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NoReturn

from spagree.errors import DataError
from spagree.read.files.paths import head
from spagree.read.tools.source import FOLDER, TABLE, Source

START = 4096
BRAT = re.compile(r"(T\d+\t\S+ \d+ \d+|[RE]\d+\t\S+ \S+:\S+|A\d+\t\S+ [TER]\d+)")
CVAT = re.compile(r"<annotations>.*?<(version|meta|image|track)\b", re.DOTALL)


def refuse(source: Source) -> None:
    """The error for a file of CVAT, brat or WebAnno, or of potato's own table; nothing for other files."""
    if source.shape == FOLDER and any(name.endswith(".ann") for name in source.keys):
        _no_classes(source, "brat", "spans and relations in .ann files")
    if source.shape != TABLE or not source.files:
        return
    text = head(source.files[0], START).decode("utf-8-sig", errors="replace")
    if text.lstrip().startswith("<") and CVAT.search(text):
        _no_classes(source, "CVAT", "boxes, tracks and tags of images, without who drew them")
    if BRAT.match(text) and Path(source.files[0].name).suffix in (".ann", ".txt", ""):
        _no_classes(source, "brat", "spans and relations")
    if text.startswith("#FORMAT=WebAnno"):
        raise DataError(
            f"{source.name}: WebAnno or INCEpTION wrote it: spans in one document of one annotator; spagree compares "
            "classes: export the table of the Agreement page instead (CSV), which can be read"
        )
    if source.has("user", "instance_id", "displayed_text"):
        raise DataError(
            f"{source.name}: potato's table of all annotations names one anonymous user; give the folder around it, "
            "which has a folder for each annotator"
        )


def _no_classes(source: Source, tool: str, content: str) -> NoReturn:
    raise DataError(
        f"{source.name}: {tool} wrote it: {content}; spagree compares classes that several annotators gave to the same "
        "items: export those as a table (item, annotator, label)"
    )
