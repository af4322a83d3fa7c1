"""What tools post: taken as they mean it, refused in words, never half taken."""

from __future__ import annotations

import json
from contextlib import suppress
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given as drawn
from hypothesis import strategies as st
from serving import body, completion

from spagree.errors import DataError, SpagreeError
from spagree.monitor import hooks
from spagree.monitor.figures import look
from spagree.monitor.ledger import Ledger, Reported, gone

SAVED = Path(__file__).parents[3] / "shared" / "formats"
CONFIG = (
    '<View><Choices name="mood" toName="t"><Choice value="Good"/><Choice value="Neutral" alias="neu"/></Choices></View>'
)


def project(**more: Any) -> dict[str, Any]:
    return {"id": 1, "label_config": CONFIG, "parsed_label_config": {"mood": {}, "topic": {}}, "task_number": 6, **more}


def created(*args: Any, action: str = "ANNOTATION_CREATED", **answers: Any) -> bytes:
    return body({"action": action, "annotation": completion(*args, **answers), "project": project()})


def deleted(*ids: int) -> bytes:
    return body({"action": "ANNOTATIONS_DELETED", "annotations": [{"id": id} for id in ids], "project": project()})


def replay(*bodies: bytes) -> Ledger:
    ledger = Ledger()
    for number, each in enumerate(bodies):
        ledger.put(ledger.changes(hooks.label_studio(each), float(number)).values())
    return ledger


def rows(ledger: Ledger, question: str = "mood") -> list[tuple[str, str, str]]:
    if ("label-studio-1", question) not in ledger.questions():
        return []
    return sorted(ledger.columns("label-studio-1", question).frame().select("item", "annotator", "label").rows())


MINUTE = "1970-01-01T00:01:00Z"


@drawn(
    st.dictionaries(
        st.sampled_from(
            ["item", "annotator", "label", "project", "question", "id", "version", "time", "deleted", "more"]
        ),
        st.text(max_size=3)
        | st.integers(0, 9)
        | st.floats()
        | st.sampled_from([None, True, "x" * 201, "\0", 1e16, 5e9]),
    )
)
def test_the_fast_and_the_careful_parser_mean_the_same(record: dict[str, Any]) -> None:
    """A byte order mark leads to the careful one."""

    def outcome(body: bytes) -> Any:
        try:
            return hooks.posted(body)
        except DataError as error:
            return str(error)

    usual = {"item": "1", "annotator": "ann", "label": "yes"}
    for each in (record, usual | record):
        assert outcome(body([each])) == outcome(b"\xef\xbb\xbf" + body([each]))


@pytest.mark.parametrize(
    ("posted", "taken"),
    [
        (b'{"item": "1", "annotator": "ann", "label": "yes"}', ("1\x1fann", "1", "ann", "yes")),
        (b'{"item": 1e5, "annotator": 7, "label": 1.50}', ("1e5\x1f7", "1e5", "7", "1.50")),  # as it was written
        (body({"item": "1", "annotator": "a", "label": "x", "version": MINUTE, "time": 5}),
         ("1\x1fa", "1", "a", "x", 60.0, 5.0)),
        (b'{"id": "7", "deleted": true}', ("7", "", "", "", None, None, True)),
        (b'{"item": "1", "annotator": "a", "deleted": true}', ("1\x1fa", "1", "a", "", None, None, True)),
    ],
)  # fmt: skip
def test_an_annotation_is_what_was_written_and_a_deletion_needs_only_what_identifies_it(
    posted: bytes, taken: Any
) -> None:
    annotation = Reported("default", "label", "api", *taken)
    assert hooks.posted(posted) == [annotation]
    assert hooks.posted(b"[" + posted + b"," + posted + b"]") == [annotation] * 2
    assert hooks.posted(b"\xef\xbb\xbf" + posted) == [annotation]  # which only the careful parser reads
    assert hooks.posted(b"[]") == []


FINE = {"item": "1", "annotator": "a", "label": "x"}
WRONG = {
    "not JSON": b"{",
    "not UTF-8": b"\xff\xfe",
    "a number": b"3",
    "no label": body({"item": "1", "annotator": "a"}),
    "no item": body({"annotator": "a", "label": "x"}),
    "empty label": body({**FINE, "label": ""}),
    "unknown field": body({**FINE, "lable": "x"}),
    "a list as label": body({**FINE, "label": ["x"]}),
    "deleted is text": body({**FINE, "deleted": "yes"}),
    "a long label": body({**FINE, "label": "x" * 10_001}),
    "a long item": body({**FINE, "item": "1" * 1001}),
    "NUL": body({**FINE, "label": "x\0"}),
    "a separator of ours": body({**FINE, "item": "a\x1fb"}),
    "a label like marks": body({**FINE, "label": '\x1d[[9, 1, "x"]]'}),
    "an id like a part": body({**FINE, "id": "7\x1e1"}),
    "half a pair, raw": b'{"item": "1", "annotator": "a", "label": "\xed\xa0\x80"}',
    "half a pair": b'{"item": "1", "annotator": "a", "label": "\\ud800"}',
    "a version in words": body({**FINE, "version": "second"}),
    "a huge version": body({**FINE, "version": 1e16}),
    "a version that is no number": b'{"item": "1", "annotator": "a", "label": "x", "version": NaN}',
    "a time in words": body({**FINE, "time": "soon"}),
    "a list as time": body({**FINE, "time": [5]}),
    "a huge time": body({**FINE, "time": 1e300}),
    "a time before 1970": body({**FINE, "time": -1e17}),
    "a time in 9999": body({**FINE, "time": "9999-01-01T00:00:00Z"}),
    "deleted without anything": body({"deleted": True}),
    "nested deeply": b"[" * 100_000,
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_refused_in_words(wrong: bytes) -> None:
    with pytest.raises(DataError) as error:
        hooks.posted(wrong)
    assert len(str(error.value)) > 15 and "Traceback" not in str(error.value)


def test_one_wrong_annotation_is_named_and_too_many_at_once_are_refused() -> None:
    with pytest.raises(DataError, match="annotation 2: label is missing"):
        hooks.posted(body([FINE, {"item": "1", "annotator": "b"}]))
    with pytest.raises(DataError, match="at most 50,000"):
        hooks.posted(b"[" + b",".join([b"1"] * 50_001) + b"]")


NAMES = ["action", "annotation", "annotations", "tasks", "project", "id", "result", "value", "item", "label", "event"]
NAMES += ["data", "user_id", "instance_id", "annotator", "label_config", "timestamp", "task", "version"]
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False) | st.text(max_size=5) | st.just("ANNOTATION_CREATED"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=5),
)


@drawn(ANYTHING)
def test_any_json_is_taken_or_refused_never_worse(value: Any) -> None:
    for take in (hooks.posted, hooks.label_studio, hooks.potato):
        with suppress(SpagreeError):
            assert isinstance(take(body(value)), list)


def test_label_studio_creates_changes_and_deletes() -> None:
    ledger = replay(created(1, 10, 2, 1, mood="Good", topic=["b", "a"]), created(2, 10, 3, 2, mood="Good"))
    assert rows(ledger) == [("10", "2", "Good"), ("10", "3", "Good")]
    assert rows(ledger, "topic") == [("10", "2", '["a", "b"]')]
    changed = created(1, 10, 2, 3, action="ANNOTATION_UPDATED", mood="neu")
    ledger = replay(created(1, 10, 2, 1, mood="Good", topic="a"), changed)
    assert rows(ledger) == [("10", "2", "Neutral")]
    assert rows(ledger, "topic") == []  # the change took the answer back
    assert rows(replay(created(1, 10, 2, 1, mood="Good"), deleted(1))) == []
    assert rows(replay(deleted(1), created(1, 10, 2, 1, mood="Good"))) == []


@pytest.mark.parametrize(
    "wrong",
    [{"completed_by": None}, {"created_at": "soon"}, {"updated_at": "9999-01-01"}, {"id": "1\0"}, {"task": "\0"}],
)
def test_label_studio_sends_nothing_that_cannot_be(wrong: dict[str, str]) -> None:
    made = completion(1, 10, 2, 1, mood="Good") | wrong
    with pytest.raises(DataError):
        hooks.label_studio(body({"action": "ANNOTATION_CREATED", "annotation": made, "project": project()}))


def test_label_studio_deletes_tasks_and_skips() -> None:
    task_gone = body({"action": "TASKS_DELETED", "tasks": [{"id": 10}], "project": project()})
    assert hooks.label_studio(task_gone) == [gone("label-studio-1", "label-studio", item="10")]
    both = created(1, 10, 2, 1, mood="Good"), created(2, 11, 2, 1, mood="Good")
    assert rows(replay(*both, task_gone)) == [("11", "2", "Good")]
    skipped = completion(1, 10, 2, 5, mood="Good") | {"was_cancelled": True}
    skip = body({"action": "ANNOTATION_UPDATED", "annotation": skipped, "project": project()})
    assert rows(replay(created(1, 10, 2, 1, mood="Good"), skip)) == []
    assert rows(replay(skip, created(1, 10, 2, 1, mood="Good"))) == []


def test_label_studio_sends_many_at_once_and_other_things() -> None:
    two = [completion(1, 10, 2, 1, mood="Good"), completion(2, 10, 3, 1, mood="Good")]
    many = {"action": "ANNOTATIONS_CREATED", "annotation": two, "project": project()}
    assert len(rows(replay(body(many)))) == 2
    assert hooks.label_studio(body({"action": "PROJECT_UPDATED", "project": project()})) == []
    assert hooks.label_studio(body({"action": "ANNOTATION_CREATED"})) == []  # sent without payload
    assert hooks.expected_items(project()) == {"label-studio-1": 6}
    assert hooks.expected_items("?") == {}
    assert hooks.expected_items(hooks.decoded(b'{"id": 1, "task_number": ' + b"9" * 5000 + b"}")) == {}
    with pytest.raises(DataError, match="send_payload"):
        hooks.label_studio(body({"action": "ANNOTATION_CREATED", "annotation": [1], "project": project()}))
    with pytest.raises(DataError, match="webhooks send it"):
        hooks.label_studio(b"[]")


def test_label_studio_events_in_any_order_end_in_one_state() -> None:
    events = [
        created(1, 10, 2, 1, mood="Good"),
        created(1, 10, 2, 2, action="ANNOTATION_UPDATED", mood="neu"),
        created(2, 10, 3, 1, mood="Good"),
        created(3, 11, 2, 1, mood="Good"),
        deleted(3),
    ]
    expected = [("10", "2", "Neutral"), ("10", "3", "Good")]
    assert rows(replay(*events)) == rows(replay(*events[::-1])) == rows(replay(*events, *events)) == expected


SAID = {"mood": "good", "mood:good": "good", "topics": "b", "topics:a": "a", "topics:b": "b", "note": "7"}
POTATO = {
    "event": "annotation.created",
    "timestamp": "2026-01-01T00:00:05Z",
    "data": {"user_id": "ann", "instance_id": "1", "annotations": SAID},
}


def of_list(id: int, updated: int, *choices: str | None, is_skipped: bool = False) -> bytes:
    """An annotation of task 9, whose data is a list; None where an item has no answer."""
    result = [
        {"from_name": "mood", "type": "choices", "item_index": place, "value": {"choices": [choice]}}
        for place, choice in enumerate(choices)
        if choice is not None
    ]
    record = completion(id, 9, id, updated) | {"result": result, "was_cancelled": is_skipped}
    return body({"action": "ANNOTATION_UPDATED", "annotation": record, "project": project()})


GONE_TASK = body({"action": "TASKS_DELETED", "tasks": [{"id": 9}], "project": project()})


@pytest.mark.parametrize(
    ("last", "expected"),
    [
        (of_list(8, 3, "Good", "Good"), {("9 0", "8"): "Good", ("9 1", "8"): "Good"}),
        (of_list(8, 3, None, None, is_skipped=True), {}),
        (deleted(8), {}),
        (GONE_TASK, None),
    ],
)
def test_answers_about_a_list_go_and_change_with_their_annotation(
    last: bytes, expected: dict[tuple[str, str], str] | None
) -> None:
    """Whatever the order and however often; an answer that a later report lacks was taken back."""
    events = [of_list(8, 1, "Good", "Neutral", "Good"), of_list(8, 2, "Neutral"), of_list(7, 1, "Good"), last]
    others = {("9 0", "7"): "Good"}
    for order in permutations(events):
        singly, together = replay(*order, order[0]), Ledger()
        together.put([*together.changes([each for one in order for each in hooks.label_studio(one)], 1.0).values()])
        for ledger in (singly, together):
            found = ledger.columns("label-studio-1", "mood").frame().rows()
            assert {(item, who): label for item, who, label, _ in found} == (
                {} if expected is None else others | expected
            )


def test_potato_sends_the_last_state_of_an_item() -> None:
    found = {each.question: each for each in hooks.potato(body(POTATO)) if isinstance(each, Reported)}
    assert {name: each.label for name, each in found.items()} == {"mood": "good", "topics": '["a", "b"]', "note": "7"}
    assert found["mood"].version == found["mood"].time == 1767225605.0
    assert hooks.potato(body({**POTATO, "event": "task.completed"})) == []


@pytest.mark.parametrize(
    "data",
    [None, {}, {"user_id": "a", "instance_id": "1"}, {"user_id": "a", "annotations": {}},
     {"user_id": "a", "instance_id": "1", "annotations": {"": "x", "mood": "good"}}],
)  # fmt: skip
def test_what_potato_never_sends_is_refused(data: Any) -> None:
    with pytest.raises(DataError):
        hooks.potato(body({**POTATO, "data": data}))


@pytest.mark.skipif(not SAVED.exists(), reason="saved webhooks of real projects are not on this machine")
def test_a_saved_project_of_label_studio_gives_what_its_database_gave() -> None:
    folder = SAVED / "label-studio/webhooks"
    payloads = [json.loads(path.read_text())["body"] for path in sorted(folder.glob("*.json"))]
    assert len(payloads) == 27
    ledger = replay(*map(body, payloads))
    live = look("label-studio-1", "sentiment", ledger.columns("label-studio-1", "sentiment"))
    assert live.agreement is not None
    assert live.agreement.data.annotations == 11
    assert live.agreement.schemes["flat"].value == pytest.approx(0.6667, abs=5e-5)


@pytest.mark.skipif(not SAVED.exists(), reason="saved webhooks of real projects are not on this machine")
def test_a_saved_project_of_potato_gives_its_own_alpha() -> None:
    ledger = Ledger()
    for path in sorted((SAVED / "potato/webhooks").glob("*.raw")):
        ledger.put(ledger.changes(hooks.potato(path.read_bytes()), 0.0).values())
    theirs = json.loads((SAVED / "potato/admin_api_agreement.json").read_text())["by_schema"]["sentiment"]
    live = look("potato", "sentiment", ledger.columns("potato", "sentiment"))
    assert live.agreement is not None
    assert live.agreement.data.annotations == theirs["total_annotations"]
    assert live.agreement.chance["krippendorff_alpha"].value == pytest.approx(theirs["krippendorff_alpha"], abs=5e-5)
