"""Everything a person reads shows raw values as they were given, whatever steps make of them."""

import json
import pickle
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import shap
import skops.io
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import make_column_transformer
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    MinMaxScaler,
    OneHotEncoder,
    PowerTransformer,
    QuantileTransformer,
    SplineTransformer,
)

from sklearn_probsr import (
    ArgmaxModel,
    Background,
    LinearModel,
    Marginals,
    Matching,
    ReasonExplanation,
    SufficientReasonExplainer,
    SufficientReasonTransformer,
    Unit,
    adapt,
    compare,
    plots,
    sufficient_reason,
)
from sklearn_probsr.cli.main import main

NAMES = ["area", "income", "visits"]
STEPS: dict[str, Callable[[], Any]] = {
    "log1p": lambda: FunctionTransformer(np.log1p, feature_names_out="one-to-one"),
    "power": PowerTransformer,
    "quantiles": lambda: QuantileTransformer(n_quantiles=20),
    "splines": lambda: SplineTransformer(n_knots=4),
    "clipping": lambda: MinMaxScaler(clip=True),
    "indicator": lambda: SimpleImputer(add_indicator=True),
    "chain": lambda: make_pipeline(
        SimpleImputer(add_indicator=True), MinMaxScaler(clip=True), PowerTransformer()
    ),
    "twice": lambda: make_union(MinMaxScaler(clip=True), KBinsDiscretizer(3, encode="ordinal")),
}
GAPS = ("indicator", "chain")  # steps that take what is missing
LAWS: dict[str, Callable[[Any], Any]] = {
    "data": lambda X: X,
    "Background": Background,
    "Marginals": Marginals.fit,
}


@cache
def table(gaps: bool) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """Return houses with many-digit, whole and small numbers, two classes of them and three."""
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(
        {
            "area": np.round(rng.lognormal(6, 1, 60)) + 1000001.0,
            "income": np.round(rng.gamma(2.0, 200, 60), 1),
            "visits": rng.integers(0, 9, 60),
        }
    )
    score = np.log(frame["area"] - 1e6) + frame["income"] / 300 - frame["visits"] / 3
    three = np.digitize(score, np.quantile(score, [0.3, 0.7]))
    if gaps:
        frame.loc[[1, 8], "income"] = np.nan
    return frame, np.where(three > 0, "yes", "no"), np.array(["low", "middle", "high"])[three]


@cache
def explained(
    step: str, classes: int = 2, law: str = "data", kind: str = "frame"
) -> tuple[SufficientReasonExplainer, Any, Any]:
    """Return an explainer of a pipeline that begins with a step, and the first ten rows."""
    frame, two, three = table(step in GAPS)
    X = frame if kind != "array" else frame.to_numpy()
    first = STEPS[step]()
    if kind == "columns":
        first = make_column_transformer((first, NAMES[:2]), remainder="passthrough")
    model = make_pipeline(first, LogisticRegression(max_iter=3000))
    model.fit(X, two if classes == 2 else three)
    explain = SufficientReasonExplainer(
        model, LAWS[law](X), delta=0.8, include=[0, 1, 2], feature_names=None
    )
    return explain, X[:10], frame[:10]


def facts_of(frame: pd.DataFrame, i: int, names: list[str] = NAMES) -> set[str]:
    """Return what is true of a row, as it was given."""
    row = dict(zip(names, frame.iloc[i], strict=True))
    return {
        f"{name} is missing" if np.isnan(v) else f"{name} = {f'{v:.0f}' if v == int(v) else v}"
        for name, v in row.items()
    }


def names_of(kind: str) -> list[str]:
    return ["x0", "x1", "x2"] if kind == "array" else NAMES


# Every step once with two classes or three, and every way to give rows with a step of each sort.
PAIRS = [(step, 2 + k % 2) for k, step in enumerate(STEPS)]
CASES = [
    *((step, classes, "data", "frame") for step, classes in PAIRS),
    *((step, 2, "data", kind) for step in ("splines", "chain") for kind in ("array", "columns")),
    *(("log1p", 2, law, "frame") for law in ("Background", "Marginals")),
    *(("chain", 3, law, "columns") for law in ("Background", "Marginals")),
]


@pytest.mark.parametrize(("step", "classes", "law", "kind"), CASES)
def test_words_and_values(step: str, classes: int, law: str, kind: str, tmp_path: Path):
    """Sentences, the reasons themselves, data and display_data; also sliced, saved and pickled."""
    explain, X, frame = explained(step, classes, law, kind)
    found = explain(X)
    raw = frame.to_numpy(dtype=float)
    assert np.array_equal(found.data, raw, equal_nan=True)
    shown = [["missing" if np.isnan(v) else v for v in row] for row in raw.tolist()]
    assert found.display_data.tolist() == shown
    found.save(tmp_path / "found.npz")
    again = (
        found,
        ReasonExplanation.load(tmp_path / "found.npz"),
        pickle.loads(pickle.dumps(found)),
        pickle.loads(pickle.dumps(explain))(X),
        found.of_prediction(),
    )
    for i in range(len(X)):
        true = facts_of(frame, i, names_of(kind))
        for copy in again if i in (0, 1, 8) else again[:1]:  # those with gaps are among them
            assert set(copy.reasons[i].facts) == true
            for fact in true:
                assert fact in copy.describe(i)
                assert fact in str(copy.reasons[i])
            assert copy[i].describe() == copy[i, 1:].describe() == found.describe(i)
            assert copy[[i]].reasons[0].facts == found.reasons[i].facts
            assert copy.display_data[i].tolist() == shown[i]


@pytest.mark.parametrize(("step", "classes"), PAIRS)
def test_pictures(step: str, classes: int):
    """Our waterfall, and shap's waterfall, bar, force and scatter, of the rows as given."""
    explain, X, frame = explained(step, classes)
    found = explain(X).of_prediction()
    for i in (0, 1):
        ax = plots.waterfall(found[i])
        labels = {label.get_text().removeprefix("although ") for label in ax.get_yticklabels()}
        assert labels == facts_of(frame, i)
        plt.close("all")
        row = dict(zip(NAMES, frame.iloc[i], strict=True))
        numbers = {
            name: "missing" if np.isnan(v) else f"{v:.3f}".rstrip("0").rstrip(".")
            for name, v in row.items()
        }
        marks = ["● " if inside else "" for inside in found[i].reason_mask]
        true = {f"{numbers[name]} = {m}{name}" for name, m in zip(NAMES, marks, strict=True)}
        for draw in (shap.plots.waterfall, shap.plots.bar):
            draw(found[i], show=False)
            written = {label.get_text().replace("\N{MINUS SIGN}", "-") for label in
                       plt.gca().get_yticklabels()}  # fmt: skip
            assert true <= written
            plt.close("all")
    for j, name in enumerate(NAMES):
        ax = shap.plots.scatter(found[:, j], show=False, x_jitter=0, hist=False)
        drawn = ax.collections[0].get_offsets()[:, 0]
        given = frame[name].to_numpy(dtype=float)
        held = np.ma.masked_invalid(drawn).compressed()
        assert np.array_equal(np.sort(held), np.sort(given[~np.isnan(given)]))
        plt.close("all")


def in_words(frame: pd.DataFrame) -> list[list[Any]]:
    """Return numbers as they are, and gaps as facts."""
    rows = frame.to_numpy(dtype=float).tolist()
    return [
        [f"{name} is missing" if np.isnan(v) else v for name, v in zip(NAMES, row, strict=True)]
        for row in rows
    ]


@pytest.mark.parametrize(("step", "classes"), PAIRS)
def test_comparisons_and_pages(step: str, classes: int, tmp_path: Path):
    """The values of a comparison, and on the page."""
    explain, X, frame = explained(step, classes)
    found = compare(explain.model, X, table(step in GAPS)[0], delta=0.8)
    shown = in_words(frame)
    assert found.values.tolist() == shown
    found.to_html(tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text()
    data = json.loads(text.split('type="application/json" id="data">')[1].split("</script>")[0])
    for i, row in enumerate(data["rows"]):
        on_page = dict(zip(row["units"][::3], row["units"][2::3], strict=True))
        assert [on_page[j] for j in range(3)] == shown[i]


@pytest.mark.parametrize(
    ("step", "classes", "kind"),
    [("log1p", 3, "array"), ("indicator", 2, "frame"), ("indicator", 3, "array")],
)
def test_the_command_line(
    step: str, classes: int, kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    """Both commands say what is in the file, also of a model that knows no names."""
    explain, _, frame = explained(step, classes, kind=kind)
    skops.io.dump(explain.model, tmp_path / "model.skops")
    table(step in GAPS)[0].to_csv(tmp_path / "data.csv", index=False)
    files = [str(tmp_path / "model.skops"), str(tmp_path / "data.csv")]
    trust = ["--trust", "numpy.log1p"] if step == "log1p" else []
    assert main(["explain", *files, "--row", "1", "--json", *trust]) == 0
    row = json.loads(capsys.readouterr().out)
    assert main(["explain", *files, "--row", "1", *trust]) == 0
    said = capsys.readouterr().out
    assert sum(fact in said for fact in facts_of(frame, 1)) == len(row["reason"])
    for name, value in zip(NAMES, frame.iloc[1], strict=True):
        text = "missing" if np.isnan(value) else f"{value:.0f}" if value == int(value) else value
        (line,) = (told for told in said.splitlines() if told.split()[:1] == [name])
        assert line.split()[1] == str(text)
        assert line.endswith("in the reason") == (name in row["reason"])


def test_the_transformer_gives_raw_rows():
    """Numbers inside the reason are those of the rows, and its explainer tells them so."""
    frame, two, _ = table(gaps=False)
    model = make_pipeline(STEPS["log1p"](), LogisticRegression(max_iter=3000))
    step = SufficientReasonTransformer(model, output="rows", delta=0.8).fit(frame, two)
    rows = step.transform(frame)
    inside = ~np.isnan(rows)
    assert inside.any()
    assert np.array_equal(rows[inside], frame.to_numpy(dtype=float)[inside])
    again = pickle.loads(pickle.dumps(step)).explainer_(frame[:1])
    assert set(again.reasons[0].facts) <= facts_of(frame, 0)


def test_two_valued_columns_keep_their_values():
    """Values that a step makes 0 and 1 of are not 0 and 1, nor is one that was filled in."""
    frame = pd.DataFrame({"size": [3.0, 7, 3, 7, 7, 3], "door": [0.0, 1, 1, 0, 1, 0]})
    model = make_pipeline(MinMaxScaler(clip=True), LogisticRegression()).fit(frame, frame["size"])
    found = SufficientReasonExplainer(model, frame, include=["size"])(frame)
    assert found.reasons[1].facts[0] == "size = 7"
    assert found.data[1].tolist() == [7.0, 1.0]
    rows = Matching(pd.concat([frame] * 20, ignore_index=True), min_rows=5)
    alike = SufficientReasonExplainer(model, rows, include=["size"])(frame)
    assert "Of the rows that share size = 7, class 7.0 is kept" in alike.describe(1)
    beyond = SufficientReasonExplainer(model, frame, include=["size"])(frame.assign(size=9.0))
    assert beyond.reasons[0].facts[0] == "size = 9"
    gap = frame.copy()
    gap.loc[2, "door"] = np.nan
    filled = make_pipeline(SimpleImputer(strategy="most_frequent"), LogisticRegression())
    told = SufficientReasonExplainer(filled.fit(gap, gap["size"]), frame, include=["door"])(gap)
    assert told.reasons[2].facts[0] == "door is missing"
    assert told.display_data[2].tolist() == [3.0, "missing"]


def test_words_are_told_by_how_often_they_occur():
    """Also where a later step takes the logarithm of the counts."""
    texts = ["good good good day", "bad day", "good day", "bad bad day", "good", "bad"]
    model = make_pipeline(
        CountVectorizer(), FunctionTransformer(np.log1p, accept_sparse=True), LogisticRegression()
    ).fit(texts, [1, 0, 1, 0, 1, 0])
    found = SufficientReasonExplainer(model, texts, include=["good"])(texts)
    assert found.reasons[0].facts[0] == '"good" (3 times)'
    assert found.data[0].tolist() == found.display_data[0].tolist() == [0.0, 1.0, 3.0]
    assert adapt(model, texts).display(texts)["good"].tolist() == [3, 0, 1, 0, 1, 0]


class Length(TransformerMixin, BaseEstimator):
    """The length of texts."""

    def fit(self, X: Any, y: Any = None) -> "Length":
        self.n_features_in_ = X.shape[1]
        return self

    def transform(self, X: Any) -> np.ndarray:
        return np.array([[len(text) for text in row] for row in np.asarray(X)], dtype=float)


def test_values_that_are_no_numbers():
    """A text that a step makes a number of is told as the text; plots get its code."""
    from sklearn_probsr.adapters import PerColumn
    from sklearn_probsr.extend import register_adapter

    register_adapter(Length, lambda step: PerColumn())
    frame = pd.DataFrame({"name": ["Jo", "Alexander", "Al", "Christopher"], "age": [1, 2, 3, 4]})
    steps = make_column_transformer((Length(), ["name"]), remainder="passthrough")
    model = make_pipeline(steps, LogisticRegression()).fit(frame, [0, 1, 0, 1])
    found = SufficientReasonExplainer(model, frame, include=["name"])(frame)
    assert found.reasons[1].facts[0] == "name = Alexander"
    assert found.data[1].tolist() == [9.0, 2.0]
    assert found.display_data[1].tolist() == ["Alexander", 2]


def test_categories_and_bins_are_labels():
    """What is fixed is the category or the bin, which is said so; the value itself is beside it."""
    frame = table(gaps=False)[0].assign(town=["York", "Bath", "Ely"] * 20)
    steps = make_column_transformer(
        (KBinsDiscretizer(3, strategy="uniform"), ["income"]),
        (OneHotEncoder(), ["town"]),
        (STEPS["log1p"](), ["area"]),
    )
    model = make_pipeline(steps, LogisticRegression(max_iter=3000)).fit(frame, table(False)[1])
    found = SufficientReasonExplainer(model, frame, include=["area", "income", "town"])(frame[:3])
    area, income, town = found.reasons[1].facts[:3]
    assert area == f"area = {frame['area'][1]:.0f}"
    assert income.startswith("income ")
    assert town == "town: Bath"
    assert found.data[1].tolist() == [frame["area"][1], frame["income"][1], 0.0]
    assert found.display_data[1].tolist() == [frame["area"][1], frame["income"][1], "Bath"]


@pytest.mark.parametrize("masker", [None, "uniform"])
def test_coins_and_raw_values(masker: Any):
    """Over uniform completions of states, too, plots get the raw numbers."""
    frame = table(gaps=False)[0][["income"]].assign(town=["York", "Bath", "Ely"] * 20)
    steps = make_column_transformer(
        (KBinsDiscretizer(3, strategy="uniform"), ["income"]), (OneHotEncoder(), ["town"])
    )
    model = make_pipeline(steps, LogisticRegression()).fit(frame, table(False)[1])
    found = SufficientReasonExplainer(model, masker, include=["income", "town"])(frame[:3])
    assert found.data.tolist() == [[frame["income"][i], (2, 0, 1)[i]] for i in range(3)]
    assert found.display_data.tolist() == frame[:3].to_numpy().tolist()
    assert found.reasons[1].facts[1] == "town: Bath"


def test_columns_of_a_model_are_told_as_codes():
    """A model alone does not know what its columns were made of, and does not pretend to."""
    frame, two, _ = table(gaps=False)
    model = make_pipeline(STEPS["log1p"](), LogisticRegression(max_iter=3000)).fit(frame, two)
    adapted = adapt(model, frame)
    row = adapted.transform(frame)[0]
    told = sufficient_reason(
        adapted.model,
        row,
        delta=0.8,
        distribution=Background(adapted.transform(frame)),
        include=["area"],
    )
    assert told.facts[0] == f"area coded as {row[0]:g}"
    rows = adapted.transform(frame)
    found = SufficientReasonExplainer(adapted.model, rows)(rows[:2])
    assert found.display_data[0, 0] == f"coded as {row[0]:g}"


def test_units_of_several_columns_are_shown_as_they_are():
    """Not as the number that stands for them in plots, also of a model of several classes."""
    units = [Unit.real("place", [0, 1]), Unit.one_hot("job", [2, 3]), Unit.binary("fed", 4)]
    model = LinearModel([1.0, -1.0, 2.0, 1.0, 0.5], 1.0, units=units)
    rows = np.array([[0.5, 2.0, 1, 0, 1], [1.5, 0.0, 0, 1, 0]])
    found = SufficientReasonExplainer(model, rows)(rows)
    assert found.display_data.tolist() == [
        ["(0.5, 2)", "in column 2", 1.0],
        ["(1.5, 0)", "in column 3", 0.0],
    ]
    weights = [[1.0, -1.0, 2.0, 1.0, 0.5], [0.0, 1.0, 0.0, 1.0, 0.0], [2.0, 1.0, 0.0, 0.5, 1.0]]
    several = ArgmaxModel(weights, [0.0, 0.1, 0.2], units=units)
    told = SufficientReasonExplainer(several, rows)(rows)
    assert told.display_data.tolist() == found.display_data.tolist()
    # To the lead of the last class over the first: 0.5 + 2 * 2, and 1.5.
    assert told.data.tolist() == [[4.5, 0.0, 1.0], [1.5, 1.0, 0.0]]
