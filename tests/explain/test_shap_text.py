"""shap's plots of texts, and of no rows at all, on reasons."""

import pickle
import re
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest
import shap
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from sklearn_probsr import ReasonExplanation, SufficientReasonExplainer
from tests.explained import explainer, explanation, tumours

TEXTS = ["the server is down", "lunch menu today", "please restart the server", "soup is good"] * 5


def told(vectorizer: Any, classes: int = 2) -> ReasonExplanation:
    model = make_pipeline(vectorizer, LogisticRegression(C=9))
    model.fit(TEXTS, np.arange(20) % 4 % classes)
    return SufficientReasonExplainer(model, TEXTS, delta=0.8)(TEXTS[:4])


def shown(html: str) -> set[str]:
    """Return the words on a coloured ground."""
    return {word.strip() for word in re.findall(r">([^<>]*)</div></div>", html)} - {""}


@pytest.mark.parametrize(
    "vectorizer", [CountVectorizer(), CountVectorizer(binary=True), TfidfVectorizer()], ids=str
)
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::RuntimeWarning")
def test_a_text_is_drawn_by_shap(vectorizer: Any, tmp_path: Path):
    """Its words, whose values are coloured, and all of which lead to the score; also of a file."""
    found = told(vectorizer)
    found.save(tmp_path / "found")
    again = ReasonExplanation.load(tmp_path / "found")
    for one in (found, again, pickle.loads(pickle.dumps(found))):
        html = shap.plots.text(one[0], display=False)
        assert shown(html) == {"the", "server", "is", "down"}
        score = one.reasons.model.margin(one.reasons.rows[:1])[0]
        assert f"{score:.5f}"[:6] in html
        assert "menu" in shown(shap.plots.text(one, display=False))
        assert one.data.dtype == float
        assert [w for w in one[0].data if w] == [
            f"{name} " for name, x in zip(one.feature_names, one.data[0], strict=True) if x
        ]


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::RuntimeWarning")
def test_a_text_among_several_classes_is_drawn_by_shap():
    """Once for every class."""
    html = shap.plots.text(told(CountVectorizer(), 4)[1], display=False)
    assert shown(html) >= {"lunch", "menu", "today"}


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_other_plots_of_a_text_show_its_numbers():
    """A waterfall writes how often a word occurs before it."""
    for found in (told(CountVectorizer()), told(CountVectorizer(binary=True))):
        shap.plots.waterfall(found[0], show=False)
        labels = {label.get_text() for label in plt.gca().get_yticklabels()}
        plt.close("all")
        assert any(re.fullmatch(r"[01] = (● )?server", label) for label in labels)
        assert found[0].as_guarantee()[0:].shape == found[0].shape
        assert found[0].reason_only.data.tolist() == found[0].data.tolist()


def test_no_rows_are_told_by_shap():
    """As it tells of a slice of its own to nothing, which has the same shape."""
    whole = explanation()
    theirs = shap.Explanation(whole.values, whole.base_values, whole.data)[:0]
    for none in (whole[:0], explainer()(tumours()[0][:0]), whole[[]], whole[:0, 3:5]):
        assert none.shape == theirs.shape == (0,)
        message = r"^The passed Explanation is empty, so there is nothing to plot\.$"
        with pytest.raises(ValueError, match=message):
            shap.plots.bar(none, show=False)
    plt.close("all")
    assert whole[:0].values.shape == (0, 30)
    assert whole[:0].of_prediction().values.shape == (0, 30)
