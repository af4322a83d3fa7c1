"""Texts and whole numbers in duckdb by their hashes, which are fetched in a tenth of the time that texts take.

Either every annotation as codes, or only what a score needs. There must be as many values as hashes, or nothing is
returned: counts are exact.
"""

# ruff: noqa: S608 - names are ours
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from spagree.grouping import by_hash, run_starts
from spagree.read.annotations import ANNOTATOR, ITEM, LABEL, CodedRows, HashedRows

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection, DuckDBPyRelation
    from numpy.typing import NDArray

    from spagree.grouping import Codes

# Other types have values that are equal but spelled differently, or NaN.
CODED_KINDS = {"VARCHAR", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT"}
USABLE = f"{ITEM} IS NOT NULL AND {LABEL} IS NOT NULL"
MOST_LABEL_BITS = 20


def coded_rows(relation: DuckDBPyRelation, total: int) -> CodedRows | None:
    """Columns ``item``, ``label`` and, where known, ``annotator`` as codes; of ``total`` rows, some may lack a value.

    None if two values have the same hash, which is checked.
    """
    roles, usable = relation.columns, relation.filter(USABLE)
    hashes = usable.project(", ".join(f"hash({role}) AS {role}" for role in roles)).fetchnumpy()
    missing = total - len(hashes[ITEM])
    unlabelled = relation.filter(f"{LABEL} IS NULL").count("*").fetchall()[0][0] if missing else 0
    kept = usable if missing else relation
    codes, names = {}, {}
    for role in roles:
        distinct, names[role] = _distinct_items(kept) if role == ITEM else _distinct_names(kept, role)
        ranks = _places(hashes.pop(role), distinct)
        if ranks is None:
            return None
        codes[role] = ranks if role == ITEM else np.where(ranks < len(names[role]), ranks, np.int32(-1))
    lacking = {"missing_label": unlabelled, "missing_item": missing - unlabelled}
    return CodedRows(codes, names, lambda every: sampled_items(kept.project(ITEM), every), lacking)


def _distinct_items(relation: DuckDBPyRelation) -> tuple[NDArray[np.uint64], list[str]]:
    """The hashes of all items in the order of their names, which are not fetched."""
    ordered = relation.project(ITEM).distinct().order(ITEM)
    return ordered.project(f"hash({ITEM}) AS hash").fetchnumpy()["hash"], []


def _distinct_names(relation: DuckDBPyRelation, role: str) -> tuple[NDArray[np.uint64], list[str]]:
    """The hashes of all values in the order of their texts, null last, and these texts."""
    pairs = relation.project(role).distinct().project(f"{role}, hash({role})").fetchall()
    pairs.sort(key=lambda pair: (pair[0] is None, str(pair[0])))
    return np.array([value_hash for _, value_hash in pairs], np.uint64), [
        str(name) for name, _ in pairs if name is not None
    ]


def _places(hashes: NDArray[np.uint64], distinct: NDArray[np.uint64]) -> Codes | None:
    """The place of each hash among the distinct values; None if two of these have one hash, or hashes are others."""
    order, starts = by_hash(hashes)
    ranks = np.argsort(distinct).astype(np.int32)
    if not np.array_equal(hashes[order[starts]], distinct[ranks]):
        return None
    codes = np.empty(len(hashes), dtype=np.int32)
    codes[order] = np.repeat(ranks, np.diff(starts, append=len(order)))
    return codes


def sampled_items(items: DuckDBPyRelation, every: int) -> list[str]:
    """One item in ``every``, by the hash of its name without surrounding blanks, case and zeros; none if not texts.

    All spellings of a name are in the sample, or none.
    """
    if [str(kind) for kind in items.types] != ["VARCHAR"]:
        return []
    if every > 1:
        items = items.filter(f"hash(ltrim(lower(trim({ITEM})), '0')) % {every} = 0")
    return [item for (item,) in items.distinct().fetchall()]


def hashed_rows(connection: DuckDBPyConnection, names: DuckDBPyConnection, query: str, total: int) -> HashedRows | None:
    """What a score needs of the same columns, as a query gives them; the names of items stay in another connection.

    None if no row is usable, an annotator labelled an item twice, or two values have the same hash. duckdb reads a row
    group on one core, and many files have only one: the items are listed while the hashes are fetched.
    """
    from concurrent.futures import ThreadPoolExecutor

    relation = connection.sql(query)
    by_label = relation.aggregate(f"{LABEL}, hash({LABEL}), count(*)", LABEL).fetchall()
    pairs = sorted((str(label), value_hash) for label, value_hash, _ in by_label if label is not None)
    labels = np.array([value_hash for _, value_hash in pairs], np.uint64)
    bits = next((bits for bits in range(1, MOST_LABEL_BITS) if _differ(labels, bits)), None)
    if bits is None or not pairs:
        return None
    listing = f"CREATE OR REPLACE TEMP TABLE items AS SELECT DISTINCT {ITEM} FROM ({query}) WHERE {USABLE}"
    with ThreadPoolExecutor(1) as pool:
        listed = pool.submit(names.execute, listing)
        keys = _keys(relation.filter(USABLE), labels, bits)
        listed.result()
    items = names.table("items")
    if keys is None or items.count("*").fetchall() != [(len(run_starts(keys >> bits)),)]:
        return None
    usable = relation if len(keys) == total else relation.filter(USABLE)  # a filter reads the items again
    unlabelled = sum(size for label, _, size in by_label if label is None)
    return HashedRows(
        keys,
        bits,
        [label for label, _ in pairs],
        _annotator_counts(usable) if ANNOTATOR in relation.columns else None,
        lambda every: sampled_items(items, every),
        lambda: usable.project(f"{ANNOTATOR}, {LABEL}").distinct().fetchall(),
        {"missing_label": unlabelled, "missing_item": total - unlabelled - len(keys)},
    )


def _differ(hashes: NDArray[np.uint64], bits: int) -> bool:
    """Whether all hashes have different remainders that fit into these bits."""
    return len(set((hashes % ((1 << bits) - 1)).tolist())) == len(hashes)


def _keys(rows: DuckDBPyRelation, labels: NDArray[np.uint64], bits: int) -> NDArray[np.uint64] | None:
    """The keys of the rows, in order; None if there are none, or an annotator labelled an item twice."""
    low = (1 << bits) - 1
    columns = [f"(hash({ITEM}) >> {bits} << {bits}) | (hash({LABEL}) % {low}) AS key"]
    if ANNOTATOR in rows.columns:
        columns.append(f"if({ANNOTATOR} IS NULL, 0, hash({ITEM}, {ANNOTATOR}) | 1) AS pair")
    hashes = rows.project(", ".join(columns)).fetchnumpy()
    keys: NDArray[np.uint64] = hashes.pop("key")
    if not len(keys) or _has_repeats(hashes.pop("pair", np.empty(0, np.uint64))):
        return None
    place = np.zeros(low, np.uint64)
    place[(labels % low).astype(np.intp)] = np.arange(len(labels))
    remainder = keys & low
    keys ^= remainder
    keys |= place[remainder.view(np.int64)]
    keys.sort()
    return keys


def _has_repeats(pairs: NDArray[np.uint64]) -> bool:
    """Whether two hashes of item and annotator are equal; 0 stands for an unknown annotator."""
    pairs.sort()
    return bool(((pairs[1:] == pairs[:-1]) & (pairs[1:] > 0)).any())


def _annotator_counts(rows: DuckDBPyRelation) -> dict[str, int] | None:
    """Annotations of each annotator, by name; None if all are unknown."""
    counts = rows.aggregate(f"{ANNOTATOR}, count(*)", ANNOTATOR).fetchall()
    return dict(sorted((str(name), size) for name, size in counts if name is not None)) or None
