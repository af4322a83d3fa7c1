"""How agreement changed over time."""

from __future__ import annotations

from spagree.estimate.breakdown_values import Breakdowns, known
from spagree.estimate.development import window
from spagree.present.charts import agreement as charts
from spagree.present.report.parts import Section, Table, drawn, table
from spagree.present.tables import Column, columns
from spagree.present.wording import moment, without_midnight

DEVELOPMENT = (
    *columns(
        "when:words annotations:count spa interval items:count recent",
        {"when": "until", "spa": "so far"} | {"recent": "finished last"},
    ),
    Column("last", "interval", "interval", ("recent_low", "recent_high")),
    Column("recent_items", "items", "count"),
)


def development(breakdowns: Breakdowns) -> Section:
    """Agreement over time, if times are known."""
    figure = drawn(
        breakdowns,
        "development",
        "Agreement over time",
        "So far: agreement of all annotations up to that moment. Finished last: only the "
        f"items whose last annotation came in {_window(breakdowns)}, which shows changes sooner. The bands are the "
        "intervals for these annotators, the grey bars the pace of annotation. Long idle periods are cut out of the "
        "axis.",
        _development,
    )
    lead = "Whether annotators converged or drifted apart."
    return Section("course", "Development", "How did agreement change?", lead, [figure])


def _window(breakdowns: Breakdowns) -> str:
    """What "last" means, in steps: simultaneous annotations stay together, so there may be no exact eighth."""
    if breakdowns.lacks("development"):
        return "the latest steps"
    steps = known(breakdowns.development).height
    width = window(steps)
    before = "" if width == 1 else f" or the {width - 1} before"
    return f"that step{before} ({width} of {steps})"


def _development(breakdowns: Breakdowns) -> Table:
    steps = charts.development_steps(breakdowns)
    times = without_midnight([moment(row["time"]) for row in steps])
    lines = [{**row, "when": when} for row, when in zip(steps, times, strict=True)]
    return table("development", "Agreement over time", lines, DEVELOPMENT)
