"""The same annotations as a plain table and as two tools export them, for benchmarks/core.py."""

from __future__ import annotations

import csv
import json
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

CLASSES, PEOPLE, PER_TASK = ("Positive", "Negative", "Neutral"), 60, 3
STARTED = datetime(2026, 10, 1, tzinfo=UTC)
TURK = [
    "HITId",
    "HITTypeId",
    "Title",
    "Description",
    "Keywords",
    "Reward",
    "CreationTime",
    "MaxAssignments",
    "RequesterAnnotation",
    "AssignmentDurationInSeconds",
    "AutoApprovalDelayInSeconds",
    "Expiration",
    "NumberOfSimilarHITs",
    "LifetimeInSeconds",
    "AssignmentId",
    "WorkerId",
    "AssignmentStatus",
    "AcceptTime",
    "SubmitTime",
    "AutoApprovalTime",
    "ApprovalTime",
    "RejectionTime",
    "RequesterFeedback",
    "WorkTimeInSeconds",
    "LifetimeApprovalRate",
    "Last30DaysApprovalRate",
    "Last7DaysApprovalRate",
    "Input.text",
    "Answer.sentiment",
    "Approve",
    "Reject",
]

Annotation = tuple[int, str, datetime]  # who, class, when


def make_exports(annotations: int, folder: Path) -> dict[str, Path]:
    """A plain CSV, Label Studio's JSON and Mechanical Turk's CSV."""
    draw = random.Random(1)
    tasks = [_annotated(draw) for _ in range(annotations // PER_TASK)]
    paths = {"plain CSV": folder / "plain.csv", "Label Studio": folder / "studio.json", "MTurk": folder / "turk.csv"}
    with paths["plain CSV"].open("w", newline="") as stream:
        rows = (
            [task, who, label, when.isoformat()]
            for task, annotated in enumerate(tasks, 1)
            for who, label, when in annotated
        )
        csv.writer(stream).writerows([["item", "annotator", "label", "time"], *rows])
    with paths["Label Studio"].open("w") as stream:
        stream.write(
            "[" + ",\n".join(json.dumps(_task(number, annotated)) for number, annotated in enumerate(tasks, 1)) + "]"
        )
    with paths["MTurk"].open("w", newline="") as stream:
        turk = (_assignment(number, each) for number, annotated in enumerate(tasks, 1) for each in annotated)
        csv.writer(stream, quoting=csv.QUOTE_ALL).writerows([TURK, *turk])
    return paths


def _annotated(draw: random.Random) -> list[Annotation]:
    truth = draw.choice(CLASSES)
    return [
        (who, truth if draw.random() < 0.8 else draw.choice(CLASSES), STARTED + timedelta(seconds=draw.random() * 2e6))
        for who in draw.sample(range(1, PEOPLE), PER_TASK)
    ]


def _text(number: int) -> str:
    return f"Review number {number}: the food was fine and the staff friendly enough."


def _task(number: int, annotated: list[Annotation]) -> dict[str, Any]:
    annotations = [_annotation(PER_TASK * number + place, number, *each) for place, each in enumerate(annotated)]
    return {
        "id": number, "annotations": annotations, "file_upload": "reviews.csv", "drafts": [], "predictions": [],
        "data": {"text": _text(number)}, "meta": {}, "created_at": "2026-10-01T06:00:00Z",
        "updated_at": "2026-10-01T06:00:00Z", "allow_skip": True, "inner_id": number, "total_annotations": PER_TASK,
        "cancelled_annotations": 0, "total_predictions": 0, "comment_count": 0, "unresolved_comment_count": 0,
        "last_comment_updated_at": None, "project": 1, "updated_by": 1, "comment_authors": [],
    }  # fmt: skip


def _annotation(number: int, task: int, who: int, label: str, when: datetime) -> dict[str, Any]:
    result = {"value": {"choices": [label]}, "id": f"{number:010x}", "from_name": "sentiment", "to_name": "text",
              "type": "choices", "origin": "manual"}  # fmt: skip
    return {
        "id": number, "completed_by": who, "result": [result], "was_cancelled": False, "ground_truth": False,
        "created_at": f"{when:%Y-%m-%dT%H:%M:%S.%f}Z", "updated_at": "2026-10-25T06:00:00.000000Z",
        "draft_created_at": None, "lead_time": 12.345, "prediction": {}, "result_count": 1,
        "unique_id": f"0d4cbd3d-7a8f-4f6c-9d6a-{number:012d}", "import_id": None, "last_action": None,
        "bulk_created": False, "task": task, "project": 1, "updated_by": who, "parent_prediction": None,
        "parent_annotation": None, "last_created_by": None,
    }  # fmt: skip


def _assignment(number: int, annotation: Annotation) -> list[str]:
    who, label, when = annotation
    at = f"{when:%a %b %d %H:%M:%S} PST {when:%Y}"
    return [
        f"3WGZLY9VCHML5OJMYGAD{number:010d}", "3EETFKUFDZ6EPMMCQZDLMIKBY6WF6K", "Is this positive?",
        "Read the review and judge the mood.", "text, classification", "$0.01", at, "3",
        "BatchId:3537650;OriginalHitTemplateId:928390875;", "3600", "259200", at, "", "",
        f"3TPWUS5F891OCH6JMP{number:09d}{who:03d}", f"A1ZW8SS{who:07d}", "Approved", at, at, at, at, "", "", "7",
        "0% (0/0)", "0% (0/0)", "0% (0/0)", _text(number), label, "", "",
    ]  # fmt: skip
