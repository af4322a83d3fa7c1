"""Messages name options as the reader writes them, and leave alone what the user wrote."""

from __future__ import annotations

import ast
import csv
import glob
import json
import pickle
import shlex
import tempfile
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import spagree
from command import Run, written
from spagree.errors import Message, for_command_line, opt
from spagree.present.words import escape_controls, printable

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
    ids=[
        "several", "text", "together", "flags", "apart", "listed", "unknown", "none",
    ],  # each process marks options anew
)  # fmt: skip
def test_options_in_python_and_as_they_are_typed(message: str, on_command_line: str, python: str) -> None:
    told = Message(message)
    assert (told, told.typed(), told.marked) == (python, on_command_line, message)
    assert pickle.loads(pickle.dumps(told)).typed() == on_command_line


@given(NAMES)
@example("--item doc")
@example("\ufdd0label\ufdd2")
def test_a_name_comes_out_as_it_went_in(name: str) -> None:
    message = Message(f"{name}: use {opt.item(name)} or {opt.label}")
    python = message.removeprefix(f"{name}: use item=").removesuffix(" or label=")
    assert ast.literal_eval(python) == name and python.isprintable()
    option = message.typed().removeprefix(f"{name}: use --item ").removesuffix(" or --label")
    assert option.isprintable()
    assert name == (ast.literal_eval(option[1:]) if option.startswith("$") else shlex.split(option)[0])


class Texts(HTMLParser):
    """What a reader of a page sees, and the values of its attributes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.seen: list[str] = []
        self.feed(page)

    def handle_data(self, data: str) -> None:
        self.seen.append(data)

    def handle_starttag(self, _tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.seen += [value for _, value in attributes if value]


FILE_NAMES = NAMES.filter(lambda name: "/" not in name and len(name.encode()) < 200)


@given(name=NAMES, file_name=FILE_NAMES)
@example(name="--format wide", file_name="--format wide")
@example(name="two\nlines", file_name="two\nlines")
@example(name="[bold]x[/bold] :smile: {label} %s", file_name="a*.csv")
@example(name="\ufdd0label\ufdd2", file_name="\x1b[31m")
@settings(max_examples=3, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_item_annotator_label_and_file_come_out_of_everything_as_they_went_in(
    name: str, file_name: str, tmp_path: Path, run: Run
) -> None:
    label = name.strip() or "blank"
    folder = Path(tempfile.mkdtemp(dir=tmp_path))
    path, page = folder / f"{file_name}.csv", folder / "page.html"
    rows = [(f"i{item}", f"a{who}", "no" if item * who % 3 else label) for item in range(1, 9) for who in range(3)]
    rows += [(label, who, said) for who, said in ((label, label), ("a1", label), ("a2", "no"))]
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, quoting=csv.QUOTE_ALL).writerows([("item", "annotator", "label"), *rows])

    source = glob.escape(str(path))
    documents = {command: run.json(command, source) for command in ("score", "items", "annotators", "classes")}
    assert all(printable(label)[:20] in run(command, source)[1] for command in documents if command != "score")
    assert documents["score"]["data"]["labels"].keys() == {label, "no"}
    assert label in [row["item"] for row in documents["items"]]
    assert label in [row["annotator"] for row in documents["annotators"]["annotators"]]
    assert label in [row["class"] for row in documents["classes"]["classes"]]

    assert run("score", source, "--report", page)[0] == 0
    seen = " ".join(Texts(page.read_text("utf-8")).seen)
    assert printable(label) in seen

    with pytest.raises(spagree.DuplicateError) as refused:
        spagree.measure([*rows, (label, label, "no")])
    quoted = str(refused.value.problems[0]).split("annotator ", 1)[1]
    assert quoted.startswith(f"{label!r} labelled item {label!r} {label!r} ")
    path.unlink()
    code, _, err = run("score", path)
    assert code == 4 and escape_controls(path.name) in err, err


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_in_refusals_and_warnings(name: str, tmp_path: Path, run: Run) -> None:
    with pytest.raises(spagree.ColumnError) as refused:
        spagree.measure([("q1", "ann", "yes")], item=name)
    assert f"item={json.dumps(name, ensure_ascii=False)}" in str(refused.value)
    code, _, err = run("score", written(tmp_path / "votes.csv", "q1,ann,yes", "q1,bob,no"), "--item", name)
    typed = (shlex.quote(name), f"'{name}'", "$'two\\nlines'")
    assert code == 3 and any(f"--item {each}" in err for each in typed)


def test_a_result_names_options_as_its_reader_writes_them(tmp_path: Path, run: Run) -> None:
    rows = (f"q{row % 30},{'xy'[row % 7 < 3]}" for row in range(90))
    found = spagree.measure(path := written(tmp_path / "votes.csv", *rows, header="item,label"))
    why = found.spa.intervals["annotators"].undefined
    assert why is not None and why.endswith("name their column with annotator=")
    assert "annotator=." in str(found) and "annotator=" in found.to_json()
    typed_too = for_command_line(found.findings).spa.intervals["annotators"].undefined
    assert typed_too == why.replace("annotator=", "--annotator")
    for arguments in ((), ("--json",)):
        out = run("score", path, *arguments)[1]
        assert "name their column with --annotator" in " ".join(out.split()) and "annotator=" not in out
    page = tmp_path / "page.html"
    assert run("score", path, "--report", page)[0] == 0
    html = page.read_text("utf-8")
    assert "name their column with --annotator" in html and "annotator=" not in html.replace("data-annotator=", "")


def test_an_error_names_options_for_both_readers_and_can_be_part_of_another() -> None:
    inner = spagree.DataError(f"name it with {opt.label('a b')}", [f"or {opt.item}"])
    assert str(inner) == 'name it with label="a b"\n  or item='
    assert inner.message.typed() == "name it with --label 'a b'\n  or --item"
    assert inner.problems == ("or item=",) and inner.problems[0].typed() == "or --item"
    outer = spagree.UsageError(f"row 2: {inner.message.marked}")
    assert (str(outer), outer.message.typed()) == (f"row 2: {inner}", f"row 2: {inner.message.typed()}")
