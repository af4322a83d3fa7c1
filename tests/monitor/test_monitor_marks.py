"""Marks in the monitor: from webhooks and files to agreement on spans, and what is not watched."""

from __future__ import annotations

import json
import shutil
from itertools import permutations
from pathlib import Path
from typing import Any

import httpx
import pytest
from serving import body, given, running

import spagree
from spagree.errors import DataError
from spagree.monitor import hooks
from spagree.monitor.feeds import listing
from spagree.monitor.figures import look
from spagree.monitor.hub import Hub
from spagree.monitor.ledger import Ledger, Reported, as_label, places_in

SPANS = Path(__file__).parents[3] / "shared" / "formats" / "spans"
real = pytest.mark.skipif(not SPANS.exists(), reason="real exports of spans are not on this machine")
TEXT = "😊 Ann met Bob in Delft"
CONTROLS = {"entity": {"type": "Labels"}, "mood": {"type": "Choices"}, "box": {"type": "RectangleLabels"}}
PROJECT = {"id": 3, "label_config": "", "parsed_label_config": CONTROLS, "task_number": 2}
QUESTION = {"project": "label-studio-3", "question": "entity"}
ANN, BOB, DELFT = (2, 5, "PER"), (10, 13, "PER"), (17, 22, "LOC")


def region(start: int, end: int, label: str, text: str | None = None) -> dict[str, Any]:
    value = {"start": start, "end": end, "labels": [label], "text": TEXT[start:end] if text is None else text}
    return {"from_name": "entity", "to_name": "text", "type": "labels", "value": value}


def sent(id: int, task: int, who: int, *regions: dict[str, Any], at: int = 0, **more: Any) -> dict[str, Any]:
    annotation = {"id": id, "task": task, "completed_by": who, "result": list(regions), "was_cancelled": False}
    annotation |= {"created_at": "2026-01-01T00:00:00Z", "updated_at": f"2026-01-01T00:00:{at:02d}Z", **more}
    action = "ANNOTATION_UPDATED" if at else "ANNOTATION_CREATED"
    shown = {"id": task, "data": {"text": TEXT}}
    return {"action": action, "annotation": annotation, "project": PROJECT, "task": shown}


def gone(*ids: int) -> dict[str, Any]:
    return {"action": "ANNOTATIONS_DELETED", "annotations": [{"id": id} for id in ids], "project": PROJECT}


WORK = [
    sent(1, 7, 1, region(*ANN), region(*BOB), region(*DELFT)),
    sent(2, 7, 2, region(*ANN)),
    sent(2, 7, 2, region(*ANN), region(10, 22, "LOC"), at=9),
    sent(3, 7, 3),
    sent(4, 8, 1, region(*ANN)),
    sent(5, 8, 2, region(*ANN), was_cancelled=True),
    sent(6, 8, 3, region(*ANN)),
    sent(9, 8, 4, region(*BOB)),
    gone(9),
]
ROWS = [("7", "1", *ANN), ("7", "1", *BOB), ("7", "1", *DELFT), ("7", "2", *ANN), ("7", "2", 10, 22, "LOC")]
ROWS += [("8", "1", *ANN), ("8", "3", *ANN)]
SEEN = [("7", "1"), ("7", "2"), ("7", "3"), ("8", "1"), ("8", "3")]


def test_webhooks_of_label_studio_become_agreement_on_spans(tmp_path: Path) -> None:
    expected = spagree.measure_spans(ROWS, SEEN)
    with running(tmp_path / "s.sqlite", target=0.8) as monitor:
        for each in WORK:
            assert monitor.client.post("/hooks/label-studio", content=body(each)).status_code == 200
        found = monitor.agreement(**QUESTION)
        assert found["spans"] == expected.to_dict()["spans"] and found["data"] == expected.to_dict()["data"]
        assert found["live"]["safe"]["value"] is None and "marks have no bounds" in found["live"]["safe"]["undefined"]
        page = monitor.client.get("/", params=QUESTION).text
        assert f"{float(expected.exact):.3f}" in page and "another marks exactly the same passage" in page
        assert "by character" in page and f"{float(expected.characters):.3f}" in page and "no target" in page
        report = monitor.client.get("/report", params=QUESTION)
        assert "default-src 'none'" in report.headers["content-security-policy"] and 'id="items"' in report.text
        rows = monitor.client.get("/api/v1/export", params=QUESTION).text.splitlines()
        assert rows[0] == "item,annotator,start,end,label,time" and len(rows) == 1 + len(ROWS) + 1
        (row,) = [row for row in monitor.client.get("/api/v1/projects").json()["questions"] if row["annotations"]]
        assert row["question"] == "entity" and row["value"] == expected.exact.value
        assert f'spagree_spa{{project="label-studio-3",question="entity"}} {expected.exact.value}' in (
            monitor.client.get("/metrics").text
        )


def test_events_in_any_order_end_in_the_same_marks() -> None:
    for order in permutations([WORK[1], WORK[2], WORK[7], WORK[8], WORK[3]]):
        ledger = Ledger()
        for number, each in enumerate(order):
            ledger.put(ledger.changes(hooks.label_studio(body(each)), float(number)).values())
        marks = ledger.columns("label-studio-3", "entity").marks()
        assert sorted(marks.drop_nulls("start").select("item", "annotator", "start", "end", "label").rows()) == [
            ("7", "2", 2.0, 5.0, "PER"), ("7", "2", 10.0, 22.0, "LOC")
        ]  # fmt: skip
        assert marks.filter(annotator="3")["start"].to_list() == [None]


def test_marks_that_cannot_be_are_refused_and_the_rest_of_a_listing_stays(tmp_path: Path) -> None:
    wrong = [
        region(5, 5, "PER"),
        region(2, 99, "PER", "Ann"),
        region(2, 5, "x" * 1_000_000),
        region(2, 5, "PER", "Eve"),
    ]
    mood = {"from_name": "mood", "type": "choices", "value": {"choices": ["good"]}}
    with running(tmp_path / "s.sqlite") as monitor:
        for each in wrong:
            answer: httpx.Response = monitor.client.post("/hooks/label-studio", content=body(sent(1, 7, 1, each)))
            assert answer.status_code == 422 and monitor.hub.questions() == []
        assert "another version of the text" in answer.text
    record = {**sent(1, 7, 1, mood, wrong[-1])["annotation"], "data": {"text": TEXT}}
    found = [each for each in hooks.completion(PROJECT, record) if isinstance(each, DataError) or not each.deleted]
    assert [type(each) is DataError or (each.question, each.label) for each in found] == [True, ("mood", "good")]


def test_offsets_in_other_units_become_characters() -> None:
    events = hooks.label_studio(body(sent(1, 7, 1, region(3, 6, "PER", "Ann"))))
    (event,) = [each for each in events if isinstance(each, Reported) and each.question == "entity"]
    assert places_in(event.label) == [ANN]


@real
@pytest.mark.parametrize("name", ["label_studio/ner.json", "potato"])
def test_files_that_are_followed_give_what_score_gives(hub: Hub, name: str, tmp_path: Path) -> None:
    source = SPANS / name
    if source.is_dir():
        shutil.copytree(source / "annotation_output", tmp_path / "annotation_output")
        source = tmp_path / "annotation_output"
    found, fault = listing(str(source), project="label-studio-9" if "ner" in name else None)
    assert not fault
    hub.reconcile(found)
    (question,) = [each for each in hub.questions() if hub.ledger.columns(*each).places]
    asked = {"duplicates": "last"} if "ner" in name else {}
    expected = spagree.measure_spans(source, **asked)
    live = look(*question, hub.ledger.columns(*question))
    assert isinstance(live.agreement, spagree.SpanAgreement)
    assert live.agreement.exact == expected.exact and live.agreement.characters == expected.characters
    again, _ = listing(str(source), project=question[0])
    hub.reconcile(again)
    assert hub.reconciled[found.source if "ner" not in name else question[0]].drift == 0


def test_classes_beside_marks_are_followed_and_need_not_be_there(hub: Hub, tmp_path: Path) -> None:
    def export(*values: Any) -> str:
        moods = [{"from_name": "mood", "type": "choices", "value": value} for value in values]
        made = [{"id": who, "completed_by": who, "result": [region(*ANN), mood]} for who, mood in enumerate(moods)]
        path = tmp_path / "export.json"
        path.write_text(json.dumps([{"id": 7, "data": {"text": TEXT}, "annotations": made}]))
        return str(path)

    found, _ = listing(export({"choices": ["good"]}, {"choices": ["bad"]}))
    hub.reconcile(found)
    assert sorted(question for _, question in hub.questions()) == ["entity", "mood"]
    (event,) = [each for each in listing(export({}, {}))[0].annotations if each.annotator == "0"]
    assert event.question == "entity"


def test_an_ordinary_label_that_looks_like_marks_stays_one(hub: Hub) -> None:
    """Nobody can send one, but the store may have it."""
    for label in ("\x1d[[1,2]]", "\x1d", "\x1dno", "\x1d[[1,2,3]]"):
        assert places_in(label) is None
        with pytest.raises(DataError, match="cannot be stored"):
            hooks.posted(body({"item": "i", "annotator": "ann", "label": label}))
        hub.take_now([given("i", label, label, project="default", question="label")])
    live = hub.live(("default", "label"), now=True)
    assert isinstance(live.agreement, spagree.Agreement) and live.agreement.data.classes == 4


def test_nothing_marked_yet_is_said(hub: Hub) -> None:
    hub.take_now(hooks.label_studio(body(sent(1, 7, 1))))
    live = hub.live(("label-studio-3", "entity"), now=True)
    assert live.headline is not None and live.headline.value is None
    assert as_label([]) == "\x1d[]"
