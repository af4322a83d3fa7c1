"""doccano: the zip of a project whose members label separately, or its database."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from spagree.errors import DataError
from spagree.read.databases.queries import opened
from spagree.read.files.delimited import as_utf8
from spagree.read.files.json import as_text
from spagree.read.files.paths import File
from spagree.read.tools.fields import Record, answer, known, one_or_more
from spagree.read.tools.marks import UTF16, Mark, Marks
from spagree.read.tools.records import file_records, members
from spagree.read.tools.source import ARCHIVE, DATABASE, FOLDER, OBJECTS, SERVER, Source, first_objects
from spagree.read.tools.tool import ReaderOptions, Response, Tool, Value
from spagree.read.words import texts

QUESTION = "label"
MERGED = "all"  # the stem of the file of a collaborative project
FASTTEXT = "__label__"
RELATIONS = ("entities", "relations", "Comments")
MEMBERS = (".jsonl", ".json")  # once unpacked; other tables may not be doccano's
CATEGORIES = """
    SELECT CAST(e.project_id AS TEXT), CAST(e.id AS TEXT), e.text, u.username, t.text,
           CAST(c.updated_at AS TEXT)
    FROM labels_category c JOIN examples_example e ON e.id = c.example_id
    JOIN label_types_categorytype t ON t.id = c.label_id JOIN auth_user u ON u.id = c.user_id
    ORDER BY c.id"""
CONFIRMED = """
    SELECT CAST(e.project_id AS TEXT), CAST(e.id AS TEXT), e.text, u.username, NULL,
           CAST(s.confirmed_at AS TEXT)
    FROM examples_examplestate s JOIN examples_example e ON e.id = s.example_id
    JOIN auth_user u ON u.id = s.confirmed_by_id ORDER BY s.id"""


Entry = tuple[str, str, str | None, Record]  # question, member, time, record


def recognise(source: Source) -> bool:
    """An archive of one file per member, or the tables of its database."""
    if source.shape in (DATABASE, SERVER):
        return source.has("labels_category", "examples_example")
    if source.shape == OBJECTS:
        is_classes = source.has("id", "label", "Comments") and isinstance(source.objects[0].get("label"), list)
        return is_classes or source.has("id", *RELATIONS)
    if source.shape == FOLDER:
        return any(_is_member(file) for file in _files(source)[:1])
    return source.shape == ARCHIVE and any(_is_member(file) for file in source.files)


def _files(source: Source) -> Sequence[File]:
    """The members' files, in an archive or unpacked."""
    files = members(source, *MEMBERS, may_be_empty=True)
    return [file for file in files if source.shape != FOLDER or file.path.parent == Path(source.path)]


def _is_member(file: File) -> bool:
    """Whether a file holds what doccano writes for a member."""
    start = file.path.read_bytes()[:4096].decode("utf-8-sig", errors="replace")
    if file.name.endswith(".txt"):
        return FASTTEXT in start
    if file.name.endswith(".csv"):
        return {"id", "label"} <= {name.strip('"') for name in start.partition("\n")[0].strip().split(",")}
    wanted = {"id", "label"} if file.is_temporary else {"id", "label", "Comments"}  # others may not be doccano's
    return any(wanted <= record.keys() or record.keys() >= {"id", *RELATIONS} for record in first_objects(file))


def responses(source: Source, options: ReaderOptions) -> Iterator[Response]:
    """The labels of each member; the list is empty if they have not seen the example."""
    entries = _of_database if source.shape in (DATABASE, SERVER) else _of_files
    for question, who, time, record in entries(source, options):
        item, text = record.cell(options.item or "id"), record.item_text(options, *texts("doccano"))
        answers = {question: _value(record)}
        yield Response(known(item), who, answers, time, row=record.number or None, text=text, fields=record)


def _of_files(source: Source, options: ReaderOptions) -> Iterator[Entry]:
    files = _files(source)
    for file in files:
        who = Path(file.name).stem
        if len(files) == 1 and (who == MERGED or source.shape != ARCHIVE):
            raise DataError(
                f"{file.name}: the labels of one member, or of all members merged, without their names, so agreement "
                "cannot be measured; give the files of all members or the zip archive. Annotators are kept only in "
                "projects created without 'Share annotations across all users', or in doccano's database "
                "(db.sqlite3), which can be read directly"
            )
        if not file.name.endswith(".txt"):
            yield from ((QUESTION, who, None, record) for record in file_records(file, options))
            continue
        # fastText: labels, then the text, which serves as the id that it lacks
        content = as_utf8(file, options.encoding, options.scratch).path.read_text("utf-8-sig")
        for number, line in enumerate(content.splitlines(), 1):
            labels = [word.removeprefix(FASTTEXT) for word in line.split() if word.startswith(FASTTEXT)]
            text = " ".join(word for word in line.split() if not word.startswith(FASTTEXT))
            fields = {"id": text, "text": text, "label": labels}
            yield QUESTION, who, None, Record(fields, f"{file.name}:{number}", number)


def _of_database(source: Source, options: ReaderOptions) -> Iterator[Entry]:
    """Of each person and example, one record; confirming it without a label is an empty answer."""
    with opened(source.path, source.name, is_ours=True) as connection:
        table = [*connection.execute(CATEGORIES), *connection.execute(CONFIRMED)]
    names = ("project", "id", "text", "username")
    rows: Iterable[Record] = [Record(dict(zip(names, row, strict=False)), "doccano", n) for n, row in enumerate(table)]
    given: dict[tuple[str, ...], tuple[Record, list[str], list[str]]] = {}
    for record in rows if options.where is None else options.where.filtered(rows):
        *key, label, time = table[record.number]
        _, labels, times = given.setdefault(tuple(key), (record, [], []))
        labels += [] if label is None else [label]
        times += [] if label is None and times else [time]
    many = len({row[0] for row in table}) > 1
    for (project, *_, who), (record, labels, times) in given.items():
        question = f"{project}/{QUESTION}" if many else QUESTION
        yield question, who, max(times), Record({**record, "label": labels}, record.place)


def _value(record: Record) -> Value:
    """Labels of the example, or marks: [start, end, label], in projects with relations objects.

    Nothing is a list for whoever has not seen it, as for whoever marked nothing. Browsers count UTF-16 units.
    """
    labels = record.get("label", record.get("entities"))
    spans = [each for each in labels if isinstance(each, list | dict)] if isinstance(labels, list) else []
    if spans:
        names = ("label", "start_offset", "end_offset")
        placed = [
            [each.get(name) for name in names] if isinstance(each, dict) else each[2:] + each[:2] for each in spans
        ]
        text = record.get("text")
        marks = [Mark(as_text(name), start, end) for name, start, end in placed]
        return Marks(record.place, marks, [text] if isinstance(text, str) else [], (UTF16,))
    return one_or_more(labels.split("#")) if isinstance(labels, str) and labels else answer(labels)


TOOL = Tool(
    name="doccano",
    title="doccano",
    fields={"item": "id", "annotator": "file name", "time": "updated_at"},
    recognise=recognise,
    responses=responses,
    shapes=(ARCHIVE, FOLDER, DATABASE, SERVER),
)
