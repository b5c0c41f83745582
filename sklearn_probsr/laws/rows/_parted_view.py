"""One instance before background rows that are looked at in parts, and in floats where these tell.

A count over all rows is one pass over them: floats say of most rows whether the class is kept, and
those few that they leave open are counted in whole numbers (Proposition 129).
"""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.engines.rows._leads import Forms, leads
from sklearn_probsr.laws._table import Places, Table
from sklearn_probsr.laws.rows._ledger import Ledger
from sklearn_probsr.laws.rows._rows_view import RowsView, places

__all__ = ["Leads", "PartedView", "forms_of"]

# Gains that are looked at at once: so many numbers.
_GAINS = 2**18
# Rows that have more gains than this before all rivals are looked at in floats first.
_MANY_CELLS = 2**21
_ALL = np.empty(0, dtype=np.intp)


class Leads(NamedTuple):
    """What floats tell of some rows with some units fixed (Proposition 129).

    Attributes
    ----------
    least : ndarray of float64
        About the least margin of each row.
    exposed : ndarray of float64
        The same when the unit is freed that gains most.
    keeps, loses : float
        A row whose least margin is no less than the one surely keeps the class; a row whose least
        margin is no more than the other surely loses it.
    """

    least: NDArray[np.float64]
    exposed: NDArray[np.float64]
    keeps: float
    loses: float


class PartedView(RowsView):
    """One instance before background rows, of which a part can be looked at."""

    @property
    @abstractmethod
    def table(self) -> Table:
        """The rows."""

    @property
    @abstractmethod
    def forms(self) -> Forms:
        """What units contribute before each rival."""

    @abstractmethod
    def part(self, places: Places) -> Self:
        """Return the instance before some of the rows."""

    def copied(self) -> Self:
        """Return a copy that remembers nothing of the rows."""
        found = copy.copy(self)
        for name in ("total", "_mean_gains"):
            found.__dict__.pop(name, None)
        return found

    @property
    def rivals(self) -> int:
        """How many margins a row has."""
        return len(self.margins) // max(len(self.weights), 1)

    @property
    def is_large(self) -> bool:
        """Whether the gains of all units before all rivals take much memory."""
        return len(self.margins) * self.n_units > _MANY_CELLS

    def pieces(self, n_units: int, at: NDArray[np.intp] = _ALL) -> Iterator[Self]:
        """Return some rows, or all, in pieces before which the gains of so many units are few."""
        n, each = len(at) or len(self.weights), (n_units + 1) * self.rivals + self.table.n_columns
        step = max(_GAINS // each, 1)
        if n <= step and not len(at):
            yield self
            return
        for start in range(0, n, step):
            some = slice(start, min(start + step, n))
            yield self.part(at[some] if len(at) else some)

    # --- what floats tell --------------------------------------------------------------------

    def leads(self, features: Collection[int], at: NDArray[np.intp] = _ALL) -> Leads:
        """Return how far some rows are ahead with some units fixed; by default all rows."""
        units, rows = places(features), self.table.rows
        keeps, loses = self.bounds(units)
        if rows.dtype == np.float64:
            return Leads(*leads(rows, self.margins, self.forms, units, at), keeps, loses)
        found = [
            leads(piece.table.floats, piece.margins, self.forms, units, _ALL)
            for piece in self.pieces(self.n_units, at)
        ]
        least, exposed = (np.concatenate(side) for side in zip(*found, strict=True))
        return Leads(least, exposed, keeps, loses)

    def bounds(self, units: NDArray[np.intp], times: int = 1) -> tuple[float, float]:
        """Return from where on a row surely keeps the class, and up to where it loses it.

        This is Proposition 129, in whole numbers that are floats; errors count so many times.
        """
        forms, d = self.forms, self.table.n_columns
        columns = int((forms.starts[units + 1] - forms.starts[units]).sum())
        known = int(np.abs(forms.known[:, units]).sum(axis=1).max(initial=0))
        size = 2**51 + 2 * d + 2 + known
        if self.exact and size < 2**53:
            return 0.0, -1.0
        error = times * ((columns + len(units) + 4) * size // 2**52 + 2)
        return float(error), -float(error + columns + max(self.doubt, 1))

    def weight(self, features: Collection[int]) -> int:
        """Return the weight of the background rows that keep the class, exactly."""
        if not self.is_large:
            return super().weight(features)
        seen = self.leads(features)
        kept = int(self.weights[seen.least >= seen.keeps].sum())
        left = np.flatnonzero((seen.least < seen.keeps) & (seen.least > seen.loses))
        return kept + (self.part(left).settled(features) if len(left) else 0)

    def settled(self, features: Collection[int]) -> int:
        """Return the same weight, counted in whole numbers piece by piece."""
        return sum(RowsView.weight(piece, features) for piece in self.pieces(len(features)))


def forms_of(table: Table, ledgers: Sequence[Ledger], known: NDArray[np.int64]) -> Forms:
    """Return what units contribute before each rival, as linear forms of their columns."""
    first, second = table.halves
    return Forms(
        np.array([j for at in table.columns for j in at], dtype=np.intp),
        np.cumsum([0, *map(len, table.columns)]).astype(np.intp),
        first,
        second,
        np.stack([ledger.form for ledger in ledgers]),
        known,
    )
