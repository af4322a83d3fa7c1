"""Tables with a known truth, written in every layout with what people put beside it: right, refused or warned.

And every command that a refusal names leads to the number, to another refusal or to a warning.
"""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

import polars
import pytest

import spagree
from examples import TIMES
from spagree.errors import Option, SpagreeError

Votes = dict[str, dict[str, str]]
"""Item → annotator → label."""

LABELS = (["yes", "no"], ["pos", "neg", "neu"], ["1", "2", "3", "4", "5"], ["A", "B", "C", "D"])
PEOPLE = (
    ["anna", "ben", "cleo", "dora", "emil"],
    ["rater_1", "rater_2", "rater_3", "rater_4", "rater_5"],
    ["r1", "r2", "r3", "r4", "r5"],
    ["Annotator A", "Annotator B", "Annotator C", "Annotator D", "Annotator E"],
)
# What is said of the figures, not of how the table was read.
OF_FIGURES = {"near_chance", "number_labels", "missingness", "schemes_diverge", "delimiter", "encoding"}


class Made:
    """A table and its truth."""

    def __init__(self, seed: int) -> None:
        self.random = random = Random(seed)
        size = random.choice([12, 40, 120, 120, 1_500])
        self.labels, people = random.choice(LABELS), random.choice(PEOPLE)
        self.people = people[: random.choice([2, 3, 4, 5])]
        self.true = random.choices(self.labels, k=size)
        is_late, is_sparse = size > 1_000 and random.random() < 0.5, random.random() < 0.5
        self.votes: Votes = {}
        for n, label in enumerate(self.true):
            there = [who for who in self.people if not (is_sparse and random.random() < 0.2)]
            there = [who for who in there if not (is_late and n < 1_100 and who == self.people[-1])]
            self.votes[f"s{n}"] = {
                who: label if random.random() < 0.75 else random.choice(self.labels) for who in there
            }
        self.has_header = random.random() < 0.8
        self.layout = random.choice(["long", "wide", "transposed", "counts", "one-hot", "lists"])
        self.columns = [random.choice(["id", "item", "sentence_id", "thing"])]
        self.rows: list[list[str]] = []
        self.again: Votes = {}  # what some were asked in a second round
        getattr(self, self.layout.replace("-", "_"))()

    def beside(self, names: Sequence[str], cells: Mapping[str, str] | str, *, at_most: float = 0.3) -> None:
        """Now and then another column: a cell for each item, or one for all."""
        if self.random.random() < at_most and (self.has_header or names[0] == "text"):
            self.columns.append(self.random.choice(names))
            self.rows = [[*row, cells if isinstance(cells, str) else cells[row[0]]] for row in self.rows]

    def long(self) -> None:
        self.columns += [self.random.choice(["annotator", "worker", "who"]), self.random.choice(["label", "opinion"])]
        self.rows = [[item, who, label] for item, given in self.votes.items() for who, label in given.items()]
        if len(self.people) > 2 and len(self.votes) > 100 and self.random.random() < 0.3:
            self.rows += [[item, "zusammen", label] for item, label in self.majority.items() if label]
        order = self.random.choice(["item", "annotator", "none"])
        if order == "annotator":
            self.rows.sort(key=lambda row: row[1])
        elif order == "none":
            self.random.shuffle(self.rows)
        self.beside(["gold", "gold_label", "expected", "schlüssel"], dict(zip(self.votes, self.true, strict=True)))
        self.beside(["is_done"], "1")
        self.beside(["text"], {item: f"a sentence about number {item}, and a long one" for item in self.votes})

        if self.random.random() < 0.3 and self.has_header:
            is_same = self.random.random() < 0.5  # as in the first round, or other people
            names = {who: who if is_same else f"{who}x" for who in self.people}
            self.again = {
                item: {names[who]: self.random.choice(self.labels) for who in given}
                for item, given in self.votes.items()
                if self.random.random() < 0.8
            }
            self.columns.append(self.random.choice(["round", "phase", "wave", "pass_no"]))
            beside = {row[0]: row[3:] for row in self.rows}
            second = [[i, who, x, *beside[i], "2"] for i, given in self.again.items() for who, x in given.items()]
            self.rows = [*([*row, "1"] for row in self.rows), *second]

    def transposed(self) -> None:
        many = self.random.choice(["image_{}", "q{}", "Rate text {}", "s{}"])
        items = list(self.votes)[: self.random.choice([5, 12])]
        self.votes = {item: self.votes[item] for item in items}
        self.columns = [
            self.random.choice(["annotator", "participant", "Email", "name", "person"]),
            *(many.format(n) for n in range(1, len(items) + 1)),
        ]
        self.rows = [[who, *(given.get(who, "") for given in self.votes.values())] for who in self.people]
        self.beside(["age"], {who: str(20 + n) for n, who in enumerate(self.people)})
        self.beside(["Timestamp"], {who: f"2024-03-0{n} 10:15" for n, who in enumerate(self.people, 1)})

    @property
    def majority(self) -> dict[str, str]:
        """The label of most; nothing if they tie."""
        most = {item: Counter(given.values()).most_common(2) for item, given in self.votes.items()}
        return {item: two[0][0] if len({n for _, n in two}) == len(two) > 0 else "" for item, two in most.items()}

    def wide(self) -> None:
        self.columns += self.people
        self.rows = [[item, *(given.get(who, "") for who in self.people)] for item, given in self.votes.items()]
        if len(self.people) > 2 and len(self.votes) > 100:  # else nobody could tell
            self.beside(["majority", "결론", "label_maj", "zusammen"], self.majority)
        self.beside(
            ["gold"] if len(self.votes) < 200 else ["gold", "schlüssel"], dict(zip(self.votes, self.true, strict=True))
        )
        self.beside(["gpt-4o"], dict(zip(self.votes, self.true, strict=True)))
        self.beside(["is_done", "successful"], "1")
        self.beside(["text"], {item: f"a sentence about number {item}, and a long one" for item in self.votes})

    def counts(self) -> None:
        self.columns += [f"class {label}" if label.isdecimal() else label for label in self.labels]
        sizes = {item: Counter(given.values()) for item, given in self.votes.items()}
        self.rows = [[item, *(str(size[label]) for label in self.labels)] for item, size in sizes.items()]
        self.beside(["total"], {item: str(size.total()) for item, size in sizes.items()})
        self.beside(["text"], {item: f"a sentence about number {item}, and a long one" for item in self.votes})

    def one_hot(self) -> None:
        self.columns += [self.random.choice(["annotator", "rater_id"]), *(f"category_{label}" for label in self.labels)]
        self.rows = [
            [item, who, *(str(int(label == each)) for each in self.labels)]
            for item, given in self.votes.items()
            for who, label in given.items()
        ]
        self.beside(["is_done", "successful"], "1")
        self.beside(["text"], {item: f"a sentence about number {item}, and a long one" for item in self.votes})

    def lists(self) -> None:
        self.columns.append(self.random.choice(["labels", "annotator_labels", "answers"]))
        write: Any = self.random.choice([json.dumps, str, lambda given: f"[{' '.join(map(repr, given))}]"])
        self.rows = [[item, write(list(given.values()))] for item, given in self.votes.items()]
        self.beside(["gold"], dict(zip(self.votes, self.true, strict=True)))
        self.beside(["text"], {item: f"a sentence about number {item}, and a long one" for item in self.votes})

    def saved(self, path: Path) -> Path | polars.DataFrame:
        """The table as a file, or as a frame."""
        if self.has_header and self.random.random() < 0.2:
            cells = [[cell or None for cell in row] for row in self.rows]
            return polars.DataFrame(cells, schema=dict.fromkeys(self.columns, polars.String), orient="row")
        stream = io.StringIO(newline="")
        writer = csv.writer(stream, delimiter=self.random.choice(",;\t"))
        writer.writerows([self.columns, *self.rows] if self.has_header else self.rows)
        path.write_bytes(stream.getvalue().encode(self.random.choice(["utf-8", "utf-8-sig", "utf-16"])))
        return path

    @property
    def spa(self) -> list[float | None]:
        """Its agreement: of all annotations, or of a round."""
        first, second = (
            [(i, who, label) for i, given in votes.items() for who, label in given.items()]
            for votes in (self.votes, self.again)
        )
        both = [((i, 1), who, label) for i, who, label in first] + [((i, 2), who, label) for i, who, label in second]
        last = {(i, who): label for i, who, label in first + second}
        each = [first, second, both, [(*key, label) for key, label in last.items()]] if second else [first]
        return [spagree.measure([(str(i), who, label) for i, who, label in rows]).spa.value for rows in each]


def outcome(path: Path | polars.DataFrame, true: Sequence[float | None], **options: Any) -> str:
    """Right, warned, or wrong in silence; or what the refusal says."""
    found = spagree.measure(path, **options)
    if any(found.spa.value == pytest.approx(value, abs=1e-12) for value in true if value is not None):
        return "right"
    return "warned" if {warning.code for warning in found.warnings} - OF_FIGURES else f"wrong: {found.spa.value}"


def suggested(refusal: SpagreeError) -> Iterator[dict[str, Any]]:
    """The options that each line of a refusal names, with values."""
    lines: list[dict[str, Any]] = [{}]
    for part in refusal.message.parts:
        if isinstance(part, Option) and (part.values or part.name == "no_header"):
            name = "header" if part.name == "no_header" else part.name
            known = lines[-1].get(name, []) if part.values else []
            single = name in ("format", "question")
            lines[-1][name] = False if name == "header" else part.values[0] if single else [*known, *part.values]
        elif isinstance(part, str):
            lines += [{} for _ in range(part.count("\n"))]
    return (line for line in lines if line)


@pytest.mark.parametrize("seed", range(60 * TIMES))
def test_a_table_is_read_rightly_or_refused_and_what_is_suggested_is_right(seed: int, tmp_path: Path) -> None:
    made = Made(seed)
    path, true = made.saved(tmp_path / "votes.csv"), made.spa
    try:
        assert outcome(path, true) in ("right", "warned"), made.columns
    except SpagreeError as refused:
        for options in suggested(refused):
            try:
                assert outcome(path, true, **options) in ("right", "warned"), (made.columns, options)
            except SpagreeError:
                continue
