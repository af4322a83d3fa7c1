"""Python ends in order after measure(), on a terminal, in a session or in a notebook: no thread is left to abort it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import spagree
from command import on_a_terminal

SCRIPT = """
import spagree
agreement = spagree.measure({path!r})
agreement.items(), agreement.annotators(), agreement.pairs(), agreement.hardest(3)
kept = agreement
print(round(agreement.spa.value, 3))
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    votes = tmp_path / "votes.csv"
    spagree.simulate(items=300, annotators=25, seed=1).save(votes)
    path = tmp_path / "script.py"
    path.write_text(SCRIPT.format(path=str(votes)))
    return path


def value(script: Path) -> str:
    return str(round(spagree.measure(script.with_name("votes.csv")).spa.value or 0, 3))


@pytest.mark.parametrize(("end", "code"), [("", 0), ("raise SystemExit(7)", 7)])
def test_a_script_ends_in_order_or_with_its_own_error(end: str, code: int, script: Path) -> None:
    script.write_text(f"{script.read_text()}{end}\n")
    found, seen = on_a_terminal(sys.executable, script)
    assert (found, seen.strip()) == (code, value(script))


def test_a_session_that_is_left_ends_in_order(script: Path) -> None:
    code, seen = on_a_terminal(sys.executable, "-q", "-i", script, typed=b"kept.spa.level\nexit()\n")
    assert code == 0 and value(script) in seen and "0.95" in seen and "terminate called" not in seen


# How duckdb recognises the kernel of a notebook; without ipywidgets it refuses to change its progress bar there.
KERNEL = """
import sys, types
sys.modules["IPython"] = types.ModuleType("IPython")
sys.modules["IPython"].get_ipython = lambda: types.SimpleNamespace(config={"IPKernelApp": {}})
sys.modules["ipywidgets"] = None
"""


def test_a_notebook_without_widgets_measures_a_file(script: Path) -> None:
    command = [sys.executable, "-c", KERNEL + script.read_text()]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (ended.returncode, ended.stdout.strip(), ended.stderr) == (0, value(script), "")
