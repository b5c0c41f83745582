"""Texts in every container that people keep them in, and what is none, before every shell."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from sklearn_probsr import (
    Background,
    SufficientReasonExplainer,
    SufficientReasonTransformer,
    adapt,
    compare,
)
from sklearn_probsr.exceptions import InvalidInputError

TEXTS = ["good server", "bad server may", "good May day", "bad night x9"] * 5
Y = [1, 0, 1, 0] * 5
GAP = "Leave that row out, or write '' for a text without words."
NUMBER = "Leave that row out, or write it as a text."


def pipeline(step: Any = None) -> Any:
    return make_pipeline(step or CountVectorizer(), LogisticRegression())


MODEL = pipeline().fit(TEXTS, Y)


def refused(message: str) -> Any:
    return pytest.raises(InvalidInputError, match=f"^{re.escape(message)}$")


CONTAINERS = {
    "a tuple": tuple(TEXTS),
    "a Series": pd.Series(TEXTS, index=range(100, 120)),
    "a Series of strings": pd.Series(TEXTS, dtype="string"),
    "an array of objects": np.array(TEXTS, dtype=object),
    "an array of texts": np.array(TEXTS),
    "a list of bytes": [text.encode() for text in TEXTS],
    "an array of bytes": np.array([text.encode() for text in TEXTS]),
}


def test_texts_may_come_from_arrow_and_polars():
    """Their arrays are no frames, and hold texts all the same."""
    arrow, polars = pytest.importorskip("pyarrow"), pytest.importorskip("polars")
    expected = SufficientReasonExplainer(MODEL, TEXTS)(TEXTS).reason_mask
    for given in (arrow.array(TEXTS), arrow.chunked_array([TEXTS]), polars.Series(TEXTS)):
        found = SufficientReasonExplainer(MODEL, given)(given)
        np.testing.assert_array_equal(found.reason_mask, expected)
        assert len(Background(given).source) == 20


@pytest.mark.parametrize("case", CONTAINERS)
def test_texts_are_the_same_in_every_container(case: str):
    """As rows, as a masker, in a distribution, and in the transformer."""
    given = CONTAINERS[case]
    expected = SufficientReasonExplainer(MODEL, TEXTS)(TEXTS)
    for masker in (given, Background(given)):
        found = SufficientReasonExplainer(MODEL, masker)(given)
        assert [r.facts for r in found.reasons] == [r.facts for r in expected.reasons]
        np.testing.assert_array_equal(found.guarantee_lower, expected.guarantee_lower)
    step = SufficientReasonTransformer(pipeline(), output="mask").fit(given, Y)
    np.testing.assert_array_equal(step.transform(given).toarray(), expected.reason_mask)
    assert step.transform(given[:0]).shape == (0, len(expected.feature_names))


def _objects(values: list[Any]) -> pd.Series:
    return pd.Series(values, dtype=object)


AMONG = {
    "None": (None, f"None in row 3. {GAP}"),
    "NaN": (np.nan, f"nan in row 3. {GAP}"),
    "pandas' gap": (pd.NA, f"<NA> in row 3. {GAP}"),
    "a number": (7, f"7 in row 3. {NUMBER}"),
}


@pytest.mark.parametrize("kind", [list, tuple, _objects])
@pytest.mark.parametrize("case", AMONG)
def test_what_is_no_text_is_named_by_every_shell(case: str, kind: Any):
    """With its value and its row, and what to do, not in the words of the step that failed."""
    odd, told = AMONG[case]
    given = kind([*TEXTS[:3], odd, *TEXTS[4:]])
    with refused(f"masker must hold texts, got {told}"):
        SufficientReasonExplainer(MODEL, given)
    with refused(f"A background must hold texts, got {told}"):
        Background(given)
    with refused(f"X_sample must hold texts, got {told}"):
        adapt(MODEL, given)
    with refused(f"X must hold texts, got {told}"):
        SufficientReasonExplainer(MODEL, TEXTS, on_error="raise")(given)
    step = SufficientReasonTransformer(pipeline())
    with refused(f"X must hold texts, got {told}"):
        step.fit(given, Y)
    with refused(f"X must hold texts, got {told}"):
        step.fit(TEXTS, Y).transform(given)


@pytest.mark.parametrize("step", [CountVectorizer(), TfidfVectorizer(lowercase=False)])
def test_numbers_in_place_of_texts_are_flagged_in_words(step: Any):
    """Each by itself; the others are explained."""
    model = pipeline(step).fit(TEXTS, Y)
    explainer = SufficientReasonExplainer(model, TEXTS)
    with pytest.warns(UserWarning, match="^1 of 4 rows could not"):
        found = explainer(["good server", 7, "bad night", "day"])
    assert found.status.tolist() == ["ok", "invalid", "ok", "ok"]
    assert found.message[1] == f"X must hold texts, got 7. {NUMBER}"
    with pytest.warns(UserWarning, match="^2 of 2 rows could not"):
        assert set(explainer(np.arange(2)).status) == {"invalid"}


def test_a_column_of_texts_is_named_where_there_are_several():
    """The gap is in the texts, not in the numbers beside them."""
    X = pd.DataFrame({"age": range(20), "note": TEXTS})
    steps = make_column_transformer((TfidfVectorizer(), "note"), ("passthrough", ["age"]))
    model = make_pipeline(steps, LogisticRegression()).fit(X, Y)
    explainer = SufficientReasonExplainer(model, X, on_error="raise")
    odd = X.assign(note=_objects([*TEXTS[:3], None, *TEXTS[4:]]))
    with refused(f"X must hold texts in column 'note', got None in row 3. {GAP}"):
        explainer(odd)
    with pytest.warns(UserWarning, match="^1 of 20 rows could not"):
        found = SufficientReasonExplainer(model, X)(odd)
    assert found.message[3] == f"X must hold texts in column 'note', got None. {GAP}"


def test_what_a_vectorizer_takes_is_taken():
    """A function of one's own may make texts of gaps; other faults are told as they are."""
    step = CountVectorizer(preprocessor=_filled)
    model = pipeline(step).fit(TEXTS, Y)
    found = SufficientReasonExplainer(model, TEXTS)([None, "good server"])
    assert found.status.tolist() == ["ok", "ok"]
    with refused("The steps of the estimator refuse X: no boom"):
        SufficientReasonExplainer(model, TEXTS, on_error="raise")([None, "boom"])


def _filled(text: str | None) -> str:
    if text == "boom":
        raise AttributeError("no boom")
    return (text or "").lower()


NO_SEQUENCE = {
    "a text": (lambda: "good pie", "got 'good pie'. Write [text] for a single one."),
    "a generator": (lambda: (t for t in TEXTS), "got generator. Pass a list of what it gives."),
}


@pytest.mark.parametrize("case", NO_SEQUENCE)
def test_what_is_no_sequence_says_so(case: str):
    """To a distribution and to the transformer, which cannot know yet that texts are meant."""
    make, told = NO_SEQUENCE[case]
    message = f"must have rows and columns, or be a sequence of texts, {told}"
    with refused(f"A background {message}"):
        Background(make())
    with refused(f"X {message}"):
        SufficientReasonTransformer(pipeline()).fit(make(), Y)


def test_split_texts_are_no_texts():
    """Lists of words are refused, with what to do."""
    message = "Pass one text per row: words that were split already, joined by spaces."
    with pytest.raises(InvalidInputError, match=f"^X must be a sequence of texts, .*{message}$"):
        compare(MODEL, [["good", "pie"], ["bad"]], TEXTS)


@pytest.mark.parametrize("none", [[], np.array([], dtype=object), pd.Series([], dtype=object)])
def test_no_texts_are_no_background(none: Any):
    """Rows may be none, a masker may not."""
    with refused("masker must have at least one row, got none."):
        SufficientReasonExplainer(MODEL, none)
    with refused("A background must have at least one row, got none."):
        Background(none)
    with refused("X_sample must have at least one row, got none."):
        adapt(MODEL, none)
    assert len(SufficientReasonExplainer(MODEL, TEXTS)(none)) == 0
