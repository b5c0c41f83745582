"""Sets that are listed: which of them may reach a level, by one spectrum.

What all of them leave free is multiplied once. A set is bounded at a low degree first (Lemma 72),
and by all nodes only where that leaves it open.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.core.jit import kernel
from sklearn_probsr.engines.sums._scene import Scene, always_free
from sklearn_probsr.engines.sums._spectrum import Spectrum, after, kept_at, multiply, roughened

__all__ = ["still_left"]


@kernel
def still_left(
    spectrum: Spectrum,
    scene: Scene,
    candidates: NDArray[np.int64],
    sets: NDArray[np.bool_],
    low: float,
) -> NDArray[np.bool_]:
    """Tell which sets, masks of candidates, are not surely below a level.

    What is forced in a scene is part of every set.
    """
    free = always_free(spectrum, scene, candidates)
    begun = free.begun
    rough, nodes = roughened(spectrum, begun.live)
    live = begun.live[:nodes]
    left = np.empty(len(sets), dtype=np.bool_)
    others = np.empty(len(candidates), dtype=np.int64)
    for i in range(len(sets)):
        product, beta, n = begun.product[:nodes].copy(), free.beta, 0
        for p in range(len(candidates)):
            if not sets[i, p]:
                multiply(product, spectrum.factors[candidates[p]], live, product)
                beta += scene.gain[candidates[p]]
                others[n] = candidates[p]
                n += 1
        lower, upper = kept_at(rough, product, live, beta, scene.blur, scene.positive)
        if lower < low <= upper and nodes < len(begun.live):
            sharp = after(spectrum, begun, others[:n])
            lower, upper = kept_at(
                spectrum, sharp.product, sharp.live, beta, scene.blur, scene.positive
            )
        left[i] = upper >= low
    return left
