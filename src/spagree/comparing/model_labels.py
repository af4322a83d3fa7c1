"""A model's own source → its labels, one table per run, spelled as those of the people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from spagree.comparing.sides import as_text
from spagree.counting import policies
from spagree.errors import ColumnError, DataError, FileError, SpagreeError
from spagree.estimate.similarity import SET_METRICS
from spagree.late import nw
from spagree.options import TOOLS, Reading, declared, split
from spagree.read import read
from spagree.read.annotations import ANNOTATOR, COUNT, ITEM, LABEL
from spagree.tally.engines import column_names, to_polars
from spagree.tally.labels import BAR, options_of
from spagree.tally.policies import Clean, respelled

if TYPE_CHECKING:
    import polars

WIDE = "wide"


def runs_in(name: str, source: Any, people: polars.DataFrame, options: Mapping[str, Any]) -> list[polars.DataFrame]:
    """The labels in a model's source: its annotators are runs, or else the rows that label an item again."""
    import polars

    rows = as_text(to_polars(_read(name, source, split(options)[0])))
    rows = _respelled(rows.drop_nulls([ITEM, LABEL]), people, options)
    if rows.is_empty():
        raise DataError(f"model {name}: no row has an item and a label; check its columns")
    if rows[ANNOTATOR].null_count():
        occurrence = polars.col(LABEL).cum_count().over(ITEM).cast(polars.String)
        rows = rows.with_columns(occurrence.alias(ANNOTATOR))
    elif rows.select(polars.struct(ITEM, ANNOTATOR).is_duplicated().any()).item():
        raise DataError(f"model {name}: one run labels an item twice; give each run a different name")
    return [part for _, part in sorted(rows.partition_by(ANNOTATOR, as_dict=True).items())]


def _read(name: str, source: Any, reading: Mapping[str, Any]) -> nw.LazyFrame[Any]:
    """A model's labels, read with the options for the people's data if they fit, otherwise as a table of their own."""
    refused: list[SpagreeError] = []
    for options in _ways(reading):
        try:
            frame = read(source, **options).frame
        except FileError:
            raise
        except SpagreeError as error:
            refused.append(error)
            continue
        names = column_names(frame)
        if COUNT in names:
            raise DataError(f"model {name}: a table of counts does not say which label it gave; write item, label")
        return frame.select([name for name in (ITEM, ANNOTATOR, LABEL) if name in names])
    alone = refused[2]
    if isinstance(alone, ColumnError):
        first = str(alone).splitlines()[0]
        raise ColumnError(f"model {first}; call its columns item and label, or as they are called in the people's file")
    raise alone


def _ways(reading: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The options to read a model's source with: its export like theirs, their columns, none of them, their layout."""
    always = {name: reading[name] for name in ("missing",) if reading.get(name)}
    columns = {name: reading[name] for name in (ITEM, LABEL) if reading.get(name) is not None}
    of_tools = {name for name, option in declared(Reading).items() if option.group == TOOLS} | {"question"}
    yield always | columns | {name: value for name, value in reading.items() if name in of_tools}
    yield always | columns
    yield always
    if reading.get("format") == WIDE:
        yield always | {"format": WIDE} | {name: value for name, value in columns.items() if name == ITEM}


def _respelled(rows: polars.DataFrame, people: polars.DataFrame, options: Mapping[str, Any]) -> polars.DataFrame:
    """Labels and names as the policies spell those of the people."""
    reading, estimating = split(options)
    how = replace(policies(Reading(**reading)), of_sets=estimating.get("metric") in SET_METRICS)
    human_options = {option for label in people[LABEL].unique() for option in (label, *options_of(label, BAR))}
    labels = dict(rows[LABEL].value_counts().iter_rows())
    clean, _ = respelled(Clean(nw.from_native(rows.lazy()), {}), labels, how, human_options)
    return to_polars(clean.frame)
