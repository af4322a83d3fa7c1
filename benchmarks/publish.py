"""Where the studies of intervals and coefficients go: a table and a page under docs/studies."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent.parent / "docs" / "studies"


def publish(name: str, rows: Sequence[Mapping[str, Any]], text: str) -> None:
    """Write the rows as NAME.csv and the page as NAME.md, and show the page."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    with (FOLDER / f"{name}.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    (FOLDER / f"{name}.md").write_text(text)
    print("\n" + text)
