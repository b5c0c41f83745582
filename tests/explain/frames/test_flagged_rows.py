"""One row never stops a batch: rows that cannot be explained as asked are flagged."""

import pickle
import re
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from sklearn_probsr import (
    LinearModel,
    Matching,
    ReasonExplanation,
    SufficientReasonExplainer,
    SufficientReasonTransformer,
    compare,
    make_reason_size_scorer,
    plots,
    sufficient_reasons,
)
from sklearn_probsr.exceptions import InvalidInputError, UnreachableError
from tests.explained import classifier, mixed, people, same_reasons, tumours

BAD = (3, 8)


def broken(n: int = 12) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return rows, and the same with two that no model takes."""
    X = tumours()[0][400 : 400 + n].set_axis([f"p{i}" for i in range(n)])
    wrong = X.copy()
    wrong.iloc[3, 2], wrong.iloc[8, 1] = np.nan, np.inf
    return X, wrong


def flagging(n: str, what: str) -> Any:
    message = (
        f"{n} could not be explained as asked: {what}. See their status and message, or pass "
        "on_error='raise'."
    )
    return pytest.warns(UserWarning, match=f"^{re.escape(message)}$")


def explainer(**options: Any) -> SufficientReasonExplainer:
    return SufficientReasonExplainer(classifier(), tumours()[0][:60], **options)


def test_invalid_rows_are_flagged_and_the_others_explained(tmp_path: Path):
    """The others are as if they were alone; of an invalid one nothing is said, everywhere."""
    X, wrong = broken()
    alone = explainer()(X)
    with flagging("2 of 12 rows", "2 invalid"):
        found = explainer()(wrong)
    fine = ~np.isin(np.arange(12), BAD)
    assert same_reasons(found[fine], alone[fine])
    found.save(tmp_path / "found.npz")
    loaded = ReasonExplanation.load(tmp_path / "found.npz")
    for one in (found, pickle.loads(pickle.dumps(found)), loaded):
        assert one.status.tolist() == np.where(fine, "ok", "invalid").tolist()
        assert one.message[3] == (
            "X must hold finite numbers, got nan in column 'mean perimeter'. Fill in or drop what "
            "is missing."
        )
        assert (one.message[fine] == "").all()
        assert not one.reason_mask[~fine].any()
        assert not one.values[~fine].any()
        assert (one.guarantee_lower[~fine] == 0).all()
        assert (one.guarantee_upper[~fine] == 1).all()
        assert one.prediction[3] is None
        assert one[3].prediction is None
        assert one[3].describe() == f"No class, no reason: {one.message[3]}"
        table = one.to_frame()
        assert list(table.index) == list(wrong.index)
        assert table["prediction"].isna().tolist() == (~fine).tolist()
        assert table["minimality"].isna().tolist() == (~fine).tolist()
        assert table.loc["p3", "reason"] == ()
        assert table["status"].tolist() == one.status.tolist()
        assert table["message"].tolist() == one.message.tolist()
    pd.testing.assert_frame_equal(found.to_frame()[fine], alone.to_frame()[fine])
    gained = found.as_guarantee()
    assert not gained.values[~fine].any()
    assert same_reasons(gained[fine], alone.as_guarantee()[fine])


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_jobs_and_batches_flag_the_same_rows(n_jobs: int):
    """The rows that do not reach delta are the same for any number of jobs and pieces."""
    X, wrong = broken(40)
    options: dict[str, Any] = {"delta": 0.99, "exclude": list(X.columns[:20])}
    with flagging("24 of 40 rows", "2 invalid, 22 unreachable"):
        found = explainer(**options, n_jobs=n_jobs, prove=True, max_evals=10)(wrong)
    for i in np.flatnonzero(found.status == "unreachable"):
        with flagging("1 of 1 row", "1 unreachable"):
            alone = explainer(**options, prove=True, max_evals=10)(X.iloc[i])
        assert same_reasons(found[[i]], alone)
        assert found.message[i] == alone.message[0]
        assert found.minimality[i] == "best-of-size"
        assert 0 < found.guarantee_upper[i] < 0.99
        assert found.reason_size[i] > 0
        assert found.describe(i).endswith(f" {found.message[i]}")
    assert re.fullmatch(
        r"delta = 0\.99 cannot be reached for this row without the features in exclude: the best "
        r"guarantee that the others give is .+ \(replacement by 60 background rows\)\. Exclude "
        r"fewer features, or lower delta\.",
        found.message[found.status == "unreachable"][0],
    )


def test_the_best_set_is_that_of_the_largest_size():
    """An unreachable row has the set that max_size would have given it."""
    model = LinearModel([5.0, 1.0, -3.0, 2.0, -1.0], 2.5)
    X = np.random.default_rng(1).integers(0, 2, (30, 5))
    for masker in (None, X):
        asked: dict[str, Any] = {"delta": 0.9, "exclude": [0]}
        with pytest.warns(UserWarning, match="unreachable"):
            found = SufficientReasonExplainer(model, masker, **asked)(X)
        largest = SufficientReasonExplainer(model, masker, **asked, max_size=5)(X)
        assert {*found.status} == {"ok", "unreachable"}
        assert np.array_equal(found.reason_mask, largest.reason_mask)
        assert np.array_equal(found.guarantee_lower, largest.guarantee_lower)
        assert np.array_equal(found.minimality, largest.minimality)


def test_sampling_and_counting_flag_too():
    """Monte Carlo bounds the best set by a proof; Matching gives the best set it found."""
    model = LinearModel([5.0, 1.0, -3.0, 2.0, -1.0], 2.5)
    X = np.random.default_rng(1).integers(0, 2, (40, 5))
    with pytest.warns(UserWarning, match="unreachable"):
        found = SufficientReasonExplainer(
            model, delta=0.9, exclude=[0], method="monte-carlo", epsilon=0.05, seed=0
        )(X[:8])
    at = int(np.flatnonzero(found.status == "unreachable")[0])
    assert "is not reached by the estimate for this row" in found.message[at]
    exact = SufficientReasonExplainer(model).guarantee(X[[at]], [found.to_frame()["reason"][at]])
    assert found.guarantee_lower[at] == pytest.approx(exact["lower"][0])
    with pytest.warns(UserWarning, match="unreachable"):
        counted = SufficientReasonExplainer(model, Matching(X, min_rows=2), exclude=[0])(X[:9])
    assert "unreachable" in counted.status
    table = counted.to_frame()
    assert (table["matching_rows"] >= 0).all()
    with pytest.warns(UserWarning, match="9 unreachable"):
        few = SufficientReasonExplainer(model, Matching(X, min_rows=20), include=[0, 1])(X[:9])
    assert few.message[0].startswith("min_rows = 20 is not reached for this row: ")
    assert few.reason_mask.tolist() == [[True, True, False, False, False]] * 9


def test_the_first_row_is_an_error_if_asked():
    """With on_error='raise' the row is named by its number in the batch, in any piece of it."""
    X, wrong = broken(40)
    message = (
        "X must hold finite numbers, got nan in row 3, column 'mean perimeter'. Fill in or drop "
        "what is missing."
    )
    with pytest.raises(InvalidInputError, match=f"^{re.escape(message)}$"):
        explainer(on_error="raise")(wrong)
    with pytest.warns(UserWarning, match="unreachable"):
        flagged = explainer(delta=0.99, exclude=list(X.columns[:10]))(X)
    first = int(np.flatnonzero(flagged.status == "unreachable")[0])
    with pytest.raises(UnreachableError, match=f"^delta = 0.99 cannot be reached for row {first} "):
        explainer(delta=0.99, exclude=list(X.columns[:10]), prove=True, on_error="raise")(X)
    with pytest.raises(UnreachableError, match=r"for row \d+ .* set max_size to get the best set"):
        sufficient_reasons(LinearModel([2, 1], 2), [[1, 1]], exclude=[0], delta=1)
    message = "on_error must be one of ('raise', 'flag'), got 'ignore'."
    for make in (
        lambda: explainer(on_error="ignore"),
        lambda: compare(classifier(), X, on_error="ignore"),
    ):
        with pytest.raises(InvalidInputError, match=f"^{re.escape(message)}$"):
            make()


def test_what_is_wrong_with_all_rows_is_an_error():
    """Columns too few, ragged lists and vectors of another length are no matter of one row."""
    model = LinearModel([5.0, 1.0, -3.0], 2.5)
    for X in ([[1, 0], [0, 1]], [1, 0], [[1, 0, 1], [0]], np.zeros((2, 2, 2))):
        with pytest.raises(InvalidInputError):
            SufficientReasonExplainer(model)(X)
    with pytest.raises(InvalidInputError, match="it lacks 'mean radius'"):
        explainer()(tumours()[0][:3].drop(columns="mean radius"))


def test_numbers_without_a_masker_are_an_error():
    """Columns that are not 0/1 ask for a background, even of one row, and whatever else it lacks.

    Where somebody said that columns are 0/1, one row alone may be the odd one out.
    """
    X, wrong = (rows + 10.5 for rows in broken())
    words = "Without a masker numbers are taken to be 0 or 1. Pass the rows the model was trained "
    words += "on: SufficientReasonExplainer(model, X_train)."
    for on_error in ("flag", "raise"):
        uniform = SufficientReasonExplainer(classifier(), on_error=on_error)
        for rows in (X, X[:1], X.to_numpy(), sparse.csr_array(X.to_numpy())):
            message = (
                "X must be 0 or 1 in every column, got "
                f"{X.iat[0, 0]} in row 0, column 'mean radius'. {words}"
            )
            with pytest.raises(InvalidInputError, match=f"^{re.escape(message)}$"):
                uniform(rows)
        with pytest.raises(InvalidInputError, match=f" {re.escape(words)}$"):
            uniform(wrong)
    counts = np.random.default_rng(0).integers(0, 3, (9, 30))
    counts[:, 0] = [2, 0, 0, 2, 0, 0, 2, 0, 0]
    counts[:, 1] = 2 - counts[:, 0]  # each row has a 2, and no column has none but such
    with pytest.raises(InvalidInputError, match=r"got 2\.0 in row 0, column 'mean radius'"):
        SufficientReasonExplainer(classifier())(counts)
    counts[4] = 1
    with pytest.warns(UserWarning, match="8 of 9 rows could not be explained as asked: 8 invalid"):
        found = SufficientReasonExplainer(classifier())(counts)
    assert (found.status == "ok").tolist() == [i == 4 for i in range(9)]
    with pytest.raises(InvalidInputError, match="Pass data as masker, where numbers may be any"):
        SufficientReasonExplainer(classifier(), "uniform")(X)
    with flagging("1 of 1 row", "1 invalid"):
        SufficientReasonExplainer(classifier(), "uniform")(X[:1])
    model = LinearModel([5.0, 1.0, -3.0], 2.5)
    for rows in ([[2, 0, 1], [0, 7, 0]], np.array([["a", 2, 0], [None, 3, 1]], dtype=object)):
        with pytest.raises(InvalidInputError, match="must be 0 or 1 in every column"):
            SufficientReasonExplainer(model)(rows)


def test_rows_of_all_kinds_are_sifted():
    """Sparse rows, lists, a Pipeline's frames, and batches without a single valid row."""
    model = LinearModel([5.0, 1.0, -3.0], 2.5)
    plain = [[1, 0, 1], [0, 2, 1], [1, 1, 0]]
    for X in (plain, np.array(plain), sparse.csr_array(plain), sparse.csc_matrix(plain)):
        with flagging("1 of 3 rows", "1 invalid"):
            found = SufficientReasonExplainer(model)(X)
        assert found.status.tolist() == ["ok", "invalid", "ok"]
        assert np.isnan(found.data[1]).all()
    with flagging("1 of 1 row", "1 invalid"):
        none = SufficientReasonExplainer(model)([2, 0, 0])
    assert none.prediction.tolist() == [None]
    X = people()[0][:9].copy()
    X.loc[4, "smoker"] = "sometimes"
    with flagging("1 of 9 rows", "1 invalid"):
        found = SufficientReasonExplainer(mixed(), people()[0], delta=0.9)(X)
    assert found.status.tolist() == ["ok"] * 4 + ["invalid"] + ["ok"] * 4
    assert found.display_data[4].tolist() == [None] * 4
    assert "sometimes" in found.message[4]


def test_transformers_and_scorers_raise():
    """A line of zeros would look like an empty reason, and a score like one of all rows."""
    _, wrong = broken()
    labels = tumours()[2][400:412]
    step = SufficientReasonTransformer(classifier(), masker="uniform", exclude=["area error"])
    step.fit(tumours()[0][:60], tumours()[2][:60])
    with pytest.raises(InvalidInputError, match="got nan in row 3, column 'mean perimeter'"):
        step.transform(wrong)
    with pytest.raises(InvalidInputError, match="must be 0 or 1"):
        make_reason_size_scorer()(classifier(), wrong, labels)


def test_pictures_leave_flagged_rows_out_and_say_so():
    """What is drawn is drawn of the others; a single unreachable row is drawn with its set."""
    X, wrong = broken()
    options: dict[str, Any] = {"delta": 0.99, "exclude": list(X.columns[:20])}
    with pytest.warns(UserWarning, match="2 invalid, 5 unreachable"):
        found = explainer(**options)(wrong)
    for draw in (plots.curve, plots.frequency, plots.reasons_heatmap):
        ax = draw(found)
        assert ax.get_title(loc="left").endswith("\nleft out: 2 invalid, 5 unreachable")
        alone = draw(found[found.status == "ok"])
        assert "left out" not in alone.get_title(loc="left")
        assert alone.get_xlim() == ax.get_xlim()
    one = found[found.status == "unreachable"][0]
    assert "(short of 0.99, which is out of reach)" in plots.waterfall(one).get_title(loc="left")
    message = (
        "waterfall needs a row that could be explained, here the row is invalid: "
        f"{found.message[3]}"
    )
    with pytest.raises(InvalidInputError, match=f"^{re.escape(message)}$"):
        plots.waterfall(found[3])
    with pytest.raises(InvalidInputError, match=r"^frequency needs a row .* the 2 are invalid: "):
        plots.frequency(found[list(BAD)])
    plt.close("all")


def test_comparisons_of_flagged_rows(tmp_path: Path):
    """The table has all rows, its summary and page the others; JSON brings all of it back."""
    X, wrong = broken()
    data, fine = tumours()[0][:60], ~np.isin(np.arange(12), BAD)
    others = {"first": [["mean radius"]] * 12}
    with flagging("2 of 12 rows", "2 invalid"):
        found = compare(classifier(), wrong, data, others=others, dependence=True)
    alone = compare(
        classifier(), X[fine], data, others={"first": others["first"][:10]}, dependence=True
    )
    assert list(found.to_frame()) == list(alone.to_frame())
    assert list(found.to_frame())[18:20] == ["status", "message"]
    pd.testing.assert_frame_equal(
        found.to_frame()[fine], alone.to_frame(), check_dtype=False, check_index_type=False
    )
    bad = found.to_frame()[~fine]
    assert bad["reason"].tolist() == [(), ()]
    assert bad[["reason_size", "guarantee_lower"]].eq(0).all(axis=None)
    assert bad["guarantee_upper"].eq(1).all()
    unknown = bad.drop(columns=["reason", "reason_size", "guarantee_lower", "guarantee_upper",
                                "status", "message"])  # fmt: skip
    assert unknown.isna().all(axis=None)
    assert not found.shap_values[~fine].any()
    pd.testing.assert_frame_equal(found.to_frame(), found.to_frame())
    pd.testing.assert_frame_equal(found.features(), alone.features())
    words = found.summary().split("\n")
    assert words[1] == "2 of 12 rows are left out of all that follows: 2 invalid."
    assert [words[0], *words[2:]] == alone.summary().split("\n")
    assert "| p3 |  |  | 0 | 0 |" in found.to_markdown()
    found.to_html(tmp_path / "page.html")
    assert "2 of 12 rows are left out" in (tmp_path / "page.html").read_text(encoding="utf-8")
    figure = found.plot()
    assert figure.get_suptitle().endswith("follows: 2 invalid.")
    plt.close(figure)
    with pytest.raises(InvalidInputError, match="got nan in row 3, column 'mean perimeter'"):
        compare(classifier(), wrong, data, on_error="raise")
    given = found.shap_values
    with pytest.warns(UserWarning, match="2 invalid"):
        again = compare(classifier(), wrong, data, shap_values=given)
    assert np.array_equal(again.shap_values, given)
