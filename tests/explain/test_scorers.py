"""Scorers: short explanations as something that model selection can ask for."""

import pickle
import re
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import check_scoring
from sklearn.model_selection import GridSearchCV, cross_validate

from sklearn_probsr import (
    SufficientReasonExplainer,
    make_guarantee_scorer,
    make_reason_size_scorer,
)
from sklearn_probsr.exceptions import InvalidInputError
from tests.explained import classifier, mixed, people, tumours


def refused(message: str) -> Any:
    return pytest.raises(InvalidInputError, match=f"^{re.escape(message)}$")


def test_sizes_count_against():
    """Minus the mean size of the reasons: greater is better."""
    X, _, _ = tumours()
    explain = SufficientReasonExplainer(classifier(), X[:400], delta=0.9)
    score = make_reason_size_scorer(delta=0.9, masker=X[:400])(classifier(), X[400:430])
    assert type(score) is float
    assert score == -explain(X[400:430]).reason_size.mean()
    sure = make_reason_size_scorer(delta=1.0, masker=X[:400])(classifier(), X[400:430])
    assert sure < score < 0


def test_guarantees_count_for():
    """The mean of the best guarantee of at most a size: it grows with the size, up to 1."""
    X, _, _ = tumours()
    scores = [make_guarantee_scorer(max_size=k)(classifier(), X[400:430]) for k in (0, 1, 4, 30)]
    assert scores == sorted(scores)
    assert 0 < scores[0] < scores[-1] == 1.0
    explain = SufficientReasonExplainer(classifier(), delta=1.0, max_size=4)
    assert scores[2] == explain(X[400:430]).guarantee_lower.mean()


def test_what_they_refuse():
    """No rows, and a size that is none."""
    X, _, _ = tumours()
    with refused("A score needs at least one row, got none."):
        make_reason_size_scorer()(classifier(), X[:0])
    for wrong in (None, -1, 1.5, True):
        with refused(f"max_size must be a whole number >= 0, got {wrong!r}."):
            make_guarantee_scorer(max_size=wrong)


def test_they_are_scorers():
    """Accepted as such, pickled for jobs, and printed in full."""
    score = make_reason_size_scorer(delta=0.9, n_jobs=1)
    assert check_scoring(LogisticRegression(), scoring=score) is score
    assert pickle.loads(pickle.dumps(score)) == score
    assert repr(score) == "make_reason_size_scorer(delta=0.9, masker=None, n_jobs=1)"
    assert repr(make_guarantee_scorer(max_size=3)) == (
        "make_guarantee_scorer(max_size=3, masker=None, n_jobs=None)"
    )
    X = tumours()[0]
    assert repr(make_guarantee_scorer(max_size=3, masker=X)) == (
        "make_guarantee_scorer(max_size=3, masker=<DataFrame of shape (569, 30)>, n_jobs=None)"
    )


def test_a_grid_search_weighs_accuracy_against_length():
    """Several metrics at once; the strongest regularization explains itself shortest here."""
    X, _, y = tumours()
    search = GridSearchCV(
        LogisticRegression(),
        {"C": [0.001, 1.0]},
        scoring={
            "accuracy": "accuracy",
            "short": make_reason_size_scorer(delta=0.9),
            "sure": make_guarantee_scorer(max_size=3),
        },
        refit="short",
        cv=3,
    ).fit(X[:300], y[:300])
    results = search.cv_results_
    assert (results["mean_test_short"] < 0).all()
    assert ((results["mean_test_sure"] > 0.5) & (results["mean_test_sure"] <= 1)).all()
    assert search.best_index_ == int(np.argmax(results["mean_test_short"]))
    alone = GridSearchCV(
        LogisticRegression(), {"C": [0.001, 1.0]}, scoring=make_reason_size_scorer(delta=0.9), cv=3
    ).fit(X[:300], y[:300])
    assert alone.best_score_ == results["mean_test_short"].max()


def test_they_go_wherever_a_scorer_goes():
    """Cross-validation and searches, cloned and pickled, in one process or in two."""
    X, _, y = tumours()
    X, y = X[:200], y[:200]
    scoring = {
        "accuracy": "accuracy",
        "size": make_reason_size_scorer(delta=0.9),
        "sure": make_guarantee_scorer(max_size=2, masker=X),
    }
    search = GridSearchCV(LogisticRegression(), {"C": [0.01, 1.0]}, scoring=scoring, refit="size")
    for again in (clone(search), pickle.loads(pickle.dumps(search))):
        assert repr(again.scoring["size"]) == repr(scoring["size"])
    alone = cross_validate(LogisticRegression(), X, y, scoring=scoring, cv=2)
    jobs = cross_validate(LogisticRegression(), X, y, scoring=scoring, cv=2, n_jobs=2)
    for name in scoring:
        assert (alone[f"test_{name}"] == jobs[f"test_{name}"]).all()
    found = clone(search).set_params(cv=2, n_jobs=2).fit(X, y).cv_results_
    again = search.set_params(cv=2).fit(X, y).cv_results_
    for name in scoring:
        assert (found[f"mean_test_{name}"] == again[f"mean_test_{name}"]).all()
    assert found["mean_test_size"][1] == alone["test_size"].mean()


def test_pipelines_are_scored_over_raw_rows():
    """Frames with categories and gaps, over a raw background."""
    X, y = people()
    scoring = {"short": make_reason_size_scorer(delta=0.9, masker=X)}
    found = cross_validate(mixed(), X, y, scoring=scoring, cv=2)
    assert (found["test_short"] <= 0).all()
    assert (found["test_short"] >= -4).all()
