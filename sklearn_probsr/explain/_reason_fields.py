"""ReasonFields: what every row of an explanation has beside its values."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.explain.questions._row_answers import alternatives_table
from sklearn_probsr.questions._alternatives import Alternatives
from sklearn_probsr.results._reasons import SufficientReasons

__all__ = ["ReasonFields"]


class ReasonFields:
    """The fields of reasons, looked up for the rows that are left of them."""

    _reasons: SufficientReasons
    _index: Any
    # Of which features there are values: of "all", or of those in the "reason" alone, in units of
    # the decision function or, as a "guarantee", in probability.
    view: str
    _others: tuple[Alternatives | None, ...] | None = None

    @property
    def _at(self) -> NDArray[np.intp]:
        """Which of the reasons these are; a single number for a single row."""
        raise NotImplementedError

    @property
    def _is_whole(self) -> bool:
        """Whether these are all reasons in their order, so that nothing has to be looked up."""
        at, n = np.atleast_1d(self._at), len(self._reasons)
        return len(at) == n and np.array_equal(at, np.arange(n))

    @property
    def in_probability(self) -> bool:
        """Whether values are gains in probability."""
        return self.view == "guarantee"

    @property
    def reason_size(self) -> Any:
        """How many features each reason has."""
        return self._reasons.size[self._at]

    @property
    def guarantee_lower(self) -> Any:
        """The probability that is surely reached."""
        return self._reasons.lower[self._at]

    @property
    def guarantee_upper(self) -> Any:
        """The probability that is surely not passed."""
        return self._reasons.upper[self._at]

    @property
    def minimality(self) -> Any:
        """What was proved of each reason."""
        return self._reasons.minimality[self._at]

    @property
    def size_lower(self) -> Any:
        """The size below which no set reaches delta, as far as was proved."""
        return self._reasons.size_lower[self._at]

    @property
    def stopped(self) -> Any:
        """How the proof of each reason ended."""
        return self._reasons.stopped[self._at]

    @property
    def cost(self) -> Any:
        """What the features of each reason cost; their number, if no costs were given."""
        return self._reasons.cost[self._at]

    @property
    def cost_lower(self) -> Any:
        """The cost below which no set reaches delta, as far as was proved."""
        return self._reasons.cost_lower[self._at]

    @property
    def prediction(self) -> Any:
        """The class of each row."""
        return self._reasons.prediction[self._at]

    @property
    def status(self) -> Any:
        """What became of each row: "ok", "unreachable" or "invalid"."""
        return self._reasons.status[self._at]

    @property
    def message(self) -> Any:
        """Why a row is not "ok"."""
        return self._reasons.message[self._at]

    @property
    def index(self) -> Any:
        """What the rows are called: the index of the frame that was explained."""
        return self._index if self._is_whole else self._index[np.atleast_1d(self._at)]

    @property
    def reasons(self) -> SufficientReasons:
        """The reasons of these rows, with their model and distribution."""
        return self._reasons if self._is_whole else self._reasons[np.atleast_1d(self._at)]

    @property
    def alternatives(self) -> Any:
        """What all minimum reasons of each row share, if the explainer was asked for that."""
        if self._others is None:
            return None
        if self._at.ndim == 0:
            return self._others[int(self._at)]
        found = [self._others[i] for i in self._at.tolist()]
        told = self._reasons
        return alternatives_table(found, told.model.unit_names, told.scope, self.index)

    @property
    def delta(self) -> float:
        """The probability that was asked for."""
        return self._reasons.delta

    @property
    def distribution(self) -> Any:
        """What the guarantees speak of."""
        return self._reasons.distribution
