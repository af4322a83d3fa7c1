"""Any source → Annotations(item, annotator, label[, time]): the only place that knows formats.

sources.py picks the room that reads a source; the others are not imported:

    files/      CSV, JSON, Excel and Parquet files, plain or compressed
    databases/  PostgreSQL and SQLite, by a query
    spark.py    files on a Spark cluster
    tools/      exports of annotation tools
    frames.py   dataframes, triples and matrices in memory

Every room but tools/ makes a Table (table.py), which layouts/ turns into Annotations.
"""

from spagree.read.annotations import Annotations
from spagree.read.sources import read, read_all

__all__ = ["Annotations", "read", "read_all"]
