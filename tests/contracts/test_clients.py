"""Libraries that take SHAP values take ours, by the lines of the documentation."""

import re
import textwrap
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from sklearn_probsr import SufficientReasonExplainer
from sklearn_probsr.exceptions import InvalidInputError
from tests.explained import explanation, tumours

PAGE = Path(__file__).resolve().parents[2] / "docs" / "coming-from-shap.md"
needs_page = pytest.mark.skipif(not PAGE.exists(), reason="the documentation is not here")


def run(library: str) -> dict[str, Any]:
    """Run the block of the page that imports a library, with a model of ten features."""
    pytest.importorskip(library, reason=f"{library} is not installed: see `make packages`")
    blocks = re.findall(r"^  ```py\n(.*?)^  ```$", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    (code,) = (
        textwrap.dedent(b) for b in blocks if re.search(rf"^\s*(import|from) {library}\b", b)
    )
    X, y = tumours()[1].iloc[:, :10], (tumours()[2] == "benign").astype(int)
    model = LogisticRegression(max_iter=5_000).fit(X[:400], y[:400])
    explainer = SufficientReasonExplainer(model, X[:400], prove=False)
    names = {
        "model": model, "explainer": explainer, "X_test": X[400:420], "y_test": y[400:420],
        "reasons": explainer(X[400:420]),
    }  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # theirs, of what they are made of
        exec(code, names)
    return names


@needs_page
def test_shapash():
    """Its table has our values, feature by feature, of the class that is predicted."""
    names = run("shapash")
    values = names["reasons"].values
    told = names["report"].to_pandas(max_contrib=10)
    columns = list(names["X_test"].columns)
    for i in range(20):
        sign = 1 if told["pred"].iloc[i] == 1 else -1
        for k in range(1, 11):
            j = columns.index(told[f"feature_{k}"].iloc[i])
            assert told[f"contribution_{k}"].iloc[i] == pytest.approx(sign * values[i, j])


@needs_page
def test_explainerdashboard():
    """Of either class, with our base values."""
    names = run("explainerdashboard")
    board, reasons = names["board"], names["reasons"]
    for k, sign in enumerate((-1, 1)):
        np.testing.assert_allclose(board.get_shap_values_df(k), sign * reasons.values)
        assert board.shap_base_value(k) == pytest.approx(sign * reasons.base_values[0])


@needs_page
def test_mlflow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """What is loaded explains as what was logged."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/runs.db")
    names = run("mlflow")
    again, rows = names["again"], names["X_test"][:3]
    assert type(again) is SufficientReasonExplainer
    np.testing.assert_array_equal(again(rows).values, names["reasons"][:3].values)
    assert again(rows).describe(1) == names["reasons"].describe(1)


@needs_page
def test_shapiq():
    """One player for each feature, and a baseline."""
    names = run("shapiq")
    found, one = names["found"], names["one"]
    assert [found[(j,)] for j in range(10)] == pytest.approx(one.values)
    assert found.baseline_value == pytest.approx(one.base_values)


# --- What they are handed ----------------------------------------------------------------------


def test_values_of_each_class():
    """Of two classes one with either sign, of several one each; of the reason alone if asked."""
    found = explanation()
    base, values = found.per_class()
    assert base == [-found.base_values[0], found.base_values[0]]
    np.testing.assert_array_equal(values, [-found.values, found.values])
    assert not np.signbit(values[0][values[0] == 0]).any()
    only = found.reason_only.per_class().values[0]
    np.testing.assert_array_equal(only, -found.reason_only.values)
    assert found[2].per_class().values[1].shape == (1, 30)
    assert found[:0].per_class().base_values == base
    X = np.random.default_rng(0).normal(size=(60, 4))
    three = SufficientReasonExplainer(
        LogisticRegression().fit(X, np.digitize(X @ [2, 1, 0.5, -1], [-1, 1])), X
    )(X[:6])
    base, values = three.per_class()
    assert base == three.base_values[0].tolist()
    np.testing.assert_array_equal(np.stack(values, axis=2), three.values)
    for view in (three.of_prediction(), found.as_guarantee()):
        message = (
            "per_class needs values of the score of each class, this explanation has those of "
            f"{view.output_names!r}. Call it on what the explainer returned."
        )
        with pytest.raises(InvalidInputError, match=f"^{re.escape(message)}$"):
            view.per_class()
