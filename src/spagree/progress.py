"""What long work is doing and how far it has come, for whoever wants to show it; nobody need listen.

Stages say what they do with :func:`stage`, engines offer how far a query is with :func:`watch`, and a command that
shows both runs its work inside :func:`watched`.
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
    """Collect what is said inside.

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
    """Say what begins now."""
    progress = _listening.get()
    if progress is not None:
        progress.stage = name


def watch(share: Share) -> None:
    """Offer a way to ask how far the query of an engine is; it is asked from another thread."""
    progress = _listening.get()
    if progress is not None:
        progress.engines.append(share)
