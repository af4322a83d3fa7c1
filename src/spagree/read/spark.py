"""Parquet and ORC files read by Spark, on a cluster or on this machine; only a few rows to show come home."""

from __future__ import annotations

import atexit
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from spagree import progress
from spagree.errors import DataError, FileError, MissingExtraError, UsageError
from spagree.read.frames import frame_table
from spagree.read.java import java_runtime
from spagree.read.tables import Table

SHOWN_ROWS = 3
READERS = {".parquet": "parquet", ".pq": "parquet", ".orc": "orc", "": "parquet"}  # a folder: what Spark itself writes
CONNECT = "sc://"  # a Spark Connect server
QUIET = Path(__file__).with_name("spark-log4j2.properties")


def spark_table(paths: Sequence[Any], master: str | None) -> Table:
    """The files as one table on Spark; paths are Spark's, so that they may lie wherever the cluster can read."""
    names = [str(os.fspath(path)) for path in paths]
    kind = _kind(names)
    name = names[0] if len(names) == 1 else f"{names[0]} and others, {len(names)} in all"
    frame = _scan(session(master), kind, names, name)
    sample = tuple(tuple(row) for row in frame.limit(SHOWN_ROWS).collect())
    if not sample:
        raise DataError(f"{name}: columns and no rows; check that the export finished")
    return replace(frame_table(frame, name), sample=sample)


def _kind(names: Sequence[str]) -> str:
    """How Spark is to read them, from the extension of all of them."""
    kinds = {READERS.get(Path(name.rstrip("/*")).suffix.lower()) for name in names}
    if len(kinds) > 1 or None in kinds:
        raise UsageError(
            f"--engine spark reads Parquet or ORC files, and {names[0]} is neither; leave --engine out, "
            "convert it, or hand a Spark DataFrame to spagree.measure()"
        )
    return str(kinds.pop())


def _scan(spark: Any, kind: str, names: Sequence[str], name: str) -> Any:
    from pyspark.errors import PySparkException

    try:
        return spark.read.format(kind).load(list(names))
    except PySparkException as error:
        raise FileError(f"{name}: Spark cannot read it ({_reason(error)}); check the path and the format") from error


def session(master: str | None = None) -> Any:
    """The Spark session that is running, or a new one on ``master`` (this machine where none is named)."""
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise MissingExtraError("spark", "--engine spark") from None
    running = SparkSession.getActiveSession() or _started(SparkSession.builder.appName("spagree"), master)
    progress.watch(lambda: _share(running))
    return running


def _started(builder: Any, master: str | None) -> Any:
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        if master and master.startswith(CONNECT):
            return builder.remote(master).getOrCreate()
        if "PYSPARK_GATEWAY_PORT" in os.environ:  # spark-submit has started Java, and knows the master
            return builder.getOrCreate()
        with java_runtime():
            started = _configured(builder, master or "local[*]").getOrCreate()
        atexit.register(started.stop)  # a cluster would otherwise believe that its application died
        return started
    except (PySparkException, Py4JError, OSError) as error:
        where = f"--spark-master {master}" if master else "Spark"
        raise FileError(f"{where}: cannot be started ({_reason(error)}); check the address") from error


def _configured(builder: Any, master: str) -> Any:
    """On this machine a session is quiet, listens to nobody but itself and may use half of the memory."""
    builder = builder.master(master)
    if not master.startswith("local"):
        return builder
    for name, value in _local_settings().items():
        builder = builder.config(name, value)
    return builder


def _local_settings() -> Mapping[str, str]:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": f"{memory // 2 // 2**20}m",
        "spark.sql.shuffle.partitions": str(4 * (os.cpu_count() or 1)),  # the default of 200 is for a cluster
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={QUIET}",
    }


def _share(spark: Any) -> float | None:
    """The tasks that are done, of the stages that are running; a Connect server does not say."""
    context = getattr(spark, "_sc", None)
    if context is None:
        return None
    tracker = context.statusTracker()
    stages = [stage for id in tracker.getActiveStageIds() if (stage := tracker.getStageInfo(id)) is not None]
    tasks = sum(stage.numTasks for stage in stages)
    return sum(stage.numCompletedTasks for stage in stages) / tasks if tasks else None


def _reason(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[1].lstrip(": ") if lines[0].startswith("An error occurred while calling") and lines[1:] else lines[0]
