"""An earlier report or its JSON: its figures, and in words what changed since."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from spagree.errors import FileError, UsageError, count
from spagree.estimate.since import change_of
from spagree.messages import opt
from spagree.present.wording import change, figure

EMBEDDED = re.compile(r'<script type="application/json" id="figures">(.*?)</script>', re.DOTALL)
SAME = {"weights": "other weights", "interval_for": "another kind of interval"}


def earlier_figures(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The figures of a report (.html) or of `--json`."""
    try:
        text = Path(path).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(f"{os.fspath(path)}: cannot be read ({error}); name an earlier report or its JSON") from None
    embedded = EMBEDDED.search(text)
    try:
        figures = json.loads(embedded[1] if embedded else text)
    except ValueError:
        figures = None
    if not isinstance(figures, dict) or not ({"spa", "data"} <= figures.keys() or "questions" in figures):
        raise UsageError(
            f"{os.fspath(path)}: holds no figures from spagree; name a report ({opt.report}) or JSON ({opt.json}) "
            "it wrote"
        )
    return figures


def what_changed(earlier: Mapping[str, Any], later: Mapping[str, Any]) -> str:
    """What changed, and whether chance could explain it.

    >>> spa = {"value": 0.5, "stderr": 0.01, "level": 0.95, "weights": "flat"}
    >>> counts = {"annotations": 10, "items": 5, "annotators": 2}
    >>> now = {"spa": {**spa, "value": 0.6}, "data": {**counts, "items": 7}, "metric": "nominal"}
    >>> print(what_changed({"spa": spa, "data": counts, "metric": "nominal"}, now))
    0.500 → 0.600 (+0.100, interval +0.072 to +0.128): more than chance would explain. 2 more items.
    """
    if "spa" not in earlier:
        return "The earlier file holds several questions; compare it with a report of all of them."
    unlike = [words for name, words in SAME.items() if earlier["spa"].get(name) != later["spa"].get(name)]
    unlike += ["another metric"] if earlier.get("metric") != later.get("metric") else []
    if unlike:
        return f"The earlier number cannot be compared: it was measured with {' and '.join(unlike)}."
    gap = change_of(earlier["spa"], later["spa"])
    counts = _counts(earlier["data"], later["data"])
    if gap is None:
        return f"One of the two numbers has no interval, so they are not compared. {counts}"
    clear = "more than chance would explain" if gap.is_clear else "no more than chance would explain"
    ends = f"{change(gap.low)} to {change(gap.high)}"
    words = f"{figure(gap.before)} → {figure(gap.after)} ({change(gap.value)}, interval {ends}): {clear}."
    return f"{words} {counts}"


def _counts(earlier: Mapping[str, Any], later: Mapping[str, Any]) -> str:
    """How much was added or taken away."""
    changes = []
    for noun in ("annotation", "item", "annotator"):
        before, after = earlier.get(f"{noun}s"), later.get(f"{noun}s")
        if before is not None and after is not None and after != before:
            changes.append(count(abs(after - before), f"{'more' if after > before else 'fewer'} {noun}"))
    return f"{', '.join(changes)}." if changes else "There are as many annotations, items and annotators as before."
