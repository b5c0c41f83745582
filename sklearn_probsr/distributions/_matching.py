"""Matching: the conditional reading, of the rows that share some facts."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sklearn_probsr.distributions._data import Data, HandedOver, whole_number
from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.model.numbers import decimal_fraction

__all__ = ["Matching"]


class Matching(Data):
    """Of the rows of a data set that share the facts of a reason, how many get the same class.

    Nothing is replaced: a row counts if its units are in the same states as the instance's, for
    every unit of the reason. A set that is searched on the rows that score it looks better than
    it is, so the rows are split: the set is searched on one part, and its guarantee is a
    Clopper-Pearson enclosure from the other, which was held out, with its confidence.

    An exact copy of the instance is left out of each part: it may be the row itself.

    Parameters
    ----------
    X : array-like of shape (n, d), or sequence of texts
        Rows in the columns of the model, a sample of those that the guarantee is to speak of; best
        rows that the model was not fitted on. All units must have states.
    min_rows : int, default=20
        How many of the rows searched must share the facts, so that no reason is made of a few.
    confirm : float or array-like of bool of shape (n,), default=0.5
        The share of the rows that is held out, or which ones are.
    confidence : float, default=0.95
        That of the enclosure, strictly between 0 and 1.
    random_state : int, default=0
        The seed of the split.
    cautious : bool, default=False
        Whether a set must reach delta in the rows searched by Wilson's lower bound of its share at
        95%, and not by the share alone; of several, and where none does, one whose rows are firmly
        of the class is preferred. Such sets are larger, and more of them are confirmed; at
        delta = 0.95 they need more than 72 matching rows.

    Examples
    --------
    >>> from sklearn_probsr import LinearModel, sufficient_reason
    >>> rows = [[1, 1]] * 90 + [[1, 0]] * 40 + [[0, 0]] * 30
    >>> model = LinearModel([1, 1], threshold=2, feature_names=["a", "b"])
    >>> print(sufficient_reason(model, [1, 1], distribution=Matching(rows)))
    Of the rows that share b = 1, class 1 is kept in at least 0.913956 with confidence 0.95: in \
41 of 41 such rows among 79 held out; 0.95 is not confirmed (descriptive, over all 158 rows: 88 \
of 88; 1 of 2 features; no smaller set that at least 20 rows share reaches 0.95 in the 79 rows \
searched).
    """

    needs_states = True

    min_rows: int
    confidence: Fraction
    confirming: NDArray[np.bool_]
    cautious: bool

    def __init__(
        self,
        X: ArrayLike | HandedOver,
        *,
        min_rows: int = 20,
        confirm: float | ArrayLike = 0.5,
        confidence: float | Fraction = 0.95,
        random_state: int = 0,
        cautious: bool = False,
    ) -> None:
        super().__init__(X)
        put = object.__setattr__
        put(self, "min_rows", whole_number(min_rows, "min_rows", 1))
        put(self, "confidence", _confidence(confidence))
        put(self, "cautious", bool(cautious))
        seed = whole_number(random_state, "random_state", 0)
        put(self, "confirming", _held_out(confirm, self.shape[0], seed))
        n, held = self.shape[0], int(np.count_nonzero(self.confirming))
        if n - held < self.min_rows:
            raise InvalidInputError(
                f"min_rows = {self.min_rows} is more than the {n - held} rows that are searched: "
                f"of {n} rows {held} are held out to confirm. Lower min_rows or confirm, or pass "
                "more rows."
            )

    def with_rows(self, rows: ArrayLike) -> Matching:
        """Return the same split and settings for other columns of the same rows."""
        return Matching(HandedOver(rows), **self._settings, confidence=self.confidence)

    @property
    def _settings(self) -> dict[str, Any]:
        return {
            "min_rows": self.min_rows,
            "confirm": self.confirming,
            "cautious": self.cautious,
        }

    @property
    def _said(self) -> tuple[Any, ...]:
        return self.min_rows, self.confidence, self.cautious, self.confirming.tobytes()

    # Two integers, as a skops file holds no fraction.
    def __getstate__(self) -> dict[str, Any]:
        return {
            "X": self.source,
            **self._settings,
            "confidence": self.confidence.as_integer_ratio(),
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        confidence = Fraction(*state["confidence"])
        type(self).__init__(self, **{**state, "confidence": confidence})

    def __str__(self) -> str:
        return f"the matching ones of {self.shape[0]:,} row{'s' if self.shape[0] != 1 else ''}"


def _confidence(value: Any) -> Fraction:
    number = _number(value)
    if not 0 < number < 1:
        raise InvalidInputError(f"confidence must lie strictly between 0 and 1, got {value!r}.")
    return number


def _number(value: Any) -> Fraction:
    """Return the decimal that a number prints as; 0 for what is none."""
    if isinstance(value, bool | str | bytes):
        return Fraction(0)
    try:
        return decimal_fraction(value)
    except (TypeError, ValueError, OverflowError):
        return Fraction(0)


def _held_out(confirm: Any, n: int, seed: int) -> NDArray[np.bool_]:
    """Tell which rows are held out."""
    chosen = np.zeros(n, dtype=np.bool_)
    if np.ndim(confirm):
        given = np.asarray(confirm)
        if given.shape != (n,) or given.dtype != np.bool_ or not given.any():
            raise InvalidInputError(
                f"confirm must be a share, or tell with a boolean for each of the {n} rows which "
                "are held out, at least one of them; got an array of shape "
                f"{given.shape} and type {given.dtype} with {np.count_nonzero(given)} such rows."
            )
        chosen |= given
    else:
        share = _number(confirm)
        if not 0 < share < 1:
            raise InvalidInputError(
                f"confirm must lie strictly between 0 and 1, or be one boolean per row, got "
                f"{confirm!r}."
            )
        held = max(math.floor(share * n), 1)
        chosen[np.random.default_rng(seed).permutation(n)[:held]] = True
    chosen.flags.writeable = False
    return chosen
