"""Rows of independent units, answered together on shared spectra.

Kernels go through many rows at once; a row's answer never depends on the other rows (Proposition
25). What they leave open is looked at row by row.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.core.answers import Found
from sklearn_probsr.core.law import Lengths
from sklearn_probsr.core.options import Task
from sklearn_probsr.core.view import Row, View
from sklearn_probsr.engines._level import MOST_MIXED, Level
from sklearn_probsr.engines.sums._along import along, measure
from sklearn_probsr.engines.sums._batch import Sets, stroll
from sklearn_probsr.engines.sums._spectrum import Spectrum
from sklearn_probsr.engines.sums._walkers import Walkers
from sklearn_probsr.laws._contributions import Contributions
from sklearn_probsr.laws.sums._costs import WIDE
from sklearn_probsr.laws.sums._promises import promises
from sklearn_probsr.laws.sums._refuter import Refuter
from sklearn_probsr.laws.sums._spectra import Shared
from sklearn_probsr.model._enclosure import Enclosure
from sklearn_probsr.model._exact import row_sums
from sklearn_probsr.model._linear import LinearModel

__all__ = ["follow_spectra", "score_spectra", "search_spectra"]

_CHUNK = 512
# Where the guarantee of a prefix is enclosed more widely, it is looked at again.
_WIDE = 5e-3


class Owner(Protocol):
    """The law that the rows stand before."""

    @property
    def linear(self) -> LinearModel:
        """The model."""

    @property
    def contributions(self) -> Contributions:
        """What each unit may add to the decision function."""

    def view(self, row: Row) -> View:
        """Return one instance before the law."""


def search_spectra(
    law: Owner,
    shared: Shared,
    rows: Row,
    positive: bool,
    at: NDArray[np.intp],
    task: Task,
    found: Found,
) -> dict[int, set[int]]:
    """Answer rows of one class that spectra decide; return sets of others from which to go on."""
    starts: dict[int, set[int]] = {}
    for first in range(0, len(at), _CHUNK):
        some = at[first : first + _CHUNK]
        refuter = Refuter(law.contributions, shared, rows[some], positive, task.of_rows(some))
        starts |= _search_together(law, refuter, some, found)
    return starts


def _search_together(
    law: Owner, refuter: Refuter, at: NDArray[np.intp], found: Found
) -> dict[int, set[int]]:
    """Answer the rows that spectra decide; return sets of the others from which to go on."""
    shared, positive, rows, task = refuter.shared, refuter.positive, refuter.rows, refuter.task
    units = np.array(list(shared.positions), dtype=np.intp)
    h, n = len(units), len(rows)
    gain, costly, gainful, cut, blur, near = refuter.outlook
    if any(u not in shared.positions for u in task.include):
        return {}  # they would have to be taken out of the rest
    missing = np.ones(shared.centre.shape, dtype=np.bool_)
    missing[units] = False
    forced_ones = np.isin(np.arange(len(missing)), task.include)
    signed = np.where(costly & (refuter.open_units | forced_ones), gain, 0.0)
    signed = signed if positive else -signed
    forced = np.isin(units, task.include)
    cut = cut - row_sums(gain[:, list(task.include)])
    member = costly[:, units] & refuter.open_units[:, units]
    order = _orders(shared, units, gain[:, units], member, positive)
    walkers = Walkers(
        np.full(n, positive), cut, blur, np.ascontiguousarray(gain[:, units]), forced, order,
        member.sum(axis=1), np.ascontiguousarray(gainful[:, units]),
    )  # fmt: skip
    left = np.flatnonzero(near)
    starts: dict[int, set[int]] = {}
    for degree in shared.searched:
        taken = walkers.take(left)
        m = len(left)
        sets = Sets(
            np.zeros((m, h), dtype=np.bool_), np.full(m, -1), np.zeros(m), np.ones(m),
            np.zeros(m, dtype=np.bool_),
        )  # fmt: skip
        stroll(shared.spectrum(degree), taken, refuter.level, sets)
        done = np.zeros(m, dtype=np.bool_)
        last = degree == shared.searched[-1]
        for higher in shared.degrees:
            if higher > degree:
                _sharpen(shared.spectrum, higher, taken, sets)
        for j in np.flatnonzero(sets.size >= 0):
            i = left[j]
            ranked = order[0, i]
            chosen = units[ranked[sets.mask[j, ranked]]].tolist()  # by mean cost
            if missing.any() and _leaves(signed[i], missing, len(chosen) - 1):
                continue  # one of the features with the largest mean cost was not looked at
            alone = task.most is not None and len(chosen) > task.most
            if not last and not sets.needed[j]:
                continue  # a higher degree may tell
            done[j] = True
            smaller = None
            if not alone and sets.needed[j]:
                enclosure = Enclosure.proved(float(sets.lower[j]), float(sets.upper[j]))
                smaller = _claim(law, refuter, int(i), chosen, enclosure, found, int(at[i]))
                if smaller is None:
                    continue
            starts[int(at[i])] = set(chosen) if smaller is None else smaller
        left = left[~done]
        if not len(left):
            break
    return starts


def _sharpen(
    spectrum: Callable[[int], Spectrum], degree: int, walkers: Walkers, sets: Sets
) -> None:
    """Bound the sets that are known too roughly once more, each whatever the others are.

    What is not known to be needed is searched again anyway.
    """
    wide = np.flatnonzero(sets.needed & (sets.size >= 0) & (sets.upper - sets.lower > WIDE))
    if len(wide):
        sharp = measure(spectrum(degree), walkers.take(wide), sets.mask[wide])
        sets.lower[wide] = np.maximum(sets.lower[wide], sharp[:, 0])
        sets.upper[wide] = np.minimum(sets.upper[wide], sharp[:, 1])


def _claim(
    law: Owner,
    refuter: Refuter,
    r: int,
    chosen: list[int],
    enclosure: Enclosure,
    found: Found,
    i: int,
) -> set[int] | None:
    """Write down a set from which nothing can be left out, or return one that is smaller."""
    effort, forced = refuter.task.effort, refuter.task.include
    mixed = np.count_nonzero(refuter.outlook.gainful[r, chosen])
    # No proper subset reaches the level, not even the empty one.
    word, least = ("subset-minimal", 1) if mixed <= MOST_MIXED else ("locally-minimal", 0)
    if effort.wanted and len(chosen) > least:
        proved, smaller = refuter.least(r, len(chosen), _verdict(law, refuter, r))
        if smaller is not None:
            return smaller
        least = max(least, proved)
    if len(chosen) <= least:
        word, least = "minimum", len(chosen)
    found.write(i, [*forced, *chosen], enclosure, word, len(forced) + least)
    return None


def _leaves(mean: NDArray[np.float64], missing: NDArray[np.bool_], size: int) -> bool:
    """Tell whether some of the ``size`` units with the largest mean cost are missing."""
    order = np.argsort(-mean, kind="stable")[: max(size, 0)]
    return bool((missing[order] & (mean[order] > 0)).any())


def _orders(
    shared: Shared,
    units: NDArray[np.intp],
    gain: NDArray[np.float64],
    member: NDArray[np.bool_],
    positive: bool,
) -> NDArray[np.int64]:
    """Return the members of every row, before the others, by decreasing promise."""
    mean = gain if positive else -gain
    widths = np.array([most - least for least, most in shared.ends], dtype=object)
    width = (widths[units] / shared.period).astype(np.float64)
    score = mean + (shared.centre[units] if positive else width - shared.centre[units])
    scale = np.maximum(np.where(member, mean, 0.0).max(axis=1, initial=0.0), 1e-300)[:, None]
    return np.stack(
        [
            np.argsort(np.where(member, -key, np.inf), axis=1, kind="stable")
            for key in promises(score, mean, shared.variance[units], scale)
        ]
    )


def _verdict(law: Owner, refuter: Refuter, r: int) -> Callable[[Collection[int]], bool | None]:
    """Return what tells with all engines whether a set of a row reaches the level."""
    task = refuter.task

    def verdict(chosen: Collection[int]) -> bool | None:
        known = law.view(refuter.rows[r]).enclose([*task.include, *chosen], task.delta)
        return (known >= task.delta).value

    return verdict


def follow_spectra(
    law: Owner,
    shared: Shared,
    rows: Row,
    orders: NDArray[np.intp],
    at: NDArray[np.int64],
    delta: Fraction,
    lengths: Lengths,
) -> NDArray[np.bool_]:
    """Fill in the rows that spectra of all units decide, and tell which are left."""
    left = np.ones(len(rows), dtype=np.bool_)
    place = np.argsort(list(shared.positions))  # where each unit is in the head
    level = Level.around(delta).passed
    for spectrum, walkers, some in _walks(shared, law.linear, rows, left):
        order = np.ascontiguousarray(place[orders[some]][None]).astype(np.int64)
        found, bounds = np.full(len(some), -1), np.empty((len(some), 2))
        along(spectrum, walkers._replace(order=order), level, at[some], found, bounds)
        good = found >= 0
        if spectrum.degree < shared.degrees[-1]:
            good &= bounds[:, 1] - bounds[:, 0] <= _WIDE
        for j in np.flatnonzero(good):
            known = Enclosure.proved(float(bounds[j, 0]), float(bounds[j, 1]))
            lengths.write(int(some[j]), int(found[j]), known)
        left[some[good]] = False
    return left


def score_spectra(
    law: Owner, shared: Shared, rows: Row, mask: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_]]:
    """Bound the guarantee of one set of units for every row, and tell which rows are left."""
    n = len(rows)
    lower, upper, left = np.zeros(n), np.ones(n), np.ones(n, dtype=np.bool_)
    for spectrum, walkers, some in _walks(shared, law.linear, rows, left):
        chosen = np.ascontiguousarray(mask[some][:, walkers.order[0, 0]])
        found = measure(spectrum, walkers, chosen)
        narrow = found[:, 1] - found[:, 0] <= _WIDE
        for i, (low, high) in zip(some[narrow], found[narrow].tolist(), strict=True):
            known = Enclosure.proved(low, high)
            lower[i], upper[i] = known.lower, known.upper
        left[some[narrow]] = False
    return lower, upper, left


def _walks(
    shared: Shared, model: LinearModel, rows: Row, left: NDArray[np.bool_]
) -> Iterator[tuple[Spectrum, Walkers, NDArray[np.intp]]]:
    """Return each spectrum, the rough one first, with the rows of a class that are left by then.

    Their order is that of the head. Spectra are built only when they are needed.
    """
    positive = model.is_positive(rows)
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
                np.full(m, side), look.cut[near], look.blur[near],
                np.ascontiguousarray(look.gain[near][:, units]),
                np.zeros(h, dtype=np.bool_), np.tile(units, (1, m, 1)),
                np.full(m, h), np.zeros((m, 1), dtype=np.bool_),
            )  # fmt: skip
            if m:
                yield shared.spectrum(degree), walkers, some[near]
