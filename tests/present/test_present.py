"""Numbers become words in one place, and the words never claim more than the numbers."""

from __future__ import annotations

import json
import re
import unicodedata
from html import unescape
from typing import Any

import polars
import pytest
from hypothesis import given
from hypothesis import strategies as st

import spagree
from spagree.counts.tally import Tally
from spagree.errors import count
from spagree.estimate import Estimate, find
from spagree.estimate.breakdown_values import Breakdowns
from spagree.present.document import document
from spagree.present.notebook import to_html
from spagree.present.report.parts import table as page_table
from spagree.present.sentence import for_paper, in_words, why_not_others
from spagree.present.tables import COLUMNS, cell, rendered
from spagree.present.tables import table as terminal_table
from spagree.present.terminal import summary
from spagree.present.verdicts import checked, verdicts
from spagree.present.wording import (
    change,
    escape_controls,
    figure,
    interval,
    label_list,
    number,
    p_value,
    percent,
    printable,
)
from spagree.understood import Understood

PERFECT = Tally.from_items([{"a": 2}] * 20)
NEARLY = Tally.from_items([{"a": 2}] * 99_999 + [{"a": 1, "b": 1}])
MIXED = Tally.from_items([{"a": 2}, {"a": 1, "b": 1}, {"b": 3}, {"a": 2, "b": 2}] * 5)


def text(tally: Tally, **options: object) -> str:
    return rendered(summary(Breakdowns(find(tally, **options)), None))  # type: ignore[arg-type]


@given(st.floats(0, 1), st.integers(1, 6))
def test_a_figure_says_0_or_1_only_when_it_is(value: float, digits: int) -> None:
    shown = figure(value, digits)
    if shown.startswith((">", "<")):
        assert 0 < value < 1 and (value > 0.999999 if shown[0] == ">" else value < 0.000001)
    else:
        assert (float(shown) in (0, 1)) == (value < 1e-12 or value == 1)
        assert float(shown) == pytest.approx(value, abs=0.51 * 10**-digits)


@given(st.floats(0, 1))
def test_a_percentage_says_0_or_100_only_when_it_is(value: float) -> None:
    shown = percent(value).lstrip("<>").rstrip("%")
    assert (float(shown) in (0, 100)) == (value < 1e-12 or value == 1)


def test_negative_figures() -> None:
    assert figure(-0.25) == "-0.250"
    assert figure(-1.0) == "-1"
    assert figure(-0.99999999) == "<-0.999999" and figure(-1e-9) == ">-0.000001"


@pytest.mark.parametrize("noise", [-3e-17, 3e-17, -0.0, 9e-13])
def test_what_rounding_leaves_of_nothing_is_nothing(noise: float) -> None:
    assert (figure(noise), percent(noise), change(noise)) == ("0", "0%", "0")


@given(st.text())
def test_printable_text_holds_no_control_and_is_short(label: str) -> None:
    shown = printable(label, 12)
    assert len(shown) <= 12
    assert not re.search("[\x00-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]", shown)


def test_escaping_keeps_ordinary_text_and_line_feeds() -> None:
    assert escape_controls("naïve\nÜber 日本 👍") == "naïve\nÜber 日本 👍"
    assert escape_controls("\u2028\ue000\x7f") == "\\u2028\\ue000\\x7f"


def test_small_wordings() -> None:
    assert count(1, "item") == "1 item" and count(0, "item") == "0 items"
    assert number(1234.0) == "1,234" and number(2.5) == "2.5"
    assert p_value(0.00099) == "p < 0.001" and p_value(0.001) == "p = 0.001"
    assert label_list({str(n): n for n in range(9)}, most=2) == "8: 8, 7: 7, … 7 more"
    assert interval(Estimate(None, None, None, None, 0.95, "flat", undefined="x")) == "undefined"


def test_perfect_agreement_is_1_with_an_interval_below_it() -> None:
    shown = text(PERFECT)
    assert "SPA 1   95% interval 0.820 to 1 " in shown
    assert "100% of the time" in shown


def test_nearly_perfect_agreement_does_not_say_1() -> None:
    shown = text(NEARLY)
    assert "SPA 0.99999 " in shown
    assert "99.999% of the time" in shown


def test_the_summary_has_its_parts_in_order() -> None:
    shown = text(MIXED)
    parts = ["SPA 0.", "Two random annotators", "Data", "Coverage", "Weighting schemes", "Assumption", "For your paper"]
    places = [shown.index(part) for part in parts]
    assert places == sorted(places)
    assert "▸ annotations_m1" in shown and shown.count("●") == 6 + 3


def test_the_chart_puts_all_intervals_on_one_scale() -> None:
    lines = [line for line in text(MIXED).splitlines() if "●" in line][6:]
    marks = {int(line.split()[0]): line.index("●") for line in lines}
    values = {row.n: row.agreement.value or 0 for row in find(MIXED).missingness.by_n}
    assert sorted(values, key=lambda n: values[n]) == sorted(marks, key=lambda n: marks[n])


def test_custom_weights_have_their_own_row() -> None:
    assert "▸ custom" in text(MIXED, weights={2: 1, 3: 1, 4: 1})


def test_long_tables_are_cut_and_say_so() -> None:
    shown = text(Tally.from_items([{"a": n, "b": 1} for n in range(1, 20)]))
    assert "7 more" in shown


def test_a_broken_assumption_is_reported_everywhere() -> None:
    found = spagree.measure("example:adaptive").breakdowns([])
    shown = rendered(summary(found, None))
    assert "✕ Assumption: Broken: people agree less on items with more annotations (p < 0.001)" in shown
    assert "first=2" in shown and "! the weighting schemes differ" in shown
    assert "Agreement depended on the number of annotations" in for_paper(found)


def test_what_was_left_out_is_shown() -> None:
    agreement = spagree.measure([("q1", "a", "x"), ("q1", "b", None), ("q1", "c", "x"), (None, "a", "x")])
    shown = " ".join(str(agreement).split())
    assert "Left out 1 annotation: no label 1 annotation: no item" in shown


def test_understood_columns_and_examples_are_harmless() -> None:
    understood = Understood(
        "a\x1b.csv", "long", {"item": "i\u202et", "label": "l"}, frozenset({"label"}), (("x\x07", "y"),)
    )
    shown = " ".join(rendered(summary(Breakdowns(find(MIXED)), understood)).split())
    assert "a\\x1b.csv as a long table" in shown
    assert "columns: item = i\\u202et, label = l (label guessed) first row: x\\x07 · y" in shown


def test_the_sentence_for_the_paper() -> None:
    sentence = for_paper(spagree.measure("example:sparse").breakdowns())
    assert re.sub(r"0\.\d{3} to 0\.\d{3}", "…", sentence) == (
        "Inter-annotator agreement was 0.576 (Sparse Probability of Agreement, annotations_m1 weights; 95% interval … "
        f"for other annotators, … for these annotators; spagree {spagree.__version__}), computed on the 300 items "
        "with at least two annotations (1,028 annotations by 25 annotators)."
    )
    assert for_paper(Breakdowns(find(Tally()))) == ""
    first = spagree.measure("example:adaptive", first=2)
    assert "(1,600 annotations by 30 annotators, only the first 2 of each item)" in for_paper(first.breakdowns())
    assert "1,108 annotations: after the first 2 of their item" in str(first)
    own = for_paper(Breakdowns(find(MIXED, {2: 1, 3: 1.5, 4: 2})))
    assert "own weights by number of annotations 2: 1, 3: 1.5, 4: 2;" in own
    many = for_paper(Breakdowns(find(Tally.from_items([{"a": n} for n in range(2, 20)]), lambda n: n)))
    assert "9: 9, …;" in many
    resampled = for_paper(spagree.measure(MIXED, bootstrap=100).breakdowns())
    assert "95% bootstrap interval" in resampled and "for these annotators; spagree" in resampled
    assert " by " not in for_paper(Breakdowns(find(PERFECT)))


def test_the_paper_counts_only_items_with_two_annotations_and_their_annotators() -> None:
    rows = [(i, name, "xy"[i % 3 == 0]) for i in range(12) for name in ("ann", "bob", "cyd")]
    lonely = [(100 + i, "dan", "x") for i in range(5)]
    agreement = spagree.measure([*rows, *lonely])
    counted = "computed on the 12 items with at least two annotations (36 annotations by 3 annotators)."
    assert for_paper(agreement.breakdowns(["overlap"])).endswith(counted)
    # Without a look at who shares items nobody knows that dan is not among them.
    assert for_paper(agreement.breakdowns([])).endswith("(36 annotations).")
    assert for_paper(spagree.measure(rows).breakdowns([])).endswith("(36 annotations by 3 annotators).")


# Both intervals -----------------------------------------------------------------------------


def answers(people: str, items: int = 40) -> list[tuple[int, str, str]]:
    return [
        (i, who, "xy"[(i * 7 + place * (i % 4 == 0)) % 2]) for i in range(items) for place, who in enumerate(people)
    ]


def test_the_first_line_has_both_intervals_and_the_leading_one_is_first() -> None:
    rows = answers("abcdef")
    agreement = spagree.measure(rows)
    own, others = (interval(agreement.spa.intervals[name]) for name in ("items", "annotators"))
    said = f"95% interval {others} for other annotators, {own} for these annotators"
    assert " ".join(str(agreement).split()).startswith(f"SPA 0.850 {said} Two random annotators")
    assert said in agreement._repr_html_() and said in for_paper(agreement.breakdowns())
    turned = spagree.measure(rows, interval_for="items")
    said = f"95% interval {own} for these annotators, {others} for other annotators"
    assert f"SPA 0.850 {said}" in " ".join(str(turned).split()) and said in for_paper(turned.breakdowns())
    assert why_not_others(turned.findings) == ""


def test_weights_are_named_beside_the_number_unless_they_are_the_usual_ones() -> None:
    assert "(flat weights)" in " ".join(str(spagree.measure(answers("abc"), weights="flat")).split())
    assert "weights)" not in str(spagree.measure(answers("abc"))).split("For your paper")[0]


def test_two_annotators_say_nothing_about_others() -> None:
    agreement = spagree.measure(answers("ab"))
    shown = " ".join(str(agreement).split())
    assert "These two annotators agree on a random item 75% of the time." in shown
    said = f"95% interval {interval(agreement.spa)} for these two annotators"
    assert said in shown and f"{said}; spagree" in for_paper(agreement.breakdowns())
    assert "Other annotators: not known, because two annotators cannot show how annotators differ" in shown


def test_the_headline_says_why_there_is_no_interval_for_other_annotators(monkeypatch: pytest.MonkeyPatch) -> None:
    def why(source: Any, **options: Any) -> str:
        agreement = spagree.measure(source, **options)
        said = why_not_others(agreement.findings)
        assert said in " ".join(str(agreement).split())
        return said.removeprefix("Other annotators: not known, because ")

    assert why(answers("abc")) == "three annotators cannot show how annotators differ; that takes four."
    assert why(spagree.tally(answers("abcd"))).startswith("a tally does not say who annotated")
    assert why(answers("abcd"), bootstrap=100) == "a bootstrap resamples items only."
    nameless = polars.DataFrame({"item": [1, 1, 2, 2, 3, 3], "label": list("xxyyxy")})
    assert why(nameless).startswith("the annotators are unknown; name their column")
    apart = [
        (f"{team}{item}", who, "xy"[item % 3 % 2]) for team in ("ab", "cd", "ef") for item in range(9) for who in team
    ]
    assert why(apart) == "three teams that share no item cannot show how teams differ; that takes four."
    monkeypatch.setattr("spagree.estimate.breakdowns.MOST_FOR_BOTH", 10)
    assert "it is computed only when asked for: interval_for=" in why(answers("abcd"))
    assert why_not_others(find(Tally.from_items([{"a": 2}]))) == ""


def test_chance_is_in_the_headline_under_a_metric_and_where_agreement_is_near_it() -> None:
    scale = spagree.measure(answers("abcd"), metric="ordinal", order=["x", "y"])
    alpha = scale.chance["krippendorff_alpha"]
    words = f"hance agreement {figure(alpha.expected)}, Krippendorff's alpha {figure(alpha.value)}"
    for shown in (str(scale), unescape(scale._repr_html_()), for_paper(scale.breakdowns())):
        assert words in " ".join(shown.split())
    blind = spagree.measure(
        [(i, who, "xy"[(i // (place + 1)) % 2]) for i in range(64) for place, who in enumerate("abcd")]
    )
    assert "near_chance" in [warning.code for warning in blind.warnings]
    for shown in (str(blind), for_paper(blind.breakdowns())):
        assert "agreement is close to chance" in " ".join(shown.split())
    assert "hance agreement" not in for_paper(spagree.measure(answers("abcd")).breakdowns())


def test_undefined_agreement_in_words_and_json() -> None:
    nothing = find(Tally.from_items([{"a": 1}]))
    assert in_words(nothing) == "Agreement is undefined: no item has two annotations, so agreement cannot be measured."
    found = document(Breakdowns(nothing))
    assert found["spa"]["value"] is None and "undefined" in found["spa"]
    assert found["missingness"] == {
        "z": None,
        "p": None,
        "undefined": "no pairable item",
        "by_n": [],
    }
    assert document(Breakdowns(find(Tally())))["data"]["annotations_per_item"] == {
        "min": None,
        "median": None,
        "max": None,
    }
    assert "SPA undefined" in rendered(summary(Breakdowns(nothing), None))


def test_json_is_full_precision_and_has_no_nan() -> None:
    found = json.loads(spagree.measure(MIXED).to_json(), parse_constant=pytest.fail)
    assert found["spa"]["value"] == find(MIXED).spa.value
    assert found["schemes"]["edge"]["stderr"] == find(MIXED).schemes["edge"].stderr


def test_the_notebook_table_escapes_everything() -> None:
    hostile = Tally.from_items([{"<script>alert(1)</script>": 1, "&": 1}, {"a": 2}, {"a": 1}])
    page = to_html(Breakdowns(find(hostile)))
    assert "<script" not in page and "SPA 0.5" in page and page.count("<tr>") == 1 + 6
    labels = [("q", str(n), label) for n, label in enumerate(["<b>", "<B>", "x"])]
    assert "&lt;b&gt;" in spagree.measure(labels)._repr_html_()


def test_json_spells_out_what_would_steer_a_terminal() -> None:
    label = "a\u202eb\x9bc\u2066d\ufeff\x1b"
    text = spagree.measure([("q", "a", label), ("q", "b", label)]).to_json()
    assert json.loads(text)["data"]["labels"] == {label: 2}
    assert not any(unicodedata.category(character) in ("Cc", "Cf") for character in text.replace("\n", ""))


def test_terminal_json_and_page_show_the_same_checks_in_the_same_words() -> None:
    agreement = spagree.measure("example:adaptive")
    found = checked(agreement.measurement.summary(agreement.findings))
    codes = [check["code"].replace("_", " ") for check in agreement.to_dict()["checks"]]
    assert [verdict.title.lower() for verdict in found] == codes
    assert verdicts(agreement.breakdowns())[: len(found)] == found
    terminal = " ".join(str(agreement).split())
    for verdict in found:
        line = f"{verdict.icon} {verdict.title}: {verdict.words}"
        assert line in terminal
    assert "made" in found[0].words and "of 30 people" in found[0].words


def test_every_state_of_the_overlap_has_words_without_further_breakdowns() -> None:
    def overlap(rows: list[tuple[object, ...]]) -> str:
        agreement = spagree.measure(rows)
        found = checked(agreement.measurement.summary(agreement.findings))
        return next(verdict.words for verdict in found if verdict.title == "Overlap")

    shared = [(i, who, "x") for i in range(9) for who in "abc"]
    assert overlap(shared) == "All 3 annotators are connected by items they share."
    assert overlap([(1, "ann", "x")]) == "There is only one annotator."
    assert overlap([(1, "ann", "x"), (2, "bob", "x")]) == "No two annotators share an item."
    assert overlap([*shared, *((50 + i, "dan", "x") for i in range(3))]) == (
        "1 of 4 annotators shares no item with anybody (10% of the annotations); the others are connected."
    )
    assert overlap([*shared, (0, None, "x")]) == "The annotator of 1 annotation is unknown."
    assert "2 teams" in overlap([*shared, *((50 + i, who, "x") for i in range(9) for who in "de")])
    assert "shares only 1 item" in overlap(
        [*shared, *((50 + i, who, "x") for i in range(9) for who in "de"), (0, "d", "x")]
    )


def test_a_column_is_worded_alike_in_the_terminal_and_on_the_page() -> None:
    row = {
        "agreement": 0.5,
        "few": True,
        "annotations": 1200,
        "change": -0.25,
        "stands_out": True,
        "class": "",
        "low": None,
    }
    row |= {"high": None, "item": 7, "share": None}
    keys = ("agreement", "annotations", "change", "stands_out", "class", "interval", "item", "share")
    wanted = ["0.500*", "1,200", "−0.250", "yes", "''", "–", "7", "–"]
    assert [cell(row, COLUMNS[key]).shown for key in keys] == wanted
    shown = rendered(terminal_table([row], keys))
    assert shown.splitlines()[1].split() == wanted
    page = page_table("t", "Rows", [row], [COLUMNS[key] for key in keys])
    assert [each.shown for each in page.rows[0]] == wanted
    assert page.note == "* rests on fewer than 10 items."
