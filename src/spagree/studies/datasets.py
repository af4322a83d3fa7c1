"""The label sets: the paper's eight, real or simulated, and every other tidy file in a folder.

The paper's data in their published layouts, each read as a table (item, label):

MBIC     xlsx, sheet `annotations`: sentence_id, survey_record_id, label, factual
BSMTWE   CSV: tweet_id, annotator_id and four questions
DAR      JSON lines, one thread per line, with posts that hold annotations
FECG     CSV without a header: 3 × (url, box), the triplet type, then annotator, label, annotator, label, …
"""

from __future__ import annotations

import csv
import hashlib
import json
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from spagree.counts.engines import to_polars
from spagree.errors import DataError, FileError
from spagree.read import read
from spagree.studies.simulation import simulate

if TYPE_CHECKING:
    from numpy.typing import NDArray

TIDY_ENDINGS = (".csv", ".csv.gz", ".parquet")
FECG_ANNOTATIONS = 16  # fields before them: 3 × (url + four numbers of the box) and the triplet type


@dataclass(frozen=True, slots=True)
class StandIn:
    """What the paper says about a data set that may be missing: its items, and annotations per item.

    A simulated stand-in shows that the experiments run at that size. Its labels are made up, so its curves
    say nothing about the real data, and it is marked as simulated wherever its name appears.
    """

    classes: int
    usual: int | tuple[int, int]
    """Items with this number of annotations, or a number from this range, …"""
    items: int
    other: tuple[int, int] = (2, 2)
    """… and further items with a number from this range."""
    others: int = 0
    heterogeneity: float = 0.5
    skew: float = 0.5


def draw(standin: StandIn, seed: int) -> pl.DataFrame:
    """Item and label of simulated annotations."""
    drawn = []
    about: dict[str, Any] = {"annotators": 40, "classes": standin.classes, "skew": standin.skew}
    sizes = (("usual", standin.items, standin.usual), ("other", standin.others, standin.other))
    for number, (name, items, per_item) in enumerate(sizes):
        if items:
            simulation = simulate(
                items=items, per_item=per_item, heterogeneity=standin.heterogeneity, seed=seed + number, **about
            )
            drawn.append(simulation.frame.select(pl.col("item") + f" {name}", "label"))
    return pl.concat(drawn)


@dataclass(frozen=True, slots=True, eq=False)
class LabelSet:
    """The annotations of one question as codes: item and label of each, numbered from 0."""

    plain_name: str
    plain_title: str
    item: NDArray[np.int64]
    label: NDArray[np.int64]
    simulated: bool = False

    @property
    def name(self) -> str:
        """For file names and tables; says whether the data are simulated."""
        return f"{self.plain_name}_simulated" if self.simulated else self.plain_name

    @property
    def title(self) -> str:
        """For people; says whether the data are simulated."""
        return f"{self.plain_title} (simulated stand-in)" if self.simulated else self.plain_title

    @property
    def items(self) -> int:
        """Number of items."""
        return int(self.item.max()) + 1

    @property
    def classes(self) -> int:
        """Number of classes."""
        return int(self.label.max()) + 1

    @property
    def annotations(self) -> int:
        """Number of annotations."""
        return len(self.item)

    @property
    def per_item(self) -> NDArray[np.int64]:
        """Annotations of each item."""
        return np.bincount(self.item)

    @property
    def digest(self) -> str:
        """A fingerprint of the data, which keeps results of different data apart."""
        joined = b"".join((self.name.encode(), self.item.tobytes(), self.label.tobytes()))
        return hashlib.sha256(joined).hexdigest()[:16]


def label_set(name: str, title: str, frame: pl.DataFrame, *, simulated: bool = False) -> LabelSet:
    """A table with the columns item and label as a :class:`LabelSet`; the order of its rows does not matter.

    >>> import polars as pl
    >>> found = label_set("tiny", "Tiny", pl.DataFrame({"item": ["y", "x", "x"], "label": ["b", "b", "a"]}))
    >>> found.item.tolist(), found.label.tolist(), found.items, found.classes
    ([0, 0, 1], [0, 1, 1], 2, 2)
    """
    if frame.is_empty():
        raise DataError(f"{title}: no annotations")
    ordered = frame.sort("item", "label")
    return LabelSet(name, title, _codes(ordered["item"]), _codes(ordered["label"]), simulated)


def _codes(column: pl.Series) -> NDArray[np.int64]:
    """Numbers from 0 in the order of the values."""
    return column.rank("dense").cast(pl.Int64).to_numpy() - 1


def rows_of(paths: Sequence[Path], question: str | None = None, **columns: str) -> pl.DataFrame:
    """Item and label as spagree's own reader has them; repeats by one annotator are kept, 18-digit ids stay text."""
    if question is not None:
        columns["label"] = question
    return to_polars(read(_existing(paths[0]), **columns).frame.select("item", "label")).drop_nulls()


mbic = partial(rows_of, item="sentence_id", sheet="annotations")  # class names keep their typographic apostrophe
bsmtwe = partial(rows_of, item="tweet_id")


def dar(paths: Sequence[Path], question: str, seed: int = 0) -> pl.DataFrame:
    """One label per annotator and post; if an annotator gave several, one is drawn at random, as in the paper."""
    chance = random.Random(seed)  # noqa: S311 (a reproducible choice, not a secret)
    rows = []
    for path in paths:
        for post in _posts(path):
            answers: dict[str, list[str]] = {}
            for annotation in post.get("annotations", []):
                labels = answers.setdefault(str(annotation.get("annotator")), [])
                if annotation.get(question):
                    labels.append(str(annotation[question]))
            rows += [(str(post["id"]), chance.choice(labels)) for labels in answers.values() if labels]
    return pl.DataFrame(rows, schema={"item": pl.String, "label": pl.String}, orient="row")


def _posts(path: Path) -> Iterator[dict[str, Any]]:
    with _existing(path).open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                posts = json.loads(line)["posts"]
            except (ValueError, KeyError, TypeError) as error:
                raise DataError(
                    f'{path}:{number}: not a thread ({{"posts": […]}}) in JSON; is it DAR\'s file?'
                ) from error
            yield from posts


def fecg(paths: Sequence[Path], _question: str = "label") -> pl.DataFrame:
    """The row is the item; annotators and labels alternate from the seventeenth field on."""
    rows: list[tuple[str, str]] = []
    for path in paths:
        with _existing(path).open(encoding="utf-8", newline="") as lines:
            for number, row in enumerate(csv.reader(lines), start=1):
                fields = [field.strip() for field in row]
                while fields and not fields[-1]:
                    fields.pop()
                if len(fields) < FECG_ANNOTATIONS or len(fields) % 2:
                    raise DataError(
                        f"{path}:{number}: {len(fields)} fields; {FECG_ANNOTATIONS} and then pairs of annotator and "
                        "label are expected; is it FECG's file?"
                    )
                rows += [(f"{path.name}:{number}", label) for label in fields[FECG_ANNOTATIONS + 1 :: 2]]
    return pl.DataFrame(rows, schema={"item": pl.String, "label": pl.String}, orient="row")


def _existing(path: Path) -> Path:
    if not path.is_file():
        raise FileError(f"{path}: no such file; docs/paper/README.md says what to put where")
    return path


@dataclass(frozen=True, slots=True)
class PaperSet:
    """A data set of the paper: its questions, how its raw files are recognised and read, its stand-in."""

    title: str
    questions: dict[str, StandIn]
    patterns: tuple[str, ...]
    load: Callable[[Sequence[Path], str], pl.DataFrame]


SOURCES = {
    "mbic": PaperSet(
        "MBIC",
        {
            "label": StandIn(2, (9, 12), 1700, heterogeneity=0.3),
            "factual": StandIn(3, (9, 12), 1700, heterogeneity=0.2),
        },
        ("*mbic*.xlsx", "annotations.xlsx"),
        mbic,
    ),
    "bsmtwe": PaperSet(
        "BSMTWE",
        {
            question: StandIn(4, 3, 4371, other=(1, 6), others=182, heterogeneity=0.2, skew=skew)
            for question, skew in (
                ("trust_vs_disgust", 0.3),
                ("surprise_vs_antecip", 0.2),
                ("joy_vs_sadness", 0.6),
                ("anger_vs_fear", 0.9),
            )
        },
        ("tweets_annotations.csv",),
        bsmtwe,
    ),
    "fecg": PaperSet(
        "FECG",
        {"label": StandIn(3, 6, 50_992, other=(5, 12), others=50, skew=0.1)},
        ("faceexp-comparison-data-*.csv",),
        fecg,
    ),
    "dar": PaperSet(
        "DAR", {"main_type": StandIn(10, (1, 3), 115_000, heterogeneity=0.6)}, ("coarse_discourse*.json*",), dar
    ),
}


def paper_sets(folder: Path | None, seed: int = 0) -> list[LabelSet]:
    """The paper's eight label sets in the order of its table; simulated if ``folder`` does not have them."""
    sets, tidy = [], _tidy_files(folder)
    for key, source in SOURCES.items():
        files = _raw_files(folder, key, source)
        for question, standin in source.questions.items():
            name, title = f"{key}_{question}", f"{source.title}, {question}"
            if files:
                found = label_set(name, title, source.load(files, question))
            elif name in tidy:
                found = label_set(name, title, rows_of([tidy[name]]))
            else:
                found = label_set(name, title, draw(standin, seed), simulated=True)
            sets.append(found)
    return sets


def _raw_files(folder: Path | None, key: str, source: PaperSet) -> list[Path]:
    """Files with the published names, in the folder or in a subfolder named after the data set."""
    if folder is None:
        return []
    paths = [path for place in (folder / key, folder) for pattern in source.patterns for path in place.glob(pattern)]
    return sorted(set(paths))


def other_sets(folder: Path | None) -> list[LabelSet]:
    """Every tidy file in the folder that is not one of the paper's label sets."""
    known = {f"{key}_{question}" for key, source in SOURCES.items() for question in source.questions}
    files = {name: path for name, path in _tidy_files(folder).items() if name not in known}
    return [label_set(name, name.replace("_", " "), rows_of([path])) for name, path in files.items()]


def _tidy_files(folder: Path | None) -> dict[str, Path]:
    if folder is None:
        return {}
    if not folder.is_dir():
        raise FileError(f"{folder}: no such folder; docs/paper/README.md says what to put where")
    raws = {path for key, source in SOURCES.items() for path in _raw_files(folder, key, source)}
    files = [path for path in sorted(folder.iterdir()) if path.name.endswith(TIDY_ENDINGS) and path not in raws]
    return {path.name.split(".")[0]: path for path in files}
