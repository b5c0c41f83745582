"""The rows that a set is lost on most easily: those that refute most sets a little smaller."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.engines.rows._leads import lead_before_each, least_without
from sklearn_probsr.laws.rows._parted_view import PartedView
from sklearn_probsr.laws.rows._rows_view import places

__all__ = ["HardRows"]


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
        self._base: tuple[frozenset[int], NDArray[np.float64]] | None = None

    def lost(self, features: Collection[int]) -> int:
        """Return the weight of the rows that surely lose the class with some units fixed."""
        chosen, view = frozenset(features), self._view
        if view.table.rows.dtype != np.float64:
            seen = view.leads(chosen, self._at)
            return int(self._weights[seen.least <= seen.loses].sum())
        if self._base is None or not self._is_near(chosen, self._base[0]):
            units = places(sorted(chosen))
            each = lead_before_each(view.table.rows, view.margins, view.forms, units, self._at)
            self._base = chosen, each
        fixed, each = self._base
        freed = places(sorted(fixed - chosen))
        least = least_without(view.table.rows, each, view.forms, freed, self._at)
        _, loses = view.bounds(places(fixed), 2)
        return int(self._weights[least <= loses].sum())

    @staticmethod
    def _is_near(chosen: frozenset[int], base: frozenset[int]) -> bool:
        return chosen <= base and 2 * len(base - chosen) <= len(base) + 2
