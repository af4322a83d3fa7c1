"""Labels that are sets of options, written in one cell: a;b."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from spagree.errors import DataError, UsageError
from spagree.late import nw
from spagree.read.annotations import ANNOTATOR, ITEM, LABEL, TIME
from spagree.tally.engines import column_names, engine_of, replaced
from spagree.tally.tally import text
from spagree.understood import Caution

SEPARATORS = ("|", ";", ",", "\n", "/", "+", "&", "#")
BAR, BLANK = "|", " "
BRACKETS = {"[": "]", "{": "}", "(": ")"}
PART = re.compile(r"""'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|([^\s,'"][^,'"]*)""")
MAPPING = re.compile(r"""['"]\s*:""")
ESCAPED = {r"\n": "\n", r"\t": "\t"}  # as a shell passes them on
LONGEST_OPTION = 40
SEEN_AGAIN = 0.6  # of the options inside sets also occur in other labels


def options_of(label: str, separator: str) -> list[str]:
    """The options in a label: a bracketed list, or text split at separators.

    >>> options_of("b; a;", ";"), options_of('["x", "y"]', ";"), options_of("['x', 'y']", ";")
    (['b', 'a'], ['x', 'y'], ['x', 'y'])
    """
    if label[:1] in BRACKETS and label.endswith(BRACKETS[label[0]]):
        listed = _listed(label)
        if listed is not None:
            return listed
    return [part.strip() for part in label.split(separator) if part.strip()]


def _listed(label: str) -> list[str] | None:
    """The options of a list as written by JSON, Python, numpy or PostgreSQL; None for other text in brackets.

    >>> _listed('["a"]'), _listed("['a' 'b']"), _listed("{'a', 'b'}"), _listed('{a,"b c"}'), _listed("[NAME]")
    (['a'], ['a', 'b'], ['a', 'b'], ['a', 'b c'], None)
    """
    try:
        parsed = json.loads(label)
        return [str(part) for part in parsed] if isinstance(parsed, list) else None
    except ValueError:
        inside = label[1:-1].strip()
    if MAPPING.search(inside):
        return None
    parts = PART.findall(inside)
    quoted = [one or two for one, two, bare in parts if not bare]
    if label[0] == "{":
        return [(one or two or bare).strip() for one, two, bare in parts]
    if quoted:
        return quoted if len(quoted) == len(parts) else None
    bare = inside.split(",") if "," in inside else inside.split()
    is_list = label[0] == "[" and ("," in inside or inside.replace(" ", "").isdecimal())
    return [part.strip() for part in bare if part.strip()] if is_list else None


def set_label(options: Iterable[str]) -> str:
    """One spelling for each set: sorted, without repeats, joined with | or as a JSON list.

    >>> set_label(["b", "a", "b"]), set_label(["a|b"]), set_label([])
    ('a|b', '["a|b"]', '[]')
    """
    ordered = sorted(set(options))
    plain = ordered and not any(BAR in option or option.startswith("[") for option in ordered)
    return BAR.join(ordered) if plain else json.dumps(ordered, ensure_ascii=False)


def guess_separator(labels: Iterable[Any], options: Collection[str] = ()) -> str | None:
    """The separator, if splitting labels at it gives options that also occur elsewhere, or are known.

    A space only if the same words also occur in another order: most two-word labels are not sets.

    >>> guess_separator(["a", "b;a", "b"]), guess_separator(["yes, always", "no, never"])
    (';', None)
    >>> guess_separator(["a b", "b a"]), guess_separator(["not sure", "sure"])
    (' ', None)
    >>> guess_separator(["a;b", "c"]), guess_separator(["a;b", "c"], options=("a", "b"))
    (None, ';')
    """
    texts = [text(label) for label in labels]
    fitting = {separator: _split(texts, separator, options) for separator in SEPARATORS}
    best = max(fitting, key=lambda separator: fitting[separator])
    if fitting[best]:
        return best
    words = {tuple(label.split()) for label in texts}
    return BLANK if len({frozenset(order) for order in words}) < len(words) and _split(texts, BLANK, options) else None


def _split(labels: list[str], separator: str, known_options: Collection[str]) -> int:
    """How many labels the separator splits; 0 if their parts do not occur elsewhere."""
    if not any(separator in label or label[:1] in BRACKETS for label in labels):
        return 0
    parts = [set(options_of(label, separator)) for label in labels]
    whole = set(known_options).union(*(options for options in parts if len(options) == 1))
    several = [options for options in parts if len(options) > 1]
    if not several or (separator in ",/" and all(map(_is_number, several))):
        return 0
    times = Counter(option for options in several for option in options)
    again = sum(times[option] > 1 or option in whole for option in times)
    are_short = all(len(option) <= LONGEST_OPTION for option in times)
    return len(several) if are_short and again >= SEEN_AGAIN * len(times) else 0


def _is_number(options: set[str]) -> bool:
    """Whether the parts form a number with a decimal comma, a fraction or a date."""
    return len(options) <= 3 and all(option.lstrip("+-").isdigit() for option in options)


def split_labels(
    frame: nw.LazyFrame[Any], labels: Mapping[Any, int], separator: str | None, options: Collection[str] = ()
) -> tuple[nw.LazyFrame[Any], tuple[Caution, ...]]:
    """Labels as sets in one spelling; if no separator is named, it is guessed and reported.

    ``options`` are labels and options that others gave: these labels need no splitting, and others may hold one option.
    """
    labels = {label: size for label, size in labels.items() if text(label) not in options}
    chosen = guess_separator(labels, options) if separator is None else ESCAPED.get(separator, separator)
    if chosen is None:
        return frame, ()
    if not chosen:
        raise UsageError("--separator is empty; say what separates the options, for example --separator ';'")
    texts = [text(label) for label in labels]
    if separator is not None and not options and not any(len(set(options_of(label, chosen))) > 1 for label in texts):
        raise DataError(f"--separator {separator!r}: no label holds two options; leave it out, or name another")
    changes = {label: new for label in texts if (new := set_label(options_of(label, chosen))) != label}
    caution = Caution(
        "separator",
        f"labels were split at {chosen!r} into sets of options; if that is wrong, name another with --separator",
    )
    return replaced(frame, LABEL, changes), (caution,) if separator is None and chosen != BAR else ()


def caution_sets(labels: Mapping[Any, int]) -> tuple[Caution, ...]:
    """Warn about sets compared as plain text: in another order they count as different labels."""
    separator = guess_separator(labels)
    if separator is None:
        return ()
    texts = [text(label) for label in labels]
    example = next(label for label in texts if len(set(options_of(label, separator))) > 1)
    orders = len(texts) - len({set_label(options_of(label, separator)) for label in texts})
    are = "is another" if orders == 1 else "are others"
    written = f" ({orders:,} of them {are} in a different order)" if orders else ""
    is_list = example[0] in BRACKETS and example.endswith(BRACKETS[example[0]])
    split = "" if is_list else f" --separator {separator!r}"
    message = (
        f"labels look like sets of options (such as {example!r}), and are compared whole{written}. To give credit for "
        f"shared options: --metric jaccard{split}"
    )
    message += f"; to ignore their order: --separator {separator!r}" if orders or not is_list else ""
    is_json = is_list and example.startswith('["')
    message += "; in the export of a tool, --multi options asks yes or no about each option" if is_json else ""
    return (Caution("label_sets", message),)


def join_sets(named: nw.LazyFrame[Any]) -> nw.LazyFrame[Any]:
    """One annotation per annotator and item, whose label is the set of all labels they gave."""
    names = column_names(named)
    first = [name for name in names if name not in (ITEM, ANNOTATOR, LABEL)]
    gathered = engine_of(named).gathered_labels(named, [ITEM, ANNOTATOR], first, BAR)
    return gathered.select(names)


def keep_each(named: nw.LazyFrame[Any]) -> nw.LazyFrame[Any]:
    """Keep every annotation; from an annotator's second on an item, the annotator is left blank."""
    order = [name for name in (TIME, "row") if name in column_names(named)]
    place = nw.col(LABEL).cum_count().over(ITEM, ANNOTATOR, order_by=[*order, LABEL]).alias("place")
    try:
        placed = named.with_columns(place)
        placed.collect_schema()
    except NotImplementedError as error:
        raise UsageError(
            f"--duplicates keep: {named.implementation} cannot number rows; use polars or duckdb"
        ) from error
    anonymous = nw.when(nw.col("place") == 1).then(nw.col(ANNOTATOR)).alias(ANNOTATOR)
    return placed.with_columns(anonymous).select(column_names(named))
