"""The shape of the code: what is exported, what is loaded when, how large things may grow."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import spagree
from command import written
from distribution import LONGEST, TOGETHER

SOURCE = Path(spagree.__file__).parent
FILES = sorted(SOURCE.rglob("*.py"))
MAP = Path(__file__).parents[1] / ".github" / "CONTRIBUTING.md"
HEAVY = {
    "polars", "duckdb", "scipy", "numpy", "narwhals", "pandas", "pyarrow", "altair", "jinja2", "pyspark", "fastexcel",
    "zstandard", "psycopg", "starlette", "uvicorn", "sqlalchemy", "sse_starlette", "msgspec", "prometheus_client",
    "standardwebhooks", "watchfiles",
}  # fmt: skip


def loaded_after(code: str) -> set[str]:
    script = f"{code}\nimport sys; print(*{{name.split('.')[0] for name in sys.modules}})"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines()[-1].split())


@cache
def parsed(file: Path) -> ast.Module:
    return ast.parse(file.read_text("utf-8"))


MODULES = {
    ".".join(("spagree", *file.relative_to(SOURCE).with_suffix("").parts)).removesuffix(".__init__"): file
    for file in FILES
}


def imported(file: Path) -> Iterator[str]:
    """Every module of spagree that a file imports, at the top, in a function or for its types alone."""
    for node in ast.walk(parsed(file)):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names if name.name in MODULES)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: relative import"
            for name in node.names:
                whole = f"{node.module}.{name.name}"
                found = whole if whole in MODULES else str(node.module)
                yield from [found] if found in MODULES else []


def test_present_sees_neither_readers_nor_engines() -> None:
    """Values only: what was understood, times, and what the reasons for leaving annotations out are called."""
    closed = ("spagree.read", "spagree.counts", "spagree.measuring", "spagree.agreement")
    values = ("spagree.counts.policies", "spagree.read.annotations", "spagree.read.timestamps")
    present = {name: file for name, file in MODULES.items() if name.startswith("spagree.present")}
    seen = [(name, other) for name, file in present.items() for other in imported(file) if other not in values]
    assert [f"{name} imports {other}" for name, other in seen if other.startswith(closed)] == []
    assert [name for name, file in present.items() if "Evidence" in file.read_text("utf-8")] == []


def test_no_module_imports_itself_in_a_circle_not_even_inside_functions() -> None:
    graph = {name: set(imported(file)) - {name} for name, file in MODULES.items()}
    # The entrance loads every public name when it is first asked for; inside, only its version is of interest.
    graph["spagree"] = set()
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" → ".join(error.args[1]))


@pytest.mark.skipif(not MAP.exists(), reason="CONTRIBUTING.md is not beside the installed package")
def test_the_map_for_contributors_is_complete_and_true() -> None:
    text = MAP.read_text("utf-8")
    drawn = text.split("src/spagree/\n", 1)[1].split("\ntests/", 1)[0]
    here = {path.name + "/" * path.is_dir() for path in SOURCE.iterdir() if not path.name.startswith("_")}
    named = set(re.findall(r"[a-z_]+(?:\.py|/)", drawn))
    below = {f"{path.name}/" for path in SOURCE.glob("*/*/")} | {path.name for path in SOURCE.glob("*/*.py")}
    assert named <= here | below, f"named, and not there: {named - here - below}"
    assert here - {"py.typed"} <= named, f"there, and not named: {here - named}"
    paths = re.findall(r"`([a-z_/]+\.py)", text.split("To add", 1)[1].split("##", 1)[0])
    assert paths and all((SOURCE / path).exists() for path in paths), paths


def test_importing_spagree_and_asking_for_help_loads_nothing_heavy() -> None:
    assert loaded_after("import spagree") & HEAVY == set()
    help_ = "import spagree.cli, contextlib\nwith contextlib.suppress(SystemExit): spagree.cli.main(['--help'])"
    assert loaded_after(help_) & HEAVY == set()


def test_measuring_a_file_loads_no_optional_library(tmp_path: Path) -> None:
    path = written(tmp_path / "a.csv", "1,a,x", "1,b,x")
    loaded = loaded_after(f"import spagree; spagree.measure({str(path)!r}).to_json()")
    # Not pandas and pyarrow: where they are installed duckdb 1 looks them up by itself.
    needed = {"polars", "duckdb", "scipy", "numpy", "narwhals", "pandas", "pyarrow", "msgspec"}
    assert loaded & ({*HEAVY, "dask", "modin"} - needed) == set()


@pytest.mark.parametrize("name", spagree.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(spagree, name) is not None
    assert name in dir(spagree)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="mesure"):
        spagree.mesure  # noqa: B018


def test_every_file_has_a_name_that_says_what_it_holds() -> None:
    rooms = {"util", "utils", "common", "helper", "helpers", "misc"}
    assert [file for file in FILES if file.stem in rooms or file.parent.name in rooms] == []


def test_every_file_that_starts_early_is_there() -> None:
    files = [name for name in LONGEST if name not in TOGETHER]
    assert [name for name in files if not (Path(__file__).parent / name).is_file()] == []


def test_no_validation_by_assert() -> None:
    found = [file.name for file in FILES for node in ast.walk(parsed(file)) if isinstance(node, ast.Assert)]
    assert found == []
