"""Alternatives and breaking sets of rows as they come."""

import pickle
from dataclasses import replace
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from sklearn_probsr import LinearModel, SufficientReasonExplainer, Unit, alternatives
from sklearn_probsr.exceptions import InvalidInputError


@pytest.fixture(scope="module")
def jobs():
    """A Pipeline on a frame with an index of its own, and its explainer."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "job": rng.choice(["nurse", "clerk", "cook"], 40),
            "age": rng.integers(20, 60, 40),
            "pay": rng.integers(1, 9, 40),
        },
        index=[f"row {i}" for i in range(40)],
    )
    y = (X["job"] == "nurse") * 2 + X["age"] / 20 + X["pay"] / 3 > 4
    steps = make_column_transformer((OneHotEncoder(), ["job"]), (StandardScaler(), ["age", "pay"]))
    model = make_pipeline(steps, LogisticRegression(C=5)).fit(X, y)
    return X, SufficientReasonExplainer(model, X, delta=0.9)


def test_every_reason_has_what_is_necessary_and_hits_what_breaks(jobs):
    """Rows of a Pipeline have alternatives by raw column, and breaking sets that reasons hit."""
    X, explainer = jobs
    reasons = explainer(X[:12])
    others, broken = explainer.alternatives(X[:12]), explainer.breaking_sets(X[:12])
    frame, breaking = others.to_frame(), broken.to_frame()
    assert list(frame.index) == list(breaking.index) == list(X.index[:12])
    assert list(frame.columns) == ["size", "minimality", "necessary", "possible", "undecided"]
    for i in range(12):
        own = set(reasons.to_frame()["reason"].iloc[i])
        assert set(frame["necessary"].iloc[i]) <= own <= set(frame["possible"].iloc[i])
        assert (own & set(breaking["features"].iloc[i])) or not own
        for features in others[i].reasons:
            bounds = explainer.guarantee(X[i : i + 1], list(features))
            assert bounds["upper"].iloc[0] >= 0.9
    assert list(others[2:4].to_frame().index) == list(X.index[2:4])


def test_a_bad_row_is_none_and_the_others_are_answered(jobs):
    """One row that the model cannot take is flagged by a warning, with None for an answer."""
    X, explainer = jobs
    bad = X[:3].copy()
    bad["age"] = bad["age"].astype(float)
    bad.loc["row 1", "age"] = np.inf
    with pytest.warns(UserWarning, match="1 of 3 rows"):
        found = explainer.alternatives(bad)
    assert [one is None for one in found] == [False, True, False]
    assert found.to_frame()["possible"].iloc[1] == []
    with pytest.warns(UserWarning, match="1 of 3 rows"):
        assert explainer.breaking_sets(bad)[1] is None


def test_samples_prove_nothing():
    """An explainer that samples says that it cannot answer."""
    explainer = SufficientReasonExplainer(([1.0, 2.0], -1.0), method="monte-carlo", seed=0)
    with pytest.raises(
        InvalidInputError,
        match=r"^only method='certified' proves what such an answer says, got 'monte-carlo'\.$",
    ):
        explainer.alternatives([[1, 1]])


def test_an_outlook_of_raw_cells(jobs):
    """Cells that are marked are unknown, and telling them in raw values ends at the prediction."""
    X, explainer = jobs
    rows = X[:4].astype(object).copy()
    rows.loc["row 0", "job"] = "?"
    rows.loc["row 1", ["job", "age"]] = "?"
    found = explainer.outlook(rows, unknown="?")
    frame = found.to_frame()
    assert list(frame.index) == list(X.index[:4])
    assert [one.unknown for one in found] == [("job",), ("job", "age"), (), ()]
    assert list(frame["prediction"][2:]) == list(explainer.model.predict(X[2:4]))
    seen = found[1].tell("job", X.loc["row 1", "job"]).tell("age", X.loc["row 1", "age"])
    assert seen.settled
    assert seen.prediction == explainer.model.predict(X[1:2])[0]
    by_column = explainer.outlook(X[:2], unknown=["age"])
    kept = explainer.guarantee(X[:2], ["job", "pay"])
    for i in range(2):
        own = by_column[i].probability(explainer.model.predict(X[i : i + 1])[0])
        assert own.lower == kept["lower"].iloc[i]
    shuffled = X[:2][["pay", "age", "job"]]
    assert str(explainer.outlook(shuffled, unknown=["age"])[0]) == str(by_column[0])
    rows = sparse.csr_array(np.eye(4)[[0, 1, 2, 3, 0]])
    pair = SufficientReasonExplainer(([1.0, 2.0, -1.0, 0.5], -0.4), rows)
    assert pair.outlook(rows[[1]], unknown=["x0"])[0].prediction == 1
    with pytest.raises(
        InvalidInputError,
        match=r"^unknown names a column that the model does not have, 'agee'\. It has 'job', "
        r"'age', 'pay'\.$",
    ):
        explainer.outlook(X[:2], unknown=["agee"])


def test_outlooks_of_rows_as_people_have_them(jobs):
    """Mappings, columns that are left out, text beside a marker, and an explainer from a file."""
    X, explainer = jobs
    expected = str(explainer.outlook(X[:1], unknown=["job"])[0])
    known = X.drop(columns="job")
    read = X[:1].astype(str).assign(job="?")
    for asked in (known[:1], known.iloc[0].to_dict(), [known.iloc[0].to_dict()], known.iloc[0]):
        assert str(explainer.outlook(asked, unknown=["job"])[0]) == expected
    assert str(explainer.outlook(read, unknown="?")[0]) == expected
    again = pickle.loads(pickle.dumps(explainer)).outlook(X[:1], unknown=["job"])[0]
    assert str(again) == expected
    assert again.tell("job", X["job"].iloc[0]).prediction == explainer.model.predict(X[:1])[0]
    with pytest.raises(
        InvalidInputError,
        match=r"^unknown = 'job' is what marks unknown cells, and no cell holds it\. To name the "
        r"feature, write unknown=\['job'\]\.$",
    ):
        explainer.outlook(X[:1], unknown="job")
    with pytest.raises(
        InvalidInputError, match=r"^X must have the model's columns, it lacks 'pay'\.$"
    ):
        explainer.outlook(X[["age"]], unknown=["job"])
    bad = X[:3].astype({"age": float})
    bad.loc["row 1", "age"] = np.inf
    with pytest.warns(UserWarning, match="1 of 3 rows"):
        found = explainer.outlook(bad, unknown=["job"])
    assert [one is None for one in found] == [False, True, False]
    assert found.to_frame()["prediction"].isna().tolist() == [False, True, False]
    empty = explainer.outlook(X[:0], unknown=["job"]).to_frame()
    assert list(empty) == list(found.to_frame())
    mixed = SufficientReasonExplainer(([3.0, 2.0, -2.0], -1.5)).outlook([[1, "?", 0]], unknown="?")
    assert mixed[0].unknown == ("x1",)


def test_a_feature_of_several_columns_is_unknown_if_one_of_them_is(jobs):
    """Groups, and units of several columns, by their own names and by those of their columns."""
    X, explainer = jobs
    groups = {"work": ["job", "pay"]}
    together = SufficientReasonExplainer(explainer.model, X, delta=0.9, groups=groups)
    kept = together.guarantee(X[:1], ["age"])["lower"].iloc[0]
    marked = X[:1].astype(object).assign(pay="?")
    asked = [together.outlook(X[:1], unknown=[name])[0] for name in ("work", "job", "pay")]
    asked.append(together.outlook(marked, unknown="?")[0])
    for seen in asked:
        assert seen.unknown == ("work",)
        assert seen.probability(explainer.model.predict(X[:1])[0]).lower == kept
    own = X.iloc[0][["job", "pay"]]
    for value in (own.tolist(), own.to_dict()):
        told = seen.tell("work", value)
        assert told.settled
        assert told.prediction == explainer.model.predict(X[:1])[0]
    with pytest.raises(
        InvalidInputError,
        match=r"^value must hold one value for each column of 'work', 'job', 'pay', got 'cook'\.$",
    ):
        seen.tell("work", "cook")
    unit = Unit("c", (0, 1), ((1, 0), (0, 1)))
    model = LinearModel([2, -1, 1], 0.5, units=[unit, Unit.real("a", 2)], feature_names=list("pqa"))
    direct = SufficientReasonExplainer(model, [[1, 0, 0.5], [0, 1, 2.0], [1, 0, -1.0]])
    for name in ("c", "p", "q"):
        assert direct.outlook([[1, 0, 0.5]], unknown=[name])[0].unknown == ("c",)


@pytest.mark.parametrize("masker", ["uniform", "rows"])
def test_only_what_may_be_chosen_is_said_of(masker):
    """With supporting_only the words speak of sets of supporting facts, and of no others."""
    rng = np.random.default_rng(3)
    rows = rng.integers(0, 2, (40, 6))
    model = LinearModel([5, 1, -3, 2, -1, 4], threshold=4)
    explainer = SufficientReasonExplainer(
        model, None if masker == "uniform" else rows, delta=0.8, supporting_only=True
    )
    law = explainer.law
    for i, found in enumerate(explainer.alternatives(rows[:6])):
        if found is None:
            continue
        task = law.within(law.model.check_rows(rows[i : i + 1]), found.decision.options.task(model))
        allowed = set(np.flatnonzero(task.allowed[0]).tolist())
        view = law.view(model.check_row(rows[i]))
        sets = [set(s) for k in range(7) for s in combinations(sorted(allowed), k)]
        good = [s for s in sets if (view.enclose(s) >= 0.8).value]
        least = [s for s in good if len(s) == min(map(len, good))]
        assert set(found.possible) == set().union(*least)
        assert set(found.necessary) == set.intersection(*least)
        assert {frozenset(s) for s in found.reasons} == set(map(frozenset, least))
        asked = alternatives(
            model, rows[i], delta=0.8, distribution=explainer.distribution, supporting_only=True
        )
        assert (asked.necessary, asked.possible) == (found.necessary, found.possible)
        assert list(asked.reasons) == list(found.reasons)


@pytest.fixture(scope="module")
def told(jobs):
    """Reasons that were asked for their alternatives."""
    X, explainer = jobs
    return explainer(X[:12], alternatives=True)


def test_sentences_tell_what_every_reason_needs(jobs, told):
    """Asked for alternatives, a sentence has a second one, through slices, pickles and views."""
    X, explainer = jobs
    plain, others = explainer(X[:12]), explainer.alternatives(X[:12])
    assert plain.alternatives is None
    for i in range(12):
        expected = f"{plain.describe(i)} {others[i].words(sized=False)}"
        assert told.describe(i) == told[i].describe() == told[[3, i]].describe(1) == expected
        assert expected.count("Every reason of this size needs ") == 1
    assert told.alternatives.to_frame().equals(others.to_frame())
    assert "Every reason of this size needs" in told[0]._repr_html_()
    assert "Every reason of this size needs" not in plain[0]._repr_html_()
    again = pickle.loads(pickle.dumps(told[4:6]))
    assert [again.describe(k) for k in (0, 1)] == [told.describe(i) for i in (4, 5)]
    assert told[4:6].as_guarantee().describe(1) == told.describe(5)
    joined = type(told).concatenate([told[:2], told[7:8]])
    assert joined.describe(2) == told.describe(7)
    assert type(told).concatenate([told[:2], plain[7:8]]).describe(0) == plain.describe(0)


def test_flagged_rows_and_sparse_ones_have_words_of_their_own(jobs):
    """A row that is flagged has no second sentence; rows that are sparse keep theirs."""
    X, explainer = jobs
    bad = X[:3].astype({"age": float})
    bad.loc["row 1", "age"] = np.inf
    with pytest.warns(UserWarning, match="1 of 3 rows"):
        found = explainer(bad, alternatives=True)
    assert found.alternatives[1] is None
    assert found.describe(1).startswith("No class, no reason")
    assert "Every reason" in found.describe(2)
    rng = np.random.default_rng(0)
    rows = sparse.csr_array((rng.random((60, 40)) < 0.1).astype(float))
    model = LogisticRegression().fit(rows, np.asarray(rows[:, [0]].todense()).ravel() > 0)
    words = SufficientReasonExplainer(model, rows, delta=0.99)(rows[:5], alternatives=True)
    assert words[3].describe() == words.describe(3)
    assert words[1:4][2].describe() == words.describe(3)
    assert "of this size needs" in words.describe(3)


def test_what_is_open_is_never_told_as_known():
    """Undecided features are named as such, and counts that they might change are not told."""
    model = LinearModel([3, 2, 2, 1, 1], threshold=4, feature_names=list("abcde"))
    found = alternatives(model, [1] * 5, delta=0.9)
    open_ones = replace(found, necessary=(0,), possible=(0, 1, 2), undecided=(2, 3))
    assert open_ones.words(sized=False) == (
        "Every reason of this size needs a and perhaps c; 1 more feature occurs in some, and "
        "perhaps d."
    )
    assert (open_ones.n_necessary, open_ones.n_possible) == (None, None)
    nothing = replace(found, necessary=(), possible=(0,), undecided=(1, 2, 3, 4))
    assert nothing.words(sized=False) == (
        "Every reason of this size needs no feature in particular; 1 feature occurs in some, and "
        "perhaps b, c, d and e."
    )
    assert (nothing.n_necessary, nothing.n_possible) == (0, None)
    unproved = replace(found, reason=replace(found.reason, minimality="subset-minimal"))
    assert (unproved.n_necessary, unproved.n_possible) == (None, None)
    assert unproved.words() == (
        "It is not proved that a reason of 1 feature is the smallest, so nothing is said of the "
        "others."
    )


def test_samples_do_not_tell_of_alternatives():
    """A call that asks a sampling explainer for alternatives is refused before any work."""
    explainer = SufficientReasonExplainer(([1.0, 2.0], -1.0), method="monte-carlo", seed=0)
    with pytest.raises(InvalidInputError, match=r"^only method='certified' proves"):
        explainer([[1, 1]], alternatives=True)
