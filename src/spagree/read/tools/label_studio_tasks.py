"""Label Studio's tasks as most exports hold them, column by column: only the fields needed are decoded.

Whatever has another form is left to the reader of any task, in label_studio.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, repeat
from typing import Annotated, Any

import msgspec

from spagree.read.files.json_objects import FAST, PARTS, SOME
from spagree.read.files.json_text import Written
from spagree.read.tools.answers import Record, cell, item_text
from spagree.read.tools.label_studio_results import AFTER_ALL, TEXTS, Aliases, Seen, answers, person
from spagree.read.tools.tool import NO_FIELDS, ReaderOptions, Response, Responses, Value

TOGETHER = 100  # tasks that are added at once
MOST_SHARED = 10_000  # different results of which each is understood once

Key = tuple[Any, ...]  # a result: control, its value as written, the next control …
Filled = Annotated[str, msgspec.Meta(min_length=1)]


class _Result(msgspec.Struct, gc=False):
    value: msgspec.Raw
    from_name: Filled
    item_index: None = None


class _Annotation(msgspec.Struct, gc=False):
    id: int
    completed_by: int
    created_at: Filled
    result: list[_Result]
    updated_by: int | None = None
    was_cancelled: bool = False
    ground_truth: bool = False


class _Draft(msgspec.Struct, gc=False):
    result: list[_Result] = []
    user: Any = None


class _Task(msgspec.Struct, gc=False):
    id: int | str
    data: dict[str, Any]
    annotations: list[_Annotation]
    drafts: list[_Draft] | None = None


class Usual(msgspec.Struct, gc=False):
    """A usual task, and its fields except lists, if they may hold its address, cluster or group."""

    task: _Task
    fields: Record


TASKS = msgspec.json.Decoder(list[_Task], float_hook=Written)
OUTER = msgspec.json.Decoder(list[dict[str, msgspec.Raw]])


def decoder(options: ReaderOptions) -> Callable[[bytes], list[Any]]:
    """What reads an array of tasks: usual ones without the fields that are not needed, in a third of the time."""
    if options.where or options.time:  # they may name any field
        return SOME.decode
    return partial(_decoded, needs_fields=bool(options.cluster or options.by))


def _decoded(content: bytes, *, needs_fields: bool) -> list[Any]:
    content.decode()  # refuses bad bytes, also in the fields that are skipped
    try:
        tasks = TASKS.decode(content)
    except msgspec.DecodeError:
        parts = PARTS.decode(content)
        if len(parts) == 1:
            return SOME.decode(content)
        alone = [b"[" + bytes(part) + b"]" for part in parts]
        return [each for part in alone for each in _decoded(part, needs_fields=needs_fields)]
    may_link = b"/" in content and b"http" in content  # the first is quick, and rarely so
    found = map(_fields, OUTER.decode(content)) if needs_fields or may_link else repeat(NO_FIELDS)
    return [*map(Usual, tasks, found)]


def _fields(task: dict[str, msgspec.Raw]) -> Record:
    parts = ((name, bytes(value)) for name, value in task.items())
    return {name: FAST.decode(value) for name, value in parts if not value.startswith(b"[")}


def _repeated(cells: Iterable[Any], sizes: Iterable[int]) -> list[Any]:
    """Each cell as often as its size says."""
    return [*chain.from_iterable(map(repeat, cells, sizes))]


class UsualTasks:
    """Usual tasks, which are yielded together."""

    def __init__(self, options: ReaderOptions, named: Aliases, seen: Seen) -> None:
        self.options, self.named, self.seen = options, named, seen
        self.tasks: list[tuple[str, Usual]] = []
        self.shared: dict[Key, dict[str, Value]] = {}

    def add(self, place: str, usual: Usual) -> Iterable[Response | Responses]:
        """Add a task; yields those that wait when they are many, or when drafts must follow them."""
        self.tasks.append((place, usual))
        return self.waiting() if usual.task.drafts or len(self.tasks) == TOGETHER else ()

    def waiting(self) -> Iterator[Response | Responses]:
        """The annotations that wait, and the drafts of the last task."""
        tasks, self.tasks = self.tasks, []
        if not tasks:
            return
        places, usual = zip(*tasks, strict=True)
        items, texts = zip(*map(self._shown, places, usual), strict=True)
        found = [annotation for each in usual for annotation in each.task.annotations]
        if found:
            sizes = [len(each.task.annotations) for each in usual]
            repeated = partial(_repeated, sizes=sizes)
            names = {by: str(by) for by in {each.completed_by for each in found}}
            self.seen.edited += sum([each.updated_by not in (None, each.completed_by) for each in found])
            yield Responses(
                repeated(items),
                [names[each.completed_by] for each in found],
                self._answers(repeated(places), [each.result for each in found]),
                [each.created_at for each in found],
                ["cancelled" if each.was_cancelled else "submitted" for each in found],
                [each.ground_truth for each in found],
                [each.id for each in found],
                repeated(texts),
                [not each.was_cancelled for each in found],
                repeated([each.fields for each in usual]),
            )
        for draft in usual[-1].task.drafts or ():
            given, who = self._answers(places[-1:], [draft.result])[0], person(draft.user, self.options)
            yield Response(items[-1], who, given, None, "draft", row=AFTER_ALL, text=texts[-1], fields=usual[-1].fields)

    def _shown(self, place: str, usual: Usual) -> tuple[str, str | None]:
        """The item and its text."""
        data = usual.task.data
        item = cell(data, self.options.item, place) if self.options.item else str(usual.task.id)
        return item, item_text(data, self.options, place, *TEXTS)

    def _answers(self, places: Sequence[str], results: Sequence[list[_Result]]) -> list[dict[str, Value]]:
        """The answers of annotations; equal results are understood once."""
        keys: list[Key] = [
            (result[0].from_name, bytes(result[0].value))
            if len(result) == 1
            else tuple([each for part in result for each in (part.from_name, bytes(part.value))])
            for result in results
        ]
        known = [*map(self.shared.get, keys)]
        return [
            self._understood(place, key) if found is None else found
            for found, place, key in zip(known, places, keys, strict=True)
        ]

    def _understood(self, place: str, key: Key) -> dict[str, Value]:
        parts = zip(key[::2], key[1::2], strict=True)
        result = [{"from_name": control, "value": FAST.decode(value)} for control, value in parts]
        seen = self.seen
        before = seen.regions, seen.repeated
        found = answers(place, result, self.named, seen)[""]
        if before == (seen.regions, seen.repeated) and len(self.shared) < MOST_SHARED:  # nothing to count again
            self.shared[key] = found
        return found
