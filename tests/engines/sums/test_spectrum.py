"""Spectra: bounds that rows share, against engines that see each set alone."""

import math

import mpmath
import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from sklearn_probsr import LinearModel, Marginals, Product, Unit
from sklearn_probsr.engines.sums._finite import enclose_finite
from sklearn_probsr.engines.sums._spectrum import NODE, begin, bounds_from, set_bounds
from sklearn_probsr.engines.sums._tabulation import Law, _factors, build_spectrum
from sklearn_probsr.extend import law_of
from sklearn_probsr.independent.vaaler import TRIG_ERROR
from sklearn_probsr.laws.sums._costs import Costs
from tests.interpreted import long_loops

KINDS = ("normal", "student", "heavy", "integers")


def costs_of(model: LinearModel, row: np.ndarray, distribution: Product | Marginals) -> Costs:
    view = law_of(model, distribution).view(row)
    assert isinstance(view, Costs)
    return view


@long_loops
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("d", [26, 33, 150])
def test_bounds_agree_with_those_of_the_set_alone(kind: str, d: int):
    """Two engines enclose the same number, for random sets, certain features and all classes."""
    rng = np.random.default_rng(d)
    weights = {
        "normal": rng.standard_normal(d),
        "student": rng.standard_t(2, d),
        "heavy": np.append(rng.standard_normal(d - 1), 200.0),
        "integers": rng.integers(-9, 10, d).astype(float),
    }[kind]
    chances = np.round(rng.uniform(0, 1, d), 2)
    chances[:2] = 0.0, 1.0
    model, law = LinearModel(weights, float(weights @ chances)), Product(chances)
    for _ in range(8 if d < 100 else 3):
        costs = costs_of(model, rng.random(d) < chances, law)
        spectra = costs._spectra(False)
        assert spectra is not None
        fixed = frozenset(i for i in spectra.positions if rng.random() < 0.15)
        alone = enclose_finite(costs.question(fixed), None, 1e-4)
        for focus in (frozenset(), fixed | {*spectra.positions} - {2, 5}, frozenset(range(d))):
            costs.focus(focus)  # what these leave out is multiplied once
            shared = costs._by_spectrum(fixed)
            assert shared is not None
            assert max(shared.lower, alone.lower) <= min(shared.upper, alone.upper)


@long_loops
def test_a_head_of_500_features_is_narrow():
    """Beyond a few hundred features the shared bounds are all that most sets need."""
    rng = np.random.default_rng(0)
    chances = np.round(rng.uniform(0.05, 0.95, 500), 3)
    weights = rng.standard_normal(500)
    model = LinearModel(weights, float(weights @ chances))
    costs = costs_of(model, rng.random(500) < chances, Product(chances))
    spectra = costs._spectra(False)
    assert spectra is not None
    found = costs._by_spectrum(frozenset(list(spectra.positions)[:10]))
    assert found is not None
    assert found.width < 5e-4


@long_loops
@pytest.mark.parametrize("size", [1, 5, 12, 20, 28])
def test_spectra_of_real_values_agree_with_counting(size: int):
    """Empirical marginals of 60 rows: the shared tables and the set alone enclose one number."""
    rng = np.random.default_rng(size)
    data = rng.standard_t(3, (60, 30)) * 10.0 ** rng.integers(-2, 3, 30)
    weights = rng.standard_normal(30) / data.std(axis=0)
    units = [Unit.real(f"r{i}", i) for i in range(30)]
    model = LinearModel(weights, float((data @ weights).mean()), units=units)
    law = Marginals.fit(data)
    for row in data[:6]:
        costs = costs_of(model, row, law)
        fixed = frozenset(rng.choice(30, size, replace=False).tolist())
        shared, alone = costs._by_spectrum(fixed), enclose_finite(costs.question(fixed), None, 1e-3)
        assert shared is not None
        assert max(shared.lower, alone.lower) <= min(shared.upper, alone.upper)
        assert shared.width < 2e-2


@long_loops
@pytest.mark.parametrize("d", [140, 280, 330])
def test_tables_are_capped(d: int):
    """A rest of a few units leaves nearly all nodes: then the degree is lower."""
    rng = np.random.default_rng(0)
    chances, weights = np.round(rng.uniform(0.05, 0.95, d), 3), rng.standard_normal(d)
    model, law = LinearModel(weights, float(weights @ chances)), Product(chances)
    shared = law_of(model, law).spectra(True, whole=False)
    assert shared is not None
    spectra = [shared.wide, *(shared.spectrum(degree) for degree in (0, *shared.degrees))]
    for spectrum in spectra:
        assert spectrum.factors.size <= 2 * 2**22
        assert len(spectrum.nodes) == spectrum.factors.shape[1]
    assert spectra[-1].degree == shared.degrees[-1]  # where reasons are looked for, nothing is lost


@long_loops
def test_factors_do_not_depend_on_threads():
    """Jobs have fewer threads than a process alone, and the digits of BLAS depend on them."""
    rng = np.random.default_rng(0)
    turns, chances = np.sort(rng.uniform(-0.1, 0.1, 300)), rng.dirichlet(np.ones(300))
    found = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            found.append(_factors(Law(turns, chances), np.arange(2**15), 2**15))
    assert found[0].tobytes() == found[1].tobytes()
    exact = np.exp(2j * np.pi * np.outer(np.arange(1, 400), turns)) @ chances
    assert np.allclose(found[0][:399, 0] + 1j * found[0][:399, 1], exact, rtol=0, atol=1e-12)


def test_nodes_left_out_are_a_tenth_of_the_width():
    """Against the bounds with every node: what is left out moves them by at most 0.1 / K."""
    rng = np.random.default_rng(1)
    laws = [
        Law(np.array([-p, 1 - p]) * t, np.array([1 - p, p]))
        for p, t in zip(rng.uniform(0.1, 0.9, 60), rng.uniform(0.001, 0.03, 60), strict=True)
    ]
    degree, everything = 2**11, np.arange(60)
    spectrum = build_spectrum(laws, [], degree, 2**22)
    assert len(spectrum.nodes) == degree
    phi = np.prod(spectrum.factors[..., 0] + 1j * spectrum.factors[..., 1], axis=0)
    node, sign, vaaler, fejer = spectrum.nodes.T
    weight = 2 * (vaaler + fejer) * np.abs(phi)
    assert np.count_nonzero(weight < 0.1 / degree**2) > degree / 2
    for beta in rng.uniform(-0.4, 0.4, 20):
        turned = phi * np.exp(-2j * np.pi * node * beta)
        middle = beta + 0.5 + vaaler @ (sign * phi.imag - turned.imag)
        sway = 1 / (degree + 1) + fejer @ (sign * phi.real + turned.real)
        whole = middle - sway, middle + sway
        begun = begin(spectrum, everything[11:])
        for lower, upper in (
            set_bounds(spectrum, everything, beta, 0.0),
            bounds_from(spectrum, begun, everything[:11], beta, 0.0),
        ):
            # Each is moved outward by what is left out and a little more, and not by much more.
            assert max(whole[0], 0.0) - 0.15 / degree <= lower <= max(whole[0], 0.0)
            assert min(whole[1], 1.0) <= upper <= min(whole[1], 1.0) + 0.15 / degree


@long_loops
def test_many_laws_are_shifted_by_one_rounding():
    """30,000 likely values: the product of their factors is off by no more than the budget says."""
    n, value, chance, degree = 30_000, 0.1, 1e-5, 2**9
    law = Law(np.array([-value, 0.3]), np.array([1 - chance, chance]))
    spectrum = build_spectrum([law], [law] * n, degree, 2**22)
    unit = 2.0**-53
    with mpmath.workdps(40):
        for j in range(len(spectrum.nodes) - 20, len(spectrum.nodes)):
            k = int(spectrum.nodes[j, NODE])
            atoms = zip(law.turns.tolist(), law.chances.tolist(), strict=True)
            factor = sum(p * mpmath.expjpi(2 * k * mpmath.mpf(t)) for t, p in atoms)
            error = abs(factor**n - mpmath.mpc(*spectrum.rest[j].tolist()))
            # Trigonometry of n factors; and arguments that are rounded twice.
            assert error <= n * 2 * TRIG_ERROR + 8 * n * unit + 8 * math.pi * k * unit * n * 0.4
