"""The live page in a real Chromium: it follows, keeps its place, survives a restart, and shows labels as text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from serving import Running, running, wait_for

from browser import DRAWN, WATCH, Browser, until

HOSTILE = [
    "<img src=x onerror=alert(1)>", "</script><script>alert(1)</script>", "{{7*7}}", "javascript:alert(1)",
    "' onclick='x", "\u202eabc",
]  # fmt: skip


def opened(browser: Browser, address: str, **options: Any) -> tuple[Any, list[str]]:
    context = browser._chromium.new_context(viewport={"width": options.pop("width", 1100), "height": 900})
    context.set_default_timeout(180_000)  # milliseconds, for a busy machine
    page, troubles = context.new_page(), []
    page.on("console", lambda told: troubles.append(told.text) if told.type == "error" else None)
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.on("dialog", lambda dialog: (troubles.append("dialog"), dialog.dismiss()))
    page.add_init_script(WATCH)
    page.goto(address)
    until(page, DRAWN)
    return page, troubles


def fill(monitor: Running, items: int, label: str = "yes", first: int = 0) -> None:
    rows = [
        {"item": f"i{i}", "annotator": who, "label": label if i % 3 or who != "cyd" else "no", "time": 1.7e9 + 60 * i}
        for i in range(first, first + items)
        for who in ("ann", "bob", "cyd")
    ]
    assert monitor.post(*rows).status_code == 200


def test_the_page_follows_and_keeps_its_place(browser: Browser, tmp_path: Path) -> None:
    with running(tmp_path / "s.sqlite", target=0.5) as monitor:
        fill(monitor, 30)
        page, troubles = opened(browser, monitor.address)
        until(page, "document.getElementById('connection').textContent.includes('live')")
        page.locator("input[name=text]").fill("half a wo")
        page.evaluate("window.scrollTo(0, 300)")
        before = page.evaluate("[document.body.dataset.version, window.scrollY]")
        fill(monitor, 30, first=30)
        until(page, f"document.body.dataset.version !== '{before[0]}'")
        until(page, "document.getElementById('live').textContent.includes('180')")
        until(page, DRAWN)
        assert page.locator("input[name=text]").input_value() == "half a wo"
        assert abs(page.evaluate("window.scrollY") - before[1]) < 300
        assert page.evaluate(
            "[...document.querySelectorAll('time[data-at]')].every(e => !e.textContent.includes('UTC'))"
        )
        page.goto(monitor.address + page.locator("a[href^='/report']").first.get_attribute("href"))
        until(page, DRAWN)
        assert "180 annotations of 60 items" in page.locator("header").inner_text()
        assert troubles == [] and page.evaluate("window.violations") == []
        page.context.close()


def test_labels_are_text(browser: Browser, tmp_path: Path) -> None:
    with running(tmp_path / "s.sqlite") as monitor:
        rows = [
            {"item": f"{text}{i}", "annotator": who + HOSTILE[0], "label": text if who != "b" else HOSTILE[i % 6]}
            | {"question": HOSTILE[1]}
            for i in range(6)
            for text in HOSTILE
            for who in "abc"
        ]
        assert monitor.post(*rows).status_code == 200
        monitor.client.post("/api/v1/marks", json={"project": "default", "text": HOSTILE[1]})
        page, troubles = opened(browser, monitor.address)
        assert page.evaluate("document.querySelectorAll('img, iframe').length") == 0
        assert HOSTILE[0] in page.evaluate("document.body.innerText")
        assert troubles == [] and page.evaluate("window.violations") == []
        page.context.close()


def test_a_phone_a_mark_and_the_overview(browser: Browser, tmp_path: Path) -> None:
    with running(tmp_path / "s.sqlite") as monitor:
        fill(monitor, 20)
        page, troubles = opened(browser, monitor.address, width=390)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        page.fill("input[name=text]", "new <guidelines>")
        page.click("#mark-form button")
        until(page, DRAWN)
        wait_for(lambda: monitor.hub.marks)
        assert monitor.hub.marks["default"][0][1] == "new <guidelines>"
        monitor.post({"item": "1", "annotator": "a", "label": "x", "project": "another"})
        page.goto(monitor.address)
        assert "another" in page.evaluate("document.body.innerText")
        assert troubles == []
        page.context.close()


def test_the_page_says_when_the_server_is_gone(browser: Browser, tmp_path: Path) -> None:
    with running(tmp_path / "s.sqlite") as monitor:
        fill(monitor, 5)
        page, _ = opened(browser, monitor.address)
        until(page, "document.getElementById('connection').textContent.includes('live')")
    until(page, "document.getElementById('connection').textContent.includes('no connection')")
    page.context.close()
