"""The oracle itself, against the plainest brute force."""

from fractions import Fraction
from itertools import product
from math import prod

from hypothesis import given
from hypothesis import strategies as st

from tests.oracle import Case, Costly, brute_force_guarantee, subset_count
from tests.strategies import cases


@given(cases(largest=6), st.data())
def test_the_sum_distribution_agrees_with_every_completion(case: Case, data: st.DataObject):
    """Counting sums and classifying all completions give the same fraction."""
    features = data.draw(st.sets(st.integers(0, case.d - 1)))
    assert case.guarantee(features) == brute_force_guarantee(case, features)


def test_known_counts():
    """Seven of the eight subsets of {1, 2, 4} sum to at most 6."""
    assert subset_count([1, 2, 4], 6) == 7
    case = Case((5, 1, -3, 2, -1), 5, False, (1, 0, 0, 1, 1))
    assert case.best(2) == Fraction(7, 8)
    assert case.minimum_size(Fraction(7, 8)) == 2


LAW = st.lists(st.integers(0, 2), min_size=5, max_size=5).map(
    lambda parts: {
        cost: weight for cost, weight in zip((-3, 0, 1, 4, 6), parts, strict=True) if weight
    }
)
FLIP = st.builds(
    lambda cost, weight: {0: 6 - weight, cost: weight},
    st.integers(-5, 5).filter(bool),
    st.integers(1, 5),
)


@given(st.booleans(), st.integers(-6, 12), st.data())
def test_all_sets_of_independent_costs(binary: bool, margin: int, data: st.DataObject):
    """Each set's guarantee is the weight of the completions that keep the class, one by one."""
    laws = FLIP if binary else LAW.filter(lambda law: sum(law.values()) == 6)
    members = data.draw(st.lists(laws, min_size=1, max_size=3))
    others = data.draw(st.lists(laws, max_size=2))
    known = Costly(tuple(members), tuple(others), margin, 6)
    for mask in range(2 ** len(members)):
        fixed = [i for i in range(len(members)) if mask >> i & 1]
        free = [law for i, law in enumerate(members) if i not in fixed] + others
        kept = sum(
            prod(weight for _, weight in atoms)
            for atoms in product(*(law.items() for law in free))
            if sum(cost for cost, _ in atoms) <= margin
        )
        assert known.share(fixed) == Fraction(kept, 6 ** len(free))
