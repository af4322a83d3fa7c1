"""The page of marks: each text once with a line under it for every annotator, and in words what each marked."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from spagree.errors import count
from spagree.estimate import Estimate
from spagree.estimate.marks import FIGURES_OF_MARKS, NO_PLACES, MarkedText
from spagree.estimate.uncertainty import POPULATIONS
from spagree.present.report.page import Top, chapter, render
from spagree.present.report.sections import (
    COLOURS,
    LONGEST_ITEM,
    LONGEST_LABEL,
    SOFTWARE,
    Part,
    Section,
    all_checks,
    difference_table,
    fold,
    group_table,
    ranks,
    read_as,
    short_label,
    source_name,
    table,
)
from spagree.present.sentences import whom
from spagree.present.spans import ToldSpans, spans_document
from spagree.present.tables import COLUMNS, columns, in_figures
from spagree.present.words import FIGURES, escape_controls, figure, interval, left_out, printable, shortest_unique

if TYPE_CHECKING:
    import polars

    from spagree.estimate.comparison import Groups

MOST_TEXTS = 60
MOST_LINES = 6  # under a text, one for each annotator; the list has everybody
MOST_LISTED = 30  # annotators of one text
LONGEST_QUOTE = 80
MOST_QUOTES = 24  # marks that are listed below a text without being asked for
LONGEST_TEXT = 900  # characters that are shown
LONGEST_GAP, BESIDE = 240, 90  # characters between marks that are shown whole, and those beside a longer gap
EMPTY_LINES = re.compile(r"\n\s*\n")
INVISIBLE = "\u200c\u200d"  # join letters in many scripts, and steer nothing on a page
LEVEL_FIGURES = columns("name:name=figure; value; interval")
SHARES = columns("name:name=at another annotator, a mark meets; value=share; interval")
CLASSES = [COLUMNS[key] for key in ("class", "agreement", "interval", "marks")]
PEOPLE = [
    COLUMNS[key]
    for key in ("annotator", "confirmed", "confirmed_interval", "found", "found_interval", "marks", "items")
]


class Piece(NamedTuple):
    """A part of a text, and the lines under it: the level of an annotator, and a colour."""

    text: str
    lines: Sequence[tuple[int, int]] = ()


def spans_page(
    told: ToldSpans,
    disputed: Sequence[MarkedText],
    tables: Mapping[str, polars.DataFrame],
    groups: Groups | None = None,
) -> str:
    """The page as text; ``tables`` are those of the classes and annotators, as far as they are known."""
    data = told.findings.data
    cards = text_cards(disputed, data.labels)
    about = f"{count(data.marks, 'mark')} in {count(data.items, 'text')} by {count(data.annotators, 'annotator')}"
    chapters = chapter(_first_screen(told, cards), [*_sections(told, cards, tables, groups)])
    return render(source_name(told.understood), about, spans_document(told, groups), *chapters)


def _first_screen(told: ToldSpans, cards: Part) -> Top:
    findings, exact = told.findings, told.shown
    if exact.value is None:
        return Top.of(told, {})
    known = whom(exact)
    people = {name: f"for {known[name]}".replace("these annotators", "these") for name in POPULATIONS if name in known}
    ends = "; ".join(f"{who} {interval(exact.intervals[name])}".replace(" to ", "–") for name, who in people.items())
    met = {name: each.value for name, each in findings.outcomes.items() if each.value is not None}
    return Top.of(
        told,
        people,
        spoken=f"From 0 to 1: {figure(exact.value)}; {ends}",
        levels=[(f"v{place}", FIGURES[name], 100 * share) for place, (name, share) in enumerate(met.items())],
        steps=[(step, "") for step in told.steps] if cards["rows"] else [],
        checks=told.checked,
        measure="same mark, same label" if findings.characters.undefined == NO_PLACES else "same span, same label",
        unit=" of marks",
    )


def _sections(
    told: ToldSpans, cards: Part, tables: Mapping[str, polars.DataFrame], groups: Groups | None
) -> Iterator[Section]:
    findings, data, rows = told.findings, told.findings.data, cards["rows"]
    if rows:
        lead = "Under a text, one line for each annotator, in the order of the list; the line's style is the label's."
        seen = count(data.pairable_items, "text")
        title = f"{len(rows):,} of {seen} that several people saw are marked differently"
        has_lines = any(lines for card in rows for _, lines in card["pieces"])
        yield Section("items", "Texts", title, [cards], lead if has_lines else "")
    shown = {key for key, _ in cards["classes"]}
    classes = {label: str(place) for label, place in ranks(data.labels).items() if str(place) in shown}
    where = [table("outcomes", "What a mark meets", _named(findings.outcomes), SHARES)]
    if "classes" in tables:
        labels, picks = tables["classes"].rows(named=True), {"class": classes}
        where.append(table("classes", "Labels", labels, CLASSES, picks=picks))
    if findings.exact.value is not None:
        step = next((each for each in told.steps if each.code in FIGURES), None)
        title = "No differences" if step is None else f"Most differences: {FIGURES[step.code]}"
        yield Section("where", "Where", title, where)
    people: list[Part] = []
    if "annotators" in tables:
        note = "confirmed: of their marks, how many others made; found: of the others' marks, how many they made."
        people.append(table("annotators", "Each annotator", tables["annotators"].rows(named=True), PEOPLE, note=note))
    if groups is not None:
        people += [group_table(groups), fold("Differences between groups", [difference_table(groups)])]
    if people:
        yield Section("people", "Annotators", "Whose marks others confirm, and who finds theirs", people)
    levels = {name: getattr(findings, name) for name in (*FIGURES_OF_MARKS, "characters_beyond_chance")}
    facts = [] if told.understood is None else [*read_as(told.understood)]
    facts.append(("Seen", f"{count(data.annotations, 'visit')}, {data.empty:,} of them without a mark"))
    facts += [("Left out", f"{count(size, 'annotation')}: {left_out(why)}") for why, size in data.left_out.items()]
    facts += [("Weights", findings.exact.weights), ("Software", SOFTWARE)]
    method = [
        all_checks(told),
        table("levels", "All figures", _named(levels), LEVEL_FIGURES),
        {"kind": "facts", "rows": facts},
    ]
    yield Section("method", "Method", "How it was computed", method)


def _named(figures: Mapping[str, Estimate]) -> list[dict[str, Any]]:
    known = {name: each for name, each in figures.items() if each.undefined != NO_PLACES}
    return [{"name": FIGURES[name], **in_figures(each)} for name, each in known.items()]


# Texts in layers ---------------------------------------------------------------------------------------


def text_cards(disputed: Sequence[MarkedText], labels: Mapping[str, int]) -> Part:
    """A card for each text; the filters offer only what is on the cards, the commonest labels first."""
    places, shown = ranks(labels), set[str]()
    everybody = sorted({name for each in disputed for name in each.marks})
    people = {name: f"a{place}" for place, name in enumerate(everybody)}
    short = shortest_unique([each.item for each in disputed])
    rows = []
    for each in disputed:
        own = {label for made in each.marks.values() for _, _, label in made}
        drawn = [] if each.keys else [*each.marks.values()]
        shown |= own
        cut = [] if each.text is None else [*pieces(each.text, drawn, places)]
        layers = [
            (short_label(name), [_quoted(each, mark, places) for mark in made])
            for name, made in [*each.marks.items()][:MOST_LISTED]
        ]
        rows.append(
            {
                "name": short[each.item],
                "full": printable(each.item, LONGEST_ITEM) or "''",
                "share": f"agreement {figure(each.agreement)}",
                "classes": [str(place) for place in sorted(places[label] for label in own)],
                "annotators": [people[name] for name in each.marks],
                "pieces": cut,
                "lines": 1 + max((level for _, lines in cut for level, _ in lines), default=-1),
                "layers": layers,
                "is_long": sum(len(quotes) for _, quotes in layers) > MOST_QUOTES,  # the reader opens the list
                "unlisted": max(0, len(each.marks) - MOST_LISTED),
            }
        )
    notes = [f"The {len(rows)} texts that lose most."] if len(rows) == MOST_TEXTS else []
    if disputed and all(each.text is None and not each.keys for each in disputed):
        notes.append(
            "The texts are not known: name their column with --text (text= in Python), or their file with --texts, "
            "to see the marks in them."
        )
    if any(len(each.marks) > MOST_LINES and not each.keys for each in disputed):
        notes.append(f"Lines stand for the first {MOST_LINES} annotators of a text.")
    return {
        "kind": "cards",
        "rows": rows,
        "classes": [(str(place), printable(label, LONGEST_LABEL)) for label, place in places.items() if label in shown],
        "annotators": [(key, printable(name, LONGEST_LABEL)) for name, key in people.items()],
        "note": " ".join(notes),
    }


def _quoted(of: MarkedText, mark: tuple[float, float, str], places: Mapping[str, int]) -> tuple[str, str, int]:
    """What was marked, with its label and colour."""
    start, end, label = mark
    if of.keys:
        words = _quote(of.keys[int(start)])
    else:
        words = f"{start:g}–{end:g}" if of.text is None else _quote(of.text[int(start) : int(end)])
    return words, printable(label, LONGEST_LABEL), min(places[label], COLOURS - 1)


def pieces(
    text: str, marks: Sequence[Sequence[tuple[float, float, str]]], places: Mapping[str, int]
) -> Iterator[Piece]:
    """A text cut where marks start and end; each piece with the lines under it: level and colour.

    >>> [tuple(piece) for piece in pieces("to Leiden", [[(3, 9, "place")], [(0, 9, "place")]], {"place": 0})]
    [('to ', [(1, 0)]), ('Leiden', [(0, 0), (1, 0)])]
    """
    marked = [[(int(start), int(end), label) for start, end, label in made] for made in marks[:MOST_LINES]]
    begin, room = 0, LONGEST_TEXT
    if len(text) > LONGEST_TEXT:  # from the first mark that not everybody made
        apart = {*chain(*marked)}.difference(set[Any]().union(*marked[:1]).intersection(*marked[1:]))
        begin = max(0, min((start for start, _, _ in apart), default=0) - BESIDE)
    ends = {begin, len(text), *(end for made in marked for mark in made for end in mark[:2] if end > begin)}
    if begin:
        yield Piece("[…] ")
    for start, end in pairwise(sorted(ends)):
        lines: list[tuple[int, int]] = []
        for level, made in enumerate(marked):
            covering = [label for first, last, label in made if first <= start and end <= last]
            lines += [(level, min(places[covering[0]], COLOURS - 1))] if covering else []
        words = text[start:end]
        if not lines and len(words) > LONGEST_GAP:
            before, after = words[:BESIDE] if start else "", words[-BESIDE:] if end < len(text) else ""
            words = f"{before} […] {after}"
        yield Piece(_harmless(EMPTY_LINES.sub("\n", words[:room])), lines)
        if len(words) > room:
            yield Piece(" […]")
            return
        room -= len(words)


def _quote(words: str) -> str:
    shown = _harmless(words.replace("\n", " "))
    return shown if len(shown) <= LONGEST_QUOTE else f"{shown[: LONGEST_QUOTE // 2]} […] {shown[-LONGEST_QUOTE // 2 :]}"


def _harmless(words: str) -> str:
    """With control and direction characters as escapes; those that only join letters stay."""
    return "".join(each if each in INVISIBLE else escape_controls(each) for each in words)
