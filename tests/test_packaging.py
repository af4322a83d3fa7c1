"""What a package index shows: the README, with links that lead somewhere."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
SOURCE = "https://example.org/spagree/"


@pytest.fixture(scope="module")
def build() -> Any:
    """The module that hatchling runs."""
    pytest.importorskip("hatchling", reason="hatchling builds the package")
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def targets(markdown: str) -> list[str]:
    return re.findall(r"\]\(([^)\s]+)\)", markdown)


def test_relative_links_lead_to_files_here() -> None:
    relative = [each for each in targets(README.read_text("utf-8")) if not each.startswith(("http", "#"))]
    assert len(relative) > 10
    assert [each for each in relative if not (ROOT / each.partition("#")[0]).exists()] == []


def test_with_a_source_links_and_pictures_are_absolute_and_without_one_links_are_text(build: Any) -> None:
    markdown = README.read_text("utf-8")
    absolute, alone = (build.for_index(markdown, source) for source in (SOURCE, None))
    assert all(each.startswith("https://") for each in targets(absolute) + targets(alone))
    assert len(targets(absolute)) == len(targets(markdown))
    relative = [each for each in targets(markdown) if not each.startswith(("https://", "#"))]
    assert relative and all(f"/main/{each})" in absolute for each in relative)
    assert f"({SOURCE}raw/main/docs/images/report-top.png)" in absolute
    texts = re.findall(r"(?<!!)\[([^\]]+)\]\((?!https?://|#)", markdown)
    assert texts and all(text in alone and f"[{text}](" not in alone for text in texts)
    assert "![" not in alone


@pytest.mark.parametrize("link", ["[paper](https://arxiv.org/abs/1)", "[below](#use-it)"])
def test_other_links_stay(build: Any, link: str) -> None:
    assert build.for_index(link, None) == build.for_index(link, SOURCE) == link


def test_the_hook_describes_the_package(build: Any) -> None:
    metadata: dict[str, Any] = {"urls": {"Source": SOURCE}}
    build.ReadmeHook(str(ROOT), {}).update(metadata)
    assert metadata["readme"]["content-type"] == "text/markdown"
    assert metadata["readme"]["text"] == build.for_index(README.read_text("utf-8"), SOURCE)


@pytest.mark.parametrize("source", [None, SOURCE])
def test_no_relative_address_is_left_in_the_page(build: Any, source: str | None) -> None:
    html = MarkdownIt("commonmark").render(build.for_index(README.read_text("utf-8"), source))
    assert "<h1>spagree</h1>" in html
    assert re.findall(r'(?:href|src)="(?!https://|#)[^"]*"', html) == []


def test_the_readme_names_the_commands_that_set_everything_up() -> None:
    readme, targets = (ROOT / "README.md").read_text("utf-8"), (ROOT / "Makefile").read_text("utf-8")
    for target in ("demo", "test"):
        assert f"`make {target}`" in readme
        assert f"\n{target}:" in targets
