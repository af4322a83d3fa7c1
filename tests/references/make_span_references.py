"""Ask other packages for their values of the same marks; writes span_references.json beside this file.

    pip install nervaluate==1.2.1 scipy && pip install --no-deps potato-annotation==2.12.1
    python tests/references/make_span_references.py

The tests read the stored values, so that the packages need not be installed to run them.
"""

from __future__ import annotations

import json
import random
from itertools import combinations
from pathlib import Path

from nervaluate import Evaluator
from potato.server_utils.iaa import span

PEOPLE, LABELS = ("ann", "bob", "cyd", "dan"), ("L", "P")


def drawn(seed: int, texts: int) -> list[dict[str, list[tuple[int, int, str]]]]:
    """Everybody marks some of the same places, now and then with other ends or another label."""
    draw = random.Random(seed)
    found = []
    for _ in range(texts):
        places = [(start, start + draw.randint(2, 6), draw.choice(LABELS)) for start in range(0, 24, 8)]
        text = {}
        for who in PEOPLE:
            kept = [place for place in places if draw.random() < 0.6]
            moved = [
                (s, e + (draw.random() < 0.3), k if draw.random() < 0.8 else draw.choice(LABELS)) for s, e, k in kept
            ]
            text[who] = moved
        found.append(text)
    return found


def strict_f1(texts: list[dict[str, list[tuple[int, int, str]]]], one: str, other: str) -> float:
    """nervaluate's ends are inclusive."""
    sides = [
        [[{"label": k, "start": s, "end": e - 1} for s, e, k in text[who]] for text in texts] for who in (one, other)
    ]
    return float(Evaluator(*sides, tags=list(LABELS), loader="dict").evaluate()["overall"]["strict"].f1)


def main() -> None:
    texts = drawn(1, 30)
    pairs = [(one, other, strict_f1(texts, one, other)) for one, other in combinations(PEOPLE, 2)]
    per_text = [span.span_f1_exact(text["ann"], text["bob"])[2] for text in texts]
    found = {"texts": texts, "nervaluate_strict_f1": pairs, "potato_f1_of_ann_and_bob": per_text}
    Path(__file__).with_name("span_references.json").write_text(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
