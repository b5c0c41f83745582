"""Rules and audits on the page: what the sections say, and that names in them do nothing."""

import re
from html import unescape
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from sklearn_probsr import (
    Comparison,
    LinearModel,
    SufficientReasonExplainer,
    audit,
    compare,
)
from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.results import Audit
from tests.report.page.test_page import HOSTILE, Parsed

JOB = HOSTILE[1]


@pytest.fixture(scope="module")
def asked() -> tuple[Comparison, SufficientReasonExplainer, Audit, pd.DataFrame]:
    """Applicants with hostile names, one of whom cannot be explained, labels twice in the index."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "age": rng.normal(40, 9, 80).round(1),
            JOB: rng.choice(["<i>a</i>", "b & c", "d\u202ee"], 80),
            "sex": rng.choice(["f", "m"], 80),
        },
        index=[i // 2 for i in range(80)],
    )
    y = (X["age"] / 9 + (X[JOB] == "b & c") * 2 + (X["sex"] == "m")) > 5.2
    steps = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), [JOB, "sex"]), ("passthrough", ["age"])
    )
    labels = np.where(y, "<b>yes</b>", "no")
    model = make_pipeline(steps, LogisticRegression(C=9, max_iter=1000)).fit(X, labels)
    rows = X[:40].copy()
    rows.iloc[3, 0] = np.inf
    explainer = SufficientReasonExplainer(model, X, delta=0.9)
    with pytest.warns(UserWarning, match="1 invalid"):
        found = compare(model, rows, X, delta=0.9)
    with pytest.warns(UserWarning, match="1 invalid"):
        seen = audit(model, rows, X, protected=["sex", JOB], delta=0.9)
    return found, explainer, seen, X


def section(page: str, name: str) -> str:
    """Return the HTML of a section."""
    found = re.search(rf'<section id="{name}".*?</section>', page, re.DOTALL)
    return "" if found is None else found[0]


def cells(html: str) -> list[list[str]]:
    """Return the texts of the cells of a table, line by line."""
    lines = re.findall(r"<tr><td.*?</tr>", html, re.DOTALL)
    return [
        [
            " ".join(unescape(re.sub("<[^>]*>", " ", cell)).split())
            for cell in re.findall("<td.*?</td>", each, re.DOTALL)
        ]
        for each in lines
    ]


def test_sections_say_what_the_results_say(asked, tmp_path: Path):
    """Rules as they are printed, counts as they are counted, bounds rounded down."""
    found, explainer, seen, X = asked
    rules = explainer(X[40:]).rules()
    cover = rules.cover(4)
    found.to_html(tmp_path / "page.html", rules=cover, audit=seen)
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    told = section(page, "rules")
    assert told.count("replacement by 80 background rows") == 1
    assert f"{len(cover)} rules, counted over 40 rows." in told
    for rule, line, n, right in zip(cover, cells(told), cover.matching, cover.right, strict=True):
        assert line[0].replace(" and", "").replace("⟨U+202E⟩", "\u202e").split() == [
            word for c in rule.conditions for word in str(c).split()
        ]
        assert line[1] == str(rule.prediction)
        sure = float(line[2].strip("≥ %")) / 100
        assert 0 <= rule.guarantee.lower - sure < 1.01e-4
        assert line[4].split()[0] == str(n)
        assert line[5].split()[0] == str(right)
    assert f"{cover.covered} of 40 rows satisfy at least one rule." in told
    assert f"{cover.agreeing} of {cover.covered} of these have the class" in told
    assert f"{cover.conflicts} of 40 rows satisfy rules of different classes." in told
    assert f"{cover.uncovered} of 40 satisfy none" in told
    told = section(page, "audit")
    assert told.count("replacement by 80 background rows") == 5
    assert "39 decisions, at guarantees of 90%" in told
    assert "1 row could not be explained and is left out." in told
    assert "no evidence that the feature is not used" in told
    lines = cells(told)
    groups = [seen.by_group(name) for name in ("sex", JOB)]
    assert len(lines) == sum(map(len, groups))
    assert sum(int(line[2]) for line in lines) == 2 * 39
    assert [line[1] for line in lines[: len(groups[0])]] == [v for _, v in groups[0].index]
    for line, (_, group) in zip(lines, groups[0].iterrows(), strict=False):
        assert float(line[8].strip("≥ %")) / 100 <= group["guarantee_without_lower"]
    # All rules instead of a cover: a few of them are chosen.
    found.to_html(tmp_path / "page.html", rules=rules)
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert len(cells(section(page, "rules"))) == len(rules.cover())
    assert not section(page, "audit")


def test_names_in_sections_do_nothing(asked, tmp_path: Path):
    """No element, attribute or script comes from a name, and nothing is loaded."""
    found, explainer, seen, X = asked
    found.to_html(tmp_path / "page.html", rules=explainer(X[40:]).rules(), audit=seen)
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    tags = Parsed(page).tags
    assert [tag for tag, _ in tags if tag in {"img", "i", "b"}] == []
    assert sum(tag == "script" for tag, _ in tags) == 2
    assert not any("style" in held or "onerror" in held for _, held in tags)
    assert "\u202e" not in page
    assert JOB in unescape(section(page, "audit"))
    view = seen._repr_html_()
    assert "<img" not in view
    assert "Audit of <b>sex" in view


def test_several_classes_say_that_they_are_conservative(tmp_path: Path):
    """The worst value in each duel, in words below the rules."""
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = LogisticRegression(max_iter=1000).fit(X, y)
    rules = SufficientReasonExplainer(model, X, delta=0.8)(X[::10]).rules()
    compare(model, X[:3], X, delta=0.8).to_html(tmp_path / "page.html", rules=rules)
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "they are conservative" in section(page, "rules")


def test_nothing_to_tell_is_told(tmp_path: Path):
    """No rules, and no decisions: sections without tables."""
    model = LinearModel([3, 2, -2], threshold=2, feature_names=["job", "home", "debt"])
    explained = SufficientReasonExplainer(model, delta=0.9)([[1, 1, 0]])
    nobody = audit(model, np.zeros((0, 3)), protected=["job"])
    compare(model, [[1, 1, 0]]).to_html(
        tmp_path / "page.html", rules=explained.rules()[:0], audit=nobody
    )
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "0 rules, counted over" in section(page, "rules")
    assert "0 decisions" in section(page, "audit")
    assert cells(section(page, "rules") + section(page, "audit")) == []


def test_other_things_are_refused(asked, tmp_path: Path):
    """Rules and audits must be what they are called; the features of an audit are known."""
    found, _, seen, _ = asked
    with pytest.raises(
        InvalidInputError,
        match=r"^rules must be what explanation\.rules\(\) returns, or its cover\(\), got list\.$",
    ):
        found.to_html(tmp_path / "page.html", rules=[])
    with pytest.raises(
        InvalidInputError, match=r"^audit must be what audit\(\.\.\.\) returns, got dict\.$"
    ):
        found.to_html(tmp_path / "page.html", audit={})
    assert not (tmp_path / "page.html").exists()
    with pytest.raises(
        InvalidInputError,
        match=rf"^feature must be one that was audited, 'sex', '{re.escape(JOB)}', got 'age'\.$",
    ):
        seen.by_group("age")
