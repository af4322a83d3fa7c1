"""The experiments by name; each writes NAME.csv and its figures and returns the files it wrote."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spagree.errors import unknown_name
from spagree.estimate.weights import REGISTRY
from spagree.present.charts import studies as charts
from spagree.present.charts.studies import Axis
from spagree.studies import curves, tables, unbiased
from spagree.studies.datasets import LabelSet
from spagree.studies.study import Study

THIN = 3  # figures show every third checkpoint; the CSV has all
SCHEME = Axis("scheme", "weights")
ANNOTATIONS = Axis("pairable_annotations", "annotations of pairable items", format="~s")
LOG_ANNOTATIONS = Axis("pairable_annotations", "annotations of pairable items", format="~s", log=True)
VARIANCE = Axis("variance", "variance of SPA", log=True, format=".0e")
PER_ITEM = Axis("annotations", "annotations of the item")
WEIGHT = Axis("weight", "weight (largest = 1)", zero=True)
Row = dict[str, Any]


def weight_curves(study: Study) -> list[Path]:
    """Weights by number of annotations; ``inv_var`` is ``edge``."""
    rows = curves.weight_curves()
    shown = [{**row, "scheme": row["curve"]} for row in rows if row["classes"] in (None, 2)]
    summed = [row for row in rows if row["classes"]]
    left = charts.lines(shown, PER_ITEM, WEIGHT, SCHEME, dash=SCHEME)
    deviation = Axis("deviation_of_sums", "weight − mean over C", format=".0e")
    right = charts.lines(summed, PER_ITEM, deviation, Axis("classes", "classes C"))
    grid = charts.side_by_side(
        {"inv_var (C = 2) lies on edge": left, "inv_var for 2–7 classes, in floating point": right}, own_colours=True
    )
    proof = [
        "Var(P) = (2(n−2)·ζ1 + ζ2)/C(n,2), ζ1 = Σp³ − (Σp²)², ζ2 = Σp² − (Σp²)². With C equally likely classes",
        "ζ1 = 1/C² − (1/C)² = 0, so 1/Var = C(n,2)/ζ2: the number of edges up to a factor, for every C. What is left "
        "on the right is rounding; in exact fractions it is 0.",
    ]
    drawn = charts.captioned(grid, "Weights by number of annotations", proof)
    return [study.table("weight-curves", rows), *study.figure("weight-curves", drawn)]


def class_curves(study: Study) -> list[Path]:
    """``inv_var_class`` for sampled class distributions: between ``edge`` and ``annotations``."""
    seed = study.plan.seed
    rows, dots = curves.class_curves(seed), curves.class_points(seed)
    simple = [row for row in curves.weight_curves() if row["curve"] in ("annotations", "annotations_m1", "edge")]
    sampled = charts.lines(rows, PER_ITEM, WEIGHT, Axis("entropy", "entropy (nats)"), detail="distribution")
    named = charts.lines(simple, PER_ITEM, WEIGHT, Axis("curve", "scheme"), dash=Axis("curve", "scheme"))
    over = charts.layered(sampled, named, own_colours=True)
    area, classes = Axis("area", "area under the curve"), Axis("classes", "classes C")
    grid = charts.side_by_side(
        {
            "10 distributions for each C": over,
            "Area over entropy: a cloud": charts.points(dots, Axis("entropy", "entropy (nats)"), area, classes, size=6),
            "Area over ζ1/ζ2: one curve": charts.points(dots, Axis("shape", "ζ1/ζ2"), area, classes, size=6),
        },
        columns=3,
        own_colours=True,
    )
    caption = [
        "Class distributions: softmax of logits uniform in (−2, 4), C = 2…10. Weights: C(n,2)/(1 + 2(n−2)·ζ1/ζ2), so "
        "ζ1/ζ2 alone decides, from 0 (edge) to 1/2 (annotations)."
    ]
    drawn = charts.captioned(grid, "inv_var_class weights", caption)
    return [
        study.table("class-curves", rows),
        study.table("class-curves-areas", dots),
        *study.figure("class-curves", drawn),
    ]


def adding_samples(study: Study) -> list[Path]:
    """Variance when samples with a constant number of annotations are added, simulated and in closed form."""
    rows = [row for data in study.paper_sets for row in _sample_rows(study, data)]
    shown = [row for row in rows if row["variance"] > 0]
    grid = charts.side_by_side(
        {data.title: _sample_chart([row for row in shown if row["data"] == data.name]) for data in study.paper_sets},
        own_colours=True,
    )
    caption = [
        f"{study.plan.rounds:,} rounds. Solid: from rounds. Dashed: exact, W/m + (1 − m/I)·S²/m, no simulation needed."
    ]
    drawn = charts.captioned(grid, "Adding samples with n annotations each", caption)
    return [study.table("samples", rows), *study.figure("samples", drawn)]


def _sample_rows(study: Study, data: LabelSet) -> Iterator[Row]:
    curves = study.samples(data)
    columns = (each.tolist() for each in (curves.n, curves.samples, curves.mean, curves.variance, curves.theory))
    for n, samples, mean, variance, theory in zip(*columns, strict=True):
        size = {"n": n, "samples": samples, "annotations": n * samples}
        yield {**_about(data), **size, "mean": mean, "variance": variance, "theory": theory}


def _sample_chart(rows: list[Row]) -> Any:
    kinds = [("from rounds", "variance"), ("exact", "theory")]
    long = [
        {"samples": row["samples"], "n": row["n"], "kind": kind, "variance": row[column]}
        for row in rows[::THIN]
        for kind, column in kinds
        if row[column] > 0
    ]
    x, colour = Axis("samples", "samples", format="~s"), Axis("n", "annotations per sample")
    return charts.lines(long, x, VARIANCE, colour, dash=Axis("kind", "variance"))


def adding_annotations(study: Study) -> list[Path]:
    """Variance when single annotations are added (sparse, ``flat``), compared with constant numbers per sample."""
    rows = [row for data in study.paper_sets for row in _comparison_rows(study, data)]
    panels = {data.title: _designs([row for row in rows if row["data"] == data.name]) for data in study.paper_sets}
    caption = [
        f"{study.plan.rounds:,} rounds. Black: single annotations in random order (sparse), weights flat. Coloured: "
        "the same number of annotations for every sample."
    ]
    drawn = charts.captioned(charts.side_by_side(panels, own_colours=True), "Adding annotations", caption)
    return [study.table("annotations", rows), *study.figure("annotations", drawn)]


def _designs(rows: list[Row]) -> Any:
    """The constant designs coloured by n, and the sparse one in the colour of its scheme, flat."""
    shown = [row for row in rows if row["variance"] > 0]
    sparse = [{**row, "scheme": "flat"} for row in shown if row["n"] is None][::THIN]
    constant = [row for row in shown if row["n"]][::THIN]
    coloured = charts.lines(constant, ANNOTATIONS, VARIANCE, Axis("n", "annotations per sample"))
    black = charts.lines(sparse, ANNOTATIONS, VARIANCE, Axis("scheme", "sparse, weights"))
    return charts.layered(coloured, black, own_colours=True)


def _comparison_rows(study: Study, data: LabelSet) -> Iterator[Row]:
    sparse = study.annotations(data)
    for paired, variance in zip(sparse.paired.tolist(), sparse.variance[:, tables.FLAT].tolist(), strict=True):
        yield {**_about(data), "design": "sparse", "n": None, "pairable_annotations": paired, "variance": variance}
    for row in _sample_rows(study, data):
        figures = {"pairable_annotations": float(row["annotations"]), "variance": row["variance"]}
        yield {**_about(data), "design": "constant", "n": row["n"], **figures}


def weighting(study: Study) -> list[Path]:
    """Variance and squared error by weighting scheme, and the paper's table."""
    rows = [row for data in [*study.paper_sets, *study.other_sets] for row in _weighting_rows(study, data)]
    return [
        study.table("weighting", rows),
        *_weighting_figure(study, rows, "variance", "weighting"),
        *_weighting_figure(study, rows, "mse", "weighting-mse"),
        *_weighting_table(study),
    ]


def _weighting_rows(study: Study, data: LabelSet) -> Iterator[Row]:
    curves = study.annotations(data)
    error, truth = tables.squared_error(curves), tables.target(curves)
    for step, (number, paired) in enumerate(zip(curves.annotations.tolist(), curves.paired.tolist(), strict=True)):
        for place, scheme in enumerate(REGISTRY):
            yield {
                **_about(data),
                "annotations": number,
                "pairable_annotations": paired,
                "scheme": scheme,
                "mean": float(curves.mean[step, place]),
                "bias": float(curves.mean[step, place]) - truth,
                "variance": float(curves.variance[step, place]),
                "variance_minus_flat": float(curves.variance[step, place] - curves.variance[step, tables.FLAT]),
                "mse": float(error[step, place]),
                "mse_minus_flat": float(error[step, place] - error[step, tables.FLAT]),
            }


def _weighting_figure(study: Study, rows: list[Row], measure: str, name: str) -> list[Path]:
    words = {"variance": "variance", "mse": "mean squared error"}[measure]
    y = Axis(f"{measure}_minus_flat", f"{words} − flat's", format=".1e")
    shown = [row for row in rows if row["scheme"] != "inv_var"]
    panels = {}
    for data in study.paper_sets:
        own = [row for row in shown if row["data"] == data.name]
        steps = sorted({row["annotations"] for row in own})[::THIN]
        panels[data.title] = charts.lines(
            [row for row in own if row["annotations"] in steps], LOG_ANNOTATIONS, y, SCHEME
        )
    caption = [
        f"{study.plan.rounds:,} rounds of adding single annotations; below 0 is better than flat. inv_var is edge."
    ]
    drawn = charts.captioned(charts.side_by_side(panels), f"{words.capitalize()} by weighting scheme", caption)
    return study.figure(name, drawn)


def _weighting_table(study: Study) -> list[Path]:
    """Our results below the paper's, for variance and mean squared error."""
    rows: list[Row] = []
    for data in study.paper_sets:
        curves = study.annotations(data)
        published = tables.PUBLISHED.get(data.plain_name)
        quoted = dict(zip(tables.COLUMNS, published, strict=True)) if published else {}
        for source, sums in (
            ("paper, variance", quoted),
            ("spagree, variance", tables.sums_under_curve(curves.variance)),
            ("spagree, mse", tables.sums_under_curve(tables.squared_error(curves))),
        ):
            title = data.plain_title if source.startswith("paper") else data.title
            rows.append({"data": title, "sum of": source, **_ordered(sums)})
    shown = []
    for row in rows:
        known = {scheme: row[scheme] for scheme in REGISTRY if row[scheme] is not None}
        shown.append({**row, **dict.fromkeys(_ordered({}), "–"), **tables.marked(known)})
    return [study.table("weighting-table", rows), study.text("weighting-table.md", tables.markdown(shown))]


def _ordered(sums: Row) -> Row:
    """The paper's schemes in its order, then the others."""
    return {scheme: sums.get(scheme) for scheme in dict.fromkeys((*tables.COLUMNS, *REGISTRY))}


def unbiasedness(study: Study) -> list[Path]:
    """Exact expectations by enumeration: balanced, unbalanced, and given n."""
    rows = unbiased.unbiasedness()
    x, y = Axis("removed", "annotations removed, of 12"), Axis("bias", "bias of SPA", format=".3f")
    panels = {
        f"{design} ({'; '.join(full)})": charts.lines([row for row in rows if row["design"] == design], x, y, SCHEME)
        for design, full in (("balanced", unbiased.BALANCED), ("unbalanced", unbiased.UNBALANCED))
    }
    given_n = [{**row, "kept": f"n = {row['kept']}"} for row in rows if row["design"] == "given n"]
    panels["balanced, given the n that stayed"] = charts.points(
        given_n, y, Axis("kept", ""), SCHEME, size=50, labels=True
    )
    caption = [
        "Every way to remove annotations, in exact fractions. Balanced: exactly 0 for weights that depend on n only; "
        "not quite for weights estimated from the labels.",
        "Unbalanced full data and the n that happened to stay: biased; given n, only flat is not.",
    ]
    drawn = charts.captioned(charts.side_by_side(panels), "Where SPA is unbiased, and where not", caption)
    return [study.table("unbiasedness", rows), *study.figure("unbiasedness", drawn)]


def _about(data: LabelSet) -> Row:
    return {"data": data.name, "simulated": data.simulated}


@dataclass(frozen=True, slots=True)
class Experiment:
    """A name for the command line, one sentence, and what it does."""

    about: str
    run: Callable[[Study], list[Path]]


EXPERIMENTS = {
    "weight-curves": Experiment("weights by number of annotations; inv_var is edge", weight_curves),
    "class-curves": Experiment("inv_var_class weights of sampled class distributions", class_curves),
    "samples": Experiment("variance when adding samples with n annotations each", adding_samples),
    "annotations": Experiment("variance when adding single annotations", adding_annotations),
    "weighting": Experiment("variance and squared error by weighting scheme; the paper's table", weighting),
    "unbiasedness": Experiment("exact bias by enumeration, where it is 0 and where not", unbiasedness),
}


def find(name: str) -> Experiment:
    """An experiment by its name.

    >>> find("wieghting")
    Traceback (most recent call last):
    spagree.errors.UsageError: unknown experiment 'wieghting'; did you mean 'weighting'? Known: weight-curves, \
class-curves, samples, annotations, weighting, unbiasedness
    """
    if name not in EXPERIMENTS:
        raise unknown_name("experiment", name, EXPERIMENTS)
    return EXPERIMENTS[name]
