"""Commands that write data or name them: tally and merge count in parts, simulate and examples are to try with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import click

from spagree.cli.console import note, say, warn, working
from spagree.cli.options import Command, force_option, option, reading_options, to_python
from spagree.errors import count


@click.command(cls=Command)
@reading_options(without=("text",))
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
    from spagree.counts.saved import save
    from spagree.measuring import item_counts_and_cautions, tally_and_cautions
    from spagree.write import refuse_existing

    refuse_existing(output, force=force)
    with working("counting annotations"):
        counting = item_counts_and_cautions if keep_items else tally_and_cautions
        counted, cautions = counting(**to_python(options))
    save(counted, output, force=force)
    warn(cautions)  # the tally does not keep them
    note(f"saved {output}")


@click.command(cls=Command)
@click.argument("parts", nargs=-1, required=True)
@option("-o", "--output", required=True, metavar="FILE", help="Where to save the merged tally.")
@force_option
def merge(parts: Sequence[str], output: str, force: bool) -> None:
    """Add up saved tallies. Unless they were made with --keep-items, no item may be in two PARTS."""
    from spagree.counts.saved import load_all, save

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
@option("--seed", default=0, help="The same seed gives the same data.")
@force_option
def simulate(output: str, force: bool, **parameters: Any) -> None:
    """Simulate annotations whose true agreement is known, to try things out and to plan."""
    from spagree.present.wording import figure
    from spagree.simulation import simulate as draw
    from spagree.write import refuse_existing

    refuse_existing(output, force=force)
    with working("drawing annotations"):
        simulation = draw(**parameters)
        simulation.save(output, force=force)
    annotations = count(simulation.frame.height, "annotation")
    say(f"wrote {annotations} to {output}; true agreement {figure(simulation.truth)}")


@click.command(cls=Command)
def examples() -> None:
    """List the example data sets that come with spagree (use them as example:NAME)."""
    from spagree.read.examples import EXAMPLES

    for name, example in EXAMPLES.items():
        say(f"{name:<18} {example.title} ({example.format} table)\n{'':<18} {example.citation}")
