"""`spagree tally` and `spagree merge`: counting in parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from spagree.cli.console import note, warn, working
from spagree.cli.options import Command, force_option, option, reading_options, to_python
from spagree.errors import count


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
    from spagree.measuring import item_counts_and_cautions, tally_and_cautions
    from spagree.tally.saved import save
    from spagree.write import refuse_existing

    refuse_existing(output, force=force)
    with working("counting annotations"):
        counting = item_counts_and_cautions if keep_items else tally_and_cautions
        counted, cautions = counting(**to_python(options))
    save(counted, output, force=force)
    warn(cautions)  # the tally does not keep them
    note(f"saved {output}")


@click.command(cls=Command)
@click.argument("parts", nargs=-1, required=True)
@option("-o", "--output", required=True, metavar="FILE", help="Where to save the merged tally.")
@force_option
def merge(parts: Sequence[str], output: str, force: bool) -> None:
    """Add up saved tallies. Unless they were made with --keep-items, no item may be in two PARTS."""
    from spagree.tally.saved import load_all, save

    save(load_all(parts), output, force=force)
    note(f"merged {count(len(parts), 'part')} into {output}")
