"""Numbers become words in one place, and the words never claim more than the numbers."""

from __future__ import annotations

import json
import re
import unicodedata
from typing import Any

import polars
import pytest
from hypothesis import given
from hypothesis import strategies as st

import spagree
from command import Run
from golden import Golden
from spagree.counts.tally import Tally
from spagree.estimate import find
from spagree.estimate.breakdowns import Breakdowns
from spagree.present.document import document
from spagree.present.next_steps import Source
from spagree.present.notebook import to_html
from spagree.present.report.sections import table as page_table
from spagree.present.sentences import for_paper, headline
from spagree.present.tables import COLUMNS, cell
from spagree.present.terminal import Listed, rendered, summary
from spagree.present.verdicts import tell
from spagree.present.words import change, escape_controls, figure, interval, percent, printable
from spagree.read.annotations import Understood

NOWHERE = Source(None, {})
PERFECT = Tally.from_items([{"a": 2}] * 20)
NEARLY = Tally.from_items([{"a": 2}] * 99_999 + [{"a": 1, "b": 1}])
MIXED = Tally.from_items([{"a": 2}, {"a": 1, "b": 1}, {"b": 3}, {"a": 2, "b": 2}] * 5)


def text(tally: Tally, **options: object) -> str:
    return rendered(summary(tell(Breakdowns(find(tally, **options)))))  # type: ignore[arg-type]


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


def test_perfect_agreement_is_1_with_an_interval_below_it() -> None:
    shown = text(PERFECT)
    assert "SPA 1  95%: 0.820 to 1 for these" in shown
    assert "100% of the time" in shown


def test_nearly_perfect_agreement_does_not_say_1() -> None:
    shown = text(NEARLY)
    assert "SPA 0.99999 " in shown
    assert "99.999% of the time" in shown


@pytest.mark.parametrize("command", ["score", "items", "classes", "annotators", "pairs", "development", "plan"])
def test_a_command_prints_the_golden_words(
    command: str, run: Run, golden: Golden, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At most sixteen lines at eighty columns for the score, at most ten rows for a table."""
    monkeypatch.setenv("COLUMNS", "80")
    code, out, _ = run(command, "example:sparse")
    assert code == 0 and len(out.splitlines()) <= 16
    golden(f"{command}.txt", out)


def test_the_figures_read_as_the_golden_json(run: Run, golden: Golden) -> None:
    code, out, _ = run("score", "example:sparse", "--json")
    shown = re.sub(r"(\.\d{9})\d+", r"\1", out)  # the last digits are the machine's
    assert code == 0
    golden("score.json", shown.replace(f'"spagree": "{spagree.__version__}"', '"spagree": "VERSION"'))


def test_custom_weights_have_their_own_row() -> None:
    assert "▸ custom" in text(MIXED, weights={2: 1, 3: 1, 4: 1})


def test_long_tables_are_cut_and_say_so() -> None:
    shown = text(Tally.from_items([{"a": n, "b": 1} for n in range(1, 20)]))
    assert "7 more" in shown


def test_what_was_left_out_is_shown() -> None:
    agreement = spagree.measure([("q1", "a", "x"), ("q1", "b", None), ("q1", "c", "x"), (None, "a", "x")])
    shown = " ".join(str(agreement).split())
    assert "left out: 1 annotation: no label left out: 1 annotation: no item" in shown


def test_understood_columns_and_examples_are_harmless() -> None:
    understood = Understood(
        "a\x1b.csv", "long", {"item": "i\u202et", "label": "l"}, frozenset({"label"}), (("x\x07", "y"),)
    )
    shown = " ".join(rendered(summary(tell(Breakdowns(find(MIXED)), NOWHERE, understood))).split())
    assert "a\\x1b.csv as a long table" in shown
    assert "a long table: item = i\\u202et, label = l (label guessed) first row: x\\x07 · y" in shown


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
    assert " ".join(str(agreement).split()).startswith(
        f"SPA 0.850 95%: {others} for other annotators, {own} for these "
    )
    assert said in agreement._repr_html_() and said in for_paper(agreement.breakdowns())
    turned = spagree.measure(rows, interval_for="items")
    said = f"95% interval {own} for these annotators, {others} for other annotators"
    assert f"SPA 0.850 95%: {own} for these, {others} for other" in " ".join(str(turned).split()) and said in for_paper(
        turned.breakdowns()
    )
    assert len(headline(turned.findings)) == 1


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
        said = headline(agreement.findings)[1]
        assert said in " ".join(str(agreement).split())
        return said.removeprefix("Other annotators: not known, because ")

    assert why(answers("abc")) == "three annotators cannot show how annotators differ; that takes four."
    assert why(spagree.count_items(answers("abcd"))).startswith("a tally does not say who annotated")
    assert why(answers("abcd"), bootstrap=100) == "a bootstrap resamples items only."
    nameless = polars.DataFrame({"item": [1, 1, 2, 2, 3, 3], "label": list("xxyyxy")})
    assert why(nameless).startswith("the annotators are unknown; name their column")
    apart = [
        (f"{team}{item}", who, "xy"[item % 3 % 2]) for team in ("ab", "cd", "ef") for item in range(9) for who in team
    ]
    assert why(apart) == "three teams that share no item cannot show how teams differ; that takes four."
    monkeypatch.setattr("spagree.estimate.breakdowns.MOST_TO_FETCH", 10)
    assert "more than 3,000,000 kinds of them (measure a sample of the items)" in why(answers("abcd"))
    assert len(headline(find(Tally.from_items([{"a": 2}])))) == 1


def test_undefined_agreement_in_words_and_json() -> None:
    nothing = find(Tally.from_items([{"a": 1}]))
    assert (
        headline(nothing)[0] == "Agreement is undefined: no item has two annotations, so agreement cannot be measured."
    )
    found = document(tell(Breakdowns(nothing)))
    assert found["spa"]["value"] is None and "undefined" in found["spa"]
    assert found["missingness"] == {"z": None, "p": None, "undefined": "no pairable item", "by_n": []}
    assert document(tell(Breakdowns(find(Tally()))))["data"]["annotations_per_item"] == {
        "min": None,
        "median": None,
        "max": None,
    }
    assert "SPA undefined" in rendered(summary(tell(Breakdowns(nothing), NOWHERE)))


def test_json_is_full_precision_and_has_no_nan() -> None:
    found = json.loads(spagree.measure(MIXED).to_json(), parse_constant=pytest.fail)
    assert found["spa"]["value"] == find(MIXED).spa.value
    assert found["schemes"]["edge"]["stderr"] == find(MIXED).schemes["edge"].stderr


def test_the_notebook_table_escapes_everything() -> None:
    hostile = Tally.from_items([{"<script>alert(1)</script>": 1, "&": 1}, {"a": 2}, {"a": 1}])
    page = to_html(tell(Breakdowns(find(hostile)), NOWHERE))
    assert "<script" not in page and "SPA 0.5" in page and page.count("<tr>") == 1 + 6
    labels = [
        (n, who, each)
        for n in range(9)
        for who, each in (("ab"[n % 2], "x" if n == 8 else "<b>"), ("ba"[n % 2], "<B>"))
    ]
    assert "Explain &lt;B&gt; against &lt;b&gt;" in spagree.measure(labels)._repr_html_()


def test_json_spells_out_what_would_steer_a_terminal() -> None:
    label = "a\u202eb\x9bc\u2066d\ufeff\x1b"
    text = spagree.measure([("q", "a", label), ("q", "b", label)]).to_json()
    assert json.loads(text)["data"]["labels"] == {label: 2}
    assert not any(unicodedata.category(character) in ("Cc", "Cf") for character in text.replace("\n", ""))


def test_terminal_json_and_page_show_the_same_checks_in_the_same_words() -> None:
    agreement = spagree.measure("example:adaptive")
    found = tell(agreement.summed_up()).checked
    codes = {check["code"].replace("_", " ") for check in agreement.to_dict()["checks"]}
    assert {check.title.lower() for check in found} == codes
    terminal = " ".join(str(agreement).split())
    assert all(f"{check.icon} {check.title}: {check.words}" in terminal for check in found)


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
    shown = rendered(Listed([row], [COLUMNS[key] for key in keys]))
    assert shown.splitlines()[1].split() == [each for each in wanted if each != "–"]  # no column is empty
    page = page_table("t", "Rows", [row], [COLUMNS[key] for key in keys])
    assert [each.shown for each in page["rows"][0]] == wanted
    assert page["note"] == "* rests on fewer than 10 items."
