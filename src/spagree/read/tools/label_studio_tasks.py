"""Label Studio's tasks as most exports hold them, column by column: only the fields needed are decoded.

Whatever has another form is left to the reader of any task, in label_studio.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, pairwise, repeat
from typing import Annotated, Any

import msgspec
from msgspec.structs import astuple

from spagree.read.files.json import FAST, PARTS, SOME, Several, Written
from spagree.read.tools.answers import Record, cell, item_text
from spagree.read.tools.label_studio_results import AFTER_ALL, TEXTS, Aliases, Seen, answers, person
from spagree.read.tools.tool import NO_FIELDS, ReaderOptions, Response, Responses, Value

MOST_SHARED = 10_000  # distinct results, each understood once

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


class Usual(Several):
    """Usual tasks, of which only the last may have drafts, and their fields except lists.

    The fields are empty unless they may hold addresses, clusters or groups.
    """

    objects: list[_Task]
    fields: list[Record]


TASKS = msgspec.json.Decoder(list[_Task], float_hook=Written)
OUTER = msgspec.json.Decoder(list[dict[str, msgspec.Raw]])


def decoder(options: ReaderOptions) -> Callable[[bytes], list[Any]]:
    """The decoder for an array of tasks: it skips fields nobody needs and takes a third of the time on usual tasks."""
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
        alone = (b"[" + bytes(part) + b"]" for part in parts)
        return _joined(each for part in alone for each in _decoded(part, needs_fields=needs_fields))
    may_link = b"/" in content and b"http" in content  # the first test is fast and rarely true
    fields = [*map(_fields, OUTER.decode(content))] if needs_fields or may_link else [NO_FIELDS] * len(tasks)
    ends = sorted({0, *(place for place, task in enumerate(tasks, 1) if task.drafts), len(tasks)})
    return [Usual(tasks[start:end], fields[start:end]) for start, end in pairwise(ends)]


def _joined(parts: Iterable[Any]) -> list[Any]:
    """Merge runs of usual tasks into as few batches as possible."""
    joined: list[Any] = []
    for part in parts:
        last = joined[-1] if joined else None
        if isinstance(part, Usual) and isinstance(last, Usual) and not last.objects[-1].drafts:
            last.objects += part.objects
            last.fields += part.fields
        else:
            joined.append(part)
    return joined


def _fields(task: dict[str, msgspec.Raw]) -> Record:
    parts = ((name, bytes(value)) for name, value in task.items())
    return {name: FAST.decode(value) for name, value in parts if not value.startswith(b"[")}


def _repeated(cells: Iterable[Any], sizes: Iterable[int]) -> list[Any]:
    """Repeat each cell as often as its size says."""
    return [*chain.from_iterable(map(repeat, cells, sizes))]


class UsualTasks:
    """The annotations of usual tasks, by column."""

    def __init__(self, options: ReaderOptions, named: Aliases, seen: Seen) -> None:
        self.options, self.named, self.seen = options, named, seen
        self.shared: dict[Key, dict[str, Value]] = {}

    def responses(self, place: str, number: int, usual: Usual) -> Iterator[Response | Responses]:
        """The annotations of some tasks, and the drafts of the last; place and number are those of the first."""
        start, tasks = place.removesuffix(str(number)), usual.objects
        places = [f"{start}{each}" for each in range(number, number + len(tasks))]
        item = self.options.item
        items = [
            cell(task.data, item, place) if item else str(task.id) for place, task in zip(places, tasks, strict=True)
        ]
        texts = [item_text(task.data, self.options, place, *TEXTS) for place, task in zip(places, tasks, strict=True)]
        sizes = [len(task.annotations) for task in tasks]
        if any(sizes):
            repeated = partial(_repeated, sizes=sizes)
            annotations = map(astuple, chain.from_iterable([task.annotations for task in tasks]))
            numbers, people, times, results, changed, cancelled, golds = zip(*annotations, strict=True)
            names = {by: str(by) for by in {*people}}
            self.seen.edited += sum([who not in (None, by) for who, by in zip(changed, people, strict=True)])
            yield Responses(
                repeated(items),
                [names[by] for by in people],
                self._answers(repeated(places), results),
                times,
                ["cancelled" if each else "submitted" for each in cancelled],
                golds,
                numbers,
                repeated(texts),
                [not each for each in cancelled],
                repeated(usual.fields),
            )
        for draft in tasks[-1].drafts or ():
            labels, who = self._answers(places[-1:], [draft.result])[0], person(draft.user, self.options)
            fields = usual.fields[-1]
            yield Response(items[-1], who, labels, None, "draft", row=AFTER_ALL, text=texts[-1], fields=fields)

    def _answers(self, places: Sequence[str], results: Sequence[list[_Result]]) -> list[dict[str, Value]]:
        """The answers of annotations; equal results are understood once."""
        keys: list[Key] = [
            (result[0].from_name, bytes(result[0].value))
            if len(result) == 1
            else tuple([each for part in result for each in (part.from_name, bytes(part.value))])
            for result in results
        ]
        earlier = map(self.shared.get, keys)
        return [
            self._understood(place, key) if labels is None else labels
            for labels, place, key in zip(earlier, places, keys, strict=True)
        ]

    def _understood(self, place: str, key: Key) -> dict[str, Value]:
        parts = zip(key[::2], key[1::2], strict=True)
        result = [{"from_name": control, "value": FAST.decode(value)} for control, value in parts]
        seen = self.seen
        before = seen.regions, seen.repeated
        labels = answers(place, result, self.named, seen)[""]
        if before == (seen.regions, seen.repeated) and len(self.shared) < MOST_SHARED:  # nothing to count again
            self.shared[key] = labels
        return labels
