"""Two vectorizers of the same texts: a word is one feature, its letters inside words another."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import BernoulliNB
from sklearn.pipeline import make_pipeline, make_union

from sklearn_probsr import ReasonExplanation, SufficientReasonExplainer, adapt, plots
from sklearn_probsr.model.sparse import SparseRows

TEXTS = ["no soup", "know soup now", "no lunch", "lunch now", "snow", "menu now no"] * 4
Y = [1, 0, 1, 0, 0, 1] * 4
WORDS = TfidfVectorizer()
LETTERS = TfidfVectorizer(analyzer="char", ngram_range=(2, 2))


def explained(model: Any, rows: Any, background: Any = TEXTS) -> ReasonExplanation:
    return SufficientReasonExplainer(model, background, delta=0.8)(rows)


@pytest.mark.parametrize("classifier", [LogisticRegression(C=5), BernoulliNB()])
@pytest.mark.parametrize(
    "union",
    [
        make_union(WORDS, LETTERS),
        make_union(HashingVectorizer(n_features=64), HashingVectorizer(n_features=32)),
    ],
)
def test_what_reads_otherwise_is_another_feature(union: Any, classifier: Any):
    """So many features as columns, and the reasons of the matrix."""
    model = make_pipeline(union, classifier).fit(TEXTS, Y)
    matrix = model[0].transform(TEXTS).toarray()
    adapted = adapt(model, TEXTS)
    names = [unit.name for unit in adapted.units]
    assert len(set(names)) == len(names)
    assert any(name.endswith(" (2)") for name in names)
    found, expected = explained(model, TEXTS[:6]), explained(model[-1], matrix[:6], matrix)
    np.testing.assert_array_equal(found.reason_size, expected.reason_size)
    np.testing.assert_allclose(found.guarantee_lower, expected.guarantee_lower)


@pytest.mark.parametrize("kinds", [(True, True), (True, False), (False, False)])
def test_the_same_word_is_one_feature(kinds: tuple[bool, bool]):
    """Known in both columns or in none, be they flags, counts or one of each."""
    steps = [CountVectorizer(binary=binary) for binary in kinds]
    model = make_pipeline(make_union(*steps), LogisticRegression(C=5)).fit(TEXTS, Y)
    adapted = adapt(model, TEXTS)
    words = steps[0].fit(TEXTS).get_feature_names_out()
    assert [unit.name for unit in adapted.units] == list(words)
    assert all(len(unit.columns) == 2 for unit in adapted.units)
    np.testing.assert_array_equal(adapted.predict(TEXTS), model.predict(TEXTS))
    found = explained(model, TEXTS[:6])
    assert all(fact.count('"') == 2 for reason in found.reasons for fact in reason.facts)


def test_words_and_letters_are_told_saved_and_marked(tmp_path: Path):
    """The second of a name has a number behind it, and is marked in the text all the same."""
    mpl.use("agg")
    model = make_pipeline(make_union(WORDS, LETTERS), LogisticRegression(C=5)).fit(TEXTS, Y)
    explainer = SufficientReasonExplainer(model, TEXTS, delta=0.1, include=["no", "no (2)"])
    found = explainer(["no snow"])
    told = [fact.partition(" (weight")[0] for fact in found.reasons[0].facts]
    assert told == ['"no"', '"no" (2)']
    found.save(tmp_path / "text.npz")
    again = ReasonExplanation.load(tmp_path / "text.npz")
    assert again.reasons[0].facts == found.reasons[0].facts
    ax = plots.text(again, ["no snow"])
    assert "and" not in [text.get_text() for text in ax.texts]
    mpl.pyplot.close("all")


def test_a_union_of_words_and_letters_stays_sparse():
    """Short words are letters, too, and must not fill in the rows."""
    rng = np.random.default_rng(0)
    words = ["".join(rng.choice(list("abcdefgh"), rng.integers(2, 6))) for _ in range(4000)]
    texts = [" ".join(rng.choice(words, 30)) for _ in range(300)]
    steps = make_union(TfidfVectorizer(), TfidfVectorizer(analyzer="char", ngram_range=(2, 4)))
    model = make_pipeline(steps, LogisticRegression(C=5)).fit(texts, np.arange(300) % 2)
    explainer = SufficientReasonExplainer(model, texts, delta=0.8)
    assert explainer.linear_model.takes_sparse
    assert isinstance(explainer.distribution.rows, SparseRows)
