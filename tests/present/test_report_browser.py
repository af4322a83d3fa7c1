"""The report in a real browser: it draws, sorts, downloads and prints; it fetches nothing and runs no label."""

from __future__ import annotations

import codecs
import csv
import io
import random
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import polars
import pytest

import spagree
from browser import Browser, started, until

pytestmark = pytest.mark.xdist_group("browser")

CHARTS = [
    "by-n",
    "schemes",
    "overlap",
    "chance",
    "classes",
    "confusion",
    "items",
    "annotators",
    "pairs",
    "development",
    "plan",
]
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
def browser() -> Iterator[Browser]:
    with started() as running:
        yield running


@pytest.fixture(scope="module")
def sparse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return spagree.measure("example:sparse").report(tmp_path_factory.mktemp("sparse") / "report.html")


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


def test_it_draws_every_chart_without_errors_and_without_asking_for_anything(browser: Browser, sparse: Path) -> None:
    with browser.visit(sparse) as visit:
        assert (
            visit.page.evaluate("[...document.querySelectorAll('.chart')].map(place => place.dataset.chart)") == CHARTS
        )
        marks = {chart: visit.marks(chart) for chart in CHARTS}
        assert marks["by-n"] == 4
        assert marks["schemes"] == 7
        assert marks["chance"] >= 15
        assert marks["classes"] == 4
        assert marks["confusion"] == 17  # and the legend
        assert marks["items"] == 20
        assert marks["annotators"] == marks["overlap"] == 25
        assert marks["development"] > 40
        assert marks["plan"] == 5
        assert visit.errors == []
        assert visit.requests == [sparse.as_uri()]
        assert visit.violations() == []


def test_cells_of_few_items_are_hollow_in_light_and_dark(browser: Browser, tmp_path: Path) -> None:
    """On a dark page a transparent bright colour would be a dark one, and say the opposite."""
    shared = [(item, who, item * who % 3) for item in range(40) for who in (1, 2, 3)]
    rows = [*shared, *((item, 4, item % 2) for item in range(5))]  # who meets the others five times
    path = spagree.measure(rows).report(tmp_path / "page.html")
    cells = (
        "[...document.querySelectorAll('[data-chart=pairs] svg .role-mark.mark-rect path')]"
        ".map(e => [e.getAttribute('fill-opacity'), e.getAttribute('opacity')])"
    )
    for scheme in ("light", "dark"):
        with browser.visit(path, color_scheme=scheme) as visit:
            found = visit.page.evaluate(cells)
            hollow = [each for each in found if each[0] == "0"]
            assert 0 < len(hollow) < len(found) and all(each[1] in (None, "1") for each in found)
            assert visit.page.locator("[data-chart=pairs] svg .mark-symbol path").count() == len(hollow)
            assert visit.page.locator("[data-chart=pairs] svg .role-legend").count() == 1


def test_the_number_and_the_verdict_are_on_the_first_screen(browser: Browser, sparse: Path) -> None:
    with browser.visit(sparse) as visit:
        for part in (".value", "p.sentence", ".bar", ".checks"):
            box = visit.page.locator(part).bounding_box()
            assert box["y"] + box["height"] < 900
        assert visit.page.locator(".value").inner_text() == "0.576"
        assert "58% of the time" in visit.page.locator("p.sentence").inner_text()


def test_a_tooltip_shows_worded_figures(browser: Browser, sparse: Path) -> None:
    with browser.visit(sparse) as visit:
        visit.page.hover("[data-chart='schemes'] .mark-symbol path >> nth=2")
        tip = visit.page.locator("#vg-tooltip-element.visible")
        tip.wait_for()
        shown = dict(
            zip(tip.locator("td.key").all_inner_texts(), tip.locator("td.value").all_inner_texts(), strict=True)
        )
        assert shown == {"scheme": "annotations_m1", "agreement": "0.576", "interval": "0.536 to 0.615"}
        assert visit.violations() == []


def test_sorting_goes_both_ways_by_value_and_says_so(browser: Browser, sparse: Path) -> None:
    with browser.visit(sparse) as visit:
        page = visit.page
        page.locator("#figure-annotators summary").click()
        heading = page.locator("#table-annotators thead th").nth(4)
        cells = "[...document.querySelectorAll('#table-annotators tbody tr')].map(row => Number(row.cells[4].dataset.value))"
        heading.locator("button").click()
        assert heading.get_attribute("aria-sort") == "ascending"
        assert page.evaluate(cells) == sorted(page.evaluate(cells))
        heading.locator("button").click()
        assert heading.get_attribute("aria-sort") == "descending"
        assert page.evaluate(cells) == sorted(page.evaluate(cells), reverse=True)
        page.locator("#table-annotators thead th").nth(2).locator("button").click()
        lower = [
            float(text.split()[0]) for text in page.locator("#table-annotators tbody td.interval").all_inner_texts()
        ]
        assert len(lower) == 25 and lower == sorted(lower)
        names = page.locator("#table-annotators thead th").nth(0)
        names.locator("button").press("Enter")
        assert page.locator("#table-annotators tbody th").first.inner_text() == "a01"
        assert heading.get_attribute("aria-sort") is None


def test_missing_figures_stay_last_whichever_way_they_are_sorted(browser: Browser, tmp_path: Path) -> None:
    rows = [("q1", "ann", "yes"), ("q1", "bob", "no"), ("q2", "ann", "yes"), ("q2", "bob", "yes"), ("q3", "cyd", "no")]
    path = spagree.measure(rows).report(tmp_path / "page.html")
    with browser.visit(path) as visit:
        page = visit.page
        page.locator("#figure-annotators summary").click()
        button = page.locator("#table-annotators thead th button").nth(1)
        for _ in range(2):
            button.click()
            assert page.locator("#table-annotators tbody th").last.inner_text() == "cyd"


def downloaded(visit: object, table: str, file: str | None = None) -> list[list[str]]:
    page = visit.page  # type: ignore[attr-defined]
    page.evaluate(OPEN)
    with page.expect_download() as waiting:
        page.locator(f"[data-table='{table}']").click()
    assert waiting.value.suggested_filename == f"{file or table}.csv"
    text = Path(waiting.value.path()).read_bytes()
    assert text.startswith(codecs.BOM_UTF8)
    return list(csv.reader(io.StringIO(text.decode("utf-8-sig"))))


def test_a_table_can_be_downloaded_in_full_precision(browser: Browser, sparse: Path) -> None:
    with browser.visit(sparse) as visit:
        rows = downloaded(visit, "classes")
    found = spagree.measure("example:sparse").classes()
    assert rows[0][:2] == ["class", "agreement"]
    assert [(row[0], float(row[1])) for row in rows[1:]] == found.select("class", "agreement").rows()


def test_intervals_are_downloaded_as_two_numbers_and_parts_of_tables_say_so(browser: Browser, sparse: Path) -> None:
    with browser.visit(sparse) as visit:
        rows = downloaded(visit, "pairs", "pairs-first-100")
        chance = downloaded(visit, "chance")
        course = downloaded(visit, "development")
    found = spagree.measure("example:sparse")
    names = ["annotator", "other", "agreement", "low", "high", "Cohen's kappa", "shared items"]
    assert rows[0] == names and len(rows) == 101
    expected = found.pairs().head(100).select("agreement", "low", "high").rows()
    assert [tuple(float(cell) if cell else None for cell in row[2:5]) for row in rows[1:]] == expected
    assert [float(row[2]) for row in chance[1:]] == [each.low for each in found.chance.values()]
    assert {"low", "high", "recent_low", "recent_high"} <= set(course[0])
    assert {len(row) for row in course} == {len(course[0])}


def test_negative_ends_stay_numbers_and_names_stay_whole(browser: Browser, tmp_path: Path) -> None:
    long = "x" * 300
    labels = (long, "a;=1+1", "", "b")
    rows = [(item, who, labels[(item + who * (item % 3)) % 4]) for item in range(12) for who in range(2)]
    with browser.visit(spagree.measure(rows).report(tmp_path / "page.html")) as visit:
        page = visit.page
        chance, classes = downloaded(visit, "chance"), downloaded(visit, "classes")
        with page.expect_download() as waiting:
            page.locator("[data-table='classes']").click()
        raw = Path(waiting.value.path()).read_text("utf-8-sig")
    assert min(float(row[2]) for row in chance[1:] if row[2]) < 0
    assert {row[0] for row in classes[1:]} == set(labels)
    split = [cell for row in csv.reader(io.StringIO(raw), delimiter=";") for cell in row]
    assert not [cell for cell in split if cell.startswith("=")]


def test_a_download_holds_no_formula(browser: Browser, hostile: Path) -> None:
    with browser.visit(hostile) as visit:
        rows = downloaded(visit, "classes") + downloaded(visit, "hardest") + downloaded(visit, "annotators")
    texts = [cell for row in rows for cell in row]
    assert any(text.startswith("'=cmd") for text in texts)
    signed = [text for text in texts if text.startswith(("+", "-"))]
    assert all(float(text) < 0 for text in signed)  # numbers of ours stay numbers
    assert not [text for text in texts if text.startswith(("=", "@"))]


def test_hostile_names_stay_text(browser: Browser, hostile: Path) -> None:
    with browser.visit(hostile) as visit:
        page = visit.page
        page.evaluate(OPEN)
        for chart in ("classes", "annotators", "confusion", "overlap"):
            assert visit.marks(chart) > 10
            page.locator(f"[data-chart='{chart}'] .mark-symbol path, [data-chart='{chart}'] .mark-rect path").nth(
                3
            ).hover(force=True)
        body = page.locator("body").inner_text()
        for text in (
            "</script><script>",
            "<img src=x",
            "{{7*7}}",
            "javascript:alert(1)",
            "&lt;b&gt;",
            "${7*7}",
            "<!--",
        ):
            assert text in body
        assert "\\x1b[31mred" in body and "left\\u202eright" in body and "bell\\x07\\x01" in body
        assert not {"\x1b", "\u202e", "\x07"} & set(body)
        assert page.evaluate("window.pwned") is None
        assert visit.dialogs == []
        assert visit.errors == []
        assert visit.requests == [hostile.as_uri()]
        assert visit.violations() == []
        assert page.locator("img, iframe, object, embed, link, form:not(.vega-bindings), form *").count() == 0
        assert page.locator("a[href]").evaluate_all(
            "links => links.every(link => link.getAttribute('href')[0] === '#')"
        )
        assert page.locator("script").count() == 4


def test_names_that_start_alike_stay_apart_in_charts(browser: Browser, hostile: Path) -> None:
    with browser.visit(hostile) as visit:
        names = visit.page.locator("[data-chart='classes'] .role-axis-label text").all_text_contents()
        alike = [name for name in names if "xxxx" in name]
        assert len(alike) == len(set(alike)) == 2


def test_names_that_every_object_has_are_drawn_in_full(browser: Browser, tmp_path: Path) -> None:
    """Vega keeps names as keys of objects, where these are found without having been put there."""
    draw = random.Random(3)
    rows = [
        (item, who, draw.choice(OBJECT_NAMES)) for item in range(200) for who in draw.sample(OBJECT_NAMES, 5)
    ]  # every two share more than ten items
    found = spagree.measure([*rows, *((f"{name} too", name, name) for name in OBJECT_NAMES)])
    with browser.visit(found.report(tmp_path / "page.html")) as visit:
        size = len(OBJECT_NAMES)
        cells = {
            chart: visit.page.locator(f"[data-chart='{chart}'] svg .role-mark.mark-rect path").count()
            for chart in ("confusion", "pairs")
        }
        assert cells == {"confusion": size**2, "pairs": size * (size - 1)}
        for chart in ("classes", "annotators"):
            assert visit.marks(chart) == size
            names = visit.page.locator(f"[data-chart='{chart}'] .role-axis-label text").all_text_contents()
            assert {f"'{name}'" for name in OBJECT_NAMES} <= set(names)
        assert visit.marks("overlap") == size
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


@pytest.mark.parametrize("name", ["sparse", "hostile"])
def test_on_a_phone_the_page_does_not_scroll_sideways(
    browser: Browser, name: str, request: pytest.FixtureRequest
) -> None:
    with browser.visit(request.getfixturevalue(name), width=360) as visit:
        page = visit.page
        page.evaluate(OPEN)
        assert page.evaluate("document.documentElement.scrollWidth") == 360
        wide = "[...document.querySelectorAll('.chart svg, h1, h2, p, li, dd')].filter(e => e.getBoundingClientRect().right > 361).length"
        assert page.evaluate(wide) == 0


def test_a_chart_follows_the_width_of_the_window(browser: Browser, sparse: Path) -> None:
    with browser.visit(sparse) as visit:
        chart = visit.page.locator("[data-chart='schemes'] svg")
        before = chart.bounding_box()["width"]
        visit.page.set_viewport_size({"width": 400, "height": 800})
        until(visit.page, "document.querySelector('[data-chart=schemes] svg').getBoundingClientRect().width < 380")
        assert before > 600
        assert visit.errors == []


def contrast(visit: object) -> list[tuple[float, str]]:
    """WCAG's contrast of every text with what lies behind it."""
    return visit.page.evaluate(  # type: ignore[attr-defined, no-any-return]
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


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_can_be_read(browser: Browser, sparse: Path, scheme: str) -> None:
    with browser.visit(sparse, color_scheme=scheme) as visit:
        visit.page.evaluate(OPEN)
        found = contrast(visit)
        assert len(found) > 300
        assert [each for each in found if each[0] < 4.5] == []


def test_charts_follow_light_dark_and_print_without_being_drawn_again(browser: Browser, sparse: Path) -> None:
    ink = "getComputedStyle(document.querySelector('[data-chart=schemes] .role-axis-label text')).fill"
    page_colour = "getComputedStyle(document.body).backgroundColor"
    with browser.visit(sparse, color_scheme="dark") as visit:
        dark = (visit.page.evaluate(ink), visit.page.evaluate(page_colour))
        visit.page.emulate_media(color_scheme="light")
        light = (visit.page.evaluate(ink), visit.page.evaluate(page_colour))
        visit.page.emulate_media(color_scheme="dark", media="print")
        paper = (visit.page.evaluate(ink), visit.page.evaluate(page_colour))
    assert light == ("rgb(27, 39, 51)", "rgb(255, 255, 255)")
    assert dark == ("rgb(232, 237, 242)", "rgb(18, 24, 30)")
    assert paper == ("rgb(0, 0, 0)", "rgb(255, 255, 255)")


def test_on_paper_every_table_is_open(browser: Browser, sparse: Path, tmp_path: Path) -> None:
    with browser.visit(sparse, color_scheme="dark") as visit:
        visit.page.evaluate(
            "addEventListener('beforeprint', () => window.shut = document.querySelectorAll('details:not([open])').length)"
        )
        pdf = visit.page.pdf(path=str(tmp_path / "page.pdf"))
        assert pdf.startswith(b"%PDF") and pdf.count(b"/Type /Page\n") + pdf.count(b"/Type /Page ") >= 5
        assert visit.page.evaluate("window.shut") == 0
        assert visit.page.locator("details[open]").count() == 0
        visit.page.emulate_media(media="print")
        assert visit.page.locator("nav").is_hidden()


@pytest.mark.parametrize("name", ["sparse", "hostile"])
def test_paper_is_wide_enough(browser: Browser, name: str, request: pytest.FixtureRequest) -> None:
    """A4 without its margins; whatever is wider makes Chromium shrink the whole report."""
    with browser.visit(request.getfixturevalue(name), width=673) as visit:
        page = visit.page
        page.evaluate(OPEN)
        page.emulate_media(media="print")
        wide = (
            "[...document.querySelectorAll('body *:not(svg *)')].filter(e => e.getBoundingClientRect().right > 673.5)"
            ".map(e => e.tagName + e.id)"
        )
        assert page.evaluate(wide) == []
        assert page.evaluate("document.documentElement.scrollWidth") == 673
        lines = """table => [...table.querySelectorAll('tbody th')].map(name => {
          const text = document.createRange();
          text.selectNodeContents(name);
          return text.getClientRects().length;
        })"""
        assert set(page.locator("#table-chance").evaluate(lines)) == {1}  # names are not torn


def test_long_tables_are_cut_on_paper_and_say_so(browser: Browser, sparse: Path) -> None:
    with browser.visit(sparse) as visit:
        page = visit.page
        page.evaluate(OPEN)
        seen = "table => [...table.tBodies[0].rows].filter(row => row.offsetParent).length"
        note = page.locator("#figure-pairs .paper")
        assert page.locator("#table-pairs").evaluate(seen) == 100 and note.is_hidden()
        page.emulate_media(media="print")
        assert page.locator("#table-pairs").evaluate(seen) == 20
        assert note.inner_text() == "On paper: the first 20 of 100 rows."
        assert page.locator("#figure-schemes .paper").count() == 0


def test_links_and_buttons_can_be_told_apart_without_seeing_them(browser: Browser, sparse: Path) -> None:
    with browser.visit(sparse) as visit:
        for part in ("summary", ".verdicts a", ".download"):
            found = visit.page.locator(part)
            names = found.evaluate_all("all => all.map(each => each.getAttribute('aria-label'))")
            assert len(names) > 1 and len(set(names)) == len(names)
            shown = found.evaluate_all("all => all.map(each => each.textContent)")
            assert all(name.startswith(f"{text}: ") for name, text in zip(names, shown, strict=True))


def test_only_boxes_that_scroll_are_stops_for_the_keyboard(browser: Browser, sparse: Path) -> None:
    reached = "[...document.querySelectorAll('.table-box[tabindex]')].map(e => e.scrollWidth > e.clientWidth)"
    with browser.visit(sparse) as visit:
        page = visit.page
        page.evaluate(OPEN)
        page.wait_for_timeout(100)
        before = page.evaluate(reached)
        assert all(before) and len(before) <= 2
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


def test_tables_are_set_in_one_size_and_names_are_not_torn(browser: Browser, sparse: Path) -> None:
    with browser.visit(sparse) as visit:
        visit.page.evaluate(OPEN)
        sizes = "[...new Set([...document.querySelectorAll('main td, main tbody th')].map(e => getComputedStyle(e).fontSize))]"
        assert len(visit.page.evaluate(sizes)) == 1
        lines = "[...document.querySelectorAll('#table-hardest tbody th')].map(e => e.getClientRects()[0].height)"
        assert max(visit.page.evaluate(lines)) < 40


def test_the_keyboard_reaches_everything(browser: Browser, sparse: Path) -> None:
    with browser.visit(sparse) as visit:
        page, reached = visit.page, []
        focus = "(e => e.tagName + '.' + e.className + '#' + (e.getAttribute('href') || ''))(document.activeElement)"
        for _ in range(60):
            page.keyboard.press("Tab")
            reached.append(page.evaluate(focus))
        assert reached[0] == "A.skip##main"
        assert "A.##trust" in reached and "A.##method" in reached
        assert "SUMMARY.#" in reached
        assert "BUTTON.sort#" in reached and "BUTTON.download#" in reached
        page.locator("#figure-schemes summary").focus()
        page.keyboard.press("Enter")
        assert page.locator("#table-schemes").is_visible()


def test_without_javascript_all_numbers_are_there(browser: Browser, sparse: Path) -> None:
    with browser.visit(sparse, script=False) as visit:
        page = visit.page
        assert page.locator(".value").inner_text() == "0.576"
        assert page.locator("noscript p").count() == len(CHARTS)
        assert page.locator("#table-schemes tbody tr").count() == 7
        page.locator("#figure-schemes summary").click()
        assert "annotations_m1" in page.locator("#table-schemes").inner_text()
        assert page.locator(".download:visible").count() == 0


def test_headings_and_landmarks_tell_the_page(browser: Browser, sparse: Path) -> None:
    with browser.visit(sparse) as visit:
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
        assert page.locator("table:not(:has(caption))").count() == 0
        spoken = page.evaluate(
            "[...document.querySelectorAll('.chart')].map(place => place.getAttribute('aria-label'))"
        )
        assert spoken == page.locator("figure:has(.chart) h3").all_inner_texts()
