"""`spagree score`: the number, its interval and what to know about both."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import isfinite
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any

import click

from spagree.agreement import Agreement, report_questions
from spagree.cli.console import complain, draw, note, print_json, say, working
from spagree.cli.flags import (
    Command,
    figures_as_json,
    measured_spans,
    option,
    options_of,
    source_options,
    statistic,
    to_python,
)
from spagree.errors import SpagreeError, UsageError, for_command_line, unknown_name
from spagree.estimate.anytime import check_target
from spagree.estimate.chance import COEFFICIENTS
from spagree.measuring import measure_each, measured
from spagree.options import TOOLS, Estimating, is_of_spans
from spagree.present.document import earlier_figures, returned_rows
from spagree.present.sentences import explain_returned
from spagree.present.words import figure, printable
from spagree.write import refuse_existing

if TYPE_CHECKING:
    from spagree.spans import SpanAgreement

GATE_NOT_MET = 1
SPA = "spa"


@click.command(cls=Command)
@source_options()
@options_of(Estimating)
@option("--all-questions", is_flag=True, group=TOOLS, help="Score each question of a table or of a tool's export.")
@statistic(
    "--require",
    multiple=True,
    metavar="X",
    help="Exit with 1 if the interval's lower end is below X; krippendorff_alpha=X for a coefficient. May be repeated.",
)
@option("--assignment", metavar="FILE", help="Also compare with the assignment that spagree assign wrote to FILE.")
@statistic(
    "--target", type=float, metavar="X", help="The agreement you want, drawn in the report.  [default: --require]"
)
@option("-v", "--verbose", is_flag=True, help="Also show all weighting schemes, coefficients and checks.")
@figures_as_json
@option("--report", metavar="FILE", help="Also write one HTML page with charts and tables, to look at or send.")
@option("--since", metavar="FILE", help="An earlier report or its JSON; the report says what changed since.")
@option("--export", metavar="FOLDER", help="Also write every table as CSV and all figures as JSON.")
@option("--force", is_flag=True, help="Replace existing files.")
def score(
    *,
    as_json: bool,
    verbose: bool,
    require: Sequence[str],
    all_questions: bool,
    assignment: str | None,
    report: str | None,
    target: float | None,
    since: str | None,
    export: str | None,
    force: bool,
    **options: Any,
) -> None:
    """Measure the agreement in SOURCE: files, globs, - for standard input, or example:NAME.

    Long tables (one annotation per row), wide tables (items × annotators) and count tables (items ×
    classes); CSV, TSV, JSON lines, Parquet, Arrow, Excel, plain or as .gz/.zst; saved tallies. Exports of
    Label Studio, Prodigy, doccano, Argilla, MTurk, Ground Truth, Appen, Toloka, Labelbox, potato and others.
    Databases: postgresql://… or an SQLite file, with --query. Spans: a table of item, annotator, start,
    end and label, recognised or with --format spans.
    """
    if is_of_spans(options):
        unused = {"export": export, "all_questions": all_questions, "assignment": assignment, "since": since}
        _print_spans(measured_spans(options, **unused, target=target), require, as_json, report, force)
        return
    gates = [_gate(typed) for typed in require]
    if target is None:
        target = next((least for figure, least in gates if figure == SPA), None)
    if all_questions and export:
        raise UsageError("--export takes one question; choose it with --question instead of --all-questions")
    _refuse_early(report, since, export, target, force)

    with working("counting annotations"):
        arguments = to_python(options)
        source = arguments.pop("source")
        if all_questions:
            outcomes = dict(measure_each(source, **arguments))
        else:
            outcomes = {"": measured(source, arguments, in_full=bool(report or export))}
    outcomes = {
        question: each if isinstance(each, SpagreeError) else replace(each, told=for_command_line)
        for question, each in outcomes.items()
    }
    agreements = {question: each for question, each in outcomes.items() if not isinstance(each, SpagreeError)}
    if agreements:
        _print_all(agreements, as_json, verbose, assignment, target)

    # which files were written is said on stderr: standard output is for the figures
    if report and agreements:
        with working("drawing the report"):
            if all_questions:
                report_questions(outcomes, report, target=target, since=since, force=force)
            else:
                agreements[""].report(report, target=target, since=since, force=force)
        note(f"wrote {report}")
    if export and agreements:
        with working("writing tables"):
            paths = agreements[""].export(export, force=force)
        note(f"wrote {len(paths)} files to {export}")

    troubles = list(_troubles(outcomes, gates))
    for _, message in troubles:
        complain(message)
    if troubles:
        sys.exit(max(code for code, _ in troubles))


def _print_spans(found: SpanAgreement, require: Sequence[str], as_json: bool, report: str | None, force: bool) -> None:
    """Agreement on spans, the page if it is wanted, and whether it is what is required."""
    from spagree.present.spans import spans_summary  # what labels do not need is not loaded for them

    least = [_gate(typed) for typed in require]
    if any(name != SPA for name, _ in least):
        raise UsageError("--require takes a number for spans: what the interval's lower end must reach")
    if as_json:
        print_json(for_command_line(found.to_dict()))
    else:
        draw(spans_summary(found.told, for_command_line(found.groups)))
    if report:
        with working("drawing the report"):
            found.report(report, force=force)
        note(f"wrote {report}")
    low = found.exact.low
    if found.exact.value is None:
        raise SpagreeError(found.exact.undefined or "")
    if any(low is None or low < number for _, number in least):
        complain(f"gate not met: the interval's lower end is {figure(low)}; {max(least)[1]} is required")
        sys.exit(GATE_NOT_MET)


def _gate(typed: str) -> tuple[str, float]:
    """What the lower end of an interval must reach: X for SPA, or COEFFICIENT=X."""
    name, _, number = typed.rpartition("=")
    name = name or SPA
    if name not in (SPA, *COEFFICIENTS):
        raise unknown_name("coefficient in --require", name, (SPA, *COEFFICIENTS))
    lowest = 0 if name == SPA else -1
    try:
        least = float(number)
    except ValueError:
        raise UsageError(f"--require {typed!r}: not a number; write for example --require 0.7") from None
    if not isfinite(least) or not lowest <= least <= 1:
        raise UsageError(f"--require {typed}: agreement lies between {lowest} and 1, for example 0.7 for 70%")
    return name, least


def _refuse_early(report: str | None, since: str | None, export: str | None, target: float | None, force: bool) -> None:
    """What would fail after counting: existing files, a missing extra, an unreadable report."""
    if since and not report:
        raise UsageError("--since is shown in the report; add --report FILE")
    if report:
        from spagree.present.report.page import template

        template("page.html.j2")
        refuse_existing(report, force=force)
        check_target(target)
        if since:
            earlier_figures(since)
    if export:
        refuse_existing(Path(export) / "agreement.json", force=force)


def _print_all(
    agreements: Mapping[str, Agreement], as_json: bool, verbose: bool, assignment: str | None, target: float | None
) -> None:
    """The agreement, or one per question under its name."""
    came = {question: each.returned(assignment) for question, each in agreements.items()} if assignment else {}
    if as_json:
        checked = {question: {"assignment": returned_rows(each)} for question, each in came.items()}
        documents = {question: each.to_dict() | checked.get(question, {}) for question, each in agreements.items()}
        print_json(documents.get("", {"questions": documents}))
        return
    from spagree.present.terminal import groups_summary, questions_summary, summary
    from spagree.present.verdicts import tell

    for place, (question, agreement) in enumerate(agreements.items()):
        if question:
            say(("\n" if place else "") + f"══ {printable(question, 80)} ══")
        understood = for_command_line(agreement.understood)
        draw(summary(tell(agreement.summed_up(target), agreement.source, understood, target), verbose=verbose))
        if agreement.groups is not None:
            say("")
            draw(groups_summary(for_command_line(agreement.groups)))
        if question in came:
            say("\n" + explain_returned(came[question], get_terminal_size().columns))
    if len(agreements) > 1:
        say("")
        draw(questions_summary({name: (a.spa, a.data.items, a.data.annotations) for name, a in agreements.items()}))


def _troubles(
    outcomes: Mapping[str, Agreement | SpagreeError], gates: Sequence[tuple[str, float]]
) -> Iterator[tuple[int, str]]:
    """Questions without a number, then those that do not meet a gate: an exit code and a message for each."""
    names = {question: f"question {question!r}: " if question else "" for question in outcomes}
    for question, outcome in outcomes.items():
        error = outcome
        if isinstance(error, Agreement):
            if error.spa.value is not None:
                continue
            error = SpagreeError(error.spa.undefined or "")
        yield error.exit_code, f"spagree: {names[question]}{error.message.typed()}"
    for name, least in gates:
        coefficient = "" if name == SPA else f" of {name}"
        for question, outcome in outcomes.items():
            if isinstance(outcome, SpagreeError):
                continue
            low = (outcome.spa if name == SPA else outcome.chance[name]).low
            if low is None:
                found = f"there is no interval{coefficient}"
            elif low < least:
                found = f"the interval's lower end{coefficient} is {figure(low)}"
            else:
                continue
            yield GATE_NOT_MET, f"gate not met: {names[question]}{found}; {least} is required"
