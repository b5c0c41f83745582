"""A lower bound of sizes across rows: what all of them lose together, by weak duality.

What each row can have is told row by row elsewhere; here rows agree on one set. Of a set that is
no more than likely, x between 0 and 1, each row tells a linear form that it cannot be lost by less
than, whatever the set (Lemma 300). Sums of forms, and mixtures of sums, are forms of what all rows
lose; if one is above what may be lost for all sets of a size, there is none. Floats choose x and
the mixture, whole numbers refute.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.core.jit import inner, kernel
from sklearn_probsr.rows.kernels import Branches

__all__ = ["refutes"]

# Forms that are kept, how often a new one is made, and how often their mixture is made better.
_FORMS, _TRIES, _ROUNDS = 16, 25, 20
# A row's cut is found by so many steps, from a chance to be lost that is small.
_STEPS, _CHANCE = 4, 0.02
# Rows whose numbers add up to more than 2^8 times what they are divided by are left out, and
# mixtures have shares of 2^-10; what is left of 63 bits is for weights and their fractions.
_STEEP, _SHARES, _BITS = 8, 10, 62 - 8 - 10


@kernel
def _cuts(
    case: Branches,
    x: NDArray[np.float32],
    cut: NDArray[np.float32],
    chances: NDArray[np.float32],
    cells: NDArray[np.int64],
) -> None:
    """Write of each row where its strongest cut at x is, and how likely it is to be lost.

    ``chances`` (R n) are those before each rival, for the parts of its cut; ``cells`` (n) one of
    these or -1; ``cut`` (3, n) is room to work in.
    """
    margins = case.margins[0]
    n = len(case.weights)
    value, steep, worst = cut[0], cut[1], cut[2]
    for r in range(n):
        worst[r] = np.float32(0.0)
        cells[r] = -1
    for k in range(len(margins) // n):
        own, likely = margins[k * n : (k + 1) * n], chances[k * n : (k + 1) * n]
        for r in range(n):
            likely[r] = np.float32(_CHANCE)
        for step in range(_STEPS):
            for r in range(n):
                value[r] = own[r]
                steep[r] = own[r]
            for j in range(len(x)):
                if x[j] > 0.0:
                    _add(case.gains[j, k * n : (k + 1) * n], x[j], likely, value, steep)
            for r in range(n):
                chance = value[r] / min(steep[r], np.float32(-1.0))
                if step < _STEPS - 1:
                    likely[r] = max(chance, likely[r])
                elif chance > worst[r]:
                    worst[r] = chance
                    cells[r] = k * n + r


@inner
def _add(
    gain: NDArray[np.int16],
    x: Any,
    chances: NDArray[np.float32],
    value: NDArray[np.float32],
    steep: NDArray[np.float32],
) -> None:
    """Add what a candidate is to cuts: to their value at x, and to what they are divided by."""
    for r in range(len(gain)):
        more = np.float32(gain[r])
        up, down = max(more, np.float32(0.0)), min(more, np.float32(0.0))
        sure, open_one = x > np.float32(1.0) - chances[r], x > chances[r]
        value[r] += up * (np.float32(1.0) if sure else x)
        value[r] += down * x if open_one else np.float32(0.0)
        steep[r] += (up if sure else np.float32(0.0)) + (down if open_one else np.float32(0.0))


@kernel
def _form(
    case: Branches,
    size: int,
    x: NDArray[np.float32],
    bits: int,
    chances: NDArray[np.float32],
    cells: NDArray[np.int64],
    factors: NDArray[np.int64],
    slopes: NDArray[np.int64],
) -> Any:
    """Write the slopes of what sets of a size lose at least, and return the constant (Lemma 300).

    Both are in terms of 2^-bits. ``chances`` and ``cells`` tell the cuts, and ``cells`` are written
    over; ``factors`` (n) is room to work in.
    """
    margins, more = case.margins[0], case.more[size, 0]
    n, found = len(case.weights), np.int64(0)
    constant = np.int64(0)
    for r in range(n):
        weight, cell = np.int64(case.weights[r]) << bits, cells[r]
        lost = False
        for at in range(r, len(margins), n):
            lost |= margins[at] + more[at] < 0
        if lost:
            constant += weight
        elif cell >= 0:
            start = np.int64(margins[cell])
            steep, reach = -start, abs(start)
            for j in range(len(x)):
                gain = np.int64(case.gains[j, cell])
                reach += abs(gain)
                if gain > 0 and x[j] > np.float32(1.0) - chances[cell]:
                    start += gain
                    steep -= gain
                elif gain < 0 and x[j] > chances[cell]:
                    steep -= gain
            if reach <= steep << _STEEP:
                factors[found] = weight // steep
                constant -= factors[found] * start
                cells[found] = cell
                found += 1
    for j in range(len(x)):
        total = np.int64(0)
        for i in range(found):
            gain, chance = np.int64(case.gains[j, cells[i]]), chances[cells[i]]
            used = x[j] <= np.float32(1.0) - chance if gain > 0 else x[j] > chance
            total += factors[i] * gain if used else np.int64(0)
        slopes[j] = -total
    return constant


@kernel
def _mixed(
    constants: NDArray[np.float64],
    slopes: NDArray[np.float64],
    size: int,
    spare: float,
    x: NDArray[np.float32],
    shares: NDArray[np.float64],
    room: NDArray[np.float64],
) -> None:
    """Move x to where no form is above ``spare``, as far as it goes; write the shares of forms."""
    h = len(x)
    start, at = room[0], room[1]
    for j in range(h):
        start[j] = x[j]
    for i in range(len(shares)):
        shares[i] = 0.0
    for _ in range(_ROUNDS):
        for i in range(len(shares)):
            _project(start, size, at)
            value, length = constants[i] - spare, 1e-12
            for j in range(h):
                value += slopes[i, j] * at[j]
                length += slopes[i, j] * slopes[i, j]
            step = max(value / length, -shares[i])
            shares[i] += step
            for j in range(h):
                start[j] -= step * slopes[i, j]
    _project(start, size, at)
    for j in range(h):
        x[j] = np.float32(at[j])


@inner
def _project(start: NDArray[np.float64], size: int, at: NDArray[np.float64]) -> None:
    """Write the nearest point between 0 and 1 whose sum is at most a size."""
    low, high, down = 0.0, 0.0, 0.0
    for j in range(len(at)):
        high = max(high, start[j])
    for _ in range(30):
        total = 0.0
        for j in range(len(at)):
            total += min(max(start[j] - down, 0.0), 1.0)
        if total > size:
            low = down
        else:
            high = down
        down = 0.5 * (low + high)
    for j in range(len(at)):
        at[j] = min(max(start[j] - high, 0.0), 1.0)


def refutes(case: Branches, size: int, spare: int) -> bool:
    """Tell whether all sets of at most a size lose more than ``spare``; False if that stays open.

    Prices are 1; a weight is in terms of ``case.weights``.
    """
    h, n = len(case.gains), len(case.weights)
    bits = _BITS - int(case.weights.sum(dtype=np.int64)).bit_length()
    cut, chances = np.empty((3, n), dtype=np.float32), np.empty(len(case.margins[0]), np.float32)
    cells, factors = np.empty((2, n), dtype=np.int64)
    constants, slopes = np.zeros(_FORMS, dtype=np.int64), np.zeros((_FORMS, h), dtype=np.int64)
    shares, room = np.zeros(_FORMS), np.empty((2, h))
    x = np.full(h, min(size / h, 1.0), dtype=np.float32)
    for made in range(_TRIES):
        i = made if made < _FORMS else int(shares.argmin())
        form = slopes[i]
        _cuts(case, x, cut, chances, cells)
        constants[i] = _form(case, size, x, bits, chances, cells, factors, form)
        some, unit = min(made + 1, _FORMS), np.float64(2.0**-bits)
        starts, lines = constants[:some] * unit, slopes[:some] * unit
        if starts[i] + lines[i] @ x.astype(np.float64) <= spare:
            return False
        _mixed(starts, lines, size, float(spare), x, shares[:some], room)
        total = shares.sum()
        if total > 0.0:
            whole = np.floor(shares[:some] / total * 2**_SHARES).astype(np.int64)
            ahead = np.sort(whole @ slopes[:some])[:size]
            value = int(whole @ constants[:some]) + int(ahead[ahead < 0].sum())
            if value > int(whole.sum()) * (spare << bits):
                return True
    return False
