"""Models among people → a sentence, a table, JSON and a chart."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from spagree.errors import count
from spagree.estimate.comparison import Difference, Figure
from spagree.estimate.models import AS_GOOD, WORSE, ClassAgreement, ModelFindings
from spagree.estimate.uncertainty import COVERS
from spagree.present.comparison_words import difference_document, figure_document
from spagree.present.document import FORMAT
from spagree.present.tables import bare
from spagree.present.wording import change, figure, limits, percent, printable, span
from spagree.version import __version__

LEFT_OUT = {
    "no_model_label": "without a label of the model",
    "fewer_than_two_people": "with fewer than two people",
}


def models_chart(models: Mapping[str, ModelFindings]) -> Any:
    """People with each other and with each model; below, the differences with the margin."""
    from spagree.present.charts.differences import compared

    found = list(models.values())
    figures = [_row("two people", found[0].humans, found[0].difference.interval_for)] if len(found) == 1 else []
    for each in found:
        population = each.difference.interval_for
        if len(found) > 1:
            figures.append(_row(f"two people, items of {each.name}", each.humans, population))
        figures.append(_row(f"{each.name} and a person", each.with_humans, population))
    gaps = [_row(each.name, each.difference, "") for each in found]
    return compared(figures, gaps, margin=found[0].margin)


def _row(name: str, found: Figure | Difference, population: str) -> dict[str, Any]:
    ends = found if isinstance(found, Difference) else found.limits.get(population)
    low, high = (None, None) if ends is None else (ends.low, ends.high)
    row = {"name": printable(name, 30), "value": found.value, "low": low, "high": high}
    return row | {"figure": figure(found.value), "interval": limits(low, high)}


# JSON ----------------------------------------------------------------------------------------


def models_document(models: Mapping[str, ModelFindings]) -> dict[str, Any]:
    """The documented JSON, one entry per model."""
    found = {name: _model_document(each) for name, each in models.items()}
    return {"format": FORMAT, "spagree": __version__, "models": found}


def _model_document(found: ModelFindings) -> dict[str, Any]:
    population, level = found.difference.interval_for, found.difference.level
    figures = ("with_humans", "humans", "kappa_with_humans", "kappa_humans")
    shown: dict[str, Any] = {name: figure_document(getattr(found, name), level, population) for name in figures}
    shown |= {name: difference_document(getattr(found, name)) for name in ("difference", "kappa_difference")}
    shown |= {name: getattr(found, name) for name in ("margin", "verdict", "items", "humans_count")}
    shown |= {
        "items_left_out": dict(found.left_out),
        "labels": dict(found.labels),
        "runs": found.runs,
        "classes": [_class_document(each) for each in found.classes],
    }
    if found.self_agreement is not None:
        shown["self_agreement"] = figure_document(found.self_agreement, level, "items")
    if found.rank is not None:
        shown["rank"] = asdict(found.rank)
    if found.alternative is not None:
        shown["alternative_annotator_test"] = asdict(found.alternative) | {"passes": found.alternative.passes}
    return shown


def _class_document(found: ClassAgreement) -> dict[str, Any]:
    level = found.difference.level
    figures = {"with_humans": found.with_humans, "humans": found.humans}
    shown = {name: figure_document(each, level, "items") for name, each in figures.items()}
    return {"class": found.label, **shown, "difference": difference_document(found.difference), "p_holm": found.p_holm}


# Words ---------------------------------------------------------------------------------------


def model_sentence(found: ModelFindings) -> str:
    """The result of the comparison in one sentence."""
    name, gap = printable(found.name), found.difference
    if gap.value is None or gap.low is None:
        return f"{name} cannot be compared with people: {gap.undefined}."
    figures = f"{change(gap.value)}, {span(gap)}"
    if found.verdict == AS_GOOD:
        return f"{name} agrees with people as well as a person does, within {found.margin:g}: {figures}."
    if found.verdict != WORSE:
        return f"There is not enough data to tell whether {name} agrees with people as well as a person: {figures}."
    if gap.high is not None and gap.high < -found.margin:
        return f"{name} agrees with people less than a person does: {figures}."
    kappa = found.kappa_difference
    beyond = f"{change(kappa.value)}, {span(kappa)}"
    return f"{name} agrees with people less than a person does once chance is taken into account: kappa {beyond}."


def models_summary(models: Mapping[str, ModelFindings]) -> Group:
    """Sentences first, then figures, classes, and the alternative annotator test."""
    parts: list[RenderableType] = [Text(model_sentence(each), style="bold") for each in models.values()]
    parts += [Text(), _figures(models.values())]
    for each in models.values():
        parts += _class_table(each)
        parts += [Text(), Text("\n".join(_details(each)), style="dim")]
    return Group(*parts)


def _figures(models: Iterable[ModelFindings]) -> RenderableType:
    shown = bare("", "with people", "two people", "difference", "interval", "kappa difference", "interval")
    for each in models:
        figures = (figure(each.with_humans.value), figure(each.humans.value))
        gaps = [words for gap in (each.difference, each.kappa_difference) for words in (change(gap.value), span(gap))]
        shown.add_row(printable(each.name), *figures, *gaps)
    return shown


def _class_table(found: ModelFindings) -> Iterable[RenderableType]:
    told = [each for each in found.classes if each.p_holm is not None and each.p_holm <= 1 - each.difference.level]
    if not told:
        return
    title = f"\nClasses on which {printable(found.name)} differs from a person, out of {len(found.classes)}"
    yield Text(f"{title}: how often the second chose it where a person did")
    shown = bare("class", "model", "person", "difference", "interval")
    for each in told:
        figures = figure(each.with_humans.value), figure(each.humans.value), change(each.difference.value)
        shown.add_row(printable(each.label), *figures, span(each.difference))
    yield shown


def _details(found: ModelFindings) -> Iterable[str]:
    """The data behind the figures."""
    people = "people unknown" if found.humans_count is None else count(found.humans_count, "person", "people")
    level, covers = found.difference.level, COVERS[found.difference.interval_for]
    yield f"{printable(found.name)}: {count(found.items, 'item')}, {people}; {level:.0%} intervals for {covers}."
    for reason, items in found.left_out.items():
        yield f"Left out: {count(items, 'item')} {LEFT_OUT[reason]}."
    if found.runs > 1 and found.self_agreement is not None:
        ends = found.self_agreement.limits.get("items")
        interval = f" ({limits(ends.low, ends.high)})" if ends else ""
        yield f"{found.runs} runs of the model agree with each other {figure(found.self_agreement.value)}{interval}."
    if found.rank is not None:
        tied = f", level with {found.rank.tied}" if found.rank.tied else ""
        yield (
            f"{found.rank.rank - 1:,} of {count(found.rank.of, 'person', 'people')} agree more with the others on "
            f"their items than the model does{tied}."
        )
    if len(found.labels) == 1:
        yield f"The model gave one label only: {printable(next(iter(found.labels)))}."
    yield from _alternative(found)


def _alternative(found: ModelFindings) -> Iterable[str]:
    test = found.alternative
    if test is None:
        return
    everyone = test.annotators + test.annotators_left_out
    made = test.annotations + test.annotations_left_out
    lost = (
        f"it leaves out {test.annotators_left_out:,} of {count(everyone, 'person', 'people')} "
        f"with fewer than 30 items, {percent(test.annotations_left_out / made)} of the annotations"
    )
    if test.omega is None or test.rho is None:
        yield f"Alternative annotator test: cannot be made; {lost}."
        return
    outcome = "passes" if test.passes else "does not pass"
    figures = f"ω = {test.omega:.2f}, ρ = {test.rho:.2f}, ε = {test.epsilon:g}"
    yield f"Alternative annotator test: {outcome} ({figures}); {lost}."
