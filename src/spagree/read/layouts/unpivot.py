"""A wide table turned long: one row per cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from spagree.late import nw
from spagree.read.frames import is_spark
from spagree.read.tables import sql_literal


def unpivoted(
    frame: nw.LazyFrame[Any], kept: Sequence[str], names: Mapping[str, str], variable: str, value: str
) -> nw.LazyFrame[Any]:
    """One row per cell of the columns in ``names`` (key → the name to show), beside the ``kept`` columns.

    Names get a prefix while they are column names, so that none can collide.
    """
    if frame.implementation is nw.Implementation.DUCKDB:
        # The same in SQL: on duckdb, narwhals' unpivot drops nulls and knows only the default connection.
        texts = ", ".join(map(sql_literal, names.values()))
        cells = f"unnest([{texts}]) AS {variable}, unnest([{', '.join(names)}]) AS {value}"
        return cast("nw.LazyFrame[Any]", nw.from_native(frame.to_native().project(f"{', '.join(kept)}, {cells}")))
    if is_spark(frame):
        # The same in Spark, where a name with a dot or a backtick cannot be the name of a column on the way.
        from pyspark.sql import functions as sql

        pairs = [sql.struct(sql.lit(name).alias(variable), sql.col(key).alias(value)) for key, name in names.items()]
        exploded = frame.to_native().select(*kept, sql.inline(sql.array(*pairs)))
        return cast("nw.LazyFrame[Any]", nw.from_native(exploded))
    marked = [nw.col(key).alias("=" + name) for key, name in names.items()]
    tall = frame.select(*kept, *marked).unpivot(
        ["=" + name for name in names.values()], index=list(kept), variable_name=variable, value_name=value
    )
    return tall.with_columns(nw.col(variable).cast(nw.String).str.slice(1))
