"""How often the first step names what was planted, and how often it names people without one: docs/studies/steps.md.

The data are those of the tests (tests/planted.py), with other seeds.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

from held import made_by, table

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
import planted
import spagree
from spagree.errors import known

PEOPLE = {"annotators", "one_label", "copies"}
SHOWN = 3
COLUMNS = {"planted": "planted", "step": "step", "first": "is the first", "named": "people are named"}


def first_and_named(make: planted.Maker, repetitions: int) -> tuple[Counter[str], int]:
    """How often each code is the first step, and how often any of the steps shown is about people."""
    first: Counter[str] = Counter()
    named = 0
    for seed in range(repetitions):
        agreement = spagree.measure(make(seed))
        codes = [step.code for step in known(agreement.breakdowns(["steps"]).steps)][:SHOWN]
        first[codes[0] if codes else "none"] += 1
        named += bool(PEOPLE & set(codes))
    return first, named


def main(repetitions: int = 200) -> str:
    """Run the study and write its page."""
    rows = []
    for code, make in {**planted.PLANTED, "nothing": planted.nothing}.items():
        first, named = first_and_named(make, repetitions)
        told = (make.__doc__ or "").rstrip(".")
        hit = None if code == "nothing" else first[code] / repetitions
        rows.append({"planted": told, "step": f"`{code}`", "first": hit, "named": named / repetitions})
    return f"""# Next steps: how often the first one is right

**The claim.** Where one finding is planted in otherwise careful work, the first step names it; where nothing is, no step
names a person.

**How it was measured.** 240 items, eight people, four classes, four annotations per item (five beside copies); careful people
give an item's class with a probability of 0.86 on average, on harder items less often, and otherwise any other
(`tests/planted.py`). {made_by("steps", repetitions)}

{table(rows, COLUMNS)}

Each planted finding is one that somebody should act on; weaker ones, and several at once, are found less often or lower in
the list.
"""
