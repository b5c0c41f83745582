"""The features of reasons in the order in which they are told, of many rows at once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.laws._dispatch import law_of
from sklearn_probsr.model._base import Model
from sklearn_probsr.model._linear import LinearModel

__all__ = ["Ordered", "in_order"]

# Numbers that are looked at together.
_AT_ONCE = 2**22


class Ordered:
    """Sets of features, one for each row, behind each other in one array.

    Parameters
    ----------
    features : ndarray of int
    sizes : ndarray of int, shape (n,)
        How many of them belong to each row.
    """

    def __init__(self, features: NDArray[np.intp], sizes: NDArray[np.int64]) -> None:
        self.features, self.ends = features, np.cumsum(sizes).tolist()

    def __iter__(self) -> Iterator[tuple[int, ...]]:
        return iter(self._cut(self.features))

    def named(self, names: tuple[str, ...]) -> NDArray[Any]:
        """Return for each row the names of its features, as a tuple."""
        found = np.empty(len(self.ends), dtype=object)
        found[:] = self._cut(np.array(names, dtype=object)[self.features])
        return found

    def _cut(self, told: NDArray[Any]) -> list[tuple[Any, ...]]:
        whole = tuple(told.tolist())
        return [whole[a:b] for a, b in zip([0, *self.ends], self.ends, strict=False)]


def in_order(
    model: Model,
    rows: NDArray[Any],
    mask: NDArray[np.bool_],
    distribution: Any,
    forced: tuple[int, ...],
) -> Ordered:
    """Return the features of each row's set, the forced ones first, then the most telling."""
    step = max(_AT_ONCE // max(model.n_features, 1), 1)
    parts = [
        _some(model, rows[a : a + step], mask[a : a + step], distribution, forced)
        for a in range(0, len(rows), step)
    ]
    features = np.concatenate([np.zeros(0, dtype=np.intp), *parts])
    return Ordered(features, np.count_nonzero(mask, axis=1))


def _some(
    model: Model,
    rows: NDArray[Any],
    mask: NDArray[np.bool_],
    distribution: Any,
    forced: tuple[int, ...],
) -> NDArray[np.intp]:
    at, units = np.nonzero(mask)
    sizes = np.count_nonzero(mask, axis=1)
    place = np.arange(len(at)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    # A column for each place in a set: those of small sets end with infinities.
    shape = (len(rows), int(sizes.max(initial=0)))
    keys, held = np.full(shape, np.inf), np.zeros(shape, dtype=np.intp)
    keys[at, place] = -_scores(model, rows, distribution, at, units)
    if forced:
        front = np.full(mask.shape[1], -1)
        front[list(forced)] = np.arange(len(forced))
        ahead = front[units] >= 0
        ranks = np.argsort(np.argsort(keys, axis=1, kind="stable"), axis=1)
        keys = (ranks + len(forced)).astype(np.float64)
        keys[at[ahead], place[ahead]] = front[units[ahead]]
    held[at, place] = units
    sorted_units = np.take_along_axis(held, np.argsort(keys, axis=1, kind="stable"), axis=1)
    inside: NDArray[np.intp] = sorted_units[np.arange(shape[1]) < sizes[:, None]]
    return inside


def _scores(
    model: Model,
    rows: NDArray[Any],
    distribution: Any,
    at: NDArray[np.intp],
    units: NDArray[np.intp],
) -> NDArray[np.float64]:
    """Return how telling some units are, each in a row; of several rivals the closest counts."""
    if not model.by_class:
        duel: LinearModel = model.closest(rows)
        return _scores_in(duel, model, rows, distribution, at, units)
    found = np.zeros(len(at))
    duels = [model.closest(row) for row in rows]
    which = np.array([id(duel) for duel in duels], dtype=np.uint64)[at]
    for duel in {id(duel): duel for duel in duels}.values():
        some = which == id(duel)
        found[some] = _scores_in(duel, model, rows, distribution, at[some], units[some])
    return found


def _scores_in(
    duel: LinearModel,
    model: Model,
    rows: NDArray[Any],
    distribution: Any,
    at: NDArray[np.intp],
    units: NDArray[np.intp],
) -> NDArray[np.float64]:
    """Return scores as in `Instance.order`; mean costs if units are not binary."""
    positive, core = duel.is_positive(rows), duel.binary_core
    if core is not None:
        weights = core.weights[units]
        helps = (duel.core_rows(rows)[at, units] == (weights > 0)) == positive[at]
        return np.where(helps & (weights != 0), 1.0, -1.0) * np.abs(weights)
    means = law_of(model, distribution).means
    with np.errstate(over="ignore", invalid="ignore"):  # 1e300 times 1e300 comes first all the same
        scale = float(np.abs(duel.weights).max()) or 1.0
        signed = np.where(positive, 1.0, -1.0)[:, None] * (duel.weights / scale)
        costs = model.sum_by_unit(np.nan_to_num(signed * (rows - means)))
    mean_costs: NDArray[np.float64] = costs[at, units]
    return mean_costs
