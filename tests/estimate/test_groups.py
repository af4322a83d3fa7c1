"""Groups of items and of annotators: each as if it were alone, adding up to the whole, and differences with Holm."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import combinations, permutations
from math import sqrt
from random import Random
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest

import spagree
from oracle import exactly
from spagree.counts.tally import Tally
from spagree.errors import DataError, UsageError
from spagree.estimate import comparison as groups_module
from spagree.estimate.comparison import p_of

COLUMNS = {"item": pl.String, "annotator": pl.String, "label": pl.String, "lang": pl.String, "team": pl.String}
TEAM = {"a0": "expert", "a1": "expert", "a2": "crowd", "a3": "crowd", "a4": "crowd"}


def project(seed: int, items: int = 40, labels: str = "xyz") -> pl.DataFrame:
    """Items in three languages, annotators in two teams; German is harder."""
    random = Random(seed)
    rows = []
    for item in range(items):
        lang = random.choice(["en", "de", "fr"])
        truth = random.choice(labels)
        for who in random.sample(sorted(TEAM), random.choice([2, 3, 4])):
            label = truth if random.random() < (0.5 if lang == "de" else 0.85) else random.choice(labels)
            rows.append((f"q{item}", who, label, lang, TEAM[who]))
    return pl.DataFrame(rows, schema=COLUMNS, orient="row")


def pairs_of(frame: pl.DataFrame, people: Callable[[str, str], bool]) -> dict[str, tuple[int, int]]:
    """Agreeing and all ordered pairs of two annotations of each item, by annotators that are asked for."""
    found: dict[str, tuple[int, int]] = {}
    for (item,), part in frame.group_by("item"):
        rows = part.select("label", "team").rows()
        pairs = [(one, other) for one, other in permutations(rows, 2) if people(one[1], other[1])]
        found[str(item)] = (sum(one[0] == other[0] for one, other in pairs), len(pairs))
    return found


def flat(figure: Any) -> list[float | None]:
    """Both intervals."""
    return [end for each in figure.intervals.values() for end in (each.stderr, each.low, each.high)]


@pytest.mark.parametrize("by", ["lang", "team"])
@pytest.mark.parametrize("metric", ["nominal", "ordinal"])
def test_a_group_is_what_it_would_be_alone(by: str, metric: str) -> None:
    frame = project(1).with_columns(pl.col("label").replace({"x": "1", "y": "2", "z": "3"}))
    found = spagree.measure(frame, by=by, metric="linear" if metric == "ordinal" else metric).groups
    assert found is not None
    assert found.of == ("items" if by == "lang" else "annotators")
    assert list(found.findings) == sorted(frame[by].unique())
    for name, each in found.findings.items():
        part = frame.filter(pl.col(by) == name)
        alone = spagree.measure(part.drop("lang", "team"), metric="linear" if metric == "ordinal" else metric)
        for mine, theirs in (
            (each.spa, alone.spa),
            *((each.chance[kind], alone.chance[kind]) for kind in alone.chance),
        ):
            assert mine.value == theirs.value
            assert flat(mine) == pytest.approx(flat(theirs))
            assert mine.interval_for == (theirs.interval_for if by == "team" else "items")
        assert each.data.annotators == part["annotator"].n_unique()


@pytest.mark.parametrize("seed", range(3))
def test_groups_of_items_add_up_to_the_whole(seed: int) -> None:
    tally = spagree.tally(project(seed), by="lang")
    parts = tally.groups().values()
    assert sum((Counter(part.cells) for part in parts), Counter()) == tally.cells
    for by_n in (lambda n: Fraction(1), lambda n: Fraction(n - 1), lambda n: Fraction(n * (n - 1), 2)):
        ends = [_ratio(each, by_n) for each in (tally, *parts)]
        assert ends[0] == tuple(sum((each[place] for each in ends[1:]), Fraction()) for place in (0, 1))


def _ratio(tally: Tally, weight: Callable[[int], Fraction]) -> tuple[Fraction, Fraction]:
    """Σ k P and Σ k."""
    cells = [(cell, count) for cell, count in tally.cells.items() if cell.n > 1]
    above = sum((weight(c.n) * Fraction(c.pairs, c.n * (c.n - 1)) * count for c, count in cells), Fraction())
    return above, sum((weight(c.n) * count for c, count in cells), Fraction())


@pytest.mark.parametrize("seed", range(3))
def test_pairs_within_and_between_groups_of_annotators_add_up_to_the_whole(seed: int) -> None:
    frame = project(seed)
    tally = spagree.tally(frame, by="team")
    whole = sum(cell.pairs * count for cell, count in tally.cells.items())
    within = sum(cell.pairs * count for part in tally.groups().values() for cell, count in part.cells.items())
    between = sum(agree for agree, _ in pairs_of(frame, lambda one, other: one != other).values())
    assert whole == within + between


@pytest.mark.parametrize("seed", range(3))
def test_agreement_between_groups_is_that_of_one_person_of_each(seed: int) -> None:
    frame = project(seed)
    found = spagree.measure(frame, by="team").groups
    assert found is not None
    (between,) = found.between
    assert (between.a, between.b) == ("crowd", "expert")
    weights, shares = [], []
    for (_,), part in frame.group_by("item", maintain_order=True):
        sides = [part.filter(pl.col("team") == team)["label"].to_list() for team in ("crowd", "expert")]
        if all(sides):
            pairs = [one == other for one in sides[0] for other in sides[1]]
            weights.append(Fraction(2 * len(pairs), len(sides[0]) + len(sides[1])))
            shares.append(Fraction(sum(pairs), len(pairs)))
    value = sum(k * p for k, p in zip(weights, shares, strict=True)) / sum(weights)
    m = len(weights)
    spread = sum((k * (p - value)) ** 2 for k, p in zip(weights, shares, strict=True))
    assert between.items == m
    assert between.agreement.value == pytest.approx(float(value))
    assert between.agreement.stderr == pytest.approx(sqrt(Fraction(m, m - 1) * spread) / float(sum(weights)))


def test_teams_that_share_no_item_or_only_one_have_no_interval() -> None:
    rows = [
        ("q1", "a0", "x"),
        ("q1", "a1", "x"),
        ("q2", "a2", "x"),
        ("q2", "a3", "y"),
        ("q3", "a4", "x"),
        ("q3", "a2", "x"),
    ]
    three = [("q4", "a0", "x"), ("q4", "a2", "x")]
    frame = pl.DataFrame([(*row, "en", TEAM[row[1]]) for row in rows + three], schema=COLUMNS, orient="row")
    found = spagree.measure(frame, by="team").groups
    assert found is not None
    assert found.between[0].agreement.value == 1.0
    once = found.between[0].agreement
    assert (once.undefined, once.level) == (groups_module.ONE_SHARED, 0.95)
    other = frame.with_columns(team=pl.when(pl.col("annotator") == "a1").then(pl.lit("new")).otherwise("team"))
    apart = {(each.a, each.b): each for each in (spagree.measure(other, by="team").groups or found).between}
    nothing = apart["crowd", "new"].agreement
    assert (nothing.undefined, nothing.level) == (groups_module.NO_SHARED_ITEM, 0.95)


def test_differences_of_shared_items_use_their_covariance() -> None:
    frame = project(5, items=300)
    found = spagree.measure(frame, by="team").groups
    assert found is not None
    gap = found.differences[0].difference
    parts = [spagree.measure(frame.filter(pl.col("team") == name).drop("lang", "team")) for name in ("crowd", "expert")]
    compared = spagree.compare(*parts_of(frame), names=("crowd", "expert")).difference
    assert gap.value == pytest.approx(compared.value)
    assert gap.stderr == pytest.approx(compared.stderr, rel=0.02)
    assert gap.value == parts[1].spa.value - parts[0].spa.value


def parts_of(frame: pl.DataFrame) -> list[pl.DataFrame]:
    return [frame.filter(pl.col("team") == name).drop("lang", "team") for name in ("crowd", "expert")]


def test_differences_of_items_are_those_of_separate_data_with_holm() -> None:
    frame = project(7, items=300)
    found = spagree.measure(frame, by="lang").groups
    assert found is not None
    alone = {name: spagree.measure(part.drop("lang", "team")) for (name,), part in frame.group_by("lang")}
    assert [(each.a.name, each.b.name) for each in found.differences] == list(combinations(("de", "en", "fr"), 2))
    for each in found.differences:
        sources = [frame.filter(pl.col("lang") == side.name).drop("lang", "team") for side in (each.a, each.b)]
        pair = spagree.compare(*sources, names=(each.a.name, each.b.name)).difference
        assert flat(each.difference) == pytest.approx(flat(pair))
        assert each.difference.interval_for == "items" and pair.interval_for == "annotators"
        assert each.difference.value == pytest.approx(alone[each.b.name].spa.value - alone[each.a.name].spa.value)
        assert each.p_holm >= p_of(each.difference)
    by_name = {(each.a.name, each.b.name): each.p_holm or 1.0 for each in found.differences}
    assert by_name["de", "en"] < 0.001 < by_name["en", "fr"]


def test_clusters_across_groups_make_them_move_together() -> None:
    """A document in two languages: what makes it hard makes it hard in both."""
    random = np.random.default_rng(3)
    rows = []
    for doc in range(60):
        right = random.choice([0.55, 0.95])
        for lang in ("de", "en"):
            for item in range(6):
                rows += [(f"{doc}{lang}{item}", who, str(random.random() < right), lang, f"d{doc}") for who in "abc"]
    frame = pl.DataFrame(rows, schema=["item", "annotator", "label", "lang", "doc"], orient="row")
    plain, found = (spagree.measure(frame, by="lang", cluster=each).groups for each in (None, "doc"))
    assert plain is not None and found is not None
    own = [each.spa.stderr or 0.0 for each in found.findings.values()]
    apart = sqrt(own[0] ** 2 + own[1] ** 2)
    assert found.differences[0].difference.stderr is not None
    assert found.differences[0].difference.stderr < 0.8 * apart
    assert found.findings["de"].data.clusters == 60


# Counting ------------------------------------------------------------------------------------

ENGINES: dict[str, Callable[[pl.DataFrame], Any]] = {
    "lazy": pl.DataFrame.lazy,
    "pandas": pl.DataFrame.to_pandas,
    "pyarrow": pl.DataFrame.to_arrow,
    "duckdb": lambda frame: duckdb.from_arrow(frame.to_arrow()),
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("by", ["lang", "team", "expert"])
def test_every_engine_gives_the_same_groups(engine: str, by: str) -> None:
    frame = project(2).with_columns(expert=pl.col("team") == "expert")
    found = spagree.tally(ENGINES[engine](frame), item="item", annotator="annotator", label="label", by=by)
    assert found == spagree.tally(frame, item="item", annotator="annotator", label="label", by=by)
    assert found.grouped is not None and found.grouped.people is not None
    spelled = frame.with_columns(pl.col(by).cast(pl.String))
    for name, part in found.groups().items():
        assert part.people == spagree.tally(spelled.filter(pl.col(by) == name).drop("lang", "team", "expert")).people
    if by == "expert":
        assert found.grouped.groups == ("false", "true")


def test_many_labels_by_group_are_counted_at_home() -> None:
    frame = project(2, items=200).with_columns(label=pl.col("label") + pl.int_range(pl.len()).mod(9).cast(pl.String))
    assert frame["label"].n_unique() * 2 > 40
    tally = spagree.tally(frame, by="team")
    assert tally.grouped is not None
    assert tally.patterns == spagree.tally(frame.drop("team", "lang")).patterns
    for name, part in tally.groups().items():
        assert part.patterns == spagree.tally(frame.filter(pl.col("team") == name).drop("team", "lang")).patterns


def test_parts_merge_to_the_whole_and_are_saved_with_their_groups(tmp_path: Any) -> None:
    """With what each annotator's annotations tell of others, in each group alone."""
    rows = [(f"q{place}", who, label) for place, who, label in five(30)]
    frame = pl.DataFrame(rows, schema=["item", "annotator", "label"], orient="row")
    frame = frame.with_columns(team=pl.when(pl.col("annotator") < "a5").then(pl.lit("old")).otherwise(pl.lit("new")))
    frame = frame.with_columns(lang=pl.when(pl.col("item").hash() % 3 > 0).then(pl.lit("en")))
    for by in ("team", "lang"):
        for number in (0, 1):
            part = frame.filter((pl.col("item").hash() % 2) == number)
            spagree.save(spagree.tally(part, by=by), tmp_path / f"{number}.json", force=True)
        merged = spagree.measure([str(tmp_path / "0.json"), str(tmp_path / "1.json")], interval_for="annotators")
        whole = spagree.measure(frame, by=by, interval_for="annotators").groups
        assert merged.groups.between == whole.between
        for mine, theirs in zip(merged.groups.differences, whole.differences, strict=True):
            assert mine.difference.interval_for == "annotators"
            assert mine.shared_annotators == theirs.shared_annotators
            assert flat(mine.difference) == pytest.approx(flat(theirs.difference), rel=1e-9)
            assert flat(mine.kappa_difference) == pytest.approx(flat(theirs.kappa_difference), rel=1e-9)


def five(items: int) -> Iterator[tuple[int, str, str]]:
    """Every item by all of ten people, of whom the first five know better."""
    random = Random(5)
    for place in range(items):
        for who in range(10):
            yield place, f"a{who}", "xyz"[place % 3] if random.random() < 0.9 - who / 20 else random.choice("xyz")


def test_items_without_a_value_form_their_own_group() -> None:
    frame = project(3).with_columns(lang=pl.when(pl.col("lang") == "fr").then(None).otherwise("lang"))
    found = spagree.measure(frame, by="lang")
    assert found.groups is not None
    assert list(found.groups.findings) == ["de", "en", ""]
    assert "(no value)" in str(found)
    assert sum(each.data.items for each in found.groups.findings.values()) == found.data.items


def test_a_column_of_neither_items_nor_annotators_is_refused() -> None:
    frame = project(3).with_columns(mood=pl.int_range(pl.len()).mod(2).cast(pl.String))
    with pytest.raises(
        DataError,
        match=exactly(
            "by=\"mood\": it varies within items and within annotators (annotator 'a0' has '0' and '1'); name a "
            "column that belongs to items, such as a language, or to annotators, such as their experience"
        ),
    ):
        spagree.measure(frame, by="mood")
    with pytest.raises(
        DataError,
        match=exactly(
            "by=\"mood\": 40 items are in several groups (item 'q0' in '0' and '1'; item 'q1' in '0' and '1'; item "
            "'q10' in '0' and '1'), and an item belongs to one; if the column says who annotated, the breakdowns "
            "annotators and pairs show each of them; if it groups annotators, name who annotated with annotator="
        ),
    ):
        spagree.measure(frame.drop("annotator"), by="mood")


def test_clusters_alone_are_no_groups() -> None:
    assert spagree.measure(project(3), cluster="lang").groups is None


def test_groups_lead_with_other_people_only_if_they_are_groups_of_people() -> None:
    frame = project(8, items=60).with_columns(pl.col("annotator") + pl.col("item").str.slice(-1))  # 50 people
    of = {by: spagree.measure(frame, by=by).groups for by in ("lang", "team")}
    forced = {by: spagree.measure(frame, by=by, interval_for="annotators").groups for by in of}
    for by, leads in (("lang", "items"), ("team", "annotators")):
        for found, expected in ((of[by], leads), (forced[by], "annotators")):
            assert {part.spa.interval_for for part in found.findings.values()} == {expected}
            assert {pair.difference.interval_for for pair in found.differences} == {expected}
    assert of["lang"].differences[0].difference.intervals == forced["lang"].differences[0].difference.intervals
    (between,) = of["team"].between
    assert between.agreement.interval_for == "items" and between.agreement.low is not None
    assert forced["team"].between[0].agreement.undefined == groups_module.THESE_ONLY


def test_too_many_groups_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(groups_module, "MOST_GROUPS", 2)
    with pytest.raises(
        UsageError,
        match=exactly(
            'by="lang": 3 groups, more than the 2 that are compared; name a column with fewer values, or use it '
            "as cluster="
        ),
    ):
        _ = spagree.measure(project(3), by="lang").groups


# What is shown -------------------------------------------------------------------------------


def test_json_has_every_group_and_difference() -> None:
    found = spagree.measure(project(3, items=200), by="team")
    shown = json.loads(found.to_json())
    assert (shown["by"], shown["groups_of"]) == ("team", "annotators")
    assert set(shown["groups"]) == {"crowd", "expert"}
    assert shown["groups"]["crowd"]["spa"]["value"] == found.groups.findings["crowd"].spa.value  # type: ignore[union-attr]
    assert {"a", "b", "difference", "kappa_difference", "p_holm", "verdict"} <= set(shown["differences"][0])
    assert set(shown["between"][0]) == {"a", "b", "value", "stderr", "low", "high", "items"}
    assert "groups" not in spagree.measure(project(3)).to_dict()


def test_the_summary_names_groups_that_differ_and_says_where_it_cannot_tell() -> None:
    text = str(spagree.measure(project(7, items=300), by="lang"))
    assert "By lang (groups of items)" in text
    assert "en agrees more than de: +0." in text
    assert "There is not enough data to tell whether the other groups differ (1 pair, Holm over all)." in text
    text = str(spagree.measure(project(7, items=300), by="team"))
    assert "within crowd" in text
    assert re.search(r"crowd with\s+expert\s", text)
    assert "There is not enough data to tell whether expert agrees more than crowd: " in text


def test_a_group_without_pairs_says_why() -> None:
    frame = pl.concat([project(3), pl.DataFrame([("q99", "a0", "x", "it", "expert")], schema=COLUMNS, orient="row")])
    found = spagree.measure(frame, by="lang")
    assert "none: only one annotator, so agreement cannot be measured" in " ".join(str(found).split())
    assert json.loads(found.to_json())["groups"]["it"]["spa"]["value"] is None
