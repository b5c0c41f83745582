"""The truth, slowly: exact rationals and brute force, with no code of the package.

A case is weights, threshold, strictness and an instance; floats are taken as the exact rationals
that they are.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import combinations, product

import numpy as np


@dataclass(frozen=True)
class Case:
    """A linear model and an instance."""

    weights: tuple[float, ...]
    threshold: float
    strict: bool
    x: tuple[int, ...]

    @property
    def d(self) -> int:
        return len(self.weights)

    def says_one(self, z: Sequence[int]) -> bool:
        """Classify exactly."""
        total = sum((Fraction(w) for w, value in zip(self.weights, z, strict=True) if value), 0)
        threshold = Fraction(self.threshold)
        return total > threshold if self.strict else total >= threshold

    @property
    def label(self) -> bool:
        return self.says_one(self.x)

    @cached_property
    def _kept(self) -> np.ndarray:
        """Count, for each set of free features (as bits), the completions that keep the class.

        A completion is the set of features in which it differs from x; those of a free set are
        its subsets, so one sum over subsets counts them all.
        """
        weights = [Fraction(w) for w in self.weights]
        sums = [sum((w for w, value in zip(weights, self.x, strict=True) if value), Fraction(0))]
        for w, value in zip(weights, self.x, strict=True):
            sums += [total - w if value else total + w for total in sums]
        threshold = Fraction(self.threshold)
        above = [total > threshold if self.strict else total >= threshold for total in sums]
        counts = np.array([side == above[0] for side in above], dtype=np.int64)
        for i in range(self.d):
            pairs = counts.reshape(-1, 2, 2**i)
            pairs[:, 1] += pairs[:, 0]
        return counts

    def guarantee(self, features: Iterable[int]) -> Fraction:
        """Return Pr[class kept] over uniform completions."""
        free = [i for i in range(self.d) if i not in set(features)]
        return Fraction(int(self._kept[sum(1 << i for i in free)]), 2 ** len(free))

    def best(self, size: int, include: Iterable[int] = (), exclude: Iterable[int] = ()) -> Fraction:
        """Return the best guarantee of any set of that size: all of them are tried."""
        forced, barred = set(include), set(exclude)
        others = [i for i in range(self.d) if i not in forced and i not in barred]
        chosen = combinations(others, size - len(forced)) if size >= len(forced) else ()
        return max((self.guarantee(forced | set(s)) for s in chosen), default=Fraction(-1))

    def minimum_size(
        self, delta: Fraction, include: Iterable[int] = (), exclude: Iterable[int] = ()
    ) -> int | None:
        """Return the size of a smallest set that reaches delta; None if none does."""
        forced = set(include)
        for size in range(len(forced), self.d + 1):
            if self.best(size, forced, exclude) >= delta:
                return size
        return None


def brute_force_guarantee(case: Case, features: Iterable[int]) -> Fraction:
    """Return the guarantee by classifying every completion: the oracle of the oracle."""
    fixed = set(features)
    free = [i for i in range(case.d) if i not in fixed]
    kept = 0
    for values in product((0, 1), repeat=len(free)):
        z = list(case.x)
        for i, value in zip(free, values, strict=True):
            z[i] = value
        kept += case.says_one(z) == case.label
    return Fraction(kept, 2 ** len(free))


def subset_count(values: Sequence[int], capacity: int) -> int:
    """Count the subsets of integers whose sum is at most the capacity, by dynamic programming."""
    counts = Counter({0: 1})
    for v in values:
        grown = Counter(counts)
        for total, count in counts.items():
            grown[total + v] += count
        counts = grown
    return sum(count for total, count in counts.items() if total <= capacity)


def background_guarantee(
    case: Case, features: Iterable[int], rows: Sequence[Sequence[int]], weights: Sequence[Fraction]
) -> Fraction:
    """Return the share of background rows that keep the class: each is classified."""
    fixed = set(features)
    kept = Fraction(0)
    for row, weight in zip(rows, weights, strict=True):
        z = [case.x[i] if i in fixed else row[i] for i in range(case.d)]
        kept += weight * (case.says_one(z) == case.label)
    return kept / sum(weights)


def matching_count(
    case: Case, features: Iterable[int], rows: Sequence[Sequence[int]]
) -> tuple[int, int]:
    """Count the rows that agree with x on some features, and those of them with its class.

    One row that is x itself is left out.
    """
    others = [tuple(row) for row in rows]
    if case.x in others:
        others.remove(case.x)
    same = [row for row in others if all(row[i] == case.x[i] for i in features)]
    return sum(_is_alike(case, row) for row in same), len(same)


@lru_cache
def _is_alike(case: Case, row: tuple[int, ...]) -> bool:
    return case.says_one(row) == case.label


def product_guarantee(case: Case, features: Iterable[int], p: Sequence[Fraction]) -> Fraction:
    """Return Pr[class kept] when feature i is 1 with probability p_i: the sum's distribution."""
    fixed = set(features)
    start = sum((Fraction(case.weights[i]) for i in fixed if case.x[i]), Fraction(0))
    sums = {start: Fraction(1)}
    for i in range(case.d):
        if i not in fixed:
            grown: Counter[Fraction] = Counter()
            for total, mass in sums.items():
                grown[total] += mass * (1 - p[i])
                grown[total + Fraction(case.weights[i])] += mass * p[i]
            sums = grown
    threshold = Fraction(case.threshold)
    return sum(
        (
            mass
            for total, mass in sums.items()
            if (total > threshold if case.strict else total >= threshold) == case.label
        ),
        Fraction(0),
    )


@dataclass(frozen=True)
class UnitCase:
    """A linear model whose columns belong to units, and an instance."""

    weights: tuple[float, ...]
    threshold: float
    strict: bool
    units: tuple[tuple[int, ...], ...]
    x: tuple[float, ...]

    def worth(self, unit: int, row: Sequence[float]) -> Fraction:
        """Return what a unit of a row adds to the decision function."""
        columns = self.units[unit]
        return sum((Fraction(self.weights[j]) * Fraction(row[j]) for j in columns), Fraction(0))

    def side(self, total: Fraction) -> bool:
        """Tell the class of a value of the decision function."""
        threshold = Fraction(self.threshold)
        return total > threshold if self.strict else total >= threshold

    @property
    def label(self) -> bool:
        return self.side(sum((self.worth(u, self.x) for u in range(len(self.units))), Fraction(0)))

    def marginals(
        self, rows: Sequence[Sequence[float]], weights: Sequence[Fraction]
    ) -> list[dict[Fraction, Fraction]]:
        """Return how each unit's contribution is distributed over some rows."""
        laws = []
        for u in range(len(self.units)):
            law: Counter[Fraction] = Counter()
            for row, weight in zip(rows, weights, strict=True):
                law[self.worth(u, row)] += weight / sum(weights)
            laws.append(dict(law))
        return laws

    def independent(
        self, features: Iterable[int], laws: Sequence[dict[Fraction, Fraction]]
    ) -> Fraction:
        """Return Pr[class kept] when the units outside a set are independent."""
        fixed = set(features)
        sums = {Fraction(0): Fraction(1)}
        for u, law in enumerate(laws):
            grown: Counter[Fraction] = Counter()
            known = {self.worth(u, self.x): Fraction(1)}
            for total, mass in sums.items():
                for value, chance in (known if u in fixed else law).items():
                    grown[total + value] += mass * chance
            sums = grown
        kept = (mass for total, mass in sums.items() if self.side(total) == self.label)
        return sum(kept, Fraction(0))

    def joint(
        self, features: Iterable[int], rows: Sequence[Sequence[float]], weights: Sequence[Fraction]
    ) -> Fraction:
        """Return the share of rows that keep the class when they replace what is unknown."""
        fixed = set(features)
        kept = Fraction(0)
        for row, weight in zip(rows, weights, strict=True):
            total = sum(
                (self.worth(u, self.x if u in fixed else row) for u in range(len(self.units))),
                Fraction(0),
            )
            kept += weight * (self.side(total) == self.label)
        return kept / sum(weights)


@dataclass(frozen=True)
class Costly:
    """Independent units, each with a law of whole costs, of which some may be fixed.

    A law maps a cost to its weight; the weights of each sum to ``denominator``. The class is kept
    if the costs of what is not fixed sum to at most ``margin``. ``members`` may be fixed, the
    ``others`` never are.
    """

    members: tuple[dict[int, int], ...]
    others: tuple[dict[int, int], ...]
    margin: int
    denominator: int

    @property
    def whole(self) -> int:
        """The weight of all completions."""
        return int(self.denominator ** (len(self.members) + len(self.others)))

    @cached_property
    def kept(self) -> np.ndarray:
        """The weight of the completions that keep the class, for each set of fixed members (bits).

        Members with one cost are flipped or not: a sum over the flipped ones, unit by unit. With
        more costs the weight of a sum is that of two halves which meet, and must fit 63 bits.
        """
        if all(len(law) <= 2 and 0 in law for law in self.members):
            return self._flipped()
        assert self.whole < 2**63
        half = len(self.members) // 2
        left, low = _of_all_sets(self.members[:half], (), self.denominator)
        right, right_low = _of_all_sets(self.members[half:], self.others, self.denominator)
        below = np.cumsum(right, axis=1)
        at = self.margin - low - right_low - np.arange(left.shape[1])
        reached = np.where(at >= 0, below[:, np.clip(at, 0, below.shape[1] - 1)], 0)
        kept: np.ndarray = (reached @ left.T).ravel()  # the bits of the first half are the low ones
        return kept

    def _flipped(self) -> np.ndarray:
        masses, low = _of_all_sets((), self.others, self.denominator, object)
        below = np.concatenate([[0], np.cumsum(masses[0])])
        spent = np.zeros(1, dtype=np.int64)
        for law in self.members:
            spent = np.concatenate([spent, spent + max(law, key=abs)])
        kept: np.ndarray = below[np.clip(self.margin - low - spent + 1, 0, len(below) - 1)]
        for i, law in enumerate(self.members):
            pairs = kept.reshape(-1, 2, 2**i)
            flipped = law.get(max(law, key=abs), 0) if len(law) > 1 else 0
            free = (self.denominator - flipped) * pairs[:, 0] + flipped * pairs[:, 1]
            # The bit now says that the member is fixed.
            pairs[:, 1], pairs[:, 0] = self.denominator * pairs[:, 0], free
        return kept

    @cached_property
    def sizes(self) -> np.ndarray:
        """How many members each set has."""
        return np.array([mask.bit_count() for mask in range(2 ** len(self.members))])

    def share(self, chosen: Iterable[int]) -> Fraction:
        """Return the guarantee of a set of members."""
        return Fraction(int(self.kept[sum(1 << i for i in chosen)]), self.whole)

    def best(self, size: int, smaller: bool = False) -> Fraction:
        """Return the best guarantee of any set of a size, or of any up to it."""
        some = self.sizes <= size if smaller else self.sizes == size
        return Fraction(int(self.kept[some].max()), self.whole)

    def least(self, delta: Fraction) -> int | None:
        """Return the size of a smallest set that reaches a level; None if none does."""
        sizes = self.sizes[self.kept >= math.ceil(delta * self.whole)]
        return int(sizes.min()) if len(sizes) else None


def _of_all_sets(
    members: Sequence[dict[int, int]],
    others: Sequence[dict[int, int]],
    denominator: int,
    dtype: type = np.int64,
) -> tuple[np.ndarray, int]:
    """Return the weights of all sums, for each set of fixed members, and the least sum."""
    laws = [*members, *others]
    low = sum(min(0, *law) for law in laws)
    high = sum(max(0, *law) for law in laws)
    masses = np.zeros((1, high - low + 1), dtype=dtype)
    masses[0, -low] = 1
    for i, law in enumerate(laws):
        grown = np.zeros_like(masses)
        for cost, weight in law.items():
            grown += weight * np.roll(masses, cost, axis=1)
        masses = np.concatenate([grown, denominator * masses]) if i < len(members) else grown
    return masses, low


@dataclass(frozen=True)
class Listed:
    """A decision whose completions are listed, each with a weight, and all sets of its features.

    ``outputs`` are the weights of one score, whose class is the second if it is at least
    ``thresholds[0]``, or of several, less thresholds, of which the first largest wins. Numbers are
    whole, so that sums are exact.
    """

    outputs: np.ndarray
    thresholds: np.ndarray
    x: np.ndarray
    rows: np.ndarray
    chances: tuple[int, ...]

    def classes(self, rows: np.ndarray) -> np.ndarray:
        """Return the class of each row."""
        scores = rows @ self.outputs.T - self.thresholds
        if len(self.outputs) == 1:
            return (scores[:, 0] >= 0).astype(np.int64)
        return scores.argmax(axis=1)

    @cached_property
    def label(self) -> int:
        """The class of the instance."""
        return int(self.classes(self.x[None, :])[0])

    def kept(self, features: Iterable[int], label: int | None = None) -> int:
        """Return the weight of the completions that keep the class, or have another."""
        rows, at = self.rows.copy(), sorted(features)
        rows[:, at] = self.x[at]
        same = self.classes(rows) == (self.label if label is None else label)
        return sum(chance for chance, is_same in zip(self.chances, same, strict=True) if is_same)

    def shares(self, label: int | None = None) -> dict[frozenset[int], Fraction]:
        """Return what every set of features guarantees, of the instance's class or of another."""
        d, total = len(self.x), sum(self.chances)
        sets = (frozenset(s) for k in range(d + 1) for s in combinations(range(d), k))
        return {s: Fraction(self.kept(s, label), total) for s in sets}

    def leanings(self) -> list[int]:
        """Tell of each feature whether it speaks for the class (1), against it (-1), or neither.

        For it is what contributes more than on average; of several classes in the duel with the
        runner-up, the first of several.
        """
        if len(self.outputs) == 1:
            duel = self.outputs[0] if self.label else -self.outputs[0]
        else:
            scores = (self.outputs @ self.x - self.thresholds).tolist()
            rivals = [k for k in range(len(scores)) if k != self.label]
            duel = self.outputs[self.label] - self.outputs[max(rivals, key=lambda k: scores[k])]
        weights = np.array(self.chances, dtype=object)
        above = self.x.astype(object) * weights.sum() - weights @ self.rows.astype(object)
        return [int(np.sign(v)) for v in (duel.astype(object) * above).tolist()]
