"""Long work says what it does and how far it is, on a terminal only."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
import weakref
from contextlib import suppress
from pathlib import Path

import pytest
from rich.console import Console

import spagree
from command import SPAGREE, Terminal, on_a_terminal
from spagree import progress
from spagree.cli.console import _Display, working
from spagree.read.files.duckdb import connect


def test_progress_needs_no_listener() -> None:
    progress.stage("counting")
    progress.watch(lambda: 0.5)


def test_stages_come_in_the_order_of_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr(progress, "stage", said.append)
    spagree.measure([("q1", "ann", "yes"), ("q1", "bob", "no")])
    assert said == ["reading", "counting labels", "looking for repeats", "counting annotators", "counting items"]


def test_the_slowest_engine_is_shown() -> None:
    shares = iter([(None, None), (0.75, None), (0.75, 0.5)])
    for wanted in (None, 0.75, 0.5):
        found = next(shares)
        assert progress.Progress(engines=[lambda f=found: f[0], lambda f=found: f[1]]).share() == wanted


def test_duckdb_says_how_far_a_query_is() -> None:
    """ReaderOptions from another thread while the query runs: some share between nothing and all is seen."""
    with progress.watched() as found:
        connection = connect()
    seen: set[float | None] = set()
    ready = threading.Event()

    def look() -> None:
        while not ready.wait(0.01):
            seen.add(found.share())

    looking = threading.Thread(target=look)
    looking.start()
    connection.execute("CREATE TABLE ids AS SELECT hash(range) % 1000000 AS id FROM range(8000000)")
    connection.execute("SELECT count(*) FROM (SELECT id, count(*) FROM ids GROUP BY id)").fetchall()
    ready.set()
    looking.join()
    assert any(share is not None and 0 < share < 1 for share in seen)
    assert found.share() is None


def shown(display: _Display) -> str:
    console = Console(width=100, force_terminal=False)
    with console.capture() as capture:
        console.print(display)
    return capture.get()


def test_a_bar_where_the_share_is_known_and_a_spinner_otherwise() -> None:
    unknown = shown(_Display(progress.Progress("counting items"), "reading"))
    assert "counting items" in unknown and "0:00" in unknown and "%" not in unknown
    known = shown(_Display(progress.Progress("", [lambda: 0.4]), "reading"))
    assert "reading" in known and "40%" in known and "━" in known


@pytest.mark.parametrize("error", [None, KeyboardInterrupt])
def test_nothing_holds_a_connection_once_the_work_is_done(
    monkeypatch: pytest.MonkeyPatch, error: type[BaseException] | None
) -> None:
    """A thread that releases it while Python shuts down would abort the process, in one run of seven."""
    monkeypatch.setattr(sys, "stderr", Terminal())
    before = threading.active_count()
    held = lambda: 0.5  # noqa: E731 (stands for a connection)
    gone = weakref.ref(held)
    with suppress(KeyboardInterrupt), working("counting"):
        progress.watch(held)
        assert threading.active_count() == before + 1
        if error:
            raise error
    assert threading.active_count() == before
    del held
    assert gone() is None


@pytest.mark.slow
def test_a_person_sees_the_stages_and_a_pipe_sees_nothing(tmp_path: Path) -> None:
    path = tmp_path / "votes.parquet"
    spagree.simulate(items=400_000, annotators=300, per_item=3, seed=1).frame.write_parquet(path)
    code, seen = on_a_terminal(*SPAGREE, "score", path, stdout=subprocess.DEVNULL)
    assert code == 0 and "0:0" in seen
    assert re.search(r"(counting (labels|items|annotators)|looking for repeats)", seen)
    piped = subprocess.run([*SPAGREE, "score", path], capture_output=True, text=True, check=True)
    assert piped.stderr == ""
