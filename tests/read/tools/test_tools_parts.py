"""The parts that readers are made of: origins, records, values, times, guesses and rules, each by itself."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from spagree.errors import ColumnError, DataError, SpagreeError, Warning
from spagree.read import read, timestamps
from spagree.read.annotations import ANNOTATOR, ITEM, LABEL, ROW
from spagree.read.files.json import Written, as_text
from spagree.read.files.paths import File, with_kind
from spagree.read.request import Request
from spagree.read.tools import fields, records
from spagree.read.tools import source as source_module
from spagree.read.tools.export import gather, questions_meant
from spagree.read.tools.records import split_columns
from spagree.read.tools.registry import MODULES, load
from spagree.read.tools.tool import ReaderOptions, Response, Rules, Tool

Save = Callable[[str, str | bytes], File]


@pytest.fixture
def save(tmp_path: Path) -> Save:
    def save_file(name: str, content: str | bytes) -> File:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return with_kind(File(path, str(path))) if content else File(path, str(path))

    return save_file


# ── origins ──


def shape(source: Any, tmp_path: Path, encoding: str | None = None) -> tuple[str, list[str]]:
    found = source_module.look(source if isinstance(source, list) else [source], encoding, tmp_path)
    return found.shape, list(found.keys)


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("a.csv", "x,y\n1,2\n", ("table", ["x", "y"])),
        ("a.tsv", "x\ty\n1\t2\n", ("table", ["x", "y"])),
        ("a.csv", "# said\n\nx;y\n1;2\n", ("table", ["x", "y"])),
        ("a.jsonl", '{"x": 1}\n{"y": 2}\n', ("objects", ["x", "y"])),
        ("a.json", '[{"x": 1}, {"y": 2}]', ("objects", ["x", "y"])),
        ("a.json", '[\n {\n  "x": [1, {"z": 2}]\n }\n]', ("objects", ["x"])),
        ("a.json", '{\n "x": 1\n}', ("objects", ["x"])),
        ("a.json", '[{"x": 1}, {"y', ("objects", ["x"])),
        ("a.json", '[{"x', ("objects", [])),
        ("a.json", "[]", ("objects", [])),
        ("a.jsonl", '{"x": 1} trailing\n', ("objects", ["x"])),
        ("a.manifest", '{"source": "s"}\n', ("objects", ["source"])),
    ],
)
def test_what_can_be_seen_of_a_file(
    name: str, text: str, expected: tuple[str, list[str]], save: Save, tmp_path: Path
) -> None:
    assert shape(save(name, text).path, tmp_path) == expected


def test_what_can_be_seen_of_other_files(tmp_path: Path) -> None:
    frame = pl.DataFrame({"x": [1], "y": [["a"]]})
    frame.write_parquet(tmp_path / "a.parquet")
    frame.write_ipc(tmp_path / "a.arrow")
    for name in ("a.parquet", "a.arrow"):
        assert shape(tmp_path / name, tmp_path) == ("columns", ["x", "y"])
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b"x,y\n1,2\n"))
    assert shape(str(tmp_path / "a.csv.gz"), tmp_path) == ("table", ["x", "y"])
    assert shape(io.BytesIO(b'{"x": 1}'), tmp_path) == ("objects", ["x"])
    frame.select("x").write_excel(tmp_path / "a.xlsx")
    assert shape(tmp_path / "a.xlsx", tmp_path) == ("", [])


def test_encodings_are_respected_and_never_a_fault_of_the_look(save: Save, tmp_path: Path) -> None:
    for encoding, named in (("utf-16", None), ("latin-1", "latin-1"), ("latin-1", None)):
        path = save("a.csv", "größe,y\n1,2\n".encode(encoding)).path
        assert shape(path, tmp_path, named) == ("table", ["größe", "y"])
    assert shape(save("a.csv", "x\n").path, tmp_path, "no-such-encoding") == ("table", [])


def test_several_files_are_looked_at_by_their_first(save: Save, tmp_path: Path) -> None:
    paths = [save("a.csv", "x\n1\n").path, save("b.csv", "y\n1\n").path]
    found = source_module.look(paths, None, tmp_path)
    assert (found.shape, list(found.keys), len(found.files)) == ("table", ["x"], 2)
    assert found.name.endswith("a.csv and others, 2 files in all")


@pytest.mark.parametrize("source", ["nowhere.csv", "no\0thing", "http://x.org/a.csv"])
def test_faults_of_the_file_system_stay_what_they_are(source: str, tmp_path: Path) -> None:
    with pytest.raises(SpagreeError) as plain:
        read(source, format="long")
    with pytest.raises(SpagreeError) as looked:
        source_module.look([source], None, tmp_path)
    assert str(plain.value) == str(looked.value)


# ── records ──


def objects(file: File, tmp_path: Path) -> list[Any]:
    return [
        (record.place.removeprefix(str(tmp_path) + "/"), {name: as_text(value) for name, value in record.items()})
        for record in records.file_records(file, ReaderOptions(tmp_path))
    ]


def test_places_are_lines_objects_or_the_file(save: Save, tmp_path: Path) -> None:
    assert objects(save("a.jsonl", '{"x": 1}\n\n{"x": "b"}\n'), tmp_path) == [
        ("a.jsonl:1", {"x": "1"}),
        ("a.jsonl:3", {"x": "b"}),
    ]
    assert objects(save("a.json", '[{"x": 1}, {"x": 2}]'), tmp_path) == [
        ("a.json: object 1", {"x": "1"}),
        ("a.json: object 2", {"x": "2"}),
    ]
    assert objects(save("a.json", '{\n"x": 1.50\n}'), tmp_path) == [("a.json", {"x": "1.50"})]
    assert objects(save("a.csv", 'x,y\n1,"a\nb"\n,\n3,\n'), tmp_path) == [
        ("a.csv:2", {"x": "1", "y": "a\nb"}),
        ("a.csv:4", {"x": "3", "y": ""}),
    ]
    assert objects(save("a.csv", "\ufeffx,y,\n1,2,\n"), tmp_path) == [("a.csv:2", {"x": "1", "y": "2"})]
    assert objects(save("a.jsonl", " \n"), tmp_path) == [] and objects(save("a.txt", ""), tmp_path) == []


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.json", '[{"x": 1}, {"x', r"a\.json:1: column 13: not JSON"),
        ("a.json", '[{"x": 1}, 4]', r"a\.json: object 2: expected an object \{…\}, found '4'"),
        ("a.json", '{\n"x": 1', r"a\.json:2: column \d+: not JSON"),
        ("a.jsonl", '{"x": 1}\n[1]\n', r"a\.jsonl:2: expected an object"),
        ("a.jsonl", '{"x": 1}\n{"x"\n', r"a\.jsonl:2: not JSON: .* at character 5"),
        ("a.jsonl", '{"x": 1,}\n{"x": 2}\n', r"a\.jsonl:1: not JSON"),
        ("a.csv", "x,y\n1\n", r"a\.csv:2: column 'y': too few cells"),
        ("a.csv", 'x,y\n1,"2\n', r"a\.csv:2: a quote"),
        ("a.csv", "x,y\n1,\0\n", r"a\.csv:2: NUL byte"),
        ("a.csv", "x,x\n1,2\n", "the column 'x' occurs twice"),
    ],
)
def test_faults_are_refused_where_they_stand(name: str, text: str, message: str, save: Save, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=message):
        objects(save(name, text), tmp_path)


def test_parts_and_cells_say_what_they_expected() -> None:
    record = fields.Record({"list": [1], "dict": {"a": 1}, "text": "x", "nothing": None}, "p")
    assert record.part("list", list) == [1] and record.part("dict", dict) == {"a": 1}
    assert record.part("nothing", list) == [] and record.part("absent", dict) == {}
    for key, kind, message in (
        ("text", list, "p: 'text' should be a list, found 'x'"),
        ("list", dict, "p: 'list' should be an object"),
    ):
        with pytest.raises(DataError, match=message):
            record.part(key, kind)
    with pytest.raises(ColumnError, match="p: there is no field 'absent'; fields: 'list', 'dict', 'text', 'nothing'"):
        record.cell("absent")
    assert record.cell("nothing") == "" and record.cell("dict") == '{"a":1}'


def test_entries_are_objects_however_they_are_laid_out() -> None:
    assert fields.entries([{"a": 1}], "p") == [{"a": 1}]
    assert fields.entries({"a": [1, 2], "b": [3, 4]}, "p") == [{"a": 1, "b": 3}, {"a": 2, "b": 4}]
    with pytest.raises(DataError, match=r"p: lists of different lengths \(2 a, 1 b\)"):
        fields.entries({"a": [1, 2], "b": [3]}, "p")
    for wrong in ([1], "x", None, {"a": 1}):
        with pytest.raises(DataError, match="p: should be a list of objects"):
            fields.entries(wrong, "p")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("yes", "yes"), ("", None), (None, None), (True, "true"), (False, "false"), (Written("01"), "01"),
        (["a"], "a"), (["b", "a"], ("b", "a")), ([], ()), (["a", "a"], "a"), ([None, "a"], "a"), ([Written("1"), "x"], ("1", "x")),
        ({"a": True, "b": False}, "a"), ({"a": True, "b": True}, ("a", "b")), ({"a": False}, ()), ({}, "{}"), ({"a": "x"}, '{"a":"x"}'),
    ],
)  # fmt: skip
def test_values(value: Any, expected: Any) -> None:
    assert fields.answer(value) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", None), ("a", "a"), ("[a]", "[a]"), ('["a"]', "a"), ('["b","a"]', ("b", "a")), ("[]", ()),
        ("[1, 2]", ("1", "2")),
    ],
)  # fmt: skip
def test_cells_with_lists(text: str, expected: Any) -> None:
    assert fields.from_text(text) == expected


# ── times ──


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0", 0), ("1694858483", 1694858483), ("1694858483.25", 1694858483.25), ("-5", -5),
        ("1970-01-01", 0), ("1970-01-01T00:00:01", 1), ("1970-01-01T00:00:01Z", 1), ("1970-01-01T01:00:01+01:00", 1),
        ("1970-01-01 00:00:01.5+00", 1.5), ("2020-01-01T00:00:00.000+0000", 1577836800), ("2026-11-15T06:12:39.279619Z", 1794723159.279619),
        ("nan", None), ("inf", None), ("", None), ("yesterday", None), ("12:00", None), ("2020-13-01", None),
    ],
)  # fmt: skip
def test_usual_times(text: str, seconds: float | None) -> None:
    assert timestamps.usual(text) == seconds


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("Thu Jan 01 00:00:00 UTC 1970", 0), ("Thu Jan 01 00:00:00 GMT 1970", 0), ("Thu Jan 1 00:00:00 PST 1970", 28800),
        ("Thu Jan 01 00:00:00 PDT 1970", 25200), ("Thu Jan 01 00:00:00 EST 1970", 18000), ("Thu Jan 01 00:00:00 CET 1970", None),
        ("Thu Jan 41 00:00:00 UTC 1970", None), ("1970-01-01T00:00:01Z", 1), ("soon", None),
        ("Thu Jan 01 00:01:02 UTC 1970", 62), (" Thu  Jan 01  00:01:02 UTC 1970 ", 62), ("Thu Jan 01 00:61:02 UTC 1970", None),
        ("Mon Feb 20 24:00:00 PST 2026", None), ("Mon Feb 20 23:59:60 PST 2026", None), ("Mon FEB 20 10:00:00 PST 2026", None),
        ("Mon Feb 30 10:00:00 PST 2026", None), ("Mon Feb 20 10:00:00 PST 26", None), ("Mon Feb 20 10:00:00 XYZ 2026", None),
        ("Thu Jan    00:00:10 01 UTC 1970", None), ("Thu Jan 01 00:00:10 UTC", None), ("Thu Jan 01 00:00:10 | UTC 1970", None),
    ],
)  # fmt: skip
def test_times_of_mechanical_turk(text: str, seconds: float | None) -> None:
    assert timestamps.mturk(text) == seconds


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1/2/1970 00:00:01", 86401), ("13/1/1970 00:00:01", None), ("1970-01-02T00:00:01", 86401), ("", None),
        ("1/2/1970 24:00:00", None),
    ],
)  # fmt: skip
def test_times_of_appen_have_the_month_first(text: str, seconds: float | None) -> None:
    assert timestamps.american(text) == seconds


def test_tools_use_the_clock_of_their_country() -> None:
    assert {name: load(name).clock for name in MODULES if load(name).clock is not timestamps.usual} == {
        "mturk": timestamps.mturk,
        "appen": timestamps.american,
    }


# ── guesses ──


def test_columns_are_told_by_what_they_hold() -> None:
    table = """item|text|same|few|vote|json|empty|sometimes
        1|a|x|p|+|[{"rating":1}]||
        1|a|x|p|-|[{"rating":1}]||y
        2|b|x|q|+|[{"rating":2}]||
        3|c|x|q|+|[{"rating":3}]|"""
    names, *rows = ([cell.strip() for cell in line.split("|")] for line in table.splitlines())
    found = split_columns([(row[0], dict(zip(names, row, strict=False))) for row in rows], names[1:])
    assert found == (("vote", "json", "sometimes"), ("same", "few"))


def test_one_item_alone_leaves_everything_in_doubt() -> None:
    assert split_columns([("1", {"a": "x"})], ["a"]) == ((), ("a",))


# ── rules ──

TOOL = Tool("t", "Tee", {}, lambda _: False, lambda _o, _a: iter(()), {"bad": "rejected"}, ("good", "fine"))


def response(value: Any, who: str = "a", status: str = "", **more: Any) -> Response:
    return Response("1", who, {"q": value}, status=status, **more)


def test_rules_leave_out_and_count() -> None:
    kept, gold = response("x"), response("x", is_gold=True)
    given = [kept, *(response("x", status=each) for each in ("bad", "odd")), *map(response, (None, (), "")), gold]
    export = gather(given, TOOL, Rules(), "source")
    assert len(export.rows["q"][ITEM]) == 2 and export.left_out == {"q": {"rejected": 1, "other_status": 1, "empty": 3}}
    strict = gather(given, TOOL, Rules(ground_truth="drop"), "source")
    assert strict.left_out["q"]["ground_truth"] == 1
    lenient = gather(given, TOOL, Rules(("bad", "good"), empty="keep"), "source")
    assert lenient.rows["q"][LABEL] == ["x", "x", "[]", "[]", "[]", "x"]


def test_half_a_character_in_a_text_becomes_a_question_mark() -> None:
    given = [Response("i1", "ann", {"q": "a"}, text="cut \ud83d"), Response("i2", "ann", {"q": "b"})]
    frame = gather(given, TOOL, Rules(), "source").frame("q", ReaderOptions(Path()))
    assert frame["text"].to_list() == ["cut ?", None]


def test_a_response_without_answers_concerns_every_question() -> None:
    given = [Response("1", "a", {"q": "x", "r": "y"}), Response("1", "b", {}, status="bad")]
    assert gather(given, TOOL, Rules(), "s").left_out == {"q": {"rejected": 1}, "r": {"rejected": 1}}


def test_a_question_that_was_not_asked_is_not_empty() -> None:
    given = [Response("1", "a", {"q": "x"}), Response("1", "b", {"r": "y"})]
    assert gather(given, TOOL, Rules(), "s").left_out == {}


def test_a_question_nobody_answered_is_none() -> None:
    given = [Response("1", "a", {"q": "x", "r": None})]
    assert tuple(gather(given, TOOL, Rules(), "s").rows) == ("q",)


def test_numbers_of_rows_are_lines_where_there_are_lines() -> None:
    given = [response("x"), response("y", row=17), response("z")]
    assert gather(given, TOOL, Rules(), "s").rows["q"][ROW] == [1, 17, 3]


def test_options_become_questions_only_where_somebody_chose_several() -> None:
    given = [
        Response("1", "a", {"q": ("x", "y"), "r": "x"}),
        Response("1", "b", {"q": "x", "r": "z"}),
        Response("1", "c", {"q": (), "r": None}),
    ]
    export = gather(given, TOOL, Rules(multi="options"), "s")
    assert tuple(export.rows) == ("q:x", "q:y", "r")
    assert (export.rows["q:y"][ANNOTATOR], export.rows["q:y"][LABEL]) == (["a", "b"], ["yes", "no"])
    assert export.left_out == {"q:x": {"empty": 1}, "q:y": {"empty": 1}, "r": {"empty": 1}}
    for wanted, meant in (("q", ["q:x", "q:y"]), ("Q:Y", ["q:y"])):
        options = ReaderOptions(Path(), question=wanted)
        found = questions_meant([*export.rows], source_module.Source("s", ""), TOOL, options, every=True)
        assert found == meant


def test_times_that_are_no_times_are_dropped_as_a_whole_and_said(tmp_path: Path) -> None:
    asked = ReaderOptions(tmp_path)
    export = gather([response("x", time="1"), response("y", who="b", time="never")], TOOL, Rules(), "s")
    assert export.frame("q", asked).columns == ["item", "annotator", "label", "row"]
    assert [(each.code, "'never'" in each.message) for each in asked.warnings] == [("time_ignored", True)]
    partly = gather([response("x", time="1"), response("y", who="b")], TOOL, Rules(), "s").frame("q", asked)
    assert partly["time"].to_list() == [1.0, None]


# ── requests, and the registry ──


def test_a_request_has_the_defaults_that_measure_has() -> None:
    import inspect

    from spagree import measure

    parameters = inspect.signature(measure).parameters
    request = Request()
    assert {name: getattr(request, name) for name in request.__slots__} == {
        name: parameters[name].default for name in request.__slots__
    }


@pytest.mark.parametrize("name", MODULES)
def test_every_tool_declares_itself_completely(name: str) -> None:
    from spagree.counts.policies import LEFT_OUT

    tool = load(name)
    assert tool.name == name and tool.title and {"item", "annotator"} <= tool.fields.keys()
    assert set(tool.statuses.values()) <= set(LEFT_OUT) and not set(tool.counted) & set(tool.statuses)
    assert {*tool.renames} <= {"item", "annotator", "time"}
    page = (Path(__file__).parents[3] / "docs" / "formats.md").read_text("utf-8")
    assert f"| `{name}` |" in page
    assert all(f"`{status}`" in page for status in (*tool.counted, *tool.statuses))


@pytest.mark.parametrize("name", MODULES)
def test_no_tool_recognises_nothing(name: str) -> None:
    for kind in ("", *source_module.SPECIAL, "table", "objects", "columns"):
        if kind not in ("server",):
            assert not load(name).recognise(source_module.Source("x", kind))


def test_cautions_of_a_reader_belong_to_every_question(tmp_path: Path) -> None:
    from spagree.read.tools.export import read_export

    def responses(_origin: Any, asked: ReaderOptions) -> Any:
        asked.warnings.append(Warning("x", "said"))
        yield Response("1", "a", {"q": "x", "r": "y"}, time="never")

    tool = Tool("t", "Tee", {}, lambda _: False, responses)
    found = read_export(source_module.Source("s", "table"), tool, ReaderOptions(tmp_path), Rules(), every=True)
    assert list(found) == ["q", "r"]
    assert all([each.code for each in one.warnings] == ["x", "time_ignored"] for one in found.values())


def test_json_with_a_long_head_is_read_as_one_document(save: Save, tmp_path: Path) -> None:
    document = {"answers": [{"workerId": "w", "answerContent": {"q": {"label": "x"}}}], "more": "y" * 10}
    for text in (json.dumps(document), json.dumps(document, indent=2), "\n\n" + json.dumps(document, indent=2)):
        assert len(objects(save("a.json", text), tmp_path)) == 1


def test_a_bad_byte_in_a_field_that_is_not_read_is_refused(tmp_path: Path) -> None:
    task = {"id": 1, "data": {"text": "x"}, "annotations": [], "note": "caf?"}
    path = tmp_path / "tasks.json"
    path.write_bytes(json.dumps([task]).encode().replace(b"?", b"\xe9"))
    with pytest.raises(DataError, match="not UTF-8: byte 0xe9"):
        read(path)
