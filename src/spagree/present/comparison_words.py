"""Comparisons of data sets → sentences, a table, JSON and a chart."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.text import Text

from spagree.errors import count
from spagree.estimate import Estimate
from spagree.estimate.comparison import p_of
from spagree.estimate.uncertainty import ITEMS, POPULATIONS
from spagree.present.document import FORMAT, estimate_document, intervals_document, to_json
from spagree.present.fitted import Fitted, bare
from spagree.present.tables import rendered
from spagree.present.wording import change, escape_controls, figure, limits, p_value, percent, printable, quoted, span
from spagree.version import __version__

if TYPE_CHECKING:
    from spagree.estimate.comparison import Compared, Pair, Side

UNKNOWN_ITEMS = (
    "A tally does not say which items it holds, so its items were treated as different items. "
    "If both share items, compare the annotations themselves; the interval is then usually narrower."
)


class Shown(ABC):
    """What every comparison provides: figures, a terminal summary, sentences and a chart."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """All figures as plain values, in full precision."""

    @abstractmethod
    def summary(self) -> Group:
        """What a terminal shows."""

    @abstractmethod
    def sentences(self) -> list[str]:
        """The result of each comparison in a sentence."""

    def to_json(self, indent: int | None = 2) -> str:
        """All figures as JSON, in the documented format."""
        return to_json(self.to_dict(), indent)

    def __str__(self) -> str:
        return rendered(self.summary())

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {' '.join(self.sentences())}>"

    def _repr_html_(self) -> str:
        from html import escape

        return "".join(f"<p>{escape(escape_controls(words))}</p>" for words in self.sentences())


# JSON ----------------------------------------------------------------------------------------


def comparison_document(compared: Compared) -> dict[str, Any]:
    """The documented JSON: a, b and their difference; for more than two data sets a list of such pairs."""
    groups = {name: _figures_document(group) for name, group in compared.groups.items()}
    apart = {name: list(having) for name, having in compared.not_compared.items()}
    more = {"groups": groups, "groups_not_compared": apart}
    head = {"format": FORMAT, "spagree": __version__}
    return {**head, **_figures_document(compared), **{name: value for name, value in more.items() if value}}


def _figures_document(compared: Compared) -> dict[str, Any]:
    sides = {side.name: _side_document(side) for side in compared.sides}
    pairs = [{"a": sides[pair.a.name], "b": sides[pair.b.name], **pair_document(pair)} for pair in compared.pairs]
    return pairs[0] if len(pairs) == 1 else {"sides": [*sides.values()], "pairs": pairs}


def pair_document(pair: Pair) -> dict[str, Any]:
    """Everything about two sides but the sides themselves."""
    return {
        "difference": gap_document(pair.difference),
        "interval_for": pair.difference.interval_for,
        "kappa_difference": gap_document(pair.kappa_difference),
        "due_to_labels": pair.due_to_labels,
        **{name: getattr(pair, name) for name in ("shared_items", "shared_annotators", "p_holm", "verdict")},
    }


def _side_document(side: Side) -> dict[str, Any]:
    figures = {"spa": side.spa, "krippendorff_alpha": side.alpha}
    return {"name": side.name, **{name: _estimate_document(figure) for name, figure in figures.items()}}


def gap_document(gap: Estimate) -> dict[str, Any]:
    """A difference with both intervals and p; an undefined one says why."""
    return _estimate_document(gap, p=p_of(gap))


def _estimate_document(estimate: Estimate, **more: Any) -> dict[str, Any]:
    about = {"level": estimate.level, **more, "interval_for": estimate.interval_for}
    return estimate_document(estimate, **about, intervals=intervals_document(estimate.intervals))


# Words ---------------------------------------------------------------------------------------


def sentence(pair: Pair, shown: Callable[[str], str] = printable) -> str:
    """The result of a comparison in one sentence."""
    a, b, gap = shown(pair.a.name), shown(pair.b.name), pair.difference
    if gap.value is None or gap.low is None:
        return f"{b} and {a} cannot be compared: {gap.undefined}."
    whose = " for these annotators" if gap.interval_for == ITEMS else ""
    verdict, figures = pair.verdict, f"{change(gap.value)}, {span(gap)}{whose}, {p_value(pair.p_holm or 0.0)}"
    if verdict == "the_same":
        return f"{b} and {a} are the same: nothing differs between them."
    if verdict == "cannot_tell":
        return f"There is not enough data to tell whether {b} agrees more than {a}: {figures}."
    if verdict == "label_mix":
        more, alpha = ("more" if gap.value > 0 else "less"), pair.kappa_difference
        beyond = "undefined" if alpha.value is None else f"{change(alpha.value)}, {span(alpha)}"
        return (
            f"{b} shows {more} agreement than {a} ({figures}), but its labels are used in other shares, and nothing "
            f"shows that people agree {'better' if gap.value > 0 else 'worse'}: {_shifted(pair)}alpha {beyond}."
        )
    return f"{b} agrees {'more' if verdict == 'agrees_more' else 'less'} than {a}: {figures}."


def _shifted(pair: Pair) -> str:
    """The label whose share changed most, in words; empty if the labels are not known."""
    shares = [_shares(side) for side in (pair.a, pair.b)]
    labels = {label: shares[1].get(label, 0.0) - shares[0].get(label, 0.0) for label in (*shares[0], *shares[1])}
    if not labels:
        return ""
    label = max(labels, key=lambda each: (abs(labels[each]), each))
    before, after = (percent(each.get(label, 0.0)) for each in shares)
    return f"{quoted(label)} went from {before} to {after} of the labels, "


def _shares(side: Side) -> dict[str, float]:
    labels = {} if side.tally is None else side.tally.pairable_labels
    return {label: size / sum(labels.values()) for label, size in labels.items()}


def beside(pair: Pair) -> str:
    """The interval that does not lead, or why there is none for other annotators; empty if there is nothing to say."""
    items, others = (pair.difference.intervals.get(name) for name in POPULATIONS)
    if items is None or items.low is None or pair.verdict == "the_same":
        return ""
    if others is None or others.low is None:
        why = "" if others is None else f": {others.undefined}"
        if pair.shared_annotators:
            return f"Other annotators: not known{why}."
        return f"Different people may explain a difference; whether they do is not known{why}."
    if pair.difference.interval_for == ITEMS:
        return f"Other annotators like these: {span(others)}."
    return f"These annotators, on new items: {span(items)}."


def comparison_summary(compared: Compared) -> Group:
    """Sentences first, then the figures of each data set and each difference."""
    parts: list[RenderableType] = []
    for pair in compared.pairs:
        parts += [Text(sentence(pair), style="bold"), *([Text(beside(pair))] if beside(pair) else [])]
    parts += [Text(), _sides(compared.sides), Text(), differences(compared.pairs)]
    for name, group in compared.groups.items():
        parts += [Text(f"\nOnly {printable(name) or '(no value)'}", style="bold")]
        parts += [*(Text(sentence(pair)) for pair in group.pairs), differences(group.pairs)]
    return Group(*parts, Text(), *(Text(note, style="dim") for note in _notes(compared)))


def _sides(sides: Sequence[Side]) -> Fitted:
    shown = bare("", "SPA", "other annotators", "these annotators", "alpha")
    for side in sides:
        shown.add_row(printable(side.name), figure(side.spa.value), *both(side.spa), figure(side.alpha.value))
    return shown


def differences(pairs: Sequence[Pair]) -> Fitted:
    """SPA and alpha of each pair."""
    shown = bare("difference", "", "other annotators", "these annotators")
    for pair in pairs:
        shown.add_row(_names(pair), change(pair.difference.value), *both(pair.difference))
        shown.add_row("  alpha", change(pair.kappa_difference.value), *both(pair.kappa_difference))
    return shown


def both(figure: Estimate) -> tuple[str, ...]:
    """The intervals for other annotators and for these."""
    others, items = (figure.intervals.get(name) for name in reversed(POPULATIONS))
    return tuple("–" if each is None or each.low is None else span(each) for each in (others, items))


def _notes(compared: Compared) -> Iterable[str]:
    pair = compared.pairs[0]
    yield f"Intervals: {pair.difference.level:.0%}, on new items. Difference: second minus first."
    if len(compared.pairs) > 1:
        yield f"p: adjusted for all {len(compared.pairs)} differences (Holm)."
    if compared.groups:
        yield f"p within groups: adjusted for all {len(compared.groups) * len(compared.pairs)} differences (Holm)."
    if any(pair.shared_items is None for pair in compared.pairs):
        yield UNKNOWN_ITEMS
    for pair in compared.pairs:
        shared = [
            count(number, what)
            for number, what in ((pair.shared_items, "item"), (pair.shared_annotators, "annotator"))
            if number
        ]
        if shared:
            yield f"{_names(pair)}: {' and '.join(shared)} in common, compared one by one."
    for name, having in compared.not_compared.items():
        have = f"{' and '.join(map(printable, having))} {'has' if len(having) == 1 else 'have'}"
        yield f"Not compared: {printable(name) or '(no value)'}, which only {have}."


def _names(pair: Pair) -> str:
    return f"{printable(pair.b.name)} − {printable(pair.a.name)}"


def comparison_chart(comparison: Compared) -> Any:
    """Every data set with its interval; below, the differences with theirs."""
    from spagree.present.charts.save import to_altair
    from spagree.present.charts.studies import compared

    sides = [chart_row(printable(side.name), side.spa.value, side.spa) for side in comparison.sides]
    gaps = [chart_row(_names(pair), pair.difference.value, pair.difference) for pair in comparison.pairs]
    return to_altair(compared(sides, gaps))


def chart_row(name: str, value: float | None, interval: Estimate | None) -> dict[str, Any]:
    """A figure or a difference with its interval, as the chart takes it."""
    low, high = (None, None) if interval is None else (interval.low, interval.high)
    row = {"name": name, "value": value, "low": low, "high": high}
    return row | {"figure": figure(value), "interval": limits(low, high)}
