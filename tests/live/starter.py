"""Programs of the tools' environments, each with a home and a folder of its own."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from service import Service, found_program, sandbox

ROOT = Path(__file__).parents[2]
HOLDING_OFF_THE_NETWORK = {"http_proxy": "http://127.0.0.1:9", "https_proxy": "http://127.0.0.1:9",
                           "no_proxy": "127.0.0.1,localhost"}  # fmt: skip


class Starter:
    """Starts programs and remembers them."""

    def __init__(self, folders: pytest.TempPathFactory) -> None:
        self._folders = folders
        self._services: list[Service] = []

    def folder(self, name: str) -> Path:
        return self._folders.mktemp(name)

    def start(
        self, environment: str, program: str, *words: str, folder: Path, ready: str, port: int, seconds: float,
        **variables: str,
    ) -> Service:  # fmt: skip
        """Run `program words`, and wait until it answers the path `ready`."""
        path = found_program(ROOT / environment, program)
        if path is None:
            pytest.skip(f"{environment}/bin/{program} is not there; run `make test-live`, which installs it")
        outside = {**sandbox(os.environ, folder), **HOLDING_OFF_THE_NETWORK, **variables}
        service = Service([str(path), *words], folder, port, outside)
        self._services.append(service)
        service.wait(ready, seconds)
        return service

    def stop(self) -> None:
        for service in reversed(self._services):
            service.stop()
