"""Can I quote it? One verdict from all checks, and each check in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from spagree.errors import Absent, count, known, there
from spagree.estimate import NOMINAL, Findings, checks
from spagree.estimate.actions import CLASSES, GROUP, NOTABLE, PEOPLE, PERIOD, SCALE, Step, annotators_decide
from spagree.estimate.breakdowns import Breakdowns
from spagree.estimate.checks import Check
from spagree.estimate.pairs import Overlap
from spagree.estimate.uncertainty import ANNOTATORS
from spagree.messages import Warning
from spagree.present.next_steps import days
from spagree.present.sentences import for_paper, is_below_chance, way_in_words
from spagree.present.words import (
    STATES,
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

ALIKE = 0.03  # between weighting schemes: nobody would decide differently
FEWEST_NAMED = 4  # annotators: with fewer, half of the annotations is unremarkable
MUCH_BY_ONE = 0.25  # of the annotations, and at least twice an equal share
MOST_REASONS = 3
WORST_FIRST = ("problem", "look", "fine")
# warnings that a check already covers
COVERED = frozenset(
    ("missingness", "schemes_diverge", "low_coverage", "few_items", "disconnected_teams", "thin_bridge", "near_chance")
)
# and those that say something about the number itself, as the verdict says it
REMARKS = {
    "many_left_out": "many rows have no label or no item",
    "one_item": "all annotations belong to one item",
    "not_a_person": "one annotator looks like a model or a decision",
    "few_items_decide": "a few items carry most of the weight",
    "few_clusters": "there are few clusters",
    "one_class": "all items carry the same label",
    "many_classes": "the labels look like free text or measurements",
    "label_variants": "some labels differ only in how they are written",
    "annotator_variants": "some annotators differ only in how they are written",
    "item_variants": "some items differ only in how they are written",
    "looks_missing": "some labels look like missing values",
    "own_labels": "some annotators use labels that nobody else uses",
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether the number can be quoted, and why not: the same sentence everywhere."""

    state: str
    sentence: str

    @property
    def icon(self) -> str:
        """A sign readable without colour."""
        return STATES[self.state].sign


@dataclass(frozen=True, slots=True)
class Checked:
    """A check in words; ``reason`` is how a verdict names what it found, ``figure`` the one figure beside its title."""

    state: str
    title: str
    words: str
    reason: str = ""
    figure: str = ""

    @property
    def icon(self) -> str:
        """A sign readable without colour."""
        return STATES[self.state].sign

    @property
    def word(self) -> str:
        """The state in a word."""
        return STATES[self.state].word


def verdict(breakdowns: Breakdowns, target: float | None = None, found: Sequence[Checked] | None = None) -> Verdict:
    """What all checks say together, and the reasons; ``found`` are the checks in words if they are known already.

    >>> from spagree.counts.tally import Tally
    >>> from spagree.estimate import find
    >>> verdict(Breakdowns(find(Tally.from_items([{"yes": 2}, {"yes": 1, "no": 1}, {"no": 3}])))).sentence
    'Do not quote yet: it is known only to ±0.47.'
    """
    findings = breakdowns.findings
    if findings.spa.value is None:
        return Verdict("problem", f"No number: {findings.spa.undefined}.")
    praise = f": {way_in_words(findings)}{_though(there(breakdowns.steps) or ())}"
    said = summed_up(checked(breakdowns) if found is None else found, praise)
    return replace(said, sentence=said.sentence + _against(findings, target))


def _though(steps: Sequence[Step]) -> str:
    """What a number that is fine still hides: the first clear finding about classes, a group or a period."""
    for step in steps:
        if step.beyond >= NOTABLE and step.code == CLASSES:
            one, other = map(quoted, step.names)
            return f", though {one} and {other} are often confused"
        if step.beyond >= NOTABLE and step.code == GROUP:
            name, column = map(quoted, step.names)
            return f", though people agree less on {column} {name}"
        if step.beyond >= NOTABLE and step.code == PERIOD:
            return f", though people agree less on items finished {days(step)}"
    return ""


def summed_up(found: Sequence[Checked], praise: str = "") -> Verdict:
    """What checks say together, with their reasons; with ``praise`` if nothing is wrong."""
    problems, looks = (
        [each.reason for each in found if each.state == state and each.reason] for state in ("problem", "look")
    )
    if problems:
        return Verdict("problem", f"Do not quote yet: {_listed(problems)}.")
    if looks:
        return Verdict("look", f"Usable, but {_listed(looks)}.")
    return Verdict("fine", f"Fine to quote{praise}.")


def paper_sentence(breakdowns: Breakdowns, verdict: Verdict) -> str:
    """The sentence for a paper, with why not to quote it yet."""
    return for_paper(breakdowns, verdict.sentence if verdict.state == "problem" else "")


def _listed(reasons: Sequence[str]) -> str:
    """The first reasons as one clause."""
    shown = reasons[:MOST_REASONS]
    return " and ".join(filter(None, [", ".join(shown[:-1]), shown[-1]]))


def _against(findings: Findings, target: float | None) -> str:
    """How the interval lies to the target; nothing without one."""
    spa, blindly = findings.spa, findings.chance["krippendorff_alpha"].expected
    if target is None:
        return ""
    if blindly is not None and blindly >= target:
        return f" Blind guessing would reach the target of {target:g}."
    if spa.low is not None and spa.low >= target:
        return f" Agreement reaches the target of {target:g}."
    is_below = spa.high is not None and spa.high < target
    return f" Agreement is below the target of {target:g}." if is_below else f" It may or may not reach {target:g}."


def checked(breakdowns: Breakdowns, found: Sequence[Check] | None = None) -> tuple[Checked, ...]:
    """Every check in words, worst first, and the warnings they do not cover; ``found`` are the checks if known."""
    findings = breakdowns.findings
    by_code = {check.code: check for check in (checks.checks(breakdowns) if found is None else found)}
    worded = {
        "overlap": _overlap(breakdowns, by_code["overlap"]),
        "annotators": _people(by_code["annotators"], breakdowns) if "annotators" in by_code else None,
        "assumption": _assumption(findings, by_code["assumption"]),
        "labels": _labels(by_code["labels"], findings.metric) if "labels" in by_code else None,
        "precision": _precision(breakdowns, by_code["precision"]),
        "beyond_chance": _chance(findings, by_code["beyond_chance"]),
        "weights": _schemes(findings, by_code["weights"]),
        "coverage": _coverage(findings, by_code["coverage"]),
        "left_out": _left_out(findings, by_code["left_out"]),
    }
    rows = [*filter(None, worded.values())]
    for warning in notes(breakdowns):
        title, remark = warning.code.replace("_", " ").capitalize(), REMARKS.get(warning.code, "")
        words = sentence(escape_controls(warning.message))
        rows.append(Checked("look" if remark else "fine", title, words, reason=remark))
    return tuple(sorted(rows, key=lambda each: WORST_FIRST.index(each.state)))


def notes(breakdowns: Breakdowns) -> list[Warning]:
    """The warnings that no check covers."""
    is_scale = any(step.code == SCALE for step in there(breakdowns.steps) or ())
    covered = COVERED | ({"number_labels"} if is_scale else set())
    return [warning for warning in breakdowns.findings.warnings if warning.code not in covered]


def _people(check: Check, breakdowns: Breakdowns) -> Checked | None:
    if check.state == checks.CANNOT_TELL:
        return None
    apart, blind, copies = (int(check.figures[name] or 0) for name in ("stand_out", "one_label", "copies"))
    made = percent(check.figures["made_by_one_label"] or 0)
    reasons = []
    if blind:
        who = f"{count(blind, 'annotator')} {'gives' if blind == 1 else 'give'}"
        reasons.append(f"{who} one label to everything ({made} of the annotations)")
    if copies:
        reasons.append("two annotators give the same labels")
    if apart:
        who = f"{apart:,} annotators stand out"
        if apart == 1:
            who = next(
                f"annotator {quoted(step.names[0])} stands out"
                for step in known(breakdowns.steps)
                if step.code == PEOPLE
            )
        reasons.append(who)
    words = f"{sentence(', '.join(reasons))} See the next steps." if reasons else "Nobody stands out."
    return Checked(check.state, "Annotators", words, ", ".join(reasons))


def _labels(check: Check, metric: str) -> Checked:
    if metric != NOMINAL:
        return Checked("fine", "Labels", f"They are compared with the {metric} metric.")
    if check.state == checks.FINE:
        return Checked("fine", "Labels", "They are compared as names, and nothing suggests that they are a scale.")
    share = percent(check.figures["neighbours"] or 0)
    words = f"The labels are numbers, and {share} of all disagreements are one step apart: they look like a scale."
    return Checked("look", "Labels", words, "the labels look like a scale")


def _shown(check: Check) -> str:
    """What cannot be told deserves a look."""
    return checks.LOOK if check.state == checks.CANNOT_TELL else check.state


def _precision(breakdowns: Breakdowns, check: Check) -> Checked | None:
    findings, people, spa = breakdowns.findings, breakdowns.concentration, breakdowns.findings.spa
    if spa.value is None:
        return None
    if spa.low is None or spa.high is None:
        return Checked("problem", "Precision", f"There is no interval: {spa.undefined}.", "there is no interval")
    half, state = plus_minus((spa.high - spa.low) / 2), _shown(check)
    more = "annotators" if spa.interval_for == ANNOTATORS and annotators_decide(spa) else "items"
    rough = "" if state == "fine" else f" That is rough: more {more} would help."
    words = f"The number is known to about {half}.{rough} It rests on {count(findings.data.pairable_items, 'item')}."
    if not isinstance(people, Absent) and people.annotators >= FEWEST_NAMED:
        if people.share >= max(MUCH_BY_ONE, 2 / people.annotators):
            words += f" {quoted(people.busiest)} made {percent(people.share)} of the annotations."
        else:
            most = f"{people.half:,} of {people.annotators:,} people"
            words += f" {most} made {percent(people.share_of_half)} of the annotations."
    reason = "" if state == "fine" else f"it is known only to {half}"
    return Checked(state, "Precision", words, reason, half)


def _coverage(findings: Findings, check: Check) -> Checked:
    data = findings.data
    if not data.pairable_items:
        return Checked("problem", "Coverage", "No item has two annotations, so nothing can be compared.")
    share = percent(data.pairable_items / data.items)
    have = "has" if data.pairable_items == 1 else "have"
    words = f"{data.pairable_items:,} of {count(data.items, 'item')} ({share}) {have} two or more annotations"
    spread = data.annotations_per_item
    if spread:
        ends = f"{spread.min:,} to {spread.max:,}, median {number(spread.median)}"
        words += f"; annotations per item: {f'{spread.min:,}' if spread.min == spread.max else ends}"
    if check.state == checks.FINE:
        return Checked("fine", "Coverage", f"{words}.", figure=share)
    only = "The number describes only these items, unless they were chosen at random."
    return Checked("look", "Coverage", f"{words}. {only}", f"only {share} of the items have two annotations", share)


def _assumption(findings: Findings, check: Check) -> Checked | None:
    test, title = findings.missingness, "Assumption"
    if len(test.by_n) <= 1:
        same = f"Every item used has {count(test.by_n[0].n, 'annotation')}, so it cannot fail." if test.by_n else ""
        return Checked("fine", title, same) if same else None
    if test.p is None or test.z is None:
        unanimous = "Everybody agrees on every item, however often it was annotated."
        words = unanimous if check.state == checks.FINE else f"It cannot be tested: {test.undefined}."
        return Checked(_shown(check), title, words)
    more = f"people agree {'less' if test.z < 0 else 'more'} on items with more annotations"
    p = p_value(test.p)
    if check.state == checks.PROBLEM:
        words = f"Broken: {more} ({p}). One number for all items then depends on which were annotated more often."
        return Checked("problem", title, words, more, p)
    if check.state == checks.LOOK:
        return Checked("look", title, f"Doubtful: {more} ({p}).", more, f"doubtful ({p})")
    words = f"No evidence that agreement depends on the number of annotations ({p})."
    if check.state == checks.CANNOT_TELL:
        words = f"It cannot be tested on {count(sum(row.items for row in test.by_n), 'item')}."
    return Checked(_shown(check), title, words)


def _schemes(findings: Findings, check: Check) -> Checked | None:
    values = [estimate.value for estimate in findings.schemes.values() if estimate.value is not None]
    if not values:
        return None
    ends = dict.fromkeys(figure(end, 2) for end in (min(values), max(values)))
    words = f"All weighting schemes give {' to '.join(ends)}."
    if check.state == checks.PROBLEM:
        return Checked("problem", "Weights", f"{words} The answer depends on the choice.", "it depends on the weights")
    if check.state == checks.CANNOT_TELL:
        few = count(findings.data.pairable_items, "item")
        return Checked("look", "Weights", f"{words} {few} cannot show whether the choice matters.")
    matters = "The choice hardly matters." if max(values) - min(values) < ALIKE else "The differences could be chance."
    return Checked("fine", "Weights", f"{words} {matters}")


def _chance(findings: Findings, check: Check) -> Checked | None:
    alpha, title = findings.chance["krippendorff_alpha"], "Beyond chance"
    if alpha.value is None or alpha.expected is None or alpha.low is None:
        return None
    often = " often" if findings.metric == NOMINAL else ""
    ends = f"Krippendorff's alpha is {figure(alpha.value, 2)} ({limits(alpha.low, alpha.high, 2)})"
    blindly = f"{often} than labels picked blindly would ({percent(alpha.expected)}): {ends}"
    if is_below_chance(alpha):
        words = f"People agree less{blindly}. Check whether somebody swapped two labels."
        return Checked("problem", title, words, "people agree less than blind guessing would")
    if check.state == checks.PROBLEM:
        words = f"People do not clearly agree more{blindly}."
        return Checked("problem", title, words, "people may agree no more than blind guessing would")
    if check.state == checks.CANNOT_TELL:
        words = f"There is not enough data to tell whether people agree more{blindly}."
        return Checked("look", title, words, "it may be chance")
    return Checked("fine", title, f"People agree clearly more{blindly}.")


def _overlap(breakdowns: Breakdowns, check: Check) -> Checked:
    overlap, reason = breakdowns.overlap, ""
    if isinstance(overlap, Absent):
        return Checked("look", "Overlap", f"Not known: {overlap.reason}.")
    if check.state == checks.PROBLEM:
        reason = f"{len(overlap.teams):,} teams share no items"
    elif check.state == checks.LOOK and overlap.thin_bridges:
        reason = f"a team shares only {count(overlap.thin_bridges[-1].items, 'item')} with the others"
    elif check.state == checks.LOOK and overlap.alone:
        reason = f"{count(len(overlap.alone), 'annotator')} met nobody"
    return Checked(_shown(check), "Overlap", _connected(overlap, breakdowns.findings.data.annotations), reason)


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


def _left_out(findings: Findings, check: Check) -> Checked:
    data = findings.data
    lost, alone, single = sum(data.left_out.values()), data.annotations - data.pairable_annotations, ""
    if alone:
        says = "is alone on its item and says" if alone == 1 else "are alone on their items and say"
        single = f"; {count(alone, 'annotation')} {says} nothing about agreement"
    if not lost:
        return Checked("fine", "Left out", f"No annotation was dropped as missing or repeated{single}.")
    share = percent(lost / (lost + data.annotations))
    words = f"{count(lost, 'annotation')} ({share}) {'was' if lost == 1 else 'were'} not used{single}."
    reason = "" if check.state == checks.FINE else f"{share} of the annotations were not used"
    return Checked(_shown(check), "Left out", words, reason, share)
