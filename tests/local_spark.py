"""One small Spark session for all tests of a process."""

from __future__ import annotations

from typing import Any

from spagree.read.spark.session import session

# A query over a dozen rows is over before compiling it would pay; two partitions, so that rows still move between them.
SMALL = {
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
}


def local_spark() -> Any:
    """The session, started where none is running."""
    spark = session("local[2]")
    for name, value in SMALL.items():
        spark.conf.set(name, value)
    return spark
