"""SageMaker Ground Truth and A2I: the answers of single workers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from exports import ITEMS, PEOPLE, SPA, Write, rows

import spagree
from spagree.read import read


def answers(*given: tuple[str, Any]) -> str:
    metadata = {"identityData": {"identityProviderType": "Cognito", "issuer": "https://x", "sub": "s-1"}}
    found = [{"acceptanceTime": "2020-01-01T00:00:00.000Z", "answerContent": content, "submissionTime": f"2020-01-01T00:00:0{i}.000Z",
              "timeSpentInSeconds": 3.2, "workerId": worker, "workerMetadata": metadata} for i, (worker, content) in enumerate(given)]  # fmt: skip
    return json.dumps({"answers": found})


def tree(write: Write) -> Path:
    inside = "out/annotations/worker-response/iteration-1"
    write(
        f"{inside}/0/2020-01-01_00:00:00.json",
        answers(("w1", {"mood": {"label": "good"}}), ("w2", {"mood": {"label": "bad"}})),
    )
    write(
        f"{inside}/1/2020-01-01_00:00:00.json",
        answers(("w1", {"mood": {"labels": ["a", "b"]}}), ("w3", {"mood": {"yes": True, "no": False}})),
    )
    write("out/manifests/output/output.json", "{}")
    return write(
        "out/manifests/output/output.manifest",
        json.dumps({"source": "x", "mood": "1", "mood-metadata": {"human-annotated": "yes"}}) + "\n",
    )


def test_ground_truth_reads_the_tree_of_worker_responses(write: Write, tmp_path: Path) -> None:
    tree(write)
    for folder in ("out", "out/annotations/worker-response", "out/annotations/worker-response/iteration-1"):
        found = read(tmp_path / folder)
        assert found.understood.format == "ground-truth"
        assert rows(found) == [("0", "w1", "good"), ("0", "w2", "bad"), ("1", "w1", '["a", "b"]'), ("1", "w3", "yes")]
        assert found.frame.collect()["time"].to_list()[:2] == [1577836800, 1577836801]
    files = sorted((tmp_path / "out/annotations").rglob("*.json"))
    assert rows(read(files)) == rows(found) and rows(read(files[0])) == rows(found)[:2]


def test_ground_truth_the_person_behind_a_worker(write: Write, tmp_path: Path) -> None:
    tree(write)
    assert {row[1] for row in rows(read(tmp_path / "out", annotator="sub"))} == {"s-1"}


def test_ground_truth_the_manifest_is_refused(write: Write) -> None:
    with pytest.raises(spagree.DataError, match=r"consolidated label .* give the folder annotations/worker-response"):
        read(tree(write))


def test_ground_truth_custom_jobs_keep_the_workers(write: Write) -> None:
    def worker(name: str, content: Any) -> dict[str, Any]:
        return {"workerId": name, "annotationData": {"content": content}}

    both = [worker("w1", json.dumps({"mood": {"label": "good"}})), worker("w2", json.dumps({"mood": {"label": "bad"}}))]
    lines = [
        {
            "source-ref": "s3://b/1",
            "job": {"annotationsFromAllWorkers": both},
            "job-metadata": {"human-annotated": "yes"},
        },
        {"datasetObjectId": "7", "annotationsFromAllWorkers": both},
        {"annotationsFromAllWorkers": both[:1]},
    ]
    found = read(write("m.manifest", "\n".join(map(json.dumps, lines))))
    assert [row[0] for row in rows(found)] == ["s3://b/1", "s3://b/1", "7", "7", "3"]
    plain = {"source": "x", "job": {"annotationsFromAllWorkers": [worker("w1", '"good"')]}}
    assert rows(read(write("p.manifest", json.dumps(plain)))) == [("x", "w1", "good")]
    broken = {"source": "x", "job": {"annotationsFromAllWorkers": [worker("w1", "{")]}}
    with pytest.raises(spagree.DataError, match="not JSON"):
        read(write("b.manifest", json.dumps(broken)))


def test_the_answers_of_a_human_loop(tmp_path: Path) -> None:
    for n, row in enumerate(ITEMS):
        answers = [
            {
                "answerContent": {"mood": {"label": label}},
                "workerId": who,
                "submissionTime": f"2024-01-0{n % 9 + 1}T00:00:00Z",
            }
            for who, label in zip(PEOPLE, row, strict=True)
            if label
        ]
        loop = {"flowDefinitionArn": "arn", "humanAnswers": answers, "humanLoopName": f"loop{n}"}
        (tmp_path / f"{n}.json").write_text(json.dumps({**loop, "inputContent": {"taskObject": f"text {n}"}}))
    found = spagree.measure(tmp_path, weights="flat")
    assert found.spa.value == pytest.approx(SPA) and found.data.annotators == len(PEOPLE)
