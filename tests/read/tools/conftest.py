import json
from pathlib import Path
from typing import Any

import pytest
from exports import Write


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """A file in the folder of the test: text as it is, objects as JSON, a list as JSON lines if the name ends with l."""

    def write_any(name: str, content: Any) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        is_lines = isinstance(content, list) and name.endswith("l")
        text = "\n".join(map(json.dumps, content)) + "\n" if is_lines else json.dumps(content)
        path.write_text(content if isinstance(content, str) else text, encoding="utf-8")
        return path

    return write_any
