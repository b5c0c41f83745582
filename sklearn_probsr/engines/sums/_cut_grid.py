"""A grid of cuts: bounds of distribution functions along it, and how far they bend between points.

It serves to compare candidates before what is always free (Lemma 30).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.core.jit import inner
from sklearn_probsr.engines.sums._far import moved
from sklearn_probsr.engines.sums._scene import Scene
from sklearn_probsr.engines.sums._spectrum import (
    FEJER,
    NODE,
    SIGN,
    VAALER,
    Begun,
    Spectrum,
)
from sklearn_probsr.independent.vaaler import sin_cos_turns

__all__ = ["POINTS", "ROUNDED", "Ends", "tabulate"]

# Points at which distribution functions are bounded.
POINTS = 96
# Every so many points, angles are computed anew; between them they are turned on.
TURNED_ON = 16
# More than what bounds on the grid are rounded by (Lemma 30).
ROUNDED = 1e-11


class Ends(NamedTuple):
    """The first cut of a grid, and the step to the next."""

    start: float
    step: float


@inner
def _angles(
    spectrum: Spectrum, live: NDArray[np.int64], ends: Ends
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return sines and cosines of every node at every point, most of them turned on (Lemma 30)."""
    nodes = len(live)
    sines, cosines = np.empty((POINTS, nodes)), np.empty((POINTS, nodes))
    by = np.empty((2, nodes))
    for i in range(nodes):
        by[0, i], by[1, i] = sin_cos_turns(spectrum.nodes[live[i], NODE] * ends.step)
    for g in range(POINTS):
        if g % TURNED_ON == 0:
            cut = ends.start + g * ends.step
            for i in range(nodes):
                sines[g, i], cosines[g, i] = sin_cos_turns(spectrum.nodes[live[i], NODE] * cut)
        else:
            for i in range(nodes):
                x, y = cosines[g - 1, i], sines[g - 1, i]
                cosines[g, i] = x * by[1, i] - y * by[0, i]
                sines[g, i] = x * by[0, i] + y * by[1, i]
    return sines, cosines


@inner
def tabulate(
    spectrum: Spectrum, scene: Scene, candidates: NDArray[np.int64], begun: Begun, ends: Ends
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Bound distribution functions along a grid of cuts, each with one candidate free.

    Returns the lower and upper bounds at every point, and how far the functions bend. The product
    with a candidate's factor is turned back by its gain; the bounds at a cut t further are the base
    and t and the sum of the nodes' terms, ``+-`` the sway and that of theirs (Corollary 19, with a
    complex product).
    """
    n, nodes = len(candidates), len(begun.live)
    sines, cosines = _angles(spectrum, begun.live, ends)
    bounds, turned = np.empty((2, n, POINTS)), np.empty((n, nodes, 2))
    waves = np.empty((4, nodes))
    for c in range(n):
        factor, gain = spectrum.factors[candidates[c]], scene.gain[candidates[c]]
        base = 0.5 + ends.start + gain
        # Twice the error of a bound (Proposition 24): products are turned once more.
        sway = 1.0 / (spectrum.degree + 1.0) + 2.0 * spectrum.error + spectrum.slope * scene.blur
        start = ends.start + gain
        size = max(abs(start), abs(start + (POINTS - 1) * ends.step))
        sway += moved(spectrum.far, size * (1.0 + ROUNDED) + scene.blur)
        for i in range(nodes):
            node = spectrum.nodes[begun.live[i]]
            x, y = factor[begun.live[i], 0], factor[begun.live[i], 1]
            re = begun.product[i, 0] * x - begun.product[i, 1] * y
            im = begun.product[i, 0] * y + begun.product[i, 1] * x
            base += node[VAALER] * node[SIGN] * im
            sway += node[FEJER] * node[SIGN] * re
            sine, cosine = sin_cos_turns(node[NODE] * gain)
            x, y = re * cosine + im * sine, im * cosine - re * sine
            turned[c, i, 0], turned[c, i, 1] = x, y
            waves[0, i], waves[1, i] = node[VAALER] * x, node[VAALER] * y
            waves[2, i], waves[3, i] = node[FEJER] * x, node[FEJER] * y
        for g in range(POINTS):
            middle, radius = base + g * ends.step, sway
            for i in range(nodes):
                middle += waves[0, i] * sines[g, i] - waves[1, i] * cosines[g, i]
                radius += waves[2, i] * cosines[g, i] + waves[3, i] * sines[g, i]
            bounds[0, c, g], bounds[1, c, g] = middle - radius, middle + radius
    return bounds, _bend(spectrum, begun.live, turned)


@inner
def _bend(
    spectrum: Spectrum, live: NDArray[np.int64], turned: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Bound second derivatives: those of two candidates' bounds differ by at most the sum.

    The bounds are trigonometric polynomials: between two points of the grid they are no further
    from their chord than step^2 / 8 times the largest second derivative (Lemma 30). Vaaler's parts
    are taken as distances from their mean, which the difference of two does not hold.
    """
    n = len(turned)
    found = np.empty(n)
    for c in range(n):
        found[c] = 0.0
    for i in range(len(live)):
        node = spectrum.nodes[live[i]]
        x = 0.0
        y = 0.0
        for c in range(n):
            x += turned[c, i, 0] / n
            y += turned[c, i, 1] / n
        speed = 2.0 * math.pi * node[NODE]
        for c in range(n):
            re, im = turned[c, i, 0], turned[c, i, 1]
            away = math.sqrt((re - x) * (re - x) + (im - y) * (im - y))
            whole = math.sqrt(re * re + im * im)
            found[c] += speed * speed * (node[VAALER] * away + node[FEJER] * whole)
    return found
