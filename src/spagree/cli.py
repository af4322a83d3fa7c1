"""One short function per command: read → tally → estimate → present."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn, TypeVar

import click

from spagree.errors import SpagreeError, UsageError, unknown_name
from spagree.version import __version__

F = TypeVar("F", bound=Callable[..., Any])

GATE_NOT_MET = 1
NOTHING_PAIRABLE = 3
CANNOT_WRITE = 4
INTERRUPTED, TERMINATED = 130, 143


class _Commands(click.Group):
    """A group that suggests the command you meant."""

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        if args and not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            raise click.UsageError(str(unknown_name("command", args[0], self.list_commands(ctx))))
        return super().resolve_command(ctx, args)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="spagree")
@click.option("--debug", is_flag=True, help="Show the full traceback of an error.")
def cli(debug: bool) -> None:
    """Measure how much annotators agree when not everyone labelled everything.

    \b
    spagree score labels.csv                    one number with an honest interval
    spagree score 'parts/*.parquet' --json      the same for programs
    spagree score labels.csv --require 0.7      a gate for pipelines
    spagree score example:sparse                try it on data that ships with spagree

    Exit codes: 0 fine, 1 the gate was not met, 2 usage, 3 the data cannot be used, 4 a file cannot
    be read or written.
    """


def _options(*options: Callable[[F], F]) -> Callable[[F], F]:
    def apply(command: F) -> F:
        for option in reversed(options):
            command = option(command)
        return command

    return apply


reading_options = _options(
    click.argument("source", nargs=-1, required=True),
    click.option("--item", metavar="COLUMN", help="Column of the item; guessed from its name otherwise."),
    click.option("--annotator", metavar="COLUMN", help="Column of the annotator; optional."),
    click.option(
        "--label",
        metavar="COLUMN",
        multiple=True,
        help="Column of the label. In wide and count tables: a column of labels or counts; may be repeated.",
    ),
    click.option("--time", metavar="COLUMN", help="Column with the time of each annotation."),
    click.option("--format", default="auto", metavar="NAME", help="auto, long, wide (items × annotators) or counts."),
    click.option("--missing", multiple=True, metavar="TEXT", help="A label that means missing; may be repeated."),
    click.option(
        "--normalize", is_flag=True, help="Treat labels as equal that differ in case, blanks or Unicode form."
    ),
    click.option(
        "--duplicates",
        default="error",
        metavar="POLICY",
        help="When an annotator gave an item different labels: error (default), first or last.",
    ),
    click.option("--first", type=int, metavar="K", help="Use only the first K annotations of each item, by time."),
    click.option("--encoding", metavar="NAME", help="Text encoding of the file, if it is not UTF-8 or UTF-16."),
    click.option("--no-header", is_flag=True, help="The file has no header; columns are called 1, 2, 3, …"),
)


def _reading(options: dict[str, Any]) -> dict[str, Any]:
    """Command-line spelling → Python spelling."""
    header = not options.pop("no_header")
    return {**options, "source": _one(options["source"]), "label": _one(options["label"]), "header": header}


def _one(given: Sequence[str]) -> str | list[str] | None:
    """A repeatable option: nothing, the one value, or all of them."""
    return None if not given else given[0] if len(given) == 1 else list(given)


@cli.command()
@reading_options
@click.option(
    "--weights",
    default="annotations_m1",
    metavar="SCHEME",
    help="flat, annotations, annotations_m1 (default), edge, inv_var, inv_var_class, adaptive, "
    "or your own per number of annotations: 2=1,3=1.8,4=2.5",
)
@click.option("--level", default=0.95, metavar="P", help="Confidence level of the intervals.  [default: 0.95]")
@click.option("--bootstrap", type=int, metavar="N", help="Intervals from N resamples of the items instead of Wilson's.")
@click.option("--seed", default=0, metavar="S", help="Seed of the bootstrap.  [default: 0]")
@click.option("--json", "as_json", is_flag=True, help="Print all figures as JSON, in full precision.")
@click.option("--require", type=float, metavar="X", help="Exit with 1 if the interval's lower end is below X.")
def score(weights: str, level: float, as_json: bool, require: float | None, **options: Any) -> None:
    """Measure the agreement in SOURCE: files, globs, - for standard input, or example:NAME.

    Long tables (one annotation per row), wide tables (items × annotators) and count tables (items ×
    classes); CSV, TSV, JSON lines, Parquet, Arrow, Excel, plain or as .gz/.zst; saved tallies.
    """
    from spagree.agreement import measure

    with _working("counting annotations"):
        agreement = measure(weights=_weights(weights), level=level, **_reading(options))
    if as_json:
        click.echo(agreement.to_json())
    else:
        _print_summary(agreement)
    if agreement.spa.value is None:
        raise SpagreeError(str(agreement.spa.undefined))
    if require is not None:
        _gate(agreement.spa.low, require)


@cli.command()
@reading_options
@click.option("--worst", type=click.IntRange(min=1), default=20, metavar="K", help="How many items.  [default: 20]")
@click.option("--json", "as_json", is_flag=True, help="Print the items as JSON.")
def items(worst: int, as_json: bool, **options: Any) -> None:
    """List the items of SOURCE that annotators agree least on."""
    from spagree.agreement import measure

    with _working("counting annotations"):
        rows = measure(**_reading(options)).items().head(worst).rows(named=True)
    if as_json:
        _print_json([{**row, "item": str(row["item"])} for row in rows])
    else:
        _print_items(rows)


@cli.command()
@reading_options
@click.option(
    "-o",
    "--output",
    required=True,
    metavar="FILE",
    help="Where to save it: .json, or .parquet with --keep-items.",
)
@click.option("--keep-items", is_flag=True, help="Keep counts per item, so that parts may cut through items.")
@click.option("--force", is_flag=True, help="Replace an existing file.")
def tally(output: str, keep_items: bool, force: bool, **options: Any) -> None:
    """Count SOURCE and save the summary, to be merged and scored later.

    \b
    spagree tally part1.csv -o part1.json
    spagree tally part2.csv -o part2.json
    spagree merge part1.json part2.json -o all.json
    spagree score all.json
    """
    from spagree.agreement import count_items
    from spagree.agreement import tally as count_all
    from spagree.tally.store import save
    from spagree.write import refuse_existing

    refuse_existing(output, force=force)
    with _working("counting annotations"):
        counted = (count_items if keep_items else count_all)(**_reading(options))
    save(counted, output, force=force)
    click.echo(f"saved {output}", err=True)


@cli.command()
@click.argument("parts", nargs=-1, required=True)
@click.option("-o", "--output", required=True, metavar="FILE", help="Where to save the merged tally.")
@click.option("--force", is_flag=True, help="Replace an existing file.")
def merge(parts: Sequence[str], output: str, force: bool) -> None:
    """Add up saved tallies. Without --keep-items no item may be in two PARTS."""
    from spagree.tally.store import load, save

    loaded = [load(part) for part in parts]
    kinds = {type(part).__name__ for part in loaded}
    if len(kinds) > 1:
        raise UsageError("some parts keep items and some do not; count them all the same way")
    save(sum(loaded[1:], loaded[0]), output, force=force)
    click.echo(f"merged {len(parts)} parts into {output}", err=True)


@cli.command()
def examples() -> None:
    """List the example data sets that ship with spagree (use them as example:NAME)."""
    from spagree.read.examples import EXAMPLES

    for name, found in EXAMPLES.items():
        click.echo(f"{name:<20} {found.title}")


@contextmanager
def _working(what: str) -> Iterator[None]:
    """A spinner with the elapsed time on a terminal; silence in a pipeline."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        progress.add_task(what)
        yield


def _weights(given: str) -> str | dict[int, float]:
    """A scheme's name, or the user's own weights as 2=1,3=1.8."""
    if "=" not in given:
        return given
    try:
        pairs = (part.split("=") for part in given.split(","))
        return {int(n): float(weight) for n, weight in pairs}
    except ValueError:
        raise UsageError(f"--weights {given!r}: write your own weights as 2=1,3=1.8,4=2.5") from None


def _gate(low: float | None, require: float) -> None:
    from spagree.present import figure

    if low is None or low < require:
        click.echo(f"gate not met: the interval's lower end is {figure(low)}, required is {require}", err=True)
        sys.exit(GATE_NOT_MET)


def _print_summary(agreement: Any) -> None:
    from rich.console import Console

    from spagree.present import summary

    Console(soft_wrap=False, highlight=False).print(summary(agreement.findings, agreement.understood, __version__))


def _print_items(rows: list[dict[str, Any]]) -> None:
    from spagree.present import figure
    from spagree.present.wording import printable

    click.echo(f"{'agreement':>9}  {'annotations':>11}  item")
    for row in rows:
        shown = "–" if row["agreement"] is None else figure(row["agreement"])
        click.echo(f"{shown:>9}  {row['annotations']:>11,}  {printable(str(row['item']), 80)}")


def _print_json(value: Any) -> None:
    import json

    click.echo(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run a command and turn every outcome into its documented exit code."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(TERMINATED))
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        cli.main(args=given, prog_name="spagree", standalone_mode=False)
        sys.stdout.flush()
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        sys.exit(INTERRUPTED)
    except BrokenPipeError:
        _close_stdout()
        sys.exit(CANNOT_WRITE)
    except SpagreeError as error:
        if "--debug" in given:
            raise
        _complain(error)
        sys.exit(error.exit_code)
    sys.exit(0)


def _complain(error: SpagreeError) -> None:
    from spagree.present.wording import escape_controls

    click.echo(f"spagree: {escape_controls(str(error))}", err=True)


def _close_stdout() -> None:
    """Nobody reads any more: keep Python from complaining about it at exit."""
    import os

    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
