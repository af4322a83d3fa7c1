"""Findings → plain values for JSON: full precision, a format number, no NaN."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from spagree.estimate import Data, Estimate, Missingness
from spagree.estimate.breakdown_values import Breakdowns
from spagree.estimate.checks import checks
from spagree.estimate.uncertainty import Interval
from spagree.present.wording import json_escapes
from spagree.version import __version__

FORMAT = 1
COUNTS = ("items", "annotations", "annotators", "classes", "pairable_items", "unpairable_items", "pairable_annotations")


def document(breakdowns: Breakdowns) -> dict[str, Any]:
    """The documented JSON as a dictionary; an undefined figure says why."""
    findings = breakdowns.findings
    spa = findings.spa
    named: dict[str, Any] = {"level": spa.level, "weights": spa.weights, "method": spa.method}
    named |= {"interval_for": spa.interval_for, "intervals": intervals_document(spa.intervals)}
    if findings.data.clusters is not None:  # items are not independent: the standard error is over clusters
        named |= {"clusters": findings.data.clusters, "cluster": findings.data.cluster}
    return {
        "format": FORMAT,
        "spagree": __version__,
        "metric": findings.metric,
        "data": _data(findings.data),
        "spa": {**estimate_document(spa), **named},
        "schemes": {name: estimate_document(estimate) for name, estimate in findings.schemes.items()},
        "missingness": _missingness(findings.missingness),
        "chance": {
            name: estimate_document(
                estimate,
                observed=estimate.observed,
                expected=estimate.expected,
                interval_for=estimate.interval_for,
                intervals=intervals_document(estimate.intervals),
            )
            for name, estimate in findings.chance.items()
        },
        "checks": [
            {"code": check.code, "state": check.state, **check.figures}
            | ({"reason": check.reason} if check.reason else {})
            for check in checks(breakdowns)
        ],
        "warnings": [{"code": caution.code, "message": caution.message} for caution in findings.warnings],
    }


def intervals_document(intervals: Mapping[str, Interval]) -> dict[str, Any]:
    """The intervals for these annotators on new items and for other annotators, or why there is none."""
    return {name: _interval(each) for name, each in intervals.items()}


def _interval(each: Interval) -> dict[str, Any]:
    ends = {"low": each.low, "high": each.high, "stderr": each.stderr}
    return {**ends, "undefined": each.undefined} if each.undefined else ends


def estimate_document(estimate: Estimate, **more: Any) -> dict[str, Any]:
    """A figure with its interval and more, or why it is undefined."""
    if estimate.value is None:
        return {"value": None, "undefined": estimate.undefined}
    shown = {"value": estimate.value, "stderr": estimate.stderr, "low": estimate.low, "high": estimate.high, **more}
    return {**shown, "undefined": estimate.undefined} if estimate.undefined else shown


def to_json(value: Any, indent: int | None = 2, *, ascii: bool = False) -> str:
    """Plain values as JSON that cannot control a terminal."""
    return json_escapes(json.dumps(value, indent=indent, ensure_ascii=ascii, allow_nan=False))


def _data(data: Data) -> dict[str, Any]:
    spread = data.annotations_per_item
    return {
        **{name: getattr(data, name) for name in COUNTS},
        "annotations_per_item": {name: getattr(spread, name, None) for name in ("min", "median", "max")},
        "labels": dict(data.labels),
        "left_out": dict(data.left_out),
    }


def _missingness(test: Missingness) -> dict[str, Any]:
    by_n = [
        {"n": row.n, "items": row.items, "agreement": row.agreement.value}
        | {"low": row.agreement.low, "high": row.agreement.high}
        for row in test.by_n
    ]
    return {"z": test.z, "p": test.p, **({"undefined": test.undefined} if test.undefined else {}), "by_n": by_n}
