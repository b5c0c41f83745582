"""Which features are in every minimum reason, and in some: against all sets."""

import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sklearn_probsr import Background, LinearModel, alternatives, sufficient_reasons
from sklearn_probsr.core.options import Options
from sklearn_probsr.exceptions import InvalidInputError, UnreachableError
from sklearn_probsr.extend import law_of
from tests.questions.decisions import (
    decisions,
    guarantees,
    independent_classes,
    several_classes,
)


def reasons_of(known, delta, include=(), exclude=()):
    """Return all sets that reach delta, and the smallest of them."""
    level = Fraction(str(delta))
    forced, barred = set(include), set(exclude)
    good = [s for s, v in known.items() if v >= level and forced <= s and not barred & s]
    least = min(map(len, good), default=None)
    return good, [s for s in good if len(s) == least]


def check(model, x, distribution, delta, known=None, include=()):
    """Compare every word with all sets."""
    known = guarantees(model, x, distribution) if known is None else known
    good, smallest = reasons_of(known, delta, include)
    found = alternatives(model, x, delta=delta, distribution=distribution, include=include)
    every, some = frozenset.intersection(*smallest), frozenset.union(*smallest)
    assert set(found.necessary) <= every
    assert set(found.possible) <= some
    decided = set(range(model.n_units)) - set(found.undecided)
    proved = found.reason.minimality == "minimum"
    if proved:
        assert found.size == len(smallest[0])
        assert every & decided <= set(found.necessary)
        assert some & decided <= set(found.possible)
    needed = frozenset.intersection(*good)
    assert set(found.indispensable) <= needed
    listed = [frozenset(s) for s in found.reasons]
    assert len(set(listed)) == len(listed) == found.count
    if proved:
        assert set(listed) <= set(smallest)
    if found.complete:
        assert set(listed) == set(smallest)
    assert [frozenset(s) for s in found.reasons] == listed
    return found, needed


@given(decisions())
def test_every_word_is_that_of_all_sets(case):
    """Necessary, possible, indispensable and the reasons themselves equal brute force."""
    found, needed = check(*case)
    if found.reason.minimality == "minimum" and not found.undecided:
        assert found.complete
        assert set(found.indispensable) == needed


@given(several_classes())
def test_several_classes(case):
    """The same holds of a winner among three classes."""
    check(*case)


@given(independent_classes())
def test_several_classes_of_independent_features(case):
    """Their guarantees are bounded, not counted, and no word is false for that."""
    check(*case)


@given(decisions(kinds=("uniform", "rows")), st.data())
def test_features_that_must_be_in(case, data):
    """Features of include are in every reason, and set aside for the others."""
    model, x, distribution, delta = case
    forced = data.draw(st.sets(st.integers(0, model.n_units - 1), max_size=2))
    found, _ = check(model, x, distribution, delta, include=tuple(sorted(forced)))
    if found.reason.minimality == "minimum":
        assert forced <= set(found.necessary)


@pytest.mark.parametrize("d", [20, 40, 90])
def test_coins_by_table_are_those_one_by_one(d):
    """What a table says of many rows is what the sets themselves say, asked one at a time."""
    rng = np.random.default_rng(d)
    weights = np.round(rng.normal(size=d), 6)
    weights[: d // 4] = weights[0]  # ties
    model = LinearModel(weights, threshold=float(weights.sum() / 2))
    law, task = law_of(model), Options(0.9).task(model)
    rows = sufficient_reasons(model, rng.integers(0, 2, (12, d)), delta=0.9)
    ranked = law.swaps(rows.rows, task, rows.size)
    swaps = ranked.swaps
    for i in range(len(rows)):
        prover = law.prover(law.view(rows.rows[i]), task)
        size = int(rows.size[i])
        told = ranked.members(i)
        assert told == prover.members[: len(told)]
        for place in range(len(prover.members)):
            verdict = prover.verdict([*prover.members[: size - 1], prover.members[place]])
            if place >= size and verdict is not None:
                assert (place < swaps.possible[i, 1]) if verdict else True
                assert (place >= swaps.possible[i, 0]) if not verdict else True
            others = [u for u in prover.members[: size + 1] if u != prover.members[place]]
            verdict = prover.verdict(others[:size])
            if place < size and verdict is not None:
                assert (place < swaps.needed[i, 1]) if not verdict else True
                assert (place >= swaps.needed[i, 0]) if verdict else True
        gap = (swaps.possible[i, 1] - swaps.possible[i, 0]) + np.ptp(swaps.needed[i])
        assert gap <= 2


def test_many_reasons_are_enumerated_lazily_best_first():
    """At d = 200 a thousand reasons come one by one, each reaching delta, and no more."""
    rng = np.random.default_rng(0)
    weights = rng.normal(size=200)
    model = LinearModel(weights, threshold=float(weights.sum() / 2))
    found = alternatives(model, rng.integers(0, 2, 200), limit=40)
    first = [s for _, s in zip(range(5), found.reasons, strict=False)]
    assert len(first) == 5
    assert found.count == 40
    assert not found.complete
    listed = list(found.reasons)
    assert len(set(listed)) == 40
    assert all(len(s) == found.size for s in listed)
    assert set().union(*listed) <= set(found.possible) | set(found.undecided)
    assert all(set(found.necessary) <= set(s) for s in listed)


def test_nothing_needs_to_be_known():
    """Where the class is kept anyway, the only minimum reason is the empty one."""
    model = LinearModel([1, 1, 9], threshold=-5)
    found = alternatives(model, [1, 0, 1])
    assert (found.size, found.necessary, found.possible) == (0, (), ())
    assert list(found.reasons) == [()]
    assert found.complete
    assert str(found) == "No other reason has as few features."


def test_words_name_what_is_shared():
    """A person reads what every reason needs, and how many more features occur."""
    model = LinearModel([5, 2, 2, 2, 1], threshold=7, feature_names=["a", "b", "c", "d", "e"])
    found = alternatives(model, [1, 1, 1, 1, 1], delta=0.9)
    assert str(found) == (
        "Every reason of this size (2 features) needs a; 3 more features occur in some."
    )


def test_they_travel():
    """A pickled copy says the same, and enumerates again."""
    model = LinearModel([3, 2, 2, 1], threshold=4)
    rows = np.array([[1, 1, 0, 1], [0, 1, 1, 0], [1, 0, 1, 1], [0, 0, 0, 1]])
    found = alternatives(model, [1, 1, 1, 1], delta=0.7, distribution=Background(rows))
    again = pickle.loads(pickle.dumps(found))
    assert list(again.reasons) == list(found.reasons)
    assert (again.necessary, again.indispensable) == (found.necessary, found.indispensable)


def test_bad_input():
    """What is wrong is said, with what was received."""
    model = LinearModel([5, 2], threshold=6)
    with pytest.raises(InvalidInputError, match=r"^limit must be a whole number >= 1, got 0\.$"):
        alternatives(model, [1, 1], limit=0)
    with pytest.raises(UnreachableError, match="cannot be reached for row 0"):
        alternatives(model, [1, 1], exclude=[0])
