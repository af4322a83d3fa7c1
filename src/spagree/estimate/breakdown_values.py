"""Breakdowns as values: what pages, charts and tables receive. Each is present, or absent with a reason."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, TypeVar

from spagree.errors import SpagreeError, UsageError
from spagree.estimate.concentration import Concentration
from spagree.estimate.findings import Findings
from spagree.estimate.overlap import Overlap

if TYPE_CHECKING:
    import polars

    from spagree.estimate.groups import Groups

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Absent:
    """A breakdown that does not exist, and why."""

    error: SpagreeError

    @property
    def reason(self) -> str:
        """Why, in words."""
        return str(self.error)


NOT_COMPUTED = Absent(UsageError("this breakdown was not computed"))


def outcome(make: Callable[[], T]) -> T | Absent:
    """What ``make`` returns, or why it cannot."""
    try:
        return make()
    except SpagreeError as error:
        return Absent(error)


def or_none(make: Callable[[], T]) -> T | None:
    """What ``make`` returns; None if it cannot."""
    result = outcome(make)
    return None if isinstance(result, Absent) else result


def known(value: T | Absent) -> T:
    """The value; raises the reason if it is absent."""
    if isinstance(value, Absent):
        raise value.error
    return value


@dataclass(frozen=True, slots=True)
class Action:
    """Something to do: whom or what it concerns, and what it would gain.

    ``gain`` is how much SPA would rise if it resolved everything it concerns; 0 if the gain is of another kind.
    """

    kind: str
    names: tuple[str, ...] = ()
    figures: Mapping[str, float] = field(default_factory=dict)
    gain: float = 0.0


@dataclass(frozen=True, slots=True)
class Breakdowns:
    """The findings and where agreement is lost: each breakdown is a value, or absent with a reason."""

    findings: Findings
    classes: polars.DataFrame | Absent = NOT_COMPUTED
    confusion: polars.DataFrame | Absent = NOT_COMPUTED
    distribution: polars.DataFrame | Absent = NOT_COMPUTED
    annotators: polars.DataFrame | Absent = NOT_COMPUTED
    pairs: polars.DataFrame | Absent = NOT_COMPUTED
    """Pairs among the busiest annotators."""
    overlap: Overlap | Absent = NOT_COMPUTED
    development: polars.DataFrame | Absent = NOT_COMPUTED
    plan: polars.DataFrame | Absent = NOT_COMPUTED
    concentration: Concentration | Absent = NOT_COMPUTED
    """Who made most of the annotations, and how few people made half."""
    disputed: polars.DataFrame | Absent = NOT_COMPUTED
    """The items that contribute most to all disagreement."""
    answers: polars.DataFrame | Absent = NOT_COMPUTED
    """Who gave these items which label."""
    confused: polars.DataFrame | Absent = NOT_COMPUTED
    """Pairs of classes by their share of all disagreement."""
    options: polars.DataFrame | Absent = NOT_COMPUTED
    """Agreement on each option, if labels are sets of options."""
    groups: Groups | Absent = NOT_COMPUTED
    """Agreement of each group, if a group column was named."""
    actions: tuple[Action, ...] | Absent = NOT_COMPUTED
    """What to do next, largest gain first."""

    def lacks(self, name: str) -> str | None:
        """Why this breakdown is missing, in words; None if it is present."""
        value = getattr(self, name)
        if isinstance(value, Absent):
            return value.reason
        return "there is nothing to show" if hasattr(value, "is_empty") and value.is_empty() else None


BREAKDOWNS = tuple(each.name for each in fields(Breakdowns) if each.name != "findings")
