"""Rows with values far out, what takes their path in small cases, and claims against the truth."""

from collections.abc import Iterable
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from sklearn_probsr import LinearModel, Marginals, sufficient_reason, sufficient_reasons
from sklearn_probsr.laws.sums._far_ranges import Away
from tests.laws.sums.test_crowds import truth


def always_move(monkeypatch: pytest.MonkeyPatch, module: Any) -> None:
    """Let a module move values also in small cases, as many as may be."""
    for name, value in {
        "LONG": 1e-9, "SHORTER": 0, "FIRST": 0.0, "is_slight": lambda *_: True,
        "QUANTILES": (((0.25, 0.75), 3.92),), "best_half": least_range,
    }.items():  # fmt: skip
        monkeypatch.setattr(module, name, value)


def least_range(candidates: Iterable[Away], _: int) -> tuple[int, float] | None:
    """Return the shortest range, of a few, beyond which there is a fifth on a side at most."""
    for away in candidates:
        for half in np.sort(away.sizes / 1.5):
            if away.chances[:, away.sizes > half].sum(axis=1).max() <= 0.2:
                return 0, float(half)
        return 0, float(away.sizes.max() / 1.5)
    return None


def with_far(rng: np.random.Generator, n: int, d: int, kind: str) -> np.ndarray:
    """Return rows of which a few entries are far out, of both signs."""
    rows = rng.integers(-3, 4, (n, d)) / 2 if kind == "ties" else rng.standard_normal((n, d))
    for _ in range(1 if kind == "one" else int(rng.integers(2, 5))):
        size = 10.0 ** rng.choice([1, 2, 12, 200] if kind == "huge" else [0.7, 1, 2])
        rows[rng.integers(n), rng.integers(d)] = rng.choice([-1, 1]) * size
    return rows


def check_claims(model: LinearModel, rows: np.ndarray, delta: Fraction) -> int:
    """Hold what is claimed of four rows, together and alone, against all sets; count minima."""
    law, asked, minima = Marginals(rows), rows[:4], 0
    together = sufficient_reasons(model, asked, delta=delta, distribution=law)
    for i, x in enumerate(asked):
        each = {
            fixed: truth(model, rows, [1] * len(rows), x, {f"x{j}" for j in fixed})
            for n in range(5)
            for fixed in combinations(range(4), n)
        }
        least = min(len(fixed) for fixed, kept in each.items() if kept >= delta)
        for reason in (
            together[i],
            sufficient_reason(model, x, delta=delta, distribution=law, prove=True),
        ):
            chosen = tuple(sorted(reason.features))
            assert Fraction(reason.guarantee.lower) <= each[chosen]
            assert each[chosen] <= Fraction(reason.guarantee.upper)
            assert each[chosen] >= delta
            assert reason.size_lower <= least
            if reason.minimality == "minimum":
                minima += 1
                assert reason.size == least
            if reason.minimality == "subset-minimal":
                assert all(
                    each[some] < delta
                    for n in range(len(chosen))
                    for some in combinations(chosen, n)
                )
    return minima
