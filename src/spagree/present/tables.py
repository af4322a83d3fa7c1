"""The one table model: a column says how its values are shown in a terminal, on a page, as JSON and as CSV."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from spagree.errors import FileError
from spagree.estimate import Estimate, Findings
from spagree.estimate.pairs import Overlap, Team
from spagree.present.words import (
    LONGEST_NAME,
    change,
    chips,
    escape_controls,
    figure,
    limits,
    number,
    percent,
    printable,
)
from spagree.write import refuse_existing, write_atomically

if TYPE_CHECKING:
    import polars


Kind = Literal["name", "words", "figure", "count", "percent", "change", "interval", "truth", "text", "ends"]
NOTHING = "–"
LONGEST_WORDS = 240
MARKED = ("agreement", "cohen_kappa", "scott_pi")  # with * if they rest on few items


@dataclass(frozen=True, slots=True)
class Column:
    """A column of rows and how it is shown; an interval needs the columns of its two ends.

    Text and ends are ready to be shown, like any text in a column of figures.
    """

    key: str
    title: str
    kind: Kind = "figure"
    ends: tuple[str, str] = ("low", "high")
    width: int | None = None
    """The longest text; None for the default of its kind."""
    spare: int | None = None
    """In which order narrow terminals do without columns; None if they never do."""

    @property
    def is_number(self) -> bool:
        """Whether it is right-aligned and sorted as a number."""
        return self.kind in ("figure", "count", "percent", "change")

    @property
    def is_folded(self) -> bool:
        """Whether a narrow terminal may break it into lines."""
        return self.kind in ("name", "words", "ends")


def columns(written: str, spare: Sequence[str] = ()) -> tuple[Column, ...]:
    """Columns written as ``key``, ``key:kind`` or ``key:kind=title``; without a title, they are called like their keys.

    A narrow terminal does without the ``spare`` ones, in this order. An interval's key tells the columns of its ends.

    >>> columns("class:name=first says; recent_interval")[1]
    Column(key='recent_interval', title='recent interval', kind='interval', ends=('recent_low', 'recent_high'), ...
    """
    made = []
    for column in written.split(";"):
        name, _, title = column.strip().partition("=")
        key, _, kind = name.partition(":")
        title = title if "=" in column else key.replace("_", " ")
        is_interval = key.endswith("interval")
        of = key.removesuffix("interval") if is_interval else ""
        kind = kind or ("interval" if is_interval else "figure")
        order = spare.index(key) if key in spare else None
        made.append(Column(key, title, kind, (f"{of}low", f"{of}high"), spare=order))  # type: ignore[arg-type]
    return tuple(made)


@dataclass(frozen=True, slots=True)
class Shown:
    """The text shown, and the full value for sorting and export; for an interval both ends.

    User text keeps its direction; ``chips`` are the options of a label that is a set; ``pick`` is the key by
    which a click filters the items.
    """

    shown: str
    value: float | str | None
    is_number: bool = False
    high: float | None = None
    is_foreign: bool = False
    chips: tuple[str, ...] = ()
    pick: str = ""


def figures(value: float | None, low: float | None, high: float | None) -> dict[str, Any]:
    """A figure with its interval as parts of a row, as numbers and in words."""
    return {"value": value, "low": low, "high": high, "shown": figure(value), "interval": limits(low, high)}


def in_figures(estimate: Estimate) -> dict[str, Any]:
    """An estimate as parts of a row."""
    return figures(estimate.value, estimate.low, estimate.high)


def cell(row: Mapping[str, Any], column: Column, keys: Mapping[str, str] = MappingProxyType({})) -> Shown:
    """One value as text."""
    if column.kind == "interval":
        low, high = (row[end] for end in column.ends)
        return Shown(NOTHING if low is None else limits(low, high), low, high=high)
    value = row.get(column.key)
    if value is None:
        return Shown(NOTHING, None, column.is_number)
    if column.kind == "name":
        name = escape_controls(str(value))
        shown = printable(str(value), column.width or LONGEST_NAME) or "''"
        return Shown(shown, name, is_foreign=True, chips=chips(str(value)), pick=keys.get(str(value), ""))
    if column.kind == "words":
        text = printable(str(value), column.width or LONGEST_WORDS)
        return Shown(text or "''", text)
    if column.kind == "truth":
        value = "yes" if value else ""
    if isinstance(value, str):
        return Shown(value, value)
    star = "*" if row.get("few") and column.key in MARKED else ""
    return Shown(_WORDS[column.kind](value) + star, value, is_number=True)


_WORDS = {"count": number, "percent": percent, "change": change, "figure": figure}
# the first to go in a narrow terminal comes first
SPARE = (
    *("commonest_share", "commonest", "scott_pi", "entropy", "spa_without", "change", "share", "cohen_kappa_interval"),
    *("items", "shared", "annotations", "pairs", "against_others", "cohen_kappa", "stands_out", "interval"),
)
COLUMNS = {
    column.key: replace(column, width={"name": 30, "words": 60}.get(column.kind))
    for column in columns(
        "class:name; annotator:name; other:name; label:name; tied:name; option:name; commonest:name=commonest label; "
        "votes:words; text:words; size:count=annotators; annotations:count; items:count; shared:count; pairs:count; "
        "marks:count; share:percent; missed:percent; expected:percent=by chance; coverage:percent=of all items; "
        "commonest_share:percent=its share; change:change; against_others:change; stands_out:truth; agreement; "
        "entropy; confirmed; found; cohen_kappa=kappa; kappa=beyond chance; scott_pi=pi; spa_without=SPA without; "
        "interval; confirmed_interval=interval; found_interval=interval; cohen_kappa_interval=kappa interval",
        SPARE,
    )
}
COLUMNS |= {column.key: column for column in columns("item:name; kind:words=group; names:words=who")}


TEAMS = ("kind", "size", "items", "shared", "names")
MOST_TEAMS, MOST_NAMED = 20, 4


def team_rows(overlap: Overlap) -> list[dict[str, Any]]:
    """Teams that share no item, those that share few with others, and whoever shares none with anybody."""
    told: list[tuple[str, Team, int | None]] = [("team", team, None) for team in overlap.teams[:MOST_TEAMS]]
    told += [("thinly connected", bridge.team, bridge.items) for bridge in overlap.thin_bridges[:MOST_TEAMS]]
    told += [("share no item with anybody", Team(overlap.alone, 0), None)] if overlap.alone else []
    rows = []
    for kind, team, shared in told:
        names, rest = team.annotators, len(team.annotators) - MOST_NAMED
        listed = ", ".join(printable(name, 16) for name in names[:MOST_NAMED])
        more = f" and {rest:,} more" if rest > 0 else ""
        row = {"kind": kind, "size": len(names), "items": team.items or None, "shared": shared}
        rows.append({**row, "names": listed + more})
    return rows


def development_columns(what: str = "SPA") -> tuple[Column, ...]:
    """Agreement over time: so far, and on the items finished last."""
    written = f"when:words=until; annotations:count; items:count; spa={what} so far; interval"
    spare = ("items", "annotations", "recent_interval", "interval")
    return columns(f"{written}; recent=recent items; recent_interval=interval", spare)


def plain_rows(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Rows for JSON: names as text, undefined values as null, with the reason.

    >>> plain_rows([{"item": 7, "agreement": None, "undefined": "alone"}, {"item": 8, "undefined": None}])
    [{'item': '7', 'agreement': None, 'undefined': 'alone'}, {'item': '8'}]
    """
    texts = {key for key, column in COLUMNS.items() if column.kind in ("name", "words")}
    return [
        {
            name: str(value) if name in texts and value is not None else value
            for name, value in row.items()
            if name != "undefined" or value is not None
        }
        for row in rows
    ]


# CSV ----------------------------------------------------------------------------------------------


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
        # all text is quoted: spreadsheets also split lines at other characters; the mark tells Excel it is UTF-8
        write = partial(neutralised(frames[path.name]).write_csv, include_bom=True, quote_style="non_numeric")
        write_atomically(path, write, force=force)
    write_atomically(paths[-1], lambda beside: beside.write_text(figures, encoding="utf-8"), force=force)
    return paths


def _estimates(findings: Findings) -> dict[str, polars.DataFrame]:
    """The weighting schemes and the coefficients as tables."""
    import polars

    names = ("value", "stderr", "low", "high", "observed", "expected", "undefined")
    made = {}
    for kind, title, estimates in (
        ("schemes", "scheme", findings.schemes),
        ("chance", "coefficient", findings.chance),
    ):
        rows = [
            {title: name, **{key: getattr(each, key) for key in names if hasattr(each, key)}}
            for name, each in estimates.items()
        ]
        made[kind] = polars.DataFrame(rows, infer_schema_length=None)
    return made


def neutralised(frame: polars.DataFrame) -> polars.DataFrame:
    """Text that a spreadsheet would run as a formula gets a leading apostrophe; numbers stay numbers.

    >>> import polars
    >>> neutralised(polars.DataFrame({"label": ["=cmd()", "yes", " @x"], "change": [-1, 0, 1]})).rows()
    [("'=cmd()", -1), ('yes', 0), ("' @x", 1)]
    """
    import polars

    texts = polars.selectors.string() | polars.selectors.categorical()
    return frame.with_columns(texts.cast(polars.String).str.replace(f"({FORMULA})", "'$1"))
