"""`spagree compare`: rounds, groups and models."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import click

from spagree import comparing
from spagree.cli.console import draw, note, print_json, refuse_picture, warn, working, write_picture
from spagree.cli.flags import (
    Command,
    chart_option,
    figures_as_json,
    force_option,
    options_of,
    source_options,
    statistic,
    to_python,
)
from spagree.errors import DataError, UsageError, for_command_line
from spagree.options import Estimating
from spagree.present.words import figure, printable

GATE_NOT_MET = 1
WIDE = 120


@click.command(cls=Command)
@source_options(without=("text",))
@options_of(Estimating, only=("weights", "metric", "order", "level", "interval_for"))
@statistic("--before", metavar="DATE", help="Compare one SOURCE's annotations before DATE with those from DATE on.")
@statistic(
    "--model",
    "models",
    multiple=True,
    metavar="NAME",
    help="A model among the annotators of one SOURCE, or a file with its labels (item, label); may be repeated. "
    "With * the runs of one model: 'gpt-*'.",
)
@statistic("--margin", type=float, metavar="E", help="How much less a model may agree.  [default: 0.05]")
@statistic(
    "--no-worse-than",
    type=float,
    metavar="X",
    help="Exit with 1 unless every other source is shown to be less than X worse than the first.",
)
@figures_as_json
@chart_option
@force_option
def compare(
    *,
    before: str | None,
    models: Sequence[str],
    margin: float | None,
    no_worse_than: float | None,
    as_json: bool,
    chart: str | None,
    force: bool,
    **options: Any,
) -> None:
    """Compare agreement in two or more sources, before and after a date, or of a model with people.

    \b
    spagree compare round1.csv round2.csv
    spagree compare labels.csv --before 2024-05-01
    spagree compare labels.csv --model gpt-4 --margin 0.05
    spagree compare labels.csv --model predictions.csv
    spagree compare marks.csv --format spans --seen seen.csv --model gpt-4
    spagree compare marks1.csv marks2.csv --seen seen1.csv --seen seen2.csv
    """
    if margin is not None and not models:
        raise UsageError("--margin applies to models; name one with --model, or use --no-worse-than")
    if no_worse_than is not None and models:
        raise UsageError("--no-worse-than compares sources; for a model use --margin and read the verdict")
    refuse_picture(chart, force=force)
    sources, arguments = options["source"], to_python(options)
    one = arguments.pop("source")
    with working("counting annotations"):
        if models:
            margins = {} if margin is None else {"margin": margin}
            comparison: Any = comparing.compare(one, model=list(models), **margins, **arguments)
        elif before is not None:
            comparison = comparing.compare(one, before=before, **arguments)
        else:
            comparison = comparing.compare(*sources, names=comparing.names_of(sources), **arguments)
    warn(comparison.warnings)
    if as_json:
        print_json(for_command_line(comparison.to_dict()))
    else:
        draw(for_command_line(comparison).summary(), least=WIDE)
    if reason := comparison.undefined:
        raise DataError(reason)
    write_picture(chart, comparison.chart)
    if no_worse_than is None:
        return
    lows = [(pair, pair.difference.low) for pair in comparison.against_first()]
    failed = [(pair, low) for pair, low in lows if low is None or low <= -no_worse_than]
    for pair, low in failed:
        reason = "there is no interval" if low is None else f"the interval starts at {figure(low)}"
        worse = f"agreement in {printable(pair.b.name)} may be lower by {no_worse_than:g} or more"
        note(f"gate not met: {worse}; {reason}")
    if failed:
        sys.exit(GATE_NOT_MET)
