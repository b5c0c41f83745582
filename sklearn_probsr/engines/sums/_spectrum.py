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

from sklearn_probsr.engines._jit import inner, kernel
from sklearn_probsr.engines.coins._vaaler import coefficients, sin_cos_turns

__all__ = [
    "DROPPED",
    "Begun",
    "Spectrum",
    "begin",
    "bounds_at",
    "bounds_from",
    "copy_nodes",
    "kept_at",
    "multiply",
    "narrowed",
    "roughened",
    "set_bounds",
    "shrink",
]

# A node is left out when it can move a bound by no more than this, over the square of the degree:
# each is left out once, so all of them together are a tenth of what a bound of that degree is wide
# anyway (Proposition 24). At a lower degree k a node weighs at most (K + 1) / (k + 1) times as
# much, which keeps the sum over its k nodes below a tenth of 1 / k as well.
DROPPED = 0.1
# The degree that tells most sets from a level.
ROUGH = 256


class Spectrum(NamedTuple):
    """The tables of one degree."""

    degree: int
    error: float
    slope: float
    node: NDArray[np.float64]
    sign: NDArray[np.float64]  # exp(pi i node): 1 or -1
    vaaler: NDArray[np.float64]
    fejer: NDArray[np.float64]
    rest: NDArray[np.float64]  # (nodes, 2): real and imaginary parts
    factors: NDArray[np.float64]  # (units, nodes, 2)


def narrowed(spectrum: Spectrum, head: int) -> Spectrum:
    """Return the spectrum whose head are the first so many units; the others go to the rest."""
    product, live = spectrum.rest.copy(), np.arange(len(spectrum.node))
    others = np.arange(head, len(spectrum.factors))
    live = live[: _narrow(spectrum, product, live, others)]
    product = np.ascontiguousarray(product[: len(live)])
    node, a, b = (part[live] for part in (spectrum.node, spectrum.vaaler, spectrum.fejer))
    return Spectrum(
        spectrum.degree,
        spectrum.error,
        2 + float(np.sum(4 * math.pi * node * (a + b) * np.hypot(*product.T))),
        node,
        spectrum.sign[live],
        a,
        b,
        product,
        np.ascontiguousarray(spectrum.factors[:head, live]),
    )


@inner
def multiply(
    product: NDArray[np.float64], factor: NDArray[np.float64], live: NDArray[np.int64]
) -> None:
    """Multiply complex numbers in place, by a unit's factor at the live nodes."""
    for i in range(len(live)):
        re = product[i, 0]
        im = product[i, 1]
        x = factor[live[i], 0]
        y = factor[live[i], 1]
        product[i, 0] = re * x - im * y
        product[i, 1] = re * y + im * x


@inner
def shrink(
    spectrum: Spectrum,
    product: NDArray[np.float64],
    live: NDArray[np.int64],
    units: NDArray[np.int64],
) -> int:
    """Multiply by the factors of some units, leaving out nodes on the way; return how many stay.

    A node leaves when it could no longer move a bound by much.
    """
    least = (DROPPED / (spectrum.degree * spectrum.degree)) ** 2
    kept = len(live)
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
            weight = 2.0 * (spectrum.vaaler[node] + spectrum.fejer[node])
            if weight * weight * (new_re * new_re + new_im * new_im) > least:
                product[n, 0] = new_re
                product[n, 1] = new_im
                live[n] = node
                n += 1
        kept = n
    return kept


@kernel
def _narrow(
    spectrum: Spectrum,
    product: NDArray[np.float64],
    live: NDArray[np.int64],
    units: NDArray[np.int64],
) -> int:
    return shrink(spectrum, product, live, units)


@inner
def bounds_at(
    spectrum: Spectrum,
    product: NDArray[np.float64],
    live: NDArray[np.int64],
    beta: float,
    blur: float,
) -> tuple[float, float]:
    """Bound ``Pr[Y <= beta]`` of a centred sum from its characteristic function."""
    if beta >= 0.5:
        return 1.0 - spectrum.error, 1.0
    if beta <= -0.5:
        return 0.0, spectrum.error
    middle = beta + 0.5
    radius = 1.0 / (spectrum.degree + 1.0) + spectrum.error + spectrum.slope * blur
    for i in range(len(live)):
        j = live[i]
        re = product[i, 0]
        im = product[i, 1]
        sine, cosine = sin_cos_turns(spectrum.node[j] * beta)
        middle += spectrum.vaaler[j] * (spectrum.sign[j] * im - (im * cosine - re * sine))
        radius += spectrum.fejer[j] * (spectrum.sign[j] * re + (re * cosine + im * sine))
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
    lower, upper = bounds_at(spectrum, product, live, beta, blur)
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
    while nodes < len(live) and spectrum.node[live[nodes]] <= ROUGH:
        nodes += 1
    if nodes == len(live):
        return spectrum, nodes
    vaaler, fejer = np.zeros(len(spectrum.node)), np.zeros(len(spectrum.node))
    for i in range(nodes):
        vaaler[live[i]], fejer[live[i]] = coefficients(spectrum.node[live[i]], ROUGH)
    error, slope = spectrum.error + DROPPED / ROUGH, 2.0 + 12.0 * ROUGH
    rough = Spectrum(
        ROUGH, error, slope, spectrum.node, spectrum.sign, vaaler, fejer, spectrum.rest,
        spectrum.factors,
    )  # fmt: skip
    return rough, nodes


class Begun(NamedTuple):
    """The product of the rest and some units' factors, and the nodes where it counts."""

    product: NDArray[np.float64]  # (nodes, 2)
    live: NDArray[np.int64]  # (nodes,)


@kernel
def begin(spectrum: Spectrum, units: NDArray[np.int64]) -> Begun:
    """Multiply the rest by the factors of units that many sets leave free."""
    product = spectrum.rest.copy()
    live = np.arange(len(product))
    kept = shrink(spectrum, product, live, units)
    return Begun(product[:kept].copy(), live[:kept].copy())


@kernel
def bounds_from(
    spectrum: Spectrum, begun: Begun, free: NDArray[np.int64], beta: float, blur: float
) -> tuple[float, float]:
    """Bound ``Pr[Y <= beta]`` when some units of the head are free, beside those begun with."""
    product, live = begun.product.copy(), begun.live.copy()
    kept = shrink(spectrum, product, live, free)
    return bounds_at(spectrum, product[:kept], live[:kept], beta, blur)


@kernel
def set_bounds(
    spectrum: Spectrum, free: NDArray[np.int64], beta: float, blur: float
) -> tuple[float, float]:
    """Bound ``Pr[Y <= beta]`` when some units of the head, and the rest, are free."""
    product = spectrum.rest.copy()
    live = np.arange(len(product))
    kept = shrink(spectrum, product, live, free)
    return bounds_at(spectrum, product[:kept], live[:kept], beta, blur)
