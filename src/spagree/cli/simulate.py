"""`spagree simulate` and `spagree examples`: data to try things out with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from spagree.cli.console import say, working
from spagree.cli.options import Command, force_option, option
from spagree.errors import count


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
    from spagree.simulate import simulate as draw
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
