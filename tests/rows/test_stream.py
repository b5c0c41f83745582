"""Sets searched on a part of the rows: what is said of them is true of all rows."""

import pickle
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sklearn_probsr import (
    ArgmaxModel,
    Background,
    LinearModel,
    ReasonExplanation,
    SufficientReasonExplainer,
    Unit,
    guarantee,
    guarantee_curve,
    sufficient_reason,
    sufficient_reasons,
)
from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.model.numbers import decimal_fraction
from sklearn_probsr.rows import law as rows_law
from sklearn_probsr.rows import stream
from tests.interpreted import examples, long_loops
from tests.rows.test_near_ties import Truth, near_ties

pytestmark = pytest.mark.filterwarnings("ignore:The (weight|intercept) .* is taken as")


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few rows are many: parts, pieces and the rows that are lost most easily are all few."""
    monkeypatch.setattr(rows_law, "MANY_GAINS", 0)
    monkeypatch.setattr(rows_law, "MOST_GAINS", 0)
    monkeypatch.setattr(stream, "PART", 20)
    monkeypatch.setattr(stream, "HARD", 40)
    monkeypatch.setattr(stream, "PIECE", 8)


def reals(d: int) -> list[Unit]:
    return [Unit.real(f"x{j}", j) for j in range(d)]


def check(truth: Any, reason: Any, delta: float, sets: list[tuple[int, ...]]) -> None:
    """Compare all that is said of a reason with all sets, over all rows."""
    level = decimal_fraction(delta)
    enough = [s for s in sets if truth(s) >= level]
    assert reason.guarantee.exact == truth(reason.features) >= level
    assert reason.size_lower <= min(map(len, enough)) <= reason.size
    assert reason.minimality != "minimum" or reason.size == min(map(len, enough))
    if reason.minimality in {"minimum", "subset-minimal"}:
        assert not any(set(s) < set(reason.features) for s in enough)


@settings(max_examples=examples(60), deadline=None)
@given(near_ties(), st.sampled_from([0.3, 0.5, 0.9, 1.0]), st.integers(1, 4), st.integers(0, 3))
def test_what_a_sample_finds_holds_for_all_rows(
    case: tuple[Any, ...], delta: float, sample: int, seed: int
):
    """Ties and rows an ulp from them, heavy rows, any sample: counts and claims in rationals."""
    model, x, rows, parts = case
    truth = Truth(model, x, rows, parts)
    law = Background(rows, parts, sample=sample, random_state=seed)
    check(truth, sufficient_reason(model, x, delta=delta, distribution=law), delta, truth.sets)


@st.composite
def rivals(draw: st.DrawFn) -> tuple[ArgmaxModel, np.ndarray, np.ndarray, list[int]]:
    """Draw a model of three classes and rows, many of them tied between two or all."""
    d = draw(st.integers(1, 4))
    numbers = st.sampled_from([0.0, 0.1, 0.2, 0.3, -0.1, 1.0, 1 / 3, 1e-17])
    far = 2.0 ** draw(st.sampled_from([0, 0, 30, -300, 400]))
    weights = np.array(draw(st.lists(st.lists(numbers, min_size=d, max_size=d), min_size=3,
                                     max_size=3)))  # fmt: skip
    rows = np.array(draw(st.lists(st.lists(numbers, min_size=d, max_size=d), min_size=2,
                                  max_size=7)))  # fmt: skip
    offsets = draw(st.lists(st.sampled_from([0.0, 0.1, -0.3]), min_size=3, max_size=3))
    model = ArgmaxModel(weights * far, np.array(offsets) * far, units=reals(d))
    counts = draw(st.lists(st.integers(1, 3), min_size=len(rows), max_size=len(rows)))
    return model, rows, rows[0] if draw(st.booleans()) else rows[-1] * 2, counts


def share_kept(model: ArgmaxModel, rows: Any, x: Any, counts: Any) -> Any:
    """Return what tells the share of rows that keep the class with a set fixed, in rationals."""
    winner = int(model.winners(x[None, :])[0])
    columns = [[u] if model.units is None else model.units[u].columns for u in range(model.n_units)]

    def truth(features: Any) -> Fraction:
        kept, fixed = 0, {j for u in features for j in columns[u]}
        for row, count in zip(rows, counts, strict=True):
            z = [Fraction(float(x[j] if j in fixed else row[j])) for j in range(len(x))]
            sums = [
                sum(Fraction(w) * v for w, v in zip(duel.weights.tolist(), z, strict=True))
                - Fraction(duel.threshold)
                for duel in model.duels(winner)
            ]
            duels = zip(sums, model.duels(winner), strict=True)
            kept += count * all(s > 0 or (s == 0 and not duel.strict) for s, duel in duels)
        return Fraction(kept, sum(counts))

    return truth


@settings(max_examples=examples(60), deadline=None)
@given(rivals(), st.sampled_from([0.3, 0.5, 0.9, 1.0]))
def test_several_classes_on_a_part_of_the_rows(case: tuple[Any, ...], delta: float):
    """Every count of every set, curves, and what is claimed, against the models' exact duels."""
    model, rows, x, counts = case
    d, truth = len(x), share_kept(*case)
    law = Background(rows, counts)
    sets = [s for n in range(d + 1) for s in combinations(range(d), n)]
    for s in sets:
        assert guarantee(model, x, s, distribution=law).exact == truth(s)
    curve = guarantee_curve(model, x, distribution=law)
    for k in range(len(curve)):
        assert curve.lower[k] <= truth(curve.order[:k]) <= curve.upper[k]
    check(truth, sufficient_reason(model, x, delta=delta, distribution=law), delta, sets)


@settings(max_examples=examples(60), deadline=None)
@given(st.data())
def test_counts_in_floats_are_exact(data: st.DataObject):
    """Values of any size, ties, units of several columns, ones and zeros: every set, counted."""
    wild = [0.0, 1.0, -1.0, 0.1, 0.3, 1e-17, 2.0**53 + 2, 1e150, -1e150, 1e-160, 5e-324]
    binary = data.draw(st.booleans())
    d = 4
    numbers = st.sampled_from([0, 1] if binary else wild)
    lines = st.lists(numbers, min_size=d, max_size=d)
    rows = np.array(data.draw(st.lists(lines, min_size=2, max_size=6)))
    x = np.array(data.draw(lines))
    weights = st.lists(st.sampled_from(wild[:-1]), min_size=d, max_size=d)
    each = data.draw(st.lists(weights, min_size=3, max_size=4))
    units = None if binary else [*reals(2), Unit("pair", (2, 3))]
    model = ArgmaxModel(each, [0.0, *data.draw(st.permutations([0.1, -0.3, 1.0]))][: len(each)],
                        units=units)  # fmt: skip
    counts = data.draw(st.lists(st.integers(1, 3), min_size=len(rows), max_size=len(rows)))
    truth, law = share_kept(model, rows, x, counts), Background(rows, counts)
    for n in range(model.n_units + 1):
        for s in combinations(range(model.n_units), n):
            assert guarantee(model, x, s, distribution=law).exact == truth(s)


@pytest.mark.parametrize("exponent", [-1022, -1035, -1060])
def test_columns_of_denormal_numbers_are_counted_exactly(exponent: int):
    """What a column is divided by is no float; a weight of 1e300 makes it count all the same."""
    rng = np.random.default_rng(-exponent)
    rows = rng.standard_normal((150, 3))
    rows[:, 0] = np.ldexp(rows[:, 0], exponent)
    weights = np.ldexp(rng.standard_normal((3, 3)), [1000, 1000 + exponent, 1000 + exponent])
    model = ArgmaxModel(weights, np.zeros(3), units=reals(3))
    counts = [1] * len(rows)
    truth, law = share_kept(model, rows, rows[0], counts), Background(rows)
    for s in ((), (0,), (1,), (0, 2), (0, 1, 2)):
        assert guarantee(model, rows[0], s, distribution=law).exact == truth(s)


@long_loops
def test_large_tables_of_several_classes_are_searched_in_parts(monkeypatch: pytest.MonkeyPatch):
    """Sizes are those of a search on all rows, or one more; guarantees are counted."""
    rng = np.random.default_rng(0)
    rows, asked = rng.standard_normal((3_000, 8)), rng.standard_normal((6, 8))
    model = ArgmaxModel(rng.standard_normal((4, 8)), np.zeros(4), units=reals(8))
    monkeypatch.setattr(stream, "PART", 24 * 400)
    monkeypatch.setattr(stream, "HARD", 2**14)
    monkeypatch.setattr(stream, "PIECE", 2**14)
    part = sufficient_reasons(model, asked, distribution=Background(rows), delta=0.9)
    monkeypatch.setattr(rows_law, "MANY_GAINS", 2**40)
    whole = sufficient_reasons(model, asked, distribution=Background(rows), delta=0.9)
    assert np.abs(part.size - whole.size).max() <= 1
    assert (part.size == whole.size).mean() > 0.5
    assert (part.lower >= 0.9).all()
    assert (part.size_lower <= whole.size).all()


def test_a_sample_is_named_and_travels(tmp_path):
    """The sentence, the repr, pickles and archives have it; as many rows as there are is none."""
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((50_000, 2))
    law = Background(rows, sample=1_000, random_state=3)
    assert str(law) == "replacement by 1,000 of 50,000 background rows"
    assert repr(law) == "Background(<50000 rows, 1,000 of them searched, 2 columns>)"
    weighted = Background(rows[:9], np.arange(1, 10), sample=4)
    assert str(weighted) == "replacement by 4 of 9 weighted background rows"
    for n in (50_000, 10**9):
        assert str(Background(rows, sample=n)) == "replacement by 50,000 background rows"
    model = LinearModel([1.0, -2.0], 0.1, units=reals(2))
    reason = sufficient_reason(model, rows[0], distribution=law)
    assert "over replacement by 1,000 of 50,000 background rows, given" in str(reason)
    again = pickle.loads(pickle.dumps(law))
    assert (again.sample, again.random_state, again.shape) == (1_000, 3, (50_000, 2))
    explainer = SufficientReasonExplainer(model, Background(rows[:50], sample=20, random_state=7))
    found = explainer(rows[:2])
    found.save(tmp_path / "found.npz")
    kept = ReasonExplanation.load(tmp_path / "found.npz").reasons.distribution
    assert (kept.sample, kept.random_state) == (20, 7)
    assert "20 of 50 background rows" in found.describe(0)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"sample": 0}, "sample must be a whole number >= 1, got 0."),
        ({"sample": 2.5}, "sample must be a whole number >= 1, got 2.5."),
        ({"sample": True}, "sample must be a whole number >= 1, got True."),
        ({"sample": 1, "random_state": -1}, "random_state must be a whole number >= 0, got -1."),
        ({"sample": 1, "random_state": "a"}, "random_state must be a whole number >= 0, got 'a'."),
    ],
)
def test_samples_that_are_none(settings: dict[str, Any], message: str):
    """A sample is at least one row, and its seed a whole number."""
    with pytest.raises(InvalidInputError) as error:
        Background([[0, 1], [1, 1]], **settings)
    assert str(error.value) == message
