"""plan, assign and development: how many annotations, who makes them, and how agreement changed so far."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from shlex import quote
from typing import Any

import click

from spagree.assignment.design import Person, numbered
from spagree.assignment.design import assign as design_of
from spagree.assignment.files import read_assignment, read_list, write_tasks
from spagree.assignment.returned import annotated_pairs
from spagree.cli.console import draw, note, print_json, refuse_picture, say, tell, working, write_picture
from spagree.cli.flags import (
    Command,
    chart_option,
    force_option,
    measured,
    measured_spans,
    option,
    options_of,
    reading_options,
    rows_as_json,
    source_options,
    statistic,
    words,
)
from spagree.errors import DataError, SpagreeError, UsageError, count, there
from spagree.estimate.plan import pace, plan_expected
from spagree.options import Estimating, is_of_spans
from spagree.present.charts.studies import plan_chart
from spagree.present.document import design_rows, development_rows, plan_rows
from spagree.present.next_steps import shown_by
from spagree.present.sentences import explain, found_development, people_line, plan_lines
from spagree.present.terminal import development_table, plan_table
from spagree.read import read
from spagree.write import refuse_existing, save_frame

WIDE = 110
SKILLS = ";"  # between the skills of a person
NEEDED = ("weights", "metric", "order", "level")


@click.command(cls=Command)
@click.argument("source", nargs=-1)
@statistic("--half-width", type=float, metavar="X", help="Plan for an interval of value ± X.")
@statistic("--budget", type=int, metavar="N", help="The interval that N more annotations would give.")
@statistic("--require", type=float, metavar="X", help="Annotations needed to tell whether agreement reaches X.")
@statistic("--agreement", type=float, metavar="X", help="The agreement you expect, if you have no SOURCE.")
@statistic("--classes", type=int, metavar="C", help="With --agreement: the number of classes.")
@statistic("--most", type=int, metavar="K", help="At most K annotations per item.  [default: 10]")
@options_of(Estimating, only=NEEDED)
@rows_as_json
@chart_option
@force_option
@reading_options(without=("text",))
def plan(*, source: tuple[str, ...], as_json: bool, chart: str | None, force: bool, **options: Any) -> None:
    """Plan how many annotations you need, from a pilot SOURCE or from the agreement you expect.

    \b
    spagree plan pilot.csv                     for a few round half-widths
    spagree plan pilot.csv --half-width 0.03   on new items or the same ones
    spagree plan pilot.csv --budget 2000       the interval to expect from that
    spagree plan pilot.csv --require 0.7       to tell whether it reaches 0.7
    spagree plan --agreement 0.7 --half-width 0.03
    """
    wanted = {name: options.pop(name) for name in ("half_width", "budget", "require")}
    expected = {name: options.pop(name) for name in ("agreement", "classes")}
    most, people, speed = options.pop("most"), "", None
    refuse_picture(chart, force=force)
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
    write_picture(chart, lambda: plan_chart(rows))


@click.command(cls=Command)
@source_options(without=("text",))
@options_of(Estimating, only=NEEDED)
@option("--steps", type=click.IntRange(min=1), default=10, metavar="K", help="Number of steps in time.  [default: 10]")
@rows_as_json
def development(*, steps: int, as_json: bool, **options: Any) -> None:
    """Print how agreement changed over time: overall, and on the items finished in the latest eighth."""
    of_spans, told = measured_spans(options) if is_of_spans(options) else None, ""
    with working("counting annotations"):
        if of_spans is not None:
            rows = development_rows(of_spans.development(steps))
        else:
            found = measured(options, in_full=True)
            rows = development_rows(found.development(steps))
            told = shown_by("development", there(found.summed_up().steps) or (), found.source)
    if as_json:
        print_json({"development": rows})
        return
    tell(found_development(rows, told))
    draw(development_table(rows, "spans" if of_spans else "SPA"), least=WIDE)
    if without := rows[-1]["without_time"]:
        note(f"left out: {count(without, 'annotation')} without a time")


@click.command(cls=Command)
@click.argument("items", metavar="ITEMS", required=False)
@option("--annotators", metavar="WHO", help="How many; names separated by commas; or a file with a row each.")
@option("--per-item", type=int, metavar="K", help="Annotations per item, each by a different annotator.")
@option(
    "-o",
    "--output",
    metavar="FILE",
    help="Where to write item,annotator rows (.csv, .parquet); otherwise they are printed.",
)
@option("--item", metavar="COLUMN", help="Item column in ITEMS; guessed from its name if not given.")
@option("--everyone", type=int, default=0, metavar="M", help="M items, drawn at random, go to all annotators.")
@option("--limit", type=int, metavar="N", help="At most N items each; a limit column in the file overrides it.")
@option("--can", metavar="COLUMN", help="Give items to annotators with the same value in this column (a;b: both).")
@option("--top-up", metavar="SOURCE", help="Existing annotations: bring every item up to K, no annotator twice.")
@option("--finish", metavar="FILE", help="An earlier assignment: keep open work, reassign that of annotators who left.")
@option("--label-studio", metavar="FOLDER", help="Also write one task file per annotator for Label Studio.")
@option("--potato", metavar="FOLDER", help="Also write one data file per annotator for potato.")
@option("--seed", default=0, metavar="S", help="The same seed gives the same assignment.  [default: 0]")
@option("--json", "as_json", is_flag=True, help="Print the balance as JSON.")
@option("--force", is_flag=True, help="Replace existing files.")
def assign(
    *,
    items: str | None,
    annotators: str | None,
    per_item: int | None,
    output: str | None,
    as_json: bool,
    force: bool,
    seed: int,
    **options: Any,
) -> None:
    """Assign every item of the file ITEMS to K annotators: at random, with even loads and pairs.

    An item's number of annotations then cannot depend on its labels, as SPA assumes. Keep FILE: spagree score
    --assignment FILE compares it with the annotations you get back.

    \b
    spagree assign items.csv --annotators 12 --per-item 3 -o assignment.csv
    spagree assign items.csv --annotators people.csv --per-item 3 -o round1.csv
    """
    needed = {"ITEMS": items, "--annotators": annotators, "--per-item": per_item}
    if items is None or annotators is None or per_item is None:
        lacking = ", ".join(name for name, value in needed.items() if value is None)
        example = f"spagree assign {quote(items or 'items.csv')} --annotators 12 --per-item 3"
        raise UsageError(f"missing: {lacking}; for example: {example}")
    if output is None and as_json:
        raise UsageError("--json prints the balance; name a file for the rows with -o FILE.csv")
    if output is not None:
        refuse_existing(output, force=force)
    with working("assigning"):
        listed = read_list(items, "item", options["item"])
        people, can = _people(annotators, options["limit"], options["can"]), options["can"]
        wanted = {item: _cell(row, can, "ITEMS") for item, row in listed.items()} if can else list(listed)
        done, kept = [], []
        if options["top_up"]:
            annotations = read(options["top_up"])
            if not annotations.has_annotators:
                raise DataError(f"--top-up {options['top_up']}: has no annotators; add an annotator column")
            done = annotated_pairs(annotations.frame)
        if options["finish"] is not None:  # what an earlier assignment still expects of the people who are here
            here, finished = {person.name for person in people}, set(done)
            earlier = read_assignment(options["finish"])
            kept = [pair for pair in earlier if pair[1] in here and pair not in finished]
        design = design_of(wanted, people, per_item, everyone=options["everyone"], existing=done, kept=kept, seed=seed)
        written: list[object] = []
        if output is not None:
            save_frame(design.frame(), output, force=force)
            written.append(output)
        for tool, folder in (("label-studio", options["label_studio"]), ("potato", options["potato"])):
            written += write_tasks(design, tool, folder, listed, force=force) if folder else []
    if as_json:
        print_json(design_rows(design))
    elif output is None:
        say(design.frame().write_csv(), newline=False)
        note(explain(design))
    else:
        say(explain(design))
    for path in written:
        note(f"wrote {path}")


def _people(people: str, limit: int | None, can: str | None) -> list[Person]:
    """A number, names with commas, or a file with annotator[, limit][, skills]."""
    if people.isdecimal() or not Path(people).exists():
        if can is not None:
            raise UsageError(f"--can {can}: skills come from a file; give --annotators a file with that column")
        names = numbered(int(people)) if people.isdecimal() else list(words(people))
        return [Person(name, limit) for name in names]
    found = []
    for name, row in read_list(people, "annotator").items():
        most = row.get("limit", "")
        if most and not most.isdecimal():
            raise DataError(f"{people}: limit {most!r} of {name!r}; write a whole number, or leave it empty")
        skills = frozenset(part.strip() for part in _cell(row, can, people).split(SKILLS)) if can else None
        found.append(Person(name, int(most) if most else limit, skills))
    return found


def _cell(row: Mapping[str, str], column: str, place: str) -> str:
    if column not in row:
        raise UsageError(f"--can {column}: {place} has no such column; it has {', '.join(row)}")
    return row[column]
