"""How it developed."""

from __future__ import annotations

from spagree.estimate.development import window
from spagree.present.charts import rows
from spagree.present.charts.board import Charts
from spagree.present.evidence import Evidence
from spagree.present.report.figures import drawn
from spagree.present.report.parts import Column, Section, Table, table
from spagree.present.wording import moment, without_midnight

DEVELOPMENT = (
    Column("when", "until", "words"),
    Column("annotations", "annotations", "count"),
    Column("spa", "so far"),
    Column("interval", "interval", "interval"),
    Column("items", "items", "count"),
    Column("recent", "finished lately"),
    Column("lately", "interval", "interval", ("recent_low", "recent_high")),
    Column("recent_items", "items", "count"),
)


def course(evidence: Evidence) -> Section:
    """Agreement over time, where there are times."""
    found = drawn(
        "development",
        "Agreement over time",
        "So far: what would have been measured at that moment, from everything up to it. Finished lately: only the "
        f"items whose last annotation came in {_window(evidence)}, so a change shows sooner. The bands are the "
        "intervals.",
        Charts(evidence).development,
        lambda: _development(evidence),
    )
    lead = "Whether annotators found together, or drifted apart."
    return Section("course", "Development", "How did it develop?", lead, [found])


def _window(evidence: Evidence) -> str:
    """What "lately" is, in steps: annotations of one moment stay together, so an eighth may not exist."""
    if evidence.lacks("development"):
        return "the latest steps"
    steps = evidence.development.height
    width = window(steps)
    before = "" if width == 1 else f" or the {width - 1} before"
    return f"that step{before} ({width} of {steps})"


def _development(evidence: Evidence) -> Table:
    found = evidence.development.rows(named=True)
    times = without_midnight([moment(rows.seconds(row["time"])) for row in found])
    lines = [{**row, "when": when} for row, when in zip(found, times, strict=True)]
    return table("development", "Agreement over time", lines, DEVELOPMENT)
