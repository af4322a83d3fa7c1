"""Can I trust it? What a careful colleague checks, each answered by fine, look or problem."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from spagree.errors import count
from spagree.estimate import NOMINAL, Findings, checks
from spagree.estimate.breakdown_values import Absent, Breakdowns, known
from spagree.estimate.checks import Check
from spagree.estimate.concentration import Concentration
from spagree.estimate.overlap import Overlap
from spagree.estimate.uncertainty import ANNOTATORS
from spagree.present.sentence import band, is_below_chance
from spagree.present.wording import (
    escape_controls,
    figure,
    limits,
    number,
    p_value,
    percent,
    plus_minus,
    quoted,
    sentence,
)

State = Literal["ok", "look", "problem"]

ALIKE = 0.03  # between weighting schemes: nobody would decide differently
FEWEST_NAMED = 4  # annotators: with fewer, half of the annotations is unremarkable
MUCH_BY_ONE = 0.25  # of the annotations, and at least twice an equal share
# warnings that a verdict already covers
COVERED = {
    *("missingness", "schemes_diverge", "low_coverage", "few_items", "disconnected_teams", "thin_bridge", "repeats")
}

SHOWN: Mapping[str, State] = {"fine": "ok", "look": "look", "problem": "problem", "cannot_tell": "look"}


@dataclass(frozen=True, slots=True)
class Verdict:
    """An answer to "can I trust it": ok, look or problem; ``short`` is for the first screen."""

    state: State
    title: str
    words: str
    link: str = ""
    short: str = ""

    @property
    def icon(self) -> str:
        """A sign readable without colour."""
        return {"ok": "✓", "look": "!", "problem": "✕"}[self.state]

    @property
    def word(self) -> str:
        """The state in a word."""
        return {"ok": "fine", "look": "caution", "problem": "problem"}[self.state]


def verdicts(breakdowns: Breakdowns) -> tuple[Verdict, ...]:
    """All checks in words, and the warnings they do not cover."""
    others = (
        Verdict("look", caution.code.replace("_", " ").capitalize(), sentence(escape_controls(caution.message)))
        for caution in breakdowns.findings.warnings
        if caution.code not in COVERED
    )
    return (*checked(breakdowns), *others)


def checked(breakdowns: Breakdowns) -> tuple[Verdict, ...]:
    """Every check in words, in the order readers ask; the same on a page, in a terminal and in a notebook."""
    findings = breakdowns.findings
    by_code = {check.code: check for check in checks.checks(breakdowns)}
    verdicts = [
        _precision(breakdowns, by_code["precision"]),
        _coverage(findings, by_code["coverage"]),
        _assumption(findings, by_code["assumption"]),
        _schemes(findings, by_code["weights"]),
        _chance(findings, by_code["beyond_chance"]),
        _overlap(breakdowns, by_code["overlap"]),
        _left_out(findings, by_code["left_out"]),
    ]
    return tuple(verdict for verdict in verdicts if verdict)


def in_short(verdicts: Sequence[Verdict]) -> Verdict:
    """All verdicts in one: the checks that are not fine, worst first.

    >>> in_short([Verdict("ok", "Coverage", ""), Verdict("problem", "Assumption", "")]).words
    '1 of 2 checks shows a problem: assumption.'
    """
    shown: dict[State, str] = {}
    states: dict[State, str] = {"problem": "a problem", "look": "something to look at"}
    for state, what in states.items():
        named = [verdict.title.lower() for verdict in verdicts if verdict.state == state]
        if named:
            of_all = "" if shown else f" of {len(verdicts)} checks"
            shows = "shows" if len(named) == 1 else "show"
            shown[state] = f"{len(named)}{of_all} {shows} {what}: {', '.join(named)}"
    if not shown:
        return Verdict("ok", "In short", f"All {len(verdicts)} checks are fine.")
    return Verdict(next(iter(shown)), "In short", f"{'; '.join(shown.values())}.")


def _precision(breakdowns: Breakdowns, check: Check) -> Verdict | None:
    findings, people, spa = breakdowns.findings, breakdowns.concentration, breakdowns.findings.spa
    if spa.value is None:
        return None
    if spa.low is None or spa.high is None:
        return Verdict("problem", "Precision", f"There is no interval: {spa.undefined}.")
    half, state = (spa.high - spa.low) / 2, SHOWN[check.state]
    more = "annotators" if spa.interval_for == ANNOTATORS and checks.annotators_decide(spa) else "items"
    rough = "" if state == "ok" else f" That is rough: more {more} would help."
    basis = count(findings.data.pairable_items, "item")
    words = f"The number is known to about {plus_minus(half)}.{rough} It rests on {basis}.{_busiest(people)}"
    size = findings.data.annotators
    by_people = f" by {count(size, 'annotator')}" if size and more == "annotators" else ""
    return Verdict(state, "Precision", words, "figure-plan", f"{plus_minus(half)}, from {basis}{by_people}.")


def _busiest(people: Concentration | Absent) -> str:
    """Who made much more than an equal share; otherwise how few people made half of the annotations."""
    if isinstance(people, Absent) or people.annotators < FEWEST_NAMED:
        return ""
    if people.share >= max(MUCH_BY_ONE, 2 / people.annotators):
        return f" {quoted(people.busiest)} made {percent(people.share)} of the annotations."
    return f" {people.half:,} of {people.annotators:,} people made {percent(people.share_of_half)} of the annotations."


def _coverage(findings: Findings, check: Check) -> Verdict:
    data = findings.data
    if not data.pairable_items:
        return Verdict("problem", "Coverage", "No item has two annotations, so nothing can be compared.")
    share = data.pairable_items / data.items
    have = "has" if data.pairable_items == 1 else "have"
    words = f"{data.pairable_items:,} of {count(data.items, 'item')} ({percent(share)}) {have} two or more annotations"
    spread = data.annotations_per_item
    if spread:
        ends = f"{spread.min:,} to {spread.max:,}, median {number(spread.median)}"
        words += f"; annotations per item: {f'{spread.min:,}' if spread.min == spread.max else ends}"
    only = " The number describes only these items, unless they were chosen at random."
    is_fine = check.state == checks.FINE
    return Verdict("ok" if is_fine else "look", "Coverage", f"{words}.{'' if is_fine else only}")


def _assumption(findings: Findings, check: Check) -> Verdict | None:
    test = findings.missingness
    title, link = "Assumption", "figure-by-n"
    if not test.by_n:
        return None
    if len(test.by_n) == 1:
        words = f"Every item used has {count(test.by_n[0].n, 'annotation')}, so it cannot fail."
        return Verdict("ok", title, words, short=f"Not at risk: every item has {count(test.by_n[0].n, 'annotation')}.")
    if test.p is None or test.z is None:
        unanimous = "Everybody agrees on every item, however often it was annotated."
        words = unanimous if check.state == checks.FINE else f"It cannot be tested: {test.undefined}."
        return Verdict(SHOWN[check.state], title, words, link)
    less = "less" if test.z < 0 else "more"
    more = f"people agree {less} on items with more annotations ({p_value(test.p)})"
    if test.broken:
        words = f"Broken: {more}. One number for all items then depends on which items were annotated more often."
        return Verdict("problem", title, words, link, f"Broken: {more}.")
    if check.state == checks.CANNOT_TELL:
        words = f"It cannot be tested on {count(sum(row.items for row in test.by_n), 'item')}."
    elif check.state == checks.LOOK:
        words = f"Doubtful: {more}."
    else:
        words = f"No evidence that agreement depends on the number of annotations ({p_value(test.p)})."
    return Verdict(SHOWN[check.state], title, words, link)


def _schemes(findings: Findings, check: Check) -> Verdict | None:
    values = [estimate.value for estimate in findings.schemes.values() if estimate.value is not None]
    if not values:
        return None
    link = "figure-schemes" if len(findings.missingness.by_n) > 1 else "figure-by-n"
    ends = dict.fromkeys(figure(end, 2) for end in (min(values), max(values)))
    words = f"All weighting schemes give {' to '.join(ends)}."
    if check.state == checks.PROBLEM:
        return Verdict("problem", "Weights", f"{words} The answer depends on the choice.", link)
    if check.state == checks.CANNOT_TELL:
        few = count(findings.data.pairable_items, "item")
        return Verdict("look", "Weights", f"{words} {few} cannot show whether the choice matters.")
    matters = "The choice hardly matters." if max(values) - min(values) < ALIKE else "The differences could be chance."
    return Verdict("ok", "Weights", f"{words} {matters}", link)


def _chance(findings: Findings, check: Check) -> Verdict | None:
    alpha = findings.chance["krippendorff_alpha"]
    if alpha.value is None or alpha.expected is None or alpha.low is None:
        return None
    more = "more often" if findings.metric == NOMINAL else "more"
    ends = f"Krippendorff's alpha is {figure(alpha.value, 2)} ({limits(alpha.low, alpha.high, 2)})"
    blindly = f"{more} than labels picked blindly would ({percent(alpha.expected)}): {ends}"
    if is_below_chance(alpha):
        words = f"People agree {blindly.replace('more', 'less', 1)}. Check whether somebody swapped two labels."
        return Verdict("problem", "Beyond chance", words, "chance")
    if check.state == checks.PROBLEM:
        return Verdict("problem", "Beyond chance", f"People do not clearly agree {blindly}.", "chance")
    if check.state == checks.CANNOT_TELL:
        words = f"There is not enough data to tell whether people agree {blindly}: annotate more items."
        return Verdict("look", "Beyond chance", words, "chance")
    if check.state == checks.LOOK:
        poor = f"That is only {band(alpha) or 'low'} agreement beyond chance."
        return Verdict("look", "Beyond chance", f"People agree {blindly}. {poor}", "chance")
    return Verdict("ok", "Beyond chance", f"People agree clearly {blindly}.", "chance")


def _overlap(breakdowns: Breakdowns, check: Check) -> Verdict:
    lacking = breakdowns.lacks("overlap")
    if lacking:
        return Verdict("look", "Overlap", f"Not known: {lacking}.")
    words = _connected(known(breakdowns.overlap), breakdowns.findings.data.annotations)
    return Verdict(SHOWN[check.state], "Overlap", words, "figure-overlap")


def _connected(overlap: Overlap, annotations: int) -> str:
    people = count(overlap.annotators, "annotator")
    if len(overlap.teams) > 1:
        return (
            f"{people} form {len(overlap.teams):,} teams that never annotated the same item: nothing shows whether "
            "the teams agree with each other."
        )
    if overlap.thin_bridges:
        team = overlap.thin_bridges[-1]
        return (
            f"A team of {len(team.team.annotators):,} shares only {count(team.items, 'item')} with everybody else, "
            "too few to show whether they agree."
        )
    if not overlap.teams and overlap.annotators:
        return "There is only one annotator." if overlap.annotators == 1 else "No two annotators share an item."
    if overlap.alone:
        share = percent(overlap.alone_annotations / annotations)
        shares = "shares" if len(overlap.alone) == 1 else "share"
        alone = f"{len(overlap.alone):,} of {people} {shares} no item with anybody"
        return f"{alone} ({share} of the annotations); the others are connected."
    if overlap.unknown:
        who, are = ("annotator", "is") if overlap.unknown == 1 else ("annotators", "are")
        return f"The {who} of {count(overlap.unknown, 'annotation')} {are} unknown."
    is_pair = overlap.annotators == 2  # noqa: PLR2004 (a pair needs no connection)
    return "The two annotators share items." if is_pair else f"All {people} are connected by items they share."


def _left_out(findings: Findings, check: Check) -> Verdict:
    data = findings.data
    lost = sum(data.left_out.values())
    if not lost:
        return Verdict("ok", "Left out", f"No annotation was dropped as missing or repeated{_single(findings)}.")
    share = lost / (lost + data.annotations)
    were = "was" if lost == 1 else "were"
    words = f"{count(lost, 'annotation')} ({percent(share)}) {were} not used{_single(findings)}."
    return Verdict(SHOWN[check.state], "Left out", words, "left-out")


def _single(findings: Findings) -> str:
    """Annotations that were kept but say nothing about agreement."""
    alone = findings.data.annotations - findings.data.pairable_annotations
    if not alone:
        return ""
    says = "is alone on its item and says" if alone == 1 else "are alone on their items and say"
    return f"; {count(alone, 'annotation')} {says} nothing about agreement"
