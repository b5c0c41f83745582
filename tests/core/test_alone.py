"""What tables tell of sets of independent units, by themselves, against brute force in integers."""

from __future__ import annotations

import pytest

from sklearn_probsr.core.options import Limits
from tests.benchmarks.agreement import LEVELS
from tests.benchmarks.alone import ALONE, MAKERS, agreement

CASES = range(2_000, 2_024)


@pytest.mark.parametrize("kind", MAKERS)
def test_branch_and_bound_alone(kind: str):
    """No claim is false, and nearly all of the least sizes are found and proved."""
    found = agreement(kind, ALONE, LEVELS, CASES)
    assert found.false == 0
    assert found.equal >= len(CASES) - 1
    assert found.claimed >= 0.8 * len(CASES)


@pytest.mark.parametrize("kind", MAKERS)
def test_certainty(kind: str):
    """At delta = 1 every least size is found and proved."""
    found = agreement(kind, Limits(), (1,), CASES)
    assert (found.false, found.equal, found.claimed) == (0, len(CASES), len(CASES))
