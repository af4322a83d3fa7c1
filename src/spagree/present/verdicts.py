"""What is said about an agreement, once for terminal, page, notebook and JSON: checks, verdict and steps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from spagree.errors import Absent, Warning, count, known, there
from spagree.estimate import NOMINAL, Estimate, checks
from spagree.estimate.actions import CLASSES, GROUP, NOTABLE, PEOPLE, PERIOD, SCALE, annotators_decide
from spagree.estimate.breakdowns import Breakdowns
from spagree.estimate.checks import Check
from spagree.estimate.uncertainty import ANNOTATORS
from spagree.present.next_steps import NextStep, Source, days, next_steps
from spagree.present.sentences import for_paper, headline
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
    with_and,
)
from spagree.read.annotations import Understood

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
    "unseen_unknown": "it is not known who marked nothing",
    "not_random": "agreement depends on how many people saw a text",
}
GRAVE = ("unseen_unknown", "not_random")

# how far agreement got from guessing to full agreement, up to that alpha; no words that grade it
WAYS = {
    0.05: "hardly any",
    0.15: "a tenth",
    0.225: "a fifth",
    0.29: "a quarter",
    0.365: "a third",
    0.45: "two fifths",
    0.55: "half",
    0.635: "three fifths",
    0.71: "two thirds",
    0.775: "three quarters",
    0.85: "four fifths",
    0.95: "nine tenths",
}


@dataclass(frozen=True)
class Judged:
    """A state: fine, look or problem."""

    state: str

    @property
    def icon(self) -> str:
        """A sign readable without colour."""
        return STATES[self.state].sign

    @property
    def word(self) -> str:
        """The state in a word."""
        return STATES[self.state].word


@dataclass(frozen=True)
class Verdict(Judged):
    """Whether the number can be quoted, and why not: the same sentence everywhere."""

    sentence: str


@dataclass(frozen=True)
class Checked(Judged):
    """A check in words; ``reason`` is how a verdict names its finding, ``figure`` stands beside its title."""

    title: str
    words: str
    reason: str = ""
    figure: str = ""


@dataclass(frozen=True, slots=True)
class Said:
    """A number with what is said about it everywhere, put into words once."""

    shown: Estimate
    words: Sequence[str]
    """Its meaning for a manager, in sentences."""
    understood: Understood | None
    checked: tuple[Checked, ...]
    """The checks in words, worst first, and the notes."""
    verdict: Verdict
    steps: tuple[NextStep, ...]
    """What to do next; nothing without a source, from which the commands go on."""


@dataclass(frozen=True, slots=True)
class Told(Said):
    """An agreement on labels with what is said about it."""

    breakdowns: Breakdowns
    source: Source | None
    target: float | None
    checks: tuple[Check, ...]
    notes: tuple[Warning, ...]
    """The warnings that no check covers."""

    @property
    def for_paper(self) -> str:
        """The sentence for a paper, with why not to quote it yet."""
        return for_paper(self.breakdowns, self.verdict.sentence if self.verdict.state == "problem" else "")


def tell(
    breakdowns: Breakdowns,
    source: Source | None = None,
    understood: Understood | None = None,
    target: float | None = None,
) -> Told:
    """Put the checks, the verdict and the steps into words.

    >>> from spagree.counts.tally import Tally
    >>> from spagree.estimate import find
    >>> tell(Breakdowns(find(Tally.from_items([{"yes": 2}, {"yes": 1, "no": 1}, {"no": 3}])))).verdict.sentence
    'Do not quote yet: it is known only to ±0.47.'
    """
    findings, steps = breakdowns.findings, there(breakdowns.steps) or ()
    covered = COVERED | ({"number_labels"} if any(step.code == SCALE for step in steps) else set())
    notes = tuple(warning for warning in findings.warnings if warning.code not in covered)
    found = checks.checks(breakdowns)
    by_code = {check.code: check for check in found}
    rows = []
    for code, (title, say) in CHECKS.items():
        said = say(by_code[code], breakdowns) if code in by_code else ()
        if said:  # what cannot be told deserves a look
            state = by_code[code].state
            rows.append(Checked(checks.LOOK if state == checks.CANNOT_TELL else state, title, *said))
    worded, words = with_notes(rows, notes), headline(findings)
    verdict, to_do = _verdict(breakdowns, worded, target), next_steps(steps, source) if source else ()
    return Told(findings.spa, words, understood, worded, verdict, to_do, breakdowns, source, target, found, notes)


def with_notes(found: Iterable[Checked], notes: Iterable[Warning], usual: str = "fine") -> tuple[Checked, ...]:
    """Checks and warnings, worst first; ``usual`` is the state of one that says nothing about the number."""
    rows = [*found]
    for warning in notes:
        title, remark = warning.code.replace("_", " ").capitalize(), REMARKS.get(warning.code, "")
        state = "problem" if warning.code in GRAVE else "look" if remark else usual
        rows.append(Checked(state, title, sentence(escape_controls(warning.message)), remark))
    return tuple(sorted(rows, key=lambda each: WORST_FIRST.index(each.state)))


def _verdict(breakdowns: Breakdowns, worded: Sequence[Checked], target: float | None) -> Verdict:
    """What all checks say together, with the reasons, and how the interval lies to the target."""
    findings = breakdowns.findings
    spa, alpha = findings.spa, findings.chance["krippendorff_alpha"]
    though = ""  # what a fine number still hides: the first clear finding about classes, a group or a period
    for step in there(breakdowns.steps) or ():
        if step.beyond >= NOTABLE and not though:
            names = [quoted(name) for name in step.names]
            if step.code == CLASSES:
                though = f", though {names[0]} and {names[1]} are often confused"
            elif step.code == GROUP:
                though = f", though people agree less on {names[1]} {names[0]}"
            elif step.code == PERIOD:
                though = f", though people agree less on items finished {days(step)}"
    way = "everybody agrees" if spa.value == 1 else "no check found anything"
    if alpha.value is not None and spa.value != 1:
        part = next((words for end, words in WAYS.items() if alpha.value < end), "nearly all")
        way = f"{part} of the way from guessing to full agreement"
    said = summed_up(spa, worded, f": {way}{though}")
    if target is None or spa.value is None:
        return said
    reached = f" It may or may not reach {target:g}."
    if alpha.expected is not None and alpha.expected >= target:
        reached = f" Blind guessing would reach the target of {target:g}."
    elif spa.low is not None and spa.low >= target:
        reached = f" Agreement reaches the target of {target:g}."
    elif spa.high is not None and spa.high < target:
        reached = f" Agreement is below the target of {target:g}."
    return replace(said, sentence=said.sentence + reached)


def summed_up(shown: Estimate, found: Sequence[Checked], praise: str = "") -> Verdict:
    """What checks of a number say together, with their first reasons; with ``praise`` if nothing is wrong."""
    if shown.value is None:
        return Verdict("problem", f"No number: {shown.undefined}.")
    for state, begin in (("problem", "Do not quote yet: "), ("look", "Usable, but ")):
        reasons = [each.reason for each in found if each.state == state and each.reason][:MOST_REASONS]
        if reasons:
            return Verdict(state, f"{begin}{with_and(reasons)}.")
    return Verdict("fine", f"Fine to quote{praise}.")


# The checks in words: each function gives the words, the reason for a verdict, and the one figure ---

Words = tuple[str, ...]


def _overlap(check: Check, breakdowns: Breakdowns) -> Words:
    overlap = breakdowns.overlap
    if isinstance(overlap, Absent):
        return (f"Not known: {overlap.reason}.",)
    people, alone, teams = count(overlap.annotators, "annotator"), len(overlap.alone), len(overlap.teams)
    thin, reason = overlap.thin_bridges[-1] if overlap.thin_bridges else None, ""
    if check.state == checks.PROBLEM:
        reason = f"{teams:,} teams share no items"
    elif check.state == checks.LOOK and thin:
        reason = f"a team shares only {count(thin.items, 'item')} with the others"
    elif check.state == checks.LOOK and alone:
        reason = f"{count(alone, 'annotator')} met nobody"
    is_pair = overlap.annotators == 2  # noqa: PLR2004 (a pair needs no connection)
    words = "The two annotators share items." if is_pair else f"All {people} are connected by items they share."
    if teams > 1:
        words = f"{people} form {teams:,} teams that never annotated the same item: nothing shows whether "
        words += "the teams agree with each other."
    elif thin:
        words = f"A team of {len(thin.team.annotators):,} shares only {count(thin.items, 'item')} with everybody else, "
        words += "too few to show whether they agree."
    elif not teams and overlap.annotators:
        words = "There is only one annotator." if overlap.annotators == 1 else "No two annotators share an item."
    elif alone:
        share = percent(overlap.alone_annotations / breakdowns.findings.data.annotations)
        words = f"{alone:,} of {people} {'shares' if alone == 1 else 'share'} no item with anybody "
        words += f"({share} of the annotations); the others are connected."
    elif overlap.unknown:
        who, are = ("annotator", "is") if overlap.unknown == 1 else ("annotators", "are")
        words = f"The {who} of {count(overlap.unknown, 'annotation')} {are} unknown."
    return words, reason


def _people(check: Check, breakdowns: Breakdowns) -> Words:
    if check.state == checks.CANNOT_TELL:
        return ()
    apart, blind, copies = (int(check.figures[name] or 0) for name in ("stand_out", "one_label", "copies"))
    reasons = []
    if blind:
        who = f"{count(blind, 'annotator')} {'gives' if blind == 1 else 'give'}"
        made = percent(check.figures["made_by_one_label"] or 0)
        reasons.append(f"{who} one label to everything ({made} of the annotations)")
    if copies:
        reasons.append("two annotators give the same labels")
    if apart == 1:
        names = next(step.names for step in known(breakdowns.steps) if step.code == PEOPLE)
        reasons.append(f"annotator {quoted(names[0])} stands out")
    elif apart:
        reasons.append(f"{apart:,} annotators stand out")
    reason = ", ".join(reasons)
    return f"{sentence(reason)} See the next steps." if reasons else "Nobody stands out.", reason


def _assumption(check: Check, breakdowns: Breakdowns) -> Words:
    test = breakdowns.findings.missingness
    if not test.by_n:
        return ()
    if len(test.by_n) == 1:
        return (f"Every item used has {count(test.by_n[0].n, 'annotation')}, so it cannot fail.",)
    if test.p is None or test.z is None:
        unanimous = "Everybody agrees on every item, however often it was annotated."
        return (unanimous if check.state == checks.FINE else f"It cannot be tested: {test.undefined}.",)
    more, p = f"people agree {'less' if test.z < 0 else 'more'} on items with more annotations", p_value(test.p)
    if check.state == checks.PROBLEM:
        words = f"Broken: {more} ({p}). One number for all items then depends on which were annotated more often."
        return words, more, p
    if check.state == checks.LOOK:
        return f"Doubtful: {more} ({p}).", more, f"doubtful ({p})"
    untested = f"It cannot be tested on {count(sum(row.items for row in test.by_n), 'item')}."
    no_evidence = f"No evidence that agreement depends on the number of annotations ({p})."
    return (untested if check.state == checks.CANNOT_TELL else no_evidence,)


def _labels(check: Check, breakdowns: Breakdowns) -> Words:
    metric = breakdowns.findings.metric
    if metric != NOMINAL:
        return (f"They are compared with the {metric} metric.",)
    if check.state == checks.FINE:
        return ("They are compared as names, and nothing suggests that they are a scale.",)
    share = percent(check.figures["neighbours"] or 0)
    words = f"The labels are numbers, and {share} of all disagreements are one step apart: they look like a scale."
    return words, "the labels look like a scale"


def _precision(check: Check, breakdowns: Breakdowns) -> Words:
    findings, people, spa = breakdowns.findings, breakdowns.concentration, breakdowns.findings.spa
    if spa.value is None:
        return ()
    if spa.low is None or spa.high is None:
        return f"There is no interval: {spa.undefined}.", "there is no interval"
    half = plus_minus((spa.high - spa.low) / 2)
    words = f"The number is known to about {half}."
    if check.state != checks.FINE:
        more = "annotators" if spa.interval_for == ANNOTATORS and annotators_decide(spa) else "items"
        words += f" That is rough: more {more} would help."
    words += f" It rests on {count(findings.data.pairable_items, 'item')}."
    if not isinstance(people, Absent) and people.annotators >= FEWEST_NAMED:
        if people.share >= max(MUCH_BY_ONE, 2 / people.annotators):
            words += f" {quoted(people.busiest)} made {percent(people.share)} of the annotations."
        else:
            most = f"{people.half:,} of {people.annotators:,} people"
            words += f" {most} made {percent(people.share_of_half)} of the annotations."
    return words, f"it is known only to {half}", half


def _chance(check: Check, breakdowns: Breakdowns) -> Words:
    alpha = breakdowns.findings.chance["krippendorff_alpha"]
    if alpha.value is None or alpha.expected is None or alpha.low is None:
        return ()
    often = " often" if breakdowns.findings.metric == NOMINAL else ""
    ends = f"Krippendorff's alpha is {figure(alpha.value, 2)} ({limits(alpha.low, alpha.high, 2)})"
    blindly = f"{often} than labels picked blindly would ({percent(alpha.expected)}): {ends}"
    if alpha.high is not None and alpha.high < 0:
        words = f"People agree less{blindly}. Check whether somebody swapped two labels."
        return words, "people agree less than blind guessing would"
    if check.state == checks.PROBLEM:
        words = f"People do not clearly agree more{blindly}."
        return words, "people may agree no more than blind guessing would"
    if check.state == checks.CANNOT_TELL:
        return f"There is not enough data to tell whether people agree more{blindly}.", "it may be chance"
    return (f"People agree clearly more{blindly}.",)


def _schemes(check: Check, breakdowns: Breakdowns) -> Words:
    findings = breakdowns.findings
    values = [estimate.value for estimate in findings.schemes.values() if estimate.value is not None]
    if not values:
        return ()
    ends = dict.fromkeys(figure(end, 2) for end in (min(values), max(values)))
    words = f"All weighting schemes give {' to '.join(ends)}."
    if check.state == checks.PROBLEM:
        return f"{words} The answer depends on the choice.", "it depends on the weights"
    if check.state == checks.CANNOT_TELL:
        few = count(findings.data.pairable_items, "item")
        return (f"{words} {few} cannot show whether the choice matters.",)
    matters = "The choice hardly matters." if max(values) - min(values) < ALIKE else "The differences could be chance."
    return (f"{words} {matters}",)


def _coverage(check: Check, breakdowns: Breakdowns) -> Words:
    data = breakdowns.findings.data
    if not data.pairable_items:
        return ("No item has two annotations, so nothing can be compared.",)
    share, have = percent(data.pairable_items / data.items), "has" if data.pairable_items == 1 else "have"
    words = f"{data.pairable_items:,} of {count(data.items, 'item')} ({share}) {have} two or more annotations"
    if spread := data.annotations_per_item:
        ends = f"{spread.min:,} to {spread.max:,}, median {number(spread.median)}"
        words += f"; annotations per item: {f'{spread.min:,}' if spread.min == spread.max else ends}"
    if check.state == checks.FINE:
        return f"{words}.", "", share
    only = "The number describes only these items, unless they were chosen at random."
    return f"{words}. {only}", f"only {share} of the items have two annotations", share


def _left_out(_: Check, breakdowns: Breakdowns) -> Words:
    data = breakdowns.findings.data
    lost, alone, single = sum(data.left_out.values()), data.annotations - data.pairable_annotations, ""
    if alone:
        says = "is alone on its item and says" if alone == 1 else "are alone on their items and say"
        single = f"; {count(alone, 'annotation')} {says} nothing about agreement"
    if not lost:
        return (f"No annotation was dropped as missing or repeated{single}.",)
    share = percent(lost / (lost + data.annotations))
    words = f"{count(lost, 'annotation')} ({share}) {'was' if lost == 1 else 'were'} not used{single}."
    return words, f"{share} of the annotations were not used", share


CHECKS: Mapping[str, tuple[str, Callable[[Check, Breakdowns], Words]]] = {
    "overlap": ("Overlap", _overlap),
    "annotators": ("Annotators", _people),
    "assumption": ("Assumption", _assumption),
    "labels": ("Labels", _labels),
    "precision": ("Precision", _precision),
    "beyond_chance": ("Beyond chance", _chance),
    "weights": ("Weights", _schemes),
    "coverage": ("Coverage", _coverage),
    "left_out": ("Left out", _left_out),
}
"""Every check in the order in which reasons count."""
