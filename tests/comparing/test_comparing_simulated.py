"""How often intervals hold and verdicts are wrong, on data made here: the study in docs/studies has the long runs."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import spagree
from spagree.counts.coded import in_order
from spagree.estimate.models import ModelFindings, among_people
from spagree.estimate.uncertainty import Estimate

ROUNDS = 60
LEAST = 0.88  # 0.95 less two and a half standard errors of 60 rounds


class World:
    """Items with a right answer and a difficulty; people of unequal care, who fall back on common labels."""

    def __init__(self, rng: np.random.Generator, items: int, shares: tuple[float, ...] = (0.5, 0.3, 0.2)) -> None:
        self.rng, self.shares = rng, np.array(shares)
        self.right = rng.choice(len(shares), items, p=self.shares)
        self.ease = rng.beta(3, 1, items)

    def annotate(self, items: range, people: np.ndarray, per_item: tuple[int, int], lapse: float = 0.0) -> np.ndarray:
        """Rows of item, person, label: each item by some of the people, drawn afresh."""
        sizes = self.rng.integers(per_item[0], per_item[1] + 1, len(items))
        order = self.rng.random((len(items), len(people))).argsort(axis=1)
        place, rank = np.nonzero(np.arange(len(people)) < sizes[:, None])
        item, person = np.array(items)[place], order[place, rank]
        return np.column_stack([item, person, self.labels(item, people[person] * (1 - lapse))])

    def labels(self, items: np.ndarray, care: np.ndarray | float) -> np.ndarray:
        """The right answer where the item is heeded, a common one elsewhere."""
        heeded = self.rng.random(len(items)) < care * self.ease[items]
        return np.where(heeded, self.right[items], self.rng.choice(len(self.shares), len(items), p=self.shares))

    def agreement(self, items: range, care: np.ndarray) -> float:
        """The expected agreement of two different people of these, exactly."""
        heed = np.outer(care, self.ease[list(items)])[:, :, None]
        p = heed * np.eye(len(self.shares))[self.right[list(items)]] + (1 - heed) * self.shares
        pairs = (p.sum(axis=0) ** 2).sum(axis=1) - (p**2).sum(axis=(0, 2))
        return float(pairs.mean() / (len(care) * (len(care) - 1)))


def difference(a: np.ndarray, b: np.ndarray) -> tuple[Estimate, int | None]:
    """For these people, whom the generator keeps, and how many items both rounds have."""
    rounds = ([(item, f"p{who}", str(label)) for item, who, label in rows.tolist()] for rows in (a, b))
    found = spagree.compare(*rounds, interval_for="items")
    return found.difference, found.shared_items


@pytest.mark.parametrize(
    ("items", "shared"),
    [(20, 1.0), (100, 0.5), (20, 0.0)],
    ids=["20, all items shared", "100, half of them", "20, none"],
)
def test_intervals_of_differences_hold(items: int, shared: float) -> None:
    rng = np.random.default_rng(int(items + 10 * shared))
    start = round(items * (1 - shared))
    narrow = 0.0
    care = rng.uniform(0.6, 0.95, 12)
    truths, ends = [], []
    for _ in range(ROUNDS):
        world = World(rng, items + start)
        first, second = range(items), range(start, start + items)
        a = world.annotate(first, care, (2, 4))
        b = world.annotate(second, care, (2, 3), lapse=0.2)
        gap, both = difference(a, b)
        ends.append((gap.low, gap.high))
        truths.append(world_difference(rng, care))
        narrow += gap.high - gap.low
        assert both == items - start
    truth = truths[0]
    held = np.mean([low <= truth <= high for low, high in ends])
    assert held >= LEAST
    assert narrow / ROUNDS < (0.62 if items == 20 else 0.32)


def world_difference(rng: np.random.Generator, care: np.ndarray, cache: dict[tuple[float, ...], float] = {}) -> float:  # noqa: B006
    """The difference on infinitely many items, for these people."""
    key = tuple(care.tolist())
    if key not in cache:
        world = World(np.random.default_rng(99), 20_000)
        every = range(20_000)
        cache[key] = world.agreement(every, care * 0.8) - world.agreement(every, care)
    return cache[key]


def test_sharing_items_pays() -> None:
    rng = np.random.default_rng(3)
    care = rng.uniform(0.6, 0.95, 10)
    world = World(rng, 300)
    a, b = (world.annotate(range(300), care, (2, 4)) for _ in range(2))
    moved = b.copy()
    moved[:, 0] += 1000
    paired, alone = (difference(a, each)[0] for each in (b, moved))
    assert paired.value == alone.value
    assert paired.stderr < 0.95 * alone.stderr


def compared(world: World, rows: np.ndarray, labels: np.ndarray) -> ModelFindings:
    item, person, label = rows.T.astype(np.int32)
    codes = in_order(item, label, person, [str(c) for c in range(len(world.shares))], [*map(str, range(999))])
    return among_people("m", codes, labels[None], {n: Fraction(n - 1) for n in range(2, 11)})


@pytest.mark.parametrize(
    ("items", "people", "shares"), [(60, 120, (0.5, 0.5)), (150, 20, (0.85, 0.15)), (40, 8, (0.4, 0.3, 0.3))]
)
def test_an_average_person_is_rarely_called_worse(items: int, people: int, shares: tuple[float, ...]) -> None:
    rng = np.random.default_rng(items)
    verdicts, held = [], 0
    for _ in range(ROUNDS):
        world = World(rng, items, shares)
        rows = world.annotate(range(items), rng.uniform(0.5, 1.0, people), (2, 3))
        found = compared(world, rows, world.labels(np.arange(items), 0.75))
        verdicts.append(found.verdict)
        held += found.difference.low <= 0 <= found.difference.high
    assert verdicts.count("worse") / ROUNDS <= 0.05
    assert held / ROUNDS >= LEAST


def test_a_model_below_the_margin_is_rarely_called_as_good_and_a_better_one_is_found() -> None:
    rng = np.random.default_rng(9)
    verdicts: dict[float, list[str]] = {0.45: [], 1.0: []}
    for care, told in verdicts.items():
        for _ in range(25):
            world = World(rng, 200, (0.5, 0.5))
            rows = world.annotate(range(200), rng.uniform(0.7, 0.9, 100), (3, 3))
            told.append(compared(world, rows, world.labels(np.arange(200), care)).verdict)
    assert verdicts[0.45].count("as_good") == 0
    assert verdicts[0.45].count("worse") + verdicts[0.45].count("slightly_worse") >= 13
    assert verdicts[1.0].count("better") >= 10 and verdicts[1.0].count("worse") == 0


def test_somebody_who_labels_at_random_is_worse_than_another_person() -> None:
    rng = np.random.default_rng(21)
    for _ in range(5):
        world = World(rng, 800, (0.5, 0.5))
        rows = world.annotate(range(800), np.append(0.0, rng.uniform(0.6, 1.0, 19)), (10, 10))
        coin, answers = rows[:, 1] == 0, np.full(800, -1)
        answers[rows[coin, 0]] = rows[coin, 2]
        assert compared(world, rows[~coin], answers).verdict == "worse"
