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

``__init__.pyi`` lists the public names for type checkers; they are loaded on first use, so ``import spagree`` and
``spagree --help`` stay fast.
"""

import sys
from functools import cache
from importlib import import_module
from types import ModuleType

from spagree.garbage import without_collecting as _without_collecting


class _Surface(ModuleType):
    """The functions ``simulate`` and ``tally`` share their names with modules; users get the functions."""

    def __setattr__(self, name: str, value: object) -> None:
        """Ignore the binding that importing ``spagree.simulate`` or ``spagree.tally`` makes."""
        if not (name in ("simulate", "tally") and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Surface


@cache
def _homes() -> dict[str, str]:
    """Every public name with its module."""
    import ast
    import pkgutil

    imports = ast.parse(pkgutil.get_data(__name__, "__init__.pyi")).body
    return {alias.name: line.module for line in imports for alias in line.names}


def __getattr__(name: str) -> object:
    if name == "__all__":
        return __dir__()
    if name not in _homes():
        raise AttributeError(f"module 'spagree' has no attribute {name!r}")
    with _without_collecting():
        value = getattr(import_module(_homes()[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(_homes())
