"""Everything that can be followed: plain files, tools' exports and databases, and how they meet webhooks."""

from __future__ import annotations

import json
import os
import shutil
from datetime import date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import polars
import pytest
from serving import body, completion, follow, given, labels, running, wait_for

from spagree.errors import DataError, SpagreeError
from spagree.monitor import feeds, hooks
from spagree.monitor.feeds import listing
from spagree.monitor.hub import Hub
from spagree.monitor.store import Store

ROWS = [("1", "ann", "yes"), ("1", "bob", "no"), ("2", "ann", "yes")]
EXPECTED = {(item, who): label for item, who, label in ROWS}


def write(path: Path) -> None:
    frame = polars.DataFrame(ROWS, schema=["item", "annotator", "label"], orient="row")
    if path.suffix == ".csv":
        frame.write_csv(path)
    elif path.suffix == ".tsv":
        frame.write_csv(path, separator="\t")
    elif path.suffix == ".jsonl":
        frame.write_ndjson(path)
    else:
        frame.write_parquet(path)


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl", ".parquet"])
def test_plain_files_of_every_kind(hub: Hub, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"batch{suffix}"
    write(path)
    hub.reconcile(listing(str(path))[0])
    assert labels(hub.ledger, "batch", "label") == EXPECTED
    assert hub.reconciled[f"file batch{suffix}"].drift == 0  # the first look is no drift


ZONE = timezone(timedelta(hours=2))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (datetime.fromisoformat("1970-01-01T00:01:40"), datetime.fromisoformat("1970-01-01T00:03:20")),
        (datetime(1970, 1, 1, 2, 1, 40, tzinfo=ZONE), datetime(1970, 1, 1, 2, 3, 20, tzinfo=ZONE)),
        (date(1970, 1, 2), date(1970, 1, 3)),
        (100, 200),
    ],
)
def test_dates_are_times_too(first: Any, second: Any, tmp_path: Path) -> None:
    """As Parquet files and databases hold them: not the moment at which the file was read."""
    path = tmp_path / "a.parquet"
    rows = {"item": [1, 1], "annotator": ["ann", "bob"], "label": ["x", "x"], "time": [first, second]}
    polars.DataFrame(rows).write_parquet(path)
    expected = [86_400.0, 172_800.0] if type(first) is date else [100.0, 200.0]
    assert [each.time for each in listing(str(path))[0].annotations] == expected


def test_the_latest_label_of_an_annotator_counts_wherever_it_is_written(hub: Hub, tmp_path: Path) -> None:
    """Label Studio's CSV, for example, lists the newest first."""
    path = tmp_path / "a.csv"
    rows = ["1,ann,yes,2026-01-01T12:00", "1,ann,no,2026-01-01T10:00", "1,bob,yes,2026-01-01T11:00", "2,ann,no,"]
    path.write_text("item,annotator,label,time\n" + "\n".join([*rows, "2,ann,yes,2026-01-01T09:00"]) + "\n")
    hub.reconcile(listing(str(path))[0])
    assert labels(hub.ledger, "a", "label") == {("1", "ann"): "yes", ("1", "bob"): "yes", ("2", "ann"): "yes"}


NO_TIME = {"item": list("112"), "annotator": list("aba"), "label": list("xyx")}


@pytest.mark.parametrize(
    ("rows", "kept", "said"),
    [
        *(
            (NO_TIME | {"time": ["2026-01-01T12:00", wrong, None]}, [None, 1767268800.0], "left out: 1 row ")
            for wrong in ("9999-12-31", "1e300", "-1e17", "-5")
        ),
        (NO_TIME | {"label": ["x", "y\0", "x"]}, [("1", "a", "x"), ("2", "a", "x")], "left out: 1 row "),
        ({"item": list("1122"), "annotator": ["a", None, "", "b"], "label": ["x", "y", "x", None]}, [("1", "a", "x")],
         "left out: 2 rows "),
    ],
)  # fmt: skip
def test_a_row_that_cannot_be_is_left_out_and_said(tmp_path: Path, rows: Any, kept: Any, said: str) -> None:
    """Its time, a NUL in a label, nobody or nothing it is about."""
    path = tmp_path / "a.parquet"
    polars.DataFrame(rows).write_parquet(path)
    found, fault = listing(str(path))
    assert [each.time if "time" in rows else each[4:7] for each in found.annotations] == kept and fault.startswith(said)


def test_two_files_of_one_name_do_not_undo_each_other(hub: Hub, tmp_path: Path) -> None:
    found = []
    for folder in "ab":
        (tmp_path / folder).mkdir()
        path = tmp_path / folder / "x.csv"
        path.write_text(f"item,annotator,label\n1,{folder},yes\n")
        found.append((listing(str(path))[0], str(path)))
    hub.reconcile(*found[0])
    with pytest.raises(DataError, match="already followed"):
        hub.reconcile(*found[1])
    hub.reconcile(*found[0])
    assert labels(hub.ledger, "x", "label") == {("1", "a"): "yes"}


def test_a_name_that_is_no_text_is_shown_escaped(tmp_path: Path) -> None:
    with running(tmp_path / "s.sqlite") as monitor:
        path = os.fsdecode(bytes(tmp_path / "n") + b"\xff.csv")
        write(tmp_path / "n.csv")
        (tmp_path / "n.csv").rename(path)
        monitor.hub.reconcile(listing(path)[0], path)
        assert labels(monitor.hub.ledger, "n\\udcff", "label") == EXPECTED
        monitor.hub.fault(f"file {feeds.name_of(path)}", "words")
        for address in ("/healthz", "/metrics", "/", "/api/v1/projects"):
            assert monitor.client.get(address).status_code == 200


def test_a_file_that_changes_is_noticed_whatever_the_clock_says(hub: Hub, tmp_path: Path) -> None:
    """The same size, and a time of change long before: another file has been put in its place."""
    path, other = tmp_path / "a.csv", tmp_path / "b"
    path.write_text("item,annotator,label\n1,ann,yes\n")
    with follow(hub, str(path)):
        wait_for(lambda: labels(hub.ledger, "a", "label") == {("1", "ann"): "yes"})
        other.write_text("item,annotator,label\n1,ann,not")
        os.utime(other, (1, 1))
        other.rename(path)
        wait_for(lambda: labels(hub.ledger, "a", "label") == {("1", "ann"): "not"})  # also without an end of line


def test_a_folder_may_come_go_and_come_back(hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feeds, "SHORTEST_PAUSE", 0.01)
    folder = tmp_path / "later"
    path = folder / "a.csv"
    with follow(hub, str(path)):
        for label in ("yes", "no"):
            wait_for(lambda: hub.faults and not hub.faults["file a.csv"].is_over)
            folder.mkdir()
            path.write_text(f"item,annotator,label\n1,ann,{label}\n")
            wait_for(lambda label=label: labels(hub.ledger, "a", "label") == {("1", "ann"): label})
            wait_for(lambda: hub.faults["file a.csv"].is_over)
            shutil.rmtree(folder)


def test_values_are_spelled_as_score_spells_them_and_annotators_are_needed(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    rows = {"item": [1.0, 2.0], "annotator": [7, 8], "label": [True, False]}
    polars.DataFrame(rows).write_parquet(path)
    assert [each[4:7] for each in listing(str(path))[0].annotations] == [("1", "7", "true"), ("2", "8", "false")]
    polars.DataFrame(rows).drop("annotator").write_parquet(path)
    with pytest.raises(SpagreeError, match="the annotators are unknown"):
        listing(str(path))


def prodigy(*answers: tuple[str, str, str]) -> str:
    lines = [
        {"text": item, "_input_hash": int(item), "_task_hash": int(item), "accept": [label], "answer": "accept",
         "_session_id": f"set-{who}", "_annotator_id": f"set-{who}", "_view_id": "choice", "options": []}
        for item, who, label in answers
    ]  # fmt: skip
    return "".join(json.dumps(line) + "\n" for line in lines)


def test_prodigy_appends_to_its_file(hub: Hub, tmp_path: Path) -> None:
    path = tmp_path / "reviews.jsonl"
    path.write_text(prodigy(*ROWS[:2]))
    hub.reconcile(listing(str(path))[0])
    (question,) = [question for _, question in hub.questions()]
    assert len(labels(hub.ledger, "reviews", question)) == 2
    path.write_text(prodigy(*ROWS))
    hub.reconcile(listing(str(path))[0])
    assert sorted(labels(hub.ledger, "reviews", question).values()) == ["no", "yes", "yes"]
    assert hub.reconciled["file reviews.jsonl"].drift == 1


def task(id: int, *annotations: tuple[int, int, str]) -> dict[str, Any]:
    made = [completion(number, id, who, mood=label) for number, who, label in annotations]
    return {"id": id, "data": {"text": "x"}, "annotations": made}


def webhook(number: int, item: int, who: int, label: str) -> list[Any]:
    made = completion(number, item, who, mood=label)
    return hooks.label_studio(body({"action": "ANNOTATION_CREATED", "annotation": made, "project": {"id": 1}}))


def test_an_export_of_label_studio_meets_its_webhooks(hub: Hub, tmp_path: Path) -> None:
    """One was lost, one deletion was not heard, one change came by the export alone; nothing counts twice."""
    for events in (webhook(1, 10, 2, "Good"), webhook(2, 10, 3, "Bad"), webhook(9, 11, 2, "Good")):
        hub.take_now(events)
    path = tmp_path / "export.json"
    path.write_text(json.dumps([task(10, (1, 2, "Good"), (2, 3, "Good")), task(12, (4, 2, "Bad"))]))
    hub.reconcile(listing(str(path), project="label-studio-1")[0])
    expected = {("10", "2"): "Good", ("10", "3"): "Good", ("12", "2"): "Bad"}
    assert labels(hub.ledger, "label-studio-1", "mood") == expected
    assert hub.reconciled["label-studio-1"].drift == 3
    hub.take_now(webhook(4, 12, 2, "Bad"))  # what was lost arrives after all
    assert labels(hub.ledger, "label-studio-1", "mood") == expected
    assert hub.ledger.columns("label-studio-1", "mood").superseded == 1


def test_two_sources_of_one_project_do_not_undo_each_other(hub: Hub, tmp_path: Path) -> None:
    path = tmp_path / "file.csv"
    write(path)
    hub.take_now([given("9", "zoe", "yes", project="mine", question="label")])
    hub.reconcile(listing(str(path), project="mine")[0])
    hub.reconcile(listing(str(path), project="mine")[0])
    assert labels(hub.ledger, "mine", "label") == {**EXPECTED, ("9", "zoe"): "yes"}


def test_a_listing_survives_a_restart(tmp_path: Path) -> None:
    path, store = tmp_path / "file.csv", str(tmp_path / "again.sqlite")
    write(path)
    first = Hub(Store(store))
    first.reconcile(listing(str(path))[0])
    first.close()
    path.write_text("item,annotator,label\n1,ann,yes\n")  # changed while nobody looked
    again = Hub(Store(store))
    again.reconcile(listing(str(path))[0])
    assert labels(again.ledger, "file", "label") == {("1", "ann"): "yes"}
    assert again.reconciled["file file.csv"].drift == 2
    again.close()
