"""Rows on tables: guess a size, then certify it and the one below.

A row walks down the ranking of its model and fixes members (features with a positive score)
until a normal law says that they suffice; the tables then bound the guarantee of that many and
of one fewer (Proposition 23). How a size is guessed does not matter: by Corollary 6 the answer is
the smallest k with ``v_k >= delta > v_{k-1}``, however it was found.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.engines._jit import inlined, inner, kernel
from sklearn_probsr.engines._level import Level
from sklearn_probsr.engines.coins._answers import Answers, Candidates, next_member, write
from sklearn_probsr.engines.coins._table_bounds import Bounds, Fixed, Memo, new_memo, pair_once
from sklearn_probsr.engines.coins._tables import Tables

__all__ = ["Aim", "Rests", "TableRows", "search_rows"]

# How often a row's first guess may be moved by one.
_MOST_MOVES = 12


class TableRows(NamedTuple):
    """Rows before tables.

    ``cut`` says how far the cut of each is above the mean of what is free, so how far the centre of
    its completions is inside its class, when nothing is fixed; up to ``blur``, in the units of the
    magnitudes. If ``shared``, rows of one class have one cut, so that their bounds depend on the
    fixed ranks alone.
    """

    rows: NDArray[np.bool_]  # (n, d)
    positive: NDArray[np.bool_]  # (n,)
    cut: NDArray[np.float64]  # (n,)
    blur: float
    shared: bool


class Rests(NamedTuple):
    """What ranks sum to from each one on: of their halves the squares and fourth powers."""

    variance: NDArray[np.float64]  # (n + 1,)
    fourth: NDArray[np.float64]  # (n + 1,)
    reach: float  # half of what all sum to

    @classmethod
    def of(cls, magnitudes: NDArray[np.float64]) -> Rests:
        """Add up the ranks of a model."""
        half = 0.5 * magnitudes
        # From the last rank on, one after the other: nothing cancels.
        square = half * half
        sums = (np.cumsum(values[::-1])[::-1] for values in (square, square * square, half))
        variance, fourth, halves = (np.append(values, 0.0) for values in sums)
        return cls(variance, fourth, float(halves[0]))


class _Walk(NamedTuple):
    """The members of a row fixed so far, and what is left after each."""

    chosen: NDArray[np.int64]
    fixed: NDArray[np.bool_]
    cut: NDArray[np.float64]
    variance: NDArray[np.float64]
    fourth: NDArray[np.float64]
    skipped: NDArray[np.float64]
    rest_variance: NDArray[np.float64]
    rest_fourth: NDArray[np.float64]
    reach: float  # half of what all ranks sum to


def _walk(rests: Rests) -> _Walk:
    """Return a walk at its start, but for the row's cut."""
    n = len(rests.variance)
    walk = _Walk(
        np.empty(n - 1, dtype=np.int64),
        np.zeros(n - 1, dtype=np.bool_),
        np.empty(n),
        np.empty(n),
        np.empty(n),
        np.zeros(n),
        *rests,
    )
    walk.variance[0] = rests.variance[0]
    walk.fourth[0] = rests.fourth[0]
    return walk


@inner
def _extend(row: NDArray[np.bool_], positive: bool, ranks: Candidates, walk: _Walk, k: int) -> bool:
    """Fix the next member after the first k; False if there is none."""
    j = next_member(row, positive, ranks, walk.chosen[k - 1] + 1 if k > 0 else 0)
    if j == len(ranks.features):
        return False
    # What is free is added up, never subtracted: after a heavy weight nothing may cancel.
    skipped = walk.skipped[k]
    for i in range(walk.chosen[k - 1] + 1 if k > 0 else 0, j):
        skipped += 0.25 * ranks.magnitudes[i] * ranks.magnitudes[i]
    walk.chosen[k] = j
    walk.fixed[j] = True
    walk.cut[k + 1] = walk.cut[k] + 0.5 * ranks.magnitudes[j]
    walk.skipped[k + 1] = skipped
    walk.variance[k + 1] = skipped + walk.rest_variance[j + 1]
    walk.fourth[k + 1] = walk.rest_fourth[j + 1]
    return True


@inner
def _guess(
    row: NDArray[np.bool_],
    positive: bool,
    ranks: Candidates,
    walk: _Walk,
    quantile: float,
    most: int,
) -> int:
    """Return the first k that suffices for a normal law with this fourth cumulant.

    Nothing suffices for an infinite quantile: then it is as many as there may be.
    """
    bend = (quantile * quantile - 3.0) * quantile / 12.0  # Cornish and Fisher
    k = 0
    while k < most:
        left = max(walk.variance[k], 1e-300)
        bound = np.inf
        if quantile < np.inf:
            bound = math.sqrt(left) * (quantile - bend * walk.fourth[k] / (left * left))
        if walk.cut[k] >= bound or not _extend(row, positive, ranks, walk, k):
            break
        k += 1
    return k


@inner
def _pick(tables: Tables, walk: _Walk, k: int) -> int:
    """Return the table for the first k members and for the first k - 1; -1 if there is none."""
    level = 0
    spread = walk.variance[max(k - 1, 0)]
    while level + 1 < len(tables.levels) and spread <= tables.levels[level + 1]:
        level += 1
    table: int = tables.pick[level, walk.chosen[k - 1] + 1 if k > 0 else 0]
    return table


@inlined
def _fixed(walk: _Walk, k: int) -> Fixed:
    """Return the first k members as what is fixed."""
    last = walk.chosen[k - 1] if k > 0 else -1
    return Fixed(walk.fixed, last, walk.cut[k], walk.cut[max(k - 1, 0)])


@inner
def _certain(walk: _Walk, k: int, blur: float) -> bool:
    """Tell whether all that is free together cannot use up the margin (Proposition 8)."""
    certain: bool = walk.cut[k] >= walk.reach + blur - (walk.cut[k] - walk.cut[0])
    return certain


@inlined
def _judge(found: Bounds, walk: _Walk, k: int, blur: float) -> Bounds:
    """Return bounds that know of certainty."""
    if _certain(walk, k, blur):
        found = Bounds(1.0, 1.0, found.lower_before, found.upper_before)
    if k > 0 and _certain(walk, k - 1, blur):
        found = Bounds(found.lower, found.upper, 1.0, found.upper_before)
    return found


class Aim(NamedTuple):
    """What a row's members must reach; see ``search_rows``."""

    level: Level
    quantile: float
    most: int
    final: bool


class _Scratch(NamedTuple):
    """What a search writes over, row after row."""

    walk: _Walk
    products: NDArray[np.float64]
    memo: Memo


def search_rows(
    batch: TableRows, ranks: Candidates, rests: Rests, aim: Aim, tables: Tables, answers: Answers
) -> None:
    """Find for each row the smallest k with ``v_k >= delta > v_{k-1}``, both proved.

    The aim's ``quantile`` is that of the normal law at delta. With ``most`` members fixed and still
    ``v < delta`` the search ends there, and ``upper < delta`` shows it. If ``final``, a row whose
    ``v_{k-1}`` stays undecided is answered too.
    """
    memo = new_memo(len(batch.rows) if batch.shared else 0, len(ranks.features))
    scratch = _Scratch(_walk(rests), np.empty(tables.widest), memo)
    _search(batch, ranks, aim, tables, scratch, answers)


@kernel
def _search(
    batch: TableRows,
    ranks: Candidates,
    aim: Aim,
    tables: Tables,
    scratch: _Scratch,
    answers: Answers,
) -> None:
    level, most, walk = aim.level, aim.most, scratch.walk
    for r in range(len(batch.rows)):
        row, positive = batch.rows[r], batch.positive[r]
        walk.cut[0] = batch.cut[r]
        k = _guess(row, positive, ranks, walk, aim.quantile, most)
        for _ in range(_MOST_MOVES):
            t = _pick(tables, walk, k)
            if t < 0:
                break
            found = pair_once(scratch.memo, positive, tables, t, _fixed(walk, k), scratch.products)
            found = _judge(found, walk, k, batch.blur)
            too_much = k > 0 and found.lower_before >= level.high
            minimal = k == 0 or found.upper_before < level.low or (aim.final and not too_much)
            short = found.upper < level.low
            if (found.lower >= level.high and minimal) or (k == most and short):
                write(answers, r, k, found.lower, found.upper)
                answers.before[r] = found.upper_before
                break
            if too_much:
                k -= 1
                walk.fixed[walk.chosen[k]] = False
            elif short and k < most and _extend(row, positive, ranks, walk, k):
                k += 1
            else:
                break
        for i in range(k):
            walk.fixed[walk.chosen[i]] = False
