"""The words by which readers know what columns and cells hold, in every language: words.toml, read when needed."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Mapping, Sequence
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


def plain_name(column: str) -> str:
    """A name without case and separators: Annotator_ID, annotator id and annotatorId become the same.

    >>> plain_name("Annotator ID")
    'annotatorid'
    """
    return "".join(character for character in column.casefold() if character.isalnum())


def words_of(column: str) -> list[str]:
    """The words of a name, split at changes of case, blanks, punctuation and digits.

    >>> words_of("finalLabel_2")
    ['final', 'label', '2']
    """
    return [word.casefold() for word in re.findall(r"[A-Z]?[^\W\d_A-Z]+|[A-Z]+|\d+", column)]


def named_like(name: str, known: Collection[str]) -> bool:
    """Whether a name is one of the words, alone or with a number.

    >>> [named_like(name, words("named_items")) for name in ("Image 12", "imagery", "task_a")]
    [True, False, True]
    """
    parts = words_of(name)
    rest = [word for word in parts if word not in known]
    return 0 < len(parts) > len(rest) and all(word.isdigit() or len(word) == 1 for word in rest)


def is_person(name: str) -> bool:
    """Whether a column is named like an annotator.

    >>> is_person("Annotator 1"), is_person("rater_b_label"), is_person("coder2"), is_person("ann1_tone")
    (True, True, True, False)
    """
    rest = [word for word in words_of(name) if word not in words("named_answers")]
    return len(rest) > 1 and named_like(" ".join(rest), words("named_people"))


def is_item(name: str) -> bool:
    """Whether a column is named like an item: image_3, or a question.

    >>> is_item("Image 3"), is_item("q1_rating"), is_item("Is this rude?"), is_item("Rate [Image 3]"), is_item("Maria")
    (True, True, True, True, False)
    """
    rest = " ".join(word for word in words_of(name) if word not in words("named_answers"))
    return any(named_like(each, words("named_items")) for each in (name, rest)) or name.rstrip().endswith(("?", "]"))


def is_numbered(names: Sequence[str]) -> bool:
    """Whether columns are called 1, 2, 3 …, as --no-header calls them."""
    return list(names) == [str(n) for n in range(1, len(names) + 1)]
