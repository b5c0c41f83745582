"""One instance before background rows that replace its unknown units together."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.core.view import Duel, Row
from sklearn_probsr.engines.rows._leads import Forms
from sklearn_probsr.laws._rest import Sums
from sklearn_probsr.laws._table import Places, Table
from sklearn_probsr.laws.rows._ledger import MOST_BITS, Ledger
from sklearn_probsr.laws.rows._parted_view import PartedView, forms_of

__all__ = ["Replacement"]


class Replacement(PartedView):
    """One instance before background rows.

    ``ledger`` is the one of its class; it is written on a coarser scale if one is given. Of several
    rivals ``margins`` may be at hand, side by side.
    """

    def __init__(
        self,
        ledger: Ledger,
        row: Row,
        scale: Fraction | None = None,
        margins: NDArray[np.int64] | None = None,
    ) -> None:
        super().__init__(ledger.table.n_units)
        self.row = row
        self.ledger = ledger if scale is None else ledger.on(scale)
        faces = self.ledger.faces(row)
        beyond = faces.bits - MOST_BITS
        if scale is None and beyond > 0:
            # Further out than there was room for: fewer digits of the background are kept.
            self.ledger = ledger.on(ledger.scale * 2**beyond)
            faces = self.ledger.faces(row)
        self._costs, self._gains = faces.costs.tolist(), faces.gains.tolist()
        self.exact = self.ledger.exact and faces.exact
        self._whole = faces.whole.astype(np.int64, copy=False)
        if margins is None or self.ledger is not ledger:
            margins = self.ledger.starts
        self.margins = margins
        self.weights = ledger.table.counts

    @property
    def table(self) -> Table:
        """The rows."""
        return self.ledger.table

    @property
    def known(self) -> NDArray[np.int64]:
        """What the units of the instance contribute."""
        return self._whole

    @cached_property
    def forms(self) -> Forms:
        """What units contribute."""
        return forms_of(self.table, [self.ledger], self._whole[None, :])

    def part(self, places: Places) -> Replacement:
        """Return the instance before some of the rows."""
        return self.over(self.table.part(places), self.margins[places])

    def over(self, table: Table, margins: NDArray[np.int64]) -> Replacement:
        """Return the instance before other rows of the same kind, with their margins."""
        found = self.copied()
        found.ledger, found.margins = self.ledger.over(table), margins
        found.weights = table.counts
        return found

    def gains(self, units: Sequence[int]) -> NDArray[np.int64]:
        """Return what fixing some units adds to each margin, a table of their own."""
        out = np.empty((len(units), len(self.weights)), dtype=np.int64)
        self.write_gains(units, out, 0)
        return out

    def write_gains(self, units: Sequence[int], out: NDArray[np.int64], rival: int) -> None:
        """Write what fixing some units adds, as one of the rivals in a table."""
        self.ledger.gains(units, self._whole, out, rival)

    def sums(self, features: Sequence[int]) -> Sums:
        """Return what every row adds towards the class with some units of the instance fixed."""
        whole = self.margins + self.ledger.level
        for unit in features:
            whole += self.gains([unit])[0]
        return Sums(whole, self.ledger.scale, self.doubt)

    @property
    def duel(self) -> Duel:
        """The decision that is looked at."""
        return Duel(self.ledger.model, self.ledger.sign > 0)

    def can_cost(self, unit: int) -> bool:
        """Tell whether leaving a unit unknown costs some row anything."""
        costs: bool = self._costs[unit]
        return costs

    def can_gain(self, unit: int) -> bool:
        """Tell whether leaving a unit unknown gains some row anything."""
        gains: bool = self._gains[unit]
        return gains

    def members(self) -> list[int]:
        """Return the units that fixing can help."""
        return [u for u, costs in enumerate(self._costs) if costs]

    @property
    def doubt(self) -> int:
        """How much a margin may be short by, plus one."""
        return 0 if self.exact else self.ledger.doubt

    def keeps(self, features: Collection[int]) -> NDArray[np.bool_]:
        """Tell which background rows keep the class, exactly."""
        return self._settled(features, self.counted(features)[1])

    def _settled(self, features: Collection[int], margins: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Tell which rows keep the class; those in doubt are counted with all their digits."""
        keeps: NDArray[np.bool_] = margins >= 0
        doubtful = (~keeps & (margins > -self.doubt)).nonzero()[0]
        if len(doubtful):
            keeps[doubtful] = self.ledger.keep(doubtful, self.row, [*features])
        return keeps

    def by_mean_gain(self, units: list[int]) -> list[int]:
        """Return units by decreasing mean gain of fixing them, the signed SHAP value."""
        gains = (self._whole - self.ledger.means)[units]
        return [units[j] for j in (-gains).argsort(kind="stable").tolist()]
