"""The next steps in words: every command runs on the data that it is for, and says the same everywhere."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

import planted
import spagree
from command import Run
from spagree.present.next_steps import Source
from spagree.read.examples import EXAMPLES
from test_shared_data import FOLDER

SHARED = {"mbic_label": (), "rte": (), "convabuse": (), "popquorn_offensiveness": (), "hitspam_mturk": (), "web": ()}
SHARED |= {"varierr_nli": ("--duplicates", "set")}


def steps_run(source: str, options: tuple[str, ...], run: Run) -> list[str]:
    """The codes of the steps, after their commands have been run."""
    code, out, err = run("score", source, "--json", *options)
    assert code in (0, 3), err
    steps = json.loads(out)["next"]
    assert 0 < len(steps) <= 3
    for step in steps:
        words = shlex.split(step["command"])
        code, out, err = run(*words[1:])
        assert words[0] == "spagree" and (code == 0 or "no item has two annotations" in out + err), step["command"]
        assert any(digit in step["evidence"] for digit in "0123456789") or "None of" in step["evidence"]
    return [step["code"] for step in steps]


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_every_command_runs_on_every_example(name: str, run: Run) -> None:
    options = {"dawid-skene": ("--duplicates", "first"), "spans": ("--format", "spans")}.get(name, ())
    assert steps_run(f"example:{name}", options, run)


@pytest.mark.parametrize("code", planted.PLANTED)
def test_every_command_runs_on_planted_findings(code: str, tmp_path: Path, run: Run) -> None:
    rows = planted.PLANTED[code](1)
    header = ("item", "annotator", "label", "time")[: len(rows[0])]
    path = tmp_path / "my labels.csv"
    path.write_text("\n".join(",".join(map(str, row)) for row in [header, *rows]) + "\n")
    assert steps_run(str(path), (), run)[0] == code
    assert steps_run(str(path), ("--weights", "edge", "--exclude-annotator", "p7"), run)


@pytest.mark.skipif(not FOLDER.exists(), reason="the real data sets are not here")
@pytest.mark.parametrize("name", SHARED)
def test_every_command_runs_on_real_data(name: str, run: Run) -> None:
    assert steps_run(str(FOLDER / f"{name}.csv.gz"), SHARED[name], run)


def test_the_truth_of_real_data_is_the_first_step() -> None:
    if not FOLDER.exists():
        pytest.skip("the real data sets are not here")
    first = {name: spagree.measure(FOLDER / f"{name}.csv.gz").next_steps[0] for name in ("rte", "hitspam_mturk", "web")}
    assert set(first["rte"].names) == {"8", "9", "5", "7"} and "0.776" in first["rte"].evidence
    assert first["hitspam_mturk"].code == "one_label" and "46% of the annotations" in first["hitspam_mturk"].evidence
    assert first["web"].code == "scale" and first["web"].command.endswith("--metric ordinal")


def test_a_command_repeats_the_options_that_were_given() -> None:
    source = Source("a b.csv", {"item": ["doc", "part"], "where": {"language": "en"}, "header": False, "level": 0.9})
    assert source.command("classes", "") == (
        "spagree classes 'a b.csv' --item 'doc' --item 'part' --where 'language=en' --no-header --level 0.9"
    )
    assert (
        Source("a.csv", {"weights": {2: 1, 3: 1.5}}).command("score", "") == "spagree score a.csv --weights 2=1,3=1.5"
    )
    assert Source("a.csv", {"weights": max, "config": True}).command("score", "") == "spagree score a.csv"
    assert Source("postgresql://me:secret@db/x", {"query": "select 1"}).command("items", "agreement.items()") == (
        "agreement.items()"
    )


def test_at_most_three_and_the_same_in_python_json_and_notebook() -> None:
    agreement = spagree.measure(planted.odd(3))
    steps = agreement.next_steps
    told = agreement.to_dict()["next"]
    assert 0 < len(steps) <= 3
    assert [(step.code, step.sentence, step.evidence, step.command) for step in steps] == [
        (each["code"], each["sentence"], each["evidence"], each["command"]) for each in told
    ]
    assert all(step.sentence in agreement._repr_html_() for step in steps)


def test_the_steps_of_a_group_are_those_of_the_group_measured_alone(tmp_path: Path, run: Run) -> None:
    path = tmp_path / "labels.csv"
    rows = [("en", *row[:3]) for row in planted.odd(3)] + [
        ("de", f"x{row[0]}", *row[1:3]) for row in planted.nothing(4)
    ]
    path.write_text("\n".join(map(",".join, [("language", "item", "annotator", "label"), *rows])) + "\n")
    found = json.loads(run("score", str(path), "--by", "language", "--json")[1])["groups"]
    for name, group in found.items():
        alone = run("score", str(path), "--where", f"language={name}", "--interval-for", "items", "--json")[1]
        told = [
            {**step, "command": step["command"].replace(" --interval-for items", "")}
            for step in json.loads(alone)["next"]
        ]
        assert group["next"] == told and group["verdict"] == json.loads(alone)["verdict"]
        assert all(run(*shlex.split(step["command"])[1:])[0] == 0 for step in group["next"])
    assert Source("a.csv", {}).within("a=b", "c").command("items", "agreement.items()") == "agreement.items()"
    assert found["en"]["next"][0]["code"] == "annotators" and found["de"]["next"][0]["code"] != "annotators"


def test_classes_are_no_step_where_one_label_makes_the_confusion() -> None:
    steps = spagree.measure(planted.one_label(3)).next_steps
    assert steps[0].code == "one_label"
    assert all("c" not in step.names for step in steps if step.code == "classes")  # what the two always give


def test_neighbours_on_a_scale_are_no_finding() -> None:
    """They are always confused more often than by chance."""
    agreement = spagree.measure(planted.scale(3), metric="ordinal")
    assert not agreement.confusion()["more"].any()
    assert "often confused" not in agreement.verdict.sentence


def test_a_command_begins_with_its_step_and_lists_whom_it_names(tmp_path: Path, run: Run) -> None:
    path = tmp_path / "labels.csv"
    path.write_text("\n".join(map(",".join, [("item", "annotator", "label"), *planted.one_label(3)])) + "\n")
    step = spagree.measure(path).next_steps[0]
    out = run("annotators", str(path))[1].splitlines()
    assert out[0].startswith(f"{step.sentence} {step.evidence}")
    assert {name for line in out[2:4] for name in line.split() if name in step.names} == set(step.names)
