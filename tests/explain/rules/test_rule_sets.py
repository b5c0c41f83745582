"""Rules in the terms of the rows that an explainer takes; how many rows they speak of; covers."""

import pickle
import re
from fractions import Fraction

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    OneHotEncoder,
    SplineTransformer,
    StandardScaler,
)

from sklearn_probsr import (
    Background,
    LinearModel,
    Matching,
    Product,
    ReasonExplanation,
    SufficientReasonExplainer,
    Unit,
    plots,
    sufficient_reason,
)
from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.extend import register_law
from sklearn_probsr.results import RuleCover, Rules
from tests.core.test_own_law import Mixture, MixtureLaw
from tests.explained import change_file, explanation, tumours
from tests.rules.printed import satisfies


@pytest.fixture(scope="module")
def people():
    """Return people of all kinds of columns, with an index of their own, and a Pipeline."""
    rng = np.random.default_rng(0)
    n = 300
    X = pd.DataFrame(
        {
            "job": rng.choice(["nurse", "clerk", "cook", "admin", "pilot"], n),
            "age": rng.integers(18, 80, n),
            "income": np.exp(rng.normal(8, 1, n)).round(2),
            "children": rng.integers(0, 5, n),
            "height": rng.normal(170, 9, n).round(1),
            "bent": rng.normal(0, 1, n),
            "married": rng.integers(0, 2, n),
        },
        index=[f"r{i}" for i in range(n)],
    )
    X.loc[X.index[::7], "height"] = np.nan
    score = X.job.isin(["nurse", "admin"]) * 2 + (X.age - 50) / 12 + np.log(X.income) - 8
    score += X.children * 0.8 + (X.height.fillna(170) - 170) / 10 + X.bent**2 + X.married
    y = np.where(score > score.median(), "yes", "no")
    columns = make_column_transformer(
        (OneHotEncoder(), ["job"]),
        (KBinsDiscretizer(5, quantile_method="averaged_inverted_cdf"), ["age"]),
        (make_pipeline(FunctionTransformer(np.log1p), StandardScaler()), ["income"]),
        (StandardScaler(), ["children"]),
        (make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), ["height"]),
        (SplineTransformer(), ["bent"]),
        ("passthrough", ["married"]),
    )
    model = make_pipeline(columns, LogisticRegression(C=3, max_iter=1000)).fit(X, y)
    return model, X


@pytest.fixture(scope="module")
def told(people):
    """Return an explainer, an explanation of 40 rows and their rules over other rows."""
    model, X = people
    explainer = SufficientReasonExplainer(model, X[:150], delta=0.9)
    reasons = explainer(X[150:190])
    return explainer, reasons, reasons.rules(X[:250], held_out=X[250:])


def test_printed_rules_are_those_that_match_raw_rows(people, told):
    """A person with the text and the raw table selects the same rows; each row its own rule."""
    _, X = people
    _, reasons, rules = told
    assert isinstance(rules, Rules)
    assert len(rules) == len(reasons)
    kinds = set()
    for i, rule in enumerate(rules):
        assert rule.matches(X[150:190])[i]
        if "values seen" in rule.text:
            continue
        mine = [satisfies(rule.text, row) for _, row in X.iloc[:40].iterrows()]
        assert rule.matches(X[:40]).tolist() == mine
        kinds |= {kind for kind in ("≥", "≤", "<", "{", "married =") if kind in rule.text}
    assert kinds == {"≥", "≤", "<", "{", "married ="}


def test_missing_values_are_told_where_they_are_taken_for_others():
    """A gap is filled in with the median: rules that take that in take in gaps, and say so."""
    rng = np.random.default_rng(2)
    X = pd.DataFrame({"height": rng.normal(170, 9, 80).round(1), "weight": rng.normal(70, 9, 80)})
    y = X.height + X.weight / 2 > 200
    X.loc[::5, "height"] = np.nan
    model = make_pipeline(SimpleImputer(strategy="median"), StandardScaler(), LogisticRegression())
    explainer = SufficientReasonExplainer(model.fit(X, y), X, include=["height", "weight"])
    rules = explainer(X[:40]).rules()
    texts = {c.text for rule in rules for c in rule.conditions if c.feature == "height"}
    assert any(text.endswith(" or missing") for text in texts)
    assert any(not text.endswith(" or missing") for text in texts)
    for rule in rules:
        mine = [satisfies(rule.text, row) for _, row in X.iterrows()]
        assert rule.matches(X).tolist() == mine


def test_rules_hold_when_raw_rows_are_put_together(people, told):
    """Raw facts of a rule, completed by every raw background row, keep the class often enough."""
    model, X = people
    _, reasons, rules = told
    for i in range(0, 40, 7):
        rule, features = rules[i], [reasons.feature_names[j] for j in reasons.reasons[i].features]
        inside = X[rule.matches(X)]
        facts = inside[features].drop_duplicates().head(8)
        for _, row in facts.iterrows():
            completed = X[:150].copy()
            for name in features:
                completed[name] = row[name]
            kept = (model.predict(completed) == rule.prediction).mean()
            assert kept >= rule.guarantee.lower - 1e-12
        assert rule.guarantee.exact >= Fraction(9, 10)
        assert rule.widest


def test_cuts_of_functions_are_tried_on_the_fitted_steps(people, told):
    """A cut of a logarithm is in raw units, with few digits, and holds at the cut itself."""
    _, X = people
    _, _, rules = told
    seen = 0
    for i, rule in enumerate(rules):
        for condition in rule.conditions:
            if condition.feature == "income":
                cut = condition.low if np.isfinite(condition.low) else condition.high
                assert len(str(cut)) <= 9
                assert condition.coded is not None
                row = X[150 + i : 151 + i].copy()
                row["income"] = cut
                assert rule.matches(row)[0]
                seen += 1
    assert seen > 3


def test_the_frame_counts_as_a_recount_does(people, told):
    """Coverage and precision over the rows given, bounds only over those held out."""
    model, X = people
    _, reasons, rules = told
    frame = rules.to_frame()
    assert list(frame.columns) == [
        "rule", "prediction", "size", "guarantee_lower", "guarantee_upper", "coverage",
        "precision", "widest", "held_out_matching", "held_out_precision", "precision_lower",
        "precision_upper",
    ]  # fmt: skip
    assert list(frame.index) == list(X.index[150:190])
    for i in (0, 5, 30):
        inside = rules[i].matches(X[:250])
        assert frame.coverage.iloc[i] == inside.mean()
        right = model.predict(X[:250][inside]) == rules[i].prediction
        assert frame.precision.iloc[i] == right.mean()
        held = rules[i].matches(X[250:])
        assert frame.held_out_matching.iloc[i] == held.sum()
    assert (frame.precision_lower <= frame.held_out_precision.fillna(1)).all()
    over_background = reasons.rules().to_frame()
    assert "precision_lower" not in over_background
    assert over_background.coverage.iloc[0] == rules[0].matches(X[:150]).mean()


def test_rows_that_were_used_are_not_held_out(people, told):
    """Rows of the background are left out of the bound; with none left there is an error."""
    _, X = people
    _, reasons, _ = told
    mixed = reasons[:3].rules(held_out=pd.concat([X[:150], X[250:]]))
    alone = reasons[:3].rules(held_out=X[250:])
    pd.testing.assert_frame_equal(mixed.to_frame(), alone.to_frame())
    with pytest.raises(InvalidInputError, match="got 150 rows, none of which is new"):
        reasons[:3].rules(held_out=X[:150])


def test_a_cover_counts_as_a_recount_does(people, told):
    """Covered, uncovered and conflicting rows, and those that each rule adds."""
    model, X = people
    _, reasons, rules = told
    cover = rules.cover(max_rules=6)
    assert isinstance(cover, RuleCover)
    assert list(cover) == list(cover.rules)
    assert len(cover) == len(cover.rules) <= 6
    hits = np.array([rule.matches(X[:250]) for rule in cover])
    labels = np.array([rule.prediction for rule in cover])
    assert cover.covered == hits.any(axis=0).sum()
    assert cover.uncovered == 250 - cover.covered
    yes, no = hits[labels == "yes"].any(axis=0), hits[labels == "no"].any(axis=0)
    assert cover.conflicts == (yes & no).sum()
    first = labels[hits.argmax(axis=0)]
    right = hits.any(axis=0) & (first == model.predict(X[:250]))
    assert cover.agreeing == right.sum()
    frame = cover.to_frame()
    assert frame.rows_added.sum() == cover.covered
    assert frame.covered_so_far.iloc[-1] == cover.covered / 250
    assert rules.cover(50, min_coverage=0.2).covered >= 50
    assert len(rules.cover(50, min_coverage=0.2)) < len(rules.cover(50))
    assert rules.cover(3).summary() in rules.cover(3).to_markdown()
    assert reasons.rules().cover(5).n_rows == 40


def test_words_tables_and_views_do_nothing(people, told):
    """Markdown and HTML show names as they are; the sentence says what is promised, and no more."""
    units = [Unit.real("<b>|age", 0), Unit.real("b", 1)]
    model = LinearModel([1, 1], threshold=60, units=units, classes=("<i>", "yes"))
    X = np.array([[20.0, 2], [70, 1], [50, 3], [80, 4]])
    rules = SufficientReasonExplainer(model, X, delta=0.75)(X).rules()
    for text in (rules._repr_html_(), rules.cover()._repr_html_()):
        assert "<b>|age" not in text
        assert "&lt;b&gt;|age" in text
    assert "<b>" not in rules.to_markdown() + rules.cover().to_markdown()
    said = str(rules[1])
    assert "whoever satisfies it gets class yes with probability at least" in said
    assert "when the other features are replaced" in said
    assert str(rules).count("\n") == 3


def test_rules_go_along_with_slices_pickles_and_files(told, tmp_path):
    """A slice has its own rules; a pickle reads raw rows; a file has rules of columns."""
    _, reasons, rules = told
    again = pickle.loads(pickle.dumps(reasons))
    assert [r.text for r in again[3:9].rules()] == [r.text for r in rules[3:9]]
    assert reasons[4].rules()[0].text == rules[4].text
    assert pickle.loads(pickle.dumps(rules))[0].text == rules[0].text
    reasons.save(tmp_path / "reasons.npz")
    loaded = ReasonExplanation.load(tmp_path / "reasons.npz").rules()
    for mine, other in zip(rules, loaded, strict=True):
        assert mine.prediction == other.prediction
        assert abs(mine.guarantee.lower - other.guarantee.lower) < 0.1


def test_files_keep_what_categories_are_called(tmp_path):
    """Rules of loaded reasons name each category that shares a state with others."""
    rng = np.random.default_rng(0)
    jobs = ["nurse", "clerk", "cook", "smith", "rare", "rarer or rarest"]
    X = pd.DataFrame(
        {
            "job": rng.choice(jobs, 300, p=[0.3, 0.3, 0.2, 0.16, 0.02, 0.02]),
            "age": rng.integers(20, 70, 300),
        }
    )
    encoder = OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=20)
    steps = make_column_transformer((encoder, ["job"]), (StandardScaler(), ["age"]))
    model = make_pipeline(steps, LogisticRegression(C=9)).fit(
        X, X["job"].isin(["nurse", "smith"]) & (X["age"] > 35)
    )
    reasons = SufficientReasonExplainer(model, X, delta=0.9)(X[:12])
    reasons.save(tmp_path / "reasons.npz")
    loaded = ReasonExplanation.load(tmp_path / "reasons.npz")
    texts = [rule.text for rule in reasons.rules()]
    assert "job not in {nurse, smith} or missing" in texts
    assert [rule.text for rule in loaded.rules()] == texts
    loaded.save(tmp_path / "again.npz")
    again = ReasonExplanation.load(tmp_path / "again.npz").rules()
    assert [rule.text for rule in again] == texts
    assert [rule.slack for rule in again] == [rule.slack for rule in reasons.rules()]


@pytest.mark.parametrize(
    ("told", "problem"),
    [
        ([1], " must hold lists of 2, got 1"),
        ([[2, []]], " must be a whole number from 0 to 1, got 2"),
        ([[1, [["nurse", 0]]]], " must name states of feature 1"),
        ([[0, [["nurse", 9]]]], " must name states of feature 0"),
        ([[0, [["nurse"]]]], " must hold lists of 2, got ['nurse']"),
        ([[0, [[3, 0]]]], " must be a text of whole characters, got 3"),
        ([[0, []], [0, []]], " must hold different keys, got [[0, []], [0, []]]"),
    ],
)
def test_categories_of_a_file_are_checked(told, problem, tmp_path):
    """Whatever it says, they are those of states that a feature has."""
    units = [Unit.binary("job", 0), Unit.real("age", 1)]
    model, rows = LinearModel([1, 2], 1, units=units), [[0, 0.5], [1, 3.0]]
    SufficientReasonExplainer(model, rows)(rows).save(tmp_path / "r.npz")
    change_file(tmp_path / "r.npz", lambda meta: meta["reasons"].update(categories=told))
    with pytest.raises(InvalidInputError, match=re.escape(f"meta.reasons.categories{problem}")):
        ReasonExplanation.load(tmp_path / "r.npz")


def test_binary_columns_give_flags():
    """0/1 features cannot be widened, unless they may be anything: rules are sets of flags."""
    X = tumours()[0]
    rules = explanation().rules()
    for rule in rules:
        assert all(re.fullmatch(r".* = [01]", c.text) for c in rule.conditions)
        assert rule.slack == ()
    assert np.isnan(SufficientReasonExplainer((np.ones(3), -1.5))([[1, 1, 0]]).rules().coverage[0])
    assert rules.coverage[0] == rules[0].matches(X[:400]).mean()


def test_bad_rows_have_no_rule_and_match_none(people):
    """One bad row among others is skipped, named with its reason, and matches nothing."""
    model, X = people
    bad = X[150:155].copy()
    bad.iloc[2, 0] = "astronaut"
    explainer = SufficientReasonExplainer(model, X[:150], delta=0.9)
    with pytest.warns(UserWarning, match="1 of 5 rows"):
        reasons = explainer(bad)
    rules = reasons.rules()
    assert list(rules.labels) == ["r150", "r151", "r153", "r154"]
    assert "astronaut" in rules.skipped["r152"]
    assert not rules[0].matches(bad)[2]
    with pytest.raises(InvalidInputError, match="There is no rule of a row without a reason"):
        reasons.reasons[2].rule()


def test_reasons_at_less_than_delta_have_rules_at_their_own_guarantee():
    """Best-of-size and sampled ones: the level is what is proved, and said."""
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(80, 6))
    model = LinearModel([1, 2, -1, 1, 1, 3], 0.1, units=[Unit.real(f"f{i}", i) for i in range(6)])
    best = sufficient_reason(model, rows[0], distribution=Background(rows), max_size=1, delta=0.99)
    assert best.minimality == "best-of-size"
    rule = best.rule()
    assert rule.delta == pytest.approx(best.guarantee.lower)
    assert rule.guarantee.exact == best.guarantee.exact
    drawn = sufficient_reason(
        model, rows[0], distribution=Background(rows), method="monte-carlo", random_state=0
    )
    assert drawn.guarantee.confidence < 1
    sampled = drawn.rule()
    assert sampled.guarantee.confidence == 1
    assert sampled.guarantee.lower >= sampled.delta - 1e-12


def test_facts_that_are_equalities_have_no_rule():
    """Matching rows, and a law that does not say what may be lost: a clear error."""
    model = LinearModel([2, 1, 1], threshold=2)
    rows = np.random.default_rng(0).integers(0, 2, (60, 3))
    reason = sufficient_reason(model, [1, 1, 0], distribution=Matching(rows), delta=0.5)
    with pytest.raises(InvalidInputError, match="are equalities: other values are other rows"):
        reason.rule()


def test_a_law_of_ones_own_need_not_know_rules():
    """Without a method `rest` a reason is all that there is, and the error says so."""
    register_law(Mixture, MixtureLaw)
    mixture = Mixture(Product([0.2, 0.3, 0.4]), Product([0.9, 0.8, 0.6]), Fraction(1, 3))
    model = LinearModel([2, 1, 1], threshold=2)
    reason = sufficient_reason(model, [1, 1, 0], distribution=mixture, delta=0.85)
    with pytest.raises(InvalidInputError, match=r"does not say so\. Define its method `rest`"):
        reason.rule()


def test_bad_arguments_of_a_cover(told):
    """They are named, with what was given."""
    _, _, rules = told
    with pytest.raises(InvalidInputError, match=r"max_rules must be a whole number >= 1, got 0\."):
        rules.cover(0)
    with pytest.raises(InvalidInputError, match=r"min_coverage must lie in \[0, 1\], got 'x'\."):
        rules.cover(min_coverage="x")


def test_rules_and_covers_are_drawn(told):
    """One bar a rule, of which the part in colour has its class; nothing to draw is an error."""
    _, _, rules = told
    ax = plots.rules(rules.cover(4))
    assert len(ax.get_yticklabels()) == 4
    assert plots.rules(rules, max_display=3).get_yticks().tolist() == [0, 1, 2]
    plt.close("all")
    with pytest.raises(InvalidInputError, match=r"rules draws Rules or a RuleCover, got list\."):
        plots.rules([1])
    with pytest.raises(InvalidInputError, match=r"the explainer has no background\. Pass some to"):
        plots.rules(SufficientReasonExplainer((np.ones(3), -1.5))([[1, 1, 0]]).rules())
    with pytest.raises(InvalidInputError, match="rules needs at least one rule to draw"):
        plots.rules(rules[:0])
