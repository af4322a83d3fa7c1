"""Real annotation tools on loopback, each from an environment of its own, installed the first time: 1.5 GB.

    python -m pytest tests/live/live_*.py

The files are named live_*.py: a plain `pytest` does not collect them.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from starter import Starter


@pytest.fixture(scope="session")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Starter]:
    """Start programs; all are stopped at the end, whatever happens."""
    starter = Starter(tmp_path_factory)
    try:
        yield starter
    finally:
        starter.stop()
