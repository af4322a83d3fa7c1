"""What must work with nothing but the wheel and its dependencies: python tests/smoke.py"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROWS = "item,annotator,label\nq1,ann,yes\nq1,bob,yes\nq2,ann,no\nq2,bob,yes\nq3,ann,no\nq3,bob,no\n"


def spagree(*arguments: str) -> str:
    """Run the command as a user would, and insist that it works."""
    done = subprocess.run([sys.executable, "-m", "spagree", *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"spagree {' '.join(arguments)}: exit {done.returncode}\n{done.stderr}")
    return done.stdout


def main() -> None:
    """Score a CSV and a Parquet file, list, tally, merge, simulate and assign."""
    with tempfile.TemporaryDirectory() as folder:
        table, simulated = Path(folder, "labels.csv"), Path(folder, "simulated.parquet")
        table.write_text(ROWS)
        figures = json.loads(spagree("score", str(table), "--json"))
        assert figures["spa"]["value"] == 2 / 3, figures["spa"]
        spagree("simulate", "-o", str(simulated), "--items", "200", "--per-item", "2:4")
        spagree("score", str(simulated))
        for command in ("items", "classes", "annotators", "pairs"):
            spagree(command, str(simulated))
        saved = Path(folder, "one.json")
        spagree("tally", str(table), "-o", str(saved))
        spagree("score", str(saved))
        items = Path(folder, "items.csv")
        items.write_text("item\nq1\nq2\nq3\n")
        spagree("assign", str(items), "--annotators", "3", "--per-item", "2", "-o", f"{folder}/a.csv")
    versions = subprocess.run([sys.executable, "-m", "pip", "list"], capture_output=True, text=True, check=True).stdout
    needed = ("duckdb", "narwhals", "numpy", "polars", "scipy")
    kept = [line for line in versions.splitlines() if line.split()[0] in needed]
    print("smoke test passed with", "; ".join(" ".join(line.split()) for line in kept))  # noqa: T201


if __name__ == "__main__":
    main()
