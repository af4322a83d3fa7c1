"""narwhals as ``nw``, imported when it is first used: the score of a small file never does."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__all__ = ["nw"]


class _Late:
    """A package that is imported on first use."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        return getattr(import_module(self._name), attribute)


if TYPE_CHECKING:
    import narwhals as nw
else:
    nw = _Late("narwhals")
