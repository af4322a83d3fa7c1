"""Comparisons of data sets → a sentence, a table, JSON and a chart."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from io import StringIO
from typing import TYPE_CHECKING, Any, Protocol

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from spagree.estimate import Estimate
from spagree.estimate.uncertainty import COVERS
from spagree.present.document import FORMAT
from spagree.present.wording import change, count, escape_controls, figure, limits, p_value, printable
from spagree.version import __version__

if TYPE_CHECKING:
    from spagree.estimate.comparison import Difference, Figure, Pair, Side

MOST_CLASSES = 12
UNKNOWN_ITEMS = (
    "A tally does not say which items it holds: they were treated as different items. "
    "Compare the annotations themselves where both share items; the interval is then usually narrower."
)


class Compared(Protocol):
    """Several data sets and the differences between every two of them."""

    @property
    def sides(self) -> tuple[Side, ...]:
        """The data sets."""
        ...

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """Every two of them."""
        ...

    @property
    def groups(self) -> Mapping[str, Compared]:
        """The same within each group."""
        ...

    @property
    def not_compared(self) -> Mapping[str, Sequence[str]]:
        """Groups that some of the data sets lack, and those that have them."""
        ...


class ShownComparison:
    """What every comparison can show; :class:`spagree.Comparison` is one."""

    def to_dict(self: Compared) -> dict[str, Any]:
        """All figures as plain values, in full precision."""
        return comparison_document(self)

    def to_json(self: Compared, indent: int | None = 2) -> str:
        """All figures as JSON, in the documented format."""
        return json.dumps(comparison_document(self), indent=indent, ensure_ascii=False, allow_nan=False)

    def chart(self: Compared) -> Any:
        """Every data set with its interval, and below the differences with theirs."""
        from spagree.present.charts.differences import compared

        sides = [_chart_row(side.name, side.spa) for side in self.sides]
        return compared(sides, [_chart_row(_names(pair), pair.difference) for pair in self.pairs])

    def summary(self: Compared) -> Group:
        """What a terminal shows."""
        return comparison_summary(self)

    def __str__(self: Compared) -> str:
        return rendered(comparison_summary(self))

    def __repr__(self: Compared) -> str:
        return f"<Comparison: {' '.join(map(sentence, self.pairs))}>"

    def _repr_html_(self: Compared) -> str:
        return "".join(f"<p>{escape(escape_controls(sentence(pair)))}</p>" for pair in self.pairs)


def rendered(shown: RenderableType, width: int = 100) -> str:
    """A rich renderable as plain text."""
    page = StringIO()
    Console(width=width, color_system=None, file=page).print(shown)
    return "\n".join(line.rstrip() for line in page.getvalue().splitlines())


# JSON ----------------------------------------------------------------------------------------


def comparison_document(found: Compared) -> dict[str, Any]:
    """The contract's JSON: a, b and their difference; with more than two data sets a list of such pairs."""
    head = {"format": FORMAT, "spagree": __version__}
    return {**head, **_figures_document(found), **_groups_document(found)}


def _figures_document(found: Compared) -> dict[str, Any]:
    documents = [_pair_document(pair) for pair in found.pairs]
    if len(documents) == 1:
        return documents[0]
    return {"sides": [_side_document(side) for side in found.sides], "pairs": documents}


def _groups_document(found: Compared) -> dict[str, Any]:
    """The same figures for each group, where groups were asked for."""
    groups = {name: _figures_document(each) for name, each in found.groups.items()}
    apart = {name: list(having) for name, having in found.not_compared.items()}
    return ({"groups": groups} if groups else {}) | ({"groups_not_compared": apart} if apart else {})


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
        "shared_items": pair.shared_items,
        "shared_annotators": pair.shared_annotators,
        "p_holm": pair.p_holm,
        "verdict": pair.verdict,
    }


def _side_document(side: Side) -> dict[str, Any]:
    return {"name": side.name, "spa": _estimate(side.spa), "spa_kappa": _estimate(side.kappa)}


def _estimate(found: Estimate) -> dict[str, Any]:
    if found.value is None:
        return {"value": None, "undefined": found.undefined}
    shown = {"value": found.value, "stderr": found.stderr, "low": found.low, "high": found.high, "level": found.level}
    return {**shown, "undefined": found.undefined} if found.undefined else shown


def difference_document(found: Difference) -> dict[str, Any]:
    """A difference with both of its intervals; an undefined one says why in words."""
    if found.value is None:
        return {"value": None, "undefined": found.undefined}
    shown: dict[str, Any] = {"value": found.value, "stderr": found.stderr, "low": found.low, "high": found.high}
    shown |= {"level": found.level, "p": found.p, "interval_for": found.interval_for}
    shown["intervals"] = intervals_document(found.limits)
    return {**shown, "undefined": found.undefined} if found.undefined else shown


def intervals_document(found: Mapping[str, Any]) -> dict[str, Any]:
    """The intervals for new items and new annotators."""
    return {name: {"low": each.low, "high": each.high, "stderr": each.stderr} for name, each in found.items()}


def figure_document(found: Figure, level: float, interval_for: str) -> dict[str, Any]:
    """A figure with its intervals."""
    if found.value is None:
        return {"value": None, "undefined": found.undefined}
    chosen = found.limits.get(interval_for)
    shown: dict[str, Any] = {"value": found.value, "stderr": chosen.stderr if chosen else None}
    shown |= {"low": chosen.low if chosen else None, "high": chosen.high if chosen else None, "level": level}
    shown["intervals"] = intervals_document(found.limits)
    return {**shown, "undefined": found.undefined} if found.undefined else shown


# Words ---------------------------------------------------------------------------------------


def sentence(pair: Pair) -> str:
    """What a comparison comes to, in one sentence."""
    a, b, found = printable(pair.a.name), printable(pair.b.name), pair.difference
    if found.value is None or found.low is None:
        return f"{b} and {a} cannot be compared: {found.undefined}."
    figures = f"{change(found.value)}, {span(found)}"
    if pair.verdict == "cannot_tell":
        return f"Whether {b} agrees more than {a} cannot be told: {figures}."
    return f"{b} agrees {'more' if pair.verdict == 'agrees_more' else 'less'} than {a}: {figures}."


def span(found: Difference) -> str:
    """The interval of a difference, with true minus signs.

    >>> from spagree.estimate.comparison import Difference, Limits
    >>> span(Difference(0.01, 0.95, limits={"items": Limits(0.02, -0.03, 0.05)}))
    '−0.030 to 0.050'
    """
    return limits(found.low, found.high).replace("-", "−")


def comparison_summary(found: Compared) -> Group:
    """Sentences first, then the figures of each data set and of each difference."""
    parts: list[RenderableType] = [Text(sentence(pair), style="bold") for pair in found.pairs]
    parts += [Text(), _sides(found.sides), Text(), differences(found.pairs)]
    for pair in found.pairs if len(found.pairs) == 1 else ():
        parts += _class_table(pair)
    for name, each in found.groups.items():
        parts += [Text(f"\nOnly {printable(name) or '(no value)'}", style="bold")]
        parts += [*(Text(sentence(pair)) for pair in each.pairs), differences(each.pairs)]
    return Group(*parts, Text(), *(Text(note, style="dim") for note in _notes(found)))


def _sides(sides: Sequence[Side]) -> Table:
    shown = plain_table("", "SPA", "interval", "kappa", "interval ")
    for side in sides:
        ends = limits(side.spa.low, side.spa.high), limits(side.kappa.low, side.kappa.high)
        shown.add_row(printable(side.name), figure(side.spa.value), ends[0], figure(side.kappa.value), ends[1])
    return shown


def differences(pairs: Sequence[Pair]) -> Table:
    """One line per pair: SPA, kappa, what both share."""
    several = len(pairs) > 1
    shown = plain_table(
        "difference", "SPA", "interval", "kappa", "interval ", "shared items", "p (Holm)" if several else "p"
    )
    for pair in pairs:
        spa, kappa = pair.difference, pair.kappa_difference
        shown.add_row(
            _names(pair),
            change(spa.value),
            span(spa),
            change(kappa.value),
            span(kappa),
            "unknown" if pair.shared_items is None else f"{pair.shared_items:,}",
            "–" if pair.p_holm is None else p_value(pair.p_holm).removeprefix("p ").removeprefix("= "),
        )
    return shown


def _class_table(pair: Pair) -> Iterable[RenderableType]:
    """The classes whose agreement differs; silence where none does."""
    told = [each for each in pair.classes if each.p_holm is not None and each.p_holm <= 1 - each.difference.level]
    if not told:
        return
    yield Text(f"\nClasses that differ, of {len(pair.classes)} (Holm over all of them)")
    shown = plain_table("class", "agreement", "interval")
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
        yield f"Not compared: {printable(name) or '(no value)'}, which only {' and '.join(map(printable, having))} has."


def plain_table(*columns: str) -> Table:
    """A table without lines, names to the left and figures to the right."""
    shown = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for place, column in enumerate(columns):
        shown.add_column(column.strip(), justify="right" if place else "left", no_wrap=True)
    return shown


def _names(pair: Pair) -> str:
    return f"{printable(pair.b.name)} − {printable(pair.a.name)}"


def _chart_row(name: str, found: Estimate | Difference) -> dict[str, Any]:
    ends = limits(found.low, found.high)
    row = {"name": printable(name), "value": found.value, "low": found.low, "high": found.high}
    return row | {"figure": figure(found.value), "interval": ends}
