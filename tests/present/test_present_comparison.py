"""What comparisons say: every verdict in words, the whole contract in JSON, the figures in tables."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

import spagree
from spagree import __version__
from spagree.comparing import Comparison, ModelComparison
from spagree.counts.tally import Tally
from spagree.estimate.chance import Corrected
from spagree.estimate.comparison import Pair, Side, p_of
from spagree.estimate.models import AlternativeTest, ClassAgreement, ModelFindings
from spagree.estimate.uncertainty import Estimate, Interval, leading, undefined
from spagree.present.sentences import beside, model_sentence, pair_sentence
from spagree.present.words import span

SPA_A, SPA_B = (Estimate(value, None, None, None, 0.95, "annotations_m1") for value in (0.70, 0.76))
ALPHA_A, ALPHA_B = (
    Corrected(value, None, None, None, 0.95, "annotations", observed=observed, expected=0.5)
    for value, observed in ((0.40, 0.70), (0.52, 0.76))
)


def known(figure: Estimate, half: float) -> Estimate:
    ends = Interval(half / 2, figure.value - half, figure.value + half)
    return leading(figure, {"items": ends, "annotators": Interval(None, None, None, "too few people")})


A = Side("round 1", {"spa": known(SPA_A, 0.04), "krippendorff_alpha": known(ALPHA_A, 0.08)})
B = Side("round 2", {"spa": known(SPA_B, 0.04), "krippendorff_alpha": known(ALPHA_B, 0.08)})


def gap(value: float, low: float, high: float, others: tuple[float, float] | str = "too few people") -> Estimate:
    wider = Interval(None, None, None, others) if isinstance(others, str) else Interval(0.03, *others)
    plain = Estimate(value, None, None, None, 0.95, "annotations_m1")
    return leading(plain, {"items": Interval(0.02, low, high), "annotators": wider})


def pair(difference: Estimate, p_holm: float | None = 0.001, **changes: object) -> Pair:
    gaps = {"spa": difference, "krippendorff_alpha": gap((difference.value or 0) * 2, 0.04, 0.2)}
    found = Pair(A, B, gaps, 120, 7, p_holm=p_holm)
    return replace(found, **changes)


MORE = gap(0.06, 0.02, 0.10)
BOTH = gap(0.06, 0.02, 0.10, (0.01, 0.11))


@pytest.mark.parametrize(
    ("difference", "p_holm", "words"),
    [
        (BOTH, 0.001, "round 2 agrees more than round 1: +0.060, 0.010 to 0.110, p = 0.001."),
        (MORE, 0.001, "round 2 agrees more than round 1: +0.060, 0.020 to 0.100 for these annotators, p = 0.001."),
        (
            gap(-0.06, -0.10, -0.02),
            0.001,
            "round 2 agrees less than round 1: −0.060, −0.100 to −0.020 for these annotators, p = 0.001.",
        ),
        (
            BOTH,
            0.2,
            "There is not enough data to tell whether round 2 agrees more than round 1: +0.060, 0.010 to 0.110, p = 0.200.",
        ),
        (undefined("no pairs", 0.95, "flat"), None, "round 2 and round 1 cannot be compared: no pairs."),
        (replace(SPA_A, undefined="one item"), None, "round 2 and round 1 cannot be compared: one item."),
    ],
)
def test_sentences(difference: Estimate, p_holm: float | None, words: str) -> None:
    assert pair_sentence(pair(difference, p_holm)) == words


def test_the_same_annotations_are_said_to_be_the_same() -> None:
    same = pair(gap(0, 0, 0, (0, 0)), 1.0, is_same=True)
    assert (
        pair_sentence(same) == "round 2 and round 1 are the same: nothing differs between them." and beside(same) == ""
    )


def test_other_shares_of_the_labels_are_named() -> None:
    even, skewed = (Tally.from_items([{"yes": 2}] * yes + [{"no": 2}] * (10 - yes)) for yes in (5, 9))
    b = replace(B, figures=B.figures | {"krippendorff_alpha": replace(ALPHA_B, value=0.41, expected=0.6)}, tally=skewed)
    gaps = {"spa": BOTH, "krippendorff_alpha": gap(0.01, -0.1, 0.12, (-0.2, 0.22))}
    found = pair(BOTH, a=replace(A, tally=even), b=b, differences=gaps)
    assert pair_sentence(found) == (
        "round 2 shows more agreement than round 1 (+0.060, 0.010 to 0.110, p = 0.001), but its labels are used in other shares, "
        "and nothing shows that people agree better: 'yes' went from 50% to 90% of the labels, alpha +0.010, −0.200 to "
        "0.220."
    ).replace("'yes'", "yes")
    one_label = replace(found, differences=gaps | {"krippendorff_alpha": undefined("one label", 0.95, "annotations")})
    assert pair_sentence(one_label).endswith("alpha undefined.")


def test_the_interval_that_does_not_decide_stands_beside() -> None:
    assert beside(pair(BOTH)) == "These annotators, on new items: 0.020 to 0.100."
    forced = leading(BOTH, BOTH.intervals, "items")
    assert beside(pair(forced)) == "Other annotators like these: 0.010 to 0.110."
    assert beside(pair(MORE)) == "Other annotators: not known: too few people."
    for unknown in (0, None):
        words = beside(pair(MORE, shared_annotators=unknown))
        assert words == "Different people may explain a difference; whether they do is not known: too few people."
    assert beside(pair(undefined("no pairs", 0.95, "flat"))) == ""


def test_names_cannot_steer_the_terminal() -> None:
    hostile = replace(B, name="\x1b[31mred")
    assert "\x1b" not in pair_sentence(pair(MORE, b=hostile))
    found = Comparison((A, hostile), (pair(MORE, b=hostile),), {})
    assert "\x1b" not in str(found) and "<script" not in found._repr_html_()
    marked = replace(B, name="<script>")
    assert "&lt;script&gt;" in Comparison((A, marked), (pair(MORE, b=marked),), {})._repr_html_()


def test_document_of_two() -> None:
    found = Comparison((A, B), (pair(BOTH),), {})
    document = json.loads(found.to_json())
    assert document == found.to_dict()
    assert document["difference"] == {
        "value": 0.06,
        "stderr": 0.03,
        "low": 0.01,
        "high": 0.11,
        "level": 0.95,
        "p": p_of(BOTH),
        "interval_for": "annotators",
        "intervals": {
            "items": {"low": 0.02, "high": 0.10, "stderr": 0.02},
            "annotators": {"low": 0.01, "high": 0.11, "stderr": 0.03},
        },
    }
    assert {name: document["a"]["spa"][name] for name in ("value", "low", "interval_for")} == {
        "value": 0.70,
        "low": pytest.approx(0.66),
        "interval_for": "items",
    }
    assert document["a"]["spa"]["intervals"]["annotators"]["undefined"] == "too few people"
    assert document["b"]["krippendorff_alpha"]["value"] == 0.52
    plain = ("format", "spagree", "shared_items", "shared_annotators", "p_holm", "verdict", "due_to_labels")
    assert [document[name] for name in plain] == [1, __version__, 120, 7, 0.001, "agrees_more", 0.0]
    assert document["kappa_difference"]["low"] == 0.04


def test_undefined_figures_are_null_with_a_reason() -> None:
    nothing = undefined("no pairs", 0.95, "flat")
    lone = Estimate(1.0, None, None, None, 0.95, "flat", undefined="one item")
    sides = replace(A, figures=A.figures | {"spa": lone}), replace(B, figures=B.figures | {"spa": nothing})
    found = Comparison(sides, (pair(nothing, None, a=sides[0], b=sides[1], shared_items=None),), {})
    document = found.to_dict()
    assert document["b"]["spa"] == {"value": None, "undefined": "no pairs"}
    assert document["a"]["spa"]["undefined"] == "one item" and document["a"]["spa"]["low"] is None
    assert document["difference"] == {"value": None, "undefined": "no pairs"} and document["p_holm"] is None
    partly = pair(replace(SPA_A, undefined="one item"), None)
    assert Comparison((A, B), (partly,), {}).to_dict()["difference"]["undefined"] == "one item"
    text = " ".join(str(found).split())
    assert "undefined" in text and "treated as different items" in text


def test_interval_of_a_difference() -> None:
    assert span(undefined("none", 0.95, "flat")) == "undefined"
    assert span(gap(0, -0.1, 0.1)) == "−0.100 to 0.100"


# Models --------------------------------------------------------------------------------------


def figure(value: float, low: float, high: float) -> Estimate:
    intervals = {"annotators": Interval(0.02, low, high)}
    return Estimate(value, 0.02, low, high, 0.95, "flat", interval_for="annotators", intervals=intervals)


UNKNOWN = Estimate(None, None, None, None, 0.95, "flat", undefined="no item")


def model(**changes: object) -> ModelFindings:
    found = ModelFindings(
        name="gpt",
        with_humans=figure(0.70, 0.66, 0.74),
        humans=figure(0.68, 0.64, 0.72),
        difference=figure(0.02, -0.01, 0.05),
        margin=0.05,
        items=300,
        humans_count=40,
        left_out={"no_model_label": 12, "fewer_than_two_people": 1},
        runs=1,
        self_agreement=None,
        classes=(
            ClassAgreement("yes", figure(0.8, 0.7, 0.9), figure(0.7, 0.6, 0.8), figure(0.1, 0.02, 0.18), 0.02),
            ClassAgreement("no", figure(0.6, 0.5, 0.7), figure(0.6, 0.5, 0.7), figure(0.0, -0.1, 0.1), 1.0),
        ),
        alternative=AlternativeTest(0.75, 0.81, 0.1, 8, 32, 400, 500),
        labels={"yes": 200, "no": 100},
    )
    return replace(found, **changes)


@pytest.mark.parametrize(
    ("difference", "words"),
    [
        (figure(0.05, 0.02, 0.08), "gpt agrees with people more than another person does: +0.050, 0.020 to 0.080."),
        (
            figure(0.02, -0.01, 0.05),
            "gpt agrees with people as well as a person does, within 0.05: +0.020, −0.010 to 0.050.",
        ),
        (
            figure(-0.06, -0.1, -0.02),
            "gpt agrees with people less than a person does, though perhaps by no more than 0.05: "
            "−0.060, −0.100 to −0.020.",
        ),
        (
            figure(-0.1, -0.14, -0.06),
            "gpt agrees with people less than a person does, by more than 0.05: −0.100, −0.140 to −0.060.",
        ),
        (
            figure(0.02, -0.06, 0.1),
            "There is not enough data to tell whether gpt agrees with people as well as a person: "
            "+0.020, −0.060 to 0.100.",
        ),
        (UNKNOWN, "gpt cannot be compared with people: no item."),
    ],
)
def test_sentences_about_models(difference: Estimate, words: str) -> None:
    assert model_sentence(model(difference=difference)) == words


def test_details_of_a_model() -> None:
    lines = str(ModelComparison({"gpt": model()})).splitlines()
    text = " ".join(" ".join(lines).split())
    assert "gpt: 300 items, 40 people; 95% interval for other annotators like these, on new items." in text
    assert "Left out: 12 items without a label of the model." in text
    assert "Left out: 1 item with fewer than two people." in text
    assert "Classes on which gpt differs from a person, out of 2" in text
    assert not any(line.startswith("no ") for line in lines)
    few = str(ModelComparison({"gpt": model(humans_count=None, classes=(), left_out={})}))
    assert "people unknown" in few and "Left out" not in few and "Classes on which" not in few


def test_the_alternative_test_is_a_figure_in_json_and_nowhere_else() -> None:
    shown = ModelComparison({"gpt": model()})
    test = shown.to_dict()["models"]["gpt"]["alternative_annotator_test"]
    counts = {"annotators": 8, "annotators_left_out": 32, "annotations": 400, "annotations_left_out": 500}
    reference = test.pop("reference")
    assert test == {"omega": 0.75, "rho": 0.81, "epsilon": 0.1, **counts} and "Calderon" in reference
    assert not any(word in str(shown) for word in ("ω", "ρ", "lternative"))
    nobody = model(alternative=AlternativeTest(None, None, 0.1, 0, 40, 0, 900))
    test = ModelComparison({"gpt": nobody}).to_dict()["models"]["gpt"]["alternative_annotator_test"]
    assert test["omega"] is None and test["undefined"] == "nobody labelled 30 items"
    assert (
        "alternative_annotator_test" not in ModelComparison({"gpt": model(alternative=None)}).to_dict()["models"]["gpt"]
    )


def test_document_of_a_model() -> None:
    runs = Estimate(0.9, 0.01, 0.88, 0.92, 0.95, "annotations_m1", intervals={"items": Interval(0.01, 0.88, 0.92)})
    shown = ModelComparison({"gpt": model(runs=3, self_agreement=runs)})
    document = shown.to_dict()
    found = document["models"]["gpt"]
    assert document["format"] == 1 and list(document["models"]) == ["gpt"]
    assert found["with_humans"] == {
        "value": 0.70,
        "stderr": 0.02,
        "low": 0.66,
        "high": 0.74,
        "level": 0.95,
        "interval_for": "annotators",
        "intervals": {"annotators": {"low": 0.66, "high": 0.74, "stderr": 0.02}},
    }
    assert (found["margin"], found["verdict"], found["items"], found["humans_count"]) == (0.05, "as_good", 300, 40)
    assert found["items_left_out"] == {"no_model_label": 12, "fewer_than_two_people": 1}
    assert found["runs"] == 3 and found["self_agreement"]["low"] == 0.88
    assert found["classes"][0]["label"] == "yes" and found["classes"][0]["difference"]["value"] == 0.1
    assert "3 runs of the model agree with each other 0.900 (0.880 to 0.920)." in " ".join(str(shown).split())
    lone = model(with_humans=replace(UNKNOWN, value=1.0, undefined="one item"), humans=UNKNOWN)
    undefined = ModelComparison({"gpt": lone}).to_dict()["models"]["gpt"]
    assert undefined["humans"] == {"value": None, "undefined": "no item"}
    assert undefined["with_humans"]["low"] is None and undefined["with_humans"]["undefined"] == "one item"


def test_public_names() -> None:
    assert spagree.Comparison is Comparison and spagree.ModelComparison is ModelComparison
