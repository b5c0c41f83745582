"""Guarantees among the rows that share facts, against counting them and trying every set."""

import pickle
import re
from fractions import Fraction
from itertools import chain, combinations
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from sklearn_probsr import (
    Background,
    LinearModel,
    Matching,
    ReasonExplanation,
    SufficientReasonExplainer,
    Unit,
    compare,
    guarantee,
    guarantee_curve,
    plots,
    sufficient_reason,
    sufficient_reasons,
)
from sklearn_probsr.core.monte_carlo import clopper_pearson
from sklearn_probsr.exceptions import InvalidInputError, UnreachableError
from sklearn_probsr.model.numbers import decimal_fraction
from sklearn_probsr.rows import matching
from sklearn_probsr.rows.matching_kernels import worth
from tests.interpreted import examples
from tests.oracle import Case, matching_count
from tests.strategies import cases, levels, models

Rows = list[list[int]]


@st.composite
def splits(draw: st.DrawFn, d: int) -> tuple[Rows, np.ndarray, int]:
    """Draw rows with repetitions, which are held out, and a least number of rows."""
    row = st.lists(st.integers(0, 1), min_size=d, max_size=d)
    rows = draw(st.lists(row, min_size=2, max_size=24))
    held = np.array(draw(st.lists(st.booleans(), min_size=len(rows), max_size=len(rows))))
    held[0], held[-1] = True, False
    return rows, held, draw(st.integers(1, max(np.count_nonzero(~held) // 2, 1)))


def parts(rows: Rows, held: np.ndarray) -> tuple[Rows, Rows]:
    searched = [row for row, out in zip(rows, held, strict=True) if not out]
    return searched, [row for row, out in zip(rows, held, strict=True) if out]


def qualifying(
    case: Case, rows: Rows, least: int, delta: Fraction, units: list[int], forced: set[int]
) -> dict[frozenset[int], tuple[int, int]]:
    """Return every set with enough matching rows and a share of at least delta, with its count."""
    found = {}
    for chosen in chain.from_iterable(combinations(units, k) for k in range(len(units) + 1)):
        kept, n = matching_count(case, {*forced, *chosen}, rows)
        if n >= least and kept >= delta * n:
            found[frozenset({*forced, *chosen})] = kept, n
    return found


def best_worth(counts: Any) -> float:
    return max(worth(kept, n - kept) for kept, n in counts)


@settings(max_examples=examples(200))
@given(cases(largest=6), levels(), st.data())
def test_the_minimum_among_the_rows_searched(case: Case, delta: float, data: st.DataObject):
    """The set is as small as any that reaches delta there, and the best of its size."""
    rows, held, least = data.draw(splits(case.d))
    searched, confirming = parts(rows, held)
    law = Matching(rows, confirm=held, min_rows=least)
    level = decimal_fraction(delta)
    all_sets = qualifying(case, searched, least, level, list(range(case.d)), set())
    if not all_sets:
        with pytest.raises(UnreachableError, match=r"is not reached|cannot be reached"):
            sufficient_reason(models(case), case.x, delta=delta, distribution=law)
        return
    reason = sufficient_reason(models(case), case.x, delta=delta, distribution=law)
    size = min(map(len, all_sets))
    assert reason.minimality == "minimum"
    assert reason.size == size
    count = matching_count(case, reason.features, searched)
    alike = [counts for chosen, counts in all_sets.items() if len(chosen) == size]
    assert worth(count[0], count[1] - count[0]) == pytest.approx(best_worth(alike), abs=1e-12)
    assert reason.matches is not None
    own = case.x in map(tuple, searched)
    assert reason.matches.searched == (*count, len(searched) - own)
    kept, n = matching_count(case, reason.features, confirming)
    assert reason.matches.confirmed[:2] == (kept, n)
    known = guarantee(models(case), case.x, reason.features, distribution=law)
    assert reason.guarantee == known
    assert known.confidence == 0.95
    assert known.lower == clopper_pearson(kept, n, Fraction(1, 20))[0]


@settings(max_examples=examples(100))
@given(cases(largest=5), st.sampled_from([0.1, 0.3, 0.5, 0.7]), st.data())
def test_a_cautious_search_asks_for_a_lower_bound(case: Case, delta: float, data: st.DataObject):
    """The set is as small as any whose lower bound reaches delta in the rows searched."""
    rows, held, least = data.draw(splits(case.d))
    searched, _ = parts(rows, held)
    law = Matching(rows, confirm=held, min_rows=least, cautious=True)
    anything = qualifying(case, searched, least, Fraction(0), list(range(case.d)), set())
    enough = [len(s) for s, (kept, n) in anything.items() if worth(kept, n - kept) >= delta]
    if not enough:
        with pytest.raises(UnreachableError):
            sufficient_reason(models(case), case.x, delta=delta, distribution=law)
        return
    reason = sufficient_reason(models(case), case.x, delta=delta, distribution=law)
    assert reason.minimality == "minimum"
    assert reason.size == reason.size_lower == min(enough)
    assert "reaches" in str(reason)
    assert "by Wilson's lower bound in the" in str(reason)
    assert pickle.loads(pickle.dumps(law)).cautious


@settings(max_examples=examples(100))
@given(cases(largest=6), levels(), st.data())
def test_constraints_among_the_rows_searched(case: Case, delta: float, data: st.DataObject):
    """Forced in, forced out and at most so many, against all sets that qualify."""
    rows, held, least = data.draw(splits(case.d))
    searched, _ = parts(rows, held)
    index = st.integers(0, case.d - 1)
    include = data.draw(st.sets(index, max_size=2))
    exclude = data.draw(st.sets(index, max_size=2)) - include
    max_size = data.draw(st.integers(len(include), case.d))
    others = [i for i in range(case.d) if i not in include | exclude]
    level = decimal_fraction(delta)
    enough = qualifying(case, searched, least, level, others, include)
    anything = qualifying(case, searched, least, Fraction(0), others, include)
    arguments: dict[str, Any] = {
        "delta": delta,
        "distribution": Matching(rows, confirm=held, min_rows=least),
        "include": include,
        "exclude": exclude,
        "max_size": max_size,
    }
    if not anything:
        with pytest.raises(UnreachableError, match="min_rows"):
            sufficient_reason(models(case), case.x, **arguments)
        return
    reason = sufficient_reason(models(case), case.x, **arguments)
    assert include <= set(reason.features)
    assert not exclude & set(reason.features)
    small = [len(chosen) for chosen in enough if len(chosen) <= max_size]
    if small:
        assert (reason.minimality, reason.size) == ("minimum", min(small))
    else:
        assert reason.minimality == "best-of-size"
        assert reason.size <= max_size
        kept, n = anything[frozenset(reason.features)]
        best = best_worth(v for chosen, v in anything.items() if len(chosen) <= max_size)
        assert worth(kept, n - kept) == pytest.approx(best, abs=1e-12)


@settings(max_examples=examples(100))
@given(cases(largest=6), levels(), st.booleans(), st.data())
def test_without_a_budget(case: Case, delta: float, few: bool, data: st.DataObject):
    """A beam finds sets that reach delta, and only what was looked at is claimed of them."""
    rows, held, least = data.draw(splits(case.d))
    searched, _ = parts(rows, held)
    law = Matching(rows, confirm=held, min_rows=least)
    level = decimal_fraction(delta)
    all_sets = qualifying(case, searched, least, level, list(range(case.d)), set())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(matching, "_BUDGET", -1)
        if few:
            patch.setattr(matching, "_BUDGET_OF_PARTS", -1)
        try:
            reason = sufficient_reason(models(case), case.x, delta=delta, distribution=law)
        except UnreachableError as error:
            proved = "is not reached" not in str(error)
            assert not (all_sets and proved)
            return
    chosen = frozenset(reason.features)
    assert chosen in all_sets
    if reason.minimality == "minimum":
        assert reason.size == min(map(len, all_sets))
    elif reason.minimality == "subset-minimal":
        assert not any(other < chosen for other in all_sets)
    else:
        assert reason.minimality == "locally-minimal"
        assert not any(chosen - {u} in all_sets for u in chosen)


def test_best_without_a_budget(monkeypatch: pytest.MonkeyPatch):
    """With a size that is too small for delta, a beam finds the best set of that size."""
    rows = [[1, 1, 1]] * 8 + [[1, 1, 0], [1, 0, 1], [0, 1, 1], [0, 0, 1]] * 3
    model, held = LinearModel([1, 1, 1], 3), np.arange(20) % 2 == 1
    law = Matching(rows, confirm=held, min_rows=1)
    exact = sufficient_reason(model, [1, 1, 1], delta=1, distribution=law, max_size=1)
    monkeypatch.setattr(matching, "_BUDGET", -1)
    grown = sufficient_reason(model, [1, 1, 1], delta=1, distribution=law, max_size=1)
    assert grown.minimality == exact.minimality == "best-of-size"
    assert grown.features == exact.features


def unit_model() -> LinearModel:
    units = [
        Unit.one_hot("job", [0, 1], dropped=True),
        Unit("level", (2,), ((0.0,), (1.0,), (2.5,))),
        Unit.binary("smoker", 3),
    ]
    return LinearModel([1.0, -2.0, 0.75, 1.5], 1.0, units=units)


def unit_rows(n: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    job = np.array([[1, 0], [0, 1], [0, 0]])[rng.integers(0, 3, n)]
    level = np.array([0.0, 1.0, 2.5])[rng.integers(0, 3, n)]
    return np.column_stack([job, level, rng.integers(0, 2, n)])


def test_units_match_as_a_whole():
    """A fact is the state of a unit: all of its one-hot columns, the dropped category too."""
    model, rows = unit_model(), unit_rows(160, 0)
    law = Matching(rows, min_rows=4)
    columns = [[0, 1], [2], [3]]
    label = model.predict(rows)
    for x in unit_rows(30, 1):
        same = model.predict([x])[0] == label
        counts = {}
        for chosen in chain.from_iterable(combinations(range(3), k) for k in range(4)):
            at = [c for u in chosen for c in columns[u]]
            inside = (rows[:, at] == x[at]).all(axis=1)
            own = np.flatnonzero(~law.confirming & (rows == x).all(axis=1))[:1]
            inside[own] = False
            inside &= ~law.confirming
            counts[chosen] = np.count_nonzero(inside & same), np.count_nonzero(inside)
        enough = [len(s) for s, (kept, n) in counts.items() if n >= 4 and kept >= 0.8 * n]
        reason = sufficient_reason(model, x, delta=0.8, distribution=law, max_size=3)
        assert reason.matches is not None
        assert reason.matches.searched[:2] == counts[tuple(sorted(reason.features))]
        if enough:
            assert (reason.minimality, reason.size) == ("minimum", min(enough))
        else:
            assert reason.minimality == "best-of-size"


# --- what is counted -------------------------------------------------------------------------


@pytest.mark.smoke
def test_the_sentence():
    """It says what is shared, the bound and its confidence, the count, and what is descriptive."""
    rows = [[1, 1]] * 90 + [[1, 0]] * 40 + [[0, 0]] * 30
    model = LinearModel([1, 1], threshold=2, feature_names=["a", "b"])
    reason = sufficient_reason(model, [1, 1], distribution=Matching(rows))
    assert str(reason) == (
        "Of the rows that share b = 1, class 1 is kept in at least 0.913956 with confidence 0.95: "
        "in 41 of 41 such rows among 79 held out; 0.95 is not confirmed (descriptive, over all "
        "158 rows: 88 of 88; 1 of 2 features; no smaller set that at least 20 rows share reaches "
        "0.95 in the 79 rows searched)."
    )
    empty = sufficient_reason(model, [1, 0], delta=0.3, distribution=Matching(rows))
    assert empty.features == ()
    assert str(empty).startswith("Of all rows, class 0 is kept in at least 0.")
    assert "; 0.3 is confirmed (" in str(empty)
    held = np.arange(160) % 2 == 0
    shifted = [[1, 1] if out else [0, 0] for out in held]
    wrong = sufficient_reason(model, [0, 0], distribution=Matching(shifted, confirm=held))
    assert "in 0 of 80 such rows among 80 held out; 0.95 is refuted (" in str(wrong)


def test_the_row_itself_is_left_out():
    """A copy of the instance is left out of each part, one of several, and no other row."""
    model = LinearModel([1, 1], 2)
    rows = [[1, 1], [1, 1], [1, 1], [0, 1], [1, 1], [0, 1]]
    held = np.array([False, False, False, False, True, True])
    law = Matching(rows, confirm=held, min_rows=1)
    reason = sufficient_reason(model, [1, 1], delta=0.5, distribution=law)
    assert reason.features == ()
    assert reason.matches is not None
    assert reason.matches.searched == (2, 3, 3)
    assert reason.matches.confirmed == (0, 1, 1)
    assert reason.matches.descriptive == (2, 4, 4)
    assert reason.matches.coverage == 1
    # The lower bound is without the copy, the upper one with it: they hold either way.
    risk = Fraction(1, 20)
    assert reason.guarantee.lower == clopper_pearson(0, 1, risk)[0]
    assert reason.guarantee.upper == clopper_pearson(1, 2, risk)[1]
    other = sufficient_reason(model, [0, 0], delta=0.2, distribution=law)
    assert other.matches is not None
    assert other.matches.searched == (1, 4, 4)


def test_nothing_held_out_matches():
    """Of no rows nothing is known, and that is what the enclosure says."""
    law = Matching([[1], [1], [0]], confirm=[False, False, True], min_rows=1)
    known = guarantee(LinearModel([1], 1), [1], [0], distribution=law)
    assert (known.lower, known.upper) == (0.0, 1.0)


def test_all_and_none_are_asked_for():
    """At delta = 1 every matching row searched keeps the class; at 0 the empty set will do."""
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 2, (400, 6))
    model = LinearModel([3, 2, 2, 1, 1, 1], 5)
    law = Matching(rows)
    for x in rows[:40]:
        reason = sufficient_reason(model, x, delta=1, distribution=law, max_size=6)
        assert reason.matches is not None
        kept, n, _ = reason.matches.searched
        assert (kept == n) == (reason.minimality == "minimum")
        assert sufficient_reason(model, x, delta=0, distribution=law).features == ()


@pytest.mark.parametrize("cautious", [False, True])
def test_delta_0_is_reached_by_rows_none_of_which_keeps_the_class(cautious: bool):
    """No good rows are worth 0, whatever their number, and that reaches 0."""
    model = LinearModel([1, 1], 2)
    for n in range(1, 60):
        law = Matching(np.zeros((2 * n, 2)), min_rows=1, cautious=cautious)
        reason = sufficient_reason(model, [1, 1], delta=0, distribution=law)
        assert (reason.features, reason.minimality) == ((), "minimum")


def test_the_curve():
    """Along its order, every size has the enclosure of its set."""
    rng = np.random.default_rng(1)
    rows = rng.integers(0, 2, (300, 5))
    model, law = LinearModel([3, 2, 2, 1, 1], 5), Matching(rng.integers(0, 2, (300, 5)))
    curve = guarantee_curve(model, rows[0], distribution=law)
    assert sorted(curve.order.tolist()) == list(range(5))
    for k in range(6):
        known = guarantee(model, rows[0], curve.order[:k].tolist(), distribution=law)
        assert (curve.lower[k], curve.upper[k]) == (known.lower, known.upper)


# --- what splitting buys ---------------------------------------------------------------------


def test_enclosures_cover_at_their_confidence():
    """Of 1,000 data sets, the truth is enclosed in at least 95%; scored where it was searched, not.

    If it were just 95%, fewer than the bound below would happen once in a million runs; the seed
    is fixed. The model is the majority of 15 fair coins, so the truth is a binomial tail.
    """
    model = LinearModel([1] * 15, 8)
    rng = np.random.default_rng(8)
    covered, naive, runs = 0, 0, 1000
    for _ in range(runs):
        rows = rng.integers(0, 2, (800, 15))
        x = rng.integers(0, 2, 15)
        reason = sufficient_reason(model, x, delta=0.9, distribution=Matching(rows), max_size=15)
        agree = int((x[list(reason.features)] == reason.prediction).sum())
        truth = binom.sf(7 - agree, 15 - reason.size, 0.5)
        covered += reason.guarantee.lower <= truth <= reason.guarantee.upper
        assert reason.matches is not None
        kept, n, _ = reason.matches.searched
        lower, upper = clopper_pearson(kept, n, Fraction(1, 20))
        naive += lower <= truth <= upper
    assert covered >= binom.ppf(1e-6, runs, 0.95)
    assert naive < 0.85 * runs


# --- shells ----------------------------------------------------------------------------------


def tumours() -> tuple[LinearModel, np.ndarray]:
    rng = np.random.default_rng(5)
    rows = (rng.random((240, 6)) < 0.5).astype(int)
    rows[:, 1] = np.where(rng.random(240) < 0.8, rows[:, 0], rows[:, 1])
    return LinearModel([3, 2, 2, 1, 1, -1], 4, feature_names=list("abcdef")), rows


def test_the_explainer(tmp_path):
    """It takes Matching for a masker; tables, files, slices and plots work."""
    import matplotlib as mpl

    mpl.use("agg")
    model, rows = tumours()
    law = Matching(rows, min_rows=10)
    explainer = SufficientReasonExplainer(model, law, delta=0.9, max_size=6)
    found = explainer(rows[:70])
    direct = sufficient_reasons(model, rows[:70], delta=0.9, distribution=law, max_size=6)
    assert (found.reason_mask == direct.mask).all()
    assert (found.guarantee_lower == direct.lower).all()
    assert found.describe(0) == str(direct[0])
    frame = found.to_frame()
    first = direct[0].matches
    assert first is not None
    shown = frame.loc[0, ["coverage", "matching_rows", "kept_rows"]].tolist()
    assert shown == [first.coverage, first.confirmed.matching, first.confirmed.kept]
    assert frame["distribution"].tolist() == ["the matching ones of 240 rows"] * 70

    jobs = SufficientReasonExplainer(model, law, delta=0.9, max_size=6, n_jobs=2)(rows[:70])
    assert (jobs.reason_mask == found.reason_mask).all()

    found.save(tmp_path / "reasons.npz")
    again = ReasonExplanation.load(tmp_path / "reasons.npz")
    assert [again.describe(i) for i in range(70)] == [found.describe(i) for i in range(70)]
    assert again.distribution.min_rows == 10

    gained = found[:3].as_guarantee()
    assert gained.base_values + gained.values.sum(1) == pytest.approx(found.guarantee_lower[:3])
    assert "of 240 rows" in plots.waterfall(found[0]).get_title(loc="left")
    plots.waterfall(gained[0])
    plots.curve(found[:3])
    plots.frequency(found)
    plots.reasons_heatmap(found[:20])
    mpl.pyplot.close("all")


def test_an_empty_batch_has_a_table():
    """A table of no rows has the same columns."""
    model, rows = tumours()
    found = SufficientReasonExplainer(model, Matching(rows))(rows[:0])
    assert list(found.to_frame().columns[-3:]) == ["coverage", "matching_rows", "kept_rows"]


def test_a_pipeline():
    """Raw categories are split as they come, and are facts of the pipeline's units."""
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"job": rng.choice(["clerk", "nurse", "cook"], 200),
                          "town": rng.choice(["north", "south"], 200)})  # fmt: skip
    target = (frame["job"] == "nurse") | ((frame["job"] == "cook") & (frame["town"] == "north"))
    pipeline = make_pipeline(OneHotEncoder(), LogisticRegression()).fit(frame, target)
    law = Matching(frame, min_rows=5)
    explainer = SufficientReasonExplainer(pipeline, law)
    assert (explainer.distribution.confirming == law.confirming).all()
    nurse = int(np.flatnonzero(frame["job"] == "nurse")[0])
    text = explainer(frame.iloc[[nurse]]).describe(0)
    assert text.startswith("Of the rows that share job: nurse, class True is kept in at least")


def test_the_split():
    """It depends on the seed alone, and goes along when pickled."""
    rows = np.zeros((101, 1))
    law = Matching(rows, confirm=0.3)
    assert np.count_nonzero(law.confirming) == 30
    assert (Matching(rows, confirm=0.3).confirming == law.confirming).all()
    other = Matching(rows, confirm=0.3, random_state=1)
    assert (other.confirming != law.confirming).any()
    copy = pickle.loads(pickle.dumps(other))
    assert (copy.confirming == other.confirming).all()
    assert (copy.min_rows, copy.confidence) == (20, Fraction(19, 20))
    assert repr(copy) == "Matching(<101 rows, 1 columns>)"
    assert not law.confirming.flags.writeable


# --- bad input -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"min_rows": 60},
            "min_rows = 60 is more than the 50 rows that are searched: of 100 rows 50 are held out "
            "to confirm. Lower min_rows or confirm, or pass more rows.",
        ),
        ({"min_rows": 0}, "min_rows must be a whole number >= 1, got 0."),
        ({"min_rows": 2.5}, "min_rows must be a whole number >= 1, got 2.5."),
        ({"min_rows": True}, "min_rows must be a whole number >= 1, got True."),
        ({"random_state": -1}, "random_state must be a whole number >= 0, got -1."),
        ({"random_state": None}, "random_state must be a whole number >= 0, got None."),
        ({"confidence": 1.0}, "confidence must lie strictly between 0 and 1, got 1.0."),
        ({"confidence": "high"}, "confidence must lie strictly between 0 and 1, got 'high'."),
        ({"confidence": None}, "confidence must lie strictly between 0 and 1, got None."),
        (
            {"confirm": 0},
            "confirm must lie strictly between 0 and 1, or be one boolean per row, got 0.",
        ),
        (
            {"confirm": np.zeros(100, bool)},
            "confirm must be a share, or tell with a boolean for each of the 100 rows which are "
            "held out, at least one of them; got an array of shape (100,) and type bool with 0 "
            "such rows.",
        ),
        (
            {"confirm": [1, 2]},
            "confirm must be a share, or tell with a boolean for each of the 100 rows which are "
            "held out, at least one of them; got an array of shape (2,) and type int64 with 2 "
            "such rows.",
        ),
    ],
)
def test_bad_arguments(arguments: dict[str, Any], message: str):
    """Wrong settings are named, with what was received."""
    with pytest.raises(InvalidInputError, match=f"^{re.escape(message)}$"):
        Matching(np.zeros((100, 2)), **arguments)


def refused(model: LinearModel, x: Any, law: Matching, **options: Any) -> str:
    with pytest.raises((InvalidInputError, UnreachableError)) as error:
        sufficient_reasons(model, [x], distribution=law, **options)
    return str(error.value)


def test_what_nothing_reaches():
    """The error has the numbers: the best count, and the least number of rows."""
    rows = [[1, 1], [1, 0], [0, 1], [0, 0]] * 20
    held = np.arange(80) % 8 < 4
    model = LinearModel([1, 1], 2)
    law = Matching(rows, confirm=held, min_rows=15)
    assert refused(model, [1, 1], law) == (
        "delta = 0.95 cannot be reached for row 0: of the sets that at least min_rows = 15 of the "
        "39 rows searched share, the best by Wilson's lower bound keeps the class in 9 of 19. "
        "Lower delta or min_rows, or set max_size to get the best set all the same."
    )
    best = sufficient_reason(model, [1, 1], distribution=law, max_size=2)
    assert str(best).endswith(
        "; 1 of 2 features; the best set found of at most 2 features that at least 15 rows share; "
        "none found reaches 0.95 in the 39 rows searched)."
    )
    assert refused(model, [1, 1], law, include=[0, 1]) == (
        "min_rows = 15 is not reached for row 0: 9 of the 39 rows searched share the facts in "
        "include. Lower min_rows, or include fewer features."
    )
    assert refused(model, [1, 1], Matching(rows, confirm=held, min_rows=40), max_size=2) == (
        "min_rows = 40 is not reached for row 0: without a copy of the row itself, 39 rows are "
        "searched. Lower min_rows."
    )


def test_what_it_is_not_for():
    """Real-valued units, sampling methods and comparisons are refused with what to do."""
    real = LinearModel([1.0, 1.0], 1, units=[Unit.real("age", 0), Unit.binary("smoker", 1)])
    law = Matching([[0.5, 1], [1.5, 0]] * 30)
    assert refused(real, [0.5, 1], law) == (
        "Matching compares facts for equality, and 'age' is real-valued. Bin it first, for "
        "instance by a KBinsDiscretizer in the pipeline, or declare its values as states of a Unit."
    )
    model, rows = tumours()
    for method in ("monte-carlo", "paper"):
        assert refused(model, rows[0], Matching(rows), method=method) == (
            f"Matching counts rows and draws none: use method='certified', got {method!r}."
        )
    assert refused(model, rows[0], Matching(rows[:, :5])) == (
        "The background must have the model's columns, 6, got 5."
    )
    message = (
        "compare scores sets by what replaces the other features, and Matching replaces nothing. "
        "Pass data, or Background(X)."
    )
    with pytest.raises(InvalidInputError, match=f"^{re.escape(message)}$"):
        compare(model, rows[:3], Matching(rows))


def test_other_readings_have_no_matches():
    """A reason over replacements says nothing of matching rows."""
    model, rows = tumours()
    reason = sufficient_reason(model, rows[0], distribution=Background(rows))
    assert reason.matches is None
