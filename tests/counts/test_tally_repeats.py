"""Few repeats among many rows: only their rows are looked at again, with the same outcome."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random

import polars as pl
import pytest

import spagree
from spagree.counts import engines
from spagree.options import DuplicatePolicy


@pytest.mark.parametrize("policy", ["error", "first", "last"])
@pytest.mark.parametrize("apart", [0, 10_000], ids=["all rows", "repeated rows"])
@pytest.mark.parametrize("times", [False, True], ids=["by row", "by time"])
def test_repeats_are_settled_alike_whether_their_rows_are_treated_apart_or_not(
    policy: DuplicatePolicy, apart: int, times: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Against a plain loop; some annotators are unknown, and theirs are never repeats."""
    monkeypatch.setattr(engines, "MOST_REPEATS_APART", apart)
    random = Random(3)
    rows = [(f"i{i}", random.choice(["ann", "bob", "cyd", ""]), random.choice("xyz")) for i in range(60) for _ in "123"]
    if policy == "error":  # only such repeats as do not contradict
        given: dict[tuple[str, str], str] = {}
        rows = [(i, who, label if not who else given.setdefault((i, who), label)) for i, who, label in rows]
    timed = [(*row, random.randrange(10**9)) for row in rows]
    path = tmp_path / "a.csv"
    lines = [",".join(map(str, row if times else row[:3])) for row in timed]
    path.write_text("\n".join(["item,annotator,label" + ",time" * times, *lines, ""]))
    wanted = kept(timed, policy, times)
    for source in (path, pl.read_csv(path).lazy()):
        if isinstance(source, Path) or times:
            found = spagree.tally(source, duplicates=policy)
            assert found.left_out == {"repeated": len(rows) - len(wanted)}
            assert replace(found, left_out={}) == spagree.tally([(i, who or None, label) for i, who, label in wanted])
    assert len(rows) - len(wanted) > 5


def kept(timed: list[tuple[str, str, str, int]], policy: str, times: bool) -> list[tuple[str, str, str]]:
    ordered = sorted(timed, key=lambda row: row[3]) if times else timed
    found: dict[object, tuple[str, str, str]] = {}
    for number, (item, who, label, _) in enumerate(ordered):
        key = (item, who) if who else number
        if policy == "last" or key not in found:
            found[key] = (item, who, label)
    return list(found.values())
