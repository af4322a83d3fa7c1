"""Programs of the tools' environments, each with a home and a folder of its own."""

from __future__ import annotations

import os
import subprocess
import venv
from pathlib import Path

import pytest
from service import Service, sandbox

ROOT = Path(__file__).parents[2]
HOLDING_OFF_THE_NETWORK = {"http_proxy": "http://127.0.0.1:9", "https_proxy": "http://127.0.0.1:9",
                           "no_proxy": "127.0.0.1,localhost"}  # fmt: skip


PACKAGES = {"potato": "potato-annotation", "label-studio": "label-studio"}


def installed(environment: Path, program: str) -> Path:
    """The program in its environment, which is made the first time."""
    path = environment / "bin" / program
    if not path.exists():
        venv.create(environment, with_pip=True)
        command = [environment / "bin" / "python", "-m", "pip", "install", "--quiet", PACKAGES[program]]
        subprocess.run(command, check=True)
    return path


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
        path = installed(ROOT / environment, program)
        outside = {**sandbox(os.environ, folder), **HOLDING_OFF_THE_NETWORK, **variables}
        service = Service([str(path), *words], folder, port, outside)
        self._services.append(service)
        service.wait(ready, seconds)
        return service

    def stop(self) -> None:
        for service in reversed(self._services):
            service.stop()
