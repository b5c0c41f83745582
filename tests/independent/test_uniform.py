"""The search for minimum reasons, against brute force and the paper's examples."""

import time
from fractions import Fraction
from itertools import accumulate, combinations
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sklearn_probsr import (
    LinearModel,
    guarantee,
    guarantee_curve,
    sufficient_reason,
    sufficient_reasons,
)
from sklearn_probsr.core.answers import Found
from sklearn_probsr.core.law import Memo
from sklearn_probsr.core.options import Task
from sklearn_probsr.core.search import search
from sklearn_probsr.exceptions import UnreachableError
from sklearn_probsr.extend import Enclosure, law_of
from sklearn_probsr.independent.certainty import Instance
from sklearn_probsr.independent.ranks import Ranks
from sklearn_probsr.independent.uniform import UniformLaw, UniformView
from sklearn_probsr.model.numbers import decimal_fraction
from tests.interpreted import examples
from tests.oracle import Case, subset_count
from tests.strategies import cases, levels, models

PAPER = LinearModel([5, 1, -3, 2, -1], 5)
PAPER_X = [1, 0, 0, 1, 1]


# --- soundness against brute force -------------------------------------------------------------


@settings(max_examples=examples(1000))
@given(cases(largest=9), levels())
def test_the_minimum_is_the_minimum(case: Case, delta: float):
    """Enclosed, strict, and of the least size among all sets, whatever the weights."""
    reason = sufficient_reason(models(case), case.x, delta=delta)
    truth = case.guarantee(reason.features)
    assert Fraction(reason.guarantee.lower) <= truth <= Fraction(reason.guarantee.upper)
    assert truth >= decimal_fraction(delta)
    assert reason.guarantee >= delta
    assert reason.minimality == "minimum"
    assert reason.epsilon == 0
    assert reason.size == case.minimum_size(decimal_fraction(delta))
    assert reason.prediction == int(case.label)


@settings(max_examples=examples(600))
@given(cases(largest=14), st.data())
def test_any_set_is_enclosed(case: Case, data: st.DataObject):
    """The guarantee of whatever set a user brings holds the exact rational; small ones are it."""
    features = data.draw(st.sets(st.integers(0, case.d - 1)))
    found = guarantee(models(case), case.x, features)
    truth = case.guarantee(features)
    assert Fraction(found.lower) <= truth <= Fraction(found.upper)
    assert found.exact == truth


@settings(max_examples=examples(400))
@given(cases(largest=12))
def test_the_curve_is_enclosed_and_best(case: Case):
    """Every v_k is held; no set of k features beats the first k; bounds never decrease."""
    curve = guarantee_curve(models(case), case.x)
    assert len(curve) == case.d + 1
    order = curve.order.tolist()
    assert sorted(order) == list(range(case.d))
    for k in range(case.d + 1):
        truth = case.guarantee(order[:k])
        assert Fraction(curve.lower[k]) <= truth <= Fraction(curve.upper[k])
        if case.d <= 7:
            assert truth == case.best(k) or truth == 1
    assert (np.diff(curve.lower) >= 0).all()
    assert (np.diff(curve.upper) >= 0).all()


@settings(max_examples=examples(600))
@given(cases(largest=7), levels(), st.data())
def test_constraints_against_brute_force(case: Case, delta: float, data: st.DataObject):
    """Forced in, forced out, and at most so many: still the best that brute force finds."""
    index = st.integers(0, case.d - 1)
    include = data.draw(st.sets(index, max_size=2))
    exclude = data.draw(st.sets(index, max_size=3)) - include
    max_size = data.draw(st.none() | st.integers(len(include), case.d))
    level = decimal_fraction(delta)
    truth = case.minimum_size(level, include, exclude)
    constraints = {"include": include, "exclude": exclude, "max_size": max_size}
    if truth is None and max_size is None:
        best = max(case.best(k, include, exclude) for k in range(len(include), case.d + 1))
        with pytest.raises(UnreachableError, match="cannot be reached for row 0") as caught:
            sufficient_reason(models(case), case.x, delta=delta, **constraints)
        assert f"is {Enclosure.of(best)}" in str(caught.value)
        return
    reason = sufficient_reason(models(case), case.x, delta=delta, **constraints)
    chosen = set(reason.features)
    assert include <= chosen
    assert not exclude & chosen
    assert len(reason.features) == len(chosen)
    exact = case.guarantee(chosen)
    assert Fraction(reason.guarantee.lower) <= exact <= Fraction(reason.guarantee.upper)
    if max_size is not None and (truth is None or truth > max_size):
        assert reason.minimality == "best-of-size"
        assert reason.size <= max_size
        sizes = range(len(include), max_size + 1)
        assert exact == max(case.best(k, include, exclude) for k in sizes)
    else:
        assert reason.minimality == "minimum"
        assert reason.size == truth
        assert exact >= level


# --- the paper's examples and constructions ----------------------------------------------------


def test_the_papers_first_table():
    """The probabilities of the greedy prefixes, as exact fractions."""
    curve = guarantee_curve(PAPER, PAPER_X)
    assert curve.order[:3].tolist() == [0, 2, 3]
    assert curve.lower.tolist() == curve.upper.tolist() == [1 / 4, 1 / 2, 7 / 8, 1, 1, 1]


def test_the_papers_second_table():
    """The probabilities of all ten sets of two features, as exact fractions."""
    eighths = {
        (0, 2): 7, (0, 3): 5, (2, 3): 4, (2, 4): 3, (1, 2): 3,
        (0, 4): 3, (0, 1): 3, (3, 4): 2, (1, 3): 2, (1, 4): 1,
    }  # fmt: skip
    assert set(eighths) == set(combinations(range(5), 2))
    for features, count in eighths.items():
        assert guarantee(PAPER, PAPER_X, features).exact == Fraction(count, 8)


@pytest.mark.smoke
def test_equality_counts():
    """v_2 is exactly 7/8, so it reaches 0.875 and not the next decimal."""
    assert sufficient_reason(PAPER, PAPER_X, delta=0.875).features == (0, 2)
    assert sufficient_reason(PAPER, PAPER_X, delta=0.8750001).size == 3


@pytest.mark.smoke
def test_the_papers_thousand_features():
    """One feature at 0.999999, 251 at certainty."""
    model = LinearModel([1000] + [1] * 999, 1250)
    x = [1] * 1000
    assert sufficient_reason(model, x, delta=0.999999).features == (0,)
    sure = sufficient_reason(model, x, delta=1)
    assert sure.size == 251
    assert sure.guarantee.lower == 1
    assert sure.minimality == "minimum"


@pytest.mark.parametrize(("delta", "epsilon"), [(0.6, 0.2), (0.75, 0.1), (0.9, 0.05)])
def test_the_size_gap(delta: float, epsilon: float):
    """A little more certainty can cost far more features (weights m, 1, ..., 1 and t = 2m)."""
    n = int(8 / epsilon**2)
    tails = [Fraction(count, 2**n) for count in accumulate(comb(n, k) for k in range(n, -1, -1))]

    def tail(m: int) -> Fraction:
        return tails[n - m]

    middle = Fraction(str(delta)) + Fraction(str(epsilon)) / 4
    m = next(k for k in range(n, 0, -1) if tail(k) >= middle)
    assert Fraction(str(delta)) <= tail(m) <= Fraction(str(delta)) + Fraction(str(epsilon)) / 2
    model = LinearModel([m] + [1] * n, 2 * m)
    x = [1] * (n + 1)
    small = sufficient_reason(model, x, delta=delta)
    large = sufficient_reason(model, x, delta=str_sum(delta, epsilon))
    assert small.size == 1
    # The proof's bound: k features add at most k / sqrt(n - k).
    k = large.size - 1
    assert k / np.sqrt(n - k) >= epsilon / 2
    assert large.size >= epsilon / 2 * np.sqrt(n) * 0.9


def str_sum(a: float, b: float) -> float:
    """Add two decimals as decimals."""
    return float(Fraction(str(a)) + Fraction(str(b)))


@given(st.lists(st.integers(1, 12), min_size=1, max_size=10), st.data())
def test_knapsack_counting(sizes: list[int], data: st.DataObject):
    """The guarantee of the empty set counts knapsacks: t = sum(s) - T, as corrected."""
    limit = data.draw(st.integers(0, sum(sizes)))
    model = LinearModel(sizes, sum(sizes) - limit)
    found = guarantee(model, [1] * len(sizes), ())
    assert found.exact == Fraction(subset_count(sizes, limit), 2 ** len(sizes))


def test_equal_parameters_other_than_a_half_are_not_claimed():
    """The paper's remark fails at p = 0.1: the greedy order is proved for fair coins only."""
    case = Case((1.0, -1.1), 0.5, False, (1, 0))
    reason = sufficient_reason(models(case), case.x, delta=0.5)
    assert str(reason.distribution) == "uniform completions"


# --- edges -------------------------------------------------------------------------------------


def test_delta_zero_needs_nothing():
    """The empty set suffices, and its guarantee is still enclosed."""
    reason = sufficient_reason(PAPER, PAPER_X, delta=0)
    assert reason.features == ()
    assert reason.guarantee.exact == Fraction(1, 4)
    assert np.isnan(reason.partial_instance).all()


def test_one_feature():
    """d = 1: the feature decides or it does not."""
    assert sufficient_reason(LinearModel([1.0], 1.0), [1]).features == (0,)
    assert sufficient_reason(LinearModel([1.0], -5.0), [1]).features == ()
    assert sufficient_reason(LinearModel([0.0], 0.0), [1]).features == ()


def test_an_instance_on_the_boundary():
    """With no margin left, every helpful feature is needed for certainty."""
    model = LinearModel([1.0, 1.0, 1.0], 3.0)
    assert sufficient_reason(model, [1, 1, 1], delta=1).size == 3
    assert sufficient_reason(model, [1, 1, 1], delta=0.25).size == 1


def test_all_scores_negative():
    """A class that every feature speaks against, yet holds for certain, has the empty reason."""
    model = LinearModel([-1.0, -2.0], -3.0)
    reason = sufficient_reason(model, [1, 1], delta=1)
    assert reason.prediction == 1
    assert reason.features == ()
    assert reason.guarantee.lower == 1


def test_a_tiny_weight_keeps_from_certainty():
    """s = (1, 1e-17), m = 1 is not certain: 1e-17 must be fixed, or 1 must."""
    model = LinearModel([1.0, 1e-17], 1e-17)
    reason = sufficient_reason(model, [1, 1], delta=1)
    assert reason.features == (0,)
    assert guarantee(model, [1, 1], ()).exact == Fraction(3, 4)


@pytest.mark.parametrize(("bits", "size"), [(90, 0), (100, 0), (101, 1)])
def test_a_delta_between_two_floats_below_one(bits: int, size: int):
    """One completion of 2^100 leaves the class: decided in integers, where floats see 1."""
    level = 1 - Fraction(1, 2**bits)
    reason = sufficient_reason(LinearModel([1.0] * 100, 1.0), [1] * 100, delta=level)
    assert reason.size == size
    assert reason.guarantee >= level
    assert reason.minimality == "minimum"


def test_an_empty_batch():
    """No rows, no reasons, no error."""
    found = sufficient_reasons(PAPER, np.zeros((0, 5)))
    assert len(found) == 0
    assert found.mask.shape == (0, 5)
    assert found.size.shape == found.lower.shape == found.minimality.shape == (0,)


# --- the batch ---------------------------------------------------------------------------------


@pytest.mark.parametrize("d", [12, 30, 100])
@pytest.mark.parametrize("lattice", [False, True])
def test_rows_do_not_depend_on_each_other(d: int, lattice: bool):
    """Any order and any chunking give the same reasons, bounds and claims."""
    rng = np.random.default_rng(d)
    weights = rng.integers(-9, 10, d).astype(float) if lattice else rng.standard_normal(d)
    model = LinearModel(weights, 0.25)
    rows = rng.integers(0, 2, (60, d))
    whole = sufficient_reasons(model, rows)
    shuffled = rng.permutation(60)
    again = sufficient_reasons(LinearModel(weights, 0.25), rows[shuffled])
    for name in ("mask", "lower", "upper", "minimality", "epsilon"):
        assert (getattr(whole, name)[shuffled] == getattr(again, name)).all()
    for i in (0, 17, 59):
        one = sufficient_reason(model, rows[i])
        assert one == whole[i]
        assert (one.partial_instance[list(one.features)] == rows[i][list(one.features)]).all()


@pytest.mark.parametrize("balanced", [False, True])
@pytest.mark.parametrize(("d", "n_rows"), [(30, 3000), (100, 3000), (500, 2000)])
def test_default_settings_decide_gaussian_models(d: int, n_rows: int, balanced: bool):
    """At least 99.9% of rows are claimed minimum; all are strict."""
    rng = np.random.default_rng(d)
    weights = rng.standard_normal(d)
    model = LinearModel(weights, float(weights.sum() / 2) if balanced else 0.0)
    found = sufficient_reasons(model, rng.integers(0, 2, (n_rows, d)))
    assert np.mean(found.minimality == "minimum") >= 0.999
    assert (found.lower >= 0.95).all()
    assert (found.upper - found.lower).max() < 5e-3
    assert np.median(found.upper - found.lower) < 1e-4


@pytest.mark.parametrize("d", [60, 200])
def test_a_large_lattice_model_against_a_dynamic_programme(d: int):
    """More than 53 free features on a lattice: sizes equal those of exact counts."""
    rng = np.random.default_rng(d)
    weights = rng.integers(-5, 6, d)
    model = LinearModel(weights, 1.5)
    rows = rng.integers(0, 2, (5, d))
    found = sufficient_reasons(model, rows, delta=0.9)
    for i, row in enumerate(rows):
        instance = Instance(model, row.astype(bool))

        def exact(features: list[int], instance: Instance = instance) -> Fraction:
            question = instance.subset_sum(features)
            return Fraction(
                subset_count(question.values, question.capacity), 2 ** len(question.values)
            )

        chosen = list(found[i].features)
        assert exact(chosen) >= Fraction(9, 10) > exact(chosen[:-1])
        assert Fraction(found.lower[i]) <= exact(chosen) <= Fraction(found.upper[i])


# --- undecided ---------------------------------------------------------------------------------


class Blurred(UniformView):
    """A view whose enclosures are as wide as a test wants: exact value ± radius."""

    radius = 0.05

    def enclose(self, fixed, delta=None, tol=1e-4):
        exact = guarantee(PAPER, PAPER_X, fixed)
        return Enclosure(max(exact.lower - self.radius, 0.0), min(exact.upper + self.radius, 1.0))


class BlurredLaw(UniformLaw):
    """Fair coins of which too little is known."""

    def view(self, row):
        return Blurred(Instance(self.core, row), Memo(1), lambda: Ranks.of(self.core, ()))

    def together(self, rows, task, found):
        return {}


def blurred(delta: str, slack: str | None = None) -> Found:
    task = Task(Fraction(delta), slack=None if slack is None else Fraction(slack))
    sharp = law_of(PAPER)
    law = BlurredLaw(PAPER, PAPER, sharp.distribution, sharp.source)
    return search(law, np.array([PAPER_X], dtype=bool), task)


def test_undecided_is_strict_and_says_its_epsilon():
    """v = 1/4, 1/2, 7/8, 1 known to ±0.05: at 0.9 size 2 may do, so size 3 is near-minimum."""
    found = blurred("0.9")
    assert found.minimality[0] == "near-minimum"
    assert found.sets.sizes[0] == 3
    assert found.size_lower[0] == 2
    # minimum for every level in (7/8, 1], so for one in [0.9, 0.9 + epsilon]
    assert 0.025 <= found.epsilon[0] < 0.0251


def test_slack_takes_the_smaller_set_when_it_is_close():
    """With a slack of 0.1 the set of size 2 is proved to reach 0.8, and is no larger than least."""
    found = blurred("0.9", slack="0.1")
    assert found.minimality[0] == "near-minimum"
    assert found.sets.sizes[0] == 2
    assert 0.075 <= found.epsilon[0] < 0.0751
    assert blurred("0.9", slack="0.01").sets.sizes[0] == 3


def test_a_near_tie_that_no_engine_settles():
    """Decimal weights make heavy near-ties at d = 60; the answer is strict and says epsilon."""
    weights = np.resize([0.1, 0.2, 0.3, 0.7], 60)
    model = LinearModel(weights, 7.0)
    found = sufficient_reasons(model, np.ones((1, 60)), delta=0.999)
    truth_at = [
        guarantee(LinearModel(np.resize([1, 2, 3, 7], 60), 70), np.ones(60), found[0].features[:k])
        for k in (found.size[0], found.size[0] - 1)
    ]
    assert found.lower[0] >= 0.999
    if found.minimality[0] == "near-minimum":
        assert 0 < found.epsilon[0] < 0.01
    assert truth_at[0].upper >= 0.999


# --- found by an audit -------------------------------------------------------------------------


def test_three_huge_weights_are_not_certainty():
    """At most one of three huge features may be missing: 7/8 in the guarantee and on the curve."""
    weights = [2.0**60] * 3 + [1 + i / 64 for i in range(50)]
    model = LinearModel(weights, sum(weights[3:]))
    x = np.ones(53)
    assert guarantee(model, x, ()).upper == pytest.approx(0.875, abs=1e-4)
    assert guarantee_curve(model, x).upper[0] == pytest.approx(0.875, abs=1e-4)
    assert sufficient_reason(model, x).size == 1
    on_the_edge = LinearModel([2.0**60] * 10 + [1.0] * 50, 10 * 2.0**60 + 50)
    edge = guarantee(on_the_edge, np.ones(60), ())
    assert Fraction(edge.lower) <= Fraction(1, 2**60) <= Fraction(edge.upper)
    assert edge.upper < 0.01


def test_forced_weights_that_floats_cannot_hold_beside_the_others():
    """Huge features forced in: counted in integers, whatever their size."""
    for huge, count in ((2.0**62, 4), (2.0**62, 3), (2.0**70, 2), (1e300, 2)):
        model = LinearModel([huge] * count + [1.0] * 40, 20)
        reason = sufficient_reason(model, np.ones(40 + count), include=range(count))
        assert reason.size == count
        assert reason.guarantee.lower == 1
    tiny = LinearModel([1e300, 1e-12, 1e-12, 1e-12], 2e-12)
    assert sufficient_reason(tiny, [0, 1, 1, 1], include=[0]).size == 3


def test_an_excluded_heavy_feature():
    """Every size has v = 1/2 for sure: the claim is no more than what is proved."""
    rng = np.random.default_rng(0)
    weights = np.r_[1000.0, rng.random(99)]
    model = LinearModel(weights, float(weights.sum() - 500))
    reason = sufficient_reason(model, np.ones(100), delta=0.5, exclude=[0], max_size=100)
    assert reason.guarantee.lower <= 0.5 <= reason.guarantee.upper
    assert reason.minimality in {"best-of-size", "near-minimum", "minimum"}
    if reason.minimality == "minimum":
        assert reason.size == 0


def test_the_curve_of_extreme_magnitudes():
    """2^1000 beside 2^-60 has a curve."""
    model = LinearModel([2.0**1000, 2.0**-60, *np.linspace(1, 2, 60)], 3.3)
    curve = guarantee_curve(model, np.ones(62))
    assert (curve.lower <= curve.upper).all()
    assert curve.lower[1] == 1


def test_an_undecided_largest_size():
    """By symmetry v_0 is at least 1/2; no engine sees it, and the answer does not deny it."""
    weights = 2 * np.random.default_rng(0).integers(2**29, 2**30, 60) / 2**30
    model = LinearModel(weights, float(weights.sum() / 2))
    reason = sufficient_reason(model, np.ones(60), delta=0.5, max_size=0)
    assert reason.minimality == "best-of-size"
    assert str(reason).endswith("the best set found of at most 0 features; 0.5 is not proved).")
    within = sufficient_reason(model, np.ones(60), delta=0.5, max_size=0, epsilon=0.01)
    assert within.minimality == "near-minimum"
    assert 0 < within.epsilon <= 0.01


@pytest.mark.parametrize("ratio", [0.5, 1 / 3])
def test_geometric_weights_are_answered_in_time(ratio: float):
    """Products that hardly decay do not send the tables to their largest degree."""
    weights = ratio ** np.arange(100.0)
    model = LinearModel(weights, float(weights.sum() / 2))
    start = time.process_time()
    sufficient_reason(model, np.ones(100), delta=0.5)
    assert time.process_time() - start < 5


def test_a_curve_near_a_lattice_is_drawn_in_time():
    """Weights that are equal up to noise keep heavy atoms; the curve stays honest and quick."""
    weights = 1 + 1e-13 * np.random.default_rng(0).normal(size=200)
    start = time.process_time()
    curve = guarantee_curve(LinearModel(weights, float(weights.sum() / 2)), np.ones(200))
    assert time.process_time() - start < 8
    assert (curve.lower <= curve.upper).all()


def test_what_is_merely_undecided_is_not_called_unreachable():
    """By symmetry v = 1/2 whatever is fixed; the error says "not proved", with the enclosure."""
    rng = np.random.default_rng(0)
    weights = np.r_[1000.0, rng.random(99)]
    model = LinearModel(weights, float(weights.sum() - 500))
    with pytest.raises(UnreachableError, match=r"^delta = 0\.5 is not proved for row 0 without"):
        sufficient_reason(model, np.ones(100), delta=0.5, exclude=range(60))


# --- whole numbers: certainty and few features -------------------------------------------------


def no_probabilities(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make tables and engines fail."""

    def refuse(*_: object) -> None:
        raise AssertionError("a probability is computed")

    for name in ("uniform.lattice_rows", "uniform.enclose_sum", "ranks.build_ladder"):
        monkeypatch.setattr(f"sklearn_probsr.independent.{name}", refuse)
    for name in ("lattice", "count"):
        monkeypatch.setattr(f"sklearn_probsr.independent.certainty.{name}", refuse)


FORCED = (3, 5)


def certain_size(model: LinearModel, row: np.ndarray, barred: tuple[int, ...]) -> int | None:
    """Return how many features beside some make the class certain, in exact rationals."""
    weights = [Fraction(w) for w in model.weights.tolist()]
    total = sum((w for w, x in zip(weights, row, strict=True) if x), -Fraction(model.threshold))
    sign = 1 if total >= 0 else -1
    # What the class loses at worst when a feature is unknown.
    worst = [
        max(sign * w if x else -sign * w, Fraction(0)) for w, x in zip(weights, row, strict=True)
    ]
    left = abs(total) - sum(worst)
    free = sorted((w for i, w in enumerate(worst) if i not in barred), reverse=True)
    for k, known in enumerate(accumulate(free, initial=left + sum(worst[i] for i in FORCED))):
        if known > 0 or (known == 0 and sign > 0):
            return k
    return None


@pytest.mark.parametrize("d", [7, 40, 300])
@pytest.mark.parametrize("lattice", [False, True])
def test_certainty_is_a_sort(d: int, lattice: bool, monkeypatch: pytest.MonkeyPatch):
    """With delta = 1 no probability is computed: sizes by exact rationals, a guarantee of 1."""
    no_probabilities(monkeypatch)
    rng = np.random.default_rng(d)
    weights = rng.integers(-9, 10, d) if lattice else rng.standard_normal(d)
    model, rows = LinearModel(weights, float(weights.sum() / 2)), rng.integers(0, 2, (30, d))
    excluded = min(set(range(d)) - {*FORCED}, key=lambda i: abs(weights[i]))
    task = {"include": FORCED, "exclude": [excluded]}
    sizes = [certain_size(model, row, (*FORCED, excluded)) for row in rows]
    rows = rows[[size is not None for size in sizes]]
    found = sufficient_reasons(model, rows, delta=1, **task)
    assert found.size.tolist() == [size + 2 for size in sizes if size is not None]
    assert found.size_lower.tolist() == found.size.tolist()
    assert set(found.minimality) == {"minimum"}
    for i, row in enumerate(rows):
        assert found[i].guarantee == Enclosure.of(Fraction(1))
        assert sufficient_reason(model, row, delta=1, **task).features == found[i].features
    longest = int(found.size.max())
    again = sufficient_reasons(model, rows, delta=1, **task, max_size=longest)
    assert again.mask.tolist() == found.mask.tolist()


@pytest.mark.parametrize("lattice", [False, True])
@pytest.mark.parametrize("d", [12, 100])
def test_the_best_set_short_of_certainty(d: int, lattice: bool):
    """With delta = 1 and a largest size: its best set, and how many would have been needed."""
    rng = np.random.default_rng(d)
    weights = rng.integers(-9, 10, d) if lattice else rng.standard_normal(d)
    model, rows = LinearModel(weights, float(weights.sum() / 2)), rng.integers(0, 2, (10, d))
    sure, found = (sufficient_reasons(model, rows, delta=1, max_size=m) for m in (None, 3))
    assert (sure.size > 3).all()
    assert set(found.minimality) == {"best-of-size"}
    assert found.size_lower.tolist() == sure.size.tolist()
    for i, row in enumerate(rows):
        best = guarantee_curve(model, row)
        assert found[i].size == 3
        assert best.lower[3] <= found.upper[i] < 1
        assert found.lower[i] <= best.upper[3]
        assert found.upper[i] - found.lower[i] <= 1e-4
        alone = sufficient_reason(model, row, delta=1, max_size=3)
        assert (alone.features, alone.guarantee) == (found[i].features, found[i].guarantee)


def test_certainty_that_cut_integers_cannot_tell():
    """A tie, and a weight below it that no 64 bits hold beside the first, are told apart."""
    tie = LinearModel([2.0**90, 2.0**-900], 2.0**90)
    assert sufficient_reason(tie, [1, 1], delta=1).features == (0,)
    below = LinearModel([2.0**90, -(2.0**-900)], 2.0**90)
    assert sufficient_reason(below, [1, 0], delta=1).features == (0, 1)
    for reasons in (
        sufficient_reasons(tie, [[1, 1], [0, 1]], delta=1),
        sufficient_reasons(below, [[1, 0], [1, 1]], delta=1),
    ):
        assert [reason.guarantee.exact for reason in reasons] == [1, 1]
        assert set(reasons.minimality) == {"minimum"}


@settings(max_examples=examples(300))
@given(cases(largest=12), levels(), st.data())
def test_few_features_are_counted(case: Case, delta: float, data: st.DataObject):
    """In a batch as alone, the guarantee of few features is the exact rational."""
    rows = data.draw(st.lists(st.tuples(*[st.integers(0, 1)] * case.d), min_size=1, max_size=4))
    most = data.draw(st.one_of(st.none(), st.integers(0, case.d)))
    model = models(case)
    found = sufficient_reasons(model, rows, delta=delta, max_size=most)
    for i, row in enumerate(rows):
        other = Case(case.weights, case.threshold, case.strict, row)
        least = other.minimum_size(decimal_fraction(delta))
        size = least if most is None else min(least, most)
        assert found[i].guarantee.exact == other.guarantee(found[i].features)
        assert found[i].size == size
        assert found[i].minimality == ("minimum" if size == least else "best-of-size")
        assert found[i].guarantee.exact == other.best(size)


@pytest.mark.parametrize("d", [1, 7, 16])
def test_few_features_need_no_tables(d: int, monkeypatch: pytest.MonkeyPatch):
    """The subsets of few features are counted before anything is built."""
    no_probabilities(monkeypatch)
    rng = np.random.default_rng(d)
    model = LinearModel(rng.standard_normal(d), 0.1)
    found = sufficient_reasons(model, rng.integers(0, 2, (20, d)), delta=0.9)
    assert set(found.minimality) == {"minimum"}
    assert all(reason.guarantee.exact is not None for reason in found)
