"""Label Studio, running: people answer through its own API, and spagree reads every export and the database."""

from __future__ import annotations

import csv
import io
import json
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

import ledger
import pytest
from service import Client, Service, free_port
from starter import Starter

import spagree

ADMIN, PASSWORD, TOKEN = "admin@example.com", "loopback-only-1", "0123456789abcdef0123456789abcdef01234567"
PEOPLE = ("ann@example.com", "bob@example.com", "cyd@example.com", "dee@example.com")
MOODS, TOPICS = ("Good", "Bad", "Neutral"), ("food", "price", "service")
KINDS = (("Animals", "Dog"), ("Animals", "Cat"), ("Plants",))
ALIAS = {"Neutral": "neu"}
CONFIG = """<View>
<Text name="text" value="$text"/>
<Choices name="mood" toName="text" choice="single">
  <Choice value="Good"/><Choice value="Bad"/><Choice value="Neutral" alias="neu"/>
</Choices>
<Choices name="topics" toName="text" choice="multiple">
  <Choice value="food"/><Choice value="price"/><Choice value="service"/>
</Choices>
<Rating name="stars" toName="text" maxRating="5"/>
<Taxonomy name="kind" toName="text">
  <Choice value="Animals"><Choice value="Dog"/><Choice value="Cat"/></Choice><Choice value="Plants"/>
</Taxonomy>
</View>"""
ONE_CONTROL = """<View><Text name="text" value="$text"/>
<Choices name="mood" toName="text" choice="single"><Choice value="Good"/><Choice value="Bad"/></Choices></View>"""
ODD = ("01", "1", "1.0", "NA", "null", "true", "a, b", "a;b", "ünï \U0001f600", "'", '"', "[]", '["x"]',
       '{"choices": 1}', "[x", "-")  # fmt: skip
ODD_CONFIG = (
    '<View><Text name="text" value="$text"/><Pairwise name="better" toName="text,other"/><Text name="other" value="$text"/>'
    + "".join(
        f'<Choices name="{name}" toName="text" choice="{kind}">'
        + "".join(f"<Choice value={quoteattr(each)}/>" for each in ODD)
        + "</Choices>"
        for name, kind in (("odd", "single"), ("odds", "multiple"))
    )
    + '<Number name="count" toName="text"/><TextArea name="note" toName="text"/></View>'
)
ODD_QUESTIONS = ("odd", "odds", "count", "note", "better")
QUESTIONS = ("mood", "topics", "stars", "kind")
FORMATS = {"JSON": "json", "JSON_MIN": "min.json", "CSV": "csv", "TSV": "tsv"}  # exportType → how the file ends

Answers = dict[str, Any]  # control → text, or a frozenset of options


@dataclass
class Entry:
    """An annotation as it stands after everything that was sent about it."""

    task: str
    user: str
    answers: Answers
    is_skipped: bool = False


@dataclass
class Project:
    """A project and the ledger of what was sent to it, in order of creation."""

    number: int
    client: Client
    people: dict[str, Client]  # user id → their own connection
    entries: dict[Any, Entry] = field(default_factory=dict)

    def sent(self, question: str, which: int = -1, *, imported: bool = True) -> dict[tuple[str, str], Any]:
        """What counts: not skipped, answered, and of several answers by one person the first or last."""
        found: dict[tuple[str, str], list[Any]] = {}
        for number, each in self.entries.items():
            if not imported and not isinstance(number, int):
                continue
            if not each.is_skipped and each.answers.get(question):
                found.setdefault((each.task, each.user), []).append(each.answers[question])
        return {key: answers[which] for key, answers in found.items()}

    def annotate(self, task: str, user: str, answers: Answers, *, is_skipped: bool = False, alias: bool = False) -> int:
        body = {"result": results(answers, alias=alias), "was_cancelled": is_skipped, "lead_time": 3.5}
        number = self.people[user].json("POST", f"/api/tasks/{task}/annotations/", body)["id"]
        self.entries[number] = Entry(task, user, answers, is_skipped)
        return int(number)

    def change(self, number: int, by: str, answers: Answers, *, is_skipped: bool = False) -> None:
        body = {"result": results(answers), "was_cancelled": is_skipped}
        self.people[by].json("PATCH", f"/api/annotations/{number}/", body)
        self.entries[number].answers, self.entries[number].is_skipped = answers, is_skipped

    def delete(self, number: int) -> None:
        self.client.ask("DELETE", f"/api/annotations/{number}/")
        del self.entries[number]

    def delete_task(self, task: str) -> None:
        self.client.ask("DELETE", f"/api/tasks/{task}/")
        self.entries = {number: each for number, each in self.entries.items() if each.task != task}

    def add_tasks(self, tasks: Sequence[dict[str, Any]]) -> list[str]:
        path = f"/api/projects/{self.number}/import?return_task_ids=true"
        return [str(task) for task in self.client.json("POST", path, list(tasks))["task_ids"]]

    def export(self, kind: str, *, all_tasks: bool) -> bytes:
        return self.client.ask(
            "GET", f"/api/projects/{self.number}/export?exportType={kind}&download_all_tasks={str(all_tasks).lower()}"
        )


def results(answers: Answers, *, alias: bool = False) -> list[dict[str, Any]]:
    """Answers as the browser stores them."""
    return [
        {"from_name": control, "to_name": "text", "type": kind, "value": {key: value}, "origin": "manual"}
        for control, answer in answers.items()
        if answer
        for kind, key, value in [_stored(control, answer, alias)]
    ]


def _stored(control: str, answer: Any, alias: bool) -> tuple[str, str, Any]:
    """Type, the key of the value, and the value."""
    if control in SINGLE:
        return SINGLE[control](answer)
    if control == "kind":
        return "taxonomy", "taxonomy", [list(path) for path in sorted(answer)]
    chosen = sorted(answer) if isinstance(answer, frozenset) else [answer]
    return "choices", "choices", [ALIAS.get(each, each) if alias else each for each in chosen]


SINGLE: dict[str, Callable[[str], tuple[str, str, Any]]] = {
    "stars": lambda answer: ("rating", "rating", int(answer)),
    "count": lambda answer: ("number", "number", int(answer)),
    "note": lambda answer: ("textarea", "text", [answer]),
    "better": lambda answer: ("pairwise", "selected", answer),
}


def drawn(chance: random.Random) -> Answers:
    """Mostly full answers; some controls stay empty."""
    answers = {
        "mood": chance.choice(MOODS),
        "topics": frozenset(chance.sample(TOPICS, chance.randint(0, 2))),
        "stars": chance.choice("345"),
        "kind": frozenset(chance.sample(KINDS, chance.choice((1, 1, 2)))),
    }
    return {control: answer for control, answer in answers.items() if answer and chance.random() < 0.9}


@pytest.fixture(scope="module")
def studio(started: Starter) -> Service:
    folder, port = started.folder("label-studio"), free_port()
    words = ("start", "--no-browser", "--data-dir", str(folder / "data"), "--internal-host", "127.0.0.1", "-p", str(port),
             "--username", ADMIN, "--password", PASSWORD, "--user-token", TOKEN, "--enable-legacy-api-token")  # fmt: skip
    return started.start(
        ".venv-label-studio", "label-studio", *words, folder=folder, ready="/health", port=port, seconds=300,
        LABEL_STUDIO_ENABLE_LEGACY_API_TOKEN="true", COLLECT_ANALYTICS="false", LATEST_VERSION_CHECK="false",
        SENTRY_DSN="", FRONTEND_SENTRY_DSN="", SSRF_PROTECTION_ENABLED="false",
    )  # fmt: skip


def token(secret: str) -> dict[str, str]:
    return {"Authorization": f"Token {secret}"}


@pytest.fixture(scope="module")
def admin(studio: Service) -> Client:
    return Client(studio.address, **token(TOKEN))


@pytest.fixture(scope="module")
def people(studio: Service, admin: Client) -> dict[str, Client]:
    """Sign up with an invitation, as people do; then with the token of each."""
    invitation = admin.json("GET", "/api/invite")["invite_url"]
    found = {}
    for email in PEOPLE:
        browser = Client(studio.address)
        page = browser.ask("GET", invitation).decode()
        secret = page.split('name="csrfmiddlewaretoken" value="')[1].split('"')[0]
        browser.ask("POST", invitation, form={"csrfmiddlewaretoken": secret, "email": email, "password": PASSWORD})
        client = Client(studio.address, **token(browser.json("GET", "/api/current-user/token")["token"]))
        found[str(client.json("GET", "/api/current-user/whoami")["id"])] = client
    assert len(found) == len(PEOPLE)
    return found


def new_project(admin: Client, people: dict[str, Client], title: str, config: str) -> Project:
    body = {"title": title, "label_config": config, "maximum_annotations": 9}
    return Project(admin.json("POST", "/api/projects/", body)["id"], admin, people)


@pytest.fixture(scope="module")
def project(admin: Client, people: dict[str, Client]) -> Project:
    """Everything that happens to annotations: skips, changes, deletions, second answers, imports, drafts."""
    chance = random.Random(3)
    project = new_project(admin, people, "All kinds of things", CONFIG)
    tasks = project.add_tasks([{"text": f"text {n}, \"quoted\"\n;\t", "source": "ab"[n % 2]} for n in range(10)])  # fmt: skip
    nobody, deleted = tasks.pop(), tasks[-1]
    numbers = [
        project.annotate(task, user, drawn(chance), is_skipped=chance.random() < 0.15, alias=chance.random() < 0.5)
        for user in people
        for task in chance.sample(tasks, 7)
    ]
    users = list(people)
    for number in numbers[::5]:  # changed by their author, some of them skipped or no longer skipped
        project.change(number, project.entries[number].user, drawn(chance), is_skipped=chance.random() < 0.2)
    project.change(
        numbers[1], next(user for user in users if user != project.entries[numbers[1]].user), {"mood": "Bad"}
    )
    for number in numbers[3::9]:
        project.delete(number)
    for task, user in [(tasks[0], users[0]), (tasks[1], users[1]), (tasks[0], users[0])]:  # again, and again
        project.annotate(task, user, drawn(chance), alias=True)
    project.annotate(tasks[2], users[2], {})  # submitted without an answer
    people[users[3]].json("POST", f"/api/tasks/{nobody}/drafts", {"result": results({"mood": "Good"})})
    bring(project, chance, users)
    project.delete_task(deleted)
    return project


def bring(project: Project, chance: random.Random, users: Sequence[str]) -> None:
    """Import tasks that already have annotations."""
    given = [[(user, drawn(chance)) for user in users[:3]] for _ in range(2)]
    tasks = [
        {
            "data": {"text": f"imported {position}", "source": "c"},
            "annotations": [{"completed_by": int(user), "result": results(answers)} for user, answers in found],
        }
        for position, found in enumerate(given)
    ]
    for task, found in zip(project.add_tasks(tasks), given, strict=True):
        for user, answers in found:
            project.entries["imported", task, user] = Entry(task, user, answers)


@pytest.fixture(scope="module")
def plain(admin: Client, people: dict[str, Client]) -> Project:
    """One control, one answer each, nothing else."""
    chance = random.Random(4)
    project = new_project(admin, people, "Plain", ONE_CONTROL)
    for task in project.add_tasks([{"text": f"plain {n}"} for n in range(5)]):
        for user in chance.sample(list(people), 3):
            project.annotate(task, user, {"mood": chance.choice(("Good", "Bad"))})
    return project


@pytest.fixture(scope="module")
def odd(admin: Client, people: dict[str, Client]) -> Project:
    """Choices whose texts look like something else, and the other controls."""
    chance = random.Random(5)
    project = new_project(admin, people, "Odd", ODD_CONFIG)
    tasks = project.add_tasks([{"text": f"odd {n}"} for n in range(len(ODD) + 1)])
    for task, text in zip(tasks[:-1], ODD, strict=True):  # nobody annotates the last one
        for user in chance.sample(list(people), 3):
            answers = {
                "odd": chance.choice((text, text, chance.choice(ODD))),
                "odds": chance.choice((frozenset({text}), frozenset({text, "-"}), frozenset({"01", "1"}))),
                "count": chance.choice("12"),
                "note": chance.choice(("1", "01", 'no, "quoted"')),
                "better": chance.choice(("left", "right")),
            }
            project.annotate(task, user, answers)
    return project


@pytest.fixture(scope="module")
def clash(admin: Client, people: dict[str, Client]) -> Project:
    """The data of the tasks have a key with the name of the control: what somebody thought before."""
    chance = random.Random(6)
    project = new_project(admin, people, "Clash", ONE_CONTROL)
    for task in project.add_tasks([{"text": f"clash {n}", "mood": "Good"} for n in range(6)])[:-1]:
        for user in chance.sample(list(people), 3):
            answer = chance.choice(("Good", "Bad", ""))  # without an answer, flat exports show the data there
            project.annotate(task, user, {"mood": answer})
    return project


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("config") / "config.xml"
    path.write_text(CONFIG)
    return path


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Project, str, bool], Path]:
    """Save an export of a project as the file a person would download."""
    folder, done = tmp_path_factory.mktemp("exports"), {}

    def save(project: Project, kind: str, all_tasks: bool) -> Path:
        path = folder / f"{project.number}-{all_tasks}.{FORMATS[kind]}"
        if path not in done:
            done[path] = path.write_bytes(project.export(kind, all_tasks=all_tasks))
        return path

    return save


Saved = Callable[[Project, str, bool], Path]
POLICIES = {"first": 0, "last": -1}


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("all_tasks", [False, True], ids=["annotated", "all-tasks"])
@pytest.mark.parametrize("kind", FORMATS)
def test_export(
    project: Project, saved: Saved, config: Path, *, kind: str, all_tasks: bool, question: str, policy: str
) -> None:
    asked = {"question": question, "duplicates": policy, "config": config}
    path = saved(project, kind, all_tasks)
    truth = project.sent(question, POLICIES[policy])
    ledger.check(truth, lambda weights: spagree.measure(path, weights=weights, **asked))


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("option", TOPICS)
def test_each_option_as_a_question(project: Project, saved: Saved, kind: str, option: str) -> None:
    asked = {"question": f"topics:{option}", "multi": "options", "duplicates": "last"}
    truth = ledger.yes_or_no(project.sent("topics"), option)
    path = saved(project, kind, False)
    ledger.check(truth, lambda weights: spagree.measure(path, weights=weights, **asked))


@pytest.mark.parametrize("kind", FORMATS)
def test_two_answers_of_one_person_are_an_error_by_default(project: Project, saved: Saved, kind: str) -> None:
    with pytest.raises(spagree.SpagreeError, match=r"more than once|twice|duplicate"):
        spagree.measure(saved(project, kind, False), question="mood")


@pytest.mark.parametrize("kind", FORMATS)
def test_one_control_needs_no_question(plain: Project, saved: Saved, kind: str) -> None:
    truth = plain.sent("mood")
    ledger.check(truth, lambda weights: spagree.measure(saved(plain, kind, False), weights=weights))


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("question", ODD_QUESTIONS)
def test_odd_texts(odd: Project, saved: Saved, kind: str, question: str) -> None:
    path = saved(odd, kind, True)
    ledger.check(odd.sent(question), lambda weights: spagree.measure(path, question=question, weights=weights))


@pytest.mark.parametrize("question", ODD_QUESTIONS)
def test_odd_texts_in_the_database(studio: Service, odd: Project, plain: Project, question: str) -> None:
    path, name = studio.folder / "data" / "label_studio.sqlite3", f"{odd.number}/{question}"
    ledger.check(odd.sent(question), lambda weights: spagree.measure(path, question=name, weights=weights))


@pytest.mark.parametrize("all_tasks", [False, True], ids=["annotated", "all-tasks"])
@pytest.mark.parametrize("kind", ["JSON", "CSV", "TSV"])
def test_data_with_the_name_of_a_control(clash: Project, saved: Saved, kind: str, all_tasks: bool) -> None:
    """CSV and TSV call such data `_data_mood`."""
    path = saved(clash, kind, all_tasks)
    ledger.check(clash.sent("mood"), lambda weights: spagree.measure(path, weights=weights))


def test_data_with_the_name_of_a_control_in_json_min(clash: Project, saved: Saved) -> None:
    """There the answer takes the place of the data, and data without an answer look like one: no number is right."""
    rows = json.loads(saved(clash, "JSON_MIN", False).read_text())
    answered = clash.sent("mood")
    assert any(row["mood"] and (str(row["id"]), str(row["annotator"])) not in answered for row in rows)
    with pytest.raises(spagree.SpagreeError):
        spagree.measure(saved(clash, "JSON_MIN", False), question="mood")


@pytest.mark.parametrize("kind", FORMATS)
def test_questions_are_found(project: Project, saved: Saved, kind: str) -> None:
    """With the tasks nobody annotated, even CSV tells the data of the tasks from the controls."""
    assert {*spagree.measure_all(saved(project, kind, True), duplicates="last")} == {*QUESTIONS}


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("question", QUESTIONS)
def test_database(studio: Service, project: Project, plain: Project, question: str, policy: str) -> None:
    """The running program's own file; it knows the aliases."""
    asked = {"question": f"{project.number}/{question}", "duplicates": policy}
    truth = project.sent(question, POLICIES[policy])
    path = studio.folder / "data" / "label_studio.sqlite3"
    ledger.check(truth, lambda weights: spagree.measure(path, weights=weights, **asked))


def test_database_with_a_second_project(studio: Service, project: Project, plain: Project) -> None:
    path = studio.folder / "data" / "label_studio.sqlite3"
    found = spagree.measure_all(path, duplicates="last")
    assert {f"{project.number}/{question}" for question in QUESTIONS} | {f"{plain.number}/mood"} <= {*found}
    asked = {"question": f"{plain.number}/mood"}
    ledger.check(plain.sent("mood"), lambda weights: spagree.measure(path, weights=weights, **asked))


@pytest.mark.parametrize("annotator", [None, "email"])
def test_snapshot(project: Project, tmp_path: Path, config: Path, annotator: str | None) -> None:
    body = {"title": "full", "serialization_options": {"annotations__completed_by": {"only_id": False}}}
    number = project.client.json("POST", f"/api/projects/{project.number}/exports/", body)["id"]
    path = tmp_path / "snapshot.json"
    path.write_bytes(
        project.client.ask("GET", f"/api/projects/{project.number}/exports/{number}/download?exportType=JSON")
    )
    asked = {"question": "mood", "duplicates": "last", "config": config, "annotator": annotator}
    ledger.check(project.sent("mood"), lambda weights: spagree.measure(path, weights=weights, **asked))


def test_the_ledger_is_about_what_the_tool_holds(project: Project, saved: Saved) -> None:
    """Not about spagree: the export and the ledger have the same annotations, so that the rest means something."""
    tasks = json.loads(saved(project, "JSON", False).read_text())
    held = [
        (str(task["id"]), str(each["completed_by"]), each["was_cancelled"])
        for task in tasks
        for each in task["annotations"]
    ]
    assert sorted(held) == sorted((each.task, each.user, each.is_skipped) for each in project.entries.values())
    rows = list(csv.DictReader(io.StringIO(saved(project, "CSV", False).read_bytes().decode())))
    assert len(rows) == sum(not each.is_skipped for each in project.entries.values())


def test_skipped_and_empty_annotations_are_reported(project: Project, saved: Saved, config: Path) -> None:
    found = spagree.measure(saved(project, "JSON", False), question="mood", duplicates="last", config=config)
    skipped = sum(each.is_skipped for each in project.entries.values())
    empty = sum(not each.is_skipped and not each.answers.get("mood") for each in project.entries.values())
    assert (found.data.left_out["cancelled"], found.data.left_out["empty"]) == (skipped, empty)


@pytest.mark.parametrize("source", ["JSON", "database"])
def test_imported_annotations_are_ground_truth(
    studio: Service, project: Project, plain: Project, saved: Saved, config: Path, *, source: str
) -> None:
    is_file = source == "JSON"
    path = saved(project, "JSON", False) if is_file else studio.folder / "data" / "label_studio.sqlite3"
    question = "mood" if is_file else f"{project.number}/mood"
    asked = {"question": question, "duplicates": "last", "ground_truth": "drop", "config": config if is_file else None}
    truth = project.sent("mood", imported=False)
    assert truth != project.sent("mood")
    ledger.check(truth, lambda weights: spagree.measure(path, weights=weights, **asked))


ENTITIES = """<View><Labels name="ner" toName="text"><Label value="PLACE"/><Label value="ORG"/></Labels>
<Text name="text" value="$text"/></View>"""
WORDS = ("Leiden", "😊", "museum", "opens", "e\u0301té", "עברית")  # beyond the basic plane, combining, right to left


def mark_entities(project: Project, chance: random.Random) -> dict[tuple[str, str], set[Any]]:
    """What three people marked, as the page sends it; a task that somebody skipped was not seen by them."""
    users = list(project.people)[:3]
    marked: dict[tuple[str, str], set[Any]] = {}
    texts = [" ".join(chance.sample(WORDS, 5)) for _ in range(8)]
    for task, text in zip(project.add_tasks([{"text": text} for text in texts]), texts, strict=True):
        for place, user in enumerate(users):
            words = [] if place == 2 else chance.sample(text.split(), 2)
            spans = {
                (text.index(word), text.index(word) + len(word), chance.choice(("PLACE", "ORG"))) for word in words
            }
            regions = [
                {"from_name": "ner", "to_name": "text", "type": "labels", "origin": "manual",
                 "value": {"start": start, "end": end, "text": text[start:end], "labels": [label]}}
                for start, end, label in spans
            ]  # fmt: skip
            is_skipped = chance.random() < 0.2
            body = {"result": regions, "was_cancelled": is_skipped}
            project.people[user].json("POST", f"/api/tasks/{task}/annotations/", body)
            if not is_skipped:
                marked[task, user] = spans
    return marked


@pytest.mark.parametrize("kind", FORMATS)
def test_entities_of_people_one_of_whom_marks_nothing(
    kind: str, admin: Client, people: dict[str, Client], saved: Saved
) -> None:
    project = new_project(admin, people, f"Entities {kind}", ENTITIES)
    marked = mark_entities(project, random.Random(8))
    path = saved(project, kind, False)
    ledger.check_marks(marked, lambda weights: spagree.measure_spans(path, weights=weights))
    assert spagree.measure_spans(path).findings.seen == "every_submission"
