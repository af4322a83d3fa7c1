"""The sections of a page: where people disagree, on which items, who does, and how the number was computed.

A page is made of plain values: each part is a dictionary whose ``kind`` names the template that shows it.
"""

from __future__ import annotations

import platform
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from spagree import __version__
from spagree.errors import SpagreeError, count, known, there
from spagree.estimate import NOMINAL
from spagree.estimate.actions import CLASSES, COPIES, ONE_LABEL, PEOPLE
from spagree.estimate.breakdowns import MOST_DISPUTED, Breakdowns
from spagree.estimate.checks import FINE
from spagree.estimate.development import window
from spagree.estimate.similarity import SET_METRICS, as_set
from spagree.estimate.uncertainty import COVERS, FEW_ITEMS
from spagree.estimate.weights import REGISTRY
from spagree.present.charts import agreement as charts
from spagree.present.sentences import (
    REFERENCE,
    columns_in_words,
    differences_in_words,
    doubtful,
    group_lines,
    interval_name,
    shown_name,
)
from spagree.present.tables import COLUMNS, TEAMS, Column, cell, columns, development_columns, in_figures, team_rows
from spagree.present.verdicts import Said, Told
from spagree.present.words import (
    chips,
    figure,
    left_out,
    moment,
    p_value,
    percent,
    printable,
    quoted,
    sentence,
    shortest_unique,
)
from spagree.read.annotations import Understood
from spagree.read.timestamps import is_date

if TYPE_CHECKING:
    from spagree.estimate.comparison import Groups

Part = dict[str, Any]
"""A table, figure, fold, or list of facts, checks or cards, as plain values."""
Picks = Mapping[str, Mapping[str, str]]
"""Column → name → the key by which a click filters the items."""
# breakdown → caption, what its rows are, columns
TABLES = {
    "classes": ("Agreement of each class", "classes", "class agreement interval annotations share items"),
    "confusion": ("Pairs of classes", "pairs of classes", "class other share expected items"),
    "options": ("Agreement on each option", "options", "option agreement kappa annotations share items"),
    "annotators": (
        "Agreement of each annotator with the others, and without them",
        "annotators",
        "annotator agreement interval shared against_others annotations coverage spa_without commonest commonest_share",
    ),
    "pairs": (
        "Pairs of annotators, least agreement first; kappa is Cohen's",
        "pairs",
        "annotator other agreement interval cohen_kappa shared",
    ),
}
BY_N = columns("name:words=annotations; many:count=items; value=agreement; interval")
SCHEMES = columns("name:name=scheme; value=agreement; interval; means:words=meaning")
LOST = columns("why:words=reason; size:count=annotations")
GROUPS = columns("group:name; value=agreement; interval; kappa=beyond chance; items:count; undefined:words=remark")
DIFFERENCES = columns("a:name=group; b:name=other; value:change=other minus group; interval; p:words=p (Holm)")
TWO, MOST_IN_MATRIX = 2, 12
MOST_SENTENCES = 3
COLOURS = 6
MOST_ROWS = 100
MOST_VOTERS = 6  # names of dissenters beside a label
LONGEST_TEXT, LONGEST_ITEM, LONGEST_LABEL = 400, 60, 40
ADDRESSES = ("http://", "https://")
OBJECTS = (" frame", "count matrix", "Python list")
COEFFICIENTS = {
    "krippendorff_alpha": "Krippendorff's alpha",
    "fleiss_kappa": "Fleiss' kappa",
    "gwet_ac1": "Gwet's AC1",
}
BIBTEX = """@misc{norregaard2022sparse,
  title = {Sparse Probability of Agreement},
  author = {Nørregaard, Jeppe and Derczynski, Leon},
  year = {2022},
  eprint = {2208.06161},
  archivePrefix = {arXiv}
}"""


@dataclass(frozen=True, slots=True)
class Section:
    """A finding as its heading, and what shows it."""

    id: str
    short: str
    title: str
    parts: Sequence[Part]
    lead: str = ""


def table(
    id: str,
    caption: str,
    rows: Iterable[Mapping[str, Any]],
    columns: Sequence[Column],
    *,
    first: str = "",
    note: str = "",
    picks: Picks | None = None,
) -> Part:
    """A table of formatted cells; ``first`` says that these are not all rows.

    >>> columns = [Column("class", "class", "name"), Column("agreement", "agreement")]
    >>> one = table("t", "Classes", [{"class": "yes", "agreement": 0.5}], columns)
    >>> [cell.shown for cell in one["rows"][0]], one["rows"][0][1].value
    (['yes', '0.500'], 0.5)
    """
    keys, notes = picks or {}, [first, note]
    filled = [[cell(row, column, keys.get(column.key, {})) for column in columns] for row in rows]
    if any(each.shown.endswith("*") and each.is_number for row in filled for each in row):
        notes.append(f"* rests on fewer than {FEW_ITEMS} items.")
    file = f"{id}-first-{len(filled)}" if first else id
    shown = {"id": id, "caption": caption, "columns": columns, "rows": filled, "file": file}
    return {"kind": "table", **shown, "note": " ".join(filter(None, notes))}


def fold(title: str, parts: Sequence[Part], id: str = "") -> Part:
    """Parts that a reader opens."""
    return {"kind": "fold", "title": title, "parts": parts, "id": id}


def drawn(breakdowns: Breakdowns, id: str, title: str, reading: str = "", table: Part | None = None) -> list[Part]:
    """The chart of that figure, how to read it in one line, and its table; nothing if it cannot be drawn."""
    try:
        spec = {**charts.draw(id, breakdowns), "description": title}
    except SpagreeError:
        return []
    return [{"kind": "figure", "id": id, "title": title, "reading": reading, "spec": spec, "table": table}]


def sections(told: Told) -> list[Section]:
    """All sections; without a number, only the method."""
    if told.breakdowns.findings.spa.value is None:
        return [method(told)]
    return [each for each in (where(told), items(told), people(told), method(told)) if each.parts]


# Where people disagree ------------------------------------------------------------------------------


def where(told: Told) -> Section:
    """Pairs of classes by their share of all disagreement; the matrix, options and classes to open."""
    breakdowns = told.breakdowns
    frame = there(breakdowns.confusion)
    pairs = [] if frame is None else frame.rows(named=True)
    if not pairs or len(breakdowns.findings.data.labels) == TWO:
        return Section("where", "Disagreement", "", [])
    if len(pairs) == 1:
        title = f"All disagreements are between {quoted(pairs[0]['class'])} and {quoted(pairs[0]['other'])}"
        return Section("where", "Disagreement", title, _each_class(breakdowns))
    named = next((step.names for step in told.steps if step.code == CLASSES), ())
    row = next((row for row in pairs if (row["class"], row["other"]) == named), pairs[0])
    by_chance = "" if row is pairs[0] else f", {percent(row['expected'])} by chance"
    clear = " In colour: clearly more." if any(row["more"] for row in pairs) else ""
    reading = f"Share of all disagreements; marks: by chance.{clear} Click a bar to see its items."
    bars = drawn(breakdowns, "confusion", "Pairs of classes", reading, _table(breakdowns, "confusion"))
    matrix = drawn(breakdowns, "matrix", "All pairs of classes")
    folds = [*([fold("As a matrix", matrix, "matrix-fold")] if matrix else []), *_each_class(breakdowns)]
    share = f"{percent(row['share'])} of all disagreements{by_chance}"
    title = f"{quoted(row['class'])} against {quoted(row['other'])}: {share}"
    return Section("where", "Disagreement", title, [*bars, *folds])


def _each_class(breakdowns: Breakdowns) -> list[Part]:
    """Options and classes, to open."""
    known = {"options": "Each option", "classes": "Each class"}
    return [
        fold(words, [_table(breakdowns, name)])
        for name, words in known.items()
        if there(getattr(breakdowns, name)) is not None
    ]


def _table(breakdowns: Breakdowns, name: str) -> Part:
    """The first rows of a breakdown; names that cards can be filtered by are buttons."""
    caption, many, chosen = TABLES[name]
    picks: Picks = {}
    if name in ("classes", "confusion"):
        picks = dict.fromkeys(("class", "other"), charts.class_keys(breakdowns))
    elif name == "annotators":
        picks = {"annotator": charts.annotator_keys(breakdowns)}
    shown = [replace(COLUMNS[key], width=None) for key in chosen.split()]  # a page has room for long names
    frame = known(getattr(breakdowns, name))
    rows = frame.head(MOST_ROWS).rows(named=True)
    first = "" if frame.height <= MOST_ROWS else f"The first {MOST_ROWS} of {frame.height:,} {many}."
    note = doubtful(rows) if name == "annotators" else ""
    return table(name, caption, rows, shown, first=first, note=note, picks=picks)


# Items ------------------------------------------------------------------------------------------------


def items(told: Told) -> Section:
    """Items as cards, largest share of all disagreement first."""
    breakdowns = told.breakdowns
    frame = there(breakdowns.disputed)
    if frame is None:
        return Section("items", "Items", "Items", [])
    share = percent(round(float(frame["share"].sum()), 9))
    many = f"{count(frame.height, 'item')} hold{'s' if frame.height == 1 else ''} {share} of all disagreements"
    has_one_pair = len(breakdowns.findings.data.labels) == TWO  # which is no section
    return Section("items", "Items", many, [cards(breakdowns), *(_each_class(breakdowns) if has_one_pair else [])])


def ranks(labels: Mapping[str, int]) -> dict[str, int]:
    """The place of each label, of the commonest 0."""
    return {label: place for place, label in enumerate(sorted(labels, key=lambda label: (-labels[label], label)))}


def cards(breakdowns: Breakdowns) -> Part:
    """One card per item; the filters offer only what is on the cards."""
    frame, answers = known(breakdowns.disputed), known(breakdowns.answers)
    keys, people = charts.class_keys(breakdowns), charts.annotator_keys(breakdowns)
    short, called = shortest_unique([str(item) for item in frame["item"].to_list()]), shortest_unique(people)
    by_item = {key[0]: part for key, part in answers.partition_by("item", as_dict=True).items()}
    is_set = breakdowns.findings.metric in SET_METRICS
    colours = {label: min(place, COLOURS - 1) for label, place in ranks(breakdowns.findings.data.labels).items()}
    rows = []
    for row in frame.rows(named=True):
        given, item, link = by_item[row["item"]], str(row["item"]), str(row.get("link") or "")
        votes = given.group_by("label").agg("annotator", "count").rows(named=True)
        votes.sort(key=lambda vote: (-sum(vote["count"]), keys.get(vote["label"], "")))
        sizes = [sum(vote["count"]) for vote in votes]
        has_leader = len(sizes) < TWO or sizes[0] > sizes[1]
        bars: list[Part] = []  # side by side; with the names of those who did not give the leading label
        for place, (vote, size) in enumerate(zip(votes, sizes, strict=True)):
            label = vote["label"]
            named = sorted(called[name] for name in vote["annotator"] if name is not None)
            if has_leader and place == 0:
                named = []
            more = f" and {len(named) - MOST_VOTERS:,} more" if len(named) > MOST_VOTERS else ""
            at, width = 100 * sum(sizes[:place]) / sum(sizes), 100 * size / sum(sizes)
            bar = {"start": at, "width": width, "colour": colours.get(label, COLOURS - 1)}
            options = _options(label) if is_set else chips(label)
            who = {"people": named[:MOST_VOTERS], "more": more}
            bars.append({**bar, **who, "label": short_label(label), "size": size, "chips": options})
        times = sorted(charts.seconds(time) for time in given["time"].drop_nulls().to_list())
        scale = 1000 if times and is_date(times[0] / 1000) else 1
        days = [moment(time / scale)[:10] for time in times[:1] + times[-1:] if is_date(times[0] / scale)]
        rows.append(
            {
                "name": short[item],
                "full": printable(item, LONGEST_ITEM) or "''",
                "share": f"{percent(row['share'])} of disagreements",
                "votes": bars,
                "classes": [keys[vote["label"]] for vote in votes if vote["label"] in keys],
                "annotators": sorted({people[name] for name in given["annotator"] if name in people}),
                "text": printable(str(row.get("text") or ""), LONGEST_TEXT),
                "link": link if link.startswith(ADDRESSES) else "",
                "days": days,
            }
        )
    notes = []
    if frame.height == MOST_DISPUTED:
        notes.append(f"The {frame.height} most disputed items; unanimous ones are left out.")
    several = int((frame["texts"] > 1).sum()) if "texts" in frame.columns else 0
    if several:
        notes.append(f"{count(several, 'item')} came with several texts; one of them is shown.")
    shown = {key for card in rows for key in card["classes"]}
    return {
        "kind": "cards",
        "rows": rows,
        "classes": [(key, short_label(label)) for label, key in keys.items() if key in shown],
        "annotators": [(people[name], short_label(name)) for name in sorted({*answers["annotator"]} & {*people})],
        "note": " ".join(notes),
    }


def _options(label: str) -> tuple[str, ...]:
    """The options of a label that is a set of them, however it is written."""
    return tuple(printable(option, LONGEST_LABEL) for option in sorted(as_set(label))) or (charts.NO_OPTION,)


def short_label(label: str) -> str:
    """A label or a name, as it fits on a card."""
    return printable(label, LONGEST_LABEL) or "''"


# People, groups, time ---------------------------------------------------------------------------------


def people(told: Told) -> Section:
    """Who stands out beside the busiest, pairs of few people, groups, and time if it is known."""
    breakdowns = told.breakdowns
    parts: list[Part] = []
    if (everybody := there(breakdowns.annotators)) is not None:
        size = everybody.height
        often = "How often somebody else gave the same label" if breakdowns.findings.metric == NOMINAL else "Agreement"
        reading = f"{often} on shared items; dashed: the mean. In colour: who stands out; grey: the busiest."
        if size > TWO:
            each = _table(breakdowns, "annotators")
            parts += drawn(breakdowns, "annotators", "Agreement with the others", reading, each) or [each]
        if there(breakdowns.pairs) is not None:
            pairs = _table(breakdowns, "pairs")
            matrix = drawn(breakdowns, "pairs", "Pairs of annotators", "", pairs)
            if TWO < size <= MOST_IN_MATRIX and matrix:
                parts += matrix
            else:
                parts.append(pairs if size == TWO else fold("Pairs of annotators", [pairs]))
    lead = ""
    if (groups := there(breakdowns.groups)) is not None:
        lead = " ".join(differences_in_words(groups, MOST_SENTENCES, "in the table below."))
        each = group_table(groups)
        parts += drawn(breakdowns, "groups", f"Agreement by {printable(groups.column)}", "", each) or [each]
        if len(groups.differences) > 1:
            parts.append(fold("Differences between groups", [difference_table(groups)]))
    if (development := there(breakdowns.development)) is not None:
        size, last = development.height, window(development.height)
        before = "" if last == 1 else f" or the {last - 1} before"  # simultaneous ones stay together: no exact eighth
        reading = f"So far, and on the items finished last, in that step{before} ({last} of {size})."
        steps = charts.development_steps(breakdowns)
        over_time = table("development", "Agreement over time", steps, development_columns())
        parts += drawn(breakdowns, "development", "Agreement over time", reading, over_time)

    steps_of = there(breakdowns.steps) or ()
    step = next((step for step in steps_of if step.code in (ONE_LABEL, PEOPLE, COPIES)), None)
    who = "Nobody stands out" if breakdowns.findings.data.annotators else "People"
    if step is not None and step.code == COPIES:
        one, other = (printable(name, LONGEST_LABEL) for name in step.names)
        who = f"{one} and {other} give the same label on {percent(step.figures['agreement'])} of their items"
    elif step is not None:
        many = len(step.names)
        named = f"{printable(step.names[0], LONGEST_LABEL)} is" if many == 1 else f"{many:,} people are"
        who = f"{named} in {percent(step.figures['share'])} of all disagreements"
    return Section("people", "People", who, parts, lead)


def group_table(groups: Groups) -> Part:
    """Every group with its interval."""
    rows = [
        {"group": line.name, **in_figures(line.spa), "items": line.items, "undefined": line.spa.undefined}
        | {"kappa": None if line.kappa is None else line.kappa.value}
        for line in group_lines(groups)
    ]
    shown = [each for each in GROUPS if each.key not in ("kappa", "undefined") or any(row[each.key] for row in rows)]
    return table("groups", f"Agreement of each group of {groups.of}", rows, shown)


def difference_table(groups: Groups) -> Part:
    """All pairs of groups, the clearest difference first."""
    ordered = sorted(groups.differences, key=lambda each: 2.0 if each.p_holm is None else each.p_holm)
    rows = [
        {"a": shown_name(each.a.name), "b": shown_name(each.b.name), **in_figures(each.difference)}
        | {"p": None if each.p_holm is None else p_value(each.p_holm).removeprefix("p = ").removeprefix("p ")}
        for each in ordered
    ]
    first = f"The clearest {MOST_ROWS} of {len(rows):,} differences; --json lists all." if rows[MOST_ROWS:] else ""
    return table("differences", "Differences between groups", rows[:MOST_ROWS], DIFFERENCES, first=first)


# How the number was computed --------------------------------------------------------------------------


def method(told: Told) -> Section:
    """The checks, charts of those that are not fine, what was read, the sentence and the reference."""
    breakdowns, findings = told.breakdowns, told.breakdowns.findings
    parts = [all_checks(told)]
    doubted = {check.title for check in told.checked if check.state != FINE}
    if "Assumption" in doubted:
        title = "Agreement by number of annotations"
        reading = "Dots should be level; above each, its items (hollow: fewer than 10). Dashed: all items."
        by_n = table("by-n", title, charts.by_n_rows(breakdowns), BY_N)
        parts += drawn(breakdowns, "by-n", title, reading, by_n)
    if "Weights" in doubted:
        meaning = {name: scheme.about for name, scheme in REGISTRY.items()}
        rows = [
            {**row, "means": meaning.get(row["name"], "your own weights")} for row in charts.scheme_rows(breakdowns)
        ]
        schemes = table("schemes", "All weighting schemes", rows, SCHEMES)
        parts += drawn(breakdowns, "schemes", "All weighting schemes", "", schemes)
    overlap = there(breakdowns.overlap)
    if overlap is not None and (len(overlap.teams) > 1 or overlap.thin_bridges):
        shown = [COLUMNS[key] for key in TEAMS]
        teams = table("teams", "Groups of annotators connected by items", team_rows(overlap), shown)
        parts.append(fold("Who annotated items together", [teams]))
    lost = [{"why": left_out(why), "size": size} for why, size in findings.data.left_out.items()]
    if lost:
        parts.append(fold("Annotations that were not used", [table("left-out", "Left out", lost, LOST)]))
    parts.append({"kind": "facts", "rows": [*_facts(told)]})
    if findings.spa.value is not None:
        quote = {"words": told.for_paper, "is_quotable": told.verdict.state != "problem"}
        parts.append({"kind": "quote", **quote, "reference": REFERENCE, "bibtex": BIBTEX})
    return Section("method", "Method", "How it was computed", parts)


def all_checks(told: Said) -> Part:
    """The checks in words, to open."""
    return fold(f"All {len(told.checked)} checks", [{"kind": "checks", "rows": told.checked}], "checks")


def _facts(told: Told) -> Iterator[tuple[str, str]]:
    findings, options = told.breakdowns.findings, told.source.options if told.source else {}
    if told.understood is None:
        yield "Read", "a tally: saved counts"
    else:
        yield from read_as(told.understood)
    yield "Measure", f"Sparse Probability of Agreement (SPA), {findings.spa.weights} weights, {findings.metric} metric"
    kind = "Wilson's score interval" if findings.spa.method == "wilson" else findings.spa.method
    covers = f"{interval_name(findings.spa)}: {kind}; it is for {COVERS[findings.spa.interval_for]}"
    yield "Interval", f"none: {findings.spa.undefined}" if findings.spa.low is None else covers
    kappas = {words: findings.chance[name].value for name, words in COEFFICIENTS.items()}
    known_kappas = [f"{name} {figure(value)}" for name, value in kappas.items() if value is not None]
    if known_kappas:
        yield "Beyond chance", sentence(", ".join(known_kappas))
    listed = ", ".join(f"{name} = {printable(str(value))}" for name, value in options.items())
    yield "Options", listed or "defaults only"
    yield "Software", SOFTWARE


def read_as(understood: Understood) -> Iterator[tuple[str, str]]:
    """What was read as what, and the rules that applied."""
    roles = columns_in_words(understood)
    yield "Read", f"{source_name(understood)}, as {understood.kind}{f': {roles}' if roles else ''}"
    for rule in understood.rules:
        yield "Rule", printable(rule, 200)


SOFTWARE = f"spagree {__version__}, Python {platform.python_version()}"


def source_name(understood: Understood | None) -> str:
    """The source without its folders, which may be private.

    >>> source_name(Understood("/home/ann/private/labels.csv", "long"))
    'labels.csv'
    >>> source_name(Understood("triples", "long"))
    'annotations in a Python list'
    """
    if understood is None:
        return "a saved tally"
    name = PurePath(understood.source).name or understood.source
    name = "Python list" if name == "triples" else name
    return printable(f"annotations in a {name}" if name.endswith(OBJECTS) else name, 80)
