"""The paper's variance formulas in exact rationals: right in its appendix, wrong twice in its text."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import product
from math import comb, nextafter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from oracle import parse, rounded, tally_of
from spagree.errors import UsageError
from spagree.estimate import find, item_variance, weigh
from spagree.estimate.weights import family, zetas

# Class distributions as integer proportions: uniform, skewed, degenerate.
UNIFORM = [(1, 1), (1, 1, 1), (1, 1, 1, 1)]
SKEWED = [(3, 1), (9, 1), (999, 1), (5, 3, 2), (8, 1, 1), (4, 3, 2, 1), (97, 1, 1, 1)]
DEGENERATE = [(1,), (1, 0), (1, 0, 0, 0), (2, 1, 0)]
EVERY = UNIFORM + SKEWED + DEGENERATE


# The paper, transcribed -------------------------------------------------------------------------


def no_class_variance(n: int, classes: int, factor: str = "appendix") -> Fraction:
    """Appendix A; ``factor="main text"`` doubles where n0 = n1, as printed in section 5.3."""
    cross = Fraction()
    for n0 in range(n + 1):
        for n1 in range(min(n0, n - n0) + 1):
            doubled = n0 != n1 if factor == "appendix" else n0 == n1
            k_csp = comb(n, n0) * comb(n - n0, n1) * classes * (classes - 1) * (classes - 2) ** (n - n0 - n1)
            cross += (2 if doubled else 1) * k_csp * n0 * n1 * (n0 - 1) * (n1 - 1)
    own = sum(comb(n, c) * classes * (classes - 1) ** (n - c) * c**2 * (c - 1) ** 2 for c in range(n + 1))
    edges = comb(n, 2)
    return (cross + own) / (4 * edges**2 * classes**n) - Fraction(1, classes) ** 2


def class_variance(n: int, counts: tuple[int, ...], *, main_text: bool = False) -> Fraction:
    """Appendix B; the main text leaves out 1/N²."""
    p = [Fraction(count, sum(counts)) for count in counts]
    cross = Fraction()
    for one, other in product(range(len(p)), repeat=2):
        if one == other:
            continue
        rest = 1 - p[one] - p[other]
        for n0 in range(n + 1):
            for n1 in range(n - n0 + 1):
                chance = comb(n, n0) * comb(n - n0, n1) * p[one] ** n0 * p[other] ** n1 * rest ** (n - n0 - n1)
                cross += chance * n0 * n1 * (n0 - 1) * (n1 - 1)
    own = Fraction()
    for share in p:
        for c in range(n + 1):
            own += comb(n, c) * share**c * (1 - share) ** (n - c) * c**2 * (c - 1) ** 2
    scale = 4 if main_text else 4 * comb(n, 2) ** 2
    return (cross + own) / scale - sum(share**2 for share in p) ** 2


def enumerated_variance(n: int, counts: tuple[int, ...]) -> Fraction:
    """E[P²] − E[P]² over all label sequences, each with its probability."""
    mean = square = Fraction()
    for sequence in product(range(len(counts)), repeat=n):
        chance = 1
        for label in sequence:
            chance *= counts[label]
        if chance:
            seen = Counter(sequence)
            found = Fraction(sum(c * (c - 1) for c in seen.values()), n * (n - 1))
            mean += chance * found
            square += chance * found**2
    whole = sum(counts) ** n
    return square / whole - (mean / whole) ** 2


# The appendix is right, and the closed form is the same ------------------------------------------


@pytest.mark.parametrize("counts", EVERY, ids=str)
@pytest.mark.parametrize("n", range(2, 6))
def test_appendix_and_closed_form_equal_enumeration_over_all_label_sequences(n: int, counts: tuple[int, ...]) -> None:
    exact = enumerated_variance(n, counts)
    zeta1, zeta2 = zetas(counts)
    assert class_variance(n, counts) == exact
    assert Fraction(2, n * (n - 1)) * (2 * (n - 2) * zeta1 + zeta2) == exact
    assert item_variance(n, counts) == rounded(exact)


@pytest.mark.parametrize("classes", [2, 3, 4, 7])
@pytest.mark.parametrize("n", [2, 3, 4, 5, 6, 7, 12])
def test_the_formula_without_class_distribution_is_its_uniform_case(n: int, classes: int) -> None:
    exact = no_class_variance(n, classes)
    assert exact == class_variance(n, (1,) * classes)
    assert item_variance(n, (1,) * classes) == rounded(exact)


@pytest.mark.parametrize("counts", SKEWED, ids=str)
@pytest.mark.parametrize("n", [7, 11])
def test_closed_form_equals_the_appendix_for_more_annotations(n: int, counts: tuple[int, ...]) -> None:
    assert item_variance(n, counts) == rounded(class_variance(n, counts))


def test_known_variances() -> None:
    assert item_variance(2, [1, 1]) == 0.25
    assert item_variance(7, [0.5, 0.5]) == 1 / 84
    assert item_variance(3, [3, 1]) == rounded(Fraction(7, 64))
    assert item_variance(5, [7]) == 0.0


# Errata ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("classes", [2, 3, 4, 5])
def test_erratum_main_text_without_class_distribution_is_wrong_from_four_annotations_on(classes: int) -> None:
    wrong = [n for n in range(2, 13) if no_class_variance(n, classes, "main text") != no_class_variance(n, classes)]
    by_accident = {5, 6} if classes == 3 else set()  # too much for n0 = n1, too little elsewhere: they cancel
    assert wrong == [n for n in range(4, 13) if n not in by_accident]


def test_erratum_main_text_gives_a_negative_variance() -> None:
    assert no_class_variance(7, 2, "main text") == Fraction(-1, 56)
    assert no_class_variance(7, 2) == Fraction(1, 84)


@pytest.mark.parametrize("counts", EVERY, ids=str)
def test_erratum_main_text_with_class_distribution_is_wrong_from_three_annotations_on(counts: tuple[int, ...]) -> None:
    wrong = [n for n in range(2, 8) if class_variance(n, counts, main_text=True) != class_variance(n, counts)]
    assert wrong == list(range(3, 8))


# Consequences --------------------------------------------------------------------------------------


@pytest.mark.parametrize("classes", [2, 3, 5, 26])
def test_uniform_classes_make_inverse_variance_exactly_proportional_to_edges(classes: int) -> None:
    labels = [chr(97 + c) for c in range(classes)]
    tally = tally_of([[label] * n for n in (2, 3, 4, 9, 30) for label in labels])
    scale = Fraction(classes**2, classes - 1)
    wanted = {n: scale * comb(n, 2) for n in (2, 3, 4, 9, 30)}
    assert weigh("inv_var", tally).by_n == wanted
    # the same rounding for every n: proportional to the last bit of each weight
    assert weigh("inv_var_class", tally).by_n == {n: Fraction(rounded(k)) for n, k in wanted.items()}
    schemes = find(tally).schemes
    assert schemes["inv_var"].value == schemes["edge"].value


@pytest.mark.parametrize(
    ("scheme", "a", "b", "scale"),
    [
        ("edge", 0, 0, 1),
        ("annotations_m1", Fraction(1, 4), 0, 1),
        ("annotations", Fraction(1, 2), 0, 2),
        ("flat", 1, 1, 1),
    ],
)
def test_family_holds_the_simple_schemes(scheme: str, a: Fraction, b: int, scale: int) -> None:
    counts = [2, 3, 4, 5, 10, 99, 1_000]
    tally = tally_of([["a"] * n for n in counts])
    assert weigh(scheme, tally).by_n == {n: scale * family(n, a, b) for n in counts}


def test_family_is_the_formula_of_math_section_3() -> None:
    for n, a, b in product([2, 3, 4, 7], [Fraction(0), Fraction(1, 3)], [Fraction(0), Fraction(2, 7)]):
        assert family(n, a, b) == Fraction(comb(n, 2)) / (1 + 2 * (n - 2) * a + comb(n - 2, 2) * b)


def test_family_holds_inverse_variance_with_a_from_the_class_distribution() -> None:
    tally = tally_of(parse("aab aaaa ab aaaab aaaaaaa bba"))
    zeta1, zeta2 = zetas(tally.pairable_labels.values())
    weights = weigh("inv_var_class", tally).by_n
    for n, weight in weights.items():
        assert float(weight) == pytest.approx(float(family(n, zeta1 / zeta2, 0) / zeta2), rel=1e-15)
        assert float(weight) == pytest.approx(1 / item_variance(n, tally.pairable_labels.values()), rel=1e-15)


# The two zetas -------------------------------------------------------------------------------------


@given(st.lists(st.integers(0, 10**12), min_size=1, max_size=8).filter(any))
def test_zetas_are_bounded_for_every_class_distribution(counts: list[int]) -> None:
    zeta1, zeta2 = zetas(counts)
    p = [Fraction(count, sum(counts)) for count in counts]
    s = sum(share**2 for share in p)
    assert zeta1 == sum(share * (share - s) ** 2 for share in p) >= 0
    assert zeta2 == s * (1 - s)
    assert 2 * zeta1 <= zeta2 <= Fraction(1, 4)


@given(st.integers(2, 10**6), st.lists(st.integers(1, 10**9), min_size=1, max_size=6))
@examples(25)
def test_variance_is_never_negative_and_falls_with_n(n: int, counts: list[int]) -> None:
    assert 0 <= item_variance(n + 1, counts) <= item_variance(n, counts) <= 0.25


@pytest.mark.parametrize("rare", [10**-k for k in range(1, 17)])
def test_variance_with_p_near_1_is_within_one_ulp(rare: float) -> None:
    share = Fraction(rare)
    p = (1 - share, share)
    exact = 2 * share * (1 - share) * (1 - 2 * share * (1 - share))
    found = item_variance(2, p)
    assert found == rounded(exact)
    assert nextafter(found, 0) < exact < nextafter(found, 1)
    assert 0 < item_variance(1_000, p) < found


def test_only_proportions_and_occurring_classes_matter() -> None:
    assert zetas([3, 1]) == zetas([6, 0, 2]) == zetas([0.75, 0.25]) == (Fraction(3, 64), Fraction(15, 64))
    assert zetas(iter([1, 1])) == (0, Fraction(1, 4))


@pytest.mark.parametrize("counts", [[], [0], [0, 0.0], [2, -1], [1, -1], [-3]])
def test_invalid_class_distributions_are_refused(counts: list[int]) -> None:
    with pytest.raises(UsageError, match=r"^class counts must be at least one positive number and none below 0$"):
        zetas(counts)


@pytest.mark.parametrize("n", [1, 0, -4])
def test_an_item_without_pairs_has_no_variance(n: int) -> None:
    with pytest.raises(UsageError, match=rf"^n={n}: an item with fewer than 2 annotations has no agreement$"):
        item_variance(n, [1, 1])
