"""Records of Parquet and Arrow files: values as text, class numbers replaced by the names in the file's metadata."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from spagree.errors import DataError, FileError, count
from spagree.read.files.paths import File
from spagree.read.tools.source import FOLDER, Source
from spagree.read.tools.tool import ReaderOptions

Names = Mapping[str, Any]  # a feature: {"_type": "ClassLabel", "names": […]}, or what holds such features


def column_records(source: Source, options: ReaderOptions) -> Iterator[tuple[str, int, Mapping[str, Any]]]:
    """The rows of all files with their numbers, filtered by --where."""
    records = _every_record(source)
    return records if options.where is None else options.where.filtered(records)


def _every_record(source: Source) -> Iterator[tuple[str, int, Mapping[str, Any]]]:
    files = _folder_files(source) if source.shape == FOLDER else source.files
    for file in files:
        frame, features = _loaded(file)
        for number, row in enumerate(frame.iter_rows(named=True), 1):
            named = {name: _as_text(value, features.get(name), file) for name, value in row.items()}
            yield f"{file.name}: row {number}", number, named


def _folder_files(source: Source) -> list[File]:
    """The tables of a saved dataset."""
    names = [name for name in source.keys if name.endswith((".arrow", ".parquet"))]
    return [File(Path(source.path) / name, str(Path(source.path) / name)) for name in names]


def _loaded(file: File) -> tuple[Any, Names]:
    import polars

    try:
        if file.path.read_bytes()[:4] == b"PAR1":
            text = polars.read_parquet_metadata(file.path).get("huggingface", "{}")
            frame = polars.read_parquet(file.path, glob=False, hive_partitioning=False)
            return frame, json.loads(text).get("info", {}).get("features", {})
        # The features that save_to_disk writes next to the tables.
        info = file.path.parent / "dataset_info.json"
        features: Names = json.loads(info.read_text("utf-8")).get("features") or {} if info.is_file() else {}
        return _arrow(file), features
    except (polars.exceptions.PolarsError, OSError, ValueError) as error:
        reason = str(error).splitlines()[0]
        raise FileError(f"{file.name}: truncated or damaged ({reason}); copy or download it again") from error


def _arrow(file: File) -> Any:
    """Saved datasets are streams, other Arrow files have a footer."""
    import polars

    is_file = file.path.read_bytes()[:6] == b"ARROW1"
    content = io.BytesIO(file.path.read_bytes())
    return polars.read_ipc(content) if is_file else polars.read_ipc_stream(content)


def _as_text(value: Any, feature: Any, file: File) -> Any:
    """A value with its numbers as text; classes by name."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, list):
        inner = feature.get("feature", feature) if isinstance(feature, dict) else (feature or [None])[0]
        return [_as_text(element, inner, file) for element in value]
    if isinstance(value, dict):
        inner = feature.get("feature", feature) if isinstance(feature, dict) else {}
        return {name: _as_text(element, inner.get(name), file) for name, element in value.items()}
    is_class = isinstance(feature, dict) and feature.get("_type") == "ClassLabel"
    return _class_name(value, feature, file) if is_class else str(value)


def _class_name(value: Any, feature: Names, file: File) -> str | None:
    names = feature["names"]
    if value == -1:  # the code of a missing class
        return None
    if not isinstance(value, int) or not 0 <= value < len(names):
        classes = count(len(names), "class", "classes")
        raise DataError(f"{file.name}: class {value} has no name; the file names {classes}, numbered from 0")
    return str(names[value])
