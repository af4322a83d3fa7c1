"""What a score prints: short by default, all of it with -v, and readable at any width."""

from __future__ import annotations

import re
import sys

import pytest

import spagree
from command import Run, Terminal
from spagree.cli.console import note


def test_the_score_is_short_by_default(run: Run) -> None:
    short, full = run("score", "example:sparse")[1], run("score", "example:sparse", "-v")[1]
    for part in ("SPA 0.576  95%: 0.527 to 0.623 for other annotators", "Next", "Read", "Cite"):
        assert part in short and part in full
    for part in ("Weighting schemes", "Corrected for chance", "Assumption", "For your paper"):
        assert part not in short and part in full
    assert "-v: schemes" in short and "-v:" not in full
    assert len(short.splitlines()) < 0.6 * len(full.splitlines())


def test_a_doubtful_assumption_and_warnings_are_never_left_out(run: Run) -> None:
    short = run("score", "example:adaptive")[1]
    assert "✕ Do not quote yet: people agree less on items with more annotations" in short
    assert "the weighting schemes differ" not in short, "what a check covers is said once"


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_figures_survive_narrow_terminals(run: Run, monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    out = run("score", "example:sparse", "-v")[1]
    assert max(map(len, out.splitlines())) <= width and "…" not in out
    found = spagree.measure("example:sparse")
    for each in (*found.schemes.values(), *found.chance.values()):
        for end in (each.value, each.low, each.high):
            assert f"{end:.3f}" in out


@pytest.mark.parametrize("command", ["score", "items", "classes", "annotators", "pairs"])
def test_no_trailing_blanks_in_a_pipe(run: Run, command: str) -> None:
    code, out, _ = run(command, "example:sparse")
    assert code == 0 and re.findall(r"[ \t]+$", out, re.MULTILINE) == []


def test_messages_on_a_terminal_end_lines_between_words_and_leave_options_to_copy_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    advice = "  if each row is one annotation: --item 'tweet' --label 'mood'"
    note(f"spagree: labels.csv: no column looks like the item\n{advice}")
    assert terminal.getvalue() == f"spagree: labels.csv: no column\nlooks like the item\n{advice}\n"
