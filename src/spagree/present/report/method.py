"""What to do next, and how all of it was computed."""

from __future__ import annotations

import platform
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import PurePath
from typing import Any

from spagree.estimate.breakdowns import Breakdowns, known
from spagree.estimate.cautions import REMEDY
from spagree.estimate.planning import FRESH, NEW_ITEMS, SAME_ITEMS
from spagree.option_names import spelled
from spagree.present.charts import board
from spagree.present.report.figures import drawn
from spagree.present.report.parts import Column, Facts, Quote, Section, Steps, Table, table
from spagree.present.sentence import REFERENCE, for_paper, interval_name
from spagree.present.wording import count, figure, printable
from spagree.understood import Understood

NAMED = 3
PAIR = 2
OBJECTS = (" frame", "count matrix")
ROUTES = {
    NEW_ITEMS: "new items beside these",
    SAME_ITEMS: "more annotations of these items",
    FRESH: "a new data set from scratch",
}
PLAN = (
    Column("target", "precision", "words"),
    Column("way", "way", "words"),
    Column("annotations_per_item", "annotations per item", "count"),
    Column("items", "items", "count"),
    Column("more_annotations", "annotations to make", "count"),
    Column("annotations", "annotations in all", "count"),
)
BIBTEX = """@misc{norregaard2022sparse,
  title = {Sparse Probability of Agreement},
  author = {Nørregaard, Jeppe and Derczynski, Leon},
  year = {2022},
  eprint = {2208.06161},
  archivePrefix = {arXiv}
}"""


def following(breakdowns: Breakdowns) -> Section:
    """Suggestions that follow from what was found, and what more annotations would bring."""
    steps = tuple(_steps(breakdowns))
    found = drawn(
        "plan",
        "How many annotations does a more precise number take?",
        "From where things stand (now) to a narrower interval, by annotating new items like these in the cheapest way. "
        "Lower is more precise, further right more work; halving the interval takes about four times as much.",
        partial(board.plan, breakdowns),
        partial(_plan, breakdowns),
    )
    lead = "Suggestions that follow from the figures above."
    return Section("next", "Next steps", "What to do next?", lead, [*([Steps(steps)] if steps else []), found])


def _plan(breakdowns: Breakdowns) -> Table:
    """The cheapest design of each route."""
    best = [row for row in known(breakdowns.plan).rows(named=True) if row["best"]]
    rows = [{**row, "way": ROUTES[row["route"]], "target": f"±{figure(row['half_width'])}"} for row in best]
    note = "The cheapest design of each kind."
    if any(row["assumed"] for row in best):
        note += " Some rest on what is usual rather than on these data: items have too few annotations to tell."
    return table("plan", "Designs that reach a precision", rows, PLAN, note=note)


def _steps(breakdowns: Breakdowns) -> Iterator[str]:
    findings = breakdowns.findings
    if findings.missingness.broken:
        yield spelled(REMEDY)
    if not findings.data.pairable_items:
        yield "Let a second annotator label some of the items: agreement needs two annotations of the same item."
        return
    yield from _apart(breakdowns)
    if not breakdowns.lacks("hardest") and known(breakdowns.hardest)["agreement"][0] < 1:
        yield "Go through the hardest items together with the annotators: they show what the guideline leaves open."


def _apart(breakdowns: Breakdowns) -> Iterator[str]:
    """Annotators who agree less than the others of the same items, and why nobody is named where nobody can be."""
    if breakdowns.lacks("annotators"):
        return
    people = known(breakdowns.annotators)
    low = people.filter(people["stands_out"].fill_null(value=False)).sort("against_others").rows(named=True)
    if low:
        names = ", ".join(
            f"{printable(row['annotator'], 24)} ({figure(row['against_others'], 2)})" for row in low[:NAMED]
        )
        more = f" and {len(low) - NAMED:,} more" if len(low) > NAMED else ""
        yield (
            f"Talk to {names}{more}: the others of the same items agree with them clearly less than among themselves, "
            "by so much. They may still be right: look at their items first."
        )
    elif people.height > PAIR and people["against_others"].is_null().all():
        yield (
            "Have some items labelled by three people or more: with two, a hard item and a careless annotator look the "
            "same, so nobody is named here."
        )


def method(breakdowns: Breakdowns, understood: Understood | None, options: Mapping[str, Any], version: str) -> Section:
    """Versions, options, policies, the sentence and the reference."""
    quote = for_paper(breakdowns, version)
    parts: list[Facts | Quote] = [Facts(tuple(_facts(breakdowns, understood, options, version)))]
    if quote:
        parts.append(Quote("For your paper", quote, (REFERENCE, BIBTEX)))
    lead = "Enough to compute it again and to cite it."
    return Section("method", "Method", "How was it computed?", lead, parts)


def _facts(
    breakdowns: Breakdowns, understood: Understood | None, options: Mapping[str, Any], version: str
) -> Iterator[tuple[str, str]]:
    findings, data = breakdowns.findings, breakdowns.findings.data
    if understood is not None:
        yield "Read from", f"{source_name(understood)}, as {understood.kind}"
        roles = (f"{role} = {printable(name)}" for role, name in understood.columns.items())
        yield "Columns", ", ".join(roles)
        for rule in understood.rules:
            yield "Rule", printable(rule, 200)
    else:
        yield "Read from", "a tally: counts made before"
    people = "annotators not known" if data.annotators is None else count(data.annotators, "annotator")
    yield "Data", f"{count(data.items, 'item')}, {count(data.annotations, 'annotation')}, {people}"
    yield "Measure", f"Sparse Probability of Agreement, {findings.spa.weights} weights, {findings.metric} labels"
    kind = "Wilson's score interval" if findings.spa.method == "wilson" else findings.spa.method
    yield "Interval", f"{interval_name(findings.spa)}: {kind}; it covers {findings.spa.covers}"
    given = ", ".join(f"{name} = {printable(str(value))}" for name, value in options.items())
    yield "Options", given or "none besides the defaults"
    yield "Software", f"spagree {version}, Python {platform.python_version()}"


def source_name(understood: Understood | None) -> str:
    """The source without the folders it lies in, which are nobody's business.

    >>> source_name(Understood("/home/ann/private/labels.csv", "long"))
    'labels.csv'
    """
    if understood is None:
        return "a saved tally"
    name = PurePath(understood.source).name or understood.source
    return printable(f"annotations in a {name}" if name.endswith(OBJECTS) else name, 80)
