"""How many members a row needs on its own before several rivals, row by row."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.engines._jit import strict_inner, strict_kernel
from sklearn_probsr.engines.rows._rival_floors import Documents, Values, floor_of

__all__ = ["Present", "row_sizes"]


class Present(NamedTuple):
    """The members that an instance has, which move all rows."""

    place: NDArray[np.intp]  # (d,): of each column among them; -1 for a member that it lacks, or -2
    known: NDArray[np.int64]  # (members, rivals): what the instance contributes there
    ranked: NDArray[np.intp]  # (rivals, members): those that contribute most before each rival


class _Scratch(NamedTuple):
    """What is found, and room."""

    sizes: NDArray[np.int64]  # (n,): how many members each row needs
    heap: NDArray[np.int64]  # gains of members that a row holds
    held: NDArray[np.int64]  # (members,): the last row that holds each, from 1 on
    gains: NDArray[np.int64]  # (members,): those of the others before a rival


@strict_inner
def _sift(heap: NDArray[np.int64], at: int, size: int) -> None:
    """Let a number sink until none below it is larger."""
    value = heap[at]
    below = 2 * at + 1
    while below < size:
        if below + 1 < size and heap[below + 1] > heap[below]:
            below += 1
        if heap[below] <= value:
            break
        heap[at] = heap[below]
        at, below = below, 2 * below + 1
    heap[at] = value


@strict_inner
def _own_gains(
    docs: Documents, table: Values, present: Present, r: int, rival: int, heap: NDArray[np.int64]
) -> int:
    """Write what the members that a row holds gain it, as a heap; return how many gain."""
    size = 0
    for e in range(docs.starts[r], docs.starts[r + 1]):
        j = docs.columns[e]
        place = present.place[j]
        if place > -2:
            x = docs.values[e]
            y = x * table.first[j] * table.second[j]
            gain = -np.int64(floor_of(x, y, table.whole[table.line[j], rival]))
            if place >= 0:
                gain += present.known[place, rival]
            if gain > 0:
                heap[size] = gain
                size += 1
    for at in range(size // 2 - 1, -1, -1):
        _sift(heap, at, size)
    return size


@strict_inner
def _size_of(
    margin: Any,
    floor: int,
    most: int,
    gains: NDArray[np.int64],
    order: NDArray[np.intp],
    heap: NDArray[np.int64],
    own: Any,
) -> int:
    """Return how many gains lift a margin to the floor, the largest first, or ``most``.

    ``order`` ranks ``gains``, and ``heap`` has ``own`` others; gains that do not count are -1.
    """
    size, at = 0, 0
    while margin < floor and size < most:
        while at < len(order) and gains[order[at]] < 0:
            at += 1
        other = gains[order[at]] if at < len(order) else 0
        if own and heap[0] > other:
            margin += heap[0]
            own -= 1
            heap[0] = heap[own]
            _sift(heap, 0, own)
        elif other > 0:
            margin += other
            at += 1
        else:
            return most
        size += 1
    return size


@strict_kernel
def _fill_sizes(
    docs: Documents,
    table: Values,
    present: Present,
    margins: NDArray[np.int64],
    floor: int,
    most: int,
    scratch: _Scratch,
) -> None:
    """Write how many members each row needs."""
    sizes, heap, held, gains = scratch
    rivals = margins.shape[1]
    for r in range(len(margins)):
        first = 0
        for i in range(1, rivals):
            if margins[r, i] < margins[r, first]:
                first = i
        if margins[r, first] >= floor:
            continue
        for e in range(docs.starts[r], docs.starts[r + 1]):
            place = present.place[docs.columns[e]]
            if place >= 0:
                held[place] = r + 1
        for step in range(rivals):
            i = (first + step) % rivals
            if margins[r, i] >= floor or sizes[r] >= most:
                continue
            for j in range(len(gains)):
                gains[j] = -1 if held[j] == r + 1 else present.known[j, i]
            for whole in range(0 if step else 1, 2):
                own = _own_gains(docs, table, present, r, i, heap) if whole else 0
                limit = most if whole else sizes[r] + 1
                size = _size_of(margins[r, i], floor, limit, gains, present.ranked[i], heap, own)
                if size <= sizes[r]:
                    break
                if whole:
                    sizes[r] = size


def row_sizes(
    docs: Documents,
    table: Values,
    present: Present,
    margins: NDArray[np.int64],
    floor: int,
    most: int,
) -> NDArray[np.int64]:
    """Return how many members each row needs on its own before all rivals, or ``most`` (Lemma 32).

    What a row holds is only looked at where the members that it does not hold are too few before a
    rival (Lemma 151).
    """
    longest = int(np.diff(docs.starts).max(initial=0))
    n, members = len(margins), len(present.known)
    rooms = (np.zeros(size, dtype=np.int64) for size in (n, longest, members, members))
    scratch = _Scratch(*rooms)
    _fill_sizes(docs, table, present, margins, floor, most, scratch)
    return scratch.sizes
