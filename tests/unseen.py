"""Small decisions in which fixing a fact may hurt, and all that is true of their sets.

Facts of an instance may be what the distribution never gives: then an unknown feature is always
something else, and to know it may make the class less sure before some of its rivals. Guarantees of
all sets are counted in whole numbers, with no code of the package.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations, product
from typing import Any

import numpy as np
from scipy import sparse

from sklearn_probsr import (
    ArgmaxModel,
    Background,
    LinearModel,
    Marginals,
    Product,
    Uniform,
    Unit,
)
from tests.interpreted import cases

LAWS = ("product", "marginals", "real marginals", "uniform", "background", "real background")
CHANCES = (0.0, 0.01, 0.1, 0.25, 0.5, 0.5, 0.9, 1.0)
LEVELS = ("0.5", "0.75", "0.9", "0.95", "0.99")


def seeds(whole: int, some: int) -> range:
    """Return the seeds of some cases; of all of them in `make thorough`."""
    return cases(whole if os.environ.get("SKLEARN_PROBSR_CASES") == "whole" else some, 2)


@dataclass(frozen=True)
class Unseen:
    """A decision of a few units, with what may be asked of it.

    ``rows`` of whole numbers replace unknown units: together, each as often as ``counts`` says, or,
    if units are independent, each by one of its ``states``.
    """

    weights: np.ndarray  # (classes, units); of a LinearModel one line
    constants: np.ndarray
    last: bool
    x: np.ndarray
    law: str
    states: list[dict[int, int]]
    rows: np.ndarray
    counts: np.ndarray
    model: Any
    distribution: Any

    @classmethod
    def of(cls, seed: int, thin: bool = False) -> Unseen:
        """Return the case of a seed; with ``thin`` its rows are told as a sparse matrix."""
        rng = np.random.default_rng(seed)
        law = LAWS[seed % len(LAWS)]
        units, classes = int(rng.integers(1, 7)), int(rng.integers(1, 5))
        real = law.startswith("real")
        few = rng.integers(-3, 8, 3)
        weights = (
            rng.choice(few, (classes, units)) if seed % 2 else rng.integers(-4, 5, (classes, units))
        )
        constants = rng.integers(-3, 4, classes)
        last = bool(rng.integers(2))
        x = rng.integers(0, 4 if real else 2, units)
        rows = rng.integers(0, 3 if real else 2, (int(rng.integers(1, 9)), units))
        counts = rng.integers(1, 4, len(rows))
        chances = rng.choice(CHANCES, units)
        unseen = rng.random(units) < rng.choice([0.0, 0.35, 0.7])
        for u in np.flatnonzero(unseen):  # such values the instance alone has
            rows[:, u] = 1 - x[u] if not real else (x[u] + rng.integers(1, 3)) % 4
            chances[u] = 1 - x[u]
        named = [Unit.real(f"x{u}", u) for u in range(units)] if real else None
        model: Any
        if classes == 1:
            model = LinearModel(weights[0], -int(constants[0]), strict=last, units=named)
        else:
            model = ArgmaxModel(weights, constants, last=last, units=named)
        if law == "product":
            ones = [Fraction(str(p)) for p in chances]
            states = [{0: int(100 * (1 - p)), 1: int(100 * p)} for p in ones]
            distribution: Any = Product(chances.tolist())
        elif law == "uniform":
            states, distribution = [{0: 1, 1: 1}] * units, Uniform()
        else:
            states = [_tally(rows[:, u], counts) for u in range(units)]
            told = sparse.csr_array(rows.astype(float)) if thin else rows.astype(float)
            kind = Marginals.fit if law.endswith("marginals") else Background
            distribution = kind(told, weights=counts)
        return cls(weights, constants, last, x, law, states, rows, counts, model, distribution)

    @property
    def d(self) -> int:
        """How many units there are."""
        return len(self.x)

    def _kept(self, values: np.ndarray) -> np.ndarray:
        """Tell which of many instances have the class of this one."""
        scores = values @ self.weights.T + self.constants
        own = self.x @ self.weights.T + self.constants
        if len(self.weights) == 1:
            sides = [each[..., 0] > 0 if self.last else each[..., 0] >= 0 for each in (scores, own)]
            return sides[0] == sides[1]
        flip = -1 if self.last else 1
        best = [each[..., ::flip].argmax(axis=-1) for each in (scores, own)]
        return best[0] == best[1]

    @cached_property
    def truth(self) -> dict[frozenset[int], Fraction]:
        """The guarantee of every set."""
        sets = [frozenset(np.flatnonzero(bits).tolist()) for bits in product((0, 1), repeat=self.d)]
        if self.law.endswith("background"):
            whole = int(self.counts.sum())
            found = []
            for chosen in sets:
                rows = self.rows.copy()
                rows[:, list(chosen)] = self.x[list(chosen)]
                found.append(Fraction(int(self.counts @ self._kept(rows)), whole))
            return dict(zip(sets, found, strict=True))
        # The last state of each unit is that it is known; unit by unit the others are added up.
        each = [[*states, int(own)] for states, own in zip(self.states, self.x, strict=True)]
        grid = np.stack(np.meshgrid(*each, indexing="ij"), axis=-1)
        table = self._kept(grid).astype(object)
        whole = 1
        for u, states in enumerate(self.states):
            chances = np.array(list(states.values()), dtype=object)
            total = int(chances.sum())
            table = np.moveaxis(table, u, 0)
            unknown = np.tensordot(chances, table[:-1], axes=(0, 0))
            table = np.moveaxis(np.stack([unknown, table[-1] * total]), 0, u)
            whole *= total
        return {
            chosen: Fraction(int(table[tuple(int(u in chosen) for u in range(self.d))]), whole)
            for chosen in sets
        }


def _tally(column: np.ndarray, counts: np.ndarray) -> dict[int, int]:
    return {int(v): int(counts[column == v].sum()) for v in np.unique(column)}


@dataclass(frozen=True)
class Asked:
    """What is asked of a case: a level and options of `sufficient_reason`."""

    case: Unseen
    delta: float
    options: dict[str, Any]

    @classmethod
    def of(cls, seed: int, case: Unseen) -> Asked:
        """Return a question about a case: also at levels that some set hits exactly."""
        rng = np.random.default_rng([seed, 1])
        ties = sorted(
            {v for v in case.truth.values() if 0 < v < 1 and Fraction(str(float(v))) == v}
        )
        kind = rng.integers(4)
        if kind < 2:
            delta = 1.0
        elif kind == 2 and ties:
            delta = float(rng.choice(ties))
        else:
            delta = float(rng.choice(LEVELS))
        shares = ([1, 0, 0], [0.8, 0, 0.2], [0.6, 0, 0.4], [0.5, 0.25, 0.25])
        groups = rng.choice(["free", "in", "out"], case.d, p=shares[rng.integers(4)])
        options: dict[str, Any] = {
            "prove": [True, "auto", False][int(rng.choice(3, p=[0.5, 0.4, 0.1]))]
        }
        include, exclude = (np.flatnonzero(groups == word).tolist() for word in ("in", "out"))
        options["include"], options["exclude"] = include, exclude
        if rng.random() < 0.3:
            options["max_size"] = len(include) + int(rng.integers(0, 4))
        if rng.random() < 0.25:
            options["cost"] = rng.choice([1, 2, 2.5, 7], case.d).tolist()
        return cls(case, delta, options)

    @property
    def level(self) -> Fraction:
        """The level as the decimal that it prints as."""
        return Fraction(str(self.delta))

    @cached_property
    def allowed(self) -> list[frozenset[int]]:
        """All sets that have what is forced in and lack what is forced out."""
        inside, outside = set(self.options["include"]), set(self.options["exclude"])
        free = [u for u in range(self.case.d) if u not in inside | outside]
        return [frozenset(inside | set(more)) for more in _subsets(free)]

    @cached_property
    def reaching(self) -> list[frozenset[int]]:
        """Those of them that reach the level."""
        return [chosen for chosen in self.allowed if self.case.truth[chosen] >= self.level]

    def price(self, chosen: Iterable[int]) -> Fraction:
        """Return what a set costs."""
        cost = self.options.get("cost", [1] * self.case.d)
        return sum((Fraction(str(cost[u])) for u in chosen), Fraction(0))


def _subsets(units: list[int]) -> Iterator[tuple[int, ...]]:
    for size in range(len(units) + 1):
        yield from combinations(units, size)
