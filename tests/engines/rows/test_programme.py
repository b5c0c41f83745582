"""Bounds on the size of sets over background rows, against all sets."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sklearn_probsr.engines.rows import _programme
from sklearn_probsr.engines.rows._counts import Rows, kept_weight
from sklearn_probsr.engines.rows._needs import needs_of
from sklearn_probsr.engines.rows._programme import solve
from tests.interpreted import examples

HUGE = 2**58


@st.composite
def rows(draw: st.DrawFn) -> Rows:
    """Draw margins and gains: small numbers with ties, or huge ones that differ by little."""
    h, n = draw(st.integers(1, 6)), draw(st.integers(1, 8))
    scale = draw(st.sampled_from([1, 7, HUGE]))
    noise = st.integers(-1, 1) if scale == HUGE else st.just(0)
    number = st.builds(lambda a, b: a * scale + b, st.integers(-3, 3), noise)

    def array(*shape: int) -> np.ndarray:
        size = int(np.prod(shape))
        values = draw(st.lists(number, min_size=size, max_size=size))
        return np.array(values, dtype=np.int64).reshape(shape)

    weights = draw(st.lists(st.sampled_from([1, 2, 1000]), min_size=n, max_size=n))
    return Rows(array(n), np.array(weights, dtype=np.int64), array(h, n))


def least(seen: Rows, needed: int) -> int:
    """Return the least size of a set that keeps a needed weight; one more than all if none."""
    h = len(seen.gains)
    for size in range(h + 1):
        for chosen in combinations(range(h), size):
            if kept_weight(seen, np.array(chosen, dtype=np.intp), 0)[0] >= needed:
                return size
    return h + 1


@settings(max_examples=examples(200))
@given(rows(), st.data())
def test_no_bound_is_too_large(seen: Rows, data: st.DataObject):
    """What HiGHS and what single rows say is at most the truth; ties in huge numbers too."""
    needed = data.draw(st.integers(1, int(seen.weights.sum())))
    below = data.draw(st.integers(1, len(seen.gains) + 1))
    truth = least(seen, needed)
    assert needs_of(seen, 0, below + 1).most_kept[:below].searchsorted(needed) <= truth
    chosen, bound = solve(seen, needed, 0, below, 10.0)
    assert bound <= min(truth, below)
    if np.abs(seen.gains).max(initial=0) < HUGE / 2:  # nothing is too close to tell
        assert bound == min(truth, below)
        if truth < below:
            assert chosen is not None
            kept, *_ = kept_weight(seen, np.flatnonzero(chosen), 0)
            assert (np.count_nonzero(chosen), kept >= needed) == (truth, True)


def test_a_programme_that_is_too_large_or_too_slow(monkeypatch: pytest.MonkeyPatch):
    """Nothing is claimed of it."""
    rng = np.random.default_rng(0)
    seen = Rows(
        -rng.integers(200, 400, 300), np.ones(300, dtype=np.int64), rng.integers(-50, 99, (60, 300))
    )
    _, bound = solve(seen, 285, 0, 30, 0.05)
    assert 0 <= bound <= 30
    monkeypatch.setattr(_programme, "_MOST_ENTRIES", 100)
    assert solve(seen, 285, 0, 30, 0.05) == (None, 0)
