"""Prefixes: how far one must go along a given order of the units to reach a level.

What a reader of SHAP values does: take the largest, then the next. Any order will do, also one
that fixes units which speak against the class, so no guarantee is taken to grow along it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr._costs import TOL, Costs
from sklearn_probsr._deficits import Instance
from sklearn_probsr._distributions import Background, Distribution, Uniform
from sklearn_probsr._enclosure import Enclosure
from sklearn_probsr._exact import float_above, float_below
from sklearn_probsr._joint import Replacement
from sklearn_probsr._model import LinearModel
from sklearn_probsr._shared import Shared, contributions_of, shared_of
from sklearn_probsr.engines import enclose
from sklearn_probsr.engines._joint import kept_along
from sklearn_probsr.engines._spectrum import Spectrum
from sklearn_probsr.engines._stroll import Walkers, along, measure

__all__ = ["prefixes", "score"]

# Where the guarantee of a prefix is enclosed more widely, it is looked at again.
_WIDE = 5e-3

Row = NDArray[np.float64] | NDArray[np.bool_]


class Lengths(NamedTuple):
    """The shortest prefix of each row that surely reaches delta, and bounds of a closer look."""

    size: NDArray[np.int64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]

    def write(self, i: int, size: int, known: Enclosure) -> None:
        """Write down what was found for a row."""
        self.size[i], self.lower[i], self.upper[i] = size, known.lower, known.upper


def prefixes(
    model: LinearModel,
    rows: Row,
    orders: Sequence[NDArray[np.intp]],
    at: NDArray[np.int64],
    delta: Fraction,
    distribution: Distribution,
) -> list[Lengths]:
    """Follow orders of the units of every row.

    Parameters
    ----------
    model : LinearModel
    rows : ndarray of shape (n, d)
    orders : sequence of ndarray of int, shape (n, units)
    at : ndarray of int, shape (n,)
        How many units to look at closely.
    delta : Fraction
    distribution : Distribution

    Returns
    -------
    list of Lengths
        For each order.
    """
    n = len(rows)
    found = [
        Lengths(np.full(n, -1, dtype=np.int64), np.zeros(n), np.ones(n)) for _ in range(len(orders))
    ]
    if isinstance(distribution, Background):
        for i, row in enumerate(rows):
            seen = Replacement(model, row, distribution)
            for order, lengths in zip(orders, found, strict=True):
                lengths.size[i], share = _along_rows(seen, order[i], int(at[i]), delta)
                lengths.lower[i], lengths.upper[i] = float_below(share), float_above(share)
        return found
    for order, lengths in zip(orders, found, strict=True):
        decided = _along_spectra(model, rows, order, at, delta, distribution, lengths)
        for i in np.flatnonzero(~decided).tolist():
            guarantee = _one_by_one(model, rows[i], distribution)
            units = order[i].tolist()
            steps = range(len(units) + 1)
            size = next(k for k in steps if (guarantee(units[:k], delta) >= delta).value)
            lengths.write(i, size, guarantee(units[: at[i]], None))
    return found


def score(
    model: LinearModel, rows: Row, mask: NDArray[np.bool_], distribution: Distribution
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Bound the guarantee of one set of units for every row."""
    n = len(rows)
    lower, upper = np.zeros(n), np.ones(n)
    left = np.ones(n, dtype=np.bool_)
    if isinstance(distribution, Background):
        for i, row in enumerate(rows):
            seen = Replacement(model, row, distribution)
            share = Fraction(seen.weight(np.flatnonzero(mask[i]).tolist()), distribution.total)
            lower[i], upper[i] = float_below(share), float_above(share)
        return lower, upper
    contributions = contributions_of(model, distribution)
    shared = shared_of(contributions, True, distribution, whole=True) if n else None
    positive = model.is_positive(rows)
    for side in (False, True):
        some = np.flatnonzero(positive == side)
        for spectrum, walkers, kept in _walks(shared, rows, some, side):
            chosen = np.ascontiguousarray(mask[kept][:, walkers.order[0, 0]])
            found = measure(spectrum, walkers, chosen)
            narrow = left[kept] & (found[:, 1] - found[:, 0] <= _WIDE)
            for i, (low, high) in zip(kept[narrow], found[narrow].tolist(), strict=True):
                known = Enclosure.proved(low, high)
                lower[i], upper[i] = known.lower, known.upper
            left[kept[narrow]] = False
            if not left[kept].any():
                break
    for i in np.flatnonzero(left).tolist():
        known = _one_by_one(model, rows[i], distribution)(np.flatnonzero(mask[i]).tolist(), None)
        lower[i], upper[i] = known.lower, known.upper
    return lower, upper


def _walks(
    shared: Shared | None, rows: Row, some: NDArray[np.intp], side: bool
) -> Iterator[tuple[Spectrum, Walkers, NDArray[np.intp]]]:
    """Return each spectrum with the rows of a class that are near enough; the order is the head."""
    if shared is None or not len(some):
        return
    look = shared.outlook(rows[some], side)
    near = look.near
    m, h = int(near.sum()), len(shared.positions)
    units = np.array(list(shared.positions), dtype=np.int64)
    for spectrum in shared.spectra if m else ():
        yield (
            spectrum,
            Walkers(
                np.full(m, side), look.start[near], look.blur[near],
                np.ascontiguousarray(look.gain[near][:, units]),
                np.zeros(h, dtype=np.bool_), np.tile(units, (1, m, 1)),
                np.full(m, h), np.zeros((m, 1), dtype=np.bool_),
            ),
            some[near],
        )  # fmt: skip


def _along_rows(
    seen: Replacement, order: NDArray[np.intp], at: int, delta: Fraction
) -> tuple[int, Fraction]:
    """Count background rows; what is in doubt is counted again with all its digits."""
    total = seen.background.total
    needed = math.ceil(delta * total)
    kept, unsure = kept_along(seen.rows, order, seen.doubt, needed, at)
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
    lengths: Lengths,
) -> NDArray[np.bool_]:
    """Fill in the rows that spectra of all units decide, and tell which."""
    decided = np.zeros(len(rows), dtype=np.bool_)
    contributions = contributions_of(model, distribution)
    shared = shared_of(contributions, True, distribution, whole=True) if len(rows) else None
    if shared is None or delta == 1:
        return decided
    place = np.argsort(list(shared.positions))  # where each unit is in the head
    high = min(math.nextafter(float_above(delta), 2.0), 1.0)
    positive = model.is_positive(rows)
    for side in (False, True):
        for spectrum, walkers, some in _walks(shared, rows, np.flatnonzero(positive == side), side):
            order = np.ascontiguousarray(place[orders[some]][None]).astype(np.int64)
            found, bounds = np.full(len(some), -1), np.full((len(some), 2), np.nan)
            along(spectrum, walkers._replace(order=order), high, at[some], found, bounds)
            good = ~decided[some] & (found >= 0) & ~np.isnan(bounds[:, 0])
            if spectrum is not shared.spectra[-1]:
                good &= bounds[:, 1] - bounds[:, 0] <= _WIDE
            for j in np.flatnonzero(good):
                known = Enclosure.proved(float(bounds[j, 0]), float(bounds[j, 1]))
                lengths.write(int(some[j]), int(found[j]), known)
            decided[some[good]] = True
            if decided[some].all():
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
