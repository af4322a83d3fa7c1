"""The section "Command line" of docs/reference.md, from the options as they are declared: python docs/reference.py

A test compares the page with what this prints.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import click

from spagree.cli.app import COMMANDS, cli
from spagree.options import IN_PYTHON, Estimating, Reading, Spans, declared, defaults

PAGE = Path(__file__).parent / "reference.md"
START, END = "<!-- made by docs/reference.py -->\n", "<!-- until here -->\n"
SECRET = {"--salt", "--salt-file"}  # of reading, but only on the command line
BOUNDS = re.compile(r"  \[required\]|  \[[^\]]*x[<>][^\]]*\]")  # click adds them
# option → where the guides say more
MORE = {
    "--query": "#databases",
    "--item": "#guessing-columns",
    "--format": "#layouts",
    "--question": "formats.md#questions",
    "--status": "formats.md#what-counts",
    "--pseudonymise": "formats.md#personal-data",
    "--where": "formats.md#other-fields-and-the-address-of-a-task",
    "--first": "tutorial.md#6-when-the-assumption-does-not-hold",
    "--engine": "scale.md",
    "--cluster": "compare.md#clusters-items-that-are-not-independent",
    "--by": "compare.md#groups-agreement-of-each-part",
    "--interval-for": "breakdowns.md#what-the-interval-covers",
    "--weights": "mathematics.md#4-weights",
    "--assignment": "plan.md#5-what-came-back",
    "--report": "report.md",
    "--since": "report.md#compared-with-last-time",
    "--consensus": "compare.md#one-label-per-item",
    "--model": "compare.md#may-a-model-annotate",
    "--seen": "spans.md#who-saw-what",
    "--half-width": "plan.md",
    "--data": "paper/README.md#the-data",
}
GUIDES = {
    "classes": "breakdowns.md#classes",
    "annotators": "breakdowns.md#annotators",
    "pairs": "breakdowns.md#pairs-of-annotators",
    "compare": "compare.md",
    "plan": "plan.md",
    "development": "plan.md#agreement-over-time",
    "assign": "plan.md#3-the-round",
    "tally": "scale.md#save-and-merge-tallies",
    "monitor": "monitor.md",
    "paper": "paper/README.md",
}


def section() -> str:
    """Commands, shared options, then the options of each command alone."""
    context = click.Context(cli)
    commands = {name: cli.get_command(context, name) for name in cli.list_commands(context)}
    score = commands["score"]
    lines = ["| command | does |", "|---|---|"]
    for name, command in commands.items():
        guide = f" ([guide]({GUIDES[name]}))" if name in GUIDES else ""
        lines.append(f"| `spagree {name}{arguments(command)}` | {COMMANDS[name][1]}{guide} |")
    lines += [
        "",
        "Everywhere: `-h`, `--help` and `--debug`, which shows the traceback of an error; `spagree --version`.",
        "",
    ]
    reading = [each for each in options_of(score) if each.name in declared(Reading) or SECRET & {*each.opts}]
    lines += ["### Options for reading", "", *table(reading, with_python=True), ""]
    of_spans = [each for each in options_of(score) if each.name in declared(Spans)]
    lines += ["### Options for spans", "", *table(of_spans, with_python=True), ""]
    estimating = [each for each in options_of(score) if each.name in declared(Estimating)]
    lines += ["### Options for estimating", "", *table(estimating, with_python=True), ""]
    for name, command in commands.items():
        lines += [line for each in group(name, command) for line in own(*each)]
    return "\n".join(lines)


def group(name: str, command: click.Command) -> Iterator[tuple[str, click.Command]]:
    """A command, or the commands under its name."""
    if not isinstance(command, click.Group):
        yield name, command
        return
    for sub, each in command.commands.items():
        yield f"{name} {sub}", each


def own(name: str, command: click.Command) -> list[str]:
    """The options of one command, and which of the shared ones it takes."""
    every = list(options_of(command))
    common = [each for each in every if is_shared(each)]
    shared = ["those [for reading](#options-for-reading)"] if "normalize" in {each.name for each in common} else []
    if "seen" in {each.name for each in common}:
        shared.append("those [for spans](#options-for-spans)")
    estimating = [each for each in common if each.name in declared(Estimating)]
    if estimating:
        whole = len(estimating) == len(declared(Estimating))
        listed = ", ".join(f"`{each.opts[0]}`" for each in estimating)
        shared.append("those [for estimating](#options-for-estimating)" if whole else listed)
    left = [each for each in every if each not in common]
    if not every:
        return []
    lines = [f"### `spagree {name}`", ""]
    lines += [f"Options: {', '.join(shared)}{', and' if left else '.'}", ""] if shared else []
    return lines + ([*table(left), ""] if left else [])


def is_shared(each: click.Option) -> bool:
    """Whether it is an option of a record, and not one of the same name: --seed of assign is its own."""
    declaration = IN_PYTHON.get(str(each.name))
    return bool(SECRET & {*each.opts}) or (
        declaration is not None and declaration.group == getattr(each, "group", None)
    )


def table(options: Iterable[click.Option], *, with_python: bool = False) -> Iterator[str]:
    """A row per option."""
    yield "| option | Python | meaning |" if with_python else "| option | meaning |"
    yield "|---|---|---|" if with_python else "|---|---|"
    for each in options:
        shown = ", ".join(f"`{name}`" for name in each.opts[:-1])
        value = "" if each.is_flag else f" {each.metavar or each.type.name.upper()}".replace("|", "\\|")
        spelled = f"{shown}{', ' if shown else ''}`{each.opts[-1]}{value}`"
        record = each.get_help_record(click.Context(click.Command("x")))
        meaning = BOUNDS.sub("", record[1] if record else "").replace("|", "\\|")
        default = (
            ""
            if each.is_flag or "default" in meaning or not isinstance(each.default, str | int | float)
            else each.default
        )
        meaning += f"  [default: {default}]" if default not in ("", None) else ""
        more = (
            f" ([more]({MORE[each.opts[0]]}))"
            if each.opts[0] in MORE and (is_shared(each) or each.name not in IN_PYTHON)
            else ""
        )
        python = f" {in_python(each)} |" if with_python else ""
        yield f"| {spelled} |{python} {' '.join(meaning.split())}{more} |"


def in_python(each: click.Option) -> str:
    """How the option is written as an argument."""
    if each.name not in IN_PYTHON:
        return '`pseudonymise="TEXT"`' if each.name == "salt" else '`pseudonymise=Path("FILE")`'
    default = {**defaults(Reading), **defaults(Estimating), **defaults(Spans)}[each.name]
    return f"`{each.name}={not default}`" if each.is_flag else f"`{each.name}=`"


def arguments(command: click.Command) -> str:
    """SOURCE…, as the usage line has it, and the options that must be given."""
    context = click.Context(command)
    places = [each.make_metavar(context) for each in command.params if isinstance(each, click.Argument)]
    needed = [
        f"{each.opts[0]} {each.metavar}" for each in command.params if isinstance(each, click.Option) and each.required
    ]
    return "".join(f" {each}" for each in [*places, *needed])


def options_of(command: click.Command) -> Iterator[click.Option]:
    """All options that are shown, but for --help, which every command has."""
    return (each for each in command.params if isinstance(each, click.Option) and each.name != "help")


def renewed(page: str) -> str:
    """The page with the section as it is now."""
    before, _, rest = page.partition(START)
    return f"{before}{START}{section()}{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    PAGE.write_text(renewed(PAGE.read_text("utf-8")), "utf-8")
