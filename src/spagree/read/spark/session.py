"""Parquet and ORC files read by Spark, on a cluster or on this machine; only a few rows to show are fetched."""

from __future__ import annotations

import atexit
import logging
import os
import re
import signal
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from spagree import progress
from spagree.errors import DataError, FileError, MissingExtraError, UsageError
from spagree.read.frames import frame_table
from spagree.read.spark import java, listing
from spagree.read.spark.listing import Listing
from spagree.read.tables import Table, listed

SHOWN_ROWS = 3
CONNECT = "sc://"  # a Spark Connect server
PACKAGES = {
    "s3a": "org.apache.hadoop:hadoop-aws",
    "abfs": "org.apache.hadoop:hadoop-azure",
    "abfss": "org.apache.hadoop:hadoop-azure",
    "gs": "com.google.cloud.bigdataoss:gcs-connector",
}
QUIET = Path(__file__).with_name("spark-log4j2.properties")
JAVA_CLASSES = re.compile(r"^(?:(?:[\w$]+\.)+[\w$]*(?:Exception|Error|Failure): )+")
FAILED_TASK = re.compile(r"^Job aborted due to stage failure: .*?\(TID \d+\)[^:]*: ")
SQLSTATE = re.compile(r" SQLSTATE: \w{5};?")


def spark_table(paths: Sequence[Any], master: str | None) -> Table:
    """The files as one table on Spark; paths may be anywhere the cluster can read."""
    names = [listing.named(path) for path in paths]
    spark = session(master)
    files = listing.list_files(names, is_local=_reads_here(spark))
    with _explained(files.name):
        frame = _scan(spark, files)
        sample = tuple(tuple(row) for row in frame.limit(SHOWN_ROWS).collect())
    if not sample:
        raise DataError(f"{files.name}: has columns but no rows; check that the export finished")
    return replace(frame_table(frame, files.name), sample=sample)


def _reads_here(spark: Any) -> bool:
    """Whether a path without a scheme means this machine: not on a Connect server, nor if HDFS is the default."""
    context = getattr(spark, "_jsc", None)
    return context is not None and str(context.hadoopConfiguration().get("fs.defaultFS")).startswith("file:")


def _scan(spark: Any, listing: Listing) -> Any:
    reader = spark.read.format(listing.kind)
    if listing.root is not None:
        reader = reader.option("basePath", listing.root)
    frame = reader.load(list(listing.paths))
    if not listing.is_compared:  # on other storage: columns that only some files have would silently be missing
        merged = reader.option("mergeSchema", "true").load(list(listing.paths))
        added = [column for column in merged.columns if column not in frame.columns]
        if added:
            raise DataError(
                f"{listing.name}: only some of the files have the columns {listed(added)}; "
                "files that are read together need the same columns"
            )
    return frame


@contextmanager
def _explained(name: str) -> Iterator[None]:
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JError) as error:
        if is_interruption(error):
            raise KeyboardInterrupt from error
        why = reason(error)
        package = PACKAGES.get(name.partition("://")[0])
        remedy = "check the path and the format"
        if package and ("ClassNotFound" in str(error) or "No FileSystem for scheme" in str(error)):
            remedy = (
                f"Spark lacks the package for this storage: start it with {package}, of the version of its Hadoop "
                f"(spark-submit --packages {package}:VERSION, or spark.jars.packages in spark-defaults.conf)"
            )
        raise FileError(f"{name}: Spark cannot read it ({why}); {remedy}") from error


def session(master: str | None = None) -> Any:
    """The running Spark session, or a new one on ``master`` (by default on this machine)."""
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise MissingExtraError("spark", "--engine spark") from None
    running = SparkSession.getActiveSession()
    if running is None:
        running = _started(SparkSession.builder.appName("spagree"), master)
    if master is not None and (other := _master(running, master)) != master:  # the work would run in the wrong place
        raise UsageError(
            f"--spark-master {master}: a Spark session on {other} is running; leave it out to use that session, or "
            "stop it first (under spark-submit: --master)"
        )
    progress.watch(lambda: _share(running))
    return running


def _master(spark: Any, wanted: str) -> str:
    if hasattr(spark, "_jsc"):
        return str(spark.sparkContext.master)
    host = str(spark.client.host)  # a Connect server is known by its host alone
    return wanted if wanted.removeprefix(CONNECT).partition(":")[0].partition("/")[0] == host else CONNECT + host


def _started(builder: Any, master: str | None) -> Any:
    from py4j.protocol import Py4JError
    from pyspark import SparkContext
    from pyspark.errors import PySparkException

    _quieten()
    try:
        if master and master.startswith(CONNECT):
            return builder.remote(master).getOrCreate()
        if "PYSPARK_GATEWAY_PORT" in os.environ or SparkContext._active_spark_context is not None:
            return builder.getOrCreate()  # spark-submit, or another thread, has started Java and knows the master
        return _started_here(builder, master or "local[*]")
    except (PySparkException, Py4JError, OSError) as error:
        where = f"--spark-master {master}" if master else "Spark"
        raise FileError(f"{where}: cannot be started ({reason(error)}); check the address") from error


def _started_here(builder: Any, master: str) -> Any:
    """A session with its own Java process, which ends with this process, or when its start is interrupted."""
    from pyspark import SparkContext

    before = signal.getsignal(signal.SIGINT)
    configured = _configured(builder, master)
    _start_java(configured._options)
    process = SparkContext._gateway.proc  # type: ignore[union-attr]
    # Java stops the session when its client disconnects; a cluster would otherwise report it as failed.
    atexit.register(java.leave, process)
    try:
        return configured.getOrCreate()
    except BaseException as error:
        if not is_interruption(error):
            raise
        java.end(process)
        SparkContext._gateway = SparkContext._jvm = None
        raise KeyboardInterrupt from error
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, before)  # PySpark's own handler calls Java in the middle of an answer


def _start_java(options: Mapping[str, str]) -> None:
    """Start Java in a thread, which Ctrl-C does not reach, so that a half-started process can still be stopped."""
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway

    if SparkContext._gateway is not None:
        return
    with java.java_runtime(), ThreadPoolExecutor(1) as beside:
        started = beside.submit(launch_gateway, SparkConf().setAll(list(options.items())))
        try:
            SparkContext._ensure_initialized(gateway=started.result())
        except (KeyboardInterrupt, SystemExit):
            java.end(started.result().proc)
            raise


def _quieten() -> None:
    """Errors are raised and explained once; the loggers of PySpark and Py4J would print them first, at length."""
    logging.getLogger("py4j").setLevel(logging.CRITICAL + 1)
    logging.getLogger().addFilter(lambda record: Path(record.pathname).parent.name != "py4j")
    with suppress(ImportError):  # before Spark 4 there is no logger
        from pyspark.logger import PySparkLogger

        for name in ("DataFrameQueryContextLogger", "SQLQueryContextLogger"):
            PySparkLogger.getLogger(name).disabled = True


def _configured(builder: Any, master: str) -> Any:
    """On this machine a session is quiet, listens only to itself and may use half of the memory."""
    builder = builder.master(master)
    if not master.startswith("local"):
        return builder
    scratch = java.scratch("spagree-spark-")  # under TMPDIR, which Java ignores
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": f"{memory // 2 // 2**20}m",
        "spark.sql.shuffle.partitions": str(4 * (os.cpu_count() or 1)),  # the default of 200 is for a cluster
        "spark.local.dir": str(scratch),
        "spark.driver.extraJavaOptions": f'"-Djava.io.tmpdir={scratch}" -Dlog4j2.configurationFile={QUIET.as_uri()}',
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder


def _share(spark: Any) -> float | None:
    """The share of finished tasks in the running stages; a Connect server does not report it."""
    context = getattr(spark, "_sc", None)
    if context is None:
        return None
    with suppress(Exception):  # called from another thread, perhaps after Spark has stopped
        tracker = context.statusTracker()
        stages = [stage for id in tracker.getActiveStageIds() if (stage := tracker.getStageInfo(id)) is not None]
        tasks = sum(stage.numTasks for stage in stages)
        return sum(stage.numCompletedTasks for stage in stages) / tasks if tasks else None
    return None


def is_interruption(error: BaseException) -> bool:
    """Whether the user pressed Ctrl-C: Py4J may fail while it cleans up after that, and reports only its failure.

    >>> is_interruption(ValueError())
    False
    """
    hidden: BaseException | None = error
    while hidden is not None and not isinstance(hidden, KeyboardInterrupt):
        hidden = hidden.__context__
    return hidden is not None


def reason(error: BaseException) -> str:
    r"""What went wrong, in one line: Java's message without class names and stack frames.

    >>> reason(ValueError("An error occurred while calling o1.load.\n: java.io.IOException: no space left"))
    'no space left'
    >>> reason(ValueError())
    'ValueError'
    """
    try:
        text = str(error)
    except Exception:  # a Java error cannot be read once Java has exited
        text = ""
    lines = [line.strip() for line in text.splitlines() if line.strip()] or [type(error).__name__]
    line = lines[1].lstrip(": ") if lines[0].startswith("An error occurred while calling") and lines[1:] else lines[0]
    plain = SQLSTATE.sub("", JAVA_CLASSES.sub("", FAILED_TASK.sub("", JAVA_CLASSES.sub("", line))))
    return plain.strip().removesuffix(".") or line
