"""Five whole jobs, from a raw frame to a page and back: what a user does, on data made here.

Every one goes through a Pipeline, the explainer, the comparator, their tables and the page, and
joins what it got to the frame that it came from. What a reason guarantees is checked by the
estimator's own predict, on rows in which all else is replaced.
"""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import TunedThresholdClassifierCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from sklearn_probsr import Comparison, ReasonExplanation, SufficientReasonExplainer, compare

pytestmark = pytest.mark.smoke

DELTA = 0.9


class Job(NamedTuple):
    """What a job has at its end."""

    explainer: SufficientReasonExplainer
    reasons: ReasonExplanation
    table: pd.DataFrame
    found: Comparison


def done(model: Any, X: Any, background: Any, folder: Path, **options: Any) -> Job:
    """Explain rows and compare them with SHAP; everything must line up with the frame."""
    explainer = SufficientReasonExplainer(model, background, delta=DELTA, **options)
    reasons = explainer(X)
    table, said = reasons.to_frame(), pd.Series(model.predict(X), X.index)
    found = compare(model, X, background, delta=DELTA, **options)
    for frame in (table, found.to_frame()):
        pd.testing.assert_index_equal(frame.index, X.index, exact=True)
        joined = X.to_frame().join(frame) if X.ndim == 1 else X.join(frame)
        assert len(joined) == len(X)
        assert (joined["prediction"] == said).all()
        assert (joined["status"] == "ok").all()
        assert (joined["message"] == "").all()
    beside = found.to_frame()
    for name in ("reason", "reason_size", "guarantee_lower", "minimality"):
        assert (beside[name] == table[name]).all(), name
    check_page(found, X, folder)
    return Job(explainer, reasons, table, found)


def check_page(found: Comparison, X: Any, folder: Path) -> None:
    """The page knows every row by what the frame calls it."""
    found.to_html(folder / "page.html")
    page = (folder / "page.html").read_text(encoding="utf-8")
    held = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert held is not None
    data = json.loads(held[1])
    assert data["ids"] == X.index.tolist()
    assert data["idName"] == X.index.name
    shown = [data["classes"][row["class"]] for row in data["rows"]]
    assert shown == [str(label) for label in found.to_frame()["prediction"]]


def check_guarantees(job: Job, model: Any, X: pd.DataFrame, background: pd.DataFrame) -> None:
    """Rows of the background that share a reason's values keep the class as often as it says."""
    for label, line in job.table.iterrows():
        replaced = background.copy()
        for name in line["reason"]:
            replaced[name] = pd.Series([X.at[label, name]] * len(background), background.index)
        replaced = replaced.astype(background.dtypes.to_dict())
        kept = np.mean(model.predict(replaced) == line["prediction"])
        assert line["guarantee_lower"] - 1e-9 <= kept <= line["guarantee_upper"] + 1e-9, label


def customers(n: int, seed: int, make: Callable[[Any, int], dict[str, Any]]) -> pd.DataFrame:
    """Return made-up rows under numbers that are no positions, as a query returns them."""
    rng = np.random.default_rng(seed)
    index = pd.Index(rng.permutation(np.arange(10_000, 10_000 + 3 * n))[:n], name="customer")
    return pd.DataFrame(make(rng, n), index=index)


def test_credit_with_gaps(tmp_path: Path):
    """Numbers and categories with gaps, and a count that is 0 or 1 only as far as it was seen."""

    def make(rng: Any, n: int) -> dict[str, Any]:
        income = np.round(rng.lognormal(10, 0.5, n), 2)
        job = rng.choice(["clerk", "nurse", "smith"], n).astype(object)
        income[rng.random(n) < 0.15] = np.nan
        job[rng.random(n) < 0.1] = np.nan
        return {
            "income": income,
            "age": rng.integers(18, 80, n).astype(float),
            "job": job,
            "children": rng.integers(0, 2, n),
        }

    train, X = customers(150, 1, make), customers(12, 2, make)
    X.iloc[0, 3], X.iloc[5, 3] = 3, 2
    score = train["income"].fillna(2e4) / 2e4 + (train["job"] == "nurse") - train["children"]
    y = np.where(score + np.random.default_rng(3).normal(0, 0.5, len(train)) > 0.9, "good", "bad")
    numbers = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())
    words = make_pipeline(
        SimpleImputer(strategy="constant", fill_value="none given"),
        OneHotEncoder(handle_unknown="ignore"),
    )
    steps = make_column_transformer((numbers, ["income", "age", "children"]), (words, ["job"]))
    model = make_pipeline(steps, LogisticRegression()).fit(train, y)
    job = done(model, X, train, tmp_path)
    assert set(job.table.columns) >= {"prediction", "reason", "guarantee_lower", "status"}
    assert {name for names in job.table["reason"] for name in names} <= set(X.columns)
    check_guarantees(job, model, X, train)


def test_churn_with_dummies(tmp_path: Path):
    """Dummies of pandas, counts, and more columns than the model knows, in another order."""

    def make(rng: Any, n: int) -> dict[str, Any]:
        return {
            "tenure": rng.integers(0, 72, n),
            "late": rng.integers(0, 2, n),
            "plan": rng.choice(["basic", "family", "pro"], n),
            "paperless": rng.random(n) < 0.5,
        }

    train, new = customers(150, 4, make), customers(15, 5, make)
    X_train, X = (pd.get_dummies(frame, columns=["plan"]) for frame in (train, new))
    X.loc[X.index[3], "late"] = 4
    noise = np.random.default_rng(6).normal(0, 1, len(train))
    left = train["late"] * 2 - train["tenure"] / 20 + (train["plan"] == "basic") + noise > 0
    dummies = [name for name in X if name not in {"tenure", "late"}]
    steps = make_column_transformer(
        (StandardScaler(), ["tenure", "late"]), ("passthrough", dummies)
    )
    model = make_pipeline(steps, LogisticRegression()).fit(X_train, left)
    job = done(model, X, X_train, tmp_path)
    check_guarantees(job, model, X, X_train)
    told = new.join(job.table)  # the frame before the dummies has the same customers
    assert told["reason"].notna().all()
    wider = X.assign(note="text")[["note", *reversed(X.columns)]]
    assert (model.predict(wider) == job.table["prediction"]).all()
    again = job.explainer(wider).to_frame()
    assert (again["reason"] == job.table["reason"]).all()


def test_texts(tmp_path: Path):
    """A bag of words of a column of texts: reasons are words that are there, or are not."""
    rng = np.random.default_rng(7)
    words = {
        "crude": ["oil", "barrel", "opec", "price", "output"],
        "grain": ["wheat", "tonnes", "harvest", "price", "export"],
    }
    y = np.array(["crude", "grain"])[rng.integers(0, 2, 120)]
    texts = [
        " ".join([*rng.choice(words[label], 3), *rng.choice(["said", "year"], 2)]) for label in y
    ]
    index = pd.Index([f"text-{i}" for i in rng.permutation(120)], name="document")
    wires = pd.Series(texts, index, name="wire")
    model = make_pipeline(CountVectorizer(binary=True), LogisticRegression()).fit(wires, y)
    X = wires.iloc[100:112]
    job = done(model, X, wires.iloc[:100], tmp_path)
    vocabulary = set(model[0].get_feature_names_out())
    for document, line in job.table.iterrows():
        assert set(line["reason"]) <= vocabulary
        sentence = job.reasons.describe(job.table.index.get_loc(document))
        for word in line["reason"]:
            there = word in X[document].split()
            assert f'{"" if there else "no "}"{word}"' in sentence
            assert there == (f'no "{word}"' not in sentence)


def test_three_classes(tmp_path: Path):
    """Three kinds of birds, by numbers, gaps and a category, all three at once."""

    def make(rng: Any, n: int) -> dict[str, Any]:
        kind = rng.integers(0, 3, n)
        bill = np.round(38 + 5 * kind + rng.normal(0, 2, n), 1)
        bill[rng.random(n) < 0.1] = np.nan
        return {
            "island": np.where(
                rng.random(n) < 0.8, np.array(["Biscoe", "Dream", "Torg"])[kind], "X"
            ),
            "bill": bill,
            "mass": np.round(3700 + 900 * (kind == 2) + rng.normal(0, 250, n), -1),
            "kind": np.array(["Adelie", "Chinstrap", "Gentoo"])[kind],
        }

    train, new = customers(150, 8, make), customers(12, 9, make)
    train_X, X = (frame.drop(columns="kind") for frame in (train, new))
    steps = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["island"]),
        (make_pipeline(SimpleImputer(), StandardScaler()), ["bill", "mass"]),
    )
    model = make_pipeline(steps, LogisticRegression()).fit(train_X, train["kind"])
    job = done(model, X, train_X, tmp_path)
    assert job.found.classes == ("Adelie", "Chinstrap", "Gentoo")
    check_guarantees(job, model, X, train_X)
    joined = new.join(job.table)
    assert (joined["kind"] == joined["prediction"]).mean() > 0.7


def test_a_tuned_threshold_without_a_feature(tmp_path: Path):
    """At most three facts, none of them the applicant's sex, measured from a tuned threshold."""

    def make(rng: Any, n: int) -> dict[str, Any]:
        return {
            "sex": rng.choice(["f", "m"], n),
            "income": np.round(rng.lognormal(10, 0.4, n), 2),
            "debt": np.round(rng.lognormal(8, 0.6, n), 2),
            "years": rng.integers(0, 30, n).astype(float),
            "late": rng.integers(0, 6, n),
        }

    train, X = customers(200, 10, make), customers(12, 11, make)
    risk = train["late"] - train["income"] / 2e4 + train["debt"] / 4e3 - train["years"] / 15
    risk += np.random.default_rng(12).normal(0, 0.7, len(train)) + 0.3 * (train["sex"] == "m")
    y = np.where(risk > 2.5, "default", "paid")
    steps = make_column_transformer(
        (OneHotEncoder(drop="if_binary"), ["sex"]),
        (StandardScaler(), ["income", "debt", "years", "late"]),
    )
    inner = make_pipeline(steps, LogisticRegression())
    model = TunedThresholdClassifierCV(inner, scoring="balanced_accuracy", cv=3)
    model.fit(train, y)
    assert abs(model.best_threshold_ - 0.5) > 0.02
    job = done(model, X, train, tmp_path, exclude=["sex"], max_size=3)
    assert job.table["reason_size"].max() <= 3
    assert not any("sex" in names for names in job.table["reason"])
    check_guarantees(job, model, X, train)
    short = job.table["guarantee_upper"] < DELTA
    assert (job.table.loc[short, "minimality"] == "best-of-size").all()
    # The score is measured from the threshold: it changes its sign where the class changes.
    margin = pd.Series(job.found.table["margin"], X.index)
    assert ((margin > 0) == (job.table["prediction"] == job.found.classes[1])).all()
    fitted, positive = model.estimator_, job.found.classes[1]
    average = fitted.decision_function(train).mean() * (1 if fitted.classes_[1] == positive else -1)
    # The tuned threshold is one of the probability of the second class.
    cut = np.log(model.best_threshold_ / (1 - model.best_threshold_))
    cut = cut if fitted.classes_[1] == positive else -cut
    assert job.explainer.expected_value == pytest.approx(average - cut, abs=1e-9)
    told = job.found.summary().split("\n")[1]
    assert told.startswith("No reason has sex, and none has more than 3 features")
