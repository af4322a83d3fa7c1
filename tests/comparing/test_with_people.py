"""A model's own file beside the people's: read as theirs is where that fits, spelled as theirs is, nothing dropped."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

import spagree
from command import Run
from spagree.errors import ColumnError, DataError

PEOPLE = [(f"q{n}", who, "yes" if (n + (who == "cyd" and n % 4 == 0)) % 2 else "no") for n in range(12)
          for who in ("ann", "bob", "cyd")]  # fmt: skip

WIDE = [("yes", "yes"), ("yes", "no"), ("no", "no")]


def write(path: Path, header: str, rows: list[tuple[str, ...]]) -> Path:
    path.write_text("\n".join([header, *map(",".join, rows)]) + "\n", encoding="utf-8")
    return path


def truth(labels: dict[str, str]) -> tuple[Fraction, Fraction]:
    """How often people agree with the model, and with each other, on the items it labelled."""
    by_item: dict[str, list[str]] = {}
    for item, _, label in PEOPLE:
        if item in labels:
            by_item.setdefault(item, []).append(label)
    mine = [Fraction(sum(each == labels[item] for each in given), len(given)) for item, given in by_item.items()]
    theirs = [Fraction(sum(a == b for a, b in combinations(given, 2)), 3) for given in by_item.values()]
    return sum(mine, Fraction()) / len(mine), sum(theirs, Fraction()) / len(theirs)


def found_with(path: Path, **options: Any) -> Any:
    return spagree.compare(PEOPLE, model={"gpt": path}, **options)


def test_items_that_only_the_model_labelled_are_counted(tmp_path: Path) -> None:
    labels = {f"q{n}": "yes" for n in range(3, 12)}
    path = write(tmp_path / "gpt.csv", "item,label", [*labels.items(), ("z1", "no"), ("z2", "no")])
    model = found_with(path).models["gpt"]
    assert model.left_out == {"no_model_label": 3, "no_people": 2}
    mine, theirs = truth(labels)
    assert model.with_humans.value == pytest.approx(float(mine))
    assert model.humans.value == pytest.approx(float(theirs))


def test_labels_that_only_the_model_gives_are_named(tmp_path: Path, run: Run) -> None:
    labels = {f"q{n}": "I cannot answer" if n < 3 else "yes" if n < 9 else "no" for n in range(12)}
    path = write(tmp_path / "gpt.csv", "item,label", list(labels.items()))
    people = write(tmp_path / "people.csv", "item,annotator,label", PEOPLE)
    code, _, err = run("compare", people, "--model", path)
    assert code == 0 and "labels that no person gave, which count as disagreement: 'I cannot answer' ×3" in err
    assert "leave them out with --missing 'I cannot answer'" in err
    # the remedy, as it is written
    code, out, err = run("compare", people, "--model", path, "--missing", "I cannot answer", "--json")
    [model] = json.loads(out)["models"].values()
    mine, _ = truth({item: label for item, label in labels.items() if label != "I cannot answer"})
    assert code == 0 and not err and model["with_humans"]["value"] == pytest.approx(float(mine))


def test_other_spellings_and_partial_credit_are_not_labels_of_the_model_only(tmp_path: Path) -> None:
    path = write(tmp_path / "gpt.csv", "item,label", [(f"q{n}", ["YES", "no"][n % 2]) for n in range(12)])
    assert [each.code for each in found_with(path).warnings] == ["label_variants"]
    stars = [(f"q{n}", who, str(n % 3)) for n in range(12) for who in ("ann", "bob")]
    path = write(tmp_path / "stars.csv", "item,label", [(f"q{n}", str(3 + n % 2)) for n in range(12)])
    assert not spagree.compare(stars, model={"gpt": path}, metric="interval").warnings


def test_columns_that_cannot_be_guessed_are_to_be_renamed(tmp_path: Path, run: Run) -> None:
    """Naming them with --label would refuse the people's file."""
    people = write(tmp_path / "people.csv", "item,annotator,label", PEOPLE)
    path = tmp_path / "gpt.jsonl"
    path.write_text("".join(json.dumps({"id": f"q{n}", "prediction": "yes"}) + "\n" for n in range(12)))
    code, _, err = run("compare", people, "--model", path)
    assert code == 3 and "columns: 'id', 'prediction'" in err and "--label" not in err
    assert "call its columns item and label" in err
    path.write_text(path.read_text().replace("prediction", "label").replace('"id"', '"item"'))
    code, out, _ = run("compare", people, "--model", path)
    assert code == 0 and "with people" in out


def test_runs_in_the_columns_of_a_wide_table(tmp_path: Path) -> None:
    people = write(tmp_path / "people.csv", "id,ann,bob", [(f"q{n}", *WIDE[n % 3]) for n in range(6)])
    path = write(tmp_path / "gpt.csv", "id,first,second", [(f"q{n}", "yes", "no" if n else "yes") for n in range(6)])
    model = spagree.compare(people, model={"gpt": path}, format="wide").models["gpt"]
    # of two people, these agree with "yes": 2, 1, 0, 2, 1, 0; with the second run: 2 (yes), then 1, 2, 0, 1, 2
    assert model.runs == 2 and model.with_humans.value == pytest.approx((6 + 8) / 24)
    assert model.self_agreement is not None and model.self_agreement.value == pytest.approx(1 / 6)


def test_a_plain_table_is_not_read_as_wide_as_the_peoples(tmp_path: Path) -> None:
    """Its confidence is not a second run."""
    people = write(tmp_path / "people.csv", "id,ann,bob", [(f"q{n}", *WIDE[n % 3]) for n in range(6)])
    path = write(tmp_path / "gpt.csv", "id,label,confidence", [(f"q{n}", "yes", "0.9") for n in range(6)])
    assert spagree.compare(people, model={"gpt": path}, format="wide").models["gpt"].runs == 1


def task(item: int, *given: tuple[int, str, int]) -> dict[str, Any]:
    def result(name: str, kind: str, value: Any) -> dict[str, Any]:
        return {"from_name": name, "to_name": "text", "type": kind, "value": {kind: value}}

    annotations = [
        {"id": 100 * item + who, "completed_by": who,
         "result": [result("mood", "choices", [mood]), result("stars", "rating", stars)]}
        for who, mood, stars in given
    ]  # fmt: skip
    return {"id": item, "data": {"text": f"text {item}"}, "annotations": annotations}


def test_an_export_of_the_model_is_asked_the_same_question(tmp_path: Path, run: Run) -> None:
    people, path = tmp_path / "people.json", tmp_path / "gpt.json"
    people.write_text(json.dumps([task(n, (1, "Good", 3), (2, "Good" if n % 2 else "Bad", 4)) for n in range(1, 7)]))
    path.write_text(json.dumps([task(n, (9, "Good", 1)) for n in range(1, 7)]))
    code, out, _ = run("compare", people, "--question", "mood", "--model", path, "--json")
    [model] = json.loads(out)["models"].values()
    assert code == 0 and model["labels"] == {"Good": 6}


def test_sets_of_a_model_are_split_where_only_the_peoples_show_the_separator(tmp_path: Path) -> None:
    """By itself the model's file does not show that ; separates options."""
    rows = [(f"q{n}", who, "a;b" if n % 2 else "b") for n in range(12) for who in ("ann", "bob")]
    rows += [("q0", "cyd", "a"), ("q1", "cyd", "b;a")]
    path = write(tmp_path / "gpt.csv", "item,label", [(f"q{n}", "b;a" if n % 2 else "c") for n in range(12)])
    apart = spagree.compare(rows, model={"gpt": path}, metric="jaccard")
    inside = spagree.compare(
        rows + [(f"q{n}", "gpt", "b;a" if n % 2 else "c") for n in range(12)], model="gpt", metric="jaccard"
    )
    assert apart.to_dict() == inside.to_dict()


def test_a_model_without_a_label_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "gpt.csv", "item,label", [("q1", ""), ("q2", "")])
    with pytest.raises(DataError, match="no row has an item and a label"):
        found_with(path)


def test_counts_of_a_model_are_refused(tmp_path: Path) -> None:
    people = write(tmp_path / "people.csv", "item,annotator,label", PEOPLE)
    path = write(tmp_path / "gpt.csv", "item,yes,no", [("q1", "0.9", "0.1"), ("q2", "0.2", "0.8")])
    with pytest.raises(ColumnError, match="call its columns item and label"):
        spagree.compare(people, model={"gpt": path})


def test_a_model_of_other_items_is_no_comparison(tmp_path: Path, run: Run) -> None:
    people = write(tmp_path / "people.csv", "item,annotator,label", PEOPLE)
    path = write(tmp_path / "gpt.csv", "item,label", [(f"x{n}", "yes") for n in range(12)])
    code, out, err = run("compare", people, "--model", path)
    assert code == 3 and "no item has a label of the model and two people" in err
    assert "Left out: 12 items that only the model labelled." in out and "0 items" not in out
