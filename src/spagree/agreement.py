"""The object users hold: read → tally → estimate → present in one call."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypedDict, Unpack

import narwhals as nw

from spagree.errors import UsageError
from spagree.estimate import (
    DEFAULT,
    Bootstrap,
    CustomWeights,
    Data,
    Estimate,
    Findings,
    Missingness,
    check_level,
    check_scheme,
    find,
)
from spagree.present import document, figure, interval, to_html, to_text
from spagree.read import read
from spagree.read.annotations import Caution, Understood
from spagree.tally.count import count, item_agreement
from spagree.tally.engines import to_polars
from spagree.tally.items import ItemCounts, item_counts
from spagree.tally.live import LiveTally
from spagree.tally.policies import DuplicatePolicy, Policies
from spagree.tally.store import is_saved_tally, load, merge
from spagree.tally.tally import Tally
from spagree.version import __version__

COUNTING: Mapping[str, Any] = {
    "item": None,
    "annotator": None,
    "label": None,
    "time": None,
    "format": "auto",
    "missing": (),
    "encoding": None,
    "header": True,
    "duplicates": "error",
    "first": None,
    "normalize": False,
}


@dataclass(frozen=True, slots=True)
class _Items:
    """The item counts behind an agreement, still on the engine that holds them."""

    counts: nw.LazyFrame[Any]
    source: Any

    def frame(self) -> Any:
        """In the kind of frame the user came with; polars for files and triples."""
        agreement = item_agreement(self.counts)
        try:
            came_as = nw.from_native(self.source)
        except TypeError:
            return to_polars(agreement)
        return (agreement if isinstance(came_as, nw.LazyFrame) else agreement.collect()).to_native()


@dataclass(frozen=True, slots=True, repr=False)
class Agreement:
    """How much annotators agree, with everything needed to trust the number.

    Made by :func:`measure`; shows itself as a summary in a terminal and a table in a notebook.
    """

    findings: Findings
    understood: Understood | None = None
    _items: _Items | None = field(default=None, repr=False)

    @property
    def spa(self) -> Estimate:
        """Sparse Probability of Agreement under the chosen weights."""
        return self.findings.spa

    @property
    def schemes(self) -> Mapping[str, Estimate]:
        """SPA under every weighting scheme."""
        return self.findings.schemes

    @property
    def missingness(self) -> Missingness:
        """The test of SPA's one assumption."""
        return self.findings.missingness

    @property
    def data(self) -> Data:
        """What was counted."""
        return self.findings.data

    @property
    def warnings(self) -> tuple[Caution, ...]:
        """What a careful colleague would point out."""
        return self.findings.warnings

    def items(self) -> Any:
        """Agreement of each item, least first: ``item, annotations, agreement``.

        On a lazy source (polars LazyFrame, duckdb, dask, PySpark) a lazy frame of the same kind;
        on a dataframe one of the same kind; on files and triples a polars DataFrame. Items
        with a single annotation have no agreement and come last.

        >>> import spagree
        >>> agreement = spagree.measure([("q1", "ann", "yes"), ("q1", "bob", "no"), ("q2", "ann", "no")])
        >>> agreement.items().rows()
        [('q1', 2, 0.0), ('q2', 1, None)]
        """
        if self._items is None:
            raise UsageError("a tally holds no single items; measure the annotations themselves")
        return self._items.frame()

    def to_dict(self) -> dict[str, Any]:
        """All figures as plain values, in full precision."""
        return document(self.findings, __version__)

    def to_json(self, indent: int | None = 2) -> str:
        """All figures as JSON, in the documented format.

        >>> import json, spagree
        >>> agreement = spagree.measure([("q1", "ann", "yes"), ("q1", "bob", "yes")])
        >>> json.loads(agreement.to_json())["spa"]["value"]
        1.0
        """
        return json.dumps(self.to_dict(), indent=indent, ensure_ascii=False, allow_nan=False)

    def __repr__(self) -> str:
        data = self.data
        shown = f"SPA {figure(self.spa.value)} ({interval(self.spa)})"
        return (
            f"<Agreement: {shown}, {data.pairable_items:,} of {data.items:,} items, {data.annotations:,} annotations>"
        )

    def __str__(self) -> str:
        return to_text(self.findings, self.understood, __version__)

    def _repr_html_(self) -> str:
        return to_html(self.findings)


def _ready(source: Any) -> Tally | ItemCounts | None:
    """What was counted before: in memory, live, saved, or saved in parts."""
    if isinstance(source, LiveTally):
        return source.tally()
    if isinstance(source, Tally | ItemCounts):
        return source
    paths = source if isinstance(source, list) else [source]
    if paths and all(isinstance(path, str | Path) and is_saved_tally(path) for path in paths):
        return merge([load(path) for path in paths])
    return None


def _refuse_late(options: Mapping[str, Any]) -> None:
    """Options that say how to count come too late for what was counted."""
    given = [name for name, value in options.items() if value != COUNTING[name]]
    if given:
        raise UsageError(f"{', '.join(given)}: no effect on a tally; say it when the annotations are counted")


def measure(
    source: Any,
    *,
    item: str | None = None,
    annotator: str | None = None,
    label: str | Sequence[str] | None = None,
    time: str | None = None,
    format: str = "auto",
    weights: str | CustomWeights = DEFAULT,
    level: float = 0.95,
    duplicates: DuplicatePolicy = "error",
    missing: Sequence[str] = (),
    normalize: bool = False,
    first: int | None = None,
    bootstrap: int | None = None,
    seed: int = 0,
    encoding: str | None = None,
    header: bool = True,
) -> Agreement:
    """Measure how much annotators agree.

    ``source`` is a path, a glob, a list of paths, ``"example:NAME"``, any dataframe narwhals
    knows, an iterable of (item, annotator, label[, time]), a matrix of counts (items × classes),
    or a tally.

    >>> import spagree
    >>> agreement = spagree.measure("example:krippendorff2011")
    >>> round(agreement.spa.value, 3)
    0.793
    >>> agreement.data.pairable_items, agreement.data.unpairable_items
    (11, 1)
    """
    check_scheme(weights)
    check_level(level)
    resample = Bootstrap(bootstrap, seed) if bootstrap is not None else None
    policies = Policies(duplicates, first, normalize)
    reading: ReadOptions = {
        "item": item,
        "annotator": annotator,
        "label": label,
        "time": time,
        "format": format,
        "missing": missing,
        "encoding": encoding,
        "header": header,
    }
    ready = _ready(source)
    if ready is not None:
        _refuse_late({**reading, "duplicates": duplicates, "first": first, "normalize": normalize})
        items = _Items(ready.counts(), None) if isinstance(ready, ItemCounts) else None
        return Agreement(find(_tally_of(ready), weights, level, resample), None, items)
    annotations = read(source, **reading)
    counted = count(annotations, policies)
    findings = find(counted.tally, weights, level, resample)
    findings = replace(findings, warnings=findings.warnings + counted.cautions)
    return Agreement(findings, annotations.understood, _Items(counted.counts, source))


def _tally_of(ready: Tally | ItemCounts) -> Tally:
    return ready.tally() if isinstance(ready, ItemCounts) else ready


class ReadOptions(TypedDict, total=False):
    """How :func:`tally` reads its source; the same options as :func:`measure`."""

    item: str | None
    annotator: str | None
    label: str | Sequence[str] | None
    time: str | None
    format: str
    missing: Sequence[str]
    encoding: str | None
    header: bool


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
    ready = _ready(source)
    if ready is not None:
        _refuse_late({**reading, "duplicates": duplicates, "first": first, "normalize": normalize})
        return _tally_of(ready)
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
