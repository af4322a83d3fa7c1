"""What all readers share: detection, rules, the choice of a question, pseudonyms, the command line."""

from __future__ import annotations

import hmac
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest
import test_tools_crowd as crowd
import test_tools_files as files
import test_tools_label_studio as studio

import spagree
from spagree import timestamps
from spagree.cli.app import main
from spagree.read import read, read_all
from spagree.read.pseudonyms import pseudonym
from spagree.read.tools import source as source_module
from spagree.read.tools.registry import MODULES, load
from spagree.read.tools.source import look
from spagree.read.tools.tool import Rules


def saved(name: str, text: str) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        return path

    return make


def parquet(folder: Path) -> Path:
    pl.DataFrame(files.LAYOUTS["struct of lists"][0]).write_parquet(folder / "d.parquet")
    return folder / "d.parquet"


def tree(folder: Path) -> Path:
    saved("0/a.json", crowd.answers(("w1", {"mood": {"label": "good"}})))(folder)
    return folder


def potato(folder: Path) -> Path:
    saved("ann/user_state.json", json.dumps(files.state("ann", i1=[files.given("mood", "good")])))(folder)
    return folder


DETECTED = {
    "label-studio json": ("label-studio", studio.json_export),
    "label-studio snapshot": ("label-studio", studio.snapshot),
    "label-studio min": ("label-studio", studio.json_min),
    "label-studio csv": ("label-studio", studio.csv_export),
    "label-studio tsv": ("label-studio", studio.tsv_export),
    "label-studio database": ("label-studio", studio.database),
    "prodigy": ("prodigy", saved("p.jsonl", json.dumps(files.task(1, "accept", "ann", 1)))),
    "doccano": ("doccano", lambda folder: files.archive(folder, **files.DOCCANO["jsonl"])),
    "argilla flat": ("argilla", saved("a.json", json.dumps(files.FLAT))),
    "argilla v1": ("argilla", saved("a.jsonl", json.dumps({"id": 1, "mood": files.V1}))),
    "mturk": ("mturk", saved("b.csv", crowd.MTURK)),
    "mturk, other delimiter": ("mturk", saved("b.csv", "HITId;WorkerId;Answer.x\n1;2;3\n")),
    "ground-truth": ("ground-truth", tree),
    "appen": ("appen", saved("f.csv", crowd.APPEN)),
    "toloka api": ("toloka", saved("t.tsv", crowd.API)),
    "toloka ui": ("toloka", saved("t.tsv", crowd.UI)),
    "labelbox": ("labelbox", saved("l.ndjson", json.dumps(files.labelled("d", "a", files.RADIO)))),
    "potato": ("potato", potato),
    "huggingface": ("huggingface", parquet),
    "huggingface json": ("huggingface", saved("d.jsonl", json.dumps(files.LAYOUTS["parallel"][0][0]))),
    "inception": ("inception", saved("i.csv", files.INCEPTION)),
}


@pytest.mark.parametrize(("wanted", "make"), DETECTED.values(), ids=DETECTED)
def test_exactly_one_tool_recognises_its_export(wanted: str, make: Callable[[Path], Path], tmp_path: Path) -> None:
    source = make(tmp_path)
    origin = look([source], None, tmp_path)
    assert [name for name in MODULES if load(name).recognise(origin)] == [wanted]
    assert {found.understood.format for found in read_all(source).values()} == {wanted}


PLAIN = {
    "a.csv": "item,annotator,label\n1,a,x\n1,b,x\n",
    "b.csv": "id,annotator,label,created_at\n1,a,x,1\n1,b,x,2\n",
    "c.csv": "unit_id,worker_id,answer\n1,a,x\n1,b,x\n",
    "d.jsonl": '{"item": 1, "annotator": "a", "label": "x"}\n{"item": 1, "annotator": "b", "label": "x"}\n',
    "e.json": '[{"id": 1, "user": "a", "label": "x", "data": "y"}, {"id": 1, "user": "b", "label": "x", "data": "y"}]',
    "f.tsv": "task_id\tworker\tlabel\tAnswer.x\n1\ta\tx\ty\n1\tb\tx\ty\n",
}


@pytest.mark.parametrize("name", PLAIN)
def test_plain_tables_stay_plain(name: str, tmp_path: Path) -> None:
    found = read(saved(name, PLAIN[name])(tmp_path))
    assert found.understood.format == "long" and found.understood.rules == () and found.left_out == {}
    assert spagree.measure(tmp_path / name).spa.value == 1


def test_two_candidates_are_a_question_back(tmp_path: Path) -> None:
    both = {**files.task(1, "accept"), "data_row": {"id": 1}, "projects": {}}
    path = saved("x.jsonl", json.dumps(both))(tmp_path)
    with pytest.raises(
        spagree.UsageError, match='Prodigy and of Labelbox; say which: format="prodigy", format="labelbox"'
    ):
        read(path)
    assert read(path, format="prodigy").understood.format == "prodigy"


def test_naming_the_label_or_the_layout_reads_a_plain_table(tmp_path: Path) -> None:
    path = saved("b.csv", crowd.MTURK)(tmp_path)
    by_hand = read(path, item="HITId", annotator="WorkerId", label="Answer.mood")
    assert by_hand.understood.format == "long" and by_hand.left_out == {}
    assert read(path, format="long", item="HITId", label="Answer.mood").understood.format == "long"
    with pytest.raises(spagree.UsageError, match="label= does not apply to exports of mturk"):
        read(path, format="mturk", label="Answer.mood")


OPTIONS = [
    {"status": "x"},
    {"ground_truth": "drop"},
    {"multi": "options"},
    {"empty": "keep"},
    {"config": "x"},
]


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: next(iter(option)))
def test_options_for_exports_are_refused_for_tables(option: dict[str, Any], tmp_path: Path) -> None:
    name = next(iter(option))
    for source in ([("1", "a", "x")], saved("a.csv", PLAIN["a.csv"])(tmp_path)):
        with pytest.raises(spagree.UsageError, match=f"{name}= is for exports of annotation tools"):
            read(source, **option)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"multi": "sets"}, "did you mean 'set'"),
        ({"ground_truth": "maybe"}, 'unknown value of ground_truth="maybe"'),
        ({"empty": "x"}, 'unknown value of empty="x"'),
        ({"format": "label_studio"}, "did you mean 'label-studio'"),
    ],
)
def test_unknown_values_are_refused_before_anything_is_read(options: dict[str, Any], message: str) -> None:
    with pytest.raises(spagree.UsageError, match=message):
        read("nowhere.csv", **options)


def test_a_status_the_tool_does_not_have(tmp_path: Path) -> None:
    with pytest.raises(spagree.UsageError, match="did you mean 'rejected'"):
        read(saved("b.csv", crowd.MTURK)(tmp_path), status="rejectd")
    with pytest.raises(spagree.UsageError, match="potato exports have no status"):
        read(potato(tmp_path), status="done")


def test_a_role_the_tool_has_no_choice_of(tmp_path: Path) -> None:
    with pytest.raises(spagree.UsageError, match='item="x": exports of potato have a fixed field for the item'):
        read(potato(tmp_path), item="x")


def test_when_all_is_left_out_the_rules_are_named(tmp_path: Path) -> None:
    path = saved("p.jsonl", json.dumps(files.task(1, "ignore", "ann", 1)))(tmp_path)
    with pytest.raises(spagree.DataError, match=r"all were left out \(1 skipped\); change that with status="):
        read(path)


def test_a_status_nobody_declared_does_not_count(tmp_path: Path) -> None:
    path = saved("b.csv", crowd.MTURK.replace("Submitted", "Reversed"))(tmp_path)
    assert read(path).left_out["other_status"] == 1


def test_the_rules_are_said_in_words() -> None:
    usual = "status submitted, approved (not rejected); ground truth kept; several choices are one set; empty answers left out"
    seen = frozenset({"approved"})
    assert Rules().in_words(load("mturk"), seen) == usual
    assert Rules().in_words(load("mturk"), frozenset()) == usual.partition("; ")[2]
    other = Rules(("rejected",), "drop", "options", "keep")
    assert other.in_words(load("mturk"), seen) == (
        "status rejected (not submitted, approved); ground truth left out; several choices are a question each; empty answers are a label"
    )


def test_labels_that_mean_missing_are_missing_in_exports_too(tmp_path: Path) -> None:
    agreement = spagree.measure(saved("b.csv", crowd.MTURK)(tmp_path), missing=["NA"])
    assert dict(agreement.data.left_out) == {"rejected": 1, "empty": 1, "missing_label": 1}


def test_other_encodings_and_compressions(tmp_path: Path) -> None:
    path = tmp_path / "b.csv"
    path.write_bytes(crowd.MTURK.replace("good", "süß").encode("latin-1"))
    with pytest.raises(spagree.DataError, match="not UTF-8"):
        read(path, format="mturk")
    assert {row[2] for row in crowd.rows(read(path, encoding="latin-1"))} == {"süß", "NA"}
    path.write_bytes(crowd.MTURK.encode("utf-16"))
    assert read(path).understood.format == "mturk"
    bad = tmp_path / "p.jsonl"
    bad.write_bytes(json.dumps(files.task(1, "accept")).encode() + b"\n" + b'{"text": "\xff"}\n')
    with pytest.raises(spagree.DataError, match=r"p\.jsonl:2: not UTF-8"):
        read(bad)


def test_standard_tables_faults_are_refused_with_their_place(tmp_path: Path) -> None:
    with pytest.raises(spagree.ColumnError, match="'WorkerId' occurs twice"):
        read(saved("b.csv", "HITId,WorkerId,WorkerId,Answer.x\n1,2,3,4\n")(tmp_path))
    with pytest.raises(spagree.DataError, match=r"b\.csv:3: .*too few cells"):
        read(saved("b.csv", "HITId,WorkerId,Answer.x\n1,2,3\n1,2\n")(tmp_path))
    with pytest.raises(spagree.DataError, match=r"b\.csv:2: NUL byte"):
        read(saved("b.csv", "HITId,WorkerId,Answer.x\n1,2,\0\n")(tmp_path))
    with pytest.raises(spagree.DataError, match="none were found"):
        read(saved("b.csv", "HITId,WorkerId,Answer.x\n")(tmp_path))


def test_a_large_first_object_is_looked_at_as_a_whole(tmp_path: Path) -> None:
    task = {**studio.tasks()[0], "meta": {"text": "x" * (1 << 21)}}
    path = saved("e.json", json.dumps([{"meta": task["meta"], **task}]))(tmp_path)
    assert read(path, question="mood").understood.format == "label-studio"


def test_measure_all_gives_a_plain_table_its_one_question(tmp_path: Path) -> None:
    assert list(spagree.measure_all(saved("c.csv", PLAIN["c.csv"])(tmp_path))) == ["answer"]
    with pytest.raises(spagree.UsageError, match="a tally holds one question"):
        spagree.measure_all(spagree.tally([("1", "a", "x")]))


def test_left_out_reaches_the_tally_and_its_sum(tmp_path: Path) -> None:
    path = saved("b.csv", crowd.MTURK)(tmp_path)
    assert spagree.tally(path).left_out == {"rejected": 1, "empty": 1}
    assert spagree.count_items(path).left_out == {"rejected": 1, "empty": 1}
    with pytest.raises(spagree.UsageError, match="multi= has no effect on a tally"):
        spagree.measure(spagree.tally(path), multi="options")


@pytest.mark.parametrize(
    ("source", "options"), [([("1", "a", "x")], {}), ("example:sparse", {}), ("file", {"header": False})]
)
def test_only_files_are_exports(source: Any, options: dict[str, Any], tmp_path: Path) -> None:
    source = saved("b.csv", crowd.MTURK)(tmp_path) if source == "file" else source
    with pytest.raises(spagree.UsageError, match='format="mturk" reads files of that tool'):
        read(source, format="mturk", **options)


@pytest.mark.parametrize("text", ["99/99/2018 18:40:05", "Wed Foo 24 09:48:10 PST 2018", "nan", "inf", ""])
def test_what_is_no_time_is_none(text: str) -> None:
    assert [read_clock(text) for read_clock in (timestamps.american, timestamps.mturk, timestamps.usual)] == [None] * 3


def test_a_damaged_database_is_refused(tmp_path: Path) -> None:
    broken = tmp_path / "x.db"
    broken.write_bytes(source_module.SQLITE + b"\xff" * 3000)
    with pytest.raises(spagree.FileError, match="the database cannot be read"):
        read(broken)


def test_a_folder_with_too_many_files_is_refused_and_never_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_module, "MOST_FILES", 1)
    saved("a/1", "x")(tmp_path)
    saved("b/1", "x")(tmp_path)
    with pytest.raises(spagree.FileError, match="more than 1 files; name the folder of the export itself"):
        read(tmp_path)


@pytest.mark.parametrize(
    "name", ["prodigy", "argilla", "mturk", "appen", "toloka", "labelbox", "inception", "label-studio"]
)
def test_a_folder_is_refused_by_tools_that_write_files(name: str, tmp_path: Path) -> None:
    with pytest.raises(spagree.FileError, match=r"a folder, but exports of .* are files"):
        read(potato(tmp_path), format=name)


# ── pseudonyms ──


def test_pseudonyms_are_the_same_whatever_holds_the_data(tmp_path: Path) -> None:
    rows = [("1", "ann", "x"), ("1", "bob", "y"), ("2", None, "y")]
    frame = pl.DataFrame(rows, schema=["item", "annotator", "label"], orient="row")
    frame.write_csv(tmp_path / "a.csv")
    frame.write_parquet(tmp_path / "a.parquet")
    wanted = {pseudonym("ann", "s"), pseudonym("bob", "s"), None}
    for source in (rows, frame, frame.lazy(), frame.to_pandas(), tmp_path / "a.csv", tmp_path / "a.parquet"):
        found = read(source, pseudonymise="s").frame.collect(backend="polars")["annotator"].to_list()
        assert {None if pd.isna(name) else name for name in found} == wanted
    assert wanted.isdisjoint({pseudonym("ann", "t"), pseudonym("bob", "t")})


def test_pseudonyms_change_no_number_and_no_name_is_left(tmp_path: Path) -> None:
    path = studio.snapshot(tmp_path)
    options: dict[str, Any] = {"question": "mood", "annotator": "email", "duplicates": "last"}
    plain, hidden = spagree.measure(path, **options), spagree.measure(path, pseudonymise=True, **options)
    assert plain.spa == hidden.spa and plain.data.annotators == hidden.data.annotators
    assert "@example.com" in str(plain) and "@example.com" not in str(hidden) + hidden.to_json()
    with pytest.raises(spagree.DuplicateError, match=r"annotator 'annotator-[0-9a-f]{24}' labelled") as caught:
        spagree.measure(path, pseudonymise=True, question="mood", annotator="email")
    assert "@example.com" not in str(caught.value)


def test_pseudonyms_of_wide_tables_and_of_nobody(tmp_path: Path) -> None:
    path = saved("w.csv", "id,ann,bob\n1,x,y\n2,x,\n")(tmp_path)
    found = read(path, format="wide", pseudonymise="s")
    assert "ann" not in str(spagree.measure(path, format="wide", pseudonymise=True).understood.columns.get("annotator"))
    assert set(found.frame.collect(backend="polars")["annotator"].to_list()) == {
        pseudonym("ann", "s"),
        pseudonym("bob", "s"),
    }
    nobody = read(saved("n.csv", "item,label\n1,x\n")(tmp_path), pseudonymise=True)
    assert not nobody.has_annotators
    empty = read(
        pl.DataFrame({"item": ["1"], "annotator": [None], "label": ["x"]}, schema_overrides={"annotator": pl.String}),
        pseudonymise=True,
    )
    assert empty.frame.collect()["annotator"].to_list() == [None]


def test_a_pseudonym_is_an_hmac_of_the_name() -> None:
    for key in ("s3cret", "k" * 200, "schlüssel'"):
        wanted = hmac.new(key.encode(), b"ann", "sha256").hexdigest()[:24]
        assert pseudonym("ann", key) == f"annotator-{wanted}"


@pytest.mark.parametrize("key", ["s", "k" * 200, "it's é"])
def test_engines_that_hash_by_themselves_make_the_same_pseudonyms(key: str, tmp_path: Path) -> None:
    frame = pl.DataFrame({"item": ["q", "q", "r"], "annotator": [1.0, 2.0, 2.5], "label": ["x", "x", "y"]})
    frame.write_parquet(tmp_path / "a.parquet")
    for source in (tmp_path / "a.parquet", frame, frame.to_pandas()):
        found = spagree.tally(source, pseudonymise=key).annotators
        assert found == {pseudonym(name, key): 1 for name in ("1", "2", "2.5")}


def test_without_a_key_a_random_one_is_made_once_and_kept_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "new" / "config"))
    rows = [("q", "ann", "x"), ("q", "bob", "x")]
    first, again = (spagree.measure(rows, pseudonymise=True) for _ in range(2))
    assert [each.code for each in first.warnings].count("pseudonym_key") == 1
    assert "pseudonym_key" not in [each.code for each in again.warnings]
    path = tmp_path / "new" / "config" / "spagree" / "pseudonym-key"
    assert path.stat().st_mode & 0o777 == 0o600 and len(path.read_text()) == 64
    names = {pseudonym("ann", path.read_text()): 1, pseudonym("bob", path.read_text()): 1}
    assert spagree.tally(rows, pseudonymise=True).annotators == names
    monkeypatch.setenv("SPAGREE_PSEUDONYM_KEY", "of the environment")
    assert pseudonym("ann", "of the environment") in (spagree.tally(rows, pseudonymise=True).annotators or {})


@pytest.mark.parametrize("key", ["", "  ", 1, b"bytes", None])
def test_a_secret_that_is_none_is_refused(key: Any) -> None:
    with pytest.raises(spagree.UsageError, match=r"is empty|give True, a secret text"):
        spagree.measure([("q", "ann", "x")], pseudonymise=key)


def test_a_key_file_that_cannot_be_read_is_a_file_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(spagree.FileError, match="the key for pseudonyms cannot be read"):
        spagree.measure([("q", "ann", "x")], pseudonymise=tmp_path / "none")
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "file"))
    with pytest.raises(spagree.FileError, match="cannot be stored"):
        spagree.measure([("q", "ann", "x")], pseudonymise=True)


def test_names_of_columns_are_hidden_in_the_options_too(tmp_path: Path) -> None:
    path = saved("w.csv", "id,ann,bob,note\n1,x,y,n\n2,x,,n\n")(tmp_path)
    hidden = spagree.measure(path, format="wide", label=["ann", "bob"], pseudonymise="s")
    assert hidden.options["label"] is True
    hidden.report(tmp_path / "page.html")
    assert not re.search(r"\b(ann|bob)\b", (tmp_path / "page.html").read_text("utf-8").partition("<script")[0])


# ── the command line ──


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stopped:
        main([str(argument) for argument in arguments])
    printed = capsys.readouterr()
    return int(stopped.value.code or 0), printed.out, printed.err


def test_score_says_what_counted(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = studio.json_export(tmp_path)
    code, out, err = run(capsys, "score", path, "--question", "mood", "--duplicates", "last")
    flowing = " ".join(out.split())
    assert code == 0 and err == ""
    assert "as a label-studio export" in flowing and "other questions: topics" in flowing
    assert "counted: status submitted (not cancelled, draft); ground truth kept; several choices are one set" in flowing
    assert (
        "1 annotation: cancelled" in flowing
        and "1 annotation: drafts" in flowing
        and "1 annotation: empty answers" in flowing
    )


def test_score_asks_back_where_there_are_several_questions(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, out, err = run(capsys, "score", studio.json_export(tmp_path))
    assert code == 3 and out == "" and "2 questions: 'mood', 'topics'" in err and "--all-questions" in err


def test_all_questions_one_after_the_other_or_as_json(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = studio.json_export(tmp_path)
    code, out, _ = run(capsys, "score", path, "--all-questions", "--duplicates", "last")
    assert code == 0 and out.count("SPA ") >= 2 and "══ mood ══" in out and "══ topics ══" in out
    code, out, _ = run(capsys, "score", path, "--all-questions", "--duplicates", "last", "--json")
    found = json.loads(out)
    assert list(found) == ["questions"] and list(found["questions"]) == ["mood", "topics"]
    assert found["questions"]["mood"]["format"] == 1
    code, out, _ = run(capsys, "score", path, "--question", "mood", "--json", "--duplicates", "last")
    assert json.loads(out) == found["questions"]["mood"]


def test_a_gate_on_every_question(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = saved(
        "b.csv",
        "HITId,WorkerId,Answer.q,Answer.r\n" + "".join(f"h{i},w{j},x,y{j}\n" for i in range(40) for j in range(2)),
    )(tmp_path)
    code, _, err = run(capsys, "score", path, "--all-questions", "--require", 0.5)
    assert code == 1 and "question 'r': the interval's lower end" in err and "question 'q'" not in err


def test_a_question_without_pairs_is_named(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = saved("b.csv", "HITId,WorkerId,Answer.q,Answer.r\nh1,a,x,y\nh1,b,x,\n")(tmp_path)
    code, out, err = run(capsys, "score", path, "--all-questions")
    assert code == 3 and "══ q ══" in out and "question 'r': only one annotator" in err


def test_a_question_that_fails_does_not_stop_the_others(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = saved("b.csv", "HITId,WorkerId,Answer.q,Answer.r\nh1,a,x,y\nh1,a,z,y\nh1,b,x,y\n")(tmp_path)
    code, out, err = run(capsys, "score", path, "--all-questions", "--require", 0.99)
    assert code == 3 and "══ r ══" in out and "══ q ══" not in out
    assert "spagree: question 'q': once an annotator gave one item different labels" in err
    assert "gate not met: question 'r'" in err
    code, out, _ = run(capsys, "score", path, "--all-questions", "--json")
    assert code == 3 and list(json.loads(out)["questions"]) == ["r"]
    with pytest.raises(spagree.DuplicateError):
        spagree.measure_all(path)


def test_items_and_the_report_show_what_an_item_says(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    rows = "".join(f"h{i},w{j},Review {i},{'xy'[i % 2 * j]}\n" for i in range(4) for j in range(2))
    path = saved("b.csv", "HITId,WorkerId,Input.text,Answer.q\n" + rows)(tmp_path)
    assert "Review 1" in run(capsys, "items", path)[1]
    assert run(capsys, "score", path, "--report", tmp_path / "r.html")[0] == 0
    assert "Review 1" in (tmp_path / "r.html").read_text()


def test_the_other_commands_read_exports_too(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = studio.json_export(tmp_path)
    options = ("--question", "mood", "--duplicates", "last", "--ground-truth", "drop", "--status", "submitted")
    code, out, _ = run(capsys, "items", path, *options, "--json")
    assert code == 0 and [row["item"] for row in json.loads(out)] == ["2", "1"]
    code, _, _ = run(capsys, "tally", path, *options, "-o", tmp_path / "t.json")
    assert code == 0 and spagree.load(tmp_path / "t.json").left_out["ground_truth"] == 1


def test_pseudonyms_on_the_command_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = saved("a.csv", PLAIN["a.csv"])(tmp_path)
    key = path.parent / "key.txt"
    key.write_text("from a file\n")
    assert pseudonym("a", "from a file") in run(capsys, "score", path, "--pseudonymise", "--salt-file", key)[1]
    assert run(capsys, "score", path, "--pseudonymise", "--salt", "s", "--salt-file", key)[0] == 2
    assert run(capsys, "score", path, "--pseudonymise", "--salt", "")[0] == 2
    assert pseudonym("a", "s") in run(capsys, "score", path, "--pseudonymise", "--salt", "s")[1]
    code, _, err = run(capsys, "score", path, "--salt", "s")
    assert code == 2 and "--salt only works with --pseudonymise" in err
