"""The page of marks: texts in layers, whatever the texts, the names and the labels."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import polars
import pytest
from hypothesis import given
from hypothesis import strategies as st

import spagree
from browser import Browser, contrast, until
from command import Run
from examples import examples
from spagree.present.report.layers import LONGEST_GAP, MOST_LINES, pieces

ODD = "<script>window.pwned = 1</script>"
HOSTILE = {
    "arabic": "زار أحمد مدينة القاهرة يوم الجمعة " + ODD,
    "astral": "👩‍🔬 Ada 😊 in 𝒟elft met 👨‍👩‍👧 \u202eevil\x1b[31m\x00 & <b>bold</b>",
    "long": "word " * 300 + "Needle" + " tail" * 300,
    "wide": "x" * 3_000,
    "<img src=x onerror=alert(1)>": "می‌خواهم به تهران بروم\nسطر دوم",
}
PEOPLE = ("ann", "<i>ben</i>", "cyd\u202e")
LABELS = ("P", "<img src=x onerror=alert(1)>", "L" * 90)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rows = [
        {
            "item": item,
            "annotator": who,
            "start": 2 * place,
            "end": 7 + 2 * place,
            "label": LABELS[place],
            "words": text,
        }
        for item, text in HOSTILE.items()
        for place, who in enumerate(PEOPLE)
    ]
    found = spagree.measure_spans(polars.DataFrame(rows), text="words")
    return found.report(tmp_path_factory.mktemp("hostile") / "report.html")


@examples(100)
@given(
    st.text(st.characters(exclude_characters="\n"), max_size=40).flatmap(
        lambda text: st.tuples(
            st.just(text),
            st.lists(st.lists(st.tuples(*[st.integers(0, max(0, len(text)))] * 2, st.sampled_from("abc"))), max_size=8),
        )
    )
)
def test_each_line_lies_under_what_its_annotator_marked(drawn: tuple[str, list[list[tuple[int, int, str]]]]) -> None:
    text, given_marks = drawn
    made = [[(min(a, b), max(a, b), label) for a, b, label in marks] for marks in given_marks]
    at, covered = 0, [set[int]() for _ in made]
    for piece in pieces(text, made, {"a": 0, "b": 1, "c": 9}):
        size = next(n for n in range(len(text) - at + 1) if "".join(_shown(text[at : at + n])) == piece.text)
        for level, _ in piece.lines:
            covered[level] |= {*range(at, at + size)}
        at += size
    assert at == len(text)
    for level, marks in enumerate(made[:MOST_LINES]):
        assert covered[level] == {place for start, end, _ in marks for place in range(start, end)}


def _shown(text: str) -> Iterator[str]:
    return (next(pieces(each, [], {})).text for each in text)


def test_a_long_stretch_that_nobody_marked_is_cut() -> None:
    text = "a" * 1_000 + "Leiden" + "b" * 1_000
    cut = [*pieces(text, [[(1_000, 1_006, "place")]], {"place": 0})]
    assert [len(piece.text) < LONGEST_GAP for piece in cut] == [True] * 3 and cut[1].text == "Leiden"
    assert cut[0].text.endswith("[…] " + "a" * 90) and cut[2].text.startswith("b" * 90 + " […]")


def test_a_long_text_is_shown_from_where_people_differ_and_cut() -> None:
    text = "same " * 400 + "Delft" + " tail" * 400
    everybody, one = (0, 4, "place"), (2_000, 2_005, "place")
    cut = [*pieces(text, [[everybody, one], [everybody]], {"place": 0})]
    assert cut[0].text == "[…] " and cut[-1].text.endswith("[…] ") and sum(len(piece.text) for piece in cut) < 1_000
    assert [piece.text for piece in cut if piece.lines] == ["Delft"]
    dense = [*pieces("word " * 400, [[(5 * n, 5 * n + 4, "word") for n in range(400)]], {"word": 0})]
    assert sum(len(piece.text) for piece in dense) < 1_000 and dense[-1].text == " […]"


def test_the_page_shows_the_worst_text_first_and_what_everybody_marked(run: Run, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    options = ("score", "example:spans", "--format", "spans", "--text", "text", "--report", page)
    assert run(*options)[0] == 0 and run(*options)[0] == 4 and run(*options, "--force")[0] == 0
    html = page.read_text("utf-8")
    assert re.findall(r'<section id="(\w+)"', html) == ["top", "items", "where", "people", "method"]
    cards = [" ".join(unescape(re.sub(r"<[^>]+>", " ", card)).split()) for card in html.split('<li class="card')[1:]]
    assert (
        len(cards) == 10 and "letter05 agreement 0.167 Ask at the Musée d'Orsay , or ask my sister Inès ." in cards[0]
    )
    assert "ben the Musée d'Orsay place my sister Inès person cyd Musée d'Orsay place" in cards[0]
    assert "dan nothing" in cards[3]
    without = spagree.measure_spans("example:spans").report(tmp_path / "without.html").read_text("utf-8")
    assert "7–24" in without and "The texts are not known" in without and 'class="card-text' not in without


def test_groups_stand_on_the_page(run: Run, tmp_path: Path) -> None:
    rows = [
        f"q{n},{who},{start},9,P,{'even' if n % 2 == 0 else 'odd'}"
        for n in range(9)
        for who, start in (("a", 0), ("b", n % 3))
    ]
    (tmp_path / "m.csv").write_text("\n".join(["item,annotator,start,end,label,set", *rows]))
    page = tmp_path / "page.html"
    code, _, told = run("score", tmp_path / "m.csv", "--format", "spans", "--by", "set", "--report", page)
    html = page.read_text("utf-8")
    assert code == 0, told
    assert 'id="table-groups"' in html and 'id="table-differences"' in html and ">even<" in html


def test_nobody_marked_anything_is_said_and_not_drawn(tmp_path: Path) -> None:
    found = spagree.measure_spans([], [("q1", "ann"), ("q1", "bob")])
    html = found.report(tmp_path / "report.html").read_text("utf-8")
    assert "No number: nobody marked anything" in html and 'class="card"' not in html


def test_hostile_texts_stay_text_and_lines_lie_under_the_right_words(browser: Browser, hostile: Path) -> None:
    with browser.visit(hostile) as visit:
        page = visit.page
        body = page.locator("body").inner_text()
        assert ODD in body and "<b>bold</b>" in body and "<img src=x onerror=alert(1)>" in body and "\\u202e" in body
        assert not {"\x1b", "\u202e", "\x00"} & set(body) and page.evaluate("window.pwned") is None
        assert (visit.dialogs, visit.errors, visit.requests, visit.violations()) == ([], [], [hostile.as_uri()], [])
        for name, direction in (("arabic", "rtl"), ("astral", "ltr"), ("img", "rtl")):
            text = page.locator(".card", has=page.locator(".card-name", has_text=name)).locator(".card-text")
            (words,) = (words for item, words in HOSTILE.items() if name in item)
            assert text.evaluate("e => getComputedStyle(e).direction") == direction
            # the first in the order of names is <i>ben</i>, who marked from 2 to 9
            assert "".join(text.locator(".l0").all_text_contents()) == words[2:9]


def test_the_page_fits_every_width_and_every_text_can_be_read(browser: Browser, hostile: Path) -> None:
    wide = (
        "[...document.querySelectorAll('.card *')].filter(e => e.getBoundingClientRect().right > innerWidth + 1).length"
    )
    with browser.visit(hostile) as visit:
        for width in (320, 390, 768, 1280, 1920):
            visit.page.set_viewport_size({"width": width, "height": 900})
            until(visit.page, f"document.documentElement.scrollWidth === {width} && {wide} === 0")
        for scheme in ("light", "dark"):
            visit.page.emulate_media(color_scheme=scheme)
            assert [each for each in contrast(visit) if each[0] < 4.5] == []


def test_texts_are_filtered_by_keyboard_and_all_stand_on_paper(browser: Browser, tmp_path: Path) -> None:
    page = spagree.measure_spans("example:spans", text="text").report(tmp_path / "report.html")
    with browser.visit(page) as visit:
        visit.page.locator("input[name=text]").focus()
        visit.page.keyboard.type("academie")
        until(visit.page, "document.querySelectorAll('.card:not(.out)').length === 1")
        visit.page.keyboard.press("Control+A")
        visit.page.keyboard.press("Delete")
        visit.page.locator("#table-classes .pick", has_text="organisation").press("Enter")
        until(visit.page, "document.querySelector('.filters output').textContent === '7 of 10 items'")
        visit.page.emulate_media(media="print")
        heights = visit.page.locator(".layered").evaluate_all("all => all.map(e => e.scrollHeight - e.clientHeight)")
        assert set(heights) == {0}
