"""The command group, whose commands load on demand, and main(): every outcome becomes its exit code."""

from __future__ import annotations

import os
import signal
import sys
import traceback
from collections.abc import Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from shlex import join
from typing import Any, NoReturn

import click

from spagree.cli.console import Group, complain, note, shown
from spagree.errors import SpagreeError, SpansError, unknown_name
from spagree.options import SPANS

CANNOT_WRITE = 4
OURS = 70
HUNG_UP, INTERRUPTED, TERMINATED = 129, 130, 143
COMPLETE = "_SPAGREE_COMPLETE"  # set by the shell's completion script: docs/scale.md
_stopped_by: list[int] = []  # the exit codes of signals: a library may swallow what a signal raises

# name → its file, and what it does in one line
COMMANDS = {
    "score": ("score", "Measure the agreement in a file, a glob, standard input or example:NAME."),
    "items": ("listings", "List the items with the least agreement."),
    "classes": ("listings", "List the classes with the least agreement, and which are confused."),
    "annotators": ("listings", "List the annotators who agree least with the others."),
    "pairs": ("listings", "List the pairs of annotators who agree least."),
    "compare": ("compare", "Compare rounds, the halves of one source, or a model with people."),
    "plan": ("planning", "Plan how many annotations you need, on how many items."),
    "development": ("planning", "Print how agreement changed over time."),
    "assign": ("planning", "Assign items to annotators: random, balanced, connected."),
    "tally": ("data", "Count annotations and save the summary, to merge later."),
    "merge": ("data", "Add up saved tallies."),
    "monitor": ("extras", "Watch agreement live while people annotate."),
    "simulate": ("data", "Simulate annotations whose true agreement is known."),
    "examples": ("data", "List the example data sets that come with spagree."),
    "paper": ("extras", "Regenerate the figures and tables of the paper."),
}


class _Commands(Group):
    """A group that loads commands on demand and suggests the command you meant."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 (click calls it so)
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = getattr(import_module(f"spagree.cli.{COMMANDS[cmd_name][0]}"), cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl([(name, about) for name, (_, about) in COMMANDS.items()])

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        name = args[0] if args else ""
        if name not in COMMANDS and (Path(name).exists() or name.startswith("example:")):
            raise click.UsageError(f"{name} is no command; to measure its agreement: spagree score {join(args)}")
        if name not in COMMANDS and not name.startswith("-"):
            raise click.UsageError(str(unknown_name("command", name, COMMANDS)))
        return super().resolve_command(ctx, args)


cli = _Commands(
    "spagree",
    context_settings={"max_content_width": 100},
    params=[
        shown("--version", help="Show the version and exit."),
        click.Option(["--debug"], is_flag=True, expose_value=False, help="Show the full traceback of an error."),
    ],
    help="""Measure how much annotators agree when not everyone labelled everything.

    \b
    spagree score example:sparse                  try it on example data
    spagree score labels.csv                      one number, an honest interval
    spagree score labels.csv --report page.html   a page to look at or send
    spagree items labels.csv                      what annotators disagree about
    spagree score 'parts/*.parquet' --json        the same for programs
    spagree score labels.csv --require 0.7        a gate for pipelines

    Exit codes: 0 success, 1 gate not met, 2 wrong usage, 3 unusable data, 4 a file cannot be read or
    written, 70 a bug in spagree.
    """,
)


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run a command and turn every outcome into its documented exit code."""
    # Temporary files are also removed on SIGTERM, and when the terminal closes, unless under nohup; a shell that starts
    # us in the background has SIGINT ignored.
    for name, exit_code in (("SIGINT", INTERRUPTED), ("SIGTERM", TERMINATED), ("SIGHUP", HUNG_UP)):
        number = getattr(signal, name, None)  # Windows has no SIGHUP
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, partial(_stop, exit_code))
    if sys.stdout is None:  # closed by the parent process
        sys.exit(CANNOT_WRITE)
    if COMPLETE in os.environ:
        from click.shell_completion import shell_complete

        sys.exit(shell_complete(cli, {}, "spagree", COMPLETE, os.environ[COMPLETE]))
    words = list(sys.argv[1:] if arguments is None else arguments) or ["--help"]
    debug = "--debug" in words  # anywhere on the line: people add it last
    code = _run([word for word in words if word != "--debug"], debug)
    sys.exit(_stopped_by[-1] if _stopped_by else code)


def _stop(code: int, *_: object) -> NoReturn:
    """Raise what ends the command in order."""
    _stopped_by.append(code)
    raise KeyboardInterrupt if code == INTERRUPTED else SystemExit(code)


def _run(arguments: list[str], debug: bool) -> int:  # noqa: PLR0911 (one for each outcome)
    try:
        with cli.make_context("spagree", arguments) as context:
            cli.invoke(context)
    except click.exceptions.Exit as done:
        return done.exit_code
    except click.ClickException as error:
        if isinstance(error, click.UsageError) and error.ctx is not None:
            note(f"{error.ctx.get_usage()}\nTry '{error.ctx.command_path} --help' for help.\n")
        note(f"Error: {error.format_message()}")
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except SpagreeError as error:
        is_again = "-" in arguments or any(word.startswith("--format") for word in arguments)
        if isinstance(error, SpansError) and not is_again and _takes_spans(arguments[0]):
            note("These are marked spans, not classes: measured as with --format spans.")
            return _run([arguments[0], "--format", SPANS, *arguments[1:]], debug)
        _complain(error.message.typed(), debug)
        return error.exit_code
    except Exception as error:
        if "Query interrupted" in str(error):  # a signal during a duckdb query
            behind = error.__cause__ or error.__context__
            sys.exit(behind.code if isinstance(behind, SystemExit) else INTERRUPTED)
        what = " ".join(f"{type(error).__name__}: {error}".split())
        _complain(f"a bug in spagree ({what[:300]}); please report it with the output of --debug", debug)
        return OURS
    return 0


def _takes_spans(name: str) -> bool:
    command = cli.get_command(click.Context(cli), name)
    return command is not None and any(option.name == "seen" for option in command.params)


def _complain(message: str, debug: bool) -> None:
    if debug:
        note(traceback.format_exc())
    complain(f"spagree: {message}")
