"""`spagree monitor`: the live page."""

from __future__ import annotations

from typing import Any

import click

from spagree.errors import MissingExtraError


@click.command(context_settings={"show_default": True}, short_help="Watch agreement live while people annotate.")
@click.option(
    "--host", default="127.0.0.1", metavar="ADDRESS", help="Where to listen; any address but loopback needs a token."
)
@click.option("--port", default=8765, metavar="N", help="The port; 0 picks a free one.")
@click.option(
    "--store",
    default="spagree-monitor.sqlite",
    metavar="FILE|postgresql://…",
    help="Where annotations are stored: an SQLite file or a PostgreSQL database.",
)
@click.option("--token-file", metavar="FILE", help="A file with the token that every request must carry.")
@click.option("--target", type=float, metavar="X", help="Alert when agreement is below X.")
@click.option(
    "--first", default=2, type=click.IntRange(2, 20), metavar="K", help="Annotations an item needs to be closed."
)
@click.option("--follow", multiple=True, metavar="PATH", help="A file, folder or database that grows; may be repeated.")
@click.option("--project", metavar="NAME", help="The project that --follow belongs to.")
@click.option(
    "--label-studio",
    multiple=True,
    metavar="URL",
    help="Compare with Label Studio's API: its address, or a project's; may be repeated.",
)
@click.option("--label-studio-token-file", metavar="FILE", help="The token for Label Studio's API.")
@click.option("--potato-secret-file", metavar="FILE", help="The secret with which potato signs its webhooks.")
@click.option("--alert-url", metavar="URL", help="Send alerts to this address.")
@click.option("--alert-secret-file", metavar="FILE", help="Sign them with the secret in this file (Standard Webhooks).")
@click.option("--demo", is_flag=True, help="Replay a simulated project in a separate store.")
def monitor(**options: Any) -> None:
    """Watch agreement while people annotate: a page with the number, its interval, alerts and where to look.

    \b
    spagree monitor --demo                see it work within a minute
    spagree monitor --target 0.7          take annotations over HTTP, alert below
    spagree monitor --follow labels.csv   follow a file that grows, or any export

    Annotations come from POST /api/v1/annotations, webhooks of Label Studio and potato, and --follow.
    """
    import tempfile
    from pathlib import Path

    try:
        from spagree.monitor.run import ServeOptions, serve
    except ImportError as error:
        if not str(error.name).startswith("spagree"):
            raise MissingExtraError("monitor", "the live monitor") from None
        raise
    with tempfile.TemporaryDirectory(prefix="spagree-demo-") as folder:
        if options["demo"]:
            options["store"] = str(Path(folder) / "demo.sqlite")
            options["target"] = options["target"] or 0.7
        serve(ServeOptions(**options), lambda address: click.echo(f"live page: {address}", err=True))
