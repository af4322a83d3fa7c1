"""What long work is doing and how far along it is, for anyone who wants to show it; it works without a listener.

Stages announce themselves with :func:`stage`, engines report how far a query is with :func:`watch`, and a command
that shows both runs its work inside :func:`watched`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

Share = Callable[[], float | None]


@dataclass
class Progress:
    """The stage that is running, and the engines that know how far their query is."""

    stage: str = ""
    engines: list[Share] = field(default_factory=list)

    def share(self) -> float | None:
        """How much of the running query is done, from 0 to 1; None where nobody knows.

        >>> Progress(engines=[lambda: None, lambda: 0.25]).share()
        0.25
        """
        found = [share for engine in self.engines if (share := engine()) is not None]
        return min(found) if found else None


_listening: ContextVar[Progress | None] = ContextVar("progress", default=None)


@contextmanager
def watched() -> Iterator[Progress]:
    """Collect the stages and engines announced inside.

    >>> with watched() as progress:
    ...     stage("counting labels")
    >>> progress.stage
    'counting labels'
    """
    progress = Progress()
    token = _listening.set(progress)
    try:
        yield progress
    finally:
        _listening.reset(token)


def stage(name: str) -> None:
    """Announce the stage that begins now."""
    progress = _listening.get()
    if progress is not None:
        progress.stage = name


def watch(share: Share) -> None:
    """Register a function that tells how far the query of an engine is; it is called from another thread."""
    progress = _listening.get()
    if progress is not None:
        progress.engines.append(share)


def is_watched() -> bool:
    """Whether anyone shows how far the work is.

    >>> is_watched()
    False
    """
    return _listening.get() is not None
