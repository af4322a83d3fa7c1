"""Commands that write data or name them: tally and merge count in parts, simulate and examples to try."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import click

from spagree.cli.console import note, say, warn, working
from spagree.cli.flags import (
    Command,
    force_option,
    option,
    source_options,
    to_python,
)
from spagree.counts.saved import load_all, save
from spagree.errors import UsageError, count
from spagree.measuring import item_counts_and_warnings, tally_and_warnings
from spagree.options import is_of_spans
from spagree.present.words import figure
from spagree.read.examples import EXAMPLES
from spagree.write import refuse_existing


@click.command(cls=Command)
@source_options(without=("text",))
@option("-o", "--output", required=True, metavar="FILE", help="Where to save it: .json, or .parquet with --keep-items.")
@option("--keep-items", is_flag=True, help="Keep counts per item, so an item may be split across parts.")
@force_option
def tally(output: str, keep_items: bool, force: bool, **options: Any) -> None:
    """Count SOURCE and save the summary, to merge and score later.

    \b
    spagree tally part1.csv -o part1.json
    spagree tally part2.csv -o part2.json
    spagree merge part1.json part2.json -o all.json
    spagree score all.json
    """
    refuse_existing(output, force=force)
    arguments = to_python(options)
    counted: Any
    with working("counting annotations"):
        if is_of_spans(options):
            from spagree.spans import spans_tally_and_warnings  # what labels do not need is not loaded for them

            if keep_items:
                raise UsageError("--keep-items is not for spans: an item must be in one part")
            counted, warnings = spans_tally_and_warnings(arguments.pop("source"), **arguments)
        else:
            counting = item_counts_and_warnings if keep_items else tally_and_warnings
            counted, warnings = counting(**arguments)
    save(counted, output, force=force)
    warn(warnings)  # the tally does not keep them
    note(f"saved {output}")


@click.command(cls=Command)
@click.argument("parts", nargs=-1, required=True)
@option("-o", "--output", required=True, metavar="FILE", help="Where to save the merged tally.")
@force_option
def merge(parts: Sequence[str], output: str, force: bool) -> None:
    """Add up saved tallies. Unless they were made with --keep-items, no item may be in two PARTS."""
    save(load_all(parts), output, force=force)
    note(f"merged {count(len(parts), 'part')} into {output}")


def _span(kind: type[int] | type[float]) -> Callable[[click.Context, click.Parameter, str], Any]:
    """One number, or a range written LOW:HIGH."""

    def convert(_context: click.Context, _parameter: click.Parameter, value: str) -> Any:
        try:
            ends = [kind(part) for part in value.split(":")]
        except ValueError:
            ends = []
        if len(ends) not in (1, 2):
            raise click.BadParameter(f"{value!r} is neither a number nor LOW:HIGH")
        return ends[0] if len(ends) == 1 else tuple(ends)

    return convert


@click.command(cls=Command, context_settings={"show_default": True})
@option("-o", "--output", required=True, metavar="FILE", help="Where to write: .csv, .csv.gz or .parquet.")
@option("--items", default=1000, help="Number of items.")
@option("--annotators", default=20, help="Number of annotators.")
@option("--classes", default=3, help="Number of classes.")
@option("--per-item", callback=_span(int), default="3", metavar="N", help="Annotations per item; 2:5 makes it vary.")
@option("--skew", default=0.0, help="0: all classes equally common; 1: class c is 1/c as common as the first.")
@option("--heterogeneity", default=0.6, help="0: all items alike; 1: each item has one right answer.")
@option(
    "--quality",
    callback=_span(float),
    default="0.9",
    metavar="Q",
    help="How often annotators answer carefully; 0.6:0.9 makes them differ.",
)
@option("--missing", default=0.0, help="Fraction of annotations removed at random.")
@option("--adaptive", is_flag=True, help="Ask more annotators only if the first two disagree.")
@option("--spans", is_flag=True, help="Annotators mark passages instead of labelling whole items.")
@option("--seed", default=0, help="The same seed gives the same data.")
@force_option
def simulate(output: str, force: bool, **parameters: Any) -> None:
    """Simulate annotations whose true agreement is known, to try things out and to plan."""
    from spagree.studies.simulation import simulate as draw

    refuse_existing(output, force=force)
    with working("drawing annotations"):
        simulation = draw(**parameters)
        simulation.save(output, force=force)
    made = count(simulation.frame["label"].count(), "mark" if parameters["spans"] else "annotation")
    say(f"wrote {made} to {output}; true agreement {figure(simulation.truth)}")


@click.command(cls=Command)
def examples() -> None:
    """List the example data sets that come with spagree (use them as example:NAME)."""
    for name, example in EXAMPLES.items():
        say(f"{name:<18} {example.title} ({example.format} table)\n{'':<18} {example.citation}")
