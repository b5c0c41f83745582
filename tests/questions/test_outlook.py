"""Rows of which some features are not known yet: against all completions."""

from fractions import Fraction
from itertools import product
from math import prod

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from sklearn_probsr import (
    ArgmaxModel,
    Background,
    LinearModel,
    Marginals,
    Matching,
    Product,
    Unit,
    outlook,
)
from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.extend import law_of
from tests.questions.decisions import decisions, several_classes
from tests.thin_units import few_are_thin

MATCHING = Matching(np.random.default_rng(0).integers(0, 2, (60, 3)), random_state=0)


def completions(model, distribution, row, unknown):
    """Yield what the unknown features may be, and how likely that is, as fractions."""
    law, row = law_of(model, distribution), np.array(row, dtype=float)
    if isinstance(distribution, Background):
        rows = distribution.rows if model.units is not None else distribution.rows.astype(float)
        weights = distribution.weights.tolist()
        for values, weight in zip(rows, weights, strict=True):
            whole = row.copy()
            whole[unknown] = values[unknown]
            yield whole, Fraction(weight, sum(weights))
        return
    states = []
    for u in unknown:
        values, chances = law.states(u)
        states.append(
            [(v, Fraction(c).limit_denominator(1000)) for v, c in zip(values, chances, strict=True)]
        )
    for chosen in product(*states):
        whole, chance = row.copy(), Fraction(1)
        for u, (value, c) in zip(unknown, chosen, strict=True):
            whole[u] = value[0]
            chance *= c
        yield whole, chance


def truth(model, distribution, row, unknown):
    """Return the probability of every class."""
    found = dict.fromkeys(model.classes, Fraction(0))
    for whole, chance in completions(model, distribution, row, unknown):
        found[model.predict([whole])[0]] += chance
    return found


def check(case, data):
    model, x, distribution, delta = case
    unknown = sorted(data.draw(st.sets(st.integers(0, model.n_units - 1), max_size=3)))
    seen = outlook(model, x, unknown=unknown, delta=delta, distribution=distribution)
    exact = truth(model, distribution, x, unknown)
    for label in model.classes:
        low, high = seen.probability(label).ends()
        assert low <= exact[label] <= high
    level, best = Fraction(str(delta)), max(exact.values())
    assert seen.settled in {best >= level, None}
    assert exact[seen.prediction] == best or seen.settled is None or len(exact) > 2
    if seen.reason is not None:
        kept = seen.reason.features
        assert not set(kept) & set(unknown)
        others = [u for u in range(model.n_units) if u not in kept]
        assert truth(model, distribution, x, others)[seen.prediction] >= level
    table = seen.next.set_index("feature")
    assert sorted(table.index) == sorted(model.unit_names[u] for u in unknown)
    for u in unknown:
        left = [v for v in unknown if v != u]
        values, chances = law_of(model, distribution).states(u)
        settled, expected, total = Fraction(0), Fraction(0), Fraction(0)
        for value, c in zip(values, chances, strict=True):
            chance = Fraction(c).limit_denominator(1000)
            told = np.array(x, dtype=float)
            told[u] = value[0]
            most = max(truth(model, distribution, told, left).values())
            settled += chance * (most >= level)
            expected += chance * most
            total += chance
        line = table.loc[model.unit_names[u]]
        tiny = 1e-9
        assert line["settled_lower"] - tiny <= settled / total <= line["settled_upper"] + tiny
        assert line["expected_lower"] - tiny <= expected / total <= line["expected_upper"] + tiny
        if isinstance(distribution, Background) and len(model.classes) == 2:
            assert line["settled"] == pytest.approx(float(settled / total))
            assert line["method"] == "exact"


@given(decisions(), st.data())
def test_probabilities_and_what_to_ask_next(case, data):
    """Every class, the verdict, the reason and the gain of each question equal brute force."""
    check(case, data)


@given(several_classes(), st.data())
def test_several_classes(case, data):
    """The same holds of three classes before background rows."""
    check(case, data)


def test_telling_goes_on_until_it_is_settled():
    """A questionnaire asks what promises most, and each answer gives the next outlook."""
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 2, (60, 8))
    model = LinearModel([5, 1, -3, 2, -1, 4, -2, 3], threshold=5)
    seen = outlook(model, rows[0], unknown=range(8), distribution=Background(rows), delta=0.9)
    asked = 0
    while not seen.settled:
        feature = seen.next["feature"].iloc[0]
        seen = seen.tell(feature, rows[0][model.feature_names.index(feature)])
        asked += 1
    assert 0 < asked < 8
    assert len(seen.unknown) == 8 - asked
    assert seen.reason is not None
    assert seen.prediction == model.predict(rows[:1])[0]


@pytest.mark.parametrize(("seed", "delta"), [(1, 0.9), (2, 0.7)])
def test_stopping_when_it_is_settled_seldom_changes_the_class(seed, delta):
    """Over all rows of a law, adaptive questions end otherwise with at most 1 - delta."""
    rng = np.random.default_rng(seed)
    tenths = [Fraction(int(k), 10) for k in rng.integers(1, 10, 5)]
    model = LinearModel(rng.integers(-5, 6, 5), threshold=1.5)
    law = Product([float(p) for p in tenths])
    start = outlook(model, [0] * 5, unknown=range(5), distribution=law, delta=delta)
    after = {(): start}
    differs = asked = Fraction(0)
    for row in product((0, 1), repeat=5):
        weight = prod(p if z else 1 - p for p, z in zip(tenths, row, strict=True))
        told = ()
        while not after[told].settled:
            j = int(after[told].next["feature"].iloc[0][1:])
            more = (*told, (j, row[j]))
            if more not in after:
                after[more] = after[told].tell(j, row[j])
            told = more
        asked += weight * len(told)
        differs += weight * int(after[told].prediction != model.predict([row])[0])
    assert 0 < differs <= 1 - Fraction(str(delta))
    assert 0 < asked < 5


def test_markers_names_and_costs():
    """NaN and other markers, mappings, series and costs are taken as people write them."""
    model = LinearModel([3, 2, 1], threshold=4, feature_names=["a", "b", "c"])
    by_nan = outlook(model, [1, np.nan, 0], unknown=np.nan)
    by_name = outlook(model, pd.Series({"c": 0, "b": None, "a": 1}), unknown=["b"])
    by_mark = outlook(model, ["1", "?", "0"], unknown="?")
    by_dict = outlook(model, {"a": 1, "c": 0}, unknown=["b"], cost={"b": 2})
    by_none = outlook(model, [1, None, 0], unknown=np.nan)
    by_pandas = outlook(model, [1, np.nan, 0], unknown=pd.NA)
    for seen in (by_nan, by_name, by_mark, by_dict, by_none, by_pandas):
        assert seen.unknown == ("b",)
        assert seen.probability(1).exact == Fraction(1, 2)
    assert by_dict.next["cost"].tolist() == [2.0]
    twins = LinearModel([3, 3, 1], threshold=6, feature_names=["a", "b", "c"])
    cheap = outlook(twins, {}, unknown=["a", "b", "c"], cost=[9, 1, 1], delta=0.8)
    assert cheap.next["feature"].iloc[0] == "b"
    assert str(by_nan) == (
        "Class 0 with probability 0.5 over uniform completions, 1 of 3 features unknown: not "
        "settled at 0.95."
    )


def test_nothing_unknown_is_settled():
    """A row that is known has its class for certain, and nothing is left to ask."""
    seen = outlook(LinearModel([3, 2], threshold=4), [1, 1], unknown=[])
    assert seen.settled
    assert seen.probability(1).exact == 1
    assert len(seen.next) == 0


def test_many_values_are_an_estimate_that_is_named():
    """Of a real-valued feature some values are looked at over independent features."""
    rng = np.random.default_rng(0)
    data = rng.normal(size=(90, 3))
    units = [Unit.real(name, j) for j, name in enumerate("abc")]
    model = LinearModel([1.0, -2.0, 0.5], 0.1, units=units)
    seen = outlook(model, data[0], unknown=["a", "b"], distribution=Marginals.fit(data))
    assert set(seen.next["method"]) == {"estimate"}
    assert seen.next["feature"].iloc[0] == "b"
    classes = ArgmaxModel(rng.normal(size=(3, 3)), np.zeros(3), units=units)
    seen = outlook(classes, data[0], unknown=["a"], distribution=Background(data))
    assert sum(seen.probability(c).exact for c in range(3)) == 1


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (
            lambda m: outlook(m, [1, 1], unknown=["a"]),
            "row must have one value per column, 3, got an array of shape (2,).",
        ),
        (
            lambda m: outlook(m, [1, 1, 1], unknown="b"),
            "unknown = 'b' is what marks unknown cells, and no cell holds it. To name the feature, "
            "write unknown=['b'].",
        ),
        (
            lambda m: outlook(m, {"a": 1}, unknown=["b"]),
            "row has no value of 'c', which is not named in unknown either.",
        ),
        (
            lambda m: outlook(m, {"z": 1}, unknown=["b"]),
            "row must name the model's columns, got 'z'. They are 'a', 'b', 'c'.",
        ),
        (
            lambda m: outlook(m, ["x", 1, 1], unknown=["b"]),
            "row must hold numbers in the columns that are known, got ['x', 0.0, 1].",
        ),
        (
            lambda m: outlook(m, [1, 1, 1], unknown=["b"]).probability("no"),
            "label must be one of the classes, 0, 1, got 'no'.",
        ),
        (
            lambda m: outlook(m, [1, 1, 1], unknown=["b"]).tell("a", 1),
            "'a' is known already.",
        ),
        (
            lambda m: outlook(m, [1, 1, 1], unknown=["b"]).tell("b", "yes"),
            "value must be a number for 'b', got 'yes'.",
        ),
        (
            lambda m: outlook(m, [1, 1, 1], unknown=["b"], cost={"q": 1}),
            "cost names an unknown feature, 'q'. The model's features are 'a', 'b', 'c'.",
        ),
        (
            lambda m: outlook(m, [1, 1, 1], unknown=["b"], cost=[1, 0, 1]),
            "cost must be a positive number, got 0 for 'b'.",
        ),
        (
            lambda m: outlook(m, [1, 1, 1], unknown=["b"], cost=[1, 1]),
            "cost must have one number per feature, 3, got 2.",
        ),
        (
            lambda m: outlook(m, [1, 1, 1], unknown=["b"], distribution=MATCHING).next,
            f"nothing says what an unknown feature may be over {MATCHING}: use Uniform(), "
            "Product(p), Marginals.fit(X) or Background(X), or give your law a method "
            "states(unit).",
        ),
    ],
)
def test_bad_input(ask, message):
    """What is wrong is said, with what was received."""
    model = LinearModel([3, 2, 1], threshold=4, feature_names=["a", "b", "c"])
    with pytest.raises(InvalidInputError) as caught:
        ask(model)
    assert str(caught.value) == message


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("make", [Background, Marginals.fit])
def test_unknown_words_are_what_they_are_in_a_table(make, classes: int):
    """Over sparse rows an outlook encloses what it is over the same rows as a table."""
    rng = np.random.default_rng(classes)
    X = (rng.random((30, 6)) < 0.3).astype(float)
    weights = rng.integers(-4, 5, (classes, 6)).astype(float)
    model = ArgmaxModel(weights, np.zeros(3)) if classes == 3 else LinearModel(weights[0], 0.5)
    full = outlook(model, X[0], unknown=[1, 3, 4], distribution=make(X), delta=0.9)
    with few_are_thin():
        law = make(sparse.csr_array(X))
        thin = outlook(model, X[0], unknown=[1, 3, 4], distribution=law, delta=0.9)
        told, expected = thin.next, full.next
    assert law_of(model, law).takes_sparse
    for label in model.classes:
        one, other = thin.probability(label), full.probability(label)
        assert one.lower <= other.upper
        assert other.lower <= one.upper
    assert set(told["feature"]) == set(expected["feature"])
