"""Keep duckdb from importing pandas, which takes longer than counting a million annotations.

For every constant in an expression duckdb asks whether it is pandas.NaT, and imports pandas to find out. Our constants
never are: where pandas is not imported, nobody can have made its NaT. Only that one question is answered with "not
installed"; everybody else imports and uses pandas as usual, also with duckdb and in the same process.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import FrameType, ModuleType

# The part of narwhals that writes expressions for duckdb. Should narwhals move it, pandas is imported again: slower,
# with the same numbers. A test tells when that has happened.
MAKES_CONSTANTS = "narwhals._duckdb."


class _ForConstants:
    """A finder that finds nothing, and says so at once where duckdb asks for a constant's sake."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> None:  # noqa: ARG004
        if name == "pandas" and _is_for_a_constant(sys._getframe(1)):
            raise ModuleNotFoundError("pandas is not imported for a constant", name="pandas")


def _is_for_a_constant(frame: FrameType | None) -> bool:
    """Whether the code behind the machinery of imports makes expressions, rather than collect a frame of pandas."""
    while frame is not None and frame.f_code.co_filename.startswith("<frozen importlib"):
        frame = frame.f_back
    if frame is None or frame.f_code.co_name == "collect":
        return False
    return str(frame.f_globals.get("__name__")).startswith(MAKES_CONSTANTS)


def install() -> None:
    """Answer for the rest of this process."""
    if _ForConstants not in sys.meta_path:
        sys.meta_path.insert(0, _ForConstants)
