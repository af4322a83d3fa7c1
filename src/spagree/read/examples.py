"""Small data sets that come with spagree, so a first number is one command away.

The classics are published tables, each with its source, so readers can check the figures against the
paper. The true agreement of the simulated ones is known; their note is the call that produced them.
"""

from __future__ import annotations

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
    """One data set: where it comes from, how it is laid out, and what is known about it.

    >>> EXAMPLES["fleiss1971"].format
    'counts'
    """

    name: str
    title: str
    citation: str
    format: str
    note: str


_ALL = (
    Example(
        name="fleiss1971",
        title="Psychiatric diagnoses: 30 patients, 5 diagnoses, 6 psychiatrists each",
        citation="Fleiss, J. L. (1971). Measuring nominal scale agreement among many raters. "
        "Psychological Bulletin 76(5), 378-382.",
        format="counts",
        note="Who gave which diagnosis was not published. Mean agreement 0.556, Fleiss' kappa 0.430.",
    ),
    Example(
        name="krippendorff2011",
        title="Four observers, 12 units, 5 values, with missing values",
        citation="Krippendorff, K. (2011). Computing Krippendorff's Alpha-Reliability. "
        "University of Pennsylvania, section C.",
        format="wide",
        note="Unit 12 has one value and pairs with nothing, which leaves 40 values. Nominal alpha 0.743.",
    ),
    Example(
        name="landis-koch1977",
        title="Multiple sclerosis: 149 Winnipeg patients, 4 classes, two neurologists",
        citation="Landis, J. R. and Koch, G. G. (1977). The measurement of observer agreement for "
        "categorical data. Biometrics 33(1), 159-174, Table 1; data of Westlund and Kurland (1953).",
        format="long",
        note="Published as a cross table, so the patient numbers mean nothing. "
        "Agreement 64/149 = 0.430, Cohen's kappa 0.208.",
    ),
    Example(
        name="cohen1968",
        title="Psychiatric diagnoses: 200 cases, 3 classes, two judges",
        citation="Cohen, J. (1968). Weighted kappa: nominal scale agreement with provision for scaled "
        "disagreement or partial credit. Psychological Bulletin 70(4), 213-220, Table 1.",
        format="long",
        note="Cohen's own illustration, published as a cross table of proportions: the case numbers mean "
        "nothing. Agreement 0.700, Cohen's kappa 0.492.",
    ),
    Example(
        name="gwet2014",
        title="Kinds of pregnancy: 100 medical records, 3 classes, two abstractors",
        citation="Gwet, K. L. (2014). Handbook of Inter-Rater Reliability, 4th edition. Advanced Analytics.",
        format="wide",
        note="Published as a cross table, so the record numbers mean nothing. "
        "Agreement 0.890, Cohen's kappa 0.796, Gwet's AC1 0.849.",
    ),
    Example(
        name="sparse",
        title="A typical crowd project, simulated: 300 items, 2 to 5 annotations each, 25 annotators",
        citation="spagree",
        format="long",
        note="simulate(items=300, annotators=25, classes=4, per_item=(2, 5), skew=0.5, quality=(0.7, 1.0), "
        "seed=0). The number of annotations has nothing to do with the labels; the truth is 0.580.",
    ),
    Example(
        name="adaptive",
        title="More annotators if the first two disagree, simulated: 800 items, 30 annotators",
        citation="spagree",
        format="long",
        note="simulate(items=800, annotators=30, per_item=6, quality=(0.8, 1.0), adaptive=True, seed=0). "
        "SPA's assumption is broken: flat weights give 0.812, edge weights 0.518 where the truth is 0.650; "
        "the first two annotations of each item in time order give 0.654.",
    ),
)

EXAMPLES: Mapping[str, Example] = MappingProxyType({one.name: one for one in _ALL})


def locate(name: str) -> tuple[Path, str]:
    """The path of an example and its layout, for any reader of files.

    >>> path, format = locate("krippendorff2011")
    >>> path.name, format
    ('krippendorff2011.csv', 'wide')
    """
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
