"""Steps → what to do next in words: a sentence, the evidence from these data, and a command that goes on from there."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from shlex import quote
from typing import Any

from spagree.errors import count
from spagree.estimate import actions
from spagree.estimate.actions import Step
from spagree.messages import Option
from spagree.options import Estimating, Kind, Reading, Spans, declared
from spagree.present.words import figure, moment, p_value, percent, plus_minus, printable, quoted

MOST = 3
NAME, NAMED = 16, 2  # characters of a name, and names of many
FEW_NAMES, SHORT_NAMES = 4, 24  # names, and their characters together, that are all shown
DAY = 10  # characters of a date
ESTIMATING = {
    "score": tuple(declared(Estimating)),
    "items": (),
    "classes": ("metric", "order", "level"),
    "pairs": ("metric", "order", "level"),
}
NEEDED = ("weights", "metric", "order", "level")  # of all other commands


@dataclass(frozen=True, slots=True)
class NextStep:
    """Something to do, why, and how; ``link`` is the place on the page that shows it, ``names`` whom it concerns."""

    code: str
    sentence: str
    finding: str
    details: str
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


def next_steps(steps: Sequence[Step], source: Source, most: int = MOST) -> tuple[NextStep, ...]:
    """The first steps in words, the same everywhere.

    >>> step = Step("classes", ("no", "yes"), {"share": 0.5, "expected": 0.2, "items": 12})
    >>> next_steps([step], Source("a.csv", {}))[0].evidence
    '50% of disagreements, on 12 items.'
    """
    return tuple(WORDS[step.code](step, source) for step in steps[:most])


def _names(step: Step) -> str:
    is_short = len(step.names) <= FEW_NAMES and sum(map(len, step.names)) <= SHORT_NAMES
    most = FEW_NAMES if is_short else NAMED
    named = [printable(name, NAME) or "''" for name in step.names[:most]]
    rest = len(step.names) - len(named)
    if rest:
        return f"{', '.join(named)} and {rest:,} more"
    return " and ".join(filter(None, [", ".join(named[:-1]), named[-1]]))


def _second(step: Step, source: Source) -> NextStep:
    finding = f"None of {count(int(step.figures['items']), 'item')} has two annotations, so there is no number."
    command = source.command("items", "agreement.items()")
    return NextStep(step.code, "Have some items labelled by a second annotator.", finding, "", command)


def _column(step: Step, source: Source) -> NextStep:
    finding = f"Each of {count(int(step.figures['annotations']), 'annotation')} has an item of its own."
    return NextStep(step.code, "Check the item column.", finding, "", source.command("items", "agreement.items()"))


def _teams(step: Step, source: Source) -> NextStep:
    people = count(int(step.figures["annotators"]), "annotator")
    details = f"{people} form {int(step.figures['teams']):,} teams that never labelled the same item."
    words, finding = "Give the teams some shared items.", "Nothing shows whether they agree."
    return NextStep(step.code, words, finding, details, source.command("pairs", "agreement.pairs()"), "people")


def _scale(step: Step, source: Source) -> NextStep:
    low, near, far = map(quoted, step.names)
    finding = f"{percent(step.figures['share'])} of disagreements are one step apart."
    details = f"{low} against {far} now counts like {low} against {near}."
    command = source.command("score", 'spagree.measure(source, metric="ordinal")', metric="ordinal")
    return NextStep(step.code, "Score the labels as a scale.", finding, details, command, "method")


def _without(step: Step) -> str:
    without, who = step.figures.get("spa_without"), "them" if len(step.names) > 1 else printable(step.names[0], NAME)
    return "" if without is None else f" Without {who}: {figure(without)}."


def _one_label(step: Step, source: Source) -> NextStep:
    who = "people give" if len(step.names) > 1 else "person gives"
    made = f"{len(step.names):,} {who} (almost) one label to everything and made {percent(step.figures['made'])}"
    finding, details = f"In {percent(step.figures['share'])} of disagreements.", f"{made} of the annotations."
    words, command = f"Check the work of {_names(step)}.", source.command("annotators", "agreement.annotators()")
    return NextStep(step.code, words, finding, details + _without(step), command, "people", step.names)


def _copies(step: Step, source: Source) -> NextStep:
    same, size, around = (step.figures[name] for name in ("agreement", "items", "around"))
    finding = f"The same label on {percent(same)} of {int(size):,} items."
    details = f"On these, any two annotators agree {percent(around)} of the time."
    words, command = f"Ask whether {_names(step)} worked together.", source.command("pairs", "agreement.pairs()")
    return NextStep(step.code, words, finding, details, command, "people", step.names)


def _by_number(step: Step, source: Source) -> NextStep:
    figures = step.figures
    few, many = (
        f"{low:.0f}" if low == high else f"{low:.0f} to {high:.0f}"
        for low, high in ((figures["fewest"], figures["until"]), (figures["from"], figures["most"]))
    )
    finding = f"{figure(figures['few'], 2)} with {few}, {figure(figures['many'], 2)} with {many}."
    details = f"No single number fits ({p_value(figures['p'])})."
    if source.is_timed and "first" not in source.options:
        fewest = max(2, round(figures["fewest"]))
        command = source.command("score", f"spagree.measure(source, first={fewest})", first=fewest)
        words = f"Score the first {fewest} annotations of each item."
        return NextStep(step.code, words, f"Agreement is {finding}", details, command, "method")
    command = source.command("score", "print(agreement)", verbose=True)
    return NextStep(step.code, "Report it by number of annotations.", finding, details, command, "method")


def _people(step: Step, source: Source) -> NextStep:
    finding = f"{percent(step.figures['share'])} of disagreements, {percent(step.figures['of_pairs'])} of pairs."
    details = f"{_without(step)} They may be right: leaving out dissenters always raises the number.".lstrip()
    people = "annotators" if len(step.names) > 1 else "annotator"
    words, command = f"See {people} {_names(step)}.", source.command("annotators", "agreement.annotators()")
    return NextStep(step.code, words, finding, details, command, "people", step.names)


def _classes(step: Step, source: Source) -> NextStep:
    one, other = map(quoted, step.names)
    share, items = percent(step.figures["share"]), count(int(step.figures["items"]), "item")
    words, finding = f"Explain {one} against {other}.", f"{share} of disagreements, on {items}."
    return NextStep(
        step.code, words, finding, "", source.command("classes", "agreement.confusion()"), "items", step.names
    )


def _group(step: Step, source: Source) -> NextStep:
    name, column = (printable(each, NAME) or "''" for each in step.names)
    finding = f"{percent(step.figures['share'])} of disagreements on {percent(step.figures['of_items'])} of the items."
    details, command = f"Agreement is {figure(step.figures['spa'])} there.", source.command("score", "agreement.groups")
    return NextStep(step.code, f"Look at {column} {name}.", finding, details, command, "people")


def _period(step: Step, source: Source) -> NextStep:
    ends = [moment(step.figures[end])[:DAY] for end in ("since", "until")]
    when = " to ".join(dict.fromkeys(ends))
    finding = f"{percent(step.figures['share'])} of disagreements on {percent(step.figures['of_items'])} of the items."
    command = source.command("development", "agreement.development()")
    return NextStep(step.code, f"Read the items finished {when}.", finding, "", command, "people", tuple(ends))


def _items(step: Step, source: Source) -> NextStep:
    size = int(step.figures["items"])
    share, of_items = percent(step.figures["share"]), percent(step.figures["of_items"])
    words = f"Read the {size} most disputed items." if size > 1 else "Read the disputed item."
    finding, details = f"{share} of disagreements, {of_items} of items.", "They show what the guideline leaves open."
    return NextStep(step.code, words, finding, details, source.command("items", "agreement.disputed()"), "items")


def _more_people(step: Step, source: Source) -> NextStep:
    wide, narrow = (plus_minus(step.figures[name]) for name in ("half_width", "half_width_items"))
    people = count(int(step.figures["annotators"]), "annotator")
    details = f"{wide} for others like them, {narrow} for these {people}."
    words, finding = "Ask more annotators.", "More items would hardly narrow the interval."
    return NextStep(
        step.code, words, finding, details, source.command("annotators", "agreement.annotators()"), "method"
    )


def _more_items(step: Step, source: Source) -> NextStep:
    size, half = count(int(step.figures["items"]), "item"), plus_minus(step.figures["half_width"])
    plan, items = source.command("plan", "agreement.plan()"), source.command("items", "agreement.items()")
    words, finding = "Annotate more items.", "About four times as many halve the interval."
    command = plan if step.figures["stderr"] else items
    return NextStep(step.code, words, finding, f"It is {half} from {size}.", command, "method")


WORDS: Mapping[str, Callable[[Step, Source], NextStep]] = {
    actions.SECOND_ANNOTATION: _second,
    actions.ITEM_COLUMN: _column,
    actions.SHARED_ITEMS: _teams,
    actions.SCALE: _scale,
    actions.ONE_LABEL: _one_label,
    actions.COPIES: _copies,
    actions.BY_NUMBER: _by_number,
    actions.PEOPLE: _people,
    actions.CLASSES: _classes,
    actions.GROUP: _group,
    actions.PERIOD: _period,
    actions.THESE_ITEMS: _items,
    actions.MORE_PEOPLE: _more_people,
    actions.MORE_ITEMS: _more_items,
}
