"""Spark, on this machine or on a cluster: only results leave it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from spagree.read.frames import is_spark
from spagree.tally.engines.engine import Engine, Frame
from spagree.write import exists_already


class Spark(Engine):
    """Frames of Spark and Spark Connect."""

    libraries = ("pyspark", "py4j")

    def holds(self, frame: Frame) -> bool:
        """Whether it is a frame of Spark or Spark Connect."""
        return is_spark(frame)

    def rows(self, frame: Frame) -> list[tuple[Any, ...]]:
        """Collected to the driver."""
        return [tuple(row) for row in frame.to_native().collect()]

    def repeat_candidates(self, frame: Frame, keys: Sequence[str], rows: int) -> Frame | None:  # noqa: ARG002
        """Hashes are grouped: 8 bytes a row to send."""
        from pyspark.sql import functions as sql

        counted = frame.to_native().select(sql.count("*"), sql.count_distinct(sql.xxhash64(*keys)))
        total, distinct = counted.collect()[0]
        return None if total == distinct else frame

    def write_parquet(self, frame: Frame, path: str | os.PathLike[str], *, force: bool) -> None:
        """Write a folder of files, to any location that Spark supports."""
        from pyspark.errors import AnalysisException

        try:
            frame.to_native().write.parquet(str(path), mode="overwrite" if force else "errorifexists")
        except AnalysisException as error:
            if error.getCondition() == "PATH_ALREADY_EXISTS":
                raise exists_already(path) from error
            raise
