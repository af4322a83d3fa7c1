"""Where people disagree, and who does."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from spagree.estimate import NOMINAL
from spagree.estimate.breakdowns import MOST_PEOPLE, Breakdowns, known
from spagree.present.charts import board, rows
from spagree.present.charts.heat import MOST_WORDS
from spagree.present.report.figures import drawn, sentence
from spagree.present.report.parts import MOST_ROWS, Column, Figure, Section, Table, table
from spagree.present.wording import count

TELLING = 0.2  # of the pairs have enough items to be drawn
MANY = 5  # annotations of an item, from which on its agreement has a shape
DIFFERENT = (
    "Being different is not being wrong: somebody who disagrees with all the others may be the only one who read the "
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
ITEMS = (
    Column("item", "item", "name"),
    Column("votes", "votes", "words"),
    Column("agreement", "agreement"),
    Column("annotations", "annotations", "count"),
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
    """Classes, confusion, the distribution of item agreement, the hardest items."""
    classes = drawn(
        "classes",
        "Which classes are hard?",
        f"If one annotator chose the class, {_how_likely(breakdowns)} Hollow dots rest on fewer than 10 items."
        + _first(breakdowns, "classes", "class", "classes"),
        partial(board.classes, breakdowns),
        lambda: _cut("classes", "Agreement of each class", known(breakdowns.classes), CLASSES, "classes"),
    )
    confusion = drawn(
        "confusion",
        "What are they taken for?",
        "What a second annotator says when the first one says the class on the left. " + _adds_up(breakdowns) + "The "
        "diagonal is the same label again; bright cells beside it are classes taken for one another. Hollow cells with "
        "a dot rest on fewer than 10 items." + _commonest(breakdowns),
        partial(board.confusion, breakdowns),
        lambda: _cut(
            "confusion", "Classes taken for one another", known(breakdowns.confusion), CONFUSION, "pairs of classes"
        ),
    )
    spread = drawn(
        "items",
        "Is it a few items, or all of them?",
        f"How many items have which agreement. {_spread(breakdowns)}",
        partial(board.items, breakdowns),
        partial(_bins, breakdowns),
    )
    lead = "Classes and items that cost most agreement. This is where a guideline can be improved."
    return Section(
        "where", "Where", "Where do people disagree?", lead, [classes, confusion, spread, _hardest(breakdowns)]
    )


def _first(breakdowns: Breakdowns, name: str, one: str, many: str) -> str:
    """What a chart of many names leaves out."""
    if breakdowns.lacks(name):
        return ""
    found = getattr(breakdowns, name)
    drawn, which = rows.chosen_lines(found.rows(named=True), rows.SIZES[name])
    if found.height <= rows.MOST_LINES:
        return ""
    return f" Of {count(found.height, one, many)} the {len(drawn):,} {which} are drawn."


def _how_likely(breakdowns: Breakdowns) -> str:
    if breakdowns.findings.metric == NOMINAL:
        return "how likely is it that a second one did, too?"
    return "how much does a second one agree on average, 1 being the same label?"


def _how_often(breakdowns: Breakdowns) -> str:
    if breakdowns.findings.metric == NOMINAL:
        return "How often somebody else gave the same label"
    return "How much somebody else agrees on average"


def _spread(breakdowns: Breakdowns) -> str:
    """How to read the bars, which depends on what values an item can have: with few annotations only a few."""
    by_n = breakdowns.findings.missingness.by_n
    if breakdowns.findings.metric == NOMINAL and by_n:
        if by_n[-1].n == 2:  # noqa: PLR2004 (a pair agrees or not)
            return (
                "Two annotations agree or they do not, so only 0 and 1 can occur: the bars say how many items are "
                "disputed, not how badly. A third annotation would tell slips from hard items."
            )
        few = sum(row.items for row in by_n if row.n < MANY)
        if 2 * few > sum(row.items for row in by_n):
            return (
                "Items with few annotations can only have a few values (two annotations: 0 or 1; three: 0, 0.33 or 1), "
                "so gaps between the bars mean nothing. The more stands near 1, the more the rest is a matter of "
                "single items."
            )
    return "A tall bar at 1 and a few at the left: a handful of hard items. A broad hill: the guideline is unclear."


def _adds_up(breakdowns: Breakdowns) -> str:
    """Rows are whole only where no class is cut."""
    return "" if breakdowns.findings.data.classes > rows.MOST_CLASSES else "Each row adds up to 100%. "


def _commonest(breakdowns: Breakdowns) -> str:
    size = breakdowns.findings.data.classes
    return f" The {rows.MOST_CLASSES} commonest of {size:,} classes are drawn." if size > rows.MOST_CLASSES else ""


def _cut(id: str, caption: str, frame: Any, columns: tuple[Column, ...], many: str) -> Table:
    hidden = frame.height - MOST_ROWS
    note = f"The first {MOST_ROWS} of {frame.height:,} {many}." if hidden > 0 else ""
    found = frame.head(MOST_ROWS).rows(named=True)
    return table(id, caption, found, columns, note=note, whole=hidden <= 0)


def _bins(breakdowns: Breakdowns) -> Table:
    return table("items", "Items by their agreement", rows.bin_rows(breakdowns), BINS)


def _hardest(breakdowns: Breakdowns) -> Table | Figure:
    """The items to talk about, with their votes and their text."""
    title = "The hardest items"
    lacking = breakdowns.lacks("hardest")
    if lacking:
        return Figure("hardest", title, "", None, absent=sentence(lacking))
    frame = known(breakdowns.hardest)
    named = "text" in frame.columns
    columns = (ITEMS[0], *([Column("text", "text", "words")] if named else []), *ITEMS[1:])
    several = int((frame["texts"] > 1).sum()) if named else 0
    notes = [f"The {frame.height} with the least agreement, most annotations first."]
    if breakdowns.findings.metric != NOMINAL:
        notes.append("Agreement counts equal labels only here.")
    if several:
        notes.append(f"{count(several, 'item')} came with more than one text; one of them is shown.")
    return table("hardest", title, frame.rows(named=True), columns, note=" ".join(notes))


def who(breakdowns: Breakdowns) -> Section:
    """Annotators and pairs of annotators."""
    title, lead = "Who disagrees?", DIFFERENT
    lacking = breakdowns.lacks("annotators")
    if lacking:
        return Section(
            "who", "Who", title, lead, [Figure("annotators", "Annotators", "", None, absent=sentence(lacking))]
        )
    annotators = drawn(
        "annotators",
        "Annotators and the others",
        f"{_how_often(breakdowns)} on items they share; the dashed line is the mean of all annotations. Hollow dots "
        "rest on fewer than 10 items." + _first(breakdowns, "annotators", "annotator", "annotators"),
        partial(board.annotators, breakdowns),
        lambda: _cut(
            "annotators", "Agreement of each annotator", known(breakdowns.annotators), ANNOTATORS, "annotators"
        ),
    )
    return Section("who", "Who", title, lead, [annotators, _pairs(breakdowns)])


def _pairs(breakdowns: Breakdowns) -> Figure:
    title = "Every two annotators"
    reading = (
        f"The brighter, the more two annotators agree{_numbers(breakdowns)}. Hollow cells with a dot (and *) rest on "
        f"fewer than 10 shared items: too few to judge. Empty: they never met.{_busiest(breakdowns)}"
    )
    found = drawn("pairs", title, reading, partial(board.pairs, breakdowns), partial(_pair_table, breakdowns))
    return found if found.spec is None else replace(found, reading=_luck(breakdowns) + reading)


def _luck(breakdowns: Breakdowns) -> str:
    """A word of warning where most pairs hardly met: what the picture shows is then noise."""
    enough, size = int((~known(breakdowns.pairs)["few"]).sum()), known(breakdowns.pairs).height
    if enough >= TELLING * size:
        return ""
    few = f"{f'Only {enough:,}' if enough else 'None'} of the {size:,} pairs who met share 10 items or more"
    one = "The one pair who met shares fewer than 10 items"
    return f"{one if size == 1 else few}: most of what you see is luck. Compare annotators with all the others, above. "


def _pair_table(breakdowns: Breakdowns) -> Table:
    return _cut("pairs", "Pairs of annotators, least agreement first", known(breakdowns.pairs), PAIRS, "pairs")


def _busiest(breakdowns: Breakdowns) -> str:
    size = known(breakdowns.annotators).height
    return f" Only the {MOST_PEOPLE} busiest of {size:,} annotators are drawn." if size > MOST_PEOPLE else ""


def _numbers(breakdowns: Breakdowns) -> str:
    return "; the number says how many items they share" if known(breakdowns.annotators).height <= MOST_WORDS else ""
