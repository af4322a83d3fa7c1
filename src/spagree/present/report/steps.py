"""Actions → next steps in words, each with its gain."""

from __future__ import annotations

from collections.abc import Sequence

from spagree.errors import count
from spagree.estimate import actions
from spagree.estimate.breakdown_values import Action
from spagree.messages import opt, spelled
from spagree.present.report.parts import Step
from spagree.present.wording import figure, percent, plus_minus, printable

NAME = 32
EARLY = (
    f"Right if more people were asked because the first ones disagreed ({opt.first('2')}); otherwise report agreement "
    "by number of annotations."
)
LITTLE = 0.05  # of all disagreement: below this, no few items explain it
TWICE = 2  # times their share of the items: below this, no item stands out


def steps(actions: Sequence[Action]) -> tuple[Step, ...]:
    """Every action in words, in the same order.

    >>> steps([Action("items", ("q1", "q2"), {"items": 2, "share": 0.5, "of_all": 0.1})])[0].gain
    'account for 50% of all disagreement.'
    """
    return tuple(WORDS[action.kind](action) for action in actions)


def _shared(action: Action) -> Step:
    teams = count(int(action.figures["teams"]), "team")
    return Step(
        "Give the teams some shared items.",
        f"{teams} never labelled the same item.",
        "So far nothing shows whether they agree with each other.",
        link="figure-overlap",
    )


def _precision(action: Action) -> Step:
    figures = action.figures
    annotations, new, each = (round(figures[name]) for name in ("annotations", "items", "annotations_per_item"))
    now, then = plus_minus(figures["half_width"]), plus_minus(figures["half_width_then"])
    words = f"{count(new, 'new item')} with {count(each, 'annotation')} each."
    gain = f"{now} → {then} for these annotators."
    return Step(f"Make {count(annotations, 'more annotation')}.", gain, words, link="figure-plan")


def _more_people(action: Action) -> Step:
    figures, people = action.figures, count(round(action.figures["annotators"]), "annotator")
    wide, narrow = plus_minus(figures["half_width"]), plus_minus(figures["half_width_items"])
    words = f"{wide} for other annotators, {narrow} for these: the {people} differ more than the items do."
    return Step("Ask more annotators.", "More items would hardly narrow the interval.", words)


def _annotators(action: Action) -> Step:
    figures, size = action.figures, int(action.figures["annotators"])
    change = f"{figure(figures['spa'])} → {figure(figures['spa_without'])}."
    words = "Others agree with them less than with each other. They may be right: read their items first."
    if size == 1:
        return Step("Talk to annotator", f"Without them {change}", words, _names(action), "figure-annotators")
    rest = f" {size - len(action.names):,} more stand out." if size > len(action.names) else ""
    return Step("Talk to annotators", f"Without the first {change}", words + rest, _names(action), "figure-annotators")


def _items(action: Action) -> Step:
    share, size = percent(action.figures["share"]), int(action.figures["items"])
    if action.figures["share"] < max(LITTLE, TWICE * action.figures["of_all"]):
        gain = f"Disagreement is spread over many items: the {size} most disputed account for {share} of it."
        return Step("Read a few items to see the pattern:", gain, "", _names(action), "items")
    if action.figures["share"] == 1 and size == 1:
        return Step("Read item", "It is the only disputed item.", "", _names(action), "items")
    first = "Read this item first:" if size == 1 else f"Read these {size} items first:"
    more = f"and {size - len(action.names)} more " if size > len(action.names) else ""
    verb = "account" if size > 1 else "accounts"
    gain = f"{more}{verb} for {share} of all disagreement."
    words = "It shows what the guideline leaves open." if size == 1 else "They show what the guideline leaves open."
    return Step(first, gain, words, _names(action), "items")


def _classes(action: Action) -> Step:
    figures = action.figures
    gain = f"They cause {percent(figures['share'])} of all disagreement."
    words = f"Merged into one class: {figure(figures['spa'])} → {figure(figures['spa_merged'])}."
    return Step("Explain how to tell these classes apart:", gain, words, _names(action), "figure-confusion")


def _names(action: Action) -> tuple[str, ...]:
    return tuple(printable(name, NAME) or "''" for name in action.names)


WORDS = {
    actions.SECOND_ANNOTATION: lambda _: Step(
        "Have some items labelled by a second annotator.",
        "Without one, there is no number.",
        "Agreement needs two annotations of the same item.",
    ),
    actions.EARLY_ANNOTATIONS: lambda _: Step(
        "Score again with only the first annotations of each item.",
        "The number then does not depend on how often items were annotated.",
        spelled(EARLY),
        link="figure-by-n",
    ),
    actions.THIRD_ANNOTATION: lambda _: Step(
        "Have some items labelled by three or more annotators.",
        "Then unusual annotators can be told apart from hard items.",
        "With two annotations they look the same, so nobody is named here.",
    ),
    actions.GUIDELINE: lambda _: Step(
        "Rework the guideline before you annotate more.",
        "More annotations make this number more precise; they do not raise it.",
        "Discuss the items and classes below, change the guideline, and measure a fresh batch.",
        link="items",
    ),
    actions.SHARED_ITEMS: _shared,
    actions.PRECISION: _precision,
    actions.MORE_PEOPLE: _more_people,
    actions.ANNOTATORS: _annotators,
    actions.ITEMS: _items,
    actions.CLASSES: _classes,
}
