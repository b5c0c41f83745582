"""Rows whose unknown features are fair coins, answered together: by whole numbers or by tables.

A row's answer never depends on the other rows. What tables bound is Proposition 23.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from sklearn_probsr.core.answers import Found
from sklearn_probsr.core.options import Task
from sklearn_probsr.engines._level import Level
from sklearn_probsr.engines.coins._answers import Answers, write_members
from sklearn_probsr.engines.coins._batch import Aim, TableRows, search_rows
from sklearn_probsr.engines.coins._enumeration import MOST_COMPILED
from sklearn_probsr.engines.coins._lattice import lattice_rows
from sklearn_probsr.laws.coins._coin_prover import just_above
from sklearn_probsr.laws.coins._ranking import EFFORTS, Ranking
from sklearn_probsr.laws.coins._whole import Shown, WholeRows
from sklearn_probsr.model._exact import floats_around

__all__ = ["claim_rows", "decide", "helping", "tell"]

# So few features are counted.
_FEW = 16
_NEXT_TO_ONE = Fraction(999, 1000)


def helping(ranking: Ranking, given: Shown, exclude: tuple[int, ...]) -> NDArray[np.bool_]:
    """Tell which ranks of each row are members: their score is positive, and they are allowed."""
    agrees = given.told[:, ranking.features] == ranking.upward
    may = ~np.isin(ranking.features, exclude)
    helps: NDArray[np.bool_] = (agrees == given.positive[:, None]) & may
    return helps


def decide(
    ranking: Ranking, given: Shown, task: Task, answers: Answers
) -> NDArray[np.int64] | None:
    """Answer rows by whole numbers or by tables; return how many features certainty needs."""
    if task.delta < 1:
        _search_together(ranking, given, task, answers)
        return None
    most = _most(ranking, task)
    needed = WholeRows.of(ranking, given, task.exclude).certain(most, answers)
    short = np.flatnonzero(needed > most)
    if task.max_size is not None and len(short):
        best = answers.take(short)
        _search_together(ranking, given.take(short), task, best)
        answers.put(short, best)
    return needed


def _most(ranking: Ranking, task: Task) -> int:
    """Return the most features that may be added to the forced ones."""
    n = len(ranking.features)
    return n if task.most is None else min(task.most, n)


def claim_rows(answers: Answers, task: Task, found: Found, done: NDArray[np.bool_]) -> list[int]:
    """Say what the bounds of each answer prove; they are in place already.

    Returns the rows of which one feature fewer is left open.
    """
    low, high = floats_around(task.delta)
    reached = done & (answers.lower >= high)
    near = reached & (answers.size > 0) & (answers.before >= low)
    least = answers.size + len(task.include)
    if reached.all():
        found.minimality[:] = "minimum"
        found.size_lower[:] = least
    else:
        # Where not even this many are enough, one more is needed at least.
        missed = done & ~reached
        short = missed & (answers.upper < low)
        found.minimality[reached] = "minimum"
        found.minimality[missed] = "best-of-size"
        found.size_lower[reached] = least[reached]
        found.size_lower[missed] = np.where(short, least + 1, len(task.include))[missed]
    found.minimality[near] = "near-minimum"
    left: list[int] = near.nonzero()[0].tolist()
    for i in left:
        found.epsilon[i] = just_above(Fraction(answers.before[i]) - task.delta)
    return left


def tell(
    ranking: Ranking, given: Shown, sizes: NDArray[np.int64], task: Task, found: Found
) -> None:
    """Write down the sets: so many of the members of each row that has a size, by score."""
    ranks = ranking.candidates(ranking.magnitudes, task.exclude)
    forced = np.array(task.include, dtype=np.int64)
    at = (sizes >= 0).nonzero()[0]
    whole = sizes[at] + len(forced)
    told = np.empty(int(whole.sum()), dtype=np.int32)
    rows = np.ascontiguousarray(given.told)
    write_members(rows, given.positive, ranks, sizes, forced, told)
    found.writer.write_many(at, whole, told)


def _search_together(ranking: Ranking, given: Shown, task: Task, answers: Answers) -> None:
    """Answer the rows that counting, or shared tables, decide.

    Where delta is 1, these are rows without certainty: the best sets of the largest size are
    looked at, and no level ends the search before.
    """
    n, most = len(ranking.features), _most(ranking, task)
    low, high = floats_around(task.delta)
    if task.delta == 1:
        low = high = math.inf
    if n <= _FEW:
        WholeRows.of(ranking, given, task.exclude).count(high, most, answers)
    if n <= _FEW or not ranking.usable:
        return
    rows, positive = np.ascontiguousarray(given.told), given.positive
    if ranking.integers is not None:
        margins = given.margins(ranking.model.integer_form, 0)
        ranks = ranking.candidates(ranking.integers, task.exclude)
        lattice_rows(rows, positive, margins, ranks, Level(low, high), most, answers)
        return
    ranks = ranking.candidates(ranking.magnitudes, task.exclude)
    # The bounds go one ulp outward at the end, so the level has to be passed by one more.
    level, quantile = Level(low, high), math.inf
    if task.delta < 1:
        quantile = min(max(float(ndtri(low)), -8.0), 8.0)
        level = level.passed
    cut = ranking.cuts(given.rows, positive)
    batch = TableRows(rows, positive, cut, ranking.blur, shared=not task.include)
    aim = Aim(level, quantile, most, False)
    search_rows(batch, ranks, ranking.rests, aim, ranking.tables(0), answers)
    # The tables have the last word on rows that are too long to count, unless a slack or a level
    # next to 1 (where certainty must be told from near-certainty) asks for more care.
    careful = task.slack is not None or task.delta > _NEXT_TO_ONE
    last = None if careful or n <= MOST_COMPILED else len(EFFORTS) - 1
    # Deeper tables pay where products decay, so that the largest degree has few live nodes.
    decays = ranking.decays
    deepest = len(EFFORTS) if last and decays else 2 if decays or n <= MOST_COMPILED else 1
    for effort in range(1, deepest):
        left = (answers.size < 0).nonzero()[0]
        if not len(left):
            break
        again, tables = answers.take(left), ranking.tables(effort)
        some = batch._replace(rows=rows[left], positive=positive[left], cut=cut[left])
        search_rows(some, ranks, ranking.rests, aim._replace(final=effort == last), tables, again)
        answers.put(left, again)
    np.nextafter(answers.lower, -1.0, out=answers.lower, where=answers.lower < 1)
    np.maximum(answers.lower, 0.0, out=answers.lower)
    np.nextafter(answers.upper, 2.0, out=answers.upper, where=answers.upper < 1)
