"""What counts as an annotation in the export of a tool."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from spagree.errors import UsageError, unknown_name

if TYPE_CHECKING:
    from spagree.read.tools.tool import Tool

CHOICES = {"ground_truth": ("keep", "drop"), "multi": ("set", "options"), "empty": ("drop", "keep")}


@dataclass(frozen=True, slots=True)
class Rules:
    """What counts as an annotation in an export; the defaults are stated in docs/formats.md.

    >>> Rules(multi="sets")
    Traceback (most recent call last):
    spagree.errors.UsageError: unknown value of multi="sets"; did you mean 'set'? Known: set, options
    """

    status: tuple[str, ...] = ()
    ground_truth: str = "keep"
    multi: str = "set"
    empty: str = "drop"

    def __post_init__(self) -> None:
        for name, choices in CHOICES.items():
            if getattr(self, name) not in choices:
                raise unknown_name(f"value of --{name.replace('_', '-')}", str(getattr(self, name)), choices)

    def counted(self, tool: Tool) -> tuple[str, ...]:
        """The statuses that count, in the tool's own words."""
        statuses = tuple(dict.fromkeys((*tool.counted, *tool.statuses)))
        for status in self.status:
            if not statuses:
                raise UsageError(f"--status {status}: {tool.title} exports have no status; leave it out")
            if status.lower() not in statuses:
                raise unknown_name("status", status, statuses)
        return tuple(status.lower() for status in self.status) or tool.counted

    def in_words(self, tool: Tool, seen: frozenset[str]) -> str:
        """The rules in the words of the summary; the status only if responses have one."""
        counted = self.counted(tool)
        others = [name for name in dict.fromkeys((*tool.counted, *tool.statuses)) if name not in counted]
        status = [f"status {', '.join(counted)}" + (f" (not {', '.join(others)})" if others else "")] if counted else []
        gold = "ground truth kept" if self.ground_truth == "keep" else "ground truth left out"
        multi = "several choices are one set" if self.multi == "set" else "several choices are a question each"
        empty = "empty answers left out" if self.empty == "drop" else "empty answers are a label"
        return "; ".join([*(status if seen else []), gold, multi, empty])
