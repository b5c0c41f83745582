"""Spectra: what the Fourier engine computes once for all rows, over independent units.

The sum ``Y`` of the random contributions does not depend on the row, except for what is fixed.
Every unit's factor ``E[exp(2 pi i k (C_u - E C_u) / P)]`` is tabulated at the nodes k, and a set
costs one product of the factors of its free units. Units that no small reason holds (the *rest*)
are multiplied once and for all. If at most ``kappa`` units are ever fixed, the product at a node is
at most that of all but the ``kappa`` smallest factors: nodes where that is negligible are dropped
for good, and for smooth sums few are left.

Factors are centred, so that the window is ``[-1/2, 1/2]`` for every set, and only the cut turns.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.engines._fourier import (
    TAIL,
    TRIG_ERROR,
    coefficient_table,
    sin_cos_turns,
)
from sklearn_probsr.engines._jit import inner, kernel

__all__ = ["Law", "Spectrum", "bounds_at", "build_spectra", "multiply", "set_bounds"]

_NEGLIGIBLE = 1e-13
_UNIT = 2.0**-53
# What the nodes that are dropped may add to the width of a bound.
_MOST_DROPPED = 1e-7
# Laws with more atoms than this are tabulated by a product of matrices.
_FEW_ATOMS = 12
_BLOCK = 256


class Law(NamedTuple):
    """A centred random contribution: its values in turns of the period, and their chances."""

    turns: NDArray[np.float64]
    chances: NDArray[np.float64]


class Spectrum(NamedTuple):
    """The tables for sets of at most ``most`` units."""

    most: int
    degree: int
    error: float
    slope: float
    node: NDArray[np.float64]
    sign: NDArray[np.float64]  # exp(pi i node): 1 or -1
    vaaler: NDArray[np.float64]
    fejer: NDArray[np.float64]
    rest: NDArray[np.float64]  # (nodes, 2): real and imaginary parts
    factors: NDArray[np.float64]  # (units, nodes, 2)


def build_spectra(
    head: list[Law], rest: list[Law], degree: int, sizes: list[int]
) -> list[Spectrum]:
    """Tabulate the factors of the head; one spectrum for each number of fixed units."""
    node = np.arange(1.0, degree + 1)
    vaaler, fejer = coefficient_table(node, degree)
    products = _products(*_flat(rest), degree) if rest else np.tile([1.0, 0.0], (degree, 1))
    weight = 2 * (vaaler + fejer)
    live = np.flatnonzero(weight * np.hypot(*products.T) > _NEGLIGIBLE * _NEGLIGIBLE)
    factors = np.stack([_factors(law, live, degree) for law in head])
    moduli = np.hypot(factors[..., 0], factors[..., 1])
    # Rounding may take a modulus below its true value by no more than its own error.
    moduli = np.sort(np.minimum(moduli + _factor_error(head), 1.0).T, axis=1)
    bound = np.hypot(*products[live].T)
    atoms = sum(len(law.turns) for law in head + rest)
    reach = sum(2 * float(np.abs(law.turns).max()) for law in head + rest)
    log = 0.8 * math.log(degree + 1.0) + 5.0
    rounding = log * (
        len(head + rest) * 2 * TRIG_ERROR + 4 * atoms * _UNIT + _NEGLIGIBLE
    ) + degree * _UNIT * (40 * (reach + 1) + 8 * log)
    spectra = []
    for most in sizes:
        reached = bound * np.prod(moduli[:, min(most, len(head)) :], axis=1)
        share = weight[live] * reached
        order = np.argsort(share, kind="stable")
        dropped = order[: np.searchsorted(np.cumsum(share[order]), _MOST_DROPPED, side="right")]
        kept = np.setdiff1d(np.arange(len(live)), dropped)
        k = node[live[kept]]
        a, b = vaaler[live[kept]], fejer[live[kept]]
        spectra.append(
            Spectrum(
                most,
                degree,
                float(share[dropped].sum()) * (1 + 1e-9) + TAIL + rounding,
                2 + float(np.sum(4 * math.pi * k * (a + b) * reached[kept])),
                k,
                np.where(k % 2 == 0, 1.0, -1.0),
                a,
                b,
                np.ascontiguousarray(products[live[kept]]),
                np.ascontiguousarray(factors[:, kept]),
            )
        )
    return spectra


def _factor_error(laws: list[Law]) -> float:
    most = max(len(law.turns) for law in laws)
    return 2 * TRIG_ERROR + 4 * most * _UNIT + 1e-12


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
    blocks = degree // _BLOCK + 1
    coarse = _circle(np.arange(blocks)[:, None] * float(_BLOCK) * law.turns)
    fine = _circle(np.arange(float(_BLOCK))[:, None] * law.turns) * law.chances
    table = (coarse @ fine.T).ravel()[live + 1]
    return np.stack([table.real, table.imag], axis=1)


def _circle(turns: NDArray[np.float64]) -> NDArray[np.complex128]:
    angle = 2 * math.pi * (turns - np.rint(turns))
    found: NDArray[np.complex128] = np.cos(angle) + 1j * np.sin(angle)
    return found


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
    degree: int,
) -> NDArray[np.float64]:
    """Return the product of some laws' factors at every node; 0 once it is negligible."""
    out = np.zeros((degree, 2))
    shift = 0.0  # from each law's first value, which does not turn, to its centre
    for u in range(len(starts) - 1):
        shift += turns[starts[u]]
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
def bounds_at(
    spectrum: Spectrum, product: NDArray[np.float64], beta: float, blur: float
) -> tuple[float, float]:
    """Bound ``Pr[Y <= beta]`` of a centred sum from its characteristic function."""
    if beta >= 0.5:
        return 1.0 - spectrum.error, 1.0
    if beta <= -0.5:
        return 0.0, spectrum.error
    middle = beta + 0.5
    radius = 1.0 / (spectrum.degree + 1.0) + spectrum.error + spectrum.slope * blur
    for i in range(len(spectrum.node)):
        re = product[i, 0]
        im = product[i, 1]
        sine, cosine = sin_cos_turns(spectrum.node[i] * beta)
        middle += spectrum.vaaler[i] * (spectrum.sign[i] * im - (im * cosine - re * sine))
        radius += spectrum.fejer[i] * (spectrum.sign[i] * re + (re * cosine + im * sine))
    return max(middle - radius, 0.0), min(middle + radius, 1.0)


@inner
def multiply(product: NDArray[np.float64], factor: NDArray[np.float64]) -> None:
    """Multiply complex numbers in place."""
    for i in range(len(product)):
        re = product[i, 0]
        im = product[i, 1]
        x = factor[i, 0]
        y = factor[i, 1]
        product[i, 0] = re * x - im * y
        product[i, 1] = re * y + im * x


@kernel
def set_bounds(
    spectrum: Spectrum, fixed: NDArray[np.bool_], beta: float, blur: float
) -> tuple[float, float]:
    """Bound ``Pr[Y <= beta]`` with some units of the head fixed."""
    product = spectrum.rest.copy()
    for j in range(len(fixed)):
        if not fixed[j]:
            multiply(product, spectrum.factors[j])
    return bounds_at(spectrum, product, beta, blur)
