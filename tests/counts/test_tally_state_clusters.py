"""A live state with clusters has the tally that a recount of its annotations has."""

from __future__ import annotations

from random import Random

import polars as pl
import pytest

import spagree
from oracle import exactly, over_items
from spagree.counts.live import State
from spagree.errors import DataError


def recount(rows: dict[tuple[str, str], str], cluster: dict[str, str | None]) -> spagree.Tally:
    table = [(item, who, label, cluster.get(item)) for (item, who), label in rows.items()]
    frame = pl.DataFrame(
        table, schema=dict.fromkeys(["item", "annotator", "label", "cluster"], pl.String), orient="row"
    )
    return spagree.tally(frame, cluster="cluster")


@pytest.mark.parametrize("seed", range(4))
def test_annotations_come_change_and_go(seed: int) -> None:
    random, state = Random(seed), State()
    cluster: dict[str, str | None] = {f"q{i}": f"d{i // 3}" if i % 5 else None for i in range(12)}
    rows: dict[tuple[str, str], str] = {}
    for _ in range(200):
        item, who, label = f"q{random.randrange(12)}", random.choice("abc"), random.choice("xyz")
        if (item, who) in rows and random.random() < 0.4:
            state.remove(item, who)
            del rows[item, who]
        else:
            state.put(item, who, label, cluster=cluster[item])
            rows[item, who] = label
    found, wanted = state.tally(), recount(rows, cluster)
    assert found.grouped is not None and wanted.grouped is not None
    assert (found.grouped.cluster, found.grouped.items) == (wanted.grouped.cluster, wanted.grouped.items)
    assert over_items(spagree.measure(state).findings).spa == over_items(spagree.measure(wanted).findings).spa


def test_a_cluster_need_only_be_named_once() -> None:
    state = State()
    state.add("q1", "ann", "yes", cluster="d1")
    state.add("q1", "bob", "yes")
    state.add("q2", "bob", "no", cluster=7)
    assert state.tally().clusters == 2
    with pytest.raises(
        DataError, match=exactly("item 'q1' is in cluster 'd1', and an item belongs to one; correct it")
    ):
        state.add("q1", "cyd", "no", cluster="d2")
    assert state.tally().annotations == 3
    state.change("q2", "bob", "yes", cluster="7")
    assert state.tally().clusters == 2


def test_a_state_without_clusters_has_none() -> None:
    state = State()
    state.add("q1", "ann", "yes")
    assert state.tally().grouped is None


def test_a_table_is_restored_with_its_clusters() -> None:
    table = pl.DataFrame(
        {"item": [1, 1, 2, None], "annotator": list("abab"), "label": list("xxyx"), "cluster": ["d", "d", None, "e"]}
    )
    found = State.restore(table).tally()
    assert found.grouped is not None
    assert {cluster: count for (cluster, _), count in found.grouped.items.items()} == {"d": 1, "": 1}
    with pytest.raises(DataError, match=exactly("item '1' is in cluster 'd', and an item belongs to one; correct it")):
        State.restore(table.with_columns(cluster=pl.Series(["d", "e", None, None])))
