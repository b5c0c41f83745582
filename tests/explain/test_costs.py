"""Costs in the shells: explainer, transformer, frames, files, comparisons, and the command line."""

from __future__ import annotations

import pickle
import re
from fractions import Fraction

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_probsr import (
    ReasonExplanation,
    SufficientReasonExplainer,
    SufficientReasonTransformer,
    compare,
)
from sklearn_probsr.exceptions import InvalidInputError
from tests.explained import change_file

COST = {"c": 5, "a": 0.1, "b": 0.2}


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(rng.normal(size=(60, 5)).round(2), columns=list("abcde")).set_axis(
        [f"r{i}" for i in range(60)]
    )


@pytest.fixture(scope="module")
def model(frame) -> LogisticRegression:
    y = frame @ [1, 2, 3, -1, 0.5] > 0
    return make_pipeline(StandardScaler(), LogisticRegression()).fit(frame, y)


@pytest.fixture(scope="module")
def explainer(model, frame) -> SufficientReasonExplainer:
    return SufficientReasonExplainer(model, frame, delta=0.9, cost=COST)


def test_an_explainer_finds_the_cheapest_reasons(explainer, model, frame):
    """Costs go by raw columns, through slices, pickles and files; bad rows cost nothing."""
    rows = frame[:12].copy()
    rows.iloc[3, 0] = np.nan
    with pytest.warns(UserWarning, match="1 of 12 rows"):
        found = explainer(rows)
    plain = SufficientReasonExplainer(model, frame, delta=0.9)(frame[:12])
    price = [Fraction(str(COST.get(name, 1))) for name in frame.columns]
    for i in [0, 1, 2, *range(4, 12)]:
        own = [price[j] for j in np.flatnonzero(found.reason_mask[i])]
        fewest = [price[j] for j in np.flatnonzero(plain.reason_mask[i])]
        assert found.cost[i] == float(sum(own)) == found.cost_lower[i]
        assert sum(own) <= sum(fewest)
        assert found.size_lower[i] == plain.size_lower[i]
    assert (found.cost[3], found.cost_lower[3], found.status[3]) == (0, 0, "invalid")
    assert (found.cost < plain.reasons.cost).any()
    assert " at a cost of " in found.describe(0)
    assert "no cheaper set reaches 0.9" in found.describe(0)
    table = found.to_frame()
    assert list(table.columns[7:9]) == ["cost", "cost_lower"]
    assert table["cost"].tolist() == found.cost.tolist()
    assert found[4:6].cost.tolist() == found.cost[4:6].tolist()
    again = pickle.loads(pickle.dumps(explainer))(frame[:3])
    assert again.cost.tolist() == found.cost[:3].tolist()


def test_costs_are_saved_with_reasons(explainer, frame, tmp_path):
    """In archives, exactly; one without costs is as it was."""
    found = explainer(frame[:4])
    found.save(tmp_path / "r.npz")
    again = ReasonExplanation.load(tmp_path / "r.npz")
    assert again.reasons.prices == found.reasons.prices
    assert again.cost_lower.tolist() == found.cost_lower.tolist()
    assert again.describe(1) == found.describe(1)
    same = pickle.loads(pickle.dumps(found))
    assert same.cost.tolist() == found.cost.tolist()


@pytest.mark.parametrize(
    ("costs", "problem"),
    [
        ("1", "meta.reasons.cost must be a list, got '1'"),
        (["1"], "meta.reasons.cost must hold 5 values, got 1"),
        (["1", "x", "1", "1", "1"], "meta.reasons.cost must be a fraction, such as '3/2', got 'x'"),
        (["1", "0", "1", "1", "1"], "cost must be a positive number"),
        (["1", "2/3", "1", "1", "1"], "reasons/least_cost must be there where costs differ"),
        (None, ""),
    ],
)
def test_unsound_costs_in_a_file_are_refused(model, explainer, frame, tmp_path, costs, problem):
    """Each is named, whatever else the file has."""
    path = tmp_path / "r.npz"
    SufficientReasonExplainer(model, frame, delta=0.9)(frame[:1]).save(path)
    change_file(path, lambda meta: meta["reasons"].update(cost=costs))
    if problem:
        with pytest.raises(InvalidInputError, match=re.escape(problem)):
            ReasonExplanation.load(path)
        return
    explainer(frame[:1]).save(path)
    change_file(path, lambda meta: meta["reasons"].update(cost=None))
    with pytest.raises(InvalidInputError, match="least_cost must be missing where features have"):
        ReasonExplanation.load(path)


def test_frames_have_costs_if_the_explainer_has(explainer, model, frame):
    """The schema is the explainer's, whatever the rows; an id may be called cost elsewhere."""
    told = explainer.explain_frame(frame[:3])
    assert told.dtypes.equals(explainer.schema.dtypes)
    assert told.dtypes.equals(explainer.explain_frame(frame[:0]).dtypes)
    assert list(told.columns[7:10]) == ["size_lower", "cost", "cost_lower"]
    assert "cost DOUBLE, cost_lower DOUBLE" in explainer.spark_schema()
    plain = SufficientReasonExplainer(model, frame)
    assert "cost" not in plain.schema.columns
    named = frame[:3].assign(cost=1)
    assert plain.explain_frame(named, id_columns=["cost"])["cost"].tolist() == [1] * 3
    message = "id_columns must not name 'cost', which is a column of the result. Rename it in X."
    with pytest.raises(InvalidInputError, match=re.escape(message)):
        explainer.explain_frame(named, id_columns=["cost"])


def test_a_transformer_takes_costs(model, explainer, frame):
    """Its masks are those of the explainer."""
    y = model.predict(frame)
    made = SufficientReasonTransformer(model, masker=frame, delta=0.9, cost=COST, output="mask")
    assert made.get_params()["cost"] == COST
    masks = made.fit(frame, y).transform(frame[:5])
    assert (masks.astype(bool) == explainer(frame[:5]).reason_mask).all()


def test_a_comparison_tells_costs(model, explainer, frame, tmp_path):
    """In its table, its words, its files and its page; certainty and SHAP count features."""
    found = compare(model, frame[:6], frame, delta=0.9, cost=COST)
    reasons, plain = explainer(frame[:6]), compare(model, frame[:6], frame, delta=0.9)
    table = found.to_frame()
    assert table["cost"].tolist() == reasons.cost.tolist()
    assert table["cost_lower"].tolist() == reasons.cost_lower.tolist()
    assert table["sure_size"].tolist() == plain.to_frame()["sure_size"].tolist()
    assert "cost" not in plain.to_frame()
    assert "Every reason is the cheapest that was found." in found.summary()
    assert "are proved to be as cheap as possible." in found.summary()
    found.to_html(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "no cheaper set reaches" in page
    assert "Proved cheapest" in page


def test_questions_about_sizes_refuse_costs(explainer, frame):
    """Rather than mean something else."""
    message = (
        "alternatives and breaking sets are about the number of features, and this explainer looks "
        "for the cheapest. Ask one that was made without cost."
    )
    for ask in (
        lambda: explainer.alternatives(frame[:1]),
        lambda: explainer.breaking_sets(frame[:1]),
        lambda: explainer(frame[:1], alternatives=True),
    ):
        with pytest.raises(InvalidInputError, match=f"^{re.escape(message)}$"):
            ask()
    seen = explainer.outlook(frame[:1], unknown=["a"])[0]
    assert seen.reason is None or not seen.reason.priced


def test_jobs_and_groups_know_costs(model, explainer, frame):
    """A group has a cost of its own; jobs change nothing."""
    many = SufficientReasonExplainer(model, frame, delta=0.9, cost=COST, n_jobs=2)
    with joblib.parallel_config("threading"):
        assert many(frame[:9]).cost.tolist() == explainer(frame[:9]).cost.tolist()
    grouped = SufficientReasonExplainer(
        model, frame, groups={"both": ["a", "b"]}, cost={"both": 0.5}
    )
    found = grouped(frame[:5])
    own = np.array([0.5 if name == "both" else 1.0 for name in found.feature_names])
    assert found.cost.tolist() == (found.reason_mask @ own).tolist()
