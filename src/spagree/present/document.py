"""Results → plain values for JSON: full precision, a format number, no NaN; and back from an earlier report."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spagree import __version__
from spagree.errors import FileError, UsageError, opt
from spagree.estimate import Estimate
from spagree.estimate.comparison import ALPHA, p_of
from spagree.estimate.uncertainty import Interval
from spagree.present.verdicts import Told
from spagree.present.words import json_escapes

if TYPE_CHECKING:
    import polars

    from spagree.assignment.design import Assignment
    from spagree.assignment.returned import Returned
    from spagree.estimate.comparison import Compared, Groups, Pair
    from spagree.estimate.models import ModelFindings
    from spagree.estimate.plan import Pace

FORMAT = 1
HEAD = {"format": FORMAT, "spagree": __version__}

# What each kind of value shows, by the names of its fields: a figure is undefined with a reason.
FIGURE = ("value", "stderr", "low", "high")
FOR_WHOM = ("interval_for", "intervals")
SPA = ("level", "weights", "method", *FOR_WHOM)  # also of an undefined one
CORRECTED = (*FIGURE, "observed", "expected", *FOR_WHOM)
COMPARED = (*FIGURE, "level", *FOR_WHOM)
PAIRABLE = ("pairable_items", "unpairable_items", "pairable_annotations")
COUNTS = ("items", "annotations", "annotators", "classes", *PAIRABLE)
STEP = ("code", "sentence", "evidence", "command")
OVER_MODELS = ("with_humans", "humans", "difference")
MODEL = (*OVER_MODELS, "margin", "verdict", "items", "humans_count", "runs")
PAIR = ("due_to_labels", "shared_items", "shared_annotators", "p_holm", "verdict")
ALTERNATIVE_TEST = (
    "Calderon, Reichart and Dror (2025). The alternative annotator test for LLM-as-a-judge: how to statistically "
    "justify replacing human annotators with LLMs. ACL."
)


def to_json(value: Any, indent: int | None = 2, *, ascii: bool = False) -> str:
    """Plain values as JSON that cannot control a terminal."""
    return json_escapes(json.dumps(value, indent=indent, ensure_ascii=ascii, allow_nan=False))


def named(value: object, names: Sequence[str]) -> dict[str, Any]:
    """These fields of a record as plain values, and why it is undefined if it is."""
    found = {name: plain(getattr(value, name)) for name in names}
    reason = getattr(value, "undefined", None)
    return found | ({"undefined": reason} if reason else {})


def plain(value: Any) -> Any:
    """A field as a plain value."""
    if isinstance(value, Estimate):
        return estimate(value, COMPARED)
    if isinstance(value, Interval):
        return named(value, ("low", "high", "stderr"))
    return {name: plain(each) for name, each in value.items()} if isinstance(value, Mapping) else value


def estimate(shown: Estimate, names: Sequence[str] = FIGURE) -> dict[str, Any]:
    """A figure with its interval and more, or why it is undefined."""
    return named(shown, ("value",) if shown.value is None else names)


def document(told: Told) -> dict[str, Any]:
    """The documented JSON of an agreement; an undefined figure says why."""
    findings = told.breakdowns.findings
    data, test = findings.data, findings.missingness
    # Where items are not independent, the standard error is over clusters.
    clusters = {} if data.clusters is None else named(data, ("clusters", "cluster"))
    spread = {name: getattr(data.annotations_per_item, name, None) for name in ("min", "median", "max")}
    by_n = [
        {"n": row.n, "items": row.items, "agreement": row.agreement.value}
        | {end: getattr(row.agreement, end) for end in ("low", "high")}
        for row in test.by_n
    ]
    return {
        **HEAD,
        "metric": findings.metric,
        "data": {**named(data, COUNTS), "annotations_per_item": spread, **named(data, ("labels", "left_out"))},
        "spa": estimate(findings.spa) | named(findings.spa, SPA) | clusters,
        "schemes": {name: estimate(each) for name, each in findings.schemes.items()},
        "missingness": named(test, ("z", "p")) | {"by_n": by_n},
        "chance": {name: estimate(each, CORRECTED) for name, each in findings.chance.items()},
        "verdict": named(told.verdict, ("state", "sentence")),
        "next": [named(step, STEP) for step in told.steps],
        "checks": [
            {**named(check, ("code", "state")), **check.figures, **({"reason": check.reason} if check.reason else {})}
            for check in told.checks
        ],
        "warnings": [named(warning, ("code", "message")) for warning in findings.warnings],
    }


def comparison_document(compared: Compared) -> dict[str, Any]:
    """a, b and their difference; for more than two data sets a list of such pairs."""

    def of(compared: Compared) -> dict[str, Any]:
        sides = {side.name: {"name": side.name, **plain(side.figures)} for side in compared.sides}
        pairs = [{"a": sides[pair.a.name], "b": sides[pair.b.name], **_pair(pair)} for pair in compared.pairs]
        return pairs[0] if len(pairs) == 1 else {"sides": [*sides.values()], "pairs": pairs}

    groups = {name: of(group) for name, group in compared.groups.items()}
    apart = {name: list(having) for name, having in compared.not_compared.items()}
    more = {"groups": groups, "groups_not_compared": apart}
    return {**HEAD, **of(compared), **{name: value for name, value in more.items() if value}}


def _pair(pair: Pair) -> dict[str, Any]:
    """Everything about two sides but the sides themselves; a difference has p."""
    each = {
        name: plain(gap) | ({} if gap.value is None else {"p": p_of(gap)}) for name, gap in pair.differences.items()
    }
    kappa = {"kappa_difference": each[ALPHA]} if ALPHA in each else {"differences": each}
    for_whom = {"interval_for": pair.difference.interval_for}
    return {"difference": next(iter(each.values())), **kappa, **for_whom, **named(pair, PAIR)}


def models_document(models: Mapping[str, ModelFindings]) -> dict[str, Any]:
    """One entry per model."""
    from spagree.estimate.models import FEWEST_ITEMS

    shown = {}
    for name, model in models.items():
        classes = [{"label": each.label, **named(each, (*OVER_MODELS, "p_holm"))} for each in model.classes]
        shown[name] = named(model, MODEL) | {"items_left_out": dict(model.left_out), "labels": dict(model.labels)}
        shown[name]["classes"] = classes
        if model.marks:
            shown[name]["marks"] = {each.label: named(each, OVER_MODELS) for each in model.marks}
        if model.self_agreement is not None:
            shown[name]["self_agreement"] = plain(model.self_agreement)
        if model.alternative is not None:
            test = asdict(model.alternative) | {"reference": ALTERNATIVE_TEST}
            if model.alternative.omega is None:
                test["undefined"] = f"nobody labelled {FEWEST_ITEMS} items"
            shown[name]["alternative_annotator_test"] = test
    return {**HEAD, "models": shown}


def groups_document(groups: Groups, of: Callable[[str], dict[str, Any]]) -> dict[str, Any]:
    """Every group as a document made by ``of`` from its name; the differences, and agreement between groups."""
    return {
        "by": groups.column,
        "groups_of": groups.of,
        "groups": {name: of(name) for name in groups.findings},
        "differences": [{"a": pair.a.name, "b": pair.b.name, **_pair(pair)} for pair in groups.differences],
        "between": [
            {"a": pair.a, "b": pair.b, **estimate(pair.agreement), "items": pair.items} for pair in groups.between
        ],
    }


def plan_rows(plan: polars.DataFrame, pace: Pace | None) -> list[dict[str, Any]]:
    """Plain rows; ``done`` is the day the plan would be finished at the present pace, if that is known."""
    rows = plan.rows(named=True)
    for row in rows:
        if pace is not None and row.get("more_annotations") and row.get("route") != "fresh":
            end = pace.done(row["more_annotations"])
            row["done"] = None if end is None else end.date().isoformat()
    return rows


def development_rows(development: polars.DataFrame) -> list[dict[str, Any]]:
    """Plain rows: moments as text where they are dates."""
    return [
        {name: value.isoformat() if isinstance(value, date) else value for name, value in row.items()}
        for row in development.rows(named=True)
    ]


def design_rows(design: Assignment) -> dict[str, Any]:
    """The balance of an assignment."""
    return {"per_item": design.per_item, "seed": design.seed, "everyone": len(design.everyone)} | asdict(design.balance)


def returned_rows(returned: Returned) -> dict[str, Any]:
    """What came back of an assignment."""
    shown = named(returned, ("assigned", "done", "missing", "unplanned", "p_people", "p_items"))
    lists = {"short_items": ("item", returned.short_items), "annotators": ("annotator", returned.people)}
    for name, (what, rows) in lists.items():
        shown[name] = [dict(zip((what, "assigned", "done"), row, strict=True)) for row in rows]
    return shown


EMBEDDED = re.compile(r'<script type="application/json" id="figures">(.*?)</script>', re.DOTALL)


def earlier_figures(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The figures of a report (.html) or of `--json`."""
    try:
        text = Path(path).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(f"{os.fspath(path)}: cannot be read ({error}); name an earlier report or its JSON") from None
    embedded = EMBEDDED.search(text)
    try:
        figures = json.loads(embedded[1] if embedded else text)
    except ValueError:
        figures = None
    if not isinstance(figures, dict) or not ({"spa", "data"} <= figures.keys() or "questions" in figures):
        raise UsageError(
            f"{os.fspath(path)}: holds no figures from spagree; name a report ({opt.report}) or JSON ({opt.json}) "
            "it wrote"
        )
    return figures
