"""For the API pages: a docstring's ``>>>`` examples as code blocks, which Markdown would take for quotations."""

from __future__ import annotations

import re
from typing import Any

import griffe

EXAMPLE = re.compile(r"^>>> .*(?:\n.+)*", re.MULTILINE)


class DoctestBlocks(griffe.Extension):
    """Fence every example, up to the next empty line."""

    def on_object(self, *, obj: griffe.Object, **_kwargs: Any) -> None:
        """Change the docstring before it is rendered."""
        if obj.docstring:
            obj.docstring.value = EXAMPLE.sub(lambda found: f"```pycon\n{found.group()}\n```", obj.docstring.value)
