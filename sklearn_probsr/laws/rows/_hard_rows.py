"""The rows that a set is lost on most easily: those that refute most sets a little smaller."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.engines.rows._counts import Rows
from sklearn_probsr.engines.rows._leads import lead_before_each, least_without
from sklearn_probsr.engines.rows._pruning import lose
from sklearn_probsr.laws.rows._parted_view import PartedView
from sklearn_probsr.laws.rows._rows_view import places

__all__ = ["HardRows", "all_lose", "with_fixed"]


class HardRows:
    """Some of the rows of an instance, asked what surely is lost of them with sets fixed.

    Margins of one set are kept, before each rival. Those of a set with a few units less are had by
    taking off what these gain (Proposition 129).

    Parameters
    ----------
    view : PartedView
        The instance before all rows, which are floats.
    at : ndarray of intp
        The rows.
    """

    def __init__(self, view: PartedView, at: NDArray[np.intp]) -> None:
        self._view, self._at, self._weights = view, at, view.weights[at]
        self._floats = view.table.rows.dtype == np.float64
        self._base: tuple[frozenset[int], NDArray[np.float64]] | None = None

    def look_at(self, features: Collection[int]) -> None:
        """Keep the margins of a set: it is asked about sets a little smaller."""
        if self._floats:
            self._base = None  # there is not room for two
            view, units = self._view, places(features)
            each = lead_before_each(view.table.rows, view.margins, view.forms, units, self._at)
            self._base = frozenset(features), each

    def lost(self, features: Collection[int]) -> int:
        """Return the weight of the rows that surely lose the class with some units fixed."""
        chosen, view = frozenset(features), self._view
        if self._base is None or not chosen <= self._base[0]:
            seen = view.leads(chosen, self._at)
            return int(self._weights[seen.least <= seen.loses].sum())
        fixed, each = self._base
        freed = places(sorted(fixed - chosen))
        least = least_without(view.table.rows, each, view.forms, freed, self._at)
        _, loses = view.bounds(places(fixed), 2)
        return int(self._weights[least <= loses].sum())


def all_lose(
    view: PartedView,
    at: NDArray[np.intp],
    sets: tuple[list[int], list[int], int],
    spare: int,
    few: int,
) -> bool:
    """Tell whether all sets that may be left out lose some rows of more than ``spare``.

    ``sets`` are an order, what is forced beside it, and how many of the order are mixed. Rows are
    looked at piece by piece, those first that are lost most easily: once the rest would have to
    lose more than a piece did, it is given up. Each row is looked at before a ``few`` rivals alone:
    what is lost to them is lost.
    """
    order, forced, mixed = sets
    left = int(view.weights[at].sum())
    lost = np.zeros(2**mixed - 1 + len(order) - mixed, dtype=np.int64)
    for piece in view.pieces(len(order) + len(forced), at):
        rows = with_fixed(piece, order, forced)
        rows = _before_closest(rows, few)
        before = int(lost.min(initial=spare + 1))
        lose(rows, np.arange(len(order)), mixed, piece.doubt, spare, lost)
        least = int(lost.min(initial=spare + 1))
        if least > spare:
            return True
        left -= piece.total
        if (least - before) * left < (spare + 1 - least) * piece.total:
            return False
    return False


def with_fixed(view: PartedView, units: Sequence[int], forced: Sequence[int]) -> Rows:
    """Return rows with the gains of some units, forced ones fixed."""
    margins = np.array(view.margins)
    for u in forced:
        margins += view.gains([u])[0]
    return Rows(margins, view.weights, view.gains(units))


def _before_closest(rows: Rows, few: int) -> Rows:
    """Return the rows before those few rivals to whom each is lost soonest."""
    n = len(rows.weights)
    left = rows.margins + rows.gains.sum(axis=0) - rows.gains.max(axis=0, initial=0)
    each = left.reshape(n, -1)
    if few >= each.shape[1]:
        return rows
    closest = np.argpartition(each, few - 1, axis=1)[:, :few]
    at = (np.arange(n)[:, None] * each.shape[1] + closest).ravel()
    return Rows(rows.margins[at], rows.weights, rows.gains.take(at, axis=1))
