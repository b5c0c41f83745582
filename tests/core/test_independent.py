"""Guarantees over independent features with marginals of their own, against exact rationals."""

import re
import warnings
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sklearn_probsr import (
    LinearModel,
    Marginals,
    Product,
    Uniform,
    Unit,
    guarantee,
    guarantee_curve,
    sufficient_reason,
    sufficient_reasons,
)
from sklearn_probsr.core.options import Effort, Task
from sklearn_probsr.exceptions import InvalidInputError, UnreachableError
from sklearn_probsr.extend import law_of
from sklearn_probsr.model.numbers import decimal_fraction
from tests.interpreted import examples
from tests.oracle import Case, product_guarantee
from tests.strategies import cases, levels, models

CHANCES = st.sampled_from([0.0, 0.05, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99, 1.0])


def minimum_size(case: Case, p: list[Fraction], delta: Fraction) -> int:
    """Return the least size of any set that reaches delta."""
    for size in range(case.d + 1):
        for features in combinations(range(case.d), size):
            if product_guarantee(case, features, p) >= delta:
                return size
    raise AssertionError("the whole instance always keeps its class")


@settings(max_examples=examples(250))
@given(cases(largest=6), levels(), st.data())
def test_the_minimum_over_marginals(case: Case, delta: float, data: st.DataObject):
    """Enclosed, strict, and of the least size; few features are always proved."""
    chances = data.draw(st.lists(CHANCES, min_size=case.d, max_size=case.d))
    p = [decimal_fraction(c) for c in chances]
    reason = sufficient_reason(models(case), case.x, delta=delta, distribution=Product(chances))
    truth = product_guarantee(case, reason.features, p)
    assert Fraction(reason.guarantee.lower) <= truth <= Fraction(reason.guarantee.upper)
    assert reason.guarantee >= delta
    assert truth >= decimal_fraction(delta)
    assert reason.minimality == "minimum"
    assert reason.size == minimum_size(case, p, decimal_fraction(delta))


@settings(max_examples=examples(150))
@given(cases(largest=10), st.data())
def test_any_set_is_enclosed(case: Case, data: st.DataObject):
    """The guarantee of whatever set a user brings is the exact rational."""
    chances = data.draw(st.lists(CHANCES, min_size=case.d, max_size=case.d))
    features = data.draw(st.sets(st.integers(0, case.d - 1)))
    found = guarantee(models(case), case.x, features, distribution=Product(chances))
    truth = product_guarantee(case, features, [decimal_fraction(c) for c in chances])
    assert found.exact == truth


@given(cases(largest=8))
def test_one_half_everywhere_is_uniform(case: Case):
    """Fair coins give the uniform minimum and the uniform guarantee."""
    half = Product([0.5] * case.d)
    ours = sufficient_reason(models(case), case.x, delta=0.8, distribution=half)
    uniform = sufficient_reason(models(case), case.x, delta=0.8, distribution=Uniform())
    assert ours.size == uniform.size
    assert guarantee(models(case), case.x, uniform.features, distribution=half).exact == (
        case.guarantee(uniform.features)
    )


@settings(max_examples=examples(100))
@given(cases(largest=5), levels(), st.data())
def test_constraints_over_marginals(case: Case, delta: float, data: st.DataObject):
    """Forced in, forced out and at most so many, against all sets that qualify."""
    chances = data.draw(st.lists(CHANCES, min_size=case.d, max_size=case.d))
    p = [decimal_fraction(c) for c in chances]
    index = st.integers(0, case.d - 1)
    include = data.draw(st.sets(index, max_size=2))
    exclude = data.draw(st.sets(index, max_size=2)) - include
    max_size = data.draw(st.none() | st.integers(len(include), case.d))
    others = [i for i in range(case.d) if i not in include and i not in exclude]
    shares = {
        size: max(
            product_guarantee(case, {*include, *s}, p)
            for s in combinations(others, size - len(include))
        )
        for size in range(len(include), len(include) + len(others) + 1)
    }
    enough = [size for size, share in shares.items() if share >= decimal_fraction(delta)]
    arguments: dict[str, Any] = {
        "delta": delta,
        "distribution": Product(chances),
        "include": include,
        "exclude": exclude,
        "max_size": max_size,
    }
    if not enough and max_size is None:
        with pytest.raises(UnreachableError, match="independent completions"):
            sufficient_reason(models(case), case.x, **arguments)
        return
    reason = sufficient_reason(models(case), case.x, **arguments)
    assert include <= set(reason.features)
    assert not exclude & set(reason.features)
    if enough and (max_size is None or enough[0] <= max_size):
        assert (reason.minimality, reason.size) == ("minimum", enough[0])
    else:
        assert reason.minimality == "best-of-size"
        assert max_size is not None
        assert reason.size <= max_size


@given(cases(largest=8), st.data())
def test_the_curve_over_marginals(case: Case, data: st.DataObject):
    """Every size along the order is enclosed, and the bounds never decrease."""
    chances = data.draw(st.lists(CHANCES, min_size=case.d, max_size=case.d))
    curve = guarantee_curve(models(case), case.x, distribution=Product(chances))
    p = [decimal_fraction(c) for c in chances]
    order = curve.order.tolist()
    assert sorted(order) == list(range(case.d))
    for k in range(case.d + 1):
        truth = product_guarantee(case, order[:k], p)
        assert Fraction(curve.lower[k]) <= truth <= Fraction(curve.upper[k])
    assert (np.diff(curve.lower) >= 0).all()


@pytest.mark.smoke
def test_the_errata_counterexample():
    """Equal parameters other than 1/2: the best-scored feature alone gives 0.1, the other 0.9."""
    model = LinearModel([1, -1.1], 0.5)
    marginals = Product([0.1, 0.1])
    assert guarantee(model, [1, 0], [1], distribution=marginals).exact == Fraction(1, 10)
    assert guarantee(model, [1, 0], [0], distribution=marginals).exact == Fraction(9, 10)
    reason = sufficient_reason(model, [1, 0], delta=0.9, distribution=marginals)
    assert reason.features == (0,)
    assert reason.minimality == "minimum"
    assert str(reason) == (
        "Class 1 is kept with probability at least 0.9 over independent completions with 2 given "
        "marginals, given x0 = 1 (1 of 2 features; no smaller set reaches 0.9)."
    )


def test_larger_models_are_strict_and_subset_minimal():
    """d = 60: the set reaches delta, and without any one of its features it does not."""
    rng = np.random.default_rng(0)
    weights = rng.standard_normal(60)
    model = LinearModel(weights, float(weights.sum() / 2))
    marginals = Product.fit(rng.random((400, 60)) < rng.uniform(0.05, 0.95, 60))
    found = sufficient_reasons(model, rng.integers(0, 2, (6, 60)), distribution=marginals)
    for row, reason in zip(found.rows, found, strict=True):
        assert reason.guarantee.lower >= 0.95
        assert reason.minimality in {"minimum", "subset-minimal"}
        for i in reason.features:
            rest = set(reason.features) - {i}
            assert guarantee(model, row, rest, distribution=marginals) < 0.95


def test_no_larger_than_a_prefix_of_the_signed_shap_order():
    """The order by mean cost is one of the rankings tried, so it never needs fewer."""
    rng = np.random.default_rng(1)
    data = rng.random((300, 30)) < rng.uniform(0.1, 0.9, 30)
    weights = rng.standard_normal(30)
    model, marginals = LinearModel(weights, float(weights @ data.mean(axis=0))), Product.fit(data)
    found = sufficient_reasons(model, data[:12], distribution=marginals)
    for row, reason in zip(data, found, strict=False):
        sign = 1 if reason.prediction == 1 else -1
        order = np.argsort(-sign * weights * (row - data.mean(axis=0)), kind="stable")
        k = next(
            k
            for k in range(31)
            if (guarantee(model, row, order[:k], distribution=marginals) >= 0.95).value
        )
        assert reason.size <= k


def test_fit_takes_plain_means_and_names_what_is_constant():
    """Means are exact fractions; a constant column is named in a warning."""
    frame = pd.DataFrame({"a": [0, 1, 1], "b": [1, 1, 1]})
    with pytest.warns(UserWarning, match="^constant in X: b. Unknown, these features keep that"):
        fitted = Product.fit(frame)
    assert fitted.p == (Fraction(2, 3), Fraction(1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Product.fit([[0, 1], [1, 0]]) == Product([0.5, 0.5])
    assert repr(fitted) == "Product(<2 probabilities>)"


BAD_MARGINALS: list[tuple[Any, str]] = [
    ([0.5, 1.5], "p must lie in [0, 1], got 1.5 for feature 1."),
    ([-0.1], "p must lie in [0, 1], got -0.1 for feature 0."),
    ([np.nan], "p must lie in [0, 1], got nan for feature 0."),
    (["a"], "p must lie in [0, 1], got 'a' for feature 0."),
    ([], "p must be a vector with one probability per feature, got shape (0,)."),
    (0.5, "p must be a vector with one probability per feature, got shape ()."),
]


@pytest.mark.parametrize(("p", "message"), BAD_MARGINALS)
def test_wrong_marginals_get_one_clear_error(p: Any, message: str):
    """What was wrong and what was received."""
    with pytest.raises(InvalidInputError, match=f"^{re.escape(message)}$"):
        Product(p)


def test_marginals_must_fit_the_model():
    """One probability per feature."""
    message = "Product must hold one probability per feature, 2, got 3."
    with pytest.raises(InvalidInputError, match=f"^{re.escape(message)}$"):
        guarantee(LinearModel([1.0, 2.0], 1), [1, 1], [], distribution=Product([0.5] * 3))


@pytest.mark.parametrize("d", [20, 150])
def test_certainty_builds_no_spectra(d: int, monkeypatch: pytest.MonkeyPatch):
    """With delta = 1 the largest costs are known until the others fit the margin; no more."""

    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("a probability is computed")

    for name in ("unit_laws.build", "law.enclose_finite"):
        monkeypatch.setattr(f"sklearn_probsr.independent.{name}", refuse)
    rng = np.random.default_rng(d)
    model = LinearModel(rng.standard_normal(d), 0.1)
    rows, law = rng.integers(0, 2, (5, d)), Product(rng.uniform(0.1, 0.9, d))
    found = sufficient_reasons(model, rows, delta=1, distribution=law)
    for row, reason in zip(rows.tolist(), found, strict=True):
        parts = [Fraction(w) * x for w, x in zip(model.weights.tolist(), row, strict=True)]
        margin = sum(parts) - Fraction(model.threshold)
        sign = 1 if margin >= 0 else -1
        weights = [sign * Fraction(w) for w in model.weights.tolist()]
        worst = [max(w if x else -w, Fraction(0)) for w, x in zip(weights, row, strict=True)]
        left = [sum(sorted(worst)[: d - k]) for k in range(d + 1)]
        assert reason.size == next(k for k in range(d + 1) if left[k] <= sign * margin)
        assert reason.minimality == "minimum"
        assert reason.guarantee.exact == 1
        assert guarantee(model, row, reason.features, distribution=law).exact == 1


@pytest.mark.parametrize("more", [{}, {"max_size": 5}], ids=["unreachable", "best of size"])
def test_a_verdict_and_the_bound_beside_it_agree(
    more: dict[str, Any], monkeypatch: pytest.MonkeyPatch
):
    """What quick engines leave open is decided by the bound that a reader is shown.

    Beside a weight of 3,000 the others are a lump to the spectra, if that is not held within a
    range, and 40 features are free.
    """
    monkeypatch.setattr("sklearn_probsr.independent.unit_laws._LONG", 1e9)
    rng = np.random.default_rng(0)
    weights = np.round(rng.normal(size=45), 6)
    weights[0] = 3000.0
    chances = np.append(0.999, np.round(rng.uniform(0.3, 0.7, 44), 2))
    model = LinearModel(weights, 2996.0 + float(weights[1:] @ chances[1:]))
    x, law = (weights > 0).astype(int), Product(chances)
    known = guarantee(model, x, range(40, 45), distribution=law)
    delta = np.floor(known.lower * 1e6) / 1e6
    reason = sufficient_reason(model, x, delta=delta, distribution=law, exclude=range(40), **more)
    assert (reason.guarantee >= delta).value
    assert reason.minimality == "minimum"


def test_a_size_that_is_asked_twice_has_one_answer():
    """What was proved of smaller sizes is kept, whatever came of larger ones."""
    model = LinearModel(np.arange(1.0, 31.0), 200.0)
    law = law_of(model, Product([0.3] * 30))
    task = Task(Fraction(9, 10), effort=Effort(max_evals=10**6))
    prover = law.prover(law.view(np.ones(30, dtype=np.bool_)), task)
    first, again, fewer = (prover.look(size) for size in (8, 8, 3))
    assert first[0] is again[0]
    assert fewer == (False, set())


def test_a_set_of_a_model_with_some_dozens_of_values_is_counted():
    """What a reader is told of a set is a fraction where counting it takes no time."""
    rows = np.arange(60.0).reshape(20, 3) * [1, 7, 3] % 20
    weights, threshold = [2, -1, 3], 30.0
    units = [Unit(name, (c,)) for c, name in enumerate("abc")]
    model = LinearModel(weights, threshold=threshold, units=units)
    sums = np.add.outer(-rows[:, 1], 3 * rows[:, 2]) + 2 * rows[5, 0]
    kept = (sums >= threshold) == (rows[5] @ weights >= threshold)
    found = guarantee(model, rows[5], features=[0], distribution=Marginals.fit(rows))
    assert found.exact == Fraction(int(kept.sum()), kept.size)


def test_few_completions_of_many_features_are_counted():
    """Forty features of which four are free: the guarantee is a fraction, and its level reached."""
    rng = np.random.default_rng(0)
    weights, x = rng.integers(-5, 6, 40), rng.integers(0, 2, 40)
    case = Case(tuple(map(float, weights)), float(weights @ x - 3), False, tuple(x.tolist()))
    chances = rng.choice([0.1, 0.5, 0.9], 40).tolist()
    truth = product_guarantee(case, range(36), [decimal_fraction(p) for p in chances])
    law = Product(chances)
    assert guarantee(models(case), x, range(36), distribution=law).exact == truth
    found = sufficient_reason(
        models(case), x, delta=truth, distribution=law, include=range(36), exclude=range(36, 40)
    )
    assert found.guarantee.exact == truth
    assert found.features == tuple(range(36))
