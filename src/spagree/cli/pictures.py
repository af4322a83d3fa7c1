"""The picture that a command draws into a file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from spagree.cli.console import note
from spagree.errors import UsageError


class Picture:
    """Where a chart goes; a bad name, a missing extra or an existing file is refused before anything is counted."""

    def __init__(self, path: str | None, force: bool) -> None:
        self.path, self.force = None if path is None else Path(path), force
        if self.path is None:
            return
        from spagree.present.charts import FORMATS, load_altair
        from spagree.write import refuse_existing

        load_altair()
        if self.path.suffix.removeprefix(".") not in FORMATS:
            raise UsageError(f"--chart {path}: end the name with one of .{', .'.join(FORMATS)}")
        refuse_existing(self.path, force=force)

    def write(self, draw: Callable[[], Any]) -> None:
        """Draw it, where a file was named."""
        if self.path is None:
            return
        from spagree.present.charts import save

        save(draw(), self.path.with_suffix(""), [self.path.suffix.removeprefix(".")])
        note(f"wrote {self.path}")
