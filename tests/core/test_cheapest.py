"""The cheapest set, over all sets in rationals, under every law."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from sklearn_probsr import Background, LinearModel, sufficient_reason
from sklearn_probsr.core.search import affordable
from sklearn_probsr.exceptions import UnreachableError
from sklearn_probsr.results._sentence import cost_text
from tests.core.priced import LAWS, Priced, priced
from tests.oracle import Case
from tests.strategies import models


def check(case: Priced, **options) -> str:
    """Compare an answer with the truth, and return what it claims."""
    asked = case.options | options
    best = case.best()
    try:
        found = sufficient_reason(
            case.model, case.x, delta=case.delta, distribution=case.distribution,
            cost=case.costs, **asked,
        )  # fmt: skip
    except UnreachableError as error:
        # Of several classes what is reached may not be proved to be.
        proved = "cannot be reached" in str(error)
    else:
        return judge(case, found, asked)
    assert best is None or not proved
    return "unreachable"


def judge(case: Priced, found, asked) -> str:
    """Compare a reason with the truth."""
    best = case.best()
    share = case.share(found.features)
    assert found.guarantee.lower <= share <= found.guarantee.upper
    assert set(asked.get("include", ())) <= set(found.features)
    assert not set(asked.get("exclude", ())) & set(found.features)
    assert found.cost == float(case.price(found.features))
    if found.minimality == "best-of-size":
        assert best is None or found.guarantee.lower < case.delta
        return "best-of-size"
    assert best is not None
    assert share >= case.delta
    assert found.cost_lower <= float(best[0])
    assert found.size_lower <= case.fewest() <= found.size
    if found.minimality == "minimum":
        assert (case.price(found.features), found.size) == best
        assert found.cost_lower == found.cost
    if found.minimality == "subset-minimal":
        reached = [s for s, value in case.sets if value >= case.delta]
        assert not any(set(s) < set(found.features) for s in reached)
    return found.minimality


@pytest.mark.parametrize("law", LAWS)
def test_the_cheapest_set_is_found_and_proved(law):
    """Every word, cost and bound, over all sets; small cases are proved."""
    words = [check(priced(law, seed)) for seed in range(40)]
    proved = sum(word == "minimum" for word in words)
    assert proved >= 20
    assert proved >= len(words) - words.count("unreachable") - words.count("best-of-size") - 5


@pytest.mark.parametrize("seed", range(6))
def test_many_coins_are_proved(seed):
    """Against all sets of 12 features, with scores that tie and are far apart, and far costs."""
    rng = np.random.default_rng(seed)
    d = 12
    weights = [rng.integers(-3, 4, d), rng.normal(size=d), 2.0 ** rng.integers(-9, 9, d)][seed % 3]
    case = Case(tuple(map(float, weights)), float(weights.sum() / 2), False, (1, 0) * (d // 2))
    costs = [rng.integers(1, 5, d), np.abs(weights) + 0.5, rng.uniform(0.1, 2, d)][seed % 3]
    prices = [Fraction(str(cost)) for cost in costs]
    for delta in (Fraction("0.9"), Fraction("0.99"), Fraction(1)):
        reached = [
            (sum((prices[u] for u in chosen), Fraction(0)), len(chosen))
            for size in range(d + 1)
            for chosen in combinations(range(d), size)
            if case.guarantee(chosen) >= delta
        ]
        found = sufficient_reason(models(case), case.x, delta=delta, cost=costs)
        assert found.minimality == "minimum"
        assert (sum(prices[u] for u in found.features), found.size) == min(reached)
        assert found.cost_lower == found.cost == float(min(reached)[0])


def test_the_best_that_a_price_can_have_is_above_every_choice():
    """Of all choices at a price, none has more of the first places than the one returned (90)."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        prices = rng.integers(1, 9, 7).tolist()
        limit, room = int(rng.integers(0, 30)), int(rng.integers(1, 8))
        best = affordable(prices, range(7), limit, room)
        for size in range(room + 1):
            for chosen in combinations(range(7), size):
                if sum(prices[j] for j in chosen) <= limit:
                    assert len(best) >= size
                    assert all(a <= b for a, b in zip(best, chosen, strict=False))


def test_equal_costs_are_no_costs():
    """Today's answer, bit for bit; only what it costs is told beside it."""
    for law in LAWS:
        case = priced(law, 3)
        asked = {"delta": 0.5, "distribution": case.distribution}
        plain = sufficient_reason(case.model, case.x, **asked)
        equal = sufficient_reason(case.model, case.x, cost=[0.7] * len(case.x), **asked)
        assert (equal.features, equal.guarantee) == (plain.features, plain.guarantee)
        assert (equal.minimality, equal.size_lower) == (plain.minimality, plain.size_lower)
        assert equal.cost == float(Fraction("0.7") * plain.size)
        assert equal.cost_lower == float(Fraction("0.7") * plain.size_lower)
        assert (plain.cost, plain.cost_lower) == (plain.size, plain.size_lower)


@pytest.mark.parametrize("law", ["uniform", "rows"])
def test_only_features_that_are_there_are_chosen(law):
    """The cheapest set of those that are allowed, and what is forced in besides."""
    for seed in range(25):
        case = priced(law, seed)
        absent = tuple(int(u) for u in np.flatnonzero(case.x == 0))
        barred = replace(case, options={"exclude": absent})
        asked = {"distribution": case.distribution, "cost": case.costs, "delta": case.delta}
        if barred.best() is None:
            with pytest.raises(UnreachableError):
                sufficient_reason(case.model, case.x, present_only=True, **asked)
        else:
            found = sufficient_reason(case.model, case.x, present_only=True, **asked)
            assert judge(barred, found, barred.options) == "minimum"


def test_less_effort_proves_less_and_never_too_much():
    """Without a proof, and with few branches, costs are bounds and words are smaller."""
    words = set()
    for seed in range(30):
        for options in ({"prove": False}, {"max_evals": 2}, {"prove": True}):
            words.add(check(priced("rows", seed), **options))
    assert words >= {"minimum", "subset-minimal"}


def test_the_sentence_speaks_of_costs():
    """What it costs, and that nothing is cheaper; or what anything costs at least."""
    model = LinearModel([5, 1, -3, 2, -1], threshold=5, feature_names=list("abcde"))
    x = [1, 0, 0, 1, 1]
    found = sufficient_reason(model, x, delta=0.6, cost={"c": 9, "d": 1.5})
    assert str(found) == (
        "Class 1 is kept with probability at least 0.625 over uniform completions, given a = 1 and "
        "d = 1 (2 of 5 features at a cost of 2.5; no cheaper set reaches 0.6)."
    )
    assert (found.cost, found.cost_lower, found.size, found.size_lower) == (2.5, 2.5, 2, 2)
    assert "2 of 5 features at a cost of 2.5; no cheaper set reaches 0.6." in found._repr_html_()
    only = sufficient_reason(model, x, delta=0.5, cost={"c": 9}, present_only=True)
    assert "no cheaper set of present features reaches 0.5" in str(only)


def test_the_sentence_says_what_any_set_costs_at_least():
    """Where nothing more is proved; a bound is rounded down."""
    rows = np.random.default_rng(0).integers(0, 2, (40, 12))
    model = LinearModel(np.arange(1.0, 13), threshold=40)
    found = sufficient_reason(
        model, rows[0], distribution=Background(rows), cost=np.arange(12) + 0.3, max_evals=3
    )
    assert found.minimality == "subset-minimal"
    assert 0 < found.cost_lower < found.cost
    assert str(found).endswith(
        f"none can be left out; no set of features that costs less than {found.cost_lower} "
        "reaches 0.95)."
    )
    assert cost_text(1 / 3, down=True) == "0.333333333333"
    assert (cost_text(2 / 3), cost_text(2 / 3, down=True)) == ("0.666666666667", "0.666666666666")
