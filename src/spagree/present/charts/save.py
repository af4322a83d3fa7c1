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


def check_extra() -> tuple[Any, Any]:
    """Altair, whose objects notebooks show, and what draws them; or the extra to install."""
    try:
        import altair
        import vl_convert
    except ImportError:
        raise MissingExtraError("charts", "drawing charts") from None
    return altair, vl_convert


def to_altair(spec: Spec) -> Any:
    """The chart as an Altair object, in colours for paper."""
    altair, _ = check_extra()
    kind = altair.VConcatChart if "vconcat" in spec else altair.LayerChart if "layer" in spec else altair.Chart
    return kind.from_dict({**spec, "config": theme()})


def save(chart: Any, stem: Path, formats: Sequence[str] = FORMATS) -> list[Path]:
    """Write a chart, plain or an Altair object, as ``stem`` in each format, replacing older files."""
    _, vl_convert = check_extra()
    paths = [stem.with_name(f"{stem.name}.{format}") for format in formats]
    spec = chart if isinstance(chart, dict) else chart.to_dict()
    svg = vl_convert.vegalite_to_svg(json.dumps(spec))
    for path, format in zip(paths, formats, strict=True):
        drawn = svg.encode()  # converted, which is much faster than drawing it again
        if format == "png":
            drawn = vl_convert.svg_to_png(svg, scale=PNG_SCALE)
        elif format == "pdf":
            drawn = vl_convert.svg_to_pdf(svg)
        write_atomically(path, partial(Path.write_bytes, data=drawn), force=True)
    return paths
