"""A command loads what it needs and nothing else: that is what makes it feel instant."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import polars
import pytest

from command import SPAGREE, written

LOADED = """
import json, sys
from spagree.cli import main
try:
    main(sys.argv[1:])
except SystemExit as done:
    print(json.dumps([done.code, sorted(sys.modules)]), file=sys.stderr)
"""


def loaded(*arguments: str) -> set[str]:
    done = subprocess.run([sys.executable, "-c", LOADED, *arguments], capture_output=True, text=True, check=True)
    code, modules = json.loads(done.stderr.splitlines()[-1])
    assert code == 0, done.stderr
    return set(modules)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve annotators with two to four annotations per item: both intervals and every check are computed."""
    rows = (
        f"i{i},ann{(5 * i + 3 * k) % 12},{'xyz'[(i * i + k) % 3 if i % 5 else 0]}"
        for i in range(300)
        for k in range(2 + i % 3)
    )
    return written(tmp_path_factory.mktemp("startup") / "labels.csv", *rows)


MEASURED = """
import json, sys, spagree
spagree.measure(sys.argv[1]).chance["krippendorff_alpha"]
print(json.dumps(sorted(sys.modules)))
"""


def test_measuring_a_plain_parquet_file_loads_no_tool_no_table_and_nothing_to_draw_with(
    table: Path, tmp_path: Path
) -> None:
    path = tmp_path / "labels.parquet"
    polars.read_csv(table).write_parquet(path)
    done = subprocess.run([sys.executable, "-c", MEASURED, str(path)], capture_output=True, text=True, check=True)
    modules = set(json.loads(done.stdout))
    assert "duckdb" in modules
    tools = {f"spagree.read.tools.{name}" for name in ("tool", "records", "values", "nested", "label_studio")}
    unread = {"narwhals", "numpy.ma", *(f"spagree.read.{name}" for name in ("triples", "files.delimited"))}
    shown = {"rich", "jinja2", "spagree.present.terminal"}
    assert modules & {"pandas", "pyarrow", "scipy", "polars", *unread, *shown, *tools} == set()


@pytest.mark.parametrize("arguments", [(), ("--json",), ("--duplicates", "first")], ids=" ".join)
def test_scoring_a_table_loads_only_what_it_shows(table: Path, arguments: tuple[str, ...]) -> None:
    heavy = {"pandas", "pyarrow", "scipy", "polars", "altair", "asyncio", "msgspec", "sqlite3", "jinja2"}
    heavy |= {"numpy.ma", "numpy.typing", "duckdb", "narwhals"}
    heavy |= {"difflib", "hashlib", "hmac", "gzip", "zipfile", "rich._emoji_codes", "spagree.read.pseudonyms"}
    heavy |= {"spagree.counts.live"}
    breakdowns = {"development", "groups", "models"}
    unasked = {f"spagree.estimate.{name}" for name in (*breakdowns, "plan")}
    unasked |= {f"spagree.read.tools.{name}" for name in ("export", "records", "tool", "values")}
    pages = {"html", *(f"spagree.present.{name}" for name in ("report", "charts", "notebook"))}
    assert loaded("score", str(table), *arguments) & (heavy | unasked | pages) == set()


def test_quotes_take_duckdb_and_nothing_more(table: Path) -> None:
    quoted = table.with_name("quoted.csv")
    quoted.write_text(table.read_text().replace(",x", ',"x"'))
    modules = loaded("score", str(quoted))
    assert modules & {"pandas", "pyarrow", "scipy", "polars"} == set()
    assert {"duckdb", "narwhals"} <= modules


def test_both_intervals_and_every_check_are_among_them(table: Path) -> None:
    shown = subprocess.run([*SPAGREE, "score", "--json", str(table)], capture_output=True, check=True)
    document = json.loads(shown.stdout)
    assert set(document["spa"]["intervals"]) == {"items", "annotators"}
    assert document["missingness"]["p"] is not None
    assert document["data"]["annotators"] == 12


def test_duckdb_draws_no_bar_on_standard_output() -> None:
    code = """
from spagree.read.files.duckdb import connect
print(connect().execute("SELECT current_setting('enable_progress_bar')").fetchall())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[(False,)]\n"
