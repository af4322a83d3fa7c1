"""Breakdowns as values: what pages, charts and tables receive. Each is present, or absent with a reason."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from spagree.errors import Absent, UsageError
from spagree.estimate.findings import Findings
from spagree.estimate.pairs import Concentration, Overlap

if TYPE_CHECKING:
    import polars

    from spagree.estimate.actions import Step
    from spagree.estimate.comparison import Groups
    from spagree.estimate.disagreement import Levels

NOT_COMPUTED = Absent(UsageError("this breakdown was not computed"))


@dataclass(frozen=True, slots=True)
class Breakdowns:
    """The findings and where agreement is lost: each breakdown is a value, or absent with a reason."""

    findings: Findings
    classes: polars.DataFrame | Absent = NOT_COMPUTED
    confusion: polars.DataFrame | Absent = NOT_COMPUTED
    """Pairs of classes by their share of all disagreement."""
    levels: Levels | Absent = NOT_COMPUTED
    """On how many items all agree, a majority does, or none."""
    annotators: polars.DataFrame | Absent = NOT_COMPUTED
    pairs: polars.DataFrame | Absent = NOT_COMPUTED
    """Pairs among the busiest annotators."""
    overlap: Overlap | Absent = NOT_COMPUTED
    development: polars.DataFrame | Absent = NOT_COMPUTED
    concentration: Concentration | Absent = NOT_COMPUTED
    """Who made most of the annotations, and how few people made half."""
    disputed: polars.DataFrame | Absent = NOT_COMPUTED
    """The items that contribute most to all disagreement."""
    answers: polars.DataFrame | Absent = NOT_COMPUTED
    """Who gave these items which label."""
    options: polars.DataFrame | Absent = NOT_COMPUTED
    """Agreement on each option, if labels are sets of options."""
    groups: Groups | Absent = NOT_COMPUTED
    """Agreement of each group, if a group column was named."""
    steps: tuple[Step, ...] | Absent = NOT_COMPUTED
    """What to do next, the most telling finding first."""


BREAKDOWNS = tuple(each.name for each in fields(Breakdowns) if each.name != "findings")
