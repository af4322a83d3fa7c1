"""The pictures of docs/monitor.md: the demo's page when agreement has fallen, on a desktop and on a phone.

    make monitor-pictures            (or: python benchmarks/monitor_pictures.py FOLDER)

The demo's annotations are posted as fast as the server takes them, until the notice is there; needs Chromium.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import httpx
from screenshots import DRAWN, FLAGS, SCREENS

from monitor import started
from spagree.monitor.demo import replayed

FOLDER = Path(__file__).parent.parent / "docs" / "images"
TOGETHER = 150  # annotations in a request: fifty items
FOLLOWS = "document.getElementById('connection').textContent.includes('live')"
NAMES = {"": "monitor-top.png", "-phone": "monitor-phone.png"}


def has_fallen(client: httpx.Client) -> bool:
    """Post the demo's annotations until agreement is seen to have fallen."""
    rows = [given._asdict() for _, given in replayed()]
    for row in rows:
        del row["source"]
    for start in range(0, len(rows), TOGETHER):
        client.post("/api/v1/annotations", json=rows[start : start + TOGETHER]).raise_for_status()
        if client.get("/api/v1/agreement").raise_for_status().json()["live"]["notice"]:
            return True
    return False


def picture(playwright: Any, address: str, folder: Path) -> None:
    """The first screen of the page, in both widths."""
    browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=list(FLAGS))
    for screen, (width, height) in SCREENS.items():
        tab = browser.new_page(viewport={"width": width, "height": height})
        tab.goto(address)
        while not tab.evaluate(f"{DRAWN} && {FOLLOWS}"):
            tab.wait_for_timeout(50)
        tab.screenshot(path=folder / NAMES[screen])
        print(folder / NAMES[screen])
    browser.close()


def main() -> None:
    from playwright.sync_api import sync_playwright

    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    with (
        tempfile.TemporaryDirectory() as store,
        started(Path(store) / "demo.sqlite") as server,
        httpx.Client(base_url=server.address, timeout=600) as client,
    ):
        if not has_fallen(client):
            raise SystemExit("the demo ended without the notice; is its drift still found?")
        with sync_playwright() as playwright:
            picture(playwright, server.address, folder)


if __name__ == "__main__":
    main()
