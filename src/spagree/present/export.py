"""Every table as CSV and all figures as JSON, for spreadsheets and programs."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from spagree.errors import FileError
from spagree.estimate import Estimate, Findings
from spagree.write import refuse_existing, write_atomically

if TYPE_CHECKING:
    import polars

# What spreadsheets read as the start of a formula, also after blanks and quotes and in full-width forms.
FORMULA = "^[\\s\"']*[=+\\-@\t\r\uff1d\uff0b\uff0d\uff20]"


def write_tables(
    findings: Findings, tables: Mapping[str, polars.DataFrame], figures: str, folder: Path, *, force: bool = False
) -> list[Path]:
    """One CSV per table, and agreement.json; existing files are refused before anything is written."""
    frames = {f"{name}.csv": frame for name, frame in {**_estimates(findings), **tables}.items()}
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"{folder}: cannot be created ({error.strerror}); choose another place") from error
    paths = [folder / name for name in (*frames, "agreement.json")]
    for path in paths:
        refuse_existing(path, force=force)
    for path in paths[:-1]:
        # All text is quoted, since spreadsheets also split lines at other characters; the mark tells Excel it is UTF-8.
        write = partial(neutralised(frames[path.name]).write_csv, include_bom=True, quote_style="non_numeric")
        write_atomically(path, write, force=force)
    write_atomically(paths[-1], lambda beside: beside.write_text(figures, encoding="utf-8"), force=force)
    return paths


def _estimates(findings: Findings) -> dict[str, polars.DataFrame]:
    """The weighting schemes and the coefficients as tables."""
    import polars

    names = ("value", "stderr", "low", "high", "observed", "expected", "undefined")
    kinds: dict[str, tuple[str, Mapping[str, Estimate]]] = {
        "schemes": ("scheme", findings.schemes),
        "chance": ("coefficient", findings.chance),
    }
    return {
        kind: polars.DataFrame(
            [
                {title: name, **{key: getattr(estimate, key) for key in names if hasattr(estimate, key)}}
                for name, estimate in estimates.items()
            ],
            infer_schema_length=None,
        )
        for kind, (title, estimates) in kinds.items()
    }


def neutralised(frame: polars.DataFrame) -> polars.DataFrame:
    """Text that a spreadsheet would run as a formula gets a leading apostrophe; numbers stay numbers.

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
