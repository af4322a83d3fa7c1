"""Steps → what to do next in words: a sentence, the evidence, and a command that goes on from there."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path, PurePath
from shlex import quote
from typing import Any

from spagree.errors import Option, count
from spagree.estimate import actions
from spagree.estimate.actions import Step
from spagree.options import Estimating, Kind, Reading, Spans, declared
from spagree.present.words import figure, moment, p_value, percent, plus_minus, printable, quoted, with_and

MOST = 3
MARKS = "marks"  # what agreement on spans is called in examples
NAME, NAMED = 16, 2  # characters of a name, and names of many
FEW_NAMES, SHORT_NAMES = 4, 24  # names, and their characters together, that are all shown
DAY = 10  # characters of a date
ESTIMATING = {
    "score": tuple(declared(Estimating)),
    "items": ("weights", "metric", "order"),
    "classes": ("metric", "order", "level"),
    "pairs": ("metric", "order", "level"),
}
NEEDED = ("weights", "metric", "order", "level")  # of all other commands


@dataclass(frozen=True, slots=True)
class NextStep:
    """Something to do, why, and how; ``names`` is whom it concerns.

    ``command`` goes on from there, and ``shown_by`` is its name; ``link`` is the place on the page.
    """

    code: str
    sentence: str
    finding: str
    details: str
    shown_by: str
    command: str
    link: str = ""
    names: tuple[str, ...] = ()

    @property
    def evidence(self) -> str:
        """The finding, which is enough for a terminal, with its details."""
        return f"{self.finding} {self.details}".strip()


@dataclass(frozen=True, slots=True)
class Source:
    """What was measured, as its user may name it again."""

    source: Any
    options: Mapping[str, Any]
    is_timed: bool = False
    called: str = "agreement"
    """How examples in Python call its result."""

    def without_folders(self) -> Source:
        """The same with the names of files alone: folders may be private."""
        sources = self.source if isinstance(self.source, list | tuple) else [self.source]
        is_named = all(isinstance(each, str | Path) for each in sources)
        return replace(self, source=[PurePath(each).name or each for each in sources]) if is_named else self

    def within(self, column: str, value: str) -> Source:
        """One group of it, as if it were measured alone.

        >>> Source("a.csv", {"by": "language"}).within("language", "de").command("items", "agreement.items()")
        "spagree items a.csv --where 'language=de'"
        """
        where = self.options.get("where", ())
        given = [f"{name}={each}" for name, each in where.items()] if isinstance(where, Mapping) else where
        chosen = [given] if isinstance(given, str) else [*given]
        options = {name: each for name, each in self.options.items() if name != "by"}
        source = None if "=" in column or column.endswith("!") else self.source  # not COLUMN=VALUE
        return replace(self, source=source, options={**options, "where": [*chosen, f"{column}={value}"]})

    def command(self, name: str, call: str, **more: object) -> str:
        """The command about this source; for data in memory, the same in Python.

        >>> Source("my labels.csv", {"item": "doc id", "level": 0.9}).command("items", "agreement.items()")
        "spagree items 'my labels.csv' --item 'doc id'"
        >>> Source(None, {}).command("items", "agreement.items()")
        'agreement.items()'
        """
        sources = self.source if isinstance(self.source, list | tuple) else [self.source]
        if not sources or not all(isinstance(each, str | Path) and "://" not in str(each) for each in sources):
            return call
        kept = [each for each in (*declared(Reading), *declared(Spans)) if each != "text" or name == "items"]
        kept += ESTIMATING.get(name, NEEDED)
        chosen = {option: value for option, value in {**self.options, **more}.items() if option in kept}
        flags = [words for option, value in chosen.items() for words in _typed(option, value)]
        short = ["-v"] if more.get("verbose") else []
        return " ".join(["spagree", name, *(quote(str(each)) for each in sources), *flags, *short])


def _typed(name: str, value: Any) -> list[str]:
    """An option as it is typed; nothing for what cannot be typed, such as a function or a hidden value."""
    kind = {**declared(Reading), **declared(Estimating), **declared(Spans)}[name].kind
    if kind is Kind.FLAG:
        return [f"--{'' if value else 'no-'}{name}"]
    if callable(value) or value is True:
        return []
    if isinstance(value, Mapping):
        pairs = [f"{key}={each}" for key, each in value.items()]
        values = [",".join(pairs)] if kind is Kind.WEIGHTS else pairs
    elif isinstance(value, Collection) and not isinstance(value, str):
        values = [",".join(map(str, value))] if kind is Kind.LISTED else [*map(str, value)]
    else:
        values = [str(value)]
    return [Option(name, tuple(values)).typed()]


# Each step: the command that shows it and the place on the page | what to do | what was found | the details

IN_TIME = "by_number_in_time"  # how it is told if times are known
TOLD = {
    actions.SECOND_ANNOTATION: "items | Have some items labelled by a second annotator. | "
    "Of {items}, none has two annotations, so there is no number.",
    actions.ITEM_COLUMN: "items | Check the item column. | Each of {annotations} has an item of its own.",
    actions.SHARED_ITEMS: "pairs people | Give the teams some shared items. | "
    "Nothing shows whether they agree. | {annotators} form {teams} that never labelled the same item.",
    actions.SCALE: "score method | Score the labels as a scale. | "
    "{share} of disagreements are one step apart. | "
    "{one} against {third} now counts like {one} against {other}.",
    actions.ONE_LABEL: "annotators people | Check the work of {names}. | In {share} of disagreements. | "
    "{people} (almost) one label to everything and made {made} of the annotations.{without}",
    actions.COPIES: "pairs people | Ask whether {names} worked together. | "
    "The same label on {agreement} of {items}. | On these, any two annotators agree {around} of the time.",
    IN_TIME: "score method | Score the first {first} annotations of each item. | "
    "Agreement is {few} with {fewer}, {many} with {more}. | No single number fits ({p}).",
    actions.BY_NUMBER: "score method | Report it by number of annotations. | "
    "{few} with {fewer}, {many} with {more}. | No single number fits ({p}).",
    actions.PEOPLE: "annotators people | See annotator{s} {names}. | "
    "{share} of disagreements, {of_pairs} of pairs. | "
    "{without} They may be right: leaving out dissenters always raises the number.",
    actions.CLASSES: "classes items | Explain {one} against {other}. | {share} of disagreements, on {items}.",
    actions.GROUP: "score people | Look at {column} {group}. | "
    "{share} of disagreements on {of_items} of the items. | Agreement is {spa} there.",
    actions.PERIOD: "development people | Read the items finished {days}. | "
    "{share} of disagreements on {of_items} of the items.",
    actions.THESE_ITEMS: "items items | Read the {disputed}. | "
    "{share} of disagreements, {of_items} of items. | They show what the guideline leaves open.",
    actions.MORE_PEOPLE: "annotators method | Ask more annotators. | "
    "More items would hardly narrow the interval. | "
    "{half_width} for others like them, {half_width_items} for these {annotators}.",
    actions.MORE_ITEMS: "plan method | Annotate more items. | About four times as many halve the interval. | "
    "It is {half_width} from {items}.",
    "other_label": "classes where | Define the labels that people exchange. |  | "
    "{share} of marks meet another label at another annotator.",
    "other_boundaries": "items items | Say in the guideline where a mark begins and ends. |  | "
    "{share} of marks meet other boundaries at another annotator.",
    "both": "items items | Look at a few texts together. |  | {share} of marks meet both at another annotator.",
    "nothing": "annotators people | Say what must be marked, and look at who finds what. |  | "
    "{share} of marks meet nothing at another annotator.",
}
# What shows it in Python, unless it has the name of the command
CALLS = {
    actions.SCALE: 'spagree.measure(source, metric="ordinal")',
    IN_TIME: "spagree.measure(source, first={first})",
    actions.BY_NUMBER: "print(agreement)",
    actions.CLASSES: "agreement.confusion()",
    actions.GROUP: "agreement.groups",
    actions.THESE_ITEMS: "agreement.disputed()",
}
OPTIONS: Mapping[str, Mapping[str, object]] = {
    actions.SCALE: {"metric": "ordinal"},
    actions.BY_NUMBER: {"verbose": True},
}
KINDS: Mapping[str, Callable[[float], str]] = {
    **dict.fromkeys(("share", "of_pairs", "of_items", "made", "agreement", "around"), percent),
    **dict.fromkeys(("few", "many"), partial(figure, digits=2)),
    **dict.fromkeys(("half_width", "half_width_items"), plus_minus),
    "spa": figure,
    "p": p_value,
}
COUNTED = ("items", "annotations", "annotators", "teams")
# by whose names a page filters items
NAMING = (actions.ONE_LABEL, actions.COPIES, actions.PEOPLE, actions.CLASSES)


def next_steps(steps: Sequence[Step], source: Source, most: int = MOST) -> tuple[NextStep, ...]:
    """The first steps in words, the same everywhere.

    >>> step = Step("classes", ("no", "yes"), {"share": 0.5, "expected": 0.2, "items": 12})
    >>> next_steps([step], Source("a.csv", {}))[0].evidence
    '50% of disagreements, on 12 items.'
    """
    told = []
    for step in steps[:most]:
        words, names = _words(step), step.names if step.code in NAMING else ()
        is_in_time = step.code == actions.BY_NUMBER and source.is_timed and "first" not in source.options
        code = IN_TIME if is_in_time else step.code
        shown, sentence, finding, *details = (each.format(**words) for each in TOLD[code].split(" | "))
        by, _, link = shown.partition(" ")
        options: Mapping[str, object] = OPTIONS.get(code, {})
        if code == IN_TIME:
            options = {"first": words["first"]}
        elif code == actions.PERIOD:
            ends = words["days"].split(" to ")
            names = ends[0], ends[-1]
        elif code == actions.MORE_ITEMS and (source.called == MARKS or not step.figures["stderr"]):
            by = "items"  # there is no plan for spans
        call = CALLS[code].format(**words) if code in CALLS else f"{source.called}.{by}()"
        command = source.command(by, call, **options)
        told.append(NextStep(step.code, sentence, finding, "".join(details).strip(), by, command, link, names))
    return tuple(told)


def _words(step: Step) -> dict[str, str]:
    """The names and figures of a step in words, as its templates need them."""
    names, figures, code = step.names, step.figures, step.code
    words = {name: say(figures[name]) for name, say in KINDS.items() if name in figures}
    words |= {name: count(int(figures[name]), name[:-1]) for name in COUNTED if name in figures}
    words |= dict(zip(("one", "other", "third"), map(quoted, names), strict=False))
    is_short = len(names) <= FEW_NAMES and sum(map(len, names)) <= SHORT_NAMES
    short = [printable(name, NAME) or "''" for name in names]
    named = short[: FEW_NAMES if is_short else NAMED]
    rest = len(names) - len(named)
    words["names"] = f"{', '.join(named)} and {rest:,} more" if rest else with_and(named)
    words["s"] = "s" if len(names) > 1 else ""
    without = figures.get("spa_without")
    who = "them" if len(names) > 1 else "".join(short)
    words["without"] = "" if without is None else f" Without {who}: {figure(without)}."
    words["people"] = f"{len(names):,} {'people give' if len(names) > 1 else 'person gives'}"
    if code == actions.GROUP:
        words["group"], words["column"] = short
    elif code == actions.PERIOD:
        words["days"] = days(step)
    elif code == actions.THESE_ITEMS:
        size = int(figures["items"])
        words["disputed"] = f"{size} most disputed items" if size > 1 else "disputed item"
    elif code == actions.BY_NUMBER:
        words["first"] = str(max(2, round(figures["fewest"])))
        for name, low, high in (
            ("fewer", figures["fewest"], figures["until"]),
            ("more", figures["from"], figures["most"]),
        ):
            words[name] = f"{low:.0f}" if low == high else f"{low:.0f} to {high:.0f}"
    return words


def shown_by(name: str, steps: Sequence[Step], source: Source) -> str:
    """What a command says first: the steps that lead to it, with all evidence."""
    told = [each for each in next_steps(steps, source, len(steps)) if each.shown_by == name]
    return " ".join(f"{each.sentence} {each.evidence}" for each in told if each.code not in actions.PRECISION)


def people_named(steps: Sequence[Step]) -> tuple[str, ...]:
    """Everybody whom a step names, in its order."""
    codes = (actions.ONE_LABEL, actions.COPIES, actions.PEOPLE)
    return tuple(dict.fromkeys(name for step in steps if step.code in codes for name in step.names))


def days(step: Step) -> str:
    """The first and the last day of a period."""
    return " to ".join(dict.fromkeys(moment(step.figures[end])[:DAY] for end in ("since", "until")))
