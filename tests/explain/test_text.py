"""Texts in the explainer: hashed words, files, and the picture of words in their text."""

from __future__ import annotations

import pickle
import re
import warnings
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.compose import make_column_transformer
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from sklearn_probsr import (
    Background,
    LinearModel,
    Marginals,
    Matching,
    ReasonExplanation,
    SufficientReasonExplainer,
    SufficientReasonTransformer,
    compare,
    plots,
    sufficient_reason,
)
from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.explain.pictures._canvas import BLUE, RED
from sklearn_probsr.explain.pictures._text import places, readable

TEXTS = [
    "The Server, and a proxy.", "good proxy server server", "bad apple pie", "apple and pear pie",
    "pear tart", "server room",
]  # fmt: skip
Y = [1, 1, 0, 0, 0, 1]
HASHED = HashingVectorizer(n_features=2**14)


@pytest.fixture(autouse=True)
def no_figures():
    """Draw without a window, and close what was drawn."""
    mpl.use("agg")
    yield
    mpl.pyplot.close("all")


def explained(step: Any, texts: Any = TEXTS, **options: Any) -> ReasonExplanation:
    model = make_pipeline(step, LogisticRegression(C=9)).fit(TEXTS * 4, Y * 4)
    return SufficientReasonExplainer(model, TEXTS, delta=0.9, **options)(texts)


def drawn(ax: Any) -> tuple[str, list[str]]:
    """Return all that is written, and what is written on a coloured ground."""
    texts = sorted(ax.texts, key=lambda t: (round(t.get_position()[1], 6), t.get_position()[0]))
    marked = [t.get_text() for t in texts if t.get_color() == "white"]
    return " ".join(t.get_text() for t in texts), marked


@pytest.mark.parametrize("kind", [list, tuple, np.array, pd.Series])
def test_distributions_are_made_of_texts_as_of_their_matrix(kind: Any):
    """What a law of texts says is what the same law of the vectorizer's rows says."""
    model = make_pipeline(CountVectorizer(binary=True), LogisticRegression(C=9)).fit(TEXTS, Y)
    matrix = model[:-1].transform(TEXTS).toarray()
    for law in (Background, Marginals, Marginals.fit, Matching):
        texts = pickle.loads(pickle.dumps(law(kind(TEXTS * 30))))
        found = SufficientReasonExplainer(model, texts, delta=0.9)(TEXTS)
        same = SufficientReasonExplainer(model[-1], law(np.tile(matrix, (30, 1))), delta=0.9)(
            matrix
        )
        assert np.array_equal(found.reason_mask, same.reason_mask)
        assert np.array_equal(found.guarantee_lower, same.guarantee_lower)


def test_a_sample_of_texts_is_counted_over_all_of_them():
    """The sentence says which were searched."""
    model = make_pipeline(TfidfVectorizer(), LogisticRegression(C=9)).fit(TEXTS, Y)
    found = SufficientReasonExplainer(model, Background(TEXTS * 5, sample=7))(TEXTS[:1])
    assert "over replacement by 7 of 30 background rows" in found.describe()


def test_what_is_no_law_of_texts_says_so():
    """A matrix in place of texts, and texts before a model of numbers."""
    model = make_pipeline(CountVectorizer(), LogisticRegression()).fit(TEXTS, Y)
    matrix = Marginals.fit(model[:-1].transform(TEXTS))
    message = "Pass the texts themselves: the Pipeline makes the matrix."
    with pytest.raises(InvalidInputError, match=re.escape(message)):
        SufficientReasonExplainer(model, matrix)
    message = (
        "Background has 6 texts, which only a Pipeline with a vectorizer makes numbers of. Pass "
        "such a Pipeline, or rows of numbers."
    )
    with pytest.raises(InvalidInputError, match=re.escape(message)):
        sufficient_reason(LinearModel([1], 1), [1], distribution=Background(TEXTS))


def test_a_hashed_column_is_told_with_the_words_of_the_row(tmp_path: Path):
    """Also of a slice, of a file, and of two words that share a column; not of an absent one."""
    found = explained(HASHED)
    fact = found.reasons[1].facts[0]
    assert re.fullmatch(r"hash \d+ \(server\)", fact)
    assert found[1:].reasons[0].facts[0] == fact
    found.save(tmp_path / "text.npz")
    assert ReasonExplanation.load(tmp_path / "text.npz").reasons.words == found.reasons.words
    narrow = explained(HashingVectorizer(n_features=2, norm=None, alternate_sign=False))
    told = [fact for reason in narrow.reasons for fact in reason.facts]
    assert any(re.fullmatch(r"hash [01] \(\w+(, \w+)+\)", fact) for fact in told)
    both = ReasonExplanation.concatenate([found, found])
    assert both.reasons[7].facts == found.reasons[1].facts
    bad: Any = [*TEXTS, None]
    with pytest.warns(UserWarning, match="could not be explained"):
        flagged = explained(HASHED, bad[::-1])
    assert flagged.reasons[5].facts == found.reasons[1].facts


def test_hashed_words_of_a_column():
    """A text among other columns is hashed as well."""
    frame = pd.DataFrame({"title": TEXTS, "age": range(6)})
    blocks = make_column_transformer((HASHED, "title"), ("passthrough", ["age"]))
    model = make_pipeline(blocks, LogisticRegression(C=9)).fit(frame, Y)
    found = SufficientReasonExplainer(model, frame, delta=0.9, exclude=["age"])(frame)
    told = " ".join(fact for reason in found.reasons for fact in reason.facts)
    assert re.search(r"title: hash \d+ \(server\)", told)


def test_present_only_in_every_shell():
    """The explainer, the transformer and the comparator keep reasons to words that occur."""
    options: dict[str, Any] = {"delta": 0.5, "present_only": True}
    model = make_pipeline(CountVectorizer(binary=True), LogisticRegression(C=9)).fit(TEXTS, Y)
    there = model[0].transform(TEXTS).toarray() > 0
    found = SufficientReasonExplainer(model, TEXTS, on_error="raise", **options)(TEXTS)
    assert not (found.reason_mask & ~there).any()
    assert not any(fact.startswith("no ") for reason in found.reasons for fact in reason.facts)
    assert "present features" in found.describe(0)
    step = SufficientReasonTransformer(model[-1], output="mask", **options)
    rows = model[0].transform(TEXTS).toarray()
    assert not (step.fit(rows, Y).transform(rows).astype(bool) & ~there).any()
    compared = compare(model, TEXTS, TEXTS, **options)
    assert not (compared.mask & ~there).any()
    assert compared.rules == "No reason has a feature that is not there"


def test_words_are_marked_in_their_text():
    """Whatever their case; what is absent stands below, what speaks against them is blue."""
    found = explained(CountVectorizer(binary=True))
    ax = plots.text(found, TEXTS)
    everything, marked = drawn(ax)
    assert "Server" in marked
    facts = {fact for reason in found.reasons for fact in reason.facts}
    absent = [fact for fact in facts if fact.startswith("no ")]
    assert absent
    assert all(fact in everything for fact in absent)
    assert {patch.get_facecolor() for patch in ax.patches} <= {
        mpl.colors.to_rgba(colour) for colour in (RED, BLUE)
    }


@pytest.mark.parametrize(
    "step",
    [
        TfidfVectorizer(),
        HASHED,
        CountVectorizer(ngram_range=(1, 2)),
        TfidfVectorizer(analyzer="char", ngram_range=(3, 3)),
    ],
    ids=["tf-idf", "hashed", "pairs", "letters"],
)
def test_every_vectorizer_is_drawn(step: Any):
    """Of each row in which a word of the reason occurs, one is marked."""
    found = explained(step)
    for i, reason in enumerate(found.reasons):
        _, marked = drawn(plots.text(found[i], TEXTS[i]))
        occur = any(" no " not in f" {fact}" for fact in reason.facts)
        assert bool(marked) == occur


def test_hostile_texts_are_drawn():
    """Signs that the font lacks, mathematics, control characters, markup and very long words."""
    texts = [
        "server $\\frac{1}{0}$ <script>alert(1)</script> \x00\x07\u202e 中文 \U0001f600 é́ ﬁ ",
        "pear\n\n\n\t" + "x" * 500 + " server\r\n" + "word " * 2000,
        "",
    ]
    found = explained(CountVectorizer(), texts)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ax = plots.text(found, texts, max_lines=5)
        ax.figure.canvas.draw()
    everything, marked = drawn(ax)
    assert "$\\frac{1}{0}$" in everything
    assert "server" in marked
    assert "[...]" in everything
    assert "\x00" not in everything


def test_many_rows_are_cut_and_flags_are_told():
    """The first rows are drawn, and a line says how many are not."""
    texts = TEXTS * 3
    found = explained(CountVectorizer(binary=True), texts)
    everything, _ = drawn(plots.text(found, texts, max_rows=2))
    assert everything.endswith("16 more rows are not shown")
    given = mpl.pyplot.subplots()[1]
    assert plots.text(found[0], texts[0], ax=given) is given


WRONG = {
    "too few": (lambda: TEXTS[:2], "documents must hold one text per row, 6, got 2."),
    "numbers": (lambda: [1] * 6, "documents must hold texts, got int in row 0."),
    "nothing": (lambda: None, "documents must be the texts of the rows, got NoneType."),
}


@pytest.mark.parametrize("case", WRONG)
def test_documents_are_checked(case: str):
    """They must be the texts of the rows."""
    make, message = WRONG[case]
    found = explained(CountVectorizer(binary=True))
    with pytest.raises(InvalidInputError, match=f"^{re.escape(message)}$"):
        plots.text(found, make())


def test_places():
    """Case and accents do not matter, whole words come before parts of words."""
    text = "Café—cafe CAFÉ! proxy-server, decaf"
    assert [text[a:b] for a, b in places(text, ["cafe"])] == ["Café", "cafe", "CAFÉ"]
    assert [text[a:b] for a, b in places(text, ["proxy server"])] == ["proxy-server"]
    assert [text[a:b] for a, b in places(text, ["eca"])] == ["eca"]
    assert places(text, ["", " ", "absent"]) == []
    assert places("bath then", [" th"]) == [(5, 7)]
    assert places("bath then", ["th "]) == [(2, 4)]
    assert places("bath then", ["h t"]) == [(3, 6)]
    assert readable("a\tb\x00c中", {ord(c) for c in "abc"}) == "a b c\N{WHITE SQUARE}"


def test_case_and_accents_matter_where_they_do_to_the_vectorizer():
    """As they tell words apart; the letter at the end of a Greek word is the same one."""
    text = "May cafe may, Café MAY"
    assert [text[a:b] for a, b in places(text, ["may"], ["case"])] == ["may"]
    assert [text[a:b] for a, b in places(text, ["cafe"], ["accents"])] == ["cafe"]
    assert [text[a:b] for a, b in places(text, ["cafe"], ["case"])] == ["cafe"]
    assert [text[a:b] for a, b in places(text, ["café"], ["accents"])] == ["Café"]
    assert places(text, ["café"], ["accents", "case"]) == []
    assert places("ΟΔΟΣ", ["οδος"]) == [(0, 4)]
    assert places("İ may", ["may"]) == [(2, 5)]


SPELLED = {
    "as it stands": (TfidfVectorizer(lowercase=False), ["May"]),
    "in lower case": (TfidfVectorizer(), ["May", "may", "MAY"]),
    "by a function": (TfidfVectorizer(preprocessor=str.lower), ["May", "may", "MAY"]),
    "scaled": (TfidfVectorizer(lowercase=False, norm=None), ["May"]),
    "hashed": (HashingVectorizer(lowercase=False, n_features=2**16), ["May"]),
}


@pytest.mark.parametrize("case", SPELLED)
def test_words_are_marked_as_the_vectorizer_spells_them(case: str, tmp_path: Path):
    """Also from a file, and of explanations that were put behind each other."""
    step, expected = SPELLED[case]
    texts = ["May day", "it may rain", "May sun", "wet night"] * 5
    model = make_pipeline(step, LogisticRegression(C=9)).fit(texts, [1, 0, 1, 0] * 5)
    document = "In May it may rain, MAY it not?"
    explainer = SufficientReasonExplainer(model, texts, delta=0.3, include=_named(model, "May"))
    found = explainer([document])
    found.save(tmp_path / "text.npz")
    again = ReasonExplanation.load(tmp_path / "text.npz")
    assert again.reasons.spelling == found.reasons.spelling
    both = ReasonExplanation.concatenate([found, explainer(["wet night"]), found])
    for one in (found, again, both[2:]):
        assert drawn(plots.text(one, [document]))[1] == expected


def _named(model: Any, word: str) -> list[str]:
    """Return the feature that a word is, or is hashed to."""
    step = model[0]
    if isinstance(step, HashingVectorizer):
        return [f"hash {step.transform([word]).indices[0]}"]
    return [step.build_preprocessor()(word)]


def test_accents_matter_unless_they_are_stripped():
    """What a vectorizer keeps apart is not marked together."""
    texts = ["café day", "cafe night", "café sun", "cafe wet"] * 5
    for accents, expected in ((None, ["café"]), ("unicode", ["café", "cafe"])):
        step = TfidfVectorizer(strip_accents=accents)
        model = make_pipeline(step, LogisticRegression(C=9)).fit(texts, [1, 0, 1, 0] * 5)
        name = "café" if accents is None else "cafe"
        explainer = SufficientReasonExplainer(model, texts, delta=0.3, include=[name])
        document = "a café or a cafe"
        assert drawn(plots.text(explainer([document]), [document]))[1] == expected


def test_what_speaks_against_the_class_is_told():
    """In the sentence, the table and the reason itself; supporting_only leaves it out."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 6))
    model = LogisticRegression().fit(X, X @ [3, 2, 1, 1, 1, 1] + rng.normal(size=80) > 0)
    found = SufficientReasonExplainer(model, X, delta=0.95)(X)
    some = np.flatnonzero(found.reasons.against.sizes)
    assert len(some)
    reason = found.reasons[int(some[0])]
    towards = 1 if reason.prediction else -1
    assert set(reason.against) == {
        u for u in reason.features if towards * found.values[int(some[0]), u] < 0
    }
    assert ", although " in str(reason)
    names = tuple(f"x{u}" for u in reason.features if u in reason.against)
    assert found.to_frame()["against"].iloc[int(some[0])] == names
    only = SufficientReasonExplainer(model, X, delta=0.9, supporting_only=True, on_error="flag")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        told = only(X)
    assert not told.reasons.against.sizes.any()
    assert "although" not in "".join(map(str, told.reasons))
    assert "supporting features" in told.describe(0)


def test_words_that_the_font_lacks_are_marked():
    """Each of their letters is a box, on a coloured ground as any word of the reason."""
    texts = ["服务器 and mail", "服务器 and post", "apple and mail", "apple and post"]
    model = make_pipeline(CountVectorizer(), LogisticRegression(C=9)).fit(texts, [1, 1, 0, 0])
    found = SufficientReasonExplainer(model, texts, delta=0.9, include=["服务器"])(texts[:1])
    assert "\N{WHITE SQUARE}" * 3 in drawn(plots.text(found, texts[:1]))[1]


def test_a_number_beside_a_text_is_no_word_of_it():
    """It stands below, also if the text has its name; words of another text stand there, too."""
    frame = pd.DataFrame({"title": ["age of pies", "new age"] * 4, "age": [0, 3] * 4})
    steps = make_column_transformer((CountVectorizer(), "title"), ("passthrough", ["age"]))
    model = make_pipeline(steps, LogisticRegression()).fit(frame, [0, 1] * 4)
    found = SufficientReasonExplainer(model, frame, include=["age"], exclude=["title: age"])(frame)
    everything, marked = drawn(plots.text(found[1], frame["title"][1]))
    assert "age = 3" in everything
    assert "age" not in marked
    frame = pd.DataFrame({"title": ["red pie", "red tart"] * 4, "body": ["red", "blue"] * 4})
    steps = make_column_transformer((CountVectorizer(), "title"), (CountVectorizer(), "body"))
    model = make_pipeline(steps, LogisticRegression()).fit(frame, [0, 1] * 4)
    found = SufficientReasonExplainer(model, frame, include=["body: red", "title: pie"])(frame[:1])
    everything, marked = drawn(plots.text(found, frame["title"][:1]))
    assert 'body: "red"' in everything
    assert marked == ["pie"]
    message = (
        "documents must be a column with its name, such as X['body'], since the reasons have words "
        "of 'body' and 'title'; got None for its name."
    )
    with pytest.raises(InvalidInputError, match=f"^{re.escape(message)}$"):
        plots.text(found, ["red pie"])


def test_only_rows_that_are_not_drawn_are_left_out():
    """What was explained can be drawn as it is: no text is asked for of an invalid row."""
    texts: Any = [TEXTS[0], None, TEXTS[1]]
    with pytest.warns(UserWarning, match="1 invalid"):
        found = explained(CountVectorizer(), texts)
    assert drawn(plots.text(found, texts))[0].endswith("left out: 1 invalid")
    with pytest.warns(UserWarning, match="unreachable"):
        found = explained(CountVectorizer(), ["pie"], present_only=True, exclude=["pie"])
    everything, _ = drawn(plots.text(found, ["pie"]))
    assert "short of 0.9" in everything
    assert "left out" not in everything


@pytest.mark.parametrize("output", ["values", "mask", "rows"])
@pytest.mark.parametrize("kind", [list, tuple, np.array, pd.Series])
def test_a_transformer_takes_texts(kind: Any, output: str):
    """A Pipeline with a vectorizer gives what its classifier gives for the matrix."""
    model = make_pipeline(CountVectorizer(), LogisticRegression(C=9))
    options: dict[str, Any] = {"delta": 0.5, "present_only": True, "output": output}
    step = SufficientReasonTransformer(model, **options).fit(kind(TEXTS), Y)
    found = step.transform(kind(TEXTS[:3]))
    matrix = step.estimator_[0].transform(TEXTS)
    inner = SufficientReasonTransformer(LogisticRegression(C=9), **options).fit(matrix, Y)
    expected = inner.transform(matrix[:3])
    if output != "rows":
        assert sparse.issparse(found)
        found, expected = found.toarray(), expected.toarray()
    np.testing.assert_allclose(found, expected, atol=1e-12)
    words = step.get_feature_names_out()
    assert list(words) == list(step.estimator_[0].get_feature_names_out())
    assert list(step.get_feature_names_out(["text"])) == list(words)


NO_TEXTS = {
    "a generator": (lambda: (t for t in TEXTS), "got generator. Pass a list of them."),
    "a set": (lambda: {"pie"}, "got {'pie'}. Pass a list of them."),
}


@pytest.mark.parametrize("case", NO_TEXTS)
def test_what_is_no_sequence_of_texts_says_so(case: str):
    """Something to go through once is no sequence."""
    make, message = NO_TEXTS[case]
    with pytest.raises(InvalidInputError, match=f"^X must be a sequence of texts, {message}$"):
        explained(CountVectorizer(), make())


NO_BACKGROUND = {
    "nothing": (list, "masker must have at least one row, got none."),
    "a generator": (
        lambda: (t for t in TEXTS),
        "masker must be None, 'uniform', data with two dimensions, a shap masker or a "
        "distribution, got generator. Pass a list of what it gives.",
    ),
    "a gap": (
        lambda: [*TEXTS, None],
        "masker must hold texts, got None in row 6. Leave that row out, or write '' for a text "
        "without words.",
    ),
}


@pytest.mark.parametrize("case", NO_BACKGROUND)
def test_what_is_no_background_of_texts_says_so(case: str):
    """What was wrong with it, and what to do."""
    make, message = NO_BACKGROUND[case]
    model = make_pipeline(CountVectorizer(), LogisticRegression(C=9)).fit(TEXTS, Y)
    with pytest.raises(InvalidInputError, match=f"^{re.escape(message)}$"):
        SufficientReasonExplainer(model, make())
