"""How many examples a law is tried on: some in ``make test``, and FUZZ times as many where the environment names it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import product
from typing import Any

from hypothesis import Phase, settings

TIMES = int(os.environ.get("FUZZ", "1"))


def combinations(*factors: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Every value of each factor, each time beside other values of the others.

    Every combination where FUZZ or EVERY_CASE is set.
    """
    if TIMES > 1 or "EVERY_CASE" in os.environ:
        return list(product(*factors))
    turns = max(len(factor) for factor in factors)
    found = [
        tuple(factor[(turn + shift * place) % len(factor)] for place, factor in enumerate(factors))
        for shift in range(2)
        for turn in range(turns)
    ]
    return list(dict.fromkeys(found))


def examples(number: int, **options: Any) -> settings:
    """Try the law on so many examples, whose time is not limited: machines are shared and noisy.

    To kill a mutant any example will do: a run of mutants does not look for the smallest.
    """
    if "MUTANT_UNDER_TEST" in os.environ:
        options["phases"] = [Phase.explicit, Phase.generate]
    return settings(max_examples=number * TIMES, deadline=None, **options)
