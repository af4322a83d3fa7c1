"""What counts as an annotation: spelling variants, repeats by one annotator, the first k in time.

Each policy is explicit, works on the native engine, and counts what it leaves out.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from spagree import progress
from spagree.counts.engines import column_names, engine_of, repeat_candidates, row_count, rows
from spagree.counts.labels import BAR, canonical, normalized, split_labels
from spagree.counts.tally import text
from spagree.errors import (
    SHOWN_PROBLEMS,
    DataError,
    DuplicateError,
    Message,
    UsageError,
    Warning,
    count,
    opt,
    unknown_name,
)
from spagree.options import DuplicatePolicy
from spagree.read.annotations import ANNOTATOR, ITEM, LABEL, ROW, TIME, Annotations, nw

SHOWN_LABELS = 4

LEFT_OUT = {
    "missing_label": "no label",
    "missing_item": "no item",
    "repeated": "the same annotator on the same item again",
    "excluded": "by annotators who were excluded",
    # What the rules for exports of annotation tools left out while reading:
    "skipped": "skipped",
    "cancelled": "cancelled",
    "draft": "drafts",
    "pending": "not submitted",
    "rejected": "rejected",
    "expired": "expired",
    "tainted": "tainted",
    "discarded": "discarded",
    "empty": "empty answers",
    "ground_truth": "ground truth",
    "other_status": "a status that does not count",
}
AFTER_FIRST = "after_first_"  # followed by k: annotations after the first k of their item


@dataclass(frozen=True, slots=True)
class Policies:
    """How to treat annotations that could be counted in more than one way.

    >>> Policies(duplicates="lst")
    Traceback (most recent call last):
    spagree.errors.UsageError: unknown duplicate policy 'lst'; did you mean 'last'? Known: error, first, last, set, keep
    """

    duplicates: DuplicatePolicy = "error"
    first: int | None = None
    normalize: bool = False
    separator: str | None = None
    of_sets: bool = False
    """Whether labels are compared as sets; without a named separator, it is guessed."""

    def __post_init__(self) -> None:
        if self.duplicates not in get_args(DuplicatePolicy):
            raise unknown_name("duplicate policy", str(self.duplicates), get_args(DuplicatePolicy))
        if self.first is not None and (not isinstance(self.first, int) or self.first < 2):
            raise UsageError(f"first {self.first!r}: agreement needs at least the first 2 annotations of an item")


@dataclass(frozen=True, slots=True)
class Clean:
    """Annotations with a label and an item, after all policies."""

    frame: nw.LazyFrame[Any]
    left_out: Mapping[str, int]
    warnings: tuple[Warning, ...] = ()
    labels: Mapping[Any, int] | None = None
    """Annotations per label, if known without counting again."""

    def without(self, reason: str, count: int, frame: nw.LazyFrame[Any], *warnings: Warning) -> Clean:
        """The same with ``count`` annotations left out for ``reason``."""
        left_out = {**self.left_out, reason: count} if count else self.left_out
        return Clean(frame, left_out, self.warnings + warnings)


def drop_missing(frame: nw.LazyFrame[Any]) -> nw.LazyFrame[Any]:
    """The rows with a label and an item."""
    return frame.filter(~nw.col(LABEL).is_null(), ~nw.col(ITEM).is_null())


def apply_policies(clean: Clean, annotations: Annotations, labels: Mapping[Any, int], policies: Policies) -> Clean:
    """Normalise spelling, then resolve repeats, then keep the first k, in that order."""
    clean, labels = respelled(clean, labels, policies)
    if annotations.has_annotators:
        progress.stage("looking for repeats")
        clean = _settle_repeats(clean, annotations, policies.duplicates, labels)
        if policies.normalize or policies.separator is not None or policies.of_sets:
            clean = replace(clean, labels=None)
    if policies.first is not None:
        clean = _keep_first(clean, policies.first)
    return clean


def respelled(
    clean: Clean, labels: Mapping[Any, int], policies: Policies, options: Collection[str] = ()
) -> tuple[Clean, Mapping[Any, int]]:
    """The annotations with labels and names in one spelling, and their labels; ``options`` are those of others."""
    if policies.normalize:
        clean = replace(clean, frame=normalized(clean.frame, labels))
        renamed: Counter[Any] = Counter()
        for name, size in labels.items():
            renamed[canonical(name) if isinstance(name, str) else name] += size
        labels = dict(renamed)
    if policies.separator is not None or policies.of_sets:
        frame, warnings = split_labels(clean.frame, labels, policies.separator, options)
        clean = replace(clean, frame=frame, warnings=clean.warnings + warnings)
    return clean, labels


def _settle_repeats(
    clean: Clean, annotations: Annotations, policy: DuplicatePolicy, labels: Mapping[Any, int]
) -> Clean:
    """Keep one annotation per annotator and item; conflicting labels need a decision by the user."""
    named = clean.frame.filter(~nw.col(ANNOTATOR).is_null())
    candidates = repeat_candidates(named, (ITEM, ANNOTATOR), rows=sum(labels.values()))
    if candidates is None:
        return clean
    few = candidates is not named  # found by their hashes: each query on them is a pass over all rows
    # Annotations beyond an annotator's first on an item, and how many of them repeat its label
    labels_of = candidates.group_by(ITEM, ANNOTATOR, LABEL).agg(nw.len().alias("times"))
    keys = labels_of.group_by(ITEM, ANNOTATOR).agg(nw.col("times").sum(), nw.len().alias("labels"))
    times, different = nw.col("times").cast(nw.Int64), nw.col("labels").cast(nw.Int64)
    both = keys.select((times - 1).alias("repeats"), (times - different).alias("same"))
    repeats, same = (int(each or 0) for each in rows(both.select(nw.col("repeats").sum(), nw.col("same").sum()))[0])
    if not repeats:
        return clean
    if policy == "error" and same < repeats:
        raise _conflict_error(candidates, annotations)
    repeated, whose = ("1 annotation repeats", "its") if repeats == 1 else (f"{repeats:,} annotations repeat", "their")
    told = f"{repeated} the label {whose} annotator had given the item before; counted once."
    if same < repeats or policy == "keep":
        why = {
            "set": "their labels were joined into one set",
            "keep": "each counts as a separate annotation, so annotators also agree or disagree with themselves",
        }.get(policy, f"the {policy} one was kept")
        told = f"{repeated} an item by the same annotator ({repeats - same:,} with another label); {why}."
    warning = Warning("repeats", told)
    anonymous = clean.frame.filter(nw.col(ANNOTATOR).is_null())
    names = column_names(named)
    if policy == "keep":  # from an annotator's second annotation of an item, the annotator is left blank
        by = [name for name in (TIME, ROW) if name in names]
        placed = _numbered(named, (ITEM, ANNOTATOR), [*by, LABEL], f"{opt.duplicates('keep')}: {{}} cannot number rows")
        first = nw.when(nw.col("place") == 1).then(nw.col(ANNOTATOR)).alias(ANNOTATOR)
        every = nw.concat([placed.with_columns(first).select(names), anonymous])
        return replace(clean, frame=every, warnings=(*clean.warnings, warning))
    if policy == "set":
        others = [name for name in names if name not in (ITEM, ANNOTATOR, LABEL)]
        sets = engine_of(named).gathered_labels(named, [ITEM, ANNOTATOR], others, BAR).select(names)
        return clean.without("repeated", repeats, nw.concat([sets, anonymous]), warning)
    order = _repeat_order(named, policy, annotations.warnings)
    if few and ROW in order:
        # The rows that do not count, with their labels: all but an annotator's first or last on an item.
        place = nw.col(LABEL).cum_count(reverse=policy == "last").over(ITEM, ANNOTATOR, order_by=order).alias("place")
        again = dict(rows(candidates.with_columns(place).filter(nw.col("place") > 1).select(ROW, LABEL)))
        left = clean.without(
            "repeated", repeats, engine_of(clean.frame).without_rows(clean.frame, sorted(again)), warning
        )
        lost = Counter(again.values())
        kept = {label: size - lost[label] for label, size in labels.items() if size > lost[label]}
        return replace(left, labels=kept if lost.keys() <= labels.keys() else None)
    if policy == "error":
        keep: Literal["first", "any"] = "first" if order else "any"
        one = named.unique(subset=[ITEM, ANNOTATOR, LABEL], keep=keep, order_by=order or None)
    else:  # ties in time are broken by label, so every run gives the same answer if rows have no order
        ties = [] if ROW in order else [LABEL]
        one = named.unique(subset=[ITEM, ANNOTATOR], keep=policy, order_by=[*order, *ties])
    return clean.without("repeated", repeats, nw.concat([one, anonymous]), warning)


def _repeat_order(named: nw.LazyFrame[Any], policy: DuplicatePolicy, warnings: Iterable[Warning]) -> list[str]:
    """The columns that define the order of repeats; refused if there are none and the order matters."""
    order = [name for name in (TIME, ROW) if name in column_names(named)]
    if policy == "error":  # they have the same label: which one stays affects only its time
        return order
    if not order:
        raise UsageError(
            f"{opt.duplicates(policy)} needs an order, and this source has none: name a time column ({opt.time})"
        )
    if TIME in order:
        _refuse_unknown_times(named, opt.duplicates(policy))
        return order
    # Row order must not silently replace a time column that this engine cannot use.
    for ignored in (warning.message.marked for warning in warnings if warning.code == "time_ignored"):
        raise UsageError(f"{opt.duplicates(policy)} needs an order, and {ignored}; name it with {opt.time}")
    return order


def _conflict_error(named: nw.LazyFrame[Any], annotations: Annotations) -> DuplicateError:
    """Name the first conflicting items with their labels and row numbers."""
    labels = named.group_by(ITEM, ANNOTATOR, LABEL).agg(*_first_row(named))
    sizes = labels.group_by(ITEM, ANNOTATOR).agg(nw.len().alias("labels"), *_first_row(labels))
    doubled = sizes.filter(nw.col("labels") > 1)
    total = row_count(doubled)
    order = [ROW] if ROW in column_names(named) else [ITEM, ANNOTATOR, LABEL]
    # The first conflicts are chosen before fetching their labels, which may be far apart.
    first = rows(doubled.sort([name for name in order if name != LABEL]).head(SHOWN_PROBLEMS))
    keys = {(item, annotator) for item, annotator, *_ in first}
    items, annotators = map(list, zip(*keys, strict=True))
    near = labels.filter(nw.col(ITEM).is_in(items), nw.col(ANNOTATOR).is_in(annotators)).sort(order)
    by_key: defaultdict[tuple[str, str], list[tuple[Any, ...]]] = defaultdict(list)
    for item, annotator, *label_and_row in rows(near):
        if (item, annotator) in keys:
            by_key[text(item), text(annotator)].append(tuple(label_and_row))
    problems = []
    for (item, annotator), given in by_key.items():
        shown = [f"{text(label)!r}" + (f" (row {row[0]})" if row else "") for label, *row in given[:SHOWN_LABELS]]
        more = [count(len(given) - SHOWN_LABELS, "more label")] if len(given) > SHOWN_LABELS else []
        place = f"{annotations.understood.source}:{max(row[0] for _, *row in given)}: " if given[0][1:] else ""
        problems.append(f"{place}annotator {annotator!r} labelled item {item!r} {' and '.join(shown + more)}")
    remedy = Message(annotations.understood.apart).marked or (
        f"choose one with {opt.duplicates('first')} or {opt.duplicates('last')} (set combines them, keep counts each), "
        "or check that item, annotator and label are the right columns"
    )
    message = f"{'once' if total == 1 else f'{total:,} times'} an annotator gave one item different labels; {remedy}"
    return DuplicateError(message, problems, total)


def _first_row(frame: nw.LazyFrame[Any]) -> list[nw.Expr]:
    return [nw.col(ROW).min()] if ROW in column_names(frame) else []


def _refuse_unknown_times(frame: nw.LazyFrame[Any], purpose: str) -> None:
    """Refuse annotations without a time: they have no place in the order, and each engine would invent one."""
    unknown = row_count(frame.filter(nw.col(TIME).is_null()))
    if unknown:
        have = count(unknown, "of these annotations has", "of these annotations have")
        raise DataError(f"{purpose}: {have} no time; fill it in, or leave them out")


def _keep_first(clean: Clean, k: int) -> Clean:
    """The first k annotations of each item: unbiased even if the labels decided how many there are."""
    names = column_names(clean.frame)
    if TIME not in names:
        raise UsageError(f"{opt.first(k)} needs the time of each annotation; name its column with {opt.time}")
    _refuse_unknown_times(clean.frame, opt.first(k))
    ties = [ROW] if ROW in names else [name for name in (ANNOTATOR, LABEL) if name in names]
    placed = _numbered(clean.frame, (ITEM,), [TIME, *ties], f"{opt.first(k)}: {{}} cannot number rows within an item")
    late = row_count(placed.filter(nw.col("place") > k))
    kept = placed.filter(nw.col("place") <= k).select(names)
    return clean.without(f"{AFTER_FIRST}{k}", late, kept)


def _numbered(frame: nw.LazyFrame[Any], units: Collection[str], order: Collection[str], why: str) -> nw.LazyFrame[Any]:
    """With the ``place`` of each annotation in its unit; refused on engines that cannot do that."""
    try:
        placed = frame.with_columns(nw.col(LABEL).cum_count().over(*units, order_by=[*order]).alias("place"))
        placed.collect_schema()
    except NotImplementedError as error:
        raise UsageError(f"{why.format(frame.implementation)}; use polars or duckdb") from error
    return placed
