"""Models of several classes, against exact counting."""

from __future__ import annotations

import pickle
import re
from fractions import Fraction
from itertools import chain, combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sklearn_probsr import (
    ArgmaxModel,
    Background,
    LinearModel,
    Marginals,
    Product,
    Unit,
    guarantee,
    guarantee_curve,
    sufficient_reason,
    sufficient_reasons,
)
from sklearn_probsr.exceptions import InvalidInputError, UnreachableError
from sklearn_probsr.extend import law_of
from tests.rival_classes import nothing_counted

# Numbers of one class that are far below those of another are rounded, as a warning says.
pytestmark = pytest.mark.filterwarnings("ignore:The (weight|intercept) .* is taken as")

NUMBERS = st.sampled_from([0.0, 1.0, -1.0, 2.0, 0.1, 0.2, 0.30000000000000004, -0.3, 3.5, 1e-9])


@st.composite
def models(draw: st.DrawFn, most: int = 5) -> ArgmaxModel:
    d, k = draw(st.integers(1, most)), draw(st.integers(2, 4))
    weights = [[draw(NUMBERS) for _ in range(d)] for _ in range(k)]
    return ArgmaxModel(weights, [draw(NUMBERS) for _ in range(k)], last=draw(st.booleans()))


def winner(model: ArgmaxModel, row: tuple[int, ...]) -> int:
    scores = [
        sum((Fraction(w) * x for w, x in zip(weights, row, strict=True)), Fraction(b))
        for weights, b in zip(model.weights.tolist(), model.intercepts.tolist(), strict=True)
    ]
    best = [k for k, score in enumerate(scores) if score == max(scores)]
    return best[-1] if model.last else best[0]


def kept(model: ArgmaxModel, x, fixed, completions) -> Fraction:
    """The share of weighted completions that keep the class of x, its fixed features known."""
    total = good = Fraction(0)
    for z, weight in completions:
        row = tuple(x[i] if i in fixed else z[i] for i in range(len(x)))
        total += weight
        good += weight * (winner(model, row) == winner(model, x))
    return good / total


def every_set(d: int) -> list[tuple[int, ...]]:
    return list(chain.from_iterable(combinations(range(d), k) for k in range(d + 1)))


def coins(d: int, p=None):
    for z in product((0, 1), repeat=d):
        weight = Fraction(1)
        for i, v in enumerate(z):
            chance = Fraction(1, 2) if p is None else p[i]
            weight *= chance if v else 1 - chance
        yield z, weight


@given(models(), st.data())
def test_the_largest_score_wins_exactly(model: ArgmaxModel, data: st.DataObject) -> None:
    """Also where scores tie, or differ by less than floats can tell."""
    rows = data.draw(st.lists(st.tuples(*[st.integers(0, 1)] * model.n_features), min_size=1))
    assert model.predict(rows).tolist() == [winner(model, row) for row in rows]
    for row in rows:
        c = winner(model, row)
        checked = model.check_rows([row])
        assert all(duel.is_positive(checked)[0] for duel in model.duels(c))
        assert model.margin([row])[0] >= 0


@given(models(), st.data())
def test_joint_rows_are_counted_exactly(model: ArgmaxModel, data: st.DataObject) -> None:
    """Every guarantee is the count, and what is claimed of a reason holds."""
    d = model.n_features
    rows = st.lists(st.tuples(*[st.integers(0, 1)] * d), min_size=1, max_size=6)
    background = data.draw(rows)
    x = data.draw(st.tuples(*[st.integers(0, 1)] * d))
    delta = data.draw(st.sampled_from([0.5, 0.75, 0.9, 1.0]))
    law = Background(background)
    completions = [(z, Fraction(1)) for z in background]
    shares = {s: kept(model, x, s, completions) for s in every_set(d)}
    for s, share in shares.items():
        assert guarantee(model, x, s, distribution=law).exact == share
    reason = sufficient_reason(model, x, delta=delta, distribution=law)
    assert reason.prediction == winner(model, x)
    level = Fraction(str(delta))
    assert shares[tuple(sorted(reason.features))] == reason.guarantee.exact >= level
    check_claim(reason, shares, level)


def check_claim(reason, shares, level) -> None:
    inside = set(reason.features)
    if reason.minimality == "minimum":
        assert not any(share >= level for s, share in shares.items() if len(s) < reason.size)
    if reason.minimality == "subset-minimal":
        assert not any(share >= level for s, share in shares.items() if set(s) < inside)
    if reason.minimality == "locally-minimal":
        below = [s for s in shares if set(s) < inside and len(s) == reason.size - 1]
        assert not any(shares[s] >= level for s in below)
    assert reason.minimality in {
        "minimum", "subset-minimal", "locally-minimal", "near-subset-minimal",
        "near-locally-minimal",
    }  # fmt: skip


@given(models(4), st.data())
def test_independent_units_are_counted(model: ArgmaxModel, data: st.DataObject) -> None:
    """With few completions every guarantee is the fraction, and a level that it is, is reached."""
    d = model.n_features
    x = data.draw(st.tuples(*[st.integers(0, 1)] * d))
    chances = st.sampled_from([Fraction(0), Fraction(1, 10), Fraction(1, 2), Fraction(1)])
    p = data.draw(st.one_of(st.none(), st.tuples(*[chances] * d)))
    law = None if p is None else Product(p)
    shares = {s: kept(model, x, s, list(coins(d, p))) for s in every_set(d)}
    for s, share in shares.items():
        assert guarantee(model, x, s, distribution=law).exact == share
    level = data.draw(st.sampled_from(sorted(shares.values())))  # of few digits: it is meant
    reason = sufficient_reason(model, x, delta=level, distribution=law)
    assert reason.guarantee.exact == shares[tuple(sorted(reason.features))] >= level
    assert reason.minimality == "minimum"
    check_claim(reason, shares, level)


@given(models(4), st.data())
def test_independent_units_are_enclosed(model: ArgmaxModel, data: st.DataObject) -> None:
    """The union bound and the worst rival enclose every guarantee; claims hold."""
    with nothing_counted():
        check_enclosed(model, data)


def check_enclosed(model: ArgmaxModel, data: st.DataObject) -> None:
    d = model.n_features
    x = data.draw(st.tuples(*[st.integers(0, 1)] * d))
    chances = st.sampled_from([Fraction(0), Fraction(1, 10), Fraction(1, 2), Fraction(1)])
    p = data.draw(st.one_of(st.none(), st.tuples(*[chances] * d)))
    law = None if p is None else Product(p)
    shares = {s: kept(model, x, s, list(coins(d, p))) for s in every_set(d)}
    view = law_of(model, law).view(model.check_row(x))
    for s, share in shares.items():
        known = view.enclose(s)
        below, above = known.ends()
        assert below <= share <= above
    level = Fraction("0.8")
    reason = sufficient_reason(model, x, delta=0.8, distribution=law)
    share = shares[tuple(sorted(reason.features))]
    assert reason.guarantee.lower <= share <= reason.guarantee.upper
    assert share >= level
    check_claim(reason, shares, level)


@given(models(4), st.data())
def test_two_classes_are_a_linear_model(model: ArgmaxModel, data: st.DataObject) -> None:
    """With two scores, what is known of their difference is known of the model."""
    if len(model.classes) != 2:
        model = ArgmaxModel(model.weights[:2], model.intercepts[:2], last=model.last)
    x = data.draw(st.tuples(*[st.integers(0, 1)] * model.n_features))
    duel = model.duel(winner(model, x), 1 - winner(model, x))
    ours, theirs = sufficient_reason(model, x), sufficient_reason(duel, x)
    assert ours.prediction == theirs.prediction
    assert ours.size == theirs.size
    for s in every_set(model.n_features):
        a, b = guarantee(model, x, s), guarantee(duel, x, s)
        assert a.lower <= b.upper
        assert b.lower <= a.upper


def test_a_guarantee_far_from_decided_is_sampled() -> None:
    """Where the union bound and the worst rival are far apart, completions are drawn as well."""
    model = ArgmaxModel(np.eye(13), np.zeros(13))
    x = [1, *[0] * 12]
    known = guarantee(model, x, [])
    share = Fraction(1, 2) + Fraction(1, 2**13)  # its own feature is there, or none is
    assert known.confidence == 1 - 1e-6
    assert known.lower <= share <= known.upper
    assert known.width < 0.02
    assert guarantee(model, x, []) == known
    assert guarantee(model, x, [0]).confidence == 1
    halves = np.arange(13) % 2
    data = Marginals.fit([halves, 1 - halves])
    assert guarantee(model, x, [], distribution=data).lower <= share
    assert guarantee(model, x, [], distribution=Product([0.5] * 13)).lower <= share


def test_units_and_curves() -> None:
    """Categories count as one feature, and curves end at certainty."""
    units = [Unit.one_hot("colour", (0, 1, 2)), Unit.binary("big", 3), Unit.real("age", 4)]
    rng = np.random.default_rng(0)
    model = ArgmaxModel(rng.standard_normal((3, 5)), [0, 0.1, 0.2], units=units)
    colours = np.eye(3)[rng.integers(0, 3, 40)]
    rows = np.column_stack([colours, rng.integers(0, 2, 40), rng.standard_normal(40)])
    for law in (Background(rows), Marginals(rows)):
        curve = guarantee_curve(model, rows[0], distribution=law)
        assert len(curve) == 4
        assert curve.lower[-1] == 1
        reasons = sufficient_reasons(model, rows[:5], distribution=law)
        assert reasons.mask.shape == (5, 3)
        assert (reasons.lower >= 0.95).all()
        assert [r.prediction for r in reasons] == model.predict(rows[:5]).tolist()


def test_differences_are_exact() -> None:
    """Weights are rounded once, so that a duel decides exactly as the scores do."""
    rng = np.random.default_rng(1)
    weights = rng.standard_normal((5, 7)) * np.logspace(-200, 200, 7)
    model = ArgmaxModel(weights, rng.standard_normal(5))
    assert np.allclose(model.weights, weights, rtol=0, atol=np.abs(weights).max(axis=0) * 2e-15)
    for a, b in combinations(range(5), 2):
        exact = [
            Fraction(u) - Fraction(v)
            for u, v in zip(model.weights[a].tolist(), model.weights[b].tolist(), strict=True)
        ]
        assert [Fraction(w) for w in model.duel(a, b).weights.tolist()] == exact
    assert pickle.loads(pickle.dumps(model)) == model
    assert hash(pickle.loads(pickle.dumps(model))) == hash(model)
    assert model != LinearModel([1], 0)
    assert ArgmaxModel(np.full((2, 1), 5e-324), [0, 0]).weights[0, 0] == 5e-324


@pytest.mark.parametrize(
    ("weights", "intercepts", "more", "message"),
    [
        (
            [[1, 2]], [0], {},
            "An ArgmaxModel has one row of weights and one intercept for each of at least two "
            "classes, got 1 rows and 1 intercepts.",
        ),
        (
            [[1], [2]], [0, 1, 2], {},
            "An ArgmaxModel has one row of weights and one intercept for each of at least two "
            "classes, got 2 rows and 3 intercepts.",
        ),
        ([1, 2], [0, 1], {}, "weights must be an array of 2 dimensions, got shape (2,)."),
        ("text", [0, 1], {}, "weights must be an array of numbers, got str."),
        ([[1], [np.nan]], [0, 1], {}, "weights must be finite and below 4e307, got nan."),
        ([[1], [2]], [0, np.inf], {}, "intercepts must be finite and below 4e307, got inf."),
        (
            [[1], [2]], [0, 1], {"classes": ["a", "a"]},
            "classes must be 2 different labels, got ['a', 'a'].",
        ),
    ],
)  # fmt: skip
def test_what_is_no_model_is_refused(weights, intercepts, more, message) -> None:
    """The message says what was received."""
    with pytest.raises(InvalidInputError) as caught:
        ArgmaxModel(weights, intercepts, **more)
    assert str(caught.value) == message


@pytest.mark.parametrize("method", ["monte-carlo", "paper"])
def test_sampling_methods_are_for_two_classes(method: str) -> None:
    """They are refused, with what to do instead."""
    model = ArgmaxModel(np.eye(3), np.zeros(3))
    with pytest.raises(InvalidInputError) as caught:
        sufficient_reason(model, [1, 0, 0], method=method)
    assert str(caught.value) == (
        f"method must be 'certified' for a model of 3 classes, got {method!r}. Explain one class "
        "against another to use it."
    )


def no_spectra(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make what computes probabilities of independent units fail."""

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a probability is computed")

    monkeypatch.setattr("sklearn_probsr.independent.unit_laws.build", refuse)
    monkeypatch.setattr("sklearn_probsr.independent.law.enclose_finite", refuse)


@given(models(4), st.data())
def test_certainty_before_every_rival(model: ArgmaxModel, data: st.DataObject) -> None:
    """With delta = 1 a reason is certain, and what is claimed of it holds; also under a limit."""
    d = model.n_features
    x = data.draw(st.tuples(*[st.integers(0, 1)] * d))
    chances = st.sampled_from([Fraction(0), Fraction(1, 10), Fraction(1, 2), Fraction(1)])
    p = data.draw(st.one_of(st.none(), st.tuples(*[chances] * d)))
    forced = data.draw(st.sets(st.integers(0, d - 1)))
    law = None if p is None else Product(p)
    shares = {s: kept(model, x, s, list(coins(d, p))) for s in every_set(d)}
    allowed = {s: share for s, share in shares.items() if forced <= set(s)}
    least = min(len(s) for s, share in allowed.items() if share == 1)
    reason = sufficient_reason(model, x, delta=1, distribution=law, include=forced)
    assert shares[tuple(sorted(reason.features))] == reason.guarantee.exact == 1
    assert reason.size_lower <= least <= reason.size
    assert reason.minimality in {"minimum", "subset-minimal"}
    if reason.minimality == "minimum":
        assert reason.size == least
    free = set(reason.features) - forced
    assert all(shares[tuple(sorted({*reason.features} - {i}))] < 1 for i in free)
    most = data.draw(st.integers(len(forced), d))
    limited = sufficient_reason(model, x, delta=1, distribution=law, include=forced, max_size=most)
    share = shares[tuple(sorted(limited.features))]
    assert limited.size <= most
    assert limited.guarantee.lower <= share <= limited.guarantee.upper
    assert (share == 1) == (limited.minimality != "best-of-size")


@pytest.mark.parametrize("law", ["uniform", "product", "marginals"])
def test_certainty_takes_no_probability(law: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sixty features and five classes: closed forms alone, and everything known is certain."""
    no_spectra(monkeypatch)
    rng = np.random.default_rng(5)
    rows = rng.integers(0, 2, (40, 60))
    model = ArgmaxModel(rng.standard_normal((5, 60)), rng.standard_normal(5))
    laws = {"uniform": None, "product": Product([0.3] * 60), "marginals": Marginals.fit(rows)}
    found = sufficient_reasons(model, rows[:5], delta=1, distribution=laws[law])
    weights = [[Fraction(w) for w in scores] for scores in model.weights.tolist()]
    for row, reason in zip(rows[:5].tolist(), found, strict=True):
        assert reason.guarantee.exact == 1
        assert reason.minimality in {"minimum", "subset-minimal"}
        c = winner(model, tuple(row))
        for j in {*range(5)} - {c}:
            lead = Fraction(model.intercepts[c]) - Fraction(model.intercepts[j])
            for i, x in enumerate(row):
                apart = weights[c][i] - weights[j][i]
                lead += apart * x if i in reason.features else min(apart, Fraction(0))
            assert lead >= 0
    everything = range(60)
    for row in rows[:5]:
        known = guarantee(model, row, everything, distribution=laws[law])
        assert known.exact == 1


def test_certainty_that_is_excluded_is_refuted() -> None:
    """Without a feature that it takes, the error says that it cannot be, and what can."""
    model = ArgmaxModel([[2.0, 1.0], [0.0, 0.0], [0.0, 0.5]], [-1.0, 0.0, -1.0])
    message = (
        "delta = 1 cannot be reached for row 0 without the features in exclude: the best "
        "guarantee that the others give is 0.75 (uniform completions). Exclude fewer features, "
        "lower delta, or set max_size to get the best set all the same."
    )
    with pytest.raises(UnreachableError, match=f"^{re.escape(message)}$"):
        sufficient_reason(model, [1, 0], delta=1, exclude=[0])


def test_certainty_that_a_known_fact_breaks() -> None:
    """A value that never occurs may be worse than all that do: certain without it, not with it."""
    model = ArgmaxModel([[2, 1], [3, 3], [-1, 0]], [2, 0, 0])
    law = Product([0, 0.5])
    assert guarantee(model, [1, 0], [], distribution=law).exact == 1
    assert guarantee(model, [1, 0], [0], distribution=law).exact == Fraction(1, 2)
    reason = sufficient_reason(model, [1, 0], delta=1, distribution=law, exclude=[1], prove=True)
    assert (reason.size, reason.size_lower, reason.minimality) == (0, 0, "minimum")
    sparse_one = Marginals.fit([[0, 0], [0, 1]])
    assert sufficient_reason(model, [1, 0], delta=1, distribution=sparse_one).size == 0


def test_certainty_that_may_break_is_refuted_by_a_rival() -> None:
    """Where facts may hurt, one rival that none of them keeps away still says that it cannot be."""
    weights = np.zeros((3, 12))
    weights[:, :3] = [[2, 0, 0], [3, 3, 2], [-1, 0, -2]]
    weights[2, 3:] = 1  # too many facts to try all sets of them
    model = ArgmaxModel(weights, [2, 0, 0])
    message = (
        "delta = 1 cannot be reached for row 0 without the features in exclude: the best "
        "guarantee found is 0.5 (independent completions with 12 given marginals). "
        "Exclude fewer features, lower delta, or set max_size to get the best set all the same."
    )
    law = Product([0.5, 0.5, 1, *[0.5] * 9])
    with pytest.raises(UnreachableError, match=f"^{re.escape(message)}$"):
        sufficient_reason(model, [1, *[0] * 11], delta=1, distribution=law, exclude=[1])
