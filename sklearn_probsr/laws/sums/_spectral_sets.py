"""Sets of one instance before a spectrum: quick verdicts, one product each (Proposition 24)."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection

import numpy as np

from sklearn_probsr.core.options import Task
from sklearn_probsr.core.scout import Verdict
from sklearn_probsr.core.view import Row
from sklearn_probsr.engines.sums._spectrum import set_bounds
from sklearn_probsr.laws.sums._spectra import Shared
from sklearn_probsr.model.numbers import floats_around

__all__ = ["spectral_verdict"]


def spectral_verdict(
    shared: Shared, row: Row, positive: bool, task: Task, exact: Callable[..., bool | None]
) -> Verdict:
    """Return what tells whether a set reaches delta: by a spectrum, or else as ``exact`` does."""
    seen = shared.outlook(row[None, :], positive)
    position = {u: j for j, u in enumerate(shared.broad)}
    if not seen.near[0] or not position.keys() >= set(task.include):
        return exact
    gain = seen.gain[0]
    # The rough one is cheap, and most sets are far from delta.
    rough = len(shared.positions) == len(position)
    spectra = [shared.spectrum(0)] if rough else [shared.wide]
    # The cut is moved to and fro while sets are gone through: twice the rounding.
    blur = 2 * float(seen.blur[0])
    free = np.ones(len(position), dtype=np.bool_)
    free[[position[u] for u in task.include]] = False
    cut = float(seen.cut[0]) - math.fsum(gain[list(task.include)])
    low, high = floats_around(task.delta)
    high = min(math.nextafter(high, 2.0), 1.0)

    def verdict(chosen: Collection[int]) -> bool | None:
        units = list(chosen)
        places = [position.get(u, -1) for u in units]
        if -1 in places:
            return exact(units)
        left = free.copy()
        left[places] = False
        at, beta = np.flatnonzero(left), cut - math.fsum(gain[units])
        for spectrum in spectra:
            lower, upper = set_bounds(spectrum, at, beta, blur)
            if positive:
                lower, upper = 1.0 - upper, 1.0 - lower
            if upper < low:
                return False
            if lower >= high:
                return True
        return exact(units)

    return verdict
