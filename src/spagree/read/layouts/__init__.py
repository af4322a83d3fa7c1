"""How annotations are laid out in a table: one per row, or one column per annotator, item or class.

long.py      one annotation per row
broad.py     wide (a column per annotator), transposed (a column per item), counts (a column per class)
one_hot.py   one annotation per row, a column of 0 and 1 per class
recognise.py which layout a table has, if its columns leave no doubt; advice.py: the choices if they do
question_column.py  several questions in one table
"""

from collections.abc import Callable, Mapping

from spagree.read.layouts.broad import counts, transposed, wide
from spagree.read.layouts.long import long, several_questions
from spagree.read.layouts.one_hot import one_hot
from spagree.read.layouts.question import Layout, Question
from spagree.read.layouts.recognise import Recognised, recognised
from spagree.read.tables import Table

SHOWN_EXAMPLES = 3

FORMATS: Mapping[str, Callable[[Table, Question], Layout]] = {
    "long": long,
    "wide": wide,
    "transposed": transposed,
    "counts": counts,
    "one-hot": one_hot,
}


def asked_in(table: Table, question: Question) -> list[str]:
    """The questions of a long table with a question column; none if it has no such column or one was chosen."""
    return several_questions(table, question) if question.question is None else []


__all__ = ["FORMATS", "SHOWN_EXAMPLES", "Layout", "Question", "Recognised", "asked_in", "recognised"]
