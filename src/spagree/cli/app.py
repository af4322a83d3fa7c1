"""One short function per command: read → tally → estimate → present."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import click

from spagree.cli import breakdowns
from spagree.cli.console import draw, print_json, say, working
from spagree.cli.options import own_weights, reading_options, text_option, words
from spagree.cli.options import to_python as _reading
from spagree.cli.paper import paper
from spagree.errors import SpagreeError, UsageError, unknown_name
from spagree.version import __version__

GATE_NOT_MET = 1
NOTHING_PAIRABLE = 3
CANNOT_WRITE = 4
HUNG_UP, INTERRUPTED, TERMINATED = 129, 130, 143


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
    spagree score labels.csv --report page.html one page to look at, print or send
    spagree score labels.csv --require 0.7      a gate for pipelines
    spagree score example:sparse                try it on data that ships with spagree

    Exit codes: 0 fine, 1 the gate was not met, 2 usage, 3 the data cannot be used, 4 a file cannot
    be read or written.
    """


@cli.command(short_help="Measure the agreement in a file, a glob, standard input or example:NAME.")
@reading_options
@text_option
@click.option(
    "--weights",
    default="annotations_m1",
    metavar="SCHEME",
    help="flat, annotations, annotations_m1 (default), edge, inv_var, inv_var_class, adaptive, "
    "or your own per number of annotations: 2=1,3=1.8,4=2.5",
)
@click.option(
    "--metric",
    default="nominal",
    metavar="NAME",
    help="How labels agree: nominal (default), ordinal, interval, ratio, circular, linear, quadratic; for sets of "
    "options (a|b or a JSON list) jaccard, masi, options.",
)
@click.option("--order", metavar="A,B,C", help="Order of the labels from low to high, for ordinal metrics.")
@click.option("--level", default=0.95, metavar="P", help="Confidence level of the intervals.  [default: 0.95]")
@click.option("--bootstrap", type=int, metavar="N", help="Intervals from N resamples of the items instead of Wilson's.")
@click.option("--seed", default=0, metavar="S", help="Seed of the bootstrap.  [default: 0]")
@click.option(
    "--generalise",
    default="items",
    metavar="WHOM",
    help="What the intervals cover: items (these annotators, new items; default) or annotators (new ones as well).",
)
@click.option("--json", "as_json", is_flag=True, help="Print all figures as JSON, in full precision.")
@click.option("--require", type=float, metavar="X", help="Exit with 1 if the interval's lower end is below X.")
@click.option("--all-questions", is_flag=True, help="Score each question of a tool's export.")
@click.option("--report", metavar="FILE", help="Also write one HTML page with charts and tables, to look at or send.")
@click.option("--export", metavar="FOLDER", help="Also write every table as CSV and all figures as JSON.")
@click.option("--force", is_flag=True, help="Replace existing files.")
def score(
    *,
    weights: str,
    level: float,
    as_json: bool,
    require: float | None,
    all_questions: bool,
    report: str | None,
    export: str | None,
    force: bool,
    **options: Any,
) -> None:
    """Measure the agreement in SOURCE: files, globs, - for standard input, or example:NAME.

    Long tables (one annotation per row), wide tables (items × annotators) and count tables (items ×
    classes); CSV, TSV, JSON lines, Parquet, Arrow, Excel, plain or as .gz/.zst; saved tallies. Exports of
    Label Studio, Prodigy, doccano, Argilla, MTurk, Ground Truth, Appen, Toloka, Labelbox, potato and others.
    Databases: postgresql://… or an SQLite file, with --query.
    """
    from spagree.agreement import measure, measure_all

    written = _Written(report, export, force, all_questions)
    with working("counting annotations"):
        order = words(options.pop("order"))
        asked = {"weights": own_weights(weights), "level": level, "order": order, **_reading(options)}
        found = measure_all(**asked) if all_questions else {"": measure(**asked)}
    _print_all(found, as_json)
    for agreement in found.values():
        written.write(agreement)
    for question, agreement in found.items():
        if agreement.spa.value is None:
            raise SpagreeError(_about(question) + str(agreement.spa.undefined))
    if require is not None:
        _gate(found, require)


@dataclass(frozen=True, slots=True)
class _Written:
    """Files that a score leaves behind; refused before anything is counted."""

    report: str | None
    export: str | None
    force: bool
    all_questions: bool

    def __post_init__(self) -> None:
        from spagree.write import refuse_existing

        if self.all_questions and (self.report or self.export):
            option = "--report" if self.report else "--export"
            raise UsageError(f"{option} is about one question; choose it with --question instead of --all-questions")
        if self.report:
            from spagree.present.charts import load_altair

            load_altair()  # a missing extra is said now, not after an hour of counting
            refuse_existing(self.report, force=self.force)
        if self.export:
            refuse_existing(Path(self.export) / "agreement.json", force=self.force)

    def write(self, agreement: Any) -> None:
        """Say where, on stderr: standard output is for the figures."""
        if self.report:
            with working("drawing the report"):
                agreement.report(self.report, force=self.force)
            click.echo(f"wrote {self.report}", err=True)
        if self.export:
            with working("writing tables"):
                paths = agreement.export(self.export, force=self.force)
            click.echo(f"wrote {len(paths)} files to {self.export}", err=True)


def _about(question: str) -> str:
    return f"question {question!r}: " if question else ""


def _print_all(found: dict[str, Any], as_json: bool) -> None:
    """The one agreement, or each under the name of its question."""
    if as_json and "" not in found:
        print_json({"questions": {question: agreement.to_dict() for question, agreement in found.items()}})
        return
    from spagree.present.wording import printable

    for question, agreement in found.items():
        if as_json:
            say(agreement.to_json())
            continue
        if question:
            say(f"══ {printable(question, 80)} ══")
        _print_summary(agreement)


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
    from spagree.counting import count_items
    from spagree.counting import tally as count_all
    from spagree.tally.saved import save
    from spagree.write import refuse_existing

    refuse_existing(output, force=force)
    with working("counting annotations"):
        counted = (count_items if keep_items else count_all)(**_reading(options))
    save(counted, output, force=force)
    click.echo(f"saved {output}", err=True)


@cli.command(short_help="Add up saved tallies.")
@click.argument("parts", nargs=-1, required=True)
@click.option("-o", "--output", required=True, metavar="FILE", help="Where to save the merged tally.")
@click.option("--force", is_flag=True, help="Replace an existing file.")
def merge(parts: Sequence[str], output: str, force: bool) -> None:
    """Add up saved tallies. Without --keep-items no item may be in two PARTS."""
    from spagree.tally.saved import load, save
    from spagree.tally.saved import merge as add_up

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
    with working("drawing annotations"):
        simulation = draw(**parameters)
        simulation.save(output, force=force)
    say(f"wrote {simulation.frame.height:,} annotations to {output}; true agreement {figure(simulation.truth)}")


@cli.command(short_help="List the example data that ships with spagree.")
def examples() -> None:
    """List the example data sets that ship with spagree (use them as example:NAME)."""
    from spagree.read.examples import EXAMPLES

    for name, found in EXAMPLES.items():
        say(f"{name:<18} {found.title} ({found.format} table)\n{'':<18} {found.citation}")


from spagree.cli.assign import assign  # noqa: E402

for _command in (assign, breakdowns.items, breakdowns.classes, breakdowns.annotators, breakdowns.pairs, paper):
    cli.add_command(_command)


def _gate(found: dict[str, Any], require: float) -> None:
    from spagree.present import figure
    from spagree.present.wording import escape_controls

    lows = {question: agreement.spa.low for question, agreement in found.items()}
    failed = {question: low for question, low in lows.items() if low is None or low < require}
    for question, low in failed.items():
        about = escape_controls(_about(question))
        click.echo(f"gate not met: {about}the interval's lower end is {figure(low)}, required is {require}", err=True)
    if failed:
        sys.exit(GATE_NOT_MET)


def _print_summary(agreement: Any) -> None:
    from spagree.present import summary

    draw(summary(agreement.findings, agreement.understood, __version__))


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run a command and turn every outcome into its documented exit code."""
    _leave_in_order()
    if sys.stdout is None:  # closed by whoever started us
        sys.exit(CANNOT_WRITE)
    given = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in given  # wherever it stands: it is typed in haste
    try:
        with _signals_of_duckdb():
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


def _leave_in_order() -> None:
    """Remove temporary files also when asked to end, or when the terminal is closed (unless nohup says to go on)."""
    for name, code in (("SIGTERM", TERMINATED), ("SIGHUP", HUNG_UP)):
        number = getattr(signal, name, None)  # Windows has no SIGHUP
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, partial(_leave, code))


def _leave(code: int, *_: object) -> NoReturn:
    sys.exit(code)


@contextmanager
def _signals_of_duckdb() -> Iterator[None]:
    """A signal during a query of duckdb arrives as an error of its own, behind which the signal's stands."""
    try:
        yield
    except RuntimeError as error:
        if "Query interrupted" not in str(error):
            raise
        behind = error.__cause__ or error.__context__
        sys.exit(behind.code if isinstance(behind, SystemExit) else INTERRUPTED)


def _complain(message: str) -> None:
    from spagree.present.wording import escape_controls

    click.echo(f"spagree: {escape_controls(message)}", err=True)
