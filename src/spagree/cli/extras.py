"""What needs an extra: `spagree monitor`, the live page, and `spagree paper`, the paper's experiments."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from spagree.cli.console import Group, note, print_json, say
from spagree.cli.flags import Command, option, options_of
from spagree.errors import MissingExtraError, unknown_name
from spagree.options import Watching
from spagree.present.charts.save import check_extra

F = TypeVar("F", bound=Callable[..., Any])


@click.command(cls=Command)
@options_of(Watching)
def monitor(**options: Any) -> None:
    """Watch agreement while people annotate: a page with the number, its interval, alerts and where to look.

    \b
    spagree monitor --demo                see it work within a minute
    spagree monitor --target 0.7          take annotations over HTTP, alert below
    spagree monitor --follow labels.csv   follow a file that grows, or any export

    Annotations come from POST /api/v1/annotations, webhooks of Label Studio and potato, and --follow.
    """
    try:
        from spagree.monitor.run import serve
    except ImportError as error:
        if not str(error.name).startswith("spagree"):
            raise MissingExtraError("monitor", "the live monitor") from None
        raise
    with tempfile.TemporaryDirectory(prefix="spagree-demo-") as folder:
        if options["demo"]:
            options["store"] = str(Path(folder) / "demo.sqlite")
            options["target"] = options["target"] or 0.7
        serve(Watching(**options), lambda address: note(f"live page: {address}"))


@click.group(cls=Group)
def paper() -> None:
    """Regenerate the figures and tables of the paper that introduced SPA.

    \b
    spagree paper list                                   list the experiments
    spagree paper run weighting --data DIR --out DIR     one experiment
    spagree paper all --data DIR --out DIR               all of them

    Nothing is downloaded. Data sets missing from --data are simulated, and marked as such.
    """


def _options(command: F) -> F:
    rounds = "Number of random orders in which annotations are added."
    for each in (
        option("--json", "as_json", is_flag=True, help="Print the written files as JSON."),
        option("--force", is_flag=True, help="Rerun experiments that are already finished."),
        option("--seed", default=0, show_default=True, metavar="S", help="The same seed gives the same figures."),
        option("--out", default="paper", show_default=True, metavar="DIR", help="Folder for tables and figures."),
        option("--rounds", type=click.IntRange(2), default=3000, show_default=True, metavar="N", help=rounds),
        option("--data", metavar="DIR", help="Folder with the data sets, as published or as tidy tables."),
    ):
        command = each(command)
    return command


@paper.command("list", cls=Command, short_help="List the experiments.")
@option("--json", "as_json", is_flag=True, help="Print the list as JSON.")
def list_(as_json: bool) -> None:
    """List the experiments."""
    from spagree.studies.experiments import EXPERIMENTS

    if as_json:
        print_json({name: about for name, (about, _) in EXPERIMENTS.items()})
        return
    for name, (about, _) in EXPERIMENTS.items():
        say(f"{name:<14} {about}")


@paper.command("run", cls=Command, short_help="Run one experiment, or several.")
@click.argument("names", nargs=-1, required=True, metavar="NAME…")
@_options
def run(*, names: Sequence[str], data: str | None, out: str, as_json: bool, **plan: Any) -> None:
    """Run the experiments with these names; `spagree paper list` lists them."""
    from spagree.studies.experiments import EXPERIMENTS, KEPT, Study, progress_bars
    from spagree.studies.rounds import Plan, load_kernels

    for name in names:
        if name not in EXPERIMENTS:
            raise unknown_name("experiment", name, EXPERIMENTS)
    check_extra()  # report a missing extra before any work is done
    load_kernels()
    with progress_bars() as bar:
        study = Study(Path(out), Path(data) if data else None, Plan(folder=Path(out) / KEPT, bar=bar, **plan))
        written = {name: [str(path) for path in EXPERIMENTS[name][1](study)] for name in dict.fromkeys(names)}
    if as_json:
        print_json(written)
        return
    for name, paths in written.items():
        say(f"{name}: {paths[0]} and {len(paths) - 1} more")


@paper.command("all", cls=Command, short_help="Run all experiments.")
@_options
@click.pass_context
def all_(context: click.Context, /, **options: Any) -> None:
    """Run all experiments, except those already finished with the same data, rounds and seed."""
    from spagree.studies.experiments import EXPERIMENTS

    context.invoke(run, names=list(EXPERIMENTS), **options)
