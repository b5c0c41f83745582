"""Rows of data before a model, the means of their columns, and which facts speak for a class.

A unit of an instance leans towards the class if what it contributes is above what it contributes
on average under the law: to know it is then good news. With several classes the duel with the
runner-up counts. Contributions are linear in the columns, so the means of columns are all that is
asked of a law. Where floats leave the sign open, exact means decide it (Proposition 42).
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.distributions._data import Data, binary_rows
from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.model.inputs import pieces
from sklearn_probsr.model.linear import LinearModel, Model
from sklearn_probsr.model.sparse import SparseRows

__all__ = [
    "checked_rows",
    "column_mean",
    "exact_mean",
    "leanings",
    "mean_doubts",
    "rows_before",
    "weighted_means",
    "worth",
]

# Mantissas of 53 bits in pieces whose weighted sums are whole floats (Proposition 42).
_PIECE = 18


class Averages(Protocol):
    """What a law says of its columns, on average."""

    model: Model

    @property
    def means(self) -> NDArray[np.float64]:
        """The mean of every column, about."""

    @property
    def mean_doubts(self) -> NDArray[np.float64]:
        """How far each of them may be off; 0: that is the mean, as far as anyone can tell."""

    def mean_of(self, column: int) -> Fraction:
        """Return the exact mean of a column."""


def leanings(
    law: Averages, rows: NDArray[Any], at: NDArray[np.intp], units: NDArray[np.intp]
) -> NDArray[np.int8]:
    """Tell of some units, each of a row, how they lean: 1 for its class, -1 against it, or 0."""
    found = np.zeros(len(at), dtype=np.int8)
    for duel, some in _duels(law.model, rows, at):
        towards = 2 * duel.is_positive(rows).astype(np.int8) - 1
        found[some] = towards[at[some]] * _signs(law, duel, rows, at[some], units[some])
    return found


def _duels(
    model: Model, rows: NDArray[Any], at: NDArray[np.intp]
) -> Iterator[tuple[LinearModel, Any]]:
    """Yield each decision that rows are asked about, and which of the questions are of such rows.

    Of several classes it is the one between the winner and the runner-up.
    """
    if not model.by_class:
        yield model.closest(rows), slice(None)
        return
    duels: dict[int, Any] = {i: model.closest(rows[i]) for i in np.unique(at).tolist()}
    which = np.array([id(duels[i]) for i in at.tolist()], dtype=np.uint64)
    for duel in {id(duel): duel for duel in duels.values()}.values():
        yield duel, np.flatnonzero(which == id(duel))


def _signs(
    law: Averages,
    duel: LinearModel,
    rows: NDArray[Any],
    at: NDArray[np.intp],
    units: NDArray[np.intp],
) -> NDArray[np.int8]:
    """Return the sign of what each unit contributes above its mean, towards ``classes[1]``."""
    columns = units
    if duel.units is not None:
        columns = duel.columns_first[units]
    matters = duel.weights[columns] != 0
    with np.errstate(over="ignore", invalid="ignore"):
        apart = np.where(matters, _values(rows, at, columns) - law.means[columns], 0.0)
    doubts = law.mean_doubts[columns]
    # A difference of two floats has the sign of the exact one.
    signs = np.sign(duel.weights[columns]) * np.sign(apart)
    open_ones = doubts > 0
    if open_ones.any():
        unsure = ~(np.abs(apart) > doubts) | ~np.isfinite(apart)
        open_ones &= unsure & matters
    if duel.units is not None:
        widths = np.array([len(unit.columns) for unit in duel.units])
        open_ones |= widths[units] > 1
    known: dict[Any, int] = {}
    for j in open_ones.nonzero()[0].tolist():
        unit = int(units[j])
        own = [unit] if duel.units is None else list(duel.units[unit].columns)
        values = tuple(rows[int(at[j])][own].tolist())
        if (unit, values) not in known:
            known[unit, values] = _exact_sign(law, duel, own, values)
        signs[j] = known[unit, values]
    return signs.astype(np.int8)


def _values(rows: Any, at: NDArray[np.intp], columns: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return some values, each of a row."""
    if not isinstance(rows, SparseRows):
        dense: NDArray[np.float64] = rows[at, columns].astype(np.float64)
        return dense
    keys = rows.places * rows.width + rows.indices  # increasing
    asked = at * rows.width + columns
    found = np.minimum(np.searchsorted(keys, asked), max(len(keys) - 1, 0))
    values: NDArray[np.float64] = np.zeros(len(asked))
    if len(keys):
        there = keys[found] == asked
        values[there] = rows.values[found[there]]
    return values


def _exact_sign(law: Averages, duel: LinearModel, own: list[int], values: tuple[Any, ...]) -> int:
    """Return the sign of what some columns contribute above their mean, by rationals."""
    above = sum(
        (
            Fraction(duel.weights[column]) * (Fraction(value) - law.mean_of(column))
            for column, value in zip(own, values, strict=True)
        ),
        start=Fraction(0),
    )
    return (above > 0) - (above < 0)


def mean_doubts(rows: Any) -> NDArray[np.float64]:
    """Return how far the mean of every column of some rows may be off, summed up in any order.

    0 for a column of zeros, whose mean is what it should be.
    """
    largest = np.zeros(rows.shape[1])
    if isinstance(rows, SparseRows):
        np.maximum.at(largest, rows.indices, np.abs(rows.values.astype(np.float64)))
    elif len(rows):
        largest = np.maximum(rows.max(axis=0), -rows.astype(np.float64).min(axis=0))
    with np.errstate(over="ignore"):
        doubts: NDArray[np.float64] = (len(rows) + 4) * 2.0**-51 * largest.astype(np.float64)
    # The mean of the smallest floats is rounded to one of them, as what is computed here is.
    return np.where(largest > 0, doubts + 2.0**-1073, doubts)


def column_mean(rows: Any, column: int, weights: NDArray[np.int64]) -> Fraction:
    """Return the mean of a column of some rows, each of which counts so often, exactly."""
    if not isinstance(rows, SparseRows):
        return exact_mean(rows[:, column], weights)
    at = np.flatnonzero(rows.indices == column)
    inside = weights[rows.places[at]]
    if not inside.any():
        return Fraction(0)
    return exact_mean(rows.values[at], inside) * int(inside.sum()) / int(weights.sum())


def exact_mean(values: NDArray[Any], weights: NDArray[np.int64]) -> Fraction:
    """Return the mean of some numbers, each of which counts so often, exactly."""
    mantissas, exponents = np.frexp(values.astype(np.float64))
    whole = np.ldexp(mantissas, 53).astype(np.int64)
    lowest = int(exponents.min())
    places = exponents - lowest
    total = 0
    if int(weights.sum()) >= 2 ** (53 - _PIECE):
        parts = zip(whole.tolist(), weights.tolist(), places.tolist(), strict=True)
        total = sum(m * w << k for m, w, k in parts)
        return Fraction(total) * Fraction(2) ** (lowest - 53) / int(weights.sum())
    for shift in range(0, 54, _PIECE):
        piece = (whole >> shift) & (2**_PIECE - 1) if shift < 54 - _PIECE else whole >> shift
        # Whole floats below 2^53, as all weights together are below 2^35.
        sums = np.bincount(places, weights=(piece * weights).astype(np.float64))
        total += sum(int(s) << (shift + k) for k, s in enumerate(sums.tolist()) if s)
    return Fraction(total) * Fraction(2) ** (lowest - 53) / int(weights.sum())


def checked_rows(model: Model, data: Data) -> NDArray[Any]:
    """Return the rows of a data set in the form of a model's own rows, filled in."""
    rows = rows_before(model, data)
    return rows.toarray() if isinstance(rows, SparseRows) else rows


def rows_before(model: Model, data: Data) -> Any:
    """Return the rows of a data set in the form of a model's own rows; sparse ones may stay so."""
    places = model.places(data.columns, "The background")
    given = data.rows if places is None else data.taken(places).rows
    found, expected = given.shape[1], model.n_features
    if found != expected:
        raise InvalidInputError(
            f"The background must have the model's columns, {expected}, got {found}."
        )
    if model.units is None:
        return binary_rows(given, model.feature_names)
    if isinstance(given, SparseRows):
        checked = model.check_sparse(given, "The background")
        return checked if model.takes_sparse else given.toarray()
    rows = model.check_values(given, "The background")
    # The same numbers are not kept twice, and zeros and ones take an eighth of the memory.
    return given if given.dtype in (np.bool_, rows.dtype) else rows


def weighted_means(rows: Any, weights: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the mean of every column."""
    counts = weights.astype(np.float64)
    if isinstance(rows, SparseRows):
        held = rows.values * counts[rows.places]
        sums: NDArray[Any] = np.bincount(rows.indices, held, rows.width)
    else:
        # Not by BLAS, whose digits depend on how many threads it has, nor with a copy of floats.
        step = pieces(rows) if rows.dtype == np.bool_ else [rows]
        ends = np.cumsum([len(some) for some in step])[:-1]
        sums = sum(
            np.einsum("i,ij->j", share, some.astype(np.float64, copy=False))
            for share, some in zip(np.split(counts, ends), step, strict=True)
        )
    means: NDArray[np.float64] = sums / counts.sum()
    return means


def worth(weights: NDArray[np.float64], values: NDArray[Any]) -> Fraction:
    """Return a sum of products, exactly."""
    terms = zip(weights.tolist(), values.tolist(), strict=True)
    return sum((Fraction(w) * Fraction(x) for w, x in terms), Fraction(0))
