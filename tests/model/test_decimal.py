"""Weights that mean the decimals that they print as."""

import pickle
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sklearn_probsr import (
    Background,
    LinearModel,
    Marginals,
    Product,
    ReasonExplanation,
    SufficientReasonExplainer,
    Unit,
    alternatives,
    guarantee,
    sufficient_reason,
    sufficient_reasons,
)
from sklearn_probsr.exceptions import InvalidInputError

tenths = st.integers(-40, 40).map(lambda n: n / 10)


@given(st.lists(tenths, min_size=1, max_size=7), tenths, st.booleans(), st.data())
def test_it_is_the_model_of_ten_times_the_weights(weights, threshold, strict, data):
    """Under every law, tenths are decided as the whole numbers ten times as large are."""
    d = len(weights)
    model = LinearModel(weights, threshold, strict=strict, decimal=True)
    whole = LinearModel([round(10 * w) for w in weights], round(10 * threshold), strict=strict)
    cube = np.array(list(product([0, 1], repeat=d)))
    assert (model.predict(cube) == whole.predict(cube)).all()
    x = data.draw(st.sampled_from(cube.tolist()))
    rows = cube[np.random.default_rng(d).integers(0, len(cube), 8)]
    for law in (None, Product([0.3] * d), Background(rows), Marginals.fit(rows)):
        mine, theirs = (
            sufficient_reason(m, x, delta=0.8, distribution=law) for m in (model, whole)
        )
        assert mine.features == theirs.features
        assert mine.guarantee == theirs.guarantee
        assert mine.minimality == theirs.minimality == "minimum"
    exact = sum(Fraction(str(w)) for w, v in zip(weights, x, strict=True) if v)
    assert model.margin([x])[0] == float(exact - Fraction(str(threshold)))


def test_a_tie_of_decimals_is_a_tie():
    """0.1 + 0.2 is 0.3, and not a little more."""
    loose, tight = (LinearModel([0.1, 0.2], 0.3, strict=True, decimal=d) for d in (False, True))
    assert loose.predict([[1, 1]])[0] == 1
    assert tight.predict([[1, 1]])[0] == 0
    assert guarantee(tight, [1, 1], []).exact == 1


def test_tenths_at_a_hundred_features_are_proved_minimum():
    """A scorecard in tenths is as easy as one in whole points: every reason is a minimum."""
    rng = np.random.default_rng(0)
    weights = np.round(rng.normal(size=100), 1)
    model = LinearModel(weights, float(np.round(weights.sum() / 2, 1)), decimal=True)
    reasons = sufficient_reasons(model, rng.integers(0, 2, (200, 100)))
    assert set(reasons.minimality) == {"minimum"}
    assert reasons.model is model
    assert alternatives(model, rng.integers(0, 2, 100)).undecided == ()


def test_it_is_shown_and_kept_as_given(tmp_path):
    """Values are in units of the weights; pickles and files keep what the numbers mean."""
    model = LinearModel(
        [0.1, 0.2, -0.3], 0.3, decimal=True, units=[Unit.binary(n, i) for i, n in enumerate("abc")]
    )
    assert model.weights.tolist() == [0.1, 0.2, -0.3]
    again = pickle.loads(pickle.dumps(model))
    assert again == model
    assert again.decimal
    assert model != LinearModel([0.1, 0.2, -0.3], 0.3, units=model.units)
    explainer = SufficientReasonExplainer(model, np.array([[0, 1, 1], [1, 0, 0], [0, 0, 1]]))
    reasons = explainer([[1, 1, 0]])
    reasons.save(tmp_path / "reasons.probsr")
    loaded = ReasonExplanation.load(tmp_path / "reasons.probsr")
    assert loaded.reasons.model == model
    means = np.array([1, 1, 2]) / 3
    expected = np.where(reasons.reason_mask[0], np.array([0.1, 0.2, -0.3]) * ([1, 1, 0] - means), 0)
    np.testing.assert_allclose(reasons.values[0], expected, atol=1e-15)


def test_too_many_digits_are_refused():
    """Decimals that no float holds as whole numbers are no scorecard's."""
    with pytest.raises(
        InvalidInputError,
        match=r"^with decimal=True the weights and the threshold must be whole multiples of one "
        r"number, none of more than 2\*\*53 of it: decimals of few digits, as on a scorecard\. Got "
        r"10000000000000000 times 1/10000000000000000\. Round them, or leave decimal=False\.$",
    ):
        LinearModel([1.0, 1e-16], 0, decimal=True)
