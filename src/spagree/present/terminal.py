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

from spagree.errors import count, there
from spagree.estimate import Estimate, Findings
from spagree.estimate.breakdowns import Breakdowns
from spagree.estimate.uncertainty import POPULATIONS, Interval
from spagree.estimate.weights import DEFAULT
from spagree.present import sentences
from spagree.present.next_steps import NextStep, Source, next_steps
from spagree.present.tables import NOTHING, Column, cell, columns, development_columns
from spagree.present.verdicts import Checked, Verdict, checked, notes, paper_sentence, verdict
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
BOTH = {"others": "other annotators", "these": "these annotators"}
GAP = 2
FOLDED, TIGHTEST = 14, 8  # widths to which names and words are folded before spare columns go, and before stacking


def summary(
    breakdowns: Breakdowns,
    understood: Understood | None,
    source: Source,
    *,
    target: float | None = None,
    verbose: bool = True,
) -> Group:
    """The summary as one rich renderable: short, or with every scheme, coefficient and check.

    The number, what it means, and the verdict; then what to do next, what was read, and how to cite it.
    """
    findings, spa, found = breakdowns.findings, breakdowns.findings.spa, checked(breakdowns)
    said = verdict(breakdowns, target, found)
    colour = STATES[said.state].colour
    line = Text.assemble("SPA ", (figure(spa.value), f"bold {colour}"))
    if both := sentences.both_intervals(findings).replace("for these annotators", "for these"):
        line.append(f"  {sentences.interval_name(spa).removesuffix(' interval')}: {both}")
    if spa.value is not None and spa.weights != DEFAULT:
        line.append(f"   ({spa.weights} weights)")
    parts: list[RenderableType] = [line, *map(Text, sentences.headline(findings))]
    parts += [] if spa.value is None else [Text(f"{said.icon} {said.sentence}", colour)]
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column(overflow="fold")
    steps = next_steps(there(breakdowns.steps) or (), source)
    read = [Text(words) for words in _read_lines(findings, understood, verbose=verbose)]
    rows = {"Next": step_lines(steps, verbose=verbose), "Read": read}
    told = {"repeats"} if "repeated" in findings.data.left_out else set()  # the lines on what was read count them
    noted = [] if verbose else [warning.message for warning in notes(breakdowns) if warning.code not in told]
    rows["Note"] = [Text(escape_controls(message)) for message in noted]
    rows["Cite"] = [] if spa.value is None else [Text(f"{CITED}{'' if verbose else ' (-v: the sentence)'}")]
    rows["More"] = [] if verbose else [Text("-v: schemes, coefficients, checks; --report FILE: a page to send")]
    for name, lines in rows.items():
        if lines:
            grid.add_row(name, Group(*lines))
    return Group(*parts, Text(), grid, *(_in_full(breakdowns, said, found) if verbose else ()))


def step_lines(steps: Iterable[NextStep], *, verbose: bool = False) -> list[Text]:
    """What to do next, each step with its finding, or all evidence, and its command."""
    lines = []
    for step in steps:
        why = step.evidence if verbose else step.finding
        lines += [Text.assemble((step.sentence, "bold"), f" {why}".rstrip()), Text(f"  {step.command}", "cyan")]
    return lines


def _in_full(breakdowns: Breakdowns, said: Verdict, found: Sequence[Checked]) -> Iterator[RenderableType]:
    """Every scheme, coefficient and check, and the sentence for a paper."""
    findings = breakdowns.findings
    if findings.spa.value is not None:
        yield Text("\nWeighting schemes", style="bold")
        yield _scheme_table(findings)
        yield Text("\nCorrected for chance", style="bold")
        yield from _chance_figures(findings)
        if words := sentences.chance_gap(findings):
            yield _indented(words)
        if len(findings.missingness.by_n) > 1:
            yield Text("\nAgreement by number of annotations", style="bold")
            yield _by_n_table(findings)
    if findings.data.pairable_items:  # otherwise the headline says why there is nothing to check
        yield Text("\nChecks", style="bold")
        for check in found:
            row, colour = Table.grid(padding=(0, 1)), STATES[check.state].colour
            row.add_row(Text(f"  {check.icon}", colour), Text(f"{check.title}: {check.words}", colour))
            yield row
    if findings.spa.value is not None:
        yield Text("\nFor your paper", style="bold")
        yield _indented(paper_sentence(breakdowns, said))
        yield _indented(sentences.REFERENCE, "dim")


def _read_lines(findings: Findings, understood: Understood | None, *, verbose: bool) -> Iterator[str]:
    """How the source was understood, and how much of it could be used."""
    yield from understood_lines(understood, verbose=verbose)
    data = findings.data
    people = "" if data.annotators is None else f" by {count(data.annotators, 'annotator')}"
    groups = "" if data.clusters is None else f" in {count(data.clusters, 'cluster')}"
    alone = f" ({data.unpairable_items:,} with a single one)" if data.unpairable_items else ""
    size = f"{count(data.annotations, 'annotation')} of {count(data.items, 'item')}{alone}{groups}{people}"
    yield f"{size}; {label_list(data.labels, MOST_LABELS if verbose else FEWER_LABELS)}"
    for why, lost in data.left_out.items():
        yield f"left out: {count(lost, 'annotation')}: {left_out(why)}"


def understood_lines(understood: Understood | None, *, verbose: bool = False) -> Iterator[str]:
    """What was read as what, and the rules that applied."""
    if understood is None:
        return
    columns = sentences.columns_in_words(understood)
    yield f"{printable(understood.source, 80)} as {understood.kind}{f': {columns}' if columns else ''}"
    if understood.examples and verbose:
        yield f"first row: {' · '.join(printable(cell, 40) for cell in understood.examples[0])}"
    yield from (printable(rule, 200) for rule in understood.rules)


def _indented(words: str, style: str = "") -> Padding:
    return Padding(Text(words, style=style), (0, 2))


def _scheme_table(findings: Findings) -> Listed:
    estimates = dict(findings.schemes)
    estimates.setdefault(findings.spa.weights, findings.spa)  # custom weights
    rows, styles = [], []
    for name, estimate in estimates.items():
        is_chosen = name == findings.spa.weights
        rows.append(("▸ " + name if is_chosen else "  " + name, figure(estimate.value), *both(estimate, interval)))
        styles.append("bold" if is_chosen else "")
    titles = {"scheme": "  scheme", **BOTH}
    return Listed(columns("scheme:text agreement others:words these:words", titles, ("these",)), rows, styles)


def _chance_figures(findings: Findings) -> Iterator[RenderableType]:
    """Every coefficient, and why some are undefined."""
    defined = {name: each for name, each in findings.chance.items() if each.value is not None}
    head = columns(
        "coefficient:text value others:words these:words observed expected",
        {"coefficient": "  coefficient", "expected": "by chance", **BOTH},
        ("expected", "observed", "these"),
    )
    rows = [
        (f"  {name}", figure(each.value), *both(each, interval), figure(each.observed), figure(each.expected))
        for name, each in defined.items()
    ]
    yield Listed(head, rows)
    reasons: dict[str, list[str]] = {}
    for name, each in findings.chance.items():
        if name not in defined:
            reasons.setdefault(str(each.undefined), []).append(name)
    for reason, names in reasons.items():
        yield _indented(f"{', '.join(names) if defined else 'All'} undefined: {reason}.")


def _by_n_table(findings: Findings) -> Listed:
    by_n = findings.missingness.by_n
    rows = [
        (f"{row.n:,}", f"{row.items:,}", figure(row.agreement.value), interval(row.agreement))
        for row in by_n[:MOST_ROWS]
    ]
    if len(by_n) > MOST_ROWS:
        rows.append(("…", f"{len(by_n) - MOST_ROWS:,} more", "", ""))
    head = columns("annotations items agreement interval:words", {"annotations": "  annotations"}, ("items",))
    return Listed(head, rows)


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
        rows.append((printable(side.name), figure(first.value), *both(first), figure(second.value)))
    one, other, *_ = (FIGURES[name] for name in compared.sides[0].figures)
    titles = {"name": "", "first": one, "second": other, **BOTH}
    parts += [Text(), Listed(columns("name:name first others these second", titles), rows)]
    parts += [Text(), differences(compared.pairs)]
    for name, group in compared.groups.items():
        parts += [Text(f"\nOnly {printable(name) or '(no value)'}", style="bold")]
        parts += [*(Text(sentences.pair_sentence(pair)) for pair in group.pairs), differences(group.pairs)]
    return Group(*parts, Text(), *(Text(note, style="dim") for note in sentences.comparison_notes(compared)))


def differences(pairs: Sequence[Pair]) -> Listed:
    """All figures of each pair."""
    rows = []
    for pair in pairs:
        for place, (name, gap) in enumerate(pair.differences.items()):
            rows.append((f"  {FIGURES[name]}" if place else sentences.pair_name(pair), change(gap.value), *both(gap)))
    return Listed(columns("difference:name value others these", {"value": "", **BOTH}), rows)


def both(figure: Estimate, ends: Callable[[Interval], str] = span) -> tuple[str, ...]:
    """The intervals for other annotators and for these."""
    others, items = (figure.intervals.get(name) for name in reversed(POPULATIONS))
    return tuple(NOTHING if each is None or each.low is None else ends(each) for each in (others, items))


def models_summary(models: Mapping[str, ModelFindings]) -> Group:
    """Sentences first, then figures and classes, and the data behind them."""
    parts: list[RenderableType] = [Text(sentences.model_sentence(model), style="bold") for model in models.values()]
    titles = {"name": "", "model": "with people", "people": "two people", "ends": "interval"}
    rows = [(printable(model.name), *_model_row(model)) for model in models.values()]
    parts += [Text(), Listed(columns("name:name model people difference ends", titles), rows)]
    for model in models.values():
        clear = [row for row in model.classes if row.p_holm is not None and row.p_holm <= 1 - row.difference.level]
        if clear:
            title = f"\nClasses on which {printable(model.name)} differs from a person, out of {len(model.classes)}"
            meaning = "how often the model, or another person, chose it where a person did (for these people)"
            rows = [(printable(row.label), *_model_row(row)) for row in clear]
            head = columns("class:name model person difference ends", {"ends": "interval"})
            parts += [Text(f"{title}: {meaning}"), Listed(head, rows)]
        if model.marks:
            meets = [(FIGURES[each.label], *_model_row(each)) for each in model.marks]
            title = f"\nWhat marks of {printable(model.name)} and people meet at each other, and those of two people"
            titles = {"name": "", "ends": "interval"}
            parts += [Text(title), Listed(columns("name:name model people difference ends", titles), meets)]
        parts += [Text(), Text("\n".join(sentences.model_details(model)), style="dim")]
    return Group(*parts)


def _model_row(of: ModelFindings | ClassAgreement) -> tuple[str, str, str, str]:
    gap = of.difference
    return figure(of.with_humans.value), figure(of.humans.value), change(gap.value), span(gap)


def groups_summary(groups: Groups) -> Group:
    """One line per group, agreement between groups of annotators, and which groups differ."""
    title = Text(f"By {printable(groups.column)} (groups of {groups.of})", style="bold")
    lines = sentences.group_lines(groups)
    rows = []
    for name, spa, items, _ in lines:
        ends = (f"none: {spa.undefined}", "") if spa.low is None else both(spa)
        rows.append((name, f"{items:,}", figure(spa.value), *ends))
    table = Listed(columns("group:name items agreement others:words these:words", BOTH), rows)
    said = [Padding(Text(words), (0, 2)) for words in sentences.differences_in_words(groups)]
    return Group(title, *said, Padding(table, (0, 2)))


def questions_summary(answers: Mapping[str, tuple[Estimate, int, int]]) -> Group:
    """One line per question, for an appendix: the figure, its intervals, the items and annotations behind it."""
    rows = []
    for name, (spa, items, total) in answers.items():
        ends = (f"none: {spa.undefined}", "") if spa.low is None else both(spa)
        rows.append((printable(name, 60), figure(spa.value), *ends, f"{items:,}", f"{total:,}"))
    head = columns("question:name agreement others:words these:words items annotations", BOTH)
    return Group(Text("All questions", style="bold"), Padding(Listed(head, rows), (0, 2)))


# Plans and development ----------------------------------------------------------------------------


def plan_table(rows: sentences.Rows) -> Listed:
    """Every route and number of annotations per item, the best marked; only the best if there are many rows."""
    listed, only_best = sentences.listed_plans(rows), sentences.is_best_only(rows)
    several = len({sentences.half_width(row) for row in listed}) > 1
    head = columns(
        "best:name route:name per_item items more half_width between done",
        {"best": "", "per_item": "per item", "more": "annotations to make", "half_width": "half-width"},
        ("between", "done") if several else ("between", "half_width", "done"),
    )
    filled = [
        (
            "▸" if row["best"] and not only_best else "",
            sentences.ROUTES[row["route"]],
            _whole(row, "annotations_per_item"),
            _whole(row, "items"),
            _whole(row, "more_annotations"),
            sentences.half_width(row),
            sentences.half_width_range(row),
            row.get("done") or "",
        )
        for row in listed
    ]
    return Listed(head, filled)


def _whole(row: Mapping[str, Any], name: str) -> str:
    """A count, – if it is unknown, nothing if the plan does not have it."""
    value = row.get(name, "")
    return "–" if value is None else f"{value:,}" if value != "" else ""


def development_table(rows: sentences.Rows, what: str = "SPA") -> Listed:
    """One row per step: agreement up to then, and agreement on the items finished most recently."""
    times = [row["time"] if isinstance(row["time"], str) else moment(float(row["time"])) for row in rows]
    dated = [{**row, "when": when} for row, when in zip(rows, times, strict=True)]
    return listed(dated, development_columns(what))


# Tables of any width ------------------------------------------------------------------------------


class Listed:
    """A table without lines, of which no number is ever cut; empty columns are left out.

    If it is too wide for the terminal, titles, names and words are folded; then spare columns go, one by one, and
    are named; then the cells of a row are put below each other.
    """

    def __init__(self, columns: Sequence[Column], rows: Iterable[Sequence[str]], styles: Sequence[str] = ()) -> None:
        filled = list(rows)
        self.styles = styles or [""] * len(filled)
        known = [(column, [row[place] for row in filled]) for place, column in enumerate(columns)]
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
    """The width of columns with their cells, as they are, or with titles on several lines and cells of this width."""
    widths = []
    for column, cells in filled:
        title = max(map(cell_len, [column.title] if folded is None else column.title.split()), default=0)
        longest = max(map(cell_len, cells))
        widths.append(max(title, min(longest, folded) if folded and column.is_folded else longest))
    return sum(widths) + GAP * (len(widths) - 1)


def listed(rows: Sequence[Mapping[str, Any]], columns: Sequence[Column]) -> Listed:
    """These columns of some rows for a terminal; rows on few items are dim, their figures marked with *."""
    shown = [[cell(row, column).shown for column in columns] for row in rows]
    return Listed(columns, shown, ["dim" if row.get("few") else "" for row in rows])


def rendered(shown: RenderableType, width: int = 100) -> str:
    """The terminal's output as plain text."""
    page = StringIO()
    Console(width=width, color_system=None, file=page, emoji=False).print(shown)
    return "\n".join(line.rstrip() for line in page.getvalue().splitlines())
