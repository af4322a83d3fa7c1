"""The label sets: the paper's eight, real or simulated, and every other tidy file in a folder."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from spagree.errors import DataError, FileError
from spagree.studies import raw

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class StandIn:
    """What the paper says about a data set that may be missing: its items, and annotations per item.

    A simulated stand-in shows that the experiments run at that size. Its labels are made up, so its curves say nothing
    about the real data, and it is marked as simulated wherever its name appears.
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
    """Item and label of simulated annotations.

    >>> frame = draw(StandIn(classes=3, usual=6, items=100, other=(5, 12), others=4), seed=1)
    >>> frame["item"].n_unique(), frame["label"].n_unique()
    (104, 3)
    """
    import polars as pl

    from spagree.simulate import simulate

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


SIMULATED = "simulated"
TIDY_ENDINGS = (".csv", ".csv.gz", ".parquet")


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
        return f"{self.plain_name}_{SIMULATED}" if self.simulated else self.plain_name

    @property
    def title(self) -> str:
        """For people; says whether the data are simulated."""
        return f"{self.plain_title} ({SIMULATED} stand-in)" if self.simulated else self.plain_title

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

    def tally(self) -> Any:
        """What spagree itself counts from these annotations."""
        from spagree.tally.tally import Tally

        counts: list[Counter[str]] = [Counter() for _ in range(self.items)]
        for item, label in zip(self.item.tolist(), self.label.tolist(), strict=True):
            counts[item][str(label)] += 1
        return Tally.from_items(counts)


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
    import polars as pl

    return column.rank("dense").cast(pl.Int64).to_numpy() - 1


@dataclass(frozen=True, slots=True)
class Source:
    """A data set of the paper: its questions, how its raw files are recognised and read, its stand-in."""

    title: str
    questions: dict[str, StandIn]
    patterns: tuple[str, ...]
    load: Callable[[Sequence[Path], str], pl.DataFrame]


def _bsmtwe(skew: float) -> StandIn:
    return StandIn(classes=4, usual=3, items=4371, other=(1, 6), others=182, heterogeneity=0.2, skew=skew)


SOURCES = {
    "mbic": Source(
        "MBIC",
        {
            "label": StandIn(2, (9, 12), 1700, heterogeneity=0.3),
            "factual": StandIn(3, (9, 12), 1700, heterogeneity=0.2),
        },
        ("*mbic*.xlsx", "annotations.xlsx"),
        raw.mbic,
    ),
    "bsmtwe": Source(
        "BSMTWE",
        {
            "trust_vs_disgust": _bsmtwe(0.3),
            "surprise_vs_antecip": _bsmtwe(0.2),
            "joy_vs_sadness": _bsmtwe(0.6),
            "anger_vs_fear": _bsmtwe(0.9),
        },
        ("tweets_annotations.csv",),
        raw.bsmtwe,
    ),
    "fecg": Source(
        "FECG",
        {"label": StandIn(3, 6, 50_992, other=(5, 12), others=50, skew=0.1)},
        ("faceexp-comparison-data-*.csv",),
        raw.fecg,
    ),
    "dar": Source(
        "DAR", {"main_type": StandIn(10, (1, 3), 115_000, heterogeneity=0.6)}, ("coarse_discourse*.json*",), raw.dar
    ),
}


def paper_sets(folder: Path | None, seed: int = 0) -> list[LabelSet]:
    """The paper's eight label sets in the order of its table; simulated if ``folder`` does not have them."""
    return [
        _paper_set(folder, key, source, question, seed)
        for key, source in SOURCES.items()
        for question in source.questions
    ]


def _paper_set(folder: Path | None, key: str, source: Source, question: str, seed: int) -> LabelSet:
    name, title = f"{key}_{question}", f"{source.title}, {question}"
    files = _raw_files(folder, key, source)
    if files:
        return label_set(name, title, source.load(files, question))
    tidy = _tidy_files(folder).get(name)
    if tidy:
        return label_set(name, title, read_tidy(tidy))
    return label_set(name, title, draw(source.questions[question], seed), simulated=True)


def _raw_files(folder: Path | None, key: str, source: Source) -> list[Path]:
    """Files with the published names, in the folder or in a subfolder named after the data set."""
    if folder is None:
        return []
    paths = [path for place in (folder / key, folder) for pattern in source.patterns for path in place.glob(pattern)]
    return sorted(set(paths))


def other_sets(folder: Path | None) -> list[LabelSet]:
    """Every tidy file in the folder that is not one of the paper's label sets."""
    known = {f"{key}_{question}" for key, source in SOURCES.items() for question in source.questions}
    files = {name: path for name, path in _tidy_files(folder).items() if name not in known}
    return [label_set(name, name.replace("_", " "), read_tidy(path)) for name, path in files.items()]


def _tidy_files(folder: Path | None) -> dict[str, Path]:
    if folder is None:
        return {}
    if not folder.is_dir():
        raise FileError(f"{folder}: no such folder; docs/paper/data.md says what to put where")
    raws = {path for key, source in SOURCES.items() for path in _raw_files(folder, key, source)}
    files = [path for path in sorted(folder.iterdir()) if path.name.endswith(TIDY_ENDINGS) and path not in raws]
    return {path.name.split(".")[0]: path for path in files}


def read_tidy(path: Path) -> pl.DataFrame:
    """Item and label of a tidy file, through spagree's own reader; repeats by one annotator are kept."""
    from spagree.read import read
    from spagree.tally.engines import to_polars

    return to_polars(read(path).frame.select("item", "label")).drop_nulls()
