"""Kernels of `Matching`, against going through rows and through all sets of facts."""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from sklearn_probsr import LinearModel, Matching
from sklearn_probsr.extend import law_of
from sklearn_probsr.rows import matching
from sklearn_probsr.rows.matching import _best_of_size, _only
from sklearn_probsr.rows.matching_kernels import Facts, Rules, grown, worth

# Words wrap around where ones are counted, of which NumPy warns in kernels that are interpreted.
pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered in scalar")


def drawn(seed: int, h: int = 9, cautious: bool = False) -> tuple[Any, np.ndarray, np.ndarray]:
    """Draw an instance of ones among rows: its view, what they share with it, and their class."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 200))
    shared = rng.random((n, h)) < rng.choice([0.5, 0.9, 0.99], h)
    shared = shared[:, rng.integers(0, h, h)]  # some facts are equal
    model = LinearModel(rng.integers(-2, 3, h), 1)
    held = np.append(np.zeros(n, dtype=bool), True)
    rows = np.vstack([shared, np.zeros((1, h), dtype=bool)])
    law = law_of(model, Matching(rows, min_rows=1, confirm=held, cautious=cautious))
    view = law.view(model.check_row(np.ones(h)))
    good = model.winners(shared) == model.winners(np.ones((1, h), dtype=bool))[0]
    copies = np.flatnonzero(shared.all(axis=1))[:1]
    return view, np.delete(shared, copies, axis=0), np.delete(good, copies)


def rules(n: int, least: int) -> Rules:
    """Return that nine of ten must be good."""
    need = [math.ceil(0.9 * k) for k in range(n + 1)]
    allow = [int(g / 0.9 + 1e-9) - g for g in range(n + 1)]
    return Rules(np.array(need), np.array(allow), least)


def counts(shared: np.ndarray, good: np.ndarray, facts: Any) -> tuple[int, int]:
    """Count the good and the bad rows that share some facts."""
    left = shared[:, list(facts)].all(axis=1)
    return int((left & good).sum()), int((left & ~good).sum())


@pytest.mark.parametrize("seed", range(12))
def test_facts_that_tell(seed: int):
    """Those stay that remove a bad row and leave enough, the first of each kind, the best first."""
    view, shared, good = drawn(seed, 40)
    least, seen, kept = 3 * seed, set(), []
    for j in range(40):
        g, b = counts(shared, good, [j])
        key = shared[:, j].tobytes()
        if b < (~good).sum() and g + b >= least and key not in seen:
            seen.add(key)
            kept.append(j)
    units, facts = view.telling((), np.arange(40), max(least, 1))
    lost = {j: int((~good).sum()) - counts(shared, good, [j])[1] for j in kept}
    assert units.tolist() == sorted(kept, key=lambda j: -lost[j])
    assert facts.lost.tolist() == [lost[j] for j in units.tolist()]
    assert (facts.good, facts.bad) == (good.sum(), (~good).sum())


@pytest.mark.parametrize("seed", range(8))
def test_lists_of_what_rows_miss(seed: int, monkeypatch: pytest.MonkeyPatch):
    """Every row has the facts that it does not share; too many are not listed."""
    monkeypatch.setattr(matching, "_FEWER", 0)
    view, _, _ = drawn(seed)
    _, facts = view.telling((), np.arange(9), 1)
    bits = np.unpackbits(facts.shared.view(np.uint8), axis=1, bitorder="little")
    there = np.unpackbits(facts.everyone.view(np.uint8), bitorder="little")
    for r in range(len(there)):
        expected = np.flatnonzero(bits[:, r] == 0).tolist() if there[r] else []
        assert facts.missed[facts.starts[r] : facts.starts[r + 1]].tolist() == expected
    monkeypatch.setattr(matching, "_FEWER", 10**9)
    _, facts = view.telling((), np.arange(9), 1)
    assert len(facts.missed) == 0


@pytest.mark.parametrize("seed", range(16))
@pytest.mark.parametrize("fewer", [0, 10**9])
def test_the_best_of_each_size(seed: int, fewer: int, monkeypatch: pytest.MonkeyPatch):
    """The search of a size finds the best set of it, by lists and by bits, if none is smaller."""
    monkeypatch.setattr(matching, "_FEWER", fewer)
    view, shared, good = drawn(seed)
    asked = rules(len(good), 1 + seed % 5)
    units, facts = view.telling((), np.arange(9), asked.least)
    for size in range(4):
        chosen, verdict, value, deeper, _ = _best_of_size(facts, asked, size, 10**9)
        worths = {}
        for some in combinations(range(9), size):
            g, b = counts(shared, good, some)
            if g + b >= asked.least and g >= asked.need[g + b]:
                worths[some] = worth(g, b)
        assert verdict == bool(worths)
        if worths:
            assert value == max(worths.values())
            assert worths[tuple(sorted(units[chosen].tolist()))] == value
            break
        if not deeper:
            larger = (counts(shared, good, s) for s in combinations(range(9), size + 1))
            assert not any(g + b >= asked.least and g >= asked.need[g + b] for g, b in larger)
            break
        told = _best_of_size(facts, asked, size, -1)
        assert size == 0 or told[1] == -1


@pytest.mark.parametrize("seed", range(6))
def test_the_firmest_fact(seed: int):
    """A cautious search adds to what a set is worth how firmly its rows are of the class."""
    view, _, good = drawn(seed, cautious=True)
    n = len(good) + 1
    any_share = Rules(np.zeros(n, dtype=np.int64), np.full(n, n), 1)
    _, facts = view.telling((), np.arange(9), 1)
    bits = np.unpackbits(facts.shared.view(np.uint8), axis=1, bitorder="little").astype(bool)
    best = -1.0
    for left in bits:
        g, leads = int(left[: 64 * facts.good_words].sum()), facts.leads[left]
        mean, spread = leads.mean(), leads.std()
        firm = 5.0 if mean >= 5.0 * spread else mean / spread
        value = worth(g, len(leads) - g) + 0.02 * (firm if mean > 0 else 0.0)
        best = max(best, value)
    assert _best_of_size(facts, any_share, 1, 10**9)[2] == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("fewer", [0, 10**9])
def test_what_one_fact_more_leaves(seed: int, fewer: int, monkeypatch: pytest.MonkeyPatch):
    """Of every set and fact: what is left is worth so much, unless the fact does nothing."""
    monkeypatch.setattr(matching, "_FEWER", fewer)
    view, shared, good = drawn(seed, 30)
    asked = rules(len(good), 3)
    units, facts = view.telling((), np.arange(30), asked.least)
    sets = [(), *((j,) for j in range(min(len(units), 4)))]
    path = _rows_of(facts, sets)
    worths = np.empty((len(sets), len(units)))
    enough = np.empty(worths.shape, dtype=bool)
    grown(facts, asked, path, worths, enough)
    for s, some in enumerate(sets):
        before = counts(shared, good, units[list(some)])
        for j, u in enumerate(units.tolist()):
            g, b = counts(shared, good, [*units[list(some)], u])
            if b == before[1] or g + b < 3:
                assert (worths[s, j], enough[s, j]) == (-1.0, False)
            else:
                assert (worths[s, j], enough[s, j]) == (worth(g, b), g >= asked.need[g + b])


def _rows_of(facts: Facts, sets: list[tuple[int, ...]]) -> Any:
    """Return the rows that are left by each of some sets."""
    search = object.__new__(matching._Search)
    search.facts = facts
    return search._rows_of(sets)


def test_some_facts():
    """Some of the facts keep their rows and lose their lists."""
    view, _, _ = drawn(3)
    _, facts = view.telling((), np.arange(9), 1)
    part = _only(facts, np.array([0]))
    assert (part.shared == facts.shared[:1]).all()
    assert len(part.missed) == 0
