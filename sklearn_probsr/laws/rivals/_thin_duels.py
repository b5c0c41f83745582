"""Several classes over independent units that are mostly zero, as the words of documents are."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.core.cache import Memo
from sklearn_probsr.core.law import Law
from sklearn_probsr.core.options import Task
from sklearn_probsr.core.search import Prover
from sklearn_probsr.core.view import Row, View
from sklearn_probsr.laws.rivals._summed_pairs import summed_duel
from sklearn_probsr.laws.rivals._thin_rivals import Absent, ThinRivals
from sklearn_probsr.laws.sums._thin_independent import ThinCertainty, ThinProver
from sklearn_probsr.laws.sums._thin_laws import ThinLaws
from sklearn_probsr.laws.sums._thin_path import first_along
from sklearn_probsr.laws.sums._thin_spectrum import ThinSpectrum
from sklearn_probsr.laws.sums._thin_view import ThinCosts
from sklearn_probsr.model.argmax import ArgmaxModel
from sklearn_probsr.model.sparse import one_row

__all__ = ["ThinDuels"]

# Factors of so many duels are kept in the memory that those of a single decision have.
_OF = 16
# Beyond this the duels that were not asked for lately are made anew when they are needed.
_MOST_BYTES = 2**28


class ThinDuels(Law):
    """A model of several classes whose unknown units are independent and mostly zero."""

    takes_sparse = True

    def __init__(self, model: ArgmaxModel, distribution: Any, laws: ThinLaws) -> None:
        super().__init__(model, distribution)
        self.argmax, self.laws = model, laws
        self._spectra: Memo[ThinSpectrum] = Memo(_MOST_BYTES, lambda one: one.nbytes)
        self._absent: Memo[Absent] = Memo(_MOST_BYTES // 4, lambda one: one.nbytes)

    @property
    def means(self) -> NDArray[np.float64]:
        """What the columns of the model are on average when they are unknown."""
        return self.laws.means

    def states(self, unit: int) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """Return what a unit may be, one line a state, and their chances."""
        return self.laws.states(unit)

    def view(self, row: Row) -> ThinRivals:
        """Return one instance, a checked row, before this law."""
        winner = int(self.argmax.winners(one_row(row))[0])
        rivals = [k for k in range(len(self.argmax.classes)) if k != winner]
        duels = [self._duel(winner, rival, row) for rival in rivals]
        absent = self._absent.get(winner, lambda: Absent(self.argmax, self.laws, winner))

        def summed(i: int, j: int) -> ThinCosts | None:
            return self._summed(winner, rivals[i], rivals[j], row)

        return ThinRivals(self.argmax, winner, duels, absent, row, summed)

    def _duel(self, winner: int, rival: int, row: Row) -> ThinCosts:
        # A duel is the same whoever wins it: two classes have one spectrum.
        pair = (min(winner, rival), max(winner, rival))
        duel = self.argmax.duel(*pair)
        spectrum = self._spectra.get(pair, lambda: ThinSpectrum(self.laws, duel, _OF))
        return ThinCosts(duel, spectrum, row, winner == pair[0])

    def _summed(self, winner: int, first: int, second: int, row: Row) -> ThinCosts | None:
        rivals = (min(first, second), max(first, second))
        duel = summed_duel(self.argmax, winner, rivals)
        if duel is None:
            return None
        key = (winner, *rivals)
        spectrum = self._spectra.get(key, lambda: ThinSpectrum(self.laws, duel, _OF))
        return ThinCosts(duel, spectrum, row, True)

    def prover(self, view: View, task: Task) -> Prover:
        """Return what is known of the sets of an instance at one level."""
        assert isinstance(view, ThinRivals)
        prover = ThinProver(view, task)
        return ThinCertainty(prover, view.duels) if task.delta == 1 else prover

    def _first_along(self, view: View, order: list[int], delta: Fraction) -> int:
        """Return the first size along an order that surely reaches a level."""
        assert isinstance(view, ThinRivals)
        return first_along(view.duels, order, delta)

    @property
    def nbytes(self) -> int:
        """About how much memory the tables take."""
        spectra = sum(one.nbytes for one in self._spectra.values())
        return self.laws.nbytes + spectra + sum(one.nbytes for one in self._absent.values())
