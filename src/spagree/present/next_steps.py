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
    "items": ("weights", "metric", "order"),
    "classes": ("metric", "order", "level"),
    "pairs": ("metric", "order", "level"),
}
NEEDED = ("weights", "metric", "order", "level")  # of all other commands


@dataclass(frozen=True, slots=True)
class NextStep:
    """Something to do, why, and how; ``names`` is whom it concerns.

    ``command`` goes on from there, and ``shown_by`` is its name; ``link`` is the place on the page that shows it.
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


def _names(step: Step) -> str:
    is_short = len(step.names) <= FEW_NAMES and sum(map(len, step.names)) <= SHORT_NAMES
    most = FEW_NAMES if is_short else NAMED
    named = [printable(name, NAME) or "''" for name in step.names[:most]]
    rest = len(step.names) - len(named)
    if rest:
        return f"{', '.join(named)} and {rest:,} more"
    return " and ".join(filter(None, [", ".join(named[:-1]), named[-1]]))


def _told(
    step: Step, source: Source, sentence: str, finding: str, details: str = "", *, by: str, link: str = "",
    names: tuple[str, ...] = (), call: str = "", **options: object,
) -> NextStep:  # fmt: skip
    """A step with the command that shows it; ``call`` is the same in Python."""
    command = source.command(by, call or f"agreement.{by}()", **options)
    return NextStep(step.code, sentence, finding, details, by, command, link, names)


def _second(step: Step, source: Source) -> NextStep:
    finding = f"Of {count(int(step.figures['items']), 'item')}, none has two annotations, so there is no number."
    return _told(step, source, "Have some items labelled by a second annotator.", finding, by="items")


def _column(step: Step, source: Source) -> NextStep:
    finding = f"Each of {count(int(step.figures['annotations']), 'annotation')} has an item of its own."
    return _told(step, source, "Check the item column.", finding, by="items")


def _teams(step: Step, source: Source) -> NextStep:
    people = count(int(step.figures["annotators"]), "annotator")
    details = f"{people} form {int(step.figures['teams']):,} teams that never labelled the same item."
    words, finding = "Give the teams some shared items.", "Nothing shows whether they agree."
    return _told(step, source, words, finding, details, by="pairs", link="people")


def _scale(step: Step, source: Source) -> NextStep:
    low, near, far = map(quoted, step.names)
    finding = f"{percent(step.figures['share'])} of disagreements are one step apart."
    details = f"{low} against {far} now counts like {low} against {near}."
    words, call = "Score the labels as a scale.", 'spagree.measure(source, metric="ordinal")'
    return _told(step, source, words, finding, details, by="score", link="method", call=call, metric="ordinal")


def _without(step: Step) -> str:
    without, who = step.figures.get("spa_without"), "them" if len(step.names) > 1 else printable(step.names[0], NAME)
    return "" if without is None else f" Without {who}: {figure(without)}."


def _one_label(step: Step, source: Source) -> NextStep:
    who = "people give" if len(step.names) > 1 else "person gives"
    made = f"{len(step.names):,} {who} (almost) one label to everything and made {percent(step.figures['made'])}"
    words, finding = f"Check the work of {_names(step)}.", f"In {percent(step.figures['share'])} of disagreements."
    details = f"{made} of the annotations.{_without(step)}"
    return _told(step, source, words, finding, details, by="annotators", link="people", names=step.names)


def _copies(step: Step, source: Source) -> NextStep:
    same, size, around = (step.figures[name] for name in ("agreement", "items", "around"))
    words, finding = (
        f"Ask whether {_names(step)} worked together.",
        f"The same label on {percent(same)} of {int(size):,}",
    )
    details = f"On these, any two annotators agree {percent(around)} of the time."
    return _told(step, source, words, f"{finding} items.", details, by="pairs", link="people", names=step.names)


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
        words, call = f"Score the first {fewest} annotations of each item.", f"spagree.measure(source, first={fewest})"
        finding = f"Agreement is {finding}"
        return _told(step, source, words, finding, details, by="score", link="method", call=call, first=fewest)
    words, call = "Report it by number of annotations.", "print(agreement)"
    return _told(step, source, words, finding, details, by="score", link="method", call=call, verbose=True)


def _people(step: Step, source: Source) -> NextStep:
    finding = f"{percent(step.figures['share'])} of disagreements, {percent(step.figures['of_pairs'])} of pairs."
    details = f"{_without(step)} They may be right: leaving out dissenters always raises the number.".lstrip()
    words = f"See annotator{'s' if len(step.names) > 1 else ''} {_names(step)}."
    return _told(step, source, words, finding, details, by="annotators", link="people", names=step.names)


def _classes(step: Step, source: Source) -> NextStep:
    one, other = map(quoted, step.names)
    share, items = percent(step.figures["share"]), count(int(step.figures["items"]), "item")
    words, finding, call = f"Explain {one} against {other}.", f"{share} of disagreements, on {items}.", "confusion()"
    return _told(step, source, words, finding, by="classes", link="items", names=step.names, call=f"agreement.{call}")


def _group(step: Step, source: Source) -> NextStep:
    name, column = (printable(each, NAME) or "''" for each in step.names)
    finding = f"{percent(step.figures['share'])} of disagreements on {percent(step.figures['of_items'])} of the items."
    words, details = f"Look at {column} {name}.", f"Agreement is {figure(step.figures['spa'])} there."
    return _told(step, source, words, finding, details, by="score", link="people", call="agreement.groups")


def _period(step: Step, source: Source) -> NextStep:
    finding = f"{percent(step.figures['share'])} of disagreements on {percent(step.figures['of_items'])} of the items."
    words, ends = f"Read the items finished {days(step)}.", days(step).split(" to ")
    return _told(step, source, words, finding, by="development", link="people", names=(ends[0], ends[-1]))


def _items(step: Step, source: Source) -> NextStep:
    size = int(step.figures["items"])
    words = f"Read the {size} most disputed items." if size > 1 else "Read the disputed item."
    finding = f"{percent(step.figures['share'])} of disagreements, {percent(step.figures['of_items'])} of items."
    details = "They show what the guideline leaves open."
    return _told(step, source, words, finding, details, by="items", link="items", call="agreement.disputed()")


def _more_people(step: Step, source: Source) -> NextStep:
    wide, narrow = (plus_minus(step.figures[name]) for name in ("half_width", "half_width_items"))
    people = count(int(step.figures["annotators"]), "annotator")
    words, finding = "Ask more annotators.", "More items would hardly narrow the interval."
    details = f"{wide} for others like them, {narrow} for these {people}."
    return _told(step, source, words, finding, details, by="annotators", link="method")


def _more_items(step: Step, source: Source) -> NextStep:
    size, half = count(int(step.figures["items"]), "item"), plus_minus(step.figures["half_width"])
    words, finding = "Annotate more items.", "About four times as many halve the interval."
    by = "plan" if step.figures["stderr"] else "items"
    return _told(step, source, words, finding, f"It is {half} from {size}.", by=by, link="method")


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
