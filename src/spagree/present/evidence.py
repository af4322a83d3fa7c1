"""What a page, a chart or an export asks of an agreement, each once: figures are kept, and so is why some are not."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from spagree.errors import SpagreeError
from spagree.estimate import Findings
from spagree.estimate.outliers import mean_agreement
from spagree.estimate.overlap import Overlap
from spagree.present.wording import is_date

if TYPE_CHECKING:
    import polars

MOST_PEOPLE = 40  # annotators in a heat map or a graph
MOST_ITEMS = 25  # hardest items on the page


class Measured(Protocol):
    """An agreement, as seen from here: what was found, and what can be asked for."""

    @property
    def findings(self) -> Findings:
        """All figures."""
        ...

    def classes(self) -> polars.DataFrame:
        """Agreement of each class."""
        ...

    def confusion(self) -> polars.DataFrame:
        """Classes taken for one another."""
        ...

    def distribution(self) -> polars.DataFrame:
        """Items by their agreement."""
        ...

    def hardest(self, most: int = ...) -> polars.DataFrame:
        """The items with the least agreement."""
        ...

    def annotators(self) -> polars.DataFrame:
        """Agreement of each annotator."""
        ...

    def pairs(self, least: int = ..., busiest: int | None = ...) -> polars.DataFrame:
        """Agreement of each pair of annotators."""
        ...

    def overlap(self) -> Overlap:
        """Who annotated items together."""
        ...

    def development(self) -> polars.DataFrame:
        """Agreement over time."""
        ...

    def plan(self) -> polars.DataFrame:
        """Precision of other designs."""
        ...


@dataclass(frozen=True)
class Evidence:
    """The same, computed when first asked for."""

    measured: Measured

    @property
    def findings(self) -> Findings:
        """All figures."""
        return self.measured.findings

    @cached_property
    def classes(self) -> polars.DataFrame:
        """Agreement of each class."""
        return self.measured.classes()

    @cached_property
    def confusion(self) -> polars.DataFrame:
        """Classes taken for one another."""
        return self.measured.confusion()

    @cached_property
    def distribution(self) -> polars.DataFrame:
        """Items by their agreement."""
        return self.measured.distribution()

    @cached_property
    def hardest(self) -> polars.DataFrame:
        """The items with the least agreement."""
        return self.measured.hardest(MOST_ITEMS)

    @cached_property
    def annotators(self) -> polars.DataFrame:
        """Agreement of each annotator."""
        return self.measured.annotators()

    @cached_property
    def pairs(self) -> polars.DataFrame:
        """Agreement of each pair among the busiest annotators."""
        return self.measured.pairs(busiest=MOST_PEOPLE)

    @cached_property
    def overlap(self) -> Overlap:
        """Who annotated items together."""
        return self.measured.overlap()

    @cached_property
    def development(self) -> polars.DataFrame:
        """Agreement over time; milliseconds since 1970 as the seconds that everything here expects."""
        found = self.measured.development()
        time = found["time"]
        if not time.dtype.is_numeric() or not all(is_date(each / 1000) for each in time.cast(float)):
            return found
        return found.with_columns(time.cast(float) / 1000)

    @cached_property
    def plan(self) -> polars.DataFrame:
        """Precision of other designs."""
        return self.measured.plan()

    @cached_property
    def usual(self) -> float | None:
        """What annotators are compared with: the agreement with the others of an annotation drawn at random."""
        return mean_agreement(self.annotators)

    def lacks(self, name: str) -> str | None:
        """Why there is no such evidence, in words; None where there is."""
        try:
            found: Any = getattr(self, name)
        except SpagreeError as error:
            return str(error)
        return None if not hasattr(found, "is_empty") or not found.is_empty() else "there is nothing to show"
