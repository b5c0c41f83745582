"""Swaps of fair coins: how far down its ranking a row's members are needed, and possible."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.core.options import Task
from sklearn_probsr.engines._level import Level
from sklearn_probsr.engines.coins._answers import Candidates
from sklearn_probsr.engines.coins._batch import TableRows
from sklearn_probsr.engines.coins._swaps import Swaps, SwapTable, bound_ranks, find_swaps
from sklearn_probsr.laws.coins._ranking import Ranking
from sklearn_probsr.laws.coins._whole import Shown
from sklearn_probsr.model._exact import floats_around

__all__ = ["SetBounds", "no_swaps", "open_swaps", "swaps_on_table"]


def no_swaps(sizes: NDArray[np.int64], counts: NDArray[np.int64]) -> Swaps:
    """Return what is known before anything is asked: the reason itself, and its members."""
    needed = np.stack([np.zeros_like(sizes), sizes], axis=1)
    return Swaps(needed, np.stack([sizes, np.maximum(counts, sizes)], axis=1))


def open_swaps(swaps: Swaps, rows: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Tell of which rows something is open."""
    needed, possible = (ends[rows, 1] > ends[rows, 0] for ends in swaps)
    either: NDArray[np.bool_] = needed | possible
    return either


def swaps_on_table(
    ranking: Ranking,
    table: SwapTable,
    given: Shown,
    task: Task,
    sizes: NDArray[np.int64],
    swaps: Swaps,
    some: NDArray[np.intp],
) -> None:
    """Narrow down what is open of some rows, by one table for all of them (Lemma 64)."""
    fixable = ~np.isin(ranking.features, task.exclude)
    taken = given.take(some)
    rows, positive = np.ascontiguousarray(taken.told), taken.positive
    ranks = Candidates(ranking.features, ranking.magnitudes, ranking.upward, fixable)
    # Bounds are good to an ulp, so the level has to be passed by one.
    low, high = floats_around(task.delta)
    level = Level(math.nextafter(low, -1.0), math.nextafter(high, 2.0))
    cuts = ranking.cuts(taken.rows, positive)
    batch = TableRows(rows, positive, cuts, ranking.blur, shared=False)
    found = Swaps(swaps.needed[some], swaps.possible[some])
    find_swaps(batch, ranks, sizes[some], table, level, found)
    swaps.needed[some], swaps.possible[some] = found


@dataclass(frozen=True)
class SetBounds:
    """Quick bounds of sets of members of one row (Lemma 64)."""

    ranking: Ranking
    table: SwapTable
    places: dict[int, int]
    cut: float

    @classmethod
    def of(cls, ranking: Ranking, row: NDArray[np.bool_], task: Task) -> SetBounds | None:
        """Return them; None where tables have nothing to say."""
        if not ranking.usable or task.delta == 1 or ranking.integers is not None:
            return None
        table = next(ranking.swap_tables(), None)
        if table is None:
            return None
        positive = ranking.model.is_positive(row[None, :])
        cut = float(ranking.cuts(row[None, :], positive)[0])
        places = {u: rank for rank, u in enumerate(ranking.features.tolist())}
        return cls(ranking, table, places, cut)

    def bounds(self, chosen: Collection[int]) -> tuple[float, float]:
        """Bound the guarantee of a set, an ulp outward."""
        ranks = np.array([self.places[u] for u in chosen], dtype=np.int64)
        blur = self.ranking.blur
        lower, upper = bound_ranks(self.table, self.ranking.magnitudes, ranks, self.cut, blur)
        if lower < 1:
            lower = math.nextafter(lower, -1.0)
        return max(lower, 0.0), min(math.nextafter(upper, 2.0), 1.0)
