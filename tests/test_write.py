"""Files appear whole or not at all."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from spagree.errors import FileError, UsageError
from spagree.write import refuse_existing, save_frame, write_atomically


def hello(temporary: Path) -> None:
    temporary.write_text("hello")


def test_the_file_has_the_usual_rights(tmp_path: Path) -> None:
    (tmp_path / "usual.txt").write_text("")
    write_atomically(tmp_path / "note.txt", hello)
    assert stat.S_IMODE((tmp_path / "note.txt").stat().st_mode) == stat.S_IMODE((tmp_path / "usual.txt").stat().st_mode)


def test_nothing_is_at_the_target_while_it_is_written(tmp_path: Path) -> None:
    target = tmp_path / "note.txt"

    def look(temporary: Path) -> None:
        assert temporary.parent == tmp_path
        assert temporary != target
        temporary.write_text("half")
        assert not target.exists()

    write_atomically(target, look)
    assert target.read_text() == "half"


def test_an_existing_file_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    target = tmp_path / "note.txt"
    target.write_text("old")
    with pytest.raises(FileError) as caught:
        write_atomically(target, lambda temporary: pytest.fail("written"))
    assert str(caught.value) == f"{target}: exists already; use force=True to replace it"
    assert target.read_text() == "old"


@pytest.mark.parametrize(
    ("error", "raised", "reason"),
    [
        (OSError(28, "No space left on device"), FileError, "No space left on device"),
        (OSError("strange"), FileError, "strange"),
        (pl.exceptions.ComputeError("no space"), FileError, "no space"),
        (KeyboardInterrupt(), KeyboardInterrupt, None),
        (RuntimeError("bug"), RuntimeError, None),
    ],
)
def test_a_failure_half_way_leaves_the_old_file_and_no_partial_one(
    error: BaseException, raised: type[BaseException], reason: str | None, tmp_path: Path
) -> None:
    target = tmp_path / "note.txt"
    target.write_text("old")

    def fail(temporary: Path) -> None:
        temporary.write_text("half")
        raise error

    with pytest.raises(raised) as caught:
        write_atomically(target, fail, force=True)
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]
    if reason:
        assert str(caught.value).startswith(f"{target}: cannot be written")
        assert reason in str(caught.value)
        assert caught.value.__cause__ is error


def test_a_writer_that_writes_nothing_is_a_file_error(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="cannot be written"):
        write_atomically(tmp_path / "note.txt", lambda temporary: temporary.unlink(missing_ok=True))
    assert list(tmp_path.iterdir()) == []


def test_places_where_nothing_can_be_written_are_file_errors(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "folder").mkdir()
    for target, force in [
        (tmp_path / "none" / "note.txt", False),
        (tmp_path / "file" / "note.txt", False),
        (tmp_path / ("x" * 245), False),
        (tmp_path / ("x" * 300), False),
        (tmp_path / "folder", True),
    ]:
        with pytest.raises(FileError, match="cannot be written"):
            write_atomically(target, hello, force=force)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder"]


def test_existing_files_can_be_refused_early(tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("old")
    assert refuse_existing(tmp_path / "new.txt", force=False) is None
    assert refuse_existing(tmp_path / "note.txt", force=True) is None
    with pytest.raises(FileError, match="exists already"):
        refuse_existing(str(tmp_path / "note.txt"), force=False)


def test_force_keeps_the_permissions_of_the_file_it_replaces(tmp_path: Path) -> None:
    target = tmp_path / "note.txt"
    for mode in (0o600, 0o640):
        target.write_text("old")
        target.chmod(mode)
        write_atomically(target, hello, force=True)
        assert (target.read_text(), stat.S_IMODE(target.stat().st_mode)) == ("hello", mode)


def test_a_pipe_a_device_or_a_folder_is_never_replaced(tmp_path: Path) -> None:
    pipe, link = tmp_path / "pipe", tmp_path / "null"
    os.mkfifo(pipe)
    link.symlink_to("/dev/null")
    for target in (pipe, link, tmp_path):
        for force in (False, True):
            with pytest.raises(FileError, match="a folder, a device or a pipe is there"):
                write_atomically(target, lambda temporary: pytest.fail("written"), force=force)
    assert stat.S_ISFIFO(pipe.stat().st_mode) and link.is_symlink()


def test_of_two_writers_without_force_one_succeeds(tmp_path: Path) -> None:
    target = tmp_path / "note.txt"

    def write_while_another_does(temporary: Path) -> None:
        write_atomically(target, hello)
        temporary.write_text("later")

    with pytest.raises(FileError, match="exists already"):
        write_atomically(target, write_while_another_does)
    assert target.read_text() == "hello"
    assert list(tmp_path.iterdir()) == [target]


def test_a_disk_without_links_is_written_to_all_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EOPNOTSUPP, "Operation not supported")

    monkeypatch.setattr(Path, "hardlink_to", refuse)
    write_atomically(tmp_path / "note.txt", hello)
    assert (tmp_path / "note.txt").read_text() == "hello"


def test_a_folder_called_tilde_is_not_the_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("~").mkdir()
    write_atomically("~/t.parquet", pl.DataFrame({"a": [1]}).write_parquet)
    assert (tmp_path / "~" / "t.parquet").is_file()


FRAME = pl.DataFrame({"a": [1, 2]})


def test_tables_are_written_as_their_ending_says_with_the_same_bytes_every_time(tmp_path: Path) -> None:
    readers = {".csv": pl.read_csv, ".csv.gz": pl.read_csv, ".CSV.GZ": pl.read_csv, ".parquet": pl.read_parquet}
    for ending, read in readers.items():
        one, other = tmp_path / f"one{ending}", tmp_path / f"other{ending}"
        save_frame(FRAME, one)
        save_frame(FRAME, str(other))
        assert one.read_bytes() == other.read_bytes() and read(one).equals(FRAME)


@pytest.mark.parametrize("name", ["data.xlsx", "data", "data.gz", "data.csv.zip"])
def test_other_endings_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match=r"give one of \.csv, \.csv\.gz, \.parquet"):
        save_frame(FRAME, tmp_path / name)
    assert not list(tmp_path.iterdir())


FULL_DISK = """
import resource, sys, polars
from spagree.errors import FileError, UsageError
from spagree.write import save_frame
resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))
try:
    save_frame(polars.DataFrame({"a": [str(i * i) for i in range(50_000)]}), sys.argv[1], force=True)
except FileError as problem:
    print(problem)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="limits on the size of files are a POSIX matter")
@pytest.mark.parametrize("ending", ["csv.gz", "parquet"])
def test_a_full_disk_leaves_the_old_file_and_nothing_else(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"data.{ending}"
    path.write_text("old")
    done = subprocess.run([sys.executable, "-c", FULL_DISK, str(path)], capture_output=True, text=True, check=False)
    assert "cannot be written" in done.stdout, done.stderr
    assert path.read_text() == "old" and list(tmp_path.iterdir()) == [path]
