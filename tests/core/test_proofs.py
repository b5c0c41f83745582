"""Proofs of a minimum: what is claimed, and the lower bound on the size, against all sets."""

import re
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sklearn_probsr import (
    Background,
    LinearModel,
    Marginals,
    Product,
    guarantee,
    sufficient_reason,
    sufficient_reasons,
)
from sklearn_probsr.core import options
from sklearn_probsr.core.options import Effort, Limits
from sklearn_probsr.exceptions import InvalidInputError, UnreachableError
from sklearn_probsr.model.numbers import decimal_fraction
from sklearn_probsr.results import SufficientReason
from tests.core.test_independent import CHANCES
from tests.interpreted import examples
from tests.oracle import Case, UnitCase, background_guarantee, product_guarantee
from tests.rows.test_reasons import fractions
from tests.strategies import backgrounds, cases, levels, models, unit_models

EFFORTS = st.sampled_from(
    [
        {},
        {"prove": True},
        {"prove": False},
        {"max_evals": 0},
        {"max_evals": 3},
        {"prove": True, "max_evals": 0},
    ]
)


def least_size(
    n: int, share: Callable[[set[int]], Fraction], delta: Fraction, **limits: Any
) -> Any:
    """Return the least size of an allowed set that reaches delta, None if none does."""
    include, exclude = set(limits.get("include", ())), set(limits.get("exclude", ()))
    others = [i for i in range(n) if i not in include and i not in exclude]
    for size in range(len(others) + 1):
        if any(share(include | set(s)) >= delta for s in combinations(others, size)):
            return len(include) + size
    return None


def check(reason: SufficientReason, least: int | None, share: Fraction, delta: Fraction) -> None:
    """Compare what is claimed with the truth."""
    assert share >= delta
    assert least is not None
    assert reason.size_lower <= least <= reason.size
    assert (reason.minimality == "minimum") <= (reason.size == least == reason.size_lower)


@settings(max_examples=examples(250))
@given(cases(largest=7), levels(), EFFORTS, st.booleans(), st.data())
def test_over_marginals(
    case: Case, delta: float, effort: dict[str, Any], spectra: bool, data: st.DataObject
):
    """Ties, duplicates, extremes, levels that are hit: no bound is too large, no claim false.

    Few sets are looked at one by one, or, with ``spectra``, refuted in the way of many.
    """
    chances = data.draw(st.lists(CHANCES, min_size=case.d, max_size=case.d))
    p = [decimal_fraction(c) for c in chances]
    index = st.integers(0, case.d - 1)
    include = data.draw(st.sets(index, max_size=2))
    limits = {"include": include, "exclude": data.draw(st.sets(index, max_size=2)) - include}
    level = decimal_fraction(delta)

    def share(features: Any) -> Fraction:
        return product_guarantee(case, features, p)

    least = least_size(case.d, share, level, **limits)
    arguments: dict[str, Any] = {"delta": delta, "distribution": Product(chances), **limits}
    with pytest.MonkeyPatch.context() as patch:
        if spectra:
            small = Limits(few_sets=0, most_sets=0)
            patch.setattr(options, "Effort", partial(Effort, limits=small))
        if least is None:
            with pytest.raises(UnreachableError):
                sufficient_reason(models(case), case.x, **arguments, **effort)
            return
        reason = sufficient_reason(models(case), case.x, **arguments, **effort)
    check(reason, least, share(reason.features), level)
    if not effort and not spectra:
        assert reason.minimality == "minimum"


@settings(max_examples=examples(150))
@given(cases(largest=7), levels(), EFFORTS, st.data())
def test_over_background_rows(
    case: Case, delta: float, effort: dict[str, Any], data: st.DataObject
):
    """By branch and bound, with any effort: no bound too large, no claim false."""
    rows, weights = data.draw(backgrounds(case.d))
    parts, level = fractions(rows, weights), decimal_fraction(delta)
    law = Background(rows, weights)
    reason = sufficient_reason(models(case), case.x, delta=delta, distribution=law, **effort)

    def share(features: Any) -> Fraction:
        return background_guarantee(case, features, rows, parts)

    check(reason, least_size(case.d, share, level), share(reason.features), level)


@settings(max_examples=examples(100))
@given(unit_models(), levels(), EFFORTS, st.booleans())
def test_units_that_can_cost_or_gain(
    drawn: tuple[LinearModel, UnitCase, list[list[float]]],
    delta: float,
    effort: dict[str, Any],
    joint: bool,
):
    """Smaller sets may be better: all of them are refuted before a minimum is claimed."""
    model, case, rows = drawn
    ones = [Fraction(1)] * len(rows)
    laws = case.marginals(rows, ones)
    law = Background(rows) if joint else Marginals.fit(rows)

    def share(features: Any) -> Fraction:
        return case.joint(features, rows, ones) if joint else case.independent(features, laws)

    reason = sufficient_reason(model, case.x, delta=delta, distribution=law, **effort)
    level = decimal_fraction(delta)
    check(reason, least_size(len(case.units), share, level), share(reason.features), level)


@settings(max_examples=examples(60))
@given(cases(largest=8), levels(), st.integers(0, 8))
def test_uniform_features_have_a_lower_bound_too(case: Case, delta: float, most: int):
    """Under max_size it is that of any set, whatever its size."""
    reason = sufficient_reason(models(case), case.x, delta=delta, max_size=min(most, case.d))
    least = case.minimum_size(decimal_fraction(delta))
    assert least is not None
    assert reason.size_lower <= least
    if reason.minimality == "minimum":
        assert reason.size_lower == reason.size == least
    else:
        assert reason.size_lower > reason.size  # fewer than all were proved not to be enough


def fitted(d: int, n: int, seed: int) -> tuple[LinearModel, Product, np.ndarray]:
    rng = np.random.default_rng(seed)
    chances = rng.uniform(0.05, 0.95, d)
    rows = rng.random((600 + n, d)) < chances
    weights = rng.standard_normal(d)
    return LinearModel(weights, float(weights @ chances)), Product.fit(rows[:600]), rows[600:]


@pytest.mark.parametrize("d", [40, 200])
def test_many_features_are_proved(d: int):
    """All rows are minima; a level that the set itself just reaches is never refuted."""
    model, law, rows = fitted(d, 12, d)
    found = sufficient_reasons(model, rows, distribution=law)
    assert (found.minimality == "minimum").mean() >= 0.9
    for row, reason in zip(rows, found, strict=True):
        delta = round(reason.guarantee.lower - 1e-4, 5)
        again = sufficient_reason(model, row, delta=delta, distribution=law)
        assert again.size_lower <= reason.size
        assert again.guarantee >= delta


def test_rows_and_chunks_do_not_change_a_proof():
    """A row's claim is the same alone and in a batch."""
    model, law, rows = fitted(150, 6, 1)
    whole = sufficient_reasons(model, rows, distribution=law)
    for i, row in enumerate(rows):
        one = sufficient_reason(model, row, distribution=law)
        assert (one.features, one.minimality, one.size_lower) == (
            whole[i].features,
            whole[i].minimality,
            whole[i].size_lower,
        )


def test_a_budget_that_ends_leaves_a_lower_bound():
    """With few sets to look at, less is proved; with none, nothing is."""
    model, law, rows = fitted(150, 8, 2)
    bounds = [
        sufficient_reasons(model, rows, distribution=law, max_evals=n).size_lower
        for n in (0, 1, 10_000)
    ]
    assert (bounds[0] <= bounds[1]).all()
    assert (bounds[1] <= bounds[2]).all()
    assert bounds[0].max() <= 1
    without = sufficient_reasons(model, rows, distribution=law, prove=False)
    assert set(without.minimality) == {"subset-minimal"}
    assert (without.size_lower == bounds[0]).all()


def test_a_harder_proof_says_more_over_background_rows():
    """d = 40, 300 rows: more is proved with a larger budget, never less."""
    rng = np.random.default_rng(3)
    weights = rng.standard_normal(40)
    model = LinearModel(weights, float(weights.sum() / 2))
    law, rows = Background(rng.integers(0, 2, (120, 40))), rng.integers(0, 2, (4, 40))
    none, auto, more = (
        sufficient_reasons(model, rows, distribution=law, prove=prove, time_limit=2)
        for prove in (False, "auto", True)
    )
    assert (none.size >= auto.size).all()
    assert (auto.size >= more.size).all()
    assert (none.size_lower <= auto.size_lower).all()
    assert (auto.size_lower <= more.size_lower).all()
    assert (auto.size_lower > 0).all()


def test_what_is_known_of_the_size_is_said():
    """The sentence has the lower bound where the set is not proved to be a minimum."""
    reason = sufficient_reason(
        LinearModel([5, 1, -3, 2, -1], threshold=5),
        [1, 0, 0, 1, 1],
        distribution=Product([0.4] * 5),
    )
    assert (reason.size, reason.size_lower, reason.minimality) == (3, 3, "minimum")
    assert "fewer than" not in str(reason)
    for word, claim in (
        ("subset-minimal", "none can be left out"),
        ("near-locally-minimal", "no single one is known to be superfluous"),
    ):
        weaker = replace(reason, minimality=word, size_lower=2)
        assert str(weaker).endswith(
            f"(3 of 5 features; {claim}; no set of fewer than 2 features reaches 0.95)."
        )
        assert str(replace(weaker, size_lower=1)).endswith(f"(3 of 5 features; {claim}).")


def test_samples_prove_no_size():
    """An estimate has the trivial lower bound, the number of forced features."""
    model = LinearModel([5, 1, -3, 2, -1], threshold=5)
    for law in (None, Product([0.5] * 5)):
        reason = sufficient_reason(
            model,
            [1, 0, 0, 1, 1],
            distribution=law,
            include=[1],
            method="monte-carlo",
            epsilon=0.1,
            random_state=0,
        )
        assert reason.size_lower == 1


def test_a_long_tail_of_equal_features():
    """Forty equal features and a few of their own: any choice of the equal ones is as good."""
    weights = np.array([3.0, 2.5, 2.0] + [1.0] * 40)
    model = LinearModel(weights, float(weights.sum() * 0.7))
    law = Product([0.6, 0.7, 0.8] + [0.75] * 40)
    reason = sufficient_reason(model, np.ones(43), delta=0.9, distribution=law)
    assert reason.minimality == "minimum"
    fewer = reason.size - 1
    heavy = [set(s) for k in range(4) for s in combinations(range(3), k) if k <= fewer]
    sets = [{*some, *range(3, 3 + fewer - len(some))} for some in heavy]
    for features in sets:
        assert guarantee(model, np.ones(43), features, distribution=law) < 0.9


BAD_EFFORTS: list[tuple[dict[str, Any], str]] = [
    ({"prove": "yes"}, "prove must be 'auto', True or False, got 'yes'."),
    ({"prove": None}, "prove must be 'auto', True or False, got None."),
    ({"prove": 1}, "prove must be 'auto', True or False, got 1."),
    ({"max_evals": -1}, "max_evals must be None or a whole number >= 0, got -1."),
    ({"max_evals": 1.5}, "max_evals must be None or a whole number >= 0, got 1.5."),
    ({"max_evals": True}, "max_evals must be None or a whole number >= 0, got True."),
    ({"time_limit": 0}, "time_limit must be a number of seconds > 0, got 0."),
    ({"time_limit": "long"}, "time_limit must be a number of seconds > 0, got 'long'."),
]


@pytest.mark.parametrize(("arguments", "message"), BAD_EFFORTS)
def test_wrong_efforts_get_one_clear_error(arguments: dict[str, Any], message: str):
    """What was wrong and what was received."""
    with pytest.raises(InvalidInputError, match=f"^{re.escape(message)}$"):
        sufficient_reason(LinearModel([1.0], 0.5), [1], **arguments)
