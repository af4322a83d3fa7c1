"""Everything that is found in a few data sets, figure by figure: no change goes unseen."""

from __future__ import annotations

import json
from typing import Any

import pytest

from make_results import COMPARED, PATH, comparisons, results, shown, sources

RESULTS: dict[str, Any] = json.loads(PATH.read_text("utf-8"))


def differences(found: Any, wanted: Any, where: str) -> list[str]:
    """What differs, each with its place; figures may differ in their seventh digit."""
    if isinstance(wanted, dict) and isinstance(found, dict) and list(found) == list(wanted):
        return [each for name in wanted for each in differences(found[name], wanted[name], f"{where}, {name}")]
    if isinstance(wanted, list) and isinstance(found, list) and len(found) == len(wanted):
        pairs = zip(found, wanted, strict=True)
        return [each for place, (a, b) in enumerate(pairs) for each in differences(a, b, f"{where} [{place}]")]
    if isinstance(wanted, float) and isinstance(found, float):
        same = found == pytest.approx(wanted, rel=1e-6, abs=1e-12)
    else:
        same = type(found) is type(wanted) and found == wanted
    return [] if same else [f"{where}: {found!r} instead of {wanted!r}"]


@pytest.mark.parametrize("name", [name for name in RESULTS if not name.startswith(COMPARED)])
def test_results_are_what_they_were(name: str) -> None:
    wanted = RESULTS[name]
    for part, found in json.loads(json.dumps(results(name))).items():
        changed = differences(found, wanted[part], f"{name}: {part}")
        assert not changed, "if this is meant, run tests/make_results.py and read what changes"


@pytest.mark.parametrize("name", [name for name in RESULTS if name.startswith(COMPARED)])
def test_comparisons_are_what_they_were(name: str) -> None:
    found = json.loads(json.dumps(shown(comparisons()[name])))
    changed = differences(found, RESULTS[name], name)
    assert not changed, "if this is meant, run tests/make_results.py and read what changes"


def test_nothing_is_left_out() -> None:
    assert list(RESULTS) == [*sources(), *comparisons()]
    assert all(list(RESULTS[name]) == list(results(name)) for name in ("nothing", "bootstrap"))
