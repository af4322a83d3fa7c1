"""A simulated project, replayed fast: agreement drifts in the middle, one annotator is careless, and a change
of the guidelines helps.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator
from contextlib import suppress

from spagree.monitor.hub import Hub
from spagree.monitor.ledger import Annotation
from spagree.monitor.store import BusyError, StoreError

PROJECT, QUESTION, SOURCE = "demo", "sentiment", "demo"
PEOPLE = ("ann", "bob", "cyd", "dan", "eva", "fay", "gus", "hal", "ida", "jon")
CARELESS = "kim"
LABELS = ("negative", "neutral", "positive")
ITEMS, PER_ITEM = 2100, 3
DRIFT, HELP = 0.4, 0.75  # shares of the project
SECONDS = 20.0  # between two annotations, in the project's time
A_SECOND = 120  # annotations replayed per second
MARK = "Guidelines 2: what counts as neutral"


def replayed(seed: int = 1) -> Iterator[tuple[float, Annotation]]:
    """Every annotation in order, with the share of the project that is done; the last is about now."""
    chance = random.Random(seed)  # noqa: S311 (a simulation)
    start = time.time() - ITEMS * PER_ITEM * SECONDS
    number = 0
    for item in range(ITEMS):
        done = item / ITEMS
        truth = chance.choices(LABELS, (3, 3, 4))[0]
        for who in chance.sample((*PEOPLE, CARELESS), PER_ITEM):
            number += 1
            label = _label(chance, truth, who, done)
            fields = (PROJECT, QUESTION, SOURCE, str(number), f"text {item + 1}", who, label, 1.0)
            yield done, Annotation(*fields, start + number * SECONDS)


def _label(chance: random.Random, truth: str, who: str, done: float) -> str:
    if who == CARELESS and chance.random() < 0.7:  # noqa: PLR2004
        return chance.choice(LABELS)
    is_drifting = DRIFT <= done < HELP and truth != "negative"
    if chance.random() < (0.45 if is_drifting else 0.04 if done >= HELP else 0.08):
        return "neutral" if truth != "neutral" else "positive"
    return truth


def replay(hub: Hub, stop: threading.Event) -> None:
    """Send the project's annotations one by one, until told to stop."""
    is_marked = False
    for done, annotation in replayed():
        if done >= HELP and not is_marked and annotation.time is not None:
            hub.mark(PROJECT, MARK, annotation.time)
            is_marked = True
        with suppress(BusyError, StoreError):
            hub.take_now([annotation])
        if stop.wait(1 / A_SECOND):
            return
