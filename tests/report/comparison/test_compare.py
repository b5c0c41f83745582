"""Comparisons: every column again by brute force on small data."""

import re
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import shap
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression

from sklearn_probsr import (
    ArgmaxModel,
    Background,
    LinearModel,
    Marginals,
    Product,
    Uniform,
    Unit,
    compare,
)
from sklearn_probsr.exceptions import InvalidInputError, UnreachableError
from sklearn_probsr.extend import law_of
from sklearn_probsr.independent.law import TabledLaw
from sklearn_probsr.report.comparison._growth import LEVELS
from tests.oracle import UnitCase

DELTA = Fraction("0.85")
COLUMNS = [
    "prediction", "margin", "reason", "reason_size", "guarantee_lower", "guarantee_upper",
    "minimality", "sure_size", "abs_shap_size", "signed_shap_size", "top_shap_guarantee_lower",
    "top_shap_guarantee_upper", "signed_shap_guarantee_lower", "signed_shap_guarantee_upper",
    "overlap", "shap_share", "hurting",
]  # fmt: skip
FLAGS = ["status", "message"]


def small(seed: int) -> tuple[LinearModel, np.ndarray]:
    """Return a model of binary, one-hot and real-valued units, and data."""
    rng = np.random.default_rng(seed)
    data = np.hstack(
        [
            rng.integers(0, 2, (12, 2)),
            np.eye(3)[rng.integers(0, 3, 12)],
            rng.integers(-2, 3, (12, 2)),
        ]
    ).astype(float)
    units = [
        Unit.binary("a", 0),
        Unit.binary("b", 1),
        Unit.one_hot("job", [2, 3, 4]),
        Unit.real("age", 5),
        Unit.real("pay", 6),
    ]
    weights = rng.integers(-4, 5, 7) + 0.25
    return LinearModel(weights, float(weights @ data.mean(axis=0)), units=units), data


def truths(model: LinearModel, row: np.ndarray, data: np.ndarray, kind: str) -> Any:
    """Return the exact guarantee of any set."""
    groups = tuple(unit.columns for unit in model.units or ())
    case = UnitCase(tuple(model.weights), model.threshold, False, groups, tuple(row))
    ones = [Fraction(1)] * len(data)
    laws = case.marginals(data.tolist(), ones)
    if kind == "joint":
        return lambda s: case.joint(s, data.tolist(), ones)
    return lambda s: case.independent(s, laws)


def smallest(truth: Any, level: Fraction) -> int:
    sizes = range(6)
    return next(k for k in sizes if any(truth(s) >= level for s in combinations(range(5), k)))


def shortest(truth: Any, order: np.ndarray, level: Fraction = DELTA) -> int:
    return next(k for k in range(6) if truth(order[:k].tolist()) >= level)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("kind", ["joint", "independent"])
def test_every_column_by_brute_force(seed: int, kind: str):
    """Sizes, guarantees, prefixes of the SHAP orders, overlap, share and hurting features."""
    model, data = small(seed)
    law = Background(data) if kind == "joint" else Marginals.fit(data)
    found = compare(model, data[:5], law, delta=float(DELTA), dependence=True)
    frame = found.to_frame()
    other = "independent" if kind == "joint" else "joint"
    assert list(frame) == [*COLUMNS, *FLAGS, f"{other}_guarantee_lower", f"{other}_guarantee_upper"]
    columns = [list(unit.columns) for unit in model.units or ()]
    for i, line in frame.iterrows():
        row = data[int(i)]
        truth, beside = truths(model, row, data, kind), truths(model, row, data, other)
        parts = model.weights * (row - data.mean(axis=0))
        values = np.array([parts[group].sum() for group in columns])
        np.testing.assert_allclose(found.shap_values[int(i)], values, atol=1e-12)
        margin = model.weights @ row - model.threshold
        sign = 1 if margin >= 0 else -1
        chosen = {model.unit_names.index(name) for name in line["reason"]}
        top = set(np.argsort(-np.abs(found.shap_values[int(i)]), kind="stable")[: len(chosen)])
        towards = np.argsort(-sign * found.shap_values[int(i)], kind="stable")[: len(chosen)]
        assert line["prediction"] == int(margin >= 0)
        assert line["margin"] == pytest.approx(margin)
        assert line["reason_size"] == len(chosen) == smallest(truth, DELTA)
        assert line["sure_size"] == smallest(truth, Fraction(1))
        for name, exact in (
            ("guarantee", truth(chosen)),
            ("top_shap_guarantee", truth(top)),
            ("signed_shap_guarantee", truth(set(towards))),
            (f"{other}_guarantee", beside(chosen)),
        ):
            assert Fraction(line[f"{name}_lower"]) <= exact <= Fraction(line[f"{name}_upper"])
        by_size = np.argsort(-np.abs(found.shap_values[int(i)]), kind="stable")
        by_sign = np.argsort(-sign * found.shap_values[int(i)], kind="stable")
        assert line["abs_shap_size"] == shortest(truth, by_size)
        assert line["signed_shap_size"] == shortest(truth, by_sign)
        assert line["overlap"] == pytest.approx(len(top & chosen) / max(len(top | chosen), 1)) or (
            not chosen and line["overlap"] == 1
        )
        inside = sum(abs(values[u]) for u in chosen)
        assert line["shap_share"] == pytest.approx(inside / np.abs(values).sum())
        assert line["hurting"] == sum(sign * values[u] < 0 for u in top)


@pytest.mark.parametrize("kind", ["joint", "independent"])
def test_what_minimum_reasons_share_by_brute_force(kind: str):
    """Asked for alternatives: how many features are in every smallest set, and in some."""
    model, data = small(1)
    law = Background(data) if kind == "joint" else Marginals.fit(data)
    found = compare(model, data[:6], law, delta=float(DELTA), alternatives=True)
    frame = found.to_frame()
    assert list(frame) == [*COLUMNS, *FLAGS, "n_necessary", "n_possible", "undecided"]
    shares = []
    for i, line in frame.iterrows():
        truth = truths(model, data[int(i)], data, kind)
        size = smallest(truth, DELTA)
        least = [set(s) for s in combinations(range(5), size) if truth(s) >= DELTA]
        every, some = set.intersection(*least), set().union(*least)
        assert (line["n_necessary"], line["n_possible"]) == (len(every), len(some))
        assert line["undecided"] == ()
        assert [*found.shared[int(i)]] == [3 * (u in every) or int(u in some) for u in range(5)]
        shares.append((len(every), len(some)))
    assert len(set(shares)) > 1
    assert "\nIn every reason of that size are " in found.summary()
    assert "n_possible" in found.to_markdown()
    assert "n_possible" not in compare(model, data[:6], law, delta=float(DELTA)).to_markdown()


def test_what_stays_open_is_counted_by_nobody():
    """Without a proof there are no counts but names; flagged rows have neither."""
    model, data = small(1)
    rows = data[:4].copy()
    rows[2, 5] = np.inf
    with pytest.warns(UserWarning, match="1 of 4 rows"):
        found = compare(model, rows, data, prove=False, alternatives=True)
    frame = found.to_frame()
    open_ones = (frame["minimality"] != "minimum") & (frame["status"] == "ok")
    assert open_ones.any()
    for column in ("n_necessary", "n_possible"):
        assert frame[column].isna().equals(open_ones | (frame["status"] != "ok"))
        count = f"in {open_ones.sum()} of 4 rows it stays undecided."
        assert found.missing[column] == count
        assert f"{column} is missing: {count}" in found.summary()
    assert all(frame["undecided"][open_ones].map(len) > 0)
    assert frame["undecided"][2] == ()


@pytest.mark.parametrize("kind", ["joint", "independent"])
def test_certainty_by_brute_force(kind: str):
    """At delta = 1 the orders of SHAP are followed until the class is certain."""
    model, data = small(7)
    law = Background(data) if kind == "joint" else Marginals.fit(data)
    found = compare(model, data[:6], law, delta=1)
    frame = found.to_frame()
    assert list(frame) == COLUMNS + FLAGS
    for i, line in frame.iterrows():
        truth = truths(model, data[int(i)], data, kind)
        values = found.shap_values[int(i)]
        sign = 1 if line["prediction"] else -1
        by_size, by_sign = (np.argsort(-v, kind="stable") for v in (abs(values), sign * values))
        assert line["reason_size"] == line["sure_size"] == smallest(truth, Fraction(1))
        assert line["guarantee_lower"] == line["guarantee_upper"] == 1
        assert line["abs_shap_size"] == shortest(truth, by_size, Fraction(1))
        assert line["signed_shap_size"] == shortest(truth, by_sign, Fraction(1))
        exact = truth(by_size[: line["reason_size"]].tolist())
        assert Fraction(line["top_shap_guarantee_lower"]) <= exact
        assert exact <= Fraction(line["top_shap_guarantee_upper"])


@pytest.mark.parametrize("classes", [2, 3])
def test_certainty_along_an_order_takes_no_decision(classes: int, monkeypatch: pytest.MonkeyPatch):
    """How far certainty is along an order is a sum, whatever the law."""
    rng = np.random.default_rng(classes)
    weights = rng.standard_normal((classes, 30))
    model = (
        LinearModel(weights[0], 0.1) if classes == 2 else ArgmaxModel(weights, np.zeros(classes))
    )
    rows = rng.integers(0, 2, (4, 30))
    asked = []
    view = type(law_of(model).view(model.check_row(rows[0])))
    enclose = view.enclose

    def watched(self, fixed, delta=None, tol=1e-4):
        asked.append(delta)
        return enclose(self, fixed, delta, tol)

    monkeypatch.setattr(view, "enclose", watched)
    frame = compare(model, rows, delta=1).to_frame()
    assert set(asked) <= {None}
    for name in ("abs_shap_size", "signed_shap_size"):
        assert (frame["sure_size"] <= frame[name]).all()
        assert (frame[name] <= 30).all()


@pytest.mark.parametrize("d", [8, 40])
def test_no_set_of_that_size_beats_a_uniform_reason(d: int):
    """Over coins, the top SHAP features are never surer than the reason of the same size."""
    rng = np.random.default_rng(d)
    model = LinearModel(rng.standard_normal(d), 0.1)
    frame = compare(model, rng.integers(0, 2, (20, d))).to_frame()
    assert (frame["top_shap_guarantee_lower"] <= frame["guarantee_upper"]).all()
    assert (frame["reason_size"] <= frame["abs_shap_size"]).all()
    assert (frame["reason_size"] <= frame["signed_shap_size"]).all()
    assert (frame["reason_size"] <= frame["sure_size"]).all()


def test_prefixes_by_spectra_agree_with_one_by_one(monkeypatch: pytest.MonkeyPatch):
    """Forty features: the tables of many rows, and every set alone, find the same prefixes."""
    rng = np.random.default_rng(4)
    data = rng.random((200, 40)) < rng.uniform(0.1, 0.9, 40)
    weights = rng.standard_normal(40)
    model, law = LinearModel(weights, float(weights @ data.mean(axis=0))), Marginals.fit(data)
    together = compare(model, data[:6], law).to_frame()
    # Without spectra of all units every set is looked at alone.
    monkeypatch.setattr(TabledLaw, "follow_together", lambda _, rows, *__: rows[:, 0] | True)
    alone = compare(model, data[:6], law).to_frame()
    for name in ("abs_shap_size", "signed_shap_size"):
        assert together[name].tolist() == alone[name].tolist()
    assert (together["top_shap_guarantee_lower"] <= alone["top_shap_guarantee_upper"]).all()
    assert (alone["top_shap_guarantee_lower"] <= together["top_shap_guarantee_upper"]).all()


def test_rows_in_any_order_and_none_at_all():
    """Each row is compared by itself; a table may be empty."""
    model, data = small(0)
    whole = compare(model, data[:6], Background(data)).to_frame()
    turned = compare(model, data[:6][::-1], Background(data)).to_frame()
    pd.testing.assert_frame_equal(whole[::-1].reset_index(drop=True), turned)
    halves = [compare(model, part, Background(data)).to_frame() for part in (data[:2], data[2:6])]
    pd.testing.assert_frame_equal(whole, pd.concat(halves, ignore_index=True))
    empty = compare(model, data[:0], Background(data))
    assert (len(empty.to_frame()), list(empty.to_frame())[: len(COLUMNS)]) == (0, COLUMNS)
    assert empty.summary() == "0 rows, delta = 0.95, over replacement by 12 background rows."
    assert len(empty.features()) == 15
    plt.close(empty.plot())


def test_own_shap_values_are_taken():
    """An Explanation, an array, both outputs of two classes, and columns that units sum up."""
    model, data = small(1)
    law = Background(data)
    own = compare(model, data, law).shap_values
    for given in (
        own,
        shap.Explanation(own, np.zeros(12)),
        np.stack([-own, own], axis=2),
        model.weights * (data - data.mean(axis=0)),
    ):
        taken = compare(model, data, law, shap_values=given).shap_values
        np.testing.assert_allclose(taken, own, atol=1e-12)
    message = (
        "shap_values must have one value per row and feature, (12, 5), got shape (12, 3). Explain "
        "the same rows, and one output of the model."
    )
    with pytest.raises(InvalidInputError, match=f"^{re.escape(message)}$"):
        compare(model, data, law, shap_values=np.zeros((12, 3)))


def test_other_methods_are_scored_alike():
    """Sets by name or index get a size, a guarantee and an overlap."""
    model, data = small(2)
    found = compare(
        model, data[:2], Background(data), others={"Anchors": [["a", "job"], [0, 2, 3]]}
    )
    frame = found.to_frame()
    assert frame["Anchors_size"].tolist() == [2, 3]
    for i, s in enumerate(([0, 2], [0, 2, 3])):
        exact = truths(model, data[i], data, "joint")(s)
        assert Fraction(frame["Anchors_guarantee_lower"][i]) <= exact
        assert exact <= Fraction(frame["Anchors_guarantee_upper"][i])
    assert found.summary().split("\n")[-1].startswith("Anchors: 2.5 (median, 2 to 3) features")
    message = "others['Anchors'] must hold one set of features per row, 2, got 1."
    with pytest.raises(InvalidInputError, match=f"^{re.escape(message)}$"):
        compare(model, data[:2], Background(data), others={"Anchors": [[0]]})


def test_what_dependence_matters_is_told_if_asked_for():
    """Over background rows and over marginals there are two columns and a line more; else none."""
    model, data = small(4)
    for law, word, line in (
        (Background(data), "independent", "If the features were independent, the reasons'"),
        (Marginals.fit(data), "joint", "In the rows themselves, where features go together,"),
    ):
        plain, asked = (compare(model, data, law, dependence=d) for d in (False, True))
        more = [f"{word}_guarantee_lower", f"{word}_guarantee_upper"]
        assert list(plain.to_frame()) == COLUMNS + FLAGS
        assert list(asked.to_frame()) == [*COLUMNS, *FLAGS, *more]
        pd.testing.assert_frame_equal(plain.to_frame(), asked.to_frame()[COLUMNS + FLAGS])
        told = asked.summary().split("\n")
        assert plain.summary().split("\n") == told[:-1]
        assert told[-1].startswith(line)
    coins = compare(LinearModel([2.0, -1.0], 0.3), [[1, 0]], dependence=True)
    assert list(coins.to_frame()) == COLUMNS + FLAGS
    assert coins.summary().split("\n")[-1] == (
        "independent_guarantee is missing: uniform completions know of no rows whose features "
        "depend."
    )


def test_a_column_that_cannot_be_had_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """Where certainty is not proved, the others are told, with the reason, everywhere."""
    from sklearn_probsr.explain.jobs import Question

    answer = Question.answer

    def unsure(self: Question, *args: Any, **options: Any) -> Any:
        if self.options.delta == 1:
            raise UnreachableError("delta = 1 is not proved for row 0.")
        return answer(self, *args, **options)

    monkeypatch.setattr(Question, "answer", unsure)
    model, data = small(5)
    found = compare(model, data, Background(data))
    assert found.missing == {"sure_size": "delta = 1 is not proved for row 0."}
    frame = found.to_frame()
    assert list(frame) == COLUMNS + FLAGS
    assert frame["sure_size"].isna().all()
    assert not frame.drop(columns="sure_size").isna().any(axis=None)
    words = found.summary()
    assert "to be certain" not in words
    assert words.endswith("\nsure_size is missing: delta = 1 is not proved for row 0.")
    assert found.growth.levels == LEVELS[:-1]
    figure = found.plot()
    labels = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert labels == ["the reason", "by SHAP\ntowards the class", "by |SHAP|"]
    plt.close(figure)
    found.to_html(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "For certain</dt>" not in page
    assert "sure_size is missing: delta = 1 is not proved for row 0." in page
    assert '"sure":' not in page


def test_tables_words_and_files():
    """Features by class, Markdown and the notebook's view say the same."""
    model, data = small(3)
    found = compare(model, data, Background(data))
    features = found.features()
    everyone = features[features["class"] == "all"]
    assert everyone["in_reason"].tolist() == pytest.approx(found.mask.mean(axis=0).tolist())
    assert everyone["rank_by_shap"].min() == 1
    assert found.to_markdown(2).count("\n| ") == 4
    assert found.to_markdown(2).endswith("10 more rows.")
    assert "<table" in found._repr_html_()
    assert repr(found) == "Comparison(<12 rows, 5 features>)"
    figure = found.plot()
    assert figure.axes[1].get_ylabel() == "probability that the class is kept"
    plt.close(figure)


def test_markdown_shows_text_as_it_is():
    """HTML, bars, links and line ends in names and labels stay text in one cell."""
    names = ["<img src=x onerror=alert(1)>", "a|b\nc", "![x](http://example.org/x.png)"]
    model = LinearModel([5.0, 4.0, 3.0], 11.5, feature_names=names, classes=("R&D", "<b>yes</b>"))
    others = {"<i>LIME</i>": [[0]]}
    found = compare(model, [[1, 1, 1]], delta=0.9, others=others).to_markdown()
    head, line = found.split("\n\n| row ")
    cells = line.split("\n")[2].split(" | ")
    assert cells[:3] == [
        "| 0",
        "&lt;b&gt;yes&lt;/b&gt;",
        "&lt;img src=x onerror=alert(1)&gt;; a&#124;b c; ![x]&#40;http://example.org/x.png)",
    ]
    assert "\n&lt;i&gt;LIME&lt;/i&gt;: 1 (median" in head
    assert "\nBy |SHAP| one must show" in head
    assert "<" not in found


@pytest.mark.parametrize("law", [Uniform(), Product([0.2, 0.7, 0.5])])
def test_distributions_without_rows(law: Any):
    """Coins have a mean, and that is all that SHAP needs of them."""
    model = LinearModel([2.0, -1.0, 0.5], 0.3)
    found = compare(model, [[1, 0, 1], [0, 1, 1]], law, delta=0.6)
    mean = np.array([0.5] * 3 if isinstance(law, Uniform) else [0.2, 0.7, 0.5])
    rows = np.array([[1, 0, 1], [0, 1, 1]])
    np.testing.assert_allclose(found.shap_values, model.weights * (rows - mean), atol=1e-12)
    assert list(found.to_frame()) == COLUMNS + FLAGS


def test_true_classes_and_probabilities():
    """They stand beside what is predicted; what is not known is left out."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X, y = X.iloc[:60, :4], y[:60].map({0: "malignant", 1: "benign"})
    model = LogisticRegression(solver="newton-cholesky").fit(X, y)
    truth = y[:9].astype(object)
    truth.iloc[3] = np.nan
    found = compare(model, X[:9], X, y=truth)
    assert found.table["true_class"].tolist() == [*y[:3], None, *y[4:9]]
    each = dict(zip(model.classes_, model.predict_proba(X[:9]).T, strict=True))
    expected = [each[label][i] for i, label in enumerate(found.table["prediction"])]
    np.testing.assert_array_equal(found.table["probability"], expected)
    assert found.threshold == "class malignant from a predicted probability of 0.5 on"
    gaps = X[:9].copy()
    gaps.iloc[2, 0] = np.nan
    with pytest.warns(UserWarning, match="1 invalid"):
        holed = compare(model, gaps, X, y=truth)
    assert np.isnan(holed.table["probability"][2])
    assert holed.table["true_class"].tolist() == found.table["true_class"].tolist()
    for name in ("probability", "true_class"):
        assert name not in compare(LinearModel([1, 2], 1), [[1, 0]]).table
    with pytest.raises(InvalidInputError) as error:
        compare(model, X[:9], X, y=y[:8])
    assert str(error.value) == "y must hold the true class of each of the 9 rows, got shape (8,)."
    with pytest.raises(InvalidInputError) as error:
        compare(model, X[:2], X, y=[0, 1])
    assert str(error.value) == (
        "y must hold classes of the model, 'benign', 'malignant', got '0', '1'."
    )
