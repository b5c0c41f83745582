"""A row's answer is its own: whatever rows are beside it, in what order, and however many jobs."""

from collections.abc import Callable
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from sklearn_probsr import (
    ArgmaxModel,
    Background,
    LinearModel,
    Marginals,
    Matching,
    Product,
    SufficientReasonExplainer,
    Uniform,
    Unit,
    sufficient_reasons,
)
from sklearn_probsr.model.numbers import row_sums
from sklearn_probsr.results import SufficientReasons

N = 8


def weights(d: int, heavy: float = 1.0) -> NDArray[np.float64]:
    """Return weights of many sizes; a heavy one makes a lump that some rows' bounds are wide at."""
    found = np.random.default_rng(d).normal(size=d) * np.exp(
        np.random.default_rng(d + 1).normal(size=d)
    )
    found[0] *= heavy
    return found


def bits(n: int, d: int) -> NDArray[np.int64]:
    return (np.random.default_rng(n).random((n, d)) < 0.4).astype(np.int64)


def chances(d: int) -> list[float]:
    return np.round(np.random.default_rng(5).uniform(0.02, 0.98, d), 3).tolist()


def one_hot(kinds: int, width: int) -> tuple[list[Unit], NDArray[np.float64]]:
    """Return units of so many states each, and rows of theirs."""
    starts = width * np.arange(kinds)
    units = [Unit.one_hot(f"c{j}", list(range(s, s + width))) for j, s in enumerate(starts)]
    which = np.random.default_rng(3).integers(width, size=(N, kinds))
    rows = np.zeros((N, kinds * width))
    np.put_along_axis(rows, starts + which, 1.0, axis=1)
    return units, rows


def reals(n: int, d: int) -> NDArray[np.float64]:
    return np.round(np.random.default_rng(d).normal(size=(n, d)), 2)


def binary(law: Any, d: int, heavy: float = 1.0) -> tuple[Any, Any, Any]:
    w = weights(d, heavy)
    return LinearModel(w, float(0.4 * w.sum())), law, bits(N, d)


def several(law: Any, d: int, units: Any = None, rows: Any = None) -> tuple[Any, Any, Any]:
    scores = np.random.default_rng(8).normal(size=(3, d))
    return ArgmaxModel(scores, -0.4 * scores.sum(axis=1), units=units), law, rows


def categorical(model: str) -> tuple[Any, Any, Any]:
    if model == "argmax":
        return several(Uniform(), 48, *one_hot(12, 4))
    units, rows = one_hot(30, 4)
    w = weights(120)
    return LinearModel(w, float(w.sum() / 4), units=units), Uniform(), rows


def real_valued(law: Callable[[Any], Any], model: str) -> tuple[Any, Any, Any]:
    rows, units = reals(120, 30), [Unit.real(f"r{j}", j) for j in range(30)]
    if model == "argmax":
        return several(law(rows), 30, units, rows[:N])
    return LinearModel(weights(30), 0.3, units=units), law(rows), rows[:N]


CASES = {
    "uniform": lambda: binary(Uniform(), 60, 20.0),
    "uniform, few": lambda: binary(Uniform(), 12),
    "uniform, categorical": lambda: categorical("linear"),
    "product": lambda: binary(Product(chances(60)), 60, 60.0),
    "product, few": lambda: binary(Product(chances(18)), 18),
    "product, with a rest": lambda: binary(Product(chances(160)), 160, 60.0),
    "marginals": lambda: binary(Marginals(bits(200, 45)), 45, 40.0),
    "marginals of reals": lambda: real_valued(Marginals, "linear"),
    "background": lambda: binary(Background(bits(150, 40)), 40),
    "background of reals": lambda: real_valued(Background, "linear"),
    "matching": lambda: binary(Matching(bits(400, 12), min_rows=5, cautious=True), 12),
    "classes, uniform": lambda: several(Uniform(), 30, rows=bits(N, 30)),
    "classes, categorical": lambda: categorical("argmax"),
    "classes, product": lambda: several(Product(chances(30)), 30, rows=bits(N, 30)),
    "classes, marginals": lambda: several(Marginals(bits(200, 30)), 30, rows=bits(N, 30)),
    "classes, background": lambda: several(Background(bits(150, 20)), 20, rows=bits(N, 20)),
    "classes, reals": lambda: real_valued(Background, "argmax"),
    "classes, matching": lambda: several(
        Matching(bits(400, 10), min_rows=5, cautious=True), 10, rows=bits(N, 10)
    ),
}


def options(name: str) -> dict[str, Any]:
    """Return a task: matching rows may not reach a level, so that the best set is asked for."""
    return {"delta": 0.9, "max_size": 6} if "matching" in name else {"delta": 0.9}


def told(reasons: SufficientReasons, i: int) -> tuple[Any, ...]:
    """Return all that is said of a row, to the last bit."""
    columns = (reasons.lower, reasons.upper, reasons.epsilon)
    return (
        reasons.mask[i].tolist(),
        *(float(column[i]).hex() for column in columns),
        str(reasons.minimality[i]),
        int(reasons.size_lower[i]),
        reasons.exact.get(i),
    )


def answers(name: str, order: Any, sizes: list[int], **more: Any) -> dict[int, tuple[Any, ...]]:
    """Return what is said of each row when rows come in some order, in batches of some sizes.

    Every call has a model of its own that has built nothing yet.
    """
    model, law, rows = CASES[name]()
    found: dict[int, tuple[Any, ...]] = {}
    ends = np.cumsum([0, *sizes])
    for start, end in pairwise(ends.tolist()):
        some = list(order[start:end])
        reasons = sufficient_reasons(
            model, rows[some], distribution=law, **{**options(name), **more}
        )
        found |= {row: told(reasons, i) for i, row in enumerate(some)}
    return found


@cache
def together(name: str) -> dict[int, tuple[Any, ...]]:
    """Return what is said of each row when all are asked about at once, by two threads."""
    with threadpool_limits(2):
        return answers(name, range(N), [N])


@pytest.mark.parametrize("name", CASES)
def test_a_row_does_not_depend_on_those_beside_it(name: str):
    """All at once, one by one, shuffled and in batches of any size: the same bits."""
    assert answers(name, range(N), [1] * N) == together(name)
    shuffled = np.random.default_rng(1).permutation(N).tolist()
    assert answers(name, shuffled, [N]) == together(name)
    assert answers(name, shuffled, [1, 2, 5]) == together(name)


@pytest.mark.parametrize("name", ["product", "marginals", "marginals of reals", "uniform"])
def test_a_row_with_forced_features_does_not_depend_on_those_beside_it(name: str):
    """Sums over what is forced, and over all units, are those of the row, in any batch."""
    forced = {"include": list(range(1, 20)), "exclude": [25]}
    assert answers(name, range(N), [1] * N, **forced) == answers(name, range(N), [N], **forced)


# One of each kind of law: what jobs do to rows and threads, the tests beside do to all cases.
SHARED = ("uniform", "product", "marginals of reals", "background", "matching", "classes, product")


@pytest.mark.parametrize("name", SHARED)
def test_the_number_of_jobs_changes_nothing(name: str):
    """Jobs have fewer threads each, and rows of their own: the same bits."""
    values = []
    for jobs in (1, 2):
        model, law, rows = CASES[name]()
        explainer = SufficientReasonExplainer(model, law, n_jobs=jobs, **options(name))
        explanation = explainer(rows)
        reasons = explanation.reasons
        assert {i: told(reasons, i) for i in range(len(rows))} == together(name)
        values.append(explanation.values.tobytes())
    assert values[0] == values[1]


@pytest.mark.parametrize("name", [name for name in CASES if "few" not in name])
def test_the_number_of_threads_changes_nothing(name: str):
    """The digits of a product by BLAS depend on its threads: no answer is made of them."""
    with threadpool_limits(1):
        assert answers(name, range(N), [N]) == together(name)


def test_the_sum_of_a_row_does_not_depend_on_the_batch():
    """By rows or by columns in memory, and however many there are."""
    values = np.random.default_rng(0).normal(size=(50, 33))
    alone = np.array([row_sums(row[None, :])[0] for row in values])
    for batch in (values, np.asfortranarray(values), values[:, list(range(33))], values[:7]):
        assert row_sums(batch).tobytes() == alone[: len(batch)].tobytes()
