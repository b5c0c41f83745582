"""Two rivals on average: bounds of how likely both are ahead, against all that may come."""

from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from scipy import sparse

from sklearn_probsr import ArgmaxModel, Marginals, Unit
from sklearn_probsr.extend import law_of
from sklearn_probsr.independent.sparse_classes import SparseDuels, summed_duel, together
from tests.interpreted import long_loops
from tests.thin_units import few_are_thin

pytestmark = long_loops


@pytest.fixture(autouse=True, scope="module")
def thin():
    with few_are_thin():
        yield


def exact_winner(model: ArgmaxModel, row: tuple[float, ...]) -> int:
    """Return the class of a row by position, in fractions."""
    scores = [
        sum((Fraction(w) * Fraction(x) for w, x in zip(line, row, strict=True)), Fraction(b))
        for line, b in zip(model.weights.tolist(), model.intercepts.tolist(), strict=True)
    ]
    best = [k for k, score in enumerate(scores) if score == max(scores)]
    return best[-1] if model.last else best[0]


def truth(model: ArgmaxModel, rows: np.ndarray, x: np.ndarray, fixed: tuple[int, ...]) -> Fraction:
    """Return the guarantee of a set, from all completions by values of rows."""
    mine = exact_winner(model, tuple(x.tolist()))
    columns = [[x[j]] if j in fixed else rows[:, j] for j in range(rows.shape[1])]
    each = [exact_winner(model, row) == mine for row in product(*map(list, columns))]
    return Fraction(sum(each), len(each))


@pytest.mark.parametrize("kind", ["binary", "counts", "decimals", "ties"])
def test_enclosures_contain_the_truth_and_are_narrower(kind: str):
    """Every set before two and three rivals; the upper end is below that of the worst rival."""
    rng = np.random.default_rng(len(kind))
    narrower = 0
    for trial in range(6):
        rows = rng.integers(0, 2 if kind == "binary" else 4, (5, 4)) * (rng.random((5, 4)) < 0.6)
        rows = rows / 10 if kind == "decimals" else rows.astype(np.float64)
        noise = 0.0 if kind == "ties" else 0.2
        weights = np.round(noise * rng.standard_normal((3 + trial % 2, 4)), 1)
        weights[np.arange(1, len(weights)), np.arange(len(weights) - 1)] += 1.5
        largest = rows.max()  # one rival alone is ahead by half of it at most
        model = ArgmaxModel(
            weights,
            largest * np.array([1.0, 0.0, 0.0, 0.25])[: len(weights)],
            last=bool(trial % 2),
            units=[Unit.real(f"w{j}", j) for j in range(4)],
        )
        law, x = law_of(model, Marginals(sparse.csr_matrix(rows))), np.zeros(4)
        assert isinstance(law, SparseDuels)
        view = law.view(x)
        for n in range(4):
            for fixed in combinations(range(4), n):
                exact = truth(model, rows, x, fixed)
                for delta in (None, exact, exact + Fraction(1, 100)):
                    known = view.enclose(fixed, delta)
                    assert Fraction(known.lower) <= exact <= Fraction(known.upper)
                alone = together([duel.enclose(fixed) for duel in view.duels])
                narrower += view.enclose(fixed).upper < alone.upper - 1e-3
    assert narrower >= 3


@pytest.mark.filterwarnings("ignore:The (weight|intercept) .* is taken as")
def test_a_sum_that_floats_round_is_not_taken():
    """Weights of 51 bits have exact sums; others are told by what their sum is off by."""
    units = [Unit.real(f"w{j}", j) for j in range(3)]
    rng = np.random.default_rng(0)
    for _ in range(20):
        model = ArgmaxModel(rng.standard_normal((4, 3)), np.zeros(4), units=units)
        for rivals in combinations(range(1, 4), 2):
            found = summed_duel(model, 0, rivals)
            if found is None:
                continue
            each = [model.duel(0, rival) for rival in rivals]
            for j in range(3):
                total = sum(Fraction(float(duel.weights[j])) for duel in each)
                assert Fraction(float(found.weights[j])) == total
            assert Fraction(found.threshold) == sum(Fraction(duel.threshold) for duel in each)
    far = ArgmaxModel([[0.0, 0, 0], [1.0, 0, 0], [2.0**-60, 0, 0]], np.zeros(3), units=units)
    spread = ArgmaxModel(np.zeros((3, 3)), [0.0, 1.0, 2.0**-60], units=units)
    for model in (far, spread):
        sums = [
            sum(Fraction(float(model.duel(0, rival).weights[0])) for rival in (1, 2)),
            sum(Fraction(model.duel(0, rival).threshold) for rival in (1, 2)),
        ]
        found = summed_duel(model, 0, (1, 2))
        told = [] if found is None else [found.weights[0], found.threshold]
        assert found is None or [Fraction(float(part)) for part in told] == sums


def test_a_pair_that_is_not_taken_narrows_nothing(monkeypatch: pytest.MonkeyPatch):
    """Where sums are rounded, the worst rival is what is known from above."""
    rows = np.array([[1.0, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 0]])
    units = [Unit.real(f"w{j}", j) for j in range(3)]
    model = ArgmaxModel(np.diag([0.0, 1.5, 1.5]), [1.0, 0.0, 0.0], units=units)
    law = law_of(model, Marginals(sparse.csr_matrix(rows)))
    narrow = law.view(rows[0]).enclose(())
    monkeypatch.setattr("sklearn_probsr.independent.sparse_classes.summed_duel", lambda *_: None)
    wide = law.view(rows[0]).enclose(())
    assert wide.lower == narrow.lower
    assert narrow.upper < 0.6
    assert wide.upper > 0.7
