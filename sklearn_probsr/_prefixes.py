"""Prefixes: how far one must go along a given order of the units to reach a level.

What a reader of SHAP values does: take the largest, then the next. Any order will do, also one
that fixes units which speak against the class, so no guarantee is taken to grow along it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr._costs import TOL, Costs
from sklearn_probsr._deficits import Instance
from sklearn_probsr._distributions import Background, Distribution, Uniform
from sklearn_probsr._enclosure import Enclosure
from sklearn_probsr._exact import float_above, float_below
from sklearn_probsr._joint import Replacement
from sklearn_probsr._model import LinearModel
from sklearn_probsr._shared import contributions_of, shared_of
from sklearn_probsr.engines import enclose
from sklearn_probsr.engines._joint import kept_along
from sklearn_probsr.engines._stroll import Walkers, along

__all__ = ["prefixes"]

# Where the guarantee of a prefix is enclosed more widely, it is looked at again.
_WIDE = 5e-3

Row = NDArray[np.float64] | NDArray[np.bool_]


def prefixes(
    model: LinearModel,
    rows: Row,
    orders: NDArray[np.intp],
    at: NDArray[np.int64],
    delta: Fraction,
    distribution: Distribution,
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """Follow one order of the units of every row.

    Parameters
    ----------
    model : LinearModel
    rows : ndarray of shape (n, d)
    orders : ndarray of int, shape (n, units)
    at : ndarray of int, shape (n,)
        How many units to look at closely.
    delta : Fraction
    distribution : Distribution

    Returns
    -------
    sizes : ndarray of int, shape (n,)
        The length of the shortest prefix that surely reaches delta.
    lower, upper : ndarray of float, shape (n,)
        Bounds of the guarantee of the first ``at``.
    """
    n = len(rows)
    sizes = np.full(n, -1, dtype=np.int64)
    lower, upper = np.zeros(n), np.ones(n)
    if isinstance(distribution, Background):
        for i, row in enumerate(rows):
            seen = Replacement(model, row, distribution)
            sizes[i], share = _along_rows(seen, orders[i], int(at[i]), delta)
            lower[i], upper[i] = float_below(share), float_above(share)
        return sizes, lower, upper
    decided = _along_spectra(model, rows, orders, at, delta, distribution, sizes, lower, upper)
    for i in np.flatnonzero(~decided).tolist():
        guarantee = _one_by_one(model, rows[i], distribution)
        order = orders[i].tolist()
        lengths = range(len(order) + 1)
        sizes[i] = next(k for k in lengths if (guarantee(order[:k], delta) >= delta).value)
        known = guarantee(order[: at[i]], None)
        lower[i], upper[i] = known.lower, known.upper
    return sizes, lower, upper


def _along_rows(
    seen: Replacement, order: NDArray[np.intp], at: int, delta: Fraction
) -> tuple[int, Fraction]:
    """Count background rows; what is in doubt is counted again with all its digits."""
    total = seen.background.total
    needed = math.ceil(delta * total)
    kept, unsure = kept_along(seen.rows, order, seen.doubt)
    for k in np.flatnonzero(unsure):
        kept[k] = seen.weight(order[:k].tolist())
    return int(np.flatnonzero(kept >= needed)[0]), Fraction(int(kept[at]), total)


def _along_spectra(
    model: LinearModel,
    rows: Row,
    orders: NDArray[np.intp],
    at: NDArray[np.int64],
    delta: Fraction,
    distribution: Distribution,
    sizes: NDArray[np.int64],
    lower: NDArray[np.float64],
    upper: NDArray[np.float64],
) -> NDArray[np.bool_]:
    """Fill in the rows that spectra of all units decide, and tell which."""
    decided = np.zeros(len(rows), dtype=np.bool_)
    contributions = contributions_of(model, distribution)
    shared = shared_of(contributions, True, distribution, whole=True) if len(rows) else None
    if shared is None or delta == 1:
        return decided
    units = np.array(list(shared.positions), dtype=np.intp)
    place = np.argsort(units)  # where each unit is in the head
    high = min(math.nextafter(float_above(delta), 2.0), 1.0)
    positive = model.is_positive(rows)
    for side in (False, True):
        some = np.flatnonzero(positive == side)
        look = shared.outlook(rows[some], side)
        some, near = some[look.near], look.near
        left = np.ones(len(some), dtype=np.bool_)
        for spectrum in shared.spectra:
            m = len(some)
            walkers = Walkers(
                np.full(m, side), look.start[near], look.blur[near],
                np.ascontiguousarray(look.gain[near][:, units]),
                np.zeros(model.n_units, dtype=np.bool_),
                np.ascontiguousarray(place[orders[some]][None]).astype(np.int64),
                np.full(m, model.n_units), np.zeros((m, 1), dtype=np.bool_),
            )  # fmt: skip
            found, bounds = np.full(m, -1), np.full((m, 2), np.nan)
            along(spectrum, walkers, high, at[some], found, bounds)
            good = left & (found >= 0) & (bounds[:, 1] - bounds[:, 0] <= _WIDE)
            if spectrum is shared.spectra[-1]:
                good = left & (found >= 0) & ~np.isnan(bounds[:, 0])
            for j in np.flatnonzero(good):
                known = Enclosure.proved(float(bounds[j, 0]), float(bounds[j, 1]))
                i = some[j]
                sizes[i], lower[i], upper[i] = found[j], known.lower, known.upper
            decided[some[good]] = True
            left &= ~good
            if not left.any():
                break
    return decided


def _one_by_one(
    model: LinearModel, row: Row, distribution: Distribution
) -> Callable[[list[int], Fraction | None], Enclosure]:
    """Return what encloses the guarantee of any set of a row's units."""
    core = model.binary_core if isinstance(distribution, Uniform) else None
    if core is None:
        costs = Costs(contributions_of(model, distribution), row, distribution)
        return costs.enclosure
    instance = Instance(core, model.core_rows(row[None, :])[0])
    return lambda fixed, delta: enclose(instance.subset_sum(fixed), delta, TOL)
