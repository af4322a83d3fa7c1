"""Two teams under one guideline agree alike; docs/studies/compare.md has more designs and repetitions."""

from __future__ import annotations

import numpy as np
import polars
import pytest

import spagree
from spagree.estimate.comparison import p_of
from spagree.estimate.uncertainty import ANNOTATORS, ITEMS, leading

REPETITIONS = 60


def annotations(rng: np.random.Generator, people: list[str], skill: np.ndarray, items: np.ndarray) -> polars.DataFrame:
    """Three of the people label each item; who is unsure guesses."""
    who = np.argsort(rng.random((len(items), len(people))), axis=1)[:, :3].ravel()
    item = np.repeat(np.arange(len(items)), 3)
    knows = rng.random(len(item)) < 1 / (1 + np.exp(rng.normal(0, 1.5, len(items))[item] - skill[who]))
    label = np.where(knows, items[item] % 3, rng.integers(0, 3, len(item)))
    columns = {"item": items[item], "annotator": [people[each] for each in who], "label": label.astype(str)}
    return polars.DataFrame(columns)


@pytest.mark.parametrize("design", ["rounds", "groups"])
def test_teams_are_rarely_declared_different(design: str) -> None:
    """By items alone they are in a third of the projects: the interval for other annotators has to decide."""
    told = {ITEMS: 0, ANNOTATORS: 0}
    verdicts = 0
    for seed in range(REPETITIONS):
        rng = np.random.default_rng(seed)
        teams = [
            annotations(
                rng, [f"{team}{who}" for who in range(8)], rng.normal(1.5, 1.2, 8), np.arange(300) + 300 * place
            )
            for place, team in enumerate("ab")
        ]
        if design == "rounds":
            pair = spagree.compare(*teams).pairs[0]
        else:
            same = [
                team.with_columns(polars.col("item") % 300, team=polars.lit(name))
                for team, name in zip(teams, "ab", strict=False)
            ]
            (pair,) = spagree.measure(polars.concat(same), by="team").groups.differences
        for name in told:
            told[name] += p_of(leading(pair.difference, pair.difference.intervals, name)) < 0.05
        verdicts += pair.verdict in ("agrees_more", "agrees_less")
    assert verdicts == told[ANNOTATORS] <= 0.12 * REPETITIONS  # 0.05 and two and a half standard errors
    assert told[ITEMS] >= 0.25 * REPETITIONS


def test_the_same_people_are_seen_to_improve() -> None:
    """What a person is like cancels where the same people annotate twice."""
    seen = {"same": 0, "other": 0}
    for seed in range(25):
        rng = np.random.default_rng(seed)
        skill = rng.normal(1.2, 1.2, 16)
        names = [f"p{who}" for who in range(16)]
        first = annotations(rng, names[:8], skill[:8], np.arange(400))
        for kind, chosen in (("same", slice(0, 8)), ("other", slice(8, 16))):
            later = annotations(rng, names[chosen], skill[chosen] + 1.2, np.arange(400) + 400)
            seen[kind] += spagree.compare(first, later).verdict == "agrees_more"
    assert seen["same"] >= 20 > seen["other"]
