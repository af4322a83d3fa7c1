"""Label Studio: JSON, JSON-MIN, CSV, TSV and snapshots; its database."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from html.parser import HTMLParser
from pathlib import Path
from sys import intern
from typing import Any

from spagree.errors import DataError, FileError, Warning, count, opt, shown
from spagree.read.databases.queries import opened
from spagree.read.files.json import DECODER, as_text
from spagree.read.tools.fields import Record, answer, chosen, decoded, known, one_or_more
from spagree.read.tools.marks import CHARACTERS, UTF16, Mark, Marks
from spagree.read.tools.records import records, split_columns
from spagree.read.tools.source import DATABASE, OBJECTS, SERVER, TABLE, Source
from spagree.read.tools.tool import KEPT, NO_FIELDS, ReaderOptions, Response, Tool, Value, address_in, shows
from spagree.read.words import texts as usual_texts

UPLOADED = re.compile(r"(https?://[^/\s]+)/data/(?:upload|local-files)\b")
ROWS = ("annotation_id", "annotator", "lead_time")
Aliases = Mapping[str, Mapping[str, str]]  # stored value of a choice → its text, by control
Entry = tuple[Record, Aliases, str]  # a task, and what to put before the names of its controls
TOOL_COLUMNS = frozenset({"id", "annotator", "annotation_id", "created_at", "updated_at", "lead_time"})


def responses(source: Source, options: ReaderOptions) -> Iterator[Response]:
    """All annotations, numbered as Label Studio numbers them, then drafts; predictions do not count."""
    seen = Seen()
    tasks = _of_database if source.shape in (DATABASE, SERVER) else _of_files
    for task, named, prefix in tasks(source, options):
        data = task.part("data", dict)
        item = data.cell(options.item) if options.item else task.cell("id")
        text = data.item_text(options, *usual_texts("label-studio"))
        for position, annotation in enumerate(task.part("annotations", list), 1):
            if not isinstance(annotation, dict) or "result" not in annotation:
                is_object = isinstance(annotation, dict)
                found = "has no 'result'" if is_object else f"should be an object, found {shown(as_text(annotation))}"
                raise DataError(
                    f"{task.place}: annotation {position}: {found}; export the annotations with all their fields"
                )
            author, editor = annotation.get("completed_by"), annotation.get("updated_by")
            by = person(author, options)
            if editor is not None and editor != author:
                seen.edited += person(editor, options) not in (None, by)
            time = known(annotation.get(options.time or "created_at"))
            status = "cancelled" if annotation.get("was_cancelled") is True else "submitted"
            status = KEPT if "annotation_id" in task else status  # rows do not say that they were submitted
            is_gold, digits = annotation.get("ground_truth") is True, as_text(annotation.get("id"))
            number = int(digits) if digits.isdecimal() else 0
            by_suffix = answers(task.at(annotation), named, seen, data, prefix)
            is_whole = status != "cancelled" and len(by_suffix) == 1
            for suffix, values in by_suffix.items():
                if values or len(by_suffix) == 1:
                    yield Response(item + suffix, by, values, time, status, is_gold, number, text, is_whole, task)
        for draft in task.part("drafts", list):
            if isinstance(draft, dict):
                by = person(draft.get("user"), options)
                for suffix, values in answers(task.at(draft), named, seen, data, prefix).items():
                    yield Response(item + suffix, by, values, status="draft", row=AFTER_ALL, text=text, fields=task)
    if seen.edited:
        edited = count(seen.edited, "annotation was", "annotations were")
        message = f"{edited} changed by someone else; the author counts as the annotator"
        options.warnings.append(Warning("edited_by_others", message))
    if seen.repeated:
        repeated = count(seen.repeated, "result repeats", "results repeat")
        message = f"{repeated} a control within an annotation; all results of a control count as one set"
        options.warnings.append(Warning("several_results", message))
    hint = f"stars are ordered: {opt.metric('ordinal')} gives credit for near misses"
    options.notes.update(dict.fromkeys(seen.ratings, hint))


def _of_files(source: Source, options: ReaderOptions) -> Iterator[Entry]:
    """The tasks of an export; rows of JSON-MIN, CSV and TSV become tasks with one annotation.

    They do not mark skips and ground truth; tasks that nobody annotated have a row without an annotation.
    """
    named, made = config_aliases(options), options.time or "created_at"
    rows: list[Record] = []
    for record in records(source, options):
        if "annotations" in record:
            yield record, named, ""
        else:
            rows.append(record)
    controls = _controls(rows, options.question)
    for row in rows:
        if known(row.get("annotation_id")):
            given = {name: row[name] for name in controls if name in row}
            result = [{"from_name": name, "value": value} for name in given for value in _values(given[name])]
            who = row.get("annotator") if options.annotator in NUMBER_OF_USER else None
            annotation = {"id": row["annotation_id"], made: row.get(made), "completed_by": who, "result": result}
            data = {name: value for name, value in row.items() if name not in controls}
            about = {"id": row.cell("id"), "annotation_id": row["annotation_id"]}
            task = {**given, **about, "data": data, "annotations": [annotation]}
            yield Record(task, row.place), named, ""


def _controls(rows: Sequence[Record], question: str | None) -> tuple[str, ...]:
    """The columns that are controls, not task data.

    JSON-MIN lists data, id, controls and annotator in this order. CSV sorts by name: there a column is data if it is
    filled for a task nobody annotated, or if it varies only between tasks.
    """
    every = dict.fromkeys(name for row in rows for name in row)
    clashing = {f"_data_{name}" for name in every}  # how CSV names data columns that clash with a control
    names = [name for name in every if name not in TOOL_COLUMNS and name not in clashing]
    ordered = [list(row) for row in rows]
    if any(keys != sorted(keys) for keys in ordered):
        wanted = set[str | None]()
        for keys in ordered:
            places = [keys.index(name) if name in keys else 0 for name in ("id", "annotator")]
            wanted.update(keys[slice(*places)])
        return tuple(name for name in names if name in wanted)
    data = {name for row in rows if not known(row.get("annotation_id")) for name in names if known(row[name])}
    annotated = [(as_text(row.get("id")), row) for row in rows if known(row.get("annotation_id"))]
    answers, doubtful = split_columns(annotated, [name for name in names if name not in data])
    wanted = {*answers, *doubtful, question}
    return tuple(name for name in names if name in wanted)


def _values(value: Any) -> list[dict[str, Any]]:
    """The results in a cell: one choice is a bare text, several are an object, other controls a list of objects."""
    if isinstance(value, str) and value[:2] in ('{"', '["', "[{"):
        with suppress(ValueError):
            value = DECODER.decode(value)
    if isinstance(value, list) and value and all(isinstance(entry, dict) for entry in value):
        return value
    if isinstance(value, dict):
        return [value]
    return [{"choices": value if isinstance(value, list) else [value]}] if known(value) else []


def link(task: Mapping[str, Any]) -> str | None:
    """The task's address in Label Studio, if an uploaded file reveals it; otherwise the address in its data."""
    data, project, number = task.get("data"), task.get("project"), task.get("id")
    for value in data.values() if isinstance(data, dict) and project is not None else ():
        host = UPLOADED.match(value) if isinstance(value, str) else None
        if host:
            return f"{host[1]}/projects/{as_text(project)}/data?task={as_text(number)}"
    return address_in(task)


NUMBER_OF_USER = (None, "id", "annotator", "completed_by")  # what --annotator may call it
AFTER_ALL = 2**62  # the number of every draft, so drafts sort last
SIMPLE = ("choices", "labels", "rating", "number", "selected", "text", "datetime")
# A value with one of these keys marks a region or an order: in text, an image, audio, video or a list.
REGIONS = frozenset(
    {"start", "end", "startOffset", "x", "y", "points", "vertices", "rle", "sequence", "ranges", "ranker"}
)


@dataclass(slots=True)
class Seen:
    """What the reader found that the user should know."""

    edited: int = 0
    repeated: int = 0
    ratings: set[str] = field(default_factory=set)


@lru_cache(maxsize=100)
def aliases(config: str) -> Aliases:
    """The aliases in a labelling configuration: of the choices inside each control."""
    found: dict[str, dict[str, str]] = {}
    control = ""

    class Config(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            nonlocal control
            attributes = {name: text or "" for name, text in attrs}
            if attributes.get("name") and attributes.get("toname"):
                control = attributes["name"]
            if tag == "choice" and attributes.get("alias") and attributes.get("value"):
                found.setdefault(control, {})[attributes["alias"]] = attributes["value"]

    Config().feed(config)
    return found


def config_aliases(options: ReaderOptions) -> Aliases:
    """The aliases in the configuration the user named; none without one."""
    if options.config is None:
        return {}
    try:
        text = Path(options.config).read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(
            f"{opt.config(options.config)}: cannot be read ({error}); give the labelling configuration"
        ) from None
    if "<" not in text:
        raise DataError(
            f"{opt.config(options.config)}: not a labelling configuration (XML); copy it from the project settings"
        )
    return aliases(text)


def answers(
    annotation: Record, named: Aliases, seen: Seen, data: Mapping[str, Any] = NO_FIELDS, prefix: str = ""
) -> dict[str, dict[str, Value]]:
    """The answers of an annotation by item of a list ("" for the whole task) and control; regions are marks."""
    by_suffix: dict[str, dict[str, Value]] = {"": {}}
    for entry in annotation.part("result", list):
        if not isinstance(entry, dict):
            raise DataError(f"{annotation.place}: a result should be an object, found {shown(as_text(entry))}")
        value, control, number = entry.get("value"), entry.get("from_name"), entry.get("item_index")
        if type(value) is not dict:  # seldom: most are not copied into a record
            value = annotation.at(entry).part("value", dict)
        if not control:
            continue
        name, aliased = intern(prefix + str(control)), named.get(str(control))
        labels = by_suffix[""] if number is None else by_suffix.setdefault(f" {as_text(number)}", {})
        before = labels.get(name)
        if not REGIONS.isdisjoint(value):
            new = _marks(value)
            if before is None:
                texts_in = [] if not new or new[0].quote is None else _texts(data, new[0].quote)
                before = labels[name] = Marks(annotation.place, [], texts_in, (CHARACTERS, UTF16))
            if isinstance(before, Marks):
                before.marks.extend(new)
            continue
        label = simple_value(value)
        if name in labels or aliased is not None:
            seen.repeated += name in labels and not isinstance(before, Marks)
            options = [option for each in (before, label) for option in chosen(each)]
            texts = aliased or {}  # one set of options, each as its text, whichever of the two was stored
            label = one_or_more(texts.get(option, option) for option in options) if options else label
        labels[name] = label
        if "rating" in value:
            seen.ratings.add(str(control))
    return by_suffix


def _marks(value: Mapping[str, Any]) -> list[Mark]:
    """A mark for each label of a region, with its place in a text, in all paragraphs of a dialogue, or in seconds."""
    kind = next((key for key in value if key.endswith("labels")), None)
    if kind is None:
        return [Mark("")]
    names = value[kind] if isinstance(value[kind], list) else [value[kind]]
    where = value["globalOffsets"] if isinstance(value.get("globalOffsets"), dict) else value
    places = [(each.get("start"), each.get("end")) for each in value.get("ranges", [where])]
    text = value.get("text") if kind in ("labels", "paragraphlabels") else None  # of HTML, offsets leave out the tags
    quote = text if isinstance(text, str) else None
    return [Mark(as_text(name), *place, quote) for name in names for place in places]


FETCHED = re.compile(r"(\w+:/)?/\S+")  # the address of what the page fetches


def _texts(data: Mapping[str, Any], quote: str) -> list[str]:
    """What may have been marked in a task: its texts, and the paragraphs of its dialogues joined.

    None if the page fetched a text that none here has the first mark of.
    """
    texts = [value for value in data.values() if isinstance(value, str)]
    dialogues = [value for value in data.values() if isinstance(value, list) and value and isinstance(value[0], dict)]
    for lines in dialogues:
        texts += ["".join(as_text(line.get(name)) for line in lines) for name in lines[0]]
    is_elsewhere = any(map(FETCHED.fullmatch, texts)) and not any(quote in text for text in texts)
    return [] if is_elsewhere else texts


def person(who: Any, options: ReaderOptions) -> str | None:
    """The user's number, which all formats share; snapshots also have ``--annotator email``."""
    if isinstance(who, dict):
        return known(who.get(options.annotator or "id"))
    if type(who) is not int:
        return known(who)
    return str(who) if options.annotator in NUMBER_OF_USER else None


def simple_value(value: Mapping[str, Any]) -> Value:
    """What a control stores, whatever its kind; a path of a taxonomy is one option."""
    if "taxonomy" in value:
        paths = value["taxonomy"] if isinstance(value["taxonomy"], list) else []
        return one_or_more(" / ".join(map(as_text, path)) for path in paths if isinstance(path, list))
    for key in SIMPLE:
        if key in value:
            return answer(value[key])
    return None


# The same first columns in both: number, task, project, its data, the result, and who.
ANNOTATIONS = """
    SELECT CAST(c.id AS TEXT), CAST(c.task_id AS TEXT), CAST(c.project_id AS TEXT), CAST(t.data AS TEXT),
           CAST(c.result AS TEXT), CAST(c.completed_by_id AS TEXT), u.email, CAST(c.was_cancelled AS TEXT),
           CAST(c.ground_truth AS TEXT), CAST(c.created_at AS TEXT), CAST(c.updated_at AS TEXT),
           CAST(c.updated_by_id AS TEXT)
    FROM task_completion c JOIN task t ON t.id = c.task_id LEFT JOIN htx_user u ON u.id = c.completed_by_id
    ORDER BY c.id"""
DRAFTS = """
    SELECT CAST(d.id AS TEXT), CAST(d.task_id AS TEXT), CAST(t.project_id AS TEXT), CAST(t.data AS TEXT),
           CAST(d.result AS TEXT), CAST(d.user_id AS TEXT), u.email
    FROM tasks_annotationdraft d JOIN task t ON t.id = d.task_id LEFT JOIN htx_user u ON u.id = d.user_id
    WHERE d.annotation_id IS NULL ORDER BY d.id"""
TRUE = ("1", "true", "t")  # in SQLite and PostgreSQL
PROJECTS = "SELECT CAST(id AS TEXT), label_config FROM project ORDER BY id"


def _of_database(source: Source, options: ReaderOptions) -> Iterator[Entry]:
    """A task for every annotation, and for every draft that belongs to none."""
    with opened(source.path, source.name, is_ours=True) as connection:
        configs = dict(connection.execute(PROJECTS).fetchall())
        queries = (("annotation", ANNOTATIONS), ("draft", DRAFTS))
        entries = [(what, row) for what, query in queries for row in connection.execute(query)]
    from_user = config_aliases(options)
    many = len({row[2] for _, row in entries}) > 1
    for what, (number, task_number, project, data, result, user, email, *more) in entries:
        place = f"{what} {number}"
        fields = {"id": task_number, "project": project, "data": decoded(data or "{}", place, "its data")}
        task = Record(fields, place)
        if options.where is not None and not any(True for _ in options.where.filtered([task])):
            continue
        who = email if options.annotator == "email" else user if options.annotator in NUMBER_OF_USER else None
        given: dict[str, Any] = {"id": number, "result": decoded(result or "[]", place, "its result")}
        if what == "draft":
            task["drafts"] = [given | {"user": who}]
        else:
            cancelled, gold, created, updated, editor = more
            given |= {"completed_by": who, "created_at": created, "updated_at": updated}
            given |= {"was_cancelled": cancelled in TRUE, "ground_truth": gold in TRUE}
            task["annotations"] = [given | ({"updated_by": editor} if editor != user else {})]
        yield task, from_user or aliases(configs.get(project) or ""), f"{project}/" if many else ""


TOOL = Tool(
    name="label-studio",
    title="Label Studio",
    fields={"item": "id", "annotator": "completed_by", "label": "result", "time": "created_at"},
    recognise=shows(
        (DATABASE, "task_completion", "htx_user"),
        (SERVER, "task_completion", "htx_user"),
        (OBJECTS, "annotations", "data"),
        (OBJECTS, *ROWS),
        (TABLE, *ROWS),
    ),
    responses=responses,
    statuses={"cancelled": "cancelled", "draft": "draft"},
    counted=("submitted",),
    renames=("item", "annotator", "time"),
    shapes=(DATABASE, SERVER),
    is_numbered=True,
    tells_seen=True,
    link=link,
)
