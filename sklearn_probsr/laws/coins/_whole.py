"""Whole numbers: rows that exact integer sums answer, before any probability is computed.

Certainty is a sort (Proposition 8), and few features are counted. Both take the weights as 64-bit
integers. Where those are longer they are cut, ``a' = floor(a / 2^s)``, and a row whose sums come
closer to its margin than the cut can tell is left to others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.core.options import Task
from sklearn_probsr.engines.coins._answers import Answers, Candidates
from sklearn_probsr.engines.coins._closed_form import certain_rows
from sklearn_probsr.engines.coins._enumeration import count_rows
from sklearn_probsr.laws.coins._ranking import Ranking
from sklearn_probsr.model._linear import IntegerForm, LinearModel

__all__ = ["Shown", "WholeRows"]

# All sums of cut weights, and twice the doubt about them, fit 64 bits (Lemma 16).
_BITS = 61


class Shown(NamedTuple):
    """Rows as kernels are shown them.

    A feature that helps and must not be chosen in its row is shown with its other value, so that it
    is no member; nothing else changes, as its coin is fair (Lemma 41).
    """

    rows: NDArray[np.bool_]
    positive: NDArray[np.bool_]
    told: NDArray[np.bool_]

    @classmethod
    def of(cls, model: LinearModel, rows: NDArray[np.bool_], task: Task) -> Shown:
        """Return the rows of a task, in the columns of a binary model."""
        positive = model.is_positive(rows)
        if task.allowed is None:
            return cls(rows, positive, rows)
        barred = ~task.allowed & (model.weights != 0)
        barred[:, list(task.include)] = False
        helps = (rows == (model.weights > 0)) == positive[:, None]
        return cls(rows, positive, rows != (barred & helps))

    def take(self, at: NDArray[np.intp]) -> Shown:
        """Return some of the rows."""
        return Shown(*(part[at] for part in self))

    def margins(self, form: IntegerForm, shift: int) -> NDArray[np.int64]:
        """Return what the class of each row can lose, as it is shown, in cut whole numbers."""
        weights = np.array([w >> shift for w in form.weights], dtype=np.int64)
        threshold = form.threshold >> shift
        totals = self.rows @ weights
        margins = np.where(self.positive, totals - threshold, threshold - 1 - totals)
        if self.told is self.rows:
            return margins
        sizes = np.array([abs(w) >> shift for w in form.weights], dtype=np.int64)
        shown: NDArray[np.int64] = margins - (self.rows != self.told) @ sizes
        return shown


@dataclass(frozen=True)
class WholeRows:
    """Rows of a model, by their margins in whole numbers.

    Attributes
    ----------
    margins : ndarray of int64, shape (n,)
        What the class of each row can lose.
    ranks : Candidates
    doubt : int
        How far the difference of a margin and a sum of costs may be off; 0: it is exact.
    """

    rows: NDArray[np.bool_]
    positive: NDArray[np.bool_]
    margins: NDArray[np.int64]
    ranks: Candidates
    doubt: int

    @classmethod
    def of(cls, ranking: Ranking, given: Shown, exclude: tuple[int, ...]) -> WholeRows:
        """Return rows of a ranking; some features must not be fixed."""
        form = ranking.model.integer_form
        reach = sum(map(abs, form.weights)) + abs(form.threshold)
        shift = max(reach.bit_length() - _BITS, 0)
        magnitudes = [abs(form.weights[i]) >> shift for i in ranking.features]
        ranks = ranking.candidates(np.array(magnitudes, dtype=np.int64), exclude)
        # Each cut weight is short by less than 1: a margin is off by less than d + 2, and what it
        # is compared with, a sum of magnitudes and perhaps one more, by less than 2 d (Lemma 16).
        rows = np.ascontiguousarray(given.told)
        doubt = 3 * (rows.shape[1] + 2) if shift else 0
        return cls(rows, given.positive, given.margins(form, shift), ranks, doubt)

    def certain(self, most: int, answers: Answers) -> NDArray[np.int64]:
        """Answer the rows in which at most so many features are certain to keep the class.

        Returns how many it takes in each row: one more than there are if all are too few, and -1
        where that is in doubt.
        """
        needed = np.empty(len(self.rows), dtype=np.int64)
        certain_rows(
            self.rows, self.positive, self.margins, self.ranks, self.doubt, most, needed, answers
        )
        return needed

    def count(self, high: float, most: int, answers: Answers) -> None:
        """Answer the rows by the number of completions that keep the class; for few features.

        ``high`` is the least float that reaches the level.
        """
        count_rows(
            self.rows, self.positive, self.margins, self.ranks, self.doubt, high, most, answers
        )
