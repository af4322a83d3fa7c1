"""What other programs start: a shell that completes, a composite GitHub Action, a pre-commit hook, a container."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from command import written

yaml = pytest.importorskip("yaml", reason="PyYAML reads the action")
BASH = shutil.which("bash")
ROOT = Path(__file__).parent.parent
ACTION = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
[HOOK] = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))

pytestmark = pytest.mark.skipif(BASH is None, reason="bash runs the scripts")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a `spagree` on its path, and two label files."""
    command = tmp_path / "bin" / "spagree"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m spagree "$@"\n')
    command.chmod(0o755)
    good = (f"i{i},{who},{'xy'[i % 2]}" for i in range(40) for who in ("ann", "bob", "cid"))
    bad = (f"i{i},{who},{'xyz'[(i + k) % 3]}" for i in range(40) for k, who in enumerate(("ann", "bob")))
    written(tmp_path / "good.csv", *good)
    written(tmp_path / "bad.csv", *bad)
    return tmp_path


def bash(folder: Path, script: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """The script as a GitHub runner starts it."""
    path = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
    command = [str(BASH), "--noprofile", "--norc", "-eo", "pipefail", "-c", script]
    given = {**os.environ, "PATH": path, **variables}
    return subprocess.run(command, cwd=folder, env=given, capture_output=True, text=True, check=False)


# ── completion ──


@pytest.mark.parametrize(
    ("typed", "completed"),
    [("spagree sc", "score"), ("spagree score --requ", "--require"), ("spagree compare --no-w", "--no-worse-than")],
)
def test_bash_completes_commands_and_options(folder: Path, typed: str, completed: str) -> None:
    words = typed.split()
    script = f'eval "$(_SPAGREE_COMPLETE=bash_source spagree)"; COMP_WORDS=({typed}); COMP_CWORD={len(words) - 1}; '
    done = bash(folder, script + '_spagree_completion spagree; printf "%s\\n" "${COMPREPLY[@]}"')
    assert (done.stdout.split(), done.stderr) == ([completed], "")


@pytest.mark.parametrize("typed", ["spagree score go", "spagree score good.csv --report pa"])
def test_paths_are_left_to_the_shell(folder: Path, typed: str) -> None:
    words = typed.split()
    done = bash(folder, "spagree", COMP_WORDS=typed, COMP_CWORD=str(len(words) - 1), _SPAGREE_COMPLETE="bash_complete")
    assert done.stdout.split() == [f"file,{words[-1]}"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_shell_gets_a_script(folder: Path, shell: str) -> None:
    done = bash(folder, "spagree", _SPAGREE_COMPLETE=f"{shell}_source")
    assert done.returncode == 0 and "_SPAGREE_COMPLETE" in done.stdout


# ── the action ──


def steps(**given: str) -> list[dict[str, Any]]:
    """The steps that run for these inputs, their expressions replaced by the values."""
    inputs = {name: each.get("default", "") for name, each in ACTION["inputs"].items()} | given

    def filled(text: str) -> str:
        return re.sub(r"\$\{\{ inputs\.([\w-]+) \}\}", lambda found: inputs[found[1]], text)

    runs = {"${{ inputs.baseline == '' }}": not inputs["baseline"], "${{ inputs.baseline != '' }}": inputs["baseline"]}
    chosen = [step for step in ACTION["runs"]["steps"] if "if" not in step or runs[step["if"]]]
    return [
        {**step, "env": {name: filled(value) for name, value in step.get("env", {}).items()}}
        for step in chosen
        if "pip install" not in step["run"]
    ]


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"source": "good.csv", "require": "0.7"}, 0),
        ({"source": "bad.csv", "require": "0.7"}, 1),
        ({"source": "bad.csv"}, 0),
        ({"source": "good.csv", "require": "krippendorff_alpha=0.6", "options": "--item item --label label"}, 0),
        ({"source": "good.csv", "baseline": "good.csv", "no-worse-than": "0.1"}, 0),
        ({"source": "bad.csv", "baseline": "good.csv", "no-worse-than": "0.1"}, 1),
    ],
)
def test_the_action_passes_or_fails_the_pipeline(folder: Path, given: dict[str, str], code: int) -> None:
    [step] = steps(**given)
    summary = folder / "summary.md"
    done = bash(folder, step["run"], GITHUB_STEP_SUMMARY=str(summary), **step["env"])
    assert done.returncode == code, done.stderr
    assert "SPA" in summary.read_text() or "agreement" in summary.read_text()


@pytest.mark.parametrize(("version", "installed"), [("", "/the/action"), ("spagree==1.0", "spagree==1.0")])
def test_the_action_installs_its_own_version_unless_another_is_named(
    folder: Path, version: str, installed: str
) -> None:
    (folder / "bin" / "python").write_text('#!/bin/sh\necho "$@"\n')
    (folder / "bin" / "python").chmod(0o755)
    script = ACTION["runs"]["steps"][0]["run"]
    done = bash(folder, script, VERSION=version, GITHUB_ACTION_PATH="/the/action")
    assert (done.returncode, done.stdout.split()[-1]) == (0, installed)


def test_inputs_of_the_action_reach_the_shell_as_variables_only() -> None:
    assert [step["run"] for step in ACTION["runs"]["steps"] if "${{" in step["run"]] == []
    assert all(step["shell"] == "bash" for step in ACTION["runs"]["steps"])


# ── the hook ──


@pytest.mark.parametrize(("name", "code"), [("good.csv", 0), ("bad.csv", 1)])
def test_the_hook_measures_the_files_in_its_arguments(folder: Path, name: str, code: int) -> None:
    assert not HOOK["pass_filenames"]
    assert bash(folder, f"{HOOK['entry']} {name} --require 0.6").returncode == code


def test_the_hook_without_arguments_says_what_it_needs(folder: Path) -> None:
    done = bash(folder, HOOK["entry"])
    assert done.returncode == 2 and "SOURCE" in done.stderr


# ── the container ──


def test_the_container_installs_extras_that_exist() -> None:
    import tomllib

    known = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    [extras] = re.findall(r"/src\[([\w,]+)\]", (ROOT / "Dockerfile").read_text("utf-8"))
    assert {"monitor", "report"} <= set(extras.split(",")) <= set(known)
