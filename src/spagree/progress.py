"""What long-running work is doing and how far along it is; works with or without a listener.

Stages announce themselves with :func:`stage`, engines report query progress with :func:`watch`, and a command
that shows both runs its work inside :func:`watched`.

>>> with watched() as progress:
...     stage("counting labels")
...     watch(lambda: None)
...     watch(lambda: 0.25)
>>> progress.stage, progress.share(), is_watched()
('counting labels', 0.25, False)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

Share = Callable[[], float | None]


@dataclass
class Progress:
    """The current stage, and the engines that know the progress of their query."""

    stage: str = ""
    engines: list[Share] = field(default_factory=list)

    def share(self) -> float | None:
        """How much of the running query is done, from 0 to 1; None if unknown."""
        return min((share for engine in self.engines if (share := engine()) is not None), default=None)


_listening: ContextVar[Progress | None] = ContextVar("progress", default=None)


@contextmanager
def watched() -> Iterator[Progress]:
    """Collect the stages and engines announced inside."""
    progress = Progress()
    token = _listening.set(progress)
    try:
        yield progress
    finally:
        _listening.reset(token)


def stage(name: str) -> None:
    """Announce the stage that starts now."""
    if progress := _listening.get():
        progress.stage = name


def watch(share: Share) -> None:
    """Register a function that returns an engine's query progress; it is called from another thread."""
    if progress := _listening.get():
        progress.engines.append(share)


def is_watched() -> bool:
    """Whether anyone is showing progress."""
    return _listening.get() is not None
