"""Comparisons of data sets → sentences, a table, JSON and a chart."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from spagree.errors import count
from spagree.estimate import Estimate
from spagree.estimate.uncertainty import COVERS
from spagree.present.document import FORMAT, estimate_document, to_json
from spagree.present.tables import bare, rendered
from spagree.present.wording import change, escape_controls, figure, limits, p_value, printable, span
from spagree.version import __version__

if TYPE_CHECKING:
    from spagree.estimate.comparison import Compared, Difference, Figure, Pair, Side

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

        return "".join(f"<p>{escape(escape_controls(each))}</p>" for each in self.sentences())


# JSON ----------------------------------------------------------------------------------------


def comparison_document(found: Compared) -> dict[str, Any]:
    """The documented JSON: a, b and their difference; for more than two data sets a list of such pairs."""
    groups = {name: _figures_document(each) for name, each in found.groups.items()}
    apart = {name: list(having) for name, having in found.not_compared.items()}
    more = {"groups": groups, "groups_not_compared": apart}
    head = {"format": FORMAT, "spagree": __version__}
    return {**head, **_figures_document(found), **{name: each for name, each in more.items() if each}}


def _figures_document(found: Compared) -> dict[str, Any]:
    documents = [_pair_document(pair) for pair in found.pairs]
    if len(documents) == 1:
        return documents[0]
    return {"sides": [_side_document(side) for side in found.sides], "pairs": documents}


def _pair_document(pair: Pair) -> dict[str, Any]:
    return {
        "a": _side_document(pair.a),
        "b": _side_document(pair.b),
        "difference": difference_document(pair.difference),
        "kappa_difference": difference_document(pair.kappa_difference),
        "classes": [
            {"class": each.label, **difference_document(each.difference), "p_holm": each.p_holm}
            for each in pair.classes
        ],
        **{name: getattr(pair, name) for name in ("shared_items", "shared_annotators", "p_holm", "verdict")},
    }


def _side_document(side: Side) -> dict[str, Any]:
    spa, kappa = (estimate_document(each, level=each.level) for each in (side.spa, side.kappa))
    return {"name": side.name, "spa": spa, "spa_kappa": kappa}


def difference_document(found: Difference) -> dict[str, Any]:
    """A difference with both intervals; an undefined one says why."""
    about = {"level": found.level, "p": found.p, "interval_for": found.interval_for}
    return estimate_document(found, **about, intervals=intervals_document(found.limits))


def intervals_document(found: Mapping[str, Any]) -> dict[str, Any]:
    """The intervals for new items and new annotators."""
    return {name: {"low": each.low, "high": each.high, "stderr": each.stderr} for name, each in found.items()}


def figure_document(found: Figure, level: float, interval_for: str) -> dict[str, Any]:
    """A figure with its intervals."""
    if found.value is None:
        return {"value": None, "undefined": found.undefined}
    chosen = {name: getattr(found.limits.get(interval_for), name, None) for name in ("stderr", "low", "high")}
    shown = {"value": found.value, **chosen, "level": level, "intervals": intervals_document(found.limits)}
    return {**shown, "undefined": found.undefined} if found.undefined else shown


# Words ---------------------------------------------------------------------------------------


def sentence(pair: Pair) -> str:
    """The result of a comparison in one sentence."""
    a, b, found = printable(pair.a.name), printable(pair.b.name), pair.difference
    if found.value is None or found.low is None:
        return f"{b} and {a} cannot be compared: {found.undefined}."
    figures = f"{change(found.value)}, {span(found)}"
    if pair.verdict == "cannot_tell":
        return f"There is not enough data to tell whether {b} agrees more than {a}: {figures}."
    return f"{b} agrees {'more' if pair.verdict == 'agrees_more' else 'less'} than {a}: {figures}."


def comparison_summary(found: Compared) -> Group:
    """Sentences first, then the figures of each data set and each difference."""
    parts: list[RenderableType] = [Text(sentence(pair), style="bold") for pair in found.pairs]
    parts += [Text(), _sides(found.sides), Text(), differences(found.pairs)]
    for pair in found.pairs if len(found.pairs) == 1 else ():
        parts += _class_table(pair)
    for name, each in found.groups.items():
        parts += [Text(f"\nOnly {printable(name) or '(no value)'}", style="bold")]
        parts += [*(Text(sentence(pair)) for pair in each.pairs), differences(each.pairs)]
    return Group(*parts, Text(), *(Text(note, style="dim") for note in _notes(found)))


def _sides(sides: Sequence[Side]) -> Table:
    shown = bare("", "SPA", "interval", "kappa", "interval")
    for side in sides:
        ends = limits(side.spa.low, side.spa.high), limits(side.kappa.low, side.kappa.high)
        shown.add_row(printable(side.name), figure(side.spa.value), ends[0], figure(side.kappa.value), ends[1])
    return shown


def differences(pairs: Sequence[Pair]) -> Table:
    """One line per pair: SPA, kappa, shared items."""
    several = len(pairs) > 1
    shown = bare("difference", "SPA", "interval", "kappa", "interval", "shared items", "p (Holm)" if several else "p")
    for pair in pairs:
        gaps = [words for gap in (pair.difference, pair.kappa_difference) for words in (change(gap.value), span(gap))]
        shared = "unknown" if pair.shared_items is None else f"{pair.shared_items:,}"
        p = "–" if pair.p_holm is None else p_value(pair.p_holm).removeprefix("p ").removeprefix("= ")
        shown.add_row(_names(pair), *gaps, shared, p)
    return shown


def _class_table(pair: Pair) -> Iterable[RenderableType]:
    """The classes whose agreement differs; nothing if none does."""
    told = [each for each in pair.classes if each.p_holm is not None and each.p_holm <= 1 - each.difference.level]
    if not told:
        return
    yield Text(f"\nClasses that differ, of {len(pair.classes)} (Holm over all of them)")
    shown = bare("class", "agreement", "interval")
    for each in told[:MOST_CLASSES]:
        shown.add_row(printable(each.label), change(each.difference.value), span(each.difference))
    yield shown


def _notes(found: Compared) -> Iterable[str]:
    pair = found.pairs[0]
    covers = COVERS[pair.difference.interval_for]
    yield f"Intervals: {pair.difference.level:.0%}, for {covers}. Difference: second minus first."
    if any(each.shared_items is None for each in found.pairs):
        yield UNKNOWN_ITEMS
    for each in found.pairs:
        if each.shared_items:
            shared = count(each.shared_items, "shared item")
            yield f"{_names(each)}: {shared}, compared item by item."
    for name, having in found.not_compared.items():
        have = f"{' and '.join(map(printable, having))} {'has' if len(having) == 1 else 'have'}"
        yield f"Not compared: {printable(name) or '(no value)'}, which only {have}."


def _names(pair: Pair) -> str:
    return f"{printable(pair.b.name)} − {printable(pair.a.name)}"


def comparison_chart(found: Compared) -> Any:
    """Every data set with its interval; below, the differences with theirs."""
    from spagree.present.charts.differences import compared

    sides = [_chart_row(side.name, side.spa) for side in found.sides]
    return compared(sides, [_chart_row(_names(pair), pair.difference) for pair in found.pairs])


def _chart_row(name: str, found: Estimate | Difference) -> dict[str, Any]:
    ends = limits(found.low, found.high)
    row = {"name": printable(name), "value": found.value, "low": found.low, "high": found.high}
    return row | {"figure": figure(found.value), "interval": ends}
