"""Help that is printed like any result; apart from the options, so that `spagree --help` loads little."""

from __future__ import annotations

import click

from spagree.cli.console import say


class PrintedHelp(click.Command):
    """A command whose help is printed like any result: a closed pipe or a full disk is an error."""

    def get_help_option(self, ctx: click.Context) -> click.Option | None:
        """--help, as click has it, but for how it is printed."""
        found = super().get_help_option(ctx)
        if found is not None:
            found.callback = _print_help
        return found


def _print_help(context: click.Context, _parameter: click.Parameter, is_asked: bool) -> None:
    if is_asked and not context.resilient_parsing:
        say(context.get_help())
        context.exit()


class Group(PrintedHelp, click.Group):
    """Commands under a common name."""
