"""Messages name options as the reader writes them, and leave alone what the user wrote."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import polars
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import spagree
from command import Run
from spagree.messages import BEGIN, command_line, in_python, opt, spelled, typed

HOSTILE = ["--format wide", "it's", 'say "no"', "two\nlines", "*.csv", "--label", "{label}", "$(rm x)", "a b", "", "\\"]
NAMES = st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]), min_size=1)


@pytest.mark.parametrize(
    ("message", "on_command_line", "python"),
    [
        (f"say {opt.item(['doc', 'no'])} if", "say --item 'doc' --item 'no' if", 'say item=["doc", "no"] if'),
        (f"{opt.missing('skip')} gives", "--missing 'skip' gives", 'missing="skip" gives'),
        (f"{opt.format('wide')} {opt.item('doc')}", "--format wide --item 'doc'", 'format="wide", item="doc"'),
        (f"{opt.normalize} {opt.no_header}", "--normalize --no-header", "normalize=True, header=False"),
        (f"{opt.duplicates('first')} or {opt.by}", "--duplicates first or --by", 'duplicates="first" or by='),
        (f"{opt.order('low,high')}, {opt.first(2)}", "--order low,high, --first 2", 'order=["low", "high"], first=2'),
        (f"{opt.token_file} FILE", "--token-file FILE", "--token-file FILE"),
        ("no options", "no options", "no options"),
    ],
)
def test_options_in_python_and_as_they_are_typed(message: str, on_command_line: str, python: str) -> None:
    assert (typed(message), in_python(message)) == (on_command_line, python)
    assert spelled(message) == python
    with command_line():
        assert spelled(message) == on_command_line


@given(NAMES)
@example("--item doc")
@example(f"{BEGIN}item")
def test_a_name_comes_out_as_it_went_in(name: str) -> None:
    message = f"{name}: use {opt.item(name)} or {opt.label}"
    if f"{BEGIN}" in name:
        return  # a noncharacter: no text holds it
    assert in_python(message) == f"{name}: use item={json.dumps(name, ensure_ascii=False)} or label="
    written = typed(message)
    assert written.startswith(f"{name}: use --item ") and written.endswith(" or --label")
    assert shlex.split(written.removeprefix(f"{name}: use ").removesuffix(" or --label")) == ["--item", name]


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_in_refusals_and_warnings(name: str, tmp_path: Path, run: Run) -> None:
    with pytest.raises(spagree.ColumnError) as refused:
        spagree.measure([("q1", "ann", "yes")], item=name)
    assert f"item={json.dumps(name, ensure_ascii=False)}" in str(refused.value)
    path = tmp_path / "votes.csv"
    path.write_text("item,annotator,label\nq1,ann,yes\nq1,bob,no\n")
    code, _, err = run("score", path, "--item", name)
    assert code == 3 and (f"--item {shlex.quote(name)}" in err or f"--item '{name}'" in err or "\\n" in err)


def test_the_problems_of_an_error_are_spelled_like_its_message() -> None:
    table = polars.DataFrame({"id": ["q1", "q2"], "ann": ["yes", "no"], "bob": ["yes", "yes"]})
    with pytest.raises(spagree.ColumnError) as refused:
        spagree.measure(table)
    assert any("item=" in problem or "label=" in problem for problem in refused.value.problems)
    assert not any(BEGIN in text for text in (str(refused.value), *refused.value.problems))
