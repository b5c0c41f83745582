"""Leads: about how far background rows are ahead of all rivals, in one pass and without a table.

Where a set of units is fixed, most rows are far from a tie, and floats tell which of them keep the
class. How far a lead may be off is Proposition 129.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.engines._jit import inner, kernel, strict_inner

__all__ = ["Forms", "lead_before_each", "leads", "least_without", "mean_gains"]

# Rows that are gone through column by column at a time: they fit a processor's nearest cache.
_BLOCK = 64


class Forms(NamedTuple):
    """What units contribute before each rival, as linear forms of their columns."""

    columns: NDArray[np.intp]  # those of all units, one after the other
    starts: NDArray[np.intp]  # where those of each unit begin; one more for the end
    first: NDArray[np.float64]  # times first, then times second: a column over a power of two
    second: NDArray[np.float64]
    whole: NDArray[np.float64]  # (rivals, columns): weights times that power, over the scale
    known: NDArray[np.int64]  # (rivals, units): what the units of the instance contribute


@inner
def _wide(forms: Forms, units: NDArray[np.intp]) -> int:
    """Return how many columns some units have."""
    wide = 0
    for u in units:
        wide += forms.starts[u + 1] - forms.starts[u]
    return wide


@strict_inner
def _read(
    rows: NDArray[np.float64],
    forms: Forms,
    units: NDArray[np.intp],
    at: NDArray[np.intp],
    values: NDArray[np.float64],
) -> None:
    """Read the columns of some units in some rows, each over its power of two.

    It is strict: the two factors of a column of denormal numbers, multiplied with each other first,
    would be infinite.
    """
    line = 0
    for u in units:
        for c in range(forms.starts[u], forms.starts[u + 1]):
            j = forms.columns[c]
            for r in range(len(at)):
                values[line, r] = rows[at[r], j] * forms.first[j] * forms.second[j]
            line += 1


@inner
def _add(
    forms: Forms,
    rival: int,
    units: NDArray[np.intp],
    values: NDArray[np.float64],
    total: NDArray[np.float64],
    most: NDArray[np.float64],
) -> None:
    """Add to some margins what fixing each unit adds, and write down the most of that."""
    gain = np.empty(len(total))
    line = 0
    for u in units:
        gain[:] = float(forms.known[rival, u])
        for c in range(forms.starts[u], forms.starts[u + 1]):
            whole = forms.whole[rival, forms.columns[c]]
            for r in range(len(total)):
                gain[r] -= whole * values[line, r]
            line += 1
        for r in range(len(total)):
            total[r] += gain[r]
            most[r] = max(most[r], gain[r])


@kernel
def leads(
    rows: NDArray[np.float64],
    margins: NDArray[np.int64],
    forms: Forms,
    units: NDArray[np.intp],
    places: NDArray[np.intp],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return about the least margin of some rows with some units fixed (Proposition 129).

    Beside it stands what is left of it when the unit is freed that gains most; ``places`` tells
    which rows, and none means all.
    """
    n = len(places) if len(places) else len(rows)
    rivals = len(forms.whole)
    least = np.full(n, np.inf)
    exposed = np.full(n, np.inf)
    values = np.empty((_wide(forms, units), _BLOCK))
    total = np.empty(_BLOCK)
    most = np.empty(_BLOCK)
    for start in range(0, n, _BLOCK):
        m = min(_BLOCK, n - start)
        at = places[start : start + m] if len(places) else np.arange(start, start + m)
        _read(rows, forms, units, at, values)
        for k in range(rivals):
            for r in range(m):
                total[r] = margins[at[r] * rivals + k]
                most[r] = 0.0
            _add(forms, k, units, values, total[:m], most[:m])
            for r in range(m):
                least[start + r] = min(least[start + r], total[r])
                exposed[start + r] = min(exposed[start + r], total[r] - most[r])
    return least, exposed


@kernel
def lead_before_each(
    rows: NDArray[np.float64],
    margins: NDArray[np.int64],
    forms: Forms,
    units: NDArray[np.intp],
    places: NDArray[np.intp],
) -> NDArray[np.float64]:
    """Return about the margins (rivals, rows) of some rows with some units fixed."""
    rivals = len(forms.whole)
    found = np.empty((rivals, len(places)))
    values = np.empty((_wide(forms, units), _BLOCK))
    most = np.empty(_BLOCK)
    for start in range(0, len(places), _BLOCK):
        at = places[start : start + _BLOCK]
        _read(rows, forms, units, at, values)
        for k in range(rivals):
            total = found[k, start : start + len(at)]
            for r in range(len(at)):
                total[r] = margins[at[r] * rivals + k]
            _add(forms, k, units, values, total, most)
    return found


@kernel
def least_without(
    rows: NDArray[np.float64],
    each: NDArray[np.float64],
    forms: Forms,
    units: NDArray[np.intp],
    places: NDArray[np.intp],
) -> NDArray[np.float64]:
    """Return about the least margins of `lead_before_each` when some of the units are freed."""
    least = np.full(len(places), np.inf)
    values = np.empty((_wide(forms, units), _BLOCK))
    gain = np.empty(_BLOCK)
    most = np.empty(_BLOCK)
    for start in range(0, len(places), _BLOCK):
        at = places[start : start + _BLOCK]
        _read(rows, forms, units, at, values)
        for k in range(len(forms.whole)):
            gain[:] = 0.0
            _add(forms, k, units, values, gain[: len(at)], most)
            for r in range(len(at)):
                least[start + r] = min(least[start + r], each[k, start + r] - gain[r])
    return least


@kernel
def mean_gains(
    rows: NDArray[np.float64],
    margins: NDArray[np.int64],
    weights: NDArray[np.int64],
    forms: Forms,
) -> NDArray[np.float64]:
    """Return what fixing each unit adds before each row's worst rival, summed up, about."""
    rivals = len(forms.whole)
    units = len(forms.starts) - 1
    columns = np.zeros((rivals, len(forms.first)))
    counts = np.zeros(rivals)
    for r in range(len(rows)):
        k = np.argmin(margins[r * rivals : (r + 1) * rivals])
        weight = float(weights[r])
        counts[k] += weight
        for j in range(len(forms.first)):
            columns[k, j] += weight * (rows[r, j] * forms.first[j] * forms.second[j])
    found = np.zeros(units)
    for u in range(units):
        for i in range(rivals):
            found[u] += counts[i] * float(forms.known[i, u])
            for c in range(forms.starts[u], forms.starts[u + 1]):
                j = forms.columns[c]
                found[u] -= forms.whole[i, j] * columns[i, j]
    return found
