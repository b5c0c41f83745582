"""What a notebook shows: escaped, without a script, light and dark, in a real browser."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from sklearn_probsr import (
    LinearModel,
    Matching,
    SufficientReasonExplainer,
    adapt,
    compare,
    sufficient_reasons,
)
from tests.report.browser import look

HOSTILE = "<script>document.title = 'run'</script> & \"quotes\" 職業"


@pytest.fixture(scope="module")
def views() -> dict[str, str]:
    """The view of every result, over a Pipeline whose names and categories are hostile."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {HOSTILE: rng.choice(["a", "b<br>", "c"], 60), "age": rng.normal(40, 9, 60)},
        index=[f"#{i} <i>" for i in range(60)],
    )
    y = np.where((X[HOSTILE] == "a") | (X["age"] > 45), "yes & no", "<b>no</b>")
    steps = make_column_transformer((OneHotEncoder(), [HOSTILE]), (StandardScaler(), ["age"]))
    pipeline = make_pipeline(steps, LogisticRegression()).fit(X, y)
    rows = X.iloc[:14].copy()
    rows.iloc[3, 1] = np.inf
    with pytest.warns(UserWarning, match="1 invalid"):
        found = SufficientReasonExplainer(pipeline, X, delta=0.9)(rows)
    with pytest.warns(UserWarning, match="1 invalid"):
        compared = compare(pipeline, rows, X, delta=0.9)
    return {
        "many": found._repr_html_(),
        "one": found[1]._repr_html_(),
        "flagged": found[3]._repr_html_(),
        "reason": found.reasons[0]._repr_html_(),
        "adapted": adapt(pipeline, X)._repr_html_(),
        "comparison": compared._repr_html_(),
    }


def test_views_say_what_the_sentences_say(views: dict[str, str]):
    """Facts, sizes, bounds and claims of a reason, and how many rows are not shown."""
    assert "&lt;script&gt;document.title = " in views["one"]
    assert "Row #1 &lt;i&gt;: class <b>" in views["one"]
    assert "Over replacement by 60 background rows." in views["reason"]
    assert "no smaller set reaches 0.9." in views["reason"]
    assert "Row #3 &lt;i&gt;: no class, no reason" in views["flagged"]
    assert "<b>14 rows</b> at delta = 0.9" in views["many"]
    assert "<p>4 more rows. reasons[0] is reasons.loc[" in views["many"]
    assert "invalid: " in views["many"]
    assert "<td>3 states</td>" in views["adapted"]
    assert "any number" in views["adapted"]
    assert "1 of 14 rows is left out" in views["comparison"]
    assert "4 more rows; to_frame() has all rows and columns." in views["comparison"]


def test_views_of_other_answers():
    """An empty reason, no rows, an estimate, a bound of size, and rows that share the facts."""
    model = LinearModel([3, 1, 1], 0)
    rows = np.array([[1, 0, 1], [1, 1, 0]])
    many = sufficient_reasons(model, rows, delta=0.9)
    assert "whatever the features are" in many[0]._repr_html_()
    assert "whatever the features are" in many._repr_html_()
    assert "<b>0 rows</b>" in many[:0]._repr_html_()
    short = sufficient_reasons(LinearModel([1, 1, 1], 2), rows, delta=0.99, max_size=1)[0]
    assert "the best set found of at most 1 feature; 0.99 is not reached" in short._repr_html_()
    drawn = sufficient_reasons(
        LinearModel([1, 1, 1], 2), rows, delta=0.9, method="monte-carlo", epsilon=0.2,
        random_state=0,
    )  # fmt: skip
    assert "with confidence 0.99" in drawn[0]._repr_html_()
    data = np.random.default_rng(0).integers(0, 2, (80, 3))
    shared = sufficient_reasons(
        LinearModel([2, 1, 1], 2), data[:1], delta=0.8, distribution=Matching(data, random_state=0)
    )
    assert "of the rows that share these facts" in shared[0]._repr_html_()


def test_views_mark_what_speaks_against():
    """One of two facts does, behind an although."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    model = LogisticRegression(solver="newton-cholesky").fit(X, y)
    found = SufficientReasonExplainer(model, X, delta=0.95)(X[9:10])
    told = "<li>although worst area = 711.4</li>"
    assert told in found[0]._repr_html_()
    assert "<td>worst texture = 40.68; although worst area = 711.4</td>" in found._repr_html_()


def contrast(first: list[float], second: list[float]) -> float:
    """Return the contrast of two colours, as accessibility guidelines compute it."""

    def light(colour: list[float]) -> float:
        parts = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour]
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]

    a, b = sorted((light(first), light(second)))
    return (b + 0.05) / (a + 0.05)


LOOKED_AT = """
const rgb = (c) => c.match(/[\\d.]+/g).slice(0, 3).map((x) => x / 255);
const page = rgb(getComputedStyle(document.body).backgroundColor);
return {
  texts: [...document.querySelectorAll('.probsr, .probsr td, .probsr th, .probsr b')].map(
    (e) => rgb(getComputedStyle(e).color)),
  page, wide: document.documentElement.scrollWidth, run: document.title,
  scripts: document.scripts.length, shown: document.querySelectorAll('.probsr table').length,
};
"""


@pytest.mark.parametrize("themed", ["", "data-jp-theme-light=false", "data-jp-theme-light=true"])
def test_views_in_a_browser(driver: Any, views: dict[str, str], tmp_path: Path, themed: str):
    """Readable in light and dark, whoever decides it; nothing is too wide, and nothing runs."""
    path = tmp_path / "views.html"
    dark = "background:#111;color:#ddd"
    own = f"@media(prefers-color-scheme:dark){{body{{{dark}}}}}" if not themed else ""
    own += f"body[data-jp-theme-light=false]{{{dark}}}"
    path.write_text(
        "<!doctype html><meta charset=utf-8><title>views</title>"
        f"<meta name=viewport content='width=device-width'><style>body{{background:#fff;"
        f"color:#222}}{own}</style><body {themed}>{''.join(views.values())}",
        encoding="utf-8",
    )
    for width, scheme in ((390, "light"), (390, "dark"), (1280, "light")):
        look(driver, width, prefers_color_scheme=scheme)
        driver.get(path.as_uri())
        seen = driver.execute_script(LOOKED_AT)
        assert (seen["run"], seen["scripts"], seen["shown"]) == ("views", 0, 3)
        assert seen["wide"] <= width
        assert min(contrast(colour, seen["page"]) for colour in seen["texts"]) >= 4.5
