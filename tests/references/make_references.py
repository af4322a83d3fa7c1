"""Ask other packages for their values on the same data; writes references.json beside this file.

    pip install krippendorff==0.9.0 irrCAC==0.4.4 nltk==3.10.4 statsmodels==0.15.0 scikit-learn==1.9.1 pandas
    python tests/references/make_references.py

The tests read the stored values, so that the packages need not be installed to run them.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path

import krippendorff
import numpy as np
import pandas as pd
from irrCAC import datasets
from irrCAC.raw import CAC
from nltk.metrics.agreement import AnnotationTask
from nltk.metrics.distance import jaccard_distance, masi_distance
from statsmodels.stats.inter_rater import aggregate_raters, fleiss_kappa

BARS = "aaaa aab. bb.. .bcb ccc. a.bc ..bb aa.a c..a bbcc .c.c ...a"
KRIPPENDORFF = "11.1 2232 3333 3333 2222 1234 4444 1121 2222 .555 ..11 .3.."
COMPLETE = "abab aabb bbbb abba aaaa cbcc cccc acac bbab aabc"


def sparse(classes: str, items: int, raters: int, seed: int) -> str:
    """Items of differing difficulty, a third of the cells empty."""
    draw = random.Random(seed)
    rows = []
    for _ in range(items):
        truth = draw.choice(classes)
        row = [truth if draw.random() < 0.6 else draw.choice(classes) for _ in range(raters)]
        rows.append("".join(label if draw.random() < 0.66 else "." for label in row))
    return " ".join(row for row in rows if row.strip("."))


DATA = {
    "bars": BARS,
    "krippendorff": KRIPPENDORFF,
    "complete": COMPLETE,
    "sparse nominal": sparse("abcd", 60, 6, 1),
    "sparse ordinal": sparse("12345", 60, 6, 2),
}
SETS = [
    ("i1", "xy", "x", "x"),
    ("i2", "z", "z", "yz"),
    ("i3", "xyz", "x", "y"),
    ("i4", "y", "y", "y"),
    ("i5", "xz", "z", "x"),
]


def table(data: str) -> pd.DataFrame:
    return pd.DataFrame([[np.nan if cell == "." else cell for cell in row] for row in data.split()])


def alphas(data: str) -> dict[str, float]:
    codes = {label: code for code, label in enumerate(sorted(set(data) - {" ", "."}), start=1)}
    matrix = table(data).map(lambda cell: codes.get(cell, np.nan)).to_numpy(dtype=float).T
    levels = ["nominal", "ordinal", "interval", "ratio"] if data.strip(". 12345") == "" else ["nominal"]
    return {level: float(krippendorff.alpha(reliability_data=matrix, level_of_measurement=level)) for level in levels}


def gwet(data: str, weights: str) -> dict[str, float]:
    frame = table(data)
    if data.strip(". 12345") == "":
        frame = frame.astype(float)
    found = CAC(frame, weights=weights, digits=12)
    names = {
        "fleiss_kappa": "fleiss",
        "gwet_ac1": "gwet",
        "brennan_prediger": "bp",
        "krippendorff_alpha": "krippendorff",
        "conger_kappa": "conger",
    }
    return {ours: float(getattr(found, theirs)()["est"]["coefficient_value"]) for ours, theirs in names.items()}


def conger() -> dict[str, dict[str, object]]:
    """Conger's kappa of irrCAC's own examples, complete and not, with their annotations."""
    found: dict[str, dict[str, object]] = {}
    for name in ("raw_4raters", "raw_5observers", "raw_ben_gerry", "raw_g1g2", "raw_gender"):
        frame = getattr(datasets, name)().reset_index(drop=True)
        rows = [[int(item), rater, str(label)] for rater in frame for item, label in frame[rater].dropna().items()]
        found[name] = {"rows": rows, "value": float(CAC(frame, digits=12).conger()["est"]["coefficient_value"])}
    return found


def of_sets() -> dict[str, float]:
    rows = [(f"r{n}", item, frozenset(label)) for item, *labels in SETS for n, label in enumerate(labels)]
    return {
        name: AnnotationTask(data=rows, distance=distance).alpha()
        for name, distance in {"jaccard": jaccard_distance, "masi": masi_distance}.items()
    }


def fleiss() -> float:
    counts, _ = aggregate_raters(np.array([list(row) for row in COMPLETE.split()]))
    return float(fleiss_kappa(counts))


def pitfalls() -> dict[str, object]:
    """Where a peer fails or answers another question than the one that was asked."""
    matrix = table(KRIPPENDORFF).to_numpy(dtype=float).T
    numbers = np.array([[1, 2, np.nan], [1, 1, 2], [2, 2, np.nan]])
    rows = [(f"r{n}", i, label) for i, row in enumerate(BARS.split()) for n, label in enumerate(row) if label != "."]
    bp = CAC(table(BARS)).bp()["est"]
    return {
        "krippendorff_default": float(krippendorff.alpha(reliability_data=matrix)),
        "statsmodels_classes_of_1_2_nan": int(aggregate_raters(numbers)[0].shape[1]),
        "nltk_multi_kappa_on_sparse": outcome(lambda: AnnotationTask(data=rows).multi_kappa()),
        "nltk_kappa_on_sparse": outcome(lambda: AnnotationTask(data=rows).kappa()),
        "irrCAC_bp": {"z": bp["z"], "p": bp["p_value"], "items": len(BARS.split())},
        "irrCAC_perfect_interval": list(CAC(table("aa bb aa bb cc aa bb cc")).gwet()["est"]["confidence_interval"]),
    }


def outcome(call: Callable[[], float]) -> str:
    """What came of it: a value, or the error."""
    try:
        return str(call())
    except Exception as error:  # any failure is the finding
        return type(error).__name__


def main() -> None:
    numeric = {name: data for name, data in DATA.items() if data.strip(". 12345") == ""}
    found = {
        "data": DATA,
        "sets": SETS,
        "krippendorff": {name: alphas(data) for name, data in DATA.items()},
        "irrCAC": {name: {"nominal": gwet(data, "identity")} for name, data in DATA.items()},
        "irrCAC_conger": conger(),
        "nltk": of_sets(),
        "statsmodels": fleiss(),
        "pitfalls": pitfalls(),
    }
    for name, data in numeric.items():
        found["irrCAC"][name] |= {weights: gwet(data, weights) for weights in ("linear", "quadratic")}
    Path(__file__).with_name("references.json").write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
