"""Agreement on marks as plain values, and in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from spagree.errors import count
from spagree.estimate import Estimate
from spagree.estimate.actions import PRECISE, precision
from spagree.estimate.checks import ROUGH
from spagree.estimate.comparison import Groups
from spagree.estimate.marks import FIGURES_OF_MARKS, NO_PLACES, MarkFindings
from spagree.estimate.uncertainty import ANNOTATORS, ITEMS, half_interval
from spagree.present.document import FIGURE, FOR_WHOM, HEAD, STEP, estimate, groups_document, named
from spagree.present.next_steps import MOST, NextStep, Source, next_steps
from spagree.present.terminal import groups_summary, step_lines, understood_lines
from spagree.present.verdicts import WORST_FIRST, Checked, Verdict, summed_up
from spagree.present.words import (
    FIGURES,
    STATES,
    escape_controls,
    figure,
    interval,
    left_out,
    p_value,
    percent,
    plus_minus,
    quoted,
    sentence,
)
from spagree.read.annotations import Understood

COUNTS = ("items", "annotations", "annotators", "marks", "empty", "pairable_items", "labels", "left_out")
WORTH_A_STEP = 0.1  # of all marks, besides what most of them meet
STEPS = {
    "other_label": ("Define the labels that people exchange.", "classes", "where"),
    "other_boundaries": ("Say in the guideline where a mark begins and ends.", "items", "items"),
    "both": ("Look at a few texts together.", "items", "items"),
    "nothing": ("Say what must be marked, and look at who finds what.", "annotators", "people"),
}
"""What to do about marks that meet something else: in words, by which command, and where on the page."""
REMARKS = {
    "unseen_unknown": ("problem", "it is not known who marked nothing"),
    "not_random": ("problem", "agreement depends on how many people saw a text"),
    "not_a_person": ("look", "one annotator looks like a model or a decision"),
}
"""Warnings that say something about the number itself: how bad, and in the words of the verdict."""
WHOM = {ANNOTATORS: "for other annotators", ITEMS: "for these"}


def spans_document(
    findings: MarkFindings, groups: Groups | None = None, source: Source | None = None
) -> dict[str, Any]:
    """The documented JSON of agreement on marks; an undefined figure says why."""

    def plain(shown: Estimate) -> dict[str, Any]:
        return estimate(shown, (*FIGURE, *FOR_WHOM))

    test = findings.missingness
    return {
        **HEAD,
        "spans": {
            **{name: plain(getattr(findings, name)) for name in (*FIGURES_OF_MARKS, "characters_beyond_chance")},
            "marks": {name: plain(each) for name, each in findings.outcomes.items()},
            "seen": findings.seen,
            "level": findings.exact.level,
            "weights": findings.exact.weights,
        },
        "data": named(findings.data, COUNTS),
        "missingness": named(test, ("z", "p")) | ({"undefined": test.undefined} if test.undefined else {}),
        "verdict": named(spans_verdict(findings), ("state", "sentence")),
        "next": [named(step, STEP) for step in spans_steps(findings, source)],
        "warnings": [named(warning, ("code", "message")) for warning in findings.warnings],
        **({} if groups is None else groups_document(groups, lambda name: spans_document(groups.findings[name]))),
    }


def spans_summary(
    findings: MarkFindings,
    understood: Understood | None = None,
    groups: Groups | None = None,
    source: Source | None = None,
) -> Group:
    """What a terminal shows: the number, what it means, the verdict; what marks meet, and what to do next."""
    unknown = "   (who marked nothing is not known: too high)" if findings.seen == "unknown" else ""
    first = Text(f"Spans {figure(findings.exact.value)}{both_limits(findings.exact)}{unknown}")
    said = spans_verdict(findings)
    verdict = Text(f"{said.icon} {said.sentence}", STATES[said.state].colour)
    rows = [*_rows(findings, understood)]
    if steps := step_lines(spans_steps(findings, source)):
        rows.insert(1, ("Next", Group(*steps)))
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, shown in rows:
        grid.add_row(name, shown)
    meaning = [*map(Text, spans_sentences(findings))]
    summary = Group(first, *meaning, *([] if findings.exact.value is None else [verdict]), Text(), grid)
    return summary if groups is None else Group(summary, Text(), groups_summary(groups))


def _rows(findings: MarkFindings, understood: Understood | None) -> Iterator[tuple[str, RenderableType]]:
    data, characters, beyond = findings.data, findings.characters, findings.characters_beyond_chance
    if findings.exact.value is not None:
        known = {name: each for name, each in findings.outcomes.items() if each.undefined != NO_PLACES}
        met = " · ".join(f"{FIGURES[name]} {_percent(each)}" for name, each in known.items())
        yield "Meets", f"at another annotator a mark meets {met}"
    if characters.value is not None:
        yield "Characters", f"{figure(characters.value)}{both_limits(characters)}"
        why = f" ({beyond.undefined})" if beyond.value is None else ""
        yield "", f"beyond chance {figure(beyond.value)}{both_limits(beyond)}{why}"
    seen = f"{data.pairable_items:,} of {count(data.items, 'item')} seen by two annotators or more"
    made = f"{count(data.marks, 'mark')} by {count(data.annotators, 'annotator')}"
    visits = f"{count(data.annotations, 'annotation')}, {data.empty:,} without a mark"
    lost = [f"left out: {count(size, 'annotation')}: {left_out(why)}" for why, size in data.left_out.items()]
    yield "Read", "\n".join([*understood_lines(understood), f"{seen}; {made} in {visits}", *lost])


def spans_steps(findings: MarkFindings, source: Source | None = None) -> tuple[NextStep, ...]:
    """What to do next: about what marks meet most besides the same mark, then about precision.

    There are no steps without a source: a tally cannot go on from there.
    """
    if source is None:
        return ()
    shares = {name: findings.outcomes[name].value or 0.0 for name in STEPS}
    steps: list[NextStep] = []  # without a finding: a terminal lists what marks meet
    for name in sorted(shares, key=lambda name: -shares[name])[:MOST]:
        if shares[name] and (not steps or shares[name] >= WORTH_A_STEP):
            words, command, link = STEPS[name]
            met = f"{percent(shares[name])} of marks meet {FIGURES[name]} at another annotator."
            typed = source.command(command, f"marks.{command}()")
            steps.append(NextStep(name, words, "", met, command, typed, link))
    more = precision(findings.exact, findings.data.annotators, findings.data.pairable_items)
    unplanned = [replace(step, figures={**step.figures, "stderr": 0.0}) for step in more]  # there is no plan for spans
    last = [
        replace(each, command=each.command.replace("agreement.", "marks.")) for each in next_steps(unplanned, source)
    ]
    return (*steps, *last)[:MOST]


def spans_checks(findings: MarkFindings) -> tuple[Checked, ...]:
    """What tells whether the number can be quoted, worst first; warnings among it."""
    exact, data, test = findings.exact, findings.data, findings.missingness
    share = percent(data.pairable_items / max(1, data.items))
    half = half_interval(exact)
    found = [Checked("fine", "Coverage", f"{share} of the texts were seen by two people or more.", figure=share)]
    if exact.value is not None and half is None:
        found.append(Checked("look", "Precision", f"There is no interval: {exact.undefined}.", "there is no interval"))
    elif half is not None:
        state = "fine" if half <= PRECISE else "look" if half <= ROUGH else "problem"
        reason = "" if state == "fine" else f"it is known only to {plus_minus(half)}"
        words = f"The number is known to about {plus_minus(half)}."
        found.append(Checked(state, "Precision", words, reason, plus_minus(half)))
    if test.p is not None and not test.broken:
        words = f"No evidence that agreement depends on how many saw a text ({p_value(test.p)})."
        found.append(Checked("fine", "Assumption", words, figure=p_value(test.p)))
    for warning in findings.warnings:
        state, remark = REMARKS.get(warning.code, ("look", ""))
        title, words = warning.code.replace("_", " ").capitalize(), sentence(escape_controls(warning.message))
        found.append(Checked(state, title, words, remark))
    return tuple(sorted(found, key=lambda each: WORST_FIRST.index(each.state)))


def spans_verdict(findings: MarkFindings) -> Verdict:
    """Whether the number can be quoted."""
    if findings.exact.value is None:
        return Verdict("problem", f"No number: {findings.exact.undefined}.")
    return summed_up(spans_checks(findings))


def spans_sentences(findings: MarkFindings) -> Iterator[str]:
    """The meaning of the figures for a manager."""
    exact, characters = findings.exact, findings.characters
    if exact.value is None:
        yield f"Agreement is undefined: {exact.undefined}."
        return
    labels = any(name for name in findings.data.labels)
    same = "exactly the same passage with the same label" if labels else "exactly the same passage"
    if characters.value is None:  # marks that are no places
        yield f"If one annotator makes a mark, another makes exactly the same one {percent(exact.value)} of the time."
        if labels:
            yield f"Whatever the label: {_percent(findings.exact_any_label)}."
    else:
        yield (
            f"If one annotator marks a passage, another marks {same} {percent(exact.value)} of the time; "
            f"character by character, {percent(characters.value)}."
        )
        if labels:
            yield (
                f"Whatever the label: the same passage {_percent(findings.exact_any_label)}, "
                f"characters {_percent(findings.characters_any_label)}."
            )
    if exact.undefined:
        yield f"No interval, because {exact.undefined}."


FOUND = {
    "items": "{item} loses most: another annotator makes {agreement} of its marks.",
    "classes": "Of the marks called {class} another annotator makes {agreement}, the lowest share.",
    "annotators": "Of the marks of {annotator} others confirm {confirmed}, the lowest share.",
    "pairs": "{annotator} and {other} agree least, on {agreement} of their marks.",
}


def found_in_spans(table: str, rows: Sequence[Mapping[str, Any]]) -> str:
    """What the first row of a table says, which is the one that loses most; or why there is none.

    >>> found_in_spans("pairs", [{"annotator": "ann", "other": "bob", "agreement": 0.25}])
    'ann and bob agree least, on 25% of their marks.'
    """
    figure_of = "confirmed" if table == "annotators" else "agreement"
    first = next((row for row in rows if row[figure_of] is not None), None)
    if first is None:
        return "No item was seen by two annotators who marked something, so there is nothing to compare."
    names = {name: quoted(value) for name, value in first.items() if isinstance(value, str)}
    return FOUND[table].format(**names, **{figure_of: percent(first[figure_of])})


def both_limits(shown: Estimate) -> str:
    """Every interval with whom it is for, the leading one first; empty without any."""
    order = sorted(shown.intervals, key=lambda name: name != shown.interval_for)
    known = [name for name in order if shown.intervals[name].low is not None]
    words = ", ".join(f"{interval(shown.intervals[name])} {WHOM[name]}" for name in known)
    return f"  {shown.level:.0%}: {words}" if words else ""


def _percent(shown: Estimate) -> str:
    return "undefined" if shown.value is None else percent(shown.value)
