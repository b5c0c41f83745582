"""Explainers and explanations that several tests look at: binary, raw and mixed columns."""

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, OneHotEncoder, StandardScaler

from sklearn_probsr import ReasonExplanation, SufficientReasonExplainer

# The fields that a ReasonExplanation has beyond those of shap, and by which of them a row is known.
FIELDS = (
    "reason_mask",
    "reason_size",
    "guarantee_lower",
    "guarantee_upper",
    "minimality",
    "prediction",
)


@cache
def tumours() -> tuple[pd.DataFrame, pd.DataFrame, pd.Series]:
    """Return breast cancer data: above the median or not, as it is, and the classes."""
    raw, y = load_breast_cancer(return_X_y=True, as_frame=True)
    return (raw > raw.median()).astype(float), raw, y.map({0: "malignant", 1: "benign"})


@cache
def classifier() -> LogisticRegression:
    """Return a classifier of the binary columns, fitted on the first 400 rows."""
    X, _, y = tumours()
    return LogisticRegression().fit(X[:400], y[:400])


@cache
def explainer() -> SufficientReasonExplainer:
    """Return an explainer of the binary columns over 400 background rows."""
    return SufficientReasonExplainer(classifier(), tumours()[0][:400], delta=0.95)


@cache
def explanation() -> ReasonExplanation:
    """Return the reasons of 40 rows of binary columns; nothing may write into it."""
    return explainer()(tumours()[0][400:440])


@cache
def people() -> tuple[pd.DataFrame, np.ndarray]:
    """Return people with numbers, categories and missing values, and what became of them."""
    rng = np.random.default_rng(3)
    n = 120
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 80, n).astype(float),
            "job": rng.choice(["clerk", "nurse", "admin"], n).astype(object),
            "savings": np.round(rng.lognormal(8, 1, n), 2),
            "smoker": rng.choice(["yes", "no"], n).astype(object),
        }
    )
    score = frame["age"] / 20 + (frame["job"] == "nurse") * 2 - (frame["smoker"] == "yes") * 1.5
    y = np.where(score + rng.normal(0, 0.7, n) > 2.8, "granted", "refused")
    frame.loc[rng.random(n) < 0.1, "savings"] = np.nan
    frame.loc[rng.random(n) < 0.1, "job"] = np.nan
    return frame, y


@cache
def mixed() -> Pipeline:
    """Return a pipeline that bins ages, encodes categories, and imputes and scales savings."""
    X, y = people()
    words = make_pipeline(
        SimpleImputer(strategy="constant", fill_value="unknown"),
        OneHotEncoder(handle_unknown="ignore"),
    )
    steps = make_column_transformer(
        (KBinsDiscretizer(n_bins=4, strategy="uniform"), ["age"]),
        (words, ["job"]),
        (make_pipeline(SimpleImputer(), StandardScaler()), ["savings"]),
        (OneHotEncoder(drop="if_binary"), ["smoker"]),
    )
    return make_pipeline(steps, LogisticRegression(C=5)).fit(X, y)


@cache
def mixed_explanation() -> ReasonExplanation:
    """Return the reasons of 20 people over all of them; nothing may write into it."""
    X, _ = people()
    return SufficientReasonExplainer(mixed(), X, delta=0.9)(X[:20])


def same_reasons(first: Any, second: Any) -> bool:
    """Whether two explanations agree in all that they hold, number by number."""
    arrays = ("values", "base_values", *FIELDS)
    return (
        all(np.array_equal(getattr(first, a), getattr(second, a)) for a in arrays)
        and np.array_equal(first.data, second.data, equal_nan=True)
        and list(first.feature_names) == list(second.feature_names)
    )


def change_file(path: Path, change: Callable[[Any], Any]) -> None:
    """Change what the JSON text in the file of an explanation says."""
    with np.load(path) as file:
        held = dict(file)
    meta = json.loads(held["meta"].tobytes())
    change(meta)
    held["meta"] = np.frombuffer(json.dumps(meta).encode(), dtype=np.uint8)
    np.savez_compressed(path, **held)
