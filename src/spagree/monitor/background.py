"""What runs beside the server until it stops: one thread for each source."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

PATIENCE = 5.0  # seconds to finish what it is doing


@contextmanager
def background(run: Callable[[threading.Event], None]) -> Iterator[threading.Thread]:
    """Run something in a thread, which has to end soon after the event is set."""
    stop = threading.Event()
    thread = threading.Thread(target=run, args=(stop,), name="background", daemon=True)
    thread.start()
    try:
        yield thread
    finally:
        stop.set()
        thread.join(PATIENCE)
