"""What would break a decision: against all sets, and as the dual of its reasons."""

from fractions import Fraction
from itertools import combinations

import pytest
from hypothesis import given

from sklearn_probsr import (
    LinearModel,
    Uniform,
    UnreachableError,
    alternatives,
    breaking_set,
)
from tests.questions.decisions import decisions, guarantees, several_classes


def breaks(known, delta, features):
    """Tell whether no set of the other features reaches delta."""
    level = Fraction(str(delta))
    return all(v < level for s, v in known.items() if not s & set(features))


def check(model, x, distribution, delta):
    """Compare a breaking set with all sets."""
    known = guarantees(model, x, distribution)
    if known[frozenset()] >= Fraction(str(delta)):
        with pytest.raises(UnreachableError, match=r"^nothing breaks this decision"):
            breaking_set(model, x, delta=delta, distribution=distribution)
        return
    found = breaking_set(model, x, delta=delta, distribution=distribution)
    units = range(model.n_units)
    sizes = [k for k in units if any(breaks(known, delta, s) for s in combinations(units, k))]
    least = min(sizes, default=model.n_units)
    assert breaks(known, delta, found.features)
    assert found.size_lower <= least
    if found.minimality == "minimum":
        assert found.size == least
    if found.minimality == "subset-minimal":
        assert not any(breaks(known, delta, set(found.features) - {u}) for u in found.features)
    assert known[frozenset(found.best)] == found.guarantee.exact
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


def test_the_words():
    """A person reads what must be disputed, and how sure that is."""
    model = LinearModel([5, 2, 2, 2, 1], threshold=7, feature_names=["a", "b", "c", "d", "e"])
    found = breaking_set(model, [1, 1, 1, 1, 1], delta=0.9)
    assert str(found) == (
        "Without a, b no set of the other features keeps class 1 with probability 0.9 over uniform "
        "completions: the best found keeps it with 0.75 (no fewer features break it)."
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
