"""Every picture and example page of the documentation, made from the code as it is: `make docs` does.

    python -m benchmarks pictures FOLDER

Writes FOLDER/examples and FOLDER/images: example reports and pictures of them, the charts of docs/report.md and
docs/compare.md, and the live page of the monitor's demo when agreement has fallen. All data ship with spagree or are
simulated with a fixed seed. Screenshots need Chromium.
"""

from __future__ import annotations

import argparse
import doctest
import re
import shutil
import tempfile
from contextlib import chdir
from pathlib import Path
from typing import Any

import httpx
import polars
from screenshots import DRAWN, FLAGS, SCREENS

import spagree
from monitor import started
from spagree.monitor.feeds import replayed

DOCS = Path(__file__).parent.parent / "docs"
STARTED = 1_709_283_600  # 1 March 2024, 9 o'clock
TOGETHER = 150  # annotations in a request: fifty items
FOLLOWS = "document.getElementById('connection').textContent.includes('live')"
MOODS = {"A": "positive", "B": "negative", "C": "mixed", "D": "neutral"}
PEOPLE = ("ann", "bob", "cyd", "dan", "eve", "fay", "gus", "hal", "ida")
OPENINGS = ("The battery", "Delivery", "The screen", "Support", "The price", "Setting it up", "The strap", "The manual")
VERDICTS = ("is fine, I suppose", "could not be better", "was a disappointment", "is what you would expect")


def reviews() -> polars.DataFrame:
    """A project with a story: texts, dates, nine people of whom one is careless, and two classes that are confused."""
    drawn = spagree.simulate(items=500, annotators=9, classes=4, per_item=(2, 4), skew=0.5, quality=0.95, seed=9).frame
    number = polars.col("item").str.extract(r"(\d+)").cast(polars.Int64)
    person = polars.col("annotator").str.extract(r"(\d+)").cast(polars.Int64)
    draw = (number * 37 + person * 61) % 100  # the same for everybody who makes the pictures again
    slip = polars.col("label").replace_strict({"A": "B", "B": "C", "C": "D", "D": "A"})
    swap = polars.col("label").replace_strict({"A": "A", "B": "B", "C": "D", "D": "C"})
    label = polars.when((person == 4) & (draw < 55)).then(slip).when(draw % 4 == 0).then(swap)
    words = [f"{opening} {verdict}." for opening in OPENINGS for verdict in VERDICTS]
    return drawn.with_columns(
        polars.from_epoch(polars.col("time") * 1500 + STARTED).alias("time"),
        label.otherwise(polars.col("label")).replace_strict(MOODS).alias("label"),
        polars.col("annotator").replace_strict(dict(zip(sorted(drawn["annotator"].unique()), PEOPLE, strict=True))),
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


def draw_reports(folder: Path) -> None:
    """The example pages, one file each."""
    with tempfile.TemporaryDirectory() as scratch:
        for name, agreement in pages(Path(scratch)).items():
            agreement.report(folder / "examples" / f"{name}.html", force=True)


def draw_gallery(folder: Path) -> None:
    """Each chart that docs/report.md shows, as its code draws it."""
    table = spagree.simulate(items=400, annotators=8, per_item=3, quality=(0.5, 1.0), seed=7).frame
    batch = polars.format("batch {}", polars.col("item").str.slice(4, 1))
    by_batch = spagree.measure(table.with_columns(batch=batch), by="batch").charts
    charts = spagree.measure("example:sparse").charts
    for name in re.findall(r"\(images/charts/(\w+)\.svg\)", (DOCS / "report.md").read_text("utf-8")):
        chart = getattr(by_batch if name == "groups" else charts, name)()
        chart.save(folder / "images" / "charts" / f"{name}.svg")


def draw_comparisons(folder: Path) -> None:
    """The charts of what docs/compare.md computes."""
    names: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as scratch, chdir(scratch):
        for code in re.findall(r"^```python\n(.*?)^```", (DOCS / "compare.md").read_text("utf-8"), re.M | re.S):
            parsed = doctest.DocTestParser().get_doctest(code, names, "compare.md", None, 0)
            doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(parsed, clear_globs=False)
            names = parsed.globs
        images = folder / "images"
        spagree.compare("round1.csv", "round2.csv").chart().save(images / "compare-rounds.svg")
        names["models"].chart().save(images / "compare-model.svg")


def draw_screens(folder: Path, browser: Any) -> None:
    """The first screen of reports, a part further down, a phone in the dark."""
    shots = (
        ("report-top", "reviews", 1000, 760, "light", None),
        ("report-phone", "reviews", 360, 1000, "dark", None),
    )
    for name, page, width, height, scheme, place in shots:
        tab = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
        tab.goto((folder / "examples" / f"{page}.html").as_uri())
        tab.wait_for_function(DRAWN)
        if place:
            tab.locator(place).evaluate("place => place.scrollIntoView({behavior: 'instant'})")
        tab.screenshot(path=folder / "images" / f"{name}.png")


def draw_monitor(folder: Path, browser: Any) -> None:
    """The demo's annotations, posted as fast as the server takes them until the notice is there."""
    rows = [given._asdict() for _, given in replayed()]
    for row in rows:
        del row["source"]
    with (
        tempfile.TemporaryDirectory() as store,
        started(Path(store) / "demo.sqlite") as server,
        httpx.Client(base_url=server.address, timeout=600) as client,
    ):
        for start in range(0, len(rows), TOGETHER):
            client.post("/api/v1/annotations", json=rows[start : start + TOGETHER]).raise_for_status()
            if client.get("/api/v1/agreement").raise_for_status().json()["live"]["notice"]:
                break
        else:
            raise SystemExit("the demo ended without the notice; is its drift still found?")
        for name, (width, height) in {"monitor-top": SCREENS[""], "monitor-phone": SCREENS["-phone"]}.items():
            tab = browser.new_page(viewport={"width": width, "height": height})
            tab.goto(server.address)
            while not tab.evaluate(f"{DRAWN} && {FOLLOWS}"):  # asked from outside: the page's policy evaluates no text
                tab.wait_for_timeout(50)
            tab.screenshot(path=folder / "images" / f"{name}.png")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder.resolve()
    for name in ("examples", "images/charts"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    draw_reports(folder)
    draw_gallery(folder)
    draw_comparisons(folder)
    chromium = shutil.which("chromium")
    if chromium is None:
        raise SystemExit("no Chromium here, which takes the screenshots: sh tests/system.sh installs it")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=list(FLAGS))
        draw_screens(folder, browser)
        draw_monitor(folder, browser)
        browser.close()
    print(*sorted(folder.glob("examples/*")), *sorted(folder.rglob("images/**/*.*")), sep="\n")


if __name__ == "__main__":
    main()
