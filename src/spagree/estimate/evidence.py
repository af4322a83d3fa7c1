"""A tally and the data behind it: items on their engine, and annotations as integers, fetched once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from spagree.counts.coded import NO_ANNOTATORS, Coded, CodedTable, coded, coded_in_python, places
from spagree.counts.count import fetched_few, group_name
from spagree.counts.engines import to_polars
from spagree.counts.items import ItemTable
from spagree.counts.tally import NO_VALUE, Tally
from spagree.errors import UsageError
from spagree.estimate.item_groups import cluster_numbers
from spagree.estimate.overlap import is_small
from spagree.grouping import Ints
from spagree.late import nw
from spagree.read.annotations import ANNOTATOR, CLUSTER, GROUP, ITEM
from spagree.read.frames import is_spark

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_FROM_A_CLUSTER = 50_000_000
NO_ANNOTATIONS = "a tally does not say who annotated; measure the annotations themselves"
NO_ITEMS = "a tally holds no single items; measure the annotations themselves"


@dataclass(frozen=True)
class Evidence:
    """A tally, and the items and annotations behind it if available."""

    tally: Tally
    items: ItemTable | None

    @property
    def annotations(self) -> nw.LazyFrame[Any] | None:
        """Who gave which item which label."""
        return None if self.items is None else self.items.held.annotations

    @property
    def columns(self) -> list[str]:
        """The columns of the annotations; none if only counts are known."""
        return [] if self.items is None else self.items.held.columns

    def item_table(self) -> ItemTable:
        """The items, which a tally does not keep."""
        if self.items is None:
            raise UsageError(NO_ITEMS)
        return self.items

    @cached_property
    def is_cluster(self) -> bool:
        """Whether the annotations are on an engine that takes seconds to answer."""
        if self.items is None or self.items.held.few is not None or self.annotations is None:
            return False
        return is_spark(self.annotations) or self.annotations.implementation.is_dask()

    @cached_property
    def codes(self) -> Coded:
        """The annotations as integers."""
        if self.items is None or not self.columns:
            raise UsageError(NO_ANNOTATIONS)
        if ANNOTATOR not in self.columns:
            raise UsageError(NO_ANNOTATORS)
        held = self.items.held
        if held.codes is not None:
            return held.codes
        fetched = None if held.few is None else fetched_few(held.few)
        if fetched is not None:
            return fetched[0]
        if self.tally.annotations > MOST_FROM_A_CLUSTER and self.is_cluster:
            raise UsageError(
                f"breakdowns by annotator fetch all {self.tally.annotations:,} annotations to this machine, more than "
                f"the {MOST_FROM_A_CLUSTER:,} fetched from a cluster; measure a sample of the items instead"
            )
        return coded_in_python(held.frame) if is_small(self.tally.annotations) and not self.is_cluster else self.table

    @cached_property
    def table(self) -> CodedTable:
        """The annotations as integers, with names and times: fetched once for everything that needs each of them."""
        if self.items is None or not self.columns:
            raise UsageError(NO_ANNOTATIONS)
        codes = self.items.held.codes
        return codes if isinstance(codes, CodedTable) else coded(self.items.held.frame)

    @cached_property
    def item_clusters(self) -> Ints | None:
        """The cluster of each item, by its code in the table; one without a cluster has its own. None if not named."""
        if self.items is None or CLUSTER not in self.columns:
            return None
        clusters = to_polars(self.items.held.frame.select(ITEM, CLUSTER).unique(subset=[ITEM]))
        place = places(clusters[ITEM], self.table.names).to_numpy().astype(np.int64)
        names = [*map(group_name, clusters[CLUSTER])]
        named, numbers = cluster_numbers(names, NO_VALUE), np.empty(len(place), dtype=np.int64)
        numbers[place] = np.where(named < 0, -1 - place, named)
        return numbers

    @cached_property
    def group_of_each(self) -> NDArray[np.object_]:
        """The group of each annotation, in the order of the table."""
        grouped, table = self.tally.grouped, self.table
        if self.items is None or grouped is None:
            raise UsageError(NO_ANNOTATIONS)
        if grouped.of_annotators and grouped.annotators is not None:
            group = {who: name for name, people in grouped.annotators.items() for who in people}
            of_each = np.array([*(group[who] for who in table.annotators), NO_VALUE], dtype=object)
            return of_each[table.annotator]  # the last one is for unknown annotators
        groups = to_polars(self.items.held.frame.select(ITEM, GROUP).unique(subset=[ITEM]))
        of_item = np.empty(len(table.names), dtype=object)
        of_item[places(groups[ITEM], table.names).to_numpy()] = [*map(group_name, groups[GROUP])]
        return of_item[table.item]

    @cached_property
    def uses_codes(self) -> bool:
        """Whether items are read from the coded annotations rather than from the engine."""
        return ANNOTATOR in self.columns and self.tally.annotations <= MOST_FROM_A_CLUSTER and not self.is_cluster
