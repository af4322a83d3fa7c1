"""Where people disagree, and who does."""

from __future__ import annotations

from collections import Counter

from spagree.errors import count
from spagree.estimate import NOMINAL
from spagree.estimate.breakdown_values import Breakdowns, known
from spagree.estimate.breakdowns import MOST_PEOPLE
from spagree.estimate.similarity import SCALES
from spagree.present.charts import agreement as charts
from spagree.present.report.parts import MOST_ROWS, Figure, Section, Table, absent, drawn, table
from spagree.present.tables import columns, doubtful
from spagree.present.wording import percent

TELLING = 0.2  # share of the pairs that must have enough items for a chart
TWO = 2
MANY = 5  # annotations per item from which the distribution has a shape
DIFFERENT = (
    "Different is not wrong: an annotator who disagrees with all the others may be the only one who read the "
    "guideline. Look before you judge."
)

# breakdown → caption, what its rows are, columns
TABLES = {
    "classes": (
        "Agreement of each class",
        "classes",
        columns("class:name agreement interval annotations:count share:percent items:count"),
    ),
    "confusion": (
        "Confused classes",
        "pairs of classes",
        columns(
            "class:name other:name probability pairs:count items:count", {"class": "first says", "other": "second says"}
        ),
    ),
    "options": (
        "Agreement on each option",
        "options",
        columns(
            "option:name agreement kappa annotations:count share:percent items:count",
            {"kappa": "beyond chance", "annotations": "chosen"},
        ),
    ),
    "annotators": (
        "Agreement of each annotator",
        "annotators",
        columns(
            "annotator:name agreement interval shared:count against_others:change annotations:count coverage:percent "
            "spa_without change:change",
            {"agreement": "agreement with others", "shared": "shared items", "coverage": "of all items"}
            | {"against_others": "against others of the same items", "spa_without": "number without them"},
        ),
    ),
    "pairs": (
        "Pairs of annotators, least agreement first",
        "pairs",
        columns(
            "annotator:name other:name agreement interval cohen_kappa shared:count",
            {"cohen_kappa": "Cohen's kappa", "shared": "shared items"},
        ),
    ),
}
BINS = columns("range:words items:count share:words", {"range": "agreement"})


def where(breakdowns: Breakdowns) -> Section:
    """Classes, confusion, options, the distribution of item agreement."""
    is_nominal, size = breakdowns.findings.metric == NOMINAL, breakdowns.findings.data.classes
    likely = "how likely is it that a second one did too?"
    much = "how much does a second one agree on average (1: the same label)?"
    classes = drawn(
        breakdowns,
        "classes",
        "Which classes are hard?",
        f"If one annotator chose the class, {likely if is_nominal else much} Hollow dots rest on fewer than 10 items."
        + _first(breakdowns, "classes", "class", "classes"),
        lambda found: _table(found, "classes"),
    )
    are_all_drawn = size <= charts.MOST_CLASSES
    cut = f" Of {size:,} classes the {charts.MOST_CLASSES} with the most frequent confusions are drawn."
    confusion = drawn(
        breakdowns,
        "confusion",
        "Which classes are confused?",
        "What a second annotator says when the first says the class on the left. "
        + ("Each row adds up to 100%. " if are_all_drawn else "")
        + "Grey: the same label again. Coloured: confused more often than the classes' shares alone would predict; "
        "the stronger the colour, the larger the excess. Click a cell to see its items."
        + ("" if are_all_drawn else cut),
        lambda found: _table(found, "confusion"),
    )
    spread = drawn(
        breakdowns,
        "items",
        "Is it a few items, or all of them?",
        f"How many items have each level of agreement. {_spread(breakdowns)}",
        lambda found: table("items", "Items by their agreement", charts.bin_rows(found), BINS),
    )
    lead = f"The classes that cost the most agreement: here a better guideline helps.{_scale_steps(breakdowns)}"
    first = classes if breakdowns.lacks("options") else _table(breakdowns, "options")
    return Section("where", "Classes", "Where do people disagree?", lead, [first, confusion, spread])


def _scale_steps(breakdowns: Breakdowns) -> str:
    """How far apart two annotations of an item lie on a scale, in steps; empty for other labels."""
    findings = breakdowns.findings
    if findings.metric not in SCALES or breakdowns.lacks("confusion"):
        return ""
    labels = charts.in_order([{"class": label} for label in sorted(findings.data.labels)], findings.order)
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
    frame = getattr(breakdowns, name)
    drawn, which = charts.chosen_lines(frame.rows(named=True), charts.SIZES[name])
    if frame.height <= charts.MOST_LINES:
        return ""
    return f" Of {count(frame.height, one, many)} the {len(drawn):,} {which} are drawn."


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
    lines = frame.head(MOST_ROWS).rows(named=True)
    if name == "annotators":
        note = f"{note} {doubtful(lines)}".strip()
    return table(name, caption or usual, lines, chosen, note=note, whole=is_whole, picks=picks)


def who(breakdowns: Breakdowns) -> Section:
    """Annotators and pairs of annotators; for two annotators one small table."""
    short, title = "Annotators", "Who disagrees?"
    lacking = breakdowns.lacks("annotators")
    if lacking:
        return Section("who", short, title, DIFFERENT, [absent("annotators", short, lacking)])
    if known(breakdowns.annotators).height == TWO and not breakdowns.lacks("pairs"):
        return Section("who", short, title, "", [_table(breakdowns, "pairs", "The two annotators")])
    often, much = "How often somebody else gave the same label", "How much somebody else agrees on average"
    annotators = drawn(
        breakdowns,
        "annotators",
        "Each annotator against the others",
        f"{often if breakdowns.findings.metric == NOMINAL else much} on items they share; the dashed line is the mean "
        "of all annotations. Hollow dots rest on fewer than 10 items. Click a dot to see that annotator's items."
        + _first(breakdowns, "annotators", "annotator", "annotators"),
        lambda found: _table(found, "annotators"),
    )
    return Section("who", short, title, DIFFERENT, [annotators, _pairs(breakdowns)])


def _pairs(breakdowns: Breakdowns) -> Figure:
    """Pairs of annotators, if enough of them share enough items; a sentence otherwise."""
    title, lacking = "Pairs of annotators", breakdowns.lacks("pairs")
    if lacking:
        return absent("pairs", title, lacking)
    frame, people = known(breakdowns.pairs), known(breakdowns.annotators).height
    enough, size = int((~frame["few"]).sum()), frame.height
    if enough < TELLING * size or not enough:
        few = f"{f'Only {enough:,}' if enough else 'None'} of the {size:,} pairs with shared items have 10 or more"
        one = "The only pair with shared items has fewer than 10"
        words = f"{one if size == 1 else few}: too few to compare two people. See each annotator above."
        return absent("pairs", title, words, _table(breakdowns, "pairs"))
    busiest = f" Only the {MOST_PEOPLE} busiest of {people:,} annotators are drawn." if people > MOST_PEOPLE else ""
    reading = (
        "How much two annotators agree on the items they share; stronger colours mean more agreement. Pairs with fewer "
        f"than 10 shared items are left out.{busiest}"
    )
    return drawn(breakdowns, "pairs", title, reading, lambda found: _table(found, "pairs"))
