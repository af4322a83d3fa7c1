"""Annotations by cluster and by group → Grouped, on the engine that holds the data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from spagree.errors import DataError
from spagree.late import nw
from spagree.read.annotations import ANNOTATOR, CLUSTER, COUNT, GROUP, ITEM, LABEL, is_missing
from spagree.read.tables import shown
from spagree.tally.engines import column_names, row_count, rows
from spagree.tally.grouped import NO_VALUE, Grouped, Votes
from spagree.tally.patterns import AlikeItems, find_counts, has_several, per_key, size
from spagree.tally.tally import text

MOST_KEPT = 1_000_000  # combinations of cluster, group and labels
OPTIONS = {CLUSTER: "--cluster", GROUP: "--by"}
REMEDIES = {
    CLUSTER: "correct the column, or name another",
    GROUP: "if the column says who annotated, the breakdowns annotators and pairs show each of them; if it groups "
    "annotators, name who annotated with --annotator",
}
SHOWN = 3


def count_grouped(frame: nw.LazyFrame[Any], labels: Mapping[Any, int], named: Mapping[str, str]) -> Grouped | None:
    """Items by cluster and by group; None if no such column was named. ``named`` maps roles to column names.

    Groups are groups of items if every item is in one group, and groups of annotators otherwise.
    """
    columns = [name for name in (CLUSTER, GROUP) if name in column_names(frame)]
    if not columns:
        return None
    # Booleans as text: not every engine can take their minimum.
    schema = frame.collect_schema()
    booleans = [name for name in columns if schema[name] == nw.Boolean]
    plain = frame.with_columns(nw.col(*booleans).cast(nw.String).str.to_lowercase()) if booleans else frame
    combinations = _combinations(plain, labels, columns, named)
    several = {name: any(alike.values[2 * place + 1] for alike in combinations) for place, name in enumerate(columns)}
    if several.get(CLUSTER):
        raise _in_several(plain, CLUSTER, named)
    if several.get(GROUP):
        _refuse_varying(plain, named)
        columns = [name for name in columns if name != GROUP]
        combinations = _combinations(plain, _group_labels(plain), columns, named)
    items: Counter[tuple[str, Votes]] = Counter()
    for combination in combinations:
        cluster, votes = _cluster_and_votes(combination, columns)
        items[cluster, votes] += combination.items if votes else 0
    return Grouped(named.get(CLUSTER), named.get(GROUP), dict(+items), _annotators(plain))


def _combinations(
    frame: nw.LazyFrame[Any], keys: Mapping[Any, int], columns: Sequence[str], named: Mapping[str, str]
) -> list[AlikeItems]:
    """Items with the same labels, cluster and group; refused if there are more kinds than a tally keeps."""
    combinations = find_counts(frame, keys, columns, most=MOST_KEPT)
    if combinations is None:
        options = " and ".join(f"{OPTIONS[name]} {shown(column)}" for name, column in named.items() if name in OPTIONS)
        raise DataError(
            f"{options}: more than {MOST_KEPT:,} combinations with labels, more than a tally keeps; name a column with "
            "fewer values, or merge rare labels"
        )
    return combinations


def _cluster_and_votes(combination: AlikeItems, columns: Sequence[str]) -> tuple[str, Votes]:
    values = dict(zip(columns, map(group_name, combination.values[::2]), strict=True))
    group = values.get(GROUP, NO_VALUE)
    votes = [
        (group_name(key[0]), text(key[1]), count) if isinstance(key, tuple) else (group, text(key), count)
        for key, count in combination.counts.items()
    ]
    return values.get(CLUSTER, NO_VALUE), tuple(sorted(votes))


def group_name(value: Any) -> str:
    """The name of a cluster or a group; empty if it is missing."""
    return NO_VALUE if is_missing(value) else text(value)


def _group_labels(frame: nw.LazyFrame[Any]) -> dict[tuple[Any, Any], int]:
    """How often each group gave each label, most common first."""
    grouped = rows(frame.group_by(GROUP, LABEL).agg(size(frame)))
    counts = {(group, label): int(count) for group, label, count in grouped}
    return dict(sorted(counts.items(), key=lambda pair: (-pair[1], group_name(pair[0][0]), text(pair[0][1]))))


def _annotators(frame: nw.LazyFrame[Any]) -> dict[str, dict[str, int]] | None:
    """Annotations of each annotator, by group."""
    if not {ANNOTATOR, GROUP} <= set(column_names(frame)):
        return None
    counts: dict[str, dict[str, int]] = {}
    for group, annotator, count in rows(frame.group_by(GROUP, ANNOTATOR).agg(nw.len().alias(COUNT))):
        if not is_missing(annotator):
            counts.setdefault(group_name(group), {})[text(annotator)] = int(count)
    return {group: dict(sorted(counts[group].items())) for group in sorted(counts)} or None


def _refuse_varying(frame: nw.LazyFrame[Any], named: Mapping[str, str]) -> None:
    """Refuse a group column that varies within items and within annotators."""
    if ANNOTATOR not in column_names(frame):
        raise _in_several(frame, GROUP, named)
    annotators = per_key(frame.filter(~nw.col(ANNOTATOR).is_null()), [ANNOTATOR], [GROUP])
    varying = annotators.filter(has_several(GROUP)).select(ANNOTATOR, GROUP, f"{GROUP}_last").sort(ANNOTATOR).head(1)
    for who, first, last in rows(varying):
        raise DataError(
            f"--by {shown(named[GROUP])}: it varies within items and within annotators (annotator {shown(text(who))} "
            f"has {_both(first, last)}); name a column that belongs to items, such as a language, or to annotators, "
            "such as their experience"
        )


def _in_several(frame: nw.LazyFrame[Any], name: str, named: Mapping[str, str]) -> DataError:
    """The error for items that have several values, with the first of them."""
    grouped = per_key(frame, [ITEM], [name]).filter(has_several(name))
    total = row_count(grouped)
    shown_rows = rows(grouped.select(ITEM, name, f"{name}_last").sort(ITEM).head(SHOWN))
    examples = "; ".join(f"item {shown(text(item))} in {_both(first, last)}" for item, first, last in shown_rows)
    what = "clusters" if name == CLUSTER else "groups"
    return DataError(
        f"{OPTIONS[name]} {shown(named[name])}: {total:,} {'item is' if total == 1 else 'items are'} in several {what} "
        f"({examples}), and an item belongs to one; {REMEDIES[name]}"
    )


def _both(first: Any, last: Any) -> str:
    return f"{shown(text(first))} and {shown(text(last)) if last != first else 'no value'}"
