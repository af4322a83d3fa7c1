"""assign: who annotates what in the next round."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from spagree.cli.console import note, print_json, say, working
from spagree.cli.options import Command, option, words
from spagree.errors import DataError, UsageError

if TYPE_CHECKING:
    from spagree.assignment import Person

MANY = ";"


@click.command(cls=Command)
@click.argument("items", metavar="ITEMS")
@option(
    "--annotators", required=True, metavar="WHO", help="How many; names separated by commas; or a file with a row each."
)
@option("--per-item", required=True, type=int, metavar="K", help="Annotations per item, each by a different annotator.")
@option("-o", "--output", required=True, metavar="FILE", help="Where to write item,annotator rows (.csv, .parquet).")
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
    *, items: str, annotators: str, per_item: int, output: str, as_json: bool, force: bool, seed: int, **options: Any
) -> None:
    """Assign every item of the file ITEMS to K annotators: at random, with even loads and pairs.

    An item's number of annotations then cannot depend on its labels, as SPA assumes. Keep FILE: spagree score
    --assignment FILE compares it with the annotations you get back.

    \b
    spagree assign items.csv --annotators 12 --per-item 3 -o assignment.csv
    spagree assign items.csv --annotators people.csv --per-item 3 -o round1.csv
    """
    from spagree.assignment import assign as draw
    from spagree.assignment import save, write_tasks
    from spagree.assignment.files import read_assignment, read_list
    from spagree.assignment.returned import annotated_pairs
    from spagree.present.designs import design_rows, explain
    from spagree.read import read
    from spagree.write import refuse_existing

    refuse_existing(output, force=force)
    with working("assigning"):
        listed = read_list(items, "item", options["item"]).rows
        people = _people(annotators, options["limit"], options["can"])
        wanted = (
            {item: _cell(row, options["can"], "ITEMS") for item, row in listed.items()}
            if options["can"]
            else list(listed)
        )
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
        design = draw(wanted, people, per_item, everyone=options["everyone"], existing=done, kept=kept, seed=seed)
        save(design, output, force=force)
        written: list[object] = [output]
        for tool, folder in (("label-studio", options["label_studio"]), ("potato", options["potato"])):
            written += write_tasks(design, tool, folder, listed, force=force) if folder else []
    if as_json:
        print_json(design_rows(design))
    else:
        say(explain(design))
    for path in written:
        note(f"wrote {path}")


def _people(people: str, limit: int | None, can: str | None) -> list[Person]:
    """A number, names with commas, or a file with annotator[, limit][, skills]."""
    from spagree.assignment.design import Person, numbered
    from spagree.assignment.files import read_list

    if people.isdecimal() or not Path(people).exists():
        if can is not None:
            raise UsageError(f"--can {can}: skills come from a file; give --annotators a file with that column")
        names = numbered(int(people)) if people.isdecimal() else list(words(people))
        return [Person(name, limit) for name in names]
    found = []
    for name, row in read_list(people, "annotator").rows.items():
        most = row.get("limit", "")
        if most and not most.isdecimal():
            raise DataError(f"{people}: limit {most!r} of {name!r}; write a whole number, or leave it empty")
        skills = frozenset(part.strip() for part in _cell(row, can, people).split(MANY)) if can else None
        found.append(Person(name, int(most) if most else limit, skills))
    return found


def _cell(row: Mapping[str, str], column: str, place: str) -> str:
    if column not in row:
        raise UsageError(f"--can {column}: {place} has no such column; it has {', '.join(row)}")
    return row[column]
