"""Comparing with Label Studio's API: pages, tokens, drift, and what goes wrong. tests/live asks a real Label Studio."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from serving import Asked, body, command, completion, elsewhere, labels, once, wait_for

from spagree.errors import UsageError
from spagree.monitor import feeds, hooks
from spagree.monitor.feeds import LabelStudio, comparing, keep_trying
from spagree.monitor.hub import Fault, Hub
from spagree.monitor.run import background
from spagree.monitor.store import BusyError

CONFIG = """<View><Text name="t" value="$t"/><Choices name="mood" toName="t">
<Choice value="Good"/><Choice value="Bad"/></Choices></View>"""
SECRET = "0123456789abcdef"
MOOD = ("label-studio-1", "mood")


def annotation(number: int, who: int, label: str | None, second: int = 1, **more: Any) -> dict[str, Any]:
    return completion(number, 0, who, second, **({"mood": label} if label else {})) | more


class Studio:
    """Answers as Label Studio 1.2x does; ``before`` may change something before a page is sent."""

    def __init__(self) -> None:
        self.address = ""
        self.tasks: dict[int, dict[int, list[dict[str, Any]]]] = {}  # project → task → annotations
        self.asked: list[tuple[str, str]] = []
        self.before: Callable[[int], None] = lambda page: None
        self.odd: dict[str, tuple[int, Any]] = {}
        self.moved: dict[str, str] = {}

    def answer(self, asked: Asked) -> None:
        where, header = urlsplit(asked.path), asked.headers.get("Authorization", "")
        if asked.command == "POST":
            asked.answer(200, {"access": "short-lived"} if json.loads(asked.text()) == {"refresh": "a.b.c"} else {})
            return
        self.asked.append((asked.path, header))
        if moved := self.moved.pop(where.path, ""):
            asked.answer(302, Location=moved)
        elif where.path in self.odd:
            asked.answer(*self.odd[where.path])
        elif header not in (f"Token {SECRET}", "Bearer short-lived"):
            asked.answer(401, {"detail": "Invalid token."})
        else:
            query = {name: values[0] for name, values in parse_qs(where.query).items()}
            asked.answer(200, self.found(where.path, query))

    def found(self, path: str, query: dict[str, str]) -> Any:
        page, size = int(query.get("page", 1)), int(query.get("page_size", 100))
        if path == "/api/projects/":
            chosen = [{"id": id} for id in self.tasks][(page - 1) * size : page * size]
            return {"count": len(self.tasks), "next": None, "results": chosen}
        if path.startswith("/api/projects/"):
            id = int(path.split("/")[3])
            return {"id": id, "label_config": CONFIG, "parsed_label_config": {"mood": {}}, "task_number": len(self.tasks[id])}  # fmt: skip
        self.before(page)
        tasks = self.tasks[int(query["project"])]
        chosen = list(tasks.items())[(page - 1) * size : page * size]
        return {"total": len(tasks), "tasks": [{"id": id, "annotations": made} for id, made in chosen]}


@contextmanager
def a_studio() -> Iterator[Studio]:
    found = Studio()
    with elsewhere(found.answer) as found.address:
        yield found


@pytest.fixture
def studio() -> Iterator[Studio]:
    with a_studio() as found:
        yield found


def compared(hub: Hub, studio: Studio, path: str = "", token: str = SECRET) -> None:
    found = LabelStudio(studio.address + path, token)
    once(hub, found.name, islice(comparing(hub, found, threading.Event()), 1))


def the_fault(hub: Hub) -> Fault:
    (fault,) = hub.faults.values()
    return fault


def hooked(hub: Hub, action: str, task: int, made: dict[str, Any]) -> None:
    project = {"id": 1, "parsed_label_config": {"mood": {}}}
    hub.take_now(hooks.label_studio(body({"action": action, "annotation": {**made, "task": task}, "project": project})))


def test_every_page_of_every_project_is_read(hub: Hub, studio: Studio, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feeds, "PAGE", 2)
    studio.tasks = {id: {10 * id + i: [annotation(100 * id + i, 7, "Good")] for i in range(5)} for id in (1, 2, 3)}
    compared(hub, studio)
    assert labels(hub.ledger, "label-studio-3", "mood") == {(str(30 + i), "7"): "Good" for i in range(5)}
    assert len(hub.questions()) == 3 and hub.expected == {f"label-studio-{id}": 5 for id in (1, 2, 3)}
    assert sum(path.startswith("/api/tasks/") for path, _ in studio.asked) == 9
    assert {each.total for each in hub.reconciled.values()} == {0}  # the first comparison is no drift


def test_what_webhooks_missed_is_put_right_once(hub: Hub, studio: Studio) -> None:
    for who, label in ((1, "Good"), (2, "Bad"), (3, "Good")):
        hooked(hub, "ANNOTATION_CREATED", 10, annotation(who, who, label))
    changed, skipped = annotation(2, 2, "Good", second=5), annotation(3, 3, "Good", second=5, was_cancelled=True)
    studio.tasks = {
        1: {10: [annotation(1, 1, "Good"), changed, skipped], 11: [annotation(4, 1, "Bad"), annotation(5, 2, None)]}
    }
    compared(hub, studio)
    expected = {("10", "1"): "Good", ("10", "2"): "Good", ("11", "1"): "Bad"}
    assert labels(hub.ledger, *MOOD) == expected and hub.reconciled["label-studio-1"].drift == 3
    compared(hub, studio)
    found = hub.reconciled["label-studio-1"]
    assert labels(hub.ledger, *MOOD) == expected and (found.drift, found.total) == (0, 3)
    hooked(hub, "ANNOTATION_UPDATED", 10, changed)  # what was lost arrives after all
    hooked(hub, "ANNOTATION_CREATED", 10, annotation(2, 2, "Bad"))
    compared(hub, studio)
    assert labels(hub.ledger, *MOOD) == expected and hub.reconciled["label-studio-1"].total == 3


def test_what_a_listing_left_out_comes_back(hub: Hub, studio: Studio) -> None:
    """The version is the same as before; only deleting it for good would have kept it out."""
    kept, other = annotation(1, 1, "Good"), annotation(2, 2, "Bad")
    for made in (kept, other):
        hooked(hub, "ANNOTATION_CREATED", 10, made)
    studio.tasks = {1: {10: [kept]}}
    compared(hub, studio)
    assert labels(hub.ledger, *MOOD) == {("10", "1"): "Good"}
    studio.tasks = {1: {10: [kept, other]}}
    compared(hub, studio)
    assert labels(hub.ledger, *MOOD) == {("10", "1"): "Good", ("10", "2"): "Bad"}


def test_one_person_may_annotate_a_task_twice(hub: Hub, studio: Studio) -> None:
    """Both are known by their ids, so that deleting one leaves the other; the later one counts."""
    first = annotation(1, 1, "Good", second=9)  # edited last, created first
    second = {**annotation(2, 1, "Bad"), "created_at": "2026-01-01T00:00:30Z"}
    studio.tasks = {1: {10: [first, second]}}
    compared(hub, studio)
    assert labels(hub.ledger, *MOOD) == {("10", "1"): "Bad"}
    studio.tasks = {1: {10: [first]}}
    compared(hub, studio)
    assert labels(hub.ledger, *MOOD) == {("10", "1"): "Good"}


def test_pages_that_shift_are_read_again(hub: Hub, studio: Studio, monkeypatch: pytest.MonkeyPatch) -> None:
    """A task deleted between two pages moves the others forward: one would be missed."""
    monkeypatch.setattr(feeds, "PAGE", 2)
    studio.tasks = {1: {i: [annotation(i, 7, "Good")] for i in range(1, 7)}}

    def delete_first(page: int) -> None:
        if page == 2:
            studio.tasks[1].pop(1, None)

    studio.before = delete_first
    compared(hub, studio)
    assert sorted(int(item) for item, _ in labels(hub.ledger, *MOOD)) == [2, 3, 4, 5, 6] and not hub.faults

    def replace_one(page: int) -> None:
        studio.tasks[1].pop(next(iter(studio.tasks[1])))
        studio.tasks[1].update({100 + len(studio.asked): [], 1000 + len(studio.asked): []})

    studio.before = replace_one
    compared(hub, studio)
    assert "kept being" in next(iter(hub.faults.values())).words


def test_an_annotation_that_cannot_be_is_left_out_and_said(hub: Hub, studio: Studio) -> None:
    studio.tasks = {1: {1: [annotation(1, 7, "Good"), annotation(2, 8, "Bad", updated_at="soon")]}}
    compared(hub, studio)
    assert labels(hub.ledger, *MOOD) == {("1", "7"): "Good"}
    assert "left out: 1 annotation; the first: updated_at must be" in the_fault(hub).words


def test_one_project_and_a_personal_token(hub: Hub, studio: Studio) -> None:
    studio.tasks = {id: {1: [annotation(1, 7, "Good")]} for id in (1, 2)}
    compared(hub, studio, "/projects/2/data?tab=1", "a.b.c")
    assert [project for project, _ in hub.questions()] == ["label-studio-2"]
    assert {header for _, header in studio.asked} == {"Bearer short-lived"}


def test_two_projects_of_one_server_are_both_compared(studio: Studio, tmp_path: Path) -> None:
    studio.tasks = {id: {1: [annotation(id, 7, "Good")]} for id in (1, 2)}
    (tmp_path / "token").write_text(SECRET)
    projects = [word for id in (1, 2) for word in ("--label-studio", f"{studio.address}/projects/{id}")]
    token = ("--label-studio-token-file", str(tmp_path / "token"))
    with command("--store", str(tmp_path / "s.sqlite"), *projects, *token) as (_, address):
        wait_for(lambda: len(httpx.get(f"{address}api/v1/projects", timeout=60).json()["questions"]) == 2, 20)


@pytest.mark.parametrize(
    ("path", "answer", "token", "words"),
    [
        ("", None, "wrong", "the token was refused"),
        ("/api/projects/", (500, {}), SECRET, "no answer (Internal Server Error)"),
        ("/api/projects/", (200, []), SECRET, "did not answer like Label Studio"),
        ("/api/projects/", (200, {"count": 1}), SECRET, "not understood"),
        ("/api/projects/", (200, {"count": 10**15, "results": [{"id": 1}]}), SECRET, "kept being added"),
    ],
)
def test_what_goes_wrong_is_shown_and_changes_nothing(
    hub: Hub, studio: Studio, *, path: str, answer: Any, token: str, words: str
) -> None:
    studio.tasks = {1: {10: [annotation(1, 1, "Good")]}}
    compared(hub, studio)
    if answer:
        studio.odd[path] = answer
    compared(hub, studio, token=token)
    fault = the_fault(hub)
    assert words in fault.words and token not in fault.words and not fault.is_over
    assert labels(hub.ledger, *MOOD) == {("10", "1"): "Good"}
    studio.odd.clear()
    compared(hub, studio)
    assert the_fault(hub).is_over


def test_a_busy_store_is_named_and_the_next_comparison_goes_on(
    hub: Hub, studio: Studio, monkeypatch: pytest.MonkeyPatch
) -> None:
    studio.tasks = {1: {1: [annotation(1, 7, "Good")]}}

    def busy(*_: object) -> None:
        raise BusyError("too much is waiting")

    with monkeypatch.context() as patch:
        patch.setattr(hub, "reconcile", busy)
        compared(hub, studio)
    assert the_fault(hub).words == "the store did not accept it; trying again"
    compared(hub, studio)
    assert the_fault(hub).is_over and hub.questions() == [("label-studio-1", "mood")]


def test_a_thread_compares_at_once_and_again(hub: Hub, studio: Studio, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feeds, "COMPARED_EVERY", 0.05)
    studio.tasks = {1: {10: [annotation(1, 1, "Good")]}}
    found = LabelStudio(studio.address, SECRET)
    with background(partial(keep_trying, hub, found.name, partial(comparing, hub, found))):
        wait_for(lambda: labels(hub.ledger, *MOOD) == {("10", "1"): "Good"})
        studio.tasks = {1: {10: []}}
        wait_for(lambda: not labels(hub.ledger, *MOOD))


WITH_PASSWORD = "http://me:hush@127.0.0.1:8080"
UNUSUAL = ["localhost:8080", "ftp://h", "http://", "http://h:x", "http://[h", "http://h h/", WITH_PASSWORD]


@pytest.mark.parametrize("address", UNUSUAL)
def test_an_address_is_needed_and_a_password_in_it_is_refused_and_not_shown(address: str) -> None:
    said = "cannot hold a password" if address == WITH_PASSWORD else "begins with http"
    with pytest.raises(UsageError, match=said) as refused:
        LabelStudio(address, SECRET)
    assert "hush" not in str(refused.value)


def test_the_token_goes_to_no_other_server(hub: Hub, studio: Studio) -> None:
    """A redirect to another port is an error; one on the same server is followed."""
    studio.tasks = {1: {10: [annotation(1, 1, "Good")]}}
    with a_studio() as other:
        studio.moved["/api/projects/"] = f"{other.address}/api/projects/"
        compared(hub, studio)
        assert other.asked == [] and not hub.faults[f"Label Studio at {studio.address}"].is_over
    studio.moved["/api/projects/"] = "/api/projects/?page=1&page_size=100"
    compared(hub, studio)
    assert labels(hub.ledger, *MOOD) == {("10", "1"): "Good"}


ANSWERS = {
    "nothing": b"",
    "no HTTP": b"SSH-2.0-OpenSSH_9.6\r\n",
    "a cut head": b"HTTP/1.1 200 OK\r\nContent-Le",
    "a cut body": b'HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{"count": 1, "results": [',
    "no JSON": b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n<html>",
    "deep": b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n" + b"[" * 100_000,
    "a wrong length": b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n{}",
    "a wrong status": b"HTTP/1.1 2000000 OK\r\n\r\n",
}


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
def test_a_thread_survives_every_answer(hub: Hub, answer: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feeds, "SHORTEST_PAUSE", 0.01)
    asked = 0
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def reply() -> None:
            nonlocal asked
            with suppress(OSError):
                while True:
                    with listening.accept()[0] as connection:
                        connection.recv(10_000)
                        connection.sendall(answer)
                        asked += 1

        threading.Thread(target=reply, daemon=True).start()
        found = LabelStudio(f"http://127.0.0.1:{listening.getsockname()[1]}", SECRET)
        with background(partial(keep_trying, hub, found.name, partial(comparing, hub, found))) as (thread,):
            wait_for(lambda: asked > 2)
            assert thread.is_alive() and not hub.faults[found.name].is_over
            assert SECRET not in hub.faults[found.name].words
        listening.shutdown(socket.SHUT_RDWR)
