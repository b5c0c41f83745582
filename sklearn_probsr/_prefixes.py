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

from sklearn_probsr._argmax import AnyModel, ArgmaxModel
from sklearn_probsr._costs import TOL, Costs
from sklearn_probsr._deficits import Instance
from sklearn_probsr._distributions import Background, Distribution, Uniform
from sklearn_probsr._enclosure import Enclosure
from sklearn_probsr._exact import float_above, float_below
from sklearn_probsr._joint import Seen
from sklearn_probsr._rivals import RivalCosts, before
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
    model: AnyModel,
    rows: Row,
    orders: Sequence[NDArray[np.intp]],
    at: NDArray[np.int64],
    delta: Fraction,
    distribution: Distribution,
) -> list[Lengths]:
    """Follow orders of the units of every row.

    Parameters
    ----------
    model : LinearModel or ArgmaxModel
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
            seen = before(model, row, distribution)
            for order, lengths in zip(orders, found, strict=True):
                lengths.size[i], share = _along_rows(seen, order[i], int(at[i]), delta)
                lengths.lower[i], lengths.upper[i] = float_below(share), float_above(share)
        return found
    for order, lengths in zip(orders, found, strict=True):
        left = _along_spectra(model, rows, order, at, delta, distribution, lengths)
        for i in np.flatnonzero(left).tolist():
            guarantee = _one_by_one(model, rows[i], distribution)
            units = order[i].tolist()
            steps = range(len(units) + 1)
            size = next(k for k in steps if (guarantee(units[:k], delta) >= delta).value)
            # The size and the bounds that are shown beside it agree on which side delta is.
            first = units[: at[i]]
            known = guarantee(first, None).intersect(guarantee(first, delta))
            lengths.write(i, min(size, len(first)) if (known >= delta).value else size, known)
    return found


def score(
    model: AnyModel, rows: Row, mask: NDArray[np.bool_], distribution: Distribution
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Bound the guarantee of one set of units for every row."""
    n = len(rows)
    lower, upper = np.zeros(n), np.ones(n)
    left = np.ones(n, dtype=np.bool_)
    if isinstance(distribution, Background):
        for i, row in enumerate(rows):
            seen = before(model, row, distribution)
            share = Fraction(seen.weight(np.flatnonzero(mask[i]).tolist()), distribution.total)
            lower[i], upper[i] = float_below(share), float_above(share)
        return lower, upper
    shared = _shared(model, rows, distribution)
    for spectrum, walkers, some in _walks(shared, model, rows, left):
        chosen = np.ascontiguousarray(mask[some][:, walkers.order[0, 0]])
        found = measure(spectrum, walkers, chosen)
        narrow = found[:, 1] - found[:, 0] <= _WIDE
        for i, (low, high) in zip(some[narrow], found[narrow].tolist(), strict=True):
            known = Enclosure.proved(low, high)
            lower[i], upper[i] = known.lower, known.upper
        left[some[narrow]] = False
    for i in np.flatnonzero(left).tolist():
        known = _one_by_one(model, rows[i], distribution)(np.flatnonzero(mask[i]).tolist(), None)
        lower[i], upper[i] = known.lower, known.upper
    return lower, upper


def _shared(model: AnyModel, rows: Row, distribution: Distribution) -> Shared | None:
    """Return spectra of all units; None where there are none, or nothing to look at."""
    if not len(rows) or isinstance(model, ArgmaxModel):
        return None
    return shared_of(contributions_of(model, distribution), True, distribution, whole=True)


def _walks(
    shared: Shared | None, model: AnyModel, rows: Row, left: NDArray[np.bool_]
) -> Iterator[tuple[Spectrum, Walkers, NDArray[np.intp]]]:
    """Return each spectrum, the rough one first, with the rows of a class that are left by then.

    Their order is that of the head. Spectra are built only when they are needed.
    """
    if shared is None:
        return
    positive = model.winners(rows) == 1
    units = np.array(list(shared.positions), dtype=np.int64)
    h = len(units)
    far = np.zeros(len(rows), dtype=np.bool_)
    for degree in (0, *shared.degrees):
        for side in (False, True):
            some = np.flatnonzero(left & ~far & (positive == side))
            if not len(some):
                continue
            look = shared.outlook(rows[some], side)
            near = look.near
            far[some[~near]] = True
            m = int(near.sum())
            walkers = Walkers(
                np.full(m, side), look.start[near], look.blur[near],
                np.ascontiguousarray(look.gain[near][:, units]),
                np.zeros(h, dtype=np.bool_), np.tile(units, (1, m, 1)),
                np.full(m, h), np.zeros((m, 1), dtype=np.bool_),
            )  # fmt: skip
            if m:
                yield shared.spectrum(degree), walkers, some[near]


def _along_rows(
    seen: Seen, order: NDArray[np.intp], at: int, delta: Fraction
) -> tuple[int, Fraction]:
    """Count background rows; what is in doubt is counted again with all its digits."""
    total = seen.background.total
    needed = math.ceil(delta * total)
    kept, unsure = kept_along(seen.rows, order, seen.doubt, needed, at)
    for k in np.flatnonzero(unsure):
        kept[k] = seen.weight(order[:k].tolist())
    return int(np.flatnonzero(kept >= needed)[0]), Fraction(int(kept[at]), total)


def _along_spectra(
    model: AnyModel,
    rows: Row,
    orders: NDArray[np.intp],
    at: NDArray[np.int64],
    delta: Fraction,
    distribution: Distribution,
    lengths: Lengths,
) -> NDArray[np.bool_]:
    """Fill in the rows that spectra of all units decide, and tell which are left."""
    left = np.ones(len(rows), dtype=np.bool_)
    shared = _shared(model, rows, distribution)
    if shared is None or delta == 1:
        return left
    place = np.argsort(list(shared.positions))  # where each unit is in the head
    low, high = float_below(delta), min(math.nextafter(float_above(delta), 2.0), 1.0)
    for spectrum, walkers, some in _walks(shared, model, rows, left):
        order = np.ascontiguousarray(place[orders[some]][None]).astype(np.int64)
        found, bounds = np.full(len(some), -1), np.empty((len(some), 2))
        along(spectrum, walkers._replace(order=order), low, high, at[some], found, bounds)
        good = found >= 0
        if spectrum.degree < shared.degrees[-1]:
            good &= bounds[:, 1] - bounds[:, 0] <= _WIDE
        for j in np.flatnonzero(good):
            known = Enclosure.proved(float(bounds[j, 0]), float(bounds[j, 1]))
            lengths.write(int(some[j]), int(found[j]), known)
        left[some[good]] = False
    return left


def _one_by_one(
    model: AnyModel, row: Row, distribution: Distribution
) -> Callable[[list[int], Fraction | None], Enclosure]:
    """Return what encloses the guarantee of any set of a row's units."""
    if isinstance(model, ArgmaxModel):
        return RivalCosts(model, row, distribution).enclosure
    core = model.binary_core if isinstance(distribution, Uniform) else None
    if core is None:
        costs = Costs(contributions_of(model, distribution), row, distribution)
        return costs.enclosure
    instance = Instance(core, model.core_rows(row[None, :])[0])
    return lambda fixed, delta: enclose(instance.subset_sum(fixed), delta, TOL)
