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
from typing import Any

import duckdb
import narwhals
import pandas
import polars
import pytest

import planted
import spagree
from command import Run
from golden import Golden
from spagree.counts.items import Held
from spagree.errors import known
from spagree.present.report.page import _environment, packed_library, page
from spagree.present.verdicts import tell

SECTIONS = ["top", "where", "items", "people", "method"]
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
    told = tell(agreement.breakdowns(), agreement.source.without_folders(), agreement.understood)
    return page(told, agreement.to_dict())


def specs_of(html: str) -> dict[str, Any]:
    return json.loads(html.partition('<script type="application/json" id="specs">')[2].partition("</script>")[0])


def figures_of(html: str) -> str:
    return html.partition('<script type="application/json" id="figures">')[2].partition("</script>")[0]


@pytest.fixture(scope="module")
def sparse() -> str:
    return page_of("example:sparse")


def test_the_page_reads_as_the_golden_one(golden: Golden, sparse: str) -> None:
    """All that is seen before anything is opened, but for the cards."""
    shown = re.sub(r"<details.*?</details>", " ", sparse, flags=re.DOTALL)
    shown = re.sub(r"<(script|style)\b.*?</\1>|<li class=.card.*?</li>\n</ul>", " ", shown, flags=re.DOTALL)
    lines = (text_of(line) for line in re.split(r"\n(?=<(?:p|h\d|li|div|section|nav|footer|blockquote))", shown))
    golden("page.txt", "\n".join(filter(None, lines)))


def test_the_first_screen_has_the_verdict_the_number_and_the_steps_and_says_nothing_twice() -> None:
    html = page_of(planted.odd(3))
    top = section(html, "top")
    assert top.startswith("! Usable, but annotator p3 stands out")
    assert "See annotator p3." in top and "They may be right" in top and "agreement.annotators()" in top
    assert (
        html.count("Usable, but annotator p3")
        == html.replace(figures_of(html), "").count("Usable, but annotator p3") + 1
    )
    assert 'data-pick="a3"' in html and "p3 is in" in section(html, "people")
    assert "Copy the sentence" in top


def test_with_a_problem_there_is_nothing_to_copy() -> None:
    teams = [(f"{team}{item}", who, "xy"[item % 2]) for team in ("ab", "cd") for item in range(30) for who in team]
    html = page_of(teams)
    assert "Do not quote yet: 2 teams share no items" in section(html, "top") and "Copy the sentence" not in html
    assert "Do not quote yet" in section(html, "method") and 'id="table-teams"' in html


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
    rows = [
        (item, who, f"</script><script>x({place * item % 3})") for item in range(12) for place, who in enumerate("ab")
    ]
    html = page_of(rows)
    specs = html.partition('<script type="application/json" id="specs">')[2].partition("</script>")[0]
    assert "\\u003c/script>" in specs and "<" not in specs


# Sources that do not tell everything ---------------------------------------------------------


def test_a_saved_tally_has_no_items_and_no_annotators(tmp_path: Path) -> None:
    path = tmp_path / "counted.json"
    spagree.save(spagree.tally("example:sparse"), path)
    html = page_of(str(path))
    assert "0.576" in html
    assert re.findall(r'<section id="(\w+)"', html) == ["top", "where", "people", "method"]
    assert "a tally: saved counts" in section(html, "method")
    assert '<div class="chart" data-chart="confusion">' in html


def test_without_annotators_there_is_no_section_about_them() -> None:
    frame = polars.DataFrame(FULL, schema=["item", "annotator", "label", "time"], orient="row").drop(
        "annotator", "time"
    )
    html = page_of(frame)
    assert re.findall(r'<section id="(\w+)"', html) == ["top", "items", "method"]  # of two classes there is one pair
    assert "Each class" in section(html, "items")
    assert "Overlap. Not known" in section(html, "method") and "by " not in html.partition("</header>")[0][-60:]


def test_nothing_pairable_still_makes_a_page() -> None:
    html = page_of([("q1", "ann", "yes"), ("q2", "bob", "no")])
    assert re.findall(r'<section id="(\w+)"', html) == re.findall(r'<li><a href="#(\w+)">', html) == ["top", "method"]
    assert "No number: no item has two annotations" in section(html, "top")
    assert "Check the item column." in section(html, "top")
    assert 'class="chart"' not in html and '<svg class="bar"' not in html
    assert "NaN" not in text_of(html) and "None" not in text_of(html)


def test_full_agreement_leaves_nothing_to_show_but_the_people_and_the_method() -> None:
    html = page_of([(item, who, "yes") for item in range(12) for who in "ab"])
    assert re.findall(r'<section id="(\w+)"', html) == ["top", "people", "method"]
    assert "agreement can only be 1" in section(html, "method")


def test_no_figure_is_ever_not_a_number(tmp_path: Path) -> None:
    for source in (FULL, [("q1", "ann", "yes")], [("q1", "ann", "a"), ("q1", "bob", "b")]):
        html = page_of(source).replace(packed_library(), "")
        assert "NaN" not in html and "Infinity" not in html


# Sources of any kind -------------------------------------------------------------------------


def test_every_kind_of_frame_gives_the_same_tables() -> None:
    frame = polars.DataFrame(FULL, schema=["item", "annotator", "label", "time"], orient="row")
    sources = [frame, frame.lazy(), frame.to_pandas(), frame.to_arrow(), duckdb.sql("SELECT * FROM frame")]
    pages = [re.findall(r"<tbody>.*?</tbody>", page_of(each), flags=re.DOTALL) for each in sources]
    assert all(each == pages[0] for each in pages) and len(pages[0]) > 4


def test_whole_numbers_as_names_are_shown_as_they_are() -> None:
    frame = pandas.DataFrame({"item": [1, 1, 2, 2], "annotator": [7, 8, 7, 8], "label": [0, 0, 0, 1]})
    html = page_of(frame)
    assert "<bdi>7</bdi>" in html and '<bdi class="label">0</bdi>' in html


def test_the_folders_of_a_file_are_nobodys_business(tmp_path: Path) -> None:
    folder = tmp_path / "secret-client"
    folder.mkdir()
    path = folder / "labels.csv"
    path.write_text("item,annotator,label\n1,a,x\n1,b,x\n2,a,x\n2,b,y\n")
    html = spagree.measure(path).report(tmp_path / "page.html").read_text("utf-8")
    assert "labels.csv" in html and "secret-client" not in html


def test_options_are_shown_and_secrets_are_not(tmp_path: Path) -> None:
    html = page_of(FULL, first=2, duplicates="last", pseudonymise="pepper")
    said = section(html, "method")
    assert "duplicates = last" in said and "first = 2" in said and "pseudonymise = True" in said
    assert "pepper" not in html and ">ann<" not in html
    assert "after the first 2 of their item" in said


def test_of_many_people_those_who_stand_out_and_the_ten_busiest_are_drawn() -> None:
    drawn = spagree.simulate(items=2000, annotators=30, quality=(0.2, 1.0), per_item=4, seed=5).frame
    html = page_of(drawn)
    rows = specs_of(html)["annotators"]["data"]["values"]
    assert 10 < len(rows) <= 22 and {row["kind"] for row in rows} == {"apart", "other"}
    assert 'data-chart="pairs"' not in html and 'id="table-pairs"' in html


def test_many_classes_are_cut_with_a_note() -> None:
    rows = [(item, who, f"c{(item + who * (item % 2)) % 130:03}") for item in range(400) for who in range(2)]
    html = page_of(rows)
    assert "The first 100 of 130 classes." in section(html, "where") and 'data-file="classes-first-100"' in html
    assert len(specs_of(html)["confusion"]["data"]["values"]) == 8


def met(items: int, annotators: int) -> list[tuple[int, int, int]]:
    """Every item annotated by two, so that each pair shares the same number of items."""
    pairs = list(combinations(range(annotators), 2))
    return [(item, who, (item * who) % 2) for item in range(items) for who in pairs[item % len(pairs)]]


def test_two_annotators_get_one_table_with_kappa() -> None:
    html = page_of(met(40, 2))
    said = section(html, "people")
    assert "Pairs of annotators" in said and "kappa is Cohen's" in said
    assert 'data-chart="annotators"' not in html and 'data-chart="pairs"' not in html


@pytest.mark.slow
def test_very_many_items_make_a_page_of_ordinary_size() -> None:
    drawn = spagree.simulate(items=200_000, annotators=300, classes=4, per_item=2, seed=1)
    html = page_of(drawn.frame.lazy())
    assert len(html.encode()) < 1_600_000
    assert "200,000 of 200,000 items" in section(html, "method")
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
    assert "no number</p>" in (tmp_path / "page.html").read_text("utf-8")


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


def test_groups_of_items_stand_with_the_people(tmp_path: Path) -> None:
    agreement = grouped("language")
    html = agreement.report(tmp_path / "page.html").read_text("utf-8")
    said = section(html, "people")
    assert "en agrees more than de: +0.167, 0.010 to 0.313 for these annotators, p = 0.037." in said
    assert agreement.groups is not None and 'data-chart="groups"' in html
    for name, found in agreement.groups.findings.items():
        kappa = found.chance["krippendorff_alpha"].value
        assert name in said and f'data-value="{found.spa.value}"' in html and f'data-value="{kappa}"' in html
    assert "Differences between groups" not in said, "one difference is a sentence"


def test_groups_of_annotators_are_compared_within_and_between(tmp_path: Path) -> None:
    said = section(grouped("kind").report(tmp_path / "page.html").read_text("utf-8"), "people")
    assert all(name in said for name in ("within crowd", "within expert", "crowd with expert"))


def test_many_groups_have_a_table_of_their_differences(tmp_path: Path) -> None:
    rows = [
        (f"q{item}", f"p{who}", "no" if who and item % (group + 2) == 0 else "yes", f"g{group:02}")
        for group in range(16)
        for item in range(100 * group, 100 * group + 90)
        for who in range(3)
    ]
    rows += [("alone", "p0", "yes", "")]
    frame = polars.DataFrame(rows, schema=["item", "annotator", "label", "batch"], orient="row")
    said = section(spagree.measure(frame, by="batch").report(tmp_path / "page.html").read_text("utf-8"), "people")
    assert "(no value)" in said and "remark" in said and "The clearest 100 of 136 differences" in said


def test_cards_link_to_tasks_on_the_web_only() -> None:
    """Of a source with a column of addresses: the first card leads to its task, others say nothing."""
    rows = [(f"q{item}", f"p{who}", "yes" if who else "no") for item in range(4) for who in range(3)]
    agreement = spagree.measure(polars.DataFrame(rows, schema=["item", "annotator", "label"], orient="row"))
    measured = agreement.evidence
    assert measured.annotations is not None
    addresses = {"q0": "https://tool.example/q0?a=1&b=2", "q1": "javascript:alert(1)", "q2": "//tool.example/q2"}
    frame = measured.annotations.to_native().collect()
    linked = frame.with_columns(link=polars.col("item").replace_strict(addresses, default=None))
    found = replace(agreement, evidence=replace(measured, held=Held(narwhals.from_native(linked.lazy())))).breakdowns()
    assert dict(known(found.disputed).select("item", "links").rows()) == {"q0": 1, "q1": 1, "q2": 1, "q3": 0}
    html = page(tell(found, agreement.source, agreement.understood), agreement.to_dict())
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
    sets = [f"cleanliness of the rooms|{more}" for more in ("location", "price and value", "staff")]
    rows = [(item, who, sets[(item + who * (item % 4)) % 3]) for item in range(40) for who in range(2)]
    drawn = specs_of(page_of(rows))["confusion"]["data"]["values"]
    assert {row["first"] for row in drawn} <= set(sets) and any("cleanli…|location" in row["name"] for row in drawn)


def test_ids_are_as_short_as_they_stay_different_and_a_class_keeps_its_colour() -> None:
    rows = [
        (f"{item * 7919:08x}{'0' * 24}", who, "xyz"[(item + who * (item % 2)) % 3])
        for item in range(30)
        for who in range(3)
    ]
    html = page_of(rows)
    names = re.findall(r'<strong class="card-name" title="([^"]*)"><bdi>([^<]*)</bdi>', html)
    assert len({short for _, short in names}) == len(names) and all(short.endswith("…") for _, short in names)
    colours = re.findall(r'<rect class="(v\d)" width="10" height="10"/></svg> <bdi class="label">(\w)</bdi>', html)
    assert len(set(colours)) == 3


def test_the_next_steps_lead_no_further_than_the_name_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    planted_rows = planted.confused(1)
    path.write_text("item,annotator,label\n" + "".join(f"{','.join(row)}\n" for row in planted_rows))
    html = page_of(str(path))
    assert "spagree classes labels.csv" in section(html, "top")
    assert f"spagree classes {path}" == spagree.measure(path).next_steps[0].command


def test_a_step_about_a_part_of_the_time_filters_the_items_by_their_days() -> None:
    frame = polars.DataFrame(planted.batch(11), schema=["item", "annotator", "label", "time"], orient="row")
    html = page_of(frame.with_columns(polars.from_epoch("time")))
    assert 'data-pick="d2023-11-19 d2023-11-21"' in html and "finished 2023-11-19 to 2023-11-21." in text_of(html)
