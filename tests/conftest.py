"""Settings all tests share."""

from hypothesis import settings

# The machines are shared and noisy: no time limits. Derandomised, so that a red run can be repeated.
settings.register_profile("spagree", deadline=None, derandomize=True)
settings.load_profile("spagree")
