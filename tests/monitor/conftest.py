"""What tests of the monitor share lies beside them."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(autouse=True)
def log(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a command of an earlier test has set, records can be caught."""
    ours = logging.getLogger("spagree.monitor")
    monkeypatch.setattr(ours, "handlers", [])
    monkeypatch.setattr(ours, "propagate", True)


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[object]:
    """A hub with a store of its own."""
    from spagree.monitor.hub import Hub
    from spagree.monitor.store import Store

    found = Hub(Store(str(tmp_path / "s.sqlite")))
    yield found
    found.close()


@pytest.fixture(params=["sqlite", "postgresql"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A store that does not exist yet, in a file and in a database."""
    if request.param == "sqlite":
        return str(tmp_path / "store.sqlite")
    name = f"monitor_{abs(hash(str(tmp_path))) % 10**9}"
    return str(request.getfixturevalue("postgres").another(name).address)
