"""Other measures of agreement on spans beside spagree's, on the same texts with two to seven annotators: the page
docs/studies/marks-beside-others.md.

    python -m benchmarks marks-beside-others [--python PATH]

PATH is that of a Python with the other packages: pip install nervaluate==1.2.1 pygamma-agreement==0.5.9 scipy simpledorff and
pip install --no-deps potato-annotation==2.12.1
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from itertools import combinations
from math import isfinite
from pathlib import Path
from zlib import crc32

TEXTS, READERS = 400, (2, 3, 5, 7)
GAMMA_TEXTS, GAMMA_READERS = 12, 5  # its alignments take minutes a text with seven
HERE = Path(__file__).parent
Span = tuple[int, int, str]
Texts = list[dict[str, list[Span]]]
MEASURES = {
    "spans": "spagree, whole spans",
    "characters": "spagree, characters",
    "nervaluate": "nervaluate, strict F1 of all spans, mean over pairs of annotators",
    "potato": "potato, span F1 (exact), mean over texts that somebody marked",
    "every text": "the same, mean over all texts",
    "alpha_u": "potato, unitizing alpha, mean over texts",
    "gamma": f"pygamma-agreement, gamma, mean over {GAMMA_TEXTS} texts",
}
PAGE = """# Marks beside other measures

**The claim.** Agreement on marks does not move with the number of people who read a text; averages over texts do. With two
annotators it is the micro-averaged F1 that others compute.

**How it was measured.** {texts} texts of [two worlds](marks.md), each read by seven people; the same texts with the first
two, three, five and seven of them. Made by `python -m benchmarks marks-beside-others`, with fixed seeds; {versions}.

{tables}

**What it means.** Each row is about pairs of annotators of one population, so it should not change from left to right by more
than chance. F1 averaged over texts rises where texts that nobody of n people marked are left out: the more people read a text,
the more rarely that happens. With those texts as 1 it hardly moves, but is three times as high where most texts have no marks.
Unitizing alpha and gamma set each text against chance on that text and have no value for some; their averages move, too.
nervaluate's F1 is that of two annotators, here averaged over their pairs by the marks they made: it equals agreement on whole
spans unless marks of one person overlap, where it may take another than the equal one.
"""


def drawn(world: str) -> Texts:
    import numpy as np
    from marks_study import LABELS, POPULATION, WORLDS, readers_of

    random = np.random.default_rng(crc32(world.encode()))
    people = random.normal(0, WORLDS[world].people, POPULATION)
    marks = WORLDS[world].marks(readers_of(people, (TEXTS, 40, max(READERS), max(READERS)), random), random)
    texts: Texts = [{} for _ in range(TEXTS)]
    for item, who in zip(marks.item.tolist(), marks.annotator.tolist(), strict=True):
        texts[item][f"{who:02}"] = []
    for visit, start, end, label in zip(marks.visit, marks.start, marks.end, marks.label, strict=True):
        spans = texts[int(marks.item[visit])][f"{int(marks.annotator[visit]):02}"]
        if (mark := (int(start), int(end), LABELS[int(label)])) not in spans:
            spans.append(mark)
    for text in texts:  # the first readers are not those with the lowest numbers
        order = random.permutation(sorted(text)).tolist()
        text |= {who: text.pop(who) for who in order}
    return texts


def first(texts: Texts, readers: int) -> Texts:
    return [dict([*text.items()][:readers]) for text in texts]


def ours(texts: Texts) -> dict[str, float | None]:
    import polars

    import spagree

    rows = [(f"{i}", who, *mark) for i, text in enumerate(texts) for who, marks in text.items() for mark in marks]
    seen = [(f"{i}", who) for i, text in enumerate(texts) for who in text]
    columns = ["item", "annotator", "start", "end", "label"]
    marks, saw = (polars.DataFrame(table, schema=columns[: len(table[0])], orient="row") for table in (rows, seen))
    found = spagree.measure_spans(marks, saw)
    return {"spans": found.exact.value, "characters": found.characters.value}


def theirs(texts: Texts) -> dict[str, float]:
    """Run by the other Python."""
    from nervaluate import Evaluator
    from potato.server_utils.iaa import span

    def mean(values: list[float]) -> float:
        known = [value for value in values if isfinite(value)]
        return sum(known) / len(known)

    pairs: dict[tuple[str, str], list[dict[str, list[Span]]]] = {}
    for text in texts:
        for pair in combinations(sorted(text), 2):
            pairs.setdefault(pair, []).append(text)
    strict, sizes = [], []
    for (one, other), shared in pairs.items():
        sides = [
            [[{"label": k, "start": s, "end": e - 1} for s, e, k in text[who]] for text in shared]
            for who in (one, other)
        ]
        made = sum(len(text[one]) + len(text[other]) for text in shared)
        if made:
            strict.append(Evaluator(*sides, tags=["a", "b", "c"], loader="dict").evaluate()["overall"]["strict"].f1)
            sizes.append(made)
    each = [span.pairwise_span_f1(text) for text in texts]
    marked = [f1 for f1, text in zip(each, texts, strict=True) if any(text.values())]
    return {
        "nervaluate": sum(f1 * size for f1, size in zip(strict, sizes, strict=True)) / sum(sizes),
        "potato": mean(marked),
        "every text": mean(each),
        "alpha_u": mean([span.krippendorff_alpha_u(text, 200) for text in texts]),
    } | ({"gamma": mean([gamma(text) for text in texts[:GAMMA_TEXTS]])} if len(texts[0]) <= GAMMA_READERS else {})


def table(world: str, python: str) -> str:
    rows: dict[str, list[float | None]] = {name: [] for name in MEASURES}
    texts = drawn(world)
    for readers in READERS:
        chosen = first(texts, readers)
        done = subprocess.run(
            [python, __file__, "--job"], input=json.dumps(chosen), capture_output=True, text=True, check=True
        )
        found = ours(chosen) | json.loads(done.stdout.splitlines()[-1])
        for name, values in rows.items():
            values.append(found.get(name))
    lines = [f"| {world} | " + " | ".join(f"{readers} people" for readers in READERS) + " |", "|---|" + "--:|" * 4]
    for name, values in rows.items():
        cells = ["–" if value is None else f"{value:.3f}" for value in values]
        lines.append(f"| {MEASURES[name]} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", default=str(HERE.parent / ".venv-peers" / "bin" / "python"))
    parser.add_argument(
        "--job", action="store_true", help="only what the other packages say of texts on standard input"
    )
    options = parser.parse_args()
    if options.job:
        texts = [{who: [tuple(mark) for mark in marks] for who, marks in text.items()} for text in json.load(sys.stdin)]
        print(json.dumps(theirs(texts)))
        return
    import spagree

    tables = "\n\n".join(table(world, options.python) for world in ("few marks, hard texts", "people differ"))
    others = "nervaluate 1.2.1, potato 2.12.1, pygamma-agreement 0.5.9"
    page = PAGE.format(texts=TEXTS, tables=tables, versions=f"spagree {spagree.__version__}, {others}")
    (HERE.parent / "docs" / "studies" / "marks-beside-others.md").write_text(page, "utf-8")
    print(page)


def gamma(text: dict[str, list[Span]]) -> float:
    import numpy as np
    from pyannote.core import Segment
    from pygamma_agreement import CombinedCategoricalDissimilarity, Continuum

    if sum(map(len, text.values())) < 2:
        return float("nan")
    np.random.seed(1)
    continuum = Continuum()
    for who, marks in text.items():
        continuum.add_annotator(who)
        for start, end, label in marks:
            continuum.add(who, Segment(start, end), label)
    try:
        return float(continuum.compute_gamma(CombinedCategoricalDissimilarity(), n_samples=30).gamma)
    except Exception:  # it has no value for annotators without a unit
        return float("nan")


if __name__ == "__main__":
    main()
