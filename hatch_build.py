"""README.md as a package index shows it: beside no other file, so that relative links would lead nowhere.

With a `Source` among the project's URLs its links and pictures are absolute; without one, links are plain text and
pictures are left out.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

PICTURE = re.compile(r"!\[([^\]]*)\]\((?!https?://|#)([^)\s]+)\)")
LINK = re.compile(r"(?<!!)\[([^\]]+)\]\((?!https?://|#)([^)\s]+)\)")


def for_index(readme: str, source: str | None) -> str:
    """The README with links that work anywhere."""
    if source is None:
        return LINK.sub(r"\1", PICTURE.sub("", readme))
    base = source.rstrip("/")
    return LINK.sub(rf"[\1]({base}/blob/main/\2)", PICTURE.sub(rf"![\1]({base}/raw/main/\2)", readme))


class ReadmeHook(MetadataHookInterface):
    """Found by hatchling, which builds the package."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set the description of the package."""
        readme = (Path(self.root) / "README.md").read_text("utf-8")
        text = for_index(readme, metadata.get("urls", {}).get("Source"))
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
