"""Models among people → a sentence, a table, JSON and a chart."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from spagree.errors import count
from spagree.estimate.models import AS_GOOD, WORSE, ClassAgreement, ModelFindings
from spagree.estimate.uncertainty import COVERS
from spagree.present.comparison_words import chart_row, difference_document, figure_document
from spagree.present.document import FORMAT
from spagree.present.fitted import bare
from spagree.present.wording import change, figure, limits, percent, printable, span
from spagree.version import __version__

LEFT_OUT = {
    "no_model_label": "without a label of the model",
    "fewer_than_two_people": "with fewer than two people",
    "no_people": "that only the model labelled",
}


def models_chart(models: Mapping[str, ModelFindings]) -> Any:
    """People with each other and with each model; below, the differences with the margin."""
    from spagree.present.charts.save import to_altair
    from spagree.present.charts.studies import compared

    findings = list(models.values())
    figures = []
    for model in findings:
        population = model.difference.interval_for
        whose = f", items of {model.name}" if len(findings) > 1 else ""
        for name, one in ((f"two people{whose}", model.humans), (f"{model.name} and a person", model.with_humans)):
            figures.append(chart_row(printable(name, 30), one.value, one.limits.get(population)))
    gaps = [chart_row(printable(model.name, 30), model.difference.value, model.difference) for model in findings]
    return to_altair(compared(figures, gaps, margin=findings[0].margin))


# JSON ----------------------------------------------------------------------------------------


def models_document(models: Mapping[str, ModelFindings]) -> dict[str, Any]:
    """The documented JSON, one entry per model."""
    documents = {name: _model_document(model) for name, model in models.items()}
    return {"format": FORMAT, "spagree": __version__, "models": documents}


def _model_document(model: ModelFindings) -> dict[str, Any]:
    population, level = model.difference.interval_for, model.difference.level
    figures = ("with_humans", "humans", "kappa_with_humans", "kappa_humans")
    shown: dict[str, Any] = {name: figure_document(getattr(model, name), level, population) for name in figures}
    shown |= {name: difference_document(getattr(model, name)) for name in ("difference", "kappa_difference")}
    shown |= {name: getattr(model, name) for name in ("margin", "verdict", "items", "humans_count")}
    shown |= {
        "items_left_out": dict(model.left_out),
        "labels": dict(model.labels),
        "runs": model.runs,
        "classes": [_class_document(agreement) for agreement in model.classes],
    }
    if model.self_agreement is not None:
        shown["self_agreement"] = figure_document(model.self_agreement, level, "items")
    if model.rank is not None:
        shown["rank"] = asdict(model.rank)
    if model.alternative is not None:
        shown["alternative_annotator_test"] = asdict(model.alternative) | {"passes": model.alternative.passes}
    return shown


def _class_document(entry: ClassAgreement) -> dict[str, Any]:
    level = entry.difference.level
    figures = {"with_humans": entry.with_humans, "humans": entry.humans}
    shown = {name: figure_document(value, level, "items") for name, value in figures.items()}
    return {"class": entry.label, **shown, "difference": difference_document(entry.difference), "p_holm": entry.p_holm}


# Words ---------------------------------------------------------------------------------------


def model_sentence(model: ModelFindings) -> str:
    """The result of the comparison in one sentence."""
    name, gap = printable(model.name), model.difference
    if gap.value is None or gap.low is None:
        return f"{name} cannot be compared with people: {gap.undefined}."
    figures = f"{change(gap.value)}, {span(gap)}"
    if model.verdict == AS_GOOD:
        return f"{name} agrees with people as well as a person does, within {model.margin:g}: {figures}."
    if model.verdict != WORSE:
        return f"There is not enough data to tell whether {name} agrees with people as well as a person: {figures}."
    if gap.high is not None and gap.high < -model.margin:
        return f"{name} agrees with people less than a person does: {figures}."
    kappa = model.kappa_difference
    beyond = f"{change(kappa.value)}, {span(kappa)}"
    return f"{name} agrees with people less than a person does once chance is taken into account: kappa {beyond}."


def models_summary(models: Mapping[str, ModelFindings]) -> Group:
    """Sentences first, then figures, classes, and the alternative annotator test."""
    parts: list[RenderableType] = [Text(model_sentence(model), style="bold") for model in models.values()]
    parts += [Text(), _figures(models.values())]
    for model in models.values():
        parts += _class_table(model)
        parts += [Text(), Text("\n".join(_details(model)), style="dim")]
    return Group(*parts)


def _figures(models: Iterable[ModelFindings]) -> RenderableType:
    shown = bare("", "with people", "two people", "difference", "interval", "kappa difference", "interval")
    for model in models:
        figures = (figure(model.with_humans.value), figure(model.humans.value))
        gaps = [words for gap in (model.difference, model.kappa_difference) for words in (change(gap.value), span(gap))]
        shown.add_row(printable(model.name), *figures, *gaps)
    return shown


def _class_table(model: ModelFindings) -> Iterable[RenderableType]:
    clear = [row for row in model.classes if row.difference.is_clear(row.p_holm)]
    if not clear:
        return
    title = f"\nClasses on which {printable(model.name)} differs from a person, out of {len(model.classes)}"
    yield Text(f"{title}: how often the model, or another person, chose it where a person did")
    shown = bare("class", "model", "person", "difference", "interval")
    for row in clear:
        figures = figure(row.with_humans.value), figure(row.humans.value), change(row.difference.value)
        shown.add_row(printable(row.label), *figures, span(row.difference))
    yield shown


def _details(model: ModelFindings) -> Iterable[str]:
    """The data behind the figures."""
    if model.items:
        people = "people unknown" if model.humans_count is None else count(model.humans_count, "person", "people")
        level, covers = model.difference.level, COVERS[model.difference.interval_for]
        yield f"{printable(model.name)}: {count(model.items, 'item')}, {people}; {level:.0%} intervals for {covers}."
    for reason, items in model.left_out.items():
        yield f"Left out: {count(items, 'item')} {LEFT_OUT[reason]}."
    if model.runs > 1 and model.self_agreement is not None:
        ends = model.self_agreement.limits.get("items")
        interval = f" ({limits(ends.low, ends.high)})" if ends else ""
        yield f"{model.runs} runs of the model agree with each other {figure(model.self_agreement.value)}{interval}."
    if model.rank is not None:
        tied = f", level with {model.rank.tied}" if model.rank.tied else ""
        yield (
            f"{model.rank.rank - 1:,} of {count(model.rank.of, 'person', 'people')} agree more with the others on "
            f"their items than the model does{tied}."
        )
    if len(model.labels) == 1:
        yield f"The model gave one label only: {printable(next(iter(model.labels)))}."
    yield from _alternative(model)


def _alternative(model: ModelFindings) -> Iterable[str]:
    test = model.alternative
    if test is None:
        return
    everyone = test.annotators + test.annotators_left_out
    annotations = test.annotations + test.annotations_left_out
    lost = (
        f"it leaves out {test.annotators_left_out:,} of {count(everyone, 'person', 'people')} "
        f"with fewer than 30 items, {percent(test.annotations_left_out / annotations)} of the annotations"
    )
    if test.omega is None or test.rho is None:
        yield f"Alternative annotator test: not possible; {lost}."
        return
    outcome = "passes" if test.passes else "does not pass"
    figures = f"ω = {test.omega:.2f}, ρ = {test.rho:.2f}, ε = {test.epsilon:g}"
    yield f"Alternative annotator test: {outcome} ({figures}); {lost}."
