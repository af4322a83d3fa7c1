"""Whoever asks for pseudonyms sees no name in an error that is raised before there are any."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import spagree
from command import Run
from spagree.errors import ColumnError, DuplicateError, MissingExtraError, SpagreeError, UsageError
from spagree.read.pseudonyms import names_hidden

LONG = "item,annotator,label\n1,Ann Smith,x\n1,Bob Jones,y\n2,Ann Smith,x\n2,Ann Smith,y\n"
WIDE = "item,Ann Smith,Bob Jones\n1,x,y\n2,x,x\n"
ATTEMPTS: Mapping[str, tuple[str, dict[str, Any], type[SpagreeError], str]] = {
    "a name that does not exist": (LONG, {"exclude_annotator": "Bob Jonas"}, UsageError, "nobody has this name"),
    "columns are names": (WIDE, {}, ColumnError, 'columns: .*format="wide"'),
    "a column that does not exist": (WIDE, {"format": "wide", "label": ["Ann Smit"]}, ColumnError, "no such column"),
}


@pytest.mark.parametrize("attempt", ATTEMPTS.values(), ids=list(ATTEMPTS))
def test_an_error_names_nobody(attempt: tuple[str, dict[str, Any], type[SpagreeError], str], tmp_path: Path) -> None:
    text, options, kind, words = attempt
    path = tmp_path / "votes.csv"
    path.write_text(text)
    with pytest.raises(kind) as plain:
        spagree.measure(path, **options)
    assert "Ann" in str(plain.value) or "Bob" in str(plain.value)
    with pytest.raises(kind, match=f"(?s){words}") as hidden:
        spagree.measure(path, pseudonymise="secret", **options)
    seen = str(hidden.value) + "".join(getattr(hidden.value, "problems", ()))
    assert "Ann" not in seen and "Bob" not in seen and "Jon" not in seen
    assert hidden.value.__cause__ is None and hidden.value.__suppress_context__


def test_file_names_that_are_annotators_are_hidden(tmp_path: Path, run: Run) -> None:
    for who, row in (("smith", {"item": 1, "label": "x"}), ("jones", {"thing": 1})):
        (tmp_path / f"{who}.jsonl").write_text(json.dumps(row))
    code, _, err = run("score", tmp_path, "--format", "per-annotator", "--pseudonymise", "--salt", "k")
    assert code == 3
    assert "smith" not in err and "jones" not in err and "….jsonl" in err
    assert "names are hidden; leave --pseudonymise out to see them" in err


def test_repeats_are_told_under_pseudonyms(tmp_path: Path) -> None:
    path = tmp_path / "votes.csv"
    path.write_text(LONG)
    with pytest.raises(DuplicateError, match=r"annotator 'annotator-[0-9a-f]{24}' labelled item '2' 'x'") as found:
        spagree.measure(path, pseudonymise="secret")
    assert "Ann" not in str(found.value)


def test_without_pseudonyms_errors_stay_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "votes.csv"
    path.write_text(WIDE)
    with pytest.raises(ColumnError, match="'Ann Smith', 'Bob Jones'") as found:
        spagree.measure(path)
    assert "hidden" not in str(found.value)


def test_a_missing_extra_is_named() -> None:
    with pytest.raises(MissingExtraError, match=r"pip install 'spagree\[excel\]'$"), names_hidden(hide_files=True):
        raise MissingExtraError("excel", "reading .xlsx files")
