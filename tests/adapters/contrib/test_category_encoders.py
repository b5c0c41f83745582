"""Encoders of category_encoders before a linear classifier."""

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_probsr import adapt
from sklearn_probsr.exceptions import InvalidInputError
from tests.adapters.contrib.cases import TABLE, THREE, TWO, agree, by_force, unseen

ce = pytest.importorskip("category_encoders", reason="category-encoders is not installed")

# It sets an option of pandas that is going away.
pytestmark = pytest.mark.filterwarnings("ignore")
ENCODED = ["job", "zone"]


def filled(X: pd.DataFrame) -> pd.DataFrame:
    """Return numbers without gaps, as nothing fills them in here, and texts for categories."""
    return X.assign(
        age=X["age"].fillna(45.0).clip(-1e3, 1e3),
        balance=X["balance"].fillna(0.0),
        job=X["job"].astype(object),
        zone=X["zone"].astype(float),
    )


X, ROWS = filled(TABLE), filled(unseen())


def pipeline(*steps: Any, y: Any = TWO) -> Any:
    return make_pipeline(*steps, LogisticRegression(max_iter=2_000)).fit(X, y)


NAMES = [
    name for name in ce.__all__ if name not in {"HashingEncoder", "MultiHotEncoder"}
]  # wrappers are not among them


@pytest.mark.parametrize("name", NAMES)
def test_an_encoder_makes_states(name: str):
    """Of each column that it encodes; unknown and missing categories are states, too."""
    estimator = pipeline(getattr(ce, name)(cols=ENCODED))
    adapted = agree(estimator, ROWS)
    assert [unit.name for unit in adapted.units] == list(X)
    age, job, _, zone = adapted.units
    assert not age.labels
    if name == "SummaryEncoder":  # its quartiles are alike
        assert job.labels == ("job: any value",)
        return
    told = " ".join(job.labels)
    assert all(word in told for word in ("clerk", "cook", "nurse", "missing", "another category"))
    assert len(zone.labels) > 1


def test_reasons_are_those_of_brute_force():
    """Of columns encoded by several, by one, and by counts."""
    for encoder in (ce.BinaryEncoder, ce.TargetEncoder, ce.CountEncoder):
        by_force(pipeline(encoder(cols=ENCODED)), ROWS[:25], ROWS[30:34])


@pytest.mark.parametrize(
    "options",
    [
        {"handle_unknown": "indicator", "use_cat_names": True},
        {"handle_missing": "indicator"},
        {"min_group_size": int(X["job"].value_counts().max()), "min_group_name": "rare"},
    ],
)
def test_options_of_one_hot(options: dict[str, Any]):
    """Indicators are columns of their own; small groups are states together."""
    adapted = agree(pipeline(ce.OneHotEncoder(cols=ENCODED, **options)), ROWS)
    if "min_group_size" in options:
        assert any("rare" in label for label in adapted.units[1].labels)


def test_what_an_encoder_refuses_is_no_state():
    """Neither unknown categories nor missing ones, if they are errors to it."""
    encoder = ce.OrdinalEncoder(cols=["job"], handle_unknown="error", handle_missing="error")
    estimator = pipeline(encoder)
    adapted = adapt(estimator, X)
    assert len(adapted.units[1].labels) == 3
    with pytest.raises(InvalidInputError, match=r"^The steps of the estimator refuse X: "):
        adapted.transform(ROWS)


def test_in_the_middle():
    """In a ColumnTransformer, before a scaler, with several classes, and lumped by counts."""
    blocks = make_column_transformer((ce.WOEEncoder(), ["job"]), (StandardScaler(), ["age"]))
    agree(pipeline(blocks), ROWS)
    agree(pipeline(ce.CountTargetEncoder(cols=ENCODED), StandardScaler(), y=THREE), ROWS)
    lumped = ce.CountEncoder(cols=ENCODED, min_group_size=0.35)
    agree(pipeline(lumped, StandardScaler()), ROWS)
    agree(pipeline(ce.TargetEncoder(cols=["job"], drop_invariant=True)), ROWS)


def test_columns_without_names():
    """An array has positions for names."""
    encoder = ce.TargetEncoder(cols=[1])
    numbers = np.column_stack([X["age"], X["zone"], X["balance"]])
    estimator = make_pipeline(encoder, LogisticRegression()).fit(numbers, TWO)
    rows = np.column_stack([ROWS["age"], ROWS["zone"], ROWS["balance"]])
    assert agree(estimator, rows).feature_names == ("x0", "x1", "x2")


def test_lists_of_items():
    """Any list can come, so that they are one real-valued unit."""
    jobs = pd.Series(["clerk|nurse", "cook", "nurse", None] * 75)
    rows = ROWS.assign(job=np.resize(["nurse|cook", "poet", "clerk", None], len(ROWS)))
    encoder = ce.MultiHotEncoder(cols=["job"])
    estimator = make_pipeline(encoder, LogisticRegression()).fit(X.assign(job=jobs), TWO)
    job = agree(estimator, rows).units[1]
    assert len(job.columns) == 4
    assert not job.labels


AFTER = (
    " Or explain what comes after it: pipeline[1:], over rows as pipeline[:1].transform gives them."
)
REFUSED = {
    "hashing": (
        lambda: pipeline(ce.HashingEncoder(cols=ENCODED, max_process=1)),
        "HashingEncoder cannot be part of a linear model over the raw columns: it hashes all of "
        "its columns into the same ones. Leave it out.",
    ),
    "composite": (
        lambda: pipeline(ce.TargetEncoder(cols=["job"], composite_cols=[("job", "zone")])),
        "TargetEncoder encodes 'job' and 'zone' together, by composite_cols, so that its columns "
        "are not functions of one raw column each. Fit it without.",
    ),
    "hierarchy": (
        lambda: pipeline(
            ce.TargetEncoder(
                cols=["job"], hierarchy={"job": {"office": ("clerk",), "other": ("cook", "nurse")}}
            )
        ),
        "TargetEncoder has a hierarchy, whose levels are not followed. Fit it without.",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_mixes_columns_is_refused(case: str):
    """It says which step, why, and which part can be explained."""
    make, message = REFUSED[case]
    estimator = make()
    with pytest.raises(InvalidInputError, match=f"^{re.escape(message + AFTER)}$"):
        adapt(estimator)
    assert adapt(estimator[1:], estimator[:1].transform(ROWS)).model.n_units > 1


def test_two_columns_of_one_name_are_refused():
    """Nobody can tell which is which; the encoder has to give them so."""
    estimator = pipeline(ce.OneHotEncoder(cols=["job"]))
    estimator[0].feature_names_out_ = np.array([*estimator[0].feature_names_out_[:-1], "age"])
    message = (
        "OneHotEncoder gives two columns the name 'age', so that nobody can tell which column each "
        "is made of. Rename the raw column."
    )
    with pytest.raises(InvalidInputError, match=f"^{re.escape(message + AFTER)}$"):
        adapt(estimator)
