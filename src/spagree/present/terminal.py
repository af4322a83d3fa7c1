"""Findings → a terminal summary to read at a glance."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from spagree.errors import count
from spagree.estimate import Estimate, Findings
from spagree.estimate.breakdown_values import Breakdowns
from spagree.estimate.checks import CANNOT_TELL, FINE, LOOK, PROBLEM, beyond_chance
from spagree.estimate.uncertainty import POPULATIONS
from spagree.estimate.weights import DEFAULT
from spagree.present.fitted import CHART, ENDS, Fitted, Heading
from spagree.present.sentence import REFERENCE, both_intervals, chance_gap, for_paper, headline, interval_name, whom
from spagree.present.verdicts import checked
from spagree.present.wording import escape_controls, figure, interval, label_list, left_out, number, percent, printable
from spagree.understood import Understood

CHART_WIDTH = 26
MOST_ROWS = 12
STYLES = {"ok": "green", "look": "yellow", "problem": "bold red"}
COLOURS = {FINE: "green", LOOK: "yellow", PROBLEM: "red", CANNOT_TELL: "yellow"}


def summary(breakdowns: Breakdowns, understood: Understood | None, *, verbose: bool = True) -> Group:
    """The summary as one rich renderable: short, or with every scheme, coefficient and check."""
    findings = breakdowns.findings
    details = _figures(findings) if verbose else ()
    checks = _checks(breakdowns, every=verbose) if findings.data.pairable_items else ()  # the headline says why
    return Group(
        _headline(findings),
        Text(),
        _facts(findings, understood),
        *details,
        *checks,
        *_warnings(findings),
        *_citation(breakdowns),
        *(() if verbose else _next_steps(findings)),
    )


def _headline(findings: Findings) -> Group:
    """The number, coloured by agreement beyond chance, and what it means."""
    spa = findings.spa
    colour = "red" if spa.value is None else COLOURS[beyond_chance(findings).state]
    line = Text.assemble("SPA ", (figure(spa.value), f"bold {colour}"))
    both = both_intervals(findings)
    if both:
        line.append(f"   {interval_name(spa)} {both}")
    if spa.value is not None and spa.weights != DEFAULT:
        line.append(f"   ({spa.weights} weights)")
    return Group(line, *map(Text, headline(findings)))


def _facts(findings: Findings, understood: Understood | None) -> Table:
    """What was read and how much of it could be used."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, lines in _fact_rows(findings, understood):
        grid.add_row(name, Text("\n".join(lines)))
    return grid


def _fact_rows(findings: Findings, understood: Understood | None) -> Iterator[tuple[str, list[str]]]:
    if understood is not None:
        yield "Read", _read_lines(understood)
    data = findings.data
    who = "annotators unknown" if data.annotators is None else count(data.annotators, "annotator")
    groups = "" if data.clusters is None else f" in {count(data.clusters, 'cluster')}"
    first = f"{count(data.items, 'item')}{groups}, {count(data.annotations, 'annotation')}, {who}"
    yield "Data", [first, f"{count(data.classes, 'class', 'classes')}: {label_list(data.labels)}"]
    yield "Coverage", _coverage_lines(findings)
    if findings.data.left_out:
        lost = findings.data.left_out.items()
        yield "Left out", [f"{count(size, 'annotation')}: {left_out(why)}" for why, size in lost]


def _read_lines(understood: Understood) -> list[str]:
    lines = [f"{printable(understood.source, 80)} as {understood.kind}"]
    if understood.columns:
        columns = ", ".join(f"{role} = {printable(name, 80)}" for role, name in understood.columns.items())
        lines.append(f"columns: {columns}")
    if understood.guessed:
        guessed = [role for role in understood.columns if role in understood.guessed]
        lines[-1] += f" ({', '.join(guessed)} guessed)" if len(guessed) < len(understood.columns) else " (guessed)"
    if understood.examples:
        lines.append(f"first row: {' · '.join(printable(cell, 40) for cell in understood.examples[0])}")
    return lines + [printable(rule, 200) for rule in understood.rules]


def _coverage_lines(findings: Findings) -> list[str]:
    data = findings.data
    share = f" ({percent(data.pairable_items / data.items)})" if data.items else ""
    used = f"{data.pairable_items:,} of {count(data.items, 'item')} can be used{share}"
    spread = data.annotations_per_item
    if spread:
        ends = f"{spread.min:,}–{spread.max:,}, median {number(spread.median)}"
        used += f"; annotations per item: {f'{spread.min:,}' if spread.min == spread.max else ends}"
    once = f"{count(data.unpairable_items, 'item')} with a single annotation: nothing to compare it with"
    return [used, once] if data.unpairable_items else [used]


def _checks(breakdowns: Breakdowns, *, every: bool) -> Iterator[RenderableType]:
    """Every check in the report's words; in the short summary only those that are not fine."""
    verdicts = [verdict for verdict in checked(breakdowns) if every or verdict.state != "ok"]
    if verdicts:
        yield Text("\nChecks", style="bold")
    for verdict in verdicts:
        yield _bullet(verdict.icon, f"{verdict.title}: {verdict.words}", STYLES[verdict.state])


def _bullet(sign: str, words: str, style: str = "") -> Table:
    """A sign, and beside it words that may take several lines."""
    grid = Table.grid(padding=(0, 1))
    grid.add_row(Text(f"  {sign}", style), Text(words, style))
    return grid


def _indented(words: str, style: str = "") -> Padding:
    return Padding(Text(words, style=style), (0, 2))


def _next_steps(findings: Findings) -> Iterator[RenderableType]:
    if findings.spa.value is None:
        return
    yield Text("\nMore", style="bold")
    yield _indented("-v: all weighting schemes, coefficients beyond chance, all checks")
    yield _indented("--report FILE: a page with charts; spagree items: where annotators disagree")


def _figures(findings: Findings) -> Iterator[RenderableType]:
    if findings.spa.value is None:
        return
    yield Text("\nWeighting schemes", style="bold")
    yield _scheme_table(findings)
    yield Text("\nCorrected for chance", style="bold")
    yield from _chance_figures(findings)
    if words := chance_gap(findings):
        yield _indented(words)
    if len(findings.missingness.by_n) > 1:
        yield Text("\nAgreement by number of annotations", style="bold")
        yield _by_n_table(findings)


def _scheme_table(findings: Findings) -> Fitted:
    rows = dict(findings.schemes)
    rows.setdefault(findings.spa.weights, findings.spa)  # custom weights
    table = Fitted(Heading("  scheme", is_right=False), Heading("agreement"), *_ends(findings), CHART)
    chart = IntervalChart(rows.values())
    for name, estimate in rows.items():
        style = "bold" if name == findings.spa.weights else ""
        marked = ("▸ " if style else "  ") + name
        table.add_row(marked, figure(estimate.value), *_limits(findings, estimate), chart.draw(estimate), style=style)
    return table


def _ends(findings: Findings) -> list[Heading]:
    """A column for each interval, the leading one first; the other is spare."""
    titles = list(whom(findings).values())
    if len(titles) < len(POPULATIONS):
        return [ENDS]
    return [replace(ENDS, title=titles[0]), replace(ENDS, title=titles[1], spare=2)]


def _limits(findings: Findings, estimate: Estimate) -> list[str]:
    """The intervals of an estimate for these columns."""
    names = list(whom(findings))
    if len(names) < len(POPULATIONS):
        return [interval(estimate)]
    return [interval(estimate.intervals[name]) if name in estimate.intervals else "undefined" for name in names]


def _chance_figures(findings: Findings) -> Iterator[RenderableType]:
    """Every coefficient, and why some are undefined."""
    defined = {name: each for name, each in findings.chance.items() if each.value is not None}
    parts = (Heading("observed", spare=1), Heading("by chance", spare=0))
    table = Fitted(Heading("  coefficient", is_right=False), Heading("value"), *_ends(findings), *parts)
    for name, each in defined.items():
        figures = (figure(each.observed), figure(each.expected))
        table.add_row(f"  {name}", figure(each.value), *_limits(findings, each), *figures)
    yield table
    reasons: dict[str, list[str]] = {}
    for name, each in findings.chance.items():
        if name not in defined:
            reasons.setdefault(str(each.undefined), []).append(name)
    for reason, names in reasons.items():
        yield _indented(f"{', '.join(names) if defined else 'All'} undefined: {reason}.")


def _by_n_table(findings: Findings) -> Fitted:
    rows = findings.missingness.by_n[:MOST_ROWS]
    table = Fitted(Heading("  annotations"), Heading("items", spare=1), Heading("agreement"), ENDS, CHART)
    chart = IntervalChart([row.agreement for row in rows])
    for row in rows:
        mean = row.agreement
        table.add_row(f"{row.n:,}", f"{row.items:,}", figure(mean.value), interval(mean), chart.draw(mean))
    hidden = len(findings.missingness.by_n) - len(rows)
    if hidden:
        table.add_row("…", f"{hidden:,} more", "", "", "")
    return table


class IntervalChart:
    """Intervals on one scale: overlap is visible without reading numbers."""

    def __init__(self, estimates: Iterable[Estimate]) -> None:
        ends = [end for spa in estimates for end in (spa.low, spa.high, spa.value) if end is not None]
        self.low, self.high = min(ends, default=0.0), max(ends, default=1.0)

    def draw(self, estimate: Estimate) -> str:
        """One line: ├───●───┤."""
        if estimate.value is None:
            return ""
        cells = [" "] * (CHART_WIDTH + 1)
        if estimate.low is not None and estimate.high is not None:
            start, end = self._place(estimate.low), self._place(estimate.high)
            cells[start : end + 1] = "─" * (end - start + 1)
            cells[start], cells[end] = "├", "┤"
        cells[self._place(estimate.value)] = "●"
        return "".join(cells).rstrip()

    def _place(self, value: float) -> int:
        width = self.high - self.low
        return round((value - self.low) / width * CHART_WIDTH) if width else CHART_WIDTH // 2


def _warnings(findings: Findings) -> Iterator[RenderableType]:
    if findings.warnings:
        yield Text("\nWarnings", style="bold yellow")
    for caution in findings.warnings:
        yield _bullet("!", escape_controls(caution.message))


def _citation(breakdowns: Breakdowns) -> Iterator[RenderableType]:
    if breakdowns.findings.spa.value is None:
        return
    yield Text("\nFor your paper", style="bold")
    yield _indented(for_paper(breakdowns))
    yield _indented(REFERENCE, "dim")
