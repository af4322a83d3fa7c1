"""The first screen: the number, what it covers, whether it was measured well, whether it is good, what to do next."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from spagree.errors import count
from spagree.estimate import Corrected, Findings
from spagree.estimate.breakdown_values import Absent, Breakdowns, known
from spagree.estimate.checks import annotators_decide
from spagree.estimate.uncertainty import ANNOTATORS, POPULATIONS
from spagree.present.charts.agreement import development_steps
from spagree.present.report.parts import Step
from spagree.present.report.steps import steps
from spagree.present.sentence import (
    band,
    beyond_chance,
    both_intervals,
    by_chance,
    in_words,
    interval_name,
    is_below_chance,
    on_the_scale,
    why_not_others,
)
from spagree.present.verdicts import Verdict
from spagree.present.wording import escape_controls, figure, moment, printable
from spagree.timestamps import is_date
from spagree.understood import Understood

NAME = "Sparse Probability of Agreement (SPA)"
SHOWN_STEPS = 3
NOTHING = "Nothing stands out: no item, class or annotator accounts for much of the disagreement."
UNANIMOUS = "Nothing: everybody agreed on every item."
FIRST_CHECKS = ("Precision", "Assumption", "Overlap")
LABEL_ROOM = 15.0  # percent of the scale at either end, where a centred label would run into the 0 or the 1
BESIDE = 12  # pixels between such a label and its mark


@dataclass(frozen=True, slots=True)
class Mark:
    """Chance agreement or the target on the scale; ``place`` is in percent."""

    kind: str
    place: float

    @property
    def words(self) -> str:
        """Its label."""
        return f"{self.kind} {figure(self.place / 100, 2)}"

    @property
    def anchor(self) -> tuple[str, int]:
        """Centred on the mark; near an end beside the number there, inside the picture.

        >>> Mark("chance", 3.0).anchor, Mark("target", 50.0).anchor
        (('start', 12), ('middle', 0))
        """
        if self.place < LABEL_ROOM:
            return "start", BESIDE
        return ("end", -BESIDE) if self.place > 100 - LABEL_ROOM else ("middle", 0)


@dataclass(frozen=True, slots=True)
class Bar:
    """The scale from 0 to 1 in percent: interval, value, the interval for other annotators, chance and target."""

    value: float
    low: float
    high: float
    wide: tuple[float, float] | None
    marks: tuple[Mark, ...]
    spoken: str


@dataclass(frozen=True, slots=True)
class Top:
    """The contents of the first screen."""

    name: str
    verdict: str
    value: str
    words: str
    bar: Bar | None
    intervals: tuple[str, ...]
    checks: tuple[Verdict, ...]
    all_checks: int
    good: tuple[str, ...]
    steps: tuple[Step, ...]
    nothing: str
    """What to say if there are no steps."""
    since: str


def top(breakdowns: Breakdowns, verdicts: Sequence[Verdict], target: float | None = None, since: str = "") -> Top:
    """Word the first screen; ``verdicts`` are all verdicts."""
    findings, actions = breakdowns.findings, breakdowns.actions
    is_known, checks = findings.spa.value is not None, first_checks(verdicts)
    todo = () if isinstance(actions, Absent) else steps(actions)[:SHOWN_STEPS]
    return Top(
        NAME,
        verdict(findings, checks, target),
        figure(findings.spa.value) if is_known else "no number",
        escape_controls(in_words(findings)),
        bar(breakdowns, target) if is_known else None,
        tuple(_intervals(findings)),
        checks,
        len(verdicts),
        tuple(_good(findings, target)),
        todo,
        UNANIMOUS if findings.spa.value == 1 else NOTHING,
        since,
    )


def verdict(findings: Findings, verdicts: Sequence[Verdict], target: float | None) -> str:
    """Whether the number is trustworthy and good enough, in one line; ``verdicts`` are the first screen's checks."""
    if findings.spa.value is None:
        return ""
    problems = [check.title for check in verdicts if check.state == "problem"]
    if "Precision" in problems:
        is_people = findings.spa.interval_for == ANNOTATORS and annotators_decide(findings.spa)
        return f"Too few {'annotators' if is_people else 'items'} to say how well people agree."
    if problems:
        return f"Do not quote this number yet: {count(len(problems), 'check')} found a problem."
    trust = "needs a second look" if any(check.state == "look" for check in verdicts) else "can be trusted"
    return f"The number {trust}. {_enough(findings, target)}"


def _enough(findings: Findings, target: float | None) -> str:
    kappa = findings.chance["krippendorff_alpha"]
    if target is not None:
        if kappa.expected is not None and kappa.expected >= target:
            return "The target is too low: labels picked blindly would reach it."
        is_reached = _reaches(findings, target)
        if is_reached is None:
            return "It is not yet clear whether agreement reaches the target."
        return "Agreement reaches the target." if is_reached else "Agreement is below the target."
    return "" if kappa.value is None or kappa.low is None else _beyond(kappa)


def _beyond(kappa: Corrected) -> str:
    if is_below_chance(kappa):
        return "People agree less than blind guessing would."
    if kappa.low is None or kappa.low <= 0:
        return "It may be chance."
    name = band(kappa)
    return f"Agreement beyond chance is {name}." if name else "People agree more than blind guessing would."


def _reaches(findings: Findings, target: float) -> bool | None:
    """Whether the whole interval reaches the target; None if it contains the target or does not exist."""
    low, high = findings.spa.low, findings.spa.high
    return True if low is not None and low >= target else False if high is not None and high < target else None


def bar(breakdowns: Breakdowns, target: float | None) -> Bar:
    """The scale, and a description of it."""
    findings, spa = breakdowns.findings, breakdowns.findings.spa
    value = float(spa)
    these, other = (spa.intervals.get(name) for name in POPULATIONS)
    ends = (None, None) if these is None else (these.low, these.high)
    low, high = (100 * (value if end is None else end) for end in ends)
    wide = None if other is None or other.low is None or other.high is None else (other.low * 100, other.high * 100)
    spoken = on_the_scale(findings) + ("" if target is None else f", target {figure(target)}")
    places = {"chance": findings.chance["krippendorff_alpha"].expected, "target": target}
    marks = tuple(Mark(kind, end * 100) for kind, end in places.items() if end is not None)
    return Bar(value * 100, low, high, wide, marks, f"{spoken}.")


def _intervals(findings: Findings) -> Iterator[str]:
    """Both intervals, the leading one first, and why there is none for other annotators."""
    both = both_intervals(findings)
    if both:
        yield f"{interval_name(findings.spa)}: {both}"
    yield from filter(None, [why_not_others(findings)])


def first_checks(verdicts: Sequence[Verdict]) -> tuple[Verdict, ...]:
    """Precision, assumption, overlap and any other check that is not fine; not agreement beyond chance."""
    return tuple(
        verdict
        for verdict in verdicts
        if verdict.title in FIRST_CHECKS or (verdict.state != "ok" and verdict.title != "Beyond chance")
    )


def _good(findings: Findings, target: float | None) -> Iterator[str]:
    spa = findings.spa
    if spa.value is None:
        yield "There is no number yet."
        return
    yield from filter(None, (beyond_chance(findings), by_chance(findings)))
    if target is not None:
        yield _against(findings, target)
    else:
        yield "How much is enough depends on the purpose of the labels: set a target (--target, in Python target=)."


def _against(findings: Findings, target: float) -> str:
    is_reached = _reaches(findings, target)
    goal = figure(target, 2) if round(target, 2) == target else figure(target)
    if is_reached:
        blindly = findings.chance["krippendorff_alpha"].expected
        easy = " But labels picked blindly would reach it too." if blindly is not None and blindly >= target else ""
        return f"Above the target of {goal}, even at the lower end of the interval.{easy}"
    if is_reached is False:
        return f"Below the target of {goal}, even at the upper end of the interval."
    return f"The interval contains the target of {goal}, so it is unclear whether agreement reaches it."


def about(breakdowns: Breakdowns, understood: Understood | None, options: Mapping[str, Any]) -> str:
    """What was measured, in one line: annotations, items, people, question, dates, tool."""
    data = breakdowns.findings.data
    size = f"{count(data.annotations, 'annotation')} of {count(data.items, 'item')}"
    size += "" if data.annotators is None else f" by {count(data.annotators, 'annotator')}"
    parts = [size, count(data.classes, "class", "classes")]
    if options.get("question"):
        parts.append(f"question: {printable(str(options['question']), 60)}")
    parts += _dates(breakdowns)
    if understood is not None and understood.rules:
        parts.append(f"{understood.format} export")
    return " · ".join(parts)


def _dates(breakdowns: Breakdowns) -> Iterator[str]:
    if breakdowns.lacks("development") or not known(breakdowns.development).height:
        return
    steps = development_steps(breakdowns)
    first, last = steps[0]["since"], steps[-1]["time"]
    if is_date(first) and is_date(last):
        days = [moment(each)[:10] for each in (first, last)]
        yield " to ".join(dict.fromkeys(days))
