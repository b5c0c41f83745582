"""What binary units contribute in each row, written as one of several rivals."""

import numpy as np
import pytest

from sklearn_probsr.engines.rows._floors import choose_by_ones


@pytest.mark.parametrize("rivals", [1, 3])
def test_zeros_and_ones_choose_between_two_numbers(rivals: int):
    """Some units in any order; the places of other rivals stay as they are."""
    rng = np.random.default_rng(rivals)
    ones, units = rng.random((5, 7)) < 0.5, np.array([4, 0, 2])
    zero, one = rng.integers(-9, 9, (2, 3))
    out = np.full((3, 7 * rivals), 99)
    choose_by_ones(ones, units, zero, one, out, rivals - 1)
    table = out.reshape(3, 7, rivals)
    for i, u in enumerate(units):
        assert table[i, :, -1].tolist() == [one[i] if here else zero[i] for here in ones[u]]
    assert (table[:, :, :-1] == 99).all()
    choose_by_ones(np.zeros((2, 0), dtype=bool), units[:0], zero[:0], one[:0], out[:0, :0], 0)
