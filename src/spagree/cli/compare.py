"""`spagree compare`: rounds, groups and models."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import click

from spagree.cli.console import Picture, draw, note, say, warn, working
from spagree.cli.options import (
    Command,
    chart_option,
    figures_as_json,
    force_option,
    option,
    options_of,
    reading_options,
    to_python,
)
from spagree.errors import DataError, UsageError
from spagree.options import STATISTICS, Estimating

GATE_NOT_MET = 1
WIDE = 120


@click.command(cls=Command)
@reading_options(without=("text",))
@options_of(Estimating, only=("weights", "metric", "order", "level", "interval_for"))
@option(
    "--before",
    group=STATISTICS,
    metavar="DATE",
    help="Compare one SOURCE's annotations before DATE with those from DATE on.",
)
@option(
    "--model",
    "models",
    multiple=True,
    group=STATISTICS,
    metavar="NAME",
    help="A model among the annotators of one SOURCE, or a file with its labels (item, label); may be repeated. "
    "With * the runs of one model: 'gpt-*'.",
)
@option("--margin", type=float, group=STATISTICS, metavar="E", help="How much less a model may agree.  [default: 0.05]")
@option(
    "--no-worse-than",
    type=float,
    group=STATISTICS,
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
    """
    from spagree.comparing import compare as compare_all
    from spagree.comparing import names_of

    if margin is not None and not models:
        raise UsageError("--margin applies to models; name one with --model, or use --no-worse-than")
    if no_worse_than is not None and models:
        raise UsageError("--no-worse-than compares sources; for a model use --margin and read the verdict")
    drawn = Picture(chart, force)
    sources, arguments = options["source"], to_python(options)
    one = arguments.pop("source")
    with working("counting annotations"):
        if models:
            margins = {} if margin is None else {"margin": margin}
            comparison: Any = compare_all(one, model=list(models), **margins, **arguments)
        elif before is not None:
            comparison = compare_all(one, before=before, **arguments)
        else:
            comparison = compare_all(*sources, names=names_of(sources), **arguments)
    warn(comparison.warnings)
    if as_json:
        say(comparison.to_json())
    else:
        draw(comparison.summary(), least=WIDE)
    if reason := comparison.undefined:
        raise DataError(reason)
    drawn.write(comparison.chart)
    if no_worse_than is not None:
        _gate(comparison, no_worse_than)


def _gate(comparison: Any, limit: float) -> None:
    """Compare every source with the first: each must be shown to be worse by less than the limit."""
    from spagree.present.wording import figure, printable

    lows = [(pair, pair.difference.low) for pair in comparison.against_first()]
    failed = [(pair, low) for pair, low in lows if low is None or low <= -limit]
    for pair, low in failed:
        reason = "there is no interval" if low is None else f"the interval starts at {figure(low)}"
        note(f"gate not met: agreement in {printable(pair.b.name)} may be lower by {limit:g} or more; {reason}")
    if failed:
        sys.exit(GATE_NOT_MET)
