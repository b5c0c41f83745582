"""The index of a frame goes along with its rows, through all that can be done to them."""

import json
import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from sklearn_probsr import (
    LinearModel,
    ReasonExplanation,
    SufficientReasonExplainer,
    compare,
    reason_codes,
)
from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.explain.frames._row_index import built_index
from sklearn_probsr.results.codec import UnsoundError
from sklearn_probsr.results.files import INDEX
from tests.explained import same_reasons

MODEL = LinearModel([5.0, 1.0, -3.0, 2.0, -1.0], 2.5)
N = 12


def rows() -> np.ndarray:
    return np.random.default_rng(0).integers(0, 2, (N, 5)).astype(float)


def indices() -> dict[str, pd.Index]:
    """Return indices of all kinds."""
    days = pd.date_range("2024-01-01", periods=N, freq="D")
    return {
        "texts": pd.Index([f"person {i}" for i in range(N)], name="id"),
        "twice": pd.Index([7, 3] * (N // 2)),
        "downward": pd.RangeIndex(50, 50 - N, -1, name="k"),
        "floats": pd.Index(np.linspace(0.1, 1, N)),
        "truths": pd.Index([True, False] * (N // 2)),
        "days": days,
        "seconds": days.as_unit("s"),
        "zone": days.tz_localize("Europe/Berlin"),
        "hours": pd.timedelta_range("1h", periods=N),
        "gaps": pd.Index([None, "a", 3] * (N // 3), dtype=object),
        "levels": pd.MultiIndex.from_arrays(
            [days, ["a", "b", "b"] * (N // 3), range(N)], names=["day", None, "n"]
        ),
    }


def alike(found: pd.Index, expected: pd.Index) -> bool:
    """Whether two indices have the same labels, types and names; a frequency is none of these."""
    return (
        found.equals(expected)
        and list(found.names) == list(expected.names)
        and [level.dtype for level in levels(found)] == [level.dtype for level in levels(expected)]
    )


def levels(index: pd.Index) -> list[pd.Index]:
    return [index.get_level_values(k) for k in range(index.nlevels)]


def frame(index: pd.Index) -> pd.DataFrame:
    return pd.DataFrame(rows(), columns=list("abcde"), index=index)


@pytest.mark.parametrize("kind", indices())
def test_tables_line_up_with_the_frame(kind: str, tmp_path: Path):
    """The index survives slices, masks, copies, pickles, files, and both tables."""
    index = indices()[kind]
    model = LinearModel(MODEL.weights, 2.5, feature_names=list("abcde"))
    found = SufficientReasonExplainer(model)(frame(index))
    assert alike(found.to_frame().index, index)
    inside = found.reason_size == found.reason_size.max()
    for part, at in (
        (found[2:9], np.arange(2, 9)),
        (found[inside], np.flatnonzero(inside)),
        (found[[5, 1]], np.array([5, 1])),
        (found[4], np.array([4])),
        (found.as_guarantee()[3:5], np.array([3, 4])),
        (found.of_prediction()[::2], np.arange(0, N, 2)),
    ):
        part.save(tmp_path / "part.npz")
        for one in (part, pickle.loads(pickle.dumps(part)), ReasonExplanation.load(
            tmp_path / "part.npz"
        )):  # fmt: skip
            assert alike(one.to_frame().index, index[at])
            assert list(one.index) == list(index[at])
    compared = compare(model, frame(index))
    assert alike(compared.to_frame().index, index)
    assert len(compared.index) == N


@pytest.mark.parametrize("kind", indices())
def test_rows_are_found_by_place_and_by_label(kind: str):
    """Brackets take places and loc takes labels, of all that has one thing for each row."""
    index = indices()[kind]
    model = LinearModel(MODEL.weights, 2.5, feature_names=list("abcde"))
    explainer = SufficientReasonExplainer(model)
    X = frame(index)
    found = explainer(X, alternatives=True)
    expected = pd.Series([found.describe(i) for i in range(N)], index=index)
    places = pd.Series(np.arange(N), index=index)
    every = [
        found.alternatives, explainer.guarantee_curve(X), explainer.breaking_sets(X), found.rules(X)
    ]  # fmt: skip
    for label in (index[3], index[7]):
        one, at = found.loc[label], places.loc[label]
        if np.ndim(at) == 0:
            assert one.describe() == expected.loc[label]
            assert found[3:].loc[index[7]].describe() == expected.loc[index[7]]
            assert one.loc[label].describe() == one.describe()
            assert all(rows.loc[label] is rows[int(at)] for rows in every)
        else:  # more than one is called so
            assert [one.describe(k) for k in range(len(at))] == list(expected.loc[label])
            assert all(list(rows.loc[label]) == [rows[i] for i in at] for rows in every)
    two = [index[5], index[1]]
    if index.dtype != bool:  # a list of these is a mask
        some = found.loc[two]
        assert list(some.index) == list(places.loc[two].index)
        assert [some.describe(k) for k in range(len(some))] == list(expected.loc[two])
    assert len(every[0].loc[(found.reason_size > 1)]) == (found.reason_size > 1).sum()


def test_a_label_that_no_row_has_is_told():
    """With one that there is, and with the other way."""
    found = SufficientReasonExplainer(MODEL)(rows())
    for some, wrong, first in ((found[2:5], 7, ", such as 2"), (found[:0], "x", "")):
        message = (
            f"loc takes what a row is called{first}, got {wrong!r}. A row is found by its place, "
            f"0 to {len(some.index) - 1}, without loc: [0]."
        )
        if not len(some.index):
            message = "loc takes what a row is called, and there are no rows, got 'x'."
        with pytest.raises(InvalidInputError, match=f"^{re.escape(message)}$"):
            some.loc[wrong]


def test_a_label_in_brackets_is_told_the_other_way():
    """Of all that has one thing for each row; a place that there is not is an IndexError."""
    X = frame(indices()["texts"])
    explainer = SufficientReasonExplainer(
        LinearModel(MODEL.weights, 2.5, feature_names=list("abcde"), classes=("no", "yes"))
    )
    found = explainer(X, alternatives=True)
    codes = reason_codes(found, dict.fromkeys("abcde", ("R1", "Because")), adverse="no")
    every = [
        found.alternatives, explainer.guarantee_curve(X), explainer.breaking_sets(X), found.rules(X)
    ]  # fmt: skip
    for rows, way in (
        *((each, "loc[label]") for each in (*every, codes)),
        (found.reasons, "loc[label] of an explanation"),
    ):
        for label in ("person 3", ["person 3", "person 4"], pd.Timestamp("2024-01-01")):
            message = (
                f"brackets take the place of a row, 0 to {len(rows) - 1}, got {label!r}. A row by "
                f"its label is {way}."
            )
            with pytest.raises(InvalidInputError, match=f"^{re.escape(message)}$"):
                rows[label]
        with pytest.raises(IndexError):
            rows[N]
    message = "brackets take the place of a row, of which there is none, got 'x'. A row by its "
    with pytest.raises(
        InvalidInputError, match=f"^{re.escape(message)}label is loc\\[label\\]\\.$"
    ):
        every[0][:0]["x"]


def test_describe_names_both_ways():
    """A place that no row has, where rows have labels, may be meant as one."""
    found = SufficientReasonExplainer(MODEL)(rows())
    message = "describe takes the place of a row, 0 to 2, got 30."
    for some, more in ((found[:3], ""), (found[2:5], " A row by its label is loc[label].")):
        with pytest.raises(InvalidInputError, match=f"^{re.escape(message + more)}$"):
            some.describe(30)


def test_rows_without_names_are_numbered():
    """Arrays and polars frames get the numbers of their rows, and a slice keeps them."""
    polars = pytest.importorskip("polars")
    explainer = SufficientReasonExplainer(MODEL)
    for X in (rows(), rows().tolist(), polars.DataFrame(rows(), schema=list(MODEL.feature_names))):
        found = explainer(X)
        assert found.to_frame().index.equals(pd.RangeIndex(N))
        assert list(found[3:5].to_frame().index) == [3, 4]
        assert list(compare(MODEL, X).index) == list(range(N))


def test_single_rows_and_texts_have_their_names():
    """A row of a frame is called by its label, and so is a text of a series."""
    model = LinearModel(MODEL.weights, 2.5, feature_names=list("abcde"))
    one = SufficientReasonExplainer(model)(frame(indices()["texts"]).iloc[2])
    assert list(one.to_frame().index) == ["person 2"]
    assert one[0].to_frame().index.tolist() == ["person 2"]
    texts = pd.Series(["good film", "bad film", "good"], index=["x", "y", "y"])
    words = make_pipeline(CountVectorizer(binary=True), LogisticRegression()).fit(texts, [1, 0, 1])
    assert list(SufficientReasonExplainer(words)(texts).to_frame().index) == ["x", "y", "y"]


def test_one_behind_the_other():
    """Explanations of one explainer can be put behind each other, and are as if found together."""
    explainer = SufficientReasonExplainer(MODEL)
    X = frame(indices()["levels"]).set_axis(list(MODEL.feature_names), axis=1)
    whole = explainer(X)
    parts = [explainer(X[:4]), explainer(X[4:5])[0], whole[5:]]
    joined = ReasonExplanation.concatenate(parts)
    assert same_reasons(joined, whole)
    pd.testing.assert_frame_equal(joined.to_frame(), whole.to_frame())
    numbered = ReasonExplanation.concatenate([explainer(rows()), explainer(rows())])
    assert list(numbered.index) == list(range(2 * N))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda r: [], "concatenate takes a list of at least one ReasonExplanation, got 'list'."),
        (lambda r: [r, 3], "concatenate takes a list of at least one ReasonExplanation, got "
         "ReasonExplanation, int."),
        (lambda r: r, "concatenate takes a list of at least one ReasonExplanation, got "
         "'ReasonExplanation'."),
        (lambda r: [r, SufficientReasonExplainer(MODEL, delta=0.8)(rows())],
         "concatenate takes explanations of one explainer, these differ in the delta."),
        (lambda r: [r, SufficientReasonExplainer(MODEL, rows())(rows())],
         "concatenate takes explanations of one explainer, these differ in the distribution."),
        (lambda r: [r, r.as_guarantee()],
         "concatenate takes explanations of one explainer, these differ in the unit of the "
         "values."),
    ],
)  # fmt: skip
def test_different_things_are_not_put_behind_each_other(make: Any, message: str):
    """What does not belong together is told apart."""
    found = SufficientReasonExplainer(MODEL)(rows())
    with pytest.raises(InvalidInputError, match=f"^{re.escape(message)}$"):
        ReasonExplanation.concatenate(make(found))


def test_what_json_has_no_value_for_becomes_text():
    """Periods and categories keep their words; the labels are still one for each row."""
    for index, expected in (
        (pd.period_range("2024-01", periods=3, freq="M"), ["2024-01", "2024-02", "2024-03"]),
        (pd.CategoricalIndex(["b", "a", "b"]), ["b", "a", "b"]),
        (pd.Index([(1, 2), "a", None], dtype=object), ["(1, 2)", "a", None]),
    ):
        told = json.loads(json.dumps(INDEX.write(index)))
        assert built_index(INDEX.read(told, "index", {"n": 3})).astype(object).tolist() == expected


@pytest.mark.parametrize(
    ("levels", "message"),
    [
        ([], "index must have a name for each of at least one level"),
        ([("int64", [1, 2, 3])] * 2, "index must have a name for each of at least one level"),
        ([("int63", [1, 2, 3])], "the kind of a level of the index is unknown, 'int63'"),
        ([(3, [1, 2, 3])], "index.levels.kind must be a text of whole characters, got 3"),
        ([("int64", [1, 2])], "index.levels[0] must hold 3 values, got 2"),
        ([("int64", [1, 2, "x"])], "index.levels[0] must be a whole number from "
         "-9223372036854775808 to 18446744073709551616, got 'x'"),
        ([("float64", [1.0, 2.0, None])], "index.levels[0] must be a number, got None"),
        ([("bool", [True, False, 1])], "index.levels[0] must be true or false, got 1"),
        ([("any", ["a", "b", ["c"]])],
         "index.levels[0] must be a text, a number or null, got ['c']"),
        ([("range", [0, 10**9, 1])], "index.levels[0] must have 3 labels, got 1000000000"),
    ],
)  # fmt: skip
def test_labels_from_a_file_are_checked(levels: list[Any], message: str):
    """Whatever a file says of its index, it is labels of its rows, or it is told what is wrong."""
    told = {"names": ["a"], "levels": [{"kind": k, "values": v} for k, v in levels]}
    with pytest.raises(UnsoundError, match=f"^{re.escape(message)}$"):
        INDEX.read(told, "index", {"n": 3})
