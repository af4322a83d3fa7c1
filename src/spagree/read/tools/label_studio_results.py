"""What Label Studio stores for one annotation, and the aliases of its choices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from spagree.errors import DataError, FileError
from spagree.read.files.json_text import as_text
from spagree.read.tables import shown
from spagree.read.tools.answers import Record, answer, one_or_more, part
from spagree.read.tools.tool import ReaderOptions, Response, Value

SIMPLE = {"choices": "choices", "labels": "labels", "rating": "rating", "number": "number", "selected": "pairwise",
          "text": "textarea", "datetime": "datetime"}  # fmt: skip
SPANS = ("start", "end", "x", "y", "points", "startOffset")  # a value with one of these marks a region


@dataclass(frozen=True, slots=True)
class Completion:
    """One annotation with its number: they are ordered by it, because formats list them differently."""

    number: int
    response: Response
    is_edited: bool = False


@dataclass(frozen=True, slots=True)
class Aliases:
    """What the browser stores for a choice → the text of the choice, by control."""

    by_control: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def text(self, control: str, stored: str) -> str:
        """The text of a choice, whichever of the two was stored."""
        return self.by_control.get(control, {}).get(stored, stored)

    def value(self, control: str, value: Value) -> Value:
        """The same for a whole answer."""
        if value is None or isinstance(value, str):
            return value and self.text(control, value)
        return one_or_more(self.text(control, each) for each in value)


class _Config(HTMLParser):
    """The labelling configuration, read tag by tag: Choice elements below the control that holds them."""

    def __init__(self) -> None:
        super().__init__()
        self.control = ""
        self.found: dict[str, dict[str, str]] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Remember the control, and each choice with an alias."""
        given = dict(attrs)
        if given.get("name") and given.get("toname"):
            self.control = given["name"] or ""
        if tag == "choice" and given.get("alias") and given.get("value"):
            self.found.setdefault(self.control, {})[given["alias"] or ""] = given["value"] or ""


def aliases(config: str) -> Aliases:
    """The aliases in a labelling configuration.

    >>> xml = '<Choices name="mood" toName="t"><Choice value="Neutral" alias="neu"/></Choices>'
    >>> aliases(xml).text("mood", "neu"), aliases(xml).text("mood", "Neutral")
    ('Neutral', 'Neutral')
    """
    parser = _Config()
    parser.feed(config)
    return Aliases(parser.found)


def given_aliases(asked: ReaderOptions) -> Aliases:
    """The aliases in the configuration the user named; none without one."""
    if asked.config is None:
        return Aliases()
    try:
        text = Path(asked.config).read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(
            f"--config {asked.config}: cannot be read ({error}); give the labelling configuration"
        ) from None
    if "<" not in text:
        raise DataError(
            f"--config {asked.config}: is no labelling configuration (XML); copy it from the project settings"
        )
    return aliases(text)


def answers(place: str, result: Sequence[Any], named: Aliases) -> dict[str, Value]:
    """The answers of an annotation by control; marked regions are not classes."""
    found: dict[str, Value] = {}
    for each in result:
        if not isinstance(each, dict):
            raise DataError(f"{place}: a result should be an object, found {shown(as_text(each))}")
        value = part(each, "value", dict, place)
        if each.get("from_name") and not any(key in value for key in SPANS):
            control = str(each["from_name"])
            found[control] = named.value(control, simple_value(value))
    return found


def simple_value(value: Record) -> Value:
    """What a control stores, whatever its kind; a path of a taxonomy is one option."""
    if "taxonomy" in value:
        paths = value["taxonomy"] if isinstance(value["taxonomy"], list) else []
        return one_or_more(" / ".join(map(as_text, path)) for path in paths if isinstance(path, list))
    return next((answer(value[key]) for key in SIMPLE if key in value), None)
