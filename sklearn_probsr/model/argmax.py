"""ArgmaxModel: several linear scores, the largest of which decides."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.model.inputs import check_names, finite_matrix, pieces
from sklearn_probsr.model.linear import LinearModel, Model
from sklearn_probsr.model.sparse import SparseRows
from sklearn_probsr.model.units import Unit, check_units

# Numbers that rounding changes by a larger share are told, unless the change is below this share of
# the largest number of the score: sums of floats lose as much, and scores of several classes often
# have numbers that are 0 but for that.
_TOLD, _ROUNDING = 1e-9, 2.0**-48


@dataclass(frozen=True, eq=False)
class ArgmaxModel(Model):
    """A classifier that says the class with the largest of several linear scores.

    A reason must keep the winner ahead of every rival; a duel with one of them is a `LinearModel`,
    see `duel`. In each column weights are rounded to 51 bits of the largest, so that differences
    of them are exact, and with them everything that is said about the model. A warning names a
    weight that this changes by more than a billionth of it, and by more than sums of floats lose.

    Parameters
    ----------
    weights : array-like of shape (classes, d)
        Finite weights of each score.
    intercepts : array-like of shape (classes,)
        What each score is without any feature.
    last : bool, default=False
        Whether of equal scores the last wins, and not the first.
    feature_names : sequence of str or None, default=None
        Unique names; ``x0, x1, ...`` when None.
    classes : sequence of labels or None, default=None
        The label of each class; ``0, 1, ...`` when None.
    units : sequence of Unit, of (name, columns) pairs, mapping or None, default=None
        As in `LinearModel`.

    Examples
    --------
    >>> model = ArgmaxModel([[2, 0, 1], [0, 2, 0], [1, 1, 0]], [0, 0, 1], classes=["a", "b", "c"])
    >>> model.predict([[1, 0, 1], [0, 1, 0], [0, 0, 0]])
    array(['a', 'b', 'c'], dtype='<U1')
    """

    weights: NDArray[np.float64]
    intercepts: NDArray[np.float64]
    last: bool = field(default=False, kw_only=True)
    feature_names: tuple[str, ...] = field(default=(), kw_only=True)
    classes: tuple[Any, ...] = field(default=(), kw_only=True)
    units: tuple[Unit, ...] | None = field(default=None, kw_only=True)

    def __init__(
        self,
        weights: ArrayLike,
        intercepts: ArrayLike,
        *,
        last: bool = False,
        feature_names: Sequence[str] | None = None,
        classes: Sequence[Any] | None = None,
        units: Any = None,
    ) -> None:
        values = finite_matrix(weights, 2, "weights")
        constants = finite_matrix(intercepts, 1, "intercepts")
        if len(values) < 2 or len(constants) != len(values):
            raise InvalidInputError(
                "An ArgmaxModel has one row of weights and one intercept for each of at least two "
                f"classes, got {len(values)} rows and {len(constants)} intercepts."
            )
        put = object.__setattr__
        put(self, "weights", _on_a_grid(values))
        put(self, "intercepts", _on_a_grid(constants[:, None])[:, 0])
        put(self, "last", bool(last))
        put(self, "feature_names", check_names(feature_names, values.shape[1]))
        put(self, "classes", _labels(classes, len(values)))
        put(self, "units", None if units is None else check_units(units, values.shape[1]))
        for array in (self.weights, self.intercepts):
            array.flags.writeable = False
        self._tell_of_rounding(values, constants)

    def _tell_of_rounding(
        self, weights: NDArray[np.float64], intercepts: NDArray[np.float64]
    ) -> None:
        """Warn where a number that was given and the one that is used are not about the same."""
        given, used = (
            np.column_stack(pair)
            for pair in ((weights, intercepts), (self.weights, self.intercepts))
        )
        lost = np.abs(given - used)
        told = (lost > _TOLD * np.abs(given)) & (
            lost > _ROUNDING * np.abs(given).max(axis=1, keepdims=True)
        )
        if not told.any():
            return
        share = np.divide(lost, np.abs(given), out=np.zeros_like(lost), where=told)
        k, j = np.unravel_index(int(np.argmax(share)), share.shape)
        feature = j < self.n_features
        what = f"weight of {self.feature_names[j]!r}" if feature else "intercept"
        those = "weights of a feature" if feature else "intercepts"
        hint = "Check the scale of this feature" if feature else "Compare the sizes of intercepts"
        more = int(told.sum()) - 1
        others = "" if not more else f" {more} more {'is' if more == 1 else 'are'} changed so."
        warnings.warn(
            f"The {what} for class {self.classes[k]!r} is {float(given[k, j])!r}, and is taken as "
            f"{float(used[k, j])!r}: {those} are rounded to 51 bits of the largest, here "
            f"{float(given[np.argmax(np.abs(given[:, j])), j])!r}, so that differences of classes "
            f"are exact. Everything that is said speaks of the rounded model.{others} {hint}, or "
            "explain two of the classes with a LinearModel.",
            stacklevel=3,
        )

    @property
    def decision(self) -> dict[str, Any]:
        """What decides: the arguments of the model, but for names, classes and units."""
        return {"weights": self.weights, "intercepts": self.intercepts, "last": self.last}

    @property
    def outputs(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The weights (classes, d) and the intercepts of the scores."""
        return self.weights, self.intercepts

    @property
    def by_class(self) -> bool:
        """Whether there is one score for each class, the largest of which wins."""
        return True

    def duel(self, winner: int, rival: int) -> LinearModel:
        """Return the decision between two classes, by position; the winner is ``classes[1]``."""
        pair = (winner, rival)
        if pair not in self._duels:
            self._duels[pair] = self._duel(*pair)
        return self._duels[pair]

    @cached_property
    def _duels(self) -> dict[tuple[int, int], LinearModel]:
        return {}

    def _duel(self, winner: int, rival: int) -> LinearModel:
        wins_tie = winner > rival if self.last else winner < rival
        return LinearModel._over(
            self,
            self.weights[winner] - self.weights[rival],
            float(self.intercepts[rival] - self.intercepts[winner]),
            not wins_tie,
            (self.classes[rival], self.classes[winner]),
        )

    def duels(self, winner: int) -> list[LinearModel]:
        """Return the duels of a class with each of its rivals."""
        rivals = [k for k in range(len(self.classes)) if k != winner]
        return [self.duel(winner, rival) for rival in rivals]

    def winners(self, rows: Any) -> NDArray[np.intp]:
        """Return which of the classes each checked row belongs to, exactly."""
        return np.concatenate([self._winners(some) for some in pieces(rows)])

    def _winners(self, rows: Any) -> NDArray[np.intp]:
        values = rows.astype(np.float64)
        with np.errstate(over="ignore", invalid="ignore"):
            scores = values @ self.weights.T + self.intercepts
            sizes = abs(values) @ np.abs(self.weights).T + np.abs(self.intercepts)
            # As in LinearModel: what rounding and underflow may do to a sum, in any order.
            bounds = (self.n_features + 3) * (2.0**-52 * sizes.max(axis=1) + 2.0**-1070)
            best: NDArray[np.intp] = np.argmax(np.where(np.isnan(scores), -np.inf, scores), axis=1)
            top = np.take_along_axis(scores, best[:, None], axis=1)
            close = (scores >= top - 2 * bounds[:, None]).sum(axis=1) > 1
        doubtful = np.flatnonzero(close | ~np.isfinite(sizes).all(axis=1))
        if len(doubtful):
            different, which = np.unique(np.asarray(rows[doubtful]), axis=0, return_inverse=True)
            exact = np.array([self._exact_winner(row) for row in different])
            best[doubtful] = exact[which.ravel()]
        return best

    def _exact_winner(self, row: NDArray[Any]) -> int:
        there = np.flatnonzero(row)
        entries = [Fraction(float(x)) for x in row[there]]
        each = zip(self.weights[:, there].tolist(), self.intercepts.tolist(), strict=True)
        scores = [
            sum((Fraction(w) * x for w, x in zip(weights, entries, strict=True)), Fraction(b))
            for weights, b in each
        ]
        top = max(scores)
        return len(scores) - 1 - scores[::-1].index(top) if self.last else scores.index(top)

    def leads(self, rows: Any, winner: int) -> NDArray[np.float64]:
        """Return about how far each checked row is on the side of a class: ahead of all others."""
        with np.errstate(over="ignore", invalid="ignore"):
            # Not by BLAS, whose digits depend on how many threads it has.
            scores = (
                rows @ self.weights.T
                if isinstance(rows, SparseRows)
                else np.einsum("ij,kj->ik", rows.astype(np.float64), self.weights)
            )
            scores = scores + self.intercepts
            leads = scores[:, winner] - np.delete(scores, winner, axis=1).max(axis=1)
        return np.asarray(leads)

    def closest(self, row: NDArray[Any]) -> LinearModel:
        """Return the duel of a checked row's winner with the rival that comes closest to it."""
        winner = int(self.winners(row[None, :])[0])
        with np.errstate(over="ignore", invalid="ignore"):
            scores = self.weights @ row.astype(np.float64) + self.intercepts
        scores = np.nan_to_num(scores, nan=-np.inf)
        scores[winner] = -np.inf
        rivals = [k for k in range(len(scores)) if k != winner]
        return self.duel(winner, max(rivals, key=lambda k: scores[k]))

    def margin(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return for each row how far its winner is ahead of the next class.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows of zeros and ones, or of what the units can be.

        Returns
        -------
        ndarray of shape (n,)
            Never negative.
        """
        rows = self.check_rows(X)
        found = [
            min(float(duel.margin(row[None, :])[0]) for duel in self.duels(int(winner)))
            for row, winner in zip(rows, self.winners(rows), strict=True)
        ]
        return np.array(found, dtype=np.float64)


def _on_a_grid(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Round each column to multiples of one power of two that leave 51 bits for the largest."""
    top = np.abs(values).max(axis=0, initial=0.0)
    # Multiples of the least float are exact as they are.
    shift = np.minimum(51 - np.frexp(top)[1], 1074)
    found = np.ldexp(np.rint(np.ldexp(values, shift)), -shift)
    return np.where(top > 0, found, values) + 0.0


def _labels(classes: Sequence[Any] | None, n: int) -> tuple[Any, ...]:
    labels = tuple(range(n)) if classes is None else tuple(classes)
    if len(labels) != n or len(set(labels)) != n:
        raise InvalidInputError(f"classes must be {n} different labels, got {classes!r}.")
    return labels
