"""Files that are not what they seem: wrong data must be refused or read rightly, never crash or hang."""

from __future__ import annotations

import gzip
import io
import os
import signal
import socket
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import polars as pl
import pytest
import xlsxwriter
import zstandard

import spagree
from examples import combinations
from spagree.read import layouts
from spagree.read.files import paths
from spagree.read.files.duckdb import connect, spill_folder

ROWS = [("item", "annotator", "label"), ("q", "a", "x"), ("q", "b", "x"), ("r", "a", "y"), ("r", "b", "z")]
CSV = "".join(",".join(row) + "\n" for row in ROWS)  # agreement 0.5
TABLE = pl.DataFrame(ROWS[1:], schema=ROWS[0], orient="row")
NO_ANNOTATOR = "item,label\nq,x\nq,x\nr,y\nr,z\n"


def rather(path: Path) -> None:
    """Another table under the name an engine might take instead: agreement 1."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("item,annotator,label\nq,a,x\nq,b,x\n")


# Spilling ------------------------------------------------------------------------------------


def test_two_connections_that_spill_keep_their_rows_apart() -> None:
    connections = [connect(), connect()]
    before = connections[0].execute("SELECT current_setting('memory_limit')").fetchall()[0][0]
    connections[0].execute("SET memory_limit = '60MB'; SET threads = 2")
    try:
        for number, connection in enumerate(connections):
            text = f"i::VARCHAR || '-abcdefghijklmnop-{number}'"
            connection.execute(f"CREATE TEMP TABLE cells AS SELECT {text} AS x FROM range(1500000) t(i)")
        assert any(spill_folder().iterdir())
        for number, connection in enumerate(connections):
            own = connection.execute(f"SELECT count(*) FROM cells WHERE x LIKE '%-{number}'").fetchall()
            assert own == [(1_500_000,)]
    finally:
        # other tests share the database; RESET would report the old limit and keep the new one
        connections[0].execute(f"SET memory_limit = '{before}'; RESET threads")
        for connection in connections:
            connection.close()


def test_the_folder_for_spilled_rows_is_private() -> None:
    assert spill_folder().parent.stat().st_mode & 0o777 == 0o700
    assert str(os.getpid()) != spill_folder().parent.name.rpartition("-")[2]


FORKED = """
import multiprocessing, sys
import spagree
from spagree.read.files.duckdb import connect
from spagree.read.files.duckdb import spill_folder

def in_a_fork(path):
    return spill_folder(), spagree.measure(path, engine="duckdb").spa.value

kept = connect()
kept.execute("CREATE TEMP TABLE cells AS SELECT 1 AS x")
with multiprocessing.get_context("fork").Pool(1) as pool:
    folder, agreement = pool.apply(in_a_fork, sys.argv[1:])
print(folder != spill_folder(), agreement, kept.execute("SELECT x FROM cells").fetchall())
"""


def test_a_fork_has_a_database_and_a_folder_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "labels.csv").write_text(CSV)
    command = [sys.executable, "-c", FORKED, str(tmp_path / "labels.csv")]  # forks before any library starts threads
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "True 0.5 [(1,)]\n"


def ended_by(running: subprocess.Popen[bytes], end: signal.Signals) -> None:
    """A signal that comes just before Python enters a blocking read takes effect with the next one."""
    while running.poll() is None:
        running.send_signal(end)
        with suppress(subprocess.TimeoutExpired):
            running.wait(timeout=1)


@pytest.mark.parametrize("end", [None, signal.SIGTERM, signal.SIGHUP])
def test_temporary_files_are_removed_however_the_command_ends(end: signal.Signals | None, tmp_path: Path) -> None:
    fifo, scratch = tmp_path / "labels", tmp_path / "scratch"
    os.mkfifo(fifo)
    scratch.mkdir()
    # Under nohup the tests ignore SIGHUP, and so would a command that they start.
    start = "import runpy, signal; signal.signal(signal.SIGHUP, signal.SIG_DFL); runpy.run_module('spagree', None, '__main__')"
    running = subprocess.Popen(
        [sys.executable, "-c", start, "score", str(fifo)],
        env={**os.environ, "TMPDIR": str(scratch)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with fifo.open("w") as stream:  # opens when the command does: its scratch folder is there
        if end is None:
            stream.write(CSV)
        else:
            ended_by(running, end)
    _, error = running.communicate()
    assert running.returncode == {None: 0, signal.SIGTERM: 143, signal.SIGHUP: 129}[end], error
    assert list(scratch.iterdir()) == []


# Rows ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("filler", "length", "ending"),
    combinations(["#x", "  ", "\t "], [65_535, 65_536, 65_537, 3_000_000], ["\n", "\r\n", "\r"]),
)
def test_long_comments_and_blank_lines_cost_no_row(filler: str, length: int, ending: str, tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    long = filler[0] + filler[1] * (length - 1)
    path.write_text(ending.join([long, *CSV.split("\n")]), newline="")
    assert spagree.measure(path).spa.value == 0.5


# One file twice ------------------------------------------------------------------------------


def test_a_file_named_twice_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "n.csv"
    path.write_text(NO_ANNOTATOR)
    (tmp_path / "hard.csv").hardlink_to(path)
    (tmp_path / "soft.csv").symlink_to(path)
    for other in ("n.csv", "hard.csv", "soft.csv"):
        with pytest.raises(spagree.UsageError, match="are the same file, which would count twice"):
            spagree.measure([path, tmp_path / other])


def test_a_pattern_that_goes_through_a_link_to_its_own_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "n.csv").write_text(NO_ANNOTATOR)
    (tmp_path / "self").symlink_to(tmp_path)
    with pytest.raises(spagree.UsageError, match="are the same file"):
        spagree.measure(str(tmp_path / "**" / "*.csv"))


def test_a_file_linked_twice_in_the_folder_of_a_tool_is_refused(tmp_path: Path) -> None:
    for name in ("ann", "bob"):
        (tmp_path / f"{name}.csv").write_text("item,label\nq,x\n")
    (tmp_path / "cyd.csv").hardlink_to(tmp_path / "bob.csv")
    with pytest.raises(spagree.UsageError, match="are the same file"):
        spagree.measure(tmp_path, format="per-annotator")


# Names ---------------------------------------------------------------------------------------


def parquet(path: Path) -> None:
    with path.open("wb") as stream:
        TABLE.write_parquet(stream)


def arrow(path: Path) -> None:
    with path.open("wb") as stream:
        TABLE.write_ipc(stream)


def excel(path: Path) -> None:
    content = io.BytesIO()
    with xlsxwriter.Workbook(content) as book:
        sheet = book.add_worksheet()
        for number, row in enumerate(ROWS):
            sheet.write_row(number, 0, row)
    path.write_bytes(content.getvalue())


def text(path: Path) -> None:
    path.write_text(CSV)


def lines(path: Path) -> None:
    with path.open("wb") as stream:
        TABLE.write_ndjson(stream)


WRITERS: dict[str, Callable[[Path], None]] = {
    ".csv": text, ".jsonl": lines, ".parquet": parquet, ".arrow": arrow, ".xlsx": excel}  # fmt: skip
NAMES = [
    "~/l",
    "~root/l",
    "file:/l",
    "s3:/l",
    "a[1]",
    "a*",
    "a?",
    "[!a]",
    "it's",
    "{a,b}",
    "a\nb",
    "day=1/l",
    "%41",
    "-",
]


@pytest.mark.parametrize(("name", "ending"), combinations(NAMES, list(WRITERS)))
def test_the_file_of_that_name_is_read_and_no_other(
    name: str, ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    monkeypatch.setenv("HOME", str(home))
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    for other in (home / "l", folder / "a1", folder / "ab", folder / "b", folder / "A", folder / "l"):
        rather(other.with_name(other.name + ending))
    path = Path(name + ending)
    path.parent.mkdir(parents=True, exist_ok=True)
    WRITERS[ending](path)
    assert spagree.measure(str(path)).spa.value == 0.5
    if ending in (".parquet", ".arrow"):
        assert spagree.measure(str(path), engine="polars").spa.value == 0.5


@pytest.mark.parametrize("ending", WRITERS)
def test_names_that_are_not_utf8_are_read(ending: str, tmp_path: Path) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9")).with_suffix(ending)
    WRITERS[ending](path)
    found = spagree.measure(path)
    assert found.spa.value == 0.5
    assert found.understood is not None and "caf\\xe9" in found.understood.source
    assert spagree.measure(str(path)).to_json().encode()


def test_a_name_that_is_too_long_is_a_file_error(tmp_path: Path) -> None:
    for name in ("x" * 5000 + ".csv", "x" * 5000 + ".json", "[x]" * 2000):
        with pytest.raises(spagree.FileError):
            spagree.measure(str(tmp_path / name))


@pytest.mark.parametrize("folder", ["it's", "a[1]*?", "{x}"])
def test_the_temporary_folder_may_have_any_name(folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scratch = tmp_path / folder
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    text(tmp_path / "l.csv")
    (tmp_path / "l.csv.gz").write_bytes(gzip.compress(CSV.encode()))
    found = spagree.measure(tmp_path / "l.csv.gz")
    assert found.spa.value == 0.5
    assert found.items().height == 2


# Pipes and permissions -----------------------------------------------------------------------


def test_a_pipe_in_a_folder_does_not_make_it_wait(tmp_path: Path) -> None:
    text(tmp_path / "l.csv")
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(spagree.FileError, match=r"pipe\.csv: is a pipe or a device"):
        spagree.measure(str(tmp_path / "*.csv"))
    os.mkfifo(tmp_path / "user_state.json")
    with pytest.raises(spagree.FileError, match="is a folder"):
        spagree.measure(tmp_path)


def test_a_socket_is_a_file_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("l.csv")
        with pytest.raises(spagree.FileError, match=r"l\.csv"):
            spagree.measure("l.csv")


@pytest.fixture
def stranger() -> Iterator[None]:
    """Somebody without special rights: root may read everything."""
    if os.geteuid():
        yield
        return
    os.seteuid(65534)
    yield
    os.seteuid(0)


@pytest.mark.usefixtures("stranger")
@pytest.mark.parametrize("ending", [*WRITERS, ".json", ".csv.gz", ".zip"])
def test_a_file_nobody_may_read_is_a_file_error(ending: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"l{ending}"
        path.write_bytes(b"x")
        path.chmod(0)
        with pytest.raises(spagree.FileError, match="no permission to read it"):
            spagree.measure(path)


@pytest.mark.usefixtures("stranger")
def test_a_folder_nobody_may_look_into_is_no_empty_folder() -> None:
    with tempfile.TemporaryDirectory() as folder:
        for name in ("ann.csv", "bob.csv"):
            (Path(folder) / name).write_text("item,label\nq,x\n")
        closed = Path(folder) / "closed"
        closed.mkdir(mode=0)
        with pytest.raises(spagree.FileError, match=r"closed: cannot be opened \(Permission denied\)"):
            spagree.measure(folder, format="per-annotator")
        closed.chmod(0o700)


# Compression ---------------------------------------------------------------------------------


def test_layers_of_compression_have_an_end(tmp_path: Path) -> None:
    packed = CSV.encode()
    for _ in range(3):
        packed = gzip.compress(packed)
    path = tmp_path / "l.csv.gz"
    path.write_bytes(packed)
    assert spagree.measure(path).spa.value == 0.5
    for _ in range(1200):
        packed = gzip.compress(packed, 0)
    path.write_bytes(packed)
    with pytest.raises(spagree.FileError, match="compressed more than 8 times over"):
        spagree.measure(path)


def zipped(content: bytes) -> bytes:
    with tempfile.TemporaryFile() as stream:
        with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("l.csv", content)
        stream.seek(0)
        return stream.read()


@pytest.mark.parametrize(
    ("ending", "pack"), [(".csv.gz", gzip.compress), (".csv.zst", zstandard.compress), (".zip", zipped)]
)
def test_a_bomb_stops_at_a_stated_size_unless_allowed(
    ending: str, pack: Callable[[bytes], bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paths, "USUAL_SIZE", 1 << 16)
    path = tmp_path / f"l{ending}"
    path.write_bytes(pack(CSV.encode() + b"q,a,x\n" * 20_000))
    kind = "per-annotator" if ending == ".zip" else "auto"
    with pytest.raises(
        spagree.FileError, match=r"unpacks to more than .* allow more bytes with .* SPAGREE_MAX_UNPACKED"
    ):
        spagree.measure(path, format=kind)
    monkeypatch.setenv("SPAGREE_MAX_UNPACKED", "10000000")
    if ending != ".zip":
        assert spagree.measure(path).data.annotations == 4
    monkeypatch.setenv("SPAGREE_MAX_UNPACKED", "10 MB")
    with pytest.raises(spagree.UsageError, match="not a number of bytes"):
        spagree.measure(path, format=kind)


# Spreadsheets --------------------------------------------------------------------------------


def test_a_stray_cell_in_the_last_corner_of_a_sheet_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "l.xlsx"
    with xlsxwriter.Workbook(path) as book:
        sheet = book.add_worksheet()
        for number, row in enumerate(ROWS):
            sheet.write_row(number, 0, row)
        sheet.write(1_048_575, 16_383, "x")
    with pytest.raises(spagree.DataError, match="16 cells spread over 1,048,576 rows and 16,384 columns"):
        spagree.measure(path)


def test_a_sheet_with_a_prefix_before_its_tags_is_looked_at_too(tmp_path: Path) -> None:
    path, odd = tmp_path / "l.xlsx", tmp_path / "odd.xlsx"
    excel(path)
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(odd, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name.startswith("xl/worksheets/"):
                content = (
                    content.replace(b'r="A5"', b"r='XFD1048576'").replace(b"<c ", b"<x:c ").replace(b"</c>", b"</x:c>")
                )
            new.writestr(name, content)
    with pytest.raises(spagree.DataError, match="delete the stray cells"):
        spagree.measure(odd)


# Files that change ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ending", "engine"), [(".parquet", None), (".parquet", "polars"), (".arrow", None), (".csv", None)]
)
def test_a_file_that_is_replaced_while_it_is_read_is_refused(
    ending: str, engine: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, other = tmp_path / f"l{ending}", tmp_path / "other"
    WRITERS[ending](path)
    WRITERS[ending](other)
    load = layouts.long

    def late(*read_as: object) -> object:
        other.replace(path)
        return load(*read_as)

    monkeypatch.setattr(layouts, "long", late)
    with pytest.raises(spagree.FileError, match="changed while it was being read"):
        spagree.measure(path, engine=engine)
