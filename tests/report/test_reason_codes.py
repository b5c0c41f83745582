"""Codes of adverse decisions: which facts they stand for, what they keep, and how they read."""

import json
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from sklearn_probsr import LinearModel, SufficientReasonExplainer, reason_codes
from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.extend import law_of

CODES = {
    "income": ("R1", "Income too low"),
    "age": ("R2", "Time at address too short"),
    "debts": ("R3", "Too many debts"),
    ("home", "rent"): ("R4", "No property"),
    ("home", "none"): ("R4", "No property"),
}


@pytest.fixture(scope="module")
def loans():
    """Applicants, a Pipeline that declines some, and its explainer."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "income": rng.normal(3, 1, 80).round(1),
            "age": rng.integers(20, 70, 80),
            "debts": rng.integers(0, 6, 80),
            "home": rng.choice(["own", "rent", "none"], 80),
            "sex": rng.choice(["f", "m"], 80),
        },
        index=[f"A{i}" for i in range(80)],
    )
    score = X["income"] - X["debts"] / 2 + (X["home"] == "own") + (X["sex"] == "m") / 2
    y = np.where(score > 2.2, "approve", "decline")
    steps = make_column_transformer(
        (OneHotEncoder(), ["home", "sex"]), (StandardScaler(), ["income", "age", "debts"])
    )
    model = make_pipeline(steps, LogisticRegression(C=9)).fit(X, y)
    return X, SufficientReasonExplainer(model, X, delta=0.95)


def test_codes_are_those_of_the_best_supporting_sets(loans):
    """Only adverse rows have codes, of facts that speak for the class, at most as many as asked."""
    X, explainer = loans
    explained = explainer(X[:30])
    found = reason_codes(explained, CODES, adverse="decline", max_codes=2, protected=["sex"])
    frame = found.to_frame()
    assert list(frame.index) == list(X.index[:30])
    assert len(found) == 30
    law = explainer.law
    told = explained.reasons
    for i in range(30):
        row = found[i]
        assert bool(row.codes) == (row.prediction == "decline") or not row.codes
        if row.prediction != "decline":
            continue
        assert len(row.codes) <= 2
        assert "sex" not in row.features
        bounds = explainer.guarantee(X[i : i + 1], list(row.features))
        assert bounds["lower"].iloc[0] == row.guarantee.lower
        task = law.within(told.rows[i : i + 1], _supporting(law.model))
        names = law.model.unit_names
        allowed = [
            u
            for u in np.flatnonzero(task.allowed[0])
            if names[u] not in {"sex"} and not (names[u] == "home" and X["home"].iloc[i] == "own")
        ]
        view = law.view(told.rows[i])
        best = max(view.enclose(s).exact for k in range(3) for s in combinations(allowed, k))
        if not row.reaches:
            assert row.guarantee.exact == best
    assert "The model uses sex" in found.protected
    coded = frame[frame["prediction"] == "decline"]
    assert coded["statement"].str.contains("keep").all()


def _supporting(model):
    from sklearn_probsr.core.options import Options

    return Options(0.95, supporting_only=True).task(model)


def test_a_notice_reads_without_probabilities(loans):
    """A plain text by default, or one of your own; none for those who were approved."""
    X, explainer = loans
    explained = explainer(X[:20])
    found = reason_codes(explained, CODES, adverse="decline")
    i = next(i for i in range(20) if found[i].codes)
    assert found.loc[X.index[i]] is found[i]
    text = found.notice(i)
    assert text.startswith("The decision was: decline.\n\nThe principal reasons for it are:\n1. ")
    assert "0." not in text
    mine = reason_codes(
        explained, CODES, adverse="decline", template="{prediction}! {reasons}"
    ).notice(i)
    assert mine.startswith("decline! 1. ")
    by_call = reason_codes(
        explained, CODES, adverse="decline", template=lambda row: ";".join(row.codes)
    ).notice(i)
    assert by_call == ";".join(found[i].codes)
    fine = next(i for i in range(20) if found[i].prediction == "approve")
    with pytest.raises(
        InvalidInputError,
        match=rf"^row 'A{fine}' has no codes: its class is 'approve', and only rows of 'decline' "
        r"get them\.$",
    ):
        found.notice(fine)
    told = json.loads(found.to_json())
    assert [row["row"] for row in told["rows"]] == list(X.index[:20])
    assert told["rows"][fine]["guarantee_lower"] is None


def test_shared_codes_count_once():
    """Two features with one code are one code, and a principal reason that is left out is named."""
    names, classes = ["a", "b", "c", "d"], ["decline", "approve"]
    model = LinearModel([4, 4, 3, 5], 9, feature_names=names, classes=classes)
    explained = SufficientReasonExplainer(model, delta=0.99)([[0, 0, 0, 0]])
    codes = {"a": ("R1", "one"), "b": ("R1", "one"), "c": ("R2", "two")}
    found = reason_codes(explained, codes, adverse="decline", max_codes=1)[0]
    assert found.codes == ("R1",)
    assert found.features == ("a", "b")
    assert found.omitted_principal == "d"
    assert "d, which falls short the most, is not among them" in found.statement
    assert found.reaches


def test_codes_of_protected_features_are_named_as_never_given():
    """Unless another feature has the same code."""
    model = LinearModel([4, 4, 3], 6, feature_names=["a", "b", "c"], classes=["no", "yes"])
    explained = SufficientReasonExplainer(model, delta=0.9)([[0, 0, 0]])
    codes = {"a": ("R1", "one"), "b": ("R2", "two"), "c": ("R2", "two")}
    told = reason_codes(explained, codes, adverse="no", protected=["a", "b"])
    uses = (
        "a and b: kept out of the search. The model uses a and b: codes without them average over "
        "them, which does not mean that they had no part in the decision."
    )
    assert told.protected == f"{uses} Never given, as codes of what is protected: R1 (a)."
    assert "; the model also uses a and b, which were kept out" in told[0].statement
    assert told[0].codes in {("R2",), ()}
    told = reason_codes(explained, {"c": ("R3", "three")}, adverse="no", protected=["a", "b"])
    assert told.protected == uses


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"codes": {}},
            "codes must map features, or features and states, to (code, text), got an empty "
            "mapping.",
        ),
        (
            {"codes": {"z": ("R1", "x")}},
            "codes name an unknown feature, 'z'. The model's features are 'a', 'b'.",
        ),
        (
            {"codes": {("a", "maybe"): ("R1", "x")}},
            "codes name a state that 'a' does not have, 'maybe'. It has '0', '1'.",
        ),
        (
            {"codes": {"a": "R1"}},
            "codes must give a code and a text for 'a', two texts, got 'R1'.",
        ),
        ({"adverse": "no"}, "adverse must be one of the classes, 0, 1, got 'no'."),
        ({"max_codes": 0}, "max_codes must be a whole number >= 1, got 0."),
        (
            {"protected": ["q"]},
            "protected names an unknown feature, 'q'. The model's features are 'a', 'b'.",
        ),
        (
            {"explanation": 3},
            "reason_codes takes what an explainer returns, a ReasonExplanation, got int.",
        ),
    ],
)
def test_bad_input(change, message):
    """All of it is checked before any work."""
    model = LinearModel([1, 2], 2, feature_names=["a", "b"])
    asked = {
        "explanation": SufficientReasonExplainer(model)([[1, 0]]),
        "codes": {"a": ("R1", "x")},
        "adverse": 0,
        **change,
    }
    with pytest.raises(InvalidInputError) as caught:
        reason_codes(asked.pop("explanation"), asked.pop("codes"), **asked)
    assert str(caught.value) == message
    assert law_of(model) is not None
