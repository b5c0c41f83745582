"""What a compiled loop over rows reads and writes.

Members are the features with a positive score; the first k of them by decreasing score are the best
k (Corollary 6).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.engines._jit import inner, kernel

__all__ = ["Answers", "Candidates", "helps", "next_member", "write", "write_members"]


class Candidates(NamedTuple):
    """The features with a weight by decreasing magnitude: the ranks of a model."""

    features: NDArray[np.intp]
    magnitudes: NDArray[Any]
    upward: NDArray[np.bool_]
    fixable: NDArray[np.bool_]


class Answers(NamedTuple):
    """One entry a row; ``size`` is -1 where the row has no answer.

    The answer of a row is the set of its first ``size`` members; see `write_members`.

    ``before`` is an upper bound of the guarantee with one feature fewer: below the level where
    the answer is a minimum.
    """

    size: NDArray[np.int64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    before: NDArray[np.float64]

    @classmethod
    def empty(cls, n: int) -> Answers:
        """Return room for n rows."""
        return cls(np.full(n, -1, dtype=np.int64), np.zeros(n), np.ones(n), np.zeros(n))

    def take(self, rows: NDArray[np.intp]) -> Answers:
        """Return a copy of some rows."""
        return Answers(*(column[rows] for column in self))  # type: ignore[arg-type]

    def put(self, rows: NDArray[np.intp], answers: Answers) -> None:
        """Write some rows."""
        for column, values in zip(self, answers, strict=True):
            column[rows] = values


@kernel
def helps(row: NDArray[np.bool_], positive: bool, ranks: Candidates, j: int) -> bool:
    """Tell whether the feature of rank j has a positive score."""
    agrees: bool = row[ranks.features[j]] == ranks.upward[j]
    return agrees == positive


@kernel
def next_member(row: NDArray[np.bool_], positive: bool, ranks: Candidates, start: int) -> int:
    """Return the next rank whose feature may be fixed and has a positive score, or the end."""
    j = start
    while j < len(ranks.features) and not (ranks.fixable[j] & helps(row, positive, ranks, j)):
        j += 1
    return j


@inner
def write(answers: Answers, r: int, k: int, lower: float, upper: float) -> None:
    """Write a row's answer: how many members are fixed, and the bounds of their guarantee."""
    answers.size[r] = k
    answers.lower[r] = lower
    answers.upper[r] = upper


@kernel
def write_members(
    rows: NDArray[np.bool_],
    positive: NDArray[np.bool_],
    ranks: Candidates,
    sizes: NDArray[np.int64],
    forced: NDArray[np.int64],
    told: NDArray[np.int32],
) -> None:
    """Write what is forced and the first members of each row, so many, one behind the other.

    Rows with a negative number are passed over.
    """
    at = 0
    for r in range(len(rows)):
        if sizes[r] < 0:
            continue
        for unit in forced:
            told[at] = unit
            at += 1
        end, j = at + sizes[r], 0
        while at < end:
            # Every rank is written, and written over unless it is a member: no branch to guess.
            told[at] = ranks.features[j]
            at += int(ranks.fixable[j] & helps(rows[r], positive[r], ranks, j))
            j += 1
