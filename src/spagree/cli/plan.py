"""plan and development: what to do next, and how agreement changed so far."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import click

from spagree.cli.console import Picture, draw, note, print_json, tell, working
from spagree.cli.options import (
    Command,
    chart_option,
    force_option,
    measured,
    option,
    options_of,
    reading_options,
    rows_as_json,
)
from spagree.errors import DataError, SpagreeError, UsageError, count
from spagree.options import STATISTICS, Estimating

WIDE = 110
NEEDED = ("weights", "metric", "order", "level")


@click.command(cls=Command)
@click.argument("source", nargs=-1)
@option("--half-width", type=float, group=STATISTICS, metavar="X", help="Plan for an interval of value ± X.")
@option("--budget", type=int, group=STATISTICS, metavar="N", help="The interval that N more annotations would give.")
@option(
    "--require",
    type=float,
    group=STATISTICS,
    metavar="X",
    help="Annotations needed to tell whether agreement reaches X.",
)
@option(
    "--agreement", type=float, group=STATISTICS, metavar="X", help="The agreement you expect, if you have no SOURCE."
)
@option("--classes", type=int, group=STATISTICS, metavar="C", help="With --agreement: the number of classes.")
@option("--most", type=int, group=STATISTICS, metavar="K", help="At most K annotations per item.  [default: 10]")
@options_of(Estimating, only=NEEDED)
@rows_as_json
@chart_option
@force_option
@reading_options(without=("text",), with_source=False)
def plan(*, source: tuple[str, ...], as_json: bool, chart: str | None, force: bool, **options: Any) -> None:
    """Plan how many annotations you need, from a pilot SOURCE or from the agreement you expect.

    \b
    spagree plan pilot.csv                     for a few round half-widths
    spagree plan pilot.csv --half-width 0.03   on new items or the same ones
    spagree plan pilot.csv --budget 2000       the interval to expect from that
    spagree plan pilot.csv --require 0.7       to tell whether it reaches 0.7
    spagree plan --agreement 0.7 --half-width 0.03
    """
    from spagree.estimate.plan import pace, plan_expected
    from spagree.present.plans import people_line, plan_chart, plan_lines, plan_rows, plan_table

    wanted = {name: options.pop(name) for name in ("half_width", "budget", "require")}
    expected = {name: options.pop(name) for name in ("agreement", "classes")}
    most, people, speed = options.pop("most"), "", None
    picture = Picture(chart, force)
    if bool(source) == (expected["agreement"] is not None):
        raise UsageError("plan needs either a pilot SOURCE or --agreement with the agreement you expect")
    with working("counting annotations"):
        if source:
            agreement = measured({"source": source, **options})
            plans = agreement.plan(most=most, **wanted)
            people = people_line(agreement.spa)
            with suppress(SpagreeError):  # no times, no pace
                speed = pace(agreement.development().rows(named=True))
        else:
            plans = plan_expected(**expected, level=options["level"], most=most, **wanted)
    rows = plan_rows(plans, speed)
    is_plan = any(row["undefined"] is None for row in rows)
    if as_json:
        print_json({"rows": rows})
    elif is_plan:
        tell(plan_lines(rows, speed))
        if any(row["more_annotations"] for row in rows):
            draw(plan_table(rows), least=WIDE)
        if people:
            tell(people)
    if not is_plan:
        raise DataError(f"no plan: {rows[0]['undefined']}")
    picture.write(lambda: plan_chart(rows))


@click.command(cls=Command)
@reading_options(without=("text",))
@options_of(Estimating, only=NEEDED)
@option("--steps", type=click.IntRange(min=1), default=20, metavar="K", help="Number of steps in time.  [default: 20]")
@rows_as_json
def development(*, steps: int, as_json: bool, **options: Any) -> None:
    """Print how agreement changed over time: overall, and on the items finished in the latest eighth."""
    from spagree.present.plans import development_rows, development_table

    with working("counting annotations"):
        rows = development_rows(measured(options, in_full=True).development(steps))
    if as_json:
        print_json({"development": rows})
        return
    draw(development_table(rows), least=WIDE)
    if without := rows[-1]["without_time"]:
        note(f"left out: {count(without, 'annotation')} without a time")
