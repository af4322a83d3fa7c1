"""The conditions of --where: a column and the value it must have, or must not have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from spagree.errors import UsageError


@dataclass(frozen=True, slots=True)
class Condition:
    """A column and a value that rows must have there, or must not have."""

    column: str
    value: str
    is_equal: bool = True

    def holds(self, value: Any) -> Any:
        """Whether a value fulfils the condition, or, as an expression, every value of a column.

        >>> Condition("lang", "en").holds("de"), Condition("lang", "en", is_equal=False).holds("de")
        (False, True)
        """
        return value == self.value if self.is_equal else value != self.value

    def __str__(self) -> str:
        return f"{self.column}{'=' if self.is_equal else '!='}{self.value}"

    def in_words(self) -> str:
        """The condition as the summary shows it."""
        return f"{self.column} {'=' if self.is_equal else '≠'} {self.value}"


def written(text: str) -> Condition:
    """The condition COLUMN=VALUE or COLUMN!=VALUE."""
    column, sign, value = text.partition("=")
    if not sign:
        raise UsageError(f"--where {text}: write a column and its value as COLUMN=VALUE, or COLUMN!=VALUE")
    return Condition(column.removesuffix("!"), value, is_equal=not column.endswith("!"))
