"""Spectra: what is computed once for a model so that every set of its units is bounded quickly.

In come the laws of independent units: finitely many values with their chances (`build`), or fair
coins (`build_coins`). Out comes a `Table`, and from it bounds of ``Pr[Y <= cut]``, where Y is the
sum of the units that a set leaves free.

The factors ``E exp(2 pi i k X_u / P)`` of *all* units are multiplied once at every node k. A set
divides out the very numbers that were multiplied for its members (Proposition 200), so it costs one
multiplication a member and node, whatever the number of units. Nodes are sorted by the sets from
which on they matter: a set looks at the first few of them, and one error covers all the others.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.core.jit import inner, kernel
from sklearn_probsr.independent.vaaler import (
    SPREADS,
    TAIL,
    TRIG_ERROR,
    UNIT,
    coefficient_sum,
    coefficient_table,
    coefficients,
    sin_cos_turns,
)

__all__ = [
    "FAR_CELLS",
    "Nodes",
    "Table",
    "UnitLaws",
    "bound_sum",
    "bounds",
    "build",
    "build_coins",
    "by_moments",
    "coin_bounds",
    "coin_period",
    "divide_out",
    "enclose",
    "far_change",
    "moved",
    "period_of",
]

# The least size of a factor, and what moving factors there costs a product (Proposition 200).
_LEAST = 1e-12
_MOVED = 2.1e-12
# A product of all factors below exp(-570) is not divided: it might underflow (Proposition 200).
_SMALLEST_LOG = -570.0
# What nodes that are not looked at move a bound by, over the degree: those that are hardly there,
# those that are looked at from a later index on, and, where there are many, all of them together
# (Proposition 200).
_NEXT_TO_NOTHING, _LATER, _LEFT_OUT = 0.01, 0.02, 0.25
# Nodes that are looked at together while most of them are ruled out.
_BLOCK = 64
# Laws of more values than this have their factors by moments (Proposition 50).
_MOST_DIRECT = 64
_MOMENTS = 16
# Entries of factors, and of factors by moments at all nodes: 32 and 16 bytes each.
_MOST_CELLS = 2**22
_MOST_WIDE = 2**23
# Cuts are told apart by such a part of a turn; a power of two, so that nothing is rounded.
FAR_CELLS = 512
# Chernoff's exponents that are tried, in inverse standard deviations (Proposition 52).
_EXPONENTS = np.geomspace(0.5, 64.0, 29)


class UnitLaws(NamedTuple):
    """The laws of independent units, one behind the other.

    Attributes
    ----------
    start : ndarray of int64, shape (n + 1,)
        Unit u has the entries ``start[u]`` to ``start[u + 1]`` of the next two.
    value : ndarray of float64, shape (m,)
        What a unit may contribute; finite, and so are differences of two of them.
    chance : ndarray of float64, shape (m,)
        How likely that is, to half a unit in the last place, or to the least float.
    centre : ndarray of float64, shape (n,)
        A number next to the mean of each unit, taken as exact: contributions count from there.
    """

    start: NDArray[np.int64]
    value: NDArray[np.float64]
    chance: NDArray[np.float64]
    centre: NDArray[np.float64]


class Table(NamedTuple):
    """The factors of all units, at the nodes that matter, for sets up to some index.

    The *index* of a set is how many units it has, in a table that `build` made; in one that
    `build_coins` made it is how many of the first units it lies among. A set of index s looks at
    the nodes before ``counts[s]``; beyond the last index nothing is known. Arrays have two parts,
    real and imaginary, or one if all factors are real.

    Attributes
    ----------
    degree : int
        The degree K of the trigonometric bounds (Corollary 19); they are some 1.4 / K apart.
    period : float
    error : float
        What every bound may be off by, but for the blur of the cut (Table 4).
    counts : ndarray of int64, shape (most + 1,)
    node, sign, vaaler, fejer : ndarray of float64, shape (L,)
        The nodes k, ``(-1)^k``, and the coefficients ``a_k`` and ``b_k``.
    whole : ndarray of float64, shape (parts, L)
        The product of all factors.
    factor, inverse : ndarray of float64, shape (n, parts, L)
    """

    degree: int
    period: float
    error: float
    counts: NDArray[np.int64]
    node: NDArray[np.float64]
    sign: NDArray[np.float64]
    vaaler: NDArray[np.float64]
    fejer: NDArray[np.float64]
    whole: NDArray[np.float64]
    factor: NDArray[np.float64]
    inverse: NDArray[np.float64]

    @property
    def most(self) -> int:
        """The largest index of a set that the table knows."""
        return len(self.counts) - 1

    @property
    def nbytes(self) -> int:
        """How much memory the table takes."""
        return sum(part.nbytes for part in self if isinstance(part, np.ndarray))


# --- bounds of a set -----------------------------------------------------------------------------


@kernel
def divide_out(
    table: Table, units: NDArray[np.int64], nodes: int, out: NDArray[np.float64]
) -> None:
    """Write the product of the factors of all other units, at the first nodes, into ``out``.

    Two parts, shape (2, at least ``nodes``).
    """
    re, im = out[0], out[1]
    for i in range(nodes):
        re[i] = table.whole[0, i]
        im[i] = table.whole[1, i]
    for u in units:
        x, y = table.inverse[u, 0], table.inverse[u, 1]
        for i in range(nodes):
            a = re[i] * x[i] - im[i] * y[i]
            im[i] = re[i] * y[i] + im[i] * x[i]
            re[i] = a


@kernel
def bounds(
    table: Table, product: NDArray[np.float64], nodes: int, beta: float, blur: float
) -> tuple[float, float]:
    """Return bounds of ``Pr[Y <= cut]`` from the product of the free factors (Corollary 19).

    ``beta`` is how far the cut lies above the centre of what is free, in turns of the period, and
    ``blur`` what that is off by at most (Table 4 line 7). Beyond the period line 1 settles it.
    """
    if beta - blur >= 0.5:
        return 1.0 - TAIL, 1.0
    if beta + blur <= -0.5:
        return 0.0, TAIL
    beta = min(max(beta, -0.5), 0.5)
    re, im = product[0], product[1]
    middle = 0.5 + beta
    radius = 1.0 / (table.degree + 1.0)
    for i in range(nodes):
        sine, cosine = sin_cos_turns(table.node[i] * beta)
        middle += table.vaaler[i] * (table.sign[i] * im[i] - im[i] * cosine + re[i] * sine)
        radius += table.fejer[i] * (table.sign[i] * re[i] + re[i] * cosine + im[i] * sine)
    radius += table.error + (1.0 + 4.0 * nodes) * blur
    return max(middle - radius, 0.0), min(middle + radius, 1.0)


class Nodes(NamedTuple):
    """What bounds need to know of the nodes that are looked at; see `Table`."""

    node: NDArray[np.float64]
    sign: NDArray[np.float64]
    vaaler: NDArray[np.float64]
    fejer: NDArray[np.float64]


@kernel
def coin_bounds(
    nodes: Nodes, product: NDArray[np.float64], degree: int, error: float, beta: float, blur: float
) -> tuple[float, float]:
    """Return what `bounds` does where all factors are real; arrays have shape (nodes,)."""
    if beta - blur >= 0.5:
        return 1.0 - TAIL, 1.0
    if beta + blur <= -0.5:
        return 0.0, TAIL
    beta = min(max(beta, -0.5), 0.5)
    node, sign, vaaler, fejer = nodes.node, nodes.sign, nodes.vaaler, nodes.fejer
    middle = 0.5 + beta
    radius = 1.0 / (degree + 1.0) + error + (1.0 + 4.0 * len(product)) * blur
    for i in range(len(product)):
        sine, cosine = sin_cos_turns(node[i] * beta)
        middle += vaaler[i] * product[i] * sine
        radius += fejer[i] * product[i] * (cosine + sign[i])
    return max(middle - radius, 0.0), min(middle + radius, 1.0)


def enclose(
    table: Table, units: Collection[int], beta: float, blur: float = 0.0, index: int | None = None
) -> tuple[float, float]:
    """Bound the probability that the units outside a set add up to at most a cut.

    Parameters
    ----------
    table : Table
    units : collection of int
        The set that is fixed.
    beta : float
        How far the cut lies above the centres of the other units, in turns of the period.
    blur : float, default=0
        What that is off by at most; what all values are off by together belongs there, too.
    index : int or None, default=None
        The index of the set (see `Table`); None: how many units it has.

    Returns
    -------
    lower, upper : float
        ``(0, 1)`` where the table knows nothing of such a set. They hold for "less than the cut"
        as well.

    References
    ----------
    Corollary 19 and Proposition 200.
    """
    size = len(units) if index is None else index
    if size > table.most:
        return 0.0, 1.0
    nodes, fixed = int(table.counts[size]), np.array(sorted(units), dtype=np.int64)
    if len(table.whole) == 1:
        product = table.whole[0, :nodes] * table.inverse[fixed, 0, :nodes].prod(axis=0)
        of_nodes = (table.node, table.sign, table.vaaler, table.fejer)
        some = Nodes(*(part[:nodes] for part in of_nodes))
        return coin_bounds(some, product, table.degree, table.error, float(beta), float(blur))
    room = np.empty((2, nodes))
    divide_out(table, fixed, nodes, room)
    return bounds(table, room, nodes, float(beta), float(blur))


def far_change(far: NDArray[np.float64], cut: float) -> float:
    """Bound what values that were moved change at cuts of that size, in turns; see `moved`."""
    return float(far[min(int(min(cut, 1.0) * FAR_CELLS) + 1, len(far) - 1)])


@inner
def moved(far: NDArray[np.float64], cut: float) -> float:
    """Bound what values that were moved change at cuts of that size, in turns (Proposition 152).

    ``far`` is the bound at cuts of up to each part of a turn, and last at any cut.
    """
    last = len(far) - 1
    if cut * FAR_CELLS >= last - 1:
        return far[last]  # type: ignore[no-any-return]
    return far[int(cut * FAR_CELLS) + 1]  # type: ignore[no-any-return]


# --- any finite laws -----------------------------------------------------------------------------


def period_of(laws: UnitLaws, least: NDArray[np.float64] | None = None) -> float:
    """Return a period that holds all but ``TAIL`` of the sum of any of the units.

    It is the least of what the ranges of the units add up to, and of what Chernoff's bound says
    of their laws (Proposition 52). With ``least`` each value is known to lie between that and the
    one of the laws.
    """
    centre = np.repeat(laws.centre, np.diff(laws.start))
    above = laws.value - centre
    below = -above if least is None else centre - least
    ends = [np.maximum(np.maximum.reduceat(away, laws.start[:-1]), 0.0) for away in (above, below)]
    support = 2 * max(map(math.fsum, ends))
    if not support:
        return 1.0
    reach = max(_chernoff(laws, away / support) for away in (above, below))
    # A part in a billion is for what was rounded.
    return support * min(2 * reach, 1.0) * (1 + 1e-9)


def _chernoff(laws: UnitLaws, away: NDArray[np.float64]) -> float:
    """Return what any sum exceeds its centre by with a chance of ``TAIL / 2`` at most.

    That is Proposition 52, with more than a logarithm or a sum is rounded by.
    """
    chances = np.maximum(laws.chance, 1e-290)  # so that no exponential that underflows is missed
    deviation = math.sqrt(float((chances * away**2).sum()))
    if not deviation:
        return 1.0
    most = np.maximum.reduceat(away, laws.start[:-1])
    below = away - np.repeat(most, np.diff(laws.start))
    best = 1.0
    for exponent in (_EXPONENTS / deviation).tolist():
        sums = np.add.reduceat(np.exp(exponent * below) * chances, laws.start[:-1])
        each = np.maximum(exponent * most + np.log(sums), 0.0)
        total = float(each.sum()) * (1 + 1e-6) + 1e-9 * len(each)
        best = min(best, (total + math.log(2 / TAIL)) / exponent)
    return best * (1 + 1e-6)


def build(
    laws: UnitLaws, degree: int, size: int, most_nodes: int = 4096, period: float | None = None
) -> Table:
    """Tabulate independent units, for every set of up to so many of them.

    Parameters
    ----------
    laws : UnitLaws
    degree : int
        A power of two. It is halved while more than ``most_nodes`` nodes matter to some set of
        ``size`` units, and until the table fits some 128 megabytes.
    size : int
        The table knows sets of at most so many units; fewer if nodes that matter to them have a
        product of all factors that may underflow.
    most_nodes : int, default=4096
    period : float or None, default=None
        None: that of `period_of`.

    Returns
    -------
    Table

    References
    ----------
    Proposition 200; Proposition 50 for units of many values, Proposition 52 for the period.
    """
    n = len(laws.centre)
    size = min(size, n)
    period = period_of(laws) if period is None else period
    # All values may take as much room as the data: nothing else of their size is made.
    turns = np.repeat(laws.centre, np.diff(laws.start))
    np.subtract(laws.value, turns, out=turns)
    turns /= period
    # Beyond this a phase is anybody's guess, and counts as that, but it is finite.
    np.clip(turns, -1e280, 1e280, out=turns)
    inside = [slice(a, b) for a, b in pairwise(laws.start.tolist())]
    values = np.diff(laws.start)
    wide = np.flatnonzero(values > _MOST_DIRECT)
    while len(wide) * degree > _MOST_WIDE:
        degree //= 2
    spread = np.array([laws.chance[at] @ np.minimum(np.abs(turns[at]), 1.0) for at in inside])
    direct = np.flatnonzero(values <= _MOST_DIRECT)
    direct = direct[np.argsort(-spread[direct], kind="stable")]  # those that rule out most first
    known = {u: by_moments(*_law(laws, turns, u), degree) for u in wide.tolist()}
    while True:
        k = _survivors(laws, turns, direct, known, degree, size)
        chosen = None
        if len(k) * n <= 2 * _MOST_CELLS or degree == 1:
            factors = np.empty((n, 2, len(k)))
            _fill(laws.start, turns, laws.chance, direct, k, factors)
            for u, (at_all, _) in known.items():
                factors[u] = at_all[:, k.astype(np.intp) - 1]
            sizes = np.hypot(factors[:, 0], factors[:, 1])
            if (sizes < _LEAST).any():
                factors[:, 0][sizes < _LEAST], factors[:, 1][sizes < _LEAST] = _LEAST, 0.0
                sizes = np.maximum(sizes, _LEAST)
            left = _without_smallest(sizes, size)
            chosen = _choose(k, left[size], degree, min(most_nodes, max(_MOST_CELLS // n, 1)), 2)
        if chosen is not None:
            break
        degree //= 2
    spreads = sum(float(laws.chance[at] @ np.abs(turns[at])) for at in inside)
    error = len(direct) * TRIG_ERROR + 4 * UNIT * float(values[direct].sum())
    error += sum(off for _, off in known.values())
    at = chosen.at
    return _table(factors[:, :, at], left[:, at], k[at], period, degree, error, spreads, chosen)


def _law(
    laws: UnitLaws, turns: NDArray[np.float64], u: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    inside = slice(int(laws.start[u]), int(laws.start[u + 1]))
    return turns[inside], laws.chance[inside]


def by_moments(
    turns: NDArray[np.float64], chances: NDArray[np.float64], degree: int
) -> tuple[NDArray[np.float64], float]:
    """Return a unit's factor at the nodes 1 to the degree, (2, degree), and its error.

    Its values go to a grid around the circle, which acts on a node by a few moments of what they
    are away from its points (Proposition 50).
    """
    points = 2 * 2 ** max(math.ceil(math.log2(degree)), 4)
    grid = turns * points
    nearest = np.rint(grid)
    away = grid - nearest  # exactly: a float and an integer next to it
    at = np.mod(nearest, points).astype(np.intp)
    turn = 2j * math.pi / points * np.arange(1.0, degree + 1)
    moments, term = [], chances
    for _ in range(_MOMENTS):
        moments.append(np.bincount(at, term, points))
        term = term * away
    total = np.zeros(degree, dtype=np.complex128)
    for r in range(_MOMENTS - 1, -1, -1):  # Horner's rule, of sum (i q)^r m_r / r!
        waves = np.conj(np.fft.rfft(moments[r])[1 : degree + 1])
        total = (waves + turn * total) / max(r, 1)
    heights = math.sqrt(float((moments[0] ** 2).sum()))
    transform = 20 * UNIT * math.log2(points) * math.sqrt(points) * heights
    # What is left out, and what is rounded, of Proposition 50.
    error = 8e-11 + 4.82 * ((len(turns) + 100) * UNIT + transform)
    return np.stack([total.real, total.imag]), error


def _survivors(
    laws: UnitLaws,
    turns: NDArray[np.float64],
    direct: NDArray[np.intp],
    known: dict[int, tuple[NDArray[np.float64], float]],
    degree: int,
    size: int,
) -> NDArray[np.float64]:
    """Return the nodes that may matter to sets of a size."""
    bound = np.ones(degree)
    for at_all, _ in known.values():
        bound *= np.clip(np.hypot(at_all[0, :degree], at_all[1, :degree]), math.exp(-1), 1.0)
    k = np.arange(1.0, degree + 1)
    least = _next_to_nothing(k, degree, 2) * math.exp(-size)
    _rule_out(laws.start, turns, laws.chance, direct, bound, least)
    found: NDArray[np.float64] = k[bound >= least]
    return found


def _moves(k: NDArray[np.float64], degree: int, parts: int) -> NDArray[np.float64]:
    """Return how much a product of size 1, of one part or two, moves a bound at each node."""
    vaaler, fejer = coefficient_table(k, degree)
    moves: NDArray[np.float64] = parts * vaaler + 2 * fejer
    return moves


def _next_to_nothing(k: NDArray[np.float64], degree: int, parts: int) -> NDArray[np.float64]:
    """Return below which size products at each node are as good as 0, all together."""
    return _NEXT_TO_NOTHING / degree**2 / _moves(k, degree, parts)


@kernel
def _rule_out(
    start: NDArray[np.int64],
    turns: NDArray[np.float64],
    chances: NDArray[np.float64],
    units: NDArray[np.intp],
    bound: NDArray[np.float64],
    least: NDArray[np.float64],
) -> None:
    """Multiply each node's bound by the sizes of factors, held above 1 / e, until it is too small.

    A product without its s smallest factors is at most this one times e^s (Proposition 200).
    """
    re, im = np.empty(_BLOCK), np.empty(_BLOCK)
    floor = math.exp(-1.0)
    for low in range(0, len(bound), _BLOCK):
        size = min(_BLOCK, len(bound) - low)
        for u in units:
            alive = 0
            for i in range(size):
                alive += int(bound[low + i] >= least[low + i])
            if alive == 0:
                break
            for i in range(size):
                re[i] = 0.0
                im[i] = 0.0
            for j in range(start[u], start[u + 1]):
                for i in range(size):
                    sine, cosine = sin_cos_turns((low + 1.0 + i) * turns[j])
                    re[i] += chances[j] * cosine
                    im[i] += chances[j] * sine
            for i in range(size):
                bound[low + i] *= min(max(math.sqrt(re[i] * re[i] + im[i] * im[i]), floor), 1.0)


@kernel
def _fill(
    start: NDArray[np.int64],
    turns: NDArray[np.float64],
    chances: NDArray[np.float64],
    units: NDArray[np.intp],
    nodes: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """Write the factors of some units at some nodes (Lemma 21)."""
    for u in units:
        re, im = out[u, 0], out[u, 1]
        for i in range(len(nodes)):
            re[i] = 0.0
            im[i] = 0.0
        for j in range(start[u], start[u + 1]):
            for i in range(len(nodes)):
                sine, cosine = sin_cos_turns(nodes[i] * turns[j])
                re[i] += chances[j] * cosine
                im[i] += chances[j] * sine


def _without_smallest(sizes: NDArray[np.float64], size: int) -> NDArray[np.float64]:
    """Return the products of all factors but the s smallest, for s = 0 to ``size``.

    They are a hundredth above what they are, for sums of a million logarithms.
    """
    logs = np.log(sizes)
    smallest = np.sort(np.partition(logs, size - 1, axis=0)[:size], axis=0) if size else logs[:0]
    whole = logs.sum(axis=0)[None]
    return np.exp(np.concatenate([whole, whole - np.cumsum(smallest, axis=0)]) + 0.01)


# --- fair coins ----------------------------------------------------------------------------------


def coin_period(magnitudes: NDArray[np.float64]) -> float:
    """Return a period for sums of ``± magnitude / 2``, of all or of some of them (Lemma 20)."""
    largest = float(magnitudes[0]) if len(magnitudes) else 0.0
    if not largest:
        return 1.0
    shares = magnitudes / largest
    spread = math.sqrt(float((shares * shares).sum())) / 2
    # Lemma 20, and a part in 10^9 for what is rounded.
    return largest * min(SPREADS * spread, float(shares.sum())) * (1 + 1e-9)


def build_coins(
    turns: NDArray[np.float64],
    degree: int,
    rungs: Sequence[int],
    most_nodes: int,
    apart: bool = False,
) -> list[Table]:
    """Tabulate fair coins: ranked units that contribute ``± turns`` of a period.

    Parameters
    ----------
    turns : ndarray of float64, shape (n,)
        Half the magnitude of each unit, over the period.
    degree : int
        A power of two.
    rungs : sequence of int
        In descending order, indices up to which tables know sets. The first table knows all of
        them; while its degree is halved, so that sets look at no more than ``most_nodes`` nodes,
        tables of higher degrees may know those of less.
    most_nodes : int
    apart : bool, default=False
        Whether one unit of a set may lie apart from the others. The index of a set is how many of
        the first units it, or the rest of it, lies among.

    Returns
    -------
    list of Table
        Of one part each, one a degree, from the coarsest to the finest.

    References
    ----------
    Proposition 200. The factors are cosines (Corollary 19).
    """
    k = np.arange(1.0, degree + 1)
    least = _next_to_nothing(k, degree, 1)
    product, smallest = np.ones(degree), np.full(degree, 1.0 if apart else 0.0)
    end, reached = len(turns), 0
    tables: list[Table] = []

    def choose(each: int) -> _Chosen | None:
        if each > degree:
            return None
        return _choose(k[:each], product[:each] * (1 + 1e-9), each, most_nodes, 1)

    for rung in rungs:
        _multiply_cosines(turns[rung:end], least, product, smallest)
        end = rung
        # The highest degree will often do; else up from 1, or from that of the last table.
        each = 2 * reached if tables else degree
        chosen = choose(each)
        if not tables and chosen is None:
            each, chosen = 1, choose(1)
        found = chosen
        while chosen is not None:
            found, reached = chosen, each
            each *= 2
            chosen = choose(each)
        if found is not None:
            at = found.at
            tables.append(
                _coin_table(turns, reached, rung, k[at], product[at], smallest[at], found)
            )
    return tables


def _coin_table(
    turns: NDArray[np.float64],
    degree: int,
    rung: int,
    k: NDArray[np.float64],
    product: NDArray[np.float64],
    smallest: NDArray[np.float64],
    chosen: _Chosen,
) -> Table:
    """Tabulate the chosen nodes, from the product of all ranks behind a rung at each."""
    n = len(turns)
    factors = np.empty((n, 1, len(k)))
    _fill_cosines(turns, k, factors)
    sizes = np.abs(factors[:, 0])
    factors[:, 0][sizes < _LEAST] = _LEAST
    left = np.empty((rung + 1, len(k)))
    left[rung] = product
    for j in range(rung - 1, -1, -1):
        product = product * np.maximum(sizes[j], smallest)
        smallest = np.minimum(sizes[j], smallest)  # stays 0 if none may lie apart
        left[j] = product
    left *= 1 + 1e-9
    return _table(factors, left, k, 1.0, degree, n * TRIG_ERROR, float(turns.sum()), chosen)


@kernel
def _multiply_cosines(
    turns: NDArray[np.float64],
    least: NDArray[np.float64],
    product: NDArray[np.float64],
    smallest: NDArray[np.float64],
) -> None:
    """Multiply the cosines of some ranks into the products at nodes 1, 2, ... (Proposition 200).

    Of all ranks the smallest is kept apart, unless it is 0: then none is. Products below what a
    node needs at least become 0.
    """
    for low in range(0, len(product), _BLOCK):
        high = min(low + _BLOCK, len(product))
        for j in range(len(turns) - 1, -1, -1):
            alive = 0
            for i in range(low, high):
                alive += int(product[i] >= least[i])
            if alive == 0:
                break
            for i in range(low, high):
                cosine = abs(sin_cos_turns((i + 1.0) * turns[j])[1])
                product[i] *= max(cosine, smallest[i])
                smallest[i] = min(cosine, smallest[i])
        for i in range(low, high):
            product[i] = product[i] if product[i] >= least[i] else 0.0


@kernel
def _fill_cosines(
    turns: NDArray[np.float64], nodes: NDArray[np.float64], out: NDArray[np.float64]
) -> None:
    """Write the cosines of all ranks at some nodes (Lemma 21)."""
    for j in range(len(turns)):
        line = out[j, 0]
        for i in range(len(nodes)):
            line[i] = sin_cos_turns(nodes[i] * turns[j])[1]


def bound_sum(
    turns: NDArray[np.float64], degree: int, beta: float, blur: float
) -> tuple[float, float]:
    """Bound one sum of fair coins, with nothing tabulated: what lies outside a period is not in it.

    Parameters
    ----------
    turns : ndarray of float64, shape (n,)
        Half the magnitude of each, in turns of a period.
    degree : int
        Of the bounds, which are some 1.4 / degree apart.
    beta, blur : float
        How far the cut lies above the centre, in turns, and what that is off by at most.

    Returns
    -------
    lower, upper : float

    References
    ----------
    Corollary 19; Table 4, lines 2 to 7.
    """
    least = _next_to_nothing(np.arange(1.0, degree + 1), degree, 1)
    middle, radius = _sum_up(turns, least, degree, min(max(beta, -0.5), 0.5))
    error = _error(degree, len(turns), degree, len(turns) * TRIG_ERROR, float(turns.sum()), 1)
    radius += error + _NEXT_TO_NOTHING / degree + (1 + 4 * degree) * blur
    return max(middle - radius, 0.0), min(middle + radius, 1.0)


@kernel
def _sum_up(
    turns: NDArray[np.float64], least: NDArray[np.float64], degree: int, beta: float
) -> tuple[float, float]:
    """Return middle and radius of Corollary 19, by products that end where they are negligible."""
    product = np.empty(_BLOCK)
    middle = 0.5 + beta
    radius = 1.0 / (degree + 1.0)
    for low in range(0, degree, _BLOCK):
        size = min(_BLOCK, degree - low)
        for i in range(size):
            product[i] = 1.0
        for t in turns:
            alive = 0
            for i in range(size):
                product[i] *= sin_cos_turns((low + i + 1.0) * t)[1]
                alive += int(abs(product[i]) >= least[low + i])
            if alive == 0:
                break
        for i in range(size):
            if abs(product[i]) >= least[low + i]:
                k = low + i + 1.0
                vaaler, fejer = coefficients(k, degree)
                sine, cosine = sin_cos_turns(k * beta)
                middle += vaaler * product[i] * sine
                radius += fejer * product[i] * (cosine + (1.0 - 2.0 * (k % 2.0)))
    return middle, radius


# --- both ----------------------------------------------------------------------------------------


class _Chosen(NamedTuple):
    """The nodes that sets of the largest index look at, and what the others move a bound by."""

    at: NDArray[np.intp]
    dropped: float


def _choose(
    k: NDArray[np.float64], left: NDArray[np.float64], degree: int, most_nodes: int, parts: int
) -> _Chosen | None:
    """Choose the nodes that move a bound most; None if those left out would move it too much.

    ``left`` is what products are at most.
    """
    alive = np.flatnonzero(left)
    moved = _moves(k[alive], degree, parts) * np.minimum(left[alive], 1.0)
    dropped = 0.0
    if len(alive) > most_nodes:
        order = np.argpartition(-moved, most_nodes)
        dropped = float(moved[order[most_nodes:]].sum()) * (1 + 1e-9)
        if dropped > _LEFT_OUT / degree and degree > 1:
            return None
        alive, moved = alive[order[:most_nodes]], moved[order[:most_nodes]]
    order = np.argsort(moved, kind="stable")
    sums = (dropped + np.cumsum(moved[order])) * (1 + 1e-9)
    harmless = int(np.searchsorted(sums, _NEXT_TO_NOTHING / degree, side="right"))
    if harmless:
        dropped = float(sums[harmless - 1])
    return _Chosen(np.sort(alive[order[harmless:]]), dropped)


def _table(
    factors: NDArray[np.float64],
    left: NDArray[np.float64],
    k: NDArray[np.float64],
    period: float,
    degree: int,
    factor_error: float,
    spreads: float,
    chosen: _Chosen,
) -> Table:
    """Put a table together, with its error: Proposition 200 and Table 4, lines 1 and 2.

    ``left`` is what products are at most, for every index and node.
    """
    n, most = len(factors), len(left) - 1
    matters = left >= _LATER / degree / max(len(k), 1) / _moves(k, degree, factors.shape[1])
    first = np.where(matters.any(axis=0), matters.argmax(axis=0), most + 1)
    squares = (factors * factors).sum(axis=1)
    # Nothing is divided that may have underflowed.
    lost = np.log(squares).sum(axis=0) < 2 * _SMALLEST_LOG
    if lost.any():
        most = min(most, int(first[lost].min()) - 1)
    counts = np.cumsum(np.bincount(first, minlength=most + 1)[: most + 1]).astype(np.int64)
    order = np.argsort(first, kind="stable")[: int(counts[-1])]
    node, factor = k[order], np.ascontiguousarray(factors[:, :, order])
    vaaler, fejer = coefficient_table(node, degree)
    inverse = factor / squares[:, None, order]
    if factor.shape[1] == 2:
        inverse[:, 1] *= -1
    whole = np.zeros((factor.shape[1], len(node)))
    whole[0] = 1.0
    _multiply(factor, whole)
    left_out = chosen.dropped + (_NEXT_TO_NOTHING + _LATER) / degree
    error = _error(degree, n, len(node), factor_error, spreads, factor.shape[1]) + TAIL + left_out
    sign = 1.0 - 2.0 * (node % 2)
    return Table(degree, period, error, counts, node, sign, vaaler, fejer, whole, factor, inverse)


def _error(
    degree: int, n: int, nodes: int, factor_error: float, spreads: float, parts: int
) -> float:
    """Return what is rounded in n factors and a sum over nodes: Table 4, lines 3 to 6."""
    total = parts * coefficient_sum(degree)
    products = math.expm1(factor_error) + 1.001 * (4 * UNIT * 3 * n + TRIG_ERROR) + _MOVED
    sums = 4 * (nodes + 20) * UNIT * total
    return total * products + degree * UNIT * (30 * spreads + 4) + sums


@kernel
def _multiply(factor: NDArray[np.float64], whole: NDArray[np.float64]) -> None:
    """Multiply the factors of all units into ``whole``, which has as many parts (Prop. 200)."""
    for u in range(len(factor)):
        re = factor[u, 0]
        if len(whole) == 1:
            for i in range(whole.shape[1]):
                whole[0, i] *= re[i]
        else:
            im = factor[u, 1]
            for i in range(whole.shape[1]):
                a = whole[0, i] * re[i] - whole[1, i] * im[i]
                whole[1, i] = whole[0, i] * im[i] + whole[1, i] * re[i]
                whole[0, i] = a
