"""Certainty of many rows at once: the largest costs come first, and no probability is asked for.

What each unit costs at most is a float, with a bound of what is rounded (Proposition 70). Rows that
this bound leaves open are looked at by themselves.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.core.answers import Found
from sklearn_probsr.core.options import Task
from sklearn_probsr.core.view import Row
from sklearn_probsr.independent.contributions import Contributions
from sklearn_probsr.model.linear import LinearModel
from sklearn_probsr.model.numbers import row_sums

__all__ = ["CertainRows"]

# Sums of whole numbers below this are floats without rounding.
_WHOLE = 2**52
_CHUNK = 4096


class _Numbers(NamedTuple):
    """Weights, threshold and ends of a model, all divided by one number."""

    weights: NDArray[np.float64]  # (columns,)
    threshold: float
    least: NDArray[np.float64]  # (units,)
    most: NDArray[np.float64]  # (units,)
    whole: bool  # whether all of them, and their sums, are whole numbers that floats hold

    @property
    def size(self) -> float:
        """The sum of the sizes of what does not depend on a row."""
        return float(np.abs(self.least).sum() + np.abs(self.most).sum() + abs(self.threshold))


class CertainRows:
    """A model of two classes whose unknown units are independent, and what each may be at worst."""

    def __init__(self, model: LinearModel, contributions: Contributions) -> None:
        self.model, self.contributions = model, contributions

    @cached_property
    def _columns(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """The columns unit by unit, and where those of each unit start."""
        units = self.model.units
        groups: list[tuple[int, ...]] = [(u,) for u in range(self.model.n_features)]
        groups = groups if units is None else [unit.columns for unit in units]
        starts = np.cumsum([0, *map(len, groups)])[:-1]
        return np.array([j for group in groups for j in group], dtype=np.intp), starts

    @cached_property
    def _floats(self) -> _Numbers:
        seen, model = self.contributions, self.model
        ends = [(_rounded(a * seen.scale), _rounded(b * seen.scale)) for a, b in seen.ends]
        least, most = np.array(ends).T
        return _Numbers(model.weights, model.threshold, least, most, False)

    @cached_property
    def _whole(self) -> _Numbers | None:
        """The same as whole numbers whose sums are exact, for rows of zeros and ones; or None."""
        seen, form = self.contributions, self.model.integer_form
        if sum(map(abs, form.weights)) + abs(form.threshold) >= _WHOLE:
            return None
        weight = next((j for j, w in enumerate(form.weights) if w), None)
        if weight is None:
            return None
        unit = Fraction(float(self.model.weights[weight])) / form.weights[weight]
        ends = [[c * seen.scale / unit for c in pair] for pair in seen.ends]
        if any(c.denominator > 1 for pair in ends for c in pair):
            return None
        if sum(abs(c) for pair in ends for c in pair) >= _WHOLE:
            return None
        least, most = np.array(ends, dtype=np.float64).T
        weights = np.array(form.weights, dtype=np.float64)
        return _Numbers(weights, float(form.threshold), least, most, True)

    def answer(self, rows: Row, positive: NDArray[np.bool_], task: Task, found: Found) -> None:
        """Write down the rows whose smallest certain set is told apart from smaller ones."""
        for first in range(0, len(rows), _CHUNK):
            piece = slice(first, first + _CHUNK)
            self._answer(rows[piece], positive[piece], first, task, found)

    def _answer(
        self, rows: Row, positive: NDArray[np.bool_], first: int, task: Task, found: Found
    ) -> None:
        numbers, values = self._numbers(rows)
        costs = _costs(numbers, values, positive, self._columns, list(task.include))
        cost, n = costs.cost, len(rows)
        part = task.of_rows(slice(first, first + n))
        member = (cost > 0) & part.may_choose(n, cost.shape[1])
        mean = self._means(cost, positive, numbers)
        told = np.argsort(np.where(member, -mean, np.inf), axis=1, kind="stable")
        largest = np.take_along_axis(np.where(member, cost, 0.0), told, axis=1)
        order = np.argsort(-largest, axis=1, kind="stable")  # places among those told
        known = np.zeros((n, cost.shape[1] + 1))
        np.cumsum(np.take_along_axis(largest, order, axis=1), axis=1, out=known[:, 1:])
        sure = known - costs.beyond[:, None] >= costs.doubt[:, None]
        size, at = sure.argmax(axis=1), np.arange(n)
        # One unit fewer is surely too few: so each of the chosen ones surely costs something.
        short = costs.beyond - known[at, np.maximum(size - 1, 0)] > costs.doubt
        done = sure[at, size] & ((size == 0) | short)
        if task.most is not None:
            done &= size <= task.most
        chosen = np.zeros(cost.shape, dtype=np.bool_)
        np.put_along_axis(chosen, order, np.arange(cost.shape[1]) < size[:, None], axis=1)
        rows_done = np.flatnonzero(done)
        _write(told[rows_done], chosen[rows_done], rows_done + first, task, found)

    def _numbers(self, rows: Row) -> tuple[_Numbers, NDArray[np.float64]]:
        """Return the numbers that rows are summed up with, and their values unit by unit."""
        columns, _ = self._columns
        values = np.ascontiguousarray(np.asarray(rows, dtype=np.float64)[:, columns])
        if rows.dtype == np.bool_ or bool(((values == 0) | (values == 1)).all()):
            return self._whole or self._floats, values
        return self._floats, values

    def _means(
        self, cost: NDArray[np.float64], positive: NDArray[np.bool_], numbers: _Numbers
    ) -> NDArray[np.float64]:
        """Return what each unit costs on average, in widths of the widest: reasons are told so."""
        width, mean, _ = self.contributions.moments
        found: NDArray[np.float64]
        with np.errstate(over="ignore", invalid="ignore"):  # rows beyond floats are left open
            widest = float((numbers.most - numbers.least).max()) or 1.0
            found = cost / widest - np.where(positive[:, None], mean, width - mean)
        return found


class _Costs(NamedTuple):
    """What units cost at most, by how much all exceed the margin, and the doubt about sums."""

    cost: NDArray[np.float64]  # (rows, units)
    beyond: NDArray[np.float64]  # (rows,)
    doubt: NDArray[np.float64]  # (rows,): sums that differ by no more are not told apart


def _costs(
    numbers: _Numbers,
    values: NDArray[np.float64],
    positive: NDArray[np.bool_],
    places: tuple[NDArray[np.intp], NDArray[np.intp]],
    forced: list[int],
) -> _Costs:
    """Return what each unit of rows costs at most, beside those that are forced."""
    columns, starts = places
    with np.errstate(over="ignore", invalid="ignore"):
        parts = values * numbers.weights[columns]
        worth = np.add.reduceat(parts, starts, axis=1)
        cost = np.where(positive[:, None], worth - numbers.least, numbers.most - worth)
        left = row_sums(worth) - numbers.threshold
        # Whole numbers belong to classes[1] from the threshold on, and to the other one below.
        left = np.where(positive, left, -left - numbers.whole)
        free = cost.copy()
        free[:, forced] = 0.0
        beyond = row_sums(free) - left
        sizes = row_sums(np.abs(parts)) + numbers.size
        n = len(columns) + 2 * len(starts) + 8
        doubt = (1 - numbers.whole) * (n * 2.0**-50 * sizes + n * 2.0**-1060)
        fine = np.isfinite(sizes + beyond) & np.isfinite(cost).all(axis=1)
    # What is beyond all floats stays open.
    return _Costs(
        np.where(fine[:, None], cost, 0.0),
        np.where(fine, beyond, 0.0),
        np.where(fine, doubt, np.inf),
    )


def _write(
    told: NDArray[np.intp],
    chosen: NDArray[np.bool_],
    at: NDArray[np.intp],
    task: Task,
    found: Found,
) -> None:
    """Write down which of the units of some rows were chosen, in the order in which they are told.

    What is forced comes first.
    """
    forced, sizes = np.array(task.include, dtype=np.int32), chosen.sum(axis=1)
    before = np.tile(forced, (len(at), 1))
    kept = np.concatenate([np.ones(before.shape, dtype=np.bool_), chosen], axis=1)
    features = np.concatenate([before, told.astype(np.int32)], axis=1)[kept]
    found.writer.write_many(at, sizes + len(forced), features)
    found.minimality[at], found.size_lower[at] = "minimum", sizes + len(forced)
    found.lower[at] = found.upper[at] = 1.0
    found.exact.update(dict.fromkeys(at.tolist(), Fraction(1)))


def _rounded(value: Fraction | int) -> float:
    """Return a number as a float; infinite beyond them."""
    try:
        return float(value)
    except OverflowError:
        return math.inf
