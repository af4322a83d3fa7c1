"""Pseudonyms: the same whatever holds the data, and no name in anything that is shown, errors included."""

from __future__ import annotations

import hmac
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest

import spagree
from command import Run
from spagree.errors import ColumnError, MissingExtraError, SpagreeError, UsageError
from spagree.read import read
from spagree.read.pseudonyms import names_hidden, pseudonym

LONG = "item,annotator,label\n1,Ann Smith,x\n1,Bob Jones,y\n2,Ann Smith,x\n2,Ann Smith,y\n"
WIDE = "item,Ann Smith,Bob Jones\n1,x,y\n2,x,x\n"
ATTEMPTS: Mapping[str, tuple[str, dict[str, Any], type[SpagreeError], str]] = {
    "a name that does not exist": (LONG, {"exclude_annotator": "Bob Jonas"}, UsageError, "nobody has this name"),
    "columns are names": (WIDE, {}, ColumnError, 'columns: .*format="wide"'),
    "a column that does not exist": (WIDE, {"format": "wide", "label": ["Ann Smit"]}, ColumnError, "no such column"),
}


def written(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


@pytest.mark.parametrize("attempt", ATTEMPTS.values(), ids=list(ATTEMPTS))
def test_an_error_names_nobody(attempt: tuple[str, dict[str, Any], type[SpagreeError], str], tmp_path: Path) -> None:
    text, options, kind, words = attempt
    path = written(tmp_path / "votes.csv", text)
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


def test_without_pseudonyms_errors_stay_as_they_are(tmp_path: Path) -> None:
    path = written(tmp_path / "votes.csv", WIDE)
    with pytest.raises(ColumnError, match="'Ann Smith', 'Bob Jones'") as found:
        spagree.measure(path)
    assert "hidden" not in str(found.value)


def test_a_missing_extra_is_named() -> None:
    with pytest.raises(MissingExtraError, match=r"pip install 'spagree\[excel\]'$"), names_hidden(["a"]):
        raise MissingExtraError("excel", "reading .xlsx files")


def test_pseudonyms_are_the_same_whatever_holds_the_data(tmp_path: Path) -> None:
    rows = [("1", "ann", "x"), ("1", "bob", "y"), ("2", None, "y")]
    frame = pl.DataFrame(rows, schema=["item", "annotator", "label"], orient="row")
    frame.write_csv(tmp_path / "a.csv")
    frame.write_parquet(tmp_path / "a.parquet")
    wanted = {pseudonym("ann", "s"), pseudonym("bob", "s"), None}
    for source in (rows, frame, frame.lazy(), frame.to_pandas(), tmp_path / "a.csv", tmp_path / "a.parquet"):
        found = read(source, pseudonymise="s").frame.collect(backend="polars")["annotator"].to_list()
        assert {None if pd.isna(name) else name for name in found} == wanted
    assert wanted.isdisjoint({pseudonym("ann", "t"), pseudonym("bob", "t")})


def test_pseudonyms_of_wide_tables_and_of_nobody(tmp_path: Path) -> None:
    path = written(tmp_path / "w.csv", "id,ann,bob\n1,x,y\n2,x,\n")
    found = read(path, format="wide", pseudonymise="s")
    assert "ann" not in str(spagree.measure(path, format="wide", pseudonymise=True).understood.columns.get("annotator"))
    assert set(found.frame.collect(backend="polars")["annotator"].to_list()) == {
        pseudonym("ann", "s"),
        pseudonym("bob", "s"),
    }
    nobody = read(written(tmp_path / "n.csv", "item,label\n1,x\n"), pseudonymise=True)
    assert not nobody.has_annotators
    empty = read(
        pl.DataFrame({"item": ["1"], "annotator": [None], "label": ["x"]}, schema_overrides={"annotator": pl.String}),
        pseudonymise=True,
    )
    assert empty.frame.collect()["annotator"].to_list() == [None]


def test_a_pseudonym_is_an_hmac_of_the_name() -> None:
    for key in ("s3cret", "k" * 200, "schlüssel'"):
        wanted = hmac.new(key.encode(), b"ann", "sha256").hexdigest()[:24]
        assert pseudonym("ann", key) == f"annotator-{wanted}"


def test_names_that_are_numbers_have_the_same_pseudonyms_on_every_engine(tmp_path: Path) -> None:
    frame = pl.DataFrame({"item": ["q", "q", "r"], "annotator": [1.0, 2.0, 2.5], "label": ["x", "x", "y"]})
    frame.write_parquet(tmp_path / "a.parquet")
    for source in (tmp_path / "a.parquet", frame, frame.to_pandas()):
        found = spagree.tally(source, pseudonymise="it's é").annotators
        assert found == {pseudonym(name, "it's é"): 1 for name in ("1", "2", "2.5")}


def test_without_a_key_a_random_one_is_made_once_and_kept_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "new" / "config"))
    rows = [("q", "ann", "x"), ("q", "bob", "x")]
    first, again = (spagree.measure(rows, pseudonymise=True) for _ in range(2))
    assert [each.code for each in first.warnings].count("pseudonym_key") == 1
    assert "pseudonym_key" not in [each.code for each in again.warnings]
    path = tmp_path / "new" / "config" / "spagree" / "pseudonym-key"
    assert path.stat().st_mode & 0o777 == 0o600 and len(path.read_text()) == 64
    names = {pseudonym("ann", path.read_text()): 1, pseudonym("bob", path.read_text()): 1}
    assert spagree.tally(rows, pseudonymise=True).annotators == names
    monkeypatch.setenv("SPAGREE_PSEUDONYM_KEY", "of the environment")
    assert pseudonym("ann", "of the environment") in (spagree.tally(rows, pseudonymise=True).annotators or {})


@pytest.mark.parametrize("key", ["", "  ", 1, b"bytes", None])
def test_a_secret_that_is_none_is_refused(key: Any) -> None:
    with pytest.raises(spagree.UsageError, match=r"is empty|give True, a secret text"):
        spagree.measure([("q", "ann", "x")], pseudonymise=key)


def test_a_key_file_that_cannot_be_read_is_a_file_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(spagree.FileError, match="the key for pseudonyms cannot be read"):
        spagree.measure([("q", "ann", "x")], pseudonymise=tmp_path / "none")
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "file"))
    with pytest.raises(spagree.FileError, match="cannot be stored"):
        spagree.measure([("q", "ann", "x")], pseudonymise=True)


def test_names_of_columns_are_hidden_in_the_options_too(tmp_path: Path) -> None:
    path = written(tmp_path / "w.csv", "id,ann,bob,note\n1,x,y,n\n2,x,,n\n")
    hidden = spagree.measure(path, format="wide", label=["ann", "bob"], pseudonymise="s")
    assert hidden.options["label"] is True
    hidden.report(tmp_path / "page.html")
    assert not re.search(r"\b(ann|bob)\b", (tmp_path / "page.html").read_text("utf-8").partition("<script")[0])


def test_pseudonyms_on_the_command_line(run: Run, tmp_path: Path) -> None:
    path = written(tmp_path / "a.csv", "item,annotator,label\n1,a,x\n1,b,x\n")
    key = path.parent / "key.txt"
    key.write_text("from a file\n")
    assert pseudonym("a", "from a file") in run("score", path, "-v", "--pseudonymise", "--salt-file", key)[1]
    assert run("score", path, "--pseudonymise", "--salt", "s", "--salt-file", key)[0] == 2
    assert run("score", path, "--pseudonymise", "--salt", "")[0] == 2
    assert pseudonym("a", "s") in run("score", path, "-v", "--pseudonymise", "--salt", "s")[1]
    code, _, err = run("score", path, "--salt", "s")
    assert code == 2 and "--salt only works with --pseudonymise" in err
