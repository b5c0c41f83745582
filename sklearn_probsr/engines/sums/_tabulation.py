"""Tabulation: the factors of independent units at the nodes of a spectrum.

Units that no small reason holds (the *rest*) are multiplied once and for all, and nodes where their
product is negligible are dropped for good (Proposition 24).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.core.jit import kernel
from sklearn_probsr.engines.sums._spectrum import DROPPED, Spectrum, with_signs
from sklearn_probsr.independent.vaaler import (
    NEGLIGIBLE,
    TAIL,
    TRIG_ERROR,
    UNIT,
    coefficient_sum,
    coefficient_table,
    sin_cos_turns,
)

__all__ = ["Law", "build_spectrum", "live_nodes"]

# Laws with more atoms than this are tabulated by a product of matrices, so many nodes a row.
_FEW_ATOMS = 12
_BLOCK = 256


class Law(NamedTuple):
    """A centred random contribution: its values in turns of the period, and their chances."""

    turns: NDArray[np.float64]
    chances: NDArray[np.float64]


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
    # Twice Table 2, lines 3 to 6, as for complex factors (Proposition 24).
    total = 2 * coefficient_sum(degree)
    factor_error = len(head + rest) * 2 * TRIG_ERROR + 4 * atoms * UNIT + NEGLIGIBLE
    error = total * factor_error + degree * UNIT * (40 * (reach + 1) + 8 * total)
    return Spectrum(
        degree,
        error + TAIL + DROPPED / degree,
        2 + float(np.sum(4 * math.pi * node * (vaaler + fejer) * bound[live])),
        with_signs(node, vaaler, fejer),
        np.ascontiguousarray(products[live]),
        np.stack([_factors(law, live, degree) for law in head]),
    )


def _live(bound: NDArray[np.float64], degree: int, dropping: bool) -> NDArray[np.intp]:
    """Return the nodes that can move a bound by enough, counted from 0."""
    live = np.flatnonzero(bound > 0)
    return live[live_nodes(bound[live], live, degree)] if dropping else live


def live_nodes(
    bound: NDArray[np.float64], live: NDArray[np.intp], degree: int
) -> NDArray[np.bool_]:
    """Tell which nodes, counted from 0, can still move a bound by enough (Proposition 24)."""
    vaaler, fejer = coefficient_table((live + 1).astype(np.float64), degree)
    kept: NDArray[np.bool_] = 2 * (vaaler + fejer) * bound > DROPPED / degree**2
    return kept


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
    """Multiply two complex matrices, always in the same order (Proposition 25).

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
            if re * re + im * im < NEGLIGIBLE * NEGLIGIBLE:
                re = 0.0
                im = 0.0
                break
        out[k - 1, 0] = re
        out[k - 1, 1] = im
    return out
