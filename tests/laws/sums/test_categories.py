"""Facts of categories: which one each unit of a row is, and the order of what units cost."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from sklearn_probsr import LinearModel, Uniform, Unit
from sklearn_probsr.core.options import Effort, Limits, Task
from sklearn_probsr.engines.sums._stochastic_order import within
from sklearn_probsr.extend import law_of
from sklearn_probsr.laws.sums._categories import Facts
from sklearn_probsr.laws.sums._refuter import Refuter, ranked


def table(numbers: tuple[float, ...], seed: int) -> tuple[LinearModel, np.ndarray]:
    """Return categories whose columns are mixed up, with and without a dropped one, and rows."""
    rng = np.random.default_rng(seed)
    widths = [1, 3, 2, 4, 2, 3]
    columns = rng.permutation(sum(widths)).tolist()
    units, rows = [], np.zeros((20, sum(widths)))
    for u, width in enumerate(widths):
        own, columns = columns[:width], columns[width:]
        one = Unit.binary(f"u{u}", own[0])
        units.append(one if width == 1 else Unit.one_hot(f"u{u}", own, dropped=u % 2 == 0))
        states = np.array(units[-1].states)
        rows[:, own] = states[rng.integers(0, len(states), 20)]
    weights = rng.choice(numbers, rows.shape[1])
    return LinearModel(weights, float(weights[0]), units=units), rows


def test_codes():
    """A fact is the column that is 1, or the unit's own "none"; it is worth what it adds."""
    model, rows = table((1.0, -2.0, 0.5, 3.0), 0)
    facts = Facts.of(model)
    assert facts is not None
    codes = facts.codes(rows)
    for row, code in zip(rows, codes, strict=True):
        assert [facts.worth[c] for c in code] == model.contributions(row)
        assert facts.unit[code].tolist() == list(range(model.n_units))


@pytest.mark.parametrize("states", [((0.0,), (2.0,)), ((0.0,), (1.0,), (0.5,)), ((-1.0,), (1.0,))])
def test_other_states(states: tuple[tuple[float, ...], ...]):
    """Units with other states have no such facts, nor have real-valued ones or pairs of ones."""
    both = Unit("both", (0, 1), ((1.0, 1.0), (0.0, 0.0)))
    for unit in (Unit("u", (0,), states), Unit.real("u", 0), both):
        weights = [1.0] * len(unit.columns)
        assert Facts.of(LinearModel(weights, 0.5, units=[unit])) is None


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(
    "numbers", [(1.0, 2.0, -1.0, 0.0), (0.1, 0.2, 0.3, -0.7), (1e-300, 1.0, 0.3)]
)
def test_order_of_costs(numbers: tuple[float, ...], seed: int):
    """Ranks by 64-bit numbers order units as fractions do; long numbers are left to those."""
    model, rows = table(numbers, seed)
    law = law_of(model, Uniform())
    task = Task(Fraction(19, 20), effort=Effort(limits=Limits(most_ranked=10**6)))
    positive = model.is_positive(rows)
    for side in (False, True):
        some = rows[positive == side]
        shared = law.spectra(side, False, few=True)
        if not len(some) or shared is None:
            continue
        refuter = Refuter(law.contributions, shared, some, side, task)
        assert (shared.exact(side) is None) == (
            1e-300 in model.weights and len(set(model.weights)) > 1
        )
        for r, row in enumerate(some):
            laws, which = refuter._laws(r)
            known = law.contributions.known(row)
            wanted = ranked(
                law.contributions.costs(u, known[u], side) for u in range(model.n_units)
            )
            units = np.arange(model.n_units)
            assert np.array_equal(within(laws, which), within(wanted, units))
