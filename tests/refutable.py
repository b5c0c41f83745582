"""Models of independent units of which all sets are known, for tests of proofs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from sklearn_probsr import LinearModel, Marginals, Product, Uniform, Unit
from sklearn_probsr.core.options import Effort, Task
from sklearn_probsr.distributions._completions import Distribution
from sklearn_probsr.extend import law_of
from sklearn_probsr.laws.sums._independent import IndependentLaw
from sklearn_probsr.laws.sums._refuter import Refuter
from tests.interpreted import INTERPRETED
from tests.oracle import Costly


@dataclass(frozen=True)
class Refutable:
    """A model and an instance; the first units are members, the others are barred."""

    model: LinearModel
    row: np.ndarray
    law: Distribution
    truth: Costly

    @property
    def rows(self) -> np.ndarray:
        return self.row[None, :]

    @property
    def n(self) -> int:
        return len(self.truth.members)

    def task(self, delta: Fraction, effort: Effort) -> Task:
        barred = range(self.n, self.n + len(self.truth.others))
        return Task(delta, exclude=tuple(barred), effort=effort)

    def refuter(self, delta: Fraction, effort: Effort | None = None) -> Refuter:
        """Return what refutes sets of the row, on spectra."""
        law = law_of(self.model, self.law)
        law = getattr(law, "sums", law)  # coins are a sum too
        law = IndependentLaw(law.linear, law.distribution, law.source)
        positive = bool(self.model.is_positive(self.rows)[0])
        shared = law.spectra(positive, whole=False, few=True)
        assert shared is not None
        if INTERPRETED:  # wider bounds, and a sixteenth of the work
            shared = replace(shared, degrees=[256])
        task = self.task(delta, Effort() if effort is None else effort)
        return Refuter(law.contributions, shared, self.rows, positive, task)


def binary(seed: int, others: int = 60) -> Refutable:
    """Return 10 to 14 features that cost much and seldom, or little and often, and others."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(10, 15))
    d = n + others
    weights = np.round(rng.standard_normal(d) * 100)
    flips = rng.integers(1, 16, d)  # in sixteenths
    weights[:n] = np.round(500 / (flips[:n] + 2) * rng.uniform(0.8, 1.25, n))
    weights[: n // 2] *= -1
    x = np.where(np.arange(d) < n, weights > 0, rng.random(d) < 0.5)
    p = np.where(x, 16 - flips, flips) / 16
    expected = weights @ p
    spread = np.sqrt((weights**2 * p * (1 - p)).sum())
    positive = bool(rng.random() < 0.5)
    if not positive:
        weights, expected = -weights, -expected
    sign = 1 if positive else -1
    slack = rng.uniform(0.0, 0.8) * spread
    at = weights @ x
    threshold = float(np.round(min(sign * expected + slack, sign * at - 1) * sign))
    model = LinearModel(weights, threshold)
    assert model.predict([x])[0] == positive
    left = int(at - threshold)
    costs = (sign * weights * (2 * x - 1)).astype(int)
    laws = tuple(
        {0: 16 - int(f), int(c): int(f)} if c else {0: 16}
        for c, f in zip(costs, flips, strict=True)
    )
    margin = left if positive else -left - 1
    return Refutable(model, x, Product(p), Costly(laws[:n], laws[n:], margin, 16))


def many_valued(seed: int, mixed: bool, others: int = 8) -> Refutable:
    """Return 10 to 12 units with the values of eight rows, and others; some may gain."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(10, 13))
    d = n + others
    scales = rng.uniform(0.3, 1.0, d) * np.where(np.arange(d) < n, 1, 2)
    data = np.round(rng.integers(0, 400, (8, d)) * scales)
    data[:, 1:n:2] = np.where(rng.random((8, len(range(1, n, 2)))) < 0.6, 0, data[:, 1:n:2])
    top = np.sort(data, axis=0)[-1 - int(mixed)]
    row = np.where(np.arange(d) < n, np.where(rng.random(d) < 0.7, top, data.max(axis=0)), data[0])
    positive = bool(rng.random() < 0.5)
    sign = 1 if positive else -1
    most = row.sum()
    middle = data.mean(axis=0).sum()
    cut = np.round(min(middle + rng.uniform(-0.3, 0.7) * np.sqrt(data.var(axis=0).sum()), most - 1))
    # Class 1 is a sum of at least the cut; class 0 turns all signs.
    model = LinearModel(
        np.full(d, float(sign)),
        float(cut if positive else -cut + 1),
        units=[Unit.real(f"r{i}", i) for i in range(d)],
    )
    assert model.predict([row])[0] == positive
    laws = tuple(_law(row[i] - data[:, i]) for i in range(d))
    return Refutable(
        model, row, Marginals.fit(data), Costly(laws[:n], laws[n:], int(most - cut), 8)
    )


def categorical(seed: int) -> Refutable:
    """Return 10 categorical units of 2 to 5 categories, each as likely."""
    rng = np.random.default_rng(seed)
    widths = rng.integers(2, 6, 10).tolist()
    starts = np.cumsum([0, *widths]).tolist()
    weights = rng.integers(-200, 201, starts[-1]).astype(float)
    units = [Unit.one_hot(f"c{i}", range(starts[i], starts[i + 1])) for i in range(10)]
    row = np.zeros(starts[-1])
    laws = []
    total = 0.0
    for i, width in enumerate(widths):
        worths = weights[starts[i] : starts[i + 1]]
        at = int(np.argsort(worths)[-1 if rng.random() < 0.6 else -2])
        row[starts[i] + at] = 1.0
        total += worths[at]
        laws.append(_law(worths[at] - worths, 60 // width))
    means = sum(weights[starts[i] : starts[i + 1]].mean() for i in range(10))
    cut = np.round(means + rng.uniform(0.1, 0.9) * (total - means))
    model = LinearModel(weights, float(cut), units=units)
    return Refutable(model, row, Uniform(), Costly(tuple(laws), (), int(total - cut), 60))


def _law(costs: np.ndarray, weight: int = 1) -> dict[int, int]:
    law: dict[int, int] = {}
    for cost in costs.astype(int).tolist():
        law[cost] = law.get(cost, 0) + weight
    return law
