"""What "no smaller set" and "the best set" speak of: the sets that were allowed, and no others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from sklearn_probsr import (
    Background,
    LinearModel,
    Matching,
    Product,
    ReasonExplanation,
    SufficientReasonExplainer,
    Unit,
    alternatives,
    breaking_set,
    compare,
    sufficient_reason,
)
from sklearn_probsr.exceptions import InvalidInputError, UnreachableError

MODEL = LinearModel([5, 1, -3, 2, -1], threshold=5, feature_names=["a", "b", "c", "d", "e"])
ROW = [1, 0, 0, 1, 1]


@pytest.mark.parametrize(
    ("asked", "claim"),
    [
        ({}, "no smaller set reaches 0.75"),
        ({"exclude": ["a"]}, "no smaller set of the features allowed reaches 0.75"),
        ({"include": ["b"]}, "no smaller set with b reaches 0.75"),
        ({"include": ["b", "e"]}, "no smaller set with b and e reaches 0.75"),
        (
            {"include": ["b"], "exclude": ["d"]},
            "no smaller set with b and otherwise of the features allowed reaches 0.75",
        ),
        (
            {"include": ["a", "b", "d", "e"]},
            "no smaller set with the features in include reaches 0.75",
        ),
        ({"supporting_only": True}, "no smaller set of supporting features reaches 0.75"),
        (
            {"supporting_only": True, "exclude": ["e"]},
            "no smaller set of the supporting features allowed reaches 0.75",
        ),
        (
            {"cost": [3, 1, 1, 1, 1], "max_size": 3},
            "no cheaper set of at most 3 features reaches 0.75",
        ),
        (
            {"cost": [3, 1, 1, 1, 1], "max_size": 3, "exclude": ["b"], "present_only": True},
            "no cheaper set of at most 3 of the present features allowed reaches 0.75",
        ),
    ],
)
def test_a_minimum_is_one_of_the_sets_allowed(asked: dict[str, Any], claim: str):
    """Every restriction is told, in the sentence, the views and what is written to a file."""
    model = LinearModel([5, 1, -3, 2, -1], threshold=2, feature_names=["a", "b", "c", "d", "e"])
    reason = sufficient_reason(model, ROW, delta=0.75, prove=True, **asked)
    assert reason.minimality == "minimum"
    assert f"; {claim})." in str(reason)
    assert f"scope={reason.scope!r}" in repr(reason)
    assert f"; {claim}." in reason._repr_html_()


def test_what_cannot_be_left_out_was_not_asked_for():
    """What every set must have may do nothing: that it cannot be left out is not claimed of it."""
    model = LinearModel([1] * 6, threshold=3, feature_names=list("abcdef"))
    reason = sufficient_reason(model, [1] * 6, delta=0.9, include=["f"])
    told = str(reason.__class__(**{**reason.__dict__, "minimality": "subset-minimal"}))
    assert "; beside f none can be left out; no set with f that has fewer than" in told


def test_a_best_set_that_is_refuted_is_not_reached():
    """What its bounds refute is not reached; only what they leave open is not proved."""
    units = [Unit.real("a", 0), Unit.real("b", 1), Unit.real("c", 2)]
    model = LinearModel([2.0, -3.0, 1.0], 1.0, units=units)
    rows = [[0, 0, 0], [2, 1, 1], [1, 1, 0], [0, 1, 2], [-1, 0, 1]]
    asked = {"distribution": Background(rows), "delta": 0.9, "exclude": ["a"], "max_size": 2}
    assert str(sufficient_reason(model, [1, 0, 0], **asked)).endswith(
        "the best set found of at most 2 of the features allowed; 0.9 is not reached)."
    )
    explainer = SufficientReasonExplainer(model, asked["distribution"], delta=0.9, exclude=["a"])
    with pytest.warns(UserWarning, match="could not be explained"):
        told = explainer([[1, 0, 0]]).describe(0)
    assert "; the best set found of the features allowed; 0.9 is not reached). delta" in told


def test_where_no_others_exist_none_is_named():
    """With every feature kept out, the guarantee is that of nothing known."""
    for method, known in (
        ("certified", "0.25"),
        ("monte-carlo", r"about 0\.\d+ in [\d,]+ samples"),
    ):
        with pytest.raises(
            UnreachableError,
            match=r"^delta = 0\.875 (cannot be reached|is not reached by the estimate) for row 0 "
            r"without "
            r"the features in exclude: there are no others, and with nothing known the guarantee "
            r"is "
            rf"{known} \(uniform completions\)\. Exclude fewer features, lower delta, or set "
            rf"max_size to "
            r"get the best set all the same\.$",
        ):
            sufficient_reason(
                MODEL, ROW, delta=0.875, exclude=range(5), method=method, random_state=0
            )


def test_sampling_when_every_feature_is_forced_in():
    """There is nothing to draw, and so nothing to be unsure of."""
    reason = sufficient_reason(
        LinearModel([1], 0), [1], delta=0.5, include=[0], distribution=Product([0.5]),
        method="monte-carlo", random_state=0,
    )  # fmt: skip
    assert reason.features == (0,)


def test_too_few_rows_are_no_best_set():
    """Under `Matching` a claim speaks of the sets that enough rows share, and says so."""
    law = Matching([[1, 1]] * 9 + [[0, 0]] * 11, confirm=np.arange(20) % 2 == 1, min_rows=4)
    model = LinearModel([1, 1], 2)
    assert "no smaller set that at least 4 rows share reaches 0.95 in the" in str(
        sufficient_reason(model, [1, 1], distribution=law)
    )
    few = SufficientReasonExplainer(model, law, include=[0, 1])
    with pytest.warns(UserWarning, match="could not be explained"):
        told = few([[1, 0]]).describe(0)
    assert "fewer than 4 share them in the 10 rows searched)." in told


def test_alternatives_speak_of_what_was_allowed():
    """A feature that every allowed reason needs need not be in one that was not allowed."""
    model = LinearModel([5, 2, 2, 2, 1], threshold=7)
    found = alternatives(model, [1] * 5, delta=0.9, exclude=[3])
    assert str(found) == (
        "Every reason of this size (2 features) of the features allowed needs x0; 2 more features "
        "occur in some."
    )


def test_breaking_sets_speak_of_what_was_allowed():
    """So do breaking sets; that no others are left is said, not that none of them suffices."""
    explainer = SufficientReasonExplainer(
        MODEL, delta=0.9, exclude=["d"], include=["b"], max_size=4
    )
    (found,) = explainer.breaking_sets([ROW])
    assert str(found).startswith("No set of the features allowed with b keeps class 1 with prob")
    assert str(found).endswith("(nothing need be left out to break it).")
    alone = LinearModel([1], 1, feature_names=["a"])
    assert str(breaking_set(alone, [1], delta=0.9)) == (
        "Without a no others are left, and with nothing known, class 1 is kept with probability "
        "0.5 "
        "over uniform completions, less than 0.9 (no fewer features break it)."
    )


def test_files_keep_what_was_allowed(tmp_path):
    """What is read back tells the same sentences; what cannot be is refused."""
    explainer = SufficientReasonExplainer(
        MODEL, delta=0.75, include=["b"], exclude=["c"], max_size=4
    )
    found = explainer([ROW])
    found.save(tmp_path / "reasons.npz")
    again = ReasonExplanation.load(tmp_path / "reasons.npz")
    assert again.describe(0) == found.describe(0)
    assert "with b and otherwise of the features allowed" in again.describe(0)


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({}, None),
        ({"exclude": ["d"]}, "of the features allowed"),
        ({"include": ["b"]}, "with b"),
        ({"max_size": 3}, "of at most 3 features"),
        ({"supporting_only": True}, "of supporting features"),
        (
            {"include": ["b"], "exclude": ["c"], "max_size": 4},
            "of at most 4 features with b and otherwise of the features allowed",
        ),
    ],
)
def test_tables_say_of_which_sets_their_words_speak(asked: dict[str, Any], words: str | None):
    """Behind every minimality stands the scope, if not all sets were allowed."""
    explainer = SufficientReasonExplainer(MODEL, delta=0.75, **asked)
    found = explainer([ROW], alternatives=True)
    told = [
        found.to_frame(),
        explainer.explain_frame([ROW]),
        explainer.schema,
        compare(MODEL, [ROW], delta=0.75, **asked).to_frame(),
    ]
    # How many features at most is of no account there.
    whatever = None if words is None else words.replace("of at most 4 features ", "")
    whatever = None if "max_size" in asked and len(asked) == 1 else whatever
    others = [explainer.breaking_sets([ROW]).to_frame(), found.alternatives.to_frame()]
    for frames, expected in ((told, words), (others, whatever)):
        for frame in frames:
            columns = list(frame.columns)
            if expected is None:
                assert "scope" not in columns
                continue
            assert columns[columns.index("minimality") + 1] == "scope"
            assert frame["scope"].tolist() == [expected] * len(frame)
    for view in (found._repr_html_(), found.reasons._repr_html_()):
        assert ("Proved among the sets" in view) == (words is not None)
        assert words is None or f"<p>Proved among the sets {words}.</p>" in view
    assert ("scope" in explainer.arrow_schema().names) == (words is not None)
    assert ("scope STRING" in explainer.spark_schema()) == (words is not None)
    X = pd.DataFrame([ROW], columns=list(MODEL.feature_names)).assign(scope="mine")
    if words is None:  # the name is free
        assert explainer.explain_frame(X, id_columns=["scope"])["scope"].tolist() == ["mine"]
        return
    with pytest.raises(InvalidInputError, match=r"^id_columns must not name 'scope', which is a"):
        explainer.explain_frame(X, id_columns=["scope"])


def test_explanations_of_other_sets_are_not_joined():
    """Their claims speak of different sets."""
    for asked, what in (
        ({"exclude": ["e"]}, "features in exclude"),
        ({"max_size": 4}, "max_size"),
    ):
        one, other = (
            SufficientReasonExplainer(MODEL, delta=0.75, **more)([ROW]) for more in ({}, asked)
        )
        with pytest.raises(InvalidInputError, match=f"these differ in the {what}\\.$"):
            ReasonExplanation.concatenate([one, other])


def test_the_page_says_it_too(tmp_path):
    """The claims of the page, its glossary and its summary are about the sets allowed."""
    found = compare(
        MODEL, [ROW, [0, 0, 1, 0, 1]], delta=0.5, exclude=["d"], max_size=2, alternatives=True
    )
    found.to_html(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "no smaller set of the features allowed reaches {delta}" in page
    assert "minimum: no smaller set of the features allowed reaches the probability" in page
    assert "no smaller set of the features allowed reaches 50%" in page
    assert "are proved to be as small as that allows." in found.summary()
    assert "Every reason of this size of the features allowed needs" in page
