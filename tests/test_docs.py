"""The documentation is executed: every `>>>` and every `$ spagree …` in it must do what it shows.

Console blocks run in a scratch folder shared by the page, so that a page can make a file and use it later.
A line `...` in the shown output stands for any lines.
"""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import spagree
from command import Run

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / ".github" / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
QUOTED = re.compile(r"""'[^']*'|"[^"$`]*\"""")
SHELL = re.compile(r"[|&;<>()$`*?\[\]{}~#\\]")
REDIRECTED = re.compile(r"(spagree .*) > ([\w.-]+)")
WIDTH = 90
MUTANT = re.compile(r"__mutmut_\d+$")  # of `python -m benchmarks mutation`, with a copy of the docstring
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def blocks(page: Path, language: str) -> list[str]:
    return [body for found, body in BLOCK.findall(page.read_text("utf-8")) if found == language]


def modules() -> Iterator[str]:
    for found in pkgutil.walk_packages(spagree.__path__, "spagree."):
        if found.name != "spagree.__main__":
            yield found.name
    yield "spagree"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_page(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", str(WIDTH))
    globals_: dict[str, object] = {}
    for language, body in BLOCK.findall(page.read_text("utf-8")):
        if language == "python":
            run_python(body, globals_, page)
        elif language == "console":
            run_console(body, tmp_path, run)


def run_python(body: str, globals_: dict[str, object], page: Path) -> None:
    """Doctest style where there are prompts, otherwise plain code that must not fail."""
    if ">>>" not in body:
        exec(compile(body, str(page), "exec"), globals_)
        return
    test = doctest.DocTestParser().get_doctest(body, globals_, page.name, str(page), 0)
    runner = doctest.DocTestRunner(optionflags=OPTIONS)
    report: list[str] = []
    runner.run(test, out=report.append, clear_globs=False)
    globals_.update(test.globs)
    assert not runner.failures, "".join(report)


def run_console(body: str, folder: Path, run: Run) -> None:
    for command, shown in parse_console(body):
        printed = run_command(command, folder, run)
        output = "\n".join(line.rstrip() for line in printed.splitlines()).strip("\n")
        assert doctest.OutputChecker().check_output(shown + "\n", output + "\n", doctest.ELLIPSIS), (
            f"$ {command}\nshown:\n{shown}\n\ngot:\n{output}"
        )


def parse_console(body: str) -> list[tuple[str, str]]:
    found = []
    for part in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
        command, _, shown = part.partition("\n")
        found.append((command, shown.strip("\n")))
    return found


def run_command(command: str, folder: Path, run: Run) -> str:
    """What a command prints. `spagree …` alone runs in this process, which is faster; what needs a shell gets one."""
    words = shlex.split(command)
    assert words[0] in ("spagree", "cat", "head", "echo"), f"not a documented program: {command}"
    if words[0] == "spagree" and not SHELL.search(QUOTED.sub("", command)):
        _, out, err = run(*words[1:])
        return out + err
    redirected = REDIRECTED.fullmatch(command)
    if redirected and not SHELL.search(QUOTED.sub("", redirected[1])):
        _, out, err = run(*shlex.split(redirected[1])[1:])
        (folder / redirected[2]).write_text(out)
        return err
    environment = {"COLUMNS": str(WIDTH), "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin", "LANG": "C.UTF-8"}
    environment["PYTHONPATH"] = str(Path(spagree.__file__).parents[1])  # the code under test, wherever it is installed
    done = subprocess.run(
        ["bash", "-c", command], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    return done.stdout + done.stderr


@pytest.mark.parametrize("name", sorted(modules()))
def test_docstrings(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    runner = doctest.DocTestRunner(optionflags=OPTIONS)
    for test in doctest.DocTestFinder().find(importlib.import_module(name)):
        if not MUTANT.search(test.name):
            runner.run(test)
    assert runner.failures == 0


def test_every_public_name_has_a_running_example() -> None:
    constants = {"SCHEMES", "__version__"}
    without = [name for name in set(spagree.__all__) - constants if ">>>" not in documentation(name)]
    assert without == []


def documentation(name: str) -> str:
    found = getattr(spagree, name)
    methods = (
        [member.__doc__ or "" for member in vars(found).values() if callable(member)] if isinstance(found, type) else []
    )
    return (found.__doc__ or "") + "".join(methods)


def test_the_pages_have_examples_at_all() -> None:
    assert sum(len(blocks(page, "python")) + len(blocks(page, "console")) for page in PAGES) > 15


def test_links_between_pages_lead_somewhere() -> None:
    """`make docs` checks the others, too: pictures and example pages, which it makes."""
    for page in PAGES:
        for target in re.findall(r"\]\((?!https?:|#|images/|examples/)([^)#]+)", page.read_text("utf-8")):
            assert (page.parent / target).exists(), f"{page.relative_to(ROOT)} links to {target}"
