"""How much is tested: more when asked to be thorough, less where kernels are interpreted."""

from __future__ import annotations

import os

import numba
import pytest

THOROUGH = os.environ.get("HYPOTHESIS_PROFILE") == "thorough"

# `make thorough` sets it: all cases, and tests that take minutes.
WHOLE_RUN = os.environ.get("SKLEARN_PROBSR_CASES") == "whole"

# NUMBA_DISABLE_JIT=1 sets it; a step of a kernel then takes a few hundred times as long.
INTERPRETED = bool(numba.config.DISABLE_JIT)

long_loops = pytest.mark.skipif(INTERPRETED, reason="takes minutes where kernels are interpreted")

WHOLE = pytest.mark.skipif(not WHOLE_RUN, reason="takes minutes: make thorough")


def examples(many: int) -> int:
    """Return how many examples Hypothesis is to draw; half of what is worth it in every run."""
    if INTERPRETED:
        return 5
    return 4 * many if THOROUGH else many // 2


def cases(many: int, few: int = 1) -> range:
    """Return the seeds of many cases, or of a few where kernels are interpreted."""
    return range(few if INTERPRETED else many)
