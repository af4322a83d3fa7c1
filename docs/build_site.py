"""Build the documentation site into site/: python docs/build_site.py

The site is built from a copy of the pages. Beside them lie the files of the repository that they link to (the
contribution guide, benchmark results), and the pictures and example reports, made from the code as it is, so that every
link is checked. Formulas become MathML here, which browsers draw without a script.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

from latex2mathml.converter import convert

ROOT = Path(__file__).parent.parent
STAGE = ROOT / "build" / "docs"
FORMULA = re.compile(r"^```math\n(.*?)^```\n", re.MULTILINE | re.DOTALL)
BESIDE = {".github/CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}
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
        (STAGE / target).write_text(re.sub(r"\]\((?:\.\./)*docs/", "](", text), "utf-8")
    for page in STAGE.rglob("*.md"):
        text = page.read_text("utf-8")
        text = FORMULA.sub(typeset, text)
        page.write_text(linked(text, "../" * len(page.relative_to(STAGE).parts)), "utf-8")


def typeset(formula: re.Match[str]) -> str:
    """LaTeX as MathML, in a box that scrolls where it is too wide."""
    return f'<div class="formula" tabindex="0">{convert(formula[1], display="block")}</div>\n'


def write_api() -> None:
    """A page of every public name, from its docstring, in the order of __init__.pyi."""
    lines = (ROOT / "src" / "spagree" / "__init__.pyi").read_text("utf-8")
    names = re.findall(r"import (\w+) as \w+", lines)
    entries = "\n".join(f"::: spagree.{name}" for name in names if not name.startswith("_"))
    (STAGE / "api.md").write_text(f"# Python API\n\nEvery public name of `spagree`.\n\n{entries}\n", "utf-8")


def linked(text: str, up: str) -> str:
    """Links out of docs/ point to the copies; links to tests and code become plain names."""
    for source, target in BESIDE.items():
        text = text.replace(f"]({up}{source}", f"]({up[3:]}{target}")
    return re.sub(rf"\[([^\]]+)\]\({re.escape(up)}(?:tests|benchmarks|src)/[^)]*\)", r"`\1`", text)


if __name__ == "__main__":
    stage()
    write_api()
    subprocess.run([sys.executable, "-m", "benchmarks", "pictures", str(STAGE)], check=True, cwd=ROOT)
    command = [sys.executable, "-m", "zensical", "build", "--strict", "--clean", "-f", str(ROOT / "mkdocs.yml")]
    sys.exit(subprocess.run(command, check=False, cwd=ROOT).returncode)
