"""Annotations of a frame or a small file → Codes: fetched once, for whatever needs single annotations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from spagree import progress
from spagree.codes import UNKNOWN, Codes, Int32s, by_hash, in_order_of
from spagree.counts.engines import explained_faults, in_codes, to_polars
from spagree.counts.policies import Policies
from spagree.counts.tally import text
from spagree.errors import opt
from spagree.read.annotations import (
    ANNOTATOR,
    CLUSTER,
    COUNT,
    GROUP,
    ITEM,
    LABEL,
    TIME,
    FewRows,
    nw,
)

if TYPE_CHECKING:
    import polars

NO_ANNOTATORS = f"the annotators are unknown; name their column with {opt.annotator}"
# Annotations: a few are always fetched; up to MOST_TO_FETCH are looked at one by one for a score, and of more the kinds
# are counted; more than MOST may not fit.
FEW, MOST_TO_FETCH, MOST = 100_000, 5_000_000, 20_000_000


def fetched_few(few: FewRows, *, in_full: bool = False) -> tuple[Codes, Mapping[str, int]] | None:
    """The usable annotations of a small file as codes, and how many lack what.

    None if it has none, or an annotator labelled an item twice; with ``in_full`` also if there are so many that they
    are fetched with names and times instead.
    """
    if in_full and few.size > FEW:
        return None
    progress.stage("fetching annotations")
    with explained_faults("duckdb"):
        fetched = few.fetch()
    return None if fetched is None or not fetched[0].items or has_repeats(fetched[0]) else fetched


def fetched_once(
    frame: nw.LazyFrame[Any], labels: Mapping[Any, int], policies: Policies, *, in_full: bool, for_others: bool
) -> Codes | None:
    """The annotations as codes; None if they should be counted where they are.

    That is so if a policy may change them, an annotator labelled an item twice, they have clusters or groups, or there
    are too many: of a score with an interval ``for_others`` more are fetched than of one without, and most ``in_full``.
    """
    schema = frame.collect_schema()
    kinds = [schema.get(name) for name in (ITEM, ANNOTATOR, LABEL)]
    are_plain = all(kind is not None and (kind == nw.String or kind.is_integer()) for kind in kinds)
    size = sum(labels.values())
    most = MOST if in_full else MOST_TO_FETCH if for_others else FEW
    is_here = frame.implementation.is_duckdb() and 0 < size <= most
    is_simple = policies == Policies(policies.duplicates) and not {CLUSTER, GROUP} & schema.keys()
    if not (are_plain and is_here and is_simple):
        return None
    progress.stage("fetching annotations")
    codes = coded(frame)
    return None if has_repeats(codes) else codes


def has_repeats(codes: Codes) -> bool:
    """Whether a known annotator annotated an item twice."""
    key = codes.item.astype(np.int64)
    key *= len(codes.annotators) + 1
    key += codes.annotator
    key = key[codes.annotator != UNKNOWN]
    key.sort()
    return bool((key[1:] == key[:-1]).any())


def coded(frame: nw.LazyFrame[Any]) -> Codes:
    """The annotations of a frame as codes, fetched by polars.

    If the frame has no annotator column, all annotators are unknown.

    >>> from spagree.read import read
    >>> codes = coded(read([("q1", "bob", "yes"), ("q1", "ann", "no"), ("q2", "ann", "yes")]).frame)
    >>> codes.item.tolist(), codes.annotator.tolist(), codes.label.tolist()
    ([0, 0, 1], [0, 1, 0], [0, 1, 1])
    >>> codes.annotators, codes.labels
    (('ann', 'bob'), ('no', 'yes'))
    """
    from concurrent.futures import ThreadPoolExecutor

    schema = frame.collect_schema()
    roles = [name for name in (ITEM, ANNOTATOR, LABEL, TIME) if name in schema]
    texts = [name for name in (LABEL, ANNOTATOR) if schema.get(name) == nw.String]
    chosen, names_by_role = in_codes(frame.select(roles), texts)
    table = to_polars(chosen)
    with ThreadPoolExecutor(1) as pool:  # polars and numpy leave Python free meanwhile
        codes = pool.submit(code_items, table[ITEM])
        label, labels = code_names(table[LABEL], names_by_role.get(LABEL))
        nobody: tuple[Int32s, list[str]] = np.full(table.height, UNKNOWN, dtype=np.int32), []
        annotator, names = code_names(table[ANNOTATOR], names_by_role.get(ANNOTATOR)) if ANNOTATOR in roles else nobody
        item, items = codes.result()
    order, item, label, annotator = in_order_of(item, label, annotator, max(1, len(labels)), len(names))
    time = table[TIME].rechunk().gather(order) if TIME in roles else None
    return Codes(item, annotator, label, tuple(names), tuple(labels), items, time)


def code_items(values: polars.Series) -> tuple[Int32s, polars.Series]:
    """Items as codes in the order of their values, and the values themselves; −1 if missing."""
    import polars

    if values.dtype == polars.String and not values.null_count():
        # Sorting hashes groups equal texts in a third of the time a hash table of texts takes.
        order, starts = by_hash(values.hash().to_numpy())
        distinct = values.gather(order[starts]).sort()
        codes, ranks = np.empty(len(values), dtype=np.int32), distinct.hash().arg_sort().to_numpy().astype(np.int32)
        codes[order] = np.repeat(ranks, np.diff(starts, append=len(order)))
        if (distinct.gather(codes) == values).all():  # no two texts have one hash
            return codes, distinct
    distinct = _distinct(values).sort()
    return _places(values, distinct), distinct


def code_names(values: polars.Series, names: list[str] | None = None) -> tuple[Int32s, list[str]]:
    """Annotators or labels as codes in the order of their text, the same on every engine; −1 if missing.

    With ``names`` the values are codes already.
    """
    import polars

    if names is not None:
        return values.cast(polars.Int32).fill_null(UNKNOWN).to_numpy(), names
    distinct = polars.Series(values.name, sorted(_distinct(values).to_list(), key=text), dtype=values.dtype)
    if values.dtype != polars.String:
        return _places(values, distinct), [*map(text, distinct.to_list())]
    codes = values.cast(polars.Enum(distinct)).to_physical().cast(polars.Int32)
    return codes.fill_null(UNKNOWN).to_numpy(), distinct.to_list()


def _distinct(values: polars.Series) -> polars.Series:
    distinct = values.drop_nulls().unique()
    return distinct.drop_nans() if distinct.dtype.is_float() else distinct


def _places(values: polars.Series, distinct: polars.Series) -> Int32s:
    import polars

    return places(values, distinct).cast(polars.Int32).fill_null(UNKNOWN).to_numpy()


def places(values: polars.Series, distinct: polars.Series) -> polars.Series:
    """The index of each value among the known ones; null for an unknown value.

    >>> import polars
    >>> places(polars.Series(["b", "a", None]), polars.Series(["a", "b"])).to_list()
    [1, 0, None]
    """
    codes = distinct.alias("value").to_frame().with_row_index("code")
    return values.alias("value").to_frame().join(codes, on="value", how="left", maintain_order="left")["code"]


def answers(codes: Codes, items: polars.Series) -> polars.DataFrame:
    """``item, annotator, label, time, count``: who gave these items which label; null if unknown."""
    import polars

    first = places(items, codes.names).to_numpy()
    ends = np.searchsorted(codes.item, [first, first + 1]).T
    rows = np.concatenate([np.arange(0), *(np.arange(start, end) for start, end in ends)])
    people, labels = (polars.Series(names, dtype=polars.String) for names in ([*codes.annotators, None], codes.labels))
    columns = {
        ITEM: codes.names.gather(codes.item[rows]),
        ANNOTATOR: people.gather(np.where(codes.annotator[rows] < 0, len(codes.annotators), codes.annotator[rows])),
        LABEL: labels.gather(codes.label[rows]),
        TIME: polars.Series([None] * len(rows)) if codes.time is None else codes.time.gather(rows),
    }
    return polars.DataFrame(columns).with_columns(polars.lit(1, dtype=polars.Int64).alias(COUNT))
