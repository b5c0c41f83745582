"""optbinning's scorecards and its bins in a Pipeline."""

import re
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from sklearn_probsr import SufficientReasonExplainer, adapt
from sklearn_probsr.exceptions import InvalidInputError
from tests.adapters.contrib.cases import RNG, TABLE, TWO, N, agree, unseen

pytest.importorskip("optbinning", reason="optbinning is not installed")
from optbinning import BinningProcess, Scorecard

RAW = ["age", "job", "income"]


def with_codes(X: pd.DataFrame) -> pd.DataFrame:
    """Return texts for categories, and a column in which -999 is a special code."""
    income = RNG.choice([-999.0, -998.0, 5.0, 12.5, 30.0, 1e6], len(X))
    return X.assign(job=X["job"].astype(object), income=income)[RAW]


X = with_codes(TABLE)
Y = ((X["income"] > 10).to_numpy() | (TWO == 1)).astype(int)


def bins() -> Any:
    return BinningProcess(RAW, categorical_variables=["job"], special_codes=[-999], n_jobs=1)


def fitted(estimator: Any, **options: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return estimator.fit(X, Y, **options)


def test_bins_in_a_pipeline():
    """A state for each bin; special codes and missing values are states, extra columns no harm."""
    rows = with_codes(unseen())
    pipeline = fitted(make_pipeline(bins(), LogisticRegression()))
    adapted = agree(pipeline, rows)
    assert adapted.units[0].labels[0].startswith("age < ")
    assert adapted.units[2].labels[-1].startswith("income: -999")
    assert len(rows.assign(more=1)) == len(adapted.predict(rows.assign(more=1)))


@pytest.mark.parametrize("metric", [0, "empirical"])
def test_a_scorecard(metric: Any):
    """With what it takes special and missing values for; also without data."""
    card = Scorecard(
        binning_process=bins(),
        estimator=LogisticRegression(),
        scaling_method="min_max",
        scaling_method_params={"min": 0, "max": 100},
    )
    card = fitted(card, metric_special=metric, metric_missing=metric)
    rows = with_codes(unseen())
    adapted = agree(card, rows)
    points = card.score(rows)
    scores = adapted.contributions(rows).sum(axis=1)
    known = (rows["job"].isin(["clerk", "nurse", "cook"]) & rows["age"].notna()).to_numpy()
    known = known & (rows["income"] != -999).to_numpy()
    assert abs(np.corrcoef(points[known], scores[known])[0, 1]) > 1 - 1e-9
    alone = SufficientReasonExplainer(card)(rows[:2])
    assert "over uniform completions, given" in alone.describe(0)
    assert len(X) == N


def test_what_is_not_fitted_is_told_so():
    """They do not tell it as scikit-learn's do."""
    card = Scorecard(binning_process=bins(), estimator=LogisticRegression())
    pipeline = make_pipeline(bins(), fitted_logistic())
    for estimator, name in ((card, "Scorecard"), (pipeline, "BinningProcess")):
        message = f"estimator must be fitted, got {name} that is not. Call fit first."
        with pytest.raises(InvalidInputError, match=f"^{re.escape(message)}$"):
            adapt(estimator)


def fitted_logistic() -> Any:
    return LogisticRegression().fit(np.eye(3), [0, 1, 1])
