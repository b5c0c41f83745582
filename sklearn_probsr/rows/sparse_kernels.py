"""Rows that are mostly zeros before the rivals of one class: what fixing a column does to them.

What comes in is a background by columns (`Columns`), whose values are multiplied by whole-number
weights, one for each score, and rounded; and an instance before it (`Case`): what every row has to
spare with some columns fixed. Numbers are whole floats of 64 bits whose sums stay below ``2^53``,
so that no order of additions matters (Lemma 45). Margins are optimistic: a row with one below 0 is
surely lost, one with all of them at ``sure`` or above is surely kept, and the others are in doubt.

Fixing a column that the instance lacks moves the rows that hold it and no other (Lemma 45): nothing
as large as a filled table is ever made. Rows stand in a random order, so that the first ones are a
part of them that was drawn.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.core.jit import inner, kernel

__all__ = ["Case", "Columns", "Documents", "Members", "add_lifts", "follow", "needs"]


class Columns(NamedTuple):
    """Rows by columns, and what a value is worth for each score."""

    starts: NDArray[np.int64]  # (d + 1,): where the values of each column are
    rows: NDArray[np.int32]  # (values,): the row of each, increasing in a column
    values: NDArray[np.float64]  # (values,)
    weights: NDArray[np.float64]  # (d, K): over the scale


class Documents(NamedTuple):
    """The same rows one by one."""

    starts: NDArray[np.int64]  # (n + 1,): where the values of each document are
    columns: NDArray[np.int32]  # (values,): the column of each
    values: NDArray[np.float64]  # (values,)
    at: NDArray[np.intp]  # (n,): which document each row is


class Case(NamedTuple):
    """Rows before one instance, with some of its columns fixed."""

    margins: NDArray[np.float64]  # (R, n)
    low: NDArray[np.float64]  # (n,): the least margin of every row
    counts: NDArray[np.float64]  # (n,): what each row weighs
    winner: int  # the score of the class, and those of its rivals
    rivals: NDArray[np.int64]  # (R,)
    place: NDArray[np.int32]  # (d,): of a column among those that the instance has; -1 elsewhere
    known: NDArray[np.float64]  # (columns that the instance has, R): what it adds there
    sure: float  # from here on a row is surely kept
    near: NDArray[np.float64]  # (n,): room to work in
    each: NDArray[np.float64]  # (2, R): room for what a column adds to all rows, and its weights


@inner
def _sums(
    low: NDArray[np.float64], counts: NDArray[np.float64], sure: Any, n: Any
) -> tuple[Any, Any, Any]:
    """Return what the first rows lose and miss by least margins, and how many are in doubt."""
    lost, missing, doubts = 0.0, 0.0, 0.0
    for r in range(n):
        below = low[r] < 0.0
        lost += counts[r] if below else 0.0
        missing += counts[r] * low[r] if below else 0.0
        doubts += 1.0 if (low[r] >= 0.0) & (low[r] < sure) else 0.0
    return lost, missing, doubts


@kernel
def follow(  # noqa: PLR0912 (a step is one thing, and is compiled once)
    table: Columns,
    case: Case,
    order: NDArray[np.intp],
    sign: float,
    n: int,
    stays: bool,
    spare: float,
    told: NDArray[np.float64],
) -> int:
    """Fix columns one by one (sign 1), or free them (-1), and tell what the first n rows come to.

    If it ``stays``, each is fixed beside those before it, in all rows: the margins of the case are
    moved, until no more than ``spare`` is lost. Else each is fixed alone, and then not. Of a column
    that the instance lacks only the rows that hold it are looked at (Lemma 45).

    Parameters
    ----------
    told : ndarray of float64, shape (len(order) + 1, 3)
        Written: the weight lost, what the rows below 0 miss by weight, never above 0, and how many
        rows are in doubt; first as the case is, and then with each column.

    Returns
    -------
    int
        How many columns were fixed.
    """
    margins, low, counts, each, sure = case.margins, case.low, case.counts, case.each, case.sure
    now = _sums(low, counts, sure, n)
    told[0, 0], told[0, 1], told[0, 2] = now
    for i in range(len(order)):
        if stays and now[0] <= spare:
            return i
        j, near, (lost, missing, doubts) = order[i], low, now
        p, weights = case.place[j], table.weights[j]
        for k in range(len(margins)):
            each[0, k] = sign * case.known[p, k] if p >= 0 else 0.0
            each[1, k] = sign * (weights[case.winner] - weights[case.rivals[k]])
        if p >= 0:
            near = case.near
            for k in range(len(margins)):
                line, more = margins[k], each[0, k]
                if k == 0:
                    for r in range(n):
                        near[r] = line[r] + more
                else:
                    for r in range(n):
                        near[r] = min(near[r], line[r] + more)
                if stays:
                    for r in range(n):
                        line[r] += more
                    each[0, k] = 0.0
            lost, missing, doubts = _sums(near, counts, sure, n)
        for e in range(table.starts[j], table.starts[j + 1]):
            r, value, after = table.rows[e], table.values[e], np.inf
            if r >= n:
                break
            for k in range(len(margins)):
                margin = margins[k, r] + (each[0, k] - np.rint(each[1, k] * value))
                after = min(after, margin)
                if stays:
                    margins[k, r] = margin
            before, count = near[r], counts[r]
            lost += count * (np.float64(after < 0.0) - np.float64(before < 0.0))
            missing += count * (min(after, 0.0) - min(before, 0.0))
            doubts += 1.0 if (after >= 0.0) & (after < sure) else 0.0
            doubts -= 1.0 if (before >= 0.0) & (before < sure) else 0.0
            if stays:
                near[r] = after
        told[i + 1, 0], told[i + 1, 1], told[i + 1, 2] = lost, missing, doubts
        if stays:
            now = lost, missing, doubts
            if p >= 0:
                for r in range(n):
                    low[r] = near[r]
    return len(order)


@kernel
def add_lifts(
    table: Columns,
    docs: Documents,
    case: Case,
    lost: NDArray[np.intp],
    hinge: bool,
    found: NDArray[np.float64],
) -> float:
    """Add up what each column brings, before the worst rival of each of some rows that are lost.

    That is the weight of the rows that it lifts to 0, or (``hinge``) what it takes off what is
    missing: at most so much before all rivals (Lemma 151). Returns the weight of the rows.
    """
    seen = 0.0
    for i in range(len(lost)):
        r, rival = lost[i], 0
        while case.margins[rival, r] != case.low[r]:
            rival += 1
        doc, lack, count = docs.at[r], -case.low[r], case.counts[r]
        seen += count
        for e in range(docs.starts[doc], docs.starts[doc + 1]):
            weights = table.weights[docs.columns[e]]
            lift = (weights[case.rivals[rival]] - weights[case.winner]) * docs.values[e]
            if hinge:
                found[docs.columns[e]] += count * max(min(lift, lack), 0.0)
            elif lift >= lack:
                found[docs.columns[e]] += count
    return seen


# --- what rows need ---------------------------------------------------------------------------


class Members(NamedTuple):
    """The columns that may be fixed, as rows are asked what they need of them."""

    inside: NDArray[np.bool_]  # (d,)
    ranked: NDArray[np.intp]  # (R, k): those of the instance, by what they add before each rival
    held: NDArray[np.int64]  # (k,): the last question whose row holds each; room to work in
    best: NDArray[np.float64]  # as many gains as are told apart; room to work in


@inner
def _fewest(
    known: NDArray[np.float64],
    ranked: NDArray[np.intp],
    held: NDArray[np.int64],
    asked: Any,
    best: NDArray[np.float64],
    size: Any,
    lack: Any,
) -> Any:
    """Return how many members make up for what a row lacks before a rival; one too many if none do.

    Of what the row holds ``best`` are the largest gains, in order; ``held`` tells by ``asked``
    which of the members that the instance has these are.
    """
    most, found, own, other = len(best), np.int64(0), 0, 0
    while lack > 0.0:
        while other < len(ranked) and held[ranked[other]] == asked:
            other += 1
        gain = known[ranked[other]] if other < len(ranked) else 0.0
        if own < size and best[own] >= gain:
            gain = best[own]
            own += 1
        else:
            other += 1
        if gain <= 0.0 or found == most:
            return most + 1
        lack -= gain
        found += 1
    return found


@kernel
def needs(
    table: Columns,
    docs: Documents,
    case: Case,
    members: Members,
    asked: NDArray[np.intp],
    least: int,
    sizes: NDArray[np.int64],
) -> None:
    """Write how many members each of some rows needs on its own, or ``least`` if it needs fewer.

    What a row holds is only looked at before rivals where the members that it does not hold are too
    few (Lemma 151).
    """
    best, held = members.best, members.held
    for i in range(len(asked)):
        r, need = asked[i], np.int64(least)
        first, last = docs.starts[docs.at[r]], docs.starts[docs.at[r] + 1]
        for e in range(first, last):
            p = case.place[docs.columns[e]]
            if p >= 0:
                held[p] = i + 1
        for k in range(len(case.margins)):
            lack, size, known, ranked = -case.margins[k, r], 0, case.known[:, k], members.ranked[k]
            if need > len(best) or _fewest(known, ranked, held, i + 1, best, 0, lack) <= need:
                continue
            for e in range(first, last):
                j = docs.columns[e]
                weights, p = table.weights[j], case.place[j]
                gain = -np.rint((weights[case.winner] - weights[case.rivals[k]]) * docs.values[e])
                gain += known[p] if p >= 0 else 0.0
                at = size
                if gain <= 0.0 or not members.inside[j]:
                    continue
                if size < len(best):
                    size += 1
                elif best[size - 1] < gain:
                    at -= 1
                else:
                    continue
                while at > 0 and best[at - 1] < gain:
                    best[at] = best[at - 1]
                    at -= 1
                best[at] = gain
            need = max(need, _fewest(known, ranked, held, i + 1, best, size, lack))
        sizes[i] = need
