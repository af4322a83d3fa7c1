"""tally() and count_items(): read → tally, for those who merge parts or keep counts; and what was counted before."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Unpack

from spagree.errors import UsageError
from spagree.read import ReadOptions, read
from spagree.tally.count import count
from spagree.tally.items import ItemCounts, item_counts
from spagree.tally.live import LiveTally
from spagree.tally.policies import DuplicatePolicy, Policies
from spagree.tally.saved import is_saved_tally, load, merge
from spagree.tally.tally import Tally

COUNTING: Mapping[str, Any] = {
    "item": None,
    "annotator": None,
    "label": None,
    "time": None,
    "text": None,
    "format": "auto",
    "missing": (),
    "encoding": None,
    "header": True,
    "question": None,
    "status": (),
    "ground_truth": "keep",
    "multi": "set",
    "empty": "drop",
    "config": None,
    "pseudonymise": False,
    "engine": None,
    "spark_master": None,
    "query": None,
    "duplicates": "error",
    "first": None,
    "normalize": False,
}


def ready(source: Any) -> Tally | ItemCounts | None:
    """What was counted before: in memory, live, saved, or saved in parts."""
    if isinstance(source, LiveTally):
        return source.tally()
    if isinstance(source, Tally | ItemCounts):
        return source
    paths = source if isinstance(source, list) else [source]
    if paths and all(isinstance(path, str | Path) and is_saved_tally(path) for path in paths):
        return merge([load(path) for path in paths])
    return None


def refuse_late(options: Mapping[str, Any]) -> None:
    """Options that say how to count come too late for what was counted."""
    names = list(given(options))
    if names:
        raise UsageError(f"{', '.join(names)}: no effect on a tally; say it when the annotations are counted")


def given(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options that differ from what is done anyway.

    >>> given({"first": 2, "missing": (), "duplicates": "error"})
    {'first': 2}
    """
    return {name: value for name, value in options.items() if value != COUNTING[name]}


def tally_of(ready: Tally | ItemCounts) -> Tally:
    """The summary of what was counted before."""
    return ready.tally() if isinstance(ready, ItemCounts) else ready


def tally(
    source: Any,
    *,
    duplicates: DuplicatePolicy = "error",
    first: int | None = None,
    normalize: bool = False,
    **reading: Unpack[ReadOptions],
) -> Tally:
    """Count annotations into a :class:`Tally`: a few integers that hold all that is estimated.

    Tallies of parts merge with ``+`` as long as no item is in two parts (see :func:`count_items`).

    >>> import spagree
    >>> monday = spagree.tally([("q1", "ann", "yes"), ("q1", "bob", "yes")])
    >>> tuesday = spagree.tally([("q2", "ann", "yes"), ("q2", "bob", "no")])
    >>> spagree.measure(monday + tuesday).spa.value
    0.5
    """
    counted = ready(source)
    if counted is not None:
        refuse_late({**reading, "duplicates": duplicates, "first": first, "normalize": normalize})
        return tally_of(counted)
    return count(read(source, **reading), Policies(duplicates, first, normalize)).tally


def count_items(
    source: Any,
    *,
    duplicates: DuplicatePolicy = "error",
    first: int | None = None,
    normalize: bool = False,
    **reading: Unpack[ReadOptions],
) -> ItemCounts:
    """Count annotations per item and label: one row each, but parts may cut through an item.

    >>> import spagree
    >>> morning = spagree.count_items([("q1", "ann", "yes")])
    >>> evening = spagree.count_items([("q1", "bob", "yes"), ("q2", "bob", "no")])
    >>> spagree.measure(morning + evening).data.pairable_items
    1
    """
    return item_counts(count(read(source, **reading), Policies(duplicates, first, normalize)))
