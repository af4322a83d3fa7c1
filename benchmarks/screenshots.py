"""Reports on ten shapes of data, and a picture of each: to look at after every change of the page.

    python -m benchmarks screenshots [FOLDER]

Writes NAME.html, NAME-top.png (the first screen) and NAME.png (the whole page) into build/screenshots, and the same of
a phone: NAME-phone-top.png and NAME-phone.png.
"""

from __future__ import annotations

import random
import shutil
import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import spagree

FOLDER = Path(__file__).parent.parent / "build" / "screenshots"
FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update")
SCREENS = {"": (1280, 900), "-phone": (390, 844)}
# What lies in details that nobody opened is not drawn.
DRAWN = "[...document.querySelectorAll('.chart')].every((each) => !each.clientWidth || 'drawn' in each.dataset)"
OPTIONS = ("price", "quality", "delivery", "support")
WORDS = ("שלום", "להתראות", "אולי")


def ordinal(draw: random.Random) -> Iterator[tuple[Any, ...]]:
    """Ratings from 1 to 5 that differ by a step now and then."""
    for item in range(150):
        truth = draw.randint(1, 5)
        for who in draw.sample(range(8), 3):
            yield item, f"rater {who}", str(min(5, max(1, truth + draw.choice((-1, 0, 0, 0, 1)))))


def multi_label(draw: random.Random) -> Iterator[tuple[Any, ...]]:
    """Sets of topics."""
    for item in range(120):
        truth = {option for option in OPTIONS if draw.random() < 0.4}
        for who in draw.sample(range(6), 3):
            chosen = sorted(option for option in OPTIONS if (option in truth) != (draw.random() < 0.12))
            yield item, f"ann{who}", "[" + ", ".join(f'"{option}"' for option in chosen) + "]"


def right_to_left(draw: random.Random) -> Iterator[tuple[Any, ...]]:
    """Hebrew labels and names beside Latin ones."""
    for item in range(90):
        truth = draw.choice(WORDS)
        for who in draw.sample(("דני", "Ann", "שרה", "Bob"), 3):
            yield f"פריט {item}", who, truth if draw.random() < 0.7 else draw.choice(WORDS)


def two_annotators(draw: random.Random) -> Iterator[tuple[Any, ...]]:
    """A table by two people."""
    for item in range(120):
        truth = draw.choice(("spam", "ham", "unsure"))
        for who in ("Ann", "Bob"):
            yield item, who, truth if draw.random() < 0.85 else "unsure"


def near_perfect(draw: random.Random) -> Iterator[tuple[Any, ...]]:
    """Nearly everybody agrees on nearly everything."""
    for item in range(400):
        truth = draw.choice("xyz")
        for who in range(3):
            yield item, f"p{who}", truth if draw.random() < 0.995 else draw.choice("xyz")


def chance_level(draw: random.Random) -> Iterator[tuple[Any, ...]]:
    """Everybody guesses."""
    for item in range(200):
        for who in draw.sample(range(10), 3):
            yield item, f"p{who}", draw.choice(("yes", "no", "maybe"))


def simulated(**options: Any) -> Any:
    """Annotations with known truth; see spagree.simulate."""
    return spagree.simulate(seed=3, **options).frame


def shapes() -> dict[str, spagree.Agreement]:
    """Ten kinds of data, each measured."""
    draw = random.Random(14)
    return {
        "few-items": spagree.measure(simulated(items=12, annotators=4, classes=3, per_item=(2, 3))),
        "36-classes": spagree.measure(simulated(items=900, annotators=12, classes=36, per_item=3, quality=(0.5, 1.0))),
        "200-annotators": spagree.measure(simulated(items=2000, annotators=200, per_item=(2, 9), quality=(0.3, 1.0))),
        "two-annotators": spagree.measure(list(two_annotators(draw))),
        "ordinal": spagree.measure(list(ordinal(draw)), metric="ordinal"),
        "multi-label": spagree.measure(list(multi_label(draw)), metric="jaccard"),
        "right-to-left": spagree.measure(list(right_to_left(draw))),
        "near-perfect": spagree.measure(list(near_perfect(draw))),
        "broken-assumption": spagree.measure(
            simulated(items=800, annotators=12, classes=5, per_item=(2, 6), adaptive=True, quality=(0.5, 1.0))
        ),
        "chance-level": spagree.measure(list(chance_level(draw))),
    }


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    pages = [agreement.report(folder / f"{name}.html", force=True, target=0.7) for name, agreement in shapes().items()]
    chromium = shutil.which("chromium")
    if chromium is None:
        print(f"{len(pages)} pages in {folder}; no Chromium here for pictures")
        return
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=list(FLAGS))
        for page, (screen, (width, height)) in product(pages, SCREENS.items()):
            tab = browser.new_page(viewport={"width": width, "height": height})
            tab.goto(page.as_uri())
            while not tab.evaluate(DRAWN):  # asked from outside: the page's policy evaluates no text
                tab.wait_for_timeout(50)
            tab.screenshot(path=page.with_name(f"{page.stem}{screen}-top.png"))
            tab.screenshot(path=page.with_name(f"{page.stem}{screen}.png"), full_page=True)
            tab.close()
            print(page.with_name(f"{page.stem}{screen}.png"))
        browser.close()


if __name__ == "__main__":
    main()
