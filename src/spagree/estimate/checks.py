"""What a careful colleague checks, as values: a code, a state, and the figures behind it. Words live in present/."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Literal

from spagree.counts.fetch import NO_ANNOTATORS
from spagree.errors import Absent, Message
from spagree.estimate.actions import COPIES, ONE_LABEL, PEOPLE, PRECISE, SCALE, Step
from spagree.estimate.breakdowns import Breakdowns
from spagree.estimate.findings import LOW_COVERAGE, Findings, outermost
from spagree.estimate.uncertainty import ANNOTATORS, FEW_ITEMS, ITEMS, half_interval

State = Literal["fine", "look", "problem", "cannot_tell"]
FINE: State = "fine"
LOOK: State = "look"
PROBLEM: State = "problem"
CANNOT_TELL: State = "cannot_tell"

ROUGH = 0.1  # half of the interval
DOUBTFUL = 0.05  # p of the assumption test below which it is worth a look
MUCH_LEFT_OUT = 0.1
MUCH_ALONE = 0.01  # of the annotations, by people who share no item with anybody
MUCH_BLIND = 0.25  # of the annotations, by people who give one label to everything
LOW_KAPPA = 0.41  # below it, more data that reach down to 0 would not tell a different story
Z_80 = 0.84  # normal quantile for a power of 80%

Figures = dict[str, float | int | None]


@dataclass(frozen=True, slots=True)
class Check:
    """One check; ``figures`` are plain numbers, or None if undefined."""

    code: str
    state: State
    figures: Mapping[str, float | int | None] = field(default_factory=dict)
    reason: str | None = None
    """Why it was not checked, and how to check it; None if it was."""


def checks(breakdowns: Breakdowns) -> tuple[Check, ...]:
    """Every check, in the order a reader asks."""
    findings, steps = breakdowns.findings, breakdowns.steps
    of_findings = [check(findings) for check in (coverage, assumption, weights, beyond_chance)]
    of_steps: tuple[Check, ...] = ()
    if not isinstance(steps, Absent):
        found = {step.code: step for step in steps}
        near = found[SCALE].figures["share"] if SCALE in found else None  # labels compared as names behave like a scale
        labels = Check("labels", FINE if near is None else LOOK, {"neighbours": near})
        of_steps = (people(found, findings), labels)
    return (precision(breakdowns), *of_findings, overlap(breakdowns), *of_steps, left_out(findings))


def precision(breakdowns: Breakdowns) -> Check:
    """How well the number is known, for these annotators and for others like them, and on whom it depends.

    A wide interval for other annotators is an honest answer, worth a look; one for these says that items are missing.
    """
    findings, people = breakdowns.findings, breakdowns.concentration
    half = half_interval(findings.spa)
    these, others = (half_interval(findings.spa.intervals.get(name)) for name in (ITEMS, ANNOTATORS))
    busiest: Figures = {"busiest_share": None, "half": None, "half_share": None}
    if not isinstance(people, Absent):
        busiest = {"busiest_share": people.share, "half": people.half, "half_share": people.share_of_half}
    figures: Figures = {"half_width": half, "half_width_items": these, "half_width_annotators": others}
    figures |= {"items": findings.data.pairable_items, "annotators": findings.data.annotators, **busiest}
    if half is None or (these or 0.0) > ROUGH:
        return Check("precision", PROBLEM, figures)
    return Check("precision", FINE if half <= PRECISE else LOOK, figures)


def coverage(findings: Findings) -> Check:
    """How many items can be used at all."""
    data = findings.data
    if not data.pairable_items:
        return Check("coverage", PROBLEM, {"share": 0.0 if data.items else None})
    share = data.pairable_items / data.items
    return Check("coverage", FINE if share >= LOW_COVERAGE else LOOK, {"share": share})


def assumption(findings: Findings) -> Check:
    """Whether agreement depends on the number of annotations; with few items it cannot tell."""
    test = findings.missingness
    if test.p is None:  # with one number of annotations, the assumption holds trivially
        unanimous = findings.spa.value == 1 and findings.data.pairable_items >= FEW_ITEMS  # however often annotated
        state = FINE if len(test.by_n) == 1 or unanimous else CANNOT_TELL
        return Check("assumption", state, dict.fromkeys(("z", "p", "smallest_seen")))
    figures = {"z": test.z, "p": test.p, "smallest_seen": _smallest_difference(findings)}
    if test.broken:
        return Check("assumption", PROBLEM, figures)
    if test.p < DOUBTFUL:
        return Check("assumption", LOOK, figures)
    state = FINE if findings.data.pairable_items >= FEW_ITEMS else CANNOT_TELL
    return Check("assumption", state, figures)


def _smallest_difference(findings: Findings) -> float | None:
    """The difference between items with few and many annotations that a 5% test detects with 80% power.

    Items are split into halves by their number of annotations; the errors are those of the halves.
    """
    rows = [row for row in findings.missingness.by_n if row.agreement.stderr]
    if len(rows) < 2:
        return None
    half, before = sum(row.items for row in rows) / 2, list(accumulate((row.items for row in rows), initial=0))
    cut = next((place for place in range(1, len(rows)) if before[place] >= half), len(rows) - 1)
    variances = []
    for side in (rows[:cut], rows[cut:]):
        items = sum(row.items for row in side)
        variances.append(sum((row.items / items * float(row.agreement.stderr or 0)) ** 2 for row in side))
    return float((1.96 + Z_80) * sum(variances) ** 0.5)


def weights(findings: Findings) -> Check:
    """Whether the number depends on the weighting scheme; with few items it cannot tell.

    ``smallest_seen`` is how far apart the lowest and highest scheme must be to lie outside each other's intervals.
    """
    defined = [float(estimate) for estimate in findings.schemes.values() if estimate.value is not None]
    if not defined:
        return Check("weights", CANNOT_TELL, dict.fromkeys(("lowest", "highest", "smallest_seen")))
    lowest, highest, ends = min(defined), max(defined), outermost(findings.schemes)
    seen = None if ends is None else max(ends[0][1] - lowest, highest - ends[1][1])
    figures = {"lowest": lowest, "highest": highest, "smallest_seen": seen}
    if any(warning.code == "schemes_diverge" for warning in findings.warnings):
        return Check("weights", PROBLEM, figures)
    equal = len(findings.missingness.by_n) == 1  # every item has the same n, so all weights are equal
    return Check("weights", FINE if equal or findings.data.pairable_items >= FEW_ITEMS else CANNOT_TELL, figures)


def beyond_chance(findings: Findings) -> Check:
    """Whether people agree more than blind guessing; cannot tell if everything from 0 to good is possible.

    ``smallest_seen`` is the kappa that a 5% test distinguishes from 0 with 80% power.
    """
    kappa = findings.chance["krippendorff_alpha"]
    seen = None if kappa.stderr is None else (1.96 + Z_80) * kappa.stderr
    figures = {"kappa": kappa.value, "low": kappa.low, "high": kappa.high, "expected": kappa.expected}
    state = CANNOT_TELL
    if kappa.low is not None and kappa.high is not None and (kappa.low > 0 or kappa.high < LOW_KAPPA):
        state = FINE if kappa.low > 0 else PROBLEM
    return Check("beyond_chance", state, figures | {"smallest_seen": seen})


def people(found: Mapping[str, Step], findings: Findings) -> Check:
    """Whether the number depends on a few: who give one label to everything, copy, or stand out; see the steps."""
    apart, blind, copies = (found.get(code) for code in (PEOPLE, ONE_LABEL, COPIES))
    if findings.data.annotators is None:
        return Check("annotators", CANNOT_TELL, reason=Message(NO_ANNOTATORS))
    made = 0.0 if blind is None else blind.figures["made"]
    stand_out, one_label, copied = (0 if step is None else len(step.names) for step in (apart, blind, copies))
    figures = {"stand_out": stand_out, "one_label": one_label, "made_by_one_label": made, "copies": copied}
    state = PROBLEM if made >= MUCH_BLIND else LOOK if apart or blind or copies else FINE
    return Check("annotators", state, figures)


def left_out(findings: Findings) -> Check:
    """How much of the input does not count."""
    data = findings.data
    lost = sum(data.left_out.values())
    share = lost / (lost + data.annotations) if lost else 0.0
    figures = {"share": share, "annotations": lost, "single": data.annotations - data.pairable_annotations}
    return Check("left_out", LOOK if share > MUCH_LEFT_OUT else FINE, figures)


def overlap(breakdowns: Breakdowns) -> Check:
    """Whether annotators can be compared; cannot tell if overlap was not computed or annotators are unnamed."""
    connections = breakdowns.overlap
    if isinstance(connections, Absent):
        return Check("overlap", CANNOT_TELL, reason=connections.reason)
    share = connections.alone_annotations / max(breakdowns.findings.data.annotations, 1)
    fewest = min((bridge.items for bridge in connections.thin_bridges), default=None)
    figures: Figures = {"teams": len(connections.teams), "fewest_shared": fewest, "alone": len(connections.alone)}
    figures |= {"alone_share": share, "unknown": connections.unknown}
    state = FINE
    if not connections.teams:
        state = CANNOT_TELL
    elif len(connections.teams) > 1 and not connections.unknown:  # who may connect the teams
        state = PROBLEM
    elif connections.thin_bridges or connections.unknown or share > MUCH_ALONE:
        state = LOOK
    return Check("overlap", state, figures)
