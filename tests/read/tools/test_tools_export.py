"""What all readers share: detection, rules, the choice of a question, pseudonyms, the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import exports
import pytest
import test_crowds
import test_label_studio as studio
import test_potato
import test_prodigy

import spagree
from command import Run
from spagree.read import read
from spagree.read.tools import source as source_module
from spagree.read.tools.registry import load
from spagree.read.tools.tool import Rules


def saved(name: str, text: str) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        return path

    return make


def potato(folder: Path) -> Path:
    saved("ann/user_state.json", json.dumps(test_potato.state("ann", i1=[test_potato.given("mood", "good")])))(folder)
    return folder


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
    both = {**test_prodigy.task(1, "accept"), "data_row": {"id": 1}, "projects": {}}
    path = saved("x.jsonl", json.dumps(both))(tmp_path)
    with pytest.raises(
        spagree.UsageError, match='Prodigy and of Labelbox; say which: format="prodigy", format="labelbox"'
    ):
        read(path)
    assert read(path, format="prodigy").understood.format == "prodigy"


def test_naming_the_label_or_the_layout_reads_a_plain_table(tmp_path: Path) -> None:
    path = saved("b.csv", test_crowds.MTURK)(tmp_path)
    by_hand = read(path, item="HITId", annotator="WorkerId", label="Answer.mood")
    assert by_hand.understood.format == "long" and by_hand.left_out == {}
    assert read(path, format="long", item="HITId", label="Answer.mood").understood.format == "long"
    with pytest.raises(spagree.UsageError, match="label= does not apply to exports of mturk"):
        read(path, format="mturk", label="Answer.mood")


OPTIONS = [{"status": "x"}, {"ground_truth": "drop"}, {"multi": "options"}, {"empty": "keep"}, {"config": "x"}]


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
        read(saved("b.csv", test_crowds.MTURK)(tmp_path), status="rejectd")
    with pytest.raises(spagree.UsageError, match="potato exports have no status"):
        read(potato(tmp_path), status="done")


def test_a_role_the_tool_has_no_choice_of(tmp_path: Path) -> None:
    with pytest.raises(spagree.UsageError, match='item="x": exports of potato have a fixed field for the item'):
        read(potato(tmp_path), item="x")


def test_when_all_is_left_out_the_rules_are_named(tmp_path: Path) -> None:
    path = saved("p.jsonl", json.dumps(test_prodigy.task(1, "ignore", "ann", 1)))(tmp_path)
    with pytest.raises(spagree.DataError, match=r"all were left out \(1 skipped\); change that with status="):
        read(path)


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
    agreement = spagree.measure(saved("b.csv", test_crowds.MTURK)(tmp_path), missing=["NA"])
    assert dict(agreement.data.left_out) == {"rejected": 1, "empty": 1, "missing_label": 1}


def test_other_encodings_and_compressions(tmp_path: Path) -> None:
    path = tmp_path / "b.csv"
    path.write_bytes(test_crowds.MTURK.replace("good", "süß").encode("latin-1"))
    guessed = read(path, format="mturk")
    assert {row[2] for row in exports.rows(guessed)} == {"süß", "NA"}
    assert [warning.code for warning in guessed.warnings] == ["encoding"]
    assert {row[2] for row in exports.rows(read(path, encoding="latin-1"))} == {"süß", "NA"}
    path.write_bytes(test_crowds.MTURK.encode("utf-16"))
    assert read(path).understood.format == "mturk"
    bad = tmp_path / "p.jsonl"
    bad.write_bytes(json.dumps(test_prodigy.task(1, "accept")).encode() + b"\n" + b'{"text": "\xff"}\n')
    with pytest.raises(spagree.DataError, match=r"p\.jsonl:2: not UTF-8"):
        read(bad)


def test_a_large_first_object_is_looked_at_as_a_whole(tmp_path: Path) -> None:
    task = {**studio.tasks()[0], "meta": {"text": "x" * (1 << 21)}}
    path = saved("e.json", json.dumps([{"meta": task["meta"], **task}]))(tmp_path)
    assert read(path, question="mood").understood.format == "label-studio"


def test_measure_all_gives_a_plain_table_its_one_question(tmp_path: Path) -> None:
    assert list(spagree.measure_all(saved("c.csv", PLAIN["c.csv"])(tmp_path))) == ["answer"]
    with pytest.raises(spagree.UsageError, match="a tally holds one question"):
        spagree.measure_all(spagree.tally([("1", "a", "x")]))


def test_left_out_reaches_the_tally_and_its_sum(tmp_path: Path) -> None:
    path = saved("b.csv", test_crowds.MTURK)(tmp_path)
    assert spagree.tally(path).left_out == {"rejected": 1, "empty": 1}
    assert spagree.count_items(path).left_out == {"rejected": 1, "empty": 1}
    with pytest.raises(spagree.UsageError, match="multi= has no effect on a tally"):
        spagree.measure(spagree.tally(path), multi="options")


@pytest.mark.parametrize(
    ("source", "options"), [([("1", "a", "x")], {}), ("example:sparse", {}), ("file", {"header": False})]
)
def test_only_files_are_exports(source: Any, options: dict[str, Any], tmp_path: Path) -> None:
    source = saved("b.csv", test_crowds.MTURK)(tmp_path) if source == "file" else source
    with pytest.raises(spagree.UsageError, match='format="mturk" reads files of that tool'):
        read(source, format="mturk", **options)


def test_a_folder_with_too_many_files_is_refused_and_never_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_module, "MOST_FILES", 1)
    saved("a/1", "x")(tmp_path)
    saved("b/1", "x")(tmp_path)
    with pytest.raises(spagree.FileError, match="more than 1 files; name the folder of the export itself"):
        read(tmp_path)


@pytest.mark.parametrize("name", ["prodigy", "argilla", "mturk", "appen", "toloka", "labelbox", "mqm", "label-studio"])
def test_a_folder_is_refused_by_tools_that_write_files(name: str, tmp_path: Path) -> None:
    with pytest.raises(spagree.FileError, match=r"a folder, but exports of .* are files"):
        read(potato(tmp_path), format=name)


def test_pseudonyms_change_no_number_and_no_name_is_left(tmp_path: Path) -> None:
    path = studio.snapshot(tmp_path)
    options: dict[str, Any] = {"question": "mood", "annotator": "email", "duplicates": "last"}
    plain, hidden = spagree.measure(path, **options), spagree.measure(path, pseudonymise=True, **options)
    assert plain.spa == hidden.spa and plain.data.annotators == hidden.data.annotators
    assert "@example.com" in str(plain) and "@example.com" not in str(hidden) + hidden.to_json()
    with pytest.raises(spagree.DuplicateError, match=r"annotator 'annotator-[0-9a-f]{24}' labelled") as caught:
        spagree.measure(path, pseudonymise=True, question="mood", annotator="email")
    assert "@example.com" not in str(caught.value)


# ── the command line ──


def test_score_says_what_counted(run: Run, tmp_path: Path) -> None:
    path = studio.json_export(tmp_path)
    code, out, err = run("score", path, "--question", "mood", "--duplicates", "last")
    flowing = " ".join(out.split())
    assert code == 0 and err == ""
    assert "as a label-studio export" in flowing and "other questions: topics" in flowing
    assert "counted: status submitted (not cancelled, draft); ground truth kept; several choices are one set" in flowing
    assert (
        "1 annotation: cancelled" in flowing
        and "1 annotation: drafts" in flowing
        and "1 annotation: empty answers" in flowing
    )


def test_all_questions_one_after_the_other_or_as_json(run: Run, tmp_path: Path) -> None:
    path = studio.json_export(tmp_path)
    code, out, _ = run("score", path, "--all-questions", "--duplicates", "last")
    assert code == 0 and out.count("SPA ") >= 2 and "══ mood ══" in out and "══ topics ══" in out
    code, out, _ = run("score", path, "--all-questions", "--duplicates", "last", "--json")
    found = json.loads(out)
    assert list(found) == ["questions"] and list(found["questions"]) == ["mood", "topics"]
    assert found["questions"]["mood"]["format"] == 1
    code, out, _ = run("score", path, "--question", "mood", "--json", "--duplicates", "last")
    alone, among = json.loads(out), found["questions"]["mood"]
    assert {**alone, "next": []} == {**among, "next": []}  # whose commands name the question


def test_a_gate_on_every_question(run: Run, tmp_path: Path) -> None:
    path = saved(
        "b.csv",
        "HITId,WorkerId,Answer.q,Answer.r\n" + "".join(f"h{i},w{j},x,y{j}\n" for i in range(40) for j in range(2)),
    )(tmp_path)
    code, _, err = run("score", path, "--all-questions", "--require", 0.5)
    assert code == 1 and "question 'r': the interval's lower end" in err and "question 'q'" not in err


def test_a_question_without_pairs_is_named(run: Run, tmp_path: Path) -> None:
    path = saved("b.csv", "HITId,WorkerId,Answer.q,Answer.r\nh1,a,x,y\nh1,b,x,\n")(tmp_path)
    code, out, err = run("score", path, "--all-questions")
    assert code == 3 and "══ q ══" in out and "question 'r': only one annotator" in err


def test_a_question_that_fails_does_not_stop_the_others(run: Run, tmp_path: Path) -> None:
    path = saved("b.csv", "HITId,WorkerId,Answer.q,Answer.r\nh1,a,x,y\nh1,a,z,y\nh1,b,x,y\n")(tmp_path)
    code, out, err = run("score", path, "--all-questions", "--require", 0.99)
    assert code == 3 and "══ r ══" in out and "══ q ══" not in out
    assert "spagree: question 'q': once an annotator gave one item different labels" in err
    assert "gate not met: question 'r'" in err
    code, out, _ = run("score", path, "--all-questions", "--json")
    assert code == 3 and list(json.loads(out)["questions"]) == ["r"]
    with pytest.raises(spagree.DuplicateError):
        spagree.measure_all(path)


def test_items_and_the_report_show_what_an_item_says(run: Run, tmp_path: Path) -> None:
    rows = "".join(f"h{i},w{j},Review {i},{'xy'[i % 2 * j]}\n" for i in range(4) for j in range(2))
    path = saved("b.csv", "HITId,WorkerId,Input.text,Answer.q\n" + rows)(tmp_path)
    assert "Review 1" in run("items", path)[1]
    assert run("score", path, "--report", tmp_path / "r.html")[0] == 0
    assert "Review 1" in (tmp_path / "r.html").read_text()


def test_the_other_commands_read_exports_too(run: Run, tmp_path: Path) -> None:
    path = studio.json_export(tmp_path)
    options = ("--question", "mood", "--duplicates", "last", "--ground-truth", "drop", "--status", "submitted")
    code, out, _ = run("items", path, *options, "--json")
    assert code == 0 and {row["item"] for row in json.loads(out)} == {"1", "2"}
    code, _, _ = run("tally", path, *options, "-o", tmp_path / "t.json")
    assert code == 0 and spagree.load(tmp_path / "t.json").left_out["ground_truth"] == 1
