"""Every table as CSV and all figures as JSON, for spreadsheets and programs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spagree.errors import FileError, SpagreeError
from spagree.present.presented import Shown
from spagree.write import refuse_existing, write_atomically

if TYPE_CHECKING:
    import polars

# What a spreadsheet takes for the start of a formula, behind blanks and quotes and in its full-width forms.
FORMULA = "^[\\s\"']*[=+\\-@\t\r\uff1d\uff0b\uff0d\uff20]"


def write_tables(measured: Shown, figures: str, folder: Path, *, force: bool = False) -> list[Path]:
    """One CSV per table that exists, and agreement.json; existing files are refused before anything is written."""
    frames = {f"{name}.csv": frame for name, frame in tables(measured).items()}
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"{folder}: cannot be made ({error.strerror}); choose another place") from error
    paths = [folder / name for name in (*frames, "agreement.json")]
    for path in paths:
        refuse_existing(path, force=force)
    for path in paths[:-1]:
        write_atomically(path, partial(_write_csv, neutralised(frames[path.name])), force=force)
    write_atomically(paths[-1], lambda beside: beside.write_text(figures, encoding="utf-8"), force=force)
    return paths


def _write_csv(frame: polars.DataFrame, path: Path) -> None:
    """Every text quoted, since spreadsheets split lines at other characters as well; the mark tells Excel of UTF-8."""
    frame.write_csv(path, include_bom=True, quote_style="non_numeric")


def tables(measured: Shown) -> dict[str, polars.DataFrame]:
    """The tables that exist; what the source does not tell has none."""
    import polars

    sources: Mapping[str, Callable[[], Any]] = {
        "items": lambda: _home(measured.items()),
        "classes": measured.classes,
        "confusion": measured.confusion,
        "distribution": measured.distribution,
        "annotators": measured.annotators,
        "pairs": measured.pairs,
        "development": measured.development,
        "plan": measured.plan,
    }
    found: dict[str, polars.DataFrame] = {
        "schemes": polars.DataFrame(_estimates(measured.findings.schemes, "scheme"), infer_schema_length=None),
        "chance": polars.DataFrame(_estimates(measured.findings.chance, "coefficient"), infer_schema_length=None),
    }
    for name, make in sources.items():
        try:
            found[name] = make()
        except SpagreeError:
            continue
    return found


def _estimates(found: Mapping[str, Any], title: str) -> list[dict[str, Any]]:
    names = ("value", "stderr", "low", "high", "observed", "expected", "undefined")
    return [
        {title: name, **{key: getattr(each, key) for key in names if hasattr(each, key)}}
        for name, each in found.items()
    ]


def _home(frame: Any) -> polars.DataFrame:
    """Whatever kind of frame it is, as one that can be written."""
    import narwhals as nw

    from spagree.tally.engines import to_polars

    return to_polars(nw.from_native(frame).lazy())


def neutralised(frame: polars.DataFrame) -> polars.DataFrame:
    """Text that a spreadsheet would run as a formula gets an apostrophe in front; numbers stay numbers.

    >>> import polars
    >>> neutralised(polars.DataFrame({"label": ["=cmd()", "yes", " @x"], "change": [-1, 0, 1]})).rows()
    [("'=cmd()", -1), ('yes', 0), ("' @x", 1)]
    """
    import polars
    import polars.selectors as cs

    texts = frame.select(cs.string() | cs.categorical()).columns
    marked = [
        polars.when(polars.col(name).cast(polars.String).str.contains(FORMULA))
        .then(polars.lit("'") + polars.col(name).cast(polars.String))
        .otherwise(polars.col(name).cast(polars.String))
        .alias(name)
        for name in texts
    ]
    return frame.with_columns(marked)
