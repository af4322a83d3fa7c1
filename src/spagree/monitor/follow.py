"""A file, folder or database that grows: read in full whenever it changes, and compared with what is stored.

Anything `spagree score` reads can be followed: a CSV or JSON lines file that grows, an export that is replaced
repeatedly, potato's folder, Label Studio's database. This also corrects what a tool's webhooks missed.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from watchfiles import watch

from spagree.errors import SpagreeError
from spagree.monitor.events import Annotation, Listing
from spagree.monitor.hooks import APART, LABEL_STUDIO, POTATO
from spagree.monitor.hub import Hub
from spagree.monitor.writer import BusyError, StoreError
from spagree.read import read_all
from spagree.read.annotations import ANNOTATOR, ITEM, LABEL, TIME, Annotations
from spagree.read.databases.addresses import is_server, public
from spagree.tally.engines import to_polars
from spagree.tally.tally import text

if TYPE_CHECKING:
    import polars

EVERY = 10.0  # seconds, even if no change was noticed
SETTLED = 0.5  # seconds without a change, if a file does not end with a newline
HOOKED = (LABEL_STUDIO, POTATO)  # tools whose webhooks are corrected: their annotations have the same source


def listing(path: str, project: str | None = None) -> Listing:
    """Everything the source holds now."""
    as_of = time.time()
    by_question = read_all(path)
    formats = {table.understood.format for table in by_question.values()}
    tool = next((name for name in HOOKED if name in formats), None)
    name = public(path) if is_server(path) else Path(path).name
    source = tool or f"file {name}"
    belongs = project or tool or Path(name).stem
    tables = [_annotations(table, belongs, question, source) for question, table in by_question.items()]
    return Listing(belongs, source, [*chain.from_iterable(tables)], as_of)


def _annotations(annotations: Annotations, project: str, question: str, source: str) -> list[Annotation]:
    frame = to_polars(annotations.frame)
    if ANNOTATOR not in frame.columns:
        raise SpagreeError("the annotators are unknown; a monitor needs the annotator of each annotation")
    kept = frame.drop_nulls([ITEM, ANNOTATOR, LABEL])
    if TIME in kept.columns:  # an annotator's last label of an item counts: the latest, wherever it is written
        kept = kept.with_columns(_seconds(kept[TIME])).sort(TIME, nulls_last=False, maintain_order=True)
    times = kept[TIME].to_list() if TIME in kept.columns else [None] * kept.height
    rows = zip(*(map(text, kept[name].to_list()) for name in (ITEM, ANNOTATOR, LABEL)), times, strict=True)
    return [
        Annotation(project, question, source, item + APART + who, item, who, label, None, at)
        for item, who, label, at in rows
    ]


def _seconds(times: polars.Series) -> polars.Series:
    """Times as seconds since 1970; unknown if they are neither numbers nor dates."""
    import polars

    if times.dtype in (polars.Date, polars.Datetime):
        times = times.dt.epoch("us") / 1_000_000
    return times.cast(polars.Float64, strict=False).fill_nan(None)


def keep_following(hub: Hub, path: str, project: str | None, stop: threading.Event) -> None:
    """Compare a source whenever it changes, until told to stop."""
    seen = None
    for _ in _looks(path, stop):
        state = _state(path)
        has_changed = state is None or (state != seen and not _is_unfinished(path))
        if has_changed and _compare(hub, path, project):
            seen = state


def _looks(path: str, stop: threading.Event) -> Iterator[object]:
    """When to look: at once, when a file changes, and every few seconds anyway."""
    yield None
    if is_server(path):
        while not stop.wait(EVERY):
            yield None
        return
    folder = Path(path) if Path(path).is_dir() else Path(path).absolute().parent
    yield from watch(folder, stop_event=stop, yield_on_timeout=True, rust_timeout=1000, watch_filter=None)


def _compare(hub: Hub, path: str, project: str | None) -> bool:
    """Correct what differs; return whether the source could be read."""
    name = f"file {Path(path).name}"
    try:
        hub.reconcile(listing(path, project))
    except (SpagreeError, OSError, StoreError, BusyError) as error:
        hub.failed(name, f"cannot be read: {str(error).splitlines()[0]}")
        return False
    hub.worked(name)
    return True


def _state(path: str) -> object:
    """Sizes and times of the files, which show a change; None if they cannot be read."""
    if is_server(path):
        return None
    here = Path(path)
    files = sorted(file for file in here.rglob("*") if file.is_file()) if here.is_dir() else [here]
    try:
        return tuple((str(file), file.stat().st_size, file.stat().st_mtime_ns) for file in files)
    except OSError:
        return None


def _is_unfinished(path: str) -> bool:
    """Whether a line is only partly written."""
    here = Path(path)
    if not here.is_file() or here.suffix not in (".csv", ".tsv", ".jsonl"):
        return False
    with here.open("rb") as stream:
        stream.seek(max(0, here.stat().st_size - 1))
        ends = stream.read(1) in (b"\n", b"")
    return not ends and time.time() - here.stat().st_mtime < SETTLED
