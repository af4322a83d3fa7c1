"""What stands in the report: every section on every kind of source, and in words what is missing and why."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import sys
import zlib
from dataclasses import replace
from html import unescape
from itertools import combinations
from pathlib import Path

import duckdb
import narwhals
import pandas
import polars
import pytest

import spagree
from command import Run
from spagree.counts.count import HeldAnnotations
from spagree.estimate.breakdown_values import known
from spagree.present.report import page
from spagree.present.report.page import _environment, packed_library

SECTIONS = ["top", "trust", "chance", "where", "items", "who", "course", "next", "method"]
FULL = [
    ("q1", "ann", "yes", 1),
    ("q1", "bob", "yes", 2),
    ("q2", "ann", "yes", 3),
    ("q2", "bob", "no", 4),
    ("q3", "bob", "no", 5),
    ("q3", "cyd", "no", 6),
    ("q3", "ann", "yes", 7),
    ("q4", "cyd", "no", 8),
]


def text_of(html: str) -> str:
    """The words of the page, as read aloud."""
    body = re.sub(r"<(script|style)\b.*?</\1>", " ", html, flags=re.DOTALL)
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", body)).split())


def section(html: str, name: str) -> str:
    start = html.index(f'<section id="{name}"')
    return text_of(html[start : html.index("</section>", start)])


def page_of(source: object, **options: object) -> str:
    agreement = spagree.measure(source, **options)
    return page(agreement.breakdowns(), agreement.understood, agreement.options, agreement.to_dict())


@pytest.fixture(scope="module")
def sparse() -> str:
    return page_of("example:sparse")


def test_the_sections_come_in_the_order_a_manager_asks(sparse: str) -> None:
    assert re.findall(r'<section id="(\w+)"', sparse) == SECTIONS
    assert re.findall(r'<li><a href="#(\w+)">', sparse) == SECTIONS


def test_the_headline_says_the_number_its_interval_and_its_meaning(sparse: str) -> None:
    top = text_of(sparse).partition("Can I trust it? What a careful")[0]
    assert "0.576" in top
    assert "Two random annotators agree on a random item 58% of the time" in top
    assert "95% interval: 0.527 to 0.623 for other annotators, 0.536 to 0.615 for these annotators" in top
    assert "Labels picked blindly would agree 26% of the time." in top
    assert "Better than chance: 0.43 of the way from chance" in top  # from fair to moderate: no word for it
    assert "1,028 annotations of 300 items by 25 annotators" in top
    assert "Precision. ±0.048, from 300 items." in top and "All 7 checks" in top
    assert "Read these 10 items first: item073" in top and "±0.04 → ±0.02 for these annotators" in top


def test_every_scheme_and_coefficient_is_in_a_table(sparse: str) -> None:
    found = spagree.measure("example:sparse")
    for name in found.schemes:
        assert f"<bdi>{name}</bdi></th>" in sparse
    for name, coefficient in found.chance.items():
        assert f"<bdi>{name}</bdi></th>" in sparse
        assert f'data-value="{coefficient.observed}"' in sparse and f'data-value="{coefficient.expected}"' in sparse


def test_the_method_says_enough_to_do_it_again(sparse: str) -> None:
    said = section(sparse, "method")
    assert "Read from example:sparse, as a long table" in said
    assert "item = item, annotator = annotator, label = label, time = time" in said
    assert f"spagree {spagree.__version__}" in said
    assert "other annotators like these, on new items" in said
    assert "defaults only" in said
    assert "Inter-annotator agreement was 0.576" in said
    assert "arXiv:2208.06161" in said


def test_the_same_input_gives_the_same_bytes(sparse: str) -> None:
    assert page_of("example:sparse") == sparse


def test_the_page_brings_all_it_runs_and_names_no_address(sparse: str) -> None:
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', sparse)
    assert policy is not None
    allowed = unescape(policy[1])
    scripts = re.findall(r"<script>(.*?)</script>", sparse, flags=re.DOTALL)
    style = re.findall(r"<style>(.*?)</style>", sparse, flags=re.DOTALL)
    packed = re.findall(r'<script type="text/plain" id="library">([^<]*)</script>', sparse)
    library = zlib.decompress(base64.b64decode(packed[0]), wbits=-zlib.MAX_WBITS)
    brought = [library, *(each.encode() for each in (*scripts, *style))]
    hashes = [base64.b64encode(hashlib.sha256(each).digest()).decode() for each in brought]
    assert len(packed) == len(scripts) == len(style) == 1
    assert allowed == (
        f"default-src 'none'; script-src 'sha256-{hashes[0]}' 'sha256-{hashes[1]}'; style-src 'sha256-{hashes[2]}'; "
        "base-uri 'none'; form-action 'none'"
    )
    ours = sparse.replace(packed_library(), "")
    assert "http:" not in ours and "https:" not in ours and "url(" not in ours and "@import" not in ours
    assert not re.search(r"\son\w+=", ours) and ' style="' not in ours
    assert len(sparse.encode()) < 700_000


LARGE = {
    "36 classes": {"items": 900, "annotators": 12, "classes": 36, "per_item": 3, "quality": (0.5, 1.0)},
    "200 annotators": {"items": 2000, "annotators": 200, "per_item": (2, 9), "quality": (0.3, 1.0)},
    "many of all": {"items": 4000, "annotators": 1000, "classes": 36, "per_item": (2, 9), "quality": (0.3, 1.0)},
}


@pytest.mark.parametrize("shape", LARGE)
def test_large_data_make_no_large_page(shape: str) -> None:
    html = page_of(spagree.simulate(seed=3, **LARGE[shape]).frame)
    assert len(html.encode()) < 1_200_000


def test_the_library_comes_with_its_licence(sparse: str) -> None:
    comment = sparse.partition("<!--\n")[2].partition("-->")[0]
    assert "Vega-Lite" in comment and "Redistributions in binary form must reproduce" in comment
    assert "--" not in comment


def test_specs_cannot_leave_their_script_element() -> None:
    rows = [(item, who, f"</script><script>x({who})") for item in range(12) for who in "ab"]
    html = page_of(rows)
    specs = html.partition('<script type="application/json" id="specs">')[2].partition("</script>")[0]
    assert "\\u003c/script>" in specs and "<" not in specs


# Sources that do not tell everything ---------------------------------------------------------


def test_a_saved_tally_has_no_items_and_no_annotators(tmp_path: Path) -> None:
    path = tmp_path / "counted.json"
    spagree.save(spagree.tally("example:sparse"), path)
    html = page_of(str(path))
    assert "0.576" in html
    assert "A tally holds no single items; measure the annotations themselves." in section(html, "items")
    assert "A tally does not say who annotated" in section(html, "who")
    assert "A tally does not say when" in section(html, "course")
    assert "a tally: saved counts" in section(html, "method")
    assert '<div class="chart" data-chart="confusion">' in html


def test_without_annotators_their_sections_say_so() -> None:
    frame = polars.DataFrame(FULL, schema=["item", "annotator", "label", "time"], orient="row").drop(
        "annotator", "time"
    )
    html = page_of(frame)
    assert "The annotators are unknown; name their column" in section(html, "who")
    assert "Overlap. Not known" in section(html, "trust")
    assert "annotators unknown" in section(html, "method")
    assert "of disagreement" in section(html, "items")


def test_without_times_the_course_says_so() -> None:
    html = page_of([row[:3] for row in FULL])
    assert "The times of the annotations are unknown" in section(html, "course")


def test_nothing_pairable_still_makes_a_page() -> None:
    html = page_of([("q1", "ann", "yes"), ("q2", "bob", "no")])
    top = text_of(html)
    assert "Agreement is undefined: no item has two annotations" in top
    assert re.findall(r'<section id="(\w+)"', html) == re.findall(r'<li><a href="#(\w+)">', html)
    assert re.findall(r'<section id="(\w+)"', html) == ["top", "trust", "next", "method"]
    assert top.lower().count("no item has two annotations") >= 2 and "undefined" not in html.partition("</strong>")[0]
    assert 'class="chart"' not in html and '<svg class="bar"' not in html
    assert "Have some items labelled by a second annotator." in section(html, "next")
    assert "Coverage. No item has two annotations" in section(html, "trust")
    assert "NaN" not in text_of(html) and "None" not in text_of(html)


def test_one_class_has_no_chance_correction_and_nothing_to_confuse() -> None:
    html = page_of([(item, who, "yes") for item in range(12) for who in "ab"])
    assert "All annotations carry one label, so agreement by chance is certain." in section(html, "chance")
    assert "agreement can only be 1" in section(html, "trust")
    assert "Every item that was used has 2 annotations: the assumption cannot fail" in section(html, "trust")


def test_one_item_has_a_value_and_no_interval() -> None:
    html = page_of([("q1", "ann", "yes"), ("q1", "bob", "yes"), ("q1", "cyd", "no")])
    said = section(html, "trust")
    assert "There is no interval: only one item has two annotations" in said
    assert "All annotations belong to one item" in said


def test_no_figure_is_ever_not_a_number(tmp_path: Path) -> None:
    for source in (FULL, [("q1", "ann", "yes")], [("q1", "ann", "a"), ("q1", "bob", "b")]):
        html = page_of(source).replace(packed_library(), "")
        assert "NaN" not in html and "Infinity" not in html


# Sources of any kind -------------------------------------------------------------------------


def test_every_kind_of_frame_gives_the_same_tables() -> None:
    frame = polars.DataFrame(FULL, schema=["item", "annotator", "label", "time"], orient="row")
    sources = [frame, frame.lazy(), frame.to_pandas(), frame.to_arrow(), duckdb.sql("SELECT * FROM frame")]
    pages = [re.findall(r"<tbody>.*?</tbody>", page_of(each), flags=re.DOTALL) for each in sources]
    assert all(each == pages[0] for each in pages) and len(pages[0]) > 8


def test_whole_numbers_as_names_are_shown_as_they_are() -> None:
    frame = pandas.DataFrame({"item": [1, 1, 2, 2], "annotator": [7, 8, 7, 8], "label": [0, 0, 0, 1]})
    html = page_of(frame)
    assert "<bdi>7</bdi>" in html and '<bdi class="label">0</bdi>' in html


def test_the_folders_of_a_file_are_nobodys_business(tmp_path: Path) -> None:
    folder = tmp_path / "secret-client"
    folder.mkdir()
    path = folder / "labels.csv"
    path.write_text("item,annotator,label\n1,a,x\n1,b,x\n2,a,x\n2,b,y\n")
    html = page_of(str(path))
    assert "labels.csv" in html and "secret-client" not in html


def test_options_are_shown_and_secrets_are_not(tmp_path: Path) -> None:
    html = page_of(FULL, first=2, duplicates="last", pseudonymise="pepper")
    said = section(html, "method")
    assert "duplicates = last" in said and "first = 2" in said and "pseudonymise = True" in said
    assert "pepper" not in html and ">ann<" not in html
    assert "after the first 2 of their item" in section(html, "trust")


def test_many_annotators_get_a_table_instead_of_a_picture() -> None:
    rows = [
        (item, f"a{(item + who) % 45:02}", "yes" if (item * who) % 3 else "no")
        for item in range(300)
        for who in range(3)
    ]
    html = page_of(rows)
    assert "All 45 annotators who share items form one group" in section(html, "trust")
    assert 'data-chart="pairs"' in html
    assert "Only the 40 busiest of 45 annotators are drawn." in section(html, "who")
    lowest = "Of 45 annotators the 40 lowest of those with 10 items or more are drawn."
    assert lowest in section(html, "who")


def test_many_classes_are_cut_with_a_note() -> None:
    rows = [(item, who, f"c{(item + who * (item % 2)) % 130:03}") for item in range(400) for who in range(2)]
    html = page_of(rows)
    assert "Of 130 classes the 16 with the most frequent confusions are drawn." in section(html, "where")
    assert "The first 100 of 130 classes." in section(html, "where")
    assert "Of 130 classes the 40 with the most items are drawn." in section(html, "where")
    assert 'data-file="classes-first-100"' in html and 'data-file="chance"' in html


def met(items: int, annotators: int) -> list[tuple[int, int, int]]:
    """Every item annotated by two, so that each pair shares the same number of items."""
    pairs = list(combinations(range(annotators), 2))
    return [(item, who, (item * who) % 2) for item in range(items) for who in pairs[item % len(pairs)]]


def test_pairs_who_hardly_met_get_a_sentence_instead_of_a_chart() -> None:
    html = page_of(met(45, 10))
    said = section(html, "who")
    assert "None of the 45 pairs with shared items have 10 or more: too few to compare two people." in said
    assert 'data-chart="pairs"' not in html and 'id="table-pairs"' in html
    assert "too few" not in section(page_of(met(450, 10)), "who")
    mixed = met(60, 6) + [(f"more {item}", who, item % 3) for item in range(9) for who in (0, 1)]  # 1 of 15 pairs
    assert "Only 1 of the 15 pairs with shared items have 10 or more" in section(page_of(mixed), "who")


@pytest.mark.parametrize(
    ("annotators", "words"),
    [
        (2, "0 and 1 share 12 items."),
        (3, "0 and 1 share 4 items; 0 and 2 share 4 items; 1 and 2 share 4 items."),
    ],
)
def test_who_met_is_a_sentence_for_two_or_three(annotators: int, words: str) -> None:
    html = page_of(met(12, annotators))
    assert words in section(html, "trust")


def test_separate_groups_of_annotators_are_named_in_a_table() -> None:
    apart = [(f"t{item}", f"t{who}", label) for item, who, label in met(12, 3)]
    html = page_of(met(12, 3) + apart)
    assert 'id="table-teams"' in html


def test_two_annotators_get_one_table_with_kappa() -> None:
    html = page_of(met(40, 2))
    said = section(html, "who")
    assert "The two annotators" in said and "Cohen's kappa" in said
    assert 'data-chart="annotators"' not in html and 'data-chart="pairs"' not in html


@pytest.mark.slow
def test_very_many_items_make_a_page_of_ordinary_size() -> None:
    drawn = spagree.simulate(items=200_000, annotators=300, classes=4, per_item=2, seed=1)
    html = page_of(drawn.frame.lazy())
    assert len(html.encode()) < 1_600_000
    assert "200,000 of 200,000 items" in section(html, "trust")
    assert html.count("<tr>") < 700


# Text ----------------------------------------------------------------------------------------


def with_texts(texts: dict[str, list[str | None]]) -> polars.DataFrame:
    rows = [
        (item, who, label, text)
        for item, given in texts.items()
        for who, label, text in zip("ab", "xy", given, strict=True)
    ]
    return polars.DataFrame(rows, schema=["item", "annotator", "label", "sentence"], orient="row")


def test_the_hardest_items_show_their_text_escaped_and_shortened() -> None:
    frame = with_texts({"q1": ["<b>bold</b>", "<b>bold</b>"], "q2": ["long " * 100, "long " * 100], "q3": [None, None]})
    html = page_of(frame, item="item", text="sentence")
    said = section(html, "items")
    assert "<b>bold</b>" in said and "<b>bold" not in html.replace("&lt;b&gt;bold", "")
    assert "long long" in said and "long " * 90 not in said and "…" in said
    assert "came with several texts" not in said


def test_several_texts_of_one_item_are_noted() -> None:
    frame = with_texts({"q1": ["alpha", "omega"], "q2": ["same", "same"]})
    said = section(page_of(frame, item="item", text="sentence"), "items")
    assert "1 item came with several texts; one of them is shown." in said
    assert "alpha" in said and "omega" not in said


# Writing -------------------------------------------------------------------------------------


def test_an_existing_page_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text("mine")
    found = spagree.measure(FULL)
    with pytest.raises(spagree.FileError, match="exists already"):
        found.report(path)
    assert path.read_text() == "mine"
    assert found.report(path, force=True) == path
    assert path.read_text("utf-8").startswith("<!doctype html>")


def test_the_command_writes_a_page_and_says_where(tmp_path: Path, run: Run) -> None:
    path = tmp_path / "page.html"
    code, out, err = run("score", "example:sparse", "--report", path, "--json")
    assert code == 0 and json.loads(out)["spa"]["value"] == pytest.approx(0.576, abs=1e-3)
    assert err == f"wrote {path}\n"
    assert path.read_text("utf-8").count("<section") == len(SECTIONS)


def test_the_command_refuses_before_it_counts(tmp_path: Path, run: Run) -> None:
    path = tmp_path / "page.html"
    path.write_text("mine")
    code, out, err = run("score", "nowhere.csv", "--report", path)
    assert (code, out) == (4, "") and "exists already" in err
    assert run("score", "example:sparse", "--report", path, "--force")[0] == 0


def test_several_questions_have_no_export(tmp_path: Path, run: Run) -> None:
    code, _, err = run("score", "example:sparse", "--all-questions", "--export", tmp_path / "out")
    assert code == 2
    assert "--export takes one question; choose it with --question" in err


def test_nothing_pairable_writes_the_page_and_fails_as_before(tmp_path: Path, run: Run) -> None:
    source = tmp_path / "single.csv"
    source.write_text("item,annotator,label\n1,a,x\n2,b,y\n")
    code, _, err = run("score", source, "--report", tmp_path / "page.html")
    assert code == 3 and "no item has two annotations" in err
    assert "<strong>no number</strong>" in (tmp_path / "page.html").read_text("utf-8")


def test_a_page_needs_no_drawing_library_of_python(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("altair", "vl_convert"):
        monkeypatch.setitem(sys.modules, name, None)
    assert spagree.measure(FULL).report(tmp_path / "page.html").exists()


def test_without_jinja_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    found = spagree.measure(FULL)
    monkeypatch.setitem(sys.modules, "jinja2", None)
    _environment.cache_clear()
    with pytest.raises(spagree.MissingExtraError, match=r"writing a report.*spagree\[report\]"):
        found.report(tmp_path / "page.html")


def grouped(by: str) -> spagree.Agreement:
    rows = [
        (
            f"q{item}",
            f"p{who}",
            "yes" if item % 3 else "no",
            "en" if item % 2 else "de",
            "expert" if who < 2 else "crowd",
        )
        for item in range(60)
        for who in range(4)
    ]
    # The crowd, and items in German, are often wrong.
    noisy = [
        (item, who, "no" if place % 3 == 0 and (kind == "crowd" or language == "de") else label, language, kind)
        for place, (item, who, label, language, kind) in enumerate(rows)
    ]
    frame = polars.DataFrame(noisy, schema=["item", "annotator", "label", "language", "kind"], orient="row")
    return spagree.measure(frame, by=by)


def test_groups_of_items_have_their_own_section(tmp_path: Path) -> None:
    agreement = grouped("language")
    html = agreement.report(tmp_path / "page.html").read_text("utf-8")
    said = section(html, "groups")
    assert "Does agreement depend on language?" in said and "Agreement of each group of items" in said
    assert (
        "en agrees more than de: +0.167, 0.007 to 0.315 for these annotators, p = 0.041." in said
        and 'data-chart="groups"' in html
    )
    assert agreement.groups is not None
    for name, found in agreement.groups.findings.items():
        kappa = found.chance["krippendorff_alpha"].value
        assert name in said and f'data-value="{found.spa.value}"' in html and f'data-value="{kappa}"' in html
    assert "Differences between groups" not in said, "one difference is a sentence"
    assert '<a href="#groups">Groups</a>' in html and 'id="groups"' not in page_of(met(40, 3))


def test_groups_of_annotators_are_compared_within_and_between(tmp_path: Path) -> None:
    agreement = grouped("kind")
    said = section(agreement.report(tmp_path / "page.html").read_text("utf-8"), "groups")
    assert all(name in said for name in ("within crowd", "within expert", "crowd with expert"))
    assert "people of different groups" in said


def test_many_groups_have_a_table_of_their_differences(tmp_path: Path) -> None:
    rows = [
        (f"q{item}", f"p{who}", "no" if who and item % (group + 2) == 0 else "yes", f"g{group:02}")
        for group in range(16)
        for item in range(100 * group, 100 * group + 90)
        for who in range(3)
    ]
    rows += [("alone", "p0", "yes", "")]
    frame = polars.DataFrame(rows, schema=["item", "annotator", "label", "batch"], orient="row")
    said = section(spagree.measure(frame, by="batch").report(tmp_path / "page.html").read_text("utf-8"), "groups")
    assert "Differences between groups" in said and "in the table below." in said and "--json lists all)" not in said
    assert "(no value)" in said and "remark" in said
    assert "The clearest 100 of 136 differences" in said


def test_cards_link_to_tasks_on_the_web_only() -> None:
    """Of a source with a column of addresses: the first card leads to its task, others say nothing."""
    rows = [(f"q{item}", f"p{who}", "yes" if who else "no") for item in range(4) for who in range(3)]
    agreement = spagree.measure(polars.DataFrame(rows, schema=["item", "annotator", "label"], orient="row"))
    measured = agreement.measurement
    assert measured.items is not None and measured.annotations is not None
    addresses = {"q0": "https://tool.example/q0?a=1&b=2", "q1": "javascript:alert(1)", "q2": "//tool.example/q2"}
    frame = measured.annotations.to_native().collect()
    linked = frame.with_columns(link=polars.col("item").replace_strict(addresses, default=None))
    items = replace(measured.items, held=HeldAnnotations(narwhals.from_native(linked.lazy())))
    found = replace(measured, items=items).breakdowns(agreement.findings)
    assert dict(known(found.disputed).select("item", "links").rows()) == {"q0": 1, "q1": 1, "q2": 1, "q3": 0}
    html = page(found, agreement.understood, {}, agreement.to_dict())
    assert re.findall(r'<a href="(?!#)([^"]*)" rel="noopener noreferrer" target="_blank">', html) == [
        "https://tool.example/q0?a=1&amp;b=2"
    ]
    assert "javascript:" not in html.replace(packed_library(), "")


def test_a_list_has_a_title_and_no_line_breaks_inside_its_dates() -> None:
    rows = [(item, who, "yes", f"2024-03-0{item} 10:00") for item in (1, 2, 3) for who in ("ann", "bob")]
    html = page_of(rows)
    assert "<title>Annotator agreement: annotations in a Python list</title>" in html
    assert '· <span class="date">2024-03-01</span> to <span class="date">2024-03-03</span></p>' in html


def test_every_option_of_a_set_is_seen_on_the_axis_and_whole_in_the_tooltip() -> None:
    long, other = "cleanliness of the rooms|location", "cleanliness of the rooms|price and value"
    html = page_of([(item, who, (long, other)[(item + who) % 2]) for item in range(12) for who in range(2)])
    assert '"across": "cleanli…|location"' in html and f'"second": "{long}"' in html
    assert '"second"' not in page_of([(item, who, "ab"[who]) for item in range(12) for who in range(2)])


def test_a_sentence_that_begins_with_a_name_does_not_capitalise_it() -> None:
    html = page_of([(item, who, "yes") for item in range(12) for who in ("ann", "bob", "cyd")])
    assert '<p class="absent">ann and bob share 12 items; ann and cyd share 12 items; ' in html
