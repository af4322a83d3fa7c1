"""Whole projects as people have them: parts, several files, pipes, merged tallies, and what the summary tells."""

from __future__ import annotations

import gzip
import io
import json
import locale
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import test_crowds
import test_doccano
import test_label_studio as studio
import test_prodigy
from exports import Write

import spagree
from command import Run
from oracle import over_items
from spagree.read import read, timestamps


@pytest.fixture
def tasks(tmp_path: Path) -> Path:
    return studio.json_export(tmp_path)


def test_an_export_can_be_piped_and_compressed(tasks: Path, tmp_path: Path) -> None:
    options: dict[str, Any] = {"question": "mood", "duplicates": "last"}
    wanted = spagree.measure(tasks, **options).spa
    packed = tmp_path / "export.json.gz"
    packed.write_bytes(gzip.compress(tasks.read_bytes()))
    assert spagree.measure(packed, **options).spa == wanted
    assert spagree.measure(io.BytesIO(tasks.read_bytes()), **options).spa == wanted
    command = [sys.executable, "-m", "spagree", "score", "-", "--question", "mood", "--duplicates", "last", "--json"]
    done = subprocess.run(command, input=tasks.read_bytes(), capture_output=True, check=False)
    assert done.returncode == 0 and json.loads(done.stdout)["spa"]["value"] == wanted.value


def test_parts_of_an_export_are_read_together_or_merged(tmp_path: Path) -> None:
    found = studio.tasks()
    parts = []
    for number, part in enumerate((found[:2], found[2:])):
        parts.append(tmp_path / f"part{number}.json")
        parts[-1].write_text(json.dumps(part))
    options: dict[str, Any] = {"question": "mood", "duplicates": "last"}
    whole = spagree.measure(studio.json_export(tmp_path), **options)
    assert spagree.measure(parts, **options).spa == whole.spa
    assert spagree.measure(str(tmp_path / "part*.json"), **options).data.left_out == whole.data.left_out
    merged = spagree.measure(sum(spagree.tally(part, **options) for part in parts))
    assert over_items(merged.findings).spa == over_items(whole.findings).spa
    assert merged.data.left_out == whole.data.left_out


def test_files_of_two_tools_are_not_mixed(tmp_path: Path, tasks: Path) -> None:
    other = tmp_path / "p.jsonl"
    other.write_text(json.dumps(test_prodigy.task(1, "accept", "ann", 1)))
    with pytest.raises(spagree.SpagreeError):
        read([other, tasks])


def test_the_first_two_in_time_wherever_they_stand_in_the_file(write: Write) -> None:
    """The third annotator was asked because the first two differed; the file lists the newest first."""
    rows = ["h1,w3,Approved,Wed Jan 24 09:00:03 PST 2018,a", "h1,w2,Approved,Wed Jan 24 09:00:02 PST 2018,b", "h1,w1,Approved,Wed Jan 24 17:00:01 GMT 2018,a",
            "h2,w2,Approved,Wed Jan 24 09:00:02 PST 2018,a", "h2,w1,Approved,Wed Jan 24 09:00:01 PST 2018,a"]  # fmt: skip
    path = write("b.csv", "HITId,WorkerId,AssignmentStatus,SubmitTime,Answer.q\n" + "\n".join(rows) + "\n")
    agreement = spagree.measure(path, first=2, weights="flat")
    assert agreement.spa.value == 0.5 and agreement.data.left_out == {"after_first_2": 1}


def test_times_do_not_depend_on_the_language_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("de_DE.UTF-8", "fr_FR.UTF-8", "C"):
        try:
            locale.setlocale(locale.LC_TIME, name)
        except locale.Error:
            continue
        assert timestamps.mturk("Sat Dec 01 00:00:00 UTC 1970") == 334 * 86400
    locale.setlocale(locale.LC_TIME, "C")


def test_without_times_the_first_two_cannot_be_told(tmp_path: Path) -> None:
    path = test_doccano.archive(tmp_path, **test_doccano.DOCCANO["jsonl"])
    with pytest.raises(spagree.UsageError, match="first=2 needs the time of each annotation"):
        spagree.measure(path, first=2)


def test_left_out_is_told_in_full_and_in_json(write: Write, run: Run) -> None:
    path = write("t.tsv", test_crowds.API)
    text = " ".join(run("score", path, "--ground-truth", "drop")[1].split())
    for line in (
        "1 annotation: rejected",
        "1 annotation: skipped",
        "1 annotation: expired",
        "1 annotation: not submitted",
        "1 annotation: ground truth",
    ):
        assert line in text
    found = json.loads(run("score", path, "--json")[1])["data"]["left_out"]
    assert found == {"rejected": 1, "skipped": 1, "expired": 1, "pending": 1}


EXITS = [
    (("--question", "nope"), 2, "unknown question 'nope'"),
    (("--multi", "nope"), 2, "unknown value of --multi"),
    (("--status", "nope"), 2, "unknown status 'nope'"),
    (("--format", "nope"), 2, "unknown format 'nope'"),
    (("--label", "x", "--format", "label-studio"), 2, "--label does not apply"),
    ((), 3, "2 questions"),
    (("--config", "nowhere.xml", "--question", "mood"), 4, "--config nowhere.xml: cannot be read"),
    (("--question", "mood"), 3, "an annotator gave one item different labels"),
]


@pytest.mark.parametrize(("options", "code", "message"), EXITS)
def test_exit_codes(options: tuple[str, ...], code: int, message: str, tasks: Path, run: Run) -> None:
    found, _, said = run("score", tasks, *options)
    assert found == code and message in said and "Traceback" not in said


def test_what_was_understood_names_the_fields_of_the_tool(tasks: Path) -> None:
    understood = spagree.measure(tasks, question="mood", duplicates="last", item="my_id").understood
    assert understood is not None
    assert dict(understood.columns) == {
        "item": "my_id",
        "annotator": "completed_by",
        "label": "mood",
        "time": "created_at",
    }
    assert understood.examples[0] == ("r1", "2", "Good") and understood.guessed == frozenset()
    assert understood.rules[0] == "other questions: topics"


def test_names_of_questions_cannot_move_the_cursor(tmp_path: Path, run: Run) -> None:
    path = tmp_path / "e.json"
    results = [studio.chosen("\x1b[31mred", "a"), studio.chosen("b", "a")]
    path.write_text(
        json.dumps([{"id": 1, "data": {}, "annotations": [studio.annotation(n, n, results) for n in (2, 3)]}])
    )
    code, shown, _ = run("score", path, "--all-questions")
    assert code == 0 and "\x1b" not in shown
    assert "\x1b" not in run("score", path)[2]
