"""How annotations are laid out in a table: one per row, or one column per annotator, item or class.

long.py      one annotation per row
broad.py     wide (a column per annotator), transposed (a column per item), counts (a column per class)
one_hot.py   one annotation per row, a column of 0 and 1 per class
recognise.py which layout a table has, if its columns leave no doubt; advice.py: the choices if they do
question_column.py  several questions in one table
"""

from collections.abc import Callable, Mapping

from spagree.read.layouts.broad import counts, one_hot, transposed, wide
from spagree.read.layouts.long import long, several_questions
from spagree.read.layouts.recognise import Recognised, recognised, without_second_header
from spagree.read.request import Request
from spagree.read.table import Layout, Table

FORMATS: Mapping[str, Callable[[Table, Request], Layout]] = {
    "long": long,
    "wide": wide,
    "transposed": transposed,
    "counts": counts,
    "one-hot": one_hot,
}

__all__ = ["FORMATS", "Layout", "Recognised", "recognised", "several_questions", "without_second_header"]
