"""ReasonExplanation: a shap.Explanation that stays one of reasons, through files and slices."""

import copy
import io
import json
import pickle
import re
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
import shap
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from sklearn_probsr import (
    Background,
    LinearModel,
    Marginals,
    Product,
    ReasonExplanation,
    SufficientReasonExplainer,
    Uniform,
    Unit,
    guarantee,
)
from sklearn_probsr.exceptions import InvalidInputError
from tests.explained import (
    FIELDS,
    classifier,
    explainer,
    explanation,
    mixed_explanation,
    same_reasons,
    tumours,
)


def fields_of(found: Any) -> dict[str, list[Any]]:
    return {name: np.asarray(getattr(found, name)).tolist() for name in FIELDS}


def expected_fields(rows: Any, columns: Any = slice(None)) -> dict[str, list[Any]]:
    """Return the fields of some rows, taken from the arrays of the whole."""
    whole = explanation()
    fields = {name: np.asarray(getattr(whole, name))[rows].tolist() for name in FIELDS}
    fields["reason_mask"] = whole.reason_mask[rows][..., columns].tolist()
    return fields


# --- Values ----------------------------------------------------------------------------------


def test_values_are_those_of_shap():
    """LinearExplainer's values, with its base, on the same full background."""
    X, _, _ = tumours()
    fitted = classifier()
    masker = shap.maskers.Independent(X[:400], max_samples=400)
    theirs = shap.LinearExplainer((fitted.coef_.ravel(), float(fitted.intercept_[0])), masker)
    theirs = theirs(X[400:440])
    ours = explanation()
    assert np.allclose(ours.values, theirs.values, atol=1e-12)
    assert not np.signbit(ours.values[ours.values == 0]).any()
    assert np.allclose(ours.base_values, theirs.base_values, atol=1e-12)
    assert ours.base_values.shape == (40,)
    assert list(ours.feature_names) == list(X.columns)
    assert (ours.data == X[400:440].to_numpy()).all()
    assert ours.output_names == "decision function of malignant against benign"


def test_values_of_units_are_sums_over_their_columns():
    """c_u(x) - E[C_u] of one-hot columns and of a real one, over rows that are weighted."""
    units = [Unit.one_hot("job", [0, 2]), Unit.real("age", 1)]
    model = LinearModel([4.0, 0.5, -4.0], 1.0, units=units)
    rows, weights = np.array([[1, 3.0, 0], [0, 2.0, 1], [1, 7.0, 0]]), np.array([1, 2, 1])
    found = SufficientReasonExplainer(model, Background(rows, weights), delta=1.0)(rows)
    means = weights @ rows / 4
    parts = (rows - means) * model.weights
    both = np.column_stack([parts[:, 0] + parts[:, 2], parts[:, 1]])
    assert np.allclose(found.values, both)
    assert np.allclose(found.base_values, means @ model.weights - 1.0)
    assert np.allclose(found.values.sum(axis=1) + found.base_values, rows @ model.weights - 1.0)


def test_no_value_is_a_negative_zero():
    """A forced feature that is as its average has the value 0, and plots print it so."""
    model = LinearModel([-2.0, 1.0], 0.0, units=[Unit.real("a", 0), Unit.real("b", 1)])
    found = SufficientReasonExplainer(model, [[1.0, 0.0], [1.0, 2.0]], include=["a"])([[1.0, 9.0]])
    assert found.reason_mask[0, 0]
    assert not np.signbit(found.values[0, 0])


# --- What shap and users do to it -------------------------------------------------------------

MASK = np.arange(40) % 3 == 0
ROWS = {
    "row": 5,
    "NumPy row": np.int64(5),
    "last row": -1,
    "slice": slice(3, 9),
    "stride": slice(None, None, 7),
    "list": [4, 1, 1],
    "array": np.array([7, 2]),
    "mask": MASK,
    "nothing": slice(0, 0),
    "everything": slice(None),
}


@pytest.mark.parametrize("rows", ROWS.values(), ids=ROWS.keys())
def test_rows_keep_their_fields(rows: Any):
    """Every kind of index takes the fields along, and stays an explanation of reasons."""
    found = explanation()[rows]
    assert type(found) is ReasonExplanation
    assert fields_of(found) == expected_fields(rows)
    assert len(found.reasons) == np.size(np.arange(40)[rows])
    assert found.delta == 0.95
    assert found.distribution is explanation().distribution


@pytest.mark.parametrize("columns", [3, slice(2, 7), [0, 4], "mean area", -1], ids=str)
def test_columns_keep_their_fields(columns: Any):
    """A slice of features slices the mask, and leaves what is said of the rows."""
    at = list(tumours()[0].columns).index(columns) if isinstance(columns, str) else columns
    for rows in (slice(None), slice(2, 5), 7):
        found = explanation()[rows, columns]
        assert fields_of(found) == expected_fields(rows, at)
        assert np.array_equal(found.values, explanation().values[rows][..., at])


def test_chained_access_and_ellipsis():
    """One index after the other is the same as both at once."""
    whole = explanation()
    assert fields_of(whole[10:30][5]) == expected_fields(15)
    assert fields_of(whole[10:30][[1, 3]][:, 4]) == expected_fields([11, 13], 4)
    assert fields_of(whole[..., 4]) == expected_fields(slice(None), 4)
    assert whole[12].describe() == whole.describe(12) == whole[10:].describe(2)
    assert fields_of(whole[whole[:, 0].values > 0]) == expected_fields(whole.values[:, 0] > 0)
    order = shap.Explanation.hclust().apply(whole)
    assert fields_of(whole[shap.Explanation.hclust()]) == expected_fields(order)


COPIES = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda found: pickle.loads(pickle.dumps(found)),
}


@pytest.mark.parametrize("again", COPIES.values(), ids=COPIES.keys())
@pytest.mark.parametrize("rows", [slice(None), slice(3, 6), 2], ids=str)
def test_copies_keep_everything(again: Any, rows: Any):
    """Whole, sliced, and of one row."""
    found = explanation()[rows]
    twin = again(found)
    assert type(twin) is ReasonExplanation
    assert same_reasons(twin, found)
    assert twin.reasons.model == found.reasons.model
    assert str(twin.distribution) == str(found.distribution)
    assert twin.shape == found.shape
    twin.values = twin.values + 1
    assert not np.array_equal(twin.values, explanation()[rows].values)


@pytest.mark.parametrize("cut", [3, slice(2, 9), [5, 1, 5], slice(0, 0), (4, slice(0, 3))])
def test_a_slice_is_pickled_without_the_rest(cut: Any):
    """Only its own rows go into a pickle, however many there were, and they can be cut again."""
    part = explanation()[cut]
    again = pickle.loads(pickle.dumps(part))
    n = np.size(part.reason_size)
    assert len(again._reasons) == n
    assert np.array_equal(again.reason_mask, part.reason_mask)
    assert np.array_equal(again.prediction, part.prediction)
    assert np.shape(again.reason_size) == np.shape(part.reason_size)
    if n:
        assert again.describe(0) == part.describe(0)
    if n > 1:
        assert again[1:].describe(0) == part[1:].describe(0)


def test_joblib_keeps_everything():
    """As a dump in memory, with units and words."""
    found, file = mixed_explanation(), io.BytesIO()
    joblib.dump(found, file)
    file.seek(0)
    again = joblib.load(file)
    assert same_reasons(again, found)
    assert again.describe(5) == found.describe(5)
    assert again.display_data.tolist() == found.display_data.tolist()


def test_cohorts_and_samples_keep_their_fields():
    """Every cohort is made of reasons; a sample holds rows of the whole."""
    whole = explanation()
    cohorts = whole.cohorts([str(label) for label in whole.prediction])
    assert set(cohorts.cohorts) == {"benign", "malignant"}
    for label, cohort in cohorts.cohorts.items():
        assert type(cohort) is ReasonExplanation
        assert fields_of(cohort) == expected_fields(whole.prediction == label)
    split = whole.cohorts(2)
    assert sum(len(cohort.reason_size) for cohort in split.cohorts.values()) == 40
    sample = whole.sample(10)
    assert type(sample) is ReasonExplanation
    told = {tuple(row) for row in whole.reason_mask.tolist()}
    assert {tuple(row) for row in sample.reason_mask.tolist()} <= told
    assert (sample.reason_size == sample.reason_mask.sum(axis=1)).all()
    assert (sample.size_lower <= sample.reason_size).all()


AGGREGATES = {
    "mean(0)": lambda found: found.mean(0),
    "mean(1)": lambda found: found.mean(1),
    "abs": lambda found: found.abs,
    "abs.mean(0)": lambda found: found.abs.mean(0),
    "max": lambda found: found.max(0),
    "sum": lambda found: found.sum(0),
    "sum by groups": lambda found: found.sum(1, {"mean area": "size", "mean radius": "size"}),
    "percentile": lambda found: found.percentile(50, 0),
    "plus an explanation": lambda found: found + found,
    "plus a number": lambda found: found + 1.0,
    "number plus it": lambda found: 1.0 + found,
    "times": lambda found: found * 2,
    "minus": lambda found: found - found,
    "over": lambda found: found / 2,
    "hstack": lambda found: found.hstack(found),
    "flip": lambda found: found.flip,
    "argsort": lambda found: found.argsort,
}


@pytest.mark.parametrize("aggregate", AGGREGATES.values(), ids=AGGREGATES.keys())
def test_aggregates_have_no_reason(aggregate: Any):
    """They are what shap makes of a plain Explanation, without the fields."""
    found = explanation()
    plain = shap.Explanation(
        found.values, found.base_values, found.data, feature_names=list(found.feature_names)
    )
    result, expected = aggregate(found), aggregate(plain)
    assert type(result) is shap.Explanation
    assert not any(hasattr(result, name) for name in FIELDS)
    assert np.array_equal(result.values, expected.values)
    assert result.shape == expected.shape


def test_no_rows_are_an_explanation_too():
    """With base values of shape (0,), the features, and words that say so."""
    found = explainer()(tumours()[0][:0])
    assert found.values.shape == found.data.shape == found.reason_mask.shape == (0, 30)
    assert [np.shape(getattr(found, name)) for name in FIELDS[1:]] == [(0,)] * 5
    assert found.base_values.shape == (0,)
    assert found.to_frame().shape == (0, 10)
    assert found.as_guarantee().values.shape == (0, 30)
    for none in (found[:0], explanation()[5:5], explanation()[:2][[]]):
        assert type(none) is ReasonExplanation
        assert none.values.shape == none.data.shape == none.reason_mask.shape == (0, 30)
        assert none.prediction.shape == none.base_values.shape == (0,)
    assert mixed_explanation()[:0].display_data.shape == (0, 4)
    assert explanation()[:0, 3].values.shape == (0,)
    with refused("describe needs a row, this explanation has none."):
        found.describe()


# --- Probability, words, table ----------------------------------------------------------------


def refused(message: str) -> Any:
    return pytest.raises(InvalidInputError, match=f"^{re.escape(message)}$")


@pytest.mark.parametrize("law", ["background", "uniform", "marginals"])
def test_guarantees_add_up(law: str):
    """From the guarantee of nothing, feature by feature in the order of the reason."""
    X, _, _ = tumours()
    masker = {
        "background": X[:400],
        "uniform": "uniform",
        "marginals": Marginals.fit(X[:400]),
    }[law]
    found = SufficientReasonExplainer(classifier(), masker, delta=0.9)(X[400:406])
    view = found.as_guarantee()
    assert type(view) is ReasonExplanation
    assert np.allclose(view.base_values + view.values.sum(axis=1), found.guarantee_lower)
    assert (view.values[~view.reason_mask] == 0).all()
    assert fields_of(view) == fields_of(found)
    assert view.output_names == "probability that the class is kept"
    model, law = found.reasons.model, found.distribution
    for i, reason in enumerate(found.reasons):
        row, order = found.reasons.rows[i], list(reason.features)
        known = [
            guarantee(model, row, order[:k], distribution=law).lower for k in range(len(order))
        ]
        assert view.base_values[i] == known[0]
        assert np.allclose(view.values[i, order[:-1]], np.diff(known))


def test_the_probability_view_of_one_row():
    """Keeps its shape, its data and its name; a view of a view is itself."""
    one = explanation()[3].as_guarantee()
    assert one.shape == (30,)
    assert one.base_values + one.values.sum() == pytest.approx(one.guarantee_lower)
    assert one.output_names == f"probability that class {one.prediction} is kept"
    assert (one.data == explanation().data[3]).all()
    assert same_reasons(one.as_guarantee(), one)
    shown = mixed_explanation()[:2].as_guarantee()
    assert shown.display_data.tolist() == mixed_explanation().display_data[:2].tolist()


def test_the_probability_view_of_an_empty_reason():
    """The base is the guarantee, and there is nothing to add."""
    model = LinearModel([1.0, 1.0, 1.0], -1.0)
    view = SufficientReasonExplainer(model)([[1, 0, 1]]).as_guarantee()
    assert view.base_values.tolist() == view.guarantee_lower.tolist() == [1.0]
    assert not view.values.any()


def test_a_slice_of_features_does_not_add_up():
    """What needs whole reasons says so instead of drawing a part of them."""
    for what in ("as_guarantee", "save"):
        message = (
            f"{what} needs all 30 features in their order, this explanation has 2 of them. "
            "Slice rows only, as in reasons[:10]."
        )
        with refused(message):
            getattr(explanation()[:, :2], what)(*(["x.npz"] if what == "save" else []))
    assert explanation()[:, :2].describe(0) == explanation().describe(0)


def test_describe_says_why():
    """Of a row by number, from the end, or of the only one; labels in place of columns."""
    found = mixed_explanation()
    assert found.describe(0) == (
        "Class granted is kept with probability at least 0.983333 over replacement by 120 "
        "background rows, given age ≥ 63 and smoker: no (2 of 4 features; no smaller set reaches "
        "0.9)."
    )
    assert found.describe(0) == found[0].describe() == found[:1].describe()
    assert found.describe(-1) == found.describe(19)
    with refused("describe needs the number of a row, this explanation has 20. Write describe(0)."):
        found.describe()
    for wrong in (20, -21, "first"):
        with refused(f"describe takes the place of a row, 0 to 19, got {wrong!r}."):
            found.describe(wrong)


def test_a_missing_value_is_told_as_such():
    """What the pipeline fills in is not what the person knows."""
    X = pd.DataFrame({"age": [20.0, 30, np.nan, 70, 80, 60], "height": [1.0, 2, 1, 2, 1, 2]})
    model = make_pipeline(SimpleImputer(), LogisticRegression()).fit(X, [0, 0, 0, 1, 1, 1])
    found = SufficientReasonExplainer(model, X, include=["age"])(X)
    assert np.array_equal(found.data[2], [np.nan, 1.0], equal_nan=True)
    assert found.display_data[2].tolist() == ["missing", 1.0]
    assert "given age is missing (1 of 2 features" in found.describe(2)
    assert "given age is missing (1 of 2 features" in found[2].describe()
    assert "given age = 70 (1 of 2 features" in found.describe(3)
    assert "given age is missing (1 of 2 features" in found[2, 1:].describe()


def test_the_table_is_tidy():
    """One line a row: names, sizes, bounds and words."""
    table = mixed_explanation()[:3].to_frame()
    assert table.to_dict("records")[0] == {
        "prediction": "granted",
        "reason": ("age", "smoker"),
        "reason_size": 2,
        "against": (),
        "guarantee_lower": pytest.approx(118 / 120, abs=1e-15),
        "guarantee_upper": pytest.approx(118 / 120, abs=1e-15),
        "minimality": "minimum",
        "distribution": "replacement by 120 background rows",
        "status": "ok",
        "message": "",
    }
    assert len(table) == 3
    assert len(mixed_explanation()[0].to_frame()) == 1


# --- Files -----------------------------------------------------------------------------------

UNITS = [
    Unit.one_hot("job", [0, 1], dropped="none", labels=["job: clerk", "job: nurse"]),
    Unit.real("age", 2),
    Unit.binary("smoker", 3, labels=["non-smoker", "smoker"]),
]
PEOPLE = np.array([[1, 0, 3.5, 0], [0, 1, 2.0, 1], [0, 0, 1.0, 1], [0, 1, 4.0, 0]])
BINARY = LinearModel([3.0, 2.0, -1.0], 2.5, strict=True, feature_names=["é", "b", "c"])


def file_cases() -> dict[str, ReasonExplanation]:
    rows = [[1, 1, 0], [0, 1, 1]]
    with_units = LinearModel([4.0, -4.0, 0.5, -2.0], 1.0, units=UNITS, classes=("no", "yes"))
    product = Product(["1/3", 0.5, 0.7])
    several: dict[str, Any] = {"delta": 0.7}
    return {
        "uniform": SufficientReasonExplainer(BINARY, **several)(rows),
        "product": SufficientReasonExplainer(BINARY, product, **several)(rows),
        "background": SufficientReasonExplainer(BINARY, Background(rows, [0.25, 0.5]), **several)(
            rows
        ),
        "marginals": SufficientReasonExplainer(with_units, Marginals.fit(PEOPLE))(PEOPLE),
        "units": SufficientReasonExplainer(with_units, PEOPLE, include=["smoker"])(PEOPLE),
        "samples": SufficientReasonExplainer(
            BINARY, Product([0.2, 0.5, 0.7]), method="monte-carlo", seed=0, **several
        )(rows),
        "booleans": SufficientReasonExplainer(
            LinearModel([1.0, 2.0], 1.5, classes=(np.False_, np.True_))
        )([[1, 0]]),
        "strings": mixed_explanation(),
        "one row": mixed_explanation()[4],
        "probability": mixed_explanation()[:3].as_guarantee(),
        "no rows": mixed_explanation()[:0],
    }


@pytest.mark.parametrize("name", list(file_cases()))
def test_files_lose_nothing(name: str, tmp_path: Path):
    """What is read is what was written, words and exact fractions included."""
    found, path = file_cases()[name], tmp_path / "reasons"
    found.save(path)
    again = ReasonExplanation.load(str(path))
    assert same_reasons(again, found)
    assert again.shape == found.shape
    assert again.output_names == found.output_names
    assert again.in_probability == found.in_probability
    assert again.reasons.model == found.reasons.model
    assert again.reasons.exact == found.reasons.exact
    assert str(again.distribution) == str(found.distribution)
    assert [str(reason) for reason in again.reasons] == [str(reason) for reason in found.reasons]
    if found.display_data is not None:
        assert again.display_data.tolist() == found.display_data.tolist()
    again = again.as_guarantee()
    assert np.allclose(again.values, found.as_guarantee().values)
    assert [file.name for file in tmp_path.iterdir()] == ["reasons"]


def test_files_hold_no_pickle(tmp_path: Path):
    """An archive of plain arrays and one JSON text."""
    path = tmp_path / "reasons.npz"
    mixed_explanation().save(path)
    with np.load(path, allow_pickle=False) as archive:
        assert not any(archive[name].dtype.hasobject for name in archive.files)
        meta = json.loads(archive["meta"].tobytes())
    assert meta["format"] == "sklearn-probsr reasons 9"
    assert meta["model"]["names"] == ["age", "job", "savings", "smoker"]


def test_no_file_is_an_error_of_the_system(tmp_path: Path):
    """What is in a broken file is another matter; see test_hostile_files.py."""
    with pytest.raises(FileNotFoundError):
        ReasonExplanation.load(tmp_path / "nowhere")


def test_nothing_is_half_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A save that fails leaves the old file, and nothing beside it."""
    path = tmp_path / "reasons.npz"
    explanation()[:2].save(path)
    before = path.read_bytes()

    def fail(file: Any, array: Any, **options: Any) -> None:
        file.write(b"half")
        raise OSError("the disk is full")

    monkeypatch.setattr(np.lib.format, "write_array", fail)
    with pytest.raises(OSError, match=r"^the disk is full$"):
        explanation().save(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_labels_that_json_cannot_hold_are_refused(tmp_path: Path):
    """Before anything is written."""
    model = LinearModel([1.0], 0.5, classes=((0, 1), (1, 0)))
    found = SufficientReasonExplainer(model, Uniform())([[1]])
    with refused("Class labels must be text, numbers or booleans to be saved, got (0, 1)."):
        found.save(tmp_path / "reasons")
    assert not list(tmp_path.iterdir())


def test_a_place_that_is_no_file_is_named(tmp_path: Path):
    """A folder that is there, or one that is not, is told by its own name."""
    found = explanation()
    with pytest.raises(FileNotFoundError, match=r"There is no such folder: '.*/nowhere'$"):
        found.save(tmp_path / "nowhere" / "x.npz")
    with pytest.raises(IsADirectoryError, match=r"A folder is not a file to write to: '.*'$"):
        found.save(tmp_path)
    assert list(tmp_path.iterdir()) == []
