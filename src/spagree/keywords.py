"""Keyword arguments: old names still work, and a misspelt one is refused with the nearest."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import ParamSpec, TypeVar
from warnings import warn

from spagree.errors import UnknownNameError, unknown_name
from spagree.options import RENAMED

P = ParamSpec("P")
R = TypeVar("R")


def keywords(function: Callable[P, R]) -> Callable[P, R]:
    """Let a function accept old option names, with a warning, and suggest a name for an unknown one."""
    names = signature(function).parameters

    @wraps(function)
    def warned(*args: P.args, **options: P.kwargs) -> R:
        for old in RENAMED.keys() & options.keys():
            warn(f"{old}= is now called {RENAMED[old]}=", DeprecationWarning, stacklevel=2)
            options[RENAMED[old]] = options.pop(old)
        for name in options.keys() - names.keys():
            raise UnknownNameError(str(unknown_name(f"option of {function.__name__}()", name, names)))
        return function(*args, **options)

    return warned
