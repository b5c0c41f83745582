"""Windows: what a sum leaves outside a shorter period, against all completions."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from sklearn_probsr.engines.sums._planes import States
from sklearn_probsr.independent.vaaler import TAIL
from sklearn_probsr.laws.rivals._windows import MOST_OUTSIDE, Windows


def drawn(seed: int, units: int) -> tuple[States, np.ndarray]:
    """Return units of two or three states, some rare and far out, and what they add in turns."""
    rng = np.random.default_rng(seed)
    counts = rng.integers(2, 4, units)
    starts = np.concatenate([[0], np.cumsum(counts)])
    turns, chances = [], []
    for count in counts.tolist():
        each = rng.dirichlet(np.full(count, 0.4))
        value = rng.choice([0.002, 0.01, 0.05]) * rng.standard_normal(count)
        turns.append(value - float(value @ each))
        chances.append(each)
    return States(starts, np.concatenate(chances)), np.concatenate(turns)


@pytest.mark.parametrize("seed", range(6))
def test_what_is_outside_is_never_more(seed: int) -> None:
    """Also with few units free, none, and periods of which hardly anything is inside."""
    states, turns = drawn(seed, 7)
    windows = Windows(states, turns)
    at = [range(a, b) for a, b in zip(states.starts[:-1], states.starts[1:], strict=True)]
    for free in ([], [3], [0, 1, 2], list(range(7))):
        law = []
        for which in product(*(at[u] for u in free)):
            chance = Fraction(1)
            for s in which:
                chance *= Fraction(float(states.chances[s]))
            law.append((abs(sum(Fraction(float(turns[s])) for s in which)), chance))
        for scale in (1.25, 2.5, 6.0, 40.0):
            outside = sum(chance for away, chance in law if away >= Fraction(1 / (2 * scale)))
            # Chances are rounded: those of a unit may sum to a little more than 1.
            assert outside <= windows.outside(np.array(free, dtype=np.intp), scale) * (1 + 1e-12)


def test_the_period_is_as_short_as_free_units_allow() -> None:
    """The fewer are free, the shorter; with all of them it is what the spectra have."""
    states, turns = drawn(9, 40)
    windows = Windows(states, turns * (0.5 / np.abs(turns).sum()))
    few, all_of_them = (windows.scale(np.arange(n)) for n in (4, 40))
    assert few > all_of_them >= 1.0
    assert windows.outside(np.arange(4), few) < MOST_OUTSIDE
    wide = Windows(states, turns * (20.0 / np.abs(turns).sum()))
    assert wide.scale(np.arange(40)) == 1.0
    assert wide.outside(np.arange(40), 1.0) == TAIL
