"""The commands that say where agreement is lost: items, classes, annotators, pairs of annotators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from spagree.cli.console import draw, print_json, say, working
from spagree.cli.options import own_weights, reading_options, text_option, to_python, words

F = TypeVar("F", bound=Callable[..., Any])

WIDE = 160
FOOTNOTE = "* rests on fewer than 10 items"


def _worst(what: str) -> Callable[[F], F]:
    help = f"How many {what}.  [default: 20]"
    return click.option("--worst", type=click.IntRange(min=1), default=20, metavar="K", help=help)


json_option = click.option("--json", "as_json", is_flag=True, help="Print the rows as JSON, in full precision.")
level_option = click.option(
    "--level", default=0.95, metavar="P", help="Confidence level of the intervals.  [default: 0.95]"
)
metric_option = click.option(
    "--metric", default="nominal", metavar="NAME", help="How labels agree, as for score.  [default: nominal]"
)
order_option = click.option("--order", metavar="A,B,C", help="Order of the labels from low to high.")


def _measured(options: dict[str, Any]) -> Any:
    from spagree.agreement import measure

    if "order" in options:
        options["order"] = words(options["order"])
    return measure(**to_python(options))


def _rows(frame: Any, worst: int) -> list[dict[str, Any]]:
    return list(frame.head(worst).rows(named=True))


@click.command(short_help="List the items annotators agree least on.")
@reading_options
@text_option
@_worst("items")
@json_option
@click.option("-o", "--output", metavar="FILE", help="Write the agreement of every item to a Parquet file instead.")
@click.option("--force", is_flag=True, help="Replace an existing file.")
def items(worst: int, as_json: bool, output: str | None, force: bool, **options: Any) -> None:
    """List the items of SOURCE that annotators agree least on, with their votes and, where named, their text."""
    from spagree.present.tables import plain_rows, table

    if output is not None:
        _write_items(output, force, options)
        return
    named = options["text"] is not None
    with working("counting annotations"):
        rows = list(_measured(options).hardest(worst).rows(named=True))
    if as_json:
        print_json(plain_rows(rows))
    else:
        _draw(table(rows, ("agreement", "annotations", "entropy", "item", "votes", *(["text"] if named else []))))


@click.command(short_help="List the classes annotators agree least on, and what they are taken for.")
@reading_options
@metric_option
@order_option
@level_option
@_worst("classes, and how many pairs of classes")
@json_option
def classes(worst: int, as_json: bool, **options: Any) -> None:
    """List the classes of SOURCE that annotators agree least on, and the classes taken for one another.

    Agreement is the probability that a second annotator chose the class too, given that a first one did.
    """
    from spagree.present.tables import plain_rows, table

    with working("counting annotations"):
        agreement = _measured(options)
        found, mixed = agreement.classes(), agreement.confusion()
    rows, together = _rows(found, worst), _rows(mixed, worst)
    if as_json:
        print_json({"classes": plain_rows(rows), "confusion": plain_rows(together)})
        return
    _draw(table(rows, ("agreement", "interval", "annotations", "share", "items", "class")))
    _footnote(rows)
    say("\nTaken for one another: probability that the second annotator says other, given class")
    _draw(table(together, ("probability", "pairs", "items", "class", "other")))


@click.command(short_help="List the annotators who agree least with the others.")
@reading_options
@click.option("--weights", default="annotations_m1", metavar="SCHEME", help="Weights of SPA, as for score.")
@metric_option
@order_option
@level_option
@_worst("annotators")
@json_option
def annotators(weights: str, worst: int, as_json: bool, **options: Any) -> None:
    """List the annotators of SOURCE who agree least with the others on the items they share.

    "SPA without" is what SPA would be without the annotator, and change what that makes of it.
    """
    from spagree.present.tables import plain_rows, table

    with working("counting annotations"):
        rows = _rows(_measured({**options, "weights": own_weights(weights)}).annotators(), worst)
    if as_json:
        print_json({"annotators": plain_rows(rows)})
        return
    columns = ("agreement", "interval", "shared", "annotations", "spa_without", "change", "annotator")
    _draw(table(rows, columns))
    _footnote(rows)


@click.command(short_help="List the pairs of annotators who agree least.")
@reading_options
@metric_option
@order_option
@level_option
@click.option("--least", type=int, default=1, metavar="M", help="Only pairs that share M items.  [default: 1]")
@_worst("pairs")
@json_option
def pairs(least: int, worst: int, as_json: bool, **options: Any) -> None:
    """List the pairs of annotators of SOURCE who agree least, with Cohen's kappa and Scott's pi."""
    from spagree.present.tables import plain_rows, table

    with working("counting annotations"):
        rows = _rows(_measured(options).pairs(least), worst)
    if as_json:
        print_json({"pairs": plain_rows(rows)})
        return
    columns = ("agreement", "interval", "cohen_kappa", "kappa interval", "scott_pi", "shared", "annotator", "other")
    _draw(table(rows, columns))
    _footnote(rows)


def _write_items(output: str, force: bool, options: dict[str, Any]) -> None:
    from spagree.write import refuse_existing

    refuse_existing(output, force=force)
    with working("counting annotations"):
        _measured(options).write_items(output, force=force)
    click.echo(f"wrote {output}", err=True)


def _draw(table: Any) -> None:
    draw(table, least=WIDE)


def _footnote(rows: list[dict[str, Any]]) -> None:
    if any(row["few"] for row in rows):
        say(FOOTNOTE)
