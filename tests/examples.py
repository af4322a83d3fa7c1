"""How many examples a law is tried on: some in ``make test``, and FUZZ times as many in ``make fuzz``."""

from __future__ import annotations

import os
from typing import Any

from hypothesis import settings

TIMES = int(os.environ.get("FUZZ", "1"))


def examples(number: int, **options: Any) -> settings:
    """Try the law on so many examples, whose time is not limited: machines are shared and noisy."""
    return settings(max_examples=number * TIMES, deadline=None, **options)
