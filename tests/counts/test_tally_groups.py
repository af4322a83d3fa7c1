"""Clusters and groups are the same integers on every engine."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from test_tally_engines import ENGINES, on, on_each

import spagree
from spagree.errors import DataError

pytestmark = [
    pytest.mark.filterwarnings("ignore::UserWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning:modin"),
]

FRAME = pl.DataFrame(
    {
        "item": ["q1", "q1", "q2", "q2", "q3", "q3", "q4", "q4", "q4"],
        "annotator": ["a", "b", "a", "b", "a", "c", "a", "b", "c"],
        "label": ["x", "x", "x", "y", "x", "x", "x", "y", "x"],
        "doc": ["d1", "d1", "d1", "d1", "d2", "d2", None, None, None],
        "page": [1, 1, 1, 1, 2, 2, 3, 3, 3],
        "team": ["old", "new", "old", "new", "old", "new", "old", "new", "new"],
        "expert": [True, False, True, False, True, False, True, False, False],
    }
)

COLUMNS: dict[str, dict[str, str]] = {
    "doc": {"cluster": "doc"},
    "page": {"cluster": "page"},
    "team": {"by": "team"},
    "expert": {"by": "expert"},
    "doc+page": {"cluster": "doc", "by": "page"},
    "page+expert": {"cluster": "page", "by": "expert"},
}


def tally(frame: Any, **columns: str) -> spagree.Tally:
    return spagree.tally(frame, item="item", annotator="annotator", label="label", **columns)


@pytest.mark.slow
@on_each("named", COLUMNS, *ENGINES, spark=("doc+page",), dask=("doc+page",), modin=())
def test_every_engine_gives_the_same_clusters_and_groups(named: str, engine: str) -> None:
    columns = COLUMNS[named]
    found, wanted = tally(ENGINES[engine](FRAME), **columns), tally(FRAME, **columns)
    assert found == wanted
    assert found.groups() == wanted.groups()


@pytest.mark.slow
@on(*ENGINES, seldom=("modin", "dask"))
def test_every_engine_refuses_items_in_two_clusters_in_the_same_words(engine: str) -> None:
    with pytest.raises(DataError) as wanted:
        tally(FRAME, cluster="team")
    with pytest.raises(DataError) as found:
        tally(ENGINES[engine](FRAME), cluster="team")
    assert str(found.value) == str(wanted.value)
    assert "4 items are in several clusters (item 'q1' in 'new' and 'old'" in str(found.value)
