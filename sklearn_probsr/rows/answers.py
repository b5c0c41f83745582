"""From rows before an instance to its answer: propose, prune, prove, and say what was proved.

Greed proposes two sets, which are pruned exactly. Then `Search` looks for one that is smaller until
there is none (proved), or its cells are spent; what is left of them raises the size below which
nothing reaches the level. A set that is no proved minimum is searched itself: if no part of it
reaches the level, it is subset-minimal (Lemma 174). Costs are searched in the same way, by whole
prices, after sizes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.core.options import Prices as Costs
from sklearn_probsr.core.options import Task
from sklearn_probsr.rows.search import Prices, Search

__all__ = [
    "Answer",
    "Candidates",
    "Searched",
    "best_of",
    "cheapest",
    "claimed",
    "first_of",
    "is_too_large",
    "part_of",
    "smallest",
]

# The part of the cells, and of the time, that raises the least size once smaller sets stay open.
_FROM_BELOW = 0.25
# A search with a time limit looks at the clock after so many cells.
_BETWEEN_CLOCKS = 2**27
# Cells for a better set of the same size, for the best of a size, and for the parts of a set.
_TO_IMPROVE, _FOR_BEST, _TO_CLAIM = 2**17, 2**24, 2**26
# What rows need on their own is told for so many cells, however few may be looked at.
_FREE = 2**24
# What is exactly counted costs so many cells of rounded numbers for each of its own.
_EXACTLY = 32
# So many gains are few: of these a better set of the same size is looked for.
_FEW_GAINS = 2**13
# In so many steps prices are told apart.
_STEPS, _LONGEST = 64, 2**61
# With fewer steps than these, as many cells of a table would not do, it is not made.
_LEAST_STEPS, _TABLE = 4, 2**26


class Searched(NamedTuple):
    """A search over rows of an instance.

    Attributes
    ----------
    search : Search
    lost : ndarray of int64, shape (levels + 1,)
        The weight of all rows that no set keeps, for every step of its price.
    beside : int
        The weight of rows that are not searched, and that no set keeps.
    """

    search: Search
    lost: NDArray[np.int64]
    beside: int


class Candidates(Protocol):
    """Rows before one instance, and the units that may be fixed: candidates, by place.

    Attributes
    ----------
    units : ndarray of int64, shape (h,)
        By decreasing mean gain.
    monotone : bool
        Whether fixing one never hurts.
    spare : int
        The weight that may be lost.
    cells : int
        How many margins rows have: a set that is counted looks at so many.
    """

    units: NDArray[np.int64]
    monotone: bool
    spare: int
    cells: int

    @property
    def gains(self) -> float:
        """How many numbers a table for `searched` begins with; infinite if none is ever made."""

    def lost(self, chosen: Sequence[int], spare: int) -> int:
        """Return the weight lost with a set fixed, exactly, or more than ``spare`` of it."""

    def pruned(self, order: Sequence[int], spare: int) -> tuple[list[int], int]:
        """Leave out what is not needed, the last first; return the rest, and what it loses."""

    def proposals(self, prices: NDArray[np.float32]) -> list[tuple[list[int], bool]]:
        """Return orders that greed takes candidates in, and whether each reaches the level."""

    def ranked(self) -> list[int]:
        """Return all candidates in the order in which greed takes them."""

    def along(self, order: Sequence[int]) -> NDArray[np.int64]:
        """Return the weight lost with the first 0, 1, 2, ... of an order fixed, exactly."""

    def least(self, most: int) -> int:
        """Return a size, at most ``most``, below which no set reaches the level: cheaply."""

    def parted(self, chosen: Sequence[int], task: Task) -> tuple[int, list[int]]:
        """Look for a part of a set that reaches the level: 1 with one, 0 if none does, or -1."""

    def searched(self, prices: Prices, part: Sequence[int] | None = None) -> Searched:
        """Return a search for sets of some price, of all candidates or of some."""


class Answer(NamedTuple):
    """What was found of one instance.

    Attributes
    ----------
    chosen : list of int or None
        Places of a set that reaches the level; None if none was found.
    lost : int
        The weight that it loses.
    least : int
        No set of fewer candidates reaches the level (or of a lower price).
    late : bool
        Whether time ended the search.
    """

    chosen: list[int] | None
    lost: int
    least: int
    late: bool = False


class _Looking:
    """A search for sets of at most a price, with what is left of its cells."""

    def __init__(self, rows: Candidates, searched: Searched, cells: int, task: Task) -> None:
        self.rows, self.task = rows, task
        self.search, self.lost_by_price, self.beside = searched
        self.left = cells - self.search.spent
        self.all, self.late = max(self.left, 0), False

    def least(self, spare: int) -> int:
        """Return the first step of price at which too much is not lost for certain."""
        return int(np.count_nonzero(self.lost_by_price > spare))

    def next(
        self, limit: int, fewest: int, spare: int, later: float = 0.0
    ) -> tuple[int, list[int], int]:
        """Return the next set that is counted to lose at most ``spare``, and what it loses.

        The verdict is 1, 0 (there is none) or -1; ``later`` is the part of the cells, and of the
        time, that is left for other questions.
        """
        nothing: list[int] = []
        task, search = self.task, self.search
        kept, seconds = int(later * self.all), later * task.seconds
        if not search.fits:
            return -1, nothing, 0
        while self.left > kept:
            budget = self.left - kept
            if task.effort.thorough:
                budget = min(budget, _BETWEEN_CLOCKS)
            before = search.spent
            verdict, found = search.next(limit, fewest, spare - self.beside, budget)
            self.left -= search.spent - before
            if verdict == 0:
                return 0, nothing, 0
            if verdict == 1:
                chosen = found.tolist()
                self.left -= _EXACTLY * (len(chosen) + 1) * self.rows.cells
                lost = self.rows.lost(chosen, spare)
                if lost <= spare:
                    return 1, chosen, lost
            if task.effort.thorough and task.seconds <= seconds:
                self.late = True
                break
        return -1, nothing, 0


def first_of(rows: Candidates) -> Answer:
    """Return the smaller of two sets that greed finds, of which nothing can be left out."""
    best = Answer(None, 0, 0)
    for order, reaches in rows.proposals(np.ones(len(rows.units), dtype=np.float32)):
        if reaches:
            chosen, lost = rows.pruned(order, rows.spare)
            held = best.chosen
            if held is None or (len(chosen), lost) < (len(held), best.lost):
                best = Answer(chosen, lost, 0)
    return best


def _best_proposed(rows: Candidates, prices: NDArray[np.float32]) -> Answer:
    """Return the cheapest of the sets that greed finds at some prices."""
    best = Answer(None, 0, 0)
    for order, reaches in rows.proposals(prices):
        if not reaches:
            continue
        chosen, lost = rows.pruned(sorted(order, key=lambda j: prices[j]), rows.spare)
        one = Answer(chosen, lost, 0)
        if best.chosen is None or _rank(one, prices) < _rank(best, prices):
            best = one
    return best


def _rank(answer: Answer, prices: NDArray[np.float32]) -> tuple[float, int]:
    return float(prices[answer.chosen or []].sum()), answer.lost


def smallest(rows: Candidates, start: Answer, task: Task) -> Answer:
    """Look for smaller sets than one, until there is none or the effort is spent.

    Without a set to start from it looks for one of any size. ``max_size`` is not looked at: below
    which size nothing reaches the level is told whatever it is.
    """
    h, best, wanted = len(rows.units), start, task.effort.wanted
    if best.chosen is None and rows.monotone:
        return Answer(None, 0, h + 1)  # all together do not reach the level
    if best.chosen is not None and (not best.chosen or not (wanted or is_too_large(best, task))):
        return best
    limit = h if best.chosen is None else len(best.chosen) - 1
    # A small table serves to improve what is found, too.
    few = rows.gains <= _FEW_GAINS
    levels = min(limit + few, h)
    cells = task.effort.cells(rows.cells)
    if not h or 2 * (levels + 2) * rows.gains > max(cells, _FREE):
        lost = rows.lost((), rows.spare)
        if lost <= rows.spare:
            return Answer([], lost, 0)
        if best.chosen is not None:
            return best._replace(least=rows.least(len(best.chosen)))
        return best if h else Answer(None, 0, 1)
    ones = np.ones(h, dtype=np.int64)
    looking = _Looking(rows, rows.searched(Prices(ones, 1, levels, levels)), cells, task)
    best, least = _shrunk(rows, looking, best, limit)
    late = task.is_late
    if best.chosen is not None and few and wanted and cells > 0 and not late:
        best = _improved(rows, looking, best, len(best.chosen), _TO_IMPROVE)
    return best._replace(least=least, late=late)


def is_too_large(best: Answer, task: Task) -> bool:
    """Tell whether a set has more candidates than may be added to what is forced."""
    return task.most is not None and len(best.chosen or []) > task.most


def _shrunk(rows: Candidates, looking: _Looking, best: Answer, limit: int) -> tuple[Answer, int]:
    """Return the smallest set found of at most a size, and the least size that is not ruled out."""
    least = looking.least(rows.spare)
    while limit >= least and not looking.late:
        verdict, found, _ = looking.next(limit, least, rows.spare, _FROM_BELOW)
        if verdict < 0:
            break
        if verdict == 0:
            return best, limit + 1
        chosen, lost = rows.pruned(found, rows.spare)
        best = Answer(chosen, lost, 0)
        limit = len(chosen) - 1
    if least <= limit and looking.left > 0 and looking.search.fits and not looking.task.is_late:
        least = looking.search.least(least, limit, rows.spare - looking.beside)
    while least <= limit and looking.left > 0 and not looking.task.is_late:
        looking.search.again()
        verdict, found, lost = looking.next(least, least, rows.spare)
        if verdict < 0:
            break
        if verdict == 1:
            return Answer(found, lost, 0), least
        least += 1
    return best, min(least, limit + 1)


def _improved(rows: Candidates, looking: _Looking, best: Answer, size: int, cells: int) -> Answer:
    """Return the best set of at most a size, as far as a little effort goes."""
    looking.search.again()
    looking.left = looking.all = cells
    while best.lost > 0:
        verdict, found, lost = looking.next(size, 0, best.lost - 1)
        if verdict != 1:
            break
        best = best._replace(chosen=found, lost=lost)
    return best


def best_of(rows: Candidates, size: int, task: Task) -> Answer:
    """Return the best set found of at most a size."""
    order = rows.ranked()[:size]
    lost = rows.along(order)
    k = len(order) if rows.monotone else int(np.argmin(lost))
    best = Answer(order[:k], int(lost[k]), 0)
    h = len(rows.units)
    if not h or not size or 2 * (size + 2) * rows.gains > task.effort.cells(rows.cells):
        return best
    ones = np.ones(h, dtype=np.int64)
    searched = rows.searched(Prices(ones, 1, size, size))
    return _improved(rows, _Looking(rows, searched, 0, task), best, size, _FOR_BEST)


def claimed(rows: Candidates, best: Answer, task: Task) -> tuple[Answer, str]:
    """Prove that nothing can be left out of a set, or leave it out.

    A set that was pruned is subset-minimal where fixing never hurts (Corollary 4b); else the parts
    of it are searched (Lemma 174).
    """
    while True:
        chosen, lost = rows.pruned(best.chosen or [], rows.spare)
        best = best._replace(chosen=chosen, lost=lost)
        if rows.monotone or not chosen:
            return best, "subset-minimal"
        if task.is_over:
            return best, "locally-minimal"
        verdict, found = rows.parted(chosen, task)
        if verdict == 0:
            return best, "subset-minimal"
        if verdict < 0:
            return best, "locally-minimal"
        best = best._replace(chosen=found)


def part_of(rows: Candidates, chosen: Sequence[int], task: Task) -> tuple[int, list[int]]:
    """Look for a part of a set that reaches the level by a search of the set itself (Lemma 53)."""
    size = len(chosen)
    prices = Prices(np.ones(size - 1, dtype=np.int64), 1, size - 1, size - 1)
    rest = [[*chosen[:i], *chosen[i + 1 :]] for i in range(size)]
    few = size * rows.gains <= _FREE
    if few and all(rows.searched(prices, part).lost[-1] > rows.spare for part in rest):
        return 0, []  # without any one of them
    prices = Prices(np.ones(size, dtype=np.int64), 1, size - 1, size - 1)
    looking = _Looking(rows, rows.searched(prices, chosen), _TO_CLAIM, task)
    if looking.lost_by_price[-1] > rows.spare:
        return 0, []
    looking.rows = _Part(rows, list(chosen))  # type: ignore[assignment]
    verdict, found, _ = looking.next(size - 1, 0, rows.spare)
    return verdict, [chosen[j] for j in found]


class _Part:
    """Some of the candidates, by their places among these."""

    def __init__(self, rows: Candidates, part: list[int]) -> None:
        self._rows, self._part, self.cells = rows, part, rows.cells

    def lost(self, chosen: Sequence[int], spare: int) -> int:
        """Return the weight lost with a set fixed."""
        return self._rows.lost([self._part[j] for j in chosen], spare)


def cheapest(
    rows: Candidates, start: Answer, fewest: int, costs: Costs, task: Task
) -> tuple[Answer, str]:
    """Look for cheaper sets than one that reaches the level; ``least`` is in whole prices.

    ``fewest`` candidates at least are in any set. Of sets that cost the same the smallest is taken:
    a candidate counts its cost times more than there are candidates, and one.
    """
    h = len(rows.units)
    base = h + 1
    counts = [costs.whole[u] * base + 1 for u in rows.units.tolist()]
    most = h if task.most is None else min(task.most, h)
    floats = np.array([max(float(c / max(counts)), 1e-30) for c in counts], dtype=np.float64)

    def count(chosen: Sequence[int]) -> int:
        return sum(counts[j] for j in chosen)

    tried = [start]
    dearest = sorted(start.chosen or [], key=lambda j: counts[j])
    chosen, lost = rows.pruned(dearest, rows.spare)
    tried.append(Answer(chosen, lost, 0))
    for power in (1.0, 0.5):
        one = _best_proposed(rows, (floats**power).astype(np.float32))
        if one.chosen is not None and len(one.chosen) <= most:
            chosen, lost = rows.pruned(sorted(one.chosen, key=lambda j: counts[j]), rows.spare)
            tried.append(Answer(chosen, lost, 0))
    best = min(tried, key=lambda a: count(a.chosen or []))
    floor = sum(sorted(counts)[:fewest])
    late = False
    if task.effort.wanted and count(best.chosen or []) > floor:
        best, found_floor, late = _branched(rows, best, counts, most, fewest, task)
        floor = max(floor, found_floor)
    best = best._replace(least=floor // base, late=late)
    total = costs.total(rows.units[best.chosen or []].tolist())
    if total == best.least:
        return best, "minimum"
    least = best.least
    best, word = claimed(rows, best, task)
    total = costs.total(rows.units[best.chosen or []].tolist())
    best = best._replace(least=least, late=late)
    return best, "minimum" if total == least else word


def _branched(
    rows: Candidates, best: Answer, counts: list[int], most: int, fewest: int, task: Task
) -> tuple[Answer, int, bool]:
    """Return the best set found, and what sets that reach the level count at least."""
    bits = max(sum(counts).bit_length() - _LONGEST.bit_length() + 1, 0)
    rounded = np.array([c >> bits for c in counts], dtype=np.int64)

    def count(answer: Answer) -> int:
        return sum(counts[j] for j in answer.chosen or [])

    limit = (count(best) - 1) >> bits
    cells = task.effort.cells(rows.cells)
    steps = min(_STEPS, int(_TABLE / max(rows.gains, 1)), limit)
    if steps < min(_LEAST_STEPS, limit) or rows.gains == math.inf:
        return best, 0, task.is_late  # a table of so many gains would take too long
    step = limit // max(steps, 1) + 1
    prices = Prices(rounded, step, limit // step, most)
    looking = _Looking(rows, rows.searched(prices), cells, task)
    least = looking.least(rows.spare)
    floor = (least * step) << bits
    if least > prices.levels:
        return best, count(best), False
    while True:
        verdict, chosen, lost = looking.next((count(best) - 1) >> bits, fewest, rows.spare)
        if verdict == 1:
            one = Answer(chosen, lost, 0)
            # Prices were rounded down: what is found may be as dear as the best.
            best = one if count(one) < count(best) else best
            continue
        break
    if verdict == 0:
        return best, count(best), False
    # Steps are smaller for what is dear at most now.
    limit = (count(best) - 1) >> bits
    step = limit // max(steps, 1) + 1
    levels = Prices(rounded, step, limit // step, most)
    again = _Looking(rows, rows.searched(levels), cells, task).least(rows.spare)
    return best, min(max(floor, (again * step) << bits), count(best)), looking.late
