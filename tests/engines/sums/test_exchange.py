"""What is above what, and which sets are left, against all sets."""

from fractions import Fraction
from functools import cache
from itertools import combinations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sklearn_probsr import LinearModel, Product, law_of
from sklearn_probsr.engines.sums._exchange import (
    compare,
    count_up_sets,
    list_up_sets,
    undominated,
    within,
)
from sklearn_probsr.laws._refuter import Refuter, ranked
from sklearn_probsr.laws._task import Task
from tests.interpreted import long_loops

LAWS = st.lists(
    st.lists(
        st.tuples(st.sampled_from([-2, 0, 1, 3]), st.integers(1, 4)),
        min_size=1,
        max_size=4,
        unique_by=lambda atom: atom[0],
    ).map(sorted),
    min_size=2,
    max_size=7,
)


def normalised(laws: list) -> list[list[tuple[Fraction, int]]]:
    """Give all laws the same denominator, 840."""
    return [
        [(Fraction(value), chance * (840 // total)) for value, chance in law]
        for law in laws
        for total in [sum(chance for _, chance in law)]
        if 840 % total == 0
    ]


def exceeds(first: list, second: list) -> bool:
    """The definition of the stochastic order."""
    return all(
        sum(p for v, p in first if v > level) >= sum(p for v, p in second if v > level)
        for level in (-3, -2, 0, 1, 3)
    )


@given(LAWS, st.integers(1, 4))
def test_the_stochastic_order(drawn: list, size: int):
    """What is above what is the definition, along the order given; few above: a candidate."""
    laws = normalised(drawn)
    members = np.arange(len(laws))
    above = within(ranked(laws), members) if laws else np.zeros((0, 0), dtype=bool)
    expected = [[a < b and exceeds(laws[a], laws[b]) for b in members] for a in members]
    assert above.tolist() == expected
    if laws:
        kept = undominated(ranked(laws), members, size)
        assert kept.tolist() == np.flatnonzero(above.sum(axis=0) < size).tolist()


@given(st.integers(0, 7), st.integers(0, 7), st.booleans(), st.data())
def test_up_sets_are_counted(n: int, size: int, smaller: bool, data: st.DataObject):
    """Against all subsets, and no further than the cap."""
    pairs = [(a, b) for a in range(n) for b in range(a + 1, n)]
    edges = data.draw(st.sets(st.sampled_from(pairs))) if pairs else set()
    above = np.zeros((n, n), dtype=bool)
    for a, b in edges:
        above[a, b] = True
    sizes = range(size + 1) if smaller else [size]
    sets = [
        chosen
        for k in sizes
        for chosen in map(set, combinations(range(n), k))
        if all(a in chosen for a, b in edges if b in chosen)
    ]
    assert count_up_sets(above, size, smaller, 1000) == len(sets)
    assert count_up_sets(above, size, smaller, 2) == min(len(sets), 3)
    listed = [
        set(np.flatnonzero(mask).tolist()) for mask in list_up_sets(above, size, smaller, 200)
    ]
    assert sorted(map(sorted, listed)) == sorted(map(sorted, sets))
    assert len(list_up_sets(above, size, smaller, 2)) == min(len(sets), 2)


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
    law = law_of(model, Product(np.round(p, 3)))
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
