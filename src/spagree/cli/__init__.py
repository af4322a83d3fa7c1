"""The command line: one short function per command, each read → tally → estimate → present."""

from spagree.cli.app import main

__all__ = ["main"]
