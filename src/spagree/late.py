"""Imports that wait, or take less time: narwhals as ``nw`` is imported on first use, which a small score never is."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any

__all__ = ["nw", "without_collecting"]


@contextmanager
def without_collecting() -> Iterator[None]:
    """Search for no garbage meanwhile: imports make many objects, and all of them stay."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


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
