"""What compare() gives back: rounds compared, or models among people."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from spagree.agreement import Agreement
from spagree.estimate.comparison import Compared, Pair
from spagree.estimate.models import ModelFindings
from spagree.estimate.uncertainty import Estimate
from spagree.present.comparison_words import Shown, comparison_chart, comparison_document, comparison_summary, sentence
from spagree.present.model_words import model_sentence, models_chart, models_document, models_summary
from spagree.understood import Caution

if TYPE_CHECKING:
    from rich.console import Group


@dataclass(frozen=True, repr=False)
class Comparison(Compared, Shown):
    """Two or more data sets compared; made by :func:`compare`.

    >>> import spagree
    >>> before = [(1, "ann", "yes"), (1, "bob", "no"), (2, "ann", "no"), (2, "bob", "no")]
    >>> after = [(1, "ann", "yes"), (1, "bob", "yes"), (2, "ann", "no"), (2, "bob", "no")]
    >>> comparison = spagree.compare(before, after, names=("before", "after"))
    >>> comparison.difference.value, comparison.shared_items, comparison.verdict
    (0.5, 2, 'cannot_tell')
    """

    groups: Mapping[str, Comparison] = field(default_factory=dict)
    """With ``by``, the same comparison within each group that all sources have; Holm's correction covers all groups."""
    agreements: Mapping[str, Agreement] = field(default_factory=dict)

    @property
    def warnings(self) -> tuple[Caution, ...]:
        """What was noticed while reading and counting, with the name of the data set."""
        return tuple(
            replace(caution, message=f"{name}: {caution.message.removeprefix(f'{name}: ')}")
            for name, agreement in self.agreements.items()
            for caution in agreement.noticed
        )

    @property
    def difference(self) -> Estimate:
        """SPA of the second minus SPA of the first."""
        return self.pairs[0].difference

    @property
    def kappa_difference(self) -> Estimate:
        """Krippendorff's alpha of the second minus that of the first."""
        return self.pairs[0].kappa_difference

    @property
    def shared_items(self) -> int | None:
        """Pairable items that the first two have in common; None if only tallies are known."""
        return self.pairs[0].shared_items

    @property
    def verdict(self) -> str:
        """Whether the second agrees more: agrees_more, agrees_less, label_mix, the_same or cannot_tell."""
        return self.pairs[0].verdict

    @property
    def undefined(self) -> str | None:
        """Why nothing can be compared; None if any difference is known."""
        return None if any(pair.difference.value is not None for pair in self.pairs) else self.difference.undefined

    def against_first(self) -> tuple[Pair, ...]:
        """Every other data set minus the first."""
        return tuple(pair for pair in self.pairs if pair.a is self.sides[0])

    def to_dict(self) -> dict[str, Any]:
        """All figures as plain values, in full precision."""
        return comparison_document(self)

    def summary(self) -> Group:
        """What a terminal shows."""
        return comparison_summary(self)

    def sentences(self) -> list[str]:
        """One conclusion per pair of data sets."""
        return [sentence(pair) for pair in self.pairs]

    def chart(self) -> Any:
        """Every data set with its interval; below, the differences with theirs."""
        return comparison_chart(self)


@dataclass(frozen=True, repr=False)
class ModelComparison(Shown):
    """One or more models among people; made by :func:`compare` with ``model``.

    >>> import spagree
    >>> labels = [(item, who, "yes" if item % 2 else "no") for item in range(20) for who in ("ann", "bob", "gpt")]
    >>> gpt = spagree.compare(labels, model="gpt", margin=0.05).models["gpt"]
    >>> gpt.items, gpt.humans_count
    (20, 2)
    """

    models: Mapping[str, ModelFindings]
    warnings: tuple[Caution, ...] = ()
    """What was noticed while reading and counting, and labels that models and people write differently."""

    @property
    def undefined(self) -> str | None:
        """Why no model can be compared; None if any difference is known."""
        gaps = [model.difference for model in self.models.values()]
        return None if any(gap.value is not None for gap in gaps) else gaps[0].undefined

    def to_dict(self) -> dict[str, Any]:
        """All figures as plain values, in full precision."""
        return models_document(self.models)

    def summary(self) -> Group:
        """What a terminal shows."""
        return models_summary(self.models)

    def sentences(self) -> list[str]:
        """One conclusion per model."""
        return [model_sentence(model) for model in self.models.values()]

    def chart(self) -> Any:
        """People with each other and with each model; below, the differences with the margin."""
        return models_chart(self.models)
