"""Labels that look like cells somebody meant to leave empty."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from spagree.estimate.findings import find
from spagree.estimate.similarity import SET_METRICS, Metric, is_number
from spagree.options import CustomWeights
from spagree.tally.count import Counted
from spagree.understood import Caution

EMPTY_SETS = frozenset(("[]", "{}"))
# fmt: off
SURELY = frozenset((
    "n/a", "#n/a", "nan", "null", "-", "--", "—", "–", "?", ".", "skip", "skipped", "missing", "(blank)", "blank",
    "no answer", "not answered", "not applicable", "<na>", "nil", "undefined", "n.a.", "#null!", "empty",
)) | EMPTY_SETS
# fmt: on
PERHAPS = frozenset(("na", "none", "unknown"))  # may be genuine labels: only if the others are written differently
CODES = frozenset((-1, -9, -99, -999, -9999, 9, 77, 88, 98, 99, 999, 9999))
FEW = 0.5  # of the annotations
LEAST_OTHERS = 2


def looks_missing(labels: Mapping[str, int]) -> list[str]:
    """Rare labels that look like missing values while the others do not.

    >>> looks_missing({"yes": 5, "no": 4, "N/A": 1}), looks_missing({"US": 5, "DE": 4, "NA": 1})
    (['N/A'], [])
    >>> looks_missing({"1": 4, "2": 4, "5": 2, "99": 1}), looks_missing({str(n): 1 for n in range(100)})
    (['99'], [])
    """
    words = [label for label in labels if label.strip().casefold() in SURELY | PERHAPS or not label.strip()]
    others = [label for label in labels if label not in words]
    found = [word for word in words if word.strip().casefold() not in PERHAPS or _differs(word, others)]
    found += _codes([label for label in others if float(label).is_integer()]) if all(map(is_number, others)) else []
    rest = [label for label in labels if label not in found]
    share = sum(labels[label] for label in found) / (sum(labels.values()) or 1)
    return found if len(rest) >= LEAST_OTHERS and share < FEW else []


def _differs(word: str, others: Sequence[str]) -> bool:
    """Whether all others are numbers, or none has the same letter case."""
    letters = [label for label in others if any(character.isalpha() for character in label)]
    return not any(_case(label) == _case(word) for label in letters)


def _case(label: str) -> str:
    return "upper" if label.isupper() else "lower" if label.islower() else "title"


def _codes(numbers: Sequence[str]) -> list[str]:
    """Numbers such as 99 or -1 that lie outside a short scale."""
    values = {int(float(number)): number for number in numbers}
    return [
        label for value, label in values.items() if value in CODES and _is_apart(value, sorted(set(values) - CODES))
    ]


def _is_apart(code: int, scale: Sequence[int]) -> bool:
    if len(scale) < LEAST_OTHERS:
        return False
    width = scale[-1] - scale[0] + 1
    if code < 0:
        return scale[0] >= 0 and (scale[0] > 0 or code < -1) and scale[-1] >= LEAST_OTHERS
    return code > scale[-1] + max(2, width // 2)


def caution_missing(counted: Counted, weights: str | CustomWeights, metric: Metric) -> tuple[Caution, ...]:
    """Labels that look missing, the option that leaves them out, and the agreement it would give."""
    labels = counted.tally.labels
    are_sets = metric.rule in SET_METRICS  # an empty set is an answer: none of the options
    looks = [label for label in looks_missing(labels) if not (are_sets and label in EMPTY_SETS)]
    if not looks:
        return ()
    value = find(counted.without(looks), weights, metric=metric).spa.value
    shown = ", ".join(f"{label!r} ×{labels[label]:,}" for label in looks)
    option = " ".join(f"--missing {label!r}" for label in looks)
    then = "nothing that could be compared" if value is None else f"an agreement of {value:.4f}"
    message = f"labels that look like missing cells were counted as labels: {shown}. If they are, {option} gives {then}"
    return (Caution("looks_missing", message),)
