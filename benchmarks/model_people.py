"""People held out as models, and bots, on real annotations: our verdict beside that of the alternative annotator test.

    python benchmarks/model_people.py --data FOLDER [--rounds 40]

From every item of a data set one annotation, whoever made it, is taken away and given to "the model": on average such a
model is exactly as good as a person. The bots are the majority of all people, the commonest label, and labels at random.
Writes docs/studies/models.md and models.csv.
"""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import polars
from publish import publish

import spagree

SETS = ("mbic_label", "mbic_factual", "bsmtwe_anger_vs_fear", "bsmtwe_joy_vs_sadness", "rte")
VERDICTS = ("as_good", "worse", "cannot_tell")


def held_out(rows: polars.DataFrame, rng: np.random.Generator) -> tuple[polars.DataFrame, polars.DataFrame]:
    order = rows.with_columns(polars.Series("draw", rng.random(rows.height)))
    first = polars.col("draw") == polars.col("draw").min().over("item")
    return order.filter(~first).drop("draw"), order.filter(first).select("item", "label")


def bots(rows: polars.DataFrame, rng: np.random.Generator) -> dict[str, polars.DataFrame]:
    items, labels = rows["item"].unique(maintain_order=True), rows["label"].unique().sort().to_list()
    commonest = rows["label"].mode().sort().first()
    return {
        "majority of all": rows.group_by("item", maintain_order=True).agg(polars.col("label").mode().sort().first()),
        "commonest label": polars.DataFrame({"item": items, "label": [commonest] * len(items)}),
        "at random": polars.DataFrame({"item": items, "label": rng.choice(labels, len(items)).tolist()}),
    }


def row_of(name: str, model: str, comparisons: list[Any]) -> dict[str, Any]:
    verdicts = Counter(each.verdict for each in comparisons)
    tests = [each.alternative for each in comparisons]
    known = [test.passes for test in tests if test is not None and test.passes is not None]
    first = tests[0]
    return {
        "set": name,
        "model": model,
        "rounds": len(comparisons),
        "difference": round(float(np.mean([each.difference.value for each in comparisons])), 4),
        "low": round(float(np.mean([each.difference.low for each in comparisons])), 4),
        "high": round(float(np.mean([each.difference.high for each in comparisons])), 4),
        "holds_0": sum(each.difference.low <= 0 <= each.difference.high for each in comparisons),
        **{verdict: verdicts[verdict] for verdict in VERDICTS},
        "alternative_passes": sum(known) if known else "",
        "alternative_people": first.annotators,
        "alternative_left_out": first.annotators_left_out,
    }


def study(name: str, rows: polars.DataFrame, rounds: int) -> list[dict[str, Any]]:
    rng = np.random.default_rng(1)
    people = []
    for _ in range(rounds):
        others, model = held_out(rows, rng)
        people.append(spagree.compare(others, model={"somebody": model}).models["somebody"])
    results = [row_of(name, "a person", people)]
    machines = spagree.compare(rows, model=bots(rows, rng)).models
    return results + [row_of(name, bot, [each]) for bot, each in machines.items()]


def line(row: dict[str, Any]) -> str:
    span = f"{row['difference']:+.3f} ({row['low']:+.3f} to {row['high']:+.3f})".replace("-", "−")
    verdict = ", ".join(f"{name.replace('_', ' ')} {row[name]}" for name in VERDICTS if row[name])
    people = row["alternative_people"]
    passed = f"passes {row['alternative_passes']}" if row["alternative_passes"] != "" else "–"
    whole = people + row["alternative_left_out"]
    return f"| {row['set']} | {row['model']} | {span} | {row['rounds']} | {verdict} | {passed} | {people} of {whole} |"


TEXT = """# A person, a majority, a constant and a coin in place of the model

Real annotations, `margin` 0.05. *A person*: one annotation of every item, by anyone, is assigned to the model, {rounds} times;
such a model is exactly as good as a person. Δ is how much more often a person agrees with the model than with another
person, with its mean interval for new items and people. Beside it: the alternative annotator test (ε = 0.1, as its paper defines
it), and how many people have the 30 items it requires. Made by `benchmarks/model_people.py`; the figures are in
[models.csv](models.csv).

| data | model | Δ | comparisons | our verdict | alternative test | people it uses |
|---|---|--:|--:|---|---|--:|
{table}

- The person is called *worse* in {worse} of {people} comparisons; the interval of Δ contains 0 in {held} of {people}. *Cannot tell*
  means that there are too few items or people to rule out a difference of 0.05.
- The most common label and the coin are called *as good* in {bots} of {bot_cases}.
- The majority of the very people it is compared with agrees with them more than any one of them can. It has seen their answers: this
  is no evidence about a model, and the page on [comparing](../compare.md#may-a-model-annotate) says so.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--rounds", type=int, default=40)
    options = parser.parse_args()
    rows = []
    for name in SETS:
        table = polars.read_csv(options.data / f"{name}.csv.gz", infer_schema=False).select(
            "item", "annotator", "label"
        )
        rows += study(name, table, options.rounds)
    persons = [row for row in rows if row["model"] == "a person"]
    machines = [row for row in rows if row["model"] in ("commonest label", "at random")]
    text = TEXT.format(
        rounds=options.rounds,
        table="\n".join(map(line, rows)),
        worse=sum(row["worse"] for row in persons),
        held=sum(row["holds_0"] for row in persons),
        people=sum(row["rounds"] for row in persons),
        bots=sum(row["as_good"] for row in machines),
        bot_cases=len(machines),
    )
    publish("models", rows, text)


if __name__ == "__main__":
    main()
