"""The package as others install it: the wheel with nothing beside it, and with the oldest versions it allows.

Takes minutes and downloads; `uv` finds the oldest versions.
"""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).parents[2]
EXTRAS = ("report", "excel", "postgres", "zstd")


def environment(folder: Path) -> list[str | Path]:
    """The command that installs into a new environment; its Python comes first."""
    venv.create(folder, with_pip=True, upgrade_deps=True)
    return [folder / "bin" / "python", "-m", "pip", "install", "--quiet"]


def smoke(python: str | Path) -> None:
    subprocess.run([python, ROOT / "tests" / "smoke.py"], check=True)


def test_the_wheel_works_without_extras(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "pip", "wheel", "--no-deps", "-w", tmp_path, ROOT], check=True)
    [wheel] = tmp_path.glob("*.whl")
    install = environment(tmp_path / "new")
    subprocess.run([*install, wheel], check=True)
    smoke(install[0])


def test_the_oldest_dependencies_work(tmp_path: Path) -> None:
    install = environment(tmp_path / "old")
    subprocess.run([*install, "uv"], check=True)
    extras = [word for extra in EXTRAS for word in ("--extra", extra)]
    compiling = [install[0], "-m", "uv", "pip", "compile", "--quiet", "--resolution", "lowest-direct", *extras]
    oldest = tmp_path / "oldest.txt"
    subprocess.run([*compiling, "--python-version", "3.11", ROOT / "pyproject.toml", "-o", oldest], check=True)
    subprocess.run([*install, "-r", oldest], check=True)
    subprocess.run([*install, "--no-deps", "--editable", ROOT], check=True)
    smoke(install[0])
