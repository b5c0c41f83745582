"""Questions with known answers for the engines."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np

from sklearn_probsr.extend import Enclosure
from sklearn_probsr.independent.certainty import SubsetSum


def contains(found: Enclosure, truth: Fraction) -> bool:
    """Tell whether a proved enclosure holds the exact value, in both readings of a float."""
    assert found.confidence == 1
    if found.exact is not None:
        assert found.exact == truth
    return Fraction(found.lower) <= truth <= Fraction(found.upper) and bool(
        Fraction(str(found.lower)) <= truth <= Fraction(str(found.upper)) or found.exact is not None
    )


def perturbed(rng: np.random.Generator, n: int, largest: int) -> tuple[SubsetSum, Fraction]:
    """Return integers plus noise that totals less than 1/2, cut at a half-integer.

    The lattice engine cannot see the integers any more; a dynamic programme on them knows the
    answer, since the noise never carries a sum across the cut.
    """
    values = np.sort(rng.integers(1, largest + 1, n))[::-1]
    counts = np.zeros(int(values.sum()) + 1, dtype=object)
    counts[0] = 1
    for v in values:
        grown = counts.copy()
        grown[v:] += counts[:-v]
        counts = grown
    spread = np.sqrt((values.astype(float) ** 2).sum()) / 2
    cut = int(values.sum() / 2 + rng.normal() * spread)
    truth = Fraction(int(counts[: max(cut + 1, 0)].sum()), 2**n)
    scale = 2**60
    noise = rng.integers(0, scale // (2 * n), n)
    noisy = sorted(
        (int(v) * scale + int(e) for v, e in zip(values, noise, strict=True)), reverse=True
    )
    return SubsetSum(noisy, cut * scale + scale // 2), truth


def gaussian(rng: np.random.Generator, n: int) -> SubsetSum:
    """Return a question like those of a fitted model: no lattice, nothing repeated."""
    values = sorted((int(abs(v) * 2**50) + 1 for v in rng.standard_normal(n)), reverse=True)
    spread = np.sqrt(sum(float(v) ** 2 for v in values)) / 2
    return SubsetSum(values, int(sum(values) / 2 + rng.normal() * spread))


def meet_in_the_middle(question: SubsetSum) -> Fraction:
    """Count by sorting one half's sums and looking each of the other's up, in exact integers."""
    assert question.total < 2**62
    left, right = (_sums(question.values[k::2]) for k in (0, 1))
    right.sort()
    counts = np.searchsorted(right, question.capacity - left, side="right")
    return Fraction(int(counts.sum()), 2 ** len(question.values))


def _sums(values: list[int]) -> np.ndarray:
    sums = np.zeros(1, dtype=np.int64)
    for v in values:
        sums = np.concatenate([sums, sums + v])
    return sums


Engine = Callable[[SubsetSum], Enclosure]
