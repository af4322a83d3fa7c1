"""Makes results.json: everything that is found in a few small data sets, in all tables and options.

Run ``python tests/make_results.py`` to write it again after a change that is meant to change figures, columns or
words, and read the difference: it is what users will see.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import polars as pl

import spagree
from spagree.errors import known

COMPARED = "compare: "  # how the names of comparisons begin
PATH = Path(__file__).with_name("results.json")
COLUMNS = ["item", "annotator", "label", "time", "text", "doc", "team"]
Made = Callable[[], Any]
LEFT_OUT = ("spagree", "sentence", "evidence")  # the version, the words of the verdict and the steps


def project(seed: int, items: int, people: int, labels: str | list[str], most: int = 5) -> pl.DataFrame:
    """Items of unequal difficulty, by people of unequal care, with one to ``most`` annotations each."""
    draw = random.Random(seed)
    care = [draw.uniform(0.5, 0.95) for _ in range(people)]
    rows = []
    for item in range(items):
        right, hard = draw.choice(labels), draw.random() ** 2
        for who in draw.sample(range(people), min(people, draw.randint(1, most))):
            label = right if draw.random() < care[who] * (1 - hard / 2) else draw.choice(labels)
            about = (len(rows) * 3600, f"text {item}", f"d{item // 3}", "xy"[who % 2])
            rows.append((f"q{item}", f"a{who}", label, *about))
    return pl.DataFrame(rows, schema=COLUMNS, orient="row")


def sources() -> dict[str, Made]:
    """Data sets by name: one for each kind of data, and the ends of the range."""
    plain = project(1, 24, 6, "abc").select(COLUMNS[:3])
    timed = project(2, 18, 5, "ab", 4)
    numbers, sets = project(3, 16, 5, "12345").select(COLUMNS[:3]), ["red", "red;blue", "blue", "red;green;blue"]
    unknown = plain.with_columns(annotator=pl.when(pl.col("annotator") != "a3").then("annotator"))
    apart = pl.concat([plain.with_columns(pl.col("item", "annotator") + side) for side in ("x", "y")])
    measure = spagree.measure
    return {
        "plain": lambda: measure(plain),
        "other weights and level": lambda: measure(plain, weights="inv_var_class", level=0.9),
        "for new annotators": lambda: measure(plain, interval_for="annotators", weights="inv_var_class"),
        "own weights": lambda: measure(plain, weights={2: 1, 3: 1.5, 4: 1.75, 5: 2}),
        "bootstrap": lambda: measure(plain, bootstrap=100, seed=3),
        "times, texts and clusters": lambda: measure(timed, cluster="doc"),
        "groups of people": lambda: measure(timed, by="team"),
        "groups of items": lambda: measure(timed.with_columns(team=pl.col("doc") < "d3"), by="team"),
        "first two": lambda: measure(timed, first=2),
        "some unknown people": lambda: measure(unknown),
        "teams that never met": lambda: measure(apart),
        "interval": lambda: measure(numbers, metric="interval"),
        "ordinal, for new annotators": lambda: measure(numbers, metric="ordinal", interval_for="annotators"),
        "sets": lambda: measure(project(4, 16, 5, sets).select(COLUMNS[:3]), metric="jaccard", separator=";"),
        "counts": lambda: measure(plain.group_by("item", "label").agg(pl.len().alias("count")).sort("item", "label")),
        "a tally": lambda: measure(spagree.tally(plain)),
        "two items": lambda: measure([("p", "ann", "x"), ("p", "bob", "x"), ("q", "ann", "x"), ("q", "bob", "y")]),
        "one class": lambda: measure([(item, who, "x") for item in "pqr" for who in ("ann", "bob")]),
        "no pairs": lambda: measure([("p", "ann", "x"), ("q", "bob", "y")]),
        "nothing": lambda: measure([("p", "ann", None)]),
    }


def comparisons() -> dict[str, Made]:
    """What else has a document of its own."""
    one, other, third = (project(seed, 40, 6, "ab").select(COLUMNS[:3]) for seed in (5, 6, 7))
    return {
        f"{COMPARED}three sources": lambda: spagree.compare(one, other, third, names=["one", "other", "third"]),
        f"{COMPARED}for new annotators": lambda: spagree.compare(
            one, other, names=["a", "b"], interval_for="annotators"
        ),
        f"{COMPARED}a model": lambda: spagree.compare(one, model="a1", margin=0.1),
        f"{COMPARED}runs of a model": lambda: spagree.compare(one, model="a[12]", level=0.9),
    }


SAME_TABLES = ("other weights and level", "own weights", "bootstrap", "for new annotators")  # as "plain" has


def tables(found: spagree.Agreement) -> Iterator[tuple[str, Made]]:
    """Every table of single items, labels and people."""
    for name in [
        "items",
        "hardest",
        "disputed",
        "consensus",
        "distribution",
        "classes",
        "confusion",
        "annotators",
        "pairs",
    ]:
        yield name, getattr(found, name)
    yield "worst pairs", lambda: found.pairs(least=2, worst=3)
    yield "busiest pairs", lambda: found.pairs(busiest=3)
    yield "development", lambda: found.development(steps=4)
    yield "overlap", lambda: asdict(found.overlap())
    shown_on_the_page = found.breakdowns()
    yield "concentration", lambda: asdict(known(shown_on_the_page.concentration))
    for name in ("answers", "confusion", "options"):
        yield name, lambda name=name: known(getattr(shown_on_the_page, name))


def plans(found: spagree.Agreement) -> Iterator[tuple[str, Made]]:
    """A plan for each question."""
    yield "plan", lambda: found.plan(most=3)
    yield "plan for a half-width", lambda: found.plan(0.04, 3)
    yield "plan for a budget", lambda: found.plan(budget=60, most=3)
    yield "plan for a requirement", lambda: found.plan(require=0.6, most=3)


def shown(make: Made) -> Any:
    """What is made as plain values; the words of a refusal."""
    try:
        made = make()
    except spagree.SpagreeError as refusal:
        return f"{type(refusal).__name__}: {refusal}"
    if isinstance(made, pl.LazyFrame):
        made = made.collect()
    if isinstance(made, pl.DataFrame):
        return {"columns": {name: str(kind) for name, kind in made.schema.items()}, "rows": plain(made.rows())}
    return plain(made if isinstance(made, dict) else made.to_dict())


def plain(value: Any) -> Any:
    """Floats with eight digits, as the last ones differ between machines; without words, which score.json has."""
    if isinstance(value, float):
        return float(f"{value:.8g}")
    if isinstance(value, dict):
        return {str(name): plain(each) for name, each in value.items() if name not in LEFT_OUT}
    return [plain(each) for each in value] if isinstance(value, (list, tuple)) else value


def results(name: str) -> dict[str, Any]:
    """Everything that is found in one data set."""
    found = sources()[name]()
    document = {"result": shown(found.to_dict), **{table: shown(make) for table, make in plans(found)}}
    return document if name in SAME_TABLES else document | {table: shown(make) for table, make in tables(found)}


def document() -> dict[str, Any]:
    return {name: results(name) for name in sources()} | {name: shown(make) for name, make in comparisons().items()}


if __name__ == "__main__":
    lines = [f" {json.dumps(name)}: {json.dumps(each, ensure_ascii=False)}" for name, each in document().items()]
    PATH.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")
