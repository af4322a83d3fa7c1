"""Names for annotators that reveal nothing about them, the same in every run and for every source.

A pseudonym is an HMAC-SHA-256 of the name: anyone with the key can find out by trying names which pseudonym belongs
to whom; nobody else can. The key is the user's, or a random one stored in a file.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import narwhals as nw

from spagree.errors import QUOTED as TEXTS_OF_USERS
from spagree.errors import (
    DataError,
    FileError,
    Message,
    MissingExtraError,
    Option,
    SpagreeError,
    UsageError,
    User,
    Warning,
    opt,
)
from spagree.read.annotations import ANNOTATOR, ITEM, LABEL, Annotations
from spagree.read.cells import as_text
from spagree.read.frames import is_spark
from spagree.read.table import shown, sql_literal
from spagree.write import write_atomically

DIGITS = 24  # 96 bits
VARIABLE = "SPAGREE_PSEUDONYM_KEY"


def pseudonym(annotator: str, key: str) -> str:
    """The pseudonym of an annotator.

    >>> pseudonym("ann@example.com", "s3cret"), pseudonym("ann@example.com", "another")
    ('annotator-6541858d6a92be63c5d8a74f', 'annotator-e6d4315a3c7c6ae7667f0b68')
    """
    return "annotator-" + hmac.new(key.encode(), annotator.encode(), hashlib.sha256).hexdigest()[:DIGITS]


def key_for(salt: object) -> tuple[str, tuple[Warning, ...]]:
    """The key: given as text, in a file or in the environment, or a random one kept for this user."""
    warnings: tuple[Warning, ...] = ()
    if isinstance(salt, str):
        key, where = salt, "the salt"
    elif salt is True and VARIABLE in os.environ:
        key, where = os.environ[VARIABLE], f"the environment variable {VARIABLE}"
    elif salt is True or isinstance(salt, os.PathLike):
        folder = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "spagree"
        path = folder / "pseudonym-key" if salt is True else Path(cast("os.PathLike[str]", salt))
        if salt is True and not path.exists():
            warnings = (_made(path),)
        try:
            key, where = path.read_text("utf-8").strip(), f"the file {path}"
        except (OSError, UnicodeDecodeError) as error:
            raise FileError(f"{path}: the key for pseudonyms cannot be read ({error}); check the file") from error
    else:
        raise UsageError(f"pseudonymise {shown(salt)}: give True, a secret text, or the path of a file that holds one")
    if not key.strip():
        raise UsageError(f"{where} is empty: without a secret, pseudonyms can be reversed by trying names; fill it in")
    return key, warnings


def _made(path: Path) -> Warning:
    """Store a random key so that only this user can ever read it."""

    def write(beside: Path) -> None:
        with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(secrets.token_hex(32))

    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_atomically(path, write)
    except OSError as error:  # or another process was faster, or the folder is not writable
        if not path.exists():
            raise FileError(
                f"{path}: the key for pseudonyms cannot be stored ({error}); give one with {opt.salt}"
            ) from error
    return Warning(
        "pseudonym_key",
        "a random key for the pseudonyms was made and stored in the file spagree/pseudonym-key of your configuration: "
        "it makes them the same in every run. Keep it secret, and copy it to get the same ones on another machine.",
    )


@contextmanager
def names_hidden(names: Collection[str] = ()) -> Iterator[None]:
    """Errors raised inside show nothing that the user wrote, such as cells and columns, and none of these ``names``.

    Pseudonyms do not exist before everything is read, and any of these may be the name of a person.
    """
    try:
        yield
    except MissingExtraError:
        raise
    except SpagreeError as error:
        hidden = _without_names(error.message, names)
        error.args = (Message(f"{hidden} (names are hidden; leave {opt.pseudonymise} out to see them)"),)
        if isinstance(error, DataError):
            error.problems = tuple(Message(_without_names(problem, names)) for problem in error.problems)
        raise error from None


def _without_names(message: Message, names: Collection[str]) -> str:
    """The message without what the user wrote, be it shown or given to an option."""
    written = ""
    for part in message.parts:
        if isinstance(part, User):
            written += "'…'"
        elif isinstance(part, Option):
            values = ["…"] if part.values and part.name in TEXTS_OF_USERS else part.values
            written += opt[part.name](values) or opt[part.name]
        else:
            for name in names:
                part = part.replace(name, "…")  # noqa: PLW2901 (what is left of it)
            written += part
    return written


def pseudonymised(annotations: Annotations, key: str) -> Annotations:
    """The same annotations, with pseudonyms for the annotators."""
    if not annotations.has_annotators:
        return annotations
    names = annotations.frame.collect_schema().names()
    changed, understood = _replaced(annotations.frame, key).select(names), annotations.understood
    if {ITEM, ANNOTATOR, LABEL} <= understood.columns.keys():
        rows = [(item, who and pseudonym(who, key), *rest) for item, who, *rest in understood.examples]
        understood = replace(understood, examples=tuple(rows))
    elif ANNOTATOR in understood.columns:  # in a wide table, the names of the columns are the annotators
        understood = replace(understood, columns={**understood.columns, ANNOTATOR: "pseudonyms"})
    return replace(annotations, rows=changed, understood=understood)


def _replaced(frame: nw.LazyFrame[Any], key: str) -> nw.LazyFrame[Any]:
    """The names are collected, and replaced on the engine that holds the annotations."""
    kind = frame.collect_schema()[ANNOTATOR]
    if is_spark(frame) and not (kind in (nw.String, nw.Boolean) or kind.is_integer()):
        raise UsageError(
            f"{opt.pseudonymise}: the annotators are of type {kind}, which Spark writes as text differently, so "
            f"pseudonyms would differ from those of other sources; make them text, or use {opt.engine('duckdb')}"
        )
    text = frame.with_columns(as_text(ANNOTATOR, kind).alias(ANNOTATOR))
    names = text.select(ANNOTATOR).unique().filter(~nw.col(ANNOTATOR).is_null()).collect(backend="polars")
    pseudonyms = {name: pseudonym(name, key) for name in names[ANNOTATOR].to_list()}
    if not pseudonyms:
        return frame
    if frame.implementation is nw.Implementation.DUCKDB:
        columns = (f"unnest([{', '.join(map(sql_literal, texts))}])" for texts in (pseudonyms, pseudonyms.values()))
        pairs = frame.to_native().query("annotations", f"SELECT {' AS name, '.join(columns)} AS pseudonym")
    elif is_spark(frame):
        rows = list(pseudonyms.items())
        pairs = frame.to_native().sparkSession.createDataFrame(rows, "name string, pseudonym string")
    else:
        try:
            return text.with_columns(nw.col(ANNOTATOR).replace_strict(pseudonyms, default=None, return_dtype=nw.String))
        except (NotImplementedError, AttributeError, ValueError) as error:
            engine = text.implementation.value
            raise UsageError(
                f"{opt.pseudonymise}: {engine} cannot replace names; use polars, pandas or Spark, or a file"
            ) from error
    # Joined, because both engines look values up one by one.
    joined = text.join(nw.from_native(pairs), left_on=ANNOTATOR, right_on="name", how="left")
    return joined.with_columns(nw.col("pseudonym").alias(ANNOTATOR))
