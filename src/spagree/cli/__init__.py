"""The command line: one short function per command, each read → tally → estimate → present."""

from spagree.garbage import without_collecting

with without_collecting():
    from spagree.cli.app import main

__all__ = ["main"]
