"""Charts as files, without a browser or a network, and as the objects that notebooks show."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from spagree.errors import MissingExtraError
from spagree.present.charts.spec import Spec, theme
from spagree.write import write_atomically

FORMATS = ("svg", "pdf", "png")
PNG_SCALE = 2.0


def check_extra() -> None:
    """Name the extra to install if charts cannot be drawn here."""
    try:
        import altair  # noqa: F401 (notebooks show its objects)
        import vl_convert  # noqa: F401
    except ImportError:
        raise MissingExtraError("charts", "drawing charts") from None


def to_altair(spec: Spec) -> Any:
    """The chart as an Altair object, in colours for paper."""
    check_extra()
    import altair

    kind = altair.VConcatChart if "vconcat" in spec else altair.LayerChart if "layer" in spec else altair.Chart
    return kind.from_dict({**spec, "config": theme()})


def save(chart: Any, stem: Path, formats: Sequence[str] = FORMATS) -> list[Path]:
    """Write a chart, as plain values or an Altair object, as ``stem`` in each format, replacing older files."""
    check_extra()
    import vl_convert

    paths = [stem.with_name(f"{stem.name}.{format}") for format in formats]
    spec = chart if isinstance(chart, dict) else chart.to_dict()
    svg = vl_convert.vegalite_to_svg(json.dumps(spec))
    for path, format in zip(paths, formats, strict=True):
        write_atomically(path, partial(_write_as, format, svg), force=True)
    return paths


def _write_as(format: str, svg: str, path: Path) -> None:
    """Convert the drawn chart, which is much faster than drawing it again."""
    import vl_convert

    if format == "png":
        path.write_bytes(vl_convert.svg_to_png(svg, scale=PNG_SCALE))
    elif format == "pdf":
        path.write_bytes(vl_convert.svg_to_pdf(svg))
    else:
        path.write_text(svg, "utf-8")
