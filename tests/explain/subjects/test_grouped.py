"""Features that are known or unknown together count as one."""

import pickle
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from sklearn_probsr import (
    Background,
    LinearModel,
    Marginals,
    Product,
    SufficientReasonExplainer,
    SufficientReasonTransformer,
    compare,
    group_dummies,
)
from sklearn_probsr.exceptions import InvalidInputError

WEIGHTS, GROUPS = [5, -3, 2, 4, -1], {"pair": ["x1", "x3"]}


def truth(model, x, fixed, completions):
    """Return the share of completions that keep the class with some columns fixed."""
    kept = total = Fraction(0)
    for row, chance in completions:
        whole = [x[j] if j in fixed else row[j] for j in range(len(x))]
        total += chance
        kept += chance * (model.predict([whole])[0] == model.predict([x])[0])
    return kept / total


@pytest.mark.parametrize("kind", ["uniform", "product", "rows"])
def test_reasons_of_groups_are_the_smallest(kind):
    """Over coins a group's columns are independent, over rows joint: against all sets of units."""
    model = LinearModel(WEIGHTS, threshold=3)
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 2, (30, 5))
    cube = list(product([0, 1], repeat=5))
    chances = [Fraction(k, 10) for k in (2, 5, 7, 4, 9)]
    masker, completions = {
        "uniform": (None, [(row, Fraction(1)) for row in cube]),
        "product": (
            Product([float(p) for p in chances]),
            [
                (row, np.prod([p if v else 1 - p for p, v in zip(chances, row, strict=True)]))
                for row in cube
            ],
        ),
        "rows": (Background(rows), [(row, Fraction(1)) for row in rows.tolist()]),
    }[kind]
    explainer = SufficientReasonExplainer(model, masker, delta=0.8, groups=GROUPS)
    found = explainer(rows[:10])
    assert found.feature_names == ["x0", "pair", "x2", "x4"]
    columns = [[0], [1, 3], [2], [4]]
    for i in range(10):
        x = rows[i].tolist()
        sets = [s for k in range(5) for s in combinations(range(4), k)]
        worth = {s: truth(model, x, {j for u in s for j in columns[u]}, completions) for s in sets}
        least = min(len(s) for s, v in worth.items() if v >= Fraction(4, 5))
        own = tuple(np.flatnonzero(found.reason_mask[i]).tolist())
        low, high = found.guarantee_lower[i], found.guarantee_upper[i]
        assert low <= worth[own] <= high
        assert len(own) == least
        assert found.reasons[i].minimality == "minimum"


@pytest.fixture(scope="module")
def people():
    """A frame with an address, and a Pipeline on it."""
    rng = np.random.default_rng(1)
    X = pd.DataFrame(
        {
            "city": rng.choice(["Bonn", "Ulm"], 60),
            "age": rng.integers(20, 70, 60),
            "street": rng.choice(["Main", "Park", "Hill"], 60),
            "pay": rng.normal(size=60).round(2),
        }
    )
    y = (X["city"] == "Ulm") + (X["street"] == "Park") + X["age"] / 30 > 2
    steps = make_column_transformer(
        (OneHotEncoder(), ["city", "street"]), (StandardScaler(), ["age", "pay"])
    )
    return X, y, make_pipeline(steps, LogisticRegression(C=9)).fit(X, y)


def test_a_pipeline_with_an_address(people):
    """Groups of categories and of numbers are told with all of their values; they travel."""
    X, y, model = people
    groups = {"address": ["street", "city"], "person": ["age", "pay"]}
    explainer = SufficientReasonExplainer(model, X, delta=0.9, groups=groups)
    found = explainer(X[:8])
    assert sorted(found.feature_names) == ["address", "person"]
    address = found.feature_names.index("address")
    assert found.display_data[0, address] == f"({X['street'][0]}, {X['city'][0]})"
    told = " ".join(found.describe(i) for i in range(8))
    assert "address = (" in told
    again = pickle.loads(pickle.dumps(explainer))(X[:8])
    np.testing.assert_array_equal(again.reason_mask, found.reason_mask)
    plain = SufficientReasonExplainer(model, X)
    values = plain.shap_values(X[:8])
    names = list(plain.linear_model.unit_names)
    both = values[:, names.index("street")] + values[:, names.index("city")]
    np.testing.assert_allclose(found.values[:, address], both)
    frame = compare(model, X[:8], X, groups=groups).to_frame()
    assert frame["reason_size"].max() <= 2
    step = SufficientReasonTransformer(model, groups=groups, output="mask")
    assert clone(step).fit(X, y).transform(X[:3]).shape == (3, 2)
    marginal = SufficientReasonExplainer(model, Marginals.fit(X), groups=groups)(X[:3])
    assert marginal.reason_size.max() <= 2


def test_dummies_count_once():
    """Columns of get_dummies become one feature each, with their group's name."""
    rng = np.random.default_rng(2)
    raw = pd.DataFrame({"job": rng.choice(["a", "b", "c"], 50), "age": rng.integers(0, 9, 50)})
    X = pd.get_dummies(raw, dtype=float)
    y = (raw["job"] == "a") ^ (raw["age"] > 6)
    model = LogisticRegression().fit(X, y)
    found = SufficientReasonExplainer(model, X, groups=group_dummies(X))(X[:4])
    assert sorted(found.feature_names) == ["age", "job"]


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (
            ["x1", "x3"],
            "groups must map the name of a group to its features, such as {'address': ['street', "
            "'city']}, got ['x1', 'x3'].",
        ),
        ({"pair": "x1"}, "group 'pair' must be a list of features, got 'x1'."),
        ({"pair": []}, "group 'pair' must have features, got none."),
        (
            {"pair": ["x1", "z"]},
            "group 'pair' names an unknown feature, 'z'. The model's features are 'x0', 'x1', "
            "'x2', 'x3', 'x4'.",
        ),
        (
            {"a": ["x1", "x2"], "b": ["x2"]},
            "groups must not share features, got 'x2' in 'a' and 'b'.",
        ),
        (
            {"x0": ["x1", "x2"]},
            "group 'x0' has the name of a feature that is not in it. Call it otherwise.",
        ),
    ],
)
def test_bad_groups(groups, message):
    """What is wrong is said, with what was received."""
    with pytest.raises(InvalidInputError) as caught:
        SufficientReasonExplainer(LinearModel(WEIGHTS, threshold=3), groups=groups)
    assert str(caught.value) == message
