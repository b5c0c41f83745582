"""What is above what before all that is always free, on divided tables, against all sets."""

from fractions import Fraction
from functools import cache
from itertools import combinations

import numpy as np

from sklearn_probsr import LinearModel, Product
from sklearn_probsr.core.jit import kernel
from sklearn_probsr.core.options import Task
from sklearn_probsr.extend import law_of
from sklearn_probsr.independent.context import compare
from sklearn_probsr.independent.refute import Scene
from tests.interpreted import long_loops


@kernel
def compared(table, scene, variance, forced, candidates, above, size):
    """Compare candidates; kernels that only kernels call have no door to Python."""
    return compare(table, scene, variance, forced, candidates, above, size)


def added(masses: np.ndarray, cost: int, chance: float) -> np.ndarray:
    """Return the distribution of a sum of integers with one more random cost."""
    grown: np.ndarray = (1 - chance) * masses + chance * np.roll(masses, cost)
    return grown


@long_loops
def test_the_order_in_context():
    """Putting one in place of another that it is above never lowers the guarantee of any set.

    What is left out is below as many others as a set may have.
    """
    found = np.sum([checked(seed) for seed in range(12)], axis=0)
    assert (found > [20, 10]).all()


def checked(seed: int) -> tuple[int, int]:
    """Check what is said of some candidates; return how many pairs, and how many left out."""
    rng = np.random.default_rng(seed)
    d, n, size = 140, 6, int(rng.integers(1, 5))
    weights = np.round(rng.standard_normal(d) * 1000)
    p = rng.integers(1, 20, d) / 20
    x = np.where(rng.random(d) < 0.7, weights > 0, weights < 0)
    spread = float(np.sqrt((weights**2 * p * (1 - p)).sum()))
    model = LinearModel(weights, float(np.round(weights @ p - spread)))
    positive = bool(model.predict([x])[0])
    law = law_of(model, Product(p))
    batch = law._batch(x[None, :], positive, np.zeros(1, dtype=np.intp), Task(Fraction(9, 10)))
    costs = ((1 if positive else -1) * weights * (2 * x - 1)).astype(int)
    candidates = np.argsort(-costs)[:40][rng.permutation(40)[:n]]
    rows, tables = batch.rows, law.tables
    scene = Scene(rows.gain[0], rows.cut[0], rows.blur[0], positive, rows.far)
    units, above = candidates.copy(), np.zeros((n, n), dtype=np.bool_)
    nothing = np.empty(0, dtype=np.int64)
    left = compared(tables.sharp(n), scene, tables.variance, nothing, units, above, size)
    left_out = sorted(set(candidates.tolist()) - set(units[:left].tolist()))
    margin = int(weights @ x - model.threshold)
    margin, chances = (margin if positive else -margin - 1), np.where(x, 1 - p, p)
    low = int(np.minimum(costs, 0).sum())
    always = np.zeros(int(np.abs(costs).sum()) + 1)
    always[-low] = 1.0
    for u in set(range(d)) - set(candidates.tolist()):
        always = added(always, int(costs[u]), chances[u])

    @cache
    def share(fixed: frozenset[int]) -> float:
        masses = always
        for u in set(candidates.tolist()) - fixed:
            masses = added(masses, int(costs[u]), chances[u])
        return float(masses[: max(margin - low + 1, 0)].sum())

    for a, b in zip(*np.nonzero(above[:left, :left]), strict=True):
        others = [u for u in candidates.tolist() if u not in {units[a], units[b]}]
        for k in range(size):
            for rest in map(frozenset, combinations(others, k)):
                assert share(rest | {units[a]}) >= share(rest | {units[b]}) - 1e-12
    best = max(map(share, map(frozenset, combinations(candidates.tolist(), size))))
    kept = map(frozenset, combinations(units[:left].tolist(), min(size, left)))
    assert max(map(share, kept)) >= best - 1e-12
    return int(above[:left, :left].sum()), len(left_out)
