"""Frames of reasons: one line a row, of the same types whatever the rows are."""

import pickle
import re
import warnings
from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from sklearn_probsr import LinearModel, Marginals, Matching, SufficientReasonExplainer
from sklearn_probsr.exceptions import InvalidInputError
from tests.explained import classifier, explainer, mixed, people, tumours

COLUMNS = [
    "prediction", "reason", "reason_values", "reason_size", "guarantee_lower", "guarantee_upper",
    "minimality", "size_lower", "status", "message",
]  # fmt: skip


def broken() -> pd.DataFrame:
    """Return six rows under names of their own, of which the model takes four."""
    X = tumours()[0][400:406].set_axis(list("uvwxyz"))
    X.iloc[1, 2], X.iloc[4, 0] = np.nan, np.inf
    return X


def refused(message: str) -> Any:
    return pytest.raises(InvalidInputError, match=f"^{re.escape(message)}$")


def same(first: pd.DataFrame, second: pd.DataFrame) -> None:
    pd.testing.assert_frame_equal(first, second, check_exact=True)


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_jobs_share_a_frame(backend: str):
    """What they tell of its pieces is what one tells of the whole, under any index."""
    X = pd.concat([tumours()[0][400:490], broken()])
    X["n"] = pd.Categorical(np.arange(len(X)) % 3)
    twice = [("a", 1), ("a", 1), ("b", 2)]
    X.index = pd.MultiIndex.from_tuples(twice * 32, names=["l", "k"])
    alone = explainer().explain_frame(X, id_columns=["n"])
    with joblib.parallel_config(backend=backend, n_jobs=2):
        shared = explainer().explain_frame(X, id_columns=["n"])
    same(shared, alone)
    assert alone.index.equals(X.index)
    assert alone["status"].value_counts().to_dict() == {"ok": 94, "invalid": 2}


def test_a_line_for_every_row():
    """The frame says what the explanation does, under the index of the rows."""
    X = tumours()[0][400:420]
    found, told = explainer().explain_frame(X), explainer()(X)
    assert list(found.columns) == COLUMNS
    assert found.index.equals(X.index)
    table = told.to_frame()
    for name in set(COLUMNS) & set(table.columns) - {"reason"}:
        assert (found[name] == table[name]).all(), name
    assert found["reason"].tolist() == [list(names) for names in table["reason"]]
    assert (found["prediction"] == classifier().predict(X)).all()
    assert (found["size_lower"] == told.reasons.size_lower).all()
    for i, values in enumerate(found["reason_values"]):
        pairs = zip(found["reason"].iloc[i], values, strict=True)
        assert tuple(f"{name} = {value}" for name, value in pairs) == told.reasons[i].facts


def test_values_are_as_people_read_them():
    """A bin, a category, a gap and a number, each without the name of its feature."""
    X = people()[0].head(40)
    one = SufficientReasonExplainer(mixed(), X)
    found, told = one.explain_frame(X), one(X).reasons
    seen = set()
    for i, (names, values) in enumerate(zip(found["reason"], found["reason_values"], strict=True)):
        for name, value, fact in zip(names, values, told[i].facts, strict=True):
            assert fact.startswith(name)
            assert fact.endswith(value)
            assert name not in value
            seen.add(value)
    assert {"< 33", "nurse", "missing", "no"} <= seen


def test_bad_rows_stop_nothing():
    """Whatever on_error is, they are flagged without a warning, and the others are as alone."""
    X, fine = broken(), [0, 2, 3, 5]
    for on_error in ("flag", "raise"):
        one = SufficientReasonExplainer(classifier(), tumours()[0][:60], on_error=on_error)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = one.explain_frame(X)
        same(found.iloc[fine], one.explain_frame(X.iloc[fine]))
        bad = found.iloc[[1, 4]]
        assert (bad["status"] == "invalid").all()
        assert bad["message"].tolist() == [
            f"X must hold finite numbers, got {what} in column {name!r}. Fill in or drop "
            "what is missing."
            for what, name in (("nan", X.columns[2]), ("inf", X.columns[0]))
        ]
        assert bad["prediction"].isna().all()
        assert bad["minimality"].isna().all()
        assert bad["reason"].tolist() == bad["reason_values"].tolist() == [[], []]
    strict = SufficientReasonExplainer(
        classifier(), tumours()[0][:60], delta=1.0, exclude=list(X.columns[:25]), on_error="raise"
    )
    assert set(strict.explain_frame(X)["status"]) == {"unreachable", "invalid"}


@pytest.mark.parametrize(
    ("labels", "dtype", "arrow", "ddl"),
    [
        (["no", "yes"], "string", pa.string(), "STRING"),
        ([0, 1], "Int64", pa.int64(), "BIGINT"),
        ([False, True], "boolean", pa.bool_(), "BOOLEAN"),
        ([0.0, 1.0], "float64", pa.float64(), "DOUBLE"),
        ([1, 2, 7], "Int64", pa.int64(), "BIGINT"),
    ],
)
def test_types_never_depend_on_the_rows(labels: list[Any], dtype: str, arrow: Any, ddl: str):
    """No rows, only bad ones, some of each: the types are those of the schema, in every dialect."""
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.normal(size=(60, 3)), columns=["a", "b", "c"])
    model = LogisticRegression().fit(X, np.array(labels)[np.arange(60) % len(labels)])
    one = SufficientReasonExplainer(model, X[:20], delta=0.7)
    schema = one.schema
    assert (len(schema), list(schema.columns)) == (0, COLUMNS)
    assert schema.dtypes["prediction"] == dtype
    bad = X[:2].assign(a=np.nan)
    types = one.arrow_schema()
    assert types.field("prediction").type == arrow
    assert types.field("reason").type == pa.list_(pa.string())
    for part in (X[:0], bad, X[:5], pd.concat([X[:3], bad])):
        found = one.explain_frame(part)
        assert found.dtypes.equals(schema.dtypes)
        table = pa.Table.from_pandas(found, types, preserve_index=False)
        assert table.schema.equals(types)
    assert (found["prediction"][:3] == model.predict(X[:3])).all()
    assert one.spark_schema() == (
        f"prediction {ddl}, reason ARRAY<STRING>, reason_values ARRAY<STRING>, reason_size BIGINT, "
        "guarantee_lower DOUBLE, guarantee_upper DOUBLE, minimality STRING, size_lower BIGINT, "
        "status STRING, message STRING"
    )


def test_ids_are_carried_along():
    """Before the others and as they are, wherever they stand; they are no features."""
    X = broken()
    when = pd.date_range("2026-01-01", periods=6, tz="UTC")
    ids = pd.DataFrame({"my id": [3, 1, 2, 3, 9, 9], "when": when, "who": list("abcdef")}, X.index)
    wide = pd.concat([ids[["who"]], X.iloc[:, ::-1], ids[["my id", "when"]]], axis=1)
    names = ["my id", "who", "when"]
    found = explainer().explain_frame(wide, id_columns=names)
    same(found[names], wide[names])
    same(found.drop(columns=names), explainer().explain_frame(X))
    types = wide[names].dtypes
    empty = explainer().pandas_schema(types)
    assert empty.dtypes.equals(found.dtypes)
    assert explainer().explain_frame(wide[:0], id_columns=names).dtypes.equals(found.dtypes)
    schema = explainer().arrow_schema(types)
    assert pa.Table.from_pandas(found, schema, preserve_index=False).num_rows == 6
    assert explainer().spark_schema(types).startswith("`my id` BIGINT, who STRING, when TIMESTAMP,")
    assert (
        explainer()
        .spark_schema({"n": object, "m": "datetime64[us]"})
        .startswith("n STRING, m TIMESTAMP_NTZ, prediction")
    )
    # One that is a feature as well is both.
    name = X.columns[0]
    both = explainer().explain_frame(X, id_columns=[name])
    same(both.drop(columns=name), explainer().explain_frame(X))


def test_models_without_names_and_texts():
    """What is no id is taken by its place, and the only other column holds the texts."""
    X = tumours()[0][400:404]
    one = SufficientReasonExplainer(LinearModel([2.0, -1.0, 1.0], 0.5))
    rows = X.iloc[:, :3].to_numpy()
    frame = pd.DataFrame(rows, columns=list("abc"))
    frame.insert(1, "who", list("abcd"))
    found = one.explain_frame(frame, id_columns=["who"])
    same(found.drop(columns="who"), one.explain_frame(rows))
    same(one.explain_frame(pa.table(frame[["a", "b", "c"]])), one.explain_frame(rows))
    texts = ["oil barrel price", "wheat harvest price", "oil opec", "wheat tonnes"] * 5
    words = make_pipeline(CountVectorizer(binary=True), LogisticRegression())
    told = SufficientReasonExplainer(words.fit(texts, [0, 1, 0, 1] * 5), texts)
    wires = pd.DataFrame({"id": range(4), "wire": texts[:4]})
    found = told.explain_frame(wires, id_columns=["id"])
    same(found.drop(columns="id"), told.explain_frame(wires["wire"]))
    assert found["reason_values"][0] == ['"oil"', 'no "wheat"']
    with refused("X must have one column, of texts, beside those in id_columns, got 'id', 'wire'."):
        told.explain_frame(wires)


def test_what_cannot_be_asked():
    """Every wrong argument is refused in a sentence."""
    X, one = broken(), explainer()
    with refused("id_columns must be a list of names, got 'who'. Write ['customer'] for one."):
        one.explain_frame(X, id_columns="who")
    with refused(
        "id_columns names 'who', which X must have once. Its columns are 'a', 'b'; its index is "
        "kept in any case."
    ):
        one.explain_frame(pd.DataFrame({"a": [1], "b": [2]}), id_columns=["who"])
    with refused("id_columns names 'who', and X has no names of columns. Pass a DataFrame."):
        one.explain_frame(X.to_numpy(), id_columns=["who"])
    taken = "id_columns must not name 'reason', which is a column of the result. Rename it in X."
    with refused(taken):
        one.explain_frame(X.assign(reason=1), id_columns=["reason"])
    with refused(taken):
        one.arrow_schema({"reason": "int64"})
    with refused(
        "id_columns of a schema must map each name to its type in pandas, as "
        "X[['customer']].dtypes or {'customer': 'int64'} does, got ['who']."
    ):
        one.spark_schema(["who"])
    with refused(
        "id_columns: Spark has no type for 'n', which is uint64. Make it a text or a number first."
    ):
        one.spark_schema({"n": "uint64"})
    with refused(
        "frames must be an iterable of frames, got one DataFrame. Pass it to explain_frame, or "
        "[frame]."
    ):
        one.explain_iter(X)
    name = X.columns[3]
    listed = ", ".join(repr(column) for column in X.columns[[0, 1, 2, 4, 5, 6, 7, 8]])
    with refused(
        "X must have the columns that the estimator was fitted with, it lacks "
        f"{name!r}. It has {listed}, ... (29 in all)."
    ):
        one.explain_frame(X.drop(columns=name))


LAWS = {
    "rows": explainer,
    "marginals": lambda: SufficientReasonExplainer(
        classifier(), Marginals.fit(tumours()[0][:60]), delta=0.9
    ),
    "uniform": lambda: SufficientReasonExplainer(classifier(), delta=0.9),
    "matching": lambda: SufficientReasonExplainer(
        classifier(), Matching(tumours()[0][:60]), delta=0.8
    ),
}


@pytest.mark.parametrize("law", LAWS)
def test_pieces_of_any_size_in_any_order(law: str):
    """A row's line is the same whatever rows came with it or before it, also in a copy."""
    one, X = LAWS[law](), tumours()[0][400:424]
    whole = one.explain_frame(X)
    rng = np.random.default_rng(2)
    copy = pickle.loads(pickle.dumps(one))
    for cuts in ([7], [1, 2, 20], [12, 12]):
        mixed_up = X.iloc[rng.permutation(len(X))]
        parts = [mixed_up.iloc[a:b] for a, b in zip([0, *cuts], [*cuts, len(X)], strict=True)]
        same(pd.concat([copy.explain_frame(part) for part in parts]).loc[X.index], whole)


@pytest.mark.parametrize("backend", ["loky", "threading", "multiprocessing"])
def test_frames_one_after_the_other(backend: str):
    """The frames of an iterator are read as they are needed, and told in their order."""
    X = tumours()[0][400:430]
    sizes = [3, 0, 1, 5, 2, 2, 4, 1, 1, 1, 6, 4]
    ends = np.cumsum(sizes)
    parts = [X.iloc[end - n : end].assign(n=n) for n, end in zip(sizes, ends, strict=True)]
    read: list[int] = []

    def frames() -> Iterator[pd.DataFrame]:
        for k, part in enumerate(parts):
            read.append(k)
            yield part

    expected = [explainer().explain_frame(part, id_columns=["n"]) for part in parts]
    context = joblib.parallel_config(backend=backend, n_jobs=2)
    for n_jobs, where, most in ((1, nullcontext(), 1), (2, context, 8), (None, context, 8)):
        read.clear()
        with where:
            told = explainer().explain_iter(frames(), n_jobs=n_jobs, id_columns=["n"])
            assert read == []
            first = next(told)
            assert len(read) <= most
            for found, wanted in zip([first, *told], expected, strict=True):
                same(found, wanted)
    if backend == "threading":  # who stops reading leaves no work behind
        with context:
            told = explainer().explain_iter([X] * 6)
            next(told)
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", ".*have been cancelled")  # joblib says so
                told.close()
            assert len(list(explainer().explain_iter([X, X]))) == 2


def test_what_is_no_table_is_told_so():
    """Also in the middle of many frames, and where a column comes twice."""
    X = tumours()[0][:2]
    with pytest.raises(InvalidInputError, match=r"^X must have two dimensions"):
        explainer().explain_frame(3)
    with pytest.raises(InvalidInputError, match=r"^X must have two dimensions"):
        list(explainer().explain_iter([X, 3]))
    frame = people()[0][:2]
    twice = pd.concat([frame, frame[[frame.columns[0]]]], axis=1)
    with refused(f"X must have every column once, it has {frame.columns[0]!r} 2 times."):
        SufficientReasonExplainer(mixed(), people()[0]).explain_frame(twice)
