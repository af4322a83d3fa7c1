"""Models among people → a sentence, a table, JSON and a chart."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from spagree.errors import count
from spagree.estimate.models import FEWEST_ITEMS, ClassAgreement, ModelFindings
from spagree.estimate.uncertainty import COVERS, Estimate
from spagree.present.comparison_words import chart_row
from spagree.present.document import FORMAT, estimate_document, intervals_document
from spagree.present.fitted import bare
from spagree.present.wording import change, figure, limits, printable, span
from spagree.version import __version__

LEFT_OUT = {
    "no_model_label": "without a label of the model",
    "fewer_than_two_people": "with fewer than two people",
    "no_people": "that only the model labelled",
}
SENTENCES = {
    "better": "{name} agrees with people more than another person does",
    "as_good": "{name} agrees with people as well as a person does, within {margin:g}",
    "slightly_worse": "{name} agrees with people less than a person does, though perhaps by no more than {margin:g}",
    "worse": "{name} agrees with people less than a person does, by more than {margin:g}",
    "cannot_tell": "There is not enough data to tell whether {name} agrees with people as well as a person",
}
REFERENCE = (
    "Calderon, Reichart and Dror (2025). The alternative annotator test for LLM-as-a-judge: how to statistically "
    "justify replacing human annotators with LLMs. ACL."
)


def models_chart(models: Mapping[str, ModelFindings]) -> Any:
    """People with each other and with each model; below, the differences with the margin."""
    from spagree.present.charts.save import to_altair
    from spagree.present.charts.studies import compared

    findings = list(models.values())
    figures = []
    for model in findings:
        whose = f", items of {model.name}" if len(findings) > 1 else ""
        for name, one in ((f"two people{whose}", model.humans), (f"{model.name} and a person", model.with_humans)):
            figures.append(chart_row(printable(name, 30), one.value, one))
    gaps = [chart_row(printable(model.name, 30), model.difference.value, model.difference) for model in findings]
    return to_altair(compared(figures, gaps, margin=findings[0].margin))


# JSON ----------------------------------------------------------------------------------------


def models_document(models: Mapping[str, ModelFindings]) -> dict[str, Any]:
    """The documented JSON, one entry per model."""
    documents = {name: _model_document(model) for name, model in models.items()}
    return {"format": FORMAT, "spagree": __version__, "models": documents}


def _model_document(model: ModelFindings) -> dict[str, Any]:
    shown: dict[str, Any] = _figures_document(model)
    shown |= {name: getattr(model, name) for name in ("margin", "verdict", "items", "humans_count", "runs")}
    shown["items_left_out"] = dict(model.left_out)
    shown["labels"] = dict(model.labels)
    shown["classes"] = [
        {"label": each.label, **_figures_document(each), "p_holm": each.p_holm} for each in model.classes
    ]
    if model.self_agreement is not None:
        shown["self_agreement"] = _figure(model.self_agreement)
    if model.alternative is not None:
        test = asdict(model.alternative) | {"reference": REFERENCE}
        reason = {"undefined": f"nobody labelled {FEWEST_ITEMS} items"} if model.alternative.omega is None else {}
        shown["alternative_annotator_test"] = test | reason
    return shown


def _figures_document(of: ModelFindings | ClassAgreement) -> dict[str, Any]:
    return {name: _figure(getattr(of, name)) for name in ("with_humans", "humans", "difference")}


def _figure(shown: Estimate) -> dict[str, Any]:
    about = {"level": shown.level, "interval_for": shown.interval_for}
    return estimate_document(shown, **about, intervals=intervals_document(shown.intervals))


# Words ---------------------------------------------------------------------------------------


def model_sentence(model: ModelFindings) -> str:
    """The result of the comparison in one sentence."""
    name, gap = printable(model.name), model.difference
    if gap.low is None:
        return f"{name} cannot be compared with people: {gap.undefined}."
    verdict = SENTENCES[model.verdict].format(name=name, margin=model.margin)
    return f"{verdict}: {change(gap.value)}, {span(gap)}."


def models_summary(models: Mapping[str, ModelFindings]) -> Group:
    """Sentences first, then figures and classes, and the data behind them."""
    parts: list[RenderableType] = [Text(model_sentence(model), style="bold") for model in models.values()]
    shown = bare("", "with people", "two people", "difference", "interval")
    for model in models.values():
        shown.add_row(printable(model.name), *_row(model))
    parts += [Text(), shown]
    for model in models.values():
        parts += _class_table(model)
        parts += [Text(), Text("\n".join(_details(model)), style="dim")]
    return Group(*parts)


def _row(of: ModelFindings | ClassAgreement) -> tuple[str, str, str, str]:
    gap = of.difference
    return figure(of.with_humans.value), figure(of.humans.value), change(gap.value), span(gap)


def _class_table(model: ModelFindings) -> Iterable[RenderableType]:
    clear = [row for row in model.classes if row.p_holm is not None and row.p_holm <= 1 - row.difference.level]
    if not clear:
        return
    title = f"\nClasses on which {printable(model.name)} differs from a person, out of {len(model.classes)}"
    yield Text(f"{title}: how often the model, or another person, chose it where a person did (for these people)")
    shown = bare("class", "model", "person", "difference", "interval")
    for row in clear:
        shown.add_row(printable(row.label), *_row(row))
    yield shown


def _details(model: ModelFindings) -> Iterable[str]:
    """The data behind the figures."""
    if model.items:
        people = "people unknown" if model.humans_count is None else count(model.humans_count, "person", "people")
        level, covers = model.difference.level, COVERS[model.difference.interval_for]
        yield f"{printable(model.name)}: {count(model.items, 'item')}, {people}; {level:.0%} interval for {covers}."
    for reason, items in model.left_out.items():
        yield f"Left out: {count(items, 'item')} {LEFT_OUT[reason]}."
    runs = model.self_agreement
    if runs is not None:
        interval = "" if runs.low is None else f" ({limits(runs.low, runs.high)})"
        yield f"{model.runs} runs of the model agree with each other {figure(runs.value)}{interval}."
