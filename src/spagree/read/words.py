"""The words by which readers know what columns and cells hold, in every language: words.toml, read when needed."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any


@cache
def _known() -> Mapping[str, Any]:
    return tomllib.loads(Path(__file__).with_name("words.toml").read_text("utf-8"))


@cache
def ranked(name: str) -> tuple[tuple[str, ...], ...]:
    """The groups of a list, in its order; a list without groups is one.

    >>> ranked("time")[:2]
    (('createdat', 'submittedat', 'updatedat', 'annotatedat'), ('timestamp',))
    """
    groups = _known()[name]
    return tuple(tuple(group.split()) for group in ([groups] if isinstance(groups, str) else groups))


@cache
def words(*names: str) -> frozenset[str]:
    """All words of some lists.

    >>> sorted(words("on", "off"))
    ['0', '1', 'false', 'no', 'true', 'x', 'yes']
    """
    return frozenset(word for name in names for group in ranked(name) for word in group)


@cache
def phrases(name: str) -> tuple[str, ...]:
    """The entries of a list whose entries may have blanks.

    >>> phrases("trials")[0]
    'survey preview'
    """
    return tuple(_known()[name])


@cache
def texts(tool: str) -> tuple[str, ...]:
    """The fields in which a tool keeps the text of an item, the likeliest first.

    >>> texts("doccano")
    ('text', 'data', 'filename')
    """
    return tuple(_known()["texts"][tool].split())
