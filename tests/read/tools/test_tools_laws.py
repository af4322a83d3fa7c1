"""Laws over all readers: one project written in every format is the same project; damage never ends in a crash."""

from __future__ import annotations

import copy
import csv
import io
import json
import random
import sqlite3
import zipfile
from collections.abc import Callable, Iterator
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import test_crowds
import test_label_studio as studio
import test_labelbox
import test_nested
import test_potato
import test_prodigy
from exports import lines
from hypothesis import HealthCheck, example, given
from hypothesis import strategies as st

import spagree
from examples import TIMES, examples
from spagree.read import read, read_all

LabelCounts = dict[tuple[str, str], tuple[str, ...]]  # (item, annotator) → the options chosen
Fields = Callable[[str], dict[str, str]]  # further fields of an item; some writers take them
Writer = Callable[..., Any]


def no_fields(item: str) -> dict[str, str]:
    return {}


# ── one project, written as each tool would ──


def by_item(votes: LabelCounts) -> dict[str, dict[str, tuple[str, ...]]]:
    found: dict[str, dict[str, tuple[str, ...]]] = {}
    for (item, who), options in votes.items():
        found.setdefault(item, {})[who] = options
    return found


def by_annotator(votes: LabelCounts) -> dict[str, dict[str, tuple[str, ...]]]:
    return by_item({(who, item): options for (item, who), options in votes.items()})


def table(path: Path, names: list[str], rows: list[list[str]], delimiter: str = ",") -> Path:
    page = io.StringIO()
    writer = csv.writer(page, delimiter=delimiter, lineterminator="\n")
    writer.writerows([names, *rows])
    path.write_text(page.getvalue(), "utf-8")
    return path


def as_json(path: Path, value: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, ensure_ascii=False), "utf-8")
    return path


def json_cell(options: tuple[str, ...]) -> str:
    return options[0] if len(options) == 1 else json.dumps(options)


def label_studio(folder: Path, votes: LabelCounts, fields: Fields = no_fields) -> Path:
    number = iter(range(1, 10_000))
    tasks = []
    for item, given_votes in by_item(votes).items():
        found = [
            studio.annotation(next(number), who, [studio.chosen("q", *options)], created_at=None)
            for who, options in given_votes.items()
        ]
        tasks.append({"id": item, "data": {"text": item, **fields(item)}, "annotations": found})
    return as_json(folder / "ls.json", tasks)


def label_studio_min(folder: Path, votes: LabelCounts) -> Path:
    rows = []
    for number, ((item, who), options) in enumerate(votes.items(), 1):
        own = {"annotator": who, "annotation_id": number, "created_at": None, "updated_at": None, "lead_time": 1}
        rows.append({"text": item, "id": item, "q": options[0] if len(options) == 1 else {"choices": options}, **own})
    return as_json(folder / "min.json", rows)


def label_studio_csv(folder: Path, votes: LabelCounts) -> Path:
    names = ["annotation_id", "annotator", "id", "lead_time", "q", "text"]
    rows = [
        [
            str(number),
            who,
            item,
            "1",
            options[0] if len(options) == 1 else json.dumps({"choices": options}),
            f"text of {item}",
        ]
        for number, ((item, who), options) in enumerate(votes.items(), 1)
    ]
    return table(folder / "ls.csv", names, rows)


def label_studio_database(folder: Path, votes: LabelCounts, fields: Fields = no_fields) -> Path:
    path = folder / "ls.sqlite3"
    numbers = {who: number for number, who in enumerate(dict.fromkeys(who for _, who in votes), 1)}
    tasks = {item: number for number, item in enumerate(dict.fromkeys(item for item, _ in votes), 1)}
    with sqlite3.connect(path) as connection:
        connection.executescript(studio.SCHEMA)
        connection.execute("INSERT INTO project VALUES (1, NULL)")
        connection.executemany("INSERT INTO htx_user VALUES (?, ?)", [(number, who) for who, number in numbers.items()])
        connection.executemany(
            "INSERT INTO task VALUES (?, ?, 1)",
            [(n, json.dumps({"key": item, **fields(item)})) for item, n in tasks.items()],
        )
        for number, ((item, who), options) in enumerate(votes.items(), 1):
            result = json.dumps([studio.chosen("q", *options)])
            row = (number, result, 0, None, None, tasks[item], numbers[who], 0, 1, None)
            connection.execute("INSERT INTO task_completion VALUES (?,?,?,?,?,?,?,?,?,?)", row)
    connection.close()
    return path


def prodigy(folder: Path, votes: LabelCounts, fields: Fields = no_fields) -> Path:
    return lines(
        folder / "p.jsonl",
        [
            test_prodigy.task(1, "accept", who, 1, _input_hash=item, accept=list(chosen), options=[], meta=fields(item))
            for (item, who), chosen in votes.items()
        ],
    )


def prodigy_files(folder: Path, votes: LabelCounts) -> list[Path]:
    names = {who: f"{number}" for number, who in enumerate(by_annotator(votes))}
    return [
        lines(
            folder / f"{names[who]}.jsonl",
            [
                test_prodigy.task(1, "accept", _input_hash=item, accept=list(o), options=[])
                for item, o in given_votes.items()
            ],
        )
        for who, given_votes in by_annotator(votes).items()
    ]


def doccano(folder: Path, votes: LabelCounts) -> Path:
    path = folder / "d.zip"
    items = list(by_item(votes))
    with zipfile.ZipFile(path, "w") as archive:
        for number, given_votes in enumerate(by_annotator(votes).values()):
            rows = [
                {"id": item, "text": "t", "label": list(given_votes.get(item, ())), "Comments": []} for item in items
            ]
            archive.writestr(f"{number}.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    return path


def argilla(folder: Path, votes: LabelCounts, fields: Fields = no_fields) -> Path:
    records = [
        {
            "id": item,
            **fields(item),
            "q.responses": [json_value(o) for o in found.values()],
            "q.responses.users": list(found),
            "q.responses.status": ["submitted"] * len(found),
        }
        for item, found in by_item(votes).items()
    ]
    return as_json(folder / "a.json", records)


def argilla_nested(folder: Path, votes: LabelCounts) -> Path:
    records = [
        {
            "id": item,
            "fields": {},
            "suggestions": {},
            "responses": {"q": [{"value": json_value(o), "user_id": who} for who, o in found.items()]},
        }
        for item, found in by_item(votes).items()
    ]
    return as_json(folder / "a.json", records)


def json_value(options: tuple[str, ...]) -> Any:
    return options[0] if len(options) == 1 else list(options)


def mturk(folder: Path, votes: LabelCounts, fields: Fields = no_fields) -> Path:
    rows = [
        [item, who, "Approved", *fields(item).values(), json_cell(options)] for (item, who), options in votes.items()
    ]
    more = [f"Input.{name}" for name in fields("")]
    return table(folder / "b.csv", ["HITId", "WorkerId", "AssignmentStatus", *more, "Answer.q"], rows)


def mturk_crowd(folder: Path, votes: LabelCounts) -> Path:
    rows = [[item, who, json.dumps([{"q": {"labels": list(options)}}])] for (item, who), options in votes.items()]
    return table(folder / "b.csv", ["HITId", "WorkerId", "Answer.taskAnswers"], rows)


def appen(folder: Path, votes: LabelCounts, fields: Fields = no_fields) -> Path:
    rows = [
        [item, who, "false", *fields(item).values(), "\n".join(options), ""] for (item, who), options in votes.items()
    ]
    return table(folder / "f.csv", ["_unit_id", "_worker_id", "_tainted", *fields(""), "q", "q_gold"], rows)


def toloka(folder: Path, votes: LabelCounts, fields: Fields = no_fields) -> Path:
    rows = [
        [item, *fields(item).values(), json_cell(options), who, "APPROVED"] for (item, who), options in votes.items()
    ]
    more = ["ASSIGNMENT:link" if name == "url" else f"INPUT:{name}" for name in fields("")]  # of the task
    names = ["INPUT:x", *more, "OUTPUT:q", "ASSIGNMENT:worker_id", "ASSIGNMENT:status"]
    return table(folder / "t.tsv", names, rows, "\t")


def toloka_pages(folder: Path, votes: LabelCounts) -> Path:
    rows: list[list[str]] = []
    for who, given_votes in by_annotator(votes).items():
        rows += [[item, json_cell(options), "", ""] for item, options in given_votes.items()]
        rows.append(["", "", who, "APPROVED"])
    return table(folder / "t.tsv", ["INPUT:x", "OUTPUT:q", "ASSIGNMENT:worker_id", "ASSIGNMENT:status"], rows, "\t")


def ground_truth(folder: Path, votes: LabelCounts) -> Path:
    for number, found in enumerate(by_item(votes).values()):
        given_answers = [{"workerId": who, "answerContent": {"q": {"labels": list(o)}}} for who, o in found.items()]
        as_json(folder / "worker-response" / "iteration-1" / str(number) / "1.json", {"answers": given_answers})
    return folder


def labelbox(folder: Path, votes: LabelCounts) -> Path:
    def classified(options: tuple[str, ...]) -> dict[str, Any]:
        return {"name": "Q", "value": "q", "checklist_answers": [{"name": o, "value": o} for o in options]}

    return lines(
        folder / "l.ndjson", [test_labelbox.labelled(item, who, classified(o)) for (item, who), o in votes.items()]
    )


def potato(folder: Path, votes: LabelCounts) -> Path:
    for number, (who, found) in enumerate(by_annotator(votes).items()):
        states = {item: [test_potato.given("q", option) for option in options] for item, options in found.items()}
        as_json(folder / str(number) / "user_state.json", {"user_id": who, "instance_id_to_label_to_value": states})
    return folder


def potato_histories(folder: Path, votes: LabelCounts) -> Path:
    actions = [
        test_potato.action(who, item, option, 1, schema="q")
        for (item, who), options in votes.items()
        for option in options
    ]
    return lines(folder / "annotation_history.jsonl", actions)


def huggingface(folder: Path, votes: LabelCounts) -> Path:
    records = [
        {"id": item, "annotators": list(found), "label": [list(o) for o in found.values()]}
        for item, found in by_item(votes).items()
    ]
    pl.DataFrame(records).write_parquet(folder / "h.parquet")
    return folder / "h.parquet"


def huggingface_json(folder: Path, votes: LabelCounts) -> Path:
    records = [
        {"id": item, "annotators": [{"annotator_id": who, "label": json_value(o)} for who, o in found.items()]}
        for item, found in by_item(votes).items()
    ]
    return lines(folder / "h.jsonl", records)


def per_annotator(folder: Path, votes: LabelCounts) -> list[Path]:
    return [
        lines(folder / f"{number}.jsonl", [{"id": item, "label": list(options)} for item, options in found.items()])
        for number, found in enumerate(by_annotator(votes).values())
    ]


# The annotators of these are named after files or numbers, the items of the last two after folders or numbers.
RENAMED = {"label_studio_database", "prodigy_files", "doccano", "per_annotator"}
WRITERS: dict[str, Writer] = {
    writer.__name__: writer
    for writer in (
        label_studio, label_studio_min, label_studio_csv, label_studio_database, prodigy, prodigy_files, doccano, argilla, argilla_nested,
        mturk, mturk_crowd, appen, toloka, toloka_pages, ground_truth, labelbox, potato, potato_histories, huggingface, huggingface_json,
        per_annotator,
    )
}  # fmt: skip
OPTIONS: dict[str, dict[str, Any]] = {
    "per_annotator": {"format": "per-annotator"},
    "label_studio_database": {"item": "key"},
}

# What people call things; nothing that a cell of a CSV file takes for something else (a list, a line break).
NAMES = ("a", "b", "NA", "None", "0", "01", "1e5", "null", "ärger", "x y", "<b>", "=1+1", 'say "hi"', "a,b", "true")
CELLS = list(product(["i1", "i2", "007", "a;b", "ü"], ["ann", "bob", "00", "d@x.org"]))
VOTES = st.dictionaries(
    st.sampled_from(CELLS),
    st.lists(st.sampled_from(NAMES), min_size=1, max_size=3, unique=True).map(tuple),
    min_size=4,
    max_size=16,
)
# Every name alone and beside the next ones, every item and every annotator.
EVERY_NAME: LabelCounts = {
    cell: tuple(NAMES[(place + step) % len(NAMES)] for step in range(1 if place < len(NAMES) else 3))
    for place, cell in enumerate(CELLS)
}


def expected(votes: LabelCounts) -> list[str]:
    return sorted(o[0] if len(o) == 1 else json.dumps(sorted(o), ensure_ascii=False) for o in votes.values())


@cache
def agreement(votes: tuple[tuple[tuple[str, str], tuple[str, ...]], ...]) -> float | None:
    """SPA of the project itself, the same for every format."""
    labelled = [(item, who, json.dumps(sorted(o)) if len(o) > 1 else o[0]) for (item, who), o in votes]
    return spagree.measure(labelled).spa.value


@pytest.mark.parametrize("name", WRITERS)
@examples(2, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(votes=VOTES)
@example(votes=EVERY_NAME)
def test_one_project_is_the_same_in_every_format(
    name: str, votes: LabelCounts, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("project")
    if len(by_annotator(votes)) < 2:
        votes = {**votes, ("i1", "ann"): ("a",), ("i1", "bob"): ("a",)}
    source = WRITERS[name](folder, votes)
    found = read(source, **OPTIONS.get(name, {}), **({"question": "q"} if name == "label_studio_csv" else {}))
    frame = found.frame.collect(backend="polars")
    assert sorted(frame["label"].to_list()) == expected(votes)
    assert spagree.measure(frame.to_native()).spa.value == pytest.approx(agreement(tuple(votes.items())), nan_ok=True)
    if name not in RENAMED:
        assert set(frame["annotator"].to_list()) == {who for _, who in votes}
    if name != "ground_truth":
        assert set(frame["item"].to_list()) == {item for item, _ in votes}


# ── damage ──

PROJECT: LabelCounts = {
    ("i1", "ann"): ("a",), ("i1", "bob"): ("a", "b"), ("i2", "ann"): ("b",), ("i2", "bob"): ("b",), ("i3", "cyd"): ("a",),
}  # fmt: skip
TEXTS = ["label_studio", "label_studio_min", "label_studio_csv", "prodigy", "argilla", "argilla_nested", "mturk", "mturk_crowd", "appen",
         "toloka", "toloka_pages", "labelbox", "potato_histories", "huggingface_json"]  # fmt: skip


def labels(source: Any, **options: Any) -> set[tuple[Any, ...]]:
    """All annotations of all questions, however they are called."""
    found: set[tuple[Any, ...]] = set()
    for each in read_all(source, **options).values():
        frame = each.frame.collect(backend="polars")
        kept = [name for name in ("item", "annotator", "label") if name in frame.columns]
        found.update(tuple(row) for row in frame.select(kept).rows())
    return found


def outcome(source: Any, **options: Any) -> set[tuple[Any, ...]] | str:
    """What was read, or why it was refused; any other exception goes through and fails the test."""
    try:
        return labels(source, **options)
    except spagree.SpagreeError as error:
        return str(error)


def cuts(content: bytes) -> list[int]:
    """Sizes of a file that was cut: before, within and after each line break, and at random."""
    ends = [place + 1 for place in range(len(content)) if content[place : place + 1] == b"\n"]
    at_ends = [end + step for end in ends for step in (-1, 0, 1)]
    anywhere = random.Random(0).sample(range(1, len(content) - 1), min(4 * TIMES, len(content) - 2))
    return sorted({size for size in at_ends + anywhere if 0 < size < len(content) - 1})


@pytest.mark.parametrize("name", TEXTS)
def test_a_file_that_was_cut_anywhere_is_refused_or_shorter(name: str, tmp_path: Path) -> None:
    """JSON arrays are refused wherever they are cut; of lines and rows whole ones may remain, never changed ones."""
    path = WRITERS[name](tmp_path, PROJECT)
    question = {"question": "q"} if name == "label_studio_csv" else {}
    whole, content = labels(path, **question), path.read_bytes()
    sizes = cuts(content)
    refused = 0
    for size in sizes:
        path.write_bytes(content[:size])
        found = outcome(path, **question)
        if isinstance(found, str):
            assert path.name in found or found.startswith("unknown question")
            refused += 1
            continue
        may_shorten_the_last = path.suffix in (".csv", ".tsv") or name == "potato_histories"  # no one can know
        assert len(found - whole) <= may_shorten_the_last, size
    assert refused == len(sizes) if path.suffix == ".json" else refused > 3


WRONG: list[Any] = [None, 5, -1.5, "text", True, [], [[]], {}, {"x": {"y": []}}, [None], [{"x": 1}], ""]


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, Any, tuple[Any, ...]]]:
    """Every container in a document with each of its keys, and the keys on the way there, without numbers."""
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else []
    for key in keys:
        way = (*path, key if isinstance(value, dict) else "each")
        yield value, key, way
        yield from places(value[key], way)


def spots(document: Any) -> list[int]:
    """Which places to damage: all of them with FUZZ, otherwise two of those that hold the same kind of value."""
    kinds: dict[Any, list[int]] = {}
    for spot, (container, key, way) in enumerate(places(document)):
        kinds.setdefault((way, type(container[key])), []).append(spot)
    return sorted(spot for alike in kinds.values() for spot in alike[: None if TIMES > 1 else 2])


DOCUMENTS: dict[str, tuple[str, Any]] = {
    "label-studio": ("e.json", studio.tasks()),
    "label-studio min": ("e.json", studio.flat()),
    "prodigy": ("e.json", [test_prodigy.task(1, "accept", "ann", 3, options=[{"id": 1}], accept=["a", 2]), test_prodigy.task(1, "reject", "bob", 4, label="A")]),
    "argilla": ("e.json", test_nested.FLAT),
    "argilla nested": ("e.json", [{"id": 1, "fields": {}, "suggestions": {}, "responses": {"q": [{"value": ["a"], "user_id": "u"}]}}]),
    "argilla v1": ("e.json", [{"id": 1, "q": test_nested.V1}, {"id": 2, "q": {"user_id": ["u"], "value": ["x"], "status": ["submitted"]}}]),
    "ground-truth": ("e.json", [json.loads(test_crowds.answers(("w", {"q": {"labels": ["a", "b"]}}), ("v", {"q": {"yes": True}})))]),
    "ground-truth custom": ("e.json", [{"source": "s", "j": {"annotationsFromAllWorkers": [{"workerId": "w", "annotationData": {"content": '{"q": {"label": "a"}}'}}]}}]),
    "labelbox": ("e.json", [test_labelbox.labelled("d", "a", test_labelbox.RADIO, test_labelbox.LIST, test_labelbox.TEXT, performance_details={"skipped": False})]),
    "potato": ("e.json", [test_potato.state("ann", i1=[test_potato.given("m", "good")], i2={"m": {"labels": {"good": True}}})]),
    "potato history": ("e.json", [test_potato.action("ann", "i1", "good", 1), test_potato.action("ann", "i1", "bad", 2, "update_label", old_value="good")]),
    "huggingface": ("e.json", [test_nested.LAYOUTS["parallel"][0][0], test_nested.LAYOUTS["list of structs"][0][0], test_nested.LAYOUTS["struct of lists"][0][0]]),
    "per-annotator": ("e.json", [{"id": 1, "label": ["a"], "created_at": 3}]),
}  # fmt: skip


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_wrong_value_or_a_missing_key_anywhere_is_read_or_refused_and_never_a_crash(
    name: str, tmp_path: Path
) -> None:
    filename, document = DOCUMENTS[name]
    tool = name.split(maxsplit=1)[0]
    generator = random.Random(0)
    other = as_json(tmp_path / "other.json", document)
    for spot in spots(document):
        for number, wrong in enumerate([*generator.sample(WRONG, min(TIMES, len(WRONG))), ...]):
            damaged = copy.deepcopy(document)
            container, key, _ = list(places(damaged))[spot]
            if wrong is ...:
                del container[key]
            else:
                container[key] = wrong
            path = as_json(tmp_path / filename, damaged)
            source: Any = [path, other] if tool == "per-annotator" else path
            assert outcome(source, format=tool if wrong is ... or (spot + number) % 3 else "auto")


HOSTILE = [
    "</script><script>alert(1)</script>",
    "\x1b[31mred",
    "a\u202eb",
    "{{7*7}}",
    "=cmd()",
    "'; DROP TABLE x; --",
    "\u0000x",
    "x" * 100_000,
]


@pytest.mark.parametrize(
    "name", ["label_studio", "prodigy", "argilla", "labelbox", "potato_histories", "huggingface_json"]
)
def test_hostile_labels_are_labels(name: str, tmp_path: Path) -> None:
    """Two annotators agree on each of them; annotators of these names disagree with the first."""
    votes: LabelCounts = {}
    for number, text in enumerate(HOSTILE):
        votes |= {(f"i{number}", "ann"): (text,), (f"i{number}", "bob"): (text,)}
        votes |= {(f"j{number}", "ann"): ("a",), (f"j{number}", text[:50]): ("b",)}
    agreement = spagree.measure(WRITERS[name](tmp_path, votes), weights="flat")
    assert agreement.spa.value == 0.5 and set(agreement.data.labels) == {*HOSTILE, "a", "b"}
    assert agreement.data.annotators == 2 + len(HOSTILE)
    assert "\x1b" not in str(agreement) and "\u202e" not in str(agreement)
