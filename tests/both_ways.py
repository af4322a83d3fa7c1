"""Small files are counted in memory, by codes, or fetched from duckdb, or counted there: all are compared.

A folder whose conftest.py imports :func:`both_ways` sends every file of its tests through it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

import spagree
from spagree import measuring
from spagree.counts import count as counting
from spagree.counts import fetch as fetching
from spagree.counts.count import Counted
from spagree.counts.policies import Policies
from spagree.read import read
from spagree.read.annotations import Annotations, FewRows

COMPARED: list[str] = []
"""The sources that were counted both ways."""


@pytest.fixture(autouse=True)
def both_ways(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    def compared(annotations: Annotations, policies: Policies | None = None, **how: Any) -> Counted:
        found = counting.count(annotations, policies, **how)
        if isinstance(found.held.rows, FewRows):
            on_duckdb = replace(annotations, rows=annotations.frame)
            fetched = counting.count(on_duckdb, policies)
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(fetching, "FEW", 0)
                same = counting.count(on_duckdb, policies)
            assert same.held.codes is None
            assert found.tally == fetched.tally == same.tally
            assert found.warnings == fetched.warnings == same.warnings
            assert found.held.annotations is not None and same.held.annotations is not None
            rows, others = found.held.annotations.to_native().fetchall(), same.held.annotations.to_native().fetchall()
            assert sorted(rows, key=repr) == sorted(others, key=repr)
            COMPARED.append(annotations.understood.source)
        return found

    monkeypatch.setattr(measuring, "count", compared)


def in_memory_rows(source: Any, **options: Any) -> bool:
    """Whether the rows of a source stay in memory."""
    return isinstance(read(source, **options).rows, FewRows)


def document(agreement: spagree.Agreement) -> dict[str, Any]:
    """The whole document but for the commands to try next, which repeat the source and its options."""
    return {name: value for name, value in agreement.to_dict().items() if name != "next"}


def outcome(source: Any, **options: Any) -> Any:
    """The whole document, or the refusal."""
    try:
        return document(spagree.measure(source, **options))
    except spagree.SpagreeError as error:
        return type(error), str(error)


__all__ = ["COMPARED", "both_ways", "in_memory_rows", "outcome"]
