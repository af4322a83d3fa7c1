"""Names for annotators that reveal nothing about them, the same in every run and for every source.

A pseudonym is an HMAC-SHA-256 of the name: anyone with the key can find out by trying names which pseudonym belongs
to whom; nobody else can. The key is the user's, or a random one stored in a file.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from spagree.errors import DataError, FileError, MissingExtraError, SpagreeError, UsageError
from spagree.late import nw
from spagree.messages import opt, spelled
from spagree.read.annotations import ANNOTATOR, ITEM, LABEL, Annotations
from spagree.read.columns import as_text
from spagree.read.frames import is_spark
from spagree.read.table import EXACT
from spagree.understood import Caution, Understood
from spagree.write import write_atomically

DIGITS = 24  # 96 bits
BLOCK = 64  # block size of SHA-256 in bytes, to which HMAC pads the key
VARIABLE = "SPAGREE_PSEUDONYM_KEY"
QUOTED = re.compile(r"""(?<!\w)(?<!format=)(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")""")
KNOWN = re.compile(r"([Kk]nown): [^\n]*")
FILE = re.compile(r"[^\s/]+(\.(?:csv|tsv|jsonl?|ndjson|parquet)\b)")


def pseudonym(annotator: str, key: str) -> str:
    """The pseudonym of an annotator.

    >>> pseudonym("ann@example.com", "s3cret"), pseudonym("ann@example.com", "another")
    ('annotator-6541858d6a92be63c5d8a74f', 'annotator-e6d4315a3c7c6ae7667f0b68')
    """
    return "annotator-" + hmac.new(key.encode(), annotator.encode(), hashlib.sha256).hexdigest()[:DIGITS]


def key_for(salt: object) -> tuple[str, tuple[Caution, ...]]:
    """The key: given as text, in a file or in the environment, or a random one kept for this user."""
    if isinstance(salt, os.PathLike):
        return _of_file(Path(salt)), ()
    if isinstance(salt, str):
        return _not_empty(salt, "the salt"), ()
    if salt is not True:
        raise UsageError(f"pseudonymise {salt!r}: give True, a secret text, or the path of a file that holds one")
    if VARIABLE in os.environ:
        return _not_empty(os.environ[VARIABLE], f"the environment variable {VARIABLE}"), ()
    return _kept()


def _not_empty(key: str, where: str) -> str:
    if not key.strip():
        raise UsageError(f"{where} is empty: without a secret, pseudonyms can be reversed by trying names; fill it in")
    return key


def _of_file(path: Path) -> str:
    try:
        return _not_empty(path.read_text("utf-8").strip(), f"the file {path}")
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(f"{path}: the key for pseudonyms cannot be read ({error}); check the file") from error


def _kept() -> tuple[str, tuple[Caution, ...]]:
    """The random key of this user, created when it is first needed."""
    folder = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "spagree"
    path = folder / "pseudonym-key"
    if path.exists():
        return _of_file(path), ()
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_atomically(path, _write_key)
    except OSError as error:  # or another process was faster, or the folder is not writable
        if not path.exists():
            raise FileError(
                f"{path}: the key for pseudonyms cannot be stored ({error}); give one with {opt.salt}"
            ) from error
    message = (
        "a random key for the pseudonyms was made and stored in the file spagree/pseudonym-key of your configuration: "
        "it makes them the same in every run. Keep it secret, and copy it to get the same ones on another machine."
    )
    return _of_file(path), (Caution("pseudonym_key", message),)


def _write_key(path: Path) -> None:
    """Write the key so that only this user can ever read it."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(secrets.token_hex(32))


@contextmanager
def names_hidden(*, hide_files: bool) -> Iterator[None]:
    """Errors raised inside quote no cell, column or known name, and no file name if files are named after annotators.

    Pseudonyms do not exist before everything is read, and any of these may be the name of a person.
    """
    try:
        yield
    except MissingExtraError:
        raise
    except SpagreeError as error:
        hidden = _unquoted(str(error), hide_files)
        error.args = (spelled(f"{hidden} (names are hidden; leave {opt.pseudonymise} out to see them)"),)
        if isinstance(error, DataError):
            error.problems = tuple(_unquoted(problem, hide_files) for problem in error.problems)
        raise error from None


def _unquoted(message: str, hide_files: bool) -> str:
    r"""The message without what it quotes.

    >>> _unquoted("votes/ann.csv:3: 'Ann' and \"O'Hara\" disagree; Known: Ann, Bob", hide_files=True)
    "votes/….csv:3: '…' and '…' disagree; Known: …"
    """
    hidden = KNOWN.sub(r"\1: …", QUOTED.sub("'…'", message))
    return FILE.sub(r"…\1", hidden) if hide_files else hidden


def pseudonymised(annotations: Annotations, key: str) -> Annotations:
    """The same annotations, with pseudonyms for the annotators."""
    if not annotations.has_annotators:
        return annotations
    frame = annotations.frame
    names = frame.collect_schema().names()
    if frame.implementation is nw.Implementation.DUCKDB:
        changed = _hashed_by_duckdb(frame, key)
    elif is_spark(frame):
        changed = _hashed_by_spark(frame, key)
    else:
        changed = _replaced(frame, key)
    return replace(annotations, rows=changed.select(names), understood=_unnamed(annotations.understood, key))


def _pads(key: str) -> tuple[bytes, bytes]:
    """The inner and outer padding of HMAC."""
    secret = key.encode() if len(key.encode()) <= BLOCK else hashlib.sha256(key.encode()).digest()
    padded = secret.ljust(BLOCK, b"\0")
    return bytes(byte ^ 0x36 for byte in padded), bytes(byte ^ 0x5C for byte in padded)


def _hashed_by_duckdb(frame: nw.LazyFrame[Any], key: str) -> nw.LazyFrame[Any]:
    """HMAC in SQL, because duckdb has only the hash; whole floats are written without decimals, as everywhere."""
    inside, outside = (f"unhex('{pad.hex()}')" for pad in _pads(key))
    text = f"CAST({ANNOTATOR} AS VARCHAR)"
    if frame.collect_schema()[ANNOTATOR].is_float():
        is_whole = f"{ANNOTATOR} = trunc({ANNOTATOR}) AND abs({ANNOTATOR}) < {EXACT}"
        text = f"CASE WHEN {is_whole} THEN CAST(CAST({ANNOTATOR} AS BIGINT) AS VARCHAR) ELSE {text} END"
    hashed = f"sha256({outside} || unhex(sha256({inside} || encode({text}))))"
    named = f"'annotator-' || left({hashed}, {DIGITS})"
    changed: nw.LazyFrame[Any] = nw.from_native(frame.to_native().project(f"* REPLACE ({named} AS {ANNOTATOR})"))
    return changed


def _hashed_by_spark(frame: nw.LazyFrame[Any], key: str) -> nw.LazyFrame[Any]:
    """Runs on the executors; no name leaves them."""
    from pyspark.sql import functions as sql

    kind = frame.collect_schema()[ANNOTATOR]
    if not (kind in (nw.String, nw.Boolean) or kind.is_integer()):
        raise UsageError(
            f"{opt.pseudonymise}: the annotators are of type {kind}, which Spark writes as text differently, so "
            f"pseudonyms would differ from those of other sources; make them text, or use {opt.engine('duckdb')}"
        )
    inside, outside = (sql.lit(pad) for pad in _pads(key))
    text = sql.encode(sql.col(ANNOTATOR).cast("string"), "UTF-8")
    hashed = sql.sha2(sql.concat(outside, sql.unhex(sql.sha2(sql.concat(inside, text), 256))), 256)
    name = sql.concat(sql.lit("annotator-"), sql.substring(hashed, 1, DIGITS))
    changed: nw.LazyFrame[Any] = nw.from_native(frame.to_native().withColumn(ANNOTATOR, name))
    return changed


def _replaced(frame: nw.LazyFrame[Any], key: str) -> nw.LazyFrame[Any]:
    """For engines that cannot hash: collect the names, then replace them."""
    text = frame.with_columns(as_text(ANNOTATOR, frame.collect_schema()[ANNOTATOR]).alias(ANNOTATOR))
    names = text.select(ANNOTATOR).unique().filter(~nw.col(ANNOTATOR).is_null()).collect(backend="polars")
    pseudonyms = {name: pseudonym(name, key) for name in names[ANNOTATOR].to_list()}
    if not pseudonyms:
        return frame
    try:
        return text.with_columns(nw.col(ANNOTATOR).replace_strict({**pseudonyms, None: None}, return_dtype=nw.String))
    except (NotImplementedError, AttributeError, ValueError) as error:
        engine = frame.implementation.value
        raise UsageError(
            f"{opt.pseudonymise}: {engine} cannot replace names; use polars, pandas or Spark, or a file"
        ) from error


def _unnamed(understood: Understood, key: str) -> Understood:
    """How the source was understood, without names in its examples."""
    if ANNOTATOR not in understood.columns:
        return understood
    if {ITEM, LABEL} <= understood.columns.keys():
        rows = [(item, who and pseudonym(who, key), *rest) for item, who, *rest in understood.examples]
        return replace(understood, examples=tuple(rows))
    # in a wide table, the names of the columns are the annotators
    return replace(understood, columns={**understood.columns, ANNOTATOR: "pseudonyms"})
