"""A guessed label that belongs to the item or to the annotator, while another column holds what annotators said."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from spagree.read.annotations import ANNOTATOR, ITEM, LABEL
from spagree.read.columns import COMMON_NAMES
from spagree.read.contents import columns_at, plain_name, words, words_of
from spagree.read.layouts.advice import follows, may_be_labels
from spagree.read.tables import Table, shown
from spagree.understood import Caution

FEWEST_ROWS = 10
WEAK = words(" ".join(COMMON_NAMES[LABEL][3:])) - {"verdict", "diagnosis"}
BESIDE = words(
    "confidence conf certainty certain sure difficulty time duration seconds date comment comments note notes reason "
    "age gender sex country language device batch session round phase pass order position trust weight status page "
    "hit assignment correct attention check swapped flipped"
)


def caution_other_label(table: Table, places: Mapping[str, Sequence[int]]) -> Iterator[Caution]:
    """A caution if the guessed label says nothing, or has a weak name, and another column differs within items."""
    (label,), rows = places[LABEL], len(table.sample)
    if ANNOTATOR not in places or rows < FEWEST_ROWS or len(places[ITEM]) > 1 or len(places[ANNOTATOR]) > 1:
        return
    item, person = places[ITEM][0], places[ANNOTATOR][0]
    doubt = _doubt(table, item, person, label)
    if not doubt or table.different([item]) == rows:
        return
    free = [p for p in table.free(places) if not BESIDE & set(words_of(table.columns[p]))]
    others = [p for p in free if not follows(table, item, p) and not follows(table, person, p)]
    for position in may_be_labels(columns_at(table, others), others)[:1]:
        other = shown(table.columns[position])
        yield Caution("other_label", f"{doubt}; if column {other} holds the labels, use --label {other}")


def _doubt(table: Table, item: int, person: int, label: int) -> str:
    """Why a column may not be the label; nothing if there is no doubt."""
    name = shown(table.columns[label])
    if follows(table, item, label):
        return f"column {name} has one value for each item, whoever annotated it"
    if follows(table, person, label):
        return f"column {name} has one value for each annotator"
    is_weak = plain_name(table.columns[label]) in WEAK
    return f"column {name} was taken for the label because of its name" if is_weak else ""
