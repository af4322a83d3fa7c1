"""People held out as models, and bots, on real annotations; left out where the data is not at hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars
import pytest

import spagree

SHARED = Path(__file__).parents[3] / "shared" / "data"
SETS = ["mbic_label", "bsmtwe_anger_vs_fear", "rte"]


def annotations(name: str) -> polars.DataFrame:
    path = SHARED / f"{name}.csv.gz"
    if not path.exists():
        pytest.skip(f"the shared data set {name} is not at hand")
    return polars.read_csv(path, infer_schema=False).select("item", "annotator", "label")


def held_out(rows: polars.DataFrame, rng: np.random.Generator) -> tuple[polars.DataFrame, polars.DataFrame]:
    """One annotation of each item, whoever made it, as the model: on average a person."""
    order = rows.with_columns(polars.Series("draw", rng.random(rows.height)))
    first = polars.col("draw") == polars.col("draw").min().over("item")
    return order.filter(~first).drop("draw"), order.filter(first).select("item", "label")


@pytest.mark.parametrize("name", SETS)
def test_a_person_in_the_place_of_the_model_is_a_person(name: str) -> None:
    rows, rng = annotations(name), np.random.default_rng(1)
    found = []
    for _ in range(6):
        people, model = held_out(rows, rng)
        found.append(spagree.compare(people, model={"somebody": model}, margin=0.05).models["somebody"])
    assert sum(each.difference.low <= 0 <= each.difference.high for each in found) >= 5
    assert [each.verdict for each in found].count("worse") == 0
    assert abs(np.mean([each.difference.value for each in found])) < 0.02


@pytest.mark.parametrize("name", SETS)
def test_a_coin_is_never_as_good_and_the_majority_is_better(name: str) -> None:
    rows, rng = annotations(name), np.random.default_rng(2)
    items = rows["item"].unique(maintain_order=True)
    bots = {
        "coin": polars.DataFrame({"item": items, "label": rng.choice(rows["label"].unique().sort(), len(items))}),
        "majority": rows.group_by("item").agg(polars.col("label").mode().sort().first()),
    }
    told = {each.name: each.verdict for each in spagree.compare(rows, model=bots).models.values()}
    assert told["coin"] in ("worse", "slightly_worse") and told["majority"] == "better"


def test_the_alternative_annotator_test_leaves_out_nearly_everybody_on_mbic() -> None:
    rows = annotations("mbic_label")
    model = rows.group_by("item").agg(polars.col("label").mode().sort().first())
    test = spagree.compare(rows, model={"majority": model}).models["majority"].alternative
    assert (test.annotators, test.annotators_left_out) == (1, 887)


def test_label_shares_of_real_people_name_nobody_without_evidence() -> None:
    found = spagree.measure(annotations("mbic_label")).annotators()
    named = found.filter("one_label")
    assert named.height < 0.1 * found.height
    assert (named["commonest_share"] == 1.0).all()


def test_halves_of_one_data_set_do_not_differ() -> None:
    rows = annotations("rte").with_row_index("place")
    odd = rows["item"].cast(polars.Int64) % 2 == 1
    found = spagree.compare(rows.filter(odd).drop("place"), rows.filter(~odd).drop("place"))
    assert found.shared_items == 0 and found.difference.low < 0.02 and found.difference.high > -0.02
