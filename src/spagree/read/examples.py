"""Small data sets that come with spagree, so a first number is one command away.

The classics are published tables, each with its source, so readers can check the figures against the
paper. The true agreement of the simulated ones is known; their note is the call that produced them.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from spagree.errors import unknown_name

if TYPE_CHECKING:
    import polars as pl


FOLDER = Path(__file__).parent / "example_data"


@dataclass(frozen=True, slots=True)
class Example:
    """One data set: where it comes from, how it is laid out, and what is known about it."""

    name: str
    title: str
    citation: str
    format: str
    note: str


_ABOUT = tomllib.loads((FOLDER / "examples.toml").read_text("utf-8"))
EXAMPLES: Mapping[str, Example] = MappingProxyType({name: Example(name, **about) for name, about in _ABOUT.items()})


def locate(name: str) -> tuple[Path, str]:
    """The path of an example and its layout, for any reader of files."""
    if name not in EXAMPLES:
        raise unknown_name("example", name, EXAMPLES)
    return FOLDER / f"{name}.csv", EXAMPLES[name].format


def example(name: str) -> pl.DataFrame:
    """The table of an example as its file has it: text throughout, null where a cell is empty.

    >>> example("krippendorff2011").row(11)
    ('12', None, '3', None, None)
    """
    import polars as pl

    return pl.read_csv(locate(name)[0], infer_schema=False)
