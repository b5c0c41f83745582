"""A grid of cuts: bounds of distribution functions along it, and how far they bend between points.

It serves to compare candidates before what is always free (Lemma 30).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.engines._jit import inner
from sklearn_probsr.engines.coins._vaaler import sin_cos_turns
from sklearn_probsr.engines.sums._scene import Scene
from sklearn_probsr.engines.sums._spectrum import Spectrum

__all__ = ["POINTS", "ROUNDED", "bend", "tabulate", "turn"]

# Points at which distribution functions are bounded.
POINTS = 96
# Every so many points, angles are computed anew; between them they are turned on.
TURNED_ON = 16
# More than what bounds on the grid are rounded by (Lemma 30).
ROUNDED = 1e-11


class _Turned(NamedTuple):
    """The product of each candidate, free, with what is always free, turned to one cut.

    The bounds at a cut t further are ``base + t`` and the sum of the nodes' terms, ``+-`` the
    ``sway`` and that of theirs (Corollary 19, with a complex product).
    """

    node: NDArray[np.float64]  # (nodes,)
    vaaler: NDArray[np.float64]  # (nodes,)
    fejer: NDArray[np.float64]  # (nodes,)
    real: NDArray[np.float64]  # (n, nodes)
    imaginary: NDArray[np.float64]  # (n, nodes)
    base: NDArray[np.float64]  # (n,)
    sway: NDArray[np.float64]  # (n,)


@inner
def turn(
    spectrum: Spectrum,
    scene: Scene,
    candidates: NDArray[np.int64],
    product: NDArray[np.float64],
    live: NDArray[np.int64],
    start: float,
) -> _Turned:
    """Multiply by each candidate's factor, and turn the product back by its gain."""
    n, nodes = len(candidates), len(live)
    turned = _Turned(
        np.empty(nodes),
        np.empty(nodes),
        np.empty(nodes),
        np.empty((n, nodes)),
        np.empty((n, nodes)),
        np.empty(n),
        np.empty(n),
    )
    for i in range(nodes):
        turned.node[i] = spectrum.node[live[i]]
        turned.vaaler[i], turned.fejer[i] = spectrum.vaaler[live[i]], spectrum.fejer[live[i]]
    for c in range(n):
        factor = spectrum.factors[candidates[c]]
        gain = scene.gain[candidates[c]]
        base = 0.5 + start + gain
        # Twice the error of a bound (Proposition 24): products are turned once more.
        sway = 1.0 / (spectrum.degree + 1.0) + 2.0 * spectrum.error + spectrum.slope * scene.blur
        for i in range(nodes):
            x, y = factor[live[i], 0], factor[live[i], 1]
            re = product[i, 0] * x - product[i, 1] * y
            im = product[i, 0] * y + product[i, 1] * x
            base += turned.vaaler[i] * spectrum.sign[live[i]] * im
            sway += turned.fejer[i] * spectrum.sign[live[i]] * re
            sine, cosine = sin_cos_turns(turned.node[i] * gain)
            turned.real[c, i] = re * cosine + im * sine
            turned.imaginary[c, i] = im * cosine - re * sine
        turned.base[c], turned.sway[c] = base, sway
    return turned


@inner
def _angles(
    node: NDArray[np.float64], start: float, step: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return sines and cosines of every node at every point, most of them turned on (Lemma 30)."""
    nodes = len(node)
    sines = np.empty((POINTS, nodes))
    cosines = np.empty((POINTS, nodes))
    by_sine = np.empty(nodes)
    by_cosine = np.empty(nodes)
    for i in range(nodes):
        by_sine[i], by_cosine[i] = sin_cos_turns(node[i] * step)
    for g in range(POINTS):
        if g % TURNED_ON == 0:
            for i in range(nodes):
                sines[g, i], cosines[g, i] = sin_cos_turns(node[i] * (start + g * step))
        else:
            for i in range(nodes):
                x, y = cosines[g - 1, i], sines[g - 1, i]
                cosines[g, i] = x * by_cosine[i] - y * by_sine[i]
                sines[g, i] = x * by_sine[i] + y * by_cosine[i]
    return sines, cosines


@inner
def tabulate(
    turned: _Turned, start: float, step: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Bound distribution functions along a grid of cuts, each with one candidate free."""
    n, nodes = turned.real.shape
    sines, cosines = _angles(turned.node, start, step)
    lower = np.empty((n, POINTS))
    upper = np.empty((n, POINTS))
    a_re, a_im = np.empty(nodes), np.empty(nodes)
    b_re, b_im = np.empty(nodes), np.empty(nodes)
    for c in range(n):
        for i in range(nodes):
            re, im = turned.real[c, i], turned.imaginary[c, i]
            a_re[i], a_im[i] = turned.vaaler[i] * re, turned.vaaler[i] * im
            b_re[i], b_im[i] = turned.fejer[i] * re, turned.fejer[i] * im
        for g in range(POINTS):
            middle = turned.base[c] + g * step
            radius = turned.sway[c]
            for i in range(nodes):
                middle += a_re[i] * sines[g, i] - a_im[i] * cosines[g, i]
                radius += b_re[i] * cosines[g, i] + b_im[i] * sines[g, i]
            lower[c, g] = middle - radius
            upper[c, g] = middle + radius
    return lower, upper


@inner
def bend(turned: _Turned) -> NDArray[np.float64]:
    """Bound second derivatives: those of two candidates' bounds differ by at most the sum.

    The bounds are trigonometric polynomials: between two points of the grid they are no further
    from their chord than step^2 / 8 times the largest second derivative (Lemma 30). Vaaler's parts
    are taken as distances from their mean, which the difference of two does not hold.
    """
    n, nodes = turned.real.shape
    found = np.zeros(n)
    for i in range(nodes):
        x = 0.0
        y = 0.0
        for c in range(n):
            x += turned.real[c, i] / n
            y += turned.imaginary[c, i] / n
        speed = 2.0 * math.pi * turned.node[i]
        for c in range(n):
            re, im = turned.real[c, i], turned.imaginary[c, i]
            away = math.sqrt((re - x) ** 2 + (im - y) ** 2)
            whole = math.sqrt(re**2 + im**2)
            found[c] += speed * speed * (turned.vaaler[i] * away + turned.fejer[i] * whole)
    return found
