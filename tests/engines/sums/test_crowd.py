"""Factors of laws of very many values, against forty digits."""

import mpmath
import numpy as np
import pytest

from sklearn_probsr.engines.sums._crowd import Crowd, crowd_factors, crowd_spectrum
from sklearn_probsr.engines.sums._spectrum import set_bounds
from tests.interpreted import long_loops

SHARES = {
    "normal": lambda rng: rng.standard_normal(300),
    "far": lambda rng: np.append(rng.standard_normal(299), 1e9),
    "atoms": lambda rng: rng.choice([0.0, 0.25, 1.0], 300, p=[0.9, 0.05, 0.05]),
    "halfway": lambda rng: rng.integers(0, 129, 300) / 128,
}


def law_of(kind: str, width: float) -> Crowd:
    values = SHARES[kind](np.random.default_rng(0))
    shares = (values - values.min()) / (values.max() - values.min())
    chances = np.random.default_rng(1).dirichlet(np.ones(len(shares)))
    return Crowd(shares, chances, width, width * float((shares * chances).sum()), 0.0)


@pytest.mark.parametrize("kind", SHARES)
@pytest.mark.parametrize("width", [1e-9, 0.037, 0.9])
def test_factors_are_off_by_less_than_they_say(kind: str, width: float):
    """Proposition 50: low and high nodes, laws that fill the circle and laws that hardly turn."""
    law = law_of(kind, width)
    found, error = crowd_factors(law, 64)
    assert error < 1e-9
    with mpmath.workdps(40):
        turns = [mpmath.mpf(float(s)) * mpmath.mpf(width) - law.centre for s in law.shares]
        for k in (1, 2, 31, 64):
            exact = sum(
                mpmath.mpf(float(p)) * mpmath.expjpi(2 * k * t)
                for p, t in zip(law.chances, turns, strict=True)
            )
            # The rounding of a turn is another line of the budget (Proposition 51).
            assert abs(exact - mpmath.mpc(*found[k - 1])) < error + 2 * np.pi * k * 6e-16 * width


@long_loops
def test_a_rest_is_multiplied_up_where_it_matters():
    """With a rest or as a part of the head, a unit gives the same bounds, at fewer nodes."""
    laws = [law_of("normal", 0.05 * (1 + i / 9)) for i in range(12)]
    whole = crowd_spectrum(laws, [], 512, 2**22)
    parted = crowd_spectrum(laws[:3], laws[3:], 512, 2**22)
    assert len(parted.nodes) < 200 < len(whole.nodes)
    for beta in (-0.1, 0.0, 0.07):
        both = [
            set_bounds(spectrum, np.array(free), beta, 1e-15)
            for spectrum, free in ((whole, [0, *range(3, 12)]), (parted, [0]))
        ]
        assert both[0] == pytest.approx(both[1], abs=2 * 0.1 / 512)


def test_a_table_is_halved_until_it_fits():
    """The degree is halved, not the table cut."""
    laws = [law_of("normal", 0.05)] * 2
    assert crowd_spectrum(laws, [], 512, 256).degree == 128
    assert crowd_spectrum(laws, laws[:1], 512, 8).degree == 4
