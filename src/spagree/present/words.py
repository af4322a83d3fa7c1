"""The one place where numbers and user text become words.

A figure never says 1 or 0 unless it is exactly 1 or 0, and no label can control the
terminal: control characters and invisible direction marks are shown, not obeyed.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from math import floor, log10
from types import MappingProxyType
from typing import NamedTuple

from spagree.counts.policies import AFTER_FIRST, LEFT_OUT
from spagree.estimate import Estimate
from spagree.estimate.uncertainty import Interval
from spagree.read.timestamps import is_date


class State(NamedTuple):
    """How the state of a check is shown: a word, a sign readable without colour, and a colour."""

    word: str
    sign: str
    colour: str


STATES = {
    "fine": State("fine", "✓", "green"),
    "look": State("warning", "!", "yellow"),
    "problem": State("problem", "✕", "bold red"),
}

MOST_DIGITS = 6
NOISE = 1e-12  # a 0 up to rounding error
SHORT, LONGEST_NAME = 40, 60  # characters
SHORTEST, LONG = 6, 16  # characters by which a name is told from others, and of one that is shortened so
MIDNIGHT = " 00:00"
STEERING = re.compile(
    r"[\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff]"
)
NO_NAMES: Mapping[str, str] = MappingProxyType({})
JOINER, PICTURE = "\u200d", "\ufe0f"
# Names that every JavaScript object already has, so a library that uses names as keys would find them there.
TAKEN = frozenset(
    ("__defineGetter__", "__defineSetter__", "__lookupGetter__", "__lookupSetter__", "__proto__", "constructor",
     "hasOwnProperty", "isPrototypeOf", "propertyIsEnumerable", "toLocaleString", "toString", "valueOf")
)  # fmt: skip


def figure(value: float | None, digits: int = 3) -> str:
    """A probability or coefficient with ``digits`` decimals, more if it would wrongly show as 1 or 0.

    >>> figure(0.7416), figure(1.0), figure(0.99996), figure(1 - 1e-9), figure(0.0), figure(2e-5)
    ('0.742', '1', '0.99996', '>0.999999', '0', '0.00002')
    >>> figure(-3e-17), figure(-1e-8), figure(-1 + 1e-9), figure(None)
    ('0', '>-0.000001', '<-0.999999', 'undefined')
    """
    if value is None:
        return "undefined"
    if abs(value) < NOISE:
        return "0"
    if value in (1, -1):
        return f"{value:.0f}"
    for places in range(digits, MOST_DIGITS + 1):
        shown = f"{value:.{places}f}"
        if float(shown) not in (0, 1, -1):
            return shown
    sign, (inner, outer) = ("", "<>") if value > 0 else ("-", "><")
    if abs(value) < 0.5:  # nearer to 0 than to 1
        return f"{inner}{sign}{10**-MOST_DIGITS:.{MOST_DIGITS}f}"
    return f"{outer}{sign}{1 - 10**-MOST_DIGITS:.{MOST_DIGITS}f}"


def percent(value: float | None) -> str:
    """A probability as a percentage for a sentence.

    >>> percent(0.7416), percent(1), percent(0.998), percent(0.00004), percent(None)
    ('74%', '100%', '99.8%', '0.004%', 'undefined')
    """
    if value is None:
        return "undefined"
    if abs(value) < NOISE or value == 1:
        return f"{abs(value):.0%}"
    for places in range(MOST_DIGITS):
        shown = f"{value:.{places}%}"
        if 0 < float(shown[:-1]) < 100 and (0.01 <= value <= 0.99 or places):
            return shown
    return ">99.99999%" if value > 0.5 else "<0.00001%"


def interval(estimate: Estimate | Interval, digits: int = 3) -> str:
    """The interval as text.

    >>> interval(Estimate(0.5, 0.1, 0.31, 0.69, 0.95, "flat"))
    '0.310 to 0.690'
    """
    return limits(estimate.low, estimate.high, digits)


def limits(low: float | None, high: float | None, digits: int = 3) -> str:
    """Two ends of a range as text.

    >>> limits(0.31, 0.69), limits(None, None)
    ('0.310 to 0.690', 'undefined')
    """
    return "undefined" if low is None or high is None else f"{figure(low, digits)} to {figure(high, digits)}"


def span(difference: Estimate | Interval) -> str:
    """The interval of a difference, with true minus signs.

    >>> span(Interval(0.02, -0.03, 0.05))
    '−0.030 to 0.050'
    """
    return limits(difference.low, difference.high).replace("-", "−")


def plus_minus(half_width: float) -> str:
    """Half an interval's width with two significant digits, so a small one is not rounded up.

    >>> plus_minus(0.0394), plus_minus(0.02), plus_minus(0.0005), plus_minus(0.12)
    ('±0.039', '±0.02', '±0.0005', '±0.12')
    """
    if half_width < NOISE:
        return "±0"
    places = max(2, 1 - floor(log10(half_width)))
    whole, _, decimals = f"{half_width:.{places}f}".partition(".")
    return f"±{whole}.{decimals.rstrip('0').ljust(2, '0')}"


def change(value: float | None) -> str:
    """A difference with its sign.

    >>> change(0.0123), change(-0.5), change(0.0), change(None)
    ('+0.012', '−0.500', '0', '–')
    """
    if value is None:
        return "–"
    return "0" if abs(value) < NOISE else f"{value:+.3f}".replace("-", "−")


def p_value(p: float) -> str:
    """A p-value as papers print it.

    >>> p_value(0.0321), p_value(0.00004)
    ('p = 0.032', 'p < 0.001')
    """
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def number(value: float) -> str:
    """A count or a median, without a needless decimal.

    >>> number(3.0), number(2.5)
    ('3', '2.5')
    """
    return f"{value:,.0f}" if value == int(value) else f"{value:,.1f}"


def moment(seconds: float) -> str:
    """A time in words: a date if the number must be one, otherwise the number.

    >>> moment(1709301900.0), moment(17.0)
    ('2024-03-01 14:05', '17')
    """
    if not is_date(seconds):
        return number(seconds)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M}"


def without_midnight(moments: Sequence[str]) -> list[str]:
    """Moments in words, as days if all of them are days.

    >>> without_midnight(["2024-03-01 00:00"]), without_midnight(["2024-03-01 00:00", "2024-03-01 14:05"])
    (['2024-03-01'], ['2024-03-01 00:00', '2024-03-01 14:05'])
    """
    days = all(words.endswith(MIDNIGHT) for words in moments)
    return [words.removesuffix(MIDNIGHT) if days else words for words in moments]


def printable(text: str, width: int = SHORT) -> str:
    r"""User text made harmless and short: control and direction characters are escaped.

    >>> print(printable("red\x1b[31m"), printable("a\u202eb"), printable("x" * 50, width=5))
    red\x1b[31m a\u202eb xxxx…
    """
    shown = escape_controls(text.replace("\n", "\\n"))
    return shown if len(shown) <= width else shown[: width - 1] + "…"


def escape_controls(text: str) -> str:
    r"""Escape control, format and surrogate characters; line feeds and joiners between emoji stay.

    >>> print(escape_controls("a\u200db"), escape_controls("👩\u200d🔬") == "👩\u200d🔬")
    a\u200db True
    """
    if JOINER not in text:
        return "".join(_escape(character) for character in text)
    beside = zip(" " + text, text, text[1:] + " ", strict=False)
    return "".join(
        here if here == JOINER and _joins(before, after) else _escape(here) for before, here, after in beside
    )


def json_escapes(text: str) -> str:
    r"""JSON with \u escapes for control, format and direction characters, which could control a terminal.

    >>> print(json_escapes('"a' + chr(0x202E) + chr(0x9B) + '"'))
    "a\u202e\u009b"
    """
    return STEERING.sub(lambda match: json.dumps(match[0])[1:-1], text)


def _joins(before: str, after: str) -> bool:
    """Whether a joiner between the two only combines emoji, which is harmless."""
    pictures = ("So", "Sk")  # signs and skin tones
    return (unicodedata.category(before) in pictures or before == PICTURE) and unicodedata.category(after) == "So"


def _escape(character: str) -> str:
    if character == "\n" or unicodedata.category(character) not in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp"):
        return character
    return character.encode("unicode_escape").decode("ascii")


def quoted(label: str) -> str:
    """A label, quoted if its ends would otherwise be invisible.

    >>> quoted("yes"), quoted("no "), quoted("")
    ('yes', "'no '", "''")
    """
    shown = printable(label, 24)
    return shown if label and label == label.strip() else f"'{shown}'"


def short_names(names: Iterable[str], width: int = SHORT, called: Mapping[str, str] = NO_NAMES) -> dict[str, str]:
    """User names, or what they are called, made harmless and short, but still distinct.

    >>> short_names(["yes", "a" * 50 + "1", "a" * 50 + "2"], width=8)["a" * 50 + "2"]
    '(2) aaa…'
    >>> short_names(["", " no"])
    {'': "''", ' no': "' no'"}
    >>> short_names(["toString"])
    {'toString': "'toString'"}
    """
    shortened: dict[str, str] = {}
    for name in dict.fromkeys(names):
        plain = bool(name) and name == name.strip() and name not in TAKEN
        short = printable(called.get(name, name), width)
        shown, number = short if plain else f"'{printable(name, width - 2)}'", 1
        while shown in shortened.values():
            number += 1
            shown = printable(f"({number}) {short}", width)
        shortened[name] = shown
    return shortened


def shortest_unique(names: Iterable[str]) -> dict[str, str]:
    """Long names by the beginnings or ends in which all differ, whichever are shorter.

    >>> shortest_unique(["06e9e57e549d4d48d8", "06ffe57e549d4d48d8"]), shortest_unique(["train-1", "train-20"])
    ({'06e9e57e549d4d48d8': '06e9e5…', '06ffe57e549d4d48d8': '06ffe5…'}, {'train-1': 'train-1', 'train-20': 'train-20'})
    >>> shortest_unique(["a long shared beginning 1", "a long shared beginning 2"])["a long shared beginning 2"]
    '…ning 2'
    """
    distinct = list(dict.fromkeys(names))
    if max(map(len, distinct), default=0) > LONG:
        for size in range(SHORTEST, LONG):
            for part, around in ((slice(None, size), "{}…"), (slice(-size, None), "…{}")):
                if len({name[part] for name in distinct}) == len(distinct):
                    short = {name: around.format(name[part]) if len(name) > size + 1 else name for name in distinct}
                    return {name: printable(each, LONGEST_NAME) for name, each in short.items()}
    return {name: printable(name, LONGEST_NAME) or "''" for name in distinct}


def label_list(labels: Mapping[str, int], most: int = 6) -> str:
    """The commonest labels with their counts.

    >>> label_list({"yes": 3, "no": 9})
    'no: 9, yes: 3'
    """
    ordered = sorted(labels.items(), key=lambda pair: (-pair[1], pair[0]))
    shown = ", ".join(f"{quoted(label)}: {size:,}" for label, size in ordered[:most])
    return shown + (f", … {len(ordered) - most:,} more" if len(ordered) > most else "")


def left_out(reason: str) -> str:
    """Why annotations were not used, in words.

    >>> left_out("after_first_2"), left_out("missing_label")
    ('after the first 2 of their item', 'no label')
    """
    return LEFT_OUT.get(reason, f"after the first {reason.removeprefix(AFTER_FIRST)} of their item")


FIGURES = {
    "spa": "SPA",
    "krippendorff_alpha": "alpha",
    "exact": "whole spans",
    "characters": "characters",
    "exact_any_label": "whole spans, any label",
    "characters_any_label": "characters, any label",
    "characters_beyond_chance": "characters beyond chance",
    "same": "the same mark",
    "other_label": "another label",
    "other_boundaries": "other boundaries",
    "both": "both",
    "nothing": "nothing",
}
"""What is compared; also what a mark meets at another annotator."""


def with_and(words: Sequence[str]) -> str:
    """Words as a list in a sentence.

    >>> with_and(["ann", "bob", "cyd"]), with_and(["ann"])
    ('ann, bob and cyd', 'ann')
    """
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


def sentence(words: str) -> str:
    """A message as a sentence.

    >>> sentence("no time column")
    'No time column.'
    """
    return words[:1].upper() + words[1:] + ("" if words.endswith((".", "!", "?")) else ".")


def chips(label: str) -> tuple[str, ...]:
    """The options of a label that is a list of them; empty for other labels.

    >>> chips('["red", "blue"]'), chips("[]"), chips("red"), chips("[sic]")
    (('blue', 'red'), ('none',), (), ())
    """
    if not (label.startswith("[") and label.endswith("]")):
        return ()
    try:
        options = json.loads(label)
    except ValueError:
        return ()
    return tuple(printable(option, LONGEST_NAME) for option in sorted(map(str, options))) or ("none",)
