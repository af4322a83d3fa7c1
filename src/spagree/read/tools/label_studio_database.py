"""Label Studio's database: the same annotations as in its exports, with the aliases of the project."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from spagree.errors import DataError
from spagree.read.files.json import DECODER
from spagree.read.tools.answers import Record, cell, item_text
from spagree.read.tools.label_studio_results import AFTER_ALL, TEXTS, Aliases, Seen, aliases, answers, config_aliases
from spagree.read.tools.source import Source
from spagree.read.tools.tool import ReaderOptions, Response
from spagree.read.tools.tool_database import is_true, opened, rows

ANNOTATIONS = """
    SELECT CAST(c.id AS TEXT), CAST(c.task_id AS TEXT), CAST(c.project_id AS TEXT), CAST(t.data AS TEXT),
           CAST(c.result AS TEXT), CAST(c.was_cancelled AS TEXT), CAST(c.ground_truth AS TEXT),
           CAST(c.created_at AS TEXT), CAST(c.completed_by_id AS TEXT), CAST(c.updated_by_id AS TEXT), u.email
    FROM task_completion c JOIN task t ON t.id = c.task_id LEFT JOIN htx_user u ON u.id = c.completed_by_id
    ORDER BY c.id"""
DRAFTS = """
    SELECT CAST(d.id AS TEXT), CAST(d.task_id AS TEXT), CAST(t.project_id AS TEXT), CAST(t.data AS TEXT),
           CAST(d.result AS TEXT), CAST(d.user_id AS TEXT), u.email
    FROM tasks_annotationdraft d JOIN task t ON t.id = d.task_id LEFT JOIN htx_user u ON u.id = d.user_id
    WHERE d.annotation_id IS NULL ORDER BY d.id"""
PROJECTS = "SELECT CAST(id AS TEXT), label_config FROM project ORDER BY id"


def responses(source: Source, options: ReaderOptions, seen: Seen) -> Iterator[Response]:
    """Every annotation, and every draft that does not belong to a saved annotation."""
    with opened(source) as connection:
        configs = dict(rows(connection, PROJECTS))
        annotations, drafts = rows(connection, ANNOTATIONS), rows(connection, DRAFTS)
    from_user = config_aliases(options)
    named = {
        project: from_user if from_user.by_control else aliases(config or "") for project, config in configs.items()
    }
    many = len({row[2] for row in (*annotations, *drafts)}) > 1
    for row, record in _chosen(annotations, "annotation", options):
        prefix = f"{row[2]}/" if many else ""
        yield from _annotation((row, record), options, named.get(row[2], Aliases()), prefix, seen)
    for row, record in _chosen(drafts, "draft", options):
        number, _, project, _, result, user, email = row
        place = f"draft {number}"
        by_suffix = _answers(place, result, named.get(project, Aliases()), f"{project}/" if many else "", seen)
        item, text = _item(place, record, options)
        by = email if options.annotator == "email" else user
        for suffix, values in by_suffix.items():
            yield Response(item + suffix, by, values, None, "draft", row=AFTER_ALL, text=text, fields=record)


def _chosen(
    table: Sequence[tuple[Any, ...]], what: str, options: ReaderOptions
) -> Iterator[tuple[tuple[Any, ...], Record]]:
    """The rows with their tasks, filtered by --where."""
    for row in table:
        data = _decoded(f"{what} {row[0]}", row[3] or "{}")
        record = {"id": row[1], "project": row[2], "data": data}
        if options.where is None or any(True for _ in options.where.filtered([("", 0, record)])):
            yield row, record


def _annotation(
    entry: tuple[tuple[Any, ...], Record], options: ReaderOptions, named: Aliases, prefix: str, seen: Seen
) -> Iterator[Response]:
    row, record = entry
    number, _, _, _, result, cancelled, gold, created, by, editor, email = row
    place = f"annotation {number}"
    item, text = _item(place, record, options)
    seen.edited += editor is not None and editor != by
    who = email if options.annotator == "email" else by
    status = "cancelled" if is_true(cancelled) else "submitted"
    by_suffix = _answers(place, result, named, prefix, seen)
    is_complete = status == "submitted" and len(by_suffix) == 1
    for suffix, values in by_suffix.items():
        if values or len(by_suffix) == 1:
            about = (created, status, is_true(gold), int(number), text, is_complete)
            yield Response(item + suffix, who, values, *about, fields=record)


def _item(place: str, record: Record, options: ReaderOptions) -> tuple[str, str | None]:
    """The item and its text."""
    shown = record["data"]
    item = cell(shown, options.item, place) if options.item else str(record["id"])
    return item, item_text(shown, options, place, *TEXTS) if isinstance(shown, dict) else None


def _answers(place: str, result: str | None, named: Aliases, prefix: str, seen: Seen) -> dict[str, dict[str, Any]]:
    """The answers by item and control; with several projects in the database, prefixed with the project."""
    by_suffix = answers(place, _decoded(place, result or "[]"), named, seen)
    return {
        suffix: {prefix + control: value for control, value in labels.items()} for suffix, labels in by_suffix.items()
    }


def _decoded(place: str, text: str) -> Any:
    try:
        return DECODER.decode(text)
    except ValueError as error:
        raise DataError(f"{place}: its JSON in the database is damaged ({error})") from None
