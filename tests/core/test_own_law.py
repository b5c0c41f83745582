"""A distribution of a user's own: a mixture of two products, made here and nowhere else."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from sklearn_probsr import (
    ArgmaxModel,
    LinearModel,
    Product,
    SufficientReasonExplainer,
    SufficientReasonTransformer,
    compare,
    guarantee,
    guarantee_curve,
    make_reason_size_scorer,
    sufficient_reason,
    sufficient_reasons,
)
from sklearn_probsr.core import dispatch as _dispatch
from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.extend import Enclosure, Law, View, law_of, register_law


@dataclass(frozen=True)
class Mixture:
    """Unknown features follow the first product with probability ``share``, else the second."""

    first: Product
    second: Product
    share: Fraction

    def __str__(self) -> str:
        return "a mixture of two products"


class MixtureView(View):
    """One instance before a mixture: what its two products say, by their shares."""

    def __init__(self, parts: list[View], share: Fraction) -> None:
        super().__init__(parts[0].n_units)
        self.parts, self.shares = parts, (share, 1 - share)

    def can_cost(self, unit: int) -> bool:
        return any(part.can_cost(unit) for part in self.parts)

    def can_gain(self, unit: int) -> bool:
        return any(part.can_gain(unit) for part in self.parts)

    def enclose(
        self, fixed: Collection[int], delta: Fraction | None = None, tol: float = 1e-4
    ) -> Enclosure:
        ends = [part.enclose(fixed, None, tol).ends() for part in self.parts]
        low, high = (
            sum(share * end[i] for share, end in zip(self.shares, ends, strict=True))
            for i in (0, 1)
        )
        return Enclosure.between(Fraction(low), Fraction(high))

    def orders(self, members: list[int], forced: Sequence[int]) -> list[list[int]]:
        return [order for part in self.parts for order in part.orders(members, forced)]

    def kept(
        self, forced: Sequence[int], order: list[int], samples: int, rng: np.random.Generator
    ) -> NDArray[np.int64]:
        first = int(rng.binomial(samples, float(self.shares[0])))
        counts = (first, samples - first)
        return sum(
            part.kept(forced, order, n, rng) for part, n in zip(self.parts, counts, strict=True)
        )


class MixtureLaw(Law):
    """A model under a mixture."""

    def __init__(self, model: Any, mixture: Mixture) -> None:
        super().__init__(model, mixture)
        self.parts = [law_of(model, part) for part in (mixture.first, mixture.second)]

    @property
    def means(self) -> NDArray[np.float64]:
        share = float(self.distribution.share)
        return share * self.parts[0].means + (1 - share) * self.parts[1].means

    def view(self, row: NDArray[Any]) -> MixtureView:
        return MixtureView([part.view(row) for part in self.parts], self.distribution.share)


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    """Know the mixture for the time of a test."""
    register_law(Mixture, MixtureLaw)
    yield
    del _dispatch._MAKERS[Mixture]


def truth(model: LinearModel | ArgmaxModel, x: list[int], fixed: Any, over: Mixture) -> Fraction:
    """Return the guarantee over all completions, in rationals."""
    label, total = model.predict([x])[0], Fraction(0)
    for z in product((0, 1), repeat=len(x)):
        row = [x[i] if i in fixed else z[i] for i in range(len(x))]
        if model.predict([row])[0] == label:
            for part, share in ((over.first, over.share), (over.second, 1 - over.share)):
                chance = share
                for i, value in enumerate(z):
                    chance *= part.p[i] if value else 1 - part.p[i]
                total += chance
    return total


def mixture(seed: int, d: int) -> Mixture:
    rng = np.random.default_rng(seed)
    first, second = (Product(np.round(rng.uniform(0.1, 0.9, d), 2)) for _ in range(2))
    return Mixture(first, second, Fraction(1, 3))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("classes", [2, 3])
def test_guarantee_curve_and_reason_of_a_mixture(seed: int, classes: int):
    """Against all completions and all sets: enclosures, curves, sizes and claims."""
    rng = np.random.default_rng(seed)
    d, over = 5, mixture(seed, 5)
    weights = rng.integers(-9, 10, (classes, d)).astype(float)
    model = LinearModel(weights[0], 1.0) if classes == 2 else ArgmaxModel(weights, np.zeros(3))
    x = rng.integers(0, 2, d).tolist()
    for fixed in ([], [0], [1, 3], list(range(d))):
        known = guarantee(model, x, fixed, distribution=over)
        below, above = known.ends()
        assert below <= truth(model, x, fixed, over) <= above
    curve = guarantee_curve(model, x, distribution=over)
    for k in range(d + 1):
        exact = truth(model, x, curve.order[:k], over)
        assert Fraction(curve.lower[k]) <= exact <= Fraction(curve.upper[k])
    reason = sufficient_reason(model, x, delta=0.9, distribution=over)
    assert truth(model, x, reason.features, over) >= Fraction(9, 10)
    sets = product((False, True), repeat=d)
    sizes = [
        sum(s) for s in sets if truth(model, x, np.flatnonzero(s).tolist(), over) >= Fraction(9, 10)
    ]
    assert reason.size_lower <= min(sizes) <= reason.size
    assert reason.minimality != "minimum" or reason.size == min(sizes)
    assert "over a mixture of two products" in str(reason)


def test_monte_carlo_of_a_mixture():
    """Samples of both products, by their shares, come close to what is proved."""
    rng = np.random.default_rng(0)
    over = mixture(1, 6)
    model = LinearModel(rng.integers(-9, 10, 6).astype(float), 1.0)
    rows = rng.integers(0, 2, (3, 6))
    found = sufficient_reasons(
        model,
        rows,
        delta=0.8,
        distribution=over,
        method="monte-carlo",
        epsilon=0.05,
        gamma=1e-6,
        random_state=0,
    )
    for row, reason in zip(rows.tolist(), found, strict=True):
        assert truth(model, row, reason.features, over) >= Fraction(3, 4)


def test_the_shells_take_a_mixture():
    """The explainer, the transformer, a scorer and the comparison need no change."""
    rng = np.random.default_rng(2)
    X = rng.integers(0, 2, (40, 5))
    y = X @ [3, -2, 1, 0, 1] > 1
    model, over = LogisticRegression().fit(X, y), mixture(3, 5)
    reasons = SufficientReasonExplainer(model, over)(X[:6])
    assert (reasons.guarantee_lower >= 0.95).all()
    law = law_of(SufficientReasonExplainer(model, over).linear_model, over)
    assert np.allclose(reasons.base_values, model.decision_function(law.means[None, :])[0])
    step = make_pipeline(SufficientReasonTransformer(LogisticRegression(), masker=over))
    assert step.fit(X, y).transform(X[:6]).shape == (6, 5)
    assert make_reason_size_scorer(masker=over)(model, X[:6]) == -reasons.reason_size.mean()
    frame = compare(model, X[:6], over).to_frame()
    assert frame["reason_size"].tolist() == reasons.reason_size.tolist()
    assert (frame["reason_size"] <= frame["sure_size"]).all()


def test_what_is_registered_is_checked():
    """A type and something to call, or a sentence."""
    with pytest.raises(InvalidInputError) as caught:
        register_law(Mixture(Product([0.5]), Product([0.5]), Fraction(1)), MixtureLaw)  # type: ignore[arg-type]
    assert str(caught.value).startswith("register_law takes the type of a distribution, got Mix")
    with pytest.raises(InvalidInputError) as caught:
        register_law(Mixture, None)  # type: ignore[arg-type]
    assert str(caught.value) == (
        "register_law takes what makes a law of a model and a distribution, got None."
    )


@pytest.mark.parametrize("seed", range(12))
def test_the_cheapest_set_of_a_mixture(seed: int):
    """Costs need nothing of a law: every claim holds against all sets."""
    rng = np.random.default_rng(seed)
    d, over = 5, mixture(seed, 5)
    model = LinearModel(rng.integers(-9, 10, d).astype(float), 1.0)
    x, costs = rng.integers(0, 2, d).tolist(), rng.integers(1, 5, d).tolist()
    delta = Fraction(9, 10)
    sets = [{u for u in range(d) if bits >> u & 1} for bits in range(2**d)]
    best = min(
        (sum(costs[u] for u in fixed), len(fixed))
        for fixed in sets
        if truth(model, x, fixed, over) >= delta
    )
    found = sufficient_reason(model, x, delta=delta, distribution=over, cost=costs)
    assert truth(model, x, found.features, over) >= delta
    assert found.cost == sum(costs[u] for u in found.features)
    assert found.cost_lower <= best[0]
    assert found.minimality == "minimum"
    assert (found.cost, found.size) == best
