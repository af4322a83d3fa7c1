"""compare(): measure several data sets, or people and a model, and say which agree more.

sides.py compares agreements, models.py separates models from people; each has what compare() gives back.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, overload

from spagree.comparing.sides import Comparison, halves, with_groups
from spagree.comparing.with_people import ModelComparison, compare_marks, compare_models
from spagree.counts.mark_tally import MarkTally
from spagree.errors import UsageError
from spagree.estimate.models import MARGIN
from spagree.measuring import measure
from spagree.messages import opt
from spagree.options import is_of_spans
from spagree.spans import measure_spans

__all__ = ["Comparison", "ModelComparison", "compare", "names_of"]


@overload
def compare(
    *sources: Any,
    names: Sequence[str] | None = None,
    before: Any = None,
    model: None = None,
    **options: Any,
) -> Comparison: ...


@overload
def compare(
    *sources: Any, model: str | Sequence[str] | Mapping[str, Any], margin: float = MARGIN, **options: Any
) -> ModelComparison: ...


def compare(
    *sources: Any,
    names: Sequence[str] | None = None,
    before: Any = None,
    model: str | Sequence[str] | Mapping[str, Any] | None = None,
    margin: float = MARGIN,
    **options: Any,
) -> Comparison | ModelComparison:
    """Compare the agreement of two or more sources, or of a model with people.

    ``options`` are those of :func:`measure` and apply to every source. ``before`` splits one source in two by time.
    ``model`` names annotators of the one source that are models (``*`` matches the runs of one), or maps
    the name of a model to a source with its labels, ``item, label``. With ``format="spans"``, or ``seen``, what people
    mark is compared, with the options of :func:`measure_spans`; ``seen`` is then a list with one for each source.

    >>> import spagree
    >>> rows = [(1, "ann", "yes"), (1, "bob", "yes"), (1, "gpt", "yes"), (2, "ann", "no"), (2, "bob", "yes")]
    >>> rows += [(2, "gpt", "no"), (3, "bob", "no"), (3, "ann", "no"), (3, "gpt", "no")]
    >>> gpt = spagree.compare(rows, model="gpt").models["gpt"]
    >>> round(gpt.difference.value, 3), gpt.items, gpt.verdict
    (0.167, 3, 'cannot_tell')
    """
    if model is not None:
        if len(sources) != 1 or before is not None or names is not None:
            raise UsageError(f"{opt.model}: give one source, and neither {opt.names} nor {opt.before}")
        if is_of_spans(options):
            return compare_marks(measure_spans(sources[0], **options), model, margin)
        return compare_models(sources[0], model, margin, options)
    of_spans = is_of_spans(options) or any(isinstance(source, MarkTally) for source in sources)
    if before is not None:
        if len(sources) != 1:
            raise UsageError(f"{opt.before}: give the one source to be split by time")
        whole = (measure_spans if of_spans else measure)(sources[0], **options)
        return with_groups(halves(whole, before, options), options)
    if len(sources) in (0, 1):
        raise UsageError(f"give two sources or more, one source with {opt.before}, or one source with {opt.model}")
    named = names_of(sources) if names is None else list(names)
    if len(named) != len(sources) or len(set(named)) != len(named):
        raise UsageError(f"names {named!r}: give each of the {len(sources)} sources a different name")
    if not of_spans:
        return with_groups({name: measure(each, **options) for name, each in zip(named, sources, strict=True)}, options)
    seen = options.pop("seen", None) or [None] * len(sources)
    if not isinstance(seen, list | tuple) or len(seen) != len(sources):
        raise UsageError(f"{opt.seen} says who saw what in one source; give it for each of the {len(sources)} sources")
    marks = zip(named, sources, seen, strict=True)
    return with_groups({name: measure_spans(source, saw, **options) for name, source, saw in marks}, options)


def names_of(sources: Sequence[Any]) -> list[str]:
    """Names for sources: the shortest distinct file names; A, B, C for others.

    >>> names_of(["a/round.csv", "b/round.csv", [("q1", "ann", "yes")]])
    ['a/round.csv', 'b/round.csv', 'C']
    """
    paths = [os.fspath(source) if isinstance(source, str | os.PathLike) else None for source in sources]
    short = [None if path is None else Path(path).name for path in paths]
    chosen = [name if short.count(name) == 1 else path for name, path in zip(short, paths, strict=True)]
    letters = [name or chr(ord("A") + place) for place, name in enumerate(chosen)]
    twice = len(set(letters)) < len(letters)
    return [f"{place + 1}: {name}" for place, name in enumerate(letters)] if twice else letters
