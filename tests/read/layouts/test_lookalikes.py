"""Columns named like a label that hold something else: what a model wrote, the number of a judgement, lists."""

from __future__ import annotations

from pathlib import Path

import polars
import pytest

import spagree
from spagree.errors import ColumnError

ROWS = [
    {"item_id": f"i{n}", "rater_id": who, "safe": "yes" if (n * 7 + k) % 3 else "no"}
    for n in range(12)
    for k, who in enumerate(("ann", "bob", "cyd"))
]
SPA = spagree.measure(polars.DataFrame(ROWS), label="safe").spa.value


@pytest.mark.parametrize("name", ["response", "answer", "value"])
def test_what_a_model_wrote_is_not_the_label(name: str) -> None:
    """The items of DICES are dialogues with a last response, and every rater of an item sees the same one."""
    frame = polars.DataFrame([{**row, name: f"what was written for {row['item_id']}"} for row in ROWS])
    with pytest.raises(ColumnError, match=f"'{name}' has a different value for each item, the same from all"):
        spagree.measure(frame)
    assert spagree.measure(frame, label="safe").spa.value == SPA


@pytest.mark.parametrize("name", ["judgment", "response"])
def test_the_number_of_a_judgement_is_not_the_label(name: str) -> None:
    frame = polars.DataFrame([{**row, name: n} for n, row in enumerate(ROWS)])
    with pytest.raises(ColumnError, match=f"'{name}' has a different value in nearly every row"):
        spagree.measure(frame)


def test_perfect_agreement_is_not_refused() -> None:
    rows = [{"item": n, "rater": who, "label": "abcd"[n % 4]} for n in range(12) for who in ("ann", "bob")]
    assert spagree.measure(polars.DataFrame(rows)).spa.value == 1


def test_a_data_set_that_keeps_ids_of_mechanical_turk_is_a_table(tmp_path: Path) -> None:
    named = {"item_id": "HITId", "rater_id": "WorkerId", "safe": "offensiveYN"}
    polars.DataFrame(ROWS).rename(named).write_csv(tmp_path / "sbic.csv")
    found = spagree.measure(tmp_path / "sbic.csv", item="HITId", label="offensiveYN")
    assert found.spa.value == SPA and found.understood.format == "long"
