"""Time limits: a row ends soon after its time is up, with nothing claimed that was not finished."""

from __future__ import annotations

import time
from collections.abc import Callable
from fractions import Fraction
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

from sklearn_probsr import (
    ArgmaxModel,
    Background,
    LinearModel,
    Marginals,
    Product,
    Unit,
    alternatives,
    breaking_set,
    sufficient_reason,
    sufficient_reasons,
)
from sklearn_probsr.core.options import Effort, Limits
from sklearn_probsr.laws.rivals._joint_search import Allowance
from sklearn_probsr.laws.sums._branches import Purse
from tests.laws.rivals.test_exchange import prover_of
from tests.rival_classes import DELTA, Rivals, check

CASES: dict[str, Callable[[np.random.Generator], tuple[Any, Any, Any]]] = {}


def case(make: Callable[[np.random.Generator], tuple[Any, Any, Any]]) -> Any:
    CASES[make.__name__] = make
    return make


def reals(n: int) -> list[Unit]:
    return [Unit.real(f"x{i}", i) for i in range(n)]


@case
def several_classes(rng: np.random.Generator) -> tuple[Any, Any, Any]:
    weights = rng.standard_normal((8, 48))
    model = ArgmaxModel(weights, -weights.sum(axis=1) / 2)
    return model, Product([0.4] * 48), rng.integers(0, 2, 48)


@case
def several_classes_of_many_values(rng: np.random.Generator) -> tuple[Any, Any, Any]:
    rows, weights = rng.integers(0, 9, (200, 40)).astype(float), rng.standard_normal((5, 40))
    model = ArgmaxModel(weights, -weights.sum(axis=1) * 4, units=reals(40))
    return model, Marginals.fit(rows), rows[0]


@case
def independent_units(rng: np.random.Generator) -> tuple[Any, Any, Any]:
    rows, weights = rng.lognormal(0, 1, (300, 40)), rng.standard_normal(40)
    model = LinearModel(weights, float(weights @ rows.mean(axis=0)), units=reals(40))
    return model, Marginals.fit(rows), rows[1]


@case
def background_rows(rng: np.random.Generator) -> tuple[Any, Any, Any]:
    model, law, row = independent_units(rng)
    return model, Background(law.rows), row


@case
def background_rows_of_several_classes(rng: np.random.Generator) -> tuple[Any, Any, Any]:
    rows, weights = rng.integers(0, 2, (800, 50)), rng.standard_normal((5, 50))
    return ArgmaxModel(weights, -weights.sum(axis=1) / 2), Background(rows), rows[0]


@pytest.mark.parametrize("priced", [False, True], ids=["fewest", "cheapest"])
@pytest.mark.parametrize("name", CASES)
def test_a_short_limit_ends_soon(name: str, priced: bool) -> None:
    """Of a hundredth of a second; these rows take some seconds or minutes to prove."""
    model, law, row = CASES[name](np.random.default_rng(3))
    options: dict[str, Any] = {"prove": True, "time_limit": 0.01, "distribution": law}
    if priced:
        options["cost"] = {i: 1.0 + i % 7 for i in range(model.n_units)}
    spent = []
    for _ in range(4):  # the first ones may have to compile, or to build tables
        start = time.process_time()
        reason = sufficient_reason(model, row, **options)
        spent.append(time.process_time() - start)
    assert min(spent) < 1.0
    assert reason.guarantee.lower >= 0.95
    assert reason.size_lower <= reason.size


class Striking:
    """A clock that strikes at some look, and says nothing before."""

    def __init__(self, looks: int) -> None:
        self.looks = looks

    def monotonic(self) -> float:
        self.looks -= 1
        return 0.0 if self.looks >= 0 else 1e9


@pytest.mark.parametrize("looks", [1, 2, 3, 5, 8, 13, 40])
def test_whenever_the_time_is_up_claims_hold(looks: int) -> None:
    """Before several rivals, where every look at the clock may be the last: against all sets."""
    for seed in (0, 3, 4):
        case = Rivals(seed, units=5, values=2 + seed % 2)
        with patch("sklearn_probsr.core.options.clock", Striking(looks)):
            reason = check(case, DELTA, prove=True)
        assert (reason.stopped == "proved") == (reason.minimality == "minimum")
        if looks == 1:
            assert reason.size_lower == 0 or reason.minimality == "minimum"
            assert reason.stopped in {"proved", "time"}


def test_a_search_that_is_cut_off_refutes_nothing() -> None:
    """At whatever branch it is: what reaches the level is among the sets left, or none are told."""
    case = Rivals(4, units=6)
    truth = case.truth()
    least = min(len(s) for s, share in truth.items() if share >= DELTA)
    told = []
    for looks in (*range(1, 12), 10**6):
        with patch("sklearn_probsr.core.options.clock", Striking(looks)):
            prover = prover_of(case, Effort(prove=True, limits=Limits(rival_sets=1)))
            search, purse = prover._search, Purse(prover.task)
            assert search is not None
            left = search.open_sets(least, Allowance.of(prover.task.effort), purse)
        told.append(left is not None)
        assert left is None or any(truth[frozenset(chosen)] >= DELTA for chosen in left)
    assert told[-1]
    assert not told[0]


def test_a_clock_that_never_strikes_changes_nothing() -> None:
    """What is proved is what is proved without an end."""
    case = Rivals(4, units=5)
    with patch("sklearn_probsr.core.options.clock", SimpleNamespace(monotonic=lambda: 0.0)):
        held = check(case, DELTA, prove=True)
    free = check(case, DELTA, prove=True, time_limit=1e6)
    assert (held.features, held.minimality, held.size_lower) == (
        free.features, free.minimality, free.size_lower,
    )  # fmt: skip


def test_reasons_tell_how_their_proof_ended() -> None:
    """Proved, out of time, or with nothing left to try; also in columns, and for costs."""
    case = Rivals(4, units=6)
    free = check(case, DELTA, prove=True, time_limit=1e6)
    assert free.stopped == ("proved" if free.minimality == "minimum" else "exhausted")
    model = LinearModel([5, 1, -3, 2, -1], threshold=5)
    rows = [[1, 0, 0, 1, 1], [0, 1, 1, 0, 1]]
    assert sufficient_reasons(model, rows).stopped.tolist() == ["proved"] * 2
    priced = sufficient_reasons(model, rows, cost=[3, 1, 1, 1, 1], prove=False)
    assert set(priced.stopped.tolist()) <= {"", "proved"}
    assert sufficient_reason(model, rows[0], method="monte-carlo").stopped == ""
    chances = Product([0.3] * 5)
    none = sufficient_reason(model, rows[0], distribution=chances, prove=False)
    assert none.stopped == ("proved" if none.minimality == "minimum" else "")


def test_questions_end_soon_as_well() -> None:
    """What was not asked in time is undecided, and nothing that is said is wrong."""
    rng = np.random.default_rng(5)
    rows, weights = rng.integers(0, 3, (60, 12)).astype(float), rng.standard_normal(12)
    model = LinearModel(weights, float(weights @ rows.mean(axis=0)), units=reals(12))
    options: dict[str, Any] = {"distribution": Background(rows), "delta": Fraction("0.9")}
    whole = alternatives(model, rows[0], prove=True, **options)
    with patch("sklearn_probsr.core.options.clock", Striking(12)):
        cut = alternatives(model, rows[0], prove=True, **options)
    assert set(cut.necessary) <= set(whole.necessary)
    assert set(cut.possible) <= set(whole.possible)
    assert cut.undecided
    broken = breaking_set(model, rows[0], time_limit=1e-9, prove=True, **options)
    assert broken.minimality != "minimum"
