"""A file, folder or database that grows: read whole whenever it changes, and compared with what is known.

Anything `spagree score` reads can be followed: a CSV or JSON lines file that grows, an export that is replaced
repeatedly, potato's folder, Label Studio's database. This also corrects what a tool's webhooks missed.
"""

from __future__ import annotations

import threading
import time
from pathlib import Path

from watchfiles import watch

from spagree.errors import SpagreeError
from spagree.monitor.events import Given, Listing
from spagree.monitor.hooks import APART, LABEL_STUDIO, POTATO
from spagree.monitor.hub import Hub
from spagree.monitor.writer import BusyError, StoreError
from spagree.read import read_all
from spagree.read.annotations import ANNOTATOR, ITEM, LABEL, TIME, Annotations
from spagree.read.databases.addresses import is_server, public
from spagree.tally.engines import to_polars

EVERY = 10.0  # seconds, even if no change was noticed
SETTLED = 0.5  # seconds without a change, if a file does not end with a newline
HOOKED = (LABEL_STUDIO, POTATO)  # tools whose webhooks are corrected: their annotations have the same source


def listing(path: str, project: str | None = None) -> Listing:
    """Everything the source holds now."""
    as_of = time.time()
    found = read_all(path)
    formats = {each.understood.format for each in found.values()}
    tool = next((name for name in HOOKED if name in formats), None)
    name = public(path) if is_server(path) else Path(path).name
    source = tool or f"file {name}"
    belongs = project or tool or Path(name).stem
    annotations = [given for question, each in found.items() for given in _given(each, belongs, question, source)]
    return Listing(belongs, source, annotations, as_of)


def _given(annotations: Annotations, project: str, question: str, source: str) -> list[Given]:
    frame = to_polars(annotations.frame)
    if ANNOTATOR not in frame.columns:
        raise SpagreeError("the annotators are unknown; a monitor needs the annotator of each annotation")
    kept = frame.drop_nulls([ITEM, ANNOTATOR, LABEL])
    times = kept[TIME].to_list() if TIME in kept.columns and kept[TIME].dtype.is_numeric() else [None] * kept.height
    rows = zip(*(map(str, kept[name].to_list()) for name in (ITEM, ANNOTATOR, LABEL)), times, strict=True)
    return [
        Given(project, question, source, item + APART + who, item, who, label, None, None if at is None else float(at))
        for item, who, label, at in rows
    ]


class Follower:
    """A thread that reads a source when it changes, and every few seconds anyway."""

    def __init__(self, hub: Hub, path: str, project: str | None = None) -> None:
        self._hub, self._path, self._project = hub, path, project
        self._stop = threading.Event()
        self._seen: object = None
        self._thread = threading.Thread(target=self._run, name="following", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop following."""
        self._stop.set()
        self._thread.join(5)

    def _run(self) -> None:
        self.look()
        if is_server(self._path):
            while not self._stop.wait(EVERY):
                self.look()
            return
        folder = Path(self._path) if Path(self._path).is_dir() else Path(self._path).absolute().parent
        for _ in watch(folder, stop_event=self._stop, yield_on_timeout=True, rust_timeout=1000, watch_filter=None):
            self.look()

    def look(self) -> None:
        """Compare, if anything changed."""
        state = _state(self._path)
        if state is not None and (state == self._seen or _is_unfinished(self._path)):
            return
        name = f"file {Path(self._path).name}"
        try:
            self._hub.reconcile(listing(self._path, self._project))
        except (SpagreeError, OSError, StoreError, BusyError) as error:
            self._hub.failed(name, f"cannot be read: {str(error).splitlines()[0]}")
            return
        self._hub.worked(name)
        self._seen = state


def _state(path: str) -> object:
    """Sizes and times of the files, which show a change; None if they cannot be read."""
    if is_server(path):
        return None
    here = Path(path)
    files = sorted(each for each in here.rglob("*") if each.is_file()) if here.is_dir() else [here]
    try:
        return tuple((str(each), each.stat().st_size, each.stat().st_mtime_ns) for each in files)
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
