"""Where people disagree, and who does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import partial
from typing import Any

from spagree.estimate import NOMINAL
from spagree.estimate.breakdown_values import Breakdowns, known
from spagree.estimate.breakdowns import MOST_PEOPLE
from spagree.estimate.similarity import SCALES
from spagree.present.charts import board, rows
from spagree.present.report.figures import drawn
from spagree.present.report.parts import MOST_ROWS, Figure, Picks, Section, Table, table
from spagree.present.tables import Column
from spagree.present.wording import count, percent, sentence

TELLING = 0.2  # share of the pairs that must have enough items for a chart
TWO = 2
MANY = 5  # annotations per item from which the distribution has a shape
DIFFERENT = (
    "Different is not wrong: an annotator who disagrees with all the others may be the only one who read the "
    "guideline. Look before you judge."
)

CLASSES = (
    Column("class", "class", "name"),
    Column("agreement", "agreement"),
    Column("interval", "interval", "interval"),
    Column("annotations", "annotations", "count"),
    Column("share", "share", "percent"),
    Column("items", "items", "count"),
)
CONFUSION = (
    Column("class", "first says", "name"),
    Column("other", "second says", "name"),
    Column("probability", "probability"),
    Column("pairs", "pairs", "count"),
    Column("items", "items", "count"),
)
OPTIONS = (
    Column("option", "option", "name"),
    Column("agreement", "agreement"),
    Column("kappa", "beyond chance"),
    Column("annotations", "chosen", "count"),
    Column("share", "share", "percent"),
    Column("items", "items", "count"),
)
BINS = (
    Column("range", "agreement", "words"),
    Column("items", "items", "count"),
    Column("share", "share", "words"),
)
ANNOTATORS = (
    Column("annotator", "annotator", "name"),
    Column("agreement", "agreement with others"),
    Column("interval", "interval", "interval"),
    Column("shared", "shared items", "count"),
    Column("against_others", "against others of the same items", "change"),
    Column("annotations", "annotations", "count"),
    Column("coverage", "of all items", "percent"),
    Column("spa_without", "number without them"),
    Column("change", "change", "change"),
)
PAIRS = (
    Column("annotator", "annotator", "name"),
    Column("other", "other", "name"),
    Column("agreement", "agreement"),
    Column("interval", "interval", "interval"),
    Column("cohen_kappa", "Cohen's kappa"),
    Column("shared", "shared items", "count"),
)


def where(breakdowns: Breakdowns) -> Section:
    """Classes, confusion, options, the distribution of item agreement."""
    picks = {"class": rows.class_keys(breakdowns), "other": rows.class_keys(breakdowns)}
    classes = drawn(
        "classes",
        "Which classes are hard?",
        f"If one annotator chose the class, {_how_likely(breakdowns)} Hollow dots rest on fewer than 10 items."
        + _first(breakdowns, "classes", "class", "classes"),
        partial(board.classes, breakdowns),
        lambda: _cut("classes", "Agreement of each class", known(breakdowns.classes), CLASSES, "classes", picks=picks),
    )
    confusion = drawn(
        "confusion",
        "Which classes are confused?",
        "What a second annotator says when the first says the class on the left. "
        + _adds_up(breakdowns)
        + "Grey: the same label again. Coloured: confused more often than the classes' shares alone would predict; "
        "the stronger the colour, the larger the excess. Click a cell to see its items." + _most_confused(breakdowns),
        partial(board.confusion, breakdowns),
        lambda: _cut(
            "confusion", "Confused classes", known(breakdowns.confusion), CONFUSION, "pairs of classes", picks=picks
        ),
    )
    spread = drawn(
        "items",
        "Is it a few items, or all of them?",
        f"How many items have each level of agreement. {_spread(breakdowns)}",
        partial(board.items, breakdowns),
        partial(_bins, breakdowns),
    )
    lead = f"The classes that cost the most agreement: here a better guideline helps.{_scale_steps(breakdowns)}"
    options = list(_options(breakdowns))
    chosen = [*options, confusion] if options else [classes, confusion]
    return Section("where", "Classes", "Where do people disagree?", lead, [*chosen, spread])


def _options(breakdowns: Breakdowns) -> Iterator[Table]:
    """For labels that are sets: agreement on each option, chosen or not."""
    if not breakdowns.lacks("options"):
        yield _cut("options", "Agreement on each option", known(breakdowns.options), OPTIONS, "options")


def _scale_steps(breakdowns: Breakdowns) -> str:
    """How far apart two annotations of an item lie on a scale, in steps; empty for other labels."""
    findings = breakdowns.findings
    if findings.metric not in SCALES or breakdowns.lacks("confusion"):
        return ""
    labels = rows.in_order([{"class": label} for label in sorted(findings.data.labels)], findings.order)
    place = {row["class"]: step for step, row in enumerate(labels)}
    pairs = sum(row.items * row.n * (row.n - 1) for row in findings.missingness.by_n)
    apart = Counter[int]()
    for one, other, size in known(breakdowns.confusion).select("class", "other", "pairs").rows():
        apart[abs(place[one] - place[other])] += size
    one, more = apart[1] / pairs, sum(size for step, size in apart.items() if step > 1) / pairs
    return f" Of all pairs of annotations, {percent(one)} lie one step apart on the scale, {percent(more)} two or more."


def _first(breakdowns: Breakdowns, name: str, one: str, many: str) -> str:
    """The names that a chart leaves out."""
    if breakdowns.lacks(name):
        return ""
    found = getattr(breakdowns, name)
    drawn, which = rows.chosen_lines(found.rows(named=True), rows.SIZES[name])
    if found.height <= rows.MOST_LINES:
        return ""
    return f" Of {count(found.height, one, many)} the {len(drawn):,} {which} are drawn."


def _how_likely(breakdowns: Breakdowns) -> str:
    if breakdowns.findings.metric == NOMINAL:
        return "how likely is it that a second one did too?"
    return "how much does a second one agree on average (1: the same label)?"


def _how_often(breakdowns: Breakdowns) -> str:
    if breakdowns.findings.metric == NOMINAL:
        return "How often somebody else gave the same label"
    return "How much somebody else agrees on average"


def _spread(breakdowns: Breakdowns) -> str:
    """How to read the bars: an item with few annotations can only take a few values."""
    by_n = breakdowns.findings.missingness.by_n
    if breakdowns.findings.metric == NOMINAL and by_n:
        if by_n[-1].n == 2:  # noqa: PLR2004 (a pair agrees or not)
            return (
                "Two annotations agree or they do not, so only 0 and 1 can occur: the bars show how many items are "
                "disputed, not how badly. A third annotation would tell slips from hard items."
            )
        few = sum(row.items for row in by_n if row.n < MANY)
        if 2 * few > sum(row.items for row in by_n):
            return (
                "Items with few annotations can only have a few values (two annotations: 0 or 1; three: 0, 0.33 or 1), "
                "so gaps between the bars mean nothing. If most items are near 1, the disagreement is down to "
                "single items."
            )
    return "A tall bar at 1 and a few bars on the left: a handful of hard items. A broad hump: an unclear guideline."


def _adds_up(breakdowns: Breakdowns) -> str:
    """Rows add up to 100% only if no class is left out."""
    return "" if breakdowns.findings.data.classes > rows.MOST_CLASSES else "Each row adds up to 100%. "


def _most_confused(breakdowns: Breakdowns) -> str:
    size = breakdowns.findings.data.classes
    if size <= rows.MOST_CLASSES:
        return ""
    return f" Of {size:,} classes the {rows.MOST_CLASSES} with the most frequent confusions are drawn."


def _cut(
    id: str, caption: str, frame: Any, columns: tuple[Column, ...], many: str, *, picks: Picks | None = None
) -> Table:
    hidden = frame.height - MOST_ROWS
    note = f"The first {MOST_ROWS} of {frame.height:,} {many}." if hidden > 0 else ""
    found = frame.head(MOST_ROWS).rows(named=True)
    return table(id, caption, found, columns, note=note, whole=hidden <= 0, picks=picks)


def _bins(breakdowns: Breakdowns) -> Table:
    return table("items", "Items by their agreement", rows.bin_rows(breakdowns), BINS)


def who(breakdowns: Breakdowns) -> Section:
    """Annotators and pairs of annotators; for two annotators one small table."""
    title, lead = "Who disagrees?", DIFFERENT
    lacking = breakdowns.lacks("annotators")
    if lacking:
        absent = Figure("annotators", "Annotators", "", None, absent=sentence(lacking))
        return Section("who", "Annotators", title, lead, [absent])
    picks = {"annotator": rows.annotator_keys(breakdowns)}
    if known(breakdowns.annotators).height == TWO and not breakdowns.lacks("pairs"):
        caption = "The two annotators"
        return Section(
            "who", "Annotators", title, "", [_cut("pairs", caption, known(breakdowns.pairs), PAIRS, "pairs")]
        )
    annotators = drawn(
        "annotators",
        "Each annotator against the others",
        f"{_how_often(breakdowns)} on items they share; the dashed line is the mean of all annotations. Hollow dots "
        "rest on fewer than 10 items. Click a dot to see that annotator's items."
        + _first(breakdowns, "annotators", "annotator", "annotators"),
        partial(board.annotators, breakdowns),
        lambda: _cut(
            "annotators",
            "Agreement of each annotator",
            known(breakdowns.annotators),
            ANNOTATORS,
            "annotators",
            picks=picks,
        ),
    )
    return Section("who", "Annotators", title, lead, [annotators, _pairs(breakdowns)])


def _pairs(breakdowns: Breakdowns) -> Figure:
    """Pairs of annotators, if enough of them share enough items; a sentence otherwise."""
    title = "Pairs of annotators"
    if breakdowns.lacks("pairs"):
        return Figure("pairs", title, "", None, absent=sentence(str(breakdowns.lacks("pairs"))))
    frame = known(breakdowns.pairs)
    enough, size = int((~frame["few"]).sum()), frame.height
    if enough < TELLING * size or not enough:
        few = f"{f'Only {enough:,}' if enough else 'None'} of the {size:,} pairs with shared items have 10 or more"
        one = "The only pair with shared items has fewer than 10"
        words = f"{one if size == 1 else few}: too few to compare two people. See each annotator above."
        return Figure("pairs", title, "", None, _pair_table(breakdowns), absent=words)
    reading = (
        "How much two annotators agree on the items they share; stronger colours mean more agreement. Pairs with fewer "
        f"than 10 shared items are left out.{_busiest(breakdowns)}"
    )
    return drawn("pairs", title, reading, partial(board.pairs, breakdowns), partial(_pair_table, breakdowns))


def _pair_table(breakdowns: Breakdowns) -> Table:
    return _cut("pairs", "Pairs of annotators, least agreement first", known(breakdowns.pairs), PAIRS, "pairs")


def _busiest(breakdowns: Breakdowns) -> str:
    size = known(breakdowns.annotators).height
    return f" Only the {MOST_PEOPLE} busiest of {size:,} annotators are drawn." if size > MOST_PEOPLE else ""
