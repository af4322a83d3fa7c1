"""`spagree score`: the number, its interval and what to know about both."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from spagree.cli.console import draw, note, print_json, say, terminal_width, working
from spagree.cli.options import Command, figures_as_json, option, options_of, reading_options, to_python
from spagree.errors import SpagreeError, UsageError, unknown_name
from spagree.options import STATISTICS, TOOLS, Estimating

if TYPE_CHECKING:
    from spagree.agreement import Agreement

GATE_NOT_MET = 1
SPA = "spa"


@click.command(cls=Command)
@reading_options()
@options_of(Estimating)
@option("--all-questions", is_flag=True, group=TOOLS, help="Score each question of a table or of a tool's export.")
@option(
    "--require",
    multiple=True,
    metavar="X",
    group=STATISTICS,
    help="Exit with 1 if the interval's lower end is below X; krippendorff_alpha=X for a coefficient. May be repeated.",
)
@option("--assignment", metavar="FILE", help="Also compare with the assignment that spagree assign wrote to FILE.")
@option(
    "--target",
    type=float,
    metavar="X",
    group=STATISTICS,
    help="The agreement you want, drawn in the report.  [default: --require]",
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
    Databases: postgresql://… or an SQLite file, with --query.
    """
    from spagree.agreement import report_questions
    from spagree.measuring import measure, measure_each, measure_in_full

    gates = [_gate(typed) for typed in require]
    if target is None:
        target = next((least for figure, least in gates if figure == SPA), None)
    if all_questions and export:
        raise UsageError("--export takes one question; choose it with --question instead of --all-questions")
    _check_files(report, since, export, target, force)

    with working("counting annotations"):
        arguments = to_python(options)
        one = measure_in_full if report or export else measure
        outcomes = dict(measure_each(**arguments)) if all_questions else {"": one(**arguments)}
    agreements = {question: each for question, each in outcomes.items() if not isinstance(each, SpagreeError)}
    if agreements:
        _print_all(agreements, as_json, verbose, assignment)

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

    codes = [_complain(question, outcome) for question, outcome in outcomes.items()]
    codes += [_missed(figure, least, agreements) for figure, least in gates]
    if worst := max(codes, default=0):
        sys.exit(worst)


def _gate(typed: str) -> tuple[str, float]:
    """What the lower end of an interval must reach: X for SPA, or COEFFICIENT=X."""
    from spagree.estimate.chance import COEFFICIENTS

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


def _check_files(report: str | None, since: str | None, export: str | None, target: float | None, force: bool) -> None:
    """Refuse before counting what would fail after it: existing files, a missing extra, an unreadable report."""
    from spagree.write import refuse_existing

    if since and not report:
        raise UsageError("--since is shown in the report; add --report FILE")
    if report:
        from spagree.estimate.since import check_target
        from spagree.present.earlier import earlier_figures
        from spagree.present.report.page import template

        template("page.html.j2")
        refuse_existing(report, force=force)
        check_target(target)
        if since:
            earlier_figures(since)
    if export:
        refuse_existing(Path(export) / "agreement.json", force=force)


def _print_all(agreements: Mapping[str, Agreement], as_json: bool, verbose: bool, assignment: str | None) -> None:
    """The agreement, or one per question under its name."""
    from spagree.present.terminal import summary
    from spagree.present.wording import printable

    came = {question: each.returned(assignment) for question, each in agreements.items()} if assignment else {}
    if as_json:
        from spagree.present.designs import returned_rows

        checked = {question: {"assignment": returned_rows(each)} for question, each in came.items()}
        documents = {question: each.to_dict() | checked.get(question, {}) for question, each in agreements.items()}
        print_json(documents.get("", {"questions": documents}))
        return
    for place, (question, agreement) in enumerate(agreements.items()):
        if question:
            say(("\n" if place else "") + f"══ {printable(question, 80)} ══")
        about = agreement.measurement.summary(agreement.findings)
        draw(summary(about, agreement.understood, verbose=verbose))
        if agreement.groups is not None:
            from spagree.present.group_words import groups_summary

            say("")
            draw(groups_summary(agreement.groups))
        if question in came:
            from spagree.present.designs import explain_returned

            say("\n" + explain_returned(came[question], terminal_width()))


def _complain(question: str, outcome: Agreement | SpagreeError) -> int:
    """Print why a question has no number; return the exit code for it."""
    from spagree.present.wording import escape_controls

    if not isinstance(outcome, SpagreeError):
        if outcome.spa.value is not None:
            return 0
        outcome = SpagreeError(str(outcome.spa.undefined))
    note(f"spagree: {escape_controls(_about(question) + str(outcome))}")
    return outcome.exit_code


def _missed(figure: str, least: float, agreements: Mapping[str, Agreement]) -> int:
    """Print which questions do not meet a gate; return the exit code for it."""
    from spagree.present.wording import escape_controls
    from spagree.present.wording import figure as shown

    code, coefficient = 0, "" if figure == SPA else f" of {figure}"
    for question, agreement in agreements.items():
        low = (agreement.spa if figure == SPA else agreement.chance[figure]).low
        if low is None:
            found = f"there is no interval{coefficient}"
        elif low < least:
            found = f"the interval's lower end{coefficient} is {shown(low)}"
        else:
            continue
        note(f"gate not met: {escape_controls(_about(question))}{found}; {least} is required")
        code = GATE_NOT_MET
    return code


def _about(question: str) -> str:
    return f"question {question!r}: " if question else ""
