"""How labels and names are written: spellings of one name, and sets of options in one cell (``a;b``)."""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from spagree.counts.engines import column_names, replaced, rows
from spagree.counts.tally import Tally, text
from spagree.errors import DataError, UsageError, Warning, opt
from spagree.read.annotations import ANNOTATOR, COUNT, ITEM, LABEL, MOST_COMPARED, nw

NUMBER, NUMBER_STARTS = re.compile(r"([+-]?)(\d*)\.?(\d*)", re.ASCII), frozenset("+-.0123456789")
# Soft hyphen, zero-width space, marks of direction, word joiner, byte order mark, variants of emoji.
INVISIBLE = dict.fromkeys((0xAD, 0x200B, 0x200E, 0x200F, 0x2060, 0xFEFF, 0xFE0E, 0xFE0F))
YES = frozenset(("1", "true", "yes", "y", "ja", "oui", "sí", "si", "sim"))
NO = frozenset(("0", "false", "no", "n", "nein", "non", "não"))
CODED = re.compile(r"\(?(?P<code>-?\d+)\s*[-–—:.)=]+\s*(?P<text>[^\W\d].*)")
CODED_LAST = re.compile(r"(?P<text>.*\D)\s+\((?P<code>-?\d+)\)")
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
MADE_DATE = re.compile(
    rf"0?(?P<day>\d{{1,2}})-(?P<name>{'|'.join(MONTHS)})|\d{{4}}-(?P<month>\d\d)-(?P<date>\d\d)( 00:00:00)?"
)
EXTENSION = re.compile(r"\.[a-zA-Z]\w{1,4}$")
JOINT = re.compile(r"(?<=\w)[\s_-]+(?=\w)|_+")
DECIMAL_COMMA = re.compile(r"-?\d+,\d+")
MOST_RESPELLED = 2_000_000  # distinct items, whose names are compared on this machine
SHOWN_GROUPS, SHOWN_SPELLINGS = 3, 4
MOST_ANNOTATIONS = 200_000  # searched for labels that only one annotator uses
FEWEST_OWN, MOST_OWN = 10, 0.5  # annotations of such an annotator; distinct labels per annotation


def normal_form(label: str) -> str:
    r"""The common spelling of variants in case, whitespace, invisible characters and Unicode form.

    >>> normal_form("  Yes "), normal_form("Cafe\u0301") == normal_form("CAFÉ"), normal_form("no\u200b")
    ('yes', True, 'no')
    """
    plain = label if label.isascii() else unicodedata.normalize("NFKC", label).translate(INVISIBLE)
    return " ".join(plain.casefold().split())


def canonical(label: str) -> str:
    """The normal form, and one spelling for each number: no spaces, no leading or trailing zeros, no plus sign.

    >>> canonical(" Yes"), canonical("007"), canonical("+1.50"), canonical("-0"), canonical("1e5"), canonical("...")
    ('yes', '7', '1.5', '0', '1e5', '...')
    """
    plain = normal_form(label)
    matched = NUMBER.fullmatch(plain) if plain[:1] in NUMBER_STARTS else None
    if matched is None or not (matched[2] or matched[3]):
        return plain
    whole, decimals = matched[2].lstrip("0") or "0", matched[3].rstrip("0")
    number = f"{whole}.{decimals}" if decimals else whole
    return f"-{number}" if matched[1] == "-" and number != "0" else number


def spelling_variants(names: Iterable[Any]) -> list[list[str]]:
    """Groups of names that differ only in case, whitespace, Unicode form or number format.

    >>> spelling_variants(["yes", "Yes ", "no", "1", "01", "1.0"])
    [['01', '1', '1.0'], ['Yes ', 'yes']]
    """
    texts = [*map(text, names)]
    forms = [*map(canonical, texts)]
    if len(set(forms)) == len(forms):
        return []
    groups: defaultdict[str, list[str]] = defaultdict(list)
    for name, form in sorted(zip(texts, forms, strict=True)):
        groups[form].append(name)
    return [group for group in groups.values() if len(group) > 1]


def _few(examples: Sequence[str]) -> str:
    """The first of them, and how many more there are."""
    more = f" and {len(examples) - SHOWN_GROUPS:,} more" if len(examples) > SHOWN_GROUPS else ""
    return "; ".join(examples[:SHOWN_GROUPS]) + more


def _alike(what: str, groups: Sequence[Sequence[str]], why: str, remedy: str) -> str:
    """That names of these groups are counted as different ones; empty without any."""
    shown = _few([" / ".join(map(repr, group)) for group in groups])
    return f"{what}s that {why} are counted as different {what}s: {shown}. {remedy}" if groups else ""


def _spellings(names: Iterable[Any], what: str) -> str:
    groups = [group[:SHOWN_SPELLINGS] for group in spelling_variants(names)]
    remedy = f"If they mean the same, use {opt.normalize}, or clean them first."
    return _alike(what, groups, "differ only in spelling", remedy)


def warn_variants(labels: Iterable[Any]) -> tuple[Warning, ...]:
    """Warn about labels that look like one label written differently; they are kept separate."""
    names = [*map(text, labels)]
    same = synonyms(names) if len(names) <= MOST_COMPARED else []
    meaning = _alike("label", same, "may mean the same", "If they do, write each in one way first")
    told = Warning("label_variants", _spellings(names, "label")), Warning("label_synonyms", meaning)
    return tuple(each for each in told if each.message)


def synonyms(labels: Iterable[str]) -> list[tuple[str, ...]]:
    """Groups of labels of one meaning: a number with and without its text, two kinds of yes and no, Excel's dates.

    >>> synonyms(["4", "4 - agree", "5"]), synonyms(["True", "False", "1", "0"]), synonyms(["yes", "no", "maybe", "1"])
    ([('4', '4 - agree')], [('1', 'True'), ('0', 'False')], [])
    >>> synonyms(["1-2", "2-Jan", "3-5"]), synonyms(["0,5", "0.5"])
    ([('1-2', '2-Jan')], [('0.5', '0,5')])
    """
    plain = {canonical(label): label for label in sorted(labels)}
    if all(label in YES | NO for label in plain) and len(plain) > 2:
        sides = (tuple(plain[word] for word in plain if word in side) for side in (YES, NO))
        return [side for side in sides if len(side) > 1]
    same = [(plain[other], label) for name, label in plain.items() for other in _readings(name) if other in plain]
    loose: defaultdict[str, list[str]] = defaultdict(list)
    for name, label in plain.items():
        loose[_loose(name)].append(label)
    return same + [tuple(group) for form, group in loose.items() if len(group) > 1 and form]


def _loose(label: str) -> str:
    """A label without accents, quotes and a full stop around it, with a blank for hyphens and underscores inside.

    >>> _loose("very_good"), _loose("'yes'."), _loose("é"), _loose("a-"), _loose("c++"), _loose("1-2")
    ('very good', 'yes', 'e', 'a-', 'c++', '')
    """
    bare = "".join(mark for mark in unicodedata.normalize("NFKD", label) if not unicodedata.combining(mark))
    is_word = any(mark.isalpha() for mark in bare)
    return JOINT.sub(" ", bare.strip(" \"'`“”‘’.,;:")) if is_word else ""


def _readings(label: str) -> list[str]:
    """What else a label may be: a part of ``4 - agree`` or ``agree (4)``, a decimal point, what Excel made a date."""
    if date := MADE_DATE.fullmatch(label):
        day = int(date["day"] or date["date"])
        month = MONTHS.index(date["name"]) + 1 if date["name"] else int(date["month"])
        return [f"{month}-{day}", f"{day}-{month}", f"{month}/{day}", f"{day}/{month}"]
    if coded := CODED.fullmatch(label) or CODED_LAST.fullmatch(label):
        return [coded["code"], coded["text"]]
    return [label.replace(",", ".")] if DECIMAL_COMMA.fullmatch(label) else []


def warn_ids(tally: Tally, items: Callable[[], Iterable[Any]]) -> tuple[Warning, ...]:
    """The same for annotators and items, whose names are fetched only if they are compared.

    An item split by spelling has fewer annotations than the others: if all have the same number, two or more, no item
    is split.
    """
    people = tally.annotators or {}
    is_even = len(tally.items_by_n) == 1 and 1 not in tally.items_by_n
    names = [*map(text, items())] if tally.items and not is_even else []
    of_people = _spellings(people, "annotator") if len(people) <= MOST_COMPARED else ""
    of_items, distinct = _spellings(names, "item"), {*names}
    if not of_items and any(mark in "".join(distinct) for mark in "/\\.'"):
        files = [(short, item) for item in sorted(distinct) if (short := _bare(item, distinct))]
        of_items = _alike("item", files, "may be the same", "If they are, clean them first")
    told = Warning("annotator_variants", of_people), Warning("item_variants", of_items)
    return tuple(each for each in told if each.message)


def _bare(item: str, items: Collection[str]) -> str | None:
    """The known item that this is without a folder, an extension or an apostrophe.

    >>> _bare("img/1.jpg", {"1.jpg"}), _bare("img/1.jpg", {"1"}), _bare("'7", {"7"}), _bare("1.5", {"1"})
    ('1.jpg', '1', '7', None)
    """
    file = item.replace("\\", "/").rpartition("/")[2]
    stem = EXTENSION.sub("", file)
    return next((name for name in (file, stem, item.removeprefix("'")) if name != item and name in items), None)


def warn_own_labels(tally: Tally, used_by: Callable[[], Iterable[tuple[Any, ...]]]) -> tuple[Warning, ...]:
    """Warn about annotators whose labels nobody else uses: probably the same classes under other names.

    ``used_by`` returns each annotator with each label they used, of all, or of those who share no label.
    """
    people = tally.annotators or {}
    if not 1 < len(people) <= MOST_COMPARED or tally.annotations > MOST_ANNOTATIONS:
        return ()
    users: defaultdict[str, set[str]] = defaultdict(set)
    used: defaultdict[str, list[str]] = defaultdict(list)
    for annotator, label in used_by():
        if annotator is not None:
            who, what = text(annotator), text(label)
            users[what].add(who)
            used[who].append(what)
    alone = [
        f"{annotator!r} ({', '.join(map(repr, sorted(labels)[:SHOWN_SPELLINGS]))})"
        for annotator, labels in sorted(used.items())
        if people.get(annotator, 0) >= FEWEST_OWN
        and 1 < len(labels) <= MOST_OWN * people[annotator]
        and all(len(users[label]) == 1 for label in labels)
    ]
    if not alone:
        return ()
    message = (
        f"annotators whose labels nobody else uses, and who can agree with nobody: {_few(alone)}. "
        "If they mean the same classes, rename them first"
    )
    return (Warning("own_labels", message),)


def normalized(frame: nw.LazyFrame[Any], labels: Iterable[Any]) -> nw.LazyFrame[Any]:
    """Labels, annotators and items in their canonical spelling."""
    respelled = replaced(frame, LABEL, _changes(labels))
    for column in (ANNOTATOR, ITEM):
        if column in column_names(frame) and frame.collect_schema()[column] == nw.String:
            names = rows(frame.select(column).unique(subset=[column]).head(MOST_RESPELLED + 1))
            if len(names) > MOST_RESPELLED:
                raise UsageError(
                    f"more than {MOST_RESPELLED:,} {column}s to respell; clean them first, without {opt.normalize}"
                )
            respelled = replaced(respelled, column, _changes([value for (value,) in names if value is not None]))
    if COUNT not in column_names(frame):
        return respelled
    keys = [name for name in column_names(frame) if name != COUNT]
    return respelled.group_by(*keys).agg(nw.col(COUNT).sum())


def _changes(names: Iterable[Any]) -> dict[str, str]:
    return {name: new for name in names if isinstance(name, str) and (new := canonical(name)) != name}


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
        listed = _options_listed(label)
        if listed is not None:
            return listed
    return [part.strip() for part in label.split(separator) if part.strip()]


def _options_listed(label: str) -> list[str] | None:
    """The options of a list as written by JSON, Python, numpy or PostgreSQL; None for other text in brackets."""
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
    """One spelling for each set: sorted, without repeats, joined with | or as a JSON list."""
    ordered = sorted(set(options))
    plain = ordered and not any(BAR in option or option.startswith("[") for option in ordered)
    return BAR.join(ordered) if plain else json.dumps(ordered, ensure_ascii=False)


def guess_separator(labels: Iterable[Any], options: Collection[str] = ()) -> str | None:
    """The separator, if splitting labels at it gives options that also occur elsewhere, or are known.

    A space only if the same words also occur in another order: most two-word labels are not sets.

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
    digits = (len(options) <= 3 and all(each.lstrip("+-").isdigit() for each in options) for options in several)
    if not several or (separator in ",/" and all(digits)):  # a number with a decimal comma, a fraction or a date
        return 0
    times = Counter(option for options in several for option in options)
    again = sum(times[option] > 1 or option in whole for option in times)
    are_short = all(len(option) <= LONGEST_OPTION for option in times)
    return len(several) if are_short and again >= SEEN_AGAIN * len(times) else 0


def split_labels(
    frame: nw.LazyFrame[Any], labels: Mapping[Any, int], separator: str | None, options: Collection[str] = ()
) -> tuple[nw.LazyFrame[Any], tuple[Warning, ...]]:
    """Labels as sets in one spelling; if no separator is named, it is guessed and reported.

    ``options`` are labels and options that others gave: these labels need no splitting, and others may hold one option.
    """
    labels = {label: size for label, size in labels.items() if text(label) not in options}
    chosen = guess_separator(labels, options) if separator is None else ESCAPED.get(separator, separator)
    if chosen is None:
        return frame, ()
    if not chosen:
        raise UsageError(f"{opt.separator} is empty; say what separates the options, for example {opt.separator(';')}")
    texts = [text(label) for label in labels]
    if separator is not None and not options and not any(len(set(options_of(label, chosen))) > 1 for label in texts):
        raise DataError(f"{opt.separator(separator)}: no label holds two options; leave it out, or name another")
    changes = {label: new for label in texts if (new := set_label(options_of(label, chosen))) != label}
    warning = Warning(
        "separator",
        f"labels were split at {chosen!r} into sets of options; if that is wrong, name another with {opt.separator}",
    )
    return replaced(frame, LABEL, changes), (warning,) if separator is None and chosen != BAR else ()


def warn_sets(labels: Mapping[Any, int]) -> tuple[Warning, ...]:
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
    split = "" if is_list else f" {opt.separator(separator)}"
    message = (
        f"labels look like sets of options (such as {example!r}), and are compared whole{written}. To give credit for "
        f"shared options: {opt.metric('jaccard')}{split}"
    )
    message += f"; to ignore their order: {opt.separator(separator)}" if orders or not is_list else ""
    is_json = is_list and example.startswith('["')
    message += f"; in the export of a tool, {opt.multi('options')} asks yes or no about each option" if is_json else ""
    return (Warning("label_sets", message),)
