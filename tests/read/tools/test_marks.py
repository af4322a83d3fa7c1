"""Marks in exports of tools: places in characters, and who saw what."""

from __future__ import annotations

import copy
import json
import sqlite3
import tempfile
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import test_tools_laws as laws
from hypothesis import given
from hypothesis import strategies as st

import spagree
from command import Run
from examples import examples
from spagree.errors import DataError
from spagree.read.tools.export import read_export_marks
from spagree.read.tools.marks import Mark, Marks, located
from spagree.read.tools.registry import find
from spagree.read.tools.source import look
from spagree.read.tools.tool import ReaderOptions, Rules

FOLDER = Path(__file__).parents[4] / "shared" / "formats" / "spans"
TEXT = "😊 in Delft"  # seven UTF-16 units before Delft, six characters
DELFT = (5.0, 10.0, "PLACE")


def found(
    *paths: Path, question: str | None = None, format: str = "auto", duplicates: str = "error", **rules: Any
) -> Any:
    with tempfile.TemporaryDirectory() as scratch:
        source = look(list(paths), None, Path(scratch))
        tool = find(source, format)
        assert tool is not None
        reading = ReaderOptions(Path(scratch), question=question), Rules(**rules), duplicates
        (marked,) = read_export_marks(source, tool, *reading).values()
    rows, seen = marked.rows.collect().to_native(), (marked.seen or marked.rows).collect().to_native()
    places = {(item, who): [] for item, who in seen.select("item", "annotator").rows()}
    for item, who, start, end, label in rows.rows():
        places[item, who].append((start, end, label))
    known = seen["text"] if "text" in seen.columns else pl.Series([None] * seen.height)
    texts = dict(zip(seen["item"].reverse(), known.reverse(), strict=True))
    return marked, places, texts


def saved(path: Path, *records: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        "\n".join(each if isinstance(each, str) else json.dumps(each) for each in records), encoding="utf-8"
    )
    return path


REAL = [
    # file, options, tool, how, marks, visits, items seen
    ("label_studio/ner.json", {}, "label-studio", "every_submission", 20, 13, 5),
    ("label_studio/ner.min.json", {}, "label-studio", "every_submission", 20, 13, 5),
    ("label_studio/ner.csv", {}, "label-studio", "every_submission", 20, 13, 5),
    ("label_studio/paragraphs.json", {}, "label-studio", "every_submission", 3, 3, 1),
    ("label_studio/audio.json", {}, "label-studio", "every_submission", 4, 4, 2),
    ("doccano/spans_JSONL_all.zip", {}, "doccano", "unknown", 18, 9, 4),
    ("doccano/spans_JSONL_confirmed.zip", {"empty": "keep"}, "doccano", "rows", 16, 11, 5),
    ("doccano/relations_JSONL_all.zip", {}, "doccano", "unknown", 9, 4, 2),
    ("argilla/records_to_list_flat.json", {}, "argilla", "every_submission", 16, 11, 5),
    ("potato/annotation_output", {}, "potato", "unknown", 17, 12, 5),
    ("factgenie", {}, "factgenie", "every_submission", 1276, 341, 12),
    ("wmt_mqm/sxs_mqm_generalMT2023_zhen_cut.tsv", {}, "mqm", "every_submission", 78, 120, 40),
    ("brat", {}, "brat", "unknown", 767, 9, 4),
    ("webanno_tsv/annotation", {"question": "NamedEntity.value"}, "inception", "every_submission", 11, 15, 5),
    ("qualcoder/made.qda", {}, "qualcoder", "unknown", 11, 5, 2),
    ("rqda", {}, "rqda", "unknown", 10, 4, 2),
    ("taguette/server_database.sqlite3", {}, "taguette", "unknown", 8, 2, 1),
    ("refi_qda/atlasti_8_sample.qdpx", {}, "refi-qda", "unknown", 9, 4, 4),
    ("elan/three_annotators.eaf", {}, "elan", "unknown", 4, 3, 1),
    ("praat/three_annotators.TextGrid", {}, "praat", "unknown", 4, 3, 1),
]


@pytest.mark.skipif(not FOLDER.is_dir(), reason="real exports are not beside this checkout")
@pytest.mark.parametrize(("name", "options", "tool", "how", "marks", "visits", "items"), REAL)
def test_files_of_the_tools(
    name: str, options: dict[str, Any], tool: str, how: str, marks: int, visits: int, items: int
) -> None:
    marked, places, texts = found(FOLDER / name, **options)
    assert (marked.how, sum(map(len, places.values())), len(places), len(texts)) == (how, marks, visits, items)
    if tool != "potato":  # which also asked for a class
        with pytest.raises(spagree.DataError, match=r"regions? marked and no classes chosen"):
            spagree.measure(FOLDER / name, format=tool)


def region(start: Any, end: Any, quote: str | None, *labels: str) -> dict[str, Any]:
    value = {"start": start, "end": end, "text": quote, "labels": labels}
    return {"from_name": "ner", "to_name": "text", "type": "labels", "value": value}


def studio(*results: Any, text: str = TEXT) -> dict[str, Any]:
    made = [
        {"id": who, "completed_by": who, "result": result, "was_cancelled": result is None} | ({"result": result or []})
        for who, result in enumerate(results, 1)
    ]
    return {"id": 7, "data": {"note": "x", "text": text}, "annotations": made}


def test_offsets_become_characters_and_an_empty_submission_is_a_visit(tmp_path: Path) -> None:
    characters, units = region(5, 10, "Delft", "PLACE"), region(6, 11, "Delft", "PLACE")
    path = saved(tmp_path / "e.json", [studio([characters], [units], [], None)])
    marked, places, texts = found(path)
    assert places == {("7", "1"): [DELFT], ("7", "2"): [DELFT], ("7", "3"): []}  # 4 skipped the task
    assert texts == {"7": TEXT} and marked.how == "every_submission" and marked.left_out == {"cancelled": 1}
    assert dict(marked.understood.columns) == {"item": "id", "annotator": "completed_by", "marks": "ner"}
    assert marked.understood.rules == ("counted: status submitted (not cancelled, draft)",)


@pytest.mark.parametrize("address", ["https://example.org/a.txt", "s3://bucket/a.txt", "/data/local-files/?d=a.txt"])
def test_a_text_that_is_elsewhere_is_not_the_one_that_was_marked(address: str, tmp_path: Path) -> None:
    task = studio([region(5, 10, "Delft", "PLACE")])
    task["data"] = {"text": address, "note": "x"}
    assert found(saved(tmp_path / "e.json", [task]))[1:] == ({("7", "1"): [DELFT]}, {"7": None})
    task["data"] = {"text": TEXT, "source": address}
    assert found(saved(tmp_path / "e.json", [task]))[2] == {"7": TEXT}


def test_a_region_with_two_labels_is_two_marks_and_blanks_may_differ(tmp_path: Path) -> None:
    path = saved(tmp_path / "e.json", [studio([region(0, 4, "a\\nb", "X", "Y")], text="a\r\nb c")])
    assert found(path)[1] == {("7", "1"): [(0, 4, "X"), (0, 4, "Y")]}


PARAGRAPHS = {
    "start": "1", "end": "1", "startOffset": 0, "endOffset": 2, "globalOffsets": {"start": 3, "end": 5},
    "text": "Ho", "paragraphlabels": ["X"],
}  # fmt: skip


@pytest.mark.parametrize(
    ("value", "place"),
    [
        (PARAGRAPHS, (3, 5, "X")),
        ({"start": 0.5, "end": 300.25, "channel": 0, "labels": ["X"]}, (0.5, 300.25, "X")),
        ({"ranges": [{"start": 3, "end": 9}], "timelinelabels": ["X"]}, (3, 9, "X")),
        ({"start": "/p[1]", "end": "/p[2]", "globalOffsets": {"start": 1, "end": 4}, "text": "x", "hypertextlabels": ["X"]}, (1, 4, "X")),
    ],
)  # fmt: skip
def test_marks_of_dialogues_sound_video_and_html(value: dict[str, Any], place: Any, tmp_path: Path) -> None:
    task = studio([{"from_name": "q", "value": value}])
    task["data"] = {"dialogue": [{"author": "A", "text": "Hi."}, {"author": "B", "text": "Ho"}], "audio": "a.wav"}
    assert found(saved(tmp_path / "e.json", [task]))[1] == {("7", "1"): [place]}


WRONG = {
    r"a mark ends at 5, but starts at 5": region(5, 5, "", "X"),
    r"a mark ends at 2, but starts at 5": region(5, 2, "", "X"),
    r"a mark from 5 to 50 does not fit a text of 10 characters": region(5, 50, "Delft", "X"),
    r"from 0 to 4 the text is '😊 in', but the mark quotes 'Gouda'": region(0, 4, "Gouda", "X"),
    r"'five' and '10' are no offsets": region("five", 10, "Delft", "X"),
    r"'nan' and '10' are no offsets": region("nan", 10, "Delft", "X"),
}


@pytest.mark.parametrize("problem", WRONG)
def test_impossible_marks_are_refused_with_their_place(problem: str, tmp_path: Path) -> None:
    path = saved(tmp_path / "e.json", [studio([], [WRONG[problem]])])
    with pytest.raises(spagree.DataError, match=r"e\.json.*: " + problem):
        found(path)


def test_several_questions_and_submissions_are_to_be_chosen(tmp_path: Path) -> None:
    other = {**region(0, 4, None, "X"), "from_name": "error"}
    task = studio([region(5, 10, "Delft", "PLACE"), other], [])
    task["annotations"][1] |= {"completed_by": 1, "created_at": "2026-01-02T00:00:00Z"}
    task["annotations"][0]["created_at"] = "2026-01-03T00:00:00Z"
    path = saved(tmp_path / "e.json", [task])
    with pytest.raises(spagree.ColumnError, match="asked 2 questions: 'ner', 'error'"):
        found(path)
    with pytest.raises(spagree.DuplicateError, match="2 submissions of item '7' by annotator '1'"):
        found(path, question="ner")
    assert found(path, question="ner", duplicates="first")[1] == {("7", "1"): []}  # by time, not by place
    assert found(path, question="ner", duplicates="last")[1] == {("7", "1"): [DELFT]}


def test_blanks_and_punctuation_at_the_ends_may_not_count(tmp_path: Path) -> None:
    text = "in (Leiden), €5 …"
    given = [
        [region(3, 12, "(Leiden),", "X")],
        [region(2, 10, " (Leiden", "X")],
        [region(13, 17, "€5 …", "X"), region(16, 17, "…", "X")],
    ]
    path = saved(tmp_path / "e.json", [studio(*given, text=text)])
    assert spagree.measure_spans(path).exact.value == 0
    loose = spagree.measure_spans(path, edges="loose")
    assert loose.exact.value == pytest.approx((2 / 6) / (4 / 3)) and loose.data.marks == 4
    with pytest.raises(spagree.UsageError, match='edges="loose" needs the text of each item'):
        spagree.measure_spans([("q", "a", 0, 4, "P"), ("q", "b", 0, 4, "P")], edges="loose")
    with pytest.raises(spagree.UsageError, match="tight"):
        spagree.measure_spans(path, edges="tight")


MARKED: dict[str, Any] = {
    "label-studio": [studio([region(5, 10, "Delft", "PLACE")], [region(0, 4, None, "X", "Y")], [])],
    "prodigy": [{"text": TEXT, "_input_hash": 1, "_task_hash": 2, "_view_id": "ner_manual", "answer": "accept",
                 "_annotator_id": "a", "spans": [{"start": 5, "end": 10, "label": "PLACE"}]}],
    "argilla": [{"id": 7, "q.responses": [[{"start": 5, "end": 10, "label": "PLACE"}]], "q.responses.users": ["a"], "q.responses.status": ["submitted"]}],
    "labelbox": [{"data_row": {"id": 7}, "projects": {"p": {"labels": [{"label_details": {"created_by": "a"}, "annotations": {
        "objects": [{"name": "PLACE", "location": {"start": 5, "end": 9}}], "classifications": []}}]}}}],
    "ground-truth": [{"answers": [{"workerId": "a", "answerContent": {"ner": {"entities": [{"label": "P", "startOffset": 5, "endOffset": 10}]}}}]}],
    "potato": [{"user_id": "a", "instance_id_to_label_to_value": {"8": []}, "instance_id_to_span_to_value": {
        "7": [[{"schema": "ner", "name": "PLACE", "start": 5, "end": 10}, "PLACE"]]}}],
    "factgenie": [{"dataset": "d", "split": "s", "example_idx": 0, "setup_id": "m", "annotator_group": 1,
                   "annotations": [{"type": 0, "start": 5, "text": "Delft"}]}],
}  # fmt: skip


@pytest.mark.parametrize("tool", MARKED)
def test_a_wrong_value_anywhere_in_marks_is_read_or_refused_and_never_a_crash(tool: str, tmp_path: Path) -> None:
    path = tmp_path / "e.json"
    for spot in laws.spots(MARKED[tool]):
        for wrong in (*laws.WRONG, ...):
            damaged = copy.deepcopy(MARKED[tool])
            container, key, _ = list(laws.places(damaged))[spot]
            if wrong is ...:
                del container[key]
            else:
                container[key] = wrong
            path.write_text(json.dumps(damaged), "utf-8")
            with suppress(spagree.SpagreeError):
                found(path, format=tool)


def test_a_damaged_document_is_read_or_refused_and_never_a_crash(tmp_path: Path) -> None:
    structures = json.loads(cas(*STRUCTURES["a"]))
    for spot in laws.spots(structures):
        for wrong in laws.WRONG:
            damaged = copy.deepcopy(structures)
            container, key, _ = list(laws.places(damaged))[spot]
            container[key] = wrong
            saved(tmp_path / "cas" / "doc.txt" / "a.json", damaged)
            with suppress(spagree.SpagreeError):
                found(tmp_path / "cas", format="inception")
    for name, content in (("xmi/doc.txt/a.xmi", xmi(*CASES["a"])), ("gate/a.xml", GATE)):
        for at in range(0, len(content), 3):
            for damaged_text in (content[:at] + content[at + 1 :], content[:at] + '"<9' + content[at:]):
                path = saved(tmp_path / name, damaged_text)
                with suppress(spagree.SpagreeError):
                    found(tmp_path / name.partition("/")[0] if "xmi" in name else path, format="auto")


odd_texts = st.text(st.sampled_from("a 😊𝒟é\u0301\u200d\u202e\u05d0ا\r\n\0<&"), min_size=1, max_size=12)


@examples(150)
@given(odd_texts, st.integers(0, 12), st.integers(1, 12), st.sampled_from(["characters", "UTF-16 units", "bytes"]))
def test_offsets_in_any_unit_become_characters_or_are_refused(text: str, at: int, size: int, unit: str) -> None:
    start, end = at % len(text), min(len(text), at % len(text) + size)
    size_of = {
        "characters": len,
        "UTF-16 units": lambda words: len(words.encode("utf-16-le")) // 2,
        "bytes": lambda words: len(words.encode()),
    }[unit]
    ends = size_of(text[:start]), size_of(text[:end])
    mark = Mark("P", *ends, text[start:end])
    assert located(Marks("here", [mark], [text], (unit,)))[0] == [(start, end, "P")]
    for guess in ("characters", "UTF-16 units", "bytes"):  # a wrong guess gives the same words, or is refused
        with suppress(DataError):
            ((first, last, _),) = located(Marks("here", [mark], [text], (guess,)))[0]
            assert "".join(text[int(first) : int(last)].split()) == "".join(text[start:end].split())


def test_hostile_texts_and_labels_come_out_as_they_went_in(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "\u202eزار 👩\u200d🔬 \x1b[31m<script>&\r\n\u05d0 --format wide"
    quotes = [(5, 8), (1, 4), (9, 22)]
    label = "\x1b[31m<b>'\u202e"
    regions = [region(start, end, text[start:end], label, "=cmd()") for start, end in quotes]
    path = saved(tmp_path / "e.json", [studio(regions, regions[:1], text=text)])
    places = found(path)[1]
    assert sorted({(start, end) for start, end, _ in places["7", "1"]}) == sorted(quotes)
    assert {name for _, _, name in places["7", "1"]} == {label, "=cmd()"}
    measured = spagree.measure_spans(path)
    assert measured.marks.texts == (text,) and set(measured.data.labels) == {label, "=cmd()"}
    for command in ("score", "items", "classes", "annotators"):
        code, printed, told = Run(capsys)(command, path, "--format", "spans")
        assert code in (0, 3) and printed + told and not {"\x1b", "\u202e"} & {*printed, *told}


def test_boxes_are_no_marks(tmp_path: Path) -> None:
    box = {"from_name": "box", "value": {"x": 1, "y": 2, "width": 3, "height": 4, "rectanglelabels": ["Car"]}}
    with pytest.raises(
        spagree.DataError, match="no marks with a start and an end in this export of Label Studio: 2 regions"
    ):
        found(saved(tmp_path / "e.json", [studio([box], [box])]))


def prodigy(answer: str, **more: Any) -> dict[str, Any]:
    return {"text": TEXT, "_input_hash": 1, "_task_hash": 2, "_view_id": "ner_manual", "answer": answer, **more}


def test_answers_of_prodigy(tmp_path: Path) -> None:
    span = {"start": 5, "end": 10, "label": "PLACE", "token_start": 2, "token_end": 2}
    people = {"ann": prodigy("accept", spans=[span]), "bob": prodigy("accept"), "cyd": prodigy("reject"), "dan": prodigy("ignore")}  # fmt: skip
    paths = [saved(tmp_path / f"{who}.jsonl", task) for who, task in people.items()]
    assert found(*paths)[1] == {("1", "ann"): [DELFT], ("1", "bob"): []}
    with pytest.raises(spagree.DataError, match="without an annotator"):
        found(paths[0])


def test_doccano_counts_utf_16_units_and_does_not_tell_who_saw_what(tmp_path: Path) -> None:
    members = {"ann": {"label": [[6, 11, "PLACE"]]}, "bob": {"label": []}}
    with zipfile.ZipFile(tmp_path / "d.zip", "w") as archive:
        for who, labels in members.items():
            archive.writestr(f"{who}.jsonl", json.dumps({"id": 1, "text": TEXT, **labels}))
    assert found(tmp_path / "d.zip")[1] == {("1", "ann"): [DELFT]}
    assert found(tmp_path / "d.zip", empty="keep")[1] == {("1", "ann"): [DELFT], ("1", "bob"): []}


def test_responses_of_argilla(tmp_path: Path) -> None:
    span = [{"start": 5, "end": 10, "label": "PLACE"}]
    record = {"id": "7", "text": TEXT, "q.responses": [span, [], span, None]}
    record |= {
        "q.responses.users": list("abcd"),
        "q.responses.status": ["submitted", "submitted", "draft", "discarded"],
    }
    assert found(saved(tmp_path / "a.jsonl", record))[1] == {("7", "a"): [DELFT], ("7", "b"): []}


def test_entities_of_ground_truth_and_labelbox(tmp_path: Path) -> None:
    def answer(who: str, *entities: Any) -> dict[str, Any]:
        return {"workerId": who, "answerContent": {"crowd-entity-annotation": {"entities": entities}}}

    entity = {"label": "PLACE", "startOffset": 5, "endOffset": 10}
    saved(tmp_path / "gt" / "worker-response" / "7" / "a.json", {"answers": [answer("a", entity), answer("b")]})
    assert found(tmp_path / "gt")[1] == {("7", "a"): [DELFT], ("7", "b"): []}
    labels = [
        {"label_details": {"created_by": who}, "annotations": {"objects": objects, "classifications": []}}
        for who, objects in (("a", [{"name": "PLACE", "location": {"start": 5, "end": 9}}]), ("b", []))
    ]
    row = {"data_row": {"id": "7"}, "projects": {"p": {"labels": labels}}}
    assert found(saved(tmp_path / "l.ndjson", row))[1] == {("7", "a"): [DELFT], ("7", "b"): []}


def test_spans_of_potato_and_who_saved_another_answer(tmp_path: Path) -> None:
    span = [{"schema": "ner", "name": "PLACE", "title": "PLACE", "start": 5, "end": 10}, "PLACE"]
    done = {"7": [[{"schema": "done", "name": "yes"}, "yes"]]}
    for who, spans, labels in (("a", {"7": [span]}, {}), ("b", {}, done), ("c", {}, {})):
        state = {"user_id": who, "instance_id_to_label_to_value": labels, "instance_id_to_span_to_value": spans}
        saved(tmp_path / who / "user_state.json", state)
    assert found(tmp_path)[1] == {("7", "a"): [DELFT], ("7", "b"): []}
    other = [{**span[0], "target_field": "title", "start": 0, "end": 2}, "PLACE"]
    page = [{**span[0], "start": 0, "end": 0, "format_coords": {"format": "pdf", "page": 1}}, "PLACE"]
    state = {
        "user_id": "a",
        "instance_id_to_label_to_value": {},
        "instance_id_to_span_to_value": {"7": [span, other, page]},
    }
    saved(tmp_path / "a" / "user_state.json", state)
    assert found(tmp_path, question="ner:title")[1]["7", "a"] == [(0, 2, "PLACE")]
    saved(tmp_path / "config.yaml", "output_annotation_dir: .\n")
    saved(tmp_path / "exports" / "jsonl" / "annotations.jsonl", "{}")  # as in the folder of a project
    marked, places, _ = found(tmp_path, question="ner")
    assert places["7", "a"] == [DELFT] and [warning.code for warning in marked.warnings] == ["regions_left_aside"]


def test_errors_of_mqm_are_joined_and_controls_left_out(tmp_path: Path) -> None:
    rows = [
        ("a", "😊 in <v>Delft</v>", "Accuracy", "Major"),
        ("a", '<v>😊</v> in Delft', "Style", "Minor"),
        ("b", TEXT, "No-error", "No-error"),
        ("c", "😊 <v>in</v> Delft", "Found", "HOTW-test"),
        ("c", TEXT, "Accuracy", "Major"),  # marked in the source only
    ]  # fmt: skip
    header = "system\tdoc\tglobalSegId\trater\tsource\ttarget\tcategory\tseverity\tmetadata"
    lines = [f'S\td\t9\t{who}\t"Hi\t{target}\t{category}\t{severity}\t{{}}' for who, target, category, severity in rows]
    expected = {("S d 9", "a"): [(5, 10, "Accuracy"), (0, 1, "Style")], ("S d 9", "b"): [], ("S d 9", "c"): []}
    assert found(saved(tmp_path / "m.tsv", header, *lines))[1] == expected


def test_spans_of_factgenie_are_named_by_the_configuration(tmp_path: Path) -> None:
    saved(tmp_path / "config.yaml", "annotation_span_categories:\n- name: PLACE\n  color: red\n")
    example = {"dataset": "d", "split": "s", "example_idx": 0}
    saved(tmp_path / "outputs" / "o.jsonl", {**example, "setup_id": "m3.5", "output": TEXT})
    marked = {**example, "setup_id": "m3-5", "annotations": [{"type": 0, "start": 5, "text": "Delft"}]}
    empty = {**marked, "annotations": [], "annotator_group": 2}
    saved(tmp_path / "annotations.jsonl", {**marked, "annotator_group": 1}, empty)
    assert found(tmp_path)[1:] == ({("d s 0 m3-5", "1"): [DELFT], ("d s 0 m3-5", "2"): []}, {"d s 0 m3-5": TEXT})
    assert found(tmp_path / "annotations.jsonl")[1]["d s 0 m3-5", "1"] == [(5, 10, "0")]


def test_texts_of_brat_are_told_by_their_names_below_the_annotators(tmp_path: Path) -> None:
    spans = "T1\tPLACE 5 10\tDelft\nT2\tX 0 1;2 4\t😊 in\nR1\tOf Arg1:T1 Arg2:T2\n#1\tAnnotatorNotes T1\thm\n"
    for who, content in (("a", spans), ("b", "")):
        saved(tmp_path / who / "sub" / "t.txt", TEXT)
        saved(tmp_path / who / "sub" / "t.ann", content)
    marked, places, texts = found(tmp_path)
    assert places == {("sub/t", "a"): [DELFT, (0, 4, "X")]} and len(texts["sub/t"]) == 10
    assert [warning.code for warning in marked.warnings] == ["marks_in_parts"]
    saved(tmp_path / "a" / "sub" / "t.ann", "T1\tPLACE 4 9\tDelft\n")
    with pytest.raises(spagree.DataError, match="the mark quotes 'Delft'"):
        found(tmp_path)
    saved(tmp_path / "a" / "sub" / "t.ann", "T1\tPLACE 4 9\tDelft\nT2\tPLACE five 9\tDelft\n")
    with pytest.raises(spagree.DataError, match=r"a/sub/t\.ann:2: not a span"):
        found(tmp_path)


def webanno(*tokens: str) -> str:
    return "\n".join(["#FORMAT=WebAnno TSV 3.3", "#T_SP=custom.Span|id|value", "#T_RL=custom.Rel|kind|BT_Span", "", "", *tokens])  # fmt: skip


def test_documents_of_webanno(tmp_path: Path) -> None:
    first = (
        "1-1\t0-2\t😊\t_\t_\t_\t_\t",
        "1-2\t3-5\tin\t*[1]|*\tP\\|Q[1]|*\t_\t_\t",
        "1-3\t6-11\tDelft\t*[1]\tP\\|Q[1]\tr\t1-2\t",
    )
    second = (
        *("1-1\t0-2\t😊\t_\t_\t_\t_\t", "1-1.1\t0-2\t😊\t*\tX\t_\t_\t", "1-2\t3-5\tin\t_\t_\t_\t_\t"),
        "1-3\t6-11\tDelft\t_\t_\t_\t_\t",
    )
    for who, tokens in (("a", first), ("b", second), ("c", ()), ("CURATION_USER", first)):
        saved(tmp_path / "doc.txt" / f"{who}.tsv", webanno(*tokens))
    expected = {("doc.txt", "a"): [(2, 10, "P|Q"), (2, 4, "")], ("doc.txt", "b"): [(0, 1, "X")], ("doc.txt", "c"): []}
    assert found(tmp_path)[1] == expected
    states = [{"name": "doc.txt", "user": who, "state": state} for who, state in (("a", "FINISHED"), ("c", "NEW"))]
    saved(tmp_path / "exportedproject1.json", {"annotation_documents": states})
    assert found(tmp_path)[1].keys() == {("doc.txt", "a"), ("doc.txt", "b")}


NER = "de.tudarmstadt.ukp.dkpro.core.api.ner.type.NamedEntity"
RANGES = {"value": "String", "points": "Integer"}
TYPES = "<typeSystemDescription>" + "".join(
    f"<featureDescription><name>{name}</name><rangeTypeName>uima.cas.{kind}</rangeTypeName></featureDescription>"
    for name, kind in RANGES.items()
) + "</typeSystemDescription>"  # fmt: skip


def xmi(*spans: str, text: str = TEXT) -> str:
    return (
        '<xmi:XMI xmlns:xmi="http://www.omg.org/XMI" xmlns:cas="http:///uima/cas.ecore" xmlns:custom="http:///c.ecore"\n'
        ' xmlns:type="http:///de/tudarmstadt/ukp/dkpro/core/api/ner/type.ecore" xmlns:seg="http:///segmentation.ecore">\n'
        f'<cas:Sofa xmi:id="1" sofaString="{text}"/>\n<seg:Token xmi:id="9" sofa="1" begin="0" end="2"/>\n'
        + "\n".join(spans)
        + '\n<custom:Rel xmi:id="8" sofa="1" begin="0" end="2" Governor="2" Dependent="2" kind="x"/></xmi:XMI>'
    )


def cas(*spans: dict[str, Any]) -> str:
    own: list[dict[str, Any]] = [{"%ID": 1, "%TYPE": "uima.cas.Sofa", "sofaString": TEXT}]
    own += [{"%ID": 2 + n, "@sofa": 1, **span} for n, span in enumerate(spans)]
    return json.dumps({"%TYPES": {}, "%FEATURE_STRUCTURES": own, "%VIEWS": {}})


CASES = {
    "a": ['<type:NamedEntity xmi:id="2" sofa="1" begin="6" end="11" value="PLACE"/>', '<custom:S xmi:id="3" sofa="1" begin="0" end="2" points="2"/>'],
    "b": ['<type:NamedEntity xmi:id="2" sofa="1" begin="0" end="2"/>'],
    "c": [],
}  # fmt: skip
STRUCTURES: dict[str, list[dict[str, Any]]] = {
    "a": [{"%TYPE": NER, "begin": 6, "end": 11, "value": "PLACE"}, {"%TYPE": "c.S", "begin": 0, "end": 2, "points": 2}],
    "b": [{"%TYPE": NER, "begin": 0, "end": 2, "@link": 9}],
    "c": [{"%TYPE": "c.Rel", "begin": 0, "end": 2, "@Governor": 2, "@Dependent": 2, "kind": "x"}],
}


@pytest.mark.parametrize("kind", ["xmi", "zip", "json"])
def test_documents_of_inception_as_cas(kind: str, tmp_path: Path) -> None:
    folder = tmp_path / "annotation" / "doc.txt"
    folder.mkdir(parents=True)
    for number, (who, spans) in enumerate([*CASES.items(), ("CURATION_USER", CASES["a"])]):
        path = folder / f"{f'webanno{number}export' if kind == 'zip' else who}.{kind}"
        if kind == "zip":
            with zipfile.ZipFile(path, "w") as archive:
                archive.writestr(f"{who}.xmi", '<?xml version="1.1" encoding="UTF-8"?>' + xmi(*spans))
                archive.writestr("TypeSystem.xml", TYPES)
        else:
            path.write_text(cas(*STRUCTURES.get(who, [])) if kind == "json" else xmi(*spans), encoding="utf-8")
    expected = {("doc.txt", "a"): [DELFT], ("doc.txt", "b"): [(0, 1, "")], ("doc.txt", "c"): []}
    assert found(tmp_path, question="NamedEntity.value")[1:] == (expected, {"doc.txt": TEXT})
    if kind != "xmi":  # without types a number may be that of another annotation
        assert found(tmp_path, question="S.points")[1]["doc.txt", "a"] == [(0, 1, "2")]
    assert found(tmp_path, question="NamedEntity.value")[0].how == "every_submission"


def test_a_number_or_a_truth_fills_a_feature_even_if_it_is_0_or_false(tmp_path: Path) -> None:
    span = {"%TYPE": "c.S", "begin": 0, "end": 2, "name": "x", "points": 0, "done": False, "note": ""}
    saved(tmp_path / "doc.txt" / "a.json", cas(span))
    assert [found(tmp_path, question=f"S.{name}")[1]["doc.txt", "a"][0][2] for name in ("points", "done")] == [
        "0",
        "false",
    ]
    with pytest.raises(spagree.UsageError, match="unknown question"):
        found(tmp_path, question="S.note")


@pytest.mark.skipif(not FOLDER.exists(), reason="real exports of spans are not on this machine")
@pytest.mark.parametrize("case", ["CrossSentenceSpanWithFeatureValue", "SentenceWithEmoji", "SentenceWithLineBreak",
                                  "TokenBoundedSpanWithSpecialSymbolsValue"])  # fmt: skip
def test_what_webanno_wrote_twice_is_read_as_the_same(case: str, tmp_path: Path) -> None:
    places = []
    for kind in ("tsv", "xmi"):
        content = (FOLDER / "webanno_tsv" / "cases" / f"test{case}" / f"reference.{kind}").read_text("utf-8")
        saved(tmp_path / kind / "doc.txt" / f"ann.{kind}", content)
        places.append(found(tmp_path / kind)[1])
    assert places[0] == places[1] and places[0]["doc.txt", "ann"]


BAD_CASES = {
    'begin="6" end="6"': "a.xmi:5: a mark ends at 6, but starts at 6",
    'begin="6" end="99"': "a.xmi:5: a mark from 6 to 99 does not fit a text of 10 characters",
    'begin="1" end="11"': "a.xmi:5: a mark from 1 to 11 does not fit",
    'begin="six" end="11"': "a.xmi:5: 'six' and '11' are no offsets",
    'begin="6" end="11"><': r"a.xmi:\d+: not well-formed XML",
}


@pytest.mark.parametrize("wrong", BAD_CASES)
def test_an_annotation_of_a_cas_that_cannot_be_is_refused_with_its_line(wrong: str, tmp_path: Path) -> None:
    saved(tmp_path / "doc.txt" / "a.xmi", xmi(f'<type:NamedEntity xmi:id="2" sofa="1" {wrong} value="P"/>'))
    with pytest.raises(DataError, match=BAD_CASES[wrong]):
        found(tmp_path)


@pytest.mark.parametrize("is_locked", [False, True])
def test_a_packed_document_that_would_grow_or_is_locked_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_locked: bool
) -> None:
    path = tmp_path / "doc.txt" / "a.zip"
    path.parent.mkdir()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.xmi", xmi())
    if is_locked:
        content = bytearray(path.read_bytes())
        content[content.find(b"PK\x03\x04") + 6] |= 1
        content[content.find(b"PK\x01\x02") + 8] |= 1
        path.write_bytes(content)
    else:
        monkeypatch.setenv("SPAGREE_MAX_UNPACKED", "100")
    with pytest.raises(spagree.FileError, match=r"doc.txt/a.zip: (truncated or damaged|unpacks to more)"):
        found(tmp_path)


def test_two_versions_of_a_text_are_refused(tmp_path: Path) -> None:
    for who, text in (("a", TEXT), ("b", f"Now {TEXT}")):
        saved(tmp_path / "doc.txt" / f"{who}.xmi", xmi(*CASES["b"], text=text))
    with pytest.raises(DataError, match=r"b\.xmi: another text than in .*a\.xmi"):
        found(tmp_path)


GATE = """<?xml version="1.0"?>
<GateDocument version="3"><GateDocumentFeatures/>
<TextWithNodes>&#x1F60A;<Node id="2"/> in <Node id="6"/>Delft<Node id="11"/></TextWithNodes>
<AnnotationSet><Annotation Id="1" Type="Token" StartNode="2" EndNode="6"/></AnnotationSet>
<AnnotationSet Name="ann"><Annotation Id="2" Type="PLACE" StartNode="6" EndNode="11"><Feature><Name>x</Name></Feature>
</Annotation><Annotation Id="3" Type="Sentence" StartNode="2" EndNode="11"/></AnnotationSet>
<AnnotationSet Name="ben"></AnnotationSet></GateDocument>"""


def test_sets_of_gate_are_annotators(tmp_path: Path) -> None:
    one = saved(tmp_path / "one" / "doc.xml", GATE)
    marked, places, texts = found(one)
    assert (places, texts) == ({("doc", "ann"): [DELFT], ("doc", "ben"): []}, {"doc": TEXT})
    assert [warning.code for warning in marked.warnings] == ["tiers_are_annotators"]
    saved(tmp_path / "two" / "doc.xml", GATE)
    assert {visit: made for visit, made in found(tmp_path)[1].items() if made} == {
        ("one/doc", "ann"): [DELFT],
        ("two/doc", "ann"): [DELFT],
    }
    for wrong, words in (
        ('EndNode="12"', r"doc.xml:5: a mark from node 6 to 12"),
        ('EndNode="6"', "doc.xml:5: a mark ends at 5"),
    ):
        with pytest.raises(DataError, match=words):
            found(saved(one, GATE.replace('EndNode="11"', wrong, 1)))


def test_xml_that_grows_or_asks_for_files_is_refused(tmp_path: Path) -> None:
    bomb = "".join(f'<!ENTITY a{n + 1} "{f"&a{n};" * 10}">' for n in range(9))
    for entities, use in ((f'<!ENTITY a0 "{"x" * 100}">{bomb}', "&a9;"), ('<!ENTITY f SYSTEM "/etc/hostname">', "&f;")):
        kind = f"<!DOCTYPE GateDocument [{entities}]><GateDocument"
        path = saved(tmp_path / "doc.xml", GATE.replace("<GateDocument", kind, 1).replace("Delft", use))
        with pytest.raises(DataError):
            found(path)


def database(path: Path, script: str) -> Path:
    connection = sqlite3.connect(path)
    connection.executescript(script)
    connection.close()
    return path


def test_codings_of_qualcoder_count_utf_16_units(tmp_path: Path) -> None:
    script = f"""
        CREATE TABLE source (id INTEGER, name TEXT, fulltext TEXT); CREATE TABLE code_name (cid INTEGER, name TEXT);
        CREATE TABLE code_text (ctid INTEGER, cid INTEGER, fid INTEGER, seltext TEXT, pos0 INTEGER, pos1 INTEGER, owner TEXT);
        INSERT INTO source VALUES (1, 'd', '{TEXT}'); INSERT INTO code_name VALUES (1, 'PLACE');
        INSERT INTO code_text VALUES (1, 1, 1, 'Delft', 6, 11, 'a'), (2, 1, 1, '😊', 0, 2, 'b');"""
    assert found(database(tmp_path / "data.qda", script))[1] == {("d", "a"): [DELFT], ("d", "b"): [(0, 1, "PLACE")]}


def test_projects_of_rqda_are_people_and_deleted_codings_do_not_count(tmp_path: Path) -> None:
    script = f"""
        CREATE TABLE source (id INTEGER, name TEXT, file TEXT); CREATE TABLE freecode (id INTEGER, name TEXT);
        CREATE TABLE coding (cid INTEGER, fid INTEGER, seltext TEXT, selfirst REAL, selend REAL, status INTEGER, owner TEXT);
        INSERT INTO source VALUES (1, 'd', '{TEXT}'); INSERT INTO freecode VALUES (1, 'PLACE');
        INSERT INTO coding VALUES (1, 1, 'Delft', 5, 10, 1, 'rqda'), (1, 1, '😊', 0, 1, 0, 'rqda');"""
    for who in "ab":
        database(tmp_path / f"{who}.rqda", script)
    assert found(tmp_path)[1] == {("d", "a"): [DELFT], ("d", "b"): [DELFT]}
    assert found(tmp_path / "a.rqda")[1] == {("d", "rqda"): [DELFT]}


def test_highlights_of_taguette_count_bytes_and_their_makers_are_in_the_log(tmp_path: Path) -> None:
    script = """
        CREATE TABLE documents (id INTEGER, name TEXT, contents TEXT); CREATE TABLE tags (id INTEGER, path TEXT);
        CREATE TABLE highlights (id INTEGER, document_id INTEGER, start_offset INTEGER, end_offset INTEGER, snippet TEXT);
        CREATE TABLE highlight_tags (highlight_id INTEGER, tag_id INTEGER);
        CREATE TABLE commands (id INTEGER, user_login TEXT, document_id INTEGER, payload TEXT);
        INSERT INTO documents VALUES (1, 'd', '<p>😊 &lt;<b>in</b></p><p>Delft</p>'); INSERT INTO tags VALUES (1, 'PLACE');
        INSERT INTO highlights VALUES (1, 1, 8, 13, 'old'), (2, 1, 0, 4, '😊'); INSERT INTO highlight_tags VALUES (1, 1);
        INSERT INTO commands VALUES (1, 'a', 1, '{"type": "highlight_add", "highlight_id": 1}'),
            (2, 'b', 1, '{"type": "highlight_add", "highlight_id": 2}'),
            (3, 'b', 1, '{"type": "highlight_add", "highlight_id": 1}');"""
    path = database(tmp_path / "t.sqlite3", script)
    expected = {("d", "a"): [(5, 10, "PLACE")], ("d", "b"): [(0, 1, "")]}
    assert found(path)[1:] == (expected, {"d": "😊 <inDelft"})
    database(path, "UPDATE commands SET user_login = 'admin'")
    with pytest.raises(DataError, match="give the database of the server"):
        found(path)


def test_codings_of_refi_qda(tmp_path: Path) -> None:
    project = """<Project xmlns="urn:QDA-XML:project:1.0"><Users><User guid="U" name="a"/></Users>
        <CodeBook><Codes><Code guid="C" name="PLACE"/></Codes></CodeBook>
        <Sources><TextSource name="d" plainTextPath="internal://T.txt">
        <PlainTextSelection startPosition="5" endPosition="10">
        <Coding creatingUser="U"><CodeRef targetGUID="C"/></Coding></PlainTextSelection></TextSource></Sources></Project>"""
    with zipfile.ZipFile(tmp_path / "p.qdpx", "w") as archive:
        archive.writestr("project.qde", project)
        archive.writestr("Sources/T.txt", TEXT)
    assert found(tmp_path / "p.qdpx")[1:] == ({("d", "a"): [DELFT]}, {"d": TEXT})


def test_tiers_of_elan(tmp_path: Path) -> None:
    tier = """<TIER TIER_ID="{}"><ANNOTATION><ALIGNABLE_ANNOTATION TIME_SLOT_REF1="t1" TIME_SLOT_REF2="t2">
        <ANNOTATION_VALUE>S</ANNOTATION_VALUE></ALIGNABLE_ANNOTATION></ANNOTATION></TIER>"""
    slots = '<TIME_ORDER><TIME_SLOT TIME_SLOT_ID="t1" TIME_VALUE="500"/><TIME_SLOT TIME_SLOT_ID="t2" TIME_VALUE="1750"/></TIME_ORDER>'
    empty = '<TIER TIER_ID="default"/><TIER TIER_ID="b"/>'
    path = saved(tmp_path / "v.eaf", f"<ANNOTATION_DOCUMENT>{slots}{tier.format('a')}{empty}</ANNOTATION_DOCUMENT>")
    marked, places, _ = found(path)
    assert places == {("v", "a"): [(0.5, 1.75, "S")], ("v", "b"): []}
    assert [warning.code for warning in marked.warnings] == ["tiers_are_annotators"]
    with pytest.raises(spagree.DataError, match="not what ELAN writes"):
        found(saved(tmp_path / "w.eaf", "<ANNOTATION_DOCUMENT>"))


SHORT = """File type = "ooTextFile"
Object class = "TextGrid"

0
2
<exists>
2
"IntervalTier"
"a [1]"
0
2
2
0
0.5
""
0.5
1.75
"say ""hi"" 7"
"TextTier"
"clicks"
0
2
1
0.7
"x"
"""


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_tiers_of_praat_in_the_short_form(encoding: str, tmp_path: Path) -> None:
    path = tmp_path / "v.TextGrid"
    path.write_text(SHORT, encoding)
    assert found(path)[1] == {("v", "a [1]"): [(0.5, 1.75, 'say "hi" 7')]}
    path.write_text(SHORT[: SHORT.index("1.75")], encoding)
    with pytest.raises(spagree.DataError, match="not a TextGrid as Praat writes it"):
        found(path)


@pytest.mark.skipif(not FOLDER.is_dir(), reason="real exports are not beside this checkout")
def test_an_export_is_measured_as_the_same_marks_in_a_table() -> None:
    agreement = spagree.measure_spans(FOLDER / "factgenie")
    places = (agreement.findings.exact, agreement.findings.exact_any_label, agreement.findings.characters)
    assert [round(estimate.value, 4) for estimate in places] == [0.1047, 0.1307, 0.4449]  # of d2t_iaa, people
    assert agreement.findings.seen == "every_submission"


def test_what_counts_in_an_export_can_be_said(tmp_path: Path) -> None:
    span = region(5, 10, "Delft", "PLACE")
    path = saved(tmp_path / "e.json", [studio([span], [span], []), {**studio([span], []), "id": 8}])
    agreement = spagree.measure_spans(path, question="ner", status=["submitted"])
    assert (
        agreement.exact.value == pytest.approx(4 / 11) and agreement.data.empty == 2
    )  # P: 1/3, 0; M: 2/3, 1/2; weights 2, 1
    clustered = [
        {**studio([span], [], [span]), "id": number, "data": {"text": TEXT, "set": str(number % 3)}}
        for number in range(9)
    ]
    by_set = spagree.measure_spans(saved(tmp_path / "c.json", clustered), cluster="set")
    rows = [(f"{n}", who, 5, 10, "PLACE") for n in range(9) for who in ("1", "3")]
    who_saw = [
        {"item": f"{n}", "annotator": who, "length": 10, "set": str(n % 3)} for n in range(9) for who in ("1", "2", "3")
    ]
    table = spagree.measure_spans(rows, seen=pl.DataFrame(who_saw), cluster="set")
    assert (by_set.exact.low, by_set.exact.high) == (table.exact.low, table.exact.high)
    with pytest.raises(spagree.ColumnError, match="no record has anything in this field"):
        spagree.measure_spans(path, cluster="nothing")
    seen = [("7", "1"), ("7", "2"), ("8", "1")]
    assert spagree.measure_spans(path, seen=seen).findings.seen == "given"
    with pytest.raises(spagree.UsageError, match="unknown option 'queston'"):
        spagree.measure_spans(path, queston="ner")
