"""Statements of docs/guarantees.md that no single answer shows, over all sets of small models."""

from collections.abc import Callable
from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from sklearn_probsr import Background, Product, guarantee_curve, sufficient_reason
from sklearn_probsr.distributions._completions import Distribution
from sklearn_probsr.model.numbers import decimal_fraction
from tests.core.test_independent import CHANCES
from tests.interpreted import examples
from tests.oracle import Case, background_guarantee, product_guarantee
from tests.rows.test_reasons import fractions
from tests.strategies import backgrounds, cases, levels, models


def scores(case: Case) -> list[Fraction]:
    """Return the paper's scores, from their definition."""
    toward = 1 if case.label else -1
    return [
        Fraction(w) * (2 * value - 1) * toward
        for w, value in zip(case.weights, case.x, strict=True)
    ]


@settings(max_examples=examples(200))
@given(cases(largest=8), st.data())
def test_every_further_feature_helps(case: Case, data: st.DataObject):
    """Lemma 7: along the ranking guarantees increase strictly until they are 1.

    At each size at which no excluded feature has a larger score; the order is the package's own.
    """
    score = scores(case)
    include = data.draw(st.sets(st.integers(0, case.d - 1), max_size=2))
    barred = data.draw(st.sets(st.integers(0, case.d - 1), max_size=2)) - include
    order = guarantee_curve(models(case), case.x).order.tolist()
    ranking = [i for i in order if score[i] > 0 and i not in include | barred]
    assert [score[i] for i in ranking] == sorted((score[i] for i in ranking), reverse=True)
    shares = [case.guarantee(include | set(ranking[:k])) for k in range(len(ranking) + 1)]
    for k, i in enumerate(ranking):
        if shares[k] < 1 and all(score[j] <= score[i] for j in barred):
            assert shares[k] < shares[k + 1]
        assert shares[k] <= shares[k + 1]


def test_an_excluded_feature_with_a_larger_score():
    """The condition of Lemma 7 is needed: the example of the page."""
    case = Case((10, 1), 6, False, (1, 1))
    assert scores(case) == [10, 1]
    assert case.guarantee([]) == case.guarantee([1]) == Fraction(1, 2)


def check_local_minima(
    case: Case,
    share: Callable[[set[int]], Fraction],
    delta: float | Fraction,
    law: Distribution,
) -> None:
    """Check Corollary 4b over all sets, and that an answer without a proof of a minimum has it."""
    level = decimal_fraction(delta)
    sets = [{i for i in range(case.d) if mask >> i & 1} for mask in range(2**case.d)]
    reaches = [share(chosen) >= level for chosen in sets]
    # Whether a set, or any set inside it, reaches the level.
    within = list(reaches)
    for i in range(case.d):
        for mask in range(2**case.d):
            within[mask] |= within[mask & ~(1 << i)]
    minima = []
    for mask, chosen in enumerate(sets):
        parts = [mask & ~(1 << i) for i in chosen]
        if reaches[mask] and not any(reaches[part] for part in parts):
            assert not any(within[part] for part in parts)
            minima.append(chosen)
    assert minima
    reason = sufficient_reason(models(case), case.x, delta=delta, distribution=law, prove=False)
    assert reason.minimality in {"minimum", "subset-minimal"}
    assert set(reason.features) in minima


@settings(max_examples=examples(60))
@given(cases(largest=6), levels(), st.data())
def test_local_minima_are_subset_minimal_over_marginals(
    case: Case, delta: float, data: st.DataObject
):
    """Corollary 4b: if no single feature can be left out, no several can; and so is an answer."""
    chances = data.draw(st.lists(CHANCES, min_size=case.d, max_size=case.d))
    p = [decimal_fraction(c) for c in chances]
    check_local_minima(
        case, lambda chosen: product_guarantee(case, chosen, p), delta, Product(chances)
    )


@settings(max_examples=examples(60))
@given(cases(largest=6), levels(), st.data())
def test_local_minima_are_subset_minimal_over_background_rows(
    case: Case, delta: float, data: st.DataObject
):
    """Corollary 4b with correlated rows, which are not monotone in anything but scores."""
    rows, weights = data.draw(backgrounds(case.d))
    parts = fractions(rows, weights)
    check_local_minima(
        case,
        lambda chosen: background_guarantee(case, chosen, rows, parts),
        delta,
        Background(rows, weights),
    )
