"""Small decisions with costs under every law, and the truth about them: all sets, in rationals."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np

from sklearn_probsr import (
    ArgmaxModel,
    Background,
    LinearModel,
    Marginals,
    Product,
    Uniform,
    Unit,
)

LAWS = ("uniform", "product", "marginals", "rows", "real rows", "classes", "classes, independent")
LEVELS = ("0.5", "0.75", "0.9", "0.95", "1")
COSTS = ("few", "floats", "by weight", "far apart", "long")


@dataclass(frozen=True)
class Priced:
    """A decision: what replaces unknown units is a weighted list of rows, each as likely as it is.

    ``weights`` (outputs, units) and ``rows`` are whole numbers, so that sums of floats are exact;
    independent units are listed in all combinations.
    """

    model: Any
    x: np.ndarray
    distribution: Any
    weights: np.ndarray
    threshold: int
    rows: np.ndarray
    chances: list[int]
    costs: list[Any]
    delta: Fraction
    options: dict[str, Any] = field(default_factory=dict)

    def _classes(self, rows: np.ndarray) -> np.ndarray:
        scores = rows @ self.weights.T
        if len(self.weights) == 1:
            return scores[:, 0] >= self.threshold
        return scores.argmax(axis=1)

    def share(self, features: Any) -> Fraction:
        """Return the guarantee of a set: every row is classified."""
        rows = self.rows.copy()
        rows[:, list(features)] = self.x[list(features)]
        same = self._classes(rows) == self._classes(self.x[None, :])[0]
        kept = sum(chance for chance, is_same in zip(self.chances, same, strict=True) if is_same)
        return Fraction(kept, sum(self.chances))

    @cached_property
    def prices(self) -> list[Fraction]:
        """What each feature costs, as the decimal that it prints as."""
        return [Fraction(str(cost)) for cost in self.costs]

    def price(self, features: Any) -> Fraction:
        """Return what a set costs."""
        return sum((self.prices[u] for u in features), Fraction(0))

    @cached_property
    def sets(self) -> list[tuple[tuple[int, ...], Fraction]]:
        """All sets that are allowed, with their guarantees."""
        forced, barred = (set(self.options.get(name, ())) for name in ("include", "exclude"))
        most = self.options.get("max_size") or len(self.x)
        found = []
        for bits in product((False, True), repeat=len(self.x)):
            chosen = {u for u, bit in enumerate(bits) if bit}
            if forced <= chosen and not barred & chosen and len(chosen) <= most:
                found.append((tuple(sorted(chosen)), self.share(chosen)))
        return found

    def best(self) -> tuple[Fraction, int] | None:
        """Return the least cost of a set that reaches delta, and the least size at that cost."""
        reached = [(self.price(s), len(s)) for s, share in self.sets if share >= self.delta]
        return min(reached, default=None)

    def fewest(self) -> int | None:
        """Return the least size of a set that reaches delta."""
        return min((len(s) for s, share in self.sets if share >= self.delta), default=None)


def priced(law: str, seed: int, largest: int = 7) -> Priced:
    """Return a decision under a law, with ties and costs of some kind, by a seed."""
    rng = np.random.default_rng([LAWS.index(law) if law in LAWS else len(LAWS), seed])
    independent = law in ("uniform", "product", "marginals", "classes, independent")
    d = int(rng.integers(1, largest + 1 if law != "marginals" else 6))
    outputs = 3 if law.startswith("classes") else 1
    scale = int(rng.choice([1, 2, 5, 9]))
    weights = rng.integers(-scale, scale + 1, (outputs, d))
    many = law in ("real rows", "marginals")
    data = rng.integers(-2, 4, (8, d)) if many else rng.integers(0, 2, (9, d))
    x = data[0] if many else rng.integers(0, 2, d)
    threshold = int(np.floor(np.median(data @ weights[0])))
    units = [Unit.real(f"u{j}", j) for j in range(d)] if many else None
    model: Any = LinearModel(weights[0].astype(float), threshold=threshold, units=units)
    if outputs > 1:
        model = ArgmaxModel(weights.astype(float), np.zeros(outputs))
    chances = [1] * len(data)
    tenths = rng.integers(1, 10, d)
    distribution: Any = Background(data)
    if law == "marginals":
        distribution = Marginals.fit(data)
    elif independent:
        distribution = Uniform() if law == "uniform" else Product(tenths / 10)
    if independent:
        values = [
            list(data[:, j]) if many else [0] * (10 - t) + [1] * t for j, t in enumerate(tenths)
        ]
        if law == "uniform":
            values = [[0, 1]] * d
        each = [np.unique(column, return_counts=True) for column in values]
        data = np.array(list(product(*(states for states, _ in each))))
        chances = [int(np.prod(c, dtype=object)) for c in product(*(c.tolist() for _, c in each))]
    delta = Fraction(str(rng.choice(LEVELS)))
    return Priced(
        model, x, distribution, weights, threshold, data, chances,
        _costs(str(rng.choice(COSTS)), weights[0], rng), delta, _options(d, rng),
    )  # fmt: skip


def _costs(kind: str, weights: np.ndarray, rng: np.random.Generator) -> list[Any]:
    d = len(weights)
    return {
        "few": rng.integers(1, 4, d).tolist(),
        "floats": np.round(rng.uniform(0.1, 3, d), 1).tolist(),
        "by weight": (np.abs(weights) + rng.integers(1, 3, d)).tolist(),
        "far apart": rng.choice([1e-300, 1.0, 1e300], d).tolist(),
        "long": rng.choice(rng.random(3) + 0.1, d).tolist(),
    }[kind]


def _options(d: int, rng: np.random.Generator) -> dict[str, Any]:
    """Return options of a search, in about half of the cases."""
    kinds = rng.integers(0, 6)
    some = rng.permutation(d).tolist()
    if kinds == 0:
        return {"include": some[: d // 3]}
    if kinds == 1:
        return {"exclude": some[: d // 3]}
    if kinds == 2:
        return {"max_size": int(rng.integers(1, d + 1))}
    return {}
