"""The example reports of docs/report.md, the charts of docs/gallery.md, and pictures where a Chromium is at hand.

    make example-reports

Three pages from data that ship with spagree or are simulated with a fixed seed, so that everybody gets the same.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from pathlib import Path

import polars

import spagree

DOCS = Path(__file__).parent.parent / "docs"
PAGES, PICTURES = DOCS / "examples", DOCS / "images"
STARTED = 1_709_283_600  # 1 March 2024, 9 o'clock
FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update")
MOODS = {"A": "positive", "B": "negative", "C": "mixed", "D": "neutral"}
OPENINGS = ("The battery", "Delivery", "The screen", "Support", "The price", "Setting it up", "The strap", "The manual")
VERDICTS = ("is fine, I suppose", "could not be better", "was a disappointment", "is what you would expect")


def reviews() -> polars.DataFrame:
    """A project as it might come out of an annotation tool: texts, dates, nine people of different care."""
    drawn = spagree.simulate(items=500, annotators=9, classes=4, per_item=(2, 4), skew=0.5, quality=(0.45, 1.0), seed=9)
    number = polars.col("item").str.extract(r"(\d+)").cast(polars.Int64)
    words = [f"{opening} {verdict}." for opening in OPENINGS for verdict in VERDICTS]
    return drawn.frame.with_columns(
        polars.from_epoch(polars.col("time") * 1500 + STARTED).alias("time"),
        polars.col("label").replace_strict(MOODS),
        (number * 7 % len(words)).replace_strict(dict(enumerate(words))).alias("review"),
    )


def pages(folder: Path) -> dict[str, spagree.Agreement]:
    """What each page is about; simulated data go through a file, as a user's would."""
    adaptive = spagree.simulate(
        items=800, annotators=12, classes=5, per_item=(2, 6), adaptive=True, skew=0.7, quality=(0.5, 1.0), seed=3
    )
    reviews().write_csv(folder / "reviews.csv")
    adaptive.save(folder / "escalated.csv")
    return {
        "sparse": spagree.measure("example:sparse"),
        "reviews": spagree.measure(folder / "reviews.csv", text="review"),
        "broken-assumption": spagree.measure(folder / "escalated.csv"),
    }


def draw_gallery() -> None:
    """Each chart that docs/gallery.md shows, as its code draws it."""
    table = spagree.simulate(items=400, annotators=8, per_item=3, quality=(0.5, 1.0), seed=7).frame
    batch = polars.format("batch {}", polars.col("item").str.slice(4, 1))
    by_batch = spagree.measure(table.with_columns(batch=batch), by="batch").charts
    charts = spagree.measure("example:sparse").charts
    (PICTURES / "charts").mkdir(exist_ok=True)
    for name in re.findall(r"\(images/charts/(\w+)\.svg\)", (DOCS / "gallery.md").read_text("utf-8")):
        chart = getattr(by_batch if name == "groups" else charts, name)()
        chart.save(PICTURES / "charts" / f"{name}.svg")


def main() -> None:
    PAGES.mkdir(exist_ok=True)
    draw_gallery()
    with tempfile.TemporaryDirectory() as folder:
        for name, agreement in pages(Path(folder)).items():
            path = agreement.report(PAGES / f"{name}.html", force=True)
            print(f"{path.relative_to(DOCS.parent)}  {path.stat().st_size / 1e6:.1f} MB")
    chromium = shutil.which("chromium")
    if chromium is None:
        print("no Chromium here: the pictures stay as they are")
        return
    draw(chromium)


def draw(chromium: str) -> None:
    """Pictures for the documentation: the first screen, a part further down, a phone in the dark."""
    from playwright.sync_api import sync_playwright

    PICTURES.mkdir(exist_ok=True)
    shots = (
        ("report-top", "reviews", 960, 1040, "light", None),
        ("report-broken", "broken-assumption", 960, 1120, "light", None),
        ("report-where", "reviews", 960, 1000, "light", "#figure-confusion"),
        ("report-phone", "reviews", 360, 1000, "dark", None),
    )
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=list(FLAGS))
        for name, page, width, height, scheme, place in shots:
            tab = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
            tab.goto((PAGES / f"{page}.html").as_uri())
            tab.wait_for_function("document.querySelectorAll('.chart:not([data-drawn])').length === 0")
            if place:
                tab.locator(place).evaluate("place => place.scrollIntoView({behavior: 'instant'})")
            path = PICTURES / f"{name}.png"
            tab.screenshot(path=path)
            print(f"{path.relative_to(DOCS.parent)}  {path.stat().st_size / 1e3:.0f} kB")
        browser.close()


if __name__ == "__main__":
    main()
