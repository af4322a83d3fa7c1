"""Readers and metrics that other packages add by entry points (docs/extending.md).

They are used only when named, with ``--format NAME`` or ``--metric NAME``, so installing a package changes no
number. They cannot replace spagree's own.
"""

from __future__ import annotations

from typing import Any

from spagree.errors import UsageError

READERS, METRICS = "spagree.readers", "spagree.metrics"


def installed(group: str) -> tuple[str, ...]:
    """The names that installed packages add to a group, in order."""
    from importlib.metadata import entry_points  # only when asked: it takes time to import

    return tuple(sorted(entry_points(group=group).names))


def load(group: str, name: str) -> Any:
    """What a package offers under a name."""
    from importlib.metadata import entry_points

    offers = list(entry_points(group=group, name=name))
    packages = sorted({f"{each.dist.name} {each.dist.version}" if each.dist else each.value for each in offers})
    if len(packages) > 1:
        raise UsageError(f"{name!r} is offered by {' and by '.join(packages)}; uninstall all but one")
    try:
        return offers[0].load()
    except Exception as error:
        what = f"{type(error).__name__}: {error}"
        raise UsageError(
            f"{packages[0]} offers {name!r}, which cannot be loaded ({what}); update the package"
        ) from error
