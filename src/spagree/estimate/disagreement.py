"""Where disagreement comes from: items and pairs of classes, with the share of each.

SPA is a weighted mean over items, so 1 − SPA is a sum of item contributions k(n)·(1 − P)/Σk. An item's contribution is
a sum over its pairs of annotations, and each pair belongs to two classes. The shares of items, and of pairs of
classes, therefore sum to 1, under every weighting scheme and every metric.

Agreement of a class concerns two different annotations of one item: the first drawn at random from all annotations of
class c on pairable items, the second at random from the other annotations of the same item. The probability that the
second carries class c as well is Σ n_c (n_c − 1) / (n − 1) over Σ n_c, summed over the pairable items: a ratio of two
totals, so an item counts for a class as often as the class was given to it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple, dataclass
from fractions import Fraction
from functools import cached_property
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np

from spagree.codes import Codes, Floats, Ints, counted, pairs_within, run_starts, sums
from spagree.counts.engines import to_polars
from spagree.counts.items import Held, items_in_codes, named
from spagree.estimate.similarity import as_set
from spagree.estimate.uncertainty import FEW_ITEMS, wilson_each
from spagree.estimate.votes import LabelCounts, relative_weights, votes_of_items

if TYPE_CHECKING:
    import narwhals as nw
    import polars

ROUNDING = 1e-9
ALARM = 0.05
CANDIDATES = 20  # per requested item: ties in contribution go to the items with the most common confusion
MOST_CLASSES = 1_000  # up to which ties are broken by confusion


@dataclass(frozen=True, slots=True)
class Levels:
    """Pairable items on which all give one label, more than half do, or no more than half."""

    everybody: int
    majority: int
    nobody: int


@dataclass(frozen=True, slots=True)
class Confusion:
    """Two classes: their share of all disagreement, the one expected by chance, and items with both.

    ``more`` says whether the share clearly exceeds the expected one, corrected for the number of pairs; never where
    labels may agree in part: close ones are then always confused more often than by chance.
    """

    one: str
    other: str
    share: float
    expected: float
    items: int
    more: bool


@dataclass(frozen=True)
class Disagreement:
    """The votes of pairable items and the weights of the scheme in use."""

    votes: LabelCounts
    by_n: Mapping[int, Fraction]

    def contributions(self, votes: LabelCounts) -> Floats:
        """What an item of each group contributes to all disagreement, k(n)·(1 − P); 0 with one annotation."""
        return relative_weights(self.by_n, votes.n) * np.maximum(0.0, 1 - votes.agreement)

    @cached_property
    def total(self) -> float:
        """All disagreement: Σk·(1 − P)."""
        votes = self.votes.pairable()
        return float((votes.items * self.contributions(votes)).sum())

    @property
    def levels(self) -> Levels:
        """On how many items all agree, a majority does, or none."""
        votes = self.votes.pairable()
        most = np.maximum.reduceat(votes.count, run_starts(votes.group)) if len(votes.items) else votes.items
        everybody, majority = most == votes.n, most * 2 > votes.n
        everyone, several = float(votes.items[everybody].sum()), float(votes.items[majority].sum())
        return Levels(int(everyone), int(several - everyone), int(votes.items.sum() - several))

    @cached_property
    def confused(self) -> tuple[Ints, Floats, Floats]:
        """Pairs of different classes as keys, the lower label first, with each pair's share of all disagreement.

        Last, on how many items both were given.
        """
        votes = self.votes.pairable()
        first, second = pairs_within(counted(votes.group)[1])
        group, size = votes.group[first], len(votes.labels)
        n = votes.n[group]
        weight = votes.items[group] * relative_weights(self.by_n, n) / (n * (n - 1))
        weight = weight * 2 * votes.count[first] * votes.count[second]
        one, other = votes.label[first], votes.label[second]
        if votes.similarity is not None:
            weight = weight * (1 - votes.similarity[one, other])
        keys = np.minimum(one, other) * size + np.maximum(one, other)
        distinct = counted(keys)[0]
        place = np.searchsorted(distinct, keys)
        both = sums(place, votes.items[group], len(distinct))
        return distinct, sums(place, weight, len(distinct)) / (self.total or 1.0), both

    def confusions(self, most: int | None = None) -> list[Confusion]:
        """Pairs of classes, the largest share of all disagreement first, at most so many.

        By chance, labels would be given at random with the same frequencies.
        """
        votes, (keys, share, both) = self.votes.pairable(), self.confused
        size = max(len(votes.labels), 1)
        one, other = keys // size, keys % size
        annotations = votes.per_label(votes.count)
        part = annotations / annotations.sum() if annotations.sum() else annotations
        apart = 1.0 if votes.similarity is None else 1 - votes.similarity[one, other]
        everything = (1 - (part * votes.across(part)).sum()) / 2
        expected = np.minimum(part[one] * part[other] * apart / (everything or 1.0), 1.0)
        disputed = float(votes.items[self.contributions(votes) > ROUNDING].sum())
        share, expected = share.round(12), expected.round(12)  # of two classes, both are 1 but for rounding
        beyond = NormalDist().inv_cdf(1 - ALARM / max(int((share > 0).sum()), 1))
        more = share > expected + beyond * np.sqrt(expected * (1 - expected) / max(disputed, 1.0))
        more &= votes.similarity is None
        chosen = np.lexsort((keys, -share))[: int((share > 0).sum())][:most]  # labels are sorted, and so are their keys
        columns = (one, other, share, expected, both.astype(np.int64), more)
        return [
            Confusion(votes.labels[one], votes.labels[other], *figures)
            for one, other, *figures in zip(*(column[chosen].tolist() for column in columns), strict=True)
        ]

    def classes(self) -> polars.DataFrame:
        """``class, other, share, expected, items, more``: pairs of classes by their share of all disagreement."""
        import polars

        kinds = [polars.String, polars.String, polars.Float64, polars.Float64, polars.Int64, polars.Boolean]
        names = ("class", "other", "share", "expected", "items", "more")
        rows = [astuple(each) for each in self.confusions()]
        return polars.DataFrame(rows, dict(zip(names, kinds, strict=True)), orient="row")

    def disputed(self, table: Held, codes: Codes | None, most: int) -> polars.DataFrame:
        """The same as ``items`` with votes and texts; from the codes if the annotations were fetched."""
        if codes is None:
            return table.with_texts(table.with_votes(self.items(table, most)))
        here = items_in_codes(codes)
        return table.with_texts(named(here.with_votes(self.items(here, most)), codes))

    def items(self, table: Held, most: int) -> polars.DataFrame:
        """``item, annotations, agreement, share``: the items that contribute most to all disagreement, largest first.

        Unanimous items contribute nothing and are never listed. Ties go to the items whose labels are confused most
        often elsewhere. ``agreement`` follows the metric in use.
        """
        import polars

        if not self.total:
            nothing = to_polars(table.agreement().head(0))
            return nothing.with_columns(polars.lit(0.0).alias("share"))
        counts = to_polars(self._candidates(table, most))
        votes = votes_of_items(counts, self.votes.labels, self.votes.similarity)
        columns = {
            "item": counts["item"].unique().sort(),
            "annotations": votes.n.astype(np.int64),
            "agreement": votes.agreement,
            "share": self.contributions(votes) / self.total,
            "tie": self._confusion_within(votes),
        }
        ranked = polars.DataFrame(columns).filter(polars.col("share") > ROUNDING / self.votes.pairable().items.sum())
        places = polars.col("share").round(12), polars.col("tie").round(12), polars.col("item")
        return ranked.sort(*places, descending=[True, True, False]).drop("tie").head(most)

    def _candidates(self, table: Held, most: int) -> nw.LazyFrame[Any]:
        """The counts of candidate items: all under a metric, few if only equal labels agree."""
        import narwhals as nw

        if self.votes.pairable().similarity is not None:
            return table.counts
        # For each number of annotations, the highest agreement a candidate may have
        votes, added = self.votes.pairable(), self.contributions(self.votes.pairable())
        order = np.argsort(-added, kind="stable")
        enough = int(np.searchsorted(np.cumsum(votes.items[order]), most))
        least = max(float(added[order[min(enough, len(order) - 1)]]), ROUNDING)
        sizes = np.unique(votes.n[added >= least - ROUNDING])
        highest = (1 - least / relative_weights(self.by_n, sizes) + ROUNDING).tolist()
        limits = zip(sizes.astype(np.int64).tolist(), highest, strict=True)
        chosen = [(nw.col("annotations") == n) & (nw.col("agreement") <= limit) for n, limit in limits]
        candidates = table.agreement().filter(nw.any_horizontal(*chosen, ignore_nulls=True)).head(CANDIDATES * most)
        return table.counts.filter(nw.col("item").is_in(to_polars(candidates.select("item"))["item"].to_list()))

    def _confusion_within(self, votes: LabelCounts) -> Floats:
        """How common the confusions of an item are elsewhere: the mean share of its pairs of annotations."""
        size = len(votes.labels)
        if size > MOST_CLASSES:
            return np.zeros(len(votes.items))
        keys, share, _ = self.confused
        matrix = np.zeros((size, size))
        matrix[keys // size, keys % size] = share
        within = votes.per_group(votes.count * votes.smoothed(votes.count, matrix + matrix.T))
        return np.asarray(within / np.maximum(1.0, votes.n * (votes.n - 1)))


def consensus(counts: polars.DataFrame) -> polars.DataFrame:
    """One row per item of ``item, label, count``: ``item, label, tied, annotations, share``.

    ``label`` is null if two or more labels tie for the most votes; ``tied`` lists them.
    """
    import polars

    label, count = polars.col("label"), polars.col("count")
    leading = label.filter(count == count.max())
    ordered = counts.with_columns(label.cast(polars.String), count.cast(polars.Int64)).sort("item", "label")
    return ordered.group_by("item", maintain_order=True).agg(
        polars.when(leading.len() == 1).then(leading.first()).alias("label"),
        polars.when(leading.len() > 1).then(leading.str.join(" | ")).alias("tied"),
        count.sum().alias("annotations"),
        (count.max() / count.sum()).alias("share"),
    )


def are_sets(labels: tuple[str, ...]) -> bool:
    """Whether labels are lists of options, as annotation tools write them.

    >>> are_sets(('["a", "b"]', "[]")), are_sets(("a|b", "c")), are_sets(("a", "b"))
    (True, False, False)
    """
    return bool(labels) and all(label.startswith("[") and label.endswith("]") for label in labels)


def option_agreement(votes: LabelCounts, by_n: Mapping[int, Fraction]) -> polars.DataFrame:
    """``option, annotations, share, items, agreement, expected, kappa, few``: least agreement beyond chance first.

    ``agreement`` is SPA of the yes/no question whether the option was chosen, under the weights in use; ``items`` are
    those on which someone chose it. Chance means choosing it blindly with the same frequency.
    """
    import polars

    sets = [as_set(label) for label in votes.labels]
    options = sorted(frozenset[str]().union(*sets))
    pairable = votes.pairable()
    weight = pairable.items * relative_weights(by_n, pairable.n)
    rows = []
    for option in options:
        chosen = np.array([option in options for options in sets])[pairable.label]
        yes = pairable.per_group(np.where(chosen, pairable.count, 0.0))
        no = pairable.n - yes
        agree = (yes * (yes - 1) + no * (no - 1)) / (pairable.n * (pairable.n - 1))
        value = float((weight * agree).sum() / weight.sum()) if len(weight) else None
        chosen_times = float((pairable.items * yes).sum())
        part = chosen_times / float((pairable.items * pairable.n).sum() or 1.0)
        expected = part**2 + (1 - part) ** 2
        items = int(pairable.items[yes > 0].sum())
        kappa = None if value is None or expected == 1 else (value - expected) / (1 - expected)
        rows.append((option, int(chosen_times), part, items, value, expected, kappa, items < FEW_ITEMS))
    names = ("option", "annotations", "share", "items", "agreement", "expected", "kappa", "few")
    kinds: dict[str, Any] = dict.fromkeys(names, polars.Float64) | {"option": polars.String, "few": polars.Boolean}
    frame = polars.DataFrame(rows, kinds | dict.fromkeys(("annotations", "items"), polars.Int64), orient="row")
    return frame.sort("few", "kappa", "option", nulls_last=True)


ALONE = "no item with this class has a second annotation"
ONE_CLUSTER = "all items with this class are in one cluster: how clusters differ cannot be seen"
ONE_ITEM = "only one item with this class has two annotations, too few to show how items differ"


def classes(votes: LabelCounts, level: float) -> polars.DataFrame:
    """One row per class, lowest agreement first; classes seen on few items come last."""
    import polars

    annotations = votes.per_label(votes.count)
    # Per class the ratio, its linearised standard error, and its effective number of items, or of clusters
    pairable = votes.pairable()
    count = pairable.count
    agreeing = count * (pairable.smoothed(count, pairable.similarity) - 1) / (pairable.n[pairable.group] - 1)
    once, given = pairable.by_unit(count), pairable.per_label(count)
    units = once.per_label(np.ones(len(once.count)))
    with np.errstate(divide="ignore", invalid="ignore"):
        value = pairable.per_label(agreeing) / given
        apart = pairable.by_unit(agreeing - value[pairable.label] * count)
        spread = apart.per_label(apart.count**2)
        stderr = np.where(units > 1, np.sqrt(units / (units - 1) * spread) / given, np.nan)
        effective = given**2 / once.per_label(once.count**2)
    low, high = wilson_each(value, stderr, effective, level)
    few = ONE_ITEM if votes.cluster is None else ONE_CLUSTER
    reasons = [ALONE if m < 1 else few if m < 2 else None for m in units.tolist()]
    columns = {
        "class": votes.labels,
        "annotations": annotations.astype(np.int64),
        "share": annotations / annotations.sum() if len(annotations) else annotations,
        "items": votes.per_label(np.ones(len(votes.count))).astype(np.int64),
        "agreement": value,
        "stderr": stderr,
        "low": low,
        "high": high,
        "few": units < FEW_ITEMS,
        "undefined": polars.Series(reasons, dtype=polars.String),
    }
    frame = polars.DataFrame(columns, schema_overrides={"class": polars.String})
    return frame.fill_nan(None).sort("few", "agreement", "class", nulls_last=True)
