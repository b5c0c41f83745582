"""The tables of a model: the bounds that rows read off them, against exact counts."""

from fractions import Fraction

import numpy as np
import pytest

from sklearn_probsr import LinearModel, guarantee, sufficient_reasons
from sklearn_probsr.engines.coins._deficits import Instance
from sklearn_probsr.laws.coins._ranking import EFFORTS, Ranking
from tests.engines.questions import meet_in_the_middle
from tests.interpreted import long_loops

pytestmark = long_loops


def rows_and_truths(weights: np.ndarray, threshold: float, n_rows: int, seed: int):
    """Yield what the batch search says of each row, with the exact guarantees of k and k - 1."""
    rng = np.random.default_rng(seed)
    model = LinearModel(weights, threshold)
    rows = rng.integers(0, 2, (n_rows, len(weights))).astype(bool)
    found = sufficient_reasons(model, rows)
    for i, row in enumerate(rows):
        instance = Instance(model, row)
        chosen = list(found[i].features)
        truth = meet_in_the_middle(instance.subset_sum(chosen))
        before = meet_in_the_middle(instance.subset_sum(chosen[:-1])) if chosen else None
        yield found, i, truth, before


@pytest.mark.parametrize(("d", "n_rows"), [(18, 60), (28, 40), (36, 12)])
@pytest.mark.parametrize("kind", ["normal", "student", "heavy"])
def test_every_row_is_enclosed_and_minimum(d: int, n_rows: int, kind: str):
    """Lower and upper hold the exact guarantee, and one feature fewer misses delta."""
    rng = np.random.default_rng(d)
    weights = {
        "normal": rng.standard_normal(d),
        "student": rng.standard_t(2, d),
        "heavy": np.append(rng.standard_normal(d - 1), 50.0),
    }[kind]
    weights = np.round(weights * 2**40) / 2**40  # so that the oracle's sums fit 64 bits
    for found, i, truth, before in rows_and_truths(weights, float(weights.sum() / 2), n_rows, d):
        assert Fraction(found.lower[i]) <= truth <= Fraction(found.upper[i])
        assert found.minimality[i] == "minimum"
        assert truth >= Fraction("0.95")
        assert before is None or before < Fraction("0.95")


def test_a_level_for_rows_that_fix_the_heavy_weight():
    """One heavy weight makes a second set of tables with a shorter period."""
    rng = np.random.default_rng(0)
    model = LinearModel(np.append(rng.standard_normal(99), 1000.0), 500.0)
    tables = Ranking.of(model, ()).tables(0)
    assert len(tables.levels) == 2
    assert tables.period[-1] < tables.period[0] / 10


def test_the_work_of_a_row_is_bounded():
    """No table has more nodes than its effort allows; the degree gives way instead."""
    model = LinearModel(np.random.default_rng(0).standard_normal(30), 0.1)
    for effort, (most_nodes, largest_degree) in enumerate(EFFORTS):
        tables = Ranking.of(model, ()).tables(effort)
        assert tables.widest <= most_nodes
        assert tables.degree.max() <= largest_degree


def test_at_500_features_few_nodes_are_live():
    """The product over the features that are always free leaves some dozen nodes of 65,536."""
    model = LinearModel(np.random.default_rng(0).standard_normal(500), 0.1)
    tables = Ranking.of(model, ()).tables(0)
    assert tables.widest <= 64
    assert (tables.degree == 2**16).all()
    assert tables.error.max() < 1e-9


def test_nothing_cancels_after_a_heavy_weight():
    """The variance left after 2^30 is added up, not subtracted: no table with too short a period.

    The bounds of the batch agree with those of the engine that sees the set alone.
    """
    rng = np.random.default_rng(0)
    weights = np.r_[2.0**30, 1 + 0.3 * rng.random(6), 0.01 * (1 + rng.random(300))]
    model = LinearModel(weights, float(weights[0] + weights[1:].sum() / 2))
    for delta in (0.8, 0.9, 0.95, 0.99):
        found = sufficient_reasons(model, np.ones((1, len(weights))), delta=delta)
        alone = guarantee(model, np.ones(len(weights)), found[0].features, tol=1e-6)
        assert found.lower[0] <= alone.upper
        assert alone.lower <= found.upper[0]
        fewer = guarantee(model, np.ones(len(weights)), found[0].features[:-1], tol=1e-6)
        assert fewer.lower < delta
