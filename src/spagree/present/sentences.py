"""Figures → sentences: of an agreement, of comparisons, models and groups, of plans and assignments."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Any, NamedTuple

from spagree import __version__
from spagree.counts.policies import AFTER_FIRST
from spagree.errors import Absent, count
from spagree.estimate import CUSTOM, NOMINAL, Corrected, Estimate, Findings
from spagree.estimate.annotators import OTHERS_ALIKE
from spagree.estimate.anytime import change_of
from spagree.estimate.breakdowns import Breakdowns
from spagree.estimate.similarity import SCALES, SET_METRICS
from spagree.estimate.uncertainty import ANNOTATORS, COVERS, ITEMS, POPULATIONS, WILSON
from spagree.present.words import (
    change,
    figure,
    interval,
    limits,
    p_value,
    percent,
    printable,
    quoted,
    span,
)
from spagree.read.annotations import Understood

if TYPE_CHECKING:
    from spagree.assignment.design import Assignment
    from spagree.assignment.returned import Returned
    from spagree.estimate.comparison import Compared, Groups, Pair
    from spagree.estimate.models import ModelFindings
    from spagree.estimate.plan import Pace

Rows = Sequence[Mapping[str, Any]]
MOST_WEIGHTS = 8
PAIR = 2
WIDE_GAP = 0.25  # gap between agreement and kappa from which readers ask why
PARTLY = {
    **dict.fromkeys(SCALES, "labels that are close count as partly agreeing"),
    **dict.fromkeys(SET_METRICS, "labels that share some options count as partly agreeing"),
}
UNEQUAL = "labels that differ may count as partly agreeing"
REFERENCE = "Nørregaard, J. and Derczynski, L. (2022). Sparse Probability of Agreement. arXiv:2208.06161."


def headline(findings: Findings) -> list[str]:
    """The sentences below the number: its meaning for a manager, and why it is not for other annotators."""
    spa, expected = findings.spa, findings.chance["krippendorff_alpha"].expected
    if spa.value is None:
        return [f"Agreement is undefined: {spa.undefined}."]
    who = "these two annotators" if findings.data.annotators == PAIR else "two random annotators"
    if findings.teams > 1:  # nobody knows how people of different teams agree
        who = "two random annotators of one team"
    meaning = f"{who.capitalize()} agree on a random item {percent(spa.value)} of the time"
    if findings.metric != NOMINAL:
        partly = f"{PARTLY.get(findings.metric, UNEQUAL)} (metric: {findings.metric})"
        meaning = f"On average {who} agree {percent(spa.value)} on a random item; {partly}"
    if spa.low is None:
        meaning += f"; no interval, because {spa.undefined}"
    words = [f"{meaning}.{'' if expected is None else f' Guessing: {percent(expected)}.'}"]
    items, others = (spa.intervals.get(name) for name in POPULATIONS)
    if items is not None and items.low is not None and others is not None and others.undefined is not None:
        words.append(f"Other annotators: not known, because {others.undefined}.")
    return words


def whom(shown: Estimate, people: int | None = None) -> dict[str, str]:
    """Whom the intervals are for, in words, the leading one first; only those that exist."""
    names = {ITEMS: f"these {'two ' if people == PAIR else ''}annotators", ANNOTATORS: "other annotators"}
    known = [name for name in POPULATIONS if name in shown.intervals and shown.intervals[name].low is not None]
    return {name: names[name] for name in sorted(known, key=lambda name: name != shown.interval_for)}


def both_intervals(shown: Estimate, people: int | None = None) -> str:
    """Every interval with whom it is for, the leading one first; empty without any."""
    ends = shown.intervals
    return ", ".join(f"{interval(ends[name])} for {words}" for name, words in whom(shown, people).items())


def interval_name(estimate: Estimate) -> str:
    """The kind of interval; only a bootstrap is named, Wilson's is the default."""
    return f"{estimate.level:.0%} {'' if estimate.method == WILSON else 'bootstrap '}interval"


def chance_gap(findings: Findings) -> str:
    """Why kappa is so much lower than agreement; empty if it is not."""
    kappa, spa = findings.chance["krippendorff_alpha"], findings.spa
    if kappa.value is None or kappa.expected is None or spa.value is None or spa.value - kappa.value <= WIDE_GAP:
        return ""
    blindly = "annotators who pick labels blindly, each as often as it was used here"
    return (
        f"Why kappa is lower: {blindly}, would already agree {percent(kappa.expected)} of the time; "
        "kappa counts only agreement beyond that."
    )


def for_paper(breakdowns: Breakdowns, caution: str = "") -> str:
    """The sentence for a paper: figure, intervals, method, data, software; and why not to quote it yet.

    It is about the items that count, and only their annotations.
    """
    findings, data, overlap = breakdowns.findings, breakdowns.findings.data, breakdowns.overlap
    spa, kappa, is_nominal = findings.spa, findings.chance["krippendorff_alpha"], findings.metric == NOMINAL
    if spa.value is None:
        return ""
    weights = f"{spa.weights} weights"
    if spa.weights == CUSTOM:
        by_n = findings.weights[CUSTOM].by_n
        several = [f"{n}: {float(weight):g}" for n, weight in list(by_n.items())[:MOST_WEIGHTS]]
        several += ["…"] if len(by_n) > MOST_WEIGHTS else []
        weights = f"own weights by number of annotations {', '.join(several)}"
    measure = "Sparse Probability of Agreement" + ("" if is_nominal else f" with the {findings.metric} metric")
    figures = [f"{measure}, {weights}"]
    if both := both_intervals(spa, data.annotators):
        figures.append(f"{interval_name(spa)} {both}")
    is_near = any(warning.code == "near_chance" for warning in findings.warnings)
    if kappa.value is not None and kappa.expected is not None and (is_near or not is_nominal):
        chance = f"chance agreement {figure(kappa.expected)}"
        figures.append(f"{chance}, Krippendorff's alpha {figure(kappa.value)}")
    people = data.annotators if data.pairable_annotations == data.annotations else None
    if not isinstance(overlap, Absent):
        people = overlap.annotators - len(overlap.alone)
    used = count(data.pairable_annotations, "annotation") + (f" by {count(people, 'annotator')}" if people else "")
    for why in data.left_out:
        if why.startswith(AFTER_FIRST):
            used += f", only the first {why.removeprefix(AFTER_FIRST)} of each item"
    size = "only item" if data.pairable_items == 1 else f"{data.pairable_items:,} items"
    basis = f"computed on the {size} with at least two annotations ({used})"
    if data.clusters is not None and data.cluster is not None:
        basis += f", standard error over {count(data.clusters, 'cluster')} ({printable(data.cluster)})"
    number = f"{figure(spa.value)} ({'; '.join([*figures, f'spagree {__version__}'])})"
    return f"Inter-annotator agreement was {number}, {basis}.{f' {caution}' if caution else ''}"


def columns_in_words(understood: Understood) -> str:
    """Which column was read as what, and which of them were guessed."""
    columns = ", ".join(
        role if role == name else f"{role} = {printable(name, 80)}" for role, name in understood.columns.items()
    )
    guessed = [role for role in understood.columns if role in understood.guessed]
    if not guessed:
        return columns
    which = f"{', '.join(guessed)} " if len(guessed) < len(understood.columns) else ""
    return f"{columns} ({which}guessed)"


# What changed -------------------------------------------------------------------------------------


SAME = {"weights": "other weights", "interval_for": "another kind of interval"}


def what_changed(earlier: Mapping[str, Any], later: Mapping[str, Any]) -> str:
    """What changed, and whether chance could explain it.

    >>> spa = {"value": 0.5, "stderr": 0.01, "level": 0.95, "weights": "flat"}
    >>> counts = {"annotations": 10, "items": 5, "annotators": 2}
    >>> now = {"spa": {**spa, "value": 0.6}, "data": {**counts, "items": 7}, "metric": "nominal"}
    >>> print(what_changed({"spa": spa, "data": counts, "metric": "nominal"}, now))
    0.500 → 0.600 (+0.100, interval +0.072 to +0.128): more than chance would explain. 2 more items.
    """
    if "spa" not in earlier:
        return "The earlier file holds several questions; compare it with a report of all of them."
    unlike = [words for name, words in SAME.items() if earlier["spa"].get(name) != later["spa"].get(name)]
    unlike += ["another metric"] if earlier.get("metric") != later.get("metric") else []
    if unlike:
        return f"The earlier number cannot be compared: it was measured with {' and '.join(unlike)}."
    changes = []  # how much was added or taken away
    for noun in ("annotation", "item", "annotator"):
        before, after = (each["data"].get(f"{noun}s") for each in (earlier, later))
        if before is not None and after is not None and after != before:
            changes.append(count(abs(after - before), f"{'more' if after > before else 'fewer'} {noun}"))
    counts = ", ".join(changes) or "There are as many annotations, items and annotators as before"
    gap = change_of(earlier["spa"], later["spa"])
    if gap is None:
        return f"One of the two numbers has no interval, so they are not compared. {counts}."
    clear = "more than chance would explain" if gap.is_clear else "no more than chance would explain"
    ends = f"{change(gap.value)}, interval {change(gap.low)} to {change(gap.high)}"
    return f"{figure(gap.before)} → {figure(gap.after)} ({ends}): {clear}. {counts}."


# Comparisons --------------------------------------------------------------------------------------


UNKNOWN_ITEMS = (
    "A tally does not say which items it holds, so its items were treated as different items. "
    "If both share items, compare the annotations themselves; the interval is then usually narrower."
)


def pair_sentence(pair: Pair, shown: Callable[[str], str] = printable) -> str:
    """The result of a comparison in one sentence."""
    a, b, gap, verdict = shown(pair.a.name), shown(pair.b.name), pair.difference, pair.verdict
    if gap.value is None or gap.low is None:
        return f"{b} and {a} cannot be compared: {gap.undefined}."
    if verdict == "the_same":
        return f"{b} and {a} are the same: nothing differs between them."
    whose = " for these annotators" if gap.interval_for == ITEMS else ""
    figures = f"{change(gap.value)}, {span(gap)}{whose}, {p_value(pair.p_holm or 0.0)}"
    if verdict == "cannot_tell":
        return f"There is not enough data to tell whether {b} agrees more than {a}: {figures}."
    if verdict != "label_mix":
        return f"{b} agrees {'more' if verdict == 'agrees_more' else 'less'} than {a}: {figures}."
    more, better = ("more", "better") if gap.value > 0 else ("less", "worse")
    alpha = pair.kappa_difference
    beyond = "undefined" if alpha is None or alpha.value is None else f"{change(alpha.value)}, {span(alpha)}"
    shares = []  # of each label on either side; the one that changed most is named
    for side in (pair.a, pair.b):
        labels = {} if side.tally is None else side.tally.pairable_labels
        shares.append({label: size / sum(labels.values()) for label, size in labels.items()})
    shifts = {label: abs(shares[1].get(label, 0.0) - shares[0].get(label, 0.0)) for label in (*shares[0], *shares[1])}
    shifted = ""
    if shifts:
        label = max(shifts, key=lambda each: (shifts[each], each))
        before, after = (percent(each.get(label, 0.0)) for each in shares)
        shifted = f"{quoted(label)} went from {before} to {after} of the labels, "
    return (
        f"{b} shows {more} agreement than {a} ({figures}), but its labels are used in other shares, and nothing shows "
        f"that people agree {better}: {shifted}alpha {beyond}."
    )


def beside(pair: Pair) -> str:
    """The interval that does not lead, or why there is none for other annotators; empty without anything to say."""
    items, others = (pair.difference.intervals.get(name) for name in POPULATIONS)
    if items is None or items.low is None or pair.verdict == "the_same":
        return ""
    if others is None or others.low is None:
        why = "" if others is None else f": {others.undefined}"
        if pair.shared_annotators:
            return f"Other annotators: not known{why}."
        return f"Different people may explain a difference; whether they do is not known{why}."
    if pair.difference.interval_for == ITEMS:
        return f"Other annotators like these: {span(others)}."
    return f"These annotators, on new items: {span(items)}."


def comparison_notes(compared: Compared) -> Iterable[str]:
    """What the figures of a comparison rest on, a sentence each."""
    pair = compared.pairs[0]
    yield f"Intervals: {pair.difference.level:.0%}, on new items. Difference: second minus first."
    if len(compared.pairs) > 1:
        yield f"p: adjusted for all {len(compared.pairs)} differences (Holm)."
    if compared.groups:
        many = len(compared.groups) * len(compared.pairs)
        yield f"p within groups: adjusted for all {many} differences (Holm)."
    if any(pair.shared_items is None for pair in compared.pairs):
        yield UNKNOWN_ITEMS
    for pair in compared.pairs:
        shared = [
            count(number, what)
            for number, what in ((pair.shared_items, "item"), (pair.shared_annotators, "annotator"))
            if number
        ]
        if shared:
            yield f"{pair_name(pair)}: {' and '.join(shared)} in common, compared one by one."
    for name, having in compared.not_compared.items():
        have = f"{' and '.join(map(printable, having))} {'has' if len(having) == 1 else 'have'}"
        yield f"Not compared: {printable(name) or '(no value)'}, which only {have}."


def pair_name(pair: Pair) -> str:
    """The difference by the names of its sides."""
    return f"{printable(pair.b.name)} − {printable(pair.a.name)}"


# Models -------------------------------------------------------------------------------------------


ITEMS_LEFT_OUT = {
    "no_model_label": "without a label of the model",
    "fewer_than_two_people": "with fewer than two people",
    "no_people": "that only the model labelled",
}
MODEL_VERDICTS = {
    "better": "{name} agrees with people more than another person does",
    "as_good": "{name} agrees with people as well as a person does, within {margin:g}",
    "slightly_worse": "{name} agrees with people less than a person does, though perhaps by no more than {margin:g}",
    "worse": "{name} agrees with people less than a person does, by more than {margin:g}",
    "cannot_tell": "There is not enough data to tell whether {name} agrees with people as well as a person",
}


def model_sentence(model: ModelFindings) -> str:
    """The result of the comparison in one sentence."""
    name, gap = printable(model.name), model.difference
    if gap.low is None:
        return f"{name} cannot be compared with people: {gap.undefined}."
    verdict = MODEL_VERDICTS[model.verdict].format(name=name, margin=model.margin)
    return f"{verdict}: {change(gap.value)}, {span(gap)}."


def model_details(model: ModelFindings) -> Iterable[str]:
    """The data behind the figures."""
    if model.items:
        people = "people unknown" if model.humans_count is None else count(model.humans_count, "person", "people")
        level, covers = model.difference.level, COVERS[model.difference.interval_for]
        yield f"{printable(model.name)}: {count(model.items, 'item')}, {people}; {level:.0%} interval for {covers}."
    for reason, items in model.left_out.items():
        yield f"Left out: {count(items, 'item')} {ITEMS_LEFT_OUT[reason]}."
    runs = model.self_agreement
    if runs is not None:
        interval = "" if runs.low is None else f" ({limits(runs.low, runs.high)})"
        yield f"{model.runs} runs of the model agree with each other {figure(runs.value)}{interval}."


# Groups and annotators ----------------------------------------------------------------------------


NO_VALUE = "(no value)"
MOST_DIFFERENCES = 10


class GroupLine(NamedTuple):
    """A group, or one group of annotators with another: agreement, the items behind it, and kappa."""

    name: str
    spa: Estimate
    items: int
    kappa: Corrected | None


def shown_name(name: str) -> str:
    """A group's name; the group without a value has one too."""
    return printable(name) if name else NO_VALUE


def group_lines(groups: Groups) -> list[GroupLine]:
    """Each group alone, then each pair of groups of annotators."""
    within = "within " if groups.between else ""
    lines = []
    for name, part in groups.findings.items():
        of_labels = isinstance(part, Findings)
        headline, alpha = (part.spa, part.chance["krippendorff_alpha"]) if of_labels else (part.exact, None)
        lines.append(GroupLine(f"{within}{shown_name(name)}", headline, part.data.pairable_items, alpha))
    return lines + [
        GroupLine(f"{shown_name(pair.a)} with {shown_name(pair.b)}", pair.agreement, pair.items, None)
        for pair in groups.between
    ]


def differences_in_words(
    groups: Groups, most: int = MOST_DIFFERENCES, rest: str = "(--json lists all)"
) -> Iterator[str]:
    """Which groups differ, corrected for all comparisons; one sentence covers the undecided.

    ``rest`` says where to find those beyond ``most``.
    """
    pairs = groups.differences
    differ = [pair for pair in pairs if pair.verdict not in ("cannot_tell", "the_same")]
    for pair in differ[:most]:
        yield pair_sentence(pair, shown_name)
    if len(differ) > most:
        yield f"… and {len(differ) - most:,} more differences {rest}"
    undecided = count(len(pairs) - len(differ), "pair")
    if len(pairs) == 1 and not differ and pairs[0].difference.low is not None:
        yield pair_sentence(pairs[0], shown_name)
    elif len(differ) < len(pairs):
        others = "other groups" if differ else "groups"
        yield f"There is not enough data to tell whether the {others} differ ({undecided}, Holm over all)."


# What a list says ---------------------------------------------------------------------------------


MOST_DOUBTFUL = 5  # names in a sentence


def _first(names: Sequence[str]) -> str:
    return ", ".join(names[:MOST_DOUBTFUL]) + (", …" if len(names) > MOST_DOUBTFUL else "")


def doubtful(rows: Iterable[Mapping[str, Any]]) -> str:
    """With whom the others agree less, though not certainly because of them; empty if there is nobody.

    >>> doubtful([{"annotator": "ann", "stands_out_undefined": "two of the others agree unusually often"}])
    'The others agree less with ann than with each other, perhaps only because two of them agree unusually often.'
    """
    names = [printable(row["annotator"]) for row in rows if row["stands_out_undefined"] == OTHERS_ALIKE]
    why = "perhaps only because two of them agree unusually often"
    return f"The others agree less with {_first(names)} than with each other, {why}." if names else ""


def found_items(rows: Rows) -> str:
    """What a list of the most disputed items says."""
    if not rows:
        return "Everybody agrees on every item with two annotations."
    share, most = percent(round(sum(row["share"] for row in rows), 9)), quoted(str(rows[0]["item"]))
    if len(rows) == 1:
        return f"The item {most} holds {share} of all disagreements."
    return f"These {len(rows):,} items hold {share} of all disagreements; {most} holds most."


def found_classes(rows: Rows) -> str:
    """What a list of pairs of classes says: the largest share, and which pairs clearly exceed chance."""
    if not rows:
        return "Nobody disagrees about any class."
    pairs = [f"{quoted(row['class'])} against {quoted(row['other'])}" for row in rows]
    more = _first([pair for pair, row in zip(pairs, rows, strict=True) if row["more"]])
    beyond = f" Clearly more often than by chance: {more}." if more else ""
    items = count(rows[0]["items"], "item")
    return f"{pairs[0]}: {percent(rows[0]['share'])} of all disagreements, on {items}.{beyond}"


def found_annotators(rows: Rows, told: str = "") -> str:
    """Whom the steps name, as ``told`` says, or who stands out in a list of annotators at all."""
    names = [printable(row["annotator"], 24) for row in rows if row["stands_out"]]
    if names and not told:
        verb = "stands" if len(names) == 1 else "stand"
        told = f"{_first(names)} {verb} out: the others agree less with them than with each other."
    return " ".join(filter(None, [told, doubtful(rows)])) or "Nobody stands out."


def found_pairs(rows: Rows, told: str = "") -> str:
    """What the steps say about pairs, as ``told`` says, and which pair agrees least."""
    one, other = (printable(rows[0][side], 24) for side in ("annotator", "other"))
    shared = count(rows[0]["shared"], "shared item")
    return f"{told} {one} and {other} agree least: {figure(rows[0]['agreement'])} on {shared}.".strip()


def found_development(rows: Rows, told: str = "") -> str:
    """Which period the steps name, as ``told`` says, and how agreement changed from first to last."""
    known = [row for row in rows if row["spa"] is not None]
    if not known:
        return "No item has two annotations yet."
    first, last = (f"{figure(row['spa'])} after {row['annotations']:,}" for row in (known[0], known[-1]))
    recent = known[-1]["recent"]
    now = "" if recent is None else f"; {figure(recent)} on the items finished last"
    return f"{told} Agreement was {first} annotations and is {last}{now}.".strip()


# Plans --------------------------------------------------------------------------------------------


ROUTES = {"fresh": "a fresh data set", "new_items": "new items", "same_items": "the same items"}
MOST_PLANS = 25
MOSTLY = 0.5  # the share of a variance that decides what narrows an interval
LITTLE_KNOWN = (
    "The pilot says little about that many annotations per item; typical values from real data sets fill the gap"
)
NOTHING_KNOWN = "Without a pilot, how much items differ is assumed from real data sets"


def plan_lines(rows: Rows, pace: Pace | None) -> str:
    """The best plan in words, a line for each goal; only the first if a table has them."""
    said = best = [row for row in rows if row.get("best")]
    listed, is_best_only = listed_plans(rows)
    if is_best_only:
        first = [row for row in listed if half_width(row) == half_width(listed[0])]
        cheapest = min(first, key=lambda row: row["more_annotations"])
        said = [cheapest, *(row for row in best if not row["more_annotations"])]
    lines = [*dict.fromkeys(map(_plan_sentence, said))]
    widths: dict[str, dict[str, None]] = {}  # of each route that does not lead to the goal, with the reason
    for row in rows:
        if row.get("undefined") and row.get("route"):
            widths.setdefault(f"{ROUTES[row['route']]}: {row['undefined']}.", {})[half_width(row)] = None
    for why, concerned in widths.items():
        wide = ", ".join(filter(None, concerned))
        lines.append(f"{wide} with {why}" if wide else why)
    if pace is not None:
        lines.append(f"Present pace: {count(round(pace.per_day), 'annotation')} a day.")
    if any(row.get("assumed") for row in best):
        has_pilot = any(row["route"] != "fresh" for row in rows)
        lines.append(f"{LITTLE_KNOWN if has_pilot else NOTHING_KNOWN}, so the plan is rough.")
    return "\n".join(lines)


def people_line(spa: Estimate) -> str:
    """What narrows the interval for other annotators, which no plan is about; nothing where there is none."""
    items, others = spa.intervals.get(ITEMS), spa.intervals.get(ANNOTATORS)
    if items is None or others is None or others.low is None or not (items.stderr and others.stderr):
        return ""
    between = 1 - (items.stderr / others.stderr) ** 2  # the share of its variance that more items leave as it is
    is_people = between >= MOSTLY
    how = "narrows with more people, not with more items" if is_people else "also narrows with more items"
    return (
        f"These widths are for these annotators. The interval for other annotators, {interval(others)}, {how}: "
        f"differences between people are {'' if is_people else 'only '}{percent(between)} of its variance."
    )


def _plan_sentence(row: Mapping[str, Any]) -> str:
    route, more, needed = ROUTES[row["route"]], count(row["more_annotations"], "annotation"), row.get("require")
    done = f", done about {row['done']}" if row.get("done") else ""
    per_item = row["annotations_per_item"]
    if needed is not None and not row["more_annotations"]:
        sides = {True: "that agreement reaches", False: "that agreement is below", None: "whether agreement reaches"}
        return f"The data already show {sides[row.get('will_pass')]} {needed}."
    if needed is not None:
        goal = f"that agreement is {'above' if row['will_pass'] else 'below'} {needed}, if it stays as it is"
        return f"{more} of {route} ({per_item} per item) would show {goal}{done}."
    if not row["more_annotations"]:
        return f"{half_width(row)}: reached already."
    between, each = half_width_range(row), "" if per_item is None else f", {per_item} per item"
    wide = f"{half_width(row)} ({between})" if between else half_width(row)
    return f"{wide}: {more} of {route}, {count(row['items'], 'item')}{each}{done}."


def listed_plans(rows: Rows) -> tuple[Rows, bool]:
    """The plans a table lists, only the best of many, and whether they are several and all best: without marks."""
    planned = [row for row in rows if not row.get("undefined") and row["more_annotations"]]
    listed = planned if len(planned) <= MOST_PLANS else [row for row in planned if row["best"]]
    return listed, len(listed) > 1 and all(row["best"] for row in listed)


def half_width_range(row: Mapping[str, Any]) -> str:
    """The half-widths a plan may end up with; empty if there is one."""
    low, high = row.get("half_width_low"), row.get("half_width_high")
    return "" if low is None else limits(low, high)


def half_width(row: Mapping[str, Any]) -> str:
    """Half the width of the interval that a plan leads to."""
    return f"± {figure(row['half_width'])}" if row.get("half_width") is not None else ""


# Assignments --------------------------------------------------------------------------------------


MOST_NAMED = 10
UNEVEN = 0.01


def explain(design: Assignment) -> str:
    """How balanced a design is, one fact per line.

    >>> from spagree.assignment import assign
    >>> print(explain(assign([f"q{i}" for i in range(12)], ["ann", "bob", "cyd", "dan"], per_item=2)))
    Assigned   12 items to 4 annotators, 2 per item: 24 annotations (seed 0)
    Work       6 items each
    Pairs      any two annotators share 2 items
    Connected  all annotators can be compared, directly or through others
    """
    even = design.balance

    def each_has(low: int, high: int) -> str:
        return count(low, "item") if low == high else f"{low:,} to {count(high, 'item')}"

    people, made = count(even.annotators, "annotator"), count(even.annotations, "annotation")
    assigned = f"{count(even.items, 'item')} to {people}, {design.per_item} per item: {made} (seed {design.seed})"
    lines = [f"Assigned   {assigned}", f"Work       {each_has(even.least_work, even.most_work)} each"]
    if design.everyone:
        lines.append(f"Everyone   {count(len(design.everyone), 'item')} for all annotators")
    if even.fewest_shared is not None and even.most_shared is not None:
        lines.append(f"Pairs      any two annotators share {each_has(even.fewest_shared, even.most_shared)}")
        apart = "groups share no item: nothing will show whether they agree; assign more items or more per item"
        joined = "all annotators can be compared, directly or through others"
        lines.append(f"Connected  {joined if even.groups == 1 else f'{even.groups:,} {apart}'}")
    return "\n".join(lines)


def explain_returned(returned: Returned, width: int = 100) -> str:
    """What came back, compared with the assignment.

    >>> from spagree.assignment import check_returned
    >>> print(explain_returned(check_returned([("q1", "ann"), ("q1", "bob"), ("q2", "ann")], [("q1", "bob")])))
    Returned   1 of 3 assigned annotations (33%)
    Short      2 items: q1 1 of 2, q2 0 of 1
    Did less   1 annotator: ann 0 of 2
    By people  consistent with chance (p = 0.083): all missed about the same share
    """

    def named(rows: Sequence[tuple[str, int, int]]) -> str:
        shown = ", ".join(f"{printable(name, 30)} {done} of {assigned}" for name, assigned, done in rows[:MOST_NAMED])
        return shown + (f" and {len(rows) - MOST_NAMED:,} more" if len(rows) > MOST_NAMED else "")

    share = percent(returned.done / returned.assigned) if returned.assigned else "none assigned"
    facts = [("Returned", f"{returned.done:,} of {count(returned.assigned, 'assigned annotation')} ({share})")]
    if returned.unplanned:
        facts.append(("Unplanned", f"{count(returned.unplanned, 'annotation')} by people the item was not assigned to"))
    if returned.missing:
        facts.append(("Short", f"{count(len(returned.short_items), 'item')}: {named(returned.short_items)}"))
        facts.append(("Did less", f"{count(len(returned.people), 'annotator')}: {named(returned.people)}"))
    less, same = "some did much less; assign --finish reassigns their work", "all missed about the same share"
    skipped, none = "people skipped the same items; see what these have in common", "no items stand out"
    for head, p, uneven, even in (
        ("By people", returned.p_people, less, same),
        ("By items", returned.p_items, skipped, none),
    ):
        if p is not None:
            found = (
                f"uneven ({p_value(p)}): {uneven}" if p < UNEVEN else f"consistent with chance ({p_value(p)}): {even}"
            )
            facts.append((head, found))
    return "\n".join(fill(f"{head:<11}{words}", width, subsequent_indent=" " * 11) for head, words in facts)
