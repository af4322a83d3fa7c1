"""compare() on any source: laws, splits by time, models as annotators and as files."""

from __future__ import annotations

import json
from datetime import datetime
from math import hypot
from pathlib import Path

import numpy as np
import polars
import pytest

import spagree
from spagree.comparing import names_of
from spagree.estimate.comparison import p_of


def rows(seed: int, items: int = 60, people: int = 6, care: float = 0.7, start: int = 0) -> list[tuple[int, str, str]]:
    rng = np.random.default_rng(seed)
    found = []
    for item in range(start, start + items):
        chosen = rng.choice(people, rng.integers(1, 5), replace=False).tolist()
        found += [
            (item, f"p{person}", str(item % 3) if rng.random() < care else str(rng.integers(3))) for person in chosen
        ]
    return found


A, B = rows(1), rows(2, care=0.85, start=30)


@pytest.mark.parametrize("weights", [*spagree.SCHEMES, {n: float(n) for n in range(2, 6)}], ids=str)
@pytest.mark.parametrize("population", ["items", "annotators"])
def test_the_same_data_do_not_differ(weights: object, population: str) -> None:
    found = spagree.compare(A, A, weights=weights, interval_for=population)
    assert found.verdict == "the_same" and found.difference.interval_for == population
    for each in (found.difference, found.kappa_difference):
        assert (each.value, each.stderr, each.low, each.high) == (0, 0, 0, 0)


def test_the_same_is_said_of_the_same_annotations_only() -> None:
    assert spagree.compare(spagree.tally(A), spagree.tally(A)).verdict == "the_same"
    assert spagree.compare(spagree.count_items(A), spagree.count_items(A)).verdict == "the_same"
    floats = polars.DataFrame(A, schema=["item", "annotator", "label"], orient="row").cast({"item": polars.Float64})
    assert spagree.compare(A, floats).verdict == "the_same"
    assert "are the same" in str(spagree.compare(A, A)) and "enough data" not in str(spagree.compare(A, A))
    alike = [(item, who, "x") for item in range(30) for who in ("ann", "bob", "cyd", "dan")]
    assert spagree.compare(alike, alike).verdict == "the_same"
    # nobody disagrees on these other items either, but thirty of them do not prove that nobody will
    others = spagree.compare(alike, [(item + 100, who, label) for item, who, label in alike])
    assert others.verdict == "cannot_tell" and others.difference.high > 0.05
    moved = spagree.compare(A, [(item + 1000, who, label) for item, who, label in A])
    assert moved.difference.value == 0 and moved.verdict == "cannot_tell"


def test_agreement_that_rises_because_one_label_does_is_not_called_better() -> None:
    """Everybody gives the right answer in four of five cases; only how often each answer is right changes."""

    def labelled(share: float, seed: int, start: int) -> list[tuple[int, str, str]]:
        rng = np.random.default_rng(seed)
        right = rng.random(500) < share
        guess = lambda: rng.random() < share  # noqa: E731
        return [
            (start + item, f"p{who}", str(bool(right[item] if rng.random() < 0.8 else guess())))
            for item in range(500)
            for who in rng.choice(6, 3, replace=False)
        ]

    even, skewed = labelled(0.5, 1, 0), labelled(0.9, 2, 500)
    found = spagree.compare(even, skewed, names=("even", "skewed"))
    assert found.difference.low > 0.05 and found.pairs[0].p_holm < 0.01
    assert found.verdict == found.to_dict()["verdict"] == "label_mix"
    assert found.pairs[0].due_to_labels == pytest.approx(found.difference.value, abs=0.03)
    assert "shows more agreement than even" in str(found) and "nothing shows that people agree better" in str(found)
    back = spagree.compare(skewed, even)
    assert back.verdict == "label_mix" and "agree worse" in str(back)
    assert spagree.compare(even, [(item, who, "True") for item, who, _ in skewed]).verdict == "label_mix"


def test_the_interval_for_other_annotators_decides_where_it_exists() -> None:
    found = spagree.compare(A, B)
    assert found.difference.interval_for == found.kappa_difference.interval_for == "annotators"
    both = found.difference.intervals
    assert both["annotators"].low < both["items"].low < both["items"].high < both["annotators"].high
    assert f"{found.difference.low:.3f}" in repr(found) and "These annotators, on new items: " in str(found)
    forced = spagree.compare(A, B, interval_for="items")
    assert forced.difference.low == both["items"].low and "for these annotators, p" in forced.sentences()[0]
    three = [[row for row in rows(seed, people=5) if row[1] in ("p0", "p1", "p2")] for seed in (1, 2)]
    few = spagree.compare(*three)
    assert few.difference.interval_for == "items"
    reason = "three annotators cannot show how annotators differ; that takes four"
    assert few.difference.intervals["annotators"].undefined == reason
    assert f"Other annotators: not known: {reason}." in " ".join(str(few).split())
    refused = spagree.compare(*three, interval_for="annotators")
    assert refused.difference.low is None and refused.difference.undefined == reason
    assert refused.verdict == "cannot_tell"
    tallies = spagree.compare(spagree.tally(A), spagree.tally(B))
    assert tallies.difference.interval_for == "annotators"
    assert tallies.difference.stderr == pytest.approx(hypot(*(side.headline.stderr for side in tallies.sides)))
    counts = spagree.compare(spagree.count_items(A), spagree.count_items(B))
    assert counts.difference.interval_for == "items"
    assert "Different people may explain a difference" in " ".join(str(counts).split())


def test_more_annotations_than_a_score_looks_through_are_compared_in_full(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = spagree.compare(A, B)
    for module in ("estimate.breakdowns", "measuring", "counts.fetch"):
        monkeypatch.setattr(f"spagree.{module}.MOST_TO_FETCH", 10)
    found = spagree.compare(A, B).difference
    assert (found.interval_for, found.low) == ("annotators", pytest.approx(whole.difference.low))
    monkeypatch.setattr("spagree.comparing.sides.MOST_AT_HOME", 20)
    assert spagree.compare(A, B).difference.low < found.low


@pytest.mark.parametrize("metric", ["nominal", "ordinal"])
def test_swapped_sources_swap_the_signs(metric: str) -> None:
    forth, back = (spagree.compare(*pair, metric=metric) for pair in ((A, B), (B, A)))
    for one, other in ((forth.difference, back.difference), (forth.kappa_difference, back.kappa_difference)):
        for population in ("items", "annotators"):
            mine, theirs = one.intervals[population], other.intervals[population]
            assert (mine.low, mine.high, mine.stderr) == pytest.approx((-theirs.high, -theirs.low, theirs.stderr))
        assert one.value == -other.value
    assert forth.shared_items == back.shared_items > 0


def test_values_are_those_of_measure() -> None:
    found = spagree.compare(A, B, level=0.9)
    one, other = spagree.measure(A, level=0.9), spagree.measure(B, level=0.9)
    assert found.difference.value == other.spa.value - one.spa.value
    assert (
        found.kappa_difference.value
        == other.chance["krippendorff_alpha"].value - one.chance["krippendorff_alpha"].value
    )
    assert found.sides[0].headline == one.spa and found.difference.level == 0.9


def test_shared_items_meet_whatever_they_are_written_in(tmp_path: Path) -> None:
    path = tmp_path / "b.csv"
    path.write_text("item,annotator,label\n" + "".join(f"{i},{a},{x}\n" for i, a, x in B))
    frame = polars.DataFrame(A, schema=["item", "annotator", "label"], orient="row")
    floats = frame.with_columns(polars.col("item").cast(polars.Float64))
    triples, mixed, cast = spagree.compare(A, B), spagree.compare(frame, path), spagree.compare(floats, path)
    assert triples.shared_items == mixed.shared_items == cast.shared_items
    assert triples.difference.low == pytest.approx(mixed.difference.low)
    assert triples.pairs[0].shared_annotators == 6


def test_tallies_and_counts_can_be_compared(tmp_path: Path) -> None:
    tallies = spagree.compare(spagree.tally(A), spagree.tally(B))
    whole = spagree.compare(A, B)
    assert tallies.difference.value == whole.difference.value and tallies.shared_items is None
    assert "usually narrower" in str(tallies) and tallies.difference.interval_for == "annotators"
    spagree.save(spagree.tally(A), tmp_path / "a.json")
    assert spagree.compare(tmp_path / "a.json", B).difference.value == whole.difference.value
    counts = spagree.compare(spagree.count_items(A), spagree.count_items(B))
    assert counts.shared_items == whole.shared_items
    assert counts.difference.intervals["items"].low == pytest.approx(whole.difference.intervals["items"].low)
    unknown = spagree.compare(A, spagree.count_items(B), interval_for="annotators")
    assert unknown.difference.low is None and "who annotated" in unknown.difference.undefined


def test_three_sources_are_compared_two_by_two() -> None:
    found = spagree.compare(A, B, rows(3, care=0.3), names=("one", "two", "three"))
    document = json.loads(found.to_json())
    assert [(pair["a"]["name"], pair["b"]["name"]) for pair in document["pairs"]] == [
        ("one", "two"),
        ("one", "three"),
        ("two", "three"),
    ]
    plain = sorted(p_of(pair.difference) for pair in found.pairs)
    assert min(pair.p_holm for pair in found.pairs) == pytest.approx(min(1, 3 * plain[0]))
    assert [pair.b.name for pair in found.against_first()] == ["two", "three"]
    assert "all 3 differences (Holm)" in str(found) and "three" in repr(found) and "<p>" in found._repr_html_()


def test_json_of_two() -> None:
    document = spagree.compare(A, B, names=("first", "second")).to_dict()
    assert document["a"]["name"] == "first" and document["b"]["spa"]["value"] > document["a"]["spa"]["value"]
    assert document["verdict"] == "agrees_more" and document["difference"]["low"] > 0
    assert set(document["difference"]["intervals"]) == {"items", "annotators"}


def test_nothing_pairable_is_explained() -> None:
    alone = [(1, "ann", "yes"), (2, "bob", "no")]
    found = spagree.compare(A, alone)
    assert found.difference.value is None and "cannot be compared" in str(found)
    assert found.to_dict()["difference"] == {"value": None, "undefined": found.difference.undefined}


def test_names() -> None:
    assert names_of(["x/a.csv", "b.csv"]) == ["a.csv", "b.csv"]
    assert names_of(["a.csv", "a.csv"]) == ["1: a.csv", "2: a.csv"]
    assert names_of([[], []]) == ["A", "B"]
    for wrong in (("one",), ("one", "one")):
        with pytest.raises(spagree.UsageError, match="a different name"):
            spagree.compare(A, B, names=wrong)
    with pytest.raises(spagree.UsageError, match="two sources or more"):
        spagree.compare(A)
    with pytest.raises(spagree.UsageError, match="interval_for"):
        spagree.compare(A, B, interval_for="people")


# By time -------------------------------------------------------------------------------------


def timed(kind: str) -> list[tuple[int, str, str, object]]:
    moments = {"number": (10.0, 20.0), "text": ("2024-04-30", "2024-05-02T10:00:00Z")}
    early, late = moments.get(kind, (datetime(2024, 4, 30), datetime(2024, 5, 2)))  # noqa: DTZ001
    return [(item, who, label, early if item < 45 else late) for item, who, label in A]


@pytest.mark.parametrize(("kind", "before"), [("number", 15), ("text", "2024-05-01"), ("datetime", "2024-05-01")])
def test_a_date_splits_a_source(kind: str, before: object, tmp_path: Path) -> None:
    whole = polars.DataFrame(timed(kind), schema=["item", "annotator", "label", "time"], orient="row")
    source: object = whole
    if kind == "text":
        source = tmp_path / "timed.csv"
        whole.write_csv(source)
    found = spagree.compare(source, before=before)
    early, late = ([row for row in A if (row[0] < 45) is first] for first in (True, False))
    parts = spagree.compare(early, late)
    assert found.difference.value == parts.difference.value
    assert found.difference.low == pytest.approx(parts.difference.low)
    assert [side.name for side in found.sides] == [f"before {before}", f"from {before}"]


def test_a_split_that_cannot_be_made_is_refused() -> None:
    stamped = timed("number")
    for source, before, error, words in (
        (A, 15, spagree.UsageError, "time of each annotation"),
        (stamped, "soon", spagree.UsageError, "neither a date nor a number"),
        (stamped, 5, spagree.DataError, "no annotation was made before 5"),
        ([*stamped, (1, "zoe", "1", None)], 15, spagree.DataError, "1 annotation has no time"),
    ):
        with pytest.raises(error, match=words):
            spagree.compare(source, before=before)
    dates = polars.DataFrame(timed("datetime"), schema=["item", "annotator", "label", "time"], orient="row")
    with pytest.raises(spagree.UsageError, match="the times are dates"):
        spagree.compare(dates, before=15)
    with pytest.raises(spagree.UsageError, match="one source"):
        spagree.compare(A, B, before=15)


# Models --------------------------------------------------------------------------------------

BOT = [(item, "bot", str(item % 3)) for item in range(60)]


def test_a_model_is_an_annotator_or_a_separate_table(tmp_path: Path) -> None:
    inside = spagree.compare([*A, *BOT], model="bot").models["bot"]
    path = tmp_path / "bot.csv"
    path.write_text("item,label\n" + "".join(f"{item},{label}\n" for item, _, label in BOT))
    outside = spagree.compare(A, model=str(path)).models[str(path)]
    mapped = spagree.compare(A, model={"bot": BOT}).models["bot"]
    for found in (outside, mapped):
        assert found.difference.value == inside.difference.value and found.verdict == inside.verdict == "better"
        assert found.items == inside.items and found.humans_count == 6
    named = tmp_path / "predictions.csv"
    named.write_text("id,prediction,label\n" + "".join(f"{item},x,{label}\n" for item, _, label in BOT))
    frame = polars.DataFrame(A, schema=["unit", "annotator", "answer"], orient="row")
    guessed = spagree.compare(frame, model=str(named), item="unit", label="answer")
    assert guessed.models[str(named)].difference.value == inside.difference.value


def test_runs_of_one_model() -> None:
    runs = [(item, f"gpt-{run}", label if run < 2 or item % 5 else "0") for item, _, label in BOT for run in range(3)]
    found = spagree.compare([*A, *runs], model="gpt-*").models["gpt-*"]
    assert found.runs == 3 and found.humans_count == 6
    assert found.self_agreement.value == pytest.approx(1 - 8 / 60 * 2 / 3)
    again = [(item, label) for item, _, label in runs]
    table = polars.DataFrame(again, schema=["item", "label"], orient="row")
    assert spagree.compare(A, model={"gpt": table}).models["gpt"].difference.value == found.difference.value
    assert "runs of the model agree" in str(spagree.compare([*A, *runs], model="gpt-*"))
    with pytest.raises(spagree.DataError, match="twice"):
        spagree.compare(A, model={"gpt": [*runs, runs[0]]})


def test_a_coin_is_worse_and_a_model_of_one_label_is_named() -> None:
    rng = np.random.default_rng(4)
    skewed = [(i, w, "yes" if int(x) else ("no" if i % 2 else "yes")) for i, w, x in rows(5, items=400, care=0.8)]
    bots = {
        "constant": [(item, "b", "yes") for item in range(400)],
        "random": [(item, "b", rng.choice(["yes", "no"])) for item in range(400)],
    }
    found = spagree.compare(skewed, model=bots)
    assert found.models["random"].verdict == found.to_dict()["models"]["random"]["verdict"] == "worse"
    assert [each.code for each in found.warnings] == ["model_of_one_label"]
    assert "constant gave one label only, 'yes'" in found.warnings[0].message
    assert "random agrees with people less" in repr(found) and "<p>" in found._repr_html_()


def test_other_models_are_left_out_of_the_people() -> None:
    """Claude and Gemma are people unless they have a number; decisions count, with the warning a score gives."""
    models = [(item, name, "0") for item in range(60) for name in ("gpt-4o", "claude-3", "llama-3-8b", "openai/gpt-5")]
    humans = [(item, name, str(item % 3)) for item in range(60) for name in ("Claude", "Gemma", "gold")]
    found = spagree.compare([*A, *humans, *models], model="gpt-4o")
    alone = spagree.compare([*A, *humans, *models[::4]], model="gpt-4o")
    assert found.to_dict() == alone.to_dict() and found.models["gpt-4o"].humans_count == 9
    (left_out,) = (each for each in found.warnings if each.code == "other_models_left_out")
    decisions, perhaps = (each for each in found.warnings if each.code == "not_a_person")
    assert left_out.message.startswith("'claude-3', 'llama-3-8b', 'openai/gpt-5': named like a model")
    assert decisions.message.startswith("'gold'") and perhaps.message.startswith("'Claude': the name of a model, and")
    both = spagree.compare([*A, *models[:2], *models[4:6]], model=["gpt-4o", "claude-3"])
    assert "other_models_left_out" not in [each.code for each in both.warnings]
    apart = spagree.compare([*A, *models], model={"bot": BOT})
    said = {each.code: each for each in apart.warnings}
    assert apart.models["bot"].humans_count == 6 and "'gpt-4o', " in said["other_models_left_out"].message
    with pytest.raises(spagree.DataError, match="everybody in the source is a model; add the labels of people"):
        spagree.compare(models, model="gpt-4o")


def test_the_interval_of_a_model_is_for_whom_it_is_asked() -> None:
    wide = spagree.compare([*A, *BOT], model="bot").models["bot"].difference
    narrow = spagree.compare([*A, *BOT], model="bot", interval_for="items").models["bot"].difference
    assert (wide.interval_for, narrow.interval_for) == ("annotators", "items")
    assert wide.value == narrow.value and wide.intervals == narrow.intervals and wide.low < narrow.low


def test_models_that_cannot_be_compared_are_refused() -> None:
    with pytest.raises(spagree.UsageError, match="did you mean 'bot'"):
        spagree.compare([*A, *BOT], model="bt")
    with pytest.raises(spagree.UsageError, match="the annotators of the source are unknown"):
        spagree.compare(spagree.count_items(A), model="bot")
    with pytest.raises(spagree.UsageError, match="a tally does not say"):
        spagree.compare(spagree.tally(A), model="bot")
    with pytest.raises(spagree.UsageError, match="margin"):
        spagree.compare([*A, *BOT], model="bot", margin=1)
    with pytest.raises(spagree.UsageError, match="one source"):
        spagree.compare(A, B, model="bot")


def test_charts_carry_the_figures() -> None:
    drawn = json.dumps(spagree.compare(A, B, names=("one", "two")).chart().to_dict())
    assert "two \\u2212 one" in drawn and "agreement" in drawn
    both = spagree.compare([*A, *BOT], model={"m1": BOT, "m2": BOT})
    assert "items of m2" in json.dumps(both.chart().to_dict())
    assert "two people" in json.dumps(spagree.compare(A, model={"m1": BOT}).chart().to_dict())


def rounds_of_ratings() -> tuple[list[tuple[str, str, str]], list[tuple[str, str, str]]]:
    """Two rounds in which people differ by one point as often; only in the first somebody uses the ends."""
    first = [
        (f"q{i}", who, str(1 + (i + (i % 4 == 0) * place) % 5)) for i in range(100) for place, who in enumerate("ab")
    ]
    second = [(f"q{i}", who, str(2 + (i % 4 == 0) * place)) for i in range(100) for place, who in enumerate("ab")]
    return [row for row in first if row[0] not in {f"q{i}" for i in range(4, 100, 20)}], second


@pytest.mark.parametrize("metric", ["interval", "linear", "quadratic"])
def test_both_sides_are_measured_on_one_scale(metric: str) -> None:
    wide, narrow = rounds_of_ratings()
    found = spagree.compare(wide, narrow, metric=metric, names=("wide", "narrow"))
    step = 1 / 4 if metric == "linear" else 1 / 16
    alone = spagree.measure(narrow, metric=metric)
    assert alone.spa.value == pytest.approx(0.75)  # one point is the largest distance there is
    assert found.agreements["narrow"].spa.value == pytest.approx(1 - step / 4)
    assert found.verdict == "cannot_tell"
    assert found.agreements["narrow"].chance["krippendorff_alpha"].value == pytest.approx(
        alone.chance["krippendorff_alpha"].value
    )


@pytest.mark.parametrize("of", ["items", "before"])
def test_groups_and_halves_are_measured_on_one_scale(of: str) -> None:
    wide, narrow = rounds_of_ratings()
    rows = [(item, who, label, "wide", 1) for item, who, label in wide]
    rows += [(f"n{item}", who, label, "narrow", 2) for item, who, label in narrow]
    table = polars.DataFrame(rows, schema=["item", "annotator", "label", "round", "time"], orient="row")
    if of == "before":
        found = spagree.compare(table.drop("round"), before=2, metric="interval", time="time").difference
    else:
        groups = spagree.measure(table, by="round", metric="interval").groups
        assert groups is not None
        found = groups.differences[0].difference
        assert groups.findings["narrow"].spa.value == pytest.approx(1 - 1 / 64)
    assert p_of(found) > 0.05
