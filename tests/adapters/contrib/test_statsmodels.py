"""statsmodels: logit, probit and binomial results, of a matrix or of a formula."""

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest

from sklearn_probsr import SufficientReasonExplainer, adapt
from sklearn_probsr.adapters import Threshold
from sklearn_probsr.exceptions import InvalidInputError
from tests.adapters.contrib.cases import RNG, TABLE, TWO, N

sm = pytest.importorskip("statsmodels.api", reason="statsmodels is not installed")
smf = pytest.importorskip("statsmodels.formula.api", reason="statsmodels is not installed")

FRAME = pd.DataFrame(
    {
        "y": np.where(RNG.random(N) < 0.1, 1 - TWO, TWO),
        "age": TABLE["age"].fillna(45.0),
        "job": TABLE["job"].astype(object),
        "net income": RNG.exponential(10, N) + 1,
    }
)
MATRIX = sm.add_constant(FRAME[["age", "net income"]])
BINOMIAL = sm.families.Binomial


def rows(n: int = 1_000) -> pd.DataFrame:
    """Return other numbers, inside the range that splines were fitted on."""
    ages = RNG.uniform(FRAME["age"].min(), FRAME["age"].max(), n)
    income = RNG.exponential(10, n) + 1
    return pd.DataFrame(
        {"net income": income, "job": RNG.choice(["clerk", "nurse"], n), "age": ages}
    )


def check(results: Any, X: Any) -> Any:
    """Compare classes with probabilities above one half, and from other thresholds on."""
    chances = np.asarray(results.predict(X))
    adapted = adapt(results, X)
    assert (adapted.predict(X) == (chances > 0.5)).all()
    for level in (0.2, 0.9):
        assert (adapt(Threshold(results, level), X).predict(X) == (chances >= level)).all()
    return adapted


def matrix() -> pd.DataFrame:
    return sm.add_constant(rows()[["age", "net income"]])


FITTED = {
    "logit": lambda: sm.Logit(FRAME["y"], MATRIX).fit(disp=0),
    "probit": lambda: sm.Probit(FRAME["y"], MATRIX).fit(disp=0),
    "lasso": lambda: sm.Logit(FRAME["y"], MATRIX).fit_regularized(alpha=0.5, disp=0),
    "binomial": lambda: sm.GLM(FRAME["y"], MATRIX, family=BINOMIAL()).fit(),
    "log-log": lambda: sm.GLM(
        FRAME["y"], MATRIX, family=BINOMIAL(sm.families.links.CLogLog())
    ).fit(),
    "none": lambda: sm.Logit(FRAME["y"], MATRIX[["age", "net income"]]).fit(disp=0),
}


@pytest.mark.parametrize("name", FITTED)
def test_results_of_a_matrix(name: str):
    """The constant is no feature; columns come as predict takes them."""
    results = FITTED[name]()
    X = matrix()[list(results.model.exog_names)]
    adapted = check(results, X)
    assert adapted.model.unit_names == ("age", "net income")
    check(results, X.to_numpy())
    found = SufficientReasonExplainer(results, X)(X[:2])
    assert set(found.feature_names) == {"age", "net income"}


FORMULAS = [
    "y ~ age + C(job)",
    "y ~ job + np.log(Q('net income')) + age - 1",
    "y ~ bs(age, df=4) + I(age > 50) + Q('net income')",
]


@pytest.mark.parametrize("formula", FORMULAS)
def test_results_of_a_formula(formula: str):
    """Raw columns are those of the frame, and one unit each, whatever the formula makes of them."""
    results = smf.glm(formula, FRAME, family=BINOMIAL()).fit()
    adapted = check(results, rows())
    assert set(adapted.model.unit_names) <= {"age", "job", "net income"}
    if "job" in formula:
        labels = adapted.units[adapted.model.unit_names.index("job")].labels
        assert labels == ("job: clerk", "job: cook", "job: nurse")
    gap = rows(3)
    gap.loc[1, "age"] = np.nan
    with pytest.raises(InvalidInputError, match=r"^The steps of the estimator refuse X: "):
        adapted.predict(gap)


REFUSED = [
    (
        lambda: smf.logit("y ~ age * job", FRAME).fit(disp=0),
        "BinaryResultsWrapper has the term 'age:job', which is made of 'age', 'job': it does not "
        "add up column by column. Leave the term out of the formula.",
    ),
    (
        lambda: sm.GLM(FRAME["y"], MATRIX).fit(),
        "estimator must be a classifier, got a GLM of the family Gaussian. Fit it with "
        "family=sm.families.Binomial().",
    ),
]


@pytest.mark.parametrize(("make", "message"), REFUSED)
def test_what_is_refused(make: Any, message: str):
    """Terms of two columns, and models of anything but classes."""
    with pytest.raises(InvalidInputError, match=f"^{re.escape(message)}$"):
        adapt(make())


def test_a_regression_is_no_classifier():
    """It is told by its type."""
    results = sm.OLS(FRAME["y"], MATRIX).fit()
    with pytest.raises(InvalidInputError, match=r"^RegressionResultsWrapper is not a classifier "):
        adapt(results)
