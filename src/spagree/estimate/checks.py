"""What a careful colleague checks, as values: a code, a state, and the figures behind it. Words live in present/."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from spagree.counts.fetch import NO_ANNOTATORS
from spagree.errors import Absent
from spagree.estimate.actions import COPIES, ONE_LABEL, PEOPLE, PRECISE, SCALE, Step
from spagree.estimate.breakdowns import Breakdowns
from spagree.estimate.findings import Findings
from spagree.estimate.uncertainty import ANNOTATORS, FEW_ITEMS, ITEMS, half_interval
from spagree.estimate.warnings import LOW_COVERAGE, outermost
from spagree.messages import Message

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


@dataclass(frozen=True, slots=True)
class Check:
    """One check; ``figures`` are plain numbers, or None if undefined."""

    code: str
    state: State
    figures: Mapping[str, float | int | None] = field(default_factory=dict)
    reason: str | None = None
    """Why it was not checked, and how to check it; None if it was."""


def checks(breakdowns: Breakdowns) -> tuple[Check, ...]:
    """Every check, in the order a reader asks.

    >>> from spagree.estimate import find
    >>> from spagree.counts.tally import Tally
    >>> results = checks(Breakdowns(find(Tally.from_items([{"yes": 2}, {"yes": 1, "no": 1}, {"no": 3}]))))
    >>> [(check.code, check.state) for check in results][:3]
    [('precision', 'problem'), ('coverage', 'fine'), ('assumption', 'cannot_tell')]
    """
    findings = breakdowns.findings
    of_findings = [check(findings) for check in (coverage, assumption, weights, beyond_chance)]
    of_steps: tuple[Check, ...] = ()
    if not isinstance(breakdowns.steps, Absent):
        found = {step.code: step for step in breakdowns.steps}
        of_steps = (people(found, findings), labels(found))
    return (precision(breakdowns), *of_findings, overlap(breakdowns), *of_steps, left_out(findings))


def precision(breakdowns: Breakdowns) -> Check:
    """How well the number is known, for these annotators and for others like them, and on whom it depends.

    A wide interval for other annotators is an honest answer, worth a look; one for these says that items are missing.
    """
    findings, people = breakdowns.findings, breakdowns.concentration
    half = half_interval(findings.spa)
    these, others = (half_interval(findings.spa.intervals.get(name)) for name in (ITEMS, ANNOTATORS))
    figures: dict[str, float | int | None] = {
        "half_width": half,
        "half_width_items": these,
        "half_width_annotators": others,
        "items": findings.data.pairable_items,
        "annotators": findings.data.annotators,
        "busiest_share": None if isinstance(people, Absent) else people.share,
        "half": None if isinstance(people, Absent) else people.half,
        "half_share": None if isinstance(people, Absent) else people.share_of_half,
    }
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
    half, seen = sum(row.items for row in rows) / 2, 0
    sides: tuple[list[tuple[int, float]], list[tuple[int, float]]] = ([], [])
    for row in rows:
        sides[bool(sides[0]) and seen >= half].append((row.items, float(row.agreement.stderr or 0)))
        seen += row.items
    if not sides[1]:
        sides[1].append(sides[0].pop())
    variances = []
    for side in sides:
        items = sum(count for count, _ in side)
        variances.append(sum((count / items * error) ** 2 for count, error in side))
    return float((1.96 + Z_80) * sum(variances) ** 0.5)


def weights(findings: Findings) -> Check:
    """Whether the number depends on the weighting scheme; with few items it cannot tell.

    ``smallest_seen`` is how far apart the lowest and highest scheme must be to lie outside each other's intervals.
    """
    defined = [estimate for estimate in findings.schemes.values() if estimate.value is not None]
    if not defined:
        return Check("weights", CANNOT_TELL, {"lowest": None, "highest": None, "smallest_seen": None})
    lowest, highest = min(map(float, defined)), max(map(float, defined))
    ends = outermost(findings.schemes)
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
    figures |= {"smallest_seen": seen}
    if kappa.value is None or kappa.low is None or kappa.high is None:
        return Check("beyond_chance", CANNOT_TELL, figures)
    if kappa.low <= 0:
        return Check("beyond_chance", PROBLEM if kappa.high < LOW_KAPPA else CANNOT_TELL, figures)
    return Check("beyond_chance", FINE, figures)


def people(found: Mapping[str, Step], findings: Findings) -> Check:
    """Whether the number depends on a few: who give one label to everything, copy, or stand out; see the steps."""
    apart, blind, copies = (found.get(code) for code in (PEOPLE, ONE_LABEL, COPIES))
    if findings.data.annotators is None:
        return Check("annotators", CANNOT_TELL, reason=Message(NO_ANNOTATORS))
    made = 0.0 if blind is None else blind.figures["made"]
    figures: dict[str, float | int | None] = {
        "stand_out": 0 if apart is None else len(apart.names),
        "one_label": 0 if blind is None else len(blind.names),
        "made_by_one_label": made,
        "copies": 0 if copies is None else len(copies.names),
    }
    state = PROBLEM if made >= MUCH_BLIND else LOOK if apart or blind or copies else FINE
    return Check("annotators", state, figures)


def labels(found: Mapping[str, Step]) -> Check:
    """Whether labels that are compared as names behave like a scale."""
    if SCALE not in found:
        return Check("labels", FINE, {"neighbours": None})
    return Check("labels", LOOK, {"neighbours": found[SCALE].figures["share"]})


def left_out(findings: Findings) -> Check:
    """How much of the input does not count."""
    data = findings.data
    lost = sum(data.left_out.values())
    read = lost + data.annotations
    share = lost / read if read else 0.0
    single = data.annotations - data.pairable_annotations
    return Check(
        "left_out", LOOK if share > MUCH_LEFT_OUT else FINE, {"share": share, "annotations": lost, "single": single}
    )


def overlap(breakdowns: Breakdowns) -> Check:
    """Whether annotators can be compared; cannot tell if overlap was not computed or annotators are unnamed."""
    connections = breakdowns.overlap
    if isinstance(connections, Absent):
        return Check("overlap", CANNOT_TELL, reason=connections.reason)
    share = connections.alone_annotations / max(breakdowns.findings.data.annotations, 1)
    figures = {
        "teams": len(connections.teams),
        "fewest_shared": min((bridge.items for bridge in connections.thin_bridges), default=None),
        "alone": len(connections.alone),
        "alone_share": share,
        "unknown": connections.unknown,
    }
    state = FINE
    if not connections.teams:
        state = CANNOT_TELL
    elif len(connections.teams) > 1 and not connections.unknown:  # who may connect the teams
        state = PROBLEM
    elif connections.thin_bridges or connections.unknown or share > MUCH_ALONE:
        state = LOOK
    return Check("overlap", state, figures)
