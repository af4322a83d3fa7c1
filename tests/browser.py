"""A real Chromium for tests of pages: offline, and whatever goes wrong in it is kept."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip
NAMES = ("chromium", "chromium-browser", "google-chrome")
WATCH = """
window.violations = [];
document.addEventListener("securitypolicyviolation", (event) => window.violations.push(event.violatedDirective));
"""
# What lies in details that nobody opened is not drawn.
DRAWN = "[...document.querySelectorAll('.chart')].every((each) => !each.clientWidth || 'drawn' in each.dataset)"


def until(page: Any, expression: str, seconds: float = 180) -> None:
    """Wait for something in the page; asked from outside, because the page's own policy forbids to evaluate text."""
    end = time.monotonic() + seconds
    while not page.evaluate(expression):
        assert time.monotonic() < end, f"not within {seconds} s: {expression}"
        page.wait_for_timeout(50)


def chromium() -> str:
    """The path of a Chromium, or a skip that says what is missing."""
    for name in NAMES:
        found = shutil.which(name)
        if found:
            return found
    pytest.skip("no Chromium on this machine; tests/system.sh installs one where it can")


@dataclass
class Visit:
    """An open page, and what it said, asked for and tried."""

    page: Any
    errors: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    dialogs: list[str] = field(default_factory=list)

    def violations(self) -> list[str]:
        return list(self.page.evaluate("window.violations"))

    def marks(self, chart: str) -> int:
        """Shapes that were drawn: dots, cells, lines, bars."""
        shapes = f"[data-chart='{chart}'] svg .mark-symbol path, [data-chart='{chart}'] svg .mark-rect path"
        return int(self.page.locator(shapes).count())


class Browser:
    """One Chromium for many visits.

    A page that a visit has left is used again: its process has compiled the report's scripts already, which takes
    longer than drawing the charts.
    """

    def __init__(self, chromium: Any) -> None:
        self._chromium = chromium
        self._shared = self._context(permissions=["clipboard-read", "clipboard-write"])
        self._left: list[Any] = []

    def _context(self, **options: Any) -> Any:
        # Without motion, as readers may ask for: smooth scrolling makes a test wait for seconds.
        context = self._chromium.new_context(offline=True, reduced_motion="reduce", **options)
        context.set_default_timeout(180_000)  # milliseconds, for a busy machine
        context.add_init_script(WATCH)
        return context

    @contextmanager
    def _page(self, options: dict[str, Any]) -> Iterator[Any]:
        """A page in a context of its own if it needs options, otherwise one that was left or a new one."""
        if options:
            context = self._context(**options)
            try:
                yield context.new_page()
            finally:
                context.close()
            return
        page = self._left.pop() if self._left else self._shared.new_page()
        try:
            yield page
            page.mouse.move(0, 0)
            page.goto("about:blank")
        except BaseException:
            page.close()
            raise
        self._left.append(page)

    @contextmanager
    def visit(
        self, path: Path, *, width: int = 1100, color_scheme: str = "light", script: bool = True, **options: Any
    ) -> Iterator[Visit]:
        """Open the file; the page tells the visit what it says, asks for and tries."""
        if not script:
            options["java_script_enabled"] = False
        with self._page(options) as page:
            visit = Visit(page)
            listeners = {
                "console": lambda message: visit.errors.append(f"{message.type}: {message.text}"),
                "pageerror": lambda error: visit.errors.append(str(error)),
                "request": lambda request: visit.requests.append(request.url),
                "dialog": lambda dialog: (visit.dialogs.append(dialog.message), dialog.dismiss()),
            }
            for event, listener in listeners.items():
                page.on(event, listener)
            page.bring_to_front()
            page.set_viewport_size({"width": width, "height": 900})
            page.emulate_media(media="null", color_scheme=color_scheme)
            page.goto(path.as_uri())
            if script:
                until(page, DRAWN)
            yield visit
            for event, listener in listeners.items():
                page.remove_listener(event, listener)


def contrast(visit: Visit) -> list[tuple[float, str]]:
    """WCAG's contrast of every text with what lies behind it."""
    return visit.page.evaluate(  # type: ignore[no-any-return]
        """() => {
          const part = (text) => (text.match(/[\\d.]+/g) || []).map(Number);
          const light = ([r, g, b]) => [r, g, b].map(c => c / 255).map(c => c <= .03928 ? c / 12.92 : ((c + .055) / 1.055) ** 2.4)
            .reduce((sum, c, i) => sum + c * [.2126, .7152, .0722][i], 0);
          const behind = (e) => { for (; e; e = e.parentElement) { const c = part(getComputedStyle(e).backgroundColor); if (c.length === 3 || c[3] > 0) return c; } return [255, 255, 255]; };
          const ratio = (a, b) => { const [x, y] = [light(a), light(b)].sort((p, q) => q - p); return (x + .05) / (y + .05); };
          const found = [];
          for (const e of document.querySelectorAll('body *')) {
            const own = [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim());
            if (!own || ['SCRIPT', 'STYLE', 'NOSCRIPT'].includes(e.tagName) || e.closest('.mark-rect, .role-mark')) continue;
            const style = getComputedStyle(e);
            const colour = part(e.namespaceURI.endsWith('svg') ? style.fill : style.color);
            found.push([ratio(colour, behind(e)), e.tagName + '.' + e.getAttribute('class') + ' ' + e.textContent.slice(0, 30)]);
          }
          return found;
        }"""
    )


@contextmanager
def started() -> Iterator[Browser]:
    """Start the browser, and end it."""
    path = chromium()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
        try:
            yield Browser(running)
        finally:
            running.close()
