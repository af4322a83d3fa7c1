"""Every outcome has its exit code, on every console: 1 means a gate that was not met, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import spagree
from command import Run, bash, written
from examples import combinations
from spagree.cli import score


@pytest.fixture
def source(tmp_path: Path) -> Path:
    rows = ("q1,ann,café ✓", "q1,bob,café ✓", "q2,ann,no", "q2,bob,café ✓", "q3,ann,no", "q3,bob,no")
    return written(tmp_path / "rows.csv", *rows)


def break_score(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    def broken(*_: object) -> None:
        raise error

    monkeypatch.setattr(score, "_print_all", broken)


@pytest.mark.parametrize("error", [ZeroDivisionError("a defect"), OSError("strange"), RuntimeError("deep")])
def test_an_unexpected_error_is_exit_70_and_one_line(
    run: Run, source: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    break_score(monkeypatch, error)
    code, out, err = run("score", source)
    assert (code, out) == (70, "")
    assert err.startswith("spagree: a bug in spagree") and err.count("\n") == 1
    assert str(error) in err and "please report it" in err and "--debug" in err
    code, _, err = run("score", source, "--debug")
    assert code == 70 and "Traceback" in err and "_print_all" in err


def test_an_interrupt_is_no_defect_and_debug_keeps_the_code_of_an_error(
    run: Run, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    break_score(monkeypatch, KeyboardInterrupt())
    assert run("score", source) == (130, "", "")
    code, _, err = run("score", "nowhere.csv", "--debug")
    assert code == 4 and "Traceback" in err


@pytest.mark.parametrize("command", ["score", "classes", "score --json"])
def test_a_console_without_unicode_is_no_error_and_json_is_the_same(source: Path, command: str) -> None:
    done = bash(f"{command} {source}", PYTHONIOENCODING="cp1252", PYTHONUTF8="0")
    assert done.returncode == 0 and done.stderr == b""
    if "--json" in command:
        assert json.loads(done.stdout.decode("ascii")) == spagree.measure(source).to_dict()
    else:
        shown = done.stdout.decode("cp1252")
        assert "café \\u2713" in shown and "?" not in shown and "█" not in shown


@pytest.mark.parametrize(
    ("arguments", "target"),
    combinations(
        ["--help", "score --help", "paper --help", "score example:sparse"],
        ["> /dev/full", "| true; exit ${PIPESTATUS[0]}", ">&-"],
    ),
)
def test_what_cannot_be_written_is_exit_4(arguments: str, target: str) -> None:
    done = bash(f"{arguments} {target}")
    # A reader that ends early may still have taken everything.
    assert done.returncode in ((0, 4) if "true" in target else (4,))
    assert b"Traceback" not in done.stderr and b"Exception" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "code"),
    [("score nowhere.csv", 4), ("scroe", 2), ("score SOURCE --require 0.99", 1), ("score SOURCE", 0)],
)
@pytest.mark.parametrize("target", ["2>&-", "2> /dev/full"])
def test_an_unwritable_stderr_changes_no_exit_code(source: Path, arguments: str, code: int, target: str) -> None:
    assert bash(f"{arguments.replace('SOURCE', str(source))} {target}").returncode == code


@pytest.mark.parametrize(
    "typed", [*["nan", "inf", "70", "-0.1", "1.01", "high", "krippendorff_alpha=nan", "kappa=0.5"], ""]
)
def test_a_gate_that_is_no_share_is_wrong_usage(run: Run, typed: str) -> None:
    code, out, err = run("score", "example:sparse", "--require", typed)
    assert (code, out) == (2, "") and "--require" in err


def test_gates_on_coefficients_and_without_an_interval(run: Run, tmp_path: Path) -> None:
    low = spagree.measure("example:sparse").chance["krippendorff_alpha"].low
    assert low is not None
    assert run("score", "example:sparse", "--require", f"krippendorff_alpha={low}")[0] == 0
    code, _, err = run("score", "example:sparse", "--require", 0.1, "--require", "krippendorff_alpha=0.9")
    assert code == 1 and f"lower end of krippendorff_alpha is {low:.3f}; 0.9 is required" in err
    assert run("score", "example:sparse", "--require", "spa=0.1")[0] == 0
    path = written(tmp_path / "one.csv", "1,a,x", "1,b,x", "2,b,x")
    code, out, err = run("score", path, "--require", "0.1")
    assert code == 1 and "no interval, because only one item" in " ".join(out.split()) and "no interval" in err


GROUPS = ["Input", "Columns", "Cleaning", "Exports of annotation tools", "Databases", "Statistics", "Output"]


def test_help_shows_options_in_groups(run: Run) -> None:
    out = run("score", "--help")[1]
    assert [line.rstrip(":") for line in out.splitlines() if line.endswith(":") and line[0] != " "] == GROUPS
    assert out.index("Columns:") < out.index("--item") < out.index("Cleaning:") < out.index("--missing")
    assert "Options:\n" in run("assign", "--help")[1] and "Output:" not in run("assign", "--help")[1]
