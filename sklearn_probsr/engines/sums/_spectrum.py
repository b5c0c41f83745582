"""Spectra: a table of independent units' factors, and the bounds that a set gets from it.

The sum ``Y`` of the random contributions does not depend on the row, except for what is fixed.
Every unit's factor ``E[exp(2 pi i k (C_u - E C_u) / P)]`` is tabulated at the nodes k, and a set
costs one product of the factors of its free units (Proposition 24). Whatever is multiplied next, a
product only shrinks: a node where it has become negligible can be left out of all that follows.

Factors are centred, so that the window is ``[-1/2, 1/2]`` for every set, and only the cut turns.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.core.jit import inner, kernel
from sklearn_probsr.engines.sums._far import NOTHING, moved
from sklearn_probsr.independent.vaaler import coefficients, sin_cos_turns

__all__ = [
    "DROPPED",
    "FEJER",
    "NODE",
    "SIGN",
    "VAALER",
    "Begun",
    "Spectrum",
    "after",
    "begin",
    "bounds_from",
    "copy_nodes",
    "kept_at",
    "multiply",
    "narrowed",
    "roughened",
    "set_bounds",
    "untouched",
    "with_signs",
]

# A node is left out when it can move a bound by no more than this, over the square of the degree:
# each is left out once, so all of them together are a tenth of what a bound of that degree is wide
# anyway (Proposition 24). At a lower degree k a node weighs at most (K + 1) / (k + 1) times as
# much, which keeps the sum over its k nodes below a tenth of 1 / k as well.
DROPPED = 0.1
# The degree that tells most sets from a level.
ROUGH = 256


# The columns of a spectrum's nodes: the node k, exp(pi i k), and its coefficients.
NODE, SIGN, VAALER, FEJER = range(4)


class Spectrum(NamedTuple):
    """The tables of one degree."""

    degree: int
    error: float
    slope: float
    nodes: NDArray[np.float64]  # (nodes, 4)
    rest: NDArray[np.float64]  # (nodes, 2): real and imaginary parts
    factors: NDArray[np.float64]  # (units, nodes, 2)
    far: NDArray[np.float64] = NOTHING  # what moved values change, see `far_table`


def with_signs(
    node: NDArray[np.float64], vaaler: NDArray[np.float64], fejer: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the nodes of a spectrum."""
    return np.column_stack([node, np.where(node % 2 == 0, 1.0, -1.0), vaaler, fejer])


def narrowed(spectrum: Spectrum, head: int) -> Spectrum:
    """Return the spectrum whose head are the first so many units; the others go to the rest."""
    product, live = begin(spectrum, np.arange(head, len(spectrum.factors)))
    nodes = spectrum.nodes[live]
    speed = 4 * math.pi * nodes[:, NODE] * (nodes[:, VAALER] + nodes[:, FEJER])
    return Spectrum(
        spectrum.degree,
        spectrum.error,
        2 + float(np.sum(speed * np.hypot(*product.T))),
        nodes,
        product,
        np.ascontiguousarray(spectrum.factors[:head, live]),
        spectrum.far,
    )


@inner
def multiply(
    product: NDArray[np.float64],
    factor: NDArray[np.float64],
    live: NDArray[np.int64],
    out: NDArray[np.float64],
) -> None:
    """Multiply complex numbers by a unit's factor at the live nodes; in place, if that is out."""
    for i in range(len(live)):
        re = product[i, 0]
        im = product[i, 1]
        x = factor[live[i], 0]
        y = factor[live[i], 1]
        out[i, 0] = re * x - im * y
        out[i, 1] = re * y + im * x


class Begun(NamedTuple):
    """The product of the rest and some units' factors, and the nodes where it counts."""

    product: NDArray[np.float64]  # (nodes, 2)
    live: NDArray[np.int64]  # (nodes,)


@inner
def untouched(spectrum: Spectrum) -> Begun:
    """Return the rest alone."""
    live = np.empty(len(spectrum.nodes), dtype=np.int64)
    for i in range(len(live)):
        live[i] = i
    return Begun(spectrum.rest, live)


@inner
def after(spectrum: Spectrum, begun: Begun, units: NDArray[np.int64]) -> Begun:
    """Multiply by the factors of some units, leaving out nodes on the way, in arrays of its own.

    A node leaves when it could no longer move a bound by much.
    """
    tiny = DROPPED / (spectrum.degree * spectrum.degree)
    least = tiny * tiny
    kept = len(begun.live)
    product, live = np.empty((kept, 2)), np.empty(kept, dtype=np.int64)
    copy_nodes(begun.product, product)
    for i in range(kept):
        live[i] = begun.live[i]
    for a in range(len(units)):
        factor = spectrum.factors[units[a]]
        n = 0
        for i in range(kept):
            node = live[i]
            re = product[i, 0]
            im = product[i, 1]
            x = factor[node, 0]
            y = factor[node, 1]
            new_re = re * x - im * y
            new_im = re * y + im * x
            weight = 2.0 * (spectrum.nodes[node, VAALER] + spectrum.nodes[node, FEJER])
            if weight * weight * (new_re * new_re + new_im * new_im) > least:
                product[n, 0] = new_re
                product[n, 1] = new_im
                live[n] = node
                n += 1
        kept = n
    return Begun(product[:kept], live[:kept])


@inner
def _bounds_at(
    spectrum: Spectrum,
    product: NDArray[np.float64],
    live: NDArray[np.int64],
    beta: float,
    blur: float,
) -> tuple[float, float]:
    """Bound ``Pr[Y <= beta]`` of a centred sum from its characteristic function."""
    error = spectrum.error + moved(spectrum.far, abs(beta) + blur)
    if beta >= 0.5:
        return 1.0 - error, 1.0
    if beta <= -0.5:
        return 0.0, error
    middle = beta + 0.5
    radius = 1.0 / (spectrum.degree + 1.0) + error + spectrum.slope * blur
    for i in range(len(live)):
        node = spectrum.nodes[live[i]]
        re = product[i, 0]
        im = product[i, 1]
        sine, cosine = sin_cos_turns(node[NODE] * beta)
        middle += node[VAALER] * (node[SIGN] * im - (im * cosine - re * sine))
        radius += node[FEJER] * (node[SIGN] * re + (re * cosine + im * sine))
    return max(middle - radius, 0.0), min(middle + radius, 1.0)


@inner
def kept_at(
    spectrum: Spectrum,
    product: NDArray[np.float64],
    live: NDArray[np.int64],
    beta: float,
    blur: float,
    positive: bool,
) -> tuple[float, float]:
    """Bound the probability that the class is kept."""
    lower, upper = _bounds_at(spectrum, product, live, beta, blur)
    if positive:
        return 1.0 - upper, 1.0 - lower
    return lower, upper


@inner
def copy_nodes(source: NDArray[np.float64], target: NDArray[np.float64]) -> None:
    """Copy complex numbers, one for each node."""
    for i in range(len(source)):
        target[i, 0] = source[i, 0]
        target[i, 1] = source[i, 1]


@inner
def roughened(spectrum: Spectrum, live: NDArray[np.int64]) -> tuple[Spectrum, int]:
    """Return the spectrum at a low degree, and how many of some nodes that has (Lemma 72).

    All of them: then it is the spectrum itself.
    """
    nodes = 0
    while nodes < len(live) and spectrum.nodes[live[nodes], NODE] <= ROUGH:
        nodes += 1
    if nodes == len(live):
        return spectrum, nodes
    table = np.empty((live[nodes - 1] + 1 if nodes else 0, 4))
    for i in range(nodes):
        node = spectrum.nodes[live[i]]
        table[live[i], NODE], table[live[i], SIGN] = node[NODE], node[SIGN]
        table[live[i], VAALER], table[live[i], FEJER] = coefficients(node[NODE], ROUGH)
    error, slope = spectrum.error + DROPPED / ROUGH, 2.0 + 12.0 * ROUGH
    rough = Spectrum(ROUGH, error, slope, table, spectrum.rest, spectrum.factors, spectrum.far)
    return rough, nodes


def begin(spectrum: Spectrum, units: NDArray[np.int64]) -> Begun:
    """Multiply the rest by the factors of units that many sets leave free."""
    product, live = _begin(spectrum, units)
    return Begun(product.copy(), live.copy())  # without what held the nodes that left


@kernel
def _begin(spectrum: Spectrum, units: NDArray[np.int64]) -> Begun:
    return after(spectrum, untouched(spectrum), units)


@kernel
def bounds_from(
    spectrum: Spectrum, begun: Begun, free: NDArray[np.int64], beta: float, blur: float
) -> tuple[float, float]:
    """Bound ``Pr[Y <= beta]`` when some units of the head are free, beside those begun with."""
    product, live = after(spectrum, begun, free)
    return _bounds_at(spectrum, product, live, beta, blur)


@kernel
def set_bounds(
    spectrum: Spectrum, free: NDArray[np.int64], beta: float, blur: float
) -> tuple[float, float]:
    """Bound ``Pr[Y <= beta]`` when some units of the head, and the rest, are free."""
    product, live = after(spectrum, untouched(spectrum), free)
    return _bounds_at(spectrum, product, live, beta, blur)
