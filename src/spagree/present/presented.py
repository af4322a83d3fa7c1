"""How an agreement shows itself: in a terminal, a notebook, as JSON, as charts, as a page, as tables."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from spagree.estimate import Estimate
from spagree.present.document import document
from spagree.present.evidence import Measured
from spagree.present.notebook import to_html
from spagree.present.terminal import to_text
from spagree.present.wording import figure, interval, json_escapes
from spagree.read.annotations import Understood
from spagree.version import __version__

if TYPE_CHECKING:
    from spagree.present.charts.board import Charts


class Shown(Measured, Protocol):
    """An agreement that also says what was read and asked, and lists its items."""

    @property
    def understood(self) -> Understood | None:
        """What the reader made of the source."""
        ...

    @property
    def options(self) -> Mapping[str, Any]:
        """What was asked of measure()."""
        ...

    def items(self) -> Any:
        """Agreement of each item."""
        ...

    def intervals(self) -> Mapping[str, Estimate]:
        """SPA's interval for items and for annotators, where both are known."""
        ...


class Presented:
    """What every agreement can show; :class:`spagree.Agreement` is one."""

    __slots__ = ()

    @property
    def charts(self: Shown) -> Charts:
        """Every chart of the report, to be shown in a notebook or saved as SVG, PNG or PDF."""
        from spagree.present.charts.board import Charts

        return Charts(self)

    def report(self: Shown, path: str | os.PathLike[str], *, force: bool = False) -> Path:
        """Write one HTML page with everything: offline, printable, readable by people who never heard of kappa.

        >>> import spagree, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     page = spagree.measure("example:sparse").report(Path(folder) / "report.html")
        ...     page.read_text("utf-8").splitlines()[0]
        '<!doctype html>'
        """
        from spagree.present.report import write_report

        return write_report(self, Path(path), __version__, force=force)

    def export(self: Shown, folder: str | os.PathLike[str], *, force: bool = False) -> list[Path]:
        """Write every table as CSV and all figures as JSON into a folder, for spreadsheets and programs.

        >>> import spagree, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     files = spagree.measure("example:sparse").export(folder)
        ...     sorted(file.name for file in files)[:2]
        ['agreement.json', 'annotators.csv']
        """
        from spagree.present.export import write_tables

        return write_tables(self, in_json(self), Path(folder), force=force)

    def to_dict(self: Shown) -> dict[str, Any]:
        """All figures as plain values, in full precision."""
        return document(self.findings, __version__, self.intervals())

    def to_json(self: Shown, indent: int | None = 2) -> str:
        """All figures as JSON, in the documented format.

        >>> import json, spagree
        >>> agreement = spagree.measure([("q1", "ann", "yes"), ("q1", "bob", "yes")])
        >>> json.loads(agreement.to_json())["spa"]["value"]
        1.0
        """
        return in_json(self, indent)

    def __repr__(self: Shown) -> str:
        data, spa = self.findings.data, self.findings.spa
        used = f"{data.pairable_items:,} of {data.items:,} items, {data.annotations:,} annotations"
        return f"<Agreement: SPA {figure(spa.value)} ({interval(spa)}), {used}>"

    def __str__(self: Shown) -> str:
        return to_text(self.findings, self.understood, __version__)

    def _repr_html_(self: Shown) -> str:
        return to_html(self.findings)


def in_json(shown: Shown, indent: int | None = 2) -> str:
    """The figures of an agreement as JSON."""
    found = document(shown.findings, __version__, shown.intervals())
    return json_escapes(json.dumps(found, indent=indent, ensure_ascii=False, allow_nan=False))
