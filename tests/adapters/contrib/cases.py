"""A table with gaps and categories, rows that no model saw, and what must hold of any model."""

import warnings
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

from sklearn_probsr import Background, SufficientReasonExplainer, adapt

RNG = np.random.default_rng(0)
N = 300


def table() -> pd.DataFrame:
    """Return numbers with gaps, some zeros, and two columns of categories."""
    X = pd.DataFrame(
        {
            "age": RNG.normal(50, 10, N).round(1),
            "job": pd.Categorical(RNG.choice(["clerk", "nurse", "cook"], N)),
            "balance": RNG.choice([0.0, 0.0, 1.5, -2.0, 3.0], N),
            "zone": pd.Categorical(RNG.choice([10, 20, 30], N)),
        }
    )
    X.loc[::7, "age"] = np.nan
    return X


TABLE = table()
_SCORE = (TABLE["age"].fillna(45) - 50) / 10 + (TABLE["job"] == "nurse") + TABLE["balance"] / 2
_SCORE = _SCORE + (TABLE["zone"] == 20) + RNG.normal(size=N) / 3
TWO = (_SCORE > 0.8).astype(int).to_numpy()
THREE = np.digitize(_SCORE, [0.0, 1.5])
PLAIN = ["age", "balance"]


def unseen(n: int = 1_000, *, categories: bool = True, gaps: bool = True) -> pd.DataFrame:
    """Return rows with numbers, gaps and categories that were not seen."""
    more = [np.nan] if gaps else []
    jobs = ["clerk", "nurse", "cook", *["poet"] * categories, *[None] * gaps]
    ages = [*TABLE["age"].dropna(), 1e9, -1e9, 50.05, *more * 20]
    return pd.DataFrame(
        {
            "age": RNG.choice(ages, n),
            "job": pd.Categorical(RNG.choice(jobs, n)),
            "balance": RNG.choice([0.0, 1e-36, -1e-36, 1.5, -2.0, 3.0, 7.0, *more], n),
            "zone": pd.Categorical(RNG.choice([10, 20, 30, *[40] * categories], n)),
        }
    )


def agree(estimator: Any, X: Any) -> Any:
    """Return the model of an estimator, which says the same on all rows; explain some of them."""
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "row ")  # not even rounding may tell them apart here
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        adapted = adapt(estimator, X, all_classes=True)
        assert (adapted.predict(X) == np.asarray(estimator.predict(X))).all()
        rows = X.iloc[:3] if hasattr(X, "iloc") else X[:3]
        found = SufficientReasonExplainer(estimator, X)(rows)
    assert (found.prediction == adapted.predict(rows)).all()
    return adapted


def by_force(estimator: Any, background: pd.DataFrame, rows: pd.DataFrame) -> None:
    """Ask the estimator itself about every set of raw columns: no smaller reason, no other share.

    Unknown columns take the values of a background row together, and shares are counted.
    """
    columns = list(background)
    told = SufficientReasonExplainer(estimator, Background(background), delta=0.9)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = told.explain_frame(rows)
        for at in range(len(rows)):
            row = rows.iloc[[at]]
            own = estimator.predict(row)[0]
            shares = {}
            for known in range(2 ** len(columns)):
                fixed = [c for i, c in enumerate(columns) if known >> i & 1]
                mixed = pd.concat([row] * len(background), ignore_index=True)
                for column in columns:
                    if column not in fixed:
                        mixed[column] = background[column].to_numpy()
                kept = (estimator.predict(mixed) == own).sum()
                shares[frozenset(fixed)] = Fraction(int(kept), len(background))
            line = found.iloc[at]
            share = shares[frozenset(line["reason"])]
            assert line["guarantee_lower"] <= share <= line["guarantee_upper"]
            assert share >= Fraction(9, 10)
            least = min(len(s) for s, share in shares.items() if share >= Fraction(9, 10))
            assert line["minimality"] == "minimum"
            assert line["reason_size"] == least
