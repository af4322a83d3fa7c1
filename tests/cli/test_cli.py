"""The command line as its users and their pipelines see it: output, messages, exit codes."""

from __future__ import annotations

import json
import shlex
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import pytest

import spagree
from command import SPAGREE, Run, bash, written

ROWS = ["q1,ann,yes", "q1,bob,yes", "q2,ann,yes", "q2,bob,no", "q3,ann,no", "q3,bob,no", "q3,cyd,no", "q4,ann,no"]


@pytest.fixture
def good(tmp_path: Path) -> Path:
    return written(tmp_path / "good.csv", *ROWS)


def test_score_says_the_number_the_interval_the_coverage_and_what_was_understood(run: Run, good: Path) -> None:
    code, out, err = run("score", good)
    assert code == 0 and err == ""
    assert "SPA 0.750  95%:" in out and "8 annotations of 4 items" in out
    assert "(1 with a single one)" in out
    assert "as a long table: item, annotator, label (guessed)" in " ".join(out.split())
    full = run("score", good, "-v")[1]
    assert "Inter-annotator agreement was 0.750" in full and "Sparse Probability of Agreement.\n" in full
    assert "first row: q1 · ann · yes" in full
    named = run("score", good, "--item", "item", "--label", "label")[1]
    assert "(annotator guessed)" in " ".join(named.split())


def test_json_follows_the_contract(run: Run, good: Path) -> None:
    found = run.json("score", good)
    parts = "format spagree metric data spa schemes missingness chance verdict next checks warnings"
    assert list(found) == parts.split()
    assert found["format"] == 1 and found["spagree"] == spagree.__version__
    counts = {"items": 4, "annotations": 8, "annotators": 3, "classes": 2}
    pairs = {"pairable_items": 3, "unpairable_items": 1, "pairable_annotations": 7}
    per_item = {"annotations_per_item": {"min": 1, "median": 2.0, "max": 3}}
    assert found["data"] == counts | pairs | per_item | {"labels": {"no": 5, "yes": 3}, "left_out": {}}
    assert [found["spa"][name] for name in ("value", "weights", "level")] == [0.75, "annotations_m1", 0.95]
    assert {"value", "stderr", "low", "high"} <= set(found["spa"])
    assert tuple(found["schemes"]) == spagree.SCHEMES
    assert all(set(each) == {"value", "stderr", "low", "high"} for each in found["schemes"].values())
    first = found["missingness"]["by_n"][0]
    assert {name: first.pop(name) for name in ("n", "items", "agreement")} == {"n": 2, "items": 2, "agreement": 0.5}
    assert set(first) == {"low", "high"}
    assert all(set(each) == {"code", "message"} for each in found["warnings"])


def test_nothing_pairable_is_explained_and_exits_with_3(run: Run, tmp_path: Path) -> None:
    path = written(tmp_path / "once.csv", "1,a,x", "2,a,y", "3,b,x")
    code, out, err = run("score", path, "--json")
    found = json.loads(out)
    assert code == 3
    assert found["spa"]["value"] is None and "no item has two annotations" in found["spa"]["undefined"]
    assert found["schemes"]["flat"] == {"value": None, "undefined": found["spa"]["undefined"]}
    assert found["missingness"]["undefined"] == "no pairable item"
    assert [each["code"] for each in found["warnings"]] == ["all_items_once"]
    assert "no item has two annotations" in err
    code, out, _ = run("score", path)
    assert code == 3 and "SPA undefined" in out and "Cite" not in out


def test_the_gate_looks_at_the_lower_end(run: Run) -> None:
    low = spagree.measure("example:sparse").spa.low
    assert low is not None and 0.5 < low < 0.57
    assert run("score", "example:sparse", "--require", low)[0] == 0
    code, out, err = run("score", "example:sparse", "--require", 0.57)
    assert code == 1 and "SPA 0.576" in out
    assert f"lower end is {low:.3f}; 0.57 is required" in err


def test_the_help_lists_every_scheme_of_the_registry(run: Run) -> None:
    out = " ".join(run("score", "--help")[1].split())
    default = ", ".join(f"{name} (default)" if name == "annotations_m1" else name for name in spagree.SCHEMES)
    assert f"{default}, or your own weights" in out


def test_own_weights_and_a_bootstrap_with_its_seed_are_recorded(run: Run, good: Path) -> None:
    own = run.json("score", good, "--weights", "2=1,3=2")["spa"]
    assert (own["value"], own["weights"]) == (spagree.measure(good, weights="annotations_m1").spa.value, "custom")
    assert "▸ custom" in run("score", good, "--weights", "2=1,3=2", "-v")[1]
    one, two = (run.json("score", good, "--bootstrap", 200, "--seed", seed)["spa"] for seed in (1, 2))
    assert one["method"] == "bootstrap of items, 200 replicates, seed 1"
    assert one["value"] == 0.75 and one["stderr"] != two["stderr"]


@pytest.mark.parametrize(
    ("typed", "code", "message"),
    [
        ("score good.csv --weights egde", 2, "did you mean 'edge'"),
        ("score good.csv --weights 2=0,3=1", 2, "0.0 for n = 2"),
        ("score good.csv --weights 2=-1,3=1", 2, "-1.0 for n = 2"),
        ("score good.csv --weights 2=nan,3=1", 2, "nan for n = 2"),
        ("score good.csv --weights 2=1", 2, "none given for items with 3 annotations"),
        ("score good.csv --weights two=1", 2, "write your own weights as"),
        ("score good.csv --format wid", 2, "did you mean 'wide'"),
        ("score good.csv --level 95", 2, "between 0 and 1"),
        ("score good.csv --duplicates lst", 2, "did you mean 'last'"),
        ("score good.csv --first 1", 2, "at least the first 2"),
        ("score good.csv --first 2", 2, "name its column with --time"),
        ("score good.csv --bootstrap 5", 2, "at least 100"),
        ("score good.csv --wieghts flat", 2, "--weights"),
        ("score", 2, "Missing argument"),
        ("scroe good.csv", 2, "did you mean 'score'"),
        ("simulate -o x.csv --per-item 2:b", 2, "neither a number nor LOW:HIGH"),
        ("simulate -o x.txt", 2, "give one of .csv"),
        ("simulate -o x.csv --items 0", 2, "items"),
        ("tally good.csv -o x.csv", 2, "saved as .json"),
        ("score nowhere.csv", 4, "nowhere.csv"),
        ("score no-*.csv", 4, "no-*.csv"),
        ("score .", 4, "is a folder; name its files"),
        ("score https://example.org/labels.csv", 4, "download"),
    ],
)
def test_wrong_usage_is_exit_2_and_what_cannot_be_read_exit_4_with_a_hint(
    typed: str, code: int, message: str, run: Run, good: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(good.parent)
    found, out, err = run(*typed.split())
    assert (found, out) == (code, "") and message in err


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "empty"),
        ("item,annotator,label\n", "no data rows"),
        ("item,annotator,label\n1,a,x\n2,b\n", ":3:"),
        ("item,annotator,label\n1,a,x\n2,b,y,z\n", ":3:"),
        ('item,annotator,label\n1,a,x\n2,"b,y\n3,a,x\n', ":3"),
        ("item,annotator,label\n1,a,x\n2,b,\x00\n", "NUL"),
        ("item,annotator,verdict2\n1,a,x\n", "--label"),
        ("item,annotator,label\n1,a,x\n1,a,y\n", "--duplicates first"),
    ],
)
def test_bad_data_is_exit_3_with_the_place_and_no_traceback(
    run: Run, tmp_path: Path, content: str, message: str
) -> None:
    path = tmp_path / "bad.csv"
    path.write_text(content)
    code, out, err = run("score", path)
    assert code == 3 and out == ""
    assert "bad.csv" in err and message in err and "Traceback" not in err


def test_items_lists_the_worst_first(run: Run, good: Path) -> None:
    code, out, _ = run("items", good)
    assert code == 0
    assert out.splitlines()[0] == "The item q2 holds 100% of all disagreements."
    assert out.splitlines()[2].split() == ["100%", "0", "2", "q2", "no", "×1,", "yes", "×1"]
    assert run.json("items", good, "--worst", 1) == [
        {"item": "q2", "annotations": 2, "agreement": 0.0, "share": 1.0, "entropy": 1.0, "votes": "no ×1, yes ×1"}
    ]


def test_tallies_are_saved_merged_and_scored(run: Run, tmp_path: Path, good: Path) -> None:
    for name, part in {"one": ROWS[:2], "two": ROWS[2:]}.items():
        path = written(tmp_path / f"{name}.csv", *part)
        assert run("tally", path, "-o", path.with_suffix(".json"))[0] == 0
    assert run("merge", tmp_path / "one.json", tmp_path / "two.json", "-o", tmp_path / "all.json")[0] == 0
    merged, whole = (run.json("score", source) for source in (tmp_path / "all.json", good))
    # A tally does not keep who annotated which item: Conger's kappa is unknown.
    assert "a tally does not say who annotated" in merged["chance"].pop("conger_kappa")["undefined"]
    assert whole["chance"].pop("conger_kappa")["value"] is not None
    for of_tally, of_data in (
        (merged["spa"], whole["spa"]),
        *zip(*(each["chance"].values() for each in (merged, whole)), strict=True),
    ):
        assert "three annotators cannot show" in of_data["intervals"]["annotators"]["undefined"]
        assert of_tally["intervals"] == of_data["intervals"]
    states, wanted = ({check["code"]: check for check in found.pop("checks")} for found in (merged, whole))
    assert states.pop("overlap")["state"] == "cannot_tell" != wanted.pop("overlap")["state"]
    assert [step["code"] for step in merged.pop("next")] == [step["code"] for step in whole.pop("next")][:1]
    assert (merged, states) == (whole, wanted)


def test_parts_that_cut_through_items_merge_with_keep_items(run: Run, tmp_path: Path, good: Path) -> None:
    for name, part in {"odd": ROWS[::2], "even": ROWS[1::2]}.items():
        path = written(tmp_path / f"{name}.csv", *part)
        assert run("tally", path, "-o", path.with_suffix(".parquet"), "--keep-items")[0] == 0
    assert run("merge", tmp_path / "odd.parquet", tmp_path / "even.parquet", "-o", tmp_path / "all.parquet")[0] == 0
    merged, whole = (run.json("score", source)["spa"] for source in (tmp_path / "all.parquet", good))
    assert merged.pop("intervals")["items"] == whole.pop("intervals")["items"]
    assert merged == whole
    assert run("tally", good, "-o", tmp_path / "plain.json")[0] == 0
    assert run("merge", tmp_path / "odd.parquet", tmp_path / "plain.json", "-o", tmp_path / "no.json")[0] == 2


def test_existing_output_is_refused_before_any_work(run: Run, tmp_path: Path, good: Path) -> None:
    target = tmp_path / "old.json"
    target.write_text("precious")
    code, _, err = run("tally", good, "-o", target)
    assert code == 4 and "--force" in err and target.read_text() == "precious"
    assert run("tally", good, "-o", target, "--force")[0] == 0
    assert isinstance(spagree.load(target), spagree.Tally)


def test_marked_spans_are_recognised(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "marks.csv"
    spagree.simulate(spans=True, items=30, annotators=4, seed=1).frame.write_csv(path)
    named = run("score", path, "--format", "spans", "--json")
    code, out, said = run("score", path, "--json")
    assert (code, out) == named[:2] and json.loads(out)["spans"]["exact"]["value"] > 0
    assert said.startswith("These are marked spans, not classes: measured as with --format spans.")
    assert run("items", "--", path)[1] == run("items", path, "--format", "spans")[1]
    assert run("score", path, "--format", "long")[0] == 3  # what was said is done
    with pytest.raises(spagree.SpansError, match="measure_spans"):
        spagree.measure(path)


def test_simulate_writes_what_it_says(run: Run, tmp_path: Path) -> None:
    target = tmp_path / "drawn.csv"
    code, out, _ = run(
        "simulate", "-o", target, "--items", 50, "--per-item", "2:4", "--quality", "0.7:1.0", "--seed", 3
    )
    same = spagree.simulate(items=50, per_item=(2, 4), quality=(0.7, 1.0), seed=3)
    assert code == 0 and f"{same.frame.height} annotations" in out and f"{same.truth:.3f}" in out
    assert spagree.measure(target).spa == spagree.measure(same.frame).spa
    assert run("simulate", "-o", target)[0] == 4
    marks = spagree.simulate(items=50, spans=True)
    code, out, _ = run("simulate", "-o", target, "--items", 50, "--spans", "--force")
    assert code == 0 and f"{marks.frame['start'].count()} marks" in out and f"{marks.truth:.3f}" in out
    assert spagree.measure_spans(target).exact == spagree.measure_spans(marks.frame).exact


def test_examples_are_listed_and_scored(run: Run) -> None:
    names = [line.split()[0] for line in run("examples")[1].splitlines() if not line.startswith(" ")]
    assert {"fleiss1971", "krippendorff2011", "sparse", "adaptive"} <= set(names)
    for name in names:
        layout = "spans" if name == "spans" else "auto"
        assert run("score", f"example:{name}", "--format", layout)[0] == 0
    assert run("score", "example:flies")[0] == 2


@pytest.mark.parametrize("command", ["", "score", "items", "tally", "merge", "simulate", "examples"])
def test_help_reads_well(run: Run, command: str) -> None:
    code, out, _ = run(*[command] if command else [], "--help")
    cut = [line for line in out.splitlines() if line.endswith("...") and "Usage" not in line]
    assert code == 0 and "Usage: spagree" in out and cut == []


# Whole processes: signals, pipes, start-up ----------------------------------------------------


def test_standard_input_and_several_files(tmp_path: Path, good: Path) -> None:
    typed = good.read_text()
    done = subprocess.run([*SPAGREE, "score", "-", "--json"], input=typed, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["spa"] == json.loads(spagree.measure(good).to_json())["spa"]
    written(tmp_path / "b1.csv", *ROWS[:3])
    written(tmp_path / "b2.csv", *ROWS[3:])
    for sources in (["b1.csv", "b2.csv"], ["b*.csv"]):
        command = [*SPAGREE, "score", *sources, "--json"]
        done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
        assert json.loads(done.stdout)["spa"]["value"] == 0.75
    closed = bash("score - <&-")
    assert closed.returncode == 4 and b"Traceback" not in closed.stderr


def wait_until_it_imports(process: int, library: str) -> None:
    """Look at what the process has mapped, for as long as a busy machine may need."""
    end = time.monotonic() + 300
    while library not in Path(f"/proc/{process}/maps").read_text():
        assert time.monotonic() < end, f"{library} was never imported"
        time.sleep(0.02)


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="looks at /proc to see how far the command is")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_interrupts_leave_no_file(tmp_path: Path, number: signal.Signals, code: int) -> None:
    target = tmp_path / "large.parquet"
    command = [*SPAGREE, "simulate", "-o", str(target), "--items", "3000000", "--per-item", "5"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=tmp_path) as running:
        wait_until_it_imports(running.pid, "polars")  # the command itself runs now
        running.send_signal(number)
        errors = running.communicate(timeout=300)[1]
    assert running.returncode in (code, -number) and "Traceback" not in errors  # -number: by the signal itself
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("signalled", "code"), [(KeyboardInterrupt(), 130), (SystemExit(143), 143), (None, 130)])
def test_a_signal_that_duckdb_turns_into_an_error_is_an_interrupt(
    signalled: BaseException | None, code: int, run: Run, good: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit code 1 would say that the gate was not met."""

    def interrupted(*_: object, **__: object) -> None:
        raise RuntimeError("Query interrupted") from signalled

    monkeypatch.setattr("spagree.cli.score.measured", interrupted)
    assert run("score", good) == (code, "", "")


def test_an_interrupt_that_a_library_swallows_still_ends_with_130(
    run: Run, good: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    measure = spagree.measure

    def swallowing(*_: object, **__: object) -> spagree.Agreement:
        with suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        return measure(good)

    monkeypatch.setattr("spagree.cli.score.measured", swallowing)
    monkeypatch.setattr("spagree.cli.app._stopped_by", [])
    signal.signal(signal.SIGINT, signal.default_int_handler)  # as in a new process, whatever ran here before
    assert run("score", good)[0] == 130


def test_alone_it_prints_its_help_and_a_file_alone_is_led_to_score(run: Run, good: Path) -> None:
    code, out, err = run()
    assert (code, err) == (0, "") and out.startswith("Usage: spagree")
    code, out, err = run(good, "--json")
    assert (code, out) == (2, "") and f"spagree score {good} --json" in err


def test_what_to_do_next_names_the_question_and_a_saved_tally(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [
        f"h{item},{who},Approved,m{item * place % 3},t{(item + place) % 2}"
        for item in range(30)
        for place, who in enumerate("abcde")
    ]
    written(Path("batch.csv"), *rows, header="HITId,WorkerId,AssignmentStatus,Answer.mood,Answer.topic")
    questions = run.json("score", "batch.csv", "--all-questions")["questions"]
    commands = [step["command"] for document in questions.values() for step in document["next"]]
    run("tally", "batch.csv", "--question", "mood", "-o", "counts.json")
    commands += [step["command"] for step in run.json("score", "counts.json")["next"]]
    assert len(commands) > 1
    for command in commands:
        assert run(*shlex.split(command)[1:])[0] == 0, command
