"""Why units are ranked by mean and variance: Proposition 120, over all sets."""

from fractions import Fraction
from itertools import combinations, pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from sklearn_probsr.independent.law import promises

SMALL = st.integers(-4, 6)
UNITS = st.lists(st.tuples(SMALL, st.integers(0, 5)), min_size=2, max_size=7)


def height(margin: int, free: list[tuple[int, int]]) -> tuple[int, Fraction] | None:
    """Return a number that grows with the guarantee under the normal law; None below one half."""
    above, variance = margin - sum(mean for mean, _ in free), sum(var for _, var in free)
    if above < 0:
        return None
    return (0, Fraction(above**2, variance)) if variance else (1, Fraction(0))


def slopes(units: list[tuple[int, int]]) -> list[Fraction]:
    """Return a weight of the variance between every two at which a ranking changes, and beyond."""
    crossings = {
        Fraction(i[0] - j[0], j[1] - i[1]) for i, j in combinations(units, 2) if i[1] != j[1]
    }
    ends = sorted({Fraction(0), *(at for at in crossings if at > 0)})
    return [(a + b) / 2 for a, b in pairwise(ends)] + [ends[-1] + 1]


@given(UNITS, st.integers(-8, 20))
@settings(max_examples=300)
def test_a_ranking_by_mean_and_variance_has_the_best_set(units, margin):
    """Under the normal law the best set of every size is a prefix of some ranking, from 1/2 on."""
    n = len(units)

    def worth(chosen):
        return height(margin, [units[u] for u in range(n) if u not in chosen])

    orders = [sorted(range(n), key=lambda u: -units[u][0] - s * units[u][1]) for s in slopes(units)]
    for size in range(n + 1):
        known = [worth(set(chosen)) for chosen in combinations(range(n), size)]
        best = max((w for w in known if w is not None), default=None)
        if best is not None:
            assert best in [worth(set(order[:size])) for order in orders]


def test_below_one_half_variance_helps():
    """Where no set reaches one half, no such ranking need have the best one."""
    units, margin = [(1, 0), (1, 4)], -1
    after = [(margin - mean) / variance**0.5 if variance else -np.inf for mean, variance in units]
    # Fixing the first leaves variance, and a chance; by mean and variance the second comes first.
    assert after[1] > after[0]
    assert sorted(range(2), key=lambda u: -units[u][0] - 0.1 * units[u][1])[0] == 1


def test_proposals_are_such_rankings():
    """The keys of all proposals but the last are means with more and more variance."""
    mean, variance = np.array([0.3, 0.1, 0.2]), np.array([0.0, 0.5, 0.2])
    *keys, last = promises(np.array([1.0, 2.0, 3.0]), mean, variance, 2.0)
    shares = [(key - mean)[1] / variance[1] for key in keys]
    assert shares == sorted(shares)
    assert shares[0] == 0
    assert last.tolist() == [1.0, 2.0, 3.0]
