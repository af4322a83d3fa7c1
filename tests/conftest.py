"""Settings all tests share."""

import pytest
from hypothesis import settings

from command import Run

# The machines are shared and noisy: no time limits. Derandomised, so that a red run can be repeated.
settings.register_profile("spagree", deadline=None, derandomize=True)
settings.load_profile("spagree")


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    return Run(capsys)
