"""What is said about agreement on marks: the record and the mechanisms of labels, in words for marks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Group
from rich.text import Text

from spagree.errors import count
from spagree.estimate.actions import PRECISE, Step, precision
from spagree.estimate.checks import ROUGH
from spagree.estimate.comparison import Groups
from spagree.estimate.marks import FIGURES_OF_MARKS, NO_PLACES, MarkFindings
from spagree.estimate.uncertainty import half_interval
from spagree.present.document import FIGURE, FOR_WHOM, HEAD, STEP, estimate, groups_document, named
from spagree.present.next_steps import Source, next_steps
from spagree.present.terminal import ends, groups_summary, in_short, step_lines, understood_lines
from spagree.present.verdicts import Checked, Said, summed_up, with_notes
from spagree.present.words import FIGURES, figure, left_out, p_value, percent, plus_minus, quoted
from spagree.read.annotations import Understood

COUNTS = ("items", "annotations", "annotators", "marks", "empty", "pairable_items", "labels", "left_out")
WORTH_A_STEP = 0.1  # of all marks, besides what most of them meet
MET = ("other_label", "other_boundaries", "both", "nothing")  # besides the same mark: each of them is a step


@dataclass(frozen=True, slots=True)
class ToldSpans(Said):
    """Agreement on marks with what is said about it."""

    findings: MarkFindings


def tell_spans(findings: MarkFindings, source: Source | None = None, understood: Understood | None = None) -> ToldSpans:
    """Put checks, verdict and steps into words; without a source, as for a tally, there are no steps."""
    exact, data, words = findings.exact, findings.data, [*spans_sentences(findings)]
    checked = with_notes(_checks(findings), findings.warnings, "look")
    shares = {name: findings.outcomes[name].value or 0.0 for name in MET}
    met = [name for name in sorted(MET, key=lambda name: -shares[name]) if shares[name]]
    steps = [Step(name, (), {"share": shares[name]}) for name in met if name == met[0] or shares[name] >= WORTH_A_STEP]
    steps += precision(exact, data.annotators, data.pairable_items)
    to_do = next_steps(steps, source) if source else ()
    return ToldSpans(exact, words, understood, checked, summed_up(exact, checked), to_do, findings)


def _checks(findings: MarkFindings) -> Iterator[Checked]:
    """What tells whether the number can be quoted, besides the warnings."""
    exact, data, test = findings.exact, findings.data, findings.missingness
    share, half = percent(data.pairable_items / max(1, data.items)), half_interval(exact)
    yield Checked("fine", "Coverage", f"{share} of the texts were seen by two people or more.", figure=share)
    if exact.value is not None and half is None:
        yield Checked("look", "Precision", f"There is no interval: {exact.undefined}.", "there is no interval")
    elif half is not None:
        state, about = "fine" if half <= PRECISE else "look" if half <= ROUGH else "problem", plus_minus(half)
        reason = "" if state == "fine" else f"it is known only to {about}"
        yield Checked(state, "Precision", f"The number is known to about {about}.", reason, about)
    if test.p is not None and not test.broken:
        words = f"No evidence that agreement depends on how many saw a text ({p_value(test.p)})."
        yield Checked("fine", "Assumption", words, figure=p_value(test.p))


def spans_document(told: ToldSpans, groups: Groups | None = None) -> dict[str, Any]:
    """The documented JSON of agreement on marks; an undefined figure says why."""
    findings, test = told.findings, told.findings.missingness
    figures = {name: getattr(findings, name) for name in (*FIGURES_OF_MARKS, "characters_beyond_chance")}
    whole = {
        **HEAD,
        "spans": {
            **{name: estimate(each, (*FIGURE, *FOR_WHOM)) for name, each in figures.items()},
            "marks": {name: estimate(each, (*FIGURE, *FOR_WHOM)) for name, each in findings.outcomes.items()},
            "seen": findings.seen,
            "level": findings.exact.level,
            "weights": findings.exact.weights,
        },
        "data": named(findings.data, COUNTS),
        "missingness": named(test, ("z", "p")),
        "verdict": named(told.verdict, ("state", "sentence")),
        "next": [named(step, STEP) for step in told.steps],
        "warnings": [named(warning, ("code", "message")) for warning in findings.warnings],
    }
    if groups is None:
        return whole
    return whole | groups_document(groups, lambda name: spans_document(tell_spans(groups.findings[name])))


def spans_summary(told: ToldSpans, groups: Groups | None = None) -> Group:
    """What a terminal shows: the number, what it means, the verdict; what marks meet, and what to do next."""
    findings, data, characters = told.findings, told.findings.data, told.findings.characters
    unknown = "   (who marked nothing is not known: too high)" if findings.seen == "unknown" else ""
    known = {name: each for name, each in findings.outcomes.items() if each.undefined != NO_PLACES}
    met = " · ".join(f"{FIGURES[name]} {percent(each.value)}" for name, each in known.items())
    beyond = findings.characters_beyond_chance
    why = f" ({beyond.undefined})" if beyond.value is None else ""
    places = [
        f"{figure(characters.value)}{ends(characters)}",
        f"beyond chance {figure(beyond.value)}{ends(beyond)}{why}",
    ]
    seen = f"{data.pairable_items:,} of {count(data.items, 'item')} seen by two annotators or more"
    made = f"{count(data.marks, 'mark')} by {count(data.annotators, 'annotator')}"
    visits = f"{count(data.annotations, 'annotation')}, {data.empty:,} without a mark"
    lost = [f"left out: {count(size, 'annotation')}: {left_out(why)}" for why, size in data.left_out.items()]
    rows = {
        "Meets": [] if told.shown.value is None else [Text(f"at another annotator a mark meets {met}")],
        "Next": step_lines(told.steps),
        "Characters": [] if characters.value is None else [*map(Text, places)],
        "Read": [*map(Text, [*understood_lines(told.understood), f"{seen}; {made} in {visits}", *lost])],
    }
    summary = in_short("Spans", f"{ends(told.shown)}{unknown}", told, rows)
    return summary if groups is None else Group(summary, Text(), groups_summary(groups))


def spans_sentences(findings: MarkFindings) -> Iterator[str]:
    """The meaning of the figures for a manager."""
    exact, characters = findings.exact, findings.characters
    if exact.value is None:
        yield f"Agreement is undefined: {exact.undefined}."
        return
    labels = any(findings.data.labels)
    same = "exactly the same passage with the same label" if labels else "exactly the same passage"
    if characters.value is None:  # marks that are no places
        yield f"If one annotator makes a mark, another makes exactly the same one {percent(exact.value)} of the time."
        if labels:
            yield f"Whatever the label: {percent(findings.exact_any_label.value)}."
    else:
        yield (
            f"If one annotator marks a passage, another marks {same} {percent(exact.value)} of the time; "
            f"character by character, {percent(characters.value)}."
        )
        if labels:
            yield (
                f"Whatever the label: the same passage {percent(findings.exact_any_label.value)}, "
                f"characters {percent(findings.characters_any_label.value)}."
            )
    if exact.undefined:
        yield f"No interval, because {exact.undefined}."


LISTED = {
    "items": (
        ("agreement", "marks", "annotations", "item", "text"),
        "{item} loses most: another annotator makes {agreement} of its marks.",
    ),
    "classes": (
        ("agreement", "interval", "missed", "marks", "class"),
        "Of the marks called {class} another annotator makes {agreement}, the lowest share.",
    ),
    "annotators": (
        ("confirmed", "confirmed_interval", "found", "found_interval", "marks", "items", "annotator"),
        "Of the marks of {annotator} others confirm {confirmed}, the lowest share.",
    ),
    "pairs": (
        ("agreement", "interval", "shared", "marks", "annotator", "other"),
        "{annotator} and {other} agree least, on {agreement} of their marks.",
    ),
}
"""The columns of each list, of which the first tells what is lost, and what its first row says."""


def found_in_spans(table: str, rows: Sequence[Mapping[str, Any]]) -> str:
    """What the first row of a table says, which is the one that loses most; or why there is none.

    >>> found_in_spans("pairs", [{"annotator": "ann", "other": "bob", "agreement": 0.25}])
    'ann and bob agree least, on 25% of their marks.'
    """
    (lost, *_), says = LISTED[table]
    first = next((row for row in rows if row[lost] is not None), None)
    if first is None:
        return "No item was seen by two annotators who marked something, so there is nothing to compare."
    names = {name: quoted(value) for name, value in first.items() if isinstance(value, str)}
    return says.format(**names, **{lost: percent(first[lost])})
