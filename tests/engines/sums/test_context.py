"""What is above what before all that is always free, against all sets."""

from fractions import Fraction
from functools import cache
from itertools import combinations

import numpy as np

from sklearn_probsr import LinearModel, Product
from sklearn_probsr.core.options import Task
from sklearn_probsr.engines.sums._context import compare
from sklearn_probsr.engines.sums._stochastic_order import within
from sklearn_probsr.engines.sums._up_sets import count_up_sets
from sklearn_probsr.extend import law_of
from sklearn_probsr.independent.sources import Given
from sklearn_probsr.laws.sums._independent import IndependentLaw
from sklearn_probsr.laws.sums._refuter import Refuter
from tests.interpreted import long_loops


def added(masses: np.ndarray, cost: int, chance: float) -> np.ndarray:
    """Return the distribution of a sum of integers with one more random cost."""
    grown: np.ndarray = (1 - chance) * masses + chance * np.roll(masses, cost)
    return grown


@long_loops
def test_the_order_in_context():
    """Putting one in place of another that it is above never lowers the guarantee of any set."""
    assert sum(edges_checked(seed) for seed in range(12)) > 20


def edges_checked(seed: int) -> int:
    """Check what is above what among some candidates; return how many pairs that were."""
    rng = np.random.default_rng(seed)
    d, n, size = 140, 6, int(rng.integers(1, 5))
    weights = np.round(rng.standard_normal(d) * 1000)
    p = rng.integers(1, 20, d) / 20
    x = np.where(rng.random(d) < 0.7, weights > 0, weights < 0)
    spread = float(np.sqrt((weights**2 * p * (1 - p)).sum()))
    model = LinearModel(weights, float(np.round(weights @ p - spread)))
    positive = bool(model.predict([x])[0])
    law = law_of(model, Product(p))
    shared = law.spectra(positive, whole=False)
    assert shared is not None
    task = Task(Fraction(9, 10))
    refuter = Refuter(law.contributions, shared, x[None, :], positive, task)
    costs = ((1 if positive else -1) * weights * (2 * x - 1)).astype(int)
    known = np.array([u for u in np.argsort(-costs) if u in shared.broad])
    candidates = refuter._position[rng.permutation(known[:40])[:n]]
    nothing = np.zeros((n, n), dtype=bool)
    kept, above = compare(
        shared.wide, refuter._scene(0), candidates, nothing, size, refuter._rest, 2**40
    )
    units = refuter._units[kept].tolist()
    left = int(weights @ x - model.threshold)
    margin, chances = (left if positive else -left - 1), np.where(x, 1 - p, p)
    low = int(np.minimum(costs, 0).sum())
    always = np.zeros(int(np.abs(costs).sum()) + 1)
    always[-low] = 1.0
    for u in set(range(d)) - set(units):
        always = added(always, int(costs[u]), chances[u])

    @cache
    def share(fixed: frozenset[int]) -> float:
        masses = always
        for u in set(units) - fixed:
            masses = added(masses, int(costs[u]), chances[u])
        return float(masses[: max(margin - low + 1, 0)].sum())

    for a, b in zip(*np.nonzero(above), strict=True):
        others = [u for u in units if u not in {units[a], units[b]}]
        for k in range(size):
            for rest in map(frozenset, combinations(others, k)):
                assert share(rest | {units[a]}) >= share(rest | {units[b]}) - 1e-12
    return int(above.sum())


@long_loops
def test_the_order_in_context_tells_much():
    """Where the stochastic order leaves thousands of up-sets, that in context leaves a handful."""
    rng = np.random.default_rng(0)
    d, size = 300, 8
    weights, p = rng.standard_normal(d), rng.uniform(0.05, 0.95, d)
    x = weights > 0
    model = LinearModel(weights, float(weights @ p))
    product = Product(np.round(p, 3))
    law = IndependentLaw(model, product, Given(model, product))
    shared = law.spectra(True, whole=False)
    assert shared is not None
    refuter = Refuter(law.contributions, shared, x[None, :], True, Task(Fraction(19, 20)))
    laws, of = refuter._laws(0)
    _, chosen = refuter._candidates(0, size, laws, of)
    above = within(laws, of[chosen])
    at, fewer = compare(
        shared.wide, refuter._scene(0), refuter._position[chosen], above, size, refuter._rest, 2**40
    )
    assert count_up_sets(above, size, False, 10_000) > 1000
    assert count_up_sets(fewer, size, False, 10_000) < 100
    assert len(at) < len(chosen)
