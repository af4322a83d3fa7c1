"""The pages in docs/examples: they can be made again, and what they say is still true."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

import spagree
from spagree.present.wording import figure, interval

ROOT = Path(__file__).parents[2]
NAMES = ("sparse", "reviews", "broken-assumption")


@pytest.fixture(scope="module")
def maker() -> ModuleType:
    spec = importlib.util.spec_from_file_location("example_reports", ROOT / "benchmarks" / "example_reports.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def pages(maker: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> dict[str, spagree.Agreement]:
    found: dict[str, spagree.Agreement] = maker.pages(tmp_path_factory.mktemp("examples"))
    return found


def test_the_list_of_examples(pages: dict[str, spagree.Agreement]) -> None:
    assert tuple(pages) == NAMES
    assert sorted(path.stem for path in (ROOT / "docs" / "examples").glob("*.html")) == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_page_says_what_is_measured_today(name: str, pages: dict[str, spagree.Agreement]) -> None:
    page = (ROOT / "docs" / "examples" / f"{name}.html").read_text("utf-8")
    found = pages[name]
    assert f"<strong>{figure(found.spa.value)}</strong>" in page
    assert f"95% interval: {interval(found.spa)}" in page
    assert re.findall(r'<section id="(\w+)"', page)[-1] == "method"
    assert len(page.encode()) < 1_300_000


def test_one_of_them_shows_a_broken_assumption(pages: dict[str, spagree.Agreement]) -> None:
    assert [name for name, found in pages.items() if found.missingness.broken] == ["broken-assumption"]
    page = (ROOT / "docs" / "examples" / "broken-assumption.html").read_text("utf-8")
    assert "Broken: people agree less on items with more annotations" in page
    assert "Score again with only the first annotations of each item." in page


def test_one_of_them_has_texts_and_dates() -> None:
    page = (ROOT / "docs" / "examples" / "reviews.html").read_text("utf-8")
    assert "The battery" in page and "2024-03-" in page


def test_pictures_are_small() -> None:
    pictures = list((ROOT / "docs" / "images").glob("*.png"))
    assert len([path for path in pictures if path.name.startswith("report-")]) == 4
    assert all(path.stat().st_size < 250_000 for path in pictures)
