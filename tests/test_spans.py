"""measure_spans() and `spagree score --format spans`: from a table to words and JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars
import pytest

import spagree
from command import Run

ANN = [("q1", "ann", 0, 4, "person"), ("q1", "ann", 10, 15, "place"), ("q1", "ann", 20, 22, "person")]
BOB = [("q1", "bob", 0, 4, "person"), ("q1", "bob", 10, 14, "place"), ("q3", "bob", 1, 2, "place")]
SEEN = [(item, who, 40) for item in ("q1", "q2", "q3") for who in ("ann", "bob")]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    return Run(capsys)


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    marks, seen = tmp_path / "marks.csv", tmp_path / "seen.csv"
    marks.write_text("item,annotator,start,end,label\n" + "".join(",".join(map(str, row)) + "\n" for row in ANN + BOB))
    seen.write_text("item,annotator,length\n" + "".join(",".join(map(str, row)) + "\n" for row in SEEN))
    return marks, seen


def test_a_command_prints_what_python_measures(run: Run, files: tuple[Path, Path]) -> None:
    marks, seen = files
    code, printed, told = run("score", marks, "--seen", seen, "--json")
    found, of_rows = spagree.measure_spans(marks, seen), spagree.measure_spans(ANN + BOB, SEEN)
    assert code == 0 and not told and json.loads(printed) == found.to_dict()
    assert of_rows.findings == found.findings and of_rows.next_steps[0].command.startswith("marks.")
    code, printed, _ = run("score", marks, "--format", "spans", "--seen", seen)
    assert code == 0 and "exactly the same passage with the same label 33% of the time" in " ".join(printed.split())


def test_frames_are_measured_as_the_files_are(files: tuple[Path, Path]) -> None:
    frames = [polars.read_csv(path) for path in files]
    assert spagree.measure_spans(*frames).to_dict()["spans"] == spagree.measure_spans(*files).to_dict()["spans"]


def test_the_json_is_what_the_reference_promises(files: tuple[Path, Path]) -> None:
    document = spagree.measure_spans(*files, level=0.9).to_dict()
    assert document["format"] == 1 and set(document["data"]) >= {"items", "annotations", "annotators", "marks", "empty"}
    assert [document["data"][name] for name in ("items", "annotations", "marks", "empty")] == [3, 6, 6, 3]
    spans = document["spans"]
    assert spans["seen"] == "given" and spans["level"] == 0.9
    assert set(spans["marks"]) == {"same", "other_label", "other_boundaries", "both", "nothing"}
    names = ("exact", "characters", "exact_any_label", "characters_any_label", "characters_beyond_chance")
    for figure in [spans[name] for name in names] + [*spans["marks"].values()]:
        assert {"value", "stderr", "low", "high", "interval_for", "intervals"} <= set(figure)
    nothing = spagree.measure_spans([], SEEN).to_dict()["spans"]["exact"]
    assert nothing["value"] is None and nothing["undefined"].startswith("nobody marked anything")


def test_without_knowing_who_saw_what_the_number_says_so(run: Run, files: tuple[Path, Path]) -> None:
    marks, _ = files
    code, printed, told = run("score", marks, "--format", "spans")
    assert code == 0 and "too high" in printed.splitlines()[0]
    assert "--seen" in told
    found = spagree.measure_spans(marks)
    assert [warning.code for warning in found.warnings] == ["unseen_unknown"]
    assert "seen=" in found.warnings[0].message and found.to_dict()["spans"]["seen"] == "unknown"


TEXTS = [("q1", "😊 Ada met Bob in (Leiden)."), ("q2", "مرحبا Leiden")]
QUOTED = [
    ("q1", "ann", 2, 5, "Ada"),
    ("q1", "bob", 2, 5, "Ada"),
    ("q1", "ann", 17, 25, "(Leiden)"),
    ("q2", "ann", 6, 12, "Leiden"),
    ("q2", "bob", 6, 12, "Leiden"),
]


def _quoted(rows: Sequence[tuple[object, ...]]) -> polars.DataFrame:
    return polars.DataFrame(rows, schema=["item", "annotator", "start", "end", "words"], orient="row")


def test_texts_in_a_table_of_their_own_give_lengths_edges_and_the_page() -> None:
    found = spagree.measure_spans(_quoted(QUOTED), texts=TEXTS, quote="words")
    assert found.exact.value == 0.8 and found.findings.characters_beyond_chance.value is not None
    assert "Ada" in found.page() and "مرحبا" not in found.page()  # nobody disagrees about the second
    loose = spagree.measure_spans(
        _quoted(QUOTED), texts=polars.DataFrame(TEXTS, ["item", "text"], orient="row"), edges="loose"
    )
    assert sorted(zip(loose.marks.start.tolist(), loose.marks.end.tolist(), strict=True))[-1] == (18, 24)
    whole = [spagree.tally_spans(_quoted(part), texts=TEXTS, quote="words") for part in (QUOTED[:3], QUOTED[3:])]
    assert spagree.measure_spans(sum(whole)).exact.value == 0.8


def test_offsets_in_utf_16_are_known_by_what_is_quoted() -> None:
    browser = [
        (item, who, start + (item == "q1"), end + (item == "q1"), words) for item, who, start, end, words in QUOTED
    ]
    read = [spagree.measure_spans(_quoted(rows), texts=TEXTS, quote="words").marks for rows in (QUOTED, browser)]
    assert read[0].start.tolist() == read[1].start.tolist() and read[0].end.tolist() == read[1].end.tolist()


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"texts": [("q1", "😊 Eva met Bob in (Leiden)."), TEXTS[1]], "quote": "words"}, "row 1: from 2 to 5 .*'Eva'"),
        ({"texts": [("q1", "short"), TEXTS[1]], "quote": "words"}, "row 1: .*does not fit|row 1: from 2 to 5"),
        ({"texts": [("q1", "short"), TEXTS[1]]}, "row 3: column 'end': '25' is beyond the end of its text, 5"),
        ({"texts": [*TEXTS, ("q1", "another")]}, "'q1' has several texts"),
        ({"texts": [("q7", "of something else")]}, "none of its items has a text"),
        ({"texts": [("q1", "a", "b")]}, r"each row is \(item, text\)"),
        (
            {"texts": TEXTS, "seen": [("q1", "ann", 99), ("q2", "bob", 12)]},
            "length of item 'q1' is 99, but its text has 26",
        ),
        ({"quote": "words"}, "quote= needs the text of each item"),
        ({"texts": TEXTS, "mark": "words", "quote": "words"}, "without quote="),
    ],
)
def test_marks_that_belong_to_other_texts_are_refused(options: dict[str, Any], reason: str) -> None:
    with pytest.raises(spagree.SpagreeError, match=reason):
        spagree.measure_spans(_quoted(QUOTED), **options)


def test_items_without_a_text_are_counted() -> None:
    found = spagree.measure_spans(_quoted(QUOTED), texts=TEXTS[:1])
    assert (
        "1 item has no text, of 2 with marks"
        in {warning.code: warning.message for warning in found.warnings}["no_text"]
    )


def test_the_page_of_marks_that_are_no_places_has_them_in_words(tmp_path: Path) -> None:
    rows = [
        ("s1", "ann", 2, 1, "subj"),
        ("s1", "<b>bob", 2, 1, "obj"),
        ("s2", "ann", None, None, None),
        ("s2", "<b>bob", 3, 1, "obj"),
    ]
    arcs = polars.DataFrame(rows, schema=["item", "annotator", "dependent", "head", "label"], orient="row")
    page = spagree.measure_spans(arcs, mark=["dependent", "head"], texts=[("s1", "I eat & fish"), ("s2", "two")]).page()
    assert "2 | 1" in page and "3 | 1" in page and "I eat &amp; fish" in page and "<b>bob" not in page
    assert "another label" in page and "other boundaries" not in page and "name their column" not in page


def test_what_leaves_out_people_or_rows_says_so(tmp_path: Path) -> None:
    rows = [*QUOTED, ("q2", "gpt-4o", 0, 2, "x")]
    found = spagree.measure_spans(_quoted(rows), [(item, who) for item, who, *_ in rows], exclude_annotator="gpt-4o")
    assert found.data.left_out == {"excluded": 1} and found.exact.value == 0.8
    table = _quoted(rows).with_columns(kind=polars.when(polars.col("item") == "q1").then(1).otherwise(2))
    seen = table.select("item", "annotator", "kind").unique()
    found = spagree.measure_spans(table, seen, where="kind=1")
    assert found.data.items == 1 and "only rows with kind = 1: 3 of 6" in str(found.understood)


@pytest.mark.parametrize("option", [("--since", "page.html"), ("--metric", "ordinal"), ("--all-questions",)])
def test_options_that_mean_nothing_for_spans_are_refused(
    run: Run, files: tuple[Path, Path], option: tuple[str, ...]
) -> None:
    code, _, told = run("score", files[0], "--seen", files[1], *option)
    assert code == 2 and f"{option[0]}" in told and "is not for spans" in told


def test_a_gate_is_about_the_lower_end_of_exact_agreement(run: Run, files: tuple[Path, Path]) -> None:
    spans = ("score", *files[:1], "--seen", files[1])
    assert run(*spans, "--require", "0")[0] == 0
    code, _, told = run(*spans, "--require", "0.9")
    assert code == 1 and "0.9 is required" in told
    assert run(*spans, "--require", "krippendorff_alpha=0.5")[0] == 2


@pytest.mark.parametrize("table", ["items", "classes", "annotators", "pairs"])
def test_the_tables_are_those_of_python(run: Run, files: tuple[Path, Path], table: str) -> None:
    marks, seen = files
    code, printed, _ = run(table, marks, "--seen", seen, "--json")
    rows = getattr(spagree.measure_spans(marks, seen), table)().rows(named=True)
    assert code == 0 and [row.get("agreement") for row in json.loads(printed)[table]] == [
        row.get("agreement") for row in rows
    ]
    code, printed, told = run(table, marks, "--format", "spans")
    assert code == 0 and str(rows[0][{"items": "item", "classes": "class"}.get(table, "annotator")]) in printed
    assert "nothing to compare" not in printed + told


def test_a_table_of_the_terminal_begins_with_what_it_says(run: Run) -> None:
    found = spagree.measure_spans("example:spans")
    for table, figure in (
        ("items", "agreement"),
        ("classes", "agreement"),
        ("annotators", "confirmed"),
        ("pairs", "agreement"),
    ):
        first = getattr(found, table)().row(0, named=True)
        told = run(table, "example:spans", "--format", "spans")[1].splitlines()[0]
        assert f"{first[figure]:.0%}" in told and all(
            value in told for value in first.values() if isinstance(value, str)
        )
    printed = run("items", "example:spans", "--format", "spans", "--text", "text")[1]
    assert "Ask at the Musée d'Orsay" in printed


def test_a_model_is_compared_with_people_by_what_it_marks(run: Run, tmp_path: Path) -> None:
    rows = [(f"q{n}", who, 0, 4, "P") for n in range(12) for who in ("ann", "bob", "gpt-4o")]
    rows += [(f"q{n}", "bob", 9, 12, "P") for n in range(6)] + [(f"q{n}", "llama-3-8b", 0, 9, "P") for n in range(12)]
    found = spagree.compare(rows, model="gpt-4o", format="spans", margin=0.1)
    exact, characters = found.models["gpt-4o, whole spans"], found.models["gpt-4o, characters"]
    # of 24 marks of people beside the model's 12 and 6 more of bob's: Σ s = 12, Σ (1 + S/2)/2 = 13.5; people 12 of 15
    assert exact.with_humans.value == 12 / 13.5 and exact.humans.value == 12 / 15 and exact.items == 12
    assert characters.difference.value == pytest.approx(48 / (48 + 18 / 4) - 48 / (48 + 18 / 2))
    assert [warning.code for warning in found.warnings] == ["unseen_unknown", "other_models_left_out"]
    marks = tmp_path / "marks.csv"
    marks.write_text("item,annotator,start,end,label\n" + "".join(",".join(map(str, row)) + "\n" for row in rows))
    code, printed, _ = run("compare", marks, "--format", "spans", "--model", "gpt-4o", "--margin", "0.1", "--json")
    assert code == 0 and json.loads(printed) == json.loads(found.to_json())
    code, _, told = run("compare", marks, "--format", "spans", "--model", "gpt-5")
    assert code == 2 and "not among the annotators" in told


def test_models_among_the_annotators_are_named_and_may_be_left_out(run: Run, files: tuple[Path, Path]) -> None:
    model = [("q1", "gpt-4o", 0, 4, "person"), ("q2", "gpt-4o", 3, 9, "place")]
    found = spagree.measure_spans(ANN + BOB + model, [*SEEN, ("q1", "gpt-4o", 40), ("q2", "gpt-4o", 40)])
    assert [warning.code for warning in found.warnings] == ["not_a_person"]
    without = spagree.measure_spans(ANN + BOB + model, SEEN, exclude_annotator="gpt-4o")
    assert without.to_dict()["spans"] == spagree.measure_spans(ANN + BOB, SEEN).to_dict()["spans"]
    assert without.data.left_out == {"excluded": 2}
    code, _, told = run("score", files[0], "--seen", files[1], "--exclude-annotator", "bop")
    assert code == 2 and "nobody has this name; did you mean 'bob'?" in told


def test_nothing_to_measure_is_an_error_with_its_reason(run: Run, files: tuple[Path, Path]) -> None:
    marks, seen = files
    marks.write_text("item,annotator,start,end\nq1,ann,0,4\n")
    seen.write_text("item,annotator\nq1,ann\n")
    code, _, told = run("score", marks, "--seen", seen)
    assert code == 3 and "no item was seen by two annotators" in told


def test_labels_and_names_come_out_as_they_went_in() -> None:
    odd = "\x1b[31m<b>--seen\n*.csv"
    rows = [(odd, who, 0, 4, odd) for who in (odd, "bob")] + [("q", who, 0, 2, "P") for who in (odd, "bob")]
    found = spagree.measure_spans(rows)
    assert found.classes()["class"].to_list() == [odd, "P"] or set(found.classes()["class"]) == {odd, "P"}
    assert set(found.annotators()["annotator"]) == {odd, "bob"} and odd in found.items()["item"].to_list()
    assert "\x1b" not in found.to_json() and "\x1b" not in str(found)
    assert found.to_dict()["data"]["labels"] == {odd: 2, "P": 2}


def test_without_labels_the_words_speak_of_passages() -> None:
    found = spagree.measure_spans([row[:4] for row in ANN + BOB], SEEN)
    assert "with the same label" not in str(found) and found.exact == found.findings.exact_any_label
    assert repr(found).startswith("<SpanAgreement: If one annotator marks a passage")


def test_an_export_of_a_tool_says_itself_who_saw_what(run: Run, tmp_path: Path) -> None:
    def region(start: int, end: int) -> dict[str, object]:
        value = {"start": start, "end": end, "text": "Ann met Bob"[start:end], "labels": ["PER"]}
        return {"from_name": "label", "to_name": "text", "type": "labels", "value": value}

    def annotation(who: int, *regions: dict[str, object]) -> dict[str, object]:
        return {"id": who, "completed_by": who, "result": list(regions), "was_cancelled": False}

    given = [annotation(1, region(0, 3), region(8, 11)), annotation(2, region(0, 3)), annotation(3)]
    export = tmp_path / "export.json"
    export.write_text(json.dumps([{"id": 7, "data": {"text": "Ann met Bob"}, "annotations": given}]))
    found = spagree.measure_spans(export)
    assert found.exact.value == 1 / 3 and found.findings.seen == "every_submission" and found.data.empty == 1
    code, printed, _ = run("score", export, "--format", "spans", "--json")
    assert code == 0 and json.loads(printed) == found.to_dict()


def test_rows_and_columns_are_chosen_as_for_labels(run: Run, files: tuple[Path, Path]) -> None:
    marks, seen = files
    code, printed, _ = run("score", marks, "--seen", seen, "--where", "label=person", "--json")
    assert code == 0 and json.loads(printed)["data"]["labels"] == {"person": 3}
    with pytest.raises(spagree.UsageError, match=r"unknown option 'lable'; did you mean 'label'"):
        spagree.measure_spans(marks, seen, lable="x")  # type: ignore[call-arg]


def test_groups_and_development_are_those_of_python(run: Run, tmp_path: Path) -> None:
    marks, seen = tmp_path / "marks.csv", tmp_path / "seen.csv"
    rows = [(f"q{n}", who, 0, 4 + (n % 3 == 0 and who == "bob"), "P") for n in range(12) for who in ("ann", "bob")]
    marks.write_text("item,annotator,start,end,label\n" + "".join(",".join(map(str, row)) + "\n" for row in rows))
    visits = [(f"q{n}", who, ("de", "en")[n % 2], n) for n in range(12) for who in ("ann", "bob")]
    seen.write_text("item,annotator,language,when\n" + "".join(",".join(map(str, row)) + "\n" for row in visits))
    found = spagree.measure_spans(marks, seen, by="language", time="when")
    code, printed, _ = run("score", marks, "--seen", seen, "--by", "language", "--json")
    document = json.loads(printed)
    assert code == 0 and {name: part["spans"]["exact"]["value"] for name, part in document["groups"].items()} == {
        name: part.exact.value for name, part in found.groups.findings.items()
    }
    assert {"groups_of", "differences", "between"} <= document.keys()
    code, printed, _ = run("score", marks, "--seen", seen, "--by", "language")
    assert code == 0 and "By language (groups of items)" in printed
    code, printed, _ = run("development", marks, "--seen", seen, "--time", "when", "--steps", "4", "--json")
    shown = [row["spa"] for row in json.loads(printed)["development"]]
    assert code == 0 and shown == found.development(4)["spa"].to_list()
    code, printed, _ = run("development", marks, "--seen", seen, "--time", "when", "--steps", "4")
    assert code == 0 and "spans so far" in " ".join(printed.split())
    code, _, told = run("development", marks, "--seen", seen)
    assert code == 2 and "--time" in told


ARCS = """item,annotator,dependent,head,label
s1,ann,2,1,subj
s1,ann,3,2,obj
s1,bob,2,1,subj
s1,bob,3,1,obj
s2,ann,1,,root
s2,bob,1,,dep
s3,ann,,,
s3,bob,4,2,obj
"""


def test_marks_may_be_what_stands_in_some_columns(run: Run, tmp_path: Path) -> None:
    """Arcs: of 7 one is shared with its label (2/7), and two without it (4/7); ann drew none in s3."""
    path = tmp_path / "arcs.csv"
    path.write_text(ARCS)
    found = spagree.measure_spans(path, mark=["dependent", "head"])
    assert (found.exact.value, found.findings.exact_any_label.value) == (2 / 7, 4 / 7)
    assert found.outcomes["other_label"].value == 2 / 7 and found.outcomes["nothing"].value == pytest.approx(3 / 7)
    assert found.characters.undefined == found.outcomes["both"].undefined == "these marks are no places with characters"
    assert found.findings.seen == "rows" and found.data.empty == 1 and found.data.marks == 7
    assert spagree.measure_spans(path, mark=["dependent", "head", "label"]).exact.value == 2 / 7
    assert spagree.measure_spans(path, mark="label").exact.value == 4 / 7  # sets of labels
    code, printed, _ = run("score", path, "--mark", "dependent", "--mark", "head", "--json")
    assert code == 0 and json.loads(printed) == found.to_dict()
    code, printed, _ = run("score", path, "--mark", "dependent", "--mark", "head")
    assert "another makes exactly the same one 29% of" in " ".join(printed.split()) and "boundaries" not in printed


def test_keyed_marks_are_tallied_and_compared_by_what_they_are(tmp_path: Path) -> None:
    path, other = tmp_path / "arcs.csv", tmp_path / "others.csv"
    path.write_text(ARCS)
    other.write_text(ARCS.replace("s", "t").replace("3,", "5,"))
    mark = ["dependent", "head"]
    parts = [spagree.tally_spans(each, mark=mark) for each in (path, other)]
    both = spagree.measure_spans([str(path), str(other)], mark=mark)
    assert spagree.measure_spans(sum(parts)).exact.value == both.exact.value
    spagree.save(sum(parts), tmp_path / "arcs.json")
    assert spagree.load(tmp_path / "arcs.json") == parts[0] + parts[1]
    assert spagree.compare(path, path, names="ab", format="spans", mark=mark).verdict == "the_same"
    renamed = tmp_path / "renamed.csv"
    renamed.write_text(ARCS.replace(",2,", ",7,"))
    assert spagree.compare(path, renamed, names="ab", format="spans", mark=mark).verdict == "cannot_tell"


def test_keyed_marks_have_no_places(tmp_path: Path, run: Run) -> None:
    path = tmp_path / "arcs.csv"
    path.write_text(ARCS)
    for option in (("--start", "head"), ("--edges", "loose")):
        code, _, told = run("score", path, "--mark", "dependent", *option)
        assert code == 2 and f"without {option[0]}" in told
    code, _, told = run("score", path, "--mark", "haed")
    assert code != 0 and "head" in told


def test_a_command_that_is_for_labels_does_not_try_spans(run: Run) -> None:
    code, _, told = run("plan", "example:spans")
    assert code != 0 and "mark spans, not classes" in told and "measured as" not in told


def test_texts_beside_an_export_that_has_its_own_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "prodigy.jsonl"
    spans = [{"start": 0, "end": 3, "label": "P"}]
    about = {"text": "Ada slept", "_input_hash": 1, "_task_hash": 2, "_view_id": "ner_manual", "answer": "accept"}
    rows = [{**about, "spans": spans, "_annotator_id": f"p-{who}", "_session_id": f"p-{who}"} for who in "ab"]
    path.write_text("\n".join(map(json.dumps, rows)))
    assert spagree.measure_spans(path).exact.value == 1
    with pytest.raises(spagree.UsageError, match="Prodigy have their own texts"):
        spagree.measure_spans(path, texts=TEXTS)
