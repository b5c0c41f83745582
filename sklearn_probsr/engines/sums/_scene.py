"""A row before a spectrum, as proofs read it: its cut, and what fixing each unit gains."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.core.jit import inner
from sklearn_probsr.engines.sums._spectrum import Begun, Spectrum, after, untouched

__all__ = ["Free", "Scene", "always_free"]


class Scene(NamedTuple):
    """A row before a spectrum: positions are those in the spectrum's head.

    ``cut`` is where the cut is when nothing is fixed, in turns, up to ``blur``; ``gain`` is how far
    fixing a unit moves it.
    """

    gain: NDArray[np.float64]  # (head,)
    variance: NDArray[np.float64]  # (head,)
    forced: NDArray[np.bool_]  # (head,)
    cut: float
    blur: float
    positive: bool


class Free(NamedTuple):
    """What no set fixes: the product of its factors, and its variance.

    With the cut, which is that with all candidates fixed.
    """

    begun: Begun
    beta: float
    variance: float


@inner
def always_free(spectrum: Spectrum, scene: Scene, candidates: NDArray[np.int64]) -> Free:
    """Return what no set of some candidates fixes."""
    h = len(scene.gain)
    chosen = np.empty(h, dtype=np.bool_)
    for u in range(h):
        chosen[u] = scene.forced[u]
    for i in range(len(candidates)):
        chosen[candidates[i]] = True
    free = np.empty(h, dtype=np.int64)
    n = 0
    beta = scene.cut
    variance = 0.0
    for u in range(h):
        if chosen[u]:
            beta -= scene.gain[u]
        else:
            free[n] = u
            n += 1
            variance += scene.variance[u]
    return Free(after(spectrum, untouched(spectrum), free[:n]), beta, variance)
