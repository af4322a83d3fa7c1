"""doccano: the zip of a project whose members label separately, or its database."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from spagree.errors import DataError
from spagree.read.files.delimited import as_utf8
from spagree.read.files.paths import File, with_kind
from spagree.read.tools.records import answer, cell, file_records, item_text, known, one_or_more, opened, rows
from spagree.read.tools.source import ARCHIVE, DATABASE, FOLDER, OBJECTS, SERVER, Source, first_objects
from spagree.read.tools.tool import ReaderOptions, Response, Tool

QUESTION = "label"
TEXTS = ("text", "data", "filename")
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
    if source.shape != FOLDER:
        return source.files
    paths = [Path(source.path) / name for name in source.keys if Path(name).suffix in MEMBERS and "/" not in name]
    return [with_kind(File(path, str(path))) for path in paths if path.stat().st_size]


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
    if source.shape in (DATABASE, SERVER):
        yield from _from_database(source, options)
        return
    files = _files(source)
    for file in files:
        who = Path(file.name).stem
        if not file.name.endswith((".csv", ".txt")) and any(
            record.keys() >= set(RELATIONS) for record in first_objects(file)
        ):  # a project for spans and relations, even if nothing is marked yet
            raise _no_classes(file.name)
        if len(files) == 1 and (who == MERGED or source.shape != ARCHIVE):
            raise DataError(
                f"{file.name}: the labels of one member, or of all members merged, without their names, so agreement "
                "cannot be measured; give the files of all members or the zip archive. Annotators are kept only in "
                "projects created without 'Share annotations across all users', or in doccano's database "
                "(db.sqlite3), which can be read directly"
            )
        if file.name.endswith(".txt"):
            yield from _lines(file, who, options)
            continue
        for place, number, record in file_records(file, options):
            labels = record.get("label")
            spans = [label for label in labels if isinstance(label, list | dict)] if isinstance(labels, list) else []
            if spans or record.get("entities") or record.get("relations"):
                raise _no_classes(place)
            item, text = cell(record, options.item or "id", place), item_text(record, options, place, *TEXTS)
            value = one_or_more(labels.split("#")) if isinstance(labels, str) and labels else answer(labels)
            yield Response(item, who, {QUESTION: value}, row=number, text=text, fields=record)


def _no_classes(place: str) -> DataError:
    return DataError(
        f"{place}: marks spans (sequence labelling), not classes: spagree compares classes; "
        "export a text classification project"
    )


def _lines(file: File, who: str, options: ReaderOptions) -> Iterator[Response]:
    """fastText: labels, then the text, which serves as the id that this format lacks."""
    text = as_utf8(file, options.encoding, options.scratch).path.read_text("utf-8-sig")
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split()
        labels = [word.removeprefix(FASTTEXT) for word in words if word.startswith(FASTTEXT)]
        item = " ".join(word for word in words if not word.startswith(FASTTEXT))
        yield Response(known(item), who, {QUESTION: one_or_more(labels)}, row=number, text=_text(item, options))


def _text(text: str | None, options: ReaderOptions) -> str | None:
    """The text, which is the only field; any other name is refused."""
    return item_text({"text": text}, options, "doccano", "text")


def _from_database(source: Source, options: ReaderOptions) -> Iterator[Response]:
    """The long form: one row per label; confirming without a label is an empty answer."""
    with opened(source) as connection:
        table = [*rows(connection, CATEGORIES), *rows(connection, CONFIRMED)]
    many = len({row[0] for row in table}) > 1
    labels: defaultdict[tuple[str, str, str], list[str]] = defaultdict(list)
    times: dict[tuple[str, str, str], str] = {}
    texts: dict[str, str | None] = {}
    if options.where is not None:
        records = ({"id": row[1], "project": row[0], "text": row[2], "username": row[3]} for row in table)
        placed = (("", number, record) for number, record in enumerate(records))
        table = [table[number] for _, number, _ in options.where.filtered(placed)]
    for project, example, text, who, label, time in table:
        key = (project, example, who)
        texts[example] = _text(text, options)
        labels[key] += [label] if label is not None else []
        times[key] = max(time, times.get(key, time)) if label is not None else times.get(key, time)
    for (project, example, who), chosen in labels.items():
        question = f"{project}/{QUESTION}" if many else QUESTION
        answers, fields = {question: one_or_more(chosen)}, {"project": project, "username": who}
        yield Response(example, who, answers, times[project, example, who], text=texts[example], fields=fields)


TOOL = Tool(
    name="doccano",
    title="doccano",
    fields={"item": "id", "annotator": "file name", "time": "updated_at"},
    recognise=recognise,
    responses=responses,
    shapes=frozenset({ARCHIVE, FOLDER, DATABASE, SERVER}),
)
