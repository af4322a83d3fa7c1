"""Readers and metrics of other packages: the documented one, really installed, and packages that are broken."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from command import Run
from spagree import plugins
from spagree.errors import UsageError
from spagree.estimate.similarity import Metric
from spagree.read.tools.registry import load

EXAMPLE = Path(__file__).parent / "spagree_sheets"
PAGE = Path(__file__).parents[2] / "docs" / "extending.md"
SPAGREE = Path(sys.executable).parent / "spagree"
DONE = [
    ("s1", "ann", "animal/dog"), ("s1", "bob", "animal/cat"), ("s2", "ann", "plant"), ("s2", "bob", "plant"),
    ("s3", "ann", "animal/dog"), ("s3", "bob", "plant"),
]  # fmt: skip


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder into which pip has installed the example; the wheel is made here, as no backend can be fetched."""
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text("utf-8"))["project"]
    name, version = project["name"].replace("-", "_"), project["version"]
    entries = {
        f"{group}": "".join(f"{key} = {value}\n" for key, value in points.items())
        for group, points in project["entry-points"].items()
    }
    folder = tmp_path_factory.mktemp("extending")
    wheel, info = folder / f"{name}-{version}-py3-none-any.whl", f"{name}-{version}.dist-info"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.write(EXAMPLE / "spagree_sheets.py", "spagree_sheets.py")
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {version}\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/entry_points.txt", "\n".join(f"[{group}]\n{text}" for group, text in entries.items()))
        archive.writestr(f"{info}/RECORD", "")
    site = folder / "site"
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--target", str(site)]
    subprocess.run([*command, str(wheel)], check=True)
    return site


@pytest.fixture
def export(tmp_path: Path) -> Path:
    path = tmp_path / "sheets.jsonl"
    records = [
        {"sheet": sheet, "by": who, "at": 1700000000, "state": "done", "answers": {"kind": kind}}
        for sheet, who, kind in DONE
    ]
    records.append({"sheet": "s1", "by": "cyd", "at": 1700000001, "state": "open", "answers": {"kind": "plant"}})
    path.write_text("\n".join(map(json.dumps, records)))
    return path


def scored(site: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    """By the command in a process of its own, as a user's."""
    path = os.pathsep.join(filter(None, (str(site), os.environ.get("PYTHONPATH"))))
    command = [str(SPAGREE), "score", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": path})


def test_an_installed_reader_and_metric_are_used_by_name(installed: Path, export: Path) -> None:
    done = scored(installed, export, "--format", "sheets", "--metric", "shared-path", "--json")
    found = json.loads(done.stdout)
    assert done.returncode == 0, done.stderr
    assert found["spa"]["value"] == pytest.approx((0.5 + 1 + 0) / 3)
    assert found["data"]["annotations"] == len(DONE)
    nominal = json.loads(scored(installed, export, "--format", "sheets", "--json").stdout)
    assert nominal["spa"]["value"] == pytest.approx(1 / 3)


def test_the_options_of_tools_work_for_it(
    installed: Path, export: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(installed)
    _, out, _ = run("score", export, "--format", "sheets", "--status", "open", "--status", "done", "--json")
    assert json.loads(out)["data"]["annotations"] == len(DONE) + 1
    code, _, err = run("score", export, "--format", "sheets", "--status", "closed")
    assert (code, "unknown status 'closed'" in err) == (2, True)


@pytest.mark.parametrize("named", [("--format", "sheets"), ("--metric", "shared-path")])
def test_an_unknown_name_lists_what_is_installed(
    installed: Path, export: Path, named: tuple[str, str], run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    option, added = named
    _, _, without = run("score", export, option, "shets")
    monkeypatch.syspath_prepend(installed)
    code, _, err = run("score", export, option, "shets")
    assert (code, err.rstrip()) == (2, err.rstrip().partition(f", {added}")[0] + f", {added}")
    assert added not in without


def test_it_is_not_used_unless_named(installed: Path, export: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    before = run("score", export)
    monkeypatch.syspath_prepend(installed)
    assert run("score", export) == before


def test_the_page_shows_exactly_this_package() -> None:
    page = PAGE.read_text("utf-8")
    for name, language in (("pyproject.toml", "toml"), ("spagree_sheets.py", "python")):
        assert f"```{language}\n{(EXAMPLE / name).read_text('utf-8')}```\n" in page


# Broken packages ---------------------------------------------------------------------------------------------


def pretend(folder: Path, package: str, group: str, value: str, name: str = "other") -> None:
    """A package that is installed, as far as its metadata goes."""
    info = folder / f"{package}-2.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 2.0\n")
    (info / "entry_points.txt").write_text(f"[{group}]\n{name} = {value}\n")


def test_two_packages_with_one_name_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    pretend(tmp_path, "first", plugins.METRICS, "math:gcd")
    pretend(tmp_path, "second", plugins.METRICS, "math:hypot")
    assert plugins.installed(plugins.METRICS) == ("other",)
    with pytest.raises(UsageError, match=r"'other' is offered by first 2\.0 and by second 2\.0; uninstall"):
        plugins.load(plugins.METRICS, "other")


@pytest.mark.parametrize("value", ["no_such_module:TOOL", "math:no_such_name"])
def test_what_cannot_be_loaded_names_its_package(value: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    pretend(tmp_path, "broken", plugins.READERS, value)
    with pytest.raises(UsageError, match=r"broken 2\.0 offers 'other', which cannot be loaded .*no_such"):
        load("other")


def test_a_reader_that_is_no_tool_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    pretend(tmp_path, "wrong", plugins.READERS, "math:pi")
    with pytest.raises(UsageError, match="offers float, not a Tool"):
        load("other")


def test_a_metric_that_is_no_agreement_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import numpy as np

    monkeypatch.syspath_prepend(tmp_path)
    pretend(tmp_path, "wrong", plugins.METRICS, "operator:eq", "same")
    pretend(tmp_path, "worse", plugins.METRICS, "operator:ne", "different")
    assert Metric("same").matrix(["a", "b"], np.ones(2)).tolist() == [[1, 0], [0, 1]]
    with pytest.raises(UsageError, match="must return 1 for equal labels"):
        Metric("different").matrix(["a", "b"], np.ones(2))


@pytest.mark.parametrize(("group", "name"), [(plugins.READERS, "doccano"), (plugins.METRICS, "ordinal")])
def test_our_own_names_cannot_be_taken(group: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import numpy as np

    monkeypatch.syspath_prepend(tmp_path)
    pretend(tmp_path, "taker", group, "operator:eq", name)
    assert load("doccano").title == "doccano"
    assert Metric("ordinal").matrix(["1", "2", "3"], np.ones(3))[0, 1] == pytest.approx(0.75)
