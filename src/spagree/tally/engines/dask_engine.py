"""dask: narwhals does everything except writing, which produces a folder."""

from __future__ import annotations

import os

from spagree.tally.engines.engine import Engine, Frame
from spagree.write import refuse_existing


class Dask(Engine):
    """Frames of dask."""

    def holds(self, frame: Frame) -> bool:
        """Whether it is a frame of dask."""
        return frame.implementation.is_dask()

    def write_parquet(self, frame: Frame, path: str | os.PathLike[str], *, force: bool) -> None:
        """Write a folder of files, to any location that dask supports."""
        if not force:  # with force, dask itself replaces the folder
            refuse_existing(path, force=False)
        frame.to_native().to_parquet(str(path), write_index=False, overwrite=force)
