"""Reasons of generated models of independent units, against all sets in exact numbers.

0/1 features with chances of their own, real-valued ones and categories as they are in a few rows;
ties, equal and opposite weights, chances 0 and 1, numbers of very different size, values that the
rows never have, and options of a search. `make thorough` tries 20,000 models, other runs some
hundred.
"""

from __future__ import annotations

import math
import os
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from sklearn_probsr import LinearModel, Marginals, Product, Unit, sufficient_reason
from sklearn_probsr.independent import law as tabled
from tests.interpreted import examples

CASES = 20_000 if os.environ.get("SKLEARN_PROBSR_CASES") == "whole" else examples(600)
PARTS = 8
STYLES = ("ties", "plain", "opposite", "decimal", "wide")

Law = dict[Fraction, Fraction]


class Generated:
    """A small model of independent units and an instance, with the guarantees of all sets."""

    def __init__(self, seed: int) -> None:
        rng = self.rng = np.random.default_rng(seed)
        self.n = int(rng.integers(1, 7))
        self.strict = bool(rng.random() < 0.3)
        self.style = str(rng.choice(STYLES))
        self.laws: list[Law] = []
        make = (self._product, self._real, self._categories)[int(rng.integers(0, 3))]
        self.known, threshold, weights, units = make()
        self.threshold = Fraction(threshold)
        self.model = LinearModel(weights, threshold, strict=self.strict, units=units)
        self.kept = self._kept()

    def _weights(self, n: int) -> np.ndarray:
        rng = self.rng
        if self.style == "ties":
            return rng.integers(-3, 4, n).astype(float)
        weights = rng.standard_normal(n)
        if self.style == "opposite":
            weights[n // 2 :] = -weights[: n - n // 2]
        if self.style == "wide":
            weights *= 10.0 ** rng.integers(-3, 4, n)
        return np.round(weights, 1) if self.style == "decimal" else weights

    def _product(self) -> tuple[list[Fraction], float, np.ndarray, None]:
        rng, weights = self.rng, self._weights(self.n)
        parts = int(rng.choice([10, 100]))
        p = [Fraction(int(rng.integers(0, parts + 1)), parts) for _ in range(self.n)]
        self.distribution: Any = Product([float(q) for q in p])
        self.row = rng.integers(0, 2, self.n)
        for q, w in zip(p, weights.tolist(), strict=True):
            law = {Fraction(0): 1 - q}
            law[Fraction(w)] = law.get(Fraction(w), Fraction(0)) + q
            self.laws.append({value: chance for value, chance in law.items() if chance})
        known = [Fraction(w) * int(x) for w, x in zip(weights.tolist(), self.row, strict=True)]
        at = float(weights @ [float(q) for q in p]) + rng.normal() * 0.3
        tie = float(rng.choice(weights) * rng.integers(0, 3))
        return known, float(np.round(at, 1)) if rng.random() < 0.7 else tie, weights, None

    def _real(self) -> tuple[list[Fraction], float, np.ndarray, list[Unit]]:
        rng, weights = self.rng, self._weights(self.n)
        m = int(rng.integers(1, 6))
        rows = np.round(rng.standard_normal((m, self.n)) * 2, int(rng.integers(0, 3)))
        own = np.round(rng.standard_normal(self.n) * 2, 1)
        self.row = np.where(rng.random(self.n) < 0.7, rows[rng.integers(0, m)], own)
        self.distribution = Marginals.fit(rows)
        known = []
        for j, w in enumerate(map(Fraction, weights.tolist())):
            self.laws.append(shares([w * Fraction(x) for x in rows[:, j].tolist()]))
            known.append(w * Fraction(float(self.row[j])))
        units = [Unit.real(f"x{j}", j) for j in range(self.n)]
        return known, float(np.round(np.mean(rows @ weights), 1)), weights, units

    def _categories(self) -> tuple[list[Fraction], float, np.ndarray, list[Unit]]:
        rng = self.rng
        widths = rng.integers(2, 4, self.n)
        starts = np.cumsum([0, *widths]).tolist()
        weights = self._weights(starts[-1])
        m = int(rng.integers(2, 7))
        rows, self.row = np.zeros((m, starts[-1])), np.zeros(starts[-1])
        known = []
        for j in range(self.n):
            columns = starts[j] + rng.integers(0, widths[j], m)
            rows[np.arange(m), columns] = 1
            self.laws.append(shares([Fraction(weights[c]) for c in columns.tolist()]))
            column = starts[j] + int(rng.integers(0, widths[j]))
            self.row[column] = 1
            known.append(Fraction(weights[column]))
        self.distribution = Marginals.fit(rows)
        units = [Unit.one_hot(f"c{j}", range(starts[j], starts[j + 1])) for j in range(self.n)]
        return known, float(np.round(np.mean(rows @ weights), 1)), weights, units

    def _keeps(self, sums: Any) -> Any:
        return sums > self._cut if self.strict else sums >= self._cut

    def _kept(self) -> list[Fraction]:
        """Return the guarantee of every set, as bits, from all completions in whole numbers."""
        numbers = [self.threshold, *self.known, *(value for law in self.laws for value in law)]
        times = math.lcm(*(number.denominator for number in numbers))
        large = max(abs(number) for number in numbers) * times > 2**57
        kind: Any = object if large else np.int64
        self._cut = int(self.threshold * times)
        known = [int(value * times) for value in self.known]
        total = math.lcm(*(chance.denominator for law in self.laws for chance in law.values()))
        positive = bool(self._keeps(sum(known)))
        found = []
        for mask in range(1 << self.n):
            free = [law for u, law in enumerate(self.laws) if not mask >> u & 1]
            sums = np.array([sum(v for u, v in enumerate(known) if mask >> u & 1)], kind)
            counts = np.ones(1, dtype=object)
            for law in free:
                values = np.array([int(value * times) for value in law], kind)
                chances = np.array([int(chance * total) for chance in law.values()], object)
                sums = np.add.outer(sums, values).ravel()
                counts = np.multiply.outer(counts, chances).ravel()
            inside = (self._keeps(sums) == positive).astype(bool)
            found.append(Fraction(int(counts[inside].sum()), total ** len(free)))
        return found

    def options(self) -> dict[str, Any]:
        """Return options of a search."""
        rng, found = self.rng, {}
        turn = rng.random()
        if turn < 0.2:
            found["include"] = [int(rng.integers(0, self.n))]
        elif turn < 0.4:
            found["exclude"] = [int(rng.integers(0, self.n))]
            found["max_size"] = self.n
        elif turn < 0.5:
            found["cost"] = rng.integers(1, 5, self.n).tolist()
        if rng.random() < 0.2:
            found["prove"] = bool(rng.random() < 0.5)
        return found


def shares(values: list[Fraction]) -> Law:
    """Return how often each of some values occurs."""
    return {value: Fraction(values.count(value), len(values)) for value in values}


def check(case: Generated) -> str:
    """Hold an answer against all sets; return what it claims."""
    options = case.options()
    delta = Fraction(int(case.rng.choice([50, 75, 80, 90, 95, 99])), 100)
    reason = sufficient_reason(
        case.model, case.row, delta=float(delta), distribution=case.distribution, **options
    )
    chosen = sum(1 << u for u in reason.features)
    forced = sum(1 << u for u in options.get("include", ()))
    barred = sum(1 << u for u in options.get("exclude", ()))
    truth = case.kept[chosen]
    assert Fraction(reason.guarantee.lower) <= truth <= Fraction(reason.guarantee.upper)
    assert chosen & forced == forced
    assert not chosen & barred
    allowed = (m for m in range(1 << case.n) if m & forced == forced and not m & barred)
    reach = [m for m in allowed if case.kept[m] >= delta]
    sizes = [m.bit_count() for m in reach]
    assert reason.size_lower <= min(sizes, default=case.n)
    word = reason.minimality
    if word == "best-of-size":
        return word
    assert chosen in reach or word.startswith("near-")
    if word == "minimum" and "cost" in options:
        price = [sum(c for u, c in enumerate(options["cost"]) if m >> u & 1) for m in reach]
        assert price[reach.index(chosen)] == min(price)
    elif word == "minimum":
        assert reason.size == min(sizes)
    elif word == "subset-minimal":
        assert not any(m & chosen == m for m in reach if m != chosen)
    return word


@pytest.mark.parametrize("counted", [False, True], ids=["tables", "as it is"])
@pytest.mark.parametrize("part", range(PARTS))
def test_claims_of_generated_models(part: int, counted: bool, monkeypatch: pytest.MonkeyPatch):
    """Enclosures hold the truth, and words of minimality hold over all sets.

    So few values would be counted: half of the cases are searched on tables all the same.
    """
    if not counted:
        monkeypatch.setattr(tabled, "are_few", lambda *_: False)
    first = part + PARTS * counted
    words = [check(Generated(seed)) for seed in range(first, CASES, 2 * PARTS)]
    assert "minimum" in words
