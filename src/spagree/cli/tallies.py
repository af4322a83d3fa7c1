"""`spagree tally` and `spagree merge`: counting in parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from spagree.cli.console import note, working
from spagree.cli.options import Command, force_option, option, reading_options, to_python


@click.command(cls=Command)
@reading_options(without=("text",))
@option("-o", "--output", required=True, metavar="FILE", help="Where to save it: .json, or .parquet with --keep-items.")
@option("--keep-items", is_flag=True, help="Keep counts per item, so an item may be split across parts.")
@force_option
def tally(output: str, keep_items: bool, force: bool, **options: Any) -> None:
    """Count SOURCE and save the summary, to merge and score later.

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
        counted = (count_items if keep_items else count_all)(**to_python(options))
    save(counted, output, force=force)
    note(f"saved {output}")


@click.command(cls=Command)
@click.argument("parts", nargs=-1, required=True)
@option("-o", "--output", required=True, metavar="FILE", help="Where to save the merged tally.")
@force_option
def merge(parts: Sequence[str], output: str, force: bool) -> None:
    """Add up saved tallies. Unless they were made with --keep-items, no item may be in two PARTS."""
    from spagree.tally.saved import load_all, save

    save(load_all(parts), output, force=force)
    note(f"merged {len(parts)} parts into {output}")
