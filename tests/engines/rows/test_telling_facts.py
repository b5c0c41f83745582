"""Facts that can tell, what rows miss, and what facts leave, against going through rows."""

from __future__ import annotations

import numpy as np
import pytest

from sklearn_probsr.engines.rows._facts import Facts, Missed, Rules, best_of_size, worth
from sklearn_probsr.engines.rows._telling_facts import grown, missed_by, packed_words, telling

# Words wrap around where ones are counted, of which NumPy warns in kernels that are interpreted.
pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered in scalar")


def packed(inside: np.ndarray) -> np.ndarray:
    words = max(-(-inside.shape[-1] // 64), 1)
    padded = np.zeros((*inside.shape[:-1], 64 * words), dtype=bool)
    padded[..., : inside.shape[-1]] = inside
    return np.packbits(padded, axis=-1, bitorder="little").view(np.uint64)


def drawn(seed: int, h: int = 90) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, Facts]:
    """Draw which rows share facts, some of them equal, and which rows there are."""
    rng = np.random.default_rng(seed)
    n, m = (int(k) for k in rng.integers(1, 150, 2))
    share = rng.choice([0.5, 0.9, 0.99], h)[:, None]
    again = rng.integers(0, h, h)
    good, bad = ((rng.random((h, k)) < share)[again] for k in (n, m))
    all_good, all_bad = (rng.random(k) < 0.8 for k in (n, m))
    leads = (np.zeros(n), np.zeros(m))
    facts = Facts(*map(packed, (good, bad, all_good, all_bad)), *leads, 0.0)
    return good, bad, all_good, all_bad, facts


def listed(facts: Facts) -> Missed:
    good = missed_by(facts.good, facts.all_good, 10**6)
    bad = missed_by(facts.bad, facts.all_bad, 10**6)
    return Missed(*good, *bad, 1)


@pytest.mark.parametrize("seed", range(12))
def test_facts_that_tell(seed: int):
    """Those stay that remove a bad row and leave enough, the first of each kind."""
    good, bad, all_good, all_bad, facts = drawn(seed)
    least, seen, kept = 5 * seed, set(), []
    for j in range(len(good)):
        g, b = good[j] & all_good, bad[j] & all_bad
        key = (g.tobytes(), b.tobytes())
        if b.sum() < all_bad.sum() and g.sum() + b.sum() >= least and key not in seen:
            seen.add(key)
            kept.append(j)
    assert telling(facts, least).tolist() == kept


@pytest.mark.parametrize("seed", range(6))
def test_lists_of_what_rows_miss(seed: int):
    """Every row that there is has the facts that it does not share; too many are not listed."""
    good, _, all_good, _, facts = drawn(seed)
    starts, missed = missed_by(facts.good, facts.all_good, 10**6)
    for r in range(len(all_good)):
        expected = np.flatnonzero(~good[:, r]).tolist() if all_good[r] else []
        assert missed[starts[r] : starts[r + 1]].tolist() == expected
    if len(missed):
        assert len(missed_by(facts.good, facts.all_good, len(missed) - 1)[0]) == 1


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("by_rows", [False, True])
def test_what_facts_leave(seed: int, by_rows: bool):
    """The best facts are returned with what they leave, and the best that is good enough."""
    good, bad, all_good, all_bad, facts = drawn(seed)
    n = len(all_good) + len(all_bad)
    need = np.ceil(0.6 * np.arange(n + 1)).astype(np.int64)
    rules = Rules(need, np.zeros(n + 1, dtype=np.int64), 10)
    missed = listed(facts) if by_rows else None
    left_good, left_bad = all_good & good[seed], all_bad & bad[seed]
    rows = packed(left_good), packed(left_bad)
    which, worths, enough = grown(facts, missed, rules, *rows, 4)
    values = {}
    for j in range(len(good)):
        g, b = int((good[j] & left_good).sum()), int((bad[j] & left_bad).sum())
        if b < left_bad.sum() and g + b >= 10:
            values[j] = worth(g, b), g >= need[g + b]
    least = sorted(value for value, _ in values.values())[-4:][:1]
    best = max((value for value, fits in values.values() if fits), default=None)
    asked = [j for j, (v, fits) in values.items() if v >= least[0] or (fits and v == best)]
    assert which.tolist() == asked
    assert worths.tolist() == [values[j][0] for j in asked]
    assert enough.tolist() == [values[j][1] for j in asked]


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("size", [0, 1, 2, 3])
def test_lists_and_bits_find_the_same(seed: int, size: int):
    """A search that goes through rows finds what one that goes through bits does."""
    *_, facts = drawn(seed, h=70)
    n = len(facts.leads_good) + len(facts.leads_bad)
    share = 0.9
    need = np.ceil(share * np.arange(n + 1)).astype(np.int64)
    allow = np.floor(np.arange(n + 1) * (1 / share - 1)).astype(np.int64)
    rules = Rules(need, allow, 3)
    verdict, chosen, value, deeper, _ = best_of_size(facts, None, rules, size, 10**9)
    other = best_of_size(facts, listed(facts), rules, size, 10**9)
    assert other[0] == verdict
    assert other[1].tolist() == chosen.tolist()
    assert other[2:4] == (value, deeper)


def test_words_as_bits():
    """A fact of a word is shared by the rows that hold it, or by those that do not."""
    rng = np.random.default_rng(0)
    table = rng.random((100, 5)) < 0.3
    rows, starts = [], [0]
    for j in range(5):
        rows += np.flatnonzero(table[:, j]).tolist()
        starts.append(len(rows))
    inside = rng.random(100) < 0.7
    places = np.where(inside, np.cumsum(inside) - 1, -1).astype(np.int32)
    everyone = packed(np.ones(inside.sum(), dtype=bool))
    columns, there = np.array([3, 0, 1, 3]), np.array([True, False, True, False])
    bits = packed_words(
        np.array(starts), np.array(rows, dtype=np.int32), places, everyone, columns, there
    )
    expected = np.array([table[inside, j] == t for j, t in zip(columns, there, strict=True)])
    assert (bits == packed(expected)).all()
