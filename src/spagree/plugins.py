"""Readers and metrics that other packages add by entry points (docs/extending.md).

They are used only when named, with ``--format NAME`` or ``--metric NAME``, so installing a package changes no
number. They cannot replace spagree's own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from spagree.errors import UsageError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

READERS, METRICS = "spagree.readers", "spagree.metrics"


def installed(group: str) -> tuple[str, ...]:
    """The names that installed packages add to a group, in order.

    >>> installed("spagree.no-such-group")
    ()
    """
    return tuple(sorted({point.name for point in _points(group)}))


def load(group: str, name: str) -> Any:
    """What a package offers under a name."""
    offers = [point for point in _points(group) if point.name == name]
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


def _points(group: str) -> list[EntryPoint]:
    from importlib.metadata import entry_points

    return list(entry_points(group=group))
