"""Files as people have them: each gives the right number, a refusal that names the tool, or a warning."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import spagree
from spagree.read import read, read_all
from spagree.read.tools.registry import MODULES, load
from spagree.read.tools.source import look

Save = Callable[[str, Any], Path]


@pytest.fixture
def save(tmp_path: Path) -> Save:
    def write(name: str, content: Any) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        return path

    return write


def lines(*records: dict[str, Any]) -> str:
    return "\n".join(map(json.dumps, records))


def triples(path: Path, **options: Any) -> list[tuple[Any, ...]]:
    return sorted(read(path, **options).frame.collect().select("item", "annotator", "label").rows())


def codes(agreement: spagree.Agreement) -> set[str]:
    return {caution.code for caution in agreement.warnings}


# ── Mechanical Turk ──

HEADER = '"HITId","WorkerId","AssignmentStatus","Input.text","Answer.mood","Approve","Reject"\n'


def test_rows_may_leave_out_approve_and_reject(save: Save) -> None:
    path = save("b.csv", HEADER + '"h1","a","Approved","x","good"\n"h1","b","Approved","x","bad"\n')
    assert triples(path) == [("h1", "a", "good"), ("h1", "b", "bad")]
    mixed = save("m.csv", HEADER + '"h1","a","Approved","x","good"\n"h1","b","Approved","x","bad","x",""\n')
    assert triples(mixed) == triples(path)
    full = save("f.csv", HEADER + '"h1","a","Approved","x","good","",""\n"h1","b","Approved","x","bad","x",""\n')
    assert triples(full) == triples(path)
    with pytest.raises(spagree.DataError, match=r"s\.csv:3: .*too few cells: 4 instead of 7"):
        read(save("s.csv", HEADER + '"h1","a","Approved","x","good"\n"h1","b","Approved","x"\n'))


def test_check_boxes_are_sets_whose_order_does_not_matter(save: Save) -> None:
    header = "HITId,WorkerId,Answer.picked\n"
    path = save("b.csv", header + "h1,a,image5|image1\nh1,b,image1|image5\nh2,a,image1\nh2,b,image1|image2\n")
    assert triples(path)[0] == ("h1", "a", '["image1", "image5"]')
    assert spagree.measure(path, weights="flat").spa.value == 1 / 2
    shares = spagree.measure(path, weights="flat", metric="jaccard").spa.value
    assert shares == pytest.approx(float((1 + Fraction(1, 2)) / 2))
    options = {name: found.spa.value for name, found in spagree.measure_all(path, multi="options").items()}
    assert options == {"picked:image1": 1, "picked:image2": 1 / 2, "picked:image5": 1}
    free = save("f.csv", header + "h1,a,either | or\nh1,b,neither\n")
    assert triples(free)[0] == ("h1", "a", "either | or")


def test_files_of_the_old_command_line_tools_are_refused_with_a_way_that_works(save: Save) -> None:
    path = save("b.results", "hitid\tworkerid\tassignmentid\tAnswer.mood\nh1\ta\t1\tgood\nh1\tb\t2\tgood\n")
    with pytest.raises(spagree.DataError, match="Mechanical Turk's old command-line tools"):
        read(path)
    agreement = spagree.measure(path, format="long", item="hitid", annotator="workerid", label="Answer.mood")
    assert agreement.spa.value == 1


# ── Zooniverse ──

ZOO = "classification_id,user_name,workflow_id,created_at,gold_standard,annotations,subject_data,subject_ids\n"


def classified(user: str, subject: int, *tasks: dict[str, Any], workflow: int = 1) -> str:
    cells = [json.dumps(list(tasks)), json.dumps({str(subject): {"Filename": f"{subject}.jpg"}})]
    quoted = ",".join('"' + cell.replace('"', '""') + '"' for cell in cells)
    return f"7,{user},{workflow},2024-02-23 16:17:42 UTC,,{quoted},{subject}\n"


def task(name: str, value: Any, text: str = "") -> dict[str, Any]:
    return {"task": name, "task_label": text, "value": value}


def test_zooniverse_tasks_surveys_and_drawings(save: Save) -> None:
    lion = [{"choice": "LION", "answers": {"HOWMANY": "2"}}, {"choice": "BIRD", "answers": {"HOWMANY": "1"}}]
    drawn = task("T2", [{"x": 1, "y": 2, "tool": 0}])
    path = save(
        "c.csv",
        ZOO
        + classified("ann", 5, task("T0", "Yes"), task("T1", lion), task("T3", ["b", "a"]), drawn)
        + classified("bob", 5, task("T0", "No"), task("T1", lion[::-1]), task("T3", ["a", "b"]))
        + classified("not-logged-in-1", 5, task("T0", None), task("T1", []), task("T3", ["a"])),
    )
    found = spagree.measure_all(path, weights="flat")
    assert set(found) == {"T0", "T1", "T1/LION/HOWMANY", "T1/BIRD/HOWMANY", "T3"}
    assert [found[name].spa.value for name in ("T0", "T1", "T1/LION/HOWMANY", "T3")] == [0, 1, 1, 1 / 3]
    assert list(found["T1"].data.labels) == ['["BIRD", "LION"]'] and found["T1"].data.left_out == {"empty": 1}
    assert {"regions_left_aside", "not_logged_in"} <= codes(found["T0"])
    assert found["T0"].hardest()["text"].to_list() == ["5.jpg"]
    with pytest.raises(spagree.DataError, match="2 drawings and no answers"):
        read(save("d.csv", ZOO + classified("ann", 5, drawn) + classified("bob", 5, drawn)))


def test_zooniverse_tasks_that_ask_different_things_are_different_questions(save: Save) -> None:
    path = save(
        "c.csv",
        ZOO
        + classified("ann", 5, task("T0", "Yes", "Cat?"), task("T1", "x"))
        + classified("bob", 5, task("T0", "No", "Dog?"), task("T1", "x"))
        + classified("bob", 6, task("T1", "y"), workflow=2),
    )
    assert set(read_all(path)) == {"T0: Cat?", "T0: Dog?", "1/T1", "2/T1"}


def test_zooniverse_damaged_json_is_refused_with_its_place(save: Save) -> None:
    with pytest.raises(spagree.DataError, match=r"c\.csv:2: annotations is not JSON"):
        read(save("c.csv", ZOO + 'x,ann,1,2024-02-23 16:17:42 UTC,,"[{",{},5\n'))
    with pytest.raises(spagree.DataError, match=r"c\.csv:2: annotations should be a list of tasks"):
        read(save("c.csv", ZOO + "x,ann,1,2024-02-23 16:17:42 UTC,,7,{},5\n"))


# ── potato 1.x ──


def test_rows_of_a_grid_are_items(save: Save, tmp_path: Path) -> None:
    given = {"ann": {"A": "5", "B": "1"}, "bob": {"A": "5", "B": "2"}}
    for who, grid in given.items():
        labels = {"quality": grid, "mood": {"good": "1"}, "note": {"text_box": who}}
        save(f"{who}/annotated_instances.jsonl", {"id": "d1", "displayed_text": "Hi", "label_annotations": labels})
    save("annotated_instances.tsv", "user\tinstance_id\tdisplayed_text\tquality:::A\nuser\td1\tHi\t5\n")
    assert triples(tmp_path, question="quality") == [
        ("d1 A", "ann", "5"), ("d1 A", "bob", "5"), ("d1 B", "ann", "1"), ("d1 B", "bob", "2")]  # fmt: skip
    assert triples(tmp_path, question="mood") == [("d1", "ann", "good"), ("d1", "bob", "good")]
    assert triples(tmp_path, question="note") == [("d1", "ann", "ann"), ("d1", "bob", "bob")]
    with pytest.raises(spagree.DataError, match="potato's table of all annotations names one anonymous user"):
        read(tmp_path / "annotated_instances.tsv")


def test_grids_are_asked_in_the_order_of_the_file(save: Save, tmp_path: Path) -> None:
    names = ["zeal", "care", "wit", "tone", "pace", "form", "aim", "scope"]
    for who, rating in (("ann", "1"), ("bob", "2")):
        labels = {name: {"A": rating} for name in names}
        save(f"{who}/annotated_instances.jsonl", {"id": "d1", "displayed_text": "Hi", "label_annotations": labels})
    with pytest.raises(spagree.ColumnError, match=", ".join(f"'{name}'" for name in names)):
        read(tmp_path)


# ── people and models ──

LANGFUSE = {"traceId": "t1", "name": "ok", "dataType": "CATEGORICAL", "source": "ANNOTATION", "stringValue": "yes",
            "authorUserId": "u1", "value": 1, "timestamp": "2024-05-01T10:00:00Z"}  # fmt: skip
LANGSMITH = {"run_id": "t1", "key": "ok", "score": 1.0, "value": None, "created_at": "2024-05-01T10:00:00Z",
             "feedback_source": {"type": "app", "user_id": "u1"}}  # fmt: skip
PHOENIX = {"span_id": "t1", "name": "ok", "annotator_kind": "HUMAN", "user_id": "u1",
           "result": {"label": "yes", "score": 1}}  # fmt: skip
FEEDBACK = {
    "langfuse": (LANGFUSE, {"source": "EVAL", "authorUserId": None, "evaluator": "gpt", "stringValue": "no"}),
    "langsmith": (
        LANGSMITH,
        {"score": 0.50, "feedback_source": {"type": "model", "metadata": {"evaluator": "gpt"}}},
    ),
    "phoenix": (
        PHOENIX,
        {"annotator_kind": "LLM", "user_id": None, "identifier": "gpt", "result": {"label": None, "score": 0.25}},
    ),
}


@pytest.mark.parametrize("tool", FEEDBACK)
def test_people_and_models_are_told_apart_and_counted(tool: str, save: Save) -> None:
    person, change = FEEDBACK[tool]
    model = {**person, **change}
    other = json.loads(json.dumps(person).replace('"u1"', '"u2"'))
    for path in (
        save("f.jsonl", lines(person, other, model)),
        save("f.json", [person, other, model]),
        save("p.json", {"data": [person, other, model], "meta": {"page": 1}}),
    ):
        found = read(path)
        assert found.understood.format == tool
        assert {row[1] for row in triples(path)} == {"u1", "u2", "gpt"}
        assert [c.message for c in found.cautions if c.code == "people_and_models"] == [
            'scores 2 by people, 1 by models; status="human" counts people alone'
        ]
    people = spagree.measure(save("f.jsonl", lines(person, other, model)), status="human")
    assert people.spa.value == 1 and people.data.left_out == {"other_status": 1} and people.data.annotators == 2


def test_feedback_as_tables_keeps_numbers_as_written(save: Save) -> None:
    table = "run_id,key,score,value,feedback_source\n" + "".join(
        f't1,ok,{score},,"{{""type"": ""app"", ""user_id"": ""{who}""}}"\n' for who, score in (("a", "1.0"), ("b", "1"))
    )
    assert triples(save("l.csv", table)) == [("t1", "a", "1.0"), ("t1", "b", "1")]
    scores = "id,trace_id,observation_id,name,data_type,source,value,string_value,author_user_id\n"
    path = save("s.csv", scores + "1,t,o1,ok,NUMERIC,ANNOTATION,2,,a\n2,t,,ok,NUMERIC,API,2,,\n")
    assert triples(path) == [("o1", "a", "2"), ("t", "API", "2")]
    spans = "span_id,annotation_name,annotator_kind,result.label,result.score,user_id\n"
    assert triples(save("p.csv", spans + "s1,ok,HUMAN,,0.5,a\n")) == [("s1", "a", "0.5")]
    with pytest.raises(spagree.DataError, match=r"e\.csv:2: annotator_kind is empty"):
        read(save("e.csv", spans + "s1,ok,,yes,,a\n"))


# ── Prodigy ──


def prodigy(answer: str, who: str, **more: Any) -> dict[str, Any]:
    known = {"text": "Hi", "_input_hash": 1, "_task_hash": 2, "_view_id": "classification", "answer": answer}
    return {**known, "_annotator_id": who, "_session_id": who, **more}


def test_blocks_with_spans_are_spans(save: Save) -> None:
    marked = prodigy("accept", "a", _view_id="blocks", spans=[{"start": 0, "end": 2, "label": "X"}])
    with pytest.raises(spagree.DataError, match=r"p\.jsonl:1: marks spans \(_view_id blocks\)"):
        read(save("p.jsonl", lines(marked)))
    chosen = {**marked, "options": [{"id": "x"}, {"id": "y"}], "accept": ["x"]}
    assert triples(save("c.jsonl", lines(chosen))) == [("1", "a", "x")]


def test_questions_about_one_span_are_told_apart_by_their_task(save: Save) -> None:
    spans = [prodigy(answer, who, _view_id="ner", _task_hash=number, spans=[{"start": number, "label": "X"}])
             for number, answers in ((8, "accept accept"), (9, "accept reject"))
             for who, answer in zip("ab", answers.split(), strict=True)]  # fmt: skip
    agreement = spagree.measure(save("p.jsonl", lines(*spans)), weights="flat")
    assert agreement.data.items == 2 and agreement.spa.value == 1 / 2


def test_sessions_called_by_their_time_are_nobody(save: Save) -> None:
    names = ("2023-07-25_14-50-21", "news-2023-07-26_14-50-21", "news-ann")
    agreement = spagree.measure(save("p.jsonl", lines(*(prodigy("accept", name) for name in names))))
    assert agreement.data.annotators == 1 and "sessions_unnamed" in codes(agreement)
    assert "2 annotations from sessions named only by a time" in str(agreement.warnings)


# ── Label Studio ──


def result(control: str, value: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"from_name": control, "to_name": "t", "type": next(iter(value)), "value": value, **more}


def tasks(*given: list[dict[str, Any]], data: dict[str, Any] | None = None) -> list[dict[str, Any]]:
    annotations = [
        {"id": number, "completed_by": number, "result": results, "was_cancelled": False}
        for number, results in enumerate(given, 1)
    ]
    return [{"id": 1, "data": data or {"text": "Hi"}, "annotations": annotations}]


def test_choices_for_each_item_of_a_list_are_items(save: Save) -> None:
    def pair(first: str, second: str) -> list[dict[str, Any]]:
        return [result("q", {"choices": [label]}, item_index=i) for i, label in enumerate((first, second))]

    agreement = spagree.measure(save("e.json", tasks(pair("x", "same"), pair("y", "same"))), weights="flat")
    assert agreement.spa.value == 1 / 2 and agreement.data.items == 2


def test_repeated_results_of_a_control_are_a_set_with_a_warning(save: Save) -> None:
    def chosen(*labels: str) -> list[dict[str, Any]]:
        return [result("q", {"choices": [label]}, id=f"r{label}") for label in labels]

    path = save("e.json", tasks(chosen("x", "z"), chosen("y", "z")))
    agreement = spagree.measure(path)
    assert agreement.spa.value == 0 and set(agreement.data.labels) == {'["x", "z"]', '["y", "z"]'}
    assert "several_results" in codes(agreement)


REGIONS = {
    "spans": {"start": 0, "end": 2, "labels": ["PER"]},
    "boxes": {"x": 1, "y": 2, "width": 3, "rectanglelabels": ["Car"]},
    "polygons": {"points": [[1, 2]], "polygonlabels": ["Car"]},
    "brush": {"format": "rle", "rle": [1], "brushlabels": ["Sky"]},
    "video": {"framesCount": 10, "sequence": [{"frame": 1}], "labels": ["Man"]},
    "timeline": {"ranges": [{"start": 1}], "timelinelabels": ["Run"]},
    "ranking": {"ranker": {"_": ["a", "b"]}},
    "choice of a region": {"start": 0, "end": 2, "choices": ["x"]},
}


@pytest.mark.parametrize("kind", REGIONS)
def test_regions_are_no_classes(kind: str, save: Save) -> None:
    region = result("tag", REGIONS[kind])
    with pytest.raises(spagree.DataError, match="2 regions marked and no classes chosen; spagree compares classes"):
        read(save("e.json", tasks([region], [region])))
    beside = [region, region, result("q", {"choices": ["x"]})]
    found = read(save("b.json", tasks(beside, beside)))
    assert [c.message for c in found.cautions] == ["4 marked or described regions ignored: spagree compares classes"]


def test_ratings_hint_at_their_order_and_tables_claim_no_status(save: Save) -> None:
    found = read(save("e.json", tasks([result("stars", {"rating": 4})], [result("stars", {"rating": 5})])))
    assert 'stars are ordered: metric="ordinal" gives credit for near misses' in found.understood.rules
    assert "status submitted" in found.understood.rules[-1]
    table = "annotation_id,annotator,created_at,id,lead_time,mood,text,updated_at\n1,2,,1,3,a,Hi,\n2,3,,1,3,b,Hi,\n"
    assert "status" not in " ".join(read(save("e.csv", table), question="mood").understood.rules)


def test_numbers_stay_as_written(save: Save) -> None:
    huge = "123456789012345678901234567890"
    text = json.dumps(tasks([result("n", {"number": 1})], [result("n", {"number": 2})]))
    text = text.replace('"number": 1}', '"number": 1.0}').replace('"number": 2}', f'"number": {huge}}}')
    assert [row[2] for row in triples(save("e.json", text))] == ["1.0", huge]
    careful = text.replace('"Hi"', '"Hi", "odd": NaN')  # what the fast parser refuses, the careful one reads
    assert [row[2] for row in triples(save("c.json", careful))] == ["1.0", huge]
    for whole, half in (('"completed_by": 1', '"completed_by": "\\ud800"'), ('"Hi"', '"\\ud800"')):
        with pytest.raises(spagree.DataError, match="half a character"):
            read(save("h.json", text.replace(whole, half)))


# ── doccano, Appen, Ground Truth ──


@pytest.mark.parametrize("row", [{"label": [[0, 2, "PER"]]}, {"label": [], "entities": [{"label": "PER"}]}])
def test_spans_of_doccano_are_refused(row: dict[str, Any], tmp_path: Path) -> None:
    import zipfile

    with zipfile.ZipFile(tmp_path / "d.zip", "w") as archive:
        archive.writestr("ann.jsonl", json.dumps({"id": 1, "text": "Hi", **row}))
    with pytest.raises(spagree.DataError, match=r"ann\.jsonl:1: marks spans"):
        read(tmp_path / "d.zip")


def test_questions_without_gold_are_questions(save: Save) -> None:
    header = "_unit_id,_worker_id,text,mood,mood_gold,mood_gold_reason,topic\n"
    path = save("f.csv", header + "1,a,Hi,x,,,food\n1,b,Hi,x,,,price\n2,a,Ho,y,,,food\n")
    found = spagree.measure_all(path)
    assert {name: each.spa.value for name, each in found.items()} == {"mood": 1, "topic": 0}
    assert found["topic"].hardest(1)["text"].to_list() == ["Hi"]


def test_sequences_of_ground_truth_are_refused(save: Save, tmp_path: Path) -> None:
    content = {"crowd-entity-annotation": {"entities": [{"label": "PER", "startOffset": 0, "endOffset": 2}]}}
    save("worker-response/0/a.json", {"answers": [{"workerId": "w", "answerContent": content}]})
    with pytest.raises(spagree.DataError, match=r"marks regions or sequences \(entities\)"):
        read(tmp_path)


# ── tools that are not read ──

OTHERS = {
    "CVAT": ("a.xml", '<?xml version="1.0"?>\n<annotations>\n<version>1.1</version>\n</annotations>\n'),
    "brat": ("a.ann", "T1\tPerson 0 5\tObama\n"),
    "WebAnno": ("a.tsv", "#FORMAT=WebAnno TSV 3.3\n#T_SP=x|y\n\n\n#Text=Hi\n1-1\t0-2\tHi\tX\n"),
}


@pytest.mark.parametrize("tool", OTHERS)
def test_refusals_name_the_tool(tool: str, save: Save, tmp_path: Path) -> None:
    path = save(*OTHERS[tool])
    with pytest.raises(spagree.DataError, match=f": an? {tool}.*spagree compares classes"):
        read(path)
    if tool == "brat":
        with pytest.raises(spagree.DataError, match=": a brat project: spans"):
            read(tmp_path)


FILES = {
    "mturk.csv": HEADER + '"h1","a","Approved","x","good"\n"h1","b","Approved","x","bad"\n',
    "zooniverse.csv": ZOO + classified("ann", 5, task("T0", "Yes")) + classified("bob", 5, task("T0", "No")),
    "langfuse.jsonl": lines(LANGFUSE),
    "langsmith.jsonl": lines(LANGSMITH),
    "phoenix.jsonl": lines(PHOENIX),
    "prodigy.jsonl": lines(prodigy("accept", "a")),
    "label-studio.json": json.dumps(tasks([result("q", {"choices": ["x"]})], [])),
    "appen.csv": "_unit_id,_worker_id,mood\n1,a,x\n1,b,y\n",
    "labelbox.ndjson": lines({"data_row": {"id": "d"}, "projects": {}}),
    "toloka.tsv": "INPUT:x\tOUTPUT:y\tASSIGNMENT:worker_id\n1\t2\tw\n",
    "plain.csv": "item,annotator,label\n1,a,x\n",
}


@pytest.mark.parametrize("tool", MODULES)
@pytest.mark.parametrize("name", FILES)
def test_a_reader_on_the_file_of_another_tool_refuses_cleanly(tool: str, name: str, save: Save) -> None:
    with suppress(spagree.SpagreeError):  # anything else is a fault; some files hold what two tools write
        assert read_all(save(name, FILES[name]), format=tool)


@pytest.mark.parametrize("name", FILES)
def test_each_file_is_recognised_by_its_tool_alone(name: str, save: Save, tmp_path: Path) -> None:
    source = look([save(name, FILES[name])], None, tmp_path)
    found = [tool for tool in MODULES if load(tool).recognise(source)]
    assert found == ([] if name == "plain.csv" else [Path(name).stem])


# ── what the item shows ──


def test_texts_come_along_and_another_field_can_be_named(save: Save) -> None:
    given = [[result("q", {"choices": ["x"]})], [result("q", {"choices": ["y"]})]]
    path = save("e.json", tasks(*given, data={"text": "Hi", "title": "A greeting"}))
    assert spagree.measure(path).hardest()["text"].to_list() == ["Hi"]
    assert spagree.measure(path, text="title").hardest()["text"].to_list() == ["A greeting"]
    with pytest.raises(spagree.ColumnError, match="there is no field 'body'; fields: 'text', 'title'"):
        read(path, text="body")
    long = save("l.json", tasks(*given, data={"text": "y" * 5000}))
    assert spagree.measure(long).hardest()["text"].str.len_chars().to_list() == [2000]


def test_each_item_of_a_hit_has_its_own_text(save: Save) -> None:
    header = "HITId,WorkerId,Input.q1,Input.q2,Answer.pick1,Answer.pick2\n"
    path = save("b.csv", header + "h,a,One,Two,x,y\nh,b,One,Two,z,z\n")
    texts = spagree.measure(path).hardest().select("item", "text").sort("item").rows()
    assert texts == [("h 1", "One"), ("h 2", "Two")]
    assert spagree.measure(path, text="q2", question="pick").hardest()["text"].to_list() == ["Two", "Two"]


def test_a_plain_table_loads_no_reader_of_a_tool(save: Save) -> None:
    path = save("plain.csv", FILES["plain.csv"])
    script = (
        "import sys; from spagree.read import read; from spagree.read.tools.registry import MODULES; "
        f"read({str(path)!r}); print([name for name in MODULES.values() if f'spagree.read.tools.{{name}}' in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"
