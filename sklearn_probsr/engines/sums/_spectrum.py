"""Spectra: what the Fourier engine computes once for all rows, over independent units.

The sum ``Y`` of the random contributions does not depend on the row, except for what is fixed.
Every unit's factor ``E[exp(2 pi i k (C_u - E C_u) / P)]`` is tabulated at the nodes k, and a set
costs one product of the factors of its free units. Units that no small reason holds (the *rest*)
are multiplied once and for all, and nodes where their product is negligible are dropped for good.
Whatever is multiplied next, a product only shrinks: a node where it has become negligible can be
left out of all that follows.

Factors are centred, so that the window is ``[-1/2, 1/2]`` for every set, and only the cut turns.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.engines._jit import inner, kernel
from sklearn_probsr.engines.coins._fourier import (
    TAIL,
    TRIG_ERROR,
    coefficient_table,
    sin_cos_turns,
)

__all__ = [
    "Law",
    "Spectrum",
    "build_spectrum",
    "copy_nodes",
    "kept_at",
    "multiply",
    "narrowed",
    "set_bounds",
    "shrink",
]

_NEGLIGIBLE = 1e-13
_UNIT = 2.0**-53
# A node is left out when it can move a bound by no more than this, over the square of the degree:
# each is left out once, so all of them together are a tenth of what a bound of that degree is wide
# anyway. At a lower degree k a node weighs at most (K + 1) / (k + 1) times as much, which keeps the
# sum over its k nodes below a tenth of 1 / k as well.
_DROPPED = 0.1
# Laws with more atoms than this are tabulated by a product of matrices, so many nodes a row.
_FEW_ATOMS = 12
_BLOCK = 256


class Law(NamedTuple):
    """A centred random contribution: its values in turns of the period, and their chances."""

    turns: NDArray[np.float64]
    chances: NDArray[np.float64]


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


def build_spectrum(head: list[Law], rest: list[Law], degree: int, most_cells: int) -> Spectrum:
    """Tabulate the factors of the head, at the nodes that the rest leaves.

    The degree is halved until the table has no more cells than that: a rest of a few units leaves
    nearly all nodes.
    """
    # Rounded once, whatever their number: the budget has no factor for it.
    shift = math.fsum(law.turns[0] for law in rest)
    products = _products(*_flat(rest), shift, degree) if rest else np.tile([1.0, 0.0], (degree, 1))
    bound = np.hypot(*products.T)
    live = _live(bound, degree, bool(rest))
    while len(live) * len(head) > most_cells and degree > 1:
        degree //= 2
        live = _live(bound[:degree], degree, bool(rest))
    node = (live + 1).astype(np.float64)
    vaaler, fejer = coefficient_table(node, degree)
    atoms = sum(len(law.turns) for law in head + rest)
    reach = sum(2 * float(np.abs(law.turns).max()) for law in head + rest)
    log = 0.8 * math.log(degree + 1.0) + 5.0
    factor_error = len(head + rest) * 2 * TRIG_ERROR + 4 * atoms * _UNIT + _NEGLIGIBLE
    error = log * factor_error + degree * _UNIT * (40 * (reach + 1) + 8 * log)
    return Spectrum(
        degree,
        error + TAIL + _DROPPED / degree,
        2 + float(np.sum(4 * math.pi * node * (vaaler + fejer) * bound[live])),
        node,
        np.where(node % 2 == 0, 1.0, -1.0),
        vaaler,
        fejer,
        np.ascontiguousarray(products[live]),
        np.stack([_factors(law, live, degree) for law in head]),
    )


def _live(bound: NDArray[np.float64], degree: int, dropping: bool) -> NDArray[np.intp]:
    """Return the nodes that can move a bound by enough, counted from 0."""
    live = np.flatnonzero(bound > 0)
    if not dropping:
        return live
    vaaler, fejer = coefficient_table((live + 1).astype(np.float64), degree)
    return live[2 * (vaaler + fejer) * bound[live] > _DROPPED / degree**2]


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


def _flat(
    laws: list[Law],
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    starts = np.cumsum([0, *(len(law.turns) for law in laws)])
    turns = np.concatenate([law.turns for law in laws])
    return starts, turns, np.concatenate([law.chances for law in laws])


def _factors(law: Law, live: NDArray[np.intp], degree: int) -> NDArray[np.float64]:
    """Return a law's factor at the live nodes."""
    if len(law.turns) <= _FEW_ATOMS:
        return _few_factors(law.turns, law.chances, (live + 1).astype(np.float64))
    # e((b B + j) t) = e(b B t) e(j t): one product of two thin matrices gives every node.
    blocks = np.arange(degree // _BLOCK + 1)
    coarse = _circle(blocks[:, None] * float(_BLOCK) * law.turns)
    fine = _circle(law.turns[:, None] * np.arange(float(_BLOCK))) * law.chances[:, None]
    parts = (np.ascontiguousarray(p) for m in (coarse, fine) for p in (m.real, m.imag))
    return _times(*parts).reshape(-1, 2)[live + 1]


def _circle(turns: NDArray[np.float64]) -> NDArray[np.complex128]:
    angle = 2 * math.pi * (turns - np.rint(turns))
    found: NDArray[np.complex128] = np.cos(angle) + 1j * np.sin(angle)
    return found


@kernel
def _times(
    a_re: NDArray[np.float64],
    a_im: NDArray[np.float64],
    b_re: NDArray[np.float64],
    b_im: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Multiply two complex matrices, always in the same order.

    The digits of a product by BLAS depend on how many threads it has, which jobs do not have alike.
    """
    n, m = a_re.shape[0], b_re.shape[1]
    out = np.empty((n, m, 2))
    re = np.empty(m)
    im = np.empty(m)
    for i in range(n):
        for j in range(m):
            re[j] = 0.0
            im[j] = 0.0
        for k in range(a_re.shape[1]):
            x = a_re[i, k]
            y = a_im[i, k]
            for j in range(m):
                re[j] += x * b_re[k, j] - y * b_im[k, j]
                im[j] += x * b_im[k, j] + y * b_re[k, j]
        for j in range(m):
            out[i, j, 0] = re[j]
            out[i, j, 1] = im[j]
    return out


@kernel
def _few_factors(
    turns: NDArray[np.float64], chances: NDArray[np.float64], nodes: NDArray[np.float64]
) -> NDArray[np.float64]:
    out = np.zeros((len(nodes), 2))
    for i in range(len(nodes)):
        for j in range(len(turns)):
            sine, cosine = sin_cos_turns(nodes[i] * turns[j])
            out[i, 0] += chances[j] * cosine
            out[i, 1] += chances[j] * sine
    return out


@kernel
def _products(
    starts: NDArray[np.int64],
    turns: NDArray[np.float64],
    chances: NDArray[np.float64],
    shift: float,
    degree: int,
) -> NDArray[np.float64]:
    """Return the product of some laws' factors at every node; 0 once it is negligible.

    ``shift`` is the sum of each law's first value, which does not turn here.
    """
    out = np.zeros((degree, 2))
    for k in range(1, degree + 1):
        im, re = sin_cos_turns(k * shift)
        for u in range(len(starts) - 1):
            first = turns[starts[u]]
            x = chances[starts[u]]
            y = 0.0
            for i in range(starts[u] + 1, starts[u + 1]):
                sine, cosine = sin_cos_turns(k * (turns[i] - first))
                x += chances[i] * cosine
                y += chances[i] * sine
            re, im = re * x - im * y, re * y + im * x
            if re * re + im * im < _NEGLIGIBLE * _NEGLIGIBLE:
                re = 0.0
                im = 0.0
                break
        out[k - 1, 0] = re
        out[k - 1, 1] = im
    return out


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
    least = (_DROPPED / (spectrum.degree * spectrum.degree)) ** 2
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


@kernel
def set_bounds(
    spectrum: Spectrum, free: NDArray[np.int64], beta: float, blur: float
) -> tuple[float, float]:
    """Bound ``Pr[Y <= beta]`` when some units of the head, and the rest, are free."""
    product = spectrum.rest.copy()
    live = np.arange(len(product))
    kept = shrink(spectrum, product, live, free)
    return bounds_at(spectrum, product[:kept], live[:kept], beta, blur)
