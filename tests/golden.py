"""Words that are compared as a whole: `GOLDEN=write pytest …` renews the files, and the difference is read in review."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import spagree

FOLDER = Path(__file__).parent / "golden"
Golden = Callable[[str, str], None]


def compare(name: str, text: str) -> None:
    """What was printed is what is written in the file; versions of software are left out."""
    python = re.sub(r"Python 3\.\d+\.\d+", "Python 3", text)
    shown = python.replace(f"spagree {spagree.__version__}", "spagree VERSION").strip() + "\n"
    path = FOLDER / name
    if os.environ.get("GOLDEN") == "write":
        path.parent.mkdir(exist_ok=True)
        path.write_text(shown, "utf-8")
    assert shown == path.read_text("utf-8")
