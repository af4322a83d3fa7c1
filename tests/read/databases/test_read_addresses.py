"""Addresses of databases: what is shown of them never holds the password, however it is written."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

import spagree
from command import Run
from spagree.read.databases import addresses

PUBLIC = [
    ("postgresql://me:secret@db:5432/labels", "postgresql://me@db:5432/labels"),
    ("postgresql://db/labels", "postgresql://db/labels"),
    ("postgresql://me@db/labels", "postgresql://me@db/labels"),
    ("postgresql://:secret@db/labels", "postgresql://@db/labels"),
    ("postgresql:///labels", "postgresql:///labels"),
    ("postgresql://me:secret@[::1]:5432/labels", "postgresql://me@[::1]:5432/labels"),
    ("postgresql://me:secret@a:1,b:2/labels", "postgresql://me@a:1,b:2/labels"),
    ("postgresql://db/labels?user=me&password=secret&sslmode=require", "postgresql://db/labels?user=me"),
    ("postgresql:///?service=work&sslpassword=secret", "postgresql:///?service=work"),
    ("postgresql:///?oauth_client_secret=secret", "postgresql:///"),
    ("mysql://me:secret@db/labels", "mysql://me@db/labels"),
    ("host=db user=me password=secret dbname=x", "host=db user=me password=… dbname=x"),
    ("host=db password = 'se\\'cret' user=me", "host=db password = … user=me"),
    ("labels.csv", "labels.csv"),
    # What is no proper address shows less rather than more:
    ("postgresql://me:se:cret@db/labels", "postgresql://me@db/labels"),
    ("postgresql://me:sec@ret@db:5432/labels", "postgresql://me@db:5432/labels"),
    ("postgresql://me:sec/ret@db/labels", "postgresql://me@db/labels"),
    ("postgresql://me:sec?ret@db/labels", "postgresql://me"),
    ("postgresql://me:secret/labels", "postgresql://me:…/labels"),
    ("postgresql://me:secret", "postgresql://me:…"),
]


@pytest.mark.parametrize(("address", "shown"), PUBLIC)
def test_what_messages_show(address: str, shown: str) -> None:
    assert addresses.public(address) == shown


PASSWORDS = st.text("abcXYZ019:/@?#&%=+ é'\"\\;,[]", min_size=8, max_size=20)


@given(PASSWORDS)
def test_no_password_is_shown_however_it_is_written(middle: str) -> None:
    password = f"SECRET{middle}TERCES"
    encoded = quote(password, safe="")
    proper = [f"postgresql://me:{encoded}@db:5432/labels", f"postgresql://db/labels?password={encoded}"]
    for address in (*proper, f"postgresql://me:{password}@db:5432/labels"):
        shown = addresses.public(address)
        assert "SECRET" not in shown and "TERCES" not in shown
    for address in proper:
        told = addresses.without_secrets(f"failed for {password} and {encoded}, password={password[:6]}", address)
        assert told == "failed for … and …, password=…"


UNCLEAR = [
    "postgresql://me:p@ss@db/labels",
    "postgresql://me:p/ss@db/labels",
    "postgresql://me:p?ss@db/labels",
    "postgresql://me:pass/labels",
    "postgresql://me:pass@db:port/labels",
]


@pytest.mark.parametrize("address", UNCLEAR)
def test_an_address_that_can_be_read_in_two_ways_is_refused(address: str) -> None:
    with pytest.raises(spagree.UsageError, match="percent-encoded") as caught:
        spagree.measure(address, query="SELECT 1")
    assert "ss" not in str(caught.value).replace("address", "").replace("pgpass", "").replace("PGPASSWORD", "").replace(
        "password", ""
    )


@pytest.mark.parametrize(
    "address", ["postgresql://me:pass@db:5432/x", "postgresql://db:5432/x?user=me", "postgresql:///x"]
)
def test_a_clear_address_passes(address: str) -> None:
    addresses.refuse_ambiguous(address)


def test_parameters_libpq_does_not_know_are_refused_without_repeating_them() -> None:
    with pytest.raises(spagree.UsageError, match="cannot parse the address") as caught:
        spagree.measure("postgresql://db/x?pasword=hidden1", query="SELECT 1")
    assert "hidden1" not in str(caught.value) and caught.value.__cause__ is None


@pytest.mark.parametrize("query", [None, "SELECT 1"])
@pytest.mark.parametrize(
    "address", ["mysql://me:hidden1@db/x", "mssql+pyodbc://me:hidden1@db/x", "host=db password=hidden1"]
)
def test_other_databases_get_a_clear_answer(address: str, query: str | None) -> None:
    with pytest.raises(spagree.SpagreeError) as caught:
        spagree.measure(address, query=query)
    assert "hidden1" not in str(caught.value)
    if "://" in address:
        assert "PostgreSQL (postgresql://…) and SQLite" in str(caught.value)


def test_a_database_read_as_a_table_needs_a_query(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "x.db")) as connection:
        connection.execute("CREATE TABLE labels (item)")
    for address in ("postgresql://me:hidden1@db/x", f"sqlite:///{tmp_path}/x.db"):
        with pytest.raises(spagree.UsageError, match='query="SELECT') as caught:
            spagree.measure(address, format="long")
        assert "hidden1" not in str(caught.value)
    with pytest.raises(spagree.FileError, match="no such file"):
        spagree.measure(f"sqlite:///{tmp_path}/elsewhere.db")


def test_an_address_the_driver_refuses_is_not_called_a_refused_query() -> None:
    with pytest.raises(spagree.FileError, match=r"the database cannot be read .*connect_timeout.*; check"):
        spagree.measure("postgresql://db/x?connect_timeout=soon", query="SELECT 1")


SECRET = "s3cr3t"
ADDRESSES = [
    f"postgresql://me:{SECRET}@db/x", f"postgresql:/me:{SECRET}@db/x", f"postgresql:me:{SECRET}@db/x",
    f"jdbc:postgresql://db/x?user=me&password={SECRET}", f"jdbc:postgresql://me:{SECRET}@db/x",
    f"jdbc:sqlserver://db:1433;user=me;password={SECRET};x=y", f"jdbc:oracle:thin:me/{SECRET}@db:1521",
    f"s3a://key:{SECRET}@bucket/x.parquet", f"host=db password={SECRET}", f"host=db password='{SECRET} x'",
    f"mysql://me:{SECRET}@db/x", f"https://me:{SECRET}@example.com/x.csv", f"hdfs://me:{SECRET}@db/*.parquet",
]  # fmt: skip


@pytest.mark.parametrize("address", ADDRESSES)
def test_a_password_is_never_shown_whatever_the_address_looks_like(address: str, run: Run, tmp_path: Path) -> None:
    commands = [
        ("score", address), ("score", address, "--query", "SELECT 1"), ("items", address), ("score", address, address),
        ("merge", address, "-o", tmp_path / "all.json"), ("tally", address, "-o", tmp_path / "t.json"),
        ("score", f"{address}.csv", "--engine", "spark"),
    ]  # fmt: skip
    for command in commands:
        code, out, error = run(*command)
        assert code in (2, 4)
        assert SECRET not in out + error, command
