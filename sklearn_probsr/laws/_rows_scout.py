"""Looking ahead over background rows: what each row can gain at a price (Proposition 92)."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from sklearn_probsr.engines.rows._counts import Rows
from sklearn_probsr.laws._scout import Scout, Verdict
from sklearn_probsr.model._exact import about

__all__ = ["RowsScout"]

# The most numbers in the table of gains, and the least and most steps that tell prices apart.
_MOST_CELLS, _LEAST_STEPS, _MOST_STEPS = 2**22, 4, 64


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
        worth = np.minimum(rows.gains, short).astype(np.float64) @ weights
        ratio = [max(worth[j], 0.0) / about(Fraction(prices[u])) for j, u in enumerate(members)]
        places = sorted(range(len(members)), key=lambda j: -ratio[j])
        order = [members[j] for j in places]
        monotone = not bool((rows.gains < 0).any())
        super().__init__(order, prices, verdict, monotone, worth[places].tolist())
        self.rows, self.gains, self.rivals = rows, rows.gains[places], rivals
        self.spare, self.floor = spare, floor
        self.most, self.step = np.zeros((0, 0, 0), dtype=np.int64), 1

    @staticmethod
    def knows(rows: Rows) -> bool:
        """Tell whether there is room for the table."""
        return _LEAST_STEPS * rows.gains.size <= _MOST_CELLS

    def hopeless(self, taken: tuple[int, ...], rest: list[int], limit: int, room: int) -> bool:
        """Tell whether too many rows stay lost, whatever is paid for (Proposition 92)."""
        if self.spare < 0:
            return True
        if limit // self.step >= len(self.most):
            self._tabulate(limit)
        at = rest[0] if rest else len(self.order)
        margins = self.rows.margins + self.gains[list(taken)].sum(axis=0)
        best = self.most[limit // self.step, at]
        lost = (margins + best < self.floor).reshape(-1, self.rivals).any(axis=1)
        return int(self.rows.weights[lost].sum()) > self.spare

    def _tabulate(self, limit: int) -> None:
        """Write down the most that members from a place on can add to each row, at every price.

        Prices are rounded down to steps, so that a choice is never taken for dearer than it is.
        """
        h, n = self.gains.shape
        steps = max(min(_MOST_STEPS, _MOST_CELLS // max((h + 1) * n, 1), limit), 1)
        self.step = limit // steps + 1
        steps = limit // self.step
        self.most = np.zeros((steps + 1, h + 1, n), dtype=np.int64)
        for p in range(h - 1, -1, -1):
            after = self.most[:, p + 1]
            self.most[:, p] = after
            price = self.prices[p] // self.step
            if price <= steps:
                taken = after[: steps + 1 - price] + self.gains[p]
                np.maximum(after[price:], taken, out=self.most[price:, p])
