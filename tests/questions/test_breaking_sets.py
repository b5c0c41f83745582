"""What would break a decision: against all sets, and as the dual of its reasons."""

import contextlib
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from scipy import sparse

from sklearn_probsr import (
    ArgmaxModel,
    Background,
    LinearModel,
    Matching,
    Product,
    Uniform,
    Unit,
    alternatives,
    breaking_set,
)
from sklearn_probsr.exceptions import UnreachableError
from sklearn_probsr.extend import law_of
from tests.questions.decisions import (
    decisions,
    enumerated,
    guarantees,
    independent_classes,
    several_classes,
)


def breaks(known, delta, features):
    """Tell whether no set of the other features reaches delta."""
    level = Fraction(str(delta))
    return all(v < level for s, v in known.items() if not s & set(features))


def check(model, x, distribution, delta, known=None):
    """Compare a breaking set with all sets."""
    known = guarantees(model, x, distribution) if known is None else known
    if known[frozenset()] >= Fraction(str(delta)):
        with contextlib.suppress(UnreachableError):
            found = breaking_set(model, x, delta=delta, distribution=distribution)
            assert found.minimality == "undecided"
            assert not distribution.__class__.__name__.startswith("Background")
        return
    found = breaking_set(model, x, delta=delta, distribution=distribution)
    best = known[frozenset(found.best)]
    assert Fraction(found.guarantee.lower) <= best <= Fraction(found.guarantee.upper)
    if found.minimality == "undecided":
        assert found.guarantee.exact is None
        assert found.guarantee.upper >= delta
        return
    units = range(model.n_units)
    sizes = [k for k in units if any(breaks(known, delta, s) for s in combinations(units, k))]
    least = min(sizes, default=model.n_units)
    assert breaks(known, delta, found.features)
    assert found.size_lower <= least
    if found.minimality == "minimum":
        assert found.size == least
    if found.minimality == "subset-minimal":
        assert not any(breaks(known, delta, set(found.features) - {u}) for u in found.features)
    assert (found.guarantee < delta).value
    # Every reason hits every breaking set.
    for reason in alternatives(model, x, delta=delta, distribution=distribution).reasons:
        assert set(reason) & set(found.features)


@given(decisions())
def test_it_breaks_and_none_that_is_smaller_does(case):
    """Without it no set reaches delta, and the claim about smaller ones is true."""
    check(*case)


@given(several_classes())
def test_several_classes(case):
    """The same holds of a winner among three classes."""
    check(*case)


@given(independent_classes())
def test_several_classes_of_independent_features(case):
    """Their guarantees are bounded, not counted: what stays open is told as such."""
    check(*case)


def test_what_stays_open_is_no_breaking_set():
    """Where it is open whether nothing need be known, nothing is said to break the decision."""
    weights, starts = [[-2, 1, -1, 0], [2, 2, -3, -3], [-1, 0, 1, 0]], [-2, 0, 0]
    few = ArgmaxModel(4 * np.array(weights), 4 * np.array(starts) + [0, 1, 2])
    # Many features that decide nothing: completions are too many to be counted.
    more = np.zeros((3, 10))
    more[2] = 2.0**-8
    model = ArgmaxModel(np.hstack([few.weights, more]), few.intercepts)
    chances = [0.8, 0.9, 0.9, 0.5]
    law = Product(chances + [0.5] * 10)
    open_ones = 0
    for x in product((0, 1), repeat=4):
        known = enumerated(few, np.array(x, dtype=float), [Fraction(str(p)) for p in chances])
        level = float(known[frozenset()])
        if not 0 < level < 1:
            continue
        with contextlib.suppress(UnreachableError):
            found = breaking_set(model, [*x, *[0] * 10], delta=level, distribution=law)
            assert found.minimality == "undecided"
            assert str(found) == (
                "It stays undecided whether anything breaks this decision: with nothing known, "
                f"class {found.prediction} is kept with probability {found.guarantee} over {law}, "
                f"which may or may not reach {level:g}."
            )
            open_ones += 1
    assert open_ones


@pytest.mark.parametrize("seed", range(6))
def test_rows_that_share_the_facts(seed):
    """Under Matching every set that is good enough in the rows searched hits a breaking set."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, 2, (60, 4))
    model = LinearModel(rng.integers(-3, 4, 4), threshold=0.5)
    law = Matching(rows, min_rows=2, random_state=seed)
    view = law_of(model, law).view(model.check_row(rows[0]))
    units = view.members()
    sets = [set(s) for k in range(len(units) + 1) for s in combinations(units, k)]
    counts = [view.matches(sorted(s)).searched for s in sets]
    good = [
        s for s, (kept, n, _) in zip(sets, counts, strict=True) if n >= 2 and 10 * kept >= 8 * n
    ]
    if not all(good):
        with pytest.raises(UnreachableError, match=r"^nothing breaks this decision"):
            breaking_set(model, rows[0], delta=0.8, distribution=law)
        return
    found = breaking_set(model, rows[0], delta=0.8, distribution=law)
    assert all(s & set(found.features) for s in good)
    if found.minimality == "minimum":
        smaller = (set(s) for k in range(found.size) for s in combinations(units, k))
        assert all(any(not s & t for t in good) for s in smaller)


def test_the_words():
    """A person reads what must be disputed, and how sure that is."""
    model = LinearModel([5, 2, 2, 2, 1], threshold=7, feature_names=["a", "b", "c", "d", "e"])
    found = breaking_set(model, [1, 1, 1, 1, 1], delta=0.9)
    assert str(found) == (
        "Without a and b no set of the other features keeps class 1 with probability 0.9 over "
        "uniform completions: the best found keeps it with 0.75 (no fewer features break it)."
    )
    assert found.distribution == Uniform()


def test_nothing_breaks_what_is_kept_anyway():
    """Where nothing need be known, an error says so."""
    with pytest.raises(
        UnreachableError,
        match=r"^nothing breaks this decision: class 1 is kept with probability 1 over uniform "
        r"completions with nothing known, which reaches delta = 0\.95\. Raise delta to ask for "
        r"more\.$",
    ):
        breaking_set(LinearModel([1, 1], threshold=-3), [1, 0])


@pytest.mark.parametrize("prove", ["auto", False])
def test_words_of_documents_break_a_decision_as_columns_of_a_table_do(prove):
    """Sparse rows give the answer of dense ones, also once all that can help is left out."""
    rng = np.random.default_rng(3)
    few = (rng.random((40, 8)) < 0.3).astype(float) * rng.integers(1, 4, (40, 8))
    weights = rng.normal(size=8)
    at = np.sort(rng.choice(9000, 8, replace=False))
    wide = sparse.lil_array((40, 9000))
    wide[:, at] = few
    spread = np.zeros(9000)
    spread[at] = weights
    narrow = LinearModel(weights, 0.5, units=[Unit.real(f"x{j}", j) for j in range(8)])
    model = LinearModel(spread, 0.5, units=[Unit.real(f"x{j}", j) for j in range(9000)])
    law, same = Background(wide.tocsr()), Background(few)
    asked = 0
    for x, full in zip(few, wide.toarray(), strict=True):
        try:
            expected = breaking_set(narrow, x, delta=0.9, distribution=same, prove=prove)
        except UnreachableError:
            continue
        found = breaking_set(model, full, delta=0.9, distribution=law, prove=prove)
        assert (found.minimality, found.size) == (expected.minimality, expected.size)
        assert (found.guarantee < 0.9).value
        hurried = breaking_set(model, full, delta=0.9, distribution=law, time_limit=1e-9)
        assert hurried.minimality != "undecided"
        assert all(type(u) is int for u in hurried.features)
        asked += 1
    assert asked > 5
