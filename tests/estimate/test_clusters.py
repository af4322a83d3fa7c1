"""Items in clusters: every figure against a plain recount, cluster by cluster, in exact fractions where it can be."""

from __future__ import annotations

from collections import Counter, defaultdict
from fractions import Fraction
from math import erfc, sqrt
from random import Random
from typing import Any

import numpy as np
import polars as pl
import pytest

import spagree
from oracle import ends, exactly, relative_variance
from spagree.counts import count as counting
from spagree.errors import DataError, UsageError
from spagree.estimate import findings
from spagree.estimate.chance import COEFFICIENTS
from spagree.estimate.uncertainty import wilson
from spagree.estimate.votes import ONE_CLUSTER

COLUMNS = ["item", "annotator", "label", "doc"]
Rows = list[tuple[Any, ...]]


def documents(seed: int, clusters: int = 6, items: int = 4, labels: str = "xyz") -> Rows:
    """Items in documents of unequal size, labelled by two to four people each; documents differ."""
    random = Random(seed)
    rows: Rows = []
    for doc in range(clusters):
        usual = random.choice(labels)
        for item in range(1 + random.randrange(items)):
            for annotator in range(random.choice([2, 2, 3, 4])):
                label = usual if random.random() < 0.6 else random.choice(labels)
                rows.append((f"{doc}-{item}", f"a{annotator}", label, f"d{doc}"))
    return rows


def measured(rows: Rows, **options: Any) -> spagree.Agreement:
    options.setdefault("interval_for", "items")
    return spagree.measure(pl.DataFrame(rows, schema=COLUMNS, orient="row"), **options)


def votes_of(rows: Rows) -> dict[str, dict[str, int]]:
    """How often each item got each label."""
    found: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for item, _, label, _ in rows:
        found[item][label] += 1
    return found


def agreement_of(votes: dict[str, int]) -> Fraction:
    n = sum(votes.values())
    return Fraction(sum(c * (c - 1) for c in votes.values()), n * (n - 1))


def doc_of(rows: Rows) -> dict[str, str]:
    return {item: doc for item, _, _, doc in rows}


# SPA -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", spagree.SCHEMES)
@pytest.mark.parametrize("seed", range(4))
def test_the_standard_error_adds_up_within_clusters_before_it_squares(scheme: str, seed: int) -> None:
    rows = documents(seed)
    found = measured(rows, cluster="doc", weights=scheme)
    weights = found.findings.weights[scheme].by_n
    votes, docs = votes_of(rows), doc_of(rows)
    k = {item: weights[sum(each.values())] for item, each in votes.items()}
    agreement = {item: agreement_of(each) for item, each in votes.items()}
    whole = sum(k.values(), Fraction())
    spa = sum((k[item] * agreement[item] for item in votes), Fraction()) / whole
    sums: dict[str, Fraction] = defaultdict(Fraction)
    sizes: dict[str, Fraction] = defaultdict(Fraction)
    for item, doc in docs.items():
        sums[doc] += k[item] * (agreement[item] - spa)
        sizes[doc] += k[item]
    g = len(sums)
    variance = Fraction(g, g - 1) * sum(each**2 for each in sums.values()) / whole**2
    assert found.spa.value == pytest.approx(float(spa), abs=1e-15)
    assert found.spa.stderr == pytest.approx(sqrt(variance), rel=1e-12)
    # The interval is that of as many equal clusters as these are worth.
    effective = float(whole**2 / sum(each**2 for each in sizes.values()))
    low, high = wilson(float(spa), sqrt(variance), effective, 0.95)
    assert found.spa.low is not None and found.spa.high is not None
    assert found.spa.low <= low + 1e-12
    assert found.spa.high >= high - 1e-12


def test_a_cluster_with_all_weight_leaves_no_other_to_compare_with() -> None:
    """Next to no weight for the others: nobody knows how clusters differ."""
    rows = [(f"1-{i}", who, "xy"[i % 2], "d1") for i in range(4) for who in "abc"]
    rows += [("2-0", "a", "x", "d2"), ("2-0", "b", "y", "d2")]
    found = measured(rows, cluster="doc", weights={2: 1e-30, 3: 1.0})
    assert found.spa.value == 1.0 and found.spa.stderr == pytest.approx(0)
    assert (found.spa.low, found.spa.high) == (0.0, 1.0)


@pytest.mark.parametrize("metric", ["nominal", "ordinal"])
@pytest.mark.parametrize("seed", range(3))
def test_clusters_change_errors_and_no_value(seed: int, metric: str) -> None:
    rows = [(item, who, str("xyz".index(label)), doc) for item, who, label, doc in documents(seed, clusters=12)]
    plain, found = measured(rows, metric=metric), measured(rows, cluster="doc", metric=metric)
    for name, each in plain.schemes.items():
        assert found.schemes[name].value == pytest.approx(each.value, abs=1e-15)
        assert found.schemes[name].stderr != each.stderr
    for name, corrected in plain.chance.items():
        assert found.chance[name].value == pytest.approx(corrected.value, abs=1e-12)
    assert found.missingness.z != plain.missingness.z
    agreement = [dict(each.classes().select("class", "agreement").rows()) for each in (plain, found)]
    assert agreement[1] == pytest.approx(agreement[0])  # their order differs: few clusters come last


@pytest.mark.parametrize("metric", ["nominal", "ordinal"])
def test_items_on_their_own_are_what_they_were_without_clusters(metric: str) -> None:
    rows = [(item, who, str("xyz".index(label)), item) for item, who, label, _ in documents(3, clusters=12)]
    plain, found = measured(rows, metric=metric), measured(rows, cluster="doc", metric=metric)
    for mine, theirs in (*zip(found.schemes.values(), plain.schemes.values(), strict=True),):
        assert (mine.stderr, mine.low, mine.high) == pytest.approx((theirs.stderr, theirs.low, theirs.high), rel=1e-9)
    for name, corrected in plain.chance.items():
        other = found.chance[name]
        ends = (corrected.stderr, corrected.low, corrected.high)
        assert (other.stderr, other.low, other.high) == pytest.approx(ends, rel=1e-9)
    assert found.missingness.p == pytest.approx(plain.missingness.p, rel=1e-9)
    numbers = ["agreement", "stderr", "low", "high"]
    assert found.classes().select(numbers).to_numpy() == pytest.approx(plain.classes().select(numbers).to_numpy())


def test_an_item_without_a_cluster_is_its_own_cluster() -> None:
    rows = documents(5, clusters=12)
    alone = [(item, who, label, None if doc == "d0" else doc) for item, who, label, doc in rows]
    spelled = [(item, who, label, item if doc is None else doc) for item, who, label, doc in alone]
    found, same = measured(alone, cluster="doc"), measured(spelled, cluster="doc")
    assert found.spa == same.spa
    assert found.data.clusters == same.data.clusters
    lost = len({item for item, *_, doc in alone if doc is None})
    said = next(each.message for each in found.warnings if each.code == "without_cluster")
    assert said == f"{lost} of {found.data.items} items have no value in 'doc': each counts as its own cluster"


def test_one_cluster_has_a_value_and_no_interval() -> None:
    rows = documents(1, clusters=1, items=9)
    found = measured(rows, cluster="doc")
    assert found.spa.value == measured(rows).spa.value
    assert (found.spa.low, found.spa.undefined) == (None, ONE_CLUSTER)
    assert {each.undefined for each in found.chance.values()} == {ONE_CLUSTER}
    assert all("one cluster" in str(reason) for reason in found.classes()["undefined"])


def test_the_bootstrap_draws_clusters() -> None:
    rows = documents(7, clusters=40, items=12)
    found = measured(rows, cluster="doc", bootstrap=4000)
    assert found.spa.method == "bootstrap of clusters, 4000 replicates, seed 0"
    exact = measured(rows, cluster="doc").spa
    assert found.spa.stderr == pytest.approx(exact.stderr, rel=0.1)


def test_new_annotators_are_added_to_new_clusters() -> None:
    rows = documents(7, clusters=20, items=12)
    plain, found = measured(rows, interval_for="annotators"), measured(rows, cluster="doc", interval_for="annotators")
    items = measured(rows).spa.stderr, measured(rows, cluster="doc").spa.stderr
    assert None not in (*items, plain.spa.stderr, found.spa.stderr)
    more = float(found.spa.stderr or 0) ** 2 - float(plain.spa.stderr or 0) ** 2
    assert more == pytest.approx(float(items[1] or 0) ** 2 - float(items[0] or 0) ** 2, abs=1e-12)
    assert found.spa.intervals == measured(rows, cluster="doc").spa.intervals
    assert found.spa.intervals["annotators"].stderr == found.spa.stderr


# Coefficients --------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_coefficients_leave_out_one_cluster_at_a_time(seed: int) -> None:
    rows = documents(seed, clusters=9)
    whole = measured(rows, cluster="doc").chance
    docs = sorted(set(doc_of(rows).values()))
    rests = [measured([row for row in rows if row[3] != doc]).chance for doc in docs]
    for name in COEFFICIENTS:
        # Measured again without each cluster: the plain ratio, before the correction for small samples.
        left = [plain_ratio(rest[name].observed, rest[name].expected) for rest in rests]
        g = len(docs)
        stderr = sqrt((g - 1) / g * sum((each - np.mean(left)) ** 2 for each in left))
        found = whole[name]
        assert found.stderr == pytest.approx(stderr, rel=1e-9), name
        assert found.low is not None and found.high is not None and found.value is not None
        assert found.low <= found.value <= found.high


def plain_ratio(observed: float | None, expected: float | None) -> float:
    assert observed is not None
    assert expected is not None
    return (observed - expected) / (1 - expected)


# Classes, trend -----------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_classes_add_up_within_clusters(seed: int) -> None:
    rows = documents(seed, clusters=10)
    found = {row["class"]: row for row in measured(rows, cluster="doc").classes().rows(named=True)}
    votes, docs = votes_of(rows), doc_of(rows)
    for label, row in found.items():
        given = {item: each.get(label, 0) for item, each in votes.items()}
        agreeing = {item: given[item] * Fraction(given[item] - 1, sum(votes[item].values()) - 1) for item in votes}
        value = sum(agreeing.values(), Fraction()) / sum(given.values())
        sums: dict[str, Fraction] = defaultdict(Fraction)
        for item in votes:
            if given[item]:
                sums[docs[item]] += agreeing[item] - value * given[item]
        g = len(sums)
        variance = Fraction(g, g - 1) * sum(each**2 for each in sums.values()) / sum(given.values()) ** 2
        assert row["agreement"] == pytest.approx(float(value))
        assert row["stderr"] == pytest.approx(sqrt(variance), rel=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_the_trend_is_seen_against_clusters(seed: int) -> None:
    rows = documents(seed, clusters=10)
    votes, docs = votes_of(rows), doc_of(rows)
    n = {item: sum(each.values()) for item, each in votes.items()}
    agreement = {item: agreement_of(each) for item, each in votes.items()}
    mean_n, mean_p = (sum(each.values(), Fraction()) / len(votes) for each in (n, agreement))
    sums: dict[str, Fraction] = defaultdict(Fraction)
    for item in votes:
        sums[docs[item]] += (n[item] - mean_n) * (agreement[item] - mean_p)
    trend, spread = float(sum(sums.values())), float(mean_p * (1 - mean_p))
    variance = float(sum(each**2 for each in sums.values()))
    for size in set(n.values()):  # few items that happen to agree are steadied, as behind an interval over clusters
        own = [item for item in votes if n[item] == size]
        effective = len(own) ** 2 / sum(each**2 for each in Counter(docs[item] for item in own).values())
        seen = sum(float(agreement[item] - mean_p) ** 2 for item in own)
        share = 30 / max(30, 4 * spread * effective)
        variance += (
            float(size - mean_n) ** 2
            * share
            * max(0.0, spread * relative_variance(size, float(mean_p)) * len(own) - seen)
        )
    found = measured(rows, cluster="doc").missingness
    assert found.z == pytest.approx(trend / sqrt(variance), rel=1e-9)
    assert found.p == pytest.approx(erfc(abs(trend) / sqrt(2 * variance)), rel=1e-9)


# The tally -----------------------------------------------------------------------------------


def test_more_than_forty_classes_are_counted_by_cluster_too() -> None:
    rows = [
        (*row[:2], f"{row[2]}{number % 30}", row[3]) for number, row in enumerate(documents(4, clusters=9, items=9))
    ]
    frame = pl.DataFrame(rows, schema=COLUMNS, orient="row")
    assert frame["label"].n_unique() > 40
    found = spagree.tally(frame, cluster="doc")
    assert found.grouped is not None
    assert found.grouped.patterns() == found.patterns
    assert found.patterns == spagree.tally(frame.drop("doc")).patterns


def test_parts_merge_to_the_whole_and_are_saved_with_their_clusters(tmp_path: Any) -> None:
    rows = documents(4, clusters=10)
    frame = pl.DataFrame(rows, schema=COLUMNS, orient="row")
    parts = [frame.filter((pl.col("item").hash() % 2) == half) for half in (0, 1)]  # clusters are cut, items are not
    for number, part in enumerate(parts):
        spagree.save(spagree.tally(part, cluster="doc"), tmp_path / f"{number}.json")
    whole = spagree.measure([str(tmp_path / "0.json"), str(tmp_path / "1.json")])
    known = measured(rows, cluster="doc")
    assert whole.spa.intervals["items"] == known.spa.intervals["items"]
    for name in COEFFICIENTS:
        assert whole.chance[name].intervals["items"] == known.chance[name].intervals["items"]


def test_parts_with_and_without_clusters_do_not_add_up() -> None:
    rows = documents(4)
    frame = pl.DataFrame(rows, schema=COLUMNS, orient="row").with_columns(other=pl.col("doc"))
    with_doc, plain = spagree.tally(frame, cluster="doc"), spagree.tally(frame)
    with pytest.raises(
        UsageError,
        match=exactly("some parts were counted with cluster= or by=, others without; count all the same way"),
    ):
        with_doc + plain
    with pytest.raises(
        UsageError,
        match=exactly(
            'parts were counted by different columns (cluster="doc" and cluster="other"); count both the same way'
        ),
    ):
        with_doc + spagree.tally(frame, cluster="other")
    assert (with_doc + spagree.Tally()).clusters == with_doc.clusters


def test_a_tally_whose_clusters_do_not_fit_is_refused(tmp_path: Any) -> None:
    path = tmp_path / "part.json"
    spagree.save(spagree.tally(pl.DataFrame(documents(4), schema=COLUMNS, orient="row"), cluster="doc"), path)
    text = path.read_text()
    for old, new, reason in (
        ('"cluster": "doc"', '"cluster": null', "clusters or groups of no column"),
        ('"cluster": "doc"', '"cluster": 7', "ValueError('7 is not the name of a column')"),
        ('"items": [["d0"', '"items": [["d0", ["", "x", 9], 1], ["d0"', "clusters or groups and patterns differ"),
    ):
        assert old in text
        path.write_text(text.replace(old, new, 1))
        with pytest.raises(DataError, match=ends(f"/part.json: damaged tally: {reason}; count the data again")):
            spagree.load(path)


def test_items_in_several_clusters_are_refused() -> None:
    rows = [("q1", "a", "x", "d1"), ("q1", "b", "x", "d2"), ("q2", "a", "x", "d1"), ("q2", "b", "y", None)]
    with pytest.raises(DataError) as error:
        measured(rows, cluster="doc")
    assert str(error.value) == (
        "cluster=\"doc\": 2 items are in several clusters (item 'q1' in 'd1' and 'd2'; item 'q2' in 'd1' and no value), "
        "and an item belongs to one; correct the column, or name another"
    )


def test_more_clusters_than_a_tally_keeps_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "MOST_KEPT", 3)
    with pytest.raises(
        DataError,
        match=exactly(
            'cluster="doc": more than 3 combinations with labels, more than a tally keeps; name a column with '
            "fewer values, or merge rare labels"
        ),
    ):
        measured(documents(4), cluster="doc")


def test_a_tally_that_grows_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(findings, "LARGE_TALLY", 3)
    found = measured(documents(4), cluster="doc")
    assert any(each.code == "large_tally" and "6 clusters" in each.message for each in found.warnings)
    assert any(each.code == "few_clusters" and "only 6 clusters in 'doc'" in each.message for each in found.warnings)


def test_counts_of_single_items_keep_no_clusters() -> None:
    with pytest.raises(
        UsageError, match=exactly("cluster=: counts of single items keep no clusters or groups; count a tally instead")
    ):
        spagree.count_items(pl.DataFrame(documents(4), schema=COLUMNS, orient="row"), cluster="doc")


# What is shown -------------------------------------------------------------------------------


def test_clusters_are_named_wherever_the_interval_is() -> None:
    found = measured(documents(4, clusters=20), cluster="doc")
    shown = found.to_dict()["spa"]
    assert (shown["clusters"], shown["cluster"]) == (20, "doc")
    assert f"{found.data.items} items in 20 clusters" in str(found)
    assert "standard error over 20 clusters (doc)" in " ".join(str(found).split())
    assert "clusters" not in measured(documents(4)).to_dict()["spa"]


@pytest.mark.parametrize("layout", ["wide", "counts", "one-hot"])
def test_clusters_of_broad_tables(layout: str) -> None:
    rows = documents(4, clusters=12)
    frame = pl.DataFrame(rows, schema=COLUMNS, orient="row")
    wanted = spagree.measure(frame.drop("annotator"), cluster="doc").spa.intervals["items"]
    if layout == "wide":
        broad = frame.pivot("annotator", index=["item", "doc"], values="label")
    elif layout == "counts":
        broad = frame.pivot("label", index=["item", "doc"], values="annotator", aggregate_function="len").fill_null(0)
    else:
        broad = frame.with_columns((pl.col("label") == each).cast(pl.Int64).alias(each) for each in "xyz").drop("label")
    options = {"annotator": "annotator"} if layout == "one-hot" else {}
    found = spagree.measure(broad, format=layout, item="item", cluster="doc", **options).spa
    assert found.intervals["items"] == wanted


def test_a_table_with_items_in_columns_has_no_clusters() -> None:
    frame = pl.DataFrame({"who": ["ann", "bob"], "doc": ["d1", "d1"], "q1": ["x", "y"], "q2": ["x", "x"]})
    with pytest.raises(UsageError, match=r'cluster="doc" does not apply here: every column is one item; leave it out'):
        spagree.measure(frame, format="transposed", annotator="who", cluster="doc")


def copies(times: int) -> pl.DataFrame:
    """Forty items of four people's, each copied with its labels; all copies of an item are a document."""
    random = np.random.default_rng(5)
    rows = []
    for item in range(40):
        for who in random.permutation(4)[:3]:
            label = "no" if random.random() < 0.2 + 0.2 * (who == 0) else "yes"
            rows += [(f"{item:02d}-{copy}", f"p{who}", label, f"d{item:02d}") for copy in range(times)]
    return pl.DataFrame(rows, schema=["item", "annotator", "label", "doc"], orient="row")


def test_copies_say_no_more_about_an_annotator_than_one() -> None:
    columns = ["annotator", "agreement", "stderr", "low", "high", "against_others", "against_others_low", "stands_out"]
    once, apart = spagree.measure(copies(1).drop("doc")), spagree.measure(copies(20).drop("doc"))
    together = spagree.measure(copies(6), cluster="doc")
    for one, other in zip(*(each.annotators().select(columns).rows() for each in (once, together)), strict=True):
        assert one[0] == other[0]
        assert one[1:] == pytest.approx(other[1:], rel=1e-9)
    assert not once.annotators()["stands_out"].any()
    assert apart.annotators()["stands_out"].any()


def test_copies_of_one_label_are_one_decision() -> None:
    rows = [(f"q{i}", who, "yes" if who == "p0" or i % 3 else "no") for i in range(6) for who in ("p0", "p1", "p2")]
    table = pl.DataFrame(
        [(f"{item}-{copy}", who, label, item) for item, who, label in rows for copy in range(9)],
        schema=["item", "annotator", "label", "doc"],
        orient="row",
    )
    names = [
        found.annotators().filter("one_label")["annotator"].to_list()
        for found in (spagree.measure(table.drop("doc")), spagree.measure(table, cluster="doc"))
    ]
    assert names == [["p0"], []]


def test_an_annotator_within_one_cluster_has_no_interval() -> None:
    rows = [
        (f"q{i}", who, "yes", "one" if i < 5 else f"d{i}")
        for i in range(20)
        for who in ("a", "b", "c" if i < 5 else "d")
    ]
    table = pl.DataFrame(rows, schema=["item", "annotator", "label", "doc"], orient="row")
    found = spagree.measure(table, cluster="doc").annotators().filter(pl.col("annotator") == "c").row(0, named=True)
    assert (found["low"], found["stands_out"], found["few"]) == (None, None, True)
    assert found["undefined"] == "all items shared with others are in one cluster: how clusters differ cannot be seen"
