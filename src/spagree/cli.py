"""One short function per command: read → tally → estimate → present."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from io import StringIO
from typing import Any, NoReturn, TypeVar

import click

from spagree.errors import FileError, SpagreeError, UsageError, unknown_name
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
@click.option("--debug", is_flag=True, expose_value=False, help="Show the full traceback of an error.")
def cli() -> None:
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


@cli.command(short_help="Measure the agreement in a file, a glob, standard input or example:NAME.")
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
        _say(agreement.to_json())
    else:
        _print_summary(agreement)
    if agreement.spa.value is None:
        raise SpagreeError(str(agreement.spa.undefined))
    if require is not None:
        _gate(agreement.spa.low, require)


@cli.command(short_help="List the items annotators agree least on.")
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


@cli.command(short_help="Count annotations and save the summary, to be merged later.")
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


@cli.command(short_help="Add up saved tallies.")
@click.argument("parts", nargs=-1, required=True)
@click.option("-o", "--output", required=True, metavar="FILE", help="Where to save the merged tally.")
@click.option("--force", is_flag=True, help="Replace an existing file.")
def merge(parts: Sequence[str], output: str, force: bool) -> None:
    """Add up saved tallies. Without --keep-items no item may be in two PARTS."""
    from spagree.tally.store import load, save
    from spagree.tally.store import merge as add_up

    save(add_up([load(part) for part in parts]), output, force=force)
    click.echo(f"merged {len(parts)} parts into {output}", err=True)


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


@cli.command(context_settings={"show_default": True}, short_help="Write annotation data whose true agreement is known.")
@click.option("-o", "--output", required=True, metavar="FILE", help="Where to write: .csv, .csv.gz or .parquet.")
@click.option("--items", default=1000, help="Number of items.")
@click.option("--annotators", default=20, help="Number of annotators.")
@click.option("--classes", default=3, help="Number of classes.")
@click.option(
    "--per-item", callback=_span(int), default="3", metavar="N", help="Annotations per item; 2:5 makes it vary."
)
@click.option("--skew", default=0.0, help="0: all classes equally common; 1: class c is 1/c as common as the first.")
@click.option("--heterogeneity", default=0.6, help="0: all items alike; 1: each item has one right answer.")
@click.option(
    "--quality",
    callback=_span(float),
    default="0.9",
    metavar="Q",
    help="How often annotators answer with care; 0.6:0.9 makes them differ.",
)
@click.option("--missing", default=0.0, help="Fraction of annotations removed at random.")
@click.option("--adaptive", is_flag=True, help="Ask further annotators only where the first two disagree.")
@click.option("--seed", default=0, help="The same seed gives the same data.")
@click.option("--force", is_flag=True, help="Replace an existing file.")
def simulate(output: str, force: bool, **parameters: Any) -> None:
    """Write annotation data whose true agreement is known, to try things out and to plan."""
    from spagree.present import figure
    from spagree.simulate import simulate as draw
    from spagree.write import refuse_existing

    refuse_existing(output, force=force)
    with _working("drawing annotations"):
        simulation = draw(**parameters)
        simulation.save(output, force=force)
    _say(f"wrote {simulation.frame.height:,} annotations to {output}; true agreement {figure(simulation.truth)}")


@cli.command(short_help="List the example data that ships with spagree.")
def examples() -> None:
    """List the example data sets that ship with spagree (use them as example:NAME)."""
    from spagree.read.examples import EXAMPLES

    for name, found in EXAMPLES.items():
        _say(f"{name:<18} {found.title} ({found.format} table)\n{'':<18} {found.citation}")


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

    terminal, page = Console(), StringIO()
    drawn = Console(file=page, width=terminal.width, force_terminal=terminal.is_terminal, highlight=False)
    drawn.print(summary(agreement.findings, agreement.understood, __version__))
    _say(page.getvalue(), newline=False)


def _print_items(rows: list[dict[str, Any]]) -> None:
    from spagree.present import figure
    from spagree.present.wording import printable

    _say(f"{'agreement':>9}  {'annotations':>11}  item")
    for row in rows:
        shown = "–" if row["agreement"] is None else figure(row["agreement"])
        _say(f"{shown:>9}  {row['annotations']:>11,}  {printable(str(row['item']), 80)}")


def _say(text: str, *, newline: bool = True) -> None:
    """Print a result at once; a closed pipe or a full disk is an error like any other."""
    try:
        click.echo(text, nl=newline)
        sys.stdout.flush()
    except OSError as error:
        _close_stdout()
        raise FileError(f"standard output cannot be written: {error.strerror}") from error


def _print_json(value: Any) -> None:
    import json

    _say(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run a command and turn every outcome into its documented exit code."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(TERMINATED))
    if sys.stdout is None:  # closed by whoever started us
        sys.exit(CANNOT_WRITE)
    given = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in given  # wherever it stands: it is typed in haste
    try:
        cli.main(args=[each for each in given if each != "--debug"], prog_name="spagree", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        sys.exit(INTERRUPTED)
    except SpagreeError as error:
        if debug:
            raise
        _complain(str(error))
        sys.exit(error.exit_code)
    sys.exit(0)


def _complain(message: str) -> None:
    from spagree.present.wording import escape_controls

    click.echo(f"spagree: {escape_controls(message)}", err=True)


def _close_stdout() -> None:
    """Nobody reads any more: keep Python from complaining about it at exit."""
    import os

    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
