"""A column that groups items and is not used: documents, batches, pages, topics."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from spagree.read.annotations import ITEM
from spagree.read.contents import plain_name, plain_text, words
from spagree.read.tables import Table, shown
from spagree.understood import Caution

NAMES = words(
    "document documentid documentname doc docid docname batch batchid batchname page pageid topic topicid thread "
    "threadid conversation conversationid dialogue dialogueid dialog dialogid article articleid chapter chapterid "
    "paragraph paragraphid session sessionid video videoid story storyid"
)
FEWEST_ITEMS = 9  # below, little can be seen


def caution_clusters(table: Table, places: Mapping[str, Sequence[int]]) -> tuple[Caution, ...]:
    """Where the first rows show a column with fewer values than items, and one value for each item."""
    taken = {position for positions in places.values() for position in positions}
    named = [p for p, name in enumerate(table.columns) if p not in taken and plain_name(name) in NAMES]
    for position in named:
        values: defaultdict[tuple[str, ...], set[str]] = defaultdict(set)
        for row in table.sample:
            if len(row) == len(table.columns) and (value := plain_text(row[position])):
                values[tuple(plain_text(row[p]) for p in places[ITEM])].add(value)
        clusters = {value for each in values.values() for value in each}
        is_grouping = all(len(each) == 1 for each in values.values()) and 1 < len(clusters) <= len(values) / 2
        if is_grouping and len(values) >= FEWEST_ITEMS:
            name = shown(table.columns[position])
            message = (
                f"column {name} groups items (in the first rows {len(values):,} items in {len(clusters):,} groups): if "
                f"items of one group have something in common, the interval is too narrow; say --cluster {name}"
            )
            return (Caution("looks_clustered", message),)
    return ()
