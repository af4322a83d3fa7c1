"""Command-line options, built from the records Python uses and grouped in the help."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from spagree.cli.console import PrintedHelp
from spagree.errors import UsageError
from spagree.options import (
    CLEANING,
    GROUPS,
    OUTPUT,
    Estimating,
    Kind,
    Option,
    Reading,
    Record,
    declared,
    defaults,
)

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
        """Click's record; the weighting schemes are those of the registry, which is loaded only for this help."""
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
    chosen = {name: each for name, each in declared(record).items() if (not only or name in only)}

    def apply(command: F) -> F:
        for name, each in reversed(chosen.items()):
            if name not in without:
                command = _click(name, each, unset[name])(command)
        return command

    return apply


def reading_options(*, without: Collection[str] = (), with_source: bool = True) -> Callable[[F], F]:
    """Give a command the options for reading, and SOURCE unless it has a different argument."""

    def apply(command: F) -> F:
        options = options_of(Reading, without=without)(salt_option(salt_file_option(command)))
        return source_argument(options) if with_source else options

    return apply


def _click(name: str, about: Option, default: Any) -> Callable[[F], F]:
    is_switched_off = about.kind is Kind.FLAG and default is True
    settings = TYPES.get(about.kind, {}) | ({"flag_value": False} if is_switched_off else {})
    if about.kind not in (Kind.REPEATED, Kind.LISTED):
        settings |= {"default": default}
    spelled = f"--{'no-' if is_switched_off else ''}{name.replace('_', '-')}"
    settings |= {"metavar": about.metavar, "help": about.help}
    return option(spelled, name, group=about.group, **settings)


def to_python(options: dict[str, Any]) -> dict[str, Any]:
    """What was typed → the arguments of :func:`spagree.measure`."""
    declarations = {**declared(Reading), **declared(Estimating)}
    readers: dict[Kind, Callable[[Any], Any]] = {Kind.REPEATED: _one, Kind.LISTED: words, Kind.WEIGHTS: own_weights}
    values = {name: value for name, value in options.items() if name in declarations and value != ()}
    return {
        "source": _one(options["source"]),
        **{name: readers.get(declarations[name].kind, lambda typed: typed)(value) for name, value in values.items()},
        **_pseudonyms(options),
    }


def _pseudonyms(options: dict[str, Any]) -> dict[str, Any]:
    salt, file, hidden = options["salt"], options["salt_file"], options["pseudonymise"]
    if (salt is not None or file is not None) and not hidden:
        raise UsageError("--salt only works with --pseudonymise; give both")
    if salt is not None and file is not None:
        raise UsageError("--salt and --salt-file both give the secret; use one of them")
    return {"pseudonymise": salt if salt is not None else Path(file) if file is not None else hidden}


def _one(typed: Sequence[str]) -> str | list[str]:
    """A repeated option: its single value, or all of them."""
    return typed[0] if len(typed) == 1 else list(typed)


def words(typed: str | None) -> tuple[str, ...]:
    """A list written with commas.

    >>> words("low, high"), words(None)
    (('low', 'high'), ())
    """
    return tuple(part.strip() for part in (typed or "").split(",") if part.strip())


def own_weights(typed: str) -> str | dict[int, float]:
    """A scheme's name, or custom weights as 2=1,3=1.8."""
    if "=" not in typed:
        return typed
    try:
        pairs = (part.split("=") for part in typed.split(","))
        return {int(n): float(weight) for n, weight in pairs}
    except ValueError:
        raise UsageError(f"--weights {typed!r}: write your own weights as 2=1,3=1.8,4=2.5") from None
