"""Minima that the search proves by refuting many sets, of 10 to 14 units, against all sets."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pytest

from sklearn_probsr import Background, LinearModel, Unit
from sklearn_probsr.core.answers import Found
from sklearn_probsr.core.options import Effort, Limits, Task
from sklearn_probsr.core.search import search
from sklearn_probsr.extend import law_of
from sklearn_probsr.rows import stream
from sklearn_probsr.rows.search import Search
from tests.refutable import Refutable, binary, categorical, many_valued

# Nothing is counted one by one while tables can tell.
SOON = Limits(few_sets=0, most_sets=0, most_compared=0)


def levels(case: Refutable) -> tuple[list[Fraction], list[Fraction]]:
    """Return levels between what the best sets of two sizes reach, and some that are hit or missed.

    The latter are so close to a guarantee that a proof may be out of reach.
    """
    bests = [case.truth.best(size, True) for size in range(1, 7)]
    between = [(a + b) / 2 for a, b in pairwise(bests[1:]) if b - a > 0.005]
    close = [delta for delta in (bests[3], bests[2] + Fraction(1, 10**9)) if delta < 1]
    return between, close


def check(case: Refutable, found: Found, delta: Fraction) -> bool:
    """Compare an answer with all sets; return whether it is proved to be a minimum."""
    features = found.sets.of(0)
    share, least = case.truth.share(features), case.truth.least(delta)
    assert share >= delta
    assert Fraction(found.lower[0]) <= share <= Fraction(found.upper[0])
    assert least is not None
    assert found.size_lower[0] <= least <= len(features)
    is_minimum = found.minimality[0] == "minimum"
    assert not is_minimum or len(features) == least == found.size_lower[0]
    return bool(is_minimum)


MAKERS: dict[str, Callable[[int], Refutable]] = {
    "binary": binary,
    "few binary": partial(binary, others=6),
    "pure": partial(many_valued, mixed=False),
    "mixed": partial(many_valued, mixed=True),
    "categorical": categorical,
}


@pytest.mark.parametrize("kind", MAKERS)
def test_minima_of_independent_units(kind: str):
    """Every claim holds; away from the guarantees of sets, every answer is proved a minimum."""
    for seed in range(4):
        case = MAKERS[kind](seed)
        between, close = levels(case)
        for delta in between + close:
            task = case.task(delta, Effort(max_evals=10**6, limits=SOON))
            found = search(law_of(case.model, case.law), case.rows, task)
            is_minimum = check(case, found, delta)
            assert is_minimum or delta in close


def test_time_is_up():
    """Where the time of a row is over, less is proved of it; with time, everything is."""
    case = many_valued(1, mixed=True)
    delta = levels(case)[0][-1]
    words = []
    for seconds in (1e-9, 1e9):
        task = case.task(delta, Effort(prove=True, time_limit=seconds, limits=SOON))
        words.append(check(case, search(law_of(case.model, case.law), case.rows, task), delta))
    assert words == [False, True]


@pytest.mark.parametrize("kind", MAKERS)
def test_little_room_proves_less_and_nothing_false(kind: str):
    """Small budgets and no room for sets left open: claims are weaker, and still hold."""
    weaker = 0
    for seed in range(2):
        case = MAKERS[kind](seed)
        between, close = levels(case)
        for delta in between[:1] + close:
            for effort in (
                Effort(max_evals=5, limits=SOON),
                Effort(max_evals=10**6, limits=Limits(0, 0, 0, room=0)),
            ):
                task = case.task(delta, effort)
                found = search(law_of(case.model, case.law), case.rows, task)
                weaker += not check(case, found, delta)
    assert weaker > 0


class Table(NamedTuple):
    """A model before background rows, of which all sets are known."""

    model: LinearModel
    row: np.ndarray
    law: Background
    kept: np.ndarray  # the weight of the rows that keep the class, for each set (bits)


def table(seed: int, mixed: bool) -> Table:
    """Return 10 to 13 units, 0/1 or whole numbers, and 60 rows with weights."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(10, 14))
    top = 9 if mixed else 1
    data = rng.integers(0, top + 1, (60, n))
    weights = rng.integers(1, 30, n)
    row = np.where(rng.random(n) < 0.6, top, rng.integers(0, top + 1, n)) if mixed else np.ones(n)
    at = int(weights @ row)
    cut = int(np.quantile(data @ weights, 0.8))
    cut = min(cut, at)
    masses = rng.integers(1, 5, 60)
    shares = masses / 1.0
    units = [Unit.real(f"r{i}", i) for i in range(n)] if mixed else None
    model = LinearModel(weights.astype(float), float(cut), units=units)
    sums = (data @ weights)[None, :]
    for i in range(n):
        fixed = sums + (int(weights[i]) * (int(row[i]) - data[:, i]))[None, :]
        sums = np.concatenate([sums, fixed])
    kept = (sums >= cut) @ masses
    instance = row.astype(float) if mixed else row.astype(bool)
    return Table(model, instance, Background(data.astype(float), shares), kept)


@pytest.mark.parametrize("room", [0, 2**25])
@pytest.mark.parametrize("mixed", [False, True], ids=["pure", "mixed"])
def test_minima_over_background_rows(mixed: bool, room: int, monkeypatch: pytest.MonkeyPatch):
    """By a search that has all rows in its table, or those that come nearest to the floor."""
    asked: list[int] = []
    real = Search.next

    def watched(self: Search, *arguments: int) -> Any:
        before, answer = self.spent, real(self, *arguments)
        asked.append(self.spent - before if answer[0] == 0 else 0)
        return answer

    monkeypatch.setattr(Search, "next", watched)
    monkeypatch.setattr(stream, "FEW_BYTES", room)
    effort = Effort(max_evals=10**6)
    for seed in range(6):
        case = table(seed, mixed)
        total = case.law.total
        sizes = np.array([mask.bit_count() for mask in range(len(case.kept))])
        for size in (2, 4):
            needed = int(case.kept[sizes <= size].max())
            for delta in (Fraction(needed, total), Fraction(2 * needed + 1, 2 * total)):
                if delta > Fraction(int(case.kept.max()), total):
                    continue
                task = Task(delta, effort=effort)
                found = law_of(case.model, case.law).answer(case.row[None, :], task)
                features = found.sets.of(0)
                mask = sum(1 << int(u) for u in features)
                assert found.exact[0] == Fraction(int(case.kept[mask]), total) >= delta
                least = int(sizes[case.kept >= delta * total].min())
                assert found.minimality[0] == "minimum"
                assert found.size_lower[0] == len(features) == least
    assert sum(asked) > 10_000
