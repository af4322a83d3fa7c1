"""The experiments by name; each writes NAME.csv and its figures and returns the files it wrote."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from spagree.codes import Floats
from spagree.errors import FileError, opt
from spagree.estimate.weights import REGISTRY
from spagree.present.charts import studies as charts
from spagree.present.charts.save import save
from spagree.present.charts.studies import Axis
from spagree.studies import exact
from spagree.studies.datasets import LabelSet, other_sets, paper_sets
from spagree.studies.rounds import AnnotationCurves, Plan, Tick, annotation_curves, sample_curves
from spagree.write import write_atomically

SCHEME = Axis("scheme", "weights")
ANNOTATIONS = Axis("pairable_annotations", "annotations of pairable items", format="~s")
LOG_ANNOTATIONS = Axis("pairable_annotations", "annotations of pairable items", format="~s", log=True)
VARIANCE = Axis("variance", "variance of SPA", log=True, format=".0e")
PER_ITEM = Axis("annotations", "annotations of the item")
WEIGHT = Axis("weight", "weight (largest = 1)", zero=True)
Row = dict[str, Any]
KEPT = "results"  # the folder of what is cached

# Table 1 of the paper: Σ over the curve of (variance − variance of flat) · 10², and its best and second best.
COLUMNS = ("edge", "flat", "annotations", "annotations_m1", "inv_var", "inv_var_class")
PUBLISHED = {
    "mbic_label": (-0.4681, 0.0, -0.8458, -1.0929, -0.4681, -0.8676),
    "mbic_factual": (-0.7894, 0.0, -0.9540, -1.2747, -0.7894, -1.0346),
    "bsmtwe_trust_vs_disgust": (-0.4333, 0.0, -0.3567, -0.5141, -0.4333, -0.5359),
    "bsmtwe_surprise_vs_antecip": (-0.3322, 0.0, -0.2909, -0.4148, -0.3322, -0.4437),
    "bsmtwe_joy_vs_sadness": (-0.2194, 0.0, -0.2943, -0.3966, -0.2194, -0.3899),
    "bsmtwe_anger_vs_fear": (-0.1614, 0.0, -0.3129, -0.4089, -0.1614, -0.4118),
    "fecg_label": (0.2910, 0.0, -0.0444, 0.0011, 0.2910, 0.2003),
    "dar_main_type": (0.2019, 0.0, 0.0089, 0.0493, 0.2019, 0.1324),
}
FLAT = list(REGISTRY).index("flat")


@dataclass(frozen=True)
class Study:
    """Where the data is and where results go; ``plan.folder`` caches finished parts for the next run."""

    out: Path
    data: Path | None = None
    plan: Plan = field(default_factory=Plan)

    @cached_property
    def paper_sets(self) -> list[LabelSet]:
        """The paper's eight label sets, real or simulated."""
        return paper_sets(self.data, self.plan.seed)

    @cached_property
    def other_sets(self) -> list[LabelSet]:
        """Every other tidy file in the data folder."""
        return other_sets(self.data)

    def table(self, name: str, rows: Sequence[Row]) -> Path:
        """Write rows as NAME.csv, in full precision."""
        frame = pl.DataFrame(list(rows), infer_schema_length=None)
        return self._written(f"{name}.csv", frame.write_csv)

    def text(self, name: str, content: str) -> Path:
        """Write text as NAME."""
        return self._written(name, lambda path: path.write_text(content + "\n", encoding="utf-8"))

    def figure(self, name: str, chart: Any, title: str, caption: list[str]) -> list[Path]:
        """Draw NAME.svg, NAME.pdf and NAME.png."""
        return save(charts.captioned(chart, title, caption), self._place(name))

    def _written(self, name: str, write: Callable[[Path], object]) -> Path:
        path = self._place(name)
        write_atomically(path, write, force=True)
        return path

    def _place(self, name: str) -> Path:
        try:
            self.out.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise FileError(f"{self.out}: cannot be created ({error.strerror}); choose another {opt.out}") from error
        return self.out / name


def weight_curves(study: Study) -> list[Path]:
    """Weights by number of annotations; ``inv_var`` is ``edge``."""
    rows = exact.weight_curves()
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
    drawn = study.figure("weight-curves", grid, "Weights by number of annotations", proof)
    return [study.table("weight-curves", rows), *drawn]


def class_curves(study: Study) -> list[Path]:
    """``inv_var_class`` for sampled class distributions: between ``edge`` and ``annotations``."""
    seed = study.plan.seed
    rows, dots = exact.class_curves(seed), exact.class_points(seed)
    simple = [row for row in exact.weight_curves() if row["curve"] in ("annotations", "annotations_m1", "edge")]
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
    drawn = study.figure("class-curves", grid, "inv_var_class weights", caption)
    return [study.table("class-curves", rows), study.table("class-curves-areas", dots), *drawn]


def adding_samples(study: Study) -> list[Path]:
    """Variance when samples with a constant number of annotations are added, simulated and in closed form."""
    rows: list[Row] = []
    panels = {}
    x, colour = Axis("samples", "samples", format="~s"), Axis("n", "annotations per sample")
    for data in study.paper_sets:
        own = list(_sample_rows(study, data))
        rows += own
        long = [
            {"samples": row["samples"], "n": row["n"], "kind": kind, "variance": row[column]}
            for row in _thinned(own)
            for kind, column in (("from rounds", "variance"), ("exact", "theory"))
            if row[column] > 0
        ]
        panels[data.title] = charts.lines(long, x, VARIANCE, colour, dash=Axis("kind", "variance"))
    caption = [
        f"{study.plan.rounds:,} rounds. Solid: from rounds. Dashed: exact, W/m + (1 − m/I)·S²/m, no simulation needed."
    ]
    grid = charts.side_by_side(panels, own_colours=True)
    drawn = study.figure("samples", grid, "Adding samples with n annotations each", caption)
    return [study.table("samples", rows), *drawn]


def _sample_rows(study: Study, data: LabelSet) -> Iterator[Row]:
    curves = sample_curves(data, study.plan)
    columns = (each.tolist() for each in (curves.n, curves.samples, curves.mean, curves.variance, curves.theory))
    for n, samples, mean, variance, theory in zip(*columns, strict=True):
        size = {"n": n, "samples": samples, "annotations": n * samples}
        yield {**_about(data), **size, "mean": mean, "variance": variance, "theory": theory}


def adding_annotations(study: Study) -> list[Path]:
    """Variance when single annotations are added (sparse, ``flat``), beside constant numbers per sample."""
    rows: list[Row] = []
    panels = {}
    colour, black = Axis("n", "annotations per sample"), Axis("scheme", "sparse, weights")
    for data in study.paper_sets:
        curves = annotation_curves(data, study.plan)
        sparse: list[Row] = [
            {**_about(data), "design": "sparse", "n": None, "pairable_annotations": paired, "variance": variance}
            for paired, variance in zip(curves.paired.tolist(), curves.variance[:, FLAT].tolist(), strict=True)
        ]
        constant: list[Row] = [
            {
                **_about(data),
                "design": "constant",
                "n": row["n"],
                "pairable_annotations": float(row["annotations"]),
                "variance": row["variance"],
            }
            for row in _sample_rows(study, data)
        ]
        rows += [*sparse, *constant]
        coloured = charts.lines(_thinned(constant), ANNOTATIONS, VARIANCE, colour)
        flat = [{**row, "scheme": "flat"} for row in _thinned(sparse)]  # black, the colour of the scheme
        lines = charts.lines(flat, ANNOTATIONS, VARIANCE, black)
        panels[data.title] = charts.layered(coloured, lines, own_colours=True)
    caption = [
        f"{study.plan.rounds:,} rounds. Black: single annotations in random order (sparse), weights flat. Coloured: "
        "the same number of annotations for every sample."
    ]
    drawn = study.figure("annotations", charts.side_by_side(panels, own_colours=True), "Adding annotations", caption)
    return [study.table("annotations", rows), *drawn]


def _thinned(rows: list[Row]) -> list[Row]:
    """What a logarithmic axis can show, at every third checkpoint; the CSV has all."""
    return [row for row in rows if row["variance"] > 0][::3]


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
    curves = annotation_curves(data, study.plan)
    error, truth = squared_error(curves), target(curves)
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
                "variance_minus_flat": float(curves.variance[step, place] - curves.variance[step, FLAT]),
                "mse": float(error[step, place]),
                "mse_minus_flat": float(error[step, place] - error[step, FLAT]),
            }


def _weighting_figure(study: Study, rows: list[Row], measure: str, name: str) -> list[Path]:
    words = {"variance": "variance", "mse": "mean squared error"}[measure]
    y = Axis(f"{measure}_minus_flat", f"{words} − flat's", format=".1e")
    shown = [row for row in rows if row["scheme"] != "inv_var"]
    panels = {}
    for data in study.paper_sets:
        own = [row for row in shown if row["data"] == data.name]
        steps = sorted({row["annotations"] for row in own})[::3]
        panels[data.title] = charts.lines(
            [row for row in own if row["annotations"] in steps], LOG_ANNOTATIONS, y, SCHEME
        )
    caption = [
        f"{study.plan.rounds:,} rounds of adding single annotations; below 0 is better than flat. inv_var is edge."
    ]
    return study.figure(name, charts.side_by_side(panels), f"{words.capitalize()} by weighting scheme", caption)


def _weighting_table(study: Study) -> list[Path]:
    """Our results below the paper's, for variance and mean squared error."""
    order: Row = dict.fromkeys((*COLUMNS, *REGISTRY))  # the paper's schemes in its order, then the others
    rows: list[Row] = []
    shown = []
    for data in study.paper_sets:
        curves = annotation_curves(data, study.plan)
        for title, source, sums in (
            (data.plain_title, "paper, variance", dict(zip(COLUMNS, PUBLISHED[data.plain_name], strict=True))),
            (data.title, "spagree, variance", sums_under_curve(curves.variance)),
            (data.title, "spagree, mse", sums_under_curve(squared_error(curves))),
        ):
            about = {"data": title, "sum of": source}
            rows.append({**about, **order, **sums})
            shown.append({**about, **dict.fromkeys(order, "–"), **marked(sums)})
    return [study.table("weighting-table", rows), study.text("weighting-table.md", markdown(shown))]


def target(curves: AnnotationCurves) -> float:
    """What SPA should estimate: the mean agreement of the items with all annotations (``flat``)."""
    return float(curves.mean[-1, FLAT])


def squared_error(curves: AnnotationCurves) -> Floats:
    """Mean squared error against the target: variance plus squared bias."""
    return curves.variance + (curves.mean - target(curves)) ** 2


def sums_under_curve(values: Floats) -> dict[str, float]:
    """Σ over the checkpoints of the difference from ``flat``, · 10², by scheme."""
    sums = 100 * (values - values[:, FLAT : FLAT + 1]).sum(axis=0)
    return dict(zip(REGISTRY, sums.tolist(), strict=True))


def marked(values: Mapping[str, float]) -> dict[str, str]:
    """Four decimals; the best in bold and the second best in italics, ties included.

    >>> marked({"flat": 0.0, "edge": -1.25, "annotations_m1": -2.0, "inv_var": -1.25})
    {'flat': '0.0000', 'edge': '*−1.2500*', 'annotations_m1': '**−2.0000**', 'inv_var': '*−1.2500*'}
    """
    marks = dict(zip(sorted(set(values.values())), ("**", "*"), strict=False))
    shown = {name: f"{value:.4f}".replace("-", "−") for name, value in values.items()}
    return {name: f"{marks.get(values[name], '')}{text}{marks.get(values[name], '')}" for name, text in shown.items()}


def markdown(rows: Sequence[Mapping[str, str]]) -> str:
    """A table of the rows; numbers right-aligned."""
    figures = {name for row in rows for name, text in row.items() if text.strip("*−")[:1].isdigit()}
    ruler = "|".join("--:" if name in figures else "---" for name in rows[0])
    lines = [f"| {' | '.join(cells)} |" for cells in (rows[0], *(row.values() for row in rows))]
    return "\n".join([lines[0], f"|{ruler}|", *lines[1:]])


def unbiasedness(study: Study) -> list[Path]:
    """Exact expectations by enumeration: balanced, unbalanced, and given n."""
    rows = exact.unbiasedness()
    x, y = Axis("removed", "annotations removed, of 12"), Axis("bias", "bias of SPA", format=".3f")
    panels = {
        f"{design} ({'; '.join(full)})": charts.lines([row for row in rows if row["design"] == design], x, y, SCHEME)
        for design, full in (("balanced", exact.BALANCED), ("unbalanced", exact.UNBALANCED))
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
    grid = charts.side_by_side(panels)
    drawn = study.figure("unbiasedness", grid, "Where SPA is unbiased, and where not", caption)
    return [study.table("unbiasedness", rows), *drawn]


def _about(data: LabelSet) -> Row:
    return {"data": data.name, "simulated": data.simulated}


# name → what it shows, and what makes it
EXPERIMENTS = {
    "weight-curves": ("weights by number of annotations; inv_var is edge", weight_curves),
    "class-curves": ("inv_var_class weights of sampled class distributions", class_curves),
    "samples": ("variance when adding samples with n annotations each", adding_samples),
    "annotations": ("variance when adding single annotations", adding_annotations),
    "weighting": ("variance and squared error by weighting scheme; the paper's table", weighting),
    "unbiasedness": ("exact bias by enumeration, where it is 0 and where not", unbiasedness),
}


@contextmanager
def progress_bars() -> Iterator[Callable[[str, int], Tick]]:
    """One bar per experiment and data set, on standard error; none if that is not a terminal."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:

        def bar(description: str, total: int) -> Tick:
            task = progress.add_task(description, total=total)
            return lambda done: progress.advance(task, done)

        yield bar
