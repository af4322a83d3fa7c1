"""Results → plain values for JSON: full precision, a format number, no NaN; and the figures of an earlier report."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spagree import __version__
from spagree.errors import FileError, UsageError
from spagree.estimate import Estimate
from spagree.estimate.comparison import ALPHA, p_of
from spagree.estimate.uncertainty import Interval
from spagree.messages import opt
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
COUNTS = ("items", "annotations", "annotators", "classes", "pairable_items", "unpairable_items", "pairable_annotations")
STEP = ("code", "sentence", "evidence", "command")
OVER_MODELS = ("with_humans", "humans", "difference")
ALTERNATIVE_TEST = (
    "Calderon, Reichart and Dror (2025). The alternative annotator test for LLM-as-a-judge: how to statistically "
    "justify replacing human annotators with LLMs. ACL."
)


def to_json(value: Any, indent: int | None = 2, *, ascii: bool = False) -> str:
    """Plain values as JSON that cannot control a terminal."""
    return json_escapes(json.dumps(value, indent=indent, ensure_ascii=ascii, allow_nan=False))


def named(value: object, names: tuple[str, ...]) -> dict[str, Any]:
    """These fields of a record as plain values."""
    return {name: plain(getattr(value, name)) for name in names}


def plain(value: Any) -> Any:
    """A field as a plain value."""
    if isinstance(value, Estimate):
        return estimate(value, COMPARED)
    if isinstance(value, Interval):
        return named(value, ("low", "high", "stderr")) | ({"undefined": value.undefined} if value.undefined else {})
    return {name: plain(each) for name, each in value.items()} if isinstance(value, Mapping) else value


def estimate(shown: Estimate, names: tuple[str, ...] = FIGURE) -> dict[str, Any]:
    """A figure with its interval and more, or why it is undefined."""
    if shown.value is None:
        return {"value": None, "undefined": shown.undefined}
    return named(shown, names) | ({"undefined": shown.undefined} if shown.undefined else {})


def document(told: Told) -> dict[str, Any]:
    """The documented JSON of an agreement; an undefined figure says why."""
    findings = told.breakdowns.findings
    data, test = findings.data, findings.missingness
    # Where items are not independent, the standard error is over clusters.
    clusters = {} if data.clusters is None else named(data, ("clusters", "cluster"))
    spread = {name: getattr(data.annotations_per_item, name, None) for name in ("min", "median", "max")}
    by_n = [
        {"n": row.n, "items": row.items, "agreement": row.agreement.value, **named(row.agreement, ("low", "high"))}
        for row in test.by_n
    ]
    return {
        **HEAD,
        "metric": findings.metric,
        "data": {**named(data, COUNTS), "annotations_per_item": spread, **named(data, ("labels", "left_out"))},
        "spa": estimate(findings.spa) | named(findings.spa, SPA) | clusters,
        "schemes": {name: estimate(each) for name, each in findings.schemes.items()},
        "missingness": {
            **named(test, ("z", "p")),
            **({"undefined": test.undefined} if test.undefined else {}),
            "by_n": by_n,
        },
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
    groups = {name: _compared(group) for name, group in compared.groups.items()}
    apart = {name: list(having) for name, having in compared.not_compared.items()}
    more = {"groups": groups, "groups_not_compared": apart}
    return {**HEAD, **_compared(compared), **{name: value for name, value in more.items() if value}}


def _compared(compared: Compared) -> dict[str, Any]:
    sides = {
        side.name: {"name": side.name, **{figure: plain(each) for figure, each in side.figures.items()}}
        for side in compared.sides
    }
    pairs = [{"a": sides[pair.a.name], "b": sides[pair.b.name], **_pair(pair)} for pair in compared.pairs]
    return pairs[0] if len(pairs) == 1 else {"sides": [*sides.values()], "pairs": pairs}


def _pair(pair: Pair) -> dict[str, Any]:
    """Everything about two sides but the sides themselves; a difference has p."""
    each = {
        name: plain(gap) | ({} if gap.value is None else {"p": p_of(gap)}) for name, gap in pair.differences.items()
    }
    differences: dict[str, Any] = {"difference": next(iter(each.values()))}
    differences |= {"kappa_difference": each[ALPHA]} if ALPHA in each else {"differences": each}
    more = ("due_to_labels", "shared_items", "shared_annotators", "p_holm", "verdict")
    return {**differences, "interval_for": pair.difference.interval_for, **named(pair, more)}


def models_document(models: Mapping[str, ModelFindings]) -> dict[str, Any]:
    """One entry per model."""
    return {**HEAD, "models": {name: _model(model) for name, model in models.items()}}


def _model(model: ModelFindings) -> dict[str, Any]:
    from spagree.estimate.models import FEWEST_ITEMS

    classes = [{"label": each.label, **named(each, OVER_MODELS), "p_holm": each.p_holm} for each in model.classes]
    shown = named(model, (*OVER_MODELS, "margin", "verdict", "items", "humans_count", "runs"))
    shown |= {"items_left_out": dict(model.left_out), "labels": dict(model.labels), "classes": classes}
    if model.marks:
        shown["marks"] = {each.label: named(each, OVER_MODELS) for each in model.marks}
    if model.self_agreement is not None:
        shown["self_agreement"] = plain(model.self_agreement)
    if model.alternative is not None:
        reason = {"undefined": f"nobody labelled {FEWEST_ITEMS} items"} if model.alternative.omega is None else {}
        shown["alternative_annotator_test"] = asdict(model.alternative) | {"reference": ALTERNATIVE_TEST} | reason
    return shown


def groups_document(groups: Groups, of: Callable[[str], dict[str, Any]]) -> dict[str, Any]:
    """Every group as a separate document, made by ``of`` from its name; the differences, and agreement between them."""
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
    """Plain rows; ``done`` is the day the plan would be finished at the present pace, if the pace is known."""
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
    lists = {"short_items": ("item", returned.short_items), "annotators": ("annotator", returned.people)}
    return {
        **named(returned, ("assigned", "done", "missing", "unplanned", "p_people", "p_items")),
        **{
            name: [dict(zip((what, "assigned", "done"), row, strict=True)) for row in rows]
            for name, (what, rows) in lists.items()
        },
    }


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
