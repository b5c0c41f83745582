"""What values that were moved change at a cut, as kernels tell it."""

import math

import numpy as np
import pytest

from sklearn_probsr.engines.sums._far import NEAR, Far, far_change, far_table, moved


def test_nothing_moved_changes_nothing():
    """At every cut."""
    assert [far_change(NEAR, cut) for cut in (0.0, 0.3, 2.0)] == [0.0, 0.0, 0.0]


def test_the_least_of_all_bounds_is_told():
    """The share, the variance within reach, and each line: whichever is least at a cut."""
    far = Far(0.1, 0.4, 0.01, np.array([[10.0, -4.0], [60.0, -20.0]]))
    for cut in np.linspace(0.0, 1.0, 41).tolist():
        gap = 0.4 - cut
        bounds = [0.1, *(math.exp(log + exponent * cut) for exponent, log in far.tails)]
        if gap > 0:
            bounds.append(0.1 * 0.01 / (0.01 + gap**2))
        assert far_change(far, cut) == pytest.approx(min(bounds), rel=1e-12)
    known = [far_change(far, cut) for cut in np.linspace(0.0, 1.0, 200).tolist()]
    assert known == sorted(known)
    assert known[-1] == 0.1


def test_lines_too_steep_for_floats_are_passed_over():
    """An exponential that overflows is no bound, and takes none away."""
    far = Far(0.2, 0.0, 1.0, np.array([[1e5, 700.0]]))
    assert far_change(far, 1.0) == 0.2


def test_a_table_is_never_less_and_hardly_more():
    """What kernels look up is the change at the next part of a turn; far out, the share."""
    look = getattr(moved, "py_func", moved)
    far = Far(0.1, 0.4, 0.01, np.array([[10.0, -4.0], [60.0, -20.0]]))
    table = far_table(far)
    for cut in [*np.random.default_rng(0).uniform(0, 1.1, 300).tolist(), 0.0, 0.25, 511 / 512]:
        told = look(table, cut)
        assert (
            far_change(far, cut) <= told <= max(far_change(far, cut + 1 / 512), 0.1 * (cut > 0.99))
        )
    assert [look(table, cut) for cut in (1.0, 1e300, math.inf)] == [0.1] * 3
    assert look(far_table(NEAR), 0.3) == 0.0
