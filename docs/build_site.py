"""Build the documentation site into site/: python docs/build_site.py

Pages link to files of the repository beside docs/ (the contribution guide, benchmark results). The site is built from a
copy in which these files lie beside the pages, so that every link is checked.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
STAGE = ROOT / "build" / "docs"
BESIDE = {"CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}
BESIDE |= {"benchmarks/RESULTS.md": "benchmarks/results.md", "benchmarks/STUDIES.md": "benchmarks/studies.md"}


def stage() -> None:
    """Copy the pages and what they link to."""
    shutil.rmtree(STAGE, ignore_errors=True)
    shutil.copytree(ROOT / "docs", STAGE, ignore=shutil.ignore_patterns("*.py"))
    for source, target in BESIDE.items():
        if not (ROOT / source).exists():
            continue
        (STAGE / target).parent.mkdir(exist_ok=True)
        text = (ROOT / source).read_text("utf-8")
        (STAGE / target).write_text(re.sub(r"\]\((?:\.\./)?docs/", "](", text), "utf-8")
    for page in STAGE.rglob("*.md"):
        text = page.read_text("utf-8")
        page.write_text(linked(text, "../" * len(page.relative_to(STAGE).parts)), "utf-8")


def linked(text: str, up: str) -> str:
    """Links out of docs/ point to the copies; links to tests and code become plain names."""
    for source, target in BESIDE.items():
        text = text.replace(f"]({up}{source}", f"]({up[3:]}{target}")
    return re.sub(rf"\[([^\]]+)\]\({re.escape(up)}(?:tests|benchmarks|src)/[^)]*\)", r"`\1`", text)


if __name__ == "__main__":
    stage()
    command = [sys.executable, "-m", "zensical", "build", "--strict", "--clean", "-f", str(ROOT / "mkdocs.yml")]
    sys.exit(subprocess.run(command, check=False, cwd=ROOT).returncode)
