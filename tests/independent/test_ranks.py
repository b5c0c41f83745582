"""The ranks of a model: the bounds that rows read off its tables, against exact counts."""

from fractions import Fraction

import numpy as np
import pytest

from sklearn_probsr import LinearModel, guarantee, sufficient_reasons
from sklearn_probsr.independent.certainty import Instance
from sklearn_probsr.independent.ranks import EFFORTS, Ranks
from tests.core.questions import meet_in_the_middle
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


def test_a_heavy_weight_has_no_part_in_the_period():
    """It is taken case by case: the others' period, and with it their bounds, are their own."""
    rng = np.random.default_rng(0)
    weights = rng.standard_normal(99)
    model = LinearModel(np.append(weights, 1000.0), 500.0)
    with_it, alone = Ranks.of(model, ()), Ranks.of(LinearModel(weights, 0.0), ())
    shares = [ranks.ladder(0).period / ranks.magnitudes[-1] for ranks in (with_it, alone)]
    assert with_it.ladder(0).heavy == 1
    assert shares[0] == pytest.approx(shares[1])


@pytest.mark.parametrize("d", [30, 45, 60, 500])
def test_the_work_of_a_row_is_bounded(d: int):
    """No set looks at more nodes than its effort allows; the degree gives way instead."""
    ranks = Ranks.of(LinearModel(np.random.default_rng(d).standard_normal(d), 0.1), ())
    for effort, (degree, nodes) in enumerate(EFFORTS[:2]):
        ladder = ranks.ladder(effort)
        assert ladder.counts.max() <= nodes
        assert ladder.degree.max() <= degree
        assert (np.diff(ladder.degree) < 0).all()
        assert (ladder.pick[: int(5 * np.sqrt(d))] >= 0).all()


def test_at_500_features_few_nodes_are_left():
    """The product over the features that are always free leaves some dozen nodes of 65,536."""
    ladder = Ranks.of(LinearModel(np.random.default_rng(0).standard_normal(500), 0.1), ()).ladder(0)
    assert ladder.counts.max() <= 32
    assert ladder.degree.tolist() == [2**16]
    assert ladder.error.max() < 1e-6


@pytest.mark.parametrize("apart", [False, True])
@pytest.mark.parametrize("d", [20, 30])
def test_bounds_of_any_set_of_features_hold_its_count(d: int, apart: bool):
    """Prefixes, sets with gaps, and those with one feature apart, also beside heavy weights."""
    rng = np.random.default_rng(d)
    weights = np.round(np.append(rng.standard_normal(d - 2), [30.0, -9.0]) * 2**30) / 2**30
    model = LinearModel(weights, float(weights.sum() / 2))
    ranks = Ranks.of(model, ())
    for row in rng.integers(0, 2, (6, d)).astype(bool):
        instance = Instance(model, row)
        cut = float(ranks.cuts(row[None, :], np.array([instance.positive]))[0])
        members = [u for u in ranks.features.tolist() if instance.helps[u]]
        for _ in range(5):
            chosen = [u for u in members[: d // 3] if rng.random() < 0.5]
            chosen += [u for u in members[-1:] if apart and u not in chosen]
            ladder = next(ranks.apart()) if apart and d > 25 else ranks.ladder(0)
            lower, upper = ranks.bounds(ladder, chosen, cut)
            truth = meet_in_the_middle(instance.subset_sum(chosen))
            assert Fraction(lower) <= truth <= Fraction(upper)


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
