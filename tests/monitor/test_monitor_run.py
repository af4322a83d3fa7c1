"""The command as people start it: where it listens, what it refuses, what it follows, whom it tells, how it stops."""

from __future__ import annotations

import json
import logging
import queue
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
from serving import Asked, command, elsewhere, follow, given, labels, wait_for
from standardwebhooks import Webhook

from spagree.monitor import feeds
from spagree.monitor import run as run_module
from spagree.monitor.alerts import Alert
from spagree.monitor.feeds import listing
from spagree.monitor.hub import Hub
from spagree.monitor.run import JsonLines, background
from spagree.monitor.store import Store, StoreError, alert_table

SAVED = Path(__file__).parents[3] / "shared" / "formats"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_starts_takes_annotations_and_stops_in_order(tmp_path: Path, number: signal.Signals) -> None:
    store = tmp_path / "s.sqlite"
    with command("--store", str(store)) as (process, address):
        with (
            httpx.Client(base_url=address, timeout=180) as client,
            client.stream("GET", "/events"),
        ):  # a page that is open
            taken = client.post("api/v1/annotations", json={"item": "1", "annotator": "a", "label": "x"})
            assert taken.json() == {"accepted": 1}
            process.send_signal(number)
            assert process.wait(120) in (0, 130, 143, -number)
        assert process.stderr is not None and "Traceback" not in process.stderr.read()
    again = Store(str(store))
    assert [row[6] for rows in again.tuples() for row in rows] == ["x"]
    again.close()


def test_the_demo_is_live_at_once() -> None:
    with command("--demo") as (_, address):
        found = wait_for(lambda: httpx.get(f"{address}api/v1/projects", timeout=60).json()["questions"])
        assert (found[0]["project"], found[0]["question"]) == ("demo", "sentiment")


def test_the_log_is_json() -> None:
    record = logging.LogRecord("x", logging.WARNING, "f", 1, "alert", None, None)
    record.code = "below_target"
    found = json.loads(JsonLines().format(record))
    assert (found["level"], found["event"], found["code"]) == ("warning", "alert", "below_target")
    try:
        raise ValueError("why")
    except ValueError:
        failed = logging.LogRecord("x", logging.ERROR, "f", 1, "failed", None, sys.exc_info())
    assert "why" in json.loads(JsonLines().format(failed))["trouble"]


def test_a_file_that_grows_shrinks_and_changes_is_followed(hub: Hub, tmp_path: Path) -> None:
    path, question = tmp_path / "labels.csv", ("labels", "label")
    path.write_text("item,annotator,label\n1,ann,yes\n")
    with follow(hub, str(path)):
        wait_for(lambda: labels(hub.ledger, *question) == {("1", "ann"): "yes"})
        with path.open("a") as stream:
            stream.write("1,bob,no\n")
        wait_for(lambda: len(labels(hub.ledger, *question)) == 2)
        path.write_text("item,annotator,label\n1,ann,no\n")
        wait_for(lambda: labels(hub.ledger, *question) == {("1", "ann"): "no"})
        wait_for(lambda: hub.reconciled["file labels.csv"].drift == 2)
        path.write_text("item,annotator\n1,ann\n")
        wait_for(lambda: any("label" in each.words for each in hub.faults.values()))
        assert labels(hub.ledger, *question) == {("1", "ann"): "no"}  # what cannot be read changes nothing
        path.write_text("item,annotator,label\n1,ann,yes\n")
        wait_for(lambda: labels(hub.ledger, *question) == {("1", "ann"): "yes"})
        wait_for(
            lambda: all(each.is_over for each in hub.faults.values()) and hub.reconciled["file labels.csv"].total == 4
        )


def test_a_database_that_does_not_answer_is_asked_again(
    hub: Hub, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(feeds, "SHORTEST_PAUSE", 0.01)
    monkeypatch.setattr(feeds, "listing", lambda path, *more: asked.append(path) or listing(path, *more))
    with follow(hub, "postgresql://127.0.0.1:1/labels"):
        wait_for(lambda: len(asked) > 2)
    (fault,) = hub.faults.values()
    assert "127.0.0.1" in fault.words and "cannot be read" in fault.words
    # logged once, not every time; the record has no text yet where another library formats it in its own way
    assert [each.getMessage() for each in caplog.records].count("source failed") == 1


def potato(folder: Path, user: str, **items: str) -> None:
    labels = {item: [[{"schema": "mood", "name": label}, "true"]] for item, label in items.items()}
    (folder / user).mkdir(parents=True, exist_ok=True)
    (folder / user / "user_state.json").write_text(
        json.dumps({"user_id": user, "instance_id_to_label_to_value": labels})
    )


def test_a_folder_of_potato_puts_right_what_its_webhooks_missed(hub: Hub, tmp_path: Path) -> None:
    folder = tmp_path / "output"
    potato(folder, "ann", i1="good", i2="bad")
    hooked = {"project": "potato", "question": "mood", "source": "potato"}
    hub.take_now([given("i1", "ann", "bad", **hooked), given("i9", "ann", "bad", **hooked)])
    hub.reconcile(listing(str(folder))[0])
    assert labels(hub.ledger, "potato", "mood") == {("i1", "ann"): "good", ("i2", "ann"): "bad"}
    assert hub.reconciled["potato"].drift == 3
    hub.reconcile(listing(str(folder))[0])
    assert hub.reconciled["potato"].drift == 0


@pytest.mark.skipif(not SAVED.exists(), reason="exports of real projects are not on this machine")
def test_an_export_of_label_studio_gives_what_measure_gives(hub: Hub) -> None:
    import spagree

    path = SAVED / "label-studio/export/sentiment.json"
    hub.reconcile(listing(str(path), project="label-studio-1")[0])
    expected = spagree.measure_all(str(path), duplicates="last")
    for question, agreement in expected.items():
        live = hub.live(("label-studio-1", question), now=True)
        assert live.agreement is not None and live.agreement.data.annotations == agreement.data.annotations
        assert live.agreement.spa.value == agreement.spa.value


@contextmanager
def sending(hub: Hub, *statuses: int, secret: str | None = None) -> Iterator[tuple[Callable[[Alert], None], list[Any]]]:
    """Alerts are sent to a server of somebody else, which answers with these statuses, the last one from then on."""
    seen: list[tuple[str, dict[str, str], str]] = []

    def respond(asked: Asked) -> None:
        seen.append((asked.command, {name.lower(): value for name, value in asked.headers.items()}, asked.text()))
        asked.answer(statuses[min(len(seen), len(statuses)) - 1], Location="/other")

    waiting = queue.SimpleQueue[Alert]()
    with elsewhere(respond) as address, background(partial(run_module.keep_sending, hub, address, secret, waiting)):
        yield waiting.put, seen


def test_alerts_are_posted_signed_and_tried_again(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_module, "FIRST_PAUSE", 0.01)
    with sending(hub, 500, 204, secret="shared secret") as (send, seen):
        send(Alert("p", "q", "below_target", "Agreement is below the target", "words", "do", began=1.0))
        wait_for(lambda: len(seen) == 2)
    _, headers, body = seen[1]
    found = Webhook(b"shared secret").verify(body, headers)
    assert found["type"] == "alert.open" and found["data"]["code"] == "below_target" and "secret" not in body
    assert seen[0][1]["webhook-id"] == headers["webhook-id"]


def test_a_post_that_is_sent_elsewhere_stays_undelivered(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would become a GET without its body, or go to somebody else."""
    monkeypatch.setattr(run_module, "FIRST_PAUSE", 0.001)
    with sending(hub, 302) as (send, seen):
        for times in (1, 2):  # the thread is still there
            send(Alert("p", "q", "below_target", "t", "w", "d"))
            wait_for(lambda times=times: len(seen) == times * run_module.TRIES)
    assert {method for method, *_ in seen} == {"POST"} and "302" in hub.faults["sending alerts"].words


def test_an_alert_waits_for_the_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It opens while nothing can be stored, and is stored and sent once that works again."""
    told: list[Alert] = []
    hub = Hub(Store(str(tmp_path / "t.sqlite")), notify=told.append)

    def full(*_: object) -> None:
        raise StoreError("the store did not accept it (full)")

    with monkeypatch.context() as patch:
        patch.setattr(hub.store, "put", full)
        hub.take_now([given(str(i), "a", "x") for i in range(25)])
        wait_for(lambda: "full" in hub.trouble())
        assert told == [] and hub.register.open
    wait_for(lambda: [each.code for each in told] == ["no_overlap"] and not hub.trouble())
    assert [row["code"] for row in hub.store.rows(alert_table, "began")] == ["no_overlap"]
    hub.close()


def test_the_demo_marks_its_new_guidelines_and_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feeds, "ITEMS", 20)
    monkeypatch.setattr(feeds, "A_SECOND", 1e6)
    hub = Hub(Store(str(tmp_path / "d.sqlite")))
    feeds.replay(hub, threading.Event())
    assert hub.taken == 60 and [text for _, text in hub.marks["demo"]] == [feeds.MARK]
    hub.close()
