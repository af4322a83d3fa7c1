"""Figures → what a terminal shows, to read at a glance."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from io import StringIO
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, JustifyMethod, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from spagree.errors import count
from spagree.estimate import Corrected, Estimate
from spagree.estimate.uncertainty import POPULATIONS, Interval
from spagree.estimate.weights import DEFAULT
from spagree.present import sentences
from spagree.present.next_steps import NextStep
from spagree.present.tables import NOTHING, Column, cell, columns, development_columns
from spagree.present.verdicts import Said, Told
from spagree.present.words import (
    FIGURES,
    STATES,
    change,
    escape_controls,
    figure,
    interval,
    label_list,
    left_out,
    moment,
    printable,
    span,
)
from spagree.read.annotations import Understood

if TYPE_CHECKING:
    from spagree.estimate.comparison import Compared, Groups, Pair
    from spagree.estimate.models import ClassAgreement, ModelFindings

MOST_LABELS, FEWER_LABELS = 6, 3
CITED = "Nørregaard and Derczynski (2022), arXiv:2208.06161"
MOST_ROWS = 12
BOTH = "others=other annotators; these=these annotators"
FOLDED_BOTH = "others:ends=other annotators; these:ends=these annotators"
GAP = 2
FOLDED, TIGHTEST = 14, 8  # widths to which words are folded before spare columns go, and before stacking


def summary(told: Told, *, verbose: bool = True) -> Group:
    """The summary as one rich renderable: short, or with every scheme, coefficient and check.

    The number, what it means, and the verdict; then what to do next, what was read, and how to cite it.
    """
    spa, data = told.shown, told.breakdowns.findings.data
    people = "" if data.annotators is None else f" by {count(data.annotators, 'annotator')}"
    groups = "" if data.clusters is None else f" in {count(data.clusters, 'cluster')}"
    alone = f" ({data.unpairable_items:,} with a single one)" if data.unpairable_items else ""
    size = f"{count(data.annotations, 'annotation')} of {count(data.items, 'item')}{alone}{groups}{people}"
    read = [*understood_lines(told.understood, verbose=verbose)]
    read.append(f"{size}; {label_list(data.labels, MOST_LABELS if verbose else FEWER_LABELS)}")
    read += [f"left out: {count(lost, 'annotation')}: {left_out(why)}" for why, lost in data.left_out.items()]
    counted = {"repeats"} if "repeated" in data.left_out else set()  # by the lines on what was read
    noted = [] if verbose else [each.message for each in told.notes if each.code not in counted]
    rows = {
        "Next": step_lines(told.steps, verbose=verbose),
        "Read": [*map(Text, read)],
        "Note": [Text(escape_controls(message)) for message in noted],
        "Cite": [] if spa.value is None else [Text(f"{CITED}{'' if verbose else ' (-v: the sentence)'}")],
        "More": [] if verbose else [Text("-v: schemes, coefficients, checks; --report FILE: a page to send")],
    }
    own = "" if spa.value is None or spa.weights == DEFAULT else f"   ({spa.weights} weights)"
    first = in_short("SPA", f"{ends(spa, data.annotators)}{own}", told, rows)
    return Group(first, *(_in_full(told) if verbose else ()))


def in_short(name: str, beside: str, told: Said, rows: Mapping[str, Sequence[Text]]) -> Group:
    """The number with what stands beside it, its meaning and the verdict; then lines under their names."""
    _, sign, colour = STATES[told.verdict.state]
    parts = [Text.assemble(f"{name} ", (figure(told.shown.value), f"bold {colour}"), beside), *map(Text, told.words)]
    if told.shown.value is not None:
        parts.append(Text(f"{sign} {told.verdict.sentence}", colour))
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column(overflow="fold")
    for head, lines in rows.items():
        if lines:
            grid.add_row(head, Group(*lines))
    return Group(*parts, Text(), grid)


def ends(shown: Estimate, people: int | None = None) -> str:
    """The intervals of a figure, to stand beside it; empty without any."""
    both = sentences.both_intervals(shown, people).replace("for these annotators", "for these")
    return f"  {sentences.interval_name(shown).removesuffix(' interval')}: {both}" if both else ""


def step_lines(steps: Iterable[NextStep], *, verbose: bool = False) -> list[Text]:
    """What to do next, each step with its finding, or all evidence, and its command."""
    lines = []
    for step in steps:
        why = step.evidence if verbose else step.finding
        lines += [Text.assemble((step.sentence, "bold"), f" {why}".rstrip()), Text(f"  {step.command}", "cyan")]
    return lines


def understood_lines(understood: Understood | None, *, verbose: bool = False) -> Iterator[str]:
    """What was read as what, and the rules that applied."""
    if understood is None:
        return
    columns = sentences.columns_in_words(understood)
    yield f"{printable(understood.source, 80)} as {understood.kind}{f': {columns}' if columns else ''}"
    if understood.examples and verbose:
        yield f"first row: {' · '.join(printable(cell, 40) for cell in understood.examples[0])}"
    yield from (printable(rule, 200) for rule in understood.rules)


def _in_full(told: Told) -> Iterator[RenderableType]:
    """Every scheme, coefficient and check, and the sentence for a paper."""
    findings = told.breakdowns.findings
    by_n, chosen = findings.missingness.by_n, findings.spa.weights
    if findings.spa.value is not None:
        yield Text("\nWeighting schemes", style="bold")
        rows = [
            {"scheme": f"{'▸' if name == chosen else ' '} {name}", "chosen": name == chosen, **_figures(each, interval)}
            for name, each in {**findings.schemes, chosen: findings.spa}.items()
        ]
        yield Listed(rows, columns(f"scheme:text=  scheme; value=agreement; {FOLDED_BOTH}", ("these",)))
        yield Text("\nCorrected for chance", style="bold")
        yield from _coefficients(findings.chance)
        if words := sentences.chance_gap(findings):
            yield Padding(Text(words), (0, 2))
        if len(by_n) > 1:
            yield Text("\nAgreement by number of annotations", style="bold")
            rows = [
                {"n": f"{row.n:,}", "items": row.items, **_figures(row.agreement), "interval": interval(row.agreement)}
                for row in by_n[:MOST_ROWS]
            ]
            if len(by_n) > MOST_ROWS:
                rows.append({"n": "…", "items": f"{len(by_n) - MOST_ROWS:,} more", "value": "", "interval": ""})
            yield Listed(
                rows, columns("n:count=  annotations; items:count; value=agreement; interval:ends", ("items",))
            )
    if findings.data.pairable_items:  # otherwise the headline says why there is nothing to check
        yield Text("\nChecks", style="bold")
        for check in told.checked:
            row, colour = Table.grid(padding=(0, 1)), STATES[check.state].colour
            row.add_row(Text(f"  {check.icon}", colour), Text(f"{check.title}: {check.words}", colour))
            yield row
    if findings.spa.value is not None:
        yield Text("\nFor your paper", style="bold")
        yield Padding(Text(told.for_paper), (0, 2))
        yield Padding(Text(sentences.REFERENCE, style="dim"), (0, 2))


def _coefficients(chance: Mapping[str, Corrected]) -> Iterator[RenderableType]:
    """Every coefficient, and why some are undefined."""
    reasons: dict[str, list[str]] = {}
    rows = []
    for name, each in chance.items():
        if each.value is None:
            reasons.setdefault(str(each.undefined), []).append(name)
            continue
        more = {"observed": figure(each.observed), "expected": figure(each.expected)}
        rows.append({"name": f"  {name}", **_figures(each, interval), **more})
    shown = f"name:text=  coefficient; value; {FOLDED_BOTH}; observed; expected=by chance"
    yield Listed(rows, columns(shown, ("expected", "observed", "these")))
    for reason, names in reasons.items():
        yield Padding(Text(f"{', '.join(names) if rows else 'All'} undefined: {reason}."), (0, 2))


def _figures(
    of: Estimate, ends: Callable[[Interval], str] = span, value: Callable[[float | None], str] = figure
) -> dict[str, Any]:
    """A figure as the cells of a row: its value, and its intervals for other annotators and for these."""
    others, items = (of.intervals.get(name) for name in reversed(POPULATIONS))
    both = [NOTHING if each is None or each.low is None else ends(each) for each in (others, items)]
    return {"value": value(of.value), "others": both[0], "these": both[1]}


# Comparisons, models and groups -------------------------------------------------------------------


def comparison_summary(compared: Compared) -> Group:
    """Sentences first, then the figures of each data set and each difference."""
    parts: list[RenderableType] = []
    for pair in compared.pairs:
        parts.append(Text(sentences.pair_sentence(pair), style="bold"))
        parts += [Text(words) for words in [sentences.beside(pair)] if words]
    rows = []  # the first two figures of each, the first with its intervals
    for side in compared.sides:
        first, second, *_ = side.figures.values()
        rows.append({"name": printable(side.name), **_figures(first), "second": figure(second.value)})
    one, other, *_ = (FIGURES[name] for name in compared.sides[0].figures)
    parts += [Text(), Listed(rows, columns(f"name:name=; value={one}; {BOTH}; second={other}"))]
    parts += [Text(), _differences(compared.pairs)]
    for name, group in compared.groups.items():
        parts.append(Text(f"\nOnly {sentences.shown_name(name)}", style="bold"))
        parts += [*(Text(sentences.pair_sentence(pair)) for pair in group.pairs), _differences(group.pairs)]
    return Group(*parts, Text(), *(Text(note, style="dim") for note in sentences.comparison_notes(compared)))


def _differences(pairs: Sequence[Pair]) -> Listed:
    """All figures of each pair."""
    rows = [
        {"name": f"  {FIGURES[name]}" if place else sentences.pair_name(pair), **_figures(gap, span, change)}
        for pair in pairs
        for place, (name, gap) in enumerate(pair.differences.items())
    ]
    return Listed(rows, columns(f"name:name=difference; value=; {BOTH}"))


def models_summary(models: Mapping[str, ModelFindings]) -> Group:
    """Sentences first, then figures and classes, and the data behind them."""

    def table(rows: Iterable[tuple[str, ModelFindings | ClassAgreement]], names: str) -> Listed:
        cells = []
        for name, each in rows:
            gap, both = each.difference, {"model": figure(each.with_humans.value), "people": figure(each.humans.value)}
            cells.append({"name": name, **both, "difference": change(gap.value), "ends": span(gap)})
        return Listed(cells, columns(f"{names}; difference; ends=interval"))

    parts: list[RenderableType] = [Text(sentences.model_sentence(model), style="bold") for model in models.values()]
    named = [(printable(model.name), model) for model in models.values()]
    parts += [Text(), table(named, "name:name=; model=with people; people=two people")]
    for name, model in named:
        clear = [row for row in model.classes if row.p_holm is not None and row.p_holm <= 1 - row.difference.level]
        if clear:
            title = f"\nClasses on which {name} differs from a person, out of {len(model.classes)}"
            meaning = "how often the model, or another person, chose it where a person did (for these people)"
            shown = [(printable(row.label), row) for row in clear]
            parts += [Text(f"{title}: {meaning}"), table(shown, "name:name=class; model; people=person")]
        if model.marks:
            title = f"\nWhat marks of {name} and people meet at each other, and those of two people"
            met = [(FIGURES[each.label], each) for each in model.marks]
            parts += [Text(title), table(met, "name:name=; model; people")]
        parts += [Text(), Text("\n".join(sentences.model_details(model)), style="dim")]
    return Group(*parts)


def groups_summary(groups: Groups) -> Group:
    """One line per group, agreement between groups of annotators, and which groups differ."""
    title = f"By {printable(groups.column)} (groups of {groups.of})"
    said = [Padding(Text(words), (0, 2)) for words in sentences.differences_in_words(groups)]
    rows = [{"name": line.name, "items": line.items, **_or_why(line.spa)} for line in sentences.group_lines(groups)]
    table = Listed(rows, columns(f"name:name=group; items:count; value=agreement; {FOLDED_BOTH}"))
    return Group(Text(title, style="bold"), *said, Padding(table, (0, 2)))


def questions_summary(answers: Mapping[str, tuple[Estimate, int, int]]) -> Group:
    """One line per question: the figure, its intervals, the items and annotations behind it."""
    rows = [
        {"name": printable(name, 60), **_or_why(spa), "items": items, "annotations": f"{total:,}"}
        for name, (spa, items, total) in answers.items()
    ]
    shown = f"name:name=question; value=agreement; {FOLDED_BOTH}; items:count; annotations"
    table = Listed(rows, columns(shown))
    return Group(Text("All questions", style="bold"), Padding(table, (0, 2)))


def _or_why(spa: Estimate) -> dict[str, Any]:
    """The cells of a figure, or why it has no interval."""
    return _figures(spa) | ({"others": f"none: {spa.undefined}", "these": ""} if spa.low is None else {})


# Plans and development ----------------------------------------------------------------------------


def plan_table(rows: sentences.Rows) -> Listed:
    """Every route and number of annotations per item, the best marked; of many rows only the best."""
    listed, only_best = sentences.listed_plans(rows)
    several = len({sentences.half_width(row) for row in listed}) > 1
    shown = columns(
        "mark:text=; route:name; annotations_per_item:count=per item; items:count; "
        "more_annotations:count=annotations to make; half_width=half-width; between; done",
        ("between", "done") if several else ("between", "half_width", "done"),
    )
    filled = []
    for row in listed:
        half = {"half_width": sentences.half_width(row), "between": sentences.half_width_range(row)}
        mark = "▸" if row["best"] and not only_best else ""
        filled.append(
            {**row, **half, "mark": mark, "route": sentences.ROUTES[row["route"]], "done": row.get("done") or ""}
        )
    return Listed(filled, shown)


def development_table(rows: sentences.Rows, what: str = "SPA") -> Listed:
    """One row per step: agreement up to then, and agreement on the items finished most recently."""
    times = [row["time"] if isinstance(row["time"], str) else moment(float(row["time"])) for row in rows]
    dated = [{**row, "when": when} for row, when in zip(rows, times, strict=True)]
    return Listed(dated, development_columns(what))


# Tables of any width ------------------------------------------------------------------------------


class Listed:
    """Some columns of rows without lines, of which no number is ever cut; empty columns are left out.

    Rows on few items are dim, their figures marked with *; chosen ones are bold. If the table is too wide, titles,
    names and words are folded; then spare columns go, one by one, and are named; then the cells of a row are put
    below each other.
    """

    def __init__(self, rows: Sequence[Mapping[str, Any]], columns: Sequence[Column]) -> None:
        self.styles = ["dim" if row.get("few") else "bold" if row.get("chosen") else "" for row in rows]
        known = [(column, [cell(row, column).shown for row in rows]) for column in columns]
        self.columns = [(column, cells) for column, cells in known if any(cell.strip(NOTHING) for cell in cells)]

    def __rich_console__(self, _console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        if not self.columns:
            return
        kept, folded, room = list(self.columns), FOLDED, options.max_width
        while _width(kept, folded) > room:
            spare = [column.spare for column, _ in kept if column.spare is not None]
            if spare:
                kept = [each for each in kept if each[0].spare != min(spare)]
            elif folded == TIGHTEST:
                yield self._stacked()
                return
            else:
                folded = TIGHTEST
        yield self._table(kept, folds_titles=_width(kept) > room)
        hidden = dict.fromkeys(each[0].title for each in self.columns if each[0].title and each not in kept)
        if hidden:
            yield Text(f"Left out for lack of room (--json has it): {', '.join(hidden)}.", style="dim")

    def _table(self, kept: Sequence[Filled], *, folds_titles: bool) -> Table:
        shown = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), header_style="dim")
        for column, cells in kept:
            is_long = folds_titles and not column.is_folded and cell_len(column.title) > max(map(cell_len, cells))
            title = "\n".join(column.title.split()) if is_long else column.title
            justify: JustifyMethod = "right" if column.is_number else "left"
            shown.add_column(Text(title), justify=justify, no_wrap=not column.is_folded, overflow="fold")
        for style, *cells in zip(self.styles, *(cells for _, cells in kept), strict=True):
            shown.add_row(*map(Text, cells), style=style)
        return shown

    def _stacked(self) -> Table:
        """Each row as lines of title and cell."""
        shown = Table(box=None, show_header=False, pad_edge=False, padding=(0, GAP, 0, 0))
        shown.add_column(style="dim", overflow="fold")
        shown.add_column(overflow="fold")
        for place, style in enumerate(self.styles):
            if place:
                shown.add_row()
            for column, cells in self.columns:
                if cells[place].strip() and (column.title or column.spare is None):
                    shown.add_row(Text(column.title.strip()), Text(cells[place].strip()), style=style)
        return shown


Filled = tuple[Column, list[str]]


def _width(filled: Sequence[Filled], folded: int | None = None) -> int:
    """The width of columns with their cells, or with titles on several lines and cells of this width."""
    widths = []
    for column, cells in filled:
        title = max(map(cell_len, [column.title] if folded is None else column.title.split()), default=0)
        longest = max(map(cell_len, cells))
        widths.append(max(title, min(longest, folded) if folded and column.is_folded else longest))
    return sum(widths) + GAP * (len(widths) - 1)


def rendered(shown: RenderableType, width: int = 100) -> str:
    """The terminal's output as plain text."""
    page = StringIO()
    Console(width=width, color_system=None, file=page, emoji=False).print(shown)
    return "\n".join(line.rstrip() for line in page.getvalue().splitlines())
