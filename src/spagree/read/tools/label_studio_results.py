"""What Label Studio stores for one annotation, and the aliases of its choices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from sys import intern
from typing import Any

from spagree.errors import DataError, FileError
from spagree.read.files.json import as_text
from spagree.read.table import shown
from spagree.read.tools.answers import Record, answer, known, one_or_more, part
from spagree.read.tools.tool import ReaderOptions, Value

AFTER_ALL = 2**62  # the number of every draft, so drafts sort last
TEXTS = ("text", "content", "title", "html", "dialogue", "image", "audio", "video")  # the usual keys of the data
SIMPLE = ("choices", "labels", "rating", "number", "selected", "text", "datetime")
# A value with one of these keys marks a region or an order: in text, an image, audio, video or a list.
REGIONS = frozenset(
    {"start", "end", "startOffset", "x", "y", "points", "vertices", "rle", "sequence", "ranges", "ranker"}
)


@dataclass(slots=True)
class Seen:
    """What the reader found that the user should know."""

    edited: int = 0
    regions: int = 0
    repeated: int = 0
    controls: set[str] = field(default_factory=set)
    ratings: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class Aliases:
    """Stored value of a choice → its text, by control."""

    by_control: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def text(self, control: str, stored: str) -> str:
        """The text of a choice, whichever of the two was stored."""
        return self.by_control.get(control, {}).get(stored, stored)

    def value(self, control: str, value: Value) -> Value:
        """The same for a whole answer."""
        if value is None or isinstance(value, str):
            return value and self.text(control, value)
        return one_or_more(self.text(control, option) for option in value)


class _Config(HTMLParser):
    """Parses the labelling configuration tag by tag: Choice elements inside their control."""

    def __init__(self) -> None:
        super().__init__()
        self.control = ""
        self.aliases: dict[str, dict[str, str]] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Remember the control, and each choice with an alias."""
        attributes = dict(attrs)
        if attributes.get("name") and attributes.get("toname"):
            self.control = attributes["name"] or ""
        if tag == "choice" and attributes.get("alias") and attributes.get("value"):
            self.aliases.setdefault(self.control, {})[attributes["alias"] or ""] = attributes["value"] or ""


def aliases(config: str) -> Aliases:
    """The aliases in a labelling configuration.

    >>> xml = '<Choices name="mood" toName="t"><Choice value="Neutral" alias="neu"/></Choices>'
    >>> aliases(xml).text("mood", "neu"), aliases(xml).text("mood", "Neutral")
    ('Neutral', 'Neutral')
    """
    parser = _Config()
    parser.feed(config)
    return Aliases(parser.aliases)


def config_aliases(options: ReaderOptions) -> Aliases:
    """The aliases in the configuration the user named; none without one."""
    if options.config is None:
        return Aliases()
    try:
        text = Path(options.config).read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(
            f"--config {options.config}: cannot be read ({error}); give the labelling configuration"
        ) from None
    if "<" not in text:
        raise DataError(
            f"--config {options.config}: not a labelling configuration (XML); copy it from the project settings"
        )
    return aliases(text)


def answers(place: str, result: Sequence[Any], named: Aliases, seen: Seen) -> dict[str, dict[str, Value]]:
    """The answers of an annotation by item of a list ("" for the whole task) and control.

    Marked regions and choices about a region are not classes: they are counted and ignored.
    """
    by_suffix: dict[str, dict[str, Value]] = {"": {}}
    for entry in result:
        if not isinstance(entry, dict):
            raise DataError(f"{place}: a result should be an object, found {shown(as_text(entry))}")
        value, control, number = entry.get("value"), entry.get("from_name"), entry.get("item_index")
        if type(value) is not dict:
            value = part(entry, "value", dict, place)
        if not control:
            continue
        if not REGIONS.isdisjoint(value):
            seen.regions += 1
            continue
        control = intern(str(control))
        label = named.value(control, simple_value(value)) if named.by_control else simple_value(value)
        labels = by_suffix[""] if number is None else by_suffix.setdefault(f" {as_text(number)}", {})
        if control in labels:
            seen.repeated += 1
            label = both(labels[control], label)
        labels[control] = label
        seen.controls.add(control)
        if "rating" in value:
            seen.ratings.add(control)
    return by_suffix


def person(who: Any, options: ReaderOptions) -> str | None:
    """The user's number, which all formats share; snapshots also have ``--annotator email``."""
    if type(who) is int:
        return str(who)
    return known(who.get(options.annotator or "id")) if isinstance(who, dict) else known(who)


def both(first: Value, second: Value) -> Value:
    """Two answers to one control are one set."""
    return one_or_more(
        option for value in (first, second) for option in ((value,) if isinstance(value, str) else value or ())
    )


def simple_value(value: Record) -> Value:
    """What a control stores, whatever its kind; a path of a taxonomy is one option."""
    if "taxonomy" in value:
        paths = value["taxonomy"] if isinstance(value["taxonomy"], list) else []
        return one_or_more(" / ".join(map(as_text, path)) for path in paths if isinstance(path, list))
    for key in SIMPLE:
        if key in value:
            return answer(value[key])
    return None
