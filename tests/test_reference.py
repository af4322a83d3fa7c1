"""docs/reference.md names everything a user can name: a new option, name or code without a line there is a defect."""

from __future__ import annotations

import ast
import inspect
import runpy
from pathlib import Path

import pytest

import spagree
from spagree.counts.policies import LEFT_OUT
from spagree.read.columns import GUESSED
from spagree.read.layouts.doubts import DOUBTS
from spagree.read.words import ranked

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "reference.md").read_text("utf-8")
FLOWING = " ".join(PAGE.split())


def warning_codes() -> list[str]:
    """The first argument of every Warning(…) in the source, and the doubts about tables that are warnings."""
    codes = {code for code, (doubt, _) in DOUBTS.items() if doubt.refuses is None}
    for path in (ROOT / "src" / "spagree").rglob("*.py"):
        source = path.read_text("utf-8")
        for node in ast.walk(ast.parse(source)) if "Warning(" in source and path.name != "doubts.py" else ():
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Warning":
                assert isinstance(node.args[0], ast.Constant), f"{path.name}: a code that is no literal"
                codes.add(str(node.args[0].value))
    return sorted(codes)


def section(title: str) -> str:
    return PAGE.split(f"\n## {title}\n")[1].split("\n## ")[0]


@pytest.mark.parametrize("name", spagree.__all__)
def test_public_names(name: str) -> None:
    assert f"`{name}`" in PAGE or f"`{name}(" in PAGE


def test_the_command_line_is_that_of_the_program() -> None:
    """`python docs/reference.py` writes it."""
    maker = runpy.run_path(str(ROOT / "docs" / "reference.py"))
    assert maker["renewed"](PAGE) == PAGE
    assert not [
        name for name in (*maker["MORE"], *(f"`spagree {each}" for each in maker["GUIDES"])) if name not in PAGE
    ]


def test_every_warning_code_is_listed_and_none_is_made_up() -> None:
    rows = [line.split("`")[1] for line in section("Warnings").splitlines() if line.startswith("| `")]
    assert sorted(rows) == warning_codes()


@pytest.mark.parametrize("reason", LEFT_OUT)
def test_reasons_for_leaving_out(reason: str) -> None:
    assert f"| `{reason}` |" in section("Input")


@pytest.mark.parametrize("role", GUESSED)
def test_guessed_column_names_in_their_order(role: str) -> None:
    listed = section("Input").split("### Guessing columns")[1].split(f"| {role} | ")[1]
    lines = [line.strip("| ") for line in listed.splitlines()[: len(ranked(role))]]
    assert lines == [", ".join(names) for names in ranked(role)]


@pytest.mark.parametrize("name", ["measure", "simulate", "item_variance", "save", "load", "weigh"])
def test_signatures(name: str) -> None:
    signature = inspect.signature(getattr(spagree, name))
    plain = [each.replace(annotation=each.empty) for each in signature.parameters.values()]
    shown = str(inspect.Signature(plain)).replace("'", '"')
    assert f"`{name}{shown}`" in FLOWING


def test_json_fields() -> None:
    told = section("JSON")
    written = spagree.measure([("q1", "ann", "yes"), ("q1", "bob", "no")]).to_dict()
    assert [name for name in written if f"`{name}" not in told] == []
    assert [name for part in ("data", "spa") for name in written[part] if f".{name}`" not in told] == []


@pytest.mark.parametrize("error", [spagree.UsageError, spagree.DataError, spagree.FileError])
def test_exit_codes(error: type[spagree.SpagreeError]) -> None:
    row = next(line for line in section("Exit codes").splitlines() if line.startswith(f"| {error.exit_code} "))
    assert f"`{error.__name__}`" in row
