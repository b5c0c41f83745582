"""Instances far outside their background, or far finer than it: no integer wraps."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from fractions import Fraction
from itertools import chain, combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sklearn_probsr import (
    ArgmaxModel,
    Background,
    LinearModel,
    Unit,
    guarantee,
    guarantee_curve,
    sufficient_reason,
)
from sklearn_probsr.exceptions import UnreachableError
from sklearn_probsr.extend import law_of
from sklearn_probsr.model.numbers import decimal_fraction
from sklearn_probsr.rows.stream import DenseRows, Instance
from tests.interpreted import examples

# Numbers of one class that are far below those of another are rounded, as a warning says.
pytestmark = pytest.mark.filterwarnings("ignore:The (weight|intercept) .* is taken as")

WEIGHTS = st.sampled_from([1.0, -1.0, 2.0, -3.0, 0.1, 0.7, float(np.float32(0.9)), 3e-6, -1e-30])
SMALL = st.sampled_from([0.0, 1.0, -1.0, 2.0, -3.0, 7.0, 0.3])


def reals(d: int) -> list[Unit]:
    return [Unit.real(f"x{j}", j) for j in range(d)]


@st.composite
def far(draw: st.DrawFn, d: int) -> list[float]:
    """Draw an instance: what is far out may cancel, up to something small or something fine."""
    k = draw(st.integers(-1000, 1000))
    near = st.sampled_from([0, 0, 1, -1, 20, -53])
    x: list[float] = []
    for _ in range(d):
        kind = draw(st.sampled_from(["far", "opposite", "small"]))
        if kind == "opposite" and x:
            x.append(-x[-1] + draw(SMALL))
        elif kind == "far":
            scale = 2.0 ** min(max(k + draw(near), -1020), 1010)
            x.append(draw(SMALL) * scale)
        else:
            x.append(draw(SMALL))
    return x


@st.composite
def two_classes(draw: st.DrawFn) -> LinearModel:
    weights = draw(st.lists(WEIGHTS, min_size=1, max_size=5))
    strict, threshold = draw(st.booleans()), draw(SMALL)
    return LinearModel(weights, threshold, strict=strict, units=reals(len(weights)))


@st.composite
def several_classes(draw: st.DrawFn) -> ArgmaxModel:
    d, k = draw(st.integers(1, 4)), draw(st.integers(2, 4))
    weights = [[draw(WEIGHTS) for _ in range(d)] for _ in range(k)]
    intercepts = [draw(SMALL) for _ in range(k)]
    return ArgmaxModel(weights, intercepts, last=draw(st.booleans()), units=reals(d))


def winner(model: LinearModel | ArgmaxModel, row: Sequence[float]) -> int:
    """Return the class of a row, in rationals."""
    z = [Fraction(v) for v in row]
    if isinstance(model, LinearModel):
        score = sum(Fraction(w) * v for w, v in zip(model.weights.tolist(), z, strict=True))
        level = Fraction(model.threshold)
        return int(score > level if model.strict else score >= level)
    scores = [
        sum((Fraction(w) * v for w, v in zip(weights, z, strict=True)), Fraction(b))
        for weights, b in zip(model.weights.tolist(), model.intercepts.tolist(), strict=True)
    ]
    best = [k for k, score in enumerate(scores) if score == max(scores)]
    return best[-1] if model.last else best[0]


class Truth:
    """The share of rows that keep the class, of every set, by classifying every row."""

    def __init__(self, model: Any, x: list[float], rows: list[list[float]], parts: list[int]):
        self.d, label = len(x), winner(model, x)
        self.sets = list(
            chain.from_iterable(combinations(range(self.d), k) for k in range(self.d + 1))
        )
        self.share = {}
        for s in self.sets:
            filled = [[x[j] if j in s else row[j] for j in range(self.d)] for row in rows]
            kept = sum(w for z, w in zip(filled, parts, strict=True) if winner(model, z) == label)
            self.share[s] = Fraction(kept, sum(parts))

    def __call__(self, features: Collection[int]) -> Fraction:
        return self.share[tuple(sorted(features))]


@settings(max_examples=examples(300), deadline=None)
@given(two_classes() | several_classes(), st.data())
def test_rows_any_power_of_two_away_are_counted_exactly(
    model: LinearModel | ArgmaxModel, data: st.DataObject
):
    """Guarantees, curves, reasons and what is claimed of them, against all sets in rationals."""
    d = model.n_features
    x = data.draw(far(d))
    rows = data.draw(st.lists(st.lists(SMALL, min_size=d, max_size=d), min_size=1, max_size=5))
    parts = data.draw(
        st.lists(st.sampled_from([1, 2, 2**57 + 1]), min_size=len(rows), max_size=len(rows))
    )
    truth, law = Truth(model, x, rows, parts), Background(rows, parts)
    for s in truth.sets:
        assert guarantee(model, x, s, distribution=law).exact == truth(s)
    curve = guarantee_curve(model, x, distribution=law)
    for k in range(d + 1):
        share = truth(curve.order[:k].tolist())
        assert Fraction(curve.lower[k]) <= share <= Fraction(curve.upper[k])
    include = data.draw(st.sets(st.integers(0, d - 1), max_size=2))
    exclude = data.draw(st.sets(st.integers(0, d - 1), max_size=2)) - include
    allowed = [s for s in truth.sets if include <= {*s} and not exclude & {*s}]
    asked: dict[str, Any] = {
        "delta": data.draw(st.sampled_from([0.3, 0.6, 0.9, 1.0])),
        "prove": data.draw(st.sampled_from(["auto", True])),
        "include": include,
        "exclude": exclude,
    }
    level = decimal_fraction(asked["delta"])
    enough = [len(s) for s in allowed if truth(s) >= level]
    if not enough:
        with pytest.raises(UnreachableError):
            sufficient_reason(model, x, distribution=law, **asked)
        return
    reason = sufficient_reason(model, x, distribution=law, **asked)
    assert reason.guarantee.exact == truth(reason.features) >= level
    assert reason.size_lower <= min(enough) <= reason.size
    if reason.minimality == "minimum":
        assert reason.size == min(enough)
    else:
        smaller = [s for s in allowed if {*s} < {*reason.features} and truth(s) >= level]
        assert reason.minimality in {"subset-minimal", "locally-minimal"}
        assert not smaller or reason.minimality == "locally-minimal"


@settings(max_examples=examples(300), deadline=None)
@given(two_classes() | several_classes(), st.data())
def test_every_sum_has_room(model: LinearModel | ArgmaxModel, data: st.DataObject):
    """Margins and gains are whole, below ``2^24`` with any set, and off by less than the doubt."""
    d = model.n_features
    rows = data.draw(st.lists(st.lists(SMALL, min_size=d, max_size=d), min_size=1, max_size=4))
    x = model.check_row(data.draw(far(d)))
    law = law_of(model, Background(rows))
    winner = law.winner(int(model.winners(x[None, :])[0]))
    known = law.table.known(x[None, :])
    units, none = np.arange(d), np.zeros(0, dtype=np.int64)
    exponent, doubt = int(known.exponents[0]), int(known.doubts[0])
    one = Instance(x, winner, exponent, known.parts[0], doubt, units, none, False, 0)
    seen = DenseRows(law.decider, law.table, law.floats, law.weights, one).rows
    gains, margins = seen.gains.astype(np.float64), seen.margins.astype(np.float64)
    assert (gains == np.rint(gains)).all()
    assert (np.abs(margins) + np.maximum(gains, 0).sum(axis=0)).max() < 2**24
    assert (np.abs(margins) + np.maximum(-gains, 0).sum(axis=0)).max() < 2**24
    duels = [model] if isinstance(model, LinearModel) else model.duels(int(winner.lines[0]))
    for k, duel in enumerate(duels):
        sign = -1 if isinstance(model, LinearModel) and winner.lines[0] < 0 else 1
        for r, row in enumerate(rows):
            for fixed in (range(0), range(d), range(0, d, 2)):
                z = [x[j] if j in fixed else row[j] for j in range(d)]
                terms = zip(duel.weights.tolist(), z, strict=True)
                lead = sum(Fraction(w) * Fraction(float(v)) for w, v in terms)
                lead = sign * (lead - Fraction(duel.threshold)) / Fraction(2) ** exponent
                told = margins[k, r] + gains[[*fixed], k, r].sum() - doubt + winner.loses[k]
                assert abs(Fraction(told) - lead) <= max(doubt - 1, 0)


@pytest.mark.smoke
def test_a_row_far_outside_the_background():
    """Two facts that lose the class in every row are not said to keep it in all."""
    model = LinearModel([1.0] * 4, 0.5, units=reals(4))
    law = Background([[0, 1, 0, 0], [-1, 0, 2, 0], [0, -3, 1, 1], [0, 2, 0, 0]])
    x = [-3e18, -3e18, 3.9e18, 3.9e18]
    assert guarantee(model, x, [0, 1], distribution=law).exact == 0
    reason = sufficient_reason(model, x, distribution=law, include=[0, 1])
    assert (reason.size, reason.minimality) == (4, "minimum")


@pytest.mark.parametrize("far_out", [4e6, 1e7, 1e30, 1e300])
def test_long_weights_and_a_row_far_outside(far_out: float):
    """The scale of weights with many digits is coarsened by as much as the row needs."""
    weights = np.float32([0.7, 0.9, 3e-6, 0.8])
    law = Background(np.random.default_rng(0).integers(0, 8, (50, 4)))
    x = [far_out, far_out, 1, far_out]
    two = LinearModel(weights, 8, units=reals(4))
    three = ArgmaxModel([weights, 0 * weights, -weights], [-8, 0, -20], units=reals(4))
    for model in (two, three):
        reason = sufficient_reason(model, x, delta=1, distribution=law)
        assert (reason.size, reason.minimality) == (1, "minimum")


def test_the_curve_beside_a_very_heavy_row():
    """A weight beyond ``2^53`` does not hide the one row that still loses the class."""
    rows, parts = [[-6, 1, 0, 0], [5, -6, 0, 0]], [2**57 + 1, 1]
    model, x = LinearModel([1.0] * 4, 0, units=reals(4)), [5.0, 0.0, 0.0, 0.0]
    curve = guarantee_curve(model, x, distribution=Background(rows, parts))
    truth = Truth(model, x, [[*map(float, row)] for row in rows], parts)
    for k in range(5):
        share = truth(curve.order[:k].tolist())
        assert Fraction(curve.lower[k]) <= share <= Fraction(curve.upper[k])


def test_a_column_of_zeros_may_have_any_weight():
    """What the background never has is still counted in full: 1e300 times 1e-301 is a tenth."""
    model = LinearModel([1e300, 1.0], 0.05, units=reals(2))
    rows, x = [[0.0, 0.01], [0.0, 0.02]], [1e-301, 0.02]
    assert model.predict([x]) == [1]
    assert guarantee(model, x, [0], distribution=Background(rows)).exact == 1
    assert guarantee(model, x, [1], distribution=Background(rows)).exact == 0


def test_helps_and_hurts_are_told_by_the_weights_as_they_are():
    """A unit of two columns whose difference of weights is no float still gains what it gains."""
    weights = [[1e16, 1.09], [0.0, 0.0]]
    model = ArgmaxModel(weights, [0.0, 0.0], units=[Unit("pair", (0, 1))])
    rows = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 0.0]])
    law = law_of(model, Background(rows))
    for x in rows:
        winner = int(model.winners(x[None, :])[0])
        duel = model.duel(winner, 1 - winner)
        each = duel.weights.tolist()
        worths = [
            sum(Fraction(w) * Fraction(v) for w, v in zip(each, z, strict=True))
            for z in (x.tolist(), *rows.tolist())
        ]
        helps, hurts = law.sides(x[None, :], winner)
        assert helps[0, 0] == any(worths[0] > worth for worth in worths[1:])
        assert hurts[0, 0] == any(worths[0] < worth for worth in worths[1:])
