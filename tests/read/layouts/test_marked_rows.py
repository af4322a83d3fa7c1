"""Control questions and withdrawn annotations: named, with options that leave exactly them out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars
import pytest

import spagree
from spagree.agreement import Agreement

ITEMS = 10
LABELS = {n: ("a", "a", "a") if n % 5 == 0 else ("a", "b", "b" if n % 2 else "c") for n in range(ITEMS)}
WITHOUT = {n: labels for n, labels in LABELS.items() if n % 5}
AGREEMENT = sum(len(labels) - len(set(labels)) for labels in WITHOUT.values()) / (3 * len(WITHOUT))


def table(column: str, marks: Callable[[int], object]) -> polars.DataFrame:
    rows = [
        {"item": str(n), "annotator": who, "label": label, column: marks(n)}
        for n, labels in LABELS.items()
        for who, label in zip(("ann", "bob", "cyd"), labels, strict=True)
    ]
    return polars.DataFrame(rows)


def told(found: Agreement) -> dict[str, str]:
    return {each.code: each.message for each in found.warnings}


def asked(message: str) -> list[str]:
    """The conditions that a message proposes."""
    return message.partition("where=")[2].split('"')[1::2]


@pytest.mark.parametrize(
    ("column", "on", "off"),
    [
        ("is_gold", "True", "False"),
        ("_golden", "true", "false"),
        ("gold", "1", "0"),
        ("is_test", "yes", "no"),
        ("golden_label", "a", None),
        ("Gold", "b", None),
        ("attention_check", "x", None),
    ],
)
def test_control_questions_are_named_and_can_be_left_out(column: str, on: str, off: str | None, tmp_path: Path) -> None:
    path = tmp_path / "votes.csv"
    table(column, lambda n: on if n % 5 == 0 else off).write_csv(path)
    message = told(spagree.measure(path))["control_questions"]
    assert "(6 of the first 30)" in message
    found = spagree.measure(path, where=asked(message))
    assert found.spa.value == pytest.approx(AGREEMENT) and found.data.annotations == 24
    assert "control_questions" not in told(found)


@pytest.mark.parametrize("kind", ["frame", "pandas", "parquet", "json"])
def test_the_remedy_works_where_the_marks_are_booleans(kind: str, tmp_path: Path) -> None:
    frame, path = table("is_gold", lambda n: n % 5 == 0), tmp_path / f"votes.{kind}"
    if kind == "parquet":
        frame.write_parquet(path)
    elif kind == "json":
        frame.write_ndjson(path)
    source = {"frame": frame, "pandas": frame.to_pandas()}.get(kind, path)
    message = told(spagree.measure(source))["control_questions"]
    spellings = () if kind == "json" else ("is_gold=false", "is_gold=False", "is_gold!=True")
    for condition in (*asked(message), *spellings):
        assert spagree.measure(source, where=condition).spa.value == pytest.approx(AGREEMENT), condition


@pytest.mark.parametrize("column", ["gold", "gold_label"])
def test_a_known_answer_to_every_item_marks_nothing(column: str) -> None:
    assert "control_questions" not in told(spagree.measure(table(column, lambda n: "ab"[n % 2])))


def test_several_other_states_stay(tmp_path: Path) -> None:
    states = ["draft", "submitted", "approved", "skipped", None]
    path = tmp_path / "votes.csv"
    table("status", lambda n: states[n % 5]).write_csv(path)
    message = told(spagree.measure(path))["withdrawn"]
    assert asked(message) == ["status!=draft", "status!=skipped"]
    kept = [n for n in range(ITEMS) if n % 5 in (1, 2, 4)]
    assert spagree.measure(path, where=asked(message)).data.items == len(kept)


@pytest.mark.parametrize("tool", ["appen", "toloka"])
def test_control_questions_of_an_export_are_named_and_can_be_left_out(tool: str, tmp_path: Path) -> None:
    columns = {
        "appen": ["_unit_id", "_worker_id", "answer", "_golden"],
        "toloka": ["INPUT:text", "ASSIGNMENT:worker_id", "OUTPUT:answer", "GOLDEN:answer"],
    }
    marks = {"appen": ("true", "false"), "toloka": ("a", "")}[tool]
    frame = table("gold", lambda n: marks[n % 5 > 0])
    path = tmp_path / "export.csv"
    frame.rename(dict(zip(frame.columns, columns[tool], strict=True))).write_csv(path)
    kept = spagree.measure(path)
    assert kept.data.annotations == 30 and 'ground_truth="drop"' in told(kept)["control_questions"]
    assert told(kept)["control_questions"].startswith("6 annotations")
    found = spagree.measure(path, ground_truth="drop")
    assert found.spa.value == pytest.approx(AGREEMENT) and "control_questions" not in told(found)


@pytest.mark.parametrize(("column", "kept", "gone"), [("Finished", "True", "False"), ("Status", "IP Address", "Spam")])
def test_unfinished_answers_and_previews_of_a_survey_are_named(
    column: str, kept: str, gone: str, tmp_path: Path
) -> None:
    header = [column, "ResponseId", *(f"Q{n}" for n in range(6))]
    rows = [[kept, f"R_{n}", *("yes" if (n + k) % 3 else "no" for k in range(6))] for n in range(8)]
    paths = [tmp_path / name for name in ("all.csv", "finished.csv")]
    for path, more in zip(paths, ([[gone, "R_9", *["no"] * 6]], []), strict=True):
        path.write_text("\n".join(",".join(row) for row in [header, *rows, *more]) + "\n", encoding="utf-8")
    message = told(spagree.measure(paths[0]))["unfinished"]
    assert "1 of the first 9 rows" in message
    found, wanted = spagree.measure(paths[0], where=asked(message)), spagree.measure(paths[1])
    assert found.spa.value == wanted.spa.value and found.data.annotations == wanted.data.annotations == 48
    assert "unfinished" not in told(found) and "unfinished" not in told(wanted)
