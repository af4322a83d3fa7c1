"""Comparisons of data sets → sentences, a table, JSON and a chart."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.text import Text

from spagree.errors import count
from spagree.estimate import Estimate
from spagree.estimate.uncertainty import COVERS
from spagree.present.document import FORMAT, estimate_document, to_json
from spagree.present.fitted import Fitted, bare
from spagree.present.tables import rendered
from spagree.present.wording import change, escape_controls, figure, limits, p_value, printable, span
from spagree.version import __version__

if TYPE_CHECKING:
    from spagree.estimate.comparison import Compared, Difference, Figure, Limits, Pair, Side

MOST_CLASSES = 12
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
    documents = [_pair_document(pair) for pair in compared.pairs]
    if len(documents) == 1:
        return documents[0]
    return {"sides": [_side_document(side) for side in compared.sides], "pairs": documents}


def _pair_document(pair: Pair) -> dict[str, Any]:
    return {
        "a": _side_document(pair.a),
        "b": _side_document(pair.b),
        "difference": difference_document(pair.difference),
        "kappa_difference": difference_document(pair.kappa_difference),
        "classes": [
            {"class": gap.label, **difference_document(gap.difference), "p_holm": gap.p_holm} for gap in pair.classes
        ],
        **{name: getattr(pair, name) for name in ("shared_items", "shared_annotators", "p_holm", "verdict")},
    }


def _side_document(side: Side) -> dict[str, Any]:
    spa, kappa = (estimate_document(estimate, level=estimate.level) for estimate in (side.spa, side.kappa))
    return {"name": side.name, "spa": spa, "spa_kappa": kappa}


def difference_document(difference: Difference) -> dict[str, Any]:
    """A difference with both intervals; an undefined one says why."""
    about = {"level": difference.level, "p": difference.p, "interval_for": difference.interval_for}
    return estimate_document(difference, **about, intervals=intervals_document(difference.limits))


def intervals_document(intervals: Mapping[str, Any]) -> dict[str, Any]:
    """The intervals for new items and new annotators."""
    return {name: {"low": ends.low, "high": ends.high, "stderr": ends.stderr} for name, ends in intervals.items()}


def figure_document(figure: Figure, level: float, interval_for: str) -> dict[str, Any]:
    """A figure with its intervals."""
    if figure.value is None:
        return {"value": None, "undefined": figure.undefined}
    chosen = {name: getattr(figure.limits.get(interval_for), name, None) for name in ("stderr", "low", "high")}
    shown = {"value": figure.value, **chosen, "level": level, "intervals": intervals_document(figure.limits)}
    return {**shown, "undefined": figure.undefined} if figure.undefined else shown


# Words ---------------------------------------------------------------------------------------


def sentence(pair: Pair) -> str:
    """The result of a comparison in one sentence."""
    a, b, difference = printable(pair.a.name), printable(pair.b.name), pair.difference
    if difference.value is None or difference.low is None:
        return f"{b} and {a} cannot be compared: {difference.undefined}."
    figures = f"{change(difference.value)}, {span(difference)}"
    if pair.verdict == "cannot_tell":
        return f"There is not enough data to tell whether {b} agrees more than {a}: {figures}."
    return f"{b} agrees {'more' if pair.verdict == 'agrees_more' else 'less'} than {a}: {figures}."


def comparison_summary(compared: Compared) -> Group:
    """Sentences first, then the figures of each data set and each difference."""
    parts: list[RenderableType] = [Text(sentence(pair), style="bold") for pair in compared.pairs]
    parts += [Text(), _sides(compared.sides), Text(), differences(compared.pairs)]
    for pair in compared.pairs if len(compared.pairs) == 1 else ():
        parts += _class_table(pair)
    for name, group in compared.groups.items():
        parts += [Text(f"\nOnly {printable(name) or '(no value)'}", style="bold")]
        table = differences(group.pairs, tested=len(compared.groups) * len(group.pairs))
        parts += [*(Text(sentence(pair)) for pair in group.pairs), table]
    return Group(*parts, Text(), *(Text(note, style="dim") for note in _notes(compared)))


def _sides(sides: Sequence[Side]) -> Fitted:
    shown = bare("", "SPA", "interval", "kappa", "interval")
    for side in sides:
        ends = limits(side.spa.low, side.spa.high), limits(side.kappa.low, side.kappa.high)
        shown.add_row(printable(side.name), figure(side.spa.value), ends[0], figure(side.kappa.value), ends[1])
    return shown


def differences(pairs: Sequence[Pair], tested: int | None = None) -> Fitted:
    """One line per pair: SPA, kappa, shared items; ``tested`` is how many differences Holm's correction covers."""
    several = (len(pairs) if tested is None else tested) > 1
    shown = bare("difference", "SPA", "interval", "kappa", "interval", "shared items", "p (Holm)" if several else "p")
    for pair in pairs:
        gaps = [words for gap in (pair.difference, pair.kappa_difference) for words in (change(gap.value), span(gap))]
        shared = "unknown" if pair.shared_items is None else f"{pair.shared_items:,}"
        p = "–" if pair.p_holm is None else p_value(pair.p_holm).removeprefix("p ").removeprefix("= ")
        shown.add_row(_names(pair), *gaps, shared, p)
    return shown


def _class_table(pair: Pair) -> Iterable[RenderableType]:
    """The classes whose agreement differs; nothing if none does."""
    clear = [gap for gap in pair.classes if gap.difference.is_clear(gap.p_holm)]
    if not clear:
        return
    yield Text(f"\nClasses that differ, of {len(pair.classes)} (Holm over all of them)")
    shown = bare("class", "agreement", "interval")
    for gap in clear[:MOST_CLASSES]:
        shown.add_row(printable(gap.label), change(gap.difference.value), span(gap.difference))
    yield shown


def _notes(compared: Compared) -> Iterable[str]:
    pair = compared.pairs[0]
    covers = COVERS[pair.difference.interval_for]
    yield f"Intervals: {pair.difference.level:.0%}, for {covers}. Difference: second minus first."
    if any(pair.shared_items is None for pair in compared.pairs):
        yield UNKNOWN_ITEMS
    for pair in compared.pairs:
        if pair.shared_items:
            shared = count(pair.shared_items, "shared item")
            yield f"{_names(pair)}: {shared}, compared item by item."
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


def chart_row(name: str, value: float | None, interval: Estimate | Difference | Limits | None) -> dict[str, Any]:
    """A figure or a difference with its interval, as the chart takes it."""
    low, high = (None, None) if interval is None else (interval.low, interval.high)
    row = {"name": name, "value": value, "low": low, "high": high}
    return row | {"figure": figure(value), "interval": limits(low, high)}
