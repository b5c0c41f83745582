"""Comparisons under rules: features that must be known, must not be, and how many at most."""

from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression

from sklearn_probsr import Background, LinearModel, Marginals, compare
from sklearn_probsr.exceptions import InvalidInputError
from tests.report.comparison.test_compare import DELTA, small, truths

NAMES = ["job", "home", "debt", "late", "age", "sex"]


def applicants() -> tuple[LinearModel, np.ndarray]:
    model = LinearModel([31, 22, 17, -28, -45, 40], threshold=10, feature_names=NAMES)
    return model, np.random.default_rng(0).integers(0, 2, (40, 6))


def allowed(size: int, inside: set[int], outside: set[int]) -> list[set[int]]:
    """Return the sets of a size that keep to the rules."""
    sets = (set(s) for s in combinations(range(5), size))
    return [s for s in sets if inside <= s and not s & outside]


def smallest(truth: Any, level: Fraction, *rules: set[int]) -> float:
    sizes = (k for k in range(6) if any(truth(s) >= level for s in allowed(k, *rules)))
    return next(sizes, np.nan)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", ["joint", "independent"])
@pytest.mark.parametrize(("inside", "outside"), [({3}, set()), (set(), {2}), ({0, 4}, {1})])
def test_the_rules_hold_for_all_by_brute_force(seed: int, kind: str, inside: Any, outside: Any):
    """Reasons, SHAP's orders and certainty begin with include, and go without exclude."""
    model, data = small(seed)
    law = Background(data) if kind == "joint" else Marginals.fit(data)
    rules = {"include": [model.unit_names[u] for u in inside], "exclude": list(outside)}
    found = compare(model, data[:5], law, delta=float(DELTA), max_size=5, **rules)
    table = found.table
    for i, row in enumerate(data[:5]):
        truth, values = truths(model, row, data, kind), found.shap_values[i]
        sign = 1 if model.weights @ row >= model.threshold else -1
        chosen = set(np.flatnonzero(found.mask[i]).tolist())
        assert inside <= chosen
        assert not chosen & outside
        best = smallest(truth, DELTA, inside, outside)
        if np.isnan(best):
            assert table["minimality"][i] == "best-of-size"
        else:
            assert table["reason_size"][i] == best
        np.testing.assert_equal(
            table["sure_size"][i], smallest(truth, Fraction(1), inside, outside)
        )
        for name, worth in (("abs", np.abs(values)), ("signed", sign * values)):
            order = sorted(range(5), key=lambda u: (u not in inside, -worth[u], u))
            order = [u for u in order if u not in outside]
            reached = (k for k in range(len(inside), len(order) + 1) if truth(order[:k]) >= DELTA)
            np.testing.assert_equal(table[f"{name}_shap_size"][i], next(reached, np.nan))
            if name == "abs":
                top = set(order[: len(chosen)])
                low, high = (table[f"top_shap_guarantee_{end}"][i] for end in ("lower", "upper"))
                assert Fraction(low) <= truth(top) <= Fraction(high)
                assert table["hurting"][i] == sum(sign * values[u] < 0 for u in top)
                both, either = len(top & chosen), len(top | chosen)
                assert table["overlap"][i] == (both / either if either else 1)


def test_the_rules_are_told(tmp_path: Path):
    """The summary and the page say what was asked, and what was out of reach."""
    model, rows = applicants()
    found = compare(model, rows, rows, include=["job"], exclude=["sex"], max_size=3)
    told = found.summary().split("\n")
    assert found.rules == "Every reason has job, none has sex, and none has more than 3 features"
    assert told[1] == f"{found.rules}; in 65% of the rows no set found so surely reaches 0.95."
    gaps = {
        "sure_size": (20, "certainty"), "abs_shap_size": (19, "0.95"),
        "signed_shap_size": (19, "0.95"),
    }  # fmt: skip
    assert found.missing == {
        name: f"in {n} of 40 rows {what} is not reached without the features in exclude."
        for name, (n, what) in gaps.items()
    }
    assert found.summary() == found.summary()
    assert {name: found.to_frame()[name].isna().sum() for name in gaps} == {
        name: n for name, (n, _) in gaps.items()
    }
    found.to_html(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert told[1] in page
    assert "sure_size is missing: in 20 of 40 rows certainty is not reached" in page
    plt.close(found.plot())


@pytest.mark.parametrize(
    ("rules", "words"),
    [
        ({}, ""),
        ({"include": [0, "late"]}, "Every reason has job and late"),
        (
            {"exclude": ["sex"], "max_size": 9},
            "No reason has sex, and none has more than 9 features",
        ),
        ({"max_size": 1}, "No reason has more than 1 feature"),
    ],
)
def test_rules_in_words(rules: dict[str, Any], words: str):
    """What was asked for, and no more."""
    model, rows = applicants()
    found = compare(model, rows[:2], rows, delta=0.5, **rules)
    assert found.rules == words
    assert found.summary().split("\n")[1].startswith(words or "A reason has ")


def test_every_level_keeps_to_the_rules():
    """Growth has the same forced and barred features, and no more than allowed at any level."""
    model, rows = applicants()
    found = compare(model, rows, rows, include=["job"], exclude=["sex"], max_size=3)
    growth = found.growth
    assert 1.0 in growth.levels
    assert growth.mask[:, :, 0].all()
    assert not growth.mask[:, :, 5].any()
    assert growth.mask.sum(axis=2).max() == 3
    short = growth.minimality == "best-of-size"
    levels = np.broadcast_to(np.array(growth.levels)[:, None], short.shape)
    # A bound that is rounded down may print as the level that it is.
    assert (growth.lower[~short] >= levels[~short] - 1e-15).all()


def test_sizes_without_gaps_are_whole_numbers():
    """Where nothing is out of reach, nothing is missing and no size is a float."""
    model, rows = applicants()
    found = compare(model, rows, rows, include=["job"], max_size=2)
    assert found.missing == {}
    for name in ("reason_size", "sure_size", "abs_shap_size", "signed_shap_size"):
        assert found.table[name].dtype.kind == "i", name


def test_how_hard_to_prove_and_how_much_slack():
    """`prove` and `epsilon` reach the search."""
    model, rows = applicants()
    sizes = compare(model, rows[:5], rows, prove=True).table["reason_size"]
    assert set(compare(model, rows[:5], rows, prove=True).table["minimality"]) == {"minimum"}
    assert (compare(model, rows[:5], rows, prove=False).table["reason_size"] >= sizes).all()
    with pytest.raises(InvalidInputError, match=r"^prove must be 'auto', True or False, got 2\.$"):
        compare(model, rows, rows, prove=2)
    message = r"^epsilon must lie strictly between 0 and 1, got 3\.$"
    with pytest.raises(InvalidInputError, match=message):
        compare(model, rows, rows, epsilon=3)
    assert len(compare(model, rows[:5], rows, epsilon=0.01)) == 5


def test_one_class_against_another():
    """`target` and `versus` pick two of several classes."""
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = LogisticRegression(max_iter=1000).fit(X, y)
    found = compare(model, X[100:105], X, target=2, versus=1)
    assert found.classes == (1, 2)
    assert set(found.table["prediction"]) == {2}


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        (
            {"include": ["nix"]},
            "include names an unknown feature, 'nix'. The model's features are 'job', 'home', "
            "'debt', 'late', 'age', 'sex'.",
        ),
        (
            {"include": ["job"], "exclude": [0]},
            "include and exclude must not share features, got 'job' in both.",
        ),
        (
            {"include": ["job", "home"], "max_size": 1},
            "include forces 2 features in, more than max_size = 1. Raise max_size or include "
            "fewer.",
        ),
    ],
)
def test_rules_that_cannot_be_kept(rules: dict[str, Any], message: str):
    """An unknown name, a feature in both, more forced in than fit."""
    model, rows = applicants()
    with pytest.raises(InvalidInputError) as caught:
        compare(model, rows, rows, **rules)
    assert str(caught.value) == message
