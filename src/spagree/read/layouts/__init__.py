"""How annotations are laid out in a table: one per row, or one column per annotator, item or class.

long.py      one annotation per row, perhaps of several questions
broad.py     wide (a column per annotator), transposed (a column per item), counts (a column per class), one-hot
recognise.py which layout a table has, if its columns leave no doubt, and the commands to choose from if they do
doubts.py    what a table looks like although it was read as something else: refused, or a caution
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
