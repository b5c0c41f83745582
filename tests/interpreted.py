"""Tests that also run without compiling, so that coverage sees the kernels: fewer and shorter."""

from __future__ import annotations

import numba
import pytest

# NUMBA_DISABLE_JIT=1 sets it; a step of a kernel then takes a few hundred times as long.
INTERPRETED = bool(numba.config.DISABLE_JIT)

long_loops = pytest.mark.skipif(INTERPRETED, reason="takes minutes where kernels are interpreted")


def examples(many: int) -> int:
    """Return how many examples Hypothesis is to draw."""
    return 5 if INTERPRETED else many


def cases(many: int, few: int = 1) -> range:
    """Return the seeds of many cases, or of a few where kernels are interpreted."""
    return range(few if INTERPRETED else many)
