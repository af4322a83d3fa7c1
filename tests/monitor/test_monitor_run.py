"""The command as people start it: where it listens, what it refuses, what it follows, whom it tells, how it stops."""

from __future__ import annotations

import json
import logging
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import httpx
import pytest
from serving import given, wait_for
from standardwebhooks import Webhook

from spagree.errors import FileError, UsageError
from spagree.monitor import alerts, sources
from spagree.monitor import demo as demo_module
from spagree.monitor.alerts import Alert, Notifier
from spagree.monitor.hub import Hub
from spagree.monitor.run import JsonLines, ServeOptions, background, secret, serve
from spagree.monitor.sources import keep_following, listing
from spagree.monitor.store import Store

SAVED = Path(__file__).parents[3] / "shared" / "formats"


@contextmanager
def command(*options: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    line = [sys.executable, "-m", "spagree", "monitor", "--port", "0", *options]
    with subprocess.Popen(line, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            address = process.stderr.readline().split()[-1]
            wait_for(lambda: _answers(address))
            yield process, address
        finally:
            process.kill()


def _answers(address: str) -> bool:
    try:
        return httpx.get(f"{address}healthz", timeout=60).status_code == 200
    except httpx.TransportError:
        return False


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Hub]:
    found = Hub(Store(str(tmp_path / "s.sqlite")))
    yield found
    found.close()


def labels(hub: Hub, question: tuple[str, str]) -> dict[tuple[str, str], str]:
    if question not in hub.questions():
        return {}
    return {(item, who): label for item, who, label, _ in hub.ledger.columns(*question).frame().rows()}


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


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (ServeOptions(host="0.0.0.0"), "--token-file"),
        (ServeOptions(target=70), "between 0 and 1"),
        (ServeOptions(host="192.0.2.1", token_file="token"), "choose another --port"),
        (ServeOptions(alert_url="ftp://x", port=0), "http://"),
        (ServeOptions(label_studio=("http://127.0.0.1:8080",), port=0), "--label-studio-token-file FILE"),
    ],
)
def test_what_cannot_be_is_refused_in_words(
    asked: ServeOptions, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("token").write_text("a-token-that-is-long-enough")
    with pytest.raises(UsageError, match=words):
        serve(asked, print)


def test_secrets_come_from_files(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("  a-token-that-is-long-enough\n")
    assert secret(str(path), "--token-file") == "a-token-that-is-long-enough"
    assert secret(None, "--token-file") is None
    path.write_text("short")
    with pytest.raises(UsageError, match="at least 16"):
        secret(str(path), "--token-file")
    with pytest.raises(FileError, match="cannot be read"):
        secret(str(tmp_path / "nowhere"), "--token-file")


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
    with background(partial(keep_following, hub, str(path), None)):
        wait_for(lambda: labels(hub, question) == {("1", "ann"): "yes"})
        with path.open("a") as stream:
            stream.write("1,bob,no\n")
        wait_for(lambda: len(labels(hub, question)) == 2)
        path.write_text("item,annotator,label\n1,ann,no\n")
        wait_for(lambda: labels(hub, question) == {("1", "ann"): "no"})
        wait_for(lambda: hub.reconciled["file labels.csv"].drift == 2)
        path.write_text("item,annotator\n1,ann\n")
        wait_for(lambda: "label" in hub.faults.get("file labels.csv", ""))
        assert labels(hub, question) == {("1", "ann"): "no"}  # what cannot be read changes nothing
        path.write_text("item,annotator,label\n1,ann,yes\n")
        wait_for(lambda: labels(hub, question) == {("1", "ann"): "yes"})
        wait_for(lambda: not hub.faults and hub.reconciled["file labels.csv"].total == 4)


def test_a_database_that_does_not_answer_is_asked_again(
    hub: Hub, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(sources, "LOOKED_EVERY", 0.01)
    monkeypatch.setattr(sources, "listing", lambda path, project: asked.append(path) or listing(path, project))
    with background(partial(keep_following, hub, "postgresql://127.0.0.1:1/labels?table=a", None)):
        wait_for(lambda: len(asked) > 2)
    (fault,) = hub.faults.values()
    assert fault.startswith("cannot be read: ")
    assert [each.message for each in caplog.records].count("comparison failed") == 1  # logged once, not every time


def test_a_file_may_appear_later(hub: Hub, tmp_path: Path) -> None:
    path = tmp_path / "late.jsonl"
    with background(partial(keep_following, hub, str(path), "mine")):
        wait_for(lambda: hub.faults)
        path.write_text('{"item": "1", "annotator": "a", "label": "x"}\n')
        wait_for(lambda: labels(hub, ("mine", "label")) == {("1", "a"): "x"})


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
    hub.reconcile(listing(str(folder)))
    assert labels(hub, ("potato", "mood")) == {("i1", "ann"): "good", ("i2", "ann"): "bad"}
    assert hub.reconciled["potato"].drift == 3
    hub.reconcile(listing(str(folder)))
    assert hub.reconciled["potato"].drift == 0


@pytest.mark.skipif(not SAVED.exists(), reason="exports of real projects are not on this machine")
def test_an_export_of_label_studio_gives_what_measure_gives(hub: Hub) -> None:
    import spagree

    path = SAVED / "label-studio/export/sentiment.json"
    hub.reconcile(listing(str(path), project="label-studio-1"))
    expected = spagree.measure_all(str(path), duplicates="last")
    for question, agreement in expected.items():
        live = hub.fresh(("label-studio-1", question))
        assert live.agreement is not None and live.agreement.data.annotations == agreement.data.annotations
        assert live.agreement.spa.value == agreement.spa.value


class Receiver(BaseHTTPRequestHandler):
    """Fails once, then takes what comes."""

    seen: list[tuple[dict[str, str], str]] = []  # noqa: RUF012

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.seen.append(({name.lower(): value for name, value in self.headers.items()}, body))
        self.send_response(500 if len(self.seen) == 1 else 204)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


def test_alerts_are_posted_signed_and_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alerts, "FIRST_PAUSE", 0.01)
    Receiver.seen.clear()
    with HTTPServer(("127.0.0.1", 0), Receiver) as receiver:
        threading.Thread(target=receiver.serve_forever, args=(0.01,), daemon=True).start()  # looks for its end
        notifier = Notifier(f"http://127.0.0.1:{receiver.server_port}/", "shared secret")
        notifier.send(Alert("p", "q", "below_target", "Agreement is below the target", "words", "do", began=1.0))
        wait_for(lambda: len(Receiver.seen) == 2)
        notifier.close()
        receiver.shutdown()
    headers, body = Receiver.seen[1]
    found = Webhook(b"shared secret").verify(body, headers)
    assert found["type"] == "alert.open" and found["data"]["code"] == "below_target" and "secret" not in body
    assert Receiver.seen[0][0]["webhook-id"] == headers["webhook-id"]


def test_an_address_that_never_answers_is_given_up(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(alerts, "FIRST_PAUSE", 0.001)
    monkeypatch.setattr(logging.getLogger("spagree.monitor"), "propagate", True)
    notifier = Notifier("http://127.0.0.1:9/")
    notifier.send(Alert("p", "q", "below_target", "t", "w", "d"))
    wait_for(lambda: "alert not delivered" in caplog.text)
    notifier.close()


def test_the_hub_tells_of_alerts_and_survives_a_failed_measurement(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[Alert] = []
    hub = Hub(Store(str(tmp_path / "t.sqlite")), notify=told.append)
    hub.take_now([given(str(i), "a", "x") for i in range(25)])
    wait_for(lambda: [each.code for each in told] == ["no_overlap"])
    from spagree.monitor import hub as module

    with monkeypatch.context() as patch:
        patch.setattr(module, "look", lambda *_: 1 / 0)
        hub.take_now([given("1", "b", "x")])
        wait_for(lambda: not hub._dirty)
    hub.take_now([given("2", "b", "x")])
    wait_for(lambda: [each.state for each in told] == ["open", "ended"])
    hub.close()


def test_the_demo_can_be_stopped(tmp_path: Path) -> None:
    hub = Hub(Store(str(tmp_path / "d.sqlite")))
    with background(partial(demo_module.replay, hub)):
        wait_for(lambda: hub.taken > 20)
    taken = hub.taken
    hub.close()
    assert hub.taken == taken


def test_the_demo_marks_its_new_guidelines_and_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo_module, "ITEMS", 20)
    monkeypatch.setattr(demo_module, "A_SECOND", 1e6)
    hub = Hub(Store(str(tmp_path / "d.sqlite")))
    demo_module.replay(hub, threading.Event())
    assert hub.taken == 60 and [text for _, text in hub.marks["demo"]] == [demo_module.MARK]
    hub.close()
