"""Keep duckdb from importing pandas, which takes longer than counting a million annotations.

For every constant in an expression duckdb asks whether it is pandas.NaT, and imports pandas to find out. Where pandas
is not imported, its NaT cannot exist, so this one question is answered with "not installed". All other imports of
pandas work as usual, also with duckdb and in the same process. On a file of 500 rows this saves 0.5 s of 1.7.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import FrameType, ModuleType

# The part of narwhals that writes expressions for duckdb. If narwhals moves it, a test fails, and pandas is imported
# again: slower, with the same numbers.
MAKES_CONSTANTS = "narwhals._duckdb."


class _ForConstants:
    """A finder that finds nothing, and refuses pandas where duckdb asks for it because of a constant."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> None:  # noqa: ARG004
        if name == "pandas" and _is_for_a_constant(sys._getframe(1)):
            raise ModuleNotFoundError("pandas is not imported for a constant", name="pandas")


def _is_for_a_constant(frame: FrameType | None) -> bool:
    """Whether the code that imports makes expressions, rather than collects a frame of pandas."""
    while frame is not None and frame.f_code.co_filename.startswith("<frozen importlib"):
        frame = frame.f_back
    if frame is None or frame.f_code.co_name == "collect":
        return False
    return str(frame.f_globals.get("__name__")).startswith(MAKES_CONSTANTS)


def install() -> None:
    """Keep pandas out for the rest of this process."""
    if _ForConstants not in sys.meta_path:
        sys.meta_path.insert(0, _ForConstants)
