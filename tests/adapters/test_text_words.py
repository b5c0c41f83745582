"""Texts as people have them: every vectorizer, alone and beside other columns, against predict."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import (
    CountVectorizer,
    HashingVectorizer,
    TfidfTransformer,
    TfidfVectorizer,
)
from sklearn.feature_selection import SelectKBest, chi2
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.naive_bayes import ComplementNB, MultinomialNB
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import Binarizer, MaxAbsScaler, OneHotEncoder

from sklearn_probsr import SufficientReasonExplainer, Uniform, adapt, to_linear_model
from sklearn_probsr.exceptions import InvalidInputError

TEXTS = [
    "the server and the proxy", "good proxy server server", "bad apple pie", "apple and pear pie",
    "pear tart", "server room", "a room with a pie", "the proxy of a proxy", "tart apple", "bad",
]  # fmt: skip
Y = np.array([1, 1, 0, 0, 0, 1, 0, 1, 0, 0])
OTHERS = [*TEXTS, "", "server pie", "unheard-of words", "pie pie pie server", "Proxy! (room)"]

STEPS: dict[str, Any] = {
    "counts": CountVectorizer(),
    "flags": CountVectorizer(binary=True),
    "tf-idf": TfidfVectorizer(),
    "tf-idf, l1, sublinear": TfidfVectorizer(norm="l1", sublinear_tf=True),
    "tf-idf, no norm": TfidfVectorizer(norm=None),
    "tf-idf, no norm, binary": TfidfVectorizer(norm=None, binary=True),
    "tf-idf, no norm, sublinear": TfidfVectorizer(norm=None, sublinear_tf=True),
    "tf-idf, no idf": TfidfVectorizer(norm=None, use_idf=False),
    "pairs of words": TfidfVectorizer(ngram_range=(1, 2), min_df=2),
    "letters": TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 3)),
    "two steps": make_pipeline(CountVectorizer(), TfidfTransformer()),
    "two steps, selected": make_pipeline(
        CountVectorizer(), SelectKBest(chi2, k=6), TfidfTransformer(norm="l1")
    ),
    "then scaled": make_pipeline(TfidfVectorizer(), MaxAbsScaler()),
    "then topics": make_pipeline(TfidfVectorizer(), TruncatedSVD(3, random_state=0)),
    "then flags": make_pipeline(TfidfVectorizer(), Binarizer()),
    "hashed": HashingVectorizer(n_features=2**14),
    "hashed counts": HashingVectorizer(n_features=16, norm=None, alternate_sign=False),
    "hashed flags": HashingVectorizer(n_features=64, norm=None, alternate_sign=False, binary=True),
    "words and letters": make_union(
        CountVectorizer(), TfidfVectorizer(analyzer="char", ngram_range=(3, 3))
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", STEPS)
def test_every_vectorizer_decides_as_predict(case: str):
    """Also on texts that were not seen, that are empty, and of which no word is known."""
    estimator = make_pipeline(STEPS[case], LogisticRegression(C=3)).fit(TEXTS, Y)
    adapted = adapt(estimator, TEXTS)
    assert (adapted.predict(OTHERS) == estimator.predict(OTHERS)).all()
    score = adapted.contributions(OTHERS).sum(axis=1) - adapted.model.threshold
    assert np.allclose(score, estimator.decision_function(OTHERS))
    told = SufficientReasonExplainer(estimator, TEXTS, delta=0.9)(OTHERS)
    assert (told.prediction == estimator.predict(OTHERS)).all()
    again = SufficientReasonExplainer(estimator, TEXTS, delta=0.9).__getstate__()
    assert again["masker"].columns == ("text",)


@pytest.mark.parametrize("case", ["tf-idf", "hashed", "counts"])
def test_texts_beside_other_columns(case: str):
    """Two texts and a category: words are told with the column that they are from."""
    frame = pd.DataFrame(
        {"title": TEXTS, "job": ["cook", "clerk"] * 5, "body": TEXTS[::-1], "age": range(10)}
    )
    blocks = make_column_transformer(
        (STEPS[case], "title"), (OneHotEncoder(), ["job"]), (CountVectorizer(), "body"),
        ("passthrough", ["age"]),
    )  # fmt: skip
    estimator = make_pipeline(blocks, LogisticRegression(C=3)).fit(frame, Y)
    adapted = adapt(estimator, frame)
    other = frame.assign(title=TEXTS[3:] + TEXTS[:3])
    assert (adapted.predict(other) == estimator.predict(other)).all()
    told = adapted.describe(frame)
    assert told["body: pie"].iloc[0] == 'body: no "pie"'
    assert told["body: proxy"].iloc[2] == 'body: "proxy" (twice)'
    assert told["job"].iloc[0] == "job: cook"
    if case == "tf-idf":
        assert told["title: bad"].iloc[9] == 'title: "bad" (weight 1)'


def test_what_facts_read_like():
    """Words, counts and weights, there or not; n-grams too."""
    for step, there, absent in (
        (CountVectorizer(binary=True), '"server"', 'no "pie"'),
        (CountVectorizer(), '"server" (twice)', 'no "pie"'),
        (TfidfVectorizer(norm=None), '"server" (twice)', 'no "pie"'),
        (TfidfVectorizer(), '"server" (weight 0.767)', 'no "pie"'),
    ):
        fitted = make_pipeline(step, LogisticRegression()).fit(TEXTS, Y)
        told = adapt(fitted, TEXTS).describe(TEXTS)
        assert (told["server"].iloc[1], told["pie"].iloc[1]) == (there, absent)
    pairs = make_pipeline(CountVectorizer(ngram_range=(2, 2)), LogisticRegression()).fit(TEXTS, Y)
    assert adapt(pairs, TEXTS).describe(TEXTS)["proxy server"].iloc[1] == '"proxy server" (once)'


def test_hashed_columns_without_a_weight_are_no_features():
    """Of a million columns those matter that the classifier has seen."""
    fitted = make_pipeline(HashingVectorizer(), SGDClassifier(random_state=0)).fit(TEXTS, Y)
    model = to_linear_model(fitted)
    assert 5 < model.n_units < 20
    assert all(name.startswith("hash ") for name in model.unit_names)
    nothing = make_pipeline(HashingVectorizer(), LogisticRegression()).fit(["a b"] * 4, [0, 1] * 2)
    assert to_linear_model(nothing).n_units >= 1


def test_several_classes_of_texts():
    """Naive Bayes over weights, before three classes."""
    y = np.array([2, 1, 0, 0, 0, 2, 0, 1, 0, 1])
    for classifier in (MultinomialNB(), ComplementNB()):
        fitted = make_pipeline(TfidfVectorizer(), classifier).fit(TEXTS, y)
        adapted = adapt(fitted, TEXTS, all_classes=True)
        assert (adapted.predict(OTHERS) == fitted.predict(OTHERS)).all()


def test_words_that_are_weights_need_rows():
    """Flags have states, so that a uniform law takes them, of tf-idf without a norm too."""
    flags = make_pipeline(TfidfVectorizer(norm=None, binary=True), LogisticRegression(C=9))
    told = SufficientReasonExplainer(flags.fit(TEXTS, Y), Uniform(), delta=0.8)(TEXTS)
    assert (told.prediction == flags.predict(TEXTS)).all()


@pytest.mark.parametrize("kind", [CountVectorizer, TfidfVectorizer, HashingVectorizer])
@pytest.mark.parametrize("way", ["filename", "file"])
def test_vectorizers_of_files_are_refused(kind, way):
    """What is explained are texts, so no row may name a file that is opened."""
    texts = ["good day", "bad day"] * 5
    model = make_pipeline(kind(), LogisticRegression()).fit(texts, [1, 0] * 5)
    model[0].set_params(input=way)
    with pytest.raises(InvalidInputError) as caught:
        adapt(model, texts)
    assert str(caught.value) == (
        f"{kind.__name__} must have input='content', got '{way}', which reads the files that rows "
        "name. Fit it on the texts themselves."
    )
