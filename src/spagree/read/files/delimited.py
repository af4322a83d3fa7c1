"""CSV, TSV and their relatives: encoding and dialect are found here, most rows are read by duckdb as text.

The careful reader runs only where duckdb fails or line endings are mixed: it explains what is wrong.
"""

from __future__ import annotations

import codecs
import collections
import csv
import io
import itertools
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO

from spagree.codes import Codes, in_order
from spagree.errors import SHOWN_PROBLEMS, DataError, UsageError, Warning, count, opt
from spagree.read.annotations import ANNOTATOR, ITEM, LABEL, MOST_COMPARED
from spagree.read.files.paths import SMALL, File, head, new_file
from spagree.read.table import SAMPLE_ROWS, listed, shown
from spagree.read.words import words

DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
EXPECTED = {".csv": ",", ".tsv": "\t", ".tab": "\t", ".psv": "|"}
SEPARATOR = re.compile(r'"?sep=.?"?\s*')  # the line that tells Excel the separator
HEAD = 1 << 16
FEWEST_ROWS = 5  # rows that begin with a number the header does not name


@dataclass(frozen=True, slots=True)
class TextFile:
    """A delimited file whose dialect is known: enough to read any of its columns.

    ``first_row`` is the number of the first data row: 2 under a header, as spreadsheets count. ``has_returns``: lines
    end with CRLF or CR.
    """

    file: File
    delimiter: str
    names: tuple[str, ...]
    skip: int = 0
    has_header: bool = True
    first_row: int = 2
    has_returns: bool = False
    has_long_comments: bool = False
    sample: tuple[tuple[str, ...], ...] = ()
    warnings: tuple[Warning, ...] = ()
    noticed: list[Warning] = field(default_factory=list)
    """What was seen only when all rows were loaded."""


def open_delimited(file: File, encoding: str | None, header: bool, scratch: Path) -> TextFile:
    """Find encoding, comment lines, delimiter and header, reading only the start of the file."""
    copy = as_utf8(file, encoding, scratch)
    try:
        if copy.is_whole:
            return _opened(copy, io.StringIO(copy.start.decode("utf-8-sig"), newline=""), header)
        with copy.path.open(encoding="utf-8-sig", newline="") as stream:
            return _opened(copy, stream, header)
    except UnicodeDecodeError:
        copy, warning = in_likely_encoding(file, scratch)
        opened = open_delimited(copy, None, header, scratch)
        return replace(opened, warnings=(*opened.warnings, warning))


def _opened(file: File, stream: IO[str], header: bool) -> TextFile:
    """Skips lines above the header that begin with #, are blank, or tell Excel the separator."""
    skipped: list[str] = []
    last = start = stream.tell()  # where the last of these lines begins, and the one after it
    while line := stream.readline():
        if line.strip() and not line.startswith("#") and (skipped or not SEPARATOR.fullmatch(line)):
            break
        skipped.append(line)
        last, start = start, stream.tell()
    stream.seek(start)
    delimiter = sniff(stream.read(HEAD), EXPECTED.get(file.extension, ","))
    stream.seek(start)
    names = [name.strip('" \r\n') for name in skipped[-1].split(delimiter)] if skipped else []
    if names and re.fullmatch(r"#|#[^\s#]+", names[0]):  # a first column called # or #id
        first = next(_rows(stream, delimiter), [])
        known = words("item", "annotator", "label")
        below, above = (
            {"".join(filter(str.isalnum, name.casefold())) for name in row} & known for row in (first, names)
        )
        is_header = len(first) > 1 and len(names) == len(first) and (names[0] == "#" or (above and not below))
        skipped = skipped[:-1] if is_header else skipped
        stream.seek(last if is_header else start)
    sample = list(itertools.islice(_rows(stream, delimiter), SAMPLE_ROWS + 1))
    if not sample:
        raise DataError(f"{file.name}: holds no rows, only blank or comment lines; check the export")
    warnings = []
    if comments := [line.strip() for line in skipped if line.strip()]:
        lines = count(len(comments), "comment line")
        message = f"{file.name}: skipped {lines} above the header, first {shown(comments[0])}"
        warnings.append(Warning("comment_lines", message))
    if delimiter != (expected := EXPECTED.get(file.extension, delimiter)):
        wrong = f"separated by {DELIMITERS[delimiter]}, not by {DELIMITERS[expected]} as the file name suggests"
        warnings.append(Warning("delimiter", f"{file.name}: cells are {wrong}"))
    if header and _has_row_names(sample):
        sample[0].insert(0, "")
        message = "every row has one cell more than the header; the first was read as its number, as R writes it"
        warnings.append(Warning("row_names", f"{file.name}: {message}"))
    return TextFile(
        file,
        delimiter,
        tuple(name.strip() if header else str(i) for i, name in enumerate(sample[0], 1)),
        len(skipped),
        header,
        first_row=len(skipped) + 1 + header,
        has_long_comments=sum(map(len, skipped)) > HEAD,
        sample=tuple(map(tuple, sample[header:])),
        warnings=tuple(warnings),
    )


def _has_row_names(rows: Sequence[Sequence[str]]) -> bool:
    """Whether all rows begin with an ascending number that the header has no name for, as R writes row names."""
    header, *below = rows
    if len(below) < FEWEST_ROWS or any(len(row) != len(header) + 1 or not row[-1] for row in below):
        return False
    numbers = [int(row[0]) for row in below if row[0].isdecimal()]
    return len(numbers) == len(below) and all(one < two for one, two in itertools.pairwise(numbers))


def _rows(stream: IO[str], delimiter: str) -> Iterator[list[str]]:
    """The first records, parsed leniently; the file is checked when it is loaded."""
    try:
        yield from (row for row in csv.reader(stream, delimiter=delimiter) if row)
    except csv.Error:
        return


def sniff(text: str, expected: str) -> str:
    """The delimiter that splits the first lines into the most even rows."""
    scores: dict[str, tuple[float, int, bool]] = {}  # the share of rows as long as the first, and that length
    for delimiter in DELIMITERS:
        rows = list(itertools.islice(_rows(io.StringIO(text, newline=""), delimiter), 100))
        if len(rows) > 1 and len(text) >= HEAD:
            rows.pop()
        width = len(rows[0]) if rows else 0
        if width > 1:  # a single column proves nothing
            whole = [row for row in rows if not any(cell.count('"') % 2 for cell in row)]  # not cut within quotes
            even = 1.0 if _has_row_names(rows) else sum(fits(row, width) for row in whole) / len(rows)
            scores[delimiter] = even, width, delimiter == expected
    best = max(scores, key=scores.__getitem__, default=expected)
    return best if best in scores and scores[best][0] > 0 else expected


def plain(opened: TextFile, scratch: Path) -> TextFile:
    """The file itself, or a copy where line endings are mixed or comments long; refuses NUL bytes.

    duckdb would accept both silently: it keeps NUL in labels, and drops rows where CRLF changes to LF late in a file
    (seen with 2.0).
    """
    import numpy as np

    returns = feeds = both = 0
    last = b""
    for block in _blocks(opened.file):
        if b"\0" in block:
            raise _nul_bytes(opened.file)
        if returns or b"\r" in block:  # line feeds before the first return make the endings mixed
            codes = np.frombuffer(last + block, np.uint8)  # in half the time of counting bytes
            is_return, is_feed = codes == ord("\r"), codes == ord("\n")
            both += int(np.count_nonzero(is_return[:-1] & is_feed[1:]))
            returns += int(np.count_nonzero(is_return[len(last) :]))
            feeds += int(np.count_nonzero(is_feed[len(last) :]))
        else:
            feeds += b"\n" in block
        last = block[-1:]
    is_mixed = returns > 0 and feeds > 0 and not returns == feeds == both
    return tidied(opened, scratch) if is_mixed or opened.has_long_comments else replace(opened, has_returns=returns > 0)


def tidied(opened: TextFile, scratch: Path) -> TextFile:
    """A copy that the fast reader can read; the careful reader reports real faults."""
    try:
        refuse_bad_bytes(opened.file)
    except DataError:
        copy, warning = in_likely_encoding(opened.file, scratch)
        opened.noticed.append(warning)
        opened = replace(opened, file=copy)
    name, names = opened.file.name, opened.names
    problems: list[str] = []
    total = 0

    def rows() -> Iterator[list[str]]:
        nonlocal total
        for position, (line, record) in enumerate(records(opened.file, opened.delimiter, opened.skip)):
            yield record[: len(names)]
            if (position == 0 and opened.has_header) or fits(record, len(names)):
                continue
            total += 1
            sizes = f"{len(record)} instead of {len(names)}"
            if total > SHOWN_PROBLEMS:
                continue
            if len(record) < len(names):
                found = f"column {shown(names[len(record)])}: too few cells: {sizes}"
            else:
                found = f"after column {shown(names[-1])}: too many cells: {sizes}, first {shown(record[len(names)])}"
            problems.append(f"{name}:{line}: {found}")

    path = delimited_copy(rows(), scratch)
    if total:
        raise DataError(
            f"{name}: {count(total, 'row does', 'rows do')} not have the {count(len(names), 'cell')} of the "
            f'header ({listed(names)}); correct the file, or put cells that hold the delimiter in quotes (")',
            problems,
            total,
        )
    return replace(opened, file=opened.file.copied(path), delimiter=",", skip=0, has_returns=False)


BLOCK = 1 << 18
ENCODINGS = ("cp1252", "mac-roman")  # cp1252 is what Windows calls Latin-1
BEYOND_ASCII = re.compile(rb"[A-Za-z\x80-\xff]*[\x80-\xff][A-Za-z\x80-\xff]*")
USUAL_MARKS = frozenset("àáâãäåæçèéêëìíîïñòóôõöøœùúûüýÿßšžÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÑÒÓÔÕÖØŒÙÚÛÜÝŠŽ’‘“”„«»–—…•€£°§©®¿¡½¼²³ªº\xa0")
MANY_ACCENTS = re.compile(r"[^\W\da-zA-Z]{3}|[^\W\d_][«»„“”•€£°§©®¿¡½¼…][^\W\d_]|[–—]\S*[–—]")
QUOTED_ON_WINDOWS = re.compile(rb"[A-Za-z]+\x92(t|s|re|ll|ve|d|m)|\x93.*|.*\x94", re.DOTALL)  # it’s, “so”
MOST_WORDS = 5_000
UTF_8 = ("utf-8", "utf8", "utf_8", "utf-8-sig")
MARKS = ((codecs.BOM_UTF32_LE, "utf-32"), (codecs.BOM_UTF32_BE, "utf-32"),
         (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))  # fmt: skip


def as_utf8(file: File, encoding: str | None, scratch: Path) -> File:
    """The file itself if it is UTF-8, otherwise a UTF-8 copy."""
    start = head(file, 4)
    marked = next((name for mark, name in MARKS if start.startswith(mark)), None)
    wanted = marked or encoding
    if wanted is None or wanted.lower() in UTF_8:
        return file
    try:
        is_text = codecs.lookup(wanted)._is_text_encoding  # Python's hex and rot13 are not text encodings
    except (LookupError, ValueError):
        is_text = False
    if not is_text:
        raise UsageError(
            f"unknown encoding {wanted!r}; use a name Python knows, for instance latin-1, cp1252 or utf-16"
        )
    path = new_file(scratch)
    try:
        with (
            file.path.open(encoding=wanted, newline="") as source,
            path.open("w", encoding="utf-8", newline="") as target,
        ):
            while block := source.read(BLOCK):
                target.write(block)
    except UnicodeError as error:
        raise DataError(f"{file.name}: is not {wanted} ({error}); name the right one with {opt.encoding}") from error
    return file.copied(path)


def in_likely_encoding(file: File, scratch: Path) -> tuple[File, Warning]:
    """A copy in UTF-8 of a file in the one encoding in which all its words are possible, and what the user is told."""
    words, last = collections.Counter[bytes](), b""
    for block in _blocks(file):
        words.update(BEYOND_ASCII.findall(block))
        last = block[-1:]
        if len(words) > MOST_WORDS:
            break
    is_cut = words == {last: 1}  # in the middle of a letter, at the end of the file
    fitting = [] if is_cut else [name for name in ENCODINGS if all(_is_possible(word, name) for word in words)]
    if len(fitting) != 1:
        refuse_bad_bytes(file, words)
        raise DataError(f"{file.name}: not UTF-8; name the encoding, for instance {opt.encoding('cp1252')}")
    (name,) = fitting
    example = max(words, key=len).decode(name)
    message = f"{file.name}: not UTF-8, read as {name} ({shown(example)}); if that is wrong, use {opt.encoding}"
    return as_utf8(file, name, scratch), Warning("encoding", message)


def _is_possible(word: bytes, encoding: str) -> bool:
    """Whether a word is spelled as in a language with Latin letters.

    >>> [_is_possible("café".encode(name), "cp1252") for name in ("cp1252", "mac-roman")]
    [True, False]
    >>> _is_possible("Привет".encode("cp1251"), "cp1252"), _is_possible("don’t".encode("mac-roman"), "cp1252")
    (False, False)
    """
    if encoding == "mac-roman" and QUOTED_ON_WINDOWS.fullmatch(word):
        return False
    try:
        text = word.decode(encoding)
    except UnicodeDecodeError:
        return False
    letters = "".join(mark if mark.isalpha() else " " for mark in text.replace("’", " ").replace("‘", " "))
    is_plain = all(mark in USUAL_MARKS for mark in text if ord(mark) > 127)  # noqa: PLR2004 (ASCII)
    is_cased = all(part.isupper() or part[1:].islower() or len(part) == 1 for part in letters.split())
    is_latin = len(text) == 1 or any(mark.isascii() for mark in text) or not any(mark.isalpha() for mark in text)
    return is_plain and is_cased and is_latin and not MANY_ACCENTS.search(text)


def refuse_bad_bytes(file: File, words: Iterable[bytes] = ()) -> None:
    """Raise an error with line, byte and remedy if a file is not UTF-8; ``words`` are examples of what is not."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    line, done, kept = 1, 0, b""
    for block in itertools.chain(_blocks(file), [b""]):
        try:
            decoder.decode(block, final=not block)
        except UnicodeDecodeError as error:
            line += (kept + block)[: error.start].count(b"\n")
            position, byte = done - len(kept) + error.start, error.object[error.start]
            remedy = f"for instance {opt.encoding('latin-1')} (or cp1252)"
            if example := next(iter(words), b""):
                readings = ((name, example.decode(name, "replace")) for name in ENCODINGS)
                remedy = ", ".join(f"{opt.encoding(name)} reads {shown(text)}" for name, text in readings)
            raise DataError(
                f"{file.name}:{line}: not UTF-8: byte 0x{byte:02x} at position {position + 1:,} of the file; "
                f"name the encoding: {remedy}"
            ) from None
        kept = decoder.getstate()[0]
        line += block.count(b"\n")
        done += len(block)


def _nul_bytes(file: File) -> DataError:
    """The error for NUL bytes, with their places; many of them suggest UTF-16 without a byte order mark."""
    problems: list[str] = []
    total, line = 0, 1
    for block in _blocks(file):
        for part in block.splitlines(keepends=True):
            if b"\0" in part:
                total += 1
                problems += [f"{file.name}:{line}: NUL byte"] if len(problems) < SHOWN_PROBLEMS else []
            line += part.endswith((b"\n", b"\r"))
    return DataError(
        f"{file.name}: NUL bytes in {count(total, 'line')}: not a text file, a damaged one, or UTF-16 "
        f"(then: {opt.encoding('utf-16')}); export it again as UTF-8",
        problems,
        total,
    )


def _blocks(file: File) -> Iterator[bytes]:
    with file.path.open("rb") as stream:
        while block := stream.read(BLOCK):
            yield block


def records(file: File, delimiter: str, skip: int = 0) -> Iterator[tuple[int, list[str]]]:
    """Every record with the line on which it begins; raises a DataError at a broken quote."""
    usual = csv.field_size_limit(min(sys.maxsize, 2**31 - 1))
    begin = 1
    try:
        with file.path.open(encoding="utf-8-sig", newline="") as stream:
            collections.deque(itertools.islice(stream, skip), maxlen=0)
            reader = csv.reader(stream, delimiter=delimiter, strict=True)
            for record in reader:
                yield from [(begin + skip, record)] if record else []
                begin = reader.line_num + 1
    except csv.Error as error:
        place = f"{file.name}:{begin + skip}"
        if "unexpected end of data" in str(error):
            raise DataError(
                f'{place}: a quote (") is opened in this record and never closed; '
                'close it, or write a quote inside a quoted cell as ""'
            ) from None
        raise DataError(
            f'{place}: a quoted cell continues after its closing quote ({error}); write a quote inside it as ""'
        ) from None
    finally:
        csv.field_size_limit(usual)


def fits(record: Sequence[str], width: int) -> bool:
    """Whether a record has as many cells as the header; empty cells beyond it are trailing delimiters."""
    return len(record) >= width and not any(record[width:])


def plain_rows(file: TextFile) -> tuple[bytes, list[list[str]]]:
    """The content of a small file that can be read in only one way, and its rows; none of any other.

    Quotes, lone carriage returns, comment lines, byte order marks, blank lines and rows of another length leave room
    for interpretation, or are faults to be explained. Starting duckdb takes longer than reading a few plain rows.
    """
    path, width = file.file.path, len(file.names)
    if file.skip or not file.has_header or width == 1 or path.stat().st_size >= SMALL:
        return b"", []
    content = file.file.start if file.file.is_whole else path.read_bytes()
    returns = content.count(b"\r")
    is_mixed = returns and not returns == content.count(b"\r\n") == content.count(b"\n")
    if is_mixed or content.startswith(codecs.BOM_UTF8) or b'"' in content or b"\0" in content:
        return b"", []
    try:
        lines = content.decode().replace("\r\n", "\n").removesuffix("\n").split("\n")
    except UnicodeDecodeError:
        return b"", []
    rows = [line.split(file.delimiter) for line in lines[1:]]
    return content, rows if all(len(row) == width for row in rows) else []


def coded(cells: Mapping[str, Sequence[str | None]]) -> tuple[Codes, Mapping[str, int]] | None:
    """The rows with a label and an item, as integers, and how many lack which; None if there are too many items."""
    import numpy as np

    items, labels = cells[ITEM], cells[LABEL]
    kept = [place for place, label in enumerate(labels) if label is not None and items[place] is not None]
    missing = sum(label is None for label in labels)
    lacking = {"missing_label": missing, "missing_item": len(labels) - missing - len(kept)}
    codes, names = {}, {}
    for role, column in cells.items():
        values = [column[place] for place in kept]
        names[role] = sorted(value for value in set(values) if value is not None)
        places = dict(zip(names[role], range(len(names[role])), strict=True))
        codes[role] = np.array([-1 if value is None else places[value] for value in values], np.int32)
    if len(names[ITEM]) // MOST_COMPARED > 1:  # an engine compares the spellings of a sample
        return None
    people = names.get(ANNOTATOR, [])
    return in_order(codes[ITEM], codes[LABEL], codes.get(ANNOTATOR), names[LABEL], people, names[ITEM]), lacking


def delimited_copy(rows: Iterable[Sequence[str]], scratch: Path) -> Path:
    """A new file of these rows: commas, LF, and every cell quoted, because Python 3.11 would leave a lone CR bare."""
    path = new_file(scratch)
    with path.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream, lineterminator="\n", quoting=csv.QUOTE_ALL).writerows(rows)
    return path
