"""A tally and the data behind it: items on their engine, and annotations as integers, fetched once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from spagree.errors import UsageError
from spagree.estimate.overlap import is_small
from spagree.late import nw
from spagree.read.annotations import ANNOTATOR, ITEM, LABEL, FewRows
from spagree.read.frames import is_spark
from spagree.tally.coded import NO_ANNOTATORS, Coded, CodedTable, coded, coded_columns, coded_in_python
from spagree.tally.items import ItemTable
from spagree.tally.tally import Tally

MOST_FROM_A_CLUSTER = 50_000_000
NO_ANNOTATIONS = "a tally does not say who annotated; measure the annotations themselves"
NO_ITEMS = "a tally holds no single items; measure the annotations themselves"


@dataclass(frozen=True)
class Evidence:
    """A tally, and the items and annotations behind it if available."""

    tally: Tally
    items: ItemTable | None

    @property
    def counts(self) -> nw.LazyFrame[Any] | None:
        """How often each item got each label."""
        return None if self.items is None else self.items.counts

    @property
    def annotations(self) -> nw.LazyFrame[Any] | None:
        """Who gave which item which label."""
        return None if self.items is None else self.items.annotations

    @property
    def columns(self) -> list[str]:
        """The columns of the annotations; none if only counts are known."""
        return [] if self.items is None else self.items.held.columns

    @property
    def few(self) -> FewRows | None:
        """The annotations, if they are few and in memory."""
        return None if self.items is None else self.items.held.few

    def item_table(self) -> ItemTable:
        """The items, which a tally does not keep."""
        if self.items is None:
            raise UsageError(NO_ITEMS)
        return self.items

    @cached_property
    def is_cluster(self) -> bool:
        """Whether the annotations are on an engine that takes seconds to answer."""
        if self.few is not None or self.annotations is None:
            return False
        return is_spark(self.annotations) or self.annotations.implementation.is_dask()

    @cached_property
    def codes(self) -> Coded:
        """The annotations as integers."""
        if not self.columns:
            raise UsageError(NO_ANNOTATIONS)
        if ANNOTATOR not in self.columns:
            raise UsageError(NO_ANNOTATORS)
        if self.items is not None and self.items.held.codes is not None:
            return self.items.held.codes
        if self.few is not None:
            return coded_columns([self.few.cells[role] for role in (ITEM, ANNOTATOR, LABEL)])
        if self.tally.annotations > MOST_FROM_A_CLUSTER and self.is_cluster:
            raise UsageError(
                f"breakdowns by annotator bring all {self.tally.annotations:,} annotations to this machine, which "
                f"is done from a cluster up to {MOST_FROM_A_CLUSTER:,}; measure a sample of the items instead"
            )
        if self.annotations is not None and is_small(self.tally.annotations) and not self.is_cluster:
            return coded_in_python(self.annotations)
        return self.table

    @cached_property
    def table(self) -> CodedTable:
        """The annotations as integers, with names and times: fetched once for everything that needs each of them."""
        if self.items is None or self.items.annotations is None:
            raise UsageError(NO_ANNOTATIONS)
        codes = self.items.held.codes
        return codes if isinstance(codes, CodedTable) else coded(self.items.annotations)

    @cached_property
    def is_brought_here(self) -> bool:
        """Whether items are read from the coded annotations rather than from the engine."""
        if ANNOTATOR not in self.columns:
            return False
        return self.tally.annotations <= MOST_FROM_A_CLUSTER and not self.is_cluster
