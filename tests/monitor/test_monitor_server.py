"""The routes, as programs and people meet them: a real server, real requests."""

from __future__ import annotations

import io
import json
import socket
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import polars
import pytest
import sqlalchemy as sa
from serving import Running, running, wait_for
from standardwebhooks import Webhook

import spagree
from spagree.monitor import hub as hub_module
from spagree.monitor import security, server

FINE = {"item": "1", "annotator": "ann", "label": "yes"}
TOKEN = "a-token-that-is-long-enough"
ROWS = [
    {"item": f"i{i}", "annotator": who, "label": "yes" if i % 4 or who == "ann" else "no", "time": 1000 + i}
    for i in range(40)
    for who in ("ann", "bob", "cyd")
]


@pytest.fixture(scope="module")
def monitor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(tmp_path_factory.mktemp("monitor") / "s.sqlite", target=0.9) as found:
        assert found.post(*ROWS).json() == {"accepted": len(ROWS)}
        yield found


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(tmp_path_factory.mktemp("guarded") / "s.sqlite", token=TOKEN, potato="secret") as found:
        yield found


def test_what_was_accepted_counts_at_once(tmp_path: Path) -> None:
    with running(tmp_path / "s.sqlite") as monitor:
        for who in ("ann", "bob"):
            assert monitor.client.post("/api/v1/annotations", json={**FINE, "annotator": who}).json() == {"accepted": 1}
            assert monitor.agreement()["data"]["annotations"] == (1 if who == "ann" else 2)
        assert monitor.agreement()["spa"]["value"] == 1.0
        monitor.post({**FINE, "deleted": True})
        assert monitor.agreement()["spa"]["value"] is None
        assert monitor.agreement()["spa"]["undefined"]


def test_the_figures_are_those_of_measure_and_beside_them_what_is_watched(monitor: Running) -> None:
    expected = spagree.measure(polars.DataFrame(ROWS), item="item", annotator="annotator", label="label").to_dict()
    found = monitor.agreement(project="default", question="label")
    for part in ("spa", "schemes", "chance", "missingness"):
        assert found[part] == json.loads(json.dumps(expected[part]))
    assert found["format"] == 1 and found["data"]["annotations"] == 120
    live = found["live"]
    assert live["coverage"] == {"one": 0, "two": 0, "three_or_more": 40} and live["target"] == 0.9
    assert live["safe"]["items"] == 40 and live["safe"]["low"] <= live["safe"]["value"] <= live["safe"]["high"]


def test_questions_are_named_where_there_are_several(tmp_path: Path) -> None:
    with running(tmp_path / "s.sqlite") as monitor:
        assert monitor.client.get("/api/v1/agreement").status_code == 404
        assert "curl" in monitor.client.get("/").text
        monitor.post({**FINE, "question": "a"}, {**FINE, "question": "b"}, {**FINE, "project": "other"})
        assert monitor.client.get("/api/v1/agreement").status_code == 422
        assert monitor.agreement(project="default", question="a")["data"]["annotations"] == 1
        rows = monitor.client.get("/api/v1/projects").json()["questions"]
        names = [("default", "a"), ("default", "b"), ("other", "label")]
        assert [(row["project"], row["question"]) for row in rows] == names
        assert "other" in monitor.client.get("/").text
        assert monitor.client.get("/?project=nobody").status_code == 404


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("GET", "/nothing", 404), ("GET", "/api/v1/annotations", 405), ("DELETE", "/api/v1/agreement", 405),
     ("GET", "/api/v1/agreement?project=x", 404), ("GET", "/api/v1/export?format=xlsx", 422), ("GET", "/../etc/passwd", 404)],
)  # fmt: skip
def test_what_is_not_there_is_said_in_words(monitor: Running, method: str, path: str, status: int) -> None:
    answer = monitor.client.request(method, path)
    assert answer.status_code == status and len(answer.json()["error"]) > 10


def test_bodies_are_refused_in_words(monitor: Running) -> None:
    for content, status in [(b"{", 422), (b'{"item": "1"}', 422), (b"x" * (security.LARGEST_BODY + 1), 413)]:
        answer = monitor.client.post("/api/v1/annotations", content=content)
        assert answer.status_code == status and answer.json()["error"]
    chunks = (b"[" + b" " * 1_000_000 for _ in range(20))
    assert monitor.client.post("/api/v1/annotations", content=chunks).status_code == 413


def test_a_body_that_does_not_come_is_given_up(monitor: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(security, "SLOWEST_BODY", 0.2)
    host, port = monitor.address.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as slow:
        slow.sendall(
            f"POST /api/v1/annotations HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Length: 50\r\n\r\n[".encode()
        )
        assert b"408" in slow.recv(1000).split(b"\r\n")[0]


@pytest.mark.parametrize("request_line", ["POST /login", "GET /healthz"])
def test_a_connection_is_not_held_by_a_body_that_nobody_reads(
    monitor: Running, monkeypatch: pytest.MonkeyPatch, request_line: str
) -> None:
    monkeypatch.setattr(security, "SLOWEST_BODY", 0.2)
    monkeypatch.setattr(security, "SLOWEST_HEAD", 0.2)
    host, port = monitor.address.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=60) as slow:
        slow.sendall(f"{request_line} HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Length: 100000\r\n\r\n".encode())
        slow.sendall(b"x" * 9000)

        def is_closed() -> bool:
            try:
                slow.sendall(b"x")
            except OSError:
                return True
            return False

        wait_for(is_closed)


def test_too_many_connections_are_refused_in_words(monitor: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(security, "MOST_CONNECTIONS", 0)
    answer = monitor.client.get("/healthz")
    assert answer.status_code == 503 and "too many connections" in answer.json()["error"]


def test_a_question_that_cannot_be_measured_takes_no_other_along(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    look = hub_module.look

    def fail(project: str, question: str, *more: Any) -> Any:
        return 1 / 0 if question == "bad" else look(project, question, *more)

    monkeypatch.setattr(hub_module, "look", fail)
    with running(tmp_path / "s.sqlite") as monitor:
        monitor.post(FINE, {**FINE, "question": "bad"})
        assert [row["question"] for row in monitor.client.get("/api/v1/projects").json()["questions"]] == ["label"]
        assert monitor.client.get("/").status_code == 200
        assert 'spagree_source_failing{source="measuring default · bad"} 1.0' in monitor.client.get("/metrics").text
        monkeypatch.undo()
        assert monitor.agreement(question="bad")["data"]["annotations"] == 1


def test_every_route_that_stores_says_why_it_cannot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures are still shown: they are those of what is stored."""
    with running(tmp_path / "s.sqlite") as monitor:
        assert monitor.post(*ROWS).status_code == 200
        with monkeypatch.context() as patch:
            engine = monitor.hub.store.engine
            sa.event.listen(engine, "checkout", lambda raw, *_: raw.execute("PRAGMA query_only=ON").close())
            mark = {"project": "default", "text": "new"}
            answer = {"user_id": "a", "instance_id": "i", "annotations": {"q": "x"}}
            events = {"event": "annotation.created", "data": answer}
            answers = [
                monitor.post(FINE),
                monitor.client.post("/api/v1/marks", json=mark),
                monitor.client.post("/marks", data={**mark, "question": "label"}),
                monitor.client.post("/hooks/potato", json=events),
            ]
            patch.setattr(hub_module, "CHECKED_EVERY", 0.0)
            health = wait_for(lambda: (found := monitor.client.get("/healthz")).status_code == 503 and found)
        for answer in (*answers, health):
            assert answer.status_code == 503 and "readonly" in answer.json()["error"]
        assert monitor.agreement()["data"]["annotations"] == len(ROWS)
        assert "readonly" in monitor.client.get("/").text
        assert "spagree_store_failing 1.0" in monitor.client.get("/metrics").text


def test_the_last_fault_of_a_source_stands_everywhere(tmp_path: Path) -> None:
    with running(tmp_path / "s.sqlite") as monitor:
        monitor.post(FINE)
        monitor.hub.fault("file a.csv", "<cut> off")
        shown = monitor.client.get("/").text
        assert "&lt;cut&gt; off (just now)" in shown
        fault = monitor.client.get("/healthz").json()["sources"]["file a.csv"]
        assert (fault["fault"], fault["is_over"]) == ("<cut> off", False) and abs(fault["time"] - time.time()) < 600
        assert 'spagree_source_failing{source="file a.csv"} 1.0' in monitor.client.get("/metrics").text
        monitor.hub.fault("file a.csv")
        assert "worked again; last fault just now" in monitor.client.get("/").text
        assert 'spagree_source_failing{source="file a.csv"} 0.0' in monitor.client.get("/metrics").text


def test_an_error_of_ours_shows_no_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with running(tmp_path / "s.sqlite") as monitor:

        def broken(body: bytes) -> Any:
            raise RuntimeError("secret 123")

        monkeypatch.setitem(server.READERS, "/api/v1/annotations", broken)
        answer = monitor.post(FINE)
        assert answer.status_code == 500 and "secret" not in answer.text and "report" in answer.json()["error"]


def test_export_as_csv_and_parquet(monitor: Running) -> None:
    csv = polars.read_csv(monitor.client.get("/api/v1/export").content)
    parquet = polars.read_parquet(io.BytesIO(monitor.client.get("/api/v1/export?format=parquet").content))
    assert csv.height == parquet.height == 120 and csv.columns == ["item", "annotator", "label", "time"]
    assert spagree.measure(parquet).spa.value == monitor.agreement()["spa"]["value"]


def test_metrics_are_for_prometheus(monitor: Running) -> None:
    text = monitor.client.get("/metrics").text
    assert 'spagree_annotations{project="default",question="label"} 120.0' in text
    assert "spagree_safe_low" in text and "spagree_open_alerts" in text and "spagree_events_total" in text


def marked(answer: httpx.Response) -> list[str]:
    return [each["text"] for each in answer.json()["marks"]["default"]]


def test_marks_are_added_by_programs_and_by_the_form(tmp_path: Path) -> None:
    """Those of one moment are all kept; sent twice, one stays one; after a restart there are as many as before."""
    mark = {"project": "default", "text": "second", "time": 1020}
    with running(tmp_path / "s.sqlite") as monitor:
        client = monitor.client
        monitor.post(*ROWS)
        added = client.post("/api/v1/marks", json=mark).json()
        assert added == {"marks": {"default": [{"time": 1020.0, "text": "second"}]}}
        assert monitor.agreement()["live"]["safe"]["items"] == 19  # items closed after the mark
        form = {"project": "default", "question": "label", "text": "<third>"}
        assert client.post("/marks", data=form).status_code == 303
        assert marked(client.get("/api/v1/marks")) == ["second", "<third>"]
        for text in ("two", "two"):
            answer = client.post("/api/v1/marks", json={**mark, "text": text})
        assert marked(answer) == ["second", "two", "<third>"]
        wrong: list[Any] = [
            {"project": "x", "text": "y"},
            {"project": ["default"], "text": "x"},
            {"project": "default"},
            [],
        ]
        wrong += [{"project": "default", "text": text} for text in ("x" * 201, None, ["x"])]
        for each in wrong:
            assert client.post("/api/v1/marks", json=each).status_code == 422
    with running(tmp_path / "s.sqlite") as monitor:
        assert monitor.client.get("/api/v1/marks").json() == answer.json()


def test_alerts_begin_and_end(tmp_path: Path) -> None:
    with running(tmp_path / "s.sqlite") as monitor:
        alone = [{"item": f"i{i}", "annotator": f"a{i % 3}", "label": "x"} for i in range(25)]
        monitor.post(*alone)
        monitor.agreement()
        found = wait_for(lambda: monitor.client.get("/api/v1/alerts").json()["alerts"])
        assert [(each["code"], each["state"]) for each in found] == [("no_overlap", "open")]
        assert found[0]["to_do"] and found[0]["began"] > 0 and found[0]["ended"] is None
        monitor.post(*({**each, "annotator": "b"} for each in alone))
        monitor.agreement()
        ended = monitor.client.get("/api/v1/alerts").json()["alerts"]
        assert [(each["code"], each["state"]) for each in ended] == [("no_overlap", "ended")]
        assert ended[0]["ended"] >= ended[0]["began"]
        assert "Alerts that ended" in monitor.client.get("/").text
    with running(tmp_path / "s.sqlite") as again:
        assert [each["state"] for each in again.client.get("/api/v1/alerts").json()["alerts"]] == ["ended"]


def test_the_page_is_told_what_changed(tmp_path: Path) -> None:
    with running(tmp_path / "s.sqlite") as monitor, monitor.client.stream("GET", "/events") as stream:
        lines = stream.iter_lines()
        assert next(line for line in lines if line.startswith("event")) == "event: hello"
        start = time.monotonic()
        monitor.post(FINE)
        assert next(line for line in lines if line.startswith("event")) == "event: changed"
        told = json.loads(next(line for line in lines if line.startswith("data"))[6:])
        assert told == {"project": "default", "question": "label"}
        assert time.monotonic() - start < 60
        found = monitor.client.get("/changing").json()
        assert found["version"] >= 1 and "live" in found["sections"]


def test_the_page_and_its_changes_carry_the_same(monitor: Running) -> None:
    page, found = monitor.client.get("/"), monitor.client.get("/changing").json()
    assert set(found["sections"]) == {"live"}
    assert set(found["specs"]) >= {"trend"} and 'data-chart="trend"' in page.text
    part = monitor.client.get("/changing?annotator=ann&hours=5").json()
    assert part["sections"]["live"] != found["sections"]["live"]


def test_every_answer_carries_the_headers(monitor: Running) -> None:
    for path in ("/", "/healthz", "/nothing", "/api/v1/agreement", "/api/v1/openapi.json", "/metrics"):
        headers = monitor.client.get(path).headers
        assert headers["x-content-type-options"] == "nosniff" and headers["referrer-policy"] == "no-referrer"
        assert headers["cache-control"] == "no-store" and "default-src 'none'" in headers["content-security-policy"]
        assert headers["cross-origin-opener-policy"] == headers["cross-origin-resource-policy"] == "same-origin"
        assert "server" not in headers
    policy = monitor.client.get("/").headers["content-security-policy"]
    assert "connect-src 'self'" in policy and "unsafe" not in policy and "frame-ancestors 'none'" in policy


def test_a_token_is_asked_for(guarded: Running) -> None:
    guarded.hub.fault("file secret.csv", "in /home/somebody")
    assert guarded.client.get("/healthz").json() == {"status": "ok"}
    known = guarded.client.get("/healthz", headers={"Authorization": f"Bearer {TOKEN}"}).json()
    assert known["sources"]["file secret.csv"]["fault"] == "in /home/somebody"
    for path in ("/api/v1/agreement", "/metrics", "/events", "/changing", "/api/v1/export"):
        assert guarded.client.get(path).status_code == 401
    assert guarded.post(FINE).status_code == 401
    right = {"Authorization": f"Bearer {TOKEN}"}
    assert guarded.post(FINE, headers=right).status_code == 200
    assert guarded.client.get("/api/v1/agreement", headers={**right, "Host": "annotate.example"}).status_code == 200


POTATO = {"event": "annotation.created", "timestamp": "2026-01-01T00:00:05Z",
          "data": {"user_id": "ann", "instance_id": "1", "annotations": {"mood": "good", "mood:good": "good"}}}  # fmt: skip


def signed(secret: str, at: datetime | None = None) -> tuple[bytes, dict[str, str]]:
    content, now = json.dumps(POTATO), at or datetime.now(UTC)
    signature = Webhook(secret.encode()).sign("msg_1", now, content)
    stamp = str(int(now.timestamp()))
    return content.encode(), {"webhook-id": "msg_1", "webhook-timestamp": stamp, "webhook-signature": signature}


def test_potato_is_known_by_its_signature(guarded: Running) -> None:
    content, headers = signed("secret")
    assert guarded.client.post("/hooks/potato", content=content, headers=headers).json() == {"accepted": 1}
    for wrong in (signed("other")[1], signed("secret", datetime(2020, 1, 1, tzinfo=UTC))[1], {},
                  {**headers, "webhook-signature": "v1"}, {**headers, "webhook-signature": "v1,?"}):  # fmt: skip
        assert guarded.client.post("/hooks/potato", content=content, headers=wrong).status_code == 401
    assert guarded.client.post("/hooks/potato", content=content + b" ", headers=headers).status_code == 401


def test_label_studio_says_how_many_tasks_there_are(tmp_path: Path) -> None:
    annotation = {"id": 1, "task": 5, "completed_by": 2, "updated_at": "2026-01-01T00:00:00Z", "was_cancelled": False,
                  "result": [{"from_name": "mood", "value": {"choices": ["Good"]}}]}  # fmt: skip
    payload = {"action": "ANNOTATION_CREATED", "annotation": annotation, "project": {"id": 3, "task_number": 50}}
    with running(tmp_path / "s.sqlite") as monitor:
        assert monitor.client.post("/hooks/label-studio", json=payload).json() == {"accepted": 1}
        assert monitor.agreement()["live"]["project"] == "label-studio-3"
        assert "49 with none" in monitor.client.get("/").text


def test_the_description_of_the_api_names_every_route(monitor: Running) -> None:
    paths = set(monitor.client.get("/api/v1/openapi.json").json()["paths"])
    routes = {route.path for route in server.application(monitor.hub).routes}
    assert paths == routes - {"/", "/changing", "/report", "/events", "/marks", "/api/v1/openapi.json"}
