"""Looking ahead over background rows: what each row can gain at a price (Proposition 92)."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from sklearn_probsr.engines.rows._counts import Rows
from sklearn_probsr.engines.rows._priced_rows import Purse, cheapest_rows, gains_at_prices
from sklearn_probsr.laws._scout import ROOM, Branched, Rounded, Scout, Verdict
from sklearn_probsr.laws._task import visits_in
from sklearn_probsr.model._exact import about

__all__ = ["RowsScout"]

# The most numbers in the table of gains, and the least and most steps that tell prices apart.
_MOST_CELLS, _LEAST_STEPS, _MOST_STEPS = 2**22, 4, 64
# Rows that are visited, branch by branch, and branches; with prove=True so many branches.
_VISITS, _FEW, _MANY = 10_000_000, 5_000, 500_000


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
        self.rows, self._lines = rows, np.array(places, dtype=np.intp)
        self._rivals, self._spare, self._floor = rivals, spare, floor
        self._prices, self._bits = Rounded.of(self.prices)
        self._most, self._step = np.zeros((0, 0, 0), dtype=np.int64), 1
        few = _VISITS // max(len(rows.margins), 1)
        self.branches = (max(min(few, _FEW), 1), _MANY)

    @staticmethod
    def knows(rows: Rows) -> bool:
        """Tell whether there is room for the table."""
        return _LEAST_STEPS * rows.gains.size <= _MOST_CELLS

    def hopeless(self, taken: tuple[int, ...], rest: list[int], limit: int, room: int) -> bool:
        """Tell whether too many rows stay lost, whatever is paid for (Proposition 92)."""
        if self._spare < 0:
            return True
        limit >>= self._bits
        self._tabulate(limit)
        at = rest[0] if rest else len(self.order)
        margins = self.rows.margins + self.rows.gains[self._lines[list(taken)]].sum(axis=0)
        best = self._most[limit // self._step, at]
        lost = (margins + best < self._floor).reshape(-1, self._rivals).any(axis=1)
        return int(self.rows.weights[lost].sum()) > self._spare

    def branches_in(self, seconds: float) -> int:
        """Return how many branches surely take less than so many seconds."""
        return visits_in(seconds) // max(len(self.rows.margins), 1) + 1

    def branched(self, limit: int, most: int, fewest: int, branches: int) -> Branched:
        """Go through the sets that count at most a limit (Propositions 91 and 92)."""
        if self._spare < 0:
            return Branched(None, limit + 1, True)
        paid = limit >> self._bits
        self._tabulate(paid)
        purse = Purse(
            self._prices, self._bits == 0, paid, most, self._spare, self._floor, branches, ROOM
        )
        verdict, sets = cheapest_rows(self.rows, self._lines, self._most, self._step, purse)
        sure = np.full(len(sets), self._floor >= 0)
        return self.judged(sets, sure, limit, verdict == 1)

    def _tabulate(self, limit: int) -> None:
        """Write down the most that members from a place on can add to each row, at every price."""
        if limit // self._step < len(self._most):
            return
        cells = (len(self.order) + 1) * max(len(self.rows.margins), 1)
        steps = max(min(_MOST_STEPS, _MOST_CELLS // cells, limit), 1)
        self._step = limit // steps + 1
        steps = limit // self._step
        self._most = gains_at_prices(self.rows.gains, self._lines, self._prices, self._step, steps)
