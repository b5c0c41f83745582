"""Rows as bits, 64 to a word: how many of them share a fact."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.engines._jit import inner

__all__ = ["lowest", "ones", "shared", "shared_at", "tally"]


@inner
def ones(word: np.uint64) -> np.int64:
    """Count the ones of a word."""
    word -= (word >> np.uint64(1)) & np.uint64(0x5555555555555555)
    word = (word & np.uint64(0x3333333333333333)) + (
        (word >> np.uint64(2)) & np.uint64(0x3333333333333333)
    )
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


@inner
def lowest(word: np.uint64) -> np.int64:
    """Return where the lowest one of a word is."""
    return np.int64(ones((word & (~word + np.uint64(1))) - np.uint64(1)))


@inner
def shared(rows: NDArray[np.uint64], fact: NDArray[np.uint64]) -> np.int64:
    """Count the rows that share a fact."""
    total = np.int64(0)
    for i in range(len(rows)):
        total += ones(rows[i] & fact[i])
    return total


@inner
def shared_at(rows: NDArray[np.uint64], i: Any, facts: NDArray[np.uint64], j: Any) -> np.int64:
    """Count the same for a line of each of two tables: Numba counts who holds lines it takes."""
    total = np.int64(0)
    for w in range(rows.shape[1]):
        total += ones(rows[i, w] & facts[j, w])
    return total


@inner
def tally(
    starts: NDArray[np.int64],
    missed: NDArray[np.int32],
    rows: NDArray[np.uint64],
    counts: NDArray[np.int64],
) -> None:
    """Count for every fact the rows that do not share it, row by row."""
    for w in range(len(rows)):
        word = rows[w]
        while word:
            r = 64 * w + lowest(word)
            word &= word - np.uint64(1)
            for k in range(starts[r], starts[r + 1]):
                counts[missed[k]] += 1
