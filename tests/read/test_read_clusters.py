"""A column that groups items and is not used is named with its remedy."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import spagree


def table(column: str, items: int = 12, per_group: int = 3) -> pl.DataFrame:
    rows = [(f"s{i}", who, "x" if i % 3 else "y", f"g{i // per_group}") for i in range(items) for who in ("ann", "bob")]
    return pl.DataFrame(rows, schema=["item", "annotator", "label", column], orient="row")


def hints(frame: Any, **options: str) -> list[str]:
    found = spagree.measure(frame, item="item", **options)
    return [each.message for each in found.warnings if each.code == "looks_clustered"]


@pytest.mark.parametrize("column", ["doc", "Document ID", "batch", "page", "topic"])
def test_the_warning_names_the_option_that_helps(column: str) -> None:
    frame = table(column)
    (said,) = hints(frame)
    assert f"column '{column}' groups items (in the first rows 12 items in 4 groups)" in said
    assert said.endswith(f'use cluster="{column}"')
    assert hints(frame, cluster=column) == []


def test_missing_values_of_pandas_are_no_group() -> None:
    frame = table("doc").with_columns(doc=pl.when(pl.col("doc") == "g0").then(None).otherwise("doc"))
    for arrow in (False, True):
        (said,) = hints(frame.to_pandas(use_pyarrow_extension_array=arrow))
        assert "9 items in 3 groups" in said


@pytest.mark.parametrize(
    "frame",
    [
        table("language"),
        table("doc", per_group=1),
        table("doc", items=6),
        table("doc", per_group=50),
        table("doc").with_columns(doc=pl.col("annotator")),
    ],
    ids=["another name", "a group per item", "few items", "one group", "varies within items"],
)
def test_nothing_is_said_about_other_columns(frame: pl.DataFrame) -> None:
    assert hints(frame) == []
