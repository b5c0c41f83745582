"""Audits of protected features, against searches and counts made one by one."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from sklearn_probsr import LinearModel, SufficientReasonExplainer, audit
from sklearn_probsr.exceptions import InvalidInputError


@pytest.fixture(scope="module")
def loans():
    """Applicants, and a Pipeline that uses what it should not."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "income": rng.normal(3, 1, 60).round(1),
            "home": rng.choice(["own", "rent"], 60),
            "sex": rng.choice(["f", "m"], 60),
        },
        index=[f"A{i}" for i in range(60)],
    )
    y = np.where(X["income"] + (X["home"] == "own") + 2 * (X["sex"] == "m") > 4, "yes", "no")
    steps = make_column_transformer(
        (OneHotEncoder(), ["home", "sex"]), (StandardScaler(), ["income"])
    )
    return X, make_pipeline(steps, LogisticRegression(C=9)).fit(X, y)


def test_every_line_is_what_searches_and_counts_say(loans):
    """Reasons without the feature, what is only reached through it, and what flips."""
    X, model = loans
    found = audit(model, X[:25], X, protected=["sex"], delta=0.9)
    frame = found.to_frame()
    assert list(frame.index) == list(X.index[:25])
    assert list(frame["sex"]) == list(X["sex"][:25])
    free = SufficientReasonExplainer(model, X, delta=0.9, exclude=["sex"])
    with pytest.warns(UserWarning, match="rows"):
        status = free(X[:25]).status
    assert list(frame["free"]) == [s == "ok" for s in status]
    assert not (frame["free"] & frame["only_through"]).any()
    for i in range(25):
        swapped = pd.concat([X[i : i + 1]] * len(X))
        swapped["sex"] = X["sex"].to_numpy()
        flips = (model.predict(swapped) != model.predict(X[i : i + 1])[0]).mean()
        assert frame["flip_lower"].iloc[i] == pytest.approx(flips)
    told = found.summary
    assert told["free"] + told["only_through"] + told["undecided"] == pytest.approx(1)
    assert "no evidence that the feature is not used" in str(found)
    groups = found.by_group()
    assert groups["rows"].sum() == 25
    assert set(groups.index.names) == {"class", "sex"}


def test_the_picture_adds_up(loans):
    """Every class has bars that add up to one."""
    X, model = loans
    ax = audit(model, X[:20], X, protected=["sex"]).plot(show=False)
    ends = [bar.get_x() + bar.get_width() for bar in ax.containers[-1]]
    assert ends == pytest.approx([1, 1])
    plt.close(ax.figure)


def test_numbers_are_cut_at_their_median(loans):
    """Groups of a number are those below its median and above it."""
    X, model = loans
    groups = audit(model, X[:20], X, protected=["income"]).by_group()
    assert len({label for _, label in groups.index}) == 2


def test_no_rows_are_audited(loans):
    """Tables have their columns, with no line."""
    X, model = loans
    found = audit(model, X[:0], X, protected=["sex"])
    full = audit(model, X[:2], X, protected=["sex"])
    assert list(found.to_frame()) == list(full.to_frame())
    assert list(found.by_group()) == list(full.by_group())
    assert len(found.by_group()) == len(found.to_frame()) == found.summary["rows"] == 0


def test_bad_input():
    """Unknown features and none at all are refused."""
    model = LinearModel([1, 2], 2, feature_names=["a", "b"])
    with pytest.raises(
        InvalidInputError,
        match=r"^protected names an unknown feature, 'z'\. The model's features are 'a', 'b'\.$",
    ):
        audit(model, [[1, 1]], protected=["z"])
    with pytest.raises(
        InvalidInputError, match=r"^protected must name the features to be audited, got none\.$"
    ):
        audit(model, [[1, 1]], protected=[])
