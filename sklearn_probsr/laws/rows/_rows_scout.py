"""Looking ahead over background rows: what each row can gain at a price (Proposition 92)."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from sklearn_probsr.engines.rows._branch_and_bound import BranchAndBound, Prices
from sklearn_probsr.engines.rows._counts import Rows
from sklearn_probsr.model._exact import about
from sklearn_probsr.search._scout import Branched, Rounded, Scout, Verdict

__all__ = ["RowsScout"]

# In so many steps prices are told apart.
_STEPS = 64
# With fewer steps than these, as many cells of a table would not do, it is not made.
_LEAST_STEPS, _CELLS, _ROOM = 4, 2**26, 2**25
# So many branches are followed, each of all rows, or with ``prove=True``; and cells in a second.
_FEW, _MANY, _EACH_SECOND = 20_000, 2_000_000, 2_000_000_000


class RowsScout(Scout):
    """Members over background rows; none is above another.

    A row can gain at most what the best choice of the members that are left gains it alone, and
    that is tabulated for every step of what may be paid.

    Parameters
    ----------
    rows : Rows
        The rows that members decide.
    spare : int
        How much weight of them may be lost.
    floor : int
        Margins below it are surely lost.
    """

    def __init__(
        self,
        members: Sequence[int],
        prices: dict[int, int],
        verdict: Verdict,
        rows: Rows,
        spare: int,
        floor: int,
    ) -> None:
        short = np.maximum(-rows.margins, 0)
        rivals = max(len(rows.margins) // max(len(rows.weights), 1), 1)
        weights = np.repeat(rows.weights.astype(np.float64), rivals)
        # Line by line: the gains may be as large as the data.
        worth = np.array(
            [np.minimum(gain, short).astype(np.float64) @ weights for gain in rows.gains]
        )
        ratio = [max(worth[j], 0.0) / about(Fraction(prices[u])) for j, u in enumerate(members)]
        places = sorted(range(len(members)), key=lambda j: -ratio[j])
        order = [members[j] for j in places]
        monotone = not bool((rows.gains < 0).any())
        super().__init__(order, prices, verdict, monotone, worth[places].tolist())
        self.branches = (_FEW, _MANY)
        self.rows, self._lines = rows, np.array(places, dtype=np.intp)
        self._spare, self._floor = spare, floor
        self._rounded, self._bits = Rounded.of(self.prices)
        self._branching: BranchAndBound | None = None

    def hopeless(self, taken: tuple[int, ...], rest: list[int], limit: int, room: int) -> bool:
        """Tell whether too many rows stay lost, whatever is paid for (Proposition 92)."""
        if self._spare < 0:
            return True
        paid = limit >> self._bits
        branching = self._branching
        if taken or branching is None or paid // branching.prices.step > branching.prices.levels:
            return super().hopeless(taken, rest, limit, room)
        return int(branching.lost[paid // branching.prices.step]) > self._spare

    def branches_in(self, seconds: float) -> int:
        """Return how many branches surely take less than so many seconds."""
        return int(min(seconds, 1e6) * _EACH_SECOND) // max(len(self.rows.margins), 1) + 1

    def branched(self, limit: int, most: int, fewest: int, branches: int) -> Branched | None:
        """Go through the sets that count at most a limit (Propositions 91 and 92)."""
        if self._spare < 0:
            return Branched(None, limit + 1, True)
        paid, most = limit >> self._bits, min(most, len(self.order))
        steps = min(_STEPS, _CELLS // max(self.rows.gains.size, 1), paid)
        if steps < min(_LEAST_STEPS, paid):
            return None  # a table of so many gains would take too long
        step = paid // max(steps, 1) + 1
        prices = np.empty(len(self.order), dtype=np.int64)
        prices[self._lines] = self._rounded
        self._branching = BranchAndBound(
            self.rows, self._floor, Prices(prices, step, paid // step, most), _ROOM
        )
        self._branching.start()
        cells, found, best = branches * len(self.rows.margins), None, limit + 1
        while cells > 0:
            # Prices were rounded down: what costs less than the best is at most as dear as that.
            below = (best - 1) >> self._bits
            verdict, at, spent = self._branching.next(below, fewest, self._spare, cells)
            cells -= spent + len(at) * len(self.rows.margins)
            if verdict == 0:
                return Branched(found, best, True)
            places = np.flatnonzero(np.isin(self._lines, at)).tolist()
            count = sum(self.prices[p] for p in places)
            if verdict == 1 and count < best and self.reaches(places):
                found, best = places, count
        return Branched(found, best, False)
