"""Any tool that writes one table per annotator: the name of the file, or of the sheet, is the annotator."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from spagree.errors import ColumnError, DataError, listed, opt
from spagree.read import columns
from spagree.read.annotations import ITEM, LABEL, TIME
from spagree.read.files.paths import File, gather
from spagree.read.files.spreadsheet import open_sheets
from spagree.read.tools.fields import answer, from_text, known
from spagree.read.tools.records import file_records
from spagree.read.tools.source import ARCHIVE, FOLDER, Source
from spagree.read.tools.tool import ReaderOptions, Response, Tool, shows
from spagree.read.words import texts

TABLES = (".csv", ".tsv", ".json", ".jsonl", ".ndjson", ".parquet")
EXTENSIONS = (*TABLES, ".txt", ".arrow", ".feather", ".gz", ".zst", ".xlsx")


def responses(source: Source, options: ReaderOptions) -> Iterator[Response]:
    """The rows of each file by its annotator; columns are found as in any long table."""
    files: Sequence[File] = source.files
    if len(files) == 1 and files[0].kind == "excel":
        files = open_sheets(files[0], options.scratch, options.warnings)
    elif source.shape == FOLDER:
        files = gather([Path(source.path) / name for name in source.keys if name.endswith(TABLES)], options.scratch)
    if len(files) < 2:  # noqa: PLR2004
        raise DataError(
            f"{source.name}: one file is one annotator; name several files, their folder, or a workbook with one sheet "
            "per annotator"
        )
    people = [_who(file) for file in files]
    twice = next((name for name in people if people.count(name) > 1), None)
    if twice:
        raise DataError(f"two files are called {twice!r}; each annotator needs one file with a different name")
    for file in files:
        rows = list(file_records(file, options))
        names = tuple(dict.fromkeys(name for row in rows for name in row))
        named = {ITEM: options.item, LABEL: options.question, TIME: options.time}
        positions = columns.resolve(names, named, (ITEM, LABEL, TIME)).positions if rows else {}
        lacking = [option for role, option in ((ITEM, opt.item), (LABEL, opt.question)) if role not in positions]
        if rows and lacking:
            raise ColumnError(f"{file.name}: name the column with {' and '.join(lacking)}; columns: {listed(names)}")
        roles = {role: names[position] for role, position in positions.items()}
        usual = [name for name in texts("per-annotator") if name not in roles.values()]
        for row in rows:
            value = row.get(roles[LABEL])
            label = from_text(value) if isinstance(value, str) else answer(value)
            time = known(row.get(roles[TIME])) if TIME in roles else None
            item = known(row.cell(roles[ITEM]))
            text = row.item_text(options, *usual)
            yield Response(item, _who(file), {roles[LABEL]: label}, time, row=row.number, text=text, fields=row)


def _who(file: File) -> str:
    """The name of the file without its extensions, but with other dots.

    >>> _who(File(Path("x"), "labels/anna.smith.csv.gz")), _who(File(Path("x"), "book.xlsx/J. Doe"))
    ('anna.smith', 'J. Doe')
    """
    path = Path(Path(file.name).name)
    while path.suffix.lower() in EXTENSIONS:
        path = path.with_suffix("")
    return path.name


TOOL = Tool(
    name="per-annotator",
    title="one file per annotator",
    fields={"item": "item", "annotator": "file name", "time": "time"},
    recognise=shows(),  # never: several files with the same columns are usually parts of one table
    responses=responses,
    renames=("item", "time"),
    shapes=(FOLDER, ARCHIVE),
)
