"""What to do next, and how everything was computed."""

from __future__ import annotations

import platform
from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any

from spagree.errors import count
from spagree.estimate.breakdown_values import Absent, Breakdowns, known
from spagree.estimate.plan import FRESH, NEW_ITEMS, SAME_ITEMS
from spagree.estimate.uncertainty import COVERS
from spagree.present.report.parts import Listing, Quote, Section, Table, drawn, table
from spagree.present.report.steps import steps
from spagree.present.sentence import REFERENCE, for_paper, interval_name
from spagree.present.tables import columns
from spagree.present.wording import plus_minus, printable
from spagree.understood import Understood
from spagree.version import __version__

OBJECTS = (" frame", "count matrix", "Python list")
ROUTES = {
    NEW_ITEMS: "new items besides these",
    SAME_ITEMS: "more annotations of these items",
    FRESH: "a new data set from scratch",
}
PLAN = columns(
    "target:words way:words annotations_per_item:count items:count more_annotations:count annotations:count",
    {"target": "precision", "annotations_per_item": "annotations per item", "annotations": "annotations in all"}
    | {"more_annotations": "annotations to make"},
)
BIBTEX = """@misc{norregaard2022sparse,
  title = {Sparse Probability of Agreement},
  author = {Nørregaard, Jeppe and Derczynski, Leon},
  year = {2022},
  eprint = {2208.06161},
  archivePrefix = {arXiv}
}"""


def next_steps(breakdowns: Breakdowns) -> Section:
    """Every action with its gain, and how more annotations would narrow the interval."""
    actions = breakdowns.actions
    todo = () if isinstance(actions, Absent) else steps(actions)
    figure = drawn(
        breakdowns,
        "plan",
        "How many annotations would make the number more precise?",
        "From now to a narrower interval, by annotating new items like these in the cheapest way. Lower is "
        "more precise, further right is more work; half the interval takes about four times the annotations.",
        _plan,
    )
    listed = [Listing(todo, "actions.html.j2")] if todo else []
    lead = "Everything the figures suggest, largest gain first."
    return Section("next", "Next steps", "What should I do next?", lead, [*listed, figure])


def _plan(breakdowns: Breakdowns) -> Table:
    """The cheapest design for each route."""
    best = [row for row in known(breakdowns.plan).rows(named=True) if row["best"]]
    rows = [{**row, "way": ROUTES[row["route"]], "target": plus_minus(row["half_width"])} for row in best]
    note = "The cheapest design for each route."
    if any(row["assumed"] for row in best):
        note += " Some rest on typical values instead of these data, whose items have too few annotations to tell."
    return table("plan", "Designs that reach a precision", rows, PLAN, note=note)


def method(breakdowns: Breakdowns, understood: Understood | None, options: Mapping[str, Any]) -> Section:
    """Versions, options, policies, the sentence and the reference."""
    quote = for_paper(breakdowns)
    parts: list[Listing | Quote] = [Listing(tuple(_facts(breakdowns, understood, options)), "facts.html.j2")]
    if quote:
        parts.append(Quote("For your paper", quote, REFERENCE, BIBTEX))
    lead = "Everything needed to reproduce and cite the number."
    return Section("method", "Method", "How was it computed?", lead, parts)


def _facts(
    breakdowns: Breakdowns, understood: Understood | None, options: Mapping[str, Any]
) -> Iterator[tuple[str, str]]:
    findings, data = breakdowns.findings, breakdowns.findings.data
    if understood is not None:
        yield "Read from", f"{source_name(understood)}, as {understood.kind}"
        roles = (f"{role} = {printable(name)}" for role, name in understood.columns.items())
        yield "Columns", ", ".join(roles)
        for rule in understood.rules:
            yield "Rule", printable(rule, 200)
    else:
        yield "Read from", "a tally: saved counts"
    people = "annotators unknown" if data.annotators is None else count(data.annotators, "annotator")
    yield "Data", f"{count(data.items, 'item')}, {count(data.annotations, 'annotation')}, {people}"
    yield "Measure", f"Sparse Probability of Agreement, {findings.spa.weights} weights, {findings.metric} metric"
    kind = "Wilson's score interval" if findings.spa.method == "wilson" else findings.spa.method
    covers = f"{interval_name(findings.spa)}: {kind}; it is for {COVERS[findings.spa.interval_for]}"
    yield "Interval", f"none: {findings.spa.undefined}" if findings.spa.low is None else covers
    listed = ", ".join(f"{name} = {printable(str(value))}" for name, value in options.items())
    yield "Options", listed or "defaults only"
    yield "Software", f"spagree {__version__}, Python {platform.python_version()}"


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
