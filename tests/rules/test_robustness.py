"""Slack: how far facts may worsen together, against brute force."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given

from sklearn_probsr import (
    Background,
    LinearModel,
    Marginals,
    Matching,
    Unit,
    guarantee,
    sufficient_reason,
)
from sklearn_probsr.exceptions import InvalidInputError
from tests.questions.decisions import decisions, guarantees


@pytest.mark.parametrize("make", [Background, Marginals.fit])
def test_facts_may_worsen_by_the_slack_and_no_more(make):
    """A fact may worsen by all of the slack; over rows, by a little more it may not."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(60, 4))
    units = [Unit.real(f"x{j}", j) for j in range(4)]
    model = LinearModel([1.5, -2.0, 0.7, 1.1], 0.2, units=units)
    law = make(rows)
    checked = 0
    for i in range(12):
        reason = sufficient_reason(model, rows[i], delta=0.9, distribution=law)
        if not reason.size:
            continue
        slack = reason.slack
        assert slack.total >= 0
        name = reason.feature_names[0]
        u = int(name[1:])
        towards = 1 if reason.prediction == 1 else -1
        for factor, holds in ((1 - 1e-9, True), (1 + 1e-6, False)):
            worse = rows[i].copy()
            worse[u] -= towards * math.copysign(slack.by_fact[name] * factor, model.weights[u])
            if model.predict([worse])[0] != reason.prediction:
                continue
            known = guarantee(model, worse, reason.features, distribution=law, tol=1e-6)
            checked += 1
            assert holds or not (known >= 0.9).value or make is not Background
            assert not holds or (known >= 0.9).value is not False
        low, high = slack.levels
        assert high == reason.guarantee.lower
        assert math.isnan(low) == (reason.minimality != "minimum")
    assert checked > 3


@given(decisions())
def test_levels_begin_where_a_smaller_set_ends(case):
    """No set of fewer features guarantees more than the first level; over rows the best does it."""
    model, x, law, delta = case
    reason = sufficient_reason(model, x, delta=delta, distribution=law)
    if reason.minimality != "minimum" or not reason.size:
        return
    known = guarantees(model, x, law)
    best = max(v for s, v in known.items() if len(s) < reason.size)
    low, high = reason.slack.levels
    assert best <= Fraction(low) or float(best) == low
    assert low <= delta or float(best) == low
    assert high == reason.guarantee.lower
    if isinstance(law, Background):
        assert low == pytest.approx(float(best), abs=1e-12)
    else:
        assert low <= float(best) + 1 / 1024 + 1e-4


def test_levels_of_coins_reach_down_to_the_next_best_set():
    """The reason is minimum above the best guarantee of one feature fewer."""
    model = LinearModel([5, 2, 2, 2, 1], threshold=7)
    reason = sufficient_reason(model, [1, 1, 1, 1, 1], delta=0.9)
    low, high = reason.slack.levels
    assert Fraction(low) >= guarantee(model, [1, 1, 1, 1, 1], [0]).exact
    assert low < 0.9 < high or low == pytest.approx(0.875)
    assert sufficient_reason(model, [1, 1, 1, 1, 1], delta=low + 0.001).size == reason.size


def test_what_needs_nothing_can_lose_anything():
    """The slack of an empty reason is without end."""
    reason = sufficient_reason(LinearModel([1, 1], threshold=-3), [1, 0])
    assert reason.slack.total == math.inf
    decimal = LinearModel([0.3, 0.2, 0.1], 0.3, decimal=True)
    assert sufficient_reason(decimal, [1, 1, 1], delta=0.9).slack.total <= 0.6


def test_matching_facts_have_no_slack():
    """Facts that choose the rows are equalities."""
    rows = np.random.default_rng(0).integers(0, 2, (60, 3))
    law = Matching(rows, random_state=0, min_rows=2)
    reason = sufficient_reason(LinearModel([3, 2, -2], 2), rows[0], delta=0.6, distribution=law)
    if reason.size:
        with pytest.raises(InvalidInputError, match="does not say what facts may lose"):
            _ = reason.slack
