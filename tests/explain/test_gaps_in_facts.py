"""A fact says what its row has: of missing values only where one is missing."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, OneHotEncoder

from sklearn_probsr import SufficientReasonExplainer, compare, reason_codes


def people(gaps: bool) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "age": rng.integers(20, 70, 120).astype(float),
            "height": rng.normal(170, 10, 120).round(1),
            "job": rng.choice(["clerk, senior", "nurse", "cook; chef"], 120),
        }
    )
    y = (X["age"] + (X["job"] == "nurse") * 20 + X["height"] - 170 > 50).to_numpy()
    if gaps:
        X.loc[::5, "age"] = np.nan
    return X, y


@pytest.fixture(scope="module", params=[False, True], ids=["complete", "gaps"])
def asked(request):
    X, y = people(request.param)
    bins = make_pipeline(SimpleImputer(), KBinsDiscretizer(5, strategy="uniform"))
    steps = make_column_transformer(
        (bins, ["age", "height"]), (OneHotEncoder(handle_unknown="ignore"), ["job"])
    )
    model = make_pipeline(steps, LogisticRegression()).fit(X, y)
    return (
        X,
        model,
        SufficientReasonExplainer(model, X, delta=0.9, include=["age", "height", "job"]),
    )


def test_only_a_row_that_has_a_gap_is_told_of_one(asked):
    """Bins that a gap is filled in to are told without it, of whoever has a value."""
    X, model, explainer = asked
    assert any(
        ", or missing" in text for unit in explainer.linear_model.units for text in unit.labels
    )
    found = explainer(X)
    table = compare(model, X, X, delta=0.9).values
    frame = explainer.explain_frame(X)
    for i, age in enumerate(X["age"]):
        facts = found.reasons[i].facts
        assert not any("or missing" in fact for fact in facts)
        assert ("age is missing" in facts) == np.isnan(age)
        assert ("age is missing" in table[i]) == np.isnan(age)
        assert not any("or missing" in str(value) for value in table[i])
        assert ("missing" in frame["reason_values"][i]) == np.isnan(age)


def test_codes_of_a_state_are_found_by_either_name(asked):
    """Whoever wrote codes by the states of the model has them with the gap."""
    X, _, explainer = asked
    found = explainer(X[:30])
    unit = explainer.linear_model.units[0]
    codes = {
        ("age", text.removeprefix("age ")): (f"A{k}", text) for k, text in enumerate(unit.labels)
    }
    label = found.prediction[0]
    told = reason_codes(found, codes, adverse=label)
    own = [unit.state_of(row[list(unit.columns)]) for row in found.reasons.rows]
    for k, row in enumerate(told):
        assert row.codes in {(), (f"A{own[k]}",)}
    assert any(row.codes for row in told)


def test_facts_with_a_comma_are_told_apart_everywhere(asked):
    """In the sentence, both views, the frame as CSV, Markdown and the page."""
    X, _, explainer = asked
    found = explainer(X)
    jobs = X["job"].tolist()
    i = jobs.index("cook; chef")
    first, second, third = found.reasons[i].facts
    quoted = [f"“{fact}”" if ";" in fact else fact for fact in (first, second, third)]
    told = found.describe(i)
    assert "“job: cook; chef”" in told
    assert all(fact in told for fact in quoted)
    text = found[[i]].to_frame().to_csv()
    assert "; ".join(quoted) in text.replace('""', '"')
    assert "('age'" not in text
    assert "“job: cook; chef”" in found[[i]]._repr_html_()
