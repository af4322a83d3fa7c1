"""The sections of a page: where people disagree, on which items, who does, and how the number was computed."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from spagree import __version__
from spagree.errors import count, known, there
from spagree.estimate import NOMINAL
from spagree.estimate.actions import CLASSES, COPIES, ONE_LABEL, PEOPLE
from spagree.estimate.breakdowns import MOST_DISPUTED, Breakdowns
from spagree.estimate.checks import FINE
from spagree.estimate.development import window
from spagree.estimate.similarity import SET_METRICS, as_set
from spagree.estimate.uncertainty import COVERS
from spagree.estimate.weights import REGISTRY
from spagree.present.charts import agreement as charts
from spagree.present.next_steps import NextStep
from spagree.present.report.parts import (
    MOST_ROWS,
    Card,
    Cards,
    Checks,
    Facts,
    Fold,
    Name,
    Part,
    Quote,
    Section,
    Table,
    Vote,
    drawn,
    table,
)
from spagree.present.sentences import (
    REFERENCE,
    columns_in_words,
    differences_in_words,
    doubtful,
    group_lines,
    interval_name,
    shown_name,
)
from spagree.present.tables import COLUMNS, TEAMS, columns, development_columns, team_rows
from spagree.present.verdicts import Checked, Verdict, paper_sentence
from spagree.present.words import (
    chips,
    escape_controls,
    figure,
    left_out,
    moment,
    p_value,
    percent,
    printable,
    quoted,
    sentence,
    shortest_unique,
    without_midnight,
)
from spagree.read.annotations import Understood
from spagree.read.timestamps import is_date

if TYPE_CHECKING:
    from spagree.estimate.comparison import Groups

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
BY_N = columns("name:words many:count value interval", {"name": "annotations", "many": "items", "value": "agreement"})
SCHEMES = columns("name:name value interval means:words", {"name": "scheme", "value": "agreement", "means": "meaning"})
LOST = columns("why:words size:count", {"why": "reason", "size": "annotations"})
GROUPS = columns(
    "group:name agreement interval kappa items:count undefined:words", {"kappa": "beyond chance", "undefined": "remark"}
)
DIFFERENCES = columns(
    "a:name b:name difference:change interval p:words",
    {"a": "group", "b": "other", "difference": "other minus group", "p": "p (Holm)"},
)
TWO, MOST_IN_MATRIX = 2, 12
MOST_SENTENCES = 3
COLOURS = 6
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
class Told:
    """What a page is about: the breakdowns, and what was said about them on its first screen."""

    breakdowns: Breakdowns
    understood: Understood | None
    options: Mapping[str, Any]
    verdict: Verdict
    checked: tuple[Checked, ...]
    steps: tuple[NextStep, ...]

    def is_fine(self, title: str) -> bool:
        """Whether nothing needs to be shown about this check."""
        return all(check.state == FINE for check in self.checked if check.title == title)


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
        return Section("where", "Disagreement", "", "", [])
    if len(pairs) == 1:
        title = f"All disagreements are between {quoted(pairs[0]['class'])} and {quoted(pairs[0]['other'])}"
        return Section("where", "Disagreement", title, "", _each_class(breakdowns))
    named = next((step.names for step in told.steps if step.code == CLASSES), ())
    row = next((row for row in pairs if (row["class"], row["other"]) == named), pairs[0])
    by_chance = "" if row is pairs[0] else f", {percent(row['expected'])} by chance"
    share = f"{percent(row['share'])} of all disagreements{by_chance}"
    clear = " In colour: clearly more." if any(row["more"] for row in pairs) else ""
    reading = f"Share of all disagreements; marks: by chance.{clear} Click a bar to see its items."
    bars = drawn(breakdowns, "confusion", "Pairs of classes", reading, lambda found: _table(found, "confusion"))
    matrix = drawn(breakdowns, "matrix", "All pairs of classes", "")
    folds = [*([Fold("As a matrix", matrix, "matrix-fold")] if matrix else []), *_each_class(breakdowns)]
    title = f"{quoted(row['class'])} against {quoted(row['other'])}: {share}"
    return Section("where", "Disagreement", title, "", [*bars, *folds])


def _each_class(breakdowns: Breakdowns) -> list[Part]:
    """Options and classes, to open."""
    known = {"options": "Each option", "classes": "Each class"}
    return [
        Fold(words, [_table(breakdowns, name)])
        for name, words in known.items()
        if there(getattr(breakdowns, name)) is not None
    ]


def _table(breakdowns: Breakdowns, name: str, caption: str = "") -> Table:
    """The first rows of a breakdown; names that cards can be filtered by are buttons."""
    usual, many, chosen = TABLES[name]
    frame, picks = known(getattr(breakdowns, name)), {}
    if name in ("classes", "confusion"):
        keys = charts.class_keys(breakdowns)
        picks = {"class": keys, "other": keys}
    elif name == "annotators":
        picks = {"annotator": charts.annotator_keys(breakdowns)}
    is_whole = frame.height <= MOST_ROWS
    note = "" if is_whole else f"The first {MOST_ROWS} of {frame.height:,} {many}."
    shown = [replace(COLUMNS[key], width=None) for key in chosen.split()]  # a page has room for long names
    lines = frame.head(MOST_ROWS).rows(named=True)
    if name == "annotators":
        note = f"{note} {doubtful(lines)}".strip()
    return table(name, caption or usual, lines, shown, note=note, whole=is_whole, picks=picks)


# Items ------------------------------------------------------------------------------------------------


def items(told: Told) -> Section:
    """Items as cards, largest share of all disagreement first."""
    breakdowns = told.breakdowns
    frame = there(breakdowns.disputed)
    if frame is None:
        return Section("items", "Items", "Items", "", [])
    share = percent(round(float(frame["share"].sum()), 9))
    many = f"{count(frame.height, 'item')} hold{'s' if frame.height == 1 else ''} {share} of all disagreements"
    more = (
        _each_class(breakdowns) if len(breakdowns.findings.data.labels) == TWO else []
    )  # their only pair is no section
    return Section("items", "Items", many, "", [cards(breakdowns), *more])


def ranks(labels: Mapping[str, int]) -> dict[str, int]:
    """The place of each label, of the commonest 0."""
    return {label: place for place, label in enumerate(sorted(labels, key=lambda label: (-labels[label], label)))}


def cards(breakdowns: Breakdowns) -> Cards:
    """One card per item; the filters offer only what is on the cards."""
    frame, answers = known(breakdowns.disputed), known(breakdowns.answers)
    keys, people = charts.class_keys(breakdowns), charts.annotator_keys(breakdowns)
    short = shortest_unique([str(item) for item in frame["item"].to_list()])
    called = shortest_unique(people)
    by_item = {key[0]: part for key, part in answers.partition_by("item", as_dict=True).items()}
    options = _options if breakdowns.findings.metric in SET_METRICS else chips
    labels = breakdowns.findings.data.labels
    colours = {label: min(place, COLOURS - 1) for label, place in ranks(labels).items()}
    rows = []
    for row in frame.rows(named=True):
        given = by_item[row["item"]]
        votes = given.group_by("label").agg("annotator", "count").rows(named=True)
        votes.sort(key=lambda vote: (-sum(vote["count"]), keys.get(vote["label"], "")))
        link, (first, last) = str(row.get("link") or ""), _days(given["time"].drop_nulls().to_list())
        rows.append(
            Card(
                short[str(row["item"])],
                printable(str(row["item"]), LONGEST_ITEM) or "''",
                f"{percent(row['share'])} of disagreements",
                tuple(_votes(votes, colours, called, options)),
                tuple(keys[vote["label"]] for vote in votes if vote["label"] in keys),
                tuple(sorted({people[name] for name in given["annotator"] if name in people})),
                printable(str(row.get("text") or ""), LONGEST_TEXT),
                link if link.startswith(ADDRESSES) else "",
                first,
                last,
            )
        )
    notes = []
    if frame.height == MOST_DISPUTED:
        notes.append(f"The {frame.height} most disputed items; unanimous ones are left out.")
    several = int((frame["texts"] > 1).sum()) if "texts" in frame.columns else 0
    if several:
        notes.append(f"{count(several, 'item')} came with several texts; one of them is shown.")
    shown = {key for card in rows for key in card.classes}
    names = sorted({name for name in answers["annotator"] if name in people})
    return Cards(
        tuple(rows),
        tuple(Name(key, _label(label)) for label, key in keys.items() if key in shown),
        tuple(Name(people[name], printable(name, LONGEST_LABEL)) for name in names),
        " ".join(notes),
    )


def _days(times: Sequence[Any]) -> tuple[str, str]:
    """The first and the last day, if times are dates."""
    dates = sorted(charts.seconds(time) for time in times)
    scale = 1000 if dates and is_date(dates[0] / 1000) else 1
    if not dates or not is_date(dates[0] / scale):
        return "", ""
    return moment(dates[0] / scale)[:10], moment(dates[-1] / scale)[:10]


def _options(label: str) -> tuple[str, ...]:
    """The options of a label that is a set of them, however it is written."""
    return tuple(printable(option, LONGEST_LABEL) for option in sorted(as_set(label))) or (charts.NO_OPTION,)


def _votes(
    votes: Sequence[Mapping[str, Any]],
    colours: Mapping[str, int],
    called: Mapping[str, str],
    options: Callable[[str], tuple[str, ...]],
) -> Iterator[Vote]:
    """Parts of one bar, side by side; the names of those who did not give the leading label."""
    sizes = [sum(vote["count"]) for vote in votes]
    start, has_leader = 0.0, len(sizes) < TWO or sizes[0] > sizes[1]
    for place, (vote, size) in enumerate(zip(votes, sizes, strict=True)):
        width = 100 * size / sum(sizes)
        named = sorted(called[name] for name in vote["annotator"] if name is not None)
        people = () if has_leader and place == 0 else tuple(named[:MOST_VOTERS])
        more = f" and {len(named) - MOST_VOTERS:,} more" if people and len(named) > MOST_VOTERS else ""
        label = vote["label"]
        yield Vote(_label(label), size, start, width, colours.get(label, COLOURS - 1), people, more, options(label))
        start += width


def _label(label: str) -> str:
    return printable(escape_controls(label), LONGEST_LABEL) or "''"


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
            each, title = _table(breakdowns, "annotators"), "Agreement with the others"
            parts += drawn(breakdowns, "annotators", title, reading, lambda _: each) or [each]
        if there(breakdowns.pairs) is not None:
            pairs = _table(breakdowns, "pairs")
            matrix = drawn(breakdowns, "pairs", "Pairs of annotators", "", lambda _: pairs)
            if TWO < size <= MOST_IN_MATRIX and matrix:
                parts += matrix
            else:
                parts.append(pairs if size == TWO else Fold("Pairs of annotators", [pairs]))
    lead = ""
    if (groups := there(breakdowns.groups)) is not None:
        lead = " ".join(differences_in_words(groups, MOST_SENTENCES, "in the table below."))
        title = f"Agreement by {printable(groups.column)}"
        parts += drawn(breakdowns, "groups", title, "", lambda _: group_table(groups)) or [group_table(groups)]
        if len(groups.differences) > 1:
            parts.append(Fold("Differences between groups", [difference_table(groups)]))
    if (development := there(breakdowns.development)) is not None:
        steps = development.height  # simultaneous annotations stay together: no exact eighth
        before = "" if window(steps) == 1 else f" or the {window(steps) - 1} before"
        last = f"in that step{before} ({window(steps)} of {steps})"
        reading = f"So far, and on the items finished last, {last}."
        parts += drawn(breakdowns, "development", "Agreement over time", reading, _development)
    return Section("people", "People", _who(told), lead, parts)


def _who(told: Told) -> str:
    """The heading: who stands out."""
    steps = there(told.breakdowns.steps) or ()
    step = next((step for step in steps if step.code in (ONE_LABEL, PEOPLE, COPIES)), None)
    if step is not None and step.code == COPIES:
        one, other = (printable(name, LONGEST_LABEL) for name in step.names)
        return f"{one} and {other} give the same label on {percent(step.figures['agreement'])} of their items"
    if step is None:
        return "Nobody stands out" if told.breakdowns.findings.data.annotators else "People"
    many = len(step.names)
    who = printable(step.names[0], LONGEST_LABEL) if many == 1 else f"{many:,} people"
    verb = "is" if many == 1 else "are"
    return f"{who} {verb} in {percent(step.figures['share'])} of all disagreements"


def group_table(groups: Groups) -> Table:
    """Every group with its interval."""
    rows = [
        {
            "group": line.name,
            "agreement": line.spa.value,
            "low": line.spa.low,
            "high": line.spa.high,
            "kappa": None if line.kappa is None else line.kappa.value,
            "items": line.items,
            "undefined": line.spa.undefined,
        }
        for line in group_lines(groups)
    ]
    shown = [each for each in GROUPS if each.key not in ("kappa", "undefined") or any(row[each.key] for row in rows)]
    return table("groups", f"Agreement of each group of {groups.of}", rows, shown)


def difference_table(groups: Groups) -> Table:
    """All pairs of groups, the clearest difference first."""
    ordered = sorted(groups.differences, key=lambda each: 2.0 if each.p_holm is None else each.p_holm)
    rows: list[dict[str, Any]] = [
        {
            "a": shown_name(each.a.name),
            "b": shown_name(each.b.name),
            "difference": each.difference.value,
            "low": each.difference.low,
            "high": each.difference.high,
            "p": None if each.p_holm is None else p_value(each.p_holm).removeprefix("p = ").removeprefix("p "),
        }
        for each in ordered
    ]
    note = f"The clearest {MOST_ROWS} of {len(rows):,} differences; --json lists all." if len(rows) > MOST_ROWS else ""
    shown, is_whole = rows[:MOST_ROWS], len(rows) <= MOST_ROWS
    return table("differences", "Differences between groups", shown, DIFFERENCES, note=note, whole=is_whole)


def _development(breakdowns: Breakdowns) -> Table:
    steps = charts.development_steps(breakdowns)
    times = without_midnight([moment(row["time"]) for row in steps])
    lines = [{**row, "when": when} for row, when in zip(steps, times, strict=True)]
    return table("development", "Agreement over time", lines, development_columns())


# How the number was computed --------------------------------------------------------------------------


def method(told: Told) -> Section:
    """The checks, charts of those that are not fine, what was read, the sentence and the reference."""
    breakdowns = told.breakdowns
    parts: list[Part] = [Fold(f"All {len(told.checked)} checks", [Checks(told.checked)], "checks")]
    if not told.is_fine("Assumption"):
        reading = "Dots should be level; above each, its items (hollow: fewer than 10). Dashed: all items."
        rows = [*charts.by_n_rows(breakdowns)]
        by_n = table("by-n", "Agreement by number of annotations", rows, BY_N)
        parts += drawn(breakdowns, "by-n", "Agreement by number of annotations", reading, lambda _: by_n)
    if not told.is_fine("Weights"):
        parts += drawn(breakdowns, "schemes", "All weighting schemes", "", _schemes)
    overlap = there(breakdowns.overlap)
    if overlap is not None and (len(overlap.teams) > 1 or overlap.thin_bridges):
        parts.append(
            Fold(
                "Who annotated items together",
                [
                    table(
                        "teams",
                        "Groups of annotators connected by items",
                        team_rows(overlap),
                        [COLUMNS[key] for key in TEAMS],
                    )
                ],
            )
        )
    lost = [{"why": left_out(why), "size": size} for why, size in breakdowns.findings.data.left_out.items()]
    if lost:
        parts.append(Fold("Annotations that were not used", [table("left-out", "Left out", lost, LOST)]))
    parts.append(Facts(tuple(_facts(told))))
    if breakdowns.findings.spa.value is not None:
        quotable = told.verdict.state != "problem"
        parts.append(Quote(paper_sentence(breakdowns, told.verdict), REFERENCE, BIBTEX, quotable))
    return Section("method", "Method", "How it was computed", "", parts)


def _schemes(breakdowns: Breakdowns) -> Table:
    meaning = {name: scheme.about for name, scheme in REGISTRY.items()}
    rows = [{**row, "means": meaning.get(row["name"], "your own weights")} for row in charts.scheme_rows(breakdowns)]
    return table("schemes", "All weighting schemes", rows, SCHEMES)


def _facts(told: Told) -> Iterator[tuple[str, str]]:
    findings, understood = told.breakdowns.findings, told.understood
    if understood is None:
        yield "Read", "a tally: saved counts"
    else:
        yield from read_as(understood)
    yield "Measure", f"Sparse Probability of Agreement (SPA), {findings.spa.weights} weights, {findings.metric} metric"
    kind = "Wilson's score interval" if findings.spa.method == "wilson" else findings.spa.method
    covers = f"{interval_name(findings.spa)}: {kind}; it is for {COVERS[findings.spa.interval_for]}"
    yield "Interval", f"none: {findings.spa.undefined}" if findings.spa.low is None else covers
    kappas = {words: findings.chance[name] for name, words in COEFFICIENTS.items()}
    known_kappas = [f"{name} {figure(each.value)}" for name, each in kappas.items() if each.value is not None]
    if known_kappas:
        yield "Beyond chance", sentence(", ".join(known_kappas))
    listed = ", ".join(f"{name} = {printable(str(value))}" for name, value in told.options.items())
    yield "Options", listed or "defaults only"
    yield "Software", software()


def read_as(understood: Understood) -> Iterator[tuple[str, str]]:
    """What was read as what, and the rules that applied."""
    roles = columns_in_words(understood)
    yield "Read", f"{source_name(understood)}, as {understood.kind}{f': {roles}' if roles else ''}"
    for rule in understood.rules:
        yield "Rule", printable(rule, 200)


def software() -> str:
    """What made the page."""
    return f"spagree {__version__}, Python {platform.python_version()}"


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
