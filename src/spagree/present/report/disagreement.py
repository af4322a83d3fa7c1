"""Where people disagree, and who does."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from spagree.estimate import NOMINAL
from spagree.present.charts import rows
from spagree.present.charts.board import Charts
from spagree.present.charts.heat import MOST_WORDS
from spagree.present.evidence import MOST_PEOPLE, Evidence
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


def where(evidence: Evidence) -> Section:
    """Classes, confusion, the distribution of item agreement, the hardest items."""
    charts = Charts(evidence)
    classes = drawn(
        "classes",
        "Which classes are hard?",
        f"If one annotator chose the class, {_how_likely(evidence)} Hollow dots rest on fewer than 10 items."
        + _first(evidence, "classes", "class", "classes"),
        charts.classes,
        lambda: _cut("classes", "Agreement of each class", evidence.classes, CLASSES, "classes"),
    )
    confusion = drawn(
        "confusion",
        "What are they taken for?",
        "What a second annotator says when the first one says the class on the left. " + _adds_up(evidence) + "The "
        "diagonal is the same label again; bright cells beside it are classes taken for one another. Hollow cells with "
        "a dot rest on fewer than 10 items." + _commonest(evidence),
        charts.confusion,
        lambda: _cut("confusion", "Classes taken for one another", evidence.confusion, CONFUSION, "pairs of classes"),
    )
    spread = drawn(
        "items",
        "Is it a few items, or all of them?",
        f"How many items have which agreement. {_spread(evidence)}",
        charts.items,
        lambda: _bins(evidence),
    )
    lead = "Classes and items that cost most agreement. This is where a guideline can be improved."
    return Section(
        "where", "Where", "Where do people disagree?", lead, [classes, confusion, spread, _hardest(evidence)]
    )


def _first(evidence: Evidence, name: str, one: str, many: str) -> str:
    """What a chart of many names leaves out."""
    if evidence.lacks(name):
        return ""
    found = getattr(evidence, name)
    drawn, which = rows.chosen_lines(found.rows(named=True), rows.SIZES[name])
    if found.height <= rows.MOST_LINES:
        return ""
    return f" Of {count(found.height, one, many)} the {len(drawn):,} {which} are drawn."


def _how_likely(evidence: Evidence) -> str:
    if evidence.findings.metric == NOMINAL:
        return "how likely is it that a second one did, too?"
    return "how much does a second one agree on average, 1 being the same label?"


def _how_often(evidence: Evidence) -> str:
    if evidence.findings.metric == NOMINAL:
        return "How often somebody else gave the same label"
    return "How much somebody else agrees on average"


def _spread(evidence: Evidence) -> str:
    """How to read the bars, which depends on what values an item can have: with few annotations only a few."""
    by_n = evidence.findings.missingness.by_n
    if evidence.findings.metric == NOMINAL and by_n:
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


def _adds_up(evidence: Evidence) -> str:
    """Rows are whole only where no class is cut."""
    return "" if evidence.findings.data.classes > rows.MOST_CLASSES else "Each row adds up to 100%. "


def _commonest(evidence: Evidence) -> str:
    size = evidence.findings.data.classes
    return f" The {rows.MOST_CLASSES} commonest of {size:,} classes are drawn." if size > rows.MOST_CLASSES else ""


def _cut(id: str, caption: str, frame: Any, columns: tuple[Column, ...], many: str) -> Table:
    hidden = frame.height - MOST_ROWS
    note = f"The first {MOST_ROWS} of {frame.height:,} {many}." if hidden > 0 else ""
    found = frame.head(MOST_ROWS).rows(named=True)
    return table(id, caption, found, columns, note=note, whole=hidden <= 0)


def _bins(evidence: Evidence) -> Table:
    return table("items", "Items by their agreement", rows.bin_rows(evidence), BINS)


def _hardest(evidence: Evidence) -> Table | Figure:
    """The items to talk about, with their votes and their text."""
    title = "The hardest items"
    lacking = evidence.lacks("hardest")
    if lacking:
        return Figure("hardest", title, "", None, absent=sentence(lacking))
    frame = evidence.hardest
    named = "text" in frame.columns
    columns = (ITEMS[0], *([Column("text", "text", "words")] if named else []), *ITEMS[1:])
    several = int((frame["texts"] > 1).sum()) if named else 0
    notes = [f"The {frame.height} with the least agreement, most annotations first."]
    if evidence.findings.metric != NOMINAL:
        notes.append("Agreement counts equal labels only here.")
    if several:
        notes.append(f"{count(several, 'item')} came with more than one text; one of them is shown.")
    return table("hardest", title, frame.rows(named=True), columns, note=" ".join(notes))


def who(evidence: Evidence) -> Section:
    """Annotators and pairs of annotators."""
    charts = Charts(evidence)
    title, lead = "Who disagrees?", DIFFERENT
    lacking = evidence.lacks("annotators")
    if lacking:
        return Section(
            "who", "Who", title, lead, [Figure("annotators", "Annotators", "", None, absent=sentence(lacking))]
        )
    annotators = drawn(
        "annotators",
        "Annotators and the others",
        f"{_how_often(evidence)} on items they share; the dashed line is the mean of all annotations. Hollow dots rest "
        "on fewer than 10 items." + _first(evidence, "annotators", "annotator", "annotators"),
        charts.annotators,
        lambda: _cut("annotators", "Agreement of each annotator", evidence.annotators, ANNOTATORS, "annotators"),
    )
    return Section("who", "Who", title, lead, [annotators, _pairs(evidence)])


def _pairs(evidence: Evidence) -> Figure:
    title = "Every two annotators"
    reading = (
        f"The brighter, the more two annotators agree{_numbers(evidence)}. Hollow cells with a dot (and *) rest on "
        f"fewer than 10 shared items: too few to judge. Empty: they never met.{_busiest(evidence)}"
    )
    found = drawn("pairs", title, reading, Charts(evidence).pairs, lambda: _pair_table(evidence))
    return found if found.spec is None else replace(found, reading=_luck(evidence) + reading)


def _luck(evidence: Evidence) -> str:
    """A word of warning where most pairs hardly met: what the picture shows is then noise."""
    enough, size = int((~evidence.pairs["few"]).sum()), evidence.pairs.height
    if enough >= TELLING * size:
        return ""
    few = f"{f'Only {enough:,}' if enough else 'None'} of the {size:,} pairs who met share 10 items or more"
    one = "The one pair who met shares fewer than 10 items"
    return f"{one if size == 1 else few}: most of what you see is luck. Compare annotators with all the others, above. "


def _pair_table(evidence: Evidence) -> Table:
    return _cut("pairs", "Pairs of annotators, least agreement first", evidence.pairs, PAIRS, "pairs")


def _busiest(evidence: Evidence) -> str:
    size = evidence.annotators.height
    return f" Only the {MOST_PEOPLE} busiest of {size:,} annotators are drawn." if size > MOST_PEOPLE else ""


def _numbers(evidence: Evidence) -> str:
    return "; the number says how many items they share" if evidence.annotators.height <= MOST_WORDS else ""
