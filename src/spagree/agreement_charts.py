"""agreement.charts: one method per chart; each computes only the breakdowns it draws."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from spagree.estimate.breakdown_values import Breakdowns
from spagree.present.charts import board
from spagree.present.charts.spec import to_altair


class Charts:
    """Charts of one agreement; ``agreement.charts.schemes().save("schemes.svg")`` needs no browser and no network.

    >>> import spagree
    >>> chart = spagree.measure("example:sparse").charts.schemes()
    >>> chart.to_dict()["layer"][1]["mark"]["type"]
    'rule'
    """

    def __init__(self, compute: Callable[[Sequence[str]], Breakdowns]) -> None:
        self._compute = compute

    def schemes(self) -> Any:
        """SPA under every weighting scheme, with the chosen one marked."""
        return to_altair(board.schemes(self._compute([])))

    def by_n(self) -> Any:
        """Agreement of items by their number of annotations: flat if SPA's assumption holds."""
        return to_altair(board.by_n(self._compute([])))

    def chance(self) -> Any:
        """Chance-corrected coefficients with observed and expected agreement."""
        return to_altair(board.chance(self._compute([])))

    def classes(self) -> Any:
        """Agreement of each class, least first."""
        return to_altair(board.classes(self._compute(["classes"])))

    def groups(self) -> Any:
        """Agreement of each group of ``by``, and between groups of annotators."""
        return to_altair(board.groups(self._compute(["groups"])))

    def confusion(self) -> Any:
        """Which classes are confused, as a heat map."""
        return to_altair(board.confusion(self._compute(["classes", "confusion"])))

    def items(self) -> Any:
        """How the agreement of items is distributed."""
        return to_altair(board.items(self._compute(["distribution"])))

    def annotators(self) -> Any:
        """Agreement of each annotator with the others, least first, and the mean of all."""
        return to_altair(board.annotators(self._compute(["annotators"])))

    def pairs(self) -> Any:
        """Agreement of every two of the busiest annotators, as a heat map; hollow where they share few items."""
        return to_altair(board.pairs(self._compute(["annotators", "pairs"])))

    def overlap(self) -> Any:
        """Who annotated items together, as a graph; refused for more annotators than it can show."""
        return to_altair(board.overlap(self._compute(["annotators", "pairs", "overlap"])))

    def development(self) -> Any:
        """Agreement over time: all items so far, and those finished most recently, each with its interval."""
        return to_altair(board.development(self._compute(["development"])))

    def plan(self) -> Any:
        """How precise the number becomes with more items, annotated as cheaply as possible."""
        return to_altair(board.plan(self._compute(["plan"])))
