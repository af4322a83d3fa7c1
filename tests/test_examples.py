"""The examples hold the published numbers, and the simulated ones can be made again."""

from __future__ import annotations

import re
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import spagree
from spagree.errors import UsageError
from spagree.read.examples import EXAMPLES, FOLDER, example, locate
from spagree.simulation import Simulation, simulate

CLASSICS = ["fleiss1971", "krippendorff2011", "landis-koch1977", "cohen1968", "gwet2014"]
SIMULATED = ["sparse", "adaptive"]
LARGEST = 60_000


def class_counts(name: str) -> list[Counter[str]]:
    """The labels of every item, counted, whatever the layout."""
    table, layout = example(name), EXAMPLES[name].format
    if layout == "long":
        groups = table.group_by("item", maintain_order=True).agg("label")
        return [Counter(labels) for labels in groups["label"].to_list()]
    rows = table.drop("item").rows(named=True)
    if layout == "counts":
        return [Counter({label: int(count) for label, count in row.items()}) for row in rows]
    return [Counter(label for label in row.values() if label is not None) for row in rows]


def pairs(counts: Counter[str]) -> tuple[int, int]:
    """Agreeing ordered pairs and all ordered pairs of one item."""
    n = counts.total()
    return sum(c * (c - 1) for c in counts.values()), n * (n - 1)


def flat(items: list[Counter[str]]) -> Fraction:
    agreements = [Fraction(*pairs(item)) for item in items if item.total() > 1]
    return sum(agreements, Fraction()) / len(agreements)


def edge(items: list[Counter[str]]) -> Fraction:
    agreeing, every = zip(*map(pairs, items), strict=True)
    return Fraction(sum(agreeing), sum(every))


def cross_table(name: str, rows: str, columns: str, labels: list[str]) -> list[list[int]]:
    table = example(name)
    if EXAMPLES[name].format == "long":
        table = table.pivot("annotator", index="item", values="label")
    seen = Counter(table.select(rows, columns).rows())
    return [[seen[one, other] for other in labels] for one in labels]


def cohen_kappa(table: list[list[int]]) -> float:
    n = sum(map(sum, table))
    observed = Fraction(sum(table[c][c] for c in range(len(table))), n)
    chance = sum((Fraction(sum(table[c]) * sum(row[c] for row in table), n * n) for c in range(len(table))), Fraction())
    return float((observed - chance) / (1 - chance))


def made_by_its_note(name: str) -> Simulation:
    """Run the call that stands in the note."""
    call = re.match(r"simulate\((.*?)\)\. ", EXAMPLES[name].note)
    assert call is not None
    arguments: dict[str, Any] = eval(f"dict({call[1]})")
    return simulate(**arguments)


class TestCatalogue:
    def test_names(self) -> None:
        assert list(EXAMPLES) == [*CLASSICS, *SIMULATED, "spans"]
        assert all(name == one.name for name, one in EXAMPLES.items())

    def test_every_file_belongs_to_an_example(self) -> None:
        assert {path.name for path in FOLDER.iterdir()} == {*(f"{name}.csv" for name in EXAMPLES), "examples.toml"}

    @pytest.mark.parametrize("name", list(EXAMPLES))
    def test_each_is_small_text_and_says_where_it_comes_from(self, name: str) -> None:
        path, layout = locate(name)
        assert layout in {"long", "wide", "counts", "spans"}
        assert 0 < path.stat().st_size <= LARGEST
        assert b"\r" not in path.read_bytes()
        assert EXAMPLES[name].citation
        assert EXAMPLES[name].note.endswith(".")

    @pytest.mark.parametrize("name", list(EXAMPLES))
    def test_tables_are_text(self, name: str) -> None:
        table = example(name)
        assert set(table.dtypes) == {pl.String}
        assert table.columns[0] == "item"

    def test_a_misspelt_name(self) -> None:
        with pytest.raises(UsageError, match="unknown example 'fleis1971'; did you mean 'fleiss1971'"):
            locate("fleis1971")
        with pytest.raises(UsageError, match="unknown example"):
            example("../secret")


class TestFleiss:
    def test_totals(self) -> None:
        items = class_counts("fleiss1971")
        assert [item.total() for item in items] == [6] * 30
        assert sum(items, Counter()) == {
            "Depression": 26, "Personality disorder": 26, "Schizophrenia": 30, "Neurosis": 55, "Other": 43,
        }  # fmt: skip

    def test_published_values(self) -> None:
        items = class_counts("fleiss1971")
        chance = sum(Fraction(c, 180) ** 2 for c in sum(items, Counter()).values())
        assert flat(items) == Fraction(5, 9)
        assert float((flat(items) - chance) / (1 - chance)) == pytest.approx(0.4302445, abs=5e-8)


class TestKrippendorff:
    def test_pairable_values(self) -> None:
        sizes = [item.total() for item in class_counts("krippendorff2011")]
        assert sizes == [3, 4, 4, 4, 4, 4, 4, 4, 4, 3, 2, 1]
        assert sum(n for n in sizes if n > 1) == 40

    def test_published_alpha(self) -> None:
        items = [item for item in class_counts("krippendorff2011") if item.total() > 1]
        n = sum(item.total() for item in items)
        agree = sum((Fraction(pairs(item)[0], item.total() - 1) for item in items), Fraction()) / n
        chance = Fraction(*pairs(sum(items, Counter())))
        assert float((agree - chance) / (1 - chance)) == pytest.approx(0.743, abs=5e-4)

    def test_observers(self) -> None:
        assert example("krippendorff2011").null_count().row(0) == (0, 3, 1, 2, 1)


class TestCrossTables:
    def test_landis_koch(self) -> None:
        labels = ["certain", "probable", "possible", "doubtful"]
        table = cross_table("landis-koch1977", "New Orleans", "Winnipeg", labels)
        assert table == [[38, 5, 0, 1], [33, 11, 3, 0], [10, 14, 5, 6], [3, 7, 3, 10]]
        assert flat(class_counts("landis-koch1977")) == Fraction(64, 149)
        assert cohen_kappa(table) == pytest.approx(0.208, abs=5e-4)

    def test_cohen(self) -> None:
        labels = ["personality disorder", "neurosis", "psychosis"]
        table = cross_table("cohen1968", "judge B", "judge A", labels)
        assert table == [[88, 10, 2], [14, 40, 6], [18, 10, 12]]
        assert flat(class_counts("cohen1968")) == Fraction(7, 10)
        assert cohen_kappa(table) == pytest.approx(0.492, abs=5e-4)

    def test_gwet(self) -> None:
        labels = ["ectopic", "abnormal intrauterine", "normal intrauterine"]
        table = cross_table("gwet2014", "abstractor 1", "abstractor 2", labels)
        assert table == [[13, 0, 0], [0, 20, 7], [0, 4, 56]]
        assert flat(class_counts("gwet2014")) == Fraction(89, 100)
        assert cohen_kappa(table) == pytest.approx(0.79641, abs=5e-6)

    def test_gwet_ac1(self) -> None:
        items = class_counts("gwet2014")
        share = [Fraction(c, 200) for c in sum(items, Counter()).values()]
        chance = sum(p * (1 - p) for p in share) / (len(share) - 1)
        assert float((flat(items) - chance) / (1 - chance)) == pytest.approx(0.84933, abs=5e-6)


class TestSimulated:
    @pytest.mark.parametrize("name", SIMULATED)
    def test_the_note_makes_the_file_byte_for_byte(self, name: str, tmp_path: Path) -> None:
        again = made_by_its_note(name).save(tmp_path / "again.csv")
        assert again.read_bytes() == locate(name)[0].read_bytes()

    def test_sparse_is_what_it_says(self) -> None:
        table, items = example("sparse"), class_counts("sparse")
        assert table.columns == ["item", "annotator", "label", "time"]
        assert len(items) == 300
        assert {item.total() for item in items} == {2, 3, 4, 5}
        assert table["annotator"].n_unique() == 25

    def test_sparse_is_near_its_truth_under_every_scheme(self) -> None:
        truth, items = made_by_its_note("sparse").truth, class_counts("sparse")
        assert f"{truth:.3f}" == "0.580"
        assert float(flat(items)) == pytest.approx(truth, abs=0.03)
        assert float(edge(items)) == pytest.approx(truth, abs=0.03)

    def test_adaptive_makes_the_schemes_diverge(self) -> None:
        items = class_counts("adaptive")
        assert len(items) == 800
        assert (f"{float(flat(items)):.3f}", f"{float(edge(items)):.3f}") == ("0.812", "0.518")
        assert f"{made_by_its_note('adaptive').truth:.3f}" == "0.650"

    def test_adaptive_first_two_in_time_give_the_truth(self) -> None:
        by_time = example("adaptive").sort(pl.col("time").cast(pl.Int64))
        two = by_time.group_by("item", maintain_order=True).head(2).group_by("item").agg("label")
        agreement = flat([Counter(labels) for labels in two["label"].to_list()])
        assert f"{float(agreement):.3f}" == "0.654"
        assert float(agreement) == pytest.approx(made_by_its_note("adaptive").truth, abs=0.02)


class TestSpans:
    def test_its_story_is_in_the_data(self) -> None:
        table = example("spans")
        letters = table.group_by("item").agg(pl.col("text").unique(), pl.col("start").count())
        assert all(len(text) == 1 for text in letters["text"]) and letters.filter(start=0)["item"].to_list() == [
            "letter03"
        ]
        found = spagree.measure_spans("example:spans")
        assert (f"{float(found.exact):.3f}", f"{float(found.characters):.3f}") == ("0.537", "0.680")
        marks = dict(found.annotators().select("annotator", "marks").rows())
        assert marks["dan"] == 0 and min(marks[name] for name in ("ann", "ben", "cyd", "eve")) >= 14
        by_cyd = table.filter(annotator="cyd")["label"].drop_nulls()
        assert set(by_cyd) == {"person", "place"} and "organisation" in found.data.labels
        worst = max(
            (name for name in found.outcomes if name != "same"), key=lambda name: found.outcomes[name].value or 0
        )
        assert worst == "other_boundaries"
        quoted = [
            text[int(start) : int(end)] for start, end, text in table.drop_nulls().select("start", "end", "text").rows()
        ]
        assert {"Madame Lefèvre", "Émile", "Musée d'Orsay"} <= set(quoted) and all(
            each == each.strip() for each in quoted
        )
