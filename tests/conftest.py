"""Hypothesis profiles: HYPOTHESIS_PROFILE=thorough searches longer than the default, "ci"."""

import os

from hypothesis import HealthCheck, settings

from tests.interpreted import examples

# Derandomized, so that a run fails for a change and never by chance. No deadline and no complaint
# about slow generation: the first example may wait for Numba to compile.
settings.register_profile(
    "ci",
    derandomize=True,
    database=None,
    deadline=None,
    max_examples=examples(120),
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("thorough", settings.get_profile("ci"), derandomize=False)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))
