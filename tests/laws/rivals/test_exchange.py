"""Exchange before all rivals at once, and minima by it: against all up-sets, and all sets."""

from __future__ import annotations

from fractions import Fraction
from itertools import chain, combinations, permutations

import numpy as np
import pytest

from sklearn_probsr import ArgmaxModel, Marginals, Product, Unit, guarantee
from sklearn_probsr.core.options import Effort, Task
from sklearn_probsr.core.search import search
from sklearn_probsr.extend import law_of
from sklearn_probsr.laws.rivals._exchange import Costs, is_coupled, orders_suffice
from sklearn_probsr.laws.rivals._rival_prover import RivalProver
from tests.rival_classes import DELTA, WAYS, Rivals, branches_alone, check, searched

F = Fraction


def unit(rng: np.random.Generator, kind: str, duels: int) -> Costs:
    """A small law of costs: two states, one order of states, or anything; often with ties."""
    if kind == "binary":
        share = int(rng.integers(1, 6))
        other = [F(int(v)) for v in rng.integers(-2, 3, duels)]
        return Costs.of([[F(0)] * duels, other], [6 - share, share])
    states = int(rng.integers(1, 5))
    vectors = rng.integers(-2, 3, (states, duels))
    if kind == "sorted":
        signs = rng.choice([-1, 0, 1], duels)
        vectors = np.sort(vectors, axis=0) * signs
    chances = rng.multinomial(12, np.full(states, 1 / states))
    return Costs.of([[F(int(v)) for v in vector] for vector in vectors], chances.tolist())


def is_more(one: Costs, other: Costs) -> bool:
    """Whether every up-set of vectors is at least as likely for one (Strassen's condition)."""
    points = sorted({*one.vectors, *other.vectors})
    whole = (sum(one.chances), sum(other.chances))
    for few in chain.from_iterable(combinations(points, k) for k in range(len(points) + 1)):
        up = {p for p in points if any(all(map(np.less_equal, q, p)) for q in few)}
        shares = [
            F(sum(c for v, c in zip(law.vectors, law.chances, strict=True) if v in up), total)
            for law, total in zip((one, other), whole, strict=True)
        ]
        if shares[0] < shares[1]:
            return False
    return True


def is_more_in_each(one: Costs, other: Costs) -> bool:
    duels = range(len(one.vectors[0]))
    single = [
        [Costs.of([[v[k]] for v in law.vectors], law.chances) for k in duels]
        for law in (one, other)
    ]
    return all(is_more(a, b) for a, b in zip(*single, strict=True))


@pytest.mark.parametrize("kind", ["binary", "sorted", "any"])
def test_couplings_are_found_where_there_are_any(kind: str) -> None:
    """One exists iff no up-set is likelier for the other; where orders suffice, they do."""
    rng = np.random.default_rng(len(kind))
    coupled = sufficed = 0
    for _ in range(250):
        one, other = (unit(rng, kind, int(d)) for d in [rng.integers(1, 4)] * 2)
        for a, b in permutations((one, other)):
            if sum(a.chances) != sum(b.chances):
                continue
            found = is_coupled(a, b)
            assert found == is_more(a, b)
            if is_more_in_each(a, b):
                sufficed += orders_suffice(a, b)
                assert found or not orders_suffice(a, b)
            coupled += found
    assert coupled > 60
    assert sufficed > 40
    if kind == "binary":
        assert all(orders_suffice(unit(rng, kind, 2), unit(rng, kind, 2)) for _ in range(20))


def test_orders_of_single_duels_do_not_suffice() -> None:
    """Equal costs in each duel, and yet one of the two units is worth fixing, and one is not."""
    ahead, across = (
        Costs.of([[F(1)] * 2, [-F(1)] * 2], [1, 1]),
        Costs.of([[F(1), -F(1)], [-F(1), F(1)]], [1, 1]),
    )
    for a, b in permutations((ahead, across)):
        assert is_more_in_each(a, b)
        assert not is_coupled(a, b)
        assert not orders_suffice(a, b)
    units = [Unit.real("ahead", 0), Unit.real("across", 1)]
    model = ArgmaxModel([[0, 0], [1, 1], [1, -1]], [0.5, 0, 0], units=units)
    rows = Marginals.fit([[1.0, 1.0], [-1.0, -1.0]])
    assert guarantee(model, [0.0, 0.0], [1], distribution=rows).lower > 0.49
    assert guarantee(model, [0.0, 0.0], [0], distribution=rows).upper < 0.01


def prover_of(case: Rivals, effort: Effort) -> RivalProver:
    law = law_of(case.model, case.law)
    prover = law.prover(law.view(case.model.check_row(case.x)), Task(DELTA, effort=effort))
    assert isinstance(prover, RivalProver)
    return prover


def test_what_is_above_is_better_in_every_set() -> None:
    """Putting it in place of the other never lowers the guarantee before all rivals."""
    pairs = 0
    for seed in range(18):
        case = Rivals(seed, units=5, values=2 + seed % 2, classes=3 + seed % 2)
        truth = case.truth()
        prover = prover_of(case, Effort())
        joint = prover._search
        assert joint is not None
        for a, b in np.argwhere(joint.above).tolist():
            i, j = prover.members[a], prover.members[b]
            pairs += 1
            for chosen, share in truth.items():
                if j in chosen and i not in chosen:
                    assert truth[chosen - {j} | {i}] >= share
    assert pairs >= 12


@pytest.mark.parametrize("way", WAYS)
def test_minima_are_proved_before_all_rivals_at_once(way: str) -> None:
    """With nothing refuted beforehand by single duels: claims hold, and most are made."""
    minima = 0
    with branches_alone(way) as limits:
        for seed in range(12):
            case = Rivals(seed, units=5 + seed % 2, values=2 + seed % 2, classes=3 + seed % 3)
            minima += searched(case, limits, DELTA) == "minimum"
            if seed % 6 == 0:
                check(case, DELTA, prove=True)
    assert minima >= 10


def test_many_binary_features_and_four_classes_have_minima() -> None:
    """Far more sets than could be gone through: duels refute branches, pairs the rest."""
    rng = np.random.default_rng(1)
    weights = rng.standard_normal((4, 24)) * rng.lognormal(0, 1, 24)
    model = ArgmaxModel(weights, -weights.sum(axis=1) / 2)
    rows = rng.integers(0, 2, (3, 24))
    task = Task(Fraction("0.9"), effort=Effort(prove=True))
    law = law_of(model, Product([0.5, 0.4] * 12))
    found = search(law, model.check_rows(rows), task)
    assert found.minimality.tolist() == ["minimum"] * 3
    assert found.size_lower.tolist() == [9, 4, 5]
