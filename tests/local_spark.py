"""One small Spark session for all tests of a process."""

from __future__ import annotations

from typing import Any

from spagree.read.spark import session


def local_spark() -> Any:
    """The session, started if none is running, with the settings in conftest.py."""
    spark = session("local[2]")
    spark.conf.set("spark.sql.shuffle.partitions", "2")  # spagree itself asks for more
    return spark
