"""The monitor beside a running Label Studio and a running potato: its figures are those of the final export.

People annotate, change and delete through the tools' own routes; in between the monitor is stopped, and what happened
then reaches it by comparing alone.
"""

from __future__ import annotations

import os
import random
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import ledger
import live_potato
import pytest
from live_label_studio import (  # noqa: F401
    CONFIG,
    ENTITIES,
    QUESTIONS,
    TOKEN,
    Project,
    admin,
    drawn,
    mark_entities,
    new_project,
    people,
    studio,
)
from live_potato import ITEMS, RADIO, Person
from live_potato import running as running_potato
from service import Client, Service, free_port, sandbox
from starter import ROOT, Starter

import spagree

SECRET = "only-for-loopback"
SECONDS = 120
NAMES = ("ann", "bob", "cyd")


@contextmanager
def monitoring(folder: Path, *words: str) -> Iterator[Client]:
    """`spagree monitor` as people start it, on the store of this folder."""
    port = PORTS.setdefault(folder, free_port())
    line = [sys.executable, "-m", "spagree", "monitor", "--port", str(port), "--store", str(folder / "store.sqlite")]
    service = Service([*line, *words], folder, port, {**sandbox(os.environ, folder), "PYTHONPATH": str(ROOT / "src")})
    try:
        service.wait("/healthz", SECONDS)
        yield Client(service.address)
    finally:
        service.stop()


PORTS: dict[Path, int] = {}


def agreement(client: Client, project: str, question: str) -> dict[str, Any]:
    return dict(client.json("GET", "/api/v1/agreement?" + urlencode({"project": project, "question": question})))


def until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + SECONDS
    while not true():
        assert time.monotonic() < end, "it did not come true"
        time.sleep(0.3)


def shows(client: Client, project: str, question: str, sent: ledger.Answers) -> bool:
    """Whether the monitor has the answers that were sent, by their number and their score."""
    try:
        found = agreement(client, project, question)
    except ConnectionError:  # nothing has arrived yet
        return False
    truth = ledger.exact(sent, "annotations_m1")
    data = found["data"]
    return (data["annotations"], found["spa"]["value"]) == (len(sent), truth.numerator / truth.denominator)


Marked = dict[tuple[str, str], Any]


def shows_marks(client: Client, project: str, marked: Marked) -> bool:
    """Whether the monitor has the marks that were made, by who saw what and the agreement on them."""
    try:
        found = agreement(client, project, "ner")
    except ConnectionError:
        return False
    truth = float(ledger.exact_marks(marked, "annotations_m1"))
    is_true = found["spans"]["exact"]["value"] == pytest.approx(truth, rel=1e-12)
    return is_true and found["data"]["annotations"] == len(marked)


def work(project: Project, tasks: list[str], chance: random.Random) -> None:
    """Annotate, annotate again, change, skip and delete."""
    numbers = [
        project.annotate(task, user, drawn(chance), is_skipped=chance.random() < 0.1)
        for user in project.people
        for task in chance.sample(tasks, 4)
    ]
    for number in numbers[::3]:
        project.change(number, project.entries[number].user, drawn(chance), is_skipped=chance.random() < 0.2)
    for number in numbers[1::5]:
        project.delete(number)


@pytest.fixture
def folder(started: Starter) -> Path:
    return started.folder("monitor")


def test_label_studio(admin: Client, people: dict[str, Client], folder: Path, studio: Service) -> None:  # noqa: F811
    chance = random.Random(7)
    project = new_project(admin, people, "Watched", CONFIG)
    name = f"label-studio-{project.number}"
    tasks = project.add_tasks([{"text": f"text {n}"} for n in range(8)])
    (folder / "token").write_text(TOKEN)
    compared = (
        "--label-studio",
        f"{studio.address}/projects/{project.number}",
        "--label-studio-token-file",
        str(folder / "token"),
    )

    with monitoring(folder) as client:  # webhooks alone
        hook = {"project": project.number, "url": f"http://127.0.0.1:{PORTS[folder]}/hooks/label-studio",
                "send_payload": True, "send_for_all_actions": True, "is_active": True}  # fmt: skip
        admin.json("POST", "/api/webhooks/", hook)
        work(project, tasks, chance)
        for question in QUESTIONS:
            until(lambda question=question: shows(client, name, question, project.sent(question)))

    work(project, tasks, chance)  # nobody listens
    project.delete_task(tasks.pop())

    with monitoring(folder, *compared) as client:
        for question in QUESTIONS:
            until(lambda question=question: shows(client, name, question, project.sent(question)))
        drift = [line for line in client.ask("GET", "/metrics").decode().splitlines() if "spagree_drift_total" in line]
        assert float(drift[-1].split()[-1]) > 0
        work(project, tasks, chance)  # webhooks and comparisons at once
        export = folder / "export.json"
        export.write_bytes(project.export("JSON", all_tasks=False))
        (folder / "config.xml").write_text(CONFIG)
        for question in QUESTIONS:
            until(lambda question=question: shows(client, name, question, project.sent(question)))
            asked = {"question": question, "duplicates": "last", "config": folder / "config.xml"}
            final, found = spagree.measure(export, **asked), agreement(client, name, question)
            assert found["spa"]["value"] == final.spa.value and found["spa"]["low"] == final.spa.low
            assert found["data"]["items"] == final.data.items and found["data"]["labels"] == final.data.labels


def test_entities_of_label_studio(
    admin: Client,  # noqa: F811
    people: dict[str, Client],  # noqa: F811
    folder: Path,
    studio: Service,  # noqa: F811
) -> None:
    project = new_project(admin, people, "Watched entities", ENTITIES)
    name, chance = f"label-studio-{project.number}", random.Random(9)
    (folder / "token").write_text(TOKEN)
    compared = (
        "--label-studio",
        f"{studio.address}/projects/{project.number}",
        "--label-studio-token-file",
        str(folder / "token"),
    )
    marked: Marked = {}

    with monitoring(folder) as client:  # webhooks alone
        hook = {"project": project.number, "url": f"http://127.0.0.1:{PORTS[folder]}/hooks/label-studio",
                "send_payload": True, "send_for_all_actions": True, "is_active": True}  # fmt: skip
        admin.json("POST", "/api/webhooks/", hook)
        marked |= mark_entities(project, chance)
        until(lambda: shows_marks(client, name, marked))
    marked |= mark_entities(project, chance)  # nobody listens
    with monitoring(folder, *compared) as client:
        until(lambda: shows_marks(client, name, marked))
        assert agreement(client, name, "ner")["spans"]["seen"] == "given"


def test_potato(started: Starter, folder: Path) -> None:
    chance, sent = random.Random(8), {}
    port = PORTS.setdefault(folder, free_port())
    hook = {"name": "spagree", "url": f"http://127.0.0.1:{port}/hooks/potato", "secret": SECRET, "events": ["*"],
            "active": True, "timeout_seconds": 5}  # fmt: skip
    service = running_potato(started, webhooks={"enabled": True, "endpoints": [hook]})
    (folder / "secret").write_text(SECRET)
    output = service.folder / "annotation_output"
    words = ("--potato-secret-file", str(folder / "secret"))
    everyone = [Person(service, name, sent) for name in NAMES]

    def annotate() -> None:
        for person in everyone:
            for item in chance.sample(ITEMS, 5):
                person.save(item, {"sentiment": chance.choice(RADIO)})

    with monitoring(folder, *words) as client:
        annotate()
        until(lambda: shows(client, "potato", "sentiment", sent["sentiment"]))
    annotate()  # nobody listens
    with monitoring(folder, *words, "--follow", str(output)) as client:
        until(lambda: shows(client, "potato", "sentiment", sent["sentiment"]))
        annotate()
        for item, name in list(sent["sentiment"])[::4]:  # potato sends no event for what somebody takes back
            everyone[NAMES.index(name)].save(item, {"sentiment": frozenset()})
        until(lambda: shows(client, "potato", "sentiment", sent["sentiment"]))
        shutil.rmtree(output / NAMES[-1])  # nor for somebody whose work is deleted
        left = {key: answer for key, answer in sent["sentiment"].items() if key[1] != NAMES[-1]}
        until(lambda: shows(client, "potato", "sentiment", left))
        final = spagree.measure(output, question="sentiment")
        assert agreement(client, "potato", "sentiment")["spa"]["value"] == final.spa.value


def test_spans_of_potato_come_from_its_folder(started: Starter, folder: Path) -> None:
    chance = random.Random(10)
    texts = {item: " ".join(chance.sample(live_potato.WORDS, 4)) for item in ITEMS}
    service = running_potato(started, annotation_schemes=[live_potato.ENTITIES, live_potato.DONE], texts=texts)
    marked: Marked = {}
    live_potato.mark_entities(service, texts, chance, marked)
    with monitoring(folder, "--follow", str(service.folder / "annotation_output")) as client:
        until(lambda: shows_marks(client, "potato", marked))
        live_potato.mark_entities(service, dict([*texts.items()][:2]), chance, marked)
        until(lambda: shows_marks(client, "potato", marked))
