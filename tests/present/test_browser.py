"""The report in a real browser: it draws, sorts, downloads and prints; it fetches nothing and runs no label."""

from __future__ import annotations

import codecs
import csv
import io
import random
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars
import pytest

import spagree
from browser import DRAWN, Browser, Visit, contrast, until
from command import Run
from spagree.present.report.page import page, section_html, specs
from spagree.present.report.sections import sections
from spagree.present.verdicts import tell

CHARTS = ["confusion", "matrix", "annotators", "development"]
HOSTILE = (
    "</script><script>window.pwned = 1</script>",
    "<img src=x onerror='window.pwned = 1'>",
    '"><svg onload=alert(1)>',
    "javascript:alert(1)",
    "{{7*7}}",
    "${7*7}",
    "<!--",
    "=cmd|' /C calc'!A0",
    "\x1b[31mred",
    "left\u202eright",
    "bell\x07\x01",
    "l\u2028ine",
    "x" * 400,
    "x" * 400 + "y",
    "&lt;b&gt;",
    "' onmouseover='alert(1)",
)
COLUMNS = ("</th><script>alert(2)</script>", "=who", "{{label}}", "<img src=y onerror=alert(3)>")
OBJECT_NAMES = ("constructor", "toString", "valueOf", "hasOwnProperty", "__proto__", "isPrototypeOf")
OPEN = "document.querySelectorAll('details').forEach(each => each.open = true)"


@pytest.fixture(scope="module")
def sparse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return spagree.measure("example:sparse").report(tmp_path_factory.mktemp("sparse") / "report.html", target=0.7)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    draw = random.Random(7)
    rows = [
        (
            f"{HOSTILE[item % len(HOSTILE)]}{item // len(HOSTILE)}",
            HOSTILE[who],
            draw.choice(HOSTILE),
            HOSTILE[-1 - item % len(HOSTILE)],
        )
        for item in range(48)
        for who in draw.sample(range(len(HOSTILE)), 3)
    ]
    frame = polars.DataFrame(rows, schema=list(COLUMNS), orient="row")
    item, annotator, label, text = COLUMNS
    found = spagree.measure(frame, item=item, annotator=annotator, label=label, text=text)
    return found.report(tmp_path_factory.mktemp("hostile") / "report.html")


@pytest.fixture(scope="module")
def opened(browser: Browser, sparse: Path) -> Iterator[Visit]:
    with browser.visit(sparse) as opened:
        yield opened


@pytest.fixture(scope="module")
def opened_hostile(browser: Browser, hostile: Path) -> Iterator[Visit]:
    with browser.visit(hostile) as opened:
        yield opened


@pytest.fixture
def visit(opened: Visit) -> Iterator[Visit]:
    """One visit for all tests that change nothing but the window and what is open; drawing takes most of the time."""
    yield in_front(opened)
    as_before(opened.page)


@pytest.fixture(scope="module")
def opened_reviews(browser: Browser, reviews: Path) -> Iterator[Visit]:
    with browser.visit(reviews) as opened:
        yield opened


@pytest.fixture
def visit_hostile(opened_hostile: Visit) -> Iterator[Visit]:
    yield in_front(opened_hostile)
    as_before(opened_hostile.page)


@pytest.fixture
def visit_reviews(opened_reviews: Visit) -> Iterator[Visit]:
    yield in_front(opened_reviews)
    opened_reviews.page.evaluate("document.querySelector('form.filters').reset()")
    until(opened_reviews.page, "document.querySelectorAll('.card.out').length === 0")
    as_before(opened_reviews.page)


def in_front(visit: Visit) -> Visit:
    """A page behind another one is painted once a second, and every click waits for that."""
    visit.page.bring_to_front()
    return visit


def as_before(page: Any) -> None:
    page.mouse.move(0, 0)
    page.emulate_media(media="null", color_scheme="light")
    page.set_viewport_size({"width": 1100, "height": 900})
    page.evaluate("document.querySelectorAll('details').forEach(each => each.open = false)")
    page.evaluate("window.scrollTo(0, 0)")
    until(page, "document.querySelector('[data-chart=annotators] svg').getBoundingClientRect().width > 500")


def test_it_draws_every_chart_without_errors_and_without_asking_for_anything(visit: Visit, sparse: Path) -> None:
    assert visit.page.evaluate("[...document.querySelectorAll('.chart')].map(place => place.dataset.chart)") == CHARTS
    marks = {chart: visit.marks(chart) for chart in CHARTS}
    assert marks["confusion"] == 2 * 6, "bars and their marks"
    assert marks["annotators"] == 10
    assert marks["development"] > 40
    assert visit.errors == []
    assert visit.requests == [sparse.as_uri()]
    assert visit.violations() == []


def test_the_first_screen_ends_before_700_pixels_and_holds_the_verdict_the_number_and_the_steps(visit: Visit) -> None:
    page = visit.page
    page.set_viewport_size({"width": 1280, "height": 900})
    for part in (".status", ".spa", "p.sentence", ".bar", ".key", ".steps", ".checks"):
        box = page.locator(part).first.bounding_box()
        assert box is not None and box["y"] + box["height"] < 700
    assert page.locator(".spa").inner_text().startswith("0.576")
    assert "58% of the time" in page.locator("p.sentence").inner_text()
    assert page.locator(".steps li").count() in (1, 2, 3)
    bar = page.locator(".bar").first.get_attribute("aria-label")
    assert bar is not None and "0.576" in bar and "0.527 to 0.623" in bar
    assert (
        page.locator(".bar .target").count() == 1 and "below the target of 0.7" in page.locator(".status").inner_text()
    )
    page.evaluate("window.scrollTo(0, 4000)")
    nav = page.locator("nav.sections")
    until(page, "document.querySelector('nav.sections').getBoundingClientRect().top === 0")
    until(page, "document.querySelectorAll('nav.sections a[aria-current]').length > 0")
    assert nav.is_visible()


def test_the_page_is_short(visit: Visit) -> None:
    """The aims of a page: 4,500 pixels, 900 words and five charts on a screen, and three sheets of paper."""
    page = visit.page
    page.set_viewport_size({"width": 1280, "height": 900})
    assert page.evaluate("document.documentElement.scrollHeight") <= 4_500
    assert len(page.locator("body").inner_text().split()) <= 900
    assert page.evaluate("[...document.querySelectorAll('.chart')].filter((each) => each.clientWidth).length") <= 5
    for paper in ("A4", "Letter"):
        assert len(re.findall(rb"/Type\s*/Page\b", page.pdf(format=paper))) <= 3


@pytest.mark.parametrize(("width", "height"), [(390, 844), (360, 740)])
def test_the_first_screen_of_a_phone_reaches_the_first_action(visit: Visit, width: int, height: int) -> None:
    visit.page.set_viewport_size({"width": width, "height": height})
    for part in (".spa", ".status", ".bar", ".key", ".steps li:first-child b"):
        box = visit.page.locator(part).first.bounding_box()
        assert box is not None and box["y"] + box["height"] < height, part


def test_a_tooltip_shows_worded_figures_in_small_letters(visit: Visit) -> None:
    visit.page.hover("[data-chart='annotators'] .mark-symbol path >> nth=2")
    tip = visit.page.locator("#vg-tooltip-element.visible")
    tip.wait_for()
    shown = dict(zip(tip.locator("td.key").all_inner_texts(), tip.locator("td.value").all_inner_texts(), strict=True))
    assert {"annotator", "agreement", "interval", "rests on"} == set(shown) and " to " in shown["interval"]
    sizes = "cells => cells.map(e => [e.getBoundingClientRect().height, parseFloat(getComputedStyle(e).fontSize)])"
    for height, letters in tip.locator("td").evaluate_all(sizes):
        assert height < 30 and 12 <= letters <= 15
    assert visit.violations() == []


def test_sorting_goes_both_ways_by_value_and_says_so(visit: Visit) -> None:
    page = visit.page
    page.locator("#figure-annotators summary").click()
    heading = page.locator("#table-annotators thead th").nth(4)
    cells = (
        "[...document.querySelectorAll('#table-annotators tbody tr')].map(row => Number(row.cells[4].dataset.value))"
    )
    heading.locator("button").click()
    assert heading.get_attribute("aria-sort") == "ascending"
    assert page.evaluate(cells) == sorted(page.evaluate(cells))
    heading.locator("button").click()
    assert heading.get_attribute("aria-sort") == "descending"
    assert page.evaluate(cells) == sorted(page.evaluate(cells), reverse=True)
    page.locator("#table-annotators thead th").nth(2).locator("button").click()
    lower = [float(text.split()[0]) for text in page.locator("#table-annotators tbody td.interval").all_inner_texts()]
    assert len(lower) == 25 and lower == sorted(lower)
    names = page.locator("#table-annotators thead th").nth(0)
    names.locator("button").press("Enter")
    assert page.locator("#table-annotators tbody th").first.inner_text() == "a01"
    assert heading.get_attribute("aria-sort") is None


def downloaded(visit: object, table: str, file: str | None = None) -> list[list[str]]:
    page = visit.page  # type: ignore[attr-defined]
    page.evaluate(OPEN)
    with page.expect_download() as waiting:
        page.locator(f"[data-table='table-{table}']").click()
    assert waiting.value.suggested_filename == f"{file or table}.csv"
    text = Path(waiting.value.path()).read_bytes()
    assert text.startswith(codecs.BOM_UTF8)
    return list(csv.reader(io.StringIO(text.decode("utf-8-sig"))))


def test_a_table_can_be_downloaded_in_full_precision(visit: Visit) -> None:
    rows = downloaded(visit, "classes")
    found = spagree.measure("example:sparse").classes()
    assert rows[0][:2] == ["class", "agreement"]
    assert [(row[0], float(row[1])) for row in rows[1:]] == found.select("class", "agreement").rows()


def test_intervals_are_downloaded_as_two_numbers_and_parts_of_tables_say_so(visit: Visit) -> None:
    rows = downloaded(visit, "pairs", "pairs-first-100")
    course = downloaded(visit, "development")
    found = spagree.measure("example:sparse")
    names = ["annotator", "other", "agreement", "low", "high", "kappa", "shared"]
    assert rows[0] == names and len(rows) == 101
    expected = found.pairs().head(100).select("agreement", "low", "high").rows()
    assert [tuple(float(cell) if cell else None for cell in row[2:5]) for row in rows[1:]] == expected
    assert {"low", "high", "recent_low", "recent_high"} <= set(course[0])
    assert {len(row) for row in course} == {len(course[0])}


def test_negative_ends_stay_numbers_and_names_stay_whole(browser: Browser, tmp_path: Path) -> None:
    long = "x" * 300
    labels = (long, "a;=1+1", "", "b")
    rows = [(item, who, labels[(item + who * (item % 3)) % 4]) for item in range(12) for who in range(2)]
    with browser.visit(spagree.measure(rows).report(tmp_path / "page.html")) as visit:
        page = visit.page
        pairs, classes = downloaded(visit, "pairs"), downloaded(visit, "classes")
        with page.expect_download() as waiting:
            page.locator("[data-table='table-classes']").click()
        raw = Path(waiting.value.path()).read_text("utf-8-sig")
    assert len(pairs) == 2 and all(float(row[5]) <= 1 for row in pairs[1:] if row[5])
    assert {row[0] for row in classes[1:]} == set(labels)
    split = [cell for row in csv.reader(io.StringIO(raw), delimiter=";") for cell in row]
    assert not [cell for cell in split if cell.startswith("=")]


def test_hostile_names_stay_text(visit_hostile: Visit, hostile: Path) -> None:
    visit, page = visit_hostile, visit_hostile.page
    page.evaluate(OPEN)
    until(page, DRAWN)
    for chart in ("annotators", "confusion", "matrix"):
        assert visit.marks(chart) >= 8
        page.locator(f"[data-chart='{chart}'] .mark-symbol path, [data-chart='{chart}'] .mark-rect path").nth(3).hover(
            force=True
        )
    body = page.locator("body").inner_text()
    for text in ("</script><script>", "<img src=x", "{{7*7}}", "javascript:alert(1)", "&lt;b&gt;", "${7*7}", "<!--"):
        assert text in body
    assert "\\x1b[31mred" in body and "left\\u202eright" in body and "bell\\x07\\x01" in body
    assert not {"\x1b", "\u202e", "\x07"} & set(body)
    assert page.evaluate("window.pwned") is None
    assert visit.dialogs == []
    assert visit.errors == []
    assert visit.requests == [hostile.as_uri()]
    assert visit.violations() == []
    assert page.locator("img, iframe, object, embed, link, form[action], [formaction]").count() == 0
    assert page.locator("a[href]").evaluate_all("links => links.every(link => link.getAttribute('href')[0] === '#')")
    assert page.locator("script").count() == 5


def test_a_download_holds_no_formula(visit_hostile: Visit) -> None:
    rows = downloaded(visit_hostile, "classes") + downloaded(visit_hostile, "annotators")
    texts = [cell for row in rows for cell in row]
    assert any(text.startswith("'=cmd") for text in texts)
    signed = [text for text in texts if text.startswith(("+", "-"))]
    assert all(float(text) < 0 for text in signed)  # numbers of ours stay numbers
    assert not [text for text in texts if text.startswith(("=", "@"))]


def test_names_that_start_alike_stay_apart_in_charts(visit_hostile: Visit) -> None:
    visit_hostile.page.evaluate(OPEN)
    until(visit_hostile.page, DRAWN)
    names = visit_hostile.page.locator("[data-chart='matrix'] .role-axis-label text").all_text_contents()
    assert len({name for name in names if "xxxx" in name}) == 2 * 2, "on either axis"


def test_names_that_every_object_has_are_drawn_in_full(browser: Browser, tmp_path: Path) -> None:
    """Vega keeps names as keys of objects, where these are found without having been put there."""
    draw = random.Random(3)
    rows = [
        (item, who, draw.choice(OBJECT_NAMES)) for item in range(200) for who in draw.sample(OBJECT_NAMES, 5)
    ]  # every two share more than ten items
    found = spagree.measure([*rows, *((f"{name} too", name, name) for name in OBJECT_NAMES)])
    with browser.visit(found.report(tmp_path / "page.html")) as visit:
        size = len(OBJECT_NAMES)
        visit.page.evaluate(OPEN)
        until(visit.page, DRAWN)
        cells = {
            chart: visit.page.locator(f"[data-chart='{chart}'] svg .role-mark.mark-rect path").count()
            for chart in ("matrix", "pairs")
        }
        assert cells == dict.fromkeys(("matrix", "pairs"), size * (size - 1) // 2)
        for chart in ("annotators",):
            assert visit.marks(chart) == size
            names = visit.page.locator(f"[data-chart='{chart}'] .role-axis-label text").all_text_contents()
            assert {f"'{name}'" for name in OBJECT_NAMES} <= set(names)
        assert visit.errors == []


def test_the_policy_is_what_keeps_scripts_out(browser: Browser, sparse: Path, tmp_path: Path) -> None:
    """The same page with a script put into it, as if escaping had failed: the browser refuses to run it."""
    page = sparse.read_text("utf-8").replace(
        "<main", "<script>window.pwned = 1</script><img src=x onerror='window.pwned = 2'><main", 1
    )
    path = tmp_path / "broken.html"
    path.write_text(page, "utf-8")
    with browser.visit(path) as visit:
        assert visit.page.evaluate("window.pwned") is None
        assert any(directive.startswith("script-src") for directive in visit.violations())


@pytest.mark.parametrize("name", ["visit", "visit_hostile"], ids=["sparse", "hostile"])
def test_nothing_is_clipped_at_any_width(name: str, request: pytest.FixtureRequest) -> None:
    """Neither the page nor a chart is wider than the screen, and no text of a chart leaves it."""
    outside = """() => [...document.querySelectorAll('.chart svg text')].filter(text => text.textContent.trim())
      .filter(text => { const box = text.getBoundingClientRect(); return box.left < 0 || box.right > innerWidth; })
      .map(text => text.closest('.chart').dataset.chart + ': ' + text.textContent)"""
    wide = (
        "width => [...document.querySelectorAll('.chart svg, h1, h2, p, li, dd, .card, form')]"
        ".filter(e => e.offsetParent !== null && !e.closest('nav')).filter(e => e.getBoundingClientRect().right > width + 1)"
        ".map(e => e.tagName + e.className + e.textContent.slice(0, 30))"
    )
    visit: Visit = request.getfixturevalue(name)
    page = visit.page
    page.evaluate(OPEN)
    for width in (320, 390, 768, 1920):
        page.evaluate("document.querySelectorAll('.chart').forEach(each => each.removeAttribute('data-drawn'))")
        page.set_viewport_size({"width": width, "height": 900})
        until(page, DRAWN)  # once more, in the new width
        until(page, f"document.documentElement.scrollWidth === {width}")
        until(page, f"({wide})({width}).length === 0")
        until(page, f"({outside})().length === 0")


def test_a_chart_follows_the_width_of_the_window(visit: Visit) -> None:
    chart = visit.page.locator("[data-chart='annotators'] svg")
    before = chart.bounding_box()["width"]
    visit.page.set_viewport_size({"width": 400, "height": 800})
    until(visit.page, "document.querySelector('[data-chart=annotators] svg').getBoundingClientRect().width < 380")
    assert before > 600
    assert visit.errors == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_can_be_read(visit: Visit, scheme: str) -> None:
    visit.page.emulate_media(color_scheme=scheme)
    visit.page.evaluate(OPEN)
    found = contrast(visit)
    assert len(found) > 300
    assert [each for each in found if each[0] < 4.5] == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_forced_colours_keep_every_text_readable_and_the_parts_of_a_bar_apart(visit: Visit, scheme: str) -> None:
    visit.page.emulate_media(forced_colors="active", color_scheme=scheme)
    looks = "(of => of.fill + of.opacity)(getComputedStyle(each))"
    parts = visit.page.evaluate(
        f"[...document.querySelectorAll('.top svg.bar:last-of-type rect')].map(each => {looks})"
    )
    pale = [each for each in contrast(visit) if each[0] < 4.5]
    visit.page.emulate_media(forced_colors="none")
    assert pale == [] and len(parts) >= 3 and len(set(parts)) == len(parts)


def test_charts_follow_light_dark_and_print_without_being_drawn_again(visit: Visit) -> None:
    ink = "getComputedStyle(document.querySelector('[data-chart=annotators] .role-axis-label text')).fill"
    page_colour = "getComputedStyle(document.body).backgroundColor"
    visit.page.emulate_media(color_scheme="dark")
    dark = (visit.page.evaluate(ink), visit.page.evaluate(page_colour))
    visit.page.emulate_media(color_scheme="light")
    light = (visit.page.evaluate(ink), visit.page.evaluate(page_colour))
    visit.page.emulate_media(color_scheme="dark", media="print")
    paper = (visit.page.evaluate(ink), visit.page.evaluate(page_colour))
    assert light == ("rgb(27, 39, 51)", "rgb(255, 255, 255)")
    assert dark == ("rgb(232, 237, 242)", "rgb(18, 24, 30)")
    assert paper == ("rgb(0, 0, 0)", "rgb(255, 255, 255)")


def test_on_paper_what_is_closed_stays_closed(visit: Visit) -> None:
    page = visit.page
    assert page.locator("details[open]").count() == 0
    page.emulate_media(media="print")
    assert page.locator("nav").is_hidden() and page.locator("#table-annotators").is_hidden()
    assert page.locator("form.filters").is_hidden() and page.locator(".card:visible").count() == 6
    page.evaluate(OPEN)
    head = "getComputedStyle(document.querySelector('#table-annotators thead')).display"
    assert page.locator("#table-annotators").is_visible() and page.evaluate(head) == "table-header-group"


@pytest.mark.parametrize("name", ["visit", "visit_hostile"], ids=["sparse", "hostile"])
def test_paper_is_wide_enough(name: str, request: pytest.FixtureRequest) -> None:
    """A4 without its margins; whatever is wider makes Chromium shrink the whole report."""
    visit: Visit = request.getfixturevalue(name)
    page = visit.page
    page.set_viewport_size({"width": 673, "height": 900})
    page.evaluate(OPEN)
    page.emulate_media(media="print")
    wide = (
        "[...document.querySelectorAll('body *:not(svg *)')].filter(e => e.getBoundingClientRect().right > 673.5)"
        ".map(e => e.tagName + e.id)"
    )
    until(page, f"{wide}.length === 0")  # once the charts are drawn in their new width
    until(page, "document.documentElement.scrollWidth === 673")
    lines = """table => [...table.querySelectorAll('tbody th')].map(name => {
      const text = document.createRange();
      text.selectNodeContents(name.querySelector('bdi') ?? name);
      return text.getClientRects().length;
    })"""
    assert name == "visit_hostile" or set(page.locator("#table-annotators").evaluate(lines)) <= {0, 1}  # not torn


def test_long_tables_are_cut_on_paper_and_say_so(visit: Visit) -> None:
    page = visit.page
    page.evaluate(OPEN)
    seen = "table => [...table.tBodies[0].rows].filter(row => row.offsetParent).length"
    note = page.locator("#table-pairs ~ .below .paper, .table-box:has(#table-pairs) + .below .paper")
    assert page.locator("#table-pairs").evaluate(seen) == 100 and note.is_hidden()
    page.emulate_media(media="print")
    assert page.locator("#table-pairs").evaluate(seen) == 20
    assert note.inner_text() == "On paper: the first 20 of 100 rows."
    assert page.locator("#figure-confusion .paper").count() == 0


def test_links_and_buttons_can_be_told_apart_without_seeing_them(visit: Visit) -> None:
    for part in ("figure summary", ".download"):
        found = visit.page.locator(part)
        names = found.evaluate_all("all => all.map(each => each.getAttribute('aria-label'))")
        assert len(names) > 1 and len(set(names)) == len(names)
        shown = found.evaluate_all("all => all.map(each => each.textContent)")
        assert all(name.startswith(f"{text}: ") for name, text in zip(names, shown, strict=True))


def test_only_boxes_that_scroll_are_stops_for_the_keyboard(visit: Visit) -> None:
    reached = "[...document.querySelectorAll('.table-box[tabindex]')].map(e => e.scrollWidth > e.clientWidth)"
    page = visit.page
    page.evaluate(OPEN)
    until(page, f"{reached}.every(Boolean)")
    assert len(page.evaluate(reached)) <= 2
    page.set_viewport_size({"width": 360, "height": 800})
    until(page, "document.querySelectorAll('.table-box[tabindex]').length > 3")
    assert all(page.evaluate(reached))
    assert page.locator(".table-box[tabindex]").first.get_attribute("aria-label")


def test_on_a_phone_no_title_of_an_axis_is_cut(browser: Browser, hostile: Path) -> None:
    """Long names leave less room for the axis than its title takes."""
    with browser.visit(hostile, width=360) as visit:
        outside = """() => [...document.querySelectorAll('.chart svg')].flatMap(svg => {
          const room = svg.getBoundingClientRect();
          return [...svg.querySelectorAll('.role-axis-title text')].filter(text => {
            const box = text.getBoundingClientRect();
            return box.left < room.left - 1 || box.right > room.right + 1 || text.textContent.endsWith('…');
          }).map(text => text.textContent);
        })"""
        assert visit.page.evaluate(outside) == []


def test_the_keyboard_reaches_everything(browser: Browser, sparse: Path) -> None:
    with browser.visit(sparse) as visit:
        page, reached = visit.page, []
        page.evaluate(OPEN)
        focus = "(e => e.tagName + '.' + e.className + '#' + (e.getAttribute('href') || ''))(document.activeElement)"
        for _ in range(60):
            page.keyboard.press("Tab")
            reached.append(page.evaluate(focus))
        assert reached[0] == "A.skip##main"
        assert "A.##people" in reached and "A.##method" in reached
        assert "SUMMARY.#" in reached
        assert "BUTTON.sort#" in reached and "BUTTON.download#" in reached
        page.locator("#figure-annotators summary").focus()
        page.keyboard.press("Enter")
        assert page.locator("#table-annotators").is_hidden()


def test_without_javascript_all_numbers_are_there(browser: Browser, sparse: Path) -> None:
    with browser.visit(sparse, script=False) as visit:
        page = visit.page
        assert page.locator(".spa").inner_text().startswith("0.576")
        assert page.locator("noscript p").count() == len(CHARTS)
        assert page.locator("#table-annotators tbody tr").count() == 25
        page.locator("#figure-annotators summary").click()
        assert "a08" in page.locator("#table-annotators").inner_text()
        assert page.locator(".download:visible").count() == 0


def test_headings_and_landmarks_tell_the_page(visit: Visit) -> None:
    page = visit.page
    assert page.evaluate("document.documentElement.lang") == "en"
    for landmark in ("header", "nav", "main", "footer"):
        assert page.locator(landmark).count() == 1
    levels = page.evaluate("[...document.querySelectorAll('h1,h2,h3')].map(h => Number(h.tagName[1]))")
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    targets = page.evaluate("[...document.querySelectorAll('a')].map(a => a.getAttribute('href').slice(1))")
    assert all(page.locator(f"[id='{target}']").count() == 1 for target in targets)
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map(e => e.id)")
    ours = [each for each in ids if not each.startswith(("clip", "gradient"))]
    assert len(ours) == len(set(ours))
    assert page.locator("table:not(:has(caption), #vg-tooltip-element *)").count() == 0
    page.evaluate(OPEN)
    until(page, DRAWN)
    spoken = page.evaluate("[...document.querySelectorAll('.chart')].map(place => place.getAttribute('aria-label'))")
    assert spoken == page.locator("figure:has(.chart) h3").all_inner_texts()


# Items ---------------------------------------------------------------------------------------


def seen(visit: Visit) -> list[str]:
    return list(visit.page.locator(".card:visible .card-name").all_inner_texts())


@pytest.fixture(scope="module")
def reviews(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Items with texts, dates, addresses and somebody whose name is written from right to left."""
    labels = {"good": "xxy", "bad": "yyz", "odd": "xzz", "fair": "xyz"}
    people = ("ann", "bob", "\u05d3\u05e0\u05d9")
    rows = [
        (f"{name}{item}", who, label, f"Text of {name} {item}", datetime(2024, 3, day, tzinfo=UTC))
        for item in range(6)
        for name, given in labels.items()
        for who, label, day in zip(people, given, (1, 2, 3 + item), strict=True)
    ]
    frame = polars.DataFrame(rows, schema=["item", "annotator", "label", "text", "time"], orient="row")
    found = spagree.measure(frame, text="text", time="time")
    made = found.breakdowns()
    known = made.disputed
    assert isinstance(known, polars.DataFrame)
    address = polars.when(polars.col("item") == "odd0").then(polars.lit("javascript:alert(1)"))
    links = address.otherwise(polars.format("https://tool.example/task/{}", "item")).alias("link")
    told = tell(replace(made, disputed=known.with_columns(links)), found.source, found.understood)
    html = page(told, found.to_dict())
    path = tmp_path_factory.mktemp("reviews") / "report.html"
    path.write_text(html, "utf-8")
    return path


def test_items_are_searched_and_filtered_without_a_request(visit_reviews: Visit, reviews: Path) -> None:
    visit = visit_reviews
    page = visit.page
    form = page.locator("form.filters")
    assert len(seen(visit)) == 6 and seen(visit)[0].startswith("fair")
    page.locator(".all-cards").click()
    assert len(seen(visit)) == 24
    form.locator("[name=text]").fill("TEXT of odd 3")
    assert seen(visit) == ["odd3"] and form.locator("output").inner_text() == "1 of 24 items"
    form.locator("button[type=reset]").click()
    until(page, "document.querySelectorAll('.card:not(.out)').length === 24")
    form.locator("[name=class]").select_option(label="x")
    form.locator("[name=other]").select_option(label="y")
    assert {name.rstrip("0123456789") for name in seen(visit)} == {"good", "fair"}
    form.locator("[name=class]").select_option("")
    form.locator("[name=other]").select_option("")
    form.locator("[name=from]").fill("2024-03-08")
    assert {name[-1] for name in seen(visit)} == {"5"}
    form.locator("[name=annotator]").select_option(label="ann")
    assert len(seen(visit)) == 4
    assert visit.requests == [reviews.as_uri()] and visit.violations() == [] and visit.errors == []


def test_a_click_on_confused_classes_or_on_an_annotator_filters_the_items(visit_reviews: Visit) -> None:
    page = visit_reviews.page
    page.evaluate("document.getElementById('matrix-fold').open = true")
    until(page, "document.querySelector('[data-chart=matrix][data-drawn]') !== null")
    cell = "[data-chart=matrix] .mark-rect path[aria-label*='against: x'][aria-label*='class: z']"
    page.locator(cell).first.click(force=True)
    until(page, "document.querySelectorAll('.card.out').length > 0")
    chosen = page.locator("[name=class]").evaluate("e => e.selectedOptions[0].textContent")
    assert chosen == "x" and page.locator("[name=other]").evaluate("e => e.value") != ""
    page.evaluate(OPEN)
    page.locator("#table-annotators .pick").first.click()
    assert page.locator("[name=annotator]").evaluate("e => e.value").startswith("a")
    assert page.locator("[name=class]").evaluate("e => e.value") == ""
    page.locator("#table-classes .pick").first.press("Enter")
    assert page.locator("[name=class]").evaluate("e => e.value") != ""


def test_somebody_without_disputed_items_and_somebody_without_figures(browser: Browser, tmp_path: Path) -> None:
    """A click on the first says that none of the items on the page is theirs; the second stays last, however sorted."""
    rows = [(item, who, "x") for item in range(30) for who in ("ann", "bob")]
    rows += [(item, who, label) for item in (40, 41) for who, label in (("cyd", "x"), ("dan", "y"))]
    rows += [("alone", "eve", "x")]
    path = spagree.measure(rows).report(tmp_path / "report.html")
    with browser.visit(path) as visit:
        page = visit.page
        page.evaluate(OPEN)
        page.locator("#table-annotators .pick", has_text="ann").click()
        chosen = "document.querySelector('[name=annotator]').selectedOptions[0].textContent"
        assert page.evaluate(chosen) == "ann" and seen(visit) == []
        assert page.locator("form.filters output").inner_text() == "0 of 2 items"
        page.locator("#table-annotators .pick", has_text="dan").click()
        assert page.evaluate(chosen) == "dan" and len(seen(visit)) == 2
        for order in ("ascending", "descending"):
            heading = page.locator("#table-annotators thead th").nth(1)
            heading.locator("button").click()
            assert heading.get_attribute("aria-sort") == order
            assert page.locator("#table-annotators tbody th").last.inner_text() == "eve"
        assert visit.errors == []


def test_names_keep_their_direction_and_links_lead_to_the_task(visit_reviews: Visit) -> None:
    page = visit_reviews.page
    foreign = "[...document.querySelectorAll('bdi')].filter(e => /[\\u0590-\\u05ff]/.test(e.textContent)).length"
    assert page.evaluate(foreign) > 10
    link = page.locator(".card a").first
    assert link.get_attribute("href") == f"https://tool.example/task/{link.inner_text()}"
    assert link.get_attribute("rel") == "noopener noreferrer"
    assert page.locator("a[href^='javascript']").count() == 0 and page.locator(".card a").count() == 23


def test_tables_are_searched_and_words_are_copied(visit: Visit) -> None:
    page = visit.page
    page.evaluate(OPEN)
    page.locator("[data-find='table-annotators']").fill("A08")
    assert page.locator("#table-annotators tbody tr:visible").count() == 1
    page.locator("[data-find='table-annotators']").fill("")
    assert page.locator("#table-annotators tbody tr:visible").count() == 25
    page.locator("[data-copy=bibtex]").click()
    until(page, "document.querySelector('[data-copy=bibtex]').textContent !== 'Copy'")


def test_a_section_is_redrawn_where_it_is(browser: Browser, sparse: Path) -> None:
    with browser.visit(sparse) as visit:
        page = visit.page
        page.locator("#figure-annotators summary").click()
        page.locator("#table-annotators .sort").nth(1).click()
        page.locator("form.filters [name=text]").fill("item0")
        page.evaluate("window.scrollTo(0, 3000)")
        top = page.evaluate("window.scrollY")
        found = spagree.measure("example:sparse")
        made = sections(tell(found.breakdowns(), found.source, found.understood))
        html = {each.id: section_html(each) for each in made if each.id in ("people", "items")}
        html["people"] = html["people"].replace("Nobody stands out", "Nobody stands out now")
        page.evaluate("found => spagree.redraw(found)", {"sections": html, "specs": specs(made)})
        until(page, DRAWN)
        assert page.locator("#people-title").inner_text() == "Nobody stands out now"
        assert page.locator("#table-annotators").is_visible()
        assert page.locator("#table-annotators th[aria-sort=ascending]").count() == 1
        assert page.locator("form.filters [name=text]").input_value() == "item0"
        assert all(name.startswith("item0") for name in seen(visit))
        assert abs(page.evaluate("window.scrollY") - top) < 5
        assert visit.errors == [] and visit.violations() == []


# Several questions ---------------------------------------------------------------------------


def test_all_questions_on_one_page(browser: Browser, tmp_path: Path, run: Run) -> None:
    rows = [
        f"h{item},{who},Approved,{'good' if (item + who) % 3 else 'bad'},{'food' if item % 2 else 'car'},{'x' if item == who else ''},{'dry' if item % (who + 2) else 'warm'}"
        for item in range(20)
        for who in range(3)
    ]
    source = tmp_path / "batch.csv"
    source.write_text(
        "HITId,WorkerId,AssignmentStatus,Answer.mood,Answer.topic,Answer.once,Answer.tone\n" + "\n".join(rows) + "\n"
    )
    code, _, err = run("score", source, "--all-questions", "--report", tmp_path / "all.html", "--target", "0.5")
    assert code == 3 and f"wrote {tmp_path / 'all.html'}" in err and "question 'once': no item has two" in err
    with browser.visit(tmp_path / "all.html") as visit:
        page = visit.page
        names = page.locator("#table-overview tbody th").all_inner_texts()
        assert names == ["mood", "topic", "once", "tone"]
        assert page.locator("#table-overview tbody tr").nth(2).inner_text().count("no item has two annotations") == 1
        assert page.locator(".question").count() == 4 and page.locator(".spa").count() == 4
        ids = page.evaluate("[...document.querySelectorAll('[id]')].map(e => e.id)")
        ours = [each for each in ids if not each.startswith(("clip", "gradient"))]
        assert len(ours) == len(set(ours))
        named = "e.getAttribute('aria-labelledby').split(' ').map(id => document.getElementById(id).innerText).join()"
        spoken = page.evaluate(f"[...document.querySelectorAll('section')].map(e => {named})")
        assert len(set(spoken)) == len(spoken) > 8
        page.locator("#q1-table-classes .pick").first.evaluate("e => e.click()")
        assert page.locator("#q1-items .filters [name=class]").evaluate("e => e.value") != ""
        assert page.locator("#q2-items .filters").count() == 0  # all agree
        page.locator("#q1-items .filters button[type=reset]").click()
        assert page.locator("#q1-items .filters [name=class]").evaluate("e => e.value") == ""  # the other question's
        heads = "[...document.querySelectorAll('#table-overview thead th')].map(e => e.offsetHeight)"
        page.set_viewport_size({"width": 390, "height": 844})
        assert max(page.evaluate(heads)) < 80  # no word is broken letter by letter
        assert visit.errors == [] and visit.violations() == []
    assert (tmp_path / "all.html").stat().st_size < 1_500_000
