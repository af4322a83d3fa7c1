"""Figures of the coverage studies, drawn from their CSV files: docs/studies/*.svg.

python benchmarks/study_figures.py
"""

from __future__ import annotations

import csv

from publish import FOLDER

from spagree.present.charts import studies as charts
from spagree.present.charts.save import save
from spagree.present.charts.studies import Axis

COVERAGE = Axis("coverage", "coverage of the 95% interval")
ITEMS = Axis("items", "items", log=True)
NAMES = ("spa_kappa", "krippendorff_alpha", "fleiss_kappa")


def table(name: str) -> list[dict[str, str]]:
    with (FOLDER / f"{name}.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def interval_coverage() -> None:
    rows = [
        {"items": int(row["items"]), "coverage": float(row["annotations_m1"]), "agreement": row["agreement"]}
        for row in table("interval-coverage")
        if (row["data"], row["annotations per item"]) == ("varied", "2–5")
    ]
    chart = charts.layered(charts.lines(rows, ITEMS, COVERAGE, Axis("agreement", "agreement")), charts.level(0.95))
    save(chart, FOLDER / "interval-coverage", ["svg"])


def chance_correction() -> None:
    rows = [
        {
            "items": int(row["items"]),
            "value": float(row[f"{name} {what}"]),
            "name": name,
            "panel": f"{what}, {row['classes']} classes",
        }
        for row in table("chance-correction")
        for name in NAMES
        for what in ("bias", "coverage")
        if row["kappa"] == "0.5"
    ]
    panels = {}
    for panel in dict.fromkeys(row["panel"] for row in rows):
        chosen = [row for row in rows if row["panel"] == panel]
        what = panel.split(",")[0]
        drawn = charts.lines(chosen, ITEMS, Axis("value", what), Axis("name", "coefficient"))
        panels[panel] = charts.layered(drawn, charts.level(0.95 if what == "coverage" else 0.0))
    save(charts.side_by_side(panels), FOLDER / "chance-correction", ["svg"])


def annotator_coverage() -> None:
    rows = [
        {"annotators": int(row["annotators"]), "coverage": float(row[kind]), "interval": label}
        for row in table("annotator-coverage")
        for kind, label in (("items_only", "these annotators"), ("new_annotators", "new annotators"))
        if row["quality"] == "0.5 to 1" and row["workload"] == "equal" and row["per_item"] == "2–3"
    ]
    drawn = charts.lines(rows, Axis("annotators", "annotators", log=True), COVERAGE, Axis("interval", "interval for"))
    save(charts.layered(drawn, charts.level(0.95)), FOLDER / "annotator-coverage", ["svg"])


if __name__ == "__main__":
    interval_coverage()
    chance_correction()
    annotator_coverage()
