"""spagree measures how much annotators agree when not everyone labelled everything.

Data flows one way, through one small type, the tally:

    read      any source → Annotations          files, dataframes, triples, count matrices
    tally     Annotations → Tally                integers that merge with +; LiveTally grows and shrinks
    estimate  Tally → Findings                   weights, SPA, intervals, the assumption check
    present   Findings → text, JSON, notebook, charts, one HTML page

    >>> import spagree
    >>> agreement = spagree.measure("example:krippendorff2011")
    >>> print(f"{agreement.spa.value:.3f}")
    0.793

Names are loaded on first use, so ``import spagree`` and ``spagree --help`` stay fast.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

from spagree.version import __version__

if TYPE_CHECKING:
    from spagree.agreement import Agreement
    from spagree.assignment import Assignment, Person, assign
    from spagree.comparing import Comparison, ModelComparison, compare
    from spagree.counting import count_items, tally
    from spagree.errors import (
        ColumnError,
        DataError,
        DuplicateError,
        FileError,
        MissingExtraError,
        SpagreeError,
        UsageError,
    )
    from spagree.estimate import SCHEMES, Estimate, item_variance, weigh
    from spagree.measuring import measure, measure_all
    from spagree.read.examples import example
    from spagree.simulate import Simulation, simulate
    from spagree.tally.items import ItemCounts
    from spagree.tally.saved import load, save
    from spagree.tally.state import LiveTally
    from spagree.tally.tally import Cell, Tally

_HOME = {
    name: f"spagree.{module}"
    for module, names in {
        "agreement": ["Agreement"],
        "assignment": ["Assignment", "Person", "assign"],
        "comparing": ["Comparison", "ModelComparison", "compare"],
        "counting": ["count_items", "tally"],
        "errors": [
            *("ColumnError", "DataError", "DuplicateError", "FileError"),
            *("MissingExtraError", "SpagreeError", "UsageError"),
        ],
        "estimate": ["SCHEMES", "Estimate", "item_variance", "weigh"],
        "measuring": ["measure", "measure_all"],
        "read.examples": ["example"],
        "simulate": ["Simulation", "simulate"],
        "tally.items": ["ItemCounts"],
        "tally.saved": ["load", "save"],
        "tally.state": ["LiveTally"],
        "tally.tally": ["Cell", "Tally"],
    }.items()
    for name in names
}

__all__ = [
    "SCHEMES", "Agreement", "Assignment", "Cell", "ColumnError", "Comparison", "DataError", "DuplicateError",
    "Estimate", "FileError", "ItemCounts", "LiveTally", "MissingExtraError", "ModelComparison", "Person",
    "Simulation", "SpagreeError", "Tally", "UsageError", "__version__", "assign", "compare", "count_items",
    "example", "item_variance", "load", "measure", "measure_all", "save", "simulate", "tally", "weigh"
]  # fmt: skip


class _Surface(ModuleType):
    """The functions ``simulate`` and ``tally`` share their names with modules; users get the functions."""

    def __setattr__(self, name: str, value: object) -> None:
        """Ignore the binding that importing ``spagree.simulate`` or ``spagree.tally`` makes."""
        if not (name in _HOME and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Surface


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'spagree' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
