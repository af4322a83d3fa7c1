"""What tests of the monitor share lies beside them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[object]:
    """A hub with a store of its own."""
    from spagree.monitor.hub import Hub
    from spagree.monitor.store import Store

    found = Hub(Store(str(tmp_path / "s.sqlite")))
    yield found
    found.close()
