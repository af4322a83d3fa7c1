"""Keyword arguments: a misspelt one is refused with the nearest."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import ParamSpec, TypeVar

from spagree.errors import UnknownNameError, unknown_name

P = ParamSpec("P")
R = TypeVar("R")


def keywords(function: Callable[P, R]) -> Callable[P, R]:
    """Let a function suggest a name for an unknown one."""
    names = signature(function).parameters

    @wraps(function)
    def checked(*args: P.args, **options: P.kwargs) -> R:
        for name in options.keys() - names.keys():
            raise UnknownNameError(str(unknown_name(f"option of {function.__name__}()", name, names)))
        return function(*args, **options)

    return checked
