"""A column of web addresses in a plain table: the cards of the report link to them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import polars
import pytest

import spagree

ROWS = [
    (f"q{item}", who, "no" if (item + place) % 3 else "yes", f"https://tool.example/{item}?a=1&b=2")
    for item in range(6)
    for place, who in enumerate(("ann", "bob", "cyd"))
]
FRAME = polars.DataFrame(ROWS, schema=["item", "annotator", "label", "url"], orient="row")
ADDRESSES = {f"q{item}": f"https://tool.example/{item}?a=1&b=2" for item in range(6)}


def links(agreement: spagree.Agreement) -> dict[str, str]:
    """The address of each item, where the source has one."""
    found = agreement.disputed()
    return dict(found.select("item", "link").rows()) if "link" in found.columns else {}


def without_link(frame: polars.DataFrame, **options: Any) -> bool:
    agreement = spagree.measure(frame, **options)
    return links(agreement) == {} and agreement.understood is not None and "link" not in agreement.understood.columns


@pytest.mark.parametrize("name", ["url", "URL", "Link", "task_url", "Task URL", "HREF"])
def test_a_csv_links_its_items(name: str, tmp_path: Path) -> None:
    path = tmp_path / "votes.csv"
    FRAME.rename({"url": name}).write_csv(path)
    agreement = spagree.measure(path)
    assert links(agreement) == ADDRESSES
    assert agreement.understood is not None
    assert agreement.understood.columns["link"] == name and "link" in agreement.understood.guessed
    assert agreement.spa == spagree.measure(FRAME.drop("url")).spa


def test_the_page_leads_to_the_tasks(tmp_path: Path) -> None:
    path = tmp_path / "votes.csv"
    FRAME.write_csv(path)
    html = spagree.measure(path).report(tmp_path / "page.html").read_text("utf-8")
    found = re.findall(r'<a href="(https://tool[^"]*)" rel="noopener noreferrer" target="_blank">', html)
    assert sorted(found) == [f"https://tool.example/{item}?a=1&amp;b=2" for item in range(6)]


def test_parquet_and_frames_link_their_items(tmp_path: Path) -> None:
    FRAME.write_parquet(tmp_path / "votes.parquet")
    for source in (tmp_path / "votes.parquet", FRAME, FRAME.lazy(), FRAME.to_pandas(), FRAME.to_arrow()):
        assert links(spagree.measure(source)) == ADDRESSES


def test_a_wide_table_links_its_items(tmp_path: Path) -> None:
    wide = FRAME.pivot("annotator", index=["item", "url"], values="label")
    wide = wide.rename({"ann": "rater_1", "bob": "rater_2", "cyd": "rater_3"})
    wide.write_csv(tmp_path / "wide.csv")
    for format in ("wide", "auto"):
        agreement = spagree.measure(tmp_path / "wide.csv", format=format)
        assert links(agreement) == ADDRESSES
        assert agreement.data.annotators == 3
        assert "columns_aside" not in [warning.code for warning in agreement.warnings]
    keyless = spagree.measure(wide.drop("item"), format="wide")
    assert sorted(links(keyless).values()) == sorted(ADDRESSES.values())


def test_some_items_may_have_no_address() -> None:
    some = FRAME.with_columns(url=polars.when(polars.col("item") != "q0").then("url"))
    assert links(spagree.measure(some)) == {**ADDRESSES, "q0": None}


def test_what_is_not_the_address_of_an_item_is_no_link() -> None:
    url = polars.col("url")
    assert without_link(FRAME.with_columns(url=polars.lit("javascript:alert(1)")))
    assert without_link(FRAME.with_columns(url=url.str.replace("https://", "")))
    assert without_link(FRAME.with_columns(url=polars.lit(None, polars.String)))
    assert without_link(FRAME.with_columns(url=polars.concat_str(url, "annotator")))
    assert without_link(FRAME.rename({"url": "source"}))
    assert without_link(FRAME, text="url")
