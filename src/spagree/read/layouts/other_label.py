"""A guessed label that belongs to the item or to the annotator, while another column holds what annotators said."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from spagree.read.annotations import ANNOTATOR, ITEM, LABEL
from spagree.read.columns import COMMON_NAMES
from spagree.read.contents import held_by, plain_name, words, words_of
from spagree.read.layouts.advice import follows, may_be_labels
from spagree.read.tables import Table, shown
from spagree.understood import Caution

FEWEST_ROWS = 10
WEAK = frozenset(name for group in COMMON_NAMES[LABEL][3:] for name in group.split()) - {"verdict", "diagnosis"}
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
    if table.different([item]) == rows:
        return
    free = [p for p in table.free(places) if not BESIDE & set(words_of(table.columns[p]))]
    others = [p for p in free if not follows(table, item, p) and not follows(table, person, p)]
    found = may_be_labels(held_by(table, others), others)
    if not found:
        return
    name, other = shown(table.columns[label]), shown(table.columns[found[0]])
    if follows(table, item, label):
        told = f"column {name} has one value for each item, whoever annotated it"
    elif follows(table, person, label):
        told = f"column {name} has one value for each annotator"
    elif plain_name(table.columns[label]) in WEAK:
        told = f"column {name} was taken for the label because of its name"
    else:
        return
    yield Caution("other_label", f"{told}; if column {other} holds the labels, use --label {other}")
