"""Command-line options, built from the records Python uses and grouped in the help."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from spagree.cli.console import PrintedHelp, warn, working
from spagree.errors import UsageError, for_command_line, opt
from spagree.options import (
    CLEANING,
    GROUPS,
    IN_PYTHON,
    OUTPUT,
    STATISTICS,
    Kind,
    Reading,
    Record,
    Spans,
    declared,
    defaults,
)

if TYPE_CHECKING:
    from spagree.agreement import Agreement
    from spagree.spans import SpanAgreement

F = TypeVar("F", bound=Callable[..., Any])
TYPES: dict[Kind, dict[str, Any]] = {
    Kind.REPEATED: {"multiple": True},
    Kind.FLAG: {"is_flag": True},
    Kind.WHOLE: {"type": int},
    Kind.REAL: {"type": float},
}


def complete_path(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[Any]:
    """Leave a path to the shell, which completes file names."""
    from click.shell_completion import CompletionItem

    return [CompletionItem(incomplete, type="file")]


class GroupedOption(click.Option):
    """An option in a group of the help."""

    def __init__(self, *args: Any, group: str = OUTPUT, **settings: Any) -> None:
        if settings.get("metavar") in ("FILE", "FOLDER"):
            settings.setdefault("shell_complete", complete_path)
        super().__init__(*args, **settings)
        self.group = group

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Click's record; the weighting schemes are those of the registry, loaded only for this help."""
        if self.name == "weights":
            from spagree.estimate.weights import DEFAULT, SCHEMES

            schemes = ", ".join(f"{name} (default)" if name == DEFAULT else name for name in SCHEMES)
            self.help = str(self.help).format(schemes=schemes)
        return super().get_help_record(ctx)


class Command(PrintedHelp):
    """A command whose help shows options by group."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """One section for each group that has options; a single group needs no name."""
        rows: dict[str, list[tuple[str, str]]] = {group: [] for group in GROUPS}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None and isinstance(parameter, click.Option):
                rows[getattr(parameter, "group", OUTPUT)].append(record)
        used = {group: records for group, records in rows.items() if records}
        for group, records in used.items():
            with formatter.section(group if len(used) > 1 else "Options"):
                formatter.write_dl(records)


def option(*names: str, group: str = OUTPUT, **settings: Any) -> Callable[[F], F]:
    """An option of one command only."""
    return click.option(*names, cls=GroupedOption, group=group, **settings)


statistic = partial(option, group=STATISTICS)
rows_as_json = option("--json", "as_json", is_flag=True, help="Print the rows as JSON, in full precision.")
figures_as_json = option("--json", "as_json", is_flag=True, help="Print all figures as JSON, in full precision.")
chart_option = option("--chart", metavar="FILE", help="Also draw it: .svg, .png or .pdf.")
force_option = option("--force", is_flag=True, help="Replace an existing file.")
source_argument = click.argument("source", nargs=-1, required=True, shell_complete=complete_path)
salt_option = option(
    "--salt",
    group=CLEANING,
    metavar="TEXT",
    help="The secret for --pseudonymise; otherwise SPAGREE_PSEUDONYM_KEY or a stored random one.",
)
salt_file_option = option("--salt-file", group=CLEANING, metavar="FILE", help="A file that contains the secret.")


def options_of(record: Record, only: Collection[str] = (), without: Collection[str] = ()) -> Callable[[F], F]:
    """Give a command all or some options of a record."""
    unset = defaults(record)
    chosen = [name for name in declared(record) if (not only or name in only) and name not in without]

    def apply(command: F) -> F:
        for name in reversed(chosen):
            about = declared(record)[name]
            is_switched_off = about.kind is Kind.FLAG and unset[name] is True
            settings = {**TYPES.get(about.kind, {}), "metavar": about.metavar, "help": about.help}
            if is_switched_off:
                settings["flag_value"] = False
            if about.kind not in (Kind.REPEATED, Kind.LISTED):
                settings["default"] = unset[name]
            spelled = f"--{'no-' if is_switched_off else ''}{name.replace('_', '-')}"
            command = option(spelled, name, group=about.group, **settings)(command)
        return command

    return apply


def reading_options(*, without: Collection[str] = ()) -> Callable[[F], F]:
    """Give a command the options for reading, with those that only the command line has."""
    return lambda command: options_of(Reading, without=without)(salt_option(salt_file_option(command)))


def source_options(*, without: Collection[str] = ()) -> Callable[[F], F]:
    """Give a command a SOURCE of labels or spans, with the options for reading it."""
    return lambda command: source_argument(reading_options(without=without)(options_of(Spans)(command)))


def to_python(options: dict[str, Any]) -> dict[str, Any]:
    """What was typed → the arguments of :func:`spagree.measure`."""
    salt, file = options["salt"], options["salt_file"]
    if (salt is not None or file is not None) and not options["pseudonymise"]:
        raise UsageError("--salt only works with --pseudonymise; give both")
    if salt is not None and file is not None:
        raise UsageError("--salt and --salt-file both give the secret; use one of them")
    arguments: dict[str, Any] = {"source": options["source"]}
    kinds = {name: about.kind for name, about in IN_PYTHON.items()}
    arguments |= {name: options[name] for name in kinds if options.get(name) not in (None, ())}
    for name, value in arguments.items():
        kind = kinds.get(name, Kind.REPEATED)  # SOURCE may be repeated, too
        if kind is Kind.REPEATED:
            arguments[name] = value[0] if len(value) == 1 else list(value)
        elif kind is Kind.LISTED:
            arguments[name] = words(value)
        elif kind is Kind.WEIGHTS and "=" in value:
            arguments[name] = _own_weights(value)
    if salt is not None:
        arguments["pseudonymise"] = salt
    elif file is not None:
        arguments["pseudonymise"] = Path(file)
    return arguments


def words(typed: str) -> tuple[str, ...]:
    """A list written with commas."""
    return tuple(part.strip() for part in typed.split(",") if part.strip())


def _own_weights(typed: str) -> dict[int, float]:
    try:
        pairs = (part.split("=") for part in typed.split(","))
        return {int(n): float(weight) for n, weight in pairs}
    except ValueError:
        raise UsageError(f"--weights {typed!r}: write your own weights as 2=1,3=1.8,4=2.5") from None


def measured(options: dict[str, Any], *, in_full: bool = False) -> Agreement:
    """The agreement; ``in_full`` if a table needs every annotation. Warnings are printed at once."""
    from spagree import measuring

    arguments = to_python(options)
    agreement = measuring.measured(arguments.pop("source"), arguments, in_full=in_full)
    warn(agreement.noticed)
    return replace(agreement, told=for_command_line)


def measured_spans(options: dict[str, Any], **refused: Any) -> SpanAgreement:
    """Agreement on spans, warnings printed; ``refused`` are options that mean nothing for them."""
    from spagree.spans import measure_spans  # what labels do not need is not loaded for them

    for name in (name for name, value in refused.items() if value):
        raise UsageError(f"{opt[name]} is not for spans; leave it out")
    arguments = to_python(options)
    with working("counting spans"):
        found = measure_spans(arguments.pop("source"), **arguments)
    found = replace(found, findings=for_command_line(found.findings))
    warn(found.warnings)
    return found
