"""Up-sets, counted and listed, against all subsets."""

import math
from itertools import combinations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sklearn_probsr.engines.sums._up_sets import count_up_sets, list_up_sets


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


def test_the_number_of_up_sets_is_that_of_all_sets_without_an_order():
    """Nothing above anything: all sets of the size, or up to it."""
    nothing = np.zeros((14, 14), dtype=bool)
    assert count_up_sets(nothing, 6, False, 2**62) == math.comb(14, 6)
    assert count_up_sets(nothing, 6, True, 2**62) == sum(math.comb(14, k) for k in range(7))
