"""tally() and count_items(): read → tally, for merging parts or keeping counts; and sources already counted."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from spagree.errors import UsageError
from spagree.keywords import keywords
from spagree.options import Reading, non_default, shows
from spagree.read import read
from spagree.read.annotations import LABEL, Annotations
from spagree.read.layouts import FORMATS
from spagree.tally.count import Counted, count
from spagree.tally.items import ItemCounts, item_counts
from spagree.tally.policies import Policies
from spagree.tally.saved import is_saved_tally, load_all
from spagree.tally.tally import Tally
from spagree.understood import Caution

DECISIVE = ("missing", "status", "ground_truth", "multi", "empty", "duplicates", "first", "normalize")


def ready(source: Any) -> Tally | ItemCounts | Counted | None:
    """Counts that already exist: in memory, live, saved, or saved in parts."""
    if isinstance(source, Tally | ItemCounts | Counted):
        return source
    paths = source if isinstance(source, list) else [source]
    if paths and all(isinstance(path, str | Path) for path in paths):
        return load_all(paths) if all(map(is_saved_tally, paths)) else None
    from spagree.tally.live import State

    return source.counted() if isinstance(source, State) else None


def refuse_late(reading: Reading) -> None:
    """Refuse counting options for data that is already counted."""
    names = [f"--{'no-' if name == 'header' else ''}{name.replace('_', '-')}" for name in non_default(reading)]
    if names:
        raise UsageError(f"{', '.join(names)} has no effect on a tally; give it when counting the annotations")


def policies(reading: Reading) -> Policies:
    """How to treat annotations that could be counted in more than one way."""
    return Policies(reading.duplicates, reading.first, reading.normalize, reading.separator)


def tally_of(ready: Tally | ItemCounts | Counted) -> Tally:
    """The summary of existing counts."""
    if isinstance(ready, Counted):
        return ready.tally
    return ready.tally() if isinstance(ready, ItemCounts) else ready


@keywords
@shows(Reading)
def tally(source: Any, **options: Any) -> Tally:
    """Count annotations into a :class:`Tally`: a few integers that determine every estimate.

    Options are those for reading of :func:`measure`.
    Tallies of parts merge with ``+`` as long as no item is in two parts (see :func:`count_items`).

    >>> import spagree
    >>> monday = spagree.tally([("q1", "ann", "yes"), ("q1", "bob", "yes")])
    >>> tuesday = spagree.tally([("q2", "ann", "yes"), ("q2", "bob", "no")])
    >>> spagree.measure(monday + tuesday).spa.value
    0.5
    """
    return tally_and_cautions(source, **options)[0]


def tally_and_cautions(source: Any, **options: Any) -> tuple[Tally, tuple[Caution, ...]]:
    """The tally, and what was noticed while reading and counting, which a tally does not keep."""
    reading, ready_made = Reading(**options), ready(source)
    if ready_made is not None:
        refuse_late(reading)
        return tally_of(ready_made), ()
    annotations = read(source, **options)
    counted = count(annotations, policies(reading))
    return replace(counted.tally, counted=_how_counted(reading, annotations)), counted.cautions


@keywords
@shows(Reading)
def count_items(source: Any, **options: Any) -> ItemCounts:
    """Count annotations per item and label: one row each, but the parts may split an item.

    Options are those for reading of :func:`measure`.

    >>> import spagree
    >>> morning = spagree.count_items([("q1", "ann", "yes")])
    >>> evening = spagree.count_items([("q1", "bob", "yes"), ("q2", "bob", "no")])
    >>> spagree.measure(morning + evening).data.pairable_items
    1
    """
    return item_counts_and_cautions(source, **options)[0]


def item_counts_and_cautions(source: Any, **options: Any) -> tuple[ItemCounts, tuple[Caution, ...]]:
    """The counts per item, and what was noticed while reading and counting."""
    reading = Reading(**options)
    if reading.cluster is not None or reading.by is not None:
        option = "--cluster" if reading.cluster is not None else "--by"
        raise UsageError(f"{option}: counts of single items keep no clusters or groups; count a tally instead")
    annotations = read(source, **options)
    counted = count(annotations, policies(reading))
    return replace(item_counts(counted), counted=_how_counted(reading, annotations)), counted.cautions


def _how_counted(reading: Reading, annotations: Annotations) -> dict[str, Any]:
    """The options that decide which annotations count: saved with the counts, and compared before merging."""
    decisive = {name: value for name, value in non_default(reading).items() if name in DECISIVE}
    plain = {name: list(value) if isinstance(value, list | tuple) else value for name, value in decisive.items()}
    is_export = annotations.understood.format not in FORMATS
    return {**plain, "question": annotations.understood.columns.get(LABEL)} if is_export else plain
